/* analyses_test.c - hotspots, bottlenecks and their sentences, told the truth by planted causes: what sleeps is not called compute, what
 * waits for memory is, what computes is not, what others disturb is blamed on them, and every sentence is made of something that is there. */
#include <stdlib.h>

#include "analysis/trace/test_trace.h"
#include "report/report.h"
#include "tests/runner/test.h"

typedef struct trial {
    assay_env     *env;
    assay_options *options;
    assay_model   *model;
    assay_plan    *plan;
    assay_trace   *trace;
    assay_facts   *facts;
} trial;

static void trial_measure(trial *c, const char *spec, const char *const *keys)
{
    expect_eq(assay_env_new(&c->env), ASSAY_OK);
    expect_ok(c->env, assay_options_new(c->env, &c->options));
    for (; *keys; keys += 2)
        expect_ok(c->env, assay_options_set(c->env, c->options, keys[0], keys[1]));
    expect_ok(c->env, assay_model_load(c->env, spec, c->options, &c->model));
    expect_ok(c->env, assay_plan_build(c->env, c->model, c->options, &c->plan));
    expect_ok(c->env, assay_profile(c->env, c->plan, c->options, &c->trace));
}

static void trial_analyse(trial *c) { expect_ok(c->env, assay_analyse(c->env, c->trace, &c->facts)); }

static void trial_free(trial *c)
{
    assay_facts_free(c->facts);
    assay_trace_free(c->trace);
    assay_plan_free(c->plan);
    assay_model_free(c->model);
    assay_options_free(c->options);
    assay_env_free(c->env);
}

static int rule_row(const assay_facts *f, const char *rule)
{
    const as_table *t = as_facts_table_find(f, "bottlenecks", "bottlenecks");
    expect(t != NULL);
    for (int i = 0; i < t->n_rows; i++)
        if (!strcmp(as_words_at(t, i, "rule"), rule))
            return i;
    fail("no rule %s", rule);
}

static void expect_rule(const assay_facts *f, const char *rule, const char *state)
{
    const as_table *t = as_facts_table_find(f, "bottlenecks", "bottlenecks");
    int             i = rule_row(f, rule);
    if (strcmp(as_words_at(t, i, "state"), state))
        fail("%s is %s (%s), expected %s", rule, as_words_at(t, i, "state"), as_words_at(t, i, "evidence"), state);
}

static void expect_category(const assay_facts *f, const char *source, int row, const char *category)
{
    const as_table *t = as_facts_table_find(f, "hotspots", source);
    expect(t && row < t->n_rows);
    if (strcmp(as_words_at(t, row, "category"), category))
        fail("%s is called %s (%s), expected %s", as_words_at(t, row, "name"), as_words_at(t, row, "category"),
             as_words_at(t, row, "evidence"), category);
}

/* --- Told times against told limits -------------------------------------------------------------------------------- */

/* One Gemm of 2*8*64*64 + 8*64 flops and about 20 KiB, told to take 10 us, on a device whose limits are told, too. */
static void told(const char *device, const char *category, const char *found, const char *not_found)
{
    trial c = {0};
    trial_measure(&c, "mlp:sizes=64x64", (const char *const[]){"device", device, "batch", "8", "runs", "40", NULL});
    trial_analyse(&c);
    expect_category(c.facts, "layers", 0, category);
    if (found)
        expect_rule(c.facts, found, "found");
    if (not_found)
        expect_rule(c.facts, not_found, "not found");
    trial_free(&c);
}

/* 66048 flops at 8.26 Gflop/s take 8 us of the 10. */
Test(analyses, a_layer_near_the_compute_limit_is_called_compute)
{
    told("null:gemm=10us,put=1ns,get=1ns,limit.fma.f32=8.256e9,limit.read.dram=1e12", "compute", "compute", "bandwidth");
}

/* 20736 bytes at 2.6 GB/s take 8 us. */
Test(analyses, a_layer_near_the_memory_limit_is_called_memory)
{
    told("null:gemm=10us,put=1ns,get=1ns,limit.fma.f32=1e13,limit.read.dram=2.6e9", "memory", "bandwidth", "compute");
}

/* At 1 % of both limits, neither compute nor memory holds it back. */
Test(analyses, a_layer_far_from_both_limits_is_called_inefficient)
{
    told("null:gemm=10us,put=1ns,get=1ns,limit.fma.f32=1e12,limit.read.dram=1e12", "algorithmic inefficiency", "inefficient_layer",
         "compute");
}

