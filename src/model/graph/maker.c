/* maker.c - builds a model value by value and node by node, then checks and sorts it.
 *
 * Values and nodes live in arrays from malloc while they grow and move to the model's arena, at their final size, at
 * the end; names, attributes and data are put into the arena at once. */
#include "model/graph/maker.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"

/* Constants up to this size are copied when they are not aligned; larger ones stay in their file. */
#define MAX_COPIED_BYTES (UINT64_C(64) << 10)

/* Open addressing from names to ids; slots hold id + 1, 0 is empty.  Never more than half full. */
typedef struct table {
    int   *slots;
    size_t n_slots, n_used;
} table;

struct as_maker {
    assay_env     *env;
    assay_model   *model;
    char          *title;  /* its name in messages: a zoo name, a path */
    const char    *module; /* of the nodes being added */
    as_train_place stands; /* of the nodes being added */
    uint64_t       seed;
    as_value      *values;
    bool          *is_output; /* one per value: a list of 400000 outputs must not be searched 400000 times */
    as_node       *nodes;
    int            n_values, cap_values, cap_is_output, n_nodes, cap_nodes;
    int           *inputs, *outputs;
    int            n_inputs, cap_inputs, n_outputs, cap_outputs;
    table          value_names, node_names;
    int            next_made; /* generated names count up and never start again, so hostile names cost nothing */
    uint64_t       param_bytes, max_param_bytes;
    uint64_t       taken_bytes, memory_bytes; /* of elements that are not in a file, and the memory available for them */
    bool           prune;
    assay_status   failure;
    char           message[1024], place[96];
};

/* --- Failing ----------------------------------------------------------------------------------- */

static void fail_with(as_maker *m, assay_status status, const char *format, va_list args)
{
    if (m->failure != ASSAY_OK)
        return;
    char text[sizeof m->message];
    vsnprintf(text, sizeof text, format, args);
    as_fail(m->env, status, "model: %s: %s%s%s", m->title, m->place, *m->place ? ": " : "", text);
    snprintf(m->message, sizeof m->message, "%s", assay_message(m->env));
    m->failure = status;
}

void as_maker_fail_as(as_maker *m, assay_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_with(m, status, format, args);
    va_end(args);
}

void as_maker_fail(as_maker *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_with(m, ASSAY_BAD_INPUT, format, args);
    va_end(args);
}

static int fail_memory(as_maker *m, const char *what)
{
    as_maker_fail_as(m, ASSAY_NO_MEMORY, "not enough memory for %s", what);
    return -1;
}

bool as_maker_failed(const as_maker *m) { return m->failure != ASSAY_OK; }

void as_maker_at(as_maker *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(m->place, sizeof m->place, format, args);
    va_end(args);
}

/* --- Names ------------------------------------------------------------------------------------- */

static const char *name_of(const as_maker *m, const table *t, int id)
{
    return t == &m->value_names ? m->values[id].name : m->nodes[id].name;
}

/* The slot of the name, or the empty slot for it. */
static int *slot_of(const as_maker *m, const table *t, const char *name)
{
    size_t mask = t->n_slots - 1;
    for (size_t i = (size_t)as_hash64(name, strlen(name)) & mask;; i = (i + 1) & mask)
        if (!t->slots[i] || !strcmp(name_of(m, t, t->slots[i] - 1), name))
            return &t->slots[i];
}

static int find(const as_maker *m, const table *t, const char *name) { return t->n_slots ? *slot_of(m, t, name) - 1 : -1; }

static bool table_grow(as_maker *m, table *t)
{
    table grown = {.n_slots = t->n_slots ? t->n_slots * 2 : 64, .n_used = t->n_used};
    grown.slots = calloc(grown.n_slots, sizeof *grown.slots);
    if (!grown.slots)
        return false;
    table old = *t;
    *t = grown; /* in place: name_of() tells the two tables apart by address */
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.slots[i])
            *slot_of(m, t, name_of(m, t, old.slots[i] - 1)) = old.slots[i];
    free(old.slots);
    return true;
}

/* The id must be in its array already. */
static bool table_add(as_maker *m, table *t, const char *name, int id)
{
    if (t->n_used * 2 >= t->n_slots && !table_grow(m, t))
        return false;
    *slot_of(m, t, name) = id + 1;
    t->n_used++;
    return true;
}

static bool name_ok(as_maker *m, const char *what, const char *name)
{
    if (!*name)
        as_maker_fail(m, "the name of one %s is empty", what);
    else if (strlen(name) > AS_MAX_NAME_BYTES)
        as_maker_fail(m, "the name of one %s has %zu bytes and at most %d are possible", what, strlen(name), AS_MAX_NAME_BYTES);
    else
        return true;
    return false;
}

const char *as_hint(char *buf, size_t size, const char *word, const char *const *words, char quote)
{
    const char *near = words ? as_nearest(word, words) : NULL;
    buf[0] = '\0';
    if (near)
        snprintf(buf, size, " (did you mean %c%s%c?)", quote, near, quote);
    return buf;
}

const char *const *as_op_names(as_arena *arena)
{
    size_t n = 0;
    while (as_op_table[n])
        n++;
    const char **names = AS_TAKE(arena, const char *, n + 1);
    for (size_t i = 0; names && i < n; i++)
        names[i] = as_op_table[i]->name;
    return names;
}

