/* sampler_test.c - candidates that only move a simulated clock: the order, the number and the length of their blocks, and what is
 * kept after a failure. */
#include "run/sampler.h"

#include <stdlib.h>

#include "plan/test_fixture.h"

/* --- Candidates of this test --------------------------------------------------------------------------------------- */

enum { MAX_ARMS = 3, MAX_EVENTS = 1 << 16 };

typedef struct event {
    int      arm;
    bool     warm;
    uint32_t calls, n;
} event;

typedef struct fake {
    struct bench *b;
    int           arm;
    double        call_ns, launch_ns;
    const double *pattern_ns;        /* times of the samples of a block, repeated, instead of call_ns */
    int           n_pattern, n_slow; /* n_slow: first blocks, which take up to twice as long, less and less */
    int           n_blocks, n_launches, n_lands;
    bool          in_flight;
    uint64_t      seeds[256]; /* of the launches */
    /* At this block (from 1; 0: never): */
    int         fails_at, cancels_at, back_in_at, back_after_at;
    const char *sentence;
    bool        hangs; /* its failure is a time-out */
} fake;

typedef struct bench {
    assay_env           env;
    fake                fakes[MAX_ARMS];
    as_arm              arms[MAX_ARMS];
    int                 n;
    event              *events;
    size_t              n_events;
    as_sampler_settings s;
    assay_trace        *t;
    int                 n_asked, n_told;
    double              last_told;
} bench;

static assay_status fake_launch(assay_env *env, void *self, uint64_t seed, as_trace_arm *info)
{
    fake *f = self;
    expect(!f->in_flight);
    f->in_flight = true;
    if (f->n_launches < (int)AS_COUNT(f->seeds))
        f->seeds[f->n_launches] = seed;
    f->n_launches++;
    as_clock_advance(&env->clock, (uint64_t)f->launch_ns);
    for (int i = 0; i < 3; i++)
        info->first_ns[i] = f->call_ns * (3 - i);
    info->hash = 1 + (uint64_t)f->arm;
    info->ledger.flops = 100.0 * f->n_launches;
    return ASSAY_OK;
}

static assay_status fake_block(assay_env *env, void *self, bool warm, uint32_t calls, uint32_t n, as_shot *shots,
                               uint32_t *switches)
{
    fake  *f = self;
    bench *b = f->b;
    expect(f->in_flight);
    f->n_blocks++;
    if (b->n_events < MAX_EVENTS)
        b->events[b->n_events++] = (event){f->arm, warm, calls, n};
    if (f->n_blocks == f->fails_at)
        return as_fail(env, f->hangs ? ASSAY_TIMED_OUT : ASSAY_DEVICE, "%s", f->sentence);
    if (f->n_blocks == f->cancels_at)
        assay_cancel(env);
    uint64_t started = as_clock_now(&env->clock);
    double   slow = f->n_blocks < f->n_slow ? 2 - (double)f->n_blocks / f->n_slow : 1;
    if (warm)
        as_clock_advance(&env->clock, (uint64_t)f->call_ns);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t begin = as_clock_now(&env->clock);
        double   ns = (f->pattern_ns ? f->pattern_ns[i % (uint32_t)f->n_pattern] : f->call_ns) * slow;
        as_clock_advance(&env->clock, (uint64_t)(ns * calls));
        if (f->n_blocks == f->back_in_at && i + 1 == n)
            env->clock.fake_ticks = begin - 1000;
        double wall = (double)(int64_t)(as_clock_now(&env->clock) - begin);
        shots[i] = (as_shot){(float)(wall / calls), NAN};
        if (f->n_blocks == f->back_after_at && i + 1 == n)
            env->clock.fake_ticks = started - 700;
    }
    *switches = (uint32_t)f->arm;
    return ASSAY_OK;
}

static void fake_land(void *self)
{
    fake *f = self;
    f->n_lands += f->in_flight;
    f->in_flight = false;
}

/* Candidates that take this many ns per call; 0: no such candidate. */
static bench *bench_new(double a_ns, double b_ns, double c_ns)
{
    bench       *b = calloc(1, sizeof *b);
    const double ns[MAX_ARMS] = {a_ns, b_ns, c_ns};
    expect(b);
    b->events = calloc(MAX_EVENTS, sizeof *b->events);
    expect(b->events);
    as_clock_open_fake(&b->env.clock, 1000000000000);
    for (int i = 0; i < MAX_ARMS && ns[i] > 0; i++) {
        static const char *const names[] = {"a", "b", "c"};
        b->fakes[i] = (fake){.b = b, .arm = i, .call_ns = ns[i], .launch_ns = 1e5};
        b->arms[i] = (as_arm){.name = names[i],
                              .what = "planted",
                              .self = &b->fakes[i],
                              .launch = fake_launch,
                              .block = fake_block,
                              .land = fake_land};
        b->n++;
    }
    as_sampler_defaults(&b->s);
    b->s.budget_ns = 100000000;
    b->s.cpu = -2;
    b->s.warm_up = 0;
    return b;
}

static assay_status bench_try(bench *b)
{
    expect_ok(&b->env, as_trace_new_arms(&b->env, "a case", b->n, &b->t));
    assay_status status = as_sampler_run(&b->env, b->arms, b->n, &b->s, b->t);
    for (int i = 0; i < b->n; i++) {
        expect(!b->fakes[i].in_flight); /* every launch was ended, whatever happened */
        expect_eq(b->fakes[i].n_lands, b->fakes[i].n_launches);
    }
    return status;
}

static void bench_run(bench *b) { expect_ok(&b->env, bench_try(b)); }

static void bench_free(bench *b)
{
    assay_trace_free(b->t);
    free(b->events);
    free(b);
}

/* The kept blocks are the last ones when nothing runs after them. */
static const event *kept_events(const bench *b) { return b->events + b->n_events - b->t->n_turns; }

