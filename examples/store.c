/* store.c - what was measured before: the runs of a store, one of them, or a case over time.
 *
 *     cc store.c $(pkg-config --cflags --libs assay) -o store && ./store .assay/runs.db
 *     ./store .assay/runs.db 3           # run 3 as it was reported
 *     ./store .assay/runs.db CASE        # the case over its runs; "" lists the cases */
#include <stdio.h>
#include <stdlib.h>

#include "assay.h"

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_facts   *facts = NULL;
    assay_status   status;
    const char    *what = argc == 3 ? argv[2] : NULL;
    char          *end = NULL;
    long long      id = what ? strtoll(what, &end, 10) : 0;
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: %s STORE [RUN|CASE]\n", argv[0]);
        return 2;
    }
    status = assay_env_new(&env);
    if (status == ASSAY_OK)
        status = assay_options_new(env, &options);
    if (status == ASSAY_OK)
        status = assay_options_set(env, options, "store", argv[1]);
    if (status == ASSAY_OK && !what)
        status = assay_stored_runs(env, options, &facts);
    else if (status == ASSAY_OK && id > 0 && !*end)
        status = assay_stored_run(env, id, options, &facts);
    else if (status == ASSAY_OK)
        status = assay_history(env, *what ? what : NULL, options, &facts);
    if (status == ASSAY_OK)
        status = assay_report(env, (const assay_facts *const *)&facts, 1, "text", "-");
    if (status != ASSAY_OK)
        fprintf(stderr, "store: %s\n", assay_message(env));
    assay_facts_free(facts);
    assay_options_free(options);
    assay_env_free(env);
    return status == ASSAY_OK ? 0 : 2;
}
