/* test_lab.h - the synthetic trace and what analysis says of it, for tests. */
#ifndef AS_ANALYSIS_TEST_LAB_H
#define AS_ANALYSIS_TEST_LAB_H

#include "analysis/analysis.h"
#include "analysis/trace/test_trace.h"

typedef struct lab {
    assay_env   *env;
    assay_trace *trace;
    assay_facts *facts;
} lab;

static inline lab lab_open(as_synthetic s)
{
    lab l = {0};
    expect_eq(assay_env_new(&l.env), ASSAY_OK);
    l.trace = as_synthetic_trace(l.env, s);
    return l;
}

static inline void lab_run(lab *l) { expect_ok(l->env, assay_analyse(l->env, l->trace, &l->facts)); }

static inline void lab_close(lab *l)
{
    assay_facts_free(l->facts);
    assay_trace_free(l->trace);
    assay_env_free(l->env);
}

static inline const as_cell *cell(const lab *l, const char *group, const char *table, int row, const char *column)
{
    const as_table *t = as_facts_table_find(l->facts, group, table);
    expect(t && row < t->n_rows);
    for (int i = 0; i < t->n_columns; i++)
        if (!strcmp(t->columns[i].key, column))
            return &t->cells[row * t->n_columns + i];
    fail("no column %s", column);
}

/* Whether the group has a finding of this level with these words in it. */
static inline bool says(const lab *l, const char *group, as_level level, const char *part)
{
    const as_fact_group *g = as_facts_group_find(l->facts, group);
    for (int i = 0; g && i < g->n_findings; i++)
        if (g->findings[i].level == level && strstr(g->findings[i].text, part))
            return true;
    return false;
}

#endif
