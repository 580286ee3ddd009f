/* op_batchnormgrad.c - assay.BatchNormGrad(X, dY, scale, mean, inv): the gradients of a batch normalisation in training by X, scale and B.
 *
 * mean and inv are the batch's own mean and inverse deviation per channel, which the forward node gives.  With z = (X - mean) inv and M
 * elements per channel:  dB = sum dY,  dscale = sum dY z,  dX = scale inv (dY - dB / M - z dscale / M). */
#include "op/nn/norm.h"

/* A vector counts as one channel. */
static int64_t channels_of(const as_shape *x) { return x->rank > 1 ? x->dim[1] : 1; }

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    static const char *const names[] = {"X", "dY", "scale", "mean", "inv"};
    const as_shape          *x = &n->in[0].shape;
    AS_TRY(as_rule_dtype(env, n, 0, 5, AS_SET_FLOAT));
    if (x->rank < 1 || !as_shape_same(x, &n->in[1].shape))
        return as_refuse(env, n, "X is %s and dY is %s: they must be the same, [N, C, spatial...]", AS_SHOW(x),
                         AS_SHOW(&n->in[1].shape));
    for (int i = 2; i < 5; i++)
        AS_TRY(as_norm_vector(env, n, i, names[i], channels_of(x)));
    out[0] = as_info(n->in[0].dtype, x);
    out[1] = out[2] = as_info(n->in[0].dtype, &n->in[2].shape);
    return ASSAY_OK;
}

/* Per element: a difference, a sum, a product and a sum; then two differences, two products. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    cost.flops = as_sat_mul(8, as_sat_count(&n->in[0].shape));
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    const as_shape *shape = &in[0].shape;
    unsigned        axes = ((1u << shape->rank) - 1) & ~2u;
    as_view         x = as_axes_last(&in[0], axes), dy = as_axes_last(&in[1], axes), dx = as_axes_last(&out[0], axes);
    int64_t         channels = channels_of(shape), length = channels ? as_shape_count(shape) / channels : 0;
    for (int64_t c = 0; c < channels; c++) {
        AS_GO_ON(env, n);
        double mean = as_view_get(&in[3], c), inv = as_view_get(&in[4], c), sum = 0.0, along = 0.0;
        for (int64_t i = c * length; i < (c + 1) * length; i++) {
            double d = as_view_get(&dy, i);
            sum += d;
            along += d * (as_view_get(&x, i) - mean) * inv;
        }
        double factor = as_view_get(&in[2], c) * inv, m = (double)length;
        for (int64_t i = c * length; i < (c + 1) * length; i++) {
            double z = (as_view_get(&x, i) - mean) * inv;
            as_view_set(&dx, i, factor * (as_view_get(&dy, i) - sum / m - z * along / m));
        }
        if (n->n_out > 1)
            as_view_set(&out[1], c, along);
        if (n->n_out > 2)
            as_view_set(&out[2], c, sum);
    }
    return ASSAY_OK;
}

#define CASE(name_, dtype_, c_, ...)                                                                                             \
    {                                                                                                                            \
        .name = name_, .n_in = 5,                                                                                                \
        .in = {AS_IN(dtype_, __VA_ARGS__), AS_IN(dtype_, __VA_ARGS__), AS_IN(dtype_, c_), AS_IN(dtype_, c_), AS_IN(dtype_, c_)}, \
        .lo = 0.5, .hi = 1.5                                                                                                     \
    }

static const as_case cases[] = {
    /* By hand: x = [0, 6], mean 3, inv 1/3, so z = [-1, 1]; dY = [1, 4] has sum 5 and along z 3: dX = 2/3 (dY - 5/2 - 3/2 z). */
    {.name = "by hand",
     .n_in = 5,
     .in = {AS_IN(F64, 2, 1), AS_IN(F64, 2, 1), AS_IN(F64, 1), AS_IN(F64, 1), AS_IN(F64, 1)},
     .given = (const double[]){0, 6, 1, 4, 2, 3, 1.0 / 3},
     .want = (const double[]){0, 0},
     .n_want = 2},
    CASE("2-D", F32, 3, 2, 3, 4, 5),
    CASE("matrix", F32, 9, 7, 9),
    CASE("vector", F64, 1, 7),
    CASE("f32 vector", F32, 1, 37),
    CASE("3-D", F64, 3, 2, 3, 2, 3, 2),
    CASE("rows around a vector", F32, 5, 3, 5, 33),
    CASE("channels around a vector", F32, 19, 2, 19, 3, 5),
    CASE("sixteen channels", F32, 16, 5, 16, 4, 4),
    CASE("33 channels", F32, 33, 3, 33, 5),
    CASE("several shards", F32, 4, 6, 4, 70, 64),
    CASE("a long matrix", F32, 40, 700, 40),
    CASE("no channels", F32, 0, 2, 0, 4),
    CASE("no images", F32, 3, 0, 3, 4),
};

const as_op as_op_batchnormgrad = {
    .name = "assay.BatchNormGrad",
    .min_in = 5,
    .max_in = 5,
    .min_out = 1,
    .max_out = 3,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
