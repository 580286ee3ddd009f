/* reduce_test.c - what the cases of reductions, norms and pools cannot express: refusals, further outputs, unsigned 64 bits,
 * NaN. */
#include <math.h>

#include "op/nn/norm.h"
#include "tests/runner/test.h"

static assay_env *env;

static void start(void) { expect(assay_env_new(&env) == ASSAY_OK); }
static void end(void) { assay_env_free(env); }

/* --- Refusals --- */

typedef struct refusal {
    const char    *op, *part;
    int            n_in, n_attrs, n_out; /* n_out 0: one */
    as_tensor_info in[5];
    as_attr        attrs[3];
} refusal;

#define INTS(...)                                                                                                 \
    {                                                                                                             \
        .dtype = AS_I64, .shape = {.rank = 1, .dim = {sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)}}, \
        .constant = (const int64_t[])                                                                             \
        {                                                                                                         \
            __VA_ARGS__                                                                                           \
        }                                                                                                         \
    }
#define ATTR(...)           .n_attrs = 1, .attrs = {__VA_ARGS__}
#define VECTORS(a, b, c, d) AS_IN(F32, a), AS_IN(F32, b), AS_IN(F32, c), AS_IN(F32, d)

static const float   one_f32 = 1.0f;
static const refusal refusals[] = {
    {.op = "ReduceMax", .part = "input 0 is i16", .n_in = 1, .in = {AS_IN(I16, 1)}},
    {.op = "ReduceMean", .part = "input 0 is bool", .n_in = 1, .in = {AS_IN(BOOL, 1)}},
    {.op = "ReduceMin", .part = "axis -3 is outside of [-2, 2)", .n_in = 2, .in = {AS_IN(F32, 2, 3), INTS(-3)}},
    {.op = "ReduceL2", .part = "axes names axis 0 twice", .n_in = 2, .in = {AS_IN(F32, 2, 3), INTS(0, -2)}},
    {.op = "ReduceProd", .part = "axes (input 1) must be known while planning", .n_in = 2, .in = {AS_IN(F32, 2, 3), AS_IN(I64, 1)}},
    {.op = "ArgMax", .part = "input 0 is bool", .n_in = 1, .in = {AS_IN(BOOL, 1)}},
    {.op = "ArgMax", .part = "axis 1 is outside of [-1, 1)", .n_in = 1, .in = {AS_IN(F32, 2)}, ATTR(AS_ATTR_I("axis", 1))},
    {.op = "ArgMin",
     .part = "the input is [0,2]: along axis 0 there is no element to point at",
     .n_in = 1,
     .in = {AS_IN(F32, 0, 2)}},
    {.op = "LogSoftmax", .part = "axis -1 is outside of [0, 0)", .n_in = 1, .in = {{.dtype = AS_F32}}},
    {.op = "Hardmax", .part = "input 0 is i32", .n_in = 1, .in = {AS_IN(I32, 2)}},
    /* norms */
    {.op = "LayerNormalization",
     .part = "Scale is [4] and does not broadcast to X [2,3]",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 4)}},
    {.op = "LayerNormalization",
     .part = "B is [2,2,3] and does not broadcast to X [2,3]",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3), AS_IN(F32, 2, 2, 3)}},
    {.op = "LayerNormalization",
     .part = "stash_type is 11",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3)},
     ATTR(AS_ATTR_I("stash_type", 11))},
    {.op = "LayerNormalization",
     .part = "axis 2 is outside of",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3)},
     ATTR(AS_ATTR_I("axis", 2))},
    {.op = "RMSNormalization", .part = "scale is [2] and does not broadcast", .n_in = 2, .in = {AS_IN(F32, 2, 3), AS_IN(F32, 2)}},
    {.op = "RMSNormalization",
     .part = "stash_type is 7",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3)},
     ATTR(AS_ATTR_I("stash_type", 7))},
    {.op = "InstanceNormalization",
     .part = "X is [2,3]: it must be [N, C, spatial...]",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3), AS_IN(F32, 3)}},
    {.op = "InstanceNormalization",
     .part = "B is [2] and must be [3], one value per channel",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3, 4), AS_IN(F32, 3), AS_IN(F32, 2)}},
    {.op = "GroupNormalization",
     .part = "num_groups is 2 and must be positive and divide the 3 channels",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3), AS_IN(F32, 3)},
     ATTR(AS_ATTR_I("num_groups", 2))},
    {.op = "GroupNormalization",
     .part = "num_groups is 0",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3), AS_IN(F32, 3)},
     ATTR(AS_ATTR_I("num_groups", 0))},
    {.op = "GroupNormalization",
     .part = "of rank 2 to 7",
     .n_in = 3,
     .in = {AS_IN(F32, 3), AS_IN(F32, 3), AS_IN(F32, 3)},
     ATTR(AS_ATTR_I("num_groups", 1))},
    {.op = "GroupNormalization",
     .part = "stash_type is 2",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3), AS_IN(F32, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("num_groups", 1), AS_ATTR_I("stash_type", 2)}},
    {.op = "BatchNormalization",
     .part = "input_var is [2] and must be [3]",
     .n_in = 5,
     .in = {AS_IN(F32, 2, 3), VECTORS(3, 3, 3, 2)}},
    {.op = "BatchNormalization", .part = "X is []", .n_in = 5, .in = {{.dtype = AS_F32}, VECTORS(1, 1, 1, 1)}},
    {.op = "BatchNormalization",
     .part = "3 outputs are requested and without training_mode there is one",
     .n_in = 5,
     .n_out = 3,
     .in = {AS_IN(F32, 2, 3), VECTORS(3, 3, 3, 3)}},
    {.op = "MeanVarianceNormalization", .part = "axis 2 is outside of", .n_in = 1, .in = {AS_IN(F32, 2, 3)}},
    {.op = "MeanVarianceNormalization",
     .part = "axes names axis 0 twice",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3)},
     ATTR(AS_ATTR_LIST("axes", 0, 0))},
    {.op = "MeanVarianceNormalization",
     .part = "axes has 9 values",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3)},
     ATTR(AS_ATTR_LIST("axes", 0, 0, 0, 0, 0, 0, 0, 0, 0))},
    {.op = "LRN", .part = "size is 0, outside of 1", .n_in = 1, .in = {AS_IN(F32, 2, 3)}, ATTR(AS_ATTR_I("size", 0))},
    {.op = "LRN", .part = "X is [2]", .n_in = 1, .in = {AS_IN(F32, 2)}, ATTR(AS_ATTR_I("size", 1))},
    {.op = "Dropout",
     .part = "ratio is 1, outside of [0, 1)",
     .n_in = 2,
     .in = {AS_IN(F32, 2), {.dtype = AS_F32, .constant = &one_f32}}},
    {.op = "Dropout", .part = "ratio (input 1) is [2] and must be a scalar", .n_in = 2, .in = {AS_IN(F32, 2), AS_IN(F32, 2)}},
    {.op = "Dropout",
     .part = "training_mode (input 2) is [2] and must be a scalar",
     .n_in = 3,
     .in = {AS_IN(F32, 2), {.dtype = AS_NONE}, AS_IN(BOOL, 2)}},
    {.op = "Dropout", .part = "input 2 is f32", .n_in = 3, .in = {AS_IN(F32, 2), {.dtype = AS_NONE}, AS_IN(F32, 1)}},
    {.op = "Einsum",
     .part = "names 2 axes of an input of rank 1",
     .n_in = 1,
     .in = {AS_IN(F32, 2)},
     ATTR(AS_ATTR_S("equation", "ij"))},
    {.op = "Einsum",
     .part = "has 1 terms and there are 2 inputs",
     .n_in = 2,
     .in = {AS_IN(F32, 2), AS_IN(F32, 2)},
     ATTR(AS_ATTR_S("equation", "i->i"))},
    {.op = "Einsum",
     .part = "has more terms than the 1 inputs",
     .n_in = 1,
     .in = {AS_IN(F32, 2)},
     ATTR(AS_ATTR_S("equation", "i,i"))},
    {.op = "Einsum", .part = "unexpected '1' at place 1", .n_in = 1, .in = {AS_IN(F32, 2)}, ATTR(AS_ATTR_S("equation", "i1"))},
    {.op = "Einsum",
     .part = "axis 0 has size 3 and the equation needs 2",
     .n_in = 2,
     .in = {AS_IN(F32, 2), AS_IN(F32, 3)},
     ATTR(AS_ATTR_S("equation", "i,i"))},
    {.op = "Einsum",
     .part = "names an axis that no input has",
     .n_in = 1,
     .in = {AS_IN(F32, 2)},
     ATTR(AS_ATTR_S("equation", "i->j"))},
    {.op = "Einsum", .part = "names an axis twice", .n_in = 1, .in = {AS_IN(F32, 2)}, ATTR(AS_ATTR_S("equation", "i->ii"))},
    {.op = "Einsum", .part = "goes on after its result", .n_in = 1, .in = {AS_IN(F32, 2)}, ATTR(AS_ATTR_S("equation", "i->i,i"))},
    /* pools */
    {.op = "GlobalAveragePool", .part = "X is [2,3]: it must be [N, C, spatial...]", .n_in = 1, .in = {AS_IN(F32, 2, 3)}},
    {.op = "GlobalMaxPool", .part = "X is [2,3]: it must be [N, C, spatial...]", .n_in = 1, .in = {AS_IN(F32, 2, 3)}},
    {.op = "AveragePool",
     .part = "pads 2 and 0 of spatial axis 0 must be smaller",
     .n_in = 1,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 1, 4)},
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("pads", 2, 0)}},
    {.op = "assay.AveragePoolGrad",
     .part = "dY is [1,1,3], and pooling X [1,1,3] gives [1,1,2]",
     .n_in = 1,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 1, 3)},
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("input_shape", 1, 1, 3)}},
    {.op = "LpPool",
     .part = "p is 0 and must be at least 1",
     .n_in = 1,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 1, 3)},
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_I("p", 0)}},
    /* ConvTranspose */
    {.op = "ConvTranspose", .part = "both must have rank 3 to 5", .n_in = 2, .in = {AS_IN(F32, 1, 1), AS_IN(F32, 1, 1)}},
    {.op = "ConvTranspose",
     .part = "their 2 and 3 channels must be the same and a multiple of group 1",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 2, 4), AS_IN(F32, 3, 1, 2)}},
    {.op = "ConvTranspose",
     .part = "a multiple of group 2",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 3, 4), AS_IN(F32, 3, 1, 2)},
     ATTR(AS_ATTR_I("group", 2))},
    {.op = "ConvTranspose",
     .part = "group is 0",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 3, 4), AS_IN(F32, 3, 1, 2)},
     ATTR(AS_ATTR_I("group", 0))},
    {.op = "ConvTranspose",
     .part = "B is [2] and must be [1]",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 3, 4), AS_IN(F32, 3, 1, 2), AS_IN(F32, 2)}},
    {.op = "ConvTranspose",
     .part = "pads 3 and 3 leave nothing of 5",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 3, 4), AS_IN(F32, 3, 1, 2)},
     ATTR(AS_ATTR_LIST("pads", 3, 3))},
    {.op = "ConvTranspose", .part = "X has size 0 on spatial axis 0", .n_in = 2, .in = {AS_IN(F32, 1, 3, 0), AS_IN(F32, 3, 1, 2)}},
    {.op = "ConvTranspose",
     .part = "auto_pad is 'SAME'",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 3, 4), AS_IN(F32, 3, 1, 2)},
     ATTR(AS_ATTR_S("auto_pad", "SAME"))},
    {.op = "ConvTranspose",
     .part = "pads and auto_pad 'VALID' are both given",
     .n_in = 2,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 3, 4), AS_IN(F32, 3, 1, 2)},
     .attrs = {AS_ATTR_S("auto_pad", "VALID"), AS_ATTR_LIST("pads", 1, 0)}},
    {.op = "ConvTranspose",
     .part = "output_shape[0] is 0, outside of 1",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 3, 4), AS_IN(F32, 3, 1, 2)},
     ATTR(AS_ATTR_LIST("output_shape", 0))},
    {.op = "ConvTranspose",
     .part = "output_padding[0] is -1",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 3, 4), AS_IN(F32, 3, 1, 2)},
     ATTR(AS_ATTR_LIST("output_padding", -1))},
    {.op = "ConvTranspose",
     .part = "is too large",
     .n_in = 2,
     .in = {AS_IN(F16, 1, 1, INT64_C(1) << 60), AS_IN(F16, 1, 1, 2)},
     ATTR(AS_ATTR_LIST("strides", 1000))},
};

