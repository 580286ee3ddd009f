/* evidence.c - samples, spans and readings of a trace, sorted and checked for the analyses. */
#include "analysis/trace/evidence.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/stats.h"
#include "base/text.h"

static void *take(assay_facts *f, size_t n, size_t bytes_each)
{
    void *p = as_arena_take(&f->arena, n, bytes_each, alignof(max_align_t));
    if (!p && f->status == ASSAY_OK)
        f->status = as_fail(f->env, ASSAY_NO_MEMORY, "analysis: not enough memory for %zu records of %zu bytes", n, bytes_each);
    return p;
}

const char *as_say(assay_facts *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = n >= 0 ? take(f, (size_t)n + 1, 1) : NULL;
    if (text)
        vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text ? text : "";
}

const char *as_say_number(assay_facts *f, double value, const char *unit)
{
    char buf[64];
    return as_say(f, "%s", as_show(buf, sizeof buf, value, unit));
}

/* as_show() gives three digits; a narrow interval would show the same number three times. */
const char *as_show_interval(char *buf, size_t size, const assay_metric *m)
{
    double middle = m->value != 0 ? m->value : m->hi;
    *buf = 0;
    if (!(m->lo < m->hi) || !isfinite(middle))
        return buf;
    as_scale scale = as_scale_for(middle, m->unit);
    int      decimals = (int)ceil(1 - log10((m->hi - m->lo) * scale.factor));
    decimals = decimals < 0 ? 0 : decimals > 6 ? 6 : decimals;
    snprintf(buf, size, "%.*f to %.*f%s%s", decimals, m->lo * scale.factor, decimals, m->hi * scale.factor, *scale.unit ? " " : "",
             scale.unit);
    return buf;
}

/* --- Samples ------------------------------------------------------------------------------------------ */

static bool clock_is_sound(const assay_trace *t)
{
    return t->ns_per_tick >= 1e-9 && t->ns_per_tick <= 1e9; /* covers every real clock, and no sum of times can overflow */
}

as_times as_times_read(assay_facts *f, const assay_trace *t)
{
    as_times out = {.ns = take(f, t->n_samples, sizeof(double)),
                    .cpu_ns = take(f, t->n_samples, sizeof(double)),
                    .at_s = take(f, t->n_samples, sizeof(double))};
    if (!out.ns || !out.cpu_ns || !out.at_s || !clock_is_sound(t))
        return (as_times){0};
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < t->n_samples; i++) {
        const as_sample *s = &t->samples[i];
        double           wall_ns = (double)(s->end_ticks - s->begin_ticks) * t->ns_per_tick;
        if (!s->n_runs || s->end_ticks < s->begin_ticks || !isfinite(wall_ns))
            continue;
        first = s->begin_ticks < first ? s->begin_ticks : first;
        last = s->end_ticks > last ? s->end_ticks : last;
        out.ns[out.n] = wall_ns / s->n_runs;
        out.cpu_ns[out.n] = s->cpu_ns == UINT64_MAX ? (double)NAN : (double)s->cpu_ns / s->n_runs;
        out.n_cpu += s->cpu_ns != UINT64_MAX;
        out.at_s[out.n++] = (double)s->begin_ticks;
    }
    for (size_t i = 0; i < out.n; i++)
        out.at_s[i] = (out.at_s[i] - (double)first) * t->ns_per_tick / 1e9;
    out.span_ns = out.n ? (double)(last - first) * t->ns_per_tick : 0;
    return out;
}

assay_metric as_median_metric(assay_facts *f, const double *x, size_t n, const char *unit, const char *source, const char *reason)
{
    as_interval interval;
    double     *scratch = take(f, n, sizeof *scratch);
    if (!n || !scratch)
        return as_metric_unavailable(unit, reason);
    if (as_segment_interval(x, n, AS_CONFIDENCE, scratch, &interval))
        return as_metric_measured(interval.value, interval.lo, interval.hi, n, unit, source);
    return as_metric_measured(as_median(x, n, scratch), NAN, NAN, n, unit, source);
}

