/* convgradw_body.h - the gradient of a convolution with respect to W on vectors; include one of the simd_*.h before.
 * convgradw_plan.h says how the work is split. */
#ifndef AS_BACKEND_CPU_CONVGRADW_BODY_H
#define AS_BACKEND_CPU_CONVGRADW_BODY_H

#include <stdio.h>
#include <string.h>

#include "backend/cpu/conv/convgradw_plan.h"
#include "backend/cpu/each/plain.h"
#include "backend/cpu/product/gemm_tile.h"

enum {
    GRADW_PANEL = VW > 8 ? 2 * VW : AS_CONV_PANEL,
    GRADW_V = GRADW_PANEL / VW,
    GRADW_ROWS = VW > 8                             ? 12
                 : AS_SIMD_REGISTERS / GRADW_V >= 8 ? 6
                                                    : 3, /* by GRADW_V sums in registers */
    GRADW_RUN = 3,                                       /* of a 3x3 on one channel: several rows of taps are one tile */
    GRADW_RUNS = GRADW_ROWS / GRADW_RUN,
    GRADW_DEEP = 3 /* taps of a row that a depthwise convolution does at once */
};

/* --- The tile --------------------------------------------------------------------------------------------- */

/* Positions: images of rows of columns; `x_next` and `dy_next` come on top after each row. */
typedef struct gradw_tile {
    const float *x, *dy;
    float       *sum; /* [row][panel] */
    int64_t      n_images, x_image, dy_image, n_rows, n_cols, x_step, x_next, dy_next;
    int64_t      x_run;  /* from one run of rows to the next */
    bool         begins; /* the sums are not there yet */
} gradw_tile;

/* n_runs times n_q rows, n_v vectors: constants to the compiler. */
V_INLINE void gradw_walk(const gradw_tile *t, const int n_runs, const int n_q, const int n_v)
{
    vf sum[GRADW_ROWS][GRADW_V];
    V_UNROLL for (int r = 0; r < n_runs * n_q; r++)
    {
        V_UNROLL for (int v = 0; v < n_v; v++) sum[r][v] = t->begins ? v_zero() : v_load(t->sum + r * GRADW_PANEL + v * VW);
    }
    for (int64_t image = 0; image < t->n_images; image++) {
        const float  *x = t->x + image * t->x_image, *dy = t->dy + image * t->dy_image;
        const int64_t x_step = t->x_step, x_next = t->x_next, dy_next = t->dy_next, n_cols = t->n_cols, x_run = t->x_run;
        int64_t       left = n_cols;
        for (int64_t n = t->n_rows * n_cols; n > 0; n--) {
            vf line[GRADW_V];
            V_UNROLL for (int v = 0; v < n_v; v++) line[v] = v_load(dy + v * VW);
            V_UNROLL for (int g = 0; g < n_runs; g++)
            {
                V_UNROLL for (int q = 0; q < n_q; q++)
                {
                    vf one = v_one(x + g * x_run + q);
                    V_UNROLL for (int v = 0; v < n_v; v++) TILE_FMA(sum[g * n_q + q][v], one, line[v]);
                }
            }
            x += x_step, dy += GRADW_PANEL;
            if (--left == 0)
                x += x_next, dy += dy_next, left = n_cols;
        }
    }
    V_UNROLL for (int r = 0; r < n_runs * n_q; r++)
    {
        V_UNROLL for (int v = 0; v < n_v; v++) v_store(t->sum + r * GRADW_PANEL + v * VW, sum[r][v]);
    }
}

#define GRADW_TILE(n)                                                                  \
    static __attribute__((noinline)) void gradw_whole_##n(const gradw_tile *t)         \
    {                                                                                  \
        gradw_walk(t, 1, n < GRADW_ROWS ? n : GRADW_ROWS, GRADW_V);                    \
    }                                                                                  \
    static __attribute__((noinline)) void gradw_half_##n(const gradw_tile *t)          \
    {                                                                                  \
        gradw_walk(t, 1, n<GRADW_ROWS ? n : GRADW_ROWS, GRADW_V> 1 ? GRADW_V / 2 : 1); \
    }
/* A machine with fewer registers does not call the last of them. */
GRADW_TILE(1)
GRADW_TILE(2)
GRADW_TILE(3)
GRADW_TILE(4)
GRADW_TILE(5)
GRADW_TILE(6)
#ifdef TILE_TALL
GRADW_TILE(7)
GRADW_TILE(8)
GRADW_TILE(9)
GRADW_TILE(10)
GRADW_TILE(11)
GRADW_TILE(12)
#endif

