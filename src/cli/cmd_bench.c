/* cmd_bench.c - workloads and models over sizes, types, layouts, devices and threads: one row a case. */
#include <string.h>

#include "cli/show.h"
#include "lab/calls.h"

/* --- The line protocol ------------------------------------------------------------------------------------ */

static assay_status speak_case(as_cli *cli, const as_bench_cases *cases)
{
    const as_bench_case *c = &cases->items[0];
    as_bench_subject     subject = {0};
    as_arm               arm = {0};
    if (cases->n_items != 1)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "bench: --speak answers for one case, and there are %d", cases->n_items);
    AS_TRY(as_bench_case_open(cli->env, c, &subject));
    assay_status status = as_arm_plan(cli->env, c->name, subject.plan, c->plan.seed, NULL, true, &arm);
    if (status == ASSAY_OK)
        status = as_arm_speak(cli->env, &arm, stdin, stdout);
    if (arm.drop) {
        arm.land(arm.self);
        arm.drop(arm.self);
    }
    as_bench_subject_close(&subject);
    return status;
}

static assay_status speak(as_cli *cli)
{
    as_case_options o;
    as_bench_cases *cases;
    AS_TRY(as_case_options_read(cli->env, cli->options, &o));
    AS_TRY(as_bench_cases_read(cli->env, cli->args, cli->n_args, &o, &cases));
    assay_status status = speak_case(cli, cases);
    as_bench_cases_free(cases);
    return status;
}

static assay_status run(as_cli *cli)
{
    as_report_options report;
    assay_facts      *facts = NULL;
    bool              speaks = as_options_flag(cli->options, "speak");
    if (speaks)
        return speak(cli);
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    as_cli_progress(cli, !strcmp(as_options_text(cli->options, "progress"), "auto"));
    assay_status status = assay_bench(cli->env, cli->args, (size_t)cli->n_args, cli->options, &facts);
    as_cli_progress_end(cli);
    return as_cli_finish(cli, &report, facts, status);
}

const as_verb as_cmd_bench = {
    .name = "bench",
    .summary = "workloads and models over sizes, types, layouts, devices and threads: one row a case",
    .usage = "WORKLOAD|MODEL... [options] | --suite FILE [options]",
    .details =
        "Workloads: matmul, elementwise:add,mul,... quantize, conv, layout, softmax, cell, train; keys and words follow a colon, lists\n"
        "multiply.  Every answer is compared with the slow truth before it is timed; a case whose numbers cannot be true is refused with\n"
        "the reason.  docs/bench.md says what a row means.",
    .example = "assay bench matmul elementwise:add,mul --sizes 64x64,128x128 --budget 100ms",
    .min_args = 0,
    .max_args = 64,
    .options = AS_OPTIONS(AS_BENCH_KEYS, "speak", "progress", AS_REPORT_KEYS),
    .texts = AS_TEXTS({.key = "budget", .help = "time that a case may take"},
                      {.key = "runs", .help = "measure exactly N rounds of a case; with --budget at most N"},
                      {.key = "threads", .value = "LIST", .help = "CPU threads, one number or several: 1,2"},
                      {.key = "devices", .standard = "cpu"}),
    .run = run,
};
