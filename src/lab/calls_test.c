/* calls_test.c - the parts of the laboratory's public calls that no verb and no example uses: what each refuses, and what its
 * facts hold. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "plan/test_fixture.h"

static void options_only(fixture *f, const char *key, const char *value)
{
    fixture_open(f, NULL);
    fixture_set(f, key, value);
}

Test(calls, every_call_refuses_what_it_does_not_take)
{
    fixture           f;
    assay_facts      *facts = NULL;
    const char *const what[] = {"mlp-small"};
    options_only(&f, "deadline", "1ms");
    expect_ok(f.env, assay_model_load(f.env, "mlp-small", NULL, &f.model));
    expect_fails(f.env, assay_devices(f.env, f.options, &facts), ASSAY_BAD_INPUT, "devices: --deadline");
    expect_fails(f.env, assay_noise(f.env, f.options, &facts), ASSAY_BAD_INPUT, "noise: --deadline");
    expect_fails(f.env, assay_history(f.env, NULL, f.options, &facts), ASSAY_BAD_INPUT, "history: --deadline");
    expect_fails(f.env, assay_stored_runs(f.env, f.options, &facts), ASSAY_BAD_INPUT, "runs: --deadline");
    expect_fails(f.env, assay_stored_run(f.env, 1, f.options, &facts), ASSAY_BAD_INPUT, "run: --deadline");
    expect_fails(f.env, assay_baselines(f.env, f.options, &facts), ASSAY_BAD_INPUT, "baseline list: --deadline");
    expect_fails(f.env, assay_baseline_promote(f.env, "a", "b", f.options), ASSAY_BAD_INPUT, "baseline promote: --deadline");
    expect_fails(f.env, assay_baseline_remove(f.env, "a", f.options), ASSAY_BAD_INPUT, "baseline rm: --deadline");
    expect_fails(f.env, assay_baseline_create(f.env, "a", what, 1, f.options), ASSAY_BAD_INPUT, "baseline save: --deadline");
    expect_fails(f.env, assay_baseline_create_programs(f.env, "a", what, 1, f.options), ASSAY_BAD_INPUT,
                 "baseline save --bin: --deadline");
    expect_fails(f.env, assay_speak(f.env, "mlp-small", f.options, 0, 1), ASSAY_BAD_INPUT, "speak: --deadline");
    expect_fails(f.env, assay_export(f.env, f.model, f.options), ASSAY_BAD_INPUT, "export: --deadline");
    expect(facts == NULL);
    fixture_close(&f);
}

Test(calls, a_stream_refuses_what_would_leave_an_input_to_chance)
{
    fixture      f;
    assay_facts *facts = NULL;
    options_only(&f, "batch", "2");
    expect_ok(f.env, assay_model_load(f.env, "mlp-small", NULL, &f.model));
    expect_fails(f.env, assay_stream(f.env, f.model, f.options, -1, -1, &facts), ASSAY_BAD_INPUT, "--batch must be 1, not 2");
    fixture_close(&f);
    options_only(&f, "state-out", "h.npy");
    expect_ok(f.env, assay_model_load(f.env, "mlp-small", NULL, &f.model));
    expect_fails(f.env, assay_stream(f.env, f.model, f.options, -1, -1, &facts), ASSAY_BAD_INPUT, "has no state output");
    fixture_close(&f);
    options_only(&f, "seed", "2");
    expect_ok(f.env, assay_model_load(f.env, "cfc:input=3,units=4", NULL, &f.model));
    expect_fails(f.env, assay_stream(f.env, f.model, f.options, -1, -1, &facts), ASSAY_BAD_INPUT,
                 "gives 'h_n' and has no input for it");
    fixture_close(&f);
    options_only(&f, "output", "y.npy");
    expect_ok(f.env, assay_model_load(f.env, "mlp-small", NULL, &f.model));
    expect_fails(f.env, assay_stream(f.env, f.model, f.options, -1, -1, &facts), ASSAY_BAD_INPUT, "stream: --output");
    expect(facts == NULL);
    fixture_close(&f);
}

/* By the last column of the samples, as `run --stream --timespans stdin`. */
Test(calls, a_stream_takes_time_spans_from_its_samples)
{
    fixture           f;
    assay_facts      *facts = NULL;
    int               in[2], out[2];
    static const char samples[] = "1,2,3,0.5\n4,5,6,2\n";
    char              answers[512];
    options_only(&f, "timespans", "stdin");
    expect_eq(pipe(in), 0);
    expect_eq(pipe(out), 0);
    expect_eq(write(in[1], samples, sizeof samples - 1), (ssize_t)sizeof samples - 1);
    close(in[1]);
    expect_ok(f.env, assay_model_load(f.env, "cfc:input=3,units=4,timespans=1,state=1", NULL, &f.model));
    expect_ok(f.env, assay_stream(f.env, f.model, f.options, in[0], out[1], &facts));
    close(out[1]);
    ssize_t n = read(out[0], answers, sizeof answers - 1);
    expect(n > 0);
    answers[n] = 0;
    expect(strchr(answers, '\n') != strrchr(answers, '\n'));
    expect_near(assay_facts_metric(facts, "stream.answers")->value, 2, 0);
    expect_eq(assay_facts_metric(facts, "stream.missed")->kind, ASSAY_UNAVAILABLE);
    close(in[0]);
    close(out[0]);
    assay_facts_free(facts);
    fixture_close(&f);
}

