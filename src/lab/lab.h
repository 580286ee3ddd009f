/* lab.h - the laboratory: cases measured alone, candidates measured against each other.  May include the rooms that measure and
 * those that read.
 *
 * Every case runs in a child process of its own: a case that hangs is ended and recorded as timed out, one that crashes is
 * recorded as failed, and the other cases continue.  Answers are compared with the reference code before anything is timed. */
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
    double              target_width; /* of a single case: stop when its interval is this narrow, a share; 0: by the budget */
    bool                layers;       /* a comparison also records some runs step by step */
    uint64_t            timeout_ns;   /* of a launch, and of every answer of a child */
    bool                isolate;      /* one child process per case; off where the clock is simulated */
    const as_roofs     *roofs;        /* of the CPU; NULL: no limits are used, for any device */
    as_roofs_how        roofs_how;    /* how to get those of other devices */
    bool                checks;       /* compare answers with the reference code before timing */
} as_lab_settings;

/* Options budget, check, timeout, warmup, runs, clock, layout-of-memory, samples, target-width, margin, alpha, seed. budget: the
 * default for this kind of work, "12s"; NULL: that of the option table. */
assay_status as_lab_settings_read(assay_env *env, const assay_options *options, const char *budget, as_lab_settings *out);

/* The time of a trial by its budget; NaN where rounds are counted instead. */
double as_lab_expect_s(const as_lab_settings *s);

/* One case alone.  If a case cannot be measured, the trial's state and reason say so: the call itself fails only for lack of
 * memory or on cancel (then *out holds what was measured). */
assay_status as_lab_measure(assay_env *env, const as_bench_case *c, const as_lab_settings *s, assay_trace **out);
/* Cases against each other; the others are compared with candidate 0.  names: of the candidates.  Here and below *out is NULL on
 * entry, or a trial of the same candidates: it continues until the whole budget is spent, and *out is that trial or its
 * replacement. */
assay_status as_lab_compare(assay_env *env, const char *name, const as_bench_case *const *cases, const char *const *names, int n,
                            const as_lab_settings *s, assay_trace **out);
/* Programs that speak the line protocol: one argv each. */
assay_status as_lab_compare_bins(assay_env *env, const char *name, const char *const *const *argvs, const char *const *names, int n,
                                 const as_lab_settings *s, assay_trace **out);
/* The caller's own candidates, in this process. */
assay_status as_lab_compare_arms(assay_env *env, const char *name, const as_arm *arms, int n, const as_lab_settings *s,
                                 assay_trace **out);

/* Runs cases one after the other, each with the budget; trials[i] is NULL on entry.  Then the time left over by cases that were
 * settled early goes to the others, in equal shares.  A case runs as by as_lab_compare(); one that is not OK ends everything. */
typedef assay_status (*as_lab_case)(void *arg, int i, const as_lab_settings *s, assay_trace **trial);
assay_status as_lab_all(assay_env *env, as_lab_case run, void *arg, int n, const as_lab_settings *s, assay_trace **trials);

/* Runs `job` in a child, which continues the trial *out, and brings its trial back.  A child that is silent for timeout_ns
 * (progress counts) is ended with its process group; what *out held before is kept. */
typedef assay_status (*as_lab_job)(assay_env *env, void *arg, as_sampler_settings *sampler, assay_trace **out);
assay_status as_lab_isolated(assay_env *env, const char *name, int n_arms, as_lab_job job, void *arg, const as_lab_settings *s,
                             assay_trace **out);

#endif
