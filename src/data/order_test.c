/* order_test.c - orders that are computed: each is a permutation, and all are equally likely. */
#include "data/order.h"

#include <stdlib.h>

#include "tests/runner/test.h"

Test(data_order, holds_every_place_exactly_once)
{
    for (int64_t n = 1; n < 70; n++) {
        for (uint64_t seed = 0; seed < 5; seed++) {
            uint8_t  seen[70] = {0};
            as_order order;
            as_order_make(&order, seed, AS_STREAM_ORDER, 3, n);
            for (int64_t i = 0; i < n; i++) {
                int64_t at = as_order_at(&order, i);
                expect(at >= 0 && at < n);
                expect(!seen[at]++);
            }
        }
    }
    enum { MANY = 50000 };
    uint8_t *seen = calloc(MANY, 1);
    as_order order;
    as_order_make(&order, 7, AS_STREAM_ORDER, 0, MANY);
    for (int64_t i = 0; i < MANY; i++)
        expect(!seen[as_order_at(&order, i)]++);
    free(seen);
}

Test(data_order, takes_sets_that_no_table_would_fit)
{
    as_order order;
    int64_t  n = INT64_MAX / 2;
    as_order_make(&order, 1, AS_STREAM_ORDER, 0, n);
    for (int64_t i = 0; i < 1000; i++) {
        int64_t a = as_order_at(&order, i);
        expect(a >= 0 && a < n);
    }
}

/* All permutations of n things over many seeds: chi-square against equal chances.  The bound is 6 standard deviations above the mean, and the
 * seeds are fixed, so this cannot fail by chance on another day. */
static void check_uniform(int n, int n_permutations, int trials, bool by_epoch)
{
    int *count = calloc((size_t)n_permutations, sizeof *count);
    for (int t = 0; t < trials; t++) {
        as_order order;
        as_order_make(&order, by_epoch ? 11 : (uint64_t)t, AS_STREAM_ORDER, by_epoch ? t : 0, n);
        int place[8], code = 0;
        for (int i = 0; i < n; i++) {
            place[i] = (int)as_order_at(&order, i);
            int smaller = 0;
            for (int j = 0; j < i; j++)
                smaller += place[j] > place[i];
            code = code * (i + 1) + smaller;
        }
        count[code]++;
    }
    double want = (double)trials / n_permutations, chi = 0;
    for (int i = 0; i < n_permutations; i++)
        chi += (count[i] - want) * (count[i] - want) / want;
    free(count);
    double free_ones = n_permutations - 1;
    if (chi > free_ones + 6 * sqrt(2 * free_ones))
        fail("n %d: chi-square %.1f with %g degrees of freedom", n, chi, free_ones);
}

Test(data_order, gives_every_permutation_of_few_things_the_same_chance)
{
    check_uniform(2, 2, 20000, false);
    check_uniform(3, 6, 30000, false);
    check_uniform(4, 24, 60000, false);
    check_uniform(4, 24, 60000, true);
    check_uniform(5, 120, 120000, false);
    check_uniform(6, 720, 200000, true);
}

/* Where the first two of n things come: all pairs of places have the same chance. */
static void check_pairs(int n)
{
    enum { TRIALS = 200000 };
    int *count = calloc((size_t)(n * n), sizeof *count);
    for (int t = 0; t < TRIALS; t++) {
        as_order order;
        as_order_make(&order, 3, AS_STREAM_ORDER, t, n);
        count[as_order_at(&order, 0) * n + as_order_at(&order, n - 1)]++;
    }
    double want = (double)TRIALS / (n * (n - 1)), chi = 0, free_ones = n * (n - 1) - 1;
    for (int i = 0; i < n * n; i++)
        chi += i / n == i % n ? 0 : (count[i] - want) * (count[i] - want) / want;
    free(count);
    if (chi > free_ones + 6 * sqrt(2 * free_ones))
        fail("n %d: chi-square %.1f with %g degrees of freedom", n, chi, free_ones);
}

Test(data_order, gives_every_pair_of_places_the_same_chance)
{
    check_pairs(10);
    check_pairs(16);
    check_pairs(33);
    check_pairs(64);
}

/* Of many things: where example 0 comes, and how far from its neighbour. */
Test(data_order, places_and_neighbours_are_spread_evenly)
{
    enum { N = 1000, BINS = 50, TRIALS = 20000 };
    int at[BINS] = {0}, gap[BINS] = {0};
    for (int t = 0; t < TRIALS; t++) {
        as_order order;
        as_order_make(&order, 5, AS_STREAM_ORDER, t, N);
        int64_t a = as_order_at(&order, 0), b = as_order_at(&order, 1);
        at[a * BINS / N]++;
        gap[((b - a + N) % N) * BINS / N]++;
    }
    double want = (double)TRIALS / BINS, chi_at = 0, chi_gap = 0;
    for (int i = 0; i < BINS; i++) {
        chi_at += (at[i] - want) * (at[i] - want) / want;
        double want_gap = i == 0 ? want * 19 / 20 : want * 1.0 + want / 20 / (BINS - 1); /* a gap of 0 cannot be */
        chi_gap += (gap[i] - want_gap) * (gap[i] - want_gap) / want_gap;
    }
    expect(chi_at < 49 + 6 * sqrt(2 * 49));
    expect(chi_gap < 49 + 6 * sqrt(2 * 49));
}

Test(data_order, differs_by_seed_epoch_and_stream)
{
    as_order a, b, c, d;
    int      same[3] = {0};
    as_order_make(&a, 1, AS_STREAM_ORDER, 1, 1000);
    as_order_make(&b, 2, AS_STREAM_ORDER, 1, 1000);
    as_order_make(&c, 1, AS_STREAM_ORDER, 2, 1000);
    as_order_make(&d, 1, AS_STREAM_SPLIT, 1, 1000);
    for (int64_t i = 0; i < 1000; i++) {
        same[0] += as_order_at(&a, i) == as_order_at(&b, i);
        same[1] += as_order_at(&a, i) == as_order_at(&c, i);
        same[2] += as_order_at(&a, i) == as_order_at(&d, i);
    }
    for (int i = 0; i < 3; i++)
        expect(same[i] < 12);
}
