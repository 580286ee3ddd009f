/* op_constantofshape.c - one value (0.0f unless `value` holds another) in every place of a shape known while planning. */
#include "op/shape/move.h"

static const as_attr_def attrs[] = {{.name = "value", .kind = AS_ATTR_TENSOR}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_shape       y = {0};
    const as_attr *a = as_attr_find(n, "value");
    as_dtype       dtype = a ? a->tensor->dtype : AS_F32;
    AS_TRY(as_rule_ints(env, n, 0, "input", y.dim, &y.rank));
    if ((unsigned)dtype >= AS_N_DTYPES || dtype == AS_NONE)
        return as_refuse(env, n, "value is a tensor of unknown dtype");
    if (a && (!as_shape_ok(&a->tensor->shape, dtype) || as_shape_count(&a->tensor->shape) != 1))
        return as_refuse(env, n, "value is %s and must hold one element", AS_SHOW(&a->tensor->shape));
    for (int i = 0; i < y.rank; i++)
        if (y.dim[i] < 0)
            return as_refuse(env, n, "input[%d] is %lld, which is not a size", i, (long long)y.dim[i]);
    out[0] = as_info(dtype, &y);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)in;
    const as_attr *a = as_attr_find(n, "value");
    if (a)
        as_view_fill(&out[0], a->tensor);
    else
        as_view_zero(&out[0]);
    return ASSAY_OK;
}

static uint32_t      seven_data[] = {7};
static const as_view seven = {.data = seven_data, .dtype = AS_U32, .shape = {.rank = 1, .dim = {1}}, .stride = {1}};

static const as_case cases[] = {
    /* By hand. */
    {.name = "zeros by hand", .n_in = 1, .in = {AS_IN_INTS(2, 3)}, AS_WANT(0, 0, 0, 0, 0, 0)},
    {.name = "u32 sevens by hand",
     .n_in = 1,
     .in = {AS_IN_INTS(3)},
     .n_attrs = 1,
     .attrs = {{.name = "value", .kind = AS_ATTR_TENSOR, .tensor = &seven}},
     AS_WANT(7, 7, 7)},
    {.name = "scalar", .n_in = 1, .in = {{.dtype = AS_I64, .shape = {.rank = 1}, .ints = (const int64_t[]){0}}}, AS_WANT(0)},
    {.name = "empty", .n_in = 1, .in = {AS_IN_INTS(4, 0, 2)}},
};

const as_op as_op_constantofshape = {
    .name = "ConstantOfShape",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(0),
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval, /* no gradient: its input is a shape of integers */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
