/* ps_fuse.c - puts a product and what follows it (bias, residual, activation, pool) into one step, while the sums are still in
 * registers.
 *
 * Conv [+ residual] [+ activation] [+ MaxPool 2x2] becomes assay.FusedConv, Gemm or MatMul [+ bias] [+ activation]
 * assay.FusedGemm.  The fused node takes the place of the last of the fused ones, so that a residual computed in between is
 * ready.
 *
 * In a backward pass, the mask of a Relu goes into the gradient before it (assay.ConvGradX, assay.MaxPoolGrad), and the sum that is
 * the gradient of a bias into assay.ConvGradW, which reads dY anyway. */
#include <string.h>

#include "op/math/activation.h"
#include "plan/edit.h"
#include "plan/lower.h"

/* The nodes found after a product, collected one by one. */
typedef struct tail {
    int      value, node; /* the output of the fused node, and its place */
    int      dead[5], n_dead;
    int      bias, residual; /* values, -1: none */
    as_act   act;
    bool     pools; /* the maximum of 2x2 comes last */
    uint64_t bytes; /* of intermediate results that no longer need memory */
} tail;

static void take(const as_graph *g, tail *t, int node)
{
    t->bytes += as_info_bytes(&g->values[t->value].info);
    t->dead[t->n_dead++] = t->node;
    t->node = node;
    t->value = g->nodes[node].out[0];
}

/* The other operand when `node` is an Add of `value` and something else. */
static int added(const as_graph *g, int node, int value)
{
    if (node < 0 || !as_edit_is(&g->nodes[node], "Add"))
        return -1;
    const int *in = g->nodes[node].in;
    return in[0] == value ? in[1] : in[0];
}

static void residual_take(const as_graph *g, tail *t)
{
    int node = as_edit_only_reader(g, t->value), other = added(g, node, t->value);
    if (other < 0 || other == t->value || !as_shape_same(&g->values[other].info.shape, &g->values[t->value].info.shape))
        return;
    t->residual = other;
    take(g, t, node);
}

/* [N], or [1,N]: one value per column. */
static void bias_take(const as_graph *g, tail *t)
{
    int node = as_edit_only_reader(g, t->value), other = added(g, node, t->value);
    if (other < 0)
        return;
    const as_shape *y = &g->values[t->value].info.shape, *b = &g->values[other].info.shape;
    if (b->rank < 1 || b->rank > 2 || (b->rank == 2 && b->dim[0] != 1) || b->dim[b->rank - 1] != y->dim[y->rank - 1] ||
        !as_shape_same(&g->nodes[node].ctx.out[0].shape, y))
        return;
    t->bias = other;
    take(g, t, node);
}

/* x * gate(x): the value has two readers, the gate and the product of both. */
static bool gated_take(const as_graph *g, tail *t, const char *gate_op, as_act_kind kind, double alpha, double beta)
{
    int gate = -1, times = -1;
    if (as_edit_readers(g, t->value) != 2 || as_edit_is_output(g, t->value))
        return false;
    for (int i = t->node + 1; i < g->n_nodes; i++) {
        const as_bound_node *node = &g->nodes[i];
        if (as_edit_is(node, gate_op) && node->in[0] == t->value)
            gate = i;
        else if (as_edit_is(node, "Mul") && (node->in[0] == t->value) != (node->in[1] == t->value))
            times = i;
    }
    if (gate < 0 || times < 0 || as_edit_only_reader(g, g->nodes[gate].out[0]) != times)
        return false;
    if (kind == AS_ACT_HARDSWISH) { /* only with slope 1/6 and offset 1/2; exporters write 1/6 as a float */
        double slope = as_attr_float(&g->nodes[gate].ctx, "alpha", 0.2) * 6.0 - 1.0;
        if (slope > 1e-6 || slope < -1e-6 || as_attr_float(&g->nodes[gate].ctx, "beta", 0.5) != 0.5)
            return false;
    }
    t->act = (as_act){.kind = kind, .alpha = alpha, .beta = beta};
    t->bytes += as_info_bytes(&g->values[g->nodes[gate].out[0]].info);
    t->dead[t->n_dead++] = gate;
    take(g, t, times);
    return true;
}

