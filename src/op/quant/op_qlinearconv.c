/* op_qlinearconv.c - convolution of quantised x and w, its sums scaled back to quantised y:
 *     y = saturate(round((conv(x - x_zero, w - w_zero) + B) * x_scale * w_scale / y_scale) + y_zero) */
#include "op/quant/quantize.h"

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS };

static const as_attr_def attrs[] = {AS_CONV_ATTRS, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    static const char *const names[] = {"x", "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point",
                                        "B"};
    static const unsigned    sets[] = {AS_SET_BYTE, AS_DTYPE_BIT(AS_F32), AS_SET_BYTE, AS_SET_BYTE,         AS_DTYPE_BIT(AS_F32),
                                       AS_SET_BYTE, AS_DTYPE_BIT(AS_F32), AS_SET_BYTE, AS_DTYPE_BIT(AS_I32)};
    as_conv_shapes           s;
    for (int i = X; i <= BIAS; i++)
        AS_TRY(as_quant_dtype(env, n, i, names[i], sets[i]));
    for (int i = X; i <= W; i += W)
        if (n->in[i].dtype != n->in[i + 2].dtype)
            return as_refuse(env, n, "%s is %s and %s is %s: they must be the same", names[i], as_dtype_name(n->in[i].dtype),
                             names[i + 2], as_dtype_name(n->in[i + 2].dtype));
    AS_TRY(as_conv_read(env, n, &n->in[X].shape, &n->in[W].shape, &s));
    static const int one[] = {X_SCALE, X_ZERO, Y_SCALE, Y_ZERO};
    for (size_t i = 0; i < AS_COUNT(one); i++)
        AS_TRY(as_quant_one(env, n, one[i], names[one[i]]));
    AS_TRY(as_quant_vector(env, n, W_SCALE, names[W_SCALE], s.w.dim[0]));
    AS_TRY(as_quant_vector(env, n, W_ZERO, names[W_ZERO], s.w.dim[0]));
    AS_TRY(as_conv_bias(env, n, BIAS, &s));
    out[0] = as_info(n->in[Y_ZERO].dtype, &s.y);
    return ASSAY_OK;
}

/* As Conv, and per output a product, an addition and two comparisons. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost        cost = as_cost_bytes(n);
    as_conv_shapes s;
    if (as_conv_read(NULL, n, &n->in[X].shape, &n->in[W].shape, &s) != ASSAY_OK)
        return cost;
    cost.flops =
        as_sat_add(as_window_flops(&s.window, &s.y, s.w.dim[1]), as_sat_mul(as_in_has(n, BIAS) ? 5 : 4, as_sat_count(&s.y)));
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_conv_shapes s;
    AS_TRY(as_conv_read(env, n, &n->in[X].shape, &n->in[W].shape, &s));
    int64_t index[AS_MAX_RANK] = {0}, count = as_shape_count(&s.y);
    for (int64_t i = 0; i < count; i++) {
        AS_GO_ON(env, n);
        int64_t m = index[1];
        int64_t sum = as_qconv_sum(&s, &in[X], as_quant_zero(n, in, X_ZERO, 0), &in[W], as_quant_zero(n, in, W_ZERO, m), index[0],
                                   m, &index[2]);
        if (as_in_has(n, BIAS))
            sum += as_view_get_i64(&in[BIAS], m);
        /* In f32 steps, because every implementation has an f32 multiplier: a tie there must be a tie here too. */
        double scale = as_round_to(AS_F32, as_round_to(AS_F32, as_quant_scale(&in[X_SCALE], 0) * as_quant_scale(&in[W_SCALE], m)) /
                                               as_quant_scale(&in[Y_SCALE], 0));
        double sum32 = as_round_to(AS_F32, (double)as_int_wrap(AS_I32, (uint64_t)sum));
        as_quant_put(&out[0], i, as_round_to(AS_F32, sum32 * scale), as_quant_zero(n, in, Y_ZERO, 0));
        as_index_next(&s.y, index);
    }
    return ASSAY_OK;
}

