/* memory_test.c - what the memory analyses say is what happens: replayed savings equal those of real plans to the byte, owners sum to the
 * peak, a planted leak is found with its site and a clean program has none. */
#include <pthread.h>
#include <string.h>

#include "analysis/analysis.h"
#include "plan/test_fixture.h"
#include "run/run.h"

typedef struct subject {
    const char *model, *batch, *device, *compile;
} subject;

static const subject subjects[] = {
    {"mlp-small", "8", "cpu", "on"},
    {"mlp-small", "8", "cpu", "off"},
    {"cnn-small", "4", "cpu", "on"},
    {"cnn-small", "4", "cpu", "off"},
    {"cnn-small", "4", "null", "on"},
    {"cnn-cifar", "2", "cpu", "off"},
    {"cfc:input=8,units=16", "3", "cpu", "on"},
    {"cfc:input=8,units=16", "3", "cpu", "off"},
    {"ltc:input=8,units=16", "2", "cpu", "off"},
};

static void subject_open(fixture *f, const subject *s, const char *reuse, const char *in_place)
{
    fixture_open(f, s->model);
    fixture_set(f, "batch", s->batch);
    fixture_set(f, "device", s->device);
    fixture_set(f, "compile", s->compile);
    fixture_set(f, "reuse", reuse);
    fixture_set(f, "in-place", in_place);
    fixture_plan(f);
}

/* What an instance of that plan really takes. */
static double really(const subject *s, const char *reuse, const char *in_place)
{
    fixture f;
    subject_open(&f, s, reuse, in_place);
    fixture_instance(&f);
    fixture_step(&f);
    uint64_t taken = as_instance_peak_bytes(f.instance);
    expect_eq(taken, assay_plan_peak_bytes(f.plan));
    fixture_close(&f);
    return (double)taken;
}

static assay_facts *facts_of(fixture *f)
{
    as_run_settings s = {
        .n_runs = 3, .time_ns = 1000000, .sensors = "none", .detail = AS_DETAIL_STEP, .max_cost = 0.005, .kept_runs = 3};
    assay_trace *t = NULL;
    assay_facts *facts = NULL;
    as_clock_open_fake(&f->env->clock, 77);
    expect_ok(f->env, as_run_profile(f->env, f->plan, &s, 1, &t));
    expect_ok(f->env, assay_analyse(f->env, t, &facts));
    assay_trace_free(t);
    return facts;
}

/* A cell of the row with this type. */
static double saving(const assay_facts *facts, const char *type, const char *column)
{
    const as_table *t = as_facts_table_find(facts, "memory", "savings");
    for (int i = 0; t && i < t->n_rows; i++)
        if (!strcmp(as_words_at(t, i, "type"), type))
            return as_value_at(t, i, column);
    fail("the table has no row %s", type);
    return 0;
}

static void replays(const subject *s, const char *reuse, const char *in_place)
{
    fixture f;
    subject_open(&f, s, reuse, in_place);
    assay_facts *facts = facts_of(&f);
    expect_eq(saving(facts, "TensorReuse", "with"), really(s, "on", in_place));
    expect_eq(saving(facts, "TensorReuse", "without"), really(s, "off", in_place));
    expect_eq(saving(facts, "InPlace", "with"), really(s, reuse, "on"));
    expect_eq(saving(facts, "InPlace", "without"), really(s, reuse, "off"));
    assay_facts_free(facts);
    fixture_close(&f);
}

Test(memory_replay, reuse_and_in_place_save_what_a_plan_with_them_saves)
{
    for (size_t i = 0; i < AS_COUNT(subjects); i++)
        for (int k = 0; k < 4; k++)
            replays(&subjects[i], k & 1 ? "off" : "on", k & 2 ? "off" : "on");
}

/* The answers stay the same, whichever way memory is given. */
Test(memory_replay, options_of_memory_do_not_change_the_answer)
{
    for (size_t i = 0; i < AS_COUNT(subjects); i++) {
        const subject *s = &subjects[i];
        size_t         n, m;
        const char    *plain[] = {"batch", s->batch, "compile", s->compile, NULL};
        const char    *other[] = {
               "batch", s->batch, "compile", s->compile, "reuse", i % 2 ? "off" : "on", "in-place", i % 2 ? "on" : "off", NULL};
        void *a = fixture_result(s->model, plain, 0, &n), *b = fixture_result(s->model, other, 0, &m);
        expect_eq(n, m);
        expect(!memcmp(a, b, n));
        free(a);
        free(b);
    }
}

