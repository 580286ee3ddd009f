/* stat_rank_test.c - against exhaustive counting and textbooks. */
#include "analysis/stat/stat.h"

#include "analysis/stat/test_noise.h"
#include "tests/runner/test.h"

enum { SCRATCH = AS_HL_MAX * (AS_HL_MAX + 1) / 2 + AS_HL_MAX };
static double scratch[SCRATCH];

/* Hollander and Wolfe, table 3.1: depression scale of nine patients before and after a tranquiliser. */
static const double depression[] = {1.83 - 0.878, 0.50 - 0.647, 1.62 - 0.598, 2.48 - 2.05, 1.68 - 1.06,
                                    1.88 - 1.29,  1.55 - 1.06,  3.06 - 3.14,  1.30 - 1.29};
/* Darwin's maize: crossed minus self-fertilised, eighths of an inch. */
static const double maize[] = {49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};

Test(stat_rank, normal_quantiles_match_the_tables)
{
    expect_near(as_normal_quantile(0.975), 1.959963984540054, 1e-13);
    expect_near(as_normal_quantile(0.995), 2.575829303548901, 1e-13);
    expect_near(as_normal_quantile(0.95), 1.644853626951473, 1e-13);
    expect_near(as_normal_quantile(0.5), 0, 1e-15);
    expect_near(as_normal_quantile(1e-9), -5.997807015007687, 1e-12);
    expect_near(as_normal_cdf(1), 0.8413447460685429, 1e-15);
    expect(as_normal_quantile(0) == -INFINITY && as_normal_quantile(1) == INFINITY && isnan(as_normal_quantile(2)));
}

/* The same by sorting all averages. */
static double hodges_lehmann_slowly(const double *d, size_t n)
{
    static double averages[SCRATCH], copy[SCRATCH];
    size_t        count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            averages[count++] = (d[i] + d[j]) / 2;
    return as_median(averages, count, copy);
}

Test(stat_rank, hodges_lehmann_is_the_median_of_the_pairwise_averages)
{
    static const double by_hand[] = {1, 2, 6}; /* averages 1 1.5 2 3.5 4 6 */
    expect_near(as_hodges_lehmann(by_hand, 3, scratch), 2.75, 0);
    expect_near(as_hodges_lehmann(by_hand, 1, scratch), 1, 0);
    expect(isnan(as_hodges_lehmann(by_hand, 0, scratch)));
    expect_near(as_hodges_lehmann(depression, 9, scratch), 0.46, 1e-12);
    double   d[AS_HL_MAX];
    as_pcg64 g;
    as_pcg64_seed(&g, 3);
    for (size_t n = 1; n <= AS_HL_MAX; n += n < 40 ? 1 : 65)
        for (int shape = 0; shape < 4; shape++) {
            for (size_t i = 0; i < n; i++)
                d[i] = shape == 0 ? normal(&g) : shape == 1 ? (double)i : shape == 2 ? 5 : floor(3 * as_pcg64_double(&g));
            expect_near(as_hodges_lehmann(d, n, scratch), hodges_lehmann_slowly(d, n), 1e-12);
        }
}

Test(stat_rank, hodges_lehmann_of_many_takes_medians_of_groups_first)
{
    static double d[3 * AS_HL_MAX], medians[AS_HL_MAX];
    for (size_t i = 0; i < AS_HL_MAX; i++) {
        medians[i] = d[3 * i + 1] = sin((double)i);
        d[3 * i] = 1e9; /* one outlier per group does not show */
        d[3 * i + 2] = -2;
    }
    expect_near(as_hodges_lehmann(d, 3 * AS_HL_MAX, scratch), hodges_lehmann_slowly(medians, AS_HL_MAX), 1e-12);
    d[700] = d[701] = d[702] = NAN;
    expect(isnan(as_hodges_lehmann(d, 3 * AS_HL_MAX, scratch)));
}

