/* require_test.c - requirement profiles: those that the program carries, what the reader refuses, verdicts, presets. */
#include <math.h>
#include <string.h>

#include "base/metric.h"
#include "lab/require.h"
#include "plan/test_fixture.h"

Test(require, every_profile_that_the_program_carries_is_whole)
{
    fixture f;
    int     n = 0;
    fixture_open(&f, NULL);
    for (const as_profile_file *p = as_profile_files; p->name; p++, n++) {
        as_requirements *r;
        expect_ok(f.env, as_requirements_load(f.env, p->name, &r));
        expect_str(r->name, p->name);
        expect_str(r->level, "minimum");
        expect(r->n_rows > 0);
        as_requirements_free(r);
    }
    expect_eq(n, 5);
    fixture_close(&f);
}

Test(require, names_are_found_in_the_guides_spelling_and_levels_by_name)
{
    fixture          f;
    as_requirements *r = NULL;
    fixture_open(&f, NULL);
    expect_ok(f.env, as_requirements_load(f.env, "M1 Pro:target", &r));
    expect_str(r->name, "M1-Pro");
    expect_eq(r->rows[0].value, 6);
    expect(r->rows[0].is_floor && !r->rows[2].is_floor);
    as_requirements_free(r);
    expect_ok(f.env, as_requirements_load(f.env, "m1_ultra", &r));
    expect_eq(r->rows[0].value, 16);
    as_requirements_free(r);
    r = NULL;
    expect_fails(f.env, as_requirements_load(f.env, "M1:best", &r), ASSAY_NOT_FOUND, "it has minimum, target");
    expect_fails(f.env, as_requirements_load(f.env, "M1-Prp", &r), ASSAY_NOT_FOUND, "did you mean \"M1-Pro\"?");
    expect_fails(f.env, as_requirements_load(f.env, ":x", &r), ASSAY_BAD_INPUT, "expected NAME or FILE");
    expect_fails(f.env, as_requirements_load(f.env, "absent.json", &r), ASSAY_NOT_FOUND, "absent.json");
    expect(!r);
    fixture_close(&f);
}

#define HEAD "{\"schema\":\"assay.requirements/1\",\"name\":\"x\",\"levels\":[{\"name\":\"a\",\"rows\":["
#define TAIL "]}]}"

Test(require, a_bad_file_is_refused_with_a_sentence_that_says_where)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "line 1"},
        {"[]", "expected an object"},
        {"{\"schema\":\"assay.requirements/2\",\"name\":\"x\",\"levels\":[]}", "this reader knows"},
        {"{\"schema\":\"assay.requirements/1\",\"name\":\"\",\"levels\":[]}", "\"name\""},
        {"{\"schema\":\"assay.requirements/1\",\"name\":\"x\",\"levels\":[]}", "an array of 1 to 16"},
        {"{\"schema\":\"assay.requirements/1\",\"name\":\"x\",\"rows\":[]}", "unknown key \"rows\""},
        {HEAD TAIL, "\"rows\": expected an array"},
        {HEAD "{\"key\":\"tflops\",\"direction\":\"up\",\"value\":1,\"unit\":\"TFLOP/s\"}" TAIL,
         "level a, row 1: \"direction\" is \"up\""},
        {HEAD "{\"key\":\"tflops\",\"direction\":\"floor\",\"unit\":\"TFLOP/s\"}" TAIL, "either \"value\" or \"fraction\""},
        {HEAD "{\"key\":\"tflops\",\"direction\":\"floor\",\"value\":-1,\"unit\":\"TFLOP/s\"}" TAIL, "\"value\" is -1"},
        {HEAD "{\"key\":\"tflops\",\"direction\":\"floor\",\"fraction\":0.5,\"of\":\"hope\",\"unit\":\"TFLOP/s\"}" TAIL,
         "\"of\" is \"hope\""},
        {HEAD "{\"key\":\"tflops\",\"direction\":\"floor\",\"value\":1,\"of\":\"compute limit\",\"unit\":\"TFLOP/s\"}" TAIL,
         "belongs to \"fraction\""},
    };
    fixture          f;
    as_requirements *r = NULL;
    fixture_open(&f, NULL);
    for (size_t i = 0; i < AS_COUNT(bad); i++)
        expect_fails(f.env, as_requirements_parse(f.env, "r.json", bad[i].text, strlen(bad[i].text), NULL, &r), ASSAY_BAD_INPUT,
                     bad[i].says);
    expect(!r);
    fixture_close(&f);
}

