/* tell_train.c - the plan of a training step: memory by what it is for, before anything is allocated, and what would change it. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "lab/tell.h"

static double flops_of(const assay_plan *plan)
{
    double sum = 0;
    for (int s = plan->n_prologue; s < plan->n_steps; s++)
        sum += (double)plan->steps[s].cost.flops;
    return sum;
}

/* --- What would change it ---------------------------------------------------------------------------------- */

/* Plans another way to do the same step; one that cannot be planned is left out. */
static assay_status option_add(assay_env *env, const assay_model *model, const as_train_setup *setup,
                               const as_plan_options *options, const char *name, bool asked, as_train_told *told)
{
    as_train_graph *graph = NULL;
    assay_plan     *plan = NULL;
    as_train_memory memory;
    if (told->n_options == AS_MAX_TRAIN_OPTIONS || as_train_plan_new(env, model, setup, options, &graph, &plan) != ASSAY_OK) {
        env->message[0] = '\0';
        return ASSAY_OK;
    }
    assay_status status = as_train_memory_count(env, graph, plan, &memory);
    if (status == ASSAY_OK) {
        as_train_option *o = &told->options[told->n_options++];
        *o = (as_train_option){.asked = asked,
                               .total_bytes = memory.total,
                               .activation_bytes = memory.apart[AS_KIND_ACTIVATIONS],
                               .flops = flops_of(plan),
                               .n_segments = graph->recompute.n_segments};
        snprintf(o->name, sizeof o->name, "%s", name);
    }
    assay_plan_free(plan);
    as_train_graph_free(graph);
    return status;
}

static assay_status options_add(assay_env *env, const assay_model *model, const as_train_setup *setup,
                                const as_plan_options *options, as_train_told *told)
{
    static const int segments[] = {0, 2, 4, -1};
    static const struct {
        as_train_precision precision;
        const char        *name;
    } precisions[] = {{AS_TRAIN_F16, "f16-storage"}, {AS_TRAIN_BF16, "bf16-storage"}};
    bool listed = false;
    char name[32];
    for (size_t i = 0; i < AS_COUNT(segments); i++) {
        as_train_setup other = *setup;
        other.recompute = segments[i];
        listed |= segments[i] == setup->recompute;
        if (segments[i] < 0)
            snprintf(name, sizeof name, "recompute auto");
        else
            snprintf(name, sizeof name, segments[i] ? "recompute %d" : "everything kept", segments[i]);
        AS_TRY(option_add(env, model, &other, options, name, segments[i] == setup->recompute, told));
    }
    if (!listed) {
        snprintf(name, sizeof name, "recompute %d", setup->recompute);
        AS_TRY(option_add(env, model, setup, options, name, true, told));
    }
    for (size_t i = 0; i < AS_COUNT(precisions) && setup->precision == AS_TRAIN_F32; i++) {
        as_train_setup other = *setup;
        other.precision = precisions[i].precision;
        AS_TRY(option_add(env, model, &other, options, precisions[i].name, false, told));
    }
    return ASSAY_OK;
}

assay_status as_train_told_make(assay_env *env, const assay_model *model, const as_train_setup *setup,
                                const as_plan_options *options, const as_train_graph *graph, const assay_plan *plan,
                                as_train_told *out)
{
    *out = (as_train_told){.graph = graph, .plan = plan, .flops = flops_of(plan)};
    AS_TRY(as_train_memory_count(env, graph, plan, &out->memory));
    return options_add(env, model, setup, options, out);
}

/* --- On one screen ------------------------------------------------------------------------------------------- */

static const char *amount(as_brief *b, double value, const char *unit)
{
    char buf[64];
    return as_brief_say(b, "%s", as_show(buf, sizeof buf, value, unit));
}

static const char *exact(as_brief *b, uint64_t bytes) { return as_brief_say(b, "%llu", (unsigned long long)bytes); }

