/* memory_cell_test.c - the mixed-memory cell against values by hand, and its backward step against differences. */
#include "op/cell/memory_cell.h"

#include "tests/runner/test.h"

enum { N_IN = 2, N = 3, ROWS = 4 * N };

typedef struct cell {
    double w_in[ROWS * N_IN], b_in[ROWS], w_rec[ROWS * N], x[N_IN], h[N], c[N];
} cell;

static void fill(cell *k)
{
    double *all = (double *)k;
    for (size_t i = 0; i < sizeof *k / sizeof(double); i++)
        all[i] = sin(1.7 * (double)i + 0.3);
}

static double loss(const cell *k)
{
    as_memory m = {.n_in = N_IN, .n_hidden = N, .w_in = k->w_in, .b_in = k->b_in, .w_rec = k->w_rec};
    double    gates[ROWS], c_next[N], h_next[N], sum = 0.0;
    as_memory_step(&m, k->x, k->h, k->c, gates, c_next, h_next);
    for (int i = 0; i < N; i++)
        sum += (0.5 + i) * h_next[i] - (1.0 - i) * c_next[i];
    return sum;
}

Test(memory_cell, a_step_by_hand)
{
    /* One unit, one input, all weights 0 but the biases: i 0.5, ig 0, fg -1, og 0. */
    double    zeros[4] = {0}, bias[4] = {0.5, 0.0, -1.0, 0.0}, x = 3.0, h = 2.0, c = 0.8, gates[4], c_next, h_next;
    as_memory m = {.n_in = 1, .n_hidden = 1, .w_in = zeros, .b_in = bias, .w_rec = zeros};
    as_memory_step(&m, &x, &h, &c, gates, &c_next, &h_next);
    expect_near(c_next, 0.8 * 0.5 + 0.46211715726000975 * 0.5, 1e-15);
    expect_near(h_next, tanh(c_next) * 0.5, 1e-15);
}

Test(memory_cell, the_step_back_matches_differences)
{
    cell           k, d = {0};
    double         gates[ROWS], c_next[N], h_next[N], d_h[N], scratch[ROWS];
    double        *at = (double *)&k, *gradient = (double *)&d;
    as_memory      m = {.n_in = N_IN, .n_hidden = N, .w_in = k.w_in, .b_in = k.b_in, .w_rec = k.w_rec};
    as_memory_grad g = {d.w_in, d.b_in, d.w_rec};
    fill(&k);
    as_memory_step(&m, k.x, k.h, k.c, gates, c_next, h_next);
    for (int i = 0; i < N; i++) {
        d_h[i] = 0.5 + i;
        d.c[i] = i - 1.0;
    }
    as_memory_step_back(&m, &g, k.x, k.h, k.c, gates, c_next, d_h, d.c, d.x, d.h, scratch);
    for (size_t i = 0; i < sizeof k / sizeof(double); i++) {
        double kept = at[i], side[2];
        for (int s = 0; s < 2; s++) {
            at[i] = kept + (s ? 1e-6 : -1e-6);
            side[s] = loss(&k);
        }
        at[i] = kept;
        expect_near(gradient[i], (side[1] - side[0]) / 2e-6, 1e-8);
    }
}

Test(memory_cell, work_is_counted)
{
    expect_eq(as_memory_flops(20, 64), 8 * 64 * 84);
    expect_eq(as_memory_special(64), 5 * 64);
}
