/* cmd_list.c - what is in here: ops, models, parameters, devices, kernels, sensors, verbs, options. */
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/cpu/kernel.h"
#include "analysis/trace/profile_keys.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/show.h"
#include "cli/screen.h"
#include "lab/require.h"
#include "model/onnx/onnx.h"
#include "sensor/sensor.h"

enum { MAX_COLUMNS = 6 };

/* Rows go to text or JSON alike. */
typedef struct lister {
    as_cli            *cli;
    const char *const *columns; /* NULL-terminated */
    as_json           *json;    /* NULL: text */
    int                n_rows;
    bool               only_count; /* nothing is written: rows are counted, and the first names kept */
    char               first[128]; /* with only_count: the first names */
} lister;

static void row_count(lister *l, const char *name)
{
    size_t used = strlen(l->first);
    if (used + strlen(name) + 2 < sizeof l->first)
        snprintf(l->first + used, sizeof l->first - used, "%s%s", used ? " " : "", name);
}

static const int widths[MAX_COLUMNS] = {24, 12, 12, 30, 30, 20};

/* For a terminal: lines are broken at words and go on below the second column. */
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

/* What of an ONNX file is not supported: all of it at once, not the first. */
static assay_status list_missing(lister *l, const char *path)
{
    as_arena               arena = {0};
    const as_onnx_missing *missing = NULL;
    int                    n = 0, n_nodes = 0, n_bad = 0;
    assay_status           status = as_onnx_unsupported(l->cli->env, path, &arena, &missing, &n, &n_nodes);
    for (int i = 0; status == ASSAY_OK && i < n; i++) {
        char nodes[32];
        snprintf(nodes, sizeof nodes, "%d of %d nodes", missing[i].n_nodes, n_nodes);
        row(l, (const char *[]){missing[i].op, nodes, *missing[i].domain ? missing[i].domain : "ai.onnx",
                                missing[i].when ? missing[i].when : "not supported"});
        n_bad += !missing[i].when;
    }
    if (status == ASSAY_OK && n_bad == 0 && !l->json)
        printf("all %d nodes of %s are supported\n", n_nodes, path);
    as_arena_drop(&arena);
    return status;
}

static assay_status list_ops(lister *l)
{
    const char *onnx = as_options_text(l->cli->options, "onnx");
    if (onnx)
        return list_missing(l, onnx);
    for (int i = 0; as_op_table[i]; i++) {
        const as_op *op = as_op_table[i];
        char         inputs[32], cases[32];
        if (op->min_in == op->max_in)
            snprintf(inputs, sizeof inputs, "%d in", op->min_in);
        else
            snprintf(inputs, sizeof inputs, "%d to %d in", op->min_in, op->max_in);
        snprintf(cases, sizeof cases, "%zu cases", op->n_cases);
        row(l, (const char *[]){op->name, inputs, cases, op->grad ? "with gradient" : "no gradient"});
    }
    return ASSAY_OK;
}

static assay_status list_models(lister *l)
{
    for (int i = 0; as_zoo_table[i]; i++)
        row(l, (const char *[]){as_zoo_table[i]->name, as_zoo_table[i]->help});
    for (int i = 0; as_fmt_table[i]; i++) {
        char name[40];
        snprintf(name, sizeof name, "FILE%s", as_fmt_table[i]->suffix);
        row(l, (const char *[]){name, as_fmt_table[i]->help});
    }
    return ASSAY_OK;
}