static double bytes_sum(const as_table *t)
{
    double sum = 0;
    for (int i = 0; i < t->n_rows; i++)
        sum += as_value_at(t, i, "bytes");
    return sum;
}

Test(memory_owners, owners_sum_to_the_peak)
{
    for (size_t i = 0; i < AS_COUNT(subjects); i++) {
        fixture f;
        subject_open(&f, &subjects[i], "on", "auto");
        assay_facts    *facts = facts_of(&f);
        const as_table *owners = as_facts_table_find(facts, "memory", "owners");
        expect(owners != NULL);
        expect_eq(bytes_sum(owners), as_facts_metric(facts, "memory.peak_usage")->value);
        expect(as_facts_metric(facts, "memory.peak_usage")->value >= (double)assay_plan_peak_bytes(f.plan));
        expect_eq(as_facts_metric(facts, "memory.total_freed")->value, (double)assay_plan_peak_bytes(f.plan));
        expect(
            !(as_facts_metric(facts, "memory.leak_candidates")->value > 0)); /* where the clock stands still, nothing can be said */
        assay_facts_free(facts);
        fixture_close(&f);
    }
}

/* --- The tracker ------------------------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Blocks of odd sizes come and go; every third iteration, one of them stays where it is planted. */
static assay_facts *program(fixture *f, bool leaks)
{
    assay_tracker *t;
    assay_trace   *trace;
    assay_facts   *facts;
    uint64_t       state = 3, next = 1;
    fixture_open(f, NULL);
    as_clock_open_fake(&f->env->clock, 0);
    expect_ok(f->env, assay_tracker_new(f->env, NULL, &t));
    assay_track_alloc(t, next++, 1 << 20, "weights", NULL);
    for (int i = 0; i < 90; i++) {
        uint64_t first = next, n = 3 + draw(&state) % 5;
        assay_track_enter(t, "forward");
        for (uint64_t k = 0; k < n; k++)
            assay_track_alloc(t, next++, 64 + draw(&state) % 4096, k % 2 ? "hidden" : "input", NULL);
        if (i < 12) /* a cache that fills and stays */
            assay_track_alloc(t, 1000000 + (uint64_t)i, 512, "cache", NULL);
        if (leaks && i % 3 == 0)
            assay_track_alloc(t, 2000000 + (uint64_t)i, 48, "history", NULL);
        assay_track_leave(t);
        as_clock_advance(&f->env->clock, 1000);
        for (uint64_t k = first; k < next; k++)
            assay_track_free(t, k);
        assay_track_iteration(t);
    }
    expect_eq(assay_tracker_usage(t), (1 << 20) + 12 * 512 + (leaks ? 30 * 48 : 0));
    uint64_t peak = assay_tracker_peak(t);
    expect_ok(f->env, assay_tracker_finish(f->env, t, &trace));
    expect_ok(f->env, assay_analyse(f->env, trace, &facts));
    expect_eq(as_facts_metric(facts, "memory.peak_usage")->value, (double)peak);
    assay_trace_free(trace);
    return facts;
}

Test(memory_leaks, a_planted_leak_is_found_with_its_site)
{
    fixture         f;
    assay_facts    *facts = program(&f, true);
    const as_table *t = as_facts_table_find(facts, "memory", "leaks");
    expect_eq(as_facts_metric(facts, "memory.leak_candidates")->value, 1);
    expect(t && t->n_rows == 1);
    expect_str(as_words_at(t, 0, "site"), "history");
    expect_str(as_words_at(t, 0, "layer"), "forward");
    expect_near(as_value_at(t, 0, "slope"), 16, 1); /* 48 bytes every third iteration */
    expect_eq(as_value_at(t, 0, "live"), 30 * 48);
    expect(as_value_at(t, 0, "confidence") >= 0.99);
    assay_facts_free(facts);
    fixture_close(&f);
}

Test(memory_leaks, a_clean_program_has_none)
{
    fixture      f;
    assay_facts *facts = program(&f, false);
    expect_eq(as_facts_metric(facts, "memory.leak_candidates")->value, 0);
    expect(!as_facts_table_find(facts, "memory", "leaks"));
    assay_facts_free(facts);
    fixture_close(&f);
}

