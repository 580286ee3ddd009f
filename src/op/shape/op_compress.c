/* op_compress.c - the slices of an axis, or the elements of the flat input, at which the condition is true.  The condition must be known while
 * planning, because it decides the shape. */
#include "op/composed.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_tensor_info *c = &n->in[1];
    as_shape              y = n->in[0].shape;
    int                   axis = 0;
    int64_t               found = 0;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    if (c->dtype != AS_BOOL || c->shape.rank != 1)
        return as_refuse(env, n, "condition is %s %s and must be a bool vector", as_dtype_name(c->dtype), AS_SHOW(&c->shape));
    if (!c->constant && c->shape.dim[0])
        return as_refuse(env, n, "condition (input 1) must be known while planning");
    if (as_attr_find(n, "axis"))
        AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", 0), y.rank, &axis));
    else
        y = AS_SHAPE(as_shape_count(&y));
    if (c->shape.dim[0] > y.dim[axis])
        return as_refuse(env, n, "condition has %lld values for %lld slices", (long long)c->shape.dim[0], (long long)y.dim[axis]);
    for (int64_t i = 0; i < c->shape.dim[0]; i++)
        found += ((const uint8_t *)c->constant)[i] != 0;
    y.dim[axis] = found;
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    bool    is_flat = !as_attr_find(n, "axis");
    int     axis = 0;
    int64_t at = 0;
    if (!is_flat)
        AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", 0), in[0].shape.rank, &axis));
    for (int64_t i = 0; i < in[1].shape.dim[0]; i++) {
        if (!as_view_get_i64(&in[1], i))
            continue;
        if (at == out[0].shape.dim[axis])
            return as_refuse(env, n, "the condition is true more often than when it was planned");
        as_view x = is_flat ? as_view_nth(&in[0], i) : as_view_part(&in[0], axis, i, 1, 1);
        as_view y = is_flat ? as_view_nth(&out[0], at) : as_view_part(&out[0], axis, at, 1, 1);
        as_view_copy(&y, &x);
        at++;
    }
    return at == out[0].shape.dim[axis] ? ASSAY_OK : as_refuse(env, n, "the condition is true less often than when it was planned");
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "columns",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), {.dtype = AS_BOOL, .shape = {.rank = 1, .dim = {3}}, .ints = (const int64_t[]){1, 0, 1}}},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 1)},
     AS_GIVEN(-0.920000017, 0.140000001, 0.970000029, -0.25, 0.360000014, -0.75999999),
     AS_WANT(-0.920000017, 0.970000029, -0.25, -0.75999999)},
    /* By the ONNX reference evaluator. */
    {.name = "flat",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), {.dtype = AS_BOOL, .shape = {.rank = 1, .dim = {4}}, .ints = (const int64_t[]){0, 1, 0, 1}}},
     AS_GIVEN(-0.810000002, 0.270000011, -0.439999998, -0.460000008, 0.779999971, -0.589999974),
     AS_WANT(0.270000011, -0.460000008)},
};

const as_op as_op_compress = {
    .name = "Compress",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1),
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
