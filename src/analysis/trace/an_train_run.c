/* an_train_run.c - a training run: what it learned, how fast, where the time and the memory went, and what crept up. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace/evidence.h"
#include "base/text.h"

enum { MOST_POINTS = 2000, MOST_CLASSES = 64, MOST_LANES = 160 };

static double last_of(const assay_trace *t, const char *prefix, const char *name)
{
    char key[96];
    snprintf(key, sizeof key, "%s%s", prefix, name);
    return as_trace_metric_last(t, key);
}

static assay_metric counted(double n, const char *unit, const char *source, const char *reason)
{
    return n >= 0 ? as_metric_counted((uint64_t)n, unit, source) : as_metric_unavailable(unit, reason);
}

static assay_metric measured(double x, uint64_t n, const char *unit, const char *source, const char *reason)
{
    return isfinite(x) ? as_metric_measured(x, NAN, NAN, n, unit, source) : as_metric_unavailable(unit, reason);
}

/* --- Curves ----------------------------------------------------------------------------------------------------- */

/* All values of a name, by update; of very many the means of neighbours. */
static size_t course_read(assay_facts *f, const assay_trace *t, const char *name, double **x, double **y)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < t->n_metrics; i++)
        n += !strcmp(t->metrics[i].name, name);
    *x = AS_TAKE(&f->arena, double, n + 1);
    *y = AS_TAKE(&f->arena, double, n + 1);
    if (!n || !*x || !*y)
        return 0;
    for (size_t i = 0; i < t->n_metrics; i++)
        if (!strcmp(t->metrics[i].name, name)) {
            (*x)[at] = (double)t->metrics[i].step;
            (*y)[at++] = t->metrics[i].value;
        }
    size_t each = (n + MOST_POINTS - 1) / MOST_POINTS, kept = 0;
    for (size_t i = 0; i < n && each > 1; i += each) {
        double sum = 0;
        size_t k = 0;
        for (; k < each && i + k < n; k++)
            sum += (*y)[i + k];
        (*x)[kept] = (*x)[i + k / 2];
        (*y)[kept++] = sum / (double)k;
    }
    return each > 1 ? kept : n;
}

static size_t curve_add(assay_facts *f, as_fact_group *g, const assay_trace *t, const char *name, const char *key,
                        const char *label, const char *unit)
{
    double *x, *y;
    size_t  n = course_read(f, t, name, &x, &y);
    if (n)
        as_facts_series(f, g,
                        &(as_series){.key = key,
                                     .label = label,
                                     .x_unit = "1",
                                     .y_unit = unit,
                                     .kind = ASSAY_MEASURED,
                                     .source = "the training loop",
                                     .x = x,
                                     .y = y,
                                     .n = n});
    return n;
}

static double least_of(const assay_trace *t, const char *name, uint64_t *at)
{
    double least = NAN;
    for (size_t i = 0; i < t->n_metrics; i++)
        if (!strcmp(t->metrics[i].name, name) && !(least <= t->metrics[i].value)) {
            least = t->metrics[i].value;
            *at = t->metrics[i].step;
        }
    return least;
}

static double first_of(const assay_trace *t, const char *name)
{
    for (size_t i = 0; i < t->n_metrics; i++)
        if (!strcmp(t->metrics[i].name, name))
            return t->metrics[i].value;
    return NAN;
}

/* --- What it learned ---------------------------------------------------------------------------------------------- */

