/* pieces.h - which nodes go to a device that takes graphs, and in which pieces.  Private to plan/. */
#ifndef AS_PLAN_PIECES_H
#define AS_PLAN_PIECES_H

#include "plan/plan.h"

/* A graph for cutting: nodes in an order in which inputs come before use, and the class of each.  Nodes of one class >= 0 may be joined,
 * those of class -1 stand alone. */
typedef struct as_cut_graph {
    int               n_nodes;
    const int        *class_of;
    const int *const *before; /* per node: the nodes whose results it reads */
    const int        *n_before;
} as_cut_graph;

/* Cuts the nodes of each class into pieces that are connected and convex (no path leaves a piece and comes back), so that no two
 * pieces wait for each other.  piece[i] gets a number from 0, or -1 for class -1; in order[], the nodes of a piece follow each
 * other and come after everything that the piece reads.  Returns the number of pieces, -1 when there is no memory. */
int as_pieces_cut(const as_cut_graph *g, int *piece, int *order);

/* Asks the devices that take graphs, cuts the nodes that they claim into pieces, puts the nodes of the graph in the new order and
 * fills plan->pieces. Nothing changes when no device takes graphs. */
assay_status as_plan_claim(assay_env *env, assay_plan *plan);

#endif
