/* safetensors.c - files of named tensors.
 *
 * The file: 8 bytes of header length (little-endian), a JSON object, the data.  The object gives each
 * name a dtype, a shape and data_offsets, [begin, end) within the data.  The tensors must tile the data:
 * no overlap, no hole, nothing left at the end, so that no byte is read twice or hidden. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tensor/dense.h"

#define METADATA "__metadata__"
enum { LENGTH_BYTES = 8, HEADER_MAX_BYTES = 100000000, DATA_ALIGN = 8 };

static const struct {
    const char *code;
    as_dtype    dtype;
} codes[] = {
    {"F64", AS_F64},   {"F32", AS_F32},          {"F16", AS_F16},        {"BF16", AS_BF16},      {"I8", AS_I8},   {"U8", AS_U8},
    {"I16", AS_I16},   {"U16", AS_U16},          {"I32", AS_I32},        {"U32", AS_U32},        {"I64", AS_I64}, {"U64", AS_U64},
    {"BOOL", AS_BOOL}, {"F8_E4M3", AS_F8E4M3FN}, {"F8_E5M2", AS_F8E5M2}, {"F8_E8M0", AS_F8E8M0},
};

/* --- Reading ---------------------------------------------------------------------------------- */

typedef struct reader {
    assay_env     *env;
    const char    *path;
    const uint8_t *data; /* after the header */
    uint64_t       data_bytes;
} reader;

/* One tensor whose position has not been checked yet. */
typedef struct entry {
    const char *name;
    as_dtype    dtype;
    as_shape    shape;
    uint64_t    begin, end;
} entry;

#define NAME_WIDTH "%.80s" /* a name in a message; names may be as long as the header */

static assay_status parse_dtype(const reader *r, const char *name, const json_t *value, as_dtype *out)
{
    const char *code = json_string_value(value);
    if (!code)
        return as_fail(r->env, ASSAY_BAD_INPUT, "safetensors: %s: " NAME_WIDTH ": dtype is not a string", r->path, name);
    for (size_t i = 0; i < AS_COUNT(codes); i++)
        if (!strcmp(code, codes[i].code)) {
            *out = codes[i].dtype;
            return ASSAY_OK;
        }
    return as_fail(r->env, ASSAY_BAD_INPUT,
                   "safetensors: %s: " NAME_WIDTH
                   ": elements of dtype \"%.40s\" are not supported; supported: F64 F32 F16 BF16 F8_E4M3 F8_E5M2 F8_E8M0 I8 U8 I16 "
                   "U16 I32 U32 I64 U64 BOOL",
                   r->path, name, code);
}

/* An array of at most `max` integers, none negative. */
static assay_status parse_numbers(const reader *r, const char *name, const char *key, const json_t *value, size_t max, int64_t *out,
                                  size_t *n)
{
    if (!json_is_array(value))
        return as_fail(r->env, ASSAY_BAD_INPUT, "safetensors: %s: " NAME_WIDTH ": %s is not an array", r->path, name, key);
    size_t count = json_array_size(value);
    if (count > max)
        return as_fail(r->env, ASSAY_BAD_INPUT, "safetensors: %s: " NAME_WIDTH ": %s has %zu numbers; at most %zu are possible",
                       r->path, name, key, count, max);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        if (!json_is_integer(item) || json_integer_value(item) < 0)
            return as_fail(r->env, ASSAY_BAD_INPUT, "safetensors: %s: " NAME_WIDTH ": %s[%zu] is not an integer from 0 on", r->path,
                           name, key, i);
        out[i] = json_integer_value(item);
    }
    *n = count;
    return ASSAY_OK;
}

