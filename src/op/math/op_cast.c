/* op_cast.c - the same values as another dtype, which `to` names by ONNX's number.  Integers keep their low bits.  Floats
 * become integers by rounding towards zero, and saturate: ONNX does not define values that do not fit, and its tests keep
 * the low bits for integers of less than 8 bits.  Everything except 0 becomes true. */
#include <math.h>

#include "op/shape/move.h"

static const as_attr_def attrs[] = {
    {.name = "to", .kind = AS_ATTR_INT, .required = true},
    {.name = "saturate", .kind = AS_ATTR_INT},
    {.name = "round_mode", .kind = AS_ATTR_TEXT},
    {0},
};

/* TensorProto.DataType; `saturate` only concerns float8, `round_mode` only float8e8m0. */
static const as_dtype dtypes[] = {
    [1] = AS_F32,     [2] = AS_U8,          [3] = AS_I8,    [4] = AS_U16,       [5] = AS_I16,
    [6] = AS_I32,     [7] = AS_I64,         [9] = AS_BOOL,  [10] = AS_F16,      [11] = AS_F64,
    [12] = AS_U32,    [13] = AS_U64,        [16] = AS_BF16, [17] = AS_F8E4M3FN, [18] = AS_F8E4M3FNUZ,
    [19] = AS_F8E5M2, [20] = AS_F8E5M2FNUZ, [21] = AS_U4,   [22] = AS_I4,       [23] = AS_F4E2M1,
    [24] = AS_F8E8M0, [25] = AS_U2,         [26] = AS_I2,   [27] = AS_F6E2M3,   [28] = AS_F6E3M2,
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    int64_t to = as_attr_int(n, "to", 0);
    as_cast how;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_EVERY));
    AS_TRY(as_cast_read(env, n, &how));
    if (to < 0 || to >= (int64_t)AS_COUNT(dtypes) || dtypes[to] == AS_NONE)
        return as_refuse(env, n, "to is %lld, which is not a known dtype", (long long)to);
    out[0] = as_info(dtypes[to], &n->in[0].shape);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_cast how;
    AS_TRY(as_cast_read(env, n, &how));
    as_view_cast(&out[0], &in[0], &how);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    d_in[0] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype) || !as_dtype_is_float(n->out[0].dtype))
        return ASSAY_OK;
    int64_t back = 0;
    while (dtypes[back] != n->in[0].dtype)
        back++;
    as_attr to = AS_ATTR_I("to", back);
    d_in[0] = b->node(b, "Cast", &d_out[0], 1, &to, 1, NULL, 1);
    return ASSAY_OK;
}

#define TO(number_)             .n_attrs = 1, .attrs = {AS_ATTR_I("to", number_)}
#define SATURATE(number_, yes_) .n_attrs = 2, .attrs = {AS_ATTR_I("to", number_), AS_ATTR_I("saturate", yes_)}
#define ROUND(mode_)            .n_attrs = 2, .attrs = {AS_ATTR_I("to", 24), AS_ATTR_S("round_mode", mode_)}

