/* sec_memory.c - the memory of a run: the buffers over its steps, and the counts. */
#include <math.h>
#include <string.h>

#include "report/pick.h"

/* The roles of buffers; a tone each, and the rest share the last. */
static const char *const roles[] = {"activation", "input", "output", "packed", "scratch", "param", NULL};

static int tone_of(const char *role)
{
    int tone = 0;
    while (roles[tone] && strcmp(roles[tone], role))
        tone++;
    return tone;
}

static int boxes_make(const as_table *t, as_box *boxes)
{
    int name = as_column_find(t, "name"), role = as_column_find(t, "role"), bytes = as_column_find(t, "bytes"),
        offset = as_column_find(t, "offset");
    int first = as_column_find(t, "first"), last = as_column_find(t, "last"), n = 0;
    for (int i = 0; i < t->n_rows; i++) {
        const char *words = as_cell_words(as_cell_at(t, i, role));
        double      size = as_cell_value(as_cell_at(t, i, bytes)), at = as_cell_value(as_cell_at(t, i, offset));
        double      from = as_cell_value(as_cell_at(t, i, first)), to = as_cell_value(as_cell_at(t, i, last));
        if (!(size > 0) || !isfinite(at) || !isfinite(from) || !isfinite(to) || at < 0 || from < 0 || to < from)
            continue;
        boxes[n++] = (as_box){.label = as_cell_words(as_cell_at(t, i, name)),
                              .group = words,
                              .x0 = from,
                              .x1 = to + 1,
                              .y0 = at,
                              .y1 = at + size,
                              .tone = tone_of(words)};
    }
    return n;
}

/* In characters a map would be a blur; the biggest buffers as bars say more. */
static const char *plain_of(as_doc *d, const as_box *boxes, int n)
{
    enum { MAX_BARS = 10 };
    as_bar bars[MAX_BARS];
    int    n_bars = 0;
    for (int i = 0; i < n; i++) {
        double bytes = boxes[i].y1 - boxes[i].y0;
        int    at = n_bars < MAX_BARS ? n_bars : MAX_BARS;
        while (at > 0 && bars[at - 1].value < bytes) {
            if (at < MAX_BARS)
                bars[at] = bars[at - 1];
            at--;
        }
        if (at < MAX_BARS) {
            bars[at] = (as_bar){.label = boxes[i].label, .value = bytes};
            n_bars += n_bars < MAX_BARS;
        }
    }
    return as_plain_bars(&d->arena, bars, n_bars, "byte");
}

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "memory", "buffers");
    if (!as_facts_group_find(f, "memory"))
        return;
    as_doc_heading(d, "memory", "Memory");
    as_pick_findings(d, f, "memory");
    as_pick_group(d, f, "memory");
    if (!t)
        return;
    as_box *boxes = AS_TAKE(&d->arena, as_box, t->n_rows);
    if (!boxes) {
        d->failed = true;
        return;
    }
    int n = boxes_make(t, boxes);
    as_pick_chart(d, "Buffers by the steps they live through (across) and their place in the arena (up)",
                  as_svg_boxes(&d->arena, boxes, n, "step of the plan", "byte", "Buffers by lifetime"), plain_of(d, boxes, n));
    as_pick_table(d, f, "memory", "buffers");
}

const as_section as_sec_memory = {.name = "memory", .order = 60, .write = write_section};
