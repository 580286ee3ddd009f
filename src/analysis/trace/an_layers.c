/* an_layers.c - the run step by step: time, share, work, rates and kernel. */
#include <math.h>

#include "analysis/trace/evidence.h"
#include "base/text.h"

enum {
    NAME,
    OP,
    TIME,
    SHARE,
    MEDIAN,
    FLOP_RATE,
    BYTE_RATE,
    INTENSITY,
    FLOPS,
    SPECIAL,
    BYTES,
    WORKING_SET,
    KERNEL,
    DEVICE,
    MODULE,
    N_COLUMNS
};

static const char *const columns[] = {
    "name|layer",
    "op|op",
    "time|time",
    "share|share",
    "median|median, all runs",
    "flop_rate|work rate",
    "byte_rate|byte rate",
    "intensity|intensity",
    "flops|work",
    "special|special",
    "bytes|bytes",
    "working_set|working set",
    "kernel|kernel",
    "device|device",
    "module|module",
    NULL,
};
static const char *const graph_columns[] = {"name|layer",     "step|step",       "op|op",     "stage|stage",
                                            "device|device",  "segment|segment", "time|time", "inputs|inputs",
                                            "parts|computes", "module|module",   NULL};
static const char *const kernel_columns[] = {"name|layer", "shapes|shapes", "kernel|kernel", "why|why", "refused|refused", NULL};

/* Why no step has a time. */
static const char *missing(assay_facts *f, const assay_trace *t)
{
    if (t->detail < AS_DETAIL_STEP)
        return *t->detail_why ? t->detail_why : "the run has no spans per step";
    return as_say(f, "no span of this step was recorded%s", t->complete ? "" : ": the trace is partial");
}

static const char *clock_of(const as_kept *k) { return k->by_device ? "the device's own times" : "spans of the step"; }

static assay_metric totals_mean(const assay_trace *t, size_t i)
{
    return as_metric_measured((double)t->totals[i].sum_ticks * t->ns_per_tick / (double)t->totals[i].count, NAN, NAN,
                              t->totals[i].count, "ns", "totals of the step over all runs, mean");
}

static bool has_totals(const assay_trace *t, size_t i)
{
    return i < t->n_totals && t->totals[i].count && t->ns_per_tick >= 1e-9 && t->ns_per_tick <= 1e9;
}

/* Runs of the step that was recorded most often: 0 where only whole runs were recorded. */
static uint64_t most_totals(const assay_trace *t)
{
    uint64_t most = 0;
    for (size_t i = 0; i < t->n_steps; i++)
        if (has_totals(t, i) && !as_step_is_prologue(&t->steps[i]) && t->totals[i].count > most)
            most = t->totals[i].count;
    return most;
}

/* A set-up step is not part of a run: its time need not add up to anything, so a median will do. */
static assay_metric prologue_time(assay_facts *f, const assay_trace *t, const as_kept *k, size_t i)
{
    const as_step_times *times = &k->steps[i];
    if (times->n < AS_KEPT_ENOUGH && has_totals(t, i))
        return totals_mean(t, i);
    return as_median_metric(f, times->ns, times->n, "ns", as_say(f, "%s, median", clock_of(k)), missing(f, t));
}

/* The mean over the uninterrupted runs; over all runs where only totals were kept. */
static assay_metric step_time(assay_facts *f, const assay_trace *t, const as_kept *k, size_t i)
{
    const as_step_times *times = &k->steps[i];
    if (as_step_is_prologue(&t->steps[i]))
        return prologue_time(f, t, k, i);
    if (k->n_clean && times->n && (k->n_clean >= AS_CLEAN_ENOUGH || k->n_clean == k->n_used))
        return as_mean_metric(times->clean_ns, times->n_clean, k->n_clean, "ns",
                              as_say(f, "%s, mean over the %zu uninterrupted of %zu %s", clock_of(k), k->n_clean, k->n_used,
                                     k->uses_detailed ? "detailed runs outside the timed samples" : "recorded runs"));
    if (!k->n_used && has_totals(t, i))
        return totals_mean(t, i);
    return as_metric_unavailable("ns", k->n_used && times->n ? as_say(f, "%zu of %zu runs were uninterrupted; %d are needed",
                                                                      k->n_clean, k->n_used, AS_CLEAN_ENOUGH)
                                                             : missing(f, t));
}

/* The run time of which the steps are shares, from the same runs as their times. */
static assay_metric run_time(assay_facts *f, const assay_trace *t, const as_kept *k)
{
    double  *walls = AS_TAKE(&f->arena, double, k->n_runs), all_ns = 0;
    size_t   n = 0;
    uint64_t n_runs = 0;
    for (size_t i = 0; walls && i < k->n_runs; i++)
        if (as_kept_counts(k, &k->runs[i]))
            walls[n++] = k->runs[i].wall_ns;
    if (n)
        return as_mean_metric(walls, n, n, "ns",
                              k->n_clean ? "spans of whole runs, mean over the uninterrupted ones"
                                         : "spans of whole runs, mean; all were interrupted");
    as_times times = as_times_read(f, t);
    for (size_t i = 0; times.n && i < t->n_samples; i++) {
        all_ns += (double)(t->samples[i].end_ticks - t->samples[i].begin_ticks) * t->ns_per_tick;
        n_runs += t->samples[i].n_runs;
    }
    if (!n_runs || times.n != t->n_samples || !most_totals(t) || most_totals(t) > n_runs)
        return as_metric_unavailable("ns", "no run has spans per step");
    return as_metric_measured(all_ns / (double)n_runs, NAN, NAN, n_runs, "ns", "wall time of all samples / their runs");
}

