/* program.c - a child that waits for the recorder, or a process that was there before. */
#include "record/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

#ifdef __APPLE__
#include <crt_externs.h>
#define environ (*_NSGetEnviron())
#else
extern char **environ;
#endif

static void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int end_fd_open(pid_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    (void)pid;
    return -1;
#endif
}

static bool pipe_open(int ends[2])
{
    if (pipe(ends))
        return false;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return true;
}

/* The environment with the variables in place of what has the same name; NULL: no memory. */
static char **environment_make(const char *const *variables, int n_variables)
{
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **all = calloc(n + (size_t)n_variables + 1, sizeof *all);
    for (size_t i = 0; all && i < n; i++) {
        bool is_replaced = false;
        for (int j = 0; j < n_variables; j++) {
            size_t length = strcspn(variables[j], "=") + 1;
            is_replaced |= !strncmp(environ[i], variables[j], length);
        }
        if (!is_replaced)
            all[kept++] = environ[i];
    }
    for (int j = 0; all && j < n_variables; j++)
        all[kept++] = (char *)(uintptr_t)variables[j];
    return all;
}

/* In the child: only calls that are allowed between fork and exec. */
static void child_wait(int go, int said, const char *const *argv, char **environment)
{
    char byte;
    int  error;
    while (read(go, &byte, 1) != 1)
        if (errno != EINTR)
            _exit(127); /* assay is gone */
    environ = environment;
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    error = errno;
    while (write(said, &error, sizeof error) < 0 && errno == EINTR)
        ;
    _exit(127);
}

assay_status as_program_start(assay_env *env, const char *const *argv, const char *const *variables, int n_variables,
                              as_program *out)
{
    int go[2] = {-1, -1}, said[2] = {-1, -1};
    *out = (as_program){.go = -1, .said = -1, .end_fd = -1, .is_child = true, .exit_code = -1};
    char **environment = environment_make(variables, n_variables);
    if (!environment)
        return as_fail(env, ASSAY_NO_MEMORY, "record: not enough memory to start \"%s\"", argv[0]);
    pid_t pid = pipe_open(go) && pipe_open(said) ? fork() : -1;
    if (pid == 0) {
        close(go[1]);
        close(said[0]);
        child_wait(go[0], said[1], argv, environment);
    }
    int error = errno;
    free(environment);
    fd_close(&go[0]);
    fd_close(&said[1]);
    if (pid < 0) {
        fd_close(&go[1]);
        fd_close(&said[0]);
        return as_fail(env, ASSAY_IO, "record: \"%s\" cannot be started: %s", argv[0], strerror(error));
    }
    out->pid = pid;
    out->go = go[1];
    out->said = said[0];
    out->end_fd = end_fd_open(pid);
    return ASSAY_OK;
}

assay_status as_program_go(assay_env *env, as_program *p, const char *const *argv)
{
    int     error = 0;
    ssize_t n;
    while (write(p->go, "", 1) < 0 && errno == EINTR)
        ;
    fd_close(&p->go);
    while ((n = read(p->said, &error, sizeof error)) < 0 && errno == EINTR)
        ;
    fd_close(&p->said);
    if (n != (ssize_t)sizeof error)
        return ASSAY_OK; /* the pipe was closed: it is the command now */
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    p->has_ended = true;
    return as_fail(env, ASSAY_NOT_FOUND, "record: \"%s\" cannot be started: %s", argv[0], strerror(error));
}

/* utime and stime of /proc/PID/stat, with those of children that have ended. */
static bool cpu_read(pid_t pid, uint64_t *out)
{
    char               path[64], text[1024];
    unsigned long long user, system;
    long long          users, systems;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const char *end = as_file_small(path, text, sizeof text) ? strrchr(text, ')') : NULL;
    if (!end ||
        sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld", &user, &system, &users, &systems) != 4)
        return false;
    *out = (user + system + (unsigned long long)users + (unsigned long long)systems) *
           (1000000000u / (unsigned long long)sysconf(_SC_CLK_TCK));
    return true;
}

assay_status as_program_attach(assay_env *env, int64_t pid, as_program *out)
{
    *out = (as_program){.go = -1, .said = -1, .end_fd = -1, .pid = (pid_t)pid, .exit_code = -1};
    if (pid <= 0 || pid > INT32_MAX || (kill((pid_t)pid, 0) && errno != EPERM))
        return as_fail(env, ASSAY_NOT_FOUND, "record: there is no process %lld", (long long)pid);
    out->end_fd = end_fd_open((pid_t)pid);
    cpu_read(out->pid, &out->cpu_before_ns);
    return ASSAY_OK;
}

static uint64_t time_ns(struct timeval t) { return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u; }

bool as_program_ended(as_program *p)
{
    int           status;
    struct rusage used;
    if (p->has_ended)
        return true;
    if (!p->is_child) {
        as_program_cpu(p); /* its last reading is the one before it ended */
        return p->has_ended = kill(p->pid, 0) && errno == ESRCH;
    }
    if (wait4(p->pid, &status, WNOHANG, &used) != p->pid)
        return false;
    p->has_ended = true;
    p->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    p->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    p->cpu_ns = time_ns(used.ru_utime) + time_ns(used.ru_stime);
    p->has_cpu = true;
    return true;
}

void as_program_cpu(as_program *p)
{
    uint64_t now;
    if (p->has_ended || !cpu_read(p->pid, &now))
        return;
    p->cpu_ns = now - p->cpu_before_ns;
    p->has_cpu = true;
}

void as_program_drop(as_program *p)
{
    bool waits = p->go >= 0 && p->is_child && !p->has_ended;
    fd_close(&p->go); /* it sees the end of the pipe, and ends */
    if (waits)
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    fd_close(&p->said);
    fd_close(&p->end_fd);
}
