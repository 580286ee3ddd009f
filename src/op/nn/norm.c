/* norm.c - what the normalising operators share. */
#include "op/nn/norm.h"

#include <math.h>

/* --- Truth --- */

/* In two passes: the difference of E[x^2] and E[x]^2 would lose a small variance beside a large mean. */
as_moments as_moments_of(const as_view *x, int64_t first, int64_t count)
{
    double sum = 0.0, squares = 0.0;
    if (count == 0)
        return (as_moments){NAN, NAN};
    for (int64_t i = 0; i < count; i++)
        sum += as_view_get(x, first + i);
    double mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++) {
        double d = as_view_get(x, first + i) - mean;
        squares += d * d;
    }
    return (as_moments){mean, squares / (double)count};
}

void as_norm_eval(const as_norm *norm)
{
    as_view x = as_axes_last(norm->x, norm->axes), y = as_axes_last(norm->y, norm->axes), scale = {0}, bias = {0};
    if (norm->scale)
        scale = as_axes_last(norm->scale, norm->axes);
    if (norm->bias)
        bias = as_axes_last(norm->bias, norm->axes);
    int64_t count = as_shape_count(&x.shape), length = 1;
    for (int i = 0; i < x.shape.rank; i++)
        if (norm->axes & (1u << i))
            length *= norm->x->shape.dim[i];
    for (int64_t first = 0, line = 0; first < count; first += length, line++) {
        as_moments m = as_moments_of(&x, first, length);
        if (norm->square)
            m = (as_moments){0.0, m.variance + m.mean * m.mean};
        double inv = 1.0 / sqrt(m.variance + norm->epsilon);
        for (int64_t i = first; i < first + length; i++) {
            double v = (as_view_get(&x, i) - m.mean) * inv;
            v = norm->scale ? v * as_view_get(&scale, i) : v;
            as_view_set(&y, i, norm->bias ? v + as_view_get(&bias, i) : v);
        }
        if (norm->mean)
            as_view_set(norm->mean, line, m.mean);
        if (norm->inv)
            as_view_set(norm->inv, line, inv);
    }
}

as_view as_norm_channels(const as_view *v, const as_shape *x)
{
    as_view wide = {.data = v->data, .dtype = v->dtype, .shape = *x};
    if (x->rank > 1)
        wide.stride[1] = v->stride[0];
    return wide;
}

/* --- Rules --- */

double as_norm_epsilon(const as_node_ctx *n) { return as_attr_float(n, "epsilon", (double)1e-5f); }

assay_status as_norm_axes(assay_env *env, const as_node_ctx *n, unsigned *out)
{
    int axis, rank = n->in[0].shape.rank;
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", -1), rank, &axis));
    *out = ((1u << rank) - 1) & ~((1u << axis) - 1);
    return ASSAY_OK;
}

assay_status as_norm_vector(assay_env *env, const as_node_ctx *n, int i, const char *what, int64_t count)
{
    const as_shape *v = &n->in[i].shape;
    if (v->rank != 1 || v->dim[0] != count)
        return as_refuse(env, n, "%s is %s and must be [%lld], one value per channel", what, AS_SHOW(v), (long long)count);
    return ASSAY_OK;
}

assay_status as_norm_wide(assay_env *env, const as_node_ctx *n, int i, const char *what)
{
    as_shape wide;
    if (!as_shape_broadcast(&n->in[i].shape, &n->in[0].shape, &wide) || !as_shape_same(&wide, &n->in[0].shape))
        return as_refuse(env, n, "%s is %s and does not broadcast to X %s", what, AS_SHOW(&n->in[i].shape),
                         AS_SHOW(&n->in[0].shape));
    return ASSAY_OK;
}

as_cost as_norm_cost(const as_node_ctx *n, uint64_t lines, uint64_t flops_each)
{
    as_cost cost = as_cost_bytes(n);
    cost.flops =
        as_sat_add(as_sat_mul(flops_each, as_sat_count(&n->in[0].shape)), as_sat_mul(2, lines)); /* a root, a division per line */
    return cost;
}

/* --- Gradients --- */

static int mean_of(as_builder *b, int x, const int64_t *axes, size_t n_axes)
{
    return n_axes ? as_b2(b, "ReduceMean", x, as_b_ints(b, axes, n_axes)) : x;
}

/* With g = dy * scale and z the normalised x: dx = inv * (g - mean(g) - z * mean(g * z)); mean(g) is left out if no mean
 * was subtracted. */