static assay_status parse_offsets(const reader *r, const json_t *value, entry *e)
{
    int64_t at[2];
    size_t  n;
    AS_TRY(parse_numbers(r, e->name, "data_offsets", value, 2, at, &n));
    if (n != 2)
        return as_fail(r->env, ASSAY_BAD_INPUT, "safetensors: %s: " NAME_WIDTH ": data_offsets has %zu numbers, expected 2",
                       r->path, e->name, n);
    if (at[0] > at[1] || (uint64_t)at[1] > r->data_bytes)
        return as_fail(r->env, ASSAY_BAD_INPUT,
                       "safetensors: %s: " NAME_WIDTH ": data_offsets [%" PRId64 ",%" PRId64
                       "] do not lie in order within the %" PRIu64 " bytes of data",
                       r->path, e->name, at[0], at[1], r->data_bytes);
    e->begin = (uint64_t)at[0];
    e->end = (uint64_t)at[1];
    return ASSAY_OK;
}

static assay_status parse_entry(const reader *r, const char *name, json_t *value, entry *out)
{
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    entry                    e = {.name = name};
    const char              *key;
    json_t                  *ignored;
    char                     shape[192];
    if (!json_is_object(value))
        return as_fail(r->env, ASSAY_BAD_INPUT, "safetensors: %s: " NAME_WIDTH ": is not an object", r->path, name);
    json_object_foreach(value, key, ignored)
    {
        size_t k = 0;
        while (k < AS_COUNT(keys) && strcmp(key, keys[k]))
            k++;
        if (k == AS_COUNT(keys))
            return as_fail(r->env, ASSAY_BAD_INPUT,
                           "safetensors: %s: " NAME_WIDTH ": unknown key \"%.40s\"; known: dtype, shape, data_offsets", r->path,
                           name, key);
    }
    for (size_t k = 0; k < AS_COUNT(keys); k++)
        if (!json_object_get(value, keys[k]))
            return as_fail(r->env, ASSAY_BAD_INPUT, "safetensors: %s: " NAME_WIDTH ": has no %s", r->path, name, keys[k]);
    AS_TRY(parse_dtype(r, name, json_object_get(value, "dtype"), &e.dtype));
    size_t rank;
    AS_TRY(parse_numbers(r, name, "shape", json_object_get(value, "shape"), AS_MAX_RANK, e.shape.dim, &rank));
    e.shape.rank = (int)rank;
    AS_TRY(parse_offsets(r, json_object_get(value, "data_offsets"), &e));
    if (!as_shape_ok(&e.shape, e.dtype))
        return as_fail(r->env, ASSAY_BAD_INPUT, "safetensors: %s: " NAME_WIDTH ": shape %s of %s needs more than 2^63 - 1 bytes",
                       r->path, name, as_shape_show(&e.shape, shape, sizeof shape), as_dtype_name(e.dtype));
    uint64_t needs = (uint64_t)as_shape_count(&e.shape) * as_dtype_bytes(e.dtype);
    if (needs != e.end - e.begin)
        return as_fail(r->env, ASSAY_BAD_INPUT,
                       "safetensors: %s: " NAME_WIDTH ": shape %s of %s needs %" PRIu64 " bytes, data_offsets give %" PRIu64,
                       r->path, name, as_shape_show(&e.shape, shape, sizeof shape), as_dtype_name(e.dtype), needs, e.end - e.begin);
    *out = e;
    return ASSAY_OK;
}

/* Checked, then dropped: nothing here uses it. */
static assay_status check_metadata(const reader *r, json_t *value)
{
    const char *key;
    json_t     *item;
    if (!json_is_object(value))
        return as_fail(r->env, ASSAY_BAD_INPUT, "safetensors: %s: " METADATA " is not an object", r->path);
    json_object_foreach(value, key, item) if (!json_is_string(item)) return as_fail(
        r->env, ASSAY_BAD_INPUT, "safetensors: %s: " METADATA ": \"%.40s\" is not a string", r->path, key);
    return ASSAY_OK;
}

/* File order; an empty tensor comes before the one that starts at the same place. */
static int by_place(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return strcmp(x->name, y->name);
}

