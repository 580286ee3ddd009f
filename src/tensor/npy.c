/* npy.c - numpy's .npy files, versions 1 to 3.
 *
 * The file: "\x93NUMPY", two version bytes, the length of the header (2 bytes, from version 2 on 4), the
 * header, the elements.  The header is a Python dict literal with the keys descr, fortran_order and
 * shape.  A strict parser reads exactly that: a file is input from outside, and readers of this format
 * that evaluated the header have been attacked through it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/dense.h"

#define MAGIC "\x93NUMPY"
enum { MAGIC_BYTES = 6, HEADER_ALIGN = 64, QUOTED_MAX = 40 };

static const struct {
    char     code[3];
    as_dtype dtype;
} codes[] = {
    {"f2", AS_F16}, {"f4", AS_F32}, {"f8", AS_F64}, {"i1", AS_I8},  {"u1", AS_U8},  {"i2", AS_I16},
    {"u2", AS_U16}, {"i4", AS_I32}, {"u4", AS_U32}, {"i8", AS_I64}, {"u8", AS_U64}, {"b1", AS_BOOL},
};

/* --- The header ----------------------------------------------------------------------------- */

typedef struct header {
    as_dtype dtype;
    bool     is_swapped; /* big-endian, and more than one byte per element */
    bool     is_fortran;
    as_shape shape;
} header;

typedef struct parser {
    assay_env     *env;
    const char    *path;
    const uint8_t *start, *at, *end;
} parser;

typedef struct slice {
    const char *data;
    int         length;
} slice;

static bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void skip_space(parser *p)
{
    while (p->at < p->end && is_space(*p->at))
        p->at++;
}

/* Takes the character, after any white space, if it comes next. */
static bool take(parser *p, char c)
{
    skip_space(p);
    if (p->at == p->end || *p->at != (uint8_t)c)
        return false;
    p->at++;
    return true;
}

static assay_status expected(parser *p, const char *what)
{
    size_t where = (size_t)(p->at - p->start);
    if (p->at == p->end)
        return as_fail(p->env, ASSAY_BAD_INPUT, "npy: %s: the header ends at byte %zu, expected %s", p->path, where, what);
    return as_fail(p->env, ASSAY_BAD_INPUT, "npy: %s: header byte %zu is 0x%02x, expected %s", p->path, where, *p->at, what);
}

/* Cut for a message; a hostile header may hold megabytes of it. */
static slice shortened(slice s) { return (slice){s.data, s.length < QUOTED_MAX ? s.length : QUOTED_MAX}; }

static bool is_text(slice s, const char *text)
{
    return (size_t)s.length == strlen(text) && !memcmp(s.data, text, (size_t)s.length);
}

/* 'text' or "text"; escapes are refused, because nothing that we accept needs one. */
static assay_status parse_string(parser *p, const char *what, slice *out)
{
    skip_space(p);
    if (p->at == p->end || (*p->at != '\'' && *p->at != '"'))
        return expected(p, what);
    uint8_t        quote = *p->at++;
    const uint8_t *start = p->at;
    while (p->at < p->end && *p->at != quote && *p->at != '\\' && *p->at != '\n')
        p->at++;
    if (p->at == p->end || *p->at != quote || p->at - start > INT32_MAX)
        return expected(p, "the end of the string");
    *out = (slice){(const char *)start, (int)(p->at++ - start)};
    return ASSAY_OK;
}

static assay_status parse_descr(parser *p, header *h)
{
    slice descr;
    AS_TRY(parse_string(p, "a string such as '<f4' for descr (structured dtypes are not supported)", &descr));
    if (descr.length == 3 && memchr("<>|=", descr.data[0], 4))
        for (size_t i = 0; i < AS_COUNT(codes); i++)
            if (!memcmp(descr.data + 1, codes[i].code, 2)) {
                h->dtype = codes[i].dtype;
                h->is_swapped = descr.data[0] == '>' && as_dtype_bytes(h->dtype) > 1;
                return ASSAY_OK;
            }
    descr = shortened(descr);
    return as_fail(p->env, ASSAY_BAD_INPUT,
                   "npy: %s: elements of type '%.*s' are not supported; supported: f2 f4 f8 i1 u1 i2 u2 i4 u4 i8 u8 b1, "
                   "after one of < > | =",
                   p->path, descr.length, descr.data);
}

