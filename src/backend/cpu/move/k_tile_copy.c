/* k_tile_copy.c - repeats the whole tensor along each axis, as runs of bytes, for any dtype. */
#include "backend/cpu/each/plain.h"
#include "backend/cpu/walk.h"

/* Each axis becomes two: the repeats, with a step of 0, and the elements. */
static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_shape *x = &args->ctx->in[0].shape, *y = &args->ctx->out[0].shape;
    int64_t         step[AS_MAX_RANK];
    as_walk         w = as_walk_new(0);
    if (as_shape_count(y) == 0)
        return;
    as_walk_steps(x, step);
    for (int i = 0; i < x->rank; i++) {
        as_walk_axis(&w, y->dim[i] / x->dim[i], 0);
        as_walk_axis(&w, x->dim[i], step[i]);
    }
    as_walk_run(&w, as_dtype_bytes(args->ctx->in[0].dtype), args->in[0].data, args->out[0].data, part, n_parts);
}

const as_kernel as_k_tile_copy = {
    .name = "tile_copy",
    .op = "Tile",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "runs of bytes",
    .accepts = as_plain_copy_accepts,
    .run = run,
};
