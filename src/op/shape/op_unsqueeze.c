/* op_unsqueeze.c - adds axes of size 1; the axes are those of the output. */
#include "op/shape/move.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape;
    unsigned        axes;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_EVERY));
    AS_TRY(as_rule_index(env, n, 1, "axes", true));
    int64_t count = as_shape_count(&n->in[1].shape);
    if (count > AS_MAX_RANK - x->rank)
        return as_refuse(env, n, "%s and %lld axes more: at most %d are possible", AS_SHOW(x), (long long)count, AS_MAX_RANK);
    as_shape y = {.rank = x->rank + (int)count};
    AS_TRY(as_rule_axes(env, n, 1, y.rank, &axes));
    for (int i = 0, from = 0; i < y.rank; i++)
        y.dim[i] = (axes >> i) & 1u ? 1 : x->dim[from++];
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "by hand", .n_in = 2, .in = {AS_IN(F32, 3), AS_IN_INTS(0, -1)}, AS_GIVEN(1, 2, 3), AS_WANT(1, 2, 3)},
    {.name = "out of order", .n_in = 2, .in = {AS_IN(F64, 3, 5), AS_IN_INTS(4, 0, 2)}},
    {.name = "a scalar", .n_in = 2, .in = {{.dtype = AS_U16}, AS_IN_INT(0)}, .no_grad = true, AS_GIVEN(5), AS_WANT(5)},
    {.name = "empty", .n_in = 2, .in = {AS_IN(F32, 0), AS_IN_INTS(1)}},
};

const as_op as_op_unsqueeze = {
    .name = "Unsqueeze",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1),
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = as_eval_copy,
    .grad = as_reshape_grad,
    .tolerance = 0.0,
    .view_only = true,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
