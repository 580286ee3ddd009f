/* rd_raw.c - plain binary records: a header to skip, then the same number of bytes for every example, little-endian. */
#include <inttypes.h>
#include <string.h>

#include "data/reader.h"

typedef struct raw {
    uint64_t skip;
    size_t   record, x_at, x_bytes, y_at, y_bytes;
    bool     y_apart; /* in the second file */
} raw;

/* "u8", "f32x3" */
static bool parse_target(const char *text, as_data_field *out)
{
    char          name[16];
    size_t        n = strcspn(text, "x");
    as_data_field field = {.name = "y"};
    if (n >= sizeof name)
        return false;
    memcpy(name, text, n);
    name[n] = '\0';
    if (!as_dtype_parse(name, &field.dtype) || as_dtype_bits(field.dtype) < 8 || as_dtype_is_small_float(field.dtype))
        return false;
    if (text[n] && !as_shape_parse(text + n + 1, &field.shape))
        return false;
    if (as_dtype_is_float(field.dtype) && field.shape.rank == 0)
        field.shape = AS_SHAPE(1);
    *out = field;
    return true;
}

static assay_status set_target(assay_env *env, as_source *source, raw *r)
{
    const as_spec *spec = &source->spec;
    const char    *text = as_spec_get(spec, "target"), *type = text;
    bool           first = text && !strncmp(text, "first:", 6), last = text && !strncmp(text, "last:", 5);
    if (!text && spec->n_paths == 1)
        return ASSAY_OK;
    if (!text)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: \"%s\": needs the type of the targets in the second file, for example target=u8", spec->text);
    type += first ? 6 : last ? 5 : 0;
    if (!parse_target(type, &source->target))
        return as_fail(
            env, ASSAY_BAD_INPUT,
            "data: \"%s\": target=%s: expected a type such as u8 or f32x3, with first: or last: in front if it is in the record",
            spec->text, text);
    r->y_apart = spec->n_paths == 2;
    if (r->y_apart == (first || last))
        return as_fail(
            env, ASSAY_BAD_INPUT,
            "data: \"%s\": target=%s: say first: or last: where the target is in the record, and neither where it is in a second file",
            spec->text, text);
    source->has_target = true;
    r->y_bytes = (size_t)as_shape_count(&source->target.shape) * as_dtype_bytes(source->target.dtype);
    r->x_at = first ? r->y_bytes : 0;
    r->y_at = first ? 0 : r->x_bytes;
    return ASSAY_OK;
}

static assay_status check_size(assay_env *env, const as_data_file *file, uint64_t skip, size_t record, int64_t *n)
{
    if (file->bytes < skip || (file->bytes - skip) % record)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: raw: %s: has %" PRIu64 " bytes, which is not a header of %" PRIu64
                       " and a number of records of %zu bytes",
                       file->path, file->bytes, skip, record);
    *n = (int64_t)((file->bytes - skip) / record);
    return ASSAY_OK;
}

static assay_status open_raw(assay_env *env, const as_data_options *options, as_source *source)
{
    const as_spec *spec = &source->spec;
    raw           *r = AS_TAKE(&source->arena, raw, 1);
    const char    *dtype = as_spec_get(spec, "dtype"), *shape = as_spec_get(spec, "shape");
    int64_t        skip, n_classes, n_targets = 0;
    as_data_file  *file;
    if (!r)
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory");
    if (spec->n_paths > 2)
        return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": names %d files; the form is %s", spec->text, spec->n_paths,
                       source->reader->form);
    source->own = r;
    source->n_inputs = 1;
    source->input[0].name = "x";
    if (!dtype || !as_dtype_parse(dtype, &source->input[0].dtype) || as_dtype_bits(source->input[0].dtype) < 8 ||
        as_dtype_is_small_float(source->input[0].dtype))
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: \"%s\": needs dtype=, one of f64 f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64 bool", spec->text);
    if (!shape || !as_shape_parse(shape, &source->input[0].shape))
        return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": needs shape=, the shape of one example, for example 3x32x32",
                       spec->text);
    AS_TRY(as_spec_i64(env, spec, "header", 0, 0, INT64_MAX, &skip));
    AS_TRY(as_spec_i64(env, spec, "classes", 0, 1, 1000000, &n_classes));
    r->skip = (uint64_t)skip;
    r->x_bytes = (size_t)as_shape_count(&source->input[0].shape) * as_dtype_bytes(source->input[0].dtype);
    AS_TRY(set_target(env, source, r));
    r->record = r->x_bytes + (r->y_apart ? 0 : r->y_bytes);
    AS_TRY(as_source_files(env, source, 2));
    AS_TRY(as_source_file(env, source, spec->paths[0], options->mmap, &file));
    AS_TRY(check_size(env, file, r->skip, r->record, &source->n));
    if (r->y_apart) {
        AS_TRY(as_source_file(env, source, spec->paths[1], options->mmap, &file));
        AS_TRY(check_size(env, file, 0, r->y_bytes, &n_targets));
        if (n_targets != source->n)
            return as_fail(env, ASSAY_BAD_INPUT, "data: raw: %s has %" PRId64 " targets, and %s has %" PRId64 " examples",
                           file->path, n_targets, spec->paths[0], source->n);
    }
    source->scratch_bytes = options->mmap ? 0 : r->x_bytes + r->y_bytes;
    as_text_printf(&source->canonical, "dtype %s shape %s header %" PRId64 " target %s", dtype, shape, skip,
                   source->has_target ? as_spec_get(spec, "target") : "none");
    if (!source->has_target || as_dtype_is_float(source->target.dtype) || options->target == AS_TARGET_NUMBER || !source->n)
        return ASSAY_OK;
    source->n_classes = n_classes;
    return n_classes ? ASSAY_OK : as_source_count_classes(env, source, 1);
}

static bool read_raw(const as_source *source, int64_t example, as_fetch *fetch, as_raw *out)
{
    const raw     *r = source->own;
    const uint8_t *record = as_data_file_bytes(&source->files[0], r->skip + (uint64_t)example * r->record, r->record, fetch, 0),
                  *y = record;
    if (!record)
        return false;
    if (r->y_apart)
        y = as_data_file_bytes(&source->files[1], (uint64_t)example * r->y_bytes, r->y_bytes, fetch, r->record);
    *out = (as_raw){.input = {record + r->x_at}, .target = r->y_apart ? y : record + r->y_at};
    return y != NULL;
}

const as_reader as_rd_raw = {
    .name = "raw",
    .form = "raw:FILE[,TARGETS],dtype=f32,shape=3x32x32[,target=first:u8|last:f32x3|u8,header=BYTES,classes=N]",
    .help = "plain binary records, little-endian",
    .keys = "dtype shape target header classes",
    .has_paths = true,
    .open = open_raw,
    .read = read_raw};
