/* rf_stream_avx2.c - the triad with stores that bypass the caches, so that no line is read before it is written. */
#include "backend/cpu/simd/simd_avx2.h"
#define TRIAD_STORE(p, x) _mm256_stream_ps(p, x)
#include "roof/meter/body_triad.h"

static void run_fenced(const as_meter_args *args, uint64_t n_passes)
{
    run(args, n_passes);
    _mm_sfence(); /* draining the write-combining buffers is part of the work */
}

const as_meter as_rf_stream_avx2 = {
    .name = "stream",
    .unit = "byte/s",
    .what = "a = b + s * c with non-temporal stores (avx2), counted as 2 reads and 1 write",
    .kind = AS_METER_DRAM,
    .isa = AS_SIMD_ISA,
    .rank = 20,
    .order = 24,
    .n_streams = 3,
    .per_pass = per_pass,
    .run = run_fenced,
};
