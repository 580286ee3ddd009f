/* sec_provenance.c - how the numbers were obtained: the kinds, how many of each, and the sources. */
#include <string.h>

#include "report/pick.h"

enum { MAX_SOURCES = 64 };

typedef struct census {
    unsigned    counts[ASSAY_UNAVAILABLE + 1];
    const char *sources[MAX_SOURCES];
    int         n_sources;
    bool        more;
} census;

static void metric_count(census *c, const assay_metric *m)
{
    c->counts[m->kind]++;
    if (!m->source || !as_metric_has(m))
        return;
    for (int i = 0; i < c->n_sources; i++)
        if (!strcmp(c->sources[i], m->source))
            return;
    if (c->n_sources < MAX_SOURCES)
        c->sources[c->n_sources++] = m->source;
    else
        c->more = true;
}

static void group_count(census *c, const as_fact_group *g)
{
    for (int i = 0; i < g->n_facts; i++)
        metric_count(c, &g->facts[i].metric);
    for (int i = 0; i < g->n_tables; i++)
        for (int row = 0; row < g->tables[i].n_rows; row++)
            for (int column = 0; column < g->tables[i].n_columns; column++) {
                const as_cell *cell = as_cell_at(&g->tables[i], row, column);
                if (!cell->text)
                    metric_count(c, &cell->metric);
            }
}

static void pairs_add(as_doc *d, const as_fact_note *notes, int n)
{
    const as_fact_note **pairs = AS_TAKE(&d->arena, const as_fact_note *, n);
    if (!pairs) {
        d->failed = true;
        return;
    }
    for (int i = 0; i < n; i++)
        pairs[i] = &notes[i];
    as_doc_add(d, &(as_block){.kind = AS_BLOCK_KEYVALUES, .pairs = pairs, .n_pairs = n});
}

static void legend_add(as_doc *d, const census *c)
{
    static const char *const meanings[] = {[ASSAY_MEASURED] = "read from a clock or a sensor",
                                           [ASSAY_COUNTED] = "counted exactly: events, bytes, flops by definition",
                                           [ASSAY_DERIVED] = "a formula over measured and counted values",
                                           [ASSAY_MODELLED] = "follows from the assumptions that its source names",
                                           [ASSAY_UNAVAILABLE] = "not available here; the reason is given"};
    as_fact_note            *notes = AS_TAKE(&d->arena, as_fact_note, ASSAY_UNAVAILABLE);
    for (int kind = ASSAY_MEASURED; notes && kind <= ASSAY_UNAVAILABLE; kind++) {
        const char *value = as_arena_printf(&d->arena, "%s (%u %s here)", meanings[kind], c->counts[kind],
                                            c->counts[kind] == 1 ? "number" : "numbers");
        notes[kind - 1] = (as_fact_note){assay_kind_text((assay_kind)kind), value ? value : ""};
    }
    if (notes)
        pairs_add(d, notes, ASSAY_UNAVAILABLE);
    else
        d->failed = true;
}

static void write_section(as_doc *d, const assay_facts *f)
{
    census       *c = AS_TAKE(&d->arena, census, 1);
    as_fact_note *sources = AS_TAKE(&d->arena, as_fact_note, MAX_SOURCES);
    if (!c || !sources) {
        d->failed = true;
        return;
    }
    for (int i = 0; i < f->n_groups; i++)
        group_count(c, &f->groups[i]);
    as_doc_heading(d, "provenance", "Provenance");
    as_doc_text(d,
                "Every number has a unit, a kind, a source and, if there are enough samples, an interval. Times were measured in "
                "one session.");
    legend_add(d, c);
    const char *winograd = as_facts_note_find(f, "winograd.error");
    if (winograd)
        as_doc_text(d,
                    "Winograd convolutions were allowed (--winograd): on this run's inputs, the outputs differ by at most %s "
                    "(relative) from those of the exact plan.",
                    winograd);
    for (int i = 0; i < c->n_sources; i++) {
        const char *key = as_arena_printf(&d->arena, "source %d", i + 1);
        sources[i] = (as_fact_note){key ? key : "source", c->sources[i]};
    }
    if (c->n_sources)
        pairs_add(d, sources, c->n_sources);
    if (c->more)
        as_doc_text(d, "There are more sources than these %d; each number names its own.", MAX_SOURCES);
}

const as_section as_sec_provenance = {
    .name = "provenance", .order = 110, .write = write_section, .detail = true, .part = AS_PART_APPENDIX};
