/* bind.h - how nodes get into a bound graph: shapes inferred, constants folded, If, Loop and Scan unrolled. Private to model/. */
#ifndef AS_MODEL_BIND_H
#define AS_MODEL_BIND_H

#include "model/model.h"

enum {
    AS_MAX_NESTING = 8,     /* of nested subgraphs */
    AS_MAX_BODIES = 4096,   /* subgraphs of one model */
    AS_MAX_CAPTURES = 4096, /* outer values that the subgraphs of one node read */
    AS_MAX_UNROLLED = 10000 /* nodes that all Loops and Scans together may become */
};

typedef struct as_binder {
    assay_env         *env;
    const assay_model *model; /* the outermost one */
    as_graph          *g;
    uint64_t           seed;
    bool              *is_output;    /* one for each of its values */
    uint64_t           flops, bytes; /* folded so far */
    int                n_unrolled;
    const char        *module; /* of the nodes being bound */
    as_train_place     place;  /* of the nodes being bound */
} as_binder;

/* A model, or the subgraph of a node, and the bound value of each of its values. */
typedef struct as_scope {
    const assay_model *model;
    int               *map;
    const char        *prefix; /* of the names of its nodes and values, "" for the outermost */
    const char        *module; /* for nodes without a module: that of the node around them; NULL: none */
} as_scope;

/* The module of a node: its own, or that of the node around the scope. */
const char *as_scope_module(const as_scope *s, const as_node *node);
/* All nodes of the scope, in order; values of the graph exist and the map is full. */
assay_status as_bind_scope(as_binder *b, const as_scope *s);
/* One node between bound values; texts and attributes must outlive the graph.  Folded when its inputs are known. */
assay_status as_bind_op(as_binder *b, const as_op *op, const char *name, const as_attr *attrs, int n_attrs, const int *in, int n_in,
                        const int *out, int n_out);
/* Makes room for one more node; false: no memory. */
bool as_bind_nodes_grow(as_graph *g);
/* If, Loop or Scan (control.c). */
assay_status as_bind_control(as_binder *b, const as_scope *s, const as_node *node);
/* Adds to the message in env, which says that a value is not known, the input that the user could give, if there is one. */
assay_status as_bind_unknown(as_binder *b, int value, assay_status status);
/* A new bound value; -1: no memory or too many values, with a message. */
int as_bind_value(as_binder *b, const as_bound_value *value);
/* A param or constant of a subgraph as a bound value; -1: as above. */
int as_bind_static(as_binder *b, const as_scope *s, const as_value *value);

/* A copy of elements of a mapped file whose address is not aligned; NULL: no memory. */
const void *as_bind_aligned(as_arena *arena, const as_tensor_info *info, const void *data);

/* NULL unless the name is If, Loop or Scan.  These are not operators of the table: nothing runs them. */
const as_op *as_control_find(const char *name);
/* When a network with this node can be planned, as text: "when its condition is known while planning". */
const char *as_control_when(const as_op *op);

#endif
