/* stat_bca_test.c - against Efron and Tibshirani, and by counting how often the true value is inside. */
#include "analysis/stat/stat.h"

#include "base/random.h"
#include "tests/runner/test.h"

static double   replicates[2000];
static uint32_t chosen[100];

/* arg is the data, one value per unit. */
static double variance_of(const uint32_t *units, size_t n, const void *arg)
{
    const double *x = arg;
    double        mean = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[units[i]] / (double)n;
    for (size_t i = 0; i < n; i++)
        sum += (x[units[i]] - mean) * (x[units[i]] - mean);
    return sum / (double)n;
}

static double median_of(const uint32_t *units, size_t n, const void *arg)
{
    const double *x = arg;
    double        picked[100], scratch[100];
    for (size_t i = 0; i < n; i++)
        picked[i] = x[units[i]];
    return as_median(picked, n, scratch);
}

/* An Introduction to the Bootstrap, table 14.1: the spatial test, variance of A; 90 % BCa (115.8, 259.6), and no other interval
 * there comes near: the percentile one is (100.8, 233.9).  The mean of 20 seeds is used, since 2000 draws leave an uncertainty of
 * some units. */
Test(stat_bca, matches_the_textbook)
{
    static const double a[] = {48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41};
    as_interval         i;
    expect(as_bca(variance_of, a, 26, 0.9, 1, replicates, chosen, &i));
    expect_near(i.value, 171.5, 0.05);
    double lo = 0, hi = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        as_interval one;
        expect(as_bca(variance_of, a, 26, 0.9, seed, replicates, chosen, &one));
        lo += one.lo / 20;
        hi += one.hi / 20;
    }
    expect_near(lo, 115.8, 1.5);
    expect_near(hi, 259.6, 3);
    expect_near(i.confidence, 0.9, 0);
    expect_near(i.n_effective, 26, 0);
    as_interval again;
    expect(as_bca(variance_of, a, 26, 0.9, 1, replicates, chosen, &again));
    expect(again.lo == i.lo && again.hi == i.hi);
}

/* Exponential data, median ln 2: 95 % should hold it; 200 trials leave 1.5 % of standard error, and BCa of 30 falls a little short. */
Test(stat_bca, covers_a_known_median)
{
    int n_covered = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        double   x[30];
        as_pcg64 g;
        as_pcg64_seed(&g, seed);
        for (int i = 0; i < 30; i++)
            x[i] = -log(1 - as_pcg64_double(&g));
        as_interval i;
        expect(as_bca(median_of, x, 30, 0.95, seed, replicates, chosen, &i));
        expect(i.lo <= i.value && i.value <= i.hi);
        n_covered += i.lo <= log(2) && log(2) <= i.hi;
    }
    expect(n_covered >= 178 && n_covered <= 198);
}

static double mean_of(const uint32_t *units, size_t n, const void *arg)
{
    const double *x = arg;
    double        sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[units[i]];
    return sum / (double)n;
}

/* Half zeros, half ones: a sixth of the replicates equals the estimate, and neither side may get all of them. */
Test(stat_bca, ties_with_the_estimate_take_no_side)
{
    double x[20];
    for (int i = 0; i < 20; i++)
        x[i] = i % 2;
    as_interval i;
    expect(as_bca(mean_of, x, 20, 0.95, 3, replicates, chosen, &i));
    expect_near(i.lo + i.hi, 1, 0.02);
    expect(i.lo > 0.2 && i.lo < 0.4);
}

Test(stat_bca, a_constant_has_no_width)
{
    double x[12];
    for (int i = 0; i < 12; i++)
        x[i] = 3;
    as_interval i;
    expect(as_bca(median_of, x, 12, 0.95, 1, replicates, chosen, &i));
    expect(i.lo == 3 && i.value == 3 && i.hi == 3);
}

Test(stat_bca, one_wild_unit_keeps_the_bounds_among_the_replicates)
{
    double      x[10] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1e6};
    as_interval i;
    expect(as_bca(variance_of, x, 10, 0.99, 1, replicates, chosen, &i));
    expect(i.lo >= 0 && i.lo <= i.value && i.value <= i.hi && i.hi <= 2.5e11);
}

Test(stat_bca, refuses_few_units_and_what_is_not_finite)
{
    double      x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    as_interval i = {.value = 77};
    expect(!as_bca(median_of, x, 9, 0.95, 1, replicates, chosen, &i));
    expect(!as_bca(median_of, x, 0, 0.95, 1, replicates, chosen, &i));
    expect(!as_bca(median_of, x, 12, 1, 1, replicates, chosen, &i));
    x[4] = INFINITY;
    expect(!as_bca(variance_of, x, 12, 0.95, 1, replicates, chosen, &i));
    expect_near(i.value, 77, 0);
}
