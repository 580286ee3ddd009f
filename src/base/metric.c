/* metric.c - the constructors, and the one place that decides whether a metric may be shown. */
#include "base/metric.h"

#include <math.h>

static const char *const kind_texts[] = {
    [ASSAY_KIND_MISSING] = "missing", [ASSAY_MEASURED] = "measured", [ASSAY_COUNTED] = "counted",
    [ASSAY_DERIVED] = "derived",      [ASSAY_MODELLED] = "modelled", [ASSAY_UNAVAILABLE] = "unavailable",
};

const char *assay_kind_text(assay_kind kind) { return (unsigned)kind <= ASSAY_UNAVAILABLE ? kind_texts[kind] : "missing"; }

assay_metric as_metric_measured(double value, double lo, double hi, uint64_t n, const char *unit, const char *source)
{
    return (assay_metric){.value = value, .lo = lo, .hi = hi, .n = n, .unit = unit, .source = source, .kind = ASSAY_MEASURED};
}

assay_metric as_metric_counted(uint64_t value, const char *unit, const char *source)
{
    double exact = (double)value;
    return (assay_metric){.value = exact, .lo = exact, .hi = exact, .n = 1, .unit = unit, .source = source, .kind = ASSAY_COUNTED};
}

assay_metric as_metric_derived(double value, double lo, double hi, uint64_t n, const char *unit, const char *formula)
{
    assay_metric m = {.value = value, .lo = lo, .hi = hi, .n = n, .unit = unit, .source = formula, .kind = ASSAY_DERIVED};
#ifdef AS_PLANT_METRIC
    /* A planted fault: CI builds with it and demands that a test notices the metric without a kind. */
    m.kind = ASSAY_KIND_MISSING;
#endif
    return m;
}

assay_metric as_metric_modelled(double value, double lo, double hi, const char *unit, const char *assumption)
{
    return (assay_metric){.value = value, .lo = lo, .hi = hi, .unit = unit, .source = assumption, .kind = ASSAY_MODELLED};
}

assay_metric as_metric_unavailable(const char *unit, const char *reason)
{
    return (assay_metric){.value = NAN, .lo = NAN, .hi = NAN, .unit = unit, .reason = reason, .kind = ASSAY_UNAVAILABLE};
}

static bool is_blank(const char *s) { return !s || !*s; }

/* What is missing, or NULL when the metric is complete. */
static const char *fault_of(const assay_metric *m)
{
    if ((unsigned)m->kind > ASSAY_UNAVAILABLE || m->kind == ASSAY_KIND_MISSING)
        return "no kind";
    if (is_blank(m->unit))
        return "no unit";
    if (m->kind == ASSAY_UNAVAILABLE) {
        if (is_blank(m->reason))
            return "unavailable without a reason";
        return isnan(m->value) && isnan(m->lo) && isnan(m->hi) ? NULL : "unavailable but with a value";
    }
    if (is_blank(m->source))
        return "no source";
    if (m->reason)
        return "a reason to be unavailable, but with a value";
    if (!isfinite(m->value))
        return "no finite value";
    if (isnan(m->lo) && isnan(m->hi))
        return NULL;
    if (!isfinite(m->lo) || !isfinite(m->hi))
        return "half an interval";
    return m->lo <= m->value && m->value <= m->hi ? NULL : "the value is outside its interval";
}

bool as_metric_ok(const assay_metric *m, const char **why)
{
    const char *fault = fault_of(m);
    if (fault && why)
        *why = fault;
    return !fault;
}
