/* cmd_list.c - lists what is built in: ops, models, parameters, devices, kernels, sensors, verbs, options. */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/show.h"
#include "cli/screen.h"

enum { MAX_COLUMNS = 6 };

/* Rows are written as text or as JSON. */
typedef struct lister {
    as_cli            *cli;
    const char        *topic;
    const char *const *columns; /* NULL-terminated */
    as_json           *json;    /* NULL: text */
    int                n_rows;
    bool               only_count; /* write nothing: count rows, and keep the first names */
    char               first[128]; /* with only_count: the first names */
} lister;

static void row_count(lister *l, const char *name)
{
    size_t used = strlen(l->first);
    if (used + strlen(name) + 2 < sizeof l->first)
        snprintf(l->first + used, sizeof l->first - used, "%s%s", used ? " " : "", name);
}

static const int widths[MAX_COLUMNS] = {24, 12, 12, 30, 30, 20};

/* For a terminal: lines are wrapped at words and continue below the second column. */
static void row_wrap(const lister *l, const char *const *cells)
{
    int columns = as_screen_columns(), indent = widths[0] + 2, at = 0, start = 0;
    for (int i = 0; l->columns[i]; start += widths[i++] + 2) {
        const char *text = cells[i] ? cells[i] : "";
        int         gap = at < start ? start - at : at ? 2 : 0;
        for (size_t n; *text; text += n + strspn(text + n, " "), gap = 1) {
            n = strcspn(text, " ");
            if (at + gap + (int)n > columns && at > indent) {
                printf("\n");
                at = 0;
                gap = indent;
            }
            at += printf("%*s%.*s", gap, "", (int)n, text);
        }
    }
    printf("\n");
}

static void row(lister *l, const char *const *cells)
{
    if (l->only_count) {
        row_count(l, cells[0]);
    } else if (l->json) {
        as_json_object(l->json);
        for (int i = 0; l->columns[i]; i++)
            as_json_key_text(l->json, l->columns[i], cells[i]);
        as_json_object_end(l->json);
    } else if (isatty(STDOUT_FILENO)) {
        row_wrap(l, cells);
    } else { /* for scripts, one line per row */
        for (int i = 0; l->columns[i]; i++)
            printf("%-*s%s", l->columns[i + 1] ? widths[i] : 0, cells[i] ? cells[i] : "", l->columns[i + 1] ? "  " : "\n");
    }
    l->n_rows++;
}

/* The topics of the library; `columns` are the keys of its tables. */
static assay_status list_call(lister *l)
{
    const char         *onnx = as_options_text(l->cli->options, "onnx"), *cells[MAX_COLUMNS];
    const char         *key;
    const assay_metric *bad, *nodes, *number;
    assay_facts        *facts;
    size_t              n_rows = 0, n_columns = 0;
    AS_TRY(assay_list(l->cli->env, l->topic, onnx ? onnx : l->cli->n_args > 1 ? l->cli->args[1] : NULL, &facts));
    assay_facts_table(facts, 0, &key, &n_rows, &n_columns);
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t k = 0; k < n_columns; k++)
            assay_facts_cell(facts, 0, i, k, &cells[k], &number);
        row(l, cells);
    }
    bad = assay_facts_metric(facts, "ops.unsupported"), nodes = assay_facts_metric(facts, "ops.nodes");
    if (bad && nodes && !l->json && bad->value == 0)
        printf("all %.0f nodes of %s are supported\n", nodes->value, onnx);
    assay_facts_free(facts);
    return ASSAY_OK;
}

static assay_status list_verbs(lister *l)
{
    for (int i = 0; as_cmd_table[i]; i++)
        row(l, (const char *[]){as_cmd_table[i]->name, as_cmd_table[i]->summary});
    return ASSAY_OK;
}

/* One row per verb and option; the inert-option test reads it. */
static assay_status list_options(lister *l)
{
    for (int v = 0; as_cmd_table[v]; v++)
        for (const char *const *key = as_cmd_table[v]->options; key && *key; key++) {
            as_option_def def = as_verb_option(as_cmd_table[v], *key);
            row(l, (const char *[]){as_cmd_table[v]->name, def.key, def.value ? def.value : "", def.example ? def.example : "",
                                    def.help});
        }
    return ASSAY_OK;
}

static const struct topic {
    const char *name;
    const char *columns[MAX_COLUMNS + 1];
    assay_status (*list)(lister *l);
    bool in_all; /* also listed without a topic */
} topics[] = {
    {"ops", {"name", "inputs", "cases", "gradient"}, list_call, true},
    {"models", {"name", "help"}, list_call, true},
    {"params", {"name", "what", "standard", "help"}, list_call, false},
    {"devices", {"name", "state", "text"}, list_call, true},
    {"kernels", {"name", "op", "rank", "why", "isa"}, list_call, true},
    {"sensors", {"name", "unit", "state", "source"}, list_call, true},
    {"verbs", {"name", "summary"}, list_verbs, true},
    {"options", {"verb", "option", "value", "example", "help"}, list_options, false},
    {"aliases", {"name", "stands for", "kind"}, list_call, false},
};

