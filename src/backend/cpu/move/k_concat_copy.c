/* k_concat_copy.c - tensors one after the other along an axis, as runs of bytes, for any dtype and layout. */
#include "backend/cpu/walk.h"

static bool accepts(const as_node_ctx *n, char *why, size_t why_size) { return as_memory_is_one(n, n->n_in, why, why_size); }

/* Units are the slabs before the axis: in each of them every input has one run. */
static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    int64_t            axis = as_attr_int(n, "axis", 0), outer, inner, at = 0, begin, end;
    axis += axis < 0 ? n->out[0].shape.rank : 0;
    as_memory_around(&n->out[0], axis, &outer, &inner);
    inner *= (int64_t)as_dtype_bytes(n->out[0].dtype);
    for (int i = 0; i < n->n_in; i++) {
        int64_t run_bytes = n->in[i].shape.dim[axis] * inner;
        as_share(outer * run_bytes, 64, part, n_parts, &begin, &end);
        as_walk_spread((char *)args->out[0].data + at, args->in[i].data, run_bytes, n->out[0].shape.dim[axis] * inner, begin, end);
        at += run_bytes;
    }
}

const as_kernel as_k_concat_copy = {
    .name = "concat_copy",
    .op = "Concat",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "runs of bytes",
    .accepts = accepts,
    .run = run,
};
