/* chain_test.c - the whole way, model to report, told the truth by arithmetic: known work, known delays, closed books, and nothing
 * shown without its kind. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/stats.h"
#include "report/report.h"
#include "run/run.h"
#include "tests/runner/test.h"

typedef struct chain {
    assay_env     *env;
    assay_options *options;
    assay_model   *model;
    assay_plan    *plan;
    assay_trace   *trace;
    assay_facts   *facts;
} chain;

/* keys: "batch=8 device=null:gemm=5us ..." */
static void chain_run(chain *c, const char *spec, const char *keys)
{
    expect_eq(assay_env_new(&c->env), ASSAY_OK);
    expect_ok(c->env, assay_options_new(c->env, &c->options));
    expect_ok(c->env, assay_options_set(c->env, c->options, "roofs", "off")); /* seconds, and the user's cache */
    char words[512];
    snprintf(words, sizeof words, "%s", keys);
    for (char *save = NULL, *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *equals = strchr(word, '=');
        expect(equals);
        *equals = '\0';
        expect_ok(c->env, assay_options_set(c->env, c->options, word, equals + 1));
    }
    expect_ok(c->env, assay_model_load(c->env, spec, c->options, &c->model));
    expect_ok(c->env, assay_plan_build(c->env, c->model, c->options, &c->plan));
    expect_ok(c->env, assay_profile(c->env, c->plan, c->options, &c->trace));
    expect_ok(c->env, assay_analyse(c->env, c->trace, &c->facts));
}

static void chain_free(chain *c)
{
    assay_facts_free(c->facts);
    assay_trace_free(c->trace);
    assay_plan_free(c->plan);
    assay_model_free(c->model);
    assay_options_free(c->options);
    assay_env_free(c->env);
}

static double value_of(const chain *c, const char *key)
{
    const assay_metric *m = as_facts_metric(c->facts, key);
    if (!m)
        fail("no fact %s", key);
    return m->value;
}

Test(honest, flops_and_bytes_land_where_arithmetic_says)
{
    chain c = {0};
    chain_run(&c, "mlp:sizes=8x4", "batch=3 runs=60");
    /* y[3,4] = x[3,8] W[4,8]^T + b[4]: 2*3*4*8 for the product, 3*4 for the bias; each tensor moved once. */
    expect_eq(value_of(&c, "cost.flops"), 2 * 3 * 4 * 8 + 3 * 4);
    expect_eq(value_of(&c, "cost.bytes_read"), 4 * (3 * 8 + 4 * 8 + 4));
    expect_eq(value_of(&c, "cost.bytes_written"), 4 * 3 * 4);
    expect_eq(value_of(&c, "memory.params"), 4 * (4 * 8 + 4));
    chain_free(&c);
}

Test(honest, delays_of_the_null_device_are_reported_exactly)
{
    chain c = {0};
    chain_run(&c, "mlp:sizes=8x4x2", "device=null:gemm=5us,relu=2us runs=60");
    expect_near(value_of(&c, "latency.median"), 12000, 0);
    expect_near(value_of(&c, "latency.min"), 12000, 0);
    expect_near(value_of(&c, "books.explained_share"), 1, 0);
    const as_table *layers = as_facts_table_find(c.facts, "layers", "steps");
    if (!layers)
        fail("no table of steps");
    int time = -1, op = -1, found = 0;
    for (int i = 0; i < layers->n_columns; i++) {
        if (!strcmp(layers->columns[i].key, "time"))
            time = i;
        if (!strcmp(layers->columns[i].key, "op"))
            op = i;
    }
    expect(time >= 0 && op >= 0);
    for (int r = 0; r < layers->n_rows; r++) {
        const as_cell *row = &layers->cells[r * layers->n_columns];
        if (row[op].text && !strcmp(row[op].text, "Gemm")) {
            expect_near(row[time].metric.value, 5000, 0);
            found++;
        }
        if (row[op].text && !strcmp(row[op].text, "Relu")) {
            expect_near(row[time].metric.value, 2000, 0);
            found++;
        }
    }
    expect_eq(found, 3);
    chain_free(&c);
}

Test(honest, books_close_within_two_percent_on_the_cpu)
{
    chain c = {0};
    chain_run(&c, "cnn-small", "batch=2 runs=60");
    expect(value_of(&c, "books.explained_share") >= 0.98);
    expect(value_of(&c, "books.explained_share") <= 1.0);
    chain_free(&c);
}

Test(honest, the_planned_peak_is_the_observed_one)
{
    chain c = {0};
    chain_run(&c, "cnn-small", "batch=3 runs=50");
    expect(value_of(&c, "memory.peak_planned") > 0);
    expect_eq(value_of(&c, "memory.peak_observed"), value_of(&c, "memory.peak_planned"));
    expect_eq(value_of(&c, "memory.steady_allocs"), 0);
    chain_free(&c);
}

