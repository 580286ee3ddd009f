/* loop.c - updates, one after the other, and what follows each of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/file.h"
#include "base/text.h"
#include "sensor/sensor.h"
#include "train/loop_parts.h"

#define SCALE_MOST  0x1p40
#define SCALE_LEAST 0x1p-14
#define SMOOTH_TIME 0.05
enum { CLEAN_STEPS = 2000, LOOK_EVERY_NS = 200000000 };

/* --- One update ------------------------------------------------------------------------------------------------ */

/* A run that was begun is ended: half an update, or an epoch without its evaluation, would be in no checkpoint.  So Ctrl-C is looked at
 * between updates. */
static atomic_int never;

as_run_ctx as_loop_run_ctx(as_loop *l, bool recorded)
{
    return (as_run_ctx){.env = l->env, .clock = &l->env->clock, .cancel = &never, .recorder = recorded ? &l->recorder : NULL};
}

static int64_t updates_per_epoch(const as_loop *l)
{
    int64_t n = as_loader_batches(l->loader) / l->settings->setup.accumulate;
    return n ? n : 1;
}

static void rates_set(as_loop *l)
{
    as_schedule_at at = {.step = (int64_t)l->place.updates,
                         .total = (int64_t)l->n_updates,
                         .steps_per_epoch = updates_per_epoch(l),
                         .base = as_trainer_graph(l->trainer)->base_rate,
                         .losses = l->val_losses,
                         .n_losses = l->n_val_losses};
    double         rate = l->settings->schedule ? as_schedule_rate(&l->schedule, &at) : as_trainer_graph(l->trainer)->base_rate;
    rate *= as_growth_factor(&l->growth, l->first_batch, l->place.epoch + 1);
    for (int i = 0; i < as_trainer_graph(l->trainer)->n_groups; i++)
        l->rates[i] = rate * as_trainer_graph(l->trainer)->rates[i];
}

static as_train_input input_of(as_loop *l, const as_batch *batch, as_view *target, bool update)
{
    as_feed_views(&l->feed, batch, l->inputs);
    *target = as_view_of(batch->target.data, batch->target.dtype, &l->target);
    return (as_train_input){.inputs = l->inputs,
                            .n_inputs = l->feed.n_inputs,
                            .target = target,
                            .rates = l->rates,
                            .update = update,
                            .loss_scale = l->place.loss_scale};
}

static assay_status batch_get(as_loop *l, as_batch *batch)
{
    uint64_t     begin = as_loop_part_begin(l);
    assay_status status = as_loader_next(l->env, l->loader, batch);
    as_loop_part_end(l, AS_LOOP_WAIT, begin);
    return status;
}

/* --- L-BFGS: one update is a search, with several evaluations of the same batch ------------------------------------ */

typedef struct closure {
    as_loop              *l;
    const as_train_input *in;
    as_train_output       out;
} closure;

static as_view params_of(as_loop *l) { return as_instance_variable(as_trainer_instance(l->trainer), 0); }

static assay_status evaluate(void *arg, const double *w, double *loss, double *g)
{
    closure           *c = arg;
    as_view            params = params_of(c->l);
    const assay_model *m = as_trainer_graph(c->l->trainer)->model;
    for (int64_t i = 0; i < as_shape_count(&params.shape); i++)
        as_view_set(&params, i, w[i]);
    as_run_ctx run = as_loop_run_ctx(c->l, false);
    AS_TRY(as_trainer_step(&run, c->l->trainer, c->in, &c->out));
    *loss = c->out.loss;
    for (int i = 0; i < m->n_outputs; i++)
        if (!strcmp(m->values[m->outputs[i]].name, AS_TRAIN_FLAT)) {
            as_view v = as_instance_output(as_trainer_instance(c->l->trainer), i);
            for (int64_t k = 0; k < as_shape_count(&v.shape); k++)
                g[k] = as_view_get(&v, k);
            return ASSAY_OK;
        }
    return as_fail(c->l->env, ASSAY_INTERNAL, "train: the graph of a step has no flat gradient");
}

