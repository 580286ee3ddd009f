/* measure_test.c - how many runs, in what detail, and what is kept, on a clock that only the null device moves. */
#include "base/options.h"
#include "plan/test_fixture.h"
#include "run/run.h"
#include "run/runner.h"

static const as_run_settings quiet = {
    .n_runs = 20, .time_ns = 1000000000, .sensors = "none", .detail = AS_DETAIL_STEP, .max_cost = 0.005, .kept_runs = 8};

static void open_null(fixture *f, const char *spec, const char *device)
{
    fixture_open(f, spec);
    fixture_set(f, "device", device);
    fixture_plan(f);
}

Test(measure, a_profile_refuses_options_that_say_nothing_about_it)
{
    fixture      f;
    assay_trace *t = NULL;
    fixture_open(&f, "mlp-small");
    fixture_set(&f, "margin", "2%");
    fixture_plan(&f);
    expect_fails(f.env, assay_profile(f.env, f.plan, f.options, &t), ASSAY_BAD_INPUT,
                 "assay_profile: --margin does not apply; use: runs, ");
    expect(!t);
    fixture_close(&f);
}

Test(measure, settings_come_from_the_options)
{
    fixture         f;
    as_run_settings s;
    fixture_open(&f, NULL);
    expect_ok(f.env, as_run_settings_read(f.env, f.options, &s));
    expect_eq(s.n_runs, 0);
    expect_eq(s.time_ns, 1000000000);
    expect(s.pin);
    expect_str(s.sensors, "all");
    expect_eq(s.detail, AS_DETAIL_STEP);
    expect(s.trace_path == NULL);
    expect_near(s.max_cost, 0.005, 0);
    static const struct {
        const char *name;
        as_detail   detail;
    } details[] = {{"run", AS_DETAIL_RUN}, {"segment", AS_DETAIL_SEGMENT}, {"step", AS_DETAIL_STEP}, {"part", AS_DETAIL_PART}};
    for (size_t i = 0; i < 4; i++) {
        fixture_set(&f, "detail", details[i].name);
        expect_ok(f.env, as_run_settings_read(f.env, f.options, &s));
        expect_eq(s.detail, details[i].detail);
    }
    fixture_set(&f, "runs", "50");
    fixture_set(&f, "time", "5ms");
    fixture_set(&f, "pin", "off");
    fixture_set(&f, "sensors", "none");
    fixture_set(&f, "trace", "t.trace");
    expect_ok(f.env, as_run_settings_read(f.env, f.options, &s));
    expect_eq(s.n_runs, 50);
    expect_eq(s.time_ns, 5000000);
    expect(!s.pin);
    expect_str(s.trace_path, "t.trace");
    expect(as_options_unused(f.options) == NULL);
    fixture_close(&f);
}

Test(measure, makes_exactly_the_runs_asked_for)
{
    fixture      f;
    assay_trace *t = NULL;
    open_null(&f, "mlp-small", "null:gemm=5us");
    expect_ok(f.env, as_run_profile(f.env, f.plan, &quiet, 1, &t));
    expect_eq(t->n_runs, 20);
    expect_eq(t->n_samples, 20);
    expect_eq(t->n_warmup, 3);
    for (size_t i = 0; i < t->n_samples; i++) {
        expect_eq(t->samples[i].first_run, i);
        expect_eq(t->samples[i].n_runs, 1);
        expect(t->samples[i].cpu_ns == UINT64_MAX);
    }
    expect_eq(t->steady_allocs, 0);
    expect_eq(t->dropped_spans, 0);
    expect_str(t->detail_why, "");
    expect_eq(t->detail, AS_DETAIL_STEP);
    assay_trace_free(t);
    fixture_close(&f);
}

Test(measure, what_the_devices_hold_is_an_event)
{
    fixture      f;
    assay_trace *t = NULL;
    assay_facts *facts = NULL;
    fixture_open(&f, "mlp-small");
    fixture_set(&f, "device", "null");
    fixture_set(&f, "runs", "5");
    fixture_plan(&f);
    expect_ok(f.env, assay_profile(f.env, f.plan, f.options, &t));
    double held = 0;
    size_t n = 0;
    for (size_t i = 0; i < t->n_metrics; i++)
        if (!strncmp(t->metrics[i].name, AS_METRIC_LIVE, strlen(AS_METRIC_LIVE))) {
            expect_str(t->metrics[i].unit, "byte");
            held += t->metrics[i].value;
            n++;
        }
    expect(n > 0);
    expect_near(held, (double)t->peak_bytes_observed, 0);
    expect_ok(f.env, assay_analyse(f.env, t, &facts));
    expect(assay_facts_metric(facts, "memory.live_peak.null"));
    assay_facts_free(facts);
    assay_trace_free(t);
    fixture_close(&f);
}

