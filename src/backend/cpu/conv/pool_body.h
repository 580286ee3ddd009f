/* pool_body.h - MaxPool, AveragePool and the two global ones on vectors; include one of the simd_*.h before.
 *
 * From NHWC, vectors run over channels, and the output is NHWC or row-major: the last pool before a Flatten needs no relayout.
 * From row-major to row-major it works plane by plane.  Each window is summed row by row, then the rows are added: the order is
 * the same for any split, and a large window loses less accuracy. */
#ifndef AS_BACKEND_CPU_POOL_BODY_H
#define AS_BACKEND_CPU_POOL_BODY_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/each/plain.h"

enum { POOL_V = 4, POOL_BLOCK = POOL_V * VW, POOL_HELD = 64 /* pixels that wait for the copy into planes */ };

typedef struct pool_job {
    as_window    w;         /* axes 1 and 2 */
    bool         max, pads; /* pads: an average divides by taps on padding too */
    bool         x_nhwc, y_nhwc;
    int64_t      n_images, n_c;
    const float *x;
    float       *y;
} pool_job;

static bool pool_read(const as_node_ctx *n, pool_job *out)
{
    const as_shape *x = &n->in[0].shape;
    const char     *op = n->op->name;
    pool_job        j = {.max = strstr(op, "Max") != NULL,
                         .pads = as_attr_int(n, "count_include_pad", 0) != 0,
                         .x_nhwc = n->in[0].layout == AS_LAYOUT_NHWC,
                         .y_nhwc = n->out[0].layout == AS_LAYOUT_NHWC,
                         .n_images = x->dim[0],
                         .n_c = x->dim[1]};
    if (!strncmp(op, "Global", 6)) {
        j.w = (as_window){.n_axes = 2,
                          .group = 1,
                          .in = {1, x->rank > 3 ? x->dim[2] : 1, x->dim[x->rank - 1]},
                          .out = {1, 1, 1},
                          .stride = {1, 1, 1},
                          .dilation = {1, 1, 1}};
        memcpy(j.w.kernel, j.w.in, sizeof j.w.kernel);
    } else if (!as_plain_window(n, x, NULL, as_attr_int(n, "ceil_mode", 0) != 0, &j.w)) {
        return false;
    }
    *out = j;
    return true;
}

static bool pool_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    pool_job j;
    if (n->in[0].dtype != AS_F32)
        snprintf(why, why_size, "input 0 is %s, needs f32", as_dtype_name(n->in[0].dtype));
    else if (n->n_out > 1)
        snprintf(why, why_size, "it does not compute Indices");
    else if (n->in[0].shape.rank > 4)
        snprintf(why, why_size, "it has %d spatial axes, needs 1 or 2", n->in[0].shape.rank - 2);
    else if (n->in[0].layout == AS_LAYOUT_ROW_MAJOR && n->out[0].layout != AS_LAYOUT_ROW_MAJOR)
        snprintf(why, why_size, "input 0 is row-major and output 0 is not");
    else if (!pool_read(n, &j))
        snprintf(why, why_size, "its window cannot be read");
    else if (VW > 8 && n->in[0].layout != AS_LAYOUT_NHWC)
        snprintf(why, why_size, "input 0 is row-major, where wide vectors are no faster");
    else if (VW > 8 && n->in[0].shape.dim[1] <= VW)
        snprintf(why, why_size, "%lld channels are no more than one vector of %d", (long long)n->in[0].shape.dim[1], (int)VW);
    else
        return true;
    return false;
}

/* n / d rounded up, n > 0; a real division costs as much as all taps of a small window. */
V_INLINE int64_t pool_steps(int64_t n, int64_t d) { return d == 1 ? n : (n + d - 1) / d; }

