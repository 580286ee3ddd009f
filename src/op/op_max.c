/* op_max.c - the largest of all inputs: element by element, with broadcasting; a NaN in one of them wins. */
#include <math.h>

#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_rule_all(env, n, 0, AS_SET_NUMBER, out);
}

/* One comparison for each input after the first. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_each(n);
    cost.flops = as_sat_mul((uint64_t)(n->n_in - 1), cost.flops);
    return cost;
}

/* One input after the other against what was found so far, which stands in the output. */
static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    int64_t count = as_shape_count(&out[0].shape);
    as_view first = as_view_broadcast(&in[0], &out[0].shape);
    as_view_copy(&out[0], &first);
    for (int k = 1; k < n->n_in; k++) {
        as_view x = as_view_broadcast(&in[k], &out[0].shape);
        for (int64_t i = 0; i < count; i++) {
            as_order order = as_order_of(&x, &out[0], i);
            if (order == AS_UNORDERED)
                as_view_set(&out[0], i, NAN);
            else if (order == AS_GREATER && as_dtype_is_float(x.dtype))
                as_view_set(&out[0], i, as_view_get(&x, i));
            else if (order == AS_GREATER)
                as_view_set_i64(&out[0], i, as_view_get_i64(&x, i));
        }
    }
    return ASSAY_OK;
}

/* The first input that equals the output takes the whole gradient, and nothing is left for later ones. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    int rest = d_out[0];
    for (int i = 0; i < n->n_in; i++) {
        d_in[i] = -1;
        if (rest < 0 || !as_dtype_is_float(n->in[0].dtype))
            continue;
        int here = as_b2(b, "Equal", in[i], out[0]);
        d_in[i] = as_b_sum_to(b, as_b_only(b, here, rest), &n->in[i].shape);
        rest = as_b_except(b, here, rest);
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* The values of onnx's reference evaluator. */
    { .name = "f32", .n_in = 2, .in = { AS_IN(F32, 2, 3), AS_IN(F32, 3) },
      .given = (const double[]){ 1, -2, 3.5, 0, -5, 6, 1.5, 2, -5.5 },
      .want = (const double[]){ 1.5, 2, 3.5, 1.5, 2, 6 }, .n_want = 6 },
    { .name = "i8", .n_in = 3, .in = { AS_IN(I8, 3), AS_IN(I8, 3), { .dtype = AS_I8 } },
      .given = (const double[]){ -128, 127, 5, 127, -128, 4, 0 },
      .want = (const double[]){ 127, 127, 5 }, .n_want = 3, .no_grad = true },
    { .name = "u64", .n_in = 2, .in = { AS_IN(U64, 2), { .dtype = AS_U64 } },
      .given = (const double[]){ 9.223372036854776e+18, 7, 8 },
      .want = (const double[]){ 9.223372036854776e+18, 8 }, .n_want = 2, .no_grad = true },
    { .name = "one input", .n_in = 1, .in = { AS_IN(F32, 7) } },
    { .name = "two", .n_in = 2, .in = { AS_IN(F32, 7, 9), AS_IN(F32, 7, 9) } },
    { .name = "three of three shapes", .n_in = 3, .in = { AS_IN(F32, 9, 1), AS_IN(F32, 1, 7), AS_IN(F32, 3, 1, 1) } },
    { .name = "six", .n_in = 6, .in = { AS_IN(F64, 5), AS_IN(F64, 5), AS_IN(F64, 1), { .dtype = AS_F64 }, AS_IN(F64, 5), AS_IN(F64, 5) } },
    { .name = "15x17 and a row", .n_in = 2, .in = { AS_IN(F32, 15, 17), AS_IN(F32, 17) } },
    { .name = "f16", .n_in = 2, .in = { AS_IN(F16, 33), AS_IN(F16, 33) } },
    { .name = "bf16", .n_in = 2, .in = { AS_IN(BF16, 9), AS_IN(BF16, 9) } },
    { .name = "empty", .n_in = 2, .in = { AS_IN(F32, 0, 3), AS_IN(F32, 1, 3) } },
    { .name = "i16", .n_in = 2, .in = { AS_IN(I16, 9), AS_IN(I16, 1) }, .lo = -100, .hi = 100 },
};

const as_op as_op_max = {
    .name = "Max", .min_in = 1, .max_in = AS_MAX_IN, .min_out = 1, .max_out = 1,
    .infer = infer, .cost = cost, .eval = eval, .grad = grad,
    .tolerance = 0.0, .cases = cases, .n_cases = AS_COUNT(cases),
};
