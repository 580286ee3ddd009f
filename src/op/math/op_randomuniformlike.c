/* op_randomuniformlike.c - random numbers of the input's shape. */
#include "op/math/random_like.h"

static const as_attr_def attrs[] = {{.name = "dtype", .kind = AS_ATTR_INT},
                                    {.name = "high", .kind = AS_ATTR_FLOAT},
                                    {.name = "low", .kind = AS_ATTR_FLOAT},
                                    {.name = "seed", .kind = AS_ATTR_FLOAT},
                                    {0}};

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t  count = as_shape_count(&out[0].shape);
    uint64_t seed = as_random_seed(n);
    (void)env, (void)in;
    double low = as_attr_float(n, "low", 0.0), high = as_attr_float(n, "high", 1.0);
    for (int64_t i = 0; i < count; i++)
        as_view_set(&out[0], i, low + (high - low) * (double)as_philox_uniform(seed, n->node_id, n->step, (uint64_t)i));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: an interval, or a spread, of nothing. */
    {.name = "one value by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_F("low", 2.5), AS_ATTR_F("high", 2.5)},
     AS_WANT(2.5, 2.5, 2.5)},
    {.name = "f64 of i64",
     .n_in = 1,
     .in = {AS_IN(I64, 3, 5)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("dtype", 11), AS_ATTR_F("seed", 3)}},
    {.name = "empty", .n_in = 1, .in = {AS_IN(F16, 0, 5)}},
};

const as_op as_op_randomuniformlike = {
    .name = "RandomUniformLike",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = as_random_infer,
    .cost = as_cost_special,
    .eval = eval,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
