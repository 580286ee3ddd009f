/* cmd_plan.c - what would run: steps, kernels and why, buffers, memory to the byte. */
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

static assay_status run(as_cli *cli)
{
    as_report_options report;
    assay_model      *model = NULL;
    assay_plan       *plan = NULL;
    AS_TRY(as_report_options_read(cli->env, cli->options, &report));
    assay_status status = assay_model_load(cli->env, cli->args[0], cli->options, &model);
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
        "bytes, place and lifetime.",
    .example = "assay plan cnn-small --batch 8",
    .needs = "a MODEL, for example mlp-small",
    .group = AS_VERBS_LOOK,
    .order = 3,
    .takes = AS_ARG_MODEL,
    .min_args = 1,
    .max_args = 1,
    .options = AS_OPTIONS("batch", "seq", "dim", "input", "timespans", "weights", "seed", "device", "threads", "compile",
                          "weights-as", "winograd", "reuse", "in-place", "json", "report", "colour"),
    .run = run,
};
