/* trace_test.c - the trace in memory, and its file: saved and loaded, cut anywhere, damaged everywhere. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "tests/runner/test.h"
#include "trace/format.h"

static assay_env *fake_env(void)
{
    static assay_env env;
    env = (assay_env){0};
    as_clock_open_fake(&env.clock, 1000);
    return &env;
}

/* Two steps, two buffers, two sensors (one not available), a limit, and some of every record. */
static assay_trace *small_trace(assay_env *env)
{
    assay_trace *t;
    expect_ok(env, as_trace_new(env, &t));
    as_trace_refusal refused[] = {{"gemm_f32_avx2", "this CPU has no \"avx2\""}, {"gemm_i8", "dtype f32"}};
    expect(as_trace_add_note(t, "machine.cpu.model", "Zürich %d\n", 7));
    expect_eq(as_trace_add_step(t, &(as_trace_step){.name = "fc1",
                                                    .op = "Gemm",
                                                    .device = "cpu",
                                                    .kernel = "gemm_f32_scalar",
                                                    .why = "the only one",
                                                    .refused = refused,
                                                    .n_refused = 2,
                                                    .shapes = "f64[2,3]",
                                                    .is_f64 = true,
                                                    .is_i8 = true,
                                                    .module = "layer4.1",
                                                    .pass = AS_PASS_BACKWARD,
                                                    .layer = "conv1",
                                                    .stage = "body",
                                                    .segment = 0,
                                                    .flops = UINT64_MAX,
                                                    .special = 1,
                                                    .bytes_read = 2,
                                                    .bytes_written = 3,
                                                    .issued_flops = INT64_MAX,
                                                    .issued_bytes = 5,
                                                    .working_set_bytes = (uint64_t)1 << 63}),
              0);
    expect_eq(as_trace_add_step(t, &(as_trace_step){.name = "relu",
                                                    .op = "Relu",
                                                    .segment = -1,
                                                    .inputs = (const int[]){0},
                                                    .n_inputs = 1,
                                                    .parts = (const char *const[]){"relu1", "fl\"atten"},
                                                    .n_parts = 2,
                                                    .arm = 1}),
              1);
    expect(as_trace_add_buffer(t, &(as_trace_buffer){.name = "x",
                                                     .role = "input",
                                                     .device = "cpu",
                                                     .bytes = 24,
                                                     .offset = 64,
                                                     .first_step = -1,
                                                     .last_step = 1,
                                                     .align = 64,
                                                     .full_bytes = 48,
                                                     .shares = 1,
                                                     .in_place = true}));
    expect_eq(as_trace_add_sensor(t, &(as_trace_sensor){.name = "cpu.time", .unit = "ns", .source = "clock", .meaning = "delta"}),
              0);
    expect_eq(as_trace_add_sensor(
                  t,
                  &(as_trace_sensor){
                      .name = "energy", .unit = "joule", .source = "rapl", .reason = "no powercap here", .meaning = "delta"}),
              1);
    expect(as_trace_add_roof(t, &(as_trace_roof){.name = "fma.f32",
                                                 .unit = "flop/s",
                                                 .value = 1.0 / 3,
                                                 .lo = NAN,
                                                 .hi = INFINITY,
                                                 .device = "null:gemm=5us",
                                                 .today = .25,
                                                 .n_clean = 9,
                                                 .n_chunks = 12,
                                                 .level_bytes = 4096,
                                                 .when_unix_s = 1772366400,
                                                 .disturbed = 1,
                                                 .on_the_spot = 1,
                                                 .source = "loop"}));
    expect(as_trace_reserve(t, 3, 2, 1, 2));
    expect(as_trace_add_warmup(t, &(as_sample){5, 9, UINT64_MAX, 0, 1}));
    expect(as_trace_add_span(t, &(as_span){10, 30, -1, 0, AS_SPAN_RUN, 0, 0}));
    expect(as_trace_add_span(t, &(as_span){11, 20, 0, 0, AS_SPAN_STEP, 3, 0}));
    expect(as_trace_add_span(t, &(as_span){20, UINT64_MAX, 1, UINT32_MAX, AS_SPAN_DEVICE, UINT16_MAX, 0}));
    expect(as_trace_add_sample(t, &(as_sample){10, 30, 19, 0, 1}));
    expect(as_trace_add_sample(t, &(as_sample){30, 90, 55, 1, 3}));
    expect(as_trace_add_reading(t, &(as_reading){10, 0.1, 0, 0}));
    expect(as_trace_add_reading(t, &(as_reading){90, NAN, 0, UINT32_MAX}));
    t->totals = AS_TAKE(&t->arena, as_step_total, 2);
    t->n_totals = 2;
    t->totals[0] = (as_step_total){4, UINT64_MAX, 9, 12};
    t->detail = AS_DETAIL_PART;
    t->detail_why = "";
    t->n_runs = 4;
    t->dropped_spans = 2;
    t->plan_ns = 1e-300;
    t->first_run_ns = 12345.678;
    t->span_cost_ns = -INFINITY;
    t->peak_bytes_planned = 1, t->peak_bytes_observed = 2, t->param_bytes = 3;
    t->activation_bytes = 4, t->scratch_bytes = 5, t->steady_allocs = UINT64_MAX;
    return t;
}

