/* cmd_devices.c - the engines of this machine, and the limits of each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/file.h"
#include "base/json.h"
#include "base/metric.h"
#include "base/text.h"
#include "cli/cli.h"
#include "roof/roof.h"

enum { MOST = 64 };

/* A device that was found, or asked for, and what it can do at most. */
typedef struct row {
    const char       *name, *text, *reason; /* reason: not usable, why */
    const as_backend *backend;
    as_caps           caps;
    bool              has_caps, shown; /* shown: its limits are */
    as_roofs          roofs;
    char              source[1024];
} row;

typedef struct table {
    row      rows[MOST];
    int      n;
    as_arena arena;
    bool     failed; /* no memory for a text */
} table;

/* --- Finding ---------------------------------------------------------------------------------------- */

typedef struct finder {
    table            *t;
    const as_backend *backend;
} finder;

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

/* One that was asked for may be none of the list: "null:limit.fma.f32=1e9". */
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

/* Without --threads those of all CPUs are meant; limits that a profile has measured, for one thread, are shown when there are no others. */
static assay_status cpu_ask(as_cli *cli, as_roofs_how how, as_roof_settings *settings, row *r)
{
    bool is_set = as_options_is_set(cli->options, "threads");
    settings->n_threads = is_set ? (int)as_options_int(cli->options, "threads") : as_cpu_count();
    AS_TRY(as_roofs_get(cli->env, how, settings, &r->roofs, r->source, sizeof r->source));
    if (r->roofs.n || is_set || settings->n_threads == 1)
        return ASSAY_OK;
    settings->n_threads = 1;
    return as_roofs_get(cli->env, AS_ROOFS_LOOK, settings, &r->roofs, r->source, sizeof r->source);
}

static assay_status device_ask(as_cli *cli, as_roofs_how how, as_roof_settings *settings, row *r)
{
    as_device *device;
    AS_TRY(as_device_open(cli->env, r->name, 1, &device));
    settings->device = device;
    assay_status status = as_roofs_get(cli->env, how, settings, &r->roofs, r->source, sizeof r->source);
    as_device_close(device);
    return status;
}

static assay_status limits_ask(as_cli *cli, table *t, const as_roof_settings *settings)
{
    as_roofs_how how = as_options_flag(cli->options, "measure") ? AS_ROOFS_MEASURE : AS_ROOFS_LOOK;
    for (int i = 0; i < t->n; i++) {
        row             *r = &t->rows[i];
        as_roof_settings own = *settings;
        if (!r->shown || r->reason)
            continue;
        bool tells = !strcmp(r->backend->name, "null"); /* asked without limits, it has none; with them, they need no measuring */
        if (r->backend->meters_open)
            AS_TRY(device_ask(cli, tells ? AS_ROOFS_MEASURE : how, &own, r));
        else
            AS_TRY(cpu_ask(cli, how, &own, r));
    }
    return ASSAY_OK;
}

/* --- Showing -------------------------------------------------------------------------------------------- */

static void roof_print(const as_trace_roof *r)
{
    char value[32], lo[32], hi[32], today[32], when[AS_DATE_BYTES] = "";
    printf("  %-20s %13s  %13s .. %-13s %s", r->name, as_show(value, sizeof value, r->value, r->unit),
           as_show(lo, sizeof lo, r->lo, r->unit), as_show(hi, sizeof hi, r->hi, r->unit), r->source);
    if (!isnan(r->today))
        printf("; lower today: %s, %.0f %% below the best seen, %s", as_show(today, sizeof today, r->today, r->unit),
               fabs(1 - (strcmp(r->unit, "ns") ? r->today / r->value : r->value / r->today)) * 100.0,
               as_date_text(when, sizeof when, (int64_t)r->when_unix_s, AS_DATE_ISO));
    printf("\n");
}

