/* bench_span.c - the cost of measuring: one span, and profiling on against off.  Printed, never asserted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "plan/plan.h"

enum { SPANS = 4096, ROUNDS = 41, PAIRS = 401, SAMPLES = 8 };
#define SAMPLE_NS 4e5

static double span_ns(assay_env *env, as_ring *ring, bool on)
{
    uint64_t begin = as_monotonic_ns(), sink = 0;
    for (int i = 0; i < SPANS; i++) {
        if (on) {
            uint64_t t0 = as_clock_now(&env->clock);
            __asm__ volatile("" : "+r"(sink));
            as_ring_add(ring, AS_SPAN_STEP, i, t0, as_clock_now(&env->clock));
        } else {
            __asm__ volatile("" : "+r"(sink));
        }
    }
    ring->used = 0;
    return (double)(as_monotonic_ns() - begin) / SPANS;
}

/* CPU time of n steps, with the recorder or without. */
static double steps_ns(assay_env *env, assay_instance *instance, as_recorder *recorder, int n)
{
    uint64_t begin = as_thread_cpu_ns();
    for (int i = 0; i < n; i++) {
        if (as_instance_step(AS_RUN_WITH(env, recorder), instance) != ASSAY_OK)
            exit(5);
        if (recorder)
            recorder->rings[0].used = 0;
    }
    return (double)(as_thread_cpu_ns() - begin) / n;
}

/* A block of one candidate: one untimed call, then samples; gives the lower quartile, which other load seldom affects. */
static double block_ns(assay_env *env, assay_instance *instance, as_recorder *recorder, int n)
{
    double samples[SAMPLES];
    steps_ns(env, instance, recorder, 1);
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = steps_ns(env, instance, recorder, n);
    as_sort(samples, SAMPLES);
    return as_quantile_sorted(samples, SAMPLES, 0.25);
}

static void compare(assay_env *env, const char *spec, const char *batch, bool json)
{
    assay_options  *options;
    assay_model    *model;
    assay_plan     *plan;
    assay_instance *instance;
    static as_span  spans[SPANS];
    as_ring         ring = {.spans = spans, .capacity = SPANS};
    as_recorder     recorder = {.rings = &ring, .n_rings = 1, .detail = AS_DETAIL_STEP};
    if (assay_options_new(env, &options) || assay_options_set(env, options, "batch", batch) ||
        assay_model_load(env, spec, options, &model) || assay_plan_build(env, model, options, &plan) ||
        assay_instance_new(env, plan, &instance)) {
        fprintf(stderr, "bench: %s\n", assay_message(env));
        exit(5);
    }
    for (int i = 0; i < model->n_inputs; i++) {
        as_view view = as_instance_input(instance, i);
        as_random_input(1, "x", &view);
    }
    double once = block_ns(env, instance, NULL, 1), ratio[PAIRS], scratch[PAIRS];
    int    n = (int)(SAMPLE_NS / once) + 1;
    for (int i = 0; i < PAIRS; i++) { /* a coin decides which goes first */
        bool   first = rand() & 1;
        double a = block_ns(env, instance, first ? &recorder : NULL, n), b = block_ns(env, instance, first ? NULL : &recorder, n);
        ratio[i] = first ? a / b : b / a;
    }
    double median = as_median(ratio, PAIRS, scratch), cover;
    size_t lo, hi;
    as_sort(ratio, PAIRS);
    as_median_ranks(PAIRS, 0.95, &lo, &hi, &cover);
    if (json)
        printf("{\"run_us\": %.6g, \"ratio\": %.6g, \"lo\": %.6g, \"hi\": %.6g, \"nodes\": %d}\n", once / 1e3, median, ratio[lo],
               ratio[hi], plan->n_steps - plan->n_prologue);
    else
        printf("profiling on / off, %s batch %s, %d nodes of %.1f us in the mean: %+.3f %%, 95 %% interval %+.3f to %+.3f\n", spec,
               batch, plan->n_steps - plan->n_prologue, once / 1e3 / (plan->n_steps - plan->n_prologue), 100 * (median - 1),
               100 * (ratio[lo] - 1), 100 * (ratio[hi] - 1));
    assay_instance_free(instance);
    assay_plan_free(plan);
    assay_model_free(model);
    assay_options_free(options);
}

/* The macro as a program uses it, with the session that collects meanwhile, and without one. */
static __attribute__((noinline)) void user_span(void)
{
    ASSAY_SPAN("bench");
    __asm__ volatile("");
}

static double user_spans_ns(void)
{
    double rounds[ROUNDS], scratch[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t begin = as_thread_cpu_ns();
        for (int k = 0; k < SPANS; k++)
            user_span();
        rounds[i] = (double)(as_thread_cpu_ns() - begin) / SPANS;
    }
    return as_median(rounds, ROUNDS, scratch);
}

static void session_print(assay_env *env)
{
    assay_session *session;
    assay_trace   *trace;
    if (assay_session_start(env, "bench", NULL, &session) != ASSAY_OK)
        exit(5);
    double on = user_spans_ns();
    if (assay_session_stop(env, session, &trace) != ASSAY_OK)
        exit(5);
    printf("a span of a session: %.1f ns on, %.1f ns without a session (medians of %d rounds of %d, thread CPU time)\n", on,
           user_spans_ns(), ROUNDS, SPANS);
    assay_trace_free(trace);
}

/* bench_span: everything, for people.  bench_span SPEC BATCH: profiling on against off of that network, as JSON for tools/bench-profilers. */
int main(int argc, char **argv)
{
    assay_env *env;
    if (assay_env_new(&env) != ASSAY_OK)
        return 5;
    if (argc == 3) {
        compare(env, argv[1], argv[2], true);
        assay_env_free(env);
        return 0;
    }
    static as_span spans[SPANS];
    as_ring        ring = {.spans = spans, .capacity = SPANS};
    double         on[ROUNDS], off[ROUNDS], scratch[ROUNDS];
    memset(spans, 1, sizeof spans); /* faulted in before the first stamp */
    for (int i = 0; i < ROUNDS; i++) {
        on[i] = span_ns(env, &ring, true);
        off[i] = span_ns(env, &ring, false);
    }
    printf("clock %s, %.1f ns a reading\n", env->clock.name, env->clock.cost_ns);
    printf("a span: %.1f ns on, %.2f ns off (medians of %d rounds of %d)\n", as_median(on, ROUNDS, scratch),
           as_median(off, ROUNDS, scratch), ROUNDS, SPANS);
    session_print(env);
    printf("%d interleaved pairs of blocks of %d samples of at least %.1f ms, thread CPU time, lower quartile of a block\n", PAIRS,
           SAMPLES, SAMPLE_NS / 1e6);
    compare(env, "mlp:sizes=128x128x128x128", "8", false);
    compare(env, "mlp-small", "8", false);
    assay_env_free(env);
    return 0;
}
