/* op_qlinearmatmul.c - the product of quantised a and b, its sums scaled back to quantised y:
 *     y = saturate(round((a - a_zero) * (b - b_zero) * a_scale * b_scale / y_scale) + y_zero) */
#include "op/quant/quantize.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO };

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    static const char *const names[] = {"a", "a_scale", "a_zero_point", "b", "b_scale", "b_zero_point", "y_scale", "y_zero_point"};
    as_qmatmul               p;
    for (int i = A; i <= Y_ZERO; i++)
        AS_TRY(as_quant_dtype(env, n, i, names[i], i == A_SCALE || i == B_SCALE || i == Y_SCALE ? AS_SET_SCALE : AS_SET_BYTE));
    for (int i = A; i <= B; i += B)
        if (n->in[i].dtype != n->in[i + 2].dtype)
            return as_refuse(env, n, "%s is %s and %s is %s: they must be the same", names[i], as_dtype_name(n->in[i].dtype),
                             names[i + 2], as_dtype_name(n->in[i + 2].dtype));
    for (int i = B_SCALE; i <= Y_SCALE; i += Y_SCALE - B_SCALE)
        if (n->in[i].dtype != n->in[A_SCALE].dtype)
            return as_refuse(env, n, "a_scale is %s and %s is %s: they must be the same", as_dtype_name(n->in[A_SCALE].dtype),
                             names[i], as_dtype_name(n->in[i].dtype));
    AS_TRY(as_qmatmul_read(env, n, A, B, &p));
    for (int i = A_SCALE; i <= Y_ZERO; i++)
        if (i != B)
            AS_TRY(as_qmatmul_param_check(env, n, i, names[i], i < B ? &p.a : i < Y_SCALE ? &p.b : &p.y, i > B && i < Y_SCALE));
    out[0] = as_info(n->in[Y_ZERO].dtype, &p.result);
    return ASSAY_OK;
}

/* As MatMul, and per output a product, an addition and two comparisons. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost    cost = as_cost_bytes(n);
    as_qmatmul p;
    if (as_qmatmul_read(NULL, n, A, B, &p) != ASSAY_OK)
        return cost;
    uint64_t count = as_sat_count(&p.y);
    cost.flops = as_sat_add(as_sat_mul(as_sat_mul(2, count), (uint64_t)p.k), as_sat_mul(4, count));
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_qmatmul p;
    AS_TRY(as_qmatmul_read(env, n, A, B, &p));
    as_view a = as_qmatmul_operand(&p, &in[A], 0), a_zero = as_qmatmul_param(&in[A_ZERO], &p.a, 0);
    as_view b = as_qmatmul_operand(&p, &in[B], 1), b_zero = as_qmatmul_param(&in[B_ZERO], &p.b, 1);
    /* Scales belong to rows of a and y and columns of b, so they can broadcast over y. */
    as_view  a_scale = as_qmatmul_param(&in[A_SCALE], &p.y, 0), b_scale = as_qmatmul_param(&in[B_SCALE], &p.y, 1);
    as_view  y_scale = as_qmatmul_param(&in[Y_SCALE], &p.y, 0), y_zero = as_qmatmul_param(&in[Y_ZERO], &p.y, 0);
    as_dtype dtype = in[A_SCALE].dtype;
    int64_t  index[AS_MAX_RANK] = {0}, count = as_shape_count(&out[0].shape);
    for (int64_t i = 0; i < count; i++) {
        AS_GO_ON(env, n);
        int64_t sum = as_int_wrap(AS_I32, (uint64_t)as_qmatmul_sum(&p, &a, &a_zero, &b, &b_zero, index));
        /* In steps of the scales' own type, because every implementation's multiplier has it: a tie there must be a tie here
         * too. */
        double scale = as_round_to(dtype, as_round_to(dtype, as_view_at(&a_scale, index) * as_view_at(&b_scale, index)) /
                                              as_view_at(&y_scale, index));
        as_quant_put(&out[0], i, as_round_to(AS_F32, as_round_to(AS_F32, (double)sum) * scale),
                     (int64_t)as_view_at(&y_zero, index));
        as_index_next(&p.y, index);
    }
    return ASSAY_OK;
}

#define ONE(dtype_)          \
    {                        \
        .dtype = AS_##dtype_ \
    }

/* A scale of the result so large that not everything saturates. */
#define LARGE(value_)                                           \
    {                                                           \
        .dtype = AS_F32, .ints = (const int64_t[]) { (value_) } \
    }