/* Complete rounds: one block of every candidate, in places 0, 1, ...; the numbers of rounds and launches rise. */
static void expect_whole(const assay_trace *t)
{
    expect_eq(t->n_turns, (size_t)t->n_rounds * (size_t)t->n_arms);
    size_t shots = 0;
    for (size_t i = 0; i < t->n_turns; i++) {
        const as_turn *turn = &t->turns[i];
        expect_eq(turn->round, i / (size_t)t->n_arms);
        expect_eq(turn->order, i % (size_t)t->n_arms);
        for (size_t k = i - i % (size_t)t->n_arms; k < i; k++)
            expect(t->turns[k].arm != turn->arm);
        expect(!i || turn->launch == t->turns[i - 1].launch || (turn->order == 0 && turn->launch == t->turns[i - 1].launch + 1));
        expect(!i || turn->start_ns >= t->turns[i - 1].start_ns);
        expect_eq(turn->switches, turn->arm);
        if (t->n_shots)
            expect_eq(turn->first_shot, shots);
        shots += turn->n_shots;
    }
    if (t->n_shots)
        expect_eq(t->n_shots, shots);
}

/* --- Samples and blocks -------------------------------------------------------------------------------------------- */

Test(sampler, one_number_of_calls_is_for_all_arms_and_makes_samples_long_enough)
{
    static const double ns[][2] = {{1, 1}, {1000, 3000}, {3000, 1000}, {49000, 51000}, {60000, 700}, {2000000, 7}};
    for (size_t i = 0; i < AS_COUNT(ns); i++) {
        bench *b = bench_new(ns[i][0], ns[i][1], 0);
        double shortest = fmin(ns[i][0], ns[i][1]);
        b->s.n_rounds = 10;
        bench_run(b);
        expect(b->t->calls * shortest >= 50e3);
        expect(b->t->calls == 1 || (b->t->calls - 1) * shortest < 50e3); /* and no longer than needed */
        for (size_t k = 0; k < b->t->n_turns; k++)
            expect_eq(kept_events(b)[k].calls, b->t->calls);
        for (size_t k = 0; k < b->t->n_turns; k++)
            expect_near(b->t->turns[k].wall_ns, ns[i][b->t->turns[k].arm], 1e-3);
        bench_free(b);
    }
}

Test(sampler, the_record_says_when_it_warmed_up_and_measured)
{
    static const struct {
        const char *name;
        bool        ends;
    } want[] = {{"warm-up", false}, {"warm-up", true}, {"measure", false}, {"measure", true}};
    bench *b = bench_new(1000, 2000, 0);
    b->s.budget_ns = 100000000;
    bench_run(b);
    expect_eq(b->t->n_marks, AS_COUNT(want));
    for (size_t i = 0; i < AS_COUNT(want); i++) {
        expect_str(b->t->marks[i].name, want[i].name);
        expect_eq(b->t->marks[i].ends, want[i].ends);
        expect(!i || b->t->marks[i].ticks >= b->t->marks[i - 1].ticks);
    }
    expect(b->t->marks[3].ticks > b->t->marks[2].ticks);
    bench_free(b);
}

Test(sampler, one_that_was_pre_empted_does_not_set_the_number_of_calls)
{
    static const double pattern[] = {900000, 1000, 1000};
    bench              *b = bench_new(1000, 0, 0);
    b->fakes[0].pattern_ns = pattern;
    b->fakes[0].n_pattern = 3;
    b->s.n_rounds = 2;
    bench_run(b);
    expect_eq(b->t->calls, 50);
    bench_free(b);
}

Test(sampler, a_block_is_a_quarter_of_a_millisecond_for_several_arms_and_four_for_one)
{
    bench *b = bench_new(1000, 1000, 0);
    b->s.n_rounds = 3;
    bench_run(b);
    expect_eq(b->t->turns[0].n_shots, 5);
    expect_near(b->t->block_ns, 250e3, 0);
    bench_free(b);
    b = bench_new(1000, 0, 0);
    b->s.n_rounds = 3;
    bench_run(b);
    expect_near(b->t->block_ns, 4e6, 0);
    bench_free(b);
}

Test(sampler, a_block_that_is_asked_for_is_kept_up_to_ten_milliseconds)
{
    static const struct {
        double ask, get;
    } all[] = {{1e6, 1e6}, {10e6, 10e6}, {1e9, 10e6}, {1, 50e3}};
    for (size_t i = 0; i < AS_COUNT(all); i++) {
        bench *b = bench_new(1000, 1000, 0);
        b->s.n_rounds = 2;
        b->s.block_ns = all[i].ask;
        bench_run(b);
        expect_near(b->t->block_ns, all[i].get, 0);
        bench_free(b);
    }
}

Test(sampler, one_call_before_a_block_is_not_timed_when_calls_are_short)
{
    bench *b = bench_new(1000, 124000, 0);
    b->s.n_rounds = 20;
    bench_run(b);
    for (size_t i = 0; i < b->t->n_turns; i++)
        expect(kept_events(b)[i].warm);
    bench_free(b);
    b = bench_new(1000, 126000, 0); /* half a block: no cold start worth a call */
    b->s.n_rounds = 20;
    bench_run(b);
    for (size_t i = 0; i < b->t->n_turns; i++)
        expect(!kept_events(b)[i].warm);
    bench_free(b);
}

Test(sampler, a_call_longer_than_its_share_of_the_budget_is_tried_once)
{
    bench *b = bench_new(20e6, 20e6, 0);
    b->s.budget_ns = 400000000; /* a twentieth, for two candidates: 10 ms */
    b->s.n_rounds = 1;
    bench_run(b);
    expect_eq(b->n_events, 4);
    for (int i = 0; i < 2; i++) {
        expect_eq(b->events[i].n, 1);
        expect_eq(b->events[i].calls, 1);
        expect(!b->events[i].warm);
    }
    bench_free(b);
}

