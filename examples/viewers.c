/* viewers.c - a profile for another tool's viewer: what `assay profile --perfetto FILE` does, from a C program.
 *
 *     cc viewers.c $(pkg-config --cflags --libs assay) -o viewers && ./viewers mlp-small speedscope mlp.speedscope.json
 *
 * A format of "list" is refused with the names of all formats. */
#include <stdio.h>

#include "assay.h"

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_model   *model = NULL;
    assay_plan    *plan = NULL;
    assay_trace   *trace = NULL;
    int            code = 2;
    if (argc != 4) {
        fprintf(stderr, "usage: %s MODEL FORMAT FILE\n", argv[0]);
        return 2;
    }
    if (assay_env_new(&env) == ASSAY_OK && assay_options_new(env, &options) == ASSAY_OK &&
        assay_options_set(env, options, "time", "100ms") == ASSAY_OK &&
        assay_options_set(env, options, "roofs", "off") == ASSAY_OK &&
        assay_model_load(env, argv[1], options, &model) == ASSAY_OK && assay_plan_build(env, model, options, &plan) == ASSAY_OK &&
        assay_profile(env, plan, options, &trace) == ASSAY_OK && assay_trace_export(env, trace, argv[2], argv[3]) == ASSAY_OK)
        code = 0;
    if (code)
        fprintf(stderr, "viewers: %s\n", assay_message(env));
    assay_trace_free(trace);
    assay_plan_free(plan);
    assay_model_free(model);
    assay_options_free(options);
    assay_env_free(env);
    return code;
}
