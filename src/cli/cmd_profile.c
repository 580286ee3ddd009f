/* cmd_profile.c - measures a network: latency, per-layer cost, closed books, memory, verdict; one section of keys, or again and again. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/screen.h"
#include "cli/show.h"
#include "lab/require.h"
#include "train/train.h"

/* --- Again and again ---------------------------------------------------------------------------------------- */

typedef struct live {
    as_cli                  *cli;
    const as_report_options *report;
    uint64_t                 n;
    bool                     draws; /* on a terminal: one screen, drawn again */
} live;

static const char *value_of(const assay_facts *f, const char *key, char *buf, size_t size)
{
    const assay_metric *m = assay_facts_metric(f, key);
    return m && as_metric_has(m) ? as_show(buf, size, m->value, m->unit) : "n/a";
}

static void line_print(const live *l, const assay_facts *f)
{
    char a[32], b[32], c[32], d[32], e[32];
    printf("update %llu: time_mean %s, samples_per_second %s, tflops %s, bandwidth %s, peak_usage %s\n", (unsigned long long)l->n,
           value_of(f, "profile.compute.time_mean", a, sizeof a), value_of(f, "profile.compute.samples_per_second", b, sizeof b),
           value_of(f, "profile.compute.tflops", c, sizeof c), value_of(f, "profile.memory.bandwidth", d, sizeof d),
           value_of(f, "profile.memory.peak_usage", e, sizeof e));
}

static bool update(void *arg, const assay_facts *facts)
{
    live *l = arg;
    l->n++;
    if (l->cli->quiet)
        return true;
    if (!l->draws) {
        line_print(l, facts);
    } else {
        printf("\033[H\033[J");
        if (as_cli_text(l->cli, l->report, (const assay_facts *const[]){facts}, 1) != ASSAY_OK)
            return false;
    }
    return !fflush(stdout);
}

/* Ctrl-C is how this ends: no failure. */
static assay_status realtime(as_cli *cli, const as_report_options *report, const assay_model *model)
{
    live l = {.cli = cli, .report = report, .draws = isatty(STDOUT_FILENO)};
    if (as_cli_forms_asked(report, false) || as_options_is_set(cli->options, "require") || as_options_is_set(cli->options, "store"))
        return as_fail(cli->env, ASSAY_BAD_INPUT,
                       "profile --realtime shows and keeps nothing: leave out --json, --html, --csv, --markdown, "
                       "--require and --store");
    assay_status status = assay_profile_realtime(cli->env, model, NULL, cli->options, update, &l);
    if (status == ASSAY_CANCELLED && l.n) {
        cli->env->message[0] = '\0';
        return ASSAY_OK;
    }
    return status;
}

/* --- Once ------------------------------------------------------------------------------------------------------ */

static assay_status measured(as_cli *cli, const assay_model *model, assay_facts **out)
{
    if (as_options_flag(cli->options, "quick"))
        return assay_quick_profile(cli->env, model, NULL, cli->options, out);
    return assay_profile_model(cli->env, model, cli->options, out);
}

static assay_status once(as_cli *cli, const as_report_options *report, const assay_model *model, as_requirements *required,
                         const char *told)
{
    assay_facts *facts = NULL;
    int          n_failed = 0;
    as_cli_progress(cli, true);
    assay_status status = measured(cli, model, &facts);
    as_cli_progress_end(cli);
    if (facts && *told)
        as_facts_note(facts, "run.preset", told);
    if (facts && required)
        n_failed = as_require_judge(required, facts);
    bool judged = facts && required;
    status = as_cli_finish(cli, report, facts, status);
    if (judged && !cli->quiet && !as_cli_forms_asked(report, true))
        as_require_print(required, stdout);
    if (status == ASSAY_OK && n_failed)
        cli->exit_code = 1;
    return status;
}

static assay_status run(as_cli *cli)
{
    as_report_options report;
    assay_model      *model;
    as_requirements  *required = NULL;
    const char       *require = as_options_text(cli->options, "require"), *preset = as_options_text(cli->options, "preset");
    bool              again = as_options_flag(cli->options, "realtime");
    char              spec[1024], told[512] = "";
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    if (as_options_is_set(cli->options, "interval") && !again)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--interval is for --realtime");
    if (as_options_flag(cli->options, "quick") && as_options_is_set(cli->options, "only"))
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--quick has the sections compute and memory: leave out --only, or --quick");
    if (require)
        AS_TRY(as_requirements_load(cli->env, require, &required));
    snprintf(spec, sizeof spec, "%s", cli->args[0]);
    assay_status status =
        preset ? as_preset_apply(cli->env, preset, cli->own_options, cli->args[0], spec, sizeof spec, told, sizeof told) : ASSAY_OK;
    if (status == ASSAY_OK && strlen(cli->args[0]) >= sizeof spec)
        status = as_fail(cli->env, ASSAY_BAD_INPUT, "profile: the name of the model has more than %zu bytes", sizeof spec - 1);
    if (status == ASSAY_OK && *told)
        fprintf(stderr, "assay: %s\n", told);
    if (status == ASSAY_OK)
        status = assay_model_load(cli->env, spec, cli->options, &model);
    if (status == ASSAY_OK) {
        status = again ? realtime(cli, &report, model) : once(cli, &report, model, required, told);
        assay_model_free(model);
    }
    as_requirements_free(required);
    return status;
}

const as_verb as_cmd_profile = {
    .name = "profile",
    .summary = "how fast a network runs, where time and memory go, and how near that is to the limit",
    .usage = "MODEL [options]",
    .details =
        "Warms up until the times are steady, measures, and reports.  Every number says whether it was measured, counted, derived,\n"
        "modelled, or why it is unavailable.\n"
        "--train measures a whole training step: forward, backward and update per layer, samples/s, memory by what it is for.\n"
        "--only and --quick show the keys of profiling guides (docs/profile-keys.md), which are in the JSON of every profile.\n"
        "--require judges them by a requirement profile: exit code 1 when a row fails (docs/requirements.md).",
    .example = "assay profile cnn-small --batch 8 --time 2s --html report.html",
    .needs = "a MODEL, for example mlp-small",
    .group = AS_VERBS_LOOK,
    .order = 1,
    .takes = AS_ARG_MODEL,
    .min_args = 1,
    .max_args = 1,
    .options =
        AS_OPTIONS("batch", "seq", "dim", "input", "timespans", "weights", "seed", "device", "threads", "compile", "weights-as",
                   "winograd", "reuse", "in-place", "time", "runs", "detail", "sensors", "roofs", "pin", "trace", "store", "by",
                   "only", "quick", "realtime", "interval", "batches", "preset", "require", "enable-ne", "track-unified",
                   "track-bandwidth", "counters", "train", AS_TRAIN_SETUP_KEYS, AS_REPORT_KEYS, AS_EXPORT_KEYS),
    .texts = AS_TEXTS({.key = "compile",
                       .value = "on|off|both",
                       .help = "off runs the model operator by operator; both measures the two in turns, with ratio and verdict"}),
    .run = run,
};
