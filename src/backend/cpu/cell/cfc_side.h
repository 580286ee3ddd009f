/* cfc_side.h - samples side by side, after a simd_*.h: the forward steps that the kernels of assay.CfC and of its gradient share.
 *
 * All data is [feature][sample]; a weight is one number for all lanes, and the sums of a unit's heads stay in registers until they
 * give its new state.  With `keep` a tile also stores what the backward pass needs, each value in its own line. */
#ifndef AS_BACKEND_CPU_CFC_SIDE_H
#define AS_BACKEND_CPU_CFC_SIDE_H

#include "backend/cpu/cell/cell_math.h"
#include "backend/cpu/cell/cfc_book.h"
#include "backend/cpu/product/gemm_tile.h"
#include "backend/cpu/simd/vmath.h"

enum { SIDE = 2 * VW, SUMS = AS_SIMD_REGISTERS >= 32 ? 24 : 12 }; /* SUMS: vectors that fit in registers beside their factors */

/* The data of a run; all buffers have `lanes` lanes: SIDE, VW, or 1 for a single sample. */
typedef struct work {
    const book  *b;
    const float *weights;
    float       *x, *h, *mid, *memory, *wide[2], *y, *ts;
    int64_t      pitch; /* from one kept line to the next */
    float       *stash; /* the first kept line at this step, NULL: nothing is kept */
    float       *room;  /* kept lines of one step */
    as_cfc_stash kept;  /* which line is what */
    /* For dropout: */
    const as_kernel_args *args;
    int64_t               first, n; /* samples */
} work;

/* Two ranges of inputs, one after the other in the weights. */
typedef struct inputs {
    const float *z1;
    int64_t      k1;
    const float *z2;
    int64_t      k2;
} inputs;

typedef enum as_cfc_end { END_NONE, END_ACT, END_PURE } as_cfc_end; /* of a layer of one head */

/* What is kept per unit: of a cell; of a backbone; of the memory's gates, in the order of its heads. */
enum { ONE, TWO, TIME, GATE, PLANES };
enum { POST, SLOPE, ROW_PLANES };

/* One step of a layer. */
typedef struct tile {
    const work   *w;
    const layer  *l;
    const inputs *in;
    as_cfc_end    end;
    float        *out, *keep;     /* [unit][lane]; the first unit's lines at this step */
    int64_t       per_unit, gate; /* kept lines of a cell's unit, and which of them is the gate's */
} tile;

/* --- From sums to values -------------------------------------------------------------------------------- */

/* e: exp(-ts (tau + |f|)). */
V_INLINE vf pure_decay(vf f, vf tau, vf ts) { return vm_exp(v_neg(v_mul(ts, v_add(tau, v_abs(f))))); }
V_INLINE vf pure_of(vf f, vf e, vf a) { return v_fnma(v_mul(a, e), f, a); }

/* gate: after its sigmoid; one and two: after their tanh. */
V_INLINE vf blend_of(const as_cfc *c, vf one, vf two, vf gate)
{
    return v_fma(gate, c->mode == AS_CFC_NO_GATE ? two : v_sub(two, one), one);
}

/* tanh of one and two and sigmoid of the gate, with one division. */
V_INLINE void heads_of(const as_cfc *c, vf *one, vf *two, vf *gate)
{
    vf open = gate_part(*gate);
    if (c->semantics != AS_CFC_TORCH) {
        *gate = v_inverse(open);
        return;
    }
    vf u = tanh_part(*one), w = tanh_part(*two), below = v_sub(v_set(2.0f), u), beside = v_sub(v_set(2.0f), w),
       both = v_mul(below, beside);
    vf inverse = v_inverse(v_mul(both, open)), rest = v_mul(open, inverse);
    *one = v_xor(v_mul(v_mul(u, beside), rest), v_sign_bit(*one));
    *two = v_xor(v_mul(v_mul(w, below), rest), v_sign_bit(*two));
    *gate = v_mul(both, inverse);
}

V_INLINE vf act_of(as_cfc_act act, vf x)
{
    switch (act) {
    case AS_CFC_LECUN_TANH: return v_mul(v_set(1.7159f), tanh_of(v_mul(v_set(0.666f), x)));
    case AS_CFC_TANH: return tanh_of(x);
    case AS_CFC_RELU: return vm_relu(x);
    case AS_CFC_SILU: return vm_silu(x);
    case AS_CFC_GELU: return vm_gelu(x);
    }
    return x;
}

/* The slope of the activation whose value at x is y. */
V_INLINE vf slope_of(as_cfc_act act, vf x, vf y)
{
    const vf one = v_set(1.0f);
    vf       s;
    switch (act) {
    case AS_CFC_LECUN_TANH: return v_fnma(v_mul(y, y), v_set(0.666f / 1.7159f), v_set(0.666f * 1.7159f));
    case AS_CFC_TANH: return v_fnma(y, y, one);
    case AS_CFC_RELU: return v_and(v_gt(x, v_zero()), one);
    case AS_CFC_SILU: s = vm_sigmoid(x); return v_fma(y, v_sub(one, s), s);
    case AS_CFC_GELU:
        s = v_mul(v_set(0.5f), v_add(one, vm_erf(v_mul(x, v_set(0.707106781f)))));
        return v_fma(v_mul(x, v_set(0.398942280f)), vm_exp(v_mul(v_set(-0.5f), v_mul(x, x))), s);
    }
    return one;
}

