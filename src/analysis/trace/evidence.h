/* evidence.h - what the analyses share: the trace's raw records brought into order once.
 *
 * Everything returned lives in the facts' arena.  A record that contradicts itself (an end before its begin, a step that is not in
 * the plan, a sample of no runs) is left out, since a trace may come from anywhere. */
#ifndef AS_ANALYSIS_EVIDENCE_H
#define AS_ANALYSIS_EVIDENCE_H

#include "analysis/analysis.h"

#define AS_CONFIDENCE 0.95

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

/* The runs whose spans were kept, each with its own books. */
typedef struct as_kept_run {
    uint32_t run;
    bool     detailed;     /* outside the timed samples: run >= trace->n_runs */
    double   wall_ns;      /* of its RUN span; NaN: none */
    double   explained_ns; /* union of its step (else segment) spans inside the wall */
    double   transfer_ns;  /* of these, steps that move data between devices */
    int      n_spans;      /* of any kind, parts and device stamps too */
} as_kept_run;

typedef struct as_step_times {
    double *ns;
    size_t  n;
    bool    by_device;
} as_step_times;

typedef struct as_kept {
    as_kept_run   *runs;
    size_t         n_runs;
    as_step_times *steps;               /* one a plan step; n == 0: no span of it was kept */
    size_t         n_timed, n_detailed; /* runs with step spans, by where they come from */
    bool           uses_detailed;       /* steps[] comes from detailed runs, there being fewer than AS_KEPT_ENOUGH timed ones */
    bool           by_segment;          /* explained_ns comes from segment spans: there are no step spans */
} as_kept;

#define AS_KEPT_ENOUGH 5

as_kept as_kept_read(assay_facts *f, const assay_trace *t);
/* Whether steps[] and the books may use this run. */
bool as_kept_uses(const as_kept *k, const as_kept_run *run);

bool as_step_is_transfer(const as_trace_step *s);
bool as_step_is_prologue(const as_trace_step *s);

/* Sensor i of the trace as one number, by its meaning. */
assay_metric as_sensor_metric(assay_facts *f, const assay_trace *t, size_t i);
/* The first sensor whose name holds `part`, or -1. */
int as_sensor_find(const assay_trace *t, const char *part);

/* printf into the facts' arena; "" when memory ran out, which the facts then know. */
const char *as_say(assay_facts *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* as_show() into the facts' arena: "12.3 us". */
const char *as_say_number(assay_facts *f, double value, const char *unit);

#endif
