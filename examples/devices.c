/* devices.c - which devices there are, and one of them opened once and lent to two plans.
 *
 *     cc devices.c $(pkg-config --cflags --libs assay) -o devices && ./devices cpu mlp-small cnn-small
 *
 * The device is any that the list shows: cpu, opencl:0, null ...  Inputs and outputs live in the CPU's memory, so the CPU is lent too. */
#include <stdio.h>
#include <string.h>

#include "assay.h"

static assay_status list(assay_env *env)
{
    assay_facts        *facts = NULL;
    const assay_metric *metric;
    const char         *key, *label, *name, *usable;
    assay_status        status = assay_devices(env, NULL, &facts);
    if (status != ASSAY_OK)
        return status;
    for (size_t row = 0; assay_facts_cell(facts, 0, row, 0, &name, &metric) && assay_facts_cell(facts, 0, row, 2, &usable, &metric);
         row++)
        printf("%s: usable: %s\n", name, usable);
    for (size_t i = 0; assay_facts_at(facts, i, &key, &label, &metric); i++) /* none until they have been measured once */
        printf("  %s: %.4g %s\n", label, metric->value, metric->unit);
    assay_facts_free(facts);
    return ASSAY_OK;
}

/* The plan, and one run of it. */
static assay_status run(assay_env *env, const char *spec, assay_device *const *devices, size_t n)
{
    assay_model    *model = NULL;
    assay_plan     *plan = NULL;
    assay_instance *instance = NULL;
    assay_status    status = assay_model_load(env, spec, NULL, &model);
    if (status == ASSAY_OK)
        status = assay_plan_build_on(env, model, devices, n, NULL, &plan);
    if (status == ASSAY_OK)
        status = assay_instance_new(env, plan, &instance);
    if (status == ASSAY_OK) {
        assay_instance_fill(instance, 1);
        status = assay_run(env, instance);
    }
    if (status == ASSAY_OK) {
        printf("\n%s ran; it holds %llu bytes\n", spec, (unsigned long long)assay_plan_peak_bytes(plan));
        fflush(stdout);
        status = assay_plan_write(env, plan, "text", "-");
    }
    assay_instance_free(instance);
    assay_plan_free(plan);
    assay_model_free(model);
    return status;
}

int main(int argc, char **argv)
{
    assay_env    *env = NULL;
    assay_device *lent[2] = {NULL, NULL};
    size_t        n = 0;
    assay_status  status;
    if (argc < 3) {
        fprintf(stderr, "usage: %s DEVICE MODEL...\n", argv[0]);
        return 2;
    }
    status = assay_env_new(&env);
    if (status == ASSAY_OK)
        status = list(env);
    if (status == ASSAY_OK && strcmp(argv[1], "cpu"))
        status = assay_device_open(env, argv[1], 1, &lent[n++]);
    if (status == ASSAY_OK)
        status = assay_device_open(env, "cpu", 1, &lent[n++]);
    for (int i = 2; i < argc && status == ASSAY_OK; i++)
        status = run(env, argv[i], lent, n);
    if (status != ASSAY_OK)
        fprintf(stderr, "devices: %s\n", assay_message(env));
    for (size_t i = 0; i < 2; i++)
        assay_device_close(lent[i]);
    assay_env_free(env);
    return status == ASSAY_OK ? 0 : 2;
}
