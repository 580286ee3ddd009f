/* call_list.c - what is in here, as calls: operators, models, devices, kernels, sensors, other names; and the parts of this build. */
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/trace/profile_keys.h"
#include "backend/backend.h"
#include "backend/cpu/kernel.h"
#include "base/file.h"
#include "base/options.h"
#include "base/plugs.h"
#include "base/text.h"
#include "lab/require.h"
#include "model/model.h"
#include "model/onnx/onnx.h"
#include "report/report.h"
#include "sensor/sensor.h"

enum { MAX_COLUMNS = 6 };

/* One list in the making: a table of texts. */
typedef struct lister {
    assay_env     *env;
    assay_facts   *f;
    as_fact_group *g;
    as_table      *t;
    const char    *of; /* the model or the file that was named; NULL: none */
} lister;

static void row(const lister *l, const char *const *cells)
{
    as_cell all[MAX_COLUMNS];
    for (int i = 0; i < l->t->n_columns; i++)
        all[i] = (as_cell){.text = cells[i] ? cells[i] : ""};
    as_facts_row(l->f, l->t, all);
}

/* Whether every size of the inputs is known without a --dim. */
static bool sizes_are_known(const assay_model *m)
{
    for (int i = 0; i < m->n_inputs; i++) {
        const as_dims *dims = &m->values[m->inputs[i]].dims;
        for (int k = 0; k < dims->rank; k++)
            if (dims->dim[k].symbol)
                return false;
    }
    return true;
}

/* Operators that all are known may still be used in a way that is not: the checks of `run`, as far as no size is missing. */
static bool opens(const lister *l, const char *path)
{
    assay_model *model = NULL;
    as_arena     arena = {0};
    as_graph     graph;
    assay_status status = assay_model_load(l->env, path, NULL, &model);
    if (status == ASSAY_OK && sizes_are_known(model))
        status = as_graph_bind(l->env, model, NULL, 0, NULL, 0, 0, &arena, &graph);
    as_arena_drop(&arena);
    assay_model_free(model);
    return status == ASSAY_OK;
}

/* What of an ONNX file is not supported: all of it at once, not the first. */
static assay_status list_missing(const lister *l, const char *path)
{
    as_arena               arena = {0};
    const as_onnx_missing *missing = NULL;
    int                    n = 0, n_nodes = 0, n_bad = 0;
    assay_status           status = as_onnx_unsupported(l->env, path, &arena, &missing, &n, &n_nodes);
    for (int i = 0; status == ASSAY_OK && i < n; i++) {
        char nodes[32];
        snprintf(nodes, sizeof nodes, "%d of %d nodes", missing[i].n_nodes, n_nodes);
        row(l, (const char *[]){missing[i].op, nodes, *missing[i].domain ? missing[i].domain : "ai.onnx",
                                missing[i].when ? missing[i].when : "not supported"});
        n_bad += !missing[i].when;
    }
    if (status == ASSAY_OK && !n_bad && !opens(l, path)) {
        row(l, (const char *[]){"run", "would refuse it", "", assay_message(l->env)});
        n_bad++;
    }
    if (status == ASSAY_OK) {
        as_facts_add(l->f, l->g, "ops.nodes", "nodes of the file", as_metric_counted((uint64_t)n_nodes, "1", "the file"));
        as_facts_add(l->f, l->g, "ops.unsupported", "what is never supported", as_metric_counted((uint64_t)n_bad, "1", "the file"));
    }
    as_arena_drop(&arena);
    return status;
}

