/* heap_test.c - counts of allocations brought into order: places, owners, and what grows. */
#include "analysis/heap/heap.h"

#include <stdio.h>

#include "analysis/analysis.h"
#include "tests/runner/test.h"

static assay_env *fake_env(void)
{
    static assay_env env;
    env = (assay_env){0};
    as_clock_open_fake(&env.clock, 1000);
    return &env;
}

/* main calls each of these, which allocates; and one of them by a wrapper. */
enum { STEADY, LEAKY, WRAPPED, N_STACKS };

static assay_trace *heap_trace(assay_env *env)
{
    assay_trace *t;
    expect_ok(env, as_trace_new(env, &t));
    t->ns_per_tick = 1;
    t->subject = AS_OF_PROGRAM;
    int top = as_trace_add_frame(t, &(as_trace_frame){.name = "main", .context = -1});
    int steady = as_trace_add_frame(t, &(as_trace_frame){.name = "steady", .file = "src/a.c", .line = 3, .context = -1});
    int leaky = as_trace_add_frame(t, &(as_trace_frame){.name = "leaky", .file = "src/a.c", .line = 9, .context = -1});
    int wrapper = as_trace_add_frame(t, &(as_trace_frame){.name = "operator new(unsigned long)", .context = -1});
    int root = as_trace_add_stack(t, -1, top);
    expect_eq(as_trace_add_stack(t, root, steady), 1 + STEADY);
    expect_eq(as_trace_add_stack(t, root, leaky), 1 + LEAKY);
    expect_eq(as_trace_add_stack(t, 1 + STEADY, wrapper), 1 + WRAPPED);
    expect_eq(as_trace_add_lane(t, &(as_trace_lane){.name = "program", .pid = 5, .tid = 5}), 0);
    expect_eq(as_trace_add_place(t, "host"), 0);
    return t;
}

static void number(assay_trace *t, const char *name, uint64_t ticks, double value)
{
    expect(as_trace_add_metric(t, &(as_trace_metric){.name = name, .unit = "1", .ticks = ticks, .value = value}));
}

static void site(assay_trace *t, uint64_t ticks, uint32_t which, uint64_t live, uint64_t peak, uint64_t allocs, uint64_t frees)
{
    expect(as_trace_add_memory_site(t, &(as_memory_site){.ticks = ticks,
                                                         .stack = 1 + which,
                                                         .live_bytes = live,
                                                         .peak_bytes = peak,
                                                         .allocs = allocs,
                                                         .frees = frees,
                                                         .bytes = 10 * allocs}));
}

Test(heap, a_stack_is_named_after_its_own_program)
{
    assay_env   *env = fake_env();
    assay_trace *t = heap_trace(env);
    int          outside = as_trace_add_frame(t, &(as_trace_frame){.name = "start_thread", .object = "libc.so.6", .context = -1});
    int          nameless = as_trace_add_frame(t, &(as_trace_frame){.name = "[unknown]", .object = "tool", .context = -1});
    int          exported = as_trace_add_frame(t, &(as_trace_frame){.name = "tool_run", .object = "tool", .context = -1});
    int          string = as_trace_add_frame(
                 t, &(as_trace_frame){.name = "void std::string::_M_construct<char>(char)", .object = "libstdc++.so.6", .context = -1});
    int root = as_trace_add_stack(t, -1, outside);
    int stripped = as_trace_add_stack(t, as_trace_add_stack(t, root, nameless), string);
    int half = as_trace_add_stack(t, as_trace_add_stack(t, root, exported), nameless);
    expect_eq(as_heap_frame(t, (uint32_t)stripped), nameless);
    expect_eq(as_heap_frame(t, (uint32_t)half), exported);
    expect_eq(as_heap_frame(t, AS_NO_STACK), -1);
    assay_trace_free(t);
}

Test(heap, a_trace_without_counts_has_no_processes)
{
    assay_env   *env = fake_env();
    assay_trace *t = heap_trace(env);
    as_arena     arena = {0};
    as_heap      h;
    expect(as_heap_read(t, &arena, &h));
    expect(h.n == 0 && h.main == -1);
    as_arena_drop(&arena);
    assay_trace_free(t);
}

Test(heap, the_last_count_of_a_stack_is_its_own_and_places_add_up)
{
    assay_env   *env = fake_env();
    assay_trace *t = heap_trace(env);
    as_arena     arena = {0};
    as_heap      h;
    site(t, 10, STEADY, 100, 100, 1, 0);
    site(t, 20, STEADY, 40, 70, 9, 5);
    site(t, 20, WRAPPED, 5, 30, 3, 2);
    site(t, 20, LEAKY, 8, 1, 8, 0);
    number(t, AS_PROCESS_LIVE, 20, 53);
    number(t, AS_PROCESS_PEAK, 20, 101);
    expect(as_heap_read(t, &arena, &h));
    expect(h.n == 1 && h.main == 0 && h.processes[0].n_sites == 3 && h.processes[0].n_places == 2);
    const as_heap_place *p = h.processes[0].places;
    expect_str(t->frames[p[0].frame].name, "steady"); /* not its wrapper */
    expect(p[0].sum.peak_bytes == 100 && p[0].sum.allocs == 12 && p[0].sum.live_bytes == 45 && p[0].n_stacks == 2);
    expect_eq(p[0].sum.peak_bytes + p[1].sum.peak_bytes, (uint64_t)h.processes[0].peak);
    as_arena_drop(&arena);
    assay_trace_free(t);
}

