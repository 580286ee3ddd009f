/* layers.c - two profiles side by side from a C program: which layers take longer or shorter.  Each is a run JSON, a trace or a
 * stored run's number.
 *
 *     cc layers.c $(pkg-config --cflags --libs assay) -o layers && ./layers old.json new.json */
#include <stdio.h>
#include <string.h>

#include "assay.h"

/* The table "diff" has one row per layer: its name, the two times, the difference. */
static void layers_print(const assay_facts *facts)
{
    const char         *key, *name, *text;
    const assay_metric *none, *difference;
    size_t              n_rows, n_columns;
    for (size_t i = 0; assay_facts_table(facts, i, &key, &n_rows, &n_columns); i++)
        for (size_t row = 0; !strcmp(key, "diff") && row < n_rows; row++)
            if (assay_facts_cell(facts, i, row, 0, &name, &none) && assay_facts_cell(facts, i, row, 3, &text, &difference) &&
                name && difference)
                printf("%-24s %+12.1f ns\n", name, difference->value);
}

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_facts   *facts = NULL;
    int            code = 2;
    if (argc != 3) {
        fprintf(stderr, "usage: %s OLD NEW\n", argv[0]);
        return 2;
    }
    if (assay_env_new(&env) == ASSAY_OK && assay_options_new(env, &options) == ASSAY_OK &&
        assay_compare_profiles(env, argv[1], argv[2], options, &facts) == ASSAY_OK) {
        layers_print(facts);
        code = 0;
    }
    if (code)
        fprintf(stderr, "layers: %s\n", assay_message(env));
    assay_facts_free(facts);
    assay_options_free(options);
    assay_env_free(env);
    return code;
}
