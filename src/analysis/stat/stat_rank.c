/* stat_rank.c - where paired differences lie: Hodges-Lehmann, signed ranks, sign flips. */
#include "analysis/stat/stat.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

enum {
    EXACT_MAX = 200,                              /* up to this many differences the null distribution is counted exactly */
    N_SUMS = EXACT_MAX * (EXACT_MAX + 1) / 2 + 1, /* and the sums that it needs: half of those of doubled ranks */
    ALL_FLIPS_MAX = 16,
    N_FLIPS = 9999
};

/* --- The normal distribution ------------------------------------------------------------------- */

double as_normal_cdf(double z) { return 0.5 * erfc(-z * 0.70710678118654752440); }

/* By bisection: takes some microseconds, needs no table of coefficients, and is right to the last digits in the lower tail, which
 * the upper one mirrors. */
double as_normal_quantile(double p)
{
    if (!(p > 0 && p < 1))
        return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
    if (p > 0.5)
        return -as_normal_quantile(1 - p);
    double lo = -40, hi = 0;
    for (double mid; mid = lo + (hi - lo) / 2, mid > lo && mid < hi;) {
        if (as_normal_cdf(mid) < p)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

/* --- Pairwise averages ------------------------------------------------------------------------- */

/* Hoare's selection: x[k] is what it would be after sorting, nothing before it is larger, nothing after it smaller.  After too
 * many rounds, which only an adversarial order needs, the rest is sorted. */
static double select_in_place(double *x, size_t n, size_t k)
{
    size_t begin = 0, end = n;
    for (int round = 0; end - begin > 1; round++) {
        if (round == 100) {
            as_sort(x + begin, end - begin);
            break;
        }
        double pivot = x[begin + (end - begin - 1) / 2];
        size_t i = begin, j = end - 1;
        for (;; i++, j--) {
            while (x[i] < pivot)
                i++;
            while (x[j] > pivot)
                j--;
            if (i >= j)
                break;
            double t = x[i];
            x[i] = x[j];
            x[j] = t;
        }
        if (k <= j)
            end = j + 1;
        else
            begin = j + 1;
    }
    return x[k];
}

static double median_by_selection(double *x, size_t n)
{
    double below = select_in_place(x, n, (n - 1) / 2);
    if (n % 2)
        return below;
    double above = x[n / 2];
    for (size_t i = n / 2; i < n; i++)
        above = fmin(above, x[i]);
    return below + (above - below) / 2;
}

/* Puts at most AS_HL_MAX values at the front of scratch and all their pairwise averages behind them; returns how many values, 0
 * when one is NaN. */
static size_t walsh_averages(const double *d, size_t n, double *scratch, double **averages)
{
    size_t  m = n < AS_HL_MAX ? n : AS_HL_MAX, n_averages = 0;
    double *w = *averages = scratch + m;
    for (size_t i = 0; i < m; i++) {
        size_t begin = n * i / m, end = n * (i + 1) / m;
        scratch[i] = as_median(d + begin, end - begin, w);
    }
    for (size_t i = 0; i < m; i++) {
        if (isnan(scratch[i]))
            return 0;
        for (size_t j = 0; j <= i; j++)
            w[n_averages++] = 0.5 * scratch[i] + 0.5 * scratch[j];
    }
    return m;
}

double as_hodges_lehmann(const double *d, size_t n, double *scratch)
{
    double *averages;
    size_t  m = walsh_averages(d, n, scratch, &averages);
    return m ? median_by_selection(averages, m * (m + 1) / 2) : NAN;
}

/* --- The null distribution of signed ranks ------------------------------------------------------- */

/* count[s] gets the number of subsets of the weights (whole numbers) with sum s, for s <= limit. */
static void count_subsets(const double *weights, size_t n, size_t limit, double *count)
{
    size_t largest = 0;
    memset(count, 0, (limit + 1) * sizeof *count);
    count[0] = 1;
    for (size_t i = 0; i < n; i++) {
        size_t weight = (size_t)weights[i];
        largest = largest + weight < limit ? largest + weight : limit;
        for (size_t s = largest; s >= weight; s--)
            count[s] += count[s - weight];
    }
}

/* P(sum <= limit) when a coin decides whether each weight counts; n <= EXACT_MAX, limit < N_SUMS. */
static double subset_cdf(const double *weights, size_t n, size_t limit)
{
    double count[N_SUMS], sum = 0;
    count_subsets(weights, n, limit, count);
    for (size_t s = 0; s <= limit; s++)
        sum += count[s];
    return ldexp(sum, -(int)n);
}

static void plain_ranks(size_t n, double ranks[EXACT_MAX])
{
    for (size_t i = 0; i < n; i++)
        ranks[i] = (double)(i + 1);
}

static double signed_rank_mean(double n) { return n * (n + 1) / 4; }

static double signed_rank_sd(double n) { return sqrt(n * (n + 1) * (2 * n + 1) / 24); }

double as_signed_rank_cdf(size_t n, double w)
{
    double mean = signed_rank_mean((double)n), ranks[EXACT_MAX];
    w = floor(w);
    if (isnan(w) || w < 0)
        return isnan(w) ? NAN : 0;
    if (w >= 2 * mean)
        return 1;
    if (n > EXACT_MAX)
        return as_normal_cdf((w + 0.5 - mean) / signed_rank_sd((double)n));
    plain_ranks(n, ranks);
    return w <= mean ? subset_cdf(ranks, n, (size_t)w) : 1 - subset_cdf(ranks, n, (size_t)(2 * mean - w) - 1);
}

/* The largest w with P(W <= w) <= tail < 1/2, and that probability; false when there is none. */
static bool signed_rank_cut(size_t n, double tail, size_t *w, double *p)
{
    double mean = signed_rank_mean((double)n);
    if (n > EXACT_MAX) {
        double at = floor(mean - 0.5 + as_normal_quantile(tail) * signed_rank_sd((double)n));
        if (at < 0)
            return false;
        *w = (size_t)at;
        *p = as_signed_rank_cdf(n, at);
        return true;
    }
    double count[N_SUMS], ranks[EXACT_MAX], sum = 0;
    plain_ranks(n, ranks);
    count_subsets(ranks, n, (size_t)mean, count);
    size_t s = 0;
    for (; s <= (size_t)mean && ldexp(sum + count[s], -(int)n) <= tail; s++)
        sum += count[s];
    *w = s - 1;
    *p = ldexp(sum, -(int)n);
    return s > 0;
}

bool as_signed_rank_interval(const double *d, size_t n, double confidence, double *scratch, as_interval *out)
{
    double *averages, p = 0;
    size_t  m = walsh_averages(d, n, scratch, &averages), n_averages = m * (m + 1) / 2, cut = 0;
    *out = (as_interval){.value = m ? median_by_selection(averages, n_averages) : NAN,
                         .lo = NAN,
                         .hi = NAN,
                         .confidence = NAN,
                         .n_effective = (double)m};
    if (!m || !(confidence > 0 && confidence < 1) || !signed_rank_cut(m, (1 - confidence) / 2, &cut, &p))
        return false;
    out->lo = select_in_place(averages, n_averages, cut);
    out->hi = select_in_place(averages, n_averages, n_averages - 1 - cut);
    out->confidence = 1 - 2 * p;
    return true;
}

/* --- Tests --------------------------------------------------------------------------------------- */

/* Twice the mid ranks of sorted values: whole numbers also for ties. */
static void doubled_ranks(const double *sorted, size_t n, double *ranks)
{
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && sorted[end] == sorted[begin]; end++)
            ;
        for (size_t i = begin; i < end; i++)
            ranks[i] = (double)(begin + 1 + end);
    }
}

