/* sec_record.c - a program that was recorded: how much it ran and waited, and its stacks as a flame graph. */
#include <math.h>

#include "report/pick.h"

enum { MAX_DEPTH = 64 }; /* that a flame graph has */

/* Rows come in the order of the tree: each lies in the last one before it that is less deep, behind what that holds already. */
static void flame_add(as_doc *d, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "calls", "samples");
    size_t          room = t ? (size_t)t->n_rows : 0, n = 0;
    double         *from = AS_TAKE(&d->arena, double, room + 1), *to = AS_TAKE(&d->arena, double, room + 1),
           *depth = AS_TAKE(&d->arena, double, room + 1);
    const char **names = AS_TAKE(&d->arena, const char *, room + 1), **details = AS_TAKE(&d->arena, const char *, room + 1);
    double       filled[MAX_DEPTH + 1] = {0}; /* up to where the row of each depth is full */
    if (!from || !to || !depth || !names || !details) {
        d->failed = true;
        return;
    }
    for (size_t i = 0; i < room; i++) {
        double level = as_value_at(t, (int)i, "depth"), total = as_value_at(t, (int)i, "total");
        if (!(level >= 0) || level >= MAX_DEPTH || !(total > 0) || !isfinite(total))
            continue;
        int at = (int)level;
        from[n] = filled[at];
        to[n] = from[n] + total;
        filled[at] = to[n];
        filled[at + 1] = from[n];
        depth[n] = level;
        names[n] = as_words_at(t, (int)i, "name");
        details[n++] = as_words_at(t, (int)i, "place");
    }
    as_chart_series series = {.n = n, .x = from, .x_end = to, .y = depth, .names = names, .details = details};
    if (n > 1)
        as_doc_chart(d, &(as_chart){.kind = "flame",
                                    .group = "calls",
                                    .title = "Flame graph of the samples",
                                    .caption = "Width is time, waiting included; what a function calls is below it. Click to zoom",
                                    .x = {.label = "time", .unit = "ns"},
                                    .series = &series,
                                    .n_series = 1,
                                    .table = t,
                                    .extra = true});
}

static void write_section(as_doc *d, const assay_facts *f)
{
    if (!as_facts_group_find(f, "record"))
        return;
    as_doc_heading(d, "record", "Program");
    as_pick_findings(d, f, "record");
    as_pick_group(d, f, "record");
    flame_add(d, f);
}

const as_section as_sec_record = {.name = "record", .order = 12, .write = write_section};
