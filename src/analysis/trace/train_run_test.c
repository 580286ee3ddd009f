/* train_run_test.c - what the record of a training run says about its threads. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "tests/runner/test.h"

typedef struct made_span {
    const char *frame;
    int         lane;
    uint64_t    begin, end;
} made_span;

static assay_trace *made(assay_env *env, const made_span *spans, size_t n)
{
    assay_trace *t;
    expect_ok(env, as_trace_new(env, &t));
    t->subject = AS_OF_TRAINING;
    t->ns_per_tick = 1;
    expect_eq(as_trace_add_lane(t, &(as_trace_lane){.name = "training loop"}), 0);
    expect_eq(as_trace_add_lane(t, &(as_trace_lane){.name = "loader 1"}), 1);
    expect_eq(as_trace_add_lane(t, &(as_trace_lane){.name = "loader 2"}), 2);
    expect_eq(as_trace_add_lane(t, &(as_trace_lane){.name = "validation loader 1"}), 3);
    expect_eq(as_trace_add_lane(t, &(as_trace_lane){.name = "checkpoint writer"}), 4);
    expect(as_trace_reserve(t, n, 0, 0, 0));
    for (size_t i = 0; i < n; i++) {
        int frame = as_trace_add_frame(t, &(as_trace_frame){.name = spans[i].frame, .context = -1});
        int stack = as_trace_add_stack(t, -1, frame);
        expect(as_trace_add_span(t, &(as_span){.begin_ticks = spans[i].begin,
                                               .end_ticks = spans[i].end,
                                               .step = frame,
                                               .kind = AS_SPAN_USER,
                                               .thread = (uint16_t)spans[i].lane}));
        expect(as_trace_add_stack_total(t, &(as_stack_total){.count = 1,
                                                             .sum_ticks = spans[i].end - spans[i].begin,
                                                             .stack = (uint32_t)stack,
                                                             .lane = (uint16_t)spans[i].lane}));
    }
    expect(as_trace_add_metric(t, &(as_trace_metric){.name = AS_TRAINED_LOADER "threads", .unit = "1", .value = 2}));
    return t;
}

/* In the order in which they ended, as the loop takes them. */
static const made_span spans[] = {
    {AS_TRAINING_FILLS, 1, 10, 60}, /* before the first step: none of 50 */
    {AS_TRAINING_WAITS, 0, 50, 100},
    {AS_TRAINING_STEPS, 0, 100, 200},
    {AS_TRAINING_FILLS, 1, 150, 260}, /* 50 in the first step, 10 in the second, of 110 */
    {AS_TRAINING_FULL, 1, 260, 430},
    {AS_TRAINING_FILLS, 2, 120, 190}, /* all of 70 */
    {AS_TRAINING_STEPS, 0, 250, 300},
    {AS_TRAINING_FILLS_VAL, 3, 405, 450}, /* an evaluation holds its own waiting: it hides nothing of this */
    {AS_TRAINING_EVALUATES, 0, 400, 500},
    {AS_TRAINING_FILLS, 1, 430, 510},  /* 70 of 80 */
    {AS_TRAINING_SAVES, 0, 500, 600},  /* is not computing */
    {AS_TRAINING_FILLS, 2, 520, 560},  /* none of 40 */
    {AS_TRAINING_WRITES, 4, 280, 420}, /* 20 in the second step, 20 in the evaluation, of 140: not the loader's */
};

Test(train_run, says_how_much_of_the_loaders_time_the_steps_hid)
{
    assay_env   *env;
    assay_facts *f;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_trace *t = made(env, spans, AS_COUNT(spans));
    expect_ok(env, assay_analyse(env, t, &f));
    const assay_metric *hidden = as_metric_find(f, "train.overlap");
    expect(hidden && hidden->kind == ASSAY_DERIVED);
    expect_eq(hidden->n, 5);
    expect(fabs(hidden->value - (0 + 60 + 70 + 70 + 0) / 350.) < 1e-12);
    const as_table *table = as_facts_table_find(f, "train", "threads");
    expect(table && table->n_rows == 5);
    expect_eq(as_value_at(table, 0, "work"), 100 + 50 + 100 + 100);
    expect_eq(as_value_at(table, 0, "wait"), 50);
    expect(!as_metric_at(table, 0, "hidden")); /* unavailable */
    expect_eq(as_value_at(table, 1, "work"), 50 + 110 + 80);
    expect_eq(as_value_at(table, 1, "wait"), 170);
    expect(fabs(as_value_at(table, 1, "hidden") - 130 / 240.) < 1e-12);
    expect(fabs(as_value_at(table, 2, "hidden") - 70 / 110.) < 1e-12);
    expect_eq(as_value_at(table, 3, "work"), 45);
    expect(!as_metric_at(table, 3, "hidden")); /* unavailable */
    expect_eq(as_value_at(table, 4, "work"), 140);
    expect(fabs(as_value_at(table, 4, "hidden") - 40 / 140.) < 1e-12);
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}

Test(train_run, its_timeline_has_a_series_per_thread_and_what_it_did)
{
    assay_env   *env;
    assay_facts *f;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_trace *t = made(env, spans, AS_COUNT(spans));
    expect_ok(env, assay_analyse(env, t, &f));
    const as_fact_group *g = as_facts_group_find(f, "train");
    int                  n_series = 0;
    size_t               n_spans = 0;
    for (int i = 0; i < g->n_series; i++) {
        const as_series *s = &g->series[i];
        if (strncmp(s->key, "span.", 5))
            continue;
        n_series++;
        n_spans += s->n;
        if (!strcmp(s->source, "loader 2")) {
            expect_str(s->label, AS_TRAINING_FILLS);
            expect(s->n == 2 && s->x[0] == 120 && s->y[0] == 190 && s->x[1] == 520 && s->y[1] == 560);
        }
    }
    expect_eq(n_series, 4 + 2 + 1 + 1 + 1);
    expect_eq(n_spans, AS_COUNT(spans));
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}
