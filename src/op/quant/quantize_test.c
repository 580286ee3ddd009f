/* quantize_test.c - what the quantised operators and Resize refuse, rounding, and outputs other than the first. */
#include "op/quant/quantize.h"
#include "tests/runner/test.h"

typedef struct refusal {
    const char    *op, *part;
    int            n_in;
    as_tensor_info in[9];
    as_attr        attrs[2];
} refusal;

#define ONE(dtype_)          \
    {                        \
        .dtype = AS_##dtype_ \
    }
#define NONE             \
    {                    \
        .dtype = AS_NONE \
    }
#define INTS(...)                                                                                                 \
    {                                                                                                             \
        .dtype = AS_I64, .shape = {.rank = 1, .dim = {sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)}}, \
        .constant = (const int64_t[])                                                                             \
        {                                                                                                         \
            __VA_ARGS__                                                                                           \
        }                                                                                                         \
    }
#define FLOATS(...)                                                                                           \
    {                                                                                                         \
        .dtype = AS_F32, .shape = {.rank = 1, .dim = {sizeof((const float[]){__VA_ARGS__}) / sizeof(float)}}, \
        .constant = (const float[])                                                                           \
        {                                                                                                     \
            __VA_ARGS__                                                                                       \
        }                                                                                                     \
    }
#define MATMUL(a_scale_, y_scale_) AS_IN(U8, 2, 3), a_scale_, ONE(U8), AS_IN(I8, 3, 4), ONE(F32), ONE(I8), y_scale_, ONE(U8)
#define CONV(x_scale_, w_scale_)   AS_IN(U8, 1, 1, 3), x_scale_, ONE(U8), AS_IN(U8, 2, 1, 2), w_scale_, ONE(U8), ONE(F32), ONE(U8)

