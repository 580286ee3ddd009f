/* perf_map.c - reads the names of code that was compiled while the program ran. */
#include "record/perf_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Hexadecimal with or without 0x, at most 16 digits; *at moves behind it and the blanks that follow. */
static bool number_read(const char **at, const char *end, uint64_t *out)
{
    const char *c = *at;
    uint64_t    value = 0;
    int         digits = 0;
    if (end - c > 2 && c[0] == '0' && (c[1] == 'x' || c[1] == 'X'))
        c += 2;
    for (; c < end && digits <= 16; c++, digits++) {
        int digit = *c >= '0' && *c <= '9'   ? *c - '0'
                    : *c >= 'a' && *c <= 'f' ? *c - 'a' + 10
                    : *c >= 'A' && *c <= 'F' ? *c - 'A' + 10
                                             : -1;
        if (digit < 0)
            break;
        value = value << 4 | (uint64_t)digit;
    }
    if (!digits || digits > 16 || c == end || (*c != ' ' && *c != '\t'))
        return false;
    while (c < end && (*c == ' ' || *c == '\t'))
        c++;
    *at = c;
    *out = value;
    return true;
}

static bool line_read(const char *text, const char *line, const char *end, as_perf_map_entry *out)
{
    uint64_t start, size;
    if (!number_read(&line, end, &start) || !number_read(&line, end, &size) || line == end || !size || start + size < start)
        return false;
    size_t length = (size_t)(end - line);
    *out = (as_perf_map_entry){.start = start,
                               .end = start + size,
                               .at = (uint32_t)(line - text),
                               .length = (uint32_t)(length < AS_PERF_MAP_NAME ? length : AS_PERF_MAP_NAME - 1)};
    return true;
}

static int by_start(const void *a, const void *b)
{
    const as_perf_map_entry *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

bool as_perf_map_parse(const char *text, size_t n, as_perf_map *out)
{
    size_t lines = 1;
    *out = (as_perf_map){0};
    n = n < AS_PERF_MAP_BYTES ? n : AS_PERF_MAP_BYTES;
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    as_perf_map map = {.text = malloc(n + 1), .entries = calloc(lines, sizeof *map.entries)};
    if (!map.text || !map.entries) {
        as_perf_map_drop(&map);
        return false;
    }
    memcpy(map.text, text, n);
    for (const char *at = map.text, *end = map.text + n; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            break; /* the last line is still being written */
        if (line_read(map.text, at, stop, &map.entries[map.n])) {
            map.entries[map.n].order = (uint32_t)map.n;
            map.n++;
        } else {
            map.n_bad += stop > at;
        }
        at = stop + 1;
    }
    qsort(map.entries, map.n, sizeof *map.entries, by_start);
    *out = map;
    return true;
}

void as_perf_map_drop(as_perf_map *map)
{
    free(map->text);
    free(map->entries);
    *map = (as_perf_map){0};
}

bool as_perf_map_find(const as_perf_map *map, uint64_t address, char name[AS_PERF_MAP_NAME])
{
    size_t lo = 0, hi = map->n;
    while (lo < hi) { /* behind the last that starts at or before the address */
        size_t middle = lo + (hi - lo) / 2;
        if (map->entries[middle].start <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (!lo || address >= map->entries[lo - 1].end)
        return false;
    const as_perf_map_entry *e = &map->entries[lo - 1];
    memcpy(name, map->text + e->at, e->length);
    name[e->length] = '\0';
    for (char *c = name; *c; c++) /* a byte 0 ends the name, which is fine */
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return true;
}
