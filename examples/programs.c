/* programs.c - two programs side by side, kept as a file, and judged again by another margin without running anything.
 *
 *     cc programs.c $(pkg-config --cflags --libs assay) -o programs && ./programs ./old ./new result.json
 *
 * They speak the line protocol: arm/toy.c is one. */
#include <stdio.h>

#include "assay.h"

static void findings_print(const char *what, const assay_facts *facts)
{
    const char *text;
    int         level;
    printf("%s\n", what);
    for (size_t i = 0; assay_facts_finding(facts, i, &level, &text); i++)
        printf("  %s%s\n", level >= 2 ? "! " : "", text);
}

static assay_status compare(assay_env *env, const char *const *commands, const char *path)
{
    assay_options *options = NULL;
    assay_facts   *facts = NULL;
    assay_status   status = assay_options_new(env, &options);
    if (status == ASSAY_OK)
        status = assay_options_set(env, options, "budget", "1s");
    if (status == ASSAY_OK)
        status = assay_options_set(env, options, "store", "none");
    if (status == ASSAY_OK)
        status = assay_compare_programs(env, commands, 2, options, &facts);
    if (status == ASSAY_OK)
        status = assay_report(env, (const assay_facts *const *)&facts, 1, "json", path);
    if (status == ASSAY_OK)
        findings_print("as measured:", facts);
    assay_facts_free(facts);
    assay_options_free(options);
    return status;
}

static assay_status again(assay_env *env, const char *path)
{
    assay_options *options = NULL;
    assay_facts   *facts = NULL;
    assay_status   status = assay_options_new(env, &options);
    if (status == ASSAY_OK)
        status = assay_options_set(env, options, "margin", "50%");
    if (status == ASSAY_OK)
        status = assay_compare_again(env, path, options, &facts);
    if (status == ASSAY_OK)
        findings_print("if only 50 % mattered:", facts);
    assay_facts_free(facts);
    assay_options_free(options);
    return status;
}

int main(int argc, char **argv)
{
    assay_env   *env = NULL;
    assay_status status;
    if (argc != 4) {
        fprintf(stderr, "usage: %s OLD NEW RESULT.json\n", argv[0]);
        return 2;
    }
    status = assay_env_new(&env);
    if (status == ASSAY_OK)
        status = compare(env, (const char *const *)argv + 1, argv[3]);
    if (status == ASSAY_OK)
        status = again(env, argv[3]);
    if (status != ASSAY_OK)
        fprintf(stderr, "programs: %s\n", assay_message(env));
    assay_env_free(env);
    return status == ASSAY_OK ? 0 : 2;
}
