/* tune_ways.c - the same training step in several ways: what each takes in memory and in time, predicted and measured.
 *
 * Memory is planned to the byte, and the growth of a child process that takes such steps stands beside it.  Times come from one trial of
 * all ways in turns, with the verdicts of `compare`; a difference inside the margin, or one that the rounds do not show, is not called
 * proved.  With data, every way also learns from the same examples in the same order, so that the losses can be compared. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/duel/duel_facts.h"
#include "base/stage.h"
#include "base/text.h"
#include "lab/tune.h"

enum { MOST_WAYS = 8, STANDARD_STEPS = 100, MOST_STEPS = 100000 };
#define PROBE_S        0.1
#define ROUNDS_WANTED  150.0 /* steps of every candidate, warm-up and turns included */
#define MOST_BUDGET_NS 120e9

typedef struct way {
    char             name[48];
    as_train_setup   setup;
    as_train_memory  memory;
    double           flops;
    int              n_segments, n_again;
    as_layer_saving *savings;
    int              n_savings;
    as_probe         probe;
    as_duel          duel;   /* against the first way */
    bool             judged; /* the trial has rounds of it */
    double          *losses; /* of each update with data; NULL: there are none */
    int64_t          n_losses;
    uint64_t         skips;
    double           scale;    /* of the loss, after the last update */
    char             why[256]; /* why it stopped learning; "": it did not */
} way;

typedef struct ways {
    as_tuner *t;
    way       all[MOST_WAYS];
    int       n;
    bool      stopped;
} ways;

/* --- Planning -------------------------------------------------------------------------------------------------- */

static double flops_of(const assay_plan *plan)
{
    double sum = 0;
    for (int s = plan->n_prologue; s < plan->n_steps; s++)
        sum += (double)plan->steps[s].cost.flops;
    return sum;
}

static assay_status savings_keep(as_tuner *t, const as_precision *p, way *w)
{
    w->savings = AS_TAKE(&t->f->arena, as_layer_saving, p->n_rows + 1);
    if (!w->savings)
        return as_fail(t->env, ASSAY_NO_MEMORY, "tune: not enough memory for %d results", p->n_rows);
    for (int i = 0; i < p->n_rows; i++)
        w->savings[i] = (as_layer_saving){
            .layer = as_facts_keep(t->f, p->rows[i].layer), .bytes = p->rows[i].elements * 2, .n_casts = p->rows[i].n_casts};
    w->n_savings = p->n_rows;
    return ASSAY_OK;
}

static assay_status way_plan(as_tuner *t, way *w)
{
    as_train_graph *graph = NULL;
    assay_plan     *plan = NULL;
    AS_TRY(as_train_plan_new(t->env, t->model, &w->setup, &t->plan, &graph, &plan));
    assay_status status = as_train_memory_count(t->env, graph, plan, &w->memory);
    w->flops = flops_of(plan);
    w->n_segments = graph->recompute.n_segments > 1 ? graph->recompute.n_segments : 1;
    w->n_again = graph->recompute.n_nodes;
    if (status == ASSAY_OK)
        status = savings_keep(t, &graph->precision, w);
    assay_plan_free(plan);
    as_train_graph_free(graph);
    return status;
}

/* A way that cannot be planned (a small network has few places to cut) and one that gives the same plan as an earlier one are not
 * measured, and not forgotten. */
static assay_status way_add(ways *s, const as_train_setup *setup, const char *name)
{
    way *w = &s->all[s->n];
    if (s->n == MOST_WAYS)
        return as_fail(s->t->env, ASSAY_BAD_INPUT, "tune: more than %d ways to compare", (int)MOST_WAYS);
    *w = (way){.setup = *setup, .scale = NAN};
    snprintf(w->name, sizeof w->name, "%s", name);
    assay_status status = way_plan(s->t, w);
    if (status == ASSAY_BAD_INPUT && s->n) {
        as_facts_find(s->t->f, s->t->g, AS_LEVEL_NOTE, "%s is left out: %s.", w->name, assay_message(s->t->env));
        s->t->env->message[0] = '\0';
        return ASSAY_OK;
    }
    AS_TRY(status);
    for (int i = 0; i < s->n; i++)
        if (s->all[i].n_again == w->n_again && s->all[i].flops == w->flops && s->all[i].memory.total == w->memory.total &&
            s->all[i].setup.precision == w->setup.precision) {
            as_facts_find(s->t->f, s->t->g, AS_LEVEL_NOTE, "%s is the same plan as %s.", w->name, s->all[i].name);
            return ASSAY_OK;
        }
    s->n++;
    return ASSAY_OK;
}

