/* bench_facts_test.c - rows of cases that were measured, and of those that were not. */
#include "analysis/duel/duel_facts.h"

#include "analysis/duel/test_trial.h"

static const as_cell *cell(const assay_facts *f, int row, const char *key)
{
    const as_table *t = as_facts_table_find(f, "bench", "cases");
    for (int c = 0; c < t->n_columns; c++)
        if (!strcmp(t->columns[c].key, key))
            return &t->cells[row * t->n_columns + c];
    fail("no column %s", key);
}

Test(bench_facts, a_row_has_time_rates_roof_noise_and_state)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_trace *t = as_planted_trial(env, (as_planted){.n_arms = 1, .n_rounds = 8, .n_shots = 10, .ns = 1e6});
    as_bench_row row = {.trial = t, .flops = 2e6, .bytes = NAN, .error = 1e-6, .compared = "all outputs"};
    as_alone_judge(t, 0, &row.alone);
    row.alone.median = 1e6, row.alone.lo = .9e6, row.alone.hi = 1.2e6;
    t->arms[0].limit = (as_limit){.ns = .5e6, .name = "fma.f32.avx2.t1"};
    assay_facts *f = as_facts_of_bench(env, &row, 1);
    expect_ok(env, as_facts_check(env, f));
    expect_near(cell(f, 0, "median")->metric.lo, .9e6, 0);
    expect_near(cell(f, 0, "flop_rate")->metric.value, 2e9, 1);
    expect_near(cell(f, 0, "flop_rate")->metric.lo, 2e15 / 1.2e6, 1);
    expect_near(cell(f, 0, "half_width")->metric.value, .15, 1e-12);
    expect_eq(cell(f, 0, "byte_rate")->metric.kind, ASSAY_UNAVAILABLE);
    expect_near(cell(f, 0, "of_roof")->metric.value, .5, 0);
    expect_near(cell(f, 0, "ops")->metric.value, 1000, 1e-9);
    expect_str(cell(f, 0, "state")->text, "complete");
    expect_near(as_facts_metric(f, "bench.median")->value, 1e6, 0);
    const as_series *s = as_facts_series_find(f, "bench", "0.samples");
    expect(s && s->n == 1280);
    expect(as_facts_series_find(f, "bench", "0.blocks.0") && as_facts_series_find(f, "bench", "0.fma"));
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}

Test(bench_facts, what_was_not_measured_says_why_and_has_no_number)
{
    static const struct {
        as_trace_state state;
        const char    *reason, *refusal, *shown;
    } want[] = {{AS_TRACE_TIMEOUT, "a launch was ended after 60 s", NULL, "timeout"},
                {AS_TRACE_FAILED, "signal 11", NULL, "failed"},
                {AS_TRACE_COMPLETE, "", "time does not grow with size", "refused"}};
    static const char *const numbers[] = {"median", "half_width", "flop_rate", "byte_rate", "of_roof",
                                          "p5",     "p95",        "ops",       "samples"};
    assay_env               *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    for (size_t i = 0; i < AS_COUNT(want); i++) {
        assay_trace *t = as_planted_trial(env, (as_planted){.n_arms = 1});
        as_bench_row row = {.trial = t, .flops = 1, .bytes = 1, .error = NAN, .refusal = want[i].refusal};
        as_alone_judge(t, 0, &row.alone);
        t->state = want[i].state, t->reason = want[i].reason;
        assay_facts *f = as_facts_of_bench(env, &row, 1);
        expect_ok(env, as_facts_check(env, f));
        expect_str(cell(f, 0, "state")->text, want[i].shown);
        for (size_t k = 0; k < AS_COUNT(numbers); k++) {
            const assay_metric *m = &cell(f, 0, numbers[k])->metric;
            expect_eq(m->kind, ASSAY_UNAVAILABLE);
            expect_str(m->reason, want[i].refusal ? want[i].refusal : want[i].reason);
        }
        expect_eq(as_facts_group_find(f, "bench")->n_series, 0);
        expect_eq(as_facts_group_find(f, "bench")->findings[0].level, AS_LEVEL_BAD);
        assay_facts_free(f);
        assay_trace_free(t);
    }
    assay_env_free(env);
}

Test(bench_facts, long_series_are_thinned_and_say_so)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_trace *t = as_planted_trial(env, (as_planted){.n_arms = 1, .n_launches = 30, .n_rounds = 30, .n_shots = 10});
    as_bench_row row = {.trial = t, .flops = NAN, .bytes = NAN, .error = NAN};
    as_alone_judge(t, 0, &row.alone);
    assay_facts     *f = as_facts_of_bench(env, &row, 1);
    const as_series *s = as_facts_series_find(f, "bench", "0.samples");
    expect(s && s->n == 1800); /* 9000, every 5th */
    expect_has(s->label, "(every 5th)");
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}
