/* isolate.c - a job in a child process: it may hang, crash or run out of memory, and the laboratory goes on.
 *
 * The child sends a byte a round (so that a long case is told from one that hangs) and leaves its trial as JSON in a file without a
 * name, which the parent reads when the child has ended. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "lab/lab.h"

typedef struct child {
    pid_t       pid;
    int         pipe; /* its bytes */
    FILE       *answer;
    const char *name;
    int         n_arms;
} child;

/* --- In the child ----------------------------------------------------------------------------------------- */

static assay_env *env_of_child; /* this process has no other purpose, and a handler no other way */

static void on_stop(int number)
{
    (void)number;
    assay_cancel(env_of_child);
}

static void beat(void *arg, double done, const assay_trace *t)
{
    (void)t;
    unsigned char byte = (unsigned char)(1 + done * 253);
    ssize_t       n = write(*(int *)arg, &byte, 1);
    (void)n;
}

static void answer_write(FILE *file, assay_env *env, assay_status status, const assay_trace *t)
{
    as_json w;
    as_json_start(&w, file, false);
    as_json_object(&w);
    as_json_key_i64(&w, "status", status);
    as_json_key_text(&w, "message", assay_message(env));
    as_json_key(&w, "trial");
    if (t)
        as_trace_json_write(t, &w, true);
    else
        as_json_null(&w);
    as_json_object_end(&w);
    as_json_finish(&w);
    fflush(file);
}

static void child_main(assay_env *env, as_lab_job job, void *arg, const as_lab_settings *s, int pipe_out, FILE *answer,
                       assay_trace *trial)
{
    as_sampler_settings sampler = s->sampler;
    env_of_child = env;
    setpgid(0, 0);
    signal(SIGINT, on_stop);
    signal(SIGTERM, on_stop);
    sampler.progress = beat;
    sampler.progress_arg = &pipe_out;
    assay_status status = job(env, arg, &sampler, &trial);
    answer_write(answer, env, status, trial);
    assay_trace_free(trial);
}

/* --- In the parent ------------------------------------------------------------------------------------------ */

static void group_end(const child *c)
{
    if (kill(-c->pid, SIGKILL))
        kill(c->pid, SIGKILL);
}

/* Until the pipe ends.  False: silent for too long. */
static bool child_watch(assay_env *env, const child *c, const as_lab_settings *s)
{
    bool     told = false;
    uint64_t heard = as_monotonic_ns();
    for (;;) {
        struct pollfd p = {.fd = c->pipe, .events = POLLIN};
        unsigned char bytes[256];
        if (poll(&p, 1, 100) > 0) {
            ssize_t n = read(c->pipe, bytes, sizeof bytes);
            if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
                return true;
            heard = as_monotonic_ns();
            if (n > 0 && s->progress)
                s->progress(s->progress_arg, c->name, (bytes[n - 1] - 1) / 253.0);
        }
        if (as_cancelled(env) && !told) { /* it gets the time of a block to end well */
            kill(c->pid, SIGINT);
            told = true;
        }
        if (s->timeout_ns && as_monotonic_ns() - heard > s->timeout_ns)
            return false;
    }
}

/* Without blocks, or with those from before. */
static assay_status trial_without(assay_env *env, const child *c, as_trace_state state, const char *reason, assay_trace **out)
{
    if (!*out)
        AS_TRY(as_trace_new_arms(env, c->name, c->n_arms, out));
    (*out)->state = state;
    const char *kept = as_trace_keep(*out, reason);
    (*out)->reason = kept ? kept : "";
    return ASSAY_OK;
}

static assay_status trial_replace(assay_env *env, const child *c, const json_t *object, assay_trace **out)
{
    assay_trace *t;
    AS_TRY(as_trace_json_read(env, "measure", c->name, object, &t));
    assay_trace_free(*out);
    *out = t;
    return ASSAY_OK;
}

static assay_status answer_read(assay_env *env, const child *c, assay_trace **out)
{
    json_error_t error;
    rewind(c->answer);
    json_t *root = json_loadf(c->answer, JSON_ALLOW_NUL, &error);
    if (!root)
        return trial_without(env, c, AS_TRACE_FAILED, "its process ended without an answer", out);
    const json_t *trial = json_object_get(root, "trial");
    assay_status  status = (assay_status)json_integer_value(json_object_get(root, "status")), read;
    const char   *message = json_string_value(json_object_get(root, "message"));
    if (json_is_object(trial))
        read = trial_replace(env, c, trial, out);
    else
        read = trial_without(env, c, AS_TRACE_FAILED, message ? message : "", out);
    if (read == ASSAY_OK && status == ASSAY_CANCELLED)
        read = as_fail(env, ASSAY_CANCELLED, "%s", message ? message : "stopped");
    json_decref(root);
    return read;
}

static assay_status child_end(assay_env *env, const child *c, bool heard, const as_lab_settings *s, assay_trace **out)
{
    int  how = 0;
    char reason[256];
    if (!heard)
        group_end(c);
    while (waitpid(c->pid, &how, 0) < 0 && errno == EINTR)
        continue;
    if (!heard) {
        snprintf(reason, sizeof reason, "timed out: no round ended within %.3g s", (double)s->timeout_ns / 1e9);
        return trial_without(env, c, AS_TRACE_TIMEOUT, reason, out);
    }
    if (WIFSIGNALED(how)) {
        snprintf(reason, sizeof reason, "its process was ended by signal %d (%s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
        return trial_without(env, c, AS_TRACE_FAILED, reason, out);
    }
    return answer_read(env, c, out);
}

assay_status as_lab_isolated(assay_env *env, const char *name, int n_arms, as_lab_job job, void *arg, const as_lab_settings *s,
                             assay_trace **out)
{
    int   ends[2];
    child c = {.name = name, .n_arms = n_arms, .answer = tmpfile()};
    if (!c.answer)
        return as_fail(env, ASSAY_IO, "measure: %s: no temporary file for its result: %s", name, strerror(errno));
    if (pipe(ends)) {
        fclose(c.answer);
        return as_fail(env, ASSAY_IO, "measure: %s: no pipe to its process: %s", name, strerror(errno));
    }
    fflush(NULL); /* what is in buffers must not be written twice */
    c.pid = fork();
    if (c.pid == 0) {
        close(ends[0]);
        child_main(env, job, arg, s, ends[1], c.answer, *out);
        _exit(0);
    }
    close(ends[1]);
    c.pipe = ends[0];
    assay_status status;
    if (c.pid < 0)
        status = as_fail(env, ASSAY_IO, "measure: %s: no process for it: %s", name, strerror(errno));
    else
        status = child_end(env, &c, child_watch(env, &c, s), s, out);
    close(ends[0]);
    fclose(c.answer);
    return status;
}
