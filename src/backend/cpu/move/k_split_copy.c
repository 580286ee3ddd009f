/* k_split_copy.c - parts along an axis into separate outputs, as runs of bytes, for any dtype. */
#include "backend/cpu/each/plain.h"

#include <stdio.h>
#include <string.h>

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i].layout != AS_LAYOUT_ROW_MAJOR) {
            snprintf(why, why_size, "output %d is not row-major", i);
            return false;
        }
    return as_plain_copy_accepts(n, why, why_size);
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    const as_shape    *x = &n->in[0].shape;
    int64_t axis = as_attr_int(n, "axis", 0), outer = 1, inner = (int64_t)as_dtype_bytes(n->in[0].dtype), at = 0, begin, end;
    axis += axis < 0 ? x->rank : 0;
    for (int i = 0; i < x->rank; i++) {
        outer *= i < axis ? x->dim[i] : 1;
        inner *= i > axis ? x->dim[i] : 1;
    }
    int64_t slab = x->dim[axis] * inner;
    for (int i = 0; i < n->n_out; i++) {
        int64_t     run_bytes = n->out[i].shape.dim[axis] * inner;
        const char *from = (const char *)args->in[0].data + at;
        char       *to = args->out[i].data;
        at += run_bytes;
        if (run_bytes == 0 || !to)
            continue;
        as_share(outer * run_bytes, 64, part, n_parts, &begin, &end);
        while (begin < end) {
            int64_t in_run = begin % run_bytes, left = run_bytes - in_run < end - begin ? run_bytes - in_run : end - begin;
            memcpy(to + begin, from + begin / run_bytes * slab + in_run, (size_t)left);
            begin += left;
        }
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
