/* cmd_version.c - what is built in, what was left out and why. */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/plugs.h"
#include "backend/backend.h"
#include "backend/cpu/kernel.h"
#include "cli/show.h"
#include "model/model.h"
#include "report/report.h"
#include "sensor/sensor.h"

/* Calls `each` with the kind and name of every built-in plug. */
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

/* --- One screen ------------------------------------------------------------------------------------------- */

enum { MAX_NAMES = 200, MAX_REASONS = 4 };

typedef struct counter {
    as_brief       *b;
    as_brief_table *t;
    const char     *last_kind;
    int             n;
} counter;

static void count_one(void *arg, const char *kind, const char *name)
{
    counter *c = arg;
    if (c->last_kind != kind) {
        as_brief_row_add(c->b, c->t, kind)->cells[2] = "";
        c->n = 0;
    }
    as_brief_row *row = &c->t->rows[c->t->n_rows - 1];
    c->last_kind = kind;
    row->cells[1] = as_brief_say(c->b, "%d", ++c->n);
    if (strlen(row->cells[2]) < MAX_NAMES)
        row->cells[2] = as_brief_say(c->b, "%s%s%s", row->cells[2], c->n > 1 ? " " : "", name);
}

/* Each reason once, with the number of parts that have it. */
static void left_out_add(as_brief *b)
{
    int n_reasons = 0;
    for (const as_left_out *l = as_left_out_table; l->plug; l++) {
        int  n = 0;
        bool told = false;
        for (const as_left_out *k = as_left_out_table; k->plug; k++) {
            told |= k < l && !strcmp(k->why, l->why);
            n += !strcmp(k->why, l->why);
        }
        if (!told && n_reasons++ < MAX_REASONS)
            as_brief_text_add(b, as_brief_say(b, "Left out, %d %s: %s.", n, n == 1 ? "part" : "parts", l->why));
    }
    if (!n_reasons)
        as_brief_text_add(b, "Nothing is left out.");
    if (n_reasons > MAX_REASONS)
        as_brief_text_add(b, as_brief_say(b, "Left out for %d more reasons: --report detailed.", n_reasons - MAX_REASONS));
}

static assay_status show_basic(as_cli *cli, const as_report_options *o)
{
    static const char *const columns[] = {"Built in", "how many", "names", NULL};
    as_brief                 b = {.title = "assay " ASSAY_VERSION, .level = AS_LEVEL_NOTE};
    b.settings = as_brief_say(&b, "built with %s", as_build_text);
    as_brief_table *t = as_brief_table_add(&b, columns);
    t->left[2] = true;
    walk(count_one, &(counter){.b = &b, .t = t});
    left_out_add(&b);
    as_brief_hint_add(&b, "--report detailed", "every name");
    as_brief_hint_add(&b, "assay list", "what they are");
    as_brief_hint_add(&b, "--json FILE|-", "as data");
    return as_cli_brief(cli, o, &b);
}

static assay_status run(as_cli *cli)
{
    as_report_options o;
    AS_TRY(as_report_options_read(cli->env, cli->options, &o));
    if (o.json)
        return write_json(cli, o.json);
    if (o.amount == AS_AMOUNT_BASIC)
        return show_basic(cli, &o);
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
    .details = "Counts the parts of this build and says why others were left out; --report detailed names each of them.",
    .example = "assay version",
    .group = AS_VERBS_HOUSE,
    .order = 4,
    .min_args = 0,
    .max_args = 0,
    .options = AS_OPTIONS("json", "report", "colour"),
    .run = run,
};
