/* code_test.c - frames, stacks, threads, stack samples and memory events: found again, saved and loaded, cut short, and with
 * false contents. */
#include <math.h>
#include <stdlib.h>

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

/* main calls work, which was inlined; one thread, two places, and some of every record. */
static assay_trace *code_trace(assay_env *env)
{
    assay_trace *t;
    expect_ok(env, as_trace_new(env, &t));
    int context =
        as_trace_add_context(t, &(as_trace_context){.operation = "matmul", .precision = "f16", .batch = 8, .parallel = true});
    int outer =
        as_trace_add_frame(t, &(as_trace_frame){.name = "main", .file = "a.c", .object = "a.out", .line = 7, .context = -1});
    int inner = as_trace_add_frame(
        t, &(as_trace_frame){
               .name = "work", .category = "compute", .flops = 64, .bytes = UINT64_MAX, .context = context, .inlined = true});
    int root = as_trace_add_stack(t, -1, outer), leaf = as_trace_add_stack(t, root, inner);
    int lane = as_trace_add_lane(t, &(as_trace_lane){.name = "loop", .pid = 12, .tid = 13});
    int host = as_trace_add_place(t, "host"), device = as_trace_add_place(t, "opencl:0");
    expect(context == 0 && outer == 0 && inner == 1 && root == 0 && leaf == 1 && lane == 0 && host == 0 && device == 1);
    expect(
        as_trace_add_look(t, &(as_stack_sample){.ticks = 5, .weight_ns = 1000, .stack = 1, .lane = 0, .state = AS_STACK_OFF_CPU}));
    expect(as_trace_add_memory_event(t, &(as_memory_event){.ticks = 6, .id = 0xabc, .bytes = 4096, .stack = 1}));
    expect(as_trace_add_memory_event(
        t,
        &(as_memory_event){
            .ticks = 7, .took_ticks = 9, .id = 0xabc, .bytes = 4096, .stack = AS_NO_STACK, .kind = AS_MEMORY_TRANSFER, .to = 1}));
    expect(as_trace_add_memory_site(t, &(as_memory_site){.ticks = 8,
                                                         .live_bytes = 100,
                                                         .peak_bytes = 300,
                                                         .largest_bytes = 400,
                                                         .allocs = 6,
                                                         .frees = 5,
                                                         .bytes = UINT64_MAX,
                                                         .temporary = 2,
                                                         .stack = 1}));
    expect(as_trace_add_memory_site(t, &(as_memory_site){.ticks = 9, .stack = AS_NO_STACK}));
    expect(as_trace_reserve(t, 1, 0, 0, 0));
    expect(as_trace_add_span(t, &(as_span){.begin_ticks = 1, .end_ticks = 9, .step = 1, .kind = AS_SPAN_USER}));
    expect(as_trace_add_stack_total(
        t, &(as_stack_total){.count = 2, .sum_ticks = 9, .min_ticks = 4, .max_ticks = 5, .flops = 128, .stack = 1}));
    t->subject = AS_OF_SESSION;
    t->looks_lost = 3;
    t->memory_events_lost = 4;
    t->look_period_ns = 1e6;
    return t;
}

Test(code, what_is_added_again_is_found)
{
    assay_env   *env = fake_env();
    assay_trace *t = code_trace(env);
    expect_eq(as_trace_add_context(t, &(as_trace_context){.operation = "matmul", .precision = "f16", .batch = 8, .parallel = true}),
              0);
    expect_eq(as_trace_add_context(t, &(as_trace_context){.operation = "matmul", .precision = "f16", .batch = 9, .parallel = true}),
              1);
    expect_eq(as_trace_add_frame(t, &(as_trace_frame){.name = "main", .file = "a.c", .object = "a.out", .line = 7, .context = -1}),
              0);
    expect_eq(as_trace_add_frame(t, &(as_trace_frame){.name = "main", .file = "a.c", .object = "a.out", .line = 8, .context = -1}),
              2);
    expect_eq(as_trace_add_stack(t, 0, 1), 1);
    expect_eq(as_trace_add_stack(t, -1, 1), 2);
    expect_eq(as_trace_add_place(t, "opencl:0"), 1);
    assay_trace_free(t);
}

