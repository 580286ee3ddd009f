/* selftest.h - does the laboratory keep its promises on this machine?  Counts false alarms on identical work, and the power to
 * find real slowdowns.
 *
 * A cell is one row of the operating table; its trials are whole comparisons as a user would make them.  Counts come with exact binomial
 * bounds.  Every trial is a line of a state file, so a long run may be stopped and resumed. */
#ifndef AS_LAB_SELFTEST_H
#define AS_LAB_SELFTEST_H

#include "lab/lab.h"

typedef enum as_cell_where { AS_CELL_PROCESS, AS_CELL_LOADED, AS_CELL_PROGRAMS, AS_CELL_SUITE } as_cell_where;

typedef struct as_cell_def {
    const char   *name, *what, *load;
    as_cell_where where;
    double        budget_s, margin;
    double        extra;                   /* the slowdown for the second count; 0: none */
    double        alarms_claim;            /* the largest share of false alarms; for a suite: of runs with an alarm */
    double        power_claim;             /* the smallest share found (or proven the same, where `same`) */
    bool          same;                    /* equivalence: power counts "same" on identical work, alarms "same" at `extra` */
    int           n_alarms[2], n_power[2]; /* trials: quick, full */
} as_cell_def;

extern const as_cell_def as_selftest_cells[]; /* ends with a NULL name */

typedef struct as_cell_count {
    int64_t n, k;
    double  lo, hi;
} as_cell_count; /* k of n, 95 % bounds */
typedef struct as_cell_result {
    const as_cell_def *def;
    as_cell_count      alarms, power;
    bool               alarms_broken, power_broken; /* the claim is outside the bounds */
} as_cell_result;

typedef struct as_selftest_settings {
    bool        full;
    const char *cells; /* "compute,memory"; NULL: all */
    const char *state; /* a file of JSON lines, or NULL */
    const char *self;  /* this program, for the cells of two programs */
    uint64_t    seed;
} as_selftest_settings;

/* results: one per cell of the table; n == 0 for cells not asked for.  CANCELLED keeps what was counted. */
assay_status as_selftest_run(assay_env *env, const as_selftest_settings *s, as_cell_result *results);
int          as_selftest_n_cells(void);

#endif
