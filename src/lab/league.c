/* league.c - which of several optimisers, schedules, batch sizes ends with the lower loss.
 *
 * Every candidate trains once per seed; a seed decides weights, order of the examples, split and dropout, so runs of one seed are pairs.  All
 * runs go on together: a round gives each a share of its updates, seed by seed, the candidates in an order that a coin decides. */
#include "lab/league.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/duel/duel.h"
#include "base/metric.h"
#include "base/random.h"
#include "base/stage.h"
#include "lab/calls.h"
#include "train/loop.h"

enum { ROUNDS = 40, MOST_SEEDS = 100 };

typedef struct run {
    assay_options   *options;
    as_loop_settings settings;
    as_loop         *loop;
    double           mean[ROUNDS], spent[ROUNDS]; /* of the updates of each round; NaN: it had none */
    uint64_t         at[ROUNDS];                  /* updates done after it */
    double          *losses;                      /* of the last tenth of the updates */
    uint64_t         done, n_updates, n_last;
    int              n_rounds; /* complete ones; a run that ended is in all of them */
    bool             more, diverged;
    char             why[256];
    double           loss, val_loss, score;
} run;

typedef struct league {
    assay_env           *env;
    const char          *spec;
    const assay_options *options;
    as_arena             arena;
    as_league_values     vary;
    const char          *names[AS_LEAGUE_MOST]; /* of the candidates, for people */
    int                  seeds;
    uint64_t             seed;
    double               alpha;
    bool                 by_wall;
    int                  rounds; /* that all runs completed: ROUNDS, unless it was stopped */
    char                 score_name[32];
    assay_model        **models; /* by seed */
    run                 *runs;   /* by candidate, then seed */
    assay_facts         *f;
    as_fact_group       *g;
} league;

static bool is_stopped(const league *l) { return l->rounds < ROUNDS; }

static run *run_of(const league *l, int candidate, int seed) { return &l->runs[candidate * l->seeds + seed]; }

/* --- Candidates --------------------------------------------------------------------------------------------------- */

static assay_status key_check(assay_env *env, const char *key)
{
    static const char *const keys[] = {"optimizer",  "schedule",  "batch",  "accumulate", "clip",
                                       "clip-value", "precision", "freeze", "threads",    NULL};
    if (as_keys_have(keys, key))
        return ASSAY_OK;
    return as_fail(env, ASSAY_BAD_INPUT,
                   "compare: --vary %s with --data: candidates that learn differ in optimizer, schedule, batch, accumulate, clip, "
                   "clip-value, precision, freeze or threads",
                   key);
}

static assay_status value_add(assay_env *env, as_arena *arena, const char *text, size_t n, as_league_values *v)
{
    const char *value = as_arena_text_n(arena, text, n), *last = v->n ? v->values[v->n - 1] : "";
    bool        joins = value && v->n && !strcmp(v->key, "optimizer") && strchr(value, '=') && !strchr(value, ':');
    if (joins)
        value = as_arena_printf(arena, "%s%c%s", last, strchr(last, ':') ? ',' : ':', value);
    if (!value)
        return as_fail(env, ASSAY_NO_MEMORY, "compare: not enough memory for the candidates");
    if (!joins && v->n == AS_LEAGUE_MOST)
        return as_fail(env, ASSAY_BAD_INPUT, "compare: --vary %s: more than %d values", v->key, AS_LEAGUE_MOST);
    v->values[joins ? v->n - 1 : v->n++] = value;
    return ASSAY_OK;
}

