/* test_trial.h - trials with known numbers and planted noise, for tests: no clock is read.
 *
 * Candidate i takes `ns * ratio^i`.  A round has jitter of about `noise` (a share), which its candidates mostly share; each
 * launch has an offset of its own.  From 40 % to 60 % of the trial a neighbour uses the memory: blocks and the copy probe are
 * slower by `neighbour`. */
#ifndef AS_ANALYSIS_TEST_TRIAL_H
#define AS_ANALYSIS_TEST_TRIAL_H

#include <stdio.h>

#include "analysis/duel/duel.h"
#include "tests/runner/test.h"
#include "trace/trace.h"

typedef struct as_planted {
    const char *name;       /* NULL: "matmul/512x512/f32" */
    int         n_arms;     /* 0: 2 */
    int         n_launches; /* 0: 16 */
    int         n_rounds;   /* per launch; 0: 5 */
    int         n_shots;    /* kept per block; 0: none */
    double      ns;         /* 0: 1.92e6 */
    double      ratio;      /* 0: 1 */
    double      noise;      /* 0: .004 */
    double      neighbour;  /* 0: none */
    uint64_t    seed;       /* 0: 1 */
} as_planted;

/* Uniform in (-1, 1), the same on every machine. */
static inline double as_planted_draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-52 - 1;
}

static inline void as_planted_turn(assay_trace *t, const as_planted *p, int launch, int round, int arm, int order, double level,
                                   double at, uint64_t *state)
{
    as_turn turn = {.launch = (uint32_t)launch,
                    .round = (uint32_t)(launch * p->n_rounds + round),
                    .arm = (uint32_t)arm,
                    .order = (uint32_t)order,
                    .first_shot = (uint32_t)t->n_shots,
                    .n_shots = (uint32_t)p->n_shots,
                    .start_ns = at * 4e9,
                    .busy = .995 + .004 * as_planted_draw(state),
                    .steal = 0};
    bool    disturbed = p->neighbour > 0 && at > .4 && at<.6, preempted = as_planted_draw(state)> .96;
    double  own = level * (1 + .2 * p->noise * as_planted_draw(state)) * (disturbed ? 1 + p->neighbour : 1);
    turn.cpu_ns = own;
    turn.wall_ns = own * (preempted ? 1.4 : 1.002);
    turn.busy = preempted ? .7 : turn.busy;
    turn.switches = preempted ? 3 : 0;
    turn.fma_ns = 50e3 * (1 + .002 * as_planted_draw(state));
    turn.copy_ns = 80e3 * (disturbed ? 1.35 : 1) * (1 + .02 * as_planted_draw(state));
    for (int i = 0; i < p->n_shots; i++) {
        double tail = as_planted_draw(state),
               ns = own * (1 + 2 * p->noise * fabs(as_planted_draw(state)) + (tail > .97 ? .3 * (tail - .97) / .03 : 0));
        t->shots[t->n_shots++] = (as_shot){.wall_ns = (float)ns, .cpu_ns = (float)ns};
    }
    t->turns[t->n_turns++] = turn;
}

static inline assay_trace *as_planted_trial(assay_env *env, as_planted p)
{
    assay_trace *t;
    uint64_t     state = (p.seed ? p.seed : 1) * 0x9e3779b97f4a7c15u;
    p.n_arms = p.n_arms ? p.n_arms : 2, p.n_launches = p.n_launches ? p.n_launches : 16, p.n_rounds = p.n_rounds ? p.n_rounds : 5;
    p.ns = p.ns > 0 ? p.ns : 1.92e6, p.ratio = p.ratio > 0 ? p.ratio : 1, p.noise = p.noise > 0 ? p.noise : .004;
    size_t n = (size_t)p.n_arms * (size_t)p.n_launches * (size_t)p.n_rounds;
    expect_ok(env, as_trace_new_arms(env, p.name ? p.name : "matmul/512x512/f32", p.n_arms, &t));
    expect(as_trace_reserve_turns(t, n, n * (size_t)p.n_shots));
    for (int a = 0; a < p.n_arms; a++) {
        static const char *const names[] = {"old", "new", "third", "fourth"};
        t->arms[a] = (as_trace_arm){
            .name = names[a % 4],
            .what = "planted",
            .compared = "",
            .slow = "",
            .limit = AS_LIMIT_NONE,
            .error = 1e-6,
            .items = NAN,
            .launch_ns = 3e6,
            .plan_ns = NAN,
            .first_ns = {4 * p.ns, 1.2 * p.ns, p.ns},
            .ledger = {
                .flops = 268435456, .bytes = 3145728, .allocations = 0, .launches = 1, .peak_bytes = 4194304 + 1048576.0 * a}};
    }
    for (int l = 0; l < p.n_launches; l++) {
        double place[4];
        for (int a = 0; a < 4; a++)
            place[a] = 1 + .3 * p.noise * as_planted_draw(&state);
        for (int r = 0; r < p.n_rounds; r++) {
            double shared = 1 + p.noise * fabs(as_planted_draw(&state)), level = p.ns;
            bool   swapped = as_planted_draw(&state) > 0;
            for (int k = 0; k < p.n_arms; k++) {
                int a = swapped ? p.n_arms - 1 - k : k;
                level = p.ns * pow(p.ratio, a) * shared * place[a % 4];
                as_planted_turn(t, &p, l, r, a, k, level,
                                ((double)(l * p.n_rounds + r) + (double)k / p.n_arms) / (p.n_launches * p.n_rounds), &state);
            }
        }
    }
    t->n_launches = (uint32_t)p.n_launches, t->n_rounds = (uint32_t)(p.n_launches * p.n_rounds);
    t->calls = 1, t->by_cpu = true, t->memory = AS_MEMORY_RANDOM;
    t->clock_cost_ns = 20, t->block_ns = 5e6, t->budget_ns = 5e9, t->spent_ns = 4.1e9, t->seed = 7,
    t->start_unix_ns = UINT64_C(1700000000000000000);
    t->reason = "";
    snprintf(t->fingerprint, sizeof t->fingerprint, "%s", "0123456789abcdef");
    as_trace_add_note(t, "machine.cpu.model", "a planted CPU");
    return t;
}

#endif
