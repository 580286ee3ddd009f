/* op_dropoutgrad.c - assay.DropoutGrad(dY, mask, ratio): dY / (1 - ratio) where the mask holds, else 0: the gradient of Dropout in
 * training.  Without a ratio it is 0.5, as in Dropout. */
#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    AS_TRY(as_rule_dtype(env, n, 1, 1, AS_DTYPE_BIT(AS_BOOL)));
    if (!as_shape_same(&n->in[0].shape, &n->in[1].shape))
        return as_refuse(env, n, "dY is %s and the mask is %s: they must be the same", AS_SHOW(&n->in[0].shape),
                         AS_SHOW(&n->in[1].shape));
    if (as_in_has(n, 2)) {
        AS_TRY(as_rule_dtype(env, n, 2, 1, AS_SET_FLOAT));
        if (as_shape_count(&n->in[2].shape) != 1)
            return as_refuse(env, n, "ratio (input 2) is %s and must be a scalar", AS_SHOW(&n->in[2].shape));
    }
    out[0] = as_info(n->in[0].dtype, &n->in[0].shape);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    int64_t count = as_shape_count(&n->in[0].shape);
    double  ratio = as_in_has(n, 2) ? as_view_get(&in[2], 0) : 0.5;
    for (int64_t i = 0; i < count; i++)
        as_view_set(&out[0], i, as_view_get_i64(&in[1], i) ? as_view_get(&in[0], i) / (1.0 - ratio) : 0.0);
    return ASSAY_OK;
}

static const as_case cases[] = {
    {.name = "by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 4), {.dtype = AS_BOOL, .shape = {1, {4}}, .ints = (const int64_t[]){1, 0, 1, 0}}, {.dtype = AS_F32}},
     .given = (const double[]){3, 4, -6, 8, 0.25},
     .want = (const double[]){4, 0, -8, 0},
     .n_want = 4},
    {.name = "half",
     .n_in = 2,
     .in = {AS_IN(F32, 19),
            {.dtype = AS_BOOL,
             .shape = {1, {19}},
             .ints = (const int64_t[]){1, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1}}}},
    {.name = "random mask", .n_in = 3, .in = {AS_IN(F32, 5, 37), AS_IN(BOOL, 5, 37), {.dtype = AS_F32}}, .lo = 0.25, .hi = 0.75},
    {.name = "f64", .n_in = 2, .in = {AS_IN(F64, 3), {.dtype = AS_BOOL, .shape = {1, {3}}, .ints = (const int64_t[]){1, 0, 1}}}},
    {.name = "empty", .n_in = 2, .in = {AS_IN(F32, 0, 5), AS_IN(BOOL, 0, 5)}},
};

/* One multiplication per element. */
const as_op as_op_dropoutgrad = {
    .name = "assay.DropoutGrad",
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = as_cost_each,
    .eval = eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