Test(reduce, refuses_with_a_sentence)
{
    start();
    for (size_t i = 0; i < AS_COUNT(refusals); i++) {
        const refusal *r = &refusals[i];
        as_tensor_info out[AS_MAX_OUT];
        as_node_ctx    n = {.op = as_op_find(r->op),
                            .name = "the-node",
                            .attrs = r->attrs,
                            .n_attrs = r->n_attrs,
                            .in = r->in,
                            .n_in = r->n_in,
                            .n_out = r->n_out ? r->n_out : 1};
        expect(n.op);
        if (as_op_infer(env, &n, out) != ASSAY_BAD_INPUT)
            fail("%s was not refused for \"%s\" (%s)", r->op, r->part, assay_message(env));
        expect_has(assay_message(env), r->part);
        expect_has(assay_message(env), "'the-node': ");
    }
    end();
}

/* --- Calls with given memory --- */

/* Infers and evaluates; the caller gives one view per input and memory per output. */
static void call(const char *op, const as_attr *attrs, int n_attrs, const as_view *in, int n_in, void **data, int n_out)
{
    as_tensor_info in_info[8], out_info[4];
    as_view        out[4];
    for (int i = 0; i < n_in; i++)
        in_info[i] =
            (as_tensor_info){.dtype = in[i].dtype, .shape = in[i].shape, .constant = in[i].dtype == AS_I64 ? in[i].data : NULL};
    as_node_ctx n = {.op = as_op_find(op),
                     .name = "call",
                     .attrs = attrs,
                     .n_attrs = n_attrs,
                     .in = in_info,
                     .n_in = n_in,
                     .out = out_info,
                     .n_out = n_out,
                     .seed = 5,
                     .node_id = 6,
                     .step = 7};
    expect_ok(env, as_op_infer(env, &n, out_info));
    for (int i = 0; i < n_out; i++)
        out[i] = as_view_of(data[i], out_info[i].dtype, &out_info[i].shape);
    expect_ok(env, n.op->eval(env, &n, in, out));
}

