/* session.c - a session: its threads, its collector, and the trace that they fill. */
#include "session/session.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/stats.h"
#include "base/text.h"
#include "sensor/sensor.h"
#include "session/lane.h"
#include "trace/stream.h"

enum {
    RING_SPANS = 1 << 16, /* 1.5 MiB per thread: 1/10 s of spans of 1.5 us */
    MAX_RING_SPANS = 1 << 20,
    MAX_METRICS = 1 << 20,
    SETS_PER_STEP = 8192, /* readings of all sensors; each time so many were made, the pause between them doubles */
    BATCH = 256,
    COST_SPANS = 256,
    COST_BATCHES = 15
};

struct assay_session {
    assay_env          *env; /* of the session's own calls: the collector's failures are told when it stops */
    as_session_settings settings;
    assay_trace        *t;
    as_trace_writer    *writer; /* NULL: no file */
    as_sensors         *sensors;
    as_clock            clock;

    pthread_mutex_t lock;
    pthread_cond_t  wake;
    pthread_t       thread;
    bool            has_thread, ends;

    as_lane    *lanes;
    as_op_site *ops;
    uint64_t    n_sets, every, n_intervals; /* sensors: sets read, every how many intervals */
    uint64_t    n_metrics_left;
    double      collector_ns;

    assay_env    collector_env; /* messages of the collector */
    assay_status failed;
};

/* --- Options -------------------------------------------------------------------------------------------------- */

const as_option_member as_session_members[] = {AS_MEMBER(as_session_settings, U64, "history", history),
                                               AS_MEMBER(as_session_settings, NS, "collect", interval_ns),
                                               AS_MEMBER(as_session_settings, TEXT, "sensors", sensors),
                                               AS_MEMBER(as_session_settings, TEXT, "trace", trace_path),
                                               {.key = NULL}};

assay_status as_session_settings_read(assay_env *env, const assay_options *options, as_session_settings *out)
{
    assay_options *standard = NULL;
    if (!options)
        AS_TRY(assay_options_new(env, &standard));
    *out = (as_session_settings){0};
    assay_status status = as_options_read(env, options ? options : standard, as_session_members, out);
    if (!options)
        out->sensors = "all"; /* the text would be that of the bag, which ends here */
    assay_options_free(standard);
    return status;
}

/* --- From lanes to the trace -------------------------------------------------------------------------------------- */

static bool fail(assay_session *s, assay_status status, const char *what)
{
    if (s->failed == ASSAY_OK)
        s->failed = as_fail(&s->collector_env, status, "session: %s", what);
    return false;
}

static int op_context(assay_session *s, const assay_operation *o)
{
    return as_trace_add_context(s->t, &(as_trace_context){.operation = o->name,
                                                          .layer = o->layer,
                                                          .phase = o->phase,
                                                          .precision = o->precision,
                                                          .optimisation = o->optimisation,
                                                          .kernel = o->kernel,
                                                          .revision = o->revision,
                                                          .batch = o->batch,
                                                          .sequence = o->sequence,
                                                          .parameters = o->parameters,
                                                          .threads = o->threads,
                                                          .parallel = o->parallel});
}

/* The frame and the stack of a path; the outermost path of a lane is the thread itself. */
static bool node_place(assay_session *s, const as_lane *lane, as_node *node)
{
    if (node->stack >= 0)
        return true;
    if (node->parent && !node_place(s, lane, node->parent))
        return false;
    as_trace_frame frame = {.name = lane->name, .category = "thread", .context = -1};
    if (node->site)
        frame = (as_trace_frame){.name = node->site->name,
                                 .category = node->site->category,
                                 .file = node->site->file,
                                 .line = node->site->line,
                                 .context = -1};
    if (node->op) {
        frame.flops = node->op->operation.flops;
        frame.bytes = node->op->operation.bytes;
        frame.object = node->op->operation.device;
        frame.context = op_context(s, &node->op->operation);
        if (frame.context < 0)
            return fail(s, ASSAY_NO_MEMORY, "not enough memory for an operation");
    }
    node->frame = as_trace_add_frame(s->t, &frame);
    node->stack = node->frame < 0 ? -1 : as_trace_add_stack(s->t, node->parent ? node->parent->stack : -1, node->frame);
    return node->stack >= 0 || fail(s, ASSAY_NO_MEMORY, "not enough memory for a call path");
}

