/* file.c - files in (mapped) and files out (to a temporary name, then renamed). */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <mach-o/dyld.h>
#endif

#include "base/env.h"

/* --- In ----------------------------------------------------------------------------------- */

static assay_status map_fd(assay_env *env, const char *what, const char *path, int fd, uint64_t max_bytes, as_map *out)
{
    struct stat st;
    if (fstat(fd, &st))
        return as_fail(env, ASSAY_IO, "%s: %s: cannot read its attributes: %s", what, path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return as_fail(env, ASSAY_BAD_INPUT, "%s: %s: cannot read: it is a directory", what, path);
    if (!S_ISREG(st.st_mode))
        return as_fail(env, ASSAY_BAD_INPUT, "%s: %s: cannot read: it is not a regular file", what, path);
    uint64_t bytes = (uint64_t)st.st_size;
    if (max_bytes && bytes > max_bytes)
        return as_fail(env, ASSAY_BAD_INPUT, "%s: %s: has %llu bytes; at most %llu can be read", what, path,
                       (unsigned long long)bytes, (unsigned long long)max_bytes);
    if (!bytes) {
        *out = (as_map){.data = (const uint8_t *)""};
        return ASSAY_OK;
    }
    if (bytes > SIZE_MAX)
        return as_fail(env, ASSAY_NO_MEMORY, "%s: %s: its %llu bytes are more than this machine can map", what, path,
                       (unsigned long long)bytes);
    void *base = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (base == MAP_FAILED)
        return as_fail(env, errno == ENOMEM ? ASSAY_NO_MEMORY : ASSAY_IO, "%s: %s: cannot map its %llu bytes: %s", what, path,
                       (unsigned long long)bytes, strerror(errno));
    *out = (as_map){.data = base, .bytes = (size_t)bytes, .base = base};
    return ASSAY_OK;
}

assay_status as_map_open(assay_env *env, const char *what, const char *path, uint64_t max_bytes, as_map *out)
{
    /* Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return as_fail(env, errno == ENOENT ? ASSAY_NOT_FOUND : ASSAY_IO, "%s: %s: cannot open: %s", what, path, strerror(errno));
    assay_status status = map_fd(env, what, path, fd, max_bytes, out);
    close(fd);
    return status;
}

/* The real directory of a path; with `follow`, that of the file that its links lead to.  NULL when there is none.  The caller
 * frees it. */
static char *real_directory(const char *path, bool follow)
{
    char       *real = follow ? realpath(path, NULL) : NULL;
    const char *of = follow ? real : path, *slash = of ? strrchr(of, '/') : NULL;
    char       *directory = NULL;
    if (of) {
        char *named = slash == of ? strdup("/") : slash ? strndup(of, (size_t)(slash - of)) : strdup(".");
        directory = named ? realpath(named, NULL) : NULL;
        free(named);
    }
    free(real);
    return directory;
}

static bool is_below(const char *path, const char *directory)
{
    size_t n = directory ? strlen(directory) : 0;
    if (n == 1)
        return true; /* the root */
    return n && !strncmp(path, directory, n) && path[n] == '/';
}

assay_status as_map_open_beside(assay_env *env, const char *what, const char *owner, const char *path, uint64_t max_bytes,
                                as_map *out)
{
    char *real = realpath(path, NULL);
    if (!real)
        return as_fail(env, errno == ENOENT ? ASSAY_NOT_FOUND : ASSAY_IO, "%s: %s: cannot open: %s", what, path, strerror(errno));
    char        *named = real_directory(owner, false), *linked = real_directory(owner, true);
    assay_status status;
    if (is_below(real, named) || is_below(real, linked))
        status = as_map_open(env, what, real, max_bytes, out); /* the file that was checked, not what its name may mean by now */
    else
        status = as_fail(env, ASSAY_BAD_INPUT, "%s: %s: not read: it is a link to %s, which is not below the directory of %s", what,
                         path, real, owner);
    free(real);
    free(named);
    free(linked);
    return status;
}

void as_memory_forget(void *data, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = ((uintptr_t)data + page - 1) / page * page,
              end = ((uintptr_t)data + bytes) / page * page;
    if (begin < end)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}

void as_map_forget(const as_map *map, const void *data, size_t bytes)
{
    uintptr_t begin = (uintptr_t)data, base = (uintptr_t)map->base, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (!base || begin < base || begin - base >= map->bytes || bytes > map->bytes - (begin - base))
        return;
    uintptr_t from = begin - begin % page; /* the map begins with a page; a neighbour on the same page is read again, too */
    madvise((void *)from, begin + bytes - from, MADV_DONTNEED);
}

void as_map_close(as_map *map)
{
    if (map->base)
        munmap(map->base, map->bytes);
    *map = (as_map){0};
}

bool as_file_small(const char *path, char *buf, size_t size)
{
    if (!size)
        return false;
    buf[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    size_t  length = 0;
    ssize_t got = 0;
    while (length < size - 1) {
        got = read(fd, buf + length, size - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    close(fd);
    buf[got < 0 ? 0 : length] = '\0';
    length = strlen(buf); /* device tree files end with their own NUL */
    size_t start = strspn(buf, " \t\r\n");
    while (length > start && strchr(" \t\r\n", buf[length - 1]))
        length--;
    memmove(buf, buf + start, length - start);
    buf[length - start] = '\0';
    return got >= 0;
}

/* --- Out ---------------------------------------------------------------------------------- */

static assay_status cannot_write(assay_env *env, const char *path, int error)
{
    return as_fail(env, ASSAY_IO, "%s: cannot write: %s", path, error ? strerror(error) : "an earlier write failed");
}

/* Creates a file beside the target under our own name: a short one, because the target's name may
 * already have the maximum length.  Not mkstemp(): its mode is 0600, and the umask cannot be read
 * without setting it, which other threads would see. */
static int temporary_create(as_out *out)
{
    const char *slash = strrchr(out->path, '/');
    int         dir_length = slash ? (int)(slash - out->path) + 1 : 0;
    uint64_t    salt = as_monotonic_ns() ^ (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)out;
    for (int i = 0; i < 100; i++) {
        uint64_t tag = as_hash64(&salt, sizeof salt);
        snprintf(out->temporary, sizeof out->temporary, "%.*s.assay-%08x.tmp", dir_length, out->path,
                 (unsigned)(tag & 0xffffffffu));
        int fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
        salt++;
    }
    return -1;
}

/* Opens the file that is really written.  A link is followed first, so that the file it points
 * to is replaced and not the link; a file that is not regular (a device, a pipe) is written
 * directly. */
static int target_open(as_out *out, int *error)
{
    struct stat st;
    bool        exists = !stat(out->path, &st);
    int         fd = -1;
    if (exists && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
    } else if (exists && !S_ISREG(st.st_mode)) {
        fd = open(out->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    } else if (exists && access(out->path, W_OK)) {
        /* A rename would replace a file that its owner has made read-only. */
    } else {
        char *real = exists ? realpath(out->path, NULL) : NULL;
        if (real && strlen(real) < sizeof out->path)
            memcpy(out->path, real, strlen(real) + 1);
        free(real);
        fd = temporary_create(out);
        if (fd < 0)
            out->temporary[0] = '\0';
        else if (exists && fchmod(fd, st.st_mode & 07777) && errno != EPERM)
            *error = errno;
    }
    if (fd < 0)
        *error = errno;
    return fd;
}

static void temporary_note(assay_env *env, as_out *out)
{
    char *name = env && out->temporary[0] ? strdup(out->temporary) : NULL;
    for (int i = 0; name && i < AS_MAX_TEMPORARIES; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&env->temporaries[i], &none, name)) {
            out->place = i;
            out->env = env;
            return;
        }
    }
    free(name);
}

static void temporary_forget(as_out *out)
{
    if (out->env)
        free(atomic_exchange(&out->env->temporaries[out->place], NULL));
    out->env = NULL;
}

void as_out_remove_all(assay_env *env)
{
    for (int i = 0; i < AS_MAX_TEMPORARIES; i++) {
        const char *name = atomic_load(&env->temporaries[i]);
        if (name)
            unlink(name);
    }
}

assay_status as_out_open(assay_env *env, const char *path, as_out *out)
{
    as_out made = {0};
    size_t length = strlen(path);
    if (!length)
        return as_fail(env, ASSAY_BAD_INPUT, "cannot write: the file name is empty");
    if (length >= sizeof made.path)
        return as_fail(env, ASSAY_BAD_INPUT, "cannot write: the file name has %zu bytes; at most %zu are possible", length,
                       sizeof made.path - 1);
    memcpy(made.path, path, length + 1);
    if (!strcmp(path, "-")) {
        made.file = stdout;
        *out = made;
        return ASSAY_OK;
    }
    int error = 0, fd = target_open(&made, &error);
    if (!error && !(made.file = fdopen(fd, "w")))
        error = errno;
    if (error) {
        if (fd >= 0)
            close(fd);
        if (made.temporary[0])
            unlink(made.temporary);
        return cannot_write(env, path, error);
    }
    temporary_note(env, &made);
    *out = made;
    return ASSAY_OK;
}

/* stdio forgets why an earlier write failed, and the user has to know that there is "no space
 * left": tries again.  The temporary is lost anyway; for any other target it writes no bytes. */
static int write_error(const as_out *out)
{
    static const char zeros[4096];
    size_t            n = out->temporary[0] ? sizeof zeros : 0;
    for (int i = 0; i < 16; i++)
        if (write(fileno(out->file), zeros, n) < 0)
            return errno;
    return 0;
}

assay_status as_out_commit(assay_env *env, as_out *out)
{
    FILE *file = out->file;
    bool  is_stdout = file == stdout, failed = false;
    int   error = 0;
    if (fflush(file)) {
        failed = true;
        error = errno;
    } else if (ferror(file)) {
        failed = true;
        error = write_error(out);
    } else if (out->temporary[0] && fsync(fileno(file)) && errno != EINVAL && errno != ENOTSUP) {
        failed = true;
        error = errno;
    }
    if (is_stdout)
        clearerr(stdout); /* reported now; the next output starts without it */
    else if (fclose(file) && !failed) {
        failed = true;
        error = errno;
    }
    out->file = NULL;
    if (out->temporary[0]) {
        if (!failed && rename(out->temporary, out->path)) {
            failed = true;
            error = errno;
        }
        if (failed)
            unlink(out->temporary);
        out->temporary[0] = '\0';
    }
    temporary_forget(out);
    return failed ? cannot_write(env, is_stdout ? "standard output" : out->path, error) : ASSAY_OK;
}

void as_out_abandon(as_out *out)
{
    if (out->file && out->file != stdout)
        fclose(out->file);
    out->file = NULL;
    if (out->temporary[0])
        unlink(out->temporary);
    out->temporary[0] = '\0';
    temporary_forget(out);
}

assay_status as_file_write(assay_env *env, const char *path, const void *data, size_t n)
{
    as_out out;
    AS_TRY(as_out_open(env, path, &out));
    if (n)
        fwrite(data, 1, n, out.file); /* the stream keeps the error, and commit finds it */
    return as_out_commit(env, &out);
}

/* --- Could it be written? ------------------------------------------------------------------- */

static assay_status refuse(assay_env *env, const char *path, const char *why)
{
    return as_fail(env, ASSAY_IO, "%s cannot be written: %s", path, why);
}

/* The directory that holds `path`; false: its name is too long. */
static bool parent_of(const char *path, char *out, size_t size)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    return (size_t)snprintf(out, size, "%.*s", n ? (int)n : 1, n ? path : ".") < size;
}

/* Makes a file in the directory and removes it: permissions, a read-only disk and access control lists all show only then. */
static assay_status folder_try(assay_env *env, const char *path, const char *folder)
{
    struct stat st;
    as_out      out = {0};
    char        why[4200];
    if (stat(folder, &st)) {
        snprintf(why, sizeof why, "the directory %s %s", folder, errno == ENOENT ? "does not exist" : strerror(errno));
        return refuse(env, path, why);
    }
    if (!S_ISDIR(st.st_mode)) {
        snprintf(why, sizeof why, "%s is not a directory", folder);
        return refuse(env, path, why);
    }
    int n = snprintf(out.path, sizeof out.path, "%s/x", folder);
    int fd = n > 0 && (size_t)n < sizeof out.path ? temporary_create(&out) : (errno = ENAMETOOLONG, -1);
    if (fd < 0) {
        snprintf(why, sizeof why, "no file can be made in the directory %s: %s", folder, strerror(errno));
        return refuse(env, path, why);
    }
    close(fd);
    unlink(out.temporary);
    return ASSAY_OK;
}

assay_status as_out_check(assay_env *env, const char *path)
{
    struct stat st;
    char        folder[4096];
    if (!strcmp(path, "-"))
        return ASSAY_OK;
    if (!*path)
        return as_fail(env, ASSAY_BAD_INPUT, "a file without a name cannot be written");
    bool exists = !stat(path, &st);
    if (exists && S_ISDIR(st.st_mode))
        return refuse(env, path, "it is a directory");
    if (exists && access(path, W_OK))
        return refuse(env, path, strerror(errno));
    if (exists && !S_ISREG(st.st_mode)) /* a device or a pipe is written straight */
        return ASSAY_OK;
    char        *real = exists ? realpath(path, NULL) : NULL;
    const char  *target = real ? real : path;
    assay_status status = parent_of(target, folder, sizeof folder) && strlen(target) < sizeof folder
                              ? folder_try(env, path, folder)
                              : refuse(env, path, "its name is too long");
    free(real);
    return status;
}

assay_status as_folder_check(assay_env *env, const char *path)
{
    struct stat st;
    char        folder[4096];
    if (!stat(path, &st) || errno != ENOENT)
        return folder_try(env, path, path);
    return parent_of(path, folder, sizeof folder) ? folder_try(env, path, folder) : refuse(env, path, "its name is too long");
}

/* --- This program ---------------------------------------------------------------------------- */

assay_status as_self_path(assay_env *env, char *out, size_t size)
{
#if defined(__APPLE__)
    uint32_t room = (uint32_t)size;
    if (!_NSGetExecutablePath(out, &room))
        return ASSAY_OK;
#else
    ssize_t n = readlink("/proc/self/exe", out, size - 1);
    if (n > 0 && (size_t)n < size - 1) {
        out[n] = 0;
        return ASSAY_OK;
    }
#endif
    return as_fail(env, ASSAY_UNSUPPORTED, "the system does not give the path of this program");
}