typedef void (*gradw_tile_fn)(const gradw_tile *t);
static const gradw_tile_fn gradw_whole[] = {
    gradw_whole_1, gradw_whole_2, gradw_whole_3, gradw_whole_4,  gradw_whole_5,  gradw_whole_6,
#ifdef TILE_TALL
    gradw_whole_7, gradw_whole_8, gradw_whole_9, gradw_whole_10, gradw_whole_11, gradw_whole_12,
#endif
};
static const gradw_tile_fn gradw_half[] = {
    gradw_half_1, gradw_half_2, gradw_half_3, gradw_half_4,  gradw_half_5,  gradw_half_6,
#ifdef TILE_TALL
    gradw_half_7, gradw_half_8, gradw_half_9, gradw_half_10, gradw_half_11, gradw_half_12,
#endif
};
static __attribute__((noinline)) void gradw_runs(const gradw_tile *t) { gradw_walk(t, GRADW_RUNS, GRADW_RUN, GRADW_V); }

/* --- Copies ------------------------------------------------------------------------------------------------- */

typedef struct gradw_job {
    as_gradw_plan p;
    const float  *x, *dy;
    float        *sums;             /* of all shards */
    float        *x_copy, *dy_copy; /* of this part */
} gradw_job;

V_INLINE void gradw_floats(float *to, const float *from, int64_t n)
{
    for (; n >= VW; n -= VW, to += VW, from += VW)
        v_store(to, v_load(from));
    if (n)
        v_store_n(to, (int)n, v_load_n(from, (int)n));
}

/* The channels [c, c + n) of the unit's pixels as [pixel][pitch]; not padded. */
static void gradw_block_copy(const gradw_job *j, const as_gradw_unit *u, int64_t c, int64_t n, float *to)
{
    const as_gradw_plan *p = &j->p;
    int64_t              plane = p->w.in[1] * p->w.in[2], n_pixels = u->n_in_rows * p->w.in[2], first = u->in_row * p->w.in[2];
    for (int64_t image = 0; image < u->n_images; image++, to += p->x_image) {
        const float *x = j->x + (u->image + image) * plane * p->n_c;
        if (p->x_nhwc) {
            x += first * p->n_c + c;
            for (int64_t i = 0; i < n_pixels; i++)
                gradw_floats(to + i * p->pitch, x + i * p->n_c, n);
            continue;
        }
        for (int64_t k = 0; k < n; k++)
            for (int64_t i = 0; i < n_pixels; i++)
                to[i * p->pitch + k] = x[(c + k) * plane + first + i];
    }
}

/* Few channels: [row][column][channel] with zeros around the image. */
static void gradw_padded_copy(const gradw_job *j, const as_gradw_unit *u, float *to)
{
    const as_gradw_plan *p = &j->p;
    const as_window     *w = &p->w;
    int64_t              plane = w->in[1] * w->in[2], n_c = p->n_c, wide = p->in_cols * n_c;
    int64_t              begin = w->pad_begin[2] < p->in_cols ? w->pad_begin[2] : p->in_cols, end = w->in[2] + w->pad_begin[2];
    end = end < p->in_cols ? end : p->in_cols;
    for (int64_t image = 0; image < u->n_images; image++, to += p->x_image) {
        const float *x = j->x + (u->image + image) * plane * n_c;
        for (int64_t i = 0; i < u->n_in_rows; i++) {
            int64_t at = u->in_row + i;
            float  *row = to + i * wide;
            if (at < 0 || at >= w->in[1] || begin >= end) {
                memset(row, 0, (size_t)wide * sizeof *row);
                continue;
            }
            memset(row, 0, (size_t)(begin * n_c) * sizeof *row);
            memset(row + end * n_c, 0, (size_t)((p->in_cols - end) * n_c) * sizeof *row);
            if (p->x_nhwc) {
                memcpy(row + begin * n_c, x + at * w->in[2] * n_c, (size_t)((end - begin) * n_c) * sizeof *row);
                continue;
            }
            for (int64_t c = 0; c < n_c; c++)
                for (int64_t k = begin; k < end; k++)
                    row[k * n_c + c] = x[c * plane + at * w->in[2] + k - begin];
        }
    }
}

