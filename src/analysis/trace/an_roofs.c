/* an_roofs.c - the limits of the devices, as measured beside the run. */
#include <math.h>
#include <string.h>

#include "analysis/trace/evidence.h"
#include "trace/limit.h"

static assay_metric metric_of(const as_trace_roof *r)
{
    const char *unit = *r->unit ? r->unit : "1";
    if (!isfinite(r->value))
        return as_metric_unavailable(unit, "the limit has no finite value");
    bool bounded = r->lo <= r->value && r->value <= r->hi && isfinite(r->lo) && isfinite(r->hi);
    return as_metric_measured(r->value, bounded ? r->lo : (double)NAN, bounded ? r->hi : (double)NAN,
                              r->n_clean ? r->n_clean : r->n_chunks, unit, *r->source ? r->source : "trace");
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_fact_group *g = t->n_roofs ? as_facts_group(f, "roofs", "Limits of the devices") : NULL;
    for (size_t i = 0; i < t->n_roofs && f->status == ASSAY_OK; i++) {
        const as_trace_roof *r = &t->roofs[i];
        if (as_trace_roof_find(t, r->device, r->name) != r) /* it was measured again later */
            continue;
        bool        is_cpu = !strcmp(r->device, "cpu");
        const char *label = is_cpu ? r->name : as_facts_keep(f, as_say(f, "%s on %s", r->name, r->device));
        as_facts_add(f, g, is_cpu ? as_say(f, "roofs.%s", r->name) : as_say(f, "roofs.%s.%s", r->device, r->name), label,
                     metric_of(r));
    }
}

const as_analysis as_an_roofs = {.name = "roofs", .order = 65, .run = run};
