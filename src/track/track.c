/* track.c - memory of the user's own code: every thread writes events of its own, and what is in use is known at every moment.
 *
 * A call takes one lock of 64, that of the block's number, stamps, and writes 48 bytes into a chunk that only its thread writes.  Chunks
 * are bounded: when none is left, the record ends there, and every thread's events up to that moment stay.  The sums go on. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "base/stats.h"
#include "trace/trace.h"

enum {
    N_SHARDS = 64,
    CHUNK_EVENTS = 1024,
    MAX_PLACES = 64,
    MAX_DEPTH = 64,
    MAX_NODES = 1 << 16, /* names of a thread, with their callers */
    MAX_MARKS = 1 << 20,
    COST_BATCHES = 15,
    COST_PAIRS = 256
};

/* A block in use. */
typedef struct block {
    uint64_t id, bytes;
    uint32_t place; /* number + 1; 0: the slot is free */
} block;

typedef struct shard {
    _Alignas(64) pthread_mutex_t lock;
    block   *slots;
    size_t   n_slots, n;
    uint64_t last_ticks; /* events of a block never have the same tick */
    uint64_t allocated, freed, n_allocs, n_frees, n_odd;
} shard;

typedef struct node {
    const char *name;
    int32_t     parent;
    uint32_t    hash;
} node;

typedef struct chunk {
    struct chunk   *next;
    uint32_t        n;
    as_memory_event events[CHUNK_EVENTS];
} chunk;

/* What one thread has written; only it writes there. */
typedef struct lane {
    struct lane *next;
    uint32_t     number;
    chunk       *first, *last;
    uint64_t     lost;
    as_arena     arena; /* names */
    node        *nodes;
    uint32_t    *slots; /* node + 1 by hash; 0: free */
    uint32_t     n_nodes, n_slots;
    int32_t      stack[MAX_DEPTH];
    int          depth;
} lane;

struct assay_tracker {
    const as_clock  *clock;
    assay_trace     *trace;
    pthread_key_t    key;
    pthread_mutex_t  lock; /* of lanes, places and marks */
    lane            *lanes;
    uint32_t         n_lanes;
    const char      *places[MAX_PLACES];
    _Atomic uint32_t n_places;
    uint64_t         marks_cap, n_marks, *marks;
    _Atomic int64_t  chunks_left;
    _Atomic uint64_t full_ticks; /* when the record ended; UINT64_MAX: it goes on */
    _Atomic uint64_t live, peak;
    shard            shards[N_SHARDS];
};

static uint64_t ticks_now(const assay_tracker *t) { return as_clock_now(t->clock) - t->trace->start_ticks; }

/* --- Threads ------------------------------------------------------------------------------------------------ */

static lane *lane_new(assay_tracker *t)
{
    lane *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    pthread_mutex_lock(&t->lock);
    l->number = t->n_lanes++;
    l->next = t->lanes;
    t->lanes = l;
    pthread_mutex_unlock(&t->lock);
    pthread_setspecific(t->key, l);
    return l;
}

static lane *lane_of(assay_tracker *t)
{
    lane *l = pthread_getspecific(t->key);
    return l ? l : lane_new(t);
}

/* --- Names --------------------------------------------------------------------------------------------------- */

static uint32_t name_hash(const char *name, int32_t parent)
{
    uint32_t h = 2166136261u ^ (uint32_t)parent;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h ^ h >> 15;
}

static bool nodes_grow(lane *l)
{
    uint32_t  n_slots = l->n_slots ? 2 * l->n_slots : 64;
    uint32_t *slots = AS_TAKE(&l->arena, uint32_t, n_slots);
    node     *nodes = AS_TAKE(&l->arena, node, n_slots / 2);
    if (!slots || !nodes || n_slots / 2 > MAX_NODES)
        return false;
    if (l->n_nodes)
        memcpy(nodes, l->nodes, l->n_nodes * sizeof *nodes);
    for (uint32_t i = 0; i < l->n_nodes; i++) {
        uint32_t at = nodes[i].hash & (n_slots - 1);
        while (slots[at])
            at = (at + 1) & (n_slots - 1);
        slots[at] = i + 1;
    }
    l->nodes = nodes, l->slots = slots, l->n_slots = n_slots;
    return true;
}

