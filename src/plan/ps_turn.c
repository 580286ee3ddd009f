/* ps_turn.c - products of stacks of matrices read and write transposed tensors where they lie.
 *
 * A Transpose before or after a MatMul of stacks, and a multiplication by one known number, become part of it: assay.FusedMatMul.  Where the
 * rows of the product would become neighbours instead of its columns, (A B)' = B' A' is computed. */
#include <string.h>

#include "plan/edit.h"
#include "plan/lower.h"

typedef struct turned {
    int     in[2], rank[2];
    int64_t perm[2][AS_MAX_RANK];
    int     rank_y;
    int64_t perm_y[AS_MAX_RANK];
    double  alpha;
    int     value, node;     /* the output, and the place */
    int     dead[8], n_dead; /* nodes after the product that it takes over */
    int     n_taken;
} turned;

static void perm_read(const as_node_ctx *n, const char *name, int rank, int64_t *perm, bool backwards)
{
    if (!as_attr_ints(n, name, perm, AS_MAX_RANK))
        for (int i = 0; i < rank; i++)
            perm[i] = backwards ? rank - 1 - i : i;
}

/* The factor when `node` multiplies by one known number or divides by it; *other: the other operand. */
static bool factor_of(const as_graph *g, const as_bound_node *node, double *factor, int *other)
{
    bool times = as_edit_is(node, "Mul"), over = as_edit_is(node, "Div");
    if ((!times && !over) || node->ctx.out[0].dtype != AS_F32)
        return false;
    for (int k = over; k < 2; k++) {
        const as_tensor_info *t = &g->values[node->in[k]].info;
        if (!t->constant || as_shape_count(&t->shape) != 1 || t->shape.rank > node->ctx.in[1 - k].shape.rank)
            continue;
        double value = (double)*(const float *)t->constant;
        *factor = times ? value : 1.0 / value;
        *other = node->in[1 - k];
        return times || value != 0.0;
    }
    return false;
}

/* What the operand is made of, as far back as transposes and factors go. */
static void operand_follow(const as_graph *g, turned *t, int k)
{
    for (int i = 0; i < 8; i++) {
        int    producer = g->values[t->in[k]].producer, other;
        double factor;
        if (producer < 0 || g->nodes[producer].dead || as_edit_is_steady(g, t->in[k]))
            return;
        const as_bound_node *node = &g->nodes[producer];
        if (as_edit_is(node, "Transpose")) {
            int64_t inner[AS_MAX_RANK];
            perm_read(&node->ctx, "perm", t->rank[k], inner, true);
            for (int a = 0; a < t->rank[k]; a++)
                t->perm[k][a] = inner[t->perm[k][a]];
            t->in[k] = node->in[0];
        } else if (factor_of(g, node, &factor, &other)) {
            t->alpha *= factor;
            t->in[k] = other;
        } else {
            return;
        }
        t->n_taken++;
    }
}

static void result_take(const as_graph *g, turned *t, int node)
{
    t->dead[t->n_dead++] = t->node;
    t->node = node;
    t->value = g->nodes[node].out[0];
    t->n_taken++;
}

static void result_follow(const as_graph *g, turned *t)
{
    while (t->n_dead < (int)AS_COUNT(t->dead)) {
        int    reader = as_edit_only_reader(g, t->value), other;
        double factor;
        if (reader < 0)
            return;
        const as_bound_node *node = &g->nodes[reader];
        if (as_edit_is(node, "Transpose")) {
            int64_t outer[AS_MAX_RANK], now[AS_MAX_RANK];
            perm_read(&node->ctx, "perm", t->rank_y, outer, true);
            for (int a = 0; a < t->rank_y; a++)
                now[a] = t->perm_y[outer[a]];
            if (now[t->rank_y - 1] < t->rank_y - 2)
                return; /* neighbours would be elements of different matrices */
            memcpy(t->perm_y, now, sizeof now);
            result_take(g, t, reader);
        } else if (factor_of(g, node, &factor, &other) && other == t->value) {
            t->alpha *= factor;
            result_take(g, t, reader);
        } else {
            return;
        }
    }
}

static void last_two_swap(int64_t *perm, int rank)
{
    int64_t last = perm[rank - 1];
    perm[rank - 1] = perm[rank - 2];
    perm[rank - 2] = last;
}

