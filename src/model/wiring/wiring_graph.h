/* wiring_graph.h - a wiring as a graph: degrees, components, path lengths, synapses by neuron type. */
#ifndef AS_MODEL_WIRING_GRAPH_H
#define AS_MODEL_WIRING_GRAPH_H

#include "model/wiring/wiring.h"

typedef struct as_degrees {
    int    min, max;
    double mean;
} as_degrees;

/* Of a directed graph; a loop counts as one way in and one way out. */
typedef struct as_graph_shape {
    as_degrees in, out;
    int        n_weak;    /* components when direction does not count */
    int        n_strong;  /* components in which each reaches each */
    int64_t    n_pairs;   /* ordered pairs of two different neurons of which the first reaches the second */
    double     path_mean; /* shortest paths over those pairs, in synapses; 0 without any */
    int        path_max;
} as_graph_shape;

/* Synapses from one type to another; the sensory "type" stands before the neurons'. */
enum { AS_N_SOURCES = 4, AS_N_TARGETS = 3, AS_SOURCE_SENSORY = 3 }; /* sources 0 to 2: as_neuron */
typedef struct as_signs {
    int excitatory, inhibitory;
} as_signs;

typedef struct as_wiring_facts {
    as_signs       by_type[AS_N_SOURCES][AS_N_TARGETS]; /* [source][target] */
    as_signs       internal, sensory;                   /* sums */
    as_degrees     sensory_out, sensory_in;             /* synapses of an input; sensory synapses of a neuron */
    as_graph_shape neurons;                             /* internal synapses alone */
    uint32_t       crc, sensory_crc;                    /* CRC-32 of the two matrices */
} as_wiring_facts;

/* links[source * n + target] != 0 is a synapse.  NO_MEMORY is the only failure. */
assay_status as_graph_measure(assay_env *env, const int8_t *links, int n, as_graph_shape *out);
assay_status as_wiring_measure(assay_env *env, const as_wiring *w, as_wiring_facts *out);

#endif
