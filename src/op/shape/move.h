/* move.h - what the operators that move elements share: constants, indices, parts of views, reductions of a scatter.
 * Elements move as bits, so every dtype is exact.  Only op_*.c and move.c include it. */
#ifndef AS_OP_MOVE_H
#define AS_OP_MOVE_H

#include "op/rules.h"

/* --- Constants and indices -------------------------------------------------------------------- */

/* Input i as at most `max` integers known while planning: an i32 or i64 vector, or a scalar. */
assay_status as_rule_numbers(assay_env *env, const as_node_ctx *n, int i, const char *what, int max, int64_t *values, int *count);
/* Input i is i64, or i32 where `or_i32` says so. */
assay_status as_rule_index(assay_env *env, const as_node_ctx *n, int i, const char *what, bool or_i32);
/* Axes out of an input as bits, none of them twice; all are in [-rank, rank). */
assay_status as_rule_axes(assay_env *env, const as_node_ctx *n, int i, int rank, unsigned *out);
/* Element i of an index view as [0, size); negative ones count from the end, others are refused with position and value. */
assay_status as_index_read(assay_env *env, const as_node_ctx *n, const as_view *indices, int64_t i, int64_t size, int64_t *out);

/* --- Elements ----------------------------------------------------------------------------------- */

/* The view of element i alone, rank 0; i counts in logical order. */
as_view as_view_nth(const as_view *v, int64_t i);
/* Elements start, start + step, ... of one axis. */
as_view as_view_part(const as_view *v, int axis, int64_t start, int64_t step, int64_t count);
/* Every element becomes the one that `one` holds. */
void as_view_fill(const as_view *v, const as_view *one);
void as_view_zero(const as_view *v);
/* An integer or bool of rank 0: its bits, extended by its sign; storing keeps the low ones, as ONNX casts. */
uint64_t as_bits_get(const as_view *one);
void     as_bits_set(const as_view *one, uint64_t x);
/* How Cast and CastLike make small floats: their attributes saturate and round_mode. */
typedef struct as_cast {
    bool          saturate;
    as_e8m0_round round;
} as_cast;
assay_status as_cast_read(assay_env *env, const as_node_ctx *n, as_cast *out);
/* Copies with ONNX Cast's conversions: integers keep their low bits, floats go towards zero and saturate; into integers of
 * less than 8 bits they keep the low bits, too, as ONNX's own tests have it. */
void as_view_cast(const as_view *dst, const as_view *src, const as_cast *how);
/* Orders two elements of one dtype: below, equal 0 or above; a NaN is above all numbers. */
int as_element_order(const as_view *a, const as_view *b);

/* The two six-axis views of DepthToSpace whose elements go together: [N, C, H, b, W, b] of the space side, and the
 * depth side turned to the same axes. */
void as_blocks(const as_view *depth, const as_view *space, int64_t block, bool column_first, as_view *depth6, as_view *space6);

/* --- Scatter ------------------------------------------------------------------------------------- */

typedef enum as_reduction { AS_REDUCE_NONE, AS_REDUCE_ADD, AS_REDUCE_MUL, AS_REDUCE_MAX, AS_REDUCE_MIN } as_reduction;

/* The attribute `reduction`. */
assay_status as_reduction_read(assay_env *env, const as_node_ctx *n, as_reduction *out);
/* dst = dst (op) src, element by element of two views of one shape; integers wrap. */
void as_reduce_into(const as_view *dst, const as_view *src, as_reduction how);

/* --- Costs and gradients --------------------------------------------------------------------------- */

/* As many bytes read as written, and input 0 is otherwise left alone: what Slice and Gather must touch. */
as_cost as_cost_picked(const as_node_ctx *n);
/* One flop an update (input 2) where they are put together. */
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
