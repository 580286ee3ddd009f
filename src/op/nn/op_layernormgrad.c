/* op_layernormgrad.c - assay.LayerNormGrad(X, dY, Scale, Mean, InvStdDev): the gradients of a layer normalisation by X, Scale and B; with
 * the attribute square those of a normalisation by the root of the mean square, which subtracts no mean.
 *
 * A line is all axes from `axis` on, and Scale has the shape of a line.  Mean and InvStdDev hold one value per line, as the forward node
 * gives them; without them they are computed again.  With z the normalised X and g = dY Scale, means along a line:
 *   dX = inv (g - mean(g) - z mean(g z)),  dScale = sum over lines of dY z,  dB = sum over lines of dY. */
#include <math.h>
#include <stdlib.h>

#include "op/nn/norm.h"

static const as_attr_def attrs[] = {
    {.name = "axis", .kind = AS_ATTR_INT},
    {.name = "epsilon", .kind = AS_ATTR_FLOAT},
    {.name = "square", .kind = AS_ATTR_INT},
    {0},
};

static assay_status line_of(assay_env *env, const as_node_ctx *n, as_shape *out)
{
    const as_shape *x = &n->in[0].shape;
    int             axis;
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", -1), x->rank, &axis));
    *out = (as_shape){.rank = x->rank - axis};
    for (int i = axis; i < x->rank; i++)
        out->dim[i - axis] = x->dim[i];
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape;
    as_shape        line;
    AS_TRY(as_rule_dtype(env, n, 0, 5, AS_SET_FLOAT));
    AS_TRY(line_of(env, n, &line));
    if (!as_shape_same(x, &n->in[1].shape))
        return as_refuse(env, n, "X is %s and dY is %s: they must be the same", AS_SHOW(x), AS_SHOW(&n->in[1].shape));
    if (!as_shape_same(&line, &n->in[2].shape))
        return as_refuse(env, n, "Scale is %s and must be a line, %s", AS_SHOW(&n->in[2].shape), AS_SHOW(&line));
    int64_t lines = as_shape_count(&line) ? as_shape_count(x) / as_shape_count(&line) : 0;
    for (int i = 3; i < 5; i++)
        if (as_in_has(n, i) && as_shape_count(&line) && as_shape_count(&n->in[i].shape) != lines)
            return as_refuse(env, n, "input %d is %s and must have one value for each of %lld lines", i, AS_SHOW(&n->in[i].shape),
                             (long long)lines);
    out[0] = as_info(n->in[0].dtype, x);
    out[1] = out[2] = as_info(n->in[0].dtype, &line);
    return ASSAY_OK;
}

/* Per element: z, g, two sums and a product; then three for dX, and three for dScale and dB. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    cost.flops = as_sat_mul(12, as_sat_count(&n->in[0].shape));
    return cost;
}

typedef struct stats {
    double mean, inv;
} stats;

static stats stats_of(const as_node_ctx *n, const as_view *in, int64_t row, int64_t length)
{
    bool       square = as_attr_int(n, "square", 0) != 0;
    as_moments m = {0};
    if (!as_in_has(n, 4) || (!square && !as_in_has(n, 3)))
        m = as_moments_of(&in[0], row * length, length);
    if (square)
        m = (as_moments){0.0, m.variance + m.mean * m.mean};
    return (stats){!square && as_in_has(n, 3) ? as_view_get(&in[3], row) : m.mean,
                   as_in_has(n, 4) ? as_view_get(&in[4], row) : 1.0 / sqrt(m.variance + as_norm_epsilon(n))};
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_shape line;
    AS_TRY(line_of(env, n, &line));
    int64_t length = as_shape_count(&line), lines = length ? as_shape_count(&in[0].shape) / length : 0;
    bool    square = as_attr_int(n, "square", 0) != 0;
    double *sums = calloc((size_t)(2 * length) + 1, sizeof *sums); /* dScale, then dB */
    if (!sums)
        return as_fail(env, ASSAY_NO_MEMORY, "%s: not enough memory for sums over %lld elements", n->op->name, (long long)length);
    for (int64_t row = 0; row < lines; row++) {
        stats  s = stats_of(n, in, row, length);
        double sum = 0.0, along = 0.0;
        for (int64_t j = 0, i = row * length; j < length; j++, i++) {
            double d = as_view_get(&in[1], i), z = (as_view_get(&in[0], i) - s.mean) * s.inv, g = d * as_view_get(&in[2], j);
            sum += g;
            along += g * z;
            sums[j] += d * z;
            sums[length + j] += d;
        }
        sum = square ? 0.0 : sum / (double)length;
        along /= (double)length;
        for (int64_t j = 0, i = row * length; j < length; j++, i++) {
            double z = (as_view_get(&in[0], i) - s.mean) * s.inv;
            as_view_set(&out[0], i, s.inv * (as_view_get(&in[1], i) * as_view_get(&in[2], j) - sum - z * along));
        }
    }
    for (int k = 1; k < n->n_out; k++)
        for (int64_t j = 0; j < length; j++)
            as_view_set(&out[k], j, sums[(k - 1) * length + j]);
    free(sums);
    return ASSAY_OK;
}

