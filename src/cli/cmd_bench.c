/* cmd_bench.c - workloads and models over sizes, types, layouts, devices and threads: one row a case. */
#include <string.h>

#include "base/text.h"
#include "cli/show.h"
#include "lab/calls.h"
#include "lab/keep.h"
#include "lab/suite.h"

typedef struct how {
    as_lab_settings   lab;
    as_case_options   cases;
    as_store_options  store;
    as_report_options report;
} how;

/* --- The line protocol ------------------------------------------------------------------------------------ */

static assay_status speak(as_cli *cli, const as_bench_cases *cases)
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

/* --- Measuring ---------------------------------------------------------------------------------------------- */

static char *title_make(as_cli *cli, const char *suite, as_arena *arena)
{
    as_text t = {0};
    as_text_add(&t, suite ? suite : "");
    for (int i = 0; i < cli->n_args; i++)
        as_text_printf(&t, "%s%s", t.length ? " " : "", cli->args[i]);
    char *title = t.failed ? NULL : as_arena_text(arena, t.data);
    as_text_drop(&t);
    return title;
}

/* Ctrl-C keeps what was measured; the exit code still says incomplete. */
static assay_status finish(as_cli *cli, const how *h, as_suite *suite, bool cancelled)
{
    assay_facts *facts = NULL;
    size_t       n_refused;
    int64_t      id;
    AS_TRY(as_suite_judge(cli->env, suite, &n_refused));
    AS_TRY(as_suite_facts(cli->env, suite, &facts));
    as_facts_trials(facts, suite->trials, suite->n_trials, h->lab.sampler.keep_samples);
    assay_status status = facts->status == ASSAY_OK ? as_cli_show(cli, &h->report, facts) : facts->status;
    const char  *title = title_make(cli, h->cases.suite, &suite->arena);
    if (status == ASSAY_OK)
        status = as_lab_keep(cli->env, &h->store, "bench", title ? title : "bench", (const assay_trace *const *)suite->trials,
                             suite->n_trials, facts, &id);
    assay_facts_free(facts);
    AS_TRY(status);
    size_t n_missing = as_suite_missing(suite);
    if (cancelled)
        return as_fail(cli->env, ASSAY_CANCELLED,
                       "bench: stopped after %zu of %d cases: what was measured is shown, the last marked partial", suite->n_trials,
                       suite->cases->n_items);
    if (n_missing)
        return as_fail(cli->env, ASSAY_DEVICE,
                       "bench: %zu of %zu cases have no number: they timed out, failed or were refused, as their rows say",
                       n_missing, suite->n_trials);
    return ASSAY_OK;
}

static assay_status measure(as_cli *cli, how *h, const as_bench_cases *cases)
{
    as_roofs     roofs = {0};
    as_suite    *suite = NULL;
    assay_status status = as_suite_roofs(cli->env, cases, &roofs), measured;
    h->lab.roofs = &roofs;
    h->lab.roofs_how = AS_ROOFS_AUTO;
    if (status == ASSAY_OK) {
        measured = status = as_suite_measure(cli->env, cases, &h->lab, &suite);
        as_cli_progress_end(&h->lab);
        if (suite && suite->n_trials)
            status = finish(cli, h, suite, measured == ASSAY_CANCELLED);
    }
    as_suite_free(suite);
    as_roofs_drop(&roofs);
    return status;
}

static assay_status run(as_cli *cli)
{
    how             h;
    as_bench_cases *cases = NULL;
    bool            speaks = as_options_flag(cli->options, "speak");
    AS_TRY(as_lab_settings_read(cli->env, cli->options, NULL, &h.lab));
    AS_TRY(as_case_options_read(cli->env, cli->options, &h.cases));
    AS_TRY(as_store_options_read(cli->env, cli->options, &h.store));
    AS_TRY(as_report_options_read(cli->env, cli->options, &h.report));
    as_cli_progress(cli, &h.lab);
    AS_TRY(as_bench_cases_read(cli->env, cli->args, cli->n_args, &h.cases, &cases));
    assay_status status = speaks ? speak(cli, cases) : measure(cli, &h, cases);
    as_bench_cases_free(cases);
    return status;
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
