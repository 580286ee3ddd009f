/* compare.c - a comparison from a C program: one network with each value of an option, in turns, as a page.
 *
 *     cc compare.c $(pkg-config --cflags --libs assay) -o compare && ./compare mlp-small compile=on,off page.html */
#include <stdio.h>

#include "assay.h"

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s MODEL KEY=A,B PAGE.html\n", argv[0]);
        return 2;
    }
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_facts   *facts = NULL;
    const char    *what[] = {argv[1]};
    int            code = 2;
    if (assay_env_new(&env) == ASSAY_OK && assay_options_new(env, &options) == ASSAY_OK &&
        assay_options_set(env, options, "vary", argv[2]) == ASSAY_OK &&
        assay_options_set(env, options, "budget", "300ms") == ASSAY_OK &&
        assay_options_set(env, options, "store", "none") == ASSAY_OK && assay_compare(env, what, 1, options, &facts) == ASSAY_OK &&
        assay_report(env, (const assay_facts *const[]){facts}, 1, "html", argv[3]) == ASSAY_OK) {
        printf("wrote %s\n", argv[3]);
        code = 0;
    }
    if (code)
        fprintf(stderr, "compare: %s\n", assay_message(env));
    assay_facts_free(facts);
    assay_options_free(options);
    assay_env_free(env);
    return code;
}
