/* op_where.c - X where the condition holds and Y elsewhere: element by element, all three broadcast. */
#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_DTYPE_BIT(AS_BOOL)));
    return as_rule_all(env, n, 1, AS_SET_ANY, out);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_view condition = as_view_broadcast(&in[0], &out[0].shape);
    as_view x = as_view_broadcast(&in[1], &out[0].shape), y = as_view_broadcast(&in[2], &out[0].shape);
    bool    is_float = as_dtype_is_float(out[0].dtype);
    int64_t count = as_shape_count(&out[0].shape);
    for (int64_t i = 0; i < count; i++) {
        const as_view *from = as_view_get_i64(&condition, i) ? &x : &y;
        if (is_float)
            as_view_set(&out[0], i, as_view_get(from, i));
        else
            as_view_set_i64(&out[0], i, as_view_get_i64(from, i));
    }
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    d_in[0] = d_in[1] = d_in[2] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[1].dtype))
        return ASSAY_OK;
    d_in[1] = as_b_sum_to(b, as_b_only(b, in[0], d_out[0]), &n->in[1].shape);
    d_in[2] = as_b_sum_to(b, as_b_except(b, in[0], d_out[0]), &n->in[2].shape);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "f32",
     .n_in = 3,
     .in = {AS_IN(BOOL, 2, 2), AS_IN(F32, 2, 2), AS_IN(F32, 2, 2)},
     .given = (const double[]){1, 0, 1, 1, 1, 2, 3, 4, 9, 8, 7, 6},
     .want = (const double[]){1, 8, 3, 4},
     .n_want = 4},
    {.name = "three ways",
     .n_in = 3,
     .in = {AS_IN(BOOL, 2, 1, 1), AS_IN(F64, 2, 1), AS_IN(F64, 3)},
     .given = (const double[]){1, 0, 1, 2, 7, 8, 9},
     .want = (const double[]){1, 1, 1, 2, 2, 2, 7, 8, 9, 7, 8, 9},
     .n_want = 12},
    {.name = "u64",
     .n_in = 3,
     .in = {AS_IN(BOOL, 2), {.dtype = AS_U64}, AS_IN(U64, 2)},
     .given = (const double[]){1, 0, 9.223372036854776e+18, 1, 2},
     .want = (const double[]){9.223372036854776e+18, 2},
     .n_want = 2,
     .no_grad = true},
    {.name = "bool",
     .n_in = 3,
     .in = {AS_IN(BOOL, 2), AS_IN(BOOL, 2), AS_IN(BOOL, 2)},
     .given = (const double[]){1, 0, 0, 0, 1, 1},
     .want = (const double[]){0, 1},
     .n_want = 2,
     .no_grad = true},
    {.name = "15x17", .n_in = 3, .in = {AS_IN(BOOL, 15, 17), AS_IN(F32, 15, 17), AS_IN(F32, 15, 17)}},
    {.name = "a mask of rows", .n_in = 3, .in = {AS_IN(BOOL, 9, 1), AS_IN(F32, 9, 7), {.dtype = AS_F32}}},
    {.name = "channels", .n_in = 3, .in = {AS_IN(BOOL, 3, 1, 1), AS_IN(F32, 2, 3, 5, 7), AS_IN(F32, 5, 1)}},
    {.name = "a value in the place of X", .n_in = 3, .in = {AS_IN(BOOL, 2, 37), {.dtype = AS_F32}, AS_IN(F32, 2, 37)}},
    {.name = "a value in the place of Y", .n_in = 3, .in = {AS_IN(BOOL, 2, 37), AS_IN(F32, 2, 37), {.dtype = AS_F32}}},
    {.name = "f16", .n_in = 3, .in = {AS_IN(BOOL, 17), AS_IN(F16, 17), AS_IN(F16, 17)}},
    {.name = "i64", .n_in = 3, .in = {AS_IN(BOOL, 17), AS_IN(I64, 17), AS_IN(I64, 17)}, .lo = -100, .hi = 100},
    {.name = "empty", .n_in = 3, .in = {AS_IN(BOOL, 1), AS_IN(F32, 0, 3), AS_IN(F32, 3)}},
    {.name = "i64 3x37",
     .n_in = 3,
     .in = {AS_IN(BOOL, 3, 37), AS_IN(I64, 3, 37), AS_IN(I64, 3, 37)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "i64 3x37, a value or a row",
     .n_in = 3,
     .in = {AS_IN(BOOL, 3, 37), AS_IN(I64, 1), AS_IN(I64, 3, 37)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "i64 3x37, a row or a value",
     .n_in = 3,
     .in = {AS_IN(BOOL, 3, 37), AS_IN(I64, 3, 37), AS_IN(I64, 1)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "u8 3x37",
     .n_in = 3,
     .in = {AS_IN(BOOL, 3, 37), AS_IN(U8, 3, 37), AS_IN(U8, 3, 37)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "u8 3x37, a value or a row",
     .n_in = 3,
     .in = {AS_IN(BOOL, 3, 37), AS_IN(U8, 1), AS_IN(U8, 3, 37)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "u8 3x37, a row or a value",
     .n_in = 3,
     .in = {AS_IN(BOOL, 3, 37), AS_IN(U8, 3, 37), AS_IN(U8, 1)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "f16 3x37",
     .n_in = 3,
     .in = {AS_IN(BOOL, 3, 37), AS_IN(F16, 3, 37), AS_IN(F16, 3, 37)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "f16 3x37, a value or a row",
     .n_in = 3,
     .in = {AS_IN(BOOL, 3, 37), AS_IN(F16, 1), AS_IN(F16, 3, 37)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "f16 3x37, a row or a value",
     .n_in = 3,
     .in = {AS_IN(BOOL, 3, 37), AS_IN(F16, 3, 37), AS_IN(F16, 1)},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
};

const as_op as_op_where = {
    .name = "Where",
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .grad = grad, /* it only moves elements, so it has no flops */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
