/* an_allocations.c - what a recorded program allocated: how much at most and from where, what was never freed, what grows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/heap.h"
#include "analysis/trace/evidence.h"

enum { MAX_ROWS = 20, MAX_PATH = 4, MAX_PROCESSES = 30 };

static const char *place_say(assay_facts *f, const assay_trace *t, int frame)
{
    if (frame < 0)
        return "-";
    const as_trace_frame *x = &t->frames[frame];
    const char           *file = *x->file ? x->file : "", *slash = strrchr(file, '/');
    if (*file && x->line)
        return as_say(f, "%s:%d", slash ? slash + 1 : file, x->line);
    return *x->object ? x->object : "-";
}

static const char *name_say(const assay_trace *t, int frame) { return frame < 0 ? "[no stack]" : t->frames[frame].name; }

/* "load < main": who called the function, a few of them. */
static const char *callers_say(assay_facts *f, const assay_trace *t, uint32_t stack, int frame)
{
    const char *text = "";
    int         n = 0;
    bool        is_outside = false;
    if (stack >= t->n_stacks)
        return "-";
    for (int at = (int)stack; at >= 0; at = t->stacks[at].parent) {
        const char *name = t->frames[t->stacks[at].frame].name;
        if (is_outside && *name != '[' && strncmp(name, "__libc_start", 12) && strcmp(name, "_start") && n < MAX_PATH) {
            text = as_say(f, "%s%s%s", text, n ? " < " : "", name);
            n++;
        }
        is_outside |= t->stacks[at].frame == frame;
    }
    return *text ? text : "-";
}

static assay_metric count_of(double value, const char *unit, const char *source)
{
    return value >= 0 && value < 0x1p63 ? as_metric_counted((uint64_t)value, unit, source)
                                        : as_metric_unavailable(unit, "the record was cut off before it was counted");
}

#define EXACT "counted at every call"

/* --- Tables --- */

static void peak_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const as_heap_process *p)
{
    static const char *const columns[] = {"name|function", "where|where",       "bytes|bytes at the peak",
                                          "share|share",   "callers|called by", NULL};
    as_table                *table = as_facts_table(f, g, "peak", "Who had the memory at the peak", columns);
    uint64_t                 all = 0, rest = 0;
    size_t                   n_rest = 0;
    for (size_t i = 0; i < p->n_places; i++)
        all += p->places[i].sum.peak_bytes;
    for (size_t i = 0; i < p->n_places; i++) {
        const as_heap_place *x = &p->places[i];
        if (!x->sum.peak_bytes)
            continue;
        if (i >= MAX_ROWS) {
            rest += x->sum.peak_bytes;
            n_rest++;
            continue;
        }
        as_cell cells[] = {{.text = name_say(t, x->frame)},
                           {.text = place_say(f, t, x->frame)},
                           {.metric = as_metric_counted(x->sum.peak_bytes, "byte", EXACT)},
                           {.metric = as_metric_derived((double)x->sum.peak_bytes / (double)all, NAN, NAN, 1, "ratio",
                                                        "its bytes / all at the peak")},
                           {.text = callers_say(f, t, x->sum.stack, x->frame)}};
        as_facts_row(f, table, cells);
    }
    if (n_rest) {
        as_cell cells[] = {
            {.text = as_say(f, "%zu others", n_rest)},
            {.text = "-"},
            {.metric = as_metric_counted(rest, "byte", EXACT)},
            {.metric = as_metric_derived((double)rest / (double)all, NAN, NAN, 1, "ratio", "their bytes / all at the peak")},
            {.text = "-"}};
        as_facts_row(f, table, cells);
    }
    as_facts_add(f, g, "allocations.peak_owned", "sum of its owners", as_metric_counted(all, "byte", "over all stacks"));
}

static int by_live(const void *a, const void *b)
{
    const as_heap_place *x = *(const as_heap_place *const *)a, *y = *(const as_heap_place *const *)b;
    return x->sum.live_bytes > y->sum.live_bytes ? -1 : x->sum.live_bytes < y->sum.live_bytes;
}
static int by_calls(const void *a, const void *b)
{
    const as_heap_place *x = *(const as_heap_place *const *)a, *y = *(const as_heap_place *const *)b;
    return x->sum.allocs > y->sum.allocs ? -1 : x->sum.allocs < y->sum.allocs;
}

