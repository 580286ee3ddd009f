/* op_dequantizelinear.c - y = (x - zero_point) * scale, with the same three ways to lay the scale over x as QuantizeLinear. */
#include "op/quant/quantize.h"

static const as_attr_def attrs[] = {
    {.name = "axis", .kind = AS_ATTR_INT},
    {.name = "block_size", .kind = AS_ATTR_INT},
    {.name = "output_dtype", .kind = AS_ATTR_INT},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_quant_grid grid;
    as_dtype      dtype;
    AS_TRY(as_quant_dtype(env, n, 0, "x", AS_SET_QUANT | AS_DTYPE_BIT(AS_I32)));
    AS_TRY(as_quant_dtype(env, n, 1, "x_scale", AS_SET_SCALE | AS_DTYPE_BIT(AS_F8E8M0)));
    if (as_in_has(n, 2) && n->in[2].dtype != n->in[0].dtype)
        return as_refuse(env, n, "x is %s and the zero point is %s: they must be the same", as_dtype_name(n->in[0].dtype),
                         as_dtype_name(n->in[2].dtype));
    AS_TRY(as_quant_grid_read(env, n, &grid));
    AS_TRY(as_quant_code(env, n, "output_dtype", n->in[1].dtype, AS_SET_SCALE, &dtype));
    if (dtype == AS_F8E8M0)
        return as_refuse(env, n, "x_scale (input 1) is f8e8m0, which y cannot be: output_dtype must say what y is");
    out[0] = as_info(dtype, &n->in[0].shape);
    return ASSAY_OK;
}

