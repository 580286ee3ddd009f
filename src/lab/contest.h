/* contest.h - what `compare` compares: candidates, and the values over which they are compared.
 *
 * Candidates are the models named, or the values of the first --vary (with several --devices, the devices).  Rows are the values
 * of any further --vary and of lists such as --sizes: each row is a trial of all candidates. */
#ifndef AS_LAB_CONTEST_H
#define AS_LAB_CONTEST_H

#include "analysis/duel/duel_facts.h"
#include "lab/lab.h"

typedef struct as_contest_row {
    const char                 *label; /* "batch=8"; "" when there is one */
    double                      value; /* 8; NaN */
    const as_bench_case *const *cases; /* one per candidate */
    assay_trace                *trial; /* as_contest_run() fills these */
    as_duel                    *duels; /* n_arms - 1 */
} as_contest_row;

typedef struct as_contest {
    as_arena         arena;
    const char      *title, *key; /* key: of the rows, "batch" */
    const char      *metric;      /* what the first screen shows beside the time: "bandwidth"; "time": nothing */
    const char      *name, *over; /* for people: "mlp-small: threads 1 against 2"; over what: "batch 1, 8", "" for one row */
    bool             varies_device, varies_threads;
    const char     **arms;
    int              n_arms;
    as_contest_row  *rows;
    int              n_rows, cap_rows;
    as_bench_cases **lists;
    int              n_lists, cap_lists;
    const char     **notes;
    int              n_notes, cap_notes;
} as_contest;

typedef struct as_contest_options {
    as_case_options cases;
    const char     *device; /* of all candidates */
    as_texts        vary;   /* "threads=1,2" */
    const char     *metric; /* "bandwidth" */
} as_contest_options;
assay_status as_contest_options_read(assay_env *env, const assay_options *options, as_contest_options *out);

/* The contest borrows the texts of the options. */
assay_status as_contest_read(assay_env *env, const char *const *args, int n_args, const as_contest_options *options,
                             as_contest **out);
void         as_contest_free(as_contest *c);
/* Runs row by row; for a row that could not be measured, the trial says so.  CANCELLED keeps the rows so far (trial NULL: not
 * begun). */
assay_status as_contest_run(assay_env *env, as_contest *c, const as_lab_settings *s);
/* The trials of the rows that were begun, in an array that lives as long as the contest; take: the caller becomes their owner. */
assay_status as_contest_trials(assay_env *env, as_contest *c, bool take, assay_trace ***out, size_t *n);
/* Everything as facts: the duels, and the sweep where there are several rows or candidates. */
assay_status as_contest_facts(assay_env *env, const as_contest *c, const as_lab_settings *s, assay_facts **out);

#endif
