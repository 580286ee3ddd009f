/* op_constant.c - a tensor that the node itself holds: `value` of any dtype, or a number or list of f32 or i64. */
#include "op/shape/move.h"

static const as_attr_def attrs[] = {
    {.name = "value", .kind = AS_ATTR_TENSOR},    {.name = "value_float", .kind = AS_ATTR_FLOAT},
    {.name = "value_int", .kind = AS_ATTR_INT},   {.name = "value_floats", .kind = AS_ATTR_FLOATS},
    {.name = "value_ints", .kind = AS_ATTR_INTS}, {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    if (n->n_attrs != 1)
        return as_refuse(env, n, "it has %d attributes and needs exactly one value", n->n_attrs);
    const as_attr *a = &n->attrs[0];
    as_shape       list = {.rank = 1, .dim = {(int64_t)a->n}};
    switch (a->kind) {
    case AS_ATTR_TENSOR:
        if ((unsigned)a->tensor->dtype >= AS_N_DTYPES || a->tensor->dtype == AS_NONE ||
            !as_shape_ok(&a->tensor->shape, a->tensor->dtype))
            return as_refuse(env, n, "value is a tensor of unknown dtype or shape");
        out[0] = as_info(a->tensor->dtype, &a->tensor->shape);
        break;
    case AS_ATTR_FLOAT: out[0] = as_info(AS_F32, &(as_shape){0}); break;
    case AS_ATTR_INT: out[0] = as_info(AS_I64, &(as_shape){0}); break;
    case AS_ATTR_FLOATS: out[0] = as_info(AS_F32, &list); break;
    default: out[0] = as_info(AS_I64, &list); break;
    }
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)in;
    const as_attr *a = &n->attrs[0];
    int64_t        count = as_shape_count(&out[0].shape);
    if (a->kind == AS_ATTR_TENSOR)
        as_view_copy(&out[0], a->tensor);
    else if (a->kind == AS_ATTR_FLOAT)
        as_view_set(&out[0], 0, a->f);
    else if (a->kind == AS_ATTR_INT)
        as_view_set_i64(&out[0], 0, a->i);
    else
        for (int64_t i = 0; i < count; i++) {
            if (a->kind == AS_ATTR_FLOATS)
                as_view_set(&out[0], i, a->floats[i]);
            else
                as_view_set_i64(&out[0], i, a->ints[i]);
        }
    return ASSAY_OK;
}

/* A view's memory is not const, and this one is only read. */
static int16_t       matrix_data[] = {1, -2, 3, -4, 5, -6};
static const as_view matrix = {.data = matrix_data, .dtype = AS_I16, .shape = {.rank = 2, .dim = {2, 3}}, .stride = {3, 1}};

static const as_case cases[] = {
    /* By hand. */
    {.name = "float", .n_attrs = 1, .attrs = {AS_ATTR_F("value_float", 0.5)}, AS_WANT(0.5)},
    {.name = "int", .n_attrs = 1, .attrs = {AS_ATTR_I("value_int", -7)}, AS_WANT(-7)},
    {.name = "ints", .n_attrs = 1, .attrs = {AS_ATTR_LIST("value_ints", 3, 1, -2)}, AS_WANT(3, 1, -2)},
    {.name = "floats",
     .n_attrs = 1,
     .attrs = {{.name = "value_floats", .kind = AS_ATTR_FLOATS, .floats = (const double[]){1.5, 2}, .n = 2}},
     AS_WANT(1.5, 2)},
    {.name = "no ints", .n_attrs = 1, .attrs = {{.name = "value_ints", .kind = AS_ATTR_INTS}}},
    {.name = "i16 tensor",
     .n_attrs = 1,
     .attrs = {{.name = "value", .kind = AS_ATTR_TENSOR, .tensor = &matrix}},
     AS_WANT(1, -2, 3, -4, 5, -6)},
};

const as_op as_op_constant = {
    .name = "Constant",
    .min_in = 0,
    .max_in = 0,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval, /* no gradient: it has no input */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
