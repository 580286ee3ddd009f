/* op_bitshift.c - integer X shifted left or right by Y bits: element by element, with broadcasting.  A right shift keeps
 * the sign of a signed X; a shift by all bits or more, or by a negative Y, shifts every bit out. */
#include <string.h>

#include "op/rules.h"

static const as_attr_def attrs[] = {
    {.name = "direction", .kind = AS_ATTR_TEXT, .required = true},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const char *direction = as_attr_text(n, "direction", "");
    if (strcmp(direction, "LEFT") && strcmp(direction, "RIGHT"))
        return as_refuse(env, n, "direction is '%s' and must be LEFT or RIGHT", direction);
    return as_rule_all(env, n, 0, AS_SET_INT, out);
}

/* C leaves a shift by 64 or more undefined; a narrower dtype is wrapped afterwards. */
static uint64_t left(uint64_t x, uint64_t y) { return y < 64 ? x << y : 0; }

static uint64_t right(uint64_t x, uint64_t y) { return y < 64 ? x >> y : 0; }

/* Signed integers arrive sign-extended to 64 bits, so a negative Y is a large one.  In C the result of >> on a negative
 * number depends on the compiler; with all bits inverted no number is negative. */
static uint64_t right_signed(uint64_t x, uint64_t y) { return x >> 63 ? ~right(~x, y) : right(x, y); }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    bool is_left = !strcmp(as_attr_text(n, "direction", ""), "LEFT"), is_signed = (AS_DTYPE_BIT(out[0].dtype) & AS_SET_SIGNED) != 0;
    as_each2(&in[0], &in[1], &out[0], NULL, is_left ? left : is_signed ? right_signed : right);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "u8 left",
     .n_in = 2,
     .in = {AS_IN(U8, 4), AS_IN(U8, 4)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "LEFT")},
     .given = (const double[]){1, 128, 255, 3, 3, 1, 4, 0},
     .want = (const double[]){8, 0, 240, 3},
     .n_want = 4},
    {.name = "u16 right",
     .n_in = 2,
     .in = {AS_IN(U16, 3), {.dtype = AS_U16}},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "RIGHT")},
     .given = (const double[]){65535, 4, 1, 2},
     .want = (const double[]){16383, 1, 0},
     .n_want = 3},
    {.name = "u64 right",
     .n_in = 2,
     .in = {AS_IN(U64, 2), AS_IN(U64, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "RIGHT")},
     .given = (const double[]){9.223372036854776e+18, 9.223372036854776e+18, 63, 1},
     .want = (const double[]){1, 4.611686018427388e+18},
     .n_want = 2},
    {.name = "i8 right",
     .n_in = 2,
     .in = {AS_IN(I8, 6), AS_IN(I8, 6)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "RIGHT")},
     .given = (const double[]){-8, -128, 100, -8, 4, -1, 1, 1, 2, 8, 9, -1},
     .want = (const double[]){-4, -64, 25, -1, 0, -1},
     .n_want = 6},
    {.name = "i32 left",
     .n_in = 2,
     .in = {AS_IN(I32, 6), AS_IN(I32, 6)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "LEFT")},
     .given = (const double[]){1073741824, 1, -1073741824, -8, 4, -3, 1, 31, 1, 32, -1, 2},
     .want = (const double[]){-2147483648.0, -2147483648.0, -2147483648.0, 0, 0, -12},
     .n_want = 6},
    /* By hand. */
    {.name = "i64 right",
     .n_in = 2,
     .in = {AS_IN(I64, 4), AS_IN(I64, 4)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "RIGHT")},
     .given = (const double[]){-9.223372036854775808e+18, -9.223372036854775808e+18, -9, 7, 63, 64, 1, -3},
     .want = (const double[]){-1, -1, -5, 0},
     .n_want = 4},
    {.name = "beyond all bits",
     .n_in = 2,
     .in = {AS_IN(U64, 2), AS_IN(U64, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "LEFT")},
     .given = (const double[]){5, 7, 64, 1000},
     .want = (const double[]){0, 0},
     .n_want = 2},
    {.name = "a row",
     .n_in = 2,
     .in = {AS_IN(U32, 7, 9), AS_IN(U32, 9)},
     .lo = 0,
     .hi = 20,
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "LEFT")}},
    {.name = "empty", .n_in = 2, .in = {AS_IN(U32, 0, 9), AS_IN(U32, 9)}, .n_attrs = 1, .attrs = {AS_ATTR_S("direction", "LEFT")}},
    /* Beyond a strip of the kernels, with a value on either side. */
    {.name = "i32 3x37",
     .n_in = 2,
     .in = {AS_IN(I32, 3, 37), AS_IN(I32, 3, 37)},
     .lo = -3,
     .hi = 20,
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "RIGHT")}},
    {.name = "u8 3x37",
     .n_in = 2,
     .in = {AS_IN(U8, 3, 37), AS_IN(U8, 3, 37)},
     .lo = 0,
     .hi = 20,
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "RIGHT")}},
    {.name = "i64 3x37",
     .n_in = 2,
     .in = {AS_IN(I64, 3, 37), AS_IN(I64, 3, 37)},
     .lo = -3,
     .hi = 20,
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "RIGHT")}},
    {.name = "i32 3x37 and a column",
     .n_in = 2,
     .in = {AS_IN(I32, 3, 37), AS_IN(I32, 3, 1)},
     .lo = -3,
     .hi = 20,
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "RIGHT")}},
    {.name = "i32 a value and 70",
     .n_in = 2,
     .in = {AS_IN(I32, 1), AS_IN(I32, 70)},
     .lo = -3,
     .hi = 20,
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "RIGHT")}},
};

const as_op as_op_bitshift = {
    .name = "BitShift",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_each,
    .eval = eval, /* no gradient: integers have none */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
