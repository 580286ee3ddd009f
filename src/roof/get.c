/* get.c - limits for a session: the cached ones if they still hold, else measured. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "roof/roof.h"

#define MISSING_S 1.5 /* at most this long for what the cache lacks */

/* `trouble` gets what is wrong with the file. */
static bool cached_find(assay_env *env, const as_roof_settings *settings, as_roofs *r, as_text *trouble)
{
    char key[17], path[4096];
    as_roofs_key(key, settings->device, settings->n_threads);
    if (!as_roofs_path(path, sizeof path, key)) {
        as_text_add(trouble, "; no folder to keep them in: set ASSAY_CACHE_DIR");
        return false;
    }
    assay_status status = as_roofs_load(env, path, key, r);
    if (status != ASSAY_OK && status != ASSAY_NOT_FOUND)
        as_text_printf(trouble, "; the cached file could not be used (%s)", assay_message(env));
    return status == ASSAY_OK;
}

/* --- What must be measured --------------------------------------------------------------------------------------------- */

/* Limits that are in the cache, except one that was seen to be too low. */
typedef struct cached {
    const as_roofs *kept;
    const char     *contradicted; /* "": none */
} cached;

static bool is_wanted(const void *arg, const char *name)
{
    const cached *c = arg;
    return !as_roofs_find(c->kept, name) || !strcmp(name, c->contradicted);
}

/* Takes 10 ms.  A lower value now does not disprove the best one seen: the machine may be busy.  A higher value does. */
static void look(assay_env *env, as_roofs *r, char *contradicted, size_t size, as_text *source)
{
    char   name[64], now[32], then[32];
    double rate = 0.0;
    bool   seen = as_roofs_probe(env, name, sizeof name, &rate);
    for (int i = 0; i < r->n; i++) {
        as_trace_roof *roof = &r->list[i];
        if (strcmp(roof->name, name))
            continue;
        as_show(then, sizeof then, roof->value, roof->unit);
        if (!seen) {
            as_text_printf(source, "; not checked again: the machine is too busy");
        } else if (rate > roof->value * (1.0 + AS_ROOF_NOISE)) {
            snprintf(contradicted, size, "%s", name);
            as_text_printf(source, "; %s is now %s, above the best so far, %s: measured again", name,
                           as_show(now, sizeof now, rate, roof->unit), then);
        } else if (rate < roof->value * (1.0 - AS_ROOF_NOISE)) {
            roof->today = rate;
            as_text_printf(source, "; %s is lower today: %s, %.0f %% below the best measured", name,
                           as_show(now, sizeof now, rate, roof->unit), (1.0 - rate / roof->value) * 100.0);
        }
    }
}

static void tally_say(const as_roofs *r, as_text *text)
{
    int n_lower = 0, n_unclean = 0;
    for (int i = 0; i < r->n; i++) {
        n_lower += !isnan(r->list[i].today);
        n_unclean += !as_roof_is_clean(&r->list[i]);
    }
    if (n_lower)
        as_text_printf(text, "; %d are lower today than the best measured, which is kept", n_lower);
    if (n_unclean)
        as_text_printf(text, "; %d had fewer than %d clean chunks and were not kept", n_unclean, AS_CHUNKS_CLEAN);
}

/* *r gets the limits measured now merged with those that were kept; n: how many were measured. */
static assay_status measure(assay_env *env, const as_roof_settings *settings, const as_roofs *kept, as_roofs *r, int *n,
                            as_text *text)
{
    as_roofs fresh = {0};
    char     path[4096];
    AS_TRY(as_roofs_measure(env, settings, &fresh));
    *n = fresh.n;
    if (!fresh.n)
        fresh.unix_s = kept->unix_s, fresh.seconds = kept->seconds, fresh.told = kept->told;
    assay_status status = as_roofs_merge(env, &fresh, kept);
    if (status != ASSAY_OK) {
        as_roofs_drop(&fresh);
        return status;
    }
    if (*n)
        tally_say(&fresh, text);
    if (*n && as_roofs_path(path, sizeof path, fresh.key) && as_roofs_save(env, path, &fresh) != ASSAY_OK)
        as_text_printf(text, "; not kept: %s", assay_message(env));
    *r = fresh;
    return ASSAY_OK;
}

