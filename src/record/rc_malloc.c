/* rc_malloc.c - records what a program allocates, by a library that is loaded into it (preload/). */
/* os: linux */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/preload.h"

/* Totals are read every 10 ms, and stacks every 20 ms; after MANY of them half as often, and so on. */
enum { FIRST_STEP_MS = 10, FIRST_SITES_MS = 20, MANY = 256, MOST_SITE_RECORDS = 1 << 17 };

/* What of a process is in the trace already.  Several stacks of addresses may be one of functions: where a program has no lines, two calls
 * in one function look alike.  Their sites are added up. */
typedef struct taken {
    uint32_t       *sums; /* of each site of the process: which sum it is in */
    uint32_t        n_sites, cap_sites, n_events;
    as_memory_site *written, *now; /* per sum: as last written, and as counted now */
    uint32_t        n_sums, cap_sums;
    int32_t        *sum_of; /* per stack of the trace, and one before them for none: its sum, or -1 */
    size_t          n_sum_of;
    uint32_t        last_thread;
    int             last_lane;
    int             place;
    bool            has_place;
} taken;

typedef struct recorder {
    as_preload share;
    taken      of[AS_SHARE_MAX_PROCESSES];
    int        timer;
    uint64_t   next_sites_ns;
    uint32_t   step_ms, sites_ms, n_steps, n_site_steps;
} recorder;

static bool probe(assay_env *env, const as_record_settings *s, char why[AS_RECORD_WHY]) { return as_preload_probe(env, s, why); }

static void timer_set(recorder *c)
{
    struct timespec every = {.tv_sec = c->step_ms / 1000, .tv_nsec = (long)(c->step_ms % 1000) * 1000000};
    timerfd_settime(c->timer, 0, &(struct itimerspec){.it_interval = every, .it_value = every}, NULL);
}

static assay_status prepare(as_recording *r)
{
    recorder *c = calloc(1, sizeof *c);
    if (!c)
        return as_fail(r->env, ASSAY_NO_MEMORY, "record: not enough memory for the recorder of allocations");
    c->timer = -1;
    c->share.fd = -1;
    c->step_ms = FIRST_STEP_MS, c->sites_ms = FIRST_SITES_MS;
    r->state = c;
    AS_TRY(as_preload_open(r, AS_SHARE_MEMORY, 0, &c->share));
    c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (c->timer >= 0 && as_record_wait_on(r, c->timer))
        timer_set(c);
    return ASSAY_OK;
}

static assay_status start(as_recording *r)
{
    (void)r;
    return ASSAY_OK;
}

static assay_status no_memory(as_recording *r)
{
    return as_fail(r->env, ASSAY_NO_MEMORY, "record: not enough memory for what the program allocates");
}

/* --- Sites --- */

static bool room_for(void *items, uint32_t n, uint32_t more, size_t each)
{
    void **at = items, *grown = realloc(*at, (size_t)more * each);
    if (grown) {
        *at = grown;
        memset((char *)grown + n * each, 0, (more - n) * each);
    }
    return grown != NULL;
}

/* The sum of a stack of the trace; -1: no memory. */
static int64_t sum_find(const as_recording *r, const as_preload_process *p, taken *t, uint32_t stack)
{
    size_t at = stack == AS_NO_STACK ? 0 : (size_t)stack + 1;
    if (at >= t->n_sum_of) {
        size_t   n = 2 * (r->trace->n_stacks > at ? r->trace->n_stacks : at) + 64;
        int32_t *grown = realloc(t->sum_of, n * sizeof *grown);
        if (!grown)
            return -1;
        memset(grown + t->n_sum_of, 0xff, (n - t->n_sum_of) * sizeof *grown);
        t->sum_of = grown;
        t->n_sum_of = n;
    }
    if (t->sum_of[at] >= 0)
        return t->sum_of[at];
    if (t->n_sums == t->cap_sums) {
        uint32_t more = t->cap_sums ? 2 * t->cap_sums : 512;
        if (!room_for(&t->written, t->cap_sums, more, sizeof *t->written) || !room_for(&t->now, t->cap_sums, more, sizeof *t->now))
            return -1;
        t->cap_sums = more;
    }
    t->written[t->n_sums] = t->now[t->n_sums] = (as_memory_site){.stack = stack, .lane = (uint16_t)p->lane};
    return t->sum_of[at] = (int32_t)t->n_sums++;
}

