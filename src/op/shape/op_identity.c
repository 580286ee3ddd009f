/* op_identity.c - y = x. */
#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_rule_like(env, n, AS_SET_EVERY, out);
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)b, (void)in, (void)out;
    d_in[0] = as_dtype_is_float(n->in[0].dtype) ? d_out[0] : -1;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "f32",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     .given = (const double[]){1, -2, 0.5},
     .want = (const double[]){1, -2, 0.5},
     .n_want = 3},
    {.name = "bool",
     .n_in = 1,
     .in = {AS_IN(BOOL, 2)},
     .given = (const double[]){0, 1},
     .want = (const double[]){0, 1},
     .n_want = 2,
     .no_grad = true},
    {.name = "u64",
     .n_in = 1,
     .in = {AS_IN(U64, 2)},
     .given = (const double[]){9.223372036854776e+18, 1},
     .want = (const double[]){9.223372036854776e+18, 1},
     .n_want = 2,
     .no_grad = true},
    {.name = "i4",
     .n_in = 1,
     .in = {AS_IN(I4, 3)},
     .given = (const double[]){-8, 7, 0},
     .want = (const double[]){-8, 7, 0},
     .n_want = 3,
     .no_grad = true},
    {.name = "f8e8m0",
     .n_in = 1,
     .in = {AS_IN(F8E8M0, 2)},
     .given = (const double[]){1, 0x1p-127},
     .want = (const double[]){1, 0x1p-127},
     .n_want = 2,
     .no_grad = true},
    AS_CASES_ONE(-1, 1),
};

const as_op as_op_identity = {
    .name = "Identity",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = as_eval_copy,
    .grad = grad,
    .tolerance = 0.0,
    .view_only = true,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
