/* op_conv.c - convolution over 1 to 3 spatial axes with groups, strides, dilations and pads. */
#include "op/nn/taps.h"

static const as_attr_def attrs[] = {AS_CONV_ATTRS, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_conv_shapes s;
    AS_TRY(as_rule_dtype(env, n, 0, 3, AS_SET_FLOAT));
    AS_TRY(as_conv_read(env, n, &n->in[0].shape, &n->in[1].shape, &s));
    AS_TRY(as_conv_bias(env, n, 2, &s));
    out[0] = as_info(n->in[0].dtype, &s.y);
    return ASSAY_OK;
}

/* 2 * count(Y) * C/group * kernel flops, count(Y) more for the bias.  By convention the whole kernel counts for every
 * output, even where it lies on padding: what can be skipped there depends on the algorithm, not on the definition. */
static as_cost cost(const as_node_ctx *n)
{
    as_conv_shapes s;
    return as_conv_read(NULL, n, &n->in[0].shape, &n->in[1].shape, &s) == ASSAY_OK ? as_conv_cost(n, &s, &s.y) : as_cost_bytes(n);
}

/* One output: the planes of the group under the kernels of channel m, at output o. */
static double element(const as_conv_shapes *s, const as_view *x, const as_view *w, int64_t image, int64_t m, const int64_t *o)
{
    const as_window *win = &s->window;
    int64_t          first = m / (s->w.dim[0] / win->group) * s->w.dim[1], k[3], p[3];
    double           sum = 0.0;
    for (int64_t c = 0; c < s->w.dim[1]; c++) {
        as_view plane = as_view_fix(x, (int64_t[]){image, first + c}, 2), kernel = as_view_fix(w, (int64_t[]){m, c}, 2);
        AS_EACH3(k, win->kernel)
        if (as_tap_at(win, o, k, p))
            sum += as_view_at(&plane, p) * as_view_at(&kernel, k);
    }
    return sum;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_conv_shapes s;
    AS_TRY(as_conv_read(env, n, &n->in[0].shape, &n->in[1].shape, &s));
    int64_t o[3];
    for (int64_t image = 0; image < s.y.dim[0]; image++)
        for (int64_t m = 0; m < s.y.dim[1]; m++) {
            as_view plane = as_view_fix(&out[0], (int64_t[]){image, m}, 2);
            double  bias = as_in_has(n, 2) ? as_view_get(&in[2], m) : 0.0;
            AS_EACH3(o, s.window.out)
            {
                AS_GO_ON(env, n);
                as_view_put(&plane, o, element(&s, &in[0], &in[1], image, m, o) + bias);
            }
        }
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    int dy = d_out[0];
    if (dy < 0)
        return ASSAY_OK;
    const as_shape *x = &n->in[0].shape, *w = &n->in[1].shape;
    as_attr         list[AS_COUNT(attrs)]; /* the shape takes the place of the NULL name */
    int             count = as_attrs_repeat(n, "input_shape", x->dim, (size_t)x->rank, list);
    d_in[0] = b->node(b, "assay.ConvGradX", (int[]){dy, in[1]}, 2, list, count, NULL, 1);
    count = as_attrs_repeat(n, "weight_shape", w->dim, (size_t)w->rank, list);
    d_in[1] = b->node(b, "assay.ConvGradW", (int[]){in[0], dy}, 2, list, count, NULL, 1);
    if (as_in_has(n, 2)) /* where a kernel gives both, the plan makes one node of them */
        d_in[2] = as_conv_bias_grad(b, dy, x->rank);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* numpy: x = arange(16).reshape(4,4), 3x3 ones: sums of the nine neighbours, zeros outside, plus 1. */
    {.name = "3x3 of ones, padded",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 1, 4, 4), AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1)},
     .given = (const double[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
     .want = (const double[]){11, 19, 25, 19, 28, 46, 55, 40, 52, 82, 91, 64, 43, 67, 73, 51},
     .n_want = 16},
    /* By hand: kernel [1, -2] on [1,2,4,7,11,16] with stride 2 and dilation 3: 1-2*7, 4-2*16. */
    {.name = "1-D strided and dilated by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 1, 1, 6), AS_IN(F64, 1, 1, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("strides", 2), AS_ATTR_LIST("dilations", 3)},
     .given = (const double[]){1, 2, 4, 7, 11, 16, 1, -2},
     .want = (const double[]){-13, -28},
     .n_want = 2},
    /* By hand: two groups of one channel, each scaled by its own 1x1 kernel. */
    {.name = "groups by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 2, 1, 2), AS_IN(F32, 2, 1, 1, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("group", 2)},
     .given = (const double[]){1, 2, 3, 4, 10, 100},
     .want = (const double[]){10, 20, 300, 400},
     .n_want = 4},
    /* By hand: 4 in, stride 2 gives 2 out; one pad, at the end for UPPER: 1+2+3, 3+4+0. */
    {.name = "SAME_UPPER by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("strides", 2), AS_ATTR_S("auto_pad", "SAME_UPPER")},
     .given = (const double[]){1, 2, 3, 4, 1, 1, 1},
     .want = (const double[]){6, 7},
     .n_want = 2},
    /* By hand: the pad at the beginning: 0+1+2, 2+3+4. */
    {.name = "SAME_LOWER by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("strides", 2), AS_ATTR_S("auto_pad", "SAME_LOWER")},
     .given = (const double[]){1, 2, 3, 4, 1, 1, 1},
     .want = (const double[]){3, 9},
     .n_want = 2},
    /* numpy: each group's channel padded by np.pad, sliced with the strides and dilations, times its kernel, summed. */
    {.name = "groups, pads, strides, dilations as numpy's",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 2, 3, 4), AS_IN(F32, 2, 1, 2, 2), AS_IN(F32, 2)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_I("group", 2), AS_ATTR_LIST("pads", 1, 0, 0, 2), AS_ATTR_LIST("strides", 2, 1),
               AS_ATTR_LIST("dilations", 1, 2)},
     .given = (const double[]){-5, 2, -2, 5, 1,  -3, 4, 0,  -4, 3, -1, -5, 2, -2, 5,  1,   -3,
                               4,  0, -4, 3, -1, -5, 2, -3, 2,  0, -2, 3,  1, -1, -3, 0.5, -1},
     .want = (const double[]){4.5, -9.5, 0.5, 0.5, 7.5, 19.5, -11.5, 0.5, -18, -2, -6, -2, 2, 2, 4, -15},
     .n_want = 16},
    /* numpy, the same way over three axes. */
    {.name = "3-D as numpy's",
     .n_in = 2,
     .in = {AS_IN(F64, 1, 1, 2, 3, 2), AS_IN(F64, 1, 1, 2, 2, 1)},
     .given = (const double[]){0, 5, 10, 2, 7, 12, 4, 9, 1, 6, 11, 3, 1, 2, -1, 3},
     .want = (const double[]){19, 18, 56, 29},
     .n_want = 4},
    {.name = "1x1 of one channel", .n_in = 2, .in = {AS_IN(F32, 1, 1, 1, 1), AS_IN(F32, 1, 1, 1, 1)}},
    {.name = "1x1 from 3 to 17", .n_in = 3, .in = {AS_IN(F32, 2, 3, 7, 9), AS_IN(F32, 17, 3, 1, 1), AS_IN(F32, 17)}},
    {.name = "3x3 from 8 to 16",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 8, 8, 8), AS_IN(F32, 16, 8, 3, 3), AS_IN(F32, 16)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1)}},
    {.name = "3x3 from 7 to 9 on 15x17",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 7, 15, 17), AS_IN(F32, 9, 7, 3, 3), AS_IN(F32, 9)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_LIST("kernel_shape", 3, 3)}},
    {.name = "5x5 from 1 to 8 on 28x28", .n_in = 3, .in = {AS_IN(F32, 1, 1, 28, 28), AS_IN(F32, 8, 1, 5, 5), AS_IN(F32, 8)}},
    {.name = "3x3 stride 2 on 33x31",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 3, 33, 31), AS_IN(F32, 4, 3, 3, 3), AS_IN(F32, 4)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_LIST("strides", 2, 2)}},
    {.name = "uneven pads and strides",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 2, 9, 8), AS_IN(F32, 3, 2, 2, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("pads", 0, 2, 1, 3), AS_ATTR_LIST("strides", 1, 3)}},
    {.name = "dilated 2x3",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 2, 16, 17), AS_IN(F32, 3, 2, 3, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("dilations", 2, 3)}},
    {.name = "depthwise 3x3 of 9",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 9, 7, 7), AS_IN(F32, 9, 1, 3, 3), AS_IN(F32, 9)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("group", 9), AS_ATTR_LIST("pads", 1, 1, 1, 1)}},
    {.name = "three groups, strided, dilated",
     .n_in = 3,
     .in = {AS_IN(F64, 2, 6, 9, 8), AS_IN(F64, 9, 2, 3, 2), AS_IN(F64, 9)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_I("group", 3), AS_ATTR_LIST("pads", 2, 1, 0, 1), AS_ATTR_LIST("strides", 2, 1),
               AS_ATTR_LIST("dilations", 2, 3)}},
    {.name = "SAME_UPPER 2-D",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 2, 7, 8), AS_IN(F32, 2, 2, 3, 4)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("strides", 2, 3), AS_ATTR_S("auto_pad", "SAME_UPPER")}},
    {.name = "VALID 2-D",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 2, 7, 8), AS_IN(F32, 2, 2, 3, 4)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("strides", 2, 3), AS_ATTR_S("auto_pad", "VALID")}},
    {.name = "1-D of 31",
     .n_in = 3,
     .in = {AS_IN(F64, 2, 3, 31), AS_IN(F64, 5, 3, 4), AS_IN(F64, 5)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("pads", 3, 0), AS_ATTR_LIST("strides", 3)}},
    {.name = "3-D",
     .n_in = 3,
     .in = {AS_IN(F64, 1, 2, 4, 5, 3), AS_IN(F64, 3, 2, 2, 3, 2), AS_IN(F64, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("pads", 1, 0, 1, 0, 1, 1), AS_ATTR_LIST("strides", 2, 1, 1), AS_ATTR_LIST("dilations", 1, 2, 1)}},
    {.name = "no images", .n_in = 3, .in = {AS_IN(F32, 0, 3, 7, 7), AS_IN(F32, 4, 3, 3, 3), AS_IN(F32, 4)}},
    {.name = "no channels", .n_in = 3, .in = {AS_IN(F32, 1, 0, 4, 4), AS_IN(F32, 2, 0, 3, 3), AS_IN(F32, 2)}},
};

const as_op as_op_conv = {
    .name = "Conv",
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
    .n_cases = AS_COUNT(cases), /* as MatMul: a kernel may compute it as a matrix product */
};
