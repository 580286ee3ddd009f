/* op_slice.c - along each named axis, the elements from start up to end (exclusive) by steps, which may run backwards.
 * All four lists are known while planning. */
#include "op/shape/cuts.h"
#include "op/shape/move.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_shape y = n->in[0].shape;
    as_cuts  c;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    AS_TRY(as_cuts_read(env, n, &c));
    for (int i = 0; i < y.rank; i++)
        y.dim[i] = c.count[i];
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_cuts c;
    as_view part = in[0];
    AS_TRY(as_cuts_read(env, n, &c));
    for (int i = 0; i < part.shape.rank; i++)
        part = as_view_part(&part, i, c.start[i], c.step[i], c.count[i]);
    as_view_copy(&out[0], &part);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    as_cuts c;
    size_t  rank = (size_t)n->in[0].shape.rank;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    AS_TRY(as_cuts_read(b->env, n, &c));
    as_attr list[] = {{.name = "input_shape", .kind = AS_ATTR_INTS, .ints = n->in[0].shape.dim, .n = rank},
                      {.name = "starts", .kind = AS_ATTR_INTS, .ints = c.start, .n = rank},
                      {.name = "steps", .kind = AS_ATTR_INTS, .ints = c.step, .n = rank}};
    d_in[0] = b->node(b, "assay.SliceGrad", &d_out[0], 1, list, 3, NULL, 1);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* numpy: arange(12).reshape(3,4)[0:2, 1:3]. */
    {.name = "a block by numpy",
     .n_in = 3,
     .in = {AS_IN(F32, 3, 4), AS_IN_INTS(0, 1), AS_IN_INTS(2, 3)},
     AS_GIVEN(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
     AS_WANT(1, 2, 5, 6)},
    /* numpy: arange(12).reshape(3,4)[:, ::-2]. */
    {.name = "backwards by numpy",
     .n_in = 5,
     .in = {AS_IN(F64, 3, 4), AS_IN_INTS(-1), AS_IN_INTS(INT64_MIN), AS_IN_INTS(-1), AS_IN_INTS(-2)},
     AS_GIVEN(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
     AS_WANT(3, 1, 7, 5, 11, 9)},
    /* numpy: arange(5)[-100:100:3] and arange(5)[3:0:-1]. */
    {.name = "beyond the ends by numpy",
     .n_in = 5,
     .in = {AS_IN(I64, 5), AS_IN_INTS(-100), AS_IN_INTS(INT64_MAX), AS_IN_INTS(0), AS_IN_INTS(3)},
     .no_grad = true,
     AS_GIVEN(0, 1, 2, 3, 4),
     AS_WANT(0, 3)},
    {.name = "u8 down to one by numpy",
     .n_in = 5,
     .in = {AS_IN(U8, 5), AS_IN_INTS(3), AS_IN_INTS(0), AS_IN_INTS(0), AS_IN_INTS(-1)},
     .no_grad = true,
     AS_GIVEN(0, 1, 2, 3, 4),
     AS_WANT(3, 2, 1)},
    {.name = "the widest steps",
     .n_in = 5,
     .in = {AS_IN(F32, 5), AS_IN_INTS(4), AS_IN_INTS(-9), AS_IN_INTS(0), AS_IN_INTS(INT64_MIN)}},
    {.name = "i32 lists",
     .n_in = 3,
     .in = {AS_IN(F32, 7, 3),
            {.dtype = AS_I32, .shape = {1, {1}}, .ints = (const int64_t[]){2}},
            {.dtype = AS_I32, .shape = {1, {1}}, .ints = (const int64_t[]){-1}}}},
    {.name = "axes out of order", .n_in = 4, .in = {AS_IN(F32, 5, 4, 3), AS_IN_INTS(1, 2), AS_IN_INTS(9, 4), AS_IN_INTS(2, 0)}},
    {.name = "nothing", .n_in = 3, .in = {AS_IN(F32, 5, 2), AS_IN_INTS(3), AS_IN_INTS(3)}},
    {.name = "of nothing", .n_in = 5, .in = {AS_IN(F32, 0, 2), AS_IN_INTS(3), AS_IN_INTS(-3), AS_IN_INTS(0), AS_IN_INTS(-1)}},
};

const as_op as_op_slice = {
    .name = "Slice",
    .min_in = 3,
    .max_in = 5,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1) | AS_INPUT_BIT(2) | AS_INPUT_BIT(3) | AS_INPUT_BIT(4),
    .infer = infer,
    .cost = as_cost_picked,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