Test(sampler, a_block_is_summed_up_by_its_lower_quartile_and_below_eight_samples_by_the_median)
{
    static const double pattern[] = {57e3, 50e3, 56e3, 51e3, 55e3, 52e3, 54e3, 53e3};
    static const struct {
        double   block, want;
        uint32_t n;
    } all[] = {{400e3, 51.75e3, 8}, {350e3, 54e3, 7}, {100e3, 53.5e3, 2}};
    for (size_t i = 0; i < AS_COUNT(all); i++) {
        bench *b = bench_new(50e3, 0, 0);
        b->fakes[0].pattern_ns = pattern;
        b->fakes[0].n_pattern = 8;
        b->s.block_ns = all[i].block;
        b->s.n_rounds = 2;
        bench_run(b);
        expect_eq(b->t->turns[1].n_shots, all[i].n);
        expect_near(b->t->turns[1].wall_ns, all[i].want, 1e-2);
        expect(isnan(b->t->turns[1].cpu_ns) && isnan(b->t->turns[1].busy) && isnan(b->t->turns[1].steal));
        bench_free(b);
    }
}

Test(sampler, samples_are_kept_only_when_asked)
{
    bench *b = bench_new(1000, 2000, 0);
    b->s.n_rounds = 5;
    bench_run(b);
    expect_eq(b->t->n_shots, 0);
    expect(b->t->turns[0].n_shots > 0);
    expect_whole(b->t);
    bench_free(b);
    b = bench_new(1000, 2000, 0);
    b->s.n_rounds = 5;
    b->s.keep_samples = true;
    bench_run(b);
    expect(b->t->n_shots > 0);
    expect_whole(b->t);
    for (size_t i = 0; i < b->t->n_turns; i++)
        for (uint32_t k = 0; k < b->t->turns[i].n_shots; k++)
            expect_near(b->t->shots[b->t->turns[i].first_shot + k].wall_ns, b->t->turns[i].arm ? 2000 : 1000, 1e-2);
    bench_free(b);
}

/* --- Order ------------------------------------------------------------------------------------------------------------ */

static int first_count(const assay_trace *t, uint32_t arm)
{
    int n = 0;
    for (size_t i = 0; i < t->n_turns; i++)
        n += t->turns[i].order == 0 && t->turns[i].arm == arm;
    return n;
}

static bench *ordered(int n_arms, uint64_t seed, uint32_t rounds_a_launch)
{
    bench *b = bench_new(60e3, 60e3, n_arms > 2 ? 60e3 : 0);
    b->s.n_rounds = 600;
    b->s.seed = seed;
    if (rounds_a_launch) {
        b->s.memory = AS_MEMORY_RANDOM;
        b->s.rounds_a_launch = rounds_a_launch;
    }
    bench_run(b);
    return b;
}

static int same_orders(const bench *x, const bench *y)
{
    int n = 0;
    for (size_t i = 0; i < x->t->n_turns; i += (size_t)x->n)
        n += x->t->turns[i].arm == y->t->turns[i].arm;
    return n;
}

Test(sampler, who_goes_first_is_a_fair_coin_that_the_seed_repeats)
{
    bench *b = ordered(2, 7, 0), *again = ordered(2, 7, 0), *other = ordered(2, 8, 0);
    expect(abs(first_count(b->t, 0) - 300) < 64); /* five standard deviations */
    expect_eq(same_orders(b, again), 600);
    expect(abs(same_orders(b, other) - 300) < 64);
    int flips = 0;
    for (size_t i = 2; i < b->t->n_turns; i += 2)
        flips += b->t->turns[i].arm != b->t->turns[i - 2].arm;
    expect(abs(flips - 300) < 64); /* and does not depend on the round before */
    bench_free(b);
    bench_free(again);
    bench_free(other);
}

Test(sampler, each_launch_tosses_anew)
{
    bench *b = ordered(2, 7, 10);
    expect_eq(b->t->n_launches, 60);
    int like_the_first = 0;
    for (size_t l = 1; l < 60; l++)
        for (size_t r = 0; r < 10; r++)
            like_the_first += b->t->turns[20 * l + 2 * r].arm == b->t->turns[2 * r].arm;
    expect(abs(like_the_first - 295) < 64);
    expect(abs(first_count(b->t, 0) - 300) < 64);
    bench_free(b);
}

Test(sampler, all_orders_of_three_arms_are_as_likely)
{
    bench *b = ordered(3, 3, 0);
    int    counts[9] = {0};
    for (size_t i = 0; i < b->t->n_turns; i += 3)
        counts[3 * b->t->turns[i].arm + b->t->turns[i + 1].arm]++;
    for (int i = 0; i < 9; i++)
        expect(i % 4 == 0 ? !counts[i] : abs(counts[i] - 100) < 46);
    expect_whole(b->t);
    bench_free(b);
}

/* --- How long ----------------------------------------------------------------------------------------------------------- */

Test(sampler, the_budget_is_used_and_kept)
{
    static const as_memory_layout layouts[] = {AS_MEMORY_SHARED, AS_MEMORY_FIXED, AS_MEMORY_RANDOM, AS_MEMORY_RELAUNCHED};
    static const double           ns[] = {3, 1000, 70e3, 3e6};
    for (size_t i = 0; i < AS_COUNT(layouts) * AS_COUNT(ns); i++)
        for (uint64_t budget = 100000000; budget <= 5000000000; budget *= 7)
            for (int warm_up = -1; warm_up <= 4; warm_up += 5) {
                bench *b = bench_new(ns[i % AS_COUNT(ns)], 1.3 * ns[i % AS_COUNT(ns)], 0);
                b->s.memory = layouts[i / AS_COUNT(ns)];
                b->s.budget_ns = budget;
                b->s.warm_up = warm_up;
                bench_run(b);
                double share = b->t->spent_ns / (double)budget;
                if (!(share <= 1.1 && share >= 0.8))
                    fail("%s, %g ns a call: a budget of %g s was used by %g", as_memory_layout_text(b->s.memory),
                         ns[i % AS_COUNT(ns)], (double)budget / 1e9, share);
                expect_near(b->t->spent_ns, (double)(b->env.clock.fake_ticks - 1000000000000), 0);
                expect_near(b->t->budget_ns, (double)budget, 0);
                expect_eq(b->t->state, AS_TRACE_COMPLETE);
                expect_whole(b->t);
                bench_free(b);
            }
}

