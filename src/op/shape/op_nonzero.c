/* op_nonzero.c - the places of the elements that are not 0, one column each.  How many there are is part of the shape, so the input must be
 * known while planning. */
#include "op/composed.h"

static const as_attr_def attrs[] = {{0}};

static bool is_set(const as_view *v, int64_t i)
{
    return as_dtype_is_float(v->dtype) ? as_view_get(v, i) != 0.0 : as_view_get_i64(v, i) != 0;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_tensor_info *x = &n->in[0];
    int64_t               found = 0, count = as_shape_count(&x->shape);
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    if (!x->constant && count)
        return as_refuse(env, n, "X (input 0) must be known while planning");
    as_view view = as_view_of((void *)(uintptr_t)x->constant, x->dtype, &x->shape); /* only read */
    for (int64_t i = 0; i < count; i++)
        found += is_set(&view, i);
    out[0] = as_info(AS_I64, &AS_SHAPE(x->shape.rank ? x->shape.rank : 1, found));
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t count = as_shape_count(&in[0].shape), columns = out[0].shape.dim[1], at = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!is_set(&in[0], i))
            continue;
        if (at == columns)
            return as_refuse(env, n, "more elements are not 0 than when it was planned");
        int64_t rest = i;
        for (int k = in[0].shape.rank - 1; k >= 0; k--) {
            as_view_set_i64(&out[0], k * columns + at, rest % in[0].shape.dim[k]);
            rest /= in[0].shape.dim[k];
        }
        if (in[0].shape.rank == 0)
            as_view_set_i64(&out[0], at, 0);
        at++;
    }
    return at == columns ? ASSAY_OK : as_refuse(env, n, "fewer elements are not 0 than when it was planned");
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "matrix",
     .n_in = 1,
     .in = {{.dtype = AS_I64, .shape = {.rank = 2, .dim = {3, 2}}, .ints = (const int64_t[]){1, 0, 0, 3, 4, 0}}},
     AS_WANT(0, 1, 2, 0, 1, 0)},
    /* By the ONNX reference evaluator. */
    {.name = "bool",
     .n_in = 1,
     .in = {{.dtype = AS_BOOL, .shape = {.rank = 1, .dim = {3}}, .ints = (const int64_t[]){0, 1, 1}}},
     AS_WANT(1, 2)},
};

const as_op as_op_nonzero = {
    .name = "NonZero",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(0),
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
