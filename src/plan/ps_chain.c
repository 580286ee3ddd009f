/* ps_chain.c - turns element-wise nodes that only feed each other into one program, so that intermediate values never leave L1.
 *
 * Works from the last node backwards: each node takes in the producers of its inputs, and theirs, as long as a value has no other
 * reader and has the shape of the last node's output, and the program stays within its limits. */
#include "op/fused/chain.h"
#include "plan/edit.h"

typedef struct group {
    int      node[AS_CHAIN_MAX_STEPS], n_nodes; /* the root first */
    as_chain chain;                             /* as built last */
    int      input[AS_CHAIN_MAX_IN];            /* value ids */
} group;

static bool is_member(const group *p, int node)
{
    for (int i = 0; i < p->n_nodes; i++)
        if (p->node[i] == node)
            return true;
    return false;
}

/* The node's own program, if all its values are f32 and it has one output. */
static bool program_of(const as_bound_node *node, as_chain *out)
{
    if (node->dead || node->ctx.n_out != 1 || node->ctx.out[0].dtype != AS_F32 || !as_chain_of(&node->ctx, out))
        return false;
    for (int k = 0; k < out->n_in; k++)
        if (node->in[k] >= 0 && node->ctx.in[k].dtype != AS_F32)
            return false;
    return true;
}

/* --- Building the program --------------------------------------------------------------------------- */

/* A value from outside: a known single number is a constant, everything else an input. */
static bool outside_put(const as_graph *g, group *p, int value, int *operand)
{
    const as_tensor_info *info = &g->values[value].info;
    if (info->constant && as_shape_count(&info->shape) == 1) {
        *operand = as_chain_constant(&p->chain, (double)*(const float *)info->constant);
        return *operand != 0;
    }
    for (int i = 0; i < p->chain.n_in; i++)
        if (p->input[i] == value) {
            *operand = i;
            return true;
        }
    if (p->chain.n_in == AS_CHAIN_MAX_IN)
        return false;
    p->input[p->chain.n_in] = value;
    *operand = p->chain.n_in++;
    return true;
}

/* Results are numbered from AS_CHAIN_MAX_IN on until the number of inputs is known. */
typedef struct results {
    int value[AS_CHAIN_MAX_STEPS], at[AS_CHAIN_MAX_STEPS], n;
} results;

static bool operand_put(const as_graph *g, group *p, const results *r, const as_bound_node *node, const as_chain *own, int first,
                        int number, int *operand)
{
    if (number < 0) {
        *operand = as_chain_constant(&p->chain, own->constant[-1 - number]);
        return *operand != 0;
    }
    if (number >= own->n_in) { /* the result of one of its own instructions */
        *operand = AS_CHAIN_MAX_IN + first + number - own->n_in;
        return true;
    }
    for (int i = 0; i < r->n; i++)
        if (r->value[i] == node->in[number]) {
            *operand = r->at[i];
            return true;
        }
    return outside_put(g, p, node->in[number], operand);
}

static bool node_put(const as_graph *g, group *p, results *r, const as_bound_node *node)
{
    as_chain own;
    int      first = p->chain.n_steps;
    if (!program_of(node, &own) || first + own.n_steps > AS_CHAIN_MAX_STEPS)
        return false;
    for (int i = 0; i < own.n_steps; i++) {
        int number[3] = {own.step[i].a, own.step[i].b, own.step[i].c}, operand[3] = {0};
        for (int k = 0; k < as_chain_op_arity(own.step[i].op); k++)
            if (!operand_put(g, p, r, node, &own, first, number[k], &operand[k]))
                return false;
        p->chain.step[p->chain.n_steps++] = (as_chain_step){own.step[i].op, operand[0], operand[1], operand[2]};
    }
    r->value[r->n] = node->out[0];
    r->at[r->n++] = AS_CHAIN_MAX_IN + p->chain.n_steps - 1;
    return true;
}

static int final(const as_chain *c, int operand)
{
    return operand >= AS_CHAIN_MAX_IN ? operand - AS_CHAIN_MAX_IN + c->n_in : operand;
}

/* The program of all members in graph order; false when a limit is reached. */
static bool group_build(const as_graph *g, group *p)
{
    results  r = {0};
    as_chain empty = {0};
    p->chain = empty;
    for (int at = -1, done = 0; done < p->n_nodes; done++) {
        int next = g->n_nodes;
        for (int i = 0; i < p->n_nodes; i++)
            if (p->node[i] > at && p->node[i] < next)
                next = p->node[i];
        at = next;
        if (!node_put(g, p, &r, &g->nodes[at]))
            return false;
    }
    for (int i = 0; i < p->chain.n_steps; i++) {
        as_chain_step *s = &p->chain.step[i];
        *s = (as_chain_step){s->op, final(&p->chain, s->a), final(&p->chain, s->b), final(&p->chain, s->c)};
    }
    return p->chain.n_in > 0;
}

