/* history_facts.h - what a case took over time, as facts: group "history", with the change points that the ranks nominate.
 *
 * Pure.  A change point only nominates: a history that depends on itself makes every such method see steps that are not there (25 to 30 %
 * in simulation), so the sentence names the comparison that would prove it. */
#ifndef AS_ANALYSIS_HISTORY_FACTS_H
#define AS_ANALYSIS_HISTORY_FACTS_H

#include "analysis/analysis.h"
#include "analysis/stat/stat.h"

typedef struct as_history_point {
    int64_t     unix_time, run;
    const char *commit, *machine;
    double      median, lo, hi;
} as_history_point; /* ns; lo, hi NaN: none */

typedef struct as_history_settings {
    double alpha;    /* 0: .01 */
    double min_step; /* relative; 0: .01 */
} as_history_settings;

/* Oldest first.  NULL: no memory. */
assay_facts *as_facts_of_history(assay_env *env, const char *name, const as_history_point *points, size_t n,
                                 const as_history_settings *settings);

/* The cases that have a history: group "history", table "cases". */
typedef struct as_history_case {
    const char      *name;
    int64_t          n;
    as_history_point last;
} as_history_case;
assay_facts *as_facts_of_cases(assay_env *env, const as_history_case *cases, size_t n, const char *where);

#endif
