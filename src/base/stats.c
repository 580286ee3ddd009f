/* stats.c - the basic statistics, pure functions. */
#ifndef _REENTRANT
#define _REENTRANT /* macOS declares lgamma_r only then */
#endif
#include "base/stats.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

/* --- Order ----------------------------------------------------------------------------------
 * Our own sort: the C library's may call malloc, and has to go through a function pointer. */

static void swap(double *a, double *b)
{
    double t = *a;
    *a = *b;
    *b = t;
}

static void insertion_sort(double *x, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double value = x[i];
        size_t j = i;
        for (; j && x[j - 1] > value; j--)
            x[j] = x[j - 1];
        x[j] = value;
    }
}

static void sift_down(double *x, size_t root, size_t n)
{
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && x[child] < x[child + 1])
            child++;
        if (!(x[root] < x[child]))
            return;
        swap(&x[root], &x[child]);
    }
}

static void heap_sort(double *x, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(x, i, n);
    for (size_t i = n; i-- > 1;) {
        swap(&x[0], &x[i]);
        sift_down(x, 0, i);
    }
}

/* Hoare's partition around the median of three: afterwards x[0..k) <= pivot <= x[k..n), 0 < k < n. */
static size_t partition(double *x, size_t n)
{
    double *mid = &x[n / 2], *last = &x[n - 1];
    if (*mid < x[0])
        swap(mid, &x[0]);
    if (*last < x[0])
        swap(last, &x[0]);
    if (*last < *mid)
        swap(last, mid);
    double pivot = *mid;
    size_t i = 0, j = n - 1;
    for (;;) {
        do
            i++;
        while (x[i] < pivot);
        do
            j--;
        while (x[j] > pivot);
        if (i >= j)
            return i;
        swap(&x[i], &x[j]);
    }
}

/* Quicksort until the depth limit is reached, then heap sort: n log n for every input. */
static void sort_numbers(double *x, size_t n, int depth)
{
    while (n > 24) {
        if (!depth--) {
            heap_sort(x, n);
            return;
        }
        size_t k = partition(x, n);
        if (k < n - k) {
            sort_numbers(x, k, depth);
            x += k, n -= k;
        } else {
            sort_numbers(x + k, n - k, depth);
            n = k;
        }
    }
    insertion_sort(x, n);
}

static int depth_limit(size_t n)
{
    int depth = 2;
    for (; n > 1; n /= 2)
        depth += 2;
    return depth;
}

void as_sort(double *x, size_t n)
{
    size_t n_numbers = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i]))
            swap(&x[n_numbers++], &x[i]);
    sort_numbers(x, n_numbers, depth_limit(n_numbers));
}

double as_quantile_sorted(const double *sorted, size_t n, double q)
{
    if (!n || isnan(q))
        return NAN;
    double at = fmin(fmax(q, 0), 1) * (double)(n - 1);
    size_t below = (size_t)at, above = below + 1 < n ? below + 1 : below;
    double weight = at - (double)below;
    if (weight == 0 || sorted[below] == sorted[above])
        return sorted[below]; /* also when both are infinite, where the difference is not defined */
    return sorted[below] + weight * (sorted[above] - sorted[below]);
}

static double median_in_place(double *x, size_t n)
{
    as_sort(x, n);
    return as_quantile_sorted(x, n, 0.5);
}

double as_median(const double *x, size_t n, double *scratch)
{
    if (!n)
        return NAN;
    memcpy(scratch, x, n * sizeof *x);
    return median_in_place(scratch, n);
}

double as_mad(const double *x, size_t n, double *scratch)
{
    double median = as_median(x, n, scratch);
    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(x[i] - median);
    return median_in_place(scratch, n);
}

double as_theil_sen(const double *y, size_t n, double *scratch_n2)
{
    size_t n_slopes = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            scratch_n2[n_slopes++] = (y[j] - y[i]) / (double)(j - i);
    return median_in_place(scratch_n2, n_slopes);
}

/* --- The binomial distribution ---------------------------------------------------------------- */

static double log_gamma(double x)
{
    int sign; /* plain lgamma() keeps it in a global variable, which threads would share */
    return lgamma_r(x, &sign);
}

double as_log_beta(double a, double b) { return log_gamma(a) + log_gamma(b) - log_gamma(a + b); }

/* P(X = k) for 0 <= k <= n, 0 < p < 1. */
static double binomial_at(double k, double n, double p)
{
    double log_ways = -log1p(n) - as_log_beta(n - k + 1, k + 1);
    return exp(log_ways + k * log(p) + (n - k) * log1p(-p));
}

/* P(X <= k) where k is not above the mean: from the largest term down, each computed from the one before. */
static double lower_tail(double k, double n, double p)
{
    double term = 1, sum = 1;
    for (double i = k; i > 0 && term > sum * 1e-18; i--) {
        term *= i / (n - i + 1) * ((1 - p) / p);
        sum += term;
    }
    return fmin(binomial_at(k, n, p) * sum, 1);
}

double as_binomial_cdf(int64_t k, int64_t n, double p)
{
    if (k < 0)
        return 0;
    if (k >= n || p <= 0)
        return 1;
    if (p >= 1)
        return 0;
    double kd = (double)k, nd = (double)n;
    return kd <= nd * p ? lower_tail(kd, nd, p) : 1 - lower_tail(nd - kd - 1, nd, 1 - p);
}

