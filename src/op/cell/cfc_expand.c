/* cfc_expand.c - CfC as primitives: a Gather takes each step out of x; the cells are Gemms and element-wise nodes.
 *
 * No node contains the batch size, so the graph works for any. */
#include "op/cell/cfc.h"
#include "op/cell/memory_cell.h"

typedef struct unroll {
    as_builder   *b;
    const as_cfc *c;
    const int    *in;
    as_dtype      dtype;
    int           ff[AS_CFC_MAX_CELLS][2]; /* the masked weights of ff1 and ff2 */
    int           one, scale, slope;
} unroll;

static int linear(const unroll *u, int x, int weight, int bias)
{
    as_attr trans = AS_ATTR_I("transB", 1);
    return x < 0 || weight < 0 ? -1 : u->b->node(u->b, "Gemm", (int[]){x, weight, bias}, 3, &trans, 1, NULL, 1);
}

static int concat(const unroll *u, const int *parts, int n)
{
    as_attr axis = AS_ATTR_I("axis", 1);
    for (int i = 0; i < n; i++)
        if (parts[i] < 0)
            return -1;
    return n == 1 ? parts[0] : u->b->node(u->b, "Concat", parts, n, &axis, 1, NULL, 1);
}

/* More parts than a node may have inputs: join them in groups first. */
static int concat_all(const unroll *u, int *parts, int n)
{
    while (n > 1) {
        int made = 0;
        for (int i = 0; i < n; i += AS_MAX_IN)
            parts[made++] = concat(u, parts + i, n - i < AS_MAX_IN ? n - i : AS_MAX_IN);
        n = made;
    }
    return parts[0];
}

/* Step t of axis 1; with `keep` the axis stays. */
static int step_of(const unroll *u, int x, int64_t t, bool keep)
{
    as_shape shape = keep ? AS_SHAPE(1) : (as_shape){0};
    as_view  at = as_view_of(&t, AS_I64, &shape);
    as_attr  axis = AS_ATTR_I("axis", 1);
    int      index = x < 0 ? -1 : u->b->constant(u->b, &at);
    return index < 0 ? -1 : u->b->node(u->b, "Gather", (int[]){x, index}, 2, &axis, 1, NULL, 1);
}

/* [batch, n] zeros: broadcasting takes the batch size from x; the values of x are never read. */
static int zeros(const unroll *u, int64_t n)
{
    as_arena arena = {0};
    void    *none = AS_TAKE(&arena, uint8_t, n);
    as_view  mask = as_view_of(none, AS_BOOL, &AS_SHAPE(1, n));
    int      never = none ? u->b->constant(u->b, &mask) : -1;
    int      first = step_of(u, step_of(u, u->in[AS_CFC_X], 0, false), 0, true);
    as_arena_drop(&arena);
    return never < 0 || first < 0 ? -1 : as_b_where(u->b, never, first, as_b_scalar(u->b, u->dtype, 0.0));
}

/* Splits h [batch, H] into the states of the cells. */
static void state_split(const unroll *u, int h, int *states)
{
    const as_cfc *c = u->c;
    int64_t       sizes[AS_CFC_MAX_CELLS];
    as_attr       axis = AS_ATTR_I("axis", 1);
    states[0] = h;
    if (c->n_cells == 1 || h < 0)
        return;
    for (int l = 0; l < c->n_cells; l++) {
        sizes[l] = c->cell[l].n_hidden;
        states[l] = -1;
    }
    int split = as_b_ints(u->b, sizes, (size_t)c->n_cells);
    if (split >= 0)
        u->b->node(u->b, "Split", (int[]){h, split}, 2, &axis, 1, states, c->n_cells);
}

/* --- A cell ----------------------------------------------------------------------------------------- */

static int activation(const unroll *u, int x)
{
    switch (u->c->act) {
    case AS_CFC_LECUN_TANH: return as_b2(u->b, "Mul", as_b1(u->b, "Tanh", as_b2(u->b, "Mul", x, u->slope)), u->scale);
    case AS_CFC_TANH: return as_b1(u->b, "Tanh", x);
    case AS_CFC_RELU: return as_b1(u->b, "Relu", x);
    case AS_CFC_SILU: return as_b2(u->b, "Mul", x, as_b1(u->b, "Sigmoid", x));
    case AS_CFC_GELU: return as_b1(u->b, "Gelu", x);
    }
    return -1;
}

