/* softmax_body.h - the body of k_softmax_f32_<machine>.c, after its simd_*.h: Softmax and LogSoftmax along one axis.
 *
 * A line of neighbours is computed one vector at a time; where the axis is not the last, a vector holds one element of many
 * lines. A line is never split between parts. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/norm/ends.h"
#include "backend/cpu/simd/vmath.h"

static float log_one(float x)
{
    float y[VW];
    v_store(y, vm_log(v_set(x)));
    return y[0];
}

/* The tail of a line goes into the maximum and the sum one by one: the lanes after it do not belong to the line. */
static void line_run(const float *x, float *y, int64_t length, bool logarithm)
{
    vf      high = v_set(-HUGE_VALF), sums = v_zero();
    int64_t whole = length - length % VW;
    int     left = (int)(length - whole);
    for (int64_t i = 0; i < whole; i += VW)
        high = v_max(high, v_load(x + i));
    float max = v_highest(high), sum, tail[VW] = {0};
    for (int64_t i = whole; i < length; i++)
        max = x[i] > max ? x[i] : max;
    for (int64_t i = 0; i < whole; i += VW) {
        vf e = vm_exp(v_sub(v_load(x + i), v_set(max)));
        sums = v_add(sums, e);
        if (!logarithm)
            v_store(y + i, e);
    }
    v_store(tail, vm_exp(v_sub(v_load_n(x + whole, left), v_set(max))));
    sum = v_sum(sums);
    for (int i = 0; i < left; i++)
        sum += tail[i];
    if (logarithm) {
        vf shift = v_set(log_one(sum));
        for (int64_t i = 0; i < whole; i += VW)
            v_store(y + i, v_sub(v_sub(v_load(x + i), v_set(max)), shift));
        v_store_n(y + whole, left, v_sub(v_sub(v_load_n(x + whole, left), v_set(max)), shift));
    } else {
        vf scale = v_set(1.0f / sum);
        for (int64_t i = 0; i < whole; i += VW)
            v_store(y + i, v_mul(v_load(y + i), scale));
        v_store_n(y + whole, left, v_mul(v_load(tail), scale));
    }
}

/* n lines side by side, 1 <= n <= VW, whose elements are `step` apart. */
static void lanes_run(const float *x, float *y, int64_t length, int64_t step, int n, bool logarithm)
{
    vf max = v_set(-HUGE_VALF), sum = v_zero();
    for (int64_t i = 0; i < length; i++)
        max = v_max(max, some(x + i * step, n));
    for (int64_t i = 0; i < length; i++) {
        vf e = vm_exp(v_sub(some(x + i * step, n), max));
        sum = v_add(sum, e);
        if (!logarithm)
            put(y + i * step, n, e);
    }
    vf last = logarithm ? vm_log(sum) : v_div(v_set(1.0f), sum);
    for (int64_t i = 0; i < length; i++) {
        vf v = some((logarithm ? x : y) + i * step, n);
        put(y + i * step, n, logarithm ? v_sub(v_sub(v, max), last) : v_mul(v, last));
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_shape *shape = &args->ctx->in[0].shape;
    int64_t         axis = as_attr_int(args->ctx, "axis", -1), outer = 1, inner = 1, begin, end;
    bool            logarithm = !strcmp(args->ctx->op->name, "LogSoftmax");
    const float    *x = args->in[0].data;
    float          *y = args->out[0].data;
    if (axis < 0)
        axis += shape->rank;
    for (int i = 0; i < shape->rank; i++) {
        outer *= i < axis ? shape->dim[i] : 1;
        inner *= i > axis ? shape->dim[i] : 1;
    }
    int64_t length = shape->dim[axis], n_blocks = (inner + VW - 1) / VW;
    if (length == 0)
        return;
    as_share(outer * n_blocks, 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t first = unit % n_blocks * VW, at = unit / n_blocks * length * inner + first;
        if (inner == 1)
            line_run(x + at, y + at, length, logarithm);
        else
            lanes_run(x + at, y + at, length, inner, inner - first < VW ? (int)(inner - first) : VW, logarithm);
    }
}

static const char *const also[] = {"LogSoftmax", NULL};

/* Wide vectors need enough to hold: elements of a line, or one element each of as many lines as lie side by side. */
static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    const as_shape *shape = &n->in[0].shape;
    int             axis = (int)as_attr_int(n, "axis", -1);
    int64_t         inner = 1;
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    axis += axis < 0 ? shape->rank : 0;
    for (int i = axis + 1; i < shape->rank; i++)
        inner *= shape->dim[i];
    if (VW <= 8 || (inner == 1 ? shape->dim[axis] >= VW : inner > VW / 2))
        return true;
    if (inner == 1)
        snprintf(why, why_size, "a line of %lld does not fill a vector of %d", (long long)shape->dim[axis], (int)VW);
    else
        snprintf(why, why_size, "%lld lines side by side fill no more than half of a vector of %d", (long long)inner, (int)VW);
    return false;
}
