/* fmt_json.c - the JSON model file: small networks written by hand or by a script, see docs/model-file.md.
 *
 * Every object is checked against a table of its keys, so that a typing error gives a message with its position and
 * is never silently ignored. */
#include "model/json/fmt_json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "model/graph/maker.h"

#define MAX_FILE_BYTES (UINT64_C(256) << 20)

typedef struct reader {
    as_maker *m;
    as_arena  scratch;     /* attributes until the maker has copied them */
    bool      has_weights; /* the file names another file with the values that params leave out */
} reader;

/* --- Objects and their keys ---------------------------------------------------------------------- */

typedef enum shape_of_json { TEXT, WHOLE, LIST, OBJECT } shape_of_json;
static const char *const type_names[] = {[TEXT] = "a text", [WHOLE] = "a whole number", [LIST] = "a list", [OBJECT] = "an object"};

typedef struct key {
    const char   *name;
    shape_of_json type;
    bool          required;
} key; /* lists end with a NULL name */

enum { MAX_KEYS = 16 };

static bool type_is(const json_t *j, shape_of_json type)
{
    return type == TEXT    ? json_is_string(j)
           : type == WHOLE ? json_is_integer(j)
           : type == LIST  ? json_is_array(j)
                           : json_is_object(j);
}

static void fail_key(reader *r, const char *name, const key *keys)
{
    const char *words[MAX_KEYS + 1];
    int         n = 0;
    char        hint[160];
    while (n < MAX_KEYS && keys[n].name) {
        words[n] = keys[n].name;
        n++;
    }
    words[n] = NULL;
    as_maker_fail(r->m, "unknown key \"%s\"%s", name, as_hint(hint, sizeof hint, name, words, '"'));
}

/* Checks that an object has only keys of the table, each of its type. */
static bool object_ok(reader *r, json_t *object, const key *keys)
{
    const char *name;
    json_t     *item;
    if (!json_is_object(object)) {
        as_maker_fail(r->m, "it must be an object");
        return false;
    }
    json_object_foreach(object, name, item)
    {
        const key *k = keys;
        while (k->name && strcmp(k->name, name))
            k++;
        if (!k->name) {
            fail_key(r, name, keys);
            return false;
        }
        if (!type_is(item, k->type)) {
            as_maker_fail(r->m, "\"%s\" must be %s", name, type_names[k->type]);
            return false;
        }
    }
    for (const key *k = keys; k->name; k++)
        if (k->required && !json_object_get(object, k->name)) {
            as_maker_fail(r->m, "the key \"%s\" is missing", k->name);
            return false;
        }
    return !as_maker_failed(r->m);
}

static const char *text_of(const json_t *object, const char *name) { return json_string_value(json_object_get(object, name)); }

/* --- Tensors ------------------------------------------------------------------------------------ */

static bool dtype_read(reader *r, const json_t *object, as_dtype *out)
{
    const char *name = text_of(object, "dtype"), *words[AS_N_DTYPES];
    char        hint[160];
    if (as_dtype_parse(name, out))
        return true;
    for (int i = AS_NONE + 1; i < AS_N_DTYPES; i++)
        words[i - 1] = as_dtype_name((as_dtype)i);
    words[AS_N_DTYPES - 1] = NULL;
    as_maker_fail(r->m, "unknown dtype \"%s\"%s", name, as_hint(hint, sizeof hint, name, words, '"'));
    return false;
}

