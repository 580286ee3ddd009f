/* evidence.h - what the analyses share: the trace's raw records, sorted and checked once.
 *
 * Everything returned lives in the facts' arena.  A record that contradicts itself (an end before its begin, a step that is not in
 * the plan, a sample of no runs) is left out, since a trace may come from anywhere. */
#ifndef AS_ANALYSIS_EVIDENCE_H
#define AS_ANALYSIS_EVIDENCE_H

#include "analysis/analysis.h"

#define AS_CONFIDENCE  0.95
#define AS_PARTS_JOINT " + " /* between the parts of a step in a table */

/* Times of one run each, in ns, in the order taken. */
typedef struct as_times {
    double *ns;     /* wall / runs in the sample */
    double *cpu_ns; /* of the calling thread, the same way; NaN: not read */
    double *at_s;   /* when the sample began, since the first */
    size_t  n, n_cpu;
    double  span_ns; /* first begin to last end */
} as_times;

/* n == 0 when there are none (or no memory, which the facts know). */
as_times as_times_read(assay_facts *f, const assay_trace *t);

/* The median of x as a metric: with the interval for dependent samples where n allows one, without where not; unavailable when n == 0. */
assay_metric as_median_metric(assay_facts *f, const double *x, size_t n, const char *unit, const char *source, const char *reason);

/* Why the CPU time of the calling thread does not show interruptions; NULL: it does. */
const char *as_cpu_time_is_mute(assay_facts *f, const assay_trace *t, const as_times *times);
#define AS_CLEAN_RATIO 0.97 /* of CPU time to wall time; below, something else ran on our CPU during the sample */

/* --- One estimator for parts and whole ------------------------------------------------------------------
 *
 * Times of layers, the time accounted for and their sums are means over the same runs: those that nothing interrupted, as far as
 * can be told.  Every moment of such a run belongs to one step or to none, so the parts and the unexplained time add up to the
 * whole exactly.  Medians of each step do not: a pre-emption that hits a different step in every run is in every run, but in no
 * step's median.
 *
 * A run is uninterrupted when all of these hold.  As the only run of its sample, it kept its CPU (AS_CLEAN_RATIO; where CPU time
 * shows it).  It took no longer than a bound set by the fast runs among those: their lower quartile plus three times its distance
 * from their 5th percentile, at least 5 % and at most 25 % more.  Where even the fast quarter spreads by more than 25 %, the 5th
 * percentile replaces the quartile.  And it took no longer than the timed samples can explain (as_trace_run_bound_ns): recorded
 * runs follow each other so closely that all of them may have had the same neighbour. */

#define AS_CLEAN_ENOUGH 5 /* uninterrupted runs; with fewer, no layer is judged */

typedef struct as_kept_run {
    uint32_t run;
    bool     detailed;     /* outside the timed samples: run >= trace->n_runs */
    bool     clean;        /* not interrupted */
    double   wall_ns;      /* of its RUN span */
    double   explained_ns; /* its step (else segment) spans inside the wall, each moment once; NaN: there are none */
    double   transfer_ns;  /* of these, steps that move data between devices */
    int      n_spans;      /* of any kind, parts and device stamps too */
} as_kept_run;

/* Where steps overlap, a moment belongs to the one that began first. */
typedef struct as_step_times {
    double *ns; /* in each run that may be used */
    size_t  n;
    double *clean_ns; /* in each undisturbed one */
    size_t  n_clean;
    double  clean_sum_ns;
} as_step_times;

typedef struct as_kept {
    as_kept_run   *runs;
    size_t         n_runs;
    as_step_times *steps;               /* one per plan step; n == 0: no span of it was kept */
    size_t         n_timed, n_detailed; /* runs with step spans, by where they come from */
    size_t         n_used, n_clean;     /* runs that may be used, and how many of them were not interrupted */
    double         clean_wall_ns;       /* sum over the uninterrupted ones */
    bool           uses_detailed;       /* detailed runs are used, because there are fewer than AS_KEPT_ENOUGH timed ones */
    bool           by_segment;          /* explained_ns comes from segment spans: there are no step spans */
    bool           by_device;           /* steps are known by their device's own stamps only */
} as_kept;

#define AS_KEPT_ENOUGH 5

as_kept as_kept_read(assay_facts *f, const assay_trace *t);
/* Whether the time accounted for and the medians may use this run. */
bool as_kept_uses(const as_kept *k, const as_kept_run *run);
/* Whether the means include this run: it was not interrupted, or all were. */
bool as_kept_counts(const as_kept *k, const as_kept_run *run);
/* The sum of n numbers, in the order taken, divided by n_runs; with its interval (95 %, from the means of 20 contiguous segments)
 * where there are 40 of them. */
assay_metric as_mean_metric(const double *x, size_t n, size_t n_runs, const char *unit, const char *source);

bool as_step_is_transfer(const as_trace_step *s);
bool as_step_is_prologue(const as_trace_step *s);

/* Sensor i of the trace as one number, by its meaning. */
assay_metric as_sensor_metric(assay_facts *f, const assay_trace *t, size_t i);
/* The first sensor of that name, or -1. */
int as_sensor_find(const assay_trace *t, const char *name);

/* printf into the facts' arena; "" when memory ran out, which the facts then know. */
const char *as_say(assay_facts *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* as_show() into the facts' arena: "12.3 us". */
const char *as_say_number(assay_facts *f, double value, const char *unit);

#endif
