/* names_test.c - shortened names: they fit, and different names stay different. */
#include <string.h>

#include "report/words.h"
#include "tests/runner/test.h"

enum { MAX = 64 };

static void expect_fit(const char *const *names, size_t n, int columns, const char **out)
{
    static as_arena arena;
    as_arena_drop(&arena);
    expect(as_names_fit(&arena, names, n, columns, out));
    for (size_t i = 0; i < n; i++) {
        if (as_text_columns(out[i]) > columns)
            fail("%s has more than %d columns", out[i], columns);
        if (!as_utf8_ok(out[i], strlen(out[i])))
            fail("%s is not UTF-8", out[i]);
        if (as_text_columns(names[i]) <= columns)
            expect_str(out[i], names[i]);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(out[i], out[k]) != !strcmp(names[i], names[k]))
                fail("%s and %s in %d columns are %s and %s", names[i], names[k], columns, out[i], out[k]);
    }
}

Test(names, that_fit_stay_as_they_are)
{
    const char *const names[] = {"conv1", "a", "", "conv1"};
    const char       *out[MAX];
    expect_fit(names, 4, 5, out);
}

Test(names, of_modules_lose_what_they_begin_with)
{
    const char *const names[] = {"backbone.layer4.1.conv1", "backbone.layer4.1.conv2", "backbone.layer4.0.conv1", "backbone.fc"};
    const char       *out[MAX];
    expect_fit(names, 4, 12, out);
    expect_str(out[0], "…1.conv1");
    expect_str(out[1], "…1.conv2");
    expect_str(out[3], "backbone.fc");
}

Test(names, of_cases_lose_their_middle)
{
    const char *const names[] = {"elementwise:add/256x256/f32", "elementwise:add/256x256/f16", "matmul/512x512/f32"};
    const char       *out[MAX];
    expect_fit(names, 3, 18, out);
    expect_str(out[0], "elementw…6x256/f32");
    expect_str(out[1], "elementw…6x256/f16");
    expect_str(out[2], "matmul/512x512/f32");
}

/* At the end, at the start and everywhere between. */
Test(names, that_differ_anywhere_stay_different)
{
    static const char body[] = "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee";
    for (size_t at = 0; at < sizeof body - 1; at++)
        for (int columns = 5; columns < 40; columns++) {
            char        texts[3][sizeof body];
            const char *names[3], *out[MAX];
            for (int i = 0; i < 3; i++) {
                memcpy(texts[i], body, sizeof body);
                texts[i][at] = (char)('X' + i);
                names[i] = texts[i];
            }
            expect_fit(names, 3, columns, out);
        }
}

Test(names, of_a_whole_network_stay_different_at_every_width)
{
    char        texts[MAX][80];
    const char *names[MAX], *out[MAX];
    for (size_t i = 0; i < MAX; i++) {
        snprintf(texts[i], sizeof texts[i], "model.encoder.layers.%zu.self_attention.%s_projection%s", i / 8,
                 i % 2 ? "query" : "key",
                 i % 4 < 2   ? ""
                 : i % 8 < 4 ? "+bias"
                             : " (Add 2)");
        names[i] = texts[i];
    }
    for (int columns = 8; columns < 70; columns++)
        expect_fit(names, MAX, columns, out);
}

Test(names, are_cut_between_characters)
{
    const char *const names[] = {"ööööööööööööööÄ", "ööööööööööööööÖ", "日本語日本語日本語日本語1", "日本語日本語日本語日本語2"};
    const char       *out[MAX];
    for (int columns = 5; columns < 16; columns++)
        expect_fit(names, 4, columns, out);
}

Test(names, that_hold_signs_of_a_cut_stay_different)
{
    const char *const names[] = {"…6789", "0123456789", "1123456789", "#2", "…#2", "0123…6789"};
    const char       *out[MAX];
    expect_fit(names, 6, 5, out);
}
