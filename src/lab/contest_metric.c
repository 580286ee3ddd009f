/* contest_metric.c - one metric per candidate of a comparison (option metric): bandwidth, operations per second, memory, with the share of the limit. */
#include <math.h>
#include <string.h>

#include "base/metric.h"
#include "base/text.h"
#include "lab/contest.h"
#include "trace/limit.h"

static const struct {
    const char *name, *label, *unit;
} kinds[] = {{"time", "Time of a call", "ns"},
             {"bandwidth", "Bytes moved per second", "GB/s"},
             {"tflops", "Useful operations per second", "TFLOP/s"},
             {"memory", "Peak memory", "MiB"},
             {"energy", "Energy of a call", "joule"}};

/* count / time, the bounds turned round. */
static assay_metric rate(double count, double scale, const assay_metric *time, const char *unit, const char *formula)
{
    if (isnan(count))
        return as_metric_unavailable(unit, "what a call does is not known");
    if (!as_metric_has(time) || !(time->value > 0))
        return as_metric_unavailable(unit, as_metric_has(time) ? "the time is zero" : time->reason);
    bool bounded = time->lo > 0;
    return as_metric_derived(count * scale / time->value, bounded ? count * scale / time->hi : (double)NAN,
                             bounded ? count * scale / time->lo : (double)NAN, time->n, unit, formula);
}

static assay_metric value_of(int kind, const as_trace_arm *arm, const assay_metric *time)
{
    switch (kind) {
    case 0: return *time;
    case 1: return rate(arm->ledger.bytes, 1, time, "GB/s", "bytes that must be moved at least once / time of a call");
    case 2: return rate(arm->ledger.flops, 1e-3, time, "TFLOP/s", "useful flops / time of a call");
    case 3:
        return as_number_derived(arm->ledger.peak_bytes / 0x1p20, NAN, NAN, 1, "MiB", "peak of the plan", "the peak is not known");
    default:
        return as_metric_unavailable("joule", "candidates take turns of a millisecond, and energy counters are slower: assay profile reads them");
    }
}

static assay_metric share_of(const as_trace_arm *arm, const assay_metric *time)
{
    double      share;
    as_standing standing = as_limit_judge(&arm->limit, as_metric_has(time) ? time->value : (double)NAN, time->hi, &share);
    if (standing == AS_STANDING_UNKNOWN || isnan(share))
        return as_metric_unavailable("ratio", standing == AS_STANDING_UNKNOWN ? "no limit is known: assay devices --measure measures them"
                                                                              : "above a limit that may be too low");
    return as_metric_derived(share, (double)NAN, (double)NAN, time->n, "ratio", "time at the limit / time");
}

/* The time of arm k of a row, as it was judged. */
static assay_metric time_of(const as_contest_row *row, int k)
{
    const char *source = as_trial_clock_text(row->trial);
    if (!k)
        return as_number_measured(row->duels[0].a_ns, row->duels[0].a_lo, row->duels[0].a_hi, row->duels[0].n_rounds, "ns", source,
                                  "nothing was measured");
    return as_duel_b_metric(&row->duels[k - 1], source);
}

/* "batch=32": 32; NaN: it has no number. */
static double number_of(const char *label)
{
    const char *equals = strrchr(label, '=');
    double      value;
    return as_parse_f64(equals ? equals + 1 : label, &value) ? value : (double)NAN;
}

void as_contest_metric_add(assay_facts *f, const as_contest *c, const char *metric)
{
    static const char *const columns[] = {"case|case", "name|candidate", "value|value", "of_limit|of its limit", "bound|limited by", NULL};
    int                      kind = 0;
    size_t                   n = 0;
    for (size_t i = 0; i < AS_COUNT(kinds); i++)
        if (!strcmp(kinds[i].name, metric))
            kind = (int)i;
    as_fact_group *g = as_facts_group(f, "metric", kinds[kind].label);
    as_table      *t = as_facts_table(f, g, "values", kinds[kind].label, columns);
    double        *x = AS_TAKE(&f->arena, double, c->n_rows * c->n_arms + 1), *y = AS_TAKE(&f->arena, double, c->n_rows * c->n_arms + 1);
    for (int i = 0; i < c->n_rows; i++)
        for (int k = 0; c->rows[i].trial && c->rows[i].trial->n_rounds && k < c->n_arms; k++) {
            const as_trace_arm *arm = &c->rows[i].trial->arms[k];
            assay_metric        time = time_of(&c->rows[i], k), value = value_of(kind, arm, &time);
            as_facts_row(f, t,
                         (as_cell[]){{.text = c->rows[i].trial->name},
                                     {.text = arm->name},
                                     {.metric = value},
                                     {.metric = share_of(arm, &time)},
                                     {.text = as_facts_keep(f, as_limit_bound(&arm->limit))}});
            if (x && y && c->n_rows == 1 && as_metric_has(&value) && isfinite(number_of(arm->name)))
                x[n] = number_of(arm->name), y[n++] = value.value;
        }
    if (n > 1)
        as_facts_series(f, g,
                        &(as_series){.key = "values",
                                     .label = kinds[kind].label,
                                     .x_unit = "1",
                                     .y_unit = kinds[kind].unit,
                                     .kind = ASSAY_DERIVED,
                                     .source = "the table of values",
                                     .x = x,
                                     .y = y,
                                     .n = n});
}
