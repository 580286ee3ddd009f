/* heap.c - brings the counts of the recorder of allocations into order. */
#include "analysis/heap/heap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SURE 0.99 /* of growth, before it is called a leak */

/* --- Names --- */

/* What stands between a program's own code and malloc: naming it would say nothing. */
static bool is_wrapper(const char *name)
{
    static const char *const whole[] = {
        "malloc",          "calloc",         "realloc",          "reallocarray",     "strdup",           "strndup",
        "__strdup",        "__strndup",      "xmalloc",          "xcalloc",          "xrealloc",         "xstrdup",
        "g_malloc",        "g_malloc0",      "g_realloc",        "g_strdup",         "asprintf",         "vasprintf",
        "PyMem_RawMalloc", "PyMem_Malloc",   "PyObject_Malloc",  "PyMem_RawRealloc", "PyObject_Realloc", "_PyMem_RawMalloc",
        "sqlite3Malloc",   "sqlite3_malloc", "sqlite3_malloc64", "sqlite3MemMalloc"};
    static const char *const within[] = {"operator new", "std::", "__gnu_cxx::"}; /* before the first bracket */
    static const char *const begins[] = {"_Znw", "_Zna", "_ZNSt", "_ZSt"};
    size_t                   n = strcspn(name, "(<");
    for (size_t i = 0; i < AS_COUNT(whole); i++)
        if (!strcmp(name, whole[i]))
            return true;
    for (size_t i = 0; i < AS_COUNT(begins); i++)
        if (!strncmp(name, begins[i], strlen(begins[i])))
            return true;
    for (size_t i = 0; i < AS_COUNT(within); i++) {
        const char *at = strstr(name, within[i]);
        if (at && at < name + n)
            return true;
    }
    return false;
}

static bool is_named(const char *name) { return *name && *name != '['; }

int as_heap_frame(const assay_trace *t, uint32_t stack)
{
    int own = -1; /* the innermost of the program's own, which may have no name */
    if (stack >= t->n_stacks)
        return -1;
    for (int at = (int)stack; at >= 0; at = t->stacks[at].parent) {
        const as_trace_frame *x = &t->frames[t->stacks[at].frame];
        if (is_wrapper(x->name))
            continue;
        if (own >= 0 && strcmp(x->object, t->frames[own].object))
            break; /* a name from elsewhere would be wrong: who calls into a stripped program is not what allocates */
        if (own < 0)
            own = t->stacks[at].frame;
        if (is_named(x->name))
            return t->stacks[at].frame;
    }
    return own >= 0 ? own : t->stacks[stack].frame;
}

bool as_heap_has_all_events(const assay_trace *t) { return t->n_memory_events && !t->memory_events_lost; }

/* --- Processes --- */

static as_heap_process *process_of(as_heap *h, uint64_t lane)
{
    for (size_t i = 0; i < h->n; i++)
        if ((uint64_t)h->processes[i].lane == lane)
            return &h->processes[i];
    return NULL;
}

static void number_take(as_heap_process *p, const as_trace_metric *m)
{
    const struct {
        const char *name;
        double     *to;
    } numbers[] = {{AS_PROCESS_LIVE, &p->live},     {AS_PROCESS_PEAK, &p->peak},     {AS_PROCESS_PEAK_TIME, &p->peak_ticks},
                   {AS_PROCESS_BLOCKS, &p->blocks}, {AS_PROCESS_ALLOCS, &p->allocs}, {AS_PROCESS_RESIZES, &p->resizes},
                   {AS_PROCESS_FREES, &p->frees},   {AS_PROCESS_MAPS, &p->maps},     {AS_PROCESS_MAPPED, &p->mapped},
                   {AS_PROCESS_BYTES, &p->bytes},   {AS_PROCESS_FAILED, &p->failed}, {AS_PROCESS_UNKNOWN, &p->unknown},
                   {AS_PROCESS_UNSEEN, &p->unseen}, {AS_PROCESS_COST, &p->cost}};
    const struct {
        const char *name;
        bool       *to;
    } flags[] = {{AS_PROCESS_OWN_MALLOC, &p->own_malloc},
                 {AS_PROCESS_FORKED, &p->forked},
                 {AS_PROCESS_FULL, &p->full},
                 {AS_PROCESS_ENDED, &p->ended}};
    for (size_t i = 0; i < AS_COUNT(numbers); i++)
        if (!strcmp(m->name, numbers[i].name))
            *numbers[i].to = m->value;
    for (size_t i = 0; i < AS_COUNT(flags); i++)
        if (!strcmp(m->name, flags[i].name))
            *flags[i].to = m->value > 0;
    if (!strcmp(m->name, AS_PROCESS_STEP_PEAK) && !(m->value <= p->step_peak))
        p->step_peak = m->value;
}

