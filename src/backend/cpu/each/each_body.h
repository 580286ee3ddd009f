/* each_body.h - the body of k_each_f32_<machine>.c, after its simd_*.h: element-wise operators, one or a chain of them, in tiles.
 *
 * The tiles of all values fit in L1: an instruction reads its operands' tiles and writes its own; the last one writes the output.
 * Operands with the output's layout are read in place; others are gathered into a tile first.  Tiles of values that are no longer
 * needed are reused. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/each/flat.h"
#include "backend/cpu/simd/vmath.h"
#include "op/fused/chain.h"

enum { TILE = 512 /* floats: 2 KB */, MAX_VALUES = AS_CHAIN_MAX_IN + AS_CHAIN_MAX_STEPS };

static bool chain_of(const as_node_ctx *n, as_chain *out)
{
    return !strcmp(n->op->name, "assay.Chain") ? as_chain_read(NULL, n, out) == ASSAY_OK : as_chain_of(n, out);
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_chain chain;
    if (n->out[0].dtype != AS_F32) {
        snprintf(why, why_size, "output 0 is %s, needs f32", as_dtype_name(n->out[0].dtype));
        return false;
    }
    if (!chain_of(n, &chain)) {
        snprintf(why, why_size, "%s of these inputs needs instructions that it does not have", n->op->name);
        return false;
    }
    for (int i = 0; i < chain.n_in; i++)
        if (n->in[i].dtype != AS_F32 && n->in[i].dtype != AS_NONE) {
            snprintf(why, why_size, "input %d is %s, needs f32", i, as_dtype_name(n->in[i].dtype));
            return false;
        }
    as_flat flat;
    as_flat_of(n, chain.n_in, &flat);
    for (int i = 0; i < chain.n_in; i++)
        if (!as_flat_is_even(&flat, i)) {
            snprintf(why, why_size, "input %d has another layout than the output", i);
            return false;
        }
    return true;
}

/* Which tile each value has, -1 for none: an input with the output's layout, and the output itself. */
typedef struct tiles {
    int n_tiles, of[MAX_VALUES], spread;
} tiles;

static int tile_take(bool *busy, int *n_tiles)
{
    int t = 0;
    while (t < *n_tiles && busy[t])
        t++;
    if (t == *n_tiles)
        (*n_tiles)++;
    busy[t] = true;
    return t;
}

static void tiles_of(const as_chain *c, const as_flat *f, tiles *t)
{
    bool busy[MAX_VALUES + 1] = {true};
    int  last[MAX_VALUES];
    t->n_tiles = 1; /* the first one is for a single value that a function of one operand needs as a tile */
    t->spread = 0;
    for (int v = 0; v < c->n_in + c->n_steps; v++)
        last[v] = t->of[v] = -1;
    for (int i = 0; i < c->n_steps; i++) {
        int operand[3] = {c->step[i].a, c->step[i].b, c->step[i].c};
        for (int k = 0; k < as_chain_op_arity(c->step[i].op); k++)
            if (operand[k] >= 0)
                last[operand[k]] = i;
    }
    for (int v = 0; v < c->n_in; v++)
        if (f->kind[v] == AS_FLAT_STEPS && last[v] >= 0)
            t->of[v] = tile_take(busy, &t->n_tiles);
    for (int i = 0; i < c->n_steps - 1; i++) {
        for (int v = 0; v < c->n_in + i; v++) /* an instruction may overwrite an operand that it is the last to read */
            if (last[v] == i && t->of[v] >= 0)
                busy[t->of[v]] = false;
        t->of[c->n_in + i] = tile_take(busy, &t->n_tiles);
        if (last[c->n_in + i] < 0) /* read by none */
            busy[t->of[c->n_in + i]] = false;
    }
}

static size_t tile_bytes(const as_node_ctx *n)
{
    as_chain chain;
    if (!chain_of(n, &chain) || !as_shape_count(&n->out[0].shape))
        return 0;
    as_flat flat;
    as_flat_of(n, chain.n_in, &flat);
    tiles t;
    tiles_of(&chain, &flat, &t);
    return (size_t)t.n_tiles * TILE * sizeof(float);
}

static size_t scratch_bytes(const as_node_ctx *n, int n_parts) { return tile_bytes(n) * (size_t)n_parts; }

/* step 0: one value for all. */
typedef struct operand {
    const float *at;
    int          step;
} operand;

/* 0 and NaN stay as they are. */
V_INLINE vf signed_one(vf x)
{
    vf one = v_or(v_sign_bit(x), v_set(1.0f));
    return v_pick(v_or(v_is_nan(x), v_eq(x, v_zero())), x, one);
}

#define EACH1(expression)                        \
    {                                            \
        int i = 0;                               \
        for (; i + VW <= n; i += VW) {           \
            vf x = v_load(a + i);                \
            v_store(y + i, expression);          \
        }                                        \
        if (i < n) {                             \
            vf x = v_load_n(a + i, n - i);       \
            v_store_n(y + i, n - i, expression); \
        }                                        \
        return;                                  \
    }

