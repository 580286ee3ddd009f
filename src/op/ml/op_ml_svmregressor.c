/* op_ml_svmregressor.c - a support vector machine's sum of kernels, or its sign for one class. */
#include "op/ml/svm.h"

static const as_attr_def attrs[] = {
    {.name = "coefficients", .kind = AS_ATTR_FLOATS},
    {.name = "kernel_params", .kind = AS_ATTR_FLOATS},
    {.name = "kernel_type", .kind = AS_ATTR_TEXT},
    {.name = "n_supports", .kind = AS_ATTR_INT},
    {.name = "one_class", .kind = AS_ATTR_INT},
    {.name = "post_transform", .kind = AS_ATTR_TEXT},
    {.name = "rho", .kind = AS_ATTR_FLOATS},
    {.name = "support_vectors", .kind = AS_ATTR_FLOATS},
    {0},
};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    as_shape rows;
    as_post  post;
    int64_t  supports = as_attr_int(n, "n_supports", 0);
    int      vectors = -1, coefficients = -1, rho = -1, kernel = -1;
    AS_TRY(as_ml_rows(b->env, n, &rows));
    AS_TRY(as_post_read(b->env, n, &post));
    AS_TRY(as_ml_floats(b, n, "rho", AS_F32, &AS_SHAPE(1), &rho));
    int x = as_b_cast(b, as_b_rows(b, n, in[0]), AS_F32), y;
    if (supports > 0) {
        AS_TRY(as_ml_floats(b, n, "support_vectors", AS_F32, &AS_SHAPE(supports, rows.dim[1]), &vectors));
        AS_TRY(as_ml_floats(b, n, "coefficients", AS_F32, &AS_SHAPE(supports, 1), &coefficients));
        AS_TRY(as_b_svm_kernel(b, n, x, vectors, false, &kernel));
        y = AS_MAKE(b, "MatMul", kernel, coefficients);
    } else {
        AS_TRY(as_ml_floats(b, n, "coefficients", AS_F32, &AS_SHAPE(rows.dim[1], 1), &coefficients));
        y = AS_MAKE(b, "MatMul", x, coefficients);
    }
    y = AS_MAKE(b, "Add", y, rho);
    if (as_attr_int(n, "one_class", 0))
        y = AS_MAKE(b, "Where", as_b_with(b, "Greater", y, 0.0), as_b_like(b, y, 1.0), as_b_like(b, y, -1.0));
    out[0] = as_b_post(b, y, post);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "rbf",
     .n_in = 1,
     .in = {AS_IN(F32, 3, 2)},
     .n_attrs = 6,
     .attrs = {AS_ATTR_FLOAT_LIST("coefficients", 0.5, -1, 2), AS_ATTR_FLOAT_LIST("kernel_params", 0.5, 0.25, 2),
               AS_ATTR_S("kernel_type", "RBF"), AS_ATTR_I("n_supports", 3), AS_ATTR_FLOAT_LIST("rho", 0.1),
               AS_ATTR_FLOAT_LIST("support_vectors", 0.1, 0.2, -0.5, 1, 0.7, -0.3)},
     AS_GIVEN(-0.0799999982, 0.560000002, 0.769999981, 0.349999994, 0.600000024, 0.879999995),
     AS_WANT(0.749324322, 1.74876487, 0.899988949)},
    /* By ONNX Runtime. */
    {.name = "poly",
     .n_in = 1,
     .in = {AS_IN(F32, 3, 2)},
     .n_attrs = 6,
     .attrs = {AS_ATTR_FLOAT_LIST("coefficients", 0.5, -1, 2), AS_ATTR_FLOAT_LIST("kernel_params", 0.5, 0.25, 2),
               AS_ATTR_S("kernel_type", "POLY"), AS_ATTR_I("n_supports", 3), AS_ATTR_FLOAT_LIST("rho", 0.1),
               AS_ATTR_FLOAT_LIST("support_vectors", 0.1, 0.2, -0.5, 1, 0.7, -0.3)},
     AS_GIVEN(-0.920000017, 0.75, -0.449999988, -0.0500000007, 0.589999974, 0.430000007),
     AS_WANT(-0.52402401, 0.0308468714, 0.358524859)},
    /* By ONNX Runtime. */
    {.name = "sigmoid",
     .n_in = 1,
     .in = {AS_IN(F32, 3, 2)},
     .n_attrs = 6,
     .attrs = {AS_ATTR_FLOAT_LIST("coefficients", 0.5, -1, 2), AS_ATTR_FLOAT_LIST("kernel_params", 0.5, 0.25, 2),
               AS_ATTR_S("kernel_type", "SIGMOID"), AS_ATTR_I("n_supports", 3), AS_ATTR_FLOAT_LIST("rho", 0.1),
               AS_ATTR_FLOAT_LIST("support_vectors", 0.1, 0.2, -0.5, 1, 0.7, -0.3)},
     AS_GIVEN(-0.709999979, 0.319999993, -0.860000014, -0.289999992, 0.629999995, -0.140000001),
     AS_WANT(-0.400215298, -0.136434793, 1.11896455)},
    /* By ONNX Runtime. */
    {.name = "linear",
     .n_in = 1,
     .in = {AS_IN(F32, 3, 2)},
     .n_attrs = 6,
     .attrs = {AS_ATTR_FLOAT_LIST("coefficients", 0.5, -1, 2), AS_ATTR_FLOAT_LIST("kernel_params", 0.5, 0.25, 2),
               AS_ATTR_S("kernel_type", "LINEAR"), AS_ATTR_I("n_supports", 3), AS_ATTR_FLOAT_LIST("rho", 0.1),
               AS_ATTR_FLOAT_LIST("support_vectors", 0.1, 0.2, -0.5, 1, 0.7, -0.3)},
     AS_GIVEN(0.200000003, 0.460000008, 0.639999986, 0.519999981, -0.99000001, -0.159999996),
     AS_WANT(-0.200000048, 0.568000019, -1.5905)},
    /* By ONNX Runtime. */
    {.name = "one class",
     .n_in = 1,
     .in = {AS_IN(F32, 3, 2)},
     .n_attrs = 7,
     .attrs = {AS_ATTR_FLOAT_LIST("coefficients", 0.5, -1, 2), AS_ATTR_FLOAT_LIST("kernel_params", 0.5, 0.25, 2),
               AS_ATTR_S("kernel_type", "RBF"), AS_ATTR_I("n_supports", 3), AS_ATTR_FLOAT_LIST("rho", -0.9),
               AS_ATTR_FLOAT_LIST("support_vectors", 0.1, 0.2, -0.5, 1, 0.7, -0.3), AS_ATTR_I("one_class", 1)},
     AS_GIVEN(-0.0700000003, -0.889999986, 0.0799999982, 0.219999999, 0.660000026, 0.879999995),
     AS_WANT(1, 1, -1)},
};

const as_op as_op_ml_svmregressor = {
    .name = "ai.onnx.ml.SVMRegressor",
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