static const as_heap_place **sorted_by(assay_facts *f, const as_heap_process *p, int (*order)(const void *, const void *))
{
    const as_heap_place **all = AS_TAKE(&f->arena, const as_heap_place *, p->n_places);
    for (size_t i = 0; all && i < p->n_places; i++)
        all[i] = &p->places[i];
    if (all && p->n_places)
        qsort(all, p->n_places, sizeof *all, order);
    return all;
}

static void live_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const as_heap_process *p)
{
    static const char *const columns[] = {"name|function", "where|where",       "bytes|bytes",
                                          "blocks|blocks", "callers|called by", NULL};
    const as_heap_place    **all = sorted_by(f, p, by_live);
    as_table                *table = NULL;
    for (size_t i = 0; all && i < p->n_places && i < MAX_ROWS && all[i]->sum.live_bytes; i++) {
        const as_heap_place *x = all[i];
        if (!table)
            table = as_facts_table(f, g, "live", "In use at the end", columns);
        as_cell cells[] = {{.text = name_say(t, x->frame)},
                           {.text = place_say(f, t, x->frame)},
                           {.metric = as_metric_counted(x->sum.live_bytes, "byte", EXACT)},
                           {.metric = as_metric_counted(x->sum.allocs - x->sum.frees, "1", EXACT)},
                           {.text = callers_say(f, t, x->sum.stack, x->frame)}};
        as_facts_row(f, table, cells);
    }
}

static void calls_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const as_heap_process *p)
{
    static const char *const columns[] = {"name|function",           "where|where",       "calls|calls",
                                          "bytes|bytes in all",      "mean|mean size",    "largest|largest",
                                          "temporary|freed at once", "callers|called by", NULL};
    const as_heap_place    **all = sorted_by(f, p, by_calls);
    as_table                *table = NULL;
    for (size_t i = 0; all && i < p->n_places && i < MAX_ROWS && all[i]->sum.allocs; i++) {
        const as_heap_place *x = all[i];
        double               n = (double)x->sum.allocs;
        if (!table)
            table = as_facts_table(f, g, "calls", "Who allocates most often", columns);
        as_cell cells[] = {
            {.text = name_say(t, x->frame)},
            {.text = place_say(f, t, x->frame)},
            {.metric = as_metric_counted(x->sum.allocs, "1", EXACT)},
            {.metric = as_metric_counted(x->sum.bytes, "byte", EXACT)},
            {.metric = as_metric_derived((double)x->sum.bytes / n, NAN, NAN, x->sum.allocs, "byte", "bytes / calls")},
            {.metric = as_metric_counted(x->sum.largest_bytes, "byte", EXACT)},
            {.metric = as_metric_derived((double)x->sum.temporary / n, NAN, NAN, x->sum.allocs, "ratio",
                                         "blocks freed before their thread allocated another one / calls")},
            {.text = callers_say(f, t, x->sum.stack, x->frame)}};
        as_facts_row(f, table, cells);
    }
}