assay_metric as_mean_metric(const double *x, size_t n, size_t n_runs, const char *unit, const char *source)
{
    enum { N_SEGMENTS = 20 };
    const double t_19 = 2.093; /* Student's, 95 %, for the spread of 20 */
    double       sum = 0, means = 0, squares = 0;
    size_t       length = n / N_SEGMENTS;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    double mean = sum / (double)n_runs;
    if (length < 2)
        return as_metric_measured(mean, NAN, NAN, n, unit, source);
    double segments[N_SEGMENTS] = {0};
    for (size_t i = 0; i < N_SEGMENTS; i++) {
        for (size_t k = 0; k < length; k++)
            segments[i] += x[i * length + k] / (double)length;
        means += segments[i] / N_SEGMENTS;
    }
    for (size_t i = 0; i < N_SEGMENTS; i++)
        squares += (segments[i] - means) * (segments[i] - means);
    double half = t_19 * sqrt(squares / (N_SEGMENTS - 1) / N_SEGMENTS);
    return as_metric_measured(mean, fmax(mean - half, 0), mean + half, n, unit, source);
}

/* The ratio means nothing where the calling thread waits for another device or where time is simulated. */
const char *as_cpu_time_is_mute(assay_facts *f, const assay_trace *t, const as_times *times)
{
    if (!strcmp(t->clock_name, "fake"))
        return "the clock is simulated: its time is not the machine's";
    if (*t->device && strncmp(t->device, "cpu", 3))
        return as_say(f, "the calling thread waits for the device %s, so its CPU time does not show it", t->device);
    return times->n_cpu ? NULL : "the thread's CPU clock was not read";
}

/* --- Spans -------------------------------------------------------------------------------------------- */

static const char *const transfer_ops[] = {"put", "get", "update", "transfer", "copy", NULL};

bool as_step_is_transfer(const as_trace_step *s)
{
    for (const char *const *op = transfer_ops; *op; op++)
        if (!strcasecmp(s->op, *op))
            return true;
    return false;
}

bool as_step_is_prologue(const as_trace_step *s) { return !strcmp(s->stage, "prologue"); }

static int by_run_and_step(const void *a, const void *b)
{
    const as_span *x = a, *y = b;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->begin_ticks != y->begin_ticks)
        return x->begin_ticks < y->begin_ticks ? -1 : 1;
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const as_span *x = a, *y = b;
    return x->begin_ticks < y->begin_ticks ? -1 : x->begin_ticks > y->begin_ticks;
}

/* Most records are in order already, and sorting a million spans takes longer than all that is made of them. */
static void spans_sort(as_span *spans, size_t n, int (*compare)(const void *a, const void *b))
{
    size_t i = 1;
    while (i < n && compare(&spans[i - 1], &spans[i]) <= 0)
        i++;
    if (i < n)
        qsort(spans, n, sizeof *spans, compare);
}

/* Copies the sound spans of one kind, in order of run and step. */
static as_span *spans_of(assay_facts *f, const assay_trace *t, as_span_kind kind, size_t *n)
{
    size_t count = 0;
    for (size_t i = 0; i < t->n_spans; i++)
        count += t->spans[i].kind == kind;
    as_span *spans = take(f, count, sizeof *spans);
    *n = 0;
    if (!spans || !clock_is_sound(t))
        return spans;
    for (size_t i = 0; i < t->n_spans; i++) {
        const as_span *s = &t->spans[i];
        bool           has_step = s->step >= 0 && (size_t)s->step < t->n_steps;
        if (s->kind == kind && s->end_ticks >= s->begin_ticks && (has_step || kind == AS_SPAN_RUN))
            spans[(*n)++] = *s;
    }
    spans_sort(spans, *n, by_run_and_step);
    return spans;
}

