/* accumulate_body.h - the body of k_accumulate_f32_<machine>.c, after its simd_*.h: keep * acc + g. */
#include "backend/cpu/kernel.h"

enum { GRAIN = 4096 };

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const float *a = args->in[0].data, *g = args->in[1].data;
    float        keep = *(const float *)args->in[2].data, *y = args->out[0].data;
    int64_t      i, end;
    as_share(as_shape_count(&args->ctx->in[0].shape), GRAIN, part, n_parts, &i, &end);
    vf k = v_set(keep);
    if (keep == 0.0f) { /* whatever the old sum holds */
        for (; i + VW <= end; i += VW)
            v_store(y + i, v_load(g + i));
        for (; i < end; i++)
            y[i] = g[i];
        return;
    }
    for (; i + VW <= end; i += VW)
        v_store(y + i, v_fma(k, v_load(a + i), v_load(g + i)));
    if (i < end)
        v_store_n(y + i, (int)(end - i), v_fma(k, v_load_n(a + i, (int)(end - i)), v_load_n(g + i, (int)(end - i))));
}

static int64_t shares(const as_node_ctx *n) { return (as_shape_count(&n->in[0].shape) + GRAIN - 1) / GRAIN; }