static assay_metric ratio(const assay_metric *over, const assay_metric *under, double factor, const char *unit, const char *formula)
{
    if (!as_metric_has(over) || !as_metric_has(under))
        return as_metric_unavailable(unit, as_metric_has(over) ? under->reason : over->reason);
    if (!(under->value > 0))
        return as_metric_unavailable(unit, "the divisor is zero");
    uint64_t n = over->n > under->n ? over->n : under->n;
    return as_metric_derived(over->value * factor / under->value, NAN, NAN, n, unit, formula);
}

static assay_metric bytes_of(const as_trace_step *s)
{
    uint64_t bytes;
    if (__builtin_add_overflow(s->bytes_read, s->bytes_written, &bytes))
        return as_metric_unavailable("byte", "the sum does not fit in 64 bits");
    return as_metric_counted(bytes, "byte", "operator definition");
}

static const char *or_dash(const char *text) { return *text ? text : "-"; }

static void row_add(assay_facts *f, as_table *table, const as_trace_step *s, const as_step_times *times, assay_metric time,
                    const assay_metric *whole)
{
    as_cell c[N_COLUMNS] = {
        [NAME] = {.text = or_dash(s->name)},
        [OP] = {.text = or_dash(s->op)},
        [KERNEL] = {.text = or_dash(s->kernel)},
        [DEVICE] = {.text = or_dash(s->device)},
        [MODULE] = {.text = or_dash(s->module)},
        [TIME] = {.metric = time},
        [MEDIAN] = {.metric = as_median_metric(f, times->ns, times->n, "ns", "the step in every recorded run, median",
                                               "no span of this step was recorded")},
        [FLOPS] = {.metric = as_metric_counted(s->flops, "flop", "operator definition")},
        [SPECIAL] = {.metric = as_metric_counted(s->special, "op", "operator definition")},
        [BYTES] = {.metric = bytes_of(s)},
        [WORKING_SET] = {.metric = as_metric_counted(s->working_set_bytes, "byte", "plan")},
    };
    c[SHARE].metric = ratio(&time, whole, 1, "ratio", "time of the step / time of the run, means over the same runs");
    c[FLOP_RATE].metric = ratio(&c[FLOPS].metric, &time, 1e9, "flop/s", "flops / time");
    c[BYTE_RATE].metric = ratio(&c[BYTES].metric, &time, 1e9, "byte/s", "compulsory bytes / time");
    c[INTENSITY].metric = ratio(&c[FLOPS].metric, &c[BYTES].metric, 1, "flop/byte", "flops / compulsory bytes");
    as_facts_row(f, table, c);
}

/* A set-up step is not part of a run, so it has no share of it. */
static void steps_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const as_kept *k, bool prologue)
{
    assay_metric whole =
        prologue ? as_metric_unavailable("ratio", "set-up runs once per load, not in every run") : run_time(f, t, k);
    as_table *table = NULL;
    for (size_t i = 0; i < t->n_steps; i++) {
        if (as_step_is_prologue(&t->steps[i]) != prologue)
            continue;
        if (!table)
            table = as_facts_table(f, g, prologue ? "prologue" : "steps", prologue ? "Set-up, once per load" : "Steps of a run",
                                   columns);
        row_add(f, table, &t->steps[i], &k->steps[i], step_time(f, t, k, i), &whole);
    }
}

static void kernels_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    as_table *table = t->n_steps ? as_facts_table(f, g, "kernels", "Kernels chosen and refused", kernel_columns) : NULL;
    for (size_t i = 0; i < t->n_steps; i++) {
        const as_trace_step *s = &t->steps[i];
        as_text              refused = {0};
        for (int j = 0; j < s->n_refused; j++)
            as_text_printf(&refused, "%s%s: %s", j ? "; " : "", s->refused[j].kernel, s->refused[j].why);
        as_cell cells[] = {{.text = or_dash(s->name)},
                           {.text = or_dash(s->shapes)},
                           {.text = or_dash(s->kernel)},
                           {.text = or_dash(s->why)},
                           {.text = refused.data ? refused.data : "-"}};
        as_facts_row(f, table, cells);
        as_text_drop(&refused);
    }
}

