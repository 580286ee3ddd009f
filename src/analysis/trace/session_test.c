/* session_test.c - what is said of a session: its parts sum to the whole, and a busy machine is not called waiting. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "tests/runner/test.h"

/* One thread for 1 ms: outer 800 us, of which inner 600 us; so much of it on a CPU, and so much in the run queue. */
static assay_trace *made(assay_env *env, double cpu_ns, double queued_ns)
{
    assay_trace *t;
    expect_ok(env, as_trace_new(env, &t));
    t->subject = AS_OF_SESSION;
    t->ns_per_tick = 1;
    const char *names[] = {"main", "outer", "inner"};
    uint64_t    ticks[] = {1000000, 800000, 600000};
    expect_eq(as_trace_add_lane(t, &(as_trace_lane){.name = "main", .pid = 1, .tid = 1}), 0);
    int context = as_trace_add_context(t, &(as_trace_context){.operation = "inner", .batch = 4});
    for (int i = 0; i < 3; i++) {
        int frame = as_trace_add_frame(t, &(as_trace_frame){.name = names[i], .context = i == 2 ? context : -1});
        expect_eq(as_trace_add_stack(t, i - 1, frame), i);
        expect(as_trace_add_stack_total(t, &(as_stack_total){.count = i == 2 ? 10 : 1,
                                                             .sum_ticks = ticks[i],
                                                             .min_ticks = 1,
                                                             .max_ticks = ticks[i],
                                                             .flops = i == 2 ? 6000 : 0,
                                                             .stack = (uint32_t)i}));
    }
    expect_eq(as_trace_add_sensor(t, &(as_trace_sensor){.name = "cpu.time", .unit = "ns", .source = "clock", .meaning = "delta"}),
              0);
    expect(as_trace_reserve(t, 0, 0, 0, 2));
    expect(as_trace_add_reading(t, &(as_reading){.ticks = 0, .value = 0}));
    expect(as_trace_add_reading(t, &(as_reading){.ticks = 1000000, .value = cpu_ns}));
    if (queued_ns >= 0)
        expect(as_trace_add_metric(t, &(as_trace_metric){.name = "session.queued", .unit = "ns", .value = queued_ns}));
    return t;
}

/* The state of a rule of the table of bottlenecks. */
static const char *state(const assay_facts *f, const char *rule)
{
    const as_table *t = as_facts_table_find(f, "bottlenecks", "bottlenecks");
    for (int i = 0; t && i < t->n_rows; i++)
        if (!strcmp(as_words_at(t, i, "rule"), rule))
            return as_words_at(t, i, "state");
    return "missing";
}

static assay_facts *facts_of(assay_env *env, double cpu_ns, double queued_ns)
{
    assay_facts *f;
    assay_trace *t = made(env, cpu_ns, queued_ns);
    expect_ok(env, assay_analyse(env, t, &f));
    assay_trace_free(t);
    return f;
}

Test(session_facts, a_thread_without_a_cpu_is_not_called_waiting)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_facts *f = facts_of(env, 300000, 700000);
    expect_near(as_facts_metric(f, "session.starves")->value, .7, 1e-9);
    expect_str(state(f, "neighbours"), "found");
    expect_str(state(f, "waiting"), "not found");
    assay_facts_free(f);
    f = facts_of(env, 300000, 0);
    expect_str(state(f, "neighbours"), "not found");
    expect_str(state(f, "waiting"), "found");
    assay_facts_free(f);
    f = facts_of(env, 1000000, -1);
    expect_eq(as_facts_metric(f, "session.starves")->kind, ASSAY_UNAVAILABLE);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(session_facts, totals_become_spans_operations_and_rates)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_facts    *f = facts_of(env, 1000000, 0);
    const as_table *operations = as_facts_table_find(f, "session", "operations");
    expect_eq(as_facts_metric(f, "session.spans")->value, 11);
    expect_near(as_facts_metric(f, "session.in_spans")->value, .8, 1e-9);
    expect(operations && operations->n_rows == 1);
    expect_near(as_value_at(operations, 0, "mean"), 60000, 1e-6);
    expect_near(as_value_at(operations, 0, "throughput"), 40 / 600e-6, 1);
    expect_near(as_value_at(operations, 0, "rate"), 6000 / 600e-6, 1);
    expect_near(as_value_at(operations, 0, "share"), .6, 1e-9);
    assay_facts_free(f);
    assay_env_free(env);
}
