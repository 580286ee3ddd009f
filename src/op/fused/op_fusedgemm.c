/* op_fusedgemm.c - y = act(alpha * A B' + beta * C): Gemm and what follows it in one.  The plan's passes make it, so it has no
 * gradient.
 *
 * Unlike Gemm, A may have any rank of 2 or more when it is not transposed: [..., K] is a matrix of rows, as MatMul sees it, and
 * Y is [..., N].  C broadcasts to the matrix Y, so it has rank 2 at most.
 *
 * The attribute `weights` ("f32", "f16", "bf16") is the type that a kernel may store a B of f32 as.  Rounding B to this type is
 * part of the definition; sums stay f32.  So Y is off by at most |alpha| * sum over k of |A| |B - rounded B|, which is at most
 *   2^-11 |B| for f16 (2^-25 where |B| is below 2^-14; from 65520 on a number is infinite), and 2^-8 |B| for bf16. */
#include <string.h>

#include "op/math/activation.h"
#include "op/nn/product.h"

static const as_attr_def attrs[] = {
    AS_PRODUCT_ATTRS,
    {.name = "weights", .kind = AS_ATTR_TEXT},
    AS_ACT_ATTRS,
    {0},
};

typedef struct fused {
    as_product product;
    as_act     act;
    as_dtype   stored; /* the type that B is rounded to; B's own type: no rounding */
} fused;

static assay_status stored_read(assay_env *env, const as_node_ctx *n, as_dtype *out)
{
    const char *text = as_attr_text(n, "weights", NULL);
    as_dtype    own = n->in[1].dtype, stored = own;
    if (text && !strcmp(text, "f16"))
        stored = AS_F16;
    else if (text && !strcmp(text, "bf16"))
        stored = AS_BF16;
    else if (text && strcmp(text, "f32"))
        return as_refuse(env, n, "weights is '%s' and must be f32, f16 or bf16", text);
    if (text && own != AS_F32)
        return as_refuse(env, n, "weights is '%s' and B is %s: only f32 can be stored as something else", text, as_dtype_name(own));
    *out = stored;
    return ASSAY_OK;
}

static double stored_as(as_dtype stored, double x)
{
    return stored == AS_F16 ? (double)as_f16_to_f32(as_f16_from_f32((float)x)) : (double)as_bf16_to_f32(as_bf16_from_f32((float)x));
}

static assay_status fused_of(assay_env *env, const as_node_ctx *n, fused *out)
{
    const as_shape *a = &n->in[0].shape, *b = &n->in[1].shape;
    fused           f;
    AS_TRY(as_act_read(env, n, &f.act));
    AS_TRY(stored_read(env, n, &f.stored));
    if (a->rank < 2 || (a->rank != 2 && as_attr_int(n, "transA", 0)) || b->rank != 2)
        return as_refuse(env, n, "A is %s and B is %s: B must be a matrix, and A one too or rows of more axes", AS_SHOW(a),
                         AS_SHOW(b));
    AS_TRY(as_product_read(env, n, &f.product));
    *out = f;
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    fused f;
    AS_TRY(as_rule_dtype(env, n, 0, 3, AS_SET_FLOAT));
    AS_TRY(fused_of(env, n, &f));
    AS_TRY(as_product_c_check(env, n, &f.product));
    as_shape y = n->in[0].shape;
    if (f.product.flip_a)
        y.dim[0] = f.product.m;
    y.dim[y.rank - 1] = f.product.n;
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

/* The cost of Gemm and of the activation. */
static as_cost cost(const as_node_ctx *n)
{
    fused f;
    if (fused_of(NULL, n, &f) != ASSAY_OK)
        return as_cost_bytes(n);
    as_cost  cost = as_product_cost(n, &f.product);
    uint64_t y = as_sat_count(&n->out[0].shape);
    cost.flops = as_sat_add(cost.flops, as_sat_mul(y, as_act_flops(f.act.kind)));
    if (f.stored != n->in[1].dtype) { /* a run reads the stored type */
        uint64_t less = as_sat_mul(as_sat_count(&n->in[1].shape), as_dtype_bytes(n->in[1].dtype) - as_dtype_bytes(f.stored));
        cost.bytes_read -= less < cost.bytes_read ? less : cost.bytes_read;
    }
    cost.special = as_act_is_special(f.act.kind) ? y : 0;
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    fused   f;
    as_view c = {0};
    AS_TRY(fused_of(env, n, &f));
    const as_product *p = &f.product;
    if (as_in_has(n, 2))
        c = as_view_broadcast(&in[2], &AS_SHAPE(p->m, p->n));
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            AS_GO_ON(env, n);
            double sum = 0.0;
            for (int64_t k = 0; k < p->k; k++) {
                double b = as_view_get(&in[1], p->flip_b ? j * p->k + k : k * p->n + j);
                b = f.stored == in[1].dtype ? b : stored_as(f.stored, b);
                sum += as_view_get(&in[0], p->flip_a ? k * p->m + i : i * p->k + k) * b;
            }
            sum *= p->alpha;
            if (c.data)
                sum += p->beta * as_view_at(&c, (int64_t[]){i, j});
            as_view_set(&out[0], i * p->n + j, as_act_apply(&f.act, sum));
        }
    return ASSAY_OK;
}

