/* arm_bin_child.c - a process that answers lines: started, asked, and always ended and reaped. */
#include "run/arm_bin_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

#ifdef __APPLE__ /* there a shared library cannot use `environ` */
#include <crt_externs.h>
#define environ (*_NSGetEnviron())
#else
extern char **environ;
#endif

enum {
    SLICE_MS = 100
}; /* how often cancel is checked while waiting for an answer; blocks are shorter, so no wake-up disturbs
                          * them */
static const uint64_t END_NS = 500000000, EXIT_NS = 1000000000;

/* --- Starting -------------------------------------------------------------------------------------------- */

/* Moves fd above the standard ones, which dup2() in the child would overwrite, and keeps other children from inheriting it. */
static int raised(int fd)
{
    int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (fd >= 0)
        close(fd);
    return moved;
}

static bool pipe_open(int ends[2])
{
    if (pipe(ends)) {
        ends[0] = ends[1] = -1;
        return false;
    }
    ends[0] = raised(ends[0]);
    ends[1] = raised(ends[1]);
    return ends[0] >= 0 && ends[1] >= 0;
}

static void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The child gets its own process group, our three pipes, no other file, and default signal handling. */
static int spawn(pid_t *pid, const char *const *argv, int in, int out, int err)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t          how;
    sigset_t                   none, standard;
    short                      flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (posix_spawn_file_actions_init(&files))
        return ENOMEM;
    if (posix_spawnattr_init(&how)) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
#ifdef POSIX_SPAWN_CLOEXEC_DEFAULT
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
    sigemptyset(&none);
    sigemptyset(&standard);
    sigaddset(&standard, SIGINT);
    sigaddset(&standard, SIGPIPE);
    sigaddset(&standard, SIGTERM);
    posix_spawnattr_setflags(&how, flags);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &standard);
    int error = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
    if (!error)
        error = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
#endif
    if (!error)
        error = posix_spawnp(pid, argv[0], &files, &how, (char *const *)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static void owe(as_child *c, const char *prefix, const char *what, const char *suffix)
{
    snprintf(c->owed, sizeof c->owed, "%s%s%s", prefix, what, suffix);
    snprintf(c->who, sizeof c->who, "\"%.300s\": %s", c->command, c->owed);
}

static bool pipes_open(as_child *c, int in[2], int out[2], int err[2])
{
    bool has_in = pipe_open(in), has_out = pipe_open(out), has_err = pipe_open(err); /* all three are opened, so that all can be
                                                                                      * closed */
    c->to = in[1];
    c->from = out[0];
    c->err = err[0];
    return has_in && has_out && has_err && fcntl(c->from, F_SETFL, O_NONBLOCK) == 0 && fcntl(c->err, F_SETFL, O_NONBLOCK) == 0;
}

static void pipes_close(as_child *c)
{
    fd_close(&c->to);
    fd_close(&c->from);
    fd_close(&c->err);
}

static assay_status answer_await(assay_env *env, as_child *c);

assay_status as_child_start(assay_env *env, as_child *c, const char *const *argv)
{
    int   in[2], out[2], err[2];
    pid_t pid = 0;
    c->n_words = c->n_line = 0;
    owe(c, "its greeting", "", "");
    int error = pipes_open(c, in, out, err) ? spawn(&pid, argv, in[0], out[1], err[1]) : errno;
    fd_close(&in[0]);
    fd_close(&out[1]);
    fd_close(&err[1]);
    if (error) {
        bool is_full = error == ENOMEM || error == EAGAIN || error == EMFILE || error == ENFILE;
        pipes_close(c);
        return as_fail(env, is_full ? ASSAY_IO : ASSAY_NOT_FOUND, "\"%.300s\" cannot be started: %s", c->command, strerror(error));
    }
    c->pid = pid;
    c->has_greeted = false;
    AS_TRY(answer_await(env, c));
    c->has_greeted = true;
    return ASSAY_OK;
}

/* --- Ending ---------------------------------------------------------------------------------------------- */

/* Whether it has ended but is not reaped: until it is reaped, no other process can get its id or its group's. */
static bool has_ended(const as_child *c)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ? errno != EINTR : info.si_pid != 0;
}

