/* op_chain.c - a program over elements, with broadcasting: several element-wise operators in one.  The plan's passes make it, so
 * it has no gradient. chain.h says what a program is. */
#include "op/fused/chain.h"
#include "op/rules.h"

static const as_attr_def attrs[] = {
    {.name = "program", .kind = AS_ATTR_INTS, .required = true},
    {.name = "constants", .kind = AS_ATTR_FLOATS},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_chain chain;
    AS_TRY(as_chain_read(env, n, &chain));
    return as_rule_all(env, n, 0, AS_SET_FLOAT, out);
}

/* Every instruction once per output element. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    as_chain chain;
    uint64_t count = as_sat_count(&n->out[0].shape);
    if (as_chain_read(NULL, n, &chain) != ASSAY_OK)
        return cost;
    for (int i = 0; i < chain.n_steps; i++) {
        cost.flops = as_sat_add(cost.flops, as_sat_mul(count, as_chain_op_flops(chain.step[i].op)));
        if (as_chain_op_is_special(chain.step[i].op))
            cost.special = as_sat_add(cost.special, count);
    }
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_chain chain;
    as_view  wide[AS_CHAIN_MAX_IN];
    double   x[AS_CHAIN_MAX_IN];
    AS_TRY(as_chain_read(env, n, &chain));
    for (int k = 0; k < n->n_in; k++)
        wide[k] = as_view_broadcast(&in[k], &out[0].shape);
    int64_t count = as_shape_count(&out[0].shape);
    for (int64_t i = 0; i < count; i++) {
        AS_GO_ON(env, n);
        for (int k = 0; k < n->n_in; k++)
            x[k] = as_view_get(&wide[k], i);
        as_view_set(&out[0], i, as_chain_apply(&chain, x));
    }
    return ASSAY_OK;
}

#define PROGRAM(...) AS_ATTR_LIST("program", __VA_ARGS__)
#define CONSTANTS(...)                                                                        \
    {                                                                                         \
        .name = "constants", .kind = AS_ATTR_FLOATS, .floats = (const double[]){__VA_ARGS__}, \
        .n = sizeof((const double[]){__VA_ARGS__}) / sizeof(double)                           \
    }

/* x -> f(x) + 1, random in [lo, hi); sizes around the edges of vectors and of a tile of 512. */
#define ONE(op_, lo_, hi_)                                                                                                       \
    {                                                                                                                            \
        .name = #op_, .n_in = 1, .in = {AS_IN(F32, 5, 107)}, .lo = (lo_), .hi = (hi_), .no_grad = true, .n_attrs = 2, .attrs = { \
            PROGRAM(AS_CHAIN_##op_, 0, 0, 0, AS_CHAIN_ADD, 1, -1, 0),                                                            \
            CONSTANTS(1.0)                                                                                                       \
        }                                                                                                                        \
    }
#define ONE_WITH(op_, b_, c_)                                                                                            \
    {                                                                                                                    \
        .name = #op_, .n_in = 1, .in = {AS_IN(F32, 3, 11)}, .lo = -4, .hi = 4, .no_grad = true, .n_attrs = 2, .attrs = { \
            PROGRAM(AS_CHAIN_##op_, 0, -1, (c_) != 0.0 ? -2 : 0, AS_CHAIN_MUL, 1, 1, 0),                                 \
            CONSTANTS(b_, c_)                                                                                            \
        }                                                                                                                \
    }
