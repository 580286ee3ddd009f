/* op_normweight.c - W' = W * scale / sqrt(var + epsilon), one factor per index of `axis`: the weights of a product into which the
 * batch normalisation after it was folded.  The plan's passes make it, so it has no gradient. */
#include <math.h>

#include "op/rules.h"

static const as_attr_def attrs[] = {
    {.name = "axis", .kind = AS_ATTR_INT},
    {.name = "epsilon", .kind = AS_ATTR_FLOAT},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    int axis;
    AS_TRY(as_rule_dtype(env, n, 0, 3, AS_SET_FLOAT));
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", 0), n->in[0].shape.rank, &axis));
    for (int i = 1; i < 3; i++)
        if (n->in[i].shape.rank != 1 || n->in[i].shape.dim[0] != n->in[0].shape.dim[axis])
            return as_refuse(env, n, "input %d is %s and must be [%lld], one value per index of axis %d", i,
                             AS_SHOW(&n->in[i].shape), (long long)n->in[0].shape.dim[axis], axis);
    out[0] = as_info(n->in[0].dtype, &n->in[0].shape);
    return ASSAY_OK;
}

/* A product per element; an addition, a root and a division per factor. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t factors = as_sat_count(&n->in[1].shape);
    cost.flops = as_sat_add(as_sat_count(&n->in[0].shape), as_sat_mul(3, factors));
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int axis;
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", 0), n->in[0].shape.rank, &axis));
    double  epsilon = as_attr_float(n, "epsilon", 1e-5);
    int64_t count = as_shape_count(&in[0].shape), inner = 1, factors = in[0].shape.dim[axis];
    for (int i = axis + 1; i < in[0].shape.rank; i++)
        inner *= in[0].shape.dim[i];
    for (int64_t i = 0; i < count; i++) {
        int64_t f = i / inner % factors;
        as_view_set(&out[0], i, as_view_get(&in[0], i) * as_view_get(&in[1], f) / sqrt(as_view_get(&in[2], f) + epsilon));
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: the rows [1,2] and [3,4] times 2/sqrt(4) and 3/sqrt(9). */
    {.name = "rows by hand",
     .n_in = 3,
     .in = {AS_IN(F64, 2, 2), AS_IN(F64, 2), AS_IN(F64, 2)},
     .no_grad = true,
     .given = (const double[]){1, 2, 3, 4, 2, 3, 3, 8},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("epsilon", 1.0)},
     .want = (const double[]){1, 2, 3, 4},
     .n_want = 4},
    {.name = "columns by hand",
     .n_in = 3,
     .in = {AS_IN(F64, 2, 2), AS_IN(F64, 2), AS_IN(F64, 2)},
     .no_grad = true,
     .given = (const double[]){1, 2, 3, 4, 4, 9, 4, 9},
     .n_attrs = 2,
     .attrs = {AS_ATTR_F("epsilon", 0.0), AS_ATTR_I("axis", 1)},
     .want = (const double[]){2, 6, 6, 12},
     .n_want = 4},
    {.name = "3x3 of 5 to 7",
     .n_in = 3,
     .in = {AS_IN(F32, 7, 5, 3, 3), AS_IN(F32, 7), AS_IN(F32, 7)},
     .lo = 0.1,
     .hi = 1.0,
     .no_grad = true},
    {.name = "no outputs", .n_in = 3, .in = {AS_IN(F32, 0, 5), AS_IN(F32, 0), AS_IN(F32, 0)}, .no_grad = true},
};

const as_op as_op_normweight = {
    .name = "assay.NormWeight",
    .min_in = 3,
    .max_in = 3,
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
