/* replay.c - lifetimes placed again. */
#include "analysis/memory/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/place.h"

/* --- The buffers of a plan ------------------------------------------------------------------------------------ */

static bool is_in_arena(const as_trace_buffer *b) { return b->align && b->bytes; }

static bool is_of_items(const as_trace_buffer *b)
{
    return !strcmp(b->role, "input") || !strcmp(b->role, "output") || !strcmp(b->role, "activation");
}

/* The earlier buffer that it follows in memory, or -1. */
static int before(const assay_trace *t, size_t i)
{
    int at = t->buffers[i].shares - 1;
    return at >= 0 && (size_t)at < i ? at : -1;
}

void as_plan_memory_read(const assay_trace *t, as_plan_memory *out)
{
    *out = (as_plan_memory){.known = false};
    for (size_t i = 0; i < t->n_buffers; i++) {
        const as_trace_buffer *b = &t->buffers[i];
        bool                   first = true;
        out->known |= b->align > 0;
        if (b->in_place && before(t, i) >= 0)
            (*(b->bytes ? &out->n_could : &out->n_taken))++;
        if (!is_in_arena(b))
            continue;
        out->n_buffers++;
        out->scaled += is_of_items(b) ? b->bytes : 0;
        uint64_t end = 0;
        for (size_t k = 0; k < t->n_buffers; k++) {
            const as_trace_buffer *o = &t->buffers[k];
            if (!is_in_arena(o) || strcmp(o->device, b->device))
                continue;
            first = first && k >= i;
            end = o->offset + o->bytes > end ? o->offset + o->bytes : end;
        }
        if (first)
            out->actual += end, out->n_arenas++;
    }
}

/* One buffer as it would be: bytes 0 where it lies in another's memory. */
typedef struct piece {
    uint64_t bytes;
    int      first, last;
    int      root;
} piece;

/* Undoes what overwrites: each has its own bytes again, and what it overwrote ends where it was overwritten. */
static void in_place_undo(const assay_trace *t, piece *pieces)
{
    for (size_t i = 0; i < t->n_buffers; i++) {
        int at = before(t, i);
        if (at < 0)
            continue;
        if (t->buffers[i].in_place && !t->buffers[i].bytes) {
            pieces[i].bytes = t->buffers[i].full_bytes;
            pieces[i].root = (int)i;
            pieces[pieces[at].root].last = pieces[pieces[at].root].first; /* it is told anew by its readers, below */
        } else if (!t->buffers[i].in_place) {
            pieces[i].root = pieces[at].root; /* a view of one that has memory again */
        }
    }
    for (size_t i = t->n_buffers; i-- > 0;) {
        int at = before(t, i), until = t->buffers[i].in_place ? pieces[i].first : pieces[i].last;
        if (at < 0 || t->buffers[i].bytes)
            continue;
        pieces[at].last = pieces[at].last > until ? pieces[at].last : until;
        piece *root = &pieces[pieces[at].root];
        root->last = root->last > until ? root->last : until;
    }
}

/* Whatever could overwrite does. */
static void in_place_do(const assay_trace *t, piece *pieces)
{
    for (size_t i = 0; i < t->n_buffers; i++) {
        int at = before(t, i);
        if (at < 0)
            continue;
        pieces[i].root = pieces[at].root;
        if (!t->buffers[i].in_place || !t->buffers[i].bytes)
            continue;
        piece *root = &pieces[pieces[at].root];
        pieces[i].bytes = 0;
        root->last = root->last > pieces[i].last ? root->last : pieces[i].last;
    }
}

static bool device_place(assay_env *env, const assay_trace *t, const char *device, const piece *pieces, const as_replay *how,
                         as_place_item *items, uint64_t *out)
{
    size_t n = 0, align = 1;
    int    end = t->n_steps ? (int)t->n_steps - 1 : 0;
    for (size_t i = 0; i < t->n_buffers; i++) {
        const as_trace_buffer *b = &t->buffers[i];
        if (strcmp(b->device, device) || !pieces[i].bytes)
            continue;
        align = b->align > align ? (size_t)b->align : align;
        int first = how->no_reuse || how->eager || pieces[i].first < 0 ? 0 : pieces[i].first;
        int last = how->no_reuse || how->late ? end : pieces[i].last < first ? first : pieces[i].last;
        items[n++] = (as_place_item){.bytes = (size_t)pieces[i].bytes, .first = first, .last = last};
    }
    return as_place(env, items, n, align, out) == ASSAY_OK;
}

