/* onnx_tensor.c - TensorProto: dtype, dims, and values as raw bytes, typed lists or in a file of their own. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/onnx/onnx_read.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw tensors are used in place on little-endian hosts only");

static const as_dtype dtypes[] = {
    [1] = AS_F32,     [2] = AS_U8,          [3] = AS_I8,    [4] = AS_U16,       [5] = AS_I16,
    [6] = AS_I32,     [7] = AS_I64,         [9] = AS_BOOL,  [10] = AS_F16,      [11] = AS_F64,
    [12] = AS_U32,    [13] = AS_U64,        [16] = AS_BF16, [17] = AS_F8E4M3FN, [18] = AS_F8E4M3FNUZ,
    [19] = AS_F8E5M2, [20] = AS_F8E5M2FNUZ, [21] = AS_U4,   [22] = AS_I4,       [23] = AS_F4E2M1,
    [24] = AS_F8E8M0, [25] = AS_U2,         [26] = AS_I2,   [27] = AS_F6E2M3,   [28] = AS_F6E3M2,
};

/* For messages about unsupported types. */
static const char *const code_names[] = {
    "undefined",  "float",        "uint8",          "int8",       "uint16",         "int16",  "int32",     "int64",
    "string",     "bool",         "float16",        "double",     "uint32",         "uint64", "complex64", "complex128",
    "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",  "int4",      "float4e2m1",
    "float8e8m0", "uint2",        "int2",           "float6e2m3", "float6e3m2",
};

as_dtype as_onnx_dtype(int64_t code) { return code > 0 && (size_t)code < AS_COUNT(dtypes) ? dtypes[code] : AS_NONE; }

int as_onnx_dtype_code(as_dtype dtype)
{
    for (size_t i = 1; i < AS_COUNT(dtypes); i++)
        if (dtypes[i] == dtype && dtype != AS_NONE)
            return (int)i;
    return 0;
}

const char *as_onnx_code_name(int64_t code)
{
    return code >= 0 && (size_t)code < AS_COUNT(code_names) ? code_names[code] : "unknown";
}

assay_status as_onnx_text(assay_env *env, const char *path, as_arena *arena, as_pb_span span, const char **out)
{
    if (span.n && memchr(span.data, 0, span.n))
        return as_fail(env, ASSAY_BAD_INPUT, "onnx: %s: the text '%.*s' has a zero byte inside", path, AS_SPAN(span));
    const char *text = as_arena_text_n(arena, span.n ? (const char *)span.data : "", span.n);
    if (!text)
        return as_fail(env, ASSAY_NO_MEMORY, "onnx: %s: not enough memory for a text of %zu bytes", path, span.n);
    *out = text;
    return ASSAY_OK;
}

assay_status as_onnx_broken(assay_env *env, const char *path, const char *what, const as_pb_reader *r)
{
    return as_fail(env, ASSAY_BAD_INPUT, "onnx: %s: cannot read %s: %s", path, what,
                   r->error ? r->error : "a field has the wrong wire type");
}

/* --- Typed lists ------------------------------------------------------------------------------------- */

typedef struct list {
    uint32_t   field;
    as_pb_wire wire;
} list;

/* The field in which a tensor of this dtype keeps its values when they are not raw. */
static list list_of(as_dtype dtype)
{
    switch (dtype) {
    case AS_F32: return (list){4, AS_PB_FIXED32};
    case AS_F64: return (list){10, AS_PB_FIXED64};
    case AS_I64: return (list){7, AS_PB_VARINT};
    case AS_U32:
    case AS_U64: return (list){11, AS_PB_VARINT};
    default: return (list){5, AS_PB_VARINT};
    }
}

static bool is_list(uint32_t field) { return field == 4 || field == 5 || field == 7 || field == 10 || field == 11; }

static bool is_packed(as_dtype dtype) { return as_dtype_bits(dtype) < 8; }