/* The blocks of the groups [first, last). */
static void gradw_x_copy(const gradw_job *j, const as_gradw_unit *u, int64_t first, int64_t last)
{
    const as_gradw_plan *p = &j->p;
    if (p->joined) {
        gradw_padded_copy(j, u, j->x_copy);
        return;
    }
    for (int64_t b = first * p->n_blocks; b < last * p->n_blocks; b++) {
        int64_t c = b % p->n_blocks * p->block, n = p->c_group - c < p->block ? p->c_group - c : p->block;
        gradw_block_copy(j, u, b / p->n_blocks * p->c_group + c, n, j->x_copy + b * p->x_block);
    }
}

/* The channels [m, m + n) of the unit's dY as [position][panel]; where `sum` is given, it gets their sums. */
static void gradw_dy_copy(const gradw_job *j, const as_gradw_unit *u, int64_t m, int n, float *sum, bool begins)
{
    const as_gradw_plan *p = &j->p;
    int64_t              plane = p->w.out[1] * p->w.out[2], n_pixels = u->n_rows * p->w.out[2], first = u->row * p->w.out[2];
    float               *to = j->dy_copy;
    vf                   all[GRADW_V];
    V_UNROLL for (int v = 0; v < GRADW_V; v++) all[v] = v_zero();
    for (int64_t image = 0; image < u->n_images; image++) {
        const float *dy = j->dy + (u->image + image) * plane * p->n_m + (p->dy_nhwc ? first * p->n_m + m : m * plane + first);
        float       *at = to;
        if (p->dy_nhwc && n == GRADW_PANEL)
            for (int64_t i = 0; i < n_pixels; i++, at += GRADW_PANEL, dy += p->n_m)
                V_UNROLL for (int v = 0; v < GRADW_V; v++)
                {
                    vf one = v_load(dy + v * VW);
                    v_store(at + v * VW, one);
                    all[v] = v_add(all[v], one);
                }
        else if (p->dy_nhwc)
            for (int64_t i = 0; i < n_pixels; i++, at += GRADW_PANEL, dy += p->n_m)
                V_UNROLL for (int v = 0; v < GRADW_V; v++)
                {
                    int some = n - v * VW < VW ? n - v * VW : VW;
                    vf  one = some > 0 ? v_load_n(dy + v * VW, some) : v_zero();
                    v_store(at + v * VW, one);
                    all[v] = v_add(all[v], one);
                }
        else
            for (int64_t i = 0; i < n_pixels; i++, at += GRADW_PANEL) {
                for (int k = 0; k < GRADW_PANEL; k++)
                    at[k] = k < n ? dy[k * plane + i] : 0.0f;
                V_UNROLL for (int v = 0; v < GRADW_V; v++) all[v] = v_add(all[v], v_load(at + v * VW));
            }
        to = at;
    }
    V_UNROLL for (int v = 0; sum && v < GRADW_V; v++) v_store(sum + v * VW, begins ? all[v] : v_add(v_load(sum + v * VW), all[v]));
}

/* --- A panel of a unit -------------------------------------------------------------------------------------- */

/* The outputs [*begin, *end) of [first, first + n) whose tap k lies inside. */
static void gradw_inside(const as_gradw_plan *p, int axis, int64_t k, int64_t first, int64_t n, int64_t *begin, int64_t *end)
{
    as_plain_taps(&p->w, axis, k, begin, end);
    *begin = *begin > first ? *begin : first;
    *end = *end < first + n ? *end : first + n;
    if (*end < *begin)
        *end = *begin;
}

