/* op_squeeze.c - leaves out axes of size 1: those that are named, or all of them. */
#include "op/shape/move.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape;
    unsigned        axes = 0;
    as_shape        y = {0};
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_EVERY));
    if (as_in_has(n, 1))
        AS_TRY(as_rule_axes(env, n, 1, x->rank, &axes));
    for (int i = 0; i < x->rank; i++) {
        bool named = as_in_has(n, 1) ? (axes >> i) & 1u : x->dim[i] == 1;
        if (named && x->dim[i] != 1)
            return as_refuse(env, n, "axis %d of %s does not have size 1", i, AS_SHOW(x));
        if (!named)
            y.dim[y.rank++] = x->dim[i];
    }
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "by hand", .n_in = 2, .in = {AS_IN(F32, 1, 3, 1), AS_IN_INTS(-1)}, AS_GIVEN(1, 2, 3), AS_WANT(1, 2, 3)},
    {.name = "all", .n_in = 1, .in = {AS_IN(F32, 1, 3, 1, 5)}},
    {.name = "two", .n_in = 2, .in = {AS_IN(F64, 1, 3, 1, 5), AS_IN_INTS(2, 0)}},
    {.name = "to a scalar", .n_in = 1, .in = {AS_IN(I32, 1, 1)}, .no_grad = true, AS_GIVEN(5), AS_WANT(5)},
    {.name = "empty", .n_in = 2, .in = {AS_IN(F32, 0, 1), AS_IN_INTS(1)}},
};

const as_op as_op_squeeze = {
    .name = "Squeeze",
    .min_in = 1,
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
