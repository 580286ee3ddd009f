/* stats.h - the basic statistics, pure functions.  Based on ranks where possible, because a few
 * outliers move a mean.  Functions that sort work on a copy in caller-supplied scratch of n
 * doubles. */
#ifndef AS_BASE_STATS_H
#define AS_BASE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void   as_sort(double *x, size_t n);                                 /* ascending, NaN last */
double as_quantile_sorted(const double *sorted, size_t n, double q); /* type 7, NaN when n == 0 */
double as_median(const double *x, size_t n, double *scratch);
double as_mad(const double *x, size_t n, double *scratch);          /* median absolute deviation, unscaled */
double as_theil_sen(const double *y, size_t n, double *scratch_n2); /* median slope per index; scratch n*(n-1)/2 */

/* The interval for the median by order statistics: the narrowest symmetric pair of ranks (0-based)
 * that covers at least `confidence`; false when n is too small. *cover gets its actual coverage. */
bool as_median_ranks(size_t n, double confidence, size_t *lo, size_t *hi, double *cover);

/* Absolute interval for the median of a dependent series: >= 20 contiguous segments, segment medians, order
 * statistics.  False when n < 40 (two samples per segment). n_effective = n * var_iid / var_segments. */
typedef struct as_interval {
    double value, lo, hi, confidence;
    double n_effective;
} as_interval;
bool as_segment_interval(const double *x, size_t n, double confidence, double *scratch, as_interval *out);

/* A series of block times is steady when over the last 8 blocks the Theil-Sen slope times 8 is below 0.5 % of the median, and the
 * newer half is not more than 1 % faster than the older.  False with fewer than 8. */
bool as_steady_reached(const double *y, size_t n);

/* Smallest n for which quantile q may be shown: at least two samples beyond it with 99 % certainty.
 * That is MLPerf's 662 for .99 and 64 for .9, and always above ln .01 / ln q.  Low quantiles mirror the
 * high ones. */
size_t as_quantile_needs(double q);
/* Exact binomial order-statistic bounds for quantile q (0-based ranks); false when n is too small. */
bool   as_quantile_ranks(size_t n, double q, double confidence, size_t *lo, size_t *hi);
double as_binomial_cdf(int64_t k, int64_t n, double p);
double as_log_beta(double a, double b);

#endif