/* The taps [*begin, *end) of output o that lie inside; with pads, how many do not lie beyond the padding. */
static int64_t pool_taps(const as_window *w, int axis, int64_t o, bool pads, int64_t *begin, int64_t *end)
{
    int64_t at = as_plain_at(w, axis, o, 0), d = w->dilation[axis], last = w->in[axis] + (pads ? w->pad_end[axis] : 0);
    *begin = at < 0 ? pool_steps(-at, d) : 0;
    *end = w->in[axis] > at ? pool_steps(w->in[axis] - at, d) : 0;
    *end = *end < w->kernel[axis] ? *end : w->kernel[axis];
    if (*end < *begin)
        *end = *begin;
    int64_t all = last > at ? pool_steps(last - at, d) : 0;
    all = all < w->kernel[axis] ? all : w->kernel[axis];
    return pads ? all : *end - *begin;
}

/* One window: its first tap, how many taps, and how far apart. */
typedef struct pool_window {
    const float *x;
    int64_t      n_rows, n_cols, row, col, count;
} pool_window;

static pool_window pool_window_at(const pool_job *j, const float *image, int64_t oy, int64_t ox, int64_t row, int64_t col)
{
    int64_t     y0, y1, x0, x1, count = pool_taps(&j->w, 1, oy, j->pads, &y0, &y1) * pool_taps(&j->w, 2, ox, j->pads, &x0, &x1);
    pool_window p = {
        .n_rows = y1 - y0, .n_cols = x1 - x0, .row = j->w.dilation[1] * row, .col = j->w.dilation[2] * col, .count = count};
    bool empty = p.n_rows <= 0 || p.n_cols <= 0;
    p.x = empty ? image : image + as_plain_at(&j->w, 1, oy, y0) * row + as_plain_at(&j->w, 2, ox, x0) * col;
    if (empty)
        p.n_rows = 0;
    return p;
}

/* n_v whole vectors of channels, or the first `some` lanes of one. */
V_INLINE void pool_block(const pool_window *p, bool max, int n_v, int some, const float *x, float *y)
{
    vf all[POOL_V], row[POOL_V];
    V_UNROLL for (int v = 0; v < n_v; v++) all[v] = v_set(max ? -INFINITY : 0.0f);
    for (int64_t a = 0; a < p->n_rows; a++, x += p->row) {
        const float *at = x;
        V_UNROLL for (int v = 0; v < n_v; v++) row[v] = max ? all[v] : v_zero();
        for (int64_t b = 0; b < p->n_cols; b++, at += p->col)
            V_UNROLL for (int v = 0; v < n_v; v++)
            {
                vf one = some < VW ? v_load_n(at + v * VW, some) : v_load(at + v * VW);
                row[v] = max ? v_larger(row[v], one) : v_add(row[v], one);
            }
        V_UNROLL for (int v = 0; v < n_v; v++) all[v] = max ? row[v] : v_add(all[v], row[v]);
    }
    V_UNROLL for (int v = 0; v < n_v; v++)
    {
        if (!max)
            all[v] = p->count ? v_div(all[v], v_set((float)p->count)) : v_zero();
        v_store(y + v * VW, all[v]);
    }
}

static void pool_block_max(const pool_window *p, const float *x, float *y) { pool_block(p, true, POOL_V, VW, x, y); }
static void pool_block_mean(const pool_window *p, const float *x, float *y) { pool_block(p, false, POOL_V, VW, x, y); }

/* Fewer channels than a block has: two vectors at a time, then one. */
static void pool_tail(const pool_window *p, bool max, const float *x, int n, float *y)
{
    int c = 0;
    for (; n - c >= 2 * VW; c += 2 * VW) {
        if (max)
            pool_block(p, true, 2, VW, x + c, y + c);
        else
            pool_block(p, false, 2, VW, x + c, y + c);
    }
    for (; c < n; c += VW) {
        int some = n - c < VW ? n - c : VW;
        if (max)
            pool_block(p, true, 1, some, x + c, y + c);
        else
            pool_block(p, false, 1, some, x + c, y + c);
    }
}

