/* op_logsoftmax.c - x minus the logarithm of the sum of exp(x) along one axis, shifted by the largest so that
 * nothing overflows. */
#include <math.h>

#include "op/reduce/reduce.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT}, {0}};

/* Per line of L elements: L - 1 comparisons, 2 L subtractions, L - 1 additions; special: L exponentials and a logarithm. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost         cost = as_cost_bytes(n);
    const as_shape *x = &n->in[0].shape;
    uint64_t        count = as_sat_count(x);
    int             axis;
    if (count == 0 || as_rule_axis(NULL, n, as_attr_int(n, "axis", -1), x->rank, &axis) != ASSAY_OK)
        return cost;
    uint64_t lines = count / (uint64_t)x->dim[axis];
    cost.flops = as_sat_mul(4, count) - 2 * lines;
    cost.special = as_sat_add(count, lines);
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int axis;
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", -1), n->in[0].shape.rank, &axis));
    as_view x = as_axes_last(&in[0], 1u << axis), y = as_axes_last(&out[0], 1u << axis);
    int64_t count = as_shape_count(&x.shape), length = n->in[0].shape.dim[axis];
    for (int64_t first = 0; first < count; first += length) {
        double max = -INFINITY, sum = 0.0;
        for (int64_t i = 0; i < length; i++)
            max = fmax(max, as_view_get(&x, first + i));
        for (int64_t i = 0; i < length; i++)
            sum += exp(as_view_get(&x, first + i) - max);
        for (int64_t i = 0; i < length; i++)
            as_view_set(&y, first + i, as_view_get(&x, first + i) - max - log(sum));
    }
    return ASSAY_OK;
}

/* dx = dy - softmax(x) * sum of dy along the axis. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    as_attr list[] = {AS_ATTR_I("axis", as_attr_int(n, "axis", -1)), AS_ATTR_I("log", 1)};
    d_in[0] = b->node(b, "assay.SoftmaxGrad", (int[]){out[0], d_out[0]}, 2, list, 2, NULL, 1);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: the exponentials of 0, ln 2, ln 5 add up to 8; equal values have equal results; a large shift changes nothing. */
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 3, 3)},
     .given = (const double[]){0, 0.6931471805599453, 1.6094379124341003, 7, 7, 7, 100, 100.6931471805599453, 101.6094379124341003},
     .want =
         (const double[]){-2.0794415416798357, -1.3862943611198906, -0.4700036292457356, -1.0986122886681098, -1.0986122886681098,
                          -1.0986122886681098, -2.0794415416798357, -1.3862943611198906, -0.4700036292457356},
     .n_want = 9},
    /* By hand: along axis 0, per column. */
    {.name = "axis 0 by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 0)},
     .given = (const double[]){0, 1.0986122886681098, 0, 0},
     .want = (const double[]){-0.6931471805599453, -0.2876820724517809, -0.6931471805599453, -1.3862943611198906},
     .n_want = 4},
    {.name = "one element", .n_in = 1, .in = {AS_IN(F32, 1)}},
    {.name = "3x7", .n_in = 1, .in = {AS_IN(F32, 3, 7)}, .lo = -4, .hi = 4},
    {.name = "15x17", .n_in = 1, .in = {AS_IN(F32, 15, 17)}, .lo = -2, .hi = 2},
    {.name = "middle axis", .n_in = 1, .in = {AS_IN(F64, 2, 5, 3)}, .n_attrs = 1, .attrs = {AS_ATTR_I("axis", -2)}},
    {.name = "f16", .n_in = 1, .in = {AS_IN(F16, 4, 5)}},
    {.name = "no lines", .n_in = 1, .in = {AS_IN(F32, 0, 3)}},
    {.name = "empty lines", .n_in = 1, .in = {AS_IN(F32, 3, 0)}},
};

const as_op as_op_logsoftmax = {
    .name = "LogSoftmax",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = as_rule_line,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