/* All 2^n patterns of signs. */
Test(stat_rank, null_distribution_matches_all_sign_patterns)
{
    for (size_t n = 0; n <= 12; n++) {
        size_t top = n * (n + 1) / 2, at[79] = {0}, below = 0;
        for (size_t signs = 0; signs < (size_t)1 << n; signs++) {
            size_t w = 0;
            for (size_t i = 0; i < n; i++)
                w += signs >> i & 1 ? i + 1 : 0;
            at[w]++;
        }
        for (size_t w = 0; w <= top; w++) {
            below += at[w];
            expect_near(as_signed_rank_cdf(n, (double)w), ldexp((double)below, -(int)n), 1e-15);
            expect_near(as_signed_rank_cdf(n, (double)w + 0.5), ldexp((double)below, -(int)n), 1e-15);
        }
        expect_eq(as_signed_rank_cdf(n, -1), 0);
        expect_eq(as_signed_rank_cdf(n, (double)top + 9), 1);
    }
}

Test(stat_rank, null_distribution_is_smooth_where_counting_ends)
{
    expect_near(as_signed_rank_cdf(200, 10049.5), 0.5, 0.001);
    for (double z = -3; z <= 3; z += 0.5) {
        double exact = as_signed_rank_cdf(200, 10050 + z * 819.5), approximate = as_signed_rank_cdf(201, 10150.5 + z * 825.7);
        expect_near(exact, as_normal_cdf(z), 0.001);
        expect_near(exact, approximate, 0.001);
    }
    expect_near(log(as_signed_rank_cdf(200, 0)), -200 * log(2), 1e-9);
}

Test(stat_rank, interval_matches_the_textbook)
{
    as_interval i;
    expect(as_signed_rank_interval(depression, 9, 0.96, scratch, &i)); /* Hollander and Wolfe: 96.1 %, (.010, .786) */
    expect_near(i.value, 0.46, 1e-12);
    expect_near(i.lo, 0.010, 1e-12);
    expect_near(i.hi, 0.786, 1e-12);
    expect_near(i.confidence, 1 - 20.0 / 512, 1e-15);
    expect_near(i.n_effective, 9, 0);
    static const double by_hand[] = {1, 2, 3, 4, 5, 6, 7, 8}; /* 99 % of eight: nothing is cut */
    expect(as_signed_rank_interval(by_hand, 8, 0.99, scratch, &i));
    expect(i.lo == 1 && i.hi == 8 && i.value == 4.5);
    expect_near(i.confidence, 1 - 2.0 / 256, 1e-15);
}

Test(stat_rank, interval_needs_eight_for_99_percent)
{
    as_interval i;
    expect(!as_signed_rank_interval(maize, 7, 0.99, scratch, &i));
    expect_near(i.value, as_hodges_lehmann(maize, 7, scratch), 0);
    expect(isnan(i.lo) && isnan(i.hi));
    expect(!as_signed_rank_interval(maize, 0, 0.5, scratch, &i) && isnan(i.value));
    expect(!as_signed_rank_interval(maize, 15, 1, scratch, &i) && !as_signed_rank_interval(maize, 15, NAN, scratch, &i));
}

/* The interval is the set of shifts that the test does not reject on either side. */
Test(stat_rank, interval_holds_what_the_test_accepts)
{
    double   d[320], turned[320];
    as_pcg64 g;
    as_pcg64_seed(&g, 8);
    static const size_t sizes[] = {8, 15, 40, 200, 201, 300};
    for (size_t s = 0; s < 6; s++) {
        size_t n = sizes[s];
        for (size_t k = 0; k < n; k++) {
            d[k] = normal(&g);
            turned[k] = -d[k];
        }
        as_interval i;
        expect(as_signed_rank_interval(d, n, 0.99, scratch, &i));
        expect(i.lo <= i.value && i.value <= i.hi && i.confidence >= 0.99 && i.confidence < 0.9999);
        expect(as_signed_rank_p(d, n, i.lo - 1e-9, scratch) <= 0.005001 && as_signed_rank_p(d, n, i.lo + 1e-9, scratch) > 0.005);
        expect(as_signed_rank_p(turned, n, -i.hi - 1e-9, scratch) <= 0.005001 &&
               as_signed_rank_p(turned, n, -i.hi + 1e-9, scratch) > 0.005);
    }
}