/* A subtraction and a product per element. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    cost.flops = as_sat_mul(2, as_sat_count(&n->in[0].shape));
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_quant_grid grid;
    AS_TRY(as_quant_grid_read(env, n, &grid));
    int64_t index[AS_MAX_RANK] = {0}, count = as_shape_count(&out[0].shape);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = as_quant_grid_at(&grid, &in[1].shape, index, out[0].shape.rank);
        double  zero = as_in_has(n, 2) ? as_view_get(&in[2], at) : 0.0;
        as_view_set(&out[0], i,
                    (as_view_get(&in[0], i) - zero) * as_view_get(&in[1], at)); /* the difference is exact: at most 33 bits */
        as_index_next(&out[0].shape, index);
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* The examples in ONNX's own node tests. */
    {.name = "u8 of ONNX",
     .n_in = 3,
     .in = {AS_IN(U8, 4), {.dtype = AS_F32}, {.dtype = AS_U8}},
     .given = (const double[]){0, 3, 128, 255, 2, 128},
     .want = (const double[]){-256, -250, 0, 254},
     .n_want = 4},
    {.name = "u16 of ONNX",
     .n_in = 3,
     .in = {AS_IN(U16, 4), {.dtype = AS_F32}, {.dtype = AS_U16}},
     .given = (const double[]){30000, 31000, 32768, 33000, 2, 32767},
     .want = (const double[]){-5534, -3534, 2, 466},
     .n_want = 4},
    /* By hand: a scale and a zero point for each row. */
    {.name = "axis by hand",
     .n_in = 3,
     .in = {AS_IN(I8, 2, 2), AS_IN(F32, 2), AS_IN(I8, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", -2)},
     .given = (const double[]){-128, 127, 1, 2, 0.5, 10, -1, 1},
     .want = (const double[]){-63.5, 64, 0, 10},
     .n_want = 4},
    /* By hand: blocks of two along the first axis, the last of one. */
    {.name = "blocks by hand",
     .n_in = 3,
     .in = {AS_IN(U8, 3, 2), AS_IN(F32, 2, 2), AS_IN(U8, 2, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("axis", 0), AS_ATTR_I("block_size", 2)},
     .given = (const double[]){1, 2, 3, 4, 5, 6, 1, 10, 100, 1000, 0, 1, 2, 3},
     .want = (const double[]){1, 10, 3, 30, 300, 3000},
     .n_want = 6},
    /* By hand: the accumulator of an integer product converted back to floats. */
    {.name = "i32 by hand",
     .n_in = 2,
     .in = {AS_IN(I32, 3), {.dtype = AS_F32}},
     .given = (const double[]){-70000, 0, 1000000, 0.25},
     .want = (const double[]){-17500, 0, 250000},
     .n_want = 3},
    /* By hand. */
    {.name = "f8e4m3fn by hand",
     .n_in = 3,
     .in = {AS_IN(F8E4M3FN, 5), {.dtype = AS_F32}, {.dtype = AS_F8E4M3FN}},
     .given = (const double[]){0, 0.5, 1, 448, -104, 2, 0},
     .want = (const double[]){0, 1, 2, 896, -208},
     .n_want = 5},
    {.name = "f8e5m2 by hand",
     .n_in = 2,
     .in = {AS_IN(F8E5M2, 3), {.dtype = AS_F16}},
     .given = (const double[]){0.25, 49152, -96, 0.5},
     .want = (const double[]){0.125, 24576, -48},
     .n_want = 3},
    {.name = "i4 by hand",
     .n_in = 3,
     .in = {AS_IN(I4, 4), {.dtype = AS_F32}, {.dtype = AS_I4}},
     .given = (const double[]){-8, 1, 7, 0, 2, 1},
     .want = (const double[]){-18, 0, 12, -2},
     .n_want = 4},
    {.name = "u2 by hand",
     .n_in = 3,
     .in = {AS_IN(U2, 4), {.dtype = AS_F32}, {.dtype = AS_U2}},
     .given = (const double[]){0, 1, 2, 3, 2, 1},
     .want = (const double[]){-2, 0, 2, 4},
     .n_want = 4},
    {.name = "f4e2m1 in blocks with scales of f8e8m0 by hand",
     .n_in = 2,
     .in = {AS_IN(F4E2M1, 1, 4), AS_IN(F8E8M0, 1, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("axis", 1), AS_ATTR_I("block_size", 2), AS_ATTR_I("output_dtype", 1)},
     .given = (const double[]){3, -4, 4, 6, 2, 0.25},
     .want = (const double[]){6, -8, 1, 1.5},
     .n_want = 4},
    {.name = "i16 of 7x9 by columns", .n_in = 2, .in = {AS_IN(I16, 7, 9), AS_IN(F32, 9)}, .lo = -90, .hi = 90},
    {.name = "f16", .n_in = 2, .in = {AS_IN(I8, 17), {.dtype = AS_F16}}, .lo = -4, .hi = 4},
    {.name = "bf16 by output_dtype",
     .n_in = 2,
     .in = {AS_IN(I8, 17), AS_IN(F32, 1)},
     .lo = -4,
     .hi = 4,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("output_dtype", 16)}},
    /* Around the sixteen elements of a vector, with one scale, one per slice, per column and per block. */
    {.name = "u8 of 3x37", .n_in = 3, .in = {AS_IN(U8, 3, 37), {.dtype = AS_F32}, {.dtype = AS_U8}}, .lo = 0, .hi = 255},
    {.name = "i8 of 2x5x33 by slices",
     .n_in = 3,
     .in = {AS_IN(I8, 2, 5, 33), AS_IN(F32, 5), AS_IN(I8, 5)},
     .lo = -128,
     .hi = 127,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 1)}},
    {.name = "u8 of 5x35 by columns", .n_in = 3, .in = {AS_IN(U8, 5, 35), AS_IN(F32, 35), AS_IN(U8, 35)}, .lo = 0, .hi = 255},
    {.name = "i8 of 3x50 in blocks",
     .n_in = 3,
     .in = {AS_IN(I8, 3, 50), AS_IN(F32, 3, 3), AS_IN(I8, 3, 3)},
     .lo = -128,
     .hi = 127,
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("axis", 1), AS_ATTR_I("block_size", 20)}},
    {.name = "u8 of 7x18 in blocks of rows",
     .n_in = 3,
     .in = {AS_IN(U8, 7, 18), AS_IN(F32, 3, 18), AS_IN(U8, 3, 18)},
     .lo = 0,
     .hi = 255,
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("axis", 0), AS_ATTR_I("block_size", 3)}},
    {.name = "i32 of 67", .n_in = 3, .in = {AS_IN(I32, 67), {.dtype = AS_F32}, {.dtype = AS_I32}}, .lo = -2e9, .hi = 2e9},
    {.name = "empty", .n_in = 2, .in = {AS_IN(U8, 0, 3), {.dtype = AS_F32}}},
};

/* No gradient: x holds integers, and quantised parameters are not trained here. */
const as_op as_op_dequantizelinear = {
    .name = "DequantizeLinear",
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* the product of two f32 rounds once */
};
