/* traces_test.c - traces as scenes and files: nesting, sums, limits, names; tests/viewers has other people's readers judge the files. */
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "export/scene.h"
#include "export/test_traces.h"
#include "tests/runner/test.h"

static assay_env *fake_env(void)
{
    static assay_env env;
    env = (assay_env){0};
    as_clock_open_fake(&env.clock, 1000);
    return &env;
}

static void scene_of(assay_env *env, const assay_trace *t, bool all, as_scene *out)
{
    expect_ok(env, as_scene_open(env, &t, 1, all, out));
}

static uint64_t sum_of(const as_scene *v, as_scene_value value)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < v->n_nodes; i++)
        sum += v->nodes[i].self[value];
    return sum;
}

/* A parent comes before its children, and none of them ends after it. */
static void expect_nested(const as_scene *v)
{
    for (size_t i = 0; i < v->n_tracks; i++) {
        const as_scene_track *t = &v->tracks[i];
        uint64_t             *ends = calloc(t->n + 1, sizeof *ends);
        expect(ends);
        for (size_t k = 0; k < t->n; k++) {
            const as_scene_span *s = &t->spans[k];
            expect(s->begin_ns <= s->end_ns);
            expect(!k || s->begin_ns >= t->spans[k - 1].begin_ns);
            expect(!k ? !s->depth : s->depth <= t->spans[k - 1].depth + 1);
            if (s->depth)
                expect(s->end_ns <= ends[s->depth - 1]);
            ends[s->depth] = s->end_ns;
        }
        free(ends);
    }
}

/* What a format writes, as text to be freed. */
static char *text_of(assay_env *env, const assay_trace *t, const char *format)
{
    char    *text = NULL;
    size_t   n = 0;
    FILE    *file = open_memstream(&text, &n);
    as_scene v;
    expect(file);
    scene_of(env, t, false, &v);
    expect_ok(env, as_trace_export_find(format)->write(env, &v, file));
    fclose(file);
    as_scene_drop(&v);
    return text;
}

Test(export_traces, a_child_never_ends_after_its_parent_whatever_a_tick_is)
{
    assay_env *env = fake_env();
    for (double tick = 0.37; tick < 3; tick += 0.31) {
        assay_trace *t = test_network(env, tick, 50, true);
        as_scene     v;
        scene_of(env, t, false, &v);
        expect_nested(&v);
        expect_eq(v.n_tracks, 3); /* network, thread 1, phases */
        as_scene_drop(&v);
        assay_trace_free(t);
    }
}

Test(export_traces, a_span_that_overlaps_the_one_before_it_ends_with_it)
{
    assay_env   *env = fake_env();
    assay_trace *t = test_code(env);
    t->spans[0].end_ticks = 450; /* 100 to 450, and the next is 400 to 900 */
    as_scene v;
    scene_of(env, t, false, &v);
    expect_nested(&v);
    expect_eq(sum_of(&v, AS_SCENE_TIME), 1050);
    as_scene_drop(&v);
    assay_trace_free(t);
}

Test(export_traces, self_times_add_up_to_the_trace)
{
    assay_env   *env = fake_env();
    assay_trace *t[] = {test_network(env, 1, 5, true), test_code(env), test_looks(env, 200)};
    uint64_t     want[][3] = {{5000, 5 * 1300, 5 * 200}, {1050, 2 * 640, 2 * 128}, {200000000, 0, 0}};
    for (size_t i = 0; i < AS_COUNT(t); i++) {
        as_scene v;
        scene_of(env, t[i], false, &v);
        expect_eq(sum_of(&v, AS_SCENE_TIME), want[i][0]);
        expect_eq(sum_of(&v, AS_SCENE_FLOPS), want[i][1]);
        expect_eq(sum_of(&v, AS_SCENE_BYTES), want[i][2]);
        expect_nested(&v);
        as_scene_drop(&v);
        assay_trace_free(t[i]);
    }
}

