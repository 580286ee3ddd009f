/* wiring.h - neural circuits: who is connected to whom, and with which sign.
 *
 * FullyConnected, Random, NCP and AutoNCP as the torch reference (ncps 1.0.1) builds them, synapse for synapse: the same arguments
 * give the same matrices bit for bit.  A wiring is built once, for one number of inputs; a second build with another number is an
 * error; it never adds synapses.
 *
 * Neurons are numbered motor, command, inter (of one-layer wirings: motor below output_dim, inter above). */
#ifndef AS_MODEL_WIRING_H
#define AS_MODEL_WIRING_H

#include "base/arena.h"
#include "base/env.h"

typedef enum as_wiring_kind { AS_WIRING_FULL, AS_WIRING_RANDOM, AS_WIRING_NCP, AS_WIRING_AUTONCP } as_wiring_kind;

/* The arguments of a wiring; 0 for what a kind does not have. */
typedef struct as_wiring_spec {
    as_wiring_kind kind;
    int64_t        units, out; /* full, random, autoncp; out 0: all units */
    int64_t        inter, command, motor, sensory_fanout, inter_fanout, recurrent_command, motor_fanin; /* ncp */
    double         sparsity;                                                                            /* random, autoncp */
    uint64_t       seed;
    bool           self_connections; /* full */
} as_wiring_spec;

typedef enum as_neuron { AS_NEURON_MOTOR, AS_NEURON_COMMAND, AS_NEURON_INTER } as_neuron;

typedef struct as_wiring {
    as_wiring_spec spec;                        /* as given; for autoncp also the ncp numbers that follow from it */
    int            n_units, n_out, n_inputs;    /* n_inputs 0: not built yet */
    int            n_inter, n_command, n_motor; /* one-layer wirings: command 0 */
    int            n_layers;                    /* 1, or 3: inter, command, motor */
    int8_t        *adjacency;                   /* [n_units][n_units], source by target: -1, 0, +1 */
    int8_t        *sensory;                     /* [n_inputs][n_units] */
} as_wiring;

/* "autoncp:units=28,out=4,sparsity=0.5,seed=22222"; every wrong key, number or combination has its own message. */
assay_status as_wiring_parse(assay_env *env, const char *text, as_wiring_spec *out);
/* Makes the checks of the reference, each with a message; then all synapses.  The arena owns the memory. */
assay_status as_wiring_make(assay_env *env, const as_wiring_spec *spec, int n_inputs, as_arena *arena, as_wiring *out);
/* For a shared wiring: succeeds when it was built for this many inputs, fails otherwise. */
assay_status as_wiring_expect(assay_env *env, const as_wiring *w, int n_inputs);

as_neuron as_wiring_type(const as_wiring *w, int neuron);
int       as_wiring_synapses(const as_wiring *w);
int       as_wiring_sensory_synapses(const as_wiring *w);
/* The neurons of layer l (0 inter, 1 command, 2 motor; one-layer wirings: all), in the order of the reference's layers. */
int as_wiring_layer(const as_wiring *w, int layer, int *neurons);

/* --- As a graph: degrees, components, path lengths, synapses by neuron type --- */

typedef struct as_degrees {
    int    min, max;
    double mean;
} as_degrees;

/* Of a directed graph; a loop counts as one incoming and one outgoing edge. */
typedef struct as_graph_shape {
    as_degrees in, out;
    int        n_weak;    /* components when direction is ignored */
    int        n_strong;  /* components in which every neuron reaches every other */
    int64_t    n_pairs;   /* ordered pairs of different neurons where the first reaches the second */
    double     path_mean; /* shortest paths over those pairs, in synapses; 0 without any */
    int        path_max;
} as_graph_shape;

/* Synapses from one type to another; the sensory "type" comes before those of neurons. */
enum { AS_N_SOURCES = 4, AS_N_TARGETS = 3, AS_SOURCE_SENSORY = 3 }; /* sources 0 to 2: as_neuron */
typedef struct as_signs {
    int excitatory, inhibitory;
} as_signs;

typedef struct as_wiring_facts {
    as_signs       by_type[AS_N_SOURCES][AS_N_TARGETS]; /* [source][target] */
    as_signs       internal, sensory;                   /* sums */
    as_degrees     sensory_out, sensory_in;             /* synapses of an input; sensory synapses of a neuron */
    as_graph_shape neurons;                             /* internal synapses only */
    uint32_t       crc, sensory_crc;                    /* CRC-32 of the two matrices */
} as_wiring_facts;

/* links[source * n + target] != 0 is a synapse.  NO_MEMORY is the only failure. */
assay_status as_graph_measure(assay_env *env, const int8_t *links, int n, as_graph_shape *out);
assay_status as_wiring_measure(assay_env *env, const as_wiring *w, as_wiring_facts *out);

#endif