/* Symbols are texts, and only inputs may have them. */
static bool dims_read(reader *r, const json_t *object, bool symbols, as_dims *out)
{
    const json_t *list = json_object_get(object, "shape");
    size_t        rank = json_array_size(list);
    *out = (as_dims){0};
    if (rank > AS_MAX_RANK) {
        as_maker_fail(r->m, "\"shape\" has %zu sizes and at most %d are possible", rank, AS_MAX_RANK);
        return false;
    }
    for (size_t i = 0; i < rank; i++) {
        const json_t *size = json_array_get(list, i);
        as_dim       *dim = &out->dim[out->rank++];
        if (symbols && json_is_string(size) && json_string_length(size) > 0 && json_string_length(size) <= AS_MAX_NAME_BYTES) {
            dim->symbol = json_string_value(size);
        } else if (json_is_integer(size) && json_integer_value(size) >= 0) {
            dim->size = json_integer_value(size);
        } else {
            as_maker_fail(r->m, "\"shape\"[%zu] must be a whole number from 0%s", i, symbols ? " or the name of a dimension" : "");
            return false;
        }
    }
    return true;
}

static bool shape_read(reader *r, const json_t *object, as_dtype dtype, as_shape *out)
{
    as_dims dims;
    if (!dims_read(r, object, false, &dims))
        return false;
    *out = as_shape_of_dims(&dims);
    if (as_shape_ok(out, dtype))
        return true;
    as_maker_fail(r->m, "\"shape\" %s of %s is too large", as_shape_show(out, (char[192]){0}, 192), as_dtype_name(dtype));
    return false;
}

/* A number, or one of the four that JSON cannot write. */
static bool number_read(const json_t *j, double *out)
{
    static const struct {
        const char *text;
        double      value;
    } others[] = {{"nan", NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}, {"-0", -0.0}};
    if (json_is_number(j)) {
        *out = json_number_value(j);
        return true;
    }
    for (size_t i = 0; json_is_string(j) && i < AS_COUNT(others); i++)
        if (!strcmp(json_string_value(j), others[i].text)) {
            *out = others[i].value;
            return true;
        }
    return false;
}

static bool element_read(reader *r, const json_t *j, const as_view *view, size_t i)
{
    int64_t at = (int64_t)i;
    double  x;
    if (as_dtype_is_float(view->dtype)) {
        if (!number_read(j, &x)) {
            as_maker_fail(r->m, "\"values\"[%zu] must be a number, \"nan\", \"inf\", \"-inf\" or \"-0\"", i);
            return false;
        }
        as_view_set(view, at, x);
        if (!isfinite(x) || isfinite(as_view_get(view, at)))
            return true;
        as_maker_fail(r->m, "\"values\"[%zu] is %g, which does not fit %s", i, x, as_dtype_name(view->dtype));
        return false;
    }
    if (view->dtype == AS_BOOL && json_is_boolean(j)) {
        as_view_set_i64(view, at, json_is_true(j));
        return true;
    }
    if (!json_is_integer(j)) {
        as_maker_fail(r->m, "\"values\"[%zu] must be a whole number%s", i, view->dtype == AS_BOOL ? ", true or false" : "");
        return false;
    }
    as_view_set_i64(view, at, json_integer_value(j)); /* saturates, so a value that does not fit reads back as another */
    bool is_negative = view->dtype == AS_U64 && json_integer_value(j) < 0; /* a u64 would take the bits */
    if (!is_negative && as_view_get_i64(view, at) == json_integer_value(j))
        return true;
    as_maker_fail(r->m, "\"values\"[%zu] is %" JSON_INTEGER_FORMAT ", which does not fit %s", i, json_integer_value(j),
                  as_dtype_name(view->dtype));
    return false;
}

/* "values" of a shape: there must be as many as it has elements, so the file's size bounds the memory. */
static bool values_read(reader *r, as_arena *arena, const json_t *object, as_dtype dtype, const as_shape *shape, as_view *out)
{
    const json_t *list = json_object_get(object, "values");
    size_t        n = json_array_size(list);
    if ((int64_t)n != as_shape_count(shape)) {
        as_maker_fail(r->m, "\"values\" has %zu numbers and the shape %s needs %" PRId64, n,
                      as_shape_show(shape, (char[192]){0}, 192), as_shape_count(shape));
        return false;
    }
    void *data = as_arena_take(arena, n, as_dtype_bytes(dtype), 64);
    if (!data) {
        as_maker_fail_as(r->m, ASSAY_NO_MEMORY, "not enough memory for %zu values", n);
        return false;
    }
    *out = as_view_of(data, dtype, shape);
    for (size_t i = 0; i < n; i++)
        if (!element_read(r, json_array_get(list, i), out, i))
            return false;
    return true;
}

