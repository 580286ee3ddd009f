/* bench.c - several workloads, one row each, read cell by cell: for a program that decides by the numbers.
 *
 *     cc bench.c $(pkg-config --cflags --libs assay) -o bench && ./bench matmul:size=64x64 softmax:size=64x64 */
#include <stdio.h>
#include <string.h>

#include "assay.h"

/* The first table is that of the cases; its columns have keys. */
static void rows_print(const assay_facts *facts)
{
    const char         *key, *label, *text;
    const assay_metric *metric;
    size_t              n_rows, n_columns;
    if (!assay_facts_table(facts, 0, &key, &n_rows, &n_columns))
        return;
    for (size_t row = 0; row < n_rows; row++)
        for (size_t i = 0; i < n_columns; i++)
            if (assay_facts_column(facts, 0, i, &key, &label) && assay_facts_cell(facts, 0, row, i, &text, &metric)) {
                if (text && !strcmp(key, "case"))
                    printf("%s\n", text);
                else if (metric && metric->kind != ASSAY_UNAVAILABLE)
                    printf("  %-24s %.6g %s\n", label, metric->value, metric->unit);
            }
}

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_facts   *facts = NULL;
    int            code = 2;
    if (argc < 2) {
        fprintf(stderr, "usage: %s WORKLOAD|MODEL...\n", argv[0]);
        return 2;
    }
    if (assay_env_new(&env) == ASSAY_OK && assay_options_new(env, &options) == ASSAY_OK &&
        assay_options_set(env, options, "budget", "100ms") == ASSAY_OK &&
        assay_options_set(env, options, "store", "none") == ASSAY_OK &&
        assay_bench(env, (const char *const *)argv + 1, (size_t)argc - 1, options, &facts) == ASSAY_OK)
        code = 0;
    if (code)
        fprintf(stderr, "bench: %s\n", assay_message(env));
    if (facts)
        rows_print(facts);
    assay_facts_free(facts);
    assay_options_free(options);
    assay_env_free(env);
    return code;
}