static int head(const unroll *u, int z, int weight, int bias)
{
    int f = linear(u, z, weight, bias);
    return u->c->semantics == AS_CFC_TORCH ? as_b1(u->b, "Tanh", f) : f;
}

/* A - A * exp(-ts * (|w_tau| + |ff1|)) * ff1 */
static int pure(const unroll *u, int l, int z, int ts)
{
    as_builder *b = u->b;
    const int  *w = u->in + u->c->cell[l].first + 1;
    int         f = linear(u, z, u->ff[l][0], w[3]), rate = as_b2(b, "Add", as_b1(b, "Abs", w[0]), as_b1(b, "Abs", f));
    int         decay = as_b1(b, "Exp", as_b1(b, "Neg", ts >= 0 ? as_b2(b, "Mul", rate, ts) : rate));
    return as_b2(b, "Sub", w[1], as_b2(b, "Mul", as_b2(b, "Mul", w[1], decay), f));
}

static int gated(const unroll *u, int l, int z, int ts)
{
    as_builder *b = u->b;
    const int  *w = u->in + u->c->cell[l].first + 1;
    int         one = head(u, z, u->ff[l][0], w[1]), two = head(u, z, u->ff[l][1], w[3]);
    int         time_a = linear(u, z, w[4], w[5]), time_b = linear(u, z, w[6], w[7]);
    if (ts >= 0)
        time_a = as_b2(b, "Mul", time_a, ts);
    int gate =
        as_b1(b, "Sigmoid", u->c->semantics == AS_CFC_TORCH ? as_b2(b, "Add", time_a, time_b) : as_b2(b, "Sub", time_b, time_a));
    if (u->c->mode == AS_CFC_DEFAULT)
        one = as_b2(b, "Mul", one, as_b2(b, "Sub", u->one, gate));
    return as_b2(b, "Add", one, as_b2(b, "Mul", gate, two));
}

static int cell(const unroll *u, int l, int x, int h, int ts)
{
    int z = concat(u, (int[]){x, h}, 2);
    for (int k = 0; k < u->c->n_backbone; k++) {
        z = linear(u, z, u->in[AS_CFC_CELLS + 2 * k], u->in[AS_CFC_CELLS + 2 * k + 1]);
        if (as_cfc_acts_after(u->c, k))
            z = activation(u, z);
    }
    return u->c->mode == AS_CFC_PURE ? pure(u, l, z, ts) : gated(u, l, z, ts);
}

/* The weights of ff1 and ff2 times the mask, once for all steps. */
static void masks_apply(unroll *u)
{
    as_builder *b = u->b;
    for (int l = 0; l < u->c->n_cells; l++) {
        int first = u->c->cell[l].first, mask = u->in[first], n = u->c->mode == AS_CFC_PURE ? 1 : 2;
        if (mask >= 0) {
            as_attr to = AS_ATTR_I("to", u->dtype == AS_F64   ? 11
                                         : u->dtype == AS_F32 ? 1
                                         : u->dtype == AS_F16 ? 10
                                                              : 16); /* ONNX's numbers */
            if (b->info(b, mask)->dtype != u->dtype)
                mask = b->node(b, "Cast", &mask, 1, &to, 1, NULL, 1);
            if (u->c->semantics == AS_CFC_TORCH)
                mask = as_b1(b, "Abs", mask);
        }
        for (int k = 0; k < n; k++) {
            int weight = u->in[first + 1 + (u->c->mode == AS_CFC_PURE ? 2 : 2 * k)];
            u->ff[l][k] = u->in[first] < 0 ? weight : as_b2(b, "Mul", weight, mask);
        }
    }
}

/* --- The sequence ------------------------------------------------------------------------------------ */

/* An upper bound of the nodes per step. */
static int64_t step_nodes(const as_cfc *c) { return 6 + AS_MEMORY_NODES + 4 * c->n_backbone + 14 * c->n_cells; }