#define ONE(dtype_)          \
    {                        \
        .dtype = AS_##dtype_ \
    }

static const as_case cases[] = {
    /* ONNX Runtime 1.31.1 on the CPU. Scales are powers of two, so that nothing is rounded twice; weights are small,
     * because its u8 by i8 product saturates at 16 bits on machines without VNNI. */
    {.name = "u8 and i8 as ONNX Runtime's",
     .n_in = 9,
     .in = {AS_IN(U8, 1, 2, 3, 3), ONE(F32), ONE(U8), AS_IN(I8, 2, 2, 2, 2), AS_IN(F32, 2), AS_IN(I8, 2), ONE(F32), ONE(U8),
            AS_IN(I32, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("pads", 1, 0, 0, 1)},
     .given = (const double[]){241, 160, 175, 229, 148, 198, 213,  57,    14,  76,  72,  223, 233, 1,   127,
                               210, 33,  204, 0.5, 120, -46, -4,   38,    -24, -19, -27, 27,  -30, 59,  -7,
                               -3,  1,   10,  6,   1,   60,  0.25, 0.125, 0,   0,   8,   100, 50,  -300},
     .want = (const double[]){162, 35, 177, 202, 0, 80, 195, 34, 15, 72, 145, 97, 88, 116, 129, 107, 137, 137},
     .n_want = 18},
    {.name = "u8 in groups as ONNX Runtime's",
     .n_in = 8,
     .in = {AS_IN(U8, 1, 2, 4), ONE(F32), ONE(U8), AS_IN(U8, 2, 1, 2), ONE(F32), ONE(U8), ONE(F32), ONE(U8)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("group", 2), AS_ATTR_LIST("strides", 2)},
     .given = (const double[]){206, 202, 179, 159, 87, 253, 119, 55, 0.5, 3, 216, 41, 219, 156, 0.5, 128, 16, 7},
     .want = (const double[]){16, 37, 236, 195},
     .n_want = 4},
    {.name = "3x3 from 3 to 5 with bias",
     .n_in = 9,
     .lo = 1,
     .hi = 100,
     .in = {AS_IN(U8, 2, 3, 7, 5), ONE(F32), ONE(U8), AS_IN(I8, 5, 3, 3, 3), AS_IN(F32, 5), AS_IN(I8, 5), AS_IN(F32, 1),
            AS_IN(U8, 1), AS_IN(I32, 5)}},
    {.name = "3x3 from 3 to 14 at 9x11, not saturated",
     .n_in = 9,
     .lo = 0.5,
     .hi = 90,
     .in = {AS_IN(U8, 1, 3, 9, 11),
            ONE(F32),
            ONE(U8),
            AS_IN(I8, 14, 3, 3, 3),
            AS_IN(F32, 14),
            AS_IN(I8, 14),
            {.dtype = AS_F32, .ints = (const int64_t[]){800000}},
            ONE(U8),
            AS_IN(I32, 14)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1)}},
    {.name = "depthwise to i8, not saturated",
     .n_in = 8,
     .lo = 0.5,
     .hi = 90,
     .in = {AS_IN(I8, 2, 6, 10, 18),
            ONE(F32),
            ONE(I8),
            AS_IN(U8, 6, 1, 3, 3),
            ONE(F32),
            ONE(U8),
            {.dtype = AS_F32, .ints = (const int64_t[]){400000}},
            ONE(I8)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("group", 6), AS_ATTR_LIST("strides", 2, 2), AS_ATTR_LIST("pads", 1, 1, 1, 1)}},
    {.name = "empty",
     .n_in = 8,
     .in = {AS_IN(U8, 0, 1, 3), ONE(F32), ONE(U8), AS_IN(U8, 1, 1, 2), ONE(F32), ONE(U8), ONE(F32), ONE(U8)}},
};

/* No gradient: the inputs are quantised. */
const as_op as_op_qlinearconv = {
    .name = "QLinearConv",
    .min_in = 8,
    .max_in = 9,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
