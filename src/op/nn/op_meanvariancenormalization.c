/* op_meanvariancenormalization.c - (X - mean) / (standard deviation + 1e-9) along the attribute's axes (0, 2, 3 when not given). */
#include <math.h>

#include "op/nn/norm.h"

static const as_attr_def attrs[] = {{.name = "axes", .kind = AS_ATTR_INTS}, {0}};

static assay_status axes_of(assay_env *env, const as_node_ctx *n, unsigned *out)
{
    int64_t  list[AS_MAX_RANK] = {0, 2, 3};
    size_t   count = as_attr_find(n, "axes") ? as_attr_ints(n, "axes", list, AS_MAX_RANK) : 3;
    unsigned set = 0;
    if (count > AS_MAX_RANK)
        return as_refuse(env, n, "axes has %zu values and at most %d are possible", count, AS_MAX_RANK);
    for (size_t i = 0; i < count; i++) {
        int axis;
        AS_TRY(as_rule_axis(env, n, list[i], n->in[0].shape.rank, &axis));
        if (set & (1u << axis))
            return as_refuse(env, n, "axes names axis %d twice", axis);
        set |= 1u << axis;
    }
    *out = set;
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    unsigned axes;
    AS_TRY(as_rule_like(env, n, AS_SET_FLOAT, out));
    return axes_of(env, n, &axes);
}

static as_cost cost(const as_node_ctx *n)
{
    unsigned axes;
    if (axes_of(NULL, n, &axes) != ASSAY_OK)
        return as_cost_bytes(n);
    as_shape lines = as_reduce_shape(&n->in[0].shape, axes, true);
    return as_norm_cost(n, as_sat_count(&lines), 5);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    unsigned axes;
    AS_TRY(axes_of(env, n, &axes));
    as_view  x = as_axes_last(&in[0], axes), y = as_axes_last(&out[0], axes);
    as_shape lines = as_reduce_shape(&in[0].shape, axes, true);
    int64_t  count = as_shape_count(&x.shape), length = count ? count / as_shape_count(&lines) : 0;
    for (int64_t first = 0; first < count; first += length) {
        as_moments m = as_moments_of(&x, first, length);
        for (int64_t i = first; i < first + length; i++)
            as_view_set(&y, i, (as_view_get(&x, i) - m.mean) / (sqrt(m.variance) + 1e-9));
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: each column: [0, 6] has mean 3 and deviation 3, [1, 3] mean 2 and deviation 1. */
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 2, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("axes", 0)},
     .given = (const double[]){0, 1, 6, 3},
     .want = (const double[]){-1, -1, 1, 1},
     .n_want = 4},
    /* By hand: nothing varies, and 0 / 1e-9 is 0. */
    {.name = "equal by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("axes", -1)},
     .given = (const double[]){2, 2, 2},
     .want = (const double[]){0, 0, 0},
     .n_want = 3},
    {.name = "all but channels", .n_in = 1, .in = {AS_IN(F32, 3, 4, 5, 7)}},
    {.name = "f16", .n_in = 1, .in = {AS_IN(F16, 3, 4, 2, 2)}},
    {.name = "empty", .n_in = 1, .in = {AS_IN(F32, 0, 4, 2, 2)}},
};

const as_op as_op_meanvariancenormalization = {
    .name = "MeanVarianceNormalization",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = NULL,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
