/* counters.c - numbers over time: metrics, sensors, the time of each sample, and memory as its events tell it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/scene.h"

static size_t counter_find(as_scene *v, int process, const char *name, const char *unit)
{
    for (size_t i = 0; i < v->n_counters; i++)
        if (v->counters[i].process == process && !strcmp(v->counters[i].name, name))
            return i;
    if (!AS_SCENE_ROOM(v, v->counters, v->n_counters, v->cap_counters))
        return 0;
    v->counters[v->n_counters] =
        (as_scene_counter){.name = as_scene_clean(v, name), .unit = as_scene_clean(v, unit), .process = process};
    return v->n_counters++;
}

static void point_add(as_scene *v, size_t counter, uint64_t ns, double value)
{
    if (v->failed || !isfinite(value))
        return;
    as_scene_counter *c = &v->counters[counter];
    if (!AS_SCENE_ROOM(v, c->points, c->n, c->cap))
        return;
    c->points[c->n++] = (as_scene_point){.ns = ns, .value = value};
    v->end_ns = ns > v->end_ns ? ns : v->end_ns;
}

static void metrics_take(as_scene *v, int process)
{
    as_scene_process  *p = &v->processes[process];
    const assay_trace *t = p->trace;
    size_t             at = 0;
    for (size_t i = 0; i < t->n_metrics && !v->failed; i++) {
        const as_trace_metric *m = &t->metrics[i];
        if (!i || strcmp(m->name, t->metrics[i - 1].name))
            at = counter_find(v, process, m->name, m->unit);
        point_add(v, at, as_scene_ns(p, m->ticks), m->value);
    }
}

static void readings_take(as_scene *v, int process)
{
    as_scene_process  *p = &v->processes[process];
    const assay_trace *t = p->trace;
    for (size_t i = 0; i < t->n_readings && !v->failed; i++) {
        const as_trace_sensor *s = &t->sensors[t->readings[i].sensor];
        point_add(v, counter_find(v, process, s->name, s->unit), as_scene_ns(p, t->readings[i].ticks), t->readings[i].value);
    }
}

static void samples_take(as_scene *v, int process)
{
    as_scene_process  *p = &v->processes[process];
    const assay_trace *t = p->trace;
    if (!t->n_samples)
        return;
    size_t at = counter_find(v, process, "time of a run", "ns");
    for (size_t i = 0; i < t->n_samples && !v->failed; i++) {
        const as_sample *s = &t->samples[i];
        point_add(v, at, as_scene_ns(p, s->begin_ticks),
                  (double)(s->end_ticks - s->begin_ticks) * t->ns_per_tick / (s->n_runs ? s->n_runs : 1));
    }
}

void as_scene_counters_make(as_scene *v)
{
    for (size_t i = 0; i < v->n_processes && !v->failed; i++) {
        metrics_take(v, (int)i);
        readings_take(v, (int)i);
        samples_take(v, (int)i);
    }
}

/* --- Memory events -------------------------------------------------------------------------------------------------- */

typedef struct block {
    uint64_t id, bytes;
    uint32_t stack;
    uint16_t place;
    uint8_t  state; /* 0: free slot, 1: alive, 2: was here */
} block;

typedef struct heap {
    as_scene         *v;
    as_scene_process *p;
    block            *blocks;
    size_t            n_slots, n_used; /* used: alive or was */
    uint64_t         *live;            /* of each place */
    uint64_t          total;
    size_t           *counters; /* of each place */
} heap;

static block *block_find(heap *h, uint64_t id, uint16_t place)
{
    size_t at = (size_t)((id ^ (uint64_t)place << 48) * 0x9e3779b97f4a7c15u >> 20) & (h->n_slots - 1);
    block *was = NULL;
    for (; h->blocks[at].state; at = (at + 1) & (h->n_slots - 1)) {
        block *b = &h->blocks[at];
        if (b->state == 1 && b->id == id && b->place == place)
            return b;
        was = was ? was : b->state == 2 ? b : NULL;
    }
    return was ? was : &h->blocks[at];
}

static bool heap_grow(heap *h)
{
    if (2 * (h->n_used + 1) < h->n_slots)
        return true;
    block *old = h->blocks;
    size_t n_old = h->n_slots;
    h->n_slots = n_old ? 2 * n_old : 4096;
    h->blocks = calloc(h->n_slots, sizeof *h->blocks);
    if (!h->blocks) {
        h->blocks = old;
        h->n_slots = n_old;
        return false;
    }
    h->n_used = 0;
    for (size_t i = 0; i < n_old; i++)
        if (old[i].state == 1) {
            *block_find(h, old[i].id, old[i].place) = old[i];
            h->n_used++;
        }
    free(old);
    return true;
}

static void block_end(heap *h, block *b)
{
    if (b->state != 1)
        return; /* freed without having been allocated while it was recorded */
    h->live[b->place] -= b->bytes;
    h->total -= b->bytes;
    b->state = 2;
}

