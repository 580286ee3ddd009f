/* cmd_plan.c - what would run: steps, kernels and why, buffers, memory to the byte. */
#include "base/options.h"
#include "cli/show.h"
#include "lab/tell.h"

static assay_status show(as_cli *cli, const as_report_options *o, const assay_plan *plan)
{
    if (o->json)
        return assay_plan_write(cli->env, plan, "json", o->json);
    if (o->amount == AS_AMOUNT_DETAILED) {
        as_plan_print(plan, stdout, as_cli_colour(o, stdout));
        return ASSAY_OK;
    }
    as_brief b;
    as_plan_brief(plan, &b);
    return as_cli_brief(cli, o, &b);
}

static const char *const train_keys[] = {AS_TRAIN_SETUP_KEYS, NULL};

static assay_status training_show(as_cli *cli, const as_report_options *o, const as_train_told *told)
{
    as_brief b;
    if (o->json)
        return as_train_json(cli->env, told, o->json);
    if (o->amount == AS_AMOUNT_DETAILED) {
        as_plan_print(told->plan, stdout, as_cli_colour(o, stdout));
        as_train_print(told, stdout);
        return ASSAY_OK;
    }
    as_train_brief(told, &b);
    return as_cli_brief(cli, o, &b);
}

static assay_status training(as_cli *cli, const as_report_options *report, const assay_model *model)
{
    as_train_setup  setup;
    as_plan_options options;
    as_train_graph *graph = NULL;
    assay_plan     *plan = NULL;
    as_train_told   told;
    AS_TRY(as_train_setup_read(cli->env, cli->options, &setup));
    AS_TRY(as_plan_options_read(cli->env, cli->options, &options));
    AS_TRY(as_train_plan_new(cli->env, model, &setup, &options, &graph, &plan));
    assay_status status = as_train_told_make(cli->env, model, &setup, &options, graph, plan, &told);
    if (status == ASSAY_OK)
        status = training_show(cli, report, &told);
    assay_plan_free(plan);
    as_train_graph_free(graph);
    return status;
}

static assay_status run(as_cli *cli)
{
    as_report_options report;
    assay_model      *model = NULL;
    assay_plan       *plan = NULL;
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    assay_status status = assay_model_load(cli->env, cli->args[0], cli->options, &model);
    bool         trains = as_options_flag(cli->options, "train");
    for (int i = 0; train_keys[i] && status == ASSAY_OK && !trains; i++)
        if (as_options_is_set(cli->options, train_keys[i]))
            status = as_fail(cli->env, ASSAY_BAD_INPUT, "plan: --%s is for a training step: add --train", train_keys[i]);
    if (status == ASSAY_OK && trains) {
        status = training(cli, &report, model);
        assay_model_free(model);
        return status;
    }
    if (status == ASSAY_OK)
        status = assay_plan_build(cli->env, model, cli->options, &plan);
    if (status == ASSAY_OK)
        status = show(cli, &report, plan);
    assay_plan_free(plan);
    assay_model_free(model);
    return status;
}

const as_verb as_cmd_plan = {
    .name = "plan",
    .summary = "what would run: steps, kernels and why, memory to the byte",
    .usage = "MODEL [options]",
    .details =
        "Builds the plan and runs nothing.  Prints the memory that a run will take, its work, and the largest steps with their\n"
        "kernels.  --report detailed names the kernel of every step and why each other one lost, and every buffer with its\n"
        "bytes, place and lifetime.\n"
        "--train plans a whole training step: weights, gradients, optimiser state and activations counted apart, to the byte, and\n"
        "what computing parts again or storing in 16 bits would change.",
    .example = "assay plan cnn-small --batch 8",
    .needs = "a MODEL, for example mlp-small",
    .group = AS_VERBS_LOOK,
    .order = 3,
    .takes = AS_ARG_MODEL,
    .min_args = 1,
    .max_args = 1,
    .options = AS_OPTIONS("batch", "seq", "dim", "input", "timespans", "weights", "seed", "device", "threads", "compile",
                          "weights-as", "winograd", "reuse", "in-place", "train", AS_TRAIN_SETUP_KEYS, "json", "report", "colour"),
    .run = run,
};