/* The stack of this name called from that one; -1: there are too many names, or no memory. */
static int32_t node_of(lane *l, int32_t parent, const char *name)
{
    uint32_t hash = name_hash(name, parent), at;
    for (at = hash & (l->n_slots - 1); l->n_slots && l->slots[at]; at = (at + 1) & (l->n_slots - 1)) {
        const node *n = &l->nodes[l->slots[at] - 1];
        if (n->hash == hash && n->parent == parent && !strcmp(n->name, name))
            return (int32_t)l->slots[at] - 1;
    }
    if (l->n_nodes == l->n_slots / 2 && !nodes_grow(l))
        return -1;
    const char *kept = as_arena_text(&l->arena, name);
    if (!kept)
        return -1;
    for (at = hash & (l->n_slots - 1); l->slots[at];)
        at = (at + 1) & (l->n_slots - 1);
    l->nodes[l->n_nodes] = (node){kept, parent, hash};
    l->slots[at] = ++l->n_nodes;
    return (int32_t)l->n_nodes - 1;
}

static int32_t stack_now(const lane *l)
{
    int depth = l->depth < MAX_DEPTH ? l->depth : MAX_DEPTH;
    return depth ? l->stack[depth - 1] : -1;
}

/* Places are few and stay: who looks one up needs no lock. */
static uint32_t place_of(assay_tracker *t, const char *name)
{
    const char *want = name && *name ? name : "host";
    uint32_t    n = atomic_load_explicit(&t->n_places, memory_order_acquire), i = 0;
    for (; i < n; i++)
        if (t->places[i] == want || !strcmp(t->places[i], want))
            return i;
    pthread_mutex_lock(&t->lock);
    n = atomic_load_explicit(&t->n_places, memory_order_relaxed);
    while (i < n && strcmp(t->places[i], want))
        i++;
    if (i == n) {
        const char *kept = n < MAX_PLACES ? as_trace_keep(t->trace, want) : NULL;
        if (kept) {
            t->places[n] = kept;
            atomic_store_explicit(&t->n_places, n + 1, memory_order_release);
        } else {
            i = 0; /* so many devices: they count with the first */
        }
    }
    pthread_mutex_unlock(&t->lock);
    return i;
}

/* --- Blocks -------------------------------------------------------------------------------------------------- */