static assay_status check_tiling(const reader *r, const entry *entries, size_t n)
{
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (entries[i].begin < at) /* i > 0, because at was 0 before */
            return as_fail(r->env, ASSAY_BAD_INPUT,
                           "safetensors: %s: " NAME_WIDTH " and " NAME_WIDTH " overlap at byte %" PRIu64 " of the data", r->path,
                           entries[i - 1].name, entries[i].name, entries[i].begin);
        if (entries[i].begin > at)
            return as_fail(r->env, ASSAY_BAD_INPUT,
                           "safetensors: %s: bytes %" PRIu64 " to %" PRIu64 " of the data, before " NAME_WIDTH
                           ", belong to no tensor",
                           r->path, at, entries[i].begin - 1, entries[i].name);
        at = entries[i].end;
    }
    if (at != r->data_bytes)
        return as_fail(r->env, ASSAY_BAD_INPUT,
                       "safetensors: %s: the tensors need %" PRIu64 " bytes after the header, the file has %" PRIu64, r->path, at,
                       r->data_bytes);
    return ASSAY_OK;
}

static assay_status no_memory(const reader *r, uint64_t bytes)
{
    return as_fail(r->env, ASSAY_NO_MEMORY, "safetensors: %s: not enough memory for %" PRIu64 " bytes", r->path, bytes);
}

static assay_status item_make(const reader *r, const entry *e, as_arena *arena, as_named_view *out)
{
    const uint8_t *data = r->data + e->begin;
    size_t         bytes = (size_t)(e->end - e->begin), align = as_dtype_bytes(e->dtype);
    const char    *name = as_arena_text(arena, e->name);
    if (!name)
        return no_memory(r, strlen(e->name) + 1);
    void *use = (void *)(uintptr_t)data;
    if ((uintptr_t)data % align) {
        use = as_arena_take(arena, bytes, 1, align);
        if (!use)
            return no_memory(r, bytes);
        memcpy(use, data, bytes);
    }
    *out = (as_named_view){name, as_view_of(use, e->dtype, &e->shape)};
    return ASSAY_OK;
}

/* From the parsed header to items; on failure the caller drops what this took from the arena. */
static assay_status items_make(const reader *r, json_t *root, entry *entries, as_safetensors *file)
{
    const char *name;
    json_t     *value;
    size_t      n = 0;
    json_object_foreach(root, name, value)
    {
        if (!strcmp(name, METADATA))
            AS_TRY(check_metadata(r, value));
        else
            AS_TRY(parse_entry(r, name, value, &entries[n++]));
    }
    if (n)
        qsort(entries, n, sizeof *entries, by_place);
    AS_TRY(check_tiling(r, entries, n));
    file->items = AS_TAKE(&file->arena, as_named_view, n);
    if (!file->items)
        return no_memory(r, n * sizeof *file->items);
    for (size_t i = 0; i < n; i++)
        AS_TRY(item_make(r, &entries[i], &file->arena, &file->items[i]));
    file->n_items = n;
    return ASSAY_OK;
}

static assay_status find_header(assay_env *env, const char *path, const uint8_t *data, size_t n, size_t *length)
{
    uint64_t wants = 0;
    if (n < LENGTH_BYTES)
        return as_fail(env, ASSAY_BAD_INPUT, "safetensors: %s: ends after %zu bytes, before the length of its header", path, n);
    for (int i = 0; i < LENGTH_BYTES; i++)
        wants |= (uint64_t)data[i] << (8 * i);
    if (wants > HEADER_MAX_BYTES)
        return as_fail(env, ASSAY_BAD_INPUT, "safetensors: %s: the header has %" PRIu64 " bytes; at most %d are possible", path,
                       wants, HEADER_MAX_BYTES);
    if (wants > n - LENGTH_BYTES)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "safetensors: %s: the header needs %" PRIu64 " bytes after its length, the file has %zu", path, wants,
                       n - LENGTH_BYTES);
    if (!wants || data[LENGTH_BYTES] != '{')
        return as_fail(env, ASSAY_BAD_INPUT, "safetensors: %s: the header does not start with '{'", path);
    *length = (size_t)wants;
    return ASSAY_OK;
}