static void leaks_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const as_heap_process *p)
{
    static const char *const columns[] = {"name|function",          "where|where",   "slope|grows by",    "confidence|confidence",
                                          "bytes|bytes at the end", "blocks|blocks", "callers|called by", NULL};
    bool                     known = p->n_steps >= AS_HEAP_STEPS;
    as_facts_add(
        f, g, "allocations.leaks", "leak candidates",
        known ? as_metric_counted(p->n_leaks, "1",
                                  as_heap_has_all_events(t) ? "stacks whose memory grows to the end, by all events"
                                                            : "stacks whose memory grows to the end, by looks at all stacks")
              : as_metric_unavailable("1", "the program made too few allocations, or ran too short, to tell growth from noise"));
    as_table *table = p->n_leaks ? as_facts_table(f, g, "leaks", "Leak candidates: memory that grows to the end", columns) : NULL;
    for (size_t i = 0; i < p->n_leaks && i < MAX_ROWS; i++) {
        const as_heap_leak *x = &p->leaks[i];
        as_cell             cells[] = {
                        {.text = name_say(t, x->frame)},
                        {.text = place_say(f, t, x->frame)},
                        {.metric = as_metric_derived(x->slope, NAN, NAN, AS_HEAP_STEPS, "byte/s",
                                                     "growth over the last three quarters / their time")},
                        {.metric = as_metric_derived(x->confidence, NAN, NAN, AS_HEAP_STEPS, "ratio", "1 - chance that coins rise as often")},
                        {.metric = as_metric_counted(x->last.live_bytes, "byte", EXACT)},
                        {.metric = as_metric_counted(x->last.allocs - x->last.frees, "1", EXACT)},
                        {.text = callers_say(f, t, x->last.stack, x->frame)}};
        as_facts_row(f, table, cells);
        if (i < 3)
            as_facts_find(
                f, g, AS_LEVEL_WARN, "%s (%s) may leak: what it allocates grows by %s per second to the end, %s in %llu blocks.",
                name_say(t, x->frame), place_say(f, t, x->frame), as_say_number(f, x->slope, "byte"),
                as_say_number(f, (double)x->last.live_bytes, "byte"), (unsigned long long)(x->last.allocs - x->last.frees));
    }
    if (known && !p->n_leaks)
        as_facts_find(f, g, AS_LEVEL_GOOD, "No stack's memory grows steadily to the end.");
}

static void processes_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const as_heap *h)
{
    static const char *const columns[] = {"name|process",      "pid|id",         "peak|peak", "live|in use at the end",
                                          "calls|allocations", "began|began by", "end|ended", NULL};
    if (h->n < 2)
        return;
    as_table *table = as_facts_table(f, g, "processes", "Processes", columns);
    for (size_t i = 0; i < h->n && i < MAX_PROCESSES; i++) {
        const as_heap_process *p = &h->processes[i];
        as_cell                cells[] = {{.text = *t->lanes[p->lane].name ? t->lanes[p->lane].name : "-"},
                                          {.metric = as_metric_counted(t->lanes[p->lane].pid, "1", "the system")},
                                          {.metric = count_of(p->peak, "byte", EXACT)},
                                          {.metric = count_of(p->live, "byte", EXACT)},
                                          {.metric = count_of(p->allocs + p->resizes, "1", EXACT)},
                                          {.text = p->forked ? "fork" : "exec"},
                                          {.text = p->ended ? "by itself" : "by a signal, _exit or exec"}};
        as_facts_row(f, table, cells);
    }
    if (h->n > MAX_PROCESSES)
        as_facts_find(f, g, AS_LEVEL_NOTE, "%zu more processes are not in the table.", h->n - MAX_PROCESSES);
    as_facts_find(
        f, g, AS_LEVEL_NOTE,
        "%zu processes were recorded, each with counts of its own; the numbers and tables are those of %s (%u), which had the highest peak.",
        h->n, t->lanes[h->processes[h->main].lane].name, t->lanes[h->processes[h->main].lane].pid);
}

/* --- Timeline --- */

static void timeline_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const as_heap_process *p)
{
    static const char *const names[] = {AS_PROCESS_STEP_PEAK, AS_PROCESS_LIVE}, *const keys[] = {"timeline", "timeline_live"},
                             *const labels[] = {"in use, the most of each step", "in use"};
    size_t                          n_all = 0;
    for (size_t i = 0; i < t->n_metrics; i++)
        n_all += !strcmp(t->metrics[i].name, AS_PROCESS_LIVE) && t->metrics[i].step == (uint64_t)p->lane;
    double *x = AS_TAKE(&f->arena, double, n_all), *y = AS_TAKE(&f->arena, double, n_all);
    for (int k = 0; k < 2 && x && y; k++) {
        size_t n = 0;
        for (size_t i = 0; i < t->n_metrics && n < n_all; i++)
            if (!strcmp(t->metrics[i].name, names[k]) && t->metrics[i].step == (uint64_t)p->lane) {
                x[n] = (double)t->metrics[i].ticks * t->ns_per_tick * 1e-9;
                y[n++] = t->metrics[i].value;
            }
        if (n)
            as_facts_series(f, g,
                            &(as_series){.key = keys[k],
                                         .label = labels[k],
                                         .x_unit = "s",
                                         .y_unit = "byte",
                                         .kind = ASSAY_COUNTED,
                                         .source = "the program's own count",
                                         .x = x,
                                         .y = y,
                                         .n = n});
    }
}

