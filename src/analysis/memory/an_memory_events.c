/* an_memory_events.c - memory by its events: in use over time, the peak and whose it was, rates, holes, transfers, leaks, oversized blocks. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/memory/leaks.h"
#include "analysis/trace/evidence.h"
#include "base/text.h"

enum { COURSE_POINTS = 400, MAX_OWNERS = 24, MAX_ROWS = 16, MAX_COURSES = 8 };
#define OVERSIZED 0.5 /* of a block, at most so much was ever used */

typedef struct job {
    assay_facts    *f;
    as_fact_group  *g;
    const as_lives *l;
    as_arena       *arena;
} job;

static const char *place_name(const job *j, int place) { return j->l->t->places[place]; }

static assay_metric bytes_counted(uint64_t bytes, const char *source) { return as_metric_counted(bytes, "byte", source); }

static assay_metric derived(double value, const char *unit, const char *formula)
{
    return as_metric_derived(value, NAN, NAN, 1, unit, formula);
}

/* --- Totals and rates ------------------------------------------------------------------------------------------ */

/* A recorder that kept fewer events than there were told the sums of all: then those count. */
static double told(const assay_trace *t, const char *name)
{
    for (size_t i = t->n_metrics; i-- > 0;)
        if (!strcmp(t->metrics[i].name, name) && t->metrics[i].value >= 0 && t->metrics[i].value < 0x1p63)
            return t->metrics[i].value;
    return NAN;
}

static uint64_t exact(const job *j, const char *name, uint64_t by_events)
{
    double value = told(j->l->t, name);
    return isnan(value) ? by_events : (uint64_t)value;
}

static void rates_add(const job *j, uint64_t allocated, uint64_t freed, uint64_t n)
{
    const as_lives *l = j->l;
    double s = (double)(l->last_ticks - l->first_ticks) * l->t->ns_per_tick * 1e-9, told_s = told(l->t, AS_METRIC_TRACKED_TIME);
    const char *none = "the record has no length";
    s = isnan(told_s) ? s : told_s * 1e-9;
    as_facts_add(j->f, j->g, "memory.allocation_rate", "allocated per second",
                 s > 0 ? derived((double)allocated / s, "byte/s", "total allocated / length of the record")
                       : as_metric_unavailable("byte/s", none));
    as_facts_add(j->f, j->g, "memory.deallocation_rate", "freed per second",
                 s > 0 ? derived((double)freed / s, "byte/s", "total freed / length of the record")
                       : as_metric_unavailable("byte/s", none));
    as_facts_add(j->f, j->g, "memory.allocations_per_second", "allocations per second",
                 s > 0 ? derived((double)n / s, "1/s", "allocations / length of the record") : as_metric_unavailable("1/s", none));
    as_facts_add(j->f, j->g, "memory.mean_usage", "in use on average",
                 derived(as_lives_mean(l, -1), "byte", "bytes in use, weighted by time, over the recorded events"));
}

