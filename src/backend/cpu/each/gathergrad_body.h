/* gathergrad_body.h - the body of k_gathergrad_f32_<machine>.c, after its simd_*.h: assay.GatherGrad.
 *
 * Each part owns some rows of the table: it clears them and adds what belongs there, in the order of the indices.  So no two parts write
 * one row, and the order of a sum does not depend on the number of parts.  A wrong index is left to the reference code, which has the
 * message for it. */
#include <string.h>

#include "backend/cpu/move/targets.h"

static void row_add(float *to, const float *from, int64_t n)
{
    int64_t i = 0;
    for (; i + VW <= n; i += VW)
        v_store(to + i, v_add(v_load(to + i), v_load(from + i)));
    if (i < n)
        v_store_n(to + i, (int)(n - i), v_add(v_load_n(to + i, (int)(n - i)), v_load_n(from + i, (int)(n - i))));
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    int64_t            count = as_shape_count(&n->in[1].shape), size = n->out[0].shape.dim[0], begin, end;
    int64_t            row = size ? as_shape_count(&n->out[0].shape) / size : 0;
    if (!as_indices_are_inside(&args->in[1], count, size)) {
        if (part == 0)
            *args->status = n->op->eval(args->env, n, args->in, args->out);
        return;
    }
    if (row == 0)
        return;
    as_share(size, row < 16 ? 16 / row : 1, part, n_parts, &begin, &end);
    float       *to = args->out[0].data;
    const float *from = args->in[0].data;
    if (begin < end)
        memset(to + begin * row, 0, (size_t)((end - begin) * row) * sizeof *to);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = as_index_at(&args->in[1], i);
        at += at < 0 ? size : 0;
        if (at >= begin && at < end)
            row_add(to + at * row, from + i * row, row);
    }
}
