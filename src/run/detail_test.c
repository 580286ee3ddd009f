/* detail_test.c - candidates in turns, step by step: on the null device, whose time is simulated, every span is known. */
#include "plan/test_fixture.h"
#include "run/sampler.h"

typedef struct pair {
    fixture      f[2];
    as_arm       arms[2];
    assay_trace *t;
} pair;

static void pair_open(pair *p, const char *a_spec, const char *a_device, const char *b_spec, const char *b_device)
{
    const char *specs[] = {a_spec, b_spec}, *devices[] = {a_device, b_device}, *names[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        fixture_open(&p->f[i], specs[i]);
        fixture_set(&p->f[i], "device", devices[i]);
        fixture_plan(&p->f[i]);
        expect_ok(p->f[0].env, as_arm_plan(p->f[0].env, names[i], p->f[i].plan, 1, NULL, false, &p->arms[i]));
    }
    expect_ok(p->f[0].env, as_trace_new_arms(p->f[0].env, "a and b", 2, &p->t));
}

static void pair_close(pair *p)
{
    for (int i = 0; i < 2; i++) {
        p->arms[i].land(p->arms[i].self);
        p->arms[i].drop(p->arms[i].self);
    }
    assay_trace_free(p->t);
    fixture_close(&p->f[1]);
    fixture_close(&p->f[0]);
}

static int arm_of(const assay_trace *t, const as_span *s) { return s->step < 0 ? -1 : t->steps[s->step].arm; }

Test(detail, every_run_has_the_steps_of_one_arm_and_their_times)
{
    pair p;
    pair_open(&p, "mlp-small", "null:gemm=5us,relu=1us", "mlp-small", "null:gemm=7us,relu=1us");
    as_sampler_settings s;
    as_sampler_defaults(&s);
    expect_ok(p.f[0].env, as_arms_detail(p.f[0].env, p.arms, 2, &s, p.t));
    expect(p.t->n_detailed >= 24);
    expect_eq(p.t->dropped_spans, 0);
    uint32_t n_runs[2] = {0, 0};
    for (uint32_t run = 0; run < p.t->n_detailed; run++) {
        int    arm = -1;
        double whole = 0, gemms = 0;
        for (size_t i = 0; i < p.t->n_spans; i++) {
            const as_span *x = &p.t->spans[i];
            double         ns = (double)(x->end_ticks - x->begin_ticks) * p.t->ns_per_tick;
            if (x->run != run)
                continue;
            whole += x->kind == AS_SPAN_RUN ? ns : 0;
            if (x->kind != AS_SPAN_STEP)
                continue;
            expect(arm < 0 || arm == arm_of(p.t, x));
            arm = arm_of(p.t, x);
            gemms += !strcmp(p.t->steps[x->step].op, "Gemm") ? ns : 0;
        }
        expect(arm == 0 || arm == 1);
        n_runs[arm]++;
        expect_near(gemms, arm ? 14000 : 10000, 1e-6);
        expect_near(whole, arm ? 15000 : 11000, 1e-6);
    }
    expect_eq(n_runs[0], n_runs[1]);
    pair_close(&p);
}

Test(detail, a_trial_that_goes_on_does_not_describe_its_steps_again)
{
    pair p;
    pair_open(&p, "mlp-small", "null", "mlp-small", "null");
    as_sampler_settings s;
    as_sampler_defaults(&s);
    expect_ok(p.f[0].env, as_arms_detail(p.f[0].env, p.arms, 2, &s, p.t));
    size_t n_steps = p.t->n_steps, n_spans = p.t->n_spans;
    expect_ok(p.f[0].env, as_arms_detail(p.f[0].env, p.arms, 2, &s, p.t));
    expect_eq(p.t->n_steps, n_steps);
    expect_eq(p.t->n_spans, n_spans);
    p.t->n_detailed = 4; /* there was time for few runs at first */
    expect_ok(p.f[0].env, as_arms_detail(p.f[0].env, p.arms, 2, &s, p.t));
    expect_eq(p.t->n_steps, n_steps);
    expect(p.t->n_spans > n_spans);
    pair_close(&p);
}

Test(detail, runs_that_do_not_fit_are_not_begun_and_the_trace_says_why)
{
    pair p;
    pair_open(&p, "mlp-small", "null:gemm=1s", "mlp-small", "null:gemm=1s");
    as_sampler_settings s;
    as_sampler_defaults(&s);
    expect_ok(p.f[0].env, as_arms_detail(p.f[0].env, p.arms, 2, &s, p.t));
    expect_eq(p.t->n_detailed, 0);
    expect_eq(p.t->n_spans, 0);
    expect_has(p.t->detail_why, "5 are needed");
    pair_close(&p);
}
