/* given.h - the values that the user gave to inputs, read before planning: shapes may depend on them.
 * Private to plan/. */
#ifndef AS_PLAN_GIVEN_H
#define AS_PLAN_GIVEN_H

#include "plan/plan.h"

/* Reads the files of the options input, timespans and state-in into plan->given, one per model input; plan->model must be set. */
assay_status as_given_read(assay_env *env, const as_plan_options *o, assay_plan *plan);
void         as_given_drop(assay_plan *plan);
/* Reads one file: npy, or .pb of ONNX by its suffix. */
assay_status as_given_load(assay_env *env, const char *path, as_tensor *out);
/* Adds the symbols that the shapes of the files determine and that `dims` lacks: a [5,784] file sets the batch size to 5.  `dims`
 * has room for as many as all inputs have dimensions. */
int as_given_dims(const assay_plan *plan, bool but_batch, as_binding_dim *dims, int n_dims);
/* In the form that binding takes, in the plan's arena. */
assay_status as_given_known(assay_env *env, assay_plan *plan, const as_known_input **out, int *n_out);

#endif
