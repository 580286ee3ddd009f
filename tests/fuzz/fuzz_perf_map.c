/* fuzz_perf_map.c - any bytes as /tmp/perf-PID.map: every name that is found is a text, and nothing outside of the map is touched. */
#include <stdlib.h>
#include <string.h>

#include "record/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char        name[AS_PERF_MAP_NAME];
    as_perf_map map;
    if (!as_perf_map_parse((const char *)data, size, &map))
        abort();
    for (size_t i = 0; i < map.n; i++) {
        const uint64_t at[] = {map.entries[i].start, map.entries[i].end - 1, map.entries[i].end, map.entries[i].start - 1};
        for (size_t j = 0; j < sizeof at / sizeof *at; j++)
            if (as_perf_map_find(&map, at[j], name) && strlen(name) >= AS_PERF_MAP_NAME)
                abort();
        if (map.entries[i].start >= map.entries[i].end || (i && map.entries[i].start < map.entries[i - 1].start))
            abort();
    }
    as_perf_map_drop(&map);
    return 0;
}
