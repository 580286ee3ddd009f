/* op_expand.c - repeats along axes of size 1 until the input has the shape asked for: what ReduceSum's gradient does. */
#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_shape wish = {0}, y;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    AS_TRY(as_rule_ints(env, n, 1, "shape", wish.dim, &wish.rank));
    for (int i = 0; i < wish.rank; i++)
        if (wish.dim[i] < 0)
            return as_refuse(env, n, "shape[%d] is %lld", i, (long long)wish.dim[i]);
    /* In both directions, as ONNX has it: a 1 in the shape keeps the input's size. */
    if (!as_shape_broadcast(&n->in[0].shape, &wish, &y))
        return as_refuse(env, n, "%s does not broadcast with %s to one shape in range", AS_SHOW(&n->in[0].shape), AS_SHOW(&wish));
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    (void)n;
    as_view wide = as_view_broadcast(&in[0], &out[0].shape);
    as_view_copy(&out[0], &wide);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    d_in[0] = as_dtype_is_float(n->in[0].dtype) ? as_b_sum_to(b, d_out[0], &n->in[0].shape) : -1;
    d_in[1] = -1;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "a column by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 1), AS_IN_INTS(2, 3)},
     .given = (const double[]){1, 2},
     .want = (const double[]){1, 1, 1, 2, 2, 2},
     .n_want = 6},
    {.name = "a row by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 2), AS_IN_INTS(3, 1)},
     .given = (const double[]){1, 2},
     .want = (const double[]){1, 2, 1, 2, 1, 2},
     .n_want = 6},
    {.name = "a scalar to 7x9", .n_in = 2, .in = {{.dtype = AS_F32}, AS_IN_INTS(7, 9)}},
    {.name = "channels", .n_in = 2, .in = {AS_IN(F32, 1, 8, 1, 1), AS_IN_INTS(3, 8, 5, 7)}},
    {.name = "as it is", .n_in = 2, .in = {AS_IN(F32, 15, 17), AS_IN_INTS(15, 17)}},
    {.name = "to nothing", .n_in = 2, .in = {AS_IN(F32, 3, 1), AS_IN_INTS(3, 0)}},
    {.name = "i32", .n_in = 2, .in = {AS_IN(I32, 9), AS_IN_INTS(4, 9)}, .no_grad = true},
};

/* No flops: the input is read once and the output written once. */
const as_op as_op_expand = {
    .name = "Expand",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1),
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
