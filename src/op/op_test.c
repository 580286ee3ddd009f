/* op_test.c - what all operators share: attributes, refusals, costs, the builder's helpers. */
#include <stdlib.h>

#include "op/rules.h"
#include "tests/conform/op_case.h"
#include "tests/runner/test.h"

static assay_env *env;

static void start(void) { expect(assay_env_new(&env) == ASSAY_OK); }
static void end(void) { assay_env_free(env); }

/* --- Finding and reading --- */

Test(op, is_found_by_its_onnx_name)
{
    expect(as_op_find("MatMul"));
    expect_str(as_op_find("assay.ConvGradX")->name, "assay.ConvGradX");
    expect(!as_op_find("matmul"));
    expect(!as_op_find(""));
}

Test(op, every_table_entry_is_whole)
{
    for (const as_op *const *op = as_op_table; *op; op++) {
        if (as_op_find((*op)->name) != *op)
            fail("%s is in the table twice", (*op)->name);
        if (!(*op)->infer || !(*op)->cost || !(*op)->eval || !(*op)->n_cases)
            fail("%s lacks a rule or its cases", (*op)->name);
        expect((*op)->min_in >= 0 && (*op)->min_in <= (*op)->max_in && (*op)->max_in <= AS_MAX_IN);
        expect((*op)->min_out >= 1 && (*op)->min_out <= (*op)->max_out && (*op)->max_out <= AS_MAX_OUT);
        for (size_t i = 0; i < (*op)->n_cases; i++)
            for (size_t j = 0; j < i; j++)
                if (!strcmp((*op)->cases[i].name, (*op)->cases[j].name))
                    fail("%s has two cases '%s'", (*op)->name, (*op)->cases[i].name);
    }
}

Test(op, attributes_are_read_or_take_their_default)
{
    as_attr     list[] = {AS_ATTR_I("i", 7), AS_ATTR_F("f", 0.5), AS_ATTR_S("s", "x"), AS_ATTR_LIST("l", 1, 2, 3)};
    as_node_ctx n = {.attrs = list, .n_attrs = 4};
    int64_t     out[2] = {-1, -1};
    expect_eq(as_attr_int(&n, "i", 1), 7);
    expect_eq(as_attr_int(&n, "none", 1), 1);
    expect_near(as_attr_float(&n, "f", 1.0), 0.5, 0);
    expect_near(as_attr_float(&n, "none", 1.0), 1.0, 0);
    expect_str(as_attr_text(&n, "s", "y"), "x");
    expect_str(as_attr_text(&n, "none", "y"), "y");
    expect_eq(as_attr_ints(&n, "l", out, 2), 3);
    expect_eq(out[0], 1);
    expect_eq(out[1], 2);
    expect_eq(as_attr_ints(&n, "none", out, 2), 0);
    expect(!as_attr_find(&n, "none"));
}

/* --- Refusals: every message, with the node's name, and outputs untouched --- */

