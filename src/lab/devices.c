/* devices.c - the devices of this machine, and the limits of each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/metric.h"
#include "base/stage.h"
#include "base/text.h"
#include "lab/calls.h"
#include "lab/require.h"
#include "lab/tell.h"
#include "roof/roof.h"

enum { MOST = 64 };

/* A device that was found or asked for, and its limits. */
typedef struct row {
    const char       *name, *text, *reason; /* reason: why it is not usable */
    const as_backend *backend;
    as_caps           caps;
    bool              has_caps, shown; /* shown: its limits are shown */
    as_roofs          roofs;
    char              source[1024];
} row;

struct as_devices {
    as_arena arena;
    row     *rows;
    int      n;
    bool     failed; /* no memory for a text */
};

typedef as_devices table;

/* --- Finding ---------------------------------------------------------------------------------------- */

typedef struct finder {
    table            *t;
    const as_backend *backend;
} finder;

static void device_found(void *arg, const char *name, const char *text, const as_caps *caps, const char *reason)
{
    finder *f = arg;
    table  *t = f->t;
    if (t->n == MOST)
        return;
    row *r = &t->rows[t->n++];
    r->backend = f->backend;
    r->name = as_arena_text(&t->arena, name);
    r->text = text ? as_arena_text(&t->arena, text) : NULL;
    r->reason = reason ? as_arena_text(&t->arena, reason) : NULL;
    r->has_caps = caps != NULL;
    if (caps)
        r->caps = *caps;
    t->failed = t->failed || !r->name || (text && !r->text) || (reason && !r->reason);
}

/* A device that was asked for may not be in the list: "null:limit.fma.f32=1e9". */
static assay_status asked_add(assay_env *env, table *t, const char *spec)
{
    as_device *device;
    AS_TRY(as_device_open(env, spec, 1, &device));
    bool there = false;
    for (int i = 0; i < t->n; i++)
        there = there || !strcmp(t->rows[i].name, device->name);
    if (!there)
        device_found(&(finder){t, device->backend}, device->name, device->text, &device->caps, NULL);
    for (int i = 0; i < t->n; i++)
        t->rows[i].shown = !strcmp(t->rows[i].name, device->name);
    as_device_close(device);
    return ASSAY_OK;
}

/* --- Limits ------------------------------------------------------------------------------------------- */

typedef struct asking {
    assay_env   *env;
    as_roofs_how how;
    int          n_threads; /* 0: not given */
    const char  *device;    /* NULL: all of them */
} asking;

static void progress_tell(void *arg, double done)
{
    assay_env *env = arg;
    as_stage_begin(env, AS_PHASE_LIMITS, "", AS_LIMITS_S, 0);
    as_stage_done(env, done);
}

static as_roof_settings settings_of(const asking *q)
{
    return (as_roof_settings){.n_threads = 1, .progress = progress_tell, .progress_arg = q->env};
}

/* Without a number of threads, the limits of all CPUs are shown; if there are none, those that a profile measured for one
 * thread. */
static assay_status cpu_ask(const asking *q, row *r)
{
    as_roof_settings settings = settings_of(q);
    settings.n_threads = q->n_threads ? q->n_threads : as_cpu_count();
    AS_TRY(as_roofs_get(q->env, q->how, &settings, &r->roofs, r->source, sizeof r->source));
    if (r->roofs.n || q->n_threads || settings.n_threads == 1)
        return ASSAY_OK;
    settings.n_threads = 1;
    return as_roofs_get(q->env, AS_ROOFS_LOOK, &settings, &r->roofs, r->source, sizeof r->source);
}

static assay_status device_ask(const asking *q, row *r)
{
    as_roof_settings settings = settings_of(q);
    bool tells = !strcmp(r->backend->name, "null"); /* without given limits it has none; given limits need no measuring */
    AS_TRY(as_device_open(q->env, r->name, 1, &settings.device));
    assay_status status =
        as_roofs_get(q->env, tells ? AS_ROOFS_MEASURE : q->how, &settings, &r->roofs, r->source, sizeof r->source);
    as_device_close(settings.device);
    return status;
}

static assay_status ask(const asking *q, table *t)
{
    for (int i = 0; as_be_table[i]; i++)
        as_be_table[i]->list(q->env, device_found, &(finder){t, as_be_table[i]});
    for (int i = 0; i < t->n; i++)
        t->rows[i].shown = true;
    if (q->device)
        AS_TRY(asked_add(q->env, t, q->device));
    if (t->failed)
        return as_fail(q->env, ASSAY_NO_MEMORY, "devices: not enough memory for %d devices", t->n);
    for (int i = 0; i < t->n; i++) {
        row *r = &t->rows[i];
        if (r->shown && !r->reason)
            AS_TRY(r->backend->meters_open ? device_ask(q, r) : cpu_ask(q, r));
    }
    return ASSAY_OK;
}

