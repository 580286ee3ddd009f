/* stream.c - one answer per sample. */
#include "run/stream.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/metric.h"
#include "base/text.h"
#include "plan/plan.h"

enum { NUMBER_BYTES = 64 /* at most, in a line, with its comma */, LEAST_BYTES = 1 << 16, N_WARMUP = 3, WAIT_MS = 100 };

typedef struct stream {
    assay_env                *env;
    assay_instance           *instance;
    const as_stream_settings *settings;
    as_view                   x, timespan, y;
    int64_t                   n_x, n_columns, n_y;
    char                     *in; /* bytes read but not yet used: [begin, end) */
    size_t                    in_size, begin, end;
    bool                      at_end;
    char                     *out;
    size_t                    out_size;
    uint64_t                  n_lines; /* samples taken, for messages */
    as_tally                  latency, compute, change, interval;
} stream;

/* --- The sample ------------------------------------------------------------------------------------------ */

/* Bytes of the first whole sample in the buffer, its newline included; 0: there is none. */
static size_t sample_bytes(const stream *s)
{
    size_t n = s->end - s->begin;
    if (s->settings->raw)
        return n >= (size_t)s->n_columns * sizeof(float) ? (size_t)s->n_columns * sizeof(float) : 0;
    const char *at = s->in + s->begin, *newline = n ? memchr(at, '\n', n) : NULL;
    if (newline)
        return (size_t)(newline - at) + 1;
    return s->at_end ? n : 0; /* the last line needs no newline */
}

static assay_status fill(stream *s)
{
    memmove(s->in, s->in + s->begin, s->end - s->begin);
    s->end -= s->begin;
    s->begin = 0;
    if (s->end >= s->in_size - 1)
        return as_fail(s->env, ASSAY_BAD_INPUT, "stream: line %llu: it has more than %zu bytes; expected %lld numbers",
                       (unsigned long long)s->n_lines + 1, s->in_size - 2, (long long)s->n_columns);
    ssize_t got = read(s->settings->in_fd, s->in + s->end, s->in_size - 1 - s->end);
    if (got < 0 && errno != EINTR && errno != EAGAIN)
        return as_fail(s->env, ASSAY_IO, "stream: standard input: cannot read after %llu samples: %s",
                       (unsigned long long)s->n_lines, strerror(errno));
    s->at_end = got == 0;
    if (got > 0)
        s->end += (size_t)got;
    return ASSAY_OK;
}

/* Waits for a complete sample; *bytes 0: the input has ended, or cancel.  *waiting: the sample was there already. */
static assay_status sample_wait(stream *s, size_t *bytes, uint64_t *arrived, bool *waiting)
{
    *waiting = true;
    *arrived = as_clock_now(&s->env->clock);
    while (!(*bytes = sample_bytes(s)) && !s->at_end && !as_cancelled(s->env)) {
        struct pollfd wanted = {.fd = s->settings->in_fd, .events = POLLIN};
        int ready = poll(&wanted, 1, *waiting ? 0 : WAIT_MS); /* a timeout, because a signal may come just before the call */
        if (ready <= 0) {
            *waiting = false;
            continue;
        }
        AS_TRY(fill(s));
        *arrived = as_clock_now(&s->env->clock);
    }
    if (*bytes || !s->at_end || s->begin == s->end)
        return ASSAY_OK;
    return as_fail(
        s->env, ASSAY_BAD_INPUT, "stream: sample %llu: the input ends after %zu of its %zu bytes (%lld numbers of 32 bits)",
        (unsigned long long)s->n_lines + 1, s->end - s->begin, (size_t)s->n_columns * sizeof(float), (long long)s->n_columns);
}

static assay_status number_put(const stream *s, int64_t i, double value)
{
    if (i < s->n_x) {
        if (s->x.dtype == AS_F32)
            ((float *)s->x.data)[i] = (float)value;
        else
            as_view_set(&s->x, i, value);
        return ASSAY_OK;
    }
    if (!(value >= 0 && value <= DBL_MAX))
        return as_fail(s->env, ASSAY_BAD_INPUT, "stream: line %llu: its time span is %g, but must be 0 or more",
                       (unsigned long long)s->n_lines, value);
    as_view_set(&s->timespan, 0, value);
    return ASSAY_OK;
}

static assay_status fail_count(const stream *s, int64_t n)
{
    return as_fail(s->env, ASSAY_BAD_INPUT, "stream: line %llu: it has %lld number%s; expected %lld%s",
                   (unsigned long long)s->n_lines, (long long)n, n == 1 ? "" : "s", (long long)s->n_columns,
                   s->settings->has_timespans ? ", the last of them a time span" : "");
}