/* --- Threads ------------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, BLOCKS = 5000 };

typedef struct worker {
    assay_tracker *t;
    uint64_t       first;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    for (uint64_t i = 0; i < BLOCKS; i++) {
        assay_track_alloc(w->t, w->first + i, 16, "block", i % 2 ? "host" : "gpu:0");
        if (i % 2)
            assay_track_resize(w->t, w->first + i, 8);
        if (i % 5)
            assay_track_free(w->t, w->first + i);
    }
    return NULL;
}

/* Sums are exact, whether all events are kept or few. */
static void threads_count(const char *max_events, bool all_kept)
{
    fixture        f;
    assay_tracker *t;
    assay_trace   *trace;
    assay_facts   *facts;
    pthread_t      threads[THREADS];
    worker         workers[THREADS];
    fixture_open(&f, NULL);
    fixture_set(&f, "max-events", max_events);
    expect_ok(f.env, assay_tracker_new(f.env, f.options, &t));
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){t, (uint64_t)(i + 1) << 32};
        expect(!pthread_create(&threads[i], NULL, work, &workers[i]));
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    uint64_t live = assay_tracker_usage(t);
    expect_eq(live, THREADS * (BLOCKS / 10 * 16 + BLOCKS / 10 * 8)); /* of every ten, one of 16 bytes and one of 8 stay */
    expect_ok(f.env, assay_tracker_finish(f.env, t, &trace));
    expect_eq(trace->memory_events_lost == 0, all_kept);
    expect_ok(f.env, assay_analyse(f.env, trace, &facts));
    expect_eq(as_facts_metric(facts, "memory.total_allocated")->value, THREADS * BLOCKS * 16);
    expect_eq(as_facts_metric(facts, "memory.current_usage")->value, (double)live);
    expect_eq(as_facts_metric(facts, "memory.total_freed")->value, THREADS * BLOCKS * 16 - (double)live);
    expect_eq(as_facts_metric(facts, "memory.allocations")->value, THREADS * BLOCKS);
    expect(as_facts_metric(facts, "memory.tracking_cost")->value > 0);
    expect_eq(trace->n_lanes, THREADS);
    assay_facts_free(facts);
    assay_trace_free(trace);
    fixture_close(&f);
}

Test(memory_tracker, four_threads_lose_nothing) { threads_count("1048576", true); }
Test(memory_tracker, a_full_record_keeps_its_sums) { threads_count("4096", false); }

Test(memory_tracker, a_null_tracker_does_nothing)
{
    assay_track_alloc(NULL, 1, 1, "x", NULL);
    assay_track_free(NULL, 1);
    assay_track_resize(NULL, 1, 1);
    assay_track_copy(NULL, 1, 1, 1);
    assay_track_transfer(NULL, 1, 1, "gpu:0", 1);
    assay_track_enter(NULL, "x");
    assay_track_leave(NULL);
    assay_track_iteration(NULL);
    assay_tracker_free(NULL);
    expect_eq(assay_tracker_usage(NULL), 0);
}

/* Half the batch and narrower weights: what the report says is what a plan with that option takes. */
Test(memory_replay, half_the_batch_and_narrower_weights_save_what_their_plans_save)
{
    fixture      f;
    assay_facts *facts = NULL;
    fixture_open(&f, "cnn-small");
    fixture_set(&f, "batch", "6");
    fixture_set(&f, "runs", "3");
    fixture_set(&f, "roofs", "off");
    fixture_set(&f, "store", "none");
    expect_ok(f.env, assay_profile_model(f.env, f.model, f.options, &facts));
    double half = saving(facts, "BatchSizeReduction", "with"), narrow = saving(facts, "DataType", "with");
    assay_facts_free(facts);
    fixture_close(&f);
    fixture_open(&f, "cnn-small");
    fixture_set(&f, "batch", "3");
    fixture_plan(&f);
    expect_eq(half, (double)assay_plan_peak_bytes(f.plan));
    fixture_close(&f);
    fixture_open(&f, "cnn-small");
    fixture_set(&f, "batch", "6");
    fixture_set(&f, "weights-as", "f16");
    fixture_plan(&f);
    expect_eq(narrow, (double)assay_plan_peak_bytes(f.plan));
    fixture_close(&f);
}