typedef struct refusal {
    const char    *op, *part;
    int            n_in, n_attrs;
    as_tensor_info in[3];
    as_attr        attrs[3];
    int            n_out;  /* 0: one */
    assay_status   status; /* 0: BAD_INPUT */
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

static const refusal refusals[] = {
    /* common to all */
    {.op = "Relu", .part = "it has 0 inputs and takes 1 to 1", .n_in = 0},
    {.op = "Relu", .part = "it has 2 inputs and takes 1 to 1", .n_in = 2, .in = {AS_IN(F32, 1), AS_IN(F32, 1)}},
    {.op = "Relu", .part = "2 outputs are requested and it gives 1 to 1", .n_in = 1, .in = {AS_IN(F32, 1)}, .n_out = 2},
    {.op = "MatMul", .part = "input 0 is absent", .n_in = 2, .in = {{.dtype = AS_NONE}, AS_IN(F32, 1)}},
    {.op = "Relu", .part = "unknown dtype 77", .n_in = 1, .in = {{.dtype = (as_dtype)77}}},
    {.op = "Relu", .part = "input 0 is f32 [-1,2]: a size is negative", .n_in = 1, .in = {AS_IN(F32, -1, 2)}},
    {.op = "Relu", .part = "their product too large", .n_in = 1, .in = {AS_IN(F32, BIG, BIG)}},
    {.op = "Relu", .part = "input 0 has rank 9", .n_in = 1, .in = {{.dtype = AS_F32, .shape = {.rank = 9}}}},
    {.op = "Relu",
     .part = "it has no attribute 'alpha'",
     .n_in = 1,
     .n_attrs = 1,
     .in = {AS_IN(F32, 1)},
     .attrs = {AS_ATTR_F("alpha", 1)}},
    {.op = "Gemm",
     .part = "it has no attribute 'transC'",
     .n_in = 2,
     .n_attrs = 1,
     .in = {AS_IN(F32, 1, 1), AS_IN(F32, 1, 1)},
     .attrs = {AS_ATTR_I("transC", 1)}},
    {.op = "Gemm",
     .part = "attribute 'alpha' is an integer and must be a float",
     .n_in = 2,
     .n_attrs = 1,
     .in = {AS_IN(F32, 1, 1), AS_IN(F32, 1, 1)},
     .attrs = {AS_ATTR_I("alpha", 1)}},
    {.op = "Gemm",
     .part = "attribute 'transA' is a list of integers and must be an integer",
     .n_in = 2,
     .n_attrs = 1,
     .in = {AS_IN(F32, 1, 1), AS_IN(F32, 1, 1)},
     .attrs = {AS_ATTR_LIST("transA", 1)}},
    {.op = "Conv",
     .part = "attribute 'strides' is a text and must be a list of integers",
     .n_in = 2,
     .n_attrs = 1,
     .in = {AS_IN(F32, 1, 1, 1), AS_IN(F32, 1, 1, 1)},
     .attrs = {AS_ATTR_S("strides", "1")}},
    {.op = "Gemm",
     .part = "attribute 'beta' is given twice",
     .n_in = 2,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 1), AS_IN(F32, 1, 1)},
     .attrs = {AS_ATTR_F("beta", 1), AS_ATTR_F("beta", 2)}},
    {.op = "Conv",
     .part = "attribute 'auto_pad' has no value",
     .n_in = 2,
     .n_attrs = 1,
     .in = {AS_IN(F32, 1, 1, 1), AS_IN(F32, 1, 1, 1)},
     .attrs = {AS_ATTR_S("auto_pad", NULL)}},
    {.op = "Conv",
     .part = "attribute 'pads' has no value",
     .n_in = 2,
     .n_attrs = 1,
     .in = {AS_IN(F32, 1, 1, 1), AS_IN(F32, 1, 1, 1)},
     .attrs = {{.name = "pads", .kind = AS_ATTR_INTS, .n = 2}}},
    {.op = "Relu",
     .part = "an attribute has no name",
     .n_in = 1,
     .n_attrs = 1,
     .in = {AS_IN(F32, 1)},
     .attrs = {{.kind = AS_ATTR_INT}}},
    {.op = "MaxPool", .part = "attribute 'kernel_shape' is missing", .n_in = 1, .in = {AS_IN(F32, 1, 1, 1)}},
    /* dtypes */
    {.op = "Relu", .part = "input 0 is bool and must be one of f64 f32 f16 bf16 i8 i16 i32 i64", .n_in = 1, .in = {AS_IN(BOOL, 1)}},
    {.op = "Relu", .part = "input 0 is u8", .n_in = 1, .in = {AS_IN(U8, 1)}},
    {.op = "Add", .part = "input 0 is f32 and input 1 is f64", .n_in = 2, .in = {AS_IN(F32, 1), AS_IN(F64, 1)}},
    {.op = "Mul", .part = "input 0 is bool", .n_in = 2, .in = {AS_IN(BOOL, 1), AS_IN(BOOL, 1)}},
    {.op = "MatMul", .part = "input 0 is i8", .n_in = 2, .in = {AS_IN(I8, 1), AS_IN(I8, 1)}},
    {.op = "Gemm",
     .part = "input 0 is i32 and must be one of f64 f32 f16 bf16",
     .n_in = 2,
     .in = {AS_IN(I32, 1, 1), AS_IN(I32, 1, 1)}},
    {.op = "Gemm",
     .part = "input 0 is f32 and input 2 is f16",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 1), AS_IN(F32, 1, 1), AS_IN(F16, 1)}},
    {.op = "assay.FusedGemm",
     .part = "weights is 'i8' and must be f32, f16 or bf16",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1), AS_IN(F32, 1, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("weights", "i8")}},
    {.op = "assay.FusedGemm",
     .part = "weights is 'f16' and B is f64: only f32 can be stored",
     .n_in = 2,
     .in = {AS_IN(F64, 1, 1), AS_IN(F64, 1, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("weights", "f16")}},
    {.op = "Sigmoid", .part = "input 0 is i32", .n_in = 1, .in = {AS_IN(I32, 1)}},
    {.op = "Tanh", .part = "input 0 is i64", .n_in = 1, .in = {AS_IN(I64, 1)}},
    {.op = "Softmax", .part = "input 0 is i64", .n_in = 1, .in = {AS_IN(I64, 1)}},
    {.op = "Conv", .part = "input 0 is i8", .n_in = 2, .in = {AS_IN(I8, 1, 1, 1), AS_IN(I8, 1, 1, 1)}},
    {.op = "MaxPool",
     .part = "input 0 is i32",
     .n_in = 1,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("kernel_shape", 1)},
     .in = {AS_IN(I32, 1, 1, 1)}},
    {.op = "ReduceSum", .part = "input 0 is bool", .n_in = 1, .in = {AS_IN(BOOL, 1)}},
    /* Add, Sub, Mul */
    {.op = "Add",
     .part = "A is [2,3] and B is [2,4]: they do not broadcast",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 2, 4)}},
    {.op = "Sub", .part = "A is [0] and B is [2]", .n_in = 2, .in = {AS_IN(F32, 0), AS_IN(F32, 2)}},
    {.op = "Mul", .part = "do not broadcast to one shape in range", .n_in = 2, .in = {AS_IN(F32, BIG, 1), AS_IN(F32, 1, BIG)}},
    /* MatMul, Gemm */
    {.op = "MatMul", .part = "neither may be a scalar", .n_in = 2, .in = {{.dtype = AS_F32}, AS_IN(F32, 1)}},
    {.op = "MatMul",
     .part = "A is [2,3] and B is [4,5]: the inner sizes 3 and 4 differ",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 4, 5)}},
    {.op = "MatMul",
     .part = "A is [3] and B is [2]: the inner sizes 3 and 2 differ",
     .n_in = 2,
     .in = {AS_IN(F32, 3), AS_IN(F32, 2)}},
    {.op = "MatMul", .part = "the batch sizes do not broadcast", .n_in = 2, .in = {AS_IN(F32, 2, 1, 1), AS_IN(F32, 3, 1, 1)}},
    {.op = "MatMul", .part = "output 0 would be f32", .n_in = 2, .in = {AS_IN(F32, BIG, 1), AS_IN(F32, 1, BIG)}},
    {.op = "Gemm", .part = "both must be matrices", .n_in = 2, .in = {AS_IN(F32, 3), AS_IN(F32, 3, 1)}},
    {.op = "Gemm",
     .part = "with transA 1 and transB 0: the inner sizes 2 and 3 differ",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("transA", 1)},
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3, 4)}},
    {.op = "Gemm",
     .part = "C is [3] and does not broadcast to [2,4]",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3, 4), AS_IN(F32, 3)}},
    {.op = "Gemm",
     .part = "C is [1,2,4] and does not broadcast to [2,4]",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3, 4), AS_IN(F32, 1, 2, 4)}},
    {.op = "Gemm",
     .part = "C is [2,4] and does not broadcast to [1,4]",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 3), AS_IN(F32, 3, 4), AS_IN(F32, 2, 4)}},
    /* windows */
    {.op = "Conv", .part = "both must have rank 3 to 5", .n_in = 2, .in = {AS_IN(F32, 1, 1), AS_IN(F32, 1, 1)}},
    {.op = "Conv", .part = "both must have rank 3 to 5", .n_in = 2, .in = {AS_IN(F32, 1, 1, 4, 4), AS_IN(F32, 1, 1, 3)}},
    {.op = "Conv",
     .part = "both must have rank 3 to 5",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 1, 1, 1, 1), AS_IN(F32, 1, 1, 1, 1, 1, 1)}},
    {.op = "Conv", .part = "3 channels are not group 1 times 2", .n_in = 2, .in = {AS_IN(F32, 1, 3, 4), AS_IN(F32, 1, 2, 2)}},
    {.op = "Conv",
     .part = "group 2 does not divide the 3 output channels",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("group", 2)},
     .in = {AS_IN(F32, 1, 4, 4), AS_IN(F32, 3, 2, 2)}},
    {.op = "Conv",
     .part = "group is 0",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("group", 0)},
     .in = {AS_IN(F32, 1, 4, 4), AS_IN(F32, 3, 2, 2)}},
    {.op = "Conv",
     .part = "group is -1",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("group", -1)},
     .in = {AS_IN(F32, 1, 4, 4), AS_IN(F32, 3, 2, 2)}},
    {.op = "Conv", .part = "B is [2] and must be [3]", .n_in = 3, .in = {AS_IN(F32, 1, 4, 4), AS_IN(F32, 3, 4, 2), AS_IN(F32, 2)}},
    {.op = "Conv", .part = "the kernel's size 0 is 0", .n_in = 2, .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 0)}},
    {.op = "Conv",
     .part = "kernel_shape[0] is 3 and the weights have 2",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("kernel_shape", 3)},
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 2)}},
    {.op = "Conv",
     .part = "strides[0] is 0, outside of 1",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("strides", 0)},
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 2)}},
    {.op = "Conv",
     .part = "strides has 2 values and needs 1",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("strides", 1, 1)},
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 2)}},
    {.op = "Conv",
     .part = "dilations[0] is 0, outside of 1",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("dilations", 0)},
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 2)}},
    {.op = "Conv",
     .part = "dilations[0] is 9223372036854775807",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("dilations", INT64_MAX)},
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 2)}},
    {.op = "Conv",
     .part = "pads[1] is -1, outside of 0",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("pads", 0, -1)},
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 2)}},
    {.op = "Conv",
     .part = "pads[0] is 4611686018427387904",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("pads", INT64_C(1) << 62, 0)},
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 2)}},
    {.op = "Conv",
     .part = "pads has 1 values and needs 2",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("pads", 1)},
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 2)}},
    {.op = "Conv",
     .part = "the window of 5 (kernel 5, dilation 1) does not fit size 4 with pads 0 and 0",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 5)}},
    {.op = "Conv",
     .part = "auto_pad is 'SAME'",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("auto_pad", "SAME")},
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 2)}},
    {.op = "Conv",
     .part = "pads and auto_pad 'VALID' are both given",
     .n_in = 2,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 2)},
     .attrs = {AS_ATTR_S("auto_pad", "VALID"), AS_ATTR_LIST("pads", 1, 0)}},
    {.op = "Conv",
     .part = "pads and auto_pad 'SAME_UPPER' are both given",
     .n_in = 2,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 2)},
     .attrs = {AS_ATTR_S("auto_pad", "SAME_UPPER"), AS_ATTR_LIST("pads", 1, 0)}},
    {.op = "MaxPool",
     .part = "it must be [N, C, spatial...]",
     .n_in = 1,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("kernel_shape", 1)},
     .in = {AS_IN(F32, 1, 1)}},
    {.op = "MaxPool",
     .part = "kernel_shape[1] is 0",
     .n_in = 1,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("kernel_shape", 1, 0)},
     .in = {AS_IN(F32, 1, 1, 4, 4)}},
    {.op = "MaxPool",
     .part = "windows of more than 2147483647 elements",
     .n_in = 1,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("kernel_shape", 65536, 65536)},
     .in = {AS_IN(F32, 1, 1, 4, 4)}},
    {.op = "MaxPool",
     .part = "pads 2 and 0 of spatial axis 0 must be smaller than the kernel's 2",
     .n_in = 1,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 1, 4)},
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("pads", 2, 0)}},
    {.op = "MaxPool",
     .part = "storage_order is 2",
     .n_in = 1,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 1, 4)},
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_I("storage_order", 2)}},
    {.op = "MaxPool",
     .part = "spatial size 9223372036854775807 with pads 1 and 1 is too large",
     .n_in = 1,
     .n_attrs = 2,
     .in = {AS_IN(U8, 1, 1, INT64_MAX)},
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("pads", 1, 1)}},
    /* gradients of windows */
    {.op = "assay.ConvGradX",
     .part = "attribute 'input_shape' is missing",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 2), AS_IN(F32, 1, 1, 2)}},
    {.op = "assay.ConvGradX",
     .part = "dY is [1,1,3], and X [1,1,3] with W [1,1,2] gives [1,1,2]",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 1, 3)},
     .in = {AS_IN(F32, 1, 1, 3), AS_IN(F32, 1, 1, 2)}},
    {.op = "assay.ConvGradX",
     .part = "input_shape [1,1,-3] has a negative size",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 1, -3)},
     .in = {AS_IN(F32, 1, 1, 3), AS_IN(F32, 1, 1, 2)}},
    {.op = "assay.ConvGradX",
     .part = "'input_shape' must hold at most 8 sizes",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("input_shape", 1, 1, 1, 1, 1, 1, 1, 1, 1)},
     .in = {AS_IN(F32, 1, 1, 3), AS_IN(F32, 1, 1, 2)}},
    {.op = "assay.ConvGradW",
     .part = "attribute 'weight_shape' is missing",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 2), AS_IN(F32, 1, 1, 2)}},
    {.op = "assay.ConvGradW",
     .part = "dY is [1,1,3], and X [1,1,3] with W [1,1,2] gives [1,1,2]",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("weight_shape", 1, 1, 2)},
     .in = {AS_IN(F32, 1, 1, 3), AS_IN(F32, 1, 1, 3)}},
    {.op = "assay.MaxPoolGrad",
     .part = "dY is [1,1,3], and pooling X [1,1,3] gives [1,1,2]",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2)},
     .in = {AS_IN(F32, 1, 1, 3), AS_IN(F32, 1, 1, 3)}},
    {.op = "assay.ReluGrad",
     .part = "X is [3] and dY is [1]: they must be the same",
     .n_in = 2,
     .in = {AS_IN(F32, 3), AS_IN(F32, 1)}},
    /* axes */
    {.op = "Softmax",
     .part = "axis 2 is outside of [-2, 2)",
     .n_in = 1,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 2)},
     .in = {AS_IN(F32, 2, 3)}},
    {.op = "Softmax", .part = "axis -1 is outside of [0, 0)", .n_in = 1, .in = {{.dtype = AS_F32}}},
    {.op = "Flatten",
     .part = "axis 3 is outside of [-2, 2]",
     .n_in = 1,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 3)},
     .in = {AS_IN(F32, 2, 3)}},
    {.op = "Flatten", .part = "axis 1 is outside of [0, 0]", .n_in = 1, .in = {{.dtype = AS_F32}}},
    {.op = "Transpose",
     .part = "perm has 1 values and the input [2,3] has rank 2",
     .n_in = 1,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("perm", 0)},
     .in = {AS_IN(F32, 2, 3)}},
    {.op = "Transpose",
     .part = "perm[1] is 2, outside of 0 to 1",
     .n_in = 1,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("perm", 0, 2)},
     .in = {AS_IN(F32, 2, 3)}},
    {.op = "Transpose",
     .part = "perm[0] is -1, outside of 0 to 1",
     .n_in = 1,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("perm", -1, 0)},
     .in = {AS_IN(F32, 2, 3)}},
    {.op = "Transpose",
     .part = "perm names axis 1 twice",
     .n_in = 1,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("perm", 1, 1)},
     .in = {AS_IN(F32, 2, 3)}},
    {.op = "ReduceSum", .part = "axis 2 is outside of [-2, 2)", .n_in = 2, .in = {AS_IN(F32, 2, 3), INTS(2)}},
    {.op = "ReduceSum", .part = "axes names axis 1 twice", .n_in = 2, .in = {AS_IN(F32, 2, 3), INTS(1, -1)}},
    {.op = "ReduceSum", .part = "axes (input 1) must be known while planning", .n_in = 2, .in = {AS_IN(F32, 2, 3), AS_IN(I64, 1)}},
    {.op = "ReduceSum",
     .part = "axes (input 1) is i32 [1] and must be an i64 vector",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(I32, 1)}},
    /* shapes */
    {.op = "Reshape", .part = "shape (input 1) must be known while planning", .n_in = 2, .in = {AS_IN(F32, 2, 3), AS_IN(I64, 1)}},
    {.op = "Reshape",
     .part = "shape (input 1) is i64 [1,1] and must be an i64 vector",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(I64, 1, 1)}},
    {.op = "Reshape",
     .part = "shape (input 1) has 9 values and at most 8",
     .n_in = 2,
     .in = {AS_IN(F32, 1), INTS(1, 1, 1, 1, 1, 1, 1, 1, 1)}},
    {.op = "Reshape", .part = "shape[1] is -2", .n_in = 2, .in = {AS_IN(F32, 2, 3), INTS(2, -2)}},
    {.op = "Reshape", .part = "shape[0] and shape[1] are both -1", .n_in = 2, .in = {AS_IN(F32, 2, 3), INTS(-1, -1)}},
    {.op = "Reshape",
     .part = "shape[2] is 0 and the input [2,3] has no such axis",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), INTS(2, 3, 0)}},
    {.op = "Reshape", .part = "6 elements of [2,3] do not divide by the 4", .n_in = 2, .in = {AS_IN(F32, 2, 3), INTS(4, -1)}},
    {.op = "Reshape", .part = "[2,3] has 6 elements and [5] has 5", .n_in = 2, .in = {AS_IN(F32, 2, 3), INTS(5)}},
    {.op = "Reshape",
     .part = "[2,3] has 6 elements and [0] has 0",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("allowzero", 1)},
     .in = {AS_IN(F32, 2, 3), INTS(0)}},
    {.op = "Reshape",
     .part = "shape[1] is -1 beside a size of 0",
     .n_in = 2,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("allowzero", 1)},
     .in = {AS_IN(F32, 0, 3), INTS(0, -1)}},
    {.op = "Reshape", .part = "too large for the 6 elements", .n_in = 2, .in = {AS_IN(F32, 2, 3), INTS(BIG, BIG)}},
    {.op = "Expand", .part = "shape[0] is -1", .n_in = 2, .in = {AS_IN(F32, 1), INTS(-1)}},
    {.op = "Expand", .part = "[3] does not broadcast with [2]", .n_in = 2, .in = {AS_IN(F32, 3), INTS(2)}},
};

