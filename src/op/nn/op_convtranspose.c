/* op_convtranspose.c - the transposed convolution: every input element spreads the kernel over the output.
 *
 * X is [N, C, ...] and W is [C, M/group, ...].  output_shape, when given, decides the pads, whatever `pads` says. */
#include "op/nn/taps.h"

static const as_attr_def attrs[] = {
    {.name = "auto_pad", .kind = AS_ATTR_TEXT},
    {.name = "dilations", .kind = AS_ATTR_INTS},
    {.name = "group", .kind = AS_ATTR_INT},
    {.name = "kernel_shape", .kind = AS_ATTR_INTS},
    {.name = "output_padding", .kind = AS_ATTR_INTS},
    {.name = "output_shape", .kind = AS_ATTR_INTS},
    {.name = "pads", .kind = AS_ATTR_INTS},
    {.name = "strides", .kind = AS_ATTR_INTS},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_conv_shapes s;
    AS_TRY(as_rule_dtype(env, n, 0, 3, AS_SET_FLOAT));
    AS_TRY(as_transposed_read(env, n, &n->in[0].shape, &n->in[1].shape, &s));
    AS_TRY(as_conv_bias(env, n, 2, &s));
    out[0] = as_info(n->in[0].dtype, &s.y);
    return ASSAY_OK;
}

/* 2 * count(X) * M/group * kernel flops, even where the kernel is cut off; count(Y) more for the bias. */
static as_cost cost(const as_node_ctx *n)
{
    as_conv_shapes s;
    return as_transposed_read(NULL, n, &n->in[0].shape, &n->in[1].shape, &s) == ASSAY_OK ? as_conv_cost(n, &s, &s.x)
                                                                                         : as_cost_bytes(n);
}

/* One output: what the planes of the group spread to position p of channel m. */
static double element(const as_conv_shapes *s, const as_view *x, const as_view *w, int64_t image, int64_t m, const int64_t *p)
{
    int64_t each = s->x.dim[1] / s->window.group, first = m / s->w.dim[1] * each, k[3], o[3];
    double  sum = 0.0;
    for (int64_t c = first; c < first + each; c++) {
        as_view plane = as_view_fix(x, (int64_t[]){image, c}, 2), kernel = as_view_fix(w, (int64_t[]){c, m % s->w.dim[1]}, 2);
        AS_EACH3(k, s->window.kernel)
        if (as_tap_from(&s->window, p, k, o))
            sum += as_view_at(&plane, o) * as_view_at(&kernel, k);
    }
    return sum;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_conv_shapes s;
    AS_TRY(as_transposed_read(env, n, &n->in[0].shape, &n->in[1].shape, &s));
    int64_t p[3];
    for (int64_t image = 0; image < s.y.dim[0]; image++)
        for (int64_t m = 0; m < s.y.dim[1]; m++) {
            as_view plane = as_view_fix(&out[0], (int64_t[]){image, m}, 2);
            double  bias = as_in_has(n, 2) ? as_view_get(&in[2], m) : 0.0;
            AS_EACH3(p, s.window.in)
            {
                AS_GO_ON(env, n);
                as_view_put(&plane, p, element(&s, &in[0], &in[1], image, m, p) + bias);
            }
        }
    return ASSAY_OK;
}

/* Its transpose is a Conv from dY to dX, whose kernel gradient is that of W; X and dY change places. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    int dy = d_out[0];
    if (dy < 0)
        return ASSAY_OK;
    as_conv_shapes s;
    AS_TRY(as_transposed_read(b->env, n, &n->in[0].shape, &n->in[1].shape, &s));
    const as_window *w = &s.window;
    size_t           count = (size_t)w->n_axes;
    int64_t          pads[6];
    for (int i = 0; i < w->n_axes; i++) {
        /* As many pads as the last window of X needs; without pads, the remainder must be less than a stride. */
        int64_t end = w->stride[i] * (w->out[i] - 1) + (w->kernel[i] - 1) * w->dilation[i] + 1 - w->in[i] - w->pad_begin[i];
        if (end <= -w->stride[i])
            return as_fail(b->env, ASSAY_UNSUPPORTED,
                           "%s '%s': on spatial axis %d the output is %lld beyond what X reaches: no gradient", n->op->name,
                           n->name ? n->name : "", i, (long long)-end);
        pads[i] = w->pad_begin[i];
        pads[i + w->n_axes] = end > 0 ? end : 0;
    }
    as_attr list[] = {{.name = "pads", .kind = AS_ATTR_INTS, .ints = pads, .n = 2 * count},
                      {.name = "strides", .kind = AS_ATTR_INTS, .ints = w->stride, .n = count},
                      {.name = "dilations", .kind = AS_ATTR_INTS, .ints = w->dilation, .n = count},
                      AS_ATTR_I("group", w->group),
                      {.name = "weight_shape", .kind = AS_ATTR_INTS, .ints = s.w.dim, .n = (size_t)s.w.rank}};
    d_in[0] = b->node(b, "Conv", (int[]){dy, in[1]}, 2, list, 4, NULL, 1);
    d_in[1] = b->node(b, "assay.ConvGradW", (int[]){dy, in[0]}, 2, list, 5, NULL, 1);
    if (as_in_has(n, 2))
        d_in[2] = as_conv_bias_grad(b, dy, s.x.rank);
    return ASSAY_OK;
}

