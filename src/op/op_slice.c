/* op_slice.c - along each axis named, the elements from start to before end by steps, which may run backwards.  All four
 * lists are known while planning. */
#include "op/move.h"

typedef struct cuts { int64_t start[AS_MAX_RANK], step[AS_MAX_RANK], count[AS_MAX_RANK]; } cuts;

static int64_t clamp(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

/* numpy's rule: negative ends count from the end, and what lies outside is moved to the nearest place that a step can use. */
static void cut(int64_t size, int64_t start, int64_t end, int64_t step, cuts *out, int axis)
{
    start += start < 0 ? size : 0;
    end += end < 0 ? size : 0;
    start = step > 0 ? clamp(start, 0, size) : clamp(start, 0, size - 1);
    end = step > 0 ? clamp(end, 0, size) : clamp(end, -1, size - 1);
    uint64_t way = step > 0 ? (uint64_t)(end - start) : (uint64_t)(start - end), stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
    bool     any = size > 0 && (step > 0 ? end > start : end < start);
    out->start[axis] = any ? start : 0;
    out->step[axis] = step;
    out->count[axis] = any ? (int64_t)((way - 1) / stride + 1) : 0;
}

static assay_status cuts_read(assay_env *env, const as_node_ctx *n, cuts *out)
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

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_shape y = n->in[0].shape;
    cuts     c;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    AS_TRY(cuts_read(env, n, &c));
    for (int i = 0; i < y.rank; i++)
        y.dim[i] = c.count[i];
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    cuts    c;
    as_view part = in[0];
    AS_TRY(cuts_read(env, n, &c));
    for (int i = 0; i < part.shape.rank; i++)
        part = as_view_part(&part, i, c.start[i], c.step[i], c.count[i]);
    as_view_copy(&out[0], &part);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    cuts   c;
    size_t rank = (size_t)n->in[0].shape.rank;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    AS_TRY(cuts_read(b->env, n, &c));
    as_attr list[] = { { .name = "input_shape", .kind = AS_ATTR_INTS, .ints = n->in[0].shape.dim, .n = rank },
                       { .name = "starts", .kind = AS_ATTR_INTS, .ints = c.start, .n = rank },
                       { .name = "steps", .kind = AS_ATTR_INTS, .ints = c.step, .n = rank } };
    d_in[0] = b->node(b, "assay.SliceGrad", &d_out[0], 1, list, 3, NULL, 1);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* numpy: arange(12).reshape(3,4)[0:2, 1:3]. */
    { .name = "a block by numpy", .n_in = 3, .in = { AS_IN(F32, 3, 4), AS_IN_INTS(0, 1), AS_IN_INTS(2, 3) }, AS_GIVEN(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
      AS_WANT(1, 2, 5, 6) },
    /* numpy: arange(12).reshape(3,4)[:, ::-2]. */
    { .name = "backwards by numpy", .n_in = 5, .in = { AS_IN(F64, 3, 4), AS_IN_INTS(-1), AS_IN_INTS(INT64_MIN), AS_IN_INTS(-1), AS_IN_INTS(-2) },
      AS_GIVEN(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), AS_WANT(3, 1, 7, 5, 11, 9) },
    /* numpy: arange(5)[-100:100:3] and arange(5)[3:0:-1]. */
    { .name = "beyond the ends by numpy", .n_in = 5, .in = { AS_IN(I64, 5), AS_IN_INTS(-100), AS_IN_INTS(INT64_MAX), AS_IN_INTS(0), AS_IN_INTS(3) }, .no_grad = true,
      AS_GIVEN(0, 1, 2, 3, 4), AS_WANT(0, 3) },
    { .name = "u8 down to one by numpy", .n_in = 5, .in = { AS_IN(U8, 5), AS_IN_INTS(3), AS_IN_INTS(0), AS_IN_INTS(0), AS_IN_INTS(-1) }, .no_grad = true,
      AS_GIVEN(0, 1, 2, 3, 4), AS_WANT(3, 2, 1) },
    { .name = "the widest steps", .n_in = 5, .in = { AS_IN(F32, 5), AS_IN_INTS(4), AS_IN_INTS(-9), AS_IN_INTS(0), AS_IN_INTS(INT64_MIN) } },
    { .name = "i32 lists", .n_in = 3, .in = { AS_IN(F32, 7, 3), { .dtype = AS_I32, .shape = { 1, { 1 } }, .ints = (const int64_t[]){ 2 } },
      { .dtype = AS_I32, .shape = { 1, { 1 } }, .ints = (const int64_t[]){ -1 } } } },
    { .name = "axes out of order", .n_in = 4, .in = { AS_IN(F32, 5, 4, 3), AS_IN_INTS(1, 2), AS_IN_INTS(9, 4), AS_IN_INTS(2, 0) } },
    { .name = "nothing", .n_in = 3, .in = { AS_IN(F32, 5, 2), AS_IN_INTS(3), AS_IN_INTS(3) } },
    { .name = "of nothing", .n_in = 5, .in = { AS_IN(F32, 0, 2), AS_IN_INTS(3), AS_IN_INTS(-3), AS_IN_INTS(0), AS_IN_INTS(-1) } },
};

const as_op as_op_slice = {
    .name = "Slice", .min_in = 3, .max_in = 5, .min_out = 1, .max_out = 1, .known_in = AS_INPUT_BIT(1) | AS_INPUT_BIT(2) | AS_INPUT_BIT(3) | AS_INPUT_BIT(4),
    .infer = infer, .cost = as_cost_picked, .eval = eval, .grad = grad,
    .tolerance = 0.0, .cases = cases, .n_cases = AS_COUNT(cases),
};
