/* compare.h - what the first screens of comparisons share: one pair, many candidates, a sweep, two profiles.  Private to brief/. */
#ifndef AS_REPORT_BRIEF_COMPARE_H
#define AS_REPORT_BRIEF_COMPARE_H

#include "report/brief.h"

/* The time of one candidate over that of another, with its interval. */
typedef struct as_brief_ratio {
    double value, lo, hi;
} as_brief_ratio;
as_brief_ratio as_brief_ratio_at(const as_table *t, int row, const char *key); /* NaN where there is none */

/* "is 1.20x faster than A (1.18 to 1.22)"; small ones in percent: "takes 1.3 % less time than A (1.1 to 1.5)". */
const char *as_brief_faster(as_brief *b, as_brief_ratio r, const char *than, bool per_item);
/* "smallest detectable change 3 %; time to decide: about 12s (--budget 12s)" of a row of the table of candidates. */
const char *as_brief_unresolved(as_brief *b, const as_table *t, int row);
double      as_brief_margin(const assay_facts *f);
bool        as_brief_per_item(const assay_facts *f);

/* The table of layers of a comparison, by the comparison's row in the table "duels"; NULL: none. */
const as_table *as_brief_diff_of(const assay_facts *f, int duel);
/* Its most important layers, at most max, and the others in one row. */
void as_brief_diff_add(as_brief *b, const as_table *t, const char *caption, int max);
/* The same for one comparison.  For -1, or one without layers: the comparison that is decided and differs most; nothing where
 * none is decided. */
void as_brief_layers_add(as_brief *b, const assay_facts *f, int duel, int max);

void as_brief_compare_title(as_brief *b, const assay_facts *f);
/* What each candidate did per second, where the reader asked for it; false: he did not, or it is not known. */
bool as_brief_rates_add(as_brief *b, const assay_facts *f);
void as_brief_compare_end(as_brief *b, const assay_facts *f); /* checks and hints */

#endif
