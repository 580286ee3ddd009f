/* cmd_run.c - the network's answer on the user's own data. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/show.h"
#include "lab/calls.h"
#include "lab/tell.h"

#ifdef AS_PLANT_OPTION /* planted for CI: an option that nothing reads must make the inert-option test fail */
#define PLANTED , "planted"
#else
#define PLANTED
#endif

/* --- Once --- */

static assay_status stream_only(as_cli *cli)
{
    static const char *const keys[] = {"rate", "deadline", "format"};
    const char              *timespans = as_options_text(cli->options, "timespans");
    for (size_t i = 0; i < AS_COUNT(keys); i++)
        if (as_options_is_set(cli->options, keys[i]))
            return as_fail(cli->env, ASSAY_BAD_INPUT, "--%s is for --stream, which is not given", keys[i]);
    if (timespans && !strcmp(timespans, "stdin"))
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--timespans stdin is for --stream, which is not given");
    return ASSAY_OK;
}

/* Less exact answers are always reported, on standard error because standard output may be a file. */
static assay_status error_tell(as_cli *cli, const assay_instance *instance)
{
    double error;
    AS_TRY(assay_run_error(cli->env, instance, cli->options, &error));
    if (error > 0)
        fprintf(stderr, "winograd: outputs differ by at most %.2g relative\n", error);
    return ASSAY_OK;
}

/* Whether --output or --json names the file "-". */
static bool stdout_is_taken(const as_report_options *o, const as_answer_files *files)
{
    bool taken = o->json && !strcmp(o->json, "-");
    for (int i = 0; i < files->n; i++)
        taken |= !strcmp(files->path[i], "-");
    return taken;
}

static assay_status answer(as_cli *cli, assay_instance *instance, const as_answer_files *files)
{
    as_report_options o;
    as_brief          b;
    AS_TRY(as_report_options_read(cli->env, cli->options, &o));
    assay_instance_fill(instance, (uint64_t)as_options_int(cli->options, "seed"));
    uint64_t start = as_clock_now(&cli->env->clock);
    AS_TRY(assay_run(cli->env, instance));
    double ns = as_clock_ns(&cli->env->clock, as_clock_now(&cli->env->clock) - start);
    AS_TRY(error_tell(cli, instance));
    AS_TRY(as_answer_files_save(cli->env, instance, files));
    if (o.json)
        AS_TRY(assay_instance_write(cli->env, instance, "json", o.json));
    if (stdout_is_taken(&o, files))
        return ASSAY_OK;
    if (o.amount == AS_AMOUNT_DETAILED || cli->quiet) /* the answer is the values */
        return assay_instance_write(cli->env, instance, "text", "-");
    as_outputs_brief(instance, files, ns, &b);
    return as_cli_brief(cli, &o, &b);
}

static assay_status run_once(as_cli *cli, const assay_model *model)
{
    as_answer_files files;
    assay_plan     *plan = NULL;
    assay_instance *instance = NULL;
    AS_TRY(as_answer_files_read(cli->env, model, cli->options, &files));
    AS_TRY(stream_only(cli));
    assay_status status = assay_plan_build(cli->env, model, cli->options, &plan);
    if (status == ASSAY_OK)
        status = assay_instance_new(cli->env, plan, &instance);
    if (status == ASSAY_OK)
        status = answer(cli, instance, &files);
    assay_instance_free(instance);
    assay_plan_free(plan);
    return status;
}

/* --- Streaming --- */

static assay_status run_stream(as_cli *cli, const assay_model *model)
{
    as_stream_report report;
    as_texts         outputs = as_options_texts(cli->options, "output");
    const char      *json = as_options_text(cli->options, "json");
    if (outputs.n)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--stream answers on standard output, and --output %s is given",
                       outputs.items[0]);
    if (json && !strcmp(json, "-"))
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--json -: with --stream standard output is for the answers; give a file");
    assay_status status = as_stream_answer(cli->env, model, cli->options, STDIN_FILENO, STDOUT_FILENO, &report);
    if (!report.n && status != ASSAY_OK)
        return status;
    if (!cli->quiet)
        as_stream_print(&report, stderr);
    /* The answers so far are reported, whatever ended the stream; the first error message is kept. */
    char first[sizeof cli->env->message];
    memcpy(first, cli->env->message, sizeof first);
    assay_status told = json ? as_stream_json(cli->env, &report, model->source, json) : ASSAY_OK;
    if (status == ASSAY_OK)
        return told;
    memcpy(cli->env->message, first, sizeof first);
    return status;
}

static assay_status run(as_cli *cli)
{
    assay_model *model;
    AS_TRY(assay_model_load(cli->env, cli->args[0], cli->options, &model));
    assay_status status = as_options_flag(cli->options, "stream") ? run_stream(cli, model) : run_once(cli, model);
    assay_model_free(model);
    return status;
}

const as_verb as_cmd_run = {
    .name = "run",
    .summary = "a network's output for your own data (npy in, npy out)",
    .usage = "MODEL [options]",
    .details =
        "Runs MODEL once.  Inputs come from npy files (or .pb, an ONNX TensorProto); inputs without a file are random, see --seed.\n"
        "A dimension that the model leaves open, such as the batch, is taken from the file's shape.  Outputs go to npy files, or are printed.\n"
        "With --stream: reads samples from standard input, one per line, answers each at once, and reports the latency on standard error.",
    .example = "assay run mlp-small --batch 2 --output y.npy",
    .needs = "a MODEL, for example mlp-small",
    .group = AS_VERBS_LOOK,
    .order = 2,
    .takes = AS_ARG_MODEL,
    .min_args = 1,
    .max_args = 1,
    .options = AS_OPTIONS("input", "timespans", "state-in", "output", "state-out", "batch", "seq", "dim", "weights", "seed",
                          "stream", "rate", "deadline", "format", "device", "threads", "compile", "weights-as", "winograd", "json",
                          "report", "colour" PLANTED),
    .texts =
        AS_TEXTS({.key = "timespans", .help = "npy file for the input `timespans`; with --stream the word stdin: the last column"}),
    .run = run,
};
