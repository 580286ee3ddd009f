/* op_ms_matmulintegertofloat.c - the product of quantised tensors in f32, plus a bias. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {{0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    int y = as_b_integer_product(b, in[0], in[2], as_in_or_none(n, in, 4), in[1], in[3], as_in_or_none(n, in, 5), -1);
    out[0] = as_in_has(n, 6) ? AS_MAKE(b, "Add", y, in[6]) : y;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "u8 and i8",
     .n_in = 7,
     .in = {AS_IN(U8, 3, 4),
            AS_IN(I8, 4, 2),
            {.dtype = AS_F32},
            {.dtype = AS_F32},
            {.dtype = AS_U8},
            {.dtype = AS_I8},
            AS_IN(F32, 2)},
     AS_GIVEN(223, 161, 45, 168, 116, 219, 142, 45, 105, 42, 96, 34, -33, -16, 55, 102, 18, -119, 73, -115, 0.0199999996,
              0.0299999993, 120, 0, -0.0199999996, -0.469999999),
     AS_WANT(0.585999966, 3.09339976, 0.278799981, 9.23139954, -6.32299948, 2.54799986)},
};

const as_op as_op_ms_matmulintegertofloat = {
    .name = "com.microsoft.MatMulIntegerToFloat",
    .min_in = 4,
    .max_in = 7,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
