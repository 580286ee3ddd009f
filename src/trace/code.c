/* code.c - the frames, stacks and threads of a trace, with stack samples and memory events.
 *
 * A recorder asks for the same frames and stacks again and again, so both are found by hash.  The index is updated when something
 * is added: a trace from a file is indexed at its first addition. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "trace/format.h"

enum { FIRST_SLOTS = 64 };

const char *as_memory_kind_text(as_memory_kind kind)
{
    static const char *const names[AS_N_MEMORY_KINDS] = {"alloc", "free", "resize", "copy", "transfer"};
    return (unsigned)kind < AS_N_MEMORY_KINDS ? names[kind] : "unknown";
}

const char *as_trace_subject_text(as_trace_subject subject)
{
    static const char *const names[AS_N_SUBJECTS] = {"network", "session", "program", "training"};
    return (unsigned)subject < AS_N_SUBJECTS ? names[subject] : "unknown";
}

static bool keep(assay_trace *t, const char **text)
{
    *text = as_trace_keep(t, *text ? *text : "");
    return *text != NULL;
}

#define GROW(t, items) as_trace_grow_heap((void **)&(t)->items, &(t)->cap_##items, (t)->n_##items + 1, sizeof *(t)->items)

/* --- The index -------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t pair[2] = {a, b};
    return as_hash64(pair, sizeof pair);
}

static uint64_t frame_hash(const as_trace_frame *f)
{
    uint64_t h = mix(as_hash64(f->name, strlen(f->name)), as_hash64(f->file, strlen(f->file)));
    h = mix(h, as_hash64(f->object, strlen(f->object)));
    h = mix(h, as_hash64(f->category, strlen(f->category)));
    return mix(mix(h, f->flops), mix(f->bytes, (uint64_t)(uint32_t)f->line << 32 | (uint32_t)f->context)) + f->inlined;
}

static bool frame_same(const as_trace_frame *a, const as_trace_frame *b)
{
    return a->line == b->line && a->context == b->context && a->inlined == b->inlined && a->flops == b->flops &&
           a->bytes == b->bytes && !strcmp(a->name, b->name) && !strcmp(a->file, b->file) && !strcmp(a->object, b->object) &&
           !strcmp(a->category, b->category);
}

static uint64_t stack_hash(const as_trace_stack *s) { return mix((uint32_t)s->parent, (uint32_t)s->frame); }

/* At least twice as many slots as items; enters all items again. */
static bool index_grow(struct as_code_index *index, size_t n_items)
{
    size_t n = index->n_slots ? index->n_slots : FIRST_SLOTS;
    while (n < 2 * n_items + 2)
        n *= 2;
    if (n == index->n_slots)
        return true;
    uint32_t *slots = calloc(n, sizeof *slots);
    if (!slots)
        return false;
    free(index->slots);
    *index = (struct as_code_index){slots, n, 0};
    return true;
}

static void index_put(struct as_code_index *index, uint64_t hash, size_t item)
{
    size_t at = hash & (index->n_slots - 1);
    while (index->slots[at])
        at = (at + 1) & (index->n_slots - 1);
    index->slots[at] = (uint32_t)item + 1;
}

static bool frames_indexed(assay_trace *t)
{
    if (!index_grow(&t->frame_index, t->n_frames + 1))
        return false;
    for (; t->frame_index.n_known < t->n_frames; t->frame_index.n_known++)
        index_put(&t->frame_index, frame_hash(&t->frames[t->frame_index.n_known]), t->frame_index.n_known);
    return true;
}

static bool stacks_indexed(assay_trace *t)
{
    if (!index_grow(&t->stack_index, t->n_stacks + 1))
        return false;
    for (; t->stack_index.n_known < t->n_stacks; t->stack_index.n_known++)
        index_put(&t->stack_index, stack_hash(&t->stacks[t->stack_index.n_known]), t->stack_index.n_known);
    return true;
}

/* --- Lists ------------------------------------------------------------------------------------------ */

bool as_trace_append_context(assay_trace *t, const as_trace_context *context)
{
    as_trace_context c = *context;
    if (t->n_contexts >= INT32_MAX || !keep(t, &c.operation) || !keep(t, &c.layer) || !keep(t, &c.phase) ||
        !keep(t, &c.precision) || !keep(t, &c.optimisation) || !keep(t, &c.kernel) || !keep(t, &c.revision) || !GROW(t, contexts))
        return false;
    t->contexts[t->n_contexts++] = c;
    return true;
}

static bool text_same(const char *a, const char *b) { return !strcmp(a ? a : "", b ? b : ""); }

