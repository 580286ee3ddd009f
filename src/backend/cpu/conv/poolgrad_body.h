/* poolgrad_body.h - the gradients of MaxPool and AveragePool on vectors; include one of the simd_*.h before.
 *
 * In NHWC, vectors run over channels; dY may be row-major, as behind the gradient of a Flatten.  Where no two windows share an
 * element (2x2 with stride 2), every element is written once, row of windows by row of windows.  Where they overlap, the sums of an
 * image's channels start as zeros, and the windows add to them in order.  Row-major planes are done in plain C. */
#ifndef AS_BACKEND_CPU_POOLGRAD_BODY_H
#define AS_BACKEND_CPU_POOLGRAD_BODY_H

#include <stdio.h>
#include <string.h>

#include "backend/cpu/each/plain.h"

enum { POOLGRAD_BLOCK = 4 * VW, POOLGRAD_HELD = 32 /* windows whose dY waits in channels' order */ };

typedef struct poolgrad_job {
    as_window    w; /* axes 1 and 2 */
    bool         max, relu, pads;
    bool         nhwc, dy_nhwc;
    bool         apart;                  /* no two windows share an element */
    int64_t      n_images, n_c, seen[3]; /* rows and columns of the input that windows see */
    const float *x, *dy;
    float       *dx;
} poolgrad_job;

static bool poolgrad_read(const as_node_ctx *n, poolgrad_job *out)
{
    const as_shape *x = &n->out[0].shape;
    bool            max = n->n_in > 1;
    poolgrad_job    j = {.max = max,
                         .relu = as_attr_int(n, "relu", 0) == 1,
                         .pads = as_attr_int(n, "count_include_pad", 0) != 0,
                         .nhwc = n->out[0].layout == AS_LAYOUT_NHWC,
                         .dy_nhwc = n->in[max ? 1 : 0].layout == AS_LAYOUT_NHWC,
                         .apart = true,
                         .n_images = x->dim[0],
                         .n_c = x->dim[1]};
    if (x->rank > 4 || !as_plain_window(n, x, NULL, as_attr_int(n, "ceil_mode", 0) != 0, &j.w))
        return false;
    for (int i = 1; i < 3; i++) {
        j.apart &= j.w.dilation[i] == 1 && (j.w.out[i] == 1 || j.w.stride[i] == j.w.kernel[i]);
        j.seen[i] = (j.w.out[i] - 1) * j.w.stride[i] - j.w.pad_begin[i] + j.w.kernel[i];
        j.seen[i] = j.seen[i] < 0 || !j.w.out[i] ? 0 : j.seen[i] < j.w.in[i] ? j.seen[i] : j.w.in[i];
    }
    *out = j;
    return true;
}

static bool poolgrad_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    poolgrad_job j;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i].dtype != AS_F32) {
            snprintf(why, why_size, "input %d is %s, needs f32", i, as_dtype_name(n->in[i].dtype));
            return false;
        }
    if (n->out[0].shape.rank > 4)
        snprintf(why, why_size, "it has %d spatial axes, needs 1 or 2", n->out[0].shape.rank - 2);
    else if (!poolgrad_read(n, &j))
        snprintf(why, why_size, "its window cannot be read");
    else if (j.max && n->in[0].layout != n->out[0].layout)
        snprintf(why, why_size, "input 0 has another layout than the output");
    else if (!j.nhwc && j.dy_nhwc)
        snprintf(why, why_size, "the gradient is NHWC and the output is not");
    else if (VW > 8 && (!j.nhwc || j.n_c <= VW / 2))
        snprintf(why, why_size, "%s", j.nhwc ? "its channels fill no more than half of a vector" : "output 0 is not NHWC");
    else
        return true;
    return false;
}

/* --- A window -------------------------------------------------------------------------------------------- */

/* Its taps inside: n_rows by n_cols from float `at` of an image of one channel on; by how much an average divides. */
typedef struct poolgrad_window {
    int64_t n_rows, n_cols, at, row, col, count;
} poolgrad_window;

/* The taps [*begin, *end) of output o inside; returns how many count. */
static int64_t poolgrad_taps(const as_window *w, int axis, int64_t o, bool pads, int64_t *begin, int64_t *end)
{
    int64_t n = 0;
    *begin = w->kernel[axis], *end = 0;
    for (int64_t k = 0; k < w->kernel[axis]; k++) {
        int64_t at = as_plain_at(w, axis, o, k);
        bool    inside = at >= 0 && at < w->in[axis];
        if (inside && k < *begin)
            *begin = k;
        if (inside)
            *end = k + 1;
        n += pads ? at >= -w->pad_begin[axis] && at < w->in[axis] + w->pad_end[axis] : inside;
    }
    if (*end < *begin)
        *begin = *end;
    return n;
}

