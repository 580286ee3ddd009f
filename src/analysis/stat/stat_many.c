/* stat_many.c - many cases at once: false discovery rates, and exact bounds of a share. */
#include "analysis/stat/stat.h"

#include <math.h>

/* --- Step-up procedures -------------------------------------------------------------------------- */

/* Does case a have weaker evidence than case b?  Evidence is a p-value (small is strong) or the logarithm of an e-value (large is
 * strong); NaN is none at all. */
typedef struct evidence {
    const double *value;
    bool          small_is_strong;
} evidence;

static bool is_weaker(const evidence *e, size_t a, size_t b)
{
    double x = e->value[a], y = e->value[b];
    if (isnan(x) || isnan(y))
        return isnan(x) && !isnan(y);
    return e->small_is_strong ? x > y : x < y;
}

static void sift_down(const evidence *e, size_t *order, size_t root, size_t n)
{
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && is_weaker(e, order[child + 1], order[child]))
            child++;
        if (!is_weaker(e, order[child], order[root]))
            return;
        size_t t = order[root];
        order[root] = order[child];
        order[child] = t;
    }
}

/* Strongest first, by heap sort on the indices. */
static void sort_by_strength(const evidence *e, size_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n / 2; i-- > 0;)
        sift_down(e, order, i, n);
    for (size_t i = n; i-- > 1;) {
        size_t t = order[0];
        order[0] = order[i];
        order[i] = t;
        sift_down(e, order, 0, i);
    }
}

static bool passes(const evidence *e, double value, double share)
{
    return e->small_is_strong ? value <= share : value >= -log(share);
}

/* Rejects the k strongest for the largest k whose weakest passes the bar k q / n. */
static size_t step_up(const evidence *e, size_t n, double q, bool *reject, size_t *order)
{
    sort_by_strength(e, order, n);
    size_t k = n;
    while (k && !passes(e, e->value[order[k - 1]], (double)k * q / (double)n))
        k--;
    for (size_t i = 0; i < n; i++)
        reject[order[i]] = i < k;
    return k;
}

size_t as_benjamini_hochberg(const double *p, size_t n, double q, bool *reject, size_t *scratch_n)
{
    return step_up(&(evidence){p, true}, n, q, reject, scratch_n);
}

size_t as_e_bh(const double *ln_e, size_t n, double q, bool *reject, size_t *scratch_n)
{
    return step_up(&(evidence){ln_e, false}, n, q, reject, scratch_n);
}

/* --- Shares -------------------------------------------------------------------------------------- */

/* The share under which k or fewer of n have only the probability `tail`; k < n. */
static double share_above(int64_t k, int64_t n, double tail)
{
    double lo = (double)k / (double)n, hi = 1;
    for (double mid; mid = lo + (hi - lo) / 2, mid > lo && mid < hi;) {
        if (as_binomial_cdf(k, n, mid) > tail)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

void as_binomial_bounds(int64_t k, int64_t n, double confidence, double *lo, double *hi)
{
    double tail = (1 - confidence) / 2;
    *lo = n < 1 || k <= 0 ? 0 : 1 - share_above(n - k, n, tail);
    *hi = n < 1 || k >= n ? 1 : share_above(k, n, tail);
}
