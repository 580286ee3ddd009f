/* timeline.h - a device's own timestamps on the host's clock.  Pure arithmetic: does not use the OpenCL library.
 *
 * The device counts nanoseconds from its own epoch, at (nearly) our rate, so one offset per segment joins the clocks.  It is
 * bracketed by what must be true, without extra commands:
 *   - no command starts before the host began to enqueue it, and all have ended when the drain returned;
 *   - the device stamped QUEUED while the host was inside the enqueue call.
 * The offset is the middle of the narrowest bracket, and half its width is the uncertainty. */
#ifndef AS_BACKEND_OPENCL_TIMELINE_H
#define AS_BACKEND_OPENCL_TIMELINE_H

#include "trace/trace.h"

typedef struct as_cl_stamp {
    int      step;                        /* in the plan */
    bool     ran;                         /* false: a step without elements, never enqueued; it has no times */
    uint64_t before_ticks, after_ticks;   /* host, around the enqueue */
    uint64_t queued_ns, start_ns, end_ns; /* device */
} as_cl_stamp;

/* One drained segment: host ticks before the first enqueue and after the drain. */
typedef struct as_cl_wall {
    uint64_t           begin_ticks, end_ticks;
    const as_cl_stamp *stamps;
    int                n_stamps;
} as_cl_wall;

typedef struct as_cl_fit {
    uint64_t origin_ns;      /* the device time that offset_ns belongs to */
    double   offset_ns;      /* of the origin, after the wall's begin */
    double   uncertainty_ns; /* of every mapped time; all in the segment have the same error */
    bool     by_queued;      /* false: QUEUED contradicted the rest and was not used */
    double   busy_ns;        /* sum over the commands */
} as_cl_fit;

/* ASSAY_DEVICE when the device's times cannot be true: a command that ends before it starts, or a sum of commands that is longer
 * than the wall by more than 1 % and 10 us. */
assay_status as_cl_timeline_fit(assay_env *env, const as_clock *clock, const as_cl_wall *wall, as_cl_fit *out);

/* Per stamp an AS_SPAN_STEP (clamped into the wall, disjoint and in order) and, if it ran, an AS_SPAN_DEVICE (as long as the device
 * reports).  A step that did not run gets an empty step span. */
void as_cl_timeline_write(const as_clock *clock, const as_cl_wall *wall, const as_cl_fit *fit, as_ring *ring);

#endif
