/* conv_deep.h - depthwise convolution from NHWC to NHWC, in place; include one of the simd_*.h before.
 *
 * A row of outputs is done in tiles of some pixels by all channels, so that memory is read in its order.  Vectors run over channels.
 * A tile reads each column of its window once per row of taps and adds it to every pixel that sees it.  Where the width of the window
 * and the stride are known to the compiler (3, 5 and 7 taps; strides of 1 and 2), all of that stays in registers.  Rows of taps outside
 * the image are not walked; the tiles at both ends of a row leave out the columns outside, so that no input is copied.  The last
 * channels are read and written under a mask. */
#ifndef AS_BACKEND_CPU_CONV_DEEP_H
#define AS_BACKEND_CPU_CONV_DEEP_H

#include "backend/cpu/conv/conv_tile.h"

#define CONV_ACT_ROW(expression)        \
    {                                   \
        for (; i + VW <= n; i += VW) {  \
            vf x = v_load(y + i);       \
            v_store(y + i, expression); \
        }                               \
        break;                          \
    }
/* n values in place.  The usual activations have a loop each, which keeps their constants in registers. */
static __attribute__((noinline)) void conv_act_row(const as_act_f32 *act, float *y, int64_t n)
{
    int64_t i = 0;
    switch (act->kind) {
    case AS_ACT_SILU: CONV_ACT_ROW(vm_silu(x))
    case AS_ACT_SIGMOID: CONV_ACT_ROW(vm_sigmoid(x))
    case AS_ACT_HARDSWISH: CONV_ACT_ROW(vm_hardswish(x))
    default: CONV_ACT_ROW(conv_act_any(act, x))
    }
    if (i < n)
        v_store_n(y + i, (int)(n - i), conv_act_any(act, v_load_n(y + i, (int)(n - i))));
}

enum {
    DEEP_V = AS_SIMD_REGISTERS >= 32 ? 2 : 1, /* vectors of channels side by side */
    DEEP_PIXELS = 6,                          /* where all columns are inside */
    DEEP_EDGE = 4,                            /* elsewhere */
};

typedef struct deep_tile {
    const float *x;         /* column 0 of the image under the first row of taps */
    int64_t      row, next; /* from a row of taps to the next one, and from column to column */
    int64_t      col, n_in; /* the first column of the window, which may be outside; columns of the image */
    int64_t      n_rows;    /* of taps */
    int64_t      n_taps, stride, dilation;
    const float *w;
    int64_t      wide; /* weights of a tap */
    const float *bias; /* NULL: none */
    const float *r;    /* residual or mask, NULL: none */
    bool         masks;
    float       *y;
    int64_t      step;       /* from pixel to pixel of y and r */
    int          n_p, lanes; /* pixels to write, at an edge; channels of a vector that is not whole */
    float        lo, hi;
} deep_tile;

#define DEEP_EACH_P V_UNROLL for (int p = 0; p < n_p; p++)
#define DEEP_EACH_V V_UNROLL for (int v = 0; v < n_v; v++)

V_INLINE vf   deep_load(const float *p, bool whole, int lanes) { return whole ? v_load(p) : v_load_n(p, lanes); }
V_INLINE void deep_begin(const deep_tile *t, int n_p, int n_v, bool whole, vf acc[DEEP_PIXELS][DEEP_V])
{
    DEEP_EACH_V
    {
        vf          bias = t->bias ? deep_load(t->bias + v * VW, whole, t->lanes) : v_zero();
        DEEP_EACH_P acc[p][v] = bias;
    }
}

V_INLINE void deep_end(const deep_tile *t, int n_p, int n_v, bool whole, bool edge, vf acc[DEEP_PIXELS][DEEP_V])
{
    vf lo = v_set(t->lo), hi = v_set(t->hi);
    DEEP_EACH_P
    {
        if (edge && p >= t->n_p)
            break;
        DEEP_EACH_V
        {
            int64_t at = p * t->step + v * VW;
            vf      y = acc[p][v];
            if (t->r)
                y = conv_join(t->masks, y, deep_load(t->r + at, whole, t->lanes));
            y = v_min(hi, v_max(lo, y));
            if (whole)
                v_store(t->y + at, y);
            else
                v_store_n(t->y + at, t->lanes, y);
        }
    }
}

