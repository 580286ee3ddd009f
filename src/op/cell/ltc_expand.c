/* ltc_expand.c - assay.LTC as primitives, for devices and formats that do not have it. No node
 * contains the batch size, so the graph works for any. */
#include "op/cell/ltc.h"

#include <inttypes.h>

/* What is the same in every step. */
typedef struct parts {
    as_builder *b;
    const int  *in;
    as_ltc      s;
    as_dtype    dtype;
    int         cm, g, g_leak; /* after pos; gleak * vleak */
    int         w, w_erev, sensory_w, sensory_w_erev;
    int         axis_1, axis_2; /* lists of one axis */
} parts;

/* Upper bounds of the nodes: outside the steps, in a step without its unfolds, and in an unfold. */
enum { NODES_ONCE = 16, NODES_STEP = 22 + AS_MEMORY_NODES, NODES_UNFOLD = 13 };

static int pos(const parts *p, int x) { return p->s.implicit ? as_b1(p->b, "Softplus", x) : x; }

static int weights(const parts *p, int w, int mask)
{
    int x = pos(p, p->in[w]);
    if (p->in[mask] < 0)
        return x;
    /* Where(mask, w, 0), not a product: a mask is bool or a byte, and a masked-out weight may have any value. */
    as_dtype have = p->b->info(p->b, p->in[mask])->dtype;
    int      there = p->in[mask];
    if (have != AS_BOOL)
        there = as_b1(p->b, "Not", as_b2(p->b, "Equal", there, as_b_scalar(p->b, have, 0.0)));
    return as_b_where(p->b, there, x, as_b_scalar(p->b, p->dtype, 0.0));
}

/* With a new axis of 1. */
static int widen(const parts *p, int x, int axis) { return as_b2(p->b, "Unsqueeze", x, axis); }

/* Step t of [batch,steps,...], with the axis of time as 1 when kept. */
static int step_of(const parts *p, int x, int64_t t, bool keep)
{
    as_attr axis = AS_ATTR_I("axis", 1);
    int     index = keep ? as_b_ints(p->b, &t, 1) : as_b_scalar(p->b, AS_I64, (double)t);
    return x < 0 || index < 0 ? -1 : p->b->node(p->b, "Gather", (int[]){x, index}, 2, &axis, 1, NULL, 1);
}

static int sum(const parts *p, int x)
{
    as_attr keep = AS_ATTR_I("keepdims", 0);
    return x < 0 || p->axis_1 < 0 ? -1 : p->b->node(p->b, "ReduceSum", (int[]){x, p->axis_1}, 2, &keep, 1, NULL, 1);
}

/* The two sums over all synapses that start in `from`, [batch,sources,1]. */
static void synapses(const parts *p, int from, int first, int w, int w_erev, int *num, int *den)
{
    as_builder *b = p->b;
    int         open = as_b1(b, "Sigmoid", as_b2(b, "Mul", as_b2(b, "Sub", from, p->in[first + 1]), p->in[first]));
    *num = sum(p, as_b2(b, "Mul", open, w_erev));
    *den = sum(p, as_b2(b, "Mul", open, w));
}

static int affine(const parts *p, int x, int w, int bias)
{
    if (p->in[w] >= 0)
        x = as_b2(p->b, "Mul", x, p->in[w]);
    return p->in[bias] >= 0 ? as_b2(p->b, "Add", x, p->in[bias]) : x;
}

static int readout(const parts *p, int v)
{
    as_builder *b = p->b;
    if (p->s.n_motor < p->s.n_units) {
        int from = as_b_ints(b, (int64_t[]){0}, 1), to = as_b_ints(b, &p->s.n_motor, 1), axis = as_b_ints(b, (int64_t[]){1}, 1);
        v = v < 0 || from < 0 || to < 0 || axis < 0 ? -1 : b->node(b, "Slice", (int[]){v, from, to, axis}, 4, NULL, 0, NULL, 1);
    }
    v = affine(p, v, AS_LTC_OUTPUT_W, AS_LTC_OUTPUT_B);
    if (v >= 0 && p->in[AS_LTC_FC_W] >= 0) {
        as_attr trans = AS_ATTR_I("transB", 1);
        v = b->node(b, "Gemm", (int[]){v, p->in[AS_LTC_FC_W], p->in[AS_LTC_FC_B]}, 3, &trans, 1, NULL, 1);
    }
    return v;
}

static int step(const parts *p, int64_t t, int v, int *c)
{
    as_builder *b = p->b;
    int         x = step_of(p, p->in[AS_LTC_X], t, false), sensory_num, sensory_den, dt;
    if (p->s.memory)
        as_memory_expand(b, x, p->in[AS_LTC_MEMORY_W], p->in[AS_LTC_MEMORY_B], p->in[AS_LTC_MEMORY_R], &v, c);
    if (p->in[AS_LTC_TIMESPANS] >= 0) {
        dt = step_of(p, p->in[AS_LTC_TIMESPANS], t, true);
        dt = as_b2(b, "Div", dt, as_b_scalar(b, p->dtype, (double)p->s.n_unfolds));
    } else {
        dt = as_b_scalar(b, p->dtype, 1.0 / (double)p->s.n_unfolds);
    }
    synapses(p, widen(p, affine(p, x, AS_LTC_INPUT_W, AS_LTC_INPUT_B), p->axis_2), AS_LTC_SENSORY_SIGMA, p->sensory_w,
             p->sensory_w_erev, &sensory_num, &sensory_den);
    sensory_num = as_b2(b, "Add", sensory_num, p->g_leak);
    sensory_den = as_b2(b, "Add", as_b2(b, "Add", sensory_den, p->g), as_b_scalar(b, p->dtype, p->s.epsilon));
    for (int64_t k = 0; k < p->s.n_unfolds; k++) {
        int num, den;
        synapses(p, widen(p, v, p->axis_2), AS_LTC_SIGMA, p->w, p->w_erev, &num, &den);
        num = as_b2(b, "Add", as_b2(b, "Mul", p->cm, v), as_b2(b, "Mul", dt, as_b2(b, "Add", num, sensory_num)));
        den = as_b2(b, "Add", p->cm, as_b2(b, "Mul", dt, as_b2(b, "Add", den, sensory_den)));
        v = as_b2(b, "Div", num, den);
    }
    return v;
}

