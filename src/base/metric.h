/* metric.h - how metrics are made: one constructor per kind, so that every metric has one.
 * Strings are borrowed: they must live as long as the metric (constants or the owner's arena). */
#ifndef AS_BASE_METRIC_H
#define AS_BASE_METRIC_H

#include "assay.h"

assay_metric as_metric_measured(double value, double lo, double hi, uint64_t n, const char *unit, const char *source);
assay_metric as_metric_counted(uint64_t value, const char *unit, const char *source);
/* lo, hi may be NAN when the formula's inputs had no interval. */
assay_metric as_metric_derived(double value, double lo, double hi, uint64_t n, const char *unit, const char *formula);
assay_metric as_metric_modelled(double value, double lo, double hi, const char *unit, const char *assumption);
assay_metric as_metric_unavailable(const char *unit, const char *reason);

/* Whether it may be shown: it needs a kind, a unit, a source or a reason, a value unless
 * unavailable, and lo <= value <= hi.  `why` (may be NULL) gets what is missing. */
bool               as_metric_ok(const assay_metric *m, const char **why);
static inline bool as_metric_has(const assay_metric *m) { return m->kind != ASSAY_UNAVAILABLE && m->kind != ASSAY_KIND_MISSING; }

#endif