/* --- Arrays that grow ---------------------------------------------------------------------------- */

/* The array with room for one more element; NULL: no memory (the old one stays). */
static void *grown(void *array, int *cap, int n, size_t bytes_each)
{
    if (n < *cap)
        return array;
    int   wanted = *cap ? *cap * 2 : 16;
    void *moved = realloc(array, (size_t)wanted * bytes_each);
    if (moved)
        *cap = wanted;
    return moved;
}

#define GROW(array, cap, n)                                          \
    __extension__({                                                  \
        void *moved_ = grown((array), &(cap), (n), sizeof *(array)); \
        if (moved_)                                                  \
            (array) = moved_;                                        \
        moved_ != NULL;                                              \
    })

/* --- Beginning and end of a maker ------------------------------------------------------------------ */

/* 0: not known. */
static uint64_t machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), bytes_each = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes_each > 0 ? (uint64_t)pages * (uint64_t)bytes_each : 0;
}

assay_status as_maker_new(assay_env *env, const char *name, uint64_t seed, as_maker **out)
{
    as_maker *m = calloc(1, sizeof *m);
    if (m)
        *m = (as_maker){.env = env,
                        .seed = seed,
                        .max_param_bytes = AS_MAX_PARAM_BYTES,
                        .memory_bytes = machine_memory(),
                        .model = calloc(1, sizeof *m->model)};
    if (m && m->model) {
        m->model->name = m->model->own_name = m->title = as_arena_text(&m->model->arena, name);
        m->module = "";
        if (m->title) {
            *out = m;
            return ASSAY_OK;
        }
    }
    if (m)
        free(m->model);
    free(m);
    return as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory to build it", name);
}

static void maker_free(as_maker *m)
{
    assay_model_free(m->model);
    free(m->values);
    free(m->is_output);
    free(m->nodes);
    free(m->inputs);
    free(m->outputs);
    free(m->value_names.slots);
    free(m->node_names.slots);
    free(m);
}

uint64_t as_maker_seed(const as_maker *m) { return m->seed; }

assay_env *as_maker_env(as_maker *m) { return m->env; }

as_arena *as_maker_arena(as_maker *m) { return &m->model->arena; }

void as_maker_name(as_maker *m, const char *name)
{
    const char *copy = as_arena_text(&m->model->arena, name);
    if (copy)
        m->model->name = m->model->own_name = copy;
    else
        fail_memory(m, "the name");
}

void as_maker_place(as_maker *m, const as_train_place *place)
{
    const char *layer = m->stands.layer;
    if (!place->layer)
        layer = NULL;
    else if ((!layer || strcmp(layer, place->layer)) && !(layer = as_arena_text(&m->model->arena, place->layer)))
        fail_memory(m, "the name of a layer");
    m->stands = (as_train_place){place->pass, layer, place->stream};
}

void as_maker_module(as_maker *m, const char *module)
{
    if (!strcmp(module, m->module))
        return;
    const char *copy = as_arena_text(&m->model->arena, module);
    if (copy)
        m->module = copy;
    else
        fail_memory(m, "the name of a module");
}

void as_maker_memory_limit(as_maker *m, uint64_t memory_bytes) { m->memory_bytes = memory_bytes; }

void as_maker_param_limit(as_maker *m, uint64_t max_bytes) { m->max_param_bytes = max_bytes; }

void as_maker_prune(as_maker *m) { m->prune = true; }

/* --- Values ------------------------------------------------------------------------------------- */

const as_value *as_maker_value(const as_maker *m, int value)
{
    assert(value >= 0 && value < m->n_values);
    return &m->values[value];
}

bool as_maker_is_output(const as_maker *m, int value) { return m->is_output[value]; }

void as_dims_of_shape(const as_shape *shape, as_dims *out)
{
    *out = (as_dims){.rank = shape->rank};
    for (int i = 0; i < shape->rank; i++)
        out->dim[i].size = shape->dim[i];
}

as_shape as_shape_of_dims(const as_dims *dims)
{
    as_shape shape = {.rank = dims->rank};
    for (int i = 0; i < dims->rank; i++)
        shape.dim[i] = dims->dim[i].size;
    return shape;
}

/* A generated name for a value: "constant_3". */
static const char *made_up(as_maker *m, const table *t, const char *stem)
{
    int at = m->n_nodes + 1;
    if (at < m->next_made)
        at = m->next_made;
    for (;; at++) {
        char name[AS_MAX_NAME_BYTES];
        snprintf(name, sizeof name, "%s_%d", stem, at);
        /* A node's output has the node's name, so a generated name must be free for both. */
        if (find(m, t, name) < 0 && find(m, &m->value_names, name) < 0) {
            m->next_made = at + 1;
            return as_arena_text(&m->model->arena, name);
        }
    }
}