Test(op, refuses_with_a_sentence_and_leaves_the_outputs)
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
        assay_status status = as_op_infer(env, &n, out);
        if (status != (r->status ? r->status : ASSAY_BAD_INPUT))
            fail("%s, expecting \"%s\": status is %s (%s)", r->op, r->part, assay_status_text(status), assay_message(env));
        expect_has(assay_message(env), r->part);
        expect_has(assay_message(env), r->op);
        expect_has(assay_message(env), "'the-node': ");
        expect(!memcmp(out, before, sizeof out));
    }
    end();
}

Test(op, refuses_without_an_env_or_a_name)
{
    as_tensor_info in = AS_IN(I32, 1), out;
    as_node_ctx    n = {.op = as_op_find("Tanh"), .in = &in, .n_in = 1, .n_out = 1};
    expect(as_op_infer(NULL, &n, &out) == ASSAY_BAD_INPUT);
}

/* --- Shapes --- */

typedef struct shape_case {
    const char    *op, *want;
    int            n_in, n_attrs;
    as_tensor_info in[3];
    as_attr        attrs[4];
} shape_case;

static const shape_case shapes[] = {
    {.op = "Add", .want = "[2,3,4]", .n_in = 2, .in = {AS_IN(F32, 2, 1, 4), AS_IN(F32, 3, 1)}},
    {.op = "MatMul", .want = "[]", .n_in = 2, .in = {AS_IN(F32, 3), AS_IN(F32, 3)}},
    {.op = "MatMul", .want = "[5]", .n_in = 2, .in = {AS_IN(F32, 3), AS_IN(F32, 3, 5)}},
    {.op = "MatMul", .want = "[2,4]", .n_in = 2, .in = {AS_IN(F32, 2, 4, 3), AS_IN(F32, 3)}},
    {.op = "MatMul", .want = "[2,7,4,5]", .n_in = 2, .in = {AS_IN(F32, 2, 1, 4, 3), AS_IN(F32, 7, 3, 5)}},
    {.op = "Gemm",
     .want = "[3,4]",
     .n_in = 2,
     .n_attrs = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 4, 2)},
     .attrs = {AS_ATTR_I("transA", 1), AS_ATTR_I("transB", 1)}},
    {.op = "Conv",
     .want = "[1,8,14,14]",
     .n_in = 2,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 3, 28, 28), AS_IN(F32, 8, 3, 3, 3)},
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1), AS_ATTR_LIST("strides", 2, 2)}},
    {.op = "Conv",
     .want = "[1,1,3]",
     .n_in = 2,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 1, 8), AS_IN(F32, 1, 1, 5)},
     .attrs = {AS_ATTR_S("auto_pad", "SAME_LOWER"), AS_ATTR_LIST("strides", 3)}},
    {.op = "Conv",
     .want = "[1,1,2]",
     .n_in = 2,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 1, 8), AS_IN(F32, 1, 1, 5)},
     .attrs = {AS_ATTR_S("auto_pad", "VALID"), AS_ATTR_LIST("strides", 3)}},
    {.op = "Conv", .want = "[1,1,0]", .n_in = 2, .in = {AS_IN(F32, 1, 1, 0), AS_IN(F32, 1, 1, 3)}},
    {.op = "Conv",
     .want = "[1,1,0]",
     .n_in = 2,
     .n_attrs = 1,
     .in = {AS_IN(F32, 1, 1, 0), AS_IN(F32, 1, 1, 3)},
     .attrs = {AS_ATTR_S("auto_pad", "SAME_UPPER")}},
    {.op = "Conv",
     .want = "[1,1,3]",
     .n_in = 2,
     .n_attrs = 1,
     .in = {AS_IN(F32, 1, 1, 0), AS_IN(F32, 1, 1, 2)},
     .attrs = {AS_ATTR_LIST("pads", 2, 2)}},
    {.op = "MaxPool",
     .want = "[1,1,2]",
     .n_in = 1,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 1, 5)},
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("strides", 2)}},
    {.op = "MaxPool",
     .want = "[1,1,3]",
     .n_in = 1,
     .n_attrs = 3,
     .in = {AS_IN(F32, 1, 1, 5)},
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("strides", 2), AS_ATTR_I("ceil_mode", 1)}},
    /* Rounding up would add a window that starts in the padding after the input: it is dropped. */
    {.op = "MaxPool",
     .want = "[1,1,2]",
     .n_in = 1,
     .n_attrs = 4,
     .in = {AS_IN(F32, 1, 1, 4)},
     .attrs = {AS_ATTR_LIST("kernel_shape", 1), AS_ATTR_LIST("strides", 3), AS_ATTR_I("ceil_mode", 1), AS_ATTR_LIST("pads", 0, 0)}},
    {.op = "MaxPool",
     .want = "[1,1,2]",
     .n_in = 1,
     .n_attrs = 4,
     .in = {AS_IN(F32, 1, 1, 2)},
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("strides", 2), AS_ATTR_I("ceil_mode", 1), AS_ATTR_LIST("pads", 1, 1)}},
    {.op = "MaxPool",
     .want = "[1,1,2]",
     .n_in = 1,
     .n_attrs = 4,
     .in = {AS_IN(F32, 1, 1, 3)},
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("strides", 2), AS_ATTR_I("ceil_mode", 1), AS_ATTR_LIST("pads", 1, 1)}},
    {.op = "MaxPool",
     .want = "[1,1,2]",
     .n_in = 1,
     .n_attrs = 3,
     .in = {AS_IN(F32, 1, 1, 5)},
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("strides", 3), AS_ATTR_S("auto_pad", "SAME_UPPER")}},
    {.op = "Softmax", .want = "[2,3]", .n_in = 1, .n_attrs = 1, .in = {AS_IN(F32, 2, 3)}, .attrs = {AS_ATTR_I("axis", -2)}},
    {.op = "Flatten", .want = "[1,1]", .n_in = 1, .n_attrs = 1, .in = {{.dtype = AS_F32}}, .attrs = {AS_ATTR_I("axis", 0)}},
    {.op = "Flatten", .want = "[2,12]", .n_in = 1, .in = {AS_IN(F32, 2, 3, 4)}},
    {.op = "Flatten", .want = "[6,4]", .n_in = 1, .n_attrs = 1, .in = {AS_IN(F32, 2, 3, 4)}, .attrs = {AS_ATTR_I("axis", -1)}},
    {.op = "Flatten", .want = "[0,12]", .n_in = 1, .in = {AS_IN(F32, 0, 3, 4)}},
    {.op = "Transpose", .want = "[4,3,2]", .n_in = 1, .in = {AS_IN(F32, 2, 3, 4)}},
    {.op = "Transpose",
     .want = "[3,4,2]",
     .n_in = 1,
     .n_attrs = 1,
     .in = {AS_IN(F32, 2, 3, 4)},
     .attrs = {AS_ATTR_LIST("perm", 1, 2, 0)}},
    {.op = "Reshape", .want = "[2,12]", .n_in = 2, .in = {AS_IN(F32, 2, 3, 4), INTS(0, -1)}},
    {.op = "Reshape", .want = "[3,0]", .n_in = 2, .in = {AS_IN(F32, 0, 0), INTS(3, 0)}},
    {.op = "Reshape",
     .want = "[0,7]",
     .n_in = 2,
     .n_attrs = 1,
     .in = {AS_IN(F32, 3, 0), INTS(0, 7)},
     .attrs = {AS_ATTR_I("allowzero", 1)}},
    {.op = "ReduceSum", .want = "[2,1,4]", .n_in = 2, .in = {AS_IN(F32, 2, 3, 4), INTS(1)}},
    {.op = "ReduceSum",
     .want = "[3]",
     .n_in = 2,
     .n_attrs = 1,
     .in = {AS_IN(F32, 2, 3, 4), INTS(-1, 0)},
     .attrs = {AS_ATTR_I("keepdims", 0)}},
    {.op = "ReduceSum", .want = "[1,1]", .n_in = 1, .in = {AS_IN(F32, 2, 3)}},
    {.op = "ReduceSum", .want = "[]", .n_in = 1, .n_attrs = 1, .in = {AS_IN(F32, 2, 3)}, .attrs = {AS_ATTR_I("keepdims", 0)}},
    {.op = "ReduceSum",
     .want = "[2,3]",
     .n_in = 2,
     .n_attrs = 1,
     .in = {AS_IN(F32, 2, 3), AS_IN(I64, 0)},
     .attrs = {AS_ATTR_I("noop_with_empty_axes", 1)}},
    {.op = "Expand", .want = "[2,3]", .n_in = 2, .in = {AS_IN(F32, 3), INTS(2, 1)}},
    {.op = "assay.ConvGradX",
     .want = "[1,2,5]",
     .n_in = 2,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 1, 2), AS_IN(F32, 1, 2, 2)},
     .attrs = {AS_ATTR_LIST("input_shape", 1, 2, 5), AS_ATTR_LIST("strides", 2)}},
    {.op = "assay.ConvGradW",
     .want = "[1,2,2]",
     .n_in = 2,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 2, 5), AS_IN(F32, 1, 1, 2)},
     .attrs = {AS_ATTR_LIST("weight_shape", 1, 2, 2), AS_ATTR_LIST("strides", 2)}},
};