static assay_status list_ops(const lister *l)
{
    if (l->of)
        return list_missing(l, l->of);
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

static assay_status list_models(const lister *l)
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

/* Requirement profiles that are known by name. */
static assay_status list_profiles(const lister *l)
{
    for (const as_profile_file *p = as_profile_files; p->name; p++) {
        as_requirements *r;
        char             preset[64] = "no preset";
        AS_TRY(as_requirements_load(l->env, p->name, &r));
        if (r->preset.is_set)
            snprintf(preset, sizeof preset, "batch %lld", (long long)r->preset.batch);
        row(l, (const char *[]){p->name, r->level, preset, r->text});
        as_requirements_free(r);
    }
    return ASSAY_OK;
}

/* The keys of profiling guides. */
static assay_status list_keys(const lister *l)
{
    for (size_t i = 0; i < as_n_profile_keys; i++) {
        const as_profile_key *k = &as_profile_keys[i];
        char                  name[64];
        snprintf(name, sizeof name, "%s.%s", k->section, k->key);
        row(l, (const char *[]){name, k->unit, as_key_class_text(k->class), k->how});
    }
    return ASSAY_OK;
}

/* The parameters that a zoo name takes, then the tensors that it has. */
static assay_status list_params(const lister *l)
{
    if (!l->of)
        return as_fail(l->env, ASSAY_BAD_INPUT, "list params needs a model: assay list params mlp");
    const char  *spec = l->of;
    assay_model *model = NULL;
    for (int i = 0; as_zoo_table[i]; i++) {
        size_t n = strlen(as_zoo_table[i]->name);
        if (strncmp(spec, as_zoo_table[i]->name, n) || (spec[n] && spec[n] != ':') || !as_zoo_table[i]->params)
            continue;
        for (const as_zoo_param *p = as_zoo_table[i]->params; p->key; p++)
            row(l, (const char *[]){p->key, "key", p->standard, p->help});
    }
    AS_TRY(assay_model_load(l->env, spec, NULL, &model));
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

static assay_status list_devices(const lister *l)
{
    for (int i = 0; as_be_table[i]; i++)
        as_be_table[i]->list(l->env, device_found, (void *)(uintptr_t)l);
    return ASSAY_OK;
}

static assay_status list_kernels(const lister *l)
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

static assay_status list_sensors(const lister *l)
{
    as_sensors  *sensors = NULL;
    assay_trace *trace = NULL;
    assay_status status = as_sensors_open(l->env, "all", &sensors);
    if (status == ASSAY_OK)
        status = as_trace_new(l->env, &trace);
    if (status == ASSAY_OK)
        status = as_sensors_describe(l->env, sensors, trace);
    for (size_t i = 0; status == ASSAY_OK && i < trace->n_sensors; i++) {
        const as_trace_sensor *s = &trace->sensors[i];
        row(l, (const char *[]){s->name, s->unit, s->reason ? "unavailable" : "available", s->reason ? s->reason : s->source});
    }
    assay_trace_free(trace);
    as_sensors_close(sensors);
    return status;
}

/* Short forms and the names that other tools and guides use. */
static assay_status list_aliases(const lister *l)
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

static const struct topic {
    const char *name, *label, *columns[MAX_COLUMNS + 1];
    assay_status (*list)(const lister *l);
    bool takes_of;
} topics[] = {
    {"ops", "Operators", {"name|name", "inputs|inputs", "cases|cases", "gradient|gradient"}, list_ops, true},
    {"models", "Models", {"name|name", "help|help"}, list_models, false},
    {"params", "Parameters of a model", {"name|name", "what|what", "standard|standard", "help|help"}, list_params, true},
    {"devices", "Devices", {"name|name", "state|state", "text|text"}, list_devices, false},
    {"kernels", "Kernels", {"name|name", "op|op", "rank|rank", "why|why", "isa|isa"}, list_kernels, false},
    {"sensors", "Sensors", {"name|name", "unit|unit", "state|state", "source|source"}, list_sensors, false},
    {"profiles", "Requirement profiles", {"name|name", "level|level", "preset|preset", "text|text"}, list_profiles, false},
    {"keys", "Profile keys", {"name|name", "unit|unit", "at best|at best", "how|how"}, list_keys, false},
    {"aliases", "Other names", {"name|name", "stands for|stands for", "kind|kind"}, list_aliases, false},
};

static const struct topic *topic_find(const char *name)
{
    for (size_t i = 0; name && i < AS_COUNT(topics); i++)
        if (!strcmp(topics[i].name, name))
            return &topics[i];
    return NULL;
}

assay_status assay_list(assay_env *env, const char *topic, const char *of, assay_facts **out)
{
    const struct topic *what = topic_find(topic);
    if (!what)
        return as_fail(env, ASSAY_NOT_FOUND,
                       "nothing to list under '%s': ops, models, params, devices, kernels, sensors or aliases", topic ? topic : "");
    if (of && !what->takes_of)
        return as_fail(env, ASSAY_BAD_INPUT, "'%s' is one argument too many for list %s", of, topic);
    lister l = {.env = env, .f = as_facts_new(env), .of = of};
    if (!l.f)
        return as_fail(env, ASSAY_NO_MEMORY, "list: not enough memory for the list of %s", topic);
    l.f->title = as_facts_keep(l.f, what->label);
    l.g = as_facts_group(l.f, what->name, what->label);
    l.t = as_facts_table(l.f, l.g, what->name, what->label, what->columns);
    assay_status status = l.t ? what->list(&l) : ASSAY_OK; /* no table: the facts know why */
    if (status == ASSAY_OK)
        return as_facts_done(l.f, out);
    assay_facts_free(l.f);
    return status;
}

/* --- The parts of this build ------------------------------------------------------------------------------- */

static void part(assay_facts *f, as_table *t, const char *kind, const char *name)
{
    as_facts_row(f, t, (as_cell[]){{.text = kind}, {.text = name}});
}

static void parts_add(assay_facts *f, as_table *t)
{
    for (int i = 0; as_be_table[i]; i++)
        part(f, t, "device", as_be_table[i]->name);
    for (int i = 0; as_op_table[i]; i++)
        part(f, t, "op", as_op_table[i]->name);
    for (int i = 0; as_k_table[i]; i++)
        part(f, t, "kernel", as_k_table[i]->name);
    for (int i = 0; as_zoo_table[i]; i++)
        part(f, t, "model", as_zoo_table[i]->name);
    for (int i = 0; as_fmt_table[i]; i++)
        part(f, t, "format", as_fmt_table[i]->suffix);
    for (int i = 0; as_sn_table[i]; i++)
        part(f, t, "sensor", as_sn_table[i]->name);
    for (int i = 0; as_an_table[i]; i++)
        part(f, t, "analysis", as_an_table[i]->name);
    for (int i = 0; as_sec_table[i]; i++)
        part(f, t, "section", as_sec_table[i]->name);
    for (int i = 0; as_wr_table[i]; i++)
        part(f, t, "writer", as_wr_table[i]->name);
}

assay_status assay_parts(assay_env *env, assay_facts **out)
{
    static const char *const        build[] = {"version|version", "build|built with", NULL},
                             *const in[] = {"kind|kind", "name|name", NULL}, *const left_out[] = {"plug|part", "why|why", NULL};
    assay_facts *f = as_facts_new(env);
    if (!f)
        return as_fail(env, ASSAY_NO_MEMORY, "version: not enough memory for the list of parts");
    as_fact_group *g = as_facts_group(f, "parts", "Parts of this build");
    f->title = as_facts_keep(f, "assay " ASSAY_VERSION);
    as_facts_row(f, as_facts_table(f, g, "build", "The build", build),
                 (as_cell[]){{.text = ASSAY_VERSION}, {.text = as_build_text}});
    parts_add(f, as_facts_table(f, g, "in", "Built in", in));
    as_table *t = as_facts_table(f, g, "left_out", "Left out", left_out);
    for (const as_left_out *l = as_left_out_table; l->plug; l++)
        as_facts_row(f, t, (as_cell[]){{.text = l->plug}, {.text = l->why}});
    return as_facts_done(f, out);
}