/* Copies everything that `value` borrows except its data. */
static int value_add(as_maker *m, as_value value, const char *what)
{
    if (m->failure != ASSAY_OK || !name_ok(m, what, value.name))
        return -1;
    if (find(m, &m->value_names, value.name) >= 0) {
        as_maker_fail(m, "two values have the name '%s'", value.name);
        return -1;
    }
    if (m->n_values >= AS_MAX_VALUES) {
        as_maker_fail(m, "more than %d values", AS_MAX_VALUES);
        return -1;
    }
    value.name = as_arena_text(&m->model->arena, value.name);
    for (int i = 0; i < value.dims.rank; i++)
        if (value.dims.dim[i].symbol && !(value.dims.dim[i].symbol = as_arena_text(&m->model->arena, value.dims.dim[i].symbol)))
            return fail_memory(m, what);
    if (!value.name || !GROW(m->values, m->cap_values, m->n_values) || !GROW(m->is_output, m->cap_is_output, m->n_values))
        return fail_memory(m, what);
    int id = m->n_values++;
    m->values[id] = value;
    m->is_output[id] = false;
    if (!table_add(m, &m->value_names, value.name, id))
        return fail_memory(m, what);
    return id;
}

int as_maker_value_named(as_maker *m, const char *name)
{
    int id = m->failure == ASSAY_OK ? find(m, &m->value_names, name) : -1;
    if (id >= 0 || m->failure != ASSAY_OK)
        return id;
    return value_add(m, (as_value){.name = name, .role = AS_ROLE_COMPUTED, .producer = -1}, "value");
}

bool as_maker_value_rename(as_maker *m, int value, const char *name)
{
    if (m->failure != ASSAY_OK || !name_ok(m, "value", name) || find(m, &m->value_names, name) >= 0)
        return false;
    /* The value is entered again under its new name.  The old slot still points to it, but the old name is no longer found there,
     * because the names differ. */
    const char *copy = as_arena_text(&m->model->arena, name);
    if (!copy) {
        fail_memory(m, "a name");
        return false;
    }
    m->values[value].name = copy;
    if (!table_add(m, &m->value_names, copy, value)) {
        fail_memory(m, "a name");
        return false;
    }
    return true;
}

int as_maker_input(as_maker *m, const char *name, as_dtype dtype, const as_dims *dims)
{
    if (m->failure != ASSAY_OK)
        return -1;
    if (dims->rank < 0 || dims->rank > AS_MAX_RANK) {
        as_maker_fail(m, "input '%s' has rank %d and at most %d are possible", name, dims->rank, AS_MAX_RANK);
        return -1;
    }
    /* A symbol counts as 1 here; binding checks the sizes together. */
    as_shape known = as_shape_of_dims(dims);
    for (int i = 0; i < dims->rank; i++) {
        if (dims->dim[i].symbol)
            known.dim[i] = 1;
        if (dims->dim[i].symbol && !*dims->dim[i].symbol) {
            as_maker_fail(m, "input '%s' has a symbol without a name at axis %d", name, i);
            return -1;
        }
    }
    if (!as_shape_ok(&known, dtype)) {
        as_maker_fail(m, "input '%s' of %s %s: a size is negative or their product too large", name, as_dtype_name(dtype),
                      as_shape_show(&known, (char[192]){0}, 192));
        return -1;
    }
    int id = value_add(m, (as_value){.name = name, .role = AS_ROLE_INPUT, .dtype = dtype, .dims = *dims, .producer = -1}, "input");
    if (id < 0)
        return -1;
    if (!GROW(m->inputs, m->cap_inputs, m->n_inputs))
        return fail_memory(m, "an input");
    m->inputs[m->n_inputs++] = id;
    return id;
}

static bool shape_check(as_maker *m, const char *what, const char *name, as_dtype dtype, const as_shape *shape)
{
    if (m->failure != ASSAY_OK)
        return false;
    if (shape->rank < 0 || shape->rank > AS_MAX_RANK)
        as_maker_fail(m, "%s '%s' has rank %d and at most %d are possible", what, name, shape->rank, AS_MAX_RANK);
    else if (!as_shape_ok(shape, dtype))
        as_maker_fail(m, "%s '%s' of %s %s: a size is negative or their product too large", what, name, as_dtype_name(dtype),
                      as_shape_show(shape, (char[192]){0}, 192));
    else
        return true;
    return false;
}

/* Checked before any memory of a parameter is allocated. */
static bool param_check(as_maker *m, const char *name, as_dtype dtype, const as_shape *shape)
{
    if (!shape_check(m, "parameter", name, dtype, shape))
        return false;
    uint64_t bytes = (uint64_t)as_shape_count(shape) * as_dtype_bytes(dtype);
    if (bytes > m->max_param_bytes || m->param_bytes > m->max_param_bytes - bytes) {
        as_maker_fail(
            m, "parameter '%s' of %s %s has %" PRIu64 " bytes and brings the parameters above the limit of %" PRIu64 " bytes", name,
            as_dtype_name(dtype), as_shape_show(shape, (char[192]){0}, 192), bytes, m->max_param_bytes);
        return false;
    }
    m->param_bytes += bytes;
    return true;
}

static int param_add(as_maker *m, const char *name, as_dtype dtype, const as_shape *shape, const void *data)
{
    as_value value = {.name = name, .role = AS_ROLE_PARAM, .dtype = dtype, .data = data, .producer = -1};
    as_dims_of_shape(shape, &value.dims);
    return value_add(m, value, "parameter");
}