/* --- Measuring ---------------------------------------------------------------------------------------------------- */

/* A way that cannot run here has a state and a reason in its row, and no time. */
static assay_status ways_probe(ways *s)
{
    as_tuner *t = s->t;
    as_stage_begin(t->env, AS_PHASE_PLAN, "", (double)NAN, 0);
    for (int i = 0; i < s->n; i++)
        AS_TRY(as_probe_run(t->env, t->model, &s->all[i].setup, &t->plan, t->plan.batch, 0, PROBE_S, false, &s->all[i].probe));
    if (s->all[0].probe.state != AS_PROBE_FITS)
        return as_fail(t->env, ASSAY_DEVICE, "tune: %s of %s: %s", s->all[0].name, t->model->name, s->all[0].probe.why);
    return ASSAY_OK;
}

/* Unless it is given, the budget grows with the time of a round: a verdict needs about a dozen of them, and the trial ends as soon as all
 * verdicts stand. */
static void budget_set(ways *s)
{
    double round = 0;
    for (int i = 0; i < s->n; i++)
        round += s->all[i].probe.state == AS_PROBE_FITS ? s->all[i].probe.step_ns : 0;
    double wanted = fmin(ROUNDS_WANTED * round, MOST_BUDGET_NS);
    if (!s->t->lab.sampler.keeps_budget && wanted > (double)s->t->lab.sampler.budget_ns)
        s->t->lab.sampler.budget_ns = (uint64_t)wanted;
}

static assay_status trial_run(ways *s, const char *name)
{
    as_tuner            *t = s->t;
    as_bench_case        cases[MOST_WAYS];
    const as_bench_case *list[MOST_WAYS];
    const char          *names[MOST_WAYS];
    int                  n = 0, of[MOST_WAYS];
    for (int i = 0; i < s->n; i++) {
        if (s->all[i].probe.state != AS_PROBE_FITS)
            continue;
        cases[n] = (as_bench_case){.id = s->all[i].name,
                                   .name = s->all[i].name,
                                   .family = s->all[i].name,
                                   .workload = t->model->name,
                                   .spec = t->model->name,
                                   .lent = t->model,
                                   .plan = t->plan,
                                   .trains = true,
                                   .train = s->all[i].setup,
                                   .work = AS_WORK_TRAINING};
        list[n] = &cases[n];
        names[n] = s->all[i].name;
        of[n++] = i;
    }
    if (n < 2)
        return ASSAY_OK;
    budget_set(s);
    assay_status status = as_lab_compare(t->env, name, list, names, n, &t->lab, &t->trial);
    s->stopped = status == ASSAY_CANCELLED;
    if (status != ASSAY_OK && !s->stopped)
        return status;
    if (!t->trial || !t->trial->n_rounds)
        return s->stopped
                   ? as_fail(t->env, ASSAY_CANCELLED, "tune: stopped before a round was complete")
                   : as_fail(t->env, ASSAY_DEVICE, "tune: %s: %s", name, t->trial ? t->trial->reason : "nothing was measured");
    for (int b = 1; b < n; b++) {
        as_duel_judge(t->trial, 0, b, &t->lab.rules, &s->all[of[b]].duel);
        s->all[of[b]].judged = true;
    }
    s->all[0].judged = true;
    return ASSAY_OK;
}

/* The candidate of the trial that a way is; -1: it was not measured. */
static int arm_of(const ways *s, int i)
{
    for (int k = 0; s->t->trial && k < s->t->trial->n_arms; k++)
        if (!strcmp(s->t->trial->arms[k].name, s->all[i].name))
            return k;
    return -1;
}

/* --- Learning ------------------------------------------------------------------------------------------------------- */

