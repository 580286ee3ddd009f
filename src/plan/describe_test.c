/* describe_test.c - the plan in a trace. */
#include "plan/test_fixture.h"

Test(describe, the_trace_knows_every_step_and_buffer)
{
    fixture      f;
    assay_trace *t = NULL;
    fixture_open(&f, "mlp-small");
    fixture_set(&f, "batch", "4");
    fixture_plan(&f);
    expect_ok(f.env, as_trace_new(f.env, &t));
    expect_ok(f.env, as_plan_describe(f.env, f.plan, t));
    int first = f.plan->n_prologue; /* packing steps come before */
    expect_eq((int)t->n_steps, first + 2);
    for (int i = 0; i < first; i++)
        expect_str(t->steps[i].stage, "prologue");
    const as_trace_step *fc1 = &t->steps[first], *fc2 = &t->steps[first + 1];
    expect_str(fc1->name, "fc1+relu");
    expect_str(fc1->op, "assay.FusedGemm");
    expect_str(fc1->stage, "body");
    expect_str(fc1->device, "cpu");
    expect_str(fc1->shapes, "f32[4,784] f32[128,784] f32[128] -> f32[4,128]");
    expect(fc1->working_set_bytes >= 4 * (4 * 784 + 128 * 784 + 128 + 4 * 128));
    expect(fc1->flops >= 2u * 4 * 784 * 128);
    bool reads = false; /* fc1 -> fc2 */
    for (int i = 0; i < fc2->n_inputs; i++)
        reads |= fc2->inputs[i] == first;
    expect(reads);
    expect_eq(t->n_buffers, f.plan->n_buffers);
    expect_eq(t->peak_bytes_planned, assay_plan_peak_bytes(f.plan));
    expect_eq(t->param_bytes, 4 * 101770);
    expect_eq(t->activation_bytes, 4 * (4 * 784 + 4 * 128 + 4 * 10));
    assay_trace_free(t);
    fixture_close(&f);
}

Test(describe, the_trace_knows_steps_of_doubles)
{
    for (int doubles = 0; doubles < 2; doubles++) {
        fixture      f;
        assay_trace *t = NULL;
        fixture_open(&f, doubles ? "matmul:size=5x3,dtype=f64" : "matmul:size=5x3,dtype=f32");
        fixture_plan(&f);
        expect_ok(f.env, as_trace_new(f.env, &t));
        expect_ok(f.env, as_plan_describe(f.env, f.plan, t));
        expect_eq(t->steps[t->n_steps - 1].is_f64, doubles);
        assay_trace_free(t);
        fixture_close(&f);
    }
}

/* The output is the input itself: a plan without a step. */
Test(describe, a_plan_without_steps_is_described_too)
{
    fixture      f;
    assay_trace *t = NULL;
    fixture_open(&f, NULL);
    as_maker *m = fixture_maker(&f);
    as_maker_output(m, fixture_input(m, "x", 2, 2));
    if (as_maker_finish(m, &f.model) != ASSAY_OK) { /* the model may be refused before this point, which is fine, too */
        fixture_close(&f);
        return;
    }
    fixture_plan(&f);
    fixture_instance(&f);
    fixture_step(&f);
    as_view x = as_instance_input(f.instance, 0), y = as_instance_output(f.instance, 0);
    expect(!memcmp(x.data, y.data, 16));
    expect_ok(f.env, as_trace_new(f.env, &t));
    expect_ok(f.env, as_plan_describe(f.env, f.plan, t));
    expect_eq(t->buffers[0].first_step, -1);
    assay_trace_free(t);
    fixture_close(&f);
}
