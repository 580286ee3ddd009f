/* limits.h - compares the measured time of a plan with its limit and refuses times above it: the rule of trace/limit.h for bench
 * and compare. */
#ifndef AS_LAB_LIMITS_H
#define AS_LAB_LIMITS_H

#include "lab/lab.h"

/* The CPU limits that the cases need, for the largest number of threads; AUTO for bench, LOOK where nothing may take time. */
assay_status as_lab_limits(assay_env *env, const as_bench_case *const *cases, int n, as_roofs_how how, as_roofs *roofs);
/* The limit of candidate `arm`, which has this plan and which the trial has measured.  If its time is above the limit, the limits
 * involved are measured again on the spot. */
assay_status as_lab_limit_find(assay_env *env, const as_lab_settings *s, const assay_plan *plan, assay_trace *t, int arm);
/* Marks the trial as refused, with a message, if a candidate is above its limit. */
assay_status as_lab_limit_judge(assay_env *env, assay_trace *t);

#endif
