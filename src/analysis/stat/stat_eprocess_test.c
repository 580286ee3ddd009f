/* stat_eprocess_test.c - against integration, closed forms and a simulated coin. */
#include "analysis/stat/stat.h"

#include "base/random.h"
#include "tests/runner/test.h"

/* The bet itself: 2 * integral over p from 1/2 to 1 of (2p)^k (2q)^(n-k) / (pi sqrt(p q)), with p = sin^2 t, so that the weight becomes
 * 4 / pi dt from pi/4 to pi/2; midpoints. */
static double e_by_integration(int k, int n)
{
    enum { STEPS = 20000 };
    const double quarter = 0.78539816339744830962;
    double       sum = 0;
    for (int i = 0; i < STEPS; i++) {
        double t = quarter + quarter * (i + 0.5) / STEPS, p = sin(t) * sin(t);
        sum += pow(2 * p, k) * pow(2 * (1 - p), n - k);
    }
    return sum / STEPS;
}

Test(stat_eprocess, formula_is_the_integral_of_the_bet)
{
    static const int cases[][2] = {{1, 1},   {2, 3},    {3, 4},    {8, 8},     {6, 10},   {11, 20},
                                   {20, 20}, {60, 100}, {95, 100}, {251, 500}, {300, 500}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int k = cases[i][0], n = cases[i][1];
        expect_near(as_sign_e_log(k, n), log(e_by_integration(k, n)), 1e-6);
    }
}

Test(stat_eprocess, is_nothing_without_a_majority)
{
    expect(as_sign_e_log(0, 0) == -INFINITY);
    expect(as_sign_e_log(5, 10) == -INFINITY);
    expect(as_sign_e_log(4, 10) == -INFINITY);
    expect(as_sign_e_log(0, 2000) == -INFINITY);
    expect(as_sign_e_log(6, 10) > -INFINITY);
}

Test(stat_eprocess, eight_unanimous_rounds_suffice_for_one_percent_and_seven_do_not)
{
    expect(exp(as_sign_e_log(8, 8)) >= 100);
    expect(exp(as_sign_e_log(7, 7)) < 100);
}

/* All positive: I_1/2(1/2, n + 1/2) is one but for 2^-n, and B(n + 1/2, 1/2) = pi (2n choose n) / 4^n. */
Test(stat_eprocess, does_not_clamp_the_far_end)
{
    double ln_choose = -log1p(4000) - as_log_beta(2001, 2001);
    expect_near(as_sign_e_log(2000, 2000), 2001 * log(2) + ln_choose - 4000 * log(2), 1e-8);
    expect(as_sign_e_log(2000, 2000) > 1380);
    for (int k = 1001; k < 2000; k++)
        expect(as_sign_e_log(k + 1, 2000) > as_sign_e_log(k, 2000));
    double million = as_sign_e_log(1000000, 1000000);
    expect(million > 1000000 * log(2) - 10 && million < 1000000 * log(2));
}

/* Never more than alpha of fair coins ever reach 1/alpha, however often one looks.  E grows with k, so a table of the smallest k
 * for every n covers a million looks. */
Test(stat_eprocess, keeps_its_promise_over_500_looks_at_2000_coins)
{
    enum { N_SERIES = 2000, N_LOOKS = 500 };
    static int          needed[N_LOOKS + 1];
    static const double alphas[] = {0.01, 0.05};
    for (int a = 0; a < 2; a++) {
        for (int n = 1, k = 1; n <= N_LOOKS; needed[n++] = k)
            while (k <= n && as_sign_e_log(k, n) < -log(alphas[a]))
                k++;
        int n_rejected = 0;
        for (int s = 0; s < N_SERIES; s++) {
            as_pcg64 g;
            as_pcg64_seed(&g, (uint64_t)s);
            bool     rejected = false;
            uint64_t coins = 0;
            for (int n = 1, k = 0; n <= N_LOOKS && !rejected; n++, coins >>= 1) {
                if (n % 64 == 1)
                    coins = as_pcg64_u64(&g);
                k += (int)(coins & 1);
                rejected = k >= needed[n];
            }
            n_rejected += rejected;
        }
        expect(n_rejected <= alphas[a] * N_SERIES);
        expect(n_rejected >= alphas[a] * N_SERIES / 5); /* and it does reject some */
    }
}

Test(stat_eprocess, log_beta_cdf_matches_closed_forms)
{
    for (double x = 0.05; x < 1; x += 0.1) {
        expect_near(as_log_beta_cdf(x, 1, 1), log(x), 1e-13);
        expect_near(as_log_beta_cdf(x, 3, 1), 3 * log(x), 1e-13);
        expect_near(as_log_beta_cdf(x, 1, 4), log1p(-pow(1 - x, 4)), 1e-13);
        expect_near(as_log_beta_cdf(x, 0.5, 0.5), log(2 / 3.14159265358979323846 * asin(sqrt(x))), 1e-13);
        for (int k = 0; k < 20; k++) /* P(X > k) of 20 */
            expect_near(exp(as_log_beta_cdf(x, k + 1, 20 - k)), 1 - as_binomial_cdf(k, 20, x), 1e-12);
    }
    expect(as_log_beta_cdf(0, 2, 3) == -INFINITY && as_log_beta_cdf(1, 2, 3) == 0);
    expect(isnan(as_log_beta_cdf(0.5, 0, 3)) && isnan(as_log_beta_cdf(NAN, 2, 3)));
}

Test(stat_eprocess, log_beta_cdf_is_not_clamped_in_the_far_tail)
{
    expect_near(as_log_beta_cdf(0.5, 2000, 1), -2000 * log(2), 1e-9);
    double a = 2000.5; /* the integral over t^(a-1) / sqrt(1 - t) below 1/2, to two terms in 1/a */
    expect_near(as_log_beta_cdf(0.5, a, 0.5), -a * log(2) + 0.5 * log(2) - log(a) - as_log_beta(a, 0.5) + log1p(-0.5 / (a + 1)),
                1e-6);
    expect_near(as_log_beta_cdf(0.5, 1e6, 1e6), log(0.5), 1e-6);
    expect_near(as_log_beta_cdf(1e-3, 1e4, 1), 1e4 * log(1e-3), 1e-6);
}

Test(stat_eprocess, adds_logarithms)
{
    expect_near(as_log_sum_exp(log(2), log(3)), log(5), 1e-15);
    expect_near(as_log_sum_exp(-2000, -2000), -2000 + log(2), 1e-12);
    expect_near(as_log_sum_exp(5000, 0), 5000, 0);
    expect_near(as_log_sum_exp(-INFINITY, 3), 3, 0);
    expect(as_log_sum_exp(-INFINITY, -INFINITY) == -INFINITY);
    expect(as_log_sum_exp(INFINITY, INFINITY) == INFINITY);
    expect(isnan(as_log_sum_exp(NAN, 1)));
}

Test(stat_eprocess, looks_spend_alpha_once)
{
    static const int want[] = {8, 12, 16, 24, 32};
    double           sum = 0;
    int              launches;
    for (int i = 0; i < 5; i++) {
        sum += as_look_share(i, &launches);
        expect_eq(launches, want[i]);
    }
    expect_near(sum, 1, 1e-15);
    expect_eq(as_look_share(5, &launches), 0);
    expect_eq(launches, 0);
    expect_eq(as_look_share(-1, NULL), 0);
}
