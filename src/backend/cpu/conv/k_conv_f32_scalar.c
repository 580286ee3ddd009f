/* k_conv_f32_scalar.c - direct convolution, 1-D to 3-D: each row of Y sums rows of X, tap by tap. */
#include "backend/cpu/each/plain.h"

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    return as_plain_conv_accepts(n, &n->in[0].shape, &n->in[1].shape, why, why_size);
}

typedef struct conv {
    as_window    w;
    int64_t      n_c, n_m, n_c_group, n_m_group; /* channels in and out, and per group */
    const float *x, *weight, *bias;
} conv;

/* All taps of one channel at the output row (o0, o1). */
static void channel_add(const conv *v, const float *plane, const float *kernel, int64_t o0, int64_t o1, float *y)
{
    const as_window *w = &v->w;
    for (int64_t k0 = 0; k0 < w->kernel[0]; k0++) {
        int64_t p0 = as_plain_at(w, 0, o0, k0);
        if (p0 < 0 || p0 >= w->in[0])
            continue;
        for (int64_t k1 = 0; k1 < w->kernel[1]; k1++) {
            int64_t p1 = as_plain_at(w, 1, o1, k1);
            if (p1 < 0 || p1 >= w->in[1])
                continue;
            const float *row = plane + (p0 * w->in[1] + p1) * w->in[2];
            const float *taps = kernel + (k0 * w->kernel[1] + k1) * w->kernel[2];
            for (int64_t k2 = 0; k2 < w->kernel[2]; k2++) {
                int64_t begin, end;
                as_plain_taps(w, 2, k2, &begin, &end);
                if (begin < end)
                    as_plain_scaled(y + begin, 1, row + as_plain_at(w, 2, begin, k2), w->stride[2], taps[k2], end - begin);
            }
        }
    }
}

static void row_run(const conv *v, int64_t image, int64_t m, int64_t o0, int64_t o1, float *y)
{
    const as_window *w = &v->w;
    int64_t          n_plane = w->in[0] * w->in[1] * w->in[2], n_kernel = w->kernel[0] * w->kernel[1] * w->kernel[2];
    const float     *planes = v->x + (image * v->n_c + m / v->n_m_group * v->n_c_group) * n_plane;
    const float     *kernels = v->weight + m * v->n_c_group * n_kernel;
    for (int64_t i = 0; i < w->out[2]; i++)
        y[i] = v->bias ? v->bias[m] : 0.0f;
    for (int64_t c = 0; c < v->n_c_group; c++)
        channel_add(v, planes + c * n_plane, kernels + c * n_kernel, o0, o1, y);
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    const as_shape    *x = &n->in[0].shape, *weight = &n->in[1].shape;
    conv               v = {.n_c = x->dim[1],
                            .n_m = weight->dim[0],
                            .n_c_group = weight->dim[1],
                            .x = args->in[0].data,
                            .weight = args->in[1].data,
                            .bias = as_in_has(n, 2) ? args->in[2].data : NULL};
    int64_t            begin, end;
    if (as_shape_count(&n->out[0].shape) == 0 || !as_plain_window(n, x, &weight->dim[2], false, &v.w))
        return;
    v.n_m_group = v.n_m / v.w.group;
    int64_t n_rows = v.w.out[0] * v.w.out[1];
    as_share(x->dim[0] * v.n_m * n_rows, 1, part, n_parts, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        int64_t plane = row / n_rows, o = row % n_rows;
        row_run(&v, plane / v.n_m, plane % v.n_m, o / v.w.out[1], o % v.w.out[1], (float *)args->out[0].data + row * v.w.out[2]);
    }
}

const as_kernel as_k_conv_f32_scalar = {
    .name = "conv_f32_scalar",
    .op = "Conv",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "plain C, direct, row by row",
    .accepts = accepts,
    .run = run,
};
