/* k_slicegrad_copy.c - assay.SliceGrad: zeros, and the slice in its place, row by row of the last axis, for any dtype. */
#include <string.h>

#include "backend/cpu/each/plain.h"

/* The position in the slice of element `at` of an axis; -1: it is not in the slice. */
static int64_t inverse(int64_t at, int64_t start, int64_t step, int64_t count)
{
    int64_t from = at - start;
    if (count < 1 || (step == 0 ? from != 0 : from % step != 0))
        return -1;
    int64_t i = step == 0 ? 0 : from / step;
    return i < 0 || i >= count ? -1 : i;
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    const as_shape    *x = &n->out[0].shape, *dy = &n->in[0].shape;
    const as_attr     *starts = as_attr_find(n, "starts"), *steps = as_attr_find(n, "steps");
    size_t             bytes = as_dtype_bytes(n->in[0].dtype);
    int                last = x->rank - 1;
    int64_t            width = last < 0 ? 1 : x->dim[last], rows = width ? as_shape_count(x) / width : 0, begin, end;
    as_share(rows, 1, part, n_parts, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        char   *to = (char *)args->out[0].data + (size_t)(r * width) * bytes;
        int64_t rest = r, from = 0, step = 1;
        memset(to, 0, (size_t)width * bytes);
        for (int a = last - 1; a >= 0 && from >= 0; a--) {
            int64_t i = inverse(rest % x->dim[a], starts->ints[a], steps->ints[a], dy->dim[a]);
            from = i < 0 ? -1 : from + i * step;
            step *= dy->dim[a];
            rest /= x->dim[a];
        }
        int64_t count = last < 0 ? 1 : dy->dim[last], first = last < 0 ? 0 : starts->ints[last],
                by = last < 0 ? 1 : steps->ints[last];
        if (from < 0 || count < 1)
            continue;
        const char *source = (const char *)args->in[0].data + (size_t)(from * count) * bytes;
        if (by == 1)
            memcpy(to + (size_t)first * bytes, source, (size_t)count * bytes);
        else
            for (int64_t i = 0; i < count; i++)
                memcpy(to + (size_t)(first + i * by) * bytes, source + (size_t)i * bytes, bytes);
    }
}

const as_kernel as_k_slicegrad_copy = {
    .name = "slicegrad_copy",
    .op = "assay.SliceGrad",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "rows of bytes",
    .accepts = as_plain_copy_accepts,
    .run = run,
};
