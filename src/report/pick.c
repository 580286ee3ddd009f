/* pick.c - facts by key into blocks. */
#include "report/pick.h"

#include <math.h>
#include <string.h>

static const as_fact *fact_find(const assay_facts *f, const char *key)
{
    for (int i = 0; i < f->n_groups; i++)
        for (int j = 0; j < f->groups[i].n_facts; j++)
            if (!strcmp(f->groups[i].facts[j].key, key))
                return &f->groups[i].facts[j];
    return NULL;
}

void as_pick_facts(as_doc *d, const assay_facts *f, as_block_kind kind, const char *const *keys)
{
    int n_keys = 0, n = 0;
    while (keys[n_keys])
        n_keys++;
    const as_fact **found = AS_TAKE(&d->arena, const as_fact *, n_keys);
    if (!found) {
        d->failed = true;
        return;
    }
    for (int i = 0; i < n_keys; i++) {
        const as_fact *fact = fact_find(f, keys[i]);
        if (fact)
            found[n++] = fact;
    }
    if (n)
        as_doc_add(d, &(as_block){.kind = kind, .facts = found, .n_facts = n});
}

void as_pick_group(as_doc *d, const assay_facts *f, const char *group)
{
    const as_fact_group *g = as_facts_group_find(f, group);
    if (!g || !g->n_facts)
        return;
    const as_fact **all = AS_TAKE(&d->arena, const as_fact *, g->n_facts);
    if (!all) {
        d->failed = true;
        return;
    }
    for (int i = 0; i < g->n_facts; i++)
        all[i] = &g->facts[i];
    as_doc_add(d, &(as_block){.kind = AS_BLOCK_FACTS, .facts = all, .n_facts = g->n_facts});
}

void as_pick_table(as_doc *d, const assay_facts *f, const char *group, const char *key)
{
    const as_table *t = as_facts_table_find(f, group, key);
    if (t && t->n_rows)
        as_doc_add(d, &(as_block){.kind = AS_BLOCK_TABLE, .text = t->label, .table = t});
}

const as_table *as_pick_layers(as_doc *d, const assay_facts *f)
{
    const as_table *steps = as_facts_table_find(f, "layers", "steps");
    if (!steps || !d->by_module || !as_modules_known(steps))
        return steps;
    const as_table *folded = as_fold_modules(&d->arena, steps, d->module_depth);
    d->failed |= !folded;
    return folded;
}

void as_pick_findings(as_doc *d, const assay_facts *f, const char *group)
{
    const as_fact_group *g = as_facts_group_find(f, group);
    if (g && g->n_findings)
        as_doc_add(d, &(as_block){.kind = AS_BLOCK_FINDINGS, .findings = g->findings, .n_findings = g->n_findings});
}

void as_pick_notes(as_doc *d, const assay_facts *f, const char *const *prefixes)
{
    const as_fact_note **pairs = AS_TAKE(&d->arena, const as_fact_note *, f->n_notes);
    int                  n = 0;
    if (!pairs) {
        d->failed = true;
        return;
    }
    for (int i = 0; i < f->n_notes; i++) {
        bool wanted = false;
        for (const char *const *p = prefixes; *p && !wanted; p++)
            wanted = !strncmp(f->notes[i].key, *p, strlen(*p));
        if (wanted)
            pairs[n++] = &f->notes[i];
    }
    if (n)
        as_doc_add(d, &(as_block){.kind = AS_BLOCK_KEYVALUES, .pairs = pairs, .n_pairs = n});
}

void as_pick_sentences(as_doc *d, const as_table *t, const char *column, const char *word, as_level level)
{
    as_sentence *all = AS_TAKE(&d->arena, as_sentence, t ? t->n_rows : 0);
    int          n = 0;
    d->failed |= !all;
    for (int i = 0; all && t && i < t->n_rows; i++)
        if (!word || !strcmp(as_words_at(t, i, column), word))
            all[n++] = (as_sentence){level, as_words_at(t, i, "text"), as_words_at(t, i, "cites")};
    if (n)
        as_doc_add(d, &(as_block){.kind = AS_BLOCK_SENTENCES, .sentences = all, .n_sentences = n});
}

const as_table *as_tree_indent(as_arena *arena, const as_table *t)
{
    enum { MOST = 24 }; /* deeper calls stand no further right */
    int        depth = as_column_find(t, "depth"), name = as_column_find(t, "name"), n = t->n_columns - 1;
    as_table  *out = AS_TAKE(arena, as_table, 1);
    as_cell   *cells = AS_TAKE(arena, as_cell, (size_t)t->n_rows * (size_t)t->n_columns);
    as_column *columns = AS_TAKE(arena, as_column, t->n_columns);
    if (depth < 0 || name < 0)
        return t;
    if (!out || !cells || !columns)
        return NULL;
    for (int c = 0, to = 0; c < t->n_columns; c++)
        if (c != depth)
            columns[to++] = t->columns[c];
    for (int i = 0; i < t->n_rows; i++)
        for (int c = 0, to = 0; c < t->n_columns; c++) {
            if (c == depth)
                continue;
            as_cell *cell = &cells[(size_t)i * (size_t)n + (size_t)to++];
            double   deep = as_value_at(t, i, "depth");
            int      by = deep > 0 ? (int)(deep < MOST ? deep : MOST) : 0;
            *cell = *as_cell_at(t, i, c);
            if (c == name && by &&
                !(cell->text =
                      as_arena_printf(arena, "%.*s %s", 2 * by, "························", as_cell_words(as_cell_at(t, i, c)))))
                return NULL;
        }
    *out = *t;
    out->columns = columns, out->n_columns = n, out->cells = cells, out->cap_rows = t->n_rows;
    return out;
}
