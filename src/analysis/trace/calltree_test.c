/* calltree_test.c - trees of calls with known times: sums, recursion, callers and callees, and records that contradict themselves. */
#include "analysis/trace/calltree.h"

#include <math.h>

#include "analysis/duel/test_lab.h"

static assay_trace *empty_trace(assay_env *env)
{
    assay_trace *t;
    *env = (assay_env){0};
    as_clock_open_fake(&env->clock, 1000);
    expect_ok(env, as_trace_new(env, &t));
    t->clock_name = "fake", t->ns_per_tick = 1;
    return t;
}

static int frame(assay_trace *t, const char *name, int line)
{
    return as_trace_add_frame(t, &(as_trace_frame){.name = name, .object = "a.out", .line = line, .context = -1});
}

static void look(assay_trace *t, int stack, uint64_t ns, as_stack_state state)
{
    expect(as_trace_add_look(
        t,
        &(as_stack_sample){.ticks = t->n_looks, .weight_ns = ns, .stack = (uint32_t)stack, .lane = 0, .state = (uint16_t)state}));
}

static const as_call_function *function(const as_call_tree *tree, const char *name)
{
    for (size_t i = 0; i < tree->n_functions; i++)
        if (!strcmp(tree->functions[i].name, name))
            return &tree->functions[i];
    fail("the tree has no function %s", name);
    return NULL;
}

/* The books of every tree: self times sum to the whole, and a total is the self time and the totals of the children. */
static void expect_books(const as_call_tree *tree)
{
    uint64_t self = 0, by_function = 0;
    for (size_t i = 0; i < tree->n_nodes; i++) {
        uint64_t parts = tree->nodes[i].self, last = UINT64_MAX;
        self += tree->nodes[i].self;
        for (int c = tree->nodes[i].first_child; c >= 0; c = tree->nodes[c].next) {
            expect(c > (int)i && tree->nodes[c].parent == (int)i && tree->nodes[c].total <= last);
            parts += tree->nodes[c].total;
            last = tree->nodes[c].total;
        }
        expect_eq(parts, tree->nodes[i].total);
    }
    for (size_t i = 0; i < tree->n_functions; i++) {
        by_function += tree->functions[i].self;
        expect(tree->functions[i].self <= tree->functions[i].total && tree->functions[i].total <= tree->whole);
    }
    expect_eq(self, tree->whole);
    expect_eq(by_function, tree->whole);
}

/* main > fib > fib > fib and main > write: fib is in three nodes and is one function. */
Test(calltree, recursion_counts_once_in_the_view_by_function)
{
    assay_env    env;
    as_arena     arena = {0};
    assay_trace *t = empty_trace(&env);
    expect_eq(as_trace_add_lane(t, &(as_trace_lane){.name = "a", .pid = 1, .tid = 1}), 0);
    int main_at = as_trace_add_stack(t, -1, frame(t, "main", 1)), fib_frame = frame(t, "fib", 2), other_line = frame(t, "fib", 3);
    int one = as_trace_add_stack(t, main_at, fib_frame), two = as_trace_add_stack(t, one, fib_frame),
        three = as_trace_add_stack(t, two, other_line), io = as_trace_add_stack(t, main_at, frame(t, "write", 9));
    as_trace_add_stack(t, -1, frame(t, "never seen", 1));
    look(t, main_at, 10, AS_STACK_ON_CPU);
    look(t, one, 20, AS_STACK_ON_CPU);
    look(t, two, 30, AS_STACK_ON_CPU);
    look(t, three, 40, AS_STACK_ON_CPU);
    look(t, io, 5, AS_STACK_OFF_CPU);
    as_call_tree tree = as_call_tree_of_samples(&arena, t);
    expect(!tree.unknown);
    expect_books(&tree);
    expect_eq(tree.whole, 105);
    expect_eq(tree.waiting, 5);
    expect_eq(tree.n_nodes, 6); /* root, main, three of fib, write: no node of a stack that was not seen */
    expect_eq(function(&tree, "fib")->total, 90);
    expect_eq(function(&tree, "fib")->self, 90);
    expect_eq(function(&tree, "fib")->count, 3);
    expect_eq(function(&tree, "main")->total, 105);
    expect_eq(function(&tree, "main")->self, 10);
    expect_eq(function(&tree, "write")->waiting, 5);
    size_t        n;
    int           fib = (int)(function(&tree, "fib") - tree.functions);
    as_call_edge *callers = as_call_callers(&arena, &tree, fib, &n);
    expect_eq(n, 2);
    expect_str(tree.functions[callers[0].function].name, "main");
    expect_eq(callers[0].total, 90);
    expect_str(tree.functions[callers[1].function].name, "fib");
    expect_eq(callers[1].total, 70); /* the second call holds the third: once */
    as_call_edge *callees = as_call_callees(&arena, &tree, (int)(function(&tree, "main") - tree.functions), &n);
    expect_eq(n, 2);
    expect_str(tree.functions[callees[0].function].name, "fib");
    expect_eq(callees[1].total, 5);
    as_arena_drop(&arena);
    assay_trace_free(t);
}

