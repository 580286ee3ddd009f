/* op_fusedconv.c - y = pool(act(Conv(x, w) + b + r)): convolution, bias, a residual, an activation and a pool in one.  The plan's
 * passes make it, so it has no gradient.  Inputs x, w, b, r; b and r may be absent, and r has the shape of the convolution.  The
 * pool is the maximum of 2x2 with stride 2; an odd last row or column is dropped, as MaxPool drops it. */
#include <math.h>

#include "op/math/activation.h"
#include "op/rules.h"

static const as_attr_def attrs[] = {
    AS_CONV_ATTRS,
    {.name = "winograd", .kind = AS_ATTR_INT}, /* 1: the user allows the faster, less exact algorithm */
    {.name = "pool", .kind = AS_ATTR_INT},     /* 2: the maximum of 2x2 with stride 2; absent or 0: none */
    AS_ACT_ATTRS,
    {0},
};

extern const as_op as_op_conv;

/* The node as Conv sees it: at most three inputs. */
static as_node_ctx conv_of(const as_node_ctx *n)
{
    as_node_ctx conv = *n;
    if (conv.n_in > 3)
        conv.n_in = 3;
    return conv;
}

/* The convolution's own result, before the pool. */
static assay_status conv_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *y)
{
    as_node_ctx conv = conv_of(n);
    return as_op_conv.infer(env, &conv, y);
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_act         act;
    as_tensor_info y;
    int64_t        pool = as_attr_int(n, "pool", 0);
    AS_TRY(as_rule_dtype(env, n, 0, 4, AS_SET_FLOAT));
    AS_TRY(as_act_read(env, n, &act));
    AS_TRY(conv_infer(env, n, &y));
    if (as_in_has(n, 3) && !as_shape_same(&n->in[3].shape, &y.shape))
        return as_refuse(env, n, "R is %s and must be like the convolution, %s", AS_SHOW(&n->in[3].shape), AS_SHOW(&y.shape));
    if (pool != 0 && pool != 2)
        return as_refuse(env, n, "pool is %lld and must be 2, or 0 for none", (long long)pool);
    if (pool && y.shape.rank != 4)
        return as_refuse(env, n, "pool needs two spatial axes, and the convolution is %s", AS_SHOW(&y.shape));
    for (int i = 2; pool && i < 4; i++)
        y.shape.dim[i] /= pool;
    out[0] = y;
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    as_node_ctx    conv = conv_of(n);
    as_cost        cost = as_op_conv.cost(&conv), bytes = as_cost_bytes(n);
    uint64_t       y = as_sat_count(&n->out[0].shape), pooled = y;
    as_act         act = {0};
    as_tensor_info sums;
    if (conv_infer(NULL, n, &sums) == ASSAY_OK)
        y = as_sat_count(&sums.shape);
    (void)as_act_read(NULL, n, &act);
    cost.flops = as_sat_add(cost.flops, as_sat_mul(y, as_act_flops(act.kind) + (as_in_has(n, 3) ? 1 : 0)));
    if (as_attr_int(n, "pool", 0))
        cost.flops = as_sat_add(cost.flops, as_sat_mul(pooled, 3)); /* comparisons */
    cost.special = as_act_is_special(act.kind) ? y : 0;
    cost.bytes_read = bytes.bytes_read;
    cost.bytes_written = bytes.bytes_written;
    return cost;
}

/* The maximum of each 2x2 of `sums` into y; NaN is larger than any number. */
static void pool_eval(const as_view *sums, const as_view *y)
{
    const int64_t *in = sums->shape.dim, *out = y->shape.dim;
    for (int64_t i = 0, n = as_shape_count(&y->shape); i < n; i++) {
        int64_t plane = i / (out[2] * out[3]), row = i / out[3] % out[2], col = i % out[3];
        double  best = -INFINITY;
        for (int64_t k = 0; k < 4; k++) {
            double one = as_view_get(sums, (plane * in[2] + 2 * row + k / 2) * in[3] + 2 * col + k % 2);
            best = one > best || isnan(one) ? one : best;
        }
        as_view_set(y, i, best);
    }
}