assay_status as_safetensors_parse(assay_env *env, const char *path, const uint8_t *data, size_t n, as_safetensors *out)
{
    size_t  length = 0;
    json_t *root = NULL;
    AS_TRY(find_header(env, path, data, n, &length));
    AS_TRY(as_json_parse(env, "safetensors", path, (const char *)data + LENGTH_BYTES, length, &root));
    size_t         start = LENGTH_BYTES + length, n_entries = json_object_size(root);
    reader         r = {env, path, data + start, n - start};
    as_safetensors file = {0};
    entry         *entries = calloc(n_entries ? n_entries : 1, sizeof *entries);
    assay_status   status = entries ? items_make(&r, root, entries, &file) : no_memory(&r, n_entries * sizeof *entries);
    free(entries);
    json_decref(root);
    if (status != ASSAY_OK) {
        as_arena_drop(&file.arena);
        return status;
    }
    *out = file;
    return ASSAY_OK;
}

assay_status as_safetensors_load(assay_env *env, const char *path, as_safetensors *out)
{
    as_map         map;
    as_safetensors file;
    AS_TRY(as_map_open(env, "safetensors", path, 0, &map));
    assay_status status = as_safetensors_parse(env, path, map.data, map.bytes, &file);
    if (status != ASSAY_OK) {
        as_map_close(&map);
        return status;
    }
    file.map = map;
    *out = file;
    return ASSAY_OK;
}

void as_safetensors_drop(as_safetensors *file)
{
    as_arena_drop(&file->arena);
    as_map_close(&file->map);
    *file = (as_safetensors){0};
}

const as_view *as_safetensors_find(const as_safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->n_items; i++)
        if (!strcmp(file->items[i].name, name))
            return &file->items[i].view;
    return NULL;
}

/* --- Saving ----------------------------------------------------------------------------------- */

static const char *code_of(as_dtype dtype)
{
    for (size_t i = 0; i < AS_COUNT(codes); i++)
        if (codes[i].dtype == dtype)
            return codes[i].code;
    return NULL;
}

/* Wide elements first: if the data starts at a multiple of 8, every tensor is aligned without holes. */
static int by_width_and_name(const void *a, const void *b)
{
    const as_named_view *x = *(const as_named_view *const *)a, *y = *(const as_named_view *const *)b;
    size_t               wx = as_dtype_bytes(x->view.dtype), wy = as_dtype_bytes(y->view.dtype);
    return wx != wy ? (wx > wy ? -1 : 1) : strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    const as_named_view *x = *(const as_named_view *const *)a, *y = *(const as_named_view *const *)b;
    return strcmp(x->name, y->name);
}

/* Sorts by name while collecting. */
static assay_status check_items(assay_env *env, const char *path, const as_named_view **items, size_t n)
{
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = items[i]->name;
        if (!strcmp(name, METADATA))
            return as_fail(env, ASSAY_BAD_INPUT, "safetensors: %s: a tensor cannot be called " METADATA, path);
        if (!as_utf8_ok(name, strlen(name)))
            return as_fail(env, ASSAY_BAD_INPUT, "safetensors: %s: the name of tensor %zu, " NAME_WIDTH ", is not UTF-8", path, i,
                           name);
        AS_TRY(as_dense_check(env, "safetensors", path, name, &items[i]->view));
        if (!code_of(items[i]->view.dtype))
            return as_fail(env, ASSAY_UNSUPPORTED, "safetensors: %s: " NAME_WIDTH " is of %s, for which the format has no name",
                           path, name, as_dtype_name(items[i]->view.dtype));
        if (__builtin_add_overflow(total, as_view_bytes(&items[i]->view), &total) || total > INT64_MAX)
            return as_fail(env, ASSAY_BAD_INPUT, "safetensors: %s: %zu tensors need more than 2^63 - 1 bytes", path, n);
    }
    if (n)
        qsort(items, n, sizeof *items, by_name);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(items[i - 1]->name, items[i]->name))
            return as_fail(env, ASSAY_BAD_INPUT, "safetensors: %s: two tensors are called " NAME_WIDTH, path, items[i]->name);
    return ASSAY_OK;
}

