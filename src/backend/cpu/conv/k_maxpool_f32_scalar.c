/* k_maxpool_f32_scalar.c - the maximum of a window, 1-D to 3-D: each row of Y takes the larger, tap by tap, of rows of X. */
#include "backend/cpu/each/plain.h"

#include <math.h>
#include <stdio.h>

static bool window_of(const as_node_ctx *n, as_window *w)
{
    return as_plain_window(n, &n->in[0].shape, NULL, as_attr_int(n, "ceil_mode", 0) != 0, w);
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_window w;
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    if (n->n_out > 1) {
        snprintf(why, why_size, "it does not compute Indices");
        return false;
    }
    if (window_of(n, &w))
        return true;
    snprintf(why, why_size, "its window cannot be read");
    return false;
}

/* NaN is larger than any number. */
static float larger(float best, float x) { return x > best || x != x ? x : best; }

static void row_take(float *restrict y, const float *x, int64_t step, int64_t n)
{
    int64_t i = 0;
    if (step == 1)
        for (; i + AS_STRIP <= n; i += AS_STRIP)
            for (int l = 0; l < AS_STRIP; l++)
                y[i + l] = larger(y[i + l], x[i + l]);
    for (; i < n; i++)
        y[i] = larger(y[i], x[i * step]);
}

static void row_run(const as_window *w, const float *plane, int64_t o0, int64_t o1, float *y)
{
    for (int64_t i = 0; i < w->out[2]; i++)
        y[i] = -INFINITY;
    for (int64_t k0 = 0; k0 < w->kernel[0]; k0++) {
        int64_t p0 = as_plain_at(w, 0, o0, k0);
        if (p0 < 0 || p0 >= w->in[0])
            continue;
        for (int64_t k1 = 0; k1 < w->kernel[1]; k1++) {
            int64_t p1 = as_plain_at(w, 1, o1, k1);
            if (p1 < 0 || p1 >= w->in[1])
                continue;
            const float *row = plane + (p0 * w->in[1] + p1) * w->in[2];
            for (int64_t k2 = 0; k2 < w->kernel[2]; k2++) {
                int64_t begin, end;
                as_plain_taps(w, 2, k2, &begin, &end);
                if (begin < end)
                    row_take(y + begin, row + as_plain_at(w, 2, begin, k2), w->stride[2], end - begin);
            }
        }
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_shape *y = &args->ctx->out[0].shape;
    as_window       w;
    int64_t         begin, end;
    if (as_shape_count(y) == 0 || !window_of(args->ctx, &w))
        return;
    int64_t n_rows = w.out[0] * w.out[1], n_plane = w.in[0] * w.in[1] * w.in[2];
    as_share(y->dim[0] * y->dim[1] * n_rows, 1, part, n_parts, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        int64_t o = row % n_rows;
        row_run(&w, (const float *)args->in[0].data + row / n_rows * n_plane, o / w.out[1], o % w.out[1],
                (float *)args->out[0].data + row * w.out[2]);
    }
}

const as_kernel as_k_maxpool_f32_scalar = {
    .name = "maxpool_f32_scalar",
    .op = "MaxPool",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "plain C, row by row",
    .accepts = accepts,
    .run = run,
};
