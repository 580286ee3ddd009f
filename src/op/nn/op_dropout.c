/* op_dropout.c - the identity, or in training zeros at random places and 1 / (1 - ratio) times the rest.
 *
 * Input 2 turns training on.  With the attribute seed (its low 32 bits) the draws are those of numpy's RandomState, which the
 * ONNX reference uses, and the same in every step; without it they are Philox draws keyed by the run's seed, the node and the
 * step.  Output 1 is the mask of the kept elements. */
#include "base/random.h"
#include "op/rules.h"

static const as_attr_def attrs[] = {{.name = "seed", .kind = AS_ATTR_INT}, {0}};

static assay_status scalar_check(assay_env *env, const as_node_ctx *n, int i, const char *what)
{
    if (as_in_has(n, i) && as_shape_count(&n->in[i].shape) != 1)
        return as_refuse(env, n, "%s (input %d) is %s and must be a scalar", what, i, AS_SHOW(&n->in[i].shape));
    return ASSAY_OK;
}

static assay_status ratio_check(assay_env *env, const as_node_ctx *n, double ratio)
{
    if (!(ratio >= 0.0 && ratio < 1.0))
        return as_refuse(env, n, "ratio is %g, outside of [0, 1)", ratio);
    return ASSAY_OK;
}

/* The value of a scalar input that is known while planning; false when it is not known. */
static bool constant_of(const as_node_ctx *n, int i, double *out)
{
    if (!n->in[i].constant)
        return false;
    as_view v = as_view_of((void *)n->in[i].constant, n->in[i].dtype, &n->in[i].shape); /* only read */
    *out = as_view_get(&v, 0);
    return true;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    double ratio;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    if (as_in_has(n, 1)) {
        AS_TRY(as_rule_dtype(env, n, 1, 1, AS_SET_FLOAT));
        AS_TRY(scalar_check(env, n, 1, "ratio"));
        if (constant_of(n, 1, &ratio))
            AS_TRY(ratio_check(env, n, ratio));
    }
    if (as_in_has(n, 2)) {
        AS_TRY(as_rule_dtype(env, n, 2, 1, AS_DTYPE_BIT(AS_BOOL)));
        AS_TRY(scalar_check(env, n, 2, "training_mode"));
    }
    out[0] = as_info(n->in[0].dtype, &n->in[0].shape);
    out[1] = as_info(AS_BOOL, &n->in[0].shape);
    return ASSAY_OK;
}

/* In training a comparison and a multiplication per element, otherwise none. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    double  training = 0.0;
    if (as_in_has(n, 2) && (!constant_of(n, 2, &training) || training != 0.0))
        cost.flops = as_sat_mul(2, as_sat_count(&n->in[0].shape));
    return cost;
}

/* numpy's random_sample: 53 bits of two draws. */
static double uniform_like_numpy(as_mt19937 *g)
{
    uint32_t high = as_mt19937_u32(g) >> 5, low = as_mt19937_u32(g) >> 6;
    return ((double)high * 0x1p26 + (double)low) * 0x1p-53;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    bool       training = as_in_has(n, 2) && as_view_get(&in[2], 0) != 0.0, seeded = as_attr_find(n, "seed") != NULL;
    double     ratio = as_in_has(n, 1) ? as_view_get(&in[1], 0) : 0.5;
    int64_t    count = as_shape_count(&n->in[0].shape);
    as_mt19937 g;
    if (training)
        AS_TRY(ratio_check(env, n, ratio));
    as_mt19937_seed(&g, (uint32_t)as_attr_int(n, "seed", 0));
    for (int64_t i = 0; i < count; i++) {
        double x = as_view_get(&in[0], i);
        bool   keep = !training;
        if (training)
            keep =
                (seeded ? uniform_like_numpy(&g) : (double)as_philox_uniform(n->seed, n->node_id, n->step, (uint64_t)i)) >= ratio;
        as_view_set(&out[0], i, !training ? x : keep ? x / (1.0 - ratio) : 0.0);
        if (n->n_out > 1)
            as_view_set_i64(&out[1], i, keep);
    }
    return ASSAY_OK;
}

