/* an_roofline.c - each step against what its device can do: which limit applies, how near the step is to it, and what could be
 * gained.
 *
 * trace/limit.h computes the limit of a step and judges what is above it: the same rule as for bench rows and refusals. */
#include <math.h>
#include <string.h>

#include "analysis/trace/evidence.h"
#include "trace/limit.h"

/* --- All steps ----------------------------------------------------------------------------------------- */

enum {
    NAME,
    OP,
    TIME,
    BOUND,
    LEVEL,
    STANDING,
    ROOF,
    ROOF_RATE,
    OF_ROOF,
    RECOVERABLE,
    FLOPS,
    ISSUED_FLOPS,
    BYTES,
    ISSUED_BYTES,
    WORKING_SET,
    INTENSITY,
    RATE,
    N_COLUMNS
};
static const char *const columns[] = {
    "name|layer",
    "op|op",
    "time|time",
    "bound|limited by",
    "level|reaches",
    "standing|against its limit",
    "roof|limit",
    "roof_rate|limit rate",
    "of_roof|of limit",
    "recoverable|recoverable",
    "flops|work",
    "issued_flops|issued work",
    "bytes|compulsory",
    "issued_bytes|issued",
    "working_set|working set",
    "intensity|intensity",
    "rate|work rate",
    NULL,
};

static assay_metric issued(uint64_t value, uint64_t definition, const char *unit)
{
    return value ? as_metric_counted(value, unit, "as the kernel states")
                 : as_metric_counted(definition, unit, "operator definition");
}

static assay_metric over(double value, double by, uint64_t n, const char *unit, const char *formula, const char *reason)
{
    if (!(by > 0) || !isfinite(value / by))
        return as_metric_unavailable(unit, reason);
    return as_metric_derived(value / by, (double)NAN, (double)NAN, n, unit, formula);
}

/* A share above 1 is never shown as a number: the row says "at its limit", in doubt or refused. */
static assay_metric share_of(assay_facts *f, const as_limit *l, const assay_metric *time, as_standing standing, double share,
                             const char *none)
{
    switch (standing) {
    case AS_STANDING_BELOW: return as_metric_derived(share, (double)NAN, (double)NAN, time->n, "ratio", "time at the limit / time");
    case AS_STANDING_AT:
        return as_metric_derived(share, (double)NAN, (double)NAN, time->n, "ratio",
                                 as_facts_keep(f, as_say(f, "at its limit: %.1f %% above it, within the margin of 5 %%",
                                                         100 * (l->ns / time->value - 1))));
    case AS_STANDING_DOUBT: return as_metric_unavailable("ratio", "above a limit that may be too low");
    case AS_STANDING_ABOVE: return as_metric_unavailable("ratio", "refused: above its limit");
    default: return as_metric_unavailable("ratio", none);
    }
}

static void row_add(assay_facts *f, as_table *table, const as_trace_step *s, const assay_metric *time, const as_limit *l,
                    as_standing standing, double share, double whole_ns)
{
    uint64_t    bytes = s->bytes_read + s->bytes_written;
    bool        timed = as_metric_has(time) && time->value > 0, limited = l->ns > 0;
    const char *no_limit = "no such limit was measured, or the step has no work to count",
               *why = timed ? no_limit : "the step was not timed";
    as_cell c[N_COLUMNS] = {
        [NAME] = {.text = *s->name ? s->name : "-"},
        [OP] = {.text = *s->op ? s->op : "-"},
        [TIME] = {.metric = *time},
        [BOUND] = {.text = as_facts_keep(f, as_limit_bound(l))},
        [LEVEL] = {.text = *l->level ? as_facts_keep(f, l->level) : "-"},
        [STANDING] = {.text = as_standing_text(standing)},
        [ROOF] = {.text = l->name},
        [ROOF_RATE] = {.metric = limited ? as_metric_derived(
                                               l->rate, (double)NAN, (double)NAN, 1, as_limit_unit(l),
                                               "limits of this trace, weighted by the cache levels that hold the working set")
                                         : as_metric_unavailable("1", no_limit)},
        [OF_ROOF] = {.metric = share_of(f, l, time, standing, share, why)},
        [FLOPS] = {.metric = as_metric_counted(s->flops, "flop", "operator definition")},
        [ISSUED_FLOPS] = {.metric = issued(s->issued_flops, s->flops, "flop")},
        [BYTES] = {.metric = as_metric_counted(bytes, "byte", "operator definition")},
        [ISSUED_BYTES] = {.metric = issued(s->issued_bytes, bytes, "byte")},
        [WORKING_SET] = {.metric = as_metric_counted(s->working_set_bytes, "byte", "plan")},
        [INTENSITY] = {.metric = over((double)s->flops, (double)bytes, 1, "flop/byte", "flops / compulsory bytes", "no bytes")},
        [RATE] = {.metric = timed ? over((double)s->flops * 1e9, time->value, time->n, "flop/s", "flops / time", "no time")
                                  : as_metric_unavailable("flop/s", why)},
    };
    c[RECOVERABLE].metric = timed && limited ? over(fmax(0, time->value - l->ns), whole_ns, time->n, "ratio",
                                                    "(time - time at the limit) / time of all steps", why)
                                             : as_metric_unavailable("ratio", why);
    as_facts_row(f, table, c);
}

