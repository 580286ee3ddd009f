/* stats_test.c - compares with values computed by hand or published. */
#include "base/stats.h"

#include "base/random.h"
#include "tests/runner/test.h"

static double scratch[5000];

Test(stats, sorts_every_shape_with_nan_last)
{
    static double x[3000];
    as_pcg64      g;
    as_pcg64_seed(&g, 5);
    for (int shape = 0; shape < 6; shape++) {
        for (size_t n = 0; n <= 3000; n += n < 60 ? 1 : 735) {
            double sum = 0, sum_after = 0;
            for (size_t i = 0; i < n; i++) {
                double random = as_pcg64_double(&g), at = (double)i;
                x[i] = shape == 0   ? random
                       : shape == 1 ? at
                       : shape == 2 ? -at
                       : shape == 3 ? 1
                       : shape == 4 ? floor(random * 3)
                                    : fabs(at - (double)n / 2);
                sum += x[i];
            }
            as_sort(x, n);
            for (size_t i = 0; i < n; i++) {
                sum_after += x[i];
                expect(!i || x[i - 1] <= x[i]);
            }
            expect_near(sum_after, sum, 1e-6);
        }
    }
    double with_nan[] = {NAN, 3, NAN, -INFINITY, 1, INFINITY, NAN};
    as_sort(with_nan, 7);
    expect(with_nan[0] == -INFINITY && with_nan[1] == 1 && with_nan[2] == 3 && with_nan[3] == INFINITY);
    expect(isnan(with_nan[4]) && isnan(with_nan[6]));
}

/* The worst input for a median-of-three quicksort like ours: the depth limit has to catch it. */
Test(stats, sorts_a_killer_sequence)
{
    static double x[4096];
    for (size_t i = 0; i < 2048; i++) {
        x[i] = i % 2 ? (double)(2048 + i) : (double)(i + 1);
        x[2048 + i] = (double)(2 * (i + 1));
    }
    as_sort(x, 4096);
    for (size_t i = 1; i < 4096; i++)
        expect(x[i - 1] <= x[i]);
}

Test(stats, quantiles_are_type_7)
{
    static const double x[] = {1, 2, 3, 4};
    expect_near(as_quantile_sorted(x, 4, 0), 1, 0);
    expect_near(as_quantile_sorted(x, 4, 0.25), 1.75, 0);
    expect_near(as_quantile_sorted(x, 4, 0.5), 2.5, 0);
    expect_near(as_quantile_sorted(x, 4, 0.9), 3.7, 1e-15);
    expect_near(as_quantile_sorted(x, 4, 1), 4, 0);
    expect_near(as_quantile_sorted(x, 4, 7), 4, 0);
    expect_near(as_quantile_sorted(x, 1, 0.5), 1, 0);
    expect(isnan(as_quantile_sorted(x, 0, 0.5)));
    static const double infinite[] = {INFINITY, INFINITY};
    expect(as_quantile_sorted(infinite, 2, 0.5) == INFINITY);
}

Test(stats, median_and_mad_leave_the_data_alone)
{
    const double x[] = {9, 1, 2, 6, 4, 1, 2};
    expect_near(as_median(x, 7, scratch), 2, 0);
    expect_near(as_mad(x, 7, scratch), 1, 0); /* deviations 7 1 0 4 2 1 0 */
    expect_near(x[0], 9, 0);
    expect_near(as_median(x, 6, scratch), 3, 0);
    expect(isnan(as_median(x, 0, scratch)) && isnan(as_mad(x, 0, scratch)));
}

Test(stats, theil_sen_ignores_one_wild_value)
{
    const double y[] = {10, 12, 14, 900, 18, 20};
    expect_near(as_theil_sen(y, 6, scratch), 2, 0);
    expect_near(as_theil_sen(y, 2, scratch), 2, 0);
    expect(isnan(as_theil_sen(y, 1, scratch)) && isnan(as_theil_sen(y, 0, scratch)));
}

Test(stats, binomial_matches_exact_sums)
{
    expect_near(as_binomial_cdf(4, 20, 0.5), 6196.0 / 1048576, 1e-15);
    expect_near(as_binomial_cdf(9, 20, 0.5), (1 - 184756.0 / 1048576) / 2, 1e-13);
    expect_near(as_binomial_cdf(0, 10, 0.1), 0.3486784401, 1e-14);
    expect_near(as_binomial_cdf(1, 10, 0.1), 0.7360989291, 1e-13);
    expect_near(as_binomial_cdf(9, 10, 0.1), 1 - 1e-10, 1e-15);
    expect_near(as_binomial_cdf(8, 10, 0.9), 0.2639010709, 1e-13);
    expect_near(as_binomial_cdf(500000, 1000000, 0.5), 0.50039894, 1e-7); /* 1/2 + half the middle term */
    expect_eq(as_binomial_cdf(-1, 10, 0.5), 0);
    expect_eq(as_binomial_cdf(10, 10, 0.5), 1);
    expect_eq(as_binomial_cdf(3, 10, 0), 1);
    expect_eq(as_binomial_cdf(3, 10, 1), 0);
    expect(as_binomial_cdf(100, 100000, 0.5) >= 0); /* far below the smallest double: 0, not NaN */
}

Test(stats, log_beta_matches_closed_forms)
{
    expect_near(as_log_beta(1, 1), 0, 1e-15);
    expect_near(as_log_beta(2, 3), log(1.0 / 12), 1e-14);
    expect_near(as_log_beta(0.5, 0.5), log(3.14159265358979323846), 1e-14);
}

