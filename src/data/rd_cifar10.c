/* rd_cifar10.c - CIFAR-10 in its binary version: records of a label and 3x32x32 bytes, 10,000 per file. */
#include <inttypes.h>
#include <string.h>

#include "data/reader.h"

enum { PIXELS = 3 * 32 * 32, RECORD = 1 + PIXELS, N_CLASSES = 10, N_BATCHES = 5 };

static const char *names[N_CLASSES] = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};

static assay_status add_file(assay_env *env, const as_data_options *options, as_source *source, const char *path)
{
    as_data_file *file;
    AS_TRY(as_source_file(env, source, path, options->mmap, &file));
    AS_TRY(as_refuse_gzip(env, "cifar10", file));
    if (file->bytes % RECORD || !file->bytes)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: cifar10: %s: has %" PRIu64
                       " bytes, which is not a number of records of %d bytes (a label and 3x32x32)",
                       path, file->bytes, RECORD);
    source->n += (int64_t)(file->bytes / RECORD);
    return ASSAY_OK;
}

static assay_status open_cifar10(assay_env *env, const as_data_options *options, as_source *source)
{
    const as_spec *spec = &source->spec;
    int            test;
    AS_TRY(as_spec_choice(env, spec, "part", "train test", 0, &test));
    AS_TRY(as_source_files(env, source, AS_SPEC_MAX_PATHS + N_BATCHES));
    if (as_path_is_folder(spec->paths[0])) {
        if (spec->n_paths > 1)
            return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": names a folder and more; expected one folder, or files",
                           spec->text);
        int n_found = 0;
        for (int i = 1; i <= (test ? 1 : N_BATCHES); i++) {
            const char *path = test ? as_arena_printf(&source->arena, "%s/test_batch.bin", spec->paths[0])
                                    : as_arena_printf(&source->arena, "%s/data_batch_%d.bin", spec->paths[0], i);
            if (!path)
                return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory");
            if (!test && i > 1 && n_found && !as_path_is_file(path))
                continue; /* a part of the set */
            AS_TRY(add_file(env, options, source, path));
            n_found++;
        }
    } else {
        if (as_spec_get(spec, "part"))
            return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": part= chooses from a folder, and %s is a file", spec->text,
                           spec->paths[0]);
        for (int i = 0; i < spec->n_paths; i++)
            AS_TRY(add_file(env, options, source, spec->paths[i]));
    }
    source->n_inputs = 1;
    source->input[0] = (as_data_field){.name = "x", .dtype = AS_U8, .shape = AS_SHAPE(3, 32, 32)};
    source->has_target = true;
    source->target = (as_data_field){.name = "y", .dtype = AS_U8};
    source->n_classes = N_CLASSES;
    source->labels = names;
    source->scratch_bytes = options->mmap ? 0 : RECORD;
    return ASSAY_OK;
}

static bool read_cifar10(const as_source *source, int64_t example, as_fetch *fetch, as_raw *out)
{
    int64_t             at = example;
    const as_data_file *file = source->files;
    for (; at >= (int64_t)(file->bytes / RECORD); file++)
        at -= (int64_t)(file->bytes / RECORD);
    const uint8_t *record = as_data_file_bytes(file, (uint64_t)at * RECORD, RECORD, fetch, 0);
    if (!record)
        return false;
    if (record[0] >= N_CLASSES)
        return as_fetch_fail(fetch, ASSAY_BAD_INPUT, "data: cifar10: %s: byte %" PRId64 ": the label is %d; expected 0 to 9",
                             file->path, at * RECORD, record[0]);
    *out = (as_raw){.input = {record + 1}, .target = record};
    return true;
}

static bool fits(const char *path, bool is_folder)
{
    as_arena    arena = {0};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!is_folder)
        return as_path_ends(path, ".bin") && (strstr(name, "data_batch") || strstr(name, "test_batch"));
    const char *train = as_arena_printf(&arena, "%s/data_batch_1.bin", path),
               *test = as_arena_printf(&arena, "%s/test_batch.bin", path);
    bool yes = (train && as_path_is_file(train)) || (test && as_path_is_file(test));
    as_arena_drop(&arena);
    return yes;
}

const as_reader as_rd_cifar10 = {.name = "cifar10",
                                 .form = "data_batch_1.bin[,data_batch_2.bin...] or FOLDER[:part=train|test]",
                                 .help = "CIFAR-10, binary version: x 3x32x32, ten classes",
                                 .keys = "part",
                                 .has_paths = true,
                                 .fits = fits,
                                 .open = open_cifar10,
                                 .read = read_cifar10};
