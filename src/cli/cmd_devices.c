/* cmd_devices.c - the engines of this machine, and the roofs of its CPU. */
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/file.h"
#include "base/json.h"
#include "base/metric.h"
#include "base/text.h"
#include "cli/cli.h"
#include "roof/roof.h"

/* --- Engines ---------------------------------------------------------------------------------------- */

typedef struct finder {
    as_json          *json;
    const as_backend *backend;
} finder; /* json NULL: text */

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
    char    can[256];
    if (!f->json) {
        printf("  %-12s %-10s %s\n", name, reason ? "not usable" : "usable", reason ? reason : text);
        if (caps)
            printf("  %-12s %-10s %s\n", "", "", as_caps_show(caps, can, sizeof can));
        return;
    }
    as_json_object(f->json);
    as_json_key_text(f->json, "name", name);
    as_json_key_text(f->json, "backend", f->backend->name);
    as_json_key_text(f->json, "syntax", f->backend->syntax);
    as_json_key_bool(f->json, "usable", !reason);
    as_json_key_text(f->json, "text", text);
    as_json_key_text(f->json, "reason", reason);
    as_json_key(f->json, "caps");
    if (caps)
        caps_write(f->json, caps);
    else
        as_json_null(f->json);
    as_json_object_end(f->json);
}

static void devices_list(as_cli *cli, as_json *json)
{
    for (int i = 0; as_be_table[i]; i++) {
        finder f = {json, as_be_table[i]};
        as_be_table[i]->list(cli->env, device_found, &f);
    }
}

/* --- Roofs -------------------------------------------------------------------------------------------- */

static void roof_print(const as_trace_roof *r)
{
    char value[32], lo[32], hi[32];
    printf("  %-20s %13s  %13s .. %-13s %s\n", r->name, as_show(value, sizeof value, r->value, r->unit),
           as_show(lo, sizeof lo, r->lo, r->unit), as_show(hi, sizeof hi, r->hi, r->unit), r->source);
}

static void show_text(as_cli *cli, const as_roofs *roofs, const char *source)
{
    printf("engines:\n");
    devices_list(cli, NULL);
    printf("\nroofs of the CPU: %s\n", source);
    if (roofs->n)
        printf("  %-20s %13s  %13s .. %-13s %s\n", "roof", "value", "lowest", "highest", "source");
    else
        printf("  assay devices --measure measures them, in at most 5 s\n");
    for (int i = 0; i < roofs->n; i++)
        roof_print(&roofs->list[i]);
}

static void show_json(as_cli *cli, const as_roofs *roofs, const char *source, FILE *file)
{
    as_json w;
    char    when[32];
    as_json_start(&w, file, true);
    as_json_object(&w);
    as_json_key_text(&w, "schema", "assay.devices/1");
    as_json_key(&w, "devices");
    as_json_array(&w);
    devices_list(cli, &w);
    as_json_array_end(&w);
    as_json_key_text(&w, "roofs_source", source);
    as_json_key_text(&w, "roofs_when", roofs->n ? as_roofs_when(roofs, when, sizeof when) : NULL);
    as_json_key(&w, "roofs");
    as_json_object(&w);
    for (int i = 0; i < roofs->n; i++) {
        const as_trace_roof *r = &roofs->list[i];
        assay_metric m = as_metric_measured(r->value, r->lo, r->hi, r->n_clean ? r->n_clean : r->n_chunks, r->unit, r->source);
        as_json_key(&w, r->name);
        if (!as_json_metric(&w, &m))
            as_json_null(&w);
    }
    as_json_object_end(&w);
    as_json_object_end(&w);
    as_json_finish(&w);
}

static void draw_progress(void *arg, double done)
{
    (void)arg;
    if (done < 1.0)
        fprintf(stderr, "\r  measuring the roofs: %3.0f %%", done * 100.0);
    else
        fprintf(stderr, "\r%40s\r", "");
    fflush(stderr);
}

static assay_status show(as_cli *cli, const as_roofs *roofs, const char *source)
{
    const char *path = as_options_text(cli->options, "json");
    as_out      out;
    if (!path || strcmp(path, "-"))
        show_text(cli, roofs, source);
    if (!path)
        return ASSAY_OK;
    AS_TRY(as_out_open(cli->env, path, &out));
    show_json(cli, roofs, source, out.file);
    return as_out_commit(cli->env, &out);
}

/* Without --threads those of all CPUs are meant; roofs that a profile has measured, for one thread, are shown when there are no others. */
static assay_status run(as_cli *cli)
{
    bool             measures = as_options_flag(cli->options, "measure"), is_set = as_options_is_set(cli->options, "threads");
    int              asked = (int)as_options_int(cli->options, "threads");
    as_roof_settings settings = {.n_threads = is_set ? asked : as_cpu_count()};
    as_roofs         roofs;
    char             source[1024];
    if (isatty(STDERR_FILENO))
        settings.progress = draw_progress;
    AS_TRY(as_roofs_get(cli->env, measures ? AS_ROOFS_MEASURE : AS_ROOFS_LOOK, &settings, &roofs, source, sizeof source));
    if (!roofs.n && !is_set && settings.n_threads > 1) {
        settings.n_threads = 1;
        AS_TRY(as_roofs_get(cli->env, AS_ROOFS_LOOK, &settings, &roofs, source, sizeof source));
    }
    assay_status status = show(cli, &roofs, source);
    as_roofs_drop(&roofs);
    return status;
}

const as_verb as_cmd_devices = {
    .name = "devices",
    .summary = "the engines of this machine, and how fast it can be at most",
    .usage = "[--measure] [options]",
    .details =
        "Lists the engines that a plan can be made for, then the roofs of the CPU with their bands: multiply-adds, bandwidth of\n"
        "every cache and of memory, exp and tanh, forks, clock.  They are measured by --measure, or before a profile, and kept.",
    .example = "assay devices --measure",
    .min_args = 0,
    .max_args = 0,
    .options = AS_OPTIONS("measure", "threads", "json"),
    .texts = AS_TEXTS({.key = "threads", .standard = "all CPUs", .help = "limits of so many CPU threads"}),
    .run = run,
};
