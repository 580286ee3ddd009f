/* cmd_plan.c - what would run: steps, kernels and why, buffers, memory to the byte. */
#include "base/file.h"
#include "cli/cli.h"
#include "plan/plan.h"

static assay_status show(as_cli *cli, const assay_plan *plan)
{
    const char *json = as_options_text(cli->options, "json");
    bool        colour = as_cli_colour(cli, stdout);
    if (!json) {
        as_plan_print(plan, stdout, colour);
        return ASSAY_OK;
    }
    as_out out;
    AS_TRY(as_out_open(cli->env, json, &out));
    assay_status status = as_plan_json(cli->env, plan, out.file);
    if (status != ASSAY_OK) {
        as_out_abandon(&out);
        return status;
    }
    return as_out_commit(cli->env, &out);
}

static assay_status run(as_cli *cli)
{
    assay_model *model = NULL;
    assay_plan  *plan = NULL;
    assay_status status = assay_model_load(cli->env, cli->args[0], cli->options, &model);
    if (status == ASSAY_OK)
        status = assay_plan_build(cli->env, model, cli->options, &plan);
    if (status == ASSAY_OK)
        status = show(cli, plan);
    assay_plan_free(plan);
    assay_model_free(model);
    return status;
}

const as_verb as_cmd_plan = {
    .name = "plan",
    .summary = "what would run: steps, kernels and why, buffers, memory to the byte",
    .usage = "MODEL [options]",
    .details = "Builds the plan and runs nothing.  For every step it names the kernel chosen and why each other one lost; for\n"
               "every buffer its bytes, place and lifetime; and the peak that an instance will hold.",
    .example = "assay plan cnn-small --batch 8",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