static assay_status stacks_take(as_recording *r, const as_preload_process *p, taken *t)
{
    const as_share_stack *stacks = as_preload_part(p, AS_SHARE_STACKS);
    const uint64_t       *words = as_preload_part(p, AS_SHARE_WORDS);
    uint32_t              n = __atomic_load_n(&p->at->n_sites, __ATOMIC_ACQUIRE);
    n = n < AS_SHARE_MAX_SITES ? n : AS_SHARE_MAX_SITES;
    if (n > t->cap_sites) {
        uint32_t more = n < 512 ? 1024 : 2 * n;
        if (!room_for(&t->sums, t->cap_sites, more, sizeof *t->sums))
            return no_memory(r);
        t->cap_sites = more;
    }
    for (; t->n_sites < n; t->n_sites++) {
        const as_share_stack *s = &stacks[t->n_sites];
        bool                  is_sound = s->n && s->n <= AS_SHARE_MAX_DEPTH && (uint64_t)s->first_word + s->n <= AS_SHARE_MAX_WORDS;
        int                   stack =
            is_sound ? as_symbols_stack(r->symbols, r->trace, (pid_t)p->at->pid, words + s->first_word, s->n, false, NULL) : -1;
        int64_t sum = is_sound && stack < 0 ? -1 : sum_find(r, p, t, stack < 0 ? AS_NO_STACK : (uint32_t)stack);
        if (sum < 0)
            return no_memory(r);
        t->sums[t->n_sites] = (uint32_t)sum;
    }
    return ASSAY_OK;
}

static void sums_read(const as_preload_process *p, taken *t)
{
    const as_share_site *sites = as_preload_part(p, AS_SHARE_SITES);
    uint64_t             peak_number = __atomic_load_n(&p->at->peak_number, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < t->n_sums; i++)
        t->now[i] = (as_memory_site){.stack = t->now[i].stack, .lane = t->now[i].lane};
    for (uint32_t i = 0; i < t->n_sites; i++) {
        const volatile as_share_site *s = &sites[i];
        as_memory_site               *now = &t->now[t->sums[i]];
        uint64_t frees = s->frees, allocs = s->allocs, live = s->live_bytes; /* frees first: counted after its alloc */
        now->frees += frees < allocs ? frees : allocs;
        now->allocs += allocs;
        now->live_bytes += live;
        now->peak_bytes += s->saved_at == peak_number ? s->saved_bytes : live;
        now->largest_bytes = s->largest_bytes > now->largest_bytes ? s->largest_bytes : now->largest_bytes;
        now->bytes += s->bytes;
        now->temporary += s->temporary;
    }
}

/* all: also those of which only the counts have changed, and what they had at the peak. */
static assay_status sites_take(as_recording *r, const as_preload_process *p, taken *t, uint64_t ticks, bool all)
{
    AS_TRY(stacks_take(r, p, t));
    sums_read(p, t);
    for (uint32_t i = 0; i < t->n_sums; i++) {
        as_memory_site *last = &t->written[i], *now = &t->now[i];
        now->ticks = last->ticks;
        if (all ? !memcmp(now, last, sizeof *now) : now->live_bytes == last->live_bytes)
            continue;
        now->ticks = ticks;
        if (!as_trace_add_memory_site(r->trace, now))
            return no_memory(r);
        *last = *now;
    }
    return ASSAY_OK;
}

static void taken_drop(taken *t)
{
    free(t->sums);
    free(t->written);
    free(t->now);
    free(t->sum_of);
    *t = (taken){0};
}

/* --- Events --- */

static int lane_of(as_recording *r, const as_preload_process *p, taken *t, uint32_t thread)
{
    if (thread == p->at->pid)
        return p->lane;
    if (thread != t->last_thread) {
        t->last_lane = as_record_lane(r, (pid_t)p->at->pid, (pid_t)thread, NULL);
        t->last_thread = thread;
    }
    return t->last_lane;
}

