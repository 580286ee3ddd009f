/* sec_appendix.c - how it was measured, what the method cannot tell, what the words mean, and where the raw numbers are. */
#include <math.h>
#include <string.h>

#include "report/pick.h"

static const char *number(as_doc *d, const assay_facts *f, const char *key)
{
    const assay_metric *m = as_metric_find(f, key);
    const char         *text = m ? as_show_signs(&d->arena, m->value, m->unit) : NULL;
    return text ? text : "not known";
}

/* Each sentence with the facts that its numbers are. */
static void method_add(as_doc *d, const assay_facts *f)
{
    as_sentence *s = AS_TAKE(&d->arena, as_sentence, 4);
    int          n = 0;
    d->failed |= !s;
    if (!s)
        return;
    if (as_metric_find(f, "latency.samples"))
        s[n++] = (as_sentence){
            AS_LEVEL_NOTE,
            as_arena_printf(&d->arena, "The time of a run is the median of %s samples of %s runs, after %s runs of warm-up.",
                            number(d, f, "latency.samples"), number(d, f, "latency.runs"), number(d, f, "latency.warmup_runs")),
            "latency.samples latency.runs latency.warmup_runs"};
    if (as_metric_find(f, "layers.undisturbed_runs"))
        s[n++] = (as_sentence){
            AS_LEVEL_NOTE,
            as_arena_printf(&d->arena,
                            "Times per layer are means over the same %s uninterrupted runs, so that they add up to the run.",
                            number(d, f, "layers.undisturbed_runs")),
            "layers.undisturbed_runs layers.run_mean"};
    if (as_metric_find(f, "instrument.overhead_share"))
        s[n++] = (as_sentence){AS_LEVEL_NOTE,
                               as_arena_printf(&d->arena, "Measuring took %s of a run.", number(d, f, "instrument.overhead_share")),
                               "instrument.overhead_share"};
    if (as_metric_find(f, "roofline.above"))
        s[n++] = (as_sentence){
            AS_LEVEL_NOTE,
            "A limit is the longest of three times: operations, special functions and bytes, each at the rate that this "
            "machine reached in a loop of its own.",
            "roofline.of_roof"};
    for (int i = 0; i < n; i++)
        d->failed |= !s[i].text;
    if (n && !d->failed)
        as_doc_add(d, &(as_block){.kind = AS_BLOCK_SENTENCES, .sentences = s, .n_sentences = n});
}

/* What could not be tested stands in the table of bottlenecks, with its reason: here are the rows. */
static void limits_add(as_doc *d, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "bottlenecks", "bottlenecks");
    as_sentence    *s = AS_TAKE(&d->arena, as_sentence, (t ? t->n_rows : 0) + 2);
    int             n = 0;
    d->failed |= !s;
    if (!s)
        return;
    if (as_facts_metric(f, "books.compute_memory") && !as_metric_find(f, "books.compute_memory"))
        s[n++] = (as_sentence){
            AS_LEVEL_NOTE,
            as_arena_printf(&d->arena, "Time spent computing and time spent waiting for memory are told apart by limits only: %s.",
                            as_facts_metric(f, "books.compute_memory")->reason),
            "books.compute_memory"};
    for (int i = 0; t && i < t->n_rows; i++)
        if (!strcmp(as_words_at(t, i, "state"), "not testable here"))
            s[n++] = (as_sentence){
                AS_LEVEL_NOTE,
                as_arena_printf(&d->arena, "%s was not tested: %s.", as_words_at(t, i, "name"), as_words_at(t, i, "evidence")),
                as_arena_printf(&d->arena, "bottlenecks.bottlenecks#%d", i)};
    for (int i = 0; i < n; i++)
        d->failed |= !s[i].text || !s[i].cites;
    if (n && !d->failed) {
        as_doc_text(d, "What the method cannot tell here:");
        as_doc_add(d, &(as_block){.kind = AS_BLOCK_SENTENCES, .sentences = s, .n_sentences = n});
    }
}

static void pairs_add(as_doc *d, const as_fact_note *notes, int n)
{
    const as_fact_note **pairs = AS_TAKE(&d->arena, const as_fact_note *, n);
    d->failed |= !pairs;
    for (int i = 0; pairs && i < n; i++)
        pairs[i] = &notes[i];
    if (pairs && n)
        as_doc_add(d, &(as_block){.kind = AS_BLOCK_KEYVALUES, .pairs = pairs, .n_pairs = n});
}

static void glossary_add(as_doc *d)
{
    int n = 0;
    while (as_glossary[n].term)
        n++;
    as_fact_note *notes = AS_TAKE(&d->arena, as_fact_note, n);
    d->failed |= !notes;
    for (int i = 0; notes && i < n; i++)
        notes[i] = (as_fact_note){as_glossary[i].term, as_glossary[i].meaning};
    as_doc_text(d, "Words:");
    if (notes)
        pairs_add(d, notes, n);
}

/* How many numbers there are, by group. */
static void raw_add(as_doc *d, const assay_facts *f)
{
    as_fact_note *notes = AS_TAKE(&d->arena, as_fact_note, f->n_groups);
    int           n = 0;
    d->failed |= !notes;
    for (int i = 0; notes && i < f->n_groups; i++) {
        const as_fact_group *g = &f->groups[i];
        size_t               points = 0, rows = 0;
        for (int k = 0; k < g->n_series; k++)
            points += g->series[k].n;
        for (int k = 0; k < g->n_tables; k++)
            rows += (size_t)g->tables[k].n_rows;
        const char *value = as_arena_printf(&d->arena, "%d %s, %zu %s in %d %s, %zu points in %d series", g->n_facts,
                                            g->n_facts == 1 ? "number" : "numbers", rows, rows == 1 ? "row" : "rows", g->n_tables,
                                            g->n_tables == 1 ? "table" : "tables", points, g->n_series);
        d->failed |= !value;
        notes[n++] = (as_fact_note){g->key, value ? value : ""};
    }
    as_doc_text(
        d,
        "Raw data: --json holds every number with its kind, source and reason, --csv one row per number, --trace the record itself.");
    if (notes)
        pairs_add(d, notes, n);
}

static void write_section(as_doc *d, const assay_facts *f)
{
    if (!as_facts_group_find(f, "executive"))
        return;
    as_doc_heading(d, "appendix", "Method, words and raw data");
    method_add(d, f);
    limits_add(d, f);
    glossary_add(d);
    raw_add(d, f);
}

const as_section as_sec_appendix = {
    .name = "appendix", .order = 120, .write = write_section, .detail = true, .part = AS_PART_APPENDIX};
