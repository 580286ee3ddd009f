/* facts_test.c - what is refused, the look-ups, and JSON written and read back. */
#include "analysis/trace/test_trace.h"

#include <stdlib.h>

#include "analysis/analysis.h"

static char *written(assay_env *env, const assay_facts *f, size_t *n)
{
    char   *data = NULL;
    as_json w;
    FILE   *file = open_memstream(&data, n);
    as_json_start(&w, file, true);
    expect_ok(env, as_facts_write(env, f, &w));
    as_json_finish(&w);
    fclose(file);
    return data;
}

static assay_env *env_new(void)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    return env;
}

Test(facts, refuse_a_metric_without_a_kind)
{
    assay_env   *env = env_new();
    assay_facts *f = as_facts_new(env);
    assay_metric m = as_metric_measured(5, 4, 6, 3, "ns", "tsc");
    m.kind = ASSAY_KIND_MISSING;
    as_facts_add(f, as_facts_group(f, "latency", "Latency"), "latency.median", "median", m);
    expect_eq(f->status, ASSAY_INTERNAL);
    expect_str(assay_message(env), "facts: latency.median: metric: no kind");
    expect(!as_facts_metric(f, "latency.median"));
    as_facts_note(f, "later", "call");
    expect(!as_facts_note_find(f, "later")); /* the first failure sticks */
    expect_eq(as_facts_check(env, f), ASSAY_INTERNAL);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(facts, refuse_a_metric_outside_its_interval_also_in_a_table)
{
    assay_env               *env = env_new();
    assay_facts             *f = as_facts_new(env);
    static const char *const columns[] = {"name|layer", "time|time", NULL};
    as_table                *t = as_facts_table(f, as_facts_group(f, "layers", NULL), "steps", "Steps", columns);
    as_facts_row(f, t, (as_cell[]){{.text = "a"}, {.metric = as_metric_measured(9, 1, 2, 3, "ns", "tsc")}});
    expect_eq(f->status, ASSAY_INTERNAL);
    expect_str(assay_message(env), "facts: steps, row 1, column time: metric: the value is outside its interval");
    assay_facts_free(f);
    assay_env_free(env);
}

Test(facts, refuse_what_is_added_twice_or_to_a_place_that_moved)
{
    assay_env     *env = env_new();
    assay_facts   *f = as_facts_new(env);
    as_fact_group *g = as_facts_group(f, "g", "G");
    expect(as_facts_group(f, "g", "again") == g);
    as_facts_add(f, g, "g.a", "a", as_metric_counted(1, "1", "test"));
    as_facts_add(f, g, "g.a", "a", as_metric_counted(2, "1", "test"));
    expect_str(assay_message(env), "facts: fact g.a is added twice");
    assay_facts_free(f);

    f = as_facts_new(env);
    g = as_facts_group(f, "g0", NULL);
    char key[16];
    for (int i = 1; i < 40; i++) {
        snprintf(key, sizeof key, "g%d", i);
        as_facts_group(f, key, NULL);
    }
    as_facts_add(f, g, "g.a", "a", as_metric_counted(1, "1", "test"));
    expect_str(assay_message(env), "facts: fact g.a is added to a group that has moved");
    assay_facts_free(f);

    f = as_facts_new(env);
    as_facts_add(f, as_facts_group(f, "g", NULL), "", "a", as_metric_counted(1, "1", "test"));
    expect_str(assay_message(env), "facts: a fact without a key");
    assay_facts_free(f);
    assay_env_free(env);
}

Test(facts, refuse_a_series_without_kind_or_with_infinity)
{
    assay_env   *env = env_new();
    double       y[] = {1, INFINITY};
    as_series    s = {.key = "s", .y_unit = "ns", .source = "test", .y = y, .n = 1};
    assay_facts *f = as_facts_new(env);
    as_facts_series(f, as_facts_group(f, "g", NULL), &s);
    expect_str(assay_message(env), "facts: series s has no kind");
    assay_facts_free(f);
    f = as_facts_new(env);
    s.kind = ASSAY_MEASURED, s.n = 2;
    as_facts_series(f, as_facts_group(f, "g", NULL), &s);
    expect_str(assay_message(env), "facts: series s: value 2 of 2 is infinite");
    assay_facts_free(f);
    f = as_facts_new(env);
    s.source = "", s.n = 1;
    as_facts_series(f, as_facts_group(f, "g", NULL), &s);
    expect_str(assay_message(env), "facts: series s has no source");
    assay_facts_free(f);
    assay_env_free(env);
}

Test(facts, keep_the_last_of_two_notes_and_mend_bad_utf8)
{
    assay_env   *env = env_new();
    assay_facts *f = as_facts_new(env);
    as_facts_note(f, "a", "1");
    as_facts_note(f, "a", "2\xff");
    expect_eq(f->n_notes, 1);
    expect_str(as_facts_note_find(f, "a"), "2\xef\xbf\xbd");
    assay_facts_free(f);
    assay_env_free(env);
}

Test(facts, show_intervals_with_digits_enough)
{
    char         buf[128];
    assay_metric m = as_metric_measured(100000, 99900, 100100, 9, "ns", "tsc");
    expect_str(as_show_interval(buf, sizeof buf, &m), "99.90 to 100.10 us");
    m = as_metric_measured(0.5, 0.25, 0.75, 9, "ratio", "x");
    expect_str(as_show_interval(buf, sizeof buf, &m), "25 to 75 %");
    m = as_metric_measured(2048, 1024, 4096, 9, "byte", "x");
    expect_str(as_show_interval(buf, sizeof buf, &m), "1.0 to 4.0 KiB");
    m = as_metric_counted(7, "1", "x");
    expect_str(as_show_interval(buf, sizeof buf, &m), "");
    m = as_metric_measured(7, NAN, NAN, 1, "1", "x");
    expect_str(as_show_interval(buf, sizeof buf, &m), "");
}

/* --- JSON ------------------------------------------------------------------------------------------------ */

static void expect_round_trip(as_synthetic s)
{
    assay_env   *env = env_new();
    assay_facts *f, *again;
    size_t       n, n_again;
    assay_trace *t = as_synthetic_trace(env, s);
    expect_ok(env, assay_analyse(env, t, &f));
    char *first = written(env, f, &n);
    expect_ok(env, as_facts_parse(env, "run.json", first, n, &again));
    char *second = written(env, again, &n_again);
    expect_eq(n, n_again);
    expect_str(second, first);
    expect_str(again->title, f->title);
    expect_eq(again->n_groups, f->n_groups);
    free(first);
    free(second);
    assay_facts_free(f);
    assay_facts_free(again);
    assay_trace_free(t);
    assay_env_free(env);
}

Test(facts_json, comes_back_byte_by_byte) { expect_round_trip((as_synthetic){0}); }
Test(facts_json, comes_back_when_names_are_hostile) { expect_round_trip((as_synthetic){.name = "<script>\"\\\n\x01\xff\xc3('"}); }
Test(facts_json, comes_back_when_little_is_available)
{
    expect_round_trip((as_synthetic){.n_samples = 3, .no_sensors = true, .no_steps = true});
}

/* Looks at every object that has a "unit": it must be a whole metric. */
static int metrics_check(json_t *value, bool *all_null)
{
    int         n = 0;
    const char *key;
    size_t      i;
    json_t     *item;
    if (json_is_object(value) && json_object_get(value, "unit")) {
        const char *kind = json_string_value(json_object_get(value, "kind"));
        if (!kind || !strcmp(kind, "missing"))
            fail("a metric without a kind: %s", json_dumps(value, 0));
        bool is_null = json_is_null(json_object_get(value, "value"));
        expect_eq(is_null, !strcmp(kind, "unavailable"));
        expect_eq(is_null, json_is_string(json_object_get(value, "reason")));
        expect_eq(!is_null, json_is_string(json_object_get(value, "source")));
        *all_null &= is_null;
        return 1;
    }
    json_object_foreach(value, key, item) n += metrics_check(item, all_null);
    if (json_is_array(value))
        json_array_foreach(value, i, item) n += metrics_check(item, all_null);
    return n;
}

Test(facts_json, every_metric_has_a_kind_and_dead_sensors_are_null_with_a_reason)
{
    assay_env   *env = env_new();
    assay_facts *f;
    json_t      *root;
    size_t       n;
    bool         all_null = true;
    assay_trace *t = as_synthetic_trace(env, (as_synthetic){.no_sensors = true});
    expect_ok(env, assay_analyse(env, t, &f));
    char *data = written(env, f, &n);
    expect_ok(env, as_json_parse(env, "test", "run.json", data, n, &root));
    expect(metrics_check(root, &all_null) > 100);
    expect(!all_null);
    all_null = true;
    json_t *sensors = json_object_get(json_object_get(root, "groups"), "sensors");
    expect_eq(metrics_check(sensors, &all_null), 5);
    expect(all_null);
    expect_has(data, "switched off by --sensors");
    json_decref(root);
    free(data);
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}

#define HEAD        "{\"schema\":\"assay.run/1\",\"title\":\"t\",\"notes\":{},\"groups\":{\"g\":{\"label\":\"G\",\"facts\":{"
#define TAIL        "},\"tables\":{},\"series\":{},\"findings\":[]}}}"
#define GOOD        "\"value\":1,\"unit\":\"ns\",\"kind\":\"measured\",\"source\":\"tsc\",\"n\":1,\"lo\":null,\"hi\":null"
#define FACT(body)  HEAD "\"g.a\":{\"label\":\"a\",\"metric\":{" body "}}" TAIL
#define GROUP(body) "{\"schema\":\"assay.run/1\",\"title\":\"t\",\"notes\":{},\"groups\":{\"g\":{\"label\":\"G\"," body "}}}"

Test(facts_json, hostile_files_get_a_sentence_with_the_place)
{
    static const struct {
        const char *json, *sentence;
    } cases[] = {
        {"", "run JSON: x.json: line 1, column 0:"},
        {"[]", "run JSON: x.json: top level: expected an object, found an array"},
        {"{}", "\"schema\": expected a string, found missing"},
        {"{\"schema\":\"assay.run/2\"}", "\"schema\" is \"assay.run/2\"; this reader knows \"assay.run/1\""},
        {"{\"schema\":\"assay.runs/1\",\"runs\":[]}", "found several (\"assay.runs/1\")"},
        {"{\"schema\":\"assay.run/1\",\"extra\":1}", "x.json: top level: unknown key \"extra\"; this reader knows assay.run/1"},
        {"{\"schema\":\"assay.run/1\",\"title\":7}", "\"title\": expected a string, found an integer"},
        {"{\"schema\":\"assay.run/1\",\"title\":\"\",\"notes\":{\"a\":1}}",
         "\"notes\"[\"a\"]: expected a string under a key, found an integer"},
        {"{\"schema\":\"assay.run/1\",\"title\":\"\",\"notes\":{},\"groups\":[]}",
         "\"groups\": expected an object of at most 256, found an array of 0"},
        {FACT("\"value\":1,\"unit\":\"ns\",\"source\":\"tsc\",\"n\":1,\"lo\":null,\"hi\":null"),
         "groups[\"g\"].facts[\"g.a\"].metric: \"kind\": expected a string, found missing"},
        {FACT("\"value\":1,\"unit\":\"ns\",\"kind\":\"missing\",\"source\":\"tsc\",\"n\":1,\"lo\":null,\"hi\":null"),
         "\"kind\": \"missing\" is not one of measured"},
        {FACT("\"value\":null,\"unit\":\"ns\",\"kind\":\"unavailable\",\"source\":null,\"n\":0,\"lo\":null,\"hi\":null"),
         "the metric is not valid: unavailable without a reason"},
        {FACT("\"value\":1,\"unit\":\"ns\",\"kind\":\"measured\",\"source\":\"tsc\",\"n\":-1,\"lo\":null,\"hi\":null"),
         "\"n\": expected a count, found a negative number"},
        {FACT("\"value\":1,\"unit\":\"ns\",\"kind\":\"measured\",\"source\":\"tsc\",\"n\":1,\"lo\":2,\"hi\":3"),
         "the value is outside its interval"},
        {FACT("\"value\":\"1\",\"unit\":\"ns\",\"kind\":\"measured\",\"source\":\"tsc\",\"n\":1,\"lo\":2,\"hi\":3"),
         "\"value\": expected a number or null, found a string"},
        {FACT(GOOD ",\"more\":1"), "unknown key \"more\""},
        {HEAD "\"\":{\"label\":\"a\",\"metric\":{" GOOD "}}" TAIL, "an empty key"},
        {GROUP("\"facts\":{},\"tables\":{\"t\":{\"label\":\"T\",\"columns\":[],\"rows\":[]}},\"series\":{},\"findings\":[]"),
         "\"columns\": expected an array of 1 to 256, found an array of 0"},
        {GROUP(
             "\"facts\":{},\"tables\":{\"t\":{\"label\":\"T\",\"columns\":[{\"key\":\"a|b\",\"label\":\"\"}],\"rows\":[]}},\"series\":{},\"findings\":[]"),
         "\"a|b\" is empty or contains a |"},
        {GROUP(
             "\"facts\":{},\"tables\":{\"t\":{\"label\":\"T\",\"columns\":[{\"key\":\"a\",\"label\":\"\"}],\"rows\":[[]]}},\"series\":{},\"findings\":[]"),
         "groups[\"g\"].tables[\"t\"].rows[0]: expected an array of 1 cells, found an array of 0"},
        {GROUP(
             "\"facts\":{},\"tables\":{\"t\":{\"label\":\"T\",\"columns\":[{\"key\":\"a\",\"label\":\"\"}],\"rows\":[[3]]}},\"series\":{},\"findings\":[]"),
         ".rows[0][0]: expected an object, found an integer"},
        {GROUP(
             "\"facts\":{},\"tables\":{},\"series\":{\"s\":{\"label\":\"\",\"kind\":\"measured\",\"source\":\"x\",\"x_unit\":null,\"y_unit\":\"ns\",\"x\":[1],\"y\":[1,2]}},\"findings\":[]"),
         "x has 1 values and y has 2"},
        {GROUP(
             "\"facts\":{},\"tables\":{},\"series\":{\"s\":{\"label\":\"\",\"kind\":\"unavailable\",\"source\":\"x\",\"x_unit\":null,\"y_unit\":\"ns\",\"x\":null,\"y\":[]}},\"findings\":[]"),
         "a series needs a kind with values"},
        {GROUP("\"facts\":{},\"tables\":{},\"series\":{},\"findings\":[{\"level\":\"awful\",\"text\":\"\"}]"),
         ".findings[0]: \"level\": \"awful\" is not one of note, good, warn, bad"},
        {GROUP("\"facts\":{},\"tables\":{},\"series\":{}"), "\"findings\": expected an array, found missing"},
    };
    assay_env *env = env_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assay_facts *f = NULL;
        expect_fails(env, as_facts_parse(env, "x.json", cases[i].json, strlen(cases[i].json), &f), ASSAY_BAD_INPUT,
                     cases[i].sentence);
        expect(!f);
    }
    assay_env_free(env);
}

Test(facts_json, keeps_counts_above_what_json_integers_hold)
{
    assay_env     *env = env_new();
    assay_facts   *f = as_facts_new(env), *again;
    as_fact_group *g = as_facts_group(f, "g", "G");
    assay_metric   m = as_metric_counted(UINT64_MAX, "byte", "test");
    m.n = UINT64_MAX;
    as_facts_add(f, g, "g.a", "a", m);
    as_facts_add(f, g, "g.b", "b", as_metric_derived(-0.0, NAN, NAN, 1, "1", "test"));
    expect_eq(f->status, ASSAY_OK);
    size_t n;
    char  *data = written(env, f, &n);
    expect_ok(env, as_facts_parse(env, "x.json", data, n, &again));
    expect(as_facts_metric(again, "g.a")->n == UINT64_MAX);
    expect(!signbit(as_facts_metric(again, "g.b")->value));
    free(data);
    assay_facts_free(f);
    assay_facts_free(again);
    assay_env_free(env);
}
