/* trial_facts.c - numbers, series and notes of a trial. */
#include "analysis/duel/duel_facts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace/evidence.h"
#include "base/text.h"

/* --- Numbers ------------------------------------------------------------------------------------------------ */

static void bounds_fit(double value, double *lo, double *hi)
{
    if (!isfinite(*lo) || !isfinite(*hi))
        *lo = *hi = (double)NAN;
    else
        *lo = fmin(*lo, value), *hi = fmax(*hi, value);
}

assay_metric as_number_measured(double value, double lo, double hi, uint64_t n, const char *unit, const char *source,
                                const char *reason)
{
    if (!isfinite(value))
        return as_metric_unavailable(unit, reason);
    bounds_fit(value, &lo, &hi);
    return as_metric_measured(value, lo, hi, n, unit, source);
}

assay_metric as_number_derived(double value, double lo, double hi, uint64_t n, const char *unit, const char *formula,
                               const char *reason)
{
    if (!isfinite(value))
        return as_metric_unavailable(unit, reason);
    bounds_fit(value, &lo, &hi);
    return as_metric_derived(value, lo, hi, n, unit, formula);
}

assay_metric as_number_counted(double value, const char *unit, const char *source, const char *reason)
{
    return value >= 0 && value < 0x1p63 ? as_metric_counted((uint64_t)value, unit, source) : as_metric_unavailable(unit, reason);
}

const char *as_trial_clock_text(const assay_trace *t)
{
    return t->by_cpu ? "thread CPU time of a block / its calls" : "wall time of a block / its calls";
}

/* --- Series ------------------------------------------------------------------------------------------------- */

/* Points of a series, at most AS_SERIES_MAX: every `step`-th of them. */
typedef struct points {
    double *x, *y;
    size_t  n, seen, step;
} points;

static bool points_begin(assay_facts *f, points *p, size_t n)
{
    size_t room = n < AS_SERIES_MAX ? n : AS_SERIES_MAX;
    *p = (points){.x = AS_TAKE(&f->arena, double, room),
                  .y = AS_TAKE(&f->arena, double, room),
                  .step = (n + AS_SERIES_MAX - 1) / AS_SERIES_MAX};
    return p->x && p->y;
}

static void points_add(points *p, double x, double y)
{
    if (p->seen++ % p->step == 0)
        p->x[p->n] = x, p->y[p->n++] = isinf(y) ? (double)NAN : y;
}

static void points_end(assay_facts *f, as_fact_group *g, const points *p, const char *key, const char *label, const char *unit,
                       const char *source)
{
    bool any = false;
    for (size_t i = 0; i < p->n && !any; i++)
        any = isfinite(p->y[i]);
    if (!any)
        return;
    if (p->step > 1)
        label = as_say(f, "%s (every %zuth)", label, p->step);
    as_facts_series(f, g,
                    &(as_series){.key = key,
                                 .label = label,
                                 .x_unit = "s",
                                 .y_unit = unit,
                                 .kind = ASSAY_MEASURED,
                                 .source = source,
                                 .x = p->x,
                                 .y = p->y,
                                 .n = p->n});
}

typedef enum column { COLUMN_TIME, COLUMN_BUSY, COLUMN_FMA, COLUMN_COPY } column;

/* One column of the blocks; arm -1: of all candidates. */
static void blocks_add(assay_facts *f, as_fact_group *g, const assay_trace *t, int arm, column which, const char *key,
                       const char *label, const char *unit, const char *source)
{
    points p;
    size_t n = 0;
    for (size_t i = 0; i < t->n_turns; i++)
        n += arm < 0 || t->turns[i].arm == (uint32_t)arm;
    if (!n || !points_begin(f, &p, n))
        return;
    for (size_t i = 0; i < t->n_turns; i++) {
        const as_turn *turn = &t->turns[i];
        double         y = which == COLUMN_TIME   ? as_turn_ns(t, turn)
                           : which == COLUMN_BUSY ? turn->busy
                           : which == COLUMN_FMA  ? turn->fma_ns
                                                  : turn->copy_ns;
        if (arm < 0 || turn->arm == (uint32_t)arm)
            points_add(&p, turn->start_ns * 1e-9, y);
    }
    points_end(f, g, &p, key, label, unit, source);
}

