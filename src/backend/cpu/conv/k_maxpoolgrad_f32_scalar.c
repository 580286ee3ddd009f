/* k_maxpoolgrad_f32_scalar.c - each window finds its maximum again and adds its gradient there; one plane is one piece of work. */
#include "backend/cpu/each/plain.h"

#include <stdio.h>
#include <string.h>

static bool window_of(const as_node_ctx *n, as_window *w)
{
    return as_plain_window(n, &n->in[0].shape, NULL, as_attr_int(n, "ceil_mode", 0) != 0, w);
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_window w;
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    if (window_of(n, &w))
        return true;
    snprintf(why, why_size, "its window cannot be read");
    return false;
}

/* The first maximum in window order, NaN above all; -1 when the window is empty. */
static int64_t winner(const as_window *w, const float *plane, const int64_t o[3])
{
    int64_t best = -1, k[3], p[3];
    for (k[0] = 0; k[0] < w->kernel[0]; k[0]++) {
        p[0] = as_plain_at(w, 0, o[0], k[0]);
        for (k[1] = 0; p[0] >= 0 && p[0] < w->in[0] && k[1] < w->kernel[1]; k[1]++) {
            p[1] = as_plain_at(w, 1, o[1], k[1]);
            for (k[2] = 0; p[1] >= 0 && p[1] < w->in[1] && k[2] < w->kernel[2]; k[2]++) {
                p[2] = as_plain_at(w, 2, o[2], k[2]);
                if (p[2] < 0 || p[2] >= w->in[2])
                    continue;
                int64_t at = (p[0] * w->in[1] + p[1]) * w->in[2] + p[2];
                float   x = plane[at];
                if (best < 0 || x > plane[best] || (x != x && plane[best] == plane[best]))
                    best = at;
            }
        }
    }
    return best;
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_shape *x = &args->ctx->in[0].shape;
    as_window       w;
    int64_t         begin, end, o[3];
    bool            relu = as_attr_int(args->ctx, "relu", 0) == 1;
    if (as_shape_count(x) == 0 || !window_of(args->ctx, &w))
        return;
    int64_t n_in = w.in[0] * w.in[1] * w.in[2], n_out = w.out[0] * w.out[1] * w.out[2];
    as_share(x->dim[0] * x->dim[1], 1, part, n_parts, &begin, &end);
    for (int64_t plane = begin; plane < end; plane++) {
        const float *from = (const float *)args->in[0].data + plane * n_in, *dy = (const float *)args->in[1].data + plane * n_out;
        float       *dx = (float *)args->out[0].data + plane * n_in;
        memset(dx, 0, (size_t)n_in * sizeof *dx);
        for (o[0] = 0; o[0] < w.out[0]; o[0]++)
            for (o[1] = 0; o[1] < w.out[1]; o[1]++)
                for (o[2] = 0; o[2] < w.out[2]; o[2]++, dy++) {
                    int64_t at = winner(&w, from, o);
                    if (at >= 0 && !(relu && from[at] <= 0.0f))
                        dx[at] += *dy;
                }
    }
}

const as_kernel as_k_maxpoolgrad_f32_scalar = {
    .name = "maxpoolgrad_f32_scalar",
    .op = "assay.MaxPoolGrad",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "plain C, plane by plane",
    .accepts = accepts,
    .run = run,
};
