/* op_ms_qlinearconcat.c - Concat of quantised tensors: the result's scale and zero point, then x, scale and zero point of each. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT, .required = true}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    AS_TRY(as_need(b->env, n, AS_INPUT_BIT(0) | AS_INPUT_BIT(2) | AS_INPUT_BIT(3)));
    int parts[AS_MAX_IN], n_parts = 0;
    for (int i = 2; i + 1 < n->n_in; i += 3)
        parts[n_parts++] = as_b_dequantize(b, in[i], in[i + 1], as_in_or_none(n, in, i + 2));
    if ((n->n_in - 2) % 3 == 1)
        return as_refuse(b->env, n, "the last of its tensors has no scale");
    out[0] = as_b_quantize(b, as_b_node(b, "Concat", parts, n_parts, n->attrs, n->n_attrs), in[0], as_in_or_none(n, in, 1));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "two",
     .n_in = 8,
     .in = {{.dtype = AS_F32},
            {.dtype = AS_U8},
            AS_IN(U8, 2, 2),
            {.dtype = AS_F32},
            {.dtype = AS_U8},
            AS_IN(U8, 2, 3),
            {.dtype = AS_F32},
            {.dtype = AS_U8}},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 1)},
     AS_GIVEN(0.0599999987, 110, 79, 49, 182, 76, 0.0500000007, 128, 105, 232, 220, 182, 175, 165, 0.0399999991, 100),
     AS_WANT(69, 44, 113, 198, 190, 155, 67, 165, 160, 153)},
};

const as_op as_op_ms_qlinearconcat = {
    .name = "com.microsoft.QLinearConcat",
    .min_in = 1,
    .max_in = AS_MAX_IN,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
