/* op_ms_qgemm.c - alpha A B + C of quantised tensors; C is i32 in the product's own scale.  Without a scale of Y the result is f32. */
#include "op/contrib/contrib.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C, Y_SCALE, Y_ZERO };

static const as_attr_def attrs[] = {{.name = "alpha", .kind = AS_ATTR_FLOAT},
                                    {.name = "transA", .kind = AS_ATTR_INT},
                                    {.name = "transB", .kind = AS_ATTR_INT},
                                    {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    AS_TRY(as_need(b->env, n, AS_INPUT_BIT(A) | AS_INPUT_BIT(A_SCALE) | AS_INPUT_BIT(B) | AS_INPUT_BIT(B_SCALE)));
    if (n->in[A].shape.rank != 2 || n->in[B].shape.rank != 2)
        return as_refuse(b->env, n, "A is %s and B is %s: both must be matrices", AS_SHOW(&n->in[A].shape),
                         AS_SHOW(&n->in[B].shape));
    double alpha = as_attr_float(n, "alpha", 1.0);
    int    x = as_attr_int(n, "transA", 0) ? AS_TURN(b, in[A], 1, 0) : in[A],
        y = as_attr_int(n, "transB", 0) ? AS_TURN(b, in[B], 1, 0) : in[B];
    int sum = as_b_integer_product(b, x, in[A_SCALE], as_in_or_none(n, in, A_ZERO), y, in[B_SCALE], as_in_or_none(n, in, B_ZERO),
                                   as_in_or_none(n, in, C));
    sum = alpha == 1.0 ? sum : as_b_times(b, sum, alpha);
    out[0] = as_in_has(n, Y_SCALE) ? as_b_quantize(b, sum, in[Y_SCALE], as_in_or_none(n, in, Y_ZERO)) : sum;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "u8",
     .n_in = 9,
     .in = {AS_IN(U8, 3, 4),
            {.dtype = AS_F32},
            {.dtype = AS_U8},
            AS_IN(I8, 4, 2),
            {.dtype = AS_F32},
            {.dtype = AS_I8},
            AS_IN(I32, 2),
            {.dtype = AS_F32},
            {.dtype = AS_U8}},
     AS_GIVEN(201, 87, 149, 4, 219, 76, 233, 75, 6, 120, 225, 213, 0.0199999996, 120, -43, 30, -21, 92, -72, -77, 119, 55,
              0.0299999993, 0, -38, 26, 0.0500000007, 128),
     AS_WANT(0, 18, 0, 0, 228, 52)},
    /* By ONNX Runtime. */
    {.name = "to f32, B turned",
     .n_in = 6,
     .in = {AS_IN(U8, 3, 4), {.dtype = AS_F32}, {.dtype = AS_U8}, AS_IN(I8, 2, 4), {.dtype = AS_F32}, {.dtype = AS_I8}},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("transB", 1), AS_ATTR_F("alpha", 0.5)},
     AS_GIVEN(109, 164, 199, 85, 186, 41, 230, 143, 43, 59, 82, 63, 0.0199999996, 120, 28, 16, 5, -93, -51, -96, -11, 87,
              0.0299999993, 0),
     AS_WANT(1.21379995, -2.2730999, -0.301499993, 1.50269997, 0.593699992, 1.57259989)},
};

const as_op as_op_ms_qgemm = {
    .name = "com.microsoft.QGemm",
    .min_in = 2,
    .max_in = 9,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
