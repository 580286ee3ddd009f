/* lives.c - from memory events to lives of blocks. */
#include "analysis/memory/lives.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES (UINT64_C(1) << 48) /* of a block: more than any machine has */

/* --- Which block an event means ----------------------------------------------------------------------------- */

typedef struct table {
    uint32_t *slots; /* number + 1 of the life that is open for this place and id; 0: free */
    size_t    n_slots;
} table;

static size_t hash_of(uint64_t id, uint16_t place)
{
    uint64_t h = (id + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)place * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (size_t)(h ^ h >> 29);
}

/* The slot of the newest life of this block, or the free one where it would be. */
static uint32_t *slot_find(const table *t, const as_life *lives, uint64_t id, uint16_t place)
{
    size_t at = hash_of(id, place) & (t->n_slots - 1);
    while (t->slots[at] && (lives[t->slots[at] - 1].id != id || lives[t->slots[at] - 1].place != place))
        at = (at + 1) & (t->n_slots - 1);
    return &t->slots[at];
}

static void count_up(as_lives *l, uint16_t place, uint64_t bytes, uint32_t event)
{
    as_place_count *p = &l->places[place];
    p->live += bytes;
    p->n_live++;
    if (p->live > p->peak)
        p->peak = p->live, p->n_peak = p->n_live, p->peak_event = event;
    if (p->inside)
        return;
    l->live += bytes;
    l->n_live++;
    if (l->live > l->peak)
        l->peak = l->live, l->n_peak = l->n_live, l->peak_event = event;
}

static void count_down(as_lives *l, uint16_t place, uint64_t bytes)
{
    as_place_count *p = &l->places[place];
    p->live -= bytes;
    p->n_live--;
    if (p->inside)
        return;
    l->live -= bytes;
    l->n_live--;
}

static void life_open(as_lives *l, uint32_t *slot, const as_memory_event *e, uint32_t event, uint32_t stack, bool grown)
{
    l->all[l->n] = (as_life){.id = e->id,
                             .bytes = e->bytes,
                             .born = event,
                             .died = AS_NOT_YET,
                             .stack = stack,
                             .place = e->place,
                             .lane = e->lane,
                             .first_use = AS_NOT_YET,
                             .last_use = AS_NOT_YET,
                             .grown = grown};
    *slot = (uint32_t)++l->n;
    count_up(l, e->place, e->bytes, event);
}

static void life_close(as_lives *l, as_life *life, uint32_t event)
{
    life->died = event;
    count_down(l, life->place, life->bytes);
}

static bool is_open(const as_lives *l, const uint32_t *slot) { return *slot && l->all[*slot - 1].died == AS_NOT_YET; }

static void event_read(as_lives *l, const table *blocks, const as_memory_event *e, uint32_t event)
{
    bool      moves = e->kind == AS_MEMORY_COPY || e->kind == AS_MEMORY_TRANSFER;
    uint32_t *slot = slot_find(blocks, l->all, e->id, e->place);
    as_life  *life = is_open(l, slot) ? &l->all[*slot - 1] : NULL;
    bool      outside = !l->places[e->place].inside;
    if (outside)
        l->counts[e->kind]++;
    if (moves) { /* it may be of a block that nobody told of */
        if (life) {
            life->first_use = life->first_use == AS_NOT_YET ? event : life->first_use;
            life->last_use = event;
            life->most_used = e->bytes > life->most_used ? e->bytes : life->most_used;
        }
        return;
    }
    if ((e->kind != AS_MEMORY_ALLOC && !life) || e->bytes > MOST_BYTES) {
        l->odd++;
        return;
    }
    uint64_t was = life ? life->bytes : 0;
    uint32_t stack = e->kind == AS_MEMORY_RESIZE && e->stack == AS_NO_STACK ? life->stack : e->stack;
    if (life) {
        l->odd += e->kind == AS_MEMORY_ALLOC; /* it was freed, and nobody told */
        life_close(l, life, event);
    }
    if (e->kind != AS_MEMORY_FREE)
        life_open(l, slot, e, event, stack, e->kind == AS_MEMORY_RESIZE);
    if (!outside)
        return;
    if (e->kind == AS_MEMORY_ALLOC) {
        l->allocated += e->bytes;
        l->freed += was;
    } else if (e->kind == AS_MEMORY_FREE) {
        l->freed += was;
    } else {
        l->allocated += e->bytes > was ? e->bytes - was : 0;
        l->freed += was > e->bytes ? was - e->bytes : 0;
    }
}

static void places_read(as_lives *l)
{
    const assay_trace *t = l->t;
    for (size_t i = 0; i < t->n_places; i++) {
        as_place_count *p = &l->places[i];
        p->inside = as_place_is_inside(t->places[i]);
        p->outer = -1;
        size_t n = strlen(t->places[i]) - (p->inside ? strlen(AS_PLACE_INSIDE) : 0);
        for (size_t k = 0; p->inside && k < t->n_places; k++)
            if (strlen(t->places[k]) == n && !memcmp(t->places[k], t->places[i], n)) {
                p->outer = (int)k;
                l->places[k].has_inside = true;
            }
    }
}

