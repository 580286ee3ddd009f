/* stream_test.c - streams through pipes, on a device whose time only we move. */
#include "run/stream.h"

#include <stdio.h>
#include <unistd.h>

#include "base/metric.h"
#include "plan/plan.h"
#include "plan/test_fixture.h"

/* y = x + h, h_n = x + h: a running sum, one Add of 5 us per sample on the null device. */
static void sum_open(fixture *f)
{
    fixture_open(f, NULL);
    as_maker   *m = fixture_maker(f);
    int         in[] = {fixture_input(m, "x", 1, 2), fixture_input(m, "h0", 1, 2)};
    const char *y = "y", *h = "h_n";
    int         sum = as_maker_node(m, "Add", "sum", in, 2, NULL, 0, NULL, 1, &y);
    as_maker_output(m, sum);
    as_maker_output(m, as_maker_node(m, "Identity", "keep", &sum, 1, NULL, 0, NULL, 1, &h));
    expect_ok(f->env, as_maker_finish(m, &f->model));
    as_variable_def defs[AS_MAX_STATES];
    expect_ok(f->env, fixture_plan_with(f, defs, as_state_variables(f->model, defs)));
    expect_ok(f->env, assay_instance_new(f->env, f->plan, &f->instance));
}

/* Runs a stream over the text (which fits into a pipe) and returns what came out. */
static assay_status stream_of(fixture *f, as_stream_settings settings, const void *text, size_t n, char *out, size_t size,
                              size_t *n_out, as_stream_report *r)
{
    int in_pipe[2], out_pipe[2];
    expect(!pipe(in_pipe) && !pipe(out_pipe));
    expect(write(in_pipe[1], text, n) == (ssize_t)n);
    close(in_pipe[1]);
    settings.in_fd = in_pipe[0];
    settings.out_fd = out_pipe[1];
    assay_status status = as_stream_run(f->env, f->instance, &settings, r);
    close(out_pipe[1]);
    ssize_t got = read(out_pipe[0], out, size - 1);
    expect(got >= 0);
    out[got] = '\0';
    *n_out = (size_t)got;
    close(out_pipe[0]);
    close(in_pipe[0]);
    return status;
}

Test(stream, carries_the_state_from_sample_to_sample)
{
    fixture          f;
    char             out[256];
    size_t           n;
    as_stream_report r;
    sum_open(&f);
    expect_ok(f.env, stream_of(&f, (as_stream_settings){0}, "1,2\n3,4\n-0.5,1e1\n", 17, out, sizeof out, &n, &r));
    expect(!strcmp(out, "1,2\n4,6\n3.5,16\n"));
    expect_eq(r.n, 3);
    expect_eq(r.n_waiting, 2);
    expect(!r.cancelled && !r.deadline_ns && !r.n_missed);
    expect_eq(r.p50.kind, ASSAY_UNAVAILABLE);
    expect_eq(r.interval_jitter.kind, ASSAY_UNAVAILABLE);
    expect_eq(r.max.kind, ASSAY_MEASURED);
    fixture_close(&f);
}

Test(stream, begins_with_the_state_that_the_instance_holds)
{
    fixture          f;
    char             out[256];
    size_t           n;
    as_stream_report r;
    sum_open(&f);
    as_view h = as_instance_input(f.instance, 1);
    as_view_set(&h, 0, 100);
    expect_ok(f.env, stream_of(&f, (as_stream_settings){0}, "1,2", 3, out, sizeof out, &n, &r));
    expect(!strcmp(out, "101,2\n"));
    fixture_close(&f);
}

Test(stream, raw_samples_get_raw_answers)
{
    fixture     f;
    const float in[4] = {1, 2, 3, 4};
    union {
        char  bytes[64];
        float f[16];
    } out;
    size_t           n;
    as_stream_report r;
    sum_open(&f);
    expect_ok(f.env, stream_of(&f, (as_stream_settings){.raw = true}, in, sizeof in, out.bytes, sizeof out.bytes, &n, &r));
    expect_eq(n, 16);
    expect(out.f[0] == 1 && out.f[1] == 2 && out.f[2] == 4 && out.f[3] == 6);
    fixture_close(&f);
}

