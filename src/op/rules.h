/* rules.h - what the operator files share: refusals, dtype sets, constants, counting, element-wise loops.
 * Only op_*.c, op.c and window.c include it. */
#ifndef AS_OP_RULES_H
#define AS_OP_RULES_H

#include "op/op.h"

/* BAD_INPUT with "Conv 'stem': ..." in front, so that every message names its node. */
assay_status as_refuse(assay_env *env, const as_node_ctx *n, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A shape as text; lives until the end of the enclosing block. */
#define AS_SHOW(shape) as_shape_show((shape), (char[192]){0}, 192)

/* --- Checks --------------------------------------------------------------------------------- */

#define AS_DTYPE_BIT(d) (1u << (d))
#define AS_SET_FLOAT    (AS_DTYPE_BIT(AS_F64) | AS_DTYPE_BIT(AS_F32) | AS_DTYPE_BIT(AS_F16) | AS_DTYPE_BIT(AS_BF16))
#define AS_SET_WIDE                                                                      \
    (AS_SET_FLOAT | AS_DTYPE_BIT(AS_I32) | AS_DTYPE_BIT(AS_U32) | AS_DTYPE_BIT(AS_I64) | \
     AS_DTYPE_BIT(AS_U64)) /* floats and the integers sums are made of */
#define AS_SET_SIGNED   (AS_DTYPE_BIT(AS_I8) | AS_DTYPE_BIT(AS_I16) | AS_DTYPE_BIT(AS_I32) | AS_DTYPE_BIT(AS_I64))
#define AS_SET_UNSIGNED (AS_DTYPE_BIT(AS_U8) | AS_DTYPE_BIT(AS_U16) | AS_DTYPE_BIT(AS_U32) | AS_DTYPE_BIT(AS_U64))
#define AS_SET_INT      (AS_SET_SIGNED | AS_SET_UNSIGNED)
#define AS_SET_NUMBER   (AS_SET_FLOAT | AS_SET_INT)
#define AS_SET_ANY      (AS_SET_NUMBER | AS_DTYPE_BIT(AS_BOOL))
/* Types that ONNX stores and converts but does not compute with: floats of 8 bits or less, integers of less than 8. */
#define AS_SET_FLOAT8 \
    (AS_DTYPE_BIT(AS_F8E4M3FN) | AS_DTYPE_BIT(AS_F8E4M3FNUZ) | AS_DTYPE_BIT(AS_F8E5M2) | AS_DTYPE_BIT(AS_F8E5M2FNUZ))
#define AS_SET_NARROW                                                                                                          \
    (AS_DTYPE_BIT(AS_F6E2M3) | AS_DTYPE_BIT(AS_F6E3M2) | AS_DTYPE_BIT(AS_F4E2M1) | AS_DTYPE_BIT(AS_I4) | AS_DTYPE_BIT(AS_U4) | \
     AS_DTYPE_BIT(AS_I2) | AS_DTYPE_BIT(AS_U2))
#define AS_SET_EVERY (AS_SET_ANY | AS_SET_FLOAT8 | AS_DTYPE_BIT(AS_F8E8M0) | AS_SET_NARROW)

/* Checks that inputs first .. first + count - 1, where present, have one dtype, which is in the set. */
assay_status as_rule_dtype(assay_env *env, const as_node_ctx *n, int first, int count, unsigned set);
/* An axis in [-rank, rank) as [0, rank). */
assay_status as_rule_axis(assay_env *env, const as_node_ctx *n, int64_t axis, int rank, int *out);
/* Input i as an i64 vector that is known while planning; `what` is its name in ONNX. */
assay_status as_rule_ints(assay_env *env, const as_node_ctx *n, int i, const char *what, int64_t *values, int *count);
/* One input with a dtype in the set; the output is like it. */
assay_status as_rule_like(assay_env *env, const as_node_ctx *n, unsigned set, as_tensor_info *out);

static inline as_tensor_info as_info(as_dtype dtype, const as_shape *shape)
{
    return (as_tensor_info){.dtype = dtype, .shape = *shape};
}

/* An input of a case: AS_IN(F32, 2, 3). */
#define AS_IN(dtype_, ...)                                   \
    {                                                        \
        .dtype = AS_##dtype_, .shape = AS_SHAPE(__VA_ARGS__) \
    }
/* A constant i64 vector among them: AS_IN_INTS(0, -1). */
#define AS_IN_INTS(...)                                                                                           \
    {                                                                                                             \
        .dtype = AS_I64, .shape = {.rank = 1, .dim = {sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)}}, \
        .ints = (const int64_t[])                                                                                 \
        {                                                                                                         \
            __VA_ARGS__                                                                                           \
        }                                                                                                         \
    }

