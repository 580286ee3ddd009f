/* warmup.c - the first run, then blocks until the machine is at its pace, then how many runs make a sample.
 *
 * Warm-up is tested, not assumed: over the last blocks the slope (Theil-Sen, which a pre-empted block cannot
 * bend) must be flat, and the newer half no faster than the older. */
#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "run/runner.h"

enum { N_LAST = 8, MIN_RUNS = 3, MAX_BLOCKS = 256, MAX_TIMES = 512, MAX_GROWTHS = 40 };
#define MAX_WARMUP_NS  1e9
#define BLOCK_NS       10e6
#define SAMPLE_NS      50e3
#define SAMPLE_COSTS   200.0 /* of reading the clock */
#define MAX_PER_SAMPLE 1000000u

/* --- Blocks until steady ------------------------------------------------------------------------------- */

/* Runs for about block_ns; *median gets the middle of the single runs (the first MAX_TIMES of them). */
static assay_status block_run(as_runner *r, double block_ns, as_sample *out, double *median)
{
    double    times[MAX_TIMES], scratch[MAX_TIMES];
    size_t    n = 0;
    as_sample block = {.begin_ticks = as_runner_now(r), .cpu_ns = UINT64_MAX}, one;
    do {
        AS_TRY(as_runner_batch(r, 0, 1, NULL, &one));
        if (n < MAX_TIMES)
            times[n++] = as_clock_ns(&r->env->clock, one.end_ticks - one.begin_ticks);
        block.n_runs++;
    } while (as_clock_ns(&r->env->clock, one.end_ticks - block.begin_ticks) < block_ns && !as_cancelled(r->env));
    block.end_ticks = one.end_ticks;
    *median = as_median(times, n, scratch);
    *out = block;
    return ASSAY_OK;
}

assay_status as_runner_warm_up(as_runner *r)
{
    const as_clock *clock = &r->env->clock;
    double   cap_ns = fmin((double)r->settings->time_ns / 10, MAX_WARMUP_NS), block_ns = fmin(BLOCK_NS, cap_ns / (2 * N_LAST));
    double   medians[MAX_BLOCKS], scratch[MAX_BLOCKS];
    size_t   n = 0;
    uint64_t n_runs = 1;
    if (!as_trace_reserve(r->trace, 0, 0, MAX_BLOCKS + 1, 0))
        return as_fail(r->env, ASSAY_NO_MEMORY, "run: no room for the samples of the warm-up");

    as_sample sample;
    AS_TRY(as_runner_batch(r, 0, 1, NULL, &sample));
    as_trace_add_warmup(r->trace, &sample);
    r->trace->first_run_ns = r->run_ns = as_clock_ns(clock, sample.end_ticks - sample.begin_ticks);
    uint64_t begin = sample.end_ticks;
    bool     stationary = false;
    while (!as_cancelled(r->env) && n < MAX_BLOCKS) {
        double spent_ns = as_clock_ns(clock, as_runner_now(r) - begin);
        if (n_runs >= MIN_RUNS && (r->fake || stationary || spent_ns >= cap_ns))
            break;
        AS_TRY(block_run(r, r->fake ? 0 : block_ns, &sample, &medians[n]));
        sample.first_run = (uint32_t)n_runs;
        as_trace_add_warmup(r->trace, &sample);
        n_runs += sample.n_runs;
        n++;
        stationary = as_steady_reached(medians, n);
    }
    if (n)
        r->run_ns = as_median(medians + (n > N_LAST ? n - N_LAST : 0), n > N_LAST ? N_LAST : n, scratch);
    const char *how = r->fake      ? "a fake clock needs no warm-up"
                      : stationary ? "stationary"
                                   : "not yet stationary when its share of the time was over";
    as_trace_add_note(r->trace, "run.warmup", "%llu runs in %zu blocks: %s", (unsigned long long)n_runs, n, how);
    return ASSAY_OK;
}

/* --- The size of a sample ------------------------------------------------------------------------------ */

/* Two readings in a row must be long enough: one probe that was pre-empted looks long and is not. */
assay_status as_runner_size_sample(as_runner *r)
{
    const as_clock *clock = &r->env->clock;
    double          target_ns = fmax(SAMPLE_NS, SAMPLE_COSTS * clock->cost_ns);
    uint64_t        most = r->settings->n_runs && r->settings->n_runs < MAX_PER_SAMPLE ? r->settings->n_runs : MAX_PER_SAMPLE;
    double          wanted = r->fake || !(r->run_ns > 0) ? 1 : ceil(target_ns / r->run_ns);
    uint64_t        n = wanted > (double)most ? most : (uint64_t)wanted;
    if (r->fake)
        n = 1;
    for (int i = 0, confirmed = 0; i < MAX_GROWTHS && confirmed < 2 && !r->fake && !as_cancelled(r->env); i++) {
        if (r->run_ns >= target_ns)
            break; /* a single run is a sample, and there is nothing to confirm */
        as_sample sample;
        AS_TRY(as_runner_batch(r, 0, (uint32_t)n, NULL, &sample));
        if (as_clock_ns(clock, sample.end_ticks - sample.begin_ticks) >= target_ns || n == most) {
            confirmed++;
            continue;
        }
        confirmed = 0;
        n = n + n / 2 + 1 > most ? most : n + n / 2 + 1;
    }
    r->per_sample = (uint32_t)(n ? n : 1);
    return ASSAY_OK;
}