assay_status as_league_values_read(assay_env *env, as_texts vary, as_arena *arena, as_league_values *out)
{
    as_league_values v = {.key = NULL};
    for (size_t i = 0; i < vary.n; i++) {
        const char *text = vary.items[i], *equals = strchr(text, '=');
        if (!equals || equals == text)
            return as_fail(env, ASSAY_BAD_INPUT, "compare: --vary %s: expected KEY=A,B, for example optimizer=sgd,adam", text);
        const char *key = as_arena_text_n(arena, text, (size_t)(equals - text));
        if (!key)
            return as_fail(env, ASSAY_NO_MEMORY, "compare: not enough memory for the candidates");
        if (v.key && strcmp(v.key, key))
            return as_fail(env, ASSAY_BAD_INPUT, "compare: --vary %s and --vary %s: candidates that learn differ in one thing",
                           v.key, key);
        v.key = key;
        AS_TRY(key_check(env, key));
        const char *ends = !strcmp(key, "optimizer") ? ", " : ","; /* a schedule has spaces */
        for (const char *at = equals + 1; at;) {
            size_t n = strcspn(at, ends);
            if (!n)
                return as_fail(env, ASSAY_BAD_INPUT, "compare: --vary %s: a value is empty", text);
            AS_TRY(value_add(env, arena, at, n, &v));
            at = at[n] ? at + n + 1 : NULL;
        }
    }
    if (!v.n)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "compare with --data needs candidates: --vary optimizer=sgd:lr=0.1,adam:lr=1e-3, for example");
    if (v.n < 2)
        return as_fail(env, ASSAY_BAD_INPUT, "compare: --vary %s=%s has one value and needs two or more", v.key, v.values[0]);
    for (int i = 0; i < v.n; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(v.values[i], v.values[k]))
                return as_fail(env, ASSAY_BAD_INPUT, "compare: --vary %s: %s is there twice, and both would learn the same", v.key,
                               v.values[i]);
    *out = v;
    return ASSAY_OK;
}

/* --- Runs ------------------------------------------------------------------------------------------------------------- */

/* The options of one run: the user's, with one value and one seed.  The settings borrow their texts. */
static assay_status options_make(league *l, int candidate, int seed, run *r)
{
    static const char *const keys[] = {"data",      "val",    "preprocess", "loader",     "epochs",     "steps",   "schedule",
                                       "group",     "freeze", "clip",       "clip-value", "grow-batch", "metrics", "diverged",
                                       "batch",     "seq",    "dim",        "weights",    "device",     "threads", "winograd",
                                       "optimizer", "loss",   "recompute",  "precision",  "accumulate", NULL};
    char                     number[32];
    AS_TRY(assay_options_new(l->env, &r->options));
    for (int i = 0; keys[i]; i++) {
        as_texts all = as_options_texts(l->options, keys[i]);
        if (!as_options_is_set(l->options, keys[i]))
            continue;
        if (!strcmp(keys[i], l->vary.key))
            return as_fail(l->env, ASSAY_BAD_INPUT, "compare: --%s %s and --vary %s=%s: give one of the two", keys[i], all.items[0],
                           l->vary.key, l->vary.values[0]);
        for (size_t k = 0; k < all.n; k++)
            AS_TRY(assay_options_set(l->env, r->options, keys[i], all.items[k]));
    }
    snprintf(number, sizeof number, "%llu", (unsigned long long)(l->seed + (uint64_t)seed));
    AS_TRY(assay_options_set(l->env, r->options, l->vary.key, l->vary.values[candidate]));
    return assay_options_set(l->env, r->options, "seed", number);
}

static assay_status run_open(league *l, int candidate, int seed)
{
    run *r = run_of(l, candidate, seed);
    AS_TRY(options_make(l, candidate, seed, r));
    if (!l->models[seed])
        AS_TRY(assay_model_load(l->env, l->spec, r->options, &l->models[seed]));
    AS_TRY(as_loop_settings_read(l->env, r->options, &r->settings));
    AS_TRY(as_loop_open(l->env, l->models[seed], &r->settings, &r->loop));
    l->by_wall |= as_loop_by_wall(r->loop);
    r->more = true;
    r->loss = r->val_loss = r->score = NAN;
    for (int i = 0; i < ROUNDS; i++)
        r->mean[i] = r->spent[i] = NAN;
    return ASSAY_OK;
}

static assay_status loss_note(league *l, run *r, const assay_training *now)
{
    if (!r->losses) {
        r->n_updates = now->n_updates;
        r->n_last = (now->n_updates + 9) / 10;
        if (!(r->losses = calloc((size_t)r->n_last, sizeof *r->losses)))
            return as_fail(l->env, ASSAY_NO_MEMORY, "compare: not enough memory for the losses of a run");
    }
    r->losses[r->done++ % r->n_last] = now->loss;
    return ASSAY_OK;
}

