/* sweep.c - winners, crossovers and choices over a sweep. */
#include "analysis/duel/sweep.h"

#include <math.h>
#include <stddef.h>

/* --- Relations ---------------------------------------------------------------------------------------------- */

double as_sweep_ns(const as_sweep *s, int row, int arm)
{
    const as_duel *duels = s->rows[row].duels;
    return s->n_arms < 2 ? (double)NAN : arm == 0 ? duels[0].a_ns : as_duel_b_ns(&duels[arm - 1]);
}

double as_sweep_items(const as_sweep *s, int row, int arm)
{
    const as_duel *duels = s->rows[row].duels;
    return s->n_arms < 2 ? (double)NAN : arm == 0 ? duels[0].a_items : duels[arm - 1].b_items;
}

bool as_sweep_per_item(const as_sweep *s)
{
    for (int row = 0; row < s->n_rows; row++)
        for (int arm = 1; arm < s->n_arms; arm++)
            if (s->rows[row].duels[arm - 1].per_item)
                return true;
    return false;
}

/* By which time two candidates are compared: as judged (per item where their numbers of items differ), or per call.  With equal
 * numbers of items both are the same. */
typedef enum basis { AS_JUDGED, PER_CALL } basis;

/* A candidate against candidate 0. */
static as_relation against_first(const as_sweep *s, int row, int arm, basis by)
{
    const as_duel *d = &s->rows[row].duels[arm - (arm > 0)];
    double         k = by == PER_CALL && d->per_item ? d->b_items / d->a_items : 1;
    return arm == 0 ? (as_relation){1, 1, 1} : (as_relation){k * d->ratio, k * d->lo, k * d->hi};
}

static as_relation relation(const as_sweep *s, int row, int x, int y, basis by)
{
    as_relation to_x = against_first(s, row, x, by), to_y = against_first(s, row, y, by);
    return (as_relation){to_y.ratio / to_x.ratio, to_y.lo / to_x.hi, to_y.hi / to_x.lo};
}

as_relation as_sweep_relation(const as_sweep *s, int row, int x, int y) { return relation(s, row, x, y, AS_JUDGED); }

/* Proven to differ by less than the margin, either way. */
static bool is_same(const as_sweep *s, int row, int x, int y, basis by)
{
    as_relation r = relation(s, row, x, y, by);
    return r.lo > 1 / (1 + s->margin) && r.hi < 1 + s->margin;
}

static int winner(const as_sweep *s, int row, basis by, bool *proved)
{
    int    best = -1;
    double least = INFINITY;
    for (int arm = 0; s->n_arms > 1 && arm < s->n_arms; arm++)
        if (against_first(s, row, arm, by).ratio < least)
            least = against_first(s, row, arm, by).ratio, best = arm;
    *proved = best >= 0;
    for (int arm = 0; best >= 0 && arm < s->n_arms; arm++)
        if (arm != best && !(relation(s, row, best, arm, by).lo > 1 + s->margin))
            *proved = false;
    return best;
}

int as_sweep_winner(const as_sweep *s, int row, bool *proved) { return winner(s, row, AS_JUDGED, proved); }

static double peak_of(const as_sweep *s, int row, int arm)
{
    const assay_trace *t = s->rows[row].trial;
    return t && arm < t->n_arms ? t->arms[arm].ledger.peak_bytes : (double)NAN;
}

/* Of the candidates that do not differ from `best`: the one with the least memory, else the one named first.  -1: all others
 * differ. */
static int cheapest(const as_sweep *s, int row, int best, basis by, const char **why)
{
    int  taken = best;
    bool any = false;
    *why = "no difference within the margin: the first one given";
    for (int arm = 0; arm < s->n_arms; arm++) {
        if (arm == best || !is_same(s, row, best, arm, by))
            continue;
        double own = peak_of(s, row, arm), least = peak_of(s, row, taken);
        any = true;
        if (own < least || (!(own > least) && arm < taken))
            taken = arm;
        if (own < least || own > least)
            *why = "no difference within the margin: needs less memory";
    }
    return any ? taken : -1;
}

int as_sweep_same(const as_sweep *s, int row, int best)
{
    const char *why;
    return cheapest(s, row, best, AS_JUDGED, &why);
}

/* --- Crossovers --------------------------------------------------------------------------------------------- */

/* Where a line through (x0, y0) and (x1, y1) meets 0; the middle when it does not. */
static double meets_zero(double x0, double y0, double x1, double y1)
{
    double share = y0 / (y0 - y1);
    return share >= 0 && share <= 1 ? x0 + share * (x1 - x0) : (x0 + x1) / 2;
}

typedef struct band {
    double x, y, lo, hi;
} band; /* logarithms */

