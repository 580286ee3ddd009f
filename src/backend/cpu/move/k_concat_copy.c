/* k_concat_copy.c - tensors one after the other along an axis, as runs of bytes, for any dtype. */
#include "backend/cpu/each/plain.h"

#include <stdio.h>
#include <string.h>

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i].layout != AS_LAYOUT_ROW_MAJOR) {
            snprintf(why, why_size, "input %d is not row-major", i);
            return false;
        }
    return as_plain_copy_accepts(n, why, why_size);
}

/* Units are the slabs before the axis: in each of them every input has one run. */
static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    const as_shape    *y = &n->out[0].shape;
    int64_t axis = as_attr_int(n, "axis", 0), outer = 1, inner = (int64_t)as_dtype_bytes(n->out[0].dtype), at = 0, begin, end;
    axis += axis < 0 ? y->rank : 0;
    for (int i = 0; i < y->rank; i++) {
        outer *= i < axis ? y->dim[i] : 1;
        inner *= i > axis ? y->dim[i] : 1;
    }
    int64_t slab = y->dim[axis] * inner;
    for (int i = 0; i < n->n_in; i++) {
        int64_t     run_bytes = n->in[i].shape.dim[axis] * inner;
        const char *from = args->in[i].data;
        char       *to = (char *)args->out[0].data + at;
        at += run_bytes;
        if (run_bytes == 0)
            continue;
        as_share(outer * run_bytes, 64, part, n_parts, &begin, &end);
        while (begin < end) {
            int64_t in_run = begin % run_bytes, left = run_bytes - in_run < end - begin ? run_bytes - in_run : end - begin;
            memcpy(to + begin / run_bytes * slab + in_run, from + begin, (size_t)left);
            begin += left;
        }
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
