/* model.c - frees models; functions for every model. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

void assay_model_free(assay_model *model)
{
    if (!model)
        return;
    for (as_model_link *link = model->bodies; link; link = link->next)
        assay_model_free(link->model);
    for (as_model_link *link = model->lenders; link; link = link->next)
        assay_model_free(link->model);
    as_safetensors_drop(&model->weights);
    for (as_map_link *link = model->maps; link; link = link->next)
        as_map_close(&link->map);
    as_arena_drop(&model->arena);
    free(model);
}

bool as_model_file_ok(const char *name)
{
    if (!*name || *name == '/' || strchr(name, '\\') || name[1] == ':')
        return false;
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (strcspn(part, "/") == 2 && !strncmp(part, "..", 2))
            return false;
    return true;
}

bool as_model_file_add(assay_model *model, const char *name)
{
    as_file_link *link = AS_TAKE(&model->arena, as_file_link, 1);
    if (!link || !(link->name = as_arena_text(&model->arena, name)))
        return false;
    link->next = model->files;
    model->files = link;
    return true;
}

static uint64_t param_sum(const assay_model *model, bool bytes)
{
    uint64_t sum = 0;
    for (const as_model_link *link = model->bodies; link; link = link->next)
        sum += param_sum(link->model, bytes);
    for (int i = 0; i < model->n_values; i++) {
        const as_value *v = &model->values[i];
        uint64_t        count = 1;
        if (v->role != AS_ROLE_PARAM)
            continue;
        for (int k = 0; k < v->dims.rank; k++)
            count *= (uint64_t)v->dims.dim[k].size;
        sum += bytes ? count * as_dtype_bytes(v->dtype) : count;
    }
    return sum;
}

uint64_t as_model_param_count(const assay_model *model) { return param_sum(model, false); }

uint64_t as_model_param_bytes(const assay_model *model) { return param_sum(model, true); }

int as_model_value_find(const assay_model *model, const char *name)
{
    for (int i = 0; i < model->n_values; i++)
        if (!strcmp(model->values[i].name, name))
            return i;
    return -1;
}
