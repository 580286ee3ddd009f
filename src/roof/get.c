/* get.c - roofs for a session: the cached ones if they still hold, else measured. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "roof/roof.h"

#define STALE 0.03 /* the multiply-add point is off by more: the machine is not what it was */

/* Looks for the roofs of so many threads; one thread's are also among those of all CPUs.  `trouble` gets what is wrong with a file. */
static bool cached_find(assay_env *env, int n_threads, as_roofs *r, as_text *trouble)
{
    int tries[2] = {n_threads, as_cpu_count()};
    for (int i = 0; i < (n_threads == 1 && tries[1] > 1 ? 2 : 1); i++) {
        char key[17], path[4096];
        as_roofs_key(key, tries[i]);
        if (!as_roofs_path(path, sizeof path, key)) {
            as_text_add(trouble, "; there is no folder to keep them in: set ASSAY_CACHE_DIR");
            return false;
        }
        assay_status status = as_roofs_load(env, path, key, r);
        if (status == ASSAY_OK)
            return true;
        if (status != ASSAY_NOT_FOUND)
            as_text_printf(trouble, "; a cached file was of no use (%s)", assay_message(env));
    }
    return false;
}

/* 10 ms.  A machine that is too busy to be asked proves nothing against them. */
static bool verified(assay_env *env, const as_roofs *r, as_text *source)
{
    char                 name[64], now[32], then[32];
    double               rate = 0.0;
    bool                 seen = as_roofs_probe(env, name, sizeof name, &rate);
    const as_trace_roof *roof = as_roofs_find(r, name);
    if (!roof) {
        as_text_printf(source, "; the cached ones have no %s", name);
        return false;
    }
    as_show(then, sizeof then, roof->value, roof->unit);
    if (!seen) {
        as_text_printf(source, "; not verified: the machine is too busy");
        return true;
    }
    bool holds = fabs(rate / roof->value - 1.0) <= STALE;
    as_text_printf(source, "; %s is now %s, cached %s%s", name, as_show(now, sizeof now, rate, roof->unit), then,
                   holds ? "" : ": more than 3 % off");
    return holds;
}

bool as_roof_is_disturbed(const as_trace_roof *roof) { return roof->source && strstr(roof->source, "disturbed: "); }

int as_roofs_mend(as_roofs *r, const as_roofs *before)
{
    int n = 0;
    for (int i = 0; i < r->n; i++) {
        as_trace_roof       *now = &r->list[i];
        const as_trace_roof *then = as_roofs_find(before, now->name);
        if (!then || !as_roof_is_disturbed(now) || as_roof_is_disturbed(then) || !(then->value > now->value) ||
            !strcmp(now->unit, "ns"))
            continue;
        const char *source = as_arena_text(&r->arena, then->source);
        if (!source)
            continue;
        now->value = then->value;
        now->hi = then->hi > now->hi ? then->hi : now->hi;
        now->source = source;
        n++;
    }
    return n;
}

static assay_status measure(assay_env *env, const as_roof_settings *settings, const as_roofs *before, as_roofs *r, as_text *source)
{
    char path[4096];
    AS_TRY(as_roofs_measure(env, settings, r));
    as_text why = {0};
    as_text_printf(&why, "measured in %.1f s%s", r->seconds, source->data ? source->data : "");
    int n = as_roofs_mend(r, before);
    if (n)
        as_text_printf(&why, "; %d were disturbed, and keep the higher value of the time before", n);
    if (as_roofs_path(path, sizeof path, r->key) && as_roofs_save(env, path, r) != ASSAY_OK)
        as_text_printf(&why, "; not kept: %s", assay_message(env));
    as_text_drop(source);
    *source = why;
    return ASSAY_OK;
}

assay_status as_roofs_get(assay_env *env, as_roofs_how how, const as_roof_settings *wanted, as_roofs *r, char *source,
                          size_t source_size)
{
    as_text          text = {0};
    as_roofs         found = {0}, before = {0};
    char             when[32];
    assay_status     status = ASSAY_OK;
    as_roof_settings of_cpus = *wanted, *settings = &of_cpus;
    int              n_cpus = as_cpu_count();
    *r = (as_roofs){0};
    if (settings->n_threads > n_cpus) { /* they would only pre-empt each other */
        as_text_printf(&text, "; %d threads on %d CPUs: roofs of %d", settings->n_threads, n_cpus, n_cpus);
        settings->n_threads = n_cpus;
    }
    if (env->clock.kind == AS_CLOCK_FAKE) {
        snprintf(source, source_size, "none: the clock is a fake");
        as_text_drop(&text);
        return ASSAY_OK;
    }
    bool has = how != AS_ROOFS_MEASURE && cached_find(env, settings->n_threads, &found, &text);
    if (has && how == AS_ROOFS_AUTO && !verified(env, &found, &text)) {
        before = found;
        found = (as_roofs){0};
        has = false;
    }
    if (has)
        snprintf(source, source_size, "cached, measured %s%s", as_roofs_when(&found, when, sizeof when),
                 text.data ? text.data : "");
    else if (how != AS_ROOFS_LOOK)
        status = measure(env, settings, &before, &found, &text);
    if (!has && status == ASSAY_OK)
        snprintf(source, source_size, "%s%s", how == AS_ROOFS_LOOK ? "none measured yet" : "", text.data ? text.data : "");
    as_text_drop(&text);
    as_roofs_drop(&before);
    if (status == ASSAY_OK)
        *r = found;
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
    return ok ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "roofs: no room for %d in the trace", r->n);
}
