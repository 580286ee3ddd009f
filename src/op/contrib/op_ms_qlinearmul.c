/* op_ms_qlinearmul.c - Mul of two quantised tensors: A, its scale and zero point, B, its scale and zero point, and those of the result. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {{0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    return as_b_quantized_two(b, n, "Mul", in, out);
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "u8",
     .n_in = 8,
     .in = {AS_IN(U8, 2, 3),
            {.dtype = AS_F32},
            {.dtype = AS_U8},
            AS_IN(U8, 2, 3),
            {.dtype = AS_F32},
            {.dtype = AS_U8},
            {.dtype = AS_F32},
            {.dtype = AS_U8}},
     AS_GIVEN(175, 196, 25, 246, 67, 211, 0.0516999997, 128, 151, 103, 92, 185, 142, 23, 0.0430999994, 120, 0.0973000005, 100),
     AS_WANT(133, 74, 166, 255, 69, 0)},
    /* By ONNX Runtime. */
    {.name = "i8, broadcast",
     .n_in = 8,
     .in = {AS_IN(I8, 2, 3),
            {.dtype = AS_F32},
            {.dtype = AS_I8},
            AS_IN(I8, 3),
            {.dtype = AS_F32},
            {.dtype = AS_I8},
            {.dtype = AS_F32},
            {.dtype = AS_I8}},
     AS_GIVEN(48, -1, 7, 44, -128, -53, 0.0516999997, 3, -73, 122, -122, 0.0430999994, 0, 0.0973000005, -5),
     AS_WANT(-80, -16, -16, -74, -128, 127)},
};

const as_op as_op_ms_qlinearmul = {
    .name = "com.microsoft.QLinearMul",
    .min_in = 2,
    .max_in = 8,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