static void doubt_find(assay_facts *f, as_fact_group *g, const as_trace_step *s, const as_limit *l)
{
    as_facts_find(
        f, g, AS_LEVEL_NOTE, /* concerns the limit: the time itself is right */
        l->on_the_spot
            ? "%s is above its limit (%s), which was measured on a busy machine and may be too low: no share of the limit is given."
            : "%s is above its limit (%s), which was not measured in this session and may be too low: no share of the limit is given.",
        s->name, l->name);
}

static void above_find(assay_facts *f, as_fact_group *g, const as_trace_step *s, const assay_metric *time, const as_limit *l)
{
    as_facts_find(
        f, g, AS_LEVEL_BAD,
        "%s is above its limit, which is a measuring error: it took at most %s for work that takes at least %s at %s, "
        "measured again in this session, and the two differ by more than 5 %%. Do not trust any number of this step; look "
        "for wrong units, wrong counts or a wrong limit.",
        s->name, as_say_number(f, isnan(time->hi) ? time->value : time->hi, "ns"), as_say_number(f, l->ns, "ns"), l->name);
}

static const assay_metric *time_at(const as_table *layers, int row)
{
    for (int k = 0; k < layers->n_columns; k++)
        if (!strcmp(layers->columns[k].key, "time"))
            return layers->cells[row * layers->n_columns + k].text ? NULL : &layers->cells[row * layers->n_columns + k].metric;
    return NULL;
}

typedef struct tally {
    int         n, n_timed, n_above, n_doubt;
    double      whole, least, worst_gain;
    const char *worst_name, *worst_bound;
    double      worst_of;
} tally;

/* The limits of each device that ran a step; read once. */
typedef struct devices {
    const char *name[8];
    as_limits   limits[8];
    bool        known[8];
    int         n;
} devices;

/* NULL: none was measured for it. */
static const as_limits *limits_of(devices *d, const assay_trace *t, const char *device, int n_threads)
{
    int i = 0;
    while (i < d->n && strcmp(d->name[i], device))
        i++;
    if (i == (int)AS_COUNT(d->name))
        return NULL;
    if (i == d->n) {
        d->name[d->n++] = device;
        d->known[i] = as_limits_read(t, device, n_threads, &d->limits[i]);
    }
    return d->known[i] ? &d->limits[i] : NULL;
}

/* The steps of the body in the order of the layers' table, each with its time. */
static void steps_judge(assay_facts *f, as_fact_group *g, const assay_trace *t, const as_table *layers, tally *out)
{
    as_table *table = as_facts_table(f, g, "steps", "Steps against their limits", columns);
    tally     sum = {0};
    devices   d = {.n = 0};
    int       threads = t->threads > 0 ? t->threads : 1;
    for (int i = 0; i < layers->n_rows; i++)
        if (time_at(layers, i) && as_metric_has(time_at(layers, i)))
            sum.whole += time_at(layers, i)->value;
    for (size_t i = 0; i < t->n_steps && sum.n < layers->n_rows; i++) {
        const as_trace_step *s = &t->steps[i];
        double               share;
        if (as_step_is_prologue(s))
            continue;
        const assay_metric *time = time_at(layers, sum.n++);
        const as_limits    *limits = time ? limits_of(&d, t, s->device, threads) : NULL;
        if (!limits)
            continue;
        as_limit    l = as_limit_of_step(limits, s);
        as_standing standing = as_limit_judge(&l, as_metric_has(time) ? time->value : (double)NAN, time->hi, &share);
        row_add(f, table, s, time, &l, standing, share, sum.whole);
        if (standing == AS_STANDING_UNKNOWN)
            continue;
        sum.n_timed++;
        sum.least += fmin(l.ns, time->value); /* a step cannot need more than its whole time */
        sum.n_doubt += standing == AS_STANDING_DOUBT;
        sum.n_above += standing == AS_STANDING_ABOVE;
        if (standing == AS_STANDING_DOUBT)
            doubt_find(f, g, s, &l);
        else if (standing == AS_STANDING_ABOVE)
            above_find(f, g, s, time, &l);
        if (time->value - l.ns > sum.worst_gain)
            sum.worst_gain = time->value - l.ns, sum.worst_name = s->name, sum.worst_bound = as_facts_keep(f, as_limit_bound(&l)),
            sum.worst_of = share;
    }
    *out = sum;
}

