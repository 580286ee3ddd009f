/* op_randomnormallike.c - random numbers of the input's shape. */
#include "op/math/random_like.h"

static const as_attr_def attrs[] = {{.name = "dtype", .kind = AS_ATTR_INT},
                                    {.name = "mean", .kind = AS_ATTR_FLOAT},
                                    {.name = "scale", .kind = AS_ATTR_FLOAT},
                                    {.name = "seed", .kind = AS_ATTR_FLOAT},
                                    {0}};

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t  count = as_shape_count(&out[0].shape);
    uint64_t seed = as_random_seed(n);
    (void)env, (void)in;
    double mean = as_attr_float(n, "mean", 0.0), scale = as_attr_float(n, "scale", 1.0);
    for (int64_t i = 0; i < count; i++) { /* Box and Muller; 1 - u is never 0 */
        double u = (double)as_philox_uniform(seed, n->node_id, n->step, 2 * (uint64_t)i),
               v = (double)as_philox_uniform(seed, n->node_id, n->step, 2 * (uint64_t)i + 1);
        as_view_set(&out[0], i, mean + scale * sqrt(-2.0 * log(1.0 - u)) * cos(6.28318530717958647692 * v));
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: an interval, or a spread, of nothing. */
    {.name = "one value by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_F("mean", 2.5), AS_ATTR_F("scale", 0.0)},
     AS_WANT(2.5, 2.5, 2.5)},
    {.name = "f64 of i64",
     .n_in = 1,
     .in = {AS_IN(I64, 3, 5)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("dtype", 11), AS_ATTR_F("seed", 3)}},
    {.name = "empty", .n_in = 1, .in = {AS_IN(F16, 0, 5)}},
};

const as_op as_op_randomnormallike = {
    .name = "RandomNormalLike",
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
