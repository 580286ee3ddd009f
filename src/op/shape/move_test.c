/* move_test.c - the operators that move elements: what their cases cannot express, and every message of theirs. */
#include "op/shape/move.h"
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

#define BIG (INT64_C(1) << 40)
#define INTS(...)                                                                                                 \
    {                                                                                                             \
        .dtype = AS_I64, .shape = {.rank = 1, .dim = {sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)}}, \
        .constant = (const int64_t[])                                                                             \
        {                                                                                                         \
            __VA_ARGS__                                                                                           \
        }                                                                                                         \
    }
#define INT(value_)                                               \
    {                                                             \
        .dtype = AS_I64, .constant = (const int64_t[]) { value_ } \
    }
#define ATTR(...) .n_attrs = 1, .attrs = {__VA_ARGS__}
#define TENSOR(view_)                                              \
    {                                                              \
        .name = "value", .kind = AS_ATTR_TENSOR, .tensor = (view_) \
    }

static const as_view pair = {.dtype = AS_F32, .shape = {1, {2}}}, untyped = {.shape = {1, {1}}};

static const refusal refusals[] = {
    {.op = "Cast", .part = "to is 8, which is not a known dtype", .n_in = 1, .in = {AS_IN(F32, 1)}, ATTR(AS_ATTR_I("to", 8))},
    {.op = "Cast", .part = "to is 29", .n_in = 1, .in = {AS_IN(F32, 1)}, ATTR(AS_ATTR_I("to", 29))},
    {.op = "Cast",
     .part = "round_mode is 'sideways' and must be up, down or nearest",
     .n_in = 1,
     .in = {AS_IN(F32, 1)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("to", 24), AS_ATTR_S("round_mode", "sideways")}},
    {.op = "CastLike",
     .part = "round_mode is 'x' and must be",
     .n_in = 2,
     .in = {AS_IN(F32, 1), AS_IN(F32, 1)},
     ATTR(AS_ATTR_S("round_mode", "x"))},
    {.op = "Concat",
     .part = "input 0 is i4 and must be one of f64 f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64 bool",
     .n_in = 1,
     .in = {AS_IN(I4, 1)},
     ATTR(AS_ATTR_I("axis", 0))},
    {.op = "Cast", .part = "to is -1", .n_in = 1, .in = {AS_IN(F32, 1)}, ATTR(AS_ATTR_I("to", -1))},
    {.op = "Cast", .part = "to is 99", .n_in = 1, .in = {AS_IN(F32, 1)}, ATTR(AS_ATTR_I("to", 99))},
    {.op = "Cast", .part = "attribute 'to' is missing", .n_in = 1, .in = {AS_IN(F32, 1)}},
    {.op = "Concat",
     .part = "input 0 is [2,3] and input 1 is [3,3]: they may differ in axis 1 alone",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3, 3)},
     ATTR(AS_ATTR_I("axis", 1))},
    {.op = "Concat", .part = "input 1 is [2]", .n_in = 2, .in = {AS_IN(F32, 2, 3), AS_IN(F32, 2)}, ATTR(AS_ATTR_I("axis", 1))},
    {.op = "Concat",
     .part = "input 1 of 3 is absent",
     .n_in = 3,
     .in = {AS_IN(F32, 2), {.dtype = AS_NONE}, AS_IN(F32, 2)},
     ATTR(AS_ATTR_I("axis", 0))},
    {.op = "Concat",
     .part = "input 0 is f32 and input 1 is i8",
     .n_in = 2,
     .in = {AS_IN(F32, 2), AS_IN(I8, 2)},
     ATTR(AS_ATTR_I("axis", 0))},
    {.op = "Concat", .part = "axis 1 is outside of [-1, 1)", .n_in = 1, .in = {AS_IN(F32, 2)}, ATTR(AS_ATTR_I("axis", 1))},
    {.op = "Concat",
     .part = "add up to more than 64 bits",
     .n_in = 2,
     .in = {AS_IN(I8, INT64_MAX), AS_IN(I8, INT64_MAX)},
     ATTR(AS_ATTR_I("axis", 0))},
    {.op = "Constant", .part = "it has 0 attributes and needs exactly one value"},
    {.op = "Constant", .part = "value is a tensor of unknown dtype", ATTR(TENSOR(&untyped))},
    {.op = "ConstantOfShape", .part = "input[1] is -2, which is not a size", .n_in = 1, .in = {INTS(3, -2)}},
    {.op = "ConstantOfShape", .part = "value is [2] and must hold one element", .n_in = 1, .in = {INTS(3)}, ATTR(TENSOR(&pair))},
    {.op = "ConstantOfShape", .part = "value is a tensor of unknown dtype", .n_in = 1, .in = {INTS(3)}, ATTR(TENSOR(&untyped))},
    {.op = "ConstantOfShape", .part = "which is too large", .n_in = 1, .in = {INTS(BIG, BIG)}},
    {.op = "CumSum", .part = "axis (input 1) is f32 and must be i64 or i32", .n_in = 2, .in = {AS_IN(F32, 3), AS_IN(F32, 1)}},
    {.op = "CumSum", .part = "axis (input 1) is [2] and must be one number", .n_in = 2, .in = {AS_IN(F32, 3), INTS(0, 0)}},
    {.op = "CumSum", .part = "axis 1 is outside of [-1, 1)", .n_in = 2, .in = {AS_IN(F32, 3), INT(1)}},
    {.op = "CumSum", .part = "has no axis to sum along", .n_in = 2, .in = {{.dtype = AS_F32}, INT(0)}},
    {.op = "DepthToSpace", .part = "must be [N, C, H, W]", .n_in = 1, .in = {AS_IN(F32, 4, 2, 2)}, ATTR(AS_ATTR_I("blocksize", 2))},
    {.op = "DepthToSpace", .part = "blocksize is 0", .n_in = 1, .in = {AS_IN(F32, 1, 4, 2, 2)}, ATTR(AS_ATTR_I("blocksize", 0))},
    {.op = "DepthToSpace",
     .part = "5 channels do not divide by the 4 pixels",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 5, 2, 2)},
     ATTR(AS_ATTR_I("blocksize", 2))},
    {.op = "DepthToSpace",
     .part = "mode is 'CDR'",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 4, 2, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("blocksize", 2), AS_ATTR_S("mode", "CDR")}},
    {.op = "DepthToSpace",
     .part = "is too large",
     .n_in = 1,
     .in = {AS_IN(F32, 0, 0, INT64_MAX / 8, 1)},
     ATTR(AS_ATTR_I("blocksize", 9))},
    {.op = "SpaceToDepth", .part = "must be [N, C, H, W]", .n_in = 1, .in = {AS_IN(F32, 4, 2, 2)}, ATTR(AS_ATTR_I("blocksize", 2))},
    {.op = "SpaceToDepth", .part = "blocksize is -1", .n_in = 1, .in = {AS_IN(F32, 1, 4, 2, 2)}, ATTR(AS_ATTR_I("blocksize", -1))},
    {.op = "SpaceToDepth",
     .part = "the 2 by 3 pixels do not divide into blocks of 2",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 4, 2, 3)},
     ATTR(AS_ATTR_I("blocksize", 2))},
    {.op = "SpaceToDepth",
     .part = "is too large",
     .n_in = 1,
     .in = {AS_IN(F32, 0, INT64_MAX / 8, 0, 0)},
     ATTR(AS_ATTR_I("blocksize", 9))},
    {.op = "Gather", .part = "indices (input 1) is f32", .n_in = 2, .in = {AS_IN(F32, 3), AS_IN(F32, 1)}},
    {.op = "Gather", .part = "axis 1 is outside", .n_in = 2, .in = {AS_IN(F32, 3), AS_IN(I64, 1)}, ATTR(AS_ATTR_I("axis", 1))},
    {.op = "Gather", .part = "would have rank 9", .n_in = 2, .in = {AS_IN(F32, 1, 1, 1, 1, 1), AS_IN(I64, 1, 1, 1, 1, 1)}},
    {.op = "GatherElements",
     .part = "of one rank, and no larger but along axis 0",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 2), AS_IN(I64, 3, 3)}},
    {.op = "GatherElements", .part = "indices are [3] and data is [3,2]", .n_in = 2, .in = {AS_IN(F32, 3, 2), AS_IN(I64, 3)}},
    {.op = "GatherND", .part = "indices (input 1) is i32 and must be i64", .n_in = 2, .in = {AS_IN(F32, 3, 2), AS_IN(I32, 3, 1)}},
    {.op = "GatherND", .part = "neither may be a scalar", .n_in = 2, .in = {{.dtype = AS_F32}, AS_IN(I64, 1)}},
    {.op = "GatherND",
     .part = "batch_dims is 2",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 2), AS_IN(I64, 3, 2, 1)},
     ATTR(AS_ATTR_I("batch_dims", 2))},
    {.op = "GatherND",
     .part = "their first 1 sizes must agree",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 2), AS_IN(I64, 2, 1)},
     ATTR(AS_ATTR_I("batch_dims", 1))},
    {.op = "GatherND",
     .part = "each holds 3 numbers and data [3,2] has 2 axes",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 2), AS_IN(I64, 3, 3)}},
    {.op = "GatherND", .part = "would have rank 9", .n_in = 2, .in = {AS_IN(F32, 1, 1, 1, 1, 1, 1), AS_IN(I64, 1, 1, 1, 1, 1)}},
    {.op = "OneHot",
     .part = "depth (input 1) must be known while planning",
     .n_in = 3,
     .in = {AS_IN(I64, 3), AS_IN(I64, 1), AS_IN(F32, 2)}},
    {.op = "OneHot", .part = "depth (input 1) is [2]", .n_in = 3, .in = {AS_IN(I64, 3), INTS(1, 2), AS_IN(F32, 2)}},
    {.op = "OneHot", .part = "depth is -1", .n_in = 3, .in = {AS_IN(I64, 3), INT(-1), AS_IN(F32, 2)}},
    {.op = "OneHot",
     .part = "values (input 2) are [3] and must be [off, on]",
     .n_in = 3,
     .in = {AS_IN(I64, 3), INT(1), AS_IN(F32, 3)}},
    {.op = "OneHot", .part = "and one axis more", .n_in = 3, .in = {AS_IN(I64, 1, 1, 1, 1, 1, 1, 1, 1), INT(1), AS_IN(F32, 2)}},
    {.op = "OneHot",
     .part = "axis 2 is outside of [-2, 2)",
     .n_in = 3,
     .in = {AS_IN(I64, 3), INT(1), AS_IN(F32, 2)},
     ATTR(AS_ATTR_I("axis", 2))},
    {.op = "Pad", .part = "mode is 'mirror'", .n_in = 2, .in = {AS_IN(F32, 3), INTS(1, 1)}, ATTR(AS_ATTR_S("mode", "mirror"))},
    {.op = "Pad", .part = "pads (input 1) has 3 values for 1 axes", .n_in = 2, .in = {AS_IN(F32, 3), INTS(1, 1, 1)}},
    {.op = "Pad", .part = "pads (input 1) must be known while planning", .n_in = 2, .in = {AS_IN(F32, 3), AS_IN(I64, 2)}},
    {.op = "Pad", .part = "pads (input 1) is [1,2] and must be a vector", .n_in = 2, .in = {AS_IN(F32, 3), AS_IN(I64, 1, 2)}},
    {.op = "Pad", .part = "pads (input 1) has 17 values and at most 16", .n_in = 2, .in = {AS_IN(F32, 3), AS_IN(I64, 17)}},
    {.op = "Pad", .part = "cannot be padded by -2 and -2", .n_in = 2, .in = {AS_IN(F32, 3), INTS(-2, -2)}},
    {.op = "Pad", .part = "cannot be padded by", .n_in = 2, .in = {AS_IN(F32, 3), INTS(INT64_MAX, 1)}},
    {.op = "Pad",
     .part = "axis 0 has no elements that the padding could repeat",
     .n_in = 2,
     .in = {AS_IN(F32, 0), INTS(1, 1)},
     ATTR(AS_ATTR_S("mode", "edge"))},
    {.op = "Pad",
     .part = "data is f32 and constant_value (input 2) is i8",
     .n_in = 3,
     .in = {AS_IN(F32, 3), INTS(1, 1), AS_IN(I8, 1)}},
    {.op = "Pad", .part = "constant_value (input 2) is [2]", .n_in = 3, .in = {AS_IN(F32, 3), INTS(1, 1), AS_IN(F32, 2)}},
    {.op = "Pad",
     .part = "axes names axis 0 twice",
     .n_in = 4,
     .in = {AS_IN(F32, 3), INTS(1, 1, 1, 1), AS_IN(F32, 1), INTS(0, -1)}},
    {.op = "Range", .part = "limit (input 1) is [2] and must be one number", .n_in = 3, .in = {INT(0), INTS(1, 2), INT(1)}},
    {.op = "Range", .part = "delta (input 2) must be known while planning", .n_in = 3, .in = {INT(0), INT(1), AS_IN(I64, 1)}},
    {.op = "Range", .part = "from 0 to 1 by 0 is not a range", .n_in = 3, .in = {INT(0), INT(1), INT(0)}},
    {.op = "Range", .part = "more numbers than 63 bits count", .n_in = 3, .in = {INT(INT64_MIN), INT(INT64_MAX), INT(1)}},
    {.op = "Range",
     .part = "from 0 to 1 by 0 is not a range",
     .n_in = 3,
     .in = {{.dtype = AS_F64, .constant = (const double[]){0}},
            {.dtype = AS_F64, .constant = (const double[]){1}},
            {.dtype = AS_F64, .constant = (const double[]){0}}}},
    {.op = "ScatterElements",
     .part = "data is f32 and updates are f64",
     .n_in = 3,
     .in = {AS_IN(F32, 3), AS_IN(I64, 1), AS_IN(F64, 1)}},
    {.op = "ScatterElements",
     .part = "indices are [1] and updates are [2]",
     .n_in = 3,
     .in = {AS_IN(F32, 3), AS_IN(I64, 1), AS_IN(F32, 2)}},
    {.op = "ScatterElements",
     .part = "reduction is 'sum' and must be none, add, mul, max or min",
     .n_in = 3,
     .in = {AS_IN(F32, 3), AS_IN(I64, 1), AS_IN(F32, 1)},
     ATTR(AS_ATTR_S("reduction", "sum"))},
    {.op = "ScatterElements",
     .part = "no larger but along axis 0",
     .n_in = 3,
     .in = {AS_IN(F32, 3, 2), AS_IN(I64, 3, 3), AS_IN(F32, 3, 3)}},
    {.op = "ScatterND",
     .part = "data is f32 and updates are f64",
     .n_in = 3,
     .in = {AS_IN(F32, 3), AS_IN(I64, 1, 1), AS_IN(F64, 1)}},
    {.op = "ScatterND", .part = "neither may be a scalar", .n_in = 3, .in = {{.dtype = AS_F32}, AS_IN(I64, 1), AS_IN(F32, 1)}},
    {.op = "ScatterND",
     .part = "each holds 2 numbers and data [3] has 1 axes",
     .n_in = 3,
     .in = {AS_IN(F32, 3), AS_IN(I64, 1, 2), AS_IN(F32, 1)}},
    {.op = "ScatterND",
     .part = "updates are [2], not the shape of what is replaced",
     .n_in = 3,
     .in = {AS_IN(F32, 3), AS_IN(I64, 1, 1), AS_IN(F32, 2)}},
    {.op = "Slice",
     .part = "there are 1 starts, 2 ends, 1 axes and 1 steps",
     .n_in = 3,
     .in = {AS_IN(F32, 3, 3), INTS(0), INTS(1, 1)}},
    {.op = "Slice", .part = "the step along axis 0 is 0", .n_in = 5, .in = {AS_IN(F32, 3), INTS(0), INTS(1), INTS(0), INTS(0)}},
    {.op = "Slice", .part = "axes names axis 0 twice", .n_in = 4, .in = {AS_IN(F32, 3), INTS(0, 0), INTS(1, 1), INTS(0, -1)}},
    {.op = "Slice", .part = "axis 1 is outside of [-1, 1)", .n_in = 3, .in = {AS_IN(F32, 3), INTS(0, 0), INTS(1, 1)}},
    {.op = "Slice",
     .part = "ends (input 2) must be known while planning",
     .n_in = 3,
     .in = {AS_IN(F32, 3), INTS(0), AS_IN(I32, 1)}},
    {.op = "assay.SliceGrad",
     .part = "the input is [2] for a slice of [3,3]",
     .n_in = 1,
     .in = {AS_IN(F32, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("input_shape", 3, 3), AS_ATTR_LIST("starts", 0, 0), AS_ATTR_LIST("steps", 1, 1)}},
    {.op = "assay.SliceGrad",
     .part = "2 elements from 2 by 1 do not fit the 3 of axis 0",
     .n_in = 1,
     .in = {AS_IN(F32, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("input_shape", 3), AS_ATTR_LIST("starts", 2), AS_ATTR_LIST("steps", 1)}},
    {.op = "Split", .part = "split[1] is -1", .n_in = 2, .in = {AS_IN(F32, 3), INTS(4, -1)}, .n_out = 2},
    {.op = "Split", .part = "split adds up to 4 and axis 0 has 3", .n_in = 2, .in = {AS_IN(F32, 3), INTS(2, 2)}, .n_out = 2},
    {.op = "Split",
     .part = "both split and num_outputs",
     .n_in = 2,
     .in = {AS_IN(F32, 3), INTS(3)},
     ATTR(AS_ATTR_I("num_outputs", 1))},
    {.op = "Split", .part = "num_outputs is 65", .n_in = 1, .in = {AS_IN(F32, 3)}, ATTR(AS_ATTR_I("num_outputs", 65))},
    {.op = "Split", .part = "which are not 2 equal parts", .n_in = 1, .in = {AS_IN(F32, 3)}, .n_out = 2},
    {.op = "Split",
     .part = "3 outputs are requested and there are 2 parts",
     .n_in = 2,
     .in = {AS_IN(F32, 3), INTS(1, 2)},
     .n_out = 3},
    {.op = "Squeeze", .part = "axis 1 of [1,3] does not have size 1", .n_in = 2, .in = {AS_IN(F32, 1, 3), INTS(1)}},
    {.op = "Squeeze", .part = "axes names axis 0 twice", .n_in = 2, .in = {AS_IN(F32, 1, 3), INTS(0, -2)}},
    {.op = "Squeeze", .part = "axes (input 1) must be known while planning", .n_in = 2, .in = {AS_IN(F32, 1, 3), AS_IN(I64, 1)}},
    {.op = "Unsqueeze", .part = "axis 3 is outside of [-3, 3)", .n_in = 2, .in = {AS_IN(F32, 1, 3), INTS(3)}},
    {.op = "Unsqueeze", .part = "and 1 axes more: at most 8", .n_in = 2, .in = {AS_IN(F32, 1, 1, 1, 1, 1, 1, 1, 1), INTS(0)}},
    {.op = "Unsqueeze", .part = "axes (input 1) is f32", .n_in = 2, .in = {AS_IN(F32, 1), AS_IN(F32, 1)}},
    {.op = "Tile", .part = "repeats has 1 values and the input [2,3] has rank 2", .n_in = 2, .in = {AS_IN(F32, 2, 3), INTS(1)}},
    {.op = "Tile", .part = "repeats[0] is -1", .n_in = 2, .in = {AS_IN(F32, 2), INTS(-1)}},
    {.op = "Tile", .part = "is too large", .n_in = 2, .in = {AS_IN(F32, 4), INTS(INT64_MAX)}},
    {.op = "TopK", .part = "K is 4 and axis 0 of [3] has 3 elements", .n_in = 2, .in = {AS_IN(F32, 3), INTS(4)}},
    {.op = "TopK", .part = "K is -1", .n_in = 2, .in = {AS_IN(F32, 3), INTS(-1)}},
    {.op = "TopK", .part = "K (input 1) must be known while planning", .n_in = 2, .in = {AS_IN(F32, 3), AS_IN(I64, 1)}},
    {.op = "Trilu", .part = "must have rank 2 or more", .n_in = 1, .in = {AS_IN(F32, 3)}},
    {.op = "Trilu", .part = "k (input 1) is i32 and must be i64", .n_in = 2, .in = {AS_IN(F32, 3, 3), AS_IN(I32, 1)}},
    {.op = "Trilu", .part = "k (input 1) is [2] and must be one number", .n_in = 2, .in = {AS_IN(F32, 3, 3), AS_IN(I64, 2)}},
};

Test(move, refuses_with_a_sentence_and_leaves_the_outputs)
{
    start();
    for (size_t i = 0; i < AS_COUNT(refusals); i++) {
        const refusal *r = &refusals[i];
        as_tensor_info out[AS_MAX_OUT], before[AS_MAX_OUT];
        as_node_ctx    n = {.op = as_op_find(r->op),
                            .name = "the-node",
                            .attrs = r->attrs,
                            .n_attrs = r->n_attrs,
                            .in = r->in,
                            .n_in = r->n_in,
                            .n_out = r->n_out ? r->n_out : 1};
        expect(n.op);
        memset(out, 0x5a, sizeof out);
        memset(before, 0x5a, sizeof before);
        if (as_op_infer(env, &n, out) != ASSAY_BAD_INPUT)
            fail("%s, expecting \"%s\": not refused", r->op, r->part);
        expect_has(assay_message(env), r->part);
        expect_has(assay_message(env), "'the-node': ");
        expect(!memcmp(out, before, sizeof out));
    }
    end();
}

/* --- Runs --- */

/* Every input is a constant; the caller gives the space for the outputs. */
static assay_status run(const char *op, const as_view *in, int n_in, const as_attr *attrs, int n_attrs, as_view *out, int n_out)
{
    as_tensor_info info[4] = {0}, found[AS_MAX_OUT];
    for (int i = 0; i < n_in; i++)
        info[i] = (as_tensor_info){.dtype = in[i].dtype, .shape = in[i].shape, .constant = in[i].data};
    as_node_ctx n = {.op = as_op_find(op),
                     .name = "n",
                     .attrs = attrs,
                     .n_attrs = n_attrs,
                     .in = info,
                     .n_in = n_in,
                     .out = found,
                     .n_out = n_out};
    expect_ok(env, as_op_infer(env, &n, found));
    for (int i = 0; i < n_out; i++)
        out[i] = as_view_of(out[i].data, found[i].dtype, &found[i].shape);
    return n.op->eval(env, &n, in, out);
}

#define VIEW(array_, dtype_, ...) as_view_of(array_, AS_##dtype_, &AS_SHAPE(__VA_ARGS__))

Test(move, an_index_out_of_range_is_refused_with_its_place_and_value)
{
    double  data[] = {1, 2, 3}, update[] = {7, 8}, y[3];
    int64_t at[] = {0, 3}, low[] = {1, -4};
    as_view out = {.data = y}, in[] = {VIEW(data, F64, 3), VIEW(at, I64, 2), VIEW(update, F64, 2)};
    start();
    expect_fails(env, run("Gather", in, 2, NULL, 0, &out, 1), ASSAY_BAD_INPUT, "Gather 'n': indices[1] is 3, outside of [-3, 3)");
    expect_fails(env, run("GatherElements", in, 2, NULL, 0, &out, 1), ASSAY_BAD_INPUT, "indices[1] is 3, outside of [-3, 3)");
    expect_fails(env, run("ScatterElements", in, 3, NULL, 0, &out, 1), ASSAY_BAD_INPUT, "indices[1] is 3, outside of [-3, 3)");
    in[1] = VIEW(low, I64, 2, 1);
    expect_fails(env, run("GatherND", in, 2, NULL, 0, &out, 1), ASSAY_BAD_INPUT, "indices[1] is -4, outside of [-3, 3)");
    expect_fails(env, run("ScatterND", in, 3, NULL, 0, &out, 1), ASSAY_BAD_INPUT, "indices[1] is -4, outside of [-3, 3)");
    end();
}

Test(move, an_axis_that_is_computed_is_checked_when_it_runs)
{
    double         data[] = {1, 2, 3}, y[3];
    int64_t        axis[] = {1};
    as_view        in[] = {VIEW(data, F64, 3), VIEW(axis, I64, 1)}, out = VIEW(y, F64, 3);
    as_tensor_info info[] = {AS_IN(F64, 3), AS_IN(I64, 1)}, found;
    as_node_ctx    n = {.op = as_op_find("CumSum"), .name = "n", .in = info, .n_in = 2, .out = &found, .n_out = 1};
    start();
    expect_ok(env, as_op_infer(env, &n, &found));
    expect_fails(env, n.op->eval(env, &n, in, &out), ASSAY_BAD_INPUT, "axis 1 is outside of [-1, 1)");
    end();
}

Test(move, pad_takes_axes_without_a_value)
{
    double  x[] = {1, 2}, y[6];
    int64_t pads[] = {1, 0}, axes[] = {-1};
    as_view in[] = {VIEW(x, F64, 2, 1), VIEW(pads, I64, 2), {.dtype = AS_NONE}, VIEW(axes, I64, 1)}, out = {.data = y};
    start();
    expect_ok(env, run("Pad", in, 4, NULL, 0, &out, 1));
    expect(y[0] == 0 && y[1] == 1 && y[2] == 0 && y[3] == 2);
    end();
}

Test(move, split_writes_each_part)
{
    float   x[] = {1, 2, 3, 4, 5, 6, 7}, a[3], b[3], c[3];
    int64_t sizes[] = {1, 4, 2};
    as_attr three = AS_ATTR_I("num_outputs", 3);
    as_view in[] = {VIEW(x, F32, 7), VIEW(sizes, I64, 3)}, out[] = {{.data = a}, {.data = b}, {.data = c}};
    start();
    expect_ok(env, run("Split", in, 1, &three, 1, out, 3)); /* 3, 3 and the remainder */
    expect_eq(out[2].shape.dim[0], 1);
    expect(a[0] == 1 && a[2] == 3 && b[0] == 4 && b[2] == 6 && c[0] == 7);
    float four[4];
    out[1].data = four;
    expect_ok(env, run("Split", in, 2, NULL, 0, out, 3));
    expect(a[0] == 1 && four[0] == 2 && four[3] == 5 && c[0] == 6 && c[1] == 7);
    in[0] = VIEW(x, F32, 6);
    out[1].data = b;
    expect_ok(env, run("Split", in, 1, NULL, 0, out, 2)); /* equal parts, one per output */
    expect(a[0] == 1 && a[2] == 3 && b[0] == 4 && b[2] == 6);
    end();
}

Test(move, top_k_says_where_and_puts_the_first_of_equals_first)
{
    double  x[] = {4, NAN, 4, 9, -INFINITY}, y[5];
    int64_t k[] = {5}, where[5];
    as_attr smallest = AS_ATTR_I("largest", 0);
    as_view in[] = {VIEW(x, F64, 5), VIEW(k, I64, 1)}, out[] = {{.data = y}, {.data = where}};
    start();
    expect_ok(env, run("TopK", in, 2, NULL, 0, out, 2));
    expect(isnan(y[0]) && where[0] == 1 && where[1] == 3 && where[2] == 0 && where[3] == 2 && where[4] == 4);
    expect_ok(env, run("TopK", in, 2, &smallest, 1, out, 2));
    expect(where[0] == 4 && where[1] == 0 && where[2] == 2 && where[3] == 3 && where[4] == 1);
    end();
}

Test(move, a_u64_is_cast_exactly)
{
    uint64_t x[] = {UINT64_MAX, (UINT64_C(1) << 63) + 1, 5}, back[3];
    double   y[3];
    float    f[3], tie[] = {0x1p64f, -1.0f, NAN};
    int8_t   low[3];
    as_attr  to_f64 = AS_ATTR_I("to", 11), to_f32 = AS_ATTR_I("to", 1), to_u64 = AS_ATTR_I("to", 13), to_i8 = AS_ATTR_I("to", 3);
    as_view  in = VIEW(x, U64, 3), out = {.data = y};
    start();
    expect_ok(env, run("Cast", &in, 1, &to_f64, 1, &out, 1));
    expect(y[0] == 0x1p64 && y[1] == 0x1p63 && y[2] == 5);
    out.data = f;
    x[1] = (UINT64_C(1) << 63) + (UINT64_C(1) << 39) + 1; /* one more than halfway between two floats */
    expect_ok(env, run("Cast", &in, 1, &to_f32, 1, &out, 1));
    expect(f[0] == 0x1p64f && f[1] == 0x1p63f + 0x1p40f && f[2] == 5);
    out.data = low;
    expect_ok(env, run("Cast", &in, 1, &to_i8, 1, &out, 1));
    expect(low[0] == -1 && low[1] == 1 && low[2] == 5);
    in = VIEW(tie, F32, 3);
    out.data = back;
    expect_ok(env, run("Cast", &in, 1, &to_u64, 1, &out, 1));
    expect(back[0] == UINT64_MAX && back[1] == 0 && back[2] == 0);
    end();
}

Test(move, a_nan_wins_in_a_scatter_by_max_and_by_min)
{
    double  data[] = {1, NAN}, update[] = {NAN, 2}, y[2];
    int64_t at[] = {0, 1};
    as_attr max = AS_ATTR_S("reduction", "max"), min = AS_ATTR_S("reduction", "min");
    as_view out = {.data = y}, in[] = {VIEW(data, F64, 2), VIEW(at, I64, 2), VIEW(update, F64, 2)};
    start();
    expect_ok(env, run("ScatterElements", in, 3, &max, 1, &out, 1));
    expect(isnan(y[0]) && isnan(y[1]));
    expect_ok(env, run("ScatterElements", in, 3, &min, 1, &out, 1));
    expect(isnan(y[0]) && isnan(y[1]));
    end();
}

Test(move, a_gradient_that_is_not_known_is_said)
{
    as_tensor_info f = AS_IN(F32, 2, 2), pads = INTS(0, 0, 1, 1), index = AS_IN(I64, 2, 1), update = AS_IN(F32, 2, 2),
                   same = AS_IN(I64, 2, 2), out;
    as_attr edge = AS_ATTR_S("mode", "edge"), mul = AS_ATTR_S("reduction", "mul"), batch = AS_ATTR_I("batch_dims", 1);
    struct {
        const char    *op, *part;
        as_tensor_info in[3];
        int            n_in;
        as_attr       *attr;
    } list[] = {
        {"Pad", "Pad 'n': no gradient: only that of the mode constant is known", {f, pads}, 2, &edge},
        {"GatherND", "GatherND 'n': no gradient: ScatterND has no batch_dims", {f, index}, 2, &batch},
        {"ScatterND", "only those of the reductions none and add are known", {f, index, update}, 3, &mul},
        {"ScatterElements", "only those of the reductions none and add are known", {f, same, update}, 3, &mul},
    };
    start();
    for (size_t i = 0; i < AS_COUNT(list); i++) {
        as_builder  b = {.env = env};
        as_node_ctx n = {.op = as_op_find(list[i].op),
                         .name = "n",
                         .attrs = list[i].attr,
                         .n_attrs = 1,
                         .in = list[i].in,
                         .n_in = list[i].n_in,
                         .out = &out,
                         .n_out = 1};
        int         ids[3] = {0, 1, 2}, d_out = 3, d_in[3];
        expect_ok(env, as_op_infer(env, &n, &out));
        expect_fails(env, n.op->grad(&b, &n, ids, ids, &d_out, d_in), ASSAY_UNSUPPORTED, list[i].part);
    }
    end();
}

Test(move, costs_count_what_must_be_touched)
{
    as_tensor_info table = AS_IN(F32, 1000, 8), rows = AS_IN(I64, 3), in[2] = {table, rows}, out[2];
    as_node_ctx    n = {.op = as_op_find("Gather"), .name = "n", .in = in, .n_in = 2, .out = out, .n_out = 1};
    start();
    expect_ok(env, as_op_infer(env, &n, out));
    expect_eq(n.op->cost(&n).bytes_read, 3 * 8 * 4 + 3 * 8); /* three rows and three indices, not the table */
    expect_eq(n.op->cost(&n).bytes_written, 3 * 8 * 4);
    n.op = as_op_find("Shape");
    n.n_in = 1;
    expect_ok(env, as_op_infer(env, &n, out));
    expect_eq(n.op->cost(&n).bytes_read, 0);
    expect_eq(n.op->cost(&n).bytes_written, 16);
    end();
}
