/* wr_junit.c - a check as JUnit XML: one testcase per case, for every CI system that shows tests.
 *
 * A regression is a failure, a case that could not run is an error, an undecided case is skipped, never passed. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/pick.h"

typedef struct page {
    FILE    *file;
    as_arena arena;
} page;

static double seconds(const as_table *t, int row)
{
    double ns = as_value_at(t, row, "spent");
    return ns > 0 ? ns * 1e-9 : 0;
}

static void put(page *p, const char *text) { fputs(as_escape_html(&p->arena, text), p->file); }

static void put_seconds(page *p, double value)
{
    char number[AS_NUMBER_BYTES];
    fprintf(p->file, " time=\"%s\"", as_number(number, round(value * 1e6) / 1e6));
}

/* JUnit's name for the status of the case; NULL: it passed. */
static const char *element_of(const char *status)
{
    static const struct {
        const char *status, *element;
    } elements[] = {{"Regression", "failure"}, {"Failed", "error"}, {"Unstable", "skipped"}};
    for (size_t i = 0; i < AS_COUNT(elements); i++)
        if (!strcmp(status, elements[i].status))
            return elements[i].element;
    return NULL;
}

static void write_case(page *p, const as_table *t, int row)
{
    const char *name = as_words_at(t, row, "case"), *status = as_words_at(t, row, "status"), *element = element_of(status);
    const char *group = as_arena_text_n(&p->arena, name, strcspn(name, "/"));
    fputs("    <testcase classname=\"assay.", p->file);
    put(p, group ? group : "");
    fputs("\" name=\"", p->file);
    put(p, name);
    fputs("\"", p->file);
    put_seconds(p, seconds(t, row));
    fputs(">\n", p->file);
    if (element) {
        fprintf(p->file, "      <%s", element);
        if (strcmp(element, "skipped"))
            fprintf(p->file, " type=\"%s\"", element[0] == 'f' ? as_words_at(t, row, "severity") : "failed");
        fputs(" message=\"", p->file);
        put(p, as_words_at(t, row, "line"));
        fputs("\">", p->file);
        put(p, as_words_at(t, row, "detail"));
        fprintf(p->file, "</%s>\n", element);
    } else {
        fputs("      <system-out>", p->file);
        put(p, status);
        fputs(": ", p->file);
        put(p, as_words_at(t, row, "line"));
        fputs("</system-out>\n", p->file);
    }
    fputs("    </testcase>\n", p->file);
}

typedef struct totals {
    int    tests, failures, errors, skipped;
    double seconds;
} totals;

static void totals_add(totals *sum, const as_table *t)
{
    for (int i = 0; i < t->n_rows; i++) {
        const char *element = element_of(as_words_at(t, i, "status"));
        sum->tests++;
        sum->failures += element && *element == 'f';
        sum->errors += element && *element == 'e';
        sum->skipped += element && *element == 's';
        sum->seconds += seconds(t, i);
    }
}

static void put_totals(page *p, const totals *sum)
{
    fprintf(p->file, " tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\"", sum->tests, sum->failures, sum->errors,
            sum->skipped);
    put_seconds(p, sum->seconds);
    fputs(">\n", p->file);
}

static assay_status write_doc(assay_env *env, const as_doc *const *docs, const assay_facts *const *facts, size_t n,
                              const as_write_settings *s, FILE *file)
{
    (void)docs, (void)s;
    page   p = {.file = file};
    totals all = {0};
    for (size_t i = 0; i < n; i++) {
        const as_table *t = as_facts_table_find(facts[i], "check", "annotations");
        if (!t)
            return as_fail(env, ASSAY_BAD_INPUT, "junit: \"%s\" is not a check: only assay check has cases that pass or fail",
                           facts[i]->title);
        totals_add(&all, t);
    }
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay check\"", file);
    /* The sum over suites has no attribute "skipped" in the common schema. */
    fprintf(file, " tests=\"%d\" failures=\"%d\" errors=\"%d\"", all.tests, all.failures, all.errors);
    put_seconds(&p, all.seconds);
    fputs(">\n", file);
    for (size_t i = 0; i < n; i++) {
        const as_table *t = as_facts_table_find(facts[i], "check", "annotations");
        totals          sum = {0};
        totals_add(&sum, t);
        fputs("  <testsuite name=\"", file);
        put(&p, facts[i]->title);
        fputs("\"", file);
        put_totals(&p, &sum);
        for (int row = 0; row < t->n_rows; row++) {
            write_case(&p, t, row);
            as_arena_drop(&p.arena);
        }
        fputs("  </testsuite>\n", file);
    }
    fputs("</testsuites>\n", file);
    as_arena_drop(&p.arena);
    return ASSAY_OK;
}

const as_writer as_wr_junit = {.name = "junit", .suffix = ".xml", .help = "a check as JUnit XML", .write = write_doc};
