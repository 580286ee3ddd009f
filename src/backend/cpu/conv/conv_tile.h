/* conv_tile.h - the register tile of the convolutions: CONV_PIXELS pixels by CONV_PANEL output channels; include one of the simd_*.h before.
 *
 * It stays in registers while the walk over the taps reads one panel of weights; bias, residual and clamping (Relu, Clip) are
 * applied there, other activations to the values just written. */
#ifndef AS_BACKEND_CPU_CONV_TILE_H
#define AS_BACKEND_CPU_CONV_TILE_H

#include <math.h>

#include "backend/cpu/conv/conv_plan.h"
#include "backend/cpu/product/gemm_tile.h"
#include "backend/cpu/simd/vmath.h"

enum {
    CONV_PANEL = VW > 8 ? 2 * VW : AS_CONV_PANEL,
    CONV_V = CONV_PANEL / VW,
    CONV_PIXELS = AS_SIMD_REGISTERS / CONV_V >= 8 ? 6 : 3,
    CONV_MOST = (int)TILE_ROWS > CONV_PIXELS ? TILE_ROWS : CONV_PIXELS, /* pixels of a tile, also of those of 1x1 */
};

#define CONV_EACH_P V_UNROLL for (int p = 0; p < n_p; p++)
#define CONV_EACH_V V_UNROLL for (int v = 0; v < CONV_V; v++)

#define CONV_EACH_LINE V_UNROLL for (int v = 0; v < CONV_PANEL; v += 16)

typedef struct conv_tile {
    const float        *x;    /* of group and unit */
    const as_conv_spot *spot; /* the tile's pixels */
    const float        *w;
    const float        *bias;  /* CONV_PANEL, zeros where there is none */
    const float        *r;     /* residual, NULL: none */
    bool                masks; /* r is a mask and not a residual: the result is 0 where r is 0 or less */
    float              *y;     /* of the unit, as r */
    int                 n_m;   /* channels to write, 1 to CONV_PANEL */
    int64_t             n_a, step_a, n_b, step_b, run;
    int64_t             step_wa, step_wb; /* in w */
    float               lo, hi;           /* clamps */
    int64_t             right, below;     /* to the other three pixels of a pool */
    bool                fetches;          /* the lines of y and r are beyond L2 */
    int64_t             even;             /* from pixel to pixel of x, where all of a tile are equally far apart */
} conv_tile;

/* x with the residual r, or where r lets it pass: where it is positive, or NaN as ReluGrad has it. */
V_INLINE vf conv_join(bool masks, vf x, vf r) { return masks ? v_and(v_or(v_gt(r, v_zero()), v_is_nan(r)), x) : v_add(x, r); }

/* Writes a panel that is not whole through memory: an array of vectors that is indexed at run time anywhere stays in memory. */
static __attribute__((noinline)) void conv_tile_part(const conv_tile *t, int n_p, const float *sums)
{
    for (int p = 0; p < n_p; p++)
        for (int m = 0; m < t->n_m; m += VW) {
            int     n = t->n_m - m < VW ? t->n_m - m : VW;
            int64_t to = t->spot[p].to + m;
            vf      x = v_load(sums + p * CONV_PANEL + m);
            if (t->r)
                x = conv_join(t->masks, x, v_load_n(t->r + to, n));
            v_store_n(t->y + to, n, v_min(v_set(t->hi), v_max(v_set(t->lo), x)));
        }
}

V_INLINE void conv_tile_end(const conv_tile *t, int n_p, vf acc[CONV_MOST][CONV_V])
{
    vf lo = v_set(t->lo), hi = v_set(t->hi);
    if (t->n_m == CONV_PANEL) {
        if (t->r && t->masks)
            CONV_EACH_P CONV_EACH_V acc[p][v] = conv_join(true, acc[p][v], v_load(t->r + t->spot[p].to + v * VW));
        else if (t->r)
            CONV_EACH_P CONV_EACH_V acc[p][v] = v_add(acc[p][v], v_load(t->r + t->spot[p].to + v * VW));
        CONV_EACH_P CONV_EACH_V v_store(t->y + t->spot[p].to + v * VW, v_min(hi, v_max(lo, acc[p][v])));
        return;
    }
    float                   sums[CONV_MOST * CONV_PANEL];
    CONV_EACH_P CONV_EACH_V v_store(sums + p * CONV_PANEL + v * VW, acc[p][v]);
    conv_tile_part(t, n_p, sums);
}

V_INLINE void conv_tile_begin(const conv_tile *t, int n_p, const float *x[CONV_PIXELS], vf acc[CONV_MOST][CONV_V])
{
    CONV_EACH_P
    {
        x[p] = t->x + t->spot[p].from;
        CONV_EACH_V acc[p][v] = v_load(t->bias + v * VW);
    }
}

/* One tap of one channel: one vector of weights for all pixels. */
V_INLINE void conv_tile_tap(int n_p, const float *const x[CONV_PIXELS], int64_t at, const float *w, vf acc[CONV_MOST][CONV_V])
{
    vf          wv[CONV_V];
    CONV_EACH_V wv[v] = v_load(w + v * VW);
    CONV_EACH_P
    {
        vf          one = v_one(x[p] + at);
        CONV_EACH_V TILE_FMA(acc[p][v], one, wv[v]);
    }
}

/* All taps, `some` at a time, which divides run. n_p and some are constants to the compiler.  The lines of b are one loop: with a
 * loop each, no CPU predicts their ends. 89 -> 91 GFLOP/s at 3 lines of 96, where registers alone reach 92.5.  Masks instead of the
 * branch were tried: 87. */