/* Zeroed memory for the elements, on a cache line of its own. */
static void *elements_take(as_maker *m, const char *what, const char *name, as_dtype dtype, const as_shape *shape)
{
    uint64_t bytes = (uint64_t)as_shape_count(shape) * as_dtype_bytes(dtype), limit = m->memory_bytes;
    if (limit && (bytes > limit || m->taken_bytes > limit - bytes)) {
        as_maker_fail(m,
                      "%s '%s' of %s %s has %" PRIu64 " bytes, after %" PRIu64 " that are held already: more than the %" PRIu64
                      " bytes of memory that this machine has",
                      what, name, as_dtype_name(dtype), as_shape_show(shape, (char[192]){0}, 192), bytes, m->taken_bytes, limit);
        return NULL;
    }
    m->taken_bytes += bytes;
    void *data = as_arena_take(&m->model->arena, (size_t)as_shape_count(shape), as_dtype_bytes(dtype), 64);
    if (!data)
        as_maker_fail_as(m, ASSAY_NO_MEMORY, "not enough memory for the %" PRId64 " elements of %s '%s'", as_shape_count(shape),
                         what, name);
    return data;
}

int as_maker_param(as_maker *m, const char *name, as_dtype dtype, const as_shape *shape, const void *data, bool copy)
{
    if (!param_check(m, name, dtype, shape))
        return -1;
    if (!data || copy) {
        void *own = elements_take(m, "parameter", name, dtype, shape);
        if (!own)
            return -1;
        if (data)
            memcpy(own, data, (size_t)as_shape_count(shape) * as_dtype_bytes(dtype));
        data = own;
    }
    return param_add(m, name, dtype, shape, data);
}

int as_maker_param_later(as_maker *m, const char *name, as_dtype dtype, const as_shape *shape)
{
    return param_check(m, name, dtype, shape) ? param_add(m, name, dtype, shape, NULL) : -1;
}

int as_maker_param_uniform(as_maker *m, const char *name, as_dtype dtype, const as_shape *shape, int64_t fan_in)
{
    if (!param_check(m, name, dtype, shape))
        return -1;
    if (fan_in < 1 || !as_dtype_is_float(dtype)) {
        as_maker_fail(m,
                      "parameter '%s' of %s with fan_in %" PRId64 ": random values need a float dtype and a fan_in of at least 1",
                      name, as_dtype_name(dtype), fan_in);
        return -1;
    }
    void *data = elements_take(m, "parameter", name, dtype, shape);
    if (!data)
        return -1;
    /* Keyed by the name, not by the order, so that a layer added in front does not change other weights. */
    uint64_t hash = as_hash64(name, strlen(name));
    uint32_t node = (uint32_t)hash, step = (uint32_t)(hash >> 32);
    float    bound = (float)(1.0 / sqrt((double)fan_in));
    int64_t  count = as_shape_count(shape);
    if (dtype == AS_F32) {
        as_philox_fill(m->seed, node, step, -bound, bound, data, (size_t)count);
    } else {
        as_view view = as_view_of(data, dtype, shape);
        for (int64_t i = 0; i < count; i++) {
            float unit = as_philox_uniform(m->seed, node, step, (uint64_t)i), x = -bound + 2.0f * bound * unit;
            as_view_set(&view, i, (double)(x >= bound ? nextafterf(bound, -bound) : x));
        }
    }
    return param_add(m, name, dtype, shape, data);
}

int as_maker_param_random(as_maker *m, const char *name, const as_shape *shape, int64_t fan_in)
{
    return as_maker_param_uniform(m, name, AS_F32, shape, fan_in);
}

int as_maker_constant(as_maker *m, const char *name, const as_view *view)
{
    if (!shape_check(m, "constant", name ? name : "", view->dtype, &view->shape))
        return -1;
    if (!name && !(name = made_up(m, &m->value_names, "constant")))
        return fail_memory(m, "a constant");
    void *data = elements_take(m, "constant", name, view->dtype, &view->shape);
    if (!data)
        return -1;
    as_view copy = as_view_of(data, view->dtype, &view->shape);
    as_view_copy(&copy, view);
    as_value value = {.name = name, .role = AS_ROLE_CONSTANT, .dtype = view->dtype, .data = data, .producer = -1};
    as_dims_of_shape(&view->shape, &value.dims);
    return value_add(m, value, "constant");
}

int as_maker_constant_borrow(as_maker *m, const char *name, as_dtype dtype, const as_shape *shape, const void *data)
{
    if (!shape_check(m, "constant", name, dtype, shape))
        return -1;
    size_t bytes = (size_t)as_shape_count(shape) * as_dtype_bytes(dtype);
    if (!as_dtype_aligned(dtype, data) && bytes <= MAX_COPIED_BYTES) {
        void *own = elements_take(m, "constant", name, dtype, shape);
        if (!own)
            return -1;
        data = memcpy(own, data, bytes);
    }
    as_value value = {.name = name, .role = AS_ROLE_CONSTANT, .dtype = dtype, .data = data, .producer = -1};
    as_dims_of_shape(shape, &value.dims);
    return value_add(m, value, "constant");
}

int as_maker_value_find(const as_maker *m, const char *name) { return find(m, &m->value_names, name); }

int as_maker_node_find(const as_maker *m, const char *name) { return find(m, &m->node_names, name); }

const as_map *as_maker_map(as_maker *m, as_map *map, const char *name)
{
    as_map_link *link = AS_TAKE(&m->model->arena, as_map_link, 1);
    if (!link || (name && !as_model_file_add(m->model, name))) {
        as_map_close(map);
        fail_memory(m, "a mapped file");
        return NULL;
    }
    *link = (as_map_link){.map = *map, .next = m->model->maps};
    m->model->maps = link;
    *map = (as_map){0};
    return &link->map;
}

