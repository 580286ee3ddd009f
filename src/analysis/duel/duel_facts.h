/* duel_facts.h - comparisons as facts: group "compare", a row a comparison, with everything that led to the verdict.
 *
 * Pure.  The one-line form is the same in the terminal, in annotations and in JUnit. */
#ifndef AS_ANALYSIS_DUEL_FACTS_H
#define AS_ANALYSIS_DUEL_FACTS_H

#include "analysis/analysis.h"
#include "analysis/duel/duel.h"
#include "analysis/duel/sweep.h"

typedef struct as_duel_row {
    const assay_trace   *trial;
    int                  a, b; /* arms of it: b is judged against a */
    const char          *name; /* NULL: the trial's, and the arms' where there are several rows of one trial */
    as_duel              duel;
    const as_duel_rules *rules;
} as_duel_row;

/* Counts of b minus those of a; NaN where either is not known. */
as_ledger as_ledger_difference(const assay_trace *t, int a, int b);

#define AS_LINE_BYTES 512
/* "matmul/512/f32   1.92 ms -> 2.01 ms   +4.7 % [+4.1, +5.3] 99 %   SLOWER (minor)   16 launches, 4.1 s" within so many columns (0: as
 * long as it is): spaces go first, then what the table repeats, then the middle of the name.  Never less than 60.  Returns buf. */
const char *as_duel_line(char *buf, size_t size, int columns, const char *name, const as_duel *d, double spent_ns);
/* The time of a call of b, derived from a's and the paired ratio; where there is no pair, b's own, measured as `source` says. */
assay_metric as_duel_b_metric(const as_duel *d, const char *source);
/* "Seen would have been 1.8 %; about 9 s would decide a margin of 1 %." - for unresolved ones; "" otherwise. */
const char *as_duel_remedy(char *buf, size_t size, const as_duel *d, double margin);
/* "each launch runs at another speed: ..." where launches differ more than their rounds; "" otherwise. */
const char *as_duel_luck_text(char *buf, size_t size, const as_duel *d);
/* The verdict as a line, why the trial is not whole, what disturbed it (said below the last comparison of a trial), and what would help. */
void as_duel_findings(assay_facts *f, as_fact_group *g, const char *name, const as_duel_row *row, bool last_of_trial);
/* "+4.7 %": three digits at most, always with a sign. */
const char *as_change_text(char *buf, size_t size, double ratio);

/* NULL: no memory.  A failure while adding is in facts->status, with its sentence in env. */
assay_facts *as_facts_of_duels(assay_env *env, const as_duel_row *rows, size_t n, const char *title);
/* The same into facts that have other groups. */
void as_duels_add(assay_facts *f, const as_duel_row *rows, size_t n);
/* Group "sweep": values x arms with the winner, crossovers, the guide, and a series an arm. */
void as_sweep_add(assay_facts *f, const as_sweep *s);

#endif