/* Its work takes 66 ns at the limit, and a launch of this device 5 us. */
Test(analyses, a_layer_whose_work_takes_less_than_a_launch_is_called_dispatch)
{
    told("null:gemm=10us,put=1ns,get=1ns,limit.fma.f32=1e12,limit.read.dram=1e12,limit.launch=5us", "dispatch", "dispatch",
         "compute");
}

Test(analyses, transfers_that_take_half_of_the_run_are_found)
{
    told("null:gemm=10us,put=20us,get=10us,limit.fma.f32=8.256e9,limit.read.dram=1e12", "io", "transfers", NULL);
}

/* Without limits no layer is judged, and the rules say so. */
Test(analyses, without_limits_the_rules_are_not_testable_and_say_why)
{
    trial c = {0};
    trial_measure(&c, "mlp:sizes=64x64", (const char *const[]){"device", "null:gemm=10us", "runs", "40", "roofs", "off", NULL});
    trial_analyse(&c);
    expect_category(c.facts, "layers", 0, "unknown");
    expect_rule(c.facts, "compute", "not testable here");
    expect_rule(c.facts, "bandwidth", "not testable here");
    expect_has(as_words_at(as_facts_table_find(c.facts, "bottlenecks", "bottlenecks"), rule_row(c.facts, "compute"), "evidence"),
               "no limits were measured");
    expect_eq(as_facts_metric(c.facts, "executive.score")->kind, ASSAY_UNAVAILABLE);
    trial_free(&c);
}

/* --- Real runs, with limits that no time of this machine can reach ------------------------------------------------------ */

static void roof_add(assay_trace *t, const char *name, double value, uint64_t level_bytes)
{
    expect(as_trace_add_roof(t, &(as_trace_roof){.name = name,
                                                 .unit = "1/s",
                                                 .device = "cpu",
                                                 .value = value,
                                                 .lo = value,
                                                 .hi = value,
                                                 .today = (double)NAN,
                                                 .n_clean = 1,
                                                 .n_chunks = 1,
                                                 .level_bytes = level_bytes,
                                                 .source = "planted by a test"}));
}

/* 12 MB of operands, each touched once, beside one addition per 12 bytes, where the caches are said to hold 32 KiB: whatever the machine,
 * this waits for memory. */
Test(analyses, an_elementwise_step_over_more_than_the_caches_hold_is_called_memory)
{
    trial c = {0};
    trial_measure(&c, "elementwise:op=add,size=1024x1024",
                  (const char *const[]){"runs", "120", "time", "20s", "roofs", "off", "sensors", "none", NULL});
    roof_add(c.trace, "fma.f32.t1", 1e13, 0);
    roof_add(c.trace, "read.l1.t1", 1e14, 32768);
    roof_add(c.trace, "read.dram.t1", 1e13, 0);
    trial_analyse(&c);
    const assay_metric *clean = as_facts_metric(c.facts, "layers.undisturbed_runs");
    if (clean && clean->value < 5)
        skip("only %.0f runs were uninterrupted", clean->value);
    expect_category(c.facts, "layers", 0, "memory");
    expect_rule(c.facts, "bandwidth", "found");
    expect_rule(c.facts, "compute", "not found");
    trial_free(&c);
}

/* A product of matrices in the cache, against a limit of 1.25 times the rate that it reached. */
Test(analyses, a_product_of_small_matrices_is_not_called_memory)
{
    trial c = {0};
    trial_measure(&c, "matmul:size=128x128x128",
                  (const char *const[]){"runs", "200", "time", "20s", "roofs", "off", "sensors", "none", NULL});
    trial_analyse(&c);
    const assay_metric *clean = as_facts_metric(c.facts, "layers.undisturbed_runs");
    const as_table     *layers = as_facts_table_find(c.facts, "layers", "steps");
    if (clean && clean->value < 5)
        skip("only %.0f runs were uninterrupted", clean->value);
    double rate = 0;
    for (int i = 0; i < layers->n_rows; i++)
        rate = as_value_at(layers, i, "flop_rate") > rate ? as_value_at(layers, i, "flop_rate") : rate;
    expect(rate > 0);
    roof_add(c.trace, "fma.f32.t1", rate * 1.25, 0);
    roof_add(c.trace, "read.l1.t1", 1e14, 32768);
    roof_add(c.trace, "read.dram.t1", 1e13, 0);
    assay_facts_free(c.facts);
    trial_analyse(&c);
    expect_category(c.facts, "layers", 0, "compute");
    expect_rule(c.facts, "bandwidth", "not found");
    trial_free(&c);
}

