/* op_ml_treeensembleregressor.c - decision trees whose leaves add to targets. */
#include <math.h>
#include <string.h>

#include "op/ml/forest.h"

static const as_attr_def attrs[] = {
    AS_FOREST_ATTRS,
    {.name = "aggregate_function", .kind = AS_ATTR_TEXT},
    {.name = "n_targets", .kind = AS_ATTR_INT},
    {.name = "target_ids", .kind = AS_ATTR_INTS},
    {.name = "target_nodeids", .kind = AS_ATTR_INTS},
    {.name = "target_treeids", .kind = AS_ATTR_INTS},
    {.name = "target_weights", .kind = AS_ATTR_FLOATS},
    {.name = "target_weights_as_tensor", .kind = AS_ATTR_TENSOR},
    {0},
};

static assay_status aggregate_read(assay_env *env, const as_node_ctx *n, as_aggregate *out)
{
    static const char *const words[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    const char              *word = as_attr_text(n, "aggregate_function", "SUM");
    for (size_t i = 0; i < AS_COUNT(words); i++)
        if (!strcmp(words[i], word)) {
            *out = (as_aggregate)i;
            return ASSAY_OK;
        }
    return as_refuse(env, n, "aggregate_function is '%.40s' and must be AVERAGE, SUM, MIN or MAX", word);
}

static assay_status build(as_builder *b, const as_node_ctx *n, as_arena *arena, int x, int *out)
{
    as_forest     f;
    as_shape      rows;
    as_post       post;
    const double *base;
    size_t        n_base;
    AS_TRY(as_ml_rows(b->env, n, &rows));
    AS_TRY(as_post_read(b->env, n, &post));
    AS_TRY(as_forest_read(b->env, n, "target", arena, &f));
    AS_TRY(aggregate_read(b->env, n, &f.aggregate));
    AS_TRY(as_forest_numbers(b->env, n, "base_values", arena, &base, &n_base));
    f.n_features = rows.dim[1];
    f.n_targets = as_attr_int(n, "n_targets", 1);
    if (n_base && n_base != 1 && (int64_t)n_base != f.n_targets)
        return as_refuse(b->env, n, "%zu base values are given for %lld targets", n_base, (long long)f.n_targets);
    AS_TRY(as_b_forest(b, n, &f, as_b_rows(b, n, x), out));
    if (n_base) {
        as_view view = as_view_of((void *)(uintptr_t)base, AS_F64, &AS_SHAPE((int64_t)n_base));
        *out = AS_MAKE(b, "Add", *out, as_b_cast(b, b->constant(b, &view), as_b_info(b, *out).dtype));
    }
    *out = as_b_cast(b, as_b_post(b, *out, post), AS_F32);
    return ASSAY_OK;
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    as_arena     arena = {0};
    assay_status status = build(b, n, &arena, in[0], &out[0]);
    as_arena_drop(&arena);
    return status;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "sum",
     .n_in = 1,
     .in = {AS_IN(F32, 4, 2)},
     .n_attrs = 12,
     .attrs = {AS_ATTR_LIST("nodes_treeids", 0, 0, 0, 1, 1, 1), AS_ATTR_LIST("nodes_nodeids", 0, 1, 2, 0, 1, 2),
               AS_ATTR_LIST("nodes_featureids", 0, 0, 0, 1, 0, 0), AS_ATTR_FLOAT_LIST("nodes_values", 0.5, 0, 0, -0.25, 0, 0),
               AS_ATTR_TEXT_LIST("nodes_modes", "BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"),
               AS_ATTR_LIST("nodes_truenodeids", 1, 0, 0, 1, 0, 0), AS_ATTR_LIST("nodes_falsenodeids", 2, 0, 0, 2, 0, 0),
               AS_ATTR_LIST("target_treeids", 0, 0, 1, 1), AS_ATTR_LIST("target_nodeids", 1, 2, 1, 2),
               AS_ATTR_LIST("target_ids", 0, 0, 0, 0), AS_ATTR_FLOAT_LIST("target_weights", 1, 2, -0.5, 4),
               AS_ATTR_I("n_targets", 1)},
     AS_GIVEN(0.5, 0, 0.600000024, -0.25, 0.100000001, -1, NAN, 3),
     AS_WANT(5, 1.5, 0.5, 6)},
    /* By ONNX Runtime. */
    {.name = "average and a base",
     .n_in = 1,
     .in = {AS_IN(F32, 4, 2)},
     .n_attrs = 14,
     .attrs = {AS_ATTR_LIST("nodes_treeids", 0, 0, 0, 1, 1, 1), AS_ATTR_LIST("nodes_nodeids", 0, 1, 2, 0, 1, 2),
               AS_ATTR_LIST("nodes_featureids", 0, 0, 0, 1, 0, 0), AS_ATTR_FLOAT_LIST("nodes_values", 0.5, 0, 0, -0.25, 0, 0),
               AS_ATTR_TEXT_LIST("nodes_modes", "BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"),
               AS_ATTR_LIST("nodes_truenodeids", 1, 0, 0, 1, 0, 0), AS_ATTR_LIST("nodes_falsenodeids", 2, 0, 0, 2, 0, 0),
               AS_ATTR_LIST("target_treeids", 0, 0, 1, 1), AS_ATTR_LIST("target_nodeids", 1, 2, 1, 2),
               AS_ATTR_LIST("target_ids", 0, 0, 0, 0), AS_ATTR_FLOAT_LIST("target_weights", 1, 2, -0.5, 4),
               AS_ATTR_I("n_targets", 1), AS_ATTR_S("aggregate_function", "AVERAGE"), AS_ATTR_FLOAT_LIST("base_values", 10)},
     AS_GIVEN(0.5, 0, 0.600000024, -0.25, 0.100000001, -1, NAN, 3),
     AS_WANT(12.5, 10.75, 10.25, 13)},
    /* By ONNX Runtime. */
    {.name = "max",
     .n_in = 1,
     .in = {AS_IN(F32, 4, 2)},
     .n_attrs = 13,
     .attrs = {AS_ATTR_LIST("nodes_treeids", 0, 0, 0, 1, 1, 1), AS_ATTR_LIST("nodes_nodeids", 0, 1, 2, 0, 1, 2),
               AS_ATTR_LIST("nodes_featureids", 0, 0, 0, 1, 0, 0), AS_ATTR_FLOAT_LIST("nodes_values", 0.5, 0, 0, -0.25, 0, 0),
               AS_ATTR_TEXT_LIST("nodes_modes", "BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"),
               AS_ATTR_LIST("nodes_truenodeids", 1, 0, 0, 1, 0, 0), AS_ATTR_LIST("nodes_falsenodeids", 2, 0, 0, 2, 0, 0),
               AS_ATTR_LIST("target_treeids", 0, 0, 1, 1), AS_ATTR_LIST("target_nodeids", 1, 2, 1, 2),
               AS_ATTR_LIST("target_ids", 0, 0, 0, 0), AS_ATTR_FLOAT_LIST("target_weights", 1, 2, -0.5, 4),
               AS_ATTR_I("n_targets", 1), AS_ATTR_S("aggregate_function", "MAX")},
     AS_GIVEN(0.5, 0, 0.600000024, -0.25, 0.100000001, -1, NAN, 3),
     AS_WANT(4, 2, 1, 4)},
    /* By ONNX Runtime. */
    {.name = "nan goes to yes",
     .n_in = 1,
     .in = {AS_IN(F32, 4, 2)},
     .n_attrs = 13,
     .attrs = {AS_ATTR_LIST("nodes_treeids", 0, 0, 0, 1, 1, 1), AS_ATTR_LIST("nodes_nodeids", 0, 1, 2, 0, 1, 2),
               AS_ATTR_LIST("nodes_featureids", 0, 0, 0, 1, 0, 0), AS_ATTR_FLOAT_LIST("nodes_values", 0.5, 0, 0, -0.25, 0, 0),
               AS_ATTR_TEXT_LIST("nodes_modes", "BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"),
               AS_ATTR_LIST("nodes_truenodeids", 1, 0, 0, 1, 0, 0), AS_ATTR_LIST("nodes_falsenodeids", 2, 0, 0, 2, 0, 0),
               AS_ATTR_LIST("target_treeids", 0, 0, 1, 1), AS_ATTR_LIST("target_nodeids", 1, 2, 1, 2),
               AS_ATTR_LIST("target_ids", 0, 0, 0, 0), AS_ATTR_FLOAT_LIST("target_weights", 1, 2, -0.5, 4),
               AS_ATTR_I("n_targets", 1), AS_ATTR_LIST("nodes_missing_value_tracks_true", 1, 0, 0, 0, 0, 0)},
     AS_GIVEN(0.5, 0, 0.600000024, -0.25, 0.100000001, -1, NAN, 3),
     AS_WANT(5, 1.5, 0.5, 5)},
};

const as_op as_op_ml_treeensembleregressor = {
    .name = "ai.onnx.ml.TreeEnsembleRegressor",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