/* Where the limits come from, before the rest of the text. */
static void head_say(const as_roofs *r, int n_measured, as_text *head)
{
    char when[32];
    if (!r->n)
        as_text_add(head, "none measured yet");
    else if (r->told)
        as_text_add(head, "given to the device");
    else if (!n_measured)
        as_text_printf(head, "cached, measured %s", as_roofs_when(r, when, sizeof when));
    else if (n_measured < r->n)
        as_text_printf(head, "%d of %d measured in %.1f s, the others cached", n_measured, r->n, r->seconds);
    else
        as_text_printf(head, "measured in %.1f s", r->seconds);
}

static assay_status get(assay_env *env, as_roofs_how how, as_roof_settings *settings, as_roofs *r, as_text *head, as_text *text)
{
    as_roofs     kept = {0};
    char         contradicted[64] = "";
    cached       c = {&kept, contradicted};
    assay_status status = ASSAY_OK;
    int          n_measured = 0;
    settings->n_threads = as_roofs_home(settings->device, settings->n_threads);
    bool has = cached_find(env, settings, &kept, text);
    if (has && how == AS_ROOFS_AUTO) {
        if (as_roofs_of_cpu(settings->device))
            look(env, &kept, contradicted, sizeof contradicted, text);
        settings->wants = is_wanted;
        settings->wants_arg = &c;
        settings->budget_s = settings->budget_s > 0.0 ? settings->budget_s : MISSING_S;
    }
    if (how == AS_ROOFS_LOOK) {
        *r = kept;
    } else {
        status = measure(env, settings, &kept, r, &n_measured, text);
        as_roofs_drop(&kept);
    }
    if (status == ASSAY_OK)
        head_say(r, n_measured, head);
    return status;
}

assay_status as_roofs_get(assay_env *env, as_roofs_how how, const as_roof_settings *wanted, as_roofs *r, char *source,
                          size_t source_size)
{
    as_text          head = {0}, text = {0};
    as_roof_settings of_cpus = *wanted;
    as_roofs         found = {0};
    int              n_cpus = as_cpu_count();
    *r = (as_roofs){0};
    if (env->clock.kind == AS_CLOCK_FAKE && as_roofs_of_cpu(wanted->device)) {
        snprintf(source, source_size, "none: the clock is simulated");
        return ASSAY_OK;
    }
    if (!as_roofs_of_cpu(wanted->device)) {
        of_cpus.n_threads = 1;               /* it has its own threads, if any */
    } else if (wanted->n_threads > n_cpus) { /* they would only pre-empt each other */
        as_text_printf(&text, "; %d threads on %d CPUs: limits of %d", wanted->n_threads, n_cpus, n_cpus);
        of_cpus.n_threads = n_cpus;
    }
    assay_status status = get(env, how, &of_cpus, &found, &head, &text);
    if (status == ASSAY_OK) {
        snprintf(source, source_size, "%s%s", head.data ? head.data : "", text.data ? text.data : "");
        *r = found;
    }
    as_text_drop(&head);
    as_text_drop(&text);
    return status;
}

const char *as_roofs_when(const as_roofs *r, char *buf, size_t size)
{
    return as_date_text(buf, size, (int64_t)r->unix_s, AS_DATE_ISO);
}

assay_status as_roofs_describe(assay_env *env, const as_roofs *r, const char *source, assay_trace *t)
{
    char when[32];
    bool ok = as_trace_add_note(t, "roofs.source", "%s", source);
    if (r->n)
        ok = ok && as_trace_add_note(t, "roofs.when", "%s", as_roofs_when(r, when, sizeof when));
    for (int i = 0; ok && i < r->n; i++)
        ok = as_trace_add_roof(t, &r->list[i]);
    return ok ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "limits: not enough memory for %d in the trace", r->n);
}

static bool runs_steps(const assay_trace *t, const char *device)
{
    for (size_t i = 0; i < t->n_steps; i++)
        if (!strcmp(t->steps[i].device, device) && !strcmp(t->steps[i].stage, "body"))
            return true;
    return false;
}

assay_status as_roofs_add(assay_env *env, as_roofs_how how, const as_roof_settings *settings, as_device *const *devices,
                          int n_devices, assay_trace *t)
{
    for (int i = 0; i < n_devices; i++) {
        as_roof_settings own = *settings;
        as_roofs         roofs;
        char             source[1024];
        if (!runs_steps(t, devices[i]->name))
            continue;
        own.device = devices[i];
        own.n_threads = devices[i]->n_threads;
        AS_TRY(as_roofs_get(env, how, &own, &roofs, source, sizeof source));
        assay_status status = as_roofs_describe(env, &roofs, source, t);
        as_roofs_drop(&roofs);
        AS_TRY(status);
    }
    return ASSAY_OK;
}