static void totals_add(const job *j)
{
    const as_lives    *l = j->l;
    const assay_trace *t = l->t;
    const char        *source = as_say(j->f, "%zu memory events", t->n_memory_events);
    uint64_t           peak = exact(j, AS_METRIC_TRACKED_PEAK, l->peak), live = exact(j, AS_METRIC_TRACKED_LIVE, l->live),
             allocated = exact(j, AS_METRIC_TRACKED_ALLOCATED, l->allocated), freed = exact(j, AS_METRIC_TRACKED_FREED, l->freed),
             n_allocs = exact(j, AS_METRIC_TRACKED_ALLOCS, l->counts[AS_MEMORY_ALLOC]),
             n_frees = exact(j, AS_METRIC_TRACKED_FREES, l->counts[AS_MEMORY_FREE]);
    if (t->memory_events_lost && !isnan(told(t, AS_METRIC_TRACKED_PEAK)))
        source = as_say(j->f, "counts of the tracker, which kept %zu of %" PRIu64 " events", t->n_memory_events,
                        t->n_memory_events + t->memory_events_lost);
    as_facts_add(j->f, j->g, "memory.peak_usage", "most in use, with the weights", bytes_counted(peak, source));
    as_facts_add(j->f, j->g, "memory.current_usage", "in use at the end of the record", bytes_counted(live, source));
    as_facts_add(j->f, j->g, "memory.total_allocated", "allocated in all", bytes_counted(allocated, source));
    as_facts_add(j->f, j->g, "memory.total_freed", "freed in all", bytes_counted(freed, source));
    as_facts_add(j->f, j->g, "memory.allocations", "allocations", as_metric_counted(n_allocs, "1", source));
    as_facts_add(j->f, j->g, "memory.frees", "frees", as_metric_counted(n_frees, "1", source));
    as_facts_add(j->f, j->g, "memory.resizes", "resizes", as_metric_counted(l->counts[AS_MEMORY_RESIZE], "1", source));
    as_facts_add(j->f, j->g, "memory.copies", "copies", as_metric_counted(l->counts[AS_MEMORY_COPY], "1", source));
    as_facts_add(j->f, j->g, "memory.events_lost", "events that were not kept",
                 as_metric_counted(t->memory_events_lost, "1", "recorder"));
    if (l->odd)
        as_facts_find(j->f, j->g, AS_LEVEL_WARN,
                      "%" PRIu64 " memory events contradict the others (freed twice, or never allocated) and were left out.",
                      l->odd);
    rates_add(j, allocated, freed, n_allocs);
    double cost = told(t, AS_METRIC_TRACKED_COST);
    if (!isnan(cost))
        as_facts_add(j->f, j->g, "memory.tracking_cost", "cost of one tracked call",
                     as_metric_measured(cost, NAN, NAN, 1, "ns", "pairs of alloc and free on a tracker of its own"));
}

/* --- In use over time --------------------------------------------------------------------------------------------- */

static void course_add(const job *j, int place, const char *key, const char *label, bool from_zero)
{
    double *x, *y;
    size_t  n = as_lives_course(j->l, place, COURSE_POINTS, j->arena, &x, &y);
    for (size_t i = n; from_zero && i-- > 0;)
        x[i] -= x[0];
    if (n)
        as_facts_series(j->f, j->g,
                        &(as_series){.key = key,
                                     .label = label,
                                     .x_unit = "s",
                                     .y_unit = "byte",
                                     .kind = ASSAY_COUNTED,
                                     .source = "memory events",
                                     .x = x,
                                     .y = y,
                                     .n = n});
}

static void courses_add(const job *j)
{
    static const char *const columns[] = {"place|place", "peak|most in use", "live|in use at the end", "blocks|blocks at the peak",
                                          NULL};
    const as_lives          *l = j->l;
    as_table                *table = as_facts_table(j->f, j->g, "places", "Memory by place", columns);
    int                      n = 0;
    course_add(j, -1, "usage", "in use, all places together", false);
    for (size_t p = 0; p < l->t->n_places; p++) {
        const as_place_count *c = &l->places[p];
        if (!c->peak)
            continue;
        as_cell cells[] = {{.text = place_name(j, (int)p)},
                           {.metric = bytes_counted(c->peak, "memory events")},
                           {.metric = bytes_counted(c->live, "memory events")},
                           {.metric = as_metric_counted(c->n_peak, "1", "memory events")}};
        as_facts_row(j->f, table, cells);
        if (n++ < MAX_COURSES)
            course_add(j, (int)p, as_say(j->f, "usage.%s", place_name(j, (int)p)),
                       as_say(j->f, "in use, %s", place_name(j, (int)p)), c->inside);
    }
}

/* --- The peak ------------------------------------------------------------------------------------------------------ */

static assay_metric share_of(uint64_t part, uint64_t whole)
{
    return whole ? derived((double)part / (double)whole, "ratio", "bytes / peak") : as_metric_unavailable("ratio", "the peak is 0");
}

static void owner_row(const job *j, as_table *table, const as_owner *o)
{
    as_cell cells[] = {{.text = *o->name ? o->name : "-"},
                       {.text = *o->layer ? o->layer : "-"},
                       {.text = *o->role ? o->role : "-"},
                       {.text = o->place >= 0 ? place_name(j, o->place) : "-"},
                       {.metric = bytes_counted(o->bytes, "memory events")},
                       {.metric = share_of(o->bytes, j->l->peak)},
                       {.metric = as_metric_counted(o->n_blocks, "1", "memory events")}};
    as_facts_row(j->f, table, cells);
}

