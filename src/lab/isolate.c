/* isolate.c - a job in a child process: it may hang, crash or run out of memory, and the laboratory goes on.
 *
 * The child writes its trace into a pipe as it is measured, in the chunks of a trace file, and the parent follows it.  So the
 * parent can tell a long case from one that hangs, and what was measured before a child crashed or was ended is in the trace.
 * The end chunk is the answer; the exit code is the status of the job. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "base/stage.h"
#include "base/text.h"
#include "lab/lab.h"
#include "trace/stream.h"

typedef struct child {
    pid_t            pid;
    int              pipe; /* its chunks */
    as_trace_follow *follow;
    const char      *name;
    int              n_arms;
} child;

/* --- In the child ----------------------------------------------------------------------------------------- */

static assay_env *env_of_child; /* a signal handler has no other way to reach it, and this process does nothing else */

static void on_stop(int number)
{
    (void)number;
    assay_cancel(env_of_child);
}

typedef struct speaker {
    assay_env       *env;
    as_trace_writer *out;
    const char      *name;
    double           budget_s;
    uint32_t         n_told; /* stages */
} speaker;

/* If nobody reads the pipe any more there is nothing to do: the parent ends the child. */
static void speak(void *arg, const assay_stage *stage)
{
    speaker       *s = arg;
    as_trace_stage now = {as_stage_phase(s->env), stage->expect_s, stage->beyond_s};
    if (s->n_told != s->env->stage.n)
        as_trace_writer_stage(s->env, s->out, &now);
    s->n_told = s->env->stage.n;
}

static void beat(void *arg, as_phase phase, double done, const assay_trace *t)
{
    speaker *s = arg;
    as_stage_begin(s->env, phase, s->name, s->budget_s, 0);
    as_trace_writer_progress(s->env, s->out, done < 0 ? 0 : done > 1 ? 1 : done, t);
}

/* A job that failed has its message in the trace; a job without a trace gets one for that. */
static assay_status failure_keep(assay_env *env, const char *name, int n_arms, assay_trace **t)
{
    const char *message = assay_message(env);
    if (*t)
        return ASSAY_OK;
    AS_TRY(as_trace_new_arms(env, name, n_arms, t));
    const char *kept = as_trace_keep(*t, message);
    (*t)->state = AS_TRACE_FAILED;
    (*t)->reason = kept ? kept : "";
    return ASSAY_OK;
}

static int child_main(assay_env *env, pid_t parent, as_lab_job job, void *arg, const as_lab_settings *s, int pipe_out,
                      const child *c, assay_trace *t)
{
    as_sampler_settings sampler = s->sampler;
    speaker             to = {.env = env, .name = c->name, .budget_s = as_lab_expect_s(s)};
    env_of_child = env;
    as_process_tie(parent);
    setpgid(0, 0);
    signal(SIGINT, on_stop);
    signal(SIGTERM, on_stop);
    signal(SIGHUP, SIG_IGN); /* the parent gets it and decides */
    signal(SIGALRM, SIG_DFL);
    if (as_trace_writer_open_fd(env, c->name, pipe_out, NULL, &to.out) != ASSAY_OK)
        return ASSAY_INTERNAL;
    sampler.progress = beat;
    sampler.progress_arg = &to;
    assay_on_progress(env, speak, &to);
    assay_status status = job(env, arg, &sampler, &t);
    if (status != ASSAY_OK && failure_keep(env, c->name, c->n_arms, &t) != ASSAY_OK)
        as_trace_writer_abandon(to.out);
    else if (t)
        (void)as_trace_writer_close(env, to.out, t); /* on failure the parent sees that the end chunk is missing */
    assay_trace_free(t);
    return (int)status;
}

/* --- In the parent ------------------------------------------------------------------------------------------ */

static void group_end(const child *c)
{
    if (kill(-c->pid, SIGKILL))
        kill(c->pid, SIGKILL);
}

typedef struct listener {
    assay_env  *env;
    const char *name;
} listener;

static void hear(void *arg, double done)
{
    const listener *l = arg;
    as_stage_done(l->env, done);
}

static void hear_stage(void *arg, const as_trace_stage *stage)
{
    const listener *l = arg;
    as_stage_begin(l->env, stage->phase, l->name, stage->expect_s, stage->beyond_s);
}

/* Why the parent stopped listening before the pipe ended. */
typedef enum end { END_HEARD, END_SILENT, END_STOPPED } end;

/* Reads until the pipe ends.  A child that was told to stop has the time of one block to end properly; what it sent before is
 * kept anyway. */
