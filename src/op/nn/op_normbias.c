/* op_normbias.c - b' = (b - mean) * scale / sqrt(var + epsilon) + B: the bias of a product into which the batch normalisation after
 * it was folded.  Inputs scale, B, mean, var, and b, which may be absent.  The plan's passes make it, so it has no gradient. */
#include <math.h>

#include "op/rules.h"

static const as_attr_def attrs[] = {{.name = "epsilon", .kind = AS_ATTR_FLOAT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 5, AS_SET_FLOAT));
    for (int i = 0; i < n->n_in; i++)
        if (as_in_has(n, i) && (n->in[i].shape.rank != 1 || n->in[i].shape.dim[0] != n->in[0].shape.dim[0]))
            return as_refuse(env, n, "input %d is %s and scale is %s: all must be vectors of one length", i,
                             AS_SHOW(&n->in[i].shape), AS_SHOW(&n->in[0].shape));
    out[0] = as_info(n->in[0].dtype, &n->in[0].shape);
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t count = as_sat_count(&n->in[0].shape);
    cost.flops = as_sat_mul(6, count);
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    double  epsilon = as_attr_float(n, "epsilon", 1e-5);
    int64_t count = as_shape_count(&in[0].shape);
    for (int64_t i = 0; i < count; i++) {
        double b = as_in_has(n, 4) ? as_view_get(&in[4], i) : 0.0;
        as_view_set(&out[0], i,
                    (b - as_view_get(&in[2], i)) * as_view_get(&in[0], i) / sqrt(as_view_get(&in[3], i) + epsilon) +
                        as_view_get(&in[1], i));
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: (5 - 1) * 3 / sqrt(4) + 10, (0 - 2) * 1 / sqrt(1) + 20. */
    {.name = "by hand",
     .n_in = 5,
     .in = {AS_IN(F64, 2), AS_IN(F64, 2), AS_IN(F64, 2), AS_IN(F64, 2), AS_IN(F64, 2)},
     .no_grad = true,
     .given = (const double[]){3, 1, 10, 20, 1, 2, 4, 1, 5, 0},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("epsilon", 0.0)},
     .want = (const double[]){16, 18},
     .n_want = 2},
    {.name = "no bias",
     .n_in = 4,
     .in = {AS_IN(F32, 9), AS_IN(F32, 9), AS_IN(F32, 9), AS_IN(F32, 9)},
     .lo = 0.1,
     .hi = 1.0,
     .no_grad = true},
    {.name = "of nothing", .n_in = 4, .in = {AS_IN(F32, 0), AS_IN(F32, 0), AS_IN(F32, 0), AS_IN(F32, 0)}, .no_grad = true},
};

const as_op as_op_normbias = {
    .name = "assay.NormBias",
    .min_in = 4,
    .max_in = 5,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