static const refusal refusals[] = {
    {"QuantizeLinear", "x (input 0) is u8", 2, {ONE(U8), ONE(F32)}, {{0}}},
    {"QuantizeLinear", "y_scale (input 1) is f64", 2, {ONE(F32), ONE(F64)}, {{0}}},
    {"QuantizeLinear", "y_zero_point (input 2) is i32", 3, {ONE(F32), ONE(F32), ONE(I32)}, {{0}}},
    {"QuantizeLinear", "output_dtype is ONNX's data type 8", 2, {ONE(F32), ONE(F32)}, {AS_ATTR_I("output_dtype", 8)}},
    {"QuantizeLinear",
     "output_dtype is i8 and the zero point is u8",
     3,
     {ONE(F32), ONE(F32), ONE(U8)},
     {AS_ATTR_I("output_dtype", 3)}},
    {"QuantizeLinear", "block_size is -1", 2, {ONE(F32), ONE(F32)}, {AS_ATTR_I("block_size", -1)}},
    {"QuantizeLinear", "axis 1 is outside of [-1, 1)", 2, {AS_IN(F32, 4), AS_IN(F32, 4)}, {{0}}},
    {"QuantizeLinear",
     "the scale is [3]; for x [2,4] and axis 1 it must hold one value or be [4]",
     2,
     {AS_IN(F32, 2, 4), AS_IN(F32, 3)},
     {{0}}},
    {"QuantizeLinear", "it must hold one value or be [2,2]", 2, {AS_IN(F32, 2, 4), AS_IN(F32, 2, 3)}, {AS_ATTR_I("block_size", 2)}},
    {"DequantizeLinear", "x (input 0) is f32", 2, {ONE(F32), ONE(F32)}, {{0}}},
    {"DequantizeLinear", "x_scale (input 1) is i32", 2, {ONE(U8), ONE(I32)}, {{0}}},
    {"DequantizeLinear", "x is u8 and the zero point is i8", 3, {ONE(U8), ONE(F32), ONE(I8)}, {{0}}},
    {"DequantizeLinear", "the zero point is [] and the scale is [4]", 3, {AS_IN(U8, 2, 4), AS_IN(F32, 4), ONE(U8)}, {{0}}},
    {"DynamicQuantizeLinear", "input 0 is f64", 1, {ONE(F64)}, {{0}}},
    {"MatMulInteger", "A (input 0) is i32", 2, {AS_IN(I32, 1), AS_IN(I8, 1)}, {{0}}},
    {"MatMulInteger", "neither may be a scalar", 2, {ONE(I8), AS_IN(I8, 1)}, {{0}}},
    {"MatMulInteger", "the inner sizes 3 and 2 differ", 2, {AS_IN(I8, 2, 3), AS_IN(I8, 2, 3)}, {{0}}},
    {"MatMulInteger", "the batch sizes do not broadcast", 2, {AS_IN(I8, 2, 1, 1), AS_IN(I8, 3, 1, 1)}, {{0}}},
    {"MatMulInteger", "B is i8 and b_zero_point is u8", 4, {AS_IN(I8, 1, 1), AS_IN(I8, 1, 1), NONE, ONE(U8)}, {{0}}},
    {"MatMulInteger",
     "a_zero_point (input 2) is [3]; for [2,4] it must hold one value or one for every row",
     3,
     {AS_IN(I8, 2, 4), AS_IN(I8, 4, 1), AS_IN(I8, 3)},
     {{0}}},
    {"MatMulInteger", "one for every column", 4, {AS_IN(I8, 2, 4), AS_IN(I8, 4, 5), NONE, AS_IN(I8, 4, 1)}, {{0}}},
    {"ConvInteger", "w (input 1) is f32", 2, {AS_IN(I8, 1, 1, 1), AS_IN(F32, 1, 1, 1)}, {{0}}},
    {"ConvInteger", "x is i8 and x_zero_point is u8", 3, {AS_IN(I8, 1, 1, 1), AS_IN(I8, 1, 1, 1), ONE(U8)}, {{0}}},
    {"ConvInteger",
     "w_zero_point (input 3) is [3] and must hold one value or be [2]",
     4,
     {AS_IN(I8, 1, 1, 1), AS_IN(I8, 2, 1, 1), NONE, AS_IN(I8, 3)},
     {{0}}},
    {"QLinearConv", "x_scale (input 1) is f16", 8, {CONV(ONE(F16), ONE(F32))}, {{0}}},
    {"QLinearConv", "x_scale (input 1) is [2] and must hold one value", 8, {CONV(AS_IN(F32, 2), ONE(F32))}, {{0}}},
    {"QLinearConv", "w_scale (input 4) is [3] and must hold one value or be [2]", 8, {CONV(ONE(F32), AS_IN(F32, 3))}, {{0}}},
    {"QLinearConv", "B is [3] and must be [2]", 9, {CONV(ONE(F32), ONE(F32)), AS_IN(I32, 3)}, {{0}}},
    {"QLinearConv", "it has 7 inputs", 7, {CONV(ONE(F32), ONE(F32))}, {{0}}},
    {"QLinearMatMul", "a_scale is f16 and b_scale is f32", 8, {MATMUL(ONE(F16), ONE(F16))}, {{0}}},
    {"QLinearMatMul", "a_scale is f32 and y_scale is f16", 8, {MATMUL(ONE(F32), ONE(F16))}, {{0}}},
    {"QLinearMatMul",
     "a_scale (input 1) is [3]; for [2,3] it must hold one value or one for every row",
     8,
     {MATMUL(AS_IN(F32, 3), ONE(F32))},
     {{0}}},
    {"QLinearMatMul", "y_scale (input 6) is [4]; for [2,4]", 8, {MATMUL(ONE(F32), AS_IN(F32, 4))}, {{0}}},
    {"Resize", "input 0 is bool", 3, {AS_IN(BOOL, 2), NONE, FLOATS(2)}, {{0}}},
    {"Resize", "mode is 'sharp'", 3, {AS_IN(F32, 2), NONE, FLOATS(2)}, {AS_ATTR_S("mode", "sharp")}},
    {"Resize", "antialias is set and mode is nearest", 3, {AS_IN(F32, 2), NONE, FLOATS(2)}, {AS_ATTR_I("antialias", 1)}},
    {"Resize", "scales and sizes are both given", 4, {AS_IN(F32, 2), NONE, FLOATS(2), INTS(4)}, {{0}}},
    {"Resize", "neither scales nor sizes are given", 1, {AS_IN(F32, 2)}, {{0}}},
    {"Resize", "scales (input 2) is f32 [2] and must be f32 [1]", 3, {AS_IN(F32, 2), NONE, FLOATS(2, 2)}, {{0}}},
    {"Resize", "scales (input 2) must be known while planning", 3, {AS_IN(F32, 2), NONE, AS_IN(F32, 1)}, {{0}}},
    {"Resize", "scales[0] is 0: it must be above 0", 3, {AS_IN(F32, 2), NONE, FLOATS(0)}, {{0}}},
    {"Resize", "scales[0] is 1e+30", 3, {AS_IN(F32, 2), NONE, FLOATS(1e30f)}, {{0}}},
    {"Resize", "sizes (input 3) has 2 values and needs 1", 4, {AS_IN(F32, 2), NONE, NONE, INTS(1, 2)}, {{0}}},
    {"Resize", "sizes[0] is -1", 4, {AS_IN(F32, 2), NONE, NONE, INTS(-1)}, {{0}}},
    {"Resize", "sizes[0] is 3 and the input is [0]", 4, {AS_IN(F32, 0), NONE, NONE, INTS(3)}, {{0}}},
    {"DequantizeLinear",
     "x_scale (input 1) is f8e8m0, which y cannot be: output_dtype",
     2,
     {AS_IN(F4E2M1, 2), AS_IN(F8E8M0, 1)},
     {{0}}},
    {"DequantizeLinear", "x (input 0) is f8e8m0, which it cannot be", 2, {AS_IN(F8E8M0, 2), AS_IN(F32, 1)}, {{0}}},
    {"DequantizeLinear", "output_dtype is ONNX's data type 24", 2, {AS_IN(U4, 2), AS_IN(F32, 1)}, {AS_ATTR_I("output_dtype", 24)}},
    {"QuantizeLinear", "output_dtype is ONNX's data type 24", 2, {AS_IN(F32, 2), AS_IN(F32, 1)}, {AS_ATTR_I("output_dtype", 24)}},
    {"QuantizeLinear", "precision is ONNX's data type 17", 2, {AS_IN(F32, 2), AS_IN(F32, 1)}, {AS_ATTR_I("precision", 17)}},
    {"QuantizeLinear",
     "output_dtype is u4 and the zero point is i4",
     3,
     {AS_IN(F32, 2), AS_IN(F32, 1), AS_IN(I4, 1)},
     {AS_ATTR_I("output_dtype", 21)}},
    {"QuantizeLinear", "x (input 0) is f8e5m2, which it cannot be", 2, {AS_IN(F8E5M2, 2), AS_IN(F32, 1)}, {{0}}},
    {"Resize",
     "to keep the aspect ratio, axis 1 would get",
     4,
     {AS_IN(F32, 1, 1 << 30), NONE, NONE, INTS(INT64_C(1) << 40, 1)},
     {AS_ATTR_S("keep_aspect_ratio_policy", "not_smaller")}},
    {"Resize", "axes names axis 0 twice", 4, {AS_IN(F32, 2, 2), NONE, NONE, INTS(1, 2)}, {AS_ATTR_LIST("axes", 0, -2)}},
    {"Resize", "axes names 2 axes and X is [2]", 4, {AS_IN(F32, 2), NONE, NONE, INTS(1, 2)}, {AS_ATTR_LIST("axes", 0, 1)}},
    {"Resize",
     "tf_crop_and_resize needs roi (input 1), 2 floats, and it is absent",
     4,
     {AS_IN(F32, 2), NONE, NONE, INTS(1)},
     {AS_ATTR_S("coordinate_transformation_mode", "tf_crop_and_resize")}},
};

