/* cmd_tune.c - finds settings of training by measuring: batch size, learning rate, threads, recomputation, precision. */
#include <string.h>

#include "cli/show.h"
#include "lab/calls.h"

static assay_status run(as_cli *cli)
{
    as_report_options report;
    assay_model      *model = NULL;
    assay_facts      *facts = NULL;
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    AS_TRY(assay_model_load(cli->env, cli->args[0], cli->options, &model));
    as_cli_progress(cli, !strcmp(as_options_text(cli->options, "progress"), "auto"));
    assay_status status = assay_tune(cli->env, model, cli->options, &facts);
    as_cli_progress_end(cli);
    status = as_cli_finish(cli, &report, facts, status);
    assay_model_free(model);
    return status;
}

const as_verb as_cmd_tune = {
    .name = "tune",
    .summary = "the batch size, learning rate, threads, recomputation or precision to train with",
    .usage =
        "MODEL --batch [--memory-budget 2G] | MODEL --lr --data D | MODEL --threads | MODEL --recompute | MODEL --precision  [options]",
    .details =
        "--batch: the largest batch size in the memory budget, planned to the byte, and the best: the smallest with 95 % of the throughput\n"
        "that ever larger ones approach.  A few sizes are tried, each in a process of its own under a memory limit, so that running out of\n"
        "memory is a result; a line a + b batch size through their times gives the rest.  With --data the answer then trains three epochs\n"
        "with evaluation and checkpoints inside the budget.\n"
        "--lr: the learning rate grows with every update until the loss does; the suggestion is where the loss falls fastest.\n"
        "--threads: a training step with 1, 2, 4 ... threads, and the serial share by Amdahl's law.\n"
        "--recompute: everything kept against what is computed again: memory and time, predicted and measured, and which is worth it.\n"
        "--precision: f32 against 16-bit storage: memory by kind, time by layer; with --data the loss gap and the skips of loss scaling.\n"
        "Both measure all candidates in turns; a difference inside --margin, or one that the rounds do not show, is never called proved.\n"
        "Exit codes: 0 found, 2 bad input, 5 could not be measured, or stopped.",
    .example = "assay tune mlp-small --batch --memory-budget 64MiB",
    .needs = "a MODEL, for example mlp-small",
    .group = AS_VERBS_COMPARE,
    .order = 6,
    .takes = AS_ARG_MODEL,
    .min_args = 1,
    .max_args = 1,
    .options = AS_OPTIONS(AS_TUNE_KEYS, "progress", AS_REPORT_KEYS),
    .texts = AS_TEXTS(
        {.key = "batch",
         .bare = "auto",
         .value = "[N]",
         .help = "find the batch size; with a number: the batch size of the other searches [32]"},
        {.key = "threads",
         .bare = "1,2,4,8,16,32,64",
         .value = "[LIST]",
         .help = "measure a step with each number of threads; one number: threads of the other measurements"},
        {.key = "recompute",
         .bare = "0,2,4,auto",
         .value = "[LIST]",
         .help = "measure what computing again saves and costs; one value: recomputation of the other measurements"},
        {.key = "precision",
         .bare = "all",
         .value = "[TYPE]",
         .help = "measure what 16-bit storage saves and costs; a type: storage of the other measurements"},
        {.key = "steps", .help = "with --recompute or --precision and --data: updates of each candidate [100]"},
        {.key = "budget", .standard = AS_TUNE_BUDGET, .help = "how long --recompute or --precision may measure"},
        {.key = "runs", .help = "rounds of --recompute or --precision, whatever the budget"},
        {.key = "memory-budget", .help = "bytes that training may take, for example 2G; the default is half of what is available"}),
    .run = run,
};
