/* profile_keys_test.c - every key that profiling guides read, through the public calls: there, by its name, in its unit, with a kind. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/trace/profile_keys.h"
#include "base/json.h"
#include "lab/cachegrind.h"
#include "plan/test_fixture.h"

/* What the guides name, written down here a second time: a key that falls out of the product's own table is missed. */
static const struct {
    const char *key, *unit;
    char class; /* measured, derived, privileged, never */
} wanted[] = {
    {"compute.time_mean", "s", 'm'},          {"compute.time_std", "s", 'm'},        {"compute.samples_per_second", "1/s", 'd'},
    {"compute.flops_mean", "flop/s", 'd'},    {"compute.flops_std", "flop/s", 'd'},  {"compute.tflops", "TFLOP/s", 'd'},
    {"compute.compute_efficiency", "%", 'd'}, {"compute.ne_tflops", "TFLOP/s", 'n'}, {"compute.ne_utilization", "%", 'n'},
    {"compute.instructions", "1", 'p'},       {"memory.peak_usage", "MiB", 'm'},     {"memory.current_usage", "MiB", 'm'},
    {"memory.total_allocated", "MiB", 'm'},   {"memory.total_freed", "MiB", 'm'},    {"memory.peak_memory", "MiB", 'm'},
    {"memory.unified_peak", "MiB", 'm'},      {"memory.bandwidth", "GB/s", 'd'},     {"memory.bandwidth_utilization", "%", 'd'},
    {"memory.cache_hit_rate", "%", 'p'},      {"memory.l1_hit_rate", "%", 'p'},      {"memory.l2_hit_rate", "%", 'p'},
    {"memory.l3_hit_rate", "%", 'p'},         {"hardware.tflops", "TFLOP/s", 'd'},   {"hardware.memory_bandwidth", "GB/s", 'p'},
    {"hardware.mc_utilization", "%", 'p'},    {"hardware.cache_hit_rate", "%", 'p'}, {"hardware.ne_utilization", "%", 'n'},
    {"hardware.ne_cycles", "1", 'n'},         {"hardware.ne_power", "W", 'p'},       {"hardware.power_usage", "W", 'p'},
    {"hardware.temperature", "celsius", 'p'}, {"hardware.frequency", "MHz", 'p'},    {"stream.kernel_time", "s", 'm'},
    {"stream.memory_time", "s", 'm'},         {"stream.num_kernels", "1", 'm'},      {"stream.num_transfers", "1", 'm'},
};

static void open_all(fixture *f)
{
    fixture_open(f, NULL);
    fixture_set(f, "runs", "60");
    fixture_set(f, "store", "none");
    fixture_set(f, "roofs", "off");
    expect_ok(f->env, assay_model_load(f->env, "mlp-small", f->options, &f->model));
}

static const assay_metric *key_of(const assay_facts *facts, const char *key)
{
    char full[96];
    snprintf(full, sizeof full, "profile.%s", key);
    const assay_metric *m = assay_facts_metric(facts, full);
    if (!m)
        fail("no key %s", full);
    return m;
}

Test(profile_keys, every_key_of_the_guides_is_there_with_unit_kind_and_source_or_reason)
{
    fixture      f;
    assay_facts *facts = NULL;
    open_all(&f);
    expect_ok(f.env, assay_profile_model(f.env, f.model, f.options, &facts));
    for (size_t i = 0; i < AS_COUNT(wanted); i++) {
        const assay_metric *m = key_of(facts, wanted[i].key);
        expect_str(m->unit, wanted[i].unit);
        expect(m->kind != ASSAY_KIND_MISSING);
        if (m->kind == ASSAY_UNAVAILABLE)
            expect(isnan(m->value) && m->reason && *m->reason);
        else
            expect(isfinite(m->value) && m->source && *m->source);
        if (wanted[i].class == 'm')
            expect(m->kind == ASSAY_MEASURED || m->kind == ASSAY_COUNTED);
        if (wanted[i].class == 'n')
            expect(m->kind == ASSAY_UNAVAILABLE);
    }
    expect(key_of(facts, "memory.peak_usage")->value >= key_of(facts, "memory.current_usage")->value);
    expect(key_of(facts, "memory.total_allocated")->value >= key_of(facts, "memory.total_freed")->value);
    assay_facts_free(facts);
    fixture_close(&f);
}

