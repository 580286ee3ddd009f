/* k_onehot_copy.c - a new axis of elements that are off, except on at the index, for values of any dtype and integer indices. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/each/plain.h"
#include "backend/cpu/move/targets.h"
#include "backend/cpu/walk.h"

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (n->in[0].dtype != AS_I64 && n->in[0].dtype != AS_I32) {
        snprintf(why, why_size, "the indices are %s, needs i32 or i64", as_dtype_name(n->in[0].dtype));
        return false;
    }
    return as_plain_copy_accepts(n, why, why_size);
}

/* The output is [outer, depth, inner], where outer * inner are the indices. */
static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    const as_shape    *y = &n->out[0].shape;
    int64_t            axis = as_attr_int(n, "axis", -1), inner = 1, bytes = (int64_t)as_dtype_bytes(n->out[0].dtype), begin, end;
    const char        *off = args->in[2].data, *on = off + bytes;
    char              *to = args->out[0].data;
    if (as_shape_count(y) == 0)
        return;
    axis += axis < 0 ? y->rank : 0;
    for (int i = (int)axis + 1; i < y->rank; i++)
        inner *= y->dim[i];
    int64_t depth = y->dim[axis], outer = as_shape_count(&n->in[0].shape) / inner;
    as_share(outer, 1, part, n_parts, &begin, &end);
    if (begin >= end)
        return;
    as_walk_fill(to + begin * depth * inner * bytes, off, (size_t)bytes, (end - begin) * depth * inner);
    for (int64_t i = begin * inner; i < end * inner; i++) {
        int64_t at = as_index_at(&args->in[0], i);
        if (at < -depth || at >= depth)
            continue;
        at += at < 0 ? depth : 0;
        memcpy(to + ((i / inner * depth + at) * inner + i % inner) * bytes, on, (size_t)bytes);
    }
}

const as_kernel as_k_onehot_copy = {
    .name = "onehot_copy",
    .op = "OneHot",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "fills with off, then sets",
    .accepts = accepts,
    .run = run,
};
