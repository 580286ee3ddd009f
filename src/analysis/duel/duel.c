/* duel.c - verdicts on recorded rounds.
 *
 * A round's difference is the logarithm of the ratio of its two blocks; where their calls do different numbers of items, of the
 * times per item.  With shared memory, rounds are the units of inference.  Where each launch has its own memory, a launch is one
 * unit (the median of its rounds, so up to half of them may be disturbed), because rounds of one launch share its luck.
 *
 * Two ways to a verdict share alpha: a sign e-process, valid at every look, which may end the trial early (a tenth of alpha per
 * side), and the interval of all units at the end (eight tenths).  That interval is the narrower of two, each with half of the
 * eight tenths: the inverted signed-rank test is best when the differences have little noise; the inverted sign test is best when
 * a neighbour comes and goes, so that many rounds agree to within a thousandth and the others are off by a third in either
 * direction.  Both are exact; they need only that a coin orders each round.
 *
 * Below nine units neither interval exists, however large the difference is.  A difference of more than a factor of two in every
 * unit is then judged by Student's interval.  This assumes that launches of the same program do not differ that much; it is the
 * only assumption made here. */
#include "analysis/duel/duel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EARLY_SHARE 0.1 /* of alpha, per side */
#define FINAL_SHARE 0.8 /* of alpha, both sides */
#define BUSY        0.97
#define FAR         0.69314718055994530942 /* ln 2: launches of one program do not differ that much */
enum { MIN_FAR_UNITS = 3 };

const char *as_verdict_text(as_verdict v)
{
    static const char *const names[AS_N_VERDICTS] = {"unresolved", "slower", "faster", "same"};
    return (unsigned)v < AS_N_VERDICTS ? names[v] : "unknown";
}

const char *as_severity_text(as_severity s)
{
    static const char *const names[AS_N_SEVERITIES] = {"none", "minor", "moderate", "major", "critical"};
    return (unsigned)s < AS_N_SEVERITIES ? names[s] : "unknown";
}

void as_duel_rules_standard(as_duel_rules *r)
{
    *r = (as_duel_rules){.margin = 0.01,
                         .alpha = 0.01,
                         .severity = {[AS_SEVERITY_MODERATE] = 0.15, [AS_SEVERITY_MAJOR] = 0.30, [AS_SEVERITY_CRITICAL] = 0.50}};
}

/* --- Rounds and units ----------------------------------------------------------------------------------- */

typedef struct rounds {
    double   *d; /* ln(b / a), one per complete round */
    uint32_t *launch;
    size_t    n;
    double   *units; /* of inference */
    size_t    n_units, n_launches;
    double   *scratch;
} rounds;

static void rounds_free(rounds *r)
{
    free(r->d);
    free(r->launch);
    free(r->units);
    free(r->scratch);
}

static size_t scratch_size(size_t n) { return (n < AS_HL_MAX ? n : AS_HL_MAX) * (AS_HL_MAX + 3) / 2 + 2 * n + 64; }

static bool rounds_room(rounds *r, size_t n)
{
    *r = (rounds){.d = malloc((n + 1) * sizeof *r->d),
                  .launch = malloc((n + 1) * sizeof *r->launch),
                  .units = malloc((n + 1) * sizeof *r->units),
                  .scratch = malloc(scratch_size(n) * sizeof *r->scratch)};
    return r->d && r->launch && r->units && r->scratch;
}

/* Turns of a round lie side by side. */
static void rounds_fill(rounds *r, const assay_trace *t, int a, int b)
{
    double   x = NAN, y = NAN, items = as_trace_per_item(t, a, b) ? t->arms[b].items / t->arms[a].items : 1;
    uint32_t round = 0;
    for (size_t i = 0; i < t->n_turns; i++) {
        const as_turn *turn = &t->turns[i];
        if (i == 0 || turn->round != round)
            x = y = NAN;
        round = turn->round;
        if (turn->arm == (uint32_t)a)
            x = as_turn_ns(t, turn);
        if (turn->arm == (uint32_t)b)
            y = as_turn_ns(t, turn);
        if (x > 0 && y > 0) {
            r->d[r->n] = log(y / x / items);
            r->launch[r->n++] = turn->launch;
            x = y = NAN;
        }
    }
}