Test(sampler, the_budget_is_kept_when_launches_are_dear)
{
    bench *b = bench_new(1000, 1000, 0);
    b->s.memory = AS_MEMORY_RELAUNCHED;
    b->s.budget_ns = 1000000000;
    b->fakes[0].launch_ns = b->fakes[1].launch_ns = 60e6;
    bench_run(b);
    expect(b->t->spent_ns <= 1.1e9);
    expect_eq(b->t->n_launches, 8);
    expect(b->t->n_rounds >= 8);
    expect_near(b->t->arms[1].launch_ns, 60e6, 0);
    bench_free(b);
}

Test(sampler, there_is_a_round_even_when_it_is_longer_than_the_budget)
{
    bench *b = bench_new(5e6, 5e6, 0);
    b->s.budget_ns = 1000000;
    bench_run(b);
    expect_eq(b->t->n_rounds, 1);
    expect_whole(b->t);
    bench_free(b);
}

Test(sampler, rounds_that_are_asked_for_are_made_exactly)
{
    for (int i = 0; i < AS_N_MEMORY_LAYOUTS; i++)
        for (uint32_t n = 1; n < 200; n = 3 * n + 1) {
            bench *b = bench_new(60e3, 60e3, 0);
            b->s.memory = (as_memory_layout)i;
            b->s.n_rounds = n;
            b->s.budget_ns = n % 2 ? 1000000 : 2000000000;
            bench_run(b);
            expect_eq(b->t->n_rounds, n);
            expect_whole(b->t);
            bench_free(b);
        }
}

Test(sampler, rounds_that_are_asked_for_end_with_a_budget_that_is_asked_for_too)
{
    bench *b = bench_new(60e3, 60e3, 0);
    b->s.n_rounds = 100000;
    b->s.keeps_budget = true;
    b->s.budget_ns = 200000000;
    bench_run(b);
    expect(b->t->n_rounds > 1 && b->t->n_rounds < 100000);
    expect(b->t->spent_ns <= 1.1 * 2e8);
    expect_whole(b->t);
    bench_free(b);
}

Test(sampler, sixteen_launches_fit_where_memory_is_random_and_one_is_enough_where_not)
{
    static const struct {
        as_memory_layout memory;
        uint32_t         least, most;
    } all[] = {{AS_MEMORY_SHARED, 1, 1}, {AS_MEMORY_FIXED, 1, 1}, {AS_MEMORY_RANDOM, 16, 4000}, {AS_MEMORY_RELAUNCHED, 16, 4000}};
    static const double launch_ns[] = {1e3, 1e6, 12e6};
    for (size_t i = 0; i < AS_COUNT(all) * AS_COUNT(launch_ns); i++) {
        size_t m = i / AS_COUNT(launch_ns);
        bench *b = bench_new(1000, 2000, 0);
        b->s.memory = all[m].memory;
        b->s.budget_ns = 500000000;
        b->s.warm_up = -1;
        b->fakes[0].launch_ns = b->fakes[1].launch_ns = launch_ns[i % AS_COUNT(launch_ns)];
        bench_run(b);
        if (b->t->n_launches < all[m].least || b->t->n_launches > all[m].most)
            fail("%s, %g ns a launch: %u launches", as_memory_layout_text(all[m].memory), launch_ns[i % AS_COUNT(launch_ns)],
                 b->t->n_launches);
        expect_eq(b->fakes[0].n_launches, b->t->n_launches);
        expect_eq(b->t->turns[b->t->n_turns - 1].launch, b->t->n_launches - 1);
        expect_eq(b->t->memory, all[m].memory);
        bench_free(b);
    }
}

Test(sampler, every_launch_of_every_arm_has_a_seed_of_its_own)
{
    bench *b = bench_new(60e3, 60e3, 0);
    b->s.memory = AS_MEMORY_RANDOM;
    b->s.rounds_a_launch = 1;
    b->s.max_launches = 20;
    bench_run(b);
    for (int i = 0; i < 40; i++)
        for (int k = 0; k < i; k++)
            expect(b->fakes[i % 2].seeds[i / 2] != b->fakes[k % 2].seeds[k / 2]);
    bench_free(b);
}

Test(sampler, launches_and_their_rounds_can_be_asked_for)
{
    bench *b = bench_new(60e3, 60e3, 0);
    b->s.memory = AS_MEMORY_RANDOM;
    b->s.rounds_a_launch = 5;
    b->s.max_launches = 3;
    bench_run(b);
    expect_eq(b->t->n_launches, 3);
    expect_eq(b->t->n_rounds, 15);
    expect_whole(b->t);
    bench_free(b);
}

static bool is_after_seven(void *arg, const assay_trace *t)
{
    bench *b = arg;
    b->n_asked++;
    if (b->s.memory == AS_MEMORY_RANDOM)
        expect_eq(t->n_rounds % b->s.rounds_a_launch, 0); /* incomplete launches are not looked at */
    return t->n_rounds >= 7;
}

Test(sampler, enough_ends_it_between_rounds_or_launches)
{
    bench *b = bench_new(60e3, 60e3, 0);
    b->s.enough = is_after_seven;
    b->s.enough_arg = b;
    bench_run(b);
    expect_eq(b->t->n_rounds, 7);
    expect_eq(b->n_asked, 7);
    expect_eq(b->t->state, AS_TRACE_COMPLETE);
    bench_free(b);
    b = bench_new(60e3, 60e3, 0);
    b->s.memory = AS_MEMORY_RANDOM;
    b->s.rounds_a_launch = 4;
    b->s.enough = is_after_seven;
    b->s.enough_arg = b;
    bench_run(b);
    expect_eq(b->t->n_rounds, 8);
    expect_eq(b->n_asked, 2);
    bench_free(b);
}

static void told(void *arg, as_phase phase, double done, const assay_trace *t)
{
    bench *b = arg;
    expect(phase == AS_PHASE_WARM_UP || phase == AS_PHASE_MEASURE);
    expect(t == b->t && done > b->last_told && done <= 1);
    b->last_told = done;
    b->n_told++;
}