Test(calls, devices_have_their_limits_as_facts)
{
    fixture             f;
    assay_facts        *facts = NULL;
    const assay_metric *metric = NULL;
    const char         *name, *key;
    size_t              n_rows, n_columns;
    bool                seen = false;
    options_only(&f, "device", "null:limit.fma.f32=1e9");
    expect_ok(f.env, assay_devices(f.env, f.options, &facts));
    expect(assay_facts_table(facts, 0, &key, &n_rows, &n_columns));
    for (size_t i = 0; i < n_rows; i++) {
        expect(assay_facts_cell(facts, 0, i, 0, &name, &metric));
        seen = seen || !strcmp(name, "cpu");
    }
    expect(seen);
    const char *label;
    expect(assay_facts_at(facts, 0, &key, &label, &metric));
    expect_has(key, "fma.f32");
    expect_near(metric->value, 1e9, 0);
    expect(!assay_facts_at(facts, 1, &key, &label, &metric));
    char path[] = "/tmp/assay-devices-XXXXXX", text[4096] = "";
    close(mkstemp(path));
    expect_ok(f.env, assay_report(f.env, (const assay_facts *const[]){facts}, 1, "markdown", path));
    expect(as_file_small(path, text, sizeof text));
    expect_has(text, "Devices");
    expect_has(text, "fma.f32");
    unlink(path);
    assay_facts_free(facts);
    fixture_close(&f);
}

Test(calls, a_plan_and_its_outputs_are_written_as_text_or_json)
{
    fixture f;
    char    path[] = "/tmp/assay-plan-XXXXXX", text[64] = "";
    close(mkstemp(path));
    fixture_open(&f, "mlp-small");
    fixture_plan(&f);
    fixture_instance(&f);
    fixture_step(&f);
    const struct {
        const char *format, *plan, *outputs;
    } forms[] = {{"text", "plan of mlp-small", "f32[1,"}, {"json", "assay.plan/1", "assay.outputs/1"}};
    for (size_t i = 0; i < AS_COUNT(forms); i++) {
        expect_ok(f.env, assay_plan_write(f.env, f.plan, forms[i].format, path));
        expect(as_file_small(path, text, sizeof text));
        expect_has(text, forms[i].plan);
        expect_ok(f.env, assay_instance_write(f.env, f.instance, forms[i].format, path));
        expect(as_file_small(path, text, sizeof text));
        expect_has(text, forms[i].outputs);
    }
    expect_fails(f.env, assay_plan_write(f.env, f.plan, "html", path), ASSAY_BAD_INPUT, "must be text or json, not 'html'");
    expect_fails(f.env, assay_instance_write(f.env, f.instance, "html", path), ASSAY_BAD_INPUT, "not 'html'");
    expect(as_file_small(path, text, sizeof text));
    expect_has(text, "assay.outputs/1"); /* the old file stays */
    unlink(path);
    fixture_close(&f);
}

/* --- What is in here --- */

