/* k_squareddistance_f32_scalar.c - squared distances of rows, with sixteen sums per pair that a compiler turns into vectors. */
#include "backend/cpu/kernel.h"

enum { LANES = 16 };

static bool accepts(const as_node_ctx *n, char *why, size_t why_size) { return as_kernel_f32_only(n, why, why_size); }

static float distance(const float *a, const float *b, int64_t n)
{
    float   sums[LANES] = {0.0f};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            float d = a[i + k] - b[i + k];
            sums[k] += d * d;
        }
    for (int k = 0; i < n; i++, k++) {
        float d = a[i] - b[i];
        sums[k] += d * d;
    }
    for (int half = LANES / 2; half; half /= 2)
        for (int k = 0; k < half; k++)
            sums[k] += sums[k + half];
    return sums[0];
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    const float *a = args->in[0].data, *b = args->in[1].data;
    float       *y = args->out[0].data;
    int64_t rows = args->in[0].shape.dim[0], columns = args->in[1].shape.dim[0], features = args->in[0].shape.dim[1], begin, end;
    (void)scratch;
    as_share(rows, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = 0; k < columns; k++)
            y[i * columns + k] = distance(a + i * features, b + k * features, features);
}

const as_kernel as_k_squareddistance_f32_scalar = {
    .name = "squareddistance_f32_scalar",
    .op = "assay.SquaredDistance",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "sixteen sums per pair of rows",
    .accepts = accepts,
    .run = run,
};