static void block_begin(heap *h, const as_memory_event *e)
{
    block *b = block_find(h, e->id, e->place);
    block_end(h, b); /* its id is had again without a free that was seen */
    h->n_used += !b->state;
    *b = (block){.id = e->id, .bytes = e->bytes, .stack = e->stack, .place = e->place, .state = 1};
    h->live[b->place] += b->bytes;
    h->total += b->bytes;
}

static bool event_take(heap *h, const as_memory_event *e)
{
    if (e->kind == AS_MEMORY_COPY || e->kind == AS_MEMORY_TRANSFER)
        return true;
    if (!heap_grow(h))
        return false;
    if (e->kind == AS_MEMORY_FREE)
        block_end(h, block_find(h, e->id, e->place));
    else
        block_begin(h, e);
    return true;
}

/* Stacks that are not known have a node of their own. */
static as_scene_node *owner_of(heap *h, uint32_t stack)
{
    if (stack == AS_NO_STACK && !h->p->unknown)
        h->p->unknown = as_scene_name_add(h->v, &(as_scene_name){.name = "[stack not known]", .category = "code"}) + 1;
    uint32_t at = stack == AS_NO_STACK ? as_scene_node_find(h->v, h->p->root, h->p->unknown - 1) : h->p->stack_nodes[stack];
    return h->v->failed ? NULL : &h->v->nodes[at];
}

static void alive_add(heap *h, as_scene_value value)
{
    for (size_t i = 0; i < h->n_slots && !h->v->failed; i++) {
        as_scene_node *n = h->blocks[i].state == 1 ? owner_of(h, h->blocks[i].stack) : NULL;
        if (n)
            n->self[value] += h->blocks[i].bytes;
    }
}

static int by_time(const void *a, const void *b)
{
    const as_memory_event *x = *(const as_memory_event *const *)a, *y = *(const as_memory_event *const *)b;
    return x->ticks != y->ticks ? (x->ticks < y->ticks ? -1 : 1) : x < y ? -1 : x > y;
}

static bool heap_open(heap *h)
{
    const assay_trace *t = h->p->trace;
    free(h->blocks);
    h->blocks = NULL;
    h->n_slots = h->n_used = 0;
    h->total = 0;
    memset(h->live, 0, t->n_places * sizeof *h->live);
    return heap_grow(h);
}

/* Twice: the first pass finds when the peak was, the second stops there and sees who was alive. */
static void heap_walk(heap *h, const as_memory_event **order)
{
    const assay_trace *t = h->p->trace;
    uint64_t           peak = 0;
    size_t             peak_at = 0;
    h->v->failed |= !heap_open(h);
    for (size_t i = 0; i < t->n_memory_events && !h->v->failed; i++) {
        const as_memory_event *e = order[i];
        h->v->failed |= !event_take(h, e);
        if (h->total > peak)
            peak = h->total, peak_at = i;
        if (e->kind == AS_MEMORY_COPY || e->kind == AS_MEMORY_TRANSFER)
            continue;
        point_add(h->v, h->counters[e->place], as_scene_ns(h->p, e->ticks), (double)h->live[e->place]);
        as_scene_node *n = e->kind == AS_MEMORY_FREE ? NULL : owner_of(h, e->stack);
        if (n)
            n->self[AS_SCENE_ALLOC] += e->bytes;
    }
    alive_add(h, AS_SCENE_INUSE);
    h->v->failed |= !heap_open(h);
    for (size_t i = 0; i <= peak_at && i < t->n_memory_events && !h->v->failed; i++)
        h->v->failed |= !event_take(h, order[i]);
    alive_add(h, AS_SCENE_PEAK);
}

void as_scene_memory_make(as_scene *v)
{
    for (size_t i = 0; i < v->n_processes && !v->failed; i++) {
        as_scene_process       *p = &v->processes[i];
        const assay_trace      *t = p->trace;
        heap                    h = {.v = v, .p = p};
        const as_memory_event **order;
        if (!t->n_memory_events)
            continue;
        v->has_memory = true;
        order = malloc(t->n_memory_events * sizeof *order);
        h.live = AS_TAKE(&v->arena, uint64_t, t->n_places);
        h.counters = AS_TAKE(&v->arena, size_t, t->n_places);
        v->failed |= !order || !h.live || !h.counters;
        for (size_t k = 0; k < t->n_places && !v->failed; k++) {
            const char *name = as_arena_printf(&v->arena, "memory in use, %s", t->places[k]);
            h.counters[k] = counter_find(v, (int)i, name ? name : "memory in use", "byte");
        }
        for (size_t k = 0; k < t->n_memory_events && !v->failed; k++)
            order[k] = &t->memory_events[k];
        if (!v->failed) {
            qsort(order, t->n_memory_events, sizeof *order, by_time);
            heap_walk(&h, order);
        }
        free(h.blocks);
        free(order);
    }
}