Test(profile_keys, the_tables_of_the_product_and_of_this_test_are_the_same)
{
    const char *section, *key, *unit, *how;
    size_t      n = 0;
    for (; assay_profile_key(n, &section, &key, &unit, &how); n++) {
        char full[96];
        bool found = false;
        snprintf(full, sizeof full, "%s.%s", section, key);
        for (size_t i = 0; i < AS_COUNT(wanted); i++)
            found = found || (!strcmp(wanted[i].key, full) && !strcmp(wanted[i].unit, unit) &&
                              *as_key_class_text(as_profile_keys[n].class) == wanted[i].class);
        if (!found)
            fail("%s in %s is not in the list of this test", full, unit);
        expect(*how);
    }
    expect_eq(n, AS_COUNT(wanted));
}

Test(profile_keys, the_json_has_them_by_section_and_name)
{
    fixture      f;
    assay_facts *facts = NULL;
    json_error_t error;
    open_all(&f);
    expect_ok(f.env, assay_profile_model(f.env, f.model, f.options, &facts));
    expect_ok(f.env, assay_report(f.env, (const assay_facts *const[]){facts}, 1, "json", as_test_path("run.json")));
    json_t *root = json_load_file(as_test_path("run.json"), 0, &error);
    expect(root != NULL);
    for (size_t i = 0; i < AS_COUNT(wanted); i++) {
        char        section[32];
        const char *dot = strchr(wanted[i].key, '.');
        snprintf(section, sizeof section, "%.*s", (int)(dot - wanted[i].key), wanted[i].key);
        json_t *m = json_object_get(json_object_get(json_object_get(root, "profile"), section), dot + 1);
        if (!json_is_object(m) || !json_is_string(json_object_get(m, "kind")))
            fail("the JSON has no profile.%s", wanted[i].key);
    }
    json_decref(root);
    assay_facts **again;
    size_t        n;
    expect_ok(f.env, assay_facts_load(f.env, as_test_path("run.json"), &again, &n));
    expect(assay_facts_metric(again[0], "profile.compute.tflops") != NULL);
    assay_facts_free_all(again, n);
    assay_facts_free(facts);
    fixture_close(&f);
}

Test(profile_keys, each_call_gives_its_own_section)
{
    fixture      f;
    assay_facts *facts = NULL;
    open_all(&f);
    expect_ok(f.env, assay_profile_compute(f.env, f.model, NULL, f.options, &facts));
    expect(assay_facts_metric(facts, "profile.compute.tflops") && !assay_facts_metric(facts, "profile.memory.bandwidth"));
    assay_facts_free(facts);
    expect_ok(f.env, assay_profile_memory(f.env, f.model, NULL, f.options, &facts));
    expect(assay_facts_metric(facts, "profile.memory.bandwidth") && !assay_facts_metric(facts, "profile.compute.tflops"));
    assay_facts_free(facts);
    expect_ok(f.env, assay_profile_hardware(f.env, f.model, NULL, f.options, &facts));
    expect(assay_facts_metric(facts, "profile.hardware.power_usage") && !assay_facts_metric(facts, "profile.stream.num_kernels"));
    assay_facts_free(facts);
    expect_ok(f.env, assay_quick_profile(f.env, f.model, NULL, f.options, &facts));
    expect(assay_facts_metric(facts, "profile.stream.num_kernels") && !assay_facts_metric(facts, "profile.hardware.power_usage"));
    assay_facts_free(facts);
    fixture_close(&f);
}

static void count_up(void *arg) { ++*(volatile int *)arg; }

