/* move.h - what the operators that move elements share: constants, indices, parts of views, reductions of a scatter.
 * Elements move as bits, so every dtype is exact.  Only op_*.c and move.c include it. */
#ifndef AS_OP_MOVE_H
#define AS_OP_MOVE_H

#include "op/rules.h"

/* --- Constants and indices -------------------------------------------------------------------- */

/* Input i as at most `max` integers known while planning: an i32 or i64 vector, or a scalar. */
assay_status as_rule_numbers(assay_env *env, const as_node_ctx *n, int i, const char *what, int max, int64_t *values, int *count);
/* Checks that input i is i64, or i32 if `or_i32`. */
assay_status as_rule_index(assay_env *env, const as_node_ctx *n, int i, const char *what, bool or_i32);
/* Reads axes from an input as bits; all are in [-rank, rank), none of them twice. */
assay_status as_rule_axes(assay_env *env, const as_node_ctx *n, int i, int rank, unsigned *out);
/* Element i of an index view as [0, size); negative ones count from the end, and others are refused with position and value. */
assay_status as_index_read(assay_env *env, const as_node_ctx *n, const as_view *indices, int64_t i, int64_t size, int64_t *out);

/* --- Elements ----------------------------------------------------------------------------------- */

/* The view of element i alone, rank 0; i counts in logical order. */
as_view as_view_nth(const as_view *v, int64_t i);
/* Elements start, start + step, ... of one axis. */
as_view as_view_part(const as_view *v, int axis, int64_t start, int64_t step, int64_t count);
/* Sets every element to the one in `one`. */
void as_view_fill(const as_view *v, const as_view *one);
void as_view_zero(const as_view *v);
/* The bits of an integer or bool of rank 0, sign-extended; storing keeps the low bits, as ONNX casts. */
uint64_t as_bits_get(const as_view *one);
void     as_bits_set(const as_view *one, uint64_t x);
/* How Cast and CastLike convert to small floats: their attributes saturate and round_mode. */
typedef struct as_cast {
    bool          saturate;
    as_e8m0_round round;
} as_cast;
assay_status as_cast_read(assay_env *env, const as_node_ctx *n, as_cast *out);
/* Copies with ONNX Cast's conversions: integers keep their low bits, floats round towards zero and saturate; integers of
 * less than 8 bits keep the low bits of floats too, as in ONNX's own tests. */
void as_view_cast(const as_view *dst, const as_view *src, const as_cast *how);
/* The order of two elements of one dtype: below 0, 0 or above 0; a NaN is above all numbers. */
int as_element_order(const as_view *a, const as_view *b);

/* The two six-axis views of DepthToSpace with corresponding elements: [N, C, H, b, W, b] of the space side, and
 * the depth side transposed to the same axes. */
void as_blocks(const as_view *depth, const as_view *space, int64_t block, bool column_first, as_view *depth6, as_view *space6);

/* --- Scatter ------------------------------------------------------------------------------------- */

typedef enum as_reduction { AS_REDUCE_NONE, AS_REDUCE_ADD, AS_REDUCE_MUL, AS_REDUCE_MAX, AS_REDUCE_MIN } as_reduction;

/* The attribute `reduction`. */
assay_status as_reduction_read(assay_env *env, const as_node_ctx *n, as_reduction *out);
/* dst = dst (op) src, element by element of two views of one shape; integers wrap. */
void as_reduce_into(const as_view *dst, const as_view *src, as_reduction how);

/* --- Costs and gradients --------------------------------------------------------------------------- */

/* Reads as many bytes as it writes, and no other bytes of input 0: what Slice and Gather must touch. */
as_cost as_cost_picked(const as_node_ctx *n);
/* One flop per update (input 2) where updates are combined. */
as_cost as_scatter_cost(const as_node_ctx *n);
/* Zeros of a shape. */
int as_b_blank(as_builder *b, as_dtype dtype, const as_shape *shape);
/* UNSUPPORTED with the node's name. */
assay_status as_no_grad(assay_env *env, const as_node_ctx *n, const char *why);

/* Constant inputs of cases. */
#define AS_IN_INT(value_)                                       \
    {                                                           \
        .dtype = AS_I64, .ints = (const int64_t[]) { (value_) } \
    }
#define AS_GIVEN(...) \
    .given = (const double[]) { __VA_ARGS__ }
#define AS_WANT(...) .want = (const double[]){__VA_ARGS__}, .n_want = sizeof((const double[]){__VA_ARGS__}) / sizeof(double)

#endif