void as_norm_grad(as_builder *b, int x, int scale, int dy, unsigned axes, double epsilon, bool square, int *dx, int *d_scale)
{
    int64_t list[AS_MAX_RANK];
    size_t  count = 0;
    for (int i = 0; i < AS_MAX_RANK; i++)
        if (axes & (1u << i))
            list[count++] = i;
    int eps = as_b_scalar(b, b->info(b, x)->dtype, epsilon);
    int centred = square ? x : as_b2(b, "Sub", x, mean_of(b, x, list, count));
    int variance = mean_of(b, as_b2(b, "Mul", centred, centred), list, count);
    int inv = as_b1(b, "Reciprocal", as_b1(b, "Sqrt", as_b2(b, "Add", variance, eps)));
    int z = as_b2(b, "Mul", centred, inv);
    int g = scale < 0 ? dy : as_b2(b, "Mul", dy, scale);
    int along = as_b2(b, "Mul", z, mean_of(b, as_b2(b, "Mul", g, z), list, count));
    int rest = square ? g : as_b2(b, "Sub", g, mean_of(b, g, list, count));
    *dx = as_b2(b, "Mul", inv, as_b2(b, "Sub", rest, along));
    *d_scale = as_b2(b, "Mul", dy, z);
}

bool as_norm_is_line(const as_node_ctx *n, int i)
{
    const as_shape *x = &n->in[0].shape, *s = &n->in[i].shape;
    unsigned        axes;
    if (as_norm_axes(NULL, n, &axes) != ASSAY_OK || s->rank > x->rank || axes >> (x->rank - s->rank) << (x->rank - s->rank) != axes)
        return false;
    for (int k = 0; k < s->rank; k++)
        if (!(axes >> (x->rank - s->rank + k) & 1u) || s->dim[k] != x->dim[x->rank - s->rank + k])
            return false;
    return s->rank > 0;
}

bool as_norm_line_grad(as_builder *b, const as_node_ctx *n, unsigned axes, const int *in, const int *stats, int dy, bool square,
                       int *d_in)
{
    bool has_b = as_in_has(n, 2);
    int  d[3] = {-1, -1, -1}, axis = 0;
    if (!as_norm_is_line(n, 1) || (has_b && !as_norm_is_line(n, 2)))
        return false;
    while (!(axes >> axis & 1u))
        axis++;
    as_attr attrs[] = {AS_ATTR_I("axis", axis), AS_ATTR_F("epsilon", as_norm_epsilon(n)), AS_ATTR_I("square", square)};
    b->node(b, "assay.LayerNormGrad", (int[]){in[0], dy, in[1], stats ? stats[1] : -1, stats ? stats[2] : -1}, 5, attrs,
            (int)AS_COUNT(attrs), d, has_b ? 3 : 2);
    for (int i = 0; i < (has_b ? 3 : 2); i++)
        d_in[i] = d[i];
    return true;
}

int as_norm_column(as_builder *b, int v, int rank)
{
    if (v < 0)
        return -1;
    as_shape shape = {.rank = rank > 1 ? rank - 1 : 1};
    for (int i = 0; i < shape.rank; i++)
        shape.dim[i] = 1;
    shape.dim[0] = b->info(b, v)->shape.dim[0];
    return as_b_reshape(b, v, &shape);
}

int as_norm_sum(as_builder *b, int x)
{
    if (x < 0)
        return -1;
    as_shape from = b->info(b, x)->shape, to = {.rank = 1, .dim = {from.rank > 1 ? from.dim[1] : 1}};
    int64_t  list[AS_MAX_RANK] = {0};
    size_t   count = 1;
    for (int i = 2; i < from.rank; i++)
        list[count++] = i;
    return as_b_reshape(b, as_b2(b, "ReduceSum", x, as_b_ints(b, list, count)), &to);
}

assay_status as_norm_one_dtype(as_builder *b, const as_node_ctx *n)
{
    for (int i = 1; i < n->n_in; i++)
        if (as_in_has(n, i) && n->in[i].dtype != n->in[0].dtype)
            return as_fail(b->env, ASSAY_UNSUPPORTED, "%s '%s': X is %s and input %d is %s: the gradient needs one dtype",
                           n->op->name, n->name ? n->name : "", as_dtype_name(n->in[0].dtype), i, as_dtype_name(n->in[i].dtype));
    return ASSAY_OK;
}
