/* fuzz_runs.c - any bytes as a file of runs: refused with a sentence, or runs that are written and read again with the same hashes; and as a
 * trial alone, which needs no hash to be guessed. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/kind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The batch as a file, from its rows: as an export from a store would be. */
static char *batch_write(assay_env *env, const as_run_batch *batch, size_t *n)
{
    char   *text = NULL;
    FILE   *file = open_memstream(&text, n);
    as_json w;
    assert(file);
    as_runs_write_begin(&w, file);
    for (size_t i = 0; i < batch->n; i++) {
        const as_run_row *row = &batch->rows[i];
        assay_trace     **trials = calloc(row->n_trials + 1, sizeof *trials);
        for (size_t k = 0; k < row->n_trials; k++)
            if (as_trial_row_read(env, "fuzz", &row->trials[k], &trials[k]) != ASSAY_OK)
                abort(); /* what was accepted must be readable */
        if (as_run_write(env, &w, row, (const assay_trace *const *)trials) != ASSAY_OK)
            abort();
        as_trials_free(trials, row->n_trials);
    }
    as_runs_write_end(&w);
    fclose(file);
    return text;
}

static void batch_again(assay_env *env, const as_run_batch *batch)
{
    as_run_batch again = {0};
    size_t       n = 0;
    char        *text = batch_write(env, batch, &n);
    if (as_runs_parse(env, "fuzz", text, n, &again) != ASSAY_OK || again.n != batch->n)
        abort();
    for (size_t i = 0; i < batch->n; i++)
        if (strcmp(batch->rows[i].hash, again.rows[i].hash))
            abort();
    as_arena_drop(&again.arena);
    free(text);
}

/* A trial that is accepted becomes a run, in the form of today or of schema 1; its hash is computed and not guessed. */
static void run_try(assay_env *env, const assay_trace *t, bool old)
{
    as_run_batch  batch = {.n = 1};
    as_run_row    row;
    as_trial_row  old_row = {0};
    as_stored_run run = {.kind = "bench", .title = "fuzz", .fingerprint = "", .commit = "", .state = "complete", .report = ""};
    assay_status  status = old ? as_run_row_again(env, &batch.arena, &run, &t, &old_row, 1, &row)
                               : as_run_row_make(env, &batch.arena, &run, &t, 1, &row);
    batch.rows = &row;
    if (status == ASSAY_OK)
        batch_again(env, &batch);
    else if (!*assay_message(env))
        abort();
    as_arena_drop(&batch.arena);
}

static void trial_try(assay_env *env, const uint8_t *data, size_t size)
{
    json_t      *root = NULL;
    assay_trace *t = NULL;
    if (as_json_parse(env, "fuzz", "fuzz", (const char *)data, size, &root) != ASSAY_OK)
        return;
    if (as_trace_json_read(env, "fuzz", "fuzz", root, &t) == ASSAY_OK) {
        run_try(env, t, false);
        run_try(env, t, true);
        assay_trace_free(t);
    }
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static assay_env env; /* a fake clock: no calibration for each input */
    as_clock_open_fake(&env.clock, 0);
    as_run_batch batch = {0};
    env.message[0] = '\0';
    if (as_runs_parse(&env, "fuzz", (const char *)data, size, &batch) == ASSAY_OK) {
        batch_again(&env, &batch);
        as_arena_drop(&batch.arena);
    } else if (!*assay_message(&env)) {
        abort(); /* a refusal without a sentence */
    }
    trial_try(&env, data, size);
    return 0;
}