static bool same_f64(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static void expect_same_items(const assay_trace *a, const assay_trace *b)
{
    expect_eq(a->n_notes, b->n_notes);
    for (size_t i = 0; i < a->n_notes; i++) {
        expect_str(a->notes[i].key, b->notes[i].key);
        expect_str(a->notes[i].value, b->notes[i].value);
    }
    expect_eq(a->n_steps, b->n_steps);
    for (size_t i = 0; i < a->n_steps; i++) {
        const as_trace_step *x = &a->steps[i], *y = &b->steps[i];
        expect_str(x->name, y->name);
        expect_str(x->op, y->op);
        expect_str(x->device, y->device);
        expect_str(x->kernel, y->kernel);
        expect_str(x->why, y->why);
        expect_str(x->module, y->module);
        expect_eq(x->pass, y->pass);
        expect_str(x->layer, y->layer);
        expect_str(x->shapes, y->shapes);
        expect_eq(x->is_f64, y->is_f64);
        expect_eq(x->is_i8, y->is_i8);
        expect_str(x->stage, y->stage);
        expect_eq(x->n_refused, y->n_refused);
        for (int j = 0; j < x->n_refused; j++) {
            expect_str(x->refused[j].kernel, y->refused[j].kernel);
            expect_str(x->refused[j].why, y->refused[j].why);
        }
        expect_eq(x->arm, y->arm);
        expect_eq(x->n_parts, y->n_parts);
        for (int j = 0; j < x->n_parts; j++)
            expect_str(x->parts[j], y->parts[j]);
        expect_eq(x->n_inputs, y->n_inputs);
        for (int j = 0; j < x->n_inputs; j++)
            expect_eq(x->inputs[j], y->inputs[j]);
        expect_eq(x->segment, y->segment);
        expect(!memcmp(&x->flops, &y->flops, 7 * sizeof x->flops));
    }
    expect_eq(a->n_buffers, b->n_buffers);
    for (size_t i = 0; i < a->n_buffers; i++) {
        const as_trace_buffer *x = &a->buffers[i], *y = &b->buffers[i];
        expect_str(x->name, y->name);
        expect_str(x->role, y->role);
        expect_str(x->device, y->device);
        expect(x->bytes == y->bytes && x->offset == y->offset);
        expect(x->first_step == y->first_step && x->last_step == y->last_step);
        expect(x->align == y->align && x->full_bytes == y->full_bytes && x->shares == y->shares && x->in_place == y->in_place);
    }
    expect_eq(a->n_sensors, b->n_sensors);
    for (size_t i = 0; i < a->n_sensors; i++) {
        const as_trace_sensor *x = &a->sensors[i], *y = &b->sensors[i];
        expect_str(x->name, y->name);
        expect_str(x->unit, y->unit);
        expect_str(x->source, y->source);
        expect_str(x->meaning, y->meaning);
        expect(!x->reason == !y->reason && (!x->reason || !strcmp(x->reason, y->reason)));
    }
    expect_eq(a->n_roofs, b->n_roofs);
    for (size_t i = 0; i < a->n_roofs; i++) {
        const as_trace_roof *x = &a->roofs[i], *y = &b->roofs[i];
        expect_str(x->name, y->name);
        expect_str(x->unit, y->unit);
        expect_str(x->source, y->source);
        expect_str(x->device, y->device);
        expect(same_f64(x->value, y->value) && same_f64(x->lo, y->lo) && same_f64(x->hi, y->hi) && same_f64(x->today, y->today));
        expect(x->n_clean == y->n_clean && x->n_chunks == y->n_chunks && x->when_unix_s == y->when_unix_s);
        expect_eq(x->level_bytes, y->level_bytes);
        expect(x->disturbed == y->disturbed && x->on_the_spot == y->on_the_spot);
    }
}

static void expect_same(const assay_trace *a, const assay_trace *b)
{
    expect_str(a->clock_name, b->clock_name);
    expect(same_f64(a->ns_per_tick, b->ns_per_tick) && same_f64(a->clock_cost_ns, b->clock_cost_ns));
    expect(a->start_ticks == b->start_ticks && a->start_unix_ns == b->start_unix_ns);
    expect_eq(a->complete, b->complete);
    expect_eq(a->detail, b->detail);
    expect_str(a->detail_why, b->detail_why);
    expect_same_items(a, b);
    expect_eq(a->n_spans, b->n_spans);
    expect_eq(a->n_samples, b->n_samples);
    expect_eq(a->n_warmup, b->n_warmup);
    expect_eq(a->n_readings, b->n_readings);
    expect_eq(a->n_totals, b->n_totals);
    expect(!a->n_spans || !memcmp(a->spans, b->spans, a->n_spans * sizeof *a->spans));
    expect(!a->n_samples || !memcmp(a->samples, b->samples, a->n_samples * sizeof *a->samples));
    expect(!a->n_warmup || !memcmp(a->warmup, b->warmup, a->n_warmup * sizeof *a->warmup));
    expect(!a->n_readings || !memcmp(a->readings, b->readings, a->n_readings * sizeof *a->readings));
    expect(!a->n_totals || !memcmp(a->totals, b->totals, a->n_totals * sizeof *a->totals));
    expect(a->n_runs == b->n_runs && a->dropped_spans == b->dropped_spans);
    expect(same_f64(a->plan_ns, b->plan_ns) && same_f64(a->compile_ns, b->compile_ns));
    expect(same_f64(a->first_run_ns, b->first_run_ns) && same_f64(a->span_cost_ns, b->span_cost_ns));
    expect(!memcmp(&a->peak_bytes_planned, &b->peak_bytes_planned, 6 * sizeof a->peak_bytes_planned));
}

/* --- In memory ------------------------------------------------------------------------------------------ */

Test(trace, starts_with_the_clock_of_the_env_and_without_measurements)
{
    assay_env   *env = fake_env();
    assay_trace *t;
    expect_ok(env, as_trace_new(env, &t));
    expect_str(t->clock_name, "fake");
    expect_eq(t->start_ticks, 1000);
    expect(t->start_unix_ns > (uint64_t)1500000000 * 1000000000u);
    expect(isnan(t->plan_ns) && isnan(t->compile_ns) && isnan(t->first_run_ns) && isnan(t->span_cost_ns));
    expect(t->complete);
    assay_trace_free(t);
    assay_trace_free(NULL);
}

Test(trace, copies_the_strings_that_it_is_given)
{
    assay_env       *env = fake_env();
    assay_trace     *t;
    char             name[] = "conv1", why[] = "too small";
    as_trace_refusal refused = {name, why};
    expect_ok(env, as_trace_new(env, &t));
    as_trace_add_step(t, &(as_trace_step){.name = name, .refused = &refused, .n_refused = 1});
    memset(name, 'x', 5);
    memset(why, 'x', 5);
    expect_str(t->steps[0].name, "conv1");
    expect_str(t->steps[0].refused[0].kernel, "conv1");
    expect_str(t->steps[0].refused[0].why, "too small");
    expect_str(t->steps[0].op, ""); /* never NULL */
    expect_str(t->steps[0].stage, "body");
    assay_trace_free(t);
}

Test(trace, finds_the_latest_note_of_a_key)
{
    assay_env   *env = fake_env();
    assay_trace *t;
    expect_ok(env, as_trace_new(env, &t));
    expect(as_trace_add_note(t, "a", "1"));
    expect(as_trace_add_note(t, "b", "%s", "2"));
    expect(as_trace_add_note(t, "a", "3"));
    expect_str(as_trace_note_find(t, "a"), "3");
    expect_str(as_trace_note_find(t, "b"), "2");
    expect(!as_trace_note_find(t, "c"));
    assay_trace_free(t);
}

Test(trace, keeps_a_note_longer_than_any_buffer)
{
    assay_env   *env = fake_env();
    assay_trace *t;
    expect_ok(env, as_trace_new(env, &t));
    expect(as_trace_add_note(t, "long", "%5000d", 7));
    expect_eq(strlen(as_trace_note_find(t, "long")), 5000);
    assay_trace_free(t);
}

Test(trace, takes_records_only_into_reserved_room)
{
    assay_env   *env = fake_env();
    assay_trace *t;
    as_span      span = {.step = -1};
    expect_ok(env, as_trace_new(env, &t));
    expect(!as_trace_add_span(t, &span));
    expect(!as_trace_add_sample(t, &(as_sample){0}));
    expect(!as_trace_add_warmup(t, &(as_sample){0}));
    expect(!as_trace_add_reading(t, &(as_reading){0}));
    expect(as_trace_reserve(t, 2, 1, 1, 1));
    size_t before = as_test_n_allocs();
    expect(as_trace_add_span(t, &span) && as_trace_add_span(t, &span) && !as_trace_add_span(t, &span));
    expect(as_trace_add_sample(t, &(as_sample){0}) && !as_trace_add_sample(t, &(as_sample){0}));
    expect_eq(as_test_n_allocs(), before);
    expect(as_trace_reserve(t, 1, 0, 0, 0));
    expect(as_trace_add_span(t, &span) && !as_trace_add_span(t, &span));
    expect(!as_trace_reserve(t, SIZE_MAX, 0, 0, 0));
    assay_trace_free(t);
}

Test(trace, ring_counts_what_it_drops)
{
    as_span spans[2];
    as_ring ring = {.spans = spans, .capacity = 2, .run = 7, .thread = 3};
    for (int i = 0; i < 5; i++)
        as_ring_add(&ring, AS_SPAN_STEP, i, 10, 20);
    expect_eq(ring.used, 2);
    expect_eq(ring.dropped, 3);
    expect_eq(spans[1].step, 1);
    expect_eq(spans[1].run, 7);
    expect_eq(spans[1].thread, 3);
}

/* --- Saved and loaded --------------------------------------------------------------------------------------- */

/* Saves and loads it, and compares; frees it. */
static void expect_comes_back(assay_env *env, assay_trace *t, const char *name)
{
    const char  *path = as_test_path(name);
    assay_trace *back = NULL;
    expect_ok(env, assay_trace_save(env, t, path));
    expect_ok(env, assay_trace_load(env, path, &back));
    expect_same(back, t);
    assay_trace_free(back);
    assay_trace_free(t);
}

Test(trace, comes_back_from_a_file_as_it_was)
{
    assay_env   *env = fake_env();
    assay_trace *t = small_trace(env);
    expect_comes_back(env, t, "a.trace");
}

Test(trace, comes_back_when_it_holds_nothing)
{
    assay_env   *env = fake_env();
    assay_trace *t;
    expect_ok(env, as_trace_new(env, &t));
    expect_comes_back(env, t, "empty.trace");
}

Test(trace, comes_back_when_its_spans_fill_many_chunks)
{
    assay_env   *env = fake_env();
    assay_trace *t;
    expect_ok(env, as_trace_new(env, &t));
    expect(as_trace_reserve(t, 5000, 0, 0, 0));
    for (uint64_t i = 0; i < 5000; i++)
        expect(as_trace_add_span(t, &(as_span){i, i * i, -1, (uint32_t)i, AS_SPAN_RUN, 0, 0}) || i * i < i);
    expect_comes_back(env, t, "long.trace");
}

Test(trace, saved_incomplete_stays_incomplete)
{
    assay_env   *env = fake_env();
    assay_trace *t = small_trace(env);
    t->complete = false;
    expect_comes_back(env, t, "partial.trace");
}

Test(trace, grows_on_disk_and_is_readable_at_every_moment)
{
    assay_env       *env = fake_env();
    assay_trace     *t = small_trace(env), *back = NULL;
    const char      *path = as_test_path("grow.trace");
    as_trace_writer *file = NULL;
    expect_ok(env, as_trace_writer_open(env, path, t, &file));
    expect_ok(env, assay_trace_load(env, path, &back));
    expect(!back->complete);
    expect_eq(back->n_spans, 3);
    expect_eq(back->n_runs, 4); /* the scalars are there from the beginning */
    assay_trace_free(back);

    expect(as_trace_reserve(t, 2, 1, 0, 1));
    expect(as_trace_add_span(t, &(as_span){40, 50, 0, 1, AS_SPAN_STEP, 0, 0}));
    expect(as_trace_add_sample(t, &(as_sample){40, 50, 1, 4, 1}));
    expect(as_trace_add_note(t, "run.late", "yes"));
    t->n_runs = 5;
    expect_ok(env, as_trace_writer_append(env, file, t));
    expect_ok(env, assay_trace_load(env, path, &back));
    expect(!back->complete);
    expect_eq(back->n_spans, 4);
    expect_eq(back->n_runs, 5);
    expect_str(as_trace_note_find(back, "run.late"), "yes");
    assay_trace_free(back);

    expect(as_trace_add_span(t, &(as_span){50, 60, 1, 1, AS_SPAN_STEP, 0, 0}));
    expect_ok(env, as_trace_writer_close(env, file, t));
    expect_ok(env, assay_trace_load(env, path, &back));
    expect_same(back, t);
    assay_trace_free(back);
    assay_trace_free(t);
}

Test(trace, appends_nothing_when_nothing_is_new)
{
    assay_env       *env = fake_env();
    assay_trace     *t = small_trace(env);
    const char      *path = as_test_path("still.trace");
    as_trace_writer *file = NULL;
    struct stat      before, after;
    expect_ok(env, as_trace_writer_open(env, path, t, &file));
    expect(!stat(path, &before));
    expect_ok(env, as_trace_writer_append(env, file, t));
    expect(!stat(path, &after));
    expect_eq(after.st_size, before.st_size);
    as_trace_writer_abandon(file);
    as_trace_writer_abandon(NULL);
    assay_trace_free(t);
}

Test(trace, abandoned_file_is_a_partial_one)
{
    assay_env       *env = fake_env();
    assay_trace     *t = small_trace(env), *back = NULL;
    const char      *path = as_test_path("abandoned.trace");
    as_trace_writer *file = NULL;
    expect_ok(env, as_trace_writer_open(env, path, t, &file));
    as_trace_writer_abandon(file);
    expect_ok(env, assay_trace_load(env, path, &back));
    expect(!back->complete);
    expect_same_items(back, t);
    expect_eq(back->n_totals, 0);
    assay_trace_free(back);
    assay_trace_free(t);
}

/* --- External errors ------------------------------------------------------------------------------------ */

Test(trace, says_which_file_cannot_be_opened)
{
    assay_env       *env = fake_env();
    assay_trace     *t = small_trace(env), *back = NULL;
    as_trace_writer *file = NULL;
    expect_fails(env, assay_trace_load(env, as_test_path("absent"), &back), ASSAY_NOT_FOUND, "absent: cannot open");
    expect_fails(env, as_trace_writer_open(env, "/nowhere/x.trace", t, &file), ASSAY_IO,
                 "/nowhere/x.trace: cannot write: No such file");
    expect_fails(env, as_trace_writer_open(env, "-", t, &file), ASSAY_BAD_INPUT, "not standard output");
    expect_fails(env, assay_trace_save(env, t, "/nowhere/x.trace"), ASSAY_IO, "cannot write");
    expect(!back && !file);
    assay_trace_free(t);
}

Test(trace, says_when_the_disk_is_full)
{
    assay_env       *env = fake_env();
    assay_trace     *t = small_trace(env);
    as_trace_writer *file = NULL;
    if (access("/dev/full", W_OK)) {
        assay_trace_free(t);
        skip("no /dev/full here");
    }
    expect_fails(env, as_trace_writer_open(env, "/dev/full", t, &file), ASSAY_IO, "cannot append after byte 0: No space");
    expect(!file);
    assay_trace_free(t);
}

/* Sets t->what to an invalid value and expects that saving reports it and leaves no file. */
static void expect_unsaved(assay_env *env, const assay_trace *t, const char *part)
{
    const char *path = as_test_path("unsaved.trace");
    expect_fails(env, assay_trace_save(env, t, path), ASSAY_INTERNAL, part);
    expect(access(path, F_OK));
}

Test(trace, does_not_save_what_it_could_not_read_again)
{
    assay_env   *env = fake_env();
    assay_trace *t = small_trace(env);
    t->spans[1].step = 2;
    expect_unsaved(env, t, "span 1: its step is 2, but the trace has 2 steps");
    t->spans[1].step = 0;
    t->spans[2].kind = 6;
    expect_unsaved(env, t, "span 2: its kind is 6");
    t->spans[2].kind = 0;
    t->samples[0].n_runs = 0;
    expect_unsaved(env, t, "sample 0: a sample of no runs");
    t->samples[0].n_runs = 1;
    t->warmup[0].end_ticks = 1;
    expect_unsaved(env, t, "warm-up sample 0: ends at tick 1, before it begins at 5");
    t->warmup[0].end_ticks = 9;
    t->readings[0].sensor = 1;
    expect_unsaved(env, t, "reading 0: its sensor 1 is one that could not be read");
    t->readings[0].sensor = 2;
    expect_unsaved(env, t, "reading 0: its sensor is 2, but the trace has 2");
    t->readings[0].sensor = 0;
    t->sensors[0].meaning = "sum";
    expect_unsaved(env, t, "sensor 0: its meaning is \"sum\"");
    t->sensors[0].meaning = "delta";
    t->buffers[0].last_step = 2;
    expect_unsaved(env, t, "buffer 0: its last step is 2");
    t->buffers[0].last_step = -2;
    expect_unsaved(env, t, "its last step is -2");
    t->buffers[0].last_step = 0;
    t->buffers[0].offset = UINT64_MAX;
    expect_unsaved(env, t, "are more than memory can have");
    t->buffers[0].offset = 0;
    t->steps[0].segment = -2;
    expect_unsaved(env, t, "step 0: its segment is -2");
    t->steps[0].segment = 0;
    t->steps[0].arm = -1;
    expect_unsaved(env, t, "step 0: its candidate is -1");
    t->steps[0].arm = 0;
    t->n_totals = 1;
    expect_unsaved(env, t, "1 totals, but the trace has 2 steps");
    t->n_totals = 2;
    t->totals[0].min_ticks = 13;
    expect_unsaved(env, t, "least 13, most 12");
    t->totals[0].min_ticks = 9;
    t->detail = (as_detail)9;
    expect_unsaved(env, t, "detail 0: its number has no word");
    t->detail = AS_DETAIL_RUN;
    t->ns_per_tick = 0;
    expect_unsaved(env, t, "a tick lasts 0 ns");
    t->ns_per_tick = 1;
    expect_ok(env, assay_trace_save(env, t, as_test_path("good.trace")));
    assay_trace_free(t);
}

Test(trace, a_growing_file_keeps_its_whole_chunks_when_an_append_fails)
{
    assay_env       *env = fake_env();
    assay_trace     *t = small_trace(env), *back = NULL;
    const char      *path = as_test_path("failed.trace");
    as_trace_writer *file = NULL;
    expect_ok(env, as_trace_writer_open(env, path, t, &file));
    expect(as_trace_reserve(t, 1, 0, 0, 0));
    expect(as_trace_add_span(t, &(as_span){.step = 77}));
    expect(as_trace_add_note(t, "late", "1"));
    expect_fails(env, as_trace_writer_append(env, file, t), ASSAY_INTERNAL, "span 3: its step is 77");
    expect_fails(env, as_trace_writer_append(env, file, t), ASSAY_IO, "an earlier write failed");
    expect_fails(env, as_trace_writer_close(env, file, t), ASSAY_IO, "an earlier write failed");
    expect_ok(env, assay_trace_load(env, path, &back));
    expect(!back->complete);
    expect_eq(back->n_spans, 3);
    expect(!as_trace_note_find(back, "late"));
    assay_trace_free(back);
    assay_trace_free(t);
}

/* --- Damage --------------------------------------------------------------------------------------------------- */

/* The bytes of small_trace(); the caller frees. */
static uint8_t *small_bytes(assay_env *env, size_t *n)
{
    assay_trace *t = small_trace(env);
    as_map       map;
    expect_ok(env, assay_trace_save(env, t, as_test_path("bytes.trace")));
    assay_trace_free(t);
    expect_ok(env, as_map_open(env, "test", as_test_path("bytes.trace"), 0, &map));
    uint8_t *bytes = malloc(map.bytes);
    memcpy(bytes, map.data, map.bytes);
    *n = map.bytes;
    as_map_close(&map);
    return bytes;
}

/* The offset of the first chunk of a type. */
static size_t chunk_find(const uint8_t *data, size_t n, const char *type)
{
    for (size_t at = AS_TRACE_HEAD_BYTES; at + AS_CHUNK_HEAD_BYTES <= n;) {
        if (!memcmp(data + at, type, 4))
            return at;
        uint64_t length = as_le64(data + at + 8);
        at += AS_CHUNK_HEAD_BYTES + length + as_chunk_padding(length) + AS_CRC_BYTES;
    }
    fail("no chunk %s", type);
}

static void resum(uint8_t *data, size_t at)
{
    uint64_t length = as_le64(data + at + 8);
    size_t   bytes = AS_CHUNK_HEAD_BYTES + length + as_chunk_padding(length);
    as_le32_put(data + at + bytes, as_crc32(0, data + at, bytes));
}

Test(trace, cut_anywhere_gives_what_its_whole_chunks_hold)
{
    assay_env *env = fake_env();
    size_t     n, n_steps = 0, n_spans = 0;
    uint8_t   *bytes = small_bytes(env, &n);
    for (size_t cut = 0; cut < n; cut++) {
        uint8_t *part = malloc(cut ? cut : 1); /* of its own, so that a sanitiser sees a read beyond */
        memcpy(part, bytes, cut);
        assay_trace *t = NULL;
        assay_status status = as_trace_parse(env, "cut", part, cut, &t);
        free(part);
        if (cut < AS_TRACE_HEAD_BYTES) {
            expect_eq(status, ASSAY_BAD_INPUT);
            continue;
        }
        expect_ok(env, status);
        expect(!t->complete);
        expect(t->n_steps >= n_steps && t->n_spans >= n_spans);
        n_steps = t->n_steps, n_spans = t->n_spans;
        assay_trace_free(t);
    }
    expect_eq(n_steps, 2);
    expect_eq(n_spans, 3);
    free(bytes);
}

Test(trace, every_flipped_byte_is_noticed)
{
    assay_env *env = fake_env();
    size_t     n;
    uint8_t   *bytes = small_bytes(env, &n);
    for (size_t i = 0; i < n; i++) {
        assay_trace *t = NULL;
        bytes[i] ^= 0x40;
        if (as_trace_parse(env, "flip", bytes, n, &t) == ASSAY_OK) {
            expect(!t->complete); /* a length beyond the file looks like a cut, and the last chunk like a torn one */
            assay_trace_free(t);
        } else {
            expect_has(assay_message(env), i < AS_TRACE_HEAD_BYTES ? "trace: flip: " : "checksum is");
        }
        bytes[i] ^= 0x40;
    }
    free(bytes);
}

Test(trace, names_the_offset_of_a_wrong_checksum)
{
    assay_env   *env = fake_env();
    size_t       n;
    uint8_t     *bytes = small_bytes(env, &n);
    assay_trace *t = NULL;
    char         want[64];
    size_t       at = chunk_find(bytes, n, "SPAN");
    bytes[at + 20] ^= 1;
    snprintf(want, sizeof want, "bad.trace: chunk SPAN at byte %zu: its checksum is", at);
    expect_fails(env, as_trace_parse(env, "bad.trace", bytes, n, &t), ASSAY_BAD_INPUT, want);
    expect(!t);
    free(bytes);
}

Test(trace, zeros_to_the_end_are_a_torn_tail)
{
    assay_env   *env = fake_env();
    size_t       n;
    uint8_t     *bytes = small_bytes(env, &n);
    assay_trace *t = NULL;
    size_t       at = chunk_find(bytes, n, "SAMP");
    memset(bytes + at, 0, n - at);
    expect_ok(env, as_trace_parse(env, "zeros", bytes, n, &t));
    expect(!t->complete);
    expect_eq(t->n_spans, 3);
    expect_eq(t->n_samples, 0);
    assay_trace_free(t);
    free(bytes);
}

Test(trace, skips_chunks_of_a_type_it_does_not_know)
{
    assay_env   *env = fake_env();
    size_t       n;
    uint8_t     *bytes = small_bytes(env, &n);
    assay_trace *t = NULL;
    size_t       at = chunk_find(bytes, n, "ROOF"), end = chunk_find(bytes, n, "END ");
    memcpy(bytes + at, "NEWS", 4);
    bytes[at + 4] = 9; /* nor its version */
    resum(bytes, at);
    expect_ok(env, as_trace_parse(env, "news", bytes, end, &t));
    expect_eq(t->n_roofs, 0);
    expect_eq(t->n_spans, 3);
    assay_trace_free(t);
    t = NULL;
    /* The end chunk states how many limits there were. */
    expect_fails(env, as_trace_parse(env, "news", bytes, n, &t), ASSAY_BAD_INPUT, "should have 1 roofs and has 0");
    free(bytes);
}

/* Writes value over `bytes` bytes at an offset of the first chunk of a type, and corrects the checksum. */
static void expect_lie(const char *type, size_t offset, const void *value, size_t length, const char *part)
{
    assay_env   *env = fake_env();
    size_t       n;
    uint8_t     *bytes = small_bytes(env, &n);
    assay_trace *t = NULL;
    size_t       at = chunk_find(bytes, n, type);
    memcpy(bytes + at + offset, value, length);
    resum(bytes, at);
    expect_fails(env, as_trace_parse(env, "lie", bytes, n, &t), ASSAY_BAD_INPUT, part);
    expect(!t);
    free(bytes);
}

Test(trace, refuses_records_that_lie)
{
    expect_lie("SPAN", 16 + 16, "\2\0\0\0", 4, "item 0: its step is 2, but the trace has 2 steps");
    expect_lie("SPAN", 16 + 16, "\xfe\xff\xff\xff", 4, "its step is -2");
    expect_lie("SPAN", 16 + 32 + 24, "\6\0", 2, "item 1: its kind is 6");
    expect_lie("SPAN", 16 + 8, "\1\0", 2, "ends at tick 1, before it begins at 10");
    expect_lie("SPAN", 16 + 28, "\1", 1, "its last four bytes are not zero");
    expect_lie("SAMP", 16 + 28, "\0", 1, "item 0: a sample of no runs");
    expect_lie("SAMP", 16 + 24, "\xff\xff\xff\xff\2\0\0\0", 8, "more than can be numbered");
    expect_lie("WARM", 16 + 8, "\0", 1, "ends at tick 0, before it begins at 5");
    expect_lie("READ", 16 + 16, "\7", 1, "its sensor is 7, but the trace has 2");
    expect_lie("READ", 16 + 16, "\1", 1, "its sensor 1 is one that could not be read");
    expect_lie("SPAN", 4, "\2", 1, "its version is 2; this program reads version 1");
}

/* A file of a head, the given chunks (type, payload, type, payload ..., NULL) and no end. */
static assay_status chunks_parse(assay_env *env, const char *const *chunks, assay_trace **out)
{
    as_text file = {0};
    uint8_t head[16] = {0};
    memcpy(head, AS_TRACE_MAGIC, 8);
    head[8] = 1;
    as_text_add_n(&file, (const char *)head, 16);
    for (; *chunks; chunks += 2) {
        size_t n = strlen(chunks[1]), at = file.length;
        memcpy(head, chunks[0], 4);
        as_le32_put(head + 4, 1);
        as_le64_put(head + 8, n);
        as_text_add_n(&file, (const char *)head, 16);
        as_text_add_n(&file, chunks[1], n);
        as_text_add_n(&file, "\0\0\0\0\0\0\0\0\0\0\0", as_chunk_padding(n) + 4);
        resum((uint8_t *)file.data, at);
    }
    assay_status status = as_trace_parse(env, "made", (const uint8_t *)file.data, file.length, out);
    as_text_drop(&file);
    return status;
}

#define CLOCK                         "CLCK", "{\"name\":\"c\",\"ns_per_tick\":1,\"cost_ns\":null,\"start_ticks\":0,\"start_unix_ns\":0}"
#define STEP(segment, flops, refused) "[" STEP_ITEM(segment, flops, refused) "]"
#define STEP_ITEM(segment, flops, refused)                                                                              \
    "{\"name\":\"n\",\"op\":\"o\",\"device\":\"d\",\"kernel\":\"k\",\"why\":\"w\",\"shapes\":\"s\",\"stage\":\"body\"," \
    "\"segment\":" segment ",\"flops\":" flops ",\"special\":0,\"bytes_read\":0,\"bytes_written\":0,"                   \
    "\"issued_flops\":0,\"issued_bytes\":0,\"working_set_bytes\":0,\"refused\":" refused "}"
#define STEP2(inputs) "[" STEP_ITEM("0", "1", "[]") "," STEP_ITEM("0", "1", "[],\"inputs\":" inputs) "]"
#define SENSOR(reason, meaning) \
    "[{\"name\":\"n\",\"unit\":\"u\",\"source\":\"s\",\"reason\":" reason ",\"meaning\":\"" meaning "\"}]"
#define BUFFER(bytes, offset, last)                                                           \
    "[{\"name\":\"n\",\"role\":\"r\",\"device\":\"d\",\"bytes\":" bytes ",\"offset\":" offset \
    ",\"first_step\":-1,\"last_step\":" last "}]"

static void expect_made_lie(const char *type, const char *payload, const char *part)
{
    assay_env   *env = fake_env();
    assay_trace *t = NULL;
    const char  *chunks[] = {CLOCK, type, payload, NULL};
    expect_fails(env, chunks_parse(env, chunks, &t), ASSAY_BAD_INPUT, part);
    expect(!t);
}

/* Older files do not state the device of a limit or whether it was disturbed: a limit that is not known to be clean refuses
 * nothing. */
Test(trace, reads_limits_of_older_files)
{
    assay_env   *env = fake_env();
    assay_trace *t = NULL;
    const char  *chunks[] = {
         CLOCK, "ROOF", "[{\"name\":\"fma\",\"unit\":\"flop/s\",\"value\":3,\"lo\":2,\"hi\":4,\"n\":7,\"source\":\"loop\"}]", NULL};
    expect_ok(env, chunks_parse(env, chunks, &t));
    expect_eq(t->n_roofs, 1);
    expect_str(t->roofs[0].device, "cpu");
    expect_eq(t->roofs[0].n_clean, 7);
    expect_eq(t->roofs[0].n_chunks, 7);
    expect(t->roofs[0].disturbed && !t->roofs[0].on_the_spot && isnan(t->roofs[0].today));
    assay_trace_free(t);
}

Test(trace, refuses_metadata_that_lie)
{
    expect_made_lie("NOTE", "{}", "chunk NOTE at byte 120: not a list");
    expect_made_lie("NOTE", "", "chunk NOTE at byte");
    expect_made_lie("NOTE", "[[\"a\"]]", "item 0: not a pair of texts");
    expect_made_lie("NOTE", "[[\"a\",\"b\"],[\"a\",1]]", "item 1: not a pair of texts");
    expect_made_lie("NOTE", "[[\"a\",\"\xff\"]]", "chunk NOTE at byte 120: made: line 1");
    expect_made_lie("NOTE", "[[\"a\",\"b\"]]x", "line 1");
    expect_made_lie("STEP", "[1]", "item 0: \"name\" is not text");
    expect_made_lie("STEP", STEP("-2", "1", "[]"), "item 0: its segment is -2");
    expect_made_lie("STEP", STEP("2147483648", "1", "[]"), "\"segment\" is not a whole number of 32 bits");
    expect_made_lie("STEP", STEP("0", "-1", "[]"), "\"flops\" is not a count");
    expect_made_lie("STEP", STEP("0", "\"18446744073709551616\"", "[]"), "\"flops\" is not a count");
    expect_made_lie("STEP", STEP("0", "\"\"", "[]"), "\"flops\" is not a count");
    expect_made_lie("STEP", STEP("0", "1.5", "[]"), "\"flops\" is not a count");
    expect_made_lie("STEP", STEP("0", "1", "0"), "\"refused\" is not a list");
    expect_made_lie("STEP", STEP("0", "1", "[[\"k\"]]"), "not a pair of texts");
    expect_made_lie("STEP", STEP("0", "1", "[],\"inputs\":0"), "\"inputs\" is not a list");
    expect_made_lie("STEP", STEP("0", "1", "[],\"inputs\":[0]"), "it has more inputs than there are steps before it");
    expect_made_lie("STEP", STEP2("[1]"), "item 1: its input is step 1, which is not before it");
    expect_made_lie("STEP", STEP2("[-1]"), "\"inputs\" contains a value that is not a step");
    expect_made_lie("STEP", STEP2("[0.5]"), "\"inputs\" contains a value that is not a step");
    expect_made_lie("BUFF", BUFFER("1", "1", "0"), "its last step is 0, but the trace has 0 steps");
    expect_made_lie("BUFF", BUFFER("\"18446744073709551615\"", "1", "-1"), "are more than memory can have");
    expect_made_lie("SENS", SENSOR("1", "level"), "\"reason\" is not text");
    expect_made_lie("SENS", SENSOR("null", "sum"), "its meaning is \"sum\"");
    expect_made_lie("ROOF", "[{\"name\":\"n\",\"unit\":\"u\",\"value\":\"x\"}]", "\"value\" is neither a number nor null");
    expect_made_lie("SCAL", "[]", "not an object");
    expect_made_lie("SCAL", "{\"detail\":\"fine\",\"detail_why\":\"\"}", "\"detail\" is \"fine\", which is not a known word");
    expect_made_lie("TOTL", "[[1,2,1,2]]", "1 totals, but the trace has 0 steps");
    expect_made_lie("TOTL", "[[1,2,1]]", "item 0: not four counts");
    expect_made_lie("TOTL", "{}", "not a list");
    expect_made_lie("END ", "{\"notes\":1}", "should have 1 notes and has 0");
    expect_made_lie("END ", "{}", "\"notes\" is not a count");
    expect_made_lie("CLCK", "{}", "a second clock");
    expect_made_lie("SPAN", "123", "3 bytes are not a whole number of records of 32");
}

Test(trace, refuses_a_second_list_of_totals)
{
    assay_env   *env = fake_env();
    assay_trace *t = NULL;
    const char  *chunks[] = {CLOCK, "TOTL", "[]", "TOTL", "[]", NULL};
    expect_fails(env, chunks_parse(env, chunks, &t), ASSAY_BAD_INPUT, "totals a second time");
}

Test(trace, refuses_chunks_before_the_clock_and_behind_the_end)
{
    assay_env   *env = fake_env();
    assay_trace *t = NULL;
    const char  *before[] = {"NOTE", "[]", CLOCK, NULL};
    const char  *behind[] = {CLOCK,
                             "END ",
                             "{\"notes\":0,\"steps\":0,\"buffers\":0,\"sensors\":0,\"roofs\":0,\"warmup\":0,"
                              "\"spans\":0,\"samples\":0,\"readings\":0}",
                             "XXXX",
                             "",
                             NULL};
    expect_fails(env, chunks_parse(env, before, &t), ASSAY_BAD_INPUT, "chunk NOTE at byte 16: it comes before");
    expect_fails(env, chunks_parse(env, behind, &t), ASSAY_BAD_INPUT, "it comes after the end");
}

Test(trace, refuses_a_clock_that_cannot_be)
{
    assay_env   *env = fake_env();
    assay_trace *t = NULL;
    const char  *still[] = {"CLCK", "{\"name\":\"c\",\"ns_per_tick\":0,\"cost_ns\":1,\"start_ticks\":0,\"start_unix_ns\":0}", NULL};
    const char *free_[] = {"CLCK", "{\"name\":\"c\",\"ns_per_tick\":1,\"cost_ns\":-1,\"start_ticks\":0,\"start_unix_ns\":0}", NULL};
    expect_fails(env, chunks_parse(env, still, &t), ASSAY_BAD_INPUT, "a tick lasts 0 ns");
    expect_fails(env, chunks_parse(env, free_, &t), ASSAY_BAD_INPUT, "costs -1 ns");
}

Test(trace, refuses_what_is_no_trace)
{
    assay_env   *env = fake_env();
    assay_trace *t = NULL;
    size_t       n;
    uint8_t     *bytes = small_bytes(env, &n);
    expect_fails(env, as_trace_parse(env, "x", bytes, 5, &t), ASSAY_BAD_INPUT, "x: has 5 bytes, less than the 16 of its header");
    bytes[8] = 2;
    expect_fails(env, as_trace_parse(env, "x", bytes, n, &t), ASSAY_BAD_INPUT, "its version is 2");
    bytes[8] = 1, bytes[12] = 1;
    expect_fails(env, as_trace_parse(env, "x", bytes, n, &t), ASSAY_BAD_INPUT, "its flags are 00000001");
    bytes[0] = '{';
    expect_fails(env, as_trace_parse(env, "x", bytes, n, &t), ASSAY_BAD_INPUT, "not a trace");
    expect(!t);
    free(bytes);
}

/* A length near 2^64 must not wrap around into something small. */
Test(trace, takes_an_immense_length_for_a_cut)
{
    assay_env *env = fake_env();
    size_t     n;
    uint8_t   *bytes = small_bytes(env, &n);
    size_t     at = chunk_find(bytes, n, "STEP");
    for (uint64_t less = 0; less < 40; less++) {
        assay_trace *t = NULL;
        as_le64_put(bytes + at + 8, UINT64_MAX - less);
        expect_ok(env, as_trace_parse(env, "huge", bytes, n, &t));
        expect(!t->complete && !t->n_steps);
        assay_trace_free(t);
    }
    free(bytes);
}

Test(trace, steps_without_inputs_load_and_inputs_that_fall_are_not_saved)
{
    assay_env   *env = fake_env();
    assay_trace *t = NULL;
    const char  *chunks[] = {CLOCK, "STEP", STEP2("[0]"), NULL};
    expect_ok(env, chunks_parse(env, chunks, &t));
    expect_eq(t->steps[0].n_inputs, 0); /* the key was missing */
    expect_str(t->steps[0].module, ""); /* this one, too: the trace is older than modules */
    expect_eq(t->steps[1].n_inputs, 1);
    expect_eq(t->steps[1].inputs[0], 0);
    expect_eq(as_trace_add_step(t, &(as_trace_step){.name = "x", .inputs = (const int[]){1, 0}, .n_inputs = 2}), 2);
    expect_fails(env, assay_trace_save(env, t, as_test_path("falling.trace")), ASSAY_INTERNAL,
                 "its inputs do not rise: step 0 follows 1");
    assay_trace_free(t);
}

/* --- Everything that a trace has ------------------------------------------------------------------------ */

/* Fills the fields of a table with distinct values, and compares them. */
static void fields_fill(void *item, const as_field *fields, uint64_t *seed)
{
    for (const as_field *f = fields; f->key; f++) {
        void    *at = (char *)item + f->at;
        uint64_t v = ++*seed;
        switch (f->kind) {
        case AS_FIELD_TEXT:
        case AS_FIELD_TEXT_OR_NULL: *(const char **)at = f->key; break;
        case AS_FIELD_CHARS: snprintf(at, f->size, "c%llu", (unsigned long long)v); break;
        case AS_FIELD_WORD: *(unsigned *)at = (unsigned)(f->size - 1); break;
        case AS_FIELD_BOOL: *(bool *)at = true; break;
        case AS_FIELD_INT: *(int *)at = -(int)v; break;
        case AS_FIELD_U32: *(uint32_t *)at = UINT32_MAX - (uint32_t)v; break;
        case AS_FIELD_U64: *(uint64_t *)at = UINT64_MAX - v; break;
        case AS_FIELD_I64: *(int64_t *)at = INT64_MIN + (int64_t)v; break;
        case AS_FIELD_F64: *(double *)at = 1.0 / (double)(v + 2); break;
        }
    }
}

static size_t field_size(const as_field *f)
{
    static const size_t sizes[] = {
        [AS_FIELD_TEXT] = 8, [AS_FIELD_TEXT_OR_NULL] = 8, [AS_FIELD_WORD] = 4, [AS_FIELD_BOOL] = 1, [AS_FIELD_INT] = 4,
        [AS_FIELD_U32] = 4,  [AS_FIELD_U64] = 8,          [AS_FIELD_I64] = 8,  [AS_FIELD_F64] = 8};
    return f->kind == AS_FIELD_CHARS ? f->size : sizes[f->kind];
}

static void expect_same_fields(const void *a, const void *b, const as_field *fields)
{
    for (const as_field *f = fields; f->key; f++) {
        const char *x = (const char *)a + f->at, *y = (const char *)b + f->at;
        bool same = f->kind == AS_FIELD_TEXT ? !strcmp(*(const char *const *)(const void *)x, *(const char *const *)(const void *)y)
                    : f->kind == AS_FIELD_CHARS ? !strcmp(x, y)
                                                : !memcmp(x, y, field_size(f));
        if (!same)
            fail("\"%s\" is not what it was", f->key);
    }
}

static void cover(unsigned char *covered, size_t at, size_t n) { memset(covered + at, 1, n); }

static void cover_fields(unsigned char *covered, const as_field *fields)
{
    for (const as_field *f = fields; f->key; f++)
        cover(covered, f->at, field_size(f));
}

/* A byte that no table and no list below covers is a forgotten field, or padding: at most 7 bytes before the next field. */
static void expect_covered(const unsigned char *covered, size_t n, size_t n_padding)
{
    size_t open = 0;
    for (size_t i = 0; i < n; i++)
        open += !covered[i];
    expect_eq(open, n_padding);
}

#define COVER(member)     cover(covered, offsetof(assay_trace, member), sizeof(((assay_trace *)0)->member))
#define COVER_LIST(items) (COVER(items), COVER(n_##items), COVER(cap_##items))

/* When this fails, a field was added to the trace: add it to the file (trace_fields.c), and it is covered. */
Test(trace, every_field_has_a_place_in_the_file)
{
    unsigned char covered[sizeof(assay_trace)] = {0};
    cover_fields(covered, as_clock_fields);
    cover_fields(covered, as_scalar_fields);
    COVER(arena), COVER(complete), COVER(arms), COVER(n_arms), COVER(totals), COVER(n_totals);
    COVER_LIST(notes), COVER_LIST(steps), COVER_LIST(buffers), COVER_LIST(sensors), COVER_LIST(roofs), COVER_LIST(spans);
    COVER_LIST(samples), COVER_LIST(warmup), COVER_LIST(readings), COVER_LIST(metrics), COVER_LIST(marks), COVER_LIST(turns);
    COVER_LIST(shots), COVER_LIST(contexts), COVER_LIST(frames), COVER_LIST(stacks), COVER_LIST(lanes), COVER_LIST(places);
    COVER_LIST(looks), COVER_LIST(stack_totals), COVER_LIST(memory_events), COVER_LIST(memory_sites), COVER(frame_index),
        COVER(stack_index), COVER(user_spans_left);
    size_t after_complete = offsetof(assay_trace, detail) - offsetof(assay_trace, complete) - sizeof(bool);
    size_t after_arms = 4, after_by_cpu = 3;
    size_t after_print = offsetof(assay_trace, origin) - offsetof(assay_trace, fingerprint) - 17;
    size_t padding = after_complete + after_arms + after_by_cpu + after_print;
    expect_covered(covered, sizeof covered, padding);
    unsigned char arm[sizeof(as_trace_arm)] = {0};
    cover_fields(arm, as_arm_fields);
    expect_covered(arm, sizeof arm, 10); /* after the two flags of the limit, and after the kind of work */
}

/* Some of every record, and every scalar with a distinct value. */
static assay_trace *full_trace(assay_env *env)
{
    assay_trace *t = small_trace(env);
    uint64_t     seed = 0;
    const char  *clock = t->clock_name;
    expect(as_trace_arms_add(t, 2));
    fields_fill(t, as_scalar_fields, &seed);
    for (int i = 0; i < 2; i++)
        fields_fill(&t->arms[i], as_arm_fields, &seed);
    t->clock_name = clock;
    expect(as_trace_reserve_turns(t, 6, 12));
    for (uint32_t i = 0; i < 6; i++) {
        t->turns[i] = (as_turn){i / 4, i / 2, i % 2, 1 - i % 2, 2 * i, 2, 0.5 + i, 1.5 + i, NAN, .9, .01 * i, 3.5, 4.5, 100 + i};
        t->shots[2 * i] = (as_shot){(float)i, (float)NAN};
        t->shots[2 * i + 1] = (as_shot){1.25f, (float)i};
    }
    t->n_turns = 6, t->n_shots = 12;
    for (uint64_t i = 0; i < 5; i++) {
        expect(as_trace_add_metric(
            t, &(as_trace_metric){
                   .name = i % 2 ? "loss" : "rate", .unit = "1", .step = i, .ticks = 7 * i, .value = 1.0 / (double)(i + 1)}));
        expect(as_trace_add_mark(t, &(as_trace_mark){"epoch 1", 9 * i, i % 2}));
    }
    return t;
}

static void expect_same_arms(const assay_trace *a, const assay_trace *b)
{
    expect_same_fields(a, b, as_scalar_fields);
    expect_eq(a->n_arms, b->n_arms);
    for (int i = 0; i < a->n_arms; i++)
        expect_same_fields(&a->arms[i], &b->arms[i], as_arm_fields);
    expect_eq(a->n_turns, b->n_turns);
    expect_eq(a->n_shots, b->n_shots);
    for (size_t i = 0; i < a->n_turns; i++)
        expect(!memcmp(&a->turns[i], &b->turns[i], offsetof(as_turn, switches) + sizeof(uint32_t)));
    expect(!memcmp(a->shots, b->shots, a->n_shots * sizeof *a->shots));
    expect_eq(a->n_metrics, b->n_metrics);
    for (size_t i = 0; i < a->n_metrics; i++) {
        expect_str(a->metrics[i].name, b->metrics[i].name);
        expect_str(a->metrics[i].unit, b->metrics[i].unit);
        expect(!memcmp(&a->metrics[i].step, &b->metrics[i].step, 24));
    }
    expect_eq(a->n_marks, b->n_marks);
    for (size_t i = 0; i < a->n_marks; i++) {
        expect_str(a->marks[i].name, b->marks[i].name);
        expect(a->marks[i].ticks == b->marks[i].ticks && a->marks[i].ends == b->marks[i].ends);
    }
}

Test(trace, arms_turns_metrics_and_marks_come_back_as_they_were)
{
    assay_env   *env = fake_env();
    assay_trace *t = full_trace(env), *back = NULL;
    expect_ok(env, assay_trace_save(env, t, as_test_path("full.trace")));
    expect_ok(env, assay_trace_load(env, as_test_path("full.trace"), &back));
    expect_same_items(back, t);
    expect_same_arms(back, t);
    expect(back->complete);
    assay_trace_free(back);
    assay_trace_free(t);
}

/* --- Followed ------------------------------------------------------------------------------------------- */

/* The stream of a full trace, grown in three appends. */
static uint8_t *full_bytes(assay_env *env, size_t *n)
{
    assay_trace *t = full_trace(env);
    uint8_t     *bytes = NULL;
    expect_ok(env, as_trace_bytes(env, t, &bytes, n));
    assay_trace_free(t);
    return bytes;
}

Test(trace, is_followed_however_its_bytes_are_split)
{
    assay_env   *env = fake_env();
    size_t       n;
    uint8_t     *bytes = full_bytes(env, &n);
    assay_trace *whole = NULL;
    expect_ok(env, as_trace_parse(env, "whole", bytes, n, &whole));
    for (size_t step = 1; step < 200; step += step < 20 ? 1 : 31) {
        as_trace_follow *f;
        assay_trace     *t = NULL;
        expect_ok(env, as_trace_follow_new(env, "split", NULL, &f));
        for (size_t at = 0; at < n; at += step) {
            expect(!as_trace_follow_ended(f));
            expect_ok(env, as_trace_follow_feed(env, f, bytes + at, n - at < step ? n - at : step));
        }
        expect(as_trace_follow_ended(f));
        expect_ok(env, as_trace_follow_finish(env, f, &t));
        expect_same_items(t, whole);
        expect_same_arms(t, whole);
        assay_trace_free(t);
    }
    assay_trace_free(whole);
    free(bytes);
}

/* The number of turns in the complete chunks before `cut`. */
static size_t turns_before(const uint8_t *data, size_t cut)
{
    size_t n = 0;
    for (size_t at = AS_TRACE_HEAD_BYTES; at + AS_CHUNK_HEAD_BYTES <= cut;) {
        uint64_t length = as_le64(data + at + 8);
        size_t   end = at + AS_CHUNK_HEAD_BYTES + length + as_chunk_padding(length) + AS_CRC_BYTES;
        if (end <= cut && !memcmp(data + at, "TURN", 4))
            n += length / AS_TURN_BYTES;
        at = end;
    }
    return n;
}

static void expect_cut(assay_env *env, const uint8_t *bytes, size_t cut)
{
    assay_trace *t = NULL;
    uint8_t     *part = malloc(cut); /* of its own, so that a sanitiser sees a read beyond */
    memcpy(part, bytes, cut);
    expect_ok(env, as_trace_parse(env, "cut", part, cut, &t));
    expect(!t->complete);
    expect_eq(t->n_turns, turns_before(bytes, cut));
    expect(t->n_shots == 2 * t->n_turns);
    assay_trace_free(t);
    free(part);
}

Test(trace, killed_at_any_byte_is_readable_up_to_the_last_whole_chunk)
{
    assay_env *env = fake_env();
    size_t     n;
    uint64_t   state = 88172645463325252u;
    uint8_t   *bytes = full_bytes(env, &n);
    for (int i = 0; i < 200; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        expect_cut(env, bytes, AS_TRACE_HEAD_BYTES + state % (n - AS_TRACE_HEAD_BYTES));
    }
    for (size_t at = AS_TRACE_HEAD_BYTES; at < n;) {
        uint64_t length = as_le64(bytes + at + 8);
        for (size_t cut = at - (at > AS_TRACE_HEAD_BYTES); cut <= at + 1; cut++)
            expect_cut(env, bytes, cut);
        at += AS_CHUNK_HEAD_BYTES + length + as_chunk_padding(length) + AS_CRC_BYTES;
    }
    free(bytes);
}

typedef struct taken {
    size_t spans, samples, turns, metrics, chunks;
    double done;
} taken;
static void take_spans(void *arg, const assay_trace *t, const as_span *s, size_t n)
{
    (void)t, (void)s, ((taken *)arg)->spans += n;
}
static void take_turns(void *arg, const assay_trace *t, const as_turn *s, size_t n)
{
    (void)t, (void)s, ((taken *)arg)->turns += n;
}
static void take_progress(void *arg, double done) { ((taken *)arg)->done = done; }
static void take_chunk(void *arg, const assay_trace *t, const char *type) { (void)t, (void)type, ((taken *)arg)->chunks++; }

Test(trace, a_pipe_is_followed_while_it_is_written_and_what_is_taken_is_not_kept)
{
    assay_env         *env = fake_env();
    assay_trace       *t = full_trace(env);
    taken              seen = {0};
    as_follow_settings how = {
        .arg = &seen, .spans = take_spans, .turns = take_turns, .progress = take_progress, .chunk = take_chunk};
    as_trace_writer *w;
    as_trace_follow *f;
    as_follow_news   news;
    int              ends[2];
    expect_eq(pipe(ends), 0);
    expect_ok(env, as_trace_follow_new(env, "pipe", &how, &f));
    expect_ok(env, as_trace_follow_poll(env, f, ends[0], 0, &news));
    expect_eq(news, AS_FOLLOW_QUIET);
    expect_ok(env, as_trace_writer_open_fd(env, "pipe", ends[1], t, &w));
    expect_ok(env, as_trace_writer_progress(env, w, 0.5, t));
    expect_ok(env, as_trace_follow_poll(env, f, ends[0], 1000, &news));
    expect_eq(news, AS_FOLLOW_GREW);
    expect(seen.done == 0.5);
    expect_eq(seen.spans, 3);
    expect_eq(seen.turns, 6);
    expect_eq(as_trace_follow_trace(f)->n_spans, 0);
    expect_eq(as_trace_follow_trace(f)->n_turns, 0);
    size_t chunks = seen.chunks;
    expect_ok(env, as_trace_writer_spans(env, w, t, &(as_span){.step = 1, .kind = AS_SPAN_STEP}, 1));
    expect_ok(env, as_trace_writer_close(env, w, t));
    close(ends[1]);
    expect_ok(env, as_trace_follow_poll(env, f, ends[0], 1000, &news));
    expect_eq(news, AS_FOLLOW_ENDED);
    expect_eq(seen.spans, 4);
    expect(seen.chunks > chunks);
    expect_ok(env, as_trace_follow_finish(env, f, NULL));
    close(ends[0]);
    assay_trace_free(t);
}

/* The end of a file is not the end of the record: a follower gets QUIET, and later GREW. */
Test(trace, a_file_is_followed_while_it_grows)
{
    assay_env         *env = fake_env();
    assay_trace       *t = full_trace(env);
    taken              seen = {0};
    as_follow_settings how = {.arg = &seen, .spans = take_spans};
    as_trace_writer   *w;
    as_trace_follow   *f;
    as_follow_news     news;
    expect_ok(env, as_trace_writer_open(env, as_test_path("growing.trace"), t, &w));
    int fd = open(as_test_path("growing.trace"), O_RDONLY);
    expect(fd >= 0);
    expect_ok(env, as_trace_follow_new(env, "growing", &how, &f));
    expect_ok(env, as_trace_follow_poll(env, f, fd, 0, &news));
    expect_eq(news, AS_FOLLOW_GREW);
    expect_ok(env, as_trace_follow_poll(env, f, fd, 0, &news));
    expect_eq(news, AS_FOLLOW_QUIET);
    size_t before = seen.spans;
    for (uint32_t i = 0; i < 100; i++) {
        expect_ok(env, as_trace_writer_spans(env, w, t, &(as_span){.step = 1, .run = i, .kind = AS_SPAN_STEP}, 1));
        expect_ok(env, as_trace_writer_append(env, w, t));
        expect_ok(env, as_trace_follow_poll(env, f, fd, 0, &news));
        expect_eq(news, AS_FOLLOW_GREW);
        expect(!as_trace_follow_ended(f));
        expect_eq(as_trace_follow_trace(f)->n_spans, 0); /* records that a function takes are not kept */
    }
    expect_ok(env, as_trace_writer_close(env, w, t));
    expect_ok(env, as_trace_follow_poll(env, f, fd, 0, &news));
    expect_eq(news, AS_FOLLOW_ENDED);
    expect_eq(seen.spans, before + 100);
    expect_ok(env, as_trace_follow_finish(env, f, NULL));
    close(fd);
    assay_trace_free(t);
}

/* Kept runs are complete; the others count in the totals, even without a list of totals. */
Test(trace, a_reader_keeps_the_first_runs_and_folds_the_others)
{
    assay_env         *env = fake_env();
    assay_trace       *t = small_trace(env), *back = NULL;
    as_follow_settings how = {.kept_spans = 100, .kept_samples = 64};
    as_trace_writer   *w;
    as_trace_follow   *f;
    as_map             map;
    t->n_totals = 0;
    t->n_spans = t->n_samples = 0;
    expect_ok(env, as_trace_writer_open(env, as_test_path("many.trace"), t, &w));
    for (uint32_t run = 0; run < 1000; run++) {
        as_span   spans[] = {{.begin_ticks = 0, .end_ticks = 30, .step = -1, .run = run, .kind = AS_SPAN_RUN},
                             {.begin_ticks = 0, .end_ticks = 10, .step = 0, .run = run, .kind = AS_SPAN_STEP},
                             {.begin_ticks = 10, .end_ticks = 30, .step = 1, .run = run, .kind = AS_SPAN_STEP}};
        as_sample sample = {run, run + 1, 0, run, 1};
        expect_ok(env, as_trace_writer_spans(env, w, t, spans, 3));
        expect_ok(env, as_trace_writer_samples(env, w, t, &sample, 1));
    }
    expect_ok(env, as_trace_writer_close(env, w, t));
    expect_ok(env, as_map_open(env, "test", as_test_path("many.trace"), 0, &map));
    expect_ok(env, as_trace_follow_new(env, "many", &how, &f));
    expect_ok(env, as_trace_follow_feed(env, f, map.data, map.bytes));
    expect_ok(env, as_trace_follow_finish(env, f, &back));
    as_map_close(&map);
    expect(back->complete);
    expect_eq(back->n_spans, 99);
    expect_eq(back->spans[98].run, 32);
    expect_eq(back->n_totals, 2);
    expect_eq(back->totals[0].count, 1000);
    expect_eq(back->totals[1].sum_ticks, 20000);
    expect(back->n_samples > 32 && back->n_samples <= 64);
    expect_eq(back->samples[1].first_run, back->sample_every);
    assay_trace_free(back);
    assay_trace_free(t);
}
