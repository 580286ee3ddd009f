/* op_ml_onehotencoder.c - 1 at the place of the element's category, 0 elsewhere, along a new last axis. */
#include "op/ml/ml.h"

static const as_attr_def attrs[] = {
    {.name = "cats_int64s", .kind = AS_ATTR_INTS},
    {.name = "cats_strings", .kind = AS_ATTR_TEXTS},
    {.name = "zeros", .kind = AS_ATTR_INT},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_shape y = n->in[0].shape;
    AS_TRY(as_ml_no_text(env, n, "cats_strings"));
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_DTYPE_BIT(AS_F32) | AS_DTYPE_BIT(AS_F64) | AS_DTYPE_BIT(AS_I32) | AS_DTYPE_BIT(AS_I64)));
    if (!as_ml_count(n, "cats_int64s"))
        return as_refuse(env, n, "it has no categories");
    if (y.rank == AS_MAX_RANK)
        return as_refuse(env, n, "the input is %s and must have less than %d axes", AS_SHOW(&y), AS_MAX_RANK);
    y.dim[y.rank++] = (int64_t)as_ml_count(n, "cats_int64s");
    out[0] = as_info(AS_F32, &y);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    const as_attr *cats = as_attr_find(n, "cats_int64s");
    bool           zeros = as_attr_int(n, "zeros", 1) != 0;
    int64_t        count = as_shape_count(&in[0].shape), width = (int64_t)cats->n;
    for (int64_t i = 0; i < count; i++) {
        double  x = as_view_get(&in[0], i);
        int64_t whole =
            as_dtype_is_float(in[0].dtype) ? (x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN) : as_view_get_i64(&in[0], i);
        bool found = false;
        for (int64_t k = 0; k < width; k++) {
            bool is_it = !found && cats->ints[k] == whole;
            as_view_set(&out[0], i * width + k, is_it);
            found |= is_it;
        }
        if (!found && !zeros)
            return as_refuse(env, n, "element %lld is %g, which is none of the categories, and zeros is 0", (long long)i, x);
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "i64",
     .n_in = 1,
     .in = {AS_IN(I64, 2, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("cats_int64s", 1, 2, 3)},
     AS_GIVEN(1, 3, 2, 1),
     AS_WANT(1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0)},
    /* By ONNX Runtime. */
    {.name = "zeros",
     .n_in = 1,
     .in = {AS_IN(F32, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("cats_int64s", 1, 2), AS_ATTR_I("zeros", 1)},
     AS_GIVEN(1, 8),
     AS_WANT(1, 0, 0, 0)},
};

const as_op as_op_ml_onehotencoder = {
    .name = "ai.onnx.ml.OneHotEncoder",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
