/* op_det.c - determinants of the matrices in the last two axes, by elimination with the largest pivot. */
#include <math.h>
#include <stdlib.h>

#include "op/composed.h"

static const as_attr_def attrs[] = {{0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_shape y = n->in[0].shape;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    if (y.rank < 2 || y.dim[y.rank - 1] != y.dim[y.rank - 2])
        return as_refuse(env, n, "X is %s and must end with two axes of one size", AS_SHOW(&y));
    y.rank -= 2;
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static double det(double *m, int64_t n)
{
    double product = 1.0;
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < n; i++)
            best = fabs(m[i * n + k]) > fabs(m[best * n + k]) ? i : best;
        if (m[best * n + k] == 0.0)
            return 0.0;
        for (int64_t j = k; j < n && best != k; j++) {
            double x = m[k * n + j];
            m[k * n + j] = m[best * n + j];
            m[best * n + j] = x;
        }
        product *= best == k ? m[k * n + k] : -m[k * n + k];
        for (int64_t i = k + 1; i < n; i++)
            for (int64_t j = n - 1; j >= k; j--)
                m[i * n + j] -= m[i * n + k] / m[k * n + k] * m[k * n + j];
    }
    return product;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t size = in[0].shape.dim[in[0].shape.rank - 1], count = as_shape_count(&out[0].shape);
    if (count == 0)
        return ASSAY_OK;
    double *m = malloc((size_t)(size * size + 1) * sizeof *m);
    if (!m)
        return as_fail(env, ASSAY_NO_MEMORY, "Det '%s': not enough memory for a matrix", n->name ? n->name : "");
    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < size * size; k++)
            m[k] = as_view_get(&in[0], i * size * size + k);
        as_view_set(&out[0], i, det(m, size));
    }
    free(m);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "2x2 and 3x3",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3, 3)},
     AS_GIVEN(0.850000024, 0.949999988, -0.180000007, -0.349999994, 0.100000001, -0.839999974, 0.400000006, -0.340000004,
              -0.360000014, -0.889999986, -0.649999976, -0.75999999, -0.379999995, 0.439999998, 0.939999998, 0.419999987,
              -0.959999979, -0.430000007),
     AS_WANT(-0.726480007, -0.92195797)},
    /* By the ONNX reference evaluator. */
    {.name = "one",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 2)},
     AS_GIVEN(-0.75999999, 0.99000001, 0.639999986, 0.25999999),
     AS_WANT(-0.831200004)},
};

const as_op as_op_det = {
    .name = "Det",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .known_in = 0,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