static assay_status parse_bool(parser *p, bool *out)
{
    static const char *const words[] = {"False", "True"};
    skip_space(p);
    for (size_t i = 0; i < AS_COUNT(words); i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(p->end - p->at) >= n && !memcmp(p->at, words[i], n)) {
            p->at += n;
            *out = i == 1;
            return ASSAY_OK;
        }
    }
    return expected(p, "True or False for fortran_order");
}

/* A decimal number; Python 2 wrote some of them with an L. */
static assay_status parse_dim(parser *p, int64_t *out)
{
    skip_space(p);
    const uint8_t *start = p->at;
    int64_t        value = 0;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *p->at - '0', &value))
            return as_fail(p->env, ASSAY_BAD_INPUT, "npy: %s: header byte %zu: a dimension above 2^63 - 1", p->path,
                           (size_t)(start - p->start));
    if (p->at == start)
        return expected(p, "a dimension of shape");
    if (p->at < p->end && *p->at == 'L')
        p->at++;
    *out = value;
    return ASSAY_OK;
}

/* (), (3,), (3, 4) or (3, 4,); (3) is not a tuple in Python, and not here. */
static assay_status parse_shape(parser *p, as_shape *out)
{
    as_shape shape = {0};
    if (!take(p, '('))
        return expected(p, "a tuple for shape");
    bool has_comma = true;
    while (!take(p, ')')) {
        if (!has_comma)
            return expected(p, "',' or ')' in shape");
        if (shape.rank == AS_MAX_RANK)
            return as_fail(p->env, ASSAY_BAD_INPUT, "npy: %s: shape has more than %d dimensions", p->path, AS_MAX_RANK);
        AS_TRY(parse_dim(p, &shape.dim[shape.rank++]));
        has_comma = take(p, ',');
        if (shape.rank == 1 && !has_comma)
            return expected(p, "',' in shape");
    }
    *out = shape;
    return ASSAY_OK;
}

static assay_status parse_header(parser *p, header *out)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    bool                     seen[AS_COUNT(keys)] = {false}, has_comma = true;
    header                   h = {0};
    if (!take(p, '{'))
        return expected(p, "'{'");
    while (!take(p, '}')) {
        slice  key;
        size_t k = 0;
        if (!has_comma)
            return expected(p, "',' or '}'");
        AS_TRY(parse_string(p, "a key in quotes", &key));
        while (k < AS_COUNT(keys) && !is_text(key, keys[k]))
            k++;
        key = shortened(key);
        if (k == AS_COUNT(keys))
            return as_fail(p->env, ASSAY_BAD_INPUT, "npy: %s: unknown key '%.*s' in the header; known: descr, fortran_order, shape",
                           p->path, key.length, key.data);
        if (seen[k])
            return as_fail(p->env, ASSAY_BAD_INPUT, "npy: %s: key '%s' is in the header twice", p->path, keys[k]);
        seen[k] = true;
        if (!take(p, ':'))
            return expected(p, "':'");
        AS_TRY(k == 0 ? parse_descr(p, &h) : k == 1 ? parse_bool(p, &h.is_fortran) : parse_shape(p, &h.shape));
        has_comma = take(p, ',');
    }
    skip_space(p);
    if (p->at < p->end)
        return expected(p, "nothing but white space after '}'");
    for (size_t k = 0; k < AS_COUNT(keys); k++)
        if (!seen[k])
            return as_fail(p->env, ASSAY_BAD_INPUT, "npy: %s: the header has no key '%s'", p->path, keys[k]);
    *out = h;
    return ASSAY_OK;
}

/* --- The elements --------------------------------------------------------------------------- */

static uint32_t u32_le(const uint8_t *p, size_t n_bytes)
{
    uint32_t value = 0;
    for (size_t i = 0; i < n_bytes; i++)
        value |= (uint32_t)p[i] << (8 * i);
    return value;
}