static bool ends_within(const as_child *c, uint64_t limit_ns)
{
    uint64_t        start_ns = as_monotonic_ns();
    struct timespec nap = {.tv_nsec = 100000};
    while (!has_ended(c)) {
        if (as_monotonic_ns() - start_ns > limit_ns)
            return false;
        nanosleep(&nap, NULL);
        if (nap.tv_nsec < 5000000)
            nap.tv_nsec += nap.tv_nsec / 2;
    }
    return true;
}

/* Ends what is left of the group and reaps the child; returns its wait status, 0 where somebody else reaped it. */
static int reap(as_child *c)
{
    int status = 0;
    kill(-c->pid, SIGKILL);
    kill(c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) {
    }
    c->pid = 0;
    pipes_close(c);
    return status;
}

void as_child_kill(as_child *c)
{
    if (c->pid)
        reap(c);
}

/* Writes without being ended by SIGPIPE, and leaves the program's handling of that signal alone. */
static bool line_send(int fd, const char *text)
{
    char     line[AS_ARM_REQUEST_BYTES];
    sigset_t pipes, before, pending;
    int      n = snprintf(line, sizeof line, "%s\n", text), taken;
    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipes, &before);
    sigpending(&pending);
    bool    was_pending = sigismember(&pending, SIGPIPE) == 1;
    ssize_t done;
    do
        done = write(fd, line, (size_t)n); /* short enough that a pipe takes it at once */
    while (done < 0 && errno == EINTR);
    if (done < 0 && errno == EPIPE && !was_pending)
        sigwait(&pipes, &taken);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return done == n;
}

void as_child_end(as_child *c)
{
    if (!c->pid)
        return;
    line_send(c->to, "end");
    fd_close(&c->to); /* a program that does not know "end" sees the end of its input */
    ends_within(c, END_NS);
    reap(c);
}

/* --- Its answers ----------------------------------------------------------------------------------------- */

/* Reads what it wrote to standard error and keeps the end; reads no more than a pipe holds, because it may never stop writing. */
static void words_take(as_child *c)
{
    char    some[256];
    ssize_t n;
    for (int i = 0; i < 256 && c->err >= 0 && (n = read(c->err, some, sizeof some)) > 0; i++) {
        size_t more = (size_t)n, room = sizeof c->words - 1, over = c->n_words + more > room ? c->n_words + more - room : 0;
        memmove(c->words, c->words + over, c->n_words - over);
        memcpy(c->words + c->n_words - over, some, more);
        c->n_words += more - over;
    }
}

/* The last line that is not empty, as "; it said: ..." or "". */
static const char *last_words(as_child *c, char *buf, size_t size)
{
    words_take(c);
    while (c->n_words && strchr("\n\r\t ", c->words[c->n_words - 1]))
        c->n_words--;
    c->words[c->n_words] = 0;
    const char *newline = strrchr(c->words, '\n'), *line = newline ? newline + 1 : c->words;
    snprintf(buf, size, "%s%s", *line ? "; it said: " : "", line);
    return buf;
}

/* It has closed its side: says how it ended. */
static assay_status fail_ended(assay_env *env, as_child *c)
{
    bool by_itself = ends_within(c, EXIT_NS);
    char words[sizeof c->words + 16];
    last_words(c, words, sizeof words);
    int status = reap(c);
    if (!by_itself)
        return as_fail(env, ASSAY_DEVICE, "\"%.300s\" closed its input or output while it owed %s%s", c->command, c->owed, words);
    if (WIFSIGNALED(status))
        return as_fail(env, ASSAY_DEVICE, "\"%.300s\" ended by signal %d (%s) while it owed %s%s", c->command, WTERMSIG(status),
                       strsignal(WTERMSIG(status)), c->owed, words);
    if (WEXITSTATUS(status) == 127 && !c->has_greeted) /* posix_spawn() and shells report a missing program this way */
        return as_fail(env, ASSAY_NOT_FOUND, "\"%.300s\" cannot be started: exit code 127%s", c->command, words);
    return as_fail(env, ASSAY_DEVICE, "\"%.300s\" ended with exit code %d while it owed %s%s", c->command, WEXITSTATUS(status),
                   c->owed, words);
}