static assay_status refuse(as_builder *b, const as_node_ctx *n, const as_cfc *c)
{
    const char *name = n->name ? n->name : "";
    if (c->dropout > 0.0)
        return as_fail(b->env, ASSAY_UNSUPPORTED, "%s '%s': in training its dropout cannot be written as primitives", n->op->name,
                       name);
    if (!c->n_steps)
        return as_fail(b->env, ASSAY_UNSUPPORTED, "%s '%s': a sequence of no steps cannot be written as primitives", n->op->name,
                       name);
    if (c->n_steps > AS_MAX_EXPANDED || c->n_steps * step_nodes(c) > AS_MAX_EXPANDED)
        return as_fail(b->env, ASSAY_UNSUPPORTED, "%s '%s': %lld steps of up to %lld primitives each are more than %d nodes",
                       n->op->name, name, (long long)c->n_steps, (long long)step_nodes(c), AS_MAX_EXPANDED);
    return ASSAY_OK;
}

static void steps_unroll(const unroll *u, int *ys, int *out)
{
    const as_cfc *c = u->c;
    int           h = u->in[AS_CFC_H0], memory = u->in[AS_CFC_C0], states[AS_CFC_MAX_CELLS];
    if (h < 0)
        h = zeros(u, c->n_state);
    if (c->has_memory && memory < 0)
        memory = zeros(u, c->n_state);
    state_split(u, h, states);
    for (int64_t t = 0; t < c->n_steps; t++) {
        int x = step_of(u, u->in[AS_CFC_X], t, false), ts = u->in[AS_CFC_TIMESPANS], from = x;
        if (ts >= 0)
            ts = step_of(u, ts, t, true);
        if (c->has_memory) {
            h = concat(u, states, c->n_cells);
            as_memory_expand(u->b, x, u->in[AS_CFC_MEMORY_W], u->in[AS_CFC_MEMORY_B], u->in[AS_CFC_MEMORY_R], &h, &memory);
            state_split(u, h, states);
        }
        for (int l = 0; l < c->n_cells; l++)
            from = states[l] = cell(u, l, from, states[l], ts);
        if (c->sequences || t + 1 == c->n_steps) {
            int y = c->has_fc ? linear(u, from, u->in[AS_CFC_FC_W], u->in[AS_CFC_FC_B]) : from;
            ys[c->sequences ? t : 0] = c->sequences ? as_b2(u->b, "Unsqueeze", y, as_b_ints(u->b, (const int64_t[]){1}, 1)) : y;
        }
    }
    out[0] = c->sequences ? concat_all(u, ys, (int)c->n_steps) : ys[0];
    out[1] = concat(u, states, c->n_cells);
    out[2] = memory;
}

assay_status as_cfc_expand(as_builder *b, const as_node_ctx *n, const as_cfc *c, const int *in, int *out)
{
    int      all[AS_MAX_IN], results[3];
    as_arena arena = {0};
    AS_TRY(refuse(b, n, c));
    for (int i = 0; i < AS_MAX_IN; i++)
        all[i] = i < n->n_in ? in[i] : -1;
    int *ys = AS_TAKE(&arena, int, c->n_steps);
    if (!ys)
        return as_fail(b->env, ASSAY_NO_MEMORY, "%s '%s': not enough memory to unroll %lld steps", n->op->name,
                       n->name ? n->name : "", (long long)c->n_steps);
    unroll u = {.b = b, .c = c, .in = all, .dtype = n->in[AS_CFC_X].dtype};
    u.one = as_b_scalar(b, u.dtype, 1.0);
    if (c->n_backbone && c->act == AS_CFC_LECUN_TANH) {
        u.slope = as_b_scalar(b, u.dtype, 0.666);
        u.scale = as_b_scalar(b, u.dtype, 1.7159);
    }
    masks_apply(&u);
    steps_unroll(&u, ys, results);
    for (int i = 0; i < n->n_out; i++)
        out[i] = results[i];
    as_arena_drop(&arena);
    return ASSAY_OK;
}
