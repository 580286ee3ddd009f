/* stat_many_test.c - against published tables. */
#include "analysis/stat/stat.h"

#include "base/random.h"
#include "tests/runner/test.h"

/* Benjamini and Hochberg 1995, section 3.2: fifteen hypotheses of a trial on heart attacks; four are discoveries at 5 %. */
static const double published[] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                   0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0};

Test(stat_many, benjamini_and_hochberg_find_the_four_of_their_paper)
{
    bool   reject[15];
    size_t order[15];
    expect_eq(as_benjamini_hochberg(published, 15, 0.05, reject, order), 4);
    for (int i = 0; i < 15; i++)
        expect_eq(reject[i], i < 4);
    double turned[15];
    for (int i = 0; i < 15; i++)
        turned[i] = published[14 - i];
    expect_eq(as_benjamini_hochberg(turned, 15, 0.05, reject, order), 4);
    for (int i = 0; i < 15; i++)
        expect_eq(reject[i], i > 10);
}

/* A step-up looks from the weakest on: the second and the third are saved by the fourth. */
Test(stat_many, a_weak_case_may_carry_stronger_ones)
{
    static const double p[] = {0.9, 0.039, 0.04, 0.038, 0.001};
    bool                reject[5];
    size_t              order[5];
    expect_eq(as_benjamini_hochberg(p, 5, 0.05, reject, order), 4);
    expect(!reject[0] && reject[1] && reject[2] && reject[3] && reject[4]);
}

Test(stat_many, what_is_not_a_number_is_no_discovery)
{
    static const double p[] = {NAN, 0.001, NAN};
    bool                reject[3];
    size_t              order[3];
    expect_eq(as_benjamini_hochberg(p, 3, 0.05, reject, order), 1);
    expect(!reject[0] && reject[1] && !reject[2]);
    expect_eq(as_e_bh(p, 3, 0.05, reject, order), 0);
    expect_eq(as_benjamini_hochberg(p, 0, 0.05, reject, order), 0);
    static const double many[] = {0.02, NAN, 0.9,   NAN,   0.021,
                                  0.8,  NAN, 0.001, 0.019, 0.0205}; /* five below the bar 0.025 of the fifth */
    bool                reject_many[10];
    size_t              order_many[10];
    expect_eq(as_benjamini_hochberg(many, 10, 0.05, reject_many, order_many), 5);
    for (int i = 0; i < 10; i++)
        expect_eq(reject_many[i], many[i] < 0.1);
}

/* By hand: the bars of four cases at 5 % are 80, 40, 26.7 and 20. */
Test(stat_many, e_bh_needs_larger_bets_than_one_alone)
{
    bool   reject[4];
    size_t order[4];
    expect_eq(as_e_bh((double[]){log(79), log(39), log(26), log(19)}, 4, 0.05, reject, order), 0);
    expect_eq(as_e_bh((double[]){log(19), log(41), log(26), log(41)}, 4, 0.05, reject, order), 2);
    expect(!reject[0] && reject[1] && !reject[2] && reject[3]);
    expect_eq(as_e_bh((double[]){log(21), log(21), log(21), log(21)}, 4, 0.05, reject, order), 4);
    expect_eq(as_e_bh((double[]){-INFINITY, 1e6, -INFINITY, -INFINITY}, 4, 0.05, reject, order), 1);
    expect(reject[1]);
}

/* e-BH is Benjamini-Hochberg on 1/e. */
Test(stat_many, e_bh_agrees_with_p_values_that_are_one_over_e)
{
    bool   by_p[15], by_e[15];
    size_t order[15];
    double ln_e[15];
    for (int i = 0; i < 15; i++)
        ln_e[i] = -log(published[i]);
    expect_eq(as_e_bh(ln_e, 15, 0.05, by_e, order), 4);
    as_benjamini_hochberg(published, 15, 0.05, by_p, order);
    expect(!memcmp(by_p, by_e, sizeof by_p));
}

/* All null: at least one discovery in at most q of the suites. */
Test(stat_many, clean_suites_stay_clean)
{
    as_pcg64 g;
    as_pcg64_seed(&g, 2);
    int n_dirty = 0;
    for (int s = 0; s < 1000; s++) {
        double p[100];
        bool   reject[100];
        size_t order[100];
        for (int i = 0; i < 100; i++)
            p[i] = as_pcg64_double(&g);
        n_dirty += as_benjamini_hochberg(p, 100, 0.05, reject, order) > 0;
    }
    expect(n_dirty > 20 && n_dirty < 75); /* 50 in the mean, four standard errors are 28 */
}

/* Newcombe 1998, table I, method 5. */
Test(stat_many, bounds_of_a_share_match_newcombe)
{
    static const struct {
        int    k, n;
        double lo, hi;
    } table[] = {{81, 263, 0.2527, 0.3676}, {15, 148, 0.0578, 0.1617}, {0, 20, 0, 0.1684}, {1, 29, 0.0009, 0.1776}};
    double lo, hi;
    for (int i = 0; i < 4; i++) {
        as_binomial_bounds(table[i].k, table[i].n, 0.95, &lo, &hi);
        expect_near(lo, table[i].lo, 0.00005);
        expect_near(hi, table[i].hi, 0.00005);
        as_binomial_bounds(table[i].n - table[i].k, table[i].n, 0.95, &lo, &hi);
        expect_near(lo, 1 - table[i].hi, 0.00005);
        expect_near(hi, 1 - table[i].lo, 0.00005);
    }
}

Test(stat_many, bounds_of_nothing_and_all)
{
    double lo, hi;
    as_binomial_bounds(0, 59, 0.9, &lo, &hi); /* 59 without one: below 5 % with 95 % certainty */
    expect_eq(lo, 0);
    expect_near(hi, 1 - pow(0.05, 1.0 / 59), 1e-12);
    as_binomial_bounds(59, 59, 0.9, &lo, &hi);
    expect_near(lo, pow(0.05, 1.0 / 59), 1e-12);
    expect_eq(hi, 1);
    as_binomial_bounds(0, 0, 0.9, &lo, &hi);
    expect(lo == 0 && hi == 1);
    as_binomial_bounds(500000, 1000000, 0.95, &lo, &hi);
    expect_near(lo, 0.5 - 0.00098, 1e-5);
    expect_near(hi, 0.5 + 0.00098, 1e-5);
}