/* Addresses have 47 bits: above them, the number of the process keeps those of several apart. */
static assay_status events_take(as_recording *r, recorder *c, const as_preload_process *p, taken *t)
{
    uint64_t              above = (uint64_t)(t - c->of) << 48;
    static const uint16_t kinds[] = {
        [AS_SHARE_ALLOC] = AS_MEMORY_ALLOC, [AS_SHARE_FREE] = AS_MEMORY_FREE, [AS_SHARE_RESIZE] = AS_MEMORY_RESIZE};
    const as_share_event *events = as_preload_part(p, AS_SHARE_EVENTS);
    uint32_t              n = __atomic_load_n(&p->at->n_events, __ATOMIC_ACQUIRE);
    AS_TRY(stacks_take(r, p, t)); /* an event comes behind its site */
    if (!t->has_place) {          /* the memory of each process is a place of its own */
        char name[64];
        snprintf(name, sizeof name, t == c->of ? "host" : "host:%u", p->at->pid);
        t->place = as_trace_add_place(r->trace, name);
        if (t->place < 0)
            return no_memory(r);
        t->has_place = true;
    }
    for (; t->n_events < n && t->n_events < AS_SHARE_MAX_EVENTS; t->n_events++) {
        const as_share_event *e = &events[t->n_events];
        unsigned              kind = as_share_event_kind(e);
        int                   lane = lane_of(r, p, t, e->thread);
        if (lane < 0)
            return no_memory(r);
        if (kind >= AS_COUNT(kinds) || e->site >= t->n_sites)
            continue; /* not written by us: the program wrote where it should not */
        if (!as_trace_add_memory_event(r->trace, &(as_memory_event){.ticks = as_preload_ticks(r, &c->share, e->time),
                                                                    .id = e->address | above,
                                                                    .bytes = as_share_event_bytes(e),
                                                                    .stack = t->now[t->sums[e->site]].stack,
                                                                    .kind = kinds[kind],
                                                                    .lane = (uint16_t)lane,
                                                                    .place = (uint16_t)t->place,
                                                                    .to = (uint16_t)t->place}))
            return no_memory(r);
    }
    return ASSAY_OK;
}

/* --- Totals --- */

static bool number_add(as_recording *r, const as_preload_process *p, const char *name, const char *unit, uint64_t ticks,
                       double value)
{
    return as_trace_add_metric(
        r->trace, &(as_trace_metric){.name = name, .unit = unit, .step = (uint64_t)p->lane, .ticks = ticks, .value = value});
}

static assay_status totals_take(as_recording *r, const as_preload_process *p, uint64_t ticks)
{
    const volatile as_share_process *at = p->at;
    uint64_t                         live = at->live_bytes, most = at->window_peak_bytes;
    bool                             ok = number_add(r, p, AS_PROCESS_LIVE, "B", ticks, (double)live) &&
              number_add(r, p, AS_PROCESS_STEP_PEAK, "B", ticks, (double)(most > live ? most : live));
    return ok ? ASSAY_OK : no_memory(r);
}

static assay_status ends_take(as_recording *r, const recorder *c, const as_preload_process *p, uint64_t ticks)
{
    const as_share_process *at = p->at;
    double                  cost =
        at->cost_calls ? (double)at->cost_own_time / (double)at->cost_calls * as_preload_ns_per_tick(&c->share) : (double)NAN;
    const struct {
        const char *name, *unit;
        double      value;
    } all[] = {
        {AS_PROCESS_PEAK, "B", (double)at->peak_bytes},
        {AS_PROCESS_BLOCKS, "1", (double)at->live_blocks},
        {AS_PROCESS_ALLOCS, "1", (double)at->allocs},
        {AS_PROCESS_RESIZES, "1", (double)at->resizes},
        {AS_PROCESS_FREES, "1", (double)at->frees},
        {AS_PROCESS_MAPS, "1", (double)at->maps},
        {AS_PROCESS_MAPPED, "B", (double)at->mapped_bytes},
        {AS_PROCESS_BYTES, "B", (double)at->bytes},
        {AS_PROCESS_FAILED, "1", (double)at->failed},
        {AS_PROCESS_UNKNOWN, "1", (double)at->unknown_frees},
        {AS_PROCESS_UNSEEN, "1", (double)at->unseen},
        {AS_PROCESS_COST, "ns", cost},
        {AS_PROCESS_OWN_MALLOC, "1", at->has_own_malloc},
        {AS_PROCESS_FORKED, "1", at->is_forked},
        {AS_PROCESS_FULL, "1", at->is_full},
        {AS_PROCESS_ENDED, "1", at->state == AS_SHARE_ENDED},
    };
    bool ok = at->peak_is_unstamped || !at->peak_time ||
              number_add(r, p, AS_PROCESS_PEAK_TIME, "tick", ticks, (double)as_preload_ticks(r, &c->share, at->peak_time));
    for (size_t i = 0; ok && i < AS_COUNT(all); i++)
        ok = number_add(r, p, all[i].name, all[i].unit, ticks, all[i].value);
    return ok ? ASSAY_OK : no_memory(r);
}

