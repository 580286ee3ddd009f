/* norm.h - what the normalising operators share: moments of lines, per-channel views, one gradient.
 *
 * A line is what is normalised together: the elements along a set of axes.  Only op_*.c and norm.c include it. */
#ifndef AS_OP_NORM_H
#define AS_OP_NORM_H

#include "op/reduce/reduce.h"

/* Mean and population variance of elements first .. first + count - 1; NaN when there are none. */
typedef struct as_moments {
    double mean, variance;
} as_moments;
as_moments as_moments_of(const as_view *x, int64_t first, int64_t count);

/* The attribute epsilon, or ONNX's default 1e-5, which is a float. */
double as_norm_epsilon(const as_node_ctx *n);
/* All axes from the attribute `axis` on; only the last when it is not given. */
assay_status as_norm_axes(assay_env *env, const as_node_ctx *n, unsigned *out);
/* Checks that input i is [count], one value per channel; `what` is its name in ONNX. */
assay_status as_norm_vector(assay_env *env, const as_node_ctx *n, int i, const char *what, int64_t count);
/* Checks that input i broadcasts to X without changing X's shape. */
assay_status as_norm_wide(assay_env *env, const as_node_ctx *n, int i, const char *what);
/* A vector of channels under the shape of X, whose channels lie on axis 1. */
as_view as_norm_channels(const as_view *v, const as_shape *x);

/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias over lines along `axes`, or with the root of the mean square and no
 * mean. scale and bias have the shape of x or are NULL; mean and inv (one value per line) may be NULL. */
typedef struct as_norm {
    const as_view *x, *scale, *bias, *y, *mean, *inv;
    unsigned       axes;
    double         epsilon;
    bool           square;
} as_norm;
void as_norm_eval(const as_norm *norm);
/* Five flops per element (sum, subtract, square and add, scale), two more with scale and bias; a root and a division per line. */
as_cost as_norm_cost(const as_node_ctx *n, uint64_t lines, uint64_t flops_each);

/* The gradients of the same: dx, and the full d_scale = dy * normalised x, which the caller sums to the scale's shape.  `scale`
 * (-1: none) broadcasts to x. */
void as_norm_grad(as_builder *b, int x, int scale, int dy, unsigned axes, double epsilon, bool square, int *dx, int *d_scale);
/* True when input i has exactly the shape of a line: all axes from the attribute `axis` on. */
bool as_norm_is_line(const as_node_ctx *n, int i);
/* The gradients of X, Scale and (if it is there) B by one assay.LayerNormGrad; `stats` has the forward node's outputs, of which 1 and 2 are
 * the mean and the inverse deviation of each line, or is NULL.  False, and nothing is built, unless Scale and B are lines. */
bool as_norm_line_grad(as_builder *b, const as_node_ctx *n, unsigned axes, const int *in, const int *stats, int dy, bool square,
                       int *d_in);
/* A vector as [C, 1, ...] of this rank, so that it broadcasts along axis 1; -1 in gives -1 out. */
int as_norm_column(as_builder *b, int v, int rank);
/* Sums all axes but 1; -1 in gives -1 out. */
int as_norm_sum(as_builder *b, int x);
/* UNSUPPORTED unless inputs 1 .. n - 1 have the dtype of X: the operators that a gradient consists of take a single dtype. */
assay_status as_norm_one_dtype(as_builder *b, const as_node_ctx *n);

#endif
