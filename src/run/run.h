/* run.h - warm-up, repetition, pinning and sensors around an instance; fills a trace and does nothing else.
 *
 * Between two stamps nothing is allocated, locked or printed.  Samples are raw: statistics belong to analysis/. */
#ifndef AS_RUN_RUN_H
#define AS_RUN_RUN_H

#include "base/pool.h"
#include "plan/plan.h"
#include "roof/roof.h"
#include "sensor/sensor.h"

/* LOOK is not a choice of the option: it takes the limits that are known and measures none. */
typedef enum as_run_roofs { AS_RUN_ROOFS_OFF, AS_RUN_ROOFS_AUTO, AS_RUN_ROOFS_MEASURE, AS_RUN_ROOFS_LOOK } as_run_roofs;
as_roofs_how as_run_roofs_how(as_run_roofs roofs);

/* What the planner counted for the same plan with one option changed. */
typedef struct as_run_planned {
    const char *option; /* "batch", "weights-as=f16" */
    uint64_t    step;   /* of "batch": its size */
    uint64_t    peak_bytes;
} as_run_planned;
enum { AS_RUN_MAX_PLANNED = 4 };

typedef struct as_run_settings {
    uint64_t       n_runs;  /* 0: by time */
    uint64_t       time_ns; /* budget of the measured part */
    bool           pin;
    const char    *sensors;                     /* as as_sensors_open() */
    as_detail      detail;                      /* finest wanted; made coarser until it costs at most max_cost of the run */
    double         max_cost;                    /* 0.005 */
    const char    *trace_path;                  /* file that grows while running, or NULL */
    uint32_t       kept_runs;                   /* runs whose spans are kept, spread over the measurement; totals cover all runs */
    as_run_planned planned[AS_RUN_MAX_PLANNED]; /* go into the trace, for the analysis of memory */
    int            n_planned;
    bool           asks_ne;          /* record that the Neural Engine was asked for */
    bool           tracks_unified;   /* count the peak of the process anew where measuring begins */
    bool           tracks_bandwidth; /* read the memory controller's count, too */
    bool           keeps;            /* the instance goes on: its memory is not given back, and the record has no end of it */
    as_run_roofs   roofs;            /* whether a CPU's limits go into the trace, and how to get them */
} as_run_settings;

extern const as_option_member as_run_members[];
assay_status                  as_run_settings_read(assay_env *env, const assay_options *options, as_run_settings *out);

/* Warms the instance up until it is steady, measures, and fills the trace (made by as_trace_new, already described).
 *
 * Nothing is timed between two samples: there spans are drained, the file grows, sensors are read and progress is reported.  Runs
 * are numbered from 0 through all samples.  With run spans on, those of a sample tile it exactly.
 *
 * When recording steps in the samples costs too much (detail_why says so), some more runs with all their steps follow the last
 * sample.  Their spans have run numbers from trace->n_runs on, and the totals of the steps come from them: they give shares of
 * time, but not durations.
 *
 * At the end the instance's memory on the devices is given back, so that the record has that too: the instance can then only be freed.
 *
 * CANCELLED is the only failure that leaves a result: the trace holds what was measured until then and is finished like any
 * other. */
assay_status as_run_measure(assay_env *env, assay_instance *instance, const as_run_settings *settings, assay_trace *trace);

/* From a plan to a new trace: instance with random inputs, machine sheet, plan description, measurement.  On CANCELLED *out holds
 * the trace of what was measured, and the caller frees it; on any other failure *out is untouched.  The public assay_profile() is
 * this with settings from options. */
assay_status as_run_profile(assay_env *env, const assay_plan *plan, const as_run_settings *settings, uint64_t seed,
                            assay_trace **out);

/* Again with the same instance, which keeps its memory and its packed weights: a new trace.  As as_run_profile() otherwise. */
assay_status as_run_profile_on(assay_env *env, assay_instance *instance, const as_run_settings *settings, uint64_t seed,
                               assay_trace **out);

/* A function of the caller's own, measured by the same loop.  What it does is what the caller states. */
typedef struct as_function {
    const char *name;
    void (*run)(void *arg);
    void       *arg;
    uint64_t    items; /* of one call; 0: not stated */
    uint64_t    flops, bytes;
    const char *stated; /* where flops and bytes come from; NULL: nobody stated them */
} as_function;
/* On CANCELLED *out holds what was measured, as as_run_profile(). */
assay_status as_run_function(assay_env *env, const as_function *function, const as_run_settings *settings, assay_trace **out);

/* --winograd, measured: builds the same plan without it, runs it on the inputs of an instance that has run, and gives the largest
 * difference of any output, relative where an output is large (as_view_error).  options: those of the instance's plan. */
assay_status as_run_winograd_error(assay_env *env, const assay_instance *instance, const as_plan_options *options, double *error);
/* The same on random inputs by seed, as the note "winograd.error" of a trace. */
assay_status as_run_winograd_note(assay_env *env, const assay_plan *plan, const as_plan_options *options, uint64_t seed,
                                  assay_trace *trace);

/* --- Pinning: each thread of a device stays on one CPU while something is measured --- */

typedef struct as_pinning {
    as_device *device;
    as_pin    *pins; /* one per thread; NULL: nothing is pinned */
    int        n_threads, n_pinned;
    char       why[128]; /* why a thread could not be pinned */
} as_pinning;

/* Pins every thread of the device, including the calling one, to a CPU of its own; *p says how many succeeded.  Takes its memory
 * from the arena. */
void as_pinning_do(as_pinning *p, as_device *device, as_arena *arena);
/* Restores the CPUs that the threads could use before; does nothing where nothing was pinned. */
void as_pinning_undo(as_pinning *p);

#endif
