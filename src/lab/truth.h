/* truth.h - is the answer right?  Asked before anything is timed, within the budget.
 *
 * The plan runs once and its outputs are compared with the reference code of the same model on the same inputs.  Where that would
 * take too long, some rows are compared: the same model with fewer rows, fed with the chosen rows.  One row is compared whatever
 * the budget, unless it alone is too much work (MOST_ROW).  The outputs are hashed,
 * and inputs of another seed must change the hash: a plan that ignores its inputs does not compute. */
#ifndef AS_LAB_TRUTH_H
#define AS_LAB_TRUTH_H

#include "lab/cases.h"

typedef enum as_truth_how { AS_TRUTH_ALL, AS_TRUTH_ROWS, AS_TRUTH_NONE } as_truth_how;

typedef struct as_truth {
    as_truth_how how;
    bool         wrong; /* the answer differs by more than it may, or does not depend on the inputs */
    bool         poison_tried, poison_changes;
    double       error; /* largest as_view_error of a float output; NaN: not compared */
    double       tolerance;
    int64_t      n_rows, of_rows;
    int64_t      n_flipped;           /* integers that are off by one because of rounding */
    uint64_t     hash, poisoned_hash; /* of all outputs; 0: not known */
    double       work, seconds;       /* the work of the reference code, and how long it took; 0: none */
    char         compared[200];       /* "all 1024 outputs", "8 of 512 rows", "none: the null device computes nothing" */
    char         sentence[400];       /* why it is wrong; "" */
} as_truth;

/* A wrong answer is not a failure of the call: out->wrong reports it.  Inputs are those of `seed`, as for the candidates.
 * most_work: the most work that the reference code may do, as AS_REFERENCE_RATE counts it. */
assay_status as_truth_check(assay_env *env, const as_bench_case *c, const as_bench_subject *subject, uint64_t seed,
                            double most_work, as_truth *out);
/* Nothing was compared, because the user asked for that. */
void as_truth_skip(as_truth *out);
/* The work of the reference code for the whole answer, and for the smallest comparison, one row; 0: nothing will be compared. */
typedef struct as_truth_work {
    double all, least;
} as_truth_work;
as_truth_work as_truth_ask(const as_bench_case *c, const as_bench_subject *subject);

#endif
