/* tell.h - what doers made, told to people and as JSON: a plan, and what a stream did.  plan/ and run/ print nothing themselves. */
#ifndef AS_LAB_TELL_H
#define AS_LAB_TELL_H

#include "plan/plan.h"
#include "run/stream.h"

/* What would run, by which kernel and why, and where every byte lies (the verb `plan`). */
void         as_plan_print(const assay_plan *plan, FILE *file, bool colour);
assay_status as_plan_json(assay_env *env, const assay_plan *plan, FILE *file); /* "assay.plan/1" */

void         as_stream_print(const as_stream_report *report, FILE *file);
assay_status as_stream_json(assay_env *env, const as_stream_report *report, const char *model,
                            const char *path); /* "assay.stream/1" */

#endif