static bool is_ours(const as_trace_metric *m, const assay_trace *t)
{
    return !strncmp(m->name, "memory.process.", 15) && m->step < t->n_lanes && (m->value >= 0 || isnan(m->value)) &&
           !(m->value >= 0x1p63);
}

static bool processes_read(const assay_trace *t, as_arena *arena, as_heap *h)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_metrics; i++)
        n += is_ours(&t->metrics[i], t) && !strcmp(t->metrics[i].name, AS_PROCESS_LIVE);
    if (!n)
        return true;
    n = n < t->n_lanes ? n : t->n_lanes;
    h->processes = AS_TAKE(arena, as_heap_process, n);
    if (!h->processes)
        return false;
    for (size_t i = 0; i < t->n_metrics; i++) {
        const as_trace_metric *m = &t->metrics[i];
        if (!is_ours(m, t))
            continue;
        as_heap_process *p = process_of(h, m->step);
        if (!p) {
            if (h->n == n)
                continue;
            p = &h->processes[h->n++];
            *p = (as_heap_process){.lane = (int)m->step,
                                   .peak = NAN,
                                   .live = NAN,
                                   .step_peak = NAN,
                                   .allocs = NAN,
                                   .resizes = NAN,
                                   .frees = NAN,
                                   .maps = NAN,
                                   .mapped = NAN,
                                   .blocks = NAN,
                                   .bytes = NAN,
                                   .failed = NAN,
                                   .unknown = NAN,
                                   .unseen = NAN,
                                   .cost = NAN,
                                   .peak_ticks = NAN};
        }
        number_take(p, m);
    }
    return true;
}

/* --- Sites --- */

static int by_lane_and_stack(const void *a, const void *b)
{
    const as_memory_site *x = *(const as_memory_site *const *)a, *y = *(const as_memory_site *const *)b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    return x < y ? -1 : x > y; /* in the order of the record: the last one counts */
}

static int by_peak(const void *a, const void *b)
{
    const as_heap_place *x = a, *y = b;
    if (x->sum.peak_bytes != y->sum.peak_bytes)
        return x->sum.peak_bytes > y->sum.peak_bytes ? -1 : 1;
    if (x->sum.bytes != y->sum.bytes)
        return x->sum.bytes > y->sum.bytes ? -1 : 1;
    return x->frame < y->frame ? -1 : x->frame > y->frame;
}

static int by_frame(const void *a, const void *b)
{
    const as_heap_place *x = a, *y = b;
    return x->frame < y->frame ? -1 : x->frame > y->frame;
}

static void site_add(as_heap_place *to, const as_memory_site *s)
{
    if (s->bytes >= to->most) {
        to->most = s->bytes;
        to->sum.stack = s->stack;
    }
    to->sum.live_bytes += s->live_bytes;
    to->sum.peak_bytes += s->peak_bytes;
    to->sum.largest_bytes = s->largest_bytes > to->sum.largest_bytes ? s->largest_bytes : to->sum.largest_bytes;
    to->sum.allocs += s->allocs;
    to->sum.frees += s->frees;
    to->sum.bytes += s->bytes;
    to->sum.temporary += s->temporary;
    to->n_stacks++;
}

static bool places_make(const assay_trace *t, as_arena *arena, as_heap_process *p)
{
    as_heap_place *all = AS_TAKE(arena, as_heap_place, p->n_sites);
    if (p->n_sites && !all)
        return false;
    for (size_t i = 0; i < p->n_sites; i++) {
        all[i] = (as_heap_place){.frame = as_heap_frame(t, p->sites[i].stack)};
        site_add(&all[i], &p->sites[i]);
    }
    if (p->n_sites)
        qsort(all, p->n_sites, sizeof *all, by_frame);
    size_t n = 0;
    for (size_t i = 0; i < p->n_sites; i++)
        if (n && all[n - 1].frame == all[i].frame) {
            as_memory_site one = all[i].sum;
            site_add(&all[n - 1], &one);
        } else
            all[n++] = all[i];
    if (n)
        qsort(all, n, sizeof *all, by_peak);
    p->places = all;
    p->n_places = n;
    return true;
}

static bool sites_read(const assay_trace *t, as_arena *arena, as_heap *h, const as_memory_site **sorted, size_t n)
{
    for (size_t i = 0; i < h->n; i++) {
        as_heap_process *p = &h->processes[i];
        size_t           first = 0, last = n, count = 0;
        while (first < n && sorted[first]->lane != p->lane)
            first++;
        for (last = first; last < n && sorted[last]->lane == p->lane; last++)
            count += last + 1 == n || sorted[last + 1]->lane != p->lane || sorted[last + 1]->stack != sorted[last]->stack;
        p->sites = AS_TAKE(arena, as_memory_site, count);
        if (count && !p->sites)
            return false;
        for (size_t k = first; k < last; k++)
            if (k + 1 == n || sorted[k + 1]->lane != p->lane || sorted[k + 1]->stack != sorted[k]->stack)
                p->sites[p->n_sites++] = *sorted[k];
        if (!places_make(t, arena, p))
            return false;
    }
    return true;
}