static void show_text(const table *t)
{
    printf("engines:\n");
    for (int i = 0; i < t->n; i++) {
        const row *r = &t->rows[i];
        char       can[256];
        printf("  %-12s %-10s %s\n", r->name, r->reason ? "not usable" : "usable", r->reason ? r->reason : r->text);
        if (r->has_caps)
            printf("  %-12s %-10s %s\n", "", "", as_caps_show(&r->caps, can, sizeof can));
    }
    for (int i = 0; i < t->n; i++) {
        const row *r = &t->rows[i];
        if (!r->shown || r->reason || (!r->roofs.n && !strcmp(r->backend->name, "null")))
            continue;
        printf("\nlimits of %s: %s\n", r->name, r->source);
        if (r->roofs.n)
            printf("  %-20s %13s  %13s .. %-13s %s\n", "limit", "value", "lowest", "highest", "source");
        else
            printf("  assay devices --measure measures them, in at most 5 s\n");
        for (int k = 0; k < r->roofs.n; k++)
            roof_print(&r->roofs.list[k]);
    }
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

static void show_json(const table *t, FILE *file)
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
    as_json_object_end(&w);
    as_json_finish(&w);
}

static void draw_progress(void *arg, double done)
{
    (void)arg;
    if (done < 1.0)
        fprintf(stderr, "\r  measuring the limits: %3.0f %%", done * 100.0);
    else
        fprintf(stderr, "\r%40s\r", "");
    fflush(stderr);
}

static assay_status show(as_cli *cli, const table *t)
{
    const char *path = as_options_text(cli->options, "json");
    as_out      out;
    if (!path || strcmp(path, "-"))
        show_text(t);
    if (!path)
        return ASSAY_OK;
    AS_TRY(as_out_open(cli->env, path, &out));
    show_json(t, out.file);
    return as_out_commit(cli->env, &out);
}

static assay_status ask(as_cli *cli, table *t)
{
    as_roof_settings settings = {.n_threads = 1, .progress = isatty(STDERR_FILENO) ? draw_progress : NULL};
    for (int i = 0; as_be_table[i]; i++)
        as_be_table[i]->list(cli->env, device_found, &(finder){t, as_be_table[i]});
    for (int i = 0; i < t->n; i++)
        t->rows[i].shown = true;
    if (as_options_is_set(cli->options, "device"))
        AS_TRY(asked_add(cli->env, t, as_options_text(cli->options, "device")));
    if (t->failed)
        return as_fail(cli->env, ASSAY_NO_MEMORY, "devices: no room for %d of them", t->n);
    AS_TRY(limits_ask(cli, t, &settings));
    return show(cli, t);
}

static assay_status run(as_cli *cli)
{
    table       *t = calloc(1, sizeof *t);
    assay_status status = t ? ask(cli, t) : as_fail(cli->env, ASSAY_NO_MEMORY, "devices: no room for a list");
    for (int i = 0; t && i < t->n; i++)
        as_roofs_drop(&t->rows[i].roofs);
    if (t)
        as_arena_drop(&t->arena);
    free(t);
    return status;
}

const as_verb as_cmd_devices = {
    .name = "devices",
    .summary = "the engines of this machine, and how fast each can be at most",
    .usage = "[--measure] [--device DEVICE] [options]",
    .details =
        "Lists the engines that a plan can be made for, then the limits of each with their bands: of the CPU multiply-adds, bandwidth\n"
        "of every cache and of memory, exp and tanh, forks, clock; of other devices what their own meters offer.  They are measured\n"
        "by --measure, or before a profile; the best ever seen is kept.",
    .example = "assay devices --measure",
    .min_args = 0,
    .max_args = 0,
    .options = AS_OPTIONS("measure", "device", "threads", "json"),
    .texts = AS_TEXTS({.key = "device", .standard = "all devices", .help = "the limits of this device alone"},
                      {.key = "threads", .standard = "all CPUs", .help = "limits of so many CPU threads"}),
    .run = run,
};
