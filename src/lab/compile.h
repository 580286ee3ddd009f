/* compile.h - what compiling gains: two plans of one model measured in turns. */
#ifndef AS_LAB_COMPILE_H
#define AS_LAB_COMPILE_H

#include "analysis/duel/duel_facts.h"
#include "lab/lab.h"

/* Compares the outputs of both on the same inputs, then measures them in turns, in this process; as_compile_add() reads the
 * trial. pin: every thread of either plan stays on a CPU of its own.  *out is as for as_lab_compare_arms(). */
assay_status as_lab_compile(assay_env *env, const assay_plan *on, const assay_plan *off, bool pin, const as_lab_settings *s,
                            assay_trace **out);

#endif