static assay_status lbfgs_update(as_loop *l, const as_train_input *in, as_train_output *out)
{
    closure         c = {.l = l, .in = in};
    as_view         params = params_of(l);
    as_lbfgs_report report;
    for (int64_t i = 0; i < as_shape_count(&params.shape); i++)
        l->lbfgs_w[i] = as_view_get(&params, i);
    AS_TRY(as_lbfgs_step(l->lbfgs, l->lbfgs_w, evaluate, &c, &report));
    for (int64_t i = 0; i < as_shape_count(&params.shape); i++)
        as_view_set(&params, i, l->lbfgs_w[i]);
    *out = c.out;
    out->loss = report.loss_before;
    out->norm = report.max_grad;
    out->used = report.length;
    out->skipped = false;
    return ASSAY_OK;
}

/* --- The gradient of one or several batches ------------------------------------------------------------------------ */

typedef struct update {
    double loss; /* mean over the batches */
    double norm, used;
    bool   skipped;
    char   reason[400]; /* why a number is not finite */
} update;

static assay_status batch_step(as_loop *l, int64_t k, bool recorded, update *u)
{
    as_batch        batch;
    as_view         target;
    as_train_output out;
    bool            last = k + 1 == l->settings->setup.accumulate;
    AS_TRY(batch_get(l, &batch));
    as_train_input in = input_of(l, &batch, &target, last);
    uint64_t       begin = as_loop_part_begin(l);
    as_run_ctx     run = as_loop_run_ctx(l, recorded);
    assay_status   status = l->lbfgs ? lbfgs_update(l, &in, &out) : as_trainer_step(&run, l->trainer, &in, &out);
    as_loop_part_end(l, AS_LOOP_STEP, begin);
    if (status == ASSAY_OK && !l->val && l->metrics) {
        int64_t rows = batch.n;
        as_loop_sequences(l, &out.answer, &target, &rows);
        status = as_metrics_add(l->env, l->metrics, &out.answer, &target, rows);
    }
    if (status == ASSAY_OK) {
        u->loss += out.loss / (double)l->settings->setup.accumulate;
        u->norm = last ? out.norm : u->norm;
        u->used = last ? out.used : u->used;
        u->skipped |= last && out.skipped;
        l->place.steps++;
        l->place.samples += (uint64_t)batch.n;
        l->place.epoch_loss += out.loss * (double)batch.n;
        l->place.epoch_samples += (uint64_t)batch.n;
        bool scaled = l->setup.precision == AS_TRAIN_F16;
        if (!isfinite(out.loss) || (last && out.skipped && !scaled))
            as_loop_diagnose(l, &in, u->reason, sizeof u->reason);
    }
    begin = as_loop_part_begin(l);
    as_loader_release(l->loader, &batch);
    as_loop_record_loader(l, l->loader, AS_LOOP_LOADS);
    l->times[AS_LOOP_WAIT].ticks += as_clock_now(&l->env->clock) - begin;
    return status;
}

/* Dynamic loss scaling: half of it after an overflow, twice of it after many steps without one. */
static void scale_adapt(as_loop *l, bool skipped)
{
    as_checkpoint_place *p = &l->place;
    p->skips += skipped;
    if (l->setup.precision != AS_TRAIN_F16)
        return;
    p->clean_steps = skipped ? 0 : p->clean_steps + 1;
    if (skipped)
        p->loss_scale /= 2;
    if (p->clean_steps == CLEAN_STEPS && p->loss_scale < SCALE_MOST) {
        p->loss_scale *= 2;
        p->clean_steps = 0;
    }
}

/* --- After an update -------------------------------------------------------------------------------------------------- */

static double heap_bytes(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    struct mallinfo2 m = mallinfo2();
    return (double)m.uordblks + (double)m.hblkhd;
#else
    return NAN;
#endif
}

