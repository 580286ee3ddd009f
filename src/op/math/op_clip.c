/* op_clip.c - x limited to the range between two scalars, element by element; either may be absent, and max wins when
 * it is below min. NaN stays NaN. */
#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, n->n_in, AS_SET_NUMBER));
    for (int i = 1; i < n->n_in; i++)
        if (as_in_has(n, i) && (n->in[i].shape.rank > 1 || as_shape_count(&n->in[i].shape) != 1))
            return as_refuse(env, n, "%s (input %d) is %s and must be a scalar", i == 1 ? "min" : "max", i,
                             AS_SHOW(&n->in[i].shape));
    out[0] = as_info(n->in[0].dtype, &n->in[0].shape);
    return ASSAY_OK;
}

/* One comparison per element and bound. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_each(n);
    cost.flops = as_sat_mul((uint64_t)(as_in_has(n, 1) + as_in_has(n, 2)), cost.flops);
    return cost;
}

/* Sets every output beyond the bound to the bound. */
static void hold(const as_view *out, const as_view *bound, as_order beyond)
{
    as_shape scalar = {0};
    as_view  point = as_view_of(bound->data, bound->dtype, &scalar), wide = as_view_broadcast(&point, &out->shape);
    int64_t  count = as_shape_count(&out->shape);
    for (int64_t i = 0; i < count; i++) {
        if (as_order_of(out, &wide, i) != beyond)
            continue;
        if (as_dtype_is_float(out->dtype))
            as_view_set(out, i, as_view_get(&wide, i));
        else
            as_view_set_i64(out, i, as_view_get_i64(&wide, i));
    }
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    as_view_copy(&out[0], &in[0]);
    if (as_in_has(n, 1))
        hold(&out[0], &in[1], AS_LESS);
    if (as_in_has(n, 2))
        hold(&out[0], &in[2], AS_GREATER);
    return ASSAY_OK;
}

/* From the outside in: max gets the gradient of what it clipped, then min, and x the rest. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    int rest = d_out[0];
    if (as_in_has(n, 2)) {
        int raised = as_in_has(n, 1) ? as_b2(b, "Max", in[0], in[1]) : in[0];
        int over = as_b2(b, "Greater", raised, in[2]);
        d_in[2] = as_b_sum_to(b, as_b_only(b, over, rest), &n->in[2].shape);
        rest = as_b_except(b, over, rest);
    }
    if (as_in_has(n, 1)) {
        int under = as_b2(b, "Less", in[0], in[1]);
        d_in[1] = as_b_sum_to(b, as_b_only(b, under, rest), &n->in[1].shape);
        rest = as_b_except(b, under, rest);
    }
    d_in[0] = as_b_sum_to(b, rest, &n->in[0].shape); /* sums a bound of shape [1] away: it made a scalar x one-dimensional */
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "f32",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3), {.dtype = AS_F32}, {.dtype = AS_F32}},
     .given = (const double[]){1, -2, 3.5, 0, -5, 6, -1.5, 3},
     .want = (const double[]){1, -1.5, 3, 0, -1.5, 3},
     .n_want = 6},
    {.name = "only min",
     .n_in = 2,
     .in = {AS_IN(F64, 6), {.dtype = AS_F64}},
     .given = (const double[]){1, -2, 3.5, 0, -5, 6, -1.5},
     .want = (const double[]){1, -1.5, 3.5, 0, -1.5, 6},
     .n_want = 6},
    {.name = "i8",
     .n_in = 3,
     .in = {AS_IN(I8, 4), {.dtype = AS_I8}, {.dtype = AS_I8}},
     .given = (const double[]){-128, -3, 5, 127, -4, 5},
     .want = (const double[]){-4, -3, 5, 5},
     .n_want = 4,
     .no_grad = true},
    /* By hand: max wins. */
    {.name = "max below min",
     .n_in = 3,
     .in = {AS_IN(F32, 3), AS_IN(F32, 1), AS_IN(F32, 1)},
     .given = (const double[]){-5, 1.5, 5, 2, 1},
     .want = (const double[]){1, 1, 1},
     .n_want = 3},
    {.name = "u64",
     .n_in = 3,
     .in = {AS_IN(U64, 3), {.dtype = AS_U64}, {.dtype = AS_U64}},
     .given = (const double[]){9.223372036854776e+18, 7, 0, 5, 4.611686018427388e+18},
     .want = (const double[]){4.611686018427388e+18, 7, 5},
     .n_want = 3,
     .no_grad = true},
    {.name = "no bounds", .n_in = 1, .in = {AS_IN(F32, 7)}},
    {.name = "a scalar", .n_in = 3, .in = {{.dtype = AS_F64}, AS_IN(F64, 1), AS_IN(F64, 1)}},
    {.name = "15x17", .n_in = 3, .in = {AS_IN(F32, 15, 17), {.dtype = AS_F32}, {.dtype = AS_F32}}},
    {.name = "3x33x5", .n_in = 2, .in = {AS_IN(F32, 3, 33, 5), {.dtype = AS_F32}}},
    {.name = "f16", .n_in = 3, .in = {AS_IN(F16, 33), {.dtype = AS_F16}, {.dtype = AS_F16}}},
    {.name = "bf16", .n_in = 2, .in = {AS_IN(BF16, 9), {.dtype = AS_BF16}}},
    {.name = "empty", .n_in = 2, .in = {AS_IN(F32, 0, 3), {.dtype = AS_F32}}},
    {.name = "i64 3x37",
     .n_in = 3,
     .in = {AS_IN(I64, 3, 37), {.dtype = AS_I64}, {.dtype = AS_I64}},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "i32 3x37",
     .n_in = 3,
     .in = {AS_IN(I32, 3, 37), {.dtype = AS_I32}, {.dtype = AS_I32}},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "f64 3x37",
     .n_in = 3,
     .in = {AS_IN(F64, 3, 37), {.dtype = AS_F64}, {.dtype = AS_F64}},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
    {.name = "i64 without a lower bound",
     .n_in = 3,
     .in = {AS_IN(I64, 70), {.dtype = AS_NONE}, {.dtype = AS_I64}},
     .lo = -9,
     .hi = 9,
     .no_grad = true},
};

const as_op as_op_clip = {
    .name = "Clip",
    .min_in = 1,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