/* In double up to the end, so there is one rounding, as in a kernel that keeps the sum in a register. */
static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_arena       arena = {0};
    as_act         act;
    as_tensor_info y;
    as_node_ctx    conv = conv_of(n);
    AS_TRY(as_act_read(env, n, &act));
    AS_TRY(conv_infer(env, n, &y));
    int64_t count = as_shape_count(&y.shape);
    void   *sums = as_arena_take(&arena, (size_t)count, sizeof(double), 64);
    if (!sums)
        return as_fail(env, ASSAY_NO_MEMORY, "FusedConv '%s': not enough memory for %lld sums", n->name ? n->name : "",
                       (long long)count);
    as_view sum = as_view_of(sums, AS_F64, &y.shape), whole = as_attr_int(n, "pool", 0) ? sum : out[0];
    conv.out = &y;
    assay_status status = as_op_conv.eval(env, &conv, in, &sum);
    for (int64_t i = 0; status == ASSAY_OK && i < count; i++)
        as_view_set(&whole, i, as_act_apply(&act, as_view_get(&sum, i) + (as_in_has(n, 3) ? as_view_get(&in[3], i) : 0.0)));
    if (status == ASSAY_OK && as_attr_int(n, "pool", 0))
        pool_eval(&sum, &out[0]);
    as_arena_drop(&arena);
    return status;
}

#define CONV(name_, n_, c_, h_, w_, m_, kh_, kw_, pad_, stride_, act_)                                              \
    {                                                                                                               \
        .name = name_, .n_in = 3, .in = {AS_IN(F32, n_, c_, h_, w_), AS_IN(F32, m_, c_, kh_, kw_), AS_IN(F32, m_)}, \
        .no_grad = true, .n_attrs = 3, .attrs = {                                                                   \
            AS_ATTR_LIST("pads", pad_, pad_, pad_, pad_),                                                           \
            AS_ATTR_LIST("strides", stride_, stride_),                                                              \
            AS_ATTR_S("activation", act_)                                                                           \
        }                                                                                                           \
    }

#define POOLED(name_, n_, c_, h_, w_, m_, k_, pad_, act_, winograd_)                                                               \
    {                                                                                                                              \
        .name = name_, .n_in = 3, .in = {AS_IN(F32, n_, c_, h_, w_), AS_IN(F32, m_, c_, k_, k_), AS_IN(F32, m_)}, .no_grad = true, \
        .n_attrs = 4, .attrs = {                                                                                                   \
            AS_ATTR_LIST("pads", pad_, pad_, pad_, pad_),                                                                          \
            AS_ATTR_S("activation", act_),                                                                                         \
            AS_ATTR_I("pool", 2),                                                                                                  \
            AS_ATTR_I("winograd", winograd_)                                                                                       \
        }                                                                                                                          \
    }