#define DENSE(name_, m_, k_, n_, act_)                                                                                           \
    {                                                                                                                            \
        .name = name_, .n_in = 3, .in = {AS_IN(F32, m_, k_), AS_IN(F32, n_, k_), AS_IN(F32, n_)}, .no_grad = true, .n_attrs = 2, \
        .attrs = {                                                                                                               \
            AS_ATTR_I("transB", 1),                                                                                              \
            AS_ATTR_S("activation", act_)                                                                                        \
        }                                                                                                                        \
    }

#define STORED(type, m, k, n)                                                                                            \
    {                                                                                                                    \
        .name = type " weights " #m "x" #k "x" #n, .n_in = 3, .in = {AS_IN(F32, m, k), AS_IN(F32, k, n), AS_IN(F32, n)}, \
        .no_grad = true, .n_attrs = 2, .attrs = {                                                                        \
            AS_ATTR_S("activation", "relu"),                                                                             \
            AS_ATTR_S("weights", type)                                                                                   \
        }                                                                                                                \
    }
#define FLIPPED(m, k, n)                                                                                                          \
    {                                                                                                                             \
        .name = "transA " #m "x" #k "x" #n, .n_in = 2, .in = {AS_IN(F32, k, m), AS_IN(F32, k, n)}, .no_grad = true, .n_attrs = 2, \
        .attrs = {                                                                                                                \
            AS_ATTR_I("transA", 1),                                                                                               \
            AS_ATTR_S("activation", "relu")                                                                                       \
        }                                                                                                                         \
    }
