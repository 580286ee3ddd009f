/* batchnorm_body.h - the body of k_batchnorm_f32_<machine>.c, after its simd_*.h: BatchNormalization with given statistics,
 * in row-major order and in NHWC.
 *
 * Each part computes the factors scale / sqrt(var + epsilon) of all channels once, in its own scratch.  The mean is
 * subtracted before the product, as in the reference code: folded into a shift, a large mean would lose the small differences
 * from it. */
#include <math.h>
#include <stdio.h>

#include "backend/cpu/norm/batch_rows.h"

enum { LINE = 16 /* floats per cache line */ };

static int64_t channels_of(const as_shape *x) { return x->rank > 1 ? x->dim[1] : 1; }

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (as_attr_int(n, "training_mode", 0)) {
        snprintf(why, why_size, "training_mode asks for the batch's own statistics");
        return false;
    }
    return batch_accepts(n, why, why_size);
}

static int64_t stride_of(const as_node_ctx *n)
{
    return (channels_of(&n->in[0].shape) + LINE - 1) / LINE
    *LINE;
}

static size_t scratch_bytes(const as_node_ctx *n, int n_parts) { return (size_t)stride_of(n) * sizeof(float) * (size_t)n_parts; }

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    const as_node_ctx *n = args->ctx;
    const as_shape    *shape = &n->in[0].shape;
    const float       *x = args->in[0].data, *scale = args->in[1].data, *bias = args->in[2].data, *mean = args->in[3].data,
                *var = args->in[4].data;
    float  *y = args->out[0].data;
    int64_t count = as_shape_count(shape), channels = channels_of(shape), begin, end;
    vf      epsilon = v_set((float)as_attr_float(n, "epsilon", 1e-5f));
    as_share(count, LINE, part, n_parts, &begin, &end);
    if (begin >= end)
        return;
    float *factor = (float *)scratch + part * stride_of(n);
    for (int64_t c = 0; c < channels; c += VW) {
        int w = at_most(channels - c);
        put(factor + c, w, v_div(some(scale + c, w), v_sqrt(v_add(some(var + c, w), epsilon))));
    }
    int64_t pixels = count / channels / (shape->rank > 1 ? shape->dim[0] : 1);
    bool    side_by_side = n->in[0].layout == AS_LAYOUT_NHWC || (pixels == 1 && shape->rank > 1);
    int64_t row = side_by_side ? channels : pixels;
    for (int64_t at = begin; at < end;) {
        int64_t first = at % row, c = side_by_side ? first : at / row % channels,
                width = row - first < end - at ? row - first : end - at;
        if (side_by_side)
            pixel_run(x + at, y + at, width, mean + c, factor + c, bias + c);
        else
            row_run(x + at, y + at, width, mean[c], factor[c], bias[c]);
        at += width;
    }
}
