/* lab.h - the laboratory: cases measured alone, arms measured against each other.  Sees the doers and the readers.
 *
 * Every case runs in a child process of its own: what hangs is ended and recorded as timed out, what crashes is recorded as failed, and the
 * other cases go on.  Answers are compared with the slow truth before anything is timed. */
#ifndef AS_LAB_LAB_H
#define AS_LAB_LAB_H

#include "analysis/duel/duel.h"
#include "lab/cases.h"
#include "roof/roof.h"
#include "run/sampler.h"

typedef struct as_lab_settings {
    as_sampler_settings sampler;
    as_duel_rules       rules;
    bool                early;        /* a comparison ends as soon as it is settled */
    double              target_width; /* of a case alone: stop when its interval is so narrow, a share; 0: by the budget */
    bool                layers;       /* a comparison also records some runs step by step */
    uint64_t            timeout_ns;   /* of a launch, and of every answer of a child */
    bool                isolate;      /* a child process a case; off where the clock is a fake */
    const as_roofs     *roofs;        /* of the CPU; NULL: no limits are asked for, of no device */
    as_roofs_how        roofs_how;    /* how those of other devices are had */
    bool                checks;       /* answers are compared with the slow reference before they are timed */
} as_lab_settings;

/* Options budget, check, timeout, warmup, runs, clock, layout-of-memory, samples, target-width, margin, alpha, seed.
 * budget: the default of this kind of work, "12s"; NULL: that of the table. */
assay_status as_lab_settings_read(assay_env *env, const assay_options *options, const char *budget, as_lab_settings *out);

/* How long the budget says that a trial takes; NaN where it counts rounds. */
double as_lab_expect_s(const as_lab_settings *s);

/* One case alone.  A case that cannot be measured is a trial whose state and reason say so: the call itself fails only for lack of memory
 * or on cancel (and then *out holds what was measured). */
assay_status as_lab_measure(assay_env *env, const as_bench_case *c, const as_lab_settings *s, assay_trace **out);
/* Cases against each other, arm 0 being the one that the others are compared with.  names: of the arms.  Here and below *out is NULL before, or a
 * trial of the same arms: it goes on until the budget is spent in all, and *out is it or what has taken its place. */
assay_status as_lab_compare(assay_env *env, const char *name, const as_bench_case *const *cases, const char *const *names, int n,
                            const as_lab_settings *s, assay_trace **out);
/* Programs that speak the line protocol: one argv each. */
assay_status as_lab_compare_bins(assay_env *env, const char *name, const char *const *const *argvs, const char *const *names, int n,
                                 const as_lab_settings *s, assay_trace **out);
/* Arms of the caller's own, in this process. */
assay_status as_lab_compare_arms(assay_env *env, const char *name, const as_arm *arms, int n, const as_lab_settings *s,
                                 assay_trace **out);

/* Cases one after the other, trials[i] NULL before, each with the budget; then what those that were settled early left of the whole goes to those
 * that are not, in equal shares.  The run of a case is as as_lab_compare(); one that is not OK ends it all. */
typedef assay_status (*as_lab_case)(void *arg, int i, const as_lab_settings *s, assay_trace **trial);
assay_status as_lab_all(assay_env *env, as_lab_case run, void *arg, int n, const as_lab_settings *s, assay_trace **trials);

/* Runs `job` in a child, which has the trial *out to go on with, and brings its trial back.  A child that is silent for timeout_ns (progress
 * counts) is ended with its group; what *out had before it is kept. */
typedef assay_status (*as_lab_job)(assay_env *env, void *arg, as_sampler_settings *sampler, assay_trace **out);
assay_status as_lab_isolated(assay_env *env, const char *name, int n_arms, as_lab_job job, void *arg, const as_lab_settings *s,
                             assay_trace **out);

#endif