/* A continued trial goes on exactly as with a larger budget from the start. */
Test(sampler, a_trial_that_has_rounds_goes_on_with_further_launches_until_the_budget_is_spent_in_all)
{
    static const as_memory_layout layouts[] = {AS_MEMORY_RANDOM, AS_MEMORY_RELAUNCHED, AS_MEMORY_SHARED};
    for (size_t i = 0; i < AS_COUNT(layouts); i++) {
        bench *b = bench_new(1000, 1100, 0);
        b->s.memory = layouts[i];
        b->s.keep_samples = true;
        b->s.warm_up = 2;
        bench_run(b);
        uint32_t n_launches = b->t->n_launches, n_rounds = b->t->n_rounds, calls = b->t->calls;
        double   first_ns = b->t->arms[0].first_ns[0], flops = b->t->arms[0].ledger.flops;
        b->s.budget_ns *= 3;
        expect_ok(&b->env, as_sampler_run(&b->env, b->arms, b->n, &b->s, b->t));
        expect_whole(b->t);
        expect_eq(b->t->calls, calls);
        expect_near(b->t->n_rounds, 3 * n_rounds, 0.15 * n_rounds);
        expect_eq(b->t->turns[n_rounds * 2].launch, n_launches); /* a launch of its own */
        expect(layouts[i] == AS_MEMORY_SHARED ? b->t->n_launches == 2 : b->t->n_launches > 2 * n_launches);
        for (size_t k = 0; k < b->t->n_turns; k++)
            expect_eq(b->t->turns[k].n_shots, b->t->turns[0].n_shots);
        expect_near(b->t->budget_ns, 300e6, 0);
        expect(b->t->spent_ns > 270e6 && b->t->spent_ns <= 300e6);
        expect_near(b->t->arms[0].launch_ns, 1e5, 1);
        expect_near(b->t->arms[0].first_ns[0], first_ns, 0);
        expect_near(b->t->arms[0].ledger.flops, flops, 0);
        expect_has(as_trace_note_find(b->t, "went_on"), "to 0.3 s in all");
        for (uint32_t k = 1; k < b->t->n_launches && k < AS_COUNT(b->fakes[0].seeds); k++)
            expect(b->fakes[0].seeds[k] != b->fakes[0].seeds[k - 1]);
        bench_free(b);
    }
}

Test(sampler, a_trial_whose_budget_is_spent_does_not_go_on)
{
    bench *b = bench_new(1000, 1100, 0);
    b->s.memory = AS_MEMORY_RANDOM;
    bench_run(b);
    uint32_t n_rounds = b->t->n_rounds;
    b->s.budget_ns = (uint64_t)b->t->spent_ns + 1000; /* less than a launch takes */
    expect_ok(&b->env, as_sampler_run(&b->env, b->arms, b->n, &b->s, b->t));
    expect_eq(b->t->n_rounds, n_rounds);
    expect_eq(b->t->state, AS_TRACE_COMPLETE);
    bench_free(b);
}

Test(sampler, progress_is_told_ten_times_a_second_at_most)
{
    bench *b = bench_new(60e3, 60e3, 0);
    b->s.budget_ns = 2000000000;
    b->s.progress = told;
    b->s.progress_arg = b;
    bench_run(b);
    expect(b->n_told >= 17 && b->n_told <= 20);
    bench_free(b);
}

/* --- Warm-up ---------------------------------------------------------------------------------------------------------------- */

Test(sampler, rounds_before_it_is_steady_are_not_kept)
{
    bench *b = bench_new(60e3, 60e3, 0);
    b->fakes[0].n_slow = 30;
    b->s.warm_up = -1;
    b->s.budget_ns = 1000000000;
    bench_run(b);
    for (size_t i = 0; i < b->t->n_turns; i++)
        expect_near(b->t->turns[i].wall_ns, 60e3, 0.1);
    expect(b->t->warm_up_rounds >= 8 && b->t->warm_up_rounds <= 60);
    expect_whole(b->t);
    bench_free(b);
}

Test(sampler, warm_up_can_be_a_number_of_rounds)
{
    for (int n = 0; n < 9; n += 4) {
        bench *b = bench_new(60e3, 60e3, 0);
        b->s.warm_up = n;
        b->s.n_rounds = 3;
        bench_run(b);
        expect_eq(b->t->warm_up_rounds, (uint32_t)n);
        /* One block of each calibrates, and one round before the warm-up measures how long a round takes. */
        expect_eq(b->fakes[0].n_blocks, 1 + (n ? 1 : 0) + n + 3);
        bench_free(b);
    }
}

/* --- Cold starts, and how long launches are ----------------------------------------------------------------------------------- */

/* Refilling the caches at the start of a block is not the candidate's work. */
Test(sampler, samples_before_a_block_is_warm_are_not_kept_where_arms_have_buffers_of_their_own)
{
    double pattern[64];
    for (int i = 0; i < 64; i++)
        pattern[i] = i < 5 ? 180e3 : 60e3;
    for (int shared = 0; shared < 2; shared++) {
        bench *b = bench_new(60e3, 60e3, 0);
        b->fakes[0].pattern_ns = pattern;
        b->fakes[0].n_pattern = 64;
        b->s.memory = shared ? AS_MEMORY_SHARED : AS_MEMORY_RANDOM;
        b->s.budget_ns = 2000000000;
        bench_run(b);
        expect_whole(b->t);
        for (size_t i = 0; i < b->t->n_turns; i++)
            expect_near(b->t->turns[i].wall_ns, shared && !b->t->turns[i].arm ? 180e3 : 60e3, 0.1);
        expect_eq(b->t->turns[0].n_shots, shared ? 1 : 27); /* the slower candidate decides: 0.25 ms, and 5 ms */
        bench_free(b);
    }
}

static double three_rounds(void *arg, const assay_trace *t, double launch_ns, double round_ns)
{
    bench *b = arg;
    expect_eq(t->n_launches, 8);
    expect(launch_ns > 0 && round_ns > 0);
    b->n_asked++;
    return 3;
}

