/* op_ml_scaler.c - (X - offset) * scale, one number for all features or one per feature. */
#include "op/ml/ml.h"

static const as_attr_def attrs[] = {{.name = "offset", .kind = AS_ATTR_FLOATS}, {.name = "scale", .kind = AS_ATTR_FLOATS}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    as_shape rows;
    int      y = as_b_cast(b, in[0], AS_F32);
    AS_TRY(as_ml_rows(b->env, n, &rows));
    for (int k = 0; k < 2; k++) {
        const char *name = k ? "scale" : "offset";
        size_t      count = as_ml_count(n, name);
        int         numbers;
        if (!count)
            continue;
        AS_TRY(as_ml_floats(b, n, name, AS_F32, &AS_SHAPE(count == 1 ? 1 : rows.dim[1]), &numbers));
        y = AS_MAKE(b, k ? "Mul" : "Sub", y, numbers);
    }
    out[0] = y;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "per feature",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_FLOAT_LIST("offset", 0.5, 1, -1), AS_ATTR_FLOAT_LIST("scale", 2, 0.5, 3)},
     AS_GIVEN(-0.850000024, 0.560000002, -0.119999997, 0.449999988, 0.959999979, 0.0799999982),
     AS_WANT(-2.70000005, -0.219999999, 2.63999987, -0.100000024, -0.0200000107, 3.24000025)},
    /* By ONNX Runtime. */
    {.name = "one number, i64",
     .n_in = 1,
     .in = {AS_IN(I64, 2, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_FLOAT_LIST("offset", 1), AS_ATTR_FLOAT_LIST("scale", 0.25)},
     AS_GIVEN(8, 9, 8, 7, 6, 4),
     AS_WANT(1.75, 2, 1.75, 1.5, 1.25, 0.75)},
};

const as_op as_op_ml_scaler = {
    .name = "ai.onnx.ml.Scaler",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
