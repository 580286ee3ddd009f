/* k_part_copy.c - a part of a flat block as a copy: used where the result could not be a view of the block. */
#include <string.h>

#include "backend/cpu/each/plain.h"

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    int64_t            each = (int64_t)as_dtype_bytes(n->out[0].dtype), begin, end;
    const char        *from = (const char *)args->in[0].data + as_attr_int(n, "begin", 0) * each;
    as_share(as_shape_count(&n->out[0].shape) * each, 4096, part, n_parts, &begin, &end);
    if (begin < end)
        memcpy((char *)args->out[0].data + begin, from + begin, (size_t)(end - begin));
}

const as_kernel as_k_part_copy = {
    .name = "part_copy",
    .op = "assay.Part",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "a plain copy of the bytes",
    .accepts = as_plain_copy_accepts,
    .run = run,
};
