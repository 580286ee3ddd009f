/* op_convgradx.c - assay.ConvGradX(dY, W, R): the gradient of Conv with respect to X.
 *
 * input_shape holds all sizes of X, because the output size does not tell how many elements a stride
 * did not reach.  The other attributes are Conv's.  Written as a gather over Y, although a scatter
 * defines it, so that every element is one sum in double.  Where R is given, X is the result of a Relu
 * and R is its input or its result: the gradient is 0 where R is 0 or less, as ReluGrad makes it. */
#include "op/nn/taps.h"

static const as_attr_def attrs[] = {
    AS_CONV_ATTRS,
    {.name = "input_shape", .kind = AS_ATTR_INTS, .required = true},
    {.name = "winograd", .kind = AS_ATTR_INT}, /* 1: the user allows the faster, less exact algorithm */
    {0},
};

static assay_status shapes_of(assay_env *env, const as_node_ctx *n, as_conv_shapes *out)
{
    as_shape x;
    AS_TRY(as_attr_shape(env, n, "input_shape", n->in[0].dtype, &x));
    return as_conv_grad_read(env, n, &x, &n->in[1].shape, &n->in[0].shape, out);
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_conv_shapes s;
    AS_TRY(as_rule_dtype(env, n, 0, 3, AS_SET_FLOAT));
    AS_TRY(shapes_of(env, n, &s));
    if (as_in_has(n, 2) && !as_shape_same(&n->in[2].shape, &s.x))
        return as_refuse(env, n, "R is %s and must be like X, %s", AS_SHOW(&n->in[2].shape), AS_SHOW(&s.x));
    out[0] = as_info(n->in[0].dtype, &s.x);
    return ASSAY_OK;
}

/* 2 * count(dY) * C/group * kernel flops: the multiply-adds of the forward pass, the whole kernel counted; with R, one comparison
 * per element more. */
static as_cost cost(const as_node_ctx *n)
{
    as_conv_shapes s;
    as_cost        cost = as_cost_bytes(n);
    if (shapes_of(NULL, n, &s) == ASSAY_OK)
        cost.flops = as_sat_add(as_window_flops(&s.window, &s.y, s.w.dim[1]), as_in_has(n, 2) ? as_sat_count(&s.x) : 0);
    return cost;
}

/* The sum over all outputs that saw position p through some tap: o * stride = p + pad - k * dilation. */
static double element(const as_conv_shapes *s, const as_view *dy, const as_view *w, int64_t image, int64_t c, const int64_t *p)
{
    const as_window *win = &s->window;
    int64_t          n_m = s->w.dim[0] / win->group, first = c / s->w.dim[1] * n_m, k[3], o[3];
    double           sum = 0.0;
    for (int64_t m = first; m < first + n_m; m++) {
        as_view plane = as_view_fix(dy, (int64_t[]){image, m}, 2), kernel = as_view_fix(w, (int64_t[]){m, c % s->w.dim[1]}, 2);
        AS_EACH3(k, win->kernel)
        if (as_tap_from(win, p, k, o))
            sum += as_view_at(&plane, o) * as_view_at(&kernel, k);
    }
    return sum;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_conv_shapes s;
    AS_TRY(shapes_of(env, n, &s));
    int64_t p[3];
    for (int64_t image = 0; image < s.x.dim[0]; image++)
        for (int64_t c = 0; c < s.x.dim[1]; c++) {
            as_view plane = as_view_fix(&out[0], (int64_t[]){image, c}, 2), mask = {0};
            if (as_in_has(n, 2))
                mask = as_view_fix(&in[2], (int64_t[]){image, c}, 2);
            AS_EACH3(p, s.window.in)
            {
                AS_GO_ON(env, n);
                bool stops = as_in_has(n, 2) && as_view_at(&mask, p) <= 0.0;
                as_view_put(&plane, p, stops ? 0.0 : element(&s, &in[0], &in[1], image, c, p));
            }
        }
    return ASSAY_OK;
}

