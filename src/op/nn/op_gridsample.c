/* op_gridsample.c - pixels of X at places that a grid names in [-1, 1], with the nearest one, linear or cubic interpolation, in any number
 * of axes. */
#include <math.h>
#include <string.h>

#include "op/composed.h"

static const as_attr_def attrs[] = {{.name = "align_corners", .kind = AS_ATTR_INT},
                                    {.name = "mode", .kind = AS_ATTR_TEXT},
                                    {.name = "padding_mode", .kind = AS_ATTR_TEXT},
                                    {0}};

enum { MAX_AXES = AS_MAX_RANK - 2 };
typedef enum mode { NEAREST, LINEAR, CUBIC } mode;
typedef enum padding { ZEROS, BORDER, REFLECTION } padding;
typedef struct sampler {
    mode    how;
    padding pad;
    bool    corners;
    int     n_axes;
    int64_t size[MAX_AXES];
} sampler;

static assay_status settings(assay_env *env, const as_node_ctx *n, sampler *out)
{
    static const char *const modes[] = {"nearest", "linear", "cubic", "nearest", "bilinear", "bicubic"}, *const pads[] = {
                                                                                                             "zeros", "border",
                                                                                                             "reflection"};
    const char     *how = as_attr_text(n, "mode", "linear"), *pad = as_attr_text(n, "padding_mode", "zeros");
    const as_shape *x = &n->in[0].shape, *grid = &n->in[1].shape;
    size_t          m = 0, p = 0;
    while (m < AS_COUNT(modes) && strcmp(modes[m], how))
        m++;
    while (p < AS_COUNT(pads) && strcmp(pads[p], pad))
        p++;
    if (m == AS_COUNT(modes) || p == AS_COUNT(pads))
        return as_refuse(
            env, n, "mode is '%.40s' and padding_mode '%.40s': linear, nearest or cubic, and zeros, border or reflection are known",
            how, pad);
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    AS_TRY(as_rule_dtype(env, n, 1, 1, AS_SET_FLOAT));
    if (x->rank < 3 || grid->rank != x->rank || grid->dim[0] != x->dim[0] || grid->dim[grid->rank - 1] != x->rank - 2)
        return as_refuse(env, n, "X is %s and grid %s: they must be [N, C, spatial...] and [N, spatial..., axes]", AS_SHOW(x),
                         AS_SHOW(grid));
    *out = (sampler){
        .how = (mode)(m % 3), .pad = (padding)p, .corners = as_attr_int(n, "align_corners", 0) != 0, .n_axes = x->rank - 2};
    for (int i = 0; i < out->n_axes; i++)
        if ((out->size[i] = x->dim[2 + i]) < 1)
            return as_refuse(env, n, "X is %s and must have pixels", AS_SHOW(x));
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    sampler  s;
    as_shape y = n->in[1].shape;
    AS_TRY(settings(env, n, &s));
    y.dim[0] = n->in[0].shape.dim[0];
    for (int i = y.rank - 1; i > 1; i--)
        y.dim[i] = n->in[1].shape.dim[i - 1];
    y.dim[1] = n->in[0].shape.dim[1];
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    sampler s;
    if (settings(NULL, n, &s) == ASSAY_OK) {
        uint64_t taps = 1;
        for (int i = 0; i < s.n_axes; i++)
            taps *= s.how == NEAREST ? 1 : s.how == LINEAR ? 2 : 4;
        cost.flops = as_sat_mul(as_sat_count(&n->out[0].shape), 2 * taps);
    }
    return cost;
}

static double reflect(double x, double low, double high)
{
    double range = high - low;
    if (range <= 0.0)
        return low;
    if (x < low || x > high) {
        double from = x < low ? low - x : x - high, turns = floor(from / range), rest = from - turns * range;
        bool   is_even = fmod(turns, 2.0) == 0.0;
        return (x < low) == is_even ? low + rest : high - rest;
    }
    return x;
}

/* The pixel index for a whole place along an axis; -1 for one that counts as 0. */
static int64_t pixel(const sampler *s, int axis, double at)
{
    int64_t size = s->size[axis];
    if (s->pad == REFLECTION)
        at = trunc(reflect(at, s->corners ? 0.0 : -0.5, s->corners ? (double)size - 1.0 : (double)size - 0.5));
    else if (s->pad == ZEROS && !(at >= 0.0 && at < (double)size))
        return -1;
    return at >= (double)size ? size - 1 : at > 0.0 ? (int64_t)at : 0; /* a NaN is the first pixel */
}