void as_trial_series(assay_facts *f, as_fact_group *g, const assay_trace *t, int i_case)
{
    for (int arm = 0; arm < t->n_arms; arm++) {
        const char *name = t->arms[arm].name ? t->arms[arm].name : "?";
        blocks_add(f, g, t, arm, COLUMN_TIME, as_say(f, "%d.blocks.%d", i_case, arm), name, "ns", as_trial_clock_text(t));
        blocks_add(f, g, t, arm, COLUMN_BUSY, as_say(f, "%d.busy.%d", i_case, arm), name, "ratio",
                   "CPU time / wall time of a block");
    }
    blocks_add(f, g, t, -1, COLUMN_FMA, as_say(f, "%d.fma", i_case), "FMA probe", "ns", "a register-only loop after each block");
    blocks_add(f, g, t, -1, COLUMN_COPY, as_say(f, "%d.copy", i_case), "copy probe", "ns", "a streaming copy after each block");
}

/* The samples of a candidate that the trial kept. */
static size_t shots_count(const assay_trace *t, int arm)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_turns; i++)
        if (t->turns[i].arm == (uint32_t)arm && t->turns[i].first_shot <= t->n_shots &&
            t->turns[i].n_shots <= t->n_shots - t->turns[i].first_shot)
            n += t->turns[i].n_shots;
    return t->n_shots ? n : 0;
}

void as_trial_samples(assay_facts *f, as_fact_group *g, const assay_trace *t, int arm, int i_case)
{
    size_t n = shots_count(t, arm);
    points p;
    if (!n) {
        blocks_add(f, g, t, arm, COLUMN_TIME, as_say(f, "%d.means", i_case), as_say(f, "blocks of %s", t->name), "ns",
                   as_trial_clock_text(t));
        return;
    }
    if (!points_begin(f, &p, n))
        return;
    for (size_t i = 0; i < t->n_turns; i++) {
        const as_turn *turn = &t->turns[i];
        if (turn->arm != (uint32_t)arm || turn->first_shot > t->n_shots || turn->n_shots > t->n_shots - turn->first_shot)
            continue;
        for (uint32_t k = 0; k < turn->n_shots; k++) {
            const as_shot *shot = &t->shots[turn->first_shot + k];
            points_add(&p, turn->start_ns * 1e-9, (double)(t->by_cpu ? shot->cpu_ns : shot->wall_ns));
        }
    }
    points_end(f, g, &p, as_say(f, "%d.samples", i_case), as_say(f, "samples of %s", t->name), "ns",
               t->by_cpu ? "thread CPU time of a sample / its calls" : "wall time of a sample / its calls");
}

/* --- Notes -------------------------------------------------------------------------------------------------- */

void as_trial_notes(assay_facts *f, const assay_trace *t)
{
    char    text[AS_DATE_BYTES];
    int64_t seconds = as_trace_unix_time(t);
    if (seconds > 0)
        as_facts_note(f, "trace.started", as_say(f, "%s UTC", as_date_text(text, sizeof text, seconds, AS_DATE_SECOND)));
    for (size_t i = 0; i < t->n_notes; i++)
        as_facts_note(f, t->notes[i].key, t->notes[i].value);
    if (*t->fingerprint)
        as_facts_note(f, "machine.fingerprint", t->fingerprint);
    as_facts_note(f, "trial.clock", t->by_cpu ? "thread CPU time" : "wall time");
    as_facts_note(f, "trial.memory", as_memory_layout_text(t->memory));
    as_facts_note(f, "trial.seed", as_say(f, "%" PRIu64, t->seed));
}
