/* variable.h - declaring the variables of a plan and checking them.  Private to plan/. */
#ifndef AS_PLAN_VARIABLE_H
#define AS_PLAN_VARIABLE_H

#include "plan/plan.h"

/* Before the passes: finds each variable in the graph.  A parameter among them becomes a value that steps change, so that no pass
 * folds it and no set-up step reads it. */
assay_status as_variables_declare(assay_env *env, assay_plan *plan, const as_variable_def *defs, int n);
/* The variable that lives in a graph value, or -1. */
int as_variable_of_value(const assay_plan *plan, int value);

#endif
