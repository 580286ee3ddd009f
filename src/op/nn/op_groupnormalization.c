/* op_groupnormalization.c - (x - mean) / standard deviation per image and group of channels, times a scale plus a bias per
 * channel (the form of opset 21). */
#include "op/nn/norm.h"

static const as_attr_def attrs[] = {
    {.name = "epsilon", .kind = AS_ATTR_FLOAT},
    {.name = "num_groups", .kind = AS_ATTR_INT, .required = true},
    {.name = "stash_type", .kind = AS_ATTR_INT},
    {0},
};

/* [N, groups, C / groups, spatial...] */
static as_shape split(const as_shape *x, int64_t groups)
{
    as_shape s = {.rank = x->rank + 1, .dim = {x->dim[0], groups, x->dim[1] / groups}};
    for (int i = 2; i < x->rank; i++)
        s.dim[i + 1] = x->dim[i];
    return s;
}

static unsigned axes_of(const as_shape *split_x) { return ((1u << split_x->rank) - 1) & ~3u; }

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape;
    int64_t         groups = as_attr_int(n, "num_groups", 0), stash = as_attr_int(n, "stash_type", 1);
    AS_TRY(as_rule_dtype(env, n, 0, 3, AS_SET_FLOAT));
    if (x->rank < 2 || x->rank >= AS_MAX_RANK)
        return as_refuse(env, n, "X is %s: it must be [N, C, spatial...] of rank 2 to %d", AS_SHOW(x), AS_MAX_RANK - 1);
    AS_TRY(as_norm_vector(env, n, 1, "scale", x->dim[1]));
    AS_TRY(as_norm_vector(env, n, 2, "bias", x->dim[1]));
    if (groups < 1 || x->dim[1] % groups)
        return as_refuse(env, n, "num_groups is %lld and must be positive and divide the %lld channels", (long long)groups,
                         (long long)x->dim[1]);
    /* The type to compute in; the reference code uses f64 whatever it is. */
    if (stash != 1 && stash != 10 && stash != 11 && stash != 16)
        return as_refuse(env, n, "stash_type is %lld and must be 1 (f32), 10 (f16), 11 (f64) or 16 (bf16)", (long long)stash);
    out[0] = as_info(n->in[0].dtype, x);
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    return as_norm_cost(n, as_sat_mul((uint64_t)n->in[0].shape.dim[0], (uint64_t)as_attr_int(n, "num_groups", 1)), 7);
}

static as_view split_view(const as_view *v, const as_shape *to)
{
    as_view s = {.data = v->data, .dtype = v->dtype, .shape = *to};
    s.stride[0] = v->stride[0];
    s.stride[1] = v->stride[1] * to->dim[2];
    for (int i = 1; i < v->shape.rank; i++)
        s.stride[i + 1] = v->stride[i];
    return s;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    as_shape to = split(&in[0].shape, as_attr_int(n, "num_groups", 1));
    as_view  wide[2], view[2], x = split_view(&in[0], &to), y = split_view(&out[0], &to);
    for (int i = 0; i < 2; i++) {
        wide[i] = as_norm_channels(&in[i + 1], &in[0].shape);
        view[i] = split_view(&wide[i], &to);
    }
    as_norm_eval(
        &(as_norm){.x = &x, .y = &y, .scale = &view[0], .bias = &view[1], .axes = axes_of(&to), .epsilon = as_norm_epsilon(n)});
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    d_in[0] = d_in[1] = d_in[2] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    const as_shape *x = &n->in[0].shape;
    as_shape        to = split(x, as_attr_int(n, "num_groups", 1)), wide = to;
    int             dx, d_scale;
    wide.dim[0] = 1;
    for (int i = 3; i < wide.rank; i++)
        wide.dim[i] = 1;
    as_norm_grad(b, as_b_reshape(b, in[0], &to), as_b_reshape(b, in[1], &wide), as_b_reshape(b, d_out[0], &to), axes_of(&to),
                 as_norm_epsilon(n), false, &dx, &d_scale);
    d_in[0] = as_b_reshape(b, dx, x);
    d_in[1] = as_norm_sum(b, as_b_reshape(b, d_scale, x));
    d_in[2] = as_norm_sum(b, d_out[0]);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: the first two channels have mean 3 and deviation 3, the other two mean 2 and deviation 1. */
    {.name = "by hand",
     .n_in = 3,
     .in = {AS_IN(F64, 1, 4), AS_IN(F64, 4), AS_IN(F64, 4)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_F("epsilon", 0), AS_ATTR_I("num_groups", 2)},
     .given = (const double[]){0, 6, 1, 3, 1, 2, 3, 4, 0.5, 0, 0, -0.5},
     .want = (const double[]){-0.5, 2, -3, 3.5},
     .n_want = 4},
    {.name = "2-D",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 6, 3, 4), AS_IN(F32, 6), AS_IN(F32, 6)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("num_groups", 3)}},
    {.name = "one group",
     .n_in = 3,
     .in = {AS_IN(F64, 2, 3, 5), AS_IN(F64, 3), AS_IN(F64, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("num_groups", 1)}},
    {.name = "a group a channel",
     .n_in = 3,
     .in = {AS_IN(F16, 2, 3, 5), AS_IN(F16, 3), AS_IN(F16, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("num_groups", 3)}},
    {.name = "around two vectors",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 6, 19), AS_IN(F32, 6), AS_IN(F32, 6)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("num_groups", 2)}},
    {.name = "a matrix",
     .n_in = 3,
     .in = {AS_IN(F32, 3, 36), AS_IN(F32, 36), AS_IN(F32, 36)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("num_groups", 2)}},
    {.name = "no images",
     .n_in = 3,
     .in = {AS_IN(F32, 0, 4, 5), AS_IN(F32, 4), AS_IN(F32, 4)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("num_groups", 2)}},
};

const as_op as_op_groupnormalization = {
    .name = "GroupNormalization",
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
