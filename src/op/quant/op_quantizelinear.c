/* op_quantizelinear.c - y = saturate(round(x / scale) + zero_point): one scale for all, one per slice of an axis, or one per
 * block. */
#include <math.h>

#include "op/quant/quantize.h"

/* saturate only concerns float8 outputs; integers and shorter floats always saturate. */
static const as_attr_def attrs[] = {
    {.name = "axis", .kind = AS_ATTR_INT},         {.name = "block_size", .kind = AS_ATTR_INT},
    {.name = "output_dtype", .kind = AS_ATTR_INT}, {.name = "precision", .kind = AS_ATTR_INT},
    {.name = "saturate", .kind = AS_ATTR_INT},     {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_quant_grid grid;
    as_dtype      dtype, precision;
    AS_TRY(as_quant_dtype(env, n, 0, "x", AS_SET_SCALE | AS_DTYPE_BIT(AS_I32)));
    AS_TRY(as_quant_dtype(env, n, 1, "y_scale", AS_SET_SCALE | AS_DTYPE_BIT(AS_I32) | AS_DTYPE_BIT(AS_F8E8M0)));
    AS_TRY(as_quant_dtype(env, n, 2, "y_zero_point", AS_SET_QUANT));
    AS_TRY(as_quant_grid_read(env, n, &grid));
    AS_TRY(as_quant_code(env, n, "output_dtype", AS_NONE, AS_SET_QUANT, &dtype));
    AS_TRY(as_quant_code(env, n, "precision", AS_F32, AS_SET_FLOAT, &precision));
    if (as_in_has(n, 2) && dtype != AS_NONE && dtype != n->in[2].dtype)
        return as_refuse(env, n, "output_dtype is %s and the zero point is %s: they must be the same", as_dtype_name(dtype),
                         as_dtype_name(n->in[2].dtype));
    if (as_in_has(n, 2))
        dtype = n->in[2].dtype;
    out[0] = as_info(dtype == AS_NONE ? AS_U8 : dtype, &n->in[0].shape);
    return ASSAY_OK;
}

/* A division, an addition and two comparisons per element. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t count = as_sat_count(&n->in[0].shape);
    cost.flops = as_sat_mul(4, count);
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_quant_grid grid;
    as_dtype      precision;
    AS_TRY(as_quant_grid_read(env, n, &grid));
    /* Without the attribute the quotient has the scale's type. Where the scale is an integer or f8e8m0, which cannot divide, it is
     * f32. */
    bool by_scale = AS_DTYPE_BIT(in[1].dtype) & AS_SET_FLOAT, small = as_dtype_is_small_float(out[0].dtype),
         saturate = as_attr_int(n, "saturate", 1);
    AS_TRY(as_quant_code(env, n, "precision", by_scale ? in[1].dtype : AS_F32, AS_SET_FLOAT, &precision));
    int64_t index[AS_MAX_RANK] = {0}, count = as_shape_count(&out[0].shape);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = as_quant_grid_at(&grid, &in[1].shape, index, out[0].shape.rank);
        double  quotient = as_round_to(precision, as_round_to(precision, as_view_get(&in[0], i)) /
                                                      as_round_to(precision, as_view_get(&in[1], at)));
        if (small)
            as_quant_put_small(&out[0], i, quotient, as_in_has(n, 2) ? as_view_get(&in[2], at) : 0.0, saturate);
        else
            as_quant_put(&out[0], i, quotient, as_in_has(n, 2) ? as_view_get_i64(&in[2], at) : 0);
        as_index_next(&out[0].shape, index);
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* The examples in ONNX's own node tests. */
    {.name = "u8 of ONNX",
     .n_in = 3,
     .in = {AS_IN(F32, 6), {.dtype = AS_F32}, {.dtype = AS_U8}},
     .given = (const double[]){0, 2, 3, 1000, -254, -1000, 2, 128},
     .want = (const double[]){128, 129, 130, 255, 1, 0},
     .n_want = 6},
    {.name = "axis of ONNX",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 3, 3, 2), AS_IN(F32, 3), AS_IN(U8, 3)},
     .given = (const double[]){-162, 10,   -100, 232,  -20,  -50,  -76, 0, 0, 252, 32, -44,
                               245,  -485, -960, -270, -375, -470, 2,   4, 5, 84,  24, 196},
     .want = (const double[]){3, 89, 34, 200, 74, 59, 5, 24, 24, 87, 32, 13, 245, 99, 4, 142, 121, 102},
     .n_want = 18},
    /* By hand: ties go to the even neighbour before the zero point 1 is added: 0.5 -> 0, 1.5 -> 2, 2.5 -> 2, -0.5 -> 0. */
    {.name = "ties by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 4), {.dtype = AS_F32}, {.dtype = AS_I8}},
     .given = (const double[]){0.5, 1.5, 2.5, -0.5, 1, 1},
     .want = (const double[]){1, 3, 3, 1},
     .n_want = 4},
    /* By hand: blocks of two along the last axis, the last of one; i16 without a zero point. */
    {.name = "blocks by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("axis", 1), AS_ATTR_I("block_size", 2), AS_ATTR_I("output_dtype", 5)},
     .given = (const double[]){4, 8, 9, 1, 2, 90000, 2, 3, 0.5, 1},
     .want = (const double[]){2, 4, 3, 2, 4, 32767},
     .n_want = 6},
    /* By hand: an i32 to be rescaled. */
    {.name = "i32 by hand",
     .n_in = 3,
     .in = {AS_IN(I32, 3), {.dtype = AS_F32}, {.dtype = AS_U16}},
     .given = (const double[]){-8, 10, 1000000, 4, 100},
     .want = (const double[]){98, 102, 65535},
     .n_want = 3},
    {.name = "f8e4m3fn of ONNX",
     .n_in = 3,
     .in = {AS_IN(F32, 5), {.dtype = AS_F32}, AS_IN(F8E4M3FN, 1)},
     .given = (const double[]){0, 1, 2, 100000, 200, 2, 0},
     .want =
         (const double[]){
             0,
             0.5,
             1,
             448,
             96,
         },
     .n_want = 5},
    /* By hand: 200 / 2 = 100 lies between 96 and 104; what does not fit becomes NaN. */
    {.name = "f8e4m3fn without saturating by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2), {.dtype = AS_F32}},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("output_dtype", 17), AS_ATTR_I("saturate", 0)},
     .given = (const double[]){100000, 3, 2},
     .want = (const double[]){NAN, 1.5},
     .n_want = 2},
    {.name = "f8e5m2 of ONNX",
     .n_in = 3,
     .in = {AS_IN(F32, 4), {.dtype = AS_F32}, AS_IN(F8E5M2, 1)},
     .given = (const double[]){0, 1, 2, 100000, 2, 0},
     .want = (const double[]){0, 0.5, 1, 49152},
     .n_want = 4},
    /* By hand: all ends, and the rounding before the zero point. */
    {.name = "i4 by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 4), {.dtype = AS_F32}, AS_IN(I4, 1)},
     .given = (const double[]){-100, 5, 100, 0, 2, 1},
     .want = (const double[]){-8, 3, 7, 1},
     .n_want = 4},
    {.name = "u4 by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 3), {.dtype = AS_F32}},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("output_dtype", 21)},
     .given = (const double[]){-3, 9, 100, 2},
     .want = (const double[]){0, 4, 15},
     .n_want = 3},
    {.name = "i2 by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 3), {.dtype = AS_F32}},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("output_dtype", 26)},
     .given = (const double[]){-9, -1, 9, 1},
     .want = (const double[]){-2, -1, 1},
     .n_want = 3},
    {.name = "u2 by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 3), {.dtype = AS_F32}},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("output_dtype", 25)},
     .given = (const double[]){-9, 2, 9, 1},
     .want = (const double[]){0, 2, 3},
     .n_want = 3},
    {.name = "f4e2m1 in blocks with scales of f8e8m0 by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 4), AS_IN(F8E8M0, 1, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("axis", 1), AS_ATTR_I("block_size", 2), AS_ATTR_I("output_dtype", 23)},
     .given = (const double[]){6, -8, 1, 2, 2, 0.25},
     .want = (const double[]){3, -4, 4, 6},
     .n_want = 4},
    {.name = "without a zero point", .n_in = 2, .in = {AS_IN(F32, 7, 9), AS_IN(F32, 9)}, .lo = 0.5, .hi = 90},
    {.name = "f16", .n_in = 2, .in = {AS_IN(F16, 17), {.dtype = AS_F16}}, .lo = 0.5, .hi = 4},
    {.name = "bf16 in the precision of f32",
     .n_in = 2,
     .in = {AS_IN(BF16, 17), {.dtype = AS_BF16}},
     .lo = 0.5,
     .hi = 4,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("precision", 1)}},
    {.name = "i8 by output_dtype",
     .n_in = 2,
     .in = {AS_IN(F32, 33), AS_IN(F32, 1)},
     .lo = 0.01,
     .hi = 4,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("output_dtype", 3)}},
    /* By hand: what is not a number is 0, not the zero point; infinities saturate. */
    {.name = "not a number by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 4), {.dtype = AS_F32}, {.dtype = AS_I8}},
     .given = (const double[]){NAN, INFINITY, -INFINITY, 300, 1, 5},
     .want = (const double[]){0, 127, -128, 127},
     .n_want = 4},
    /* Around the sixteen elements of a vector, with one scale, one per slice, per column and per block, and with ties. */
    {.name = "u8 of 3x37 with ties",
     .n_in = 3,
     .in = {AS_IN(F32, 3, 37), {.dtype = AS_F32}, {.dtype = AS_U8}},
     .lo = 0.25,
     .hi = 90},
    {.name = "i8 of 2x5x33 by slices",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 5, 33), AS_IN(F32, 5), AS_IN(I8, 5)},
     .lo = -50,
     .hi = 50,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 1)}},
    {.name = "u8 of 5x35 by columns", .n_in = 3, .in = {AS_IN(F32, 5, 35), AS_IN(F32, 35), AS_IN(U8, 35)}, .lo = 0.5, .hi = 90},
    {.name = "i8 of 3x50 in blocks",
     .n_in = 3,
     .in = {AS_IN(F32, 3, 50), AS_IN(F32, 3, 3), AS_IN(I8, 3, 3)},
     .lo = -50,
     .hi = 50,
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("axis", 1), AS_ATTR_I("block_size", 20)}},
    {.name = "u8 of 7x18 in blocks of rows",
     .n_in = 3,
     .in = {AS_IN(F32, 7, 18), AS_IN(F32, 3, 18), AS_IN(U8, 3, 18)},
     .lo = 0.5,
     .hi = 90,
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("axis", 0), AS_ATTR_I("block_size", 3)}},
    {.name = "i16 of 67", .n_in = 3, .in = {AS_IN(F32, 67), {.dtype = AS_F32}, {.dtype = AS_I16}}, .lo = -9, .hi = 9},
    {.name = "u16 of 4x33 by columns", .n_in = 3, .in = {AS_IN(F32, 4, 33), AS_IN(F32, 33), AS_IN(U16, 33)}, .lo = 0.001, .hi = 9},
    {.name = "empty", .n_in = 2, .in = {AS_IN(F32, 0, 3), {.dtype = AS_F32}}},
};

/* No gradient: that of a step function is of no use. */
const as_op as_op_quantizelinear = {
    .name = "QuantizeLinear",
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
    .n_cases = AS_COUNT(cases),
};
