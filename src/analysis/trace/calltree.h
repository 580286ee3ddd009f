/* calltree.h - who called whom, and for how long: one tree for stack samples, for spans of the user's own code, and for the layers of a run.
 *
 * Times are whole numbers of a unit, so that the books close exactly: the self times of all nodes sum to the whole, and each node's total is
 * its self time and the totals of its children.  A node comes after its parent in the array.
 *
 * Everything lives in the arena that is given; names are the trace's or the facts' own. */
#ifndef AS_ANALYSIS_CALLTREE_H
#define AS_ANALYSIS_CALLTREE_H

#include "analysis/analysis.h"

typedef enum as_call_source {
    AS_CALLS_SAMPLES, /* looks: a look stands for its weight */
    AS_CALLS_SPANS, /* the user's own code: by the totals of its call paths; where there are none, by its spans, and a span lies in the one that was open on its lane when it began */
    AS_CALLS_LAYERS, /* a run of the engine: run > parts of the module's path > layer, by the layers' own estimator */
    AS_N_CALL_SOURCES
} as_call_source;
const char *as_call_source_text(as_call_source source); /* "samples", "spans", "layers" */

/* All nodes of one name and place, and of one step of the plan where there is one.  Recursion is folded: time under an outer call of the same function counts once. */
typedef struct as_call_function {
    const char *name, *place; /* place: object or file of a function, kernel of a layer; "": not known */
    const char *category;     /* as the user stated it; "" */
    uint64_t    total, self;
    uint64_t    waiting;      /* of self: off the CPU */
    uint64_t    count;        /* calls; of samples, those in which it is */
    uint64_t    flops, bytes; /* of all its calls, as stated; 0: not stated */
    int         frame;        /* its first frame; -1: none */
    int         step;         /* of the plan; -1: none */
    bool        is_code;      /* false of the root, of threads and of modules: they only hold others */
} as_call_function;

typedef struct as_call_node {
    int      function;
    int      parent, first_child, next; /* -1: none */
    int      depth;                     /* of the root: 0 */
    uint64_t total, self, waiting;      /* waiting: of self, off the CPU */
    uint64_t count;                     /* calls; of samples, those in or below it */
} as_call_node;

typedef struct as_call_tree {
    as_call_source    source;
    as_call_node     *nodes; /* node 0 is the root: the whole */
    size_t            n_nodes;
    as_call_function *functions;
    size_t            n_functions;
    uint64_t          whole;      /* the root's total; the sum of all self times */
    uint64_t          waiting;    /* of the whole: off the CPU */
    double            unit_ns;    /* what a unit of time is */
    uint64_t          n_crossing; /* spans that ended after the one that they lie in: cut off there */
    uint64_t          n_left_out; /* records that contradict themselves */
    const char       *unknown;    /* why there is no tree; NULL: there is one */
} as_call_tree;

/* Who calls a function, or whom it calls.  Recursion is folded as above. */
typedef struct as_call_edge {
    int      function; /* at the other end */
    uint64_t total, count;
} as_call_edge;

/* Each returns a tree; `unknown` says why it is empty.  The engine's layers come from the facts' table of layers. */
as_call_tree as_call_tree_of_samples(as_arena *arena, const assay_trace *t);
as_call_tree as_call_tree_of_spans(as_arena *arena, const assay_trace *t);
as_call_tree as_call_tree_of_layers(as_arena *arena, const assay_trace *t, const assay_facts *f);

/* The greatest total first; *n of them; NULL: no memory. */
as_call_edge *as_call_callers(as_arena *arena, const as_call_tree *tree, int function, size_t *n);
as_call_edge *as_call_callees(as_arena *arena, const as_call_tree *tree, int function, size_t *n);

static inline double as_call_ns(const as_call_tree *tree, uint64_t units) { return (double)units * tree->unit_ns; }
static inline double as_call_share(const as_call_tree *tree, uint64_t units)
{
    return tree->whole ? (double)units / (double)tree->whole : 0;
}

#endif
