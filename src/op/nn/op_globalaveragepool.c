/* op_globalaveragepool.c - the mean of every channel of every image: [N, C, spatial...] to [N, C, 1...]. */
#include "op/nn/norm.h"

/* L - 1 additions and a division per channel of L elements. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_reduce_cost(n);
    cost.flops = as_sat_add(cost.flops, as_sat_count(&n->out[0].shape));
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    int64_t count = as_shape_count(&out[0].shape), length = count ? as_shape_count(&n->in[0].shape) / count : 0;
    for (int64_t i = 0; i < count; i++)
        as_view_set(&out[0], i, as_moments_of(&in[0], i * length, length).mean);
    return ASSAY_OK;
}

/* Each of L elements gets 1/L of the gradient of its mean: one window that sees all. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    const as_shape *x = &n->in[0].shape;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    if (as_shape_count(x) && x->rank > 2 && x->rank < 6) {
        as_attr attrs[] = {{.name = "kernel_shape", .kind = AS_ATTR_INTS, .ints = x->dim + 2, .n = (size_t)x->rank - 2},
                           {.name = "input_shape", .kind = AS_ATTR_INTS, .ints = x->dim, .n = (size_t)x->rank}};
        d_in[0] = b->node(b, "assay.AveragePoolGrad", d_out, 1, attrs, 2, NULL, 1);
        return ASSAY_OK;
    }
    int64_t count = as_shape_count(&b->info(b, d_out[0])->shape), all = as_shape_count(x);
    int     each = as_b2(b, "Mul", d_out[0], as_b_scalar(b, n->in[0].dtype, all ? (double)count / (double)all : 0.0));
    d_in[0] = as_b2(b, "Expand", each, as_b_ints(b, x->dim, (size_t)x->rank));
    return ASSAY_OK;
}

static const as_case cases[] = {
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 2, 2, 2)},
     .given = (const double[]){1, 2, 3, 4, -1, -1, -1, 0},
     .want = (const double[]){2.5, -0.75},
     .n_want = 2},
    {.name = "1-D", .n_in = 1, .in = {AS_IN(F64, 2, 3, 7)}},
    {.name = "2-D", .n_in = 1, .in = {AS_IN(F32, 2, 9, 7, 8)}},
    {.name = "117 channels", .n_in = 1, .in = {AS_IN(F32, 2, 117, 3, 4)}, .no_grad = true},
    {.name = "3-D", .n_in = 1, .in = {AS_IN(F32, 1, 2, 3, 4, 5)}},
    {.name = "f16", .n_in = 1, .in = {AS_IN(F16, 1, 3, 4, 4)}},
    {.name = "no images", .n_in = 1, .in = {AS_IN(F32, 0, 3, 4)}},
};

const as_op as_op_globalaveragepool = {
    .name = "GlobalAveragePool",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = as_reduce_infer_planes,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
