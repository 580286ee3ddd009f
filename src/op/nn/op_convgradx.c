/* op_convgradx.c - assay.ConvGradX(dY, W): the gradient of Conv with respect to X.
 *
 * input_shape holds all sizes of X, because the output size does not tell how many elements a stride
 * did not reach.  The other attributes are Conv's.  Written as a gather over Y, although a scatter
 * defines it, so that every element is one sum in double. */
#include "op/nn/taps.h"

static const as_attr_def attrs[] = {AS_CONV_ATTRS, {.name = "input_shape", .kind = AS_ATTR_INTS, .required = true}, {0}};

static assay_status shapes_of(assay_env *env, const as_node_ctx *n, as_conv_shapes *out)
{
    as_shape x;
    AS_TRY(as_attr_shape(env, n, "input_shape", n->in[0].dtype, &x));
    return as_conv_grad_read(env, n, &x, &n->in[1].shape, &n->in[0].shape, out);
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_conv_shapes s;
    AS_TRY(as_rule_dtype(env, n, 0, 2, AS_SET_FLOAT));
    AS_TRY(shapes_of(env, n, &s));
    out[0] = as_info(n->in[0].dtype, &s.x);
    return ASSAY_OK;
}

/* 2 * count(dY) * C/group * kernel flops: the multiply-adds of the forward pass, the whole kernel counted. */
static as_cost cost(const as_node_ctx *n)
{
    as_conv_shapes s;
    return shapes_of(NULL, n, &s) == ASSAY_OK ? as_conv_cost(n, &s, &s.y) : as_cost_bytes(n);
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
            as_view plane = as_view_fix(&out[0], (int64_t[]){image, c}, 2);
            AS_EACH3(p, s.window.in)
            {
                AS_GO_ON(env, n);
                as_view_put(&plane, p, element(&s, &in[0], &in[1], image, c, p));
            }
        }
    return ASSAY_OK;
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
    {.name = "no output channels",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 0, 2, 2), AS_IN(F32, 0, 3, 3, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 3, 4, 4)}},
};

const as_op as_op_convgradx = {
    .name = "assay.ConvGradX",
    .min_in = 2,
    .max_in = 2,
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
