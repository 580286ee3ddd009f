/* onnx_cell.c - composites (CfC, LTC ...) in our own files.
 *
 * ONNX does not have them, so a file holds their primitives, and metadata that says which composite they are.  Reading puts the
 * composite back, because one kernel for a whole sequence is much faster than the primitives of each step.  The metadata is only a
 * hint: the composite is written as primitives once more, and if one node or constant of the file differs from these, the file
 * stays as it is. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "model/onnx/onnx_read.h"

/* --- Out -------------------------------------------------------------------------------------------- */

static void names_write(as_json *w, const char *key, const char *const *names, int n)
{
    as_json_key(w, key);
    as_json_array(w);
    for (int i = 0; i < n; i++)
        as_json_text(w, names[i]);
    as_json_array_end(w);
}

/* False: metadata does not hold attributes of this kind. */
static bool attr_write(as_json *w, const as_attr *a)
{
    as_json_key(w, a->name);
    switch (a->kind) {
    case AS_ATTR_INT: as_json_i64(w, a->i); return true;
    case AS_ATTR_TEXT: as_json_text(w, a->text); return true;
    case AS_ATTR_INTS:
        as_json_array(w);
        for (size_t i = 0; i < a->n; i++)
            as_json_i64(w, a->ints[i]);
        as_json_array_end(w);
        return true;
    case AS_ATTR_FLOAT: /* as text: a number without a fraction would come back as an integer */
        as_json_object(w);
        as_json_key_f64(w, "float", a->f);
        as_json_object_end(w);
        return true;
    default: as_json_null(w); return false;
    }
}

static void cell_put(as_text *file, const as_model_cell *c, int index)
{
    char   *text = NULL;
    size_t  n = 0;
    FILE   *memory = open_memstream(&text, &n);
    as_json w;
    bool    ok = memory != NULL;
    if (!memory) {
        file->failed = true;
        return;
    }
    as_json_start(&w, memory, false);
    as_json_object(&w);
    as_json_key_text(&w, "op", c->op);
    as_json_key_text(&w, "name", c->name);
    as_json_key_text(&w, "module", c->module);
    names_write(&w, "in", c->in, c->n_in);
    names_write(&w, "out", c->out, c->n_out);
    as_json_key(&w, "attrs");
    as_json_object(&w);
    for (int i = 0; i < c->n_attrs; i++)
        ok = attr_write(&w, &c->attrs[i]) && ok;
    as_json_object_end(&w);
    as_json_object_end(&w);
    as_json_finish(&w);
    if (fclose(memory)) {
        file->failed = true;
    } else if (ok) {
        as_text entry = {0}, key = {0};
        as_text_printf(&key, AS_ONNX_CELL_KEY "%d", index);
        as_pb_put_bytes(&entry, 1, key.data, key.length);
        as_pb_put_bytes(&entry, 2, text, n);
        as_pb_put_bytes(file, 14, entry.data, entry.length);
        file->failed |= entry.failed || key.failed;
        as_text_drop(&entry);
        as_text_drop(&key);
    }
    free(text);
}

void as_onnx_cells_put(as_text *file, const assay_model *model)
{
    for (int i = 0; i < model->n_cells && i < AS_ONNX_MAX_CELLS; i++)
        cell_put(file, &model->cells[i], i);
}

/* --- In --------------------------------------------------------------------------------------------- */

static const char *text_of(as_arena *arena, const json_t *value)
{
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) && strlen(text) <= AS_MAX_NAME_BYTES ? as_arena_text(arena, text)
                                                                                                  : NULL;
}

static bool names_read(as_arena *arena, const json_t *list, int most, const char *const **out, int *n_out)
{
    size_t       n = json_array_size(list);
    const char **names = json_is_array(list) && n <= (size_t)most ? AS_TAKE(arena, const char *, n + 1) : NULL;
    for (size_t i = 0; names && i < n; i++)
        if (!(names[i] = text_of(arena, json_array_get(list, i))))
            return false;
    *out = names;
    *n_out = (int)n;
    return names != NULL;
}