assay_status as_devices_ask(assay_env *env, const assay_options *options, as_devices **out)
{
    static const char *const keys[] = {AS_DEVICES_KEYS, NULL};
    AS_TRY(as_options_only(env, options, "devices", keys));
    asking q = {.env = env, .how = as_options_flag(options, "measure") ? AS_ROOFS_MEASURE : AS_ROOFS_LOOK};
    if (as_options_is_set(options, "threads"))
        q.n_threads = (int)as_options_int(options, "threads");
    if (as_options_is_set(options, "device"))
        q.device = as_options_text(options, "device");
    table *t = calloc(1, sizeof *t);
    if (t)
        t->rows = AS_TAKE(&t->arena, row, MOST);
    assay_status status = t && t->rows ? ask(&q, t) : as_fail(env, ASSAY_NO_MEMORY, "devices: not enough memory for a list");
    if (status == ASSAY_OK)
        *out = t;
    else
        as_devices_free(t);
    return status;
}

void as_devices_free(as_devices *t)
{
    if (!t)
        return;
    for (int i = 0; t->rows && i < t->n; i++)
        as_roofs_drop(&t->rows[i].roofs);
    as_arena_drop(&t->arena);
    free(t);
}

/* --- As text ------------------------------------------------------------------------------------------ */

static void roof_print(const as_trace_roof *r, FILE *file)
{
    char value[32], lo[32], hi[32], today[32], when[AS_DATE_BYTES] = "";
    fprintf(file, "  %-20s %13s  %13s .. %-13s %s", r->name, as_show(value, sizeof value, r->value, r->unit),
            as_show(lo, sizeof lo, r->lo, r->unit), as_show(hi, sizeof hi, r->hi, r->unit), r->source);
    if (!isnan(r->today))
        fprintf(file, "; lower today: %s, %.0f %% below the best measured, %s", as_show(today, sizeof today, r->today, r->unit),
                fabs(1 - (strcmp(r->unit, "ns") ? r->today / r->value : r->value / r->today)) * 100.0,
                as_date_text(when, sizeof when, (int64_t)r->when_unix_s, AS_DATE_ISO));
    fprintf(file, "\n");
}

void as_devices_print(const as_devices *t, FILE *file)
{
    fprintf(file, "engines:\n");
    for (int i = 0; i < t->n; i++) {
        const row *r = &t->rows[i];
        char       can[256];
        fprintf(file, "  %-12s %-10s %s\n", r->name, r->reason ? "not usable" : "usable", r->reason ? r->reason : r->text);
        if (r->has_caps)
            fprintf(file, "  %-12s %-10s %s\n", "", "", as_caps_show(&r->caps, can, sizeof can));
    }
    for (int i = 0; i < t->n; i++) {
        const row *r = &t->rows[i];
        if (!r->shown || r->reason || (!r->roofs.n && !strcmp(r->backend->name, "null")))
            continue;
        fprintf(file, "\nlimits of %s: %s\n", r->name, r->source);
        if (r->roofs.n)
            fprintf(file, "  %-20s %13s  %13s .. %-13s %s\n", "limit", "value", "lowest", "highest", "source");
        else
            fprintf(file, "  assay devices --measure measures them, in at most 5 s\n");
        for (int k = 0; k < r->roofs.n; k++)
            roof_print(&r->roofs.list[k], file);
    }
}

/* --- As JSON ----------------------------------------------------------------------------------------------- */

static void caps_write(as_json *w, const as_caps *caps)
{
    as_json_object(w);
    as_json_key(w, "dtypes");
    as_json_array(w);
    for (int d = 0; d < AS_N_DTYPES; d++)
        if (caps->dtypes >> d & 1u)
            as_json_text(w, as_dtype_name((as_dtype)d));
    as_json_array_end(w);
    as_json_key(w, "max_bytes");
    if (caps->max_bytes)
        as_json_u64(w, caps->max_bytes);
    else
        as_json_null(w);
    as_json_key_bool(w, "uses_threads", caps->uses_threads);
    as_json_key_bool(w, "takes_graphs", caps->takes_graphs);
    as_json_key_text(w, "spans", caps->span_per_segment ? "segment" : "step");
    as_json_object_end(w);
}

static void limits_write(as_json *w, const as_roofs *roofs)
{
    as_json_key(w, "limits");
    as_json_object(w);
    for (int i = 0; i < roofs->n; i++) {
        const as_trace_roof *r = &roofs->list[i];
        as_json_key(w, r->name);
        as_json_object(w);
        as_json_key_f64(w, "value", r->value);
        as_json_key_text(w, "unit", r->unit);
        as_json_key_text(w, "kind", "measured");
        as_json_key_f64(w, "lo", r->lo);
        as_json_key_f64(w, "hi", r->hi);
        as_json_key_f64(w, "today", r->today);
        as_json_key_u64(w, "n_clean", r->n_clean);
        as_json_key_u64(w, "n_chunks", r->n_chunks);
        as_json_key_u64(w, "level_bytes", r->level_bytes);
        as_json_key_u64(w, "when_unix_s", r->when_unix_s);
        as_json_key_bool(w, "disturbed", r->disturbed);
        as_json_key_text(w, "source", r->source);
        as_json_object_end(w);
    }
    as_json_object_end(w);
}

