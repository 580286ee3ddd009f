/* metrics_test.c - metrics over batches against scikit-learn's numbers and against what can be counted by hand. */
#include "train/metrics.h"

#include <stdlib.h>

#include "tests/runner/test.h"
#include "train/test_metrics.h"

static assay_env *env;

static void start(void) { expect_eq(assay_env_new(&env), ASSAY_OK); }
static void end(void) { assay_env_free(env); }

/* The rule of tests/golden/metrics.py. */
static int64_t label(int64_t i) { return (i * 7 + i / 5) % 3; }
static double  score(int64_t i, int64_t c)
{
    return (double)((i * 53 + c * 29 + i * c * 11) % 37) / 8.0 - 2.0 + (c == label(i) && i % 3 ? 1.5 : 0.0);
}

static as_metrics *fresh(const char *list, int64_t n_classes)
{
    as_metric_list items;
    as_metrics    *m;
    expect_ok(env, as_metric_list_parse(env, list, &items));
    expect_ok(env, as_metrics_new(env, &items, &(as_metrics_for){.n_classes = n_classes, .has_ignore = true, .ignore = -100}, &m));
    return m;
}

/* Batches of `size` rows; the last is filled up with rows that do not count. */
static void classes_feed(as_metrics *m, int64_t size)
{
    float   *x = malloc((size_t)(size * GOLDEN_C) * sizeof *x);
    int64_t *y = malloc((size_t)size * sizeof *y);
    expect(x && y);
    as_view outputs = as_view_of(x, AS_F32, &AS_SHAPE(size, GOLDEN_C)), targets = as_view_of(y, AS_I64, &AS_SHAPE(size));
    for (int64_t first = 0; first < GOLDEN_N; first += size) {
        int64_t n = GOLDEN_N - first < size ? GOLDEN_N - first : size;
        for (int64_t i = 0; i < size; i++) {
            y[i] = i < n ? label(first + i) : 3;
            for (int64_t c = 0; c < GOLDEN_C; c++)
                x[i * GOLDEN_C + c] = i < n ? (float)score(first + i, c) : 99.0f;
        }
        expect_ok(env, as_metrics_add(env, m, &outputs, &targets, n));
    }
    free(x);
    free(y);
}

static void expect_value(as_metrics *m, int i, const char *name, double want)
{
    as_measured got = as_metrics_value(m, i);
    expect_str(got.name, name);
    expect_near(got.value, want, 1e-12);
    expect_str(got.why, "");
}

Test(metrics, classes_are_counted_as_scikit_learn_does_whatever_the_batches)
{
    static const int64_t sizes[] = {90, 1, 7, 64};
    start();
    for (size_t s = 0; s < AS_COUNT(sizes); s++) {
        as_metrics *m = fresh("accuracy,top2,precision,recall,f1,auc,confusion", GOLDEN_C);
        classes_feed(m, sizes[s]);
        expect_eq(as_metrics_count(m), GOLDEN_N);
        expect_value(m, 0, "accuracy", golden_accuracy);
        expect_value(m, 1, "top2", golden_top2);
        expect_value(m, 2, "precision", golden_precision);
        expect_value(m, 3, "recall", golden_recall);
        expect_value(m, 4, "f1", golden_f1);
        expect_value(m, 5, "auc", golden_auc);
        expect_value(m, 6, "confusion", golden_accuracy);
        for (int c = 0; c < 3; c++) {
            expect_near(as_metrics_of_class(m, AS_MEASURE_PRECISION, c), golden_precision_each[c], 1e-12);
            expect_near(as_metrics_of_class(m, AS_MEASURE_RECALL, c), golden_recall_each[c], 1e-12);
            expect_near(as_metrics_of_class(m, AS_MEASURE_F1, c), golden_f1_each[c], 1e-12);
            expect_near(as_metrics_of_class(m, AS_MEASURE_AUC, c), golden_auc_each[c], 1e-12);
        }
        for (int64_t i = 0; i < GOLDEN_C * GOLDEN_C; i++)
            expect_eq(as_metrics_confusion(m, i / GOLDEN_C, i % GOLDEN_C), golden_confusion[i]);
        as_metrics_reset(m); /* and the same again */
        classes_feed(m, 11);
        expect_value(m, 4, "f1", golden_f1);
        expect_value(m, 5, "auc", golden_auc);
        as_metrics_free(m);
    }
    end();
}

