/* describe_test.c - the plan as text, as JSON and in a trace says the same. */
#include "base/json.h"
#include "plan/test_fixture.h"

static char *text_of(const assay_plan *plan, bool colour)
{
    char  *text = NULL;
    size_t n;
    FILE  *file = open_memstream(&text, &n);
    expect(file != NULL);
    as_plan_print(plan, file, colour);
    fclose(file);
    return text;
}

Test(describe, the_text_names_steps_reasons_buffers_and_bytes)
{
    fixture f;
    fixture_open(&f, "cnn-small");
    fixture_set(&f, "batch", "2");
    fixture_plan(&f);
    char *text = text_of(f.plan, false), total[64];
    snprintf(total, sizeof total, "%llu bytes", (unsigned long long)assay_plan_peak_bytes(f.plan));
    expect_has(text, "plan of cnn-small  with batch=2");
    expect_has(text, "conv2");
    expect_has(text, "f32[2,32,14,14] f32[64,32,3,3] f32[64] -> f32[2,64,7,7]");
    expect_has(text, "Why these kernels");
    expect_has(text, f.plan->steps[0].choice.name);
    expect_has(text, "lower bound");
    expect_has(text, " is pool2");
    expect_has(text, "alias");
    expect_has(text, total);
    expect(!strchr(text, '\033'));
    free(text);
    text = text_of(f.plan, true);
    expect_has(text, "\033[1m");
    free(text);
    fixture_close(&f);
}

Test(describe, control_characters_of_a_model_do_not_reach_the_terminal)
{
    fixture f;
    fixture_open(&f, "mlp-small");
    fixture_plan(&f);
    f.plan->steps[0].name = "bad\033[2Jname";
    f.plan->buffers[0].name = "bad\rbuffer";
    char *text = text_of(f.plan, false);
    bool  clean = !strchr(text, '\033') && !strchr(text, '\r');
    free(text);
    expect(clean);
    fixture_close(&f);
}

Test(describe, the_json_parses_and_counts_to_the_byte)
{
    fixture f;
    json_t *root = NULL;
    char   *text = NULL;
    size_t  n;
    fixture_open(&f, "cnn-small");
    fixture_set(&f, "device", "null");
    fixture_plan(&f);
    FILE *file = open_memstream(&text, &n);
    expect_ok(f.env, as_plan_json(f.env, f.plan, file));
    fclose(file);
    expect_ok(f.env, as_json_parse(f.env, "plan", "memory", text, n, &root));
    expect_str(json_string_value(json_object_get(root, "schema")), "assay.plan/1");
    expect_eq(json_integer_value(json_object_get(json_object_get(root, "memory"), "peak_bytes")), assay_plan_peak_bytes(f.plan));
    expect_eq(json_array_size(json_object_get(root, "steps")), f.plan->n_steps);
    expect_eq(json_array_size(json_object_get(root, "buffers")), f.plan->n_buffers);
    expect_eq(json_array_size(json_object_get(root, "devices")), 2);
    expect_eq(json_integer_value(json_object_get(json_object_get(root, "dims"), "batch")), 1);
    json_t *first = json_array_get(json_object_get(root, "steps"), 0);
    expect_str(json_string_value(json_object_get(first, "stage")), "prologue");
    expect_str(json_string_value(json_object_get(first, "op")), "Put");
    json_decref(root);
    free(text);
    fixture_close(&f);
}

Test(describe, a_full_disk_is_told)
{
    fixture f;
    fixture_open(&f, "mlp-small");
    fixture_plan(&f);
    FILE *file = fopen("/dev/full", "w");
    if (!file) {
        fixture_close(&f);
        skip("there is no /dev/full here");
    }
    setvbuf(file, NULL, _IONBF, 0);
    expect_fails(f.env, as_plan_json(f.env, f.plan, file), ASSAY_IO, "could not be written");
    fclose(file);
    fixture_close(&f);
}

Test(describe, the_trace_knows_every_step_and_buffer)
{
    fixture      f;
    assay_trace *t = NULL;
    fixture_open(&f, "mlp-small");
    fixture_set(&f, "batch", "4");
    fixture_plan(&f);
    expect_ok(f.env, as_trace_new(f.env, &t));
    expect_ok(f.env, as_plan_describe(f.env, f.plan, t));
    int first = f.plan->n_prologue; /* what the kernels pack comes before */
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

/* The output is the input itself: a plan without a step. */
Test(describe, a_plan_without_steps_is_described_too)
{
    fixture      f;
    assay_trace *t = NULL;
    fixture_open(&f, NULL);
    as_maker *m = fixture_maker(&f);
    as_maker_output(m, fixture_input(m, "x", 2, 2));
    if (as_maker_finish(m, &f.model) != ASSAY_OK) { /* a model may be refused before it comes here, which is as good */
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
    char *text = text_of(f.plan, false);
    expect_has(text, "none: every output is an input");
    free(text);
    assay_trace_free(t);
    fixture_close(&f);
}
