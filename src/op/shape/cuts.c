/* cuts.c - which elements a Slice takes. */
#include "op/shape/cuts.h"

#include "op/shape/move.h"

static int64_t clamp(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

/* numpy's rule: negative ends count from the end, and an end outside moves to the nearest place that a step can use. */
static void cut(int64_t size, int64_t start, int64_t end, int64_t step, as_cuts *out, int axis)
{
    start += start < 0 ? size : 0;
    end += end < 0 ? size : 0;
    start = step > 0 ? clamp(start, 0, size) : clamp(start, 0, size - 1);
    end = step > 0 ? clamp(end, 0, size) : clamp(end, -1, size - 1);
    uint64_t way = step > 0 ? (uint64_t)(end - start) : (uint64_t)(start - end),
             stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
    bool any = size > 0 && (step > 0 ? end > start : end < start);
    out->start[axis] = any ? start : 0;
    out->step[axis] = step;
    out->count[axis] = any ? (int64_t)((way - 1) / stride + 1) : 0;
}

assay_status as_cuts_read(assay_env *env, const as_node_ctx *n, as_cuts *out)
{
    const as_shape *x = &n->in[0].shape;
    int64_t         starts[AS_MAX_RANK], ends[AS_MAX_RANK], axes[AS_MAX_RANK], steps[AS_MAX_RANK];
    int             count, n_ends, n_axes, n_steps, axis;
    unsigned        seen = 0;
    AS_TRY(as_rule_numbers(env, n, 1, "starts", AS_MAX_RANK, starts, &count));
    AS_TRY(as_rule_numbers(env, n, 2, "ends", AS_MAX_RANK, ends, &n_ends));
    n_axes = n_steps = count;
    for (int i = 0; i < count; i++) {
        axes[i] = i;
        steps[i] = 1;
    }
    if (as_in_has(n, 3))
        AS_TRY(as_rule_numbers(env, n, 3, "axes", AS_MAX_RANK, axes, &n_axes));
    if (as_in_has(n, 4))
        AS_TRY(as_rule_numbers(env, n, 4, "steps", AS_MAX_RANK, steps, &n_steps));
    if (n_ends != count || n_axes != count || n_steps != count)
        return as_refuse(env, n, "there are %d starts, %d ends, %d axes and %d steps", count, n_ends, n_axes, n_steps);
    for (int i = 0; i < x->rank; i++)
        cut(x->dim[i], 0, x->dim[i], 1, out, i);
    for (int i = 0; i < count; i++) {
        AS_TRY(as_rule_axis(env, n, axes[i], x->rank, &axis));
        if (seen & (1u << axis))
            return as_refuse(env, n, "axes names axis %d twice", axis);
        if (steps[i] == 0)
            return as_refuse(env, n, "the step along axis %d is 0", axis);
        seen |= 1u << axis;
        cut(x->dim[axis], starts[i], ends[i], steps[i], out, axis);
    }
    return ASSAY_OK;
}
