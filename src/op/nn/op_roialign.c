/* op_roialign.c - each region of an image as a grid of fixed size: averages, or maxima, of points between the pixels. */
#include <math.h>
#include <string.h>

#include "op/composed.h"

static const as_attr_def attrs[] = {
    {.name = "coordinate_transformation_mode", .kind = AS_ATTR_TEXT},
    {.name = "mode", .kind = AS_ATTR_TEXT},
    {.name = "output_height", .kind = AS_ATTR_INT},
    {.name = "output_width", .kind = AS_ATTR_INT},
    {.name = "sampling_ratio", .kind = AS_ATTR_INT},
    {.name = "spatial_scale", .kind = AS_ATTR_FLOAT},
    {0},
};

enum { MAX_SAMPLES = 4096 };

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape, *rois = &n->in[1].shape;
    const char     *how = as_attr_text(n, "coordinate_transformation_mode", "half_pixel"), *mode = as_attr_text(n, "mode", "avg");
    int64_t         height = as_attr_int(n, "output_height", 1), width = as_attr_int(n, "output_width", 1),
            ratio = as_attr_int(n, "sampling_ratio", 0);
    AS_TRY(as_rule_dtype(env, n, 0, 2, AS_SET_FLOAT));
    AS_TRY(as_rule_index(env, n, 2, "batch_indices", false));
    if (x->rank != 4 || rois->rank != 2 || rois->dim[1] != 4 || !as_shape_same(&n->in[2].shape, &AS_SHAPE(rois->dim[0])))
        return as_refuse(env, n, "X is %s, rois %s and batch_indices %s: [N, C, H, W], [R, 4] and [R] are needed", AS_SHOW(x),
                         AS_SHOW(rois), AS_SHOW(&n->in[2].shape));
    if ((strcmp(how, "half_pixel") && strcmp(how, "output_half_pixel")) || (strcmp(mode, "avg") && strcmp(mode, "max")))
        return as_refuse(
            env, n,
            "mode is '%.40s' and coordinate_transformation_mode '%.40s': avg or max, and half_pixel or output_half_pixel are known",
            mode, how);
    if (height < 1 || width < 1 || height > INT32_MAX || width > INT32_MAX || ratio < 0 || ratio > MAX_SAMPLES)
        return as_refuse(env, n, "output_height is %lld, output_width %lld and sampling_ratio %lld: out of range",
                         (long long)height, (long long)width, (long long)ratio);
    out[0] = as_info(n->in[0].dtype, &AS_SHAPE(rois->dim[0], x->dim[1], height, width));
    return ASSAY_OK;
}

/* Four pixels per point, with a given number of points per axis; about two when it depends on the region. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t ratio = (uint64_t)as_attr_int(n, "sampling_ratio", 0);
    ratio = ratio ? ratio : 2;
    cost.flops = as_sat_mul(as_sat_count(&n->out[0].shape), 8 * ratio * ratio);
    return cost;
}

typedef struct region {
    double  begin[2], bin[2];
    int64_t points[2];
    bool    is_max;
} region;

static region region_of(const as_node_ctx *n, const as_view *rois, int64_t r, const as_shape *y)
{
    bool    half = !strcmp(as_attr_text(n, "coordinate_transformation_mode", "half_pixel"), "half_pixel");
    double  scale = as_attr_float(n, "spatial_scale", 1.0), shift = half ? 0.5 : 0.0;
    int64_t ratio = as_attr_int(n, "sampling_ratio", 0);
    region  out = {.is_max = !strcmp(as_attr_text(n, "mode", "avg"), "max")};
    for (int i = 0; i < 2; i++) { /* rows, then columns; a region is x, y, x, y */
        double from = as_view_get(rois, 4 * r + 1 - i) * scale - shift, to = as_view_get(rois, 4 * r + 3 - i) * scale - shift,
               size = to - from;
        size = half ? size : fmax(size, 1.0);
        out.begin[i] = from;
        out.bin[i] = size / (double)y->dim[2 + i];
        double wanted = ratio ? (double)ratio : ceil(out.bin[i]);
        out.points[i] = wanted >= 1.0 ? (wanted < MAX_SAMPLES ? (int64_t)wanted : MAX_SAMPLES) : 0; /* a NaN: none */
    }
    return out;
}