/* --- Nodes -------------------------------------------------------------------------------------- */

static const void *copy_of(as_arena *arena, const void *data, size_t n, size_t bytes_each)
{
    void *copy = as_arena_take(arena, n, bytes_each, 8);
    if (copy && n)
        memcpy(copy, data, n * bytes_each);
    return copy;
}

static bool attr_copy(as_arena *arena, const as_attr *from, as_attr *to)
{
    *to = *from;
    to->name = as_arena_text(arena, from->name);
    bool ok = to->name != NULL;
    if (from->text)
        ok &= (to->text = as_arena_text(arena, from->text)) != NULL;
    if (from->ints)
        ok &= (to->ints = copy_of(arena, from->ints, from->n, sizeof *from->ints)) != NULL;
    if (from->floats)
        ok &= (to->floats = copy_of(arena, from->floats, from->n, sizeof *from->floats)) != NULL;
    if (from->texts) {
        const char **texts = AS_TAKE(arena, const char *, from->n);
        ok &= texts != NULL;
        for (size_t i = 0; texts && i < from->n; i++)
            ok &= (texts[i] = as_arena_text(arena, from->texts[i])) != NULL;
        to->texts = texts;
    }
    if (from->tensor) {
        const as_view *t = from->tensor;
        void          *data = as_arena_take(arena, (size_t)as_shape_count(&t->shape), as_dtype_bytes(t->dtype), 8);
        as_view       *view = AS_TAKE(arena, as_view, 1);
        ok &= data && view;
        if (data && view) {
            *view = as_view_of(data, t->dtype, &t->shape);
            as_view_copy(view, t);
            to->tensor = view;
        }
    }
    return ok;
}

const as_op *as_maker_op(as_maker *m, const char *name)
{
    const as_op *op = as_op_find(name);
    char         hint[160];
    if (!op)
        as_maker_fail(m, "unknown operator '%s'%s", name, as_hint(hint, sizeof hint, name, as_op_names(&m->model->arena), '\''));
    return op;
}

/* "assay.ConvGradW" -> "convgradw" */
static void stem_of(const char *op, char *out, size_t size)
{
    const char *dot = strrchr(op, '.');
    size_t      n = 0;
    for (const char *s = dot ? dot + 1 : op; *s && n + 1 < size; s++)
        out[n++] = (char)tolower((unsigned char)*s);
    out[n] = '\0';
}

static const char *node_name(as_maker *m, const char *op, const char *name)
{
    if (!name) {
        char stem[64];
        stem_of(op, stem, sizeof stem);
        if (!(name = made_up(m, &m->node_names, stem)))
            fail_memory(m, "a node");
        return name;
    }
    if (!name_ok(m, "node", name))
        return NULL;
    if (find(m, &m->node_names, name) >= 0) {
        as_maker_fail(m, "two nodes have the name '%s'", name);
        return NULL;
    }
    if (!(name = as_arena_text(&m->model->arena, name)))
        fail_memory(m, "a node");
    return name;
}

/* The value for output i of the node: one that was referred to by name before, or a new one. */
static int output_add(as_maker *m, const char *node, int i, const char *given)
{
    char name[AS_MAX_NAME_BYTES + 16];
    if (given)
        snprintf(name, sizeof name, "%s", given);
    else
        snprintf(name, sizeof name, i ? "%s:%d" : "%s", node, i);
    if (given && !name_ok(m, "value", given))
        return -1;
    int id = find(m, &m->value_names, name);
    if (id >= 0 && m->values[id].role == AS_ROLE_COMPUTED && m->values[id].producer < 0) {
        m->values[id].producer = m->n_nodes;
        return id;
    }
    return value_add(m, (as_value){.name = name, .role = AS_ROLE_COMPUTED, .producer = m->n_nodes}, "value");
}

static bool counts_ok(as_maker *m, const as_op *op, const char *name, int n_in, int n_out, int n_attrs)
{
    int max_in = op->max_in < AS_MAX_IN ? op->max_in : AS_MAX_IN, max_out = op->max_out < AS_MAX_OUT ? op->max_out : AS_MAX_OUT;
    if (m->n_nodes >= AS_MAX_NODES)
        as_maker_fail(m, "more than %d nodes", AS_MAX_NODES);
    else if (n_in < op->min_in || n_in > max_in)
        as_maker_fail(m, "%s '%s' has %d inputs and takes %d to %d", op->name, name, n_in, op->min_in, max_in);
    else if (n_out < 1 || n_out < op->min_out || n_out > max_out)
        as_maker_fail(m, "%s '%s' has %d outputs and gives %d to %d", op->name, name, n_out, op->min_out, max_out);
    else if (n_attrs < 0)
        as_maker_fail(m, "%s '%s' has %d attributes", op->name, name, n_attrs);
    else
        return true;
    return false;
}

typedef struct node_parts {
    const as_op       *op;
    const char        *name;
    const int         *in;
    int                n_in, n_formal;
    const as_attr     *attrs;
    int                n_attrs;
    const as_body     *bodies;
    int                n_bodies;
    int                n_out;
    const char *const *out_names;
} node_parts;