Test(profile_keys, a_function_of_the_caller_is_measured_with_the_work_that_it_states)
{
    fixture       f;
    assay_facts  *facts = NULL;
    int           n_calls = 0;
    assay_forward forward = {.name = "count", .run = count_up, .arg = &n_calls, .items = 4, .flops = 8, .bytes = 64};
    open_all(&f);
    expect_ok(f.env, assay_profile_compute(f.env, NULL, &forward, f.options, &facts));
    expect(n_calls > 60);
    const assay_metric *time = key_of(facts, "compute.time_mean"), *items = key_of(facts, "compute.samples_per_second"),
                       *rate = key_of(facts, "compute.flops_mean");
    expect(time->value > 0);
    expect(fabs(items->value * time->value - 4) < 1e-6);
    expect(fabs(rate->value * time->value - 8) < 1e-6);
    assay_facts_free(facts);
    forward.flops = forward.bytes = 0;
    expect_ok(f.env, assay_profile_compute(f.env, NULL, &forward, f.options, &facts));
    expect_eq(key_of(facts, "compute.tflops")->kind, ASSAY_UNAVAILABLE);
    assay_facts_free(facts);
    expect_ok(f.env, assay_profile_compute(f.env, f.model, &forward, f.options, &facts)); /* the model's work */
    expect_eq(key_of(facts, "compute.tflops")->kind, ASSAY_DERIVED);
    assay_facts_free(facts);
    facts = NULL;
    forward.flops = -1;
    expect_fails(f.env, assay_profile_compute(f.env, NULL, &forward, f.options, &facts), ASSAY_BAD_INPUT, "not a count");
    expect_fails(f.env, assay_profile_compute(f.env, NULL, NULL, f.options, &facts), ASSAY_BAD_INPUT,
                 "neither a model nor a function");
    fixture_close(&f);
}

static bool two_updates(void *arg, const assay_facts *facts)
{
    expect(assay_facts_metric(facts, "profile.compute.time_mean")->value > 0);
    return ++*(int *)arg < 2;
}

Test(profile_keys, realtime_tells_again_and_again_until_it_is_told_to_stop)
{
    fixture f;
    int     n = 0;
    open_all(&f);
    fixture_set(&f, "interval", "20ms");
    expect_ok(f.env, assay_profile_realtime(f.env, f.model, NULL, f.options, two_updates, &n));
    expect_eq(n, 2);
    expect_fails(f.env, assay_profile_realtime(f.env, f.model, NULL, f.options, NULL, NULL), ASSAY_BAD_INPUT, "needs a function");
    fixture_close(&f);
}

Test(profile_keys, asking_for_a_neural_engine_changes_the_reason)
{
    fixture      f;
    assay_facts *facts = NULL;
    open_all(&f);
    expect_ok(f.env, assay_profile_hardware(f.env, f.model, NULL, f.options, &facts));
    expect_has(key_of(facts, "hardware.ne_cycles")->reason, "no step ran on a Neural Engine");
    assay_facts_free(facts);
    fixture_set(&f, "enable-ne", "on");
    expect_ok(f.env, assay_profile_hardware(f.env, f.model, NULL, f.options, &facts));
    expect_has(key_of(facts, "hardware.ne_cycles")->reason, "asked for, and refused");
    assay_facts_free(facts);
    fixture_close(&f);
}

Test(profile_keys, batch_sizes_make_a_table)
{
    fixture      f;
    assay_facts *facts = NULL;
    open_all(&f);
    fixture_set(&f, "batches", "1,3");
    expect_ok(f.env, assay_profile_compute(f.env, f.model, NULL, f.options, &facts));
    const as_table *t = as_facts_table_find(facts, "profile.compute", "sweep");
    expect(t && t->n_rows == 2);
    expect_eq(as_value_at(t, 1, "batch"), 3);
    expect(as_value_at(t, 1, "time_mean") > 0);
    assay_facts_free(facts);
    fixture_close(&f);
}

/* Recorded: the head and the end of a file that valgrind 3.19 wrote. */
Test(profile_keys, the_summary_of_cachegrind_is_read_by_the_names_of_its_events)
{
    as_cachegrind c = {0};
    const char   *text = "desc: D1 cache: 32768 B, 64 B, 8-way associative\ncmd: ./x\n"
                         "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw\nfl=a.c\nfn=f\n1 5 0 0 1 0 0 1 0 0\n"
                         "summary: 1000 9 8 200 7 6 100 5 4\n";
    expect(as_cachegrind_parse(text, &c));
    expect_eq(c.instructions, 1000);
    expect_eq(c.accesses, 300);
    expect_eq(c.l1_misses, 12);
    expect_eq(c.ll_misses, 10);
    expect(!as_cachegrind_parse("events: Ir Dr\nsummary: 1 2\n", &c));
    expect(!as_cachegrind_parse("events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw\nsummary: 1 2 3\n", &c));
    expect(!as_cachegrind_parse("", &c));
}
