/* cmd_profile.c - measures a network: latency, per-layer cost, closed books, memory, verdict. */
#include <string.h>
#include <unistd.h>

#include "cli/show.h"
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

/* With --compile both the profile is of the compiled plan, and the other takes turns with it afterwards. */
static assay_status pair_run(as_cli *cli, const assay_model *model, const assay_plan *plan, const as_run_settings *settings, assay_trace *trace)
{
    assay_plan *off = NULL;
    AS_TRY(assay_options_set(cli->env, cli->options, "compile", "off"));
    AS_TRY(assay_plan_build(cli->env, model, cli->options, &off));
    assay_status status = as_run_pair(cli->env, plan, off, settings, (uint64_t)as_options_int(cli->options, "seed"), trace);
    assay_plan_free(off);
    return status;
}

static assay_status run(as_cli *cli)
{
    bool            both = !strcmp(as_options_text(cli->options, "compile"), "both");
    assay_model    *model = NULL;
    assay_plan     *plan = NULL;
    assay_trace    *trace = NULL;
    assay_facts    *facts = NULL;
    as_run_settings settings;
    assay_status    status = as_run_settings_read(cli->env, cli->options, &settings), measured = ASSAY_OK;
    if (status == ASSAY_OK && as_options_text(cli->options, "sections"))
        status = as_sections_check(cli->env, as_options_text(cli->options, "sections")); /* before a long measurement, not after it */
    if (isatty(STDERR_FILENO))
        settings.progress = draw_progress;
    if (status == ASSAY_OK)
        status = assay_model_load(cli->env, cli->args[0], cli->options, &model);
    if (status == ASSAY_OK && both)
        status = assay_options_set(cli->env, cli->options, "compile", "on");
    if (status == ASSAY_OK)
        status = assay_plan_build(cli->env, model, cli->options, &plan);
    if (status == ASSAY_OK)
        measured = status = as_run_profile(cli->env, plan, &settings, (uint64_t)as_options_int(cli->options, "seed"), &trace);
    if (status == ASSAY_OK && plan->winograd)
        status = as_run_winograd_note(cli->env, plan, cli->options, (uint64_t)as_options_int(cli->options, "seed"), trace);
    if (status == ASSAY_OK && both)
        status = pair_run(cli, model, plan, &settings, trace);
    if (status == ASSAY_CANCELLED && trace)
        status = ASSAY_OK; /* Ctrl-C keeps what was measured; the exit code still says incomplete */
    if (status == ASSAY_OK)
        status = assay_analyse(cli->env, trace, &facts);
    if (status == ASSAY_OK)
        status = as_cli_show(cli, facts);
    if (status == ASSAY_OK && measured == ASSAY_CANCELLED)
        status = as_fail(cli->env, ASSAY_CANCELLED, "stopped after %llu runs: what was measured is shown, marked partial",
                         (unsigned long long)trace->n_runs);
    assay_facts_free(facts);
    assay_trace_free(trace);
    assay_plan_free(plan);
    assay_model_free(model);
    return status;
}

const as_verb as_cmd_profile = {
    .name = "profile", .summary = "where time and memory go: latency, per layer, closed books, verdict",
    .usage = "MODEL [options]",
    .details = "Warms up until the times are stationary, measures, and reports.  Every number carries its kind (measured,\n"
               "counted, derived, modelled or unavailable), its source and its interval.",
    .example = "assay profile cnn-small --batch 8 --time 2s --html report.html", .min_args = 1, .max_args = 1, .run = run,
};
