/* stat_plan_test.c - planted variances come back, and plans keep what they promise. */
#include "analysis/stat/stat.h"

#include "analysis/stat/test_noise.h"
#include "tests/runner/test.h"

enum { N_MAX = 20000 };
static double   d[N_MAX], scratch[2 * N_MAX];
static uint32_t launch[N_MAX];

static size_t plant(uint64_t seed, size_t n_launches, size_t n_rounds, double sigma_launch, double sigma_round)
{
    as_pcg64 g;
    as_pcg64_seed(&g, seed);
    size_t n = 0;
    for (size_t l = 0; l < n_launches; l++) {
        double level = sigma_launch * normal(&g);
        for (size_t r = 0; r < n_rounds; r++, n++) {
            d[n] = level + sigma_round * normal(&g);
            launch[n] = (uint32_t)(3 * l + 1);
        }
    }
    return n;
}

Test(stat_plan, planted_variances_come_back)
{
    static const struct {
        size_t launches, rounds;
        double launch, round;
    } cases[] = {
        {400, 25, 0.0027, 0.0045}, {400, 25, 0.0015, 0.0022}, {400, 40, 0.01, 0.001}, {4000, 3, 0.02, 0.02}, {4000, 2, 0.02, 0.01}};
    as_variance v;
    for (size_t i = 0; i < 5; i++) {
        size_t n = plant(i, cases[i].launches, cases[i].rounds, cases[i].launch, cases[i].round);
        expect(as_variance_split(d, launch, n, scratch, &v));
        expect_near(v.sigma_launch / cases[i].launch, 1, 0.12);
        expect_near(v.sigma_round / cases[i].round, 1, 0.05);
        expect_near(v.rounds_a_launch, (double)cases[i].rounds, 0);
        expect_eq(v.n_launches, cases[i].launches);
    }
}

/* No launch effect: what is left is small beside the rounds. */
Test(stat_plan, launches_alike_have_next_to_no_variance)
{
    as_variance v;
    size_t      n = plant(5, 400, 25, 0, 0.053);
    expect(as_variance_split(d, launch, n, scratch, &v));
    expect(v.sigma_launch < 0.053 / 5 * 0.5);
    expect_near(v.sigma_round, 0.053, 0.003);
}

/* The median of many repetitions is right even for eight launches, where plain MADs would be a tenth too small. */
Test(stat_plan, few_launches_are_not_underestimated)
{
    double sum = 0;
    for (uint64_t s = 0; s < 2000; s++) {
        as_variance v;
        size_t      n = plant(100 + s, 8, 3, 0.01, 1e-5);
        expect(as_variance_split(d, launch, n, scratch, &v));
        sum += v.sigma_launch / 2000;
    }
    expect_near(sum, 0.01, 0.0003);
}

Test(stat_plan, outliers_do_not_move_the_variances)
{
    as_variance clean, dirty;
    size_t      n = plant(7, 400, 25, 0.0027, 0.0045);
    expect(as_variance_split(d, launch, n, scratch, &clean));
    for (size_t i = 0; i < n; i += 20)
        d[i] += 3;
    expect(as_variance_split(d, launch, n, scratch, &dirty));
    expect_near(dirty.sigma_launch / clean.sigma_launch, 1, 0.15);
    expect_near(dirty.sigma_round / clean.sigma_round, 1, 0.25);
}

Test(stat_plan, says_when_it_cannot_split)
{
    as_variance v;
    size_t      n = plant(1, 1, 50, 1, 0.01);
    expect(!as_variance_split(d, launch, n, scratch, &v));
    expect_eq(v.sigma_launch, 0);
    expect_near(v.sigma_round, 0.01, 0.004);
    n = plant(1, 50, 1, 0.01, 0);
    expect(!as_variance_split(d, launch, n, scratch, &v));
    expect_eq(v.sigma_round, 0);
    expect_near(v.sigma_launch, 0.01, 0.004);
    expect(!as_variance_split(d, launch, 0, scratch, &v));
    expect_eq(v.n_launches, 0);
    expect(!as_variance_split(d, launch, 1, scratch, &v));
    expect_eq(v.sigma_launch, 0);
}

Test(stat_plan, rounds_follow_variance_and_cost)
{
    as_variance v = {.sigma_launch = 0.0027, .sigma_round = 0.0045};
    expect_near(as_rounds_best(&v, 40e6, 20e6), 0.0045 / 0.0027 * sqrt(2), 1e-12);
    expect_near(as_rounds_best(&v, 1, 1e9), 1, 0);
    v.sigma_launch = 0; /* as many as fit */
    expect(as_rounds_best(&v, 40e6, 20e6) == INFINITY);
    v.sigma_round = 0;
    expect_near(as_rounds_best(&v, 40e6, 20e6), 1, 0);
}

Test(stat_plan, visible_effect_is_4_22_standard_deviations)
{
    as_variance v = {.sigma_launch = 0.003, .sigma_round = 0.004};
    expect_near(as_effect_visible(&v, 0.01, 1, 1), 4.2207 * 0.005, 1e-6);
    expect_near(as_effect_visible(&v, 0.01, 16, 1), 4.2207 * 0.005 / 4, 1e-6);
    expect_near(as_effect_visible(&v, 0.01, 16, 1e12), 4.2207 * 0.003 / 4, 1e-6);
    expect_near(as_effect_visible(&v, 0.05, 1, 1), 3.6048 * 0.005, 1e-6);
}

Test(stat_plan, more_time_is_needed_as_long_as_the_interval_reaches_over_the_gap)
{
    double power = pow((2.5758293 + 1.6448536) / 2.5758293, 2); /* at 1 % */
    expect_near(as_times_needed(0.02, 0.01, 0.01, 16), 4 * power, 1e-5);
    expect_near(as_times_needed(0.02, 0.02, 0.01, 16), power, 1e-5);
    for (double gap = 0; gap <= 0.02; gap += 0.001) /* unresolved: the gap lies within the interval */
        expect(as_times_needed(0.02, gap, 0.01, 16) > 1);
    expect_near(as_times_needed(0.02, 0, 0.01, 16), 16 * power, 1e-5); /* a gap that is not known is not called endless */
}

Test(stat_plan, without_an_interval_the_units_that_give_one_are_needed)
{
    expect_near(as_times_needed(NAN, 2, 0.01, 3), 8 / 3.0, 1e-12);
    expect_near(as_times_needed(0, 0.01, 0.01, 9), 0, 0);
}