static assay_status way_learn(ways *s, way *w, int64_t steps)
{
    as_tuner        *t = s->t;
    as_loop_settings settings;
    as_loop         *loop = NULL;
    assay_options   *own = NULL;
    char             batch[32];
    bool             more = true;
    w->losses = AS_TAKE(&t->f->arena, double, steps);
    if (!w->losses)
        return as_fail(t->env, ASSAY_NO_MEMORY, "tune: not enough memory for %lld updates", (long long)steps);
    AS_TRY(as_tune_loop_options(t, &own));
    assay_status status = as_loop_settings_read(t->env, own, &settings);
    snprintf(batch, sizeof batch, "%lld", (long long)t->plan.batch);
    settings.batch = batch;
    settings.setup.precision = w->setup.precision;
    settings.setup.recompute = w->setup.recompute;
    settings.plan.threads = t->plan.threads;
    settings.steps = steps;
    settings.epochs = 0;
    settings.val = settings.checkpoint = settings.log = NULL;
    settings.diverged = "0";
    if (status == ASSAY_OK)
        status = as_loop_open(t->env, t->model, &settings, &loop);
    while (more && status == ASSAY_OK && w->n_losses < steps && !as_cancelled(t->env)) {
        assay_training now;
        status = as_loop_update(loop, &now, &more);
        if (status == ASSAY_DEVICE) { /* a loss that is not finite is a result of this way */
            snprintf(w->why, sizeof w->why, "%s", assay_message(t->env));
            status = ASSAY_OK;
            break;
        }
        if (status == ASSAY_OK) {
            w->losses[w->n_losses++] = now.loss;
            w->skips = now.skips;
            w->scale = now.loss_scale;
            as_stage_done(t->env, (double)w->n_losses / (double)steps);
        }
    }
    as_loop_close(loop);
    assay_options_free(own);
    return status;
}

static assay_status ways_learn(ways *s)
{
    as_tuner *t = s->t;
    int64_t   steps = t->steps ? t->steps : STANDARD_STEPS;
    if (!t->data)
        return ASSAY_OK;
    if (steps > MOST_STEPS)
        return as_fail(t->env, ASSAY_BAD_INPUT, "tune: --steps %lld: at most %d", (long long)steps, (int)MOST_STEPS);
    for (int i = 0; i < s->n && !as_cancelled(t->env); i++) {
        as_stage_begin(t->env, AS_PHASE_TRAIN, s->all[i].name, (double)NAN, 0);
        if (s->all[i].probe.state == AS_PROBE_FITS)
            AS_TRY(way_learn(s, &s->all[i], steps));
    }
    return as_cancelled(t->env) ? as_fail(t->env, ASSAY_CANCELLED, "tune: stopped before anything was timed") : ASSAY_OK;
}

/* Mean of the last tenth of the updates; NaN: none, or it did not get there. */
static double loss_of(const way *w)
{
    int64_t n = (w->n_losses + 9) / 10;
    double  sum = 0;
    for (int64_t i = w->n_losses - n; i < w->n_losses; i++)
        sum += w->losses[i];
    return n && !*w->why ? sum / (double)n : (double)NAN;
}

/* The largest distance of the losses of an update, relative to the first way's; NaN: no update of both. */
static double gap_most(const way *a, const way *b)
{
    double most = NAN;
    for (int64_t i = 0; i < a->n_losses && i < b->n_losses; i++)
        most = fmax(most, fabs(b->losses[i] - a->losses[i]) / fmax(fabs(a->losses[i]), 1e-12));
    return most;
}

/* --- Facts ----------------------------------------------------------------------------------------------------------- */

static assay_metric time_of(const ways *s, int i)
{
    const way     *w = &s->all[i];
    const as_duel *d = &w->duel;
    const char    *clock = s->t->trial ? as_trial_clock_text(s->t->trial) : "";
    if (w->probe.state != AS_PROBE_FITS)
        return as_metric_unavailable("ns", w->probe.why);
    if (!w->judged) /* alone: no turns to take */
        return as_metric_measured(w->probe.step_ns, w->probe.lo_ns, w->probe.hi_ns, w->probe.n_steps, "ns",
                                  "steps in a child process, median");
    if (i)
        return as_duel_b_metric(d, clock);
    for (int k = 1; k < s->n; k++)
        if (s->all[k].judged) {
            d = &s->all[k].duel;
            break;
        }
    return as_number_measured(d->a_ns, d->a_lo, d->a_hi, d->n_rounds, "ns", clock, "there are too few rounds");
}

