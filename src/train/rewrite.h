/* rewrite.h - a model made from another, node by node: what the transformations of a training step share.  Private to train/. */
#ifndef AS_TRAIN_REWRITE_H
#define AS_TRAIN_REWRITE_H

#include "model/model.h"

/* The given model is concrete: every dimension is a number, and no node has a body. */
typedef struct as_rewrite {
    assay_env         *env;
    const assay_model *from;
    as_maker          *m;
    as_arena           arena; /* of the maps and of the graph */
    as_graph           graph; /* the model, bound: shapes and costs; nodes and values have the model's ids */
    int               *ids;   /* per value of the model: its id in the new one, -1: not there yet */
} as_rewrite;

/* Copies inputs, parameters (their data is borrowed) and constants.  End with as_rewrite_end(), also after a failure. */
assay_status as_rewrite_begin(assay_env *env, const assay_model *from, as_rewrite *r);
/* Adds a node of the model with the inputs `in` (ids in the new model).  prefix NULL: under its own name, and its outputs take the place of
 * the old ones in r->ids.  Else: another one, with a prefix before its names and another pass; its outputs go to `out`. */
void as_rewrite_node(as_rewrite *r, int node, const int *in, const char *prefix, as_train_pass pass, int *out);
/* The same inputs as they are now. */
void as_rewrite_inputs(const as_rewrite *r, int node, int *in);
/* With status OK: the outputs are those of the model, and *model becomes the new one, which owns the old one.  model NULL: nothing is made. */
assay_status as_rewrite_end(as_rewrite *r, assay_status status, assay_model **model);

/* The node after the forward pass: the first of the backward pass; n_nodes: there is none. */
int as_rewrite_backward(const assay_model *model);
/* Per value: whether it depends on parameters and constants alone, as the parts of the flat block do. */
bool *as_rewrite_given(const assay_model *model, as_arena *arena);

#endif
