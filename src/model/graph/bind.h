/* bind.h - nodes on their way into a bound graph: inferred, folded, and If, Loop and Scan written out.
 * Private to model/. */
#ifndef AS_MODEL_BIND_H
#define AS_MODEL_BIND_H

#include "model/model.h"

enum {
    AS_MAX_NESTING = 8,     /* of subgraphs in each other */
    AS_MAX_BODIES = 4096,   /* subgraphs of one model */
    AS_MAX_CAPTURES = 4096, /* outer values that the subgraphs of one node read */
    AS_MAX_UNROLLED = 10000 /* nodes that Loop and Scan may become, all together */
};

typedef struct as_binder {
    assay_env         *env;
    const assay_model *model; /* the outermost one */
    as_graph          *g;
    uint64_t           seed;
    bool              *is_output;    /* one for each of its values */
    uint64_t           flops, bytes; /* folded so far */
    int                n_unrolled;
    const char        *module; /* of the nodes that are bound now */
} as_binder;

/* A model, or the subgraph of a node, and the bound value that each of its values is. */
typedef struct as_scope {
    const assay_model *model;
    int               *map;
    const char        *prefix; /* of the names of its nodes and values, "" for the outermost */
    const char        *module; /* of its nodes that have none of their own: that of the node around them; NULL: none */
} as_scope;

/* Of a node of the scope: its own, or that of the node around the scope. */
const char *as_scope_module(const as_scope *s, const as_node *node);
/* All nodes of the scope, in order; values of the graph exist and the map is full. */
assay_status as_bind_scope(as_binder *b, const as_scope *s);
/* One node between bound values; texts and attributes must outlive the graph.  Folded when its inputs are known. */
assay_status as_bind_op(as_binder *b, const as_op *op, const char *name, const as_attr *attrs, int n_attrs, const int *in, int n_in,
                        const int *out, int n_out);
/* Room for one node more; false: no memory. */
bool as_bind_nodes_grow(as_graph *g);
/* If, Loop or Scan (control.c). */
assay_status as_bind_control(as_binder *b, const as_scope *s, const as_node *node);
/* The sentence (already in env) that a value is not known, with the input that could be given for it, where there is one. */
assay_status as_bind_unknown(as_binder *b, int value, assay_status status);
/* A new bound value; -1: no memory or too many values, said. */
int as_bind_value(as_binder *b, const as_bound_value *value);
/* A param or constant of a subgraph as a bound value; -1: as above. */
int as_bind_static(as_binder *b, const as_scope *s, const as_value *value);

/* Elements of a mapped file that lie at a wrong address, copied; NULL: no memory. */
const void *as_bind_aligned(as_arena *arena, const as_tensor_info *info, const void *data);

/* NULL unless the name is If, Loop or Scan.  They are no operators of the table: nothing runs them. */
const as_op *as_control_find(const char *name);
/* When a network with this node can be planned, for people: "when its condition is known while planning". */
const char *as_control_when(const as_op *op);

#endif
