/* probe.h - what a batch size costs: planned to the byte, and tried in a child process under a memory limit. */
#ifndef AS_TRAIN_PROBE_H
#define AS_TRAIN_PROBE_H

#include "train/train.h"
#include "trace/trace.h"

typedef enum as_probe_state {
    AS_PROBE_FITS,
    AS_PROBE_NO_MEMORY, /* more than the limit: a data point, not a failure */
    AS_PROBE_FAILED
} as_probe_state;

enum { AS_PROBE_STEPS = 400 };
typedef struct as_probe {
    int64_t        batch;
    int            threads;
    as_probe_state state;
    uint64_t       planned_bytes;   /* of an instance; 0: it could not be planned */
    double         peak_bytes;      /* by which the child's resident memory grew; NaN: not known */
    double   step_ns, lo_ns, hi_ns; /* median time of a step with its 95 % interval; CPU time with one thread, unless by_wall */
    uint32_t n_steps;
    bool     by_wall;               /* which of the two clocks step_ns is of */
    as_shot  steps[AS_PROBE_STEPS]; /* each of them, by both clocks */
    char     why[256];
} as_probe;

/* The bytes that an instance of a training step takes, by the planner; nothing is allocated for it. */
assay_status as_probe_plan(assay_env *env, const assay_model *model, const as_train_setup *setup, const as_plan_options *options,
                           int64_t batch, uint64_t *bytes);
/* Takes steps in a child process that may take limit_bytes more memory than it has (0: no limit): warm-up until the times are steady, then
 * steps for about `seconds`.  Several threads are timed by the wall.  Running out of memory, or a crash, is a state of the probe and never ends the caller. */
assay_status as_probe_run(assay_env *env, const assay_model *model, const as_train_setup *setup, const as_plan_options *options,
                          int64_t batch, uint64_t limit_bytes, double seconds, bool by_wall, as_probe *out);
/* The same with options that bind the batch already, whatever the model calls it; batch is for the probe's own record. */
assay_status as_probe_bound(assay_env *env, const assay_model *model, const as_train_setup *setup, const as_plan_options *options,
                            int64_t batch, uint64_t limit_bytes, double seconds, bool by_wall, as_probe *out);
/* Runs a job in such a child; NO_MEMORY and crashes as above.  The job's message goes to out->why. */
typedef assay_status (*as_probe_job)(assay_env *env, void *arg, as_probe *out);
assay_status as_probe_child(assay_env *env, as_probe_job job, void *arg, uint64_t limit_bytes, as_probe *out);

/* The largest batch size of at most `most` that takes at most budget_bytes, 0: not even one example; memory rises with the batch, so
 * doubling and halving find it. */
typedef assay_status (*as_probe_bytes)(void *arg, int64_t batch, uint64_t *out);
assay_status as_probe_search(int64_t most, uint64_t budget_bytes, as_probe_bytes bytes_of, void *arg, int64_t *out);
/* The largest batch size of at most `most` whose plan takes at most budget_bytes; 0: not even one example fits. */
assay_status as_probe_largest(assay_env *env, const assay_model *model, const as_train_setup *setup, const as_plan_options *options,
                              uint64_t budget_bytes, int64_t most, int64_t *out);

/* y = a + b x by least squares, every point weighted by 1 / y^2; lo, hi: 95 % interval of b.  False: fewer than two different x. */
typedef struct as_line {
    double a, b, b_lo, b_hi, worst; /* worst: largest relative distance of a point */
} as_line;
bool as_line_fit(const double *x, const double *y, int n, as_line *out);

/* The knee: the smallest batch size with at least 95 % of the throughput that ever larger ones approach, 1 / b.  b <= 0: NaN. */
double as_line_knee(const as_line *time);

/* The batch size to use: the knee in steps of 8, or the largest where the knee is beyond it or not known. */
int64_t as_batch_of_knee(double knee, int64_t largest);

/* --batch auto.  Tries a few sizes up to the largest that fits, and takes the knee of the line through their times. */
typedef struct as_batch_choice {
    int64_t  batch, largest;
    double   knee;     /* NaN: no line, or the time does not grow with the batch size */
    as_line  line;     /* time of a step in ns; only where n_probes > 1 */
    int      n_probes; /* that fitted */
    uint64_t budget_bytes;
} as_batch_choice;
typedef assay_status (*as_probe_try)(void *arg, int64_t batch, uint64_t limit_bytes, as_probe *out);
/* NO_MEMORY: not even one example fits. */
assay_status as_probe_choose(assay_env *env, int64_t most, uint64_t budget_bytes, as_probe_bytes bytes_of, as_probe_try try_it,
                             void *arg, as_batch_choice *out);

/* What guides say about networks of this kind: conservative, usual, daring. */
typedef struct as_batch_prior {
    const char *kind; /* "small CNN" */
    int64_t     batch[3];
} as_batch_prior;
as_batch_prior as_probe_prior(const assay_model *model);
uint64_t       as_probe_memory(void); /* that the machine could give now; 0: not known */

#endif
