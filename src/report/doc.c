/* doc.c - the neutral document: blocks in an arena. */
#include <stdarg.h>
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
