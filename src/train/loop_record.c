/* loop_record.c - the record of a training run: its numbers by update, the spans of the loop, and what was counted.
 *
 * Between two updates it adds a few numbers to the trace, which grows by doubling.  A long run keeps the numbers of one update in so many. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "sensor/sensor.h"
#include "train/loop_parts.h"

/* Spans have a fixed room, in which the loop and the loader's threads share: what does not fit is counted, and its time is in the totals. */
enum { MOST_KEPT = 1 << 15, MOST_SPANS = 1 << 17, MOST_CLASSES = 64 };

static const struct {
    const char *name, *key;
} parts[AS_LOOP_N_PARTS] = {[AS_LOOP_WAIT] = {AS_TRAINING_WAITS, "wait"},
                            [AS_LOOP_STEP] = {AS_TRAINING_STEPS, "step"},
                            [AS_LOOP_EVALUATE] = {AS_TRAINING_EVALUATES, "evaluation"},
                            [AS_LOOP_SAVE] = {AS_TRAINING_SAVES, "checkpoint"},
                            [AS_LOOP_PLAN] = {AS_TRAINING_PLANS, "plan"}};

/* --- Spans ------------------------------------------------------------------------------------------------------ */

/* A lane per thread of a loader.  The loader for evaluation has lanes of its own: at the end of an epoch both work at once. */
static bool lanes_add(as_loop *l, int which)
{
    assay_trace   *t = l->trace;
    as_loop_lanes *lanes = &l->lanes[which];
    const char    *whose = which == AS_LOOP_LOADS_VAL ? "validation loader" : "loader";
    const char *acts[AS_LOADER_N_ACTS] = {which == AS_LOOP_LOADS_VAL ? AS_TRAINING_FILLS_VAL : AS_TRAINING_FILLS, AS_TRAINING_FULL};
    int         n = l->loading.threads;
    if (!n || (which == AS_LOOP_LOADS_VAL && !l->val))
        return true;
    lanes->times = AS_TAKE(&l->arena, as_loop_time, (size_t)n * AS_LOADER_N_ACTS);
    lanes->first_lane = (int)t->n_lanes;
    int root = as_trace_add_frame(t, &(as_trace_frame){.name = whose, .category = "thread", .context = -1});
    lanes->root = as_trace_add_stack(t, -1, root);
    bool ok = lanes->times && root >= 0 && lanes->root >= 0;
    for (int i = 0; i < AS_LOADER_N_ACTS && ok; i++) {
        lanes->frames[i] = as_trace_add_frame(t, &(as_trace_frame){.name = acts[i], .category = "loader", .context = -1});
        lanes->stacks[i] = as_trace_add_stack(t, lanes->root, lanes->frames[i]);
        ok = lanes->frames[i] >= 0 && lanes->stacks[i] >= 0;
    }
    for (int i = 0; i < n && ok; i++) {
        char name[48];
        snprintf(name, sizeof name, "%s %d", whose, i + 1);
        ok = as_trace_add_lane(t, &(as_trace_lane){.name = name}) >= 0;
        lanes->n += ok;
    }
    return ok;
}

/* The thread that writes checkpoints has a lane, too. */
static bool writer_add(as_loop *l)
{
    assay_trace *t = l->trace;
    if (!*l->folder.path)
        return true;
    int root = as_trace_add_frame(t, &(as_trace_frame){.name = "checkpoint writer", .category = "thread", .context = -1});
    l->writer_frame = as_trace_add_frame(t, &(as_trace_frame){.name = AS_TRAINING_WRITES, .category = "training", .context = -1});
    l->writer_root = as_trace_add_stack(t, -1, root);
    l->writer_stack = as_trace_add_stack(t, l->writer_root, l->writer_frame);
    l->writer_lane = as_trace_add_lane(t, &(as_trace_lane){.name = "checkpoint writer"});
    return root >= 0 && l->writer_frame >= 0 && l->writer_root >= 0 && l->writer_stack >= 0 && l->writer_lane >= 0;
}