static bool list_has(const assay_facts *facts, const char *table, const char *first)
{
    const char         *key, *text;
    const assay_metric *number;
    size_t              n_rows, n_columns;
    for (size_t i = 0; assay_facts_table(facts, i, &key, &n_rows, &n_columns); i++)
        for (size_t row = 0; !strcmp(key, table) && row < n_rows; row++)
            for (size_t k = 0; k < n_columns; k++)
                if (assay_facts_cell(facts, i, row, k, &text, &number) && text && !strcmp(text, first))
                    return true;
    return false;
}

Test(calls, lists_have_a_table_of_their_topic)
{
    static const struct {
        const char *topic, *of, *has;
    } cases[] = {
        {"ops", NULL, "Conv"},     {"models", NULL, "mlp"},       {"params", "mlp-small", "fc1.weight"}, {"devices", NULL, "cpu"},
        {"kernels", NULL, "Relu"}, {"sensors", NULL, "cpu.time"}, {"aliases", NULL, "--batch-size"}};
    assay_env   *env;
    assay_facts *facts = NULL;
    expect(assay_env_new(&env) == ASSAY_OK);
    for (size_t i = 0; i < AS_COUNT(cases); i++) {
        expect_ok(env, assay_list(env, cases[i].topic, cases[i].of, &facts));
        expect(list_has(facts, cases[i].topic, cases[i].has));
        assay_facts_free(facts);
    }
    facts = NULL;
    expect_fails(env, assay_list(env, "nothing", NULL, &facts), ASSAY_NOT_FOUND, "nothing to list under 'nothing'");
    expect_fails(env, assay_list(env, "params", NULL, &facts), ASSAY_BAD_INPUT, "needs a model");
    expect_fails(env, assay_list(env, "models", "mlp", &facts), ASSAY_BAD_INPUT, "one argument too many");
    expect(!facts);
    expect_ok(env, assay_parts(env, &facts));
    expect(list_has(facts, "build", ASSAY_VERSION));
    expect(list_has(facts, "in", "Conv"));
    assay_facts_free(facts);
    assay_env_free(env);
}

Test(calls, a_wiring_is_written_in_every_format)
{
    static const char *const forms[][2] = {
        {"text", "neurons: 16 units"}, {"json", "assay.wiring/1"}, {"dot", "digraph"}, {"svg", "<svg"}};
    char       path[] = "/tmp/assay-wiring-XXXXXX", text[65536];
    assay_env *env;
    int        fd = mkstemp(path);
    expect(fd >= 0 && assay_env_new(&env) == ASSAY_OK);
    close(fd);
    for (size_t i = 0; i < AS_COUNT(forms); i++) {
        expect_ok(env, assay_wiring_write(env, "autoncp:units=16,out=4", NULL, forms[i][0], path));
        expect(as_file_small(path, text, sizeof text));
        expect_has(text, forms[i][1]);
    }
    expect_fails(env, assay_wiring_write(env, "autoncp:units=16,out=4", NULL, "html", path), ASSAY_BAD_INPUT, "not 'html'");
    expect_fails(env, assay_wiring_write(env, "autoncp:units=4,out=4", NULL, "crc", path), ASSAY_BAD_INPUT, "units-2");
    expect(as_file_small(path, text, sizeof text));
    expect_has(text, "<svg"); /* the old file stays */
    unlink(path);
    assay_env_free(env);
}

/* Only less exact kernels cost accuracy, and then how much is told. */
Test(calls, the_error_of_a_run_is_that_of_its_kernels)
{
    fixture f;
    double  exact = -1, fast = -1;
    fixture_open(&f, "cnn-small");
    fixture_plan(&f);
    expect_ok(f.env, assay_instance_new(f.env, f.plan, &f.instance));
    assay_instance_fill(f.instance, 1);
    expect_ok(f.env, assay_run(f.env, f.instance));
    expect_ok(f.env, assay_run_error(f.env, f.instance, f.options, &exact));
    expect_near(exact, 0, 0);
    fixture_close(&f);
    fixture_open(&f, "cnn-small");
    fixture_set(&f, "winograd", "on");
    fixture_plan(&f);
    expect_ok(f.env, assay_instance_new(f.env, f.plan, &f.instance));
    assay_instance_fill(f.instance, 1);
    expect_ok(f.env, assay_run(f.env, f.instance));
    expect_ok(f.env, assay_run_error(f.env, f.instance, f.options, &fast));
    expect(f.plan->winograd ? fast > 0 && fast < 1e-3 : fast == 0);
    fixture_close(&f);
}
