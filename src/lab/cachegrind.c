/* cachegrind.c - exact instructions and simulated cache misses of one run, by children under valgrind.
 *
 * Two children answer the line protocol (`assay bench MODEL --speak`) and differ only in how many calls they make: the difference of what cachegrind
 * counted, divided by the calls, is one call without start-up and set-up.  valgrind has no AVX-512, so the child may run other kernels than
 * the profile did: the metric says so. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "base/stage.h"
#include "base/text.h"
#include "lab/cachegrind.h"
#include "lab/profile.h"

bool as_cachegrind_parse(const char *text, as_cachegrind *out)
{
    static const char *const names[] = {"Ir", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw"};
    enum { N = sizeof names / sizeof *names, MOST = 32 };
    const char *events = strstr(text, "events:"), *summary = strstr(text, "\nsummary:");
    double      value[N];
    int         at[N], n = 0;
    if (!events || !summary)
        return false;
    for (int i = 0; i < N; i++)
        at[i] = -1;
    for (const char *s = events + strlen("events:"); *s && *s != '\n' && n < MOST; n++) {
        s += strspn(s, " ");
        size_t length = strcspn(s, " \n");
        if (!length)
            break;
        for (int i = 0; i < N; i++)
            if (strlen(names[i]) == length && !strncmp(s, names[i], length))
                at[i] = n;
        s += length;
    }
    const char *s = summary + strlen("\nsummary:");
    for (int k = 0; k < n; k++) {
        char  *end;
        double x = strtod(s, &end);
        if (end == s || !isfinite(x) || x < 0)
            return false;
        for (int i = 0; i < N; i++)
            if (at[i] == k)
                value[i] = x;
        s = end;
    }
    for (int i = 0; i < N; i++)
        if (at[i] < 0)
            return false;
    *out = (as_cachegrind){.instructions = value[0],
                           .accesses = value[1] + value[4],
                           .l1_misses = value[2] + value[5],
                           .ll_misses = value[3] + value[6]};
    return true;
}

/* --- The children ---------------------------------------------------------------------------------------------------- */

static bool valgrind_is_here(void)
{
    if (as_without("valgrind"))
        return false;
    for (const char *at = getenv("PATH"); at && *at;) {
        char   path[1024];
        size_t n = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/valgrind", (int)(n < 900 ? n : 900), at);
        if (n && !access(path, X_OK))
            return true;
        at += n;
        at += *at == ':';
    }
    return false;
}

typedef struct child {
    assay_env  *env;
    const char *folder;
    const char *words[64]; /* after "valgrind --tool=..." */
    int         n_words;
} child;

