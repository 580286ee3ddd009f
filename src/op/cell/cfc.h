/* cfc.h - closed-form continuous-time cells over a whole sequence: what assay.CfC and assay.CfCGrad share.
 *
 * Inputs, weights as the torch reference stores them ([out][in]):
 *      0 x [B,T,I]       1 h0 [B,H] (zeros)     2 c0 [B,H] (zeros; mixed memory only)     3 timespans [B,T] (ones)
 *      4 memory input weight [4H,I]   5 its bias [4H]   6 memory recurrent weight [4H,H]     (all three or none)
 *      7 projection weight [P,O]      8 its bias [P]                                          (both or none)
 *      9 on: for each of `backbone` layers weight and bias; then for each cell
 *            mask (i8 or float, like ff1's weight; absent: dense), then
 *            default, no_gate: weight and bias of ff1, ff2, time_a, time_b
 *            pure:             w_tau [1,N], A [1,N], weight and bias of ff1
 * Several cells are the layers of a wiring: each sees the new state of the one before and its own old one; H is the sum of their
 * sizes, the state lies in their order, O is the size of the last.  Outputs: y [B,T,P or O] ([B,P or O] with return_sequences 0),
 * h_n [B,H], c_n [B,H] (mixed memory only; else zeros, where the stash is asked for), and the stash [T,S,B]: what the gradient needs
 * of every step, one line per number, which spares it a forward pass (as_cfc_stash). */
#ifndef AS_OP_CFC_H
#define AS_OP_CFC_H

#include "op/rules.h"

enum {
    AS_CFC_X,
    AS_CFC_H0,
    AS_CFC_C0,
    AS_CFC_TIMESPANS,
    AS_CFC_MEMORY_W,
    AS_CFC_MEMORY_B,
    AS_CFC_MEMORY_R,
    AS_CFC_FC_W,
    AS_CFC_FC_B,
    AS_CFC_CELLS
};
enum { AS_CFC_MAX_BACKBONE = 20, AS_CFC_MAX_CELLS = 5, AS_CFC_MAX_IN = 60, AS_CFC_MAX_OUT = 60 };

typedef enum as_cfc_mode { AS_CFC_DEFAULT, AS_CFC_PURE, AS_CFC_NO_GATE } as_cfc_mode;
typedef enum as_cfc_act { AS_CFC_LECUN_TANH, AS_CFC_TANH, AS_CFC_RELU, AS_CFC_SILU, AS_CFC_GELU } as_cfc_act;
/* keras: no tanh on the heads, time_a negated, masks with their signs, dropout after every layer. enhanced:
 * as keras, but without masks and without an activation after the last backbone layer. */
typedef enum as_cfc_semantics { AS_CFC_TORCH, AS_CFC_KERAS, AS_CFC_ENHANCED } as_cfc_semantics;

/* One cell: the number of its first input (the mask), and its sizes. */
typedef struct as_cfc_cell {
    int     first;
    int64_t n_in, n_hidden, n_z, at; /* n_z: what the heads see; at: where its state lies in h */
} as_cfc_cell;

/* A node that was read and checked. */
typedef struct as_cfc {
    int64_t          n_batch, n_steps, n_in, n_state, n_out, n_y;
    as_cfc_mode      mode;
    as_cfc_act       act;
    as_cfc_semantics semantics;
    bool             has_memory, has_fc, sequences;
    int              n_backbone, n_cells;
    int64_t          width[AS_CFC_MAX_BACKBONE];
    as_cfc_cell      cell[AS_CFC_MAX_CELLS];
    double           dropout; /* 0 when not training */
    uint32_t         dropout_seed;
} as_cfc;

extern const as_attr_def as_cfc_attrs[];

/* `n` is the node, for messages and attributes; in and n_in are the CfC's inputs, wherever they are in the node. */
assay_status as_cfc_read(assay_env *env, const as_node_ctx *n, const as_tensor_info *in, int n_in, as_cfc *out);
/* Dropout after backbone layer l, counted from 0, when training. */
bool as_cfc_drops_after(const as_cfc *c, int l);
/* Whether the backbone's layer l has an activation. */
bool as_cfc_acts_after(const as_cfc *c, int l);
/* Whether input i has a gradient: it is a float and not a mask. */
bool     as_cfc_differentiable(const as_cfc *c, const as_tensor_info *in, int n_in, int i);
as_shape as_cfc_y_shape(const as_cfc *c);
/* Multiply-adds and special functions of the forward pass; with a known mask only its synapses count. */
as_cost as_cfc_work(const as_cfc *c, const as_tensor_info *in);

/* Lines of the stash: where those of a kind begin.  h: the new state.  With mixed memory its new c, the state that it gives to the
 * cells, and for each unit its gates i, ig, fg, og after their activations.  For each unit of a backbone layer its value after
 * activation and dropout, and the slope there, dropout included.  For each unit of a cell: ff1 and ff2 after their activation and
 * the gate, or with time spans ff1, ff2, time_a (with the sign that it has in the gate) and the gate; in mode pure ff1 and exp(-ts (|w_tau| + |ff1|)). */
typedef struct as_cfc_stash {
    int64_t n, h, c, m, gates, backbone[AS_CFC_MAX_BACKBONE], cell[AS_CFC_MAX_CELLS];
    int     per_unit; /* lines per unit of a cell */
} as_cfc_stash;
as_cfc_stash as_cfc_stash_of(const as_cfc *c, bool has_spans);

/* The inputs and outputs of a run, as views of the node.  An output without data is not wanted. */
typedef struct as_cfc_run {
    const as_cfc  *c;
    const as_view *in; /* of the CfC */
    int            n_in;
    as_view        y, h_n, c_n, stash;  /* forwards */
    as_view        d_y, d_h_n, d_c_n;   /* backwards: what comes from above; without data: zeros */
    as_view        d_in[AS_CFC_MAX_IN]; /* backwards */
} as_cfc_run;

/* The reference code: one sequence after the other, in double.  A time span that is negative or not finite is refused. */
assay_status as_cfc_forward(assay_env *env, const as_node_ctx *n, const as_cfc_run *r);
assay_status as_cfc_backward(assay_env *env, const as_node_ctx *n, const as_cfc_run *r);

/* The sequence as primitive nodes. */
assay_status as_cfc_expand(as_builder *b, const as_node_ctx *n, const as_cfc *c, const int *in, int *out);

#endif
