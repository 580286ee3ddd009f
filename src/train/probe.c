/* probe.c - batch sizes, planned and tried. */
#include "train/probe.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/stats.h"
#include "base/text.h"

enum { MAX_STEPS = AS_PROBE_STEPS, WARM_STEPS = 3, MAX_WARM = 60 };

/* --- Memory of this process ---------------------------------------------------------------------------------- */

/* A line "VmData:  123 kB" of /proc/self/status, in bytes; NaN: not known. */
static double status_bytes(const char *path, const char *key)
{
    char   line[256];
    double kib = (double)NAN;
    FILE  *file = fopen(path, "re");
    size_t n = strlen(key);
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, n) && line[n] == ':')
            kib = strtod(line + n + 1, NULL);
    if (file)
        fclose(file);
    return kib * 1024;
}

uint64_t as_probe_memory(void)
{
    double bytes = status_bytes("/proc/meminfo", "MemAvailable");
    if (isfinite(bytes))
        return (uint64_t)bytes;
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : 0;
}

/* Private writable memory: what malloc and threads take, but not the files that are mapped. */
static void limit_set(uint64_t more, int threads)
{
    enum { STACK = 9 << 20 };
    double        now = status_bytes("/proc/self/status", "VmData");
    struct rlimit limit;
    if (!more || !isfinite(now) || getrlimit(RLIMIT_DATA, &limit))
        return;
    rlim_t wanted = (rlim_t)now + (rlim_t)more + (rlim_t)threads * STACK;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || wanted < limit.rlim_max ? wanted : limit.rlim_max;
    (void)setrlimit(RLIMIT_DATA, &limit);
}

/* --- Planning ---------------------------------------------------------------------------------------------------- */

static as_plan_options with_batch(const as_plan_options *options, int64_t batch)
{
    as_plan_options own = *options;
    own.batch = batch;
    own.batch_is_set = true;
    return own;
}

assay_status as_probe_plan(assay_env *env, const assay_model *model, const as_train_setup *setup, const as_plan_options *options,
                           int64_t batch, uint64_t *bytes)
{
    as_plan_options own = with_batch(options, batch);
    as_train_graph *graph = NULL;
    assay_plan     *plan = NULL;
    AS_TRY(as_train_plan_new(env, model, setup, &own, &graph, &plan));
    *bytes = assay_plan_peak_bytes(plan);
    assay_plan_free(plan);
    as_train_graph_free(graph);
    return ASSAY_OK;
}

assay_status as_probe_search(int64_t most, uint64_t budget_bytes, as_probe_bytes bytes_of, void *arg, int64_t *out)
{
    int64_t  fits = 0, too_many = 0;
    uint64_t bytes = 0;
    for (int64_t batch = 1; batch <= most && !too_many; batch = batch * 2 > most && batch < most ? most : batch * 2) {
        AS_TRY(bytes_of(arg, batch, &bytes));
        if (bytes <= budget_bytes)
            fits = batch;
        else
            too_many = batch;
    }
    while (too_many - fits > 1) {
        int64_t middle = fits + (too_many - fits) / 2;
        AS_TRY(bytes_of(arg, middle, &bytes));
        if (bytes <= budget_bytes)
            fits = middle;
        else
            too_many = middle;
    }
    *out = fits;
    return ASSAY_OK;
}

typedef struct planned {
    assay_env             *env;
    const assay_model     *model;
    const as_train_setup  *setup;
    const as_plan_options *options;
} planned;

static assay_status planned_bytes(void *arg, int64_t batch, uint64_t *out)
{
    const planned *p = arg;
    return as_probe_plan(p->env, p->model, p->setup, p->options, batch, out);
}

assay_status as_probe_largest(assay_env *env, const assay_model *model, const as_train_setup *setup, const as_plan_options *options,
                              uint64_t budget_bytes, int64_t most, int64_t *out)
{
    planned p = {env, model, setup, options};
    return as_probe_search(most, budget_bytes, planned_bytes, &p, out);
}

/* --- Trying -------------------------------------------------------------------------------------------------------- */