static void owners_add(const job *j)
{
    static const char *const columns[] = {"owner|owner", "layer|layer", "role|role",     "place|place",
                                          "bytes|bytes", "share|share", "blocks|blocks", NULL};
    size_t                   n = 0;
    as_owner *owners = as_owners_at_peak(j->l, j->arena, &n), rest = {.name = "", .layer = "", .role = "", .place = -1};
    uint64_t  blocks = 0;
    char      size[2][32];
    if (!owners || !n)
        return;
    as_table *table = as_facts_table(j->f, j->g, "owners", "What was in use at the peak", columns);
    for (size_t i = 0; i < n; i++) {
        blocks += owners[i].n_blocks;
        if (i < MAX_OWNERS || n == MAX_OWNERS + 1) {
            owner_row(j, table, &owners[i]);
            continue;
        }
        rest.bytes += owners[i].bytes;
        rest.n_blocks += owners[i].n_blocks;
    }
    if (rest.n_blocks || rest.bytes) {
        rest.name = as_say(j->f, "%zu others", n - MAX_OWNERS);
        owner_row(j, table, &rest);
    }
    as_facts_add(j->f, j->g, "memory.active_tensors", "blocks in use at the peak", as_metric_counted(blocks, "1", "memory events"));
    as_facts_add(j->f, j->g, "memory.peak_time", "when the peak was reached",
                 as_metric_measured(as_event_s(j->l, j->l->peak_event), NAN, NAN, 1, "s", "since the record began"));
    size_t top = n > 1 && !strcmp(owners[0].role, "free") ? 1 : 0;
    as_facts_find(
        j->f, j->g, AS_LEVEL_NOTE, "At the peak of %s, %" PRIu64 " blocks were in use; the largest owner is %s%s%s%s with %s.",
        as_show(size[0], sizeof size[0], (double)j->l->peak, "byte"), blocks, owners[top].name, *owners[top].layer ? " (" : "",
        owners[top].layer, *owners[top].layer ? ")" : "", as_show(size[1], sizeof size[1], (double)owners[top].bytes, "byte"));
}

/* --- Holes ------------------------------------------------------------------------------------------------------------ */

static void holes_row(const job *j, as_table *table, const char *place, const char *when, const as_holes *h)
{
    as_cell cells[] = {{.text = place},
                       {.text = when},
                       {.metric = bytes_counted(h->total, "memory events")},
                       {.metric = bytes_counted(h->free, "memory events")},
                       {.metric = as_metric_counted(h->n, "1", "memory events")},
                       {.metric = bytes_counted(h->largest, "memory events")},
                       {.metric = h->free
                                      ? derived(1 - (double)h->largest / (double)h->free, "ratio", "1 - largest free block / free")
                                      : derived(0, "ratio", "nothing is free")}};
    as_facts_row(j->f, table, cells);
}

/* After each event of the place: the worst, the mean over time, and what it is when the arena is fullest. */
static bool holes_find(const job *j, int place, as_holes *fullest, as_holes *worst, double *mean)
{
    enum { MOST = 2000 }; /* moments; of more, every second, every third ... is looked at */
    const as_lives    *l = j->l;
    const assay_trace *t = l->t;
    uint64_t           total = l->places[l->places[place].outer].peak;
    size_t             n = 0, k = 0;
    double             sum = 0, time = 0, worst_ratio = -1;
    for (size_t i = 0; i < t->n_memory_events; i++)
        n += t->memory_events[i].place == place;
    size_t every = n / MOST + 1;
    for (size_t i = 0; i < t->n_memory_events; i++) {
        as_holes h;
        if (t->memory_events[i].place != place || k++ % every)
            continue;
        size_t next = i + 1;
        while (next < t->n_memory_events && t->memory_events[next].place != place)
            next++;
        if (next < t->n_memory_events && t->memory_events[next].ticks == t->memory_events[i].ticks)
            continue; /* not all of this moment has happened yet */
        if (!as_holes_at(l, place, total, (uint32_t)i, &h))
            return false;
        bool   empty = h.free == total;
        double ratio = h.free ? 1 - (double)h.largest / (double)h.free : 0,
               ticks = next < t->n_memory_events ? (double)(t->memory_events[next].ticks - t->memory_events[i].ticks) : 0;
        sum += empty ? 0 : ratio * ticks;
        time += empty ? 0 : ticks;
        if (!empty && ratio > worst_ratio)
            worst_ratio = ratio, *worst = h;
    }
    *mean = time > 0 ? sum / time : NAN;
    return as_holes_at(l, place, total, l->places[place].peak_event, fullest);
}