/* --- Sums ------------------------------------------------------------------------------------------------- */

/* sum[unit * heads + head] += weights of `units` neighbours times k inputs. */
V_INLINE void side_add(const int units, const int heads, const int vecs, const float *w, const float *z, int64_t k, vf sum[SUMS][2])
{
    for (int64_t i = 0; i < k; i++, w += heads * VW, z += vecs * VW) {
        vf x[2];
        V_UNROLL
        for (int v = 0; v < vecs; v++)
            x[v] = v_load(z + v * VW);
        V_UNROLL
        for (int u = 0; u < units; u++) {
            V_UNROLL
            for (int h = 0; h < heads; h++) {
                vf s = v_one(w + h * VW + u);
                V_UNROLL
                for (int v = 0; v < vecs; v++)
                    TILE_FMA(sum[u * heads + h][v], s, x[v]);
            }
        }
    }
}

V_INLINE const float *unit_at(const work *w, const layer *l, int64_t unit)
{
    return w->weights + l->at + unit / VW * panel_floats(l) + unit % VW;
}

V_INLINE void side_sums(const int units, const int heads, const int vecs, const tile *t, const float *w, vf sum[SUMS][2])
{
    const inputs *in = t->in;
    V_UNROLL
    for (int u = 0; u < units; u++) {
        V_UNROLL
        for (int h = 0; h < heads; h++) {
            V_UNROLL
            for (int v = 0; v < vecs; v++)
                sum[u * heads + h][v] = v_one(w + h * VW + u);
        }
    }
    w += t->l->first * heads * VW;
    side_add(units, heads, vecs, w, in->z1, in->k1, sum);
    side_add(units, heads, vecs, w + in->k1 * heads * VW, in->z2, in->k2, sum);
}

/* --- Tiles of a step ----------------------------------------------------------------------------------------- */

V_INLINE void cells_tile(const int units, const int heads, const int vecs, const bool keep, const tile *t, int64_t unit)
{
    const work *w = t->w;
    vf          sum[SUMS][2];
    side_sums(units, heads, vecs, t, unit_at(w, t->l, unit), sum);
    V_UNROLL
    for (int u = 0; u < units; u++) {
        float *plane = keep ? t->keep + (unit + u) * t->per_unit * w->pitch : NULL;
        V_UNROLL
        for (int v = 0; v < vecs; v++) {
            vf one = sum[u * heads][v], two = sum[u * heads + 1][v], gate = sum[u * heads + 2][v];
            if (keep && heads == 4)
                v_store(plane + TIME * w->pitch + v * VW, gate);
            if (heads == 4)
                gate = v_fma(gate, v_load(w->ts + v * VW), sum[u * heads + heads - 1][v]);
            heads_of(&w->b->c, &one, &two, &gate);
            if (keep) {
                v_store(plane + ONE * w->pitch + v * VW, one);
                v_store(plane + TWO * w->pitch + v * VW, two);
                v_store(plane + t->gate * w->pitch + v * VW, gate);
            }
            v_store(t->out + ((unit + u) * vecs + v) * VW, blend_of(&w->b->c, one, two, gate));
        }
    }
}

V_INLINE void rows_tile(const int units, const int heads, const int vecs, const bool keep, const tile *t, int64_t unit)
{
    const work  *w = t->w;
    const float *at = unit_at(w, t->l, unit);
    vf           sum[SUMS][2];
    side_sums(units, heads, vecs, t, at, sum);
    V_UNROLL
    for (int u = 0; u < units; u++) {
        V_UNROLL
        for (int v = 0; v < vecs; v++) {
            vf x = sum[u][v], y = x;
            if (t->end == END_PURE) {
                vf e = pure_decay(x, v_one(at + VW + u), v_load(w->ts + v * VW));
                y = pure_of(x, e, v_one(at + 2 * VW + u));
                if (keep) {
                    v_store(t->keep + ((unit + u) * t->per_unit + ONE) * w->pitch + v * VW, x);
                    v_store(t->keep + ((unit + u) * t->per_unit + TWO) * w->pitch + v * VW, e);
                }
            } else {
                if (t->end == END_ACT)
                    y = act_of(w->b->c.act, x);
                if (keep) {
                    v_store(t->keep + ((unit + u) * ROW_PLANES + POST) * w->pitch + v * VW, y);
                    v_store(t->keep + ((unit + u) * ROW_PLANES + SLOPE) * w->pitch + v * VW,
                            t->end == END_ACT ? slope_of(w->b->c.act, x, y) : v_set(1.0f));
                }
            }
            v_store(t->out + ((unit + u) * vecs + v) * VW, y);
        }
    }
}