/* Cuts the line in place. */
static assay_status line_read(const stream *s, char *line, size_t n)
{
    while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
        n--;
    line[n] = '\0'; /* over the newline, or in the byte that fill() leaves free */
    if (!line[strspn(line, " \t")] || strlen(line) != n)
        return fail_count(s, 0);
    int64_t i = 0;
    for (char *at = line; at; i++) {
        char  *comma = strchr(at, ','), *stop;
        double value;
        if (comma)
            *comma = '\0';
        at += strspn(at, " \t");
        stop = at + strlen(at);
        while (stop > at && (stop[-1] == ' ' || stop[-1] == '\t'))
            *--stop = '\0';
        if (!as_parse_f64(at, &value))
            return as_fail(s->env, ASSAY_BAD_INPUT, "stream: line %llu: number %lld is '%.40s', which is not a number",
                           (unsigned long long)s->n_lines, (long long)i + 1, at);
        if (i < s->n_columns)
            AS_TRY(number_put(s, i, value));
        at = comma ? comma + 1 : NULL;
    }
    return i == s->n_columns ? ASSAY_OK : fail_count(s, i);
}

static assay_status raw_read(const stream *s, const char *bytes)
{
    for (int64_t i = 0; i < s->n_columns; i++) {
        float value;
        memcpy(&value, bytes + (size_t)i * sizeof value, sizeof value);
        if (!isfinite(value))
            return as_fail(s->env, ASSAY_BAD_INPUT, "stream: sample %llu: number %lld is %g, which is not finite",
                           (unsigned long long)s->n_lines, (long long)i + 1, (double)value);
        AS_TRY(number_put(s, i, (double)value));
    }
    return ASSAY_OK;
}

/* --- The answer ------------------------------------------------------------------------------------------ */

static size_t answer_make(const stream *s)
{
    size_t n = 0;
    for (int64_t i = 0; i < s->n_y; i++) {
        double value = as_view_get(&s->y, i);
        if (s->settings->raw) {
            float narrow = (float)value;
            memcpy(s->out + n, &narrow, sizeof narrow);
            n += sizeof narrow;
        } else {
            n += (size_t)snprintf(s->out + n, s->out_size - n, "%s%.9g", i ? "," : "", value);
        }
    }
    if (!s->settings->raw)
        s->out[n++] = '\n';
    return n;
}

static assay_status answer_write(const stream *s, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t wrote = write(s->settings->out_fd, s->out + done, n - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return as_fail(s->env, ASSAY_IO, "stream: standard output: cannot write the answer to sample %llu: %s",
                           (unsigned long long)s->n_lines, strerror(errno));
        done += (size_t)wrote;
    }
    return ASSAY_OK;
}

/* --- The loop -------------------------------------------------------------------------------------------- */

static uint64_t ns_between(const stream *s, uint64_t from, uint64_t to)
{
    return to > from ? (uint64_t)(as_clock_ns(&s->env->clock, to - from) + 0.5) : 0;
}

static uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

static assay_status run(stream *s, as_stream_report *r)
{
    uint64_t first = 0, last = 0, before = 0;
    for (;;) {
        size_t       bytes;
        uint64_t     arrived, ready, written;
        bool         waiting;
        assay_status status = sample_wait(s, &bytes, &arrived, &waiting);
        if (status != ASSAY_OK || !bytes) {
            r->cancelled = status == ASSAY_OK && as_cancelled(s->env);
            return status;
        }
        char *sample = s->in + s->begin;
        s->begin += bytes;
        s->n_lines++;
        AS_TRY(s->settings->raw ? raw_read(s, sample) : line_read(s, sample, bytes));
        AS_TRY(as_instance_step(AS_RUN(s->env), s->instance));
        size_t n = answer_make(s);
        ready = as_clock_now(&s->env->clock);
        AS_TRY(answer_write(s, n));
        written = as_clock_now(&s->env->clock);

        uint64_t latency = ns_between(s, arrived, written);
        if (r->n) {
            uint64_t interval = ns_between(s, last, written);
            as_tally_add(&s->change, distance(latency, before));
            if (r->rate_hz)
                as_tally_add(&s->interval, distance(interval, UINT64_C(1000000000) / (uint64_t)r->rate_hz));
            r->n_waiting += waiting;
        } else {
            first = arrived;
        }
        as_tally_add(&s->latency, latency);
        as_tally_add(&s->compute, ns_between(s, arrived, ready));
        r->n++;
        r->n_missed += r->deadline_ns && latency > r->deadline_ns;
        before = latency;
        last = written;
        double seconds = (double)ns_between(s, first, last) * 1e-9;
        if (r->n > 1 && seconds > 0)
            r->rate = as_metric_derived((double)r->n / seconds, NAN, NAN, r->n, "1/s",
                                        "answers / time from the first sample to the last answer");
    }
}

/* --- Before and after ------------------------------------------------------------------------------------ */

