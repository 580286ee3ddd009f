/* op_batchnormalization.c - (x - mean) / standard deviation per channel, times scale plus B.
 *
 * The statistics are given, or with training_mode those of the batch; then two more outputs hold the given ones, moved towards
 * those of the batch: given * momentum + batch * (1 - momentum).  Two further outputs, which ONNX does not have and the gradient
 * reads, are the batch's own mean and the inverse of its deviation, 1 / sqrt(variance + epsilon). */
#include <math.h>

#include "op/nn/norm.h"

static const as_attr_def attrs[] = {
    {.name = "epsilon", .kind = AS_ATTR_FLOAT},
    {.name = "momentum", .kind = AS_ATTR_FLOAT},
    {.name = "training_mode", .kind = AS_ATTR_INT},
    {0},
};

static bool trains(const as_node_ctx *n) { return as_attr_int(n, "training_mode", 0) != 0; }
/* A vector counts as one channel. */
static int64_t channels_of(const as_shape *x) { return x->rank > 1 ? x->dim[1] : 1; }

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    static const char *const names[] = {"X", "scale", "B", "input_mean", "input_var"};
    const as_shape          *x = &n->in[0].shape;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    AS_TRY(as_rule_dtype(env, n, 1, 2, AS_SET_FLOAT));
    AS_TRY(as_rule_dtype(env, n, 3, 2, AS_SET_FLOAT));
    if (x->rank < 1)
        return as_refuse(env, n, "X is %s: it must be [N, C, spatial...]", AS_SHOW(x));
    for (int i = 1; i < 5; i++)
        AS_TRY(as_norm_vector(env, n, i, names[i], channels_of(x)));
    if (n->n_out > 1 && !trains(n))
        return as_refuse(env, n, "%d outputs are requested and without training_mode there is one", n->n_out);
    out[0] = as_info(n->in[0].dtype, x);
    for (int i = 1; i < 5; i++)
        out[i] = as_info(n->in[3].dtype, &n->in[3].shape);
    return ASSAY_OK;
}

/* Given statistics: a multiply and an add per element, once they are folded into one factor and one shift per channel. */
static as_cost cost(const as_node_ctx *n) { return as_norm_cost(n, (uint64_t)channels_of(&n->in[0].shape), trains(n) ? 7 : 2); }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    const as_shape *shape = &in[0].shape;
    double          momentum = as_attr_float(n, "momentum", (double)0.9f), epsilon = as_norm_epsilon(n);
    unsigned        axes = ((1u << shape->rank) - 1) & ~2u;
    as_view         x = as_axes_last(&in[0], axes), y = as_axes_last(&out[0], axes);
    int64_t         channels = channels_of(shape), length = channels ? as_shape_count(shape) / channels : 0;
    for (int64_t c = 0; c < channels; c++) {
        as_moments m = {as_view_get(&in[3], c), as_view_get(&in[4], c)};
        if (trains(n)) {
            as_moments batch = as_moments_of(&x, c * length, length);
            if (n->n_out > 1)
                as_view_set(&out[1], c, m.mean * momentum + batch.mean * (1.0 - momentum));
            if (n->n_out > 2)
                as_view_set(&out[2], c, m.variance * momentum + batch.variance * (1.0 - momentum));
            if (n->n_out > 3)
                as_view_set(&out[3], c, batch.mean);
            if (n->n_out > 4)
                as_view_set(&out[4], c, 1.0 / sqrt(batch.variance + epsilon));
            m = batch;
        }
        double factor = as_view_get(&in[1], c) / sqrt(m.variance + epsilon), bias = as_view_get(&in[2], c);
        for (int64_t i = c * length; i < (c + 1) * length; i++)
            as_view_set(&y, i, (as_view_get(&x, i) - m.mean) * factor + bias);
    }
    return ASSAY_OK;
}

/* With inv = 1 / sqrt(var + epsilon) and centred x c: dx = dy scale inv, d_scale = sum(dy c) inv, d_mean = -sum(dy) scale inv,
 * d_var = -sum(dy c) scale inv^3 / 2. */