/* Memory of our own, without mapped files, whose pages come and go with what is read; NaN: the system does not say. */
static double anonymous_bytes(void)
{
    char        text[8192];
    const char *at = as_file_small("/proc/self/status", text, sizeof text) ? strstr(text, "RssAnon:") : NULL;
    return at ? strtod(at + 8, NULL) * 1024 : NAN;
}

/* The record grows by design, up to a bound: it is not what is looked for. */
static double record_bytes(const as_loop *l, bool reserved)
{
    return (double)(reserved ? l->trace->cap_metrics : l->trace->n_metrics) * (double)sizeof *l->trace->metrics +
           (double)l->trace->n_spans * (double)sizeof *l->trace->spans * !reserved;
}

static void now_fill(as_loop *l, const update *u, assay_training *now)
{
    const as_checkpoint_place *p = &l->place;
    double                     each = l->rate_window_s;
    uint64_t                   left = l->n_updates > p->updates ? l->n_updates - p->updates : 0;
    *now = (assay_training){.update = p->updates,
                            .n_updates = l->n_updates,
                            .epoch = p->epoch + 1,
                            .n_epochs = l->settings->steps    ? 0
                                        : l->settings->epochs ? (uint64_t)l->settings->epochs
                                                              : 10,
                            .samples = p->samples,
                            .batch = p->batch,
                            .loss = u->loss,
                            .smooth = l->watch.smooth,
                            .rate = u->used,
                            .norm = u->norm,
                            .loss_z = l->watch.z_loss,
                            .norm_z = l->watch.z_norm,
                            .updates_per_s = each > 0 ? 1 / each : NAN,
                            .samples_per_s = each > 0 ? (double)p->batch * (double)l->settings->setup.accumulate / each : NAN,
                            .wait_share = l->wait_share,
                            .done = l->n_updates ? (double)p->updates / (double)l->n_updates : NAN,
                            .left_s = each > 0 ? each * (double)left : NAN,
                            .memory_bytes = l->memory_bytes,
                            .loss_scale = p->loss_scale,
                            .skips = p->skips,
                            .checkpoints = l->n_saved,
                            .failed_checkpoints = l->n_failed,
                            .epoch_loss = NAN,
                            .val_loss = l->judged.loss,
                            .score = l->judged.score,
                            .resumed = l->first_update,
                            .refused = l->refused,
                            .batch_why = l->batch_why,
                            .checkpoint_failed = "",
                            .score_name = l->score_name};
}

bool as_loop_by_wall(const as_loop *l)
{
    const assay_plan *plan = as_trainer_plan(l->trainer);
    return plan->devices[0]->n_threads > 1 || strcmp(as_plan_wanted(plan)->name, "cpu");
}

double as_loop_spent_ns(const as_loop *l, bool by_wall) { return l->spent_ns[by_wall]; }

/* The first update pays for page faults and the set-up: it is in no rate. */
static void time_note(as_loop *l, uint64_t begin, uint64_t cpu_ns)
{
    uint64_t end = as_clock_now(&l->env->clock);
    double   s = as_clock_ns(&l->env->clock, end - begin) * 1e-9;
    uint64_t n = l->place.updates - l->first_update;
    l->spent_ns[0] += (double)cpu_ns;
    l->spent_ns[1] += s * 1e9;
    if (n > 1)
        l->rate_window_s =
            l->rate_window_s > 0 ? l->rate_window_s + fmax(SMOOTH_TIME, 1.0 / (double)n) * (s - l->rate_window_s) : s;
    if (n > 2)
        as_drift_add(&l->drift_cpu, l->place.updates, (double)cpu_ns);
    if (n == 1 || as_clock_ns(&l->env->clock, end - l->last_ticks) > LOOK_EVERY_NS) {
        as_loader_stats stats; /* reading them takes the loader's lock */
        as_loader_stats_read(l->loader, &stats);
        double elapsed = (double)(l->loaded_ns + stats.elapsed_ns);
        l->wait_share = elapsed > 0 ? (double)(l->waited_ns + stats.consumer_wait_ns) / elapsed : NAN;
        l->last_ticks = end;
        l->memory_bytes = as_resident_bytes();
        l->heap_bytes = heap_bytes() - record_bytes(l, true);
        l->own_bytes = anonymous_bytes() - record_bytes(l, false);
    }
    if (n > 2) {
        as_drift_add(&l->drift_memory, l->place.updates, l->own_bytes);
        as_drift_add(&l->drift_heap, l->place.updates, l->heap_bytes);
    }
}

