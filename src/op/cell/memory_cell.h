/* memory_cell.h - the LSTM cell that stands before a continuous cell with mixed memory (CfC, LTC):
 *     q = W_in x + b_in + W_rec h, in four parts i, ig, fg, og
 *     c' = c * sigmoid(fg + 1) + tanh(i) * sigmoid(ig),  h' = tanh(c') * sigmoid(og)
 * h' replaces the state; the continuous cell still sees x itself. */
#ifndef AS_OP_MEMORY_CELL_H
#define AS_OP_MEMORY_CELL_H

#include "op/op.h"

/* Row-major: w_in [4 n_hidden][n_in], b_in [4 n_hidden], w_rec [4 n_hidden][n_hidden]. */
typedef struct as_memory {
    int64_t       n_in, n_hidden;
    const double *w_in, *b_in, *w_rec;
} as_memory;

/* One step of one sequence.  gates (4 n_hidden) gets tanh(i), sigmoid(ig), sigmoid(fg + 1), sigmoid(og): the step back needs them. */
void as_memory_step(const as_memory *m, const double *x, const double *h, const double *c, double *gates, double *c_next,
                    double *h_next);

/* Where the gradients of the weights are summed; sizes as of the weights. */
typedef struct as_memory_grad {
    double *w_in, *b_in, *w_rec;
} as_memory_grad;

/* The step backwards.  x, h, c, gates and c_next are those of the step; d_h_next comes from above.  d_c is the gradient of
 * c_next and becomes that of c; adds to d_x and d_h.  scratch: 4 n_hidden. */
void as_memory_step_back(const as_memory *m, const as_memory_grad *g, const double *x, const double *h, const double *c,
                         const double *gates, const double *c_next, const double *d_h_next, double *d_c, double *d_x, double *d_h,
                         double *scratch);

/* The work per step and sequence: its multiply-adds, 2 flops each, and its exp and tanh. */
uint64_t as_memory_flops(int64_t n_in, int64_t n_hidden);
uint64_t as_memory_special(int64_t n_hidden);

/* The step as nodes: x [batch, n_in], h and c [batch, n_hidden]; h and c become the next ones.  AS_MEMORY_NODES nodes. */
#define AS_MEMORY_NODES 14
void as_memory_expand(as_builder *b, int x, int w_in, int b_in, int w_rec, int *h, int *c);

#endif
