/* parts.c - which nodes of the model a step computes, whatever the step's name says.
 *
 * From the values that a step writes, the model's graph is followed back to values that another step writes, to inputs or to
 * parameters.  So nodes that were fused, folded into weights or turned into aliases belong to the step that does their work.  A
 * step whose results are not in the model (a part of a composite operator) belongs to the step that reads them. */
#include <string.h>

#include "plan/lower.h"

enum { FAR = 4096 }; /* how many steps ahead a reader is searched: results are read soon, and a plan may have very many steps */

typedef struct walker {
    const assay_plan *plan;
    int              *producer; /* of each value of the model: node, -1: none */
    int              *owner;    /* of each node of the model: step, -1: none yet */
    bool             *written;  /* of each value of the model: by a step */
    int              *stack;
} walker;

static bool computes(const as_step *s) { return s->kind == AS_STEP_NODE || s->kind == AS_STEP_PIECE; }

/* The value of the model that a step's output holds, or -1. */
static int model_value(const assay_plan *plan, const as_step *s, int output)
{
    int buffer = s->seg.out[output], value = buffer < 0 ? -1 : plan->buffers[buffer].value;
    int id = value < 0 ? -1 : plan->graph.values[value].model_value;
    return id < plan->model->n_values ? id : -1;
}

static void values_mark(walker *w)
{
    const assay_model *m = w->plan->model;
    for (int i = 0; i < m->n_values; i++)
        w->producer[i] = -1;
    for (int n = 0; n < m->n_nodes; n++) {
        w->owner[n] = -1;
        for (int k = 0; k < m->nodes[n].n_out; k++)
            if (m->nodes[n].out[k] >= 0)
                w->producer[m->nodes[n].out[k]] = n;
    }
    for (int s = 0; s < w->plan->n_steps; s++)
        for (int k = 0; computes(&w->plan->steps[s]) && k < w->plan->steps[s].seg.n_out; k++) {
            int value = model_value(w->plan, &w->plan->steps[s], k);
            if (value >= 0)
                w->written[value] = true;
        }
}

static void walk(walker *w, int step, int value)
{
    const assay_model *m = w->plan->model;
    int                n = 0, first = w->producer[value];
    if (first < 0 || w->owner[first] >= 0)
        return;
    w->owner[first] = step;
    w->stack[n++] = first;
    while (n) {
        const as_node *node = &m->nodes[w->stack[--n]];
        for (int k = 0; k < node->n_in; k++) {
            int from = node->in[k] < 0 || w->written[node->in[k]] ? -1 : w->producer[node->in[k]];
            if (from >= 0 && w->owner[from] < 0) {
                w->owner[from] = step;
                w->stack[n++] = from;
            }
        }
    }
}

/* Steps without parts take those of the first step that reads them.  Goes from the last step to the first, so that the reader is
 * done already. */
static void borrow(const assay_plan *plan, as_step_parts *out)
{
    for (int s = plan->n_steps - 1; s >= 0; s--) {
        const as_seg_step *seg = &plan->steps[s].seg;
        if (out[s].n || !computes(&plan->steps[s]))
            continue;
        for (int r = s + 1; r < plan->n_steps && r - s <= FAR && !out[s].n; r++)
            for (int i = 0; i < plan->steps[r].seg.n_in && !out[s].n; i++)
                for (int k = 0; k < seg->n_out; k++) {
                    int in = plan->steps[r].seg.in[i];
                    if (in >= 0 && seg->out[k] >= 0 && as_buffer_same(plan, in) == as_buffer_same(plan, seg->out[k]))
                        out[s] = out[r];
                }
    }
}

static assay_status parts_collect(assay_env *env, const walker *w, as_arena *arena, as_step_parts *out)
{
    const assay_plan *plan = w->plan;
    for (int n = 0; n < plan->model->n_nodes; n++)
        if (w->owner[n] >= 0)
            out[w->owner[n]].n++;
    for (int s = 0; s < plan->n_steps; s++) {
        out[s].names = AS_TAKE(arena, const char *, out[s].n);
        if (!out[s].names)
            return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for the parts of step '%s'", plan->steps[s].name);
        out[s].n = 0;
    }
    for (int n = 0; n < plan->model->n_nodes; n++)
        if (w->owner[n] >= 0)
            out[w->owner[n]].names[out[w->owner[n]].n++] = plan->model->nodes[n].name;
    return ASSAY_OK;
}

assay_status as_plan_parts(assay_env *env, const assay_plan *plan, as_arena *arena, as_step_parts **out)
{
    const assay_model *m = plan->model;
    walker             w = {.plan = plan,
                            .producer = AS_TAKE(arena, int, m->n_values),
                            .owner = AS_TAKE(arena, int, m->n_nodes),
                            .written = AS_TAKE(arena, bool, m->n_values),
                            .stack = AS_TAKE(arena, int, m->n_nodes)};
    as_step_parts     *parts = AS_TAKE(arena, as_step_parts, plan->n_steps);
    if (!w.producer || !w.owner || !w.written || !w.stack || !parts)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for the parts of %d steps", plan->n_steps);
    values_mark(&w);
    for (int s = 0; s < plan->n_steps; s++)
        for (int k = 0; computes(&plan->steps[s]) && k < plan->steps[s].seg.n_out; k++) {
            int value = model_value(plan, &plan->steps[s], k);
            if (value >= 0)
                walk(&w, s, value);
        }
    AS_TRY(parts_collect(env, &w, arena, parts));
    borrow(plan, parts);
    *out = parts;
    return ASSAY_OK;
}
