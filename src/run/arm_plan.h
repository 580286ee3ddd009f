/* arm_plan.h - what is inside of an arm that as_arm_plan() made.  Private to run/. */
#ifndef AS_RUN_ARM_PLAN_H
#define AS_RUN_ARM_PLAN_H

#include "run/sampler.h"

/* The instance of the launch that is under way; NULL: none. */
const assay_instance *as_arm_plan_instance(const as_arm *arm);

#endif
