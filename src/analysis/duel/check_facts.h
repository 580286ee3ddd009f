/* check_facts.h - the verdict of a suite against its baseline: statuses, exit code, facts.
 *
 * Pure.  A regression is a comparison that was found slower and stays a discovery when the false discovery rate over the whole suite is
 * held at q.  What could not be decided is Unstable: never Pass, never Regression. */
#ifndef AS_ANALYSIS_CHECK_FACTS_H
#define AS_ANALYSIS_CHECK_FACTS_H

#include "analysis/duel/duel_facts.h"

typedef enum as_check_status {
    AS_CHECK_PASS,
    AS_CHECK_REGRESSION,
    AS_CHECK_IMPROVEMENT,
    AS_CHECK_UNSTABLE,
    AS_CHECK_FAILED,
    AS_N_CHECK_STATUSES
} as_check_status;
const char *as_check_status_text(as_check_status s); /* "Pass" */

typedef enum as_check_overall {
    AS_ALL_PASS,
    AS_HAS_REGRESSIONS,
    AS_HAS_CRITICAL_REGRESSIONS,
    AS_HAS_FAILURES,
    AS_INCOMPLETE,
    AS_N_CHECK_OVERALLS
} as_check_overall;
const char *as_check_overall_text(as_check_overall o); /* "AllPass" */

/* The least that makes the exit code other than 0; unresolved includes slower. */
typedef enum as_fail_on { AS_FAIL_ON_SLOWER, AS_FAIL_ON_MAJOR, AS_FAIL_ON_CRITICAL, AS_FAIL_ON_UNRESOLVED } as_fail_on;
bool as_fail_on_read(const char *text, as_fail_on *out); /* "slower", "major", "critical", "unresolved" */

typedef struct as_check_case {
    const char        *name;
    const as_duel     *duel;  /* NULL: there is none, and failure or incomplete says why */
    const assay_trace *trial; /* a: the baseline, b: the candidate; NULL: not kept */
    int                a, b;
    const char        *failure;    /* the sentence of an arm that could not run, or answers otherwise; NULL */
    const char        *incomplete; /* why it was not measured to the end; NULL */
    /* as_check_decide() sets: */
    as_check_status status;
    as_severity     severity;
    bool            discovery; /* of the suite's false discovery rate */
    char            reason[240];
} as_check_case;

typedef struct as_check_result {
    as_check_case   *cases;
    size_t           n;
    as_check_overall overall;
    as_fail_on       fail_on;
    as_duel_rules    rules;
    double           q; /* false discovery rate */
    size_t           counts[AS_N_CHECK_STATUSES], n_incomplete, n_critical;
    size_t           n_e_bh;    /* regressions that e-BH finds, valid under any dependence of the cases */
    int              exit_code; /* 0 fine, 1 regression, 3 critical, 4 unresolved, 5 failed or incomplete */
} as_check_result;

#define AS_CHECK_Q 0.05

/* Decides every case in place, and the whole.  NO_MEMORY is the only failure. */
assay_status as_check_decide(assay_env *env, as_check_case *cases, size_t n, const as_duel_rules *rules, double q,
                             as_fail_on fail_on, as_check_result *out);

/* Groups "check" and, for cases with a trial, "compare".  NULL: no memory. */
assay_facts *as_facts_of_check(assay_env *env, const as_check_result *r, const char *title);

#endif
