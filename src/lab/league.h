/* league.h - candidates that learn: each trains with several seeds, in turns, and the losses they end with are compared seed by seed. */
#ifndef AS_LAB_LEAGUE_H
#define AS_LAB_LEAGUE_H

#include "analysis/analysis.h"
#include "base/options.h"

enum { AS_LEAGUE_MOST = 12 }; /* candidates */

/* The values of all --vary, which must have one key.  Commas separate values; a part KEY=X without a colon belongs to the optimiser before
 * it: sgd:lr=0.1,momentum=0.9,adam.  Texts are in the arena. */
typedef struct as_league_values {
    const char *key;
    const char *values[AS_LEAGUE_MOST];
    int         n;
} as_league_values;
assay_status as_league_values_read(assay_env *env, as_texts vary, as_arena *arena, as_league_values *out);

/* Differences of pairs: their mean with Student's interval at 1 - alpha; lo and hi are NaN with fewer than two. */
typedef struct as_league_mean {
    double value, lo, hi;
    int    n;
} as_league_mean;
as_league_mean as_league_mean_of(const double *x, int n, double alpha);

assay_status as_league(assay_env *env, const char *const *what, size_t n, const assay_options *options, assay_facts **out);

#endif
