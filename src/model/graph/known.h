/* known.h - which values must be known while planning, and where they come from.
 * Private to model/. */
#ifndef AS_MODEL_KNOWN_H
#define AS_MODEL_KNOWN_H

#include "model/model.h"

/* Shape and Size: what they give depends on the shape of their input and on none of its values. */
bool as_reads_shape_only(const as_op *op);

/* Sets needed[i] for every value of the model that a shape, a condition or a trip count is computed from, in subgraphs too; what is
 * set already counts as needed.  False: no memory. */
bool as_known_mark(const assay_model *model, bool *needed);

/* Of the inputs of the graph that `value` is computed from, the first whose values are not known, or -1.  `seen` is room for
 * one bool a value, all false. */
int as_known_missing(const as_graph *g, int value, bool *seen);

#endif
