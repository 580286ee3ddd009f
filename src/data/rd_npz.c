/* rd_npz.c - numpy's .npz files: a zip archive of .npy files.  Arrays that are stored as they are (numpy.savez) are read in place; compressed
 * ones cannot be. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "data/npy_array.h"

/* Sizes and marks of the zip format. */
enum {
    END_BYTES = 22,
    END_MARK = 0x06054b50,
    ENTRY_BYTES = 46,
    ENTRY_MARK = 0x02014b50,
    LOCAL_BYTES = 30,
    LOCAL_MARK = 0x04034b50,
    ZIP64 = 0x0001
};
enum { MAX_COMMENT = 65535, MAX_DIRECTORY = 16 << 20, MAX_NAMES = 8 };

typedef struct entry {
    const char *name; /* with ".npy" */
    unsigned    method;
    uint64_t    bytes, stored, at; /* at: of its local header */
} entry;

static uint64_t number(const uint8_t *b, int n)
{
    uint64_t value = 0;
    for (int i = n - 1; i >= 0; i--)
        value = value << 8 | b[i];
    return value;
}

static assay_status fail_damaged(assay_env *env, const as_data_file *file, uint64_t at, const char *what)
{
    return as_fail(env, ASSAY_BAD_INPUT, "data: npz: %s: byte %" PRIu64 ": %s", file->path, at, what);
}

/* The end of the archive, which may have a comment behind it, says where the directory is. */
static assay_status find_directory(assay_env *env, const as_data_file *file, uint64_t *at, uint64_t *bytes, int64_t *n)
{
    uint64_t span = file->bytes < END_BYTES + MAX_COMMENT ? file->bytes : END_BYTES + MAX_COMMENT, start = file->bytes - span;
    uint8_t *tail = malloc((size_t)span + 1);
    if (!tail)
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory");
    assay_status status = as_data_file_get(env, "npz", file, start, (size_t)span, tail);
    bool         found = false;
    for (uint64_t i = span < END_BYTES ? 0 : span - END_BYTES + 1; status == ASSAY_OK && i-- > 0 && !found;)
        if (number(tail + i, 4) == END_MARK) {
            *n = (int64_t)number(tail + i + 10, 2);
            *bytes = number(tail + i + 12, 4);
            *at = number(tail + i + 16, 4);
            found = true;
        }
    free(tail);
    AS_TRY(status);
    if (!found)
        return as_fail(env, ASSAY_BAD_INPUT, "data: npz: %s: not an npz file: it has no end of a zip archive", file->path);
    if (*n == 0xffff || *at == UINT32_MAX || *bytes > MAX_DIRECTORY)
        return as_fail(env, ASSAY_UNSUPPORTED,
                       "data: npz: %s: has too many arrays, or its directory begins beyond 4 GiB; save x.npy and y.npy apart",
                       file->path);
    if (*at > file->bytes || *bytes > file->bytes - *at)
        return fail_damaged(env, file, *at, "the directory of the archive goes beyond the end of the file");
    return ASSAY_OK;
}

/* Sizes that are 2^32 - 1 stand in an extra field, in the order of the entry. */
static bool widen(entry *e, const uint8_t *extra, size_t n)
{
    uint64_t *wide[3] = {&e->bytes, &e->stored, &e->at};
    for (size_t i = 0; i + 4 <= n;) {
        size_t length = (size_t)number(extra + i + 2, 2);
        if (length > n - i - 4)
            return false;
        const uint8_t *at = extra + i + 4, *end = at + length;
        for (int k = 0; number(extra + i, 2) == ZIP64 && k < 3; k++)
            if (*wide[k] == UINT32_MAX) {
                if (end - at < 8)
                    return false;
                *wide[k] = number(at, 8);
                at += 8;
            }
        i += 4 + length;
    }
    return true;
}

