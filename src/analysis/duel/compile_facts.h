/* compile_facts.h - what compiling gains, as facts: group "compile".
 *
 * Pure.  The ratio, its interval and the verdict are those of a comparison (duel.h). */
#ifndef AS_ANALYSIS_COMPILE_FACTS_H
#define AS_ANALYSIS_COMPILE_FACTS_H

#include "analysis/analysis.h"
#include "analysis/duel/duel.h"

/* The arms of such a trial: what is judged is compiled against op by op. */
typedef enum as_compile_arm { AS_COMPILE_OFF, AS_COMPILE_ON, AS_N_COMPILE_ARMS } as_compile_arm;

/* A failure while adding is in facts->status. */
void as_compile_add(assay_facts *f, const assay_trace *t, const as_duel_rules *rules);

#endif
