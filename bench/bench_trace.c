/* bench_trace.c - a long record: written, followed live by a second process, left behind for `assay report`.  Printed, never asserted.
 *
 *     bench_trace FILE [MILLIONS OF EVENTS]
 *
 * The record is that of a network of ten steps: every run is a span with ten spans in it; there are 25 runs and one metric per
 * sample. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "trace/stream.h"

enum { STEPS = 10, RUNS_A_SAMPLE = 25, SPANS_A_SAMPLE = RUNS_A_SAMPLE * (STEPS + 1), STEP_TICKS = 1000, APPEND_EVERY = 1000 };

static void must(assay_env *env, assay_status status)
{
    if (status == ASSAY_OK)
        return;
    fprintf(stderr, "bench_trace: %s\n", assay_message(env));
    exit(5);
}

/* --- The second process -------------------------------------------------------------------------------------- */

typedef struct sums {
    uint64_t n_spans, n_samples, n_metrics, ticks;
} sums;

static void on_spans(void *arg, const assay_trace *t, const as_span *spans, size_t n)
{
    sums *s = arg;
    (void)t;
    s->n_spans += n;
    for (size_t i = 0; i < n; i++)
        s->ticks += spans[i].kind == AS_SPAN_STEP ? spans[i].end_ticks - spans[i].begin_ticks : 0;
}

static void on_samples(void *arg, const assay_trace *t, const as_sample *samples, size_t n)
{
    (void)t;
    (void)samples;
    ((sums *)arg)->n_samples += n;
}

static void on_metrics(void *arg, const assay_trace *t, const as_trace_metric *metrics, size_t n)
{
    (void)t;
    (void)metrics;
    ((sums *)arg)->n_metrics += n;
}

