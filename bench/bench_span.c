/* bench_span.c - what the instrument costs: one span, and profiling on against off.  Printed, never asserted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "plan/plan.h"

enum { SPANS = 4096, ROUNDS = 41, PAIRS = 60 };

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
        if (as_instance_step(env, instance, recorder) != ASSAY_OK)
            exit(5);
        if (recorder)
            recorder->rings[0].used = 0;
    }
    return (double)(as_thread_cpu_ns() - begin) / n;
}

static void compare(assay_env *env, const char *spec, const char *batch)
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
    double once = steps_ns(env, instance, NULL, 3), ratio[PAIRS], scratch[PAIRS];
    int    n = (int)(2e6 / once) + 1;
    for (int i = 0; i < PAIRS; i++) { /* a coin decides who goes first */
        bool   first = rand() & 1;
        double a = steps_ns(env, instance, first ? &recorder : NULL, n), b = steps_ns(env, instance, first ? NULL : &recorder, n);
        ratio[i] = first ? a / b : b / a;
    }
    double median = as_median(ratio, PAIRS, scratch);
    size_t lo, hi;
    double cover;
    as_sort(ratio, PAIRS);
    as_median_ranks(PAIRS, 0.95, &lo, &hi, &cover);
    printf("profiling on / off, %s batch %s: %+.3f %% [%+.3f, %+.3f], %d interleaved pairs of %d runs, thread CPU time, %.1f us a node\n",
           spec, batch, 100 * (median - 1), 100 * (ratio[lo] - 1), 100 * (ratio[hi] - 1), PAIRS, n, once / 1e3 / (plan->n_steps - plan->n_prologue));
    assay_instance_free(instance);
    assay_plan_free(plan);
    assay_model_free(model);
    assay_options_free(options);
}

int main(void)
{
    assay_env *env;
    if (assay_env_new(&env) != ASSAY_OK)
        return 5;
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
    compare(env, "mlp", "8");
    compare(env, "cnn-small", "1");
    assay_env_free(env);
    return 0;
}