static const as_case cases[] = {
    /* ONNX Runtime 1.31.1 on the CPU. Scales are powers of two, so that nothing is rounded twice; weights are small,
     * because its u8 by i8 product saturates at 16 bits on machines without VNNI. */
    {.name = "u8 as ONNX Runtime's",
     .n_in = 8,
     .in = {AS_IN(U8, 2, 4), ONE(F32), ONE(U8), AS_IN(U8, 4, 3), ONE(F32), ONE(U8), ONE(F32), ONE(U8)},
     .given = (const double[]){29,  11,  113, 9,  36,  131, 248, 119, 0.5, 113,  206, 234, 210,
                               161, 112, 131, 68, 127, 97,  63,  254, 3,   0.25, 114, 16,  118},
     .want = (const double[]){62, 0, 132, 18, 66, 40},
     .n_want = 6},
    {.name = "i8, batches, a scale a column as ONNX Runtime's",
     .n_in = 8,
     .in = {AS_IN(I8, 2, 2, 3), ONE(F32), ONE(I8), AS_IN(I8, 3, 2), AS_IN(F32, 2), AS_IN(I8, 2), ONE(F32), ONE(I8)},
     .given = (const double[]){-49, -37, 57,  23, 46,  -36, 27, -16,  -1,  -60, 14, 40, 0.5,
                               -5,  20,  -42, 4,  -28, 56,  46, 0.25, 0.5, 3,   -7, 32, 1},
     .want = (const double[]){11, 44, -3, -28, 4, -4, 7, 32},
     .n_want = 8},
    {.name = "f16 scales",
     .n_in = 8,
     .lo = 1,
     .hi = 100,
     .in = {AS_IN(U8, 5, 7), ONE(F16), ONE(U8), AS_IN(I8, 7, 9), ONE(F16), ONE(I8), AS_IN(F16, 1), AS_IN(U8, 1)}},
    {.name = "batches with a scale a row",
     .n_in = 8,
     .lo = 1,
     .hi = 100,
     .in = {AS_IN(U8, 2, 3, 4), AS_IN(F32, 2, 3, 1), AS_IN(U8, 2, 3, 1), AS_IN(I8, 4, 5), AS_IN(F32, 5), AS_IN(I8, 5), ONE(F32),
            ONE(U8)}},
    {.name = "dot",
     .n_in = 8,
     .lo = 1,
     .hi = 100,
     .in = {AS_IN(U8, 7), ONE(F32), ONE(U8), AS_IN(I8, 7), ONE(F32), ONE(I8), ONE(F32), ONE(U8)}},
    /* Around tiles and panels. */
    {.name = "13x35x33",
     .n_in = 8,
     .lo = 0.5,
     .hi = 90,
     .in = {AS_IN(U8, 13, 35), ONE(F32), ONE(U8), AS_IN(I8, 35, 33), ONE(F32), ONE(I8), LARGE(2000000), ONE(U8)}},
    {.name = "25x9x50 to i8, a scale a column",
     .n_in = 8,
     .lo = 0.5,
     .hi = 90,
     .in = {AS_IN(I8, 25, 9), ONE(F32), ONE(I8), AS_IN(U8, 9, 50), AS_IN(F32, 50), AS_IN(U8, 50), LARGE(500000), ONE(I8)}},
    {.name = "14x20x17, all by rows and columns",
     .n_in = 8,
     .lo = 0.5,
     .hi = 90,
     .in = {AS_IN(I8, 14, 20),
            AS_IN(F32, 14),
            AS_IN(I8, 14),
            AS_IN(I8, 20, 17),
            AS_IN(F32, 17),
            AS_IN(I8, 17),
            {.dtype = AS_F32,
             .shape = {.rank = 1, .dim = {14}},
             .ints = (const int64_t[]){300000, 900000, 1000000, 1100000, 700000, 800000, 900000, 400000, 500000, 600000, 700000,
                                       300000, 200000, 900000}},
            AS_IN(U8, 14)}},
    {.name = "empty", .n_in = 8, .in = {AS_IN(U8, 0, 3), ONE(F32), ONE(U8), AS_IN(U8, 3, 2), ONE(F32), ONE(U8), ONE(F32), ONE(U8)}},
};

/* No gradient: the inputs are quantised. */
const as_op as_op_qlinearmatmul = {
    .name = "QLinearMatMul",
    .min_in = 8,
    .max_in = 8,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