Test(op, infers_the_shape_that_onnx_says)
{
    start();
    for (size_t i = 0; i < AS_COUNT(shapes); i++) {
        const shape_case *s = &shapes[i];
        as_tensor_info    out;
        as_node_ctx       n = {.op = as_op_find(s->op),
                               .name = "n",
                               .attrs = s->attrs,
                               .n_attrs = s->n_attrs,
                               .in = s->in,
                               .n_in = s->n_in,
                               .n_out = 1};
        memset(&out, 0x5a, sizeof out);
        expect_ok(env, as_op_infer(env, &n, &out));
        if (strcmp(AS_SHOW(&out.shape), s->want))
            fail("%s, number %zu: %s, expected %s", s->op, i, AS_SHOW(&out.shape), s->want);
        expect_eq(out.dtype, AS_F32);
        expect(!out.constant && out.layout == AS_LAYOUT_ROW_MAJOR);
    }
    end();
}

/* The field and the shape rule must agree: binding traces back to the inputs that the field names. */
Test(op, known_in_names_the_inputs_whose_values_infer_needs)
{
    start();
    for (const as_op *const *op = as_op_table; *op; op++) {
        uint64_t needed = 0;
        for (size_t i = 0; i < (*op)->n_cases; i++) {
            op_call call;
            op_case_start(env, *op, &(*op)->cases[i], AS_NONE, &call);
            for (int k = 0; k < call.node.n_in; k++) {
                as_tensor_info out[AS_MAX_OUT] = {0};
                const void    *values = call.in[k].constant;
                if (!values)
                    continue;
                call.in[k].constant = NULL;
                if (as_op_infer(env, &call.node, out) != ASSAY_OK) {
                    if (!strstr(assay_message(env), "must be known while planning"))
                        fail("%s, case '%s', input %d: %s", (*op)->name, (*op)->cases[i].name, k, assay_message(env));
                    needed |= AS_INPUT_BIT(k);
                }
                call.in[k].constant = values;
            }
            as_arena_drop(&call.arena);
        }
        if (needed != (*op)->known_in)
            fail("%s: infer needs the inputs %#llx, known_in is %#llx", (*op)->name, (unsigned long long)needed,
                 (unsigned long long)(*op)->known_in);
    }
    end();
}