#define LINES(name_, dtype_, rows_, line_)                                                                                 \
    {                                                                                                                      \
        .name = name_, .n_in = 3, .in = { AS_IN(dtype_, rows_, line_), AS_IN(dtype_, rows_, line_), AS_IN(dtype_, line_) } \
    }
#define GIVEN(name_, dtype_, rows_, line_)                                                                              \
    {                                                                                                                   \
        .name = name_, .n_in = 5,                                                                                       \
        .in = {AS_IN(dtype_, rows_, line_), AS_IN(dtype_, rows_, line_), AS_IN(dtype_, line_), AS_IN(dtype_, rows_, 1), \
               AS_IN(dtype_, rows_, 1)},                                                                                \
        .lo = 0.5, .hi = 1.5                                                                                            \
    }

static const as_case cases[] = {
    /* By hand: x = [0, 6] gives z = [-1, 1] and inv = 1/3; g = [1, 4] has mean 5/2, and 3/2 along z. */
    {.name = "by hand",
     .n_in = 3,
     .in = {AS_IN(F64, 1, 2), AS_IN(F64, 1, 2), AS_IN(F64, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("epsilon", 0)},
     .given = (const double[]){0, 6, 1, 2, 1, 2},
     .want = (const double[]){0, 0},
     .n_want = 2},
    /* By hand: three values 0, 3, 6 have mean 3 and variance 6; with inv 1 given, z = x - 3; g = [3, 0, 0]: mean 1, along z -3. */
    {.name = "given statistics by hand",
     .n_in = 5,
     .in = {AS_IN(F64, 1, 3), AS_IN(F64, 1, 3), AS_IN(F64, 3), AS_IN(F64, 1, 1), AS_IN(F64, 1, 1)},
     .given = (const double[]){0, 3, 6, 3, 0, 0, 1, 1, 1, 3, 1},
     .want = (const double[]){-7, -1, 8},
     .n_want = 3},
    LINES("7x9", F32, 7, 9),
    LINES("1x1", F32, 1, 1),
    LINES("5x16", F32, 5, 16),
    LINES("33x31", F32, 33, 31),
    LINES("70x33", F32, 70, 33),
    LINES("3x129", F32, 3, 129),
    GIVEN("given 7x9", F32, 7, 9),
    GIVEN("given 200x40", F32, 200, 40),
    {.name = "3-D from axis 1",
     .n_in = 3,
     .in = {AS_IN(F32, 3, 4, 5), AS_IN(F32, 3, 4, 5), AS_IN(F32, 4, 5)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 1)}},
    {.name = "mean square",
     .n_in = 3,
     .in = {AS_IN(F32, 6, 37), AS_IN(F32, 6, 37), AS_IN(F32, 37)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("square", 1)}},
    {.name = "f16", .n_in = 3, .in = {AS_IN(F16, 3, 8), AS_IN(F16, 3, 8), AS_IN(F16, 8)}},
    LINES("no lines", F32, 0, 8),
    LINES("empty lines", F32, 3, 0),
};

const as_op as_op_layernormgrad = {
    .name = "assay.LayerNormGrad",
    .min_in = 3,
    .max_in = 5,
    .min_out = 1,
    .max_out = 3,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