Test(stats, median_ranks_match_the_tables)
{
    size_t lo = 77, hi = 77;
    double cover = 77;
    expect(as_median_ranks(20, 0.98, &lo, &hi, &cover)); /* one-based 5 and 16: 98.8 % */
    expect_eq(lo, 4);
    expect_eq(hi, 15);
    expect_near(cover, 0.98818, 1e-5);
    expect(as_median_ranks(20, 0.95, &lo, &hi, &cover)); /* one-based 6 and 15: 95.9 % */
    expect_eq(lo, 5);
    expect_eq(hi, 14);
    expect_near(cover, 0.95861, 1e-5);
    expect(as_median_ranks(6, 0.95, &lo, &hi, NULL)); /* the smallest n for 95 %: 1 - 2/64 */
    expect_eq(lo, 0);
    expect_eq(hi, 5);
    expect(as_median_ranks(100, 0.95, &lo, &hi, &cover)); /* one-based 40 and 61 */
    expect_eq(lo, 39);
    expect_eq(hi, 60);
    lo = hi = 77;
    expect(!as_median_ranks(5, 0.95, &lo, &hi, &cover));
    expect(!as_median_ranks(0, 0.95, &lo, &hi, &cover));
    expect(!as_median_ranks(20, 1, &lo, &hi, &cover));
    expect(lo == 77 && hi == 77);
}

Test(stats, quantile_ranks_hold_the_quantile_and_agree_with_the_median)
{
    size_t lo = 77, hi = 77, lo_median, hi_median;
    expect(as_quantile_ranks(101, 0.5, 0.95, &lo, &hi));
    expect(as_median_ranks(101, 0.95, &lo_median, &hi_median, NULL));
    expect_eq(lo, lo_median);
    expect_eq(hi, hi_median);
    expect(as_quantile_ranks(1000, 0.9, 0.95, &lo, &hi));
    expect(as_binomial_cdf((int64_t)lo, 1000, 0.9) <= 0.025);
    expect(as_binomial_cdf((int64_t)lo + 1, 1000, 0.9) > 0.025);
    expect(as_binomial_cdf((int64_t)hi, 1000, 0.9) >= 0.975);
    expect(as_binomial_cdf((int64_t)hi - 1, 1000, 0.9) < 0.975);
    lo = hi = 77;
    expect(!as_quantile_ranks(100, 0.99, 0.95, &lo, &hi)); /* even the largest may be below it: .99^100 = .37 */
    expect(!as_quantile_ranks(100, 0.01, 0.95, &lo, &hi));
    expect(!as_quantile_ranks(0, 0.5, 0.95, &lo, &hi));
    expect(!as_quantile_ranks(100, 1, 0.95, &lo, &hi));
    expect(lo == 77 && hi == 77);
}

Test(stats, tails_need_as_many_samples_as_mlperf_says)
{
    expect_eq(as_quantile_needs(0.99), 662);
    expect_eq(as_quantile_needs(0.9), 64);
    expect_eq(as_quantile_needs(0.1), 64);
    expect_eq(as_quantile_needs(0.5), 11);
    expect_eq(as_quantile_needs(0), 1);
    expect_eq(as_quantile_needs(1), 1);
    for (double q = 0.5; q < 0.9999; q += 0.01)
        expect((double)as_quantile_needs(q) >= log(0.01) / log(q));
}

/* Independent values keep their weight; the same values with a slow drift count for far fewer. */
Test(stats, segments_notice_dependence)
{
    static double steady[2000], drifting[2000];
    as_pcg64      g;
    as_pcg64_seed(&g, 11);
    double level = 0;
    for (int i = 0; i < 2000; i++) {
        steady[i] = 100 + as_pcg64_double(&g);
        level = 0.98 * level + as_pcg64_double(&g) - 0.5;
        drifting[i] = 100 + level;
    }
    as_interval a, b;
    expect(as_segment_interval(steady, 2000, 0.95, scratch, &a));
    expect(as_segment_interval(drifting, 2000, 0.95, scratch, &b));
    expect_near(a.confidence, 0.95861, 1e-5);
    expect(a.lo <= a.value && a.value <= a.hi && b.lo <= b.value && b.value <= b.hi);
    expect_near(a.value, as_median(steady, 2000, scratch), 0);
    expect(a.lo < 100.5 && 100.5 < a.hi);
    expect(a.n_effective > 700 && a.n_effective <= 2000);
    expect(b.n_effective >= 1 && b.n_effective < 200);
}

Test(stats, segments_of_a_constant_have_no_width)
{
    double      x[40];
    as_interval i = {.value = 77};
    for (int k = 0; k < 40; k++)
        x[k] = 5;
    expect(!as_segment_interval(x, 39, 0.95, scratch, &i));
    expect_near(i.value, 77, 0);
    expect(as_segment_interval(x, 40, 0.95, scratch, &i));
    expect(i.lo == 5 && i.value == 5 && i.hi == 5);
    expect_near(i.n_effective, 40, 0);
    expect(!as_segment_interval(x, 40, 0.9999999, scratch, &i)); /* 20 segments do not allow this confidence */
}

/* The interval is for the median of the segment medians; the result for all samples stays inside it. */
Test(stats, segments_hold_the_value_of_a_lopsided_series)
{
    double      x[40];
    as_interval i;
    for (int k = 0; k < 40; k++)
        x[k] = k < 18 ? 1 : k % 2 ? 10 : 2;
    expect(as_segment_interval(x, 40, 0.5, scratch, &i));
    expect(i.lo <= i.value && i.value <= i.hi);
}
