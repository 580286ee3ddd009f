/* op_ms_qlinearsigmoid.c - Sigmoid of a quantised tensor. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {{0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    AS_TRY(as_need(b->env, n, AS_INPUT_BIT(0) | AS_INPUT_BIT(1) | AS_INPUT_BIT(3)));
    int x = as_b_dequantize(b, in[0], in[1], as_in_or_none(n, in, 2));
    out[0] = as_b_quantize(b, AS_MAKE(b, "Sigmoid", x), in[3], as_in_or_none(n, in, 4));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "u8",
     .n_in = 5,
     .in = {AS_IN(U8, 2, 5), {.dtype = AS_F32}, {.dtype = AS_U8}, {.dtype = AS_F32}, {.dtype = AS_U8}},
     AS_GIVEN(140, 204, 79, 29, 136, 54, 166, 117, 198, 149, 0.0500000007, 128, 0.00400000019, 0),
     AS_WANT(161, 245, 20, 2, 150, 6, 217, 91, 243, 185)},
};

const as_op as_op_ms_qlinearsigmoid = {
    .name = "com.microsoft.QLinearSigmoid",
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
