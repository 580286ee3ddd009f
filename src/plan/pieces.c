/* pieces.c - cuts a graph into pieces for devices that take more than one node at once.
 *
 * Every node has a level: the highest level of the nodes it reads, where a node of another class counts one higher.  A path that
 * leaves a class and comes back to it rises by at least two levels.  So the nodes of one class and level are convex: every path
 * between two of them stays within the same class and level.  Connected sets of these are the pieces; sorted by level they are in
 * order. */
#include "plan/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "plan/edit.h"

/* --- Cutting ------------------------------------------------------------------------------------------ */

static int root_of(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static void levels_find(const as_cut_graph *g, int *level)
{
    for (int i = 0; i < g->n_nodes; i++) {
        level[i] = 0;
        for (int k = 0; k < g->n_before[i]; k++) {
            int b = g->before[i][k], least = level[b] + (g->class_of[b] != g->class_of[i]);
            level[i] = level[i] > least ? level[i] : least;
        }
    }
}

typedef struct rank {
    int level, piece, node; /* piece: of its first node, or the node itself, so that pieces of one level stay in order */
} rank;

static int by_rank(const void *a, const void *b)
{
    const rank *x = a, *y = b;
    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    if (x->piece != y->piece)
        return x->piece < y->piece ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

int as_pieces_cut(const as_cut_graph *g, int *piece, int *order)
{
    size_t n = (size_t)g->n_nodes;
    int   *level = calloc(3 * n + 1, sizeof *level), *parent = level ? level + n : NULL, *number = level ? parent + n : NULL;
    rank  *ranks = calloc(n + 1, sizeof *ranks);
    int    n_pieces = 0;
    if (!level || !ranks) {
        free(level);
        free(ranks);
        return -1;
    }
    levels_find(g, level);
    for (int i = 0; i < g->n_nodes; i++) {
        parent[i] = i;
        for (int k = 0; g->class_of[i] >= 0 && k < g->n_before[i]; k++) {
            int b = g->before[i][k];
            if (g->class_of[b] != g->class_of[i] || level[b] != level[i])
                continue;
            int x = root_of(parent, b), y = root_of(parent, i); /* the smaller number wins: it is the first node of the piece */
            parent[x > y ? x : y] = x > y ? y : x;
        }
    }
    for (int i = 0; i < g->n_nodes; i++) {
        int root = root_of(parent, i);
        if (root == i)
            number[i] = g->class_of[i] >= 0 ? n_pieces++ : -1;
        piece[i] = number[root];
        ranks[i] = (rank){level[i], root, i};
    }
    qsort(ranks, n, sizeof *ranks, by_rank);
    for (int i = 0; i < g->n_nodes; i++)
        order[i] = ranks[i].node;
    free(level);
    free(ranks);
    return n_pieces;
}

/* --- Claims --------------------------------------------------------------------------------------------- */

typedef struct claiming {
    assay_env  *env;
    assay_plan *plan;
    as_arena    arena;
    int        *class_of, *piece, *order; /* per node; class: 2 * device + (steady ? 1 : 0), -1: node by node */
    int       **before, *n_before;
    bool       *steady; /* per value */
} claiming;

static assay_status no_memory(assay_env *env)
{
    return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for the pieces of its graph");
}

static assay_status claims_ask(claiming *c)
{
    assay_plan     *plan = c->plan;
    const as_graph *g = &plan->graph;
    as_claim_node  *nodes = AS_TAKE(&c->arena, as_claim_node, g->n_nodes);
    plan->claims = AS_TAKE(&plan->arena, as_choice *, plan->n_devices);
    if (!nodes || !plan->claims)
        return no_memory(c->env);
    for (int i = 0; i < g->n_nodes; i++)
        nodes[i] = (as_claim_node){.ctx = &g->nodes[i].ctx, .in = g->nodes[i].in, .out = g->nodes[i].out, .dead = g->nodes[i].dead};
    for (int d = 0; d < plan->n_devices; d++) {
        as_device *device = plan->devices[d];
        if (!device->caps.takes_graphs)
            continue;
        plan->claims[d] = AS_TAKE(&plan->arena, as_choice, g->n_nodes);
        if (!plan->claims[d])
            return no_memory(c->env);
        as_claim_graph graph = {.nodes = nodes, .n_nodes = g->n_nodes, .n_values = g->n_values};
        AS_TRY(device->backend->claim(c->env, device, &graph, &plan->arena, plan->claims[d]));
    }
    return ASSAY_OK;
}

/* The class of a node: by the most preferred device that takes it, if that device takes graphs. */
static assay_status class_find(claiming *c, int node)
{
    const assay_plan    *plan = c->plan;
    const as_bound_node *n = &plan->graph.nodes[node];
    bool                 steady = false;
    c->class_of[node] = -1;
    for (int k = 0; k < n->ctx.n_in; k++)
        steady |= n->in[k] >= 0;
    for (int k = 0; k < n->ctx.n_in; k++)
        steady = steady && (n->in[k] < 0 || c->steady[n->in[k]]);
    for (int k = 0; k < n->ctx.n_out; k++)
        if (n->out[k] >= 0)
            c->steady[n->out[k]] = steady;
    for (int i = 0; i < plan->n_devices && !n->dead; i++) {
        int        d = plan->order[i];
        as_device *device = plan->devices[d];
        as_choice  choice = {0};
        if (plan->claims[d] && plan->claims[d][node].kernel) {
            c->class_of[node] = 2 * d + steady;
            return ASSAY_OK;
        }
        if (plan->claims[d])
            continue;
        AS_TRY(device->backend->choose(c->env, device, &n->ctx, &c->arena, &choice));
        if (choice.kernel)
            return ASSAY_OK;
    }
    return ASSAY_OK;
}

static assay_status edges_find(claiming *c, int node)
{
    const as_graph      *g = &c->plan->graph;
    const as_bound_node *n = &g->nodes[node];
    c->before[node] = AS_TAKE(&c->arena, int, n->ctx.n_in);
    if (n->ctx.n_in && !c->before[node])
        return no_memory(c->env);
    for (int k = 0; k < n->ctx.n_in && !n->dead; k++) {
        int producer = n->in[k] < 0 ? -1 : g->values[n->in[k]].producer;
        if (producer >= 0 && producer < node && !g->nodes[producer].dead)
            c->before[node][c->n_before[node]++] = producer;
    }
    return ASSAY_OK;
}

/* Node i of the new order is node order[i] of the old one. */
static assay_status reorder(claiming *c)
{
    assay_plan    *plan = c->plan;
    as_graph      *g = &plan->graph;
    as_bound_node *moved = AS_TAKE(&c->arena, as_bound_node, g->n_nodes);
    as_choice     *choices = AS_TAKE(&c->arena, as_choice, g->n_nodes);
    if (!moved || !choices)
        return no_memory(c->env);
    for (int i = 0; i < g->n_nodes; i++)
        moved[i] = g->nodes[c->order[i]];
    memcpy(g->nodes, moved, (size_t)g->n_nodes * sizeof *moved);
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; !g->nodes[i].dead && k < g->nodes[i].ctx.n_out; k++)
            if (g->nodes[i].out[k] >= 0)
                g->values[g->nodes[i].out[k]].producer = i;
    for (int d = 0; d < plan->n_devices; d++) {
        if (!plan->claims[d])
            continue;
        for (int i = 0; i < g->n_nodes; i++)
            choices[i] = plan->claims[d][c->order[i]];
        memcpy(plan->claims[d], choices, (size_t)g->n_nodes * sizeof *choices);
    }
    return ASSAY_OK;
}

/* "conv1+bn1+relu1", cut where it becomes too long to read. */
static const char *piece_name(const assay_plan *plan, as_arena *arena, const as_plan_piece *p)
{
    const char *name = plan->graph.nodes[p->first].ctx.name;
    for (int i = 1; i < p->n_nodes && name; i++)
        name = as_edit_name_join(arena, name, plan->graph.nodes[p->first + i].ctx.name);
    return name;
}

/* How many bytes of the first path the second shares, counted in whole parts. */
static size_t shared_path(const char *path, size_t n, const char *other)
{
    size_t shared = 0;
    for (size_t i = 0;; i++) {
        bool ends = i == n || path[i] == '.';
        if (ends && (!other[i] || other[i] == '.'))
            shared = i;
        if (i == n || !other[i] || path[i] != other[i])
            return shared;
    }
}

/* The innermost module that all nodes lie in; NULL: no memory. */
static const char *piece_module(const assay_plan *plan, as_arena *arena, const as_plan_piece *p)
{
    const char *first = plan->graph.nodes[p->first].ctx.module;
    size_t      n = first ? strlen(first) : 0;
    for (int i = 1; i < p->n_nodes && n; i++) {
        const char *other = plan->graph.nodes[p->first + i].ctx.module;
        n = shared_path(first, n, other ? other : "");
    }
    return n ? as_arena_text_n(arena, first, n) : "";
}

static assay_status pieces_fill(claiming *c, int n_pieces)
{
    assay_plan *plan = c->plan;
    plan->pieces = AS_TAKE(&plan->arena, as_plan_piece, n_pieces);
    plan->piece_of = AS_TAKE(&plan->arena, int, plan->graph.n_nodes);
    if (!plan->pieces || !plan->piece_of)
        return no_memory(c->env);
    for (int i = 0; i < plan->graph.n_nodes; i++) {
        int old = c->order[i], last = plan->n_pieces - 1;
        plan->piece_of[i] = -1;
        if (c->piece[old] < 0)
            continue;
        bool joins = plan->compiled && i && c->piece[c->order[i - 1]] == c->piece[old];
        if (!joins)
            plan->pieces[++last] = (as_plan_piece){.device = c->class_of[old] / 2, .steady = c->class_of[old] % 2, .first = i};
        plan->n_pieces = last + 1;
        plan->pieces[last].n_nodes++;
        plan->piece_of[i] = last;
    }
    for (int i = 0; i < plan->n_pieces; i++) {
        as_plan_piece *p = &plan->pieces[i];
        p->name = piece_name(plan, &plan->arena, p);
        p->module = piece_module(plan, &plan->arena, p);
        p->op = p->n_nodes == 1 ? plan->graph.nodes[p->first].ctx.op->name
                                : as_arena_printf(&plan->arena, "%d nodes as one", p->n_nodes);
        if (!p->name || !p->op || !p->module)
            return no_memory(c->env);
    }
    return ASSAY_OK;
}

static assay_status claim(claiming *c)
{
    assay_plan     *plan = c->plan;
    const as_graph *g = &plan->graph;
    size_t          n = (size_t)g->n_nodes;
    c->class_of = AS_TAKE(&c->arena, int, n);
    c->piece = AS_TAKE(&c->arena, int, n);
    c->order = AS_TAKE(&c->arena, int, n);
    c->before = AS_TAKE(&c->arena, int *, n);
    c->n_before = AS_TAKE(&c->arena, int, n);
    c->steady = AS_TAKE(&c->arena, bool, g->n_values);
    if (!c->class_of || !c->piece || !c->order || !c->before || !c->n_before || !c->steady)
        return no_memory(c->env);
    for (int i = 0; i < g->n_values; i++)
        c->steady[i] = g->values[i].role == AS_ROLE_PARAM || g->values[i].role == AS_ROLE_CONSTANT;
    AS_TRY(claims_ask(c));
    for (int i = 0; i < g->n_nodes; i++) {
        AS_TRY(class_find(c, i));
        AS_TRY(edges_find(c, i));
    }
    as_cut_graph cut = {
        .n_nodes = g->n_nodes, .class_of = c->class_of, .before = (const int *const *)c->before, .n_before = c->n_before};
    int n_pieces = as_pieces_cut(&cut, c->piece, c->order);
    if (n_pieces < 0)
        return no_memory(c->env);
    AS_TRY(reorder(c));
    return pieces_fill(c, plan->compiled ? n_pieces : g->n_nodes);
}

assay_status as_plan_claim(assay_env *env, assay_plan *plan)
{
    claiming c = {.env = env, .plan = plan};
    bool     any = false;
    for (int d = 0; d < plan->n_devices; d++)
        any |= plan->devices[d]->caps.takes_graphs;
    if (!any)
        return ASSAY_OK;
    assay_status status = claim(&c);
    as_arena_drop(&c.arena);
    return status;
}