static void each1(as_chain_op op, float *y, const float *a, float b, float c, int n)
{
    switch (op) {
    case AS_CHAIN_SQUARE: EACH1(v_mul(x, x))
    case AS_CHAIN_NEG: EACH1(v_neg(x))
    case AS_CHAIN_ABS: EACH1(v_abs(x))
    case AS_CHAIN_SQRT: EACH1(v_sqrt(x))
    case AS_CHAIN_RECIPROCAL: EACH1(v_div(v_set(1.0f), x))
    case AS_CHAIN_EXP: EACH1(vm_exp(x))
    case AS_CHAIN_LOG: EACH1(vm_log(x))
    case AS_CHAIN_ERF: EACH1(vm_erf(x))
    case AS_CHAIN_FLOOR: EACH1(v_floor(x))
    case AS_CHAIN_CEIL: EACH1(v_ceil(x))
    case AS_CHAIN_ROUND: EACH1(v_round(x))
    case AS_CHAIN_SIGN: EACH1(signed_one(x))
    case AS_CHAIN_SIN: EACH1(vm_sin(x))
    case AS_CHAIN_COS: EACH1(vm_cos(x))
    case AS_CHAIN_ASIN: EACH1(vm_asin(x))
    case AS_CHAIN_ACOS: EACH1(vm_acos(x))
    case AS_CHAIN_ATAN: EACH1(vm_atan(x))
    case AS_CHAIN_THRESHOLD: EACH1(v_and(v_gt(x, v_set(b)), x))
    case AS_CHAIN_RELU: EACH1(vm_relu(x))
    case AS_CHAIN_LEAKYRELU: EACH1(vm_leakyrelu(x, b))
    case AS_CHAIN_CLIP: EACH1(vm_clip(x, b, c))
    case AS_CHAIN_SIGMOID: EACH1(vm_sigmoid(x))
    case AS_CHAIN_TANH: EACH1(vm_tanh(x))
    case AS_CHAIN_HARDSIGMOID: EACH1(vm_hardsigmoid(x, b, c))
    case AS_CHAIN_HARDSWISH: EACH1(vm_hardswish(x))
    case AS_CHAIN_ELU: EACH1(vm_elu(x, b))
    case AS_CHAIN_GELU: EACH1(vm_gelu(x))
    case AS_CHAIN_GELU_TANH: EACH1(vm_gelu_tanh(x))
    case AS_CHAIN_SILU: EACH1(vm_silu(x))
    case AS_CHAIN_SOFTPLUS: EACH1(vm_softplus(x))
    default: return; /* one with two operands, which each2() handles */
    }
}

/* A NaN on either side wins: the machine's own maximum only passes the one on the right. */
V_INLINE vf larger(vf p, vf q) { return v_pick(v_is_nan(p), p, v_max(p, q)); }
V_INLINE vf smaller(vf p, vf q) { return v_pick(v_is_nan(p), p, v_min(p, q)); }
V_INLINE vf passed(vf p, vf q) { return v_and(v_or(v_gt(p, v_zero()), v_is_nan(p)), q); }

/* Two rows, a row and a value, a value and a row; the same loop does the remainder. */
#define EACH2(expression)                                               \
    {                                                                   \
        int i = 0;                                                      \
        vf  p = v_one(a.at), q = v_one(b.at);                           \
        if (a.step && b.step)                                           \
            for (; i + VW <= n; i += VW) {                              \
                p = v_load(a.at + i), q = v_load(b.at + i);             \
                v_store(y + i, expression);                             \
            }                                                           \
        else if (a.step)                                                \
            for (; i + VW <= n; i += VW) {                              \
                p = v_load(a.at + i);                                   \
                v_store(y + i, expression);                             \
            }                                                           \
        else                                                            \
            for (; b.step && i + VW <= n; i += VW) {                    \
                q = v_load(b.at + i);                                   \
                v_store(y + i, expression);                             \
            }                                                           \
        for (int left; (left = n - i < VW ? n - i : VW) > 0; i += VW) { \
            if (a.step)                                                 \
                p = v_load_n(a.at + i, left);                           \
            if (b.step)                                                 \
                q = v_load_n(b.at + i, left);                           \
            v_store_n(y + i, left, expression);                         \
        }                                                               \
        return;                                                         \
    }

/* The roots with pow()'s answers for -0 and for minus infinity. */
V_INLINE vf root(vf x) { return v_pick(v_eq(x, v_set(-HUGE_VALF)), v_set(HUGE_VALF), v_sqrt(v_add(x, v_zero()))); }