#define VIEW(data, dtype, ...) as_view_of((data), AS_##dtype, &AS_SHAPE(__VA_ARGS__))

Test(reduce, orders_and_sums_u64_beyond_the_signed_range)
{
    uint64_t x[2] = {UINT64_C(1) << 63, 5}, y;
    int64_t  where;
    as_view  in = VIEW(x, U64, 2);
    start();
    call("ReduceMax", NULL, 0, &in, 1, (void *[]){&y}, 1);
    expect(y == UINT64_C(1) << 63);
    call("ReduceMin", NULL, 0, &in, 1, (void *[]){&y}, 1);
    expect(y == 5);
    call("ReduceSum", NULL, 0, &in, 1, (void *[]){&y}, 1);
    expect(y == (UINT64_C(1) << 63) + 5);
    call("ReduceMean", NULL, 0, &in, 1, (void *[]){&y}, 1);
    expect(y == (UINT64_C(1) << 62) + 2);
    call("ReduceL1", NULL, 0, &in, 1, (void *[]){&y}, 1);
    expect(y == (UINT64_C(1) << 63) + 5);
    call("ArgMax", NULL, 0, &in, 1, (void *[]){&where}, 1);
    expect_eq(where, 0);
    end();
}

Test(reduce, of_nothing_is_what_onnx_says)
{
    float    f[1], got;
    uint8_t  bytes[1], byte;
    uint64_t big;
    as_view  none = VIEW(f, F32, 0), none_u8 = VIEW(bytes, U8, 0), none_u64 = VIEW(bytes, U64, 0), none_bool = VIEW(bytes, BOOL, 0);
    start();
    call("ReduceMax", NULL, 0, &none, 1, (void *[]){&got}, 1);
    expect(isinf(got) && got < 0);
    call("ReduceMin", NULL, 0, &none, 1, (void *[]){&got}, 1);
    expect(isinf(got) && got > 0);
    call("ReduceMean", NULL, 0, &none, 1, (void *[]){&got}, 1);
    expect(isnan(got));
    call("ReduceLogSum", NULL, 0, &none, 1, (void *[]){&got}, 1);
    expect(isinf(got) && got < 0);
    call("ReduceLogSumExp", NULL, 0, &none, 1, (void *[]){&got}, 1);
    expect(isinf(got) && got < 0);
    call("ReduceMin", NULL, 0, &none_u8, 1, (void *[]){&byte}, 1);
    expect_eq(byte, 255);
    call("ReduceMin", NULL, 0, &none_u64, 1, (void *[]){&big}, 1);
    expect(big == UINT64_MAX);
    call("ReduceMax", NULL, 0, &none_bool, 1, (void *[]){&byte}, 1);
    expect_eq(byte, 0);
    call("ReduceMin", NULL, 0, &none_bool, 1, (void *[]){&byte}, 1);
    expect_eq(byte, 1);
    end();
}

