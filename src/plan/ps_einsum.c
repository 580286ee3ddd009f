/* ps_einsum.c - an Einsum of one or two operands becomes a product of matrices.
 *
 * Every axis of "A,B->Y" is one of five: in all three (a stack of matrices), in A and Y (rows), in B and Y (columns), in A and B (the
 * sum), or in one operand alone (summed before).  Transposes bring them into this order, where Reshapes, which move nothing, make one
 * axis of each kind.  The diagonal of an operand, axes that broadcast and more operands stay as they are. */
#include <string.h>

#include "op/rules.h"
#include "plan/edit.h"

/* A tensor with names for its axes. */
typedef struct named {
    int value, rank;
    int label[AS_MAX_RANK];
} named;

typedef struct rewrite {
    assay_env *env;
    as_graph  *g;
    int        id; /* of the Einsum, which moves on with every node before it */
    as_einsum  e;
} rewrite;

static bool has(const int *labels, int n, int label)
{
    for (int i = 0; i < n; i++)
        if (labels[i] == label)
            return true;
    return false;
}

static int64_t size_of(const rewrite *r, const int *labels, int n)
{
    int64_t size = 1;
    for (int i = 0; i < n; i++)
        size *= r->e.size[labels[i]];
    return size;
}

static assay_status no_memory(const rewrite *r)
{
    return as_fail(r->env, ASSAY_NO_MEMORY, "plan: not enough memory for the product of '%s'", r->g->nodes[r->id].ctx.name);
}

static assay_status list_add(rewrite *r, const int64_t *items, int n, int *out)
{
    int64_t *own = AS_TAKE(r->g->arena, int64_t, n + 1);
    if (!own)
        return no_memory(r);
    memcpy(own, items, (size_t)n * sizeof *own);
    as_bound_value value = {.name = as_arena_printf(r->g->arena, "%s axes %d", r->g->nodes[r->id].ctx.name, r->g->n_values),
                            .role = AS_ROLE_CONSTANT,
                            .data = own,
                            .producer = -1,
                            .model_value = -1,
                            .info = {.dtype = AS_I64, .shape = AS_SHAPE(n), .constant = own}};
    *out = value.name ? as_graph_add_value(r->g, &value) : -1;
    return *out < 0 ? no_memory(r) : ASSAY_OK;
}

/* A node before the Einsum, or, with `last`, in its place. */
static assay_status node_add(rewrite *r, const char *op, const int *in, int n_in, const as_attr *attrs, int n_attrs, bool last,
                             int *out)
{
    const as_bound_node *node = &r->g->nodes[r->id];
    as_edit              edit = {.op = op,
                                 .name = last ? node->ctx.name : as_arena_printf(r->g->arena, "%s (%s %d)", node->ctx.name, op, r->g->n_nodes),
                                 .module = node->ctx.module,
                                 .in = in,
                                 .n_in = n_in,
                                 .attrs = attrs,
                                 .n_attrs = n_attrs,
                                 .out = last ? node->out[0] : -1};
    if (!edit.name)
        return no_memory(r);
    if (last)
        return as_edit_replace(r->env, r->g, r->id, &edit);
    AS_TRY(as_edit_insert(r->env, r->g, r->id, &edit, out));
    r->id++;
    return ASSAY_OK;
}

/* The axes in another order. */
static assay_status turn(rewrite *r, named *x, const int *labels, bool last)
{
    int64_t perm[AS_MAX_RANK];
    bool    same = true;
    for (int i = 0; i < x->rank; i++) {
        perm[i] = 0;
        while (x->label[perm[i]] != labels[i])
            perm[i]++;
        same = same && perm[i] == i;
    }
    memcpy(x->label, labels, (size_t)x->rank * sizeof *labels);
    int64_t *own = AS_TAKE(r->g->arena, int64_t, x->rank + 1);
    if (!own)
        return no_memory(r);
    memcpy(own, perm, (size_t)x->rank * sizeof *own);
    as_attr attr = {.name = "perm", .kind = AS_ATTR_INTS, .ints = own, .n = (size_t)x->rank};
    if (same && last)
        return node_add(r, "Identity", &x->value, 1, NULL, 0, true, &x->value);
    return same ? ASSAY_OK : node_add(r, "Transpose", &x->value, 1, &attr, 1, last, &x->value);
}

