/* an_stacks.c - a program that was recorded: how much of the time it ran and waited, and which functions took its CPU time, each share with the error
 * of its sample. */
#include <math.h>
#include <string.h>

#include "analysis/trace/calltree.h"
#include "analysis/trace/evidence.h"

enum { MAX_ROWS = 200 };
#define LEAST_SHARE 0.004 /* of the CPU time with callees, or of the waiting */
#define MANY_CUT    0.10  /* of the looks */
#define MANY_LOST   0.01

/* --- Shares ------------------------------------------------------------------------------------------------------ */

/* Wilson's interval of a share of n looks that were taken independently of what the program did, at AS_CONFIDENCE. */
static assay_metric share_metric(double share, double n, const char *what)
{
    const double z = 1.959964, zz = z * z / n;
    double       middle = (share + zz / 2) / (1 + zz), half = z / (1 + zz) * sqrt(share * (1 - share) / n + zz / (4 * n));
    return as_metric_measured(share, fmin(share, fmax(0, middle - half)), fmax(share, fmin(1, middle + half)), (uint64_t)n, "ratio",
                              what);
}

/* The same trace with the looks of one state alone. */
static bool looks_of(assay_facts *f, const assay_trace *t, as_stack_state state, assay_trace *out)
{
    *out = *t;
    out->n_looks = 0;
    out->looks = AS_TAKE(&f->arena, as_stack_sample, t->n_looks);
    for (size_t i = 0; out->looks && i < t->n_looks; i++)
        if (t->looks[i].state == state)
            out->looks[out->n_looks++] = t->looks[i];
    return out->looks != NULL;
}

static const as_call_function *same_function(const as_call_tree *tree, const as_call_function *wanted)
{
    for (size_t i = 0; !tree->unknown && i < tree->n_functions; i++)
        if (!strcmp(tree->functions[i].name, wanted->name) && !strcmp(tree->functions[i].place, wanted->place))
            return &tree->functions[i];
    return NULL;
}

static const char *where(assay_facts *f, const assay_trace *t, int frame)
{
    const as_trace_frame *x = frame >= 0 ? &t->frames[frame] : NULL;
    const char           *slash = x ? strrchr(x->file, '/') : NULL;
    if (!x || !*x->file)
        return "-";
    return x->line > 0 ? as_say(f, "%s:%d", slash ? slash + 1 : x->file, x->line) : slash ? slash + 1 : x->file;
}

static void row_add(assay_facts *f, const assay_trace *t, as_table *table, const as_call_tree *on, const as_call_function *x,
                    const as_call_function *waits)
{
    static const char *const from = "samples of threads that had a CPU", *const off = "times between losing a CPU and getting one";
    double       n = on->unknown ? 0 : (double)on->nodes[0].count;
    double       self = as_call_share(on, x->self), total = as_call_share(on, x->total);
    assay_metric none = as_metric_unavailable("ratio", "no sample found a thread on a CPU");
    as_cell      cells[] = {
             {.text = x->name},
             {.text = *x->place ? x->place : "-"},
             {.text = where(f, t, x->frame)},
             {.metric = as_metric_measured(as_call_ns(on, x->self), NAN, NAN, (uint64_t)n, "ns", from)},
             {.metric = as_metric_measured(as_call_ns(on, x->total), NAN, NAN, (uint64_t)n, "ns", from)},
             {.metric = n > 0 ? share_metric(self, n, from) : none},
             {.metric = n > 0 ? share_metric(total, n, from) : none},
             {.metric = as_metric_measured(waits ? as_call_ns(on, waits->self) : 0, NAN, NAN, waits ? waits->count : 0, "ns", off)},
    };
    as_facts_row(f, table, cells);
}

/* By CPU time of their own; behind them those that only wait, by that. */
static int greatest(const as_call_tree *tree, const bool *done)
{
    int best = -1;
    for (size_t i = 0; !tree->unknown && i < tree->n_functions; i++) {
        const as_call_function *x = &tree->functions[i], *y = best < 0 ? NULL : &tree->functions[best];
        if (!done[i] && x->is_code && (!y || x->self > y->self || (x->self == y->self && x->total > y->total)))
            best = (int)i;
    }
    return best;
}

