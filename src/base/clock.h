/* clock.h - time in ticks: the TSC (or the arm counter) where it is invariant, the monotonic clock
 * elsewhere, and a fake clock that only moves when a test or the null device moves it.
 *
 * Measuring code stamps raw ticks and stores them; ticks become nanoseconds when they are read. */
#ifndef AS_BASE_CLOCK_H
#define AS_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

typedef enum as_clock_kind { AS_CLOCK_MONOTONIC, AS_CLOCK_COUNTER, AS_CLOCK_FAKE } as_clock_kind;

typedef struct as_clock {
    as_clock_kind kind;
    double        ns_per_tick;        /* calibrated against the monotonic clock; 1 for the others */
    double        calibration_spread; /* relative spread of the calibration windows; 0 if exact */
    double        cost_ns;            /* what one reading costs, measured when opened; 0 for the fake */
    const char   *name;               /* "tsc", "cntvct", "monotonic", "fake" */
    const char   *why;                /* why not a faster one; "" if it is the fastest */
    uint64_t      fake_ticks;         /* AS_CLOCK_FAKE: the time, in ns */
} as_clock;

/* Picks the counter if the CPU says it is invariant and the calibration (about 20 ms) repeats
 * within 0.1 %, else the monotonic clock. */
void as_clock_open(as_clock *clock);
void as_clock_open_monotonic(as_clock *clock);
void as_clock_open_fake(as_clock *clock, uint64_t start_ns);

uint64_t as_monotonic_ns(void);  /* CLOCK_MONOTONIC (CLOCK_UPTIME_RAW on macOS) */
uint64_t as_thread_cpu_ns(void); /* CPU time of this thread; costs about 1 us */
uint64_t as_process_cpu_ns(void);
long     as_thread_switches(
        void); /* involuntary context switches of this thread so far; 0 where the system does not count them per thread */
/* Measured cost of one call of f, the median of many. */
double as_clock_cost_ns(uint64_t (*f)(void));

static inline uint64_t as_clock_now(const as_clock *clock)
{
    if (clock->kind == AS_CLOCK_COUNTER) {
#if defined(__x86_64__)
        return __builtin_ia32_rdtsc(); /* not <x86intrin.h>: its 60 000 lines took most of each file's compile time */
#elif defined(__aarch64__)
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
#endif
    }
    return clock->kind == AS_CLOCK_FAKE ? clock->fake_ticks : as_monotonic_ns();
}

static inline double as_clock_ns(const as_clock *clock, uint64_t ticks) { return (double)ticks * clock->ns_per_tick; }
/* Moves the fake clock; does nothing on a real one. */
static inline void as_clock_advance(as_clock *clock, uint64_t ns)
{
    if (clock->kind == AS_CLOCK_FAKE)
        clock->fake_ticks += ns;
}

#endif
