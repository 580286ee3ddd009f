/* op_castlike.c - Cast to the dtype of a second input, whose values are never read. */
#include <math.h>

#include "op/shape/move.h"

static const as_attr_def attrs[] = {{.name = "saturate", .kind = AS_ATTR_INT}, {.name = "round_mode", .kind = AS_ATTR_TEXT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_cast how;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_EVERY));
    AS_TRY(as_cast_read(env, n, &how));
    out[0] = as_info(n->in[1].dtype, &n->in[0].shape);
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    as_node_ctx alone = *n;
    alone.n_in = 1;
    return as_cost_bytes(&alone);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_cast how;
    AS_TRY(as_cast_read(env, n, &how));
    as_view_cast(&out[0], &in[0], &how);
    return ASSAY_OK;
}

/* An input that only gives its dtype has a zero gradient, so none is built. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    d_in[0] = d_in[1] = -1;
    if (d_out[0] >= 0 && as_dtype_is_float(n->in[0].dtype) && as_dtype_is_float(n->out[0].dtype))
        d_in[0] = as_b2(b, "CastLike", d_out[0], in[0]);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "f32 like i32 by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 3), AS_IN(I32, 1)},
     .no_grad = true,
     AS_GIVEN(-1.5, 1.5, 7, 0),
     AS_WANT(-1, 1, 7)},
    {.name = "i64 like bool by hand",
     .n_in = 2,
     .in = {AS_IN(I64, 2), AS_IN(BOOL, 0)},
     .no_grad = true,
     AS_GIVEN(0, 512),
     AS_WANT(0, 1)},
    {.name = "f32 like f8e4m3fn by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2), AS_IN(F8E4M3FN, 1)},
     .no_grad = true,
     AS_GIVEN(0.3, 1e6, 1),
     AS_WANT(0.3125, 448)},
    {.name = "f32 like f8e5m2 without saturating by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2), AS_IN(F8E5M2, 1)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("saturate", 0)},
     AS_GIVEN(0.3, 1e6, 1),
     AS_WANT(0.3125, INFINITY)},
    {.name = "f32 like i4 by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2), AS_IN(I4, 1)},
     .no_grad = true,
     AS_GIVEN(-8, 7.5, 1),
     AS_WANT(-8, 7)},
    {.name = "f32 like f16", .n_in = 2, .in = {AS_IN(F32, 3, 17), AS_IN(F16, 2, 2)}, .no_grad = true},
    {.name = "i8 like f32", .n_in = 2, .in = {AS_IN(I8, 9), AS_IN(F32, 1)}, .lo = -99, .hi = 99, .no_grad = true},
};

const as_op as_op_castlike = {
    .name = "CastLike",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