/* How many k from 0 on have P(X <= k) <= limit. */
static int64_t count_at_most(int64_t n, double p, double limit)
{
    int64_t lo = 0, hi = n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (as_binomial_cdf(mid, n, p) <= limit)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The r-th smallest and the r-th largest of n enclose the median unless fewer than r samples are
 * on one side of it: coverage 1 - 2 P(X <= r - 1) with p = 1/2. */
bool as_median_ranks(size_t n, double confidence, size_t *lo, size_t *hi, double *cover)
{
    if (!n || n > INT64_MAX || !(confidence > 0 && confidence < 1))
        return false;
    int64_t r = count_at_most((int64_t)n, 0.5, (1 - confidence) / 2);
    if (r < 1)
        return false;
    *lo = (size_t)r - 1;
    *hi = n - (size_t)r;
    if (cover)
        *cover = 1 - 2 * as_binomial_cdf(r - 1, (int64_t)n, 0.5);
    return true;
}

/* X counts the samples below the quantile: it is above the l-th smallest unless X < l, and below the
 * u-th unless X >= u. */
bool as_quantile_ranks(size_t n, double q, double confidence, size_t *lo, size_t *hi)
{
    if (!n || n > INT64_MAX || !(q > 0 && q < 1) || !(confidence > 0 && confidence < 1))
        return false;
    double  tail = (1 - confidence) / 2;
    int64_t l = count_at_most((int64_t)n, q, tail);
    int64_t r = count_at_most((int64_t)n, 1 - q, tail); /* the same, counted from the top */
    if (l < 1 || r < 1)
        return false;
    *lo = (size_t)l - 1;
    *hi = n - (size_t)r;
    return true;
}

size_t as_quantile_needs(double q)
{
    if (!(q > 0 && q < 1))
        return 1; /* the smallest and the largest can always be shown */
    double  p = fmin(q, 1 - q);
    int64_t lo = 1, hi = 2;
    while (as_binomial_cdf(1, hi, p) > 0.01 && hi < INT64_MAX / 4)
        hi *= 2;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (as_binomial_cdf(1, mid, p) <= 0.01)
            hi = mid;
        else
            lo = mid + 1;
    }
    return (size_t)hi;
}

/* --- Dependent series ------------------------------------------------------------------------- */

enum { N_SEGMENTS = 20, N_SHUFFLES = 8 };

/* Medians of contiguous segments; sorts x. */
static void segment_medians(double *x, size_t n, double medians[N_SEGMENTS])
{
    for (size_t j = 0; j < N_SEGMENTS; j++) {
        size_t begin = n * j / N_SEGMENTS, end = n * (j + 1) / N_SEGMENTS;
        medians[j] = median_in_place(x + begin, end - begin);
    }
}

static double variance(const double *x, size_t n)
{
    double mean = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum / (double)(n - 1);
}

/* How much the segment medians would vary if the samples did not depend on their neighbours: uses
 * the same samples in random order.  A formula would need the shape of the distribution.  Several
 * shuffles, because one estimates a variance from only 20 values. */
static double shuffled_variance(double *x, size_t n)
{
    double   sum = 0, medians[N_SEGMENTS];
    as_pcg64 g;
    as_pcg64_seed(&g, 0);
    for (int i = 0; i < N_SHUFFLES; i++) {
        for (size_t k = n; k-- > 1;)
            swap(&x[k], &x[(size_t)(as_pcg64_double(&g) * (double)(k + 1))]);
        segment_medians(x, n, medians);
        sum += variance(medians, N_SEGMENTS);
    }
    return sum / N_SHUFFLES;
}

bool as_segment_interval(const double *x, size_t n, double confidence, double *scratch, as_interval *out)
{
    size_t lo, hi;
    double medians[N_SEGMENTS], cover;
    if (n < 2 * N_SEGMENTS || !as_median_ranks(N_SEGMENTS, confidence, &lo, &hi, &cover))
        return false;
    double value = as_median(x, n, scratch);
    double var_iid = shuffled_variance(scratch, n);
    memcpy(scratch, x, n * sizeof *x);
    segment_medians(scratch, n, medians);
    double var_segments = variance(medians, N_SEGMENTS);
    as_sort(medians, N_SEGMENTS);
    double n_effective = var_segments > 0 ? (double)n * var_iid / var_segments : (double)n;
    /* The value is the median of all samples. The segments' interval may just miss it when their
     * medians are few and lumpy; widening the interval only adds coverage. */
    *out = (as_interval){.value = value,
                         .lo = fmin(medians[lo], value),
                         .hi = fmax(medians[hi], value),
                         .confidence = cover,
                         .n_effective = fmin(fmax(n_effective, 1), (double)n)};
    return true;
}

bool as_steady_reached(const double *y, size_t n)
{
    enum { LAST = 8 };
    double scratch[LAST * (LAST - 1) / 2], half[LAST];
    if (n < LAST)
        return false;
    const double *last = y + n - LAST;
    double        median = as_median(last, LAST, half);
    if (fabs(as_theil_sen(last, LAST, scratch)) * LAST >= 0.005 * median)
        return false;
    double older = as_median(last, LAST / 2, half), newer = as_median(last + LAST / 2, LAST / 2, half);
    return newer >= older * (1 - 0.01);
}
