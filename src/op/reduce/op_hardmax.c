/* op_hardmax.c - 1 at the first largest value along one axis, 0 elsewhere. */
#include <math.h>

#include "op/reduce/reduce.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT}, {0}};

/* L - 1 comparisons per line of L elements. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost         cost = as_cost_bytes(n);
    const as_shape *x = &n->in[0].shape;
    uint64_t        count = as_sat_count(x);
    int             axis;
    if (count && as_rule_axis(NULL, n, as_attr_int(n, "axis", -1), x->rank, &axis) == ASSAY_OK)
        cost.flops = count - count / (uint64_t)x->dim[axis];
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int axis;
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", -1), n->in[0].shape.rank, &axis));
    as_view x = as_axes_last(&in[0], 1u << axis), y = as_axes_last(&out[0], 1u << axis);
    int64_t count = as_shape_count(&x.shape), length = n->in[0].shape.dim[axis];
    for (int64_t first = 0; first < count; first += length) {
        int64_t best = 0;
        for (int64_t i = 1; i < length; i++) {
            double a = as_view_get(&x, first + i), b = as_view_get(&x, first + best);
            if (a > b || (isnan(a) && !isnan(b))) /* a NaN wins, as in numpy's argmax */
                best = i;
        }
        for (int64_t i = 0; i < length; i++)
            as_view_set(&y, first + i, i == best);
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: the first of equals. */
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3)},
     .given = (const double[]){1, 3, 3, -4, -5, -6},
     .want = (const double[]){0, 1, 0, 1, 0, 0},
     .n_want = 6},
    {.name = "axis 0 by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 2, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 0)},
     .given = (const double[]){1, 3, 3, -4, 5, 3},
     .want = (const double[]){1, 0, 1, 0, 1, 0},
     .n_want = 6},
    {.name = "one element", .n_in = 1, .in = {AS_IN(F32, 1)}},
    {.name = "15x17", .n_in = 1, .in = {AS_IN(F32, 15, 17)}},
    {.name = "middle axis", .n_in = 1, .in = {AS_IN(F16, 2, 5, 3)}, .n_attrs = 1, .attrs = {AS_ATTR_I("axis", -2)}},
    {.name = "empty lines", .n_in = 1, .in = {AS_IN(F32, 3, 0)}},
};

const as_op as_op_hardmax = {
    .name = "Hardmax",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = as_rule_line,
    .cost = cost,
    .eval = eval,
    .grad = NULL,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
