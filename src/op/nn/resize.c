/* resize.c - what Resize does along each axis. */
#include "op/nn/resize.h"

#include <math.h>
#include <string.h>

#include "op/rules.h"

enum { HALF_PIXEL, ASYMMETRIC, ALIGN_CORNERS, PYTORCH_HALF_PIXEL, HALF_PIXEL_SYMMETRIC, TF_CROP_AND_RESIZE };
enum { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, FLOOR, CEIL };
enum { STRETCH, NOT_LARGER, NOT_SMALLER };

static const char *const coordinate_names[] = {
    "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize", NULL};
static const char *const mode_names[] = {"nearest", "linear", "cubic", NULL};
static const char *const nearest_names[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
static const char *const policy_names[] = {"stretch", "not_larger", "not_smaller", NULL};

/* --- The rule --- */

static assay_status choice_read(assay_env *env, const as_node_ctx *n, const char *attr, const char *const *names, int *out)
{
    const char *text = as_attr_text(n, attr, names[0]);
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], text)) {
            *out = i;
            return ASSAY_OK;
        }
    return as_refuse(env, n, "%s is '%s', which it cannot be", attr, text);
}

static assay_status axes_read(assay_env *env, const as_node_ctx *n, as_resize *r)
{
    int      rank = n->in[AS_RESIZE_X].shape.rank;
    int64_t  list[AS_MAX_RANK];
    size_t   count = as_attr_ints(n, "axes", list, AS_MAX_RANK);
    unsigned seen = 0;
    if (count > (size_t)rank)
        return as_refuse(env, n, "axes names %zu axes and X is %s", count, AS_SHOW(&n->in[AS_RESIZE_X].shape));
    r->n_axes = count ? (int)count : rank;
    for (int i = 0; i < r->n_axes; i++) {
        AS_TRY(as_rule_axis(env, n, count ? list[i] : i, rank, &r->axes[i]));
        if (seen & (1u << r->axes[i]))
            return as_refuse(env, n, "axes names axis %d twice", r->axes[i]);
        seen |= 1u << r->axes[i];
    }
    return ASSAY_OK;
}

static bool is_given(const as_node_ctx *n, int i) { return as_in_has(n, i) && as_shape_count(&n->in[i].shape) > 0; }

/* Sizes are X's times the scales, rounded down in f32 as ONNX's own shape inference does. */
static assay_status scales_read(assay_env *env, const as_node_ctx *n, as_resize *r)
{
    const as_tensor_info *t = &n->in[AS_RESIZE_SCALES];
    bool                  is_float = (AS_SET_FLOAT & AS_DTYPE_BIT(t->dtype)) != 0; /* a file in f16 has its scales in f16, too */
    if (!is_float || t->shape.rank != 1 || t->shape.dim[0] != r->n_axes)
        return as_refuse(env, n, "scales (input %d) is %s %s and must be f32 [%d], or another float of this size", AS_RESIZE_SCALES,
                         as_dtype_name(t->dtype), AS_SHOW(&t->shape), r->n_axes);
    if (!t->constant)
        return as_refuse(env, n, "scales (input %d) must be known while planning", AS_RESIZE_SCALES);
    as_view view = as_view_of((void *)(uintptr_t)t->constant, t->dtype, &t->shape); /* only read */
    for (int i = 0; i < r->n_axes; i++) {
        int   axis = r->axes[i];
        float scale = (float)as_view_get(&view, i), size = floorf((float)n->in[AS_RESIZE_X].shape.dim[axis] * scale);
        if (!(scale > 0.0f) || !(size < 0x1p62f))
            return as_refuse(env, n, "scales[%d] is %g: it must be above 0, and size %lld times it must be in range", i,
                             (double)scale, (long long)n->in[AS_RESIZE_X].shape.dim[axis]);
        r->scale[axis] = (double)scale;
        r->y.dim[axis] = (int64_t)size;
    }
    return ASSAY_OK;
}