Test(stat_rank, p_matches_the_textbook)
{
    expect_near(as_signed_rank_p(depression, 9, 0, scratch), 10.0 / 512, 1e-15); /* V = 40 */
    expect_near(2 * as_signed_rank_p(maize, 15, 0, scratch), 0.04126, 1e-5);     /* V = 96 */
    expect_near(as_signed_rank_p(maize, 15, 100, scratch), 1, 1e-15);
    expect_near(as_signed_rank_p(maize, 0, 0, scratch), 1, 0);
    static const double zeros[] = {0, 0, 0};
    expect_near(as_signed_rank_p(zeros, 3, 0, scratch), 1, 0);
}

/* With ties and zeros: all sign patterns of the mid ranks. */
Test(stat_rank, p_with_ties_is_exact)
{
    static const double d[] = {2, 0, -1, 1, 3, 2, -2, 5, 0, 1}; /* sizes 1 1 1 2 2 2 3 5 */
    static const double ranks[] = {2, 2, 2, 5, 5, 5, 7, 8}, seen = 36 - 2 - 5;
    int                 n_reached = 0;
    for (unsigned signs = 0; signs < 256; signs++) {
        double w = 0;
        for (unsigned i = 0; i < 8; i++)
            w += signs >> i & 1 ? ranks[i] : 0;
        n_reached += w >= seen;
    }
    expect_near(as_signed_rank_p(d, 10, 0, scratch), n_reached / 256.0, 1e-15);
}

Test(stat_rank, p_of_many_is_close_to_the_exact_one)
{
    static double d[201];
    as_pcg64      g;
    as_pcg64_seed(&g, 21);
    for (int i = 0; i < 200; i++)
        d[i] = floor(20 * normal(&g) + 3) + 0.5; /* with ties */
    double exact = as_signed_rank_p(d, 200, 0, scratch);
    d[200] = 0.25; /* the smallest of all: next to no weight */
    expect(exact > 0.0001 && exact < 0.4);
    expect_near(as_signed_rank_p(d, 201, 0, scratch) / exact, 1, 0.05);
}

Test(stat_rank, sign_flips_match_fisher_on_darwins_maize)
{
    expect_near(as_sign_flip_p(maize, 15, 0, 1), 863.0 / 32768, 1e-15); /* The Design of Experiments, section 21 */
    static const double by_hand[] = {1, 2, -3};                         /* sums 6 4 2 0 0 -2 -4 -6; seen 0 */
    expect_near(as_sign_flip_p(by_hand, 3, 0, 1), 5.0 / 8, 0);
    static const double rounding[] = {0.1, 0.2, -0.3};
    expect_near(as_sign_flip_p(rounding, 3, 0, 1), 5.0 / 8, 0);
    expect_near(as_sign_flip_p(by_hand, 3, -4, 1), 1.0 / 8, 0);
    expect_near(as_sign_flip_p(by_hand, 0, 0, 1), 1, 0);
    expect_near(as_sign_flip_p((double[]){NAN, 1, 2}, 3, 0, 1), 1, 0);
}

Test(stat_rank, drawn_sign_flips_agree_with_all_of_them)
{
    double d[17] = {0};
    memcpy(d, maize, sizeof maize); /* two zeros more change nothing but the way */
    double drawn = as_sign_flip_p(d, 17, 0, 7);
    expect_near(drawn, 863.0 / 32768, 0.006); /* four standard errors of 9999 draws */
    expect_near(as_sign_flip_p(d, 17, 0, 7), drawn, 0);
    expect(as_sign_flip_p(d, 17, 0, 8) != drawn);
    double far[100];
    for (int i = 0; i < 100; i++)
        far[i] = 1;
    expect_near(as_sign_flip_p(far, 100, 0, 7), 1e-4, 1e-18);
}

Test(stat_rank, sign_test_is_a_coin_game)
{
    expect_near(as_sign_p(8, 8), 1.0 / 256, 1e-17);
    expect_near(as_sign_p(7, 8), 9.0 / 256, 1e-16);
    expect_near(as_sign_p(0, 8), 1, 0);
    expect_near(as_sign_p(13, 15), 121.0 / 32768, 1e-15); /* the maize again */
    expect_near(as_sign_p(0, 0), 1, 0);
}
