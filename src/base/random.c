/* random.c - the generators: two that match numpy bit for bit, and a counter-based one. */
#include "base/random.h"

#include <math.h>
#include <stdlib.h>

/* --- MT19937 ------------------------------------------------------------------------------ */

enum { MT_N = 624, MT_M = 397 };

void as_mt19937_seed(as_mt19937 *g, uint32_t seed)
{
    g->state[0] = seed;
    for (uint32_t i = 1; i < MT_N; i++)
        g->state[i] = 1812433253u * (g->state[i - 1] ^ g->state[i - 1] >> 30) + i;
    g->next = MT_N;
}

static void mt_refill(as_mt19937 *g)
{
    for (int i = 0; i < MT_N; i++) {
        uint32_t mixed = (g->state[i] & 0x80000000u) | (g->state[(i + 1) % MT_N] & 0x7fffffffu);
        g->state[i] = g->state[(i + MT_M) % MT_N] ^ mixed >> 1 ^ (mixed & 1 ? 0x9908b0dfu : 0);
    }
    g->next = 0;
}

uint32_t as_mt19937_u32(as_mt19937 *g)
{
    if (g->next >= MT_N)
        mt_refill(g);
    uint32_t y = g->state[g->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

float as_mt19937_uniform(as_mt19937 *g) { return (float)(as_mt19937_u32(g) & 0xffffff) * 0x1p-24f; }

uint32_t as_mt19937_below(as_mt19937 *g, uint32_t max)
{
    if (!max)
        return 0; /* draws nothing, as in numpy */
    uint32_t mask = UINT32_MAX >> __builtin_clz(max), value;
    do
        value = as_mt19937_u32(g) & mask;
    while (value > max);
    return value;
}

void as_mt19937_shuffle(as_mt19937 *g, int64_t *items, size_t n)
{
    for (size_t i = n; i-- > 1;) {
        uint32_t j = as_mt19937_below(g, (uint32_t)i);
        int64_t  item = items[i];
        items[i] = items[j];
        items[j] = item;
    }
}

/* --- PCG64, seeded through SeedSequence ----------------------------------------------------- */

static uint32_t seed_hash(uint32_t value, uint32_t *constant, uint32_t multiplier)
{
    value ^= *constant;
    *constant *= multiplier;
    value *= *constant;
    return value ^ value >> 16;
}

static uint32_t seed_mix(uint32_t x, uint32_t y)
{
    uint32_t r = 0xca01f9ddu * x - 0x4973f715u * y;
    return r ^ r >> 16;
}

static void seed_sequence(uint64_t seed, uint32_t words[8])
{
    uint32_t pool[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), 0, 0}, constant = 0x43b0d7e5u;
    for (int i = 0; i < 4; i++)
        pool[i] = seed_hash(pool[i], &constant, 0x931e8875u);
    for (int from = 0; from < 4; from++)
        for (int to = 0; to < 4; to++)
            if (to != from)
                pool[to] = seed_mix(pool[to], seed_hash(pool[from], &constant, 0x931e8875u));
    constant = 0x8b51f9ddu;
    for (int i = 0; i < 8; i++)
        words[i] = seed_hash(pool[i % 4], &constant, 0x58f38dedu);
}

static void pcg_step(as_pcg64 *g)
{
    const unsigned __int128 multiplier = (unsigned __int128)0x2360ed051fc65da4u << 64 | 0x4385df649fccf645u;
    g->state = g->state * multiplier + g->inc;
}

void as_pcg64_seed(as_pcg64 *g, uint64_t seed)
{
    uint32_t words[8];
    uint64_t halves[4];
    seed_sequence(seed, words);
    for (int i = 0; i < 4; i++)
        halves[i] = (uint64_t)words[2 * i + 1] << 32 | words[2 * i];
    unsigned __int128 start = (unsigned __int128)halves[0] << 64 | halves[1];
    unsigned __int128 stream = (unsigned __int128)halves[2] << 64 | halves[3];
    *g = (as_pcg64){.state = 0, .inc = stream << 1 | 1};
    pcg_step(g);
    g->state += start;
    pcg_step(g);
}

uint64_t as_pcg64_u64(as_pcg64 *g)
{
    pcg_step(g);
    uint64_t folded = (uint64_t)(g->state >> 64) ^ (uint64_t)g->state;
    unsigned turn = (unsigned)(g->state >> 122);
    return folded >> turn | folded << (-turn & 63);
}

uint32_t as_pcg64_u32(as_pcg64 *g)
{
    if (g->has_half) {
        g->has_half = false;
        return g->half;
    }
    uint64_t both = as_pcg64_u64(g);
    g->has_half = true;
    g->half = (uint32_t)(both >> 32);
    return (uint32_t)both;
}

double as_pcg64_double(as_pcg64 *g) { return (double)(as_pcg64_u64(g) >> 11) * 0x1p-53; }

uint32_t as_pcg64_below(as_pcg64 *g, uint32_t max)
{
    if (!max)
        return 0;
    if (max == UINT32_MAX)
        return as_pcg64_u32(g);
    uint32_t n = max + 1, threshold = (UINT32_MAX - max) % n;
    uint64_t product;
    do
        product = (uint64_t)as_pcg64_u32(g) * n;
    while ((uint32_t)product < threshold);
    return (uint32_t)(product >> 32);
}

/* Like as_pcg64_below(); numpy uses 64-bit draws only above 32 bits. */
static uint64_t below_u64(as_pcg64 *g, uint64_t max)
{
    if (max <= UINT32_MAX)
        return as_pcg64_below(g, (uint32_t)max);
    if (max == UINT64_MAX)
        return as_pcg64_u64(g);
    uint64_t          n = max + 1, threshold = (UINT64_MAX - max) % n;
    unsigned __int128 product;
    do
        product = (unsigned __int128)as_pcg64_u64(g) * n;
    while ((uint64_t)product < threshold);
    return (uint64_t)(product >> 64);
}

/* Places n-1 down to `first` get their final item. */
static void shuffle_tail(as_pcg64 *g, int64_t *items, int64_t n, int64_t first)
{
    for (int64_t i = n - 1; i >= first; i--) {
        int64_t j = (int64_t)below_u64(g, (uint64_t)i), item = items[i];
        items[i] = items[j];
        items[j] = item;
    }
}

static bool choose_by_tail(as_pcg64 *g, int64_t n, int64_t k, int64_t *out)
{
    int64_t *items = (uint64_t)n <= SIZE_MAX / sizeof *items ? malloc((size_t)n * sizeof *items) : NULL;
    if (!items)
        return false;
    for (int64_t i = 0; i < n; i++)
        items[i] = i;
    shuffle_tail(g, items, n, n - k > 1 ? n - k : 1);
    for (int64_t i = 0; i < k; i++)
        out[i] = items[n - k + i];
    free(items);
    return true;
}

/* Adds `item` (stored as item + 1, so that 0 is an empty place); false when it was already there. */
static bool set_add(uint64_t *set, uint64_t mask, int64_t item)
{
    uint64_t key = (uint64_t)item + 1, at = key * 0x9e3779b97f4a7c15u >> 20 & mask;
    while (set[at] && set[at] != key)
        at = (at + 1) & mask;
    bool is_new = !set[at];
    set[at] = key;
    return is_new;
}

/* Floyd's algorithm: k draws whatever n is; the set only answers "seen before?", so its order does not matter. */
static bool choose_by_floyd(as_pcg64 *g, int64_t n, int64_t k, int64_t *out)
{
    uint64_t places = 16;
    while (places / 2 < (uint64_t)k)
        places *= 2;
    uint64_t *set = calloc((size_t)places, sizeof *set);
    if (!set)
        return false;
    for (int64_t j = n - k; j < n; j++) {
        int64_t item = (int64_t)below_u64(g, (uint64_t)j);
        if (!set_add(set, places - 1, item)) {
            item = j;
            set_add(set, places - 1, item);
        }
        out[j - (n - k)] = item;
    }
    free(set);
    shuffle_tail(g, out, k, 1);
    return true;
}

bool as_pcg64_choose(as_pcg64 *g, int64_t n, int64_t k, int64_t *out)
{
    if (k < 0 || k > n || k > INT64_MAX / 32)
        return false;
    return n > 10000 && k > n / 50 ? choose_by_tail(g, n, k, out) : choose_by_floyd(g, n, k, out);
}

/* --- Philox 4x32-10 --------------------------------------------------------------------------- */

void as_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)0xd2511f53u * a, q = (uint64_t)0xcd9e8d57u * c;
        a = (uint32_t)(q >> 32) ^ b ^ k0;
        c = (uint32_t)(p >> 32) ^ d ^ k1;
        b = (uint32_t)q;
        d = (uint32_t)p;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[0] = a, out[1] = b, out[2] = c, out[3] = d;
}

/* Four elements share one evaluation. */
static void philox_four(uint64_t seed, uint32_t node, uint32_t step, uint64_t group, uint32_t out[4])
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)group, (uint32_t)(group >> 32), node, step};
    as_philox(key, counter, out);
}

static float unit_of(uint32_t word) { return (float)(word >> 8) * 0x1p-24f; }

float as_philox_uniform(uint64_t seed, uint32_t node, uint32_t step, uint64_t element)
{
    uint32_t words[4];
    philox_four(seed, node, step, element / 4, words);
    return unit_of(words[element % 4]);
}

void as_philox_fill(uint64_t seed, uint32_t node, uint32_t step, float lo, float hi, float *dst, size_t n)
{
    uint32_t words[4] = {0};
    for (size_t i = 0; i < n; i++) {
        if (i % 4 == 0)
            philox_four(seed, node, step, i / 4, words);
        float value = lo + (hi - lo) * unit_of(words[i % 4]);
        /* Rounding may give hi, which is outside the range. */
        dst[i] = value >= hi && lo < hi ? nextafterf(hi, lo) : value;
    }
}
