/* op_maxpoolgrad.c - assay.MaxPoolGrad(X, dY): each window passes its gradient to its maximum.
 *
 * Of equal maxima the first in window order gets it.  Where windows overlap, an element may be the
 * maximum of several and gets the sum.  With relu 1, X is the result of a Relu, and the gradient is that
 * before it: windows whose maximum is 0 or less pass nothing.  The other attributes are MaxPool's. */
#include <stdlib.h>

#include "op/nn/taps.h"

static const as_attr_def attrs[] = {
    {.name = "auto_pad", .kind = AS_ATTR_TEXT},
    {.name = "ceil_mode", .kind = AS_ATTR_INT},
    {.name = "dilations", .kind = AS_ATTR_INTS},
    {.name = "kernel_shape", .kind = AS_ATTR_INTS, .required = true},
    {.name = "pads", .kind = AS_ATTR_INTS},
    {.name = "relu", .kind = AS_ATTR_INT},
    {.name = "storage_order", .kind = AS_ATTR_INT},
    {.name = "strides", .kind = AS_ATTR_INTS},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_shape  y;
    as_window w;
    AS_TRY(as_rule_dtype(env, n, 0, 2, AS_SET_FLOAT));
    AS_TRY(as_pool_read(env, n, &n->in[0].shape, &w, &y));
    if (!as_shape_same(&y, &n->in[1].shape))
        return as_refuse(env, n, "dY is %s, and pooling X %s gives %s", AS_SHOW(&n->in[1].shape), AS_SHOW(&n->in[0].shape),
                         AS_SHOW(&y));
    out[0] = as_info(n->in[0].dtype, &n->in[0].shape);
    return ASSAY_OK;
}

/* Per output, kernel - 1 comparisons to find the maximum again and one addition. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost   cost = as_cost_bytes(n);
    as_shape  y;
    as_window w;
    if (as_pool_read(NULL, n, &n->in[0].shape, &w, &y) == ASSAY_OK)
        cost.flops = as_sat_mul(as_sat_count(&y), (uint64_t)as_window_count(w.kernel));
    return cost;
}

static void plane_eval(const as_window *w, bool relu, const as_view *x, const as_view *dy, double *sums, const as_view *dx)
{
    int64_t o[3], count = as_window_count(w->in);
    for (int64_t i = 0; i < count; i++)
        sums[i] = 0.0;
    AS_EACH3(o, w->out)
    {
        double  max;
        int64_t where = as_window_max(w, x, o, &max);
        if (where >= 0 && !(relu && max <= 0.0))
            sums[where] += as_view_at(dy, o);
    }
    for (int64_t i = 0; i < count; i++)
        as_view_set(dx, i, sums[i]);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_shape  y;
    as_window w;
    AS_TRY(as_pool_read(env, n, &n->in[0].shape, &w, &y));
    if (as_shape_count(&n->in[0].shape) == 0)
        return ASSAY_OK;
    /* One plane of sums in double: adding in the output's dtype would round at every window. */
    double *sums = calloc((size_t)as_window_count(w.in), sizeof *sums);
    if (!sums)
        return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for a plane of %lld sums", n->op->name,
                       n->name ? n->name : "", (long long)as_window_count(w.in));
    bool stop = false;
    for (int64_t image = 0; image < y.dim[0] && !stop; image++)
        for (int64_t c = 0; c < y.dim[1] && !(stop = env && as_cancelled(env)); c++) {
            int64_t at[2] = {image, c};
            as_view x = as_view_fix(&in[0], at, 2), dy = as_view_fix(&in[1], at, 2), dx = as_view_fix(&out[0], at, 2);
            plane_eval(&w, as_attr_int(n, "relu", 0) == 1, &x, &dy, sums, &dx);
        }
    free(sums);
    return stop ? as_op_stopped(env, n) : ASSAY_OK;
}