bool as_replay_plan(assay_env *env, const assay_trace *t, const as_replay *how, uint64_t *out)
{
    piece         *pieces = calloc(t->n_buffers + 1, sizeof *pieces);
    as_place_item *items = calloc(t->n_buffers + 1, sizeof *items);
    bool           ok = pieces && items;
    uint64_t       sum = 0, bytes;
    for (size_t i = 0; ok && i < t->n_buffers; i++) {
        const as_trace_buffer *b = &t->buffers[i];
        pieces[i] = (piece){is_in_arena(b) ? b->bytes : 0, b->first_step, b->last_step, (int)i};
        if (!b->bytes && before(t, i) >= 0)
            pieces[i].root = pieces[before(t, i)].root;
    }
    if (ok && how->in_place == AS_IN_PLACE_NONE)
        in_place_undo(t, pieces);
    if (ok && how->in_place == AS_IN_PLACE_ALL)
        in_place_do(t, pieces);
    for (size_t i = 0; ok && i < t->n_buffers && how->batch_from; i++)
        if (is_of_items(&t->buffers[i]) && pieces[i].bytes % how->batch_from == 0)
            pieces[i].bytes = pieces[i].bytes / how->batch_from * how->batch_to;
    for (size_t i = 0; ok && i < t->n_buffers; i++) { /* each device once, at its first buffer */
        bool first = is_in_arena(&t->buffers[i]);
        for (size_t k = 0; first && k < i; k++)
            first = !is_in_arena(&t->buffers[k]) || strcmp(t->buffers[k].device, t->buffers[i].device);
        if (!first)
            continue;
        ok = device_place(env, t, t->buffers[i].device, pieces, how, items, &bytes);
        sum += ok ? bytes : 0;
    }
    free(pieces);
    free(items);
    if (ok)
        *out = sum;
    return ok;
}

/* --- Blocks of any program -------------------------------------------------------------------------------------- */

static bool is_outer(const as_lives *l, const as_life *life) { return !l->places[life->place].inside; }

static void change_add(as_use_change *c, size_t *n, uint32_t from, uint32_t to, uint64_t bytes)
{
    c[(*n)++] = (as_use_change){from, (int64_t)bytes};
    if (to != AS_NOT_YET)
        c[(*n)++] = (as_use_change){to, -(int64_t)bytes};
}

bool as_replay_use(const as_lives *l, as_arena *arena, bool lazy, bool early, as_replayed *out)
{
    as_use_change *c = AS_TAKE(arena, as_use_change, 2 * l->n);
    size_t         n = 0;
    *out = (as_replayed){0};
    if (!c)
        return false;
    for (size_t i = 0; i < l->n; i++) {
        const as_life *life = &l->all[i];
        if (!is_outer(l, life))
            continue;
        bool     used = life->first_use != AS_NOT_YET;
        uint32_t from = lazy && used ? life->first_use : life->born, to = early && used ? life->last_use + 1 : life->died;
        out->n_blocks += used && (from > life->born || to < life->died);
        change_add(c, &n, from, to < life->died ? to : life->died, life->bytes);
    }
    out->peak = as_use_peak(c, n);
    return true;
}

static int by_death(const void *a, const void *b)
{
    const as_life *x = *(const as_life *const *)a, *y = *(const as_life *const *)b;
    return x->died < y->died ? -1 : x->died > y->died;
}

