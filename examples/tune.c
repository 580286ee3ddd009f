/* tune.c - finds the batch size for training under a memory budget, by probes in child processes.
 *
 *     cc tune.c $(pkg-config --cflags --libs assay) -o tune && ./tune mlp:sizes=2x32x3 16M */
#include <stdio.h>

#include <assay.h>

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_model   *model = NULL;
    assay_facts   *facts = NULL;
    if (argc != 3) {
        fprintf(stderr, "usage: tune MODEL BUDGET\n");
        return 2;
    }
    if (assay_env_new(&env) != ASSAY_OK)
        return 5;
    assay_status status = assay_options_new(env, &options);
    if (status == ASSAY_OK)
        status = assay_options_set(env, options, "batch", "auto");
    if (status == ASSAY_OK)
        status = assay_options_set(env, options, "memory-budget", argv[2]);
    if (status == ASSAY_OK)
        status = assay_model_load(env, argv[1], NULL, &model);
    if (status == ASSAY_OK)
        status = assay_tune(env, model, options, &facts);
    if (status == ASSAY_OK) {
        const assay_metric *best = assay_facts_metric(facts, "tune.batch"), *knee = assay_facts_metric(facts, "tune.knee");
        printf("batch size %.0f (%s)\n", best ? best->value : 0.0, best ? best->source : "");
        if (knee)
            printf("95 %% of the throughput of ever larger ones from %.0f on\n", knee->value);
    } else {
        fprintf(stderr, "%s\n", assay_message(env));
    }
    assay_facts_free(facts);
    assay_model_free(model);
    assay_options_free(options);
    assay_env_free(env);
    return status == ASSAY_OK ? 0 : 2;
}