static assay_status fail_timed_out(assay_env *env, as_child *c)
{
    char words[sizeof c->words + 16];
    last_words(c, words, sizeof words);
    as_child_kill(c);
    return as_fail(env, ASSAY_TIMED_OUT, "%s: timed out after %.6g s%s", c->who, (double)c->timeout_ns * 1e-9, words);
}

static assay_status fail_line(assay_env *env, as_child *c, const char *what)
{
    as_child_kill(c);
    return as_fail(env, ASSAY_DEVICE, "%s: %s: \"%.*s...\"", c->who, what, as_arm_quoted(c->line, c->n_line), c->line);
}

/* The longest sleep before cancel, the deadline and the process are checked again. */
static int slice_ms(const as_child *c, uint64_t spent_ns)
{
    uint64_t left_ms = c->timeout_ns ? (c->timeout_ns - spent_ns) / 1000000 + 1 : SLICE_MS;
    return left_ms < SLICE_MS ? (int)left_ms : SLICE_MS;
}

/* Sleeps until there is something to read, and reads it; *more gets the bytes that c->line grew by, -1 at the end of its output. */
static void line_grow(as_child *c, int sleep_ms, ssize_t *more)
{
    struct pollfd ends[2] = {{.fd = c->from, .events = POLLIN}, {.fd = c->err, .events = POLLIN}};
    *more = 0;
    int n = poll(ends, 2, sleep_ms);
    if (n == 0 && has_ended(c)) /* a process that it started may still hold the pipe open */
        *more = -1;
    if (n <= 0)
        return;
    if (ends[1].revents)
        words_take(c);
    if (ends[1].revents & (POLLHUP | POLLERR))
        fd_close(&c->err);
    if (!ends[0].revents)
        return;
    ssize_t got = read(c->from, c->line + c->n_line, sizeof c->line - c->n_line);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        *more = -1;
    else if (got > 0)
        *more = got;
}

static assay_status answer_await(assay_env *env, as_child *c)
{
    uint64_t start_ns = as_monotonic_ns(); /* not the env's clock: a simulated one stands still while a process hangs */
    c->n_line = 0;
    for (;;) {
        uint64_t spent_ns = as_monotonic_ns() - start_ns;
        if (as_cancelled(env)) {
            as_child_kill(c);
            return as_fail(env, ASSAY_CANCELLED, "%s: cancelled", c->who);
        }
        if (c->timeout_ns && spent_ns >= c->timeout_ns)
            return fail_timed_out(env, c);
        ssize_t more;
        line_grow(c, slice_ms(c, spent_ns), &more);
        if (more < 0)
            return fail_ended(env, c);
        const char *newline = memchr(c->line + c->n_line, '\n', (size_t)more);
        c->n_line += (size_t)more;
        if (newline && newline + 1 < c->line + c->n_line)
            return fail_line(env, c, "more than one line");
        if (newline) {
            c->n_line--;
            return ASSAY_OK;
        }
        if (c->n_line == sizeof c->line)
            return fail_line(env, c, "a line that is too long");
    }
}

assay_status as_child_ask(assay_env *env, as_child *c, const char *request)
{
    owe(c, "its answer to \"", request, "\"");
    ssize_t unasked = read(c->from, c->line, sizeof c->line);
    c->n_line = unasked > 0 ? (size_t)unasked : 0;
    if (unasked > 0)
        return fail_line(env, c, "it wrote before it was asked");
    if (unasked == 0 || !line_send(c->to, request))
        return fail_ended(env, c);
    return answer_await(env, c);
}
