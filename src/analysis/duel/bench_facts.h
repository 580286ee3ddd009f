/* bench_facts.h - cases that were measured alone, as facts: group "bench", a row a case.
 *
 * Pure.  A case that timed out, failed or was refused has a row that says so, and no number. */
#ifndef AS_ANALYSIS_BENCH_FACTS_H
#define AS_ANALYSIS_BENCH_FACTS_H

#include "analysis/analysis.h"
#include "analysis/duel/duel.h"

typedef struct as_bench_row {
    const assay_trace *trial;
    int                arm; /* of the trial; 0 as a rule */
    as_alone           alone;
    double             flops, bytes; /* of one call; NaN: the case does not count them */
    double             error;        /* of the outputs against the slow truth; NaN: not compared */
    const char        *compared;     /* how: "all 1024 outputs"; NULL: not */
    const char        *refusal;      /* the sentence of the lie detector; NULL: believed */
} as_bench_row;

/* NULL: no memory.  A failure while adding is in facts->status, with its sentence in env. */
assay_facts *as_facts_of_bench(assay_env *env, const as_bench_row *rows, size_t n);

#endif