Test(quantize, refuses_with_a_sentence)
{
    assay_env *env;
    expect(assay_env_new(&env) == ASSAY_OK);
    for (size_t i = 0; i < AS_COUNT(refusals); i++) {
        const refusal *r = &refusals[i];
        as_tensor_info out[AS_MAX_OUT];
        as_node_ctx    n = {.op = as_op_find(r->op),
                            .name = "the-node",
                            .attrs = r->attrs,
                            .n_attrs = (r->attrs[0].name != NULL) + (r->attrs[1].name != NULL),
                            .in = r->in,
                            .n_in = r->n_in,
                            .n_out = 1};
        if (as_op_infer(env, &n, out) != ASSAY_BAD_INPUT)
            fail("%s, expecting \"%s\": not refused", r->op, r->part);
        expect_has(assay_message(env), r->part);
        expect_has(assay_message(env), "'the-node': ");
    }
    assay_env_free(env);
}

Test(quantize, rounds_to_the_dtype_and_ties_to_even_before_the_zero_point)
{
    int8_t   y[4];
    as_shape four = AS_SHAPE(4);
    as_view  v = as_view_of(y, AS_I8, &four);
    expect_near(as_round_to(AS_F32, 0.1), 0.1f, 0);
    expect_near(as_round_to(AS_F16, 2049.0), 2048.0, 0);
    as_quant_put(&v, 0, 2.5, 1);
    as_quant_put(&v, 1, 3.5, 1);
    as_quant_put(&v, 2, 1e9, -7);
    as_quant_put(&v, 3, -1e9, 7);
    expect_eq(y[0], 3);
    expect_eq(y[1], 5);
    expect_eq(y[2], 127);
    expect_eq(y[3], -128);
}