/* Spans of the same step in the same run, of several threads, are one: from the first begin to the last end. */
static size_t steps_join(as_span *spans, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        as_span *last = kept ? &spans[kept - 1] : NULL;
        if (last && last->run == spans[i].run && last->step == spans[i].step)
            last->end_ticks = spans[i].end_ticks > last->end_ticks ? spans[i].end_ticks : last->end_ticks;
        else
            spans[kept++] = spans[i];
    }
    return kept;
}

/* Cuts the spans of one run so that they lie inside [begin, end) and every tick belongs to at most one of them: the one that
 * began first.  Sorts them by begin; returns the ticks that they cover. */
static uint64_t spans_cut(as_span *spans, size_t n, uint64_t begin, uint64_t end)
{
    uint64_t covered = 0, at = begin;
    spans_sort(spans, n, by_begin);
    for (size_t i = 0; i < n; i++) {
        uint64_t from = spans[i].begin_ticks > at ? spans[i].begin_ticks : at;
        uint64_t to = spans[i].end_ticks < end ? spans[i].end_ticks : end;
        to = to > from ? to : from;
        spans[i].begin_ticks = from;
        spans[i].end_ticks = to;
        covered += to - from;
        at = to > at ? to : at;
    }
    return covered;
}

static size_t count_runs(const as_span *spans, size_t n, uint64_t n_timed_runs, bool detailed)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if ((!i || spans[i].run != spans[i - 1].run) && (spans[i].run >= n_timed_runs) == detailed)
            count++;
    return count;
}

/* The spans [*i, *i + n) of `run`; *i moves behind them. */
static size_t run_take(const as_span *spans, size_t n, size_t *i, uint32_t run)
{
    while (*i < n && spans[*i].run < run)
        (*i)++;
    size_t begin = *i;
    while (*i < n && spans[*i].run == run)
        (*i)++;
    return *i - begin;
}

static double span_ns(const assay_trace *t, const as_span *s) { return (double)(s->end_ticks - s->begin_ticks) * t->ns_per_tick; }

static double transfers_ns(const assay_trace *t, const as_span *spans, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        if (as_step_is_transfer(&t->steps[spans[i].step]))
            sum += span_ns(t, &spans[i]);
    return sum;
}

/* One record per RUN span, with the time that its inner spans explain. */
static void runs_collect(assay_facts *f, const assay_trace *t, as_kept *k, as_span *inner, size_t n_inner)
{
    size_t   n_walls, at = 0;
    as_span *walls = spans_of(f, t, AS_SPAN_RUN, &n_walls);
    k->runs = take(f, n_walls, sizeof *k->runs);
    if (!walls || !k->runs)
        return;
    for (size_t i = 0; i < n_walls; i++) {
        const as_span *w = &walls[i];
        if (i && w->run == walls[i - 1].run)
            continue; /* a second RUN span of the same run: keep the first */
        size_t       n = run_take(inner, n_inner, &at, w->run);
        as_span     *own = inner + (at - n);
        as_kept_run *run = &k->runs[k->n_runs++];
        *run = (as_kept_run){.run = w->run, .detailed = w->run >= t->n_runs, .wall_ns = span_ns(t, w)};
        run->explained_ns = n ? (double)spans_cut(own, n, w->begin_ticks, w->end_ticks) * t->ns_per_tick : (double)NAN;
        run->transfer_ns = n ? transfers_ns(t, own, n) : (double)NAN;
    }
}

static int run_compare(const void *key, const void *item)
{
    uint32_t run = *(const uint32_t *)key, other = ((const as_kept_run *)item)->run;
    return run < other ? -1 : run > other;
}

static as_kept_run *run_find(const as_kept *k, uint32_t run)
{
    return k->n_runs ? bsearch(&run, k->runs, k->n_runs, sizeof *k->runs, run_compare) : NULL;
}

