/* calls.h - which options the public calls of the laboratory take, and so the verbs that do the same and print it. */
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

#endif
