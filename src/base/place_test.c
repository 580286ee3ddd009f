/* place_test.c - no two buffers that live at once may share a byte, whatever the lifetimes. */
#include <stdlib.h>

#include "base/random.h"
#include "base/place.h"
#include "tests/runner/test.h"

enum { MAX_ITEMS = 60, N_STEPS = 24, N_ROUNDS = 400 };

static uint64_t place(as_place_item *items, size_t n, size_t align)
{
    uint64_t total = 12345;
    expect_eq(as_place(NULL, items, n, align, &total), ASSAY_OK);
    return total;
}

static void check(const as_place_item *items, size_t n, size_t align, uint64_t total)
{
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        expect_eq(items[i].offset % align, 0);
        if (items[i].offset + items[i].bytes > most)
            most = items[i].offset + items[i].bytes;
        for (size_t k = 0; k < i; k++) {
            bool in_time = items[i].first <= items[k].last && items[k].first <= items[i].last;
            bool in_room = items[i].offset < items[k].offset + items[k].bytes && items[k].offset < items[i].offset + items[i].bytes;
            if (in_time && in_room && items[i].bytes && items[k].bytes)
                fail("items %zu and %zu live at once and share memory", i, k);
        }
    }
    expect_eq(total, most);
    expect(total >= as_place_lower_bound(items, n, N_STEPS));
}

Test(place, buffers_that_live_at_once_never_overlap)
{
    as_pcg64 g;
    as_pcg64_seed(&g, 7);
    for (int round = 0; round < N_ROUNDS; round++) {
        as_place_item items[MAX_ITEMS];
        size_t        n = as_pcg64_below(&g, MAX_ITEMS), align = (size_t)1 << as_pcg64_below(&g, 8);
        for (size_t i = 0; i < n; i++) {
            int first = (int)as_pcg64_below(&g, N_STEPS - 1), length = (int)as_pcg64_below(&g, N_STEPS / 3);
            items[i] = (as_place_item){.bytes = as_pcg64_below(&g, 10) ? as_pcg64_below(&g, 5000) : 0,
                                       .first = first,
                                       .last = first + length < N_STEPS ? first + length : N_STEPS - 1};
        }
        check(items, n, align, place(items, n, align));
    }
}

Test(place, a_chain_needs_no_more_than_its_two_largest_neighbours)
{
    as_place_item items[] = {{.bytes = 640, .first = 0, .last = 1},
                             {.bytes = 1280, .first = 1, .last = 2},
                             {.bytes = 640, .first = 2, .last = 3},
                             {.bytes = 64, .first = 3, .last = 4}};
    uint64_t      total = place(items, 4, 64);
    check(items, 4, 64, total);
    expect_eq(total, 1920);
    expect_eq(as_place_lower_bound(items, 4, 5), 1920);
}

Test(place, takes_the_tightest_gap)
{
    /* At step 1 the short-lived buffers have left gaps of 1024 bytes at 2048 and of 256 bytes at 3584; 128 bytes belong in the
     * second. */
    as_place_item items[] = {{.bytes = 2048, .first = 0, .last = 9}, {.bytes = 1024, .first = 0, .last = 0},
                             {.bytes = 512, .first = 0, .last = 9},  {.bytes = 256, .first = 0, .last = 0},
                             {.bytes = 192, .first = 0, .last = 9},  {.bytes = 128, .first = 1, .last = 1}};
    uint64_t      total = place(items, 6, 64);
    check(items, 6, 64, total);
    expect_eq(total, 4032);
    expect_eq(items[5].offset, 3584);
}

Test(place, nothing_needs_nothing)
{
    as_place_item item = {.bytes = 0, .first = 0, .last = 3};
    expect_eq(place(&item, 1, 64), 0);
    expect_eq(place(&item, 0, 64), 0);
}

Test(place, the_same_items_give_the_same_offsets)
{
    as_place_item a[8], b[8];
    for (int i = 0; i < 8; i++)
        a[i] = b[i] = (as_place_item){.bytes = 64, .first = i / 2, .last = i / 2 + 2};
    expect_eq(place(a, 8, 64), place(b, 8, 64));
    for (int i = 0; i < 8; i++)
        expect_eq(a[i].offset, b[i].offset);
}

Test(place, a_chain_of_100000_takes_two_buffers)
{
    enum { N = 100000 };
    as_place_item *items = calloc(N, sizeof *items);
    expect(items);
    for (int i = 0; i < N; i++)
        items[i] = (as_place_item){.bytes = 64, .first = i, .last = i + 1};
    expect_eq(place(items, N, 64), 128);
    for (int i = 1; i < N; i++)
        expect(items[i].offset != items[i - 1].offset);
    free(items);
}

Test(place, refuses_what_does_not_fit_an_address)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    as_place_item items[] = {{.bytes = SIZE_MAX / 2 + 1, .first = 0, .last = 0},
                             {.bytes = SIZE_MAX / 2 + 1, .first = 0, .last = 0}};
    uint64_t      total = 77;
    expect_fails(env, as_place(env, items, 2, 64, &total), ASSAY_BAD_INPUT, "need more memory than can be addressed");
    expect_eq(total, 77);
    expect(as_place_lower_bound(items, 2, 1) == UINT64_MAX);
    assay_env_free(env);
}