/* --- Programs and sessions ------------------------------------------------------------------------------------------------ */

static assay_trace *code_trace(assay_env *env)
{
    assay_trace *t;
    expect_ok(env, as_trace_new(env, &t));
    t->clock_name = "fake", t->ns_per_tick = 1, t->subject = AS_OF_PROGRAM;
    expect_eq(as_trace_add_lane(t, &(as_trace_lane){.name = "main", .pid = 1, .tid = 1}), 0);
    return t;
}

static int stack_add(assay_trace *t, int parent, const char *name)
{
    return as_trace_add_stack(t, parent, as_trace_add_frame(t, &(as_trace_frame){.name = name, .object = "a.out", .context = -1}));
}

static void looks_add(assay_trace *t, int stack, int n, as_stack_state state)
{
    for (int i = 0; i < n; i++)
        expect(as_trace_add_look(
            t, &(as_stack_sample){
                   .ticks = t->n_looks * 1000000, .weight_ns = 1000000, .stack = (uint32_t)stack, .state = (uint16_t)state}));
}

Test(analyses, a_program_that_sleeps_is_not_called_compute)
{
    assay_env   *env;
    assay_facts *f;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_trace *t = code_trace(env);
    int          outer = stack_add(t, -1, "main");
    looks_add(t, stack_add(t, outer, "work"), 5, AS_STACK_ON_CPU);
    looks_add(t, stack_add(t, outer, "clock_nanosleep"), 95, AS_STACK_OFF_CPU);
    expect_ok(env, assay_analyse(env, t, &f));
    expect_category(f, "samples", 0, "sleep");
    expect_rule(f, "compute", "not found");
    expect_rule(f, "waiting", "found");
    expect_rule(f, "bandwidth", "not found");
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}

static void record_number(assay_trace *t, const char *name, double value)
{
    expect(as_trace_add_metric(t, &(as_trace_metric){.name = name, .unit = "ns", .value = value}));
}

/* A shell waits in read() for what its child prints, and the child computes: nothing is held up by loading data. */
Test(analyses, a_thread_that_waits_for_another_one_is_not_a_bottleneck)
{
    for (int all_wait = 0; all_wait < 2; all_wait++) {
        assay_env   *env;
        assay_facts *f;
        expect_eq(assay_env_new(&env), ASSAY_OK);
        assay_trace *t = code_trace(env);
        looks_add(t, stack_add(t, -1, "work"), 50, AS_STACK_ON_CPU);
        looks_add(t, stack_add(t, -1, "read"), 50, AS_STACK_OFF_CPU);
        record_number(t, AS_RECORD_RATE, 999);
        record_number(t, AS_RECORD_WALL, 1e9);
        record_number(t, AS_RECORD_BUSY, all_wait ? .4e9 : .99e9);
        record_number(t, AS_RECORD_STARVED, 0);
        record_number(t, AS_RECORD_ASLEEP, all_wait ? .6e9 : .01e9);
        expect_ok(env, assay_analyse(env, t, &f));
        expect_rule(f, "data_loading", all_wait ? "found" : "not found");
        assay_facts_free(f);
        assay_trace_free(t);
        assay_env_free(env);
    }
}

/* On the CPU all the time: without counters nobody can say whether it computes or waits for memory. */
Test(analyses, a_program_on_the_cpu_is_not_called_anything_that_nobody_measured)
{
    assay_env   *env;
    assay_facts *f;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_trace *t = code_trace(env);
    looks_add(t, stack_add(t, -1, "work"), 100, AS_STACK_ON_CPU);
    expect_ok(env, assay_analyse(env, t, &f));
    expect_category(f, "samples", 0, "unknown");
    expect_rule(f, "compute", "not testable here");
    expect_rule(f, "waiting", "not found");
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}

static int span_frame(assay_trace *t, const char *name, const char *category, uint64_t flops)
{
    return as_trace_add_frame(t, &(as_trace_frame){.name = name, .category = category, .flops = flops, .context = -1});
}