/* A share of the updates.  A loss that diverges ends this run and no other. */
static assay_status turn(league *l, run *r, int round)
{
    assay_training now;
    double         sum = 0;
    uint64_t       before = r->done;
    while (r->more && (!r->n_updates || r->done < (r->n_updates * (uint64_t)(round + 1) + ROUNDS - 1) / ROUNDS)) {
        if (as_cancelled(l->env))
            return as_fail(l->env, ASSAY_CANCELLED, "compare: stopped in round %d of %d, before all candidates had finished one",
                           round + 1, (int)ROUNDS);
        assay_status status = as_loop_update(r->loop, &now, &r->more);
        if (status == ASSAY_DEVICE) {
            r->diverged = true;
            r->more = false;
            r->n_rounds = ROUNDS;
            snprintf(r->why, sizeof r->why, "%s", assay_message(l->env));
            return ASSAY_OK;
        }
        AS_TRY(status);
        AS_TRY(loss_note(l, r, &now));
        sum += now.loss;
    }
    if (r->done > before) {
        r->mean[round] = sum / (double)(r->done - before);
        r->spent[round] = as_loop_spent_ns(r->loop, l->by_wall);
        r->at[round] = r->done;
    }
    r->n_rounds = r->more ? round + 1 : (int)ROUNDS;
    return ASSAY_OK;
}

/* What all runs have done is what can be compared: the losses of the last round that each of them completed.  0: there is none. */
static int rounds_shared(const league *l)
{
    int least = ROUNDS;
    for (int i = 0; i < l->vary.n * l->seeds; i++)
        least = l->runs[i].n_rounds < least ? l->runs[i].n_rounds : least;
    return least;
}

/* Forgets what a run did after the last shared round. */
static void run_cut(const league *l, run *r)
{
    for (int i = l->rounds; i < ROUNDS; i++)
        r->mean[i] = r->spent[i] = NAN;
    for (int i = 0; i < l->rounds && !r->diverged; i++)
        if (isfinite(r->mean[i])) {
            r->loss = r->mean[i];
            r->done = r->at[i];
        }
}

static assay_status run_end(league *l, run *r)
{
    const char *name;
    if (r->diverged)
        return ASSAY_OK;
    uint64_t n = r->done < r->n_last ? r->done : r->n_last;
    r->loss = 0;
    for (uint64_t i = 0; i < n; i++)
        r->loss += r->losses[i] / (double)n;
    AS_TRY(as_loop_validate(r->loop, &r->val_loss, &r->score, &name));
    snprintf(l->score_name, sizeof l->score_name, "%s", name);
    return ASSAY_OK;
}

static assay_status rounds_play(league *l)
{
    as_mt19937 coin;
    int64_t    order[AS_LEAGUE_MOST];
    as_mt19937_seed(&coin, (uint32_t)l->seed);
    for (int round = 0; round < ROUNDS; round++)
        for (int s = 0; s < l->seeds; s++) {
            for (int c = 0; c < l->vary.n; c++)
                order[c] = c;
            as_mt19937_shuffle(&coin, order, (size_t)l->vary.n);
            for (int c = 0; c < l->vary.n; c++)
                AS_TRY(turn(l, run_of(l, (int)order[c], s), round));
            as_stage_done(l->env, ((double)round + (s + 1.0) / l->seeds) / ROUNDS);
        }
    return ASSAY_OK;
}