static void functions_add(assay_facts *f, const assay_trace *t, const as_call_tree *on, const as_call_tree *off)
{
    static const char *const columns[] = {
        "function|function",        "object|program or library",      "source|source", "self|self", "total|with callees",
        "self_share|share of self", "total_share|share with callees", "waits|waits",   NULL};
    as_fact_group *g = as_facts_group(f, "hotspots", "Hotspots");
    as_table      *table = as_facts_table(f, g, "functions", "Functions by their own CPU time", columns);
    bool *done_on = AS_TAKE(&f->arena, bool, on->n_functions + 1), *done_off = AS_TAKE(&f->arena, bool, off->n_functions + 1);
    if (!done_on || !done_off || !table)
        return;
    for (int best; table->n_rows < MAX_ROWS && (best = greatest(on, done_on)) >= 0; done_on[best] = true) {
        const as_call_function *x = &on->functions[best], *waits = same_function(off, x);
        if (as_call_share(on, x->total) < LEAST_SHARE)
            continue;
        row_add(f, t, table, on, x, waits);
        if (waits)
            done_off[waits - off->functions] = true;
    }
    for (int best; table->n_rows < 2 * MAX_ROWS && (best = greatest(off, done_off)) >= 0; done_off[best] = true) {
        as_call_function x = off->functions[best], none = x;
        if (!x.self || as_call_share(off, x.self) < LEAST_SHARE)
            continue;
        none.self = none.total = 0;
        row_add(f, t, table, on, &none, &x);
    }
}

/* --- Running and waiting ------------------------------------------------------------------------------------------- */

static assay_metric time_metric(double ns, const char *source, const char *reason)
{
    return isfinite(ns) ? as_metric_measured(ns, NAN, NAN, 1, "ns", source) : as_metric_unavailable("ns", reason);
}

static assay_metric share_of(double part, double whole, const char *formula, const char *reason)
{
    return isfinite(part) && whole > 0 ? as_metric_derived(fmin(1, part / whole), NAN, NAN, 1, "ratio", formula)
                                       : as_metric_unavailable("ratio", reason);
}

typedef struct totals {
    double wall, cpu, busy, starved, asleep, runs, waits, starves, cpus;
    bool   is_exact; /* by the moments at which threads got and lost a CPU; else by CPU time alone */
} totals;

/* Where switches were not recorded, CPU time over wall time must do: of one CPU, however many threads there are. */
static totals totals_read(const assay_trace *t)
{
    totals s = {.wall = as_trace_metric_last(t, AS_RECORD_WALL),
                .cpu = as_trace_metric_last(t, AS_RECORD_CPU),
                .busy = as_trace_metric_last(t, AS_RECORD_BUSY),
                .starved = as_trace_metric_last(t, AS_RECORD_STARVED),
                .asleep = as_trace_metric_last(t, AS_RECORD_ASLEEP)};
    double all = s.busy + s.starved + s.asleep;
    s.is_exact = all > 0;
    s.runs = s.is_exact ? s.busy / all : s.cpu / s.wall > 1 ? 1 : s.cpu / s.wall; /* NaN in a record without an end */
    s.waits = s.is_exact ? s.asleep / all : 1 - s.runs;
    s.starves = s.is_exact ? s.starved / all : NAN;
    s.cpus = s.cpu / s.wall;
    return s;
}

static const char *percent(assay_facts *f, double share)
{
    return share > 0 && share < .001 ? "less than 0.1 %" : as_say(f, share < .1 && share > 0 ? "%.1f %%" : "%.0f %%", 100 * share);
}

