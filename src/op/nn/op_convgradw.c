/* op_convgradw.c - assay.ConvGradW(X, dY): the gradient of Conv with respect to W.
 *
 * weight_shape holds all sizes of W, because several kernels may give one output size.  The other
 * attributes are Conv's. */
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
    return ASSAY_OK;
}

/* 2 * count(dY) * C/group * kernel flops: the multiply-adds of the forward pass, the whole kernel counted. */
static as_cost cost(const as_node_ctx *n)
{
    as_conv_shapes s;
    return shapes_of(NULL, n, &s) == ASSAY_OK ? as_conv_cost(n, &s, &s.y) : as_cost_bytes(n);
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
    return ASSAY_OK;
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
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    /* Its sums run over batch and plane: ten times as long as a forward sum. */
    .tolerance = 5e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
