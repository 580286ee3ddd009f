/* an_devices.c - the share of each device in the run, by where the steps really ran, not by what was asked for. */
#include "analysis/trace/devices.h"

#include <math.h>

static const char *const columns[] = {
    "device|device", "steps|steps", "share_of_steps|share of steps", "share_of_time|share of time", "refused|refused",
    "why|because",   NULL,
};

static void device_add(assay_facts *f, as_fact_group *g, as_table *table, const as_device_shares *s, const as_device_share *d)
{
    assay_metric steps =
        as_metric_derived(d->share_of_steps, (double)NAN, (double)NAN, 1, "ratio", "its steps / all computing steps");
    assay_metric time = s->no_time
                            ? as_metric_unavailable("ratio", s->no_time)
                            : as_metric_derived(d->share_of_time, (double)NAN, (double)NAN, s->n_runs, "ratio",
                                                "time of its steps / time of all computing steps, over the uninterrupted runs");
    assay_metric refused = as_metric_counted(d->n_refused, "1", "plan");
    as_facts_add(f, g, as_say(f, "device.%s.share_of_time", d->name), as_say(f, "share of time, %s", d->name), time);
    as_facts_add(f, g, as_say(f, "device.%s.share_of_steps", d->name), as_say(f, "share of steps, %s", d->name), steps);
    as_facts_add(f, g, as_say(f, "device.%s.refused_steps", d->name), as_say(f, "steps refused, %s", d->name), refused);
    as_cell cells[] = {{.text = d->name},   {.metric = as_metric_counted(d->n_steps, "1", "plan")},
                       {.metric = steps},   {.metric = time},
                       {.metric = refused}, {.text = d->why ? as_say(f, "%s: %s", d->refused, d->why) : "-"}};
    as_facts_row(f, table, cells);
}

static void run(assay_facts *f, const assay_trace *t)
{
    as_device_shares s = as_device_shares_read(f, t);
    if (!s.n)
        return;
    as_fact_group *g = as_facts_group(f, "devices", "Devices");
    as_table      *table = as_facts_table(f, g, "devices", "What each device ran", columns);
    for (int i = 0; i < s.n; i++)
        device_add(f, g, table, &s, &s.devices[i]);
    for (int i = 0; i < s.n; i++)
        if (s.devices[i].n_refused)
            as_facts_find(f, g, AS_LEVEL_WARN, "%s ran %zu of %zu steps and refused %zu, which ran on another device: %s: %s.",
                          s.devices[i].name, s.devices[i].n_steps, s.n_steps, s.devices[i].n_refused, s.devices[i].refused,
                          s.devices[i].why);
}

const as_analysis as_an_devices = {.name = "devices", .order = 35, .run = run};