static assay_status stop_bad(as_loop *l, as_watch_verdict verdict, const update *u)
{
    char a[32], b[32];
    if (verdict == AS_WATCH_NOT_FINITE)
        snprintf(l->stopped, sizeof l->stopped, "train: update %llu: the %s is not finite%s%s",
                 (unsigned long long)l->place.updates, isfinite(u->loss) ? "gradient" : "loss", *u->reason ? ": " : "", u->reason);
    else
        snprintf(l->stopped, sizeof l->stopped,
                 "train: the loss diverged: since update %llu its smoothed value is more than %g times the best, now %s after %s",
                 (unsigned long long)l->watch.began, l->limit, as_show(a, sizeof a, l->watch.smooth, "1"),
                 as_show(b, sizeof b, l->watch.best, "1"));
    return as_fail(l->env, ASSAY_DEVICE, "%s", l->stopped);
}

static assay_status epoch_end(as_loop *l, assay_training *now)
{
    as_checkpoint_place *p = &l->place;
    double               mean = p->epoch_samples ? p->epoch_loss / (double)p->epoch_samples : NAN;
    now->epoch_ends = true;
    now->epoch_loss = mean;
    p->best_loss = isnan(p->best_loss) || mean < p->best_loss ? mean : p->best_loss;
    AS_TRY(as_loop_judge(l));
    if (isfinite(l->judged.loss) && !(p->best_val <= l->judged.loss))
        p->best_val = l->judged.loss;
    now->val_loss = l->judged.loss;
    now->score = l->judged.score;
    p->epoch_loss = 0;
    p->epoch_samples = 0;
    return ASSAY_OK;
}

/* Another batch size: another plan takes over, and the loader goes on where it was. */
static assay_status grow(as_loop *l, int64_t epoch, int64_t index)
{
    int64_t want = as_growth_batch(&l->growth, l->first_batch, (uint64_t)epoch + 1), have = (int64_t)l->place.batch;
    if (want == have)
        return ASSAY_OK;
    AS_TRY(as_loop_trainer_make(l, want));
    return as_loop_loader_make(l, want, epoch, (index * have + want - 1) / want);
}

static assay_status position_take(as_loop *l, assay_training *now)
{
    int64_t epoch, index;
    as_loader_position(l->loader, &epoch, &index);
    if ((uint64_t)epoch > l->place.epoch) {
        AS_TRY(epoch_end(l, now));
        l->place.epoch = (uint64_t)epoch;
        AS_TRY(grow(l, epoch, index));
        as_loader_position(l->loader, &epoch, &index);
    }
    l->place.batches = (uint64_t)index;
    return ASSAY_OK;
}

static bool is_due(const as_loop *l, const assay_training *now, bool more)
{
    return *l->folder.path && (!more || now->epoch_ends ||
                               (l->settings->checkpoint_every && l->place.updates % (uint64_t)l->settings->checkpoint_every == 0));
}

static void kept_tell(const as_loop *l, assay_training *now)
{
    now->checkpoints = l->n_saved;
    now->failed_checkpoints = l->n_failed;
    now->checkpoint_failed = l->n_failed ? l->checkpoint_failed : "";
}