static void requirements_write(as_json *w, const as_requirements *r)
{
    as_json_key(w, "requirements");
    as_json_object(w);
    as_json_key_text(w, "name", r->name);
    as_json_key_text(w, "level", r->level);
    as_json_key(w, "rows");
    as_json_array(w);
    for (int i = 0; i < r->n_rows; i++) {
        const as_requirement *asked = &r->rows[i];
        as_json_object(w);
        as_json_key_text(w, "key", asked->key);
        as_json_key_text(w, "direction", asked->is_floor ? "floor" : "budget");
        as_json_key_f64(w, "required", asked->required);
        as_json_key_f64(w, "found", asked->found);
        as_json_key_text(w, "unit", asked->unit);
        as_json_key_text(w, "verdict", as_row_verdict_text(asked->verdict));
        as_json_key_text(w, "why", asked->why);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
}

void as_devices_json(const as_devices *t, const as_requirements *required, FILE *file)
{
    as_json w;
    char    when[AS_DATE_BYTES];
    as_json_start(&w, file, true);
    as_json_object(&w);
    as_json_key_text(&w, "schema", "assay.devices/2");
    as_json_key(&w, "devices");
    as_json_array(&w);
    for (int i = 0; i < t->n; i++) {
        const row *r = &t->rows[i];
        as_json_object(&w);
        as_json_key_text(&w, "name", r->name);
        as_json_key_text(&w, "backend", r->backend->name);
        as_json_key_text(&w, "syntax", r->backend->syntax);
        as_json_key_bool(&w, "usable", !r->reason);
        as_json_key_text(&w, "text", r->text);
        as_json_key_text(&w, "reason", r->reason);
        as_json_key(&w, "caps");
        if (r->has_caps)
            caps_write(&w, &r->caps);
        else
            as_json_null(&w);
        as_json_key_text(&w, "limits_source", *r->source ? r->source : NULL);
        as_json_key_text(&w, "limits_when", r->roofs.n ? as_roofs_when(&r->roofs, when, sizeof when) : NULL);
        limits_write(&w, &r->roofs);
        as_json_object_end(&w);
    }
    as_json_array_end(&w);
    if (required)
        requirements_write(&w, required);
    as_json_object_end(&w);
    as_json_finish(&w);
}

/* --- As facts ---------------------------------------------------------------------------------------------- */

static void limits_add(assay_facts *f, as_fact_group *g, const row *r)
{
    for (int k = 0; k < r->roofs.n; k++) {
        const as_trace_roof *roof = &r->roofs.list[k];
        char                 key[256], label[256];
        snprintf(key, sizeof key, "limits.%s.%s", r->name, roof->name);
        snprintf(label, sizeof label, "%s of %s", roof->name, r->name);
        as_facts_add(f, g, key, label,
                     as_metric_measured(roof->value, roof->lo, roof->hi, roof->n_chunks, roof->unit, roof->source));
    }
}

assay_status as_devices_facts(assay_env *env, const as_devices *t, assay_facts **out)
{
    static const char *const columns[] = {
        "device|device", "backend|back end", "usable|usable", "text|description", "limits|source of its limits", NULL};
    assay_facts *f = as_facts_new(env);
    if (!f)
        return as_fail(env, ASSAY_NO_MEMORY, "devices: not enough memory for the facts");
    f->title = as_facts_keep(f, "devices of this machine");
    as_fact_group *g = as_facts_group(f, "devices", "Devices");
    as_table      *list = as_facts_table(f, g, "devices", "Devices", columns);
    for (int i = 0; i < t->n; i++) {
        const row *r = &t->rows[i];
        as_facts_row(f, list,
                     (as_cell[]){{.text = r->name},
                                 {.text = r->backend->name},
                                 {.text = r->reason ? "no" : "yes"},
                                 {.text = r->reason ? r->reason : r->text},
                                 {.text = *r->source ? r->source : "-"}});
    }
    for (int i = 0; i < t->n; i++)
        limits_add(f, g, &t->rows[i]);
    return as_facts_done(f, out);
}

assay_status assay_devices(assay_env *env, const assay_options *options, assay_facts **out)
{
    as_devices      *t;
    as_requirements *required = NULL;
    const char      *require = as_options_text(options, "require");
    if (require)
        AS_TRY(as_requirements_load(env, require, &required));
    assay_status status = as_devices_ask(env, options, &t);
    if (status == ASSAY_OK) {
        status = as_devices_facts(env, t, out);
        as_devices_free(t);
    }
    if (status == ASSAY_OK && required)
        as_require_judge(required, *out);
    as_requirements_free(required);
    return status;
}
