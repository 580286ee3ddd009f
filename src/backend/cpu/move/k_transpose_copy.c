/* k_transpose_copy.c - axes in another order, for any dtype: runs of bytes where the last axis stays, else element by element. */
#include "backend/cpu/each/plain.h"
#include "backend/cpu/move/turn.h"

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    as_walk w = as_turn_of(args->ctx);
    as_walk_run(&w, as_dtype_bytes(args->ctx->in[0].dtype), args->in[0].data, args->out[0].data, part, n_parts);
}

const as_kernel as_k_transpose_copy = {
    .name = "transpose_copy",
    .op = "Transpose",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "rows of joined axes",
    .accepts = as_plain_copy_accepts,
    .run = run,
};