/* Keys's cubic with a = -0.75. */
static double cubic(double x)
{
    const double a = -0.75;
    x = fabs(x);
    return x <= 1.0 ? ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0 : x < 2.0 ? ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a : 0.0;
}

/* Weights and pixels of one axis: at most four. */
typedef struct taps {
    int     n;
    int64_t at[4];
    double  weight[4];
} taps;

static taps taps_of(const sampler *s, int axis, double normalized)
{
    double size = (double)s->size[axis], low = s->corners ? 0.0 : -0.5, high = s->corners ? size - 1.0 : size - 0.5;
    double x = s->corners ? (normalized + 1.0) / 2.0 * (size - 1.0) : ((normalized + 1.0) * size - 1.0) / 2.0;
    taps   t = {.n = s->how == NEAREST ? 1 : s->how == LINEAR ? 2 : 4};
    x = (double)(float)x; /* ONNX's definition rounds places to f32, which decides ties */
    if (s->how == NEAREST)
        x = rint(x);
    if (x < low || x > high)
        x = s->pad == BORDER ? (x < 0.0 ? 0.0 : x > size - 1.0 ? size - 1.0 : x) : s->pad == REFLECTION ? reflect(x, low, high) : x;
    double first = floor(x) - (s->how == CUBIC), part = x - floor(x);
    if (s->how == NEAREST)
        first = trunc(x);
    for (int i = 0; i < t.n; i++) {
        t.at[i] = pixel(s, axis, first + i);
        t.weight[i] = t.n == 1 ? 1.0 : t.n == 2 ? (i ? part : 1.0 - part) : cubic(part + 1.0 - i);
    }
    return t;
}