/* The spans of a run stand together: it is looked up once. */
static void spans_count(const assay_trace *t, as_kept *k)
{
    as_kept_run *run = NULL;
    for (size_t i = 0; i < t->n_spans; i++) {
        if (!i || t->spans[i].run != t->spans[i - 1].run)
            run = run_find(k, t->spans[i].run);
        if (run)
            run->n_spans++;
    }
}

/* --- Uninterrupted runs --------------------------------------------------------------------------------- */

#define MIN_SLACK  0.05
#define MAX_SLACK  0.25
#define MAX_SPREAD 0.25
#define SPREADS    3.0

/* The bound above which a run is slower than the fast runs can explain.  Takes sorted wall times. */
static double clean_bound(const double *walls, size_t n)
{
    double low = as_quantile_sorted(walls, n, .05), base = as_quantile_sorted(walls, n, .25);
    if (base > (1 + MAX_SPREAD) * low)
        base = low;
    return base + fmin(fmax(SPREADS * (base - low), MIN_SLACK * base), MAX_SLACK * base);
}

/* A sample of several runs does not show which of them lost the CPU; the bound does. */
static void cpu_judge(assay_facts *f, const assay_trace *t, as_kept *k)
{
    as_times times = as_times_read(f, t);
    if (as_cpu_time_is_mute(f, t, &times))
        return;
    for (size_t i = 0; i < t->n_samples; i++) {
        const as_sample *s = &t->samples[i];
        as_kept_run     *run = s->n_runs == 1 && s->cpu_ns != UINT64_MAX ? run_find(k, s->first_run) : NULL;
        double           wall_ns = (double)(s->end_ticks - s->begin_ticks) * t->ns_per_tick;
        if (run && s->end_ticks >= s->begin_ticks && (double)s->cpu_ns < AS_CLEAN_RATIO * wall_ns)
            run->clean = false;
    }
}

static void runs_judge(assay_facts *f, const assay_trace *t, as_kept *k, const as_span *inner, size_t n_inner)
{
    double *walls = take(f, k->n_runs, sizeof *walls);
    size_t  n = 0;
    for (size_t i = 0; i < k->n_runs; i++)
        k->n_used += k->runs[i].clean = as_kept_uses(k, &k->runs[i]);
    for (size_t i = 0; i < n_inner; i++) { /* a run that includes the set-up is not like the others */
        as_kept_run *run = as_step_is_prologue(&t->steps[inner[i].step]) ? run_find(k, inner[i].run) : NULL;
        if (run)
            run->clean = false;
    }
    cpu_judge(f, t, k);
    for (size_t i = 0; walls && i < k->n_runs; i++)
        if (k->runs[i].clean)
            walls[n++] = k->runs[i].wall_ns;
    if (!n)
        return;
    as_sort(walls, n);
    double bound = clean_bound(walls, n), timed_bound = as_trace_run_bound_ns(t);
    for (size_t i = 0; i < k->n_runs; i++) {
        as_kept_run *run = &k->runs[i];
        run->clean = run->clean && run->wall_ns <= fmin(bound, timed_bound + as_trace_spans_ns(t, (uint64_t)run->n_spans));
        k->n_clean += run->clean;
        k->clean_wall_ns += run->clean ? run->wall_ns : 0;
    }
}

/* The time of every step in each run, cut in the same way as for the time accounted for. */
static void steps_collect(assay_facts *f, const assay_trace *t, as_kept *k, const as_span *spans, size_t n)
{
    size_t *counts = take(f, t->n_steps, sizeof *counts);
    if (!counts)
        return;
    for (size_t i = 0; i < n; i++)
        counts[spans[i].step]++;
    for (size_t s = 0; s < t->n_steps; s++) {
        k->steps[s] = (as_step_times){.ns = take(f, counts[s], sizeof(double)), .clean_ns = take(f, counts[s], sizeof(double))};
        if (!k->steps[s].ns || !k->steps[s].clean_ns)
            return;
    }
    for (size_t i = 0; i < n; i++) {
        as_step_times     *times = &k->steps[spans[i].step];
        const as_kept_run *run = run_find(k, spans[i].run);
        double             ns = span_ns(t, &spans[i]);
        if (run ? as_kept_uses(k, run) || as_step_is_prologue(&t->steps[spans[i].step])
                : k->uses_detailed || spans[i].run < t->n_runs)
            times->ns[times->n++] = ns;
        if (run && run->clean) {
            times->clean_ns[times->n_clean++] = ns;
            times->clean_sum_ns += ns;
        }
    }
}