static assay_status open_all(stream *s)
{
    const assay_model *model = s->instance->plan->model;
    int                timespans = as_timespans_find(model);
    if (!model->n_inputs || !model->n_outputs)
        return as_fail(s->env, ASSAY_BAD_INPUT, "stream: the model '%s' has %d inputs and %d outputs; a stream needs one of each",
                       model->name, model->n_inputs, model->n_outputs);
    s->x = as_instance_input(s->instance, 0);
    s->y = as_instance_output(s->instance, 0);
    s->n_x = as_shape_count(&s->x.shape);
    s->n_y = as_shape_count(&s->y.shape);
    if (s->settings->has_timespans && timespans < 0)
        return as_fail(s->env, ASSAY_BAD_INPUT, "stream: the samples bring time spans, but the model '%s' has no input `timespans`",
                       model->name);
    if (s->settings->has_timespans)
        s->timespan = as_instance_input(s->instance, timespans);
    if (s->settings->has_timespans && as_shape_count(&s->timespan.shape) != 1)
        return as_fail(s->env, ASSAY_BAD_INPUT, "stream: a sample needs %lld time spans, but can bring only one",
                       (long long)as_shape_count(&s->timespan.shape));
    s->n_columns = s->n_x + s->settings->has_timespans;
    if (!s->n_columns)
        return as_fail(s->env, ASSAY_BAD_INPUT, "stream: a sample of the model '%s' has no numbers", model->name);
    size_t numbers = (size_t)s->n_columns * NUMBER_BYTES;
    s->in_size = (numbers < LEAST_BYTES ? LEAST_BYTES : numbers) + 1;
    s->out_size = (size_t)s->n_y * NUMBER_BYTES + 2;
    s->in = malloc(s->in_size);
    s->out = malloc(s->out_size);
    bool ok = as_tally_open(&s->latency);
    ok = as_tally_open(&s->compute) && ok;
    ok = as_tally_open(&s->change) && ok;
    ok = as_tally_open(&s->interval) && ok;
    if (!ok || !s->in || !s->out)
        return as_fail(s->env, ASSAY_NO_MEMORY, "stream: not enough memory for its buffers");
    return ASSAY_OK;
}

/* Copies all variables out to `kept`, or back. */
static void variables_keep(stream *s, char *kept, bool back)
{
    for (int i = 0; i < s->instance->plan->n_variables; i++) {
        as_view v = as_instance_variable(s->instance, i);
        size_t  n = as_view_bytes(&v);
        if (n)
            memcpy(back ? v.data : kept, back ? kept : v.data, n);
        kept += n;
    }
}

/* The first steps pay for the set-up and for page faults; they must not change states or random streams. */
static assay_status warm(stream *s)
{
    char        *kept = malloc((size_t)s->instance->plan->variable_bytes + 1);
    assay_status status = kept ? ASSAY_OK : as_fail(s->env, ASSAY_NO_MEMORY, "stream: not enough memory to keep the states");
    if (kept)
        variables_keep(s, kept, false);
    for (int64_t i = 0; i < s->n_x; i++)
        as_view_set(&s->x, i, 0.0);
    if (s->settings->has_timespans)
        as_view_set(&s->timespan, 0, 1.0);
    for (int i = 0; i < N_WARMUP && status == ASSAY_OK; i++) {
        status = as_instance_step(AS_RUN(s->env), s->instance);
        answer_make(s);
    }
    if (kept)
        variables_keep(s, kept, true);
    s->instance->step = 0;
    free(kept);
    return status;
}

static assay_metric median_of(const as_tally *t, const char *source, char *reason, size_t size)
{
    return as_tally_quantile(t, 0.5, source, reason, size);
}

static void report_fill(stream *s, as_stream_report *r)
{
    const char  *by = r->clock;
    const size_t size = sizeof r->reasons[0];
    r->p50 = median_of(&s->latency, by, r->reasons[0], size);
    r->compute_p50 = median_of(&s->compute, by, r->reasons[0], size);
    r->p99 = as_tally_quantile(&s->latency, 0.99, by, r->reasons[1], size);
    r->p999 = as_tally_quantile(&s->latency, 0.999, by, r->reasons[2], size);
    r->max = s->latency.n ? as_metric_measured((double)s->latency.max_ns, (double)s->latency.max_ns, (double)s->latency.max_ns,
                                               s->latency.n, "ns", by)
                          : as_metric_unavailable("ns", "there was no answer");
    r->jitter = median_of(&s->change, by, r->reasons[3], size);
    r->interval_jitter =
        r->rate_hz ? median_of(&s->interval, by, r->reasons[4], size) : as_metric_unavailable("ns", "no --rate was given");
}

assay_status as_stream_run(assay_env *env, assay_instance *instance, const as_stream_settings *settings, as_stream_report *report)
{
    stream s = {.env = env, .instance = instance, .settings = settings};
    *report = (as_stream_report){.rate_hz = settings->rate_hz,
                                 .deadline_ns = settings->deadline_ns,
                                 .rate = as_metric_unavailable("1/s", "needs two answers")};
    if (!report->deadline_ns && report->rate_hz)
        report->deadline_ns = UINT64_C(1000000000) / (uint64_t)report->rate_hz;
    snprintf(report->clock, sizeof report->clock, "%s", env->clock.name);
    assay_status status = open_all(&s);
    if (status == ASSAY_OK)
        status = warm(&s);
    if (status == ASSAY_OK)
        status = run(&s, report);
    report_fill(&s, report);
    as_tally_drop(&s.latency);
    as_tally_drop(&s.compute);
    as_tally_drop(&s.change);
    as_tally_drop(&s.interval);
    free(s.in);
    free(s.out);
    return status;
}
