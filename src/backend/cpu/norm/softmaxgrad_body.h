/* softmaxgrad_body.h - the body of k_softmaxgrad_f32_<machine>.c, after its simd_*.h: assay.SoftmaxGrad along one axis.
 *
 * A line of neighbours is computed one vector at a time; where the axis is not the last, a vector holds one element of many lines.  A line
 * is never split between parts. */
#include <stdio.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/norm/ends.h"
#include "backend/cpu/simd/vmath.h"

V_INLINE vf term(vf y, vf dy, bool logarithm) { return logarithm ? dy : v_mul(y, dy); }
V_INLINE vf result(vf y, vf dy, vf sum, bool logarithm)
{
    return logarithm ? v_fnma(vm_exp(y), sum, dy) : v_mul(y, v_sub(dy, sum));
}

V_INLINE void line_run(const float *y, const float *dy, float *dx, int64_t length, const bool logarithm)
{
    vf      a = v_zero(), b = v_zero();
    int64_t i = 0;
    for (; i + 2 * VW <= length; i += 2 * VW) {
        a = v_add(a, term(v_load(y + i), v_load(dy + i), logarithm));
        b = v_add(b, term(v_load(y + i + VW), v_load(dy + i + VW), logarithm));
    }
    for (int w; (w = at_most(length - i)) > 0; i += VW) /* lanes after the last are 0 */
        a = v_add(a, term(some(y + i, w), some(dy + i, w), logarithm));
    vf sum = v_set(v_sum(v_add(a, b)));
    for (i = 0; i < length; i += VW) {
        int w = at_most(length - i);
        put(dx + i, w, result(some(y + i, w), some(dy + i, w), sum, logarithm));
    }
}

/* Up to VW lines side by side, whose elements are `step` apart. */
V_INLINE void lanes_run(const float *y, const float *dy, float *dx, int64_t length, int64_t step, int w, const bool logarithm)
{
    vf sum = v_zero();
    for (int64_t i = 0; i < length; i++)
        sum = v_add(sum, term(some(y + i * step, w), some(dy + i * step, w), logarithm));
    for (int64_t i = 0; i < length; i++)
        put(dx + i * step, w, result(some(y + i * step, w), some(dy + i * step, w), sum, logarithm));
}

V_INLINE void part_run(const as_kernel_args *args, int part, int n_parts, const bool logarithm)
{
    const as_shape *shape = &args->ctx->in[0].shape;
    int64_t         axis = as_attr_int(args->ctx, "axis", -1), outer = 1, inner = 1, begin, end;
    const float    *y = args->in[0].data, *dy = args->in[1].data;
    float          *dx = args->out[0].data;
    if (axis < 0)
        axis += shape->rank;
    for (int i = 0; i < shape->rank; i++) {
        outer *= i < axis ? shape->dim[i] : 1;
        inner *= i > axis ? shape->dim[i] : 1;
    }
    int64_t length = shape->dim[axis], n_blocks = (inner + VW - 1) / VW;
    as_share(outer * n_blocks, 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t first = unit % n_blocks * VW, at = unit / n_blocks * length * inner + first;
        if (inner == 1)
            line_run(y + at, dy + at, dx + at, length, logarithm);
        else
            lanes_run(y + at, dy + at, dx + at, length, inner, at_most(inner - first), logarithm);
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    if (as_attr_int(args->ctx, "log", 0))
        part_run(args, part, n_parts, true);
    else
        part_run(args, part, n_parts, false);
}