static bool by_launch(const assay_trace *t) { return t->memory == AS_MEMORY_RANDOM || t->memory == AS_MEMORY_RELAUNCHED; }

static void units_fill(rounds *r, const assay_trace *t)
{
    for (size_t i = 0; i < r->n;) {
        size_t end = i;
        while (end < r->n && r->launch[end] == r->launch[i])
            end++;
        if (by_launch(t))
            r->units[r->n_units++] = as_median(r->d + i, end - i, r->scratch);
        r->n_launches++;
        i = end;
    }
    if (!by_launch(t)) {
        memcpy(r->units, r->d, r->n * sizeof *r->d);
        r->n_units = r->n;
    }
}

static bool rounds_of(rounds *r, const assay_trace *t, int a, int b)
{
    if (!rounds_room(r, t->n_turns)) {
        rounds_free(r);
        return false;
    }
    rounds_fill(r, t, a, b);
    units_fill(r, t);
    return true;
}

/* --- The e-processes ------------------------------------------------------------------------------------- */

typedef struct evidence {
    double slower, faster, same;
} evidence; /* ln E, the largest so far */

/* every: looks at each unit, for a record that continued after it was settled; otherwise only at the last. */
static evidence evidence_of(const double *units, size_t n, double margin, bool every)
{
    evidence e = {-INFINITY, -INFINITY, -INFINITY};
    double   edge = log1p(margin);
    int64_t  above = 0, below = 0, under = 0, over = 0;
    for (size_t i = 0; i < n; i++) {
        above += units[i] > edge;
        below += units[i] < -edge;
        under += units[i] < edge;
        over += units[i] > -edge;
        if (!every && i + 1 < n)
            continue;
        int64_t k = (int64_t)i + 1;
        e.slower = fmax(e.slower, as_sign_e_log(above, k));
        e.faster = fmax(e.faster, as_sign_e_log(below, k));
        if (margin > 0)
            e.same = fmax(e.same, fmin(as_sign_e_log(under, k), as_sign_e_log(over, k)));
    }
    return e;
}

static double early_bound(double alpha) { return -log(EARLY_SHARE * alpha); }

static bool is_settled(const assay_trace *t, int a, int b, const as_duel_rules *rules, bool every)
{
    rounds r;
    if (!rounds_of(&r, t, a, b))
        return false;
    evidence e = evidence_of(r.units, r.n_units, rules->margin, every);
    rounds_free(&r);
    return fmax(fmax(e.slower, e.faster), e.same) >= early_bound(rules->alpha);
}

bool as_duel_settled(const assay_trace *t, int a, int b, const as_duel_rules *rules) { return is_settled(t, a, b, rules, false); }
bool as_duel_was_settled(const assay_trace *t, int a, int b, const as_duel_rules *rules)
{
    return is_settled(t, a, b, rules, true);
}

/* --- The verdict ----------------------------------------------------------------------------------------- */

static as_severity severity_of(double near_end, const as_duel_rules *rules)
{
    for (int s = AS_SEVERITY_CRITICAL; s > AS_SEVERITY_MINOR; s--)
        if (near_end >= rules->severity[s])
            return (as_severity)s;
    return AS_SEVERITY_MINOR;
}

static as_verdict final_verdict(double lo, double hi, double edge)
{
    if (lo > edge)
        return AS_SLOWER;
    if (hi < -edge)
        return AS_FASTER;
    return lo > -edge && hi < edge ? AS_SAME : AS_UNRESOLVED;
}

static void decide(as_duel *out, const evidence *e, double lo, double hi, const as_duel_rules *rules)
{
    double bound = early_bound(rules->alpha);
    out->early = true;
    if (e->slower >= bound && e->slower >= e->faster)
        out->verdict = AS_SLOWER;
    else if (e->faster >= bound)
        out->verdict = AS_FASTER;
    else if (e->same >= bound)
        out->verdict = AS_SAME;
    else {
        out->early = false;
        out->verdict = isnan(lo) ? AS_UNRESOLVED : final_verdict(lo, hi, log1p(rules->margin));
    }
    if (out->verdict == AS_SLOWER)
        out->severity = severity_of(isnan(out->lo) ? out->ratio - 1 : out->lo - 1, rules);
}