static void learned_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    static const char *const none = "the run ended before the first epoch did";
    uint64_t                 at = 0;
    const char              *score = as_trace_note_find(t, "train.score");
    double                   n = as_trace_metric_last(t, AS_TRAINED_UPDATES), planned = as_trace_metric_last(t, AS_TRAINED_PLANNED);
    as_facts_add(f, g, "train.updates", "updates of the weights", counted(n, "1", "the training loop", "not recorded"));
    as_facts_add(f, g, "train.done", "share of the run that is done",
                 planned > 0 ? as_metric_derived(n / planned, NAN, NAN, 1, "ratio", "updates / updates of the whole run")
                             : as_metric_unavailable("ratio", "not recorded"));
    if (as_trace_metric_last(t, AS_TRAINED_RESUMED) > 0)
        as_facts_add(f, g, "train.resumed", "went on from update",
                     counted(as_trace_metric_last(t, AS_TRAINED_RESUMED), "1", "its checkpoint", ""));
    as_facts_add(f, g, "train.parameters", "parameters that learn",
                 counted(as_trace_metric_last(t, AS_TRAINED_PARAMETERS), "1", "the network", "not recorded"));
    as_facts_add(f, g, "train.first_loss", "loss of the first update",
                 measured(first_of(t, AS_TRAINED_LOSS), 1, "1", "the training loop", "there was no update"));
    as_facts_add(f, g, "train.last_loss", "loss of the last update",
                 measured(as_trace_metric_last(t, AS_TRAINED_LOSS), 1, "1", "the training loop", "there was no update"));
    as_facts_add(f, g, "train.epoch_loss", "mean loss of the last epoch",
                 measured(as_trace_metric_last(t, AS_TRAINED_EPOCH), 1, "1", "the training loop, while it learned", none));
    double val = as_trace_metric_last(t, AS_TRAINED_VAL), best = least_of(t, AS_TRAINED_VAL, &at);
    as_facts_add(
        f, g, "train.val_loss", "validation loss",
        measured(val, 1, "1", "the examples that are not learned from", isnan(val) ? "no option val, or no epoch ended" : none));
    if (isfinite(best))
        as_facts_add(f, g, "train.best_val_loss", "lowest validation loss",
                     measured(best, 1, "1", as_say(f, "after update %" PRIu64, at), ""));
    if (score && *score) {
        double last = last_of(t, AS_TRAINED_MEASURE, score);
        bool   held = isfinite(last);
        last = held ? last : last_of(t, "train.", score);
        as_facts_add(f, g, "train.score", score,
                     measured(last, 1, "ratio",
                              held ? "the examples that are not learned from" : "the examples of the last epoch, while it learned",
                              none));
    }
    double known = as_trace_metric_last(t, AS_TRAINED_BEST);
    if (isfinite(known))
        as_facts_add(f, g, "train.best_possible", "lowest loss that is possible",
                     as_metric_modelled(known, NAN, NAN, "1", "the noise of the synthetic data"));
    as_facts_add(f, g, "train.skips", "updates left out, gradient not finite",
                 counted(as_trace_metric_last(t, AS_TRAINED_SKIPS), "1", "the training loop", "not recorded"));
    as_facts_add(f, g, "train.spikes", "losses more than 6 standard deviations above the last 128",
                 counted(as_trace_metric_last(t, AS_TRAINED_SPIKES), "1", "the training loop", "not recorded"));
}

/* Every measure after every epoch: one row per epoch. */
static void epochs_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    static const char *const columns[] = {"update|update", "loss|loss",          "val_loss|validation loss",
                                          "score|score",   "rate|learning rate", NULL};
    const char              *score = as_trace_note_find(t, "train.score");
    char                     key[96];
    as_table                *table = NULL;
    snprintf(key, sizeof key, "%s%s", AS_TRAINED_MEASURE, score ? score : "");
    for (size_t i = 0; i < t->n_metrics; i++) {
        const as_trace_metric *m = &t->metrics[i];
        if (strcmp(m->name, AS_TRAINED_EPOCH))
            continue;
        if (!table && !(table = as_facts_table(f, g, "epochs", "Epochs", columns)))
            return;
        double val = NAN, was = NAN, rate = NAN;
        for (size_t k = i > 64 ? i - 64 : 0; k < t->n_metrics && k < i + 16; k++)
            if (t->metrics[k].step == m->step) {
                val = !strcmp(t->metrics[k].name, AS_TRAINED_VAL) ? t->metrics[k].value : val;
                was = !strcmp(t->metrics[k].name, key) ? t->metrics[k].value : was;
                rate = !strcmp(t->metrics[k].name, AS_TRAINED_RATE) ? t->metrics[k].value : rate;
            }
        as_cell cells[] = {{.metric = as_metric_counted(m->step, "1", "the training loop")},
                           {.metric = measured(m->value, 1, "1", "the training loop", "")},
                           {.metric = measured(val, 1, "1", "validation", "no option val")},
                           {.metric = measured(was, 1, "ratio", "validation", "no option val")},
                           {.metric = measured(rate, 1, "1", "the optimiser's kernel", "not recorded")}};
        as_facts_row(f, table, cells);
    }
}