static bool lane_place(assay_session *s, as_lane *lane)
{
    if (lane->index < 0)
        lane->index = as_trace_add_lane(s->t, &(as_trace_lane){.name = lane->name, .pid = s->t->origin.pid, .tid = lane->tid});
    return lane->index >= 0 || fail(s, ASSAY_NO_MEMORY, "not enough memory for a thread");
}

/* What the memory does not keep still goes into the file; frames that the spans name are sent before them. */
static bool spans_take(assay_session *s, const as_span *spans, size_t n)
{
    assay_trace *t = s->t;
    size_t       room = t->n_spans < s->settings.history ? s->settings.history - t->n_spans : 0, kept = n < room ? n : room;
    if (kept && t->cap_spans - t->n_spans < kept) {
        size_t more = t->n_spans > BATCH ? t->n_spans : BATCH; /* doubles, but not beyond what is kept */
        if (!as_trace_reserve(t, more < room ? more : room, 0, 0, 0))
            return fail(s, ASSAY_NO_MEMORY, "not enough memory for spans; a smaller option history needs less");
    }
    for (size_t i = 0; i < kept; i++)
        as_trace_add_span(t, &spans[i]);
    t->user_spans_left += n - kept;
    if (n == kept || !s->writer)
        return true;
    assay_status status = as_trace_writer_append(&s->collector_env, s->writer, t);
    if (status == ASSAY_OK)
        status = as_trace_writer_spans(&s->collector_env, s->writer, t, spans + kept, n - kept);
    if (status != ASSAY_OK && s->failed == ASSAY_OK)
        s->failed = status;
    return status == ASSAY_OK;
}

static bool lane_drain(assay_session *s, as_lane *lane)
{
    as_span  spans[BATCH];
    size_t   n = 0;
    uint32_t tail = atomic_load_explicit(&lane->tail, memory_order_relaxed);
    uint32_t head = atomic_load_explicit(&lane->head, memory_order_acquire);
    uint64_t start = s->t->start_ticks;
    if (!lane_place(s, lane))
        return false;
    for (; tail != head; tail++) {
        const as_lane_span *x = &lane->ring[tail & lane->mask];
        if (!node_place(s, lane, x->node))
            return false;
        spans[n++] = (as_span){.begin_ticks = x->begin_ticks - start,
                               .end_ticks = x->end_ticks - start,
                               .step = x->node->frame,
                               .kind = AS_SPAN_USER,
                               .thread = (uint16_t)lane->index};
        if (n == BATCH || tail + 1 == head) {
            atomic_store_explicit(&lane->tail, tail + 1, memory_order_release);
            if (!spans_take(s, spans, n))
                return false;
            n = 0;
        }
    }
    return true;
}

static void metric_put(assay_session *s, const char *name, const char *unit, uint64_t step, double value)
{
    as_trace_metric m = {
        .name = name, .unit = unit, .step = step, .ticks = as_clock_now(&s->clock) - s->t->start_ticks, .value = value};
    if (s->t->n_metrics < MAX_METRICS) {
        if (!as_trace_add_metric(s->t, &m))
            fail(s, ASSAY_NO_MEMORY, "not enough memory for a number");
        return;
    }
    s->n_metrics_left++;
    if (s->writer && as_trace_writer_metrics(&s->collector_env, s->writer, s->t, &m, 1) != ASSAY_OK && s->failed == ASSAY_OK)
        s->failed = ASSAY_IO;
}

static void sensors_read(assay_session *s)
{
    size_t n = as_sensors_n_values(s->sensors);
    if (s->t->cap_readings - s->t->n_readings < n &&
        !as_trace_reserve(s->t, 0, 0, 0, s->t->n_readings > n ? s->t->n_readings : n)) {
        fail(s, ASSAY_NO_MEMORY, "not enough memory for readings");
        return;
    }
    as_sensors_read(s->sensors, false, as_clock_now(&s->clock) - s->t->start_ticks, (uint32_t)s->n_sets, s->t);
    if (++s->n_sets % SETS_PER_STEP == 0)
        s->every *= 2;
}

/* Everything that has happened since the last time. */
static void collect(assay_session *s, bool at_an_end)
{
    for (as_lane *lane = s->lanes; lane; lane = lane->next)
        if (!lane_drain(s, lane))
            return;
    if (at_an_end || s->n_intervals++ % s->every == 0)
        sensors_read(s);
    if (s->writer && s->failed == ASSAY_OK)
        s->failed = as_trace_writer_append(&s->collector_env, s->writer, s->t);
}