#define MAXGRAD(name_, n_, c_, h_, w_, kh_, kw_, pad_, stride_, relu_)                                                        \
    {                                                                                                                         \
        .name = name_, .n_in = 2,                                                                                             \
        .in = {AS_IN(F32, n_, c_, h_, w_),                                                                                    \
               AS_IN(F32, n_, c_, ((h_) + 2 * (pad_) - (kh_)) / (stride_) + 1, ((w_) + 2 * (pad_) - (kw_)) / (stride_) + 1)}, \
        .n_attrs = 4, .attrs = {                                                                                              \
            AS_ATTR_LIST("kernel_shape", kh_, kw_),                                                                           \
            AS_ATTR_LIST("pads", pad_, pad_, pad_, pad_),                                                                     \
            AS_ATTR_LIST("strides", stride_, stride_),                                                                        \
            AS_ATTR_I("relu", relu_)                                                                                          \
        }                                                                                                                     \
    }

static const as_case cases[] = {
    /* By hand: the 9 is the maximum of both windows it is in. */
    {.name = "overlap by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2)},
     .given = (const double[]){1, 9, 3, 4, 10, 20, 40},
     .want = (const double[]){0, 30, 0, 40},
     .n_want = 4},
    /* By hand: of four equal values the first wins. */
    {.name = "the first of equals by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 1, 1, 2, 2), AS_IN(F64, 1, 1, 1, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2)},
     .given = (const double[]){7, 7, 7, 7, 3},
     .want = (const double[]){3, 0, 0, 0},
     .n_want = 4},
    {.name = "2x2 on 8x9",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3, 8, 9), AS_IN(F32, 2, 3, 4, 4)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_LIST("strides", 2, 2)}},
    {.name = "3x3 stride 2 padded on 17x15",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 7, 17, 15), AS_IN(F32, 1, 7, 9, 8)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 3, 3), AS_ATTR_LIST("strides", 2, 2), AS_ATTR_LIST("pads", 1, 1, 1, 1)}},
    /* By hand: the second window's maximum is 0, the third's below. */
    {.name = "with the relu by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 6), AS_IN(F32, 1, 1, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("strides", 2), AS_ATTR_I("relu", 1)},
     .given = (const double[]){1, 9, 0, 0, -3, -1, 10, 20, 40},
     .want = (const double[]){0, 10, 0, 0, 0, 0},
     .n_want = 6},
    MAXGRAD("2x2 of 17 channels on 7x9", 2, 17, 7, 9, 2, 2, 0, 2, 1),
    MAXGRAD("2x2 of 64 channels", 1, 64, 6, 4, 2, 2, 0, 2, 0),
    MAXGRAD("2x2 of 117 channels on 5x6", 2, 117, 5, 6, 2, 2, 0, 2, 1),
    MAXGRAD("3x3 stride 2 of 40 channels", 3, 40, 9, 8, 3, 3, 1, 2, 0),
    MAXGRAD("3x3 stride 2 of 70 channels with the relu", 1, 70, 8, 7, 3, 3, 1, 2, 1),
    MAXGRAD("3x3 stride 3 of 24 channels on 11x10, padded", 1, 24, 11, 10, 3, 3, 1, 3, 0),
    MAXGRAD("2x3 stride 4 of 33 channels, elements that no window sees", 1, 33, 9, 11, 2, 3, 0, 4, 0),
    {.name = "ceil_mode, dilated, of 20 channels",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 20, 7, 8), AS_IN(F32, 1, 20, 3, 4)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_LIST("strides", 2, 2), AS_ATTR_I("ceil_mode", 1),
               AS_ATTR_LIST("dilations", 2, 1)}},
    {.name = "1-D of 18 channels",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 18, 9), AS_IN(F32, 2, 18, 4)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("strides", 2)}},
    {.name = "3-D",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 3, 4, 5, 3), AS_IN(F32, 1, 3, 2, 2, 1)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2, 2), AS_ATTR_LIST("strides", 2, 2, 2), AS_ATTR_I("relu", 1)}},
    {.name = "ceil_mode",
     .n_in = 2,
     .in = {AS_IN(F64, 1, 1, 5), AS_IN(F64, 1, 1, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("strides", 2), AS_ATTR_I("ceil_mode", 1)}},
    {.name = "no images",
     .n_in = 2,
     .in = {AS_IN(F32, 0, 3, 4, 4), AS_IN(F32, 0, 3, 3, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2)}},
};

const as_op as_op_maxpoolgrad = {
    .name = "assay.MaxPoolGrad",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* a few additions where windows overlap */
};
