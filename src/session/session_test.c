/* session_test.c - spans of the user's code: nested, from many threads, beyond every bound, and into a file that is readable at any moment. */
#include "session/session.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runner/test.h"
#include "trace/stream.h"

static const as_session_settings quiet = {.history = 1000, .sensors = "none"};

static assay_session *begin(assay_env *env, const as_session_settings *settings)
{
    assay_session *s = NULL;
    expect_ok(env, as_session_start(env, "test", settings, &s));
    return s;
}

static assay_trace *end(assay_env *env, assay_session *s)
{
    assay_trace *t = NULL;
    expect_ok(env, assay_session_stop(env, s, &t));
    return t;
}

/* Whether the path from the thread down to this stack has these names; "": the thread itself. */
static bool path_is(const assay_trace *t, int stack, const char *path)
{
    if (t->stacks[stack].parent < 0)
        return !*path;
    const char *slash = strrchr(path, '/'), *name = t->frames[t->stacks[stack].frame].name;
    size_t      above = slash ? (size_t)(slash - path) : 0;
    char        rest[64];
    if (!*path || above >= sizeof rest || strcmp(slash ? slash + 1 : path, name))
        return false;
    memcpy(rest, path, above);
    rest[above] = 0;
    return path_is(t, t->stacks[stack].parent, rest);
}

/* NULL: there is no such path. */
static const as_stack_total *total(const assay_trace *t, const char *path)
{
    for (size_t i = 0; i < t->n_stack_totals; i++)
        if (path_is(t, (int)t->stack_totals[i].stack, path))
            return &t->stack_totals[i];
    return NULL;
}

static void inner(void)
{
    ASSAY_SPAN_IN("compute", "inner");
    assay_span_work(10, 4);
}

static void outer(int n)
{
    ASSAY_SPAN("outer");
    for (int i = 0; i < n; i++)
        inner();
}

Test(session, paths_have_exact_totals)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_session *s = begin(env, &quiet);
    outer(3);
    outer(4);
    inner();
    assay_trace *t = end(env, s);
    expect_eq(t->subject, AS_OF_SESSION);
    expect_eq(t->n_spans, 10);
    const as_stack_total *o = total(t, "outer"), *i = total(t, "outer/inner"), *alone = total(t, "inner"), *all = total(t, "");
    expect(o && i && alone && all);
    expect(o->count == 2 && i->count == 7 && alone->count == 1 && all->count == 1);
    expect(i->flops == 70 && i->bytes == 28 && alone->flops == 10 && !o->flops);
    expect(o->sum_ticks >= i->sum_ticks && all->sum_ticks >= o->sum_ticks + alone->sum_ticks);
    expect(i->min_ticks <= i->max_ticks && i->max_ticks <= i->sum_ticks);
    expect_str(t->frames[t->stacks[i->stack].frame].category, "compute");
    expect(t->frames[t->stacks[i->stack].frame].line > 0);
    for (size_t k = 0; k < t->n_spans; k++)
        expect(t->spans[k].kind == AS_SPAN_USER && t->spans[k].begin_ticks <= t->spans[k].end_ticks);
    expect(t->span_cost_ns > 0);
    assay_trace_free(t);
    assay_env_free(env);
}

Test(session, spans_without_one_do_nothing)
{
    outer(2);
    assay_span_work(1, 1);
    assay_span_end();
    assay_session_leave();
}

Test(session, totals_stay_exact_when_spans_are_not_kept)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_session *s = begin(env, &(as_session_settings){.history = 100, .sensors = "none"});
    outer(5000);
    assay_trace *t = end(env, s);
    expect_eq(t->n_spans, 100);
    expect_eq(total(t, "outer/inner")->count, 5000);
    expect_eq(t->n_spans + t->user_spans_left + t->dropped_spans, 5001);
    assay_trace_free(t);
    assay_env_free(env);
}

static void deep(int n)
{
    ASSAY_SPAN("deep");
    if (n)
        deep(n - 1);
}

static double metric(const assay_trace *t, const char *name)
{
    for (size_t i = 0; i < t->n_metrics; i++)
        if (!strcmp(t->metrics[i].name, name))
            return t->metrics[i].value;
    return -1;
}

Test(session, what_is_nested_too_deep_only_counts)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_session *s = begin(env, &quiet);
    deep(299);
    inner();
    assay_trace *t = end(env, s);
    expect_eq(metric(t, AS_METRIC_TOO_DEEP), 300 - 256);
    expect_eq(total(t, "inner")->count, 1);
    assay_trace_free(t);
    assay_env_free(env);
}

Test(session, spans_left_open_end_with_the_session_and_a_stray_end_does_nothing)
{
    static const assay_site site = {"open", "", "x.c", 1};
    assay_env              *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_session *s = begin(env, &quiet);
    assay_span_end();
    assay_span_begin(&site);
    inner();
    assay_trace *t = end(env, s);
    expect_eq(total(t, "open")->count, 1);
    expect_eq(total(t, "open/inner")->count, 1);
    assay_span_end(); /* behind the session */
    assay_trace_free(t);
    assay_env_free(env);
}

enum { THREADS = 4, CALLS = 20000 };

static void *work(void *arg)
{
    expect(assay_session_join(arg, "worker"));
    outer(CALLS);
    assay_session_note(arg, "worker", "was here");
    return NULL; /* ends without leaving */
}