/* --- Numbers --- */

static void cost_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const as_heap *h)
{
    const as_heap_process *p = &h->processes[h->main];
    double                 cpu = as_trace_metric_last(t, AS_RECORD_CPU), own = as_trace_metric_last(t, AS_RECORD_OWN_CPU),
           calls = p->allocs + p->resizes + p->frees;
    bool has = isfinite(p->cost) && isfinite(calls);
    as_facts_add(
        f, g, "allocations.cost_per_call", "cost of recording per call",
        has ? as_metric_measured(p->cost, NAN, NAN, (uint64_t)(calls / 128), "ns", "clock around one call in 128, in the program")
            : as_metric_unavailable("ns", "too few calls to measure it"));
    as_facts_add(f, g, "allocations.cost", "cost of recording in the program",
                 has ? as_metric_derived(p->cost * calls, NAN, NAN, (uint64_t)calls, "ns", "cost per call x calls")
                     : as_metric_unavailable("ns", "too few calls to measure it"));
    as_facts_add(f, g, "allocations.cost_share", "of the program's CPU time",
                 has && cpu > 0 && h->n == 1
                     ? as_metric_derived(p->cost * calls / cpu, NAN, NAN, 1, "ratio", "cost of recording / CPU time of the program")
                     : as_metric_unavailable("ratio", h->n > 1 ? "there are several processes"
                                                               : "the program's CPU time, or the cost, is not known"));
    if (isfinite(own))
        as_facts_add(f, g, "allocations.own_cpu", "CPU time of assay itself meanwhile",
                     as_metric_measured(own, NAN, NAN, 1, "ns", "the system's count"));
}

static void numbers_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const as_heap_process *p)
{
    double temporary = 0, calls = p->allocs + p->resizes, wall = as_trace_metric_last(t, AS_RECORD_WALL);
    for (size_t i = 0; i < p->n_places; i++)
        temporary += (double)p->places[i].sum.temporary;
    as_facts_add(f, g, "allocations.peak", "peak", count_of(p->peak, "byte", "live bytes, " EXACT));
    as_facts_add(f, g, "allocations.peak_time", "when the peak ended",
                 isfinite(p->peak_ticks)
                     ? as_metric_measured(p->peak_ticks * t->ns_per_tick, NAN, NAN, 1, "ns", "clock at the first free behind it")
                     : as_metric_unavailable("ns", "memory never fell again"));
    as_facts_add(f, g, "allocations.live_end", "in use at the end", count_of(p->live, "byte", EXACT));
    as_facts_add(f, g, "allocations.blocks_end", "blocks in use at the end", count_of(p->blocks, "1", EXACT));
    as_facts_add(f, g, "allocations.allocs", "allocations", count_of(p->allocs, "1", EXACT));
    as_facts_add(f, g, "allocations.resizes", "reallocations", count_of(p->resizes, "1", EXACT));
    as_facts_add(f, g, "allocations.frees", "frees", count_of(p->frees, "1", EXACT));
    as_facts_add(f, g, "allocations.bytes", "bytes asked for", count_of(p->bytes, "byte", EXACT));
    as_facts_add(f, g, "allocations.rate", "allocations per second",
                 calls >= 0 && wall > 0
                     ? as_metric_derived(calls * 1e9 / wall, NAN, NAN, 1, "1/s", "allocations and reallocations / wall time")
                     : as_metric_unavailable("1/s", "the record was cut off before they were counted"));
    as_facts_add(f, g, "allocations.temporary", "freed at once",
                 calls > 0 ? as_metric_derived(temporary / calls, NAN, NAN, (uint64_t)calls, "ratio",
                                               "blocks freed before their thread allocated another one / calls")
                           : as_metric_unavailable("ratio", "there were no allocations"));
    as_facts_add(f, g, "allocations.maps", "anonymous memory maps", count_of(p->maps, "1", "mmap that the program called itself"));
    as_facts_add(f, g, "allocations.mapped_end", "mapped at the end",
                 count_of(p->mapped, "byte", "mmap that the program called itself"));
    as_facts_add(f, g, "allocations.failed", "failed", count_of(p->failed, "1", EXACT));
    as_facts_add(f, g, "allocations.unknown_frees", "frees of blocks from before", count_of(p->unknown, "1", EXACT));
    double cpu = as_trace_metric_last(t, AS_RECORD_CPU), code = as_trace_metric_last(t, AS_RECORD_EXIT_CODE);
    as_facts_add(f, g, "allocations.wall", "wall time of the program",
                 wall > 0 ? as_metric_measured(wall, NAN, NAN, 1, "ns", "clock")
                          : as_metric_unavailable("ns", "the record was cut off"));
    as_facts_add(f, g, "allocations.cpu", "CPU time of the program, recording included",
                 cpu >= 0 ? as_metric_measured(cpu, NAN, NAN, 1, "ns", "the system's count")
                          : as_metric_unavailable("ns", "the record was cut off"));
    as_facts_add(f, g, "allocations.exit_code", "exit code of the program",
                 code >= 0 ? as_metric_counted((uint64_t)code, "1", "the system")
                           : as_metric_unavailable("1", "the program was ended by a signal, or the record was cut off"));
    as_facts_add(f, g, "allocations.events", "events kept one by one",
                 as_metric_counted(t->n_memory_events, "1", "the first of each process"));
    as_facts_add(f, g, "allocations.events_left", "later events, only in the counts",
                 as_metric_counted(t->memory_events_lost, "1", "counts - events"));
}

