/* rd_npy.c - numpy arrays: x.npy with one example per row of the first axis, y.npy with the targets. */
#include "data/npy_array.h"

static assay_status open_one(assay_env *env, const as_data_options *options, as_source *source, const char *path, as_npy_array *out)
{
    as_data_file *file;
    AS_TRY(as_source_file(env, source, path, options->mmap, &file));
    AS_TRY(as_refuse_gzip(env, "npy", file));
    return as_npy_array_open(env, file, path, 0, file->bytes, out);
}

static assay_status open_npy(assay_env *env, const as_data_options *options, as_source *source)
{
    const as_spec *spec = &source->spec;
    const char    *x = spec->paths[0], *y = spec->n_paths > 1 ? spec->paths[1] : NULL;
    as_npy_arrays *own = AS_TAKE(&source->arena, as_npy_arrays, 1);
    if (spec->n_paths > 2)
        return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": names %d files; the form is %s", spec->text, spec->n_paths,
                       source->reader->form);
    if (as_path_is_folder(x)) {
        y = as_arena_printf(&source->arena, "%s/y.npy", x);
        x = as_arena_printf(&source->arena, "%s/x.npy", x);
        if (y && !as_path_is_file(y))
            y = NULL;
    }
    if (!own || !x)
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory");
    source->own = own;
    AS_TRY(as_source_files(env, source, 2));
    AS_TRY(open_one(env, options, source, x, &own->x));
    if (y)
        AS_TRY(open_one(env, options, source, y, &own->y));
    return as_npy_arrays_set(env, options, source, x, y);
}

static bool fits(const char *path, bool is_folder)
{
    as_arena arena = {0};
    if (!is_folder)
        return as_path_ends(path, ".npy");
    const char *inside = as_arena_printf(&arena, "%s/x.npy", path);
    bool        yes = inside && as_path_is_file(inside);
    as_arena_drop(&arena);
    return yes;
}

const as_reader as_rd_npy = {.name = "npy",
                             .form = "X.npy[,Y.npy] or a FOLDER with x.npy and y.npy [:as=class|number]",
                             .help = "numpy arrays: the first axis counts the examples",
                             .keys = "as",
                             .has_paths = true,
                             .fits = fits,
                             .open = open_npy,
                             .read = as_npy_arrays_read};
