/* op_layernormalization.c - (X - mean) / standard deviation along all axes from one on, times Scale plus B; on demand also the
 * mean and the inverse deviation of each line. */
#include "op/nn/norm.h"

static const as_attr_def attrs[] = {
    {.name = "axis", .kind = AS_ATTR_INT},
    {.name = "epsilon", .kind = AS_ATTR_FLOAT},
    {.name = "stash_type", .kind = AS_ATTR_INT},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    unsigned axes;
    int64_t  stash = as_attr_int(n, "stash_type", 1);
    AS_TRY(as_rule_dtype(env, n, 0, 3, AS_SET_FLOAT));
    AS_TRY(as_norm_axes(env, n, &axes));
    AS_TRY(as_norm_wide(env, n, 1, "Scale"));
    if (as_in_has(n, 2))
        AS_TRY(as_norm_wide(env, n, 2, "B"));
    if (stash != 1 && stash != 16)
        return as_refuse(env, n, "stash_type is %lld and must be 1 (f32) or 16 (bf16)", (long long)stash);
    as_shape lines = as_reduce_shape(&n->in[0].shape, axes, true);
    out[0] = as_info(n->in[0].dtype, &n->in[0].shape);
    out[1] = out[2] = as_info(stash == 1 ? AS_F32 : AS_BF16, &lines);
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    unsigned axes;
    if (as_norm_axes(NULL, n, &axes) != ASSAY_OK)
        return as_cost_bytes(n);
    as_shape lines = as_reduce_shape(&n->in[0].shape, axes, true);
    return as_norm_cost(n, as_sat_count(&lines), as_in_has(n, 2) ? 7 : 6);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_norm norm = {.x = &in[0], .y = &out[0], .epsilon = as_norm_epsilon(n)};
    AS_TRY(as_norm_axes(env, n, &norm.axes));
    as_view scale = as_view_broadcast(&in[1], &in[0].shape), bias;
    norm.scale = &scale;
    if (as_in_has(n, 2)) {
        bias = as_view_broadcast(&in[2], &in[0].shape);
        norm.bias = &bias;
    }
    norm.mean = n->n_out > 1 && n->out[1].dtype != AS_NONE ? &out[1] : NULL;
    norm.inv = n->n_out > 2 && n->out[2].dtype != AS_NONE ? &out[2] : NULL;
    as_norm_eval(&norm);
    return ASSAY_OK;
}

/* The statistics of each line, where they have the dtype of X; where they would be rounded, the gradient computes them again. */
static int grad_outs(const as_node_ctx *n)
{
    return n->in[0].dtype == AS_F32 && as_attr_int(n, "stash_type", 1) == 1 && as_norm_is_line(n, 1) ? 3 : 1;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    for (int i = 1; i < n->n_out; i++)
        if (d_out[i] >= 0)
            return as_fail(b->env, ASSAY_UNSUPPORTED, "%s '%s': output %d (a statistic) has no gradient", n->op->name,
                           n->name ? n->name : "", i);
    if (d_out[0] < 0)
        return ASSAY_OK;
    unsigned axes;
    int      d_scale;
    AS_TRY(as_norm_axes(b->env, n, &axes));
    if (as_norm_line_grad(b, n, axes, in, grad_outs(n) == 3 && n->n_out == 3 ? out : NULL, d_out[0], false, d_in))
        return ASSAY_OK;
    as_norm_grad(b, in[0], in[1], d_out[0], axes, as_norm_epsilon(n), false, &d_in[0], &d_scale);
    d_in[1] = as_b_sum_to(b, d_scale, &n->in[1].shape);
    if (as_in_has(n, 2))
        d_in[2] = as_b_sum_to(b, d_out[0], &n->in[2].shape);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: [0, 6] has mean 3 and deviation 3, [1, 3] mean 2 and deviation 1. */
    {.name = "by hand",
     .n_in = 3,
     .in = {AS_IN(F64, 2, 2), AS_IN(F64, 2), AS_IN(F64, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("epsilon", 0)},
     .given = (const double[]){0, 6, 1, 3, 1, 10, 0.5, -0.5},
     .want = (const double[]){-0.5, 9.5, -0.5, 9.5},
     .n_want = 4},
    /* By hand: both axes are one line with mean 3 and variance 5; with 4 added the deviation is 3. */
    {.name = "axis 0 by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 2), AS_IN(F32, 1)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_F("epsilon", 4), AS_ATTR_I("axis", 0)},
     .given = (const double[]){0, 2, 4, 6, 3},
     .want = (const double[]){-3, -1, 1, 3},
     .n_want = 4},
    {.name = "7x9", .n_in = 3, .in = {AS_IN(F32, 7, 9), AS_IN(F32, 9), AS_IN(F32, 9)}},
    {.name = "3-D from axis 1",
     .n_in = 3,
     .in = {AS_IN(F32, 3, 4, 5), AS_IN(F32, 4, 5), AS_IN(F32, 4, 5)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 1)}},
    {.name = "from axis -2, wide scale",
     .n_in = 3,
     .in = {AS_IN(F64, 2, 3, 4, 5), AS_IN(F64, 4, 1), AS_IN(F64, 5)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", -2)}},
    {.name = "without B", .n_in = 2, .in = {AS_IN(F32, 5, 17), AS_IN(F32, 17)}},
    {.name = "f16", .n_in = 3, .in = {AS_IN(F16, 3, 8), AS_IN(F16, 8), AS_IN(F16, 8)}},
    {.name = "empty", .n_in = 3, .in = {AS_IN(F32, 0, 8), AS_IN(F32, 8), AS_IN(F32, 8)}},
};

const as_op as_op_layernormalization = {
    .name = "LayerNormalization",
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 3,
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
