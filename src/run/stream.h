/* stream.h - one answer per sample, without end: a control loop that watches its deadline.
 *
 * A sample is read, the network takes one step, the answer is written, and the network's state goes into the next step.  There
 * are three stamps per sample: after the read that completed it, before the write and after it; between them nothing is allocated
 * or locked, and only the answer is printed.  Durations are counted in boxes (tally.h), so memory does not grow. */
#ifndef AS_RUN_STREAM_H
#define AS_RUN_STREAM_H

#include "plan/plan.h"
#include "run/tally.h"

typedef struct as_stream_settings {
    int      in_fd, out_fd;
    bool     raw;           /* 32-bit floats of this machine instead of lines of numbers with commas */
    bool     has_timespans; /* the last number of a sample is its time span */
    int64_t  rate_hz;       /* 0: none asked for */
    uint64_t deadline_ns;   /* 0: the period of the rate; without a rate nothing is late */
} as_stream_settings;

/* Options format, rate, deadline, timespans; the file descriptors are the caller's. */
assay_status as_stream_settings_read(assay_env *env, const assay_options *options, as_stream_settings *out);

/* Stays where it is: metrics point to the texts in it. */
typedef struct as_stream_report {
    uint64_t     n, n_missed, n_waiting; /* answers; late answers; samples that arrived before the previous answer was written */
    bool         cancelled;
    int64_t      rate_hz;
    uint64_t     deadline_ns;         /* 0: none */
    char         clock[32];           /* clock that measured */
    assay_metric rate;                /* answers per second, from the first sample to the last answer */
    assay_metric compute_p50;         /* sample to answer computed */
    assay_metric p50, p99, p999, max; /* sample to answer written */
    assay_metric jitter;              /* median difference between the latencies of successive answers */
    assay_metric interval_jitter;     /* median difference between the time from answer to answer and the period */
    char         reasons[5][96];      /* reasons of the metrics that are unavailable */
} as_stream_report;

/* Streams until the input ends, assay_cancel(), or a failure.  The instance has batch 1 (and seq 1).  Its states are variables of
 * its plan (as_state_variables) and hold the initial state; the first input is the sample, and the other inputs keep the values
 * that they hold.  Bad samples are refused with their line.  *report covers the answers given, in every case. */
assay_status as_stream_run(assay_env *env, assay_instance *instance, const as_stream_settings *settings, as_stream_report *report);

#endif