static void span_add(assay_trace *t, int frame, uint64_t begin, uint64_t end)
{
    expect(as_trace_reserve(t, 1, 0, 0, 0));
    expect(as_trace_add_span(t, &(as_span){.begin_ticks = begin, .end_ticks = end, .step = frame, .kind = AS_SPAN_USER}));
}

/* 60 of 100 us load data, 30 compute near the limit, 10 sleep. */
Test(analyses, a_session_that_loads_data_is_told_so)
{
    assay_env   *env;
    assay_facts *f;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_trace *t = code_trace(env);
    t->subject = AS_OF_SESSION;
    int load = span_frame(t, "load", "io", 0), math = span_frame(t, "math", "", 240000), nap = span_frame(t, "nap", "sleep", 0);
    span_add(t, load, 0, 60000);
    span_add(t, math, 60000, 90000);
    span_add(t, nap, 90000, 100000);
    roof_add(t, "fma.f32.t1", 1e10, 0); /* the stated work takes 24 us at this limit */
    expect_ok(env, assay_analyse(env, t, &f));
    expect_rule(f, "data_loading", "found");
    const as_table *bottlenecks = as_facts_table_find(f, "bottlenecks", "bottlenecks");
    expect_near(as_value_at(bottlenecks, rule_row(f, "data_loading"), "share"), .6, 1e-9);
    expect_category(f, "spans", 0, "io");
    expect_category(f, "spans", 1, "compute");
    expect_category(f, "spans", 2, "sleep");
    expect_near(as_value_at(as_facts_table_find(f, "hotspots", "spans"), 1, "potential"), .06, 1e-9);
    expect_rule(f, "compute", "not found"); /* most of the time it is off the CPU, by its own statement */
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}

/* --- Neighbours ------------------------------------------------------------------------------------------------------------- */

static assay_facts *synthetic(assay_env *env, as_synthetic s, assay_trace **t)
{
    assay_facts *f;
    *t = as_synthetic_trace(env, s);
    expect_ok(env, assay_analyse(env, *t, &f));
    return f;
}

Test(analyses, a_disturbed_run_is_blamed_on_neighbours_and_trusted_less)
{
    assay_env   *env;
    assay_trace *quiet_trace, *busy_trace;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_facts *quiet = synthetic(env, (as_synthetic){0}, &quiet_trace),
                *busy = synthetic(env, (as_synthetic){.disturbed = 60}, &busy_trace);
    expect_rule(quiet, "neighbours", "not found");
    expect_rule(busy, "neighbours", "found");
    expect_rule(busy, "waiting", "not found"); /* the CPU was taken away: it did not wait by itself */
    const as_table *a = as_facts_table_find(quiet, "bottlenecks", "bottlenecks"),
                   *b = as_facts_table_find(busy, "bottlenecks", "bottlenecks");
    expect_str(as_words_at(a, rule_row(quiet, "transfers"), "confidence"), "high");
    expect_str(as_words_at(b, rule_row(busy, "transfers"), "confidence"), "medium");
    assay_facts_free(quiet);
    assay_facts_free(busy);
    assay_trace_free(quiet_trace);
    assay_trace_free(busy_trace);
    assay_env_free(env);
}

/* Hotspots are named from uninterrupted runs or not at all. */
Test(analyses, of_interrupted_runs_no_layer_is_called_a_hotspot)
{
    assay_env   *env;
    assay_trace *t;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_facts *f = synthetic(env, (as_synthetic){.n_kept = 3}, &t);
    expect(!as_facts_table_find(f, "hotspots", "layers"));
    expect_rule(f, "small_batch", "not testable here");
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}

/* --- Sentences and what they stand on ------------------------------------------------------------------------------------------ */

static bool cite_is_there(const assay_facts *f, const char *cite)
{
    const char *sign = strchr(cite, '#'), *dot = strchr(cite, '.');
    char        group[64], key[64];
    if (!sign)
        return as_facts_metric(f, cite) != NULL;
    snprintf(group, sizeof group, "%.*s", (int)(dot - cite), cite);
    snprintf(key, sizeof key, "%.*s", (int)(sign - dot - 1), dot + 1);
    const as_table *t = as_facts_table_find(f, group, key);
    return t && atoi(sign + 1) < t->n_rows;
}

static int cites_check(const assay_facts *f, const as_table *t)
{
    int n = 0;
    for (int i = 0; i < t->n_rows; i++) {
        char words[1024];
        snprintf(words, sizeof words, "%s", as_words_at(t, i, "cites"));
        for (char *save = NULL, *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save), n++)
            if (strcmp(word, "-") && !cite_is_there(f, word))
                fail("row %d of %s stands on %s, which is not there", i, t->key, word);
    }
    return n;
}

