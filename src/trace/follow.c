/* follow.c - reads a stream of chunks as it arrives: the one reader for a growing file, a pipe, a whole file and bytes in memory.
 *
 * Lengths are not trusted: the bytes of an incomplete chunk are held, but no memory is taken for bytes that have not arrived.  If
 * the input contains a complete chunk, it is read in place and not copied. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "trace/format.h"

enum { READ_BYTES = 1 << 20, POLL_STEP_MS = 10 };
#define MAX_CHUNK_BYTES ((uint64_t)1 << 32) /* a larger length is invalid */

/* --- Begin and end --------------------------------------------------------------------------------------- */

assay_status as_trace_follow_new(assay_env *env, const char *path, const as_follow_settings *settings, as_trace_follow **out)
{
    as_trace_follow *f = calloc(1, sizeof *f);
    if (f)
        f->path = strdup(path);
    if (!f || !f->path || as_trace_new(NULL, &f->t) != ASSAY_OK) {
        as_trace_follow_free(f);
        return as_fail(env, ASSAY_NO_MEMORY, "trace: %s: not enough memory to read it", path);
    }
    if (settings)
        f->settings = *settings;
    f->settings.kept_spans = f->settings.kept_spans ? f->settings.kept_spans : AS_KEPT_SPANS;
    f->settings.kept_samples = f->settings.kept_samples ? f->settings.kept_samples : AS_KEPT_SAMPLES;
    f->keeps_every = 1;
    f->t->start_unix_ns = 0; /* unknown until the clock chunk is read */
    f->t->origin.pid = 0;
    f->t->complete = false;
    *out = f;
    return ASSAY_OK;
}

void as_trace_follow_free(as_trace_follow *f)
{
    if (!f)
        return;
    assay_trace_free(f->t);
    free(f->held);
    free(f->totals);
    free(f->names);
    free(f->path);
    free(f);
}

const assay_trace *as_trace_follow_trace(const as_trace_follow *f) { return f->t; }
bool               as_trace_follow_ended(const as_trace_follow *f) { return f->has_end; }

assay_status as_trace_follow_finish(assay_env *env, as_trace_follow *f, assay_trace **out)
{
    assay_status status = f->failed;
    f->env = env;
    if (status == ASSAY_OK && !f->has_head)
        status = as_fail(env, ASSAY_BAD_INPUT, "trace: %s: has %llu bytes, less than the %d of its header", f->path,
                         (unsigned long long)f->n_held, AS_TRACE_HEAD_BYTES);
    if (status == ASSAY_OK)
        status = as_chunks_end(f);
    if (status == ASSAY_OK && out) {
        *out = f->t;
        f->t = NULL;
    }
    as_trace_follow_free(f);
    return status;
}

/* --- Chunks ---------------------------------------------------------------------------------------------- */

static assay_status head_read(as_trace_follow *f, const uint8_t *data)
{
    f->has_head = true;
    if (memcmp(data, AS_TRACE_MAGIC, 8))
        return as_fail(f->env, ASSAY_BAD_INPUT, "trace: %s: not a trace: it does not begin like one", f->path);
    if (as_le32(data + 8) != AS_TRACE_VERSION)
        return as_fail(f->env, ASSAY_BAD_INPUT, "trace: %s: its version is %u; this program reads version %d", f->path,
                       as_le32(data + 8), AS_TRACE_VERSION);
    if (as_le32(data + 12))
        return as_fail(f->env, ASSAY_BAD_INPUT, "trace: %s: its flags are %08x; this program knows none", f->path,
                       as_le32(data + 12));
    return ASSAY_OK;
}

static bool all_zero(const uint8_t *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (data[i])
            return false;
    return true;
}

/* The size of the next piece of the stream, the file's head or a chunk, as far as the n bytes available show it. */
static size_t piece_bytes(const as_trace_follow *f, const uint8_t *data, size_t n)
{
    if (!f->has_head)
        return AS_TRACE_HEAD_BYTES;
    if (n < AS_CHUNK_HEAD_BYTES)
        return AS_CHUNK_HEAD_BYTES;
    uint64_t length = as_le64(data + 8);
    return length > MAX_CHUNK_BYTES ? SIZE_MAX : AS_CHUNK_HEAD_BYTES + (size_t)length + as_chunk_padding(length) + AS_CRC_BYTES;
}