static void confusion_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    double      classes = as_trace_metric_last(t, AS_TRAINED_CLASSES);
    int         n = classes >= 2 && classes <= MOST_CLASSES ? (int)classes : 0;
    double     *counts = n ? AS_TAKE(&f->arena, double, (size_t)(n * n)) : NULL;
    const char *columns[MOST_CLASSES + 3];
    if (!counts)
        return;
    for (int i = 0; i < n * n; i++)
        counts[i] = 0;
    for (size_t i = 0; i < t->n_metrics; i++)
        if (!strcmp(t->metrics[i].name, AS_TRAINED_CONFUSION) && t->metrics[i].step < (uint64_t)(n * n))
            counts[t->metrics[i].step] = t->metrics[i].value;
    columns[0] = "class|class";
    for (int i = 0; i < n; i++) {
        const char *label = as_trace_note_find(t, as_say(f, "train.class.%d", i));
        columns[i + 1] = as_say(f, "as%d|%s", i, label ? label : as_say(f, "%d", i));
    }
    columns[n + 1] = "recall|found";
    columns[n + 2] = NULL;
    as_table *table = as_facts_table(f, g, "confusion", "Confusion: examples of each class, and what they were taken for", columns);
    for (int i = 0; table && i < n; i++) {
        as_cell cells[MOST_CLASSES + 2];
        double  row = 0;
        cells[0] = (as_cell){.text = strchr(columns[i + 1], '|') + 1};
        for (int k = 0; k < n; k++) {
            row += counts[i * n + k];
            cells[k + 1] = (as_cell){.metric = as_metric_counted((uint64_t)counts[i * n + k], "1", "the last evaluation")};
        }
        cells[n + 1] = (as_cell){.metric = row > 0 ? as_metric_derived(counts[i * n + i] / row, NAN, NAN, (uint64_t)row, "ratio",
                                                                       "found / examples of the class")
                                                   : as_metric_unavailable("ratio", "no example of this class was judged")};
        as_facts_row(f, table, cells);
    }
}

/* --- Where the time went -------------------------------------------------------------------------------------------- */

static const struct {
    const char *key, *label;
} time_parts[] = {{"forward", "forward pass"},  {"backward", "backward pass"}, {"update", "gradient norm and update"},
                  {"wait", "waiting for data"}, {"evaluation", "evaluation"},  {"checkpoint", "checkpoints"},
                  {"plan", "planning"}};

static void time_row(assay_facts *f, as_table *table, const char *label, double ns, double wall, const char *source)
{
    as_cell cells[] = {{.text = label},
                       {.metric = measured(ns, 1, "ns", source, "not recorded")},
                       {.metric = isfinite(ns) && wall > 0
                                      ? as_metric_derived(ns / wall, NAN, NAN, 1, "ratio", "time / time of the whole run")
                                      : as_metric_unavailable("ratio", "not recorded")}};
    as_facts_row(f, table, cells);
}

static void time_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    static const char *const columns[] = {"name|part", "time|time", "share|share", NULL};
    double                   wall = last_of(t, AS_TRAINED_TIME, "wall"), step = last_of(t, AS_TRAINED_TIME, "step"), known = 0;
    double                   samples = as_trace_metric_last(t, AS_TRAINED_SAMPLES), phases = 0;
    as_facts_add(f, g, "train.time", "time of the run", measured(wall, 1, "ns", t->clock_name, "not recorded"));
    as_facts_add(f, g, "train.samples_per_s", "samples per second, whole run",
                 wall > 0 && samples > 0
                     ? as_metric_derived(samples / wall * 1e9, NAN, NAN, (uint64_t)samples, "1/s", "samples / time of the run")
                     : as_metric_unavailable("1/s", "no sample was learned from"));
    as_facts_add(f, g, "train.step_samples_per_s", "samples per second, steps alone",
                 step > 0 && samples > 0
                     ? as_metric_derived(samples / step * 1e9, NAN, NAN, (uint64_t)samples, "1/s", "samples / time of the steps")
                     : as_metric_unavailable("1/s", "no sample was learned from"));
    as_table *table = as_facts_table(f, g, "time", "Where the time went", columns);
    for (int i = 0; i < 3; i++)
        phases += fmax(last_of(t, AS_TRAINED_PHASE, time_parts[i].key), 0);
    for (size_t i = 0; table && i < AS_COUNT(time_parts); i++) {
        bool   phase = i < 3;
        double ns = last_of(t, phase ? AS_TRAINED_PHASE : AS_TRAINED_TIME, time_parts[i].key);
        if (phase) /* of the updates that were recorded step by step; the whole is known for all */
            ns = phases > 0 ? ns / phases * step : NAN;
        known += isfinite(ns) ? ns : 0;
        time_row(f, table, time_parts[i].label, ns, wall, phase ? "steps of one update in 8, scaled to all" : t->clock_name);
    }
    double write = last_of(t, AS_TRAINED_TIME, "write");
    if (isfinite(write)) {
        as_facts_add(f, g, "train.checkpoint_write", "time spent writing checkpoints, beside the loop",
                     measured(write, 1, "ns", t->clock_name, "not recorded"));
        as_facts_add(f, g, "train.checkpoint_lost", "time that the loop lost to checkpoints",
                     measured(last_of(t, AS_TRAINED_TIME, "checkpoint"), 1, "ns", t->clock_name, "not recorded"));
    }
    if (table)
        time_row(f, table, "the loop itself", fmax(wall - known, 0), wall, "what is left");
}

