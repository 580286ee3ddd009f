/* cmd_profile.c - measures a network: latency, per-layer cost, closed books, memory, verdict. */
#include <string.h>
#include <unistd.h>

#include "cli/show.h"
#include "lab/compile.h"
#include "report/report.h"
#include "run/run.h"

static void draw_progress(void *arg, double done)
{
    (void)arg;
    static const char bar[] = "########################################";
    int               n = (int)(done * 40.0);
    fprintf(stderr, "\r  measuring [%-40.*s] %3.0f %%", n < 0 ? 0 : n > 40 ? 40 : n, bar, done * 100.0);
    if (done >= 1.0)
        fprintf(stderr, "\r%62s\r", "");
    fflush(stderr);
}

static void draw_trial(void *arg, const char *name, double done)
{
    (void)name;
    draw_progress(arg, done);
}

/* With --compile both the profile is of the compiled plan, and the other takes turns with it afterwards, for as long again. */
static assay_status both_settings(as_cli *cli, const as_run_settings *settings, as_lab_settings *out)
{
    AS_TRY(as_lab_settings_read(cli->env, cli->options, NULL, out));
    out->early = false; /* a narrow ratio is wanted, not only a verdict */
    out->sampler.budget_ns = settings->time_ns;
    out->sampler.n_rounds = 0; /* --runs is of the profile */
    out->timeout_ns = 0;
    out->progress = settings->progress ? draw_trial : NULL;
    return ASSAY_OK;
}

static assay_status both_run(as_cli *cli, const assay_plan *plan, const as_plan_options *how, bool pin,
                             const as_lab_settings *settings, assay_trace **out)
{
    assay_plan     *off = NULL;
    as_plan_options other = *how;
    other.compile = AS_PLAN_OP_BY_OP;
    AS_TRY(as_plan_build(cli->env, plan->model, &other, &off));
    assay_status status = as_lab_compile(cli->env, plan, off, pin, settings, out);
    if (settings->progress)
        draw_progress(NULL, 1);
    assay_plan_free(off);
    return status;
}

static assay_status facts_make(as_cli *cli, const assay_trace *trace, assay_trace *const *trial, const as_lab_settings *lab,
                               assay_facts **out)
{
    AS_TRY(assay_analyse(cli->env, trace, out));
    if (*trial) {
        as_compile_add(*out, *trial, &lab->rules);
        as_facts_trials(*out, trial, 1, false);
    }
    return (*out)->status;
}

/* What was shown may not be all that was asked for: the exit code says so. */
static assay_status whole(as_cli *cli, assay_status measured, const assay_trace *trace, const assay_trace *trial)
{
    if (measured == ASSAY_CANCELLED)
        return as_fail(cli->env, measured, "stopped after %llu runs: what was measured is shown, marked partial",
                       (unsigned long long)trace->n_runs);
    if (trial && trial->state != AS_TRACE_COMPLETE)
        return as_fail(cli->env, ASSAY_DEVICE, "%s", trial->reason);
    return ASSAY_OK;
}

typedef struct how {
    as_model_options  model;
    as_plan_options   plan;
    as_run_settings   run;
    as_lab_settings   lab;
    as_report_options report;
    bool              both; /* --compile both: plan is the compiled one */
} how;

static assay_status options_read(as_cli *cli, how *h)
{
    AS_TRY(as_model_options_read(cli->env, cli->options, &h->model));
    AS_TRY(as_plan_options_read(cli->env, cli->options, &h->plan));
    AS_TRY(as_run_settings_read(cli->env, cli->options, &h->run));
    AS_TRY(as_report_options_read(cli->env, cli->options, &h->report));
    h->both = h->plan.compile == AS_PLAN_BOTH;
    if (h->both)
        h->plan.compile = AS_PLAN_COMPILED;
    if (isatty(STDERR_FILENO))
        h->run.progress = draw_progress;
    return both_settings(cli, &h->run, &h->lab);
}

static assay_status run(as_cli *cli)
{
    assay_model *model = NULL;
    assay_plan  *plan = NULL;
    assay_trace *trace = NULL;
    assay_facts *facts = NULL;
    assay_trace *trial = NULL;
    how          h;
    AS_TRY(options_read(cli, &h));
    assay_status status = as_model_load(cli->env, cli->args[0], &h.model, &model), measured = ASSAY_OK;
    if (status == ASSAY_OK)
        status = as_plan_build(cli->env, model, &h.plan, &plan);
    if (status == ASSAY_OK)
        measured = status = as_run_profile(cli->env, plan, &h.run, h.plan.seed, &trace);
    if (status == ASSAY_OK && plan->winograd)
        status = as_run_winograd_note(cli->env, plan, &h.plan, h.plan.seed, trace);
    if (status == ASSAY_OK && h.both)
        measured = status = both_run(cli, plan, &h.plan, h.run.pin, &h.lab, &trial);
    if (status == ASSAY_CANCELLED && trace)
        status = ASSAY_OK; /* Ctrl-C keeps what was measured; the exit code still says incomplete */
    if (status == ASSAY_OK)
        status = facts_make(cli, trace, &trial, &h.lab, &facts);
    if (status == ASSAY_OK)
        status = as_cli_show(cli, &h.report, facts);
    if (status == ASSAY_OK)
        status = whole(cli, measured, trace, trial);
    assay_facts_free(facts);
    assay_trace_free(trial);
    assay_trace_free(trace);
    assay_plan_free(plan);
    assay_model_free(model);
    return status;
}

const as_verb as_cmd_profile = {
    .name = "profile",
    .summary = "where time and memory go: latency, per layer, closed books, verdict",
    .usage = "MODEL [options]",
    .details = "Warms up until the times are stationary, measures, and reports.  Every number carries its kind (measured,\n"
               "counted, derived, modelled or unavailable), its source and its interval.",
    .example = "assay profile cnn-small --batch 8 --time 2s --html report.html",
    .min_args = 1,
    .max_args = 1,
    .options = AS_OPTIONS("batch", "seq", "dim", "input", "timespans", "weights", "seed", "device", "threads", "compile",
                          "weights-as", "winograd", "time", "runs", "detail", "sensors", "roofs", "pin", "trace", AS_REPORT_KEYS),
    .texts =
        AS_TEXTS({.key = "compile",
                  .value = "on|off|both",
                  .help = "off: op by op, no pass, nothing aliased; both: the two in alternating blocks, with ratio and verdict"}),
    .run = run,
};
