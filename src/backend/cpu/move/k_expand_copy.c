/* k_expand_copy.c - repeats along axes of size 1, as runs of bytes, for any dtype. */
#include "backend/cpu/each/plain.h"
#include "backend/cpu/walk.h"

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_shape *x = &args->ctx->in[0].shape, *y = &args->ctx->out[0].shape;
    int64_t         step[AS_MAX_RANK];
    int             shift = y->rank - x->rank; /* axes in front are all new */
    as_walk         w = as_walk_new(0);
    as_walk_steps(x, step);
    for (int i = 0; i < y->rank; i++)
        as_walk_axis(&w, y->dim[i], i < shift || x->dim[i - shift] == 1 ? 0 : step[i - shift]);
    as_walk_run(&w, as_dtype_bytes(args->ctx->in[0].dtype), args->in[0].data, args->out[0].data, part, n_parts);
}

const as_kernel as_k_expand_copy = {
    .name = "expand_copy",
    .op = "Expand",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "runs of bytes",
    .accepts = as_plain_copy_accepts,
    .run = run,
};