/* Looks at the counts every tick: one stack grows to the end, one fills up in the first half. */
static void looks(assay_trace *t, int n, bool is_leak)
{
    for (int i = 1; i <= n; i++) {
        int      filled = i < n / 2 ? i : n / 2;
        uint64_t live = (uint64_t)(is_leak ? i : filled) * 8;
        site(t, (uint64_t)i * 1000000, LEAKY, live, live, (uint64_t)i, 0);
        site(t, (uint64_t)i * 1000000, STEADY, i % 2 ? 100 : 50, 100, (uint64_t)i, (uint64_t)i - 1);
    }
    number(t, AS_PROCESS_LIVE, (uint64_t)n * 1000000, 1);
    number(t, AS_PROCESS_PEAK, (uint64_t)n * 1000000, 1);
}

static size_t leaks_of(int n, bool is_leak, double *slope)
{
    assay_env   *env = fake_env();
    assay_trace *t = heap_trace(env);
    as_arena     arena = {0};
    as_heap      h;
    looks(t, n, is_leak);
    t->memory_events_lost = 1;
    expect(as_heap_read(t, &arena, &h));
    size_t found = h.processes[0].n_leaks;
    if (found) {
        expect_str(t->frames[h.processes[0].leaks[0].frame].name, "leaky");
        *slope = h.processes[0].leaks[0].slope;
    }
    expect_eq(h.processes[0].n_steps >= AS_HEAP_STEPS, n >= AS_HEAP_STEPS);
    as_arena_drop(&arena);
    assay_trace_free(t);
    return found;
}

Test(heap, what_grows_to_the_end_is_a_candidate_and_what_fills_up_is_not)
{
    double slope = 0;
    expect_eq(leaks_of(200, true, &slope), 1);
    expect_near(slope, 8000, 100); /* 8 bytes every ms */
    expect_eq(leaks_of(200, false, &slope), 0);
    expect_eq(leaks_of(10, true, &slope), 0); /* too few to tell */
}

/* The same by single events: iterations that allocate two blocks and free one. */
Test(heap, growth_is_found_in_the_events_where_all_are_known)
{
    for (int is_leak = 0; is_leak < 2; is_leak++) {
        assay_env   *env = fake_env();
        assay_trace *t = heap_trace(env);
        as_arena     arena = {0};
        as_heap      h;
        for (uint64_t i = 0; i < 400; i++) {
            as_memory_event a = {.ticks = 100 * i, .id = 1000, .bytes = 64, .stack = 1 + STEADY}, f = a,
                            l = {.ticks = 100 * i + 50, .id = 5000 + (is_leak ? i : 0), .bytes = 16, .stack = 1 + LEAKY}, lf = l;
            f.kind = lf.kind = AS_MEMORY_FREE;
            expect(as_trace_add_memory_event(t, &a) && as_trace_add_memory_event(t, &l) && as_trace_add_memory_event(t, &f));
            if (!is_leak)
                expect(as_trace_add_memory_event(t, &lf));
        }
        site(t, 40000, LEAKY, is_leak ? 6400 : 16, 1, 400, is_leak ? 0 : 399);
        site(t, 40000, STEADY, 0, 1, 400, 400);
        number(t, AS_PROCESS_LIVE, 40000, 6400);
        expect(as_heap_read(t, &arena, &h));
        expect_eq(h.processes[0].n_leaks, is_leak);
        expect_eq(h.processes[0].n_steps, AS_HEAP_STEPS);
        as_arena_drop(&arena);
        assay_trace_free(t);
    }
}

Test(heap, allocations_reach_the_facts_with_their_owners)
{
    assay_env   *env = fake_env();
    assay_trace *t = heap_trace(env);
    assay_facts *f;
    site(t, 20, STEADY, 40, 70, 9, 5);
    site(t, 20, LEAKY, 8, 31, 8, 0);
    number(t, AS_PROCESS_LIVE, 20, 48);
    number(t, AS_PROCESS_PEAK, 20, 101);
    number(t, AS_PROCESS_ALLOCS, 20, 17);
    expect_ok(env, assay_analyse(env, t, &f));
    expect_near(as_facts_metric(f, "allocations.peak")->value, 101, 0);
    expect_near(as_facts_metric(f, "allocations.peak_owned")->value, 101, 0);
    expect_eq(as_facts_metric(f, "allocations.frees")->kind, ASSAY_UNAVAILABLE);
    const as_table *peak = as_facts_table_find(f, "allocations", "peak");
    expect(peak && peak->n_rows == 2);
    expect_str(as_words_at(peak, 0, "name"), "steady");
    expect_str(as_words_at(peak, 0, "where"), "a.c:3");
    assay_facts_free(f);
    assay_trace_free(t);
}