/* (x op y) op x; y of its own shape. */
#define TWO(op_, name_, x_, y_)                                                                                 \
    {                                                                                                           \
        .name = name_, .n_in = 2, .in = {x_, y_}, .lo = 0.5, .hi = 2, .no_grad = true, .n_attrs = 1, .attrs = { \
            PROGRAM(AS_CHAIN_##op_, 0, 1, 0, AS_CHAIN_##op_, 2, 0, 0)                                           \
        }                                                                                                       \
    }
#define IN(...)          AS_IN(F32, __VA_ARGS__)
#define COMMA_IN(a_, b_) IN(a_, b_)

static const as_case cases[] = {
    /* By hand: (x + y) * 2, then not below 1. */
    {.name = "by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 2), AS_IN(F32, 2)},
     .no_grad = true,
     .given = (const double[]){1, -2, 3, 0.25, 0.5, 1},
     .n_attrs = 2,
     .attrs = {PROGRAM(AS_CHAIN_ADD, 0, 1, 0, AS_CHAIN_MUL, 2, -1, 0, AS_CHAIN_MAX, 3, -2, 0), CONSTANTS(2.0, 1.0)},
     .want = (const double[]){3, 1, 7, 2.5},
     .n_want = 4},
    /* By hand: constants on the left, the same value twice, an unused result. */
    {.name = "constants first",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     .no_grad = true,
     .given = (const double[]){1, 2, -4},
     .n_attrs = 2,
     .attrs = {PROGRAM(AS_CHAIN_SUB, -1, 0, 0, AS_CHAIN_EXP, 0, 0, 0, AS_CHAIN_MUL, 1, 1, 0, AS_CHAIN_DIV, -2, 3, 0),
               CONSTANTS(3.0, 8.0)},
     .want = (const double[]){2, 8, 0.16326530612244897},
     .n_want = 3},
    {.name = "of constants alone",
     .n_in = 1,
     .in = {AS_IN(F32, 5)},
     .no_grad = true,
     .n_attrs = 2,
     .attrs = {PROGRAM(AS_CHAIN_EXP, -1, 0, 0, AS_CHAIN_MAX, -2, -1, 0, AS_CHAIN_ADD, 1, 2, 0), CONSTANTS(0.0, 3.0)},
     .want = (const double[]){4, 4, 4, 4, 4},
     .n_want = 5},
    ONE(SQUARE, -2, 2),
    ONE(NEG, -2, 2),
    ONE(ABS, -2, 2),
    ONE(SQRT, 0, 4),
    ONE(RECIPROCAL, 0.5, 4),
    ONE(EXP, -4, 4),
    ONE(LOG, 0.1, 9),
    ONE(ERF, -3, 3),
    ONE(FLOOR, -9, 9),
    ONE(CEIL, -9, 9),
    ONE(ROUND, -9, 9),
    ONE(RELU, -2, 2),
    ONE(SIGMOID, -9, 9),
    ONE(TANH, -3, 3),
    ONE(HARDSWISH, -5, 5),
    ONE(GELU, -4, 4),
    ONE(GELU_TANH, -4, 4),
    ONE(SILU, -9, 9),
    ONE(SOFTPLUS, -9, 9),
    ONE_WITH(LEAKYRELU, 0.1, 0),
    ONE_WITH(CLIP, -1.5, 2.0),
    ONE_WITH(HARDSIGMOID, 0.2, 0.5),
    ONE_WITH(ELU, 0.7, 0),
    TWO(ADD, "add rows", COMMA_IN(15, 17), IN(17)),
    TWO(SUB, "sub columns", COMMA_IN(15, 17), COMMA_IN(15, 1)),
    TWO(MUL, "mul a scalar", COMMA_IN(3, 700), IN(1)),
    TWO(DIV, "div both ways", COMMA_IN(33, 1), COMMA_IN(1, 35)),
    TWO(MAX, "max of one shape", IN(513), IN(513)),
    TWO(MIN, "min of two tiles", IN(1024), IN(1024)),
    {.name = "channels",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3, 5, 7), AS_IN(F32, 3, 1, 1), AS_IN(F32, 1, 3, 1, 1)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {PROGRAM(AS_CHAIN_MUL, 0, 1, 0, AS_CHAIN_ADD, 3, 2, 0, AS_CHAIN_RELU, 4, 0, 0)}},
    {.name = "eight inputs",
     .n_in = 8,
     .in = {AS_IN(F32, 9, 60),
            AS_IN(F32, 60),
            AS_IN(F32, 9, 1),
            AS_IN(F32, 1),
            AS_IN(F32, 9, 60),
            {.dtype = AS_F32},
            AS_IN(F32, 1, 60),
            AS_IN(F32, 9, 60)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {PROGRAM(AS_CHAIN_ADD, 0, 1, 0, AS_CHAIN_SUB, 2, 3, 0, AS_CHAIN_MUL, 4, 5, 0, AS_CHAIN_MAX, 6, 7, 0, AS_CHAIN_ADD, 8,
                       9, 0, AS_CHAIN_ADD, 10, 11, 0, AS_CHAIN_MUL, 12, 13, 0)}},
    {.name = "scalars",
     .n_in = 2,
     .in = {{.dtype = AS_F32}, {.dtype = AS_F32}},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {PROGRAM(AS_CHAIN_ADD, 0, 1, 0, AS_CHAIN_TANH, 2, 0, 0)}},
    {.name = "f64",
     .n_in = 2,
     .in = {AS_IN(F64, 3, 5), AS_IN(F64, 5)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {PROGRAM(AS_CHAIN_ADD, 0, 1, 0, AS_CHAIN_TANH, 2, 0, 0)}},
    {.name = "f16",
     .n_in = 2,
     .in = {AS_IN(F16, 3, 5), AS_IN(F16, 5)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {PROGRAM(AS_CHAIN_ADD, 0, 1, 0, AS_CHAIN_SIGMOID, 2, 0, 0)}},
    {.name = "empty",
     .n_in = 2,
     .in = {AS_IN(F32, 0, 3), AS_IN(F32, 1, 3)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {PROGRAM(AS_CHAIN_ADD, 0, 1, 0, AS_CHAIN_SIGMOID, 2, 0, 0)}},
};

const as_op as_op_chain = {
    .name = "assay.Chain",
    .min_in = 1,
    .max_in = AS_CHAIN_MAX_IN,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* f32 rounding adds up over the instructions */
};
