/* product.c - what Gemm and FusedGemm share. */
#include "op/nn/product.h"

assay_status as_product_read(assay_env *env, const as_node_ctx *n, as_product *out)
{
    const as_shape *a = &n->in[0].shape, *b = &n->in[1].shape;
    as_product      p = {.m = 1,
                         .alpha = as_attr_float(n, "alpha", 1.0),
                         .beta = as_attr_float(n, "beta", 1.0),
                         .flip_a = as_attr_int(n, "transA", 0) != 0,
                         .flip_b = as_attr_int(n, "transB", 0) != 0};
    for (int i = 0; i < a->rank - 1; i++)
        p.m *= a->dim[i];
    p.k = a->dim[a->rank - 1];
    if (p.flip_a) {
        p.m = a->dim[1];
        p.k = a->dim[0];
    }
    p.n = b->dim[!p.flip_b];
    if (p.k != b->dim[p.flip_b])
        return as_refuse(env, n, "A is %s and B is %s with transA %d and transB %d: the inner sizes %lld and %lld differ",
                         AS_SHOW(a), AS_SHOW(b), p.flip_a, p.flip_b, (long long)p.k, (long long)b->dim[p.flip_b]);
    *out = p;
    return ASSAY_OK;
}

assay_status as_product_c_check(assay_env *env, const as_node_ctx *n, const as_product *p)
{
    as_shape y = AS_SHAPE(p->m, p->n), wide;
    if (as_in_has(n, 2) && (!as_shape_broadcast(&n->in[2].shape, &y, &wide) || !as_shape_same(&wide, &y)))
        return as_refuse(env, n, "C is %s and does not broadcast to %s", AS_SHOW(&n->in[2].shape), AS_SHOW(&y));
    return ASSAY_OK;
}

as_cost as_product_cost(const as_node_ctx *n, const as_product *p)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t y = as_sat_count(&n->out[0].shape);
    cost.flops = as_sat_mul(as_sat_mul(2, y), (uint64_t)p->k);
    if (p->alpha != 1.0)
        cost.flops = as_sat_add(cost.flops, y);
    if (as_in_has(n, 2))
        cost.flops = as_sat_add(cost.flops, as_sat_add(y, p->beta != 1.0 ? as_sat_count(&n->in[2].shape) : 0));
    return cost;
}