assay_status as_loop_record_open(as_loop *l)
{
    assay_trace *t;
    AS_TRY(as_trace_new(l->env, &t));
    l->trace = t;
    l->began_ticks = as_clock_now(&l->env->clock);
    t->subject = AS_OF_TRAINING;
    bool ok = as_trace_add_lane(t, &(as_trace_lane){.name = "training loop"}) >= 0;
    for (int i = 0; i <= AS_LOOP_N_PARTS && ok; i++) {
        as_trace_frame frame = {
            .name = i ? parts[i - 1].name : "training loop", .category = i ? "training" : "thread", .context = -1};
        l->frames[i] = as_trace_add_frame(t, &frame);
        l->stacks[i] = as_trace_add_stack(t, i ? l->stacks[0] : -1, l->frames[i]);
        ok = l->frames[i] >= 0 && l->stacks[i] >= 0;
    }
    for (int i = 0; i < AS_LOOP_N_LOADERS && ok; i++)
        ok = lanes_add(l, i);
    ok = ok && writer_add(l);
    if (!ok || !as_trace_reserve(t, MOST_SPANS, 0, 0, 0))
        return as_fail(l->env, ASSAY_NO_MEMORY, "train: not enough memory for the record of the run");
    as_machine_describe(l->env, t);
    return ASSAY_OK;
}

uint64_t as_loop_part_begin(const as_loop *l) { return as_clock_now(&l->env->clock); }

static void span_add(as_loop *l, int frame, int lane, uint64_t begin, uint64_t end)
{
    uint64_t start = l->trace->start_ticks;
    as_span  span = {
         .begin_ticks = begin - start, .end_ticks = end - start, .step = frame, .kind = AS_SPAN_USER, .thread = (uint16_t)lane};
    if (begin >= start && !as_trace_add_span(l->trace, &span))
        l->trace->user_spans_left++;
}

void as_loop_part_end(as_loop *l, as_loop_part part, uint64_t begin)
{
    uint64_t end = as_clock_now(&l->env->clock);
    l->times[part].ticks += end - begin;
    l->times[part].count++;
    if (l->trace)
        span_add(l, l->frames[part + 1], 0, begin, end);
}

void as_loop_record_write(as_loop *l, const as_kept *kept)
{
    l->writing.ticks += kept->end_ticks - kept->begin_ticks;
    l->writing.count++;
    if (l->trace)
        span_add(l, l->writer_frame, l->writer_lane, kept->begin_ticks, kept->end_ticks);
}

void as_loop_record_loader(as_loop *l, as_loader *loader, int which)
{
    as_loop_lanes  *lanes = &l->lanes[which];
    as_loader_event events[64];
    uint64_t        lost = 0;
    size_t          n = lanes->n && l->trace ? AS_COUNT(events) : 0;
    while (n == AS_COUNT(events)) {
        n = as_loader_events_take(loader, events, AS_COUNT(events), &lost);
        for (size_t i = 0; i < n; i++) {
            const as_loader_event *e = &events[i];
            as_loop_time          *time = &lanes->times[e->thread * AS_LOADER_N_ACTS + e->act];
            time->ticks += e->end_ticks - e->begin_ticks;
            time->count++;
            span_add(l, lanes->frames[e->act], lanes->first_lane + e->thread, e->begin_ticks, e->end_ticks);
        }
    }
    if (l->trace)
        l->trace->user_spans_left += lost;
}

/* --- Forward, backward, update --------------------------------------------------------------------------------------- */

enum { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE };

assay_status as_loop_record_plan(as_loop *l)
{
    const assay_plan *plan = as_trainer_plan(l->trainer);
    uint32_t          room = (uint32_t)(4 * plan->n_steps + 64);
    if (room > l->ring.capacity) {
        as_span *spans = realloc(l->ring.spans, room * sizeof *spans);
        if (!spans)
            return as_fail(l->env, ASSAY_NO_MEMORY, "train: not enough memory for the spans of a step");
        l->ring.spans = spans;
        l->ring.capacity = room;
    }
    l->recorder = (as_recorder){.rings = &l->ring, .n_rings = 1, .detail = AS_DETAIL_STEP};
    if (!l->trace->n_steps)
        AS_TRY(as_plan_describe(l->env, plan, l->trace));
    return ASSAY_OK;
}

/* What is computed again is work of the backward pass; what has no pass, a copy to a variable, ends an update. */
static int phase_of(as_train_pass pass)
{
    switch (pass) {
    case AS_PASS_FORWARD:
    case AS_PASS_LOSS: return PHASE_FORWARD;
    case AS_PASS_BACKWARD:
    case AS_PASS_RECOMPUTE: return PHASE_BACKWARD;
    default: return PHASE_UPDATE;
    }
}

void as_loop_record_ring(as_loop *l)
{
    const assay_plan *plan = as_trainer_plan(l->trainer);
    for (uint32_t i = 0; i < l->ring.used; i++) {
        const as_span *s = &l->ring.spans[i];
        if (s->kind == AS_SPAN_STEP && s->step >= 0 && s->step < plan->n_steps)
            l->phase_ticks[phase_of(plan->steps[s->step].place.pass)] += s->end_ticks - s->begin_ticks;
    }
    l->n_phased += l->ring.used > 0;
    l->ring.used = 0;
    l->ring.dropped = 0;
}