static void limits_say(assay_facts *f, as_fact_group *g, const assay_trace *t, const as_heap_process *p)
{
    if (!t->complete)
        as_facts_find(f, g, AS_LEVEL_WARN,
                      "The record is partial: its end was never written. The counts are those of the last look at the program.");
    else if (t->state == AS_TRACE_PARTIAL)
        as_facts_find(f, g, AS_LEVEL_WARN, "The record is partial: %s.", t->reason);
    if (as_trace_metric_last(t, AS_RECORD_EXIT_CODE) > 0)
        as_facts_find(f, g, AS_LEVEL_WARN, "The program ended with exit code %.0f.", as_trace_metric_last(t, AS_RECORD_EXIT_CODE));
    if (p->own_malloc)
        as_facts_find(f, g, AS_LEVEL_BAD,
                      "The program brings a malloc of its own, which cannot be seen from outside: these counts leave it out.");
    if (p->full)
        as_facts_find(
            f, g, AS_LEVEL_WARN,
            "There were more different stacks than the recorder has space for; what the later ones allocated is counted without a stack.");
    if (p->unseen > 0)
        as_facts_find(f, g, AS_LEVEL_NOTE,
                      "%.0f calls came from a signal handler amid the recorder's own work and are not counted.", p->unseen);
    if (!p->ended)
        as_facts_find(f, g, AS_LEVEL_NOTE,
                      "The process did not end by itself, so memory in use at the end says nothing about leaks.");
    if (t->memory_events_lost)
        as_facts_find(f, g, AS_LEVEL_NOTE,
                      "All counts are exact. The first %zu events are kept one by one; %llu later ones are in the counts only.",
                      t->n_memory_events, (unsigned long long)t->memory_events_lost);
    else
        as_facts_find(f, g, AS_LEVEL_NOTE, "All counts are exact, and all %zu events are in the record.", t->n_memory_events);
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_heap h;
    if (!as_heap_read(t, &f->arena, &h)) {
        f->status =
            as_fail(f->env, ASSAY_NO_MEMORY, "analysis: not enough memory for %zu counts of allocations", t->n_memory_sites);
        return;
    }
    if (h.main < 0)
        return;
    const as_heap_process *p = &h.processes[h.main];
    as_fact_group         *g = as_facts_group(f, "allocations", "Allocations");
    numbers_add(f, g, t, p);
    peak_add(f, g, t, p);
    leaks_add(f, g, t, p);
    live_add(f, g, t, p);
    calls_add(f, g, t, p);
    processes_add(f, g, t, &h);
    timeline_add(f, g, t, p);
    cost_add(f, g, t, &h);
    limits_say(f, g, t, p);
}

const as_analysis as_an_allocations = {.name = "allocations", .order = 74, .of = 1u << AS_OF_PROGRAM, .run = run};