Test(reduce, lets_a_nan_win)
{
    float   x[3] = {1, NAN, 2}, y;
    int64_t where;
    as_view in = VIEW(x, F32, 3), plane = VIEW(x, F32, 1, 1, 3);
    start();
    call("ReduceMax", NULL, 0, &in, 1, (void *[]){&y}, 1);
    expect(isnan(y));
    call("ReduceMin", NULL, 0, &in, 1, (void *[]){&y}, 1);
    expect(isnan(y));
    call("GlobalMaxPool", NULL, 0, &plane, 1, (void *[]){&y}, 1);
    expect(isnan(y));
    call("ArgMax", NULL, 0, &in, 1, (void *[]){&where}, 1);
    expect_eq(where, 1);
    call("ArgMin", NULL, 0, &in, 1, (void *[]){&where}, 1);
    expect_eq(where, 1);
    end();
}

Test(reduce, cuts_a_real_result_to_the_integers_range)
{
    expect(as_bits_cut(AS_I32, 1e300) == (uint64_t)INT32_MAX);
    expect(as_bits_cut(AS_I32, -INFINITY) == (uint64_t)(int64_t)INT32_MIN);
    expect(as_bits_cut(AS_I32, -2.9) == (uint64_t)-2);
    expect(as_bits_cut(AS_U32, -1.0) == 0);
    expect(as_bits_cut(AS_U64, 0x1p63) == UINT64_C(1) << 63);
    expect(as_bits_cut(AS_U64, 0x1p64) == UINT64_MAX);
    expect(as_bits_cut(AS_I64, 0x1p63) == (uint64_t)INT64_MAX);
    expect(as_bits_cut(AS_I64, NAN) == 0);
    expect(as_bits_wrap(AS_I8, 200) == (uint64_t)-56);
    expect(as_bits_wrap(AS_U16, 65537) == 1);
    expect(as_bits_wrap(AS_I16, 40000) == (uint64_t)-25536);
}

