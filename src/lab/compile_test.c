/* compile_test.c - both plans of a network take turns on the null device, whose times are planted; the answers are a CPU's. */
#include "lab/compile.h"

#include <math.h>

#include "plan/test_fixture.h"

typedef struct bench {
    fixture         f;
    assay_plan     *off;
    as_lab_settings s;
    assay_trace    *trial;
} bench;

static bench bench_open(const char *model, const char *device)
{
    bench b = {.off = NULL};
    fixture_open(&b.f, model);
    fixture_set(&b.f, "device", device);
    fixture_set(&b.f, "compile", "off");
    expect_ok(b.f.env, assay_plan_build(b.f.env, b.f.model, b.f.options, &b.off));
    fixture_set(&b.f, "compile", "on");
    fixture_plan(&b.f);
    expect_ok(b.f.env, as_lab_settings_read(b.f.env, b.f.options, NULL, &b.s));
    b.s.early = false;
    b.s.sampler.budget_ns = 60000000;
    return b;
}

static void bench_close(bench *b)
{
    assay_trace_free(b->trial);
    assay_plan_free(b->off);
    fixture_close(&b->f);
}

static assay_status bench_run(bench *b) { return as_lab_compile(b->f.env, b->f.plan, b->off, true, &b->s, &b->trial); }

Test(compile, arms_are_op_by_op_and_compiled)
{
    bench b = bench_open("cnn-bn", "null:*=5us");
    expect_ok(b.f.env, bench_run(&b));
    expect_eq(b.trial->state, AS_TRACE_COMPLETE);
    expect_str(b.trial->arms[AS_COMPILE_OFF].name, "compile=off");
    expect_str(b.trial->arms[AS_COMPILE_ON].name, "compile=on");
    expect(isnan(b.trial->arms[0].plan_ns) && isnan(b.trial->arms[1].plan_ns)); /* the clock is simulated, and planning does not
                                                                                 * move it */
    bench_close(&b);
}

/* On the null device every call takes exactly its given time, so the ratio of the blocks is exactly that of two calls. */
Test(compile, the_ratio_is_that_of_the_calls)
{
    bench   b = bench_open("cnn-bn", "null:*=5us");
    as_duel duel;
    expect_ok(b.f.env, bench_run(&b));
    as_duel_judge(b.trial, AS_COMPILE_OFF, AS_COMPILE_ON, &b.s.rules, &duel);
    double on = b.trial->arms[AS_COMPILE_ON].first_ns[2], off = b.trial->arms[AS_COMPILE_OFF].first_ns[2];
    expect(on < off);
    expect_near(duel.ratio, on / off, 1e-6);
    expect_eq(duel.verdict, AS_FASTER);
    bench_close(&b);
}

Test(compile, the_difference_of_the_outputs_and_the_times_of_planning_are_noted)
{
    bench b = bench_open("cnn-bn", "cpu");
    b.s.sampler.n_rounds = 1;
    b.s.sampler.warm_up = 0;
    b.s.sampler.probes = false;
    expect_ok(b.f.env, bench_run(&b));
    expect(b.trial->difference >= 0 && b.trial->difference < 1e-5);
    expect(b.trial->arms[0].plan_ns > 0 && b.trial->arms[1].plan_ns > 0);
    bench_close(&b);
}

Test(compile, a_clock_that_stands_still_is_told_and_not_waited_for)
{
    bench b = bench_open("mlp-small", "null:*=0us");
    expect_ok(b.f.env, bench_run(&b));
    expect_eq(b.trial->state, AS_TRACE_FAILED);
    expect_has(b.trial->reason, "a call takes 0 ns");
    bench_close(&b);
}

static void cancel(void *arg, const assay_stage *stage)
{
    (void)stage;
    assay_cancel(arg);
}

Test(compile, cancel_keeps_what_was_measured)
{
    bench b = bench_open("mlp-small", "null:*=5us");
    b.s.sampler.budget_ns = 1000000000;
    assay_on_progress(b.f.env, cancel, b.f.env);
    expect_eq(bench_run(&b), ASSAY_CANCELLED);
    expect(b.trial);
    expect_eq(b.trial->state, AS_TRACE_PARTIAL);
    expect(b.trial->n_rounds > 0);
    bench_close(&b);
}
