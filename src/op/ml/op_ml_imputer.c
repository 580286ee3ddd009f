/* op_ml_imputer.c - what equals the replaced value (a NaN for NaN) becomes one number for all features or the feature's own. */
#include <math.h>

#include "op/ml/ml.h"

static const as_attr_def attrs[] = {
    {.name = "imputed_value_floats", .kind = AS_ATTR_FLOATS},
    {.name = "imputed_value_int64s", .kind = AS_ATTR_INTS},
    {.name = "replaced_value_float", .kind = AS_ATTR_FLOAT},
    {.name = "replaced_value_int64", .kind = AS_ATTR_INT},
    {0},
};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    as_shape rows;
    bool     is_float = as_dtype_is_float(n->in[0].dtype);
    size_t   count = as_ml_count(n, is_float ? "imputed_value_floats" : "imputed_value_int64s");
    int      numbers, bad;
    AS_TRY(as_ml_rows(b->env, n, &rows));
    if (count < 1 || (count != 1 && count != (size_t)rows.dim[1]))
        return as_refuse(b->env, n, "%zu numbers are given for X %s: 1 or one per feature, of its kind, are needed", count,
                         AS_SHOW(&n->in[0].shape));
    if (is_float) {
        double replaced = as_attr_float(n, "replaced_value_float", 0.0);
        AS_TRY(as_ml_floats(b, n, "imputed_value_floats", n->in[0].dtype, &AS_SHAPE((int64_t)count), &numbers));
        bad = isnan(replaced) ? AS_MAKE(b, "IsNaN", in[0]) : as_b_with(b, "Equal", in[0], replaced);
    } else {
        int64_t replaced = as_attr_int(n, "replaced_value_int64", 0);
        numbers = as_b_cast(b, as_b_ints(b, as_attr_find(n, "imputed_value_int64s")->ints, count), n->in[0].dtype);
        bad = AS_MAKE(b, "Equal", as_b_cast(b, in[0], AS_I64), as_b_ints(b, &replaced, 1));
    }
    out[0] = AS_MAKE(b, "Where", bad, numbers, in[0]);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "nan per feature",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_FLOAT_LIST("imputed_value_floats", 7, 8), AS_ATTR_F("replaced_value_float", NAN)},
     AS_GIVEN(1, NAN, NAN, 4),
     AS_WANT(1, 8, 7, 4)},
    /* By ONNX Runtime. */
    {.name = "i64",
     .n_in = 1,
     .in = {AS_IN(I64, 2, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("imputed_value_int64s", 9), AS_ATTR_I("replaced_value_int64", 0)},
     AS_GIVEN(1, 0, 0, 4),
     AS_WANT(1, 9, 9, 4)},
};

const as_op as_op_ml_imputer = {
    .name = "ai.onnx.ml.Imputer",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