/* (A B)' = B' A': what was a row of the product is a column. */
static void operands_swap(turned *t)
{
    turned was = *t;
    for (int k = 0; k < 2; k++) {
        t->in[k] = was.in[1 - k];
        t->rank[k] = was.rank[1 - k];
        memcpy(t->perm[k], was.perm[1 - k], sizeof t->perm[k]);
        last_two_swap(t->perm[k], t->rank[k]);
    }
    for (int a = 0; a < t->rank_y; a++)
        if (t->perm_y[a] >= t->rank_y - 2)
            t->perm_y[a] = 2 * t->rank_y - 3 - t->perm_y[a];
}

static bool is_identity(const int64_t *perm, int rank)
{
    for (int i = 0; i < rank; i++)
        if (perm[i] != i)
            return false;
    return true;
}

static assay_status turn(assay_env *env, as_graph *g, const as_pass_ctx *ctx, int id, as_pass_note *note)
{
    const as_bound_node *node = &g->nodes[id];
    const as_node_ctx   *n = &node->ctx;
    turned               t = {.in = {node->in[0], node->in[1]},
                              .rank = {n->in[0].shape.rank, n->in[1].shape.rank},
                              .rank_y = n->out[0].shape.rank,
                              .alpha = as_attr_float(n, "alpha", 1.0),
                              .value = node->out[0],
                              .node = id};
    if (t.rank[0] < 3 || t.rank[1] < 3 || n->out[0].dtype != AS_F32)
        return ASSAY_OK; /* one matrix for all is a plain product of rows */
    for (int k = 0; k < 2; k++) {
        perm_read(n, k ? "perm_b" : "perm_a", t.rank[k], t.perm[k], false);
        operand_follow(g, &t, k);
    }
    perm_read(n, "perm_y", t.rank_y, t.perm_y, false);
    result_follow(g, &t);
    if (!t.n_taken)
        return ASSAY_OK;
    if (t.perm_y[t.rank_y - 1] == t.rank_y - 2)
        operands_swap(&t);
    int64_t *kept = AS_TAKE(g->arena, int64_t, 3 * AS_MAX_RANK);
    if (!kept)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for the axes of '%s'", n->name);
    const struct {
        const char    *name;
        const int64_t *perm;
        int            rank;
    } perms[] = {{"perm_a", t.perm[0], t.rank[0]}, {"perm_b", t.perm[1], t.rank[1]}, {"perm_y", t.perm_y, t.rank_y}};
    as_attr attrs[4];
    int     n_attrs = 0;
    for (int i = 0; i < 3; i++) {
        if (is_identity(perms[i].perm, perms[i].rank))
            continue;
        memcpy(kept + i * AS_MAX_RANK, perms[i].perm, (size_t)perms[i].rank * sizeof *kept);
        attrs[n_attrs++] =
            (as_attr){.name = perms[i].name, .kind = AS_ATTR_INTS, .ints = kept + i * AS_MAX_RANK, .n = (size_t)perms[i].rank};
    }
    if (t.alpha != 1.0)
        attrs[n_attrs++] = (as_attr)AS_ATTR_F("alpha", t.alpha);
    as_edit     edit = {.op = "assay.FusedMatMul",
                        .name = n->name,
                        .module = n->module,
                        .in = t.in,
                        .n_in = 2,
                        .attrs = attrs,
                        .n_attrs = n_attrs,
                        .out = t.value};
    as_node_ctx whole;
    AS_TRY(as_edit_try(env, g, &edit, &whole));
    if (!as_edit_is_taken(env, ctx, g->arena, &whole))
        return ASSAY_OK;
    for (int i = 0; i < t.n_dead; i++) {
        note->bytes_saved += as_info_bytes(&g->values[g->nodes[t.dead[i]].out[0]].info);
        g->nodes[t.dead[i]].dead = true;
    }
    note->n_changed += t.n_taken;
    return as_edit_replace(env, g, t.node, &edit);
}

static assay_status run(assay_env *env, as_graph *g, const as_pass_ctx *ctx, as_pass_note *note)
{
    if (as_edit_is_too_large(g, note))
        return ASSAY_OK;
    for (int i = 0; i < g->n_nodes; i++)
        if (as_edit_is(&g->nodes[i], "MatMul") || as_edit_is(&g->nodes[i], "assay.FusedMatMul"))
            AS_TRY(turn(env, g, ctx, i, note));
    return ASSAY_OK;
}

const as_pass as_ps_turn = {.name = "turn",
                            .order = 25,
                            .help = "transposes and factors around products of stacks of matrices become part of them",
                            .run = run};