/* What the way should take, known from the first way and the plans alone. */
static assay_metric predicted_of(const ways *s, int i)
{
    const way   *w = &s->all[i], *first = &s->all[0];
    assay_metric whole = time_of(s, 0);
    if (!i)
        return as_metric_unavailable("ns", "it is what the others are predicted from");
    if (!as_metric_has(&whole))
        return as_metric_unavailable("ns", "the first way has no time");
    int    b = arm_of(s, i);
    double share = b > 0 ? as_training_again_share(s->t->f, s->t->trial, 0, b) : (double)NAN;
    if (w->setup.precision != first->setup.precision)
        return as_metric_unavailable("ns", "casts and other kernels are not modelled");
    if (isfinite(share))
        return as_metric_modelled(whole.value * (1 + share), NAN, NAN, "ns",
                                  "time of the first + its forward time of what is computed again");
    return as_metric_modelled(whole.value * w->flops / first->flops, NAN, NAN, "ns", "time of the first x ratio of the work");
}

static const char *verdict_of(const way *w, bool first)
{
    return first ? "first" : !w->judged ? "-" : as_verdict_text(w->duel.verdict);
}

static assay_metric grew_of(const as_probe *p)
{
    return isfinite(p->peak_bytes) && p->peak_bytes >= 0
               ? as_metric_measured(p->peak_bytes, NAN, NAN, 1, "byte", "growth of the resident memory of a child process")
               : as_metric_unavailable("byte", *p->why ? p->why : "the system does not tell");
}

static void ways_tell(ways *s, const char *label)
{
    static const char *const columns[] = {"name|way",
                                          "segments|segments",
                                          "planned|planned memory",
                                          "less|memory change",
                                          "grew|measured memory",
                                          "flops|work",
                                          "predicted|predicted time",
                                          "time|time per step",
                                          "ratio|time / time of the first",
                                          "verdict|it is",
                                          "why|why",
                                          NULL};
    as_table                *to = as_facts_table(s->t->f, s->t->g, "ways", label, columns);
    for (int i = 0; to && i < s->n; i++) {
        const way *w = &s->all[i], *first = &s->all[0];
        as_cell    cells[] = {
               {.text = w->name},
               {.metric = as_metric_counted((uint64_t)w->n_segments, "1", "plan")},
               {.metric = as_metric_counted(w->memory.total, "byte", "plan")},
               {.metric = as_metric_derived((double)w->memory.total / (double)first->memory.total - 1, NAN, NAN, 1, "ratio",
                                            "planned / planned of the first - 1")},
               {.metric = grew_of(&w->probe)},
               {.metric = as_metric_counted((uint64_t)w->flops, "flop", "operator definition")},
               {.metric = predicted_of(s, i)},
               {.metric = time_of(s, i)},
               {.metric = as_number_derived(i && w->judged ? w->duel.ratio : (double)NAN, w->duel.lo, w->duel.hi, w->duel.n_units, "1",
                                            "paired by rounds", !i ? "it is the first" : "it has too few rounds")},
               {.text = verdict_of(w, !i)},
               {.text = *w->probe.why ? w->probe.why : "-"}};
        as_facts_row(s->t->f, to, cells);
    }
}

