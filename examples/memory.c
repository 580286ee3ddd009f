/* memory.c - the memory of a program of your own: tracked, analysed, reported.
 *
 * A small "training loop" keeps one buffer per iteration by mistake.  The report names it.
 *
 *     cc memory.c $(pkg-config --cflags --libs assay) -o memory
 *     ./memory memory.trace && assay report memory.trace --report detailed
 */
#include <assay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 64, BATCH_BYTES = 64 << 10, WEIGHT_BYTES = 256 << 10, FORGOTTEN_BYTES = 1 << 10 };

static uint64_t id_of(const void *block) { return (uint64_t)(uintptr_t)block; }

static void *take(assay_tracker *tracker, size_t bytes, const char *owner)
{
    void *block = calloc(1, bytes);
    if (block)
        assay_track_alloc(tracker, id_of(block), bytes, owner, "host");
    return block;
}

static void give(assay_tracker *tracker, void *block)
{
    assay_track_free(tracker, id_of(block)); /* before: afterwards another thread may have the address */
    free(block);
}

static bool iterate(assay_tracker *tracker, void **forgotten)
{
    assay_track_enter(tracker, "forward");
    char *batch = take(tracker, BATCH_BYTES, "batch"), *hidden = take(tracker, BATCH_BYTES, "hidden");
    bool  ok = batch && hidden;
    if (ok) {
        memset(batch, 1, BATCH_BYTES);
        memcpy(hidden, batch, BATCH_BYTES);
        assay_track_copy(tracker, id_of(hidden), BATCH_BYTES, 0);
    }
    *forgotten = take(tracker, FORGOTTEN_BYTES, "history"); /* nobody frees it before the end */
    give(tracker, batch);
    give(tracker, hidden);
    assay_track_leave(tracker);
    assay_track_iteration(tracker);
    return ok && *forgotten;
}

/* The table of leak candidates: the first column is the site, the second what it was called from. */
static void leaks_print(const assay_facts *facts)
{
    const char *table, *site, *from;
    size_t      n_rows, n_columns;
    for (size_t i = 0; assay_facts_table(facts, i, &table, &n_rows, &n_columns); i++)
        for (size_t row = 0; !strcmp(table, "leaks") && row < n_rows; row++) {
            const assay_metric *metric;
            if (assay_facts_cell(facts, i, row, 0, &site, &metric) && assay_facts_cell(facts, i, row, 1, &from, &metric))
                printf("leak candidate: %s, called from %s\n", site, from);
        }
}

static assay_status run(assay_env *env, const char *path)
{
    assay_tracker *tracker;
    assay_trace   *trace;
    assay_facts   *facts;
    void          *forgotten[ITERATIONS] = {0};
    assay_status   status = assay_tracker_new(env, NULL, &tracker);
    if (status != ASSAY_OK)
        return status;
    void *weights = take(tracker, WEIGHT_BYTES, "weights");
    if (!weights) {
        assay_tracker_free(tracker);
        return ASSAY_NO_MEMORY;
    }
    memset(weights, 1, WEIGHT_BYTES);
    assay_track_transfer(tracker, id_of(weights), WEIGHT_BYTES, "file", 0); /* a checkpoint, for example */
    for (int i = 0; i < ITERATIONS && iterate(tracker, &forgotten[i]); i++)
        ;
    uint64_t id = id_of(weights);
    void    *smaller = realloc(weights, WEIGHT_BYTES / 2);
    if (smaller) {
        weights = smaller;
        assay_track_resize(tracker, id, WEIGHT_BYTES / 2); /* the block keeps its number, wherever it lies now */
    }
    printf("in use %llu bytes, at most %llu\n", (unsigned long long)assay_tracker_usage(tracker),
           (unsigned long long)assay_tracker_peak(tracker));
    assay_track_free(tracker, id);
    free(weights);
    status = assay_tracker_finish(env, tracker, &trace);
    for (int i = 0; i < ITERATIONS; i++)
        free(forgotten[i]);
    if (status != ASSAY_OK)
        return status;
    status = assay_trace_save(env, trace, path);
    if (status == ASSAY_OK)
        status = assay_analyse(env, trace, &facts);
    assay_trace_free(trace);
    if (status != ASSAY_OK)
        return status;

    static const char *const keys[] = {"memory.peak_usage", "memory.current_usage", "memory.total_allocated",
                                       "memory.leak_candidates"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const assay_metric *m = assay_facts_metric(facts, keys[i]);
        if (m)
            printf("%-24s %.0f %s\n", keys[i], m->value, m->unit);
    }
    leaks_print(facts);
    assay_facts_free(facts);
    return ASSAY_OK;
}

int main(int argc, char **argv)
{
    assay_env *env;
    if (argc != 2) {
        fprintf(stderr, "usage: memory TRACE\n");
        return 2;
    }
    if (assay_env_new(&env) != ASSAY_OK)
        return 1;
    assay_status status = run(env, argv[1]);
    if (status != ASSAY_OK)
        fprintf(stderr, "memory: %s\n", assay_message(env));
    assay_env_free(env);
    return status == ASSAY_OK ? 0 : status == ASSAY_IO ? 2 : 1;
}