Test(measure, keeps_the_spans_of_the_first_runs_and_totals_of_all)
{
    fixture      f;
    assay_trace *t = NULL;
    open_null(&f, "mlp-small", "null:gemm=5us");
    expect_ok(f.env, as_run_profile(f.env, f.plan, &quiet, 1, &t));
    for (size_t i = 0; i < t->n_spans; i++)
        expect(t->spans[i].run < quiet.kept_runs);
    expect_eq(t->n_totals, t->n_steps);
    for (size_t s = 0; s < t->n_steps; s++)
        expect_eq(t->totals[s].count, strcmp(t->steps[s].stage, "body") ? 0 : 20);
    assay_trace_free(t);
    fixture_close(&f);
}

Test(measure, stops_when_the_time_is_over)
{
    fixture         f;
    assay_trace    *t = NULL;
    as_run_settings s = quiet;
    s.n_runs = 0;
    s.time_ns = 100000; /* a run takes 5 + 1 + 5 us */
    open_null(&f, "mlp-small", "null:gemm=5us");
    expect_ok(f.env, as_run_profile(f.env, f.plan, &s, 1, &t));
    expect_eq(t->n_runs, 10);
    assay_trace_free(t);
    fixture_close(&f);
}

Test(measure, a_clock_that_stands_still_does_not_hang_it)
{
    fixture         f;
    assay_trace    *t = NULL;
    as_run_settings s = quiet;
    s.n_runs = 0;
    open_null(&f, "mlp-small", "null:*=0ns");
    expect_ok(f.env, as_run_profile(f.env, f.plan, &s, 1, &t));
    expect(t->n_runs > 0);
    assay_trace_free(t);
    fixture_close(&f);
}

Test(measure, coarser_details_write_fewer_kinds)
{
    static const as_span_kind finest[] = {AS_SPAN_RUN, AS_SPAN_SEGMENT, AS_SPAN_STEP, AS_SPAN_PART};
    for (int d = AS_DETAIL_RUN; d <= AS_DETAIL_PART; d++) {
        fixture         f;
        assay_trace    *t = NULL;
        as_run_settings s = quiet;
        s.detail = (as_detail)d;
        open_null(&f, "mlp-small", "null");
        expect_ok(f.env, as_run_profile(f.env, f.plan, &s, 1, &t));
        int most = 0;
        for (size_t i = 0; i < t->n_spans; i++)
            most = t->spans[i].kind > most ? t->spans[i].kind : most;
        expect_eq(most, finest[d]);
        expect_eq(t->dropped_spans, 0);
        assay_trace_free(t);
        fixture_close(&f);
    }
}

static void cancel_at(void *arg, const assay_stage *stage)
{
    if (stage->done >= 0.5)
        assay_cancel(arg);
}

Test(measure, keeps_what_was_measured_when_it_is_cancelled)
{
    fixture         f;
    assay_trace    *t = NULL, *read = NULL;
    as_run_settings s = quiet;
    open_null(&f, "mlp-small", "null:gemm=50ms"); /* progress is reported every 50 ms */
    assay_on_progress(f.env, cancel_at, f.env);
    s.trace_path = as_test_path("cancelled.trace");
    expect_fails(f.env, as_run_profile(f.env, f.plan, &s, 1, &t), ASSAY_CANCELLED, "stopped after 10 measured runs");
    expect(t != NULL);
    expect_eq(t->n_runs, 10);
    expect_eq(t->n_samples, 10);
    expect_eq(t->state, AS_TRACE_PARTIAL);
    expect_ok(f.env, assay_trace_load(f.env, s.trace_path, &read));
    expect(read->complete);
    expect_eq(read->n_samples, 10);
    expect_eq(read->state, AS_TRACE_PARTIAL);
    assay_trace_free(read);
    assay_trace_free(t);
    fixture_close(&f);
}

Test(measure, grows_a_trace_file_that_says_the_same)
{
    fixture      f;
    assay_trace *t = NULL, *read = NULL;
    open_null(&f, "mlp-small", "null:gemm=50ms");
    fixture_set(&f, "runs", "7");
    fixture_set(&f, "sensors", "none");
    fixture_set(&f, "trace", as_test_path("grown.trace"));
    expect_ok(f.env, assay_profile(f.env, f.plan, f.options, &t));
    expect_ok(f.env, assay_trace_load(f.env, as_test_path("grown.trace"), &read));
    expect(read->complete);
    expect_eq(read->n_samples, t->n_samples);
    expect_eq(read->n_spans, t->n_spans);
    expect_eq(read->n_notes, t->n_notes);
    expect_eq(read->n_runs, 7);
    expect_eq(read->totals[read->n_totals - 1].sum_ticks, t->totals[t->n_totals - 1].sum_ticks);
    assay_trace_free(read);
    assay_trace_free(t);
    fixture_close(&f);
}