/* n_p pixels under n_b taps per row, `stride` apart; all of these are constants to the compiler. */
V_INLINE void deep_walk(const deep_tile *t, int n_p, int n_b, int stride, int n_v, bool whole, bool edge)
{
    vf           acc[DEEP_PIXELS][DEEP_V], wv[7][DEEP_V];
    const float *x = t->x, *w = t->w;
    deep_begin(t, n_p, n_v, whole, acc);
    for (int64_t a = 0; a < t->n_rows; a++, x += t->row) {
        V_UNROLL for (int b = 0; b < n_b; b++, w += t->wide) DEEP_EACH_V wv[b][v] = v_load(w + v * VW);
        V_UNROLL for (int c = 0; c < (n_p - 1) * stride + n_b; c++)
        {
            if (edge && (t->col + c < 0 || t->col + c >= t->n_in))
                continue;
            const float *at = x + (t->col + c) * t->next;
            DEEP_EACH_V
            {
                vf one = deep_load(at + v * VW, whole, t->lanes);
                DEEP_EACH_P if (c >= p * stride && c - p * stride < n_b) acc[p][v] = v_fma(one, wv[c - p * stride][v], acc[p][v]);
            }
        }
    }
    deep_end(t, n_p, n_v, whole, edge, acc);
}

/* Any window: one pixel, tap by tap. */
V_INLINE void deep_any(const deep_tile *t, int n_v, bool whole)
{
    enum { n_p = 1 };
    vf acc[DEEP_PIXELS][DEEP_V];
    deep_begin(t, n_p, n_v, whole, acc);
    for (int64_t a = 0; a < t->n_rows; a++)
        for (int64_t b = 0; b < t->n_taps; b++) {
            int64_t col = t->col + b * t->dilation;
            if (col < 0 || col >= t->n_in)
                continue;
            const float *at = t->x + a * t->row + col * t->next, *w = t->w + (a * t->n_taps + b) * t->wide;
            DEEP_EACH_V  acc[0][v] = v_fma(deep_load(at + v * VW, whole, t->lanes), v_load(w + v * VW), acc[0][v]);
        }
    deep_end(t, n_p, n_v, whole, false, acc);
}

typedef void (*deep_fn)(const deep_tile *t);
/* For whole vectors and for one that is not; inside the image and at its edges. */
typedef struct deep_kind {
    int64_t n_taps, stride;
    deep_fn inside[2], edge[2];
} deep_kind;

#define DEEP_KIND(n_b, s)                                                                  \
    static __attribute__((noinline)) void deep_##n_b##_##s(const deep_tile *t)             \
    {                                                                                      \
        deep_walk(t, DEEP_PIXELS, n_b, s, DEEP_V, true, false);                            \
    }                                                                                      \
    static __attribute__((noinline)) void deep_##n_b##_##s##_edge(const deep_tile *t)      \
    {                                                                                      \
        deep_walk(t, DEEP_EDGE, n_b, s, DEEP_V, true, true);                               \
    }                                                                                      \
    static __attribute__((noinline)) void deep_##n_b##_##s##_part(const deep_tile *t)      \
    {                                                                                      \
        deep_walk(t, DEEP_PIXELS, n_b, s, 1, false, false);                                \
    }                                                                                      \
    static __attribute__((noinline)) void deep_##n_b##_##s##_part_edge(const deep_tile *t) \
    {                                                                                      \
        deep_walk(t, DEEP_EDGE, n_b, s, 1, false, true);                                   \
    }
