/* plain.h - what the plain kernels share: inner loops, broadcasting, windows.
 *
 * The inner loops use strips of a fixed length, because at -O2 gcc vectorises a loop only if its trip count is a constant;
 * `j = i; j < i + 16` was tried, and gcc 12 left it scalar (-fopt-info-vec).  The order of each element's sum does not
 * depend on the strip or the share, so results do not depend on the threads. */
#ifndef AS_BACKEND_CPU_PLAIN_H
#define AS_BACKEND_CPU_PLAIN_H

#include "backend/cpu/kernel.h"

enum { AS_STRIP = 8, AS_GRAIN = 16 /* floats per cache line: two threads do not write the same line */ };

/* y[j] += a[0] * b[j] + a[a_step] * b[b_step + j] + ..., k terms, added one after the other. */
void as_plain_rows(float *restrict y, const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t k, int64_t n);
/* The sum of a[i * a_step] * b[i * b_step], in eight interleaved sums that are added at the end. */
float as_plain_dot(const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t n);
/* y[j * y_step] += w * x[j * x_step]. */
void as_plain_scaled(float *restrict y, int64_t y_step, const float *x, int64_t x_step, float w, int64_t n);
/* The sum of x[0..n), in eight interleaved sums. */
float as_plain_sum(const float *x, int64_t n);
/* y[j] += x[j]. */
void as_plain_add(float *restrict y, const float *x, int64_t n);

/* One row of a binary op: n results from two rows whose steps are 0 (one value for all) or 1. */
typedef void (*as_plain_row)(float *restrict y, const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t n);
/* This part's share of out = op(in[0], in[1]) with broadcasting, row by row. */
void as_plain_each2(const as_kernel_args *args, int part, int n_parts, as_plain_row row);

/* A row() for as_plain_each2 from an expression of p and q. */
#define AS_PLAIN_ROW(expression)                                                                                   \
    static float one(float p, float q) { return expression; }                                                      \
    static void  row(float *restrict y, const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t n) \
    {                                                                                                              \
        int64_t i = 0;                                                                                             \
        if (a_step && b_step) {                                                                                    \
            for (; i + AS_STRIP <= n; i += AS_STRIP)                                                               \
                for (int l = 0; l < AS_STRIP; l++)                                                                 \
                    y[i + l] = one(a[i + l], b[i + l]);                                                            \
        } else if (a_step) {                                                                                       \
            for (; i + AS_STRIP <= n; i += AS_STRIP)                                                               \
                for (int l = 0; l < AS_STRIP; l++)                                                                 \
                    y[i + l] = one(a[i + l], *b);                                                                  \
        }                                                                                                          \
        for (; i < n; i++)                                                                                         \
            y[i] = one(a[i * a_step], b[i * b_step]);                                                              \
    }

/* The window with its axes moved to the right and ones in front: the elements of axis 2 are neighbours. */
bool as_plain_window(const as_node_ctx *n, const as_shape *x, const int64_t *kernel, bool ceil_mode, as_window *out);
/* The same for ConvTranspose and assay.ConvGradX: of the convolution that they turn round, from what they write to what they read. */
bool as_plain_turned_window(const as_node_ctx *n, as_window *out);
/* The outputs [*begin, *end) of an axis whose tap k lies inside the input. */
void as_plain_taps(const as_window *w, int axis, int64_t k, int64_t *begin, int64_t *end);
/* Where tap k of output o reads; may be outside. */
static inline int64_t as_plain_at(const as_window *w, int axis, int64_t o, int64_t k)
{
    return o * w->stride[axis] - w->pad_begin[axis] + k * w->dilation[axis];
}
/* as_kernel_f32_only(), and the window is valid. */
bool as_plain_conv_accepts(const as_node_ctx *n, const as_shape *x, const as_shape *w, char *why, size_t why_size);
/* A shape from a list attribute (input_shape, weight_shape). */
as_shape as_plain_shape(const as_node_ctx *n, const char *attr);

/* Copies input 0 to output 0, for any dtype: Reshape and Flatten where the plan did not alias. */
bool as_plain_copy_accepts(const as_node_ctx *n, char *why, size_t why_size);
void as_plain_copy(const as_kernel_args *args, int part, int n_parts, void *scratch);

#endif