static poolgrad_window poolgrad_window_at(const poolgrad_job *j, int64_t oy, int64_t ox)
{
    const as_window *w = &j->w;
    int64_t          y0, y1, x0, x1;
    int64_t          count = poolgrad_taps(w, 1, oy, j->pads, &y0, &y1) * poolgrad_taps(w, 2, ox, j->pads, &x0, &x1);
    poolgrad_window  p = {.n_rows = x1 > x0 ? y1 - y0 : 0,
                          .n_cols = x1 - x0,
                          .at = as_plain_at(w, 1, oy, y0) * w->in[2] + as_plain_at(w, 2, ox, x0),
                          .row = w->dilation[1] * w->in[2],
                          .col = w->dilation[2],
                          .count = count};
    return p;
}

V_INLINE vf   poolgrad_load(const float *p, int some) { return some < VW ? v_load_n(p, some) : v_load(p); }
V_INLINE void poolgrad_store(float *p, int some, vf x)
{
    if (some < VW)
        v_store_n(p, some, x);
    else
        v_store(p, x);
}

/* Which tap wins, as a number: the first of equal ones; a NaN is above all. */
V_INLINE vf poolgrad_winner(const poolgrad_window *p, const float *x, int64_t n_c, int some, vf *best)
{
    vf      most = v_zero(), which = v_zero();
    int64_t k = 0;
    for (int64_t a = 0; a < p->n_rows; a++)
        for (int64_t b = 0; b < p->n_cols; b++, k++) {
            vf one = poolgrad_load(x + (a * p->row + b * p->col) * n_c, some);
            vf more = k ? v_or(v_gt(one, most), v_pick(v_is_nan(most), v_zero(), v_is_nan(one))) : v_eq(v_zero(), v_zero());
            most = v_pick(more, one, most);
            which = v_pick(more, v_set((float)k), which);
        }
    *best = most;
    return which;
}

/* The channels of one vector: what the window passes to each of its elements. */
V_INLINE void poolgrad_vector(const poolgrad_job *j, const poolgrad_window *p, const float *x, vf dy, float *dx, int some,
                              bool adds)
{
    vf      which = v_zero(), best;
    int64_t k = 0;
    if (j->max) {
        which = poolgrad_winner(p, x, j->n_c, some, &best);
        if (j->relu)
            dy = v_and(v_or(v_gt(best, v_zero()), v_is_nan(best)), dy);
    } else {
        dy = v_div(dy, v_set((float)p->count));
    }
    for (int64_t a = 0; a < p->n_rows; a++)
        for (int64_t b = 0; b < p->n_cols; b++, k++) {
            float *to = dx + (a * p->row + b * p->col) * j->n_c;
            vf     one = j->max ? v_and(v_eq(which, v_set((float)k)), dy) : dy;
            poolgrad_store(to, some, adds ? v_add(poolgrad_load(to, some), one) : one);
        }
}

/* 2x2, all inside: the most frequent pool, in registers. */
V_INLINE void poolgrad_four(const poolgrad_job *j, const float *x, vf dy, float *dx, int64_t row, int some)
{
    int64_t n_c = j->n_c, at[4] = {0, n_c, row, row + n_c};
    vf      best = poolgrad_load(x, some), which = v_zero();
    V_UNROLL for (int k = 1; k < 4; k++)
    {
        vf one = poolgrad_load(x + at[k], some);
        vf more = v_or(v_gt(one, best), v_pick(v_is_nan(best), v_zero(), v_is_nan(one)));
        best = v_pick(more, one, best);
        which = v_pick(more, v_set((float)k), which);
    }
    if (j->relu)
        dy = v_and(v_or(v_gt(best, v_zero()), v_is_nan(best)), dy);
    V_UNROLL for (int k = 0; k < 4; k++) poolgrad_store(dx + at[k], some, v_and(v_eq(which, v_set((float)k)), dy));
}

/* --- NHWC ------------------------------------------------------------------------------------------------- */

/* The channels [c, c + n) of the windows [ox, end) of row oy of an image; adds: dX holds sums already. */
static void poolgrad_row(const poolgrad_job *j, int64_t image, int64_t oy, int64_t c, int64_t n, bool adds)
{
    const as_window *w = &j->w;
    int64_t          plane = w->in[1] * w->in[2] * j->n_c, n_out = w->out[1] * w->out[2];
    const float     *x = j->max ? j->x + image * plane + c : NULL, *line;
    float           *dx = j->dx + image * plane + c, held[POOLGRAD_HELD * POOLGRAD_BLOCK];
    for (int64_t ox = 0; ox < w->out[2]; ox++) {
        if (j->dy_nhwc) {
            line = j->dy + (image * n_out + oy * w->out[2] + ox) * j->n_c + c;
        } else {
            if (ox % POOLGRAD_HELD == 0)
                for (int64_t k = 0; k < n; k++)
                    for (int64_t i = ox; i < ox + POOLGRAD_HELD && i < w->out[2]; i++)
                        held[(i - ox) * POOLGRAD_BLOCK + k] = j->dy[(image * j->n_c + c + k) * n_out + oy * w->out[2] + i];
            line = held + ox % POOLGRAD_HELD * POOLGRAD_BLOCK;
        }
        poolgrad_window p = poolgrad_window_at(j, oy, ox);
        bool            four = j->max && !adds && p.n_rows == 2 && p.n_cols == 2;
        int64_t         at = p.at * j->n_c;
        for (int64_t k = 0; p.n_rows && k < n; k += VW) {
            int some = n - k < VW ? (int)(n - k) : VW;
            vf  dy = poolgrad_load(line + k, some);
            if (four && some == VW)
                poolgrad_four(j, x + at + k, dy, dx + at + k, p.row * j->n_c, VW);
            else if (some == VW)
                poolgrad_vector(j, &p, j->max ? x + at + k : NULL, dy, dx + at + k, VW, adds);
            else
                poolgrad_vector(j, &p, j->max ? x + at + k : NULL, dy, dx + at + k, some, adds);
        }
    }
}