/* --- Leaks ---------------------------------------------------------------------------------------------------------
 *
 * A stack leaks, perhaps, when what it has in use grows at most of AS_HEAP_STEPS moments of the last three quarters of the record, grows in each
 * of these quarters, and the last quarter is not much slower than the first of them: what fills up and stays is not a leak.  The moments are
 * equal numbers of events where all events are known, else the times at which the recorder looked. */

/* P(at least `ups` of n coins show heads). */
static double coin_tail(int ups, int n)
{
    double p = 0, term = pow(.5, n);
    for (int k = 0; k <= n; k++) {
        if (k >= ups)
            p += term;
        term *= (double)(n - k) / (k + 1);
    }
    return p < 1 ? p : 1;
}

static void growth_judge(as_heap_process *p, const as_memory_site *last, int frame, const double *live, const double *s, int n)
{
    int    ups = 0, third = (n - 1) / 3;
    double rise[3];
    for (int i = 1; i < n; i++)
        ups += live[i] > live[i - 1];
    for (int k = 0; k < 3; k++)
        rise[k] = live[(k + 1) * third] - live[k * third];
    double confidence = 1 - coin_tail(ups, n - 1);
    if (confidence < SURE || rise[0] <= 0 || rise[1] <= 0 || rise[2] <= 0 || rise[2] < rise[0] / 4 || s[n - 1] <= s[0])
        return;
    p->leaks[p->n_leaks++] = (as_heap_leak){
        .last = *last, .frame = frame, .slope = (live[n - 1] - live[0]) / (s[n - 1] - s[0]), .confidence = confidence};
}

static int by_slope(const void *a, const void *b)
{
    const as_heap_leak *x = a, *y = b;
    return x->slope > y->slope ? -1 : x->slope < y->slope;
}