/* --- Costs --- */

typedef struct cost_case {
    const char    *op;
    int            n_in, n_attrs;
    as_tensor_info in[3];
    as_attr        attrs[3];
    as_cost        want; /* flops, special, read, written */
} cost_case;

static const cost_case costs[] = {
    {.op = "Add", .n_in = 2, .in = {AS_IN(F32, 7, 9), AS_IN(F32, 9)}, .want = {63, 0, 4 * 72, 4 * 63}},
    {.op = "Relu", .n_in = 1, .in = {AS_IN(F64, 7)}, .want = {7, 0, 56, 56}},
    {.op = "Sigmoid", .n_in = 1, .in = {AS_IN(F32, 7)}, .want = {14, 7, 28, 28}},
    {.op = "Div", .n_in = 2, .in = {AS_IN(F32, 7), AS_IN(F32, 7)}, .want = {7, 0, 56, 28}},
    {.op = "Tanh", .n_in = 1, .in = {AS_IN(F16, 7)}, .want = {0, 7, 14, 14}},
    {.op = "Softmax", .n_in = 1, .in = {AS_IN(F32, 2, 5)}, .want = {38, 10, 40, 40}}, /* a line of 5: 4 + 5 + 4 + 1 + 5 */
    {.op = "Softmax", .n_in = 1, .in = {AS_IN(F32, 2, 0)}, .want = {0, 0, 0, 0}},
    {.op = "MatMul", .n_in = 2, .in = {AS_IN(F32, 3, 4), AS_IN(F32, 4, 5)}, .want = {120, 0, 4 * 32, 60}},
    {.op = "MatMul", .n_in = 2, .in = {AS_IN(F32, 2, 3, 4), AS_IN(F32, 4, 5)}, .want = {240, 0, 4 * 44, 120}},
    {.op = "MatMul", .n_in = 2, .in = {AS_IN(F32, 4), AS_IN(F32, 4)}, .want = {8, 0, 32, 4}},
    {.op = "MatMul",
     .n_in = 2,
     .in = {AS_IN(F32, 1 << 30, 1 << 30), AS_IN(F32, 1 << 30, 1 << 30)},
     .want = {UINT64_MAX, 0, UINT64_C(1) << 63, UINT64_C(1) << 62}}, /* 2^91 flops do not fit */
    {.op = "Gemm", .n_in = 2, .in = {AS_IN(F32, 3, 4), AS_IN(F32, 4, 5)}, .want = {120, 0, 128, 60}},
    {.op = "Gemm", .n_in = 3, .in = {AS_IN(F32, 3, 4), AS_IN(F32, 4, 5), AS_IN(F32, 5)}, .want = {135, 0, 148, 60}},
    {.op = "Gemm",
     .n_in = 3,
     .n_attrs = 2,
     .in = {AS_IN(F32, 3, 4), AS_IN(F32, 4, 5), AS_IN(F32, 5)},
     .attrs = {AS_ATTR_F("alpha", 2), AS_ATTR_F("beta", 3)},
     .want = {155, 0, 148, 60}},
    /* 1*8*28*28 outputs, 3*3*3 multiply-adds each, and the bias. */
    {.op = "Conv",
     .n_in = 3,
     .n_attrs = 1,
     .in = {AS_IN(F32, 1, 3, 28, 28), AS_IN(F32, 8, 3, 3, 3), AS_IN(F32, 8)},
     .attrs = {AS_ATTR_LIST("pads", 1, 1, 1, 1)},
     .want = {6272 * 54 + 6272, 0, 4 * (2352 + 216 + 8), 4 * 6272}},
    {.op = "Conv",
     .n_in = 2,
     .n_attrs = 1,
     .in = {AS_IN(F32, 1, 4, 5), AS_IN(F32, 4, 1, 2)},
     .attrs = {AS_ATTR_I("group", 4)},
     .want = {16 * 4, 0, 4 * 28, 64}},
    {.op = "assay.ConvGradX",
     .n_in = 2,
     .n_attrs = 1,
     .in = {AS_IN(F32, 1, 1, 2), AS_IN(F32, 1, 1, 2)},
     .attrs = {AS_ATTR_LIST("input_shape", 1, 1, 3)},
     .want = {8, 0, 16, 12}},
    {.op = "assay.ConvGradW",
     .n_in = 2,
     .n_attrs = 1,
     .in = {AS_IN(F32, 1, 1, 3), AS_IN(F32, 1, 1, 2)},
     .attrs = {AS_ATTR_LIST("weight_shape", 1, 1, 2)},
     .want = {8, 0, 20, 8}},
    {.op = "MaxPool",
     .n_in = 1,
     .n_attrs = 2,
     .in = {AS_IN(F32, 1, 2, 4, 4)},
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_LIST("strides", 2, 2)},
     .want = {24, 0, 128, 32}},
    {.op = "assay.MaxPoolGrad",
     .n_in = 2,
     .n_attrs = 1,
     .in = {AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 3)},
     .attrs = {AS_ATTR_LIST("kernel_shape", 2)},
     .want = {6, 0, 28, 16}},
    {.op = "assay.ReluGrad", .n_in = 2, .in = {AS_IN(F32, 7), AS_IN(F32, 7)}, .want = {7, 0, 56, 28}},
    {.op = "ReduceSum", .n_in = 2, .in = {AS_IN(F32, 3, 4), INTS(1)}, .want = {9, 0, 56, 12}},
    {.op = "Reshape", .n_in = 2, .in = {AS_IN(F32, 3, 4), INTS(12)}, .want = {0, 0, 56, 48}},
    {.op = "Transpose", .n_in = 1, .in = {AS_IN(I8, 3, 4)}, .want = {0, 0, 12, 12}},
    {.op = "Flatten", .n_in = 1, .in = {AS_IN(F32, 3, 4)}, .want = {0, 0, 48, 48}},
    {.op = "Expand", .n_in = 2, .in = {AS_IN(F32, 4), INTS(3, 4)}, .want = {0, 0, 32, 48}},
};

