/* k_softmax_f32_scalar.c - exp(x - max) over its sum along one axis.
 *
 * Many lines side by side where the axis is not the last, so that memory is read in order there too. */
#include "backend/cpu/plain.h"

#include <math.h>

enum { LANES = 64 };

/* n lines of `length` elements that are `step` apart; the lines themselves are neighbours. */
static void lanes_run(const float *x, float *restrict y, int64_t length, int64_t step, int64_t n)
{
    float max[LANES], sum[LANES];
    for (int64_t l = 0; l < n; l++) {
        max[l] = -INFINITY;
        sum[l] = 0.0f;
    }
    for (int64_t i = 0; i < length; i++)
        for (int64_t l = 0; l < n; l++)
            max[l] = fmaxf(max[l], x[i * step + l]);
    for (int64_t i = 0; i < length; i++)
        for (int64_t l = 0; l < n; l++)
            sum[l] += y[i * step + l] = expf(x[i * step + l] - max[l]);
    for (int64_t i = 0; i < length; i++)
        for (int64_t l = 0; l < n; l++)
            y[i * step + l] /= sum[l];
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_shape *x = &args->ctx->in[0].shape;
    int64_t         axis = as_attr_int(args->ctx, "axis", -1), outer = 1, inner = 1, begin, end;
    if (axis < 0)
        axis += x->rank;
    for (int i = 0; i < x->rank; i++) {
        if (i < axis)
            outer *= x->dim[i];
        else if (i > axis)
            inner *= x->dim[i];
    }
    int64_t length = x->dim[axis], n_blocks = (inner + LANES - 1) / LANES;
    as_share(outer * n_blocks, 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t first = unit % n_blocks * LANES, at = unit / n_blocks * length * inner + first;
        lanes_run((const float *)args->in[0].data + at, (float *)args->out[0].data + at, length, inner,
                  inner - first < LANES ? inner - first : LANES);
    }
}

const as_kernel as_k_softmax_f32_scalar = {
    .name = "softmax_f32_scalar", .op = "Softmax", .isa = AS_ISA_SCALAR, .rank = 10, .why = "plain C, the library's expf",
    .accepts = as_kernel_f32_only, .run = run,
};