/* Waits, and ends the child when the env is cancelled. */
static assay_status child_wait(child *c, pid_t pid)
{
    int state;
    for (;;) {
        pid_t got = waitpid(pid, &state, WNOHANG);
        if (got == pid)
            break;
        if (got < 0 && errno != EINTR)
            return as_fail(c->env, ASSAY_DEVICE, "counters: cannot wait for valgrind: %s", strerror(errno));
        if (as_cancelled(c->env)) {
            kill(pid, SIGKILL);
            waitpid(pid, &state, 0);
            return as_fail(c->env, ASSAY_CANCELLED, "stopped while valgrind ran");
        }
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    if (WIFEXITED(state) && WEXITSTATUS(state) == 127)
        return as_fail(c->env, ASSAY_UNSUPPORTED, "counters: valgrind cannot be started");
    if (!WIFEXITED(state) || WEXITSTATUS(state))
        return as_fail(c->env, ASSAY_DEVICE, "counters: the child under valgrind ended with %s %d",
                       WIFEXITED(state) ? "exit code" : "signal", WIFEXITED(state) ? WEXITSTATUS(state) : WTERMSIG(state));
    return ASSAY_OK;
}

static void child_exec(const child *c, const char *in, const char *option, pid_t parent)
{
    const char *argv[80] = {"valgrind", "--tool=cachegrind", "--cache-sim=yes", "-q", option};
    int         n = 5, null = open("/dev/null", O_WRONLY), from = open(in, O_RDONLY);
    as_process_tie(parent);
    for (int i = 0; i < c->n_words; i++)
        argv[n++] = c->words[i];
    argv[n] = NULL;
    if (null < 0 || from < 0 || dup2(from, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        _exit(126);
    unsetenv("ASSAY_REPLAY");
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

/* One child that makes so many calls besides the first three. */
static assay_status child_run(child *c, uint64_t calls, as_cachegrind *out)
{
    char   in[1100], result[1100], option[1200], text[128];
    as_map file;
    snprintf(in, sizeof in, "%s/in.%llu", c->folder, (unsigned long long)calls);
    snprintf(result, sizeof result, "%s/out.%llu", c->folder, (unsigned long long)calls);
    snprintf(option, sizeof option, "--cachegrind-out-file=%s", result);
    int n = snprintf(text, sizeof text, "launch 1\nblock 0 %llu 1\nend\n", (unsigned long long)calls);
    AS_TRY(as_file_write(c->env, in, text, (size_t)n));
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        return as_fail(c->env, ASSAY_DEVICE, "counters: cannot start a child: %s", strerror(errno));
    if (!pid)
        child_exec(c, in, option, parent);
    assay_status status = child_wait(c, pid);
    if (status == ASSAY_OK)
        status = as_map_open(c->env, "counters", result, 0, &file);
    unlink(in);
    unlink(result);
    AS_TRY(status);
    char *copy = malloc(file.bytes + 1);
    if (copy) {
        memcpy(copy, file.data, file.bytes);
        copy[file.bytes] = '\0';
    }
    bool ok = copy && as_cachegrind_parse(copy, out);
    free(copy);
    as_map_close(&file);
    return ok ? ASSAY_OK : as_fail(c->env, ASSAY_DEVICE, "counters: %s: no summary of cachegrind in it", result);
}

/* --- One run -------------------------------------------------------------------------------------------------------------- */

static void metric_add(assay_trace *t, const char *name, double per_call)
{
    as_trace_add_metric(t, &(as_trace_metric){.name = name, .unit = "1", .value = fmax(0, round(per_call))});
}

/* Calls enough that the difference of the children's start-up does not matter, few enough that it takes seconds. */
static uint64_t calls_for(const assay_trace *t)
{
    double ns = 0;
    for (size_t i = 0; i < t->n_samples; i++)
        ns += (double)(t->samples[i].end_ticks - t->samples[i].begin_ticks) * t->ns_per_tick;
    double per_run = t->n_runs ? ns / (double)t->n_runs : 1e6;
    return (uint64_t)fmin(fmax(20e6 / fmax(per_run, 1), 2), 500);
}

static assay_status difference(child *c, uint64_t calls, assay_trace *t)
{
    as_cachegrind few, many;
    AS_TRY(child_run(c, 1, &few));
    AS_TRY(child_run(c, 1 + calls, &many));
    double n = (double)calls;
    metric_add(t, AS_METRIC_CG_INSTRUCTIONS, (many.instructions - few.instructions) / n);
    metric_add(t, AS_METRIC_CG_ACCESSES, (many.accesses - few.accesses) / n);
    metric_add(t, AS_METRIC_CG_L1_MISSES, (many.l1_misses - few.l1_misses) / n);
    metric_add(t, AS_METRIC_CG_LL_MISSES, (many.ll_misses - few.ll_misses) / n);
    return ASSAY_OK;
}

assay_status as_cachegrind_add(assay_env *env, const assay_model *model, const assay_plan *plan, const as_plan_options *options,
                               assay_trace *trace)
{
    char        program[1024], folder[1000];
    const char *tmp = getenv("TMPDIR");
    as_arena    arena = {0};
    child       c = {.env = env, .folder = folder};
    (void)plan;
    if (!valgrind_is_here())
        return as_fail(env, ASSAY_UNSUPPORTED,
                       "--counters cachegrind needs valgrind, which is not installed (Debian: apt-get install valgrind)");
    if (options->inputs.n || options->states_in.n || options->timespans)
        return as_fail(env, ASSAY_UNSUPPORTED,
                       "--counters cachegrind runs a child on random inputs: leave out --input, --timespans and --state-in");
    if (strcmp(*trace->device ? trace->device : "cpu", "cpu"))
        return as_fail(env, ASSAY_UNSUPPORTED, "--counters cachegrind counts what the CPU does, and the network ran on %s",
                       trace->device);
    AS_TRY(as_self_path(env, program, sizeof program)); /* it must be assay, or answer --speak with assay_speak() */
    as_stage_begin(env, AS_PHASE_MEASURE, "instructions under valgrind", (double)NAN, 0);
    c.words[c.n_words++] = program;
    c.words[c.n_words++] = "bench";
    c.words[c.n_words++] = model->source && *model->source ? model->source : model->name;
    bool ok = as_members_words(&arena, as_plan_members, options, c.words, 60, &c.n_words);
    c.words[c.n_words++] = "--speak";
    snprintf(folder, sizeof folder, "%s/assay-cachegrind-XXXXXX", tmp && *tmp && strlen(tmp) < 900 ? tmp : "/tmp");
    assay_status status = !ok                ? as_fail(env, ASSAY_NO_MEMORY, "counters: not enough memory for the child's options")
                          : !mkdtemp(folder) ? as_fail(env, ASSAY_IO, "counters: %s: %s", folder, strerror(errno))
                                             : difference(&c, calls_for(trace), trace);
    if (ok)
        rmdir(folder);
    as_arena_drop(&arena);
    return status;
}