bool as_lives_read(const assay_trace *t, as_arena *arena, as_lives *out)
{
    size_t n = 0, n_slots = 64;
    for (size_t i = 0; i < t->n_memory_events; i++)
        n += t->memory_events[i].kind == AS_MEMORY_ALLOC || t->memory_events[i].kind == AS_MEMORY_RESIZE;
    while (n_slots < 2 * n)
        n_slots *= 2;
    as_lives l = {.t = t, .all = AS_TAKE(arena, as_life, n), .places = AS_TAKE(arena, as_place_count, t->n_places)};
    table    blocks = {calloc(n_slots, sizeof *blocks.slots), n_slots};
    bool     ok = l.all && l.places && blocks.slots && t->n_memory_events < AS_NOT_YET;
    if (ok)
        places_read(&l);
    for (size_t i = 0; ok && i < t->n_memory_events; i++) {
        const as_memory_event *e = &t->memory_events[i];
        if (e->place >= t->n_places || e->kind >= AS_N_MEMORY_KINDS) {
            l.odd++;
            continue;
        }
        l.first_ticks = !i || e->ticks < l.first_ticks ? e->ticks : l.first_ticks;
        uint64_t end = e->ticks + e->took_ticks;
        l.last_ticks = end >= e->ticks && end > l.last_ticks ? end : l.last_ticks;
        event_read(&l, &blocks, e, (uint32_t)i);
    }
    free(blocks.slots);
    if (ok)
        *out = l;
    return ok;
}

/* --- How much was in use ------------------------------------------------------------------------------------ */

double as_event_s(const as_lives *l, uint32_t event)
{
    uint64_t ticks = event < l->t->n_memory_events ? l->t->memory_events[event].ticks : l->last_ticks;
    return (double)(ticks - l->first_ticks) * l->t->ns_per_tick * 1e-9;
}

