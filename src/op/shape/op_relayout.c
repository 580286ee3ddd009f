/* op_relayout.c - y = x in another memory order: the axes stay ONNX's, only the strides of y differ.  The plan's layout pass makes
 * it, so it has no gradient. */
#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_like(env, n, AS_SET_ANY, out));
    if (n->in[0].shape.rank < 3)
        return as_refuse(env, n, "X is %s: only [N, C, spatial...] has another layout", AS_SHOW(&n->in[0].shape));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: every value keeps its index. */
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 2, 1, 3)},
     .no_grad = true,
     .given = (const double[]){1, 2, 3, 4, 5, 6},
     .want = (const double[]){1, 2, 3, 4, 5, 6},
     .n_want = 6},
    {.name = "3 channels", .n_in = 1, .in = {AS_IN(F32, 2, 3, 5, 7)}, .no_grad = true},
    {.name = "17 channels, 9 pixels", .n_in = 1, .in = {AS_IN(F32, 2, 17, 3, 3)}, .no_grad = true},
    {.name = "64 channels", .n_in = 1, .in = {AS_IN(F32, 1, 64, 8, 9)}, .no_grad = true},
    {.name = "1-D", .n_in = 1, .in = {AS_IN(F32, 2, 5, 33)}, .no_grad = true},
    {.name = "f64", .n_in = 1, .in = {AS_IN(F64, 2, 5, 2, 3)}, .no_grad = true},
    {.name = "no images", .n_in = 1, .in = {AS_IN(F32, 0, 5, 2, 3)}, .no_grad = true},
};

const as_op as_op_relayout = {
    .name = "assay.Relayout",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = as_eval_copy,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
