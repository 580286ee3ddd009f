/* k_slice_copy.c - elements from start up to end (exclusive) by steps, also backwards, as runs of bytes, for any dtype and layout. */
#include "backend/cpu/walk.h"
#include "op/shape/cuts.h"

static bool accepts(const as_node_ctx *n, char *why, size_t why_size) { return as_memory_is_one(n, 1, why, why_size); }

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_shape *x = &args->ctx->in[0].shape;
    as_cuts         cuts;
    int64_t         step[AS_MAX_RANK];
    int             axis[AS_MAX_RANK];
    as_walk         w = as_walk_new(0);
    if (as_cuts_read(NULL, args->ctx, &cuts) != ASSAY_OK) /* infer has already read them */
        return;
    as_memory_steps(&args->ctx->in[0], step);
    as_memory_axes(&args->ctx->out[0], axis);
    for (int k = 0; k < x->rank; k++) {
        int i = axis[k];
        w.start += cuts.start[i] * step[i];
        as_walk_axis(&w, cuts.count[i], cuts.count[i] > 1 ? cuts.step[i] * step[i] : 0); /* a step over one may be any number */
    }
    as_walk_run(&w, as_dtype_bytes(args->ctx->in[0].dtype), args->in[0].data, args->out[0].data, part, n_parts);
}

const as_kernel as_k_slice_copy = {
    .name = "slice_copy",
    .op = "Slice",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "runs of bytes",
    .accepts = accepts,
    .run = run,
};