static uint64_t id_hash(uint64_t id)
{
    uint64_t h = (id ^ id >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static size_t slot_of(const shard *s, uint64_t id)
{
    size_t at = (size_t)(id_hash(id) >> 6) & (s->n_slots - 1);
    while (s->slots[at].place && s->slots[at].id != id)
        at = (at + 1) & (s->n_slots - 1);
    return at;
}

static bool shard_grow(shard *s)
{
    shard more = {.n_slots = s->n_slots ? 2 * s->n_slots : 64};
    more.slots = calloc(more.n_slots, sizeof *more.slots);
    if (!more.slots)
        return false;
    for (size_t i = 0; i < s->n_slots; i++)
        if (s->slots[i].place)
            more.slots[slot_of(&more, s->slots[i].id)] = s->slots[i];
    free(s->slots);
    s->slots = more.slots;
    s->n_slots = more.n_slots;
    return true;
}

static block *block_find(const shard *s, uint64_t id)
{
    block *b = s->n_slots ? &s->slots[slot_of(s, id)] : NULL;
    return b && b->place ? b : NULL;
}

/* The slots behind it move up, so that a search never ends too early. */
static void block_drop(shard *s, block *b)
{
    size_t hole = (size_t)(b - s->slots), mask = s->n_slots - 1;
    for (size_t at = (hole + 1) & mask; s->slots[at].place; at = (at + 1) & mask) {
        size_t home = (size_t)(id_hash(s->slots[at].id) >> 6) & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            s->slots[hole] = s->slots[at];
            hole = at;
        }
    }
    s->slots[hole].place = 0;
    s->n--;
}

static void live_up(assay_tracker *t, uint64_t bytes)
{
    uint64_t live = atomic_fetch_add(&t->live, bytes) + bytes, peak = atomic_load(&t->peak);
    while (live > peak && !atomic_compare_exchange_weak(&t->peak, &peak, live))
        ;
}

/* --- Events --------------------------------------------------------------------------------------------------- */

/* A place for one event; NULL: the record is full, and this thread has told since when. */
static as_memory_event *event_new(assay_tracker *t, lane *l, uint64_t ticks)
{
    if (!l->last || l->last->n == CHUNK_EVENTS) {
        bool   room = atomic_fetch_sub(&t->chunks_left, 1) > 0;
        chunk *c = room ? malloc(sizeof *c) : NULL;
        if (!c) {
            uint64_t full = atomic_load(&t->full_ticks);
            while (ticks < full && !atomic_compare_exchange_weak(&t->full_ticks, &full, ticks))
                ;
            l->lost++;
            return NULL;
        }
        c->next = NULL;
        c->n = 0;
        *(l->last ? &l->last->next : &l->first) = c;
        l->last = c;
    }
    return &l->last->events[l->last->n++];
}

static void event_write(assay_tracker *t, lane *l, const as_memory_event *event)
{
    if (atomic_load_explicit(&t->full_ticks, memory_order_relaxed) != UINT64_MAX) {
        l->lost++;
        return;
    }
    as_memory_event *e = event_new(t, l, event->ticks);
    if (e)
        *e = *event;
}

typedef struct wish {
    as_memory_kind kind;
    uint64_t       id, bytes, took_ns;
    const char    *owner, *device;
} wish;

static uint64_t ticks_of(const assay_tracker *t, uint64_t ns) { return (uint64_t)((double)ns / t->clock->ns_per_tick + 0.5); }

/* The sums and the table of one block; its place as the event has it. */
static void block_change(assay_tracker *t, shard *s, const wish *w, uint32_t place, as_memory_event *e)
{
    block   *b = block_find(s, w->id);
    uint64_t was = b ? b->bytes : 0;
    e->place = e->to = (uint16_t)(b && w->kind != AS_MEMORY_ALLOC ? b->place - 1 : place);
    switch (w->kind) {
    case AS_MEMORY_ALLOC:
        s->n_odd += b != NULL; /* nobody told that it was freed */
        s->n_allocs++;
        s->allocated += w->bytes;
        s->freed += was;
        if (!b && 2 * (s->n + 1) > s->n_slots && !shard_grow(s))
            return; /* its free will be odd; the sum of what was allocated is right */
        if (!b) {
            b = &s->slots[slot_of(s, w->id)];
            s->n++;
        }
        *b = (block){w->id, w->bytes, place + 1};
        atomic_fetch_sub(&t->live, was);
        live_up(t, w->bytes);
        break;
    case AS_MEMORY_FREE:
        s->n_frees++;
        if (!b) {
            s->n_odd++;
            break;
        }
        e->bytes = was;
        s->freed += was;
        atomic_fetch_sub(&t->live, was);
        block_drop(s, b);
        break;
    case AS_MEMORY_RESIZE:
        if (!b) {
            s->n_odd++;
            break;
        }
        b->bytes = w->bytes;
        s->allocated += w->bytes > was ? w->bytes - was : 0;
        s->freed += was > w->bytes ? was - w->bytes : 0;
        atomic_fetch_sub(&t->live, was);
        live_up(t, w->bytes);
        break;
    case AS_MEMORY_TRANSFER: e->to = (uint16_t)place; break;
    case AS_MEMORY_COPY:
    case AS_N_MEMORY_KINDS: break;
    }
}

static void track(assay_tracker *t, const wish *w)
{
    lane *l = t ? lane_of(t) : NULL;
    if (!l)
        return;
    bool            named = w->kind == AS_MEMORY_ALLOC || w->kind == AS_MEMORY_TRANSFER;
    uint32_t        place = named ? place_of(t, w->device) : 0;
    int32_t         stack = stack_now(l);
    shard          *s = &t->shards[id_hash(w->id) & (N_SHARDS - 1)];
    as_memory_event e = {.id = w->id, .bytes = w->bytes, .took_ticks = w->took_ns ? ticks_of(t, w->took_ns) : 0};
    if (w->owner)
        stack = node_of(l, stack, w->owner);
    e.stack = stack < 0 || w->kind == AS_MEMORY_FREE || w->kind == AS_MEMORY_RESIZE ? AS_NO_STACK : (uint32_t)stack;
    e.kind = (uint16_t)w->kind;
    e.lane = (uint16_t)(l->number < UINT16_MAX ? l->number : UINT16_MAX);
    pthread_mutex_lock(&s->lock);
    uint64_t now = ticks_now(t);
    s->last_ticks = e.ticks = now > s->last_ticks ? now : s->last_ticks + 1;
    block_change(t, s, w, place, &e);
    pthread_mutex_unlock(&s->lock);
    if (e.took_ticks) /* it began before it was told */
        e.ticks = e.ticks > e.took_ticks ? e.ticks - e.took_ticks : 0;
    event_write(t, l, &e);
}

void assay_track_alloc(assay_tracker *tracker, uint64_t id, uint64_t bytes, const char *owner, const char *device)
{
    track(tracker, &(wish){.kind = AS_MEMORY_ALLOC, .id = id, .bytes = bytes, .owner = owner ? owner : "", .device = device});
}

void assay_track_free(assay_tracker *tracker, uint64_t id) { track(tracker, &(wish){.kind = AS_MEMORY_FREE, .id = id}); }

void assay_track_resize(assay_tracker *tracker, uint64_t id, uint64_t bytes)
{
    track(tracker, &(wish){.kind = AS_MEMORY_RESIZE, .id = id, .bytes = bytes});
}

void assay_track_copy(assay_tracker *tracker, uint64_t id, uint64_t bytes, uint64_t took_ns)
{
    track(tracker, &(wish){.kind = AS_MEMORY_COPY, .id = id, .bytes = bytes, .took_ns = took_ns});
}

void assay_track_transfer(assay_tracker *tracker, uint64_t id, uint64_t bytes, const char *to, uint64_t took_ns)
{
    track(tracker, &(wish){.kind = AS_MEMORY_TRANSFER, .id = id, .bytes = bytes, .device = to, .took_ns = took_ns});
}

void assay_track_enter(assay_tracker *tracker, const char *operation)
{
    lane *l = tracker ? lane_of(tracker) : NULL;
    if (!l)
        return;
    if (l->depth < MAX_DEPTH) {
        int32_t around = stack_now(l), at = node_of(l, around, operation ? operation : "");
        l->stack[l->depth] = at < 0 ? around : at;
    }
    l->depth++;
}

void assay_track_leave(assay_tracker *tracker)
{
    lane *l = tracker ? lane_of(tracker) : NULL;
    if (l && l->depth > 0)
        l->depth--;
}

void assay_track_iteration(assay_tracker *tracker)
{
    if (!tracker)
        return;
    pthread_mutex_lock(&tracker->lock);
    if (tracker->n_marks == tracker->marks_cap && tracker->marks_cap < MAX_MARKS) {
        uint64_t  cap = tracker->marks_cap ? 2 * tracker->marks_cap : 256;
        uint64_t *more = realloc(tracker->marks, cap * sizeof *more);
        if (more)
            tracker->marks = more, tracker->marks_cap = cap;
    }
    if (tracker->n_marks < tracker->marks_cap)
        tracker->marks[tracker->n_marks++] = ticks_now(tracker);
    pthread_mutex_unlock(&tracker->lock);
}

/* --- From the beginning to the end ------------------------------------------------------------------------------ */

static void lanes_drop(assay_tracker *t)
{
    for (lane *l = t->lanes, *next; l; l = next) {
        next = l->next;
        for (chunk *c = l->first, *after; c; c = after) {
            after = c->next;
            free(c);
        }
        as_arena_drop(&l->arena);
        free(l);
    }
}

static void tracker_drop(assay_tracker *t)
{
    for (int i = 0; i < N_SHARDS; i++) {
        pthread_mutex_destroy(&t->shards[i].lock);
        free(t->shards[i].slots);
    }
    pthread_mutex_destroy(&t->lock);
    pthread_key_delete(t->key);
    lanes_drop(t);
    assay_trace_free(t->trace);
    free(t->marks);
    free(t);
}

static assay_status tracker_new(assay_env *env, uint64_t max_events, assay_tracker **out)
{
    assay_tracker *t = NULL;
    if (posix_memalign((void **)&t, 64, sizeof *t))
        return as_fail(env, ASSAY_NO_MEMORY, "tracker: not enough memory for one");
    memset(t, 0, sizeof *t);
    if (pthread_key_create(&t->key, NULL)) {
        free(t);
        return as_fail(env, ASSAY_NO_MEMORY, "tracker: the process has too many thread keys");
    }
    pthread_mutex_init(&t->lock, NULL);
    for (int i = 0; i < N_SHARDS; i++)
        pthread_mutex_init(&t->shards[i].lock, NULL);
    t->clock = &env->clock;
    atomic_init(&t->full_ticks, UINT64_MAX);
    atomic_init(&t->chunks_left, (int64_t)((max_events + CHUNK_EVENTS - 1) / CHUNK_EVENTS));
    assay_status status = as_trace_new(env, &t->trace);
    if (status != ASSAY_OK) {
        t->trace = NULL;
        tracker_drop(t);
        return status;
    }
    place_of(t, "host");
    *out = t;
    return ASSAY_OK;
}

assay_status assay_tracker_new(assay_env *env, const assay_options *options, assay_tracker **out)
{
    static const char *const keys[] = {"max-events", NULL};
    if (options)
        AS_TRY(as_options_only(env, options, "assay_tracker_new", keys));
    return tracker_new(env, (uint64_t)as_options_int(options, "max-events"), out);
}

/* One call, by pairs of alloc and free on a tracker of its own; NaN where the clock does not move. */
static double cost_measure(assay_env *env)
{
    assay_tracker *t;
    double         batches[COST_BATCHES], scratch[COST_BATCHES];
    if (env->clock.kind == AS_CLOCK_FAKE || tracker_new(env, (uint64_t)4 * COST_BATCHES * COST_PAIRS, &t) != ASSAY_OK)
        return (double)NAN;
    for (int i = 0; i < COST_BATCHES; i++) {
        uint64_t begin = as_clock_now(t->clock);
        for (uint64_t k = 0; k < COST_PAIRS; k++) {
            assay_track_alloc(t, (k + 1) << 12, 4096, "conv1.weight", "host");
            assay_track_free(t, (k + 1) << 12);
        }
        batches[i] = as_clock_ns(t->clock, as_clock_now(t->clock) - begin) / (2 * COST_PAIRS);
    }
    tracker_drop(t);
    return as_median(batches, COST_BATCHES, scratch);
}

static int by_time(const void *a, const void *b)
{
    const as_memory_event *x = a, *y = b;
    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return x->zero < y->zero ? -1 : x->zero > y->zero;
}

/* The stacks of a thread as the trace numbers them; a node comes behind the one that called it. */
static bool stacks_add(const lane *l, assay_trace *trace, uint32_t *stacks)
{
    for (uint32_t i = 0; i < l->n_nodes; i++) {
        const node *n = &l->nodes[i];
        int         frame = as_trace_add_frame(trace, &(as_trace_frame){.name = n->name, .context = -1});
        int         stack = frame < 0 ? -1 : as_trace_add_stack(trace, n->parent < 0 ? -1 : (int)stacks[n->parent], frame);
        if (stack < 0)
            return false;
        stacks[i] = (uint32_t)stack;
    }
    return true;
}

static bool lane_add(const assay_tracker *t, const lane *l, uint64_t full, as_memory_event *events, size_t *n, uint64_t *lost)
{
    uint32_t *stacks = calloc((size_t)l->n_nodes + 1, sizeof *stacks);
    bool      ok = stacks && stacks_add(l, t->trace, stacks);
    *lost += l->lost;
    for (const chunk *c = l->first; ok && c; c = c->next)
        for (uint32_t i = 0; i < c->n; i++) {
            as_memory_event e = c->events[i];
            if (e.ticks >= full) {
                ++*lost;
                continue;
            }
            e.stack = e.stack == AS_NO_STACK ? AS_NO_STACK : stacks[e.stack];
            e.zero = (uint32_t)*n; /* keeps the order of a thread */
            events[(*n)++] = e;
        }
    free(stacks);
    return ok;
}

static bool events_add(assay_tracker *t)
{
    uint64_t         full = atomic_load(&t->full_ticks), lost = 0;
    size_t           n = 0, room = 0;
    bool             ok = true;
    as_memory_event *events;
    for (const lane *l = t->lanes; l; l = l->next)
        for (const chunk *c = l->first; c; c = c->next)
            room += c->n;
    events = malloc((room + 1) * sizeof *events);
    for (uint32_t i = 0; events && ok && i < t->n_lanes && i <= UINT16_MAX; i++) { /* lanes are numbered as they came */
        char name[32];
        snprintf(name, sizeof name, "thread %u", i + 1);
        ok = as_trace_add_lane(t->trace, &(as_trace_lane){.name = name, .pid = (uint32_t)getpid()}) >= 0;
    }
    for (uint32_t i = 0; events && ok && i < t->n_places; i++)
        ok = as_trace_add_place(t->trace, t->places[i]) == (int)i;
    for (const lane *l = t->lanes; events && ok && l; l = l->next)
        ok = lane_add(t, l, full, events, &n, &lost);
    ok = events && ok && as_trace_reserve_code(t->trace, 0, n);
    if (ok && n)
        qsort(events, n, sizeof *events, by_time);
    for (size_t i = 0; ok && i < n; i++) {
        events[i].zero = 0;
        ok = as_trace_add_memory_event(t->trace, &events[i]);
    }
    t->trace->memory_events_lost = lost;
    free(events);
    return ok;
}

static bool metric_add(assay_tracker *t, const char *name, const char *unit, double value)
{
    return as_trace_add_metric(t->trace, &(as_trace_metric){.name = name, .unit = unit, .ticks = ticks_now(t), .value = value});
}

/* Where all events are in the record, they say the same; where some are not, the sums are exact all the same. */
static bool sums_add(assay_tracker *t, uint64_t end_ticks, double cost_ns)
{
    shard all = {.n = 0};
    bool  ok = true;
    for (int i = 0; i < N_SHARDS; i++) {
        all.allocated += t->shards[i].allocated, all.freed += t->shards[i].freed;
        all.n_allocs += t->shards[i].n_allocs, all.n_frees += t->shards[i].n_frees;
    }
    if (t->trace->memory_events_lost)
        ok = metric_add(t, AS_METRIC_TRACKED_PEAK, "byte", (double)t->peak) &&
             metric_add(t, AS_METRIC_TRACKED_LIVE, "byte", (double)t->live) &&
             metric_add(t, AS_METRIC_TRACKED_ALLOCATED, "byte", (double)all.allocated) &&
             metric_add(t, AS_METRIC_TRACKED_FREED, "byte", (double)all.freed) &&
             metric_add(t, AS_METRIC_TRACKED_ALLOCS, "1", (double)all.n_allocs) &&
             metric_add(t, AS_METRIC_TRACKED_FREES, "1", (double)all.n_frees);
    if (cost_ns >= 0)
        ok = ok && metric_add(t, AS_METRIC_TRACKED_COST, "ns", cost_ns);
    return ok && metric_add(t, AS_METRIC_TRACKED_TIME, "ns", (double)end_ticks * t->clock->ns_per_tick);
}

assay_status assay_tracker_finish(assay_env *env, assay_tracker *tracker, assay_trace **out)
{
    uint64_t end = ticks_now(tracker);
    double   cost_ns = cost_measure(env);
    bool     ok = true;
    for (uint64_t i = 0; ok && i < tracker->n_marks; i++)
        ok = as_trace_add_mark(tracker->trace,
                               &(as_trace_mark){.name = AS_MARK_ITERATION, .ticks = tracker->marks[i], .ends = true});
    ok = ok && events_add(tracker) && sums_add(tracker, end, cost_ns);
    if (!ok) {
        tracker_drop(tracker);
        return as_fail(env, ASSAY_NO_MEMORY, "tracker: not enough memory for the trace of what was tracked");
    }
    tracker->trace->complete = true;
    *out = tracker->trace;
    tracker->trace = NULL;
    tracker_drop(tracker);
    return ASSAY_OK;
}

void assay_tracker_free(assay_tracker *tracker)
{
    if (tracker)
        tracker_drop(tracker);
}

uint64_t assay_tracker_usage(const assay_tracker *tracker) { return tracker ? atomic_load(&tracker->live) : 0; }
uint64_t assay_tracker_peak(const assay_tracker *tracker) { return tracker ? atomic_load(&tracker->peak) : 0; }
