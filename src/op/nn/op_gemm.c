/* op_gemm.c - Y = alpha * A' B' + beta * C, where A' is A or its transpose, and C is optional and broadcast. */
#include "op/nn/product.h"

static const as_attr_def attrs[] = {AS_PRODUCT_ATTRS, {0}};

static assay_status product_of(assay_env *env, const as_node_ctx *n, as_product *out)
{
    const as_shape *a = &n->in[0].shape, *b = &n->in[1].shape;
    if (a->rank != 2 || b->rank != 2)
        return as_refuse(env, n, "A is %s and B is %s: both must be matrices", AS_SHOW(a), AS_SHOW(b));
    return as_product_read(env, n, out);
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_product p;
    AS_TRY(as_rule_dtype(env, n, 0, 3, AS_SET_FLOAT));
    AS_TRY(product_of(env, n, &p));
    AS_TRY(as_product_c_check(env, n, &p));
    out[0] = as_info(n->in[0].dtype, &AS_SHAPE(p.m, p.n));
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    as_product p;
    return product_of(NULL, n, &p) == ASSAY_OK ? as_product_cost(n, &p) : as_cost_bytes(n);
}

static as_view flip(const as_view *v, bool yes)
{
    as_view t = *v;
    if (yes) {
        t.shape = AS_SHAPE(v->shape.dim[1], v->shape.dim[0]);
        t.stride[0] = v->stride[1];
        t.stride[1] = v->stride[0];
    }
    return t;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_product p;
    AS_TRY(product_of(env, n, &p));
    as_view a = flip(&in[0], p.flip_a), b = flip(&in[1], p.flip_b), c = {0};
    bool    has_c = as_in_has(n, 2);
    if (has_c)
        c = as_view_broadcast(&in[2], &out[0].shape);
    for (int64_t i = 0; i < p.m; i++)
        for (int64_t j = 0; j < p.n; j++) {
            AS_GO_ON(env, n);
            double sum = 0.0;
            for (int64_t k = 0; k < p.k; k++)
                sum += as_view_at(&a, (int64_t[]){i, k}) * as_view_at(&b, (int64_t[]){k, j});
            sum *= p.alpha;
            if (has_c)
                sum += p.beta * as_view_at(&c, (int64_t[]){i, j});
            as_view_put(&out[0], (int64_t[]){i, j}, sum);
        }
    return ASSAY_OK;
}

static int multiply(as_builder *b, int x, bool flip_x, int y, bool flip_y, double alpha)
{
    as_attr list[] = {AS_ATTR_F("alpha", alpha), AS_ATTR_I("transA", flip_x), AS_ATTR_I("transB", flip_y)};
    return b->node(b, "Gemm", (int[]){x, y}, 2, list, (int)AS_COUNT(list), NULL, 1);
}

