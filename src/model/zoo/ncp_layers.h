/* ncp_layers.h - what the continuous-time networks share: the keys of a wiring, and weights drawn as torch draws them.
 * Private to model/. */
#ifndef AS_MODEL_NCP_LAYERS_H
#define AS_MODEL_NCP_LAYERS_H

#include "base/random.h"
#include "model/wiring/wiring.h"
#include "model/zoo/zoo.h"

#define AS_NCP_PARAMS                                                                                                       \
    {"input", "20", "numbers per step"}, {"units", "64", "units (with wiring=ncp: inter, command and motor say how many)"}, \
        {"out", "0", "output neurons of a wiring; 0: all units, of autoncp a quarter"},                                     \
        {"wiring", "none", "none, full, random, ncp or autoncp"}, {"sparsity", "0.5", "of a random or autoncp wiring"},     \
        {"wiring_seed", "22222", "full and random: 1111 unless given"}, {"inter", "10", "ncp: inter neurons"},              \
        {"command", "10", "ncp: command neurons"}, {"motor", "8", "ncp: motor neurons"},                                    \
        {"sensory_fanout", "6", "ncp: inter neurons that an input reaches"},                                                \
        {"inter_fanout", "6", "ncp: command neurons that an inter neuron reaches"},                                         \
        {"recurrent_command", "4", "ncp: synapses among the command neurons"},                                              \
    {                                                                                                                       \
        "motor_fanin", "6", "ncp: command neurons that a motor neuron hears"                                                \
    }

/* Reads the keys above.  True with *has false: wiring=none.  False: the maker holds the message. */
bool as_ncp_wiring(as_maker *m, const as_zoo_args *args, as_wiring *out, bool *has);
/* The number of a key; fails with a message when it is not in [lo, hi]. */
bool as_ncp_real(as_maker *m, const as_zoo_args *args, const char *key, double lo, double hi, double *out);
/* 0 or 1. */
bool as_ncp_flag(as_maker *m, const as_zoo_args *args, const char *key);

/* torch's generator and how it fills: out[i] uniform in [-bound, bound), bound rounded to f32 first. */
void   as_torch_uniform(as_mt19937 *g, double bound, float *out, int64_t n);
double as_torch_linear_bound(int64_t fan_in); /* of the weights; of a bias it is 1/sqrt(fan_in) */
double as_torch_xavier_bound(int64_t fan_in, int64_t fan_out);
/* Orthonormal columns of [rows][cols], rows >= cols; not torch's own values, which come from LAPACK. */
void as_torch_orthogonal(as_mt19937 *g, float *out, int64_t rows, int64_t cols);

#endif