static void times_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const totals *s)
{
    static const char *const        not_told = "the record ends before the program did: its end was never written",
                             *const no_switch = "this recorder does not see when threads get and lose a CPU",
                             *const source = "the moments at which threads got and lost a CPU";
    assay_metric                    runs = as_metric_unavailable("ratio", not_told), waits = runs, starves = runs;
    if (s->is_exact) {
        runs = as_metric_measured(s->runs, NAN, NAN, 1, "ratio", source);
        waits = as_metric_measured(s->waits, NAN, NAN, 1, "ratio", source);
        starves = as_metric_measured(s->starves, NAN, NAN, 1, "ratio", source);
    } else if (isfinite(s->runs)) {
        runs = as_metric_derived(s->runs, NAN, NAN, 1, "ratio", "record.cpu / record.wall, at most 1");
        waits = as_metric_derived(s->waits, NAN, NAN, 1, "ratio", "1 - record.runs");
        starves = as_metric_unavailable("ratio", no_switch);
    }
    as_facts_add(f, g, "record.runs", "at least one thread runs", runs);
    as_facts_add(f, g, "record.waits", "all threads wait", waits);
    as_facts_add(f, g, "record.starves", "threads could run, but others have the CPUs", starves);
    as_facts_add(f, g, AS_RECORD_WALL, "time from start to end", time_metric(s->wall, "the monotonic clock", not_told));
    as_facts_add(f, g, AS_RECORD_CPU, "CPU time",
                 time_metric(s->cpu, "the system's account of the process and its children", not_told));
    as_facts_add(f, g, "record.cpus", "CPUs used",
                 isfinite(s->cpus) ? as_metric_derived(s->cpus, NAN, NAN, 1, "1", "record.cpu / record.wall")
                                   : as_metric_unavailable("1", not_told));
    as_facts_add(f, g, AS_RECORD_QUEUED, "threads waited for a CPU, all together",
                 time_metric(as_trace_metric_last(t, AS_RECORD_QUEUED), source, s->is_exact ? not_told : no_switch));
}

static void looks_add(assay_facts *f, as_fact_group *g, const assay_trace *t, size_t n_on)
{
    double cut = as_trace_metric_last(t, AS_RECORD_CUT), whole = as_trace_metric_last(t, AS_RECORD_WHOLE),
           own = as_trace_metric_last(t, AS_RECORD_OWN_CPU), wall = as_trace_metric_last(t, AS_RECORD_WALL),
           code = as_trace_metric_last(t, AS_RECORD_EXIT_CODE), number = as_trace_metric_last(t, AS_RECORD_SIGNAL);
    as_facts_add(f, g, "record.samples", "samples of threads on a CPU", as_metric_counted(n_on, "1", "the recorder"));
    as_facts_add(f, g, "record.samples_lost", "records lost", as_metric_counted(t->looks_lost, "1", "the recorder"));
    as_facts_add(f, g, "record.threads", "threads seen", as_metric_counted(t->n_lanes, "1", "the recorder"));
    as_facts_add(f, g, "record.cut_share", "samples whose stack is cut short",
                 share_of(cut, cut + whole, "record.cut / all samples", "this recorder does not tell"));
    as_facts_add(f, g, "record.own_share", "CPU time of assay, of the time recorded",
                 share_of(own, wall, "record.own_cpu / record.wall", "the record has no end"));
    as_facts_add(f, g, AS_RECORD_EXIT_CODE, "exit code of the program",
                 isfinite(code)
                     ? as_metric_counted((uint64_t)code, "1", "wait4")
                     : as_metric_unavailable("1", isfinite(number) ? "a signal ended the program"
                                                                   : "the program had not ended, or is not a child of assay"));
    if (isfinite(number))
        as_facts_add(f, g, AS_RECORD_SIGNAL, "signal that ended the program", as_metric_counted((uint64_t)number, "1", "wait4"));
}

/* --- Sentences ------------------------------------------------------------------------------------------------------ */

static void run_find(assay_facts *f, as_fact_group *g, const totals *s)
{
    if (!isfinite(s->runs))
        return;
    const char *starves = isfinite(s->starves) && s->starves >= .01
                              ? as_say(f, ", and could run for %s but other programs have the CPUs", percent(f, s->starves))
                              : "";
    as_facts_find(f, g, AS_LEVEL_NOTE, "The program runs %s of the time and waits %s%s.%s", percent(f, s->runs),
                  percent(f, s->waits), starves,
                  isfinite(s->cpus) && s->cpus > 1.05 ? as_say(f, " It uses %.1f CPUs on average.", s->cpus) : "");
}

