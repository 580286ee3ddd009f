/* op_matmul.c - matrix product with numpy's rules: batches broadcast, a 1-D operand is a row or a column. */
#include "op/rules.h"

/* Both operands as stacks of matrices: a 1-D A becomes [1, K], a 1-D B becomes [K, 1]. */
typedef struct product {
    int64_t  m, n, k;
    as_shape a, b, y;     /* promoted, not yet broadcast; y = batch + [m, n] */
    bool     row, column; /* A, B was 1-D: the axis is not in the result */
} product;

static assay_status product_of(assay_env *env, const as_node_ctx *n, product *out)
{
    const as_shape *a = &n->in[0].shape, *b = &n->in[1].shape;
    if (a->rank < 1 || b->rank < 1)
        return as_refuse(env, n, "A is %s and B is %s: neither may be a scalar", AS_SHOW(a), AS_SHOW(b));
    product p = {.a = *a, .b = *b, .row = a->rank == 1, .column = b->rank == 1};
    if (p.row)
        p.a = AS_SHAPE(1, a->dim[0]);
    if (p.column)
        p.b = AS_SHAPE(b->dim[0], 1);
    p.m = p.a.dim[p.a.rank - 2];
    p.k = p.a.dim[p.a.rank - 1];
    p.n = p.b.dim[p.b.rank - 1];
    if (p.k != p.b.dim[p.b.rank - 2])
        return as_refuse(env, n, "A is %s and B is %s: the inner sizes %lld and %lld differ", AS_SHOW(a), AS_SHOW(b),
                         (long long)p.k, (long long)p.b.dim[p.b.rank - 2]);
    as_shape batch_a = p.a, batch_b = p.b;
    batch_a.rank -= 2;
    batch_b.rank -= 2;
    if (!as_shape_broadcast(&batch_a, &batch_b, &p.y))
        return as_refuse(env, n, "A is %s and B is %s: the batch sizes do not broadcast to one shape in range", AS_SHOW(a),
                         AS_SHOW(b));
    p.y.dim[p.y.rank++] = p.m;
    p.y.dim[p.y.rank++] = p.n;
    *out = p;
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    product p;
    AS_TRY(as_rule_dtype(env, n, 0, 2, AS_SET_WIDE));
    AS_TRY(product_of(env, n, &p));
    as_shape y = p.y;
    y.rank -= 2;
    if (!p.row)
        y.dim[y.rank++] = p.m;
    if (!p.column)
        y.dim[y.rank++] = p.n;
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

/* 2 * M * N * K flops per matrix of the broadcast batch. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    product p;
    if (product_of(NULL, n, &p) == ASSAY_OK)
        cost.flops = as_sat_mul(as_sat_mul(2, as_sat_count(&p.y)), (uint64_t)p.k);
    return cost;
}

/* The view under the promoted shape, repeated over the batch of y. */
static as_view stack(const as_view *v, const as_shape *promoted, const as_shape *y, bool row, bool column)
{
    as_view  wide = *v;
    as_shape shape = *y;
    if (row) {
        wide.stride[1] = wide.stride[0];
        wide.stride[0] = 0;
    }
    if (column)
        wide.stride[1] = 0;
    wide.shape = *promoted;
    shape.dim[shape.rank - 2] = promoted->dim[promoted->rank - 2];
    shape.dim[shape.rank - 1] = promoted->dim[promoted->rank - 1];
    return as_view_broadcast(&wide, &shape);
}

static void element_real(const as_view *a, const as_view *b, const product *p, int64_t i, int64_t j, const as_view *y, int64_t at)
{
    double sum = 0.0;
    for (int64_t k = 0; k < p->k; k++)
        sum += as_view_at(a, (int64_t[]){i, k}) * as_view_at(b, (int64_t[]){k, j});
    as_view_set(y, at, sum);
}

/* Modulo 2^64, then wrapped: gives the same as wrapping after every step. */
static void element_whole(const as_view *a, const as_view *b, const product *p, int64_t i, int64_t j, const as_view *y, int64_t at)
{
    uint64_t sum = 0;
    for (int64_t k = 0; k < p->k; k++)
        sum += (uint64_t)as_view_get_i64(a, i * p->k + k) * (uint64_t)as_view_get_i64(b, k * p->n + j);
    as_view_set_i64(y, at, as_int_wrap(y->dtype, sum));
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    product p;
    AS_TRY(product_of(env, n, &p));
    if (as_shape_count(&p.y) == 0)
        return ASSAY_OK;
    as_view  a = stack(&in[0], &p.a, &p.y, p.row, false), b = stack(&in[1], &p.b, &p.y, false, p.column);
    as_shape batch = p.y;
    int64_t  index[AS_MAX_RANK] = {0}, at = 0;
    bool     is_float = as_dtype_is_float(out[0].dtype);
    batch.rank -= 2;
    do {
        as_view one_a = as_view_fix(&a, index, batch.rank), one_b = as_view_fix(&b, index, batch.rank);
        for (int64_t i = 0; i < p.m; i++)
            for (int64_t j = 0; j < p.n; j++, at++) {
                AS_GO_ON(env, n);
                (is_float ? element_real : element_whole)(&one_a, &one_b, &p, i, j, &out[0], at);
            }
    } while (as_index_next(&batch, index));
    return ASSAY_OK;
}

/* x y, one of them transposed: no copy of it is made.  Stacks of matrices are assay.FusedMatMul's, single ones Gemm's. */
static int multiply(as_builder *b, int x, int y, bool flip_y)
{
    if (x < 0 || y < 0)
        return -1;
    int     flipped = flip_y ? y : x, rank = b->info(b, flipped)->shape.rank;
    int64_t perm[AS_MAX_RANK];
    as_attr flip = AS_ATTR_I(flip_y ? "transB" : "transA", 1);
    as_attr turn = {.name = flip_y ? "perm_b" : "perm_a", .kind = AS_ATTR_INTS, .ints = perm, .n = (size_t)rank};
    if (rank == 2 && b->info(b, flip_y ? x : y)->shape.rank == 2)
        return b->node(b, "Gemm", (int[]){x, y}, 2, &flip, 1, NULL, 1);
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    return b->node(b, "assay.FusedMatMul", (int[]){x, y}, 2, &turn, 1, NULL, 1);
}

/* dA = dY B', dB = A' dY, summed over the batches along which the operand was repeated. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    d_in[0] = d_in[1] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    product p;
    AS_TRY(product_of(b->env, n, &p));
    /* With one B for all batches, the batches are rows of one tall matrix: a single product, nothing to sum. */
    if (p.b.rank == 2 && p.a.rank > 2 && as_shape_count(&p.a) > 0) {
        p.a = AS_SHAPE(as_shape_count(&p.a) / p.k, p.k);
        p.y = AS_SHAPE(p.a.dim[0], p.n);
    }
    int a = as_b_reshape(b, in[0], &p.a), w = as_b_reshape(b, in[1], &p.b), dy = as_b_reshape(b, d_out[0], &p.y);
    int da = as_b_sum_to(b, multiply(b, dy, w, true), &p.a);
    int dw = as_b_sum_to(b, multiply(b, a, dy, false), &p.b);
    d_in[0] = as_b_reshape(b, da, &n->in[0].shape);
    d_in[1] = as_b_reshape(b, dw, &n->in[1].shape);
    return ASSAY_OK;
}