static int follow(assay_env *env, const char *path)
{
    sums               s = {0};
    as_follow_settings how = {.arg = &s, .spans = on_spans, .samples = on_samples, .metrics = on_metrics};
    as_trace_follow   *f;
    as_follow_news     news = AS_FOLLOW_QUIET;
    struct rusage      used;
    int                fd = open(path, O_RDONLY | O_CLOEXEC), n_polls = 0;
    must(env, as_trace_follow_new(env, path, &how, &f));
    while (news != AS_FOLLOW_ENDED) {
        must(env, as_trace_follow_poll(env, f, fd, 5000, &news));
        n_polls += news == AS_FOLLOW_GREW;
        if (news == AS_FOLLOW_QUIET || news == AS_FOLLOW_CLOSED) {
            fprintf(stderr,
                    news == AS_FOLLOW_QUIET ? "bench_trace: the writer has been silent for 5 s\n"
                                            : "bench_trace: %s cannot be followed: it is no file\n",
                    path);
            return 5;
        }
    }
    getrusage(RUSAGE_SELF, &used);
    printf("followed live: %llu spans, %llu samples, %llu metrics in %d pieces, %.2f s of CPU, peak %.1f MB\n",
           (unsigned long long)s.n_spans, (unsigned long long)s.n_samples, (unsigned long long)s.n_metrics, n_polls,
           (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec * 1e-6 + (double)used.ru_stime.tv_sec +
               (double)used.ru_stime.tv_usec * 1e-6,
           (double)used.ru_maxrss / 1024);
    must(env, as_trace_follow_finish(env, f, NULL));
    close(fd);
    return 0;
}

/* --- The writer ------------------------------------------------------------------------------------------------ */

static assay_trace *begin(assay_env *env)
{
    assay_trace *t;
    must(env, as_trace_new_arms(env, "ten-steps", 1, &t));
    for (int i = 0; i < STEPS; i++) {
        char name[16];
        snprintf(name, sizeof name, "fc%d", i);
        as_trace_add_step(t, &(as_trace_step){.name = name,
                                              .op = "Gemm",
                                              .device = "cpu",
                                              .kernel = "gemm_f32",
                                              .flops = 1000000,
                                              .bytes_read = 4096,
                                              .bytes_written = 4096,
                                              .working_set_bytes = 8192});
    }
    t->totals = AS_TAKE(&t->arena, as_step_total, STEPS);
    t->n_totals = STEPS;
    t->ns_per_tick = 1;
    t->detail = AS_DETAIL_STEP;
    t->model = t->name;
    t->device = "cpu";
    t->threads = 1;
    return t;
}

/* The spans of one sample that starts at `at`; the time of a step varies with its run, so that there is something to see. */
static uint64_t sample_make(assay_trace *t, uint64_t at, as_span spans[SPANS_A_SAMPLE], as_sample *sample)
{
    uint64_t now = at;
    as_span *s = spans;
    for (uint32_t r = 0; r < RUNS_A_SAMPLE; r++) {
        uint32_t run = (uint32_t)t->n_runs + r;
        as_span *whole = s++;
        *whole = (as_span){.begin_ticks = now, .step = -1, .run = run, .kind = AS_SPAN_RUN};
        for (int i = 0; i < STEPS; i++, s++) {
            uint64_t ticks = STEP_TICKS + (run * 7 + (uint32_t)i * 13) % 50;
            *s = (as_span){.begin_ticks = now, .end_ticks = now + ticks, .step = i, .run = run, .kind = AS_SPAN_STEP};
            as_step_total_add(&t->totals[i], ticks);
            now += ticks;
        }
        whole->end_ticks = now;
    }
    *sample = (as_sample){at, now, now - at, (uint32_t)t->n_runs, RUNS_A_SAMPLE};
    t->n_runs += RUNS_A_SAMPLE;
    return now;
}

static void record(assay_env *env, const char *path, uint64_t n_samples, bool tell)
{
    as_span          spans[SPANS_A_SAMPLE];
    as_sample        sample;
    as_trace_writer *w;
    assay_trace     *t = begin(env);
    uint64_t         at = 1000, writing = 0, cpu = 0, first = as_monotonic_ns();
    must(env, as_trace_writer_open(env, path, t, &w));
    for (uint64_t i = 0; i < n_samples; i++) {
        at = sample_make(t, at, spans, &sample);
        as_trace_metric loss = {.name = "loss", .unit = "1", .step = i, .ticks = at, .value = 1.0 / (double)(i + 1)};
        uint64_t        before = as_monotonic_ns(), cpu_before = as_thread_cpu_ns();
        must(env, as_trace_writer_spans(env, w, t, spans, SPANS_A_SAMPLE));
        must(env, as_trace_writer_samples(env, w, t, &sample, 1));
        must(env, as_trace_writer_metrics(env, w, t, &loss, 1));
        if (i % APPEND_EVERY == APPEND_EVERY - 1)
            must(env, as_trace_writer_append(env, w, t));
        writing += as_monotonic_ns() - before;
        cpu += as_thread_cpu_ns() - cpu_before;
    }
    uint64_t before = as_monotonic_ns(), cpu_before = as_thread_cpu_ns();
    must(env, as_trace_writer_close(env, w, t));
    writing += as_monotonic_ns() - before;
    cpu += as_thread_cpu_ns() - cpu_before;
    double n_events = (double)n_samples * (SPANS_A_SAMPLE + 2);
    if (tell)
        printf(
            "written: %.2f million events, %.1f ns of CPU an event, %.1f by the wall (with making them %.1f), sums and writing to the file included\n",
            n_events / 1e6, (double)cpu / n_events, (double)writing / n_events, (double)(as_monotonic_ns() - first) / n_events);
    assay_trace_free(t);
}

int main(int argc, char **argv)
{
    assay_env *env;
    double     millions = argc > 2 ? atof(argv[2]) : 10;
    int        how = 0;
    if (argc < 2 || !(millions > 0 && millions <= 10000)) {
        fprintf(stderr, "usage: bench_trace FILE [MILLIONS OF EVENTS]\n");
        return 2;
    }
    if (assay_env_new(&env) != ASSAY_OK)
        return 5;
    uint64_t n_samples = (uint64_t)(millions * 1e6 / (SPANS_A_SAMPLE + 2)) + 1;
    record(env, argv[1], n_samples, true); /* alone, then with a reader beside it */
    fflush(stdout);
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || close(fd))
        return 5;
    pid_t pid = fork();
    if (pid == 0)
        _exit(follow(env, argv[1]) | (fflush(stdout) ? 5 : 0));
    printf("with a reader: ");
    record(env, argv[1], n_samples, true);
    fflush(stdout);
    waitpid(pid, &how, 0);
    assay_env_free(env);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 5;
}