static assay_status sizes_read(assay_env *env, const as_node_ctx *n, as_resize *r)
{
    int64_t         sizes[AS_MAX_RANK];
    int             count;
    const as_shape *x = &n->in[AS_RESIZE_X].shape;
    double          least = INFINITY, most = 0.0;
    AS_TRY(as_rule_ints(env, n, AS_RESIZE_SIZES, "sizes", sizes, &count));
    if (count != r->n_axes)
        return as_refuse(env, n, "sizes (input %d) has %d values and needs %d", AS_RESIZE_SIZES, count, r->n_axes);
    for (int i = 0; i < count; i++) {
        int axis = r->axes[i];
        if (sizes[i] < 0 || (sizes[i] > 0 && x->dim[axis] == 0))
            return as_refuse(env, n, "sizes[%d] is %lld and the input is %s", i, (long long)sizes[i], AS_SHOW(x));
        r->y.dim[axis] = sizes[i];
        r->scale[axis] = x->dim[axis] ? (double)sizes[i] / (double)x->dim[axis] : 1.0;
        least = fmin(least, r->scale[axis]);
        most = fmax(most, r->scale[axis]);
    }
    for (int i = 0; r->policy != STRETCH && i < count; i++) {
        int    axis = r->axes[i];
        double scale = r->policy == NOT_LARGER ? least : most, size = floor(scale * (double)x->dim[axis] + 0.5);
        if (!(size < 0x1p62))
            return as_refuse(env, n, "to keep the aspect ratio, axis %d would get %g elements", axis, size);
        r->scale[axis] = scale;
        r->y.dim[axis] = (int64_t)size;
    }
    return ASSAY_OK;
}

assay_status as_resize_read(assay_env *env, const as_node_ctx *n, as_resize *out)
{
    as_resize r = {.y = n->in[AS_RESIZE_X].shape,
                   .antialias = as_attr_int(n, "antialias", 0) != 0,
                   .exclude_outside = as_attr_int(n, "exclude_outside", 0) != 0,
                   .cubic_a = as_attr_float(n, "cubic_coeff_a", -0.75),
                   .extrapolation = as_attr_float(n, "extrapolation_value", 0.0)};
    AS_TRY(choice_read(env, n, "coordinate_transformation_mode", coordinate_names, &r.coordinates));
    int mode;
    AS_TRY(choice_read(env, n, "mode", mode_names, &mode));
    r.mode = (as_resize_mode)mode;
    AS_TRY(choice_read(env, n, "nearest_mode", nearest_names, &r.nearest));
    AS_TRY(choice_read(env, n, "keep_aspect_ratio_policy", policy_names, &r.policy));
    AS_TRY(axes_read(env, n, &r));
    if (r.antialias && r.mode == AS_RESIZE_NEAREST)
        return as_refuse(env, n, "antialias is set and mode is nearest, which blends nothing");
    for (int i = 0; i < AS_MAX_RANK; i++)
        r.scale[i] = 1.0;
    if (is_given(n, AS_RESIZE_SCALES) && is_given(n, AS_RESIZE_SIZES))
        return as_refuse(env, n, "scales and sizes are both given");
    if (is_given(n, AS_RESIZE_SCALES))
        AS_TRY(scales_read(env, n, &r));
    else if (is_given(n, AS_RESIZE_SIZES))
        AS_TRY(sizes_read(env, n, &r));
    else if (r.n_axes > 0)
        return as_refuse(env, n, "neither scales nor sizes are given");
    r.crops = r.coordinates == TF_CROP_AND_RESIZE;
    if (r.crops) {
        const as_tensor_info *roi = &n->in[AS_RESIZE_ROI];
        bool                  fits = as_in_has(n, AS_RESIZE_ROI) && as_dtype_is_float(roi->dtype) && roi->shape.rank == 1 &&
                    roi->shape.dim[0] == 2 * r.n_axes;
        if (!fits)
            return as_refuse(env, n, "tf_crop_and_resize needs roi (input %d), %d floats, and it is %s", AS_RESIZE_ROI,
                             2 * r.n_axes, as_in_has(n, AS_RESIZE_ROI) ? AS_SHOW(&roi->shape) : "absent");
    }
    *out = r;
    return ASSAY_OK;
}