static assay_status reshape(rewrite *r, int *value, const as_shape *shape, bool last)
{
    int list;
    if (!last && as_shape_same(&r->g->values[*value].info.shape, shape))
        return ASSAY_OK;
    AS_TRY(list_add(r, shape->dim, shape->rank, &list));
    as_attr zero = AS_ATTR_I("allowzero", 1); /* a size of 0 is a size */
    return node_add(r, "Reshape", (int[]){*value, list}, 2, &zero, 1, last, value);
}

/* Sums over the axes that nothing else has. */
static assay_status sum_alone(rewrite *r, named *x, const named *other)
{
    int64_t axes[AS_MAX_RANK];
    int     n = 0, kept = 0, list;
    for (int i = 0; i < x->rank; i++)
        if (!has(r->e.out.label, r->e.out.rank, x->label[i]) && !(other && has(other->label, other->rank, x->label[i])))
            axes[n++] = i;
        else
            x->label[kept++] = x->label[i];
    x->rank = kept;
    if (!n)
        return ASSAY_OK;
    as_attr keep = AS_ATTR_I("keepdims", 0);
    AS_TRY(list_add(r, axes, n, &list));
    return node_add(r, "ReduceSum", (int[]){x->value, list}, 2, &keep, 1, false, &x->value);
}

/* Those labels of x, in its order, that the other tensor has or not, and the result has or not. */
static int pick(const rewrite *r, const named *x, const named *other, bool in_other, bool in_result, int *out)
{
    int n = 0;
    for (int i = 0; i < x->rank; i++)
        if (has(other->label, other->rank, x->label[i]) == in_other && has(r->e.out.label, r->e.out.rank, x->label[i]) == in_result)
            out[n++] = x->label[i];
    return n;
}

static void shape_add(as_shape *shape, int64_t size) { shape->dim[shape->rank++] = size; }

static assay_status product(rewrite *r, named *a, named *b)
{
    int stack[AS_MAX_RANK], rows[AS_MAX_RANK], columns[AS_MAX_RANK], sum[AS_MAX_RANK], order[4 * AS_MAX_RANK];
    int n_stack = pick(r, a, b, true, true, stack), n_rows = pick(r, a, b, false, true, rows),
        n_columns = pick(r, b, a, false, true, columns), n_sum = pick(r, a, b, true, false, sum);
    as_shape shape_a = {0}, shape_b = {0}, whole = {0};
    for (int i = 0; i < n_stack; i++) {
        shape_add(&shape_a, r->e.size[stack[i]]);
        shape_add(&shape_b, r->e.size[stack[i]]);
    }
    /* One matrix B for all: the rows keep their axes, so that A is often as it was. */
    for (int i = 0; !n_stack && i < n_rows; i++)
        shape_add(&shape_a, r->e.size[rows[i]]);
    if (n_stack || !n_rows)
        shape_add(&shape_a, size_of(r, rows, n_rows));
    shape_add(&shape_a, size_of(r, sum, n_sum));
    shape_add(&shape_b, size_of(r, sum, n_sum));
    shape_add(&shape_b, size_of(r, columns, n_columns));

    memcpy(order, stack, (size_t)n_stack * sizeof *order);
    memcpy(order + n_stack, rows, (size_t)n_rows * sizeof *order);
    memcpy(order + n_stack + n_rows, sum, (size_t)n_sum * sizeof *order);
    AS_TRY(turn(r, a, order, false));
    AS_TRY(reshape(r, &a->value, &shape_a, false));
    memcpy(order + n_stack, sum, (size_t)n_sum * sizeof *order);
    memcpy(order + n_stack + n_sum, columns, (size_t)n_columns * sizeof *order);
    AS_TRY(turn(r, b, order, false));
    AS_TRY(reshape(r, &b->value, &shape_b, false));

    named y = {.rank = n_stack + n_rows + n_columns};
    memcpy(y.label, stack, (size_t)n_stack * sizeof *order);
    memcpy(y.label + n_stack, rows, (size_t)n_rows * sizeof *order);
    memcpy(y.label + n_stack + n_rows, columns, (size_t)n_columns * sizeof *order);
    bool turns = memcmp(y.label, r->e.out.label, (size_t)y.rank * sizeof *order) != 0;
    for (int i = 0; i < y.rank; i++)
        shape_add(&whole, r->e.size[y.label[i]]);
    as_shape made = shape_a;
    made.dim[made.rank - 1] = shape_b.dim[shape_b.rank - 1];
    bool reshapes = !as_shape_same(&made, &whole);
    AS_TRY(node_add(r, "MatMul", (int[]){a->value, b->value}, 2, NULL, 0, !turns && !reshapes, &y.value));
    if (reshapes)
        AS_TRY(reshape(r, &y.value, &whole, !turns));
    return turns ? turn(r, &y, r->e.out.label, true) : ASSAY_OK;
}