static void losses_tell(ways *s)
{
    static const char *const columns[] = {"name|way",
                                          "updates|updates",
                                          "loss|loss, last tenth",
                                          "gap|gap to the first",
                                          "most|largest gap",
                                          "skips|skipped",
                                          "scale|loss scale",
                                          "why|why",
                                          NULL};
    const way               *first = &s->all[0];
    if (!first->n_losses)
        return;
    as_table *to = as_facts_table(s->t->f, s->t->g, "losses", "Loss with the same examples in the same order", columns);
    for (int i = 0; to && i < s->n; i++) {
        const way *w = &s->all[i];
        double     loss = loss_of(w), base = loss_of(first), most = gap_most(first, w);
        bool       scaled = w->setup.precision == AS_TRAIN_F16;
        as_cell    cells[] = {
               {.text = w->name},
               {.metric = as_metric_counted((uint64_t)w->n_losses, "1", "the training loop")},
               {.metric = as_number_measured(loss, NAN, NAN, (uint64_t)w->n_losses, "1", "mean of the last tenth of the updates",
                                          *w->why ? w->why : "it did not learn")},
               {.metric = as_number_derived(i ? loss - base : (double)NAN, NAN, NAN, (uint64_t)w->n_losses, "1",
                                            "loss - loss of the first", !i ? "it is the first" : "one of them has no loss")},
               {.metric = as_number_derived(i ? most : (double)NAN, NAN, NAN, (uint64_t)w->n_losses, "ratio",
                                            "of any update, relative to the first's loss",
                                         !i ? "it is the first" : "one of them has no loss")},
               {.metric = as_metric_counted(w->skips, "1", "the training loop")},
               {.metric = scaled && isfinite(w->scale) ? as_metric_measured(w->scale, NAN, NAN, 1, "1", "after the last update")
                                                       : as_metric_unavailable("1", "only f16-storage scales the loss")},
               {.text = *w->why ? w->why : "-"}};
        as_facts_row(s->t->f, to, cells);
    }
}

static void kinds_tell(ways *s)
{
    const char *columns[MOST_WAYS + 2] = {"kind|what it is for"};
    for (int i = 0; i < s->n; i++)
        columns[i + 1] = as_arena_printf(&s->t->f->arena, "%s|%s", s->all[i].name, s->all[i].name);
    for (int i = 0; i < s->n; i++)
        if (!columns[i + 1])
            return;
    as_table *to = as_facts_table(s->t->f, s->t->g, "kinds", "Memory by what it is for", columns);
    for (int k = 0; to && k < AS_N_KINDS; k++) {
        as_cell  cells[MOST_WAYS + 1] = {{.text = as_train_kind_text((as_train_kind)k)}};
        uint64_t any = 0;
        for (int i = 0; i < s->n; i++) {
            cells[i + 1] = (as_cell){.metric = as_metric_counted(s->all[i].memory.held[k], "byte", "plan")};
            any |= s->all[i].memory.held[k];
        }
        if (any)
            as_facts_row(s->t->f, to, cells);
    }
}

static void layers_tell(ways *s)
{
    for (int i = 1; i < s->n; i++) {
        int         b = arm_of(s, i);
        const char *key = as_arena_printf(&s->t->f->arena, "layers.%s", s->all[i].name);
        const char *label =
            as_arena_printf(&s->t->f->arena, "Time of a training step by layer: %s against %s", s->all[i].name, s->all[0].name);
        if (b > 0 && key && label)
            as_training_layers_add(s->t->f, s->t->g, key, label, s->t->trial, 0, b, s->t->lab.rules.margin, s->all[i].savings,
                                   s->all[i].n_savings);
    }
}

/* --- Which is worth it ------------------------------------------------------------------------------------------------ */

/* "takes 20 % longer, proved (18 to 23 %)"; what is not proved is not called so. */
static const char *time_say(ways *s, const way *w)
{
    const as_duel *d = &w->duel;
    as_arena      *arena = &s->t->f->arena;
    const char    *text = NULL;
    bool           known = isfinite(d->lo) && isfinite(d->hi);
    double         lo = 100 * (d->lo - 1), hi = 100 * (d->hi - 1);
    if (!w->judged)
        text = "has no time: it was not measured";
    else if (d->verdict == AS_SLOWER)
        text = as_arena_printf(arena, "takes %.0f %% longer (proved: %+.1f to %+.1f %%)", 100 * (d->ratio - 1), lo, hi);
    else if (d->verdict == AS_FASTER)
        text = as_arena_printf(arena, "takes %.0f %% less time (proved: %+.1f to %+.1f %%)", 100 * (1 - d->ratio), lo, hi);
    else if (d->verdict == AS_SAME)
        text = as_arena_printf(arena, "takes the same time within %.1f %%", 100 * s->t->lab.rules.margin);
    else if (known)
        text = as_arena_printf(arena, "has no proved difference in time (%+.1f to %+.1f %%)", lo, hi);
    else
        text = "has no proved difference in time (too few rounds: give it more --budget)";
    return text ? text : "";
}