/* n images of c channels of h x w under m kernels of kh x kw. */
#define GRADX(name_, n_, c_, h_, w_, m_, kh_, kw_, pad_, stride_, dilation_)                       \
    {                                                                                              \
        .name = name_, .n_in = 2,                                                                  \
        .in = {AS_IN(F32, n_, m_, ((h_) + 2 * (pad_) - ((kh_)-1) * (dilation_)-1) / (stride_) + 1, \
                     ((w_) + 2 * (pad_) - ((kw_)-1) * (dilation_)-1) / (stride_) + 1),             \
               AS_IN(F32, m_, c_, kh_, kw_)},                                                      \
        .n_attrs = 4, .attrs = {                                                                   \
            AS_ATTR_LIST("input_shape", n_, c_, h_, w_),                                           \
            AS_ATTR_LIST("pads", pad_, pad_, pad_, pad_),                                          \
            AS_ATTR_LIST("strides", stride_, stride_),                                             \
            AS_ATTR_LIST("dilations", dilation_, dilation_)                                        \
        }                                                                                          \
    }

static const as_case cases[] = {
    /* By hand: dY [1,10] through kernel [2,3] with stride 2 on 5 elements: 2, 3, 20, 30, never reached. */
    {.name = "1-D by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 2), AS_IN(F32, 1, 1, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 1, 5), AS_ATTR_LIST("strides", 2)},
     .given = (const double[]){1, 10, 2, 3},
     .want = (const double[]){2, 3, 20, 30, 0},
     .n_want = 5},
    /* By hand: padded by one, each input is seen by its neighbours; the taps run backwards. */
    {.name = "1-D padded by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 1, 1, 3), AS_IN(F64, 1, 1, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 1, 3), AS_ATTR_LIST("pads", 1, 1)},
     .given = (const double[]){1, 2, 3, 1, 10, 100},
     .want = (const double[]){12, 123, 230},
     .n_want = 3},
    {.name = "3x3 from 8 to 16",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 16, 8, 8), AS_IN(F32, 16, 8, 3, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 8, 8, 8), AS_ATTR_LIST("pads", 1, 1, 1, 1)}},
    {.name = "3x3 stride 2 on 17x15",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3, 9, 8), AS_IN(F32, 3, 7, 3, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("input_shape", 2, 7, 17, 15), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_LIST("strides", 2, 2)}},
    {.name = "depthwise, dilated",
     .n_in = 2,
     .in = {AS_IN(F64, 1, 9, 5, 3), AS_IN(F64, 9, 1, 3, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 9, 9, 9), AS_ATTR_LIST("dilations", 2, 3), AS_ATTR_I("group", 9)}},
    /* By hand: as the first, where R lets pass 1, not 0 and not -1. */
    {.name = "masked by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 1, 2), AS_IN(F32, 1, 1, 2), AS_IN(F32, 1, 1, 5)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 1, 5), AS_ATTR_LIST("strides", 2)},
     .given = (const double[]){1, 10, 2, 3, 1, 0, 5, -1, 1},
     .want = (const double[]){2, 0, 20, 0, 0},
     .n_want = 5},
    GRADX("1x1 of 24 to 40", 2, 24, 5, 7, 40, 1, 1, 0, 1, 1),
    GRADX("1x1 stride 2 of 33 to 20", 1, 33, 9, 8, 20, 1, 1, 0, 2, 1),
    GRADX("3x3 of 32 to 64, batch 3", 3, 32, 7, 7, 64, 3, 3, 1, 1, 1),
    GRADX("3x3 of 17 to 19 on 5x13", 1, 17, 5, 13, 19, 3, 3, 1, 1, 1),
    GRADX("3x3 stride 2 of 40 to 18 on 11x14", 2, 40, 11, 14, 18, 3, 3, 1, 2, 1),
    GRADX("3x3 stride 3 of 18 to 3", 1, 18, 10, 9, 3, 3, 3, 1, 3, 1),
    GRADX("2x2 stride 3 of 20 to 5, elements that no tap sees", 1, 20, 8, 7, 5, 2, 2, 0, 3, 1),
    GRADX("3x3 dilated by 2 of 36 to 9", 1, 36, 9, 8, 9, 3, 3, 2, 1, 2),
    GRADX("3x3 stride 2, dilated by 2 of 18 to 8", 1, 18, 11, 12, 8, 3, 3, 2, 2, 2),
    GRADX("3x3 stride 2, dilated by 3 of 18 to 8", 1, 18, 13, 12, 8, 3, 3, 3, 2, 3),
    GRADX("5x5 stride 2 of 3 to 16", 1, 3, 13, 12, 16, 5, 5, 2, 2, 1),
    GRADX("7x7 stride 2 of 33 to 6", 1, 33, 15, 13, 6, 7, 7, 3, 2, 1),
    GRADX("1x1 padded by 2, wider than its taps", 1, 18, 3, 4, 5, 1, 1, 2, 1, 1),
    GRADX("8 to 40 on 42x31, in several units", 1, 40, 42, 31, 8, 3, 3, 1, 1, 1),
    GRADX("many small images", 37, 24, 3, 3, 8, 3, 3, 1, 1, 1),
    {.name = "winograd, 24 to 40 on 14x14, masked",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 40, 14, 14), AS_IN(F32, 40, 24, 3, 3), AS_IN(F32, 2, 24, 14, 14)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("input_shape", 2, 24, 14, 14), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_I("winograd", 1)}},
    {.name = "winograd, 33 to 16 on 9x6, no pads",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 16, 7, 4), AS_IN(F32, 16, 33, 3, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 33, 9, 6), AS_ATTR_I("winograd", 1)}},
    {.name = "winograd, 17 to 20 on 5x10, uneven pads",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 20, 4, 13), AS_IN(F32, 20, 17, 3, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 17, 5, 10), AS_ATTR_LIST("pads", 0, 2, 1, 3), AS_ATTR_I("winograd", 1)}},
    {.name = "winograd that is none: stride 2",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 16, 4, 4), AS_IN(F32, 16, 20, 3, 3)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 20, 7, 7), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_LIST("strides", 2, 2),
               AS_ATTR_I("winograd", 1)}},
    {.name = "uneven pads and strides",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 5, 9, 4), AS_IN(F32, 5, 18, 2, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 18, 9, 8), AS_ATTR_LIST("pads", 0, 2, 1, 3), AS_ATTR_LIST("strides", 1, 3)}},
    {.name = "two groups of 17 to 8, masked",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 16, 6, 5), AS_IN(F32, 16, 17, 3, 3), AS_IN(F32, 2, 34, 6, 5)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("input_shape", 2, 34, 6, 5), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_I("group", 2)}},
    {.name = "four groups of 4 to 8, stride 2",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 32, 4, 3), AS_IN(F32, 32, 4, 3, 3)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 16, 7, 6), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_LIST("strides", 2, 2),
               AS_ATTR_I("group", 4)}},
    {.name = "depthwise 40, masked",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 40, 6, 7), AS_IN(F32, 40, 1, 3, 3), AS_IN(F32, 2, 40, 6, 7)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("input_shape", 2, 40, 6, 7), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_I("group", 40)}},
    {.name = "depthwise 35, stride 2",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 35, 5, 4), AS_IN(F32, 35, 1, 3, 3)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 35, 10, 7), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_LIST("strides", 2, 2),
               AS_ATTR_I("group", 35)}},
    {.name = "1-D of 33 to 20, stride 2",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 20, 9), AS_IN(F32, 20, 33, 5)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("input_shape", 3, 33, 17), AS_ATTR_LIST("pads", 2, 2), AS_ATTR_LIST("strides", 2)}},
    {.name = "3-D",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 3, 3, 4, 2), AS_IN(F32, 3, 2, 2, 2, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 2, 4, 5, 3)}},
    {.name = "no output channels",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 0, 2, 2), AS_IN(F32, 0, 3, 3, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 3, 4, 4)}},
};

const as_op as_op_convgradx = {
    .name = "assay.ConvGradX",
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
