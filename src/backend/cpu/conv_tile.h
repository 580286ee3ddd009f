/* conv_tile.h - the register tile of the convolutions: CONV_PIXELS pixels by 16 output channels; include one of the simd_*.h before.
 *
 * It stays in registers while the walk over the taps streams one panel of weights; bias, residual and clamping (Relu, Clip) happen
 * there, other activations on what was just written. */
#ifndef AS_BACKEND_CPU_CONV_TILE_H
#define AS_BACKEND_CPU_CONV_TILE_H

#include <math.h>

#include "backend/cpu/conv_plan.h"
#include "backend/cpu/vmath.h"

enum { CONV_V = AS_CONV_PANEL / VW, CONV_PIXELS = AS_SIMD_REGISTERS / CONV_V >= 8 ? 6 : 3 };

/* gcc keeps an array of vectors in registers only when every loop over it is unrolled, which -O2 does not do by itself.  Not under a
 * sanitiser, whose checks of every access, unrolled, would keep clang busy for minutes. */
#if defined __clang__
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define CONV_UNROLL(n) _Pragma("clang loop unroll(disable)")
#endif
#endif
#ifndef CONV_UNROLL
#define CONV_PRAGMA(text) _Pragma(#text)
#define CONV_UNROLL(n) CONV_PRAGMA(GCC unroll n)
#endif
#define CONV_EACH_P CONV_UNROLL(6) for (int p = 0; p < n_p; p++)
#define CONV_EACH_V CONV_UNROLL(4) for (int v = 0; v < CONV_V; v++)

typedef struct conv_tile {
    const float   *x;                 /* of group and unit */
    const int64_t *offset;            /* of the tile's pixels */
    const float   *w;
    const float   *bias;              /* 16, zeros where there is none */
    const float   *r;                 /* residual, NULL: none */
    const float   *best;              /* rows of 16 that the results must exceed to be written in their place, NULL: none */
    float         *y;
    int64_t        step;              /* from pixel to pixel in y and r */
    int            n_m;               /* channels to write, 1 to 16 */
    int64_t        n_a, step_a, n_b, step_b, run;
    float          lo, hi;            /* clamps */
    int64_t        right, below;      /* to the other three pixels of a pool */
} conv_tile;

/* NaN is larger than any number, once seen it stays. */
V_INLINE vf conv_larger(vf best, vf x) { return v_pick(v_is_nan(best), best, v_max(best, x)); }

V_INLINE void conv_tile_end(const conv_tile *t, int n_p, vf acc[CONV_PIXELS][CONV_V])
{
    vf lo = v_set(t->lo), hi = v_set(t->hi);
    if (t->n_m == AS_CONV_PANEL) {
        if (t->r)
            CONV_EACH_P CONV_EACH_V acc[p][v] = v_add(acc[p][v], v_load(t->r + p * t->step + v * VW));
        if (t->best)
            CONV_EACH_P CONV_EACH_V acc[p][v] = conv_larger(v_load(t->best + p * AS_CONV_PANEL + v * VW), acc[p][v]);
        CONV_EACH_P CONV_EACH_V v_store(t->y + p * t->step + v * VW, v_min(hi, v_max(lo, acc[p][v])));
        return;
    }
    CONV_EACH_P CONV_EACH_V {
        int n = t->n_m - v * VW < VW ? t->n_m - v * VW : VW;
        if (n <= 0)
            continue;
        if (t->r)
            acc[p][v] = v_add(acc[p][v], v_load_n(t->r + p * t->step + v * VW, n));
        if (t->best)
            acc[p][v] = conv_larger(v_load(t->best + p * AS_CONV_PANEL + v * VW), acc[p][v]);
        v_store_n(t->y + p * t->step + v * VW, n, v_min(hi, v_max(lo, acc[p][v])));
    }
}

V_INLINE void conv_tile_begin(const conv_tile *t, int n_p, const float *x[CONV_PIXELS], vf acc[CONV_PIXELS][CONV_V])
{
    CONV_EACH_P {
        x[p] = t->x + t->offset[p];
        CONV_EACH_V acc[p][v] = v_load(t->bias + v * VW);
    }
}

/* One tap of one channel: a vector of weights for all pixels. */
V_INLINE void conv_tile_tap(int n_p, const float *const x[CONV_PIXELS], int64_t at, const float *w, vf acc[CONV_PIXELS][CONV_V])
{
    vf wv[CONV_V];
    CONV_EACH_V wv[v] = v_load(w + v * VW);
    CONV_EACH_P {
        vf one = v_one(x[p] + at);
        CONV_EACH_V acc[p][v] = v_fma(one, wv[v], acc[p][v]);
    }
}