static void kinds_add(const as_train_told *t, as_brief *b)
{
    static const char *const columns[] = {"Memory is for", "bytes", "amount", "unshared", "share", NULL};
    as_brief_table          *table = as_brief_table_add(b, columns);
    table->bars = true;
    for (int i = 0; i < AS_N_KINDS; i++) {
        if (!t->memory.held[i] && !t->memory.apart[i])
            continue;
        as_brief_row *row = as_brief_row_add(b, table, as_train_kind_text((as_train_kind)i));
        row->cells[1] = exact(b, t->memory.held[i]);
        row->cells[2] = amount(b, (double)t->memory.held[i], "byte");
        row->cells[3] = i == AS_KIND_GAPS ? "-" : amount(b, (double)t->memory.apart[i], "byte");
        row->cells[4] = as_brief_percent(b, (double)t->memory.held[i] / (double)t->memory.total);
        row->bar = (double)t->memory.held[i] / (double)t->memory.total;
    }
}

static void options_table(const as_train_told *t, as_brief *b)
{
    static const char *const columns[] = {"Other ways", "memory", "change", "work", "change", NULL};
    const as_train_option   *own = NULL;
    for (int i = 0; i < t->n_options; i++)
        own = t->options[i].asked ? &t->options[i] : own;
    as_brief_table *table = own && t->n_options > 1 ? as_brief_table_add(b, columns) : NULL;
    for (int i = 0; table && i < t->n_options; i++) {
        const as_train_option *o = &t->options[i];
        const char            *name =
            o->n_segments > 1 && strstr(o->name, "auto") ? as_brief_say(b, "%s (%d)", o->name, o->n_segments) : o->name;
        as_brief_row *row = as_brief_row_add(b, table, o == own ? as_brief_say(b, "%s, as planned", name) : name);
        row->cells[1] = amount(b, (double)o->total_bytes, "byte");
        row->cells[2] = o == own ? "" : as_brief_say(b, "%+.0f %%", 100 * ((double)o->total_bytes / (double)own->total_bytes - 1));
        row->cells[3] = amount(b, o->flops, "flop");
        row->cells[4] = o == own ? "" : as_brief_say(b, "%+.0f %%", 100 * (o->flops / own->flops - 1));
    }
}

void as_train_brief(const as_train_told *t, as_brief *b)
{
    const as_train_graph *g = t->graph;
    *b = (as_brief){.settings = "", .level = AS_LEVEL_NOTE};
    b->title = as_brief_say(b, "%s, one training step", t->plan->model->name);
    b->settings = as_plan_say(t->plan, b);
    as_brief_number_add(b, "Memory", NULL, amount(b, (double)t->memory.total, "byte"),
                        as_brief_say(b, "%llu bytes, known before anything is allocated", (unsigned long long)t->memory.total));
    as_brief_number_add(b, "Learns", NULL, as_brief_say(b, "%lld", (long long)g->n_trained),
                        as_brief_say(b, "parameters; loss %s; %s in the model are read as they are", g->loss,
                                     amount(b, (double)t->memory.frozen, "byte")));
    as_brief_number_add(b, "Work", NULL, amount(b, t->flops, "flop"),
                        as_brief_say(b, "per step, in %d steps of the plan", t->plan->n_steps - t->plan->n_prologue));
    kinds_add(t, b);
    options_table(t, b);
    if (g->recompute.n_segments > 1)
        as_brief_text_add(b, as_brief_say(b, "%d nodes are computed again: %s per step.", g->recompute.n_nodes,
                                          amount(b, (double)g->recompute.flops, "flop")));
    if (g->precision.n_rows)
        as_brief_text_add(b, as_brief_say(b, "%d results are stored in 16 bits between the passes: %s less, if none shared memory.",
                                          g->precision.n_rows, amount(b, (double)g->precision.saved_bytes, "byte")));
    as_brief_hint_add(b, "--report detailed", "every step and buffer");
    as_brief_hint_add(b, "assay profile MODEL --train", "measure it");
}

