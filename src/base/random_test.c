/* random_test.c - the check values of MT19937 and PCG64 come from numpy, those of Philox from its authors. */
#include "base/random.h"

#include "tests/runner/test.h"

Test(random, mt19937_gives_the_known_stream)
{
    as_mt19937 g;
    as_mt19937_seed(&g, 22222);
    static const uint32_t want[] = {294195201, 1847582594, 1342442730, 288109640};
    for (int i = 0; i < 4; i++)
        expect_eq(as_mt19937_u32(&g), want[i]);
    as_mt19937_seed(&g, 5489); /* the generator's own default seed and its 10000th value, from C++'s standard */
    uint32_t value = 0;
    for (int i = 0; i < 10000; i++)
        value = as_mt19937_u32(&g);
    expect_eq(value, 4123659995);
}

Test(random, mt19937_is_uniform_as_torch)
{
    as_mt19937 g;
    as_mt19937_seed(&g, 0); /* torch.manual_seed(0); torch.rand(3) */
    expect_near(as_mt19937_uniform(&g), 0.496256589889526367, 0);
    expect_near(as_mt19937_uniform(&g), 0.768221795558929443, 0);
    expect_near(as_mt19937_uniform(&g), 0.088477432727813721, 0);
}

Test(random, mt19937_shuffles_as_numpy)
{
    static const int64_t want[] = {7, 3, 4, 5, 0, 6, 2, 1};
    int64_t              items[8];
    as_mt19937           g;
    as_mt19937_seed(&g, 22222);
    for (int i = 0; i < 8; i++)
        items[i] = i;
    as_mt19937_shuffle(&g, items, 8);
    for (int i = 0; i < 8; i++)
        expect_eq(items[i], want[i]);
    as_mt19937_shuffle(&g, NULL, 0);
}

Test(random, mt19937_draws_nothing_for_a_single_possibility)
{
    as_mt19937 g, h;
    as_mt19937_seed(&g, 1);
    as_mt19937_seed(&h, 1);
    expect_eq(as_mt19937_below(&g, 0), 0);
    expect_eq(as_mt19937_u32(&g), as_mt19937_u32(&h));
    expect_eq(as_mt19937_below(&g, UINT32_MAX), as_mt19937_u32(&h));
    for (int i = 0; i < 1000; i++)
        expect(as_mt19937_below(&g, 4) <= 4);
}

Test(random, pcg64_gives_the_known_stream)
{
    as_pcg64 g;
    as_pcg64_seed(&g, 1111);
    expect(as_pcg64_u64(&g) == 0xdbfdfdd6d6fab48bu);
    expect(as_pcg64_u64(&g) == 0xa822a50efe888cabu);
    expect(as_pcg64_u64(&g) == 0x7b5641e27861ebb6u);
    as_pcg64_seed(&g, 42); /* numpy's documentation: default_rng(42).random() */
    expect_near(as_pcg64_double(&g), 0.7739560485559633, 0);
    expect_near(as_pcg64_double(&g), 0.4388784397520523, 0);
    expect_near(as_pcg64_double(&g), 0.8585979199113825, 0);
}

Test(random, pcg64_picks_as_numpy)
{
    as_pcg64 g;
    as_pcg64_seed(&g, 1111);
    for (int i = 0; i < 16; i++)
        expect_eq(as_pcg64_below(&g, 2) == 0, i == 15); /* of (-1, +1, +1): fifteen +1, then -1 */
    expect_eq(as_pcg64_below(&g, 0), 0);
}

Test(random, pcg64_gives_the_low_half_first)
{
    as_pcg64 g;
    as_pcg64_seed(&g, 1111);
    expect_eq(as_pcg64_u32(&g), 0xd6fab48b);
    expect(as_pcg64_u64(&g) == 0xa822a50efe888cabu); /* a 64-bit draw does not touch the saved half */
    expect_eq(as_pcg64_u32(&g), 0xdbfdfdd6);
    expect_eq(as_pcg64_below(&g, UINT32_MAX), 0x7861ebb6);
}

static void expect_distinct(const int64_t *items, int64_t k, int64_t n)
{
    static bool seen[20001];
    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < k; i++) {
        expect(items[i] >= 0 && items[i] < n);
        expect(!seen[items[i]]);
        seen[items[i]] = true;
    }
}

