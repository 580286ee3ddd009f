/* pair.c - the same network compiled and not, block against block.
 *
 * A round is one block of each, in an order drawn by a coin: whatever drifts on the machine drifts for both.  What one plan gains is
 * then the ratio within rounds, not between two measurements minutes apart. */
#include <math.h>

#include "base/random.h"
#include "run/runner.h"

#define BLOCK_NS 5e6
enum { MAX_ROUNDS = 4096, MIN_ROUNDS = 9, MAX_RUNS = 1000000 };

typedef struct arm {
    const char     *name;      /* "on", "off" */
    const assay_plan *plan;
    assay_instance *instance;
    int             sensor;
    bool            by_cpu;
    double          first_ns, run_ns;
    uint64_t        n_runs;    /* in a block */
} arm;

static assay_status steps(assay_env *env, const arm *a, uint64_t n, double *ns)
{
    uint64_t cpu = a->by_cpu ? as_thread_cpu_ns() : 0, begin = as_clock_now(&env->clock);
    for (uint64_t i = 0; i < n; i++)
        AS_TRY(as_instance_step(env, a->instance, NULL));
    uint64_t end = as_clock_now(&env->clock);
    *ns = a->by_cpu ? (double)(as_thread_cpu_ns() - cpu) : as_clock_ns(&env->clock, end - begin);
    return ASSAY_OK;
}

/* The first call packs the weights; the second tells how many make a block. */
static assay_status arm_open(assay_env *env, arm *a, uint64_t seed)
{
    AS_TRY(assay_instance_new(env, a->plan, &a->instance));
    for (int i = 0; i < a->plan->graph.n_inputs; i++) {
        as_view view = as_instance_input(a->instance, i);
        as_random_input(seed, a->plan->graph.values[a->plan->graph.inputs[i]].name, &view);
    }
    AS_TRY(steps(env, a, 1, &a->first_ns));
    AS_TRY(steps(env, a, 1, &a->run_ns));
    double n = a->run_ns > 0 ? BLOCK_NS / a->run_ns : 1;
    a->n_runs = n < 1 ? 1 : n > MAX_RUNS ? MAX_RUNS : (uint64_t)n;
    return ASSAY_OK;
}

/* A gain in speed is none if the answers differ: the largest difference is told with it. */
static double difference(const arm *a, const arm *b)
{
    double worst = 0;
    for (int i = 0; i < a->plan->graph.n_outputs; i++) {
        as_view x = as_instance_output(a->instance, i), y = as_instance_output(b->instance, i);
        double  error = as_view_error(&x, &y);
        worst = error > worst || isnan(error) ? error : worst;
    }
    return worst;
}

static assay_status arm_note(assay_env *env, const arm *a, assay_trace *t)
{
    char key[64];
    bool ok = true;
    const struct { const char *what; double value; } notes[] = { { "plan_ns", a->plan->build_ns }, { "first_ns", a->first_ns },
                                                                 { "runs_a_block", (double)a->n_runs } };
    for (size_t i = 0; i < AS_COUNT(notes) && ok; i++) {
        snprintf(key, sizeof key, "pair.%s.%s", a->name, notes[i].what);
        ok = as_trace_add_note(t, key, "%.0f", notes[i].value);
    }
    snprintf(key, sizeof key, "pair.%s.steps", a->name);
    ok = ok && as_trace_add_note(t, key, "%d", a->plan->n_steps - a->plan->n_prologue);
    return ok ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "run: no room for the notes of the comparison");
}

static assay_status arm_describe(assay_env *env, arm *a, assay_trace *t)
{
    char            name[32];
    as_trace_sensor sensor = { .name = name, .unit = "ns", .meaning = "level",
                               .source = a->by_cpu ? "CPU time of the thread, blocks in turn" : "wall time, blocks in turn" };
    snprintf(name, sizeof name, "pair.%s", a->name);
    a->sensor = as_trace_add_sensor(t, &sensor);
    if (a->sensor < 0)
        return as_fail(env, ASSAY_NO_MEMORY, "run: no room for the readings of the comparison");
    return arm_note(env, a, t);
}

static assay_status rounds_run(assay_env *env, arm arms[2], const as_run_settings *settings, uint64_t seed, assay_trace *t)
{
    uint64_t begin = as_clock_now(&env->clock);
    for (uint32_t round = 0; round < MAX_ROUNDS && !as_cancelled(env); round++) {
        double spent = as_clock_ns(&env->clock, as_clock_now(&env->clock) - begin), ns;
        if (round >= MIN_ROUNDS && spent >= (double)settings->time_ns)
            break;
        bool flip = as_philox_uniform(seed, 0x70616972u, 0, round) < 0.5f;
        for (int k = 0; k < 2; k++) {
            arm *a = &arms[k ^ (int)flip];
            AS_TRY(steps(env, a, 1, &ns)); /* the caches are the other's: one run is not counted */
            AS_TRY(steps(env, a, a->n_runs, &ns));
            as_trace_add_reading(t, &(as_reading){ .ticks = as_clock_now(&env->clock) - t->start_ticks, .value = ns / (double)a->n_runs,
                                                   .sensor = (uint32_t)a->sensor, .sample = round });
        }
    }
    return ASSAY_OK;
}

static assay_status pair(assay_env *env, arm arms[2], const as_run_settings *settings, uint64_t seed, assay_trace *t)
{
    as_arena   arena = {0};
    as_pinning pinnings[2] = {0};
    for (int k = 0; k < 2; k++) {
        AS_TRY(arm_open(env, &arms[k], seed));
        AS_TRY(arm_describe(env, &arms[k], t));
    }
    if (!as_trace_add_note(t, "pair.difference", "%.3g", difference(&arms[0], &arms[1])) || !as_trace_reserve(t, 0, 0, 0, 2 * MAX_ROUNDS))
        return as_fail(env, ASSAY_NO_MEMORY, "run: no room for %d rounds of the comparison", MAX_ROUNDS);
    for (int k = 0; k < 2 && settings->pin; k++) /* each plan has threads of its own */
        as_pinning_do(&pinnings[k], arms[k].plan->devices[0], &arena);
    assay_status status = rounds_run(env, arms, settings, seed, t);
    for (int k = 1; k >= 0; k--)
        as_pinning_undo(&pinnings[k]);
    as_arena_drop(&arena);
    return status;
}

assay_status as_run_pair(assay_env *env, const assay_plan *on, const assay_plan *off, const as_run_settings *settings, uint64_t seed,
                         assay_trace *trace)
{
    bool by_cpu = env->clock.kind != AS_CLOCK_FAKE && on->n_devices == 1 && on->devices[0]->n_threads == 1;
    arm  arms[2] = { { .name = "on", .plan = on, .by_cpu = by_cpu }, { .name = "off", .plan = off, .by_cpu = by_cpu } };
    assay_status status = pair(env, arms, settings, seed, trace);
    for (int k = 0; k < 2; k++)
        assay_instance_free(arms[k].instance);
    return status;
}
