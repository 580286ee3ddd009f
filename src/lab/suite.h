/* suite.h - measures cases one after the other, checks them with the lie detector, and turns them into facts: the verb `bench` as
 * a call. */
#ifndef AS_LAB_SUITE_H
#define AS_LAB_SUITE_H

#include "analysis/duel/duel_facts.h"
#include "lab/lab.h"

typedef struct as_suite {
    const as_bench_cases *cases;  /* borrowed */
    assay_trace         **trials; /* of the first n_trials cases */
    size_t                n_trials;
    as_arena              arena;
} as_suite;

/* Limits are needed for cases on the CPU: for the share of the limit, and for the lie detector.  None for other devices. */
assay_status as_suite_roofs(assay_env *env, const as_bench_cases *cases, as_roofs *roofs);
/* If a case cannot be measured, its trial says so.  CANCELLED: *out holds what was measured until then. */
assay_status as_suite_measure(assay_env *env, const as_bench_cases *cases, const as_lab_settings *s, as_suite **out);
/* Marks the trials that the lie detector refuses, with the reason; returns how many. */
assay_status as_suite_judge(assay_env *env, as_suite *suite, size_t *n_refused);
assay_status as_suite_facts(assay_env *env, as_suite *suite, assay_facts **out);
/* Cases without a number: timed out, failed, refused. */
size_t as_suite_missing(const as_suite *suite);
void   as_suite_free(as_suite *suite);

#endif
