/* k_sigmoid_f32_scalar.c - 1 / (1 + exp(-x)), with exp only of what is not positive, so that nothing overflows. */
#include <math.h>

#include "backend/cpu/plain.h"

static float one(float x)
{
    float e = expf(-fabsf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    int64_t begin, end, i;
    as_share(as_shape_count(&args->out[0].shape), AS_GRAIN, part, n_parts, &begin, &end);
    const float *x = args->in[0].data;
    float *restrict y = args->out[0].data;
    for (i = begin; i + AS_STRIP <= end; i += AS_STRIP)
        for (int l = 0; l < AS_STRIP; l++)
            y[i + l] = one(x[i + l]);
    for (; i < end; i++)
        y[i] = one(x[i]);
}

const as_kernel as_k_sigmoid_f32_scalar = {
    .name = "sigmoid_f32_scalar", .op = "Sigmoid", .isa = AS_ISA_SCALAR, .rank = 10, .why = "plain C, the library's expf",
    .accepts = as_kernel_f32_only, .run = run,
};