/* --- Numbers ------------------------------------------------------------------------------------------------------ */

static void number_at(as_loop *l, const char *name, const char *unit, uint64_t step, double value)
{
    as_trace_metric m = {
        .name = name, .unit = unit, .step = step, .ticks = as_clock_now(&l->env->clock) - l->trace->start_ticks, .value = value};
    if (l->trace && isfinite(value))
        as_trace_add_metric(l->trace, &m);
}

void as_loop_record_metric(as_loop *l, const char *name, const char *unit, double value)
{
    number_at(l, name, unit, l->place.updates, value);
}

void as_loop_record_update(as_loop *l, const assay_training *now)
{
    uint64_t every = l->n_updates / MOST_KEPT + 1;
    if (now->update % every && now->update != l->n_updates && !now->epoch_ends)
        return;
    as_loop_record_metric(l, AS_TRAINED_LOSS, "1", now->loss);
    as_loop_record_metric(l, AS_TRAINED_RATE, "1", now->rate);
    as_loop_record_metric(l, AS_TRAINED_NORM, "1", now->norm);
    as_loop_record_metric(l, AS_TRAINED_LOSS_Z, "1", now->loss_z);
    as_loop_record_metric(l, AS_TRAINED_NORM_Z, "1", now->norm_z);
    as_loop_record_metric(l, AS_TRAINED_SPEED, "1/s", now->samples_per_s);
    as_loop_record_metric(l, AS_TRAINED_MEMORY, "byte", now->memory_bytes);
    if (now->batch != l->told_batch)
        as_loop_record_metric(l, AS_TRAINED_BATCH, "1", (double)now->batch);
    if (l->setup.precision == AS_TRAIN_F16)
        as_loop_record_metric(l, AS_TRAINED_SCALE, "1", now->loss_scale);
    if (now->epoch_ends)
        as_loop_record_metric(l, AS_TRAINED_EPOCH, "1", now->epoch_loss);
    l->told_batch = now->batch;
}

void as_loop_record_confusion(as_loop *l)
{
    int64_t n = l->n_classes;
    bool    wanted = false;
    for (int i = 0; i < l->measures.n; i++)
        wanted |= l->measures.items[i].kind == AS_MEASURE_CONFUSION;
    if (!l->metrics || !wanted || !n || n > MOST_CLASSES)
        return;
    if (!l->confusion && !(l->confusion = calloc((size_t)(n * n), sizeof *l->confusion)))
        return;
    for (int64_t i = 0; i < n * n; i++)
        l->confusion[i] = as_metrics_confusion(l->metrics, i / n, i % n);
}

/* --- The end ---------------------------------------------------------------------------------------------------------- */

static void ended_number(as_loop *l, const char *prefix, const char *name, const char *unit, double value)
{
    char key[64];
    snprintf(key, sizeof key, "%s%s", prefix, name);
    number_at(l, key, unit, l->place.updates, value);
}

static void drift_put(as_loop *l, const char *name, const char *unit, const as_drift *d, double least)
{
    as_trend trend;
    char     key[32];
    as_drift_trend(d, least, &trend);
    if (!trend.known)
        return;
    const struct {
        const char *what, *unit;
        double      value;
    } all[] = {{"slope", unit, trend.slope},
               {"lo", unit, trend.lo},
               {"hi", unit, trend.hi},
               {"growth", "ratio", trend.growth},
               {"since", "1", trend.creeps ? (double)trend.since : NAN}};
    for (size_t i = 0; i < AS_COUNT(all); i++) {
        snprintf(key, sizeof key, "%s.%s", name, all[i].what);
        ended_number(l, AS_TRAINED_DRIFT, key, all[i].unit, all[i].value);
    }
}

static void memory_put(as_loop *l)
{
    as_train_memory m;
    if (as_train_memory_count(l->env, as_trainer_graph(l->trainer), as_trainer_plan(l->trainer), &m) != ASSAY_OK)
        return; /* no memory to count it: the report says that it is not known */
    for (int i = 0; i < AS_N_KINDS; i++)
        ended_number(l, AS_TRAINED_BYTES, as_train_kind_text((as_train_kind)i), "byte", (double)m.held[i]);
    ended_number(l, AS_TRAINED_BYTES, "total", "byte", (double)m.total);
    ended_number(l, AS_TRAINED_BYTES, "frozen", "byte", (double)m.frozen);
    if (l->loader)
        ended_number(l, AS_TRAINED_BYTES, "loader", "byte", (double)as_loader_bytes(l->loader));
    if (l->keeper)
        ended_number(l, AS_TRAINED_BYTES, "checkpoint copy", "byte", (double)as_keeper_bytes(l->keeper));
}

