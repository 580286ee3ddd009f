/* op_ms_qlinearglobalaveragepool.c - GlobalAveragePool of a quantised tensor. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {{.name = "channels_last", .kind = AS_ATTR_INT}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    AS_TRY(as_need(b->env, n, AS_INPUT_BIT(0) | AS_INPUT_BIT(1) | AS_INPUT_BIT(3)));
    int x = as_b_channels_first(b, n, as_b_dequantize(b, in[0], in[1], as_in_or_none(n, in, 2)));
    out[0] = as_b_quantize(b, as_b_channels_back(b, n, AS_MAKE(b, "GlobalAveragePool", x)), in[3], as_in_or_none(n, in, 4));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "u8",
     .n_in = 5,
     .in = {AS_IN(U8, 1, 2, 3, 4), {.dtype = AS_F32}, {.dtype = AS_U8}, {.dtype = AS_F32}, {.dtype = AS_U8}},
     AS_GIVEN(229, 73, 221, 209, 127, 159, 130, 83, 178, 146, 21, 119, 67, 203, 186, 47, 16, 12, 93, 107, 233, 137, 76, 67,
              0.0500000007, 128, 0.0299999993, 100),
     AS_WANT(122, 59)},
    /* By ONNX Runtime. */
    {.name = "channels last",
     .n_in = 5,
     .in = {AS_IN(U8, 1, 3, 4, 2), {.dtype = AS_F32}, {.dtype = AS_U8}, {.dtype = AS_F32}, {.dtype = AS_U8}},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("channels_last", 1)},
     AS_GIVEN(110, 142, 124, 20, 53, 252, 143, 59, 35, 48, 4, 43, 200, 218, 250, 54, 43, 239, 215, 205, 178, 39, 131, 157,
              0.0500000007, 128, 0.0299999993, 100),
     AS_WANT(93, 92)},
};

const as_op as_op_ms_qlinearglobalaveragepool = {
    .name = "com.microsoft.QLinearGlobalAveragePool",
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