static void sizes_add(const job *j, const char *place, const as_holes *h)
{
    static const char *const columns[] = {"place|place", "from|from", "to|up to", "holes|holes", NULL};
    if (!h->n)
        return;
    as_table *table = as_facts_table(j->f, j->g, as_say(j->f, "hole_sizes.%s", place),
                                     as_say(j->f, "Sizes of the holes of %s when it is most fragmented", place), columns);
    for (int i = 0; i < AS_HOLE_SIZES; i++) {
        as_cell cells[] = {{.text = place},
                           {.metric = bytes_counted(UINT64_C(1) << i, "powers of two")},
                           {.metric = bytes_counted((UINT64_C(2) << i) - 1, "powers of two")},
                           {.metric = as_metric_counted(h->sizes[i], "1", "memory events")}};
        if (h->sizes[i])
            as_facts_row(j->f, table, cells);
    }
}

static void fragmentation_add(const job *j)
{
    static const char *const columns[] = {"place|arena",         "when|when",   "total|bytes",
                                          "free|free",           "holes|holes", "largest|largest free block",
                                          "ratio|fragmentation", NULL};
    const as_lives          *l = j->l;
    as_table                *table = NULL;
    double                   worst_of_all = NAN, mean_of_all = NAN;
    uint64_t                 largest = 0, free = 0, n = 0;
    int                      n_arenas = 0;
    struct {
        const char *place;
        as_holes    worst;
    } shown[MAX_COURSES];
    for (size_t p = 0; p < l->t->n_places && n_arenas < MAX_COURSES; p++) {
        as_holes fullest = {0}, worst = {0};
        double   mean;
        if (!l->places[p].inside || l->places[p].outer < 0 || !l->places[p].peak)
            continue;
        if (!holes_find(j, (int)p, &fullest, &worst, &mean))
            continue;
        const char *place = place_name(j, l->places[p].outer);
        if (!table)
            table = as_facts_table(j->f, j->g, "fragmentation", "Free memory inside the arenas", columns);
        holes_row(j, table, place, "fullest", &fullest);
        holes_row(j, table, place, "most fragmented", &worst);
        double ratio = worst.free ? 1 - (double)worst.largest / (double)worst.free : 0;
        if (isnan(worst_of_all) || ratio > worst_of_all)
            worst_of_all = ratio, largest = worst.largest, free = worst.free, n = worst.n, mean_of_all = mean;
        shown[n_arenas].place = place;
        shown[n_arenas++].worst = worst;
    }
    if (!n_arenas) {
        as_facts_add(j->f, j->g, "memory.fragmentation_ratio", "fragmentation, at its worst",
                     as_metric_unavailable("ratio", "only blocks inside an arena of ours have known places"));
        return;
    }
    as_facts_add(j->f, j->g, "memory.fragmentation_ratio", "fragmentation, at its worst",
                 derived(worst_of_all, "ratio", "1 - largest free block / free, over one run"));
    as_facts_add(j->f, j->g, "memory.fragmentation_mean", "fragmentation, on average",
                 isnan(mean_of_all) ? as_metric_unavailable("ratio", "the steps have no times")
                                    : derived(mean_of_all, "ratio", "weighted by time, over one run"));
    as_facts_add(j->f, j->g, "memory.free_in_arena", "free then", bytes_counted(free, "memory events"));
    as_facts_add(j->f, j->g, "memory.largest_free_block", "largest free block then", bytes_counted(largest, "memory events"));
    as_facts_add(j->f, j->g, "memory.holes", "holes then", as_metric_counted(n, "1", "memory events"));
    for (int i = 0; i < n_arenas; i++)
        sizes_add(j, shown[i].place, &shown[i].worst);
}

/* --- Transfers -------------------------------------------------------------------------------------------------------------- */

typedef struct route {
    uint16_t kind, from, to;
    uint64_t n, bytes, ticks, timed_bytes;
} route;