/* Kept elements pass their gradient on, times the same factor. */
static assay_status training_grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, int dy, int *d_in)
{
    if (n->n_out < 2)
        return as_fail(b->env, ASSAY_INTERNAL, "%s '%s': in training its gradient needs the mask, output 1", n->op->name,
                       n->name ? n->name : "");
    d_in[0] = b->node(b, "assay.DropoutGrad", (int[]){dy, out[1], as_in_has(n, 1) ? in[1] : -1}, 3, NULL, 0, NULL, 1);
    return ASSAY_OK;
}

/* The mask, unless it is known that nothing is dropped. */
static int grad_outs(const as_node_ctx *n)
{
    double training = 0.0;
    return as_in_has(n, 2) && (!constant_of(n, 2, &training) || training != 0.0) ? 2 : 1;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    double training = 0.0;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    if (as_in_has(n, 2) && !constant_of(n, 2, &training))
        return as_fail(b->env, ASSAY_UNSUPPORTED, "%s '%s': training_mode is computed by the network: no gradient", n->op->name,
                       n->name ? n->name : "");
    if (training != 0.0)
        return training_grad(b, n, in, out, d_out[0], d_in);
    d_in[0] = d_out[0];
    return ASSAY_OK;
}

#define MODE(value)                                           \
    {                                                         \
        .dtype = AS_BOOL, .ints = (const int64_t[]) { value } \
    }

static const as_case cases[] = {
    {.name = "inference",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     .given = (const double[]){1, -2, 3},
     .want = (const double[]){1, -2, 3},
     .n_want = 3},
    {.name = "inference with a ratio",
     .n_in = 3,
     .in = {AS_IN(F32, 3), {.dtype = AS_F32}, MODE(0)},
     .no_grad = true,
     .given = (const double[]){1, -2, 3, 0.75},
     .want = (const double[]){1, -2, 3},
     .n_want = 3},
    /* By hand: with ratio 0 nothing is dropped. */
    {.name = "training with ratio 0",
     .n_in = 3,
     .in = {AS_IN(F64, 3), {.dtype = AS_F32}, MODE(1)},
     .no_grad = true,
     .given = (const double[]){1, -2, 3, 0},
     .want = (const double[]){1, -2, 3},
     .n_want = 3},
    /* numpy: RandomState(0).uniform(size=8) >= 0.5, times 2 x. */
    {.name = "training as numpy's",
     .n_in = 3,
     .in = {AS_IN(F32, 8), {.dtype = AS_F32}, MODE(1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("seed", 0)},
     .no_grad = true,
     .given = (const double[]){1, 2, 3, 4, 5, 6, 7, 8, 0.5},
     .want = (const double[]){2, 4, 6, 8, 0, 12, 0, 16},
     .n_want = 8},
    {.name = "training", .n_in = 3, .in = {AS_IN(F32, 7, 9), {.dtype = AS_F32}, MODE(1)}, .lo = 0.25, .hi = 0.5, .no_grad = true},
    {.name = "training, several blocks",
     .n_in = 3,
     .in = {AS_IN(F32, 13, 47), {.dtype = AS_F32}, MODE(1)},
     .lo = 0.25,
     .hi = 0.75,
     .no_grad = true},
    {.name = "training with half", .n_in = 3, .in = {AS_IN(F32, 130), {.dtype = AS_NONE}, MODE(1)}, .no_grad = true},
    {.name = "f16", .n_in = 1, .in = {AS_IN(F16, 4, 5)}},
    {.name = "empty", .n_in = 1, .in = {AS_IN(F32, 0, 5)}},
};

const as_op as_op_dropout = {
    .name = "Dropout",
    .min_in = 1,
    .max_in = 3,
    .min_out = 1,
    .max_out = 2,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .grad_outs = grad_outs,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
