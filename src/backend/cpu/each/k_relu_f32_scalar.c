/* k_relu_f32_scalar.c - max(x, 0); NaN stays NaN. */
#include "backend/cpu/each/plain.h"

static float one(float x) { return x <= 0.0f ? 0.0f : x; }

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

const as_kernel as_k_relu_f32_scalar = {
    .name = "relu_f32_scalar",
    .op = "Relu",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "plain C",
    .accepts = as_kernel_f32_only,
    .run = run,
};