static const as_case cases[] = {
    /* By hand: towards zero, and saturating. */
    {.name = "f32 to i8 by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 6)},
     TO(3),
     .no_grad = true,
     AS_GIVEN(-1.9, 1.9, 0.5, -300, 300, 127),
     AS_WANT(-1, 1, 0, -128, 127, 127)},
    /* numpy: array([200, -1, 256, 127], int16).astype(int8), and ONNX's own example 200 -> -56. */
    {.name = "i16 to i8 by numpy",
     .n_in = 1,
     .in = {AS_IN(I16, 4)},
     TO(3),
     .no_grad = true,
     AS_GIVEN(200, -1, 256, 127),
     AS_WANT(-56, -1, 0, 127)},
    {.name = "i8 to u16 by numpy",
     .n_in = 1,
     .in = {AS_IN(I8, 3)},
     TO(4),
     .no_grad = true,
     AS_GIVEN(-1, -128, 5),
     AS_WANT(65535, 65408, 5)},
    {.name = "f64 to u32 by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 4)},
     TO(12),
     .no_grad = true,
     AS_GIVEN(-5, 4294967295.0, 5e9, 2.5),
     AS_WANT(0, 4294967295.0, 4294967295.0, 2)},
    {.name = "f64 to u64 by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 3)},
     TO(13),
     .no_grad = true,
     AS_GIVEN(-5, 0x1p60, 2.5),
     AS_WANT(0, 0x1p60, 2)},
    {.name = "f32 to bool by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 4)},
     TO(9),
     .no_grad = true,
     AS_GIVEN(0, 0.25, -1, -0.0),
     AS_WANT(0, 1, 1, 0)},
    {.name = "i32 to bool by hand",
     .n_in = 1,
     .in = {AS_IN(I32, 3)},
     TO(9),
     .no_grad = true,
     AS_GIVEN(0, 256, -1),
     AS_WANT(0, 1, 1)},
    {.name = "bool to f16 by hand", .n_in = 1, .in = {AS_IN(BOOL, 2)}, TO(10), .no_grad = true, AS_GIVEN(0, 1), AS_WANT(0, 1)},
    {.name = "i64 to bf16 by hand",
     .n_in = 1,
     .in = {AS_IN(I64, 3)},
     TO(16),
     .no_grad = true,
     AS_GIVEN(1, 256, -3),
     AS_WANT(1, 256, -3)},
    /* By hand, from the tables in ONNX's definition: to nearest; beyond the largest number it is that number or NaN. */
    {.name = "f32 to f8e4m3fn by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 7)},
     TO(17),
     .no_grad = true,
     AS_GIVEN(0.3, 1e6, -1e6, INFINITY, NAN, 1.0625, 464),
     AS_WANT(0.3125, 448, -448, 448, NAN, 1, 448)},
    {.name = "f32 to f8e4m3fn without saturating by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 4)},
     SATURATE(17, 0),
     .no_grad = true,
     AS_GIVEN(1e6, -INFINITY, 464, 464.5),
     AS_WANT(NAN, NAN, 448, NAN)},
    {.name = "f16 to f8e4m3fnuz by hand",
     .n_in = 1,
     .in = {AS_IN(F16, 3)},
     TO(18),
     .no_grad = true,
     AS_GIVEN(250, -0.0, 0.3),
     AS_WANT(240, 0, 0.3125)},
    {.name = "f64 to f8e5m2 by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 3)},
     TO(19),
     .no_grad = true,
     AS_GIVEN(61440, -INFINITY, 1.1),
     AS_WANT(57344, -57344, 1)},
    {.name = "f32 to f8e5m2 without saturating by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     SATURATE(19, 0),
     .no_grad = true,
     AS_GIVEN(61440, -INFINITY, 61439),
     AS_WANT(INFINITY, -INFINITY, 57344)},
    {.name = "i32 to f8e5m2fnuz by hand",
     .n_in = 1,
     .in = {AS_IN(I32, 3)},
     TO(20),
     .no_grad = true,
     AS_GIVEN(9, -11, 99999),
     AS_WANT(8, -12, 57344)},
    {.name = "f8e4m3fn to f32 by hand",
     .n_in = 1,
     .in = {AS_IN(F8E4M3FN, 3)},
     TO(1),
     .no_grad = true,
     AS_GIVEN(0.3125, 448, NAN),
     AS_WANT(0.3125, 448, NAN)},
    {.name = "f8e5m2 to f8e4m3fn by hand",
     .n_in = 1,
     .in = {AS_IN(F8E5M2, 3)},
     TO(17),
     .no_grad = true,
     AS_GIVEN(57344, 0.25, INFINITY),
     AS_WANT(448, 0.25, 448)},
    {.name = "f32 to f8e8m0 by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 4)},
     TO(24),
     .no_grad = true,
     AS_GIVEN(0, 1.1, 0.25, INFINITY),
     AS_WANT(0x1p-127, 2, 0.25, 0x1p127)},
    {.name = "u64 to f8e8m0 by hand",
     .n_in = 1,
     .in = {AS_IN(U64, 2)},
     TO(24),
     .no_grad = true,
     AS_GIVEN(5, 0x1p63),
     AS_WANT(8, 0x1p63)},
    {.name = "f32 to f8e8m0 downwards by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     ROUND("down"),
     .no_grad = true,
     AS_GIVEN(1.9, 2, 1e-9),
     AS_WANT(1, 2, 0x1p-30)},
    {.name = "f32 to f8e8m0 to the nearest by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     ROUND("nearest"),
     .no_grad = true,
     AS_GIVEN(1.4, 1.5, 3.5),
     AS_WANT(1, 2, 4)},
    {.name = "f32 to f4e2m1 by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 5)},
     TO(23),
     .no_grad = true,
     AS_GIVEN(0.25, 0.75, -3.5, 9, -INFINITY),
     AS_WANT(0, 1, -4, 6, -6)},
    {.name = "f32 to f6e2m3 by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     TO(27),
     .no_grad = true,
     AS_GIVEN(0.3, -9, 2.5),
     AS_WANT(0.25, -7.5, 2.5)},
    {.name = "f32 to f6e3m2 by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     TO(28),
     .no_grad = true,
     AS_GIVEN(0.3, -99, 2.25),
     AS_WANT(0.3125, -28, 2)},
    /* ml_dtypes: array(...).astype(int4) and the like keep the low bits of floats too. */
    {.name = "f32 to i4 by ml_dtypes",
     .n_in = 1,
     .in = {AS_IN(F32, 5)},
     TO(22),
     .no_grad = true,
     AS_GIVEN(-9, 8, 7.9, -3.7, 15),
     AS_WANT(7, -8, 7, -3, -1)},
    {.name = "i16 to u4 by ml_dtypes",
     .n_in = 1,
     .in = {AS_IN(I16, 3)},
     TO(21),
     .no_grad = true,
     AS_GIVEN(-1, 16, 300),
     AS_WANT(15, 0, 12)},
    {.name = "f16 to i2 by ml_dtypes",
     .n_in = 1,
     .in = {AS_IN(F16, 4)},
     TO(26),
     .no_grad = true,
     AS_GIVEN(2, -3, 1, -2),
     AS_WANT(-2, 1, 1, -2)},
    {.name = "i4 to u2 by ml_dtypes",
     .n_in = 1,
     .in = {AS_IN(I4, 3)},
     TO(25),
     .no_grad = true,
     AS_GIVEN(-1, 4, 7),
     AS_WANT(3, 0, 3)},
    {.name = "i2 to i8 by hand",
     .n_in = 1,
     .in = {AS_IN(I2, 4)},
     TO(3),
     .no_grad = true,
     AS_GIVEN(-2, -1, 0, 1),
     AS_WANT(-2, -1, 0, 1)},
    {.name = "u4 to bool by hand", .n_in = 1, .in = {AS_IN(U4, 3)}, TO(9), .no_grad = true, AS_GIVEN(0, 1, 15), AS_WANT(0, 1, 1)},
    {.name = "f4e2m1 to f16 by hand",
     .n_in = 1,
     .in = {AS_IN(F4E2M1, 3)},
     TO(10),
     .no_grad = true,
     AS_GIVEN(-6, 0.5, 1.5),
     AS_WANT(-6, 0.5, 1.5)},
    {.name = "f32 to f16", .n_in = 1, .in = {AS_IN(F32, 3, 17)}, TO(10), .no_grad = true},
    {.name = "f16 to f32", .n_in = 1, .in = {AS_IN(F16, 9)}, TO(1), .no_grad = true},
    {.name = "f32 to f64", .n_in = 1, .in = {AS_IN(F32, 7, 9)}, TO(11)}, /* the only one that finite differences can test */
    {.name = "u8 to f32", .n_in = 1, .in = {AS_IN(U8, 33)}, TO(1), .lo = 0, .hi = 255, .no_grad = true},
    {.name = "scalar", .n_in = 1, .in = {{.dtype = AS_F32}}, TO(7), .lo = -9, .hi = 9, .no_grad = true},
    {.name = "f32 to bf16, 3x29", .n_in = 1, .in = {AS_IN(F32, 3, 29)}, TO(16), .no_grad = true},
    {.name = "bf16 to f32, 3x29", .n_in = 1, .in = {AS_IN(BF16, 3, 29)}, TO(1), .no_grad = true},
    {.name = "f16 to f32, 3x29", .n_in = 1, .in = {AS_IN(F16, 3, 29)}, TO(1), .no_grad = true},
    {.name = "f32 to f16, 3x29", .n_in = 1, .in = {AS_IN(F32, 3, 29)}, TO(10), .no_grad = true},
    {.name = "f32 to i8, 3x29", .n_in = 1, .in = {AS_IN(F32, 3, 29)}, TO(3), .lo = -150, .hi = 150, .no_grad = true},
    {.name = "i8 to f32, 3x29", .n_in = 1, .in = {AS_IN(I8, 3, 29)}, TO(1), .lo = -128, .hi = 127, .no_grad = true},
    {.name = "f32 to i32, 3x29", .n_in = 1, .in = {AS_IN(F32, 3, 29)}, TO(6), .lo = -3e9, .hi = 3e9, .no_grad = true},
    {.name = "i32 to f32, 3x29", .n_in = 1, .in = {AS_IN(I32, 3, 29)}, TO(1), .lo = -2e9, .hi = 2e9, .no_grad = true},
    {.name = "f32 to i64, 3x29", .n_in = 1, .in = {AS_IN(F32, 3, 29)}, TO(7), .lo = -2e19, .hi = 2e19, .no_grad = true},
    {.name = "i64 to f32, 3x29", .n_in = 1, .in = {AS_IN(I64, 3, 29)}, TO(1), .lo = -1e6, .hi = 1e6, .no_grad = true},
    {.name = "f32 to bool, 3x29", .n_in = 1, .in = {AS_IN(F32, 3, 29)}, TO(9), .no_grad = true},
    {.name = "bool to f32, 3x29", .n_in = 1, .in = {AS_IN(BOOL, 3, 29)}, TO(1), .no_grad = true},
    {.name = "empty", .n_in = 1, .in = {AS_IN(F32, 0, 3)}, TO(6), .no_grad = true},
};

/* No flops by definition: a conversion computes nothing new. */
const as_op as_op_cast = {
    .name = "Cast",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
