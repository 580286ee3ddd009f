/* k_convgradx_f32_scalar.c - the gradient of Conv with respect to X: each row of dX sums the rows of dY that saw it.
 * ConvTranspose is the same with X in the place of dY, and a bias. */
#include "backend/cpu/each/plain.h"

#include <stdio.h>
#include <string.h>

static const char *const also[] = {"ConvTranspose", NULL};

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_window w;
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    if (as_plain_turned_window(n, &w))
        return true;
    snprintf(why, why_size, "its window cannot be read");
    return false;
}

/* The output whose tap k lies on input p, or -1. */
static int64_t output_at(const as_window *w, int axis, int64_t p, int64_t k)
{
    int64_t at = p + w->pad_begin[axis] - k * w->dilation[axis];
    return at >= 0 && at % w->stride[axis] == 0 && at / w->stride[axis] < w->out[axis] ? at / w->stride[axis] : -1;
}

/* All taps of one output channel into the row (p0, p1) of dX. */
static void channel_add(const as_window *w, const float *plane, const float *kernel, int64_t p0, int64_t p1, float *dx)
{
    for (int64_t k0 = 0; k0 < w->kernel[0]; k0++) {
        int64_t o0 = output_at(w, 0, p0, k0);
        for (int64_t k1 = 0; o0 >= 0 && k1 < w->kernel[1]; k1++) {
            int64_t o1 = output_at(w, 1, p1, k1);
            if (o1 < 0)
                continue;
            const float *row = plane + (o0 * w->out[1] + o1) * w->out[2];
            const float *taps = kernel + (k0 * w->kernel[1] + k1) * w->kernel[2];
            for (int64_t k2 = 0; k2 < w->kernel[2]; k2++) {
                int64_t begin, end;
                as_plain_taps(w, 2, k2, &begin, &end);
                if (begin < end)
                    as_plain_scaled(dx + as_plain_at(w, 2, begin, k2), w->stride[2], row + begin, 1, taps[k2], end - begin);
            }
        }
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    const as_shape    *x = &n->out[0].shape, *weight = &n->in[1].shape;
    as_window          w;
    int64_t            begin, end;
    const float       *third = as_in_has(n, 2) ? args->in[2].data : NULL;
    bool               biased = as_in_has(n, 2) && n->in[2].shape.rank == 1;
    if (as_shape_count(x) == 0 || !as_plain_turned_window(n, &w))
        return;
    int64_t n_m = weight->dim[0], n_m_group = n_m / w.group, n_c = x->dim[1], n_c_group = weight->dim[1],
            n_rows = w.in[0] * w.in[1];
    int64_t n_plane = w.out[0] * w.out[1] * w.out[2], n_kernel = w.kernel[0] * w.kernel[1] * w.kernel[2];
    as_share(x->dim[0] * n_c * n_rows, 1, part, n_parts, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        int64_t image = row / n_rows / n_c, c = row / n_rows % n_c, p = row % n_rows, first = c / n_c_group * n_m_group;
        float  *dx = (float *)args->out[0].data + row * w.in[2];
        for (int64_t i = 0; i < w.in[2]; i++)
            dx[i] = biased ? third[c] : 0.0f;
        for (int64_t m = first; m < first + n_m_group; m++)
            channel_add(&w, (const float *)args->in[0].data + (image * n_m + m) * n_plane,
                        (const float *)args->in[1].data + (m * n_c_group + c % n_c_group) * n_kernel, p / w.in[1], p % w.in[1], dx);
        const float *mask = third && !biased ? third + row * w.in[2] : NULL;
        for (int64_t i = 0; mask && i < w.in[2]; i++)
            dx[i] = mask[i] <= 0.0f ? 0.0f : dx[i];
    }
}

const as_kernel as_k_convgradx_f32_scalar = {
    .name = "convgradx_f32_scalar",
    .op = "assay.ConvGradX",
    .also = also,
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "plain C, direct, row by row",
    .accepts = accepts,
    .run = run,
};
