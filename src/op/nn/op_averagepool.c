/* op_averagepool.c - the mean of a sliding window over 1 to 3 spatial axes; count_include_pad says whether padding counts as
 * zeros or not at all. */
#include "op/nn/taps.h"

static const as_attr_def attrs[] = {
    {.name = "auto_pad", .kind = AS_ATTR_TEXT},
    {.name = "ceil_mode", .kind = AS_ATTR_INT},
    {.name = "count_include_pad", .kind = AS_ATTR_INT},
    {.name = "dilations", .kind = AS_ATTR_INTS},
    {.name = "kernel_shape", .kind = AS_ATTR_INTS, .required = true},
    {.name = "pads", .kind = AS_ATTR_INTS},
    {.name = "strides", .kind = AS_ATTR_INTS},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_shape  y;
    as_window w;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    AS_TRY(as_pool_read(env, n, &n->in[0].shape, &w, &y));
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

/* kernel - 1 additions and a division for every output; the whole window counts, also where it lies on padding. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost   cost = as_cost_bytes(n);
    as_shape  y;
    as_window w;
    if (as_pool_read(NULL, n, &n->in[0].shape, &w, &y) == ASSAY_OK)
        cost.flops = as_sat_mul(as_sat_count(&y), (uint64_t)as_window_count(w.kernel));
    return cost;
}

/* A dilated window may skip all elements of a small input: the mean of no elements is defined as 0. */
static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_shape  y;
    as_window w;
    AS_TRY(as_pool_read(env, n, &n->in[0].shape, &w, &y));
    bool    pads = as_attr_int(n, "count_include_pad", 0) != 0;
    int64_t o[3], k[3], p[3];
    for (int64_t image = 0; image < y.dim[0]; image++)
        for (int64_t c = 0; c < y.dim[1]; c++) {
            as_view x = as_view_fix(&in[0], (int64_t[]){image, c}, 2), mean = as_view_fix(&out[0], (int64_t[]){image, c}, 2);
            AS_EACH3(o, w.out)
            {
                AS_GO_ON(env, n);
                double  sum = 0.0;
                int64_t count = as_taps_count(&w, o, pads);
                AS_EACH3(k, w.kernel)
                if (as_tap_at(&w, o, k, p))
                    sum += as_view_at(&x, p);
                as_view_put(&mean, o, count ? sum / (double)count : 0.0);
            }
        }
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    const as_shape *x = &n->in[0].shape;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    as_attr list[AS_COUNT(attrs)]; /* the shape takes the place of the NULL name */
    int     count = as_attrs_repeat(n, "input_shape", x->dim, (size_t)x->rank, list);
    d_in[0] = b->node(b, "assay.AveragePoolGrad", d_out, 1, list, count, NULL, 1);
    return ASSAY_OK;
}

static const as_case cases[] = {
    AS_CASES_POOL_WIDE,
    /* By hand: the mean of each 2x2 block of arange(16). */
    {.name = "2x2 by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 1, 4, 4)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_LIST("strides", 2, 2)},
     .given = (const double[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
     .want = (const double[]){2.5, 4.5, 10.5, 12.5},
     .n_want = 4},
    /* By hand: padding is not counted. */
    {.name = "pads not counted by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 1, 1, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("pads", 1, 1)},
     .given = (const double[]){2, 4, 8},
     .want = (const double[]){2, 3, 6, 8},
     .n_want = 4},
    /* By hand: padding counts as zeros. */
    {.name = "pads counted by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 1, 1, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("pads", 1, 1), AS_ATTR_I("count_include_pad", 1)},
     .given = (const double[]){2, 4, 8},
     .want = (const double[]){1, 3, 6, 4},
     .n_want = 4},
    /* By hand: the last window reaches beyond the padding, and that part never counts: (8 + 0) / 2. */
    {.name = "ceil_mode by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 1, 1, 4)},
     .n_attrs = 5,
     .attrs = {AS_ATTR_LIST("kernel_shape", 3), AS_ATTR_LIST("pads", 0, 1), AS_ATTR_LIST("strides", 3), AS_ATTR_I("ceil_mode", 1),
               AS_ATTR_I("count_include_pad", 1)},
     .given = (const double[]){1, 3, 5, 8},
     .want = (const double[]){3, 4},
     .n_want = 2},
    /* By hand: elements two apart. */
    {.name = "dilated by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 1, 5)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("dilations", 2)},
     .given = (const double[]){1, 2, 3, 4, 8},
     .want = (const double[]){2, 3, 5.5},
     .n_want = 3},
    {.name = "3x3 SAME_UPPER",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3, 7, 8)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 3, 3), AS_ATTR_LIST("strides", 2, 2), AS_ATTR_S("auto_pad", "SAME_UPPER")}},
    {.name = "2x2 SAME_LOWER, pads counted",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 2, 5, 5)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_I("count_include_pad", 1), AS_ATTR_S("auto_pad", "SAME_LOWER")}},
    {.name = "VALID",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 2, 8, 9)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 3, 2), AS_ATTR_LIST("strides", 2, 3), AS_ATTR_S("auto_pad", "VALID")}},
    {.name = "uneven pads, ceil, dilated",
     .n_in = 1,
     .in = {AS_IN(F64, 1, 2, 9, 8)},
     .n_attrs = 5,
     .attrs = {AS_ATTR_LIST("kernel_shape", 3, 2), AS_ATTR_LIST("pads", 0, 1, 2, 0), AS_ATTR_LIST("strides", 2, 3),
               AS_ATTR_I("ceil_mode", 1), AS_ATTR_LIST("dilations", 2, 1)}},
    {.name = "3-D",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 2, 4, 5, 6)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 3, 2), AS_ATTR_LIST("strides", 2, 1, 2)}},
    {.name = "f16", .n_in = 1, .in = {AS_IN(F16, 1, 2, 6, 6)}, .n_attrs = 1, .attrs = {AS_ATTR_LIST("kernel_shape", 3, 3)}},
    {.name = "no images", .n_in = 1, .in = {AS_IN(F32, 0, 2, 6, 6)}, .n_attrs = 1, .attrs = {AS_ATTR_LIST("kernel_shape", 3, 3)}},
};

const as_op as_op_averagepool = {
    .name = "AveragePool",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
