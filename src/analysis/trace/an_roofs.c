/* an_roofs.c - the machine's own roofs, as they were measured beside the run. */
#include <math.h>

#include "analysis/trace/evidence.h"

static assay_metric metric_of(const as_trace_roof *r)
{
    const char *unit = *r->unit ? r->unit : "1";
    if (!isfinite(r->value))
        return as_metric_unavailable(unit, "the roof has no finite value");
    bool bounded = r->lo <= r->value && r->value <= r->hi && isfinite(r->lo) && isfinite(r->hi);
    return as_metric_measured(r->value, bounded ? r->lo : (double)NAN, bounded ? r->hi : (double)NAN, r->n, unit,
                              *r->source ? r->source : "trace");
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_fact_group *g = t->n_roofs ? as_facts_group(f, "roofs", "Roofs of the machine") : NULL;
    for (size_t i = 0; i < t->n_roofs && f->status == ASSAY_OK; i++) {
        const char *key = as_facts_keep(f, as_say(f, "roofs.%s", t->roofs[i].name));
        if (key && as_facts_metric(f, key))
            key = as_say(f, "%s#%zu", key, i);
        as_facts_add(f, g, key, t->roofs[i].name, metric_of(&t->roofs[i]));
    }
}

const as_analysis as_an_roofs = {.name = "roofs", .order = 65, .run = run};