Test(random, pcg64_chooses_distinct_items_by_either_method)
{
    static int64_t       items[20001];
    static const int64_t cases[][2] = {{10, 0},      {10, 3},      {10, 10},       {1, 1},       {20001, 5},
                                       {20001, 400}, {20001, 401}, {20001, 20001}, {10000, 9000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        as_pcg64 g;
        as_pcg64_seed(&g, i);
        expect(as_pcg64_choose(&g, cases[i][0], cases[i][1], items));
        expect_distinct(items, cases[i][1], cases[i][0]);
    }
    as_pcg64 g;
    as_pcg64_seed(&g, 0);
    expect(!as_pcg64_choose(&g, 3, 4, items));
    expect(!as_pcg64_choose(&g, 3, -1, items));
}

/* Each ordered pair of 0..3 should come equally often: 12 outcomes, so chi-square with 11 degrees of
 * freedom is below 31.3 for all but one seed in a thousand, and the seed is fixed. */
/* numpy 2.4: default_rng(seed).choice(n, k, replace=False); the first items, and sum of item * (position + 1). */
Test(random, pcg64_chooses_what_numpy_chooses)
{
    static const struct {
        uint64_t seed;
        int64_t  n, k, first[4], sum;
    } cases[] = {
        {1111, 50, 20, {26, 41, 10, 46}, 6027},
        {22222, 10, 10, {2, 4, 5, 1}, 266},
        {7, 20000, 500, {7349, 10231, 16198, 13269}, 1308912998}, /* the tail shuffle */
        {7, 20000, 300, {2591, 14841, 4839, 19012}, 481321732},   /* Floyd's method */
    };
    static int64_t items[500];
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        as_pcg64 g;
        int64_t  sum = 0;
        as_pcg64_seed(&g, cases[c].seed);
        expect(as_pcg64_choose(&g, cases[c].n, cases[c].k, items));
        for (int i = 0; i < 4; i++)
            expect_eq(items[i], cases[c].first[i]);
        for (int64_t i = 0; i < cases[c].k; i++)
            sum += items[i] * (i + 1);
        expect_eq(sum, cases[c].sum);
    }
}

Test(random, pcg64_chooses_without_favour)
{
    int      counts[16] = {0};
    as_pcg64 g;
    as_pcg64_seed(&g, 3);
    for (int i = 0; i < 12000; i++) {
        int64_t pair[2];
        as_pcg64_choose(&g, 4, 2, pair);
        counts[pair[0] * 4 + pair[1]]++;
    }
    double chi2 = 0;
    for (int i = 0; i < 16; i++)
        if (i % 5)
            chi2 += (counts[i] - 1000.0) * (counts[i] - 1000.0) / 1000;
    expect(chi2 < 31.3);
}

Test(random, philox_gives_the_published_blocks)
{
    static const uint32_t cases[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0xa4093822, 0x299f31d0, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        as_philox(cases[i], cases[i] + 2, out);
        for (int j = 0; j < 4; j++)
            expect_eq(out[j], cases[i][6 + j]);
    }
}

Test(random, philox_fills_with_the_elements_of_its_stream)
{
    float values[103];
    as_philox_fill(7, 3, 9, 0, 1, values, 103);
    for (uint64_t i = 0; i < 103; i++) {
        expect(values[i] == as_philox_uniform(7, 3, 9, i));
        expect(values[i] >= 0 && values[i] < 1);
    }
    expect(as_philox_uniform(7, 3, 9, 0) != as_philox_uniform(8, 3, 9, 0));
    expect(as_philox_uniform(7, 3, 9, 0) != as_philox_uniform(7, 4, 9, 0));
    expect(as_philox_uniform(7, 3, 9, 0) != as_philox_uniform(7, 3, 10, 0));
    expect(as_philox_uniform(7, 3, 9, 0) != as_philox_uniform(7, 3, 9, UINT64_C(1) << 40));
}

Test(random, philox_stays_below_the_upper_end)
{
    float values[4096];
    as_philox_fill(1, 0, 0, 16777216.0f, 16777218.0f, values, 4096); /* one float lies between */
    for (int i = 0; i < 4096; i++)
        expect(values[i] >= 16777216.0f && values[i] < 16777218.0f);
    as_philox_fill(1, 0, 0, -3, -3, values, 4);
    expect(values[3] == -3);
}