/* All rows of one tap over the positions that see it. */
static void gradw_tap_run(const gradw_job *j, const as_gradw_unit *u, const gradw_tile_fn *tiles, int64_t g, int64_t a, int64_t b,
                          float *sum, bool begins)
{
    const as_gradw_plan *p = &j->p;
    const as_window     *w = &p->w;
    int64_t              row, row_end, col, col_end;
    gradw_inside(p, 1, a, u->row, u->n_rows, &row, &row_end);
    gradw_inside(p, 2, b, 0, w->out[2], &col, &col_end);
    if (col == col_end)
        row_end = row;
    if (row == row_end && !begins)
        return;
    int64_t    from = (as_plain_at(w, 1, row, a) - u->in_row) * w->in[2] + as_plain_at(w, 2, col, b), n_cols = col_end - col;
    gradw_tile t = {.dy = j->dy_copy + ((row - u->row) * w->out[2] + col) * GRADW_PANEL,
                    .n_images = row == row_end ? 0 : u->n_images,
                    .x_image = p->x_image,
                    .dy_image = u->n_rows * w->out[2] * GRADW_PANEL,
                    .n_rows = row_end - row,
                    .n_cols = n_cols,
                    .x_step = w->stride[2] * p->pitch,
                    .x_next = (w->stride[1] * w->in[2] - n_cols * w->stride[2]) * p->pitch,
                    .dy_next = (w->out[2] - n_cols) * GRADW_PANEL,
                    .begins = begins};
    /* In place, the channels of a group start at c_group of the one before, not at a multiple of blocks. */
    const float *x = p->copies ? j->x_copy + g * p->n_blocks * p->x_block
                               : j->x + (u->image * w->in[1] + u->in_row) * w->in[2] * p->n_c + g * p->c_group;
    for (int64_t block = 0, c = 0; block < p->n_blocks; block++, c += p->block) {
        int64_t n = p->c_group - c < p->block ? p->c_group - c : p->block;
        t.x = x + block * p->x_block + (t.n_images ? from * p->pitch : 0);
        t.sum = sum + c * GRADW_PANEL;
        tiles[n - 1](&t);
    }
}

/* Few channels: the taps of a row and their channels are one run, and runs of three may share a tile. */
static void gradw_joined_run(const gradw_job *j, const as_gradw_unit *u, const gradw_tile_fn *tiles, float *sum, bool begins)
{
    const as_gradw_plan *p = &j->p;
    const as_window     *w = &p->w;
    int64_t              wide = p->in_cols * p->n_c, run = w->kernel[2] * p->n_c;
    gradw_tile           t = {.dy = j->dy_copy,
                              .n_images = u->n_images,
                              .x_image = p->x_image,
                              .dy_image = u->n_rows * w->out[2] * GRADW_PANEL,
                              .n_rows = u->n_rows,
                              .n_cols = w->out[2],
                              .x_step = w->stride[2] * p->n_c,
                              .x_next = w->stride[1] * wide - w->out[2] * w->stride[2] * p->n_c,
                              .x_run = w->dilation[1] * wide,
                              .begins = begins};
    int64_t              n_tiles = (run + GRADW_ROWS - 1) / GRADW_ROWS, most = n_tiles ? (run + n_tiles - 1) / n_tiles : 0;
    for (int64_t a = 0, n_a; a < w->kernel[1]; a += n_a) {
        n_a = run == GRADW_RUN && tiles == gradw_whole && w->kernel[1] - a >= GRADW_RUNS ? GRADW_RUNS : 1;
        for (int64_t r = 0, n; r < run; r += n) {
            n = run - r < most ? run - r : most;
            t.x = j->x_copy + a * t.x_run + r;
            t.sum = sum + (a * run + r) * GRADW_PANEL;
            if (n_a > 1)
                gradw_runs(&t);
            else
                tiles[n - 1](&t);
        }
    }
}

static void gradw_panel_run(const gradw_job *j, const as_gradw_unit *u, int64_t panel, float *shard, bool begins)
{
    const as_gradw_plan *p = &j->p;
    int64_t              g = panel / p->n_panels, m = panel % p->n_panels * GRADW_PANEL;
    int                  n = p->m_group - m < GRADW_PANEL ? (int)(p->m_group - m) : GRADW_PANEL;
    float               *sum = shard + panel * p->panel_floats, *bias = shard + p->all_panels * p->panel_floats;
    const gradw_tile_fn *tiles = n > GRADW_PANEL / 2 || GRADW_V == 1 ? gradw_whole : gradw_half;
    gradw_dy_copy(j, u, g * p->m_group + m, n, p->sums_dy ? bias + panel * GRADW_PANEL : NULL, begins);
    if (p->joined) {
        gradw_joined_run(j, u, tiles, sum, begins);
        return;
    }
    for (int64_t tap = 0; tap < p->taps; tap++)
        gradw_tap_run(j, u, tiles, g, tap / p->w.kernel[2], tap % p->w.kernel[2], sum + tap * p->c_group * GRADW_PANEL, begins);
}

/* --- Depthwise ------------------------------------------------------------------------------------------------ */

