/* op_ms_qlinearaveragepool.c - AveragePool of a quantised tensor. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {
    {.name = "auto_pad", .kind = AS_ATTR_TEXT},
    {.name = "ceil_mode", .kind = AS_ATTR_INT},
    {.name = "channels_last", .kind = AS_ATTR_INT},
    {.name = "count_include_pad", .kind = AS_ATTR_INT},
    {.name = "kernel_shape", .kind = AS_ATTR_INTS, .required = true},
    {.name = "pads", .kind = AS_ATTR_INTS},
    {.name = "strides", .kind = AS_ATTR_INTS},
    {0},
};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    AS_TRY(as_need(b->env, n, AS_INPUT_BIT(0) | AS_INPUT_BIT(1) | AS_INPUT_BIT(3)));
    static const char *const own[] = {"channels_last", NULL};
    as_attr                  pool[8];
    int                      x = as_b_channels_first(b, n, as_b_dequantize(b, in[0], in[1], as_in_or_none(n, in, 2)));
    int                      y = as_b_node(b, "AveragePool", &x, 1, pool, as_attrs_without(n, own, pool, 8));
    out[0] = as_b_quantize(b, as_b_channels_back(b, n, y), in[3], as_in_or_none(n, in, 4));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "u8",
     .n_in = 5,
     .in = {AS_IN(U8, 1, 2, 4, 4), {.dtype = AS_F32}, {.dtype = AS_U8}, {.dtype = AS_F32}, {.dtype = AS_U8}},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_LIST("strides", 2, 2)},
     AS_GIVEN(19, 188, 44, 191, 69, 56, 152, 183, 181, 112, 251, 189, 192, 34, 56, 201, 206, 38, 4, 238, 137, 87, 227, 195, 72, 83,
              176, 1, 192, 144, 118, 159, 0.0500000007, 128, 0.0599999987, 100),
     AS_WANT(62, 112, 101, 139, 91, 132, 96, 88)},
    /* By ONNX Runtime. */
    {.name = "channels last",
     .n_in = 5,
     .in = {AS_IN(U8, 1, 4, 4, 2), {.dtype = AS_F32}, {.dtype = AS_U8}, {.dtype = AS_F32}, {.dtype = AS_U8}},
     .n_attrs = 4,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_LIST("strides", 1, 1), AS_ATTR_LIST("pads", 0, 0, 1, 1),
               AS_ATTR_I("channels_last", 1)},
     AS_GIVEN(93, 172, 92, 252, 71, 23, 10, 233, 35, 192, 61, 135, 151, 92, 247, 224, 149, 100, 163, 225, 67, 123, 219, 225, 19,
              155, 4, 19, 33, 123, 30, 185, 0.0500000007, 128, 0.0599999987, 100),
     AS_WANT(52, 150, 71, 98, 93, 112, 100, 184, 78, 129, 85, 113, 136, 132, 188, 180, 63, 97, 49, 95, 66, 130, 97, 164, 3, 66, 9,
             52, 20, 122, 18, 148)},
};

const as_op as_op_ms_qlinearaveragepool = {
    .name = "com.microsoft.QLinearAveragePool",
    .min_in = 2,
    .max_in = 5,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
