/* op_dynamicquantizelinear.c - x as u8 with the scale and the zero point that just fit its range, extended to include 0. */
#include <math.h>

#include "op/quant/quantize.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_DTYPE_BIT(AS_F32)));
    out[0] = as_info(AS_U8, &n->in[0].shape);
    out[1] = as_info(AS_F32, &(as_shape){0});
    out[2] = as_info(AS_U8, &(as_shape){0});
    return ASSAY_OK;
}

/* Two comparisons for the range; a division, an addition and two comparisons for the value. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t count = as_sat_count(&n->in[0].shape);
    cost.flops = as_sat_mul(6, count);
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    double  least = 0.0, most = 0.0;
    int64_t count = as_shape_count(&in[0].shape);
    for (int64_t i = 0; i < count; i++) {
        double x = as_view_get(&in[0], i);
        least = x < least ? x : least;
        most = x > most ? x : most;
    }
    /* All zeros would give a scale of 0; any other scale works. */
    double scale = most == least ? 1.0 : as_round_to(AS_F32, as_round_to(AS_F32, most - least) / 255.0);
    double zero = rint(fmin(fmax(as_round_to(AS_F32, -least / scale), 0.0), 255.0));
    for (int64_t i = 0; i < count; i++)
        as_quant_put(&out[0], i, as_round_to(AS_F32, as_view_get(&in[0], i) / scale), (int64_t)zero);
    if (n->n_out > 1)
        as_view_set(&out[1], 0, scale);
    if (n->n_out > 2)
        as_view_set(&out[2], 0, zero);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* The examples in ONNX's own node tests. */
    {.name = "both signs of ONNX",
     .n_in = 1,
     .in = {AS_IN(F32, 6)},
     .given = (const double[]){0, 2, -3, -2.5, 1.34, 0.5},
     .want = (const double[]){153, 255, 0, 26, 221, 179},
     .n_want = 6},
    {.name = "below zero of ONNX",
     .n_in = 1,
     .in = {AS_IN(F32, 6)},
     .given = (const double[]){-1, -2.1, -1.3, -2.5, -3.34, -4},
     .want = (const double[]){191, 121, 172, 96, 42, 0},
     .n_want = 6},
    /* By hand: the range of all zeros. */
    {.name = "zeros by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 2)},
     .given = (const double[]){0, 0},
     .want = (const double[]){0, 0},
     .n_want = 2},
    {.name = "7x9", .n_in = 1, .in = {AS_IN(F32, 7, 9)}, .lo = -3, .hi = 5},
    {.name = "above zero", .n_in = 1, .in = {AS_IN(F32, 2, 17)}, .lo = 3, .hi = 5},
    {.name = "scalar", .n_in = 1, .in = {{.dtype = AS_F32}}},
    /* By hand: what is not a number has no part in the range and becomes 0. */
    {.name = "not a number by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 3)},
     .given = (const double[]){-51, NAN, 204},
     .want = (const double[]){0, 0, 255},
     .n_want = 3},
    {.name = "5x67", .n_in = 1, .in = {AS_IN(F32, 5, 67)}, .lo = -3, .hi = 5},
    {.name = "all above 0", .n_in = 1, .in = {AS_IN(F32, 131)}, .lo = 1, .hi = 5},
    {.name = "all below 0", .n_in = 1, .in = {AS_IN(F32, 16)}, .lo = -5, .hi = -1},
    {.name = "empty", .n_in = 1, .in = {AS_IN(F32, 0, 3)}},
};

/* No gradient: that of a step function is of no use. */
const as_op as_op_dynamicquantizelinear = {
    .name = "DynamicQuantizeLinear",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 3,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
