/* rate_facts.c - what each candidate of a comparison did per second: table "rates" of the group "compare", and its courses over the batch. */
#include <math.h>

#include "analysis/duel/duel_facts.h"
#include "analysis/trace/evidence.h"
#include "trace/limit.h"

static const char *const columns[] = {"name|candidate",    "case|case",           "items|items per call",
                                      "time|time",         "bandwidth|bandwidth", "tflops|work rate",
                                      "of_limit|of limit", "bound|limited by",    NULL};

typedef struct course {
    double *x, *bandwidth, *tflops;
    size_t  n;
} course;

static void rate_add(assay_facts *f, as_table *t, const as_duel_row *row, bool first, course *c)
{
    const as_duel      *d = &row->duel;
    const as_trace_arm *arm = &row->trial->arms[first ? row->a : row->b];
    const char         *none = "nothing was measured", *no_work = "the work of a call is not known";
    assay_metric        time =
        first ? as_number_measured(d->a_ns, d->a_lo, d->a_hi, d->n_rounds, "ns", as_trial_clock_text(row->trial), none)
                     : as_duel_b_metric(d, as_trial_clock_text(row->trial));
    double ns = as_metric_has(&time) ? time.value : (double)NAN, bytes = arm->ledger.bytes * 1e9 / ns,
           flops = arm->ledger.flops * 1e9 / ns, share = (double)NAN;
    as_standing standing = as_limit_judge(&arm->limit, ns, time.hi, &share);
    as_facts_row(
        f, t,
        (as_cell[]){{.text = arm->name},
                    {.text = row->trial->name},
                    {.metric = as_number_counted(arm->items, "1", "batch", "the number of items per call is not known")},
                    {.metric = time},
                    {.metric = as_number_derived(bytes, NAN, NAN, time.n, "byte/s", "bytes that a call must move / time", no_work)},
                    {.metric = as_number_derived(flops, NAN, NAN, time.n, "flop/s", "useful flops of a call / time", no_work)},
                    {.metric = as_number_derived(share, NAN, NAN, time.n, "ratio", "time at the limits of this machine / time",
                                                 standing == AS_STANDING_UNKNOWN ? "no limit is known for it"
                                                                                 : "it is above a limit that may be too low")},
                    {.text = as_facts_keep(f, as_limit_bound(&arm->limit))}});
    if (arm->items > 0 && isfinite(bytes) && isfinite(flops))
        c->x[c->n] = arm->items, c->bandwidth[c->n] = bytes, c->tflops[c->n++] = flops;
}

static void course_add(assay_facts *f, as_fact_group *g, const course *c, const double *y, const char *key, const char *label,
                       const char *unit)
{
    as_facts_series(f, g,
                    &(as_series){.key = key,
                                 .label = label,
                                 .x_unit = "1",
                                 .y_unit = unit,
                                 .kind = ASSAY_DERIVED,
                                 .source = "table of rates",
                                 .x = c->x,
                                 .y = (double *)y,
                                 .n = c->n});
}

/* Whether a curve over the batch says anything: candidates of one trial that differ in nothing else. */
static bool is_course(const course *c, size_t n_trials)
{
    for (size_t i = 1; i < c->n; i++)
        if (c->x[i] <= c->x[i - 1])
            return false;
    return c->n > 1 && n_trials == 1;
}

void as_rates_add(assay_facts *f, const as_duel_row *rows, size_t n)
{
    bool   known = false;
    size_t n_trials = 0;
    course c = {.x = AS_TAKE(&f->arena, double, 2 * n),
                .bandwidth = AS_TAKE(&f->arena, double, 2 * n),
                .tflops = AS_TAKE(&f->arena, double, 2 * n)};
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < rows[i].trial->n_arms; k++)
            known = known || rows[i].trial->arms[k].ledger.bytes > 0 || rows[i].trial->arms[k].ledger.flops > 0;
    if (!known || !c.x || !c.bandwidth || !c.tflops)
        return; /* programs do not tell their work */
    as_fact_group *g = as_facts_group(f, "compare", "Compare");
    as_table      *t = as_facts_table(f, g, "rates", "What each did per second", columns);
    for (size_t i = 0; i < n; i++) {
        bool new_trial = !i || rows[i].trial != rows[i - 1].trial;
        n_trials += new_trial;
        if (new_trial)
            rate_add(f, t, &rows[i], true, &c);
        rate_add(f, t, &rows[i], false, &c);
    }
    if (!is_course(&c, n_trials))
        return;
    course_add(f, g, &c, c.bandwidth, "rates.bandwidth", "bandwidth", "byte/s");
    course_add(f, g, &c, c.tflops, "rates.tflops", "work rate", "flop/s");
}
