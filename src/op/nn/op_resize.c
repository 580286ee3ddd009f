/* op_resize.c - resampling along any axes: nearest, linear or cubic, to given scales or sizes.
 *
 * Resampling is separable: along one axis each output is a weighted sum of a few inputs, its taps, and across axes the
 * weights multiply.  eval makes the taps of every axis first and then sums over all combinations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/nn/resize.h"
#include "op/rules.h"

static const as_attr_def attrs[] = {
    {.name = "antialias", .kind = AS_ATTR_INT},
    {.name = "axes", .kind = AS_ATTR_INTS},
    {.name = "coordinate_transformation_mode", .kind = AS_ATTR_TEXT},
    {.name = "cubic_coeff_a", .kind = AS_ATTR_FLOAT},
    {.name = "exclude_outside", .kind = AS_ATTR_INT},
    {.name = "extrapolation_value", .kind = AS_ATTR_FLOAT},
    {.name = "keep_aspect_ratio_policy", .kind = AS_ATTR_TEXT},
    {.name = "mode", .kind = AS_ATTR_TEXT},
    {.name = "nearest_mode", .kind = AS_ATTR_TEXT},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_resize r;
    if (n->in[AS_RESIZE_X].dtype == AS_BOOL)
        return as_refuse(env, n, "input 0 is bool, and there is nothing between true and false");
    AS_TRY(as_resize_read(env, n, &r));
    out[0] = as_info(n->in[AS_RESIZE_X].dtype, &r.y);
    return ASSAY_OK;
}

/* A multiply-add for every combination of taps; copying the nearest counts no flops. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost   cost = as_cost_bytes(n);
    as_resize r;
    if (as_resize_read(NULL, n, &r) != ASSAY_OK || r.mode == AS_RESIZE_NEAREST || as_shape_count(&r.y) == 0)
        return cost;
    cost.flops = as_sat_mul(2, as_sat_count(&r.y));
    for (int i = 0; i < r.n_axes; i++)
        if (r.scale[r.axes[i]] != 1.0)
            cost.flops = as_sat_mul(cost.flops, (uint64_t)as_resize_taps(&r, r.axes[i]));
    return cost;
}

/* --- Taps --- */

/* All outputs of one axis: n taps each, as (index, weight); -1 as the first index means "outside". */
typedef struct taps {
    int64_t  n;
    int64_t *index;
    double  *weight;
} taps;

static assay_status taps_take(assay_env *env, const as_node_ctx *n, const as_resize *r, int axis, const as_view *roi, taps *out)
{
    int64_t in = n->in[AS_RESIZE_X].shape.dim[axis], size = r->y.dim[axis];
    double  region[2] = {0.0, 1.0};
    for (int i = 0; i < r->n_axes; i++)
        for (int k = 0; r->crops && r->axes[i] == axis && k < 2; k++)
            region[k] = as_view_get(roi, i + k * r->n_axes);
    taps t = {.n = as_resize_taps(r, axis)};
    t.index = calloc((size_t)size, (size_t)t.n * sizeof *t.index);
    t.weight = calloc((size_t)size, (size_t)t.n * sizeof *t.weight);
    *out = t;
    if (!t.index || !t.weight)
        return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for %lld times %lld taps of axis %d", n->op->name,
                       n->name ? n->name : "", (long long)size, (long long)t.n, axis);
    for (int64_t o = 0; o < size; o++)
        as_resize_make(r, axis, in, o, region, t.index + o * t.n, t.weight + o * t.n);
    return ASSAY_OK;
}

/* --- Elements --- */

/* The sum over all taps of the axes from `axis` on; `at` holds the input's index on the axes before. */
static double blend(const as_view *x, const taps *t, const int64_t *o, int axis, int64_t *at)
{
    if (axis == x->shape.rank)
        return as_view_at(x, at);
    double sum = 0.0;
    for (int64_t i = 0, k = o[axis] * t[axis].n; i < t[axis].n; i++, k++)
        if (t[axis].weight[k] != 0.0) { /* an infinity under a weight of 0 must not count */
            at[axis] = t[axis].index[k];
            sum += t[axis].weight[k] * blend(x, t, o, axis + 1, at);
        }
    return sum;
}

