/* dropoutgrad_body.h - the body of k_dropoutgrad_f32_<machine>.c, after its simd_*.h: assay.DropoutGrad. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernel.h"

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (as_in_has(n, 2) && n->in[2].dtype != AS_F32) {
        snprintf(why, why_size, "ratio is %s, needs f32", as_dtype_name(n->in[2].dtype));
        return false;
    }
    return as_kernel_f32_only(n, why, why_size);
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const float   *dy = args->in[0].data;
    const uint8_t *mask = args->in[1].data;
    float         *dx = args->out[0].data, ratio = as_in_has(args->ctx, 2) ? *(const float *)args->in[2].data : 0.5f;
    int64_t        begin, end;
    vf             scale = v_set((float)(1.0 / (1.0 - (double)ratio)));
    as_share(as_shape_count(&args->ctx->in[0].shape), 16, part, n_parts, &begin, &end);
    for (; begin < end; begin += VW) {
        int      n = end - begin < VW ? (int)(end - begin) : VW;
        uint32_t keep[VW] = {0};
        vf       bits;
        for (int i = 0; i < n; i++)
            keep[i] = -(uint32_t)(mask[begin + i] != 0);
        memcpy(&bits, keep, sizeof bits);
        if (n == VW)
            v_store(dx + begin, v_and(bits, v_mul(v_load(dy + begin), scale)));
        else
            v_store_n(dx + begin, n, v_and(bits, v_mul(v_load_n(dy + begin, n), scale)));
    }
}