static void act_take(const as_graph *g, tail *t)
{
    int    node = as_edit_only_reader(g, t->value);
    as_act act;
    if (node >= 0 && g->nodes[node].in[0] == t->value && g->nodes[node].ctx.n_out == 1 && as_act_of(&g->nodes[node].ctx, &act)) {
        t->act = act;
        take(g, t, node);
    } else if (!gated_take(g, t, "Sigmoid", AS_ACT_SILU, 0, 0)) {
        gated_take(g, t, "HardSigmoid", AS_ACT_HARDSWISH, 0, 0);
    }
}

static bool are(const as_node_ctx *n, const char *attr, size_t count, int64_t want)
{
    int64_t got[4] = {want, want, want, want};
    size_t  given = as_attr_ints(n, attr, got, AS_COUNT(got));
    for (size_t i = 0; i < count; i++)
        if (got[i] != want)
            return false;
    return !given || given == count;
}

/* MaxPool of 2x2 with stride 2 and no other attribute: an odd last row or column is dropped. */
static bool is_pool_2x2(const as_node_ctx *n)
{
    const char *auto_pad = as_attr_text(n, "auto_pad", "NOTSET");
    return n->n_out == 1 && n->in[0].shape.rank == 4 && are(n, "kernel_shape", 2, 2) && as_attr_find(n, "strides") &&
           are(n, "strides", 2, 2) && are(n, "pads", 4, 0) && are(n, "dilations", 2, 1) && !as_attr_int(n, "ceil_mode", 0) &&
           (!strcmp(auto_pad, "NOTSET") || !strcmp(auto_pad, "VALID"));
}

static bool pool_take(const as_graph *g, tail *t)
{
    int node = as_edit_only_reader(g, t->value);
    if (node < 0 || !as_edit_is(&g->nodes[node], "MaxPool") || !is_pool_2x2(&g->nodes[node].ctx))
        return false;
    t->pools = true;
    take(g, t, node);
    return true;
}

/* Replaces the product by `edit` at the end of the tail, if the device has a kernel for it. */
static assay_status fuse(assay_env *env, as_graph *g, const as_pass_ctx *ctx, const as_edit *edit, const tail *t,
                         as_pass_note *note)
{
    as_node_ctx n;
    AS_TRY(as_edit_try(env, g, edit, &n));
    if (!as_edit_is_taken(env, ctx, g->arena, &n))
        return ASSAY_OK;
    for (int i = 0; i < t->n_dead; i++)
        g->nodes[t->dead[i]].dead = true;
    note->n_changed += t->n_dead;
    note->bytes_saved += t->bytes;
    return as_edit_replace(env, g, t->node, edit);
}

static const char *name_of(const as_graph *g, const as_node_ctx *n, const tail *t)
{
    return as_arena_printf(g->arena, "%s%s%s%s%s%s", n->name, t->bias >= 0 ? "+bias" : "", t->residual >= 0 ? "+residual" : "",
                           t->act.kind ? "+" : "", t->act.kind ? as_act_name(t->act.kind) : "", t->pools ? "+pool" : "");
}

enum { MAX_ATTRS = 16 };

/* The product's own attributes, those of the activation, and room for two more. */
static int attrs_join(const as_node_ctx *n, const as_act *act, as_attr *out)
{
    int count = n->n_attrs;
    if (count > MAX_ATTRS - 5)
        return -1;
    if (count)
        memcpy(out, n->attrs, (size_t)count * sizeof *out);
    return count + as_act_attrs(act, out + count);
}

static assay_status tail_fuse(assay_env *env, as_graph *g, const as_pass_ctx *ctx, int id, const tail *t, as_pass_note *note)
{
    const as_bound_node *node = &g->nodes[id];
    const as_node_ctx   *n = &node->ctx;
    as_attr              attrs[MAX_ATTRS];
    int                  n_attrs = attrs_join(n, &t->act, attrs);
    if (n_attrs < 0 || (!t->n_dead && !ctx->winograd))
        return ASSAY_OK;
    if (ctx->winograd)
        attrs[n_attrs++] = (as_attr)AS_ATTR_I("winograd", 1);
    if (t->pools)
        attrs[n_attrs++] = (as_attr)AS_ATTR_I("pool", 2);
    as_edit edit = {.op = "assay.FusedConv",
                    .name = name_of(g, n, t),
                    .module = n->module,
                    .n_in = 4,
                    .attrs = attrs,
                    .n_attrs = n_attrs,
                    .out = t->value,
                    .in = (int[]){node->in[0], node->in[1], n->n_in > 2 ? node->in[2] : -1, t->residual}};
    return edit.name ? fuse(env, g, ctx, &edit, t, note)
                     : as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory to fuse '%s'", n->name);
}

