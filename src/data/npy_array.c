/* npy_array.c - one array of a .npy file, or of an .npz file, that is read by example. */
#include "data/npy_array.h"

#include <inttypes.h>
#include <string.h>

/* Elements are read where they are, whatever their address: nothing is copied. */
assay_status as_npy_array_open(assay_env *env, const as_data_file *file, const char *name, uint64_t at, uint64_t bytes,
                               as_npy_array *out)
{
    as_npy_head head = {0};
    if (file->data || !file->bytes)
        AS_TRY(as_npy_look(env, name, file->data ? file->data + at : (const uint8_t *)"", (size_t)bytes, &head));
    else {
        as_map map; /* for the header alone */
        AS_TRY(as_map_open(env, "data", file->path, 0, &map));
        assay_status status = map.bytes == file->bytes
                                  ? as_npy_look(env, name, map.data + at, (size_t)bytes, &head)
                                  : as_fail(env, ASSAY_BAD_INPUT, "data: %s: was changed while it was being opened", file->path);
        as_map_close(&map);
        AS_TRY(status);
    }
    if (head.is_swapped)
        return as_fail(env, ASSAY_UNSUPPORTED, "data: npy: %s: its numbers are big-endian; save it again with x.astype('<f4')",
                       name);
    if (head.is_fortran && head.shape.rank > 1)
        return as_fail(
            env, ASSAY_UNSUPPORTED,
            "data: npy: %s: is in Fortran order, in which examples are not in one piece; save numpy.ascontiguousarray(x)", name);
    if (head.shape.rank < 1)
        return as_fail(env, ASSAY_BAD_INPUT, "data: npy: %s: is one number; the first axis must count the examples", name);
    *out = (as_npy_array){.file = file, .dtype = head.dtype, .shape = head.shape, .start = at + head.start};
    if (head.shape.dim[0])
        out->each = (size_t)(as_shape_count(&head.shape) / head.shape.dim[0]) * as_dtype_bytes(head.dtype);
    return ASSAY_OK;
}

/* Without the first axis; no axis left: one number. */
static as_shape example_shape(const as_npy_array *a, int least_rank)
{
    as_shape shape = {.rank = a->shape.rank - 1};
    memcpy(shape.dim, a->shape.dim + 1, sizeof(int64_t) * (AS_MAX_RANK - 1));
    return shape.rank < least_rank ? AS_SHAPE(1) : shape;
}

static assay_status set_target(assay_env *env, const as_data_options *options, as_source *source, const as_npy_array *y,
                               const char *name)
{
    int as;
    AS_TRY(as_spec_choice(env, &source->spec, "as", "auto class number", 0, &as));
    bool is_float = as_dtype_is_float(y->dtype);
    source->has_target = true;
    source->target = (as_data_field){.name = "y", .dtype = y->dtype, .shape = example_shape(y, is_float ? 1 : 0)};
    if (is_float && as == 1)
        return as_fail(env, ASSAY_BAD_INPUT, "data: npy: %s: as=class: classes are whole numbers, and the file has %s", name,
                       as_dtype_name(y->dtype));
    bool is_class = !is_float && as != 2 && options->target != AS_TARGET_NUMBER;
    if (is_class && source->target.shape.rank == 1 && source->target.shape.dim[0] == 1)
        source->target.shape = (as_shape){0};
    if (!is_class && source->target.shape.rank == 0)
        source->target.shape = AS_SHAPE(1);
    return is_class && source->n ? as_source_count_classes(env, source, 1) : ASSAY_OK;
}

assay_status as_npy_arrays_set(assay_env *env, const as_data_options *options, as_source *source, const char *x_name,
                               const char *y_name)
{
    const as_npy_arrays *own = source->own;
    source->n = own->x.shape.dim[0];
    source->n_inputs = 1;
    source->input[0] = (as_data_field){.name = "x", .dtype = own->x.dtype, .shape = example_shape(&own->x, 1)};
    source->scratch_bytes = options->mmap ? 0 : own->x.each;
    if (!own->y.file)
        return ASSAY_OK;
    if (own->y.shape.dim[0] != source->n)
        return as_fail(env, ASSAY_BAD_INPUT, "data: npy: %s has %" PRId64 " targets, and %s has %" PRId64 " examples", y_name,
                       own->y.shape.dim[0], x_name, source->n);
    source->scratch_bytes = options->mmap ? 0 : own->x.each + own->y.each;
    return set_target(env, options, source, &own->y, y_name);
}

bool as_npy_arrays_read(const as_source *source, int64_t example, as_fetch *fetch, as_raw *out)
{
    const as_npy_arrays *own = source->own;
    out->input[0] = as_data_file_bytes(own->x.file, own->x.start + (uint64_t)example * own->x.each, own->x.each, fetch, 0);
    if (out->input[0] && source->has_target)
        out->target =
            as_data_file_bytes(own->y.file, own->y.start + (uint64_t)example * own->y.each, own->y.each, fetch, own->x.each);
    return out->input[0] && (out->target || !source->has_target);
}
