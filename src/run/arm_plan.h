/* arm_plan.h - what is inside of an arm that as_arm_plan() made, for tests; and how its outputs are hashed and compared. */
#ifndef AS_RUN_ARM_PLAN_H
#define AS_RUN_ARM_PLAN_H

#include "run/sampler.h"

/* The instance of the launch that is under way; NULL: none. */
const assay_instance *as_arm_plan_instance(const as_arm *arm);

/* Of all outputs, never 0: an arm and the check of its answer must mean the same by it. */
uint64_t as_outputs_hash(const assay_instance *instance);
/* The largest difference of any output of two instances of one model, relative where an output is large (as_view_error); NaN if any is. */
double as_outputs_error(const assay_instance *got, const assay_instance *want);

#endif