/* If nothing follows a wrong checksum, the end is torn: a crash may leave the last chunk half written, or zeros. */
static assay_status piece_read(as_trace_follow *f, const uint8_t *data, size_t n)
{
    if (!f->has_head)
        return head_read(f, data);
    uint32_t stored = as_le32(data + n - AS_CRC_BYTES), crc = as_crc32(0, data, n - AS_CRC_BYTES);
    uint64_t length = as_le64(data + 8);
    memcpy(f->type, data, 4);
    f->at = f->n_bytes;
    if (crc == stored)
        return as_chunk_read(f, as_le32(data + 4), data + AS_CHUNK_HEAD_BYTES, (size_t)length);
    f->bad = true;
    f->zero = all_zero(data, n);
    f->stored = stored;
    f->computed = crc;
    f->bad_length = length;
    return ASSAY_OK;
}

static assay_status behind_bad(as_trace_follow *f, const uint8_t *data, size_t n)
{
    if (!n || (f->zero && all_zero(data, n)))
        return ASSAY_OK;
    return as_chunk_lie(f, "its checksum is %08x, but its %llu bytes give %08x", f->stored, (unsigned long long)f->bad_length,
                        f->computed);
}

static assay_status hold(as_trace_follow *f, const uint8_t *data, size_t n)
{
    if (f->n_held + n > f->cap_held) {
        size_t   want = 2 * f->cap_held > f->n_held + n ? 2 * f->cap_held : f->n_held + n;
        uint8_t *moved = realloc(f->held, want);
        if (!moved)
            return as_fail(f->env, ASSAY_NO_MEMORY, "trace: %s: not enough memory for a chunk of more than %zu bytes", f->path,
                           f->n_held);
        f->held = moved;
        f->cap_held = want;
    }
    memcpy(f->held + f->n_held, data, n);
    f->n_held += n;
    return ASSAY_OK;
}

/* Takes one piece, or the part that is available; *used gets the number of bytes taken. */
static assay_status piece_take(as_trace_follow *f, const uint8_t *data, size_t n, size_t *used)
{
    const uint8_t *whole = data;
    size_t         bytes;
    *used = n;
    if (f->bad)
        return behind_bad(f, data, n);
    if (f->torn)
        return ASSAY_OK;
    if (f->n_held) {
        bytes = piece_bytes(f, f->held, f->n_held);
        *used = bytes - f->n_held < n ? bytes - f->n_held : n;
        AS_TRY(hold(f, data, *used));
        bytes = piece_bytes(f, f->held, f->n_held);
        whole = f->n_held == bytes ? f->held : NULL;
    } else {
        bytes = piece_bytes(f, data, n);
        *used = bytes < n ? bytes : n;
        whole = n >= bytes ? data : NULL;
        if (!whole && bytes != SIZE_MAX)
            AS_TRY(hold(f, data, n));
    }
    f->torn = bytes == SIZE_MAX;
    if (!whole)
        return ASSAY_OK;
    f->n_held = 0; /* its bytes stay in place */
    assay_status status = piece_read(f, whole, bytes);
    f->n_bytes += bytes;
    return status;
}

assay_status as_trace_follow_feed(assay_env *env, as_trace_follow *f, const void *data, size_t n)
{
    const uint8_t *bytes = data;
    f->env = env;
    if (f->failed != ASSAY_OK)
        return as_fail(env, f->failed, "trace: %s: cannot read after byte %llu", f->path, (unsigned long long)f->n_bytes);
    for (size_t used; n && f->failed == ASSAY_OK; bytes += used, n -= used)
        f->failed = piece_take(f, bytes, n, &used);
    return f->failed;
}

/* --- Where bytes come from ---------------------------------------------------------------------------------- */

