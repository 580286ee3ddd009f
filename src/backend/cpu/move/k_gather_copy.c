/* k_gather_copy.c - parts along an axis in the order of the indices, as runs of bytes, for any dtype.
 *
 * The network may compute the indices, so they can be wrong.  Every part checks all of them first: if one is wrong, part 0
 * leaves the node to the reference code, which has the message for it, and the others do nothing. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/each/plain.h"
#include "backend/cpu/move/targets.h"

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (n->in[1].layout != AS_LAYOUT_ROW_MAJOR) {
        snprintf(why, why_size, "input 1 is not row-major");
        return false;
    }
    return as_plain_copy_accepts(n, why, why_size);
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    const as_shape    *x = &n->in[0].shape;
    int64_t            axis = as_attr_int(n, "axis", 0), outer = 1, bytes = (int64_t)as_dtype_bytes(n->in[0].dtype);
    int64_t            count = as_shape_count(&n->in[1].shape), begin, end;
    axis += axis < 0 ? x->rank : 0;
    for (int i = 0; i < x->rank; i++) {
        outer *= i < axis ? x->dim[i] : 1;
        bytes *= i > axis ? x->dim[i] : 1;
    }
    int64_t size = x->dim[axis];
    if (!as_indices_are_inside(&args->in[1], count, size)) {
        if (part == 0)
            *args->status = n->op->eval(args->env, n, args->in, args->out);
        return;
    }
    if (bytes == 0)
        return;
    as_share(outer * count, bytes < 64 ? 64 / bytes : 1, part, n_parts, &begin, &end);
    const char *from = args->in[0].data;
    char       *to = args->out[0].data;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = as_index_at(&args->in[1], i % count);
        memcpy(to + i * bytes, from + (i / count * size + (at < 0 ? at + size : at)) * bytes, (size_t)bytes);
    }
}

const as_kernel as_k_gather_copy = {
    .name = "gather_copy",
    .op = "Gather",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "runs of bytes",
    .accepts = accepts,
    .run = run,
};
