/* record.c - where another program spends its time: the share of each function, with the error of the sample.
 *
 *     cc record.c $(pkg-config --cflags --libs assay) -o record && ./record ls -R /usr */
#include <stdio.h>
#include <string.h>

#include "assay.h"

/* The rows of the table hotspots.functions: name, program or library, share of the CPU time. */
static void functions_print(const assay_facts *facts)
{
    const char         *key, *name, *object;
    const assay_metric *share;
    size_t              rows, columns;
    for (size_t i = 0; assay_facts_table(facts, i, &key, &rows, &columns); i++) {
        if (strcmp(key, "functions"))
            continue;
        for (size_t row = 0; row < rows && row < 10; row++) {
            assay_facts_cell(facts, i, row, 0, &name, &share);
            assay_facts_cell(facts, i, row, 1, &object, &share);
            assay_facts_cell(facts, i, row, 5, &key, &share);
            if (name && object && share && share->kind != ASSAY_UNAVAILABLE && share->value > 0)
                printf("%5.1f %%  (%.1f to %.1f)  %s  %s\n", 100 * share->value, 100 * share->lo, 100 * share->hi, name, object);
        }
    }
}

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_facts   *facts = NULL;
    const char    *text;
    int            level, code = 2;
    if (argc < 2) {
        fprintf(stderr, "usage: %s COMMAND [ARGUMENT...]\n", argv[0]);
        return 2;
    }
    if (assay_env_new(&env) == ASSAY_OK && assay_options_new(env, &options) == ASSAY_OK &&
        assay_options_set(env, options, "store", "none") == ASSAY_OK &&
        assay_record(env, (const char *const *)argv + 1, options, &facts) == ASSAY_OK)
        code = 0;
    if (code)
        fprintf(stderr, "record: %s\n", assay_message(env));
    for (size_t i = 0; facts && assay_facts_finding(facts, i, &level, &text); i++)
        printf("%s\n", text);
    if (facts)
        functions_print(facts);
    assay_facts_free(facts);
    assay_options_free(options);
    assay_env_free(env);
    return code;
}