/* The parameters that a zoo name takes, then the tensors that it has. */
static assay_status list_params(lister *l)
{
    if (l->cli->n_args < 2)
        return as_fail(l->cli->env, ASSAY_BAD_INPUT, "list params needs a model: assay list params mlp");
    const char  *spec = l->cli->args[1];
    assay_model *model = NULL;
    for (int i = 0; as_zoo_table[i]; i++) {
        size_t n = strlen(as_zoo_table[i]->name);
        if (strncmp(spec, as_zoo_table[i]->name, n) || (spec[n] && spec[n] != ':') || !as_zoo_table[i]->params)
            continue;
        for (const as_zoo_param *p = as_zoo_table[i]->params; p->key; p++)
            row(l, (const char *[]){p->key, "key", p->standard, p->help});
    }
    AS_TRY(assay_model_load(l->cli->env, spec, NULL, &model));
    for (int i = 0; i < model->n_values; i++) {
        const as_value *v = &model->values[i];
        char            dims[160] = "[", bytes[32] = "";
        if (v->role != AS_ROLE_PARAM && v->role != AS_ROLE_INPUT)
            continue;
        int64_t count = 1;
        for (int k = 0; k < v->dims.rank; k++) {
            size_t used = strlen(dims);
            if (v->dims.dim[k].symbol)
                snprintf(dims + used, sizeof dims - used, "%s%s", k ? "," : "", v->dims.dim[k].symbol);
            else
                snprintf(dims + used, sizeof dims - used, "%s%lld", k ? "," : "", (long long)v->dims.dim[k].size);
            count *= v->dims.dim[k].symbol ? 1 : v->dims.dim[k].size;
        }
        strncat(dims, "]", sizeof dims - strlen(dims) - 1);
        if (v->role == AS_ROLE_PARAM)
            snprintf(bytes, sizeof bytes, "%lld bytes", (long long)(count * (int64_t)as_dtype_bytes(v->dtype)));
        row(l, (const char *[]){v->name, v->role == AS_ROLE_PARAM ? "param" : "input", as_dtype_name(v->dtype),
                                *bytes ? strcat(strcat(dims, "  "), bytes) : dims});
    }
    assay_model_free(model);
    return ASSAY_OK;
}

static void device_found(void *arg, const char *name, const char *text, const as_caps *caps, const char *reason)
{
    (void)caps;
    row(arg, (const char *[]){name, reason ? "not usable" : "usable", reason ? reason : text});
}

static assay_status list_devices(lister *l)
{
    for (int i = 0; as_be_table[i]; i++)
        as_be_table[i]->list(l->cli->env, device_found, l);
    return ASSAY_OK;
}

static assay_status list_kernels(lister *l)
{
    unsigned here = as_isa_here();
    for (int i = 0; as_k_table[i]; i++) {
        const as_kernel *k = as_k_table[i];
        char             isa[64], rank[16];
        snprintf(rank, sizeof rank, "rank %d", k->rank);
        as_isa_show(k->isa, isa, sizeof isa);
        row(l, (const char *[]){k->name, k->op, rank, (k->isa & here) == k->isa ? k->why : "not on this CPU", isa});
    }
    return ASSAY_OK;
}

static assay_status list_sensors(lister *l)
{
    as_sensors  *sensors = NULL;
    assay_trace *trace = NULL;
    assay_status status = as_sensors_open(l->cli->env, "all", &sensors);
    if (status == ASSAY_OK)
        status = as_trace_new(l->cli->env, &trace);
    if (status == ASSAY_OK)
        status = as_sensors_describe(l->cli->env, sensors, trace);
    for (size_t i = 0; status == ASSAY_OK && i < trace->n_sensors; i++) {
        const as_trace_sensor *s = &trace->sensors[i];
        row(l, (const char *[]){s->name, s->unit, s->reason ? "unavailable" : "available", s->reason ? s->reason : s->source});
    }
    assay_trace_free(trace);
    as_sensors_close(sensors);
    return status;
}

static assay_status list_verbs(lister *l)
{
    for (int i = 0; as_cmd_table[i]; i++)
        row(l, (const char *[]){as_cmd_table[i]->name, as_cmd_table[i]->summary});
    return ASSAY_OK;
}

/* One row per verb and option: the inert-option test walks it. */
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