static int node_add(as_maker *m, const node_parts *p, int *outs)
{
    const as_op *op = p->op;
    const char  *name = p->name;
    if (!counts_ok(m, op, name ? name : "", p->n_formal, p->n_out, p->n_attrs) || !(name = node_name(m, op->name, name)))
        return -1;
    as_arena *arena = &m->model->arena;
    int      *in_copy = AS_TAKE(arena, int, p->n_in), *out_ids = AS_TAKE(arena, int, p->n_out);
    as_attr  *attr_copies = AS_TAKE(arena, as_attr, p->n_attrs);
    bool      ok = in_copy && out_ids && attr_copies && GROW(m->nodes, m->cap_nodes, m->n_nodes);
    for (int i = 0; ok && i < p->n_attrs; i++)
        ok = attr_copy(arena, &p->attrs[i], &attr_copies[i]);
    if (!ok)
        return fail_memory(m, "a node");
    for (int i = 0; i < p->n_in; i++) {
        assert(p->in[i] < m->n_values);
        in_copy[i] = p->in[i];
        if (p->in[i] < 0 && i < op->min_in) {
            as_maker_fail(m, "%s '%s': input %d is absent and it needs the first %d", op->name, name, i, op->min_in);
            return -1;
        }
    }
    for (int i = 0; i < p->n_out; i++)
        if ((out_ids[i] = output_add(m, name, i, p->out_names ? p->out_names[i] : NULL)) < 0)
            return -1;
    int id = m->n_nodes++;
    m->nodes[id] = (as_node){.name = name,
                             .module = m->module,
                             .place = m->stands,
                             .op = op,
                             .in = in_copy,
                             .out = out_ids,
                             .n_in = p->n_in,
                             .n_out = p->n_out,
                             .attrs = attr_copies,
                             .n_attrs = p->n_attrs,
                             .bodies = p->bodies,
                             .n_bodies = p->n_bodies,
                             .n_formal = p->n_formal};
    if (!table_add(m, &m->node_names, name, id))
        return fail_memory(m, "a node");
    if (outs)
        memcpy(outs, out_ids, (size_t)p->n_out * sizeof *outs);
    return out_ids[0];
}

int as_maker_node(as_maker *m, const char *op_name, const char *name, const int *in, int n_in, const as_attr *attrs, int n_attrs,
                  int *outs, int n_out, const char *const *out_names)
{
    node_parts p = {.op = m->failure == ASSAY_OK ? as_maker_op(m, op_name) : NULL,
                    .name = name,
                    .in = in,
                    .attrs = attrs,
                    .n_attrs = n_attrs,
                    .n_out = n_out,
                    .out_names = out_names};
    while (n_in > 0 && in[n_in - 1] < 0)
        n_in--; /* trailing absent inputs are cut */
    p.n_in = p.n_formal = n_in;
    return p.op ? node_add(m, &p, outs) : -1;
}

/* --- Subgraphs ----------------------------------------------------------------------------------- */

int as_maker_formal(as_maker *m, const char *name)
{
    int id = value_add(m, (as_value){.name = name, .role = AS_ROLE_COMPUTED, .producer = -1}, "input");
    if (id < 0)
        return -1;
    if (!GROW(m->inputs, m->cap_inputs, m->n_inputs))
        return fail_memory(m, "an input");
    m->inputs[m->n_inputs++] = id;
    return id;
}

int as_maker_capture(as_maker *m)
{
    int n_formal = m->n_inputs;
    for (int i = 0; i < n_formal; i++)
        m->values[m->inputs[i]].role = AS_ROLE_INPUT;
    for (int i = 0; i < m->n_values && m->failure == ASSAY_OK; i++)
        if (m->values[i].role == AS_ROLE_COMPUTED && m->values[i].producer < 0) {
            if (!GROW(m->inputs, m->cap_inputs, m->n_inputs))
                return fail_memory(m, "an input");
            m->values[i].role = AS_ROLE_INPUT;
            m->inputs[m->n_inputs++] = i;
        }
    return n_formal;
}

void as_maker_adopt(as_maker *m, assay_model *body)
{
    as_model_link *link = AS_TAKE(&m->model->arena, as_model_link, 1);
    if (!link) {
        assay_model_free(body);
        fail_memory(m, "a subgraph");
        return;
    }
    *link = (as_model_link){.model = body, .next = m->model->bodies};
    m->model->bodies = link;
}

int as_maker_control(as_maker *m, const as_op *op, const char *name, const int *in, int n_in, int n_formal, const as_attr *attrs,
                     int n_attrs, const as_body *bodies, int n_bodies, int n_out, const char *const *out_names)
{
    node_parts p = {.op = op,
                    .name = name,
                    .in = in,
                    .n_in = n_in,
                    .n_formal = n_formal,
                    .attrs = attrs,
                    .n_attrs = n_attrs,
                    .bodies = bodies,
                    .n_bodies = n_bodies,
                    .n_out = n_out,
                    .out_names = out_names};
    return m->failure == ASSAY_OK ? node_add(m, &p, NULL) : -1;
}

void as_maker_output(as_maker *m, int value)
{
    if (m->failure != ASSAY_OK)
        return;
    if (value < 0 || value >= m->n_values) {
        as_maker_fail(m, "an output is not a value of the model");
        return;
    }
    if (m->is_output[value]) {
        as_maker_fail(m, "'%s' is an output twice", m->values[value].name);
    } else if (!GROW(m->outputs, m->cap_outputs, m->n_outputs)) {
        fail_memory(m, "an output");
    } else {
        m->outputs[m->n_outputs++] = value;
        m->is_output[value] = true;
    }
}