/* Finds the entries that are called as one of `names`, the first of them that is there; e->name stays NULL when none is. */
static assay_status find_entry(assay_env *env, as_source *source, const as_data_file *file, const char *const *names, entry *e)
{
    uint64_t at = 0, bytes = 0;
    int64_t  n = 0;
    AS_TRY(find_directory(env, file, &at, &bytes, &n));
    uint8_t *directory = malloc((size_t)bytes + 1);
    if (!directory)
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory");
    assay_status status = as_data_file_get(env, "npz", file, at, (size_t)bytes, directory);
    int          best = MAX_NAMES;
    uint64_t     i = 0;
    for (int64_t k = 0; k < n && status == ASSAY_OK; k++) {
        const uint8_t *b = directory + i;
        if (bytes - i < ENTRY_BYTES || number(b, 4) != ENTRY_MARK) {
            status = fail_damaged(env, file, at + i, "expected an entry of the archive's directory");
            break;
        }
        uint64_t n_name = number(b + 28, 2), n_extra = number(b + 30, 2), all = ENTRY_BYTES + n_name + n_extra + number(b + 32, 2);
        if (all > bytes - i) {
            status = fail_damaged(env, file, at + i, "an entry of the archive's directory is cut off");
            break;
        }
        const char *name = (const char *)b + ENTRY_BYTES;
        for (int m = 0; m < best && names[m]; m++)
            if (n_name == strlen(names[m]) + 4 && !memcmp(name, names[m], n_name - 4) && !memcmp(name + n_name - 4, ".npy", 4)) {
                *e = (entry){.name = as_arena_printf(&source->arena, "%s: %s", file->path, names[m]),
                             .method = (unsigned)number(b + 10, 2),
                             .stored = number(b + 20, 4),
                             .bytes = number(b + 24, 4),
                             .at = number(b + 42, 4)};
                best = m;
                if (!widen(e, b + ENTRY_BYTES + n_name, (size_t)n_extra))
                    status = fail_damaged(env, file, at + i, "an entry of the archive's directory has a damaged extra field");
                else if (!e->name)
                    status = as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory");
            }
        i += all;
    }
    free(directory);
    return status;
}

static assay_status open_entry(assay_env *env, const as_data_file *file, const entry *e, as_npy_array *out)
{
    uint8_t local[LOCAL_BYTES];
    if (e->method != 0 || e->stored != e->bytes)
        return as_fail(env, ASSAY_UNSUPPORTED,
                       "data: npz: %s: is compressed, and cannot be read in place; save it by numpy.savez, not savez_compressed",
                       e->name);
    if (e->at > file->bytes || file->bytes - e->at < LOCAL_BYTES)
        return fail_damaged(env, file, e->at, "expected an array of the archive");
    AS_TRY(as_data_file_get(env, "npz", file, e->at, LOCAL_BYTES, local));
    uint64_t start = e->at + LOCAL_BYTES + number(local + 26, 2) + number(local + 28, 2);
    if (number(local, 4) != LOCAL_MARK || start > file->bytes || e->bytes > file->bytes - start)
        return fail_damaged(env, file, e->at, "expected an array of the archive, of the size that its directory states");
    return as_npy_array_open(env, file, e->name, start, e->bytes, out);
}

static assay_status open_npz(assay_env *env, const as_data_options *options, as_source *source)
{
    const as_spec *spec = &source->spec;
    int            test;
    AS_TRY(as_spec_choice(env, spec, "part", "train test", 0, &test));
    const char    *x_names[2][MAX_NAMES] = {{"x", "X", "x_train", "data", "images"}, {"x_test", "X_test"}};
    const char    *y_names[2][MAX_NAMES] = {{"y", "Y", "y_train", "target", "labels"}, {"y_test", "Y_test"}};
    const char    *x = as_spec_get(spec, "x"), *y = as_spec_get(spec, "y");
    as_npy_arrays *own = AS_TAKE(&source->arena, as_npy_arrays, 1);
    as_data_file  *file;
    entry          found_x = {0}, found_y = {0};
    if (!own)
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory");
    if (spec->n_paths != 1)
        return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": names %d files; npz reads one", spec->text, spec->n_paths);
    source->own = own;
    AS_TRY(as_source_files(env, source, 1));
    AS_TRY(as_source_file(env, source, spec->paths[0], options->mmap, &file));
    AS_TRY(find_entry(env, source, file, x ? (const char *[]){x, NULL} : x_names[test], &found_x));
    if (!found_x.name)
        return as_fail(env, ASSAY_BAD_INPUT, "data: npz: %s: has no array %s; x=NAME names the one with the inputs", file->path,
                       x ? x : x_names[test][0]);
    AS_TRY(find_entry(env, source, file, y ? (const char *[]){y, NULL} : y_names[test], &found_y));
    if (y && !found_y.name)
        return as_fail(env, ASSAY_BAD_INPUT, "data: npz: %s: has no array %s", file->path, y);
    AS_TRY(open_entry(env, file, &found_x, &own->x));
    if (found_y.name)
        AS_TRY(open_entry(env, file, &found_y, &own->y));
    as_text_printf(&source->canonical, "x at %" PRIu64 " y at %" PRIu64, own->x.start, own->y.start);
    return as_npy_arrays_set(env, options, source, found_x.name, found_y.name);
}

static bool fits(const char *path, bool is_folder) { return !is_folder && as_path_ends(path, ".npz"); }

const as_reader as_rd_npz = {.name = "npz",
                             .form = "FILE.npz[:x=NAME,y=NAME,part=train|test,as=class|number]",
                             .help = "numpy arrays in one file, not compressed",
                             .keys = "x y part as",
                             .has_paths = true,
                             .fits = fits,
                             .open = open_npz,
                             .read = as_npy_arrays_read};
