/* trial_facts.h - what the facts of bench, compare, check and noise share: numbers of a trial as metrics, its blocks as series.
 *
 * Series of case i are keyed "i.blocks.ARM", "i.samples", "i.fma", "i.copy", "i.busy.ARM" and "i.differences": a section finds them by
 * number and key, their label is the case or the arm. */
#ifndef AS_ANALYSIS_TRIAL_FACTS_H
#define AS_ANALYSIS_TRIAL_FACTS_H

#include "analysis/analysis.h"
#include "trace/trace_json.h"

/* Most points of a series: more are thinned evenly, and the label says so. */
#define AS_SERIES_MAX 2000

/* A number with its interval where both are finite; unavailable with the reason when it is none.  An estimate that rounding left
 * just outside its interval widens it. */
assay_metric as_number_measured(double value, double lo, double hi, uint64_t n, const char *unit, const char *source,
                                const char *reason);
assay_metric as_number_derived(double value, double lo, double hi, uint64_t n, const char *unit, const char *formula,
                               const char *reason);

/* A whole number that was counted; unavailable where it is NaN. */
assay_metric as_number_counted(double value, const char *unit, const char *source, const char *reason);

/* What the trial decides by: "thread CPU time of a block / its calls". */
const char *as_trial_clock_text(const assay_trace *t);
/* The block times of one arm and the probes, over the seconds since the trial began. */
void as_trial_series(assay_facts *f, as_fact_group *g, const assay_trace *t, int i_case);
/* Samples of one arm where they were kept, else its blocks: for its distribution. */
void as_trial_samples(assay_facts *f, as_fact_group *g, const assay_trace *t, int arm, int i_case);
/* The first trial's notes, and what all trials share, as notes of the facts. */
void as_trial_notes(assay_facts *f, const assay_trace *t);

#endif