V_INLINE void conv_tile_lines(const conv_tile *t, int n_p, int some, const float *const x[CONV_PIXELS], vf acc[CONV_MOST][CONV_V])
{
    const int64_t run = t->run, next = t->step_b - run, next_w = t->step_wb - run * CONV_PANEL;
    for (int64_t a = 0; a < t->n_a; a++) {
        int64_t      at = a * t->step_a, left = run;
        const float *w = t->w + a * t->step_wa;
        for (int64_t n = t->n_b * run; n > 0; n -= some) {
            V_UNROLL for (int i = 0; i < some; i++) conv_tile_tap(n_p, x, at + i, w + i * CONV_PANEL, acc);
            at += some, w += some * CONV_PANEL;
            if ((left -= some) == 0)
                at += next, w += next_w, left = run;
        }
    }
}

V_INLINE void conv_tile_taps(const conv_tile *t, int n_p, const float *const x[CONV_PIXELS], vf acc[CONV_MOST][CONV_V])
{
    if (t->run % 4 == 0)
        conv_tile_lines(t, n_p, 4, x, acc);
    else
        conv_tile_lines(t, n_p, 1, x, acc);
}

/* The lines that a tile will write, fetched while it sums: where they are beyond L2 and far apart, it would wait for them.  Elsewhere
 * the fetches cost more than they save (1x1 of 16 to 96 channels: 97 -> 78 GFLOP/s), so the job says where. */
V_INLINE void conv_tile_fetch(const conv_tile *t, int n_p)
{
    if (!t->fetches)
        return;
    CONV_EACH_P CONV_EACH_LINE __builtin_prefetch(t->y + t->spot[p].to + v, 1);
    if (t->r && t->r != t->y)
        CONV_EACH_P CONV_EACH_LINE __builtin_prefetch(t->r + t->spot[p].to + v);
}

V_INLINE void conv_tile_walk(const conv_tile *t, int n_p)
{
    vf           acc[CONV_MOST][CONV_V];
    const float *x[CONV_PIXELS];
    conv_tile_begin(t, n_p, x, acc);
    conv_tile_fetch(t, n_p);
    conv_tile_taps(t, n_p, x, acc);
    conv_tile_end(t, n_p, acc);
}

/* Each is a separate function: inlined into a loop over tiles, gcc keeps addresses of the next tile in registers that this one
 * needs, and spills (42 % of the limit instead of 74 at 3 channels). */
typedef void (*conv_tile_fn)(const conv_tile *t);
static __attribute__((noinline)) void conv_tile_full(const conv_tile *t) { conv_tile_walk(t, CONV_PIXELS); }

/* Runs a tile of n pixels with a function that needs their number as a constant. */
#define CONV_SOME(t, n, walk)                                  \
    switch (n) {                                               \
    case 1: walk(t, 1); break;                                 \
    case 2: walk(t, 2); break;                                 \
    case 3: walk(t, 3 < CONV_PIXELS ? 3 : CONV_PIXELS); break; \
    case 4: walk(t, 4 < CONV_PIXELS ? 4 : CONV_PIXELS); break; \
    case 5: walk(t, 5 < CONV_PIXELS ? 5 : CONV_PIXELS); break; \
    default: break;                                            \
    }
static void conv_tile_some(const conv_tile *t, int n){CONV_SOME(t, n, conv_tile_walk)}

/* How many of n pixels the next tile takes: the last two tiles share the remainder, because a tile of one or two pixels waits for
 * its own sums. */
V_INLINE int conv_tile_share(int64_t n)
{
    return n >= 2 * CONV_PIXELS || n == CONV_PIXELS ? CONV_PIXELS : n > CONV_PIXELS ? (int)(n + 1) / 2 : (int)n;
}

/* n pixels under the taps that t walks. */
static void conv_pixels_run(conv_tile_fn tile, conv_tile t, int64_t n)
{
    for (int n_p; n > 0; n -= n_p, t.spot += n_p) {
        n_p = conv_tile_share(n);
        if (n_p == CONV_PIXELS)
            tile(&t);
        else
            conv_tile_some(&t, n_p);
    }
}

/* --- What a part of a node knows ---------------------------------------------------------------------- */

typedef struct conv_job {
    as_conv_plan  v;
    const float  *x, *bias, *r;
    float        *y;
    as_act_f32    act;
    bool          clamps; /* lo and hi do the activation */
    float         lo, hi;
    conv_tile_fn  tile, tile_pool; /* for CONV_PIXELS; the second also pools */
    bool          pools_tiles;     /* a pool that is done when results leave the registers */
    bool          masks;           /* r is a mask: see conv_tile */
    bool          fetches;         /* see conv_tile */
    int64_t       even_run;        /* pixels of a unit that are equally far apart, one run after the other; 0: 1x1 only */
    as_conv_spot *spot;            /* scratch of this part */
    as_conv_block block[AS_CONV_MAX_BLOCKS];
    int           n_blocks;
    float        *strip, *weight;
    float        *held, *planes; /* sums before a pool; results before the copy into planes */
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

/* A clamp is done in place; the code for all other activations is compiled once. */
static __attribute__((noinline)) vf conv_act_any(const as_act_f32 *act, vf y) { return vm_act(act, y); }
V_INLINE vf                         conv_act(const conv_job *j, vf y)
{
    return j->clamps ? v_min(v_set(j->hi), v_max(v_set(j->lo), y)) : conv_act_any(&j->act, y);
}

static void conv_bias(const conv_job *j, int64_t m, int n_m, float bias[CONV_PANEL])
{
    for (int i = 0; i < CONV_PANEL; i++)
        bias[i] = j->bias && i < n_m ? j->bias[m + i] : 0.0f;
}

#endif
