/* an_sensors.c - every sensor of the trace as one number, or the reason why it has none. */
#include "analysis/trace/evidence.h"

static void run(assay_facts *f, const assay_trace *t)
{
    as_fact_group *g = as_facts_group(f, "sensors", "Sensors");
    size_t         n_missing = 0;
    for (size_t i = 0; i < t->n_sensors && f->status == ASSAY_OK; i++) {
        const as_trace_sensor *s = &t->sensors[i];
        assay_metric           m = as_sensor_metric(f, t, i);
        const char            *key = as_facts_keep(f, as_say(f, "sensors.%s", s->name)),
                   *label = as_say(f, "%s (%s)", s->name, *s->meaning ? s->meaning : "level");
        if (key && as_facts_metric(f, key))
            key = as_say(f, "%s#%zu", key, i); /* two sensors with the same name stay separate */
        n_missing += !as_metric_has(&m);
        as_facts_add(f, g, key, label, m);
    }
    if (!t->n_sensors)
        as_facts_find(f, g, AS_LEVEL_NOTE, "The trace has no sensors.");
    else if (n_missing)
        as_facts_find(f, g, AS_LEVEL_NOTE, "%zu of %zu sensors are not available; the table says why.", n_missing, t->n_sensors);
}

const as_analysis as_an_sensors = {
    .name = "sensors", .order = 60, .of = 1u << AS_OF_NETWORK | 1u << AS_OF_SESSION | 1u << AS_OF_PROGRAM, .run = run};
