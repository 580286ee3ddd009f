/* tree.c - all spans, looks and memory events added up in one call tree. */
#include <stdlib.h>
#include <string.h>

#include "export/scene.h"

/* --- Nodes by their parent and name ------------------------------------------------------------------------- */

static size_t place_of(const as_scene *v, uint32_t parent, uint32_t name)
{
    uint64_t h = ((uint64_t)parent << 32 | name) * 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 20) & (v->n_slots - 1);
}

static bool slots_grow(as_scene *v)
{
    size_t    n = v->n_slots ? 2 * v->n_slots : 1024;
    uint32_t *slots = calloc(n, sizeof *slots);
    if (!slots)
        return false;
    free(v->slots);
    v->slots = slots;
    v->n_slots = n;
    for (size_t i = 0; i < v->n_nodes; i++) {
        size_t at = place_of(v, v->nodes[i].parent, v->nodes[i].name);
        while (slots[at])
            at = (at + 1) & (n - 1);
        slots[at] = (uint32_t)i + 1;
    }
    return true;
}

uint32_t as_scene_node_find(as_scene *v, uint32_t parent, uint32_t name)
{
    if (2 * (v->n_nodes + 1) > v->n_slots && !slots_grow(v)) {
        v->failed = true;
        return 0;
    }
    size_t at = place_of(v, parent, name);
    for (; v->slots[at]; at = (at + 1) & (v->n_slots - 1)) {
        const as_scene_node *n = &v->nodes[v->slots[at] - 1];
        if (n->parent == parent && n->name == name)
            return v->slots[at] - 1;
    }
    if (!AS_SCENE_ROOM(v, v->nodes, v->n_nodes, v->cap_nodes))
        return 0;
    v->nodes[v->n_nodes] = (as_scene_node){.name = name, .parent = parent};
    v->slots[at] = (uint32_t)v->n_nodes + 1;
    return (uint32_t)v->n_nodes++;
}

/* A stack refers to an earlier one, so that all of them are made in their order. */
static void stacks_make(as_scene *v, as_scene_process *p)
{
    const assay_trace *t = p->trace;
    for (size_t i = 0; i < t->n_stacks && !v->failed; i++) {
        uint32_t parent = t->stacks[i].parent >= 0 ? p->stack_nodes[t->stacks[i].parent] : p->root;
        p->stack_nodes[i] = as_scene_node_find(v, parent, as_scene_frame_name(v, p, t->stacks[i].frame));
    }
}

/* --- Time, and the work that it was spent on --------------------------------------------------------------- */

static void track_add(as_scene *v, const as_scene_track *track)
{
    const as_scene_process *p = &v->processes[track->process];
    uint32_t               *nodes = NULL;
    size_t                  cap = 0;
    for (size_t i = 0; i < track->n && !v->failed; i++) {
        const as_scene_span *s = &track->spans[i];
        if (!AS_SCENE_ROOM(v, nodes, s->depth, cap))
            break;
        uint32_t parent = s->depth ? nodes[s->depth - 1] : p->root, at = as_scene_node_find(v, parent, s->name);
        if (v->failed)
            break;
        nodes[s->depth] = at;
        as_scene_node *n = &v->nodes[at];
        uint64_t       ns = s->end_ns - s->begin_ns;
        n->calls++;
        n->self[AS_SCENE_TIME] += ns;
        n->self[AS_SCENE_FLOPS] += v->names[s->name].flops;
        n->self[AS_SCENE_BYTES] += v->names[s->name].bytes;
        if (s->depth)
            v->nodes[parent].self[AS_SCENE_TIME] -= ns; /* it is the child's now; the parent's own time was added before */
    }
    free(nodes);
}

/* Calls of the user's own code, also those whose spans were not kept.  A total is with what it calls; ticks are not whole nanoseconds, so that
 * the parts may be a little more than the whole. */
static void totals_add(as_scene *v, as_scene_process *p)
{
    const assay_trace *t = p->trace;
    double            *ns = calloc(t->n_stacks + 1, sizeof *ns);
    v->failed |= !ns;
    for (size_t i = 0; !v->failed && i < t->n_stack_totals; i++) {
        const as_stack_total *total = &t->stack_totals[i];
        as_scene_node        *n = &v->nodes[p->stack_nodes[total->stack]];
        double                took = (double)total->sum_ticks * t->ns_per_tick;
        int32_t               parent = t->stacks[total->stack].parent;
        ns[total->stack] += took;
        if (parent >= 0)
            ns[parent] -= took;
        n->calls += total->count;
        n->self[AS_SCENE_FLOPS] += total->flops;
        n->self[AS_SCENE_BYTES] += total->bytes;
    }
    for (size_t i = 0; !v->failed && i < t->n_stacks; i++)
        v->nodes[p->stack_nodes[i]].self[AS_SCENE_TIME] += ns[i] >= 0.5 && ns[i] < 1e18 ? (uint64_t)(ns[i] + 0.5) : 0;
    free(ns);
}

static void looks_add(as_scene *v, as_scene_process *p)
{
    for (size_t i = 0; i < p->trace->n_looks && !v->failed; i++) {
        const as_stack_sample *look = &p->trace->looks[i];
        uint32_t               at = p->stack_nodes[look->stack];
        if (look->state == AS_STACK_OFF_CPU)
            at = as_scene_node_find(v, at, as_scene_off_cpu(v, p));
        if (v->failed)
            return;
        v->nodes[at].calls++;
        v->nodes[at].self[AS_SCENE_TIME] += look->weight_ns;
        v->time_of_looks = true;
    }
}

static size_t kinds_count(const as_scene *v, size_t process, as_track_kind a, as_track_kind b)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n_tracks; i++)
        n += (size_t)v->tracks[i].process == process && (v->tracks[i].kind == a || v->tracks[i].kind == b) ? v->tracks[i].n : 0;
    return n;
}

static void kinds_add(as_scene *v, size_t process, as_track_kind a, as_track_kind b)
{
    for (size_t i = 0; i < v->n_tracks; i++)
        if ((size_t)v->tracks[i].process == process && (v->tracks[i].kind == a || v->tracks[i].kind == b))
            track_add(v, &v->tracks[i]);
}

/* Time is counted once: by spans where there are any, else by looks, else by the blocks of candidates.  What other threads and devices did
 * meanwhile is on the timeline. */
void as_scene_tree_make(as_scene *v)
{
    for (size_t i = 0; i < v->n_processes && !v->failed; i++) {
        as_scene_process *p = &v->processes[i];
        if (v->n_processes > 1)
            p->root =
                as_scene_node_find(v, UINT32_MAX, as_scene_name_add(v, &(as_scene_name){.name = p->name, .category = "trace"}));
        stacks_make(v, p);
        if (p->trace->n_stack_totals) {
            totals_add(v, p);
            kinds_add(v, i, AS_TRACK_MAIN, AS_TRACK_MAIN);
        } else if (kinds_count(v, i, AS_TRACK_MAIN, AS_TRACK_USER))
            kinds_add(v, i, AS_TRACK_MAIN, AS_TRACK_USER);
        else if (p->trace->n_looks)
            looks_add(v, p);
        else
            kinds_add(v, i, AS_TRACK_BLOCKS, AS_TRACK_BLOCKS);
    }
}