Test(sampler, after_eight_launches_it_asks_once_how_many_rounds_a_launch_is_worth)
{
    bench *b = bench_new(60e3, 60e3, 0);
    b->s.memory = AS_MEMORY_RANDOM;
    b->s.budget_ns = 1000000000;
    b->s.rounds = three_rounds;
    b->s.enough_arg = b;
    bench_run(b);
    uint32_t n[64] = {0};
    for (size_t i = 0; i < b->t->n_turns; i++)
        n[b->t->turns[i].launch < 64 ? b->t->turns[i].launch : 63] += !b->t->turns[i].order;
    expect_eq(b->n_asked, 1);
    expect(b->t->n_launches > 16 && n[7] != 3);
    for (uint32_t i = 8; i < 15; i++)
        expect_eq(n[i], 3);
    bench_free(b);
}

/* --- When something breaks ---------------------------------------------------------------------------------------------------- */

Test(sampler, an_arm_that_fails_leaves_no_half_round)
{
    for (int at = 1; at < 24; at++)
        for (int arm = 0; arm < 3; arm++) {
            bench *b = bench_new(60e3, 50e3, 70e3);
            b->s.keep_samples = true;
            b->fakes[arm].fails_at = at;
            b->fakes[arm].sentence = "arm: the cable is out";
            expect_fails(&b->env, bench_try(b), ASSAY_DEVICE, "arm: the cable is out");
            expect_eq(b->t->state, AS_TRACE_FAILED);
            expect_str(b->t->reason, "arm: the cable is out");
            expect_eq(b->t->n_rounds, at < 2 ? 0 : at - 2); /* the first block calibrates */
            expect_whole(b->t);
            expect(b->t->spent_ns > 0);
            bench_free(b);
        }
}

Test(sampler, an_arm_that_timed_out_is_recorded_as_that)
{
    bench *b = bench_new(60e3, 60e3, 0);
    b->fakes[1].fails_at = 6;
    b->fakes[1].sentence = "arm ./slow: no answer within 3 s";
    b->fakes[1].hangs = true;
    expect_fails(&b->env, bench_try(b), ASSAY_TIMED_OUT, "no answer");
    expect_eq(b->t->state, AS_TRACE_TIMEOUT);
    expect_str(b->t->reason, "arm ./slow: no answer within 3 s");
    expect_eq(b->t->n_rounds, 4);
    bench_free(b);
}

Test(sampler, cancel_keeps_whole_rounds_and_says_partial)
{
    for (int arm = 0; arm < 2; arm++) {
        bench *b = bench_new(60e3, 60e3, 0);
        b->fakes[arm].cancels_at = 9;
        expect_fails(&b->env, bench_try(b), ASSAY_CANCELLED, "stopped after 8 rounds");
        expect_eq(b->t->state, AS_TRACE_PARTIAL);
        expect_str(b->t->reason, "stopped early");
        expect_eq(b->t->n_rounds, 8); /* the round during which it came is completed */
        expect_whole(b->t);
        bench_free(b);
    }
}

Test(sampler, cancel_stops_launches_too)
{
    bench *b = bench_new(60e3, 60e3, 0);
    b->s.memory = AS_MEMORY_RANDOM;
    b->s.rounds_a_launch = 4;
    b->fakes[0].cancels_at = 12; /* after five blocks that look for a cold start */
    expect_fails(&b->env, bench_try(b), ASSAY_CANCELLED, "stopped after 6 rounds");
    expect_eq(b->t->n_launches, 2);
    expect_eq(b->t->state, AS_TRACE_PARTIAL);
    bench_free(b);
}

Test(sampler, cancel_before_the_first_round_is_partial_with_nothing)
{
    bench *b = bench_new(60e3, 60e3, 0);
    b->fakes[0].cancels_at = 1;
    expect_fails(&b->env, bench_try(b), ASSAY_CANCELLED, "stopped after 0 rounds");
    expect_eq(b->t->state, AS_TRACE_PARTIAL);
    expect_eq(b->t->n_turns, 0);
    bench_free(b);
}

Test(sampler, a_clock_that_goes_back_in_a_sample_is_a_sentence_and_keeps_the_rounds_before)
{
    bench *b = bench_new(60e3, 60e3, 0);
    b->fakes[1].back_in_at = 12;
    expect_fails(&b->env, bench_try(b), ASSAY_DEVICE, "went back");
    expect_eq(b->t->state, AS_TRACE_FAILED);
    expect_has(b->t->reason, "measure: a case");
    expect_has(b->t->reason, "went back");
    expect_eq(b->t->n_rounds, 10);
    expect_whole(b->t);
    bench_free(b);
}

/* A round, not the first, in which this candidate has this place. */
static int round_find(uint32_t arm, uint32_t order)
{
    bench *b = bench_new(60e3, 60e3, 0);
    int    found = 0;
    b->s.n_rounds = 20;
    bench_run(b);
    for (size_t i = 0; i < b->t->n_turns; i++)
        if (b->t->turns[i].arm == arm && b->t->turns[i].order == order)
            found = (int)b->t->turns[i].round;
    expect(found > 1);
    bench_free(b);
    return found;
}

static bench *back_after(int round)
{
    bench *b = bench_new(60e3, 60e3, 0);
    b->s.n_rounds = 20;
    b->fakes[0].back_after_at = round + 2; /* one block calibrates */
    expect_fails(&b->env, bench_try(b), ASSAY_DEVICE, "the clock fake went back by 700 ns between two blocks");
    expect_eq(b->t->state, AS_TRACE_FAILED);
    expect_has(b->t->reason, "measure: a case: the clock fake went back by 700 ns between two blocks");
    expect_eq(b->t->n_rounds, round);
    return b;
}

Test(sampler, a_clock_that_goes_back_between_blocks_is_a_sentence_and_keeps_the_rounds_before)
{
    bench *b = back_after(round_find(0, 0));
    expect_whole(b->t);
    bench_free(b);
}

