/* arena_test.c */
#include "base/arena.h"

#include "tests/runner/test.h"

Test(arena, gives_aligned_memory_after_an_odd_request)
{
    as_arena arena = {0};
    for (size_t align = 1; align <= 4096; align *= 2) {
        as_arena_take(&arena, 3, 1, 1);
        expect_eq((uintptr_t)as_arena_take(&arena, 8, 1, align) % align, 0);
    }
    as_arena_drop(&arena);
}

Test(arena, gives_zeroed_memory_that_never_moves_or_overlaps)
{
    as_arena       arena = {0};
    unsigned char *taken[300];
    for (size_t i = 0; i < 300; i++) {
        size_t n = i * 37 % 5000 + 1;
        taken[i] = as_arena_take(&arena, n, 1, 8);
        for (size_t j = 0; j < n; j++)
            expect_eq(taken[i][j], 0);
        memset(taken[i], (int)(i % 255 + 1), n);
    }
    for (size_t i = 0; i < 300; i++)
        for (size_t j = 0; j < i * 37 % 5000 + 1; j++)
            expect_eq(taken[i][j], i % 255 + 1);
    as_arena_drop(&arena);
}

Test(arena, gives_a_large_block_between_small_ones)
{
    as_arena       arena = {0};
    char          *small = as_arena_take(&arena, 16, 1, 1);
    unsigned char *large = as_arena_take(&arena, 3 << 20, 1, 64);
    char          *next = as_arena_take(&arena, 16, 1, 1);
    expect(small && large && next);
    expect_eq(large[0] | large[(3 << 20) - 1], 0);
    expect(next - small < 4096); /* the large one did not waste the rest of the first chunk */
    as_arena_drop(&arena);
}

Test(arena, refuses_a_product_that_overflows)
{
    as_arena arena = {0};
    expect(!as_arena_take(&arena, SIZE_MAX / 2, 3, 1));
    expect(!as_arena_take(&arena, SIZE_MAX, 1, 64));
    expect(!as_arena_take(&arena, SIZE_MAX - 8, 1, 1));
    expect(!as_arena_text_n(&arena, "x", SIZE_MAX));
    expect_eq(arena.bytes_used, 0);
    as_arena_drop(&arena);
}

Test(arena, gives_a_pointer_for_nothing)
{
    as_arena arena = {0};
    expect(as_arena_take(&arena, 0, 8, 8) != NULL);
    expect(as_arena_take(&arena, 8, 0, 8) != NULL);
    as_arena_drop(&arena);
}

Test(arena, copies_and_prints_text)
{
    as_arena arena = {0};
    expect_str(as_arena_text(&arena, "liquid"), "liquid");
    expect_str(as_arena_text(&arena, ""), "");
    expect_str(as_arena_text_n(&arena, "liquid", 3), "liq");
    expect_str(as_arena_text_n(&arena, NULL, 0), "");
    expect_str(as_arena_printf(&arena, "%s-%d", "layer", 12), "layer-12");
    as_arena_drop(&arena);
}

Test(arena, counts_what_it_handed_out_and_is_usable_after_a_drop)
{
    as_arena arena = {0};
    as_arena_take(&arena, 100, 1, 1);
    expect(arena.bytes_used >= 100 && arena.bytes_used < 200);
    as_arena_drop(&arena);
    expect_eq(arena.bytes_used, 0);
    expect(!arena.chunks);
    int *x = AS_TAKE(&arena, int, 4);
    expect(x && !x[3]);
    as_arena_drop(&arena);
}