/* --- Counting ------------------------------------------------------------------------------- */

/* They stay at UINT64_MAX when a count does not fit: each tensor of a MatMul may fit in memory while M*N*K does not fit in 64
 * bits. */
uint64_t               as_sat_add(uint64_t a, uint64_t b);
uint64_t               as_sat_mul(uint64_t a, uint64_t b);
static inline uint64_t as_sat_count(const as_shape *shape) { return (uint64_t)as_shape_count(shape); }

/* --- Elements ------------------------------------------------------------------------------- */

/* The view with its first `count` axes fixed at `index`. */
as_view as_view_fix(const as_view *v, const int64_t *index, int count);
/* The next index in row-major order; false after the last.  Not for a shape with no elements. */
bool as_index_next(const as_shape *shape, int64_t *index);
/* The low bits of x as a value of an integer dtype: two's complement, as numpy wraps. */
int64_t as_int_wrap(as_dtype dtype, uint64_t x);

/* out[i] = real(in[i]). */
void as_each(const as_view *in, const as_view *out, double (*real)(double));
/* The same with two more numbers, the operator's attributes. */
void as_each_with(const as_view *in, const as_view *out, double (*real)(double, double, double), double a, double b);
/* Floats by `real`; integers by `whole` on two's complement bits, then wrapped to the dtype. */
void as_each_any(const as_view *in, const as_view *out, double (*real)(double), uint64_t (*whole)(uint64_t));

