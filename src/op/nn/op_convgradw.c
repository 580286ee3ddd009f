/* op_convgradw.c - assay.ConvGradW(X, dY): the gradient of Conv with respect to W, and on demand that with respect to B.
 *
 * weight_shape holds all sizes of W, because several kernels may give one output size.  The other
 * attributes are Conv's.  The second output is the sum of each channel of dY, which the kernels read anyway. */
#include "op/nn/taps.h"

static const as_attr_def attrs[] = {AS_CONV_ATTRS, {.name = "weight_shape", .kind = AS_ATTR_INTS, .required = true}, {0}};

static assay_status shapes_of(assay_env *env, const as_node_ctx *n, as_conv_shapes *out)
{
    as_shape w;
    AS_TRY(as_attr_shape(env, n, "weight_shape", n->in[0].dtype, &w));
    return as_conv_grad_read(env, n, &n->in[0].shape, &w, &n->in[1].shape, out);
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_conv_shapes s;
    AS_TRY(as_rule_dtype(env, n, 0, 2, AS_SET_FLOAT));
    AS_TRY(shapes_of(env, n, &s));
    out[0] = as_info(n->in[0].dtype, &s.w);
    out[1] = as_info(n->in[0].dtype, &AS_SHAPE(s.w.dim[0]));
    return ASSAY_OK;
}

/* 2 * count(dY) * C/group * kernel flops: the multiply-adds of the forward pass, the whole kernel counted; for the bias count(dY)
 * more. */
static as_cost cost(const as_node_ctx *n)
{
    as_conv_shapes s;
    as_cost        cost = as_cost_bytes(n);
    if (shapes_of(NULL, n, &s) == ASSAY_OK)
        cost.flops = as_sat_add(as_window_flops(&s.window, &s.y, s.w.dim[1]), n->n_out > 1 ? as_sat_count(&s.y) : 0);
    return cost;
}

/* The sum of channel m. */
static double bias_of(const as_conv_shapes *s, const as_view *dy, int64_t m)
{
    int64_t o[3];
    double  sum = 0.0;
    for (int64_t image = 0; image < s->x.dim[0]; image++) {
        as_view plane = as_view_fix(dy, (int64_t[]){image, m}, 2);
        AS_EACH3(o, s->window.out)
        sum += as_view_at(&plane, o);
    }
    return sum;
}

/* Tap k of the kernel from channel c of the group to channel m: the sum of every output times the input it saw through the tap. */
static double element(const as_conv_shapes *s, const as_view *x, const as_view *dy, int64_t m, int64_t c, const int64_t *k)
{
    const as_window *win = &s->window;
    int64_t          from = m / (s->w.dim[0] / win->group) * s->w.dim[1] + c, o[3], p[3];
    double           sum = 0.0;
    for (int64_t image = 0; image < s->x.dim[0]; image++) {
        as_view plane = as_view_fix(x, (int64_t[]){image, from}, 2), d_plane = as_view_fix(dy, (int64_t[]){image, m}, 2);
        AS_EACH3(o, win->out)
        if (as_tap_at(win, o, k, p))
            sum += as_view_at(&plane, p) * as_view_at(&d_plane, o);
    }
    return sum;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_conv_shapes s;
    AS_TRY(shapes_of(env, n, &s));
    int64_t k[3];
    for (int64_t m = 0; m < s.w.dim[0]; m++)
        for (int64_t c = 0; c < s.w.dim[1]; c++) {
            as_view kernel = as_view_fix(&out[0], (int64_t[]){m, c}, 2);
            AS_EACH3(k, s.window.kernel)
            {
                AS_GO_ON(env, n);
                as_view_put(&kernel, k, element(&s, &in[0], &in[1], m, c, k));
            }
        }
    for (int64_t m = 0; n->n_out > 1 && m < s.w.dim[0]; m++)
        as_view_set(&out[1], m, bias_of(&s, &in[1], m));
    return ASSAY_OK;
}