bool as_replay_in_place(const as_lives *l, as_arena *arena, as_replayed *out)
{
    const as_life **dead = AS_TAKE(arena, const as_life *, l->n);
    as_use_change  *c = AS_TAKE(arena, as_use_change, 2 * l->n);
    size_t          n = 0, n_dead = 0, d = 0;
    *out = (as_replayed){0};
    if (!dead || !c)
        return false;
    for (size_t i = 0; i < l->n; i++)
        if (is_outer(l, &l->all[i]) && l->all[i].died != AS_NOT_YET)
            dead[n_dead++] = &l->all[i];
    if (n_dead)
        qsort(dead, n_dead, sizeof *dead, by_death);
    for (size_t i = 0; i < l->n; i++) { /* lives are in the order of their birth */
        const as_life *b = &l->all[i];
        if (!is_outer(l, b))
            continue;
        while (d < n_dead && dead[d]->died <= b->born)
            d++;
        const as_life *a = d < n_dead ? dead[d] : NULL;
        uint32_t       next = b->born + 1; /* copies between the two are the operation itself */
        while (next < l->t->n_memory_events &&
               (l->t->memory_events[next].kind == AS_MEMORY_COPY || l->t->memory_events[next].kind == AS_MEMORY_TRANSFER))
            next++;
        bool takes =
            a && a != b && a->died == next && a->bytes == b->bytes && a->place == b->place && a->born < b->born && !b->grown;
        out->n_blocks += takes;
        change_add(c, &n, takes ? next : b->born, b->died, b->bytes);
    }
    out->n_saved = out->n_blocks;
    out->peak = as_use_peak(c, n);
    return true;
}

/* 4 sizes per power of two: at most a quarter more than asked for. */
static uint64_t class_bytes(uint64_t bytes)
{
    uint64_t step = 1;
    while (step * 8 <= bytes)
        step *= 2;
    return (bytes + step - 1) / step * step;
}

typedef struct pooled {
    uint32_t event;
    bool     ends;
    uint16_t place;
    uint64_t bytes;
} pooled;

static int by_moment(const void *a, const void *b)
{
    const pooled *x = a, *y = b;
    return x->event != y->event ? (x->event < y->event ? -1 : 1) : x->ends < y->ends ? 1 : x->ends > y->ends ? -1 : 0;
}

bool as_replay_pool(const as_lives *l, as_arena *arena, as_replayed *out)
{
    enum { SHELVES = 4096 };
    struct shelf {
        uint64_t bytes, n;
        int      place;
    } *shelves = AS_TAKE(arena, struct shelf, SHELVES);
    pooled *moments = AS_TAKE(arena, pooled, 2 * l->n);
    size_t  n = 0, n_shelves = 0;
    *out = (as_replayed){0};
    if (!shelves || !moments)
        return false;
    for (size_t i = 0; i < l->n; i++) {
        const as_life *life = &l->all[i];
        if (!is_outer(l, life))
            continue;
        moments[n++] = (pooled){life->born, false, life->place, class_bytes(life->bytes)};
        if (life->died != AS_NOT_YET)
            moments[n++] = (pooled){life->died, true, life->place, class_bytes(life->bytes)};
    }
    if (n)
        qsort(moments, n, sizeof *moments, by_moment);
    for (size_t i = 0; i < n; i++) {
        const pooled *m = &moments[i];
        size_t        s = 0;
        while (s < n_shelves && (shelves[s].bytes != m->bytes || shelves[s].place != m->place))
            s++;
        if (s == n_shelves) {
            if (s == SHELVES) /* so many different sizes: a pool is of no use */
                return true;
            shelves[n_shelves++] = (struct shelf){.bytes = m->bytes, .place = m->place};
        }
        if (m->ends) {
            shelves[s].n++;
            continue;
        }
        out->n_blocks++;
        if (shelves[s].n) {
            shelves[s].n--;
            out->n_saved++;
        } else {
            out->peak += m->bytes; /* a pool gives nothing back */
        }
    }
    return true;
}

bool as_replay_arena(assay_env *env, const as_lives *l, as_arena *arena, as_replayed *out)
{
    enum { MOST = 4096 };
    as_place_item *items = AS_TAKE(arena, as_place_item, l->n);
    size_t         n = 0;
    *out = (as_replayed){0};
    if (!items)
        return false;
    for (size_t i = 0; i < l->n; i++) {
        const as_life *life = &l->all[i];
        if (!is_outer(l, life))
            continue;
        out->n_saved += !life->grown;
        if (life->bytes && life->born < INT32_MAX)
            items[n++] = (as_place_item){.bytes = (size_t)life->bytes,
                                         .first = (int)life->born,
                                         .last = life->died == AS_NOT_YET ? INT32_MAX : (int)life->died - 1};
    }
    if (!n || n > MOST) {
        *out = (as_replayed){0};
        return true;
    }
    bool ok = as_place(env, items, n, 64, &out->peak) == ASSAY_OK;
    out->n_blocks = n;
    out->n_saved -= out->n_saved > 0; /* the arena's own */
    return ok;
}