/* --- Inputs, params, constants --------------------------------------------------------------------- */

static void input_read(reader *r, json_t *object)
{
    static const key keys[] = {{"name", TEXT, true}, {"dtype", TEXT, true}, {"shape", LIST, true}, {0}};
    as_dtype         dtype;
    as_dims          dims;
    if (object_ok(r, object, keys) && dtype_read(r, object, &dtype) && dims_read(r, object, true, &dims))
        as_maker_input(r->m, text_of(object, "name"), dtype, &dims);
}

static void random_read(reader *r, json_t *random, const char *name, as_dtype dtype, const as_shape *shape)
{
    static const key keys[] = {{"fan_in", WHOLE, true}, {0}};
    if (object_ok(r, random, keys))
        as_maker_param_uniform(r->m, name, dtype, shape, json_integer_value(json_object_get(random, "fan_in")));
}

static void param_read(reader *r, json_t *object)
{
    static const key keys[] = {{"name", TEXT, true},    {"dtype", TEXT, true},     {"shape", LIST, true},
                               {"values", LIST, false}, {"random", OBJECT, false}, {0}};
    as_dtype         dtype;
    as_shape         shape;
    as_view          view;
    if (!object_ok(r, object, keys) || !dtype_read(r, object, &dtype) || !shape_read(r, object, dtype, &shape))
        return;
    const char *name = text_of(object, "name");
    json_t     *values = json_object_get(object, "values"), *random = json_object_get(object, "random");
    if (values && random)
        as_maker_fail(r->m, "parameter '%s' has both \"values\" and \"random\"", name);
    else if (random)
        random_read(r, random, name, dtype, &shape);
    else if (!values && r->has_weights)
        as_maker_param_later(r->m, name, dtype, &shape);
    else if (!values)
        as_maker_fail(r->m, "parameter '%s' needs \"values\" or \"random\", or the file a \"weights\" file that holds it", name);
    else if (values_read(r, as_maker_arena(r->m), object, dtype, &shape, &view))
        as_maker_param(r->m, name, dtype, &shape, view.data, false);
}

static void constant_read(reader *r, json_t *object)
{
    static const key keys[] = {{"name", TEXT, true}, {"dtype", TEXT, true}, {"shape", LIST, true}, {"values", LIST, true}, {0}};
    as_dtype         dtype;
    as_shape         shape;
    as_view          view;
    if (object_ok(r, object, keys) && dtype_read(r, object, &dtype) && shape_read(r, object, dtype, &shape) &&
        values_read(r, &r->scratch, object, dtype, &shape, &view))
        as_maker_constant(r->m, text_of(object, "name"), &view);
}

/* --- Attributes ------------------------------------------------------------------------------------ */

static bool attr_numbers(reader *r, const char *name, const json_t *list, as_attr *out)
{
    bool     whole = out->kind == AS_ATTR_INTS;
    size_t   n = json_array_size(list);
    int64_t *ints = whole ? AS_TAKE(&r->scratch, int64_t, n) : NULL;
    double  *floats = whole ? NULL : AS_TAKE(&r->scratch, double, n);
    bool     ok = json_is_array(list);
    if (!ints && !floats) {
        as_maker_fail_as(r->m, ASSAY_NO_MEMORY, "not enough memory for attribute \"%s\"", name);
        return false;
    }
    for (size_t i = 0; ok && i < n; i++) {
        const json_t *j = json_array_get(list, i);
        if (whole && (ok = json_is_integer(j)))
            ints[i] = json_integer_value(j);
        else if (!whole)
            ok = number_read(j, &floats[i]);
    }
    out->ints = ints;
    out->floats = floats;
    out->n = n;
    if (!ok)
        as_maker_fail(r->m, "attribute \"%s\" must be a list of %s", name, whole ? "whole numbers" : "numbers");
    return ok;
}

