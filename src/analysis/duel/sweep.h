/* sweep.h - candidates compared over the values of an option (batch, size, threads): which wins where, where the winner changes,
 * what to choose.
 *
 * Pure functions.  Every candidate was compared with candidate 0 at every value, in one trial per value.  Two others are compared
 * through candidate 0, with the wider interval that follows from that. */
#ifndef AS_ANALYSIS_SWEEP_H
#define AS_ANALYSIS_SWEEP_H

#include "analysis/duel/duel.h"

typedef struct as_sweep_row {
    const char        *label; /* "batch=8" */
    double             value; /* 8, for interpolation; NaN: it has no number */
    const assay_trace *trial; /* for memory and first calls; NULL: not known */
    const as_duel     *duels; /* n_arms - 1 of them: candidate i + 1 against candidate 0 */
} as_sweep_row;

typedef struct as_sweep {
    const char         *key; /* "batch" */
    const char *const  *arms;
    int                 n_arms;
    const as_sweep_row *rows;
    int                 n_rows; /* by ascending value where they have one */
    double              margin; /* the smallest change that matters: 0.01; candidates that differ by less are the same */
} as_sweep;

/* Whether calls of the candidates do different numbers of items: then the time per item decides who wins. */
bool as_sweep_per_item(const as_sweep *s);
/* Time of candidate y over time of candidate x at a row, as judged, with its bounds; NaN where there are none. */
typedef struct as_relation {
    double ratio, lo, hi;
} as_relation;
as_relation as_sweep_relation(const as_sweep *s, int row, int x, int y);
double      as_sweep_ns(const as_sweep *s, int row, int arm);    /* per call: the first candidate's time, multiplied by the paired
                                                             * ratio */
double      as_sweep_items(const as_sweep *s, int row, int arm); /* items per call; NaN: not known */

/* The fastest candidate; *proved: its interval shows it faster than each other one by more than the margin.  -1: no times. */
int as_sweep_winner(const as_sweep *s, int row, bool *proved);
/* If others are proven to take the same time as `best`, to within the margin: the one of them all with the least memory, else the
 * one named first.  -1: there is no such other. */
int as_sweep_same(const as_sweep *s, int row, int best);

/* Where the winner changes between two neighbouring rows: the value at which both take the same time, interpolated in the
 * logarithms of value and ratio.  [lo, hi] is the range in which the interval contains 1: outside it the winner is certain.  A
 * side is open when no measured value there is certain. */
typedef struct as_crossover {
    int    row;              /* between this and the next */
    int    from, to;         /* winners below and above */
    double at, lo, hi;       /* NaN when the values are not positive numbers */
    bool   open_lo, open_hi; /* the interval reaches the first or last value measured */
    bool   proved;           /* certain on both sides */
} as_crossover;
int as_sweep_crossovers(const as_sweep *s, as_crossover *out, int max);

/* What to choose for a purpose. */
typedef enum as_purpose {
    AS_FOR_LATENCY,
    AS_FOR_THROUGHPUT,
    AS_FOR_MEMORY,
    AS_FOR_INFERENCE,
    AS_FOR_TRAINING,
    AS_FOR_PROTOTYPING,
    AS_N_PURPOSES
} as_purpose;
const char *as_purpose_text(as_purpose p);      /* "latency" */
const char *as_purpose_criterion(as_purpose p); /* "least time of a call" */

bool as_sweep_answers(const as_sweep *s, as_purpose p);

typedef struct as_sweep_choice {
    int         row, arm; /* -1: cannot be told, and why says why */
    double      score;    /* in `unit` */
    const char *unit;
    double      lead;   /* how much better than the best other candidate, a share; NaN: there is none, or no difference */
    bool        proved; /* by the interval at that row */
    bool        same;   /* another candidate is proven to be as good, to within the margin: this is the cheaper one */
    const char *why;
} as_sweep_choice;
as_sweep_choice as_sweep_choose(const as_sweep *s, as_purpose p);

#endif