Test(op, costs_what_arithmetic_says)
{
    start();
    for (size_t i = 0; i < AS_COUNT(costs); i++) {
        const cost_case *c = &costs[i];
        as_tensor_info   out;
        as_node_ctx      n = {.op = as_op_find(c->op),
                              .name = "n",
                              .attrs = c->attrs,
                              .n_attrs = c->n_attrs,
                              .in = c->in,
                              .n_in = c->n_in,
                              .out = &out,
                              .n_out = 1};
        expect_ok(env, as_op_infer(env, &n, &out));
        as_cost got = n.op->cost(&n);
        if (memcmp(&got, &c->want, sizeof got))
            fail("%s, number %zu: flops %llu special %llu read %llu written %llu, expected %llu %llu %llu %llu", c->op, i,
                 (unsigned long long)got.flops, (unsigned long long)got.special, (unsigned long long)got.bytes_read,
                 (unsigned long long)got.bytes_written, (unsigned long long)c->want.flops, (unsigned long long)c->want.special,
                 (unsigned long long)c->want.bytes_read, (unsigned long long)c->want.bytes_written);
    }
    end();
}

/* --- What the cases cannot express --- */

/* Runs an operator on f64 or i64 arrays; the caller gives the space for the outputs. */
static void run(const char *op, as_view *in, int n_in, const as_attr *attrs, int n_attrs, as_view *out, int n_out)
{
    as_tensor_info info[4] = {0}, found[2];
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
    expect_ok(env, n.op->eval(env, &n, in, out));
}

Test(op, max_pool_says_where_over_the_whole_tensor)
{
    double  x[] = {1, 5, 2, 0, 9, 9, 3, 4}, y[4];
    int64_t where[4];
    as_attr list[] = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("strides", 2)};
    as_view in = as_view_of(x, AS_F64, &AS_SHAPE(1, 2, 4)), out[2] = {{.data = y}, {.data = where}};
    start();
    run("MaxPool", &in, 1, list, 2, out, 2);
    end();
    expect_near(y[0], 5, 0);
    expect_eq(where[0], 1);
    expect_eq(where[1], 2);
    expect_eq(where[2], 4); /* the first of two nines, in the second channel */
    expect_eq(where[3], 7);
}

Test(op, max_pool_of_a_window_that_steps_over_the_input_is_the_lowest)
{
    double  x[] = {3}, y[1];
    int64_t where[1];
    as_attr list[] = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("pads", 1, 1), AS_ATTR_LIST("dilations", 2)};
    as_view in = as_view_of(x, AS_F64, &AS_SHAPE(1, 1, 1)), out[2] = {{.data = y}, {.data = where}};
    start();
    run("MaxPool", &in, 1, list, 3, out, 2); /* taps at -1 and 1 */
    end();
    expect(isinf(y[0]) && y[0] < 0);
    expect_eq(where[0], -1);
}

Test(op, max_pool_and_relu_let_a_nan_pass)
{
    double  x[] = {1, NAN, 2}, y[3];
    as_attr kernel = AS_ATTR_LIST("kernel_shape", 3);
    as_view in = as_view_of(x, AS_F64, &AS_SHAPE(1, 1, 3)), out = {.data = y};
    start();
    run("MaxPool", &in, 1, &kernel, 1, &out, 1);
    expect(isnan(y[0]));
    run("Relu", &in, 1, NULL, 0, &out, 1);
    end();
    expect(y[0] == 1 && isnan(y[1]) && y[2] == 2);
}

