/* timeline.c - a device's own timestamps on the host's clock. */
#include "backend/opencl/timeline.h"

#include <math.h>

/* Two clocks that were calibrated separately may differ a little over a long segment; a short segment is only a few readings
 * long. */
#define SLACK_SHARE 0.01
#define SLACK_NS    10000.0

static double host_ns(const as_clock *clock, const as_cl_wall *wall, uint64_t ticks)
{
    return as_clock_ns(clock, ticks - wall->begin_ticks);
}

/* Signed: QUEUED lies before the origin. */
static double device_ns(const as_cl_fit *fit, uint64_t ns) { return (double)(int64_t)(ns - fit->origin_ns); }

typedef struct bracket {
    double lo, hi;
} bracket;

/* What must be true whatever the driver does. */
static bracket bracket_causal(const as_clock *clock, const as_cl_wall *wall, const as_cl_fit *fit)
{
    bracket b = {0.0, INFINITY};
    double  wall_ns = host_ns(clock, wall, wall->end_ticks);
    for (int i = 0; i < wall->n_stamps; i++) {
        const as_cl_stamp *s = &wall->stamps[i];
        if (!s->ran)
            continue;
        b.lo = fmax(b.lo, host_ns(clock, wall, s->before_ticks) - device_ns(fit, s->start_ns));
        b.hi = fmin(b.hi, wall_ns - device_ns(fit, s->end_ns));
    }
    return b;
}

/* Much narrower, if QUEUED is what the standard says. */
static bracket bracket_queued(const as_clock *clock, const as_cl_wall *wall, const as_cl_fit *fit, bracket b)
{
    for (int i = 0; i < wall->n_stamps; i++) {
        const as_cl_stamp *s = &wall->stamps[i];
        if (!s->ran)
            continue;
        b.lo = fmax(b.lo, host_ns(clock, wall, s->before_ticks) - device_ns(fit, s->queued_ns));
        b.hi = fmin(b.hi, host_ns(clock, wall, s->after_ticks) - device_ns(fit, s->queued_ns));
    }
    return b;
}

assay_status as_cl_timeline_fit(assay_env *env, const as_clock *clock, const as_cl_wall *wall, as_cl_fit *out)
{
    as_cl_fit fit = {.origin_ns = UINT64_MAX};
    double    wall_ns = host_ns(clock, wall, wall->end_ticks);
    int       n_ran = 0;
    for (int i = 0; i < wall->n_stamps; i++) {
        const as_cl_stamp *s = &wall->stamps[i];
        if (!s->ran)
            continue;
        if (s->end_ns < s->start_ns)
            return as_fail(env, ASSAY_DEVICE,
                           "measuring error: the device says that step %d started at %llu ns and ended at %llu ns", s->step,
                           (unsigned long long)s->start_ns, (unsigned long long)s->end_ns);
        fit.origin_ns = s->start_ns < fit.origin_ns ? s->start_ns : fit.origin_ns;
        fit.busy_ns += (double)(s->end_ns - s->start_ns);
        n_ran++;
    }
    if (fit.busy_ns > wall_ns * (1.0 + SLACK_SHARE) + SLACK_NS)
        return as_fail(env, ASSAY_DEVICE,
                       "measuring error: the device says that %d steps took %.0f ns, but their segment took %.0f ns", n_ran,
                       fit.busy_ns, wall_ns);
    if (!n_ran) {
        *out = (as_cl_fit){.by_queued = true};
        return ASSAY_OK;
    }
    bracket causal = bracket_causal(clock, wall, &fit), queued = bracket_queued(clock, wall, &fit, causal);
    fit.by_queued = queued.lo <= queued.hi;
    bracket b = fit.by_queued ? queued : causal;
    fit.offset_ns = (b.lo + b.hi) / 2.0;
    fit.uncertainty_ns = fabs(b.hi - b.lo) / 2.0;
    *out = fit;
    return ASSAY_OK;
}

/* Host ticks of a device time.  A time before the wall's begin, which only an inverted bracket can give, becomes that begin. */
static uint64_t ticks_of(const as_clock *clock, const as_cl_wall *wall, const as_cl_fit *fit, uint64_t ns)
{
    double after = (fit->offset_ns + device_ns(fit, ns)) / clock->ns_per_tick;
    return wall->begin_ticks + (after > 0.0 ? (uint64_t)(after + 0.5) : 0);
}

void as_cl_timeline_write(const as_clock *clock, const as_cl_wall *wall, const as_cl_fit *fit, as_ring *ring)
{
    uint64_t cursor = wall->begin_ticks;
    for (int i = 0; i < wall->n_stamps; i++) {
        const as_cl_stamp *s = &wall->stamps[i];
        uint64_t           begin = cursor, end = cursor;
        if (s->ran) {
            uint64_t start = ticks_of(clock, wall, fit, s->start_ns);
            uint64_t length = (uint64_t)((double)(s->end_ns - s->start_ns) / clock->ns_per_tick + 0.5);
            as_ring_add(ring, AS_SPAN_DEVICE, s->step, start, start + length);
            begin = start > cursor ? start : cursor;
            begin = begin < wall->end_ticks ? begin : wall->end_ticks;
            end = start + length < wall->end_ticks ? start + length : wall->end_ticks;
            end = end > begin ? end : begin;
        }
        as_ring_add(ring, AS_SPAN_STEP, s->step, begin, end);
        cursor = end;
    }
}