static bool attr_read(as_arena *arena, const char *name, const json_t *value, as_attr *out)
{
    const json_t *number = json_object_get(value, "float");
    *out = (as_attr){.name = as_arena_text(arena, name)};
    if (json_is_integer(value)) {
        out->kind = AS_ATTR_INT;
        out->i = json_integer_value(value);
    } else if (json_is_string(value)) {
        out->kind = AS_ATTR_TEXT;
        out->text = text_of(arena, value);
        return out->name && out->text;
    } else if (json_is_number(number)) {
        out->kind = AS_ATTR_FLOAT;
        out->f = json_number_value(number);
    } else if (json_is_array(value)) {
        int64_t *ints = AS_TAKE(arena, int64_t, json_array_size(value) + 1);
        for (size_t i = 0; ints && i < json_array_size(value); i++) {
            if (!json_is_integer(json_array_get(value, i)))
                return false;
            ints[i] = json_integer_value(json_array_get(value, i));
        }
        out->kind = AS_ATTR_INTS;
        out->ints = ints;
        out->n = json_array_size(value);
        return out->name && ints;
    } else {
        return false;
    }
    return out->name != NULL;
}

static bool attrs_read(as_arena *arena, json_t *list, as_model_cell *out)
{
    size_t      n = json_object_size(list);
    as_attr    *attrs = json_is_object(list) && n <= AS_ONNX_MAX_ATTRS ? AS_TAKE(arena, as_attr, n + 1) : NULL;
    const char *name;
    json_t     *value;
    if (!attrs)
        return false;
    json_object_foreach(list, name, value) if (!attr_read(arena, name, value, &attrs[out->n_attrs++])) return false;
    out->attrs = attrs;
    return true;
}

static bool cell_read(as_arena *arena, json_t *o, as_model_cell *out)
{
    *out = (as_model_cell){.op = text_of(arena, json_object_get(o, "op")),
                           .name = text_of(arena, json_object_get(o, "name")),
                           .module = text_of(arena, json_object_get(o, "module"))};
    const as_op *op = out->op ? as_op_find(out->op) : NULL;
    return op && op->expand && out->name && *out->name && out->module &&
           names_read(arena, json_object_get(o, "in"), AS_MAX_IN, &out->in, &out->n_in) &&
           names_read(arena, json_object_get(o, "out"), AS_MAX_OUT, &out->out, &out->n_out) && out->n_out > 0 &&
           attrs_read(arena, json_object_get(o, "attrs"), out);
}

/* --- The model with composites ------------------------------------------------------------------------ */

static bool is_inside(const as_model_cell *cells, int n, const char *name)
{
    for (int i = 0; i < n; i++) {
        size_t length = strlen(cells[i].name);
        if (!strncmp(name, cells[i].name, length) && name[length] == '/')
            return true;
    }
    return false;
}

static int value_named(as_maker *m, const char *name) { return *name ? as_maker_value_named(m, name) : -1; }

static void given_add(as_maker *m, const as_value *v)
{
    as_shape shape = {0};
    if (v->role == AS_ROLE_INPUT)
        as_maker_input(m, v->name, v->dtype, &v->dims);
    if (v->role == AS_ROLE_PARAM || v->role == AS_ROLE_CONSTANT)
        shape = as_shape_of_dims(&v->dims);
    if (v->role == AS_ROLE_PARAM)
        as_maker_param(m, v->name, v->dtype, &shape, v->data, false);
    if (v->role == AS_ROLE_CONSTANT)
        as_maker_constant_borrow(m, v->name, v->dtype, &shape, v->data);
}

/* Marks the params and constants that something other than the primitives reads. */
static bool *readers_mark(as_arena *arena, const assay_model *model, const as_model_cell *cells, int n)
{
    bool *read = AS_TAKE(arena, bool, model->n_values + 1);
    for (int i = 0; read && i < model->n_nodes; i++)
        for (int k = 0; !is_inside(cells, n, model->nodes[i].name) && k < model->nodes[i].n_in; k++)
            if (model->nodes[i].in[k] >= 0)
                read[model->nodes[i].in[k]] = true;
    for (int i = 0; read && i < model->n_outputs; i++)
        read[model->outputs[i]] = true;
    for (int c = 0; read && c < n; c++)
        for (int k = 0; k < cells[c].n_in; k++) {
            int value = as_model_value_find(model, cells[c].in[k]);
            if (value >= 0)
                read[value] = true;
        }
    return read;
}