static assay_status child_watch(assay_env *env, const child *c, const as_lab_settings *s, end *how)
{
    enum { LOOK_MS = 50 };
    static const uint64_t STOP_NS = 120000000;
    as_follow_news        news = AS_FOLLOW_QUIET;
    uint64_t              last = as_monotonic_ns(), told = 0;
    *how = END_HEARD;
    while (news != AS_FOLLOW_CLOSED) {
        AS_TRY(as_trace_follow_poll(env, c->follow, c->pipe, LOOK_MS, &news));
        if (news == AS_FOLLOW_ENDED)
            return ASSAY_OK;
        if (news == AS_FOLLOW_GREW)
            last = as_monotonic_ns();
        if (as_trace_follow_trace(c->follow)->n_turns)
            atomic_store_explicit(&env->stake, AS_STAKE_HELD, memory_order_relaxed);
        if (as_cancelled(env) && !told) {
            kill(c->pid, SIGINT);
            told = as_monotonic_ns();
        }
        if (told && as_monotonic_ns() - told > STOP_NS)
            *how = END_STOPPED;
        else if (s->timeout_ns && as_monotonic_ns() - last > s->timeout_ns)
            *how = END_SILENT;
        if (*how != END_HEARD)
            return ASSAY_OK;
        as_stage_again(env);
    }
    return ASSAY_OK;
}

/* The child's trace replaces the one from before, which the child had and sent along. */
static assay_status trace_take(assay_env *env, child *c, assay_trace **out)
{
    bool             has_arms = as_trace_follow_trace(c->follow)->n_arms > 0;
    as_trace_follow *follow = c->follow;
    assay_trace     *t = NULL;
    c->follow = NULL;
    if (!has_arms || as_trace_follow_trace(follow)->n_turns < (*out ? (*out)->n_turns : 0)) {
        as_trace_follow_free(follow);
        return *out ? ASSAY_OK : as_trace_new_arms(env, c->name, c->n_arms, out);
    }
    AS_TRY(as_trace_follow_finish(env, follow, &t));
    assay_trace_free(*out);
    *out = t;
    t->complete = true; /* complete as a record: its state says what happened to the child */
    return ASSAY_OK;
}

/* Keeps the blocks that were measured until then. */
static assay_status cut_short(assay_env *env, child *c, as_trace_state state, const char *reason, assay_trace **out)
{
    AS_TRY(trace_take(env, c, out));
    const char *kept = as_trace_keep(*out, reason);
    (*out)->state = state;
    (*out)->reason = kept ? kept : "";
    return ASSAY_OK;
}

static assay_status child_end(assay_env *env, child *c, assay_status followed, end ending, const as_lab_settings *s,
                              assay_trace **out)
{
    int  how = 0;
    char reason[256];
    bool ended = as_trace_follow_ended(c->follow);
    if (ending != END_HEARD || followed != ASSAY_OK)
        group_end(c);
    while (waitpid(c->pid, &how, 0) < 0 && errno == EINTR)
        continue;
    AS_TRY(followed);
    if (ending == END_STOPPED) {
        AS_TRY(cut_short(env, c, AS_TRACE_PARTIAL, "stopped before its end", out));
        return as_fail(env, ASSAY_CANCELLED, "measure: %s: stopped after %u rounds", c->name, (*out)->n_rounds);
    }
    if (ending == END_SILENT) {
        snprintf(reason, sizeof reason, "timed out: no round finished within %.3g s", (double)s->timeout_ns / 1e9);
        return cut_short(env, c, AS_TRACE_TIMEOUT, reason, out);
    }
    if (WIFSIGNALED(how) && !ended) {
        snprintf(reason, sizeof reason, "its process ended by signal %d (%s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
        return cut_short(env, c, AS_TRACE_FAILED, reason, out);
    }
    if (!ended)
        return cut_short(env, c, AS_TRACE_FAILED, "its process ended without an answer", out);
    AS_TRY(trace_take(env, c, out));
    if (WIFEXITED(how) && WEXITSTATUS(how) == ASSAY_CANCELLED)
        return as_fail(env, ASSAY_CANCELLED, "measure: %s: stopped after %u rounds", c->name, (*out)->n_rounds);
    return ASSAY_OK;
}

assay_status as_lab_isolated(assay_env *env, const char *name, int n_arms, as_lab_job job, void *arg, const as_lab_settings *s,
                             assay_trace **out)
{
    int                ends[2];
    end                ending = END_SILENT;
    listener           l = {env, name};
    pid_t              parent = getpid();
    child              c = {.name = name, .n_arms = n_arms};
    as_follow_settings how = {
        .arg = &l, .progress = hear, .stage = hear_stage, .kept_spans = SIZE_MAX / 2, .kept_samples = SIZE_MAX / 2};
    AS_TRY(as_trace_follow_new(env, name, &how, &c.follow));
    if (pipe(ends)) {
        as_trace_follow_free(c.follow);
        return as_fail(env, ASSAY_IO, "measure: %s: cannot make a pipe to its process: %s", name, strerror(errno));
    }
    fflush(NULL); /* otherwise the child would write buffered output a second time */
    c.pid = fork();
    if (c.pid == 0) {
        close(ends[0]);
        _exit(child_main(env, parent, job, arg, s, ends[1], &c, *out));
    }
    close(ends[1]);
    c.pipe = ends[0];
    assay_status status;
    if (c.pid < 0) {
        status = as_fail(env, ASSAY_IO, "measure: %s: cannot start a process: %s", name, strerror(errno));
    } else {
        status = child_watch(env, &c, s, &ending);
        status = child_end(env, &c, status, ending, s, out);
    }
    close(ends[0]);
    as_trace_follow_free(c.follow);
    return status;
}