static const as_case cases[] = {
    /* By hand: [[1,2],[3,4]] [[5,7],[6,8]]^T = [[19,22],[43,50]]; minus [30,30]; negative values become 0. */
    {.name = "relu by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 2), AS_IN(F32, 2, 2), AS_IN(F32, 2)},
     .no_grad = true,
     .given = (const double[]){1, 2, 3, 4, 5, 7, 6, 8, 30, 30},
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("transB", 1), AS_ATTR_F("beta", -1.0), AS_ATTR_S("activation", "relu")},
     .want = (const double[]){0, 0, 13, 20},
     .n_want = 4},
    {.name = "clip by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 2), AS_IN(F32, 2, 3)},
     .no_grad = true,
     .given = (const double[]){1, -1, 1, 2, 3, 4, 2, -9},
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("activation", "clip"), AS_ATTR_F("activation_alpha", -1.0), AS_ATTR_F("activation_beta", 6.0)},
     .want = (const double[]){-1, 0, 6},
     .n_want = 3},
    DENSE("1x784x16 relu", 1, 784, 16, "relu"),
    DENSE("1x33x10 tanh", 1, 33, 10, "tanh"),
    DENSE("5x7x15 sigmoid", 5, 7, 15, "sigmoid"),
    DENSE("6x16x16 gelu", 6, 16, 16, "gelu"),
    DENSE("7x17x17 none", 7, 17, 17, "none"),
    DENSE("12x31x33 elu", 12, 31, 33, "elu"),
    DENSE("13x65x47 silu", 13, 65, 47, "silu"),
    DENSE("3x5x64 softplus", 3, 5, 64, "softplus"),
    DENSE("4x9x31 gelu-tanh", 4, 9, 31, "gelu-tanh"),
    DENSE("8x4x8 hardswish", 8, 4, 8, "hardswish"),
    DENSE("2x3x9 hardsigmoid", 2, 3, 9, "hardsigmoid"),
    DENSE("11x12x5 leakyrelu", 11, 12, 5, "leakyrelu"),
    DENSE("no inner size", 3, 0, 5, "sigmoid"),
    DENSE("no rows", 0, 3, 5, "relu"),
    DENSE("tall 67x19x16", 67, 19, 16, "relu"),
    DENSE("deep 6x600x18", 6, 600, 18, "relu"),
    DENSE("wide 2x8x515", 2, 8, 515, "tanh"),
    /* Sizes around the tiles of the kernels: 6 rows (and 8, 9, 13, which are split differently), 16 and 8 columns, steps of four
     * in K, and K in pieces from 320 on. */
    DENSE("1x1x1", 1, 1, 1, "none"),
    DENSE("2x3x15", 2, 3, 15, "relu"),
    DENSE("3x4x16", 3, 4, 16, "relu"),
    DENSE("4x5x17", 4, 5, 17, "relu"),
    DENSE("5x1x31", 5, 1, 31, "none"),
    DENSE("6x3x32", 6, 3, 32, "relu"),
    DENSE("7x4x33", 7, 4, 33, "tanh"),
    DENSE("8x5x47", 8, 5, 47, "none"),
    DENSE("9x6x48", 9, 6, 48, "relu"),
    DENSE("10x7x49", 10, 7, 49, "relu"),
    DENSE("11x8x24", 11, 8, 24, "silu"),
    DENSE("12x9x8", 12, 9, 8, "relu"),
    DENSE("13x2x7", 13, 2, 7, "gelu"),
    DENSE("14x319x9", 14, 319, 9, "relu"),
    DENSE("19x320x16", 19, 320, 16, "relu"),
    DENSE("20x321x17", 20, 321, 17, "sigmoid"),
    DENSE("7x641x20", 7, 641, 20, "relu"),
    DENSE("1x641x33", 1, 641, 33, "none"),
    /* Around 12 rows and 32 columns, the tile where vectors have sixteen elements. */
    DENSE("9x5x63", 9, 5, 63, "relu"),
    DENSE("10x6x64", 10, 6, 64, "relu"),
    DENSE("11x7x65", 11, 7, 65, "none"),
    DENSE("12x8x96", 12, 8, 96, "relu"),
    DENSE("14x9x32", 14, 9, 32, "relu"),
    DENSE("15x641x33", 15, 641, 33, "relu"),
    DENSE("24x322x64", 24, 322, 64, "tanh"),
    DENSE("35x321x40", 35, 321, 40, "relu"),
    FLIPPED(8, 5, 32),
    FLIPPED(9, 6, 33),
    FLIPPED(10, 7, 47),
    FLIPPED(11, 8, 64),
    FLIPPED(16, 321, 33),
    FLIPPED(29, 3, 17),
    FLIPPED(5, 9, 40),
    /* Fewer rows than columns, and whole panels of both: a kernel may compute the turned product. */
    DENSE("turned 32x820x64", 32, 820, 64, "relu"),
    DENSE("turned 29x33x128", 29, 33, 128, "gelu"),
    DENSE("turned 16x321x160", 16, 321, 160, "none"),
    DENSE("turned 61x5x288", 61, 5, 288, "relu"),
    {.name = "turned, no C",
     .n_in = 2,
     .in = {AS_IN(F32, 32, 9), AS_IN(F32, 96, 9)},
     .no_grad = true,
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("transB", 1), AS_ATTR_S("activation", "none")}},
    {.name = "turned, whole C, alpha and beta",
     .n_in = 3,
     .in = {AS_IN(F32, 31, 7), AS_IN(F32, 64, 7), AS_IN(F32, 31, 64)},
     .no_grad = true,
     .n_attrs = 4,
     .attrs = {AS_ATTR_F("alpha", -0.5), AS_ATTR_F("beta", 0.25), AS_ATTR_I("transB", 1), AS_ATTR_S("activation", "tanh")}},
    {.name = "turned, a column and a clip",
     .n_in = 3,
     .in = {AS_IN(F32, 30, 11), AS_IN(F32, 64, 11), AS_IN(F32, 30, 1)},
     .no_grad = true,
     .n_attrs = 4,
     .attrs = {AS_ATTR_S("activation", "clip"), AS_ATTR_F("activation_alpha", -0.5), AS_ATTR_F("activation_beta", 0.75),
               AS_ATTR_I("transB", 1)}},
    DENSE("two blocks of rows 397x300x18", 397, 300, 18, "relu"),
    DENSE("A packed 205x321x260", 205, 321, 260, "relu"),
    {.name = "clip whole tiles",
     .n_in = 3,
     .in = {AS_IN(F32, 12, 8), AS_IN(F32, 8, 32), AS_IN(F32, 32)},
     .no_grad = true,
     .n_attrs = 4,
     .attrs = {AS_ATTR_S("activation", "clip"), AS_ATTR_F("activation_alpha", -0.5), AS_ATTR_F("activation_beta", 0.75),
               AS_ATTR_F("beta", -2.0)}},
    {.name = "transA 13x17x33",
     .n_in = 3,
     .in = {AS_IN(F32, 17, 13), AS_IN(F32, 17, 33), AS_IN(F32, 1)},
     .no_grad = true,
     .n_attrs = 3,
     .attrs = {AS_ATTR_F("beta", 2.0), AS_ATTR_I("transA", 1), AS_ATTR_S("activation", "relu")}},
    {.name = "transA transB in pieces",
     .n_in = 2,
     .in = {AS_IN(F32, 330, 7), AS_IN(F32, 17, 330)},
     .no_grad = true,
     .n_attrs = 3,
     .attrs = {AS_ATTR_F("alpha", -0.5), AS_ATTR_I("transA", 1), AS_ATTR_I("transB", 1)}},
    {.name = "rows of three axes",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3, 5), AS_IN(F32, 5, 17), AS_IN(F32, 17)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("activation", "relu")}},
    {.name = "transA, a column, alpha",
     .n_in = 3,
     .in = {AS_IN(F32, 9, 7), AS_IN(F32, 9, 3), AS_IN(F32, 7, 1)},
     .no_grad = true,
     .n_attrs = 3,
     .attrs = {AS_ATTR_F("alpha", 0.5), AS_ATTR_I("transA", 1), AS_ATTR_S("activation", "tanh")}},
    {.name = "whole C",
     .n_in = 3,
     .in = {AS_IN(F32, 7, 9), AS_IN(F32, 9, 19), AS_IN(F32, 7, 19)},
     .no_grad = true,
     .n_attrs = 2,
     .attrs = {AS_ATTR_F("beta", 0.25), AS_ATTR_S("activation", "sigmoid")}},
    {.name = "f64",
     .n_in = 3,
     .in = {AS_IN(F64, 3, 4), AS_IN(F64, 4, 5), AS_IN(F64, 5)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("activation", "tanh")}},
    /* 1 + 2^-11 and 1 + 3 * 2^-11 are halfway between two f16 numbers, as 1 + 2^-8 and 1 + 3 * 2^-8 are in bf16: they round to the
     * even one. */
    {.name = "f16 weights by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 2), AS_IN(F32, 2, 3)},
     .no_grad = true,
     .given = (const double[]){1, 2, 1 + 0x1p-11, 0x1p-24, 65504, 1 + 3 * 0x1p-11, 0x1p-26, 0},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("weights", "f16")},
     .want = (const double[]){3 + 0x1p-8, 0x1p-24, 65504},
     .n_want = 3},
    {.name = "bf16 weights by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 2), AS_IN(F32, 2, 2)},
     .no_grad = true,
     .given = (const double[]){1, 2, 1 + 0x1p-8, 0x1p-60, 1 + 3 * 0x1p-8, 0x1p100},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("weights", "bf16")},
     .want = (const double[]){3 + 0x1p-5, 0x1p101},
     .n_want = 2},
    STORED("f16", 1, 784, 16),
    STORED("f16", 1, 33, 10),
    STORED("f16", 2, 3, 15),
    STORED("f16", 3, 4, 16),
    STORED("f16", 4, 5, 17),
    STORED("f16", 5, 7, 31),
    STORED("f16", 6, 8, 33),
    STORED("f16", 13, 65, 47),
    STORED("f16", 20, 321, 17),
    STORED("f16", 205, 321, 260),
    STORED("f16", 25, 9, 64),
    STORED("bf16", 25, 9, 64),
    STORED("bf16", 1, 641, 33),
    STORED("f16", 1, 641, 33),
    STORED("bf16", 1, 784, 16),
    STORED("bf16", 1, 33, 10),
    STORED("bf16", 2, 3, 15),
    STORED("bf16", 3, 4, 16),
    STORED("bf16", 4, 5, 17),
    STORED("bf16", 5, 7, 31),
    STORED("bf16", 6, 8, 33),
    STORED("bf16", 13, 65, 47),
    STORED("bf16", 20, 321, 17),
    STORED("bf16", 205, 321, 260),
    {.name = "f16 weights, transposed",
     .n_in = 3,
     .in = {AS_IN(F32, 17, 13), AS_IN(F32, 33, 17), AS_IN(F32, 33)},
     .no_grad = true,
     .n_attrs = 4,
     .attrs = {AS_ATTR_I("transA", 1), AS_ATTR_I("transB", 1), AS_ATTR_S("activation", "tanh"), AS_ATTR_S("weights", "f16")}},
    {.name = "bf16 weights, transposed",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 1, 35), AS_IN(F32, 33, 35)},
     .no_grad = true,
     .n_attrs = 3,
     .attrs = {AS_ATTR_F("alpha", -0.5), AS_ATTR_I("transB", 1), AS_ATTR_S("weights", "bf16")}},
    {.name = "f32 weights",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3, 2)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("weights", "f32")}},
    {.name = "f16",
     .n_in = 3,
     .in = {AS_IN(F16, 3, 4), AS_IN(F16, 4, 5), AS_IN(F16, 5)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("activation", "relu")}},
};

const as_op as_op_fusedgemm = {
    .name = "assay.FusedGemm",
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* as MatMul */
};