Test(metrics, one_logit_is_a_binary_classifier)
{
    float   x[GOLDEN_N], t[GOLDEN_N];
    int32_t y[GOLDEN_N];
    start();
    for (int64_t i = 0; i < GOLDEN_N; i++) {
        x[i] = (float)score(i, 1);
        y[i] = label(i) == 1;
        t[i] = (float)y[i];
    }
    as_view outputs = as_view_of(x, AS_F32, &AS_SHAPE(GOLDEN_N, 1)), ints = as_view_of(y, AS_I32, &AS_SHAPE(GOLDEN_N));
    as_view floats = as_view_of(t, AS_F32, &AS_SHAPE(GOLDEN_N, 1));
    for (int way = 0; way < 2; way++) {
        as_metrics *m = fresh("auc,f1", 2);
        expect_ok(env, as_metrics_add(env, m, &outputs, way ? &ints : &floats, GOLDEN_N));
        expect_value(m, 0, "auc", golden_binary_auc);
        expect_value(m, 1, "f1", golden_binary_f1);
        as_metrics_free(m);
    }
    end();
}

Test(metrics, numbers_are_compared_as_scikit_learn_does)
{
    float x[GOLDEN_N], t[GOLDEN_N];
    start();
    for (int64_t i = 0; i < GOLDEN_N; i++) {
        t[i] = (float)score(i, 0);
        x[i] = (float)score(i, 1);
    }
    as_metrics *m = fresh("r2,mae", 0);
    for (int64_t i = 0; i < GOLDEN_N; i += 30) {
        as_view outputs = as_view_of(x + i, AS_F32, &AS_SHAPE(30)), targets = as_view_of(t + i, AS_F32, &AS_SHAPE(30));
        expect_ok(env, as_metrics_add(env, m, &outputs, &targets, 30));
    }
    expect_value(m, 0, "r2", golden_r2);
    expect_value(m, 1, "mae", golden_mae);
    as_metrics_free(m);
    end();
}

Test(metrics, ignored_labels_and_one_hot_targets)
{
    float   x[] = {1, 2, 3, 0, 5, 4}, hot[] = {0, 1, 0, 0, 1, 0};
    int64_t y[] = {2, -100};
    start();
    as_view     outputs = as_view_of(x, AS_F32, &AS_SHAPE(2, 3)), targets = as_view_of(y, AS_I64, &AS_SHAPE(2));
    as_view     one_hot = as_view_of(hot, AS_F32, &AS_SHAPE(2, 3));
    as_metrics *m = fresh("accuracy,top2", 3);
    expect_ok(env, as_metrics_add(env, m, &outputs, &targets, 2));
    expect_eq(as_metrics_count(m), 1);
    expect_value(m, 0, "accuracy", 1);
    expect_ok(env, as_metrics_add(env, m, &outputs, &one_hot, 2));
    expect_eq(as_metrics_count(m), 3);
    expect_value(m, 0, "accuracy", 2.0 / 3.0);
    expect_value(m, 1, "top2", 1);
    as_metrics_free(m);
    end();
}

/* [1, 2 classes, 3 positions]. */
Test(metrics, positions_of_a_plane_are_examples)
{
    float   x[] = {1, 5, 2, 3, 4, 9};
    int64_t y[] = {1, 1, 1};
    start();
    as_view     outputs = as_view_of(x, AS_F32, &AS_SHAPE(1, 2, 3)), targets = as_view_of(y, AS_I64, &AS_SHAPE(1, 3));
    as_metrics *m = fresh("accuracy", 2);
    expect_ok(env, as_metrics_add(env, m, &outputs, &targets, 1));
    expect_eq(as_metrics_count(m), 3);
    expect_value(m, 0, "accuracy", 2.0 / 3.0);
    as_metrics_free(m);
    end();
}

