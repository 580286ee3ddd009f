/* describe.h - what the three descriptions of a plan (trace, text, JSON) share.  Private to plan/. */
#ifndef AS_PLAN_DESCRIBE_H
#define AS_PLAN_DESCRIBE_H

#include "base/text.h"
#include "plan/lower.h"

const char *as_step_op(const assay_plan *plan, const as_step *step); /* "Conv", "Put", "Get", "Pack" */
const char *as_step_stage(const assay_plan *plan, int step);         /* "prologue" or "body" */
/* "f32[64,784] f32[784,128] -> f32[64,128]"; absent operands are "-". */
void     as_step_shapes(const assay_plan *plan, const as_step *step, as_text *out);
uint64_t as_step_working_set(const assay_plan *plan, const as_step *step); /* all operands, scratch and packed */
as_cost  as_step_issued(const as_step *step);

#endif