/* How many elements a number of a typed list holds: a whole byte of elements of 4 and 2 bits, otherwise one. */
static unsigned per_number(as_dtype dtype)
{
    int bits = as_dtype_bits(dtype);
    return bits == 4 || bits == 2 ? 8 / (unsigned)bits : 1;
}

/* Unpacks a number of a typed list, which may be only partly used if it is the last; returns where the next goes. */
static uint8_t *number_put(uint8_t *out, const uint8_t *end, as_dtype dtype, uint64_t value)
{
    uint8_t low = (uint8_t)value;
    if (is_packed(dtype)) {
        for (unsigned i = 0; i < per_number(dtype) && out < end; i++)
            *out++ = as_packed_get(dtype, &low, i);
        return out;
    }
    if (dtype == AS_BOOL)
        value = value != 0;
    memcpy(out, &value, as_dtype_bytes(dtype)); /* the low bytes come first */
    return out + as_dtype_bytes(dtype);
}

static void raw_fill(const as_onnx_tensor *t, uint8_t *out)
{
    if (is_packed(t->dtype)) {
        for (size_t i = 0; i < as_onnx_tensor_size(t); i++)
            out[i] = as_packed_get(t->dtype, t->raw.data, i);
        return;
    }
    for (size_t i = 0; i < t->raw.n; i++)
        out[i] = t->dtype == AS_BOOL ? t->raw.data[i] != 0 : t->raw.data[i];
}

void as_onnx_tensor_fill(const as_onnx_tensor *t, void *out)
{
    uint8_t       *at = out;
    const uint8_t *end = at + as_onnx_tensor_size(t);
    if (t->has_raw) {
        raw_fill(t, out);
        return;
    }
    list         l = list_of(t->dtype);
    as_pb_reader r = as_pb_read(t->message);
    for (as_pb_field f; as_pb_next(&r, &f);) {
        if (f.number != l.field)
            continue;
        if (f.wire == l.wire) {
            at = number_put(at, end, t->dtype, f.value);
        } else if (l.wire == AS_PB_VARINT) {
            as_pb_reader numbers = as_pb_read(f.bytes);
            for (uint64_t value; numbers.at != numbers.end && as_pb_varint(&numbers, &value);)
                at = number_put(at, end, t->dtype, value);
        } else if (f.bytes.n) { /* f32 and f64: the list's bytes are the elements */
            memcpy(at, f.bytes.data, f.bytes.n);
            at += f.bytes.n;
        }
    }
}

size_t as_onnx_tensor_size(const as_onnx_tensor *t) { return (size_t)as_shape_count(&t->shape) * as_dtype_bytes(t->dtype); }

size_t as_onnx_tensor_raw_size(const as_onnx_tensor *t)
{
    return is_packed(t->dtype) ? as_packed_bytes(t->dtype, (size_t)as_shape_count(&t->shape)) : as_onnx_tensor_size(t);
}

const void *as_onnx_tensor_bytes(const as_onnx_tensor *t)
{
    if (t->has_raw)
        return t->dtype != AS_BOOL && !is_packed(t->dtype) && t->raw.n ? t->raw.data : NULL;
    bool whole = t->list.n && t->list.n == as_onnx_tensor_size(t) && t->list_field == list_of(t->dtype).field;
    return whole && (t->dtype == AS_F32 || t->dtype == AS_F64) ? t->list.data : NULL;
}

/* --- Reading ------------------------------------------------------------------------------------------ */

static assay_status refuse(assay_env *env, const char *path, const as_onnx_tensor *t, const char *why)
{
    return as_fail(env, ASSAY_BAD_INPUT, "onnx: %s: tensor '%.*s': %s", path, AS_SPAN(t->name), why);
}

static bool number_of(as_pb_span text, uint64_t *out)
{
    uint64_t value = 0;
    if (!text.n || text.n > 19)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    *out = value;
    return true;
}

static bool key_is(as_pb_span key, const char *word) { return key.n == strlen(word) && !memcmp(key.data, word, key.n); }

