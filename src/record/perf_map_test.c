/* perf_map_test.c */
#include "record/perf_map.h"

#include <string.h>

#include "tests/runner/test.h"

static as_perf_map map_of(const char *text)
{
    as_perf_map map;
    expect(as_perf_map_parse(text, strlen(text), &map));
    return map;
}

Test(perf_map, finds_the_name_at_an_address)
{
    char        name[AS_PERF_MAP_NAME];
    as_perf_map map = map_of("1000 20 py::work:/tmp/a b.py\n0x2000 0x10 other\n");
    expect_eq(map.n, 2);
    expect(as_perf_map_find(&map, 0x1000, name));
    expect_str(name, "py::work:/tmp/a b.py");
    expect(as_perf_map_find(&map, 0x101f, name));
    expect(!as_perf_map_find(&map, 0x1020, name));
    expect(!as_perf_map_find(&map, 0xfff, name));
    expect(as_perf_map_find(&map, 0x2000, name));
    expect_str(name, "other");
    as_perf_map_drop(&map);
}

Test(perf_map, code_that_was_written_again_has_its_last_name)
{
    char        name[AS_PERF_MAP_NAME];
    as_perf_map map = map_of("1000 20 first\n1000 20 second\n");
    expect(as_perf_map_find(&map, 0x1010, name));
    expect_str(name, "second");
    as_perf_map_drop(&map);
}

Test(perf_map, passes_over_lines_that_are_none)
{
    char        name[AS_PERF_MAP_NAME];
    as_perf_map map =
        map_of("nonsense\n1000\n1000 \n1000 0 empty\nffffffffffffffff 10 wraps\n11111111111111111 1 long\n3000 4 a\tb\n4000 1 cut");
    expect_eq(map.n, 1);
    expect_eq(map.n_bad, 6);
    expect(as_perf_map_find(&map, 0x3003, name));
    expect_str(name, "a?b");
    expect(!as_perf_map_find(&map, 0x4000, name)); /* its line is not whole yet */
    as_perf_map_drop(&map);
}

Test(perf_map, an_empty_file_has_no_names)
{
    char        name[AS_PERF_MAP_NAME];
    as_perf_map map = map_of("");
    expect(!as_perf_map_find(&map, 0, name));
    as_perf_map_drop(&map);
}