/* n images of c channels on h x w, to m channels per group; `more` is the output_padding. */
#define SPREAD(name_, n_, c_, h_, w_, m_, group_, k_, pad_, stride_, dilation_, more_)                                        \
    {                                                                                                                         \
        .name = name_, .no_grad = true, .n_in = 3,                                                                            \
        .in = {AS_IN(F32, n_, c_, h_, w_), AS_IN(F32, c_, m_, k_, k_), AS_IN(F32, (m_) * (group_))}, .n_attrs = 5, .attrs = { \
            AS_ATTR_I("group", group_),                                                                                       \
            AS_ATTR_LIST("pads", pad_, pad_, pad_, pad_),                                                                     \
            AS_ATTR_LIST("strides", stride_, stride_),                                                                        \
            AS_ATTR_LIST("dilations", dilation_, dilation_),                                                                  \
            AS_ATTR_LIST("output_padding", more_, more_)                                                                      \
        }                                                                                                                     \
    }

static const as_case cases[] = {
    /* By hand: 1 spreads [1, 10], 2 spreads [2, 20] one further. */
    {.name = "1-D by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 1, 2), AS_IN(F32, 1, 1, 2), AS_IN(F32, 1)},
     .given = (const double[]){1, 2, 1, 10, 0.5},
     .want = (const double[]){1.5, 12.5, 20.5},
     .n_want = 3},
    /* By hand: stride 3 leaves a gap, output_padding an empty end; the pad removes the first element. */
    {.name = "strided by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 1, 1, 2), AS_IN(F64, 1, 1, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("strides", 3), AS_ATTR_LIST("output_padding", 1), AS_ATTR_LIST("pads", 1, 0)},
     .given = (const double[]){1, 2, 1, 10},
     .want = (const double[]){10, 0, 2, 20, 0},
     .n_want = 5},
    /* By hand: two outputs from each of two groups. */
    {.name = "groups by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 2, 1), AS_IN(F32, 2, 2, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("group", 2)},
     .given = (const double[]){1, 2, 3, 4, 5, 6},
     .want = (const double[]){3, 4, 10, 12},
     .n_want = 4},
    /* By hand: SAME keeps 4 of the 5 that stride 2 gives: UPPER cuts the end. */
    {.name = "SAME_UPPER by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 2), AS_IN(F32, 1, 1, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("strides", 2), AS_ATTR_S("auto_pad", "SAME_UPPER")},
     .given = (const double[]){1, 2, 1, 10, 100},
     .want = (const double[]){1, 10, 102, 20},
     .n_want = 4},
    {.name = "SAME_LOWER by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 2), AS_IN(F32, 1, 1, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("strides", 2), AS_ATTR_S("auto_pad", "SAME_LOWER")},
     .given = (const double[]){1, 2, 1, 10, 100},
     .want = (const double[]){10, 102, 20, 200},
     .n_want = 4},
    /* By hand: an output_shape of one more than X reaches. */
    {.name = "output_shape by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 1, 1, 2), AS_IN(F64, 1, 1, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("strides", 2), AS_ATTR_LIST("output_shape", 5)},
     .given = (const double[]){1, 2, 1, 10},
     .want = (const double[]){1, 10, 2, 20, 0},
     .n_want = 5},
    /* By hand: an output_shape of two less cuts one at each end. */
    {.name = "small output_shape by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 1, 1, 2), AS_IN(F64, 1, 1, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("strides", 2), AS_ATTR_LIST("output_shape", 2)},
     .given = (const double[]){1, 2, 1, 10},
     .want = (const double[]){10, 2},
     .n_want = 2},
    {.name = "3x3 from 3 to 4",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3, 4, 5), AS_IN(F32, 3, 4, 3, 3), AS_IN(F32, 4)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("strides", 2, 2), AS_ATTR_LIST("pads", 1, 1, 1, 1)}},
    {.name = "groups, dilated, uneven",
     .n_in = 3,
     .in = {AS_IN(F64, 1, 4, 3, 4), AS_IN(F64, 4, 3, 2, 3), AS_IN(F64, 6)},
     .n_attrs = 5,
     .attrs = {AS_ATTR_I("group", 2), AS_ATTR_LIST("strides", 3, 1), AS_ATTR_LIST("pads", 0, 2, 1, 1),
               AS_ATTR_LIST("dilations", 2, 2), AS_ATTR_LIST("output_padding", 2, 0)}},
    {.name = "3-D",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 2, 2, 3, 2), AS_IN(F32, 2, 3, 2, 1, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("strides", 1, 2, 2)}},
    SPREAD("2x2 stride 2 of 24 to 40", 2, 24, 5, 7, 40, 1, 2, 0, 2, 1, 0),
    SPREAD("4x4 stride 2 of 17 to 33", 1, 17, 6, 5, 33, 1, 4, 1, 2, 1, 0),
    SPREAD("3x3 stride 2 of 8 to 18, output_padding 1", 1, 8, 5, 9, 18, 1, 3, 1, 2, 1, 1),
    SPREAD("3x3 stride 1 of 40 to 19, batch 3", 3, 40, 4, 5, 19, 1, 3, 1, 1, 1, 0),
    SPREAD("2x2 stride 3 of 5 to 20, places with the bias alone", 1, 5, 4, 3, 20, 1, 2, 0, 3, 1, 2),
    SPREAD("3x3 stride 2, dilated by 2 of 9 to 36", 1, 9, 5, 4, 36, 1, 3, 2, 2, 2, 0),
    SPREAD("3x3 stride 2, dilated by 3 of 8 to 17", 1, 8, 5, 6, 17, 1, 3, 3, 2, 3, 1),
    SPREAD("1x1 cut by 2", 1, 18, 7, 6, 20, 1, 1, 2, 1, 1, 0),
    SPREAD("8 to 40 on 42x31, in several units", 1, 8, 42, 31, 40, 1, 2, 0, 2, 1, 0),
    SPREAD("many small images of 16 to 3", 37, 16, 3, 3, 3, 1, 4, 1, 2, 1, 0),
    SPREAD("two groups of 8 to 17", 2, 16, 6, 5, 17, 2, 3, 1, 1, 1, 0),
    SPREAD("four groups of 8 to 4, stride 2", 1, 32, 4, 3, 4, 4, 3, 1, 2, 1, 1),
    SPREAD("depthwise 40, stride 2", 2, 40, 5, 4, 1, 40, 4, 1, 2, 1, 0),
    SPREAD("depthwise 35", 1, 35, 6, 7, 1, 35, 3, 1, 1, 1, 0),
    {.name = "1-D of 20 to 33, stride 2",
     .no_grad = true,
     .n_in = 3,
     .in = {AS_IN(F32, 3, 20, 9), AS_IN(F32, 20, 33, 5), AS_IN(F32, 33)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("pads", 2, 1), AS_ATTR_LIST("strides", 2), AS_ATTR_LIST("output_padding", 1)}},
    {.name = "SAME_UPPER of 8 to 18",
     .no_grad = true,
     .n_in = 2,
     .in = {AS_IN(F32, 1, 8, 5, 6), AS_IN(F32, 8, 18, 3, 4)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("strides", 2, 3), AS_ATTR_S("auto_pad", "SAME_UPPER")}},
    {.name = "output_shape beyond the reach, 8 to 18",
     .no_grad = true,
     .n_in = 3,
     .in = {AS_IN(F32, 1, 8, 4, 3), AS_IN(F32, 8, 18, 2, 2), AS_IN(F32, 18)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("strides", 2, 2), AS_ATTR_LIST("output_shape", 11, 5)}},
    {.name = "f16", .n_in = 2, .in = {AS_IN(F16, 1, 2, 3, 3), AS_IN(F16, 2, 2, 2, 2)}},
    {.name = "no images", .n_in = 2, .in = {AS_IN(F32, 0, 2, 3, 3), AS_IN(F32, 2, 2, 2, 2)}},
};

const as_op as_op_convtranspose = {
    .name = "ConvTranspose",
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