/* Facts of a profile in which the keys have these values. */
static assay_facts *facts_with(assay_env *env, double tflops, double bandwidth, double memory)
{
    assay_facts   *f = as_facts_new(env);
    as_fact_group *g = as_facts_group(f, "latency", "Latency");
    as_facts_add(f, g, "latency.median", "median", as_metric_measured(1, NAN, NAN, 1, "ns", "test"));
    g = as_facts_group(f, "profile.compute", "");
    as_facts_add(f, g, "profile.compute.tflops", "tflops", as_metric_measured(tflops, NAN, NAN, 1, "TFLOP/s", "test"));
    g = as_facts_group(f, "profile.memory", "");
    as_facts_add(f, g, "profile.memory.bandwidth", "bandwidth",
                 isnan(bandwidth) ? as_metric_unavailable("GB/s", "no clock")
                                  : as_metric_measured(bandwidth, NAN, NAN, 1, "GB/s", "test"));
    as_facts_add(f, g, "profile.memory.peak_memory", "peak", as_metric_measured(memory, NAN, NAN, 1, "MiB", "test"));
    return f;
}

static void judged(assay_env *env, const char *spec, double tflops, double bandwidth, double memory, const char *verdicts,
                   int n_failed)
{
    as_requirements *r;
    assay_facts     *f = facts_with(env, tflops, bandwidth, memory);
    expect_ok(env, as_requirements_load(env, spec, &r));
    expect_eq(as_require_judge(r, f), n_failed);
    char got[160] = "";
    for (int i = 0; i < r->n_rows; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? " " : "", as_row_verdict_text(r->rows[i].verdict));
    expect_str(got, verdicts);
    expect_eq(as_facts_metric(f, "require.failed")->value, n_failed);
    as_requirements_free(r);
    assay_facts_free(f);
}

Test(require, floors_and_budgets_have_their_own_directions_and_impossible_targets_are_told)
{
    fixture f;
    fixture_open(&f, NULL);
    judged(f.env, "M1", 2.5, 60, 4096, "pass pass pass", 0);
    judged(f.env, "M1", 1.5, 60, 9000, "fail pass fail", 2);
    judged(f.env, "M1:target", 2.5, 60, 4096, "impossible impossible pass", 0); /* 3 of 2.62 TFLOP/s, 70 of 68.3 GB/s */
    judged(f.env, "M1:target", 4, 100, 4096, "pass pass pass", 0);              /* another machine may well do it */
    judged(f.env, "M1-Pro:target", 5, 150, 4096, "impossible fail pass", 1);
    judged(f.env, "M1", 2.5, NAN, 4096, "pass unavailable pass", 0);
    fixture_close(&f);
}

Test(require, a_preset_fills_in_what_the_user_did_not_set)
{
    fixture f;
    char    spec[256], told[256];
    fixture_open(&f, NULL);
    expect_ok(f.env, as_preset_apply(f.env, "M1-Pro", f.options, "cfc:units=8", spec, sizeof spec, told, sizeof told));
    expect_str(spec, "cfc:units=8,backbone_units=64,backbone_layers=2,backbone_dropout=0.1");
    expect_has(told, "batch=64");
    expect_eq(as_options_int(f.options, "batch"), 64);
    fixture_close(&f);
    fixture_open(&f, NULL);
    fixture_set(&f, "batch", "3");
    expect_ok(f.env, as_preset_apply(f.env, "M1", f.options, "mlp-small", spec, sizeof spec, told, sizeof told));
    expect_str(spec, "mlp-small");
    expect_eq(as_options_int(f.options, "batch"), 3);
    expect_has(told, "fills in nothing");
    expect_fails(f.env, as_preset_apply(f.env, "default", f.options, "cfc", spec, sizeof spec, told, sizeof told), ASSAY_BAD_INPUT,
                 "suggests no settings");
    fixture_close(&f);
}
