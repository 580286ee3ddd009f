/* stat_plan.c - planning: where the variance is, what can be detected, and how long it takes. */
#include "analysis/stat/stat.h"

#include <math.h>

static const double half_pi = 1.57079632679489661923;

/* The standard deviation by 1.4826 median absolute deviations.  For few values that is too small; the correction factors are
 * those of Croux and Rousseeuw (1992). */
static double robust_sd(const double *x, size_t n, double *scratch)
{
    static const double few[] = {0, 0, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107};
    double              factor = n < sizeof few / sizeof *few ? few[n] : (double)n / ((double)n - 0.8);
    return n < 2 ? 0 : 1.4826 * factor * as_mad(x, n, scratch);
}

/* How much more the median of n normal values varies than their mean: 1 for one and two, towards pi/2. */
static double median_price(double n)
{
    double offset = fmod(floor(n), 2) == 1 ? half_pi - 1 : 2 * (half_pi - 1);
    return half_pi * n / (n + offset);
}

/* From the steps between neighbouring rounds of a launch.  Not from deviations from the launch's median: with three rounds every third of
 * those is zero by construction. */
static double round_sd(const double *d, const uint32_t *launch, size_t n, double *scratch_2n, size_t *n_steps)
{
    *n_steps = 0;
    for (size_t i = 1; i < n; i++)
        if (launch[i] == launch[i - 1])
            scratch_2n[(*n_steps)++] = fabs(d[i] - d[i - 1]);
    return *n_steps ? 1.4826 * sqrt(0.5) * as_median(scratch_2n, *n_steps, scratch_2n + n) : 0;
}

static size_t launch_medians(const double *d, const uint32_t *launch, size_t n, double *scratch_2n)
{
    size_t n_launches = 0;
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && launch[end] == launch[begin]; end++)
            ;
        scratch_2n[n_launches++] = as_median(d + begin, end - begin, scratch_2n + n);
    }
    return n_launches;
}

bool as_variance_split(const double *d, const uint32_t *launch, size_t n, double *scratch_2n, as_variance *out)
{
    size_t n_steps;
    double sd_round = round_sd(d, launch, n, scratch_2n, &n_steps);
    size_t n_launches = launch_medians(d, launch, n, scratch_2n);
    double sd_medians = robust_sd(scratch_2n, n_launches, scratch_2n + n);
    double rounds = n_launches ? (double)n / (double)n_launches : 0;
    /* The medians of the launches also vary because of their rounds: subtract that part. */
    double of_rounds = rounds > 0 ? median_price(rounds) * sd_round * sd_round / rounds : 0;
    *out = (as_variance){.sigma_launch = sqrt(fmax(sd_medians * sd_medians - of_rounds, 0)),
                         .sigma_round = sd_round,
                         .rounds_a_launch = rounds,
                         .n_launches = (uint32_t)n_launches};
    return n_launches >= 2 && n_steps > 0;
}

/* Expensive launches that hardly differ get many rounds; cheap ones that differ get few. */
double as_rounds_best(const as_variance *v, double launch_ns, double round_ns)
{
    if (!(v->sigma_round > 0))
        return 1;
    if (!(v->sigma_launch > 0))
        return INFINITY;
    return fmax(v->sigma_round / v->sigma_launch * sqrt(launch_ns / round_ns), 1);
}

/* The effect, in standard deviations of the estimate, that is found with 95 % power at a two-sided alpha: 4.22 for 1 %. */
static double visible_sds(double alpha) { return as_normal_quantile(1 - alpha / 2) + as_normal_quantile(0.95); }

double as_effect_visible(const as_variance *v, double alpha, double n_launches, double n_rounds)
{
    double var = v->sigma_launch * v->sigma_launch / n_launches + v->sigma_round * v->sigma_round / (n_launches * n_rounds);
    return visible_sds(alpha) * sqrt(var);
}

/* Fewer units cannot be that sure even if they all agree: 8 for 1 %. */
static double units_least(double alpha) { return ceil(log2(2 / alpha)); }

/* The interval shrinks with the square root of the number of units.  A gap that is small compared with the interval is not known:
 * then a quarter of the half-width is used.  Both numbers are observed: a model of the variances once promised 214 ms after 970
 * ms had not been enough. */
double as_times_needed(double arm, double gap, double alpha, size_t n_units)
{
    double z = as_normal_quantile(1 - alpha / 2);
    if (isnan(arm))
        return units_least(alpha) / (double)n_units;
    if (!(arm > 0))
        return 0;
    return pow(arm / fmax(gap, arm / 4) * visible_sds(alpha) / z, 2);
}
