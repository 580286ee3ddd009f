/* memory.c - the memory of a run as events: what the devices gave, how it is divided, and what was moved.
 *
 * A steady run allocates nothing, so there is nothing to record while it is timed: the plan says which buffer lives from which step to
 * which, the spans of one run say when that was, and the spans of transfers say how long they took.  All of it is written down at the end. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/plan.h"
#include "run/runner.h"

enum { MAX_TRANSFERS = 4096 };

typedef struct list {
    as_memory_event *events;
    size_t           n, cap;
    bool             failed;
} list;

typedef struct maker {
    const as_runner *r;
    assay_trace     *t;
    list             all;
    int              n_transfers;
} maker;

static void event_add(maker *m, const as_memory_event *event)
{
    list *l = &m->all;
    if (l->n == l->cap) {
        size_t           cap = l->cap ? 2 * l->cap : 256;
        as_memory_event *more = realloc(l->events, cap * sizeof *more);
        if (!more) {
            l->failed = true;
            return;
        }
        l->events = more;
        l->cap = cap;
    }
    l->events[l->n++] = *event;
}

/* --- Owners -------------------------------------------------------------------------------------------- */

static int frame_push(maker *m, int stack, const char *name, const char *category)
{
    int frame = as_trace_add_frame(m->t, &(as_trace_frame){.name = name, .category = category, .context = -1});
    int pushed = frame < 0 ? -1 : as_trace_add_stack(m->t, stack, frame);
    m->all.failed |= pushed < 0;
    return pushed;
}

static bool reads(const as_step *step, int buffer)
{
    for (int i = 0; i < step->seg.n_in; i++)
        if (step->seg.in[i] == buffer)
            return true;
    for (int i = 0; i < AS_N_PACKED && step->kind != AS_STEP_PACK; i++)
        if (step->seg.packed[i] == buffer)
            return true;
    return false;
}