Test(code, many_frames_and_stacks_stay_distinct)
{
    enum { N = 5000 };
    assay_env   *env = fake_env();
    assay_trace *t;
    expect_ok(env, as_trace_new(env, &t));
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < N; i++) {
            char name[16];
            snprintf(name, sizeof name, "f%d", i);
            expect_eq(as_trace_add_frame(t, &(as_trace_frame){.name = name, .context = -1}), i);
            expect_eq(as_trace_add_stack(t, i - 1, i), i);
        }
    expect_eq(t->n_frames, N);
    expect_eq(t->n_stacks, N);
    assay_trace_free(t);
}

static void expect_same_code(const assay_trace *a, const assay_trace *b)
{
    expect_eq(a->n_contexts, b->n_contexts);
    expect_str(b->contexts[0].precision, "f16");
    expect(b->contexts[0].parallel && b->contexts[0].batch == 8);
    expect_eq(a->n_frames, b->n_frames);
    for (size_t i = 0; i < a->n_frames; i++) {
        expect_str(b->frames[i].name, a->frames[i].name);
        expect_str(b->frames[i].file, a->frames[i].file);
        expect_str(b->frames[i].object, a->frames[i].object);
        expect_str(b->frames[i].category, a->frames[i].category);
        expect(a->frames[i].flops == b->frames[i].flops && a->frames[i].bytes == b->frames[i].bytes);
        expect(a->frames[i].line == b->frames[i].line && a->frames[i].context == b->frames[i].context);
        expect_eq(a->frames[i].inlined, b->frames[i].inlined);
    }
    expect_eq(a->n_stacks, b->n_stacks);
    expect(!memcmp(a->stacks, b->stacks, a->n_stacks * sizeof *a->stacks));
    expect_eq(b->lanes[0].tid, 13);
    expect_str(b->places[1], "opencl:0");
    expect_eq(a->n_looks, b->n_looks);
    expect(!memcmp(a->looks, b->looks, a->n_looks * sizeof *a->looks));
    expect_eq(a->n_memory_events, b->n_memory_events);
    expect(!memcmp(a->memory_events, b->memory_events, a->n_memory_events * sizeof *a->memory_events));
    expect_eq(a->n_stack_totals, b->n_stack_totals);
    expect(!memcmp(a->stack_totals, b->stack_totals, a->n_stack_totals * sizeof *a->stack_totals));
    expect_eq(b->subject, AS_OF_SESSION);
    expect_eq(a->n_memory_sites, b->n_memory_sites);
    expect(!memcmp(a->memory_sites, b->memory_sites, a->n_memory_sites * sizeof *a->memory_sites));
    expect_eq(b->spans[0].kind, AS_SPAN_USER);
    expect(b->looks_lost == 3 && b->memory_events_lost == 4 && b->look_period_ns == 1e6);
}

Test(code, comes_back_as_it_was_and_can_be_added_to)
{
    assay_env   *env = fake_env();
    assay_trace *t = code_trace(env), *back;
    uint8_t     *data;
    size_t       n;
    expect_ok(env, as_trace_bytes(env, t, &data, &n));
    expect_ok(env, as_trace_parse(env, "t", data, n, &back));
    expect_same_code(t, back);
    expect_eq(
        as_trace_add_frame(back, &(as_trace_frame){.name = "main", .file = "a.c", .object = "a.out", .line = 7, .context = -1}), 0);
    expect_eq(as_trace_add_stack(back, 0, 1), 1);
    free(data);
    assay_trace_free(t);
    assay_trace_free(back);
}

Test(code, cut_anywhere_is_readable)
{
    assay_env   *env = fake_env();
    assay_trace *t = code_trace(env), *back;
    uint8_t     *data;
    size_t       n;
    expect_ok(env, as_trace_bytes(env, t, &data, &n));
    for (size_t cut = AS_TRACE_HEAD_BYTES; cut < n; cut++) {
        expect_ok(env, as_trace_parse(env, "t", data, cut, &back));
        expect(!back->complete);
        expect(back->n_looks <= t->n_looks && back->n_memory_events <= t->n_memory_events);
        assay_trace_free(back);
    }
    free(data);
    assay_trace_free(t);
}

static void refused(assay_env *env, assay_trace *t, const char *words)
{
    uint8_t *data = NULL;
    size_t   n;
    expect_eq(as_trace_bytes(env, t, &data, &n), ASSAY_INTERNAL);
    expect(strstr(assay_message(env), words));
    assay_trace_free(t);
}

