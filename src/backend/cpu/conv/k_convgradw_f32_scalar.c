/* k_convgradw_f32_scalar.c - the gradient of Conv with respect to W: for each tap, inner products of rows of X and dY. */
#include "backend/cpu/each/plain.h"

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_shape weight = as_plain_shape(n, "weight_shape");
    return as_plain_conv_accepts(n, &n->in[0].shape, &weight, why, why_size);
}

/* One tap over one image: the sums of the rows are added in order. */
static float tap_run(const as_window *w, const float *x, const float *dy, const int64_t k[3])
{
    int64_t begin[3], end[3];
    float   sum = 0.0f;
    for (int i = 0; i < 3; i++)
        as_plain_taps(w, i, k[i], &begin[i], &end[i]);
    if (begin[2] >= end[2])
        return sum;
    for (int64_t o0 = begin[0]; o0 < end[0]; o0++)
        for (int64_t o1 = begin[1]; o1 < end[1]; o1++) {
            const float *row = x + (as_plain_at(w, 0, o0, k[0]) * w->in[1] + as_plain_at(w, 1, o1, k[1])) * w->in[2];
            sum += as_plain_dot(row + as_plain_at(w, 2, begin[2], k[2]), w->stride[2],
                                dy + (o0 * w->out[1] + o1) * w->out[2] + begin[2], 1, end[2] - begin[2]);
        }
    return sum;
}

/* The gradient of the bias: the sum of each channel of dY. */
static void bias_run(const as_kernel_args *args, int64_t n_out, int part, int n_parts)
{
    const as_shape *dy = &args->ctx->in[1].shape;
    int64_t         begin, end;
    as_share(dy->dim[1], 1, part, n_parts, &begin, &end);
    for (int64_t m = begin; m < end; m++) {
        float sum = 0.0f;
        for (int64_t image = 0; image < dy->dim[0]; image++)
            sum += as_plain_sum((const float *)args->in[1].data + (image * dy->dim[1] + m) * n_out, n_out);
        ((float *)args->out[1].data)[m] = sum;
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    const as_shape    *x = &n->in[0].shape, *weight = &n->out[0].shape;
    as_window          w;
    int64_t            begin, end;
    if (!as_plain_window(n, x, &weight->dim[2], false, &w))
        return;
    if (n->n_out > 1)
        bias_run(args, w.out[0] * w.out[1] * w.out[2], part, n_parts);
    if (as_shape_count(weight) == 0)
        return;
    int64_t n_m = weight->dim[0], n_c = x->dim[1], n_c_group = weight->dim[1];
    int64_t n_in = w.in[0] * w.in[1] * w.in[2], n_out = w.out[0] * w.out[1] * w.out[2];
    as_share(as_shape_count(weight), 1, part, n_parts, &begin, &end);
    for (int64_t at = begin; at < end; at++) {
        int64_t k[3], rest = at;
        for (int i = 2; i >= 0; i--) {
            k[i] = rest % w.kernel[i];
            rest /= w.kernel[i];
        }
        int64_t m = rest / n_c_group, c = m / (n_m / w.group) * n_c_group + rest % n_c_group;
        float   sum = 0.0f;
        for (int64_t image = 0; image < x->dim[0]; image++)
            sum += tap_run(&w, (const float *)args->in[0].data + (image * n_c + c) * n_in,
                           (const float *)args->in[1].data + (image * n_m + m) * n_out, k);
        ((float *)args->out[0].data)[at] = sum;
    }
}

const as_kernel as_k_convgradw_f32_scalar = {
    .name = "convgradw_f32_scalar",
    .op = "assay.ConvGradW",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "plain C, direct, tap by tap",
    .accepts = accepts,
    .run = run,
};
