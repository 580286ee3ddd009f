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
