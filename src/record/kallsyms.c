/* kallsyms.c - /proc/kallsyms: lines "ffffffff81000000 T name [module]". */
#include "record/kallsyms.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITEMS = 4 << 20, MAX_NAME = 200 };

typedef struct growing {
    as_kallsyms k;
    size_t      cap_items, n_text, cap_text;
} growing;

static bool text_keep(growing *g, const char *text, uint32_t *at)
{
    size_t n = strlen(text) + 1;
    if (g->n_text + n > g->cap_text) {
        size_t want = 2 * (g->n_text + n) + 4096;
        char  *moved = want < UINT32_MAX ? realloc(g->k.text, want) : NULL;
        if (!moved)
            return false;
        g->k.text = moved;
        g->cap_text = want;
    }
    memcpy(g->k.text + g->n_text, text, n);
    *at = (uint32_t)g->n_text;
    g->n_text += n;
    return true;
}

static bool item_add(growing *g, uint64_t address, const char *name, const char *module)
{
    if (g->k.n == g->cap_items) {
        size_t want = g->cap_items ? 2 * g->cap_items : 4096;
        void  *moved = want <= MAX_ITEMS ? realloc(g->k.items, want * sizeof *g->k.items) : NULL;
        if (!moved)
            return false;
        g->k.items = moved;
        g->cap_items = want;
    }
    struct as_kallsym item = {.address = address};
    if (!text_keep(g, name, &item.name) || (*module && !text_keep(g, module, &item.module)))
        return false;
    g->k.items[g->k.n++] = item;
    return true;
}

static int by_address(const void *a, const void *b)
{
    const struct as_kallsym *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

bool as_kallsyms_read(const char *path, as_kallsyms *out)
{
    growing  g = {0};
    char     line[512];
    uint32_t nothing;
    FILE    *file = fopen(path, "re");
    *out = (as_kallsyms){0};
    bool ok = file && text_keep(&g, "", &nothing); /* offset 0 is no text */
    while (ok && fgets(line, sizeof line, file)) {
        uint64_t address;
        char     kind, name[MAX_NAME + 1], module[AS_KALLSYMS_MODULE] = "";
        if (sscanf(line, "%" SCNx64 " %c %200s %63s", &address, &kind, name, module) < 3 || !address)
            continue;
        if (tolower((unsigned char)kind) == 't' || tolower((unsigned char)kind) == 'w')
            ok = item_add(&g, address, name, module);
    }
    if (file)
        fclose(file);
    if (!ok || !g.k.n) {
        as_kallsyms_drop(&g.k);
        return false;
    }
    qsort(g.k.items, g.k.n, sizeof *g.k.items, by_address);
    *out = g.k;
    return true;
}

void as_kallsyms_drop(as_kallsyms *k)
{
    free(k->text);
    free(k->items);
    *k = (as_kallsyms){0};
}

const char *as_kallsyms_find(const as_kallsyms *k, uint64_t address, char module[AS_KALLSYMS_MODULE])
{
    size_t lo = 0, hi = k->n;
    *module = '\0';
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (k->items[middle].address <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (!lo)
        return NULL;
    if (k->items[lo - 1].module)
        snprintf(module, AS_KALLSYMS_MODULE, "%s", k->text + k->items[lo - 1].module);
    return k->text + k->items[lo - 1].name;
}