/* dA' = alpha dY B'^T and dB' = alpha A'^T dY. A transposed operand needs the transpose of its gradient: the product
 * of the transposes in the other order. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    int dy = d_out[0];
    if (dy < 0)
        return ASSAY_OK;
    as_product p;
    AS_TRY(product_of(b->env, n, &p));
    d_in[0] = p.flip_a ? multiply(b, in[1], p.flip_b, dy, true, p.alpha) : multiply(b, dy, false, in[1], !p.flip_b, p.alpha);
    d_in[1] = p.flip_b ? multiply(b, dy, true, in[0], p.flip_a, p.alpha) : multiply(b, in[0], !p.flip_a, dy, false, p.alpha);
    if (as_in_has(n, 2)) {
        int dc = as_b_sum_to(b, dy, &n->in[2].shape);
        d_in[2] = p.beta == 1.0 ? dc : as_b2(b, "Mul", dc, as_b_scalar(b, n->in[2].dtype, p.beta));
    }
    return ASSAY_OK;
}

#define F32_3(n_, m_, k_, c_)                                                                                           \
    {                                                                                                                   \
        .name = n_, .n_in = 3, .in = {AS_IN(F32, m_, k_), AS_IN(F32, c_, k_), AS_IN(F32, c_)}, .n_attrs = 1, .attrs = { \
            AS_ATTR_I("transB", 1)                                                                                      \
        }                                                                                                               \
    }

static const as_case cases[] = {
    /* By hand: [[1,2],[3,4]] [[5,7],[6,8]]^T = [[19,22],[43,50]]; halved, plus 2 * [10,20]. */
    {.name = "2x2 by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 2), AS_IN(F32, 2, 2), AS_IN(F32, 2)},
     .given = (const double[]){1, 2, 3, 4, 5, 7, 6, 8, 10, 20},
     .n_attrs = 3,
     .attrs = {AS_ATTR_F("alpha", 0.5), AS_ATTR_F("beta", 2.0), AS_ATTR_I("transB", 1)},
     .want = (const double[]){29.5, 51, 41.5, 65},
     .n_want = 4},
    /* numpy: A = arange(6).reshape(3,2), B = arange(12).reshape(3,4) - 4, C = [[1],[2]], A.T @ B - C. */
    {.name = "transA with a column as numpy's",
     .n_in = 3,
     .in = {AS_IN(F64, 3, 2), AS_IN(F64, 3, 4), AS_IN(F64, 2, 1)},
     .given = (const double[]){0, 1, 2, 3, 4, 5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 1, 2},
     .n_attrs = 2,
     .attrs = {AS_ATTR_F("beta", -1.0), AS_ATTR_I("transA", 1)},
     .want = (const double[]){15, 21, 27, 33, 14, 23, 32, 41},
     .n_want = 8},
    F32_3("1x1x1", 1, 1, 1),
    F32_3("1x17x33", 1, 17, 33),
    F32_3("7x9x15", 7, 9, 15),
    F32_3("8x16x32", 8, 16, 32),
    F32_3("9x8x7", 9, 8, 7),
    F32_3("15x31x17", 15, 31, 17),
    F32_3("16x16x16", 16, 16, 16),
    F32_3("17x3x1", 17, 3, 1),
    F32_3("31x33x16", 31, 33, 16),
    F32_3("33x7x31", 33, 7, 31),
    F32_3("no inner size", 3, 0, 5),
    F32_3("no rows", 0, 3, 5),
    {.name = "no C", .n_in = 2, .in = {AS_IN(F32, 7, 9), AS_IN(F32, 9, 3)}},
    {.name = "scalar C", .n_in = 3, .in = {AS_IN(F32, 7, 9), AS_IN(F32, 9, 3), {.dtype = AS_F32}}},
    {.name = "C of one element",
     .n_in = 3,
     .in = {AS_IN(F32, 7, 9), AS_IN(F32, 9, 3), AS_IN(F32, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("beta", 0.25)}},
    {.name = "C of one row",
     .n_in = 3,
     .in = {AS_IN(F32, 7, 9), AS_IN(F32, 9, 3), AS_IN(F32, 1, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("beta", 0.25)}},
    {.name = "C of one column", .n_in = 3, .in = {AS_IN(F32, 7, 9), AS_IN(F32, 9, 3), AS_IN(F32, 7, 1)}},
    {.name = "whole C",
     .n_in = 3,
     .in = {AS_IN(F32, 7, 9), AS_IN(F32, 9, 3), AS_IN(F32, 7, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("alpha", 1.5)}},
    {.name = "transA",
     .n_in = 3,
     .in = {AS_IN(F64, 9, 7), AS_IN(F64, 9, 3), AS_IN(F64, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_F("alpha", 0.5), AS_ATTR_I("transA", 1)}},
    {.name = "transA transB",
     .n_in = 3,
     .in = {AS_IN(F64, 9, 7), AS_IN(F64, 3, 9), AS_IN(F64, 3)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_F("alpha", 0.5), AS_ATTR_F("beta", 3.0), AS_ATTR_I("transA", 1), AS_ATTR_I("transB", 1)}},
    {.name = "transA f32",
     .n_in = 3,
     .in = {AS_IN(F32, 9, 13), AS_IN(F32, 9, 17), AS_IN(F32, 13, 1)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_F("alpha", 0.5), AS_ATTR_I("transA", 1)}},
    {.name = "transA transB f32",
     .n_in = 3,
     .in = {AS_IN(F32, 5, 7), AS_IN(F32, 18, 5), AS_IN(F32, 18)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_F("beta", 3.0), AS_ATTR_I("transA", 1), AS_ATTR_I("transB", 1)}},
    {.name = "alpha 0",
     .n_in = 3,
     .in = {AS_IN(F64, 3, 4), AS_IN(F64, 4, 5), AS_IN(F64, 5)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("alpha", 0.0)}},
};

const as_op as_op_gemm = {
    .name = "Gemm",
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* as MatMul */
};
