/* perf_map.h - the names that a just-in-time compiler writes to /tmp/perf-PID.map: lines "START SIZE name", numbers in hexadecimal.
 *
 * The file is another program's, and anybody may have written it: it is bounded, and a line that is no such line is passed over. */
#ifndef AS_RECORD_PERF_MAP_H
#define AS_RECORD_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AS_PERF_MAP_BYTES = 64 << 20, AS_PERF_MAP_NAME = 256 };

typedef struct as_perf_map_entry {
    uint64_t start, end;
    uint32_t at, length; /* of its name, in the text */
    uint32_t order;      /* of its line: code may be written again at the same place, and the last one counts */
} as_perf_map_entry;

/* Owns a copy of the text.  {0} is empty. */
typedef struct as_perf_map {
    char              *text;
    as_perf_map_entry *entries; /* by start */
    size_t             n, n_bad;
} as_perf_map;

/* False: no memory; the map is then empty. */
bool as_perf_map_parse(const char *text, size_t n, as_perf_map *out);
void as_perf_map_drop(as_perf_map *map);
/* The name at an address, into `name`; false: none. */
bool as_perf_map_find(const as_perf_map *map, uint64_t address, char name[AS_PERF_MAP_NAME]);

#endif