/* --- What the loader's threads did while the loop computed ----------------------------------------------------------- */

static bool is_of(const assay_trace *t, const as_span *s, const char *frame)
{
    return s->kind == AS_SPAN_USER && s->step >= 0 && (size_t)s->step < t->n_frames && s->thread < t->n_lanes &&
           s->end_ticks >= s->begin_ticks && !strcmp(t->frames[s->step].name, frame);
}

static int by_begin(const void *a, const void *b)
{
    const as_span *x = *(const as_span *const *)a, *y = *(const as_span *const *)b;
    return x->begin_ticks != y->begin_ticks ? (x->begin_ticks < y->begin_ticks ? -1 : 1) : x < y ? -1 : x > y;
}

/* All spans of threads, the earlier first. */
static const as_span **spans_sort(assay_facts *f, const assay_trace *t, size_t *n)
{
    const as_span **all = AS_TAKE(&f->arena, const as_span *, t->n_spans + 1);
    *n = 0;
    for (size_t i = 0; all && i < t->n_spans; i++)
        if (t->spans[i].kind == AS_SPAN_USER && t->spans[i].step >= 0 && (size_t)t->spans[i].step < t->n_frames &&
            t->spans[i].thread < t->n_lanes && t->spans[i].end_ticks >= t->spans[i].begin_ticks)
            all[(*n)++] = &t->spans[i];
    if (*n)
        qsort(all, *n, sizeof *all, by_begin);
    return all;
}

/* When the loop computed: stretches that do not touch, and how much of them lies before each. */
typedef struct computing {
    uint64_t *begin, *end, *before;
    size_t    n;
} computing;

static computing computing_of(assay_facts *f, const assay_trace *t, const as_span *const *spans, size_t n)
{
    computing c = {AS_TAKE(&f->arena, uint64_t, n + 1), AS_TAKE(&f->arena, uint64_t, n + 1), AS_TAKE(&f->arena, uint64_t, n + 1),
                   0};
    for (size_t i = 0; i < n && c.begin && c.end && c.before; i++) {
        const as_span *s = spans[i];
        if (s->thread || (!is_of(t, s, AS_TRAINING_STEPS) && !is_of(t, s, AS_TRAINING_EVALUATES)))
            continue;
        if (c.n && s->begin_ticks <= c.end[c.n - 1]) {
            c.end[c.n - 1] = s->end_ticks > c.end[c.n - 1] ? s->end_ticks : c.end[c.n - 1];
            continue;
        }
        c.before[c.n] = c.n ? c.before[c.n - 1] + c.end[c.n - 1] - c.begin[c.n - 1] : 0;
        c.begin[c.n] = s->begin_ticks;
        c.end[c.n++] = s->end_ticks;
    }
    return c;
}

/* Ticks of computing up to a moment. */
static uint64_t computed_until(const computing *c, uint64_t ticks)
{
    size_t lo = 0, hi = c->n; /* the first that begins later */
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (c->begin[mid] <= ticks)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (!lo)
        return 0;
    uint64_t end = ticks < c->end[lo - 1] ? ticks : c->end[lo - 1];
    return c->before[lo - 1] + end - c->begin[lo - 1];
}

typedef struct hidden {
    uint64_t fill_ticks, hidden_ticks, n;
} hidden;

static assay_metric hidden_share(const hidden *h, const char *reason)
{
    return h->fill_ticks ? as_metric_derived((double)h->hidden_ticks / (double)h->fill_ticks, NAN, NAN, h->n, "ratio",
                                             "its spans of work, and what of them lies in spans of steps and evaluations")
                         : as_metric_unavailable("ratio", reason);
}

