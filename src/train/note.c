/* note.c - what a trace of a training step says besides its steps. */
#include <stdio.h>
#include <string.h>

#include "train/train.h"

/* The layer that reads the parameter first; NULL: none does. */
static const char *layer_of(const assay_model *model, const char *parameter)
{
    int value = as_model_value_find(model, parameter);
    for (int i = 0; i < model->n_nodes && value >= 0; i++)
        for (int k = 0; k < model->nodes[i].n_in; k++)
            if (model->nodes[i].in[k] == value && model->nodes[i].place.pass == AS_PASS_FORWARD)
                return model->nodes[i].place.layer ? model->nodes[i].place.layer : model->nodes[i].name;
    return NULL;
}

static bool number_add(assay_trace *t, const char *prefix, const char *name, const char *suffix, const char *unit, double value)
{
    char text[640];
    snprintf(text, sizeof text, "%s%s%s", prefix, name, suffix);
    return as_trace_add_metric(t, &(as_trace_metric){.name = text, .unit = unit, .value = value});
}

assay_status as_train_note(assay_env *env, const as_train_graph *graph, const assay_plan *plan, assay_trace *trace)
{
    as_train_memory memory;
    bool            ok = true;
    AS_TRY(as_train_memory_count(env, graph, plan, &memory));
    for (int i = 0; i < AS_N_KINDS && ok; i++)
        ok = number_add(trace, AS_METRIC_TRAIN_MEMORY, as_train_kind_text((as_train_kind)i), "", "byte", (double)memory.held[i]) &&
             number_add(trace, AS_METRIC_TRAIN_MEMORY, as_train_kind_text((as_train_kind)i), "/unshared", "byte",
                        (double)memory.apart[i]);
    for (int i = 0; i < graph->n_parts && ok; i++) {
        const char *layer = layer_of(graph->model, graph->parts[i].name);
        if (layer)
            ok = number_add(trace, AS_METRIC_TRAIN_ELEMENTS, layer, "", "1", (double)graph->parts[i].count);
    }
    return ok ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "train: not enough memory to note what the memory is for");
}
