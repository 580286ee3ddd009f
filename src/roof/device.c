/* device.c - the limits of a device, measured by its own meters through the interface of the back ends. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "roof/roof.h"

#define CHUNK_NS 3e6 /* longer than the CPU's: every chunk includes a launch and a wait */
#define TAKE_NS  40e6
#define ALL_NS   2e9
enum { TAKES = 3, CHUNKS_PER_TAKE = 20, SIZING = 24 };

typedef struct gauge {
    const as_device_meter *meter;
    uint64_t               n_passes;
    as_chunks              chunks;
} gauge;

typedef struct session {
    assay_env *env;
    gauge     *gauges;
    int        n;
    double     deadline_ns;
} session;

static double now_ns(const assay_env *env) { return as_clock_ns(&env->clock, as_clock_now(&env->clock)); }

static assay_status chunk_run(assay_env *env, const gauge *g, double *ns)
{
    double start = now_ns(env);
    AS_TRY(g->meter->run(env, g->meter->self, g->n_passes));
    *ns = now_ns(env) - start;
    return ASSAY_OK;
}

/* The faster of two readings counts, as on the CPU; the very first pass also builds what the driver builds late. */
static assay_status chunk_size(assay_env *env, gauge *g)
{
    g->n_passes = 1;
    for (int i = 0; i < SIZING; i++) {
        double a, b;
        AS_TRY(chunk_run(env, g, &a));
        AS_TRY(chunk_run(env, g, &b));
        double more = CHUNK_NS / fmax(fmin(a, b), 100.0);
        if (more <= 1.2)
            return ASSAY_OK;
        g->n_passes = (uint64_t)((double)g->n_passes * fmin(more, 16.0)) + 1;
    }
    return ASSAY_OK;
}

/* A device does not tell who else uses it: whether chunks agree is all there is to judge by. */
static assay_status take_run(session *s, gauge *g)
{
    double start = now_ns(s->env), ns;
    if (!g->n_passes)
        AS_TRY(chunk_size(s->env, g));
    as_chunks_take(&g->chunks);
    for (int i = 0; i < CHUNKS_PER_TAKE && !as_cancelled(s->env); i++) {
        AS_TRY(chunk_run(s->env, g, &ns));
        as_chunks_add(&g->chunks, g->meter->per_pass * (double)g->n_passes / fmax(ns, 1.0) * 1e9, 1.0);
        if (as_chunks_enough(&g->chunks) || now_ns(s->env) - start > TAKE_NS)
            break;
    }
    return ASSAY_OK;
}

static assay_status takes_run(session *s, const as_roof_settings *settings)
{
    for (int take = 0; take < TAKES; take++)
        for (int i = 0; i < s->n; i++) {
            if (s->gauges[i].meter->told > 0 || (take && now_ns(s->env) > s->deadline_ns))
                continue;
            if (as_cancelled(s->env))
                return as_fail(s->env, ASSAY_CANCELLED, "limits of %s: stopped at %s", settings->device->name,
                               s->gauges[i].meter->name);
            AS_TRY(take_run(s, &s->gauges[i]));
            if (settings->progress)
                settings->progress(settings->progress_arg, (double)(take * s->n + i + 1) / (TAKES * s->n));
        }
    return ASSAY_OK;
}

static bool roof_make(const gauge *g, as_roofs *out)
{
    const as_device_meter *m = g->meter;
    as_band b = {.value = m->told, .lo = m->told, .hi = m->told, .n_clean = AS_CHUNKS_CLEAN, .n_chunks = AS_CHUNKS_CLEAN};
    bool    told = m->told > 0;
    if (!told && !as_chunks_band(&g->chunks, &b))
        return true;
    if (!told && !strcmp(m->unit, "ns"))
        as_band_invert(&b);
    as_trace_roof *r = &out->list[out->n];
    *r = as_roof_of(&b, out->unix_s);
    r->device = out->device;
    r->name = as_arena_text(&out->arena, m->name);
    r->unit = m->unit;
    r->level_bytes = m->level_bytes;
    r->on_the_spot = told;
    r->source = told ? m->what
                     : as_arena_printf(&out->arena, "%s; third best of %d chunks%s%s", m->what, b.n_clean,
                                       b.disturbed ? "; busy: " : "", b.why);
    out->told = out->told || told;
    if (!r->name || !r->source)
        return false;
    out->n++;
    return true;
}

static assay_status roofs_make(session *s, const as_roof_settings *settings, double started_ns, as_roofs *out)
{
    as_roofs made = {.unix_s = (uint64_t)time(NULL), .seconds = (now_ns(s->env) - started_ns) / 1e9};
    char     key[17];
    as_roofs_key(key, settings->device, 1);
    made.key = as_arena_text(&made.arena, key);
    made.device = as_arena_text(&made.arena, settings->device->name);
    made.list = AS_TAKE(&made.arena, as_trace_roof, s->n + 1);
    bool ok = made.key && made.device && made.list;
    for (int i = 0; ok && i < s->n; i++)
        ok = roof_make(&s->gauges[i], &made);
    if (!ok) {
        as_roofs_drop(&made);
        return as_fail(s->env, ASSAY_NO_MEMORY, "limits of %s: not enough memory for %d limits", settings->device->name, s->n);
    }
    *out = made;
    return ASSAY_OK;
}

static assay_status measure(assay_env *env, const as_roof_settings *settings, const as_device_meters *m, as_roofs *out)
{
    session s = {.env = env, .gauges = calloc((size_t)m->n + 1, sizeof *s.gauges)};
    bool    is_fake = env->clock.kind == AS_CLOCK_FAKE;
    double  started_ns = now_ns(env);
    if (!s.gauges)
        return as_fail(env, ASSAY_NO_MEMORY, "limits of %s: not enough memory for %d meters", settings->device->name, m->n);
    s.deadline_ns = started_ns + (settings->budget_s > 0.0 ? settings->budget_s * 1e9 : ALL_NS);
    for (int i = 0; i < m->n; i++)
        if ((m->list[i].told > 0 || !is_fake) && (!settings->wants || settings->wants(settings->wants_arg, m->list[i].name)))
            s.gauges[s.n++].meter = &m->list[i];
    assay_status status = takes_run(&s, settings);
    if (status == ASSAY_OK)
        status = roofs_make(&s, settings, started_ns, out);
    free(s.gauges);
    return status;
}

assay_status as_roofs_measure_device(assay_env *env, const as_roof_settings *settings, as_roofs *out)
{
    as_device       *device = settings->device;
    as_device_meters meters = {0};
    if (!device->backend->meters_open)
        return as_fail(env, ASSAY_UNSUPPORTED, "limits of %s: its back end has no meters", device->name);
    AS_TRY(device->backend->meters_open(env, device, &meters));
    assay_status status = measure(env, settings, &meters, out);
    device->backend->meters_close(device, &meters);
    return status;
}