static void plan_next(as_duel *out, const assay_trace *t, const rounds *r, double theta, const as_duel_rules *rules)
{
    double edge = log1p(rules->margin), *scratch = malloc((2 * r->n + 2) * sizeof *scratch);
    out->visible = out->needed_ns = NAN;
    if (!scratch || r->n < 2)
        goto end;
    as_variance_split(r->d, r->launch, r->n, scratch, &out->variance);
    double n_launches = by_launch(t) ? (double)r->n_launches : 1;
    double alpha = FINAL_SHARE / 2 * rules->alpha; /* the share of each of the two intervals */
    double effect = as_effect_visible(&out->variance, alpha, n_launches, (double)r->n / n_launches);
    double times = as_times_needed((log(out->hi) - log(out->lo)) / 2, fabs(fabs(theta) - edge), alpha, out->n_units);
    out->visible = expm1(edge + effect);
    /* A decided trial took long enough, and fewer units than the rule allows would not have decided it. */
    double n = (double)out->n_units,
           least = as_times_needed(NAN, 0, alpha, strcmp(out->by, "size") ? out->n_units : 3 * out->n_units);
    bool open = out->verdict == AS_UNRESOLVED;
    out->needed_ns = t->spent_ns * (open ? fmax(times, 1 + 1 / n) : fmin(fmax(times, least), 1));
end:
    free(scratch);
}

double as_duel_rounds(const assay_trace *t, int a, int b, double launch_ns, double round_ns)
{
    rounds      r;
    as_variance v;
    double      best = 1;
    if (!rounds_of(&r, t, a, b))
        return best;
    if (as_variance_split(r.d, r.launch, r.n, r.scratch, &v))
        best = as_rounds_best(&v, launch_ns, round_ns);
    rounds_free(&r);
    return best;
}

double as_duel_b_ns(const as_duel *d)
{
    return isfinite(d->ratio) ? d->a_ns * d->ratio * (d->per_item ? d->b_items / d->a_items : 1) : d->b_ns;
}

bool as_duel_luck(const as_duel *d)
{
    const as_variance *v = &d->variance;
    return v->n_launches >= 4 && v->sigma_launch > 0.005 && v->sigma_launch > v->sigma_round / sqrt(fmax(v->rounds_a_launch, 1));
}

/* Median of a candidate's blocks, with the interval that its dependent series allows. */
static void arm_median(const assay_trace *t, int arm, double *x, double *scratch, double *value, double *lo, double *hi)
{
    size_t      n = 0, i, k;
    double      cover;
    as_interval interval;
    for (size_t j = 0; j < t->n_turns; j++)
        if (t->turns[j].arm == (uint32_t)arm)
            x[n++] = as_turn_ns(t, &t->turns[j]);
    *lo = *hi = NAN;
    *value = as_median(x, n, scratch);
    if (as_segment_interval(x, n, 0.95, scratch, &interval)) {
        *lo = fmin(interval.lo, *value);
        *hi = fmax(interval.hi, *value);
    } else if (as_median_ranks(n, 0.95, &i, &k, &cover)) {
        as_sort(x, n);
        *lo = x[i];
        *hi = x[k];
    }
}

/* The median of the units between two of their order statistics: the sign test inverted. */
static bool sign_interval(const double *units, size_t n, double confidence, double *scratch, as_interval *out)
{
    size_t lo, hi;
    if (!as_median_ranks(n, confidence, &lo, &hi, &out->confidence))
        return false;
    memcpy(scratch, units, n * sizeof *units);
    as_sort(scratch, n);
    out->value = as_quantile_sorted(scratch, n, 0.5);
    out->lo = scratch[lo];
    out->hi = scratch[hi];
    return true;
}

/* For few units that all lie on one side and exceed the margin by more than a factor of two. */
static bool far_interval(const rounds *r, double edge, double confidence, as_interval *out)
{
    double n = (double)r->n_units, least = INFINITY, mean = 0, square = 0;
    if (r->n_units < MIN_FAR_UNITS)
        return false;
    for (size_t i = 0; i < r->n_units; i++) {
        bool same_side = (r->units[i] > 0) == (r->units[0] > 0);
        least = fmin(least, same_side ? fabs(r->units[i]) : 0);
        mean += r->units[i] / n;
    }
    for (size_t i = 0; i < r->n_units; i++)
        square += pow(r->units[i] - mean, 2);
    double arm = as_student((1 - confidence) / 2, n - 1) * sqrt(square / (n - 1) / n);
    if (!(least > edge + FAR) || !(fabs(mean) - arm > edge))
        return false;
    *out = (as_interval){.value = out->value, .lo = fmin(mean - arm, out->value), .hi = fmax(mean + arm, out->value)};
    out->confidence = confidence;
    return true;
}

