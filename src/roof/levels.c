/* levels.c - how large a buffer must be to fit in a cache, or in none; and how a limit is named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roof/roof.h"

#define KIB          ((uint64_t)1024)
#define MIB          (KIB * 1024)
#define DRAM_MIN     (64 * MIB)
#define DRAM_MAX     (512 * MIB) /* four times any cache but the largest; a larger buffer takes longer to touch than to measure */
#define MEMORY_SHARE 8           /* a buffer takes at most this share of the memory */

int as_cpu_list_count(const char *list)
{
    int n = 0;
    for (const char *p = list; *p;) {
        char         *end;
        unsigned long from = strtoul(p, &end, 10), to = from;
        if (end == p || *p < '0' || *p > '9')
            return 0;
        if (*end == '-') {
            p = end + 1;
            if (*p < '0' || *p > '9')
                return 0;
            to = strtoul(p, &end, 10);
        }
        if (to < from || to > 65535 || (*end && *end != ','))
            return 0;
        n += (int)(to - from) + 1;
        if (n > 65536)
            return 0;
        p = *end ? end + 1 : end;
    }
    return n;
}

static const as_machine_cache *cache_find(const as_machine *m, int level)
{
    for (int i = 0; i < m->n_caches; i++)
        if (m->caches[i].level == level && strcmp(m->caches[i].type, "Instruction") && m->caches[i].bytes)
            return &m->caches[i];
    return NULL;
}

/* The share of a cache that one CPU has.  Where the system does not tell who shares it: L1 is private, the others are shared by
 * all. */
static uint64_t share(const as_machine *m, const as_machine_cache *c)
{
    int n = as_cpu_list_count(c->shared);
    if (n < 1)
        n = c->level == 1 ? 1 : m->cores.known && m->cores.value < 65536 ? (int)m->cores.value : 1;
    return c->bytes / (uint64_t)(n < 1 ? 1 : n);
}

static void add(as_memory_levels *out, const char *name, uint64_t bytes, uint64_t holds)
{
    out->level[out->n++] = (as_memory_level){name, (size_t)bytes, holds, !strcmp(name, "l3")};
}

void as_memory_levels_find(const as_machine *m, as_memory_levels *out)
{
    static const struct {
        const char *name;
        int         divisor;
    } levels[] = {{"l1", 2}, {"l2", 2}, {"l3", 3}};
    uint64_t last_bytes = 0;
    *out = (as_memory_levels){0};
    for (int i = 0; i < 3; i++) {
        const as_machine_cache *c = cache_find(m, i + 1);
        if (!c)
            continue;
        last_bytes = c->bytes > last_bytes ? c->bytes : last_bytes;
        uint64_t bytes = share(m, c) / (uint64_t)levels[i].divisor;
        /* A level that is not larger than the one inside it cannot be distinguished from it. */
        if (bytes >= 4 * KIB && (!out->n || bytes > 2 * out->level[out->n - 1].bytes) && bytes < DRAM_MAX / 4)
            add(out, levels[i].name, bytes, c->bytes);
    }
    if (!out->n) {
        add(out, "l1", 16 * KIB, 32 * KIB);
        snprintf(out->caution, sizeof out->caution, "cache sizes are unknown: 16 KiB taken as half of L1");
        last_bytes = last_bytes ? last_bytes : 16 * MIB;
    }
    uint64_t dram = 4 * last_bytes, most = DRAM_MAX;
    if (m->memory_bytes.known && m->memory_bytes.value / MEMORY_SHARE < most)
        most = m->memory_bytes.value / MEMORY_SHARE;
    if (dram < DRAM_MIN)
        dram = DRAM_MIN;
    if (dram > most) {
        dram = most;
        if (dram < 4 * last_bytes)
            snprintf(out->caution, sizeof out->caution, "only %llu MiB read for memory beyond a cache of %llu MiB",
                     (unsigned long long)(dram / MIB), (unsigned long long)(last_bytes / MIB));
    }
    add(out, "dram", dram, 0);
}

const char *as_roof_name(char *buf, size_t size, const char *meter, const char *level, int n_threads)
{
    int used = snprintf(buf, size, "%s%s%s", meter, *level ? "." : "", level);
    if (n_threads > 0 && used >= 0 && (size_t)used < size)
        snprintf(buf + used, size - (size_t)used, ".t%d", n_threads);
    return buf;
}