/* --- Growing ----------------------------------------------------------------------------------------- */

static bool may_join(const as_graph *g, const group *p, int member, int value)
{
    as_chain own;
    int      producer = value < 0 ? -1 : g->values[value].producer;
    return producer >= 0 && p->n_nodes < AS_CHAIN_MAX_STEPS && !is_member(p, producer) && program_of(&g->nodes[producer], &own) &&
           as_shape_same(&g->values[value].info.shape, &g->nodes[p->node[0]].ctx.out[0].shape) &&
           g->values[value].info.layout == g->nodes[p->node[0]].ctx.out[0].layout && as_edit_only_reader(g, value) == member &&
           !as_edit_is_steady(g, value); /* the set-up computes it once; here it would be computed in every run */
}

static void group_grow(const as_graph *g, int root, group *p)
{
    *p = (group){.node = {root}, .n_nodes = 1};
    for (int m = 0; m < p->n_nodes; m++) {
        const as_bound_node *node = &g->nodes[p->node[m]];
        for (int k = 0; k < node->ctx.n_in; k++) {
            if (!may_join(g, p, p->node[m], node->in[k]))
                continue;
            p->node[p->n_nodes++] = g->values[node->in[k]].producer;
            if (!group_build(g, p))
                p->n_nodes--;
        }
    }
}

static assay_status group_fuse(assay_env *env, as_graph *g, const as_pass_ctx *ctx, group *p, as_pass_note *note)
{
    int             root = p->node[0];
    const as_chain *c = &p->chain;
    if (!group_build(g, p))
        return ASSAY_OK;
    int64_t *program = AS_TAKE(g->arena, int64_t, c->n_steps * 4);
    double  *constants = AS_TAKE(g->arena, double, c->n_constants + 1);
    if (!program || !constants)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for the program of node '%s'", g->nodes[root].ctx.name);
    for (int i = 0; i < c->n_steps; i++) {
        const as_chain_step *s = &c->step[i];
        int64_t              word[4] = {s->op, s->a, s->b, s->c};
        for (int k = 0; k < 4; k++)
            program[i * 4 + k] = word[k];
    }
    for (int i = 0; i < c->n_constants; i++)
        constants[i] = c->constant[i];
    as_attr     attrs[2] = {{.name = "program", .kind = AS_ATTR_INTS, .ints = program, .n = (size_t)c->n_steps * 4},
                            {.name = "constants", .kind = AS_ATTR_FLOATS, .floats = constants, .n = (size_t)c->n_constants}};
    as_edit     edit = {.op = "assay.Chain",
                        .name = g->nodes[root].ctx.name,
                        .in = p->input,
                        .n_in = c->n_in,
                        .attrs = attrs,
                        .n_attrs = c->n_constants ? 2 : 1,
                        .out = g->nodes[root].out[0]};
    as_node_ctx whole;
    AS_TRY(as_edit_try(env, g, &edit, &whole));
    if (!as_shape_same(&whole.out[0].shape, &g->nodes[root].ctx.out[0].shape) || /* a constant added axes of size 1 */
        !as_edit_is_taken(env, ctx, g->arena, &whole))
        return ASSAY_OK;
    AS_TRY(as_edit_replace(env, g, root, &edit));
    for (int i = 1; i < p->n_nodes; i++) {
        const as_bound_value *v = &g->values[g->nodes[p->node[i]].out[0]];
        note->bytes_saved += 2 * (uint64_t)as_shape_count(&v->info.shape) * sizeof(float); /* written and read */
        g->nodes[p->node[i]].dead = true;
    }
    note->n_changed += p->n_nodes;
    return ASSAY_OK;
}

static assay_status run(assay_env *env, as_graph *g, const as_pass_ctx *ctx, as_pass_note *note)
{
    if (as_edit_is_too_large(g, note))
        return ASSAY_OK;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        as_chain own;
        group    p;
        if (!program_of(&g->nodes[i], &own))
            continue;
        group_grow(g, i, &p);
        if (p.n_nodes > 1)
            AS_TRY(group_fuse(env, g, ctx, &p, note));
    }
    return ASSAY_OK;
}

const as_pass as_ps_chain = {.name = "chain",
                             .order = 40,
                             .help = "consecutive element-wise operators run tile by tile; intermediate results stay in the cache",
                             .run = run};