static void *collector(void *arg)
{
    assay_session  *s = arg;
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    pthread_mutex_lock(&s->lock);
    while (!s->ends && s->failed == ASSAY_OK) {
        uint64_t ns = (uint64_t)at.tv_nsec + s->settings.interval_ns;
        at.tv_sec += (time_t)(ns / 1000000000u);
        at.tv_nsec = (long)(ns % 1000000000u);
        while (!s->ends && pthread_cond_timedwait(&s->wake, &s->lock, &at) != ETIMEDOUT)
            ;
        if (!s->ends)
            collect(s, false);
        clock_gettime(CLOCK_REALTIME, &at); /* a late one is not made up for */
        s->collector_ns = (double)as_thread_cpu_ns();
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* --- Begin --------------------------------------------------------------------------------------------------------- */

/* A span as the user's code records it, on a lane that nobody reads. */
static double span_cost_ns(const as_clock *clock)
{
    static const assay_site site = {"cost", "", __FILE__, __LINE__};
    double                  batches[COST_BATCHES], scratch[COST_BATCHES];
    as_lane                *lane = as_lane_new(clock, 4096, "cost");
    if (!lane)
        return (double)NAN;
    for (int i = 0; i < COST_BATCHES; i++) {
        uint64_t begin = as_clock_now(clock);
        for (int k = 0; k < COST_SPANS; k++) {
            as_lane_begin(lane, &site, NULL);
            as_lane_end(lane);
        }
        batches[i] = as_clock_ns(clock, as_clock_now(clock) - begin) / COST_SPANS;
    }
    as_lane_drop(lane);
    return as_median(batches, COST_BATCHES, scratch);
}

static void session_free(assay_session *s)
{
    for (as_lane *lane = s->lanes, *next; lane; lane = next) {
        next = lane->next;
        atomic_store_explicit(&lane->closed, true, memory_order_relaxed);
        as_lane_drop(lane);
    }
    for (as_op_site *op = s->ops, *next; op; op = next) {
        next = op->next;
        free(op);
    }
    as_trace_writer_abandon(s->writer);
    as_sensors_close(s->sensors);
    assay_trace_free(s->t);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static assay_status session_fill(assay_env *env, assay_session *s, const char *name)
{
    AS_TRY(as_trace_new(env, &s->t));
    s->t->subject = AS_OF_SESSION;
    s->t->model = s->t->name = as_trace_keep(s->t, name);
    if (!s->t->name)
        return as_fail(env, ASSAY_NO_MEMORY, "session: not enough memory for its name");
    s->t->span_cost_ns = span_cost_ns(&s->clock);
    as_machine_describe(env, s->t);
    AS_TRY(as_sensors_open(env, s->settings.sensors, &s->sensors));
    AS_TRY(as_sensors_describe(env, s->sensors, s->t));
    s->settings.sensors = NULL; /* borrowed, and not needed any more */
    if (s->settings.trace_path)
        AS_TRY(as_trace_writer_open(env, s->settings.trace_path, s->t, &s->writer));
    s->settings.trace_path = NULL;
    sensors_read(s); /* every difference needs a first reading */
    return s->failed;
}

assay_status as_session_start(assay_env *env, const char *name, const as_session_settings *settings, assay_session **out)
{
    assay_session *s = calloc(1, sizeof *s);
    if (!s)
        return as_fail(env, ASSAY_NO_MEMORY, "session: not enough memory for '%s'", name);
    s->settings = *settings;
    s->clock = env->clock;
    s->every = 1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, NULL);
    assay_status status = session_fill(env, s, name);
    if (status == ASSAY_OK && !assay_session_join(s, NULL))
        status = as_fail(env, ASSAY_NO_MEMORY, "session: not enough memory for the spans of a thread");
    if (status == ASSAY_OK && s->settings.interval_ns) {
        int error = pthread_create(&s->thread, NULL, collector, s);
        s->has_thread = !error;
        if (error)
            status = as_fail(env, ASSAY_DEVICE, "session: cannot start the collecting thread: %s", strerror(error));
    }
    if (status != ASSAY_OK) {
        session_free(s);
        return status;
    }
    *out = s;
    return ASSAY_OK;
}

assay_status assay_session_start(assay_env *env, const char *name, const assay_options *options, assay_session **out)
{
    as_session_settings settings;
    AS_TRY(as_session_settings_read(env, options, &settings));
    return as_session_start(env, name, &settings, out);
}

/* Without a collecting thread the rings must hold everything that is to be kept. */
static uint32_t ring_capacity(const as_session_settings *settings)
{
    uint32_t n = 1024;
    uint64_t want = settings->interval_ns ? RING_SPANS : settings->history < MAX_RING_SPANS ? settings->history : MAX_RING_SPANS;
    while (n < want)
        n *= 2;
    return n;
}

bool assay_session_join(assay_session *s, const char *name)
{
    as_lane *lane = as_lane_new(&s->clock, ring_capacity(&s->settings), name);
    if (!lane)
        return false;
    pthread_mutex_lock(&s->lock);
    bool ok = lane_place(s, lane);
    if (ok) {
        lane->next = s->lanes;
        s->lanes = lane;
    }
    pthread_mutex_unlock(&s->lock);
    if (!ok) {
        as_lane_drop(lane);
        return false;
    }
    as_lane_make_current(lane);
    return true;
}

void assay_session_leave(void)
{
    as_lane *lane = as_lane_current();
    if (!lane)
        return;
    as_lane_leave(lane, true);
    as_lane_make_current(NULL);
}

void assay_session_note(assay_session *s, const char *key, const char *text)
{
    pthread_mutex_lock(&s->lock);
    if (!as_trace_add_note(s->t, key, "%s", text))
        fail(s, ASSAY_NO_MEMORY, "not enough memory for a note");
    pthread_mutex_unlock(&s->lock);
}

void assay_session_metric(assay_session *s, const char *name, const char *unit, uint64_t step, double value)
{
    pthread_mutex_lock(&s->lock);
    metric_put(s, name, unit, step, value);
    pthread_mutex_unlock(&s->lock);
}

/* --- Operations -------------------------------------------------------------------------------------------------------- */

static bool same(const char *a, const char *b) { return !strcmp(a ? a : "", b ? b : ""); }

static bool op_is(const assay_operation *a, const assay_operation *b)
{
    return same(a->name, b->name) && same(a->device, b->device) && same(a->precision, b->precision) &&
           same(a->optimisation, b->optimisation) && same(a->layer, b->layer) && same(a->phase, b->phase) &&
           same(a->kernel, b->kernel) && same(a->revision, b->revision) && a->batch == b->batch && a->sequence == b->sequence &&
           a->parameters == b->parameters && a->flops == b->flops && a->bytes == b->bytes && a->threads == b->threads &&
           a->parallel == b->parallel;
}

/* The session's own copy of an operation: its texts must live as long as the call paths that name it. */
static as_op_site *op_find(assay_session *s, const assay_operation *o)
{
    for (as_op_site *op = s->ops; op; op = op->next)
        if (op_is(&op->operation, o))
            return op;
    const char *const texts[] = {o->name, o->device, o->precision, o->optimisation, o->layer, o->phase, o->kernel, o->revision};
    const char       *copies[AS_COUNT(texts)];
    as_op_site       *op = calloc(1, sizeof *op);
    bool              ok = op != NULL;
    for (size_t i = 0; i < AS_COUNT(texts) && ok; i++)
        ok = (copies[i] = as_trace_keep(s->t, texts[i] ? texts[i] : "")) != NULL;
    if (!ok) {
        free(op);
        return NULL;
    }
    op->operation = *o;
    op->operation.name = copies[0], op->operation.device = copies[1], op->operation.precision = copies[2];
    op->operation.optimisation = copies[3], op->operation.layer = copies[4], op->operation.phase = copies[5];
    op->operation.kernel = copies[6], op->operation.revision = copies[7];
    op->site = (assay_site){.name = copies[0], .category = "operation", .file = ""};
    op->next = s->ops;
    s->ops = op;
    return op;
}

static bool joined(const assay_session *s, const as_lane *mine)
{
    for (const as_lane *lane = s->lanes; lane; lane = lane->next)
        if (lane == mine)
            return true;
    return false;
}

assay_status assay_collect_operation(assay_env *env, assay_session *s, const assay_operation *operation, void (*fn)(void *arg),
                                     void *arg, double *took_ns)
{
    if (!operation->name || !*operation->name)
        return as_fail(env, ASSAY_BAD_INPUT, "session: an operation needs a name");
    pthread_mutex_lock(&s->lock);
    as_op_site *op = op_find(s, operation);
    as_lane    *lane = as_lane_current();
    bool        is_joined = lane && joined(s, lane);
    pthread_mutex_unlock(&s->lock);
    if (!op || (!is_joined && !assay_session_join(s, NULL)))
        return as_fail(env, ASSAY_NO_MEMORY, "session: not enough memory for the operation '%s'", operation->name);
    lane = as_lane_current();
    as_lane_begin(lane, &op->site, op);
    fn(arg);
    as_lane_work(lane, operation->flops, operation->bytes);
    uint64_t ticks = as_lane_end(lane);
    if (took_ns)
        *took_ns = as_clock_ns(&s->clock, ticks);
    return ASSAY_OK;
}

assay_status assay_profile_operation(assay_env *env, assay_session *session, const char *name, const char *device,
                                     void (*fn)(void *arg), void *arg)
{
    return assay_collect_operation(env, session, &(assay_operation){.name = name, .device = device}, fn, arg, NULL);
}

/* --- End --------------------------------------------------------------------------------------------------------------- */

/* Paths with no call that ended are left out: they have no time. */
static bool totals_put(assay_session *s, const as_lane *lane, as_node *node)
{
    as_stack_total x = {.count = atomic_load_explicit(&node->count, memory_order_relaxed),
                        .sum_ticks = atomic_load_explicit(&node->sum_ticks, memory_order_relaxed),
                        .min_ticks = atomic_load_explicit(&node->min_ticks, memory_order_relaxed),
                        .max_ticks = atomic_load_explicit(&node->max_ticks, memory_order_relaxed),
                        .flops = atomic_load_explicit(&node->flops, memory_order_relaxed),
                        .bytes = atomic_load_explicit(&node->bytes, memory_order_relaxed),
                        .lane = (uint16_t)lane->index};
    if (!node->parent)
        x.min_ticks = x.max_ticks = x.sum_ticks;
    if (x.count) {
        if (!node_place(s, lane, node))
            return false;
        x.stack = (uint32_t)node->stack;
        if (!as_trace_add_stack_total(s->t, &x))
            return fail(s, ASSAY_NO_MEMORY, "not enough memory for the totals of a call path");
    }
    for (as_node *child = atomic_load_explicit(&node->first, memory_order_acquire); child; child = child->next)
        if (!totals_put(s, lane, child))
            return false;
    return true;
}

static void lanes_end(assay_session *s)
{
    uint64_t n_too_deep = 0;
    double   queued = 0;
    for (as_lane *lane = s->lanes; lane; lane = lane->next) {
        as_lane_leave(lane, false);
        queued += lane->queued_ns;
        s->t->dropped_spans += atomic_load_explicit(&lane->n_lost, memory_order_relaxed);
        n_too_deep += atomic_load_explicit(&lane->n_too_deep, memory_order_relaxed);
    }
    if (queued >= 0) /* not so of NaN */
        metric_put(s, AS_METRIC_QUEUED, "ns", 0, queued);
    if (n_too_deep)
        metric_put(s, AS_METRIC_TOO_DEEP, "1", 0, (double)n_too_deep);
}

assay_status assay_session_stop(assay_env *env, assay_session *s, assay_trace **out)
{
    as_lane *mine = as_lane_current();
    pthread_mutex_lock(&s->lock);
    s->ends = true;
    if (mine && joined(s, mine))
        as_lane_leave(mine, true);
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    if (s->has_thread)
        pthread_join(s->thread, NULL);
    lanes_end(s);
    if (s->has_thread)
        metric_put(s, AS_METRIC_COLLECTOR_CPU, "ns", 0, s->collector_ns);
    collect(s, true);
    for (as_lane *lane = s->lanes; lane && s->failed == ASSAY_OK; lane = lane->next)
        totals_put(s, lane, &lane->root);
    if (s->n_metrics_left)
        as_trace_add_note(s->t, "session.numbers_left", "%llu numbers are only in the file", (unsigned long long)s->n_metrics_left);
    if (s->writer) {
        as_trace_writer *writer = s->writer;
        s->writer = NULL;
        assay_status status = as_trace_writer_close(&s->collector_env, writer, s->t);
        s->failed = s->failed == ASSAY_OK ? status : s->failed;
    }
    if (mine && atomic_load_explicit(&mine->closed, memory_order_relaxed))
        (void)as_lane_current(); /* lets go of it */
    assay_status status = s->failed == ASSAY_OK ? ASSAY_OK : as_fail(env, s->failed, "%s", assay_message(&s->collector_env));
    *out = s->t;
    s->t = NULL;
    session_free(s);
    return status;
}