static bool interval_of(rounds *r, double alpha, double edge, as_interval *out, const char **by)
{
    double      confidence = 1 - FINAL_SHARE / 2 * alpha;
    as_interval sign;
    bool        has = as_signed_rank_interval(r->units, r->n_units, confidence, r->scratch, out);
    *by = "signed rank";
    bool has_sign = sign_interval(r->units, r->n_units, confidence, r->scratch, &sign);
    if (!has && !has_sign && far_interval(r, edge, confidence, out)) {
        *by = "size";
        return true;
    }
    if (!has_sign || (has && sign.hi - sign.lo >= out->hi - out->lo))
        return has;
    *out = sign;
    *by = "sign";
    return true;
}

static void judge(const assay_trace *t, const as_duel_rules *rules, rounds *r, as_duel *out)
{
    double      edge = log1p(rules->margin);
    as_interval interval = {.value = NAN, .lo = NAN, .hi = NAN};
    bool        has = interval_of(r, rules->alpha, edge, &interval, &out->by);
    evidence    e = evidence_of(r->units, r->n_units, rules->margin, true);
    out->ratio = exp(interval.value);
    out->lo = has ? exp(interval.lo) : NAN;
    out->hi = has ? exp(interval.hi) : NAN;
    out->confidence = has ? interval.confidence : NAN;
    out->n_units = r->n_units;
    out->n_rounds = r->n;
    out->n_launches = r->n_launches;
    out->ln_e_slower = e.slower;
    out->ln_e_faster = e.faster;
    out->ln_e_same = e.same;
    out->p_slower = as_signed_rank_p(r->units, r->n_units, edge, r->scratch);
    double sign = interval.value >= 0 ? 1 : -1;
    for (size_t i = 0; i < r->n_units; i++)
        r->units[i] = -r->units[i];
    out->p_faster = as_signed_rank_p(r->units, r->n_units, edge, r->scratch);
    for (size_t i = 0; i < r->n_units; i++)
        r->units[i] *= -sign; /* towards the estimate */
    out->p_flip = as_sign_flip_p(r->units, r->n_units, edge, t->seed);
    decide(out, &e, has ? interval.lo : NAN, has ? interval.hi : NAN, rules);
    plan_next(out, t, r, interval.value, rules);
}

void as_duel_judge(const assay_trace *t, int a, int b, const as_duel_rules *rules, as_duel *out)
{
    rounds r;
    *out = (as_duel){.verdict = AS_UNRESOLVED,
                     .ratio = NAN,
                     .lo = NAN,
                     .hi = NAN,
                     .confidence = NAN,
                     .p_slower = 1,
                     .p_faster = 1,
                     .p_flip = 1,
                     .ln_e_slower = -INFINITY,
                     .ln_e_faster = -INFINITY,
                     .ln_e_same = -INFINITY,
                     .visible = NAN,
                     .needed_ns = NAN,
                     .spent_ns = NAN,
                     .interval_ns = NAN,
                     .per_item = as_trace_per_item(t, a, b),
                     .a_items = t->arms[a].items,
                     .b_items = t->arms[b].items,
                     .a_ns = NAN,
                     .b_ns = NAN,
                     .a_lo = NAN,
                     .a_hi = NAN,
                     .b_lo = NAN,
                     .b_hi = NAN,
                     .unit = by_launch(t) ? "launch" : "round",
                     .by = "signed rank"};
    if (t->state == AS_TRACE_REFUSED || !rounds_of(&r, t, a, b)) /* refused numbers get no verdict */
        return;
    if (r.n_units)
        judge(t, rules, &r, out);
    if (r.n_units && isnan(out->lo)) { /* a fifth more, because some launches take longer than others */
        out->spent_ns = t->spent_ns;
        out->interval_ns = 1.2 * t->spent_ns * fmax(as_times_needed(NAN, 0, FINAL_SHARE / 2 * rules->alpha, out->n_units), 1);
    }
    rounds_free(&r);
    double *x = malloc((2 * t->n_turns + 2) * sizeof *x), *scratch = malloc((2 * t->n_turns + 64) * sizeof *scratch);
    if (x && scratch) {
        arm_median(t, a, x, scratch, &out->a_ns, &out->a_lo, &out->a_hi);
        arm_median(t, b, x, scratch, &out->b_ns, &out->b_lo, &out->b_hi);
    }
    free(x);
    free(scratch);
    as_disturbance found;
    as_disturbance_find(t, &found);
    out->n_reasons = as_disturbance_say(&found, out->reasons, 3);
}

