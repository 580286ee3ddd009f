/* null_device_test.c - a device that takes as long as it is told: the laboratory must report exactly that. */
#include "plan/test_fixture.h"
#include "run/run.h"

enum { N_RUNS = 12 };

static assay_trace *profile(fixture *f, const char *spec, const char *device, const char *compile)
{
    assay_trace    *t = NULL;
    as_run_settings s = {.n_runs = N_RUNS,
                         .time_ns = 1000000000,
                         .sensors = "none",
                         .detail = AS_DETAIL_STEP,
                         .max_cost = 0.005,
                         .kept_runs = N_RUNS};
    fixture_open(f, spec);
    as_clock_open_fake(&f->env->clock, 1000000);
    fixture_set(f, "device", device);
    fixture_set(f, "compile", compile);
    fixture_plan(f);
    expect_ok(f->env, as_run_profile(f->env, f->plan, &s, 1, &t));
    return t;
}

static uint64_t told_ns(const as_trace_step *step)
{
    static const struct {
        const char *op;
        uint64_t    ns;
    } times[] = {{"Gemm", 5000}, {"Conv", 7000}, {"Put", 300}, {"Get", 200}};
    for (size_t i = 0; i < 4; i++)
        if (!strcmp(step->op, times[i].op))
            return times[i].ns;
    return 1000;
}

#define DEVICE "null:gemm=5us,conv=7us,put=300ns,get=200ns"

static void reports_what_was_told(const char *spec, const char *compile)
{
    fixture      f;
    assay_trace *t = profile(&f, spec, DEVICE, compile);
    uint64_t     run_ns = 0;
    expect_str(t->clock_name, "fake");
    for (size_t s = 0; s < t->n_steps; s++) {
        const as_step_total *total = &t->totals[s];
        uint64_t             ns = told_ns(&t->steps[s]);
        if (strcmp(t->steps[s].stage, "body")) {
            expect_eq(total->count, 0);
            continue;
        }
        run_ns += ns;
        expect_eq(total->count, N_RUNS);
        expect_eq(total->sum_ticks, N_RUNS * ns);
        expect_eq(total->min_ticks, ns);
        expect_eq(total->max_ticks, ns);
    }
    for (size_t i = 0; i < t->n_spans; i++) {
        const as_span *span = &t->spans[i];
        if (span->kind == AS_SPAN_STEP)
            expect_eq(span->end_ticks - span->begin_ticks, told_ns(&t->steps[span->step]));
        if (span->kind == AS_SPAN_RUN)
            expect_eq(span->end_ticks - span->begin_ticks, run_ns);
    }
    expect_eq(t->n_samples, N_RUNS);
    for (size_t i = 0; i < t->n_samples; i++)
        expect_eq(t->samples[i].end_ticks - t->samples[i].begin_ticks, run_ns);
    assay_trace_free(t);
    fixture_close(&f);
}

Test(null_device, mlp_small_takes_exactly_what_was_told) { reports_what_was_told("mlp-small", "on"); }
Test(null_device, cnn_small_takes_exactly_what_was_told) { reports_what_was_told("cnn-small", "on"); }
Test(null_device, cnn_small_op_by_op_takes_exactly_what_was_told) { reports_what_was_told("cnn-small", "off"); }

/* The first run pays for moving the weights as well, the others do not. */
Test(null_device, the_prologue_is_paid_once)
{
    fixture      f;
    assay_trace *t = profile(&f, "mlp-small", DEVICE, "on");
    uint64_t     body_ns = t->samples[0].end_ticks - t->samples[0].begin_ticks, prologue_ns = 0;
    for (size_t s = 0; s < t->n_steps; s++)
        if (!strcmp(t->steps[s].stage, "prologue"))
            prologue_ns += told_ns(&t->steps[s]);
    expect_eq(prologue_ns, 4 * 300); /* two weights and two biases */
    expect_eq((uint64_t)t->first_run_ns, prologue_ns + body_ns);
    expect_eq(t->warmup[1].end_ticks - t->warmup[1].begin_ticks, body_ns);
    assay_trace_free(t);
    fixture_close(&f);
}

Test(null_device, two_profiles_are_the_same_to_the_tick)
{
    fixture      f, g;
    assay_trace *a = profile(&f, "cnn-small", DEVICE, "on"), *b = profile(&g, "cnn-small", DEVICE, "on");
    expect_eq(a->n_spans, b->n_spans);
    expect(!memcmp(a->spans, b->spans, a->n_spans * sizeof *a->spans));
    expect_eq(a->n_samples, b->n_samples);
    for (size_t i = 0; i < a->n_samples; i++) {
        expect_eq(a->samples[i].begin_ticks, b->samples[i].begin_ticks);
        expect_eq(a->samples[i].end_ticks, b->samples[i].end_ticks);
    }
    assay_trace_free(a);
    assay_trace_free(b);
    fixture_close(&f);
    fixture_close(&g);
}
