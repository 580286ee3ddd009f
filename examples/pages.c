/* pages.c - what was measured before, on this machine or another, as a page: a trace or run JSON in, HTML out; or what can be measured here.
 *
 *     cc pages.c $(pkg-config --cflags --libs assay) -o pages && ./pages page.html run.trace
 *     ./pages doctor.json                            # no run: what can be measured on this machine, and why the rest cannot */
#include <stdio.h>

#include "assay.h"

/* Prints every run of the file, and writes them all on one page. */
static assay_status page_write(assay_env *env, const char *page, const char *path)
{
    assay_facts **facts = NULL;
    size_t        n = 0, i;
    assay_status  status = assay_facts_load(env, path, &facts, &n);
    for (i = 0; i < n; i++)
        printf("%s\n", assay_facts_title(facts[i]));
    if (status == ASSAY_OK)
        status = assay_report(env, (const assay_facts *const *)facts, n, "html", page);
    assay_facts_free_all(facts, n);
    return status;
}

int main(int argc, char **argv)
{
    assay_env   *env = NULL;
    assay_status status;
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: %s FILE [TRACE|JSON]\n", argv[0]);
        return 2;
    }
    status = assay_env_new(&env);
    if (status == ASSAY_OK && argc == 2)
        status = assay_doctor(env, argv[1]);
    else if (status == ASSAY_OK)
        status = page_write(env, argv[1], argv[2]);
    if (status != ASSAY_OK)
        fprintf(stderr, "pages: %s\n", assay_message(env));
    assay_env_free(env);
    return status == ASSAY_OK ? 0 : 2;
}