/* CANCELLED: l->rounds is how many rounds there are to compare; where it is 0, the message stands. */
static assay_status play(league *l)
{
    as_stage_begin(l->env, AS_PHASE_PLAN, "", (double)NAN, 0);
    for (int s = 0; s < l->seeds; s++)
        for (int c = 0; c < l->vary.n; c++)
            AS_TRY(run_open(l, c, s));
    as_stage_begin(l->env, AS_PHASE_TRAIN, "", (double)NAN, 0);
    assay_status status = rounds_play(l);
    l->rounds = rounds_shared(l);
    if (status == ASSAY_CANCELLED && !is_stopped(l)) /* during the last turn of all: there is an end to compare */
        status = ASSAY_OK;
    for (int i = 0; i < l->vary.n * l->seeds && status == ASSAY_CANCELLED; i++)
        run_cut(l, &l->runs[i]);
    for (int i = 0; i < l->vary.n * l->seeds && status == ASSAY_OK; i++)
        status = run_end(l, &l->runs[i]);
    return status;
}

/* --- Numbers ------------------------------------------------------------------------------------------------------------ */

as_league_mean as_league_mean_of(const double *x, int n, double alpha)
{
    as_league_mean m = {.value = NAN, .lo = NAN, .hi = NAN, .n = n};
    double         sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    if (!n)
        return m;
    m.value = sum / n;
    for (int i = 0; i < n; i++)
        squares += (x[i] - m.value) * (x[i] - m.value);
    if (n > 1) {
        double half = as_student(alpha / 2, n - 1) * sqrt(squares / (n - 1) / n);
        m.lo = m.value - half;
        m.hi = m.value + half;
    }
    return m;
}

typedef double (*number_of)(const league *l, const run *r);
static double loss_of(const league *l, const run *r) { return (void)l, r->loss; }
static double val_of(const league *l, const run *r) { return (void)l, r->val_loss; }
static double score_of(const league *l, const run *r) { return (void)l, r->score; }
static double spent_of(const league *l, const run *r)
{
    double spent = NAN;
    for (int i = 0; i < l->rounds && is_stopped(l); i++)
        spent = isfinite(r->spent[i]) ? r->spent[i] : spent;
    return is_stopped(l) ? spent : as_loop_spent_ns(r->loop, l->by_wall);
}
static bool of_validation(const league *l) { return as_options_is_set(l->options, "val") && !is_stopped(l); }
/* What the league is about. */
static double end_of(const league *l, const run *r) { return of_validation(l) ? r->val_loss : r->loss; }

static int column_take(const league *l, int candidate, number_of number, double *x)
{
    int n = 0;
    for (int s = 0; s < l->seeds; s++) {
        double value = run_of(l, candidate, s)->diverged ? (double)NAN : number(l, run_of(l, candidate, s));
        if (isfinite(value))
            x[n++] = value;
    }
    return n;
}

static assay_metric metric_make(const league *l, int candidate, number_of number, const char *unit, const char *none)
{
    double         x[MOST_SEEDS] = {0}; /* gcc does not see that column_take() fills what is read */
    int            n = column_take(l, candidate, number, x);
    as_league_mean m = as_league_mean_of(x, n, l->alpha);
    if (!n && is_stopped(l) && !run_of(l, candidate, 0)->diverged)
        return as_metric_unavailable(unit, "it was stopped before the end");
    if (n < l->seeds)
        return as_metric_unavailable(unit, run_of(l, candidate, 0)->diverged || n ? "it diverged with some seeds" : none);
    return as_metric_measured(m.value, m.lo, m.hi, (uint64_t)n, unit, "mean over the seeds, Student's interval");
}

/* The time at which the quickest run ended: all can be compared there. */
static double time_shared(const league *l)
{
    double least = INFINITY;
    for (int i = 0; i < l->vary.n * l->seeds; i++)
        if (!l->runs[i].diverged)
            least = fmin(least, spent_of(l, &l->runs[i]));
    return least;
}

/* Loss of the last round that ended until then; the first round, if none did. */
static double loss_at_time(const league *l, const run *r)
{
    double shared = time_shared(l), loss = NAN;
    for (int i = 0; i < ROUNDS; i++)
        if (isfinite(r->mean[i]) && (isnan(loss) || r->spent[i] <= shared))
            loss = r->mean[i];
    return loss;
}

static int diverged_count(const league *l, int candidate)
{
    int n = 0;
    for (int s = 0; s < l->seeds; s++)
        n += run_of(l, candidate, s)->diverged;
    return n;
}

