/* facts.c - all that a profile says: numbers, tables and sentences; its record on disk; and the report in every form.
 *
 *     cc facts.c $(pkg-config --cflags --libs assay) -o facts && ./facts mlp-small out
 *
 * writes out.trace, out.txt, out.json, out.html, out.csv and out.md. */
#include <stdio.h>

#include "assay.h"

static void print(const assay_facts *facts)
{
    const char         *key, *label, *text;
    const assay_metric *m;
    size_t              n_rows, n_columns;
    int                 level;
    printf("%s (%s)\n", assay_facts_title(facts), assay_facts_schema());
    for (size_t i = 0; assay_facts_at(facts, i, &key, &label, &m); i++)
        if (m->kind == ASSAY_UNAVAILABLE)
            printf("  %-28s not available: %s\n", key, m->reason);
        else
            printf("  %-28s %.6g %s, %s by %s\n", key, m->value, m->unit, assay_kind_text(m->kind), m->source);
    for (size_t i = 0; assay_facts_table(facts, i, &key, &n_rows, &n_columns); i++) {
        printf("  table %s, %zu rows:", key, n_rows);
        for (size_t c = 0; assay_facts_column(facts, i, c, &key, &label); c++)
            printf(" %s", key);
        printf("\n");
        if (assay_facts_cell(facts, i, 0, 0, &text, &m) && text)
            printf("    its first row is that of %s\n", text);
    }
    for (size_t i = 0; assay_facts_finding(facts, i, &level, &text); i++)
        printf("  %s %s\n", level >= 2 ? "!" : "-", text);
}

static assay_status write_all(assay_env *env, const assay_facts *facts, const char *stem)
{
    static const char *const forms[][2] = {{"text", "txt"}, {"json", "json"}, {"html", "html"}, {"csv", "csv"}, {"markdown", "md"}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char         path[512];
        assay_status status;
        snprintf(path, sizeof path, "%s.%s", stem, forms[i][1]);
        status = assay_report(env, &facts, 1, forms[i][0], path);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* The record on disk holds everything that it held in memory: another program may read it later. */
static assay_status read_again(assay_env *env, const char *path, const char *stem)
{
    assay_trace *trace = NULL;
    assay_facts *facts = NULL;
    assay_status status = assay_trace_load(env, path, &trace);
    if (status == ASSAY_OK)
        status = assay_analyse(env, trace, &facts);
    if (status == ASSAY_OK)
        print(facts);
    if (status == ASSAY_OK)
        status = write_all(env, facts, stem);
    assay_facts_free(facts);
    assay_trace_free(trace);
    return status;
}

static assay_status measure(assay_env *env, const char *spec, const char *path)
{
    assay_options *options = NULL;
    assay_model   *model = NULL;
    assay_plan    *plan = NULL;
    assay_trace   *trace = NULL;
    assay_status   status = assay_options_new(env, &options);
    if (status == ASSAY_OK)
        status = assay_options_set(env, options, "time", "100ms");
    if (status == ASSAY_OK)
        status = assay_options_set(env, options, "roofs", "off");
    if (status == ASSAY_OK)
        status = assay_model_load(env, spec, options, &model);
    if (status == ASSAY_OK)
        status = assay_plan_build(env, model, options, &plan);
    if (status == ASSAY_OK)
        status = assay_profile(env, plan, options, &trace);
    if (status == ASSAY_OK)
        status = assay_trace_save(env, trace, path);
    assay_trace_free(trace);
    assay_plan_free(plan);
    assay_model_free(model);
    assay_options_free(options);
    return status;
}

int main(int argc, char **argv)
{
    assay_env   *env = NULL;
    assay_status status;
    char         path[512];
    if (argc != 3) {
        fprintf(stderr, "usage: %s MODEL STEM\n", argv[0]);
        return 2;
    }
    snprintf(path, sizeof path, "%s.trace", argv[2]);
    status = assay_env_new(&env);
    if (status == ASSAY_OK)
        status = measure(env, argv[1], path);
    if (status == ASSAY_OK)
        status = read_again(env, path, argv[2]);
    if (status != ASSAY_OK)
        fprintf(stderr, "facts: %s\n", assay_message(env));
    assay_env_free(env);
    return status == ASSAY_OK ? 0 : 2;
}