static void given_grad(as_builder *b, const as_node_ctx *n, const int *in, int dy, int *d_in)
{
    int      rank = n->in[0].shape.rank;
    as_dtype dtype = n->in[0].dtype;
    int      inv = as_b1(b, "Reciprocal", as_b1(b, "Sqrt", as_b2(b, "Add", in[4], as_b_scalar(b, dtype, as_norm_epsilon(n)))));
    int      factor = as_b2(b, "Mul", in[1], inv), centred = as_b2(b, "Sub", in[0], as_norm_column(b, in[3], rank));
    int      sum = as_norm_sum(b, dy), along = as_norm_sum(b, as_b2(b, "Mul", dy, centred));
    int      cube = as_b2(b, "Mul", factor, as_b2(b, "Mul", inv, inv));
    d_in[0] = as_b2(b, "Mul", dy, as_norm_column(b, factor, rank));
    d_in[1] = as_b2(b, "Mul", along, inv);
    d_in[2] = sum;
    d_in[3] = as_b2(b, "Mul", as_b2(b, "Mul", sum, factor), as_b_scalar(b, dtype, -1.0));
    d_in[4] = as_b2(b, "Mul", as_b2(b, "Mul", along, cube), as_b_scalar(b, dtype, -0.5));
}

/* In training the given statistics do not affect Y. */
static void batch_grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, int dy, int *d_in)
{
    int zero = as_b_scalar(b, n->in[0].dtype, 0.0), d[3] = {-1, -1, -1};
    b->node(b, "assay.BatchNormGrad", (int[]){in[0], dy, in[1], out[3], out[4]}, 5, NULL, 0, d, 3);
    for (int i = 0; i < 3; i++)
        d_in[i] = d[i];
    d_in[3] = d_in[4] = as_b2(b, "Expand", zero, as_b_ints(b, n->in[3].shape.dim, 1));
}

static int grad_outs(const as_node_ctx *n) { return trains(n) ? 5 : 1; }

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    for (int i = 1; i < n->n_out; i++)
        if (d_out[i] >= 0)
            return as_fail(b->env, ASSAY_UNSUPPORTED, "%s '%s': output %d (a running statistic) has no gradient", n->op->name,
                           n->name ? n->name : "", i);
    if (d_out[0] < 0)
        return ASSAY_OK;
    AS_TRY(as_norm_one_dtype(b, n));
    if (!trains(n))
        given_grad(b, n, in, d_out[0], d_in);
    else if (n->n_out == 5)
        batch_grad(b, n, in, out, d_out[0], d_in);
    else
        return as_fail(b->env, ASSAY_INTERNAL, "%s '%s': its gradient needs outputs 3 and 4", n->op->name, n->name ? n->name : "");
    return ASSAY_OK;
}

#define TRAIN             .n_attrs = 1, .attrs = {AS_ATTR_I("training_mode", 1)}
#define VECTORS(dtype, c) AS_IN(dtype, c), AS_IN(dtype, c), AS_IN(dtype, c), AS_IN(dtype, c)