/* sums += x * dy over n positions, n_v whole vectors, or the first `some` lanes of one. */
V_INLINE void gradw_deep_walk(const float *x, int64_t x_step, const float *dy, int64_t dy_step, int64_t n, int n_v, int some,
                              float *sum)
{
    vf all[GRADW_V];
    V_UNROLL for (int v = 0; v < n_v; v++) all[v] = v_load(sum + v * VW);
    for (; n > 0; n--, x += x_step, dy += dy_step)
        V_UNROLL for (int v = 0; v < n_v; v++)
        {
            vf a = some < VW ? v_load_n(x, some) : v_load(x + v * VW), b = some < VW ? v_load_n(dy, some) : v_load(dy + v * VW);
            all[v] = v_fma(a, b, all[v]);
        }
    V_UNROLL for (int v = 0; v < n_v; v++) v_store(sum + v * VW, all[v]);
}

static void gradw_deep_line(const float *x, int64_t x_step, const float *dy, int64_t dy_step, int64_t n, int n_c, float *sum)
{
    if (n_c == GRADW_PANEL) {
        gradw_deep_walk(x, x_step, dy, dy_step, n, GRADW_V, VW, sum);
        return;
    }
    for (int c = 0; c < n_c; c += VW)
        if (n_c - c >= VW)
            gradw_deep_walk(x + c, x_step, dy + c, dy_step, n, 1, VW, sum + c);
        else
            gradw_deep_walk(x + c, x_step, dy + c, dy_step, n, 1, n_c - c, sum + c);
}

/* The same for the n_b taps of a row at once, where all of them lie inside: dY is read once. */
V_INLINE void gradw_deep_taps(const float *x, int64_t x_step, int64_t x_tap, const float *dy, int64_t dy_step, int64_t n,
                              const int n_b, float *sum)
{
    vf all[GRADW_DEEP][GRADW_V];
    V_UNROLL for (int b = 0; b < n_b; b++)
    {
        V_UNROLL for (int v = 0; v < GRADW_V; v++) all[b][v] = v_load(sum + b * GRADW_PANEL + v * VW);
    }
    for (; n > 0; n--, x += x_step, dy += dy_step)
        V_UNROLL for (int v = 0; v < GRADW_V; v++)
        {
            vf one = v_load(dy + v * VW);
            V_UNROLL for (int b = 0; b < n_b; b++) all[b][v] = v_fma(v_load(x + b * x_tap + v * VW), one, all[b][v]);
        }
    V_UNROLL for (int b = 0; b < n_b; b++)
    {
        V_UNROLL for (int v = 0; v < GRADW_V; v++) v_store(sum + b * GRADW_PANEL + v * VW, all[b][v]);
    }
}

/* One row of taps over one row of dY; x is the row of X that it sees. */
static void gradw_deep_row(const as_gradw_plan *p, const float *x, const float *dy, int n_c, float *sum)
{
    const as_window *w = &p->w;
    int64_t          x_step = w->stride[2] * p->n_c, first[GRADW_DEEP], end[GRADW_DEEP], from = w->out[2], to = w->out[2];
    bool             whole = w->kernel[2] == GRADW_DEEP && n_c == GRADW_PANEL;
    for (int64_t b = 0; whole && b < GRADW_DEEP; b++) {
        gradw_inside(p, 2, b, 0, w->out[2], &first[b], &end[b]);
        from = b == 0 || first[b] > from ? first[b] : from;
        to = end[b] < to ? end[b] : to;
    }
    if (whole && from < to)
        gradw_deep_taps(x + as_plain_at(w, 2, from, 0) * p->n_c, x_step, w->dilation[2] * p->n_c, dy + from * p->n_c, p->n_c,
                        to - from, GRADW_DEEP, sum);
    else
        from = to = 0;
    for (int64_t b = 0; b < w->kernel[2]; b++) {
        int64_t begin, stop, part[4];
        gradw_inside(p, 2, b, 0, w->out[2], &begin, &stop);
        part[0] = begin, part[1] = from < to ? from : begin; /* before what was done for all taps, and after it */
        part[2] = from < to ? to : begin, part[3] = stop;
        for (int i = 0; i < 4; i += 2)
            if (part[i] < part[i + 1])
                gradw_deep_line(x + as_plain_at(w, 2, part[i], b) * p->n_c, x_step, dy + part[i] * p->n_c, p->n_c,
                                part[i + 1] - part[i], n_c, sum + b * GRADW_PANEL);
    }
}