/* --- Finishing ---------------------------------------------------------------------------------- */

enum { HINT_WORDS = 1000 }; /* no suggestions for more names than this */

/* --- A whole model ------------------------------------------------------------------------------ */

static int value_include(as_maker *m, const as_value *v)
{
    as_shape shape = as_shape_of_dims(&v->dims);
    switch (v->role) {
    case AS_ROLE_INPUT: return as_maker_input(m, v->name, v->dtype, &v->dims);
    case AS_ROLE_PARAM: return as_maker_param(m, v->name, v->dtype, &shape, v->data, false);
    case AS_ROLE_CONSTANT: return as_maker_constant_borrow(m, v->name, v->dtype, &shape, v->data);
    case AS_ROLE_COMPUTED: break;
    }
    return -1;
}

void as_maker_include(as_maker *m, const assay_model *model, int *ids)
{
    for (int i = 0; i < model->n_values && m->failure == ASSAY_OK; i++)
        ids[i] = value_include(m, &model->values[i]);
    for (int i = 0; i < model->n_nodes && m->failure == ASSAY_OK; i++) {
        const as_node *n = &model->nodes[i];
        int            in[AS_MAX_IN], out[AS_MAX_OUT];
        const char    *names[AS_MAX_OUT];
        for (int k = 0; k < n->n_in; k++)
            in[k] = n->in[k] < 0 ? -1 : ids[n->in[k]];
        for (int k = 0; k < n->n_out; k++)
            names[k] = model->values[n->out[k]].name;
        as_maker_module(m, n->module ? n->module : "");
        as_maker_place(m, &n->place);
        if (as_maker_node(m, n->op->name, n->name, in, n->n_in, n->attrs, n->n_attrs, out, n->n_out, names) < 0)
            return;
        for (int k = 0; k < n->n_out; k++)
            ids[n->out[k]] = out[k];
    }
    as_maker_module(m, "");
    as_maker_place(m, &(as_train_place){0});
}

static void fail_undefined(as_maker *m, const char *reader, int value)
{
    const char *words[HINT_WORDS + 1];
    int         n = 0;
    for (int i = 0; i < m->n_values && n < HINT_WORDS; i++)
        if (m->values[i].role != AS_ROLE_COMPUTED || m->values[i].producer >= 0)
            words[n++] = m->values[i].name;
    words[n] = NULL;
    char        hint[2 * AS_MAX_NAME_BYTES];
    const char *name = m->values[value].name, *what = "is not an input, parameter, constant or result of a node";
    as_hint(hint, sizeof hint, name, words, '\'');
    if (reader)
        as_maker_fail(m, "node '%s' reads '%s', which %s%s", reader, name, what, hint);
    else
        as_maker_fail(m, "the output '%s' %s%s", name, what, hint);
}

static bool all_defined(as_maker *m)
{
    for (int i = 0; i < m->n_nodes; i++)
        for (int k = 0; k < m->nodes[i].n_in; k++) {
            int v = m->nodes[i].in[k];
            if (v >= 0 && m->values[v].role == AS_ROLE_COMPUTED && m->values[v].producer < 0) {
                fail_undefined(m, m->nodes[i].name, v);
                return false;
            }
        }
    for (int i = 0; i < m->n_outputs; i++) {
        const as_value *v = &m->values[m->outputs[i]];
        if (v->role == AS_ROLE_COMPUTED && v->producer < 0) {
            fail_undefined(m, NULL, m->outputs[i]);
            return false;
        }
    }
    return true;
}

typedef struct frame {
    int node, next_in;
} frame;
enum { UNSEEN = 0, OPEN, DONE };

/* Sorts nodes so that producers come first: depth first, starting from the nodes in the order in which they were added, so that a
 * sorted list does not change.  Returns how many, -1 after a failure. */
static int visit(as_maker *m, const int *roots, int n_roots, unsigned char *state, frame *stack, int *order)
{
    int n = 0;
    for (int r = 0; r < n_roots; r++) {
        if (state[roots[r]] != UNSEEN)
            continue;
        int depth = 0;
        stack[depth++] = (frame){roots[r], 0};
        state[roots[r]] = OPEN;
        while (depth) {
            frame         *top = &stack[depth - 1];
            const as_node *node = &m->nodes[top->node];
            if (top->next_in == node->n_in) {
                state[top->node] = DONE;
                order[n++] = top->node;
                depth--;
                continue;
            }
            int v = node->in[top->next_in++], producer = v < 0 ? -1 : m->values[v].producer;
            if (producer < 0 || state[producer] == DONE)
                continue;
            if (state[producer] == OPEN) {
                as_maker_fail(m, "a cycle: node '%s' reads '%s', which depends on the node's own result", node->name,
                              m->values[v].name);
                return -1;
            }
            state[producer] = OPEN;
            stack[depth++] = (frame){producer, 0};
        }
    }
    return n;
}

typedef struct sorter {
    int           *order, *roots, *new_node, *new_value;
    unsigned char *state;
    frame         *stack;
} sorter;