/* One StringStringEntryProto of external_data. */
static assay_status entry_read(assay_env *env, const char *path, as_onnx_tensor *t, as_pb_span message)
{
    as_pb_span   key = {0}, value = {0};
    as_pb_reader r = as_pb_read(message);
    for (as_pb_field f; as_pb_next(&r, &f);)
        if (f.wire == AS_PB_BYTES && f.number == 1)
            key = f.bytes;
        else if (f.wire == AS_PB_BYTES && f.number == 2)
            value = f.bytes;
    if (r.error)
        return as_onnx_broken(env, path, "external_data", &r);
    if (!key.n)
        return refuse(env, path, t, "external_data has an entry without a key");
    if (key_is(key, "location"))
        t->location = value;
    else if (key_is(key, "offset") && !number_of(value, &t->offset))
        return refuse(env, path, t, "the offset of its external data is not a number");
    else if (key_is(key, "length") && !(t->has_length = number_of(value, &t->length)))
        return refuse(env, path, t, "the length of its external data is not a number");
    return ASSAY_OK;
}

static assay_status dims_add(assay_env *env, const char *path, as_onnx_tensor *t, const as_pb_field *f)
{
    uint64_t dims[AS_MAX_RANK];
    size_t   n = as_pb_count(f, AS_PB_VARINT);
    if (n == SIZE_MAX)
        return refuse(env, path, t, "dims cannot be read");
    if (n > (size_t)(AS_MAX_RANK - t->shape.rank))
        return as_fail(env, ASSAY_BAD_INPUT, "onnx: %s: tensor '%.*s' has more than %d dims", path, AS_SPAN(t->name), AS_MAX_RANK);
    as_pb_numbers(f, AS_PB_VARINT, dims);
    for (size_t i = 0; i < n; i++)
        t->shape.dim[t->shape.rank++] = (int64_t)dims[i];
    return ASSAY_OK;
}

/* Checks that the values are in exactly one place, and as many as the dims say. */
static assay_status values_check(assay_env *env, const char *path, const as_onnx_tensor *t, const size_t *counts)
{
    uint64_t count = (uint64_t)as_shape_count(&t->shape), bytes = as_onnx_tensor_raw_size(t), per = per_number(t->dtype);
    char     shape[192];
    as_shape_show(&t->shape, shape, sizeof shape);
    if (t->external) {
        if (!t->location.n)
            return refuse(env, path, t, "its data are external and no location is given");
        if (t->has_length && t->length != bytes)
            return as_fail(env, ASSAY_BAD_INPUT,
                           "onnx: %s: tensor '%.*s' of %s %s needs %" PRIu64 " bytes and its external data have %" PRIu64, path,
                           AS_SPAN(t->name), as_dtype_name(t->dtype), shape, bytes, t->length);
        return ASSAY_OK;
    }
    if (t->has_raw) {
        if (t->raw.n != bytes)
            return as_fail(env, ASSAY_BAD_INPUT, "onnx: %s: tensor '%.*s' of %s %s needs %" PRIu64 " bytes and raw_data has %zu",
                           path, AS_SPAN(t->name), as_dtype_name(t->dtype), shape, bytes, t->raw.n);
        return ASSAY_OK;
    }
    size_t n = counts[list_of(t->dtype).field];
    count = count / per + (count % per != 0);
    if (n != count)
        return as_fail(env, ASSAY_BAD_INPUT, "onnx: %s: tensor '%.*s' of %s %s needs %" PRIu64 " values and its list has %zu", path,
                       AS_SPAN(t->name), as_dtype_name(t->dtype), shape, count, n);
    return ASSAY_OK;
}

