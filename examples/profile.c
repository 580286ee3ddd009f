/* profile.c - the laboratory from a C program: load a network, profile it, write a page.
 *
 *     cc profile.c $(pkg-config --cflags --libs assay) -o profile && ./profile mlp-small page.html */
#include <stdio.h>

#include "assay.h"

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s MODEL PAGE.html\n", argv[0]);
        return 2;
    }
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_model   *model = NULL;
    assay_plan    *plan = NULL;
    assay_trace   *trace = NULL;
    assay_facts   *facts = NULL;
    int            code = 2;
    if (assay_env_new(&env) == ASSAY_OK && assay_options_new(env, &options) == ASSAY_OK &&
        assay_options_set(env, options, "batch", "4") == ASSAY_OK && assay_options_set(env, options, "time", "100ms") == ASSAY_OK &&
        assay_model_load(env, argv[1], options, &model) == ASSAY_OK && assay_plan_build(env, model, options, &plan) == ASSAY_OK) {
        printf("an instance will hold %llu bytes\n", (unsigned long long)assay_plan_peak_bytes(plan));
        if (assay_profile(env, plan, options, &trace) == ASSAY_OK && assay_analyse(env, trace, &facts) == ASSAY_OK &&
            assay_report(env, (const assay_facts *const[]){facts}, 1, "html", argv[2]) == ASSAY_OK) {
            printf("wrote %s\n", argv[2]);
            code = 0;
        }
    }
    if (code)
        fprintf(stderr, "profile: %s\n", assay_message(env));
    assay_facts_free(facts);
    assay_trace_free(trace);
    assay_plan_free(plan);
    assay_model_free(model);
    assay_options_free(options);
    assay_env_free(env);
    return code;
}