static void nodes_add(as_maker *m, const assay_model *model, const as_model_cell *cells, int n_cells)
{
    int         in[AS_MAX_IN];
    const char *out[AS_MAX_OUT];
    for (int i = 0; i < model->n_nodes && !as_maker_failed(m); i++) {
        const as_node *n = &model->nodes[i];
        if (is_inside(cells, n_cells, n->name))
            continue;
        for (int k = 0; k < n->n_in; k++)
            in[k] = n->in[k] < 0 ? -1 : as_maker_value_named(m, model->values[n->in[k]].name);
        for (int k = 0; k < n->n_out; k++)
            out[k] = model->values[n->out[k]].name;
        as_maker_module(m, n->module);
        as_maker_node(m, n->op->name, n->name, in, n->n_in, n->attrs, n->n_attrs, NULL, n->n_out, out);
    }
    for (int i = 0; i < n_cells && !as_maker_failed(m); i++) {
        const as_model_cell *c = &cells[i];
        for (int k = 0; k < c->n_in; k++)
            in[k] = value_named(m, c->in[k]);
        as_maker_module(m, c->module);
        as_maker_node(m, c->op, c->name, in, c->n_in, c->attrs, c->n_attrs, NULL, c->n_out, c->out);
    }
}

static assay_status composed(assay_env *env, const assay_model *model, const as_model_cell *cells, int n, assay_model **out)
{
    as_arena  arena = {0};
    as_maker *m;
    bool     *read = readers_mark(&arena, model, cells, n);
    if (!read)
        return as_fail(env, ASSAY_NO_MEMORY, "onnx: %s: not enough memory for its composites", model->name);
    assay_status status = as_maker_new(env, model->name, 0, &m);
    if (status == ASSAY_OK) {
        as_maker_name(m, model->own_name);
        for (int i = 0; i < model->n_inputs; i++)
            given_add(m, &model->values[model->inputs[i]]);
        for (int i = 0; i < model->n_values; i++)
            if (read[i] && model->values[i].role != AS_ROLE_INPUT)
                given_add(m, &model->values[i]);
        nodes_add(m, model, cells, n);
        for (int i = 0; i < model->n_outputs && !as_maker_failed(m); i++)
            as_maker_output(m, as_maker_value_named(m, model->values[model->outputs[i]].name));
        status = as_maker_finish(m, out);
    }
    as_arena_drop(&arena);
    return status;
}

/* --- Whether it is the same network ------------------------------------------------------------------- */

/* A file holds floats of 32 bits. */
static bool is_attr_same(const as_attr *a, const as_attr *b)
{
    if (strcmp(a->name, b->name) || a->kind != b->kind || a->n != b->n)
        return false;
    if (a->kind == AS_ATTR_TEXT)
        return !strcmp(a->text, b->text);
    if (a->kind == AS_ATTR_INTS)
        return !a->n || !memcmp(a->ints, b->ints, a->n * sizeof *a->ints);
    return a->kind == AS_ATTR_INT ? a->i == b->i : a->kind == AS_ATTR_FLOAT && (float)a->f == (float)b->f;
}

static const as_attr *attr_find(const as_node *n, const char *name)
{
    for (int i = 0; i < n->n_attrs; i++)
        if (!strcmp(n->attrs[i].name, name))
            return &n->attrs[i];
    return NULL;
}

static bool has_data(const as_value *v) { return v->role == AS_ROLE_PARAM || v->role == AS_ROLE_CONSTANT; }

/* The same name, or constants with the same bytes: those of primitives are named anew each time. */
static bool is_value_same(const as_value *a, const as_value *b)
{
    if (!has_data(a) || !has_data(b))
        return !strcmp(a->name, b->name);
    as_shape x = as_shape_of_dims(&a->dims), y = as_shape_of_dims(&b->dims);
    size_t   bytes = (size_t)as_shape_count(&x) * as_dtype_bytes(a->dtype);
    return a->dtype == b->dtype && as_shape_same(&x, &y) && (a->data == b->data || !bytes || !memcmp(a->data, b->data, bytes));
}