/* The layer that a weight is for: the first step of every run that reads it, or what the set-up made of it. */
static const as_step *reader_of(const assay_plan *plan, int buffer, int depth)
{
    for (int s = plan->n_prologue; s < plan->n_steps; s++)
        if (reads(&plan->steps[s], buffer))
            return &plan->steps[s];
    for (int s = 0; s < plan->n_prologue && depth > 0; s++) {
        const as_seg_step *seg = &plan->steps[s].seg;
        int            made = plan->steps[s].kind == AS_STEP_PACK ? seg->packed[seg->pack_input] : seg->n_out ? seg->out[0] : -1;
        const as_step *found =
            made >= 0 && made != buffer && reads(&plan->steps[s], buffer) ? reader_of(plan, made, depth - 1) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

static const as_step *layer_of(const assay_plan *plan, int buffer)
{
    enum { DEPTH = 4 }; /* of a set-up: transfer, align, fold, pack */
    const as_buffer *b = &plan->buffers[buffer];
    if (b->role == AS_BUF_INPUT || b->role == AS_BUF_VARIABLE || !plan->n_steps)
        return NULL;
    const as_step *step = &plan->steps[b->first], *reader = b->first < plan->n_prologue ? reader_of(plan, buffer, DEPTH) : NULL;
    return reader ? reader : step;
}

/* The module, the layer and the buffer; what the caller gives belongs to no layer. */
static uint32_t owner_of(maker *m, int buffer)
{
    const assay_plan *plan = m->r->instance->plan;
    const as_buffer  *b = &plan->buffers[buffer];
    const as_step    *step = layer_of(plan, buffer);
    int               stack = -1;
    if (step && step->module && *step->module && strcmp(step->module, step->name))
        stack = frame_push(m, stack, step->module, "module");
    if (step)
        stack = frame_push(m, stack, step->name, as_step_op(plan, step));
    stack = frame_push(m, stack, b->name, as_buffer_role_text(b->role));
    return stack < 0 ? AS_NO_STACK : (uint32_t)stack;
}

static uint16_t place_of(maker *m, const char *device, const char *part)
{
    char name[256];
    snprintf(name, sizeof name, "%.200s%s", device, part);
    int place = as_trace_add_place(m->t, name);
    m->all.failed |= place < 0;
    return (uint16_t)(place < 0 ? 0 : place);
}

/* --- What there is -------------------------------------------------------------------------------------- */

/* The weights lie where the model has them, from before the run to behind it. */
static void weights_add(maker *m)
{
    const assay_plan *plan = m->r->instance->plan;
    for (int i = 0; i < plan->n_buffers; i++) {
        const as_buffer *b = &plan->buffers[i];
        if (!b->outside || b->alias_of >= 0 || !b->bytes || b->device != 0)
            continue;
        uint16_t place = place_of(m, AS_PLACE_MODEL, "");
        event_add(
            m, &(as_memory_event){.id = (uint64_t)i + 1, .bytes = b->bytes, .stack = owner_of(m, i), .place = place, .to = place});
    }
}

static void arenas_add(maker *m, uint64_t freed)
{
    const assay_plan *plan = m->r->instance->plan;
    for (int d = 0; d < plan->n_devices; d++) {
        if (!m->r->taken[d])
            continue;
        uint16_t        place = place_of(m, plan->devices[d]->name, "");
        int             stack = frame_push(m, frame_push(m, -1, plan->model->name, "model"), "memory of the plan", "arena");
        as_memory_event e = {.id = (uint64_t)d + 1, .bytes = m->r->taken[d], .stack = (uint32_t)stack, .place = place, .to = place};
        event_add(m, &e);
        e.kind = AS_MEMORY_FREE;
        e.ticks = freed;
        event_add(m, &e);
    }
}

/* --- Transfers -------------------------------------------------------------------------------------------- */

static void transfer_add(maker *m, int s, uint64_t begin, uint64_t end)
{
    const assay_plan *plan = m->r->instance->plan;
    const as_step    *step = &plan->steps[s];
    bool              get = step->kind == AS_STEP_GET, between = step->kind == AS_STEP_PUT || get;
    int               far = get ? step->seg.in[0] : step->seg.out[0];
    const as_slot    *slot = &m->r->instance->slots[far];
    if (!slot->bytes)
        return;
    if (m->n_transfers++ >= MAX_TRANSFERS) {
        m->t->memory_events_lost++;
        return;
    }
    uint16_t host = place_of(m, plan->devices[0]->name, ""), device = place_of(m, plan->devices[step->device]->name, "");
    int      stack = frame_push(m, -1, step->name, as_step_op(plan, step));
    event_add(m, &(as_memory_event){.ticks = begin,
                                    .took_ticks = end - begin,
                                    .id = (uint64_t)plan->n_devices + (uint64_t)far + 1,
                                    .bytes = slot->bytes,
                                    .stack = (uint32_t)stack,
                                    .kind = between ? AS_MEMORY_TRANSFER : AS_MEMORY_COPY,
                                    .place = get ? device : host,
                                    .to = get ? host : device});
}

static void transfers_add(maker *m)
{
    const assay_instance *instance = m->r->instance;
    const assay_trace    *t = m->t;
    for (int i = 0; i < instance->n_stamps; i++)
        transfer_add(m, instance->stamps[i].step, instance->stamps[i].begin_ticks - t->start_ticks,
                     instance->stamps[i].end_ticks - t->start_ticks);
    for (size_t i = 0; i < t->n_spans; i++) {
        const as_span *s = &t->spans[i];
        if (s->kind == AS_SPAN_STEP && s->step >= 0 && s->step < instance->plan->n_steps &&
            as_step_is_transfer(instance->plan->steps[s->step].kind))
            transfer_add(m, s->step, s->begin_ticks, s->end_ticks);
    }
}

/* --- Inside: one run, step by step ------------------------------------------------------------------------- */

typedef struct stamp {
    uint64_t begin, end;
} stamp;

/* When each step of the plan was done in the last run with all its steps; where there is none, one tick per step, in their order. */
static void stamps_find(const maker *m, stamp *stamps)
{
    const assay_plan  *plan = m->r->instance->plan;
    const assay_trace *t = m->t;
    uint64_t           at = t->n_samples ? t->samples[t->n_samples - 1].end_ticks : 0;
    size_t             last = t->n_spans;
    for (size_t i = t->n_spans; i-- > 0 && last == t->n_spans;)
        if (t->spans[i].kind == AS_SPAN_STEP)
            last = i;
    for (int s = 0; s < plan->n_steps; s++)
        stamps[s] = (stamp){UINT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < t->n_spans && last < t->n_spans; i++) {
        const as_span *s = &t->spans[i];
        if (s->kind == AS_SPAN_STEP && s->run == t->spans[last].run && s->step >= 0 && s->step < plan->n_steps) {
            stamps[s->step] = (stamp){s->begin_ticks, s->end_ticks};
            at = s->begin_ticks < at || at == 0 ? s->begin_ticks : at;
        }
    }
    for (int s = 0; s < plan->n_steps; s++) { /* the set-up is not in such a run: it lies at its beginning */
        if (stamps[s].begin == UINT64_MAX) {
            bool none = last == t->n_spans;
            stamps[s] = (stamp){at + none, at + none};
        }
        stamps[s].begin = stamps[s].begin < at ? at : stamps[s].begin;
        stamps[s].end = stamps[s].end < stamps[s].begin ? stamps[s].begin : stamps[s].end;
        at = stamps[s].end;
    }
}

static void inside_add(maker *m, const stamp *stamps)
{
    const assay_plan *plan = m->r->instance->plan;
    int               end = plan->n_steps ? plan->n_steps - 1 : 0;
    for (int i = 0; i < plan->n_buffers; i++) {
        const as_buffer *b = &plan->buffers[i];
        if (b->outside || b->alias_of >= 0 || !b->bytes || !m->r->taken[b->device])
            continue;
        uint16_t        place = place_of(m, plan->devices[b->device]->name, AS_PLACE_INSIDE);
        as_memory_event e = {.ticks = plan->n_steps ? stamps[b->first].begin : 0,
                             .id = b->offset,
                             .bytes = b->bytes,
                             .stack = owner_of(m, i),
                             .place = place,
                             .to = place,
                             .zero = (uint32_t)(2 * b->first)};
        event_add(m, &e);
        e.kind = AS_MEMORY_FREE;
        e.ticks = plan->n_steps ? stamps[b->last < end ? b->last : end].end : 0;
        e.zero = (uint32_t)(2 * b->last + 1);
        event_add(m, &e);
    }
}

/* By time; at the same moment by step, what begins before what ends there. */
static int by_time(const void *a, const void *b)
{
    const as_memory_event *x = a, *y = b;
    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return x->zero != y->zero ? (x->zero < y->zero ? -1 : 1) : x->id < y->id ? -1 : x->id > y->id;
}

bool as_runner_record_memory(as_runner *r, uint64_t freed)
{
    const assay_plan *plan = r->instance->plan;
    maker             m = {.r = r, .t = r->trace};
    stamp            *stamps = calloc((size_t)plan->n_steps + 1, sizeof *stamps);
    bool              ok = stamps && r->taken && as_trace_add_place(r->trace, plan->devices[0]->name) >= 0;
    if (ok && !r->trace->n_lanes)
        ok = as_trace_add_lane(r->trace, &(as_trace_lane){.name = "run", .pid = r->trace->origin.pid}) >= 0;
    if (ok) {
        weights_add(&m);
        arenas_add(&m, freed);
        transfers_add(&m);
        stamps_find(&m, stamps);
        inside_add(&m, stamps);
        ok = !m.all.failed && as_trace_reserve_code(r->trace, 0, m.all.n);
    }
    if (ok && m.all.n)
        qsort(m.all.events, m.all.n, sizeof *m.all.events, by_time);
    for (size_t i = 0; ok && i < m.all.n; i++) {
        m.all.events[i].zero = 0; /* it held the order */
        ok = as_trace_add_memory_event(r->trace, &m.all.events[i]);
    }
    free(m.all.events);
    free(stamps);
    return ok;
}