/* One window of the channels that p points to, n at most a block. */
static void pool_pixel(const pool_window *p, bool max, int n, float *y)
{
    if (n < POOL_BLOCK)
        pool_tail(p, max, p->x, n, y);
    else if (max)
        pool_block_max(p, p->x, y);
    else
        pool_block_mean(p, p->x, y);
}

/* Rows [row, end) of outputs of the channels [c, c + n) from NHWC. Planes are written in runs: pixel by pixel, every store would
 * go to another cache line (2.1 instead of 0.5 ns each). */
static void pool_pixels(const pool_job *j, int64_t image, int64_t row, int64_t end, int64_t c, int n)
{
    const as_window *w = &j->w;
    const float     *x = j->x + image * w->in[1] * w->in[2] * j->n_c + c;
    int64_t          plane = w->out[1] * w->out[2], at = row * w->out[2], held = 0;
    float            result[POOL_HELD][POOL_BLOCK];
    for (int64_t i = at; i < end * w->out[2]; i++) {
        pool_window p = pool_window_at(j, x, row, i - row * w->out[2], w->in[2] * j->n_c, j->n_c);
        pool_pixel(&p, j->max, n, result[held]);
        row += i + 1 == (row + 1) * w->out[2];
        if (j->y_nhwc) {
            memcpy(j->y + (image * plane + i) * j->n_c + c, result[held], (size_t)n * sizeof(float));
            continue;
        }
        if (++held < POOL_HELD && i + 1 < end * w->out[2])
            continue;
        for (int k = 0; k < n; k++)
            for (int64_t q = 0; q < held; q++)
                j->y[(image * j->n_c + c + k) * plane + at + q] = result[q][k];
        at += held;
        held = 0;
    }
}

/* One row of outputs of one plane, row-major. */
static void pool_plane(const pool_job *j, int64_t plane, int64_t oy)
{
    const as_window *w = &j->w;
    const float     *x = j->x + plane * w->in[1] * w->in[2];
    float           *y = j->y + (plane * w->out[1] + oy) * w->out[2];
    for (int64_t ox = 0; ox < w->out[2]; ox++) {
        pool_window p = pool_window_at(j, x, oy, ox, w->in[2], 1);
        float       all = j->max ? -INFINITY : 0.0f;
        for (int64_t a = 0; a < p.n_rows; a++) {
            float row = 0.0f;
            for (int64_t b = 0; b < p.n_cols; b++) {
                float one = p.x[a * p.row + b * p.col];
                if (!j->max)
                    row += one;
                else if (one > all || one != one)
                    all = one;
            }
            all += row;
        }
        y[ox] = j->max ? all : p.count ? all / (float)p.count : 0.0f;
    }
}

static void pool_run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    pool_job j;
    int64_t  begin, end;
    (void)scratch;
    if (as_shape_count(&args->ctx->out[0].shape) == 0 || !pool_read(args->ctx, &j))
        return;
    j.x = args->in[0].data;
    j.y = args->out[0].data;
    /* Some rows of some channels at a time; from row-major, one row of one plane at a time. */
    int64_t rows = j.x_nhwc && j.w.out[2] < POOL_HELD ? POOL_HELD / j.w.out[2] : 1, n_rows = (j.w.out[1] + rows - 1) / rows;
    int64_t n_blocks = j.x_nhwc ? (j.n_c + POOL_BLOCK - 1) / POOL_BLOCK : j.n_c;
    as_share(j.n_images * n_rows * n_blocks, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        if (!j.x_nhwc) {
            pool_plane(&j, i / n_rows, i % n_rows);
            continue;
        }
        int64_t c = i % n_blocks * POOL_BLOCK, left = j.n_c - c, row = i / n_blocks % n_rows * rows;
        pool_pixels(&j, i / n_blocks / n_rows, row, row + rows < j.w.out[1] ? row + rows : j.w.out[1], c,
                    left < POOL_BLOCK ? (int)left : POOL_BLOCK);
    }
}

static const char *const pool_also[] = {"AveragePool", "GlobalAveragePool", "GlobalMaxPool", NULL};

#endif