/* The LSTM cell: w->memory is its c, and gets the new one. */
V_INLINE void memory_tile(const int units, const int heads, const int vecs, const bool keep, const tile *t, int64_t unit)
{
    const work *w = t->w;
    vf          sum[SUMS][2];
    side_sums(units, heads, vecs, t, unit_at(w, t->l, unit), sum);
    V_UNROLL
    for (int u = 0; u < units; u++) {
        V_UNROLL
        for (int v = 0; v < vecs; v++) {
            float *at = w->memory + ((unit + u) * vecs + v) * VW,
                  *plane = keep ? t->keep + (unit + u) * PLANES * w->pitch + v * VW : NULL;
            vf i = vm_tanh(sum[u * heads][v]), ig = vm_sigmoid(sum[u * heads + 1][v]), fg = vm_sigmoid(sum[u * heads + 2][v]);
            vf og = vm_sigmoid(sum[u * heads + 3][v]), c = v_fma(v_load(at), fg, v_mul(i, ig));
            v_store(at, c);
            v_store(t->out + ((unit + u) * vecs + v) * VW, v_mul(vm_tanh(c), og));
            if (keep) {
                v_store(plane, i);
                v_store(plane + w->pitch, ig);
                v_store(plane + 2 * w->pitch, fg);
                v_store(plane + 3 * w->pitch, og);
            }
        }
    }
}

/* Units per tile: as many as the registers allow, a power of two, so that no tile reaches into the next panel. */
#define TILE_FITS(units, heads, vecs) ((units) <= VW && (units) * (heads) * (vecs) <= SUMS)
#define TILE_UNITS(heads, vecs)       (TILE_FITS(8, heads, vecs) ? 8 : TILE_FITS(4, heads, vecs) ? 4 : TILE_FITS(2, heads, vecs) ? 2 : 1)

/* name(t): all units of a layer.  Each tile is a separate function: inside a larger one gcc gives registers to the constants of
 * tanh, keeps sums in memory instead, and the code takes half as long again. */
#define TILE_LAYER(name, body, heads, vecs, keep)                                                                    \
    static __attribute__((noinline)) void name##_many(const tile *t, int64_t u)                                      \
    {                                                                                                                \
        body(TILE_UNITS(heads, vecs), heads, vecs, keep, t, u);                                                      \
    }                                                                                                                \
    static __attribute__((noinline)) void name##_two(const tile *t, int64_t u) { body(2, heads, vecs, keep, t, u); } \
    static __attribute__((noinline)) void name##_one(const tile *t, int64_t u) { body(1, heads, vecs, keep, t, u); } \
    static void                           name(const tile *t)                                                        \
    {                                                                                                                \
        const int64_t n = t->l->n, many = TILE_UNITS(heads, vecs);                                                   \
        int64_t       u = 0;                                                                                         \
        for (; u + many <= n; u += many)                                                                             \
            name##_many(t, u);                                                                                       \
        for (; many > 2 && u + 2 <= n; u += 2)                                                                       \
            name##_two(t, u);                                                                                        \
        for (; u < n; u++)                                                                                           \
            name##_one(t, u);                                                                                        \
    }

/* --- Samples to lanes and back --------------------------------------------------------------------------------- */

/* VW lines of VW floats, transposed. */
V_INLINE void square_turn(const float *from, int64_t from_step, float *to, int64_t to_step)
{
    vf r[VW];
    V_UNROLL
    for (int i = 0; i < VW; i++)
        r[i] = v_load(from + i * from_step);
    v_transpose(r);
    V_UNROLL
    for (int i = 0; i < VW; i++)
        v_store(to + i * to_step, r[i]);
}

/* to[col][row] = from[row][col]; lines are from_step and to_step floats apart. */
static void lines_turn(const float *from, int64_t from_step, int64_t rows, int64_t cols, float *to, int64_t to_step)
{
    for (int64_t r = 0; r < rows; r += VW) {
        int64_t c = 0, last = rows - r < VW ? rows : r + VW;
        for (; last == r + VW && c + VW <= cols; c += VW)
            square_turn(from + r * from_step + c, from_step, to + c * to_step + r, to_step);
        for (; c < cols; c++)
            for (int64_t i = r; i < last; i++)
                to[c * to_step + i] = from[i * from_step + c];
    }
}

/* Copies k floats of each of n samples, which are `step` floats apart, as [k][lanes]; the lanes after them stay. */
static void lanes_fetch(int lanes, int64_t n, const float *from, int64_t step, int64_t k, float *to)
{
    lines_turn(from, step, n, k, to, lanes);
}
static void lanes_put(int lanes, int64_t n, const float *from, int64_t k, float *to, int64_t step)
{
    lines_turn(from, lanes, k, n, to, step);
}

static int64_t lines(int64_t n) { return (n + 15) / 16 * 16; }

#endif