static void gradw_deep_bias(const float *dy, int64_t n, int64_t step, int n_c, float *bias)
{
    for (int c = 0; c < n_c; c += VW) {
        int some = n_c - c < VW ? n_c - c : VW;
        vf  all = v_load(bias + c);
        for (int64_t i = 0; i < n; i++)
            all = v_add(all, some < VW ? v_load_n(dy + i * step + c, some) : v_load(dy + i * step + c));
        v_store(bias + c, all);
    }
}

/* Row by row of the output, so that its line of dY stays in L1 for all taps. */
static void gradw_deep_run(const gradw_job *j, const as_gradw_unit *u, int64_t panel, float *shard, bool begins)
{
    const as_gradw_plan *p = &j->p;
    const as_window     *w = &p->w;
    int64_t              c = panel * GRADW_PANEL;
    int                  n_c = p->n_c - c < GRADW_PANEL ? (int)(p->n_c - c) : GRADW_PANEL;
    float *sum = shard + panel * p->panel_floats, *bias = shard + p->all_panels * p->panel_floats + panel * GRADW_PANEL;
    if (begins) {
        memset(sum, 0, (size_t)p->panel_floats * sizeof *sum);
        memset(bias, 0, GRADW_PANEL * sizeof *bias);
    }
    for (int64_t i = 0; i < u->n_images * u->n_rows; i++) {
        int64_t      image = u->image + i / u->n_rows, row = u->row + i % u->n_rows;
        const float *dy = j->dy + (image * w->out[1] + row) * w->out[2] * p->n_c + c;
        const float *x = j->x + image * w->in[1] * w->in[2] * p->n_c + c;
        for (int64_t a = 0; a < w->kernel[1]; a++) {
            int64_t at = as_plain_at(w, 1, row, a);
            if (at >= 0 && at < w->in[1])
                gradw_deep_row(p, x + at * w->in[2] * p->n_c, dy, n_c, sum + a * w->kernel[2] * GRADW_PANEL);
        }
        if (p->sums_dy)
            gradw_deep_bias(dy, w->out[2], p->n_c, n_c, bias);
    }
}

/* --- A part ----------------------------------------------------------------------------------------------------- */

static bool gradw_job_make(const as_kernel_args *args, int part, void *scratch, gradw_job *j)
{
    *j = (gradw_job){.x = args->in[0].data, .dy = args->in[1].data, .sums = scratch};
    if (!as_gradw_plan_make(args->ctx, GRADW_PANEL, GRADW_ROWS, &j->p))
        return false;
    if (!j->p.n_units)
        return true; /* and no scratch */
    const as_gradw_plan *p = &j->p;
    char                *at = (char *)scratch + as_gradw_scratch_bytes(p, part);
    j->x_copy = (float *)(void *)at;
    j->dy_copy = (float *)(void *)(at + p->x_bytes);
    return true;
}

/* The panels [first, last) of a shard. */
static void gradw_shard_run(gradw_job *j, int64_t s, int64_t first, int64_t last)
{
    const as_gradw_plan *p = &j->p;
    float               *shard = j->sums + s * p->shard_floats;
    int64_t              begin, end;
    as_share(p->n_units, 1, (int)s, (int)p->n_shards, &begin, &end);
    for (int64_t at = first, stop; at < last; at = stop) {
        stop = last - at < p->panels_at_once ? last : at + p->panels_at_once;
        for (int64_t i = begin; i < end; i++) {
            as_gradw_unit u = as_gradw_unit_at(p, i);
            if (p->copies && !p->depthwise)
                gradw_x_copy(j, &u, at / p->n_panels, (stop - 1) / p->n_panels + 1);
            for (int64_t panel = at; panel < stop; panel++)
                (p->depthwise ? gradw_deep_run : gradw_panel_run)(j, &u, panel, shard, i == begin);
        }
    }
}

static void gradw_run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    gradw_job j;
    int64_t   begin, end;
    if (!gradw_job_make(args, part, scratch, &j))
        return;
    as_share(j.p.n_shards * j.p.all_panels, 1, part, n_parts, &begin, &end);
    for (int64_t stop; begin < end; begin = stop) {
        int64_t s = begin / j.p.all_panels, last = (s + 1) * j.p.all_panels;
        stop = end < last ? end : last;
        gradw_shard_run(&j, s, begin - s * j.p.all_panels, stop - s * j.p.all_panels);
    }
}

