/* files.c - a network on numbers from a file, its answer to a file: what `assay run` does, from a C program.
 *
 *     cc files.c $(pkg-config --cflags --libs assay) -o files && ./files mlp-small x.npy y.npy
 *
 * A file of the input's shape (npy, or .pb of ONNX); "-" for random numbers. */
#include <stdio.h>
#include <string.h>

#include "assay.h"

static assay_status answer(assay_env *env, assay_instance *instance, const assay_options *options, const char *from, const char *to)
{
    assay_tensor x, y;
    double       error;
    assay_status status = assay_instance_input(env, instance, 0, &x);
    assay_instance_fill(instance, 1); /* inputs without a file: random; states zeros, time spans ones */
    if (status == ASSAY_OK && strcmp(from, "-"))
        status = assay_instance_load_input(env, instance, x.name, from);
    if (status == ASSAY_OK)
        status = assay_run(env, instance);
    if (status == ASSAY_OK)
        status = assay_instance_output(env, instance, 0, &y);
    if (status == ASSAY_OK)
        status = assay_instance_save_output(env, instance, y.name, to);
    if (status == ASSAY_OK)
        status = assay_run_error(env, instance, options, &error);
    if (status != ASSAY_OK)
        return status;
    printf("%zu inputs, %zu outputs; less exact kernels cost %g of accuracy\n", assay_instance_n_inputs(instance),
           assay_instance_n_outputs(instance), error);
    fflush(stdout);
    return assay_instance_write(env, instance, "text", "-");
}

int main(int argc, char **argv)
{
    assay_env      *env = NULL;
    assay_options  *options = NULL;
    assay_model    *model = NULL;
    assay_plan     *plan = NULL;
    assay_instance *instance = NULL;
    int             code = 2;
    if (argc != 4) {
        fprintf(stderr, "usage: %s MODEL IN.npy|- OUT.npy\n", argv[0]);
        return 2;
    }
    if (assay_env_new(&env) == ASSAY_OK && assay_options_new(env, &options) == ASSAY_OK &&
        assay_options_set(env, options, "winograd", "on") == ASSAY_OK &&
        assay_model_load(env, argv[1], options, &model) == ASSAY_OK && assay_plan_build(env, model, options, &plan) == ASSAY_OK &&
        assay_instance_new(env, plan, &instance) == ASSAY_OK && answer(env, instance, options, argv[2], argv[3]) == ASSAY_OK)
        code = 0;
    if (code)
        fprintf(stderr, "files: %s\n", assay_message(env));
    assay_instance_free(instance);
    assay_plan_free(plan);
    assay_model_free(model);
    assay_options_free(options);
    assay_env_free(env);
    return code;
}