/* Time of a frame in a thread, exact: also of spans that were not kept. */
static uint64_t total_of(const assay_trace *t, int lane, const char *frame, bool *known)
{
    uint64_t ticks = 0;
    for (size_t i = 0; i < t->n_stack_totals; i++) {
        const as_stack_total *x = &t->stack_totals[i];
        if (x->lane != lane || x->stack >= t->n_stacks || strcmp(t->frames[t->stacks[x->stack].frame].name, frame))
            continue;
        ticks += x->sum_ticks;
        *known = true;
    }
    return ticks;
}

static assay_metric ticks_metric(const assay_trace *t, uint64_t ticks, const char *reason, bool known)
{
    return known ? as_metric_measured((double)ticks * t->ns_per_tick, NAN, NAN, 1, "ns", t->clock_name)
                 : as_metric_unavailable("ns", reason);
}

/* A row per thread: what it worked, how long it waited, and what of a loader's work the steps hid. */
static void hidden_add(assay_facts *f, as_fact_group *g, const assay_trace *t, double threads)
{
    static const char *const columns[] = {"name|thread", "work|working", "wait|waiting",
                                          "hidden|hidden behind steps and evaluation", NULL};
    static const char *const work[] = {AS_TRAINING_STEPS, AS_TRAINING_EVALUATES, AS_TRAINING_SAVES, AS_TRAINING_PLANS,
                                       AS_TRAINING_FILLS, AS_TRAINING_FILLS_VAL, AS_TRAINING_WRITES};
    size_t                   n;
    const as_span          **spans = spans_sort(f, t, &n);
    computing                c = computing_of(f, t, spans, n);
    hidden                   all = {0}, *by_lane = AS_TAKE(&f->arena, hidden, t->n_lanes + 1);
    as_table                *table = t->n_lanes > 1 ? as_facts_table(f, g, "threads", "Threads of the run", columns) : NULL;
    for (size_t i = 0; by_lane && i < n; i++)
        if (is_of(t, spans[i], AS_TRAINING_FILLS) || is_of(t, spans[i], AS_TRAINING_WRITES)) {
            hidden  *h = &by_lane[spans[i]->thread];
            uint64_t ticks = computed_until(&c, spans[i]->end_ticks) - computed_until(&c, spans[i]->begin_ticks);
            hidden   one = {spans[i]->end_ticks - spans[i]->begin_ticks, ticks, 1};
            *h = (hidden){h->fill_ticks + one.fill_ticks, h->hidden_ticks + one.hidden_ticks, h->n + 1};
            if (is_of(t, spans[i], AS_TRAINING_FILLS))
                all = (hidden){all.fill_ticks + one.fill_ticks, all.hidden_ticks + one.hidden_ticks, all.n + 1};
        }
    for (size_t i = 0; by_lane && i < t->n_lanes && i < MOST_LANES; i++) {
        const hidden *h = &by_lane[i];
        uint64_t      worked = 0;
        bool          has_work = false, has_waits = false;
        uint64_t waited = total_of(t, (int)i, AS_TRAINING_WAITS, &has_waits) + total_of(t, (int)i, AS_TRAINING_FULL, &has_waits);
        for (size_t k = 0; k < AS_COUNT(work); k++)
            worked += total_of(t, (int)i, work[k], &has_work);
        as_cell cells[] = {{.text = t->lanes[i].name},
                           {.metric = ticks_metric(t, worked, "it did nothing", has_work)},
                           {.metric = ticks_metric(t, waited, "it never waited", has_waits)},
                           {.metric = hidden_share(h, "nothing goes on beside it")}};
        if (table && (has_work || has_waits))
            as_facts_row(f, table, cells);
    }
    as_facts_add(f, g, "train.overlap", "of that, hidden behind steps and evaluation",
                 hidden_share(&all, threads > 0 ? "nothing was read" : "the loader has no thread of its own"));
}

