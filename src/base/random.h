/* random.h - the generators: two that match numpy bit for bit, and a counter-based one. */
#ifndef AS_BASE_RANDOM_H
#define AS_BASE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* MT19937 as numpy's RandomState (legacy seeding) and torch's CPU generator. */
typedef struct as_mt19937 {
    uint32_t state[624];
    int      next;
} as_mt19937;
void     as_mt19937_seed(as_mt19937 *g, uint32_t seed);
uint32_t as_mt19937_u32(as_mt19937 *g);
float    as_mt19937_uniform(as_mt19937 *g);             /* [0,1) as torch.rand: the low 24 bits * 2^-24 */
uint32_t as_mt19937_below(as_mt19937 *g, uint32_t max); /* in [0, max], masked rejection */
void     as_mt19937_shuffle(as_mt19937 *g, int64_t *items, size_t n);

/* PCG64 (XSL-RR) seeded through numpy's SeedSequence: numpy.random.default_rng(seed). */
typedef struct as_pcg64 {
    unsigned __int128 state, inc;
    bool              has_half;
    uint32_t          half;
} as_pcg64;
void     as_pcg64_seed(as_pcg64 *g, uint64_t seed);
uint64_t as_pcg64_u64(as_pcg64 *g);
uint32_t as_pcg64_u32(as_pcg64 *g);                 /* low half first, then the saved high half */
double   as_pcg64_double(as_pcg64 *g);              /* [0,1): (u64 >> 11) * 2^-53 */
uint32_t as_pcg64_below(as_pcg64 *g, uint32_t max); /* in [0, max], Lemire on 32-bit draws */
/* k distinct items of 0..n-1, as Generator.choice(n, k, replace=False); out holds k. */
bool as_pcg64_choose(as_pcg64 *g, int64_t n, int64_t k, int64_t *out); /* false: no memory or k > n */

/* Philox 4x32-10: a pure function of key and counter, so any element can be drawn by any thread. */
void as_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);
/* Element `element` of the stream (seed, node, step): uniform in [0,1) with 24 bits. */
float as_philox_uniform(uint64_t seed, uint32_t node, uint32_t step, uint64_t element);
/* Fills dst with uniform values in [lo, hi). */
void as_philox_fill(uint64_t seed, uint32_t node, uint32_t step, float lo, float hi, float *dst, size_t n);

#endif