#define F32_2(n_, m_, k_, c_)                                                   \
    {                                                                           \
        .name = n_, .n_in = 2, .in = { AS_IN(F32, m_, k_), AS_IN(F32, k_, c_) } \
    }

static const as_case cases[] = {
    /* By hand: [[1,2],[3,4]] [[5,6],[7,8]]. */
    {.name = "2x2 by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 2), AS_IN(F32, 2, 2)},
     .given = (const double[]){1, 2, 3, 4, 5, 6, 7, 8},
     .want = (const double[]){19, 22, 43, 50},
     .n_want = 4},
    /* numpy: a = arange(12).reshape(2,1,2,3) - 5, b = arange(18).reshape(3,3,2) - 8, a @ b. */
    {.name = "batches broadcast as numpy's",
     .n_in = 2,
     .in = {AS_IN(F64, 2, 1, 2, 3), AS_IN(F64, 3, 3, 2)},
     .given =
         (const double[]){-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
     .want = (const double[]){76, 64, 22, 19, 4, -8, 4, 1, -68, -80, -14, -17, -32, -26, -86, -71, 4, 10, 4, 19, 40, 46, 94, 109},
     .n_want = 24},
    /* By hand: the inner product 1*4 + 2*5 + 3*6. */
    {.name = "two vectors",
     .n_in = 2,
     .in = {AS_IN(F32, 3), AS_IN(F32, 3)},
     .given = (const double[]){1, 2, 3, 4, 5, 6},
     .want = (const double[]){32},
     .n_want = 1},
    /* By hand: 2^31 - 1 doubled and 3 added wraps to 1. */
    {.name = "i32 wraps",
     .n_in = 2,
     .no_grad = true,
     .in = {AS_IN(I32, 1, 2), AS_IN(I32, 2, 1)},
     .given = (const double[]){2147483647, 3, 2, 1},
     .want = (const double[]){1},
     .n_want = 1},
    F32_2("1x1x1", 1, 1, 1),
    F32_2("1x17x33", 1, 17, 33),
    F32_2("7x9x15", 7, 9, 15),
    F32_2("8x16x32", 8, 16, 32),
    F32_2("9x8x7", 9, 8, 7),
    F32_2("15x31x17", 15, 31, 17),
    F32_2("16x16x16", 16, 16, 16),
    F32_2("17x3x1", 17, 3, 1),
    F32_2("31x33x16", 31, 33, 16),
    F32_2("33x7x31", 33, 7, 31),
    F32_2("64x64x64", 64, 64, 64),
    F32_2("10x9x33", 10, 9, 33),
    F32_2("11x8x64", 11, 8, 64),
    F32_2("12x5x40", 12, 5, 40),
    F32_2("25x6x64", 25, 6, 64),
    F32_2("no inner size", 3, 0, 5),
    F32_2("no rows", 0, 3, 5),
    {.name = "f64 9x17x7", .n_in = 2, .in = {AS_IN(F64, 9, 17), AS_IN(F64, 17, 7)}},
    {.name = "f16 8x9x7", .n_in = 2, .in = {AS_IN(F16, 8, 9), AS_IN(F16, 9, 7)}},
    {.name = "row times matrix", .n_in = 2, .in = {AS_IN(F32, 7), AS_IN(F32, 7, 9)}},
    {.name = "matrix times column", .n_in = 2, .in = {AS_IN(F32, 9, 7), AS_IN(F32, 7)}},
    {.name = "row times batch", .n_in = 2, .in = {AS_IN(F64, 7), AS_IN(F64, 2, 7, 3)}},
    {.name = "batch times column", .n_in = 2, .in = {AS_IN(F64, 2, 3, 5), AS_IN(F64, 5)}},
    {.name = "batch with one matrix", .n_in = 2, .in = {AS_IN(F32, 3, 2, 5, 8), AS_IN(F32, 8, 3)}},
    {.name = "batch with batch", .n_in = 2, .in = {AS_IN(F32, 3, 5, 8), AS_IN(F32, 3, 8, 9)}},
    {.name = "batches of tall matrices", .n_in = 2, .in = {AS_IN(F32, 2, 19, 6), AS_IN(F32, 2, 6, 17)}},
    {.name = "one row a batch", .n_in = 2, .in = {AS_IN(F32, 4, 1, 9), AS_IN(F32, 4, 9, 33)}},
    {.name = "one matrix with a batch", .n_in = 2, .in = {AS_IN(F32, 13, 5), AS_IN(F32, 2, 3, 5, 8)}},
    {.name = "batch times a column", .n_in = 2, .in = {AS_IN(F32, 2, 3, 5), AS_IN(F32, 5)}},
    {.name = "batches broadcast both ways", .n_in = 2, .in = {AS_IN(F32, 2, 1, 3, 4), AS_IN(F32, 3, 4, 5)}},
};

const as_op as_op_matmul = {
    .name = "MatMul",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    /* A naive f32 sum of some thousand products in [-1,1) is off by about 4e-5; with bf16 anywhere it would be off by 4e-3. */
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