int as_trace_add_context(assay_trace *t, const as_trace_context *c)
{
    for (size_t i = t->n_contexts; i-- > 0;) { /* the newest first: it is the most likely one */
        const as_trace_context *x = &t->contexts[i];
        if (text_same(x->operation, c->operation) && text_same(x->layer, c->layer) && text_same(x->phase, c->phase) &&
            text_same(x->precision, c->precision) && text_same(x->optimisation, c->optimisation) &&
            text_same(x->kernel, c->kernel) && text_same(x->revision, c->revision) && x->batch == c->batch &&
            x->sequence == c->sequence && x->parameters == c->parameters && x->threads == c->threads && x->parallel == c->parallel)
            return (int)i;
    }
    return as_trace_append_context(t, c) ? (int)t->n_contexts - 1 : -1;
}

bool as_trace_append_frame(assay_trace *t, const as_trace_frame *frame)
{
    as_trace_frame f = *frame;
    if (t->n_frames >= INT32_MAX || !keep(t, &f.name) || !keep(t, &f.file) || !keep(t, &f.object) || !keep(t, &f.category) ||
        !GROW(t, frames))
        return false;
    t->frames[t->n_frames++] = f;
    return true;
}

int as_trace_add_frame(assay_trace *t, const as_trace_frame *frame)
{
    as_trace_frame f = *frame;
    f.name = f.name ? f.name : "";
    f.file = f.file ? f.file : "";
    f.object = f.object ? f.object : "";
    f.category = f.category ? f.category : "";
    if (!frames_indexed(t))
        return -1;
    struct as_code_index *index = &t->frame_index;
    for (size_t at = frame_hash(&f) & (index->n_slots - 1); index->slots[at]; at = (at + 1) & (index->n_slots - 1))
        if (frame_same(&t->frames[index->slots[at] - 1], &f))
            return (int)index->slots[at] - 1;
    return as_trace_append_frame(t, &f) ? (int)t->n_frames - 1 : -1;
}

bool as_trace_append_stack(assay_trace *t, const as_trace_stack *stack)
{
    if (t->n_stacks >= INT32_MAX || !GROW(t, stacks))
        return false;
    t->stacks[t->n_stacks++] = *stack;
    return true;
}

int as_trace_add_stack(assay_trace *t, int parent, int frame)
{
    as_trace_stack s = {parent, frame};
    if (!stacks_indexed(t))
        return -1;
    struct as_code_index *index = &t->stack_index;
    for (size_t at = stack_hash(&s) & (index->n_slots - 1); index->slots[at]; at = (at + 1) & (index->n_slots - 1)) {
        const as_trace_stack *x = &t->stacks[index->slots[at] - 1];
        if (x->parent == parent && x->frame == frame)
            return (int)index->slots[at] - 1;
    }
    return as_trace_append_stack(t, &s) ? (int)t->n_stacks - 1 : -1;
}

int as_trace_add_lane(assay_trace *t, const as_trace_lane *lane)
{
    as_trace_lane l = *lane;
    if (t->n_lanes > UINT16_MAX || !keep(t, &l.name) || !GROW(t, lanes))
        return -1;
    t->lanes[t->n_lanes] = l;
    return (int)t->n_lanes++;
}

bool as_trace_append_place(assay_trace *t, const char *place)
{
    if (t->n_places > UINT16_MAX || !keep(t, &place) || !GROW(t, places))
        return false;
    t->places[t->n_places++] = place;
    return true;
}

int as_trace_add_place(assay_trace *t, const char *place)
{
    for (size_t i = 0; i < t->n_places; i++)
        if (!strcmp(t->places[i], place))
            return (int)i;
    return as_trace_append_place(t, place) ? (int)t->n_places - 1 : -1;
}

bool as_trace_reserve_code(assay_trace *t, size_t n_looks, size_t n_memory_events)
{
    return as_trace_grow_heap((void **)&t->looks, &t->cap_looks, t->n_looks + n_looks, sizeof *t->looks) &&
           as_trace_grow_heap((void **)&t->memory_events, &t->cap_memory_events, t->n_memory_events + n_memory_events,
                              sizeof *t->memory_events);
}

bool as_trace_add_look(assay_trace *t, const as_stack_sample *look)
{
    if (!GROW(t, looks))
        return false;
    t->looks[t->n_looks++] = *look;
    return true;
}

bool as_place_is_inside(const char *place)
{
    size_t n = strlen(place), tail = strlen(AS_PLACE_INSIDE);
    return n > tail && !strcmp(place + n - tail, AS_PLACE_INSIDE);
}

bool as_trace_add_memory_event(assay_trace *t, const as_memory_event *event)
{
    if (!GROW(t, memory_events))
        return false;
    t->memory_events[t->n_memory_events++] = *event;
    return true;
}

bool as_trace_add_stack_total(assay_trace *t, const as_stack_total *total)
{
    if (!GROW(t, stack_totals))
        return false;
    t->stack_totals[t->n_stack_totals++] = *total;
    return true;
}

bool as_trace_add_memory_site(assay_trace *t, const as_memory_site *site)
{
    if (!GROW(t, memory_sites))
        return false;
    t->memory_sites[t->n_memory_sites++] = *site;
    return true;
}
