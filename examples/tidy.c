/* tidy.c - housekeeping of a store: verify it, export, import and remove runs, show what a baseline keeps.
 *
 *     cc tidy.c $(pkg-config --cflags --libs assay) -o tidy && ./tidy .assay/runs.db verify
 *     ./tidy .assay/runs.db trace 3 run3.trace       # the record of run 3
 *     ./tidy .assay/runs.db export all.json          # all runs as one file
 *     ./tidy other.db import all.json
 *     ./tidy .assay/runs.db remove 3
 *     ./tidy .assay/runs.db baseline main            # what the baseline keeps */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assay.h"

static assay_status verify(assay_env *env, const assay_options *options)
{
    assay_store_counts n;
    assay_status       status = assay_stored_verify(env, options, &n);
    if (status == ASSAY_OK)
        printf("whole: %lu runs, %lu baselines\n", (unsigned long)n.runs, (unsigned long)n.baselines);
    return status;
}

static assay_status import(assay_env *env, const assay_options *options, const char *path)
{
    size_t       n_added, n_known;
    assay_status status = assay_stored_import(env, path, options, &n_added, &n_known);
    if (status == ASSAY_OK)
        printf("%lu added, %lu there already\n", (unsigned long)n_added, (unsigned long)n_known);
    return status;
}

static assay_status trace_write(assay_env *env, const assay_options *options, int64_t id, const char *path)
{
    assay_trace *trace = NULL;
    assay_status status = assay_stored_trace(env, id, 0, options, &trace);
    if (status == ASSAY_OK)
        status = assay_trace_save(env, trace, path);
    assay_trace_free(trace);
    return status;
}

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_status   status;
    const char    *word = argc > 2 ? argv[2] : "";
    int64_t        id = argc > 3 ? strtoll(argv[3], NULL, 10) : 0;
    if (argc < 3) {
        fprintf(stderr, "usage: %s STORE verify|trace RUN FILE|export FILE|import FILE|remove RUN|baseline NAME\n", argv[0]);
        return 2;
    }
    status = assay_env_new(&env);
    if (status == ASSAY_OK)
        status = assay_options_new(env, &options);
    if (status == ASSAY_OK)
        status = assay_options_set(env, options, "store", argv[1]);
    if (status == ASSAY_OK && !strcmp(word, "verify"))
        status = verify(env, options);
    else if (status == ASSAY_OK && !strcmp(word, "trace") && argc == 5)
        status = trace_write(env, options, id, argv[4]);
    else if (status == ASSAY_OK && !strcmp(word, "export") && argc == 4)
        status = assay_stored_export(env, NULL, 0, options, argv[3]);
    else if (status == ASSAY_OK && !strcmp(word, "import") && argc == 4)
        status = import(env, options, argv[3]);
    else if (status == ASSAY_OK && !strcmp(word, "remove") && argc == 4)
        status = assay_stored_remove(env, &id, 1, options);
    else if (status == ASSAY_OK && !strcmp(word, "baseline") && argc == 4)
        status = assay_baseline_write(env, argv[3], options, "text", "-");
    if (status != ASSAY_OK)
        fprintf(stderr, "tidy: %s\n", assay_message(env));
    assay_options_free(options);
    assay_env_free(env);
    return status == ASSAY_OK ? 0 : 2;
}
