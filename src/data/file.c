/* file.c - the files of data sets: mapped, or read piece by piece. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/reader.h"

#ifdef __APPLE__
#define CHANGED(st) ((st).st_mtimespec)
#else
#define CHANGED(st) ((st).st_mtim)
#endif

bool as_fetch_fail(as_fetch *fetch, assay_status status, const char *format, ...)
{
    if (fetch->status != ASSAY_OK)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(fetch->why, sizeof fetch->why, format, args);
    va_end(args);
    fetch->status = status;
    return false;
}

assay_status as_data_file_open(assay_env *env, const char *what, const char *path, bool mmap_it, as_data_file *out)
{
    /* Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return as_fail(env, errno == ENOENT ? ASSAY_NOT_FOUND : ASSAY_IO, "data: %s: %s: cannot open: %s", what, path,
                       strerror(errno));
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return as_fail(env, ASSAY_BAD_INPUT, "data: %s: %s: not a regular file", what, path);
    }
    as_data_file file = {.path = path,
                         .fd = fd,
                         .bytes = (uint64_t)st.st_size,
                         .changed_s = (int64_t)CHANGED(st).tv_sec,
                         .changed_ns = (int64_t)CHANGED(st).tv_nsec};
    if (mmap_it && file.bytes) {
        void *data = mmap(NULL, (size_t)file.bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED) {
            assay_status status =
                as_fail(env, ASSAY_IO, "data: %s: %s: cannot map %" PRIu64 " bytes: %s; mmap=off reads it piece by piece", what,
                        path, file.bytes, strerror(errno));
            close(fd);
            return status;
        }
        file.data = data;
    }
    *out = file;
    return ASSAY_OK;
}

void as_data_file_close(as_data_file *file)
{
    if (file->data)
        munmap((void *)(uintptr_t)file->data, (size_t)file->bytes);
    if (file->path)
        close(file->fd);
    *file = (as_data_file){0};
}

bool as_data_file_same(const as_data_file *file, as_fetch *fetch)
{
    struct stat st;
    if (fstat(file->fd, &st) < 0)
        return as_fetch_fail(fetch, ASSAY_IO, "data: %s: cannot ask for its size: %s", file->path, strerror(errno));
    if ((uint64_t)st.st_size != file->bytes)
        return as_fetch_fail(fetch, ASSAY_BAD_INPUT,
                             "data: %s: had %" PRIu64 " bytes when it was opened and has %" PRIu64
                             " now: it was changed while it was being read",
                             file->path, file->bytes, (uint64_t)st.st_size);
    if ((int64_t)CHANGED(st).tv_sec != file->changed_s || (int64_t)CHANGED(st).tv_nsec != file->changed_ns)
        return as_fetch_fail(fetch, ASSAY_BAD_INPUT, "data: %s: was written to while it was being read", file->path);
    return true;
}

/* 0, an errno, or -1 when the file ended before. */
static int read_all(int fd, uint64_t offset, size_t n, uint8_t *out)
{
    while (n) {
        ssize_t got = pread(fd, out, n, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : -1;
        out += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
}

const uint8_t *as_data_file_bytes(const as_data_file *file, uint64_t offset, size_t n, as_fetch *fetch, size_t at)
{
    if (offset > file->bytes || n > file->bytes - offset) {
        as_fetch_fail(fetch, ASSAY_INTERNAL, "data: %s: asked for %zu bytes at %" PRIu64 " of %" PRIu64, file->path, n, offset,
                      file->bytes);
        return NULL;
    }
    if (!n)
        return (const uint8_t *)"";
    fetch->bytes_read += n;
    if (file->data)
        return file->data + offset;
    if (at > fetch->scratch_bytes || n > fetch->scratch_bytes - at) {
        as_fetch_fail(fetch, ASSAY_INTERNAL, "data: %s: %zu bytes do not fit into %zu", file->path, n, fetch->scratch_bytes);
        return NULL;
    }
    int error = read_all(file->fd, offset, n, fetch->scratch + at);
    if (error) {
        as_fetch_fail(fetch, error < 0 ? ASSAY_BAD_INPUT : ASSAY_IO, "data: %s: cannot read %zu bytes at %" PRIu64 ": %s",
                      file->path, n, offset, error < 0 ? "the file became shorter while it was being read" : strerror(error));
        return NULL;
    }
    return fetch->scratch + at;
}

assay_status as_data_file_get(assay_env *env, const char *what, const as_data_file *file, uint64_t offset, size_t n, void *out)
{
    if (offset > file->bytes || n > file->bytes - offset)
        return as_fail(env, ASSAY_BAD_INPUT, "data: %s: %s: has %" PRIu64 " bytes, and %zu are needed at %" PRIu64, what,
                       file->path, file->bytes, n, offset);
    if (file->data) {
        memcpy(out, file->data + offset, n);
        return ASSAY_OK;
    }
    int error = read_all(file->fd, offset, n, out);
    if (error)
        return as_fail(env, ASSAY_IO, "data: %s: %s: cannot read %zu bytes at %" PRIu64 ": %s", what, file->path, n, offset,
                       error < 0 ? "the file became shorter" : strerror(error));
    return ASSAY_OK;
}

assay_status as_source_files(assay_env *env, as_source *source, int n)
{
    source->files = AS_TAKE(&source->arena, as_data_file, n);
    return source->files ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory for %d files", n);
}

assay_status as_source_file(assay_env *env, as_source *source, const char *path, bool mmap_it, as_data_file **out)
{
    as_data_file *file = &source->files[source->n_files];
    AS_TRY(as_data_file_open(env, source->reader->name, path, mmap_it, file));
    source->n_files++;
    if (out)
        *out = file;
    return ASSAY_OK;
}

bool as_path_ends(const char *path, const char *suffix)
{
    size_t n = strlen(path), k = strlen(suffix);
    return n >= k && !strcmp(path + n - k, suffix);
}

bool as_path_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool as_path_is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

assay_status as_refuse_gzip(assay_env *env, const char *what, const as_data_file *file)
{
    uint8_t head[2] = {0};
    if (file->bytes >= 2)
        AS_TRY(as_data_file_get(env, what, file, 0, 2, head));
    if (head[0] == 0x1f && head[1] == 0x8b)
        return as_fail(env, ASSAY_UNSUPPORTED,
                       "data: %s: %s: is compressed by gzip, which cannot be mapped; unpack it first: gunzip -k %s", what,
                       file->path, file->path);
    return ASSAY_OK;
}