/* --- What disturbed it ------------------------------------------------------------------------------------ */

/* The fastest tenth of the values: the time of the probe when nothing disturbs it. */
static double undisturbed(const assay_trace *t, size_t offset, double *x)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_turns; i++) {
        double v = *(const double *)(const void *)((const char *)&t->turns[i] + offset);
        if (!isnan(v))
            x[n++] = v;
    }
    as_sort(x, n);
    return as_quantile_sorted(x, n, 0.1);
}

void as_disturbance_find(const assay_trace *t, as_disturbance *out)
{
    double *x = malloc((t->n_turns + 1) * sizeof *x), n = (double)t->n_turns;
    *out = (as_disturbance){0};
    if (x && t->n_turns) {
        double fma = undisturbed(t, offsetof(as_turn, fma_ns), x), copy = undisturbed(t, offsetof(as_turn, copy_ns), x);
        for (size_t i = 0; i < t->n_turns; i++) {
            const as_turn *turn = &t->turns[i];
            bool           slow_fma = turn->fma_ns > 1.1 * fma, slow_copy = turn->copy_ns > 1.3 * copy;
            out->frequency += slow_fma / n;
            out->dram += (slow_copy && !slow_fma) / n;
            out->preempted += (turn->busy < BUSY && !slow_fma && !slow_copy) / n;
            out->stolen += (turn->steal > 0.01) / n;
        }
    }
    free(x);
}

int as_disturbance_say(const as_disturbance *d, char (*out)[160], int max)
{
    const struct {
        double      share;
        const char *format;
    } all[] = {
        {d->preempted, "other work took this CPU in %.0f %% of the blocks"},
        {d->dram, "memory was more than 1.3 times slower in %.0f %% of the blocks: other work uses it"},
        {d->frequency,
         "the core was more than 1.1 times slower in %.0f %% of the blocks: its clock rate changed, or other work shares it"},
        {d->stolen, "the hypervisor took more than 1 %% of the time in %.0f %% of the blocks"},
    };
    bool said[AS_COUNT(all)] = {false};
    int  n = 0;
    while (n < max) { /* the largest share first */
        size_t best = AS_COUNT(all);
        for (size_t i = 0; i < AS_COUNT(all); i++)
            if (!said[i] && all[i].share >= 0.05 && (best == AS_COUNT(all) || all[i].share > all[best].share))
                best = i;
        if (best == AS_COUNT(all))
            break;
        said[best] = true;
        snprintf(out[n++], sizeof out[0], all[best].format, 100 * all[best].share);
    }
    return n;
}

/* --- One candidate alone ------------------------------------------------------------------------------------------ */

static double quantile_if(const double *sorted, size_t n, double q)
{
    return n >= as_quantile_needs(q) ? as_quantile_sorted(sorted, n, q) : NAN;
}

/* One candidate whose samples are stamps, with spans between them. */
static bool of_profile(const assay_trace *t) { return t->n_arms == 1 && !t->n_shots && t->n_samples; }

static double sample_ns(const assay_trace *t, const as_sample *s, bool cpu)
{
    double runs = s->n_runs ? s->n_runs : (double)NAN;
    if (cpu)
        return s->cpu_ns == UINT64_MAX ? (double)NAN : (double)s->cpu_ns / runs;
    return s->end_ticks < s->begin_ticks ? (double)NAN : (double)(s->end_ticks - s->begin_ticks) * t->ns_per_tick / runs;
}

