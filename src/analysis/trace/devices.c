/* devices.c - which device ran which steps, so that a device is never credited with steps that it refused. */
#include "analysis/trace/devices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static as_device_share *device_find(as_device_shares *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->devices[i].name, name))
            return &s->devices[i];
    if (s->n == AS_MAX_DEVICES)
        return NULL;
    s->devices[s->n] = (as_device_share){.name = name, .share_of_steps = NAN, .share_of_time = NAN};
    return &s->devices[s->n++];
}

/* A name among the refusals that is not a device of the run is a kernel. */
static bool is_device(const assay_trace *t, const char *name)
{
    bool is = !strcmp(t->device, name);
    for (size_t i = 0; i < t->n_steps && !is; i++)
        is = !strcmp(t->steps[i].device, name);
    return is;
}

static void refusals_count(const assay_trace *t, const as_trace_step *step, as_device_shares *s)
{
    for (int k = 0; k < step->n_refused; k++) {
        const as_trace_refusal *r = &step->refused[k];
        as_device_share        *d = strcmp(r->kernel, step->device) && is_device(t, r->kernel) ? device_find(s, r->kernel) : NULL;
        if (!d)
            continue;
        d->refused = d->n_refused ? d->refused : step->name;
        d->why = d->n_refused ? d->why : r->why;
        d->n_refused++;
    }
}

static int by_share(const void *a, const void *b)
{
    const as_device_share *x = a, *y = b;
    double x_time = isnan(x->share_of_time) ? 0 : x->share_of_time, y_time = isnan(y->share_of_time) ? 0 : y->share_of_time;
    if (x_time != y_time)
        return x_time > y_time ? -1 : 1;
    if (x->n_steps != y->n_steps)
        return x->n_steps > y->n_steps ? -1 : 1;
    return strcmp(x->name, y->name);
}

as_device_shares as_device_shares_read(assay_facts *f, const assay_trace *t)
{
    as_device_shares s = {.n = 0};
    as_kept          k = as_kept_read(f, t);
    double           ns[AS_MAX_DEVICES] = {0}, all_ns = 0;
    for (size_t i = 0; i < t->n_steps; i++) {
        const as_trace_step *step = &t->steps[i];
        if (as_step_is_prologue(step) || as_step_is_transfer(step))
            continue;
        as_device_share *d = device_find(&s, step->device);
        if (!d)
            continue;
        d->n_steps++;
        s.n_steps++;
        refusals_count(t, step, &s);
        if (k.steps) {
            ns[d - s.devices] += k.steps[i].clean_sum_ns;
            all_ns += k.steps[i].clean_sum_ns;
        }
    }
    s.n_runs = k.n_clean;
    s.no_time = all_ns > 0 ? NULL : k.n_used ? "every run was interrupted" : "no run has spans per step";
    for (int i = 0; i < s.n; i++) {
        s.devices[i].share_of_steps = (double)s.devices[i].n_steps / (double)s.n_steps;
        s.devices[i].share_of_time = s.no_time ? (double)NAN : ns[i] / all_ns;
    }
    if (s.n)
        qsort(s.devices, (size_t)s.n, sizeof *s.devices, by_share);
    return s;
}

const char *as_device_shares_say(assay_facts *f, const assay_trace *t, const as_device_shares *s)
{
    const char *text = "";
    if (!s->n || (s->n == 1 && !strcmp(s->devices[0].name, t->device)))
        return t->device;
    for (int i = 0; i < s->n; i++) {
        const as_device_share *d = &s->devices[i];
        const char            *time = s->no_time ? "" : as_say(f, " %.3g %% of the time,", 100 * d->share_of_time);
        text = as_say(f, "%s%s%s%s %zu of %zu steps", text, i ? "; " : "", d->name, time, d->n_steps, s->n_steps);
        if (d->n_refused)
            text = as_say(f, "%s (refused %zu)", text, d->n_refused);
    }
    return text;
}
