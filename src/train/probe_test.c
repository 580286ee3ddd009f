/* probe_test.c - probes of batch sizes: what fits, what does not, and the line through their times. */
#include "train/probe.h"

#include <math.h>
#include <stdlib.h>

#include "plan/test_fixture.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITISED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITISED
#endif

static void open_all(assay_env **env, assay_model **model, as_plan_options *options, const char *spec)
{
    expect_eq(assay_env_new(env), ASSAY_OK);
    expect_ok(*env, as_model_load(*env, spec, &(as_model_options){.seed = 1}, model));
    expect_ok(*env, as_plan_options_read(*env, NULL, options));
    options->threads = 1;
}

Test(probe, a_line_is_found_with_its_knee)
{
    static const double x[] = {1, 4, 16, 64}, y[] = {110, 140, 260, 740};
    as_line             line;
    expect(as_line_fit(x, y, 4, &line));
    expect_near(line.a, 100, 1e-6);
    expect_near(line.b, 10, 1e-6);
    expect_near(as_line_knee(&line), 190, 1e-6); /* 190 / (100 + 1900) is 0.95 / 10 */
    expect(line.worst < 1e-9);
    expect(!as_line_fit(x, y, 1, &line));
    expect(!as_line_fit((const double[]){3, 3}, y, 2, &line));
}

Test(probe, the_largest_batch_size_is_exact)
{
    assay_env      *env;
    assay_model    *model;
    as_plan_options options;
    as_train_setup  setup = {.optimizer = "adam"};
    uint64_t        budget, bytes;
    int64_t         largest;
    open_all(&env, &model, &options, "mlp:sizes=32x32x8");
    expect_ok(env, as_probe_plan(env, model, &setup, &options, 37, &budget));
    expect_ok(env, as_probe_largest(env, model, &setup, &options, budget, 4096, &largest));
    expect_ok(env, as_probe_plan(env, model, &setup, &options, largest, &bytes));
    expect(largest >= 37 && bytes <= budget);
    expect_ok(env, as_probe_plan(env, model, &setup, &options, largest + 1, &bytes));
    expect(bytes > budget);
    expect_ok(env, as_probe_largest(env, model, &setup, &options, 100, 4096, &largest));
    expect_eq(largest, 0);
    expect_ok(env, as_probe_largest(env, model, &setup, &options, UINT64_MAX, 100, &largest));
    expect_eq(largest, 100);
    assay_model_free(model);
    assay_env_free(env);
}

static assay_status take_it_all(assay_env *env, void *arg, as_probe *out)
{
    (void)arg;
    (void)out;
    for (size_t bytes = (size_t)1 << 22; bytes <= (size_t)1 << 40; bytes *= 2) {
        char *block = malloc(bytes);
        if (!block)
            return as_fail(env, ASSAY_NO_MEMORY, "not enough memory for %zu bytes", bytes);
        block[bytes - 1] = 1; /* the compiler must not leave it out */
    }
    return as_fail(env, ASSAY_INTERNAL, "there is no limit");
}

static assay_status die(assay_env *env, void *arg, as_probe *out)
{
    (void)env;
    (void)arg;
    (void)out;
    _Exit(3);
}

Test(probe, running_out_of_memory_and_a_crash_are_results)
{
    assay_env      *env;
    assay_model    *model;
    as_plan_options options;
    as_train_setup  setup = {.optimizer = "adam"};
    as_probe        p;
    open_all(&env, &model, &options, "mlp:sizes=32x32x8");
    expect_ok(env, as_probe_run(env, model, &setup, &options, 8, (uint64_t)64 << 20, .02, false, &p));
    expect_eq(p.state, AS_PROBE_FITS);
    expect(p.step_ns > 0 && p.n_steps >= 1 && p.planned_bytes > 0);
    expect_ok(env, as_probe_run(env, model, &setup, &options, 1 << 16, (uint64_t)1 << 20, .02, false, &p));
    expect_eq(p.state, AS_PROBE_NO_MEMORY);
    expect(p.planned_bytes > (uint64_t)1 << 20);
#ifndef SANITISED
    p = (as_probe){.threads = 1};
    expect_ok(env, as_probe_child(env, take_it_all, NULL, (uint64_t)64 << 20, &p));
    expect_eq(p.state, AS_PROBE_NO_MEMORY);
#else
    (void)take_it_all; /* a sanitiser's own memory does not go with the limit */
#endif
    p = (as_probe){.threads = 1};
    expect_ok(env, as_probe_child(env, die, NULL, 0, &p));
    expect_eq(p.state, AS_PROBE_FAILED);
    assay_model_free(model);
    assay_env_free(env);
}

/* A machine whose step takes 5700 + 100 B ns, and whose memory holds B bytes per example. */
typedef struct told_machine {
    int     n_tried;
    double  a, b;
    int64_t fails_from; /* sizes that do not fit when they are tried */
} told_machine;

static assay_status told_bytes(void *arg, int64_t batch, uint64_t *out)
{
    (void)arg;
    *out = (uint64_t)batch * 10;
    return ASSAY_OK;
}

static assay_status told_try(void *arg, int64_t batch, uint64_t limit_bytes, as_probe *out)
{
    told_machine *m = arg;
    m->n_tried++;
    *out = (as_probe){.batch = batch, .step_ns = m->a + m->b * (double)batch};
    expect((uint64_t)batch * 10 <= limit_bytes); /* nothing larger than what fits is tried */
    out->state = m->fails_from && batch >= m->fails_from ? AS_PROBE_NO_MEMORY : AS_PROBE_FITS;
    return ASSAY_OK;
}

Test(probe, batch_auto_takes_the_knee_or_the_largest_that_fits)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    as_batch_choice c;
    told_machine    m = {.a = 5700, .b = 100};
    expect_ok(env, as_probe_choose(env, 100000, 1000000, told_bytes, told_try, &m, &c));
    expect_near(c.knee, 1083, 1); /* 19 a / b */
    expect_eq(c.batch, 1088);     /* in steps of 8 */
    expect_eq(c.largest, 100000);
    expect_eq(c.n_probes, 5);
    expect_ok(env, as_probe_choose(env, 100000, 2000, told_bytes, told_try, &m, &c)); /* memory ends before the knee */
    expect_eq(c.batch, 200);
    expect_ok(env, as_probe_choose(env, 3, 2000, told_bytes, told_try, &m, &c)); /* so do the examples */
    expect_eq(c.batch, 3);
    m = (told_machine){.a = 5700, .b = 0}; /* the time does not grow: there is no knee */
    expect_ok(env, as_probe_choose(env, 64, 1000000, told_bytes, told_try, &m, &c));
    expect_eq(c.batch, 64);
    expect(isnan(c.knee));
    expect_fails(env, as_probe_choose(env, 64, 5, told_bytes, told_try, &m, &c), ASSAY_NO_MEMORY, "not even one example");
    expect_eq(as_batch_of_knee(17, 20), 20); /* 24 would be too many */
    expect_eq(as_batch_of_knee((double)NAN, 20), 20);
    assay_env_free(env);
}