static void loader_put(as_loop *l)
{
    as_loader_stats s = {.threads = 0};
    if (l->loader)
        as_loader_stats_read(l->loader, &s);
    ended_number(l, AS_TRAINED_LOADER, "wait", "ns", (double)(l->waited_ns + s.consumer_wait_ns));
    ended_number(l, AS_TRAINED_LOADER, "full", "ns", (double)(l->producer_ns + s.producer_wait_ns));
    ended_number(l, AS_TRAINED_LOADER, "fill", "ns", (double)(l->fill_ns + s.fill_ns));
    ended_number(l, AS_TRAINED_LOADER, "bytes", "byte", (double)(l->bytes_read + s.bytes_read));
    ended_number(l, AS_TRAINED_LOADER, "threads", "1", s.threads);
}

static void times_put(as_loop *l, uint64_t end)
{
    static const char *const phases[] = {"forward", "backward", "update"};
    const as_clock          *clock = &l->env->clock;
    ended_number(l, AS_TRAINED_TIME, "wall", "ns", as_clock_ns(clock, end - l->began_ticks));
    for (int i = 0; i < AS_LOOP_N_PARTS; i++)
        ended_number(l, AS_TRAINED_TIME, parts[i].key, "ns", as_clock_ns(clock, l->times[i].ticks));
    for (int i = 0; i < 3 && l->n_phased; i++) {
        char key[48];
        snprintf(key, sizeof key, "%s%s", AS_TRAINED_PHASE, phases[i]);
        number_at(l, key, "ns", l->n_phased, as_clock_ns(clock, l->phase_ticks[i]));
    }
    as_trace_add_stack_total(l->trace, &(as_stack_total){.count = 1,
                                                         .sum_ticks = end - l->began_ticks,
                                                         .min_ticks = end - l->began_ticks,
                                                         .max_ticks = end - l->began_ticks,
                                                         .stack = (uint32_t)l->stacks[0]});
    for (int i = 0; i < AS_LOOP_N_PARTS; i++)
        if (l->times[i].count)
            as_trace_add_stack_total(
                l->trace,
                &(as_stack_total){.count = l->times[i].count, .sum_ticks = l->times[i].ticks, .stack = (uint32_t)l->stacks[i + 1]});
}

/* Exact, also of spans that were not kept.  What a thread did is its whole time: how long it had nothing to do is not counted. */
static void lanes_put(as_loop *l)
{
    for (int which = 0; which < AS_LOOP_N_LOADERS; which++)
        for (int i = 0; i < l->lanes[which].n; i++) {
            const as_loop_lanes *lanes = &l->lanes[which];
            const as_loop_time  *times = &lanes->times[i * AS_LOADER_N_ACTS];
            uint64_t             all = times[AS_LOADER_FILLS].ticks + times[AS_LOADER_IS_FULL].ticks;
            as_stack_total       total = {.count = 1, .stack = (uint32_t)lanes->root, .lane = (uint16_t)(lanes->first_lane + i)};
            if (!times[AS_LOADER_FILLS].count)
                continue;
            total.sum_ticks = total.min_ticks = total.max_ticks = all;
            as_trace_add_stack_total(l->trace, &total);
            for (int k = 0; k < AS_LOADER_N_ACTS; k++)
                if (times[k].count)
                    as_trace_add_stack_total(l->trace, &(as_stack_total){.count = times[k].count,
                                                                         .sum_ticks = times[k].ticks,
                                                                         .stack = (uint32_t)lanes->stacks[k],
                                                                         .lane = total.lane});
        }
}

static void writer_put(as_loop *l)
{
    uint32_t stacks[] = {(uint32_t)l->writer_root, (uint32_t)l->writer_stack};
    if (!l->writing.count)
        return;
    ended_number(l, AS_TRAINED_TIME, "write", "ns", as_clock_ns(&l->env->clock, l->writing.ticks));
    for (int i = 0; i < 2; i++)
        as_trace_add_stack_total(l->trace, &(as_stack_total){.count = i ? l->writing.count : 1,
                                                             .sum_ticks = l->writing.ticks,
                                                             .stack = stacks[i],
                                                             .lane = (uint16_t)l->writer_lane});
}