static const as_case cases[] = {
    /* By hand: 1x1 kernel 2 on [1,-1,3,-3] plus bias 1 plus the residual [0,0,-9,9]; then negative values become 0. */
    {.name = "residual and relu by hand",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 1, 2, 2), AS_IN(F32, 1, 1, 1, 1), AS_IN(F32, 1), AS_IN(F32, 1, 1, 2, 2)},
     .given = (const double[]){1, -1, 3, -3, 2, 1, 0, 0, -9, 9},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("activation", "relu")},
     .no_grad = true,
     .want = (const double[]){3, 0, 0, 4},
     .n_want = 4},
    CONV("first layer 1 to 32", 2, 1, 9, 11, 32, 3, 3, 1, 1, "relu"),
    CONV("first layer 3 to 32", 1, 3, 10, 8, 32, 3, 3, 1, 1, "relu"),
    CONV("3 to 33, stride 2", 1, 3, 11, 9, 33, 3, 3, 1, 2, "tanh"),
    CONV("32 to 64", 1, 32, 7, 7, 64, 3, 3, 1, 1, "relu"),
    CONV("16 to 16 on 4x4", 2, 16, 4, 4, 16, 3, 3, 1, 1, "none"),
    CONV("17 to 19 on 5x13", 1, 17, 5, 13, 19, 3, 3, 1, 1, "sigmoid"),
    CONV("8 to 24 on 6x6, no pads", 1, 8, 6, 6, 24, 3, 3, 0, 1, "relu"),
    CONV("1x1 of 24 to 40", 2, 24, 5, 7, 40, 1, 1, 0, 1, "relu"),
    CONV("1x1 stride 2", 1, 16, 9, 9, 20, 1, 1, 0, 2, "hardswish"),
    CONV("5x5 of 4 to 6", 1, 4, 12, 12, 6, 5, 5, 2, 1, "gelu"),
    CONV("7x7 stride 2 of 3 to 16", 1, 3, 21, 23, 16, 7, 7, 3, 2, "relu"),
    CONV("one pixel", 1, 8, 1, 1, 8, 3, 3, 1, 1, "relu"),
    CONV("7x7 of 8 to 17 on 9x11", 2, 8, 9, 11, 17, 7, 7, 3, 1, "tanh"),
    CONV("8 to 16 on 40x44, in several units", 1, 8, 40, 44, 16, 3, 3, 1, 1, "relu"),
    CONV("wide row 32 to 8", 1, 32, 3, 37, 8, 3, 3, 1, 1, "leakyrelu"),
    CONV("no images", 0, 8, 4, 4, 8, 3, 3, 1, 1, "relu"),
    {.name = "depthwise 24",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 24, 9, 9), AS_IN(F32, 24, 1, 3, 3), AS_IN(F32, 24)},
     .no_grad = true,
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("group", 24), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_S("activation", "relu")}},
    {.name = "depthwise 64, no pads",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 64, 5, 9), AS_IN(F32, 64, 1, 3, 3)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("group", 64)}},
    {.name = "two groups of 8 to 33",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 16, 6, 5), AS_IN(F32, 66, 8, 3, 3), AS_IN(F32, 66)},
     .no_grad = true,
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("group", 2), AS_ATTR_LIST("pads", 1, 1, 1, 1)}},
    {.name = "depthwise 13, stride 2",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 13, 10, 7), AS_IN(F32, 13, 1, 3, 3), AS_IN(F32, 13)},
     .no_grad = true,
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("group", 13), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_LIST("strides", 2, 2)}},
    {.name = "four groups of 8 to 4",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 32, 6, 5), AS_IN(F32, 16, 8, 3, 3), AS_IN(F32, 16)},
     .no_grad = true,
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("group", 4), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_S("activation", "tanh")}},
    {.name = "residual, 16 to 32",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 16, 8, 8), AS_IN(F32, 32, 16, 3, 3), AS_IN(F32, 32), AS_IN(F32, 1, 32, 8, 8)},
     .no_grad = true,
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_S("activation", "relu")}},
    {.name = "residual, no bias",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 4, 5, 5), AS_IN(F32, 9, 4, 1, 1), {.dtype = AS_NONE}, AS_IN(F32, 1, 9, 5, 5)},
     .no_grad = true},
    {.name = "winograd 16 to 16",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 16, 8, 8), AS_IN(F32, 16, 16, 3, 3), AS_IN(F32, 16)},
     .no_grad = true,
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_I("winograd", 1), AS_ATTR_S("activation", "relu")}},
    {.name = "winograd 24 to 40 on 14x14",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 24, 14, 14), AS_IN(F32, 40, 24, 3, 3), AS_IN(F32, 40)},
     .no_grad = true,
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_I("winograd", 1), AS_ATTR_S("activation", "relu")}},
    {.name = "winograd 32 to 17 on 5x7, no pads",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 32, 5, 7), AS_IN(F32, 17, 32, 3, 3), AS_IN(F32, 17)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("winograd", 1)}},
    {.name = "winograd with residual, 16 to 33 on 9x6",
     .n_in = 4,
     .in = {AS_IN(F32, 2, 16, 9, 6), AS_IN(F32, 33, 16, 3, 3), AS_IN(F32, 33), AS_IN(F32, 2, 33, 9, 6)},
     .no_grad = true,
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_I("winograd", 1), AS_ATTR_S("activation", "tanh")}},
    {.name = "winograd, uneven pads",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 20, 3, 10), AS_IN(F32, 16, 20, 3, 3)},
     .no_grad = true,
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("pads", 0, 2, 1, 3), AS_ATTR_I("winograd", 1)}},
    {.name = "winograd that is none: stride 2",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 16, 7, 7), AS_IN(F32, 16, 16, 3, 3)},
     .no_grad = true,
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("strides", 2, 2), AS_ATTR_I("winograd", 1)}},
    {.name = "depthwise 40 with residual",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 40, 6, 7), AS_IN(F32, 40, 1, 3, 3), AS_IN(F32, 40), AS_IN(F32, 1, 40, 6, 7)},
     .no_grad = true,
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("group", 40), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_S("activation", "hardswish")}},
    {.name = "two outputs a channel, 6 groups",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 6, 5, 5), AS_IN(F32, 12, 1, 3, 3)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("group", 6)}},
    {.name = "dilated, strided, 18 to 20",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 18, 11, 12), AS_IN(F32, 20, 18, 3, 2), AS_IN(F32, 20)},
     .no_grad = true,
     .n_attrs = 6,
     .attrs = {AS_ATTR_LIST("dilations", 2, 3), AS_ATTR_LIST("strides", 2, 1), AS_ATTR_LIST("pads", 2, 1, 0, 3),
               AS_ATTR_S("activation", "clip"), AS_ATTR_F("activation_alpha", -1.0), AS_ATTR_F("activation_beta", 1.5)}},
    {.name = "pads wider than the image",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 5, 1, 2), AS_IN(F32, 7, 5, 3, 3)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("pads", 4, 5, 3, 6)}},
    {.name = "pads wider than the image, 9 channels",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 9, 1, 2), AS_IN(F32, 7, 9, 3, 3)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("pads", 4, 5, 3, 6)}},
    {.name = "4 planes, 5 wide",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 4, 6, 5), AS_IN(F32, 16, 4, 3, 3)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1)}},
    {.name = "many small images",
     .n_in = 3,
     .in = {AS_IN(F32, 37, 8, 3, 3), AS_IN(F32, 16, 8, 3, 3), AS_IN(F32, 16)},
     .no_grad = true,
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_S("activation", "relu")}},
    /* By hand: 1x1 kernel -1 on rows 1 2 3, 4 5 6, 7 8 9 plus 3; the last row and column are dropped, the largest is 3 - 1. */
    {.name = "pooled by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 1, 3, 3), AS_IN(F32, 1, 1, 1, 1), AS_IN(F32, 1)},
     .no_grad = true,
     .given = (const double[]){1, 2, 3, 4, 5, 6, 7, 8, 9, -1, 3},
     .want = (const double[]){2},
     .n_want = 1,
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("activation", "relu"), AS_ATTR_I("pool", 2)}},
    POOLED("first layer 1 to 32, pooled", 2, 1, 28, 28, 32, 3, 1, "relu", 0),
    POOLED("first layer 3 to 32, pooled, odd", 2, 3, 11, 13, 32, 3, 1, "relu", 0),
    POOLED("17 to 33, pooled, odd, no monotone activation", 3, 17, 9, 7, 33, 3, 1, "gelu", 0),
    POOLED("32 to 64 on 14x14, pooled", 1, 32, 14, 14, 64, 3, 1, "relu", 0),
    POOLED("9 to 20 on 42x31, pooled in several units", 1, 9, 42, 31, 20, 3, 1, "relu", 0),
    POOLED("wide rows, pooled", 1, 8, 4, 301, 16, 3, 1, "none", 0),
    POOLED("one row, pooled to nothing", 1, 8, 1, 6, 16, 3, 1, "relu", 0),
    POOLED("winograd 16 to 40 on 14x14, pooled", 2, 16, 14, 14, 40, 3, 1, "relu", 1),
    POOLED("winograd 24 to 17 on 9x11, pooled", 2, 24, 9, 11, 17, 3, 1, "hardswish", 1),
    POOLED("winograd 16 to 16 on 5x3, no pads, pooled to nothing", 1, 16, 5, 3, 16, 3, 0, "relu", 1),
    {.name = "pooled with residual, odd",
     .n_in = 4,
     .in = {AS_IN(F32, 2, 16, 7, 9), AS_IN(F32, 20, 16, 3, 3), AS_IN(F32, 20), AS_IN(F32, 2, 20, 7, 9)},
     .no_grad = true,
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_S("activation", "silu"), AS_ATTR_I("pool", 2)}},
    {.name = "winograd pooled with residual, odd",
     .n_in = 4,
     .in = {AS_IN(F32, 2, 16, 7, 9), AS_IN(F32, 20, 16, 3, 3), AS_IN(F32, 20), AS_IN(F32, 2, 20, 7, 9)},
     .no_grad = true,
     .n_attrs = 4,
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_S("activation", "relu"), AS_ATTR_I("pool", 2), AS_ATTR_I("winograd", 1)}},
    {.name = "four groups of 8 to 4, pooled",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 32, 6, 5), AS_IN(F32, 16, 8, 3, 3), AS_IN(F32, 16)},
     .no_grad = true,
     .n_attrs = 4,
     .attrs = {AS_ATTR_I("group", 4), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_S("activation", "tanh"), AS_ATTR_I("pool", 2)}},
    {.name = "depthwise 21, pooled",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 21, 9, 10), AS_IN(F32, 21, 1, 3, 3), AS_IN(F32, 21)},
     .no_grad = true,
     .n_attrs = 4,
     .attrs = {AS_ATTR_I("group", 21), AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_S("activation", "relu"), AS_ATTR_I("pool", 2)}},
    {.name = "f64",
     .n_in = 3,
     .in = {AS_IN(F64, 1, 3, 5, 5), AS_IN(F64, 4, 3, 3, 3), AS_IN(F64, 4)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("activation", "tanh")}},
    {.name = "1-D",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3, 31), AS_IN(F32, 5, 3, 4), AS_IN(F32, 5)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("activation", "relu")}},
};

const as_op as_op_fusedconv = {
    .name = "assay.FusedConv",
    .min_in = 2,
    .max_in = 4,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* as Conv; Winograd's F(4,3) stays within it */
};