Test(export_traces, totals_per_stack_count_where_not_all_spans_were_kept)
{
    assay_env   *env = fake_env();
    assay_trace *t = test_code(env);
    int          outer = as_trace_add_stack(t, -1, 0), inner = as_trace_add_stack(t, outer, 2);
    expect(as_trace_add_stack_total(t, &(as_stack_total){.count = 1, .sum_ticks = 9000, .min_ticks = 9000, .max_ticks = 9000}));
    expect(as_trace_add_stack_total(t, &(as_stack_total){.count = 70,
                                                         .sum_ticks = 7000,
                                                         .min_ticks = 100,
                                                         .max_ticks = 100,
                                                         .flops = 70 * 640,
                                                         .bytes = 70 * 128,
                                                         .stack = (uint32_t)inner}));
    char *text = text_of(env, t, "folded");
    expect_str(text, "main 2000\nmain;compute 7000\n");
    free(text);
    as_scene v;
    scene_of(env, t, false, &v);
    expect_eq(sum_of(&v, AS_SCENE_FLOPS), 70 * 640);
    as_scene_drop(&v);
    assay_trace_free(t);
}

Test(export_traces, memory_is_allocated_peaks_and_stays)
{
    assay_env   *env = fake_env();
    assay_trace *t = test_memory(env);
    as_scene     v;
    scene_of(env, t, false, &v);
    expect(v.has_memory);
    expect_eq(sum_of(&v, AS_SCENE_ALLOC), 250);
    expect_eq(sum_of(&v, AS_SCENE_INUSE), 100);
    expect_eq(sum_of(&v, AS_SCENE_PEAK), 150);
    expect_eq(v.n_counters, 1);
    expect_eq(v.counters[0].n, 6); /* a copy changes nothing */
    expect_near(v.counters[0].points[1].value, 150, 0);
    as_scene_drop(&v);
    char *folded = text_of(env, t, "folded");
    expect_has(folded, ";grow 50\n");
    free(folded);
    assay_trace_free(t);
}

Test(export_traces, a_long_timeline_keeps_whole_runs_and_says_how_many)
{
    enum { RUNS = 100000 };
    assay_env   *env = fake_env();
    assay_trace *t = test_network(env, 1, RUNS, false);
    as_scene     v;
    scene_of(env, t, false, &v);
    const as_scene_track *track = &v.tracks[0];
    expect_eq(track->n % 4, 0);
    expect_eq(track->n / 4, v.n_runs_shown);
    expect(2 * track->n + v.counters[1].n <= AS_EXPORT_EVENTS);
    expect(v.n_runs_shown > 20000);
    for (size_t i = 0; i < track->n; i += 4)
        for (size_t k = 0; k < 4; k++)
            expect_eq(track->spans[i + k].run, track->spans[i].run);
    expect(track->spans[track->n - 1].run > RUNS - 10); /* from all over the measurement */
    char want[64];
    snprintf(want, sizeof want, "%llu of %d runs", (unsigned long long)v.n_runs_shown, RUNS);
    expect_has(v.said, want);
    expect_str(v.said_sums, "");
    expect_eq(sum_of(&v, AS_SCENE_TIME), (uint64_t)RUNS * 1000); /* sums are of all */
    expect_nested(&v);
    as_scene_drop(&v);
    scene_of(env, t, true, &v);
    expect_eq(v.tracks[0].n, 4 * RUNS);
    expect_str(v.said, "");
    as_scene_drop(&v);
    assay_trace_free(t);
}

Test(export_traces, of_many_spans_of_code_the_longest_stay_with_all_that_is_around_them)
{
    enum { N = 300000 };
    assay_env   *env = fake_env();
    assay_trace *t = test_code(env);
    expect(as_trace_reserve(t, N, 0, 0, 0));
    for (uint64_t i = 0; i < N; i++)
        expect(as_trace_add_span(t, &(as_span){2000 + i * 10, 2000 + i * 10 + 1 + i % 9, 2, 0, AS_SPAN_USER, 0, 0}));
    expect(as_trace_reserve(t, 1, 0, 0, 0) && as_trace_add_span(t, &(as_span){1500, 2000 + N * 10, 3, 0, AS_SPAN_USER, 0, 0}));
    as_scene v;
    scene_of(env, t, false, &v);
    expect_nested(&v);
    expect(v.n_spans_shown < N && v.tracks[0].n + v.tracks[1].n == v.n_spans_shown);
    expect_has(v.said, "the longest ");
    as_scene_drop(&v);
    assay_trace_free(t);
}

