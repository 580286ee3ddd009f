/* rd_idx.c - IDX files, as MNIST has them: a magic number, sizes in big-endian order, then the elements. */
#include <inttypes.h>
#include <string.h>

#include "data/reader.h"

enum { MAX_HEAD = 4 + 4 * (AS_MAX_RANK - 1) };

static const struct {
    uint8_t  code;
    as_dtype dtype;
} codes[] = {{0x08, AS_U8}, {0x09, AS_I8}, {0x0b, AS_I16}, {0x0c, AS_I32}, {0x0d, AS_F32}, {0x0e, AS_F64}};

typedef struct part {
    const as_data_file *file;
    as_dtype            dtype;
    as_shape            shape; /* of all examples */
    uint64_t            start; /* of the elements */
    size_t              each;  /* bytes per example */
} part;

typedef struct idx {
    part x, y;
} idx;

static uint32_t big_endian(const uint8_t *b) { return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]; }

static assay_status read_head(assay_env *env, const as_data_file *file, part *out)
{
    uint8_t head[MAX_HEAD] = {0};
    size_t  has = file->bytes < sizeof head ? (size_t)file->bytes : sizeof head;
    AS_TRY(as_refuse_gzip(env, "idx", file));
    AS_TRY(as_data_file_get(env, "idx", file, 0, has, head));
    if (has < 8 || head[0] || head[1])
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: idx: %s: not an IDX file: it does not start with two zero bytes, a type and a number of axes",
                       file->path);
    part p = {.file = file, .shape.rank = head[3], .start = 4 + 4 * (uint64_t)head[3]};
    for (size_t i = 0; i < AS_COUNT(codes); i++)
        if (codes[i].code == head[2])
            p.dtype = codes[i].dtype;
    if (p.dtype == AS_NONE)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: idx: %s: byte 2 says that elements have the type 0x%02x; known: 0x08 0x09 0x0b 0x0c 0x0d 0x0e",
                       file->path, head[2]);
    if (p.shape.rank < 1 || p.shape.rank > AS_MAX_RANK - 1 || p.start > has)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: idx: %s: byte 3 says that there are %d axes; expected 1 to %d, and 4 bytes for each", file->path,
                       p.shape.rank, AS_MAX_RANK - 1);
    for (int i = 0; i < p.shape.rank; i++)
        p.shape.dim[i] = big_endian(head + 4 + 4 * i);
    char text[192];
    as_shape_show(&p.shape, text, sizeof text);
    if (!as_shape_ok(&p.shape, p.dtype))
        return as_fail(env, ASSAY_BAD_INPUT, "data: idx: %s: shape %s of %s needs more than 2^63 - 1 bytes", file->path, text,
                       as_dtype_name(p.dtype));
    uint64_t needs = (uint64_t)as_shape_count(&p.shape) * as_dtype_bytes(p.dtype);
    if (needs != file->bytes - p.start)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: idx: %s: shape %s of %s needs %" PRIu64 " bytes after the header, the file has %" PRIu64, file->path,
                       text, as_dtype_name(p.dtype), needs, file->bytes - p.start);
    p.each = p.shape.dim[0] ? (size_t)(needs / (uint64_t)p.shape.dim[0]) : 0;
    *out = p;
    return ASSAY_OK;
}

/* "train-images-idx3-ubyte" -> "train-labels-idx1-ubyte", where that file exists. */
static const char *labels_beside(as_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *images = strstr(name, "images");
    if (!images)
        return NULL;
    char *other = as_arena_printf(arena, "%.*slabels%s", (int)(images - path), path, images + 6),
         *rank = other ? strstr(other, "idx3") : NULL;
    if (rank)
        rank[3] = '1';
    return other && as_path_is_file(other) ? other : NULL;
}

static const char *in_folder(as_arena *arena, const char *folder, bool test)
{
    static const char *const names[2][2] = {{"train-images-idx3-ubyte", "train-images.idx3-ubyte"},
                                            {"t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte"}};
    const char              *path = NULL;
    for (int i = 0; i < 2; i++) {
        path = as_arena_printf(arena, "%s/%s", folder, names[test][i]);
        if (path && as_path_is_file(path))
            return path;
    }
    return as_arena_printf(arena, "%s/%s", folder, names[test][0]);
}