static void span(assay_trace *t, int frame_at, int lane, uint64_t begin, uint64_t end)
{
    expect(as_trace_reserve(t, 1, 0, 0, 0));
    expect(as_trace_add_span(
        t, &(as_span){.begin_ticks = begin, .end_ticks = end, .step = frame_at, .kind = AS_SPAN_USER, .thread = (uint16_t)lane}));
}

/* Written when they end, as a recorder does: the inner ones come first. */
Test(calltree, spans_nest_by_time_on_their_own_lane)
{
    assay_env    env;
    as_arena     arena = {0};
    assay_trace *t = empty_trace(&env);
    for (uint32_t i = 0; i < 2; i++)
        expect_eq(as_trace_add_lane(t, &(as_trace_lane){.name = "loop", .pid = 1, .tid = 7 + i}), (int)i);
    int step = frame(t, "step", 1), load = frame(t, "load", 2), math = frame(t, "math", 3);
    span(t, load, 0, 100, 140);
    span(t, math, 0, 150, 190);
    span(t, step, 0, 100, 200);
    span(t, load, 0, 300, 310);
    span(t, step, 0, 300, 400);
    span(t, math, 1, 120, 180); /* at the same time, on another lane: not inside */
    as_call_tree tree = as_call_tree_of_spans(&arena, t);
    expect(!tree.unknown);
    expect_books(&tree);
    expect_eq(tree.whole, 300 + 60);
    expect_eq(function(&tree, "step")->total, 200);
    expect_eq(function(&tree, "step")->self, 110);
    expect_eq(function(&tree, "step")->count, 2);
    expect_eq(function(&tree, "load")->total, 50);
    expect_eq(function(&tree, "math")->total, 100);
    expect_eq(function(&tree, "thread 7 loop")->self, 100); /* between the two steps */
    expect(!function(&tree, "thread 7 loop")->is_code && function(&tree, "math")->is_code);
    as_arena_drop(&arena);
    assay_trace_free(t);
}

Test(calltree, a_span_that_outlives_its_parent_is_cut_and_counted)
{
    assay_env    env;
    as_arena     arena = {0};
    assay_trace *t = empty_trace(&env);
    expect_eq(as_trace_add_lane(t, &(as_trace_lane){.name = "", .pid = 1, .tid = 1}), 0);
    int outer = frame(t, "outer", 1), inner = frame(t, "inner", 2);
    span(t, outer, 0, 0, 100);
    span(t, inner, 0, 60, 130);
    as_call_tree tree = as_call_tree_of_spans(&arena, t);
    expect_books(&tree);
    expect_eq(tree.n_crossing, 1);
    expect_eq(function(&tree, "inner")->total, 40);
    expect_eq(tree.whole, 130); /* the last 30 ns belong to the thread */
    as_arena_drop(&arena);
    assay_trace_free(t);
}

static void total(assay_trace *t, int stack, uint64_t count, uint64_t ticks)
{
    expect(as_trace_add_stack_total(
        t, &(as_stack_total){.count = count, .sum_ticks = ticks, .min_ticks = 1, .max_ticks = ticks, .stack = (uint32_t)stack}));
}

