/* selftest.c - are comparisons right on this machine?  Counts false alarms and what is found, where the answer is known.
 *
 *     cc selftest.c $(pkg-config --cflags --libs assay) -o selftest && ./selftest compute,programs counted.jsonl
 *
 * The cell "programs" compares two processes of this program, which are started with `selftest --arm WHAT`. */
#include <stdio.h>
#include <string.h>

#include "assay.h"

static int report(const assay_facts *facts)
{
    const char         *key, *text;
    const assay_metric *number, *broken = assay_facts_metric(facts, "selftest.broken");
    size_t              n_rows, n_columns;
    assay_facts_table(facts, 0, &key, &n_rows, &n_columns);
    for (size_t row = 0; row < n_rows; row++) {
        for (size_t column = 0; column < n_columns; column++) {
            if (!assay_facts_cell(facts, 0, row, column, &text, &number))
                continue;
            if (text)
                printf("%s\t", text);
            else
                printf("%g\t", number->value);
        }
        printf("\n");
    }
    return broken && broken->value > 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_facts   *facts = NULL;
    assay_status   status;
    int            code = 2;
    if (argc != 3 && (argc != 4 || strcmp(argv[2], "--arm"))) {
        fprintf(stderr, "usage: %s CELLS STATE.jsonl\n", argv[0]);
        return 2;
    }
    status = assay_env_new(&env);
    if (status == ASSAY_OK && argc == 4) {
        status = assay_selftest_speak(env, argv[3], 0, 1);
        code = status == ASSAY_OK ? 0 : 2;
    } else if (status == ASSAY_OK && assay_options_new(env, &options) == ASSAY_OK &&
               assay_options_set(env, options, "cells", argv[1]) == ASSAY_OK &&
               assay_options_set(env, options, "state", argv[2]) == ASSAY_OK) {
        status = assay_selftest(env, options, &facts);
        if (facts)
            code = report(facts);
    }
    if (code == 2)
        fprintf(stderr, "selftest: %s\n", assay_message(env));
    assay_facts_free(facts);
    assay_options_free(options);
    assay_env_free(env);
    return code;
}
