/* op_softmaxgrad.c - assay.SoftmaxGrad(Y, dY): the gradient of Softmax by its result, Y (dY - sum of dY Y), with sums along an axis; with
 * the attribute log that of LogSoftmax by its result, dY - exp(Y) sum of dY. */
#include <math.h>

#include "op/nn/norm.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT}, {.name = "log", .kind = AS_ATTR_INT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 2, AS_SET_FLOAT));
    if (!as_shape_same(&n->in[0].shape, &n->in[1].shape))
        return as_refuse(env, n, "Y is %s and dY is %s: they must be the same", AS_SHOW(&n->in[0].shape), AS_SHOW(&n->in[1].shape));
    return as_rule_line(env, n, out);
}

/* Per element a product and a sum, a difference and a product; the logarithm's needs an exponential and one product less. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t count = as_sat_count(&n->in[0].shape);
    bool     log = as_attr_int(n, "log", 0) != 0;
    cost.flops = as_sat_mul(log ? 3 : 4, count);
    cost.special = log ? count : 0;
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int  axis;
    bool log = as_attr_int(n, "log", 0) != 0;
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", -1), n->in[0].shape.rank, &axis));
    as_view y = as_axes_last(&in[0], 1u << axis), dy = as_axes_last(&in[1], 1u << axis), dx = as_axes_last(&out[0], 1u << axis);
    int64_t count = as_shape_count(&in[0].shape), length = in[0].shape.dim[axis];
    for (int64_t first = 0; first < count; first += length) {
        double sum = 0.0;
        for (int64_t i = first; i < first + length; i++)
            sum += as_view_get(&dy, i) * (log ? 1.0 : as_view_get(&y, i));
        for (int64_t i = first; i < first + length; i++) {
            double v = as_view_get(&y, i), d = as_view_get(&dy, i);
            as_view_set(&dx, i, log ? d - exp(v) * sum : v * (d - sum));
        }
    }
    return ASSAY_OK;
}

#define LINES(name_, dtype_, ...)                                                                  \
    {                                                                                              \
        .name = name_, .n_in = 2, .in = { AS_IN(dtype_, __VA_ARGS__), AS_IN(dtype_, __VA_ARGS__) } \
    }
#define ATTRS(name_, axis_, log_, ...)                                                                               \
    {                                                                                                                \
        .name = name_, .n_in = 2, .in = {AS_IN(F32, __VA_ARGS__), AS_IN(F32, __VA_ARGS__)}, .n_attrs = 2, .attrs = { \
            AS_ATTR_I("axis", axis_),                                                                                \
            AS_ATTR_I("log", log_)                                                                                   \
        }                                                                                                            \
    }

static const as_case cases[] = {
    /* By hand: Y = [1/4, 3/4], dY = [4, 8]: the sum of dY Y is 7. */
    {.name = "by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 2), AS_IN(F64, 2)},
     .given = (const double[]){0.25, 0.75, 4, 8},
     .want = (const double[]){-0.75, 0.75},
     .n_want = 2},
    /* By hand: the exponentials of 0 and ln 2 are 1 and 2, the sum of dY is 3. */
    {.name = "logarithm by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 2), AS_IN(F64, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("log", 1)},
     .given = (const double[]){0, 0.6931471805599453, 1, 2},
     .want = (const double[]){-2, -4},
     .n_want = 2},
    LINES("one element", F32, 1),
    LINES("1x10", F32, 1, 10),
    LINES("9x8", F32, 9, 8),
    LINES("15x17", F32, 15, 17),
    LINES("7x64", F32, 7, 64),
    LINES("3x130", F32, 3, 130),
    ATTRS("columns of 31x16", 0, 0, 31, 16),
    ATTRS("columns of 5x37", 0, 0, 5, 37),
    ATTRS("the middle", -2, 0, 2, 5, 19),
    ATTRS("logarithm of 15x17", -1, 1, 15, 17),
    ATTRS("logarithm of 4x33", 1, 1, 4, 33),
    ATTRS("logarithm of columns", 0, 1, 5, 37),
    LINES("f16", F16, 4, 5),
    LINES("no lines", F32, 0, 3),
    LINES("empty lines", F32, 3, 0),
};

const as_op as_op_softmaxgrad = {
    .name = "assay.SoftmaxGrad",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
