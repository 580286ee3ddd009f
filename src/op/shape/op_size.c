/* op_size.c - the number of elements, as one i64; the elements themselves are not read. */
#include "op/shape/move.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_EVERY));
    out[0] = as_info(AS_I64, &(as_shape){0});
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    (void)n;
    return (as_cost){.bytes_written = as_dtype_bytes(AS_I64)};
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_view_set_i64(&out[0], 0, as_shape_count(&in[0].shape));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "2x3x5", .n_in = 1, .in = {AS_IN(F32, 2, 3, 5)}, AS_WANT(30)},
    {.name = "a scalar", .n_in = 1, .in = {{.dtype = AS_BOOL}}, AS_WANT(1)},
    {.name = "nothing", .n_in = 1, .in = {AS_IN(U16, 3, 0)}, AS_WANT(0)},
};

const as_op as_op_size = {
    .name = "Size",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: the output is an integer and does not depend on the values */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
