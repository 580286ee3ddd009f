/* calls.h - which options the public calls of the laboratory take, and so the verbs that do the same and print it; and how the calls end. */
#ifndef AS_LAB_CALLS_H
#define AS_LAB_CALLS_H

/* clang-format off */
#define AS_CASE_KEYS     "sizes", "dtypes", "layout", "batch", "seq", "dim", "weights", "seed", "devices", "threads", "compile", \
                         "weights-as", "winograd"
#define AS_BENCH_KEYS    AS_CASE_KEYS, "suite", "budget", "runs", "warmup", "target-width", "timeout", "clock", "layout-of-memory", \
                         "samples", "store"
#define AS_COMPARE_KEYS  AS_CASE_KEYS, "vary", "device", "budget", "runs", "warmup", "timeout", "clock", "layout-of-memory", "samples", \
                         "margin", "alpha", "store"
#define AS_BASELINE_KEYS AS_CASE_KEYS, "suite", "description", "budget", "timeout", "store"
#define AS_CHECK_KEYS    "threshold", "severity", "alpha", "fail-on", "cross-machine", "budget", "timeout", "clock", "seed", "samples", \
                         "store"
/* clang-format on */

#include "lab/keep.h"
#include "lab/lab.h"

/* The facts own the trials from now on. */
void as_trials_give(assay_facts *f, assay_trace **trials, size_t n, const as_lab_settings *s);
/* What was measured is kept and handed over; the status is that of the measurement. */
assay_status as_facts_give(assay_env *env, const as_store_options *o, const char *kind, const char *title, assay_facts *f,
                           assay_status measured, assay_facts **out);

#endif