/* A thread of 1000 ticks: 3 steps of 900 in all, in which 3 loads took 300; one step was kept as a span, which does not count again. */
Test(calltree, totals_of_call_paths_count_spans_that_were_not_kept)
{
    assay_env    env;
    as_arena     arena = {0};
    assay_trace *t = empty_trace(&env);
    t->ns_per_tick = .5;
    expect_eq(as_trace_add_lane(t, &(as_trace_lane){.name = "main", .pid = 1, .tid = 1}), 0);
    int thread = as_trace_add_stack(t, -1, frame(t, "main thread", 0)), step_frame = frame(t, "step", 1),
        step = as_trace_add_stack(t, thread, step_frame), load = as_trace_add_stack(t, step, frame(t, "load", 2));
    total(t, thread, 1, 1000);
    total(t, step, 3, 900);
    total(t, load, 3, 300);
    span(t, step_frame, 0, 0, 300);
    as_call_tree tree = as_call_tree_of_spans(&arena, t);
    expect(!tree.unknown);
    expect_books(&tree);
    expect_eq(tree.whole, 1000);
    expect(as_call_ns(&tree, tree.whole) == 500);
    expect_eq(function(&tree, "step")->total, 900);
    expect_eq(function(&tree, "step")->self, 600);
    expect_eq(function(&tree, "step")->count, 3);
    expect_eq(function(&tree, "main thread")->self, 100);
    expect(!function(&tree, "main thread")->is_code);
    as_arena_drop(&arena);
    assay_trace_free(t);
}

Test(calltree, layers_sum_to_the_mean_of_the_run)
{
    lab l = lab_open((as_synthetic){.modules = {"net.a", "net.a", "net.b", ""}});
    lab_run(&l);
    as_arena     arena = {0};
    as_call_tree tree = as_call_tree_of_layers(&arena, l.trace, l.facts);
    expect(!tree.unknown);
    expect_books(&tree);
    expect(fabs(as_call_ns(&tree, tree.whole) - 100000) < 1e-6);
    expect(fabs(as_call_ns(&tree, function(&tree, "net.a")->total) - 80000) < 1e-6);
    expect(fabs(as_call_ns(&tree, function(&tree, "net")->total) - 95000) < 1e-6);
    expect(fabs(as_call_ns(&tree, function(&tree, "run")->self) - 1000) < 1e-6); /* between the steps */
    as_arena_drop(&arena);
    lab_close(&l);
}

/* A stack a hundred thousand deep must neither overflow the program's stack nor take quadratic time. */
Test(calltree, a_deep_stack_is_no_problem)
{
    assay_env    env;
    as_arena     arena = {0};
    assay_trace *t = empty_trace(&env);
    expect_eq(as_trace_add_lane(t, &(as_trace_lane){.name = "", .pid = 1, .tid = 1}), 0);
    int f[2] = {frame(t, "ping", 1), frame(t, "pong", 2)}, at = -1;
    for (int i = 0; i < 100000; i++)
        at = as_trace_add_stack(t, at, f[i % 2]);
    look(t, at, 7, AS_STACK_ON_CPU);
    as_call_tree tree = as_call_tree_of_samples(&arena, t);
    expect_books(&tree);
    expect_eq(function(&tree, "ping")->total, 7);
    expect_eq(function(&tree, "ping")->count, 1);
    size_t n;
    as_call_callers(&arena, &tree, (int)(function(&tree, "pong") - tree.functions), &n);
    expect_eq(n, 1);
    as_arena_drop(&arena);
    assay_trace_free(t);
}

Test(calltree, nothing_recorded_is_said_with_its_reason)
{
    assay_env    env;
    as_arena     arena = {0};
    assay_trace *t = empty_trace(&env);
    expect_has(as_call_tree_of_samples(&arena, t).unknown, "no stack was sampled");
    expect_has(as_call_tree_of_spans(&arena, t).unknown, "no spans");
    as_arena_drop(&arena);
    assay_trace_free(t);
}