Test(code, what_refers_to_nothing_is_not_written)
{
    assay_env   *env = fake_env();
    assay_trace *t = code_trace(env);
    t->stacks[1].frame = 2;
    refused(env, t, "its frame is 2, but the trace has 2");
    t = code_trace(env);
    t->stacks[0].parent = 0;
    refused(env, t, "which is not before it");
    t = code_trace(env);
    t->looks[0].stack = 2;
    refused(env, t, "its stack is 2 of 2");
    t = code_trace(env);
    t->looks[0].state = AS_N_STACK_STATES;
    refused(env, t, "its state is 2");
    t = code_trace(env);
    t->stack_totals[0].max_ticks = 10;
    refused(env, t, "least 4, most 10 and sum 9 ticks cannot be");
    t = code_trace(env);
    t->memory_events[0].kind = AS_N_MEMORY_KINDS;
    refused(env, t, "its kind is 5");
    t = code_trace(env);
    t->memory_events[1].to = 2;
    refused(env, t, "its places are 0 and 2 of 2");
    t = code_trace(env);
    t->memory_events[0].stack = 2;
    refused(env, t, "its stack is 2, but the trace has 2");
    t = code_trace(env);
    t->memory_sites[0].stack = 2;
    refused(env, t, "its stack is 2, but the trace has 2");
    t = code_trace(env);
    t->memory_sites[0].frees = 7;
    refused(env, t, "7 blocks of 6 are gone");
    t = code_trace(env);
    t->frames[1].context = 1;
    refused(env, t, "its context is 1, but the trace has 1");
    t = code_trace(env);
    t->spans[0].step = 2;
    refused(env, t, "its frame is 2 of 2");
    t = code_trace(env);
    t->spans[0].thread = 1;
    refused(env, t, "its thread 1 of 1");
}

/* A follower that only sums, as a monitor does. */
typedef struct sums {
    size_t n_looks, n_events;
} sums;
static void looks_sum(void *arg, const assay_trace *t, const as_stack_sample *looks, size_t n)
{
    (void)t;
    (void)looks;
    ((sums *)arg)->n_looks += n;
}
static void events_sum(void *arg, const assay_trace *t, const as_memory_event *events, size_t n)
{
    (void)t;
    (void)events;
    ((sums *)arg)->n_events += n;
}

Test(code, a_follower_can_take_the_records_as_they_come)
{
    assay_env       *env = fake_env();
    assay_trace     *t = code_trace(env), *back;
    as_trace_follow *f;
    sums             got = {0};
    uint8_t         *data;
    size_t           n;
    expect_ok(env, as_trace_bytes(env, t, &data, &n));
    expect_ok(env, as_trace_follow_new(env, "t",
                                       &(as_follow_settings){.arg = &got, .looks = looks_sum, .memory_events = events_sum}, &f));
    for (size_t i = 0; i < n; i++)
        expect_ok(env, as_trace_follow_feed(env, f, data + i, 1));
    expect_ok(env, as_trace_follow_finish(env, f, &back));
    expect(back->complete && !back->n_looks && !back->n_memory_events);
    expect(got.n_looks == 1 && got.n_events == 2);
    free(data);
    assay_trace_free(t);
    assay_trace_free(back);
}

Test(code, a_reader_keeps_the_first_spans_of_the_users_code)
{
    assay_env       *env = fake_env();
    assay_trace     *t = code_trace(env), *back;
    as_trace_follow *f;
    uint8_t         *data;
    size_t           n;
    expect(as_trace_reserve(t, 99, 0, 0, 0));
    for (uint64_t i = 0; i < 99; i++)
        expect(as_trace_add_span(t, &(as_span){.begin_ticks = i, .end_ticks = i + 1, .step = 0, .kind = AS_SPAN_USER}));
    expect_ok(env, as_trace_bytes(env, t, &data, &n));
    expect_ok(env, as_trace_follow_new(env, "t", &(as_follow_settings){.kept_spans = 10}, &f));
    expect_ok(env, as_trace_follow_feed(env, f, data, n));
    expect_ok(env, as_trace_follow_finish(env, f, &back));
    expect_eq(back->n_spans, 10);
    expect_eq(back->user_spans_left, 90);
    free(data);
    assay_trace_free(t);
    assay_trace_free(back);
}
