/* stat_bca.c - intervals of derived values: the bootstrap, corrected for bias and acceleration (Efron 1987). */
#include "analysis/stat/stat.h"

#include <math.h>

#include "base/random.h"

enum { N_REPLICATES = 2000, UNITS_MIN = 10 };

typedef double statistic_fn(const uint32_t *chosen, size_t n, const void *arg);

static double whole_sample(statistic_fn *statistic, const void *arg, size_t n, uint32_t *chosen)
{
    for (size_t i = 0; i < n; i++)
        chosen[i] = (uint32_t)i;
    return statistic(chosen, n, arg);
}

/* The acceleration, how the statistic's spread changes with its value: the skewness of the values with one unit left out at a
 * time.  chosen holds the whole sample.  Sums are taken around the estimate, which is close to the mean that is subtracted
 * afterwards. */
static double acceleration(statistic_fn *statistic, const void *arg, size_t n, double estimate, uint32_t *chosen)
{
    double count = (double)n, sum = 0, squares = 0, cubes = 0;
    for (size_t i = n; i-- > 0;) { /* chosen[0..n-1) lacks unit i */
        double x = estimate - statistic(chosen, n - 1, arg);
        sum += x;
        squares += x * x;
        cubes += x * x * x;
        if (i)
            chosen[i - 1] = (uint32_t)i;
    }
    double mean = sum / count, central2 = squares - count * mean * mean;
    double central3 = cubes - 3 * mean * squares + 2 * count * mean * mean * mean;
    return central2 > 0 ? central3 / (6 * pow(central2, 1.5)) : 0;
}

static bool replicate(statistic_fn *statistic, const void *arg, size_t n, uint64_t seed, uint32_t *chosen, double *values)
{
    as_pcg64 g;
    as_pcg64_seed(&g, seed);
    for (int r = 0; r < N_REPLICATES; r++) {
        for (size_t i = 0; i < n; i++)
            chosen[i] = as_pcg64_below(&g, (uint32_t)(n - 1));
        values[r] = statistic(chosen, n, arg);
        if (!isfinite(values[r]))
            return false;
    }
    as_sort(values, N_REPLICATES);
    return true;
}

/* The share of replicates below the estimate as a normal deviate; ties count half, and at the ends half a replicate is assumed. */
static double bias(const double *sorted, double estimate)
{
    double below = 0;
    for (int i = 0; i < N_REPLICATES; i++)
        below += sorted[i] < estimate ? 1 : sorted[i] == estimate ? 0.5 : 0;
    return as_normal_quantile(fmin(fmax(below, 0.5), N_REPLICATES - 0.5) / N_REPLICATES);
}

static double bound(const double *sorted, double z0, double a, double z)
{
    double shifted = z0 + (z0 + z) / fmax(1 - a * (z0 + z), 1e-6); /* beyond the pole: the end of the replicates */
    return as_quantile_sorted(sorted, N_REPLICATES, as_normal_cdf(shifted));
}

bool as_bca(double (*statistic)(const uint32_t *chosen, size_t n, const void *arg), const void *arg, size_t n, double confidence,
            uint64_t seed, double *scratch_2000, uint32_t *scratch_n, as_interval *out)
{
    if (n < UNITS_MIN || n > UINT32_MAX || !(confidence > 0 && confidence < 1))
        return false;
    double value = whole_sample(statistic, arg, n, scratch_n);
    double a = acceleration(statistic, arg, n, value, scratch_n);
    if (!isfinite(value) || !isfinite(a) || !replicate(statistic, arg, n, seed, scratch_n, scratch_2000))
        return false;
    double z0 = bias(scratch_2000, value), z = as_normal_quantile((1 + confidence) / 2);
    /* A strong correction may leave the value just outside the interval; widening it only adds coverage. */
    *out = (as_interval){.value = value,
                         .lo = fmin(bound(scratch_2000, z0, a, -z), value),
                         .hi = fmax(bound(scratch_2000, z0, a, z), value),
                         .confidence = confidence,
                         .n_effective = (double)n};
    return true;
}
