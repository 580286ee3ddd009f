/* stat_steady_test.c - labels of planted series. */
#include "analysis/stat/stat.h"

#include "base/random.h"
#include "tests/runner/test.h"

enum { N_MAX = 20000 };
static double y[N_MAX];

/* About 100 with a uniform noise of 1, but `begin_level` before `at`. */
static void plant(uint64_t seed, size_t n, size_t at, double begin_level)
{
    as_pcg64 g;
    as_pcg64_seed(&g, seed);
    for (size_t i = 0; i < n; i++)
        y[i] = (i < at ? begin_level : 100) + as_pcg64_double(&g) - 0.5;
}

Test(stat_steady, texts_are_words)
{
    expect_str(as_steady_text(AS_STEADY_FLAT), "flat");
    expect_str(as_steady_text(AS_STEADY_WARM_UP), "warm-up");
    expect_str(as_steady_text(AS_STEADY_SLOWDOWN), "slowdown");
    expect_str(as_steady_text(AS_STEADY_NONE), "no steady state");
}

Test(stat_steady, noise_is_flat)
{
    size_t from = 77;
    for (uint64_t seed = 0; seed < 20; seed++) {
        plant(seed, 150, 0, 0);
        expect_eq(as_steady_label(y, 150, seed, &from), AS_STEADY_FLAT);
        expect_eq(from, 0);
    }
    expect_eq(as_steady_label(y, 0, 1, &from), AS_STEADY_FLAT);
    expect_eq(as_steady_label(y, 3, 1, &from), AS_STEADY_FLAT);
}

Test(stat_steady, a_slow_begin_is_warm_up)
{
    size_t from;
    plant(1, 150, 20, 130);
    expect_eq(as_steady_label(y, 150, 1, &from), AS_STEADY_WARM_UP);
    expect_eq(from, 20);
}

Test(stat_steady, a_slow_end_is_slowdown)
{
    size_t from;
    plant(2, 150, 60, 90);
    expect_eq(as_steady_label(y, 150, 1, &from), AS_STEADY_SLOWDOWN);
    expect_eq(from, 60);
}

/* Warm-up, best, then throttled: the end decides. */
Test(stat_steady, throttling_after_warm_up_is_slowdown)
{
    size_t from;
    plant(3, 150, 20, 130);
    for (size_t i = 80; i < 150; i++)
        y[i] += 5;
    expect_eq(as_steady_label(y, 150, 1, &from), AS_STEADY_SLOWDOWN);
    expect_eq(from, 80);
}

Test(stat_steady, a_disturbance_that_ends_leaves_a_steady_rest)
{
    size_t from;
    plant(4, 150, 0, 0);
    for (size_t i = 40; i < 150; i++)
        y[i] += i < 70 ? 20 : 0.5; /* half a percent slower than before is as fast */
    expect_eq(as_steady_label(y, 150, 1, &from), AS_STEADY_WARM_UP);
    expect_eq(from, 70);
}

Test(stat_steady, a_change_near_the_end_is_no_steady_state)
{
    size_t from;
    plant(5, 150, 130, 110);
    expect_eq(as_steady_label(y, 150, 1, &from), AS_STEADY_NONE);
    expect_eq(from, 130);
}

Test(stat_steady, less_than_a_percent_is_flat)
{
    size_t from;
    plant(6, 150, 75, 100.7);
    expect_eq(as_steady_label(y, 150, 1, &from), AS_STEADY_FLAT);
}

Test(stat_steady, long_series_are_judged_by_groups)
{
    size_t from;
    plant(7, N_MAX, 2000, 120);
    expect_eq(as_steady_label(y, N_MAX, 1, &from), AS_STEADY_WARM_UP);
    expect_near((double)from, 2000, 100);
    plant(8, N_MAX, 5, 120); /* five blocks of 20000 */
    expect_eq(as_steady_label(y, N_MAX, 1, &from), AS_STEADY_FLAT);
}

Test(stat_steady, warming_ends_when_the_last_eight_are_level)
{
    static const double falling[] = {130, 120, 112, 108, 105, 103, 101, 100},
                        level[] = {150, 100, 100.1, 100, 99.9, 100, 100.1, 99.9, 100};
    expect(!as_steady_reached(falling, 8));
    expect(as_steady_reached(level, 9));
    expect(!as_steady_reached(level + 2, 7));
    static const double rising[] = {100, 101, 102, 103, 104, 105, 106, 107}, faster[] = {100, 100, 100, 100, 98, 98, 98, 98};
    expect(!as_steady_reached(rising, 8) && !as_steady_reached(faster, 8));
}
