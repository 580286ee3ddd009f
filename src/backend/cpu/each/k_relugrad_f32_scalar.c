/* k_relugrad_f32_scalar.c - dY where X > 0 or X is NaN, else 0. */
#include "backend/cpu/each/plain.h"

AS_PLAIN_ROW(p <= 0.0f ? 0.0f : q)

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    as_plain_each2(args, part, n_parts, row);
}

const as_kernel as_k_relugrad_f32_scalar = {
    .name = "relugrad_f32_scalar",
    .op = "assay.ReluGrad",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "plain C",
    .accepts = as_kernel_f32_only,
    .run = run,
};
