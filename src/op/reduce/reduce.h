/* reduce.h - what the operators that fold axes into one value share: the axes, the shapes, the loop, parts of the
 * gradients.
 *
 * An operator brings the fold of one line of terms, in double for floats and exact for integers; everything else is here.
 * Only op_*.c and reduce.c include it. */
#ifndef AS_OP_REDUCE_H
#define AS_OP_REDUCE_H

#include "op/rules.h"

/* The dtypes that ONNX allows in a sum. */
#define AS_SET_REDUCE (AS_SET_FLOAT | AS_DTYPE_BIT(AS_I32) | AS_DTYPE_BIT(AS_I64) | AS_DTYPE_BIT(AS_U32) | AS_DTYPE_BIT(AS_U64))
/* The dtypes that it allows in comparisons: ReduceMax, ReduceMin. */
#define AS_SET_REDUCE_ORDER (AS_SET_REDUCE | AS_DTYPE_BIT(AS_I8) | AS_DTYPE_BIT(AS_U8) | AS_DTYPE_BIT(AS_BOOL))
/* Every number: ArgMax, ArgMin. */
#define AS_SET_REDUCE_NUMBER \
    (AS_SET_REDUCE | AS_DTYPE_BIT(AS_I8) | AS_DTYPE_BIT(AS_U8) | AS_DTYPE_BIT(AS_I16) | AS_DTYPE_BIT(AS_U16))

/* keepdims and noop_with_empty_axes. */
extern const as_attr_def as_reduce_attrs[];

/* Bit i: axis i is folded.  The axes are the constant input 1; without it all are folded, or none if noop_with_empty_axes says
 * so. */
assay_status as_reduce_axes(assay_env *env, const as_node_ctx *n, unsigned *out);
/* The shape with those axes set to 1, or left out. */
as_shape as_reduce_shape(const as_shape *x, unsigned axes, bool keep);
/* The view with those axes moved to the end, so that the terms of each output follow one another. */
as_view as_axes_last(const as_view *v, unsigned axes);
/* A view of u64 as i64: get_i64 and set_i64 then move the bits as they are. */
as_view as_view_bits(const as_view *v);

/* A line of terms: elements first .. first + count - 1 of x. */
typedef struct as_terms {
    as_view  x;
    int64_t  first, count;
    as_dtype dtype;
} as_terms;
static inline double as_term(const as_terms *t, int64_t i) { return as_view_get(&t->x, t->first + i); }
/* Sign-extended bits; for u64 the bits. */
static inline uint64_t as_term_bits(const as_terms *t, int64_t i) { return (uint64_t)as_view_get_i64(&t->x, t->first + i); }
/* a < b as values of an integer dtype given by their bits. */
static inline bool as_bits_less(as_dtype dtype, uint64_t a, uint64_t b)
{
    return dtype == AS_U64 ? a < b : (int64_t)a < (int64_t)b;
}
/* The nearest double. */
static inline double as_bits_real(as_dtype dtype, uint64_t bits) { return dtype == AS_U64 ? (double)bits : (double)(int64_t)bits; }
/* The low bits as a value of the dtype, as numpy wraps. */
uint64_t as_bits_wrap(as_dtype dtype, uint64_t bits);
/* A real result as an integer: rounded towards zero, limited to the dtype's range; NaN gives 0. */
uint64_t as_bits_cut(as_dtype dtype, double x);
/* The smallest and largest value of an integer dtype; false and true of bool. */
uint64_t as_bits_lowest(as_dtype dtype);
uint64_t as_bits_highest(as_dtype dtype);

/* Floats are folded by `real`; integers by `whole`, exact, whose bits are then wrapped to the dtype. */
assay_status as_reduce_eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out,
                            double (*real)(const as_terms *t), uint64_t (*whole)(const as_terms *t));
assay_status as_reduce_infer(assay_env *env, const as_node_ctx *n, unsigned set, as_tensor_info *out);
/* infer and cost of most reductions: L - 1 flops for L terms, count(X) - count(Y) in all. */
assay_status as_reduce_infer_sum(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
as_cost      as_reduce_cost(const as_node_ctx *n);
/* The same, plus a flop per term to change it first. */
as_cost as_reduce_cost_changed(const as_node_ctx *n);
/* X as [N, C, spatial...]: the spatial axes are folded. */
assay_status as_reduce_infer_planes(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
/* The sum of a line; of integers as bits, which wrap. */
double   as_terms_sum(const as_terms *t);
uint64_t as_terms_sum_bits(const as_terms *t);

/* For gradients: sets all d_in to -1 and says whether there is anything to do.  *d_kept is d_out[0] and *y_kept (may be
 * NULL) is out[0], both with the folded axes as 1, so that they broadcast against X. */
bool as_reduce_grad_start(as_builder *b, const as_node_ctx *n, const int *out, const int *d_out, int *d_in, int *d_kept,
                          int *y_kept);
/* Sum over the node's own axes with keepdims; -1 in gives -1 out. */
int as_reduce_grad_sum(as_builder *b, const as_node_ctx *n, int x);
/* ReduceMax and ReduceMin: the terms equal to the result share its gradient. */
assay_status as_reduce_grad_order(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in);

/* The index of the largest or the smallest of the terms, of which there must be at least one: of equal ones the first, or the last
 * when asked; a NaN wins over any number, as in numpy. */
int64_t as_terms_best(const as_terms *t, bool largest, bool last);

/* --- ArgMax, ArgMin: the two differ in one comparison --------------------------------------------- */

extern const as_attr_def as_arg_attrs[]; /* axis, keepdims, select_last_index */
assay_status             as_arg_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
/* as_terms_best(), the last of equals with select_last_index. */
assay_status as_arg_eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out, bool largest);

/* Cases of most reductions, random in [lo, hi). */
#define AS_CASES_REDUCE(lo_, hi_)                                                                                                \
    {.name = "scalar", .n_in = 1, .in = {{.dtype = AS_F64}}, .lo = (lo_), .hi = (hi_)},                                          \
        {.name = "rows of 7x9", .n_in = 2, .in = {AS_IN(F32, 7, 9), AS_IN_INTS(1)}, .lo = (lo_), .hi = (hi_)},                   \
        {.name = "all of 15x17",                                                                                                 \
         .n_in = 1,                                                                                                              \
         .in = {AS_IN(F32, 15, 17)},                                                                                             \
         .n_attrs = 1,                                                                                                           \
         .attrs = {AS_ATTR_I("keepdims", 0)},                                                                                    \
         .lo = (lo_),                                                                                                            \
         .hi = (hi_)},                                                                                                           \
        {.name = "all but channels", .n_in = 2, .in = {AS_IN(F64, 3, 4, 5, 7), AS_IN_INTS(0, -2, 3)}, .lo = (lo_), .hi = (hi_)}, \
        {.name = "f16", .n_in = 2, .in = {AS_IN(F16, 4, 5), AS_IN_INTS(0)}, .lo = (lo_), .hi = (hi_)},                           \
    {                                                                                                                            \
        .name = "no rows", .n_in = 2, .in = { AS_IN(F32, 0, 3), AS_IN_INTS(1) }                                                  \
    }

#endif
