/* ltc.h - liquid time constants: what assay.LTC and assay.LTCGrad share.  The C source that export/ writes follows it too.
 *
 * Units leak, and synapses open with the state of their source.  The fused semi-implicit Euler rule steps them:
 *     u = x * input_w + input_b
 *     a_ij = pos(w_ij) * sigmoid(sigma_ij * (v_i - mu_ij)),  the same for sensory synapses with u_i
 *     v_j <- (C_j v_j + g_j vleak_j + sum a_ij erev_ij + sensory) / (C_j + g_j + sum a_ij + sensory + epsilon),  C_j = pos(cm_j) / dt
 * `unfolds` times a step with dt = timespan / unfolds; g = pos(gleak), and pos is softplus with implicit constraints, else nothing.
 * Both sides of the fraction are multiplied by dt here, so that a timespan of 0 leaves the state as it is.
 *
 * A synapse is there where the mask is not 0 (everywhere without one).  What is not there costs nothing and has no gradient. */
#ifndef AS_OP_LTC_H
#define AS_OP_LTC_H

#include "op/cell/memory_cell.h"
#include "op/rules.h"

/* The parameters in the order in which the reference registers them; a matrix is [source, target].  LTCGrad adds three. */
enum {
    AS_LTC_X,
    AS_LTC_GLEAK,
    AS_LTC_VLEAK,
    AS_LTC_CM,
    AS_LTC_SIGMA,
    AS_LTC_MU,
    AS_LTC_W,
    AS_LTC_EREV,
    AS_LTC_SENSORY_SIGMA,
    AS_LTC_SENSORY_MU,
    AS_LTC_SENSORY_W,
    AS_LTC_SENSORY_EREV,
    AS_LTC_N_NEEDED,
    AS_LTC_MASK = AS_LTC_N_NEEDED,
    AS_LTC_SENSORY_MASK,
    AS_LTC_INPUT_W,
    AS_LTC_INPUT_B,
    AS_LTC_OUTPUT_W,
    AS_LTC_OUTPUT_B,
    AS_LTC_MEMORY_W,
    AS_LTC_MEMORY_B,
    AS_LTC_MEMORY_R,
    AS_LTC_FC_W,
    AS_LTC_FC_B,
    AS_LTC_H0,
    AS_LTC_C0,
    AS_LTC_TIMESPANS,
    AS_LTC_N_IN,
    AS_LTC_DY = AS_LTC_N_IN,
    AS_LTC_DH,
    AS_LTC_DC,
    AS_LTC_N_GRAD_IN
};

/* A node that was read and checked. */
typedef struct as_ltc {
    int64_t n_batch, n_steps, n_in, n_units;
    int64_t n_motor; /* units that are read: the first n_motor */
    int64_t n_out;   /* size of y: n_motor, or that of the projection */
    int64_t n_unfolds;
    double  epsilon;
    bool    implicit, sequences, memory;
} as_ltc;

extern const as_attr_def as_ltc_attrs[];
assay_status             as_ltc_read(assay_env *env, const as_node_ctx *n, as_ltc *out);
as_shape                 as_ltc_y(const as_ltc *s); /* the shape of y */
static inline bool       as_ltc_is_mask(int i) { return i == AS_LTC_MASK || i == AS_LTC_SENSORY_MASK; }
/* Whether input i has a gradient: it is present and not a mask. */
static inline bool as_ltc_trains(const as_node_ctx *n, int i) { return i < AS_LTC_N_IN && !as_ltc_is_mask(i) && as_in_has(n, i); }

/* Synapses of a mask input: those present when the mask is known while planning, else as many as it could have. */
uint64_t as_ltc_synapses(const as_node_ctx *n, int mask, int64_t n_sources, int64_t n_targets);
/* The forward work, masks taken into account; `special` counts the sigmoids and tanhs.  bytes_read counts only what a run reads:
 * not a known mask, and not the parameters of synapses that it rules out. */
as_cost as_ltc_cost(const as_node_ctx *n, const as_ltc *s);

/* The `expand` of assay.LTC: unrolls time and unfolds, and multiplies masked synapses by 0. */
assay_status as_ltc_expand(as_builder *b, const as_node_ctx *n, const int *in, int *out);

/* The inputs of a case that LTC needs: AS_LTC_CORE(F32, batch, steps, inputs, units). */
#define AS_LTC_CORE(d, b, t, i, u)                                                                                            \
    AS_IN(d, b, t, i), AS_IN(d, u), AS_IN(d, u), AS_IN(d, u), AS_IN(d, u, u), AS_IN(d, u, u), AS_IN(d, u, u), AS_IN(d, u, u), \
        AS_IN(d, i, u), AS_IN(d, i, u), AS_IN(d, i, u), AS_IN(d, i, u)

/* --- One network in double ------------------------------------------------------------------- */

typedef struct as_synapse {
    int64_t from, to, at;       /* at: flat index in the matrices */
    double  w, sigma, mu, erev; /* w after pos */
} as_synapse;

typedef struct as_ltc_net {
    as_ltc  s;
    double *in[AS_LTC_N_GRAD_IN]; /* every input but the masks as row-major doubles, NULL where absent; cm and gleak after pos */
    as_synapse *inner, *sensory;
    int64_t     n_inner, n_sensory;
    as_memory   memory;
} as_ltc_net;

/* Reads everything; refuses a time span that is not a time, by sample and step.  The arena owns the memory. */
assay_status as_ltc_load(assay_env *env, const as_node_ctx *n, const as_view *in, as_arena *arena, as_ltc_net *out);
double       as_ltc_pos_slope(double p); /* d softplus / dp */

/* What one sequence computed on its way.  Without `keep` each step overwrites the one before. */
typedef struct as_ltc_trail {
    bool    keep;
    double *u;                      /* [steps][n_in], after the input mapping */
    double *v;                      /* [steps][unfolds + 1][n_units] */
    double *sensory;                /* [steps][2][n_units]: sum of a * erev and of a */
    double *h, *c, *gates, *c_next; /* of the memory cell: before, before, [4 n_units], after */
} as_ltc_trail;

assay_status as_ltc_trail_take(assay_env *env, const as_node_ctx *n, const as_ltc *s, bool keep, as_arena *arena,
                               as_ltc_trail *out);
/* Runs sequence b from the state h, c (in and out; c is NULL without memory).  y (NULL: not wanted) is [steps][n_out], or the last
 * step alone. */
assay_status as_ltc_forward(assay_env *env, const as_node_ctx *n, const as_ltc_net *net, int64_t b, const as_ltc_trail *trail,
                            double *h, double *c, double *y);
/* The same backwards along a kept trail.  d_y is like y, or NULL; d_h and d_c hold the gradients of the last state and get those of
 * the first.  Adds to d[i], which has the size of input i; those of w, cm and gleak are with respect to the result of pos. */
void as_ltc_backward(const as_ltc_net *net, int64_t b, const as_ltc_trail *trail, const double *d_y, double *d_h, double *d_c,
                     double *scratch, double *const *d);
/* Doubles that as_ltc_backward() needs as scratch. */
static inline size_t as_ltc_scratch(const as_ltc *s) { return (size_t)(11 * s->n_units + s->n_in + s->n_motor); }

#endif
