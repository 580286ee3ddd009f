/* recheck.c - when a result is above a limit, the limit is measured again before the result is called wrong. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "roof/roof.h"
#include "trace/limit.h"

#define EACH_S 0.06
enum { MOST = 16 };

typedef struct suspects {
    as_trace_roof list[MOST]; /* copies, because the trace's own records move when it grows */
    int           n;
} suspects;

static bool is_suspect(const void *arg, const char *name)
{
    const suspects *s = arg;
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->list[i].name, name))
            return true;
    return false;
}

/* Judges a step by its fastest run, which is more likely too fast than too slow: measuring a limit again without need costs
 * little. */
static void suspects_find(const assay_trace *t, const char *device, int n_threads, suspects *out)
{
    as_limits limits;
    if (!as_limits_read(t, device, n_threads, &limits))
        return;
    for (size_t i = 0; i < t->n_steps && i < t->n_totals; i++) {
        const as_trace_roof *blamed[AS_LIMIT_LEVELS + 2];
        double               ns = (double)t->totals[i].min_ticks * t->ns_per_tick;
        if (!t->totals[i].count || !(ns > 0) || strcmp(t->steps[i].device, device))
            continue;
        int n = as_limit_blame(&limits, &t->steps[i], ns, blamed, AS_LIMIT_LEVELS + 2);
        for (int k = 0; k < n; k++)
            if (out->n < MOST && !is_suspect(out, blamed[k]->name))
                out->list[out->n++] = *blamed[k];
    }
}

/* The kept limits are the better ones of those that the trace started with and those in the cache, which another process may have
 * improved. */
static assay_status kept_find(assay_env *env, const suspects *s, const char *key, as_roofs *out)
{
    char     path[4096];
    as_roofs cached = {0}, own = {0};
    own.list = AS_TAKE(&own.arena, as_trace_roof, s->n + 1);
    if (!own.list)
        return as_fail(env, ASSAY_NO_MEMORY, "limits: not enough memory for %d limits", s->n);
    for (int i = 0; i < s->n; i++)
        own.list[own.n++] = s->list[i];
    if (as_roofs_path(path, sizeof path, key) && as_roofs_load(env, path, key, &cached) == ASSAY_OK) {
        assay_status status = as_roofs_merge(env, &own, &cached);
        as_roofs_drop(&cached);
        if (status != ASSAY_OK) {
            as_roofs_drop(&own);
            return status;
        }
    }
    *out = own;
    return ASSAY_OK;
}

static assay_status again(assay_env *env, const as_roof_settings *settings, suspects *s, as_roofs *out, int *n_clean)
{
    as_roof_settings own = *settings;
    as_roofs         fresh = {0}, kept = {0};
    char             path[4096];
    own.n_threads = as_roofs_home(own.device, own.n_threads < as_cpu_count() ? own.n_threads : as_cpu_count());
    own.wants = is_suspect;
    own.wants_arg = s;
    own.budget_s = EACH_S * s->n;
    own.progress = NULL;
    AS_TRY(as_roofs_measure(env, &own, &fresh));
    *n_clean = 0;
    assay_status status = kept_find(env, s, fresh.key, &kept);
    if (status == ASSAY_OK) {
        for (int i = 0; i < fresh.n; i++) {
            fresh.list[i].on_the_spot = as_roof_is_clean(&fresh.list[i]);
            *n_clean += fresh.list[i].on_the_spot;
        }
        status = as_roofs_merge(env, &fresh, &kept);
        as_roofs_drop(&kept);
    }
    if (status == ASSAY_OK && *n_clean && as_roofs_path(path, sizeof path, fresh.key))
        (void)as_roofs_save(env, path, &fresh); /* this run loses nothing when the cache cannot be written */
    if (status == ASSAY_OK)
        *out = fresh;
    else
        as_roofs_drop(&fresh);
    return status;
}

static assay_status device_recheck(assay_env *env, const as_roof_settings *settings, const char *name, assay_trace *t, int *n)
{
    suspects s = {.n = 0};
    as_roofs believed = {0};
    int      n_clean = 0;
    bool     ok = true;
    suspects_find(t, name, settings->n_threads, &s);
    if (!s.n)
        return ASSAY_OK;
    AS_TRY(again(env, settings, &s, &believed, &n_clean));
    for (int i = 0; ok && i < believed.n; i++)
        if (is_suspect(&s, believed.list[i].name)) {
            believed.list[i].device = name;
            ok = as_trace_add_roof(t, &believed.list[i]);
            ++*n;
        }
    as_roofs_drop(&believed);
    return ok ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "limits of %s: not enough memory for %d in the trace", name, s.n);
}

assay_status as_roofs_recheck(assay_env *env, const as_roof_settings *settings, as_device *const *devices, int n_devices,
                              assay_trace *t, int *n)
{
    int n_added = 0;
    for (int i = 0; i < n_devices; i++) {
        as_roof_settings own = *settings;
        own.device = devices[i];
        own.n_threads = devices[i]->n_threads;
        if (env->clock.kind != AS_CLOCK_FAKE) /* what was reported need not be asked again */
            AS_TRY(device_recheck(env, &own, devices[i]->name, t, &n_added));
    }
    if (n)
        *n = n_added;
    return ASSAY_OK;
}