static bool fits(const char *path, bool is_folder)
{
    as_arena    arena = {0};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *found;
    bool        yes = false;
    if (!is_folder)
        return as_path_ends(path, "-ubyte") || as_path_ends(path, "-ubyte.gz") || strstr(name, "-idx") ||
               as_path_ends(name, ".idx");
    for (int test = 0; test < 2 && !yes; test++)
        yes = (found = in_folder(&arena, path, test)) && as_path_is_file(found);
    as_arena_drop(&arena);
    return yes;
}

static assay_status open_idx(assay_env *env, const as_data_options *options, as_source *source)
{
    const as_spec *spec = &source->spec;
    const char    *path = spec->paths[0], *labels = spec->n_paths > 1 ? spec->paths[1] : NULL;
    as_data_file  *file;
    int            test;
    AS_TRY(as_spec_choice(env, spec, "part", "train test", 0, &test));
    if (spec->n_paths > 2)
        return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": names %d files; the form is %s", spec->text, spec->n_paths,
                       source->reader->form);
    if (as_path_is_folder(path))
        path = in_folder(&source->arena, path, test);
    else if (as_spec_get(spec, "part"))
        return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": part= chooses from a folder, and %s is a file", spec->text, path);
    if (path && !labels)
        labels = labels_beside(&source->arena, path);
    idx *own = AS_TAKE(&source->arena, idx, 1);
    if (!own || !path)
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory");
    source->own = own;
    AS_TRY(as_source_files(env, source, 2));
    AS_TRY(as_source_file(env, source, path, options->mmap, &file));
    AS_TRY(read_head(env, file, &own->x));
    source->n = own->x.shape.dim[0];
    source->n_inputs = 1;
    source->input[0] = (as_data_field){.name = "x", .dtype = own->x.dtype};
    as_shape *shape = &source->input[0].shape;
    if (own->x.shape.rank == 3) /* grey images: one channel */
        shape->dim[shape->rank++] = 1;
    for (int i = 1; i < own->x.shape.rank; i++)
        shape->dim[shape->rank++] = own->x.shape.dim[i];
    source->scratch_bytes = own->x.each;
    if (!labels)
        return ASSAY_OK;
    AS_TRY(as_source_file(env, source, labels, options->mmap, &file));
    AS_TRY(read_head(env, file, &own->y));
    if (own->y.shape.dim[0] != source->n)
        return as_fail(env, ASSAY_BAD_INPUT, "data: idx: %s has %" PRId64 " targets, and %s has %" PRId64 " examples", labels,
                       own->y.shape.dim[0], path, source->n);
    source->has_target = true;
    source->target = (as_data_field){.name = "y", .dtype = own->y.dtype, .shape.rank = own->y.shape.rank - 1};
    memcpy(source->target.shape.dim, own->y.shape.dim + 1, sizeof(int64_t) * (AS_MAX_RANK - 1));
    source->scratch_bytes = (own->x.each + 7) / 8 * 8 + own->y.each;
    return as_dtype_is_float(own->y.dtype) || source->n < 1 ? ASSAY_OK : as_source_count_classes(env, source, 1);
}

/* Big-endian elements are turned round in the scratch. */
static const void *part_bytes(const part *p, int64_t example, as_fetch *fetch, size_t at)
{
    const uint8_t *bytes = as_data_file_bytes(p->file, p->start + (uint64_t)example * p->each, p->each, fetch, at);
    size_t         width = as_dtype_bytes(p->dtype);
    if (!bytes || width == 1)
        return bytes;
    uint8_t *turned = fetch->scratch + at;
    for (size_t i = 0; i < p->each; i += width)
        for (size_t k = 0; k < width / 2; k++) {
            uint8_t low = bytes[i + k], high = bytes[i + width - 1 - k];
            turned[i + k] = high;
            turned[i + width - 1 - k] = low;
        }
    return turned;
}

static bool read_idx(const as_source *source, int64_t example, as_fetch *fetch, as_raw *out)
{
    const idx *own = source->own;
    out->input[0] = part_bytes(&own->x, example, fetch, 0);
    if (out->input[0] && source->has_target)
        out->target = part_bytes(&own->y, example, fetch, (own->x.each + 7) / 8 * 8);
    return out->input[0] && (out->target || !source->has_target);
}

const as_reader as_rd_idx = {.name = "idx",
                             .form = "IMAGES-idx3-ubyte[,LABELS-idx1-ubyte] or FOLDER[:part=train|test]",
                             .help = "IDX files (MNIST); labels are found beside the images",
                             .keys = "part",
                             .has_paths = true,
                             .fits = fits,
                             .open = open_idx,
                             .read = read_idx};