static double sample(const as_view *plane, const taps *t, int n_axes, int axis, int64_t *index)
{
    double sum = 0.0;
    if (axis == n_axes)
        return as_view_at(plane, index);
    for (int i = 0; i < t[axis].n; i++) {
        if (t[axis].at[i] < 0)
            continue;
        index[axis] = t[axis].at[i];
        sum += t[axis].weight[i] * sample(plane, t, n_axes, axis + 1, index);
    }
    return sum;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    sampler s;
    AS_TRY(settings(env, n, &s));
    int64_t batch = out[0].shape.dim[0], channels = out[0].shape.dim[1], count = as_shape_count(&out[0].shape);
    int64_t pixels = count ? count / (batch * channels) : 0;
    for (int64_t image = 0; image < batch && count; image++)
        for (int64_t p = 0; p < pixels; p++) {
            taps t[MAX_AXES];
            AS_GO_ON(env, n);
            for (int i = 0; i < s.n_axes; i++) /* the grid names x first: the last axis */
                t[i] = taps_of(&s, i, as_view_get(&in[1], (image * pixels + p) * s.n_axes + s.n_axes - 1 - i));
            for (int64_t c = 0; c < channels; c++) {
                int64_t index[AS_MAX_RANK];
                as_view plane = as_view_fix(&in[0], (int64_t[]){image, c}, 2);
                as_view_set(&out[0], (image * channels + c) * pixels + p, sample(&plane, t, s.n_axes, 0, index));
            }
        }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "linear, zeros, 0",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "linear"), AS_ATTR_S("padding_mode", "zeros"), AS_ATTR_I("align_corners", 0)},
     AS_GIVEN(-0.109999999, 0.600000024, 0.0900000036, -0.159999996, -0.959999979, 0.370000005, -0.0199999996, -0.560000002,
              0.100000001, 0.0599999987, -0.0299999993, -0.620000005, 0.0700000003, 1.25999999, 0.319999993, 0.340000004,
              1.07000005),
     AS_WANT(-0.777552128, -0.199388996, 0.0264440365, -0.0882429406)},
    /* By the ONNX reference evaluator. */
    {.name = "linear, zeros, 1",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "linear"), AS_ATTR_S("padding_mode", "zeros"), AS_ATTR_I("align_corners", 1)},
     AS_GIVEN(-0.109999999, 0.600000024, 0.0900000036, -0.159999996, -0.959999979, 0.370000005, -0.0199999996, -0.560000002,
              0.100000001, 0.0599999987, -0.0299999993, -0.620000005, 0.0700000003, 1.25999999, 0.319999993, 0.340000004,
              1.07000005),
     AS_WANT(-0.836712062, -0.447283953, 0.209864035, -0.312107891)},
    /* By the ONNX reference evaluator. */
    {.name = "linear, border, 1",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "linear"), AS_ATTR_S("padding_mode", "border"), AS_ATTR_I("align_corners", 1)},
     AS_GIVEN(-0.109999999, 0.600000024, 0.0900000036, -0.159999996, -0.959999979, 0.370000005, -0.0199999996, -0.560000002,
              0.100000001, 0.0599999987, -0.0299999993, -0.620000005, 0.0700000003, 1.25999999, 0.319999993, 0.340000004,
              1.07000005),
     AS_WANT(-0.836712062, -0.447283953, 0.283600032, -0.335599959)},
    /* By the ONNX reference evaluator. */
    {.name = "linear, reflection, 0",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "linear"), AS_ATTR_S("padding_mode", "reflection"), AS_ATTR_I("align_corners", 0)},
     AS_GIVEN(-0.109999999, 0.600000024, 0.0900000036, -0.159999996, -0.959999979, 0.370000005, -0.0199999996, -0.560000002,
              0.100000001, 0.0599999987, -0.0299999993, -0.620000005, 0.0700000003, 1.25999999, 0.319999993, 0.340000004,
              1.07000005),
     AS_WANT(-0.777552128, -0.199388996, 0.240400031, -0.223399997)},
    /* By the ONNX reference evaluator. */
    {.name = "linear, reflection, 1",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "linear"), AS_ATTR_S("padding_mode", "reflection"), AS_ATTR_I("align_corners", 1)},
     AS_GIVEN(-0.109999999, 0.600000024, 0.0900000036, -0.159999996, -0.959999979, 0.370000005, -0.0199999996, -0.560000002,
              0.100000001, 0.0599999987, -0.0299999993, -0.620000005, 0.0700000003, 1.25999999, 0.319999993, 0.340000004,
              1.07000005),
     AS_WANT(-0.836712062, -0.447283953, -0.00645596534, -0.347653985)},
    /* By the ONNX reference evaluator. */
    {.name = "nearest, zeros, 0",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "nearest"), AS_ATTR_S("padding_mode", "zeros"), AS_ATTR_I("align_corners", 0)},
     AS_GIVEN(-0.109999999, 0.600000024, 0.0900000036, -0.159999996, -0.959999979, 0.370000005, -0.0199999996, -0.560000002,
              0.100000001, 0.0599999987, -0.0299999993, -0.620000005, 0.0700000003, 1.25999999, 0.319999993, 0.340000004,
              1.07000005),
     AS_WANT(-0.959999979, -0.159999996, 0, 0)},
    /* By the ONNX reference evaluator. */
    {.name = "nearest, zeros, 1",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "nearest"), AS_ATTR_S("padding_mode", "zeros"), AS_ATTR_I("align_corners", 1)},
     AS_GIVEN(-0.109999999, 0.600000024, 0.0900000036, -0.159999996, -0.959999979, 0.370000005, -0.0199999996, -0.560000002,
              0.100000001, 0.0599999987, -0.0299999993, -0.620000005, 0.0700000003, 1.25999999, 0.319999993, 0.340000004,
              1.07000005),
     AS_WANT(-0.959999979, -0.159999996, 0.370000005, -0.560000002)},
    /* By the ONNX reference evaluator. */
    {.name = "nearest, border, 1",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "nearest"), AS_ATTR_S("padding_mode", "border"), AS_ATTR_I("align_corners", 1)},
     AS_GIVEN(-0.109999999, 0.600000024, 0.0900000036, -0.159999996, -0.959999979, 0.370000005, -0.0199999996, -0.560000002,
              0.100000001, 0.0599999987, -0.0299999993, -0.620000005, 0.0700000003, 1.25999999, 0.319999993, 0.340000004,
              1.07000005),
     AS_WANT(-0.959999979, -0.159999996, 0.370000005, -0.560000002)},
    /* By the ONNX reference evaluator. */
    {.name = "nearest, reflection, 0",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "nearest"), AS_ATTR_S("padding_mode", "reflection"), AS_ATTR_I("align_corners", 0)},
     AS_GIVEN(-0.109999999, 0.600000024, 0.0900000036, -0.159999996, -0.959999979, 0.370000005, -0.0199999996, -0.560000002,
              0.100000001, 0.0599999987, -0.0299999993, -0.620000005, 0.0700000003, 1.25999999, 0.319999993, 0.340000004,
              1.07000005),
     AS_WANT(-0.959999979, -0.159999996, 0.370000005, 0.100000001)},
    /* By the ONNX reference evaluator. */
    {.name = "nearest, reflection, 1",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "nearest"), AS_ATTR_S("padding_mode", "reflection"), AS_ATTR_I("align_corners", 1)},
     AS_GIVEN(-0.109999999, 0.600000024, 0.0900000036, -0.159999996, -0.959999979, 0.370000005, -0.0199999996, -0.560000002,
              0.100000001, 0.0599999987, -0.0299999993, -0.620000005, 0.0700000003, 1.25999999, 0.319999993, 0.340000004,
              1.07000005),
     AS_WANT(-0.959999979, -0.159999996, 0.370000005, -0.560000002)},
    /* By the ONNX reference evaluator. */
    {.name = "cubic, zeros, 0",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "cubic"), AS_ATTR_S("padding_mode", "zeros"), AS_ATTR_I("align_corners", 0)},
     AS_GIVEN(-0.109999999, 0.600000024, 0.0900000036, -0.159999996, -0.959999979, 0.370000005, -0.0199999996, -0.560000002,
              0.100000001, 0.0599999987, -0.0299999993, -0.620000005, 0.0700000003, 1.25999999, 0.319999993, 0.340000004,
              1.07000005),
     AS_WANT(-0.862509727, -0.211929426, 0.0352945812, -0.0965045542)},
    /* By the ONNX reference evaluator. */
    {.name = "cubic, zeros, 1",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "cubic"), AS_ATTR_S("padding_mode", "zeros"), AS_ATTR_I("align_corners", 1)},
     AS_GIVEN(-0.109999999, 0.600000024, 0.0900000036, -0.159999996, -0.959999979, 0.370000005, -0.0199999996, -0.560000002,
              0.100000001, 0.0599999987, -0.0299999993, -0.620000005, 0.0700000003, 1.25999999, 0.319999993, 0.340000004,
              1.07000005),
     AS_WANT(-0.899697125, -0.577094913, 0.394155622, -0.37023586)},
    /* By the ONNX reference evaluator. */
    {.name = "cubic, border, 1",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "cubic"), AS_ATTR_S("padding_mode", "border"), AS_ATTR_I("align_corners", 1)},
     AS_GIVEN(-0.109999999, 0.600000024, 0.0900000036, -0.159999996, -0.959999979, 0.370000005, -0.0199999996, -0.560000002,
              0.100000001, 0.0599999987, -0.0299999993, -0.620000005, 0.0700000003, 1.25999999, 0.319999993, 0.340000004,
              1.07000005),
     AS_WANT(-0.901029468, -0.559273839, 0.319961011, -0.40743041)},
    /* By the ONNX reference evaluator. */
    {.name = "cubic, reflection, 0",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "cubic"), AS_ATTR_S("padding_mode", "reflection"), AS_ATTR_I("align_corners", 0)},
     AS_GIVEN(-0.109999999, 0.600000024, 0.0900000036, -0.159999996, -0.959999979, 0.370000005, -0.0199999996, -0.560000002,
              0.100000001, 0.0599999987, -0.0299999993, -0.620000005, 0.0700000003, 1.25999999, 0.319999993, 0.340000004,
              1.07000005),
     AS_WANT(-0.86542052, -0.204675347, 0.355646253, -0.25758931)},
    /* By the ONNX reference evaluator. */
    {.name = "cubic, reflection, 1",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "cubic"), AS_ATTR_S("padding_mode", "reflection"), AS_ATTR_I("align_corners", 1)},
     AS_GIVEN(-0.109999999, 0.600000024, 0.0900000036, -0.159999996, -0.959999979, 0.370000005, -0.0199999996, -0.560000002,
              0.100000001, 0.0599999987, -0.0299999993, -0.620000005, 0.0700000003, 1.25999999, 0.319999993, 0.340000004,
              1.07000005),
     AS_WANT(-0.896726668, -0.464854598, 0.104099773, -0.375035077)},
    /* By the ONNX reference evaluator. */
    {.name = "volume",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 2, 2, 2), AS_IN(F32, 1, 1, 2, 2, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "linear")},
     AS_GIVEN(0.930000007, 0.170000002, -0.670000017, -0.219999999, 0.889999986, -0.310000002, 0.409999996, -0.0700000003,
              -0.270000011, 0.0700000003, 0.769999981, 0.330000013, 0.870000005, 0.330000013, 1.20000005, 0.0399999991,
              -0.409999996, -0.959999979, 0.159999996, -0.680000007),
     AS_WANT(0.317398161, -0.0256895106, -0.0159545951, -0.055792775)},
};

const as_op as_op_gridsample = {
    .name = "GridSample",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .known_in = 0,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