static void write_json(FILE *file, const as_named_view *const *items, size_t n)
{
    as_json  w;
    uint64_t at = 0;
    as_json_start(&w, file, false);
    as_json_object(&w);
    for (size_t i = 0; i < n; i++) {
        const as_view *v = &items[i]->view;
        as_json_key(&w, items[i]->name);
        as_json_object(&w);
        as_json_key_text(&w, "dtype", code_of(v->dtype));
        as_json_key(&w, "shape");
        as_json_array(&w);
        for (int axis = 0; axis < v->shape.rank; axis++)
            as_json_i64(&w, v->shape.dim[axis]);
        as_json_array_end(&w);
        as_json_key(&w, "data_offsets");
        as_json_array(&w);
        as_json_u64(&w, at);
        as_json_u64(&w, at += as_view_bytes(v));
        as_json_array_end(&w);
        as_json_object_end(&w);
    }
    as_json_object_end(&w);
    /* No as_json_finish(): its line break would be padding that is not a space. */
}

/* The header's text, padded with spaces to a multiple of 8.  It is made in memory, because its
 * length comes before it. free() it. */
static assay_status header_make(assay_env *env, const char *path, const as_named_view *const *items, size_t n, char **text,
                                size_t *length)
{
    char  *made = NULL;
    size_t bytes = 0;
    FILE  *memory = open_memstream(&made, &bytes);
    if (memory) {
        write_json(memory, items, n);
        for (long at = ftell(memory); at > 0 && at % DATA_ALIGN; at++)
            fputc(' ', memory);
    }
    if (!memory || (ferror(memory) | fclose(memory))) {
        free(made);
        return as_fail(env, ASSAY_NO_MEMORY, "safetensors: %s: not enough memory for the header of %zu tensors", path, n);
    }
    if (bytes > HEADER_MAX_BYTES) {
        free(made);
        return as_fail(env, ASSAY_BAD_INPUT, "safetensors: %s: a header of %zu bytes, and at most %d can be read", path, bytes,
                       HEADER_MAX_BYTES);
    }
    *text = made;
    *length = bytes;
    return ASSAY_OK;
}

static assay_status write_file(assay_env *env, const char *path, const as_named_view *const *items, size_t n, const char *header,
                               size_t length)
{
    as_out  out;
    uint8_t le[LENGTH_BYTES];
    for (int i = 0; i < LENGTH_BYTES; i++)
        le[i] = (uint8_t)((uint64_t)length >> (8 * i));
    AS_TRY(as_out_open(env, path, &out));
    fwrite(le, 1, sizeof le, out.file);
    fwrite(header, 1, length, out.file);
    for (size_t i = 0; i < n; i++) {
        assay_status status = as_dense_write(env, "safetensors", path, &items[i]->view, items[i]->view.dtype, out.file);
        if (status != ASSAY_OK) {
            as_out_abandon(&out);
            return status;
        }
    }
    return as_out_commit(env, &out);
}

assay_status as_safetensors_save(assay_env *env, const char *path, const as_named_view *items, size_t n_items)
{
    char                 *header = NULL;
    size_t                length = 0;
    assay_status          status;
    const as_named_view **sorted = calloc(n_items ? n_items : 1, sizeof *sorted);
    if (!sorted)
        return as_fail(env, ASSAY_NO_MEMORY, "safetensors: %s: not enough memory to sort %zu tensors", path, n_items);
    for (size_t i = 0; i < n_items; i++)
        sorted[i] = &items[i];
    AS_TRY_OR(done, check_items(env, path, sorted, n_items));
    if (n_items)
        qsort(sorted, n_items, sizeof *sorted, by_width_and_name);
    AS_TRY_OR(done, header_make(env, path, sorted, n_items, &header, &length));
    status = write_file(env, path, sorted, n_items, header, length);
done:
    free(header);
    free(sorted);
    return status;
}