Test(op, i64_is_exact_beyond_the_53_bits_of_a_double)
{
    int64_t a[] = {(INT64_C(1) << 53) + 1, INT64_MAX}, b[] = {2, 1}, y[2];
    as_view in[] = {as_view_of(a, AS_I64, &AS_SHAPE(2)), as_view_of(b, AS_I64, &AS_SHAPE(2))}, out = {.data = y};
    start();
    run("Add", in, 2, NULL, 0, &out, 1);
    expect_eq(y[0], (INT64_C(1) << 53) + 3);
    expect_eq(y[1], INT64_MIN); /* it wraps */
    run("Sub", in, 2, NULL, 0, &out, 1);
    expect_eq(y[0], (INT64_C(1) << 53) - 1);
    run("Mul", in, 2, NULL, 0, &out, 1);
    expect_eq(y[0], (INT64_C(1) << 54) + 2);
    run("MatMul", in, 2, NULL, 0, &out, 1);
    expect_eq(y[0], (int64_t)(((UINT64_C(1) << 54) + 2) + (uint64_t)INT64_MAX));
    run("Transpose", in, 1, NULL, 0, &out, 1);
    expect_eq(y[0], a[0]);
    run("Relu", in, 1, NULL, 0, &out, 1);
    expect_eq(y[0], a[0]);
    run("ReduceSum", in, 1, NULL, 0, &out, 1);
    end();
    expect_eq(y[0], (int64_t)((uint64_t)a[0] + (uint64_t)a[1]));
}

Test(op, softmax_of_infinities_is_what_numpy_says)
{
    double  x[] = {-INFINITY, 0, 0}, y[3];
    as_view in = as_view_of(x, AS_F64, &AS_SHAPE(3)), out = {.data = y};
    start();
    run("Softmax", &in, 1, NULL, 0, &out, 1);
    expect(y[0] == 0 && y[1] == 0.5 && y[2] == 0.5);
    x[1] = x[2] = -INFINITY;
    run("Softmax", &in, 1, NULL, 0, &out, 1);
    end();
    expect(isnan(y[0]));
}

Test(op, conv_of_no_channels_is_its_bias)
{
    double  bias[] = {4, 5}, y[8];
    as_view in[] = {as_view_of(NULL, AS_F64, &AS_SHAPE(1, 0, 4)), as_view_of(NULL, AS_F64, &AS_SHAPE(2, 0, 1)),
                    as_view_of(bias, AS_F64, &AS_SHAPE(2))},
            out = {.data = y};
    start();
    run("Conv", in, 3, NULL, 0, &out, 1);
    end();
    expect(y[0] == 4 && y[3] == 4 && y[4] == 5 && y[7] == 5);
}

Test(op, a_product_without_inner_size_is_zero)
{
    double  y[12];
    as_view in[] = {as_view_of(NULL, AS_F64, &AS_SHAPE(2, 3, 0)), as_view_of(NULL, AS_F64, &AS_SHAPE(0, 2))}, out = {.data = y};
    memset(y, 0x5a, sizeof y);
    start();
    run("MatMul", in, 2, NULL, 0, &out, 1);
    end();
    for (int i = 0; i < 12; i++)
        expect(y[i] == 0);
}

/* --- Helpers --- */

Test(op, an_index_walks_row_major_and_ends)
{
    as_shape shape = AS_SHAPE(2, 1, 3);
    int64_t  index[3] = {0};
    int      count = 1;
    while (as_index_next(&shape, index))
        expect_eq(index[0] * 3 + index[2], count++);
    expect_eq(count, 6);
    expect(!as_index_next(&(as_shape){0}, index));
}

Test(op, counts_stay_at_the_largest_number)
{
    expect(as_sat_add(UINT64_MAX, 1) == UINT64_MAX);
    expect(as_sat_mul(UINT64_C(1) << 32, UINT64_C(1) << 32) == UINT64_MAX);
    expect(as_sat_mul(UINT64_MAX, 0) == 0);
    expect(as_sat_add(2, 3) == 5);
}

Test(op, integers_wrap_to_their_dtype)
{
    expect_eq(as_int_wrap(AS_I8, 128), -128);
    expect_eq(as_int_wrap(AS_U8, 256 + 7), 7);
    expect_eq(as_int_wrap(AS_I32, UINT64_C(1) << 31), INT32_MIN);
    expect_eq(as_int_wrap(AS_I16, 32768 + 65536), INT16_MIN);
    expect_eq(as_int_wrap(AS_U16, 65536 + 7), 7);
    expect_eq(as_int_wrap(AS_U32, (UINT64_C(1) << 32) + UINT32_MAX), UINT32_MAX);
    expect_eq(as_int_wrap(AS_I64, UINT64_MAX), -1);
    expect_eq(as_int_wrap(AS_U64, UINT64_MAX), -1); /* the bits */
}

/* --- The builder's helpers, on a builder that only records --- */

typedef struct notes {
    as_builder     b;
    as_tensor_info info[16];
    int64_t        ints[16][AS_MAX_RANK];
    int            n;
    char           text[256];
} notes;

static int notes_constant(as_builder *b, const as_view *v)
{
    notes *t = (notes *)b;
    t->info[t->n] = (as_tensor_info){.dtype = v->dtype, .shape = v->shape};
    if (v->dtype == AS_I64 && v->shape.rank == 1) {
        for (int64_t i = 0; i < v->shape.dim[0]; i++)
            t->ints[t->n][i] = as_view_get_i64(v, i);
        t->info[t->n].constant = t->ints[t->n];
    }
    return t->n++;
}

static const as_tensor_info *notes_info(as_builder *b, int value) { return &((notes *)b)->info[value]; }

static int notes_node(as_builder *b, const char *op, const int *in, int n_in, const as_attr *attrs, int n_attrs, int *outs,
                      int n_out)
{
    notes         *t = (notes *)b;
    as_tensor_info info[4];
    (void)outs;
    for (int i = 0; i < n_in; i++)
        info[i] = t->info[in[i]];
    as_node_ctx n = {
        .op = as_op_find(op), .name = op, .attrs = attrs, .n_attrs = n_attrs, .in = info, .n_in = n_in, .n_out = n_out};
    expect_ok(b->env, as_op_infer(b->env, &n, &t->info[t->n]));
    strncat(t->text, op, sizeof t->text - strlen(t->text) - 2);
    strcat(t->text, " ");
    return t->n++;
}

static notes notes_start(const as_shape *x)
{
    notes t = {.b = {.node = notes_node, .constant = notes_constant, .info = notes_info, .env = env}};
    t.info[t.n++] = as_info(AS_F32, x);
    return t;
}

static void sums(as_shape from, as_shape to, const char *want)
{
    notes t = notes_start(&from);
    int   y = as_b_sum_to(&t.b, 0, &to);
    expect(as_shape_same(&t.info[y].shape, &to));
    expect_str(t.text, want);
}

Test(op, a_broadcast_is_summed_back_to_its_shape)
{
    start();
    sums(AS_SHAPE(2, 3), AS_SHAPE(2, 3), "");
    sums(AS_SHAPE(2, 3), AS_SHAPE(1, 3), "ReduceSum ");
    sums(AS_SHAPE(2, 3), AS_SHAPE(3), "ReduceSum Reshape ");
    sums(AS_SHAPE(2, 3), (as_shape){0}, "ReduceSum Reshape ");
    sums(AS_SHAPE(1, 1, 3), AS_SHAPE(3), "ReduceSum Reshape ");
    sums(AS_SHAPE(4, 2, 3), AS_SHAPE(2, 1), "ReduceSum Reshape ");
    sums(AS_SHAPE(0, 3), AS_SHAPE(1, 3), "ReduceSum ");
    sums(AS_SHAPE(2, 0, 3), AS_SHAPE(0, 3), "ReduceSum Reshape ");
    end();
}