static assay_status list_one(as_cli *cli, const struct topic *topic, as_json *json)
{
    lister l = {.cli = cli, .topic = topic->name, .columns = topic->columns, .json = json};
    if (json) {
        as_json_key(json, topic->name);
        as_json_array(json);
    }
    assay_status status = topic->list(&l);
    if (json)
        as_json_array_end(json);
    return status;
}

static assay_status list_all(as_cli *cli, const struct topic *only, as_json *json)
{
    for (size_t i = 0; i < AS_COUNT(topics); i++) {
        if (only ? only != &topics[i] : !topics[i].in_all)
            continue;
        if (!json && !only)
            printf("%s%s:\n", i ? "\n" : "", topics[i].name);
        AS_TRY(list_one(cli, &topics[i], json));
    }
    return ASSAY_OK;
}

/* Without a topic: the list of topics. */
static assay_status list_basic(as_cli *cli)
{
    static const char *const columns[] = {"Topic", "how many", "such as", NULL};
    as_report_options        o;
    as_brief                 b = {.title = "what is in here", .settings = "assay list TOPIC", .level = AS_LEVEL_NOTE};
    AS_TRY(as_report_options_read(cli->env, cli->options, &o));
    as_brief_table *t = as_brief_table_add(&b, columns);
    assay_status    status = ASSAY_OK;
    t->left[2] = true;
    for (size_t i = 0; i < AS_COUNT(topics) && status == ASSAY_OK; i++) {
        lister l = {.cli = cli, .topic = topics[i].name, .columns = topics[i].columns, .only_count = true};
        bool   needs = !strcmp(topics[i].name, "params"), each = !strcmp(topics[i].name, "options");
        status = needs ? ASSAY_OK : topics[i].list(&l);
        as_brief_row *row = as_brief_row_add(&b, t, needs ? "params MODEL" : topics[i].name);
        row->cells[1] = needs ? "" : as_brief_say(&b, "%d", l.n_rows);
        row->cells[2] = needs  ? "what a model takes: assay list params mlp-small"
                        : each ? "every option of every verb"
                               : as_brief_say(&b, "%s", l.first);
    }
    as_brief_hint_add(&b, "assay list models", "one of them");
    as_brief_hint_add(&b, "--all", "everything");
    as_brief_hint_add(&b, "--json FILE|-", "as data");
    if (status == ASSAY_OK)
        return as_cli_brief(cli, &o, &b);
    as_arena_drop(&b.arena);
    return status;
}

static assay_status run(as_cli *cli)
{
    const struct topic *only = NULL;
    const char         *path = as_options_text(cli->options, "json");
    for (size_t i = 0; cli->n_args && i < AS_COUNT(topics); i++)
        if (!strcmp(topics[i].name, cli->args[0]))
            only = &topics[i];
    if (cli->n_args && !only) {
        const char *words[AS_COUNT(topics) + 1] = {NULL};
        for (size_t i = 0; i < AS_COUNT(topics); i++)
            words[i] = topics[i].name;
        const char *near = as_nearest(cli->args[0], words);
        return as_fail(
            cli->env, ASSAY_NOT_FOUND,
            "nothing to list under '%s'%s%s%s: ops, models, params MODEL, devices, kernels, sensors, verbs, options or aliases",
            cli->args[0], near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    }
    if (as_options_is_set(cli->options, "onnx") && (!only || strcmp(only->name, "ops")))
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--onnx goes with list ops: assay list ops --onnx FILE");
    if (cli->n_args > 1 && strcmp(only->name, "params"))
        return as_fail(cli->env, ASSAY_BAD_INPUT, "'%s' is one argument too many for list %s", cli->args[1], only->name);
    if (as_options_flag(cli->options, "all") && only)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--all goes with list alone: list %s has no limit", only->name);
    if (!path && !only && !as_options_flag(cli->options, "all"))
        return list_basic(cli);
    if (!path)
        return list_all(cli, only, NULL);
    as_out out;
    AS_TRY(as_out_open(cli->env, path, &out));
    as_json w;
    as_json_start(&w, out.file, true);
    as_json_object(&w);
    as_json_key_text(&w, "schema", "assay.list/1");
    assay_status status = list_all(cli, only, &w);
    if (status != ASSAY_OK) {
        as_out_abandon(&out);
        return status;
    }
    as_json_object_end(&w);
    as_json_finish(&w);
    return as_out_commit(cli->env, &out);
}

const as_verb as_cmd_list = {
    .name = "list",
    .summary = "models, operators, devices, kernels, sensors, options, other names",
    .usage = "[ops|models|params MODEL|devices|kernels|sensors|verbs|options|aliases] [options]",
    .details =
        "Without a topic it counts what there is; --all lists all of it.  `list params MODEL` shows the keys that a built-in network takes, and its\n"
        "inputs and parameters by name.",
    .example = "assay list params mlp:sizes=784x64x10",
    .group = AS_VERBS_HOUSE,
    .order = 1,
    .takes = AS_ARG_WORD,
    .words = "ops models params devices kernels sensors verbs options aliases",
    .min_args = 0,
    .max_args = 2,
    .options = AS_OPTIONS("onnx", "all", "json"),
    .texts = AS_TEXTS({.key = "onnx", .help = "list ops: the operators of this ONNX file that are not supported"}),
    .run = run,
};
