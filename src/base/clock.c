/* clock.c - picks a clock, finds out how long its ticks are and what a reading costs. */
#include "base/clock.h"

#include <math.h>
#include <sys/resource.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/stats.h"

#if defined(__x86_64__) || defined(__aarch64__)
#define HAS_COUNTER 1
#else
#define HAS_COUNTER 0
#endif

enum { N_WINDOWS = 3, WINDOW_NS = 6500000, N_BRACKETS = 16, N_COST_SAMPLES = 31, N_COST_CALLS = 64 };

uint64_t as_monotonic_ns(void)
{
#if defined(__APPLE__)
    return clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

static uint64_t cpu_ns(clockid_t id)
{
    struct timespec t;
    if (clock_gettime(id, &t))
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t as_thread_cpu_ns(void) { return cpu_ns(CLOCK_THREAD_CPUTIME_ID); }

uint64_t as_process_cpu_ns(void) { return cpu_ns(CLOCK_PROCESS_CPUTIME_ID); }

/* Times batches of calls, because one call is shorter than two stamps can resolve; takes the median
 * of the batches, because one of them may be pre-empted. */
double as_clock_cost_ns(uint64_t (*f)(void))
{
    double            samples[N_COST_SAMPLES];
    volatile uint64_t sink = 0;
    for (int i = 0; i < N_COST_SAMPLES; i++) {
        uint64_t before = as_monotonic_ns();
        for (int j = 0; j < N_COST_CALLS; j++)
            sink = f();
        samples[i] = (double)(as_monotonic_ns() - before) / N_COST_CALLS;
    }
    (void)sink;
    as_sort(samples, N_COST_SAMPLES);
    return samples[N_COST_SAMPLES / 2];
}

void as_clock_open_fake(as_clock *clock, uint64_t start_ns)
{
    *clock = (as_clock){.kind = AS_CLOCK_FAKE, .ns_per_tick = 1, .name = "fake", .why = "requested", .fake_ticks = start_ns};
}

void as_clock_open_monotonic(as_clock *clock)
{
    *clock = (as_clock){.kind = AS_CLOCK_MONOTONIC,
                        .ns_per_tick = 1,
                        .name = "monotonic",
                        .why = "requested",
                        .cost_ns = as_clock_cost_ns(as_monotonic_ns)};
}

#if HAS_COUNTER

static uint64_t counter_read(void) { return as_clock_now(&(as_clock){.kind = AS_CLOCK_COUNTER}); }

/* Whether the counter ticks at one rate through frequency changes and sleep states. */
static bool counter_is_invariant(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#else
    return true; /* by architecture, the generic timer does */
#endif
}

typedef struct instant {
    uint64_t ns, ticks;
} instant;

/* Reads both clocks at the same time: of several readings of the counter between two monotonic
 * ones, takes the tightest, whose middle has the smallest error. */
static instant instant_read(void)
{
    instant  best = {0, 0};
    uint64_t best_width = UINT64_MAX;
    for (int i = 0; i < N_BRACKETS; i++) {
        uint64_t before = as_monotonic_ns(), ticks = counter_read(), after = as_monotonic_ns();
        if (after - before < best_width) {
            best_width = after - before;
            best = (instant){before + best_width / 2, ticks};
        }
    }
    return best;
}

static double rate_between(instant a, instant b)
{
    return b.ticks > a.ticks ? (double)(b.ns - a.ns) / (double)(b.ticks - a.ticks) : NAN;
}

/* The rate over all windows together (the longest base is the most exact); the single windows show
 * whether it repeats.  Sleeps in between: the counter keeps running, and others can use the CPU. */
static double calibrate(double *spread)
{
    instant at[N_WINDOWS + 1];
    double  least = INFINITY, most = 0;
    for (int i = 0; i <= N_WINDOWS; i++) {
        if (i)
            nanosleep(&(struct timespec){0, WINDOW_NS}, NULL);
        at[i] = instant_read();
        if (!i)
            continue;
        double rate = rate_between(at[i - 1], at[i]);
        if (!(rate > 0)) {
            *spread = INFINITY;
            return NAN;
        }
        least = fmin(least, rate);
        most = fmax(most, rate);
    }
    double rate = rate_between(at[0], at[N_WINDOWS]);
    *spread = (most - least) / rate;
    return rate;
}

#endif

void as_clock_open(as_clock *clock)
{
    const char *why = "this CPU has no counter that a program may read";
#if HAS_COUNTER
    if (counter_is_invariant()) {
        double spread, rate = calibrate(&spread);
        if (spread <= 1e-3) {
            *clock = (as_clock)
            {
                .kind = AS_CLOCK_COUNTER, .ns_per_tick = rate, .calibration_spread = spread,
                .cost_ns = as_clock_cost_ns(counter_read),
#if defined(__x86_64__)
                .name = "tsc",
#else
                .name = "cntvct",
#endif
                .why = ""
            };
            return;
        }
        why = "the counter's calibration did not repeat within 0.1 %";
    } else {
        why = "the CPU does not say that its time stamp counter is invariant";
    }
#endif
    as_clock_open_monotonic(clock);
    clock->why = why;
}

long as_thread_switches(void)
{
#ifdef RUSAGE_THREAD
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nivcsw;
#else
    return 0;
#endif
}
