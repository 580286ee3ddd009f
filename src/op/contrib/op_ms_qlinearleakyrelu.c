/* op_ms_qlinearleakyrelu.c - LeakyRelu of a quantised tensor. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {{.name = "alpha", .kind = AS_ATTR_FLOAT}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    AS_TRY(as_need(b->env, n, AS_INPUT_BIT(0) | AS_INPUT_BIT(1) | AS_INPUT_BIT(3)));
    int x = as_b_dequantize(b, in[0], in[1], as_in_or_none(n, in, 2));
    out[0] = as_b_quantize(b, as_b_node(b, "LeakyRelu", &x, 1, n->attrs, n->n_attrs), in[3], as_in_or_none(n, in, 4));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "u8",
     .n_in = 5,
     .in = {AS_IN(U8, 2, 5), {.dtype = AS_F32}, {.dtype = AS_U8}, {.dtype = AS_F32}, {.dtype = AS_U8}},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("alpha", 0.25)},
     AS_GIVEN(44, 219, 135, 209, 234, 239, 197, 100, 180, 233, 0.0500000007, 128, 0.0500000007, 100),
     AS_WANT(79, 191, 107, 181, 206, 211, 169, 93, 152, 205)},
};

const as_op as_op_ms_qlinearleakyrelu = {
    .name = "com.microsoft.QLinearLeakyRelu",
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
