/* session.c - spans around your own code, from two threads, with operations, a note and a number of your own; then a report and the record.
 *
 *     cc session.c $(pkg-config --cflags --libs assay) -o session && ./session 200 session.trace
 *
 * runs 200 rounds, prints where the time went, and keeps the record in session.trace (`assay report session.trace`). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "assay.h"

enum { N = 48 };

static float a[N * N], b[N * N], c[N * N];

static void multiply(void *arg)
{
    (void)arg;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[i * N + k] * b[k * N + j];
            c[i * N + j] = sum;
        }
}

static double add_up(void)
{
    ASSAY_SPAN_IN("compute", "add up");
    double sum = 0;
    for (int i = 0; i < N * N; i++)
        sum += (double)c[i];
    assay_span_work(N * N, sizeof c); /* what this call did: its rates are then known */
    return sum;
}

typedef struct reader {
    assay_session *session;
    int            rounds;
    volatile long  total;
} reader;

/* Another thread joins the session; compilers without ASSAY_SPAN begin and end a span by hand. */
static void *read_all(void *arg)
{
    static const assay_site site = {"read", "io", __FILE__, __LINE__};
    reader                 *r = arg;
    if (!assay_session_join(r->session, "reader"))
        return NULL;
    for (int i = 0; i < r->rounds; i++) {
        assay_span_begin(&site);
        for (int k = 0; k < 1000; k++)
            r->total += k;
        assay_span_end();
    }
    assay_session_leave();
    return NULL;
}

static assay_status rounds_run(assay_env *env, assay_session *session, int rounds)
{
    const assay_operation operation = {
        .name = "matmul", .device = "cpu", .precision = "f32", .batch = 1, .flops = 2ull * N * N * N, .bytes = sizeof a * 3};
    assay_status status = ASSAY_OK;
    for (int i = 0; i < rounds && status == ASSAY_OK; i++) {
        ASSAY_SPAN("round");
        double took;
        status = assay_collect_operation(env, session, &operation, multiply, NULL, &took);
        assay_session_metric(session, "sum", "1", (uint64_t)i, add_up());
    }
    if (status == ASSAY_OK)
        status = assay_profile_operation(env, session, "last product", "cpu", multiply, NULL);
    return status;
}

static assay_status run(assay_env *env, int rounds, const char *path, assay_trace **trace)
{
    assay_options *options = NULL;
    assay_session *session = NULL;
    assay_status   status = assay_options_new(env, &options);
    if (status == ASSAY_OK && path)
        status = assay_options_set(env, options, "trace", path);
    if (status == ASSAY_OK)
        status = assay_session_start(env, "session example", options, &session);
    if (status == ASSAY_OK) {
        pthread_t thread;
        reader    r = {session, rounds, 0};
        int       started = !pthread_create(&thread, NULL, read_all, &r);
        assay_session_note(session, "changed", "products in plain C");
        status = rounds_run(env, session, rounds);
        if (started)
            pthread_join(thread, NULL);
        assay_status stopped = assay_session_stop(env, session, trace);
        status = status == ASSAY_OK ? stopped : status;
    }
    assay_options_free(options);
    return status;
}

int main(int argc, char **argv)
{
    assay_env   *env = NULL;
    assay_trace *trace = NULL;
    assay_facts *facts = NULL;
    if (argc < 2 || atoi(argv[1]) < 1) {
        fprintf(stderr, "usage: session ROUNDS [FILE.trace]\n");
        return 2;
    }
    for (int i = 0; i < N * N; i++)
        a[i] = b[i] = (float)(i % 7);
    assay_status status = assay_env_new(&env);
    if (status == ASSAY_OK)
        status = run(env, atoi(argv[1]), argc > 2 ? argv[2] : NULL, &trace);
    if (status == ASSAY_OK)
        status = assay_analyse(env, trace, &facts);
    if (status == ASSAY_OK) {
        const assay_facts *const all[] = {facts};
        const assay_metric      *spans = assay_facts_metric(facts, "session.spans"),
                           *cost = assay_facts_metric(facts, "session.span_cost");
        printf("%.0f spans, %.0f ns each\n", spans->value, cost->value);
        status = assay_report(env, all, 1, "text", "-");
    }
    if (status != ASSAY_OK)
        fprintf(stderr, "session: %s\n", assay_message(env));
    assay_facts_free(facts);
    assay_trace_free(trace);
    assay_env_free(env);
    return status == ASSAY_OK ? 0 : 2;
}
