/* op_ml_treeensembleclassifier.c - decision trees whose leaves add to the scores of classes; labels and scores. */
#include <math.h>

#include "op/ml/forest.h"

static const as_attr_def attrs[] = {
    AS_FOREST_ATTRS,
    {.name = "class_ids", .kind = AS_ATTR_INTS},
    {.name = "class_nodeids", .kind = AS_ATTR_INTS},
    {.name = "class_treeids", .kind = AS_ATTR_INTS},
    {.name = "class_weights", .kind = AS_ATTR_FLOATS},
    {.name = "class_weights_as_tensor", .kind = AS_ATTR_TENSOR},
    {.name = "classlabels_int64s", .kind = AS_ATTR_INTS},
    {.name = "classlabels_strings", .kind = AS_ATTR_TEXTS},
    {0},
};

/* Two classes with weights for one of them alone are one score, which the file gives for either. */
static bool is_one_score(const as_forest *f, int64_t *ids)
{
    for (int64_t i = 1; i < f->n_weights; i++)
        if (f->ids[i] != f->ids[0])
            return false;
    for (int64_t i = 0; i < f->n_weights; i++)
        ids[i] = 0;
    return true;
}

static assay_status build(as_builder *b, const as_node_ctx *n, as_arena *arena, int x, int *out)
{
    as_forest      f;
    as_shape       rows;
    as_classes     c = {.is_share = true};
    const as_attr *labels = as_attr_find(n, "classlabels_int64s");
    const double  *base;
    size_t         n_base;
    AS_TRY(as_ml_no_text(b->env, n, "classlabels_strings"));
    AS_TRY(as_ml_rows(b->env, n, &rows));
    AS_TRY(as_post_read(b->env, n, &c.post));
    AS_TRY(as_forest_read(b->env, n, "class", arena, &f));
    AS_TRY(as_forest_numbers(b->env, n, "base_values", arena, &base, &n_base));
    if (!labels || labels->n < 1)
        return as_refuse(b->env, n, "it has no labels");
    c.labels = labels->ints;
    c.n_labels = labels->n;
    f.n_features = rows.dim[1];
    f.n_targets = (int64_t)labels->n;
    int64_t *ids = AS_TAKE(arena, int64_t, f.n_weights);
    if (!ids)
        return as_fail(b->env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for its weights", n->op->name, n->name ? n->name : "");
    bool is_one = labels->n <= 2 && is_one_score(&f, ids);
    for (int64_t i = 0; i < f.n_weights; i++)
        c.is_share &= f.weights[i] >= 0.0;
    if (is_one) {
        f.ids = ids;
        f.n_targets = 1;
        if (n_base == 2)
            base++; /* the second class's */
        n_base = n_base > 1 ? 1 : n_base;
    }
    if (n_base && (int64_t)n_base != f.n_targets)
        return as_refuse(b->env, n, "%zu base values are given for %lld classes", n_base, (long long)f.n_targets);
    int scores;
    AS_TRY(as_b_forest(b, n, &f, as_b_rows(b, n, x), &scores));
    if (n_base) {
        as_view view = as_view_of((void *)(uintptr_t)base, AS_F64, &AS_SHAPE((int64_t)n_base));
        scores = AS_MAKE(b, "Add", scores, as_b_cast(b, b->constant(b, &view), as_b_info(b, scores).dtype));
    }
    as_b_classes(b, as_b_cast(b, scores, AS_F32), &c, n->n_out, out);
    return ASSAY_OK;
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    as_arena     arena = {0};
    assay_status status = build(b, n, &arena, in[0], out);
    as_arena_drop(&arena);
    return status;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "three classes",
     .n_in = 1,
     .in = {AS_IN(F32, 4, 2)},
     .n_attrs = 13,
     .attrs = {AS_ATTR_LIST("nodes_treeids", 0, 0, 0, 1, 1, 1), AS_ATTR_LIST("nodes_nodeids", 0, 1, 2, 0, 1, 2),
               AS_ATTR_LIST("nodes_featureids", 0, 0, 0, 1, 0, 0), AS_ATTR_FLOAT_LIST("nodes_values", 0.5, 0, 0, -0.25, 0, 0),
               AS_ATTR_TEXT_LIST("nodes_modes", "BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"),
               AS_ATTR_LIST("nodes_truenodeids", 1, 0, 0, 1, 0, 0), AS_ATTR_LIST("nodes_falsenodeids", 2, 0, 0, 2, 0, 0),
               AS_ATTR_LIST("class_treeids", 0, 0, 1, 1), AS_ATTR_LIST("class_nodeids", 1, 2, 1, 2),
               AS_ATTR_LIST("class_ids", 0, 1, 2, 0), AS_ATTR_FLOAT_LIST("class_weights", 1, 2, 0.5, 4),
               AS_ATTR_LIST("classlabels_int64s", 4, 5, 6), AS_ATTR_S("post_transform", "SOFTMAX")},
     AS_GIVEN(0.5, 0, 0.600000024, -0.25, 0.100000001, -1, NAN, 3),
     AS_WANT(4, 5, 4, 4)},
    /* By ONNX Runtime. */
    {.name = "two classes, one share",
     .n_in = 1,
     .in = {AS_IN(F32, 4, 2)},
     .n_attrs = 12,
     .attrs = {AS_ATTR_LIST("nodes_treeids", 0, 0, 0, 1, 1, 1), AS_ATTR_LIST("nodes_nodeids", 0, 1, 2, 0, 1, 2),
               AS_ATTR_LIST("nodes_featureids", 0, 0, 0, 1, 0, 0), AS_ATTR_FLOAT_LIST("nodes_values", 0.5, 0, 0, -0.25, 0, 0),
               AS_ATTR_TEXT_LIST("nodes_modes", "BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"),
               AS_ATTR_LIST("nodes_truenodeids", 1, 0, 0, 1, 0, 0), AS_ATTR_LIST("nodes_falsenodeids", 2, 0, 0, 2, 0, 0),
               AS_ATTR_LIST("class_treeids", 0, 0, 1, 1), AS_ATTR_LIST("class_nodeids", 1, 2, 1, 2),
               AS_ATTR_LIST("class_ids", 0, 0, 0, 0), AS_ATTR_FLOAT_LIST("class_weights", 0.1, 0.3, 0.25, 0.4),
               AS_ATTR_LIST("classlabels_int64s", 4, 5)},
     AS_GIVEN(0.5, 0, 0.600000024, -0.25, 0.100000001, -1, NAN, 3),
     AS_WANT(4, 5, 4, 5)},
    /* By ONNX Runtime. */
    {.name = "two classes, one score",
     .n_in = 1,
     .in = {AS_IN(F32, 4, 2)},
     .n_attrs = 14,
     .attrs = {AS_ATTR_LIST("nodes_treeids", 0, 0, 0, 1, 1, 1), AS_ATTR_LIST("nodes_nodeids", 0, 1, 2, 0, 1, 2),
               AS_ATTR_LIST("nodes_featureids", 0, 0, 0, 1, 0, 0), AS_ATTR_FLOAT_LIST("nodes_values", 0.5, 0, 0, -0.25, 0, 0),
               AS_ATTR_TEXT_LIST("nodes_modes", "BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"),
               AS_ATTR_LIST("nodes_truenodeids", 1, 0, 0, 1, 0, 0), AS_ATTR_LIST("nodes_falsenodeids", 2, 0, 0, 2, 0, 0),
               AS_ATTR_LIST("class_treeids", 0, 0, 1, 1), AS_ATTR_LIST("class_nodeids", 1, 2, 1, 2),
               AS_ATTR_LIST("class_ids", 0, 0, 0, 0), AS_ATTR_FLOAT_LIST("class_weights", -0.1, 0.3, 0.25, -0.4),
               AS_ATTR_LIST("classlabels_int64s", 4, 5), AS_ATTR_S("post_transform", "LOGISTIC"),
               AS_ATTR_FLOAT_LIST("base_values", 0.05)},
     AS_GIVEN(0.5, 0, 0.600000024, -0.25, 0.100000001, -1, NAN, 3),
     AS_WANT(4, 5, 5, 4)},
};

const as_op as_op_ml_treeensembleclassifier = {
    .name = "ai.onnx.ml.TreeEnsembleClassifier",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 2,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