static bool attr_tensor(reader *r, json_t *object, as_attr *out)
{
    static const key keys[] = {{"dtype", TEXT, true}, {"shape", LIST, true}, {"values", LIST, true}, {0}};
    as_dtype         dtype;
    as_shape         shape;
    as_view         *view = AS_TAKE(&r->scratch, as_view, 1);
    if (!view)
        as_maker_fail_as(r->m, ASSAY_NO_MEMORY, "not enough memory for a tensor");
    if (!view || !object_ok(r, object, keys) || !dtype_read(r, object, &dtype) || !shape_read(r, object, dtype, &shape) ||
        !values_read(r, &r->scratch, object, dtype, &shape, view))
        return false;
    out->tensor = view;
    return true;
}

static bool attr_texts(reader *r, const char *name, json_t *j, as_attr *out)
{
    size_t       n = json_array_size(j); /* 0 when it is not an array */
    const char **texts = AS_TAKE(&r->scratch, const char *, n);
    bool         ok = json_is_array(j) && texts;
    for (size_t i = 0; ok && i < n; i++)
        ok = (texts[i] = json_string_value(json_array_get(j, i))) != NULL;
    out->texts = texts;
    out->n = n;
    if (!ok)
        as_maker_fail(r->m, "attribute \"%s\" must be a list of texts", name);
    return ok;
}

/* The operator decides what a JSON value means, so that 1 may stand for 1.0. */
static bool attr_read(reader *r, const as_attr_def *def, json_t *j, as_attr *out)
{
    const char *want = NULL;
    *out = (as_attr){.name = def->name, .kind = def->kind};
    switch (def->kind) {
    case AS_ATTR_INT:
        out->i = json_integer_value(j);
        want = json_is_integer(j) ? NULL : "a whole number";
        break;
    case AS_ATTR_FLOAT: want = number_read(j, &out->f) ? NULL : "a number"; break;
    case AS_ATTR_TEXT:
        out->text = json_string_value(j);
        want = out->text ? NULL : "a text";
        break;
    case AS_ATTR_INTS:
    case AS_ATTR_FLOATS: return attr_numbers(r, def->name, j, out);
    case AS_ATTR_TENSOR: return attr_tensor(r, j, out);
    case AS_ATTR_TEXTS: return attr_texts(r, def->name, j, out);
    }
    if (want)
        as_maker_fail(r->m, "attribute \"%s\" must be %s", def->name, want);
    return !want;
}

static void fail_attr(reader *r, const as_op *op, const char *name)
{
    const char *words[MAX_KEYS + 1];
    int         n = 0;
    char        hint[160];
    for (; op->attrs && n < MAX_KEYS && op->attrs[n].name; n++)
        words[n] = op->attrs[n].name;
    words[n] = NULL;
    as_maker_fail(r->m, "%s has no attribute \"%s\"%s", op->name, name, as_hint(hint, sizeof hint, name, words, '"'));
}

static bool attrs_read(reader *r, const as_op *op, json_t *object, as_attr **out, int *n_out)
{
    const char *name;
    json_t     *item;
    int         n = 0;
    as_attr    *attrs = AS_TAKE(&r->scratch, as_attr, json_object_size(object));
    if (!attrs) {
        as_maker_fail_as(r->m, ASSAY_NO_MEMORY, "not enough memory for %zu attributes", json_object_size(object));
        return false;
    }
    json_object_foreach(object, name, item)
    {
        const as_attr_def *def = op->attrs;
        while (def && def->name && strcmp(def->name, name))
            def++;
        if (!def || !def->name) {
            fail_attr(r, op, name);
            return false;
        }
        if (!attr_read(r, def, item, &attrs[n++]))
            return false;
    }
    for (const as_attr_def *def = op->attrs; def && def->name; def++)
        if (def->required && !json_object_get(object, def->name)) {
            as_maker_fail(r->m, "%s needs the attribute \"%s\"", op->name, def->name);
            return false;
        }
    *out = attrs;
    *n_out = n;
    return true;
}

