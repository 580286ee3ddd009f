/* runner.h - the state of one measurement.  Private to run/. */
#ifndef AS_RUN_RUNNER_H
#define AS_RUN_RUNNER_H

#include "run/run.h"

typedef struct as_runner {
    assay_env             *env;
    assay_instance        *instance;
    const as_run_settings *settings;
    assay_trace           *trace;
    as_arena               arena;     /* the rings */
    bool                   fake;      /* the clock only moves when the null device moves it */
    bool                   reads_cpu; /* the calling thread does all the work, so its CPU time is the work's */
    double                 run_ns;    /* time of a run, as measured in the warm-up */
    as_recorder            recorder;
    int                    first_step;   /* index in the trace of this plan's first step */
    bool                   records_runs; /* a run is long enough for a span of its own */
    uint32_t               kept_runs;    /* runs whose spans are kept */
    uint32_t               kept_every;   /* keep one of this many, so that they are spread over the measurement */
    bool                   measures;     /* the warm-up is over: blocks are kept */
    bool                   disturbed;    /* something else ran since the last block */
    uint32_t               n_warm_up;    /* runs of the warm-up so far */
    uint32_t               run;          /* number of the run that is recorded */
    uint64_t               last;         /* the latest stamp of a run that is recorded */
    uint64_t               allocs;       /* allocations of the devices when measuring began */
    uint64_t              *taken;        /* what the instance holds on each device */
} as_runner;

/* The most samples that the loop asks for at once. */
enum { AS_BLOCK_MAX_SAMPLES = 1024 };

/* The sensors that the settings ask for. */
assay_status as_run_sensors_open(assay_env *env, const as_run_settings *s, as_sensors **out);

/* Ticks of now, as the trace counts them. */
uint64_t as_runner_now(const as_runner *r);
/* Allocations of its devices so far. */
uint64_t as_runner_allocs(const as_runner *r);

/* Measures the cost of a span and makes the detail coarser until recording costs at most settings->max_cost of a run. */
assay_status as_runner_choose_detail(as_runner *r);
/* Makes rings that hold all spans of one sample, and room in the trace for what is kept. */
assay_status as_runner_make_rings(as_runner *r, as_detail detail, uint32_t runs_at_once);
/* The most spans that a run writes at a detail, over all rings. */
uint64_t as_runner_spans(const as_runner *r, as_detail detail);
/* Adds the contents of the rings to the totals, keeps the spans of the chosen runs (or of all), and empties the rings. */
void as_runner_drain(as_runner *r, bool all);
void as_runner_forget(as_runner *r); /* empties the rings: a run that did not end is not a result */

/* The memory of the run as events, from what the plan, the spans and the stamps say: nothing of it is recorded while something is timed.
 * `freed`: when the devices' memory was given back.  False: no memory. */
bool as_runner_record_memory(as_runner *r, uint64_t freed);

/* Paces the runs that are recorded after the samples.  A slow run is replaced by another one, up to AS_PACE_MOST times the wanted
 * number in all.  After several slow runs in a row there is a pause, so that a neighbour can go away. */
enum { AS_PACE_MOST = 4 };
typedef enum as_pace_next { AS_PACE_GO, AS_PACE_PAUSE, AS_PACE_STOP } as_pace_next;
typedef struct as_pace {
    uint32_t wanted, n, n_good, n_slow; /* n_slow: in a row */
} as_pace;
as_pace_next as_pace_step(as_pace *p, bool slow);

#endif