static void notes_put(as_loop *l)
{
    char         buf[512];
    assay_trace *t = l->trace;
    as_trace_add_note(t, "train.data", "%s", as_data_show(l->train, buf, sizeof buf));
    if (l->val)
        as_trace_add_note(t, "train.val", "%s", as_data_show(l->val, buf, sizeof buf));
    as_trace_add_note(t, "train.optimizer", "%s", l->place.optimizer_text);
    as_trace_add_note(t, "train.schedule", "%s", *l->place.schedule_text ? l->place.schedule_text : "constant");
    as_trace_add_note(t, "train.loss", "%s", l->place.loss_text);
    as_trace_add_note(t, "train.seed", "%llu", (unsigned long long)l->place.seed);
    as_trace_add_note(t, "train.data_hash", "%s%s", l->hash.hex, l->hash.is_sampled ? " (of places in it)" : "");
    as_trace_add_note(t, "train.model_hash", "%s", l->model_hash);
    as_trace_add_note(t, "train.score", "%s", l->score_name);
    if (*l->folder.path)
        as_trace_add_note(t, "train.checkpoint", "%s", l->folder.path);
    if (*l->checkpoint_failed)
        as_trace_add_note(t, "train.checkpoint_failed", "%s", l->checkpoint_failed);
    if (*l->batch_why)
        as_trace_add_note(t, "train.batch_why", "%s", l->batch_why);
    if (*l->refused)
        as_trace_add_note(t, "train.refused", "%s", l->refused);
    for (int64_t i = 0; l->confusion && i < l->n_classes && i < as_data_classes(l->train); i++) {
        char        key[48];
        const char *label = as_data_label(l->train, i);
        snprintf(key, sizeof key, "train.class.%lld", (long long)i);
        if (label)
            as_trace_add_note(t, key, "%s", label);
    }
}

void as_loop_record_end(as_loop *l, assay_status ended)
{
    assay_trace *t = l->trace;
    uint64_t     end = as_clock_now(&l->env->clock);
    int64_t      n = l->n_classes;
    t->model = as_trace_keep(t, l->model->name);
    t->name = t->model;
    t->batch = l->place.batch;
    t->device = as_trace_keep(t, as_plan_wanted(as_trainer_plan(l->trainer))->name);
    t->threads = as_trainer_plan(l->trainer)->devices[0]->n_threads;
    t->cpus = as_cpu_count();
    t->state = ended == ASSAY_OK ? AS_TRACE_COMPLETE : ended == ASSAY_CANCELLED ? AS_TRACE_PARTIAL : AS_TRACE_FAILED;
    t->reason = as_trace_keep(t, l->stopped);
    t->complete = true;
    number_at(l, AS_TRAINED_UPDATES, "1", l->place.updates, (double)l->place.updates);
    number_at(l, AS_TRAINED_PLANNED, "1", l->place.updates, (double)l->n_updates);
    number_at(l, AS_TRAINED_RESUMED, "1", l->place.updates, (double)l->first_update);
    number_at(l, AS_TRAINED_SAMPLES, "1", l->place.updates, (double)(l->place.samples - l->first_samples));
    number_at(l, AS_TRAINED_PARAMETERS, "1", l->place.updates, (double)as_trainer_graph(l->trainer)->n_trained);
    number_at(l, AS_TRAINED_SKIPS, "1", l->place.updates, (double)l->place.skips);
    number_at(l, AS_TRAINED_SAVED, "1", l->place.updates, (double)l->n_saved);
    number_at(l, AS_TRAINED_NOT_SAVED, "1", l->place.updates, (double)l->n_failed);
    number_at(l, AS_TRAINED_SPIKES, "1", l->place.updates, (double)l->watch.n_spikes);
    number_at(l, AS_TRAINED_DIVERGED, "1", l->place.updates, ended == ASSAY_DEVICE);
    assay_metric best = as_data_best_loss(l->train, l->setup.loss);
    number_at(l, AS_TRAINED_BEST, "1", l->place.updates, best.value);
    times_put(l, end);
    if (l->loader)
        as_loop_record_loader(l, l->loader, AS_LOOP_LOADS);
    lanes_put(l);
    writer_put(l);
    memory_put(l);
    loader_put(l);
    drift_put(l, "cpu", "ns", &l->drift_cpu, .10);
    drift_put(l, "memory", "byte", &l->drift_memory, .05);
    drift_put(l, "heap", "byte", &l->drift_heap, .05);
    if (l->confusion)
        number_at(l, AS_TRAINED_CLASSES, "1", l->place.updates, (double)n);
    for (int64_t i = 0; l->confusion && i < n * n; i++)
        number_at(l, AS_TRAINED_CONFUSION, "1", (uint64_t)i, (double)l->confusion[i]);
    notes_put(l);
}