/* --- The recorder --- */

static uint64_t ticks_now(const as_recording *r)
{
    uint64_t now = as_monotonic_ns();
    return now > r->trace->start_ticks ? now - r->trace->start_ticks : 0;
}

/* All that there is of a process that changes no more. */
static assay_status process_end(as_recording *r, as_preload *share, uint32_t number)
{
    recorder           *c = r->state;
    as_preload_process *p = &share->processes[number];
    taken              *t = &c->of[number];
    uint64_t            ticks = ticks_now(r);
    if (!p->at)
        return ASSAY_OK;
    AS_TRY(events_take(r, c, p, t));
    AS_TRY(sites_take(r, p, t, ticks, true));
    AS_TRY(totals_take(r, p, ticks));
    AS_TRY(ends_take(r, c, p, ticks));
    const as_share_process *at = p->at;
    uint64_t                in_all = at->allocs + at->frees + at->resizes + at->maps;
    r->trace->memory_events_lost += in_all > t->n_events ? in_all - t->n_events : 0;
    as_preload_release(share, number);
    taken_drop(t);
    return ASSAY_OK;
}

static assay_status poll_now(as_recording *r)
{
    recorder *c = r->state;
    uint64_t  rang, ticks = ticks_now(r);
    bool      with_sites = ticks >= c->next_sites_ns && r->trace->n_memory_sites < MOST_SITE_RECORDS;
    while (c->timer >= 0 && read(c->timer, &rang, sizeof rang) == sizeof rang)
        ;
    AS_TRY(as_preload_look(r, &c->share, process_end));
    for (uint32_t i = 0; i < c->share.n; i++) {
        as_preload_process *p = &c->share.processes[i];
        if (!p->at)
            continue;
        AS_TRY(totals_take(r, p, ticks));
        AS_TRY(events_take(r, c, p, &c->of[i]));
        if (with_sites)
            AS_TRY(sites_take(r, p, &c->of[i], ticks, false));
        if (p->at->state == AS_SHARE_ENDED && (pid_t)p->at->pid != r->pid)
            AS_TRY(process_end(r, &c->share, i)); /* one of many: its memory may be needed for others */
    }
    c->share.head->window++;
    if (++c->n_steps == MANY) {
        c->n_steps = 0;
        c->step_ms *= 2;
        timer_set(c);
    }
    if (with_sites) {
        c->next_sites_ns = ticks + (uint64_t)c->sites_ms * 1000000;
        if (++c->n_site_steps % 64 == 0)
            c->sites_ms *= 2;
    }
    return ASSAY_OK;
}

static assay_status stop(as_recording *r)
{
    recorder *c = r->state;
    if (!c)
        return ASSAY_OK;
    assay_status status = as_preload_end(r, &c->share, process_end);
    for (uint32_t i = 0; i < AS_SHARE_MAX_PROCESSES; i++)
        taken_drop(&c->of[i]);
    if (c->timer >= 0)
        close(c->timer);
    as_preload_close(&c->share);
    free(c);
    r->state = NULL;
    return status;
}

const as_record_kind as_rc_malloc = {.name = "malloc",
                                     .gives = AS_RECORD_MEMORY,
                                     .rank = 1,
                                     .by_tables = true,
                                     .probe = probe,
                                     .prepare = prepare,
                                     .start = start,
                                     .poll = poll_now,
                                     .stop = stop};
