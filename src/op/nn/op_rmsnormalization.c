/* op_rmsnormalization.c - X divided by the root of its mean square along all axes from one on, times scale. */
#include "op/nn/norm.h"

static const as_attr_def attrs[] = {
    {.name = "axis", .kind = AS_ATTR_INT},
    {.name = "epsilon", .kind = AS_ATTR_FLOAT},
    {.name = "stash_type", .kind = AS_ATTR_INT},
    {0},
};

/* The output has the dtype of scale. stash_type is the type to compute in; the reference code uses f64 whatever it is. */
static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    unsigned axes;
    int64_t  stash = as_attr_int(n, "stash_type", 1);
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    AS_TRY(as_rule_dtype(env, n, 1, 1, AS_SET_FLOAT));
    AS_TRY(as_norm_axes(env, n, &axes));
    AS_TRY(as_norm_wide(env, n, 1, "scale"));
    if (stash != 1 && stash != 10 && stash != 11 && stash != 16)
        return as_refuse(env, n, "stash_type is %lld and must be 1 (f32), 10 (f16), 11 (f64) or 16 (bf16)", (long long)stash);
    out[0] = as_info(n->in[1].dtype, &n->in[0].shape);
    return ASSAY_OK;
}

/* Square and add, divide, scale: four flops per element. */
static as_cost cost(const as_node_ctx *n)
{
    unsigned axes;
    if (as_norm_axes(NULL, n, &axes) != ASSAY_OK)
        return as_cost_bytes(n);
    as_shape lines = as_reduce_shape(&n->in[0].shape, axes, true);
    return as_norm_cost(n, as_sat_count(&lines), 4);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_view scale = as_view_broadcast(&in[1], &in[0].shape);
    as_norm norm = {.x = &in[0], .y = &out[0], .scale = &scale, .epsilon = as_norm_epsilon(n), .square = true};
    AS_TRY(as_norm_axes(env, n, &norm.axes));
    as_norm_eval(&norm);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    d_in[0] = d_in[1] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    unsigned axes;
    int      d_scale;
    AS_TRY(as_norm_one_dtype(b, n));
    AS_TRY(as_norm_axes(b->env, n, &axes));
    if (as_norm_line_grad(b, n, axes, in, NULL, d_out[0], true, d_in))
        return ASSAY_OK;
    as_norm_grad(b, in[0], in[1], d_out[0], axes, as_norm_epsilon(n), true, &d_in[0], &d_scale);
    d_in[1] = as_b_sum_to(b, d_scale, &n->in[1].shape);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: the mean square of [1, 7] is 25, and so is that of [-5, 5]. */
    {.name = "by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 2, 2), AS_IN(F64, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("epsilon", 0)},
     .given = (const double[]){1, 7, -5, 5, 1, 10},
     .want = (const double[]){0.2, 14, -1, 10},
     .n_want = 4},
    {.name = "7x9", .n_in = 2, .in = {AS_IN(F32, 7, 9), AS_IN(F32, 9)}},
    {.name = "from axis 1, wide scale",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 4, 5), AS_IN(F32, 4, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 1)}},
    {.name = "f32 in, f16 out", .n_in = 2, .in = {AS_IN(F32, 3, 8), AS_IN(F16, 8)}},
    {.name = "empty", .n_in = 2, .in = {AS_IN(F32, 0, 8), AS_IN(F32, 8)}},
};

const as_op as_op_rmsnormalization = {
    .name = "RMSNormalization",
    .min_in = 2,
    .max_in = 2,
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