Test(stream, says_what_is_wrong_with_a_sample_and_keeps_the_answers_before)
{
    static const struct {
        const char *text, *words;
        bool        raw;
    } cases[] = {
        {"1,2\n1\n", "line 2: it has 1 number; expected 2", false},
        {"1,2\n1,2,3\n", "line 2: it has 3 numbers", false},
        {"1,2\n,2\n", "line 2: number 1 is ''", false},
        {"1,2\n1;2\n", "line 2: number 1 is '1;2'", false},
        {"1,2\n1,inf\n", "line 2: number 2 is 'inf'", false},
        {"1,2\n \n", "line 2: it has 0 numbers", false},
        {"\0\0\0\0\0\0\0\0ab", "sample 2: the input ends after 2 of its 8 bytes", true},
        {"\0\0\0\0\0\0\0\0\0\0\200\177\0\0\0\0", "sample 2: number 1 is inf", true},
    };
    for (size_t i = 0; i < AS_COUNT(cases); i++) {
        fixture          f;
        char             out[256];
        size_t           n, length = i == 6 ? 10 : i == 7 ? 16 : strlen(cases[i].text);
        as_stream_report r;
        sum_open(&f);
        expect_eq(stream_of(&f, (as_stream_settings){.raw = cases[i].raw}, cases[i].text, length, out, sizeof out, &n, &r),
                  ASSAY_BAD_INPUT);
        if (!strstr(assay_message(f.env), cases[i].words))
            fail("the sentence is: %s", assay_message(f.env));
        expect_eq(r.n, 1);
        expect_eq(n, cases[i].raw ? 8 : 4);
        fixture_close(&f);
    }
}

Test(stream, answers_later_than_the_period_are_misses)
{
    fixture          f;
    char             text[2048] = "", out[4096];
    size_t           n;
    as_stream_report r;
    fixture_open(&f, "mlp:sizes=2x1");
    fixture_set(&f, "device", "null:gemm=5us");
    fixture_plan(&f);
    fixture_instance(&f);
    for (int i = 0; i < 100; i++)
        strcat(text, "1,2\n");
    expect_ok(f.env, stream_of(&f, (as_stream_settings){.rate_hz = 250000}, text, strlen(text), out, sizeof out, &n, &r));
    expect_eq(r.n, 100);
    expect_eq(r.deadline_ns, 4000);
    expect_eq(r.n_missed, 100);
    expect(r.p50.value == 5000 && r.max.value == 5000 && r.jitter.value == 0);
    expect(r.interval_jitter.value == 1000);
    expect_near(r.rate.value, 200000, 1e-6);
    expect_eq(r.p99.kind, ASSAY_UNAVAILABLE);
    expect_ok(f.env, stream_of(&f, (as_stream_settings){.rate_hz = 250000, .deadline_ns = 5000}, text, strlen(text), out,
                               sizeof out, &n, &r));
    expect_eq(r.n_missed, 0);
    fixture_close(&f);
}

Test(stream, takes_no_memory_for_a_sample)
{
    static char text[4 * 300 + 1], out[8192];
    size_t      allocs[2];
    for (int i = 0; i < 2; i++) { /* 3 samples, then 300: the same number of allocations */
        fixture          f;
        size_t           n;
        as_stream_report r;
        sum_open(&f);
        text[0] = '\0';
        for (int k = 0; k < (i ? 300 : 3); k++)
            memcpy(text + 4 * k, "1,2\n", 5);
        size_t before = as_test_n_allocs();
        expect_ok(f.env, stream_of(&f, (as_stream_settings){.rate_hz = 1000}, text, strlen(text), out, sizeof out, &n, &r));
        allocs[i] = as_test_n_allocs() - before;
        expect_eq(r.n, i ? 300 : 3);
        fixture_close(&f);
    }
    expect_eq(allocs[0], allocs[1]);
}

Test(stream, a_cancel_ends_it_with_its_report)
{
    fixture          f;
    char             out[64];
    size_t           n;
    as_stream_report r;
    sum_open(&f);
    assay_cancel(f.env);
    expect_ok(f.env, stream_of(&f, (as_stream_settings){0}, "1,2\n", 4, out, sizeof out, &n, &r));
    expect(r.cancelled);
    expect_eq(n, 0);
    fixture_close(&f);
}

Test(stream, time_spans_need_their_input)
{
    fixture          f;
    char             out[64];
    size_t           n;
    as_stream_report r;
    sum_open(&f);
    expect_eq(stream_of(&f, (as_stream_settings){.has_timespans = true}, "1,2,3\n", 6, out, sizeof out, &n, &r), ASSAY_BAD_INPUT);
    expect(strstr(assay_message(f.env), "has no input `timespans`") != NULL);
    fixture_close(&f);
}
