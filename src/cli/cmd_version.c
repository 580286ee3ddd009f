/* cmd_version.c - what is built in, what was left out and why. */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/plugs.h"
#include "backend/backend.h"
#include "backend/cpu/kernel.h"
#include "cli/cli.h"
#include "model/model.h"
#include "report/report.h"
#include "sensor/sensor.h"

/* Calls `each` with the kind and name of every plug that is in. */
static void walk(void (*each)(void *arg, const char *kind, const char *name), void *arg)
{
    for (int i = 0; as_be_table[i]; i++)
        each(arg, "device", as_be_table[i]->name);
    for (int i = 0; as_op_table[i]; i++)
        each(arg, "op", as_op_table[i]->name);
    for (int i = 0; as_k_table[i]; i++)
        each(arg, "kernel", as_k_table[i]->name);
    for (int i = 0; as_zoo_table[i]; i++)
        each(arg, "model", as_zoo_table[i]->name);
    for (int i = 0; as_fmt_table[i]; i++)
        each(arg, "format", as_fmt_table[i]->suffix);
    for (int i = 0; as_sn_table[i]; i++)
        each(arg, "sensor", as_sn_table[i]->name);
    for (int i = 0; as_an_table[i]; i++)
        each(arg, "analysis", as_an_table[i]->name);
    for (int i = 0; as_sec_table[i]; i++)
        each(arg, "section", as_sec_table[i]->name);
    for (int i = 0; as_wr_table[i]; i++)
        each(arg, "writer", as_wr_table[i]->name);
}

typedef struct printer {
    const char *last_kind;
    int         column;
    as_json    *json;
} printer;

static void print_one(void *arg, const char *kind, const char *name)
{
    printer *p = arg;
    if (p->last_kind != kind) {
        printf("\n%-10s", kind);
        p->column = 10;
    } else if (p->column + (int)strlen(name) + 1 > 100) {
        printf("\n%-10s", "");
        p->column = 10;
    }
    p->last_kind = kind;
    p->column += printf(" %s", name);
}

static void json_one(void *arg, const char *kind, const char *name)
{
    printer *p = arg;
    as_json_object(p->json);
    as_json_key_text(p->json, "kind", kind);
    as_json_key_text(p->json, "name", name);
    as_json_object_end(p->json);
}

static assay_status write_json(as_cli *cli, const char *path)
{
    as_out out;
    AS_TRY(as_out_open(cli->env, path, &out));
    as_json w;
    as_json_start(&w, out.file, true);
    as_json_object(&w);
    as_json_key_text(&w, "schema", "assay.version/1");
    as_json_key_text(&w, "version", ASSAY_VERSION);
    as_json_key_text(&w, "build", as_build_text);
    as_json_key(&w, "in");
    as_json_array(&w);
    walk(json_one, &(printer){.json = &w});
    as_json_array_end(&w);
    as_json_key(&w, "left_out");
    as_json_array(&w);
    for (const as_left_out *l = as_left_out_table; l->plug; l++) {
        as_json_object(&w);
        as_json_key_text(&w, "plug", l->plug);
        as_json_key_text(&w, "why", l->why);
        as_json_object_end(&w);
    }
    as_json_array_end(&w);
    as_json_object_end(&w);
    as_json_finish(&w);
    return as_out_commit(cli->env, &out);
}

static assay_status run(as_cli *cli)
{
    const char *json = as_options_text(cli->options, "json");
    if (json)
        return write_json(cli, json);
    printf("assay %s\nbuilt with %s\n", ASSAY_VERSION, as_build_text);
    walk(print_one, &(printer){.column = 0});
    printf("\n\nleft out:%s\n", as_left_out_table[0].plug ? "" : " nothing");
    for (const as_left_out *l = as_left_out_table; l->plug; l++)
        printf("  %s: %s\n", l->plug, l->why);
    return ASSAY_OK;
}

const as_verb as_cmd_version = {
    .name = "version",
    .summary = "what is built in, what was left out and why",
    .usage = "[options]",
    .details = "Lists every plug of this build, and each that was left out with the reason.",
    .example = "assay version",
    .group = AS_VERBS_HOUSE,
    .order = 4,
    .min_args = 0,
    .max_args = 0,
    .options = AS_OPTIONS("json"),
    .run = run,
};
