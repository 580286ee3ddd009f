/* stat.h - the statistics of comparisons: pure functions on numbers that do not know where the numbers come from.
 *
 * All are based on ranks; their guarantees come from the coin that orders a round, not from a model of the noise.  Logarithms of
 * ratios are called d.  Where memory is needed, the caller passes scratch.  Base statistics (quantiles, medians, Theil-Sen) are
 * base/stats.h. */
#ifndef AS_ANALYSIS_STAT_H
#define AS_ANALYSIS_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stats.h"

/* --- The normal distribution (stat_rank.c) ----------------------------------------------------------- */

double as_normal_cdf(double z);
double as_normal_quantile(double p);

/* --- Location of paired differences (stat_rank.c) ------------------------------------------------- */

#define AS_HL_MAX 300 /* with more values, this many medians of consecutive groups are used */

/* Hodges-Lehmann: the median of all pairwise averages.  scratch: AS_HL_MAX * (AS_HL_MAX + 1) / 2 + AS_HL_MAX doubles, or n (n + 3) / 2 if fewer.  NaN when n == 0. */
double as_hodges_lehmann(const double *d, size_t n, double *scratch);
/* The null distribution of the signed-rank sum: P(W <= w) for n differences without ties, exact for n <= 200 (subset-sum over 1..n in
 * double), normal with continuity correction above. */
double as_signed_rank_cdf(size_t n, double w);
/* Estimate and interval by inverting the signed-rank test; false when n is too small for the confidence (99 % needs 8); value is
 * set anyway.  out->confidence is the confidence reached, at least the one asked for. */
bool as_signed_rank_interval(const double *d, size_t n, double confidence, double *scratch, as_interval *out);
/* One-sided p: how likely is a signed-rank sum this large if the true location is <= shift.  Zero differences are dropped, ties get mid ranks. */
double as_signed_rank_p(const double *d, size_t n, double shift, double *scratch_2n);
/* Sign-flip permutation test of the mean of d - shift, one-sided (greater): all 2^n flips for n <= 16, else 9999 drawn by seed, p = (c + 1) / (R + 1). */
double as_sign_flip_p(const double *d, size_t n, double shift, uint64_t seed);
/* Exact one-sided sign test: k of n above. */
double as_sign_p(int64_t k, int64_t n);

/* --- Deciding while looking (stat_eprocess.c) ----------------------------------------------------- */

/* ln E of the sign e-process with k of n signs positive: valid at every look; -INFINITY when 2k <= n. */
double as_sign_e_log(int64_t k, int64_t n);
double as_log_sum_exp(double a, double b);
/* ln of the regularised incomplete beta function I_x(a, b), accurate in the far tail. */
double as_log_beta_cdf(double x, double a, double b);
/* Share of alpha that look 0..4, after L = 8, 12, 16, 24, 32 launches, may spend (.1 .1 .2 .3 .3); 0 beyond.  launches may be NULL. */
double as_look_share(int look, int *launches);

/* --- Many cases (stat_many.c) ---------------------------------------------------------------------- */

/* Benjamini-Hochberg: sets reject[i] for the p-values that may be called discoveries at rate q; returns how many. */
size_t as_benjamini_hochberg(const double *p, size_t n, double q, bool *reject, size_t *scratch_n);
/* e-BH on ln e: valid under any dependence. */
size_t as_e_bh(const double *ln_e, size_t n, double q, bool *reject, size_t *scratch_n);
/* Exact (Clopper-Pearson) bounds of a share: k of n at a two-sided confidence. */
void as_binomial_bounds(int64_t k, int64_t n, double confidence, double *lo, double *hi);

/* --- Planning (stat_plan.c) ------------------------------------------------------------------------- */

/* Variance between launches and between rounds of a launch, from d grouped by launch (launch[i] ascending), by robust scales (1.4826 MAD);
 * false when there are fewer than 2 launches (sigma_launch 0 then) or fewer than 2 rounds. */
typedef struct as_variance {
    double   sigma_launch, sigma_round;
    double   rounds_a_launch;
    uint32_t n_launches;
} as_variance;
bool as_variance_split(const double *d, const uint32_t *launch, size_t n, double *scratch_2n, as_variance *out);
/* The best number of rounds per launch, given the costs of a launch and of a round: at least 1, INFINITY (as many as fit) when
 * launches do not differ. */
double as_rounds_best(const as_variance *v, double launch_ns, double round_ns);
/* The effect (a log ratio) that this many launches of this many rounds find with 95 % power at confidence 1 - alpha. */
double as_effect_visible(const as_variance *v, double alpha, double n_launches, double n_rounds);
/* How many times as much has to be measured to detect `gap` with 95 % power, when the interval now reaches `arm` to either side
 * of its estimate.  Above 1 wherever the interval reaches over the gap.  arm NaN: until there are enough units for an interval at
 * all. */
double as_times_needed(double arm, double gap, double alpha, size_t n_units);

/* --- Steady or not (stat_steady.c) ------------------------------------------------------------------ */

typedef enum as_steady { AS_STEADY_FLAT, AS_STEADY_WARM_UP, AS_STEADY_SLOWDOWN, AS_STEADY_NONE, AS_N_STEADY } as_steady;
const char *as_steady_text(as_steady s); /* "flat", "warm-up", "slowdown", "no steady state" */
/* The label of a series of block times, by rank change points of at least 1 %; *from gets the first index of the last segment.  Warm-up: the
 * last segment is as fast as any; slowdown: it is not; none: it is shorter than a quarter of the series. */
as_steady as_steady_label(const double *y, size_t n, uint64_t seed, size_t *from);

/* --- Change points (stat_edivisive.c) ---------------------------------------------------------------- */

/* before, after: medians of the segments beside `at`, or of their 50 values next to it.  went_away: each of the last 3 values of the series is
 * nearer to before than to after. */
typedef struct as_change {
    size_t at;
    double p, before, after;
    bool   went_away;
} as_change;
/* E-divisive on ranks, recursive, seeded permutations (999 for a window of up to 50 values, stopped early once p cannot fall
 * below alpha).  A longer series is searched by windows of 50, with more permutations and p multiplied by the number of windows
 * tried.  Points whose step is below min_step (relative) are dropped.  Deterministic for the same data and seed.  Returns how
 * many, ascending, at most max. */
size_t as_change_points(const double *y, size_t n, double alpha, double min_step, uint64_t seed, as_change *out, size_t max);
/* A seed from the data, so that the same history gives the same answer. */
uint64_t as_data_seed(const double *y, size_t n);

/* --- Intervals of derived values (stat_bca.c) -------------------------------------------------------- */

/* BCa bootstrap over resampling units: statistic(units chosen by index, n, arg), called 2000 + n + 1 times, with n or n - 1 units.  2000 replicates by
 * seed; false, and *out untouched, below 10 units or when the statistic is not finite. */
bool as_bca(double (*statistic)(const uint32_t *chosen, size_t n, const void *arg), const void *arg, size_t n, double confidence,
            uint64_t seed, double *scratch_2000, uint32_t *scratch_n, as_interval *out);

/* Student's quantile that leaves `tail` above it (stat_student.c). */
double as_student(double tail, double freedom);

#endif