/* Counts metrics and those that break the first promise, anywhere in a JSON value. */
static void walk(const json_t *v, int *n_metrics, int *n_null, const char **bad)
{
    const char *key;
    json_t     *item;
    size_t      i;
    if (json_is_array(v)) {
        json_array_foreach((json_t *)v, i, item) walk(item, n_metrics, n_null, bad);
        return;
    }
    if (!json_is_object(v))
        return;
    const json_t *value = json_object_get(v, "value");
    if (value && json_object_get(v, "unit")) {
        const char *kind = json_string_value(json_object_get(v, "kind"));
        ++*n_metrics;
        if (!kind || !(!strcmp(kind, "measured") || !strcmp(kind, "counted") || !strcmp(kind, "derived") ||
                       !strcmp(kind, "modelled") || !strcmp(kind, "unavailable")))
            *bad = "a metric without a kind";
        else if (!strcmp(kind, "unavailable")) {
            const char *reason = json_string_value(json_object_get(v, "reason"));
            ++*n_null;
            if (!json_is_null(value) || !reason || !*reason)
                *bad = "an unavailable metric with a value or without a reason";
        } else if (json_is_null(value)) {
            *bad = "a null that is not unavailable";
        }
    }
    json_object_foreach((json_t *)v, key, item) walk(item, n_metrics, n_null, bad);
}

static void walk_report(chain *c, int *n_metrics, int *n_null)
{
    const char        *path = as_test_path("run.json"), *bad = NULL;
    const assay_facts *one[] = {c->facts};
    json_t            *root = NULL;
    expect_ok(c->env, assay_report(c->env, one, 1, "json", path));
    expect_ok(c->env, as_json_load(c->env, "test", path, 0, &root));
    *n_metrics = *n_null = 0;
    walk(root, n_metrics, n_null, &bad);
    json_decref(root);
    if (bad)
        fail("%s", bad);
}

Test(honest, no_metric_reaches_a_report_without_its_kind)
{
    chain c = {0};
    int   n_metrics, n_null;
    chain_run(&c, "mlp-small", "runs=60");
    walk_report(&c, &n_metrics, &n_null);
    expect(n_metrics > 40);
    chain_free(&c);
}

Test(honest, every_sensor_forced_off_is_null_with_a_reason)
{
    chain c = {0};
    int   n_metrics, n_null;
    chain_run(&c, "mlp-small", "runs=60 sensors=none");
    expect_eq(c.trace->n_readings, 0);
    expect(c.trace->n_sensors >= 9);
    for (size_t i = 0; i < c.trace->n_sensors; i++)
        if (!c.trace->sensors[i].reason || !*c.trace->sensors[i].reason)
            fail("sensor %s is off and has no reason", c.trace->sensors[i].name);
    const as_fact_group *g = as_facts_group_find(c.facts, "sensors");
    if (!g)
        fail("no group of sensors");
    expect(g->n_facts >= 9);
    for (int i = 0; i < g->n_facts; i++)
        if (g->facts[i].metric.kind != ASSAY_UNAVAILABLE || !isnan(g->facts[i].metric.value))
            fail("%s has a value though every sensor is off", g->facts[i].key);
    walk_report(&c, &n_metrics, &n_null);
    expect(n_null >= g->n_facts);
    chain_free(&c);
}

Test(honest, a_metric_without_a_kind_stops_the_report)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_facts   *facts = as_facts_new(env);
    as_fact_group *g = as_facts_group(facts, "made", "made up");
    as_facts_add(facts, g, "made.value", "made up", (assay_metric){.value = 3, .lo = 3, .hi = 3, .unit = "1", .source = "nobody"});
    expect(facts->status != ASSAY_OK);
    expect_has(assay_message(env), "kind");
    assay_facts_free(facts);
    assay_env_free(env);
}

Test(honest, the_trace_tells_the_same_after_a_round_trip)
{
    chain        c = {0};
    assay_trace *again = NULL;
    assay_facts *facts = NULL;
    chain_run(&c, "cnn-small", "runs=60");
    const char *path = as_test_path("t.trace"), *a = as_test_path("a.json"), *b = as_test_path("b.json");
    expect_ok(c.env, assay_trace_save(c.env, c.trace, path));
    expect_ok(c.env, assay_trace_load(c.env, path, &again));
    expect_ok(c.env, assay_analyse(c.env, again, &facts));
    expect_ok(c.env, assay_report(c.env, (const assay_facts *[]){c.facts}, 1, "json", a));
    expect_ok(c.env, assay_report(c.env, (const assay_facts *[]){facts}, 1, "json", b));
    as_map ma, mb;
    expect_ok(c.env, as_map_open(c.env, "test", a, 0, &ma));
    expect_ok(c.env, as_map_open(c.env, "test", b, 0, &mb));
    bool same = ma.bytes == mb.bytes && !memcmp(ma.data, mb.data, ma.bytes);
    as_map_close(&ma);
    as_map_close(&mb);
    assay_facts_free(facts);
    assay_trace_free(again);
    chain_free(&c);
    expect(same);
}