static void element(const as_resize *r, const as_view *x, const taps *t, const int64_t *o, const as_view *y, int64_t i)
{
    int64_t at[AS_MAX_RANK];
    bool    whole = !as_dtype_is_float(y->dtype);
    for (int axis = 0; axis < x->shape.rank; axis++) {
        at[axis] = t[axis].index[o[axis] * t[axis].n];
        if (at[axis] < 0) {
            as_view_set(y, i, r->extrapolation);
            return;
        }
    }
    if (r->mode == AS_RESIZE_NEAREST && whole) { /* exact, even beyond 2^53 */
        as_view one = as_view_fix(x, at, x->shape.rank);
        as_view_set_i64(y, i, as_view_get_i64(&one, 0));
        return;
    }
    double value = blend(x, t, o, 0, at);
    as_view_set(y, i, whole ? rint(value) : value); /* ties to even */
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_resize r;
    AS_TRY(as_resize_read(env, n, &r));
    int64_t      index[AS_MAX_RANK] = {0}, count = as_shape_count(&r.y);
    taps         t[AS_MAX_RANK] = {0};
    assay_status status = ASSAY_OK;
    for (int axis = 0; status == ASSAY_OK && count && axis < r.y.rank; axis++)
        status = taps_take(env, n, &r, axis, &in[AS_RESIZE_ROI], &t[axis]);
    for (int64_t i = 0; status == ASSAY_OK && i < count; i++) {
        if (env && as_cancelled(env)) {
            status = as_op_stopped(env, n);
            break;
        }
        element(&r, &in[AS_RESIZE_X], t, index, &out[0], i);
        as_index_next(&r.y, index);
    }
    for (int axis = 0; axis < AS_MAX_RANK; axis++) {
        free(t[axis].index);
        free(t[axis].weight);
    }
    return status;
}

#define NONE             \
    {                    \
        .dtype = AS_NONE \
    }
#define SCALES_ARE(...)                                                                                           \
    {                                                                                                             \
        .dtype = AS_F32, .shape = {.rank = 1, .dim = {sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)}}, \
        .ints = (const int64_t[])                                                                                 \
        {                                                                                                         \
            __VA_ARGS__                                                                                           \
        }                                                                                                         \
    }