static void candidates_tell(league *l)
{
    const char *const columns[] = {"name|candidate",
                                   is_stopped(l) ? "loss|training loss, last shared round" : "loss|training loss, last tenth",
                                   "val_loss|validation loss",
                                   as_arena_printf(&l->f->arena, "score|%s", *l->score_name ? l->score_name : "score"),
                                   "at_time|training loss at equal time",
                                   l->by_wall ? "time|time of the updates" : "time|CPU time of the updates",
                                   "updates|updates",
                                   "diverged|diverged",
                                   NULL};
    as_table         *t = as_facts_table(l->f, l->g, "candidates", "Candidates", columns);
    for (int c = 0; t && c < l->vary.n; c++) {
        as_cell cells[] = {{.text = l->names[c]},
                           {.metric = metric_make(l, c, loss_of, "1", "it diverged")},
                           {.metric = metric_make(l, c, val_of, "1", "no option val")},
                           {.metric = metric_make(l, c, score_of, "ratio", "no option val")},
                           {.metric = metric_make(l, c, loss_at_time, "1", "it diverged")},
                           {.metric = metric_make(l, c, spent_of, "ns", "it diverged")},
                           {.metric = as_metric_counted(run_of(l, c, 0)->done, "1", "the training loop")},
                           {.metric = as_metric_counted((uint64_t)diverged_count(l, c), "1", "seeds")}};
        as_facts_row(l->f, t, cells);
    }
}

static void runs_tell(league *l)
{
    static const char *const columns[] = {"name|candidate", "seed|seed", "loss|training loss", "val_loss|validation loss",
                                          "score|score",    "time|time", "state|it",           NULL};
    as_table                *t = as_facts_table(l->f, l->g, "runs", "Runs", columns);
    for (int s = 0; t && s < l->seeds; s++)
        for (int c = 0; c < l->vary.n; c++) {
            const run  *r = run_of(l, c, s);
            const char *none = r->diverged ? "it diverged" : "no option val";
            as_cell     cells[] = {
                    {.text = l->names[c]},
                    {.metric = as_metric_counted(l->seed + (uint64_t)s, "1", "option seed")},
                    {.metric = isfinite(r->loss) ? as_metric_measured(r->loss, NAN, NAN, r->n_last, "1", "last tenth of the updates")
                                                 : as_metric_unavailable("1", "it diverged")},
                    {.metric = isfinite(r->val_loss) ? as_metric_measured(r->val_loss, NAN, NAN, 1, "1", "validation")
                                                     : as_metric_unavailable("1", none)},
                    {.metric = isfinite(r->score) ? as_metric_measured(r->score, NAN, NAN, 1, "ratio", "validation")
                                                  : as_metric_unavailable("ratio", none)},
                    {.metric = as_metric_measured(spent_of(l, r), NAN, NAN, 1, "ns",
                                              l->by_wall ? "elapsed time of the updates" : "CPU time of the loop's thread")},
                    {.text = r->diverged ? r->why : "ended"}};
            as_facts_row(l->f, t, cells);
        }
}

/* The mean over the seeds, round by round, as far as every seed got. */
static void curve_tell(league *l, int c, bool by_time)
{
    double x[ROUNDS], y[ROUNDS];
    size_t n = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double sum = 0, spent = 0;
        for (int s = 0; s < l->seeds; s++) {
            sum += run_of(l, c, s)->mean[i] / l->seeds;
            spent += run_of(l, c, s)->spent[i] / l->seeds;
        }
        if (isfinite(sum)) {
            x[n] = by_time ? spent * 1e-9 : (double)run_of(l, c, 0)->at[i];
            y[n++] = sum;
        }
    }
    if (n)
        as_facts_series(l->f, l->g,
                        &(as_series){.key = as_arena_printf(&l->f->arena, "%s.%d", by_time ? "time" : "step", c),
                                     .label = l->names[c],
                                     .x_unit = by_time ? "s" : "1",
                                     .y_unit = "1",
                                     .kind = ASSAY_MEASURED,
                                     .source = "training loss, mean over the seeds",
                                     .x = x,
                                     .y = y,
                                     .n = n});
}