/* What no window sees, in the rows [row, end). */
static void poolgrad_zeros(const poolgrad_job *j, int64_t image, int64_t row, int64_t end)
{
    const as_window *w = &j->w;
    for (; row < end; row++) {
        int64_t from = row < j->seen[1] ? j->seen[2] : 0;
        memset(j->dx + ((image * w->in[1] + row) * w->in[2] + from) * j->n_c, 0,
               (size_t)((w->in[2] - from) * j->n_c) * sizeof *j->dx);
    }
}

/* Windows that share nothing: a row of them at a time. */
static void poolgrad_apart(const poolgrad_job *j, int part, int n_parts)
{
    const as_window *w = &j->w;
    int64_t          begin, end;
    as_share(j->n_images * w->out[1], 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t image = i / w->out[1], oy = i % w->out[1], row = as_plain_at(w, 1, oy, 0), stop = row + w->kernel[1];
        stop = oy + 1 == w->out[1] || stop > w->in[1] ? w->in[1] : stop;
        poolgrad_zeros(j, image, row < 0 ? 0 : row, stop);
        for (int64_t c = 0; c < j->n_c; c += POOLGRAD_BLOCK)
            poolgrad_row(j, image, oy, c, j->n_c - c < POOLGRAD_BLOCK ? j->n_c - c : POOLGRAD_BLOCK, false);
    }
}

static void poolgrad_overlap(const poolgrad_job *j, int part, int n_parts)
{
    const as_window *w = &j->w;
    int64_t          n_blocks = (j->n_c + POOLGRAD_BLOCK - 1) / POOLGRAD_BLOCK, n_in = w->in[1] * w->in[2], begin, end;
    as_share(j->n_images * n_blocks, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t image = i / n_blocks, c = i % n_blocks * POOLGRAD_BLOCK,
                n = j->n_c - c < POOLGRAD_BLOCK ? j->n_c - c : POOLGRAD_BLOCK;
        for (int64_t k = 0; k < n_in; k++)
            memset(j->dx + (image * n_in + k) * j->n_c + c, 0, (size_t)n * sizeof *j->dx);
        for (int64_t oy = 0; oy < w->out[1]; oy++)
            poolgrad_row(j, image, oy, c, n, true);
    }
}

/* --- Row-major ------------------------------------------------------------------------------------------------ */

static void poolgrad_plane(const poolgrad_job *j, int64_t plane)
{
    const as_window *w = &j->w;
    int64_t          n_in = w->in[1] * w->in[2];
    const float     *x = j->max ? j->x + plane * n_in : NULL, *dy = j->dy + plane * w->out[1] * w->out[2];
    float           *dx = j->dx + plane * n_in;
    memset(dx, 0, (size_t)n_in * sizeof *dx);
    for (int64_t i = 0; i < w->out[1] * w->out[2]; i++) {
        poolgrad_window p = poolgrad_window_at(j, i / w->out[2], i % w->out[2]);
        int64_t         best = -1;
        for (int64_t k = 0; k < p.n_rows * p.n_cols; k++) {
            int64_t at = p.at + k / p.n_cols * p.row + k % p.n_cols * p.col;
            if (!j->max)
                dx[at] += dy[i] / (float)p.count;
            else if (best < 0 || x[at] > x[best] || (x[at] != x[at] && x[best] == x[best]))
                best = at;
        }
        if (best >= 0 && !(j->relu && x[best] <= 0.0f))
            dx[best] += dy[i];
    }
}

static void poolgrad_run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    poolgrad_job j;
    int64_t      begin, end;
    (void)scratch;
    if (as_shape_count(&args->ctx->out[0].shape) == 0 || !poolgrad_read(args->ctx, &j))
        return;
    j.x = j.max ? args->in[0].data : NULL;
    j.dy = args->in[j.max ? 1 : 0].data;
    j.dx = args->out[0].data;
    if (j.nhwc && j.apart && j.w.out[1] && j.w.out[2]) {
        poolgrad_apart(&j, part, n_parts);
    } else if (j.nhwc) {
        poolgrad_overlap(&j, part, n_parts);
    } else {
        as_share(j.n_images * j.n_c, 1, part, n_parts, &begin, &end);
        for (int64_t plane = begin; plane < end; plane++)
            poolgrad_plane(&j, plane);
    }
}

static const char *const poolgrad_also[] = {"assay.AveragePoolGrad", NULL};

#endif
