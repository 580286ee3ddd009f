/* cache_model.h - which cache serves the accesses of a step, from the shape of our own loops.  Modelled, never measured: docs/cache-model.md.
 *
 * A step issues accesses of its kernel's vector width.  What a level of C bytes cannot keep must come from the next one:
 *   - nothing, when the whole run fits: the run before has left it there;
 *   - each byte once, when the step fits but the run does not;
 *   - when not even the step fits: for a step that only streams, each byte once; for one that reuses its operands (a matrix product of
 *     F flops), no less than F * 4 / sqrt(C / 12) bytes, which is what tiles of a third of the level move.
 * Hits of a level are the accesses that reach it minus the lines that it must fetch. */
#ifndef AS_ANALYSIS_CACHE_MODEL_H
#define AS_ANALYSIS_CACHE_MODEL_H

#include "trace/limit.h"

enum { AS_CACHE_LEVELS = 4, AS_CACHE_LINE = 64 };

typedef struct as_cache_flow {
    double accesses;                /* loads and stores that the kernel issues */
    double misses[AS_CACHE_LEVELS]; /* lines that each level fetches from the next */
    int    n_levels;                /* caches, without main memory */
} as_cache_flow;

/* Bytes of an access by the kernel's instruction set: "gemm_f32_avx512" has 64. */
double as_cache_width(const char *kernel);
/* run_bytes: what one whole run touches; batch: its items, 0: not known.  False: the device has no cache levels whose size is known. */
bool as_cache_model_step(const as_limits *limits, const as_trace_step *s, double run_bytes, uint64_t batch, as_cache_flow *out);
void as_cache_flow_add(as_cache_flow *sum, const as_cache_flow *f);
/* Share of the accesses that reach level i (0: the first) and that it serves; NaN: none reaches it. */
double as_cache_hit(const as_cache_flow *f, int level);
/* Share of all accesses that some cache serves. */
double as_cache_hit_any(const as_cache_flow *f);

#endif