static bool is_diagonal(const as_einsum_term *t)
{
    for (int i = 0; i < t->rank; i++)
        if (has(t->label, i, t->label[i]))
            return true;
    return false;
}

/* Whether the pass knows what to make of it. */
static bool is_plain(const rewrite *r, const as_node_ctx *n)
{
    if (n->n_in < 1 || n->n_in > 2 || (n->in[0].dtype != AS_F32 && n->in[0].dtype != AS_F16 && n->in[0].dtype != AS_BF16) ||
        r->e.out.rank > AS_MAX_RANK - 2)
        return false;
    for (int i = 0; i < n->n_in; i++) {
        if (is_diagonal(&r->e.in[i]) || n->in[i].shape.rank > AS_MAX_RANK - 2)
            return false;
        for (int k = 0; k < r->e.in[i].rank; k++)
            if (n->in[i].shape.dim[k] != r->e.size[r->e.in[i].label[k]])
                return false;
    }
    return true;
}

static assay_status einsum(rewrite *r)
{
    named x[2];
    int   n = r->g->nodes[r->id].ctx.n_in;
    for (int i = 0; i < n; i++) {
        x[i] = (named){.value = r->g->nodes[r->id].in[i], .rank = r->e.in[i].rank};
        memcpy(x[i].label, r->e.in[i].label, sizeof x[i].label);
    }
    AS_TRY(sum_alone(r, &x[0], n > 1 ? &x[1] : NULL));
    if (n == 1)
        return turn(r, &x[0], r->e.out.label, true);
    AS_TRY(sum_alone(r, &x[1], &x[0]));
    return product(r, &x[0], &x[1]);
}

static assay_status run(assay_env *env, as_graph *g, const as_pass_ctx *ctx, as_pass_note *note)
{
    (void)ctx;
    if (as_edit_is_too_large(g, note))
        return ASSAY_OK;
    for (int i = 0; i < g->n_nodes; i++) {
        rewrite r = {.env = env, .g = g, .id = i};
        if (!as_edit_is(&g->nodes[i], "Einsum") || as_einsum_read(NULL, &g->nodes[i].ctx, &r.e) != ASSAY_OK ||
            !is_plain(&r, &g->nodes[i].ctx))
            continue;
        AS_TRY(einsum(&r));
        i = r.id;
        note->n_changed++;
    }
    return ASSAY_OK;
}

const as_pass as_ps_einsum = {.name = "einsum",
                              .order = 11,
                              .help =
                                  "an Einsum of two operands is a product of matrices, between Transposes where they are needed",
                              .run = run};