static size_t find_sorted(const double *sorted, size_t n, double value)
{
    size_t lo = 0, hi = n - 1;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (sorted[mid] < value)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* P(sum of a random half of the doubled ranks >= sum); ties only change which ranks there are, so it stays exact. */
static double doubled_rank_tail(const double *ranks, size_t n, double sum)
{
    double whole = (double)n * (double)(n + 1), squares = 0;
    if (sum <= 0)
        return 1;
    if (n <= EXACT_MAX)
        return 2 * sum > whole ? subset_cdf(ranks, n, (size_t)(whole - sum)) : 1 - subset_cdf(ranks, n, (size_t)sum - 1);
    for (size_t i = 0; i < n; i++)
        squares += ranks[i] * ranks[i];
    return as_normal_cdf(-(sum - 1 - whole / 2) / sqrt(squares / 4));
}

double as_signed_rank_p(const double *d, size_t n, double shift, double *scratch_2n)
{
    double *sizes = scratch_2n, *ranks = scratch_2n + n, sum = 0;
    size_t  m = 0;
    for (size_t i = 0; i < n; i++)
        if (d[i] < shift || d[i] > shift)
            sizes[m++] = fabs(d[i] - shift);
    if (!m)
        return 1;
    as_sort(sizes, m);
    doubled_ranks(sizes, m, ranks);
    for (size_t i = 0; i < n; i++)
        if (d[i] > shift)
            sum += ranks[find_sorted(sizes, m, d[i] - shift)];
    return doubled_rank_tail(ranks, m, sum);
}

/* The sum of d - shift, at most 64 of them, where those with a bit in `flips` change their sign. */
static double flipped_sum(const double *d, size_t n, double shift, uint64_t flips)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (d[i] - shift) * (double)(1 - 2 * (int)(flips >> i & 1)); /* a branch on a coin costs three times as much */
    return sum;
}

static double drawn_sum(const double *d, size_t n, double shift, as_pcg64 *g)
{
    double sum = 0;
    for (size_t i = 0; i < n; i += 64)
        sum += flipped_sum(d + i, n - i < 64 ? n - i : 64, shift, as_pcg64_u64(g));
    return sum;
}

double as_sign_flip_p(const double *d, size_t n, double shift, uint64_t seed)
{
    double seen = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        seen += d[i] - shift;
        size += fabs(d[i] - shift);
    }
    seen -= 1e-12 * size; /* sums that are equal but for rounding count as reached; NaN counts as reached by all */
    uint64_t n_reached = 0;
    if (n <= ALL_FLIPS_MAX) {
        for (uint64_t flips = 0; flips < (uint64_t)1 << n; flips++)
            n_reached += !(flipped_sum(d, n, shift, flips) < seen);
        return ldexp((double)n_reached, -(int)n);
    }
    as_pcg64 g;
    as_pcg64_seed(&g, seed);
    for (int i = 0; i < N_FLIPS; i++)
        n_reached += !(drawn_sum(d, n, shift, &g) < seen);
    return (double)(n_reached + 1) / (N_FLIPS + 1);
}

double as_sign_p(int64_t k, int64_t n) { return as_binomial_cdf(n - k, n, 0.5); }
