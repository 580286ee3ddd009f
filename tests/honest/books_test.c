/* books_test.c - the books of time close: what the parts took is what the whole took. */
#include "analysis/analysis.h"
#include "plan/test_fixture.h"
#include "run/run.h"

enum { N_RUNS = 9 };

typedef struct books {
    uint64_t run, segments, steps;
} books;

static void books_close(const char *spec, const char *device, const char *compile)
{
    fixture         f;
    assay_trace    *t = NULL;
    as_run_settings s = {.n_runs = N_RUNS,
                         .time_ns = 1000000000,
                         .sensors = "none",
                         .detail = AS_DETAIL_STEP,
                         .max_cost = 0.005,
                         .kept_runs = N_RUNS};
    fixture_open(&f, spec);
    as_clock_open_fake(&f.env->clock, 77);
    fixture_set(&f, "device", device);
    fixture_set(&f, "compile", compile);
    fixture_plan(&f);
    expect_ok(f.env, as_run_profile(f.env, f.plan, &s, 1, &t));
    books per_run[N_RUNS] = {0};
    for (size_t i = 0; i < t->n_spans; i++) {
        const as_span *span = &t->spans[i];
        expect(span->run < N_RUNS);
        uint64_t ticks = span->end_ticks - span->begin_ticks;
        books   *b = &per_run[span->run];
        *(span->kind == AS_SPAN_RUN ? &b->run : span->kind == AS_SPAN_SEGMENT ? &b->segments : &b->steps) += ticks;
    }
    uint64_t all = 0, sampled = 0, totals = 0;
    for (int i = 0; i < N_RUNS; i++) {
        expect(per_run[i].run > 0);
        expect_eq(per_run[i].segments, per_run[i].run);
        expect_eq(per_run[i].steps, per_run[i].run);
        all += per_run[i].run;
    }
    for (size_t i = 0; i < t->n_samples; i++)
        sampled += t->samples[i].end_ticks - t->samples[i].begin_ticks;
    for (size_t i = 0; i < t->n_totals; i++)
        totals += t->totals[i].sum_ticks;
    expect_eq(sampled, all);
    expect_eq(totals, all);
    expect_eq(t->dropped_spans, 0);
    assay_trace_free(t);
    fixture_close(&f);
}

Test(books, close_for_mlp_small) { books_close("mlp-small", "null:gemm=5us,relu=123ns", "on"); }
Test(books, close_for_cnn_small) { books_close("cnn-small", "null:gemm=5us,conv=7us,put=11ns,get=13ns", "on"); }
Test(books, close_op_by_op) { books_close("cnn-small", "null:gemm=5us,conv=7us,put=11ns,get=13ns", "off"); }

/* What is reported of a run adds up: layers and what nothing explains are the whole. */
static void shares_sum_to_one(const char *spec, const char *device)
{
    fixture         f;
    assay_trace    *t = NULL;
    assay_facts    *facts = NULL;
    as_run_settings s = {.n_runs = N_RUNS,
                         .time_ns = 1000000000,
                         .sensors = "none",
                         .detail = AS_DETAIL_STEP,
                         .max_cost = 0.005,
                         .kept_runs = N_RUNS};
    fixture_open(&f, spec);
    as_clock_open_fake(&f.env->clock, 77);
    fixture_set(&f, "device", device);
    fixture_plan(&f);
    expect_ok(f.env, as_run_profile(f.env, f.plan, &s, 1, &t));
    expect_ok(f.env, assay_analyse(f.env, t, &facts));
    const as_table *steps = as_facts_table_find(facts, "layers", "steps");
    double          sum = 1 - as_facts_metric(facts, "books.explained_share")->value;
    int             share = 0;
    while (strcmp(steps->columns[share].key, "share"))
        share++;
    for (int i = 0; i < steps->n_rows; i++)
        sum += steps->cells[i * steps->n_columns + share].metric.value;
    expect_near(sum, 1, 1e-9);
    expect_near(as_facts_metric(facts, "layers.undisturbed_runs")->value, N_RUNS, 0);
    expect_near(as_facts_metric(facts, "layers.run_mean")->value, as_facts_metric(facts, "latency.mean")->value, 1e-6);
    assay_facts_free(facts);
    assay_trace_free(t);
    fixture_close(&f);
}

Test(books, shares_of_layers_sum_to_the_run)
{
    shares_sum_to_one("cnn-small", "null:gemm=5us,conv=7us,put=11ns,get=13ns");
    shares_sum_to_one("mlp-small", "null:graph,piece=3ms,without=Relu");
}