static band band_at(const as_sweep *s, int row, int from, int to)
{
    as_relation r = as_sweep_relation(s, row, from, to);
    return (band){log(s->rows[row].value), log(r.ratio), log(r.lo), log(r.hi)};
}

/* Searches downwards from the crossover: below it `to` is slower than `from`, so the low bound is above 0 where that is certain. */
static double low_end(const as_sweep *s, const as_crossover *c, bool *open)
{
    band above = band_at(s, c->row + 1, c->from, c->to);
    for (int row = c->row; row >= 0; row--) {
        band here = band_at(s, row, c->from, c->to);
        if (here.lo > 0)
            return fmin(exp(above.lo < 0 ? meets_zero(here.x, here.lo, above.x, above.lo) : here.x), c->at);
        above = here;
    }
    *open = true;
    return s->rows[0].value;
}

static double high_end(const as_sweep *s, const as_crossover *c, bool *open)
{
    band below = band_at(s, c->row, c->from, c->to);
    for (int row = c->row + 1; row < s->n_rows; row++) {
        band here = band_at(s, row, c->from, c->to);
        if (here.hi < 0)
            return fmax(exp(below.hi > 0 ? meets_zero(below.x, below.hi, here.x, here.hi) : here.x), c->at);
        below = here;
    }
    *open = true;
    return s->rows[s->n_rows - 1].value;
}

static as_crossover crossover_at(const as_sweep *s, int row, int from, int to)
{
    as_crossover c = {.row = row, .from = from, .to = to, .at = NAN, .lo = NAN, .hi = NAN};
    band         a = band_at(s, row, from, to), b = band_at(s, row + 1, from, to);
    if (!isfinite(a.x) || !isfinite(b.x) || !isfinite(a.y) || !isfinite(b.y))
        return c;
    c.at = exp(meets_zero(a.x, a.y, b.x, b.y));
    c.lo = low_end(s, &c, &c.open_lo);
    c.hi = high_end(s, &c, &c.open_hi);
    c.proved = !c.open_lo && !c.open_hi;
    return c;
}

int as_sweep_crossovers(const as_sweep *s, as_crossover *out, int max)
{
    bool proved;
    int  n = 0;
    for (int row = 0; row + 1 < s->n_rows && n < max; row++) {
        int from = as_sweep_winner(s, row, &proved), to = as_sweep_winner(s, row + 1, &proved);
        if (from >= 0 && to >= 0 && from != to)
            out[n++] = crossover_at(s, row, from, to);
    }
    return n;
}

/* --- Choices ------------------------------------------------------------------------------------------------ */

static const struct {
    const char *text, *criterion, *unit, *none;
    bool        most;
} purposes[AS_N_PURPOSES] = {
    [AS_FOR_LATENCY] = {"latency", "least time per call", "ns", "no times were measured", false},
    [AS_FOR_THROUGHPUT] = {"throughput", "most items per second", "1/s", "the number of items per call is not known", true},
    [AS_FOR_MEMORY] = {"memory", "least peak memory, then least time", "byte", "peak memory is not known", false},
    [AS_FOR_INFERENCE] = {"inference", "least time per call at the smallest value", "ns", "no times were measured", false},
    [AS_FOR_TRAINING] = {"training", "most items per second at the largest value", "1/s",
                         "the number of items per call is not known", true},
    [AS_FOR_PROTOTYPING] = {"prototyping", "least time from launch to the first answer", "ns", "first calls were not timed", false},
};

const char *as_purpose_text(as_purpose p) { return p < AS_N_PURPOSES ? purposes[p].text : "?"; }
const char *as_purpose_criterion(as_purpose p) { return p < AS_N_PURPOSES ? purposes[p].criterion : "?"; }

/* Whether these runs support advice for a purpose: for inference and training, every candidate must have run exactly that. */
bool as_sweep_answers(const as_sweep *s, as_purpose p)
{
    as_work work = p == AS_FOR_INFERENCE ? AS_WORK_INFERENCE : AS_WORK_TRAINING;
    if (p != AS_FOR_INFERENCE && p != AS_FOR_TRAINING)
        return true;
    for (int row = 0; row < s->n_rows; row++)
        for (int arm = 0; arm < s->n_arms; arm++) {
            const assay_trace *t = s->rows[row].trial;
            if (!t || arm >= t->n_arms || t->arms[arm].work != work)
                return false;
        }
    return true;
}

