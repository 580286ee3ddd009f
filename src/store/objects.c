/* objects.c - files beside the database, each named by its content: executables and models that a baseline can run again.
 *
 * Another process must not sweep away an object that was put but that no baseline names yet.  So a store that puts objects holds
 * a shared lock until it is closed, and a sweep needs the lock exclusively. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "store/kind.h"

_Static_assert(AS_OBJECT_ID == AS_SHA256_HEX, "an object is named by its SHA-256");
enum { CHUNK = 1 << 16, OBJECT_PATH = 4096 + AS_OBJECT_ID };

static bool is_id(const char *id) { return strlen(id) == AS_OBJECT_ID - 1 && strspn(id, "0123456789abcdef") == AS_OBJECT_ID - 1; }

static void object_path(const as_store *s, const char *id, char out[OBJECT_PATH])
{
    snprintf(out, OBJECT_PATH, "%s/%s", s->objects, id);
}

static assay_status cannot(assay_env *env, const char *path, const char *what)
{
    return as_fail(env, ASSAY_IO, "object: %s: cannot %s: %s", path, what, strerror(errno));
}

static assay_status source_open(assay_env *env, const char *path, FILE **out, struct stat *st)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* O_NONBLOCK: opening a pipe must not wait */
    if (fd < 0)
        return as_fail(env, errno == ENOENT ? ASSAY_NOT_FOUND : ASSAY_IO, "object: %s: cannot open: %s", path, strerror(errno));
    if (fstat(fd, st) || !S_ISREG(st->st_mode)) {
        close(fd);
        return as_fail(env, ASSAY_BAD_INPUT, "object: %s: is not a regular file", path);
    }
    *out = fdopen(fd, "rb");
    if (*out)
        return ASSAY_OK;
    close(fd);
    return as_fail(env, ASSAY_NO_MEMORY, "object: %s: not enough memory to read it", path);
}

/* Hashes what is left of the file, and copies it where `to` is given. */
static assay_status hash_copy(assay_env *env, const char *path, FILE *from, FILE *to, char id[AS_OBJECT_ID])
{
    char      chunk[CHUNK];
    size_t    n;
    as_sha256 h;
    as_sha256_start(&h);
    while ((n = fread(chunk, 1, sizeof chunk, from)) > 0) {
        as_sha256_add(&h, chunk, n);
        if (to)
            fwrite(chunk, 1, n, to); /* the stream keeps an error, and commit finds it */
    }
    if (ferror(from))
        return cannot(env, path, "read");
    as_sha256_finish(&h, id);
    return ASSAY_OK;
}

static assay_status hash_file(assay_env *env, const char *path, char id[AS_OBJECT_ID])
{
    FILE       *file;
    struct stat st;
    AS_TRY(source_open(env, path, &file, &st));
    assay_status status = hash_copy(env, path, file, NULL, id);
    fclose(file);
    return status;
}

/* --- In ------------------------------------------------------------------------------------------------------- */

static assay_status lock_take(assay_env *env, as_store *s)
{
    if (s->lock >= 0)
        return ASSAY_OK;
    if (mkdir(s->objects, 0777) && errno != EEXIST)
        return cannot(env, s->objects, "make the directory");
    s->lock = open(s->objects, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->lock < 0)
        return cannot(env, s->objects, "open");
    while (flock(s->lock, LOCK_SH))
        if (errno != EINTR)
            return cannot(env, s->objects, "lock");
    return ASSAY_OK;
}

/* Executable for everyone who may read it, as the umask left it. */
static void executable_make(FILE *file)
{
    struct stat st;
    if (!fstat(fileno(file), &st))
        (void)!fchmod(fileno(file), (st.st_mode | (st.st_mode & 0444) >> 2) & 0777);
}

static assay_status copy_in(assay_env *env, const char *path, FILE *from, bool executable, const char *to, const char *id)
{
    as_out out;
    char   copied[AS_OBJECT_ID];
    rewind(from);
    AS_TRY(as_out_open(env, to, &out));
    assay_status status = hash_copy(env, path, from, out.file, copied);
    if (status == ASSAY_OK && strcmp(copied, id))
        status = as_fail(env, ASSAY_BAD_INPUT, "object: %s: changed while it was read", path);
    if (status != ASSAY_OK) {
        as_out_abandon(&out);
        return status;
    }
    if (executable)
        executable_make(out.file);
    return as_out_commit(env, &out);
}

