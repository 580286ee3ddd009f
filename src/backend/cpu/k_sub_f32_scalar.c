/* k_sub_f32_scalar.c - A - B with broadcasting. */
#include "backend/cpu/plain.h"

AS_PLAIN_ROW(p - q)

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    as_plain_each2(args, part, n_parts, row);
}

const as_kernel as_k_sub_f32_scalar = {
    .name = "sub_f32_scalar", .op = "Sub", .isa = AS_ISA_SCALAR, .rank = 10, .why = "plain C, rows of joined axes",
    .accepts = as_kernel_f32_only, .run = run,
};
