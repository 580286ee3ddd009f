/* op_maxpool.c - the maximum of a sliding window over 1 to 3 spatial axes, and on demand its position. */
#include <math.h>

#include "op/nn/taps.h"

static const as_attr_def attrs[] = {
    {.name = "auto_pad", .kind = AS_ATTR_TEXT},  {.name = "ceil_mode", .kind = AS_ATTR_INT},
    {.name = "dilations", .kind = AS_ATTR_INTS}, {.name = "kernel_shape", .kind = AS_ATTR_INTS, .required = true},
    {.name = "pads", .kind = AS_ATTR_INTS},      {.name = "storage_order", .kind = AS_ATTR_INT},
    {.name = "strides", .kind = AS_ATTR_INTS},   {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_shape  y;
    as_window w;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT | AS_DTYPE_BIT(AS_I8) | AS_DTYPE_BIT(AS_U8)));
    AS_TRY(as_pool_read(env, n, &n->in[0].shape, &w, &y));
    out[0] = as_info(n->in[0].dtype, &y);
    out[1] = as_info(AS_I64, &y);
    return ASSAY_OK;
}

/* kernel - 1 comparisons per output; by convention the whole window counts, even where it lies on padding. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost   cost = as_cost_bytes(n);
    as_shape  y;
    as_window w;
    if (as_pool_read(NULL, n, &n->in[0].shape, &w, &y) == ASSAY_OK)
        cost.flops = as_sat_mul(as_sat_count(&y), (uint64_t)as_window_count(w.kernel) - 1);
    return cost;
}

/* The place in a plane, counted along the last axis first (storage_order 0, as `where` is) or along the first (1). */
static int64_t place(const as_window *w, bool column_major, int64_t where)
{
    int64_t last = where % w->in[2], middle = where / w->in[2] % w->in[1], first = where / w->in[2] / w->in[1];
    return column_major ? first + w->in[0] * (middle + w->in[1] * last) : where;
}

/* A dilated window may skip all elements of a small input. It is then empty, so the maximum is the dtype's lowest
 * value (the setter saturates -infinity) and the index is -1. */
static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_shape  y;
    as_window w;
    AS_TRY(as_pool_read(env, n, &n->in[0].shape, &w, &y));
    int64_t o[3], n_plane = as_window_count(w.in);
    bool    column_major = as_attr_int(n, "storage_order", 0) == 1;
    for (int64_t image = 0; image < y.dim[0]; image++)
        for (int64_t c = 0; c < y.dim[1]; c++) {
            as_view x = as_view_fix(&in[0], (int64_t[]){image, c}, 2), best = as_view_fix(&out[0], (int64_t[]){image, c}, 2);
            int64_t plane = (image * y.dim[1] + c) * n_plane, at = 0;
            AS_EACH3(o, w.out)
            {
                AS_GO_ON(env, n);
                double  max;
                int64_t where = as_window_max(&w, &x, o, &max);
                as_view_put(&best, o, max);
                if (n->n_out > 1) {
                    as_view index = as_view_fix(&out[1], (int64_t[]){image, c}, 2);
                    as_view_set_i64(&index, at, where < 0 ? -1 : plane + place(&w, column_major, where));
                }
                at++;
            }
        }
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    d_in[0] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    as_attr list[AS_COUNT(attrs)];
    int     count = as_attrs_repeat(n, NULL, NULL, 0, list);
    d_in[0] = b->node(b, "assay.MaxPoolGrad", (int[]){in[0], d_out[0]}, 2, list, count, NULL, 1);
    return ASSAY_OK;
}