assay_status as_trace_parse(assay_env *env, const char *path, const uint8_t *data, size_t n, assay_trace **out)
{
    as_trace_follow *f;
    AS_TRY(as_trace_follow_new(env, path, NULL, &f));
    assay_status status = as_trace_follow_feed(env, f, data, n);
    if (status == ASSAY_OK)
        return as_trace_follow_finish(env, f, out);
    as_trace_follow_free(f);
    return status;
}

/* *n gets 0 at the end of a file, and of a pipe without a writer. */
static assay_status some_read(assay_env *env, as_trace_follow *f, int fd, uint8_t *buffer, size_t *n)
{
    ssize_t got;
    do
        got = read(fd, buffer, READ_BYTES);
    while (got < 0 && errno == EINTR);
    *n = got > 0 ? (size_t)got : 0;
    if (got < 0)
        return as_fail(env, ASSAY_IO, "trace: %s: cannot read: %s", f->path, strerror(errno));
    return as_trace_follow_feed(env, f, buffer, *n);
}

static assay_status file_feed(assay_env *env, as_trace_follow *f, int fd)
{
    uint8_t *buffer = malloc(READ_BYTES);
    size_t   n = 1;
    if (!buffer)
        return as_fail(env, ASSAY_NO_MEMORY, "trace: %s: not enough memory to read it", f->path);
    assay_status status = ASSAY_OK;
    while (n && status == ASSAY_OK)
        status = some_read(env, f, fd, buffer, &n);
    free(buffer);
    return status;
}

/* Read in pieces, not mapped: the pages of a mapped file would count as memory of this process. */
assay_status assay_trace_load(assay_env *env, const char *path, assay_trace **out)
{
    as_trace_follow *f;
    struct stat      st;
    int              fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return as_fail(env, errno == ENOENT ? ASSAY_NOT_FOUND : ASSAY_IO, "trace: %s: cannot open: %s", path, strerror(errno));
    assay_status status = ASSAY_OK;
    if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
        status = as_fail(env, ASSAY_BAD_INPUT, "trace: %s: is a directory", path);
    if (status == ASSAY_OK)
        status = as_trace_follow_new(env, path, NULL, &f);
    if (status == ASSAY_OK) {
        status = file_feed(env, f, fd);
        if (status == ASSAY_OK)
            status = as_trace_follow_finish(env, f, out);
        else
            as_trace_follow_free(f);
    }
    close(fd);
    return status;
}

/* At the end of a file it polls: no better way works on all systems. */
static assay_status wait_read(assay_env *env, as_trace_follow *f, int fd, int timeout_ms, uint8_t *buffer, as_follow_news *news)
{
    struct stat st;
    bool        is_file = !fstat(fd, &st) && S_ISREG(st.st_mode);
    size_t      n = 0;
    for (int waited = 0;; waited += POLL_STEP_MS) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int           wait = is_file || timeout_ms < 0 ? 0 : timeout_ms;
        if (is_file || poll(&p, 1, wait) > 0) {
            AS_TRY(some_read(env, f, fd, buffer, &n));
            if (n || !is_file) {
                *news = f->has_end ? AS_FOLLOW_ENDED : n ? AS_FOLLOW_GREW : AS_FOLLOW_CLOSED;
                return ASSAY_OK;
            }
        }
        *news = f->has_end ? AS_FOLLOW_ENDED : AS_FOLLOW_QUIET;
        if (f->has_end || !is_file || waited >= timeout_ms)
            return ASSAY_OK;
        poll(NULL, 0, POLL_STEP_MS);
    }
}

assay_status as_trace_follow_poll(assay_env *env, as_trace_follow *f, int fd, int timeout_ms, as_follow_news *news)
{
    uint8_t *buffer = malloc(READ_BYTES);
    if (!buffer)
        return as_fail(env, ASSAY_NO_MEMORY, "trace: %s: not enough memory to read it", f->path);
    assay_status status = wait_read(env, f, fd, timeout_ms, buffer, news);
    free(buffer);
    return status;
}