static const as_case cases[] = {
    /* Values from the reference implementation in the onnx package 1.23. */
    {.name = "nearest, half_pixel as ONNX's",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 1, 2, 3), NONE, NONE, AS_IN_INTS(1, 1, 4, 5)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "nearest")},
     .given = (const double[]){1.5, 2.5, -4, 2.5, -0.25, 0.25},
     .want =
         (const double[]){1.5, 1.5, 2.5, -4, -4, 1.5, 1.5, 2.5, -4, -4, 2.5, 2.5, -0.25, 0.25, 0.25, 2.5, 2.5, -0.25, 0.25, 0.25},
     .n_want = 20},
    {.name = "nearest ceil, asymmetric as ONNX's",
     .n_in = 4,
     .in = {AS_IN(F32, 2, 3), NONE, NONE, AS_IN_INTS(5, 7)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "nearest"), AS_ATTR_S("nearest_mode", "ceil"),
               AS_ATTR_S("coordinate_transformation_mode", "asymmetric")},
     .given = (const double[]){1, -1.75, 4, -3.75, -1.75, -1},
     .want = (const double[]){1,  -1.75, -1.75, 4,     4,     4,     4,     -3.75, -1.75, -1.75, -1,    -1,
                              -1, -1,    -3.75, -1.75, -1.75, -1,    -1,    -1,    -1,    -3.75, -1.75, -1.75,
                              -1, -1,    -1,    -1,    -3.75, -1.75, -1.75, -1,    -1,    -1,    -1},
     .n_want = 35},
    {.name = "linear, half_pixel as ONNX's",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 1, 2, 3), NONE, NONE, AS_IN_INTS(1, 1, 4, 4)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "linear")},
     .given = (const double[]){0.5, -0.75, -3, -3.75, -4, -3.75},
     .want = (const double[]){0.5, -0.28125, -1.59375, -3, -0.5625, -1.1875, -2.171875, -3.1875, -2.6875, -3, -3.328125, -3.5625,
                              -3.75, -3.90625, -3.90625, -3.75},
     .n_want = 16},
    {.name = "linear, align_corners as ONNX's",
     .n_in = 4,
     .in = {AS_IN(F32, 3, 2), NONE, NONE, AS_IN_INTS(4, 5)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("mode", "linear"), AS_ATTR_S("coordinate_transformation_mode", "align_corners")},
     .given = (const double[]){-3, 4, -2.5, 1.25, 2, -2.25},
     .want =
         (const double[]){-3, -1.25,       0.5,         2.25,    4,           -2.6666667, -1.4583334, -0.25,  0.95833331, 2.1666667,
                          -1, -0.72916669, -0.45833334, -0.1875, 0.083333336, 2,          0.9375,     -0.125, -1.1875,    -2.25},
     .n_want = 20},
    {.name = "linear, pytorch_half_pixel as ONNX's",
     .n_in = 4,
     .in = {AS_IN(F32, 3, 4), NONE, NONE, AS_IN_INTS(1, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("mode", "linear"), AS_ATTR_S("coordinate_transformation_mode", "pytorch_half_pixel")},
     .given = (const double[]){-1.75, -0.5, -2, 4, -2.75, 3.25, 2.5, 2.75, -3.25, -1, 1, 0},
     .want = (const double[]){-1.5416666, -1.25, 3},
     .n_want = 3},
    {.name = "linear, half_pixel_symmetric as ONNX's",
     .n_in = 4,
     .in = {AS_IN(F32, 3, 4), NONE, NONE, AS_IN_INTS(5, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("mode", "linear"), AS_ATTR_S("coordinate_transformation_mode", "half_pixel_symmetric")},
     .given = (const double[]){1.25, 1.5, 1.25, -3.5, 3.75, 0.5, 3.25, -2, -1.25, 3.25, -2.5, -3.5},
     .want = (const double[]){1.2916666, 1.375, -2.7083333, 2.0583334, 1.575, -2.075, 3.2083333, 1.875, -1.125, 0.98333335,
                              0.97500002, -2.45, -0.5, 0.375, -3.3333333},
     .n_want = 15},
    {.name = "linear, antialias as ONNX's",
     .n_in = 4,
     .in = {AS_IN(F32, 5, 7), NONE, NONE, AS_IN_INTS(3, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("mode", "linear"), AS_ATTR_I("antialias", 1)},
     .given = (const double[]){-1,    1.5,  -3,    3,    -1.25, -2.25, 0.25,  3.25, 3.25, 3,    -1.5, -4,
                               2.25,  1.75, 2.25,  -4,   -3.75, 0,     -1.25, -0.5, 3.5,  -2.5, 0.25, -1.5,
                               -1.75, 2.5,  -2.75, -1.5, -3.25, -3,    -1.75, 1.75, 0.75, -0.5, -2.75},
     .want =
         (const double[]){0.92773438, -0.079044119, -0.28320312, -0.25, -1.0588236, 0.53645831, -2.2773438, -0.0625, -1.2382812},
     .n_want = 9},
    {.name = "cubic as ONNX's",
     .n_in = 4,
     .in = {AS_IN(F32, 3, 4), NONE, NONE, AS_IN_INTS(4, 6)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "cubic")},
     .given = (const double[]){2.5, 2.5, -2.25, -3.75, -1.5, -3, 2.5, 0.25, 0, -1.75, 0, 3.75},
     .want = (const double[]){2.7777646,   3.3552284,  2.1419244,    -1.6762342,  -3.8283119, -4.1626463,  -0.14248537, -0.89736557,
                              -0.87210578, 0.95750087, -0.048496246, -1.805001,   -1.2465928, -2.7708778,  -2.5461562,  1.3482574,
                              2.5303383,   1.9359025,  0.26113349,   -0.91513443, -1.6737977, -0.78556907, 2.0497169,   4.3641272},
     .n_want = 24},
    {.name = "cubic without the outside as ONNX's",
     .n_in = 4,
     .in = {AS_IN(F32, 4, 4), NONE, NONE, AS_IN_INTS(3, 5)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "cubic"), AS_ATTR_I("exclude_outside", 1), AS_ATTR_F("cubic_coeff_a", -0.5)},
     .given = (const double[]){-2.25, 2.25, -4, -1.5, 3.5, 3, -3.5, 2.75, 2.75, -0.5, -1, 4, 3.75, 1.5, -0.75, -2.5},
     .want = (const double[]){-1.7589251, 1.7139473, -0.73461425, -3.5972683, -0.90286016, 3.5192311, 2.0460718, -1.0644531,
                              -0.71419793, 4.3186612, 3.7315903, 2.047456, 0.15413031, -1.1719831, -1.7897985},
     .n_want = 15},
    {.name = "cubic, antialias as ONNX's",
     .n_in = 4,
     .in = {AS_IN(F32, 9), NONE, NONE, AS_IN_INTS(4)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("mode", "cubic"), AS_ATTR_I("antialias", 1)},
     .given = (const double[]){3.5, -2, 0.5, 1.5, -2.25, -1.5, 2, -2.5, 1.5},
     .want = (const double[]){0.87777907, -0.25388569, -0.86109716, 0.12745117},
     .n_want = 4},
    {.name = "crop as ONNX's",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 4, 4), AS_IN(F32, 4), NONE, AS_IN_INTS(3, 3)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_S("mode", "linear"), AS_ATTR_S("coordinate_transformation_mode", "tf_crop_and_resize"),
               AS_ATTR_F("extrapolation_value", 10), AS_ATTR_LIST("axes", 2, 1)},
     .given = (const double[]){3.75,  1.5, 1.25, -0.25, 3.75, -2.25, -1.25,      1.25,       1.25,       -3.25,
                               -2.75, 1.5, 2.75, 1,     3.5,  -1,    0.40000001, 0.60000002, 0.60000002, 1.4},
     .want = (const double[]){-2.9300001, -2.75, -2.5699999, 1.5000001, 2.2500002, 3.0000002, 10, 10, 10},
     .n_want = 9},
    {.name = "not larger as ONNX's",
     .n_in = 4,
     .in = {AS_IN(F32, 2, 3), NONE, NONE, AS_IN_INTS(7, 6)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "nearest"), AS_ATTR_S("keep_aspect_ratio_policy", "not_larger"), AS_ATTR_LIST("axes", 0, 1)},
     .given = (const double[]){-1.5, 2.5, -3.75, -2.5, -2.5, -1},
     .want = (const double[]){-1.5, -1.5, 2.5,  2.5,  -3.75, -3.75, -1.5, -1.5, 2.5,  2.5,  -3.75, -3.75,
                              -2.5, -2.5, -2.5, -2.5, -1,    -1,    -2.5, -2.5, -2.5, -2.5, -1,    -1},
     .n_want = 24},
    {.name = "i64 nearest is exact", .n_in = 3, .in = {AS_IN(I64, 2, 3), NONE, SCALES_ARE(2, 3)}, .lo = -1e6, .hi = 1e6},
    {.name = "u8 linear",
     .n_in = 4,
     .in = {AS_IN(U8, 5, 7), NONE, NONE, AS_IN_INTS(9, 4)},
     .lo = 0,
     .hi = 255,
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "linear")}},
    {.name = "f64 cubic down",
     .n_in = 4,
     .in = {AS_IN(F64, 1, 2, 17, 9), NONE, NONE, AS_IN_INTS(1, 2, 8, 5)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "cubic")}},
    {.name = "f16 linear over three axes",
     .n_in = 4,
     .in = {AS_IN(F16, 1, 3, 4, 5), NONE, NONE, AS_IN_INTS(1, 5, 3, 7)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "linear")}},
    {.name = "bf16 nearest, empty roi", .n_in = 3, .in = {AS_IN(BF16, 7), {.dtype = AS_F32, .shape = AS_SHAPE(0)}, SCALES_ARE(2)}},
    {.name = "pixels twice and three times",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 9, 3, 5), NONE, SCALES_ARE(1, 1, 2, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("coordinate_transformation_mode", "asymmetric"), AS_ATTR_S("nearest_mode", "floor")}},
    {.name = "rows four times, by size",
     .n_in = 4,
     .in = {AS_IN(F32, 2, 3, 3, 7), NONE, NONE, AS_IN_INTS(2, 3, 12, 7)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("nearest_mode", "round_prefer_ceil")}},
    {.name = "not smaller",
     .n_in = 4,
     .in = {AS_IN(F32, 3, 7), NONE, NONE, AS_IN_INTS(7, 8)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("keep_aspect_ratio_policy", "not_smaller")}},
    {.name = "scales in f16 by hand",
     .n_in = 3,
     .in = {AS_IN(F16, 3), NONE, {.dtype = AS_F16, .shape = AS_SHAPE(1), .ints = (const int64_t[]){2}}},
     .given = (const double[]){1, 2, 3},
     .want = (const double[]){1, 1, 2, 2, 3, 3},
     .n_want = 6},
    /* Rows of several vectors and slabs, an axis before and after, repeats. */
    {.name = "linear twice as large",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 3, 19, 23), NONE, SCALES_ARE(1, 1, 2, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "linear")}},
    {.name = "cubic, three times as high and two as wide",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 2, 9, 21), NONE, SCALES_ARE(1, 1, 3, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("mode", "cubic"), AS_ATTR_S("coordinate_transformation_mode", "align_corners")}},
    {.name = "linear over three axes",
     .n_in = 4,
     .in = {AS_IN(F32, 2, 3, 5, 6, 19), NONE, NONE, AS_IN_INTS(2, 3, 9, 4, 35)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "linear")}},
    {.name = "linear of rows alone",
     .n_in = 4,
     .in = {AS_IN(F32, 3, 9, 35), NONE, NONE, AS_IN_INTS(3, 20, 35)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "linear")}},
    {.name = "nearest three times as wide, u8",
     .n_in = 3,
     .in = {AS_IN(U8, 2, 7, 37), NONE, SCALES_ARE(1, 2, 3)},
     .lo = 0,
     .hi = 255,
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("coordinate_transformation_mode", "asymmetric"), AS_ATTR_S("nearest_mode", "floor")}},
    {.name = "nearest twice as wide, f64",
     .n_in = 3,
     .in = {AS_IN(F64, 2, 7, 37), NONE, SCALES_ARE(1, 1, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("coordinate_transformation_mode", "asymmetric"), AS_ATTR_S("nearest_mode", "floor")}},
    {.name = "nearest of rows alone",
     .n_in = 4,
     .in = {AS_IN(F32, 3, 9, 5), NONE, NONE, AS_IN_INTS(3, 4, 5)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "nearest")}},
    /* By hand: an infinity beside an output that is exactly an input must not reach it. */
    {.name = "linear beside an infinity by hand",
     .n_in = 4,
     .in = {AS_IN(F32, 3), NONE, NONE, AS_IN_INTS(5)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("mode", "linear"), AS_ATTR_S("coordinate_transformation_mode", "align_corners")},
     .given = (const double[]){1, 3, INFINITY},
     .want = (const double[]){1, 2, 3, INFINITY, INFINITY},
     .n_want = 5},
    {.name = "scalar", .n_in = 1, .in = {{.dtype = AS_F32}}},
    {.name = "to nothing", .n_in = 4, .in = {AS_IN(F32, 3, 7), NONE, NONE, AS_IN_INTS(0, 8)}},
    {.name = "empty", .n_in = 3, .in = {AS_IN(F32, 0, 7), NONE, SCALES_ARE(2, 1)}},
};

/* No gradient: it would need its own operator, the transposed resampling; the networks that are trained here do not resize. */
const as_op as_op_resize = {
    .name = "Resize",
    .min_in = 1,
    .max_in = 4,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(2) | AS_INPUT_BIT(3),
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
