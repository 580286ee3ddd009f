/* train_facts_test.c - two ways to do one training step, by layer: from a trace whose times are known. */
#include <math.h>

#include "analysis/duel/duel_facts.h"
#include "tests/runner/test.h"

typedef struct told {
    const char   *name, *op, *layer;
    as_train_pass pass;
    int           arm;
    const char   *parts[2];
    uint64_t      flops, ns;
} told;

/* The candidate 0 keeps everything; 1 computes conv1 again and casts its result. */
static const told steps[] = {
    {"pack conv1.weight", "Pack", "relu1", AS_PASS_FORWARD, 0, {0}, 0, 10000},
    {"conv1+relu", "assay.FusedConv", "relu1", AS_PASS_FORWARD, 0, {"conv1", "relu1"}, 1000, 100000},
    {"fc", "Gemm", "fc", AS_PASS_FORWARD, 0, {0}, 500, 50000},
    {"d:fc", "Gemm", "fc", AS_PASS_BACKWARD, 0, {0}, 500, 60000},
    {"d:conv1", "assay.ConvGradW", "conv1", AS_PASS_BACKWARD, 0, {0}, 1000, 170000},
    {"train:update", "assay.Adam", "", AS_PASS_UPDATE, 0, {0}, 100, 10000},
    {"pack conv1.weight", "Pack", "relu1", AS_PASS_FORWARD, 1, {0}, 0, 10000},
    {"conv1+relu", "assay.FusedConv", "relu1", AS_PASS_FORWARD, 1, {"conv1", "relu1"}, 1000, 100000},
    {"f16 of relu1", "Cast", "relu1", AS_PASS_FORWARD, 1, {0}, 0, 30000},
    {"fc", "Gemm", "fc", AS_PASS_FORWARD, 1, {0}, 500, 50000},
    {"d:fc", "Gemm", "fc", AS_PASS_BACKWARD, 1, {0}, 500, 30000},
    {"again:conv1+relu", "assay.FusedConv", "relu1", AS_PASS_RECOMPUTE, 1, {0}, 1000, 110000},
    {"d:conv1", "assay.ConvGradW", "conv1", AS_PASS_BACKWARD, 1, {0}, 1000, 170000},
    {"train:update", "assay.Adam", "", AS_PASS_UPDATE, 1, {0}, 100, 10000},
};

static assay_trace *trace_make(assay_env *env)
{
    enum { RUNS = 12 };
    assay_trace *t = NULL;
    expect_ok(env, as_trace_new_arms(env, "x", 2, &t));
    t->arms[0].name = as_trace_keep(t, "kept");
    t->arms[1].name = as_trace_keep(t, "again");
    t->ns_per_tick = 1;
    t->detail = AS_DETAIL_STEP;
    for (size_t i = 0; i < AS_COUNT(steps); i++) {
        const char  **parts = AS_TAKE(&t->arena, const char *, 2);
        as_trace_step s = {.name = as_trace_keep(t, steps[i].name),
                           .op = steps[i].op,
                           .device = "cpu",
                           .kernel = "k",
                           .module = "",
                           .layer = as_trace_keep(t, steps[i].layer),
                           .pass = steps[i].pass,
                           .why = "",
                           .shapes = "",
                           .stage = "body",
                           .flops = steps[i].flops,
                           .parts = parts,
                           .n_parts = steps[i].parts[0] ? 2 : 0,
                           .arm = steps[i].arm};
        parts[0] = steps[i].parts[0], parts[1] = steps[i].parts[1];
        expect(as_trace_add_step(t, &s) == (int)i);
    }
    expect(as_trace_reserve(t, RUNS * 2 * (AS_COUNT(steps) + 1), 0, 0, 0));
    uint64_t now = 1000;
    for (uint32_t run = 0; run < 2 * RUNS; run++) {
        uint64_t begin = now;
        for (size_t i = 0; i < AS_COUNT(steps); i++)
            if (steps[i].arm == (int)(run % 2)) {
                uint64_t ns = steps[i].ns + run * 7 % 5; /* no two runs are the same */
                as_trace_add_span(
                    t, &(as_span){.begin_ticks = now, .end_ticks = now + ns, .step = (int32_t)i, .run = run, .kind = AS_SPAN_STEP});
                now += ns;
            }
        as_trace_add_span(t, &(as_span){.begin_ticks = begin, .end_ticks = now, .step = -1, .run = run, .kind = AS_SPAN_RUN});
        now += 1000;
        t->n_detailed++;
    }
    return t;
}

Test(train_facts, computing_again_is_predicted_from_the_forward_pass_that_keeps)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_trace *t = trace_make(env);
    assay_facts *f = as_facts_new(env);
    expect_near(as_training_again_share(f, t, 0, 1), 100000.0 / 400000.0, 1e-3);
    expect_near(as_training_again_share(f, t, 1, 0), 0, 1e-12);
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}

static int row_named(const as_table *t, const char *name)
{
    for (int i = 0; i < t->n_rows; i++)
        if (!strcmp(as_words_at(t, i, "name"), name))
            return i;
    fail("there is no row %s", name);
    return 0;
}

Test(train_facts, all_passes_of_a_layer_are_one_row_and_a_slower_one_says_so)
{
    assay_env            *env;
    const as_layer_saving saves[] = {{"relu1", 4096, 2}, {"relu1", 96, 1}};
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_trace   *t = trace_make(env);
    assay_facts   *f = as_facts_new(env);
    as_fact_group *g = as_facts_group(f, "tune", "Tuning");
    as_training_layers_add(f, g, "layers", "Layers", t, 0, 1, .01, saves, 2);
    const as_table *table = as_facts_table_find(f, "tune", "layers");
    expect(table != NULL);
    expect_eq(f->status, ASSAY_OK);
    int conv = row_named(table, "conv1+relu"), fc = row_named(table, "fc"), update = row_named(table, "update");
    expect_eq(conv, 0); /* the greatest difference */
    expect_near(as_value_at(table, conv, "a_time"), 280000, 20);
    expect_near(as_value_at(table, conv, "difference"), 140000, 20);
    expect_str(as_words_at(table, conv, "verdict"), "slower");
    expect_near(as_value_at(table, conv, "less"), 4192, 0);
    expect_near(as_value_at(table, conv, "casts"), 3, 0);
    expect_str(as_words_at(table, fc, "verdict"), "faster");
    expect(isnan(as_value_at(table, fc, "less")));
    expect_str(as_words_at(table, update, "verdict"), "same"); /* within the margin */
    double sum = 0;
    for (int i = 0; i + 1 < table->n_rows; i++)
        sum += as_value_at(table, i, "difference");
    expect_near(sum, as_value_at(table, table->n_rows - 1, "difference"), 1e-3); /* the last row is the whole step */
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}
