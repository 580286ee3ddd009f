/* memory_cell.c - the mixed-memory LSTM cell, forwards, backwards and as primitives. */
#include "op/cell/memory_cell.h"

#include <math.h>

#include "op/rules.h"

static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

void as_memory_step(const as_memory *m, const double *x, const double *h, const double *c, double *gates, double *c_next,
                    double *h_next)
{
    int64_t n = m->n_hidden;
    for (int64_t r = 0; r < 4 * n; r++) {
        double q = m->b_in[r];
        for (int64_t k = 0; k < m->n_in; k++)
            q += m->w_in[r * m->n_in + k] * x[k];
        for (int64_t k = 0; k < n; k++)
            q += m->w_rec[r * n + k] * h[k];
        gates[r] = r < n ? tanh(q) : sigmoid(r / n == 2 ? q + 1.0 : q);
    }
    for (int64_t k = 0; k < n; k++) {
        c_next[k] = c[k] * gates[2 * n + k] + gates[k] * gates[n + k];
        h_next[k] = tanh(c_next[k]) * gates[3 * n + k];
    }
}

void as_memory_step_back(const as_memory *m, const as_memory_grad *g, const double *x, const double *h, const double *c,
                         const double *gates, const double *c_next, const double *d_h_next, double *d_c, double *d_x, double *d_h,
                         double *scratch)
{
    int64_t n = m->n_hidden;
    for (int64_t k = 0; k < n; k++) {
        double i = gates[k], ig = gates[n + k], fg = gates[2 * n + k], og = gates[3 * n + k], t = tanh(c_next[k]);
        double d = d_c[k] + d_h_next[k] * og * (1.0 - t * t);
        scratch[k] = d * ig * (1.0 - i * i);
        scratch[n + k] = d * i * ig * (1.0 - ig);
        scratch[2 * n + k] = d * c[k] * fg * (1.0 - fg);
        scratch[3 * n + k] = d_h_next[k] * t * og * (1.0 - og);
        d_c[k] = d * fg;
    }
    for (int64_t r = 0; r < 4 * n; r++) {
        double d = scratch[r];
        g->b_in[r] += d;
        for (int64_t k = 0; k < m->n_in; k++) {
            g->w_in[r * m->n_in + k] += d * x[k];
            d_x[k] += d * m->w_in[r * m->n_in + k];
        }
        for (int64_t k = 0; k < n; k++) {
            g->w_rec[r * n + k] += d * h[k];
            d_h[k] += d * m->w_rec[r * n + k];
        }
    }
}

uint64_t as_memory_flops(int64_t n_in, int64_t n_hidden)
{
    return as_sat_mul(as_sat_mul(8, (uint64_t)n_hidden), as_sat_add((uint64_t)n_in, (uint64_t)n_hidden));
}

uint64_t as_memory_special(int64_t n_hidden) { return as_sat_mul(5, (uint64_t)n_hidden); }

void as_memory_expand(as_builder *b, int x, int w_in, int b_in, int w_rec, int *h, int *c)
{
    as_attr  trans = AS_ATTR_I("transB", 1), axis = AS_ATTR_I("axis", 1), parts = AS_ATTR_I("num_outputs", 4);
    as_dtype dtype = AS_F32;
    int      q[4] = {-1, -1, -1, -1};
    if (x < 0 || w_in < 0 || b_in < 0 || w_rec < 0 || *h < 0 || *c < 0) {
        *h = *c = -1;
        return;
    }
    dtype = b->info(b, x)->dtype;
    int in = b->node(b, "Gemm", (int[]){x, w_in, b_in}, 3, &trans, 1, NULL, 1);
    int all = in < 0 ? -1 : b->node(b, "Gemm", (int[]){*h, w_rec, in}, 3, &trans, 1, NULL, 1);
    if (all < 0 || b->node(b, "Split", &all, 1, (as_attr[]){axis, parts}, 2, q, 4) < 0) {
        *h = *c = -1;
        return;
    }
    int forget = as_b1(b, "Sigmoid", as_b2(b, "Add", q[2], as_b_scalar(b, dtype, 1.0)));
    int write = as_b2(b, "Mul", as_b1(b, "Tanh", q[0]), as_b1(b, "Sigmoid", q[1]));
    *c = as_b2(b, "Add", as_b2(b, "Mul", *c, forget), write);
    *h = as_b2(b, "Mul", as_b1(b, "Tanh", *c), as_b1(b, "Sigmoid", q[3]));
}