static double now_ns(bool wall)
{
    struct timespec t;
    clock_gettime(wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef struct steps_job {
    const assay_model     *model;
    const as_train_setup  *setup;
    const as_plan_options *options;
    double                 seconds;
    uint64_t               limit_bytes;
    bool                   by_wall;
} steps_job;

static assay_status timed_step(assay_env *env, assay_instance *instance, as_shot *out)
{
    double wall = now_ns(true), cpu = now_ns(false);
    AS_TRY(as_instance_step(AS_RUN(env), instance));
    cpu = now_ns(false) - cpu;
    *out = (as_shot){.wall_ns = (float)(now_ns(true) - wall), .cpu_ns = (float)cpu};
    return ASSAY_OK;
}

static double shot_ns(const as_shot *s, bool wall) { return (double)(wall ? s->wall_ns : s->cpu_ns); }

/* Until a step is no longer faster than the fastest before it by more than 2 %, three times in a row. */
static assay_status warm_up(assay_env *env, assay_instance *instance, bool wall, double end_ns)
{
    double  best = INFINITY;
    int     quiet = 0;
    as_shot shot;
    for (int i = 0; i < MAX_WARM && quiet < 3; i++) {
        AS_TRY(timed_step(env, instance, &shot));
        double ns = shot_ns(&shot, wall);
        quiet = ns < .98 * best ? 0 : quiet + 1;
        best = fmin(best, ns);
        if (i + 1 >= WARM_STEPS && now_ns(true) > end_ns)
            break;
    }
    return ASSAY_OK;
}

static void times_judge(double *ns, uint32_t n, as_probe *out)
{
    size_t lo, hi;
    double cover;
    as_sort(ns, n);
    out->n_steps = n;
    out->step_ns = ns[n / 2];
    bool known = as_median_ranks(n, .95, &lo, &hi, &cover);
    out->lo_ns = known ? ns[lo] : (double)NAN;
    out->hi_ns = known ? ns[hi] : (double)NAN;
}

static assay_status steps_take(assay_env *env, const steps_job *j, assay_instance *instance, as_probe *out)
{
    double   ns[MAX_STEPS], begin = now_ns(true);
    bool     wall = out->by_wall = j->by_wall || out->threads > 1;
    uint32_t n = 0;
    AS_TRY(warm_up(env, instance, wall, begin + j->seconds * .4e9));
    double end = now_ns(true) + j->seconds * .6e9;
    do {
        AS_TRY(timed_step(env, instance, &out->steps[n]));
        ns[n] = shot_ns(&out->steps[n], wall);
        n++;
    } while (n < MAX_STEPS && (n < 9 ? now_ns(true) < end + j->seconds * 2e9 : now_ns(true) < end));
    times_judge(ns, n, out);
    return ASSAY_OK;
}

static assay_status steps_job_run(assay_env *env, void *arg, as_probe *out)
{
    const steps_job *j = arg;
    as_train_graph  *graph = NULL;
    assay_plan      *plan = NULL;
    assay_instance  *instance = NULL;
    AS_TRY(as_train_plan_new(env, j->model, j->setup, j->options, &graph, &plan));
    out->planned_bytes = assay_plan_peak_bytes(plan);
    out->threads = plan->devices[0]->n_threads;
    if (j->limit_bytes && out->planned_bytes > j->limit_bytes)
        return as_fail(env, ASSAY_NO_MEMORY, "its plan takes %llu bytes", (unsigned long long)out->planned_bytes);
    double before = status_bytes("/proc/self/status", "VmRSS");
    AS_TRY(as_train_plan_ready(env, graph, j->options->seed, plan));
    AS_TRY(assay_instance_new(env, plan, &instance));
    assay_instance_fill(instance, j->options->seed);
    AS_TRY(steps_take(env, j, instance, out));
    out->peak_bytes = status_bytes("/proc/self/status", "VmRSS") - before;
    return ASSAY_OK; /* the process ends here: nothing has to be freed */
}

static void child_run(assay_env *env, as_probe_job job, void *arg, uint64_t limit_bytes, int threads, as_probe *p, int to)
{
    limit_set(limit_bytes, threads);
    assay_status status = job(env, arg, p);
    p->state = status == ASSAY_OK ? AS_PROBE_FITS : status == ASSAY_NO_MEMORY ? AS_PROBE_NO_MEMORY : AS_PROBE_FAILED;
    snprintf(p->why, sizeof p->why, "%s", status == ASSAY_OK ? "" : assay_message(env));
    ssize_t n = write(to, p, sizeof *p);
    _exit(n == (ssize_t)sizeof *p ? 0 : 1);
}

static bool answer_read(int from, as_probe *out)
{
    as_probe p;
    size_t   got = 0;
    while (got < sizeof p) {
        ssize_t n = read(from, (char *)&p + got, sizeof p - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    p.why[sizeof p.why - 1] = '\0';
    *out = p;
    return true;
}

/* A child without an answer: the system ended it, most often because it had no memory left. */
static void death_judge(int status, as_probe *out)
{
    bool killed = WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGABRT ||
                                          WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
    out->state = killed ? AS_PROBE_NO_MEMORY : AS_PROBE_FAILED;
    snprintf(out->why, sizeof out->why,
             WIFSIGNALED(status) ? "its process was ended by signal %d" : "its process ended without an answer",
             WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

assay_status as_probe_child(assay_env *env, as_probe_job job, void *arg, uint64_t limit_bytes, as_probe *out)
{
    int   pipes[2];
    pid_t parent = getpid();
    if (pipe(pipes))
        return as_fail(env, ASSAY_IO, "probe: cannot make a pipe: %s", strerror(errno));
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        int why = errno;
        close(pipes[0]);
        close(pipes[1]);
        return as_fail(env, ASSAY_IO, "probe: cannot start a process: %s", strerror(why));
    }
    if (!child) {
        as_process_tie(parent);
        close(pipes[0]);
        child_run(env, job, arg, limit_bytes, out->threads, out, pipes[1]);
    }
    close(pipes[1]);
    bool answered = answer_read(pipes[0], out);
    close(pipes[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!answered)
        death_judge(status, out);
    return ASSAY_OK;
}

assay_status as_probe_run(assay_env *env, const assay_model *model, const as_train_setup *setup, const as_plan_options *options,
                          int64_t batch, uint64_t limit_bytes, double seconds, bool by_wall, as_probe *out)
{
    as_plan_options own = with_batch(options, batch);
    return as_probe_bound(env, model, setup, &own, batch, limit_bytes, seconds, by_wall, out);
}

assay_status as_probe_bound(assay_env *env, const assay_model *model, const as_train_setup *setup, const as_plan_options *options,
                            int64_t batch, uint64_t limit_bytes, double seconds, bool by_wall, as_probe *out)
{
    steps_job j = {
        .by_wall = by_wall, .model = model, .setup = setup, .options = options, .seconds = seconds, .limit_bytes = limit_bytes};
    *out = (as_probe){.batch = batch, .threads = options->threads, .peak_bytes = NAN, .step_ns = NAN, .lo_ns = NAN, .hi_ns = NAN};
    if (as_cancelled(env))
        return as_fail(env, ASSAY_CANCELLED, "stopped before batch size %lld was tried", (long long)batch);
    return as_probe_child(env, steps_job_run, &j, limit_bytes, out);
}

/* --- Fitting -------------------------------------------------------------------------------------------------------- */

/* The quantile 0.975 of Student's distribution. */
static double student(int freedom)
{
    static const double t[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
    return freedom <= (int)AS_COUNT(t) ? t[freedom - 1] : 2.2;
}

bool as_line_fit(const double *x, const double *y, int n, as_line *out)
{
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0, left = 0;
    for (int i = 0; i < n; i++) {
        double k = y[i] > 0 ? 1 / (y[i] * y[i]) : 0;
        w += k, wx += k * x[i], wy += k * y[i], wxx += k * x[i] * x[i], wxy += k * x[i] * y[i];
    }
    double d = w * wxx - wx * wx;
    if (n < 2 || !(d > 1e-12 * w * wxx))
        return false;
    *out = (as_line){.b = (w * wxy - wx * wy) / d};
    out->a = (wy - out->b * wx) / w;
    for (int i = 0; i < n; i++) {
        double off = y[i] > 0 ? (y[i] - out->a - out->b * x[i]) / y[i] : 0;
        left += off * off;
        out->worst = fmax(out->worst, fabs(off));
    }
    double error = n > 2 ? sqrt(left / (n - 2) * w / d) : 0, t = n > 2 ? student(n - 2) : 0;
    out->b_lo = n > 2 ? out->b - t * error : (double)NAN;
    out->b_hi = n > 2 ? out->b + t * error : (double)NAN;
    return true;
}

double as_line_knee(const as_line *time)
{
    if (!(time->b > 0))
        return (double)NAN;
    return time->a > 0 ? ceil(19 * time->a / time->b) : 1; /* B / (a + b B) >= 0.95 / b */
}

int64_t as_batch_of_knee(double knee, int64_t largest)
{
    int64_t batch = isfinite(knee) && knee < (double)largest ? ((int64_t)knee + 7) / 8 * 8 : largest;
    return batch > largest ? largest : batch;
}

/* One more size; a size that was tried already, or does not fit, adds nothing. */
static assay_status choice_try(as_batch_choice *c, int64_t batch, as_probe_try try_it, void *arg, double *x, double *y)
{
    as_probe p;
    for (int i = 0; i < c->n_probes; i++)
        if (x[i] == (double)batch)
            return ASSAY_OK;
    AS_TRY(try_it(arg, batch, c->budget_bytes, &p));
    if (p.state == AS_PROBE_FITS)
        x[c->n_probes] = (double)batch, y[c->n_probes++] = p.step_ns;
    c->knee = as_line_fit(x, y, c->n_probes, &c->line) ? as_line_knee(&c->line) : (double)NAN;
    c->batch = as_batch_of_knee(c->knee, c->largest);
    return ASSAY_OK;
}

assay_status as_probe_choose(assay_env *env, int64_t most, uint64_t budget_bytes, as_probe_bytes bytes_of, as_probe_try try_it,
                             void *arg, as_batch_choice *out)
{
    static const int64_t sizes[] = {4, 16, 64};
    double               x[AS_COUNT(sizes) + 2], y[AS_COUNT(sizes) + 2];
    as_batch_choice      c = {.knee = NAN, .budget_bytes = budget_bytes};
    AS_TRY(as_probe_search(most, budget_bytes, bytes_of, arg, &c.largest));
    if (!c.largest)
        return as_fail(env, ASSAY_NO_MEMORY, "train: not even one example fits into %llu bytes", (unsigned long long)budget_bytes);
    c.batch = c.largest;
    AS_TRY(choice_try(&c, 1, try_it, arg, x, y));
    for (size_t i = 0; i < AS_COUNT(sizes) && sizes[i] <= c.largest; i++)
        AS_TRY(choice_try(&c, sizes[i], try_it, arg, x, y));
    AS_TRY(choice_try(&c, c.batch, try_it, arg, x, y)); /* near the answer the line must hold, too */
    *out = c;
    return ASSAY_OK;
}

/* --- What guides say ------------------------------------------------------------------------------------------------- */

as_batch_prior as_probe_prior(const assay_model *model)
{
    int  n_products = 0, n_convs = 0;
    bool recurrent = false;
    for (int i = 0; i < model->n_nodes; i++) {
        const char *op = model->nodes[i].op->name;
        n_products += !strcmp(op, "Gemm") || !strcmp(op, "MatMul");
        n_convs += !strcmp(op, "Conv");
        recurrent |=
            !strcmp(op, "LSTM") || !strcmp(op, "GRU") || !strcmp(op, "RNN") || !strcmp(op, "assay.CfC") || !strcmp(op, "assay.LTC");
    }
    if (recurrent)
        return (as_batch_prior){"recurrent network", {16, 32, 64}};
    if (n_convs > 4)
        return (as_batch_prior){"large CNN", {16, 32, 64}};
    if (n_convs)
        return (as_batch_prior){"small CNN", {32, 64, 128}};
    if (n_products > 3)
        return (as_batch_prior){"deep MLP", {32, 64, 128}};
    return (as_batch_prior){"MLP", {64, 128, 256}};
}