Test(measure, a_file_that_cannot_be_written_is_told_and_nothing_is_left)
{
    fixture         f;
    assay_trace    *t = NULL;
    as_run_settings s = quiet;
    s.trace_path = as_test_path("no/such/folder.trace");
    open_null(&f, "mlp-small", "null");
    expect(as_run_profile(f.env, f.plan, &s, 1, &t) != ASSAY_OK);
    expect(t == NULL);
    fixture_close(&f);
}

Test(measure, notes_say_what_ran_and_how)
{
    fixture      f;
    assay_trace *t = NULL;
    open_null(&f, "mlp-small", "null:gemm=5us");
    expect_ok(f.env, as_run_profile(f.env, f.plan, &quiet, 42, &t));
    expect_str(as_trace_note_find(t, "model.name"), "mlp-small");
    expect_str(as_trace_note_find(t, "model.params"), "101770");
    expect_str(as_trace_note_find(t, "plan.batch"), "1");
    expect_str(as_trace_note_find(t, "plan.device"), "null:gemm=5us");
    expect_str(as_trace_note_find(t, "plan.compile"), "on");
    expect_str(as_trace_note_find(t, "run.seed"), "42");
    expect_str(as_trace_note_find(t, "run.pin"), "off");
    expect_has(as_trace_note_find(t, "run.started"), "T");
    expect_eq(t->n_warmup, 3);
    expect_str(t->model, "mlp-small");
    expect_str(t->device, "null:gemm=5us");
    expect_eq(t->batch, 1);
    expect_eq(t->threads, 1);
    assay_trace_free(t);
    fixture_close(&f);
}

static void open_real(fixture *f, const char *spec)
{
    fixture_open(f, spec);
    if (f->env->clock.kind == AS_CLOCK_FAKE)
        as_clock_open_monotonic(&f->env->clock);
    fixture_plan(f);
}

/* On a real clock: only counts are compared, no times. */
Test(measure, a_real_clock_tiles_samples_with_runs)
{
    fixture         f;
    assay_trace    *t = NULL;
    as_run_settings s = quiet;
    s.time_ns = 20000000;
    s.n_runs = 37;
    open_real(&f, "mlp-small");
    expect_ok(f.env, as_run_profile(f.env, f.plan, &s, 1, &t));
    uint64_t n = 0;
    for (size_t i = 0; i < t->n_samples; i++) {
        expect_eq(t->samples[i].first_run, n);
        expect(t->samples[i].end_ticks >= t->samples[i].begin_ticks);
        expect(t->samples[i].cpu_ns != UINT64_MAX);
        n += t->samples[i].n_runs;
    }
    expect_eq(n, 37);
    expect_eq(t->n_runs, 37);
    expect(t->first_run_ns > 0 && t->span_cost_ns > 0);
    expect_eq(t->peak_bytes_observed, t->peak_bytes_planned);
    assay_trace_free(t);
    fixture_close(&f);
}

/* One of 50 is kept: the first eight may all have had one neighbour. */
Test(measure, runs_that_are_kept_lie_all_over_the_measurement)
{
    fixture         f;
    assay_trace    *t = NULL;
    as_run_settings s = quiet;
    uint32_t        seen = 0;
    uint64_t        places = 0;
    s.n_runs = 400;
    s.max_cost = 1e9; /* whatever it costs */
    open_real(&f, "mlp-small");
    expect_ok(f.env, as_run_profile(f.env, f.plan, &s, 1, &t));
    for (size_t i = 0; i < t->n_spans; i++)
        if (t->spans[i].kind == AS_SPAN_RUN) {
            expect_eq(t->spans[i].run / 50, seen++);
            places |= 1ull << t->spans[i].run % 50;
        }
    expect_eq(seen, s.kept_runs);
    expect(__builtin_popcountll(places) > 4); /* not always the same one of 50 */
    assay_trace_free(t);
    fixture_close(&f);
}