void as_train_print(const as_train_told *t, FILE *file)
{
    fprintf(file, "\nMemory of a training step\n");
    for (int i = 0; i < AS_N_KINDS; i++)
        fprintf(file, "  %-16s %14llu bytes   unshared %14llu\n", as_train_kind_text((as_train_kind)i),
                (unsigned long long)t->memory.held[i], (unsigned long long)t->memory.apart[i]);
    fprintf(file, "  %-16s %14llu bytes\n", "total", (unsigned long long)t->memory.total);
    if (t->graph->precision.n_rows)
        fprintf(file, "\nResults stored in 16 bits between the passes\n");
    for (int i = 0; i < t->graph->precision.n_rows; i++) {
        const as_precision_row *r = &t->graph->precision.rows[i];
        fprintf(file, "  %-24.24s %-24.24s %12llu bytes less, for %d casts\n", r->layer, r->value,
                (unsigned long long)r->elements * 2, r->n_casts);
    }
}

/* --- As JSON --------------------------------------------------------------------------------------------------- */

static void bytes_write(as_json *w, const char *key, const uint64_t *bytes)
{
    as_json_key(w, key);
    as_json_object(w);
    for (int i = 0; i < AS_N_KINDS; i++)
        as_json_key_u64(w, as_train_kind_text((as_train_kind)i), bytes[i]);
    as_json_object_end(w);
}

static void options_write(as_json *w, const as_train_told *t)
{
    as_json_key(w, "options");
    as_json_array(w);
    for (int i = 0; i < t->n_options; i++) {
        const as_train_option *o = &t->options[i];
        as_json_object(w);
        as_json_key_text(w, "name", o->name);
        as_json_key_bool(w, "asked", o->asked);
        as_json_key_u64(w, "total_bytes", o->total_bytes);
        as_json_key_u64(w, "activation_bytes", o->activation_bytes);
        as_json_key_f64(w, "flops", o->flops);
        as_json_key_i64(w, "segments", o->n_segments > 1 ? o->n_segments : 1);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static void stored_write(as_json *w, const as_precision *p)
{
    as_json_key(w, "stored_in_16_bits");
    as_json_array(w);
    for (int i = 0; i < p->n_rows; i++) {
        as_json_object(w);
        as_json_key_text(w, "layer", p->rows[i].layer);
        as_json_key_text(w, "value", p->rows[i].value);
        as_json_key_u64(w, "bytes_saved", p->rows[i].elements * 2);
        as_json_key_i64(w, "casts", p->rows[i].n_casts);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static void training_write(as_json *w, const void *arg)
{
    const as_train_told *t = arg;
    as_json_key(w, "training");
    as_json_object(w);
    as_json_key_text(w, "loss", t->graph->loss);
    as_json_key_i64(w, "parameters", t->graph->n_trained);
    as_json_key_u64(w, "total_bytes", t->memory.total);
    as_json_key_u64(w, "frozen_bytes", t->memory.frozen);
    bytes_write(w, "bytes", t->memory.held);
    bytes_write(w, "unshared_bytes", t->memory.apart);
    as_json_key(w, "recompute");
    as_json_object(w);
    as_json_key_i64(w, "segments", t->graph->recompute.n_segments > 1 ? t->graph->recompute.n_segments : 1);
    as_json_key_i64(w, "nodes", t->graph->recompute.n_nodes);
    as_json_key_u64(w, "flops", t->graph->recompute.flops);
    as_json_object_end(w);
    stored_write(w, &t->graph->precision);
    options_write(w, t);
    as_json_object_end(w);
}

assay_status as_train_json(assay_env *env, const as_train_told *told, const char *path)
{
    as_out out;
    AS_TRY(as_out_open(env, path, &out));
    assay_status status = as_plan_json_with(env, told->plan, training_write, told, out.file);
    if (status == ASSAY_OK)
        return as_out_commit(env, &out);
    as_out_abandon(&out);
    return status;
}
