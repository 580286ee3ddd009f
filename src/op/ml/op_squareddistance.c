/* op_squareddistance.c - the squared distance of every row of A to every row of B: of support vectors, of centres.  As differences, not as
 * |a|^2 + |b|^2 - 2 a b, which loses the digits of rows that are close to each other. */
#include "op/rules.h"
#include "op/shape/move.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *a = &n->in[0].shape, *b = &n->in[1].shape;
    AS_TRY(as_rule_dtype(env, n, 0, 2, AS_SET_FLOAT));
    if (a->rank != 2 || b->rank != 2 || a->dim[1] != b->dim[1])
        return as_refuse(env, n, "A is %s and B is %s: they must be [N, features] and [M, features]", AS_SHOW(a), AS_SHOW(b));
    out[0] = as_info(n->in[0].dtype, &AS_SHAPE(a->dim[0], b->dim[0]));
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    cost.flops = as_sat_mul(3, as_sat_mul(as_sat_count(&n->out[0].shape), (uint64_t)n->in[0].shape.dim[1]));
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t rows = in[0].shape.dim[0], columns = in[1].shape.dim[0], features = in[0].shape.dim[1];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++) {
            double sum = 0.0;
            AS_GO_ON(env, n);
            for (int64_t f = 0; f < features; f++) {
                double d = as_view_get(&in[0], i * features + f) - as_view_get(&in[1], k * features + f);
                sum += d * d;
            }
            as_view_set(&out[0], i * columns + k, sum);
        }
    return ASSAY_OK;
}

static const as_case cases[] = {
    {.name = "by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 2), AS_IN(F32, 3, 2)},
     AS_GIVEN(0, 0, 3, 4, 0, 0, 3, 0, 1, 1),
     AS_WANT(0, 9, 2, 25, 16, 13)},
    {.name = "17 and 5", .n_in = 2, .in = {AS_IN(F32, 17, 9), AS_IN(F32, 5, 9)}},
    {.name = "f64", .n_in = 2, .in = {AS_IN(F64, 3, 4), AS_IN(F64, 2, 4)}},
    {.name = "empty", .n_in = 2, .in = {AS_IN(F32, 0, 4), AS_IN(F32, 2, 4)}},
};

const as_op as_op_squareddistance = {
    .name = "assay.SquaredDistance",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