/* --- Nodes ------------------------------------------------------------------------------------------ */

/* The texts of a list; NULL after a failure. */
static bool names_read(reader *r, const json_t *object, const char *where, int max, const char **out, int *n_out)
{
    const json_t *list = json_object_get(object, where);
    size_t        n = json_array_size(list);
    if (n > (size_t)max) {
        as_maker_fail(r->m, "\"%s\" has %zu names and at most %d are possible", where, n, max);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!(out[i] = json_string_value(json_array_get(list, i)))) {
            as_maker_fail(r->m, "\"%s\"[%zu] must be a text", where, i);
            return false;
        }
    *n_out = (int)n;
    return true;
}

static void node_read(reader *r, json_t *object)
{
    static const key keys[] = {{"op", TEXT, true},
                               {"name", TEXT, false},
                               {"module", TEXT, false},
                               {"in", LIST, true},
                               {"out", LIST, true},
                               {"attrs", OBJECT, false},
                               {0}};
    const char      *in_names[AS_MAX_IN], *out_names[AS_MAX_OUT];
    int              in[AS_MAX_IN], n_in, n_out, n_attrs;
    as_attr         *attrs;
    if (!object_ok(r, object, keys))
        return;
    const as_op *op = as_maker_op(r->m, text_of(object, "op"));
    if (!op || !names_read(r, object, "in", AS_MAX_IN, in_names, &n_in) ||
        !names_read(r, object, "out", AS_MAX_OUT, out_names, &n_out) ||
        !attrs_read(r, op, json_object_get(object, "attrs"), &attrs, &n_attrs))
        return;
    for (int i = 0; i < n_in; i++) {
        in[i] = *in_names[i] ? as_maker_value_named(r->m, in_names[i]) : -1; /* "" is an absent optional input */
        if (as_maker_failed(r->m))
            return;
    }
    const char *module = text_of(object, "module");
    if (module && strlen(module) > AS_MAX_NAME_BYTES) {
        as_maker_fail(r->m, "the module path of node '%s' has %zu bytes and at most %d are possible",
                      text_of(object, "name") ? text_of(object, "name") : "", strlen(module), AS_MAX_NAME_BYTES);
        return;
    }
    as_maker_module(r->m, module ? module : "");
    as_maker_node(r->m, op->name, text_of(object, "name"), in, n_in, attrs, n_attrs, NULL, n_out, out_names);
}

/* --- The file ----------------------------------------------------------------------------------------- */

static void list_read(reader *r, const json_t *root, const char *where, void (*read)(reader *r, json_t *object))
{
    const json_t *list = json_object_get(root, where);
    for (size_t i = 0; i < json_array_size(list) && !as_maker_failed(r->m); i++) {
        as_maker_at(r->m, "%s[%zu]", where, i);
        read(r, json_array_get(list, i));
    }
    as_maker_at(r->m, "%s", "");
}

static void outputs_read(reader *r, const json_t *root)
{
    const json_t *list = json_object_get(root, "outputs");
    for (size_t i = 0; i < json_array_size(list) && !as_maker_failed(r->m); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        as_maker_at(r->m, "outputs[%zu]", i);
        if (name)
            as_maker_output(r->m, as_maker_value_named(r->m, name));
        else
            as_maker_fail(r->m, "it must be a text");
    }
    as_maker_at(r->m, "%s", "");
}

/* A model file may not reach out of its own directory. */
static bool weights_ok(reader *r, const char *name)
{
    bool ok = as_model_file_ok(name);
    if (!ok)
        as_maker_fail(r->m, "\"weights\" is \"%s\" and must be a path below the model file, without \"..\"", name);
    return ok;
}