/* n_p pixels, a constant to the compiler. */
V_INLINE void conv_tile_walk(const conv_tile *t, int n_p)
{
    vf           acc[CONV_PIXELS][CONV_V];
    const float *x[CONV_PIXELS], *w = t->w;
    conv_tile_begin(t, n_p, x, acc);
    for (int64_t a = 0; a < t->n_a; a++)
        for (int64_t b = 0; b < t->n_b; b++) {
            int64_t at = a * t->step_a + b * t->step_b, end = at + t->run;
            for (; at < end; at++, w += AS_CONV_PANEL)
                conv_tile_tap(n_p, x, at, w, acc);
        }
    conv_tile_end(t, n_p, acc);
}

V_INLINE void conv_tile_skip(conv_tile *t, int64_t n_p)
{
    t->y += n_p * t->step;
    t->r = t->r ? t->r + n_p * t->step : NULL;
    t->offset += n_p;
}

/* Each is a function of its own: inlined into a loop over tiles, gcc keeps addresses of the next tile in registers that this one
 * needs, and spills (42 % of peak instead of 74 at 3 channels). */
typedef void (*conv_tile_fn)(const conv_tile *t);
static __attribute__((noinline)) void conv_tile_full(const conv_tile *t) { conv_tile_walk(t, CONV_PIXELS); }

static void conv_tile_some(const conv_tile *t, int n)
{
    switch (n) {
    case 1: conv_tile_walk(t, 1); break;
    case 2: conv_tile_walk(t, 2); break;
    case 3: conv_tile_walk(t, 3 < CONV_PIXELS ? 3 : CONV_PIXELS); break;
    case 4: conv_tile_walk(t, 4 < CONV_PIXELS ? 4 : CONV_PIXELS); break;
    case 5: conv_tile_walk(t, 5 < CONV_PIXELS ? 5 : CONV_PIXELS); break;
    default: break;
    }
}

/* How many of n pixels the next tile takes: the last two share what is left, because a tile of one or two waits for its own sums. */
V_INLINE int conv_tile_share(int64_t n)
{
    return n >= 2 * CONV_PIXELS || n == CONV_PIXELS ? CONV_PIXELS : n > CONV_PIXELS ? (int)(n + 1) / 2 : (int)n;
}

V_INLINE void conv_tile_run(conv_tile_fn tile, const conv_tile *t, int n_p)
{
    if (n_p == CONV_PIXELS)
        tile(t);
    else
        conv_tile_some(t, n_p);
}

/* n pixels under the taps that t walks. */
static void conv_pixels_run(conv_tile_fn tile, conv_tile t, int64_t n)
{
    for (int n_p; n > 0; n -= n_p, conv_tile_skip(&t, n_p)) {
        n_p = conv_tile_share(n);
        conv_tile_run(tile, &t, n_p);
    }
}

/* --- What a part of a node knows ---------------------------------------------------------------------- */

typedef struct conv_job {
    as_conv_plan v;
    const float *x, *bias, *r;
    float       *y;
    as_act_f32   act;
    bool         clamps;   /* the activation is done by lo and hi */
    float        lo, hi;
    conv_tile_fn tile, tile_pool; /* of CONV_PIXELS; the second, or NULL, pools as well */
    bool         pools_tiles; /* a pool that is done on the way out of the registers */
    int64_t     *offset;   /* scratch of this part */
    float       *strip, *weight;
    float       *held, *planes; /* sums before a pool; results before they become planes */
} conv_job;

static void conv_clamp(conv_job *j)
{
    j->lo = -INFINITY, j->hi = INFINITY;
    j->clamps = j->act.kind == AS_ACT_NONE || j->act.kind == AS_ACT_RELU || j->act.kind == AS_ACT_CLIP;
    if (j->act.kind == AS_ACT_RELU)
        j->lo = 0.0f;
    if (j->act.kind == AS_ACT_CLIP)
        j->lo = j->act.alpha, j->hi = j->act.beta;
}

static void conv_bias(const conv_job *j, int64_t m, int n_m, float bias[AS_CONV_PANEL])
{
    for (int i = 0; i < AS_CONV_PANEL; i++)
        bias[i] = j->bias && i < n_m ? j->bias[m + i] : 0.0f;
}

#endif
