/* poolrows_body.h - the body of k_poolrows_f32_<machine>.c, after its simd_*.h: MaxPool, AveragePool, LpPool and the global pools of
 * row-major planes, 1-D to 3-D.
 *
 * The rows that a row of windows sees are folded into one row, which has neighbours for every column of the padding; then each window
 * is a fold of neighbours in that row, again in vectors, and with a stride only some of the results are kept.  The order of a fold
 * depends on the window alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/each/plain.h"

enum { ROWS = 8 /* that are folded at once */ };

typedef enum fold { FOLD_SUM, FOLD_MAX, FOLD_SIZES, FOLD_SQUARES } fold;

typedef struct job {
    as_window w; /* the elements of axis 2 are neighbours */
    fold      how;
    bool      pads, means;          /* pads: a mean divides by taps on padding too */
    int64_t   n_planes, wide, kept; /* wide: floats of a padded row; kept: of its folds, from the first window to the last */
} job;

static bool job_read(const as_node_ctx *n, job *out)
{
    const as_shape *x = &n->in[0].shape;
    const char     *op = n->op->name;
    int64_t         p = as_attr_int(n, "p", 2);
    bool            lp = strstr(op, "LpPool") != NULL;
    job             j = {.how = strstr(op, "Max") ? FOLD_MAX
                                : !lp             ? FOLD_SUM
                                : p == 1          ? FOLD_SIZES
                                                  : FOLD_SQUARES,
                         .means = strstr(op, "Average") != NULL,
                         .pads = as_attr_int(n, "count_include_pad", 0) != 0};
    if (x->rank < 3 || (lp && p != 1 && p != 2))
        return false;
    j.n_planes = x->dim[0] * x->dim[1];
    if (!strncmp(op, "Global", 6)) { /* a plane is one line */
        int64_t plane = 1;
        for (int i = 2; i < x->rank; i++)
            plane *= x->dim[i];
        j.w = (as_window){.n_axes = 1,
                          .group = 1,
                          .in = {1, 1, plane},
                          .out = {1, 1, 1},
                          .kernel = {1, 1, plane},
                          .stride = {1, 1, 1},
                          .dilation = {1, 1, 1}};
    } else if (!as_plain_window(n, x, NULL, as_attr_int(n, "ceil_mode", 0) != 0, &j.w)) {
        return false;
    }
    j.kept = (j.w.out[2] - 1) * j.w.stride[2] + 1;
    j.wide = j.kept + (j.w.kernel[2] - 1) * j.w.dilation[2];
    int64_t real = j.w.pad_begin[2] + j.w.in[2];
    j.wide = j.wide > real ? j.wide : real;
    *out = j;
    return true;
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    job j;
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    if (n->n_out > 1)
        snprintf(why, why_size, "it does not compute Indices");
    else if (!job_read(n, &j))
        snprintf(why, why_size, "its window cannot be read, or its p is neither 1 nor 2");
    else
        return true;
    return false;
}

/* One window covers all that there is, and no padding. */
static bool is_line(const job *j)
{
    const as_window *w = &j->w;
    return w->in[0] * w->in[1] * w->kernel[0] * w->kernel[1] * w->out[0] * w->out[1] * w->out[2] == 1 && w->in[2] == w->kernel[2] &&
           w->dilation[2] == 1 && w->pad_begin[2] == 0 && w->pad_begin[1] == 0 && w->pad_begin[0] == 0;
}

/* A padded row, its folds, and how many elements each column sees. */
static size_t part_floats(const job *j)
{
    return is_line(j) ? 0 : ((size_t)(j->wide + j->kept + 2 * VW + j->w.out[2]) + 15) / 16 * 16;
}

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    job j;
    return as_shape_count(&n->out[0].shape) && job_read(n, &j) ? part_floats(&j) * sizeof(float) * (size_t)n_parts : 0;
}

V_INLINE vf    term(fold how, vf x) { return how == FOLD_SQUARES ? v_mul(x, x) : how == FOLD_SIZES ? v_abs(x) : x; }
V_INLINE vf    join(fold how, vf a, vf b) { return how == FOLD_MAX ? v_larger(a, b) : v_add(a, b); }
V_INLINE float join_one(fold how, float a, float b) { return how == FOLD_MAX ? (b > a || b != b ? b : a) : a + b; }
static float   nothing(fold how) { return how == FOLD_MAX ? -HUGE_VALF : 0.0f; }