static void trust_find(assay_facts *f, as_fact_group *g, const assay_trace *t, size_t n_on)
{
    double cut = as_trace_metric_last(t, AS_RECORD_CUT), all = cut + as_trace_metric_last(t, AS_RECORD_WHOLE),
           kernel = as_trace_metric_last(t, AS_RECORD_KERNEL), code = as_trace_metric_last(t, AS_RECORD_EXIT_CODE),
           throttled = as_trace_metric_last(t, AS_RECORD_THROTTLED);
    const char *not_had = as_trace_note_find(t, "record.not_had");
    if (!t->complete)
        as_facts_find(f, g, AS_LEVEL_WARN,
                      "The record is partial: its end was never written. What follows covers the %zu samples in the file.",
                      t->n_looks);
    else if (t->state == AS_TRACE_PARTIAL)
        as_facts_find(f, g, AS_LEVEL_WARN, "The record is partial: %s.", t->reason);
    if (code > 0)
        as_facts_find(f, g, AS_LEVEL_WARN, "The program ended with exit code %.0f.", code);
    if (not_had)
        as_facts_find(f, g, AS_LEVEL_WARN, "A better recorder is not available here: %s.", not_had);
    if (kernel == 0)
        as_facts_find(f, g, AS_LEVEL_NOTE,
                      "Time in the kernel is not in the shares, because the system allows to sample only the program's own code.");
    if (all > 0 && cut / all >= MANY_CUT && as_trace_metric_last(t, AS_RECORD_TABLES) > 0)
        as_facts_find(
            f, g, AS_LEVEL_WARN,
            "%.0f %% of the stacks are cut short: callers are missing, because code has no unwind tables or the stack is deeper "
            "than the part that is copied.",
            100 * cut / all);
    else if (all > 0 && cut / all >= MANY_CUT)
        as_facts_find(
            f, g, AS_LEVEL_WARN,
            "%.0f %% of the stacks are cut short: callers are missing, because code was built without frame pointers; try "
            "--call-graph dwarf.",
            100 * cut / all);
    if (t->looks_lost)
        as_facts_find(f, g, (double)t->looks_lost > MANY_LOST * (double)n_on ? AS_LEVEL_WARN : AS_LEVEL_NOTE,
                      "%llu records were lost, because assay could not read them in time.", (unsigned long long)t->looks_lost);
    if (throttled > 0)
        as_facts_find(f, g, AS_LEVEL_WARN, "The kernel paused the sampling %.0f times to protect itself: use a lower --rate.",
                      throttled);
    if (as_trace_metric_last(t, AS_RECORD_SIGNAL_TAKEN) > 0)
        as_facts_find(f, g, AS_LEVEL_WARN,
                      "The program uses SIGPROF itself, the signal of the timers: what came after that is missing.");
    if (!n_on)
        as_facts_find(f, g, AS_LEVEL_NOTE,
                      "No sample found a thread on a CPU: the program used less CPU time than the time between two samples.");
}

static void run(assay_facts *f, const assay_trace *t)
{
    assay_trace on, off;
    if (isnan(as_trace_metric_last(t, AS_RECORD_RATE)) || !looks_of(f, t, AS_STACK_ON_CPU, &on) ||
        !looks_of(f, t, AS_STACK_OFF_CPU, &off))
        return;
    as_call_tree   tree = as_call_tree_of_samples(&f->arena, &on), waits = as_call_tree_of_samples(&f->arena, &off);
    totals         s = totals_read(t);
    as_fact_group *g = as_facts_group(f, "record", "Program");
    run_find(f, g, &s);
    trust_find(f, g, t, on.n_looks);
    times_add(f, g, t, &s);
    looks_add(f, g, t, on.n_looks);
    if (on.n_looks || off.n_looks)
        functions_add(f, t, &tree, &waits);
}

const as_analysis as_an_stacks = {.name = "stacks", .order = 74, .of = 1u << AS_OF_PROGRAM, .run = run};
