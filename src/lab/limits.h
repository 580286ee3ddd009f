/* limits.h - the limit of a plan beside its measured time, and what is refused by it: the rule of trace/limit.h for bench and compare. */
#ifndef AS_LAB_LIMITS_H
#define AS_LAB_LIMITS_H

#include "lab/lab.h"

/* The limits of the CPU that the cases need, those of the most threads; AUTO for bench, LOOK where nothing may take time. */
assay_status as_lab_limits(assay_env *env, const as_bench_case *const *cases, int n, as_roofs_how how, as_roofs *roofs);
/* The limit of arm `arm`, whose plan this is and which the trial has measured.  A time above it makes the limits that it stands on be
 * measured again, on the spot. */
assay_status as_lab_limit_find(assay_env *env, const as_lab_settings *s, const assay_plan *plan, assay_trace *t, int arm);
/* Makes the trial refused, with the sentence, if an arm is above its limit. */
assay_status as_lab_limit_judge(assay_env *env, assay_trace *t);

#endif