Test(sampler, a_clock_that_goes_back_between_rounds_is_a_sentence_and_keeps_the_rounds_before)
{
    bench *b = back_after(round_find(0, 1));
    expect_eq(b->t->n_turns % 2, 0);
    expect(b->t->n_turns >= 2 * (size_t)b->t->n_rounds);
    bench_free(b);
}

Test(sampler, as_many_arms_as_the_trial_was_made_for_are_needed)
{
    bench *b = bench_new(60e3, 60e3, 0);
    expect_ok(&b->env, as_trace_new_arms(&b->env, "a case", 3, &b->t));
    expect_fails(&b->env, as_sampler_run(&b->env, b->arms, 2, &b->s, b->t), ASSAY_INTERNAL, "2 candidates for a trial of 3");
    expect_eq(b->n_events, 0);
    bench_free(b);
}

Test(sampler, the_record_says_how_it_was_made)
{
    bench *b = bench_new(60e3, 80e3, 0);
    b->s.seed = 99;
    b->s.memory = AS_MEMORY_RANDOM;
    b->s.max_launches = 3;
    bench_run(b);
    expect_eq(b->t->seed, 99);
    expect(!b->t->by_cpu); /* a simulated clock has no CPU time */
    expect_near(b->t->clock_cost_ns, 0, 0);
    expect_eq(strlen(b->t->fingerprint), 16);
    expect_str(b->t->arms[0].name, "a");
    expect_str(b->t->arms[1].what, "planted");
    expect_eq(b->t->arms[1].hash, 2);
    expect_near(b->t->arms[0].ledger.flops, 100, 0); /* of the first launch */
    expect_near(b->t->arms[1].first_ns[0], 240e3, 0);
    expect_near(b->t->arms[0].launch_ns, 1e5, 0);
    bench_free(b);
}

/* --- Candidates that are plans
 * -------------------------------------------------------------------------------------------------------- */

static void open_plan(fixture *f, const char *spec)
{
    fixture_open(f, spec);
    as_clock_open_fake(&f->env->clock, 1000);
    fixture_set(f, "threads", "1");
    fixture_plan(f);
}

static void arm_drop(as_arm *arm)
{
    arm->land(arm->self);
    arm->drop(arm->self);
}

static const void *place_of(const as_arm *arm) { return as_instance_input(as_arm_plan_instance(arm), 0).data; }

static void one_block(fixture *f, const as_arm *arm)
{
    as_shot  shot;
    uint32_t switches;
    expect_ok(f->env, arm->block(f->env, arm->self, false, 1, 1, &shot, &switches));
}

Test(arm_plan, the_hash_is_the_same_for_the_same_plan_and_another_for_other_inputs)
{
    fixture      f, g;
    as_arm       arms[3];
    as_trace_arm info[3] = {{.hash = 0}};
    open_plan(&f, "mlp-small");
    open_plan(&g, "mlp-small");
    expect_ok(f.env, as_arm_plan(f.env, "a", f.plan, 5, NULL, false, &arms[0]));
    expect_ok(f.env, as_arm_plan(f.env, "b", g.plan, 5, NULL, true, &arms[1]));
    expect_ok(f.env, as_arm_plan(f.env, "c", f.plan, 6, NULL, false, &arms[2]));
    for (int i = 0; i < 3; i++)
        expect_ok(f.env, arms[i].launch(f.env, arms[i].self, 12345, &info[i]));
    expect(info[0].hash && info[0].hash == info[1].hash);
    expect(info[2].hash && info[0].hash != info[2].hash);
    expect_has(arms[0].what, "mlp-small");
    for (int i = 0; i < 3; i++)
        arm_drop(&arms[i]);
    fixture_close(&g);
    fixture_close(&f);
}

/* Pages and cache lines after the start of the device's memory. */
static size_t offset_of(const as_arm *arm) { return as_arm_plan_instance(arm)->host_offset; }

Test(arm_plan, random_lies_elsewhere_each_launch_and_fixed_does_not)
{
    fixture      f;
    as_arm       random, fixed;
    as_trace_arm info;
    size_t       seen[32], n_lines = 0;
    open_plan(&f, "mlp-small");
    expect_ok(f.env, as_arm_plan(f.env, "r", f.plan, 5, NULL, true, &random));
    expect_ok(f.env, as_arm_plan(f.env, "f", f.plan, 5, NULL, false, &fixed));
    for (size_t i = 0; i < 32; i++) {
        uint64_t seed = 2654435761u * (i + 1) % 16777216;
        expect_ok(f.env, random.launch(f.env, random.self, seed, &info));
        expect_ok(f.env, fixed.launch(f.env, fixed.self, seed, &info));
        expect_eq(offset_of(&fixed), 0);
        const assay_instance *instance = as_arm_plan_instance(&random);
        const as_buffer      *input = &f.plan->buffers[f.plan->inputs[0]];
        seen[i] = offset_of(&random);
        expect_eq((const char *)place_of(&random) - (const char *)instance->memory[0].host, (ptrdiff_t)(input->offset + seen[i]));
        expect_eq(seen[i] % 64, 0);
        n_lines += seen[i] % 4096 != 0;
        for (size_t k = 0; k < i; k++)
            expect(seen[k] != seen[i]);
        one_block(&f, &random);
    }
    expect(n_lines > 24); /* not only other pages, but also other cache lines within a page */
    arm_drop(&random);
    arm_drop(&fixed);
    fixture_close(&f);
}

Test(arm_plan, the_same_seed_is_the_same_place)
{
    fixture      f;
    as_arm       arm;
    as_trace_arm info;
    open_plan(&f, "mlp-small");
    expect_ok(f.env, as_arm_plan(f.env, "r", f.plan, 5, NULL, true, &arm));
    expect_ok(f.env, arm.launch(f.env, arm.self, 7777, &info));
    size_t offset = offset_of(&arm);
    arm.land(arm.self);
    expect(as_arm_plan_instance(&arm) == NULL);
    expect_ok(f.env, arm.launch(f.env, arm.self, 7777, &info));
    expect_eq(offset_of(&arm), offset);
    arm_drop(&arm);
    fixture_close(&f);
}