Test(export_traces, names_are_clean_text_in_every_scene)
{
    assay_env   *env = fake_env();
    assay_trace *t = test_code(env);
    as_scene     v;
    scene_of(env, t, false, &v);
    for (size_t i = 0; i < v.n_names; i++) {
        expect(*v.names[i].name);
        expect(as_utf8_ok(v.names[i].name, strlen(v.names[i].name)));
        for (const char *c = v.names[i].name; *c; c++)
            expect((unsigned char)*c >= 32);
    }
    as_scene_drop(&v);
    assay_trace_free(t);
}

Test(export_traces, json_of_hostile_names_parses_and_holds_them)
{
    assay_env               *env = fake_env();
    assay_trace             *t = test_network(env, 1, 3, true);
    static const char *const formats[] = {"chrome", "speedscope"};
    for (size_t i = 0; i < AS_COUNT(formats); i++) {
        char   *text = text_of(env, t, formats[i]);
        json_t *root = NULL;
        expect_ok(env, as_json_parse(env, "test", formats[i], text, strlen(text), &root));
        expect_has(text, "a;b \\\"c\\\" \\\\d  e \xef\xbf\xbd<&>'%s\xe2\x82\xac (1) 7");
        json_decref(root);
        free(text);
    }
    assay_trace_free(t);
}

Test(export_traces, folded_stacks_are_self_times_with_the_root_first)
{
    assay_env   *env = fake_env();
    assay_trace *t = test_code(env);
    char        *text = text_of(env, t, "folded");
    expect_str(text, "main 200\n"
                     "main;a,b \"c\" \\d  e \xef\xbf\xbd<&>'%s\xe2\x82\xac (1) 7 300\n"
                     "main;io 200\n"
                     "main;io;compute 300\n"
                     "compute 50\n");
    free(text);
    assay_trace_free(t);
}

Test(export_traces, several_traces_are_several_processes)
{
    assay_env         *env = fake_env();
    assay_trace       *a = test_network(env, 1, 2, false), *b = test_network(env, 1, 3, false);
    const assay_trace *both[] = {a, b};
    as_scene           v;
    b->start_unix_ns += 5000;
    expect_ok(env, as_scene_open(env, both, 2, false, &v));
    expect_eq(v.n_processes, 2);
    expect_eq(v.processes[1].offset_ns, 5000);
    expect(v.processes[0].pid != v.processes[1].pid);
    expect_eq(sum_of(&v, AS_SCENE_TIME), 5000);
    expect_nested(&v);
    as_scene_drop(&v);
    assay_trace_free(a);
    assay_trace_free(b);
}

Test(export_traces, an_unknown_format_is_refused_with_those_that_there_are)
{
    assay_env   *env = fake_env();
    assay_trace *t = test_code(env);
    expect_fails(env, assay_trace_export(env, t, "svg", "/nonexistent/x"), ASSAY_BAD_INPUT, "chrome");
    expect_fails(env, assay_trace_export(env, t, "chrome", "/nonexistent/x"), ASSAY_IO, "/nonexistent/x");
    assay_trace_free(t);
}

Test(export_traces, every_format_takes_a_trace_in_which_nothing_happened)
{
    assay_env   *env = fake_env();
    assay_trace *t = test_trace(env, 1);
    for (const as_trace_export *const *tx = as_tx_table; *tx; tx++) {
        char *text = text_of(env, t, (*tx)->key);
        free(text);
    }
    assay_trace_free(t);
}