/* Which step's result (x) which step (y) reads. */
static void edges_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    size_t n = 0, room = 0;
    for (size_t i = 0; i < t->n_steps; i++)
        room += (size_t)t->steps[i].n_inputs;
    double *from = room ? AS_TAKE(&f->arena, double, room) : NULL, *to = room ? AS_TAKE(&f->arena, double, room) : NULL;
    if (!from || !to)
        return;
    for (size_t i = 0; i < t->n_steps; i++)
        for (int j = 0; j < t->steps[i].n_inputs; j++, n++)
            from[n] = t->steps[i].inputs[j], to[n] = (double)i;
    as_facts_series(f, g,
                    &(as_series){.key = "edges",
                                 .label = "a step and a step that reads its result",
                                 .x_unit = "1",
                                 .y_unit = "1",
                                 .kind = ASSAY_COUNTED,
                                 .source = "plan",
                                 .x = from,
                                 .y = to,
                                 .n = n});
}

/* The network as it ran: every step of the plan by its index, with the steps whose results it reads. */
static void graph_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const as_kept *k)
{
    as_table *table =
        t->n_steps ? as_facts_table(f, g, "graph", "Steps of the plan and the sources of their inputs", graph_columns) : NULL;
    for (size_t i = 0; i < t->n_steps; i++) {
        const as_trace_step *s = &t->steps[i];
        as_text              inputs = {0}, parts = {0};
        for (int j = 0; j < s->n_inputs; j++)
            as_text_printf(&inputs, "%s%d", j ? " " : "", s->inputs[j]);
        for (int j = 0; j < s->n_parts; j++)
            as_text_printf(&parts, "%s%s", j ? AS_PARTS_JOINT : "", s->parts[j]);
        as_cell cells[] = {{.text = or_dash(s->name)},
                           {.metric = as_metric_counted(i, "1", "plan")},
                           {.text = or_dash(s->op)},
                           {.text = or_dash(s->stage)},
                           {.text = or_dash(s->device)},
                           {.metric = s->segment < 0 ? as_metric_unavailable("1", "the step has no segment")
                                                     : as_metric_counted((uint64_t)s->segment, "1", "plan")},
                           {.metric = step_time(f, t, k, i)},
                           {.text = inputs.data ? inputs.data : "-"},
                           {.text = parts.data ? parts.data : "-"},
                           {.text = or_dash(s->module)}};
        as_facts_row(f, table, cells);
        as_text_drop(&inputs);
        as_text_drop(&parts);
    }
    edges_add(f, g, t);
}

/* Which runs the times come from, and whether they are enough to judge by. */
static void runs_find(assay_facts *f, as_fact_group *g, const as_kept *k)
{
    if (!k->n_used || k->by_segment)
        return;
    if (k->n_clean == k->n_used && k->n_clean >= AS_CLEAN_ENOUGH)
        as_facts_find(f, g, AS_LEVEL_NOTE, "Times per layer are means over %zu runs; none was interrupted.", k->n_used);
    else if (k->n_clean >= AS_CLEAN_ENOUGH)
        as_facts_find(f, g, AS_LEVEL_NOTE, "Times per layer are means over %zu of %zu runs; the others were interrupted.",
                      k->n_clean, k->n_used);
    else if (k->n_clean == k->n_used)
        as_facts_find(f, g, AS_LEVEL_NOTE,
                      "Only %zu %s recorded step by step, and %d uninterrupted ones are needed: no layer is judged.", k->n_used,
                      k->n_used == 1 ? "run was" : "runs were", AS_CLEAN_ENOUGH);
    else
        as_facts_find(
            f, g, AS_LEVEL_WARN,
            "Only %zu of %zu runs were uninterrupted, and %d are needed: no layer is judged, because other work would count as its time.",
            k->n_clean, k->n_used, AS_CLEAN_ENOUGH);
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_fact_group *g = as_facts_group(f, "layers", "Layers");
    as_kept        k = as_kept_read(f, t);
    if (!k.steps)
        return;
    as_facts_add(f, g, "layers.n_steps", "steps of the plan", as_metric_counted(t->n_steps, "1", "plan"));
    as_facts_add(f, g, "layers.kept_runs", "runs with spans per step",
                 as_metric_counted(k.uses_detailed ? k.n_timed + k.n_detailed : k.n_timed, "1", "spans of the trace"));
    if (!k.by_segment || most_totals(t)) /* totals do not show which runs were interrupted */
        as_facts_add(f, g, "layers.undisturbed_runs", "of these, uninterrupted",
                     as_metric_counted(k.n_clean, "1", "CPU time and wall time of each"));
    as_facts_add(f, g, "layers.run_mean", "mean of the uninterrupted runs", run_time(f, t, &k));
    steps_add(f, g, t, &k, false);
    steps_add(f, g, t, &k, true);
    kernels_add(f, g, t);
    graph_add(f, g, t, &k);
    runs_find(f, g, &k);
    if (k.uses_detailed)
        as_facts_find(f, g, AS_LEVEL_NOTE, "Times per step come from %zu detailed runs outside the timed samples%s%s.",
                      k.n_detailed, *t->detail_why ? ": " : "", t->detail_why);
    else if (t->n_steps && !k.n_timed && !k.n_detailed)
        as_facts_find(f, g, AS_LEVEL_WARN, "No step was timed: %s.", missing(f, t));
}

const as_analysis as_an_layers = {.name = "layers", .order = 30, .run = run};