static void limits_say(assay_facts *f, as_fact_group *g, const assay_trace *t)
{
    const as_trace_roof *disturbed = NULL, *lower = NULL;
    for (size_t i = 0; i < t->n_roofs; i++) {
        const as_trace_roof *r = &t->roofs[i];
        if (as_trace_roof_find(t, r->device, r->name) != r)
            continue;
        disturbed = !disturbed && r->disturbed ? r : disturbed;
        lower = !isnan(r->today) && (!lower || r->today / r->value < lower->today / lower->value) ? r : lower;
    }
    if (disturbed)
        as_facts_find(f, g, AS_LEVEL_NOTE, "Some limits were measured on a busy machine and may be too low (%s: %s).",
                      disturbed->name, disturbed->source);
    if (lower)
        as_facts_find(f, g, AS_LEVEL_NOTE, "%s is lower today: %s, %.0f %% below the best measured, which is the limit.",
                      lower->name, as_say_number(f, lower->today, lower->unit), 100 * fabs(1 - lower->today / lower->value));
}

/* With too few uninterrupted runs no step is named: the time may be the neighbour's. */
static void hotspot_add(assay_facts *f, as_fact_group *g, const tally *sum)
{
    const assay_metric *found = as_facts_metric(f, "layers.undisturbed_runs");
    double              clean = found ? found->value : AS_CLEAN_ENOUGH;
    bool                judged = clean >= AS_CLEAN_ENOUGH && sum->worst_gain > 0;
    as_facts_add(
        f, g, "roofline.hotspot", "of this, at the hotspot",
        judged ? over(sum->worst_gain, sum->whole, (uint64_t)sum->n_timed, "ratio",
                      "largest (time - time at the limit) of a step / time of all steps", "no time")
               : as_metric_unavailable("ratio", clean >= AS_CLEAN_ENOUGH
                                                    ? "no timed step is below its limit"
                                                    : as_say(f, "%.0f uninterrupted runs; %d are needed", clean, AS_CLEAN_ENOUGH)));
    if (judged)
        as_facts_find(f, g, AS_LEVEL_NOTE,
                      "Hotspot: %s (limited by %s) runs at %.0f %% of its limit; reaching it would save %.1f %% of the run.",
                      sum->worst_name, sum->worst_bound, 100 * sum->worst_of, 100 * sum->worst_gain / sum->whole);
}

static void run(assay_facts *f, const assay_trace *t)
{
    const as_table *layers = as_facts_table_find(f, "layers", "steps");
    if (!t->n_roofs || !layers)
        return;
    as_fact_group *g = as_facts_group(f, "roofline", "Roofline");
    tally          sum;
    layers = as_facts_table_find(f, "layers", "steps"); /* groups may have moved */
    steps_judge(f, g, t, layers, &sum);
    as_facts_add(f, g, "roofline.threads", "threads that the limits are for",
                 as_metric_counted((uint64_t)(t->threads > 0 ? t->threads : 1), "1", "plan"));
    as_facts_add(f, g, "roofline.above", "steps above their limit",
                 as_metric_counted((uint64_t)sum.n_above, "1", "issued work against limits measured in this session, 5 % margin"));
    as_facts_add(f, g, "roofline.of_roof", "share of the limit over all timed steps",
                 over(sum.least, sum.whole, (uint64_t)sum.n_timed, "ratio", "sum of times at the limit / sum of times",
                      "no step was timed"));
    as_facts_add(f, g, "roofline.recoverable", "recoverable share of the time",
                 over(fmax(0, sum.whole - sum.least), sum.whole, (uint64_t)sum.n_timed, "ratio", "1 - share of the limit",
                      "no step was timed"));
    if (sum.n_timed && !sum.n_above && !sum.n_doubt)
        as_facts_find(f, g, AS_LEVEL_GOOD, "None of %d timed steps is faster than its limit.", sum.n_timed);
    hotspot_add(f, g, &sum);
    limits_say(f, g, t);
}

const as_analysis as_an_roofline = {.name = "roofline", .order = 66, .run = run};