Test(norm, gives_the_statistics_of_layer_normalization)
{
    float   x[4] = {0, 6, 1, 3}, scale[2] = {1, 1}, y[4], mean[2], inv[2];
    as_view in[] = {VIEW(x, F32, 2, 2), VIEW(scale, F32, 2)};
    as_attr epsilon = AS_ATTR_F("epsilon", 0);
    start();
    call("LayerNormalization", &epsilon, 1, in, 2, (void *[]){y, mean, inv}, 3);
    expect_near(mean[0], 3, 0);
    expect_near(mean[1], 2, 0);
    expect_near(inv[0], 1.0 / 3, 1e-7);
    expect_near(inv[1], 1, 0);
    end();
}

Test(norm, moves_the_running_statistics_of_batch_normalization)
{
    float   x[4] = {0, 1, 6, 3}, ones[2] = {1, 1}, mean[2] = {7, 2}, variance[2] = {1, 5}, y[4], new_mean[2], new_variance[2];
    as_view in[] = {VIEW(x, F32, 2, 2), VIEW(ones, F32, 2), VIEW(ones, F32, 2), VIEW(mean, F32, 2), VIEW(variance, F32, 2)};
    as_attr attrs[] = {AS_ATTR_I("training_mode", 1), AS_ATTR_F("momentum", 0.75)};
    start();
    call("BatchNormalization", attrs, 2, in, 5, (void *[]){y, new_mean, new_variance}, 3);
    expect_near(new_mean[0], 7 * 0.75 + 3 * 0.25, 0);
    expect_near(new_mean[1], 2, 0);
    expect_near(new_variance[0], 1 * 0.75 + 9 * 0.25, 0);
    expect_near(new_variance[1], 5 * 0.75 + 1 * 0.25, 0);
    end();
}

Test(dropout, in_training_drops_the_ratio_and_scales_the_rest)
{
    static float x[4000], y[4000];
    static bool  mask[4000];
    float        ratio = 0.25f;
    bool         train = true;
    as_view in[] = {VIEW(x, F32, 4000), as_view_of(&ratio, AS_F32, &(as_shape){0}), as_view_of(&train, AS_BOOL, &(as_shape){0})};
    int     kept = 0;
    start();
    for (int i = 0; i < 4000; i++)
        x[i] = 3.0f;
    call("Dropout", NULL, 0, in, 3, (void *[]){y, mask}, 2);
    for (int i = 0; i < 4000; i++) {
        kept += mask[i];
        expect_near(y[i], mask[i] ? 4.0 : 0.0, 1e-6);
    }
    expect(kept > 2850 && kept < 3150); /* 3000 with a deviation of 27 */
    train = false;
    call("Dropout", NULL, 0, in, 3, (void *[]){y, mask}, 2);
    for (int i = 0; i < 4000; i++)
        expect(mask[i] && y[i] == 3.0f);
    end();
}
