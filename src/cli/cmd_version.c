/* cmd_version.c - what is built in, what was left out and why. */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/show.h"

/* The tables of assay_parts(). */
typedef struct parts {
    assay_facts    *facts;
    const as_table *in, *left_out;
    const char     *version, *build;
} parts;

static assay_status parts_ask(assay_env *env, parts *out)
{
    AS_TRY(assay_parts(env, &out->facts));
    const as_table *build = as_facts_table_find(out->facts, "parts", "build");
    out->in = as_facts_table_find(out->facts, "parts", "in");
    out->left_out = as_facts_table_find(out->facts, "parts", "left_out");
    out->version = as_words_at(build, 0, "version");
    out->build = as_words_at(build, 0, "build");
    return ASSAY_OK;
}

/* Calls `each` with the kind and name of every part that is in. */
static void walk(const parts *p, void (*each)(void *arg, const char *kind, const char *name), void *arg)
{
    for (int i = 0; i < p->in->n_rows; i++)
        each(arg, as_words_at(p->in, i, "kind"), as_words_at(p->in, i, "name"));
}

static bool is_new(const char *last, const char *kind) { return !last || strcmp(last, kind) != 0; }

typedef struct printer {
    const char *last_kind;
    int         column;
    as_json    *json;
} printer;

static void print_one(void *arg, const char *kind, const char *name)
{
    printer *p = arg;
    if (is_new(p->last_kind, kind)) {
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

static assay_status write_json(as_cli *cli, const parts *p, const char *path)
{
    as_out out;
    AS_TRY(as_out_open(cli->env, path, &out));
    as_json w;
    as_json_start(&w, out.file, true);
    as_json_object(&w);
    as_json_key_text(&w, "schema", "assay.version/1");
    as_json_key_text(&w, "version", p->version);
    as_json_key_text(&w, "build", p->build);
    as_json_key(&w, "in");
    as_json_array(&w);
    walk(p, json_one, &(printer){.json = &w});
    as_json_array_end(&w);
    as_json_key(&w, "left_out");
    as_json_array(&w);
    for (int i = 0; i < p->left_out->n_rows; i++) {
        as_json_object(&w);
        as_json_key_text(&w, "plug", as_words_at(p->left_out, i, "plug"));
        as_json_key_text(&w, "why", as_words_at(p->left_out, i, "why"));
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
    if (is_new(c->last_kind, kind)) {
        as_brief_row_add(c->b, c->t, kind)->cells[2] = "";
        c->n = 0;
    }
    as_brief_row *row = &c->t->rows[c->t->n_rows - 1];
    c->last_kind = kind;
    row->cells[1] = as_brief_say(c->b, "%d", ++c->n);
    if (strlen(row->cells[2]) < MAX_NAMES)
        row->cells[2] = as_brief_say(c->b, "%s%s%s", row->cells[2], c->n > 1 ? " " : "", name);
}

/* Each reason once, with how many parts it holds for. */
static void left_out_add(as_brief *b, const as_table *left_out)
{
    int n_reasons = 0;
    for (int i = 0; i < left_out->n_rows; i++) {
        const char *why = as_words_at(left_out, i, "why");
        int         n = 0;
        bool        told = false;
        for (int k = 0; k < left_out->n_rows; k++) {
            bool same = !strcmp(as_words_at(left_out, k, "why"), why);
            told |= k < i && same;
            n += same;
        }
        if (!told && n_reasons++ < MAX_REASONS)
            as_brief_text_add(b, as_brief_say(b, "Left out, %d %s: %s.", n, n == 1 ? "part" : "parts", why));
    }
    if (!n_reasons)
        as_brief_text_add(b, "Nothing is left out.");
    if (n_reasons > MAX_REASONS)
        as_brief_text_add(b, as_brief_say(b, "Left out for %d more reasons: --report detailed.", n_reasons - MAX_REASONS));
}

static assay_status show_basic(as_cli *cli, const as_report_options *o, const parts *p)
{
    static const char *const columns[] = {"Built in", "how many", "names", NULL};
    as_brief                 b = {.title = assay_facts_title(p->facts), .level = AS_LEVEL_NOTE};
    b.settings = as_brief_say(&b, "built with %s", p->build);
    as_brief_table *t = as_brief_table_add(&b, columns);
    t->left[2] = true;
    walk(p, count_one, &(counter){.b = &b, .t = t});
    left_out_add(&b, p->left_out);
    as_brief_hint_add(&b, "--report detailed", "every name");
    as_brief_hint_add(&b, "assay list", "what they are");
    as_brief_hint_add(&b, "--json FILE|-", "as data");
    return as_cli_brief(cli, o, &b);
}

static assay_status show(as_cli *cli, const as_report_options *o, const parts *p)
{
    if (o->json)
        return write_json(cli, p, o->json);
    if (o->amount == AS_AMOUNT_BASIC && !cli->quiet)
        return show_basic(cli, o, p);
    printf("assay %s\nbuilt with %s\n", p->version, p->build);
    if (o->amount == AS_AMOUNT_BASIC)
        return ASSAY_OK;
    walk(p, print_one, &(printer){.column = 0});
    printf("\n\nleft out:%s\n", p->left_out->n_rows ? "" : " nothing");
    for (int i = 0; i < p->left_out->n_rows; i++)
        printf("  %s: %s\n", as_words_at(p->left_out, i, "plug"), as_words_at(p->left_out, i, "why"));
    return ASSAY_OK;
}

static assay_status run(as_cli *cli)
{
    as_report_options o;
    parts             p;
    AS_TRY(as_report_options_read(cli->env, cli->options, &o));
    AS_TRY(parts_ask(cli->env, &p));
    assay_status status = show(cli, &o, &p);
    assay_facts_free(p.facts);
    return status;
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