Test(metrics, what_is_not_defined_is_said)
{
    float   x[] = {1, 2, NAN, 3};
    int64_t y[] = {1, 1};
    start();
    as_view     outputs = as_view_of(x, AS_F32, &AS_SHAPE(2, 2)), targets = as_view_of(y, AS_I64, &AS_SHAPE(2));
    as_metrics *m = fresh("auc,accuracy", 2), *n = fresh("r2", 0);
    expect(isnan(as_metrics_value(m, 1).value));
    expect_str(as_metrics_value(m, 1).why, "there were no examples");
    expect_ok(env, as_metrics_add(env, m, &outputs, &targets, 2));
    expect(isnan(as_metrics_value(m, 0).value));
    expect_has(as_metrics_value(m, 0).why, "no class has examples on both sides");
    expect_value(m, 1, "accuracy", 1);
    float   same[] = {2, 2};
    as_view s = as_view_of(same, AS_F32, &AS_SHAPE(2));
    expect_ok(env, as_metrics_add(env, n, &s, &s, 2));
    expect_has(as_metrics_value(n, 0).why, "all targets are equal");
    as_metrics_free(m);
    as_metrics_free(n);
    end();
}

Test(metrics, bad_lists_and_shapes_are_refused)
{
    as_metric_list list = {.n = 3};
    as_metrics    *m = NULL;
    float          x[6] = {0};
    int64_t        y[3] = {0, 5, 0};
    start();
    expect_fails(
        env, as_metric_list_parse(env, "accuracy,topmost", &list), ASSAY_BAD_INPUT,
        "metrics: unknown metric \"topmost\"; known: accuracy, top5 (any k), precision, recall, f1, auc, confusion, r2, mae");
    expect_fails(env, as_metric_list_parse(env, "", &list), ASSAY_BAD_INPUT, "unknown metric \"\"");
    expect_fails(env, as_metric_list_parse(env, "top0", &list), ASSAY_BAD_INPUT, "unknown metric \"top0\"");
    expect_fails(env, as_metric_list_parse(env, "top3,top3", &list), ASSAY_BAD_INPUT, "\"top3\" is given twice");
    expect_eq(list.n, 3);
    expect_ok(env, as_metric_list_parse(env, "r2", &list));
    expect_fails(env, as_metrics_new(env, &list, &(as_metrics_for){.n_classes = 3}, &m), ASSAY_BAD_INPUT,
                 "metrics: r2 is for numbers, and this network gives classes");
    expect_ok(env, as_metric_list_parse(env, "top5", &list));
    expect_fails(env, as_metrics_new(env, &list, &(as_metrics_for){.n_classes = 3}, &m), ASSAY_BAD_INPUT, "top5 of 3 classes");
    expect(!m);
    m = fresh("accuracy", 2);
    as_view outputs = as_view_of(x, AS_F32, &AS_SHAPE(3, 2)), targets = as_view_of(y, AS_I64, &AS_SHAPE(3));
    as_view two = as_view_of(y, AS_I64, &AS_SHAPE(2)), wide = as_view_of(x, AS_F32, &AS_SHAPE(2, 3));
    expect_fails(env, as_metrics_add(env, m, &outputs, &targets, 3), ASSAY_BAD_INPUT, "a label is 5 and there are 2 classes");
    expect_fails(env, as_metrics_add(env, m, &outputs, &two, 2), ASSAY_BAD_INPUT, "outputs f32[3,2] do not go with targets i64[2]");
    expect_fails(env, as_metrics_add(env, m, &wide, &two, 2), ASSAY_BAD_INPUT, "do not go with");
    expect_fails(env, as_metrics_add(env, m, &outputs, &targets, 4), ASSAY_BAD_INPUT, "do not go with");
    as_metrics_free(m);
    end();
}