/* The nodes to keep, sorted, in s->order; returns how many, -1 after a failure. */
static int sort(as_maker *m, sorter *s)
{
    int n = m->n_nodes, n_roots = 0;
    for (int i = 0; i < n; i++)
        s->roots[n_roots++] = i;
    if (m->prune) {
        /* First finds the nodes that the outputs need, then takes them in the order in which they were added. */
        n_roots = 0;
        for (int i = 0; i < m->n_outputs; i++)
            if (m->values[m->outputs[i]].producer >= 0)
                s->roots[n_roots++] = m->values[m->outputs[i]].producer;
        if (visit(m, s->roots, n_roots, s->state, s->stack, s->order) < 0)
            return -1;
        n_roots = 0;
        for (int i = 0; i < n; i++)
            if (s->state[i] == DONE)
                s->roots[n_roots++] = i;
        memset(s->state, UNSEEN, (size_t)n);
    }
    return visit(m, s->roots, n_roots, s->state, s->stack, s->order);
}

/* Which values stay: all, or when pruning those that a node or an output still reads, and the inputs and params. */
static int values_number(as_maker *m, const sorter *s, int n_kept)
{
    for (int i = 0; i < m->n_values; i++)
        s->new_value[i] = !m->prune || m->values[i].role == AS_ROLE_INPUT || m->values[i].role == AS_ROLE_PARAM ? 0 : -1;
    for (int i = 0; i < n_kept; i++) {
        const as_node *node = &m->nodes[s->order[i]];
        for (int k = 0; k < node->n_in; k++)
            if (node->in[k] >= 0)
                s->new_value[node->in[k]] = 0;
        for (int k = 0; k < node->n_out; k++)
            s->new_value[node->out[k]] = 0;
    }
    for (int i = 0; i < m->n_outputs; i++)
        s->new_value[m->outputs[i]] = 0;
    int n = 0;
    for (int i = 0; i < m->n_values; i++)
        if (!s->new_value[i])
            s->new_value[i] = n++;
    return n;
}

static const int *ids_map(as_arena *arena, const int *ids, int n, const int *map)
{
    int *mapped = AS_TAKE(arena, int, n);
    for (int i = 0; mapped && i < n; i++)
        mapped[i] = ids[i] < 0 ? -1 : map[ids[i]];
    return mapped;
}

static bool hand_over(as_maker *m, const sorter *s, int n_kept)
{
    assay_model *model = m->model;
    as_arena    *arena = &model->arena;
    model->n_values = values_number(m, s, n_kept);
    model->n_nodes = n_kept;
    model->n_inputs = m->n_inputs;
    model->n_outputs = m->n_outputs;
    model->values = AS_TAKE(arena, as_value, model->n_values);
    model->nodes = AS_TAKE(arena, as_node, n_kept);
    model->inputs = (int *)ids_map(arena, m->inputs, m->n_inputs, s->new_value);
    model->outputs = (int *)ids_map(arena, m->outputs, m->n_outputs, s->new_value);
    if (!model->values || !model->nodes || !model->inputs || !model->outputs)
        return false;
    for (int i = 0; i < n_kept; i++)
        s->new_node[s->order[i]] = i;
    for (int i = 0; i < m->n_values; i++)
        if (s->new_value[i] >= 0) {
            as_value *v = &model->values[s->new_value[i]];
            *v = m->values[i];
            v->producer = v->producer < 0 ? -1 : s->new_node[v->producer];
        }
    for (int i = 0; i < n_kept; i++) {
        as_node *node = &model->nodes[i];
        *node = m->nodes[s->order[i]];
        node->in = ids_map(arena, node->in, node->n_in, s->new_value);
        node->out = ids_map(arena, node->out, node->n_out, s->new_value);
        if (!node->in || !node->out)
            return false;
    }
    return true;
}

static void finish(as_maker *m)
{
    if (!m->n_outputs)
        as_maker_fail(m, "it has no output");
    if (m->failure != ASSAY_OK || !all_defined(m))
        return;
    as_arena arena = {0};
    size_t   n = (size_t)(m->n_nodes > m->n_outputs ? m->n_nodes : m->n_outputs);
    sorter   s = {.order = AS_TAKE(&arena, int, n),
                  .roots = AS_TAKE(&arena, int, n),
                  .new_node = AS_TAKE(&arena, int, n),
                  .new_value = AS_TAKE(&arena, int, m->n_values),
                  .state = AS_TAKE(&arena, unsigned char, n),
                  .stack = AS_TAKE(&arena, frame, n)};
    if (!s.order || !s.roots || !s.new_node || !s.new_value || !s.state || !s.stack) {
        fail_memory(m, "sorting the nodes");
    } else {
        int n_kept = sort(m, &s);
        if (n_kept >= 0 && !hand_over(m, &s, n_kept))
            fail_memory(m, "the sorted graph");
    }
    as_arena_drop(&arena);
}

assay_status as_maker_finish(as_maker *m, assay_model **out)
{
    as_maker_at(m, "%s", "");
    if (m->failure == ASSAY_OK)
        finish(m);
    assay_status status = m->failure;
    if (status == ASSAY_OK) {
        *out = m->model;
        m->model = NULL;
    } else {
        as_fail(m->env, status, "%s", m->message); /* again: other calls may have changed the message since */
    }
    maker_free(m);
    return status;
}
