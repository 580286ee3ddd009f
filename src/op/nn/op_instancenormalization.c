/* op_instancenormalization.c - (x - mean) / standard deviation per image and channel, times scale plus B. */
#include "op/nn/norm.h"

static const as_attr_def attrs[] = {{.name = "epsilon", .kind = AS_ATTR_FLOAT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape;
    AS_TRY(as_rule_dtype(env, n, 0, 3, AS_SET_FLOAT));
    if (x->rank < 3)
        return as_refuse(env, n, "X is %s: it must be [N, C, spatial...]", AS_SHOW(x));
    AS_TRY(as_norm_vector(env, n, 1, "scale", x->dim[1]));
    AS_TRY(as_norm_vector(env, n, 2, "B", x->dim[1]));
    out[0] = as_info(n->in[0].dtype, x);
    return ASSAY_OK;
}

static unsigned axes_of(const as_shape *x) { return ((1u << x->rank) - 1) & ~3u; }

static as_cost cost(const as_node_ctx *n)
{
    as_shape lines = as_reduce_shape(&n->in[0].shape, axes_of(&n->in[0].shape), true);
    return as_norm_cost(n, as_sat_count(&lines), 7);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    as_view scale = as_norm_channels(&in[1], &in[0].shape), bias = as_norm_channels(&in[2], &in[0].shape);
    as_norm_eval(&(as_norm){
        .x = &in[0], .y = &out[0], .scale = &scale, .bias = &bias, .axes = axes_of(&in[0].shape), .epsilon = as_norm_epsilon(n)});
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    d_in[0] = d_in[1] = d_in[2] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    const as_shape *x = &n->in[0].shape;
    int             d_scale;
    as_norm_grad(b, in[0], as_norm_column(b, in[1], x->rank), d_out[0], axes_of(x), as_norm_epsilon(n), false, &d_in[0], &d_scale);
    d_in[1] = as_norm_sum(b, d_scale);
    d_in[2] = as_norm_sum(b, d_out[0]);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: [0, 6] has mean 3 and deviation 3, [1, 3] mean 2 and deviation 1; each channel has its own scale. */
    {.name = "by hand",
     .n_in = 3,
     .in = {AS_IN(F64, 1, 2, 2), AS_IN(F64, 2), AS_IN(F64, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("epsilon", 0)},
     .given = (const double[]){0, 6, 1, 3, 1, 10, 0.5, -0.5},
     .want = (const double[]){-0.5, 1.5, -10.5, 9.5},
     .n_want = 4},
    {.name = "2-D", .n_in = 3, .in = {AS_IN(F32, 2, 3, 4, 5), AS_IN(F32, 3), AS_IN(F32, 3)}},
    {.name = "3-D", .n_in = 3, .in = {AS_IN(F64, 2, 2, 3, 2, 3), AS_IN(F64, 2), AS_IN(F64, 2)}},
    {.name = "f16", .n_in = 3, .in = {AS_IN(F16, 1, 3, 9), AS_IN(F16, 3), AS_IN(F16, 3)}},
    {.name = "around two vectors", .n_in = 3, .in = {AS_IN(F32, 2, 3, 37), AS_IN(F32, 3), AS_IN(F32, 3)}},
    {.name = "one pixel", .n_in = 3, .in = {AS_IN(F32, 2, 9, 1), AS_IN(F32, 9), AS_IN(F32, 9)}},
    {.name = "no images", .n_in = 3, .in = {AS_IN(F32, 0, 3, 9), AS_IN(F32, 3), AS_IN(F32, 3)}},
};

const as_op as_op_instancenormalization = {
    .name = "InstanceNormalization",
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