/* One line that a single window covers. */
V_INLINE float line_fold(fold how, const float *x, int64_t n)
{
    vf      a = v_set(nothing(how)), b = a, c = a, d = a;
    int64_t i = 0;
    for (; i + 4 * VW <= n; i += 4 * VW) {
        a = join(how, a, term(how, v_load(x + i)));
        b = join(how, b, term(how, v_load(x + i + VW)));
        c = join(how, c, term(how, v_load(x + i + 2 * VW)));
        d = join(how, d, term(how, v_load(x + i + 3 * VW)));
    }
    for (; i + VW <= n; i += VW)
        a = join(how, a, term(how, v_load(x + i)));
    a = join(how, join(how, a, b), join(how, c, d));
    if (i < n && how != FOLD_MAX) { /* the other lanes are 0, and add nothing */
        a = join(how, a, term(how, v_load_n(x + i, (int)(n - i))));
        i = n;
    } else if (i < n && n >= VW) { /* what is seen twice is at most as large */
        a = join(how, a, v_load(x + n - VW));
        i = n;
    }
    if (how != FOLD_MAX)
        return v_sum(a);
    float lane[VW], all = nothing(how);
    v_store(lane, a);
    for (int l = 0; l < VW; l++)
        all = join_one(how, all, lane[l]);
    for (; i < n; i++)
        all = join_one(how, all, x[i]);
    return all;
}

/* to[i] = the fold of from[i], from[i + step] ...; both have a vector more than n. */
V_INLINE void windows(fold how, const float *from, float *to, int64_t n, int64_t taps, int64_t step)
{
    for (int64_t i = 0; i < n; i += VW) {
        vf all = v_load(from + i);
        for (int64_t k = 1; k < taps; k++)
            all = join(how, all, v_load(from + i + k * step));
        v_store(to + i, all);
    }
}

/* The rows at x[0], x[1] ... folded into `to`, all at once: each result is written once. */
V_INLINE void rows_join(fold how, const float *const *x, int count, float *to, int64_t n, bool more)
{
    int64_t i = 0;
    for (; i + VW <= n; i += VW) {
        vf all = term(how, v_load(x[0] + i));
        all = more ? join(how, v_load(to + i), all) : all;
        for (int k = 1; k < count; k++)
            all = join(how, all, term(how, v_load(x[k] + i)));
        v_store(to + i, all);
    }
    if (i < n) {
        int some = (int)(n - i);
        vf  all = term(how, v_load_n(x[0] + i, some));
        all = more ? join(how, v_load_n(to + i, some), all) : all;
        for (int k = 1; k < count; k++)
            all = join(how, all, term(how, v_load_n(x[k] + i, some)));
        v_store_n(to + i, some, all);
    }
}

V_INLINE void some_join(fold how, const float *const *x, int count, float *to, int64_t n, bool more)
{
    if (count == 3 && !more)
        rows_join(how, x, 3, to, n, false);
    else if (count == 2 && !more)
        rows_join(how, x, 2, to, n, false);
    else
        rows_join(how, x, count, to, n, more);
}

/* Every stride-th. */
V_INLINE void keep(const float *restrict from, int64_t stride, int64_t n, float *restrict to)
{
    int64_t o = 0;
    if (stride == 1) {
        memcpy(to, from, (size_t)n * sizeof *to);
        return;
    }
    for (; stride == 2 && o + VW <= n; o += VW) /* there is a vector after the last */
        v_store(to + o, v_even(v_load(from + 2 * o), v_load(from + 2 * o + VW)));
    for (; o < n; o++)
        to[o] = from[o * stride];
}

/* The mean of no elements is 0; then the sum is 0, too. */
V_INLINE void divide(float *y, const float *counts, int64_t rest, int64_t n)
{
    vf      times = v_set((float)rest), one = v_set(1.0f);
    int64_t o = 0;
    for (; o + VW <= n; o += VW)
        v_store(y + o, v_div(v_load(y + o), v_max(one, v_mul(times, v_load(counts + o)))));
    if (o < n) {
        int some = (int)(n - o);
        v_store_n(y + o, some, v_div(v_load_n(y + o, some), v_max(one, v_mul(times, v_load_n(counts + o, some)))));
    }
}

