/* known.h - which values must be known while planning, and where they come from.
 * Private to model/. */
#ifndef AS_MODEL_KNOWN_H
#define AS_MODEL_KNOWN_H

#include "model/model.h"

/* Shape and Size: their result depends on the shape of their input, not on its values. */
bool as_reads_shape_only(const as_op *op);

/* Sets needed[i] for every value of the model from which a shape, a condition or a trip count is computed, also in subgraphs;
 * values that are set already count as needed.  False: no memory. */
bool as_known_mark(const assay_model *model, bool *needed);

/* The first graph input that `value` depends on and whose values are not known, or -1.  `seen` has one bool per value, all
 * false. */
int as_known_missing(const as_graph *g, int value, bool *seen);

#endif