static void route_row(const job *j, as_table *table, const route *r)
{
    double  ns = (double)r->ticks * j->l->t->ns_per_tick;
    as_cell cells[] = {{.text = as_memory_kind_text((as_memory_kind)r->kind)},
                       {.text = place_name(j, r->from)},
                       {.text = place_name(j, r->to)},
                       {.metric = as_metric_counted(r->n, "1", "memory events")},
                       {.metric = bytes_counted(r->bytes, "memory events")},
                       {.metric = ns > 0 ? as_metric_measured(ns, NAN, NAN, r->n, "ns", "stamps around each")
                                         : as_metric_unavailable("ns", "not timed")},
                       {.metric = ns > 0 ? derived((double)r->timed_bytes / ns * 1e9, "byte/s", "bytes / time")
                                         : as_metric_unavailable("byte/s", "not timed")}};
    as_facts_row(j->f, table, cells);
}

static void transfers_add(const job *j)
{
    static const char *const columns[] = {"kind|kind", "from|from",           "to|to", "count|count", "bytes|bytes",
                                          "time|time", "bandwidth|bandwidth", NULL};
    const assay_trace       *t = j->l->t;
    route                    routes[MAX_ROWS], sum = {0};
    int                      n = 0;
    for (size_t i = 0; i < t->n_memory_events; i++) {
        const as_memory_event *e = &t->memory_events[i];
        int                    k = 0;
        if ((e->kind != AS_MEMORY_COPY && e->kind != AS_MEMORY_TRANSFER) || e->place >= t->n_places || e->to >= t->n_places)
            continue;
        while (k < n && (routes[k].kind != e->kind || routes[k].from != e->place || routes[k].to != e->to))
            k++;
        if (k == MAX_ROWS)
            continue;
        if (k == n)
            routes[n++] = (route){.kind = e->kind, .from = e->place, .to = e->to};
        routes[k].n++;
        routes[k].bytes += e->bytes;
        routes[k].ticks += e->took_ticks;
        routes[k].timed_bytes += e->took_ticks ? e->bytes : 0;
        if (e->kind == AS_MEMORY_TRANSFER)
            sum.n++, sum.bytes += e->bytes, sum.ticks += e->took_ticks, sum.timed_bytes += e->took_ticks ? e->bytes : 0;
    }
    double ns = (double)sum.ticks * t->ns_per_tick;
    as_facts_add(j->f, j->g, "memory.transfers", "transfers between places", as_metric_counted(sum.n, "1", "memory events"));
    as_facts_add(j->f, j->g, "memory.transferred", "bytes of these transfers", bytes_counted(sum.bytes, "memory events"));
    as_facts_add(j->f, j->g, "memory.transfer_bandwidth", "bandwidth of these transfers",
                 ns > 0 ? derived((double)sum.timed_bytes / ns * 1e9, "byte/s", "bytes / time of the transfers that were timed")
                        : as_metric_unavailable("byte/s", sum.n ? "none of them was timed" : "nothing was moved between places"));
    as_table *table = n ? as_facts_table(j->f, j->g, "transfers", "Transfers and copies", columns) : NULL;
    for (int i = 0; i < n; i++)
        route_row(j, table, &routes[i]);
}

/* --- Leaks --------------------------------------------------------------------------------------------------------------------- */