/* One power for all has a cheaper form where it is one of these; each element has the same one however the work is split. */
static void powers(float *y, operand a, operand b, int n)
{
    float spread[TILE];
    if (!a.step)
        for (int i = 0; i < n; i++)
            spread[i] = *a.at;
    const float *x = a.step ? a.at : spread;
    if (!b.step) {
        float power = *b.at;
        if (power == 0.5f || power == -0.5f || power == 3.0f || power == 4.0f || power == 1.0f || power == 2.0f || power == -1.0f) {
            for (int i = 0; i < n; i += VW) {
                int some = n - i < VW ? n - i : VW;
                vf  p = v_load_n(x + i, some), s = v_mul(p, p);
                vf  q = power == 0.5f    ? root(p)
                        : power == -0.5f ? v_div(v_set(1.0f), root(p))
                        : power == 3.0f  ? v_mul(s, p)
                        : power == 4.0f  ? v_mul(s, s)
                        : power == 2.0f  ? s
                        : power == -1.0f ? v_div(v_set(1.0f), p)
                                         : p;
                v_store_n(y + i, some, q);
            }
            return;
        }
    }
    for (int i = 0; i < n; i++)
        y[i] = powf(x[i], b.at[i * b.step]);
}

static void each2(as_chain_op op, float *y, operand a, operand b, int n)
{
    switch (op) {
    case AS_CHAIN_ADD: EACH2(v_add(p, q))
    case AS_CHAIN_SUB: EACH2(v_sub(p, q))
    case AS_CHAIN_MUL: EACH2(v_mul(p, q))
    case AS_CHAIN_DIV: EACH2(v_div(p, q))
    case AS_CHAIN_MAX: EACH2(larger(p, q))
    case AS_CHAIN_MIN: EACH2(smaller(p, q))
    case AS_CHAIN_RELUGRAD: EACH2(passed(p, q))
    case AS_CHAIN_POW: powers(y, a, b, n); return;
    default: return; /* one with one operand, which each1() handles */
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    const as_node_ctx *n = args->ctx;
    as_chain           c;
    if (!chain_of(n, &c) || !as_shape_count(&n->out[0].shape))
        return; /* an empty tensor has no scratch either */
    as_flat flat;
    tiles   t;
    as_flat_of(n, c.n_in, &flat);
    tiles_of(&c, &flat, &t);
    float *mine = (float *)scratch + (size_t)part * (size_t)t.n_tiles * TILE, *out = args->out[0].data,
          constant[AS_CHAIN_MAX_CONSTANTS];
    int64_t begin, end;
    for (int i = 0; i < c.n_constants; i++)
        constant[i] = (float)c.constant[i];
    as_share(flat.count, 16, part, n_parts, &begin, &end);
    for (; begin < end; begin += TILE) {
        int     width = end - begin < TILE ? (int)(end - begin) : TILE;
        operand value[MAX_VALUES];
        for (int v = 0; v < c.n_in; v++) {
            const float *x = args->in[v].data;
            value[v] = (operand){flat.kind[v] == AS_FLAT_RUN ? x + begin : x, flat.kind[v] != AS_FLAT_ONE};
            if (t.of[v] >= 0) {
                as_flat_gather(&flat, v, x, begin, width, mine + t.of[v] * TILE);
                value[v].at = mine + t.of[v] * TILE;
            }
        }
        for (int i = 0; i < c.n_steps; i++) {
            const as_chain_step *s = &c.step[i];
            float               *y = i == c.n_steps - 1 ? out + begin : mine + t.of[c.n_in + i] * TILE;
            operand              a = s->a < 0 ? (operand){&constant[-1 - s->a], 0} : value[s->a];
            value[c.n_in + i] = (operand){y, 1};
            if (as_chain_op_arity(s->op) == 2 && !as_chain_op_has_parameters(s->op)) {
                each2(s->op, y, a, s->b < 0 ? (operand){&constant[-1 - s->b], 0} : value[s->b], width);
                continue;
            }
            if (!a.step) {
                for (int k = 0; k < width; k++)
                    mine[t.spread * TILE + k] = *a.at;
                a.at = mine + t.spread * TILE;
            }
            each1(s->op, y, a.at, s->b < 0 ? constant[-1 - s->b] : 0.0f, s->c < 0 ? constant[-1 - s->c] : 0.0f, width);
        }
    }
}

/* Everything that as_chain_of() knows. */
static const char *const also[] = {
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Max",
    "Min",
    "Sum",
    "Pow",
    "Neg",
    "Abs",
    "Sqrt",
    "Reciprocal",
    "Exp",
    "Log",
    "Erf",
    "Floor",
    "Ceil",
    "Round",
    "Relu",
    "LeakyRelu",
    "Clip",
    "Sigmoid",
    "Tanh",
    "HardSigmoid",
    "HardSwish",
    "Elu",
    "Gelu",
    "Softplus",
    "assay.ReluGrad",
    "Sign",
    "Mean",
    "Selu",
    "Celu",
    "Mish",
    "Softsign",
    "ThresholdedRelu",
    "Sin",
    "Cos",
    "Tan",
    "Asin",
    "Acos",
    "Atan",
    NULL,
};
