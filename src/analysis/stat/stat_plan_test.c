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

/* The median of many repetitions is right also for eight launches, where plain MADs would be a tenth too small. */
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

/* What is planned makes the effect visible, and a plan for half the launches does not. */
Test(stat_plan, planned_time_suffices_and_is_not_wasteful)
{
    static const as_variance cases[] = {{.sigma_launch = 0.0027, .sigma_round = 0.0045},
                                        {.sigma_round = 0.053},
                                        {.sigma_launch = 0.01},
                                        {.sigma_launch = 0.001, .sigma_round = 0.1}};
    const double             launch_ns = 50e6, round_ns = 20e6, sds = 4.2206829;
    for (size_t i = 0; i < 4; i++)
        for (double effect = 0.001; effect < 0.1; effect *= 3) {
            double time = as_time_needed(&cases[i], 0.01, effect, launch_ns, round_ns, false), best = INFINITY;
            for (double rounds = 1; rounds < 200000; rounds = ceil(rounds * 1.1)) {
                double launches = fmax(time / (launch_ns + rounds * round_ns), 1);
                best = fmin(best, as_effect_visible(&cases[i], 0.01, launches, rounds));
            }
            expect(best <= effect * 1.01);
            double cheapest = INFINITY; /* by trying all */
            for (double launches = 8; launches < 40000; launches = ceil(launches * 1.1))
                for (double rounds = 1; rounds < 200000; rounds = ceil(rounds * 1.1))
                    if (sds * sqrt((pow(cases[i].sigma_launch, 2) + pow(cases[i].sigma_round, 2) / rounds) / launches) <= effect)
                        cheapest = fmin(cheapest, launches * (launch_ns + rounds * round_ns));
            expect(time <= cheapest * 1.12);
        }
}

Test(stat_plan, rounds_as_units_need_one_launch)
{
    as_variance v = {.sigma_launch = 5, .sigma_round = 0.01};
    double      n = ceil(pow(4.2207 * 0.01 / 0.01, 2));
    expect_near(as_time_needed(&v, 0.01, 0.01, 1e9, 20e6, true), 1e9 + n * 20e6, 1);
    expect_near(as_time_needed(&v, 0.01, 100, 1e9, 20e6, true), 1e9 + 8 * 20e6, 1); /* eight, however large the effect */
}

Test(stat_plan, no_effect_takes_for_ever)
{
    as_variance v = {.sigma_launch = 0.001, .sigma_round = 0.01};
    expect(as_time_needed(&v, 0.01, 0, 1, 1, true) == INFINITY);
    expect(as_time_needed(&v, 0.01, -1, 1, 1, false) == INFINITY);
    expect(as_time_needed(&v, 0.01, NAN, 1, 1, false) == INFINITY);
    as_variance still = {0};
    expect_near(as_time_needed(&still, 0.01, 0.01, 5, 1, false), 8 * 6, 0);
}