static bool fits_budget(const ways *s, const way *w) { return !s->t->budget_given || w->memory.total <= s->t->budget; }

/* Cost of what it saves: growth of the time per share of memory.  Where the time is not known to grow, the far end of its interval counts, so
 * that no way looks free because it was hard to measure. */
static double price_of(const ways *s, const way *w)
{
    double saved = 1 - (double)w->memory.total / (double)s->all[0].memory.total, grows = w->duel.ratio - 1;
    if (w->duel.verdict == AS_UNRESOLVED)
        grows = isfinite(w->duel.hi) ? w->duel.hi - 1 : grows;
    return saved > 0 ? fmax(grows, 0) / saved : INFINITY;
}

/* With a budget: the first way if it fits, else the quickest that does.  Without: the way that saves memory at the lowest price.  -1: none. */
static int best_find(const ways *s)
{
    int best = -1;
    if (s->t->budget_given && fits_budget(s, &s->all[0]))
        return 0;
    for (int i = 1; i < s->n; i++) {
        const way *w = &s->all[i], *b = best < 0 ? NULL : &s->all[best];
        if (!w->judged || !fits_budget(s, w) || w->memory.total >= s->all[0].memory.total)
            continue;
        if (!b || (s->t->budget_given ? w->duel.ratio < b->duel.ratio : price_of(s, w) < price_of(s, b)))
            best = i;
    }
    return best;
}

static void answer_tell(ways *s, const char *key, const char *label)
{
    as_tuner   *t = s->t;
    char        was[32], is[32], limit[32];
    int         best = best_find(s);
    const way  *w = best > 0 ? &s->all[best] : NULL, *first = &s->all[0];
    const char *text;
    as_show(was, sizeof was, (double)first->memory.total, "byte");
    as_show(limit, sizeof limit, (double)t->budget, "byte");
    if (!best)
        text = as_arena_printf(&t->f->arena, "Not worth it: %s fits into %s.", first->name, limit);
    else if (!w && t->budget_given)
        text = as_arena_printf(&t->f->arena, "No way fits into %s; %s takes %s.", limit, first->name, was);
    else if (!w)
        text = as_arena_printf(&t->f->arena, "Not worth it: no way takes less memory than %s (%s).", first->name, was);
    else
        text = as_arena_printf(&t->f->arena, "%s, if memory is what limits: it takes %.0f %% less (%s instead of %s) and %s.",
                               w->name, 100 * (1 - (double)w->memory.total / (double)first->memory.total),
                               as_show(is, sizeof is, (double)w->memory.total, "byte"), was, time_say(s, w));
    as_facts_note(t->f, "tune.answer", text ? text : "");
    as_facts_note(t->f, "tune.best", best < 0 ? first->name : s->all[best].name);
    as_facts_note(t->f, "tune.proved", w && w->judged && w->duel.verdict != AS_UNRESOLVED ? "yes" : "no");
    as_facts_add(t->f, t->g, key, label,
                 best < 0 && t->budget_given ? as_metric_unavailable("byte", "no way fits into the budget")
                                             : as_metric_counted(s->all[best < 0 ? 0 : best].memory.total, "byte", "plan"));
}

/* --- The two ------------------------------------------------------------------------------------------------------------- */

static assay_status ways_try(ways *s, const char *name, const char *label)
{
    AS_TRY(ways_probe(s));
    AS_TRY(ways_learn(s)); /* first: data that do not fit are told before anything is timed */
    AS_TRY(trial_run(s, name));
    as_stage_begin(s->t->env, AS_PHASE_ANALYSE, "", (double)NAN, 0);
    ways_tell(s, label);
    kinds_tell(s);
    losses_tell(s);
    answer_tell(s, "tune.memory", "memory of the way to use");
    return ASSAY_OK;
}