static void root_read(reader *r, json_t *root)
{
    static const key keys[] = {{"format", TEXT, true},  {"name", TEXT, true},       {"inputs", LIST, true},
                               {"params", LIST, false}, {"constants", LIST, false}, {"weights", TEXT, false},
                               {"nodes", LIST, true},   {"outputs", LIST, true},    {0}};
    const char      *format = json_is_object(root) ? text_of(root, "format") : NULL, *weights;
    /* Checks the format first: for a file of another kind the message should say that, and not name its first unknown key. */
    if (format && strcmp(format, AS_MODEL_JSON_FORMAT)) {
        as_maker_fail(r->m, "\"format\" is \"%s\" and must be \"%s\"", format, AS_MODEL_JSON_FORMAT);
        return;
    }
    if (!object_ok(r, root, keys))
        return;
    weights = text_of(root, "weights");
    r->has_weights = weights != NULL;
    if (weights && !weights_ok(r, weights))
        return;
    if (!*text_of(root, "name") || strlen(text_of(root, "name")) > AS_MAX_NAME_BYTES) {
        as_maker_fail(r->m, "\"name\" must have 1 to %d bytes", AS_MAX_NAME_BYTES);
        return;
    }
    as_maker_name(r->m, text_of(root, "name"));
    list_read(r, root, "inputs", input_read);
    list_read(r, root, "params", param_read);
    list_read(r, root, "constants", constant_read);
    list_read(r, root, "nodes", node_read);
    outputs_read(r, root);
}

static assay_status weights_load(assay_env *env, const char *path, const char *weights, assay_model *model)
{
    const char  *slash = strrchr(path, '/');
    as_arena     arena = {0};
    char        *full = as_arena_printf(&arena, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, weights);
    assay_status status = full ? as_model_weights(env, model, full, true)
                               : as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory for the path of its weights", path);
    if (status == ASSAY_OK && !as_model_file_add(model, weights))
        status = as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory for the name of its weights", path);
    as_arena_drop(&arena);
    return status;
}

static assay_status build(assay_env *env, const char *path, json_t *root, uint64_t seed, uint64_t max_param_bytes,
                          assay_model **out)
{
    reader       r = {0};
    assay_model *model = NULL;
    AS_TRY(as_maker_new(env, path, seed, &r.m));
    as_maker_param_limit(r.m, max_param_bytes);
    root_read(&r, root);
    as_arena_drop(&r.scratch);
    AS_TRY(as_maker_finish(r.m, &model));
    if (r.has_weights) {
        assay_status status = weights_load(env, path, text_of(root, "weights"), model);
        if (status != ASSAY_OK) {
            assay_model_free(model);
            return status;
        }
    }
    *out = model;
    return ASSAY_OK;
}

assay_status as_model_json_parse_max(assay_env *env, const char *path, const char *data, size_t n, uint64_t seed,
                                     uint64_t max_param_bytes, assay_model **out)
{
    json_t *root;
    AS_TRY(as_json_parse(env, "model", path, data, n, &root));
    assay_status status = build(env, path, root, seed, max_param_bytes, out);
    json_decref(root);
    return status;
}

assay_status as_model_json_parse(assay_env *env, const char *path, const char *data, size_t n, uint64_t seed, assay_model **out)
{
    return as_model_json_parse_max(env, path, data, n, seed, AS_MAX_PARAM_BYTES, out);
}

static assay_status load(assay_env *env, const char *path, uint64_t seed, assay_model **out)
{
    json_t *root;
    AS_TRY(as_json_load(env, "model", path, MAX_FILE_BYTES, &root));
    assay_status status = build(env, path, root, seed, AS_MAX_PARAM_BYTES, out);
    json_decref(root);
    return status;
}

const as_format as_fmt_json = {
    .suffix = ".json",
    .help = "assay's own model file, see docs/model-file.md",
    .load = load,
    .save = as_model_json_save,
};
