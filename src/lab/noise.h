/* noise.h - the smallest change that this machine can detect: the same work against itself, by both clocks and several block
 * lengths.
 *
 * Stored under the machine's fingerprint, and used to plan the next comparison. */
#ifndef AS_LAB_NOISE_H
#define AS_LAB_NOISE_H

#include "analysis/analysis.h"
#include "lab/keep.h"
#include "lab/lab.h"

enum { AS_NOISE_TRIALS = 6 };

typedef struct as_noise {
    assay_trace *trials[AS_NOISE_TRIALS];
    const char  *loads[AS_NOISE_TRIALS];    /* what each worked on: "compute", "memory" */
    double       block_ns[AS_NOISE_TRIALS]; /* how long its blocks were */
    int          n;
} as_noise;

/* Divides the budget among its trials.  CANCELLED keeps the complete ones. */
assay_status as_noise_measure(assay_env *env, const as_lab_settings *s, as_noise *out);
void         as_noise_drop(as_noise *n);
assay_status as_noise_facts(assay_env *env, const as_noise *n, assay_facts **out);

/* What planning needs: the best block length and clock, and the variance of a round with them. */
typedef struct as_noise_plan {
    double  block_ns, sigma_round, round_ns;
    bool    by_wall;
    int64_t unix_time;
} as_noise_plan;
assay_status as_noise_save(assay_env *env, as_store *store, const as_noise *n);
/* False: never measured on this machine, or the store cannot be read. */
bool as_noise_load(assay_env *env, as_store *store, as_noise_plan *out);
/* Before a comparison: takes the block length from the stored noise, and says what to expect, from the last comparison of this
 * case or otherwise from the machine's noise.  "" when nothing is known. */
void as_noise_expect(assay_env *env, const as_store_options *o, const char *name, as_lab_settings *s, char *sentence, size_t size);
/* The smallest effect, a share, that two candidates of one process can show in this many seconds. */
double as_noise_visible(const as_noise_plan *p, double alpha, double seconds);

#endif
