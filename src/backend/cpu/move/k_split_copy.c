/* k_split_copy.c - parts along an axis into separate outputs, as runs of bytes, for any dtype and layout. */
#include "backend/cpu/walk.h"

static bool accepts(const as_node_ctx *n, char *why, size_t why_size) { return as_memory_is_one(n, 1, why, why_size); }

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    int64_t            axis = as_attr_int(n, "axis", 0), outer, inner, at = 0, begin, end;
    axis += axis < 0 ? n->in[0].shape.rank : 0;
    as_memory_around(&n->in[0], axis, &outer, &inner);
    inner *= (int64_t)as_dtype_bytes(n->in[0].dtype);
    for (int i = 0; i < n->n_out; i++) {
        int64_t run_bytes = n->out[i].shape.dim[axis] * inner;
        as_share(outer * run_bytes, 64, part, n_parts, &begin, &end);
        if (args->out[i].data)
            as_walk_collect(args->out[i].data, (const char *)args->in[0].data + at, run_bytes, n->in[0].shape.dim[axis] * inner,
                            begin, end);
        at += run_bytes;
    }
}

const as_kernel as_k_split_copy = {
    .name = "split_copy",
    .op = "Split",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "runs of bytes",
    .accepts = accepts,
    .run = run,
};