static const as_case cases[] = {
    /* By hand: (x - mean) / sqrt(3 + 1) * 2 + 1 and (x + 1) / sqrt(15 + 1) * 4 - 1. */
    {.name = "by hand",
     .n_in = 5,
     .in = {AS_IN(F32, 1, 2, 2), VECTORS(F32, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("epsilon", 1)},
     .given = (const double[]){1, 3, -1, 5, 2, 4, 1, -1, 1, -1, 3, 15},
     .want = (const double[]){1, 3, -1, 5},
     .n_want = 4},
    /* By hand: the batch's own: [0, 6] has mean 3 and deviation 3, [1, 3] mean 2 and deviation 1. */
    {.name = "training by hand",
     .n_in = 5,
     .in = {AS_IN(F64, 2, 2), VECTORS(F64, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_F("epsilon", 0), AS_ATTR_I("training_mode", 1)},
     .given = (const double[]){0, 1, 6, 3, 1, 10, 0.5, -0.5, 9, 9, 9, 9},
     .want = (const double[]){-0.5, -10.5, 1.5, 9.5},
     .n_want = 4},
    {.name = "2-D", .n_in = 5, .in = {AS_IN(F32, 2, 3, 4, 5), VECTORS(F32, 3)}, .lo = 0.5, .hi = 1.5},
    {.name = "matrix", .n_in = 5, .in = {AS_IN(F32, 7, 9), VECTORS(F32, 9)}, .lo = 0.5, .hi = 1.5},
    {.name = "vector", .n_in = 5, .in = {AS_IN(F64, 7), VECTORS(F64, 1)}, .lo = 0.5, .hi = 1.5},
    {.name = "3-D, training", .n_in = 5, .in = {AS_IN(F64, 2, 3, 2, 3, 2), VECTORS(F64, 3)}, TRAIN},
    {.name = "vector, training", .n_in = 5, .in = {AS_IN(F64, 7), VECTORS(F64, 1)}, TRAIN},
    {.name = "f16 with f32 statistics",
     .n_in = 5,
     .in = {AS_IN(F16, 2, 3, 4), AS_IN(F16, 3), AS_IN(F16, 3), AS_IN(F32, 3), AS_IN(F32, 3)},
     .lo = 0.5,
     .hi = 1.5},
    {.name = "rows around a vector", .n_in = 5, .in = {AS_IN(F32, 3, 5, 33), VECTORS(F32, 5)}, .lo = 0.5, .hi = 1.5},
    {.name = "channels around a vector", .n_in = 5, .in = {AS_IN(F32, 2, 19, 3, 5), VECTORS(F32, 19)}, .lo = 0.5, .hi = 1.5},
    {.name = "f32 vector", .n_in = 5, .in = {AS_IN(F32, 37), VECTORS(F32, 1)}, .lo = 0.5, .hi = 1.5},
    {.name = "matrix, training", .n_in = 5, .in = {AS_IN(F32, 7, 9), VECTORS(F32, 9)}, TRAIN},
    {.name = "rows around a vector, training", .n_in = 5, .in = {AS_IN(F32, 3, 5, 33), VECTORS(F32, 5)}, TRAIN},
    {.name = "channels around a vector, training", .n_in = 5, .in = {AS_IN(F32, 2, 19, 3, 5), VECTORS(F32, 19)}, TRAIN},
    {.name = "sixteen channels, training", .n_in = 5, .in = {AS_IN(F32, 5, 16, 4, 4), VECTORS(F32, 16)}, TRAIN},
    {.name = "several shards, training", .n_in = 5, .in = {AS_IN(F32, 6, 4, 70, 64), VECTORS(F32, 4)}, TRAIN, .no_grad = true},
    {.name = "a long matrix, training", .n_in = 5, .in = {AS_IN(F32, 700, 40), VECTORS(F32, 40)}, TRAIN, .no_grad = true},
    {.name = "a large mean, training",
     .n_in = 5,
     .in = {AS_IN(F32, 40, 19), VECTORS(F32, 19)},
     .lo = 10,
     .hi = 11,
     TRAIN,
     .no_grad = true},
    {.name = "f32 vector, training", .n_in = 5, .in = {AS_IN(F32, 37), VECTORS(F32, 1)}, TRAIN},
    {.name = "no images, training", .n_in = 5, .in = {AS_IN(F32, 0, 3, 4), VECTORS(F32, 3)}, TRAIN, .no_grad = true},
    {.name = "no channels", .n_in = 5, .in = {AS_IN(F32, 2, 0, 4), VECTORS(F32, 0)}, .lo = 0.5, .hi = 1.5},
    {.name = "no images", .n_in = 5, .in = {AS_IN(F32, 0, 3, 4), VECTORS(F32, 3)}, .lo = 0.5, .hi = 1.5},
};

const as_op as_op_batchnormalization = {
    .name = "BatchNormalization",
    .min_in = 5,
    .max_in = 5,
    .min_out = 1,
    .max_out = 5,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .grad_outs = grad_outs,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