static const as_case cases[] = {
    AS_CASES_POOL_WIDE,
    /* By hand: the largest of each 2x2 block of arange(16) is its last. */
    {.name = "2x2 by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 1, 4, 4)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_LIST("strides", 2, 2)},
     .given = (const double[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
     .want = (const double[]){5, 7, 13, 15},
     .n_want = 4},
    /* By hand: padding never wins, not even against negative values. */
    {.name = "padding never wins",
     .n_in = 1,
     .in = {AS_IN(F64, 1, 1, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("pads", 1, 1)},
     .given = (const double[]){-5, -3, -4},
     .want = (const double[]){-5, -3, -3, -4},
     .n_want = 4},
    /* By hand: rounding up gives a third window, over the last element alone. */
    {.name = "ceil_mode by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 1, 5)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("strides", 2), AS_ATTR_I("ceil_mode", 1)},
     .given = (const double[]){1, 9, 3, 4, 2},
     .want = (const double[]){9, 4, 2},
     .n_want = 3},
    /* By hand: u8 as numbers, dilation 2. */
    {.name = "u8 dilated by hand",
     .n_in = 1,
     .in = {AS_IN(U8, 1, 1, 5)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("dilations", 2)},
     .given = (const double[]){200, 255, 7, 0, 9},
     .want = (const double[]){200, 255, 9},
     .n_want = 3,
     .no_grad = true},
    /* numpy: np.pad with -inf, the maximum of each slice. */
    {.name = "3x2 uneven pads as numpy's",
     .n_in = 1,
     .in = {AS_IN(F64, 1, 1, 3, 4)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 3, 2), AS_ATTR_LIST("strides", 2, 1), AS_ATTR_LIST("pads", 1, 0, 1, 1)},
     .given = (const double[]){-5, 2, -2, 5, 1, -3, 4, 0, -4, 3, -1, -5},
     .want = (const double[]){2, 4, 5, 5, 3, 4, 4, 0},
     .n_want = 8},
    {.name = "2x2 on 7x9",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3, 7, 9)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_LIST("strides", 2, 2)}},
    {.name = "2x2 on 16x16 of 8",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 8, 16, 16)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_LIST("strides", 2, 2)}},
    {.name = "3x3 stride 2 padded on 17x15",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 9, 17, 15)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 3, 3), AS_ATTR_LIST("strides", 2, 2), AS_ATTR_LIST("pads", 1, 1, 1, 1)}},
    {.name = "3x3 overlapping on 8x33",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 1, 8, 33)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("kernel_shape", 3, 3)}},
    {.name = "1x1", .n_in = 1, .in = {AS_IN(F32, 1, 1, 1, 1)}, .n_attrs = 1, .attrs = {AS_ATTR_LIST("kernel_shape", 1, 1)}},
    {.name = "ceil_mode on 15x31",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 2, 15, 31)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_LIST("kernel_shape", 3, 2), AS_ATTR_LIST("strides", 3, 4), AS_ATTR_LIST("pads", 0, 1, 1, 0),
               AS_ATTR_I("ceil_mode", 1)}},
    {.name = "SAME_UPPER",
     .n_in = 1,
     .in = {AS_IN(F64, 1, 2, 7, 8)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 3, 2), AS_ATTR_LIST("strides", 2, 3), AS_ATTR_S("auto_pad", "SAME_UPPER")}},
    {.name = "1-D of 31",
     .n_in = 1,
     .in = {AS_IN(F64, 2, 3, 31)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 4), AS_ATTR_LIST("strides", 3)}},
    {.name = "3-D",
     .n_in = 1,
     .in = {AS_IN(F64, 1, 2, 5, 4, 6)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 3, 2), AS_ATTR_LIST("strides", 2, 1, 1), AS_ATTR_LIST("dilations", 1, 1, 3)}},
    {.name = "no images", .n_in = 1, .in = {AS_IN(F32, 0, 3, 4, 4)}, .n_attrs = 1, .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2)}},
    {.name = "empty plane", .n_in = 1, .in = {AS_IN(F32, 1, 3, 0, 4)}, .n_attrs = 1, .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2)}},
};

const as_op as_op_maxpool = {
    .name = "MaxPool",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 2,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
