/* chunks.c - which chunks are accepted, and the limit that they give together. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "roof/roof.h"

#define MANY_REJECTED 0.25 /* of all chunks */
#define TAKES_DIFFER  0.02 /* how closely an idle machine repeats, except in caches that it shares */

void as_chunks_take(as_chunks *c)
{
    if (c->n_takes < AS_TAKES_MAX)
        c->take_first[c->n_takes++] = c->n;
}

/* Keeps the best few, best first. */
static void best_keep(double *best, double rate)
{
    for (int i = 0; i < AS_CHUNKS_BEST; i++) {
        if (!(rate > best[i]))
            continue;
        double worse = best[i];
        best[i] = rate;
        rate = worse;
    }
}

static void reject(as_chunks *c, double rate, double cpu_share)
{
    if (!c->n_rejected || rate < c->rejected_worst)
        c->rejected_worst = rate;
    double possible = cpu_share > 0.01 && cpu_share < 1.0 ? rate / cpu_share : rate;
    c->rejected_cpu_best = fmax(c->rejected_cpu_best, possible);
    best_keep(c->rejected_best, rate);
    c->n_rejected++;
}

bool as_chunks_add(as_chunks *c, double rate, double cpu_share)
{
    if (!isfinite(rate) || rate <= 0.0 || c->n == AS_CHUNKS_MAX)
        return false;
    if (!(cpu_share >= AS_CHUNK_CPU)) { /* NaN too */
        reject(c, rate, cpu_share);
        return false;
    }
    c->rate[c->n++] = rate;
    return true;
}

static void best_of(const double *rate, int n, double best[AS_CHUNKS_BEST])
{
    for (int i = 0; i < AS_CHUNKS_BEST; i++)
        best[i] = 0.0;
    for (int i = 0; i < n; i++)
        best_keep(best, rate[i]);
}

double as_third_best(const double *rate, int n)
{
    double best[AS_CHUNKS_BEST];
    best_of(rate, n, best);
    return n < 1 ? (double)NAN : best[n < AS_CHUNKS_BEST ? n - 1 : AS_CHUNKS_BEST - 1];
}

bool as_best_agree(const double *rate, int n, double within)
{
    double best[AS_CHUNKS_BEST];
    best_of(rate, n, best);
    return n >= AS_CHUNKS_BEST && best[0] <= best[AS_CHUNKS_BEST - 1] * (1.0 + within);
}

bool as_chunks_enough(const as_chunks *c)
{
    int first = c->n_takes ? c->take_first[c->n_takes - 1] : 0, n = c->n - first;
    return n >= AS_CHUNKS_CLEAN && as_best_agree(c->rate + first, n, AS_CHUNK_AGREE);
}

/* The lowest and the highest of the takes' third-best chunks. */
static void takes_range(const as_chunks *c, double *lo, double *hi)
{
    *lo = INFINITY;
    *hi = 0.0;
    for (int i = 0; i < c->n_takes; i++) {
        int    end = i + 1 < c->n_takes ? c->take_first[i + 1] : c->n;
        double third = as_third_best(c->rate + c->take_first[i], end - c->take_first[i]);
        if (isnan(third))
            continue;
        *lo = fmin(*lo, third);
        *hi = fmax(*hi, third);
    }
}

static void disturb(as_band *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void disturb(as_band *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(b->why, sizeof b->why, format, args);
    va_end(args);
    b->disturbed = true;
}

static void all_rejected(const as_chunks *c, as_band *b)
{
    int third = c->n_rejected < AS_CHUNKS_BEST ? c->n_rejected - 1 : AS_CHUNKS_BEST - 1;
    b->value = c->rejected_best[third];
    b->lo = c->rejected_worst;
    b->hi = fmax(c->rejected_cpu_best, c->rejected_best[0]);
    disturb(b, "machine too busy: other work interrupted all %d chunks", c->n_rejected);
}

bool as_chunks_band(const as_chunks *c, as_band *out)
{
    double  takes_lo, takes_hi, best[AS_CHUNKS_BEST];
    int     total = c->n + c->n_rejected;
    as_band b = {.n_clean = c->n, .n_chunks = total};
    if (!total)
        return false;
    if (!c->n) {
        all_rejected(c, &b);
        *out = b;
        return true;
    }
    takes_range(c, &takes_lo, &takes_hi);
    best_of(c->rate, c->n, best);
    b.value = as_third_best(c->rate, c->n);
    b.hi = best[0];
    b.lo = fmin(b.value, takes_lo);
    if (c->n_rejected > MANY_REJECTED * total)
        disturb(&b, "other work interrupted %d of %d chunks", c->n_rejected, total);
    else if (c->n < AS_CHUNKS_CLEAN)
        disturb(&b, "only %d clean chunks; %d are needed", c->n, AS_CHUNKS_CLEAN);
    else if (!as_best_agree(c->rate, c->n, AS_CHUNK_AGREE))
        disturb(&b, "the best of %d chunks is %.1f %% above the third", c->n, (b.hi / b.value - 1.0) * 100.0);
    else if (takes_hi > takes_lo * (1.0 + TAKES_DIFFER))
        disturb(&b, "repetitions differ by %.0f %%", (takes_hi / takes_lo - 1.0) * 100.0);
    if (c->n < AS_CHUNKS_BEST && c->n_rejected) { /* too few to rely on alone */
        b.lo = fmin(b.lo, c->rejected_best[0]);
        b.hi = fmax(b.hi, c->rejected_cpu_best);
    }
    if (b.disturbed) /* widened to the worst that was really seen */
        for (int i = 0; i < c->n; i++)
            b.lo = fmin(b.lo, c->rate[i]);
    *out = b;
    return true;
}

void as_band_invert(as_band *b)
{
    double hi = b->hi;
    b->value = 1e9 / b->value;
    b->hi = 1e9 / b->lo;
    b->lo = 1e9 / hi;
}