/* Adds a group: pointers to the tuner's own group end here. */
static void duels_tell(ways *s)
{
    as_duel_row rows[MOST_WAYS];
    size_t      n = 0;
    for (int i = 1; i < s->n; i++)
        if (s->all[i].judged)
            rows[n++] = (as_duel_row){.trial = s->t->trial,
                                      .a = 0,
                                      .b = arm_of(s, i),
                                      .name = s->all[i].name,
                                      .duel = s->all[i].duel,
                                      .rules = &s->t->lab.rules};
    if (n)
        as_duels_add(s->t->f, rows, n);
}

static void same_tell(ways *s)
{
    const way *first = &s->all[0];
    for (int i = 1; i < s->n && first->n_losses; i++) {
        const way *w = &s->all[i];
        int64_t    n = w->n_losses < first->n_losses ? w->n_losses : first->n_losses;
        bool       same = w->n_losses == first->n_losses && !memcmp(w->losses, first->losses, (size_t)n * sizeof *w->losses);
        if (same)
            as_facts_find(s->t->f, s->t->g, AS_LEVEL_GOOD, "%s: the losses of all %lld updates are the same to the bit.", w->name,
                          (long long)n);
        else
            as_facts_find(s->t->f, s->t->g, AS_LEVEL_BAD, "%s: its losses differ from those of %s, and must not.", w->name,
                          first->name);
    }
}

static assay_status ended(const ways *s)
{
    return s->stopped ? as_fail(s->t->env, ASSAY_CANCELLED, "tune: stopped; what was measured is shown") : ASSAY_OK;
}

assay_status as_tune_recompute(as_tuner *t, const char *list)
{
    ways           s = {.t = t};
    as_arena      *arena = &t->f->arena;
    const char    *trial_name = as_arena_printf(arena, "%s, batch %lld, recompute", t->model->name, (long long)t->plan.batch);
    as_train_setup kept = t->setup;
    kept.recompute = 0;
    kept.recompute_text = "0";
    if (!trial_name)
        return as_fail(t->env, ASSAY_NO_MEMORY, "tune: not enough memory for a name");
    AS_TRY(way_add(&s, &kept, "everything kept"));
    for (const char *at = list; at;) {
        size_t         n = strcspn(at, ",");
        char           name[48];
        as_train_setup setup = t->setup;
        setup.recompute_text = as_arena_text_n(arena, at, n);
        if (!setup.recompute_text || !n)
            return as_fail(t->env, ASSAY_BAD_INPUT, "tune: --recompute %s: a value is empty", list);
        AS_TRY(as_train_setup_parse(t->env, &setup));
        snprintf(name, sizeof name, "recompute %s", setup.recompute_text);
        if (setup.recompute)
            AS_TRY(way_add(&s, &setup, name));
        at = at[n] ? at + n + 1 : NULL;
    }
    AS_TRY(ways_try(&s, trial_name, "Computing again instead of keeping"));
    same_tell(&s);
    duels_tell(&s);
    return ended(&s);
}

assay_status as_tune_precision(as_tuner *t)
{
    static const struct {
        as_train_precision precision;
        const char        *name;
    } all[] = {{AS_TRAIN_F32, "f32"}, {AS_TRAIN_F16, "f16-storage"}, {AS_TRAIN_BF16, "bf16-storage"}};
    ways        s = {.t = t};
    const char *trial_name = as_arena_printf(&t->f->arena, "%s, batch %lld, precision", t->model->name, (long long)t->plan.batch);
    if (!trial_name)
        return as_fail(t->env, ASSAY_NO_MEMORY, "tune: not enough memory for a name");
    for (size_t i = 0; i < AS_COUNT(all); i++) {
        as_train_setup setup = t->setup;
        setup.precision = all[i].precision;
        AS_TRY(way_add(&s, &setup, all[i].name));
    }
    AS_TRY(ways_try(&s, trial_name, "16 bits instead of 32"));
    layers_tell(&s);
    if (!t->data)
        as_facts_find(t->f, t->g, AS_LEVEL_NOTE, "Losses were not compared: --data D trains with each for %d updates.",
                      (int)STANDARD_STEPS);
    duels_tell(&s);
    return ended(&s);
}