static void loader_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    double wall = last_of(t, AS_TRAINED_TIME, "wall"), wait = last_of(t, AS_TRAINED_LOADER, "wait"),
           full = last_of(t, AS_TRAINED_LOADER, "full"), fill = last_of(t, AS_TRAINED_LOADER, "fill"),
           threads = last_of(t, AS_TRAINED_LOADER, "threads");
    as_facts_add(f, g, "train.wait_share", "the steps waited for data, share of the time",
                 wall > 0 ? as_metric_derived(wait / wall, NAN, NAN, 1, "ratio", "waiting / time of the run")
                          : as_metric_unavailable("ratio", "not recorded"));
    as_facts_add(f, g, "train.loader_full", "the loader waited for room", measured(full, 1, "ns", t->clock_name, "not recorded"));
    as_facts_add(f, g, "train.loader_fill", "time spent reading and preparing batches",
                 measured(fill, 1, "ns", t->clock_name, "not recorded"));
    hidden_add(f, g, t, threads);
}

/* --- Memory, and what crept up ----------------------------------------------------------------------------------------- */

static void memory_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    static const char *const columns[] = {"name|kind", "bytes|bytes", "share|share", NULL};
    double                   total = last_of(t, AS_TRAINED_BYTES, "total"), most = NAN;
    as_table                *table = as_facts_table(f, g, "memory", "Memory of a step by kind", columns);
    size_t                   prefix = strlen(AS_TRAINED_BYTES);
    for (size_t i = 0; table && i < t->n_metrics; i++) {
        const as_trace_metric *m = &t->metrics[i];
        if (strncmp(m->name, AS_TRAINED_BYTES, prefix) || !strcmp(m->name + prefix, "total") || !(m->value > 0))
            continue;
        bool apart = !strcmp(m->name + prefix, "frozen") || !strcmp(m->name + prefix, "loader") ||
                     !strcmp(m->name + prefix, "checkpoint copy");
        as_cell cells[] = {{.text = m->name + prefix},
                           {.metric = as_metric_counted((uint64_t)m->value, "byte", "the plan")},
                           {.metric = apart || !(total > 0)
                                          ? as_metric_unavailable("ratio", "it is not part of the plan's memory")
                                          : as_metric_derived(m->value / total, NAN, NAN, 1, "ratio", "bytes / memory of a step")}};
        as_facts_row(f, table, cells);
    }
    for (size_t i = 0; i < t->n_metrics; i++)
        if (!strcmp(t->metrics[i].name, AS_TRAINED_MEMORY) && !(most >= t->metrics[i].value))
            most = t->metrics[i].value;
    as_facts_add(f, g, "train.memory", "memory of a step", counted(total, "byte", "the plan", "not counted"));
    as_facts_add(f, g, "train.resident", "memory of the process, most",
                 measured(most, 1, "byte", "/proc/self/status VmRSS", "not read"));
}

static void drift_find(assay_facts *f, as_fact_group *g, const assay_trace *t, const char *name, const char *what, const char *unit)
{
    char                     key[32];
    double                   of[4];
    static const char *const parts[] = {"slope", "growth", "since", "lo"};
    for (int i = 0; i < 4; i++) {
        snprintf(key, sizeof key, "%s.%s", name, parts[i]);
        of[i] = last_of(t, AS_TRAINED_DRIFT, key);
    }
    snprintf(key, sizeof key, "%s.hi", name);
    double hi = last_of(t, AS_TRAINED_DRIFT, key);
    as_facts_add(f, g, as_say(f, "train.drift_%s", name), as_say(f, "%s, trend per update", what),
                 isfinite(of[0]) ? as_metric_measured(of[0], of[3], hi, 1, unit, "Theil-Sen slope, 99 %")
                                 : as_metric_unavailable(unit, "too few updates for a trend"));
    if (isfinite(of[2]))
        as_facts_find(f, g, AS_LEVEL_WARN, "%s creeps up since update %.0f: by %.0f %% over the run (%s per update).", what, of[2],
                      100 * of[1], as_say_number(f, of[0], unit));
}

static void troubles_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    const char *failed = as_trace_note_find(t, "train.checkpoint_failed"), *refused = as_trace_note_find(t, "train.refused");
    double      not_saved = as_trace_metric_last(t, AS_TRAINED_NOT_SAVED), skips = as_trace_metric_last(t, AS_TRAINED_SKIPS);
    if (t->reason && *t->reason)
        as_facts_find(f, g, t->state == AS_TRACE_PARTIAL ? AS_LEVEL_NOTE : AS_LEVEL_BAD, "%s.", t->reason);
    if (not_saved > 0)
        as_facts_find(f, g, AS_LEVEL_WARN, "%.0f checkpoints could not be written: %s.", not_saved,
                      failed ? failed : "not known why");
    const char *batch = as_trace_note_find(t, "train.batch_why");
    if (batch)
        as_facts_find(f, g, AS_LEVEL_NOTE, "%s.", batch);
    if (refused)
        as_facts_find(f, g, AS_LEVEL_WARN, "A newer checkpoint was not used: %s.", refused);
    if (skips > 0)
        as_facts_find(f, g, AS_LEVEL_NOTE,
                      "%.0f updates were left out because the gradient was not finite; the loss scale was halved each time.",
                      skips);
    drift_find(f, g, t, "cpu", "CPU time of an update", "ns");
    drift_find(f, g, t, "memory", "Memory of the process", "byte");
    drift_find(f, g, t, "heap", "Allocated memory", "byte");
}