/* Spans of the host are preferred, then the device's own stamps, then segments where no step was recorded. */
as_kept as_kept_read(assay_facts *f, const assay_trace *t)
{
    as_kept  k = {.steps = take(f, t->n_steps, sizeof *k.steps)};
    size_t   n;
    as_span *inner = spans_of(f, t, AS_SPAN_STEP, &n);
    if (!n) {
        inner = spans_of(f, t, AS_SPAN_DEVICE, &n);
        k.by_device = n > 0;
    }
    if (!k.steps || !inner)
        return (as_kept){0};
    n = steps_join(inner, n);
    k.n_timed = count_runs(inner, n, t->n_runs, false);
    k.n_detailed = count_runs(inner, n, t->n_runs, true);
    k.uses_detailed = k.n_timed < AS_KEPT_ENOUGH && k.n_detailed > 0;
    if (!n) {
        inner = spans_of(f, t, AS_SPAN_SEGMENT, &n);
        k.by_segment = true;
    }
    if (!inner)
        return (as_kept){0};
    runs_collect(f, t, &k, inner, n);
    spans_count(t, &k);
    runs_judge(f, t, &k, inner, n);
    if (!k.by_segment)
        steps_collect(f, t, &k, inner, n);
    return k;
}

bool as_kept_uses(const as_kept *k, const as_kept_run *run)
{
    return isfinite(run->explained_ns) && run->wall_ns > 0 && (k->uses_detailed || !run->detailed);
}

bool as_kept_counts(const as_kept *k, const as_kept_run *run) { return as_kept_uses(k, run) && (run->clean || !k->n_clean); }

/* --- Sensors ------------------------------------------------------------------------------------------ */

int as_sensor_find(const assay_trace *t, const char *name)
{
    for (size_t i = 0; i < t->n_sensors; i++)
        if (!strcmp(t->sensors[i].name, name))
            return (int)i;
    return -1;
}

assay_metric as_sensor_metric(assay_facts *f, const assay_trace *t, size_t index)
{
    const as_trace_sensor *s = &t->sensors[index];
    const char            *unit = *s->unit ? s->unit : "1", *source = *s->source ? s->source : s->name;
    if (s->reason)
        return as_metric_unavailable(unit, *s->reason ? s->reason : "the sensor could not be opened");
    double *values = take(f, t->n_readings, sizeof *values);
    size_t  n = 0;
    for (size_t i = 0; values && i < t->n_readings; i++)
        if (t->readings[i].sensor == index && isfinite(t->readings[i].value))
            values[n++] = t->readings[i].value;
    if (!n)
        return as_metric_unavailable(unit, "every reading failed");
    if (!strcmp(s->meaning, "delta")) {
        if (n < 2)
            return as_metric_unavailable(unit, "a difference needs two readings, and there is one");
        if (!isfinite(values[n - 1] - values[0]))
            return as_metric_unavailable(unit, "the difference of the readings is too large");
        return as_metric_measured(values[n - 1] - values[0], NAN, NAN, n, unit, source);
    }
    as_sort(values, n);
    double value = !strcmp(s->meaning, "peak") ? values[n - 1] : values[n / 2]; /* a value that was really read, not a mean of
                                                                                 * two */
    return as_metric_measured(value, NAN, NAN, n, unit, source);
}