static void expect_answer(const as_arm *arm, const void *want, size_t bytes)
{
    as_view view = as_instance_output(as_arm_plan_instance(arm), 0);
    expect_eq(as_view_bytes(&view), bytes);
    expect(!memcmp(view.data, want, bytes));
}

Test(arm_plan, several_plans_in_one_slab_answer_right_in_turns)
{
    enum { N = 3 }; /* the first and the last share the same bytes, where other weights are packed */
    static const struct {
        const char *spec, *seed;
    } all[N] = {{"mlp-small", "1"}, {"cfc:units=16,proj=4", "1"}, {"mlp-small", "2"}};
    fixture      f[N];
    as_arm       arms[N], own[N];
    as_slab     *slab;
    as_trace_arm info;
    void        *want[N];
    size_t       bytes[N];
    for (int i = 0; i < N; i++) {
        fixture_open(&f[i], NULL);
        as_clock_open_fake(&f[i].env->clock, 1000);
        fixture_set(&f[i], "threads", "1");
        fixture_set(&f[i], "seed", all[i].seed);
        expect_ok(f[i].env, assay_model_load(f[i].env, all[i].spec, f[i].options, &f[i].model));
        fixture_plan(&f[i]);
        expect_ok(f[i].env, as_arm_plan(f[i].env, "own", f[i].plan, 5, NULL, false, &own[i]));
        expect_ok(f[i].env, own[i].launch(f[i].env, own[i].self, 0, &info));
        one_block(&f[i], &own[i]);
        as_view view = as_instance_output(as_arm_plan_instance(&own[i]), 0);
        bytes[i] = as_view_bytes(&view);
        want[i] = malloc(bytes[i]);
        expect(want[i]);
        memcpy(want[i], view.data, bytes[i]);
    }
    expect(f[0].plan->n_prologue > 0 && memcmp(want[0], want[2], bytes[0]));
    expect_ok(f[0].env, as_slab_new(f[0].env, &slab));
    for (int i = 0; i < N; i++)
        expect_ok(f[i].env, as_arm_plan(f[i].env, "shared", f[i].plan, 5, slab, false, &arms[i]));
    for (int i = 0; i < N; i++)
        expect_ok(f[i].env, arms[i].launch(f[i].env, arms[i].self, 0, &info));
    expect(as_arm_plan_instance(&arms[0])->memory[0].host == as_arm_plan_instance(&arms[1])->memory[0].host);
    static const int turns[] = {0, 1, 2, 2, 0, 2, 1, 1, 0, 0};
    for (size_t k = 0; k < AS_COUNT(turns); k++) {
        int i = turns[k];
        one_block(&f[i], &arms[i]);
        expect_answer(&arms[i], want[i], bytes[i]);
    }
    for (int i = 0; i < N; i++) {
        arm_drop(&arms[i]);
        arm_drop(&own[i]);
        free(want[i]);
        fixture_close(&f[i]);
    }
    as_slab_free(slab);
}

Test(arm_plan, the_ledger_counts_what_the_plan_does_a_run)
{
    fixture      f;
    as_arm       arm;
    as_trace_arm info = {.hash = 0};
    double       flops = 0, launches = 0;
    open_plan(&f, "mlp-small");
    for (int i = f.plan->n_prologue; i < f.plan->n_steps; i++, launches++)
        flops += (double)f.plan->steps[i].cost.flops;
    expect_ok(f.env, as_arm_plan(f.env, "a", f.plan, 5, NULL, false, &arm));
    expect_ok(f.env, arm.launch(f.env, arm.self, 0, &info));
    expect(flops > 0 && launches > 0 && info.ledger.bytes > 0);
    expect_near(info.ledger.flops, flops, 0);
    expect_near(info.ledger.launches, launches, 0);
    expect_near(info.ledger.allocations, 0, 0);
    expect_near(info.ledger.peak_bytes, (double)f.plan->device_bytes[0], 0);
    arm_drop(&arm);
    fixture_close(&f);
}

Test(arm_plan, a_block_allocates_nothing)
{
    fixture      f;
    as_arm       arm;
    as_trace_arm info;
    as_shot      shots[8];
    uint32_t     switches;
    open_plan(&f, "mlp-small");
    expect_ok(f.env, as_arm_plan(f.env, "a", f.plan, 5, NULL, true, &arm));
    expect_ok(f.env, arm.launch(f.env, arm.self, 99, &info));
    size_t before = as_test_n_allocs();
    expect_ok(f.env, arm.block(f.env, arm.self, true, 3, 8, shots, &switches));
    expect_eq(as_test_n_allocs(), before);
    arm_drop(&arm);
    fixture_close(&f);
}

Test(arm_plan, on_the_null_device_a_call_takes_what_the_device_says)
{
    fixture      f;
    as_arm       arms[2];
    assay_trace *t;
    fixture_open(&f, "mlp-small");
    fixture_set(&f, "device", "null:gemm=50us");
    fixture_plan(&f);
    for (int i = 0; i < 2; i++)
        expect_ok(f.env, as_arm_plan(f.env, i ? "b" : "a", f.plan, 5, NULL, true, &arms[i]));
    as_sampler_settings s;
    as_sampler_defaults(&s);
    s.memory = AS_MEMORY_RANDOM;
    s.budget_ns = 200000000;
    expect_ok(f.env, as_trace_new_arms(f.env, "null", 2, &t));
    expect_ok(f.env, as_sampler_run(f.env, arms, 2, &s, t));
    expect(t->n_launches >= 16);
    expect(t->spent_ns <= 1.1 * 2e8);
    for (size_t i = 1; i < t->n_turns; i++)
        expect_near(t->turns[i].wall_ns, t->turns[0].wall_ns, 0);
    expect(t->turns[0].wall_ns >= 50e3);
    assay_trace_free(t);
    arm_drop(&arms[0]);
    arm_drop(&arms[1]);
    fixture_close(&f);
}