/* Short forms and the names that other tools and guides use. */
static assay_status list_aliases(lister *l)
{
    for (const as_option_def *def = as_option_table; def->key; def++) {
        const char *list = def->aliases ? def->aliases : "", *word;
        char        name[64], full[64];
        size_t      n;
        snprintf(full, sizeof full, "--%s%s%s", def->key, def->letter && def->stands ? " " : "", def->stands ? def->stands : "");
        snprintf(name, sizeof name, "-%c", def->letter);
        if (def->letter)
            row(l, (const char *[]){name, full, "letter"});
        snprintf(full, sizeof full, "--%s", def->key);
        while ((word = as_word_next(&list, &n))) {
            snprintf(name, sizeof name, "--%.*s", (int)n, word);
            row(l, (const char *[]){name, full, "option"});
        }
    }
    for (const as_zoo_alias *a = as_zoo_aliases; a->name; a++)
        row(l, (const char *[]){a->name, a->spec, "workload"});
    row(l, (const char *[]){"gpu", "the first GPU", "device"});
    return ASSAY_OK;
}

/* Requirement profiles that are known by name. */
static assay_status list_profiles(lister *l)
{
    for (const as_profile_file *p = as_profile_files; p->name; p++) {
        as_requirements *r;
        char             preset[64] = "no preset";
        AS_TRY(as_requirements_load(l->cli->env, p->name, &r));
        if (r->preset.is_set)
            snprintf(preset, sizeof preset, "batch %lld", (long long)r->preset.batch);
        row(l, (const char *[]){p->name, r->level, preset, r->text});
        as_requirements_free(r);
    }
    return ASSAY_OK;
}

/* The keys of profiling guides. */
static assay_status list_keys(lister *l)
{
    for (size_t i = 0; i < as_n_profile_keys; i++) {
        const as_profile_key *k = &as_profile_keys[i];
        char                  name[64];
        snprintf(name, sizeof name, "%s.%s", k->section, k->key);
        row(l, (const char *[]){name, k->unit, as_key_class_text(k->class), k->how});
    }
    return ASSAY_OK;
}

static const struct topic {
    const char *name;
    const char *columns[MAX_COLUMNS + 1];
    assay_status (*list)(lister *l);
    bool in_all; /* without a topic, too */
} topics[] = {
    {"ops", {"name", "inputs", "cases", "gradient"}, list_ops, true},
    {"models", {"name", "help"}, list_models, true},
    {"params", {"name", "what", "standard", "help"}, list_params, false},
    {"devices", {"name", "state", "text"}, list_devices, true},
    {"kernels", {"name", "op", "rank", "why", "isa"}, list_kernels, true},
    {"sensors", {"name", "unit", "state", "source"}, list_sensors, true},
    {"profiles", {"name", "level", "preset", "text"}, list_profiles, true},
    {"keys", {"name", "unit", "at best", "how"}, list_keys, true},
    {"verbs", {"name", "summary"}, list_verbs, true},
    {"options", {"verb", "option", "value", "example", "help"}, list_options, false},
    {"aliases", {"name", "stands for", "kind"}, list_aliases, false},
};

static assay_status list_one(as_cli *cli, const struct topic *topic, as_json *json)
{
    lister l = {.cli = cli, .columns = topic->columns, .json = json};
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

/* Without a topic: what there is to be listed. */
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
        lister l = {.cli = cli, .columns = topics[i].columns, .only_count = true};
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
    .summary = "models, operators, devices, kernels, sensors, requirement profiles, keys, options",
    .usage = "[ops|models|params MODEL|devices|kernels|sensors|profiles|keys|verbs|options|aliases] [options]",
    .details =
        "Without a topic it counts what there is; --all lists all of it.  `list params MODEL` shows the keys that a built-in network takes, and its\n"
        "inputs and parameters by name.",
    .example = "assay list params mlp:sizes=784x64x10",
    .group = AS_VERBS_HOUSE,
    .order = 1,
    .takes = AS_ARG_WORD,
    .words = "ops models params devices kernels sensors profiles keys verbs options aliases",
    .min_args = 0,
    .max_args = 2,
    .options = AS_OPTIONS("onnx", "all", "json"),
    .texts = AS_TEXTS({.key = "onnx", .help = "list ops: the operators of this ONNX file that are not supported"}),
    .run = run,
};
