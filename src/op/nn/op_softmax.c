/* op_softmax.c - exp(x) divided by the sum of exp(x) along one axis, shifted by the largest so that nothing overflows. */
#include <math.h>

#include "op/rules.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT}, {0}};

/* Per line of L elements: L - 1 comparisons, L subtractions, L - 1 additions, the inverse of the sum, L products; special: L
 * exponentials. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost         cost = as_cost_bytes(n);
    const as_shape *x = &n->in[0].shape;
    uint64_t        count = as_sat_count(x);
    int             axis;
    if (count == 0 || as_rule_axis(NULL, n, as_attr_int(n, "axis", -1), x->rank, &axis) != ASSAY_OK)
        return cost;
    cost.flops = as_sat_mul(4, count) - count / (uint64_t)x->dim[axis];
    cost.special = count;
    return cost;
}

static void line_eval(const as_view *x, const as_view *y, int64_t length)
{
    double max = -INFINITY, sum = 0.0;
    for (int64_t i = 0; i < length; i++)
        max = fmax(max, as_view_at(x, &i));
    for (int64_t i = 0; i < length; i++)
        sum += exp(as_view_at(x, &i) - max);
    for (int64_t i = 0; i < length; i++)
        as_view_put(y, &i, exp(as_view_at(x, &i) - max) / sum);
}

/* The view with `axis` moved to the end: the axes before it count the lines. */
static as_view axis_last(const as_view *v, int axis)
{
    as_view moved = *v;
    int     rank = v->shape.rank;
    for (int i = axis; i < rank - 1; i++) {
        moved.shape.dim[i] = v->shape.dim[i + 1];
        moved.stride[i] = v->stride[i + 1];
    }
    moved.shape.dim[rank - 1] = v->shape.dim[axis];
    moved.stride[rank - 1] = v->stride[axis];
    return moved;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int axis;
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", -1), n->in[0].shape.rank, &axis));
    if (as_shape_count(&n->in[0].shape) == 0)
        return ASSAY_OK;
    as_view  x = axis_last(&in[0], axis), y = axis_last(&out[0], axis);
    as_shape lines = x.shape;
    int64_t  index[AS_MAX_RANK] = {0};
    lines.rank--;
    do {
        AS_GO_ON(env, n);
        as_view line_x = as_view_fix(&x, index, lines.rank), line_y = as_view_fix(&y, index, lines.rank);
        line_eval(&line_x, &line_y, x.shape.dim[lines.rank]);
    } while (as_index_next(&lines, index));
    return ASSAY_OK;
}

/* dx = y * (dy - sum of dy * y along the axis). */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    as_attr axis = AS_ATTR_I("axis", as_attr_int(n, "axis", -1));
    d_in[0] = b->node(b, "assay.SoftmaxGrad", (int[]){out[0], d_out[0]}, 2, &axis, 1, NULL, 1);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: the exponentials of 0, ln 2, ln 5 are 1, 2, 5; equal values have equal results; a large shift changes nothing. */
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 3, 3)},
     .given =
         (const double[]){0, 0.6931471805599453, 1.6094379124341003, 7, 7, 7, 1000, 1000.6931471805599453, 1001.6094379124341003},
     .want = (const double[]){0.125, 0.25, 0.625, 1.0 / 3, 1.0 / 3, 1.0 / 3, 0.125, 0.25, 0.625},
     .n_want = 9},
    /* By hand: along axis 0, per column. */
    {.name = "axis 0 by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 0)},
     .given = (const double[]){0, 1.0986122886681098, 0, 0},
     .want = (const double[]){0.5, 0.75, 0.5, 0.25},
     .n_want = 4},
    {.name = "one element", .n_in = 1, .in = {AS_IN(F32, 1)}},
    {.name = "1x10", .n_in = 1, .in = {AS_IN(F32, 1, 10)}, .lo = -4, .hi = 4},
    {.name = "3x7", .n_in = 1, .in = {AS_IN(F32, 3, 7)}, .lo = -4, .hi = 4},
    {.name = "9x8", .n_in = 1, .in = {AS_IN(F32, 9, 8)}},
    {.name = "15x17", .n_in = 1, .in = {AS_IN(F32, 15, 17)}, .lo = -2, .hi = 2},
    {.name = "16x33", .n_in = 1, .in = {AS_IN(F32, 16, 33)}},
    {.name = "columns of 31x16", .n_in = 1, .in = {AS_IN(F32, 31, 16)}, .n_attrs = 1, .attrs = {AS_ATTR_I("axis", 0)}},
    {.name = "middle axis", .n_in = 1, .in = {AS_IN(F64, 2, 5, 3)}, .n_attrs = 1, .attrs = {AS_ATTR_I("axis", -2)}},
    {.name = "no lines", .n_in = 1, .in = {AS_IN(F32, 0, 3)}},
    {.name = "empty lines", .n_in = 1, .in = {AS_IN(F32, 3, 0)}},
};

const as_op as_op_softmax = {
    .name = "Softmax",
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
