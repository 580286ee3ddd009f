/* lrn_body.h - the body of k_lrn_f32_<machine>.c, after its simd_*.h: LRN of row-major planes.
 *
 * Vectors run over the pixels of a plane; the squares of the neighbouring channels are added in the order of the channels, for each
 * channel anew: so the bits depend on no split, and no rounding is carried along.  The usual powers, 3/4, 1/2 and 1, are roots; others
 * are exponentials of logarithms. */
#include <math.h>
#include <stdio.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/simd/vmath.h"

enum { COLUMNS = 256 };

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    if (as_attr_float(n, "alpha", (double)1e-4f) >= 0.0 && as_attr_float(n, "bias", 1.0) > 0.0)
        return true;
    snprintf(why, why_size, "alpha is negative or bias is not positive");
    return false;
}

/* 1 / v^beta of positive numbers. */
V_INLINE vf scale_of(vf v, float beta)
{
    vf root = v_sqrt(v);
    if (beta == 0.75f)
        return v_div(v_set(1.0f), v_mul(root, v_sqrt(root)));
    if (beta == 0.5f)
        return v_div(v_set(1.0f), root);
    return beta == 1.0f ? v_div(v_set(1.0f), v) : vm_exp(v_mul(v_set(-beta), vm_log(v)));
}

/* Channel c of some columns; `x` is the first channel there, and the planes are `plane` floats apart. */
static void channel_run(const float *x, float *y, int64_t plane, int64_t c, int64_t first, int64_t last, int width, float bias,
                        float alpha, float beta)
{
    for (int i = 0; i < width; i += VW) {
        int some = width - i < VW ? width - i : VW;
        vf  sum = v_zero();
        for (int64_t k = first; k <= last; k++) {
            vf v = some == VW ? v_load(x + k * plane + i) : v_load_n(x + k * plane + i, some);
            sum = v_fma(v, v, sum);
        }
        vf scale = scale_of(v_fma(v_set(alpha), sum, v_set(bias)), beta);
        if (some == VW)
            v_store(y + c * plane + i, v_mul(v_load(x + c * plane + i), scale));
        else
            v_store_n(y + c * plane + i, some, v_mul(v_load_n(x + c * plane + i, some), scale));
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    const as_shape    *x = &n->in[0].shape;
    int64_t            size = as_attr_int(n, "size", 1), before = (size - 1) / 2, after = size - 1 - before, begin, end;
    float alpha = (float)(as_attr_float(n, "alpha", (double)1e-4f) / (double)size), bias = (float)as_attr_float(n, "bias", 1.0);
    float beta = (float)as_attr_float(n, "beta", 0.75);
    if (as_shape_count(x) == 0)
        return;
    int64_t channels = x->dim[1], plane = as_shape_count(x) / x->dim[0] / channels, n_blocks = (plane + COLUMNS - 1) / COLUMNS;
    as_share(x->dim[0] * n_blocks * channels, 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t c = unit % channels, column = unit / channels % n_blocks * COLUMNS, image = unit / channels / n_blocks;
        int64_t at = image * channels * plane + column, first = c > before ? c - before : 0;
        int64_t last = after < channels - c ? c + after : channels - 1;
        channel_run((const float *)args->in[0].data + at, (float *)args->out[0].data + at, plane, c, first, last,
                    plane - column < COLUMNS ? (int)(plane - column) : COLUMNS, bias, alpha, beta);
    }
}
