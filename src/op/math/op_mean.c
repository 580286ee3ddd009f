/* op_mean.c - the mean of all inputs: element by element, with broadcasting. */
#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_rule_all(env, n, 0, AS_SET_FLOAT, out);
}

/* One addition for each input after the first, and one product. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_each(n);
    cost.flops = as_sat_mul((uint64_t)n->n_in, cost.flops);
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    as_each_sum(n, in, out, n->n_in);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    as_sum_grad(b, n, as_b_times(b, d_out[0], 1.0 / n->n_in), d_in);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "f32",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3), {.dtype = AS_F32}},
     .given = (const double[]){1, -2, 3.5, 0, -5, 6, 1, 2, -5, 0.5},
     .want = (const double[]){0.8333333134651184, 0.1666666716337204, -0.3333333432674408, 0.5, -0.8333333134651184, 0.5},
     .n_want = 6},
    AS_CASES_MANY,
};

const as_op as_op_mean = {
    .name = "Mean",
    .min_in = 1,
    .max_in = AS_MAX_IN,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* up to 64 f32 roundings */
};
