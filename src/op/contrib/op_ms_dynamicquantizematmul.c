/* op_ms_dynamicquantizematmul.c - A is quantised to u8 by its own range, and multiplied with a quantised B. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {{0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    int q[3] = {-1, -1, -1};
    int x = as_b_cast(b, in[0], AS_F32), scale = as_b_cast(b, in[2], AS_F32); /* DynamicQuantizeLinear takes f32 alone */
    b->node(b, "DynamicQuantizeLinear", &x, 1, NULL, 0, q, 3);
    int y = as_b_integer_product(b, q[0], q[1], q[2], in[1], scale, as_in_or_none(n, in, 3), -1);
    y = as_b_cast(b, y, n->in[0].dtype);
    out[0] = as_in_has(n, 4) ? AS_MAKE(b, "Add", y, in[4]) : y;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "bias",
     .n_in = 5,
     .in = {AS_IN(F32, 3, 4), AS_IN(I8, 4, 2), {.dtype = AS_F32}, {.dtype = AS_I8}, AS_IN(F32, 2)},
     AS_GIVEN(0.0500000007, 0.970000029, 0.25, 0.25999999, 0.819999993, 0.930000007, 0.170000002, -0.670000017, -0.219999999,
              0.889999986, -0.310000002, 0.409999996, 89, 44, 126, 51, -74, -86, -36, -121, 0.0299999993, 1, 0.280000001,
              0.730000019),
     AS_WANT(3.20768952, 0.656875312, 6.29957199, 5.19408035, 3.26865888, 1.07845175)},
};

const as_op as_op_ms_dynamicquantizematmul = {
    .name = "com.microsoft.DynamicQuantizeMatMul",
    .min_in = 3,
    .max_in = 5,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
