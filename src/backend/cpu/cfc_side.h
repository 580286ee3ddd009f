/* cfc_side.h - samples side by side, after a simd_*.h: what the kernels of assay.CfC and of its gradient share.
 *
 * Everything lies [feature][sample]; a weight is one number for all lanes, and the sums of a unit's heads stay in registers. */
#ifndef AS_BACKEND_CPU_CFC_SIDE_H
#define AS_BACKEND_CPU_CFC_SIDE_H

#include "backend/cpu/cfc_book.h"
#include "backend/cpu/gemm_tile.h"
#include "backend/cpu/vmath.h"

enum { SIDE = 2 * VW, SUMS = 6 };

/* What a run has; of lanes in all buffers: SIDE, VW, or 1 for a single sample. */
typedef struct work {
    const book  *b;
    const float *weights;
    float       *x, *h, *mid, *memory, *wide[2], *y, *ts;
} work;

/* Two stretches of input, one behind the other in the weights. */
typedef struct inputs { const float *z1; int64_t k1; const float *z2; int64_t k2; } inputs;

/* sum[unit * heads + head] += weights of `units` neighbours times k inputs. */
V_INLINE void side_add(const int units, const int heads, const int vecs, const float *w, const float *z, int64_t k, vf sum[SUMS][2])
{
    for (int64_t i = 0; i < k; i++, w += heads * VW, z += vecs * VW) {
        vf x[2];
        TILE_UNROLL
        for (int v = 0; v < vecs; v++)
            x[v] = v_load(z + v * VW);
        TILE_UNROLL
        for (int u = 0; u < units; u++) {
            TILE_UNROLL
            for (int h = 0; h < heads; h++) {
                vf s = v_one(w + h * VW + u);
                TILE_UNROLL
                for (int v = 0; v < vecs; v++)
                    TILE_FMA(sum[u * heads + h][v], s, x[v]);
            }
        }
    }
}

V_INLINE void side_sums(const int units, const int heads, const int vecs, const layer *l, const float *w, const inputs *in, vf sum[SUMS][2])
{
    TILE_UNROLL
    for (int u = 0; u < units; u++) {
        TILE_UNROLL
        for (int h = 0; h < heads; h++) {
            TILE_UNROLL
            for (int v = 0; v < vecs; v++)
                sum[u * heads + h][v] = v_one(w + h * VW + u);
        }
    }
    w += l->first * heads * VW;
    side_add(units, heads, vecs, w, in->z1, in->k1, sum);
    side_add(units, heads, vecs, w + in->k1 * heads * VW, in->z2, in->k2, sum);
}

V_INLINE const float *unit_at(const work *w, const layer *l, int64_t unit)
{
    return w->weights + l->at + unit / VW * panel_floats(l) + unit % VW;
}

/* n samples that are `step` floats apart, k of each, as [k][lanes]; the lanes behind them stay. */
static void lanes_fetch(int lanes, int64_t n, const float *from, int64_t step, int64_t k, float *to)
{
    for (int64_t s = 0; s < n; s++)
        for (int64_t i = 0; i < k; i++)
            to[i * lanes + s] = from[s * step + i];
}

static void lanes_put(int lanes, int64_t n, const float *from, int64_t k, float *to, int64_t step)
{
    for (int64_t s = 0; s < n; s++)
        for (int64_t i = 0; i < k; i++)
            to[s * step + i] = from[i * lanes + s];
}

static int64_t lines(int64_t n) { return (n + 15) / 16 * 16; }

#endif