/* --- What the threads did, one after the other ------------------------------------------------------------------------------ */

enum { MOST_SPANS = 160 };

static int by_frame(const void *a, const void *b)
{
    const as_span *x = *(const as_span *const *)a, *y = *(const as_span *const *)b;
    return x->thread != y->thread ? x->thread - y->thread : x->step != y->step ? (x->step < y->step ? -1 : 1) : by_begin(a, b);
}

/* A stretch of the spans around the end of an epoch, where everything happens; by thread, which is the source, and frame: end over begin. */
static void timeline_add(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    size_t          n, at = 0;
    const as_span **spans = spans_sort(f, t, &n);
    while (spans && at < n && !is_of(t, spans[at], AS_TRAINING_EVALUATES))
        at++;
    at = at == n ? n / 2 : at;
    size_t  first = at > MOST_SPANS / 2 ? at - MOST_SPANS / 2 : 0, end = n - first < MOST_SPANS ? n : first + MOST_SPANS;
    double *x = AS_TAKE(&f->arena, double, MOST_SPANS), *y = AS_TAKE(&f->arena, double, MOST_SPANS);
    if (!spans || !x || !y || first == end)
        return;
    qsort(spans + first, end - first, sizeof *spans, by_frame);
    for (size_t i = first, kept = 0; i < end; i++) {
        const as_span *s = spans[i], *next = i + 1 < end ? spans[i + 1] : NULL;
        x[kept] = (double)s->begin_ticks * t->ns_per_tick;
        y[kept++] = (double)s->end_ticks * t->ns_per_tick;
        if (next && next->thread == s->thread && next->step == s->step)
            continue;
        as_facts_series(f, g,
                        &(as_series){.key = as_say(f, "span.%u.%d", s->thread, s->step),
                                     .label = t->frames[s->step].name,
                                     .x_unit = "ns",
                                     .y_unit = "ns",
                                     .kind = ASSAY_MEASURED,
                                     .source = *t->lanes[s->thread].name ? t->lanes[s->thread].name : "a thread",
                                     .x = x,
                                     .y = y,
                                     .n = kept});
        kept = 0;
    }
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_fact_group *g = as_facts_group(f, "train", "Training");
    learned_add(f, g, t);
    curve_add(f, g, t, AS_TRAINED_LOSS, "loss", "loss", "1");
    curve_add(f, g, t, AS_TRAINED_EPOCH, "epoch_loss", "mean of an epoch", "1");
    curve_add(f, g, t, AS_TRAINED_VAL, "val_loss", "validation", "1");
    curve_add(f, g, t, AS_TRAINED_RATE, "rate", "learning rate", "1");
    curve_add(f, g, t, AS_TRAINED_NORM, "norm", "norm of the gradient", "1");
    curve_add(f, g, t, AS_TRAINED_SPEED, "speed", "samples per second", "1/s");
    curve_add(f, g, t, AS_TRAINED_BATCH, "batch", "batch size", "1");
    const char *score = as_trace_note_find(t, "train.score");
    if (score && *score)
        curve_add(f, g, t, as_say(f, "%s%s", AS_TRAINED_MEASURE, score), "score", score, "ratio");
    timeline_add(f, g, t);
    time_add(f, g, t);
    loader_add(f, g, t);
    memory_add(f, g, t);
    epochs_add(f, g, t);
    confusion_add(f, g, t);
    as_facts_add(f, g, "train.checkpoints", "checkpoints written",
                 counted(as_trace_metric_last(t, AS_TRAINED_SAVED), "1", "the training loop", "not recorded"));
    troubles_add(f, g, t);
}

const as_analysis as_an_train_run = {.name = "train_run", .order = 5, .of = 1u << AS_OF_TRAINING, .run = run};
