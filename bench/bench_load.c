/* bench_load.c - one process, one model: how long loading takes and how much memory is used by then.
 *
 * usage: bench_load FILE load|answer
 * Prints one JSON object, for tools/onnx-load.  "answer" goes on to the plan, an instance and one run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

/* The most memory that this process has used, in KiB; getrusage() would include the parent before exec. */
static long peak_kib(void)
{
    char        text[8192];
    const char *at = as_file_small("/proc/self/status", text, sizeof text) ? strstr(text, "VmHWM:") : NULL;
    return at ? strtol(at + strlen("VmHWM:"), NULL, 10) : -1;
}

static assay_status answer(assay_env *env, const assay_model *model, assay_options *options, assay_plan **plan,
                           assay_instance **instance)
{
    AS_TRY(assay_plan_build(env, model, options, plan));
    AS_TRY(assay_instance_new(env, *plan, instance));
    return as_instance_step(AS_RUN(env), *instance);
}

static void weights_count(const assay_model *model, int *n, int *n_unaligned)
{
    for (int i = 0; i < model->n_values; i++)
        if (model->values[i].role == AS_ROLE_PARAM) {
            ++*n;
            *n_unaligned += !as_dtype_aligned(model->values[i].dtype, model->values[i].data);
        }
}

int main(int argc, char **argv)
{
    assay_env      *env = NULL;
    assay_options  *options = NULL;
    assay_model    *model = NULL;
    assay_plan     *plan = NULL;
    assay_instance *instance = NULL;
    if (argc != 3 || (strcmp(argv[2], "load") && strcmp(argv[2], "answer"))) {
        fprintf(stderr, "usage: bench_load FILE load|answer\n");
        return 2;
    }
    if (assay_env_new(&env) != ASSAY_OK || assay_options_new(env, &options) != ASSAY_OK)
        return 5;
    long         before = peak_kib();
    uint64_t     begin = as_monotonic_ns();
    assay_status status = assay_model_load(env, argv[1], options, &model);
    if (status == ASSAY_OK && !strcmp(argv[2], "answer"))
        status = answer(env, model, options, &plan, &instance);
    uint64_t end = as_monotonic_ns();
    long     after = peak_kib();
    if (status == ASSAY_OK) {
        int n = 0, n_unaligned = 0;
        weights_count(model, &n, &n_unaligned);
        printf("{\"ms\": %.6f, \"kib_before\": %ld, \"kib\": %ld, \"weights\": %d, \"unaligned\": %d}\n",
               (double)(end - begin) / 1e6, before, after, n, n_unaligned);
    } else {
        fprintf(stderr, "bench_load: %s\n", assay_message(env));
    }
    assay_instance_free(instance);
    assay_plan_free(plan);
    assay_model_free(model);
    assay_options_free(options);
    assay_env_free(env);
    return status == ASSAY_OK ? 0 : 2;
}