/* The four pixels around a point, each with its weight; outside of the image by more than a pixel it counts as 0. */
static void around(const as_view *plane, double row, double column, double part[4])
{
    double  at[2] = {row, column};
    int64_t low[2], high[2];
    for (int i = 0; i < 2; i++) {
        int64_t size = plane->shape.dim[i];
        if (!(at[i] >= -1.0 && at[i] <= (double)size)) {
            part[0] = part[1] = part[2] = part[3] = 0.0;
            return;
        }
        at[i] = fmax(at[i], 0.0);
        low[i] = (int64_t)at[i];
        high[i] = low[i] + 1;
        if (low[i] >= size - 1) {
            low[i] = high[i] = size - 1;
            at[i] = (double)low[i];
        }
    }
    double y = at[0] - (double)low[0], x = at[1] - (double)low[1];
    part[0] = (1 - y) * (1 - x) * as_view_at(plane, (int64_t[]){low[0], low[1]});
    part[1] = (1 - y) * x * as_view_at(plane, (int64_t[]){low[0], high[1]});
    part[2] = y * (1 - x) * as_view_at(plane, (int64_t[]){high[0], low[1]});
    part[3] = y * x * as_view_at(plane, (int64_t[]){high[0], high[1]});
}

/* ONNX's maximum is that of the four weighted pixels, not of the points. */
static double bin(const region *r, const as_view *plane, const int64_t *at)
{
    double  sum = 0.0, most = 0.0;
    int64_t count = r->points[0] * r->points[1];
    bool    any = false;
    for (int64_t i = 0; i < r->points[0]; i++)
        for (int64_t k = 0; k < r->points[1]; k++) {
            double part[4], row = r->begin[0] + ((double)at[2] + ((double)i + 0.5) / (double)r->points[0]) * r->bin[0];
            around(plane, row, r->begin[1] + ((double)at[3] + ((double)k + 0.5) / (double)r->points[1]) * r->bin[1], part);
            double best = fmax(fmax(part[0], part[1]), fmax(part[2], part[3]));
            most = any ? fmax(most, best) : best;
            any = true;
            sum += part[0] + part[1] + part[2] + part[3];
        }
    return r->is_max ? most : sum / (double)(count ? count : 1);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t index[AS_MAX_RANK] = {0};
    if (as_shape_count(&out[0].shape) == 0)
        return ASSAY_OK;
    do {
        int64_t image = as_view_get_i64(&in[2], index[0]);
        AS_GO_ON(env, n);
        if (image < 0 || image >= in[0].shape.dim[0] || !in[0].shape.dim[2] || !in[0].shape.dim[3])
            return as_refuse(env, n, "region %lld is of image %lld of %lld", (long long)index[0], (long long)image,
                             (long long)in[0].shape.dim[0]);
        as_view plane = as_view_fix(&in[0], (int64_t[]){image, index[1]}, 2);
        region  r = region_of(n, &in[1], index[0], &out[0].shape);
        as_view_put(&out[0], index, bin(&r, &plane, index));
    } while (as_index_next(&out[0].shape, index));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "avg, half_pixel",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 1, 5, 5), AS_IN(F32, 2, 4), AS_IN(I64, 2)},
     .n_attrs = 5,
     .attrs = {AS_ATTR_S("mode", "avg"), AS_ATTR_S("coordinate_transformation_mode", "half_pixel"), AS_ATTR_I("output_height", 2),
               AS_ATTR_I("output_width", 2), AS_ATTR_I("sampling_ratio", 2)},
     AS_GIVEN(0.430000007, 0.219999999, -0.800000012, 0.0199999996, 0.25999999, -0.439999998, -0.800000012, 0.519999981,
              -0.829999983, 0.560000002, 0.239999995, 0.150000006, -0.589999974, -0.360000014, -0.400000006, 0.25999999,
              -0.0299999993, -0.159999996, 0.150000006, 0.670000017, -0.879999995, 0.460000008, -0.389999986, -0.550000012,
              0.0199999996, -0.639999986, 0.400000006, -0.379999995, -0.379999995, 0.930000007, -0.379999995, -0.769999981,
              -0.850000024, 0.449999988, -0.560000002, -0.200000003, 0.600000024, 0.680000007, -0.560000002, -0.129999995,
              0.529999971, -0.159999996, 0.519999981, 0.0900000036, 0.649999976, -0.180000007, 0.159999996, 0.810000002,
              -0.319999993, 0.370000005, 0.5, 0.5, 3.20000005, 4.0999999, 1, 0, 4, 4, 0, 1),
     AS_WANT(-0.261340678, -0.173035964, 0.102393754, -0.229646832, -0.339687496, -0.158749998, 0.335312515, 0.0568749905)},
    /* By the ONNX reference evaluator. */
    {.name = "max, output_half_pixel",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 1, 5, 5), AS_IN(F32, 2, 4), AS_IN(I64, 2)},
     .n_attrs = 5,
     .attrs = {AS_ATTR_S("mode", "max"), AS_ATTR_S("coordinate_transformation_mode", "output_half_pixel"),
               AS_ATTR_I("output_height", 2), AS_ATTR_I("output_width", 2), AS_ATTR_I("sampling_ratio", 2)},
     AS_GIVEN(-0.430000007, -0.0599999987, -0.239999995, -0.660000026, 0.589999974, 0.709999979, -0.400000006, 0.469999999,
              0.389999986, 0.460000008, 0.74000001, -0.100000001, 0.209999993, -0.910000026, -0.119999997, 0.100000001,
              -0.790000021, -0.75999999, 0.0799999982, -0.439999998, 0.219999999, -0.109999999, 0.270000011, 0.300000012, -0.5,
              -0.479999989, 0.850000024, 0.159999996, 0.289999992, -0.25999999, -0.370000005, 0.540000021, -0.560000002,
              0.419999987, -0.100000001, 0.889999986, 0.400000006, 0.75, 0.829999983, 0.25, 0.870000005, 0.119999997, -0.389999986,
              0.699999988, 0.430000007, -0.300000012, 0.330000013, 0.5, -0.610000014, -0.5, 0.5, 0.5, 3.20000005, 4.0999999, 1, 0,
              4, 4, 0, 1),
     AS_WANT(0.228831261, 0.362781227, 0.0899437442, 0.168187514, 0.328125, 0.363124996, 0.328125, 0.363124996)},
    /* By the ONNX reference evaluator. */
    {.name = "avg, output_half_pixel",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 1, 5, 5), AS_IN(F32, 2, 4), AS_IN(I64, 2)},
     .n_attrs = 5,
     .attrs = {AS_ATTR_S("mode", "avg"), AS_ATTR_S("coordinate_transformation_mode", "output_half_pixel"),
               AS_ATTR_I("output_height", 2), AS_ATTR_I("output_width", 2), AS_ATTR_I("sampling_ratio", 0)},
     AS_GIVEN(0.0199999996, -0.230000004, 0.189999998, -0.0700000003, 0.839999974, 0.730000019, 0.129999995, 0.660000026,
              -0.289999992, 0.170000002, -0.25999999, 0.870000005, 0.25999999, 0.439999998, 0.790000021, -0.0900000036, 0.239999995,
              0.569999993, -0.879999995, 0.660000026, -0.25999999, -0.469999999, -0.170000002, -0.839999974, 0.970000029,
              -0.0199999996, 0.109999999, -0.660000026, -0.330000013, 0.280000001, 0.790000021, 0.910000026, 0.980000019,
              -0.569999993, -0.109999999, 0.529999971, -0.519999981, -0.819999993, 0.0900000036, 0.980000019, 0.569999993,
              0.00999999978, -0.180000007, 0.839999974, 0.280000001, 0.810000002, 0.649999976, -0.219999999, 0.910000026,
              -0.629999995, 0.5, 0.5, 3.20000005, 4.0999999, 1, 0, 4, 4, 0, 1),
     AS_WANT(0.43475467, 0.240687445, 0.119276613, -0.23044382, 0.163593769, -0.126875013, -0.16515623, 0.467968762)},
};

const as_op as_op_roialign = {
    .name = "RoiAlign",
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .known_in = 0,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
