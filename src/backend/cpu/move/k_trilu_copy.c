/* k_trilu_copy.c - Trilu: one triangle of each matrix, row by row, for any dtype. */
#include <string.h>

#include "backend/cpu/each/plain.h"

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    const as_shape    *x = &n->in[0].shape;
    size_t             bytes = as_dtype_bytes(n->in[0].dtype);
    bool               upper = as_attr_int(n, "upper", 1) != 0;
    int64_t            k = 0, rows = x->dim[x->rank - 2], columns = x->dim[x->rank - 1], count = as_shape_count(x), begin, end;
    if (as_in_has(n, 1))
        memcpy(&k, args->in[1].data, sizeof k);
    k = k < -rows ? -rows : k > columns ? columns : k; /* beyond the matrix nothing changes */
    as_share(columns ? count / columns : 0, 1, part, n_parts, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        int64_t edge = r % rows + k + !upper; /* the first that is kept, or the first that is not */
        char   *to = (char *)args->out[0].data + (size_t)(r * columns) * bytes;
        edge = edge < 0 ? 0 : edge > columns ? columns : edge;
        const char *from = (const char *)args->in[0].data + (size_t)(r * columns) * bytes;
        size_t      cut = (size_t)edge * bytes, all = (size_t)columns * bytes;
        if (upper) {
            memset(to, 0, cut);
            memcpy(to + cut, from + cut, all - cut);
        } else {
            memcpy(to, from, cut);
            memset(to + cut, 0, all - cut);
        }
    }
}

const as_kernel as_k_trilu_copy = {
    .name = "trilu_copy",
    .op = "Trilu",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "rows of bytes",
    .accepts = as_plain_copy_accepts,
    .run = run,
};
