/* op_bernoulli.c - 1 with the probability that the input states, else 0. */
#include "op/math/random_like.h"

static const as_attr_def attrs[] = {{.name = "dtype", .kind = AS_ATTR_INT}, {.name = "seed", .kind = AS_ATTR_FLOAT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_dtype dtype = as_random_dtype(n);
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    if (dtype == AS_NONE || !(AS_SET_ANY & AS_DTYPE_BIT(dtype)))
        return as_refuse(env, n, "dtype is %lld, which is not a type of numbers or bool", (long long)as_attr_int(n, "dtype", 0));
    out[0] = as_info(dtype, &n->in[0].shape);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t  count = as_shape_count(&out[0].shape);
    uint64_t seed = as_random_seed(n);
    (void)env;
    for (int64_t i = 0; i < count; i++)
        as_view_set(&out[0], i, (double)as_philox_uniform(seed, n->node_id, n->step, (uint64_t)i) < as_view_get(&in[0], i));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: probabilities of 0 and of 1. */
    {.name = "sure by hand", .n_in = 1, .in = {AS_IN(F32, 4)}, AS_GIVEN(0, 1, 1, 0), AS_WANT(0, 1, 1, 0)},
    {.name = "bool of f64", .n_in = 1, .in = {AS_IN(F64, 3, 5)}, .n_attrs = 1, .attrs = {AS_ATTR_I("dtype", 9)}, .lo = 0, .hi = 1},
    {.name = "empty", .n_in = 1, .in = {AS_IN(F16, 0, 5)}},
};

const as_op as_op_bernoulli = {
    .name = "Bernoulli",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_each,
    .eval = eval,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