/* --- Verdicts -------------------------------------------------------------------------------------------------------------- */

typedef struct verdict {
    const char    *word; /* of a against b: "lower", "higher", "same", "cannot tell", or about one that diverged */
    as_league_mean less; /* by how much the loss of b is above that of a */
    double         seeds_needed;
    const char    *text;
} verdict;

/* With how many pairs of this scatter a difference such as this one would be decided 19 times of 20; NaN: more than can be asked for. */
static double seeds_to_decide(const as_league_mean *m, double alpha)
{
    double scatter = (m->hi - m->value) / as_student(alpha / 2, m->n - 1) * sqrt(m->n);
    for (int n = m->n + 1; n <= MOST_SEEDS; n++)
        if ((as_student(alpha / 2, n - 1) + as_normal_quantile(.95)) * scatter / sqrt(n) <= fabs(m->value))
            return n;
    return NAN;
}

static verdict judge(league *l, int a, int b, double alpha)
{
    double  d[MOST_SEEDS];
    int     n = 0, a_out = diverged_count(l, a), b_out = diverged_count(l, b);
    bool    same = true;
    verdict v = {.word = "cannot tell", .seeds_needed = NAN};
    char    by[32], lo[32], hi[32], needed[64];
    for (int s = 0; s < l->seeds; s++) {
        const run *ra = run_of(l, a, s), *rb = run_of(l, b, s);
        if (ra->diverged || rb->diverged)
            continue;
        d[n++] = end_of(l, rb) - end_of(l, ra);
        same &= end_of(l, rb) == end_of(l, ra);
    }
    v.less = as_league_mean_of(d, n, alpha);
    const char *an = l->names[a], *bn = l->names[b];
    if (a_out || b_out) { /* it is out, however low the others of its runs are */
        v.word = a_out ? "diverged" : "against one that diverged";
        v.text = as_arena_printf(&l->f->arena, "%s diverged with %d of %d seeds%s%s%s.", a_out ? an : bn, a_out ? a_out : b_out,
                                 l->seeds, a_out && b_out ? ", and " : "", a_out && b_out ? bn : "", a_out && b_out ? ", too" : "");
        v.less.lo = v.less.hi = NAN;
        return v;
    }
    if (same) {
        v.word = "same";
        v.text = as_arena_printf(&l->f->arena, "%s and %s end with the same loss to the bit, seed by seed.", an, bn);
        return v;
    }
    as_show(lo, sizeof lo, fmin(fabs(v.less.lo), fabs(v.less.hi)), "1");
    as_show(hi, sizeof hi, fmax(fabs(v.less.lo), fabs(v.less.hi)), "1");
    as_show(by, sizeof by, fabs(v.less.value), "1");
    if (v.less.lo > 0 || v.less.hi < 0) {
        v.word = v.less.lo > 0 ? "lower" : "higher";
        v.text = as_arena_printf(&l->f->arena, "%s %s lower than %s by %s (%s to %s).", v.less.lo > 0 ? an : bn,
                                 is_stopped(l) ? "is" : "ends", v.less.lo > 0 ? bn : an, by, lo, hi);
        return v;
    }
    v.seeds_needed = seeds_to_decide(&v.less, alpha);
    bool   a_below = v.less.value > 0;
    double ends[] = {a_below ? v.less.lo : -v.less.hi, a_below ? v.less.hi : -v.less.lo};
    if (isfinite(v.seeds_needed))
        snprintf(needed, sizeof needed, "about %.0f seeds may decide", v.seeds_needed);
    else
        snprintf(needed, sizeof needed, "it would take more than %d seeds", (int)MOST_SEEDS);
    v.text = as_arena_printf(&l->f->arena, "Cannot tell yet whether %s %s lower than %s: by %s (%s to %s); %s.", a_below ? an : bn,
                             is_stopped(l) ? "is" : "ends", a_below ? bn : an, by, as_show(lo, sizeof lo, ends[0], "1"),
                             as_show(hi, sizeof hi, ends[1], "1"), needed);
    return v;
}