/* The score of a candidate at a row for a purpose; NaN: not known, or the purpose does not use this row. */
static double score_of(const as_sweep *s, as_purpose p, int row, int arm)
{
    const as_sweep_row *r = &s->rows[row];
    const as_trace_arm *info = r->trial && arm < r->trial->n_arms ? &r->trial->arms[arm] : NULL;
    double              ns = as_sweep_ns(s, row, arm), items = as_sweep_items(s, row, arm);
    switch (p) {
    case AS_FOR_INFERENCE: return row == 0 ? ns : (double)NAN;
    case AS_FOR_TRAINING: return row == s->n_rows - 1 ? items * 1e9 / ns : (double)NAN;
    case AS_FOR_THROUGHPUT: return items * 1e9 / ns;
    case AS_FOR_MEMORY: return peak_of(s, row, arm);
    case AS_FOR_PROTOTYPING: return info ? (isfinite(info->launch_ns) ? info->launch_ns : 0) + info->first_ns[0] : (double)NAN;
    default: return ns;
    }
}

static bool is_better(bool most, double x, double y) { return most ? x > y : x < y; }

/* Memory is counted and first calls are measured once: only times have an interval that can prove a difference. */
static bool  is_of_times(as_purpose p) { return p != AS_FOR_MEMORY && p != AS_FOR_PROTOTYPING; }
static basis basis_of(as_purpose p) { return purposes[p].most ? AS_JUDGED : PER_CALL; }

static bool is_proved(const as_sweep *s, as_purpose p, int row, int arm, double lead)
{
    bool proved;
    if (p == AS_FOR_MEMORY)
        return lead > 0;
    return is_of_times(p) && winner(s, row, basis_of(p), &proved) == arm && proved;
}

/* A candidate that does not differ is not recommended for its speed. */
static bool take_cheapest(const as_sweep *s, as_purpose p, as_sweep_choice *c)
{
    const char *why;
    int         arm = is_of_times(p) ? cheapest(s, c->row, c->arm, basis_of(p), &why) : -1;
    if (arm < 0)
        return false;
    c->arm = arm;
    c->score = score_of(s, p, c->row, arm);
    c->same = true;
    c->why = why;
    return true;
}

static int best_arm(const as_sweep *s, as_purpose p, int row)
{
    int best = -1;
    for (int arm = 0; arm < s->n_arms; arm++)
        if (isfinite(score_of(s, p, row, arm)) &&
            (best < 0 || is_better(purposes[p].most, score_of(s, p, row, arm), score_of(s, p, row, best))))
            best = arm;
    return best;
}

/* Rows were not measured in turns.  Of the rows whose best is within the margin of the best of all, take the one with the least
 * memory, else the first, which has the smallest value. */
static bool row_cheapest(const as_sweep *s, as_purpose p, as_sweep_choice *c)
{
    int taken = c->row;
    for (int row = 0; is_of_times(p) && row < s->n_rows; row++) {
        int    arm = best_arm(s, p, row);
        double behind = arm < 0 ? (double)NAN : score_of(s, p, row, arm) / c->score;
        if (row == taken || !((purposes[p].most ? 1 / behind : behind) <= 1 + s->margin))
            continue;
        double own = peak_of(s, row, arm), least = peak_of(s, taken, best_arm(s, p, taken));
        if (own < least || (!(own > least) && row < taken))
            taken = row;
    }
    if (taken == c->row)
        return false;
    c->row = taken;
    c->arm = best_arm(s, p, taken);
    c->score = score_of(s, p, taken, c->arm);
    return true;
}

as_sweep_choice as_sweep_choose(const as_sweep *s, as_purpose p)
{
    as_sweep_choice c = {.row = -1, .arm = -1, .score = NAN, .unit = purposes[p].unit, .lead = NAN, .why = purposes[p].none};
    double          other = NAN;
    if (!as_sweep_answers(s, p)) {
        c.why = "something else ran";
        return c;
    }
    for (int row = 0; s->n_arms > 1 && row < s->n_rows; row++)
        for (int arm = 0; arm < s->n_arms; arm++) {
            double score = score_of(s, p, row, arm);
            bool   tied = score == c.score && as_sweep_ns(s, row, arm) < as_sweep_ns(s, c.row, c.arm);
            if (isfinite(score) && (c.row < 0 || is_better(purposes[p].most, score, c.score) || tied))
                c.row = row, c.arm = arm, c.score = score;
        }
    if (c.row < 0)
        return c;
    bool moved = row_cheapest(s, p, &c);
    if (take_cheapest(s, p, &c))
        return c;
    for (int row = 0; row < s->n_rows; row++)
        for (int arm = 0; arm < s->n_arms; arm++) {
            double score = arm == c.arm ? (double)NAN : score_of(s, p, row, arm);
            if (isfinite(score) && (isnan(other) || is_better(purposes[p].most, score, other)))
                other = score;
        }
    c.lead = purposes[p].most ? c.score / other - 1 : other / c.score - 1;
    c.proved = is_proved(s, p, c.row, c.arm, c.lead);
    c.why = moved ? "no difference from the best value within the margin, and cheaper" : purposes[p].criterion;
    return c;
}