/* Joins n tensors [batch,1,n] along time.  A node takes at most AS_MAX_IN inputs, so the joined parts are joined again. */
static int join(as_builder *b, int *values, int64_t count)
{
    as_attr axis = AS_ATTR_I("axis", 1);
    for (int64_t i = 0; i < count; i++)
        if (values[i] < 0)
            return -1;
    while (count > 1) {
        int64_t next = 0;
        for (int64_t i = 0; i < count; i += AS_MAX_IN) {
            int n = (int)(count - i < AS_MAX_IN ? count - i : AS_MAX_IN);
            values[next++] = n == 1 ? values[i] : b->node(b, "Concat", values + i, n, &axis, 1, NULL, 1);
            if (values[next - 1] < 0)
                return -1;
        }
        count = next;
    }
    return values[0];
}

/* [1,units] of zeros: stride 0, one element stands for all. */
static int zeros(const parts *p, as_dtype dtype)
{
    double  zero = 0.0;
    as_view view = {.data = &zero, .dtype = dtype, .shape = AS_SHAPE(1, p->s.n_units)};
    return p->b->constant(p->b, &view);
}

/* The state before the first step.  Every node broadcasts [1,units] except the product of the memory cell; there the batch size
 * comes from an element of x whose value is never read. */
static int state_first(const parts *p)
{
    if (p->in[AS_LTC_H0] >= 0)
        return p->in[AS_LTC_H0];
    if (!p->s.memory)
        return zeros(p, p->dtype);
    int some = step_of(p, step_of(p, p->in[AS_LTC_X], 0, false), 0, true);
    return as_b_where(p->b, zeros(p, AS_BOOL), some, as_b_scalar(p->b, p->dtype, 0.0));
}

static void parts_make(as_builder *b, const as_node_ctx *n, const int *in, const as_ltc *s, parts *out)
{
    parts p = {.b = b, .in = in, .s = *s, .dtype = n->in[AS_LTC_X].dtype};
    p.cm = pos(&p, in[AS_LTC_CM]);
    p.g = pos(&p, in[AS_LTC_GLEAK]);
    p.g_leak = as_b2(b, "Mul", p.g, in[AS_LTC_VLEAK]);
    p.w = weights(&p, AS_LTC_W, AS_LTC_MASK);
    p.w_erev = as_b2(b, "Mul", p.w, in[AS_LTC_EREV]);
    p.sensory_w = weights(&p, AS_LTC_SENSORY_W, AS_LTC_SENSORY_MASK);
    p.sensory_w_erev = as_b2(b, "Mul", p.sensory_w, in[AS_LTC_SENSORY_EREV]);
    p.axis_1 = as_b_ints(b, (int64_t[]){1}, 1);
    p.axis_2 = as_b_ints(b, (int64_t[]){2}, 1);
    *out = p;
}

assay_status as_ltc_expand(as_builder *b, const as_node_ctx *n, const int *given, int *out)
{
    as_ltc s;
    parts  p;
    int    in[AS_LTC_N_IN], steps[AS_MAX_EXPANDED / NODES_STEP + 1];
    AS_TRY(as_ltc_read(b->env, n, &s));
    int64_t each = NODES_STEP + NODES_UNFOLD * s.n_unfolds, most = (AS_MAX_EXPANDED - NODES_ONCE) / each;
    if (s.n_steps > most)
        return as_fail(b->env, ASSAY_UNSUPPORTED,
                       "%s '%s': %" PRId64 " steps of %" PRId64 " unfolds would become more than %d nodes; %" PRId64
                       " steps are possible",
                       n->op->name, n->name ? n->name : "", s.n_steps, s.n_unfolds, AS_MAX_EXPANDED, most);
    if (s.n_steps < 1)
        return as_fail(b->env, ASSAY_UNSUPPORTED, "%s '%s': x is %s: a sequence without steps has no primitives", n->op->name,
                       n->name ? n->name : "", AS_SHOW(&n->in[AS_LTC_X].shape));
    for (int i = 0; i < AS_LTC_N_IN; i++)
        in[i] = as_in_has(n, i) ? given[i] : -1;
    parts_make(b, n, in, &s, &p);
    int v = state_first(&p), c = !s.memory ? -1 : in[AS_LTC_C0] >= 0 ? in[AS_LTC_C0] : zeros(&p, p.dtype);
    for (int64_t t = 0; t < s.n_steps; t++) {
        v = step(&p, t, v, &c);
        if (s.sequences)
            steps[t] = widen(&p, readout(&p, v), p.axis_1);
    }
    out[0] = s.sequences ? join(b, steps, s.n_steps) : readout(&p, v);
    if (n->n_out > 1)
        out[1] = v;
    if (n->n_out > 2)
        out[2] = c;
    return ASSAY_OK;
}
