/* op_matmulinteger.c - (A - a_zero_point) * (B - b_zero_point) of bytes in i32, exact until it wraps at 2^31. */
#include "op/quant/quantize.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    static const char *const names[] = {"A", "B", "a_zero_point", "b_zero_point"};
    as_qmatmul               p;
    AS_TRY(as_qmatmul_read(env, n, 0, 1, &p));
    for (int i = 0; i < 4; i++)
        AS_TRY(as_quant_dtype(env, n, i, names[i], AS_SET_BYTE));
    for (int i = 0; i < 2; i++) {
        if (as_in_has(n, 2 + i) && n->in[2 + i].dtype != n->in[i].dtype)
            return as_refuse(env, n, "%s is %s and %s is %s: they must be the same", names[i], as_dtype_name(n->in[i].dtype),
                             names[2 + i], as_dtype_name(n->in[2 + i].dtype));
        AS_TRY(as_qmatmul_param_check(env, n, 2 + i, names[2 + i], i == 0 ? &p.a : &p.b, i));
    }
    out[0] = as_info(AS_I32, &p.result);
    return ASSAY_OK;
}

/* 2 * M * N * K per matrix of the batch, as MatMul; zero points can be moved out of the sums. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost    cost = as_cost_bytes(n);
    as_qmatmul p;
    if (as_qmatmul_read(NULL, n, 0, 1, &p) == ASSAY_OK)
        cost.flops = as_sat_mul(as_sat_mul(2, as_sat_count(&p.y)), (uint64_t)p.k);
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_qmatmul p;
    AS_TRY(as_qmatmul_read(env, n, 0, 1, &p));
    as_view v[2], zero[2] = {0};
    for (int i = 0; i < 2; i++) {
        v[i] = as_qmatmul_operand(&p, &in[i], i);
        if (as_in_has(n, 2 + i))
            zero[i] = as_qmatmul_param(&in[2 + i], i == 0 ? &p.a : &p.b, i);
    }
    int64_t index[AS_MAX_RANK] = {0}, count = as_shape_count(&out[0].shape);
    for (int64_t i = 0; i < count; i++) { /* the axes that are not in the result have size 1, so the order is the same */
        AS_GO_ON(env, n);
        as_view_set_i64(&out[0], i, as_int_wrap(AS_I32, (uint64_t)as_qmatmul_sum(&p, &v[0], &zero[0], &v[1], &zero[1], index)));
        as_index_next(&p.y, index);
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* The example of ONNX's own node tests. */
    {.name = "u8 of ONNX",
     .n_in = 4,
     .in = {AS_IN(U8, 4, 3), AS_IN(U8, 3, 2), AS_IN(U8, 1), AS_IN(U8, 1)},
     .given = (const double[]){11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0, 1, 4, 2, 5, 3, 6, 12, 0},
     .want = (const double[]){-38, -83, -44, -98, -50, -113, -56, -128},
     .n_want = 8},
    /* By hand: [1,2] - 1 and [3,4] - 3 against columns [1,2] - 1 and [5,6] - 5. */
    {.name = "rows and columns by hand",
     .n_in = 4,
     .in = {AS_IN(I8, 2, 2), AS_IN(U8, 2, 2), AS_IN(I8, 2), AS_IN(U8, 2)},
     .given = (const double[]){1, 2, 3, 4, 1, 5, 2, 6, 1, 3, 1, 5},
     .want = (const double[]){1, 1, 1, 1},
     .n_want = 4},
    {.name = "5x7x9", .n_in = 2, .in = {AS_IN(U8, 5, 7), AS_IN(I8, 7, 9)}, .lo = -100, .hi = 100},
    {.name = "row times batch", .n_in = 2, .in = {AS_IN(I8, 7), AS_IN(I8, 3, 7, 5)}, .lo = -100, .hi = 100},
    {.name = "batch times column", .n_in = 3, .in = {AS_IN(I8, 2, 3, 4), AS_IN(U8, 4), AS_IN(I8, 2, 3, 1)}, .lo = -100, .hi = 100},
    {.name = "dot", .n_in = 2, .in = {AS_IN(I8, 17), AS_IN(I8, 17)}, .lo = -128, .hi = 127},
    /* Around tiles of 6 and 12 rows, panels of 16 and 32 columns and steps of 2 and 4 terms; all four pairs of types. */
    {.name = "12x8x32", .n_in = 2, .in = {AS_IN(U8, 12, 8), AS_IN(I8, 8, 32)}, .lo = -128, .hi = 127},
    {.name = "13x9x33",
     .n_in = 4,
     .in = {AS_IN(U8, 13, 9), AS_IN(U8, 9, 33), {.dtype = AS_U8}, {.dtype = AS_U8}},
     .lo = 0,
     .hi = 255},
    {.name = "23x19x47 by rows and columns",
     .n_in = 4,
     .in = {AS_IN(I8, 23, 19), AS_IN(U8, 19, 47), AS_IN(I8, 23), AS_IN(U8, 47)},
     .lo = -128,
     .hi = 255},
    {.name = "31x66x65 by columns",
     .n_in = 4,
     .in = {AS_IN(I8, 31, 66), AS_IN(I8, 66, 65), {.dtype = AS_I8}, AS_IN(I8, 65)},
     .lo = -128,
     .hi = 127},
    {.name = "1x67x50", .n_in = 3, .in = {AS_IN(U8, 1, 67), AS_IN(I8, 67, 50), AS_IN(U8, 1)}, .lo = -128, .hi = 255},
    {.name = "2x36x17", .n_in = 2, .in = {AS_IN(I8, 2, 36), AS_IN(I8, 36, 17)}, .lo = -128, .hi = 127},
    {.name = "3x3x5x7 by 3x7x19 with zero points of their own",
     .n_in = 4,
     .in = {AS_IN(U8, 3, 3, 5, 7), AS_IN(I8, 3, 7, 19), AS_IN(U8, 3, 3, 5, 1), AS_IN(I8, 3, 3, 1, 19)},
     .lo = -128,
     .hi = 255},
    {.name = "one matrix B, zero points per matrix",
     .n_in = 4,
     .in = {AS_IN(U8, 2, 5, 7), AS_IN(U8, 7, 3), {.dtype = AS_U8}, AS_IN(U8, 2, 1, 3)},
     .lo = 0,
     .hi = 255},
    /* Sums of two of these products need 17 bits. */
    {.name = "the ends of u8 and i8",
     .n_in = 2,
     .in = {{.dtype = AS_U8, .shape = {.rank = 2, .dim = {2, 4}}, .ints = (const int64_t[]){255, 255, 255, 255, 255, 0, 255, 1}},
            {.dtype = AS_I8,
             .shape = {.rank = 2, .dim = {4, 2}},
             .ints = (const int64_t[]){-128, 127, -128, 127, -128, 127, -128, 127}}},
     .want = (const double[]){-130560, 129540, -65408, 64897},
     .n_want = 4},
    {.name = "no inner size", .n_in = 2, .in = {AS_IN(I8, 2, 0), AS_IN(I8, 0, 3)}},
    {.name = "empty", .n_in = 2, .in = {AS_IN(I8, 0, 3), AS_IN(I8, 3, 2)}},
};

/* No gradient: integers in, integers out. */
const as_op as_op_matmulinteger = {
    .name = "MatMulInteger",
    .min_in = 2,
    .max_in = 4,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
