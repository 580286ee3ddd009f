/* stage.h - what a long call is doing, how long that takes, and whether somebody wants it to stop.
 *
 * Work begins a stage, says from time to time how much of it is done, and whoever asked by assay_on_progress() is told.  The stage also
 * tells a signal handler what would be lost if the process ended at once (as_stake). */
#ifndef AS_BASE_STAGE_H
#define AS_BASE_STAGE_H

#include "base/env.h"

const char *as_phase_text(as_phase phase); /* "checking answers" */

/* Begins a stage and tells it.  subject: of what, "" for nothing; copied.  expect_s: how long it will take, NaN: not known; beyond_s: how
 * much of that the budget does not cover. */
void as_stage_begin(assay_env *env, as_phase phase, const char *subject, double expect_s, double beyond_s);
/* The share of the stage that is done.  Never called between two stamps, and by callers that count time at most 20 times a second. */
void as_stage_done(assay_env *env, double done);
/* Told again as it is: time has passed. */
void as_stage_again(assay_env *env);
/* How long all that comes after this stage will take; NaN: not known. */
void as_stage_after(assay_env *env, double after_s);

/* The slow reference does so many operations (flops, special functions, elements moved) a second, cautiously: a plain loop in double through
 * strided views.  Measured: 1.0e8 to 3.5e8 on x86-64, by operator. */
#define AS_REFERENCE_RATE 1e8
/* Work of the reference that takes longer than this is told before it starts. */
#define AS_REFERENCE_LONG_S 60.0
/* Begins a stage "running OP in the slow reference" where `work` takes that long; nothing for less. */
void as_stage_reference(assay_env *env, const char *name, const char *op, double work);

#endif
