/* rnn_net.h - LSTM, GRU and RNN as their kernels see them, after a simd_*.h: sizes, strides, and the weights in panels.
 *
 * A vector is VW neighbouring units of one gate.  A panel holds the weights of VW units for all the gates that a tile sums up
 * together, [bias][X's inputs][h's inputs], one row after the other, each row gate by gate: so the sums of all gates of a unit are in
 * registers when they are done, and X, h and the results stay as the node has them, row by row.  Which tile a row is in does not
 * change its sums: a split of the batch gives the same bits. */
#ifndef AS_BACKEND_CPU_RNN_NET_H
#define AS_BACKEND_CPU_RNN_NET_H

#include <stdio.h>
#include <string.h>

#include "backend/cpu/cell/cell_math.h"
#include "backend/cpu/kernel.h"
#include "backend/cpu/product/gemm_tile.h"
#include "op/cell/recurrent.h"

/* GRU_RESET is linear_before_reset 0: the reset gate comes before the product with Rh. */
typedef enum net_kind { NET_LSTM, NET_GRU, NET_GRU_RESET, NET_RNN } net_kind;

/* A sum in a tile: which gate's row of W, R and B it gets, -1 for none. */
typedef struct sum_def {
    int w, r, wb, rb;
} sum_def;

/* The gates that are summed up together.  GRU keeps what comes from X and from h apart for its last gate, so it has four sums of
 * three gates: rows of X go to the first three, those of h to the first two and the fourth. */
typedef struct group {
    int           n_sums, n_x, n_h, first_x, first_h; /* vectors per row of X and of h, and the gates of the first of each */
    const sum_def sums[4];
} group;
static const group groups_lstm[] = {{4, 4, 4, 0, 0, {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}}};
static const group groups_gru[] = {{4, 3, 3, 0, 0, {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, -1, 2, -1}, {-1, 2, -1, 2}}}};
static const group groups_reset[] = {{2, 2, 2, 0, 0, {{0, 0, 0, 0}, {1, 1, 1, 1}}}, {1, 1, 1, 2, 2, {{2, 2, 2, 2}}}};
static const group groups_rnn[] = {{1, 1, 1, 0, 0, {{0, 0, 0, 0}}}};

typedef struct net {
    net_kind       kind;
    const as_cell *cell;
    as_recurrent   r;
    const group   *groups;
    int            n_groups;
    int64_t        n_panels, at[2], n_floats;                 /* of a direction: first float of each group, and all of them */
    int64_t        x_t, x_b, y_t, y_d, y_b, state_d, state_b; /* strides of X, of Y and of the states */
    int64_t        stash_t, stash_d, stash_b;
} net;

V_INLINE int64_t panel_floats(const net *m, const group *g)
{
    return (g->n_sums + g->n_x * m->r.n_in + g->n_h * m->r.n_hidden) * VW;
}
V_INLINE int64_t lines(int64_t n) { return (n + 15) / 16 * 16; }
V_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* By the name of the operator or of its gradient. */
static const as_cell *cell_of(const char *op)
{
    return strstr(op, "LSTM") ? &as_cell_lstm : strstr(op, "GRU") ? &as_cell_gru : &as_cell_rnn;
}

static net net_of(const as_node_ctx *n)
{
    net           m = {.cell = cell_of(n->op->name)};
    as_recurrent *r = &m.r;
    if (as_recurrent_read(NULL, n, m.cell, r) != ASSAY_OK)
        return (net){0}; /* cannot happen: the node was inferred */
    m.kind = m.cell->n_gates == 4                            ? NET_LSTM
             : m.cell->n_gates == 1                          ? NET_RNN
             : as_attr_int(n, "linear_before_reset", 0) != 0 ? NET_GRU
                                                             : NET_GRU_RESET;
    m.groups = m.kind == NET_LSTM ? groups_lstm : m.kind == NET_RNN ? groups_rnn : m.kind == NET_GRU ? groups_gru : groups_reset;
    m.n_groups = m.kind == NET_GRU_RESET ? 2 : 1;
    m.n_panels = (r->n_hidden + VW - 1) / VW;
    for (int g = 0; g < m.n_groups; g++) {
        m.at[g] = m.n_floats;
        m.n_floats += m.n_panels * panel_floats(&m, &m.groups[g]);
    }
    const int64_t d = r->n_directions, h = r->n_hidden;
    m.x_t = r->batch_first ? r->n_in : r->n_batch * r->n_in;
    m.x_b = r->batch_first ? r->n_steps * r->n_in : r->n_in;
    m.y_t = r->batch_first ? d * h : d * r->n_batch * h;
    m.y_d = r->batch_first ? h : r->n_batch * h;
    m.y_b = r->batch_first ? r->n_steps * d * h : h;
    m.state_d = r->batch_first ? h : r->n_batch * h;
    m.state_b = r->batch_first ? d * h : h;
    m.stash_b = m.cell->n_stash * h;
    m.stash_d = r->n_batch * m.stash_b;
    m.stash_t = d * m.stash_d;
    return m;
}

static bool net_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    const as_cell *cell = cell_of(n->op->name);
    as_recurrent   r;
    if (as_in_has(n, AS_RNN_LENGTHS)) {
        snprintf(why, why_size, "sequences differ in length");
        return false;
    }
    as_node_ctx given = *n; /* output 0 may be absent */
    while (given.n_out > 0 && given.out[0].dtype == AS_NONE) {
        given.out++;
        given.n_out--;
    }
    if (!as_kernel_f32_only(&given, why, why_size))
        return false;
    if (as_recurrent_read(NULL, n, cell, &r) != ASSAY_OK || !as_recurrent_plain(n, cell, &r, why, why_size))
        return false;
    if (VW <= 8 || r.n_hidden > VW / 2)
        return true;
    /* They take as long as in a vector of half the width, which half the machines run twice as many of. */
    snprintf(why, why_size, "%lld units fill no more than half of a vector of %d", (long long)r.n_hidden, (int)VW);
    return false;
}

V_INLINE vf   get(const float *p, int count) { return count == VW ? v_load(p) : v_load_n(p, count); }
V_INLINE void put(float *p, int count, vf x)
{
    if (count == VW)
        v_store(p, x);
    else
        v_store_n(p, count, x);
}

#endif