Test(session, threads_record_while_the_collector_reads)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_session *s = begin(env, &(as_session_settings){.history = 1 << 20, .interval_ns = 1000000, .sensors = "rusage"});
    pthread_t      threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        expect(!pthread_create(&threads[i], NULL, work, s));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assay_trace *t = end(env, s);
    expect_eq(t->n_lanes, THREADS + 1);
    uint64_t n_inner = 0, n_outer = 0;
    for (size_t i = 0; i < t->n_stack_totals; i++) {
        const char *name = t->frames[t->stacks[t->stack_totals[i].stack].frame].name;
        n_inner += strcmp(name, "inner") ? 0 : t->stack_totals[i].count;
        n_outer += strcmp(name, "outer") ? 0 : t->stack_totals[i].count;
    }
    expect_eq(n_inner, THREADS * CALLS);
    expect_eq(n_outer, THREADS);
    expect_eq(t->n_spans + t->user_spans_left + t->dropped_spans, THREADS * (CALLS + 1));
    expect(t->n_readings > 0);
    expect(metric(t, AS_METRIC_COLLECTOR_CPU) >= 0);
    assay_trace_free(t);
    assay_env_free(env);
}

typedef struct hand_over {
    pthread_barrier_t joined, stopped;
    assay_session    *s;
} hand_over;

static void *outlive(void *arg)
{
    hand_over *h = arg;
    expect(assay_session_join(h->s, "late"));
    pthread_barrier_wait(&h->joined);
    pthread_barrier_wait(&h->stopped);
    outer(10); /* the session has ended: nothing happens */
    return NULL;
}

Test(session, a_thread_may_outlive_the_session)
{
    assay_env *env;
    hand_over  h;
    pthread_t  thread;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    pthread_barrier_init(&h.joined, NULL, 2);
    pthread_barrier_init(&h.stopped, NULL, 2);
    h.s = begin(env, &quiet);
    expect(!pthread_create(&thread, NULL, outlive, &h));
    pthread_barrier_wait(&h.joined);
    assay_trace *t = end(env, h.s);
    pthread_barrier_wait(&h.stopped);
    pthread_join(thread, NULL);
    expect_eq(t->n_lanes, 2);
    expect(!total(t, "outer"));
    assay_trace_free(t);
    assay_env_free(env);
}

static void count_up(void *arg) { ++*(int *)arg; }

Test(session, operations_carry_their_context)
{
    assay_env *env;
    int        calls = 0;
    double     took = -1;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_session        *s = begin(env, &quiet);
    const assay_operation op = {
        .name = "matmul", .device = "cpu", .precision = "f16", .batch = 8, .sequence = 16, .flops = 1000, .parallel = true};
    for (int i = 0; i < 3; i++)
        expect_ok(env, assay_collect_operation(env, s, &op, count_up, &calls, &took));
    assay_operation other = op;
    other.batch = 16;
    expect_ok(env, assay_collect_operation(env, s, &other, count_up, &calls, NULL));
    expect_ok(env, assay_profile_operation(env, s, "softmax", "cpu", count_up, &calls));
    expect_fails(env, assay_profile_operation(env, s, "", "cpu", count_up, &calls), ASSAY_BAD_INPUT, "needs a name");
    assay_session_metric(s, "loss", "1", 7, 0.5);
    assay_session_note(s, "changed", "larger batch");
    assay_trace *t = end(env, s);
    expect_eq(calls, 5);
    expect(took >= 0);
    expect_eq(t->n_contexts, 3);
    expect_eq(t->contexts[0].batch + t->contexts[1].batch + t->contexts[2].batch, 24);
    expect_str(as_trace_note_find(t, "changed"), "larger batch");
    expect_eq(metric(t, "loss"), 0.5);
    assay_trace_free(t);
    assay_env_free(env);
}

Test(session, the_file_grows_and_holds_what_memory_does_not)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    const char    *path = as_test_path("session.trace");
    assay_session *s =
        begin(env, &(as_session_settings){.history = 100, .interval_ns = 1000000, .sensors = "none", .trace_path = path});
    outer(3000);
    assay_trace *t = end(env, s), *back;
    expect_ok(env, assay_trace_load(env, path, &back));
    expect(back->complete && back->n_spans >= t->n_spans);
    expect_eq(back->n_spans + t->dropped_spans, 3001);
    expect_eq(total(back, "outer/inner")->count, 3000);
    assay_trace_free(t);
    assay_trace_free(back);
    assay_env_free(env);
}

Test(session, a_file_that_cannot_be_written_is_refused_at_once)
{
    assay_env     *env;
    assay_session *s = NULL;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_fails(env,
                 as_session_start(env, "test",
                                  &(as_session_settings){.history = 10, .sensors = "none", .trace_path = "/nowhere/x.trace"}, &s),
                 ASSAY_IO, "/nowhere/x.trace");
    expect(!s);
    outer(1); /* no session is left behind */
    assay_env_free(env);
}

Test(session, options_are_read_from_the_table)
{
    assay_env          *env;
    assay_options      *options;
    as_session_settings settings;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_ok(env, as_session_settings_read(env, NULL, &settings));
    expect(settings.history == 262144 && settings.interval_ns == 100000000);
    expect_ok(env, assay_options_new(env, &options));
    expect_ok(env, assay_options_set(env, options, "history", "12"));
    expect_ok(env, assay_options_set(env, options, "collect", "5ms"));
    expect_ok(env, as_session_settings_read(env, options, &settings));
    expect(settings.history == 12 && settings.interval_ns == 5000000);
    assay_options_free(options);
    assay_env_free(env);
}
