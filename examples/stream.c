/* stream.c - a network in a control loop: one answer per line of numbers, and how late the answers were.
 *
 *     cc stream.c $(pkg-config --cflags --libs assay) -o stream && ./stream cfc:input=3,units=8 1ms <samples.csv >answers.csv */
#include <stdio.h>

#include "assay.h"

static void metric_print(const assay_facts *facts, const char *key)
{
    const assay_metric *m = assay_facts_metric(facts, key);
    if (m && m->kind != ASSAY_UNAVAILABLE)
        fprintf(stderr, "%-16s %.6g %s\n", key, m->value, m->unit);
    else
        fprintf(stderr, "%-16s not available: %s\n", key, m ? m->reason : "no such key");
}

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_model   *model = NULL;
    assay_facts   *facts = NULL;
    int            code = 2;
    if (argc != 3) {
        fprintf(stderr, "usage: %s MODEL DEADLINE <samples >answers\n", argv[0]);
        return 2;
    }
    if (assay_env_new(&env) == ASSAY_OK && assay_options_new(env, &options) == ASSAY_OK &&
        assay_options_set(env, options, "stream", "on") == ASSAY_OK && /* a built-in network then takes its state */
        assay_options_set(env, options, "deadline", argv[2]) == ASSAY_OK &&
        assay_model_load(env, argv[1], options, &model) == ASSAY_OK && assay_stream(env, model, options, 0, 1, &facts) == ASSAY_OK)
        code = 0;
    if (code)
        fprintf(stderr, "stream: %s\n", assay_message(env));
    if (facts) { /* also after a bad sample: the answers before it */
        metric_print(facts, "stream.answers");
        metric_print(facts, "stream.missed");
        metric_print(facts, "stream.p50");
        metric_print(facts, "stream.p99");
    }
    assay_facts_free(facts);
    assay_model_free(model);
    assay_options_free(options);
    assay_env_free(env);
    return code;
}
