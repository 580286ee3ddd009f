/* op_convinteger.c - convolution of bytes minus their zero points, in i32; padding counts as the zero point of x. */
#include "op/quant/quantize.h"

static const as_attr_def attrs[] = {AS_CONV_ATTRS, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    static const char *const names[] = {"x", "w", "x_zero_point", "w_zero_point"};
    as_conv_shapes           s;
    for (int i = 0; i < 4; i++)
        AS_TRY(as_quant_dtype(env, n, i, names[i], AS_SET_BYTE));
    for (int i = 0; i < 2; i++)
        if (as_in_has(n, 2 + i) && n->in[2 + i].dtype != n->in[i].dtype)
            return as_refuse(env, n, "%s is %s and %s is %s: they must be the same", names[i], as_dtype_name(n->in[i].dtype),
                             names[2 + i], as_dtype_name(n->in[2 + i].dtype));
    AS_TRY(as_conv_read(env, n, &n->in[0].shape, &n->in[1].shape, &s));
    AS_TRY(as_quant_vector(env, n, 2, names[2], 1));
    AS_TRY(as_quant_vector(env, n, 3, names[3], s.w.dim[0]));
    out[0] = as_info(AS_I32, &s.y);
    return ASSAY_OK;
}

/* As Conv: the whole kernel for every output. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost        cost = as_cost_bytes(n);
    as_conv_shapes s;
    if (as_conv_read(NULL, n, &n->in[0].shape, &n->in[1].shape, &s) == ASSAY_OK)
        cost.flops = as_window_flops(&s.window, &s.y, s.w.dim[1]);
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_conv_shapes s;
    AS_TRY(as_conv_read(env, n, &n->in[0].shape, &n->in[1].shape, &s));
    int64_t index[AS_MAX_RANK] = {0}, count = as_shape_count(&s.y);
    for (int64_t i = 0; i < count; i++) { /* after the spatial axes the index is 0 */
        AS_GO_ON(env, n);
        int64_t sum = as_qconv_sum(&s, &in[0], as_quant_zero(n, in, 2, 0), &in[1], as_quant_zero(n, in, 3, index[1]), index[0],
                                   index[1], &index[2]);
        as_view_set_i64(&out[0], i, as_int_wrap(AS_I32, (uint64_t)sum));
        as_index_next(&s.y, index);
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* The examples in ONNX's own node tests. */
    {.name = "without padding of ONNX",
     .n_in = 3,
     .in = {AS_IN(U8, 1, 1, 3, 3), AS_IN(U8, 1, 1, 2, 2), {.dtype = AS_U8}},
     .given = (const double[]){2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 1, 1, 1, 1},
     .want = (const double[]){12, 16, 24, 28},
     .n_want = 4},
    /* By hand: kernel [1,2] - 1 = [0,1] and [3,3] - 2 = [1,1] over 5 - 1; the padding on both sides adds nothing. */
    {.name = "padding and channels by hand",
     .n_in = 4,
     .in = {AS_IN(U8, 1, 1, 1), AS_IN(U8, 2, 1, 2), AS_IN(U8, 1), AS_IN(U8, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("pads", 1, 1)},
     .given = (const double[]){5, 1, 2, 3, 3, 1, 1, 2},
     .want = (const double[]){4, 0, 4, 4},
     .n_want = 4},
    {.name = "3x3 from 3 to 5", .n_in = 2, .in = {AS_IN(U8, 2, 3, 7, 5), AS_IN(I8, 5, 3, 3, 3)}, .lo = -100, .hi = 100},
    {.name = "groups, strides, dilations",
     .n_in = 2,
     .in = {AS_IN(I8, 1, 4, 9, 9), AS_IN(I8, 6, 2, 3, 2)},
     .lo = -100,
     .hi = 100,
     .n_attrs = 4,
     .attrs = {AS_ATTR_I("group", 2), AS_ATTR_LIST("strides", 2, 1), AS_ATTR_LIST("dilations", 1, 2),
               AS_ATTR_LIST("kernel_shape", 3, 2)}},
    /* Around tiles of 6 and 12 channels, panels of 16 and 32 pixels; kernels, strides, dilations, pads, groups. */
    {.name = "1x1 from 5 to 13",
     .n_in = 3,
     .in = {AS_IN(U8, 2, 5, 7, 5), AS_IN(I8, 13, 5, 1, 1), {.dtype = AS_U8}},
     .lo = -128,
     .hi = 255},
    {.name = "1x1 from 33 to 7 at 8x8",
     .n_in = 4,
     .in = {AS_IN(I8, 1, 33, 8, 8), AS_IN(U8, 7, 33, 1, 1), {.dtype = AS_I8}, {.dtype = AS_U8}},
     .lo = -128,
     .hi = 255},
    {.name = "1x1 with stride 2",
     .n_in = 2,
     .in = {AS_IN(U8, 1, 3, 9, 7), AS_IN(I8, 4, 3, 1, 1)},
     .lo = -128,
     .hi = 255,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("strides", 2, 2)}},
    {.name = "3x3 same from 3 to 14",
     .n_in = 4,
     .in = {AS_IN(U8, 2, 3, 11, 13), AS_IN(U8, 14, 3, 3, 3), {.dtype = AS_U8}, AS_IN(U8, 14)},
     .lo = 0,
     .hi = 255,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1)}},
    {.name = "3x3 with stride 2 and pads",
     .n_in = 4,
     .in = {AS_IN(I8, 1, 4, 19, 21), AS_IN(I8, 9, 4, 3, 3), {.dtype = AS_I8}, AS_IN(I8, 9)},
     .lo = -128,
     .hi = 127,
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("pads", 1, 0, 2, 1), AS_ATTR_LIST("strides", 2, 2)}},
    {.name = "5x4 with strides 3 and 2, dilations 2 and 3",
     .n_in = 3,
     .in = {AS_IN(U8, 1, 2, 23, 29), AS_IN(I8, 3, 2, 5, 4), {.dtype = AS_U8}},
     .lo = -128,
     .hi = 255,
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("pads", 3, 4, 2, 1), AS_ATTR_LIST("strides", 3, 2), AS_ATTR_LIST("dilations", 2, 3)}},
    {.name = "depthwise 3x3 of 5",
     .n_in = 4,
     .in = {AS_IN(U8, 2, 5, 12, 17), AS_IN(I8, 5, 1, 3, 3), {.dtype = AS_U8}, AS_IN(I8, 5)},
     .lo = -128,
     .hi = 255,
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("group", 5), AS_ATTR_LIST("pads", 1, 1, 1, 1)}},
    {.name = "depthwise 3x3 with stride 2, two outputs each",
     .n_in = 3,
     .in = {AS_IN(U8, 1, 3, 13, 37), AS_IN(I8, 6, 1, 3, 3), {.dtype = AS_U8}},
     .lo = -128,
     .hi = 255,
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("group", 3), AS_ATTR_LIST("pads", 1, 1, 0, 0), AS_ATTR_LIST("strides", 2, 2)}},
    {.name = "1-D of 7",
     .n_in = 3,
     .in = {AS_IN(I8, 2, 3, 40), AS_IN(I8, 5, 3, 7), {.dtype = AS_I8}},
     .lo = -128,
     .hi = 127,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("pads", 3, 3)}},
    {.name = "an image of one column",
     .n_in = 2,
     .in = {AS_IN(U8, 1, 2, 40, 1), AS_IN(I8, 2, 2, 3, 1)},
     .lo = -128,
     .hi = 255,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("pads", 1, 0, 1, 0)}},
    {.name = "a kernel wider than the image",
     .n_in = 3,
     .in = {AS_IN(U8, 1, 1, 2, 2), AS_IN(I8, 1, 1, 5, 5), {.dtype = AS_U8}},
     .lo = -128,
     .hi = 255,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("pads", 3, 3, 3, 3)}},
    /* Larger than one strip of rows: channels joined, apart, and depthwise. */
    {.name = "2x1 from 64 at 66x65",
     .n_in = 3,
     .in = {AS_IN(U8, 1, 64, 66, 65), AS_IN(I8, 1, 64, 2, 1), {.dtype = AS_U8}},
     .lo = -128,
     .hi = 255},
    {.name = "2x1 from 5 at 61x900", .n_in = 2, .in = {AS_IN(U8, 1, 5, 61, 900), AS_IN(I8, 1, 5, 2, 1)}, .lo = -128, .hi = 255},
    {.name = "depthwise 2x3 at 70x62",
     .n_in = 3,
     .in = {AS_IN(U8, 1, 1, 70, 62), AS_IN(I8, 1, 1, 2, 3), {.dtype = AS_U8}},
     .lo = -128,
     .hi = 255},
    {.name = "3-D same",
     .n_in = 2,
     .in = {AS_IN(I8, 1, 1, 3, 4, 5), AS_IN(I8, 1, 1, 2, 2, 2)},
     .lo = -100,
     .hi = 100,
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("auto_pad", "SAME_UPPER")}},
    {.name = "empty", .n_in = 2, .in = {AS_IN(I8, 0, 1, 3), AS_IN(I8, 1, 1, 2)}},
};

/* No gradient: integers in, integers out. */
const as_op as_op_convinteger = {
    .name = "ConvInteger",
    .min_in = 2,
    .max_in = 4,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
