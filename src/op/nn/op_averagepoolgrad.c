/* op_averagepoolgrad.c - assay.AveragePoolGrad(dY): each window hands equal shares of its gradient to the elements it saw.
 *
 * input_shape holds all sizes of X, because several inputs may give one output size.  The other attributes are AveragePool's. */
#include "op/nn/taps.h"

static const as_attr_def attrs[] = {
    {.name = "auto_pad", .kind = AS_ATTR_TEXT},
    {.name = "ceil_mode", .kind = AS_ATTR_INT},
    {.name = "count_include_pad", .kind = AS_ATTR_INT},
    {.name = "dilations", .kind = AS_ATTR_INTS},
    {.name = "input_shape", .kind = AS_ATTR_INTS, .required = true},
    {.name = "kernel_shape", .kind = AS_ATTR_INTS, .required = true},
    {.name = "pads", .kind = AS_ATTR_INTS},
    {.name = "strides", .kind = AS_ATTR_INTS},
    {0},
};

static assay_status shapes_of(assay_env *env, const as_node_ctx *n, as_shape *x, as_window *w)
{
    as_shape y;
    AS_TRY(as_attr_shape(env, n, "input_shape", n->in[0].dtype, x));
    AS_TRY(as_pool_read(env, n, x, w, &y));
    if (!as_shape_same(&y, &n->in[0].shape))
        return as_refuse(env, n, "dY is %s, and pooling X %s gives %s", AS_SHOW(&n->in[0].shape), AS_SHOW(x), AS_SHOW(&y));
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_shape  x;
    as_window w;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    AS_TRY(shapes_of(env, n, &x, &w));
    out[0] = as_info(n->in[0].dtype, &x);
    return ASSAY_OK;
}

/* A division and kernel additions for every output of the forward pass. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost   cost = as_cost_bytes(n);
    as_shape  x;
    as_window w;
    if (shapes_of(NULL, n, &x, &w) == ASSAY_OK)
        cost.flops = as_sat_mul(as_sat_count(&n->in[0].shape), (uint64_t)as_window_count(w.kernel) + 1);
    return cost;
}

/* What element p gets: through each tap, a share of the output whose window sees it there. */
static double element(const as_window *w, const as_view *dy, const int64_t *p, bool pads)
{
    int64_t k[3], o[3];
    double  sum = 0.0;
    AS_EACH3(k, w->kernel)
    if (as_tap_from(w, p, k, o))
        sum += as_view_at(dy, o) / (double)as_taps_count(w, o, pads);
    return sum;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_shape  x;
    as_window w;
    AS_TRY(shapes_of(env, n, &x, &w));
    bool    pads = as_attr_int(n, "count_include_pad", 0) != 0;
    int64_t p[3];
    for (int64_t image = 0; image < x.dim[0]; image++)
        for (int64_t c = 0; c < x.dim[1]; c++) {
            as_view dy = as_view_fix(&in[0], (int64_t[]){image, c}, 2), dx = as_view_fix(&out[0], (int64_t[]){image, c}, 2);
            AS_EACH3(p, w.in)
            {
                AS_GO_ON(env, n);
                as_view_put(&dx, p, element(&w, &dy, p, pads));
            }
        }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: each half of a window. */
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 1, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("input_shape", 1, 1, 3)},
     .given = (const double[]){2, 6},
     .want = (const double[]){1, 4, 3},
     .n_want = 3},
    /* By hand: padding keeps its share where it counts. */
    {.name = "pads counted by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 1, 1, 3)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("pads", 1, 1), AS_ATTR_I("count_include_pad", 1),
               AS_ATTR_LIST("input_shape", 1, 1, 2)},
     .given = (const double[]){2, 4, 6},
     .want = (const double[]){3, 5},
     .n_want = 2},
    {.name = "pads not counted by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 1, 1, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("pads", 1, 1), AS_ATTR_LIST("input_shape", 1, 1, 2)},
     .given = (const double[]){2, 4, 6},
     .want = (const double[]){4, 8},
     .n_want = 2},
    {.name = "2-D",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3, 4, 5)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 3), AS_ATTR_LIST("strides", 2, 1), AS_ATTR_LIST("input_shape", 2, 3, 8, 7)}},
    {.name = "2x2 of 17 channels, odd",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 17, 3, 4)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_LIST("strides", 2, 2), AS_ATTR_LIST("input_shape", 2, 17, 7, 8)}},
    {.name = "3x3 stride 2 of 70 channels, padded",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 70, 4, 5)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_LIST("kernel_shape", 3, 3), AS_ATTR_LIST("strides", 2, 2), AS_ATTR_LIST("pads", 1, 1, 1, 1),
               AS_ATTR_LIST("input_shape", 1, 70, 8, 9)}},
    {.name = "3x3 of 40 channels, pads counted",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 40, 5, 4)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_LIST("kernel_shape", 3, 3), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_I("count_include_pad", 1),
               AS_ATTR_LIST("input_shape", 1, 40, 5, 4)}},
    {.name = "all of 36 channels",
     .n_in = 1,
     .in = {AS_IN(F32, 3, 36, 1, 1)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 5, 7), AS_ATTR_LIST("input_shape", 3, 36, 5, 7)}},
    {.name = "ceil_mode of 20 channels",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 20, 4, 3)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_LIST("strides", 2, 2), AS_ATTR_I("ceil_mode", 1),
               AS_ATTR_LIST("input_shape", 1, 20, 7, 6)}},
    {.name = "1-D of 18 channels, dilated",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 18, 7)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("dilations", 2), AS_ATTR_LIST("input_shape", 2, 18, 9)}},
    {.name = "3-D",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 3, 2, 2, 1)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2, 2), AS_ATTR_LIST("strides", 2, 2, 2),
               AS_ATTR_LIST("input_shape", 1, 3, 4, 5, 3)}},
    {.name = "no images",
     .n_in = 1,
     .in = {AS_IN(F32, 0, 2, 4)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 3), AS_ATTR_LIST("input_shape", 0, 2, 6)}},
};

const as_op as_op_averagepoolgrad = {
    .name = "assay.AveragePoolGrad",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = NULL,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