/* The candidate that no other is below: by its mean, where all its seeds ended. */
static int best_find(const league *l)
{
    int    best = -1;
    double least = INFINITY;
    for (int c = 0; c < l->vary.n; c++) {
        double         x[MOST_SEEDS];
        int            n = column_take(l, c, end_of, x);
        as_league_mean m = as_league_mean_of(x, n, l->alpha);
        if (n == l->seeds && m.value < least)
            least = m.value, best = c;
    }
    return best;
}

static void verdicts_tell(league *l)
{
    static const char *const columns[] = {
        "a|candidate", "b|against", "verdict|its loss is", "less|lower by", "seeds_needed|seeds to decide", "text|in words", NULL};
    int       n_pairs = l->vary.n * (l->vary.n - 1) / 2, best = best_find(l);
    double    alpha = l->alpha / n_pairs; /* all of them are right together */
    as_table *t = as_facts_table(l->f, l->g, "verdicts", "Verdicts, paired by seed", columns);
    bool      first = best >= 0;
    for (int a = 0; t && a < l->vary.n; a++)
        for (int b = a + 1; b < l->vary.n; b++) {
            verdict v = judge(l, a, b, alpha);
            as_cell cells[] = {
                {.text = l->names[a]},
                {.text = l->names[b]},
                {.text = v.word},
                {.metric = isfinite(v.less.lo) ? as_metric_derived(v.less.value, v.less.lo, v.less.hi, (uint64_t)v.less.n, "1",
                                                                   "mean difference of pairs, Student's interval")
                                               : as_metric_unavailable("1", "a run diverged")},
                {.metric = isfinite(v.seeds_needed)
                               ? as_metric_modelled(v.seeds_needed, NAN, NAN, "1", "95 % power, if the difference is what it seems")
                               : as_metric_unavailable("1", !strcmp(v.word, "cannot tell") ? "more than 100"
                                                                                           : "it is decided, or a run diverged")},
                {.text = v.text ? v.text : ""}};
            as_facts_row(l->f, t, cells);
            if ((a == best || b == best) && !diverged_count(l, a == best ? b : a))
                first &= !strcmp(v.word, a == best ? "lower" : "higher");
        }
    as_facts_note(l->f, "league.winner", first ? l->names[best] : "");
    as_facts_note(l->f, "league.lowest", best >= 0 ? l->names[best] : "");
}

static assay_status facts_make(league *l)
{
    if (!(l->f = as_facts_new(l->env)))
        return as_fail(l->env, ASSAY_NO_MEMORY, "compare: not enough memory for its facts");
    l->g = as_facts_group(l->f, "league", "League");
    l->f->title = as_arena_printf(&l->f->arena, "%s by %s", l->models[0]->name, l->vary.key);
    as_facts_note(l->f, AS_NOTE_NAME, l->models[0]->name);
    as_facts_note(l->f, "league.key", l->vary.key);
    as_facts_note(l->f, "league.data", as_options_text(l->options, "data"));
    as_facts_note(l->f, "league.of", of_validation(l) ? "validation loss" : "training loss");
    if (is_stopped(l)) {
        as_facts_note(l->f, "league.stopped", as_arena_printf(&l->f->arena, "%d of %d", l->rounds, (int)ROUNDS));
        as_facts_find(l->f, l->g, AS_LEVEL_WARN,
                      "Stopped after round %d of %d: the losses are those of the last round that every run finished.", l->rounds,
                      (int)ROUNDS);
    }
    as_facts_note(l->f, "league.clock", l->by_wall ? "elapsed" : "CPU");
    as_facts_add(l->f, l->g, "league.seeds", "seeds", as_metric_counted((uint64_t)l->seeds, "1", "option seeds"));
    as_facts_add(l->f, l->g, "league.confidence", "confidence of the intervals",
                 as_metric_derived(1 - l->alpha, NAN, NAN, 1, "ratio", "1 - option alpha; that of all verdicts together"));
    double shared = time_shared(l);
    as_facts_add(l->f, l->g, "league.shared_time", "time at which all are compared",
                 isfinite(shared) ? as_metric_measured(shared, NAN, NAN, 1, "ns", "the quickest run's updates")
                                  : as_metric_unavailable("ns", "every run diverged"));
    candidates_tell(l);
    verdicts_tell(l);
    runs_tell(l);
    for (int c = 0; c < l->vary.n; c++) {
        curve_tell(l, c, false);
        curve_tell(l, c, true);
    }
    return ASSAY_OK;
}