/* Finds the header's bytes: start and end. */
static assay_status find_header(assay_env *env, const char *path, const uint8_t *data, size_t n, size_t *start, size_t *end)
{
    size_t n_magic = n < MAGIC_BYTES ? n : MAGIC_BYTES;
    if (!n || memcmp(data, MAGIC, n_magic))
        return as_fail(env, ASSAY_BAD_INPUT, "npy: %s: not an npy file: it does not start with \\x93NUMPY", path);
    if (n < MAGIC_BYTES + 2)
        return as_fail(env, ASSAY_BAD_INPUT, "npy: %s: ends after %zu bytes, before its version", path, n);
    int major = data[MAGIC_BYTES], minor = data[MAGIC_BYTES + 1];
    if (major < 1 || major > 3 || minor)
        return as_fail(env, ASSAY_BAD_INPUT, "npy: %s: format version %d.%d is not supported; supported: 1.0, 2.0, 3.0", path,
                       major, minor);
    size_t length_bytes = major == 1 ? 2 : 4, at = MAGIC_BYTES + 2 + length_bytes;
    if (n < at)
        return as_fail(env, ASSAY_BAD_INPUT, "npy: %s: ends after %zu bytes, before the length of its header", path, n);
    size_t length = u32_le(data + at - length_bytes, length_bytes);
    if (length > n - at)
        return as_fail(env, ASSAY_BAD_INPUT, "npy: %s: the header needs %zu bytes after byte %zu, the file has %zu", path, length,
                       at, n - at);
    *start = at;
    *end = at + length;
    return ASSAY_OK;
}