/* A checkpoint that cannot be written does not end the run: the one before is still there.  Training goes on while it is written; the last
 * one is waited for. */
static void checkpoint_try(as_loop *l, bool is_last)
{
    as_loop_settle(l, false);
    bool is_there = l->saved_at == l->place.updates && (l->n_saved || as_keeper_is_busy(l->keeper));
    if (!is_there && as_loop_checkpoint(l) == ASSAY_OK)
        l->saved_at = l->place.updates;
    if (is_last)
        as_loop_settle(l, true);
}

assay_status as_loop_update(as_loop *l, assay_training *now, bool *more)
{
    update   u = {.norm = NAN, .used = NAN};
    uint64_t begin = as_clock_now(&l->env->clock), cpu = as_thread_cpu_ns();
    bool     recorded = l->place.updates % AS_LOOP_PHASE_EVERY == 0;
    rates_set(l);
    for (int64_t k = 0; k < l->settings->setup.accumulate; k++)
        AS_TRY(batch_step(l, k, recorded, &u));
    if (recorded)
        as_loop_record_ring(l);
    l->place.updates++;
    l->place.applied = as_trainer_updates(l->trainer);
    as_watch_verdict verdict =
        as_watch_add(&l->watch, l->place.updates, u.loss, u.norm, u.skipped && l->setup.precision == AS_TRAIN_F16);
    if (u.skipped && (l->setup.precision != AS_TRAIN_F16 || l->place.loss_scale < SCALE_LEAST))
        verdict = AS_WATCH_NOT_FINITE;
    scale_adapt(l, u.skipped);
    time_note(l, begin, as_thread_cpu_ns() - cpu);
    now_fill(l, &u, now);
    *more = l->place.updates < l->n_updates;
    if (verdict == AS_WATCH_FINE)
        AS_TRY(position_take(l, now));
    now->logged = l->settings->every ? l->place.updates % (uint64_t)l->settings->every == 0 : now->epoch_ends || !*more;
    as_loop_record_update(l, now);
    if (now->logged || now->epoch_ends)
        as_loop_log_update(l, now);
    if (verdict != AS_WATCH_FINE)
        return stop_bad(l, verdict, &u);
    if (is_due(l, now, *more))
        checkpoint_try(l, !*more);
    as_loop_settle(l, false);
    kept_tell(l, now);
    return ASSAY_OK;
}

assay_status as_loop_run(as_loop *l, assay_on_training on_update, void *arg)
{
    assay_training now;
    bool           more = l->place.updates < l->n_updates;
    atomic_store_explicit(&l->env->stake, AS_STAKE_HELD, memory_order_relaxed);
    while (more) {
        AS_TRY(as_loop_update(l, &now, &more));
        bool goes_on = !on_update || on_update(arg, &now);
        if (more && (!goes_on || as_cancelled(l->env))) {
            if (*l->folder.path)
                checkpoint_try(l, true);
            bool is_kept = *l->folder.path && l->n_saved && l->saved_at == l->place.updates;
            snprintf(l->stopped, sizeof l->stopped, "stopped after %llu of %llu updates%s%.300s",
                     (unsigned long long)l->place.updates, (unsigned long long)l->n_updates,
                     is_kept ? "; --resume goes on from " : "", is_kept ? l->folder.path : "");
            return as_fail(l->env, ASSAY_CANCELLED, "%s", l->stopped);
        }
    }
    return ASSAY_OK;
}

as_trainer *as_loop_trainer(as_loop *l) { return l->trainer; }

assay_status as_loop_finish(as_loop *l, assay_status ended, assay_trace **out)
{
    char first[sizeof l->env->message];
    memcpy(first, l->env->message, sizeof first);
    as_loop_settle(l, true);
    as_loop_record_end(l, ended);
    as_loop_log_end(l, ended);
    memcpy(l->env->message, first, sizeof first);
    *out = l->trace;
    l->trace = NULL;
    return ASSAY_OK;
}