/* Whether it is there already, complete, and executable if it has to be.  A damaged object is replaced. */
static bool is_there(const char *path, const char *id, bool executable)
{
    char        found[AS_OBJECT_ID];
    struct stat st;
    return !lstat(path, &st) && S_ISREG(st.st_mode) && (!executable || st.st_mode & 0100) &&
           hash_file(NULL, path, found) == ASSAY_OK && !strcmp(found, id);
}

static assay_status put_open(assay_env *env, as_store *s, const char *path, FILE *from, bool executable, char id[AS_OBJECT_ID])
{
    char        to[OBJECT_PATH], made[AS_OBJECT_ID];
    struct stat st;
    AS_TRY(hash_copy(env, path, from, NULL, made));
    AS_TRY(lock_take(env, s));
    object_path(s, made, to);
    if (!is_there(to, made, executable)) {
        if (!lstat(to, &st) && !S_ISREG(st.st_mode))
            return as_fail(env, ASSAY_BAD_INPUT, "object: %s: is not a regular file, and a link is not followed", to);
        AS_TRY(copy_in(env, path, from, executable, to, made));
    }
    memcpy(id, made, sizeof made);
    return ASSAY_OK;
}

assay_status as_store_put_object(assay_env *env, as_store *s, const char *path, char id[AS_OBJECT_ID])
{
    FILE       *from;
    struct stat st;
    AS_TRY(source_open(env, path, &from, &st));
    assay_status status = put_open(env, s, path, from, (st.st_mode & 0100) != 0, id);
    fclose(from);
    return status;
}

/* --- Out ------------------------------------------------------------------------------------------------------ */

assay_status as_store_get_object(assay_env *env, as_store *s, const char *id, char *path, size_t size)
{
    char        at[OBJECT_PATH], found[AS_OBJECT_ID];
    struct stat st;
    if (!is_id(id))
        return as_fail(env, ASSAY_BAD_INPUT, "object: '%.80s' is not the name of an object: 64 hexadecimal digits", id);
    object_path(s, id, at);
    if (lstat(at, &st))
        return as_fail(env, errno == ENOENT || errno == ENOTDIR ? ASSAY_NOT_FOUND : ASSAY_IO, "object: %s: cannot open: %s", at,
                       strerror(errno));
    if (!S_ISREG(st.st_mode))
        return as_fail(env, ASSAY_BAD_INPUT, "object: %s: is not a regular file", at);
    AS_TRY(hash_file(env, at, found));
    if (strcmp(found, id))
        return as_fail(env, ASSAY_BAD_INPUT, "object: %s: its content is %.16s... and not what its name says: it was changed", at,
                       found);
    if (strlen(at) >= size)
        return as_fail(env, ASSAY_BAD_INPUT, "object: %s: the path is too long", at);
    memcpy(path, at, strlen(at) + 1);
    return ASSAY_OK;
}

/* --- Removing ------------------------------------------------------------------------------------------------------ */

/* Temporary files of as_out that a killed writer left. */
static bool is_leftover(const char *name)
{
    size_t n = strlen(name);
    return n > 11 && !strncmp(name, ".assay-", 7) && !strcmp(name + n - 4, ".tmp");
}

static assay_status sweep_dir(assay_env *env, as_store *s, DIR *dir, size_t *n_removed)
{
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        bool wanted = false;
        if (is_id(entry->d_name))
            AS_TRY(s->kind->mentions(env, s->db, entry->d_name, &wanted));
        else if (!is_leftover(entry->d_name))
            continue;
        if (!wanted && !unlinkat(dirfd(dir), entry->d_name, 0))
            *n_removed += is_id(entry->d_name);
    }
    return ASSAY_OK;
}

assay_status as_store_sweep(assay_env *env, as_store *s, size_t *n_removed)
{
    assay_status status = ASSAY_OK;
    *n_removed = 0;
    DIR *dir = opendir(s->objects);
    if (!dir)
        return errno == ENOENT ? ASSAY_OK : cannot(env, s->objects, "open");
    int lock = s->lock >= 0 ? s->lock : dirfd(dir);
    if (!flock(lock, LOCK_EX | LOCK_NB))
        status = sweep_dir(env, s, dir, n_removed);
    if (s->lock >= 0)
        flock(lock, LOCK_SH);
    closedir(dir);
    return status;
}