static assay_status tensor_fields(assay_env *env, const char *path, as_onnx_tensor *t, int64_t *code, size_t *counts)
{
    as_pb_reader r = as_pb_read(t->message);
    for (as_pb_field f; as_pb_next(&r, &f);) {
        if (f.number == 1) {
            AS_TRY(dims_add(env, path, t, &f));
        } else if (is_list(f.number)) {
            list   l = f.number == 4 ? list_of(AS_F32) : f.number == 10 ? list_of(AS_F64) : (list){f.number, AS_PB_VARINT};
            size_t n = as_pb_count(&f, l.wire);
            if (n == SIZE_MAX)
                return refuse(env, path, t, "a list of its values cannot be read");
            counts[f.number] += n;
            if (f.wire == AS_PB_BYTES && l.wire != AS_PB_VARINT)
                t->list = f.bytes, t->list_field = f.number;
        } else if (f.wire == AS_PB_VARINT) {
            if (f.number == 2)
                *code = (int64_t)f.value;
            else if (f.number == 14)
                t->external = f.value == 1;
        } else if (f.wire == AS_PB_BYTES) {
            if (f.number == 3)
                return refuse(env, path, t, "it is one segment of a larger tensor, which is not supported");
            if (f.number == 8)
                t->name = f.bytes;
            else if (f.number == 9)
                t->raw = f.bytes, t->has_raw = true;
            else if (f.number == 13)
                AS_TRY(entry_read(env, path, t, f.bytes));
        }
    }
    return r.error ? as_onnx_broken(env, path, "a tensor", &r) : ASSAY_OK;
}

assay_status as_onnx_tensor_read(assay_env *env, const char *path, as_pb_span message, as_onnx_tensor *out)
{
    as_onnx_tensor t = {.message = message};
    int64_t        code = 0;
    size_t         counts[12] = {0};
    AS_TRY(tensor_fields(env, path, &t, &code, counts));
    t.dtype = as_onnx_dtype(code);
    if (t.dtype == AS_NONE)
        return as_fail(env, ASSAY_UNSUPPORTED, "onnx: %s: tensor '%.*s' has the data type %" PRId64 " (%s), which is not supported",
                       path, AS_SPAN(t.name), code, as_onnx_code_name(code));
    if (!as_shape_ok(&t.shape, t.dtype))
        return as_fail(env, ASSAY_BAD_INPUT, "onnx: %s: tensor '%.*s' of %s %s: a size is negative or their product too large",
                       path, AS_SPAN(t.name), as_dtype_name(t.dtype), as_shape_show(&t.shape, (char[192]){0}, 192));
    AS_TRY(values_check(env, path, &t, counts));
    *out = t;
    return ASSAY_OK;
}

/* --- Tensors in files of their own ---------------------------------------------------------------------- */

assay_status as_pb_tensor_parse(assay_env *env, const char *path, const uint8_t *data, size_t n, as_tensor *out)
{
    as_onnx_tensor t;
    as_tensor      made = {0};
    AS_TRY(as_onnx_tensor_read(env, path, (as_pb_span){data, n}, &t));
    if (t.external)
        return refuse(env, path, &t, "its data are in another file, which is possible in a model only");
    const void *bytes = as_onnx_tensor_bytes(&t);
    if (!bytes || (uintptr_t)bytes % as_dtype_bytes(t.dtype)) {
        size_t size = as_onnx_tensor_size(&t);
        if (!(made.owned = malloc(size ? size : 1)))
            return as_fail(env, ASSAY_NO_MEMORY, "onnx: %s: not enough memory for %zu bytes of values", path, size);
        as_onnx_tensor_fill(&t, made.owned);
        bytes = made.owned;
    }
    made.view = as_view_of((void *)(uintptr_t)bytes, t.dtype, &t.shape); /* only read */
    *out = made;
    return ASSAY_OK;
}

assay_status as_pb_tensor_load(assay_env *env, const char *path, as_tensor *out)
{
    as_map map;
    AS_TRY(as_map_open(env, "onnx", path, 0, &map));
    assay_status status = as_pb_tensor_parse(env, path, map.data, map.bytes, out);
    if (status != ASSAY_OK || out->owned)
        as_map_close(&map);
    else
        out->map = map;
    return status;
}
