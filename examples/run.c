/* run.c - a network on your own data, and what the laboratory says about it, from a C program.
 *
 *     cc run.c $(pkg-config --cflags --libs assay) -o run && ./run mlp-small */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assay.h"

static int failed(const assay_env *env)
{
    fprintf(stderr, "run: %s\n", assay_message(env));
    return 2;
}

/* The first input gets our own numbers, read in place; the others are random. */
static int answer(assay_env *env, assay_instance *instance)
{
    assay_tensor x, y;
    if (assay_instance_input(env, instance, 0, &x) != ASSAY_OK)
        return failed(env);
    float *data = malloc(x.bytes);
    int    code = 2;
    if (!data || strcmp(x.dtype, "f32")) {
        fprintf(stderr, "run: the input '%s' is %s and not f32\n", x.name, x.dtype);
        free(data);
        return 2;
    }
    for (size_t i = 0; i < x.bytes / sizeof(float); i++)
        data[i] = (float)(i % 10) / 10;
    if (assay_instance_bind_input(env, instance, x.name, data, x.bytes) == ASSAY_OK) {
        assay_instance_fill(instance, 1);
        if (assay_run(env, instance) == ASSAY_OK && assay_instance_output(env, instance, 0, &y) == ASSAY_OK) {
            printf("%s has %zu bytes of %s\n", y.name, y.bytes, y.dtype);
            code = 0;
        }
    }
    free(data);
    return code ? failed(env) : 0;
}

static int measured(assay_env *env, const assay_model *model, const assay_options *options)
{
    assay_facts        *facts = NULL;
    const assay_metric *metric;
    const char         *key, *label;
    if (assay_profile_model(env, model, options, &facts) != ASSAY_OK)
        return failed(env);
    metric = assay_facts_metric(facts, "latency.median");
    printf("%s, by %s: median %.0f %s, %s\n", assay_facts_title(facts), assay_facts_schema(), metric->value, metric->unit,
           assay_kind_text(metric->kind));
    for (size_t i = 0; i < 3 && assay_facts_at(facts, i, &key, &label, &metric); i++)
        printf("  %s (%s)\n", key, label);
    assay_facts_free(facts);
    return 0;
}

int main(int argc, char **argv)
{
    assay_env      *env = NULL;
    assay_options  *options = NULL;
    assay_model    *model = NULL;
    assay_plan     *plan = NULL;
    assay_instance *instance = NULL;
    int             code = 2;
    if (argc != 2) {
        fprintf(stderr, "usage: %s MODEL\n", argv[0]);
        return 2;
    }
    if (assay_env_new(&env) == ASSAY_OK && assay_options_new(env, &options) == ASSAY_OK &&
        assay_options_set(env, options, "time", "50ms") == ASSAY_OK &&
        assay_options_set(env, options, "roofs", "off") == ASSAY_OK &&
        assay_model_load(env, argv[1], options, &model) == ASSAY_OK && assay_plan_build(env, model, options, &plan) == ASSAY_OK &&
        assay_instance_new(env, plan, &instance) == ASSAY_OK)
        code = answer(env, instance) || measured(env, model, options) ? 2 : 0;
    else
        failed(env);
    assay_instance_free(instance);
    assay_plan_free(plan);
    assay_model_free(model);
    assay_options_free(options);
    assay_env_free(env);
    return code;
}
