/* doc.c - the neutral document: blocks in an arena. */
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"

void as_doc_add(as_doc *d, const as_block *block)
{
    if (d->failed)
        return;
    if (d->n_blocks == d->cap_blocks) {
        int       more = d->cap_blocks ? d->cap_blocks * 2 : 32;
        as_block *grown = AS_TAKE(&d->arena, as_block, more);
        if (!grown) {
            d->failed = true;
            return;
        }
        if (d->n_blocks)
            memcpy(grown, d->blocks, (size_t)d->n_blocks * sizeof *grown);
        d->blocks = grown;
        d->cap_blocks = more;
    }
    d->blocks[d->n_blocks] = *block;
    d->blocks[d->n_blocks++].detail |= d->detail;
}

void as_doc_heading(as_doc *d, const char *key, const char *text)
{
    as_doc_add(d, &(as_block){.kind = AS_BLOCK_HEADING, .key = key, .text = text});
}

static const void *kept(as_doc *d, const void *data, int n, size_t bytes_each)
{
    void *copy = n > 0 ? as_arena_take(&d->arena, (size_t)n, bytes_each, alignof(max_align_t)) : NULL;
    if (copy)
        memcpy(copy, data, (size_t)n * bytes_each);
    d->failed |= n > 0 && !copy;
    return copy;
}

void as_doc_chart(as_doc *d, const as_chart *chart)
{
    if (as_chart_empty(chart))
        return;
    as_chart own = *chart;
    own.series = kept(d, chart->series, chart->n_series, sizeof *chart->series);
    own.marks = kept(d, chart->marks, chart->n_marks, sizeof *chart->marks);
    own.links = kept(d, chart->links, chart->n_links, sizeof *chart->links);
    as_doc_add(d, &(as_block){.kind = AS_BLOCK_CHART, .chart = kept(d, &own, 1, sizeof own)});
}

void as_doc_text(as_doc *d, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = n >= 0 ? as_arena_take(&d->arena, (size_t)n + 1, 1, 1) : NULL;
    if (text)
        vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    if (text)
        as_doc_add(d, &(as_block){.kind = AS_BLOCK_TEXT, .text = text});
    else
        d->failed = true;
}