Test(measure, slow_runs_behind_the_samples_are_made_up_for)
{
    as_pace p = {.wanted = 16};
    for (int i = 0; i < 15; i++)
        expect_eq(as_pace_step(&p, false), AS_PACE_GO);
    expect_eq(as_pace_step(&p, false), AS_PACE_STOP);
    p = (as_pace){.wanted = 16};
    for (int i = 1; i < 64; i++)
        expect_eq(as_pace_step(&p, true), i % 8 ? AS_PACE_GO : AS_PACE_PAUSE);
    expect_eq(as_pace_step(&p, true), AS_PACE_STOP);
    p = (as_pace){.wanted = 2};
    expect_eq(as_pace_step(&p, true), AS_PACE_GO);
    expect_eq(as_pace_step(&p, false), AS_PACE_GO);
    expect_eq(as_pace_step(&p, true), AS_PACE_GO);
    expect_eq(as_pace_step(&p, false), AS_PACE_STOP);
}

/* With an allowed cost of 0 no detail fits: the samples carry no spans, and some runs after them carry all. */
Test(measure, steps_that_cost_too_much_are_recorded_behind_the_samples)
{
    fixture         f;
    assay_trace    *t = NULL;
    as_run_settings s = quiet;
    s.time_ns = 20000000;
    s.max_cost = 0;
    open_real(&f, "mlp-small");
    expect_ok(f.env, as_run_profile(f.env, f.plan, &s, 1, &t));
    expect_eq(t->detail, AS_DETAIL_RUN);
    expect_has(t->detail_why, "only whole samples are timed");
    expect(t->n_spans > 0);
    for (size_t i = 0; i < t->n_spans; i++)
        expect(t->spans[i].run >= t->n_runs);
    for (size_t i = 0; i < t->n_totals; i++)
        if (!strcmp(t->steps[i].stage, "body"))
            expect(t->totals[i].count > 0 && t->totals[i].count <= AS_PACE_MOST * s.kept_runs);
    expect(t->n_detailed > 0);
    assay_trace_free(t);
    fixture_close(&f);
}

Test(measure, every_thread_writes_its_parts)
{
    fixture         f;
    assay_trace    *t = NULL;
    as_run_settings s = quiet;
    s.time_ns = 20000000;
    s.n_runs = 4;
    s.detail = AS_DETAIL_PART;
    s.max_cost = 1e9; /* whatever it costs */
    fixture_open(&f, "cnn-small");
    if (f.env->clock.kind == AS_CLOCK_FAKE)
        as_clock_open_monotonic(&f.env->clock);
    fixture_set(&f, "threads", "2");
    fixture_plan(&f);
    expect_ok(f.env, as_run_profile(f.env, f.plan, &s, 1, &t));
    size_t n_parts[2] = {0};
    for (size_t i = 0; i < t->n_spans; i++) {
        expect(t->spans[i].thread < 2);
        if (t->spans[i].kind == AS_SPAN_PART)
            n_parts[t->spans[i].thread]++;
    }
    size_t n_body = (size_t)(f.plan->n_steps - f.plan->n_prologue); /* the set-up ran before, in the warm-up */
    expect_eq(n_parts[0], 4 * n_body);
    expect_eq(n_parts[1], 4 * n_body);
    expect_eq(t->dropped_spans, 0);
    for (size_t i = 0; i < t->n_samples; i++)
        expect(t->samples[i].cpu_ns == UINT64_MAX); /* the caller's CPU time is not the work's */
    assay_trace_free(t);
    fixture_close(&f);
}

Test(measure, a_pinned_thread_is_let_go_again)
{
    fixture         f;
    assay_trace    *t = NULL;
    as_run_settings s = quiet;
    s.pin = true;
    int n_cpus = as_cpu_count();
    open_null(&f, "mlp-small", "null");
    expect_ok(f.env, as_run_profile(f.env, f.plan, &s, 1, &t));
    expect(as_trace_note_find(t, "run.pin") != NULL);
    expect_eq(as_cpu_count(), n_cpus);
    assay_trace_free(t);
    fixture_close(&f);
}

Test(measure, sensors_are_read_before_and_after)
{
    fixture         f;
    assay_trace    *t = NULL;
    as_run_settings s = quiet;
    s.sensors = "all";
    open_null(&f, "mlp-small", "null");
    expect_ok(f.env, as_run_profile(f.env, f.plan, &s, 1, &t));
    expect(t->n_sensors > 0);
    for (size_t k = 0; k < t->n_sensors; k++) {
        uint64_t first = UINT64_MAX, last = 0;
        size_t   n = 0;
        for (size_t i = 0; i < t->n_readings; i++)
            if (t->readings[i].sensor == k) {
                n++;
                first = t->readings[i].ticks < first ? t->readings[i].ticks : first;
                last = t->readings[i].ticks > last ? t->readings[i].ticks : last;
            }
        if (!n)
            continue; /* not available here */
        expect(n >= 2);
        expect(first <= t->samples[0].begin_ticks);
        expect(last >= t->samples[t->n_samples - 1].end_ticks);
    }
    assay_trace_free(t);
    fixture_close(&f);
}