/* n images of c channels of h x w under m kernels of kh x kw. */
#define GRADW(name_, n_, c_, h_, w_, m_, kh_, kw_, pad_, stride_, dilation_)                                                   \
    {                                                                                                                          \
        .name = name_, .n_in = 2,                                                                                              \
        .in = {AS_IN(F32, n_, c_, h_, w_), AS_IN(F32, n_, m_, ((h_) + 2 * (pad_) - ((kh_)-1) * (dilation_)-1) / (stride_) + 1, \
                                                 ((w_) + 2 * (pad_) - ((kw_)-1) * (dilation_)-1) / (stride_) + 1)},            \
        .n_attrs = 4, .attrs = {                                                                                               \
            AS_ATTR_LIST("weight_shape", m_, c_, kh_, kw_),                                                                    \
            AS_ATTR_LIST("pads", pad_, pad_, pad_, pad_),                                                                      \
            AS_ATTR_LIST("strides", stride_, stride_),                                                                         \
            AS_ATTR_LIST("dilations", dilation_, dilation_)                                                                    \
        }                                                                                                                      \
    }

static const as_case cases[] = {
    /* By hand: dY [1,10] with stride 2 on [1,2,3,4,5]: tap 0 saw 1 and 3, tap 1 saw 2 and 4. */
    {.name = "1-D by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 5), AS_IN(F32, 1, 1, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("weight_shape", 1, 1, 2), AS_ATTR_LIST("strides", 2)},
     .given = (const double[]){1, 2, 3, 4, 5, 1, 10},
     .want = (const double[]){31, 42},
     .n_want = 2},
    /* By hand: padded by one, dY = 1, 10, 100: the outer taps miss one output each. */
    {.name = "1-D padded by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 1, 1, 3), AS_IN(F64, 1, 1, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("weight_shape", 1, 1, 3), AS_ATTR_LIST("pads", 1, 1)},
     .given = (const double[]){1, 2, 3, 1, 10, 100},
     .want = (const double[]){210, 321, 32},
     .n_want = 3},
    {.name = "3x3 from 8 to 16",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 8, 8, 8), AS_IN(F32, 1, 16, 8, 8)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("weight_shape", 16, 8, 3, 3), AS_ATTR_LIST("pads", 1, 1, 1, 1)}},
    {.name = "3x3 stride 2 on 17x15",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 7, 17, 15), AS_IN(F32, 2, 3, 9, 8)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("weight_shape", 3, 7, 3, 3), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_LIST("strides", 2, 2)}},
    {.name = "depthwise, dilated",
     .n_in = 2,
     .in = {AS_IN(F64, 1, 9, 9, 9), AS_IN(F64, 1, 9, 5, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("weight_shape", 9, 1, 3, 3), AS_ATTR_LIST("dilations", 2, 3), AS_ATTR_I("group", 9)}},
    GRADW("first layer 1 to 32", 3, 1, 9, 11, 32, 3, 3, 1, 1, 1),
    GRADW("first layer 3 to 33", 2, 3, 10, 8, 33, 3, 3, 1, 1, 1),
    GRADW("5x5 of 1 to 8", 1, 1, 28, 28, 8, 5, 5, 0, 1, 1),
    GRADW("5x5 stride 2 of 3 to 16", 2, 3, 13, 12, 16, 5, 5, 2, 2, 1),
    GRADW("7x7 stride 2 of 3 to 20", 1, 3, 21, 23, 20, 7, 7, 3, 2, 1),
    GRADW("4 to 9, dilated by 2", 1, 4, 9, 8, 9, 3, 3, 2, 1, 2),
    GRADW("1x1 of 24 to 40", 2, 24, 5, 7, 40, 1, 1, 0, 1, 1),
    GRADW("1x1 stride 2 of 33 to 20", 3, 33, 9, 8, 20, 1, 1, 0, 2, 1),
    GRADW("3x3 of 32 to 64, batch 3", 3, 32, 7, 7, 64, 3, 3, 1, 1, 1),
    GRADW("3x3 of 17 to 49 on 5x13", 1, 17, 5, 13, 49, 3, 3, 1, 1, 1),
    GRADW("3x3 stride 2 of 13 to 18 on 11x14", 2, 13, 11, 14, 18, 3, 3, 1, 2, 1),
    GRADW("3x3 dilated by 2 of 36 to 9", 1, 36, 9, 8, 9, 3, 3, 2, 1, 2),
    GRADW("3x3 stride 2, dilated by 3 of 12 to 8", 1, 12, 13, 12, 8, 3, 3, 3, 2, 3),
    GRADW("1x1 padded by 2, wider than its taps", 1, 7, 3, 4, 5, 1, 1, 2, 1, 1),
    GRADW("taps that see only padding", 1, 6, 1, 2, 5, 3, 3, 1, 1, 1),
    GRADW("8 to 20 on 42x31, in several units", 1, 8, 42, 31, 20, 3, 3, 1, 1, 1),
    GRADW("9 to 12 on rows of 301", 1, 9, 3, 301, 12, 3, 3, 1, 1, 1),
    GRADW("many small images, in several shards", 150, 8, 3, 3, 8, 3, 3, 1, 1, 1),
    {.name = "uneven pads and strides",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 18, 9, 8), AS_IN(F32, 1, 5, 9, 4)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("weight_shape", 5, 18, 2, 3), AS_ATTR_LIST("pads", 0, 2, 1, 3), AS_ATTR_LIST("strides", 1, 3)}},
    {.name = "two groups of 17 to 40",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 34, 6, 5), AS_IN(F32, 2, 80, 6, 5)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("weight_shape", 80, 17, 3, 3), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_I("group", 2)}},
    {.name = "four groups of 4 to 8, stride 2",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 16, 7, 6), AS_IN(F32, 1, 32, 4, 3)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_LIST("weight_shape", 32, 4, 3, 3), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_LIST("strides", 2, 2),
               AS_ATTR_I("group", 4)}},
    {.name = "two outputs a channel, 6 groups",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 6, 5, 5), AS_IN(F32, 1, 12, 3, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("weight_shape", 12, 1, 3, 3), AS_ATTR_I("group", 6)}},
    {.name = "depthwise 40, batch 3",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 40, 6, 7), AS_IN(F32, 3, 40, 6, 7)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("weight_shape", 40, 1, 3, 3), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_I("group", 40)}},
    {.name = "depthwise 67, 5x5, stride 2",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 67, 10, 7), AS_IN(F32, 1, 67, 5, 4)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_LIST("weight_shape", 67, 1, 5, 5), AS_ATTR_LIST("pads", 2, 2, 2, 2), AS_ATTR_LIST("strides", 2, 2),
               AS_ATTR_I("group", 67)}},
    {.name = "1-D of 33 to 20, stride 2",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 33, 17), AS_IN(F32, 3, 20, 9)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("weight_shape", 20, 33, 5), AS_ATTR_LIST("pads", 2, 2), AS_ATTR_LIST("strides", 2)}},
    {.name = "3-D",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 2, 4, 5, 3), AS_IN(F32, 1, 3, 3, 4, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("weight_shape", 3, 2, 2, 2, 2)}},
    {.name = "no channels in",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 0, 4, 4), AS_IN(F32, 1, 2, 2, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("weight_shape", 2, 0, 3, 3)}},
    {.name = "no images",
     .n_in = 2,
     .in = {AS_IN(F32, 0, 3, 4, 4), AS_IN(F32, 0, 2, 2, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("weight_shape", 2, 3, 3, 3)}},
};

const as_op as_op_convgradw = {
    .name = "assay.ConvGradW",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 2,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    /* Its sums run over batch and plane: ten times as long as a forward sum. */
    .tolerance = 5e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
