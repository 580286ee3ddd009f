/* op_ms_qlinearsoftmax.c - Softmax of a quantised tensor; in the form of operator sets before 13, all axes from `axis` on are one row. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {
    {.name = "axis", .kind = AS_ATTR_INT}, {.name = "opset", .kind = AS_ATTR_INT, .required = true}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    AS_TRY(as_need(b->env, n, AS_INPUT_BIT(0) | AS_INPUT_BIT(1) | AS_INPUT_BIT(3)));
    as_shape shape = n->in[0].shape;
    int      axis;
    AS_TRY(as_rule_axis(b->env, n, as_attr_int(n, "axis", -1), shape.rank, &axis));
    int x = as_b_dequantize(b, in[0], in[1], as_in_or_none(n, in, 2));
    if (as_attr_int(n, "opset", 13) < 13) {
        int64_t rows = 1, columns = 1;
        for (int i = 0; i < shape.rank; i++)
            *(i < axis ? &rows : &columns) *= shape.dim[i]; /* a checked shape: the product fits */
        x = as_b_reshape(b, as_b_softmax(b, AS_TO_SHAPE(b, x, rows, columns), -1), &shape);
    } else {
        x = as_b_softmax(b, x, axis);
    }
    out[0] = as_b_quantize(b, x, in[3], as_in_or_none(n, in, 4));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "last axis",
     .n_in = 5,
     .in = {AS_IN(U8, 2, 5), {.dtype = AS_F32}, {.dtype = AS_U8}, {.dtype = AS_F32}, {.dtype = AS_U8}},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("opset", 13), AS_ATTR_I("axis", -1)},
     AS_GIVEN(169, 29, 26, 64, 252, 190, 214, 226, 12, 134, 0.0500000007, 128, 0.00390625, 0),
     AS_WANT(4, 0, 0, 0, 252, 25, 81, 148, 0, 1)},
    /* By ONNX Runtime. */
    {.name = "rows of two axes",
     .n_in = 5,
     .in = {AS_IN(U8, 2, 2, 3), {.dtype = AS_F32}, {.dtype = AS_U8}, {.dtype = AS_F32}, {.dtype = AS_U8}},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("opset", 12), AS_ATTR_I("axis", 1)},
     AS_GIVEN(232, 162, 187, 106, 110, 116, 241, 93, 230, 234, 17, 5, 0.0500000007, 128, 0.00390625, 0),
     AS_WANT(224, 7, 24, 0, 1, 1, 112, 0, 65, 79, 0, 0)},
};

const as_op as_op_ms_qlinearsoftmax = {
    .name = "com.microsoft.QLinearSoftmax",
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
