/* public.c - the public functions on facts: by key, and one after the other. */
#include "analysis/analysis.h"

const assay_metric *assay_facts_metric(const assay_facts *facts, const char *key) { return as_facts_metric(facts, key); }
const char         *assay_facts_title(const assay_facts *facts) { return facts->title; }
const char         *assay_facts_schema(void) { return AS_FACTS_SCHEMA; }

bool assay_facts_at(const assay_facts *facts, size_t i, const char **key, const char **label, const assay_metric **metric)
{
    for (int g = 0; g < facts->n_groups; g++) {
        const as_fact_group *group = &facts->groups[g];
        if (i < (size_t)group->n_facts) {
            *key = group->facts[i].key;
            *label = group->facts[i].label;
            *metric = &group->facts[i].metric;
            return true;
        }
        i -= (size_t)group->n_facts;
    }
    return false;
}

static const as_table *table_at(const assay_facts *facts, size_t i)
{
    for (int g = 0; g < facts->n_groups; g++) {
        const as_fact_group *group = &facts->groups[g];
        if (i < (size_t)group->n_tables)
            return &group->tables[i];
        i -= (size_t)group->n_tables;
    }
    return NULL;
}

bool assay_facts_table(const assay_facts *facts, size_t i, const char **key, size_t *n_rows, size_t *n_columns)
{
    const as_table *t = table_at(facts, i);
    if (!t)
        return false;
    *key = t->key;
    *n_rows = (size_t)t->n_rows;
    *n_columns = (size_t)t->n_columns;
    return true;
}

bool assay_facts_column(const assay_facts *facts, size_t i, size_t column, const char **key, const char **label)
{
    const as_table *t = table_at(facts, i);
    if (!t || column >= (size_t)t->n_columns)
        return false;
    *key = t->columns[column].key;
    *label = t->columns[column].label;
    return true;
}

bool assay_facts_cell(const assay_facts *facts, size_t i, size_t row, size_t column, const char **text, const assay_metric **metric)
{
    const as_table *t = table_at(facts, i);
    if (!t || row >= (size_t)t->n_rows || column >= (size_t)t->n_columns)
        return false;
    const as_cell *cell = &t->cells[row * (size_t)t->n_columns + column];
    *text = cell->text;
    *metric = cell->text ? NULL : &cell->metric;
    return true;
}

bool assay_facts_finding(const assay_facts *facts, size_t i, int *level, const char **text)
{
    for (int g = 0; g < facts->n_groups; g++) {
        const as_fact_group *group = &facts->groups[g];
        if (i < (size_t)group->n_findings) {
            *level = (int)group->findings[i].level;
            *text = group->findings[i].text;
            return true;
        }
        i -= (size_t)group->n_findings;
    }
    return false;
}
