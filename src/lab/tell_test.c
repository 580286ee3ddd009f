/* tell_test.c - the plan as text and as JSON. */
#include "base/json.h"
#include "lab/tell.h"
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

Test(tell, the_text_names_steps_reasons_buffers_and_bytes)
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

Test(tell, control_characters_of_a_model_do_not_reach_the_terminal)
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

Test(tell, the_json_parses_and_counts_to_the_byte)
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

Test(tell, a_full_disk_is_told)
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

/* The output is the input itself. */
Test(tell, a_plan_without_steps_says_why)
{
    fixture f;
    fixture_open(&f, NULL);
    as_maker *m = fixture_maker(&f);
    as_maker_output(m, fixture_input(m, "x", 2, 2));
    expect_ok(f.env, as_maker_finish(m, &f.model));
    fixture_plan(&f);
    char *text = text_of(f.plan, false);
    expect_has(text, "no steps: every output is an input");
    free(text);
    fixture_close(&f);
}