static int by_event(const void *a, const void *b)
{
    const as_use_change *x = a, *y = b;
    if (x->event != y->event)
        return x->event < y->event ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

uint64_t as_use_peak(as_use_change *changes, size_t n)
{
    int64_t live = 0, most = 0;
    if (n)
        qsort(changes, n, sizeof *changes, by_event);
    for (size_t i = 0; i < n; i++) {
        live += changes[i].bytes;
        most = live > most ? live : most;
    }
    return (uint64_t)most;
}

static bool is_of(const as_lives *l, const as_life *life, int place)
{
    return place < 0 ? !l->places[life->place].inside : life->place == place;
}

static size_t changes_of(const as_lives *l, int place, as_arena *arena, as_use_change **out)
{
    size_t         n = 0;
    as_use_change *c = AS_TAKE(arena, as_use_change, 2 * l->n);
    for (size_t i = 0; c && i < l->n; i++) {
        const as_life *life = &l->all[i];
        if (!is_of(l, life, place))
            continue;
        c[n++] = (as_use_change){life->born, (int64_t)life->bytes};
        if (life->died != AS_NOT_YET)
            c[n++] = (as_use_change){life->died, -(int64_t)life->bytes};
    }
    if (n)
        qsort(c, n, sizeof *c, by_event);
    *out = c;
    return n;
}

/* Each bucket of time gives its last and its highest level. */
size_t as_lives_course(const as_lives *l, int place, size_t max, as_arena *arena, double **x, double **y)
{
    as_use_change *c;
    size_t         n = changes_of(l, place, arena, &c), n_points = 0;
    *x = AS_TAKE(arena, double, max + 3);
    *y = AS_TAKE(arena, double, max + 3);
    if (!n || !c || !*x || !*y || max < 4)
        return 0;
    double  from = as_event_s(l, c[0].event), to = as_event_s(l, c[n - 1].event), width = (to - from) / (double)(max / 2);
    int64_t live = 0;
    for (size_t i = 0; i < n && n_points + 2 <= max + 2;) {
        double  at = as_event_s(l, c[i].event), until = width > 0 ? from + (double)((size_t)((at - from) / width) + 1) * width : to;
        int64_t most = -1;
        double  most_at = at, last_at = at;
        do {
            live += c[i].bytes;
            last_at = as_event_s(l, c[i].event);
            bool last_of_event = i + 1 == n || c[i + 1].event != c[i].event;
            if (last_of_event && live > most)
                most = live, most_at = last_at;
            i++;
        } while (i < n && as_event_s(l, c[i].event) < until);
        if (n_points < max + 2) {
            (*x)[n_points] = most_at;
            (*y)[n_points++] = (double)(most < 0 ? live : most);
        }
        if (live != most && n_points < max + 2) {
            (*x)[n_points] = last_at;
            (*y)[n_points++] = (double)live;
        }
    }
    return n_points;
}

double as_lives_mean(const as_lives *l, int place)
{
    double sum = 0, span = (double)(l->last_ticks - l->first_ticks);
    for (size_t i = 0; i < l->n; i++) {
        const as_life *life = &l->all[i];
        if (!is_of(l, life, place))
            continue;
        uint64_t begin = l->t->memory_events[life->born].ticks,
                 end = life->died == AS_NOT_YET ? l->last_ticks : l->t->memory_events[life->died].ticks;
        sum += end > begin ? (double)life->bytes * (double)(end - begin) : 0;
    }
    return span > 0 ? sum / span : (double)l->live;
}

/* --- Owners --------------------------------------------------------------------------------------------------- */

void as_owner_name(const assay_trace *t, uint32_t stack, as_owner *out)
{
    out->name = "(not known)", out->layer = out->role = "";
    if (stack >= t->n_stacks)
        return;
    const as_trace_stack *s = &t->stacks[stack];
    if (s->frame >= 0 && (size_t)s->frame < t->n_frames) {
        out->name = t->frames[s->frame].name;
        out->role = t->frames[s->frame].category;
    }
    if (s->parent < 0 || (size_t)s->parent >= t->n_stacks)
        return;
    int frame = t->stacks[s->parent].frame;
    if (frame >= 0 && (size_t)frame < t->n_frames)
        out->layer = t->frames[frame].name;
}

static int by_owner(const void *a, const void *b)
{
    const as_owner *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static int by_bytes(const void *a, const void *b)
{
    const as_owner *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return by_owner(a, b);
}

as_owner *as_owners_at_peak(const as_lives *l, as_arena *arena, size_t *n)
{
    size_t    n_places = l->t->n_places, n_found = 0, n_owners = 0;
    as_owner *found = AS_TAKE(arena, as_owner, l->n + n_places);
    uint64_t *around = AS_TAKE(arena, uint64_t, n_places), *within = AS_TAKE(arena, uint64_t, n_places);
    bool     *divided = AS_TAKE(arena, bool, n_places);
    if (!found || !around || !within || !divided)
        return NULL;
    for (size_t i = 0; i < l->n; i++)
        if (!l->places[l->all[i].place].inside && as_life_at(&l->all[i], l->peak_event))
            around[l->all[i].place] += l->all[i].bytes;
    for (size_t p = 0; p < n_places; p++) {
        int outer = l->places[p].outer;
        if (l->places[p].inside && outer >= 0 && l->places[p].peak <= around[outer])
            divided[p] = divided[outer] = true;
    }
    for (size_t i = 0; i < l->n; i++) {
        const as_life        *life = &l->all[i];
        const as_place_count *p = &l->places[life->place];
        if (p->inside != divided[life->place] || !as_life_at(life, p->inside ? p->peak_event : l->peak_event))
            continue;
        int place = p->inside ? p->outer : life->place;
        within[place] += p->inside ? life->bytes : 0;
        found[n_found++] = (as_owner){.stack = life->stack, .place = place, .bytes = life->bytes, .n_blocks = 1};
    }
    if (n_found)
        qsort(found, n_found, sizeof *found, by_owner);
    for (size_t i = 0; i < n_found; i++) {
        if (n_owners && !by_owner(&found[n_owners - 1], &found[i])) {
            found[n_owners - 1].bytes += found[i].bytes;
            found[n_owners - 1].n_blocks++;
        } else {
            found[n_owners++] = found[i];
        }
    }
    for (size_t i = 0; i < n_owners; i++)
        as_owner_name(l->t, found[i].stack, &found[i]);
    for (size_t p = 0; p < n_places; p++)
        if (!l->places[p].inside && divided[p] && around[p] > within[p])
            found[n_owners++] = (as_owner){.stack = AS_NO_STACK,
                                           .place = (int)p,
                                           .bytes = around[p] - within[p],
                                           .name = "(free in the arena then)",
                                           .layer = "",
                                           .role = "free"};
    if (n_owners)
        qsort(found, n_owners, sizeof *found, by_bytes);
    *n = n_owners;
    return found;
}

/* --- Holes ------------------------------------------------------------------------------------------------------ */

static int by_place(const void *a, const void *b)
{
    const as_life *x = *(const as_life *const *)a, *y = *(const as_life *const *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void hole_add(as_holes *h, uint64_t bytes)
{
    int size = 0;
    if (!bytes)
        return;
    while (size + 1 < AS_HOLE_SIZES && bytes >> (size + 1))
        size++;
    h->sizes[size]++;
    h->n++;
    h->free += bytes;
    h->largest = bytes > h->largest ? bytes : h->largest;
}

bool as_holes_at(const as_lives *l, int place, uint64_t total, uint32_t event, as_holes *out)
{
    const as_life **there = malloc((l->n + 1) * sizeof *there);
    size_t          n = 0;
    uint64_t        end = 0;
    *out = (as_holes){.total = total};
    if (!there)
        return false;
    for (size_t i = 0; i < l->n; i++)
        if (l->all[i].place == place && as_life_at(&l->all[i], event))
            there[n++] = &l->all[i];
    if (n)
        qsort(there, n, sizeof *there, by_place);
    for (size_t i = 0; i < n; i++) {
        uint64_t from = there[i]->id;
        hole_add(out, from > end && from <= total ? from - end : 0);
        end = from + there[i]->bytes > end ? from + there[i]->bytes : end;
    }
    hole_add(out, total > end ? total - end : 0);
    free(there);
    return true;
}