static size_t values_of(const assay_trace *t, int arm, bool samples, bool cpu, double *out)
{
    size_t n = 0;
    if (of_profile(t)) {
        for (size_t i = 0; i < t->n_samples; i++) {
            out[n] = sample_ns(t, &t->samples[i], cpu);
            n += isfinite(out[n]) ? 1 : 0;
        }
        return n;
    }
    for (size_t i = 0; i < t->n_turns; i++) {
        const as_turn *turn = &t->turns[i];
        if (turn->arm != (uint32_t)arm)
            continue;
        if (!samples)
            out[n++] = cpu ? turn->cpu_ns : turn->wall_ns;
        for (uint32_t k = 0; samples && k < turn->n_shots; k++) {
            const as_shot *shot = &t->shots[turn->first_shot + k];
            out[n++] = (double)(cpu ? shot->cpu_ns : shot->wall_ns);
        }
    }
    return n;
}

static void alone_quantiles(as_alone *out, double *x, size_t n)
{
    size_t lo, hi;
    as_sort(x, n);
    out->min = n ? x[0] : NAN;
    out->p5 = quantile_if(x, n, 0.05);
    out->p25 = as_quantile_sorted(x, n, 0.25);
    out->p75 = as_quantile_sorted(x, n, 0.75);
    out->p95 = quantile_if(x, n, 0.95);
    out->p99 = quantile_if(x, n, 0.99);
    out->p99_lo = out->p99_hi = NAN;
    if (!isnan(out->p99) && as_quantile_ranks(n, 0.99, 0.95, &lo, &hi)) {
        out->p99_lo = x[lo];
        out->p99_hi = x[hi];
    }
}

static void alone_blocks(const assay_trace *t, int arm, as_alone *out, double *x)
{
    size_t n = 0, n_low = 0, from;
    for (size_t i = 0; i < t->n_turns; i++)
        if (t->turns[i].arm == (uint32_t)arm && !isnan(t->turns[i].busy)) {
            x[n++] = t->turns[i].busy;
            n_low += t->turns[i].busy < BUSY;
        }
    out->busy = NAN;
    out->contaminated = NAN;
    if (n) {
        as_sort(x, n);
        out->busy = as_quantile_sorted(x, n, 0.5);
        out->contaminated = (double)n_low / (double)n;
    }
    n = values_of(t, arm, false, t->by_cpu, x);
    out->n_blocks = n;
    out->steady = as_steady_label(x, n, t->seed, &from);
}

void as_alone_judge(const assay_trace *t, int arm, as_alone *out)
{
    *out = (as_alone){.median = NAN,
                      .lo = NAN,
                      .hi = NAN,
                      .confidence = NAN,
                      .min = NAN,
                      .p5 = NAN,
                      .p25 = NAN,
                      .p75 = NAN,
                      .p95 = NAN,
                      .p99 = NAN,
                      .p99_lo = NAN,
                      .p99_hi = NAN,
                      .wall_median = NAN,
                      .cpu_median = NAN,
                      .n_effective = NAN,
                      .noise = "unknown"};
    bool    samples = t->n_shots > 0;
    size_t  most = t->n_turns + t->n_shots + t->n_samples + 64;
    double *x = malloc(most * sizeof *x), *scratch = malloc(2 * most * sizeof *scratch);
    if (x && scratch && t->n_turns) {
        size_t      n = values_of(t, arm, samples, t->by_cpu, x);
        as_interval interval;
        out->n_samples = n;
        out->median = as_median(x, n, scratch);
        if (as_segment_interval(x, n, 0.95, scratch, &interval)) {
            out->lo = fmin(interval.lo, out->median);
            out->hi = fmax(interval.hi, out->median);
            out->confidence = interval.confidence;
            out->n_effective = interval.n_effective;
        }
        alone_quantiles(out, x, n);
        n = values_of(t, arm, samples, false, x);
        out->wall_median = as_median(x, n, scratch);
        n = values_of(t, arm, samples, true, x);
        out->cpu_median = n && !isnan(x[0]) ? as_median(x, n, scratch) : NAN;
        alone_blocks(t, arm, out, x);
        bool suspect = out->steady == AS_STEADY_SLOWDOWN || out->steady == AS_STEADY_NONE;
        bool noisy = out->contaminated > 0.1 || !((out->p75 - out->p25) <= 0.05 * out->median);
        out->noise = suspect ? "suspect" : noisy ? "noisy" : "quiet";
    }
    free(x);
    free(scratch);
    as_disturbance found;
    as_disturbance_find(t, &found);
    out->n_reasons = as_disturbance_say(&found, out->reasons, 3);
}
