/* json_save.c - writes a model as a JSON model file, all values inline. */
#include <math.h>

#include "base/json.h"
#include "model/json/fmt_json.h"
#include "model/graph/maker.h"

/* JSON has no number for these four; the reader accepts them as texts. */
static void number_write(as_json *w, double x)
{
    if (isnan(x))
        as_json_text(w, "nan");
    else if (isinf(x))
        as_json_text(w, x > 0 ? "inf" : "-inf");
    else if (x == 0.0 && signbit(x))
        as_json_text(w, "-0");
    else
        as_json_f64(w, x);
}

static void shape_write(as_json *w, const as_dims *dims)
{
    as_json_key(w, "shape");
    as_json_array(w);
    for (int i = 0; i < dims->rank; i++)
        if (dims->dim[i].symbol)
            as_json_text(w, dims->dim[i].symbol);
        else
            as_json_i64(w, dims->dim[i].size);
    as_json_array_end(w);
}

static void values_write(as_json *w, const as_view *view)
{
    int64_t count = as_shape_count(&view->shape);
    as_json_key(w, "values");
    as_json_array(w);
    for (int64_t i = 0; i < count; i++)
        if (as_dtype_is_float(view->dtype))
            number_write(w, as_view_get(view, i));
        else
            as_json_i64(w, as_view_get_i64(view, i));
    as_json_array_end(w);
}

static void tensor_write(as_json *w, const as_view *view)
{
    as_dims dims;
    as_dims_of_shape(&view->shape, &dims);
    as_json_object(w);
    as_json_key_text(w, "dtype", as_dtype_name(view->dtype));
    shape_write(w, &dims);
    values_write(w, view);
    as_json_object_end(w);
}

/* All values of one role under their key. */
static void role_write(as_json *w, const assay_model *model, as_role role, const char *key)
{
    as_json_key(w, key);
    as_json_array(w);
    for (int i = 0; i < model->n_values; i++) {
        const as_value *v = &model->values[i];
        if (v->role != role)
            continue;
        as_json_object(w);
        as_json_key_text(w, "name", v->name);
        as_json_key_text(w, "dtype", as_dtype_name(v->dtype));
        shape_write(w, &v->dims);
        if (role != AS_ROLE_INPUT) {
            as_shape shape = as_shape_of_dims(&v->dims);
            as_view  view = as_view_of((void *)(uintptr_t)v->data, v->dtype, &shape);
            values_write(w, &view);
        }
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static void attr_write(as_json *w, const as_attr *a)
{
    as_json_key(w, a->name);
    switch (a->kind) {
    case AS_ATTR_INT: as_json_i64(w, a->i); return;
    case AS_ATTR_FLOAT: number_write(w, a->f); return;
    case AS_ATTR_TEXT: as_json_text(w, a->text); return;
    case AS_ATTR_TENSOR: tensor_write(w, a->tensor); return;
    case AS_ATTR_INTS:
    case AS_ATTR_FLOATS:
        as_json_array(w);
        for (size_t i = 0; i < a->n; i++)
            if (a->kind == AS_ATTR_INTS)
                as_json_i64(w, a->ints[i]);
            else
                number_write(w, a->floats[i]);
        as_json_array_end(w);
        return;
    case AS_ATTR_TEXTS:
        as_json_array(w);
        for (size_t i = 0; i < a->n; i++)
            as_json_text(w, a->texts[i]);
        as_json_array_end(w);
        return;
    }
}

static void names_write(as_json *w, const assay_model *model, const char *key, const int *ids, int n)
{
    as_json_key(w, key);
    as_json_array(w);
    for (int i = 0; i < n; i++)
        as_json_text(w, ids[i] < 0 ? "" : model->values[ids[i]].name);
    as_json_array_end(w);
}

static void node_write(as_json *w, const assay_model *model, const as_node *node)
{
    as_json_object(w);
    as_json_key_text(w, "op", node->op->name);
    as_json_key_text(w, "name", node->name);
    if (*node->module)
        as_json_key_text(w, "module", node->module);
    names_write(w, model, "in", node->in, node->n_in);
    names_write(w, model, "out", node->out, node->n_out);
    if (node->n_attrs) {
        as_json_key(w, "attrs");
        as_json_object(w);
        for (int i = 0; i < node->n_attrs; i++)
            attr_write(w, &node->attrs[i]);
        as_json_object_end(w);
    }
    as_json_object_end(w);
}

assay_status as_model_json_save(assay_env *env, const assay_model *model, const char *path)
{
    as_out  out;
    as_json w;
    for (int i = 0; i < model->n_nodes; i++)
        if (model->nodes[i].n_bodies)
            return as_fail(env, ASSAY_UNSUPPORTED, "model: %s: model %s has the %s '%s', and subgraphs are not written", path,
                           model->name, model->nodes[i].op->name, model->nodes[i].name);
    AS_TRY(as_out_open(env, path, &out));
    as_json_start(&w, out.file, true);
    as_json_object(&w);
    as_json_key_text(&w, "format", AS_MODEL_JSON_FORMAT);
    as_json_key_text(&w, "name", model->own_name);
    role_write(&w, model, AS_ROLE_INPUT, "inputs");
    role_write(&w, model, AS_ROLE_PARAM, "params");
    role_write(&w, model, AS_ROLE_CONSTANT, "constants");
    as_json_key(&w, "nodes");
    as_json_array(&w);
    for (int i = 0; i < model->n_nodes; i++)
        node_write(&w, model, &model->nodes[i]);
    as_json_array_end(&w);
    names_write(&w, model, "outputs", model->outputs, model->n_outputs);
    as_json_object_end(&w);
    as_json_finish(&w);
    return as_out_commit(env, &out);
}