Test(op, a_failed_value_runs_through_a_formula)
{
    start();
    notes t = notes_start(&AS_SHAPE(2, 3));
    expect_eq(as_b1(&t.b, "Relu", -1), -1);
    expect_eq(as_b2(&t.b, "Add", 0, -1), -1);
    expect_eq(as_b2(&t.b, "Add", -1, 0), -1);
    expect_eq(as_b_reshape(&t.b, -1, &AS_SHAPE(6)), -1);
    expect_eq(as_b_transpose(&t.b, -1, NULL, 0), -1);
    expect_eq(as_b_sum_to(&t.b, -1, &AS_SHAPE(6)), -1);
    expect_str(t.text, "");
    end();
}

Test(op, constants_carry_their_dtype_and_values)
{
    start();
    notes t = notes_start(&AS_SHAPE(2, 3));
    int   s = as_b_scalar(&t.b, AS_BF16, 2.0), v = as_b_ints(&t.b, (const int64_t[]){7, 8}, 2), none = as_b_ints(&t.b, NULL, 0);
    expect_eq(t.info[s].dtype, AS_BF16);
    expect_eq(t.info[s].shape.rank, 0);
    expect_eq(t.info[v].shape.dim[0], 2);
    expect_eq(t.ints[v][1], 8);
    expect_eq(t.info[none].shape.dim[0], 0);
    int y = as_b_transpose(&t.b, 0, (const int64_t[]){1, 0}, 2);
    expect_str(AS_SHOW(&t.info[y].shape), "[3,2]");
    expect_str(AS_SHOW(&t.info[as_b1(&t.b, "Relu", y)].shape), "[3,2]");
    end();
}

/* --- Hostile nodes: whatever a file says, infer answers and nothing overflows (the sanitisers watch) --- */

static uint64_t dice_state;

static uint64_t dice(uint64_t sides)
{
    dice_state = dice_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (dice_state >> 33) % sides;
}

/* Half of them small, so that some nodes pass; the others at the edges of what fits. */
static int64_t hostile_size(void)
{
    static const int64_t edges[] = {-1, 0, INT32_MAX, INT64_C(1) << 31, INT64_C(1) << 40, INT64_C(1) << 62, INT64_MAX, INT64_MIN};
    return dice(4) ? (int64_t)dice(4) : edges[dice(AS_COUNT(edges))];
}

static as_tensor_info hostile_tensor(int64_t *ints)
{
    as_tensor_info t = {.dtype = dice(8) ? AS_F32 : (as_dtype)dice(AS_N_DTYPES), .shape = {.rank = (int)dice(6)}};
    for (int i = 0; i < t.shape.rank; i++)
        t.shape.dim[i] = hostile_size();
    if (dice(4) == 0) { /* a constant list, such as Reshape reads */
        t = (as_tensor_info){.dtype = AS_I64, .shape = {.rank = 1, .dim = {(int64_t)dice(5)}}, .constant = ints};
        for (int i = 0; i < 5; i++)
            ints[i] = hostile_size();
    }
    return t;
}

static as_attr hostile_attr(const as_attr_def *def, int64_t *ints)
{
    static const char *const modes[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", ""};
    as_attr                  a = {
                         .name = def->name, .kind = dice(32) ? def->kind : AS_ATTR_FLOAT, .i = hostile_size(), .text = modes[dice(AS_COUNT(modes))]};
    if (def->kind == AS_ATTR_INTS) {
        a.n = dice(7);
        a.ints = ints;
        for (int i = 0; i < 7; i++)
            ints[i] = hostile_size();
    }
    return a;
}

Test(op, answers_to_any_hostile_node)
{
    int64_t        constants[AS_MAX_IN][5], lists[8][7];
    as_tensor_info in[AS_MAX_IN], out[AS_MAX_OUT];
    as_attr        attrs[8];
    int            n_good = 0;
    start();
    for (const as_op *const *op = as_op_table; *op; op++)
        for (int round = 0; round < 4000; round++) {
            as_node_ctx n = {
                .op = *op, .name = "hostile", .attrs = attrs, .in = in, .out = out, .n_out = (*op)->max_out < 2 ? 1 : 2};
            n.n_in = (*op)->min_in + (int)dice((uint64_t)((*op)->max_in - (*op)->min_in + 1));
            for (int i = 0; i < n.n_in; i++)
                in[i] = i && dice(2) ? in[0] : hostile_tensor(constants[i]);
            for (const as_attr_def *def = (*op)->attrs; def && def->name && n.n_attrs < 8; def++)
                if (def->required || dice(2)) {
                    attrs[n.n_attrs] = hostile_attr(def, lists[n.n_attrs]);
                    n.n_attrs++;
                }
            if (as_op_infer(env, &n, out) != ASSAY_OK)
                continue;
            n_good++;
            (*op)->cost(&n);
            for (int i = 0; i < n.n_out; i++)
                expect(as_shape_ok(&out[i].shape, out[i].dtype));
        }
    expect(n_good > 100); /* else the random choices would give only nonsense */
    end();
}

/* --- Being stopped --- */

/* The flag is set already, and the cases are small: without a look at it inside of the loops they would be computed to their end. */
Test(op, heavy_reference_code_is_left_in_the_middle)
{
    static const char *const heavy[] = {"Conv",
                                        "ConvTranspose",
                                        "assay.ConvGradX",
                                        "assay.ConvGradW",
                                        "AveragePool",
                                        "assay.AveragePoolGrad",
                                        "MaxPool",
                                        "assay.MaxPoolGrad",
                                        "LpPool",
                                        "LRN",
                                        "MatMul",
                                        "Gemm",
                                        "Einsum",
                                        "Resize",
                                        "Softmax",
                                        "ReduceSum",
                                        "ReduceMax",
                                        "TopK",
                                        "CumSum",
                                        "assay.FusedGemm",
                                        "assay.FusedConv",
                                        "ConvInteger",
                                        "LSTM",
                                        "GRU",
                                        "RNN",
                                        "QLinearConv",
                                        "QLinearMatMul",
                                        "MatMulInteger",
                                        "assay.CfC",
                                        "assay.CfCGrad",
                                        "assay.LTC",
                                        "assay.LTCGrad"};
    start();
    for (size_t i = 0; i < AS_COUNT(heavy); i++) {
        const as_op *op = as_op_find(heavy[i]);
        size_t       n_stopped = 0;
        expect(op);
        for (size_t k = 0; k < op->n_cases; k++) {
            op_call call;
            bool    empty = false;
            op_case_start(env, op, &op->cases[k], AS_NONE, &call);
            for (int o = 0; o < call.node.n_out; o++)
                empty |= as_shape_count(&call.out[o].shape) == 0;
            assay_cancel(env);
            assay_status status = op->eval(env, &call.node, call.in_view, call.out_view);
            atomic_store(&env->cancel, 0);
            expect(empty || status == ASSAY_CANCELLED);
            n_stopped += status == ASSAY_CANCELLED;
            as_arena_drop(&call.arena);
        }
        if (n_stopped)
            expect_has(assay_message(env), "stopped while it was computed");
        expect(n_stopped > 0 || op->n_cases == 0);
    }
    end();
}