Test(analyses, every_sentence_stands_on_something_that_is_there)
{
    static const char *const specs[] = {"mlp-small", "cfc", "cnn-bn"};
    for (size_t k = 0; k < AS_COUNT(specs); k++) {
        trial c = {0};
        int   n = 0;
        trial_measure(&c, specs[k], (const char *const[]){"runs", "60", "roofs", "off", NULL});
        roof_add(c.trace, "fma.f32.t1", 1e13, 0);
        roof_add(c.trace, "read.dram.t1", 1e13, 0);
        trial_analyse(&c);
        for (int i = 0; i < c.facts->n_groups; i++)
            for (int j = 0; j < c.facts->groups[i].n_tables; j++)
                if (as_column_find(&c.facts->groups[i].tables[j], "cites") >= 0)
                    n += cites_check(c.facts, &c.facts->groups[i].tables[j]);
        expect(n > 10);
        trial_free(&c);
    }
}

/* A rule has a state and says why, in every trace. */
Test(analyses, no_rule_is_silent)
{
    assay_env   *env;
    assay_trace *t;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    const as_synthetic kinds[] = {{0}, {.no_steps = true}, {.no_sensors = true}, {.disturbed = 90}, {.n_kept = 2}};
    for (size_t k = 0; k < AS_COUNT(kinds); k++) {
        assay_facts    *f = synthetic(env, kinds[k], &t);
        const as_table *b = as_facts_table_find(f, "bottlenecks", "bottlenecks");
        expect(b && b->n_rows == 12);
        for (int i = 0; i < b->n_rows; i++) {
            const char *state = as_words_at(b, i, "state");
            expect(!strcmp(state, "found") || !strcmp(state, "not found") || !strcmp(state, "not testable here"));
            if (strlen(as_words_at(b, i, "evidence")) < 5)
                fail("rule %s of trace %zu says nothing", as_words_at(b, i, "rule"), k);
        }
        assay_facts_free(f);
        assay_trace_free(t);
    }
    assay_env_free(env);
}

/* The keys of the guides, as numbers or as null with a reason. */
Test(analyses, every_key_of_the_three_analyses_is_there)
{
    static const char *const keys[] = {"compute_analysis.tflops_efficiency", "compute_analysis.compute_efficiency",
                                       "compute_analysis.ne_utilization",    "memory_analysis.bandwidth_efficiency",
                                       "memory_analysis.memory_efficiency",  "memory_analysis.cache_efficiency",
                                       "hardware_analysis.ne_efficiency",    "hardware_analysis.memory_controller_efficiency",
                                       "hardware_analysis.power_efficiency"};
    trial                    c = {0};
    trial_measure(&c, "mlp-small", (const char *const[]){"runs", "60", "roofs", "off", NULL});
    roof_add(c.trace, "fma.f32.t1", 1e13, 0);
    roof_add(c.trace, "read.dram.t1", 1e13, 0);
    trial_analyse(&c);
    for (size_t i = 0; i < AS_COUNT(keys); i++) {
        const assay_metric *m = as_facts_metric(c.facts, keys[i]);
        if (!m || (!as_metric_has(m) && !(m->reason && *m->reason)))
            fail("%s is neither a number nor null with a reason", keys[i]);
    }
    double rate = as_facts_metric(c.facts, "cost.flop_rate")->value;
    expect_near(as_facts_metric(c.facts, "compute_analysis.compute_efficiency")->value, rate / 1e13, 1e-9 * rate / 1e13);
    trial_free(&c);
}

/* One layer at 80 % of its limit has all of the time: the score is 80. */
Test(analyses, a_run_at_80_percent_of_its_limit_has_a_score_of_80)
{
    trial c = {0};
    trial_measure(&c, "mlp:sizes=64x64",
                  (const char *const[]){"device", "null:gemm=10us,put=1ns,get=1ns,limit.fma.f32=8.256e9,limit.read.dram=1e12",
                                        "batch", "8", "runs", "40", NULL});
    trial_analyse(&c);
    const assay_metric *score = as_facts_metric(c.facts, "executive.score");
    expect_eq(score->kind, ASSAY_DERIVED);
    expect_near(score->value, 80, .5);
    trial_free(&c);
}