static bool is_named(const as_resize *r, int axis)
{
    for (int i = 0; i < r->n_axes; i++)
        if (r->axes[i] == axis)
            return true;
    return false;
}

int64_t as_resize_taps(const as_resize *r, int axis)
{
    static const int reach[] = {[AS_RESIZE_NEAREST] = 0, [AS_RESIZE_LINEAR] = 1, [AS_RESIZE_CUBIC] = 2};
    if (r->mode == AS_RESIZE_NEAREST || !is_named(r, axis))
        return 1;
    double scale = r->antialias && r->scale[axis] < 1.0 ? r->scale[axis] : 1.0;
    return 2 - 2 * (int64_t)(floor(-reach[r->mode] / scale) + 1.0);
}

/* --- Taps --- */

/* Where output o lies on the input's axis. */
static double coordinate(const as_resize *r, double o, double in, double out, double scale, const double roi[2])
{
    double wide = scale * in; /* the exact width; `out` is its integer part */
    switch (r->coordinates) {
    case ASYMMETRIC: return o / scale;
    case ALIGN_CORNERS: return wide == 1.0 ? 0.0 : o * (in - 1.0) / (wide - 1.0);
    case PYTORCH_HALF_PIXEL: return wide == 1.0 ? -0.5 : (o + 0.5) / scale - 0.5;
    case HALF_PIXEL_SYMMETRIC: return in / 2.0 * (1.0 - out / wide) + (o + 0.5) / scale - 0.5;
    case TF_CROP_AND_RESIZE:
        return (wide == 1.0 ? (roi[1] - roi[0]) * (in - 1.0) / 2.0 : o * (roi[1] - roi[0]) * (in - 1.0) / (wide - 1.0)) +
               roi[0] * (in - 1.0);
    default: return (o + 0.5) / scale - 0.5;
    }
}

static double nearest_of(const as_resize *r, double x)
{
    switch (r->nearest) {
    case ROUND_PREFER_CEIL: return floor(x + 0.5);
    case FLOOR: return floor(x);
    case CEIL: return ceil(x);
    default: return ceil(x - 0.5);
    }
}

/* The filter at a distance from its centre. */
static double filter(const as_resize *r, double x)
{
    double a = r->cubic_a;
    x = fabs(x);
    if (r->mode == AS_RESIZE_LINEAR)
        return x < 1.0 ? 1.0 - x : 0.0;
    return x <= 1.0 ? ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0 : x < 2.0 ? ((x - 5.0) * x + 8.0) * x * a - 4.0 * a : 0.0;
}

void as_resize_make(const as_resize *r, int axis, int64_t in, int64_t o, const double roi[2], int64_t *index, double *weight)
{
    int64_t count = as_resize_taps(r, axis);
    double  last = (double)(in - 1), sum = 0.0;
    if (!is_named(r, axis)) {
        index[0] = o;
        weight[0] = 1.0;
        return;
    }
    double x = coordinate(r, (double)o, (double)in, (double)r->y.dim[axis], r->scale[axis], roi);
    if (r->crops && !(x >= 0.0 && x <= last)) {
        index[0] = -1;
        return;
    }
    if (r->mode == AS_RESIZE_NEAREST) {
        index[0] = (int64_t)fmin(fmax(nearest_of(r, x), 0.0), last);
        weight[0] = 1.0;
        return;
    }
    double stretch = r->antialias && r->scale[axis] < 1.0 ? r->scale[axis] : 1.0;
    double first = ceil(x) - (double)(count / 2); /* equally many taps on both sides; when x is an integer, the left has one more */
    for (int64_t i = 0; i < count; i++) {
        double at = first + (double)i;
        index[i] = (int64_t)fmin(fmax(at, 0.0), last); /* outside, the edge value continues */
        weight[i] = filter(r, (at - x) * stretch);
        if (r->exclude_outside && (at < 0.0 || at > last))
            weight[i] = 0.0;
        sum += weight[i];
    }
    for (int64_t i = 0; (r->antialias || r->exclude_outside) && sum != 0.0 && i < count; i++)
        weight[i] /= sum;
}
