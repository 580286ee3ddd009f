/* stat_edivisive_test.c - planted steps are found where they are, and nothing in noise. */
#include "analysis/stat/stat.h"

#include "analysis/stat/test_noise.h"
#include "tests/runner/test.h"

enum { N_MAX = 1000, N_CHANGES = 16 };
static double    y[N_MAX];
static as_change found[N_CHANGES];

/* 100 with noise of 1. */
static void noise(uint64_t seed, size_t n)
{
    as_pcg64 g;
    as_pcg64_seed(&g, seed);
    for (size_t i = 0; i < n; i++)
        y[i] = 100 + normal(&g);
}

static void raise(size_t begin, size_t end, double by)
{
    for (size_t i = begin; i < end; i++)
        y[i] += by;
}

static size_t changes(size_t n, double min_step)
{
    return as_change_points(y, n, 0.01, min_step, as_data_seed(y, n), found, N_CHANGES);
}

Test(stat_edivisive, finds_a_step_where_it_is)
{
    for (size_t at = 5; at <= 45; at += 10) {
        noise(at, 50);
        raise(at, 50, 8);
        expect_eq(changes(50, 0.01), 1);
        expect_eq(found[0].at, at);
        expect(found[0].p <= 0.01 && found[0].p > 0);
        expect_near(found[0].before, 100, 1);
        expect_near(found[0].after, 108, 1.5);
        expect(!found[0].went_away);
    }
}

Test(stat_edivisive, finds_steps_down_and_up_in_a_long_series)
{
    noise(4, 700);
    raise(120, 333, -10);
    raise(333, 690, 6);
    expect_eq(changes(700, 0.01), 3);
    expect(found[0].at == 120 && found[1].at == 333 && found[2].at == 690);
    expect_near(found[1].before, 90, 0.7);
    expect_near(found[1].after, 106, 0.7);
    expect(found[0].went_away && !found[1].went_away && !found[2].went_away); /* it ends at 100: nearer to 106 than to 90 */
}

Test(stat_edivisive, finds_nothing_in_a_constant)
{
    for (size_t i = 0; i < 300; i++)
        y[i] = 7;
    for (size_t n = 0; n <= 300; n += n < 20 ? 1 : 40)
        expect_eq(changes(n, 0), 0);
}

/* How many of 1200 series of noise have a change: twelve in the mean at 1 %, 20 are more than two standard errors too many. */
static size_t count_false(size_t n_from, size_t n_to)
{
    size_t n_false = 0;
    for (uint64_t seed = 0; seed < 1200; seed++) {
        size_t n = n_from + seed % (n_to - n_from);
        noise(1000 + seed, n);
        n_false += changes(n, 0) > 0;
    }
    return n_false;
}

Test(stat_edivisive, finds_next_to_nothing_in_noise) { expect(count_false(10, 50) <= 20); }

Test(stat_edivisive, finds_no_more_in_noise_of_many_windows) { expect(count_false(60, 120) <= 20); }

Test(stat_edivisive, wild_values_hide_no_step_and_make_none)
{
    noise(11, 50);
    y[7] *= 30, y[22] *= 50, y[38] *= 20;
    expect_eq(changes(50, 0.01), 0);
    raise(40, 50, 6);
    expect_eq(changes(50, 0.01), 1);
    expect_near((double)found[0].at, 40, 1);
}

Test(stat_edivisive, gives_the_same_answer_twice)
{
    as_change first[N_CHANGES];
    noise(12, 200);
    raise(90, 200, 2);
    size_t n = changes(200, 0.005);
    expect(n >= 1);
    memcpy(first, found, sizeof first);
    expect_eq(changes(200, 0.005), n);
    for (size_t i = 0; i < n; i++)
        expect(first[i].at == found[i].at && first[i].p == found[i].p);
    uint64_t seed = as_data_seed(y, 200);
    y[3] += 1e-9;
    expect(as_data_seed(y, 200) != seed && as_data_seed(y, 199) != as_data_seed(y, 200));
}

Test(stat_edivisive, drops_steps_too_small_to_matter)
{
    noise(13, 50);
    raise(25, 50, 5);
    expect_eq(changes(50, 0.03), 1);
    expect_eq(changes(50, 0.08), 0);
}

/* A stair of small steps: without its middle the two levels beside it are compared again. */
Test(stat_edivisive, levels_are_those_between_the_steps_that_stay)
{
    for (size_t i = 0; i < 60; i++)
        y[i] = i < 20 ? 100 : i < 40 ? 100.5 : 120;
    expect_eq(changes(60, 0.01), 1);
    expect_eq(found[0].at, 40);
    expect_near(found[0].before, 100.25, 0.25);
    expect_near(found[0].after, 120, 0);
}

Test(stat_edivisive, says_when_a_change_went_away)
{
    noise(14, 45);
    raise(25, 42, 10); /* the last three are back */
    size_t n = changes(45, 0.02);
    expect(n >= 1);
    expect_near((double)found[0].at, 25, 1);
    expect(found[0].went_away);
    noise(14, 45);
    raise(25, 43, 10); /* only two */
    expect(changes(45, 0.02) >= 1);
    expect(!found[0].went_away);
}

Test(stat_edivisive, keeps_to_the_room_it_is_given)
{
    noise(15, 400);
    for (size_t i = 0; i < 400; i += 80)
        raise(i, i + 40, 30);
    expect(changes(400, 0.01) >= 8);
    as_change few[3] = {{.at = 77}, {.at = 77}, {.at = 77}};
    expect_eq(as_change_points(y, 400, 0.01, 0.01, 1, few, 2), 2);
    expect(few[0].at < few[1].at && few[2].at == 77);
    expect_eq(as_change_points(y, 400, 0.01, 0.01, 1, NULL, 0), 0);
}