static bool is_node_same(const assay_model *x, const as_node *a, const assay_model *y, const as_node *b)
{
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out || a->n_attrs != b->n_attrs)
        return false;
    for (int i = 0; i < a->n_attrs; i++) {
        const as_attr *other = attr_find(b, a->attrs[i].name);
        if (!other || !is_attr_same(&a->attrs[i], other))
            return false;
    }
    for (int i = 0; i < a->n_in; i++)
        if ((a->in[i] < 0) != (b->in[i] < 0) || (a->in[i] >= 0 && !is_value_same(&x->values[a->in[i]], &y->values[b->in[i]])))
            return false;
    for (int i = 0; i < a->n_out; i++)
        if (strcmp(x->values[a->out[i]].name, y->values[b->out[i]].name))
            return false;
    return true;
}

static int by_name(const void *a, const void *b)
{
    const as_node *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static const as_node **sorted(as_arena *arena, const assay_model *model)
{
    const as_node **nodes = AS_TAKE(arena, const as_node *, model->n_nodes + 1);
    for (int i = 0; nodes && i < model->n_nodes; i++)
        nodes[i] = &model->nodes[i];
    if (nodes)
        qsort(nodes, (size_t)model->n_nodes, sizeof *nodes, by_name);
    return nodes;
}

static bool is_same(const assay_model *x, const assay_model *y)
{
    as_arena        arena = {0};
    const as_node **a = sorted(&arena, x), **b = sorted(&arena, y);
    bool            same = a && b && x->n_nodes == y->n_nodes && x->n_inputs == y->n_inputs && x->n_outputs == y->n_outputs;
    for (int i = 0; same && i < x->n_nodes; i++)
        same = !strcmp(a[i]->name, b[i]->name) && is_node_same(x, a[i], y, b[i]);
    for (int i = 0; same && i < x->n_outputs; i++)
        same = !strcmp(x->values[x->outputs[i]].name, y->values[y->outputs[i]].name);
    as_arena_drop(&arena);
    return same;
}

/* --- All of it ------------------------------------------------------------------------------------------ */

static bool cells_read(as_arena *arena, const as_pb_span *notes, int n, as_model_cell *cells)
{
    for (int i = 0; i < n; i++) {
        json_t *o = NULL;
        if (as_json_parse(NULL, "onnx", "metadata", (const char *)notes[i].data, notes[i].n, &o) != ASSAY_OK)
            return false;
        bool ok = json_is_object(o) && cell_read(arena, o, &cells[i]);
        json_decref(o);
        if (!ok)
            return false;
    }
    return true;
}

static bool has_bodies(const assay_model *model)
{
    for (int i = 0; i < model->n_nodes; i++)
        if (model->nodes[i].n_bodies)
            return true;
    return false;
}

assay_status as_onnx_cells_restore(assay_env *env, const as_pb_span *notes, int n, assay_model **model)
{
    as_arena       arena = {0};
    as_model_cell *cells = AS_TAKE(&arena, as_model_cell, n);
    assay_model   *whole = NULL, *plain = NULL;
    bool           ok =
        cells && !has_bodies(*model) && cells_read(&arena, notes, n, cells) && composed(env, *model, cells, n, &whole) == ASSAY_OK;
    ok = ok && as_model_expand(env, whole, NULL, 0, &plain) == ASSAY_OK && is_same(plain, *model);
    as_model_link *lender = ok ? AS_TAKE(&whole->arena, as_model_link, 1) : NULL;
    assay_model_free(plain);
    if (lender) { /* its data stays in the model that was read */
        *lender = (as_model_link){.model = *model};
        whole->lenders = lender;
        whole->files = (*model)->files;
        *model = whole;
    } else {
        assay_model_free(whole);
    }
    as_arena_drop(&arena);
    return ASSAY_OK;
}