/* Tries with the pool first; if no kernel takes that, without it. */
static assay_status conv_fuse(assay_env *env, as_graph *g, const as_pass_ctx *ctx, int id, as_pass_note *note)
{
    tail t = {.value = g->nodes[id].out[0], .node = id, .bias = -1, .residual = -1};
    residual_take(g, &t);
    act_take(g, &t);
    tail pooled = t;
    if (pool_take(g, &pooled)) {
        AS_TRY(tail_fuse(env, g, ctx, id, &pooled, note));
        if (g->nodes[id].dead)
            return ASSAY_OK;
    }
    return tail_fuse(env, g, ctx, id, &t, note);
}

static assay_status product_fuse(assay_env *env, as_graph *g, const as_pass_ctx *ctx, int id, as_pass_note *note)
{
    const as_bound_node *node = &g->nodes[id];
    const as_node_ctx   *n = &node->ctx;
    tail                 t = {.value = node->out[0], .node = id, .bias = -1, .residual = -1};
    as_attr              attrs[MAX_ATTRS];
    int                  c = n->n_in > 2 ? node->in[2] : -1;
    if (n->in[0].shape.rank < 2 || n->in[1].shape.rank != 2)
        return ASSAY_OK;
    if (c < 0)
        bias_take(g, &t);
    act_take(g, &t);
    int n_attrs = attrs_join(n, &t.act, attrs);
    if (!t.n_dead || n_attrs < 0)
        return ASSAY_OK;
    as_edit edit = {.op = "assay.FusedGemm",
                    .name = name_of(g, n, &t),
                    .module = n->module,
                    .n_in = 3,
                    .attrs = attrs,
                    .n_attrs = n_attrs,
                    .out = t.value,
                    .in = (int[]){node->in[0], node->in[1], c >= 0 ? c : t.bias}};
    return edit.name ? fuse(env, g, ctx, &edit, &t, note)
                     : as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory to fuse '%s'", n->name);
}

/* --- Gradients ------------------------------------------------------------------------------------------- */

/* The gradient that a ReluGrad masks, if nothing else reads it: one node does both. */
static assay_status mask_fuse(assay_env *env, as_graph *g, const as_pass_ctx *ctx, int id, as_pass_note *note)
{
    const as_bound_node *relu = &g->nodes[id];
    int                  maker = relu->in[1] >= 0 ? g->values[relu->in[1]].producer : -1;
    if (maker < 0 || g->nodes[maker].dead || as_edit_only_reader(g, relu->in[1]) != id)
        return ASSAY_OK;
    const as_bound_node *node = &g->nodes[maker];
    as_attr              attrs[MAX_ATTRS];
    int                  n_attrs = attrs_join(&node->ctx, &(as_act){0}, attrs), in[3] = {-1, -1, -1}, n_in = node->ctx.n_in;
    bool                 conv = as_edit_is(node, "assay.ConvGradX") && n_in == 2;
    bool pool = as_edit_is(node, "assay.MaxPoolGrad") && node->in[0] == relu->in[0] && !as_attr_find(&node->ctx, "relu");
    if (n_attrs < 0 || (!conv && !pool))
        return ASSAY_OK;
    memcpy(in, node->in, (size_t)n_in * sizeof *in);
    if (conv)
        in[n_in++] = relu->in[0];
    else
        attrs[n_attrs++] = (as_attr)AS_ATTR_I("relu", 1);
    as_edit edit = {.op = node->ctx.op->name,
                    .name = as_edit_name_join(g->arena, node->ctx.name, relu->ctx.name),
                    .module = node->ctx.module,
                    .in = in,
                    .n_in = n_in,
                    .attrs = attrs,
                    .n_attrs = n_attrs,
                    .out = relu->out[0]};
    tail    t = {.node = id, .dead = {maker}, .n_dead = 1, .bytes = as_info_bytes(&node->ctx.out[0])};
    return edit.name ? fuse(env, g, ctx, &edit, &t, note)
                     : as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory to fuse '%s'", node->ctx.name);
}