Test(quantize, the_dynamic_scale_and_zero_point_fit_the_range)
{
    assay_env     *env;
    float          x[3] = {-1, 0, 4.1f}, scale;
    uint8_t        y[3], zero;
    as_shape       three = AS_SHAPE(3);
    as_tensor_info in = {.dtype = AS_F32, .shape = three}, out[3];
    expect(assay_env_new(&env) == ASSAY_OK);
    as_node_ctx n = {.op = as_op_find("DynamicQuantizeLinear"), .name = "d", .in = &in, .n_in = 1, .out = out, .n_out = 3};
    expect_ok(env, as_op_infer(env, &n, out));
    as_view v = as_view_of(x, AS_F32, &three), result[3] = {as_view_of(y, AS_U8, &three), as_view_of(&scale, AS_F32, &out[1].shape),
                                                            as_view_of(&zero, AS_U8, &out[2].shape)};
    expect_ok(env, n.op->eval(env, &n, &v, result));
    expect_near(scale, 0.02, 1e-8);
    expect_eq(zero, 50);
    expect_eq(y[0], 0);
    expect_eq(y[1], 50);
    expect_eq(y[2], 255);
    assay_env_free(env);
}

/* From the reference implementation: 4 elements times 0.6 are 2, and the corners are those of the exact width 2.4. */
Test(quantize, resize_takes_a_fraction_as_a_scale)
{
    assay_env     *env;
    float          x[4] = {1, 2, 3, 4}, scale = 0.6f, y[2];
    as_shape       four = AS_SHAPE(4), one = AS_SHAPE(1);
    as_attr        attrs[] = {AS_ATTR_S("mode", "linear"), AS_ATTR_S("coordinate_transformation_mode", "align_corners")};
    as_tensor_info in[3] = {{.dtype = AS_F32, .shape = four},
                            {.dtype = AS_NONE},
                            {.dtype = AS_F32, .shape = one, .constant = &scale}},
                   out;
    expect(assay_env_new(&env) == ASSAY_OK);
    as_node_ctx n = {
        .op = as_op_find("Resize"), .name = "r", .attrs = attrs, .n_attrs = 2, .in = in, .n_in = 3, .out = &out, .n_out = 1};
    expect_ok(env, as_op_infer(env, &n, &out));
    expect_eq(out.shape.dim[0], 2);
    as_view v[3] = {as_view_of(x, AS_F32, &four), {0}, as_view_of(&scale, AS_F32, &one)},
            result = as_view_of(y, AS_F32, &out.shape);
    expect_ok(env, n.op->eval(env, &n, v, &result));
    expect_near(y[0], 1, 1e-6);
    expect_near(y[1], 3.142857, 1e-5);
    assay_env_free(env);
}
