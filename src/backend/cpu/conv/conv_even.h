/* conv_even.h - tiles of a 1x1 convolution; include one of the simd_*.h before.
 *
 * Pixels that are equally far apart need one pointer for three of them, so that a tile of twelve fits, as a product's does: it reads each
 * weight half as often as a tile of six.  The order of a sum is the same in every tile. */
#ifndef AS_BACKEND_CPU_CONV_EVEN_H
#define AS_BACKEND_CPU_CONV_EVEN_H

#include "backend/cpu/conv/conv_tile.h"

#ifdef TILE_TALL
enum { CONV_EVEN_LEAST = CONV_PIXELS + 1 };

V_INLINE void conv_even_walk(const conv_tile *t, int n_p)
{
    vf                      acc[CONV_MOST][CONV_V];
    CONV_EACH_P CONV_EACH_V acc[p][v] = v_load(t->bias + v * VW);
    conv_tile_fetch(t, n_p);
    tile_add(n_p, true, t->x + t->spot[0].from, t->even, t->w, CONV_PANEL, t->run, acc);
    conv_tile_end(t, n_p, acc);
}

static __attribute__((noinline)) void conv_even_7(const conv_tile *t) { conv_even_walk(t, 7); }
static __attribute__((noinline)) void conv_even_8(const conv_tile *t) { conv_even_walk(t, 8); }
static __attribute__((noinline)) void conv_even_9(const conv_tile *t) { conv_even_walk(t, 9); }
static __attribute__((noinline)) void conv_even_10(const conv_tile *t) { conv_even_walk(t, 10); }
static __attribute__((noinline)) void conv_even_11(const conv_tile *t) { conv_even_walk(t, 11); }
static __attribute__((noinline)) void conv_even_12(const conv_tile *t) { conv_even_walk(t, 12); }
static const conv_tile_fn conv_even[] = {conv_even_7, conv_even_8, conv_even_9, conv_even_10, conv_even_11, conv_even_12};

static void conv_even_run(conv_tile_fn tile, conv_tile t, int64_t n)
{
    for (int n_p; n > 0; n -= n_p, t.spot += n_p) {
        n_p = n >= 2 * CONV_MOST || n == CONV_MOST ? CONV_MOST : n > CONV_MOST ? (int)(n + 1) / 2 : (int)n;
        if (n_p >= CONV_EVEN_LEAST)
            conv_even[n_p - CONV_EVEN_LEAST](&t);
        else
            conv_pixels_run(tile, t, n_p);
    }
}
#else
static void conv_even_run(conv_tile_fn tile, conv_tile t, int64_t n) { conv_pixels_run(tile, t, n); }
#endif

#endif