/* The gradient of X may use the faster algorithm where the convolution may. */
static assay_status gradx_allow(assay_env *env, as_graph *g, const as_pass_ctx *ctx, int id)
{
    const as_bound_node *node = &g->nodes[id];
    as_attr              attrs[MAX_ATTRS];
    int                  n_attrs = attrs_join(&node->ctx, &(as_act){0}, attrs);
    if (!ctx->winograd || n_attrs < 0)
        return ASSAY_OK;
    attrs[n_attrs++] = (as_attr)AS_ATTR_I("winograd", 1);
    as_edit edit = {
        .op = node->ctx.op->name, .in = node->in, .n_in = node->ctx.n_in, .attrs = attrs, .n_attrs = n_attrs, .out = node->out[0]};
    return as_edit_replace(env, g, id, &edit);
}

/* Whether a node is the sum of dy over all axes but the channels. */
static bool is_channel_sum(const as_graph *g, const as_bound_node *node, int dy)
{
    if (!as_edit_is(node, "ReduceSum") || node->ctx.n_in != 2 || node->in[0] != dy || as_attr_int(&node->ctx, "keepdims", 1))
        return false;
    const as_tensor_info *axes = &g->values[node->in[1]].info;
    int                   rank = g->values[dy].info.shape.rank;
    int64_t               n = as_shape_count(&axes->shape);
    if (!axes->constant || axes->dtype != AS_I64 || n != rank - 1)
        return false;
    unsigned set = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t axis = ((const int64_t *)axes->constant)[i];
        set |= 1u << (axis < 0 ? axis + rank : axis);
    }
    return set == ((1u << rank) - 1 - 2u);
}

static assay_status bias_sum_fuse(assay_env *env, as_graph *g, const as_pass_ctx *ctx, int id, as_pass_note *note)
{
    const as_bound_node *node = &g->nodes[id];
    int                  sum = id + 1;
    while (sum < g->n_nodes && (g->nodes[sum].dead || !is_channel_sum(g, &g->nodes[sum], node->in[1])))
        sum++;
    if (sum == g->n_nodes || node->ctx.n_out != 1)
        return ASSAY_OK;
    as_edit edit = {.op = node->ctx.op->name,
                    .name = as_arena_printf(g->arena, "%s+bias", node->ctx.name),
                    .module = node->ctx.module,
                    .in = node->in,
                    .n_in = node->ctx.n_in,
                    .attrs = node->ctx.attrs,
                    .n_attrs = node->ctx.n_attrs,
                    .out = node->out[0],
                    .more = g->nodes[sum].out,
                    .n_more = 1};
    tail    t = {.node = id, .dead = {sum}, .n_dead = 1};
    return edit.name ? fuse(env, g, ctx, &edit, &t, note)
                     : as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory to fuse '%s'", node->ctx.name);
}

static assay_status run(assay_env *env, as_graph *g, const as_pass_ctx *ctx, as_pass_note *note)
{
    if (as_edit_is_too_large(g, note))
        return ASSAY_OK;
    for (int i = 0; i < g->n_nodes; i++) {
        if (as_edit_is(&g->nodes[i], "Conv"))
            AS_TRY(conv_fuse(env, g, ctx, i, note));
        else if (as_edit_is(&g->nodes[i], "Gemm") || as_edit_is(&g->nodes[i], "MatMul"))
            AS_TRY(product_fuse(env, g, ctx, i, note));
        else if (as_edit_is(&g->nodes[i], "assay.ReluGrad"))
            AS_TRY(mask_fuse(env, g, ctx, i, note));
        else if (as_edit_is(&g->nodes[i], "assay.ConvGradX"))
            AS_TRY(gradx_allow(env, g, ctx, i));
        else if (as_edit_is(&g->nodes[i], "assay.ConvGradW"))
            AS_TRY(bias_sum_fuse(env, g, ctx, i, note));
    }
    return ASSAY_OK;
}

const as_pass as_ps_fuse = {
    .name = "fuse",
    .order = 30,
    .help = "bias, residual, activation and 2x2 pooling are applied while the sums of a product are in registers; so is the mask "
            "of a Relu in the gradient of a convolution",
    .run = run};