/* Live bytes of every site at moments of the events; the lane of an event is its thread, whose process is that of the lane. */
static bool courses_of_events(const assay_trace *t, as_arena *arena, as_heap_process *p, double *live, double *s)
{
    const as_trace_lane *own = &t->lanes[p->lane];
    int32_t             *row = AS_TAKE(arena, int32_t, t->n_stacks + 1); /* of a stack: its site + 1 */
    double              *now = AS_TAKE(arena, double, p->n_sites);
    struct {
        uint64_t id, bytes;
        int32_t  row;
    } * blocks;
    size_t n = 0, n_slots = 64, seen = 0;
    for (size_t i = 0; i < t->n_memory_events; i++)
        n += t->lanes[t->memory_events[i].lane].pid == own->pid;
    while (n_slots < 2 * n)
        n_slots *= 2;
    blocks = calloc(n_slots, sizeof *blocks);
    if (!row || !now || !blocks || n < 4 * AS_HEAP_STEPS) {
        bool ok = row && now && blocks;
        free(blocks);
        return ok;
    }
    memset(row, 0, (t->n_stacks + 1) * sizeof *row);
    memset(now, 0, p->n_sites * sizeof *now);
    for (size_t i = 0; i < p->n_sites; i++)
        row[p->sites[i].stack == AS_NO_STACK ? t->n_stacks : p->sites[i].stack] = (int32_t)i + 1;
    for (size_t i = 0, step = 0; i < t->n_memory_events; i++) {
        const as_memory_event *e = &t->memory_events[i];
        if (t->lanes[e->lane].pid != own->pid)
            continue;
        int32_t at = row[e->stack == AS_NO_STACK ? t->n_stacks : e->stack] - 1;
        size_t  slot = (size_t)((e->id * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (n_slots - 1);
        while (blocks[slot].id && blocks[slot].id != e->id)
            slot = (slot + 1) & (n_slots - 1);
        if (blocks[slot].id && blocks[slot].row >= 0)
            now[blocks[slot].row] -= (double)blocks[slot].bytes;
        bool is_live = e->kind != AS_MEMORY_FREE && at >= 0;
        blocks[slot].id = e->id;
        blocks[slot].bytes = is_live ? e->bytes : 0;
        blocks[slot].row = is_live ? at : -1;
        if (is_live)
            now[at] += (double)e->bytes;
        seen++;
        /* Step k is at (1/4 + 3/4 k / (STEPS - 1)) of the events. */
        while (step < AS_HEAP_STEPS && seen >= n / 4 + (n - n / 4) * step / (AS_HEAP_STEPS - 1)) {
            for (size_t k = 0; k < p->n_sites; k++)
                live[k * AS_HEAP_STEPS + step] = now[k];
            s[step++] = (double)e->ticks * t->ns_per_tick * 1e-9;
        }
        p->n_steps = step;
    }
    free(blocks);
    return true;
}

/* The same at times at which the recorder looked at the process. */
static bool courses_of_sites(const assay_trace *t, as_arena *arena, as_heap_process *p, const as_memory_site **sorted, size_t n,
                             double *live, double *s)
{
    uint64_t first = UINT64_MAX, last = 0, times[AS_HEAP_STEPS];
    size_t   n_times = 0;
    (void)arena;
    for (size_t i = 0; i < t->n_memory_sites; i++) {
        const as_memory_site *x = &t->memory_sites[i];
        if (x->lane != p->lane)
            continue;
        n_times += !last || x->ticks != last; /* in the order of the record: a new time is a new look */
        first = x->ticks < first ? x->ticks : first;
        last = x->ticks > last ? x->ticks : last;
    }
    if (n_times < AS_HEAP_STEPS)
        return true;
    for (int k = 0; k < AS_HEAP_STEPS; k++) {
        times[k] = first + (last - first) / 4 + (uint64_t)((double)(last - first) * .75 * k / (AS_HEAP_STEPS - 1));
        s[k] = (double)times[k] * t->ns_per_tick * 1e-9;
    }
    times[AS_HEAP_STEPS - 1] = last;
    size_t at = 0;
    for (size_t i = 0; i < p->n_sites; i++) {
        while (at < n && (sorted[at]->lane != p->lane || sorted[at]->stack != p->sites[i].stack))
            at++;
        double now = 0;
        for (int k = 0; k < AS_HEAP_STEPS; k++) {
            for (; at < n && sorted[at]->lane == p->lane && sorted[at]->stack == p->sites[i].stack && sorted[at]->ticks <= times[k];
                 at++)
                now = (double)sorted[at]->live_bytes;
            live[i * AS_HEAP_STEPS + (size_t)k] = now;
        }
    }
    p->n_steps = AS_HEAP_STEPS;
    return true;
}

/* is_alone: no other process had its id, as after exec(). */
static bool leaks_find(const assay_trace *t, as_arena *arena, as_heap_process *p, bool is_alone, const as_memory_site **sorted,
                       size_t n)
{
    double *live = AS_TAKE(arena, double, p->n_sites *AS_HEAP_STEPS), s[AS_HEAP_STEPS];
    p->leaks = AS_TAKE(arena, as_heap_leak, p->n_sites);
    if (p->n_sites && (!live || !p->leaks))
        return false;
    if (!p->n_sites)
        return true;
    if (as_heap_has_all_events(t) && is_alone ? !courses_of_events(t, arena, p, live, s)
                                              : !courses_of_sites(t, arena, p, sorted, n, live, s))
        return false;
    if (p->n_steps < AS_HEAP_STEPS)
        return true;
    for (size_t i = 0; i < p->n_sites; i++)
        if (p->sites[i].live_bytes)
            growth_judge(p, &p->sites[i], as_heap_frame(t, p->sites[i].stack), live + i * AS_HEAP_STEPS, s, AS_HEAP_STEPS);
    if (p->n_leaks)
        qsort(p->leaks, p->n_leaks, sizeof *p->leaks, by_slope);
    return true;
}

bool as_heap_read(const assay_trace *t, as_arena *arena, as_heap *out)
{
    *out = (as_heap){.main = -1};
    if (!processes_read(t, arena, out))
        return false;
    size_t                 n = t->n_memory_sites;
    const as_memory_site **sorted = AS_TAKE(arena, const as_memory_site *, n);
    if (n && !sorted)
        return false;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &t->memory_sites[i];
    if (n)
        qsort(sorted, n, sizeof *sorted, by_lane_and_stack);
    if (!sites_read(t, arena, out, sorted, n))
        return false;
    for (size_t i = 0; i < out->n; i++) {
        as_heap_process *p = &out->processes[i];
        if (isnan(p->peak)) /* the record was cut off: the most that was seen */
            p->peak = p->step_peak;
        if (out->main < 0 || p->peak > out->processes[out->main].peak)
            out->main = (int)i;
    }
    if (out->main < 0)
        return true;
    bool is_alone = true;
    for (size_t i = 0; i < out->n; i++)
        is_alone &= (int)i == out->main || t->lanes[out->processes[i].lane].pid != t->lanes[out->processes[out->main].lane].pid;
    return leaks_find(t, arena, &out->processes[out->main], is_alone, sorted, n);
}
