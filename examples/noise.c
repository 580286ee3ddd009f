/* noise.c - the smallest change that this machine can detect, before you trust a comparison on it.
 *
 *     cc noise.c $(pkg-config --cflags --libs assay) -o noise && ./noise 12s */
#include <stdio.h>

#include "assay.h"

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_facts   *facts = NULL;
    const char    *text;
    int            level, code = 2;
    if (argc != 2) {
        fprintf(stderr, "usage: %s BUDGET\n", argv[0]);
        return 2;
    }
    if (assay_env_new(&env) == ASSAY_OK && assay_options_new(env, &options) == ASSAY_OK &&
        assay_options_set(env, options, "budget", argv[1]) == ASSAY_OK &&
        assay_options_set(env, options, "store", "none") == ASSAY_OK && assay_noise(env, options, &facts) == ASSAY_OK)
        code = 0;
    if (code)
        fprintf(stderr, "noise: %s\n", assay_message(env));
    for (size_t i = 0; facts && assay_facts_finding(facts, i, &level, &text); i++)
        printf("%s\n", text);
    assay_facts_free(facts);
    assay_options_free(options);
    assay_env_free(env);
    return code;
}
