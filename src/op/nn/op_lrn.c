/* op_lrn.c - each element divided by (bias + alpha / size * the sum of squares of `size` neighbouring channels) ^ beta. */
#include <math.h>

#include "op/rules.h"

static const as_attr_def attrs[] = {
    {.name = "alpha", .kind = AS_ATTR_FLOAT},
    {.name = "beta", .kind = AS_ATTR_FLOAT},
    {.name = "bias", .kind = AS_ATTR_FLOAT},
    {.name = "size", .kind = AS_ATTR_INT, .required = true},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    int64_t size = as_attr_int(n, "size", 0);
    AS_TRY(as_rule_like(env, n, AS_SET_FLOAT, out));
    if (n->in[0].shape.rank < 2)
        return as_refuse(env, n, "X is %s: it must be [N, C, ...]", AS_SHOW(&n->in[0].shape));
    if (size < 1 || size > INT32_MAX)
        return as_refuse(env, n, "size is %lld, outside of 1 to %lld", (long long)size, (long long)INT32_MAX);
    return ASSAY_OK;
}

/* Per element a square and an addition for each of `size` neighbours, then a product, an addition and a division; special: a
 * power. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t count = as_sat_count(&n->in[0].shape);
    cost.flops = as_sat_mul(count, 2 * (uint64_t)as_attr_int(n, "size", 1) + 3);
    cost.special = count;
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    const as_shape *x = &in[0].shape;
    int64_t         size = as_attr_int(n, "size", 1), before = (size - 1) / 2, after = size - 1 - before, index[AS_MAX_RANK] = {0};
    double          alpha = as_attr_float(n, "alpha", (double)1e-4f), beta = as_attr_float(n, "beta", 0.75),
           bias = as_attr_float(n, "bias", 1.0);
    if (as_shape_count(x) == 0)
        return ASSAY_OK;
    do {
        AS_GO_ON(env, n);
        int64_t c = index[1], last = c + after < x->dim[1] ? c + after : x->dim[1] - 1;
        double  sum = 0.0;
        for (index[1] = c > before ? c - before : 0; index[1] <= last; index[1]++)
            sum += as_view_at(&in[0], index) * as_view_at(&in[0], index);
        index[1] = c;
        as_view_put(&out[0], index, as_view_at(&in[0], index) / pow(bias + alpha / (double)size * sum, beta));
    } while (as_index_next(x, index));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: alpha / size is 1, beta 1: sums of squares of each channel and the next, for an even size the next only. */
    {.name = "even size by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_F("alpha", 2), AS_ATTR_F("beta", 1), AS_ATTR_I("size", 2)},
     .given = (const double[]){1, 2, 3},
     .want = (const double[]){1.0 / 6, 2.0 / 14, 3.0 / 10},
     .n_want = 3},
    {.name = "odd size by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 1, 3)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_F("alpha", 3), AS_ATTR_F("beta", 0.5), AS_ATTR_F("bias", 2), AS_ATTR_I("size", 3)},
     .given = (const double[]){1, 3, 2},
     .want = (const double[]){0.2886751345948129, 0.75, 0.5163977794943222},
     .n_want = 3},
    {.name = "2-D", .n_in = 1, .in = {AS_IN(F32, 2, 7, 3, 4)}, .n_attrs = 1, .attrs = {AS_ATTR_I("size", 5)}},
    {.name = "wider than the channels", .n_in = 1, .in = {AS_IN(F16, 1, 3, 4)}, .n_attrs = 1, .attrs = {AS_ATTR_I("size", 9)}},
    {.name = "many columns",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 6, 17, 17)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_F("alpha", 0.5), AS_ATTR_F("beta", 0.6), AS_ATTR_I("size", 4)},
     .lo = -3,
     .hi = 3},
    {.name = "no images", .n_in = 1, .in = {AS_IN(F32, 0, 7, 3, 4)}, .n_attrs = 1, .attrs = {AS_ATTR_I("size", 5)}},
};

const as_op as_op_lrn = {
    .name = "LRN",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = NULL,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
