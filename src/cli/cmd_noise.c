/* cmd_noise.c - what this machine can resolve, in which time, and what disturbs it. */
#include <string.h>

#include "cli/show.h"
#include "lab/keep.h"
#include "lab/noise.h"

static assay_status keep(as_cli *cli, const as_store_options *o, const as_noise *n, assay_facts *facts)
{
    int64_t   id;
    as_store *store;
    AS_TRY(as_lab_keep(cli->env, o, "noise", "noise of this machine", (const assay_trace *const *)n->trials, (size_t)n->n, facts,
                       &id));
    if (!id)
        return ASSAY_OK;
    AS_TRY(as_lab_store(cli->env, o, false, &store));
    assay_status status = as_noise_save(cli->env, store, n);
    as_store_close(store);
    return status;
}

static assay_status run(as_cli *cli)
{
    as_lab_settings   s;
    as_store_options  store;
    as_report_options report;
    as_noise          noise;
    assay_facts      *facts = NULL;
    char              message[1024];
    as_cli_progress(cli, !strcmp(as_options_text(cli->options, "progress"), "auto"));
    AS_TRY(as_lab_settings_read(cli->env, cli->options, AS_NOISE_BUDGET, &s));
    AS_TRY(as_store_options_read(cli->env, cli->options, &store));
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    assay_status measured = as_noise_measure(cli->env, &s, &noise), status = measured;
    as_cli_progress_end(cli);
    snprintf(message, sizeof message, "%s", assay_message(cli->env));
    if (noise.n && (status == ASSAY_OK || status == ASSAY_CANCELLED))
        status = as_noise_facts(cli->env, &noise, &facts);
    if (facts)
        status = as_cli_show(cli, &report, facts);
    if (facts && status == ASSAY_OK)
        status = keep(cli, &store, &noise, facts);
    if (facts && status == ASSAY_OK && measured != ASSAY_OK)
        status = as_fail(cli->env, measured, "%s; what was measured is shown", message);
    assay_facts_free(facts);
    as_noise_drop(&noise);
    return status;
}

const as_verb as_cmd_noise = {
    .name = "noise",
    .summary = "what this machine can resolve, in which time, and what disturbs it",
    .usage = "[options]",
    .details =
        "Compares the same work with itself, compute-bound and memory-bound, by wall and by CPU time, in blocks of several lengths.  Says\n"
        "which effect could be seen in 1, 5 and 30 s, which clock and block length to use, and what disturbs: frequency, a neighbour on\n"
        "the memory, pre-emption, the hypervisor.  The store keeps it, and the next comparison is planned with it.\n"
        "A sixth of --budget goes to each of six trials: below a second there are too few rounds to recommend by.  Exit codes: 0 measured,\n"
        "2 bad input, 5 stopped or could not be measured.",
    .example = "assay noise --budget 12s",
    .min_args = 0,
    .max_args = 0,
    .options = AS_OPTIONS("seed", "budget", "store", "progress", AS_REPORT_KEYS),
    .texts = AS_TEXTS({.key = "budget", .standard = AS_NOISE_BUDGET, .help = "time that it may take in all"},
                      {.key = "seed", .help = "seed of the order of blocks"}),
    .run = run,
};