static void copy_elements(uint8_t *dst, const uint8_t *src, size_t bytes, size_t bytes_each, bool is_swapped)
{
    if (!is_swapped) {
        memcpy(dst, src, bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i += bytes_each)
        for (size_t j = 0; j < bytes_each; j++)
            dst[i + j] = src[i + bytes_each - 1 - j];
}

static as_view view_of(const header *h, void *data)
{
    as_view view = as_view_of(data, h->dtype, &h->shape);
    int64_t stride = 1;
    for (int i = 0; h->is_fortran && i < h->shape.rank; i++) {
        view.stride[i] = stride;
        stride *= h->shape.dim[i] ? h->shape.dim[i] : 1; /* as_shape_ok() has counted the same way */
    }
    return view;
}

assay_status as_npy_look(assay_env *env, const char *path, const uint8_t *data, size_t n, as_npy_head *out)
{
    size_t start = 0, end = 0;
    header h = {0};
    char   shape[192];
    AS_TRY(find_header(env, path, data, n, &start, &end));
    AS_TRY(parse_header(&(parser){env, path, data, data + start, data + end}, &h));
    if (!as_shape_ok(&h.shape, h.dtype))
        return as_fail(env, ASSAY_BAD_INPUT, "npy: %s: shape %s of %s needs more than 2^63 - 1 bytes", path,
                       as_shape_show(&h.shape, shape, sizeof shape), as_dtype_name(h.dtype));
    size_t   bytes_each = as_dtype_bytes(h.dtype), has = n - end;
    uint64_t needs = (uint64_t)as_shape_count(&h.shape) * bytes_each;
    if (needs != has)
        return as_fail(env, ASSAY_BAD_INPUT, "npy: %s: shape %s of %s needs %" PRIu64 " bytes after the header, the file has %zu",
                       path, as_shape_show(&h.shape, shape, sizeof shape), as_dtype_name(h.dtype), needs, has);
    *out = (as_npy_head){.dtype = h.dtype, .shape = h.shape, .start = end, .is_swapped = h.is_swapped, .is_fortran = h.is_fortran};
    return ASSAY_OK;
}

assay_status as_npy_parse(assay_env *env, const char *path, const uint8_t *data, size_t n, as_tensor *out)
{
    as_npy_head head = {0};
    AS_TRY(as_npy_look(env, path, data, n, &head));
    header         h = {.dtype = head.dtype, .is_swapped = head.is_swapped, .is_fortran = head.is_fortran, .shape = head.shape};
    size_t         bytes_each = as_dtype_bytes(h.dtype), has = n - head.start;
    const uint8_t *elements = data + head.start;
    if (!h.is_swapped && (uintptr_t)elements % bytes_each == 0) {
        *out = (as_tensor){.view = view_of(&h, (void *)(uintptr_t)elements)};
        return ASSAY_OK;
    }
    uint8_t *owned = malloc(has ? has : 1);
    if (!owned)
        return as_fail(env, ASSAY_NO_MEMORY, "npy: %s: not enough memory for a copy of %zu bytes (%s in the file)", path, has,
                       h.is_swapped ? "big-endian" : "misaligned");
    copy_elements(owned, elements, has, bytes_each, h.is_swapped);
    *out = (as_tensor){.view = view_of(&h, owned), .owned = owned};
    return ASSAY_OK;
}

assay_status as_npy_load(assay_env *env, const char *path, as_tensor *out)
{
    as_map map;
    AS_TRY(as_map_open(env, "npy", path, 0, &map));
    as_tensor    tensor;
    assay_status status = as_npy_parse(env, path, map.data, map.bytes, &tensor);
    if (status != ASSAY_OK) {
        as_map_close(&map);
        return status;
    }
    if (tensor.owned)
        as_map_close(&map); /* everything needed from it was copied */
    tensor.map = map;
    *out = tensor;
    return ASSAY_OK;
}

void as_tensor_drop(as_tensor *tensor)
{
    free(tensor->owned);
    as_map_close(&tensor->map);
    *tensor = (as_tensor){0};
}

/* --- Saving ----------------------------------------------------------------------------------- */

static const char *code_of(as_dtype dtype)
{
    for (size_t i = 0; i < AS_COUNT(codes); i++)
        if (codes[i].dtype == dtype)
            return codes[i].code;
    return NULL; /* not reached: written_as() knows all others, and none was refused */
}

/* The narrowest dtype with a code that holds all values. */
static as_dtype written_as(as_dtype dtype)
{
    if (dtype == AS_BF16 || as_dtype_is_small_float(dtype))
        return AS_F32;
    if (dtype == AS_I4 || dtype == AS_I2)
        return AS_I8;
    return dtype == AS_U4 || dtype == AS_U2 ? AS_U8 : dtype;
}

/* Magic, version 1.0, length and header; padded so that the elements start at a multiple of 64. */
static void write_header(FILE *file, as_dtype dtype, const as_shape *shape)
{
    char text[512];
    enum { FIXED = MAGIC_BYTES + 4 };
    size_t at = (size_t)snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                                 as_dtype_bytes(dtype) > 1 ? '<' : '|', code_of(dtype));
    for (int i = 0; i < shape->rank; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%" PRId64 "%s", i ? ", " : "", shape->dim[i],
                               shape->rank == 1 ? "," : "");
    at += (size_t)snprintf(text + at, sizeof text - at, "), }");
    while ((FIXED + at + 1) % HEADER_ALIGN)
        text[at++] = ' ';
    text[at++] = '\n';
    const uint8_t fixed[4] = {1, 0, (uint8_t)(at & 0xff), (uint8_t)(at >> 8)};
    fwrite(MAGIC, 1, MAGIC_BYTES, file);
    fwrite(fixed, 1, sizeof fixed, file);
    fwrite(text, 1, at, file);
}

assay_status as_npy_save(assay_env *env, const char *path, const as_view *view)
{
    AS_TRY(as_dense_check(env, "npy", path, NULL, view));
    as_dtype dtype = written_as(view->dtype);
    as_out   out;
    AS_TRY(as_out_open(env, path, &out));
    write_header(out.file, dtype, &view->shape);
    assay_status status = as_dense_write(env, "npy", path, view, dtype, out.file);
    if (status != ASSAY_OK) {
        as_out_abandon(&out);
        return status;
    }
    return as_out_commit(env, &out);
}