/* --- The end: the sums of the shards, in the order of W ------------------------------------------------------------ */

/* Neighbours first, then pairs of them, and so on. */
V_INLINE vf gradw_tree(const float *sum, int64_t step, int64_t n)
{
    vf all[AS_GRADW_MAX_SHARDS];
    if (n == 1)
        return v_load(sum);
    for (int64_t s = 0; s < n; s++)
        all[s] = v_load(sum + s * step);
    for (int64_t apart = 1; apart < n; apart *= 2)
        for (int64_t s = 0; s + apart < n; s += 2 * apart)
            all[s] = v_add(all[s], all[s + apart]);
    return all[0];
}

/* VW weights, from number q of a kernel on, of VW output channels: rows of the sums become columns. */
static void gradw_turn(const as_gradw_plan *p, const float *sum, int64_t q, int n_q, int n_m, float *to)
{
    int64_t all = p->taps * p->c_group;
    vf      r[VW];
    for (int i = 0; i < VW; i++) {
        int64_t c = (q + i) / p->taps, tap = (q + i) % p->taps;
        r[i] = i < n_q ? gradw_tree(sum + (tap * p->c_group + c) * GRADW_PANEL, p->shard_floats, p->n_shards) : v_zero();
    }
    v_transpose(r);
    for (int m = 0; m < n_m; m++, to += all) {
        if (n_q == VW)
            v_store(to, r[m]);
        else
            v_store_n(to, n_q, r[m]);
    }
}

static void gradw_panel_end(const as_gradw_plan *p, const float *sums, int64_t panel, float *dw, float *db)
{
    int64_t deep = p->depthwise, g = deep ? 0 : panel / p->n_panels, at = (deep ? panel : panel % p->n_panels) * GRADW_PANEL;
    int64_t left = (deep ? p->n_c : p->m_group) - at, m = g * p->m_group + at, all = p->taps * p->c_group;
    for (int c = 0; c < GRADW_PANEL && c < left; c += VW) {
        int n_m = left - c < VW ? (int)(left - c) : VW;
        for (int64_t q = 0; q < all; q += VW)
            gradw_turn(p, sums + panel * p->panel_floats + c, q, all - q < VW ? (int)(all - q) : VW, n_m, dw + (m + c) * all + q);
        if (db)
            v_store_n(db + m + c, n_m,
                      gradw_tree(sums + p->all_panels * p->panel_floats + panel * GRADW_PANEL + c, p->shard_floats, p->n_shards));
    }
}

static void gradw_finish(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    gradw_job j;
    int64_t   begin, end;
    float    *dw = args->out[0].data, *db = args->ctx->n_out > 1 ? args->out[1].data : NULL;
    if (!gradw_job_make(args, part, scratch, &j))
        return;
    if (j.p.n_units == 0) { /* there is no position to sum over */
        as_share(j.p.n_m, 1, part, n_parts, &begin, &end);
        memset(dw + begin * j.p.c_group * j.p.taps, 0, (size_t)((end - begin) * j.p.c_group * j.p.taps) * sizeof *dw);
        if (db)
            memset(db + begin, 0, (size_t)(end - begin) * sizeof *db);
        return;
    }
    as_share(j.p.all_panels, 1, part, n_parts, &begin, &end);
    for (int64_t panel = begin; panel < end; panel++)
        gradw_panel_end(&j.p, j.sums, panel, dw, db);
}

/* --- The kernel's other functions ----------------------------------------------------------------------------------- */

static size_t gradw_scratch_bytes(const as_node_ctx *n, int n_parts)
{
    as_gradw_plan p;
    return as_gradw_plan_make(n, GRADW_PANEL, GRADW_ROWS, &p) ? as_gradw_scratch_bytes(&p, n_parts) : 0;
}

static bool gradw_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_gradw_plan p;
    if (!as_gradw_accepts(n, why, why_size) || !as_gradw_plan_make(n, GRADW_PANEL, GRADW_ROWS, &p))
        return false;
    int64_t channels = p.depthwise ? p.n_c : p.m_group;
    if (VW <= 8 || channels > VW / 2)
        return true;
    snprintf(why, why_size, "%lld channels fill no more than half of a vector of %d", (long long)channels, (int)VW);
    return false;
}

#endif
