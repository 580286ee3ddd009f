/* rf_fork.c - the cost of starting all threads and waiting for them, without work in between. */
#include "roof/roof.h"

static double per_pass(size_t bytes)
{
    (void)bytes;
    return 1.0;
}

static void nothing(void *arg, int part, int n_parts)
{
    (void)arg;
    (void)part;
    (void)n_parts;
}

static void run(const as_meter_args *args, uint64_t n_passes)
{
    for (uint64_t n = n_passes; n; n--)
        as_pool_run(args->pool, nothing, NULL);
}

const as_meter as_rf_fork = {
    .name = "fork",
    .unit = "ns",
    .what = "empty forks of the pool, one after the other",
    .kind = AS_METER_FORK,
    .isa = AS_ISA_SCALAR,
    .order = 40,
    .n_streams = 1,
    .per_pass = per_pass,
    .run = run,
};