static void league_close(league *l)
{
    for (int i = 0; l->runs && i < l->vary.n * l->seeds; i++) {
        as_loop_close(l->runs[i].loop);
        assay_options_free(l->runs[i].options);
        free(l->runs[i].losses);
    }
    for (int s = 0; l->models && s < l->seeds; s++)
        assay_model_free(l->models[s]);
    free(l->runs);
    free(l->models);
    as_arena_drop(&l->arena);
}

static assay_status whole(league *l, const as_store_options *store, assay_facts **out)
{
    AS_TRY(as_league_values_read(l->env, as_options_texts(l->options, "vary"), &l->arena, &l->vary));
    l->models = calloc((size_t)l->seeds, sizeof *l->models);
    l->runs = calloc((size_t)(l->vary.n * l->seeds), sizeof *l->runs);
    for (int i = 0; i < l->vary.n; i++)
        if (!(l->names[i] = strspn(l->vary.values[i], "0123456789")
                                ? as_arena_printf(&l->arena, "%s=%s", l->vary.key, l->vary.values[i])
                                : l->vary.values[i]))
            return as_fail(l->env, ASSAY_NO_MEMORY, "compare: not enough memory for the candidates");
    const char *title = as_arena_printf(&l->arena, "%s by %s", l->spec, l->vary.key);
    if (!l->models || !l->runs || !title)
        return as_fail(l->env, ASSAY_NO_MEMORY, "compare: not enough memory for %d runs", l->vary.n * l->seeds);
    as_store_options to = *store;
    assay_status     played = play(l);
    if (played != ASSAY_OK && !(played == ASSAY_CANCELLED && l->rounds))
        return played;
    to.stopped = played == ASSAY_CANCELLED;
    as_stage_begin(l->env, AS_PHASE_ANALYSE, "", (double)NAN, 0);
    AS_TRY(facts_make(l));
    AS_TRY(as_facts_give(l->env, &to, "compare", title, l->f, ASSAY_OK, out));
    return played == ASSAY_OK
               ? ASSAY_OK
               : as_fail(l->env, ASSAY_CANCELLED, "stopped: %d of %d rounds of every run are kept", l->rounds, (int)ROUNDS);
}

typedef struct judging {
    double  alpha;
    int64_t seeds;
    int64_t seed;
} judging;

assay_status as_league(assay_env *env, const char *const *what, size_t n, const assay_options *options, assay_facts **out)
{
    static const char *const      keys[] = {AS_LEAGUE_KEYS, NULL};
    static const as_option_member members[] = {AS_MEMBER(judging, SHARE, "alpha", alpha),
                                               AS_MEMBER(judging, I64, "seeds", seeds),
                                               AS_MEMBER(judging, I64, "seed", seed),
                                               {.key = NULL}};
    judging                       j;
    as_store_options              store;
    char                          first[sizeof env->message];
    AS_TRY(as_options_only(env, options, "compare with --data", keys));
    if (n != 1)
        return as_fail(env, ASSAY_BAD_INPUT, "compare with --data takes one model, which learns in several ways: leave out %s",
                       n > 1 ? what[1] : "the others");
    AS_TRY(as_options_read(env, options, members, &j));
    AS_TRY(as_keep_options_read(env, options, &store));
    league       l = {.env = env,
                      .spec = what[0],
                      .options = options,
                      .seeds = (int)j.seeds,
                      .seed = (uint64_t)j.seed,
                      .alpha = j.alpha,
                      .rounds = ROUNDS};
    assay_status status = whole(&l, &store, out);
    memcpy(first, env->message, sizeof first);
    league_close(&l);
    memcpy(env->message, first, sizeof first);
    return status;
}