/* How many taps of output o an average counts. */
static int64_t taps_of(const job *j, int axis, int64_t o)
{
    const as_window *w = &j->w;
    int64_t          count = 0, low = j->pads ? -w->pad_begin[axis] : 0, high = w->in[axis] + (j->pads ? w->pad_end[axis] : 0);
    for (int64_t k = 0; k < w->kernel[axis]; k++) {
        int64_t at = as_plain_at(w, axis, o, k);
        count += at >= low && at < high;
    }
    return count;
}

/* One row of outputs. */
V_INLINE void row_run(fold how, const job *j, const float *plane, int64_t o0, int64_t o1, float *row, const float *counts, float *y)
{
    const as_window *w = &j->w;
    float           *folds = row + j->wide + VW, *inside = row + w->pad_begin[2];
    const float     *rows[ROWS];
    int              count = 0;
    bool             more = false; /* the folds so far are the first of the next rows */
    for (int64_t k0 = 0; k0 < w->kernel[0]; k0++)
        for (int64_t k1 = 0; k1 < w->kernel[1]; k1++) {
            int64_t p0 = as_plain_at(w, 0, o0, k0), p1 = as_plain_at(w, 1, o1, k1);
            if (p0 < 0 || p0 >= w->in[0] || p1 < 0 || p1 >= w->in[1])
                continue;
            rows[count++] = plane + (p0 * w->in[1] + p1) * w->in[2];
            if (count == ROWS) {
                some_join(how, rows, count, inside, w->in[2], more);
                more = true;
                count = 0;
            }
        }
    if (count)
        some_join(how, rows, count, inside, w->in[2], more);
    for (int64_t i = 0; !count && !more && i < w->in[2]; i++)
        inside[i] = nothing(how);
    if (w->kernel[2] == 3 && w->dilation[2] == 1)
        windows(how, row, folds, j->kept, 3, 1);
    else if (w->kernel[2] == 2 && w->dilation[2] == 1)
        windows(how, row, folds, j->kept, 2, 1);
    else
        windows(how, row, folds, j->kept, w->kernel[2], w->dilation[2]);
    keep(folds, w->stride[2], w->out[2], y);
    if (how == FOLD_SQUARES)
        for (int64_t o = 0; o < w->out[2]; o++)
            y[o] = sqrtf(y[o]);
    if (j->means)
        divide(y, counts, taps_of(j, 0, o0) * taps_of(j, 1, o1), w->out[2]);
}

V_INLINE void lines_run(fold how, const job *j, const float *x, float *y, int part, int n_parts)
{
    int64_t begin, end, n = j->w.in[2];
    as_share(j->n_planes, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        float all = line_fold(how, x + i * n, n);
        y[i] = j->means ? (n ? all / (float)n : 0.0f) : how == FOLD_SQUARES ? sqrtf(all) : all;
    }
}

V_INLINE void rows_run(fold how, const job *j, const float *x, float *y, float *row, int part, int n_parts)
{
    const as_window *w = &j->w;
    float           *counts = row + j->wide + j->kept + 2 * VW;
    int64_t          n_rows = w->out[0] * w->out[1], plane = w->in[0] * w->in[1] * w->in[2], begin, end;
    for (int64_t i = 0; i < j->wide + j->kept + 2 * VW; i++)
        row[i] = nothing(how);
    for (int64_t o = 0; j->means && o < w->out[2]; o++)
        counts[o] = (float)taps_of(j, 2, o);
    as_share(j->n_planes * n_rows, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t o = i % n_rows;
        row_run(how, j, x + i / n_rows * plane, o / w->out[1], o % w->out[1], row, counts, y + i * w->out[2]);
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    job j;
    if (as_shape_count(&args->ctx->out[0].shape) == 0 || !job_read(args->ctx, &j))
        return;
    const float *x = args->in[0].data;
    float *y = args->out[0].data, *row = scratch ? (float *)scratch + (size_t)part * part_floats(&j) : NULL; /* lines need none */
#define CASE(how_)                                        \
    case how_:                                            \
        if (is_line(&j))                                  \
            lines_run(how_, &j, x, y, part, n_parts);     \
        else                                              \
            rows_run(how_, &j, x, y, row, part, n_parts); \
        break;
    switch (j.how) { /* a constant in each case, so that the loops have no branches */
        CASE(FOLD_SUM)
        CASE(FOLD_MAX)
        CASE(FOLD_SIZES)
        CASE(FOLD_SQUARES)
    }
}

static const char *const also[] = {"AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", NULL};