static void leaks_add(const job *j)
{
    static const char *const columns[] = {"site|site",
                                          "layer|called from",
                                          "place|place",
                                          "slope|grows by",
                                          "live|in use at the end",
                                          "blocks|blocks",
                                          "age|age of the oldest",
                                          "confidence|confidence",
                                          NULL};
    as_leaks                 leaks;
    char                     size[2][32];
    if (!as_leaks_find(j->l, j->arena, &leaks))
        return;
    bool        enough = leaks.n_points >= AS_LEAK_POINTS;
    const char *source = leaks.by_iteration ? as_say(j->f, "regression over %zu iterations", leaks.n_points)
                                            : as_say(j->f, "regression over %zu moments, equal in time", leaks.n_points);
    as_facts_add(j->f, j->g, "memory.leak_candidates", "sites whose memory grows",
                 enough ? as_metric_counted(leaks.n, "1", source) : as_metric_unavailable("1", "the record has too few moments"));
    if (!enough || !leaks.n)
        return;
    as_table *table = as_facts_table(j->f, j->g, "leaks", "Leak candidates", columns);
    for (size_t i = 0; i < leaks.n && i < MAX_ROWS; i++) {
        const as_leak *k = &leaks.all[i];
        as_owner       o;
        as_owner_name(j->l->t, k->stack, &o);
        as_cell cells[] = {
            {.text = o.name},
            {.text = *o.layer ? o.layer : "-"},
            {.text = place_name(j, k->place)},
            {.metric = derived(k->slope, leaks.by_iteration ? "byte" : "byte/s", "least squares")},
            {.metric = bytes_counted(k->live, "memory events")},
            {.metric = as_metric_counted(k->n_live, "1", "memory events")},
            {.metric = as_metric_measured(k->oldest_s, NAN, NAN, 1, "s", "stamps of the events")},
            {.metric = derived(k->confidence, "ratio", "1 - p of the regression and of the signs, whichever is less sure")}};
        as_facts_row(j->f, table, cells);
        if (i < 3)
            as_facts_find(
                j->f, j->g, AS_LEVEL_WARN, "Memory of %s%s%s%s grows by %s per %s; %s in %" PRIu64 " blocks are in use at the end.",
                o.name, *o.layer ? " (" : "", o.layer, *o.layer ? ")" : "", as_show(size[0], sizeof size[0], k->slope, "byte"),
                leaks.by_iteration ? "iteration" : "second", as_show(size[1], sizeof size[1], (double)k->live, "byte"), k->n_live);
    }
}

/* --- Oversized -------------------------------------------------------------------------------------------------------------------- */

/* Blocks of which copies and transfers, or a later resize, show that at most half was needed; and arenas that are never so full. */
static void oversized_add(const job *j)
{
    static const char *const columns[] = {"owner|owner",       "layer|layer",       "place|place", "bytes|bytes",
                                          "used|used at most", "unused|never used", NULL};
    const as_lives          *l = j->l;
    as_table                *table = NULL;
    uint64_t                 n = 0, unused = 0;
    for (size_t i = 0; i < l->n; i++) {
        const as_life *life = &l->all[i];
        uint64_t       used = life->most_used;
        bool           arena = l->places[life->place].has_inside;
        if (l->places[life->place].inside || !life->bytes)
            continue;
        for (size_t p = 0; arena && p < l->t->n_places; p++)
            used = l->places[p].inside && l->places[p].outer == life->place && l->places[p].peak > used ? l->places[p].peak : used;
        if (!used || (double)used > OVERSIZED * (double)life->bytes)
            continue;
        n++;
        unused += life->bytes - used;
        if (n > MAX_ROWS)
            continue;
        as_owner o;
        as_owner_name(l->t, life->stack, &o);
        as_cell cells[] = {{.text = o.name},
                           {.text = *o.layer ? o.layer : "-"},
                           {.text = place_name(j, life->place)},
                           {.metric = bytes_counted(life->bytes, "memory events")},
                           {.metric = bytes_counted(used, "copies and transfers of the block, or blocks inside it")},
                           {.metric = bytes_counted(life->bytes - used, "memory events")}};
        if (!table)
            table = as_facts_table(j->f, j->g, "oversized", "Blocks of which at most half was used", columns);
        as_facts_row(j->f, table, cells);
    }
    as_facts_add(j->f, j->g, "memory.oversized", "bytes of oversized blocks that were never used",
                 bytes_counted(unused, "blocks whose use was recorded"));
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_arena arena = {0};
    as_lives l;
    if (!t->n_memory_events || !t->n_places)
        return;
    job j = {f, as_facts_group(f, "memory", "Memory"), &l, &arena};
    if (as_lives_read(t, &arena, &l)) {
        totals_add(&j);
        courses_add(&j);
        owners_add(&j);
        fragmentation_add(&j);
        transfers_add(&j);
        leaks_add(&j);
        oversized_add(&j);
    } else {
        as_facts_add(f, j.g, "memory.peak_usage", "most in use, with the weights",
                     as_metric_unavailable("byte", "not enough memory to analyse the memory events"));
    }
    as_arena_drop(&arena);
}

const as_analysis as_an_memory_events = {.name = "memory_events", .order = 51, .run = run};
