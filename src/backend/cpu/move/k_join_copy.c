/* k_join_copy.c - tensors in one flat block.  What its producer already wrote into its place is left alone; the rest is copied, and
 * the gaps become 0. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/each/plain.h"

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i].layout != AS_LAYOUT_ROW_MAJOR) {
            snprintf(why, why_size, "input %d is not row-major", i);
            return false;
        }
    return as_plain_copy_accepts(n, why, why_size);
}

/* Bytes [from, to) of the block, of which this part does its share. */
static void fill(char *to, const char *data, int64_t bytes, int part, int n_parts)
{
    int64_t begin, end;
    as_share(bytes, 4096, part, n_parts, &begin, &end);
    if (begin >= end || to == data)
        return;
    if (data)
        memcpy(to + begin, data + begin, (size_t)(end - begin));
    else
        memset(to + begin, 0, (size_t)(end - begin));
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    const as_attr     *begins = as_attr_find(n, "begins");
    int64_t            each = (int64_t)as_dtype_bytes(n->out[0].dtype), at = 0;
    char              *block = args->out[0].data;
    for (int i = 0; i < n->n_in; i++) {
        int64_t begin = begins->ints[i] * each, bytes = as_shape_count(&n->in[i].shape) * each;
        fill(block + at, NULL, begin - at, part, n_parts);
        fill(block + begin, args->in[i].data, bytes, part, n_parts);
        at = begin + bytes;
    }
    fill(block + at, NULL, as_shape_count(&n->out[0].shape) * each - at, part, n_parts);
}

const as_kernel as_k_join_copy = {
    .name = "join_copy",
    .op = "assay.Join",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "copies what was not written in place",
    .accepts = accepts,
    .run = run,
};