#define DEEP_ROW(n_b, s)                                                                                               \
    {                                                                                                                  \
        n_b, s, {deep_##n_b##_##s, deep_##n_b##_##s##_part}, { deep_##n_b##_##s##_edge, deep_##n_b##_##s##_part_edge } \
    }

DEEP_KIND(3, 1)
DEEP_KIND(3, 2)
DEEP_KIND(5, 1)
DEEP_KIND(5, 2)
DEEP_KIND(7, 1)
static const deep_kind deep_kinds[] = {DEEP_ROW(3, 1), DEEP_ROW(3, 2), DEEP_ROW(5, 1), DEEP_ROW(5, 2), DEEP_ROW(7, 1)};

static __attribute__((noinline)) void deep_any_whole(const deep_tile *t) { deep_any(t, DEEP_V, true); }
static __attribute__((noinline)) void deep_any_part(const deep_tile *t) { deep_any(t, 1, false); }

static const deep_kind *deep_kind_of(const as_conv_plan *v)
{
    for (size_t i = 0; i < AS_COUNT(deep_kinds); i++)
        if (v->w.kernel[2] == deep_kinds[i].n_taps && v->w.stride[2] == deep_kinds[i].stride && v->w.dilation[2] == 1)
            return &deep_kinds[i];
    return NULL;
}

/* All channels of the pixels of one tile. */
static void deep_channels(const conv_job *j, deep_tile t, deep_fn whole, deep_fn part)
{
    const int64_t n_c = j->v.n_c;
    int64_t       c = 0;
    const float  *x = t.x, *w = t.w, *r = t.r;
    float        *y = t.y;
    for (; c + DEEP_V * VW <= n_c; c += DEEP_V * VW) {
        t.x = x + c, t.w = w + c, t.y = y + c, t.r = r ? r + c : NULL, t.bias = j->bias ? j->bias + c : NULL;
        whole(&t);
    }
    for (; c < n_c; c += VW) {
        t.x = x + c, t.w = w + c, t.y = y + c, t.r = r ? r + c : NULL, t.bias = j->bias ? j->bias + c : NULL;
        t.lanes = n_c - c < VW ? (int)(n_c - c) : VW;
        part(&t);
    }
}

/* One row of outputs of one image. */
static void deep_row(const conv_job *j, const deep_kind *kind, const float *weight, int64_t image, int64_t o)
{
    const as_conv_plan *v = &j->v;
    const as_window    *w = &v->w;
    int64_t             a = 0, a_end = w->kernel[1], first = o * w->stride[1] - w->pad_begin[1], d = w->dilation[1];
    int64_t             wide = (v->n_c + CONV_PANEL - 1) / CONV_PANEL * CONV_PANEL, line = w->in[2] * v->n_c;
    while (a < a_end && first + a * d < 0)
        a++;
    while (a < a_end && first + (a_end - 1) * d >= w->in[1])
        a_end--;
    int64_t   at = ((image * v->y_rows + o * v->y_step[0] + v->y_at[0]) * v->y_cols + v->y_at[1]) * v->n_m;
    deep_tile t = {.x = a < a_end ? j->x + (image * w->in[1] + first + a * d) * line : j->x,
                   .row = d * line,
                   .next = v->n_c,
                   .n_in = w->in[2],
                   .n_rows = a_end - a,
                   .n_taps = w->kernel[2],
                   .stride = w->stride[2],
                   .dilation = w->dilation[2],
                   .w = weight + a * w->kernel[2] * wide,
                   .wide = wide,
                   .masks = j->masks,
                   .step = v->y_step[1] * v->n_m,
                   .lo = j->lo,
                   .hi = j->hi};
    for (int64_t col = 0; col < w->out[2]; col += t.n_p) {
        int64_t left = w->out[2] - col, end;
        t.col = col * w->stride[2] - w->pad_begin[2];
        end = t.col + (DEEP_PIXELS - 1) * w->stride[2] + w->kernel[2];
        t.y = j->y + at + col * t.step, t.r = j->r ? j->r + at + col * t.step : NULL;
        if (!kind) {
            t.n_p = 1;
            deep_channels(j, t, deep_any_whole, deep_any_part);
        } else if (left >= DEEP_PIXELS && t.col >= 0 && end <= w->in[2]) {
            t.n_p = DEEP_PIXELS;
            deep_channels(j, t, kind->inside[0], kind->inside[1]);
        } else {
            t.n_p = left < DEEP_EDGE ? (int)left : DEEP_EDGE;
            deep_channels(j, t, kind->edge[0], kind->edge[1]);
        }
        for (int p = 0; !j->clamps && p < t.n_p; p++)
            conv_act_row(&j->act, t.y + p * t.step, v->n_m);
    }
}

static void deep_unit(const conv_job *j, const as_conv_unit *u, const float *weight)
{
    const deep_kind *kind = deep_kind_of(&j->v);
    for (int64_t i = 0; i < u->n_images * u->n_rows; i++)
        deep_row(j, kind, weight, u->image + i / u->n_rows, u->row + i % u->n_rows);
}

#endif
