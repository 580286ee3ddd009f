/* lists.c - what this build of assay has: its parts, a list by topic, and a neural circuit as JSON.
 *
 *     cc lists.c $(pkg-config --cflags --libs assay) -o lists && ./lists models circuit.json */
#include <stdio.h>

#include "assay.h"

/* Every table, one row per line: its texts with a tab between them. */
static void print(const assay_facts *facts)
{
    const char         *key, *text;
    const assay_metric *number;
    size_t              n_rows, n_columns;
    for (size_t i = 0; assay_facts_table(facts, i, &key, &n_rows, &n_columns); i++)
        for (size_t row = 0; row < n_rows; row++) {
            printf("%s:", key);
            for (size_t column = 0; column < n_columns; column++)
                if (assay_facts_cell(facts, i, row, column, &text, &number) && text)
                    printf("\t%s", text);
            printf("\n");
        }
}

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_facts   *parts = NULL, *list = NULL;
    int            code = 2;
    if (argc != 3) {
        fprintf(stderr, "usage: %s TOPIC CIRCUIT.json\n", argv[0]);
        return 2;
    }
    if (assay_env_new(&env) == ASSAY_OK && assay_options_new(env, &options) == ASSAY_OK &&
        assay_options_set(env, options, "input", "4") == ASSAY_OK && assay_list(env, argv[1], NULL, &list) == ASSAY_OK &&
        assay_parts(env, &parts) == ASSAY_OK &&
        assay_wiring_write(env, "autoncp:units=16,out=4", options, "json", argv[2]) == ASSAY_OK) {
        print(parts);
        print(list);
        code = 0;
    }
    if (code)
        fprintf(stderr, "lists: %s\n", assay_message(env));
    assay_facts_free(list);
    assay_facts_free(parts);
    assay_options_free(options);
    assay_env_free(env);
    return code;
}