/* The infer of one input: the output is like it. */
assay_status as_rule_float(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
assay_status as_rule_number(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
/* The same for operators that work along one axis: the attribute's, or the last. */
assay_status as_rule_line(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
/* All inputs have one dtype, which is in the set, and broadcast to one shape; for Max, Sum, Where (first = 1 there). */
assay_status as_rule_all(assay_env *env, const as_node_ctx *n, int first, unsigned set, as_tensor_info *out);

/* Sum and Mean: all inputs added and divided by `by`; the gradient d of the sum goes to every input, in its shape. */
void as_each_sum(const as_node_ctx *n, const as_view *in, const as_view *out, double by);
void as_sum_grad(as_builder *b, const as_node_ctx *n, int d, int *d_in);

/* One special operation (exp, log, a division, a root) per output element. */
as_cost as_cost_special(const as_node_ctx *n);

/* Input 0 unchanged, under the shape of the output: the eval of Identity and, with this grad, of operators that only change the
 * shape. */
assay_status as_eval_copy(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out);
assay_status as_reshape_grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in);

/* --- Comparing and logic: two inputs, bool out ------------------------------------------------ */

/* The order of element i of a to element i of b, views of one dtype: exact for integers.  One bit each: a comparison is a set of
 * orders. */
typedef enum as_order { AS_LESS = 1, AS_EQUAL = 2, AS_GREATER = 4, AS_UNORDERED = 8 /* a NaN */ } as_order;
as_order as_order_of(const as_view *a, const as_view *b, int64_t i);

assay_status as_rule_compare(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
/* Whether the order of in[0] to in[1] is in the set. */
void         as_each_compare(const as_view *in, const as_view *out, unsigned orders);
assay_status as_rule_logic(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
assay_status as_rule_bits(assay_env *env, const as_node_ctx *n, as_tensor_info *out); /* integers in, integers out */
/* The eval of And, Or and Xor, and of the bitwise ones: bit by bit. */
assay_status as_eval_and(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out);
assay_status as_eval_or(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out);
assay_status as_eval_xor(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out);

/* --- Helpers for gradients; -1 in gives -1 out ---------------------------------------------------- */

int as_b_times(as_builder *b, int x, double k);                  /* x * k */
int as_b_plus(as_builder *b, int x, double k);                   /* x + k */
int as_b_versus(as_builder *b, const char *op, int x, double k); /* a comparison: "Less" is x < k */
int as_b_where(as_builder *b, int condition, int x, int y);
int as_b_only(as_builder *b, int condition, int x);   /* x where it holds, else 0 */
int as_b_except(as_builder *b, int condition, int x); /* 0 where it holds, else x */
int as_b_zeros(as_builder *b, int x);                 /* of the shape and dtype of x: the slope of a step */
/* The grad of Ceil, Floor, Round and Sign: the slope of a step function is 0 except where it jumps. */
assay_status as_step_grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in);

/* --- Cases every element-wise operator has, random in [lo, hi) ----------------------------------- */

#define AS_CASES_ONE(lo_, hi_)                                                                 \
    {.name = "one element", .n_in = 1, .in = {AS_IN(F32, 1)}, .lo = (lo_), .hi = (hi_)},       \
        {.name = "scalar", .n_in = 1, .in = {{.dtype = AS_F64}}, .lo = (lo_), .hi = (hi_)},    \
        {.name = "7", .n_in = 1, .in = {AS_IN(F32, 7)}, .lo = (lo_), .hi = (hi_)},             \
        {.name = "8x9", .n_in = 1, .in = {AS_IN(F32, 8, 9)}, .lo = (lo_), .hi = (hi_)},        \
        {.name = "15x17", .n_in = 1, .in = {AS_IN(F32, 15, 17)}, .lo = (lo_), .hi = (hi_)},    \
        {.name = "3x33x5", .n_in = 1, .in = {AS_IN(F32, 3, 33, 5)}, .lo = (lo_), .hi = (hi_)}, \
        {.name = "f64", .n_in = 1, .in = {AS_IN(F64, 3, 17)}, .lo = (lo_), .hi = (hi_)},       \
        {.name = "f16", .n_in = 1, .in = {AS_IN(F16, 33)}, .lo = (lo_), .hi = (hi_)},          \
        {.name = "bf16", .n_in = 1, .in = {AS_IN(BF16, 9)}, .lo = (lo_), .hi = (hi_)},         \
    {                                                                                          \
        .name = "empty", .n_in = 1, .in = { AS_IN(F32, 0, 3) }                                 \
    }

#define AS_CASES_TWO(dtype_, lo_, hi_)                                                                                        \
    {.name = "one element", .n_in = 2, .in = {AS_IN(dtype_, 1), AS_IN(dtype_, 1)}, .lo = (lo_), .hi = (hi_)},                 \
        {.name = "7x9", .n_in = 2, .in = {AS_IN(dtype_, 7, 9), AS_IN(dtype_, 7, 9)}, .lo = (lo_), .hi = (hi_)},               \
        {.name = "a row to 15x17", .n_in = 2, .in = {AS_IN(dtype_, 15, 17), AS_IN(dtype_, 17)}, .lo = (lo_), .hi = (hi_)},    \
        {.name = "row and column", .n_in = 2, .in = {AS_IN(dtype_, 9, 1), AS_IN(dtype_, 1, 7)}, .lo = (lo_), .hi = (hi_)},    \
        {.name = "a scalar", .n_in = 2, .in = {AS_IN(dtype_, 3, 5), {.dtype = AS_##dtype_}}, .lo = (lo_), .hi = (hi_)},       \
        {.name = "channels", .n_in = 2, .in = {AS_IN(dtype_, 2, 3, 5, 7), AS_IN(dtype_, 3, 1, 1)}, .lo = (lo_), .hi = (hi_)}, \
    {                                                                                                                         \
        .name = "empty", .n_in = 2, .in = { AS_IN(dtype_, 0, 3), AS_IN(dtype_, 1, 3) }                                        \
    }

/* Cases of Add, Sub and Mul. */
#define AS_CASES_ARITHMETIC                                                                                            \
    {.name = "one element", .n_in = 2, .in = {AS_IN(F32, 1), AS_IN(F32, 1)}},                                          \
        {.name = "3", .n_in = 2, .in = {AS_IN(F32, 3), AS_IN(F32, 3)}},                                                \
        {.name = "7x9", .n_in = 2, .in = {AS_IN(F32, 7, 9), AS_IN(F32, 7, 9)}},                                        \
        {.name = "8x16", .n_in = 2, .in = {AS_IN(F32, 8, 16), AS_IN(F32, 8, 16)}},                                     \
        {.name = "15x17", .n_in = 2, .in = {AS_IN(F32, 15, 17), AS_IN(F32, 15, 17)}},                                  \
        {.name = "a row to 31x33", .n_in = 2, .in = {AS_IN(F32, 31, 33), AS_IN(F32, 33)}},                             \
        {.name = "a column to 33x31", .n_in = 2, .in = {AS_IN(F32, 33, 1), AS_IN(F32, 33, 31)}},                       \
        {.name = "row and column", .n_in = 2, .in = {AS_IN(F64, 9, 1), AS_IN(F64, 1, 7)}},                             \
        {.name = "a scalar", .n_in = 2, .in = {AS_IN(F64, 3, 5), {.dtype = AS_F64}}},                                  \
        {.name = "channels", .n_in = 2, .in = {AS_IN(F32, 2, 3, 5, 7), AS_IN(F32, 3, 1, 1)}},                          \
        {.name = "f16", .n_in = 2, .in = {AS_IN(F16, 17), AS_IN(F16, 17)}},                                            \
        {.name = "bf16", .n_in = 2, .in = {AS_IN(BF16, 17), AS_IN(BF16, 17)}},                                         \
        {.name = "i64", .n_in = 2, .in = {AS_IN(I64, 3, 9), AS_IN(I64, 9)}, .lo = -1000, .hi = 1000, .no_grad = true}, \
    {                                                                                                                  \
        .name = "empty", .n_in = 2, .in = { AS_IN(F32, 0, 3), AS_IN(F32, 1, 3) }                                       \
    }

/* Cases of operators with any number of inputs: Max, Min, Sum, Mean. */
#define AS_CASES_MANY                                                                                                  \
    {.name = "one input", .n_in = 1, .in = {AS_IN(F32, 7)}},                                                           \
        {.name = "two", .n_in = 2, .in = {AS_IN(F32, 7, 9), AS_IN(F32, 7, 9)}},                                        \
        {.name = "three of three shapes", .n_in = 3, .in = {AS_IN(F32, 9, 1), AS_IN(F32, 1, 7), AS_IN(F32, 3, 1, 1)}}, \
        {.name = "six",                                                                                                \
         .n_in = 6,                                                                                                    \
         .in = {AS_IN(F64, 5), AS_IN(F64, 5), AS_IN(F64, 1), {.dtype = AS_F64}, AS_IN(F64, 5), AS_IN(F64, 5)}},        \
        {.name = "15x17 and a row", .n_in = 2, .in = {AS_IN(F32, 15, 17), AS_IN(F32, 17)}},                            \
        {.name = "f16", .n_in = 2, .in = {AS_IN(F16, 33), AS_IN(F16, 33)}},                                            \
        {.name = "bf16", .n_in = 2, .in = {AS_IN(BF16, 9), AS_IN(BF16, 9)}},                                           \
    {                                                                                                                  \
        .name = "empty", .n_in = 2, .in = { AS_IN(F32, 0, 3), AS_IN(F32, 1, 3) }                                       \
    }

/* Cases of Relu, Sigmoid and Tanh. */
#define AS_CASES_ACTIVATION                                                                                                       \
    {.name = "one element", .n_in = 1, .in = {AS_IN(F32, 1)}}, {.name = "scalar", .n_in = 1, .in = {{.dtype = AS_F64}}},          \
        {.name = "7", .n_in = 1, .in = {AS_IN(F32, 7)}}, {.name = "8x9", .n_in = 1, .in = {AS_IN(F32, 8, 9)}, .lo = -4, .hi = 4}, \
        {.name = "15x17", .n_in = 1, .in = {AS_IN(F32, 15, 17)}, .lo = -4, .hi = 4},                                              \
        {.name = "16x31", .n_in = 1, .in = {AS_IN(F32, 16, 31)}},                                                                 \
        {.name = "3x33x5", .n_in = 1, .in = {AS_IN(F32, 3, 33, 5)}, .lo = -2, .hi = 2},                                           \
        {.name = "f64", .n_in = 1, .in = {AS_IN(F64, 3, 17)}, .lo = -3, .hi = 3},                                                 \
        {.name = "f16", .n_in = 1, .in = {AS_IN(F16, 33)}}, {.name = "bf16", .n_in = 1, .in = {AS_IN(BF16, 9)}},                  \
    {                                                                                                                             \
        .name = "empty", .n_in = 1, .in = { AS_IN(F32, 0, 3) }                                                                    \
    }

/* Cases of a comparison: 1 for each order in which it holds, else 0.  Values from onnx's reference evaluator. */
#define AS_CASES_COMPARE(less_, equal_, greater_)                                                                         \
    {.name = "f32",                                                                                                       \
     .n_in = 2,                                                                                                           \
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3)},                                                                             \
     .given = (const double[]){1, -2, 3.5, 0, -5, 6, 1, 2, -5},                                                           \
     .want = (const double[]){equal_, less_, greater_, less_, less_, greater_},                                           \
     .n_want = 6},                                                                                                        \
        {.name = "i8",                                                                                                    \
         .n_in = 2,                                                                                                       \
         .in = {AS_IN(I8, 3), AS_IN(I8, 3)},                                                                              \
         .given = (const double[]){-128, 127, 5, 127, -128, 5},                                                           \
         .want = (const double[]){less_, greater_, equal_},                                                               \
         .n_want = 3},                                                                                                    \
        {.name = "u64 beyond i64",                                                                                        \
         .n_in = 2,                                                                                                       \
         .in = {AS_IN(U64, 3), AS_IN(U64, 3)},                                                                            \
         .given = (const double[]){0x1p63, 3, 0x1p63, 1, 0x1p63, 0x1p63},                                                 \
         .want = (const double[]){greater_, less_, equal_},                                                               \
         .n_want = 3},                                                                                                    \
        AS_CASES_TWO(F32, -2, 2), {.name = "i64", .n_in = 2, .in = {AS_IN(I64, 3, 9), AS_IN(I64, 9)}, .lo = -3, .hi = 3}, \
        {.name = "u16", .n_in = 2, .in = {AS_IN(U16, 17), AS_IN(U16, 17)}, .lo = 0, .hi = 4},                             \
    {                                                                                                                     \
        .name = "bf16", .n_in = 2, .in = { AS_IN(BF16, 17), AS_IN(BF16, 1) }                                              \
    }
/* Beyond a strip of the kernels, with a value on either side. */
#define AS_CASES_COMPARE_LONG                                                                                         \
    {.name = "i64 3x37", .n_in = 2, .in = {AS_IN(I64, 3, 37), AS_IN(I64, 3, 37)}, .lo = -3, .hi = 3},                 \
        {.name = "i32 3x37", .n_in = 2, .in = {AS_IN(I32, 3, 37), AS_IN(I32, 3, 37)}, .lo = -3, .hi = 3},             \
        {.name = "u8 3x37", .n_in = 2, .in = {AS_IN(U8, 3, 37), AS_IN(U8, 3, 37)}, .lo = 0, .hi = 3},                 \
        {.name = "i16 3x37", .n_in = 2, .in = {AS_IN(I16, 3, 37), AS_IN(I16, 3, 37)}, .lo = -3, .hi = 3},             \
        {.name = "u64 3x37", .n_in = 2, .in = {AS_IN(U64, 3, 37), AS_IN(U64, 3, 37)}, .lo = 0, .hi = 3},              \
        {.name = "f64 3x37", .n_in = 2, .in = {AS_IN(F64, 3, 37), AS_IN(F64, 3, 37)}, .lo = -3, .hi = 3},             \
        {.name = "f32 3x37", .n_in = 2, .in = {AS_IN(F32, 3, 37), AS_IN(F32, 3, 37)}, .lo = -3, .hi = 3},             \
        {.name = "i64 3x37 and a column", .n_in = 2, .in = {AS_IN(I64, 3, 37), AS_IN(I64, 3, 1)}, .lo = -3, .hi = 3}, \
    {                                                                                                                 \
        .name = "i64 a value and 70", .n_in = 2, .in = {AS_IN(I64, 1), AS_IN(I64, 70)}, .lo = -3, .hi = 3             \
    }

/* The same for And, Or and Xor: the results when none, the second, the first and both are true. */
#define AS_CASES_LOGIC(none_, second_, first_, both_)         \
    {.name = "all four",                                      \
     .n_in = 2,                                               \
     .in = {AS_IN(BOOL, 4), AS_IN(BOOL, 4)},                  \
     .given = (const double[]){0, 0, 1, 1, 0, 1, 0, 1},       \
     .want = (const double[]){none_, second_, first_, both_}, \
     .n_want = 4},                                            \
        AS_CASES_TWO(BOOL, -1, 1)

/* --- Add, Sub, Mul, Div --------------------------------------------------------------------------- */

assay_status as_rule_broadcast(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
/* One flop per output element. */
as_cost as_cost_each(const as_node_ctx *n);
/* Floats by `real`; integers by `whole` on two's complement bits, then wrapped to the dtype. */
void as_each2(const as_view *a, const as_view *b, const as_view *out, double (*real)(double, double),
              uint64_t (*whole)(uint64_t, uint64_t));

/* --- Windows --------------------------------------------------------------------------------- */

/* The flat index in a plane of the maximum that output o (three indices) sees; -1 when the window is empty. The first
 * maximum in window order wins; a NaN counts as larger than any number, as in numpy. */
int64_t as_window_max(const as_window *w, const as_view *plane, const int64_t *o, double *max);
/* The shape rule of MaxPool for x, shared with MaxPoolGrad: the window and y. */
assay_status as_pool_read(assay_env *env, const as_node_ctx *n, const as_shape *x, as_window *w, as_shape *y);
/* Elements of one plane (product over the axes), of the kernel, of the output plane. */
int64_t as_window_count(const int64_t size[3]);
/* Conv and its two gradients do the same multiply-adds. */
uint64_t as_window_flops(const as_window *w, const as_shape *y, int64_t channels_per_group);
/* The attributes of Conv and MaxPool that a gradient node repeats, and one more list (NULL: none). */
int as_attrs_repeat(const as_node_ctx *n, const char *more, const int64_t *ints, size_t n_ints, as_attr *out);

/* The attributes of a convolution, for an operator's table. */
#define AS_CONV_ATTRS                                                                           \
    {.name = "auto_pad", .kind = AS_ATTR_TEXT}, {.name = "dilations", .kind = AS_ATTR_INTS},    \
        {.name = "group", .kind = AS_ATTR_INT}, {.name = "kernel_shape", .kind = AS_ATTR_INTS}, \
        {.name = "pads", .kind = AS_ATTR_INTS},                                                 \
    {                                                                                           \
        .name = "strides", .kind = AS_ATTR_INTS                                                 \
    }

typedef struct as_conv_shapes {
    as_shape  x, w, y;
    as_window window;
} as_conv_shapes;
/* The rule of Conv for x and w: y and the window. */
assay_status as_conv_read(assay_env *env, const as_node_ctx *n, const as_shape *x, const as_shape *w, as_conv_shapes *out);
/* The same for its gradients, where dY must be what Conv gives. */
assay_status as_conv_grad_read(assay_env *env, const as_node_ctx *n, const as_shape *x, const as_shape *w, const as_shape *dy,
                               as_conv_shapes *out);
/* The shape rule of ConvTranspose.  The window is that of the Conv from y to x, so its `in` holds the sizes of y and its `out`
 * those of x. */
assay_status as_transposed_read(assay_env *env, const as_node_ctx *n, const as_shape *x, const as_shape *w, as_conv_shapes *out);
/* Checks that input i, where present, is a bias: one value per output channel. */
assay_status as_conv_bias(assay_env *env, const as_node_ctx *n, int i, const as_conv_shapes *s);
/* Its gradient: dY summed over all axes but the channel's. */
int as_conv_bias_grad(as_builder *b, int dy, int rank);
/* The whole kernel for every element of `over` (y, or x for a transposed convolution), and an addition per output for a bias,
 * which is input 2. */
as_cost as_conv_cost(const as_node_ctx *n, const as_conv_shapes *s, const as_shape *over);
/* A list attribute that holds a whole shape (input_shape, weight_shape), checked against the allowed range. */
assay_status as_attr_shape(assay_env *env, const as_node_ctx *n, const char *name, as_dtype dtype, as_shape *out);

/* --- Einsum --- */

enum { AS_EINSUM_LETTERS = 52, AS_EINSUM_LABELS = AS_EINSUM_LETTERS + AS_MAX_RANK }; /* the unnamed axes, the last one last */

typedef struct as_einsum_term {
    int rank;
    int label[AS_MAX_RANK];
} as_einsum_term;

/* An equation with the sizes of its axes. */
typedef struct as_einsum {
    as_einsum_term in[AS_MAX_IN], out;
    int64_t        size[AS_EINSUM_LABELS];
    int            seen[AS_EINSUM_LABELS]; /* how often it occurs, over all inputs */
} as_einsum;
assay_status as_einsum_read(assay_env *env, const as_node_ctx *n, as_einsum *out);

#endif
