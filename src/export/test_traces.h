/* test_traces.h - traces for tests of exports, made in memory: runs of a network, the user's own spans, looks, and memory events.  Names are as
 * hostile as names can be. */
#ifndef AS_EXPORT_TEST_TRACES_H
#define AS_EXPORT_TEST_TRACES_H

#include <stdio.h>
#include <stdlib.h>

#include "trace/trace.h"

#define HOSTILE "a;b \"c\" \\d\n\te\x01\xff<&>'%s\xe2\x82\xac (1) 7"

/* A fixture that cannot be made ends the program. */
static inline void test_must(bool ok)
{
    if (!ok) {
        fprintf(stderr, "test traces: cannot be made\n");
        abort();
    }
}

static inline assay_trace *test_trace(assay_env *env, double ns_per_tick)
{
    assay_trace *t;
    test_must(as_trace_new(env, &t) == ASSAY_OK);
    t->ns_per_tick = ns_per_tick;
    t->start_unix_ns = 1700000000000000000u;
    t->complete = true;
    return t;
}

/* Runs of two steps in one segment, 1000 ticks each: 400 and 500 of them in the steps.  With two threads each has its part of a step. */
static inline assay_trace *test_network(assay_env *env, double ns_per_tick, uint32_t n_runs, bool parts)
{
    assay_trace *t = test_trace(env, ns_per_tick);
    t->model = as_trace_keep(t, "net " HOSTILE);
    t->device = as_trace_keep(t, "cpu");
    t->batch = 8;
    t->threads = parts ? 2 : 1;
    t->n_runs = n_runs;
    for (int i = 0; i < 2; i++)
        test_must(as_trace_add_step(t, &(as_trace_step){.name = i ? HOSTILE : "conv1",
                                                        .op = i ? "Gemm" : "Conv",
                                                        .device = "cpu",
                                                        .kernel = "k_" HOSTILE,
                                                        .module = "",
                                                        .why = "",
                                                        .shapes = "",
                                                        .stage = "body",
                                                        .flops = i ? 300 : 1000,
                                                        .bytes_read = 64,
                                                        .bytes_written = 36}) == i);
    test_must(as_trace_reserve(t, (size_t)n_runs * (parts ? 8 : 4), n_runs, 0, 0));
    for (uint32_t run = 0; run < n_runs; run++) {
        uint64_t at = 10 + (uint64_t)run * 1100, begin[2] = {at + 20, at + 440}, end[2] = {at + 420, at + 940};
        for (uint16_t i = 0; i < 2; i++) {
            for (uint16_t thread = 0; parts && thread < 2; thread++)
                test_must(as_trace_add_span(t, &(as_span){begin[i] + 10u, end[i] - 50u * thread, i, run, AS_SPAN_PART, thread, 0}));
            test_must(as_trace_add_span(t, &(as_span){begin[i], end[i], i, run, AS_SPAN_STEP, 0, 0}));
        }
        test_must(as_trace_add_span(t, &(as_span){at + 10, at + 950, 0, run, AS_SPAN_SEGMENT, 0, 0}));
        test_must(as_trace_add_span(t, &(as_span){at, at + 1000, -1, run, AS_SPAN_RUN, 0, 0}));
        test_must(as_trace_add_sample(t, &(as_sample){at, at + 1000 + run % 7 * 100, UINT64_MAX, run, 1}));
    }
    test_must(as_trace_add_metric(t, &(as_trace_metric){.name = "loss", .unit = "1", .step = 1, .ticks = 50, .value = 0.25}) &&
              as_trace_add_metric(t, &(as_trace_metric){.name = "loss", .unit = "1", .step = 2, .ticks = 90, .value = -3}) &&
              as_trace_add_mark(t, &(as_trace_mark){.name = "measure", .ticks = 5}) &&
              as_trace_add_mark(t, &(as_trace_mark){.name = "measure", .ticks = 900, .ends = true}));
    return t;
}

/* Two threads of the user's own code.  The first: 0 to 1000, in it 100 to 400 and 400 to 900, and in that 500 to 500 (of no length) and 600 to
 * 900; the second: one span of 50.  1050 ticks in all. */
static inline assay_trace *test_code(assay_env *env)
{
    assay_trace             *t = test_trace(env, 1);
    static const char *const names[] = {"main", HOSTILE, "compute", "io"};
    for (int i = 0; i < 4; i++)
        test_must(as_trace_add_frame(t, &(as_trace_frame){.name = names[i],
                                                          .file = i == 1 ? "src/" HOSTILE ".c" : "",
                                                          .object = "",
                                                          .category = i == 3 ? "io" : "",
                                                          .flops = i == 2 ? 640 : 0,
                                                          .bytes = i == 2 ? 128 : 0,
                                                          .line = i,
                                                          .context = -1}) == i);
    test_must(as_trace_add_lane(t, &(as_trace_lane){.name = "worker " HOSTILE, .pid = 12, .tid = 13}) == 0 &&
              as_trace_add_lane(t, &(as_trace_lane){.name = "", .pid = 12, .tid = 14}) == 1 && as_trace_reserve(t, 8, 0, 0, 0));
    const as_span spans[] = {{100, 400, 1, 0, AS_SPAN_USER, 0, 0}, {500, 500, 3, 0, AS_SPAN_USER, 0, 0},
                             {600, 900, 2, 0, AS_SPAN_USER, 0, 0}, {400, 900, 3, 0, AS_SPAN_USER, 0, 0},
                             {0, 1000, 0, 0, AS_SPAN_USER, 0, 0},  {70, 120, 2, 0, AS_SPAN_USER, 1, 0}};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        test_must(as_trace_add_span(t, &spans[i]));
    return t;
}

/* A program that was looked at: main calls f, which calls itself; every look stands for 1 ms, and one in ten was off the CPU. */
static inline assay_trace *test_looks(assay_env *env, uint64_t n)
{
    assay_trace *t = test_trace(env, 1);
    int          outer =
        as_trace_add_frame(t, &(as_trace_frame){.name = "main", .file = "a.c", .object = "a.out", .line = 7, .context = -1});
    int f = as_trace_add_frame(t, &(as_trace_frame){.name = "f" HOSTILE, .object = "lib;x.so", .context = -1});
    int stacks[3] = {as_trace_add_stack(t, -1, outer)};
    stacks[1] = as_trace_add_stack(t, stacks[0], f);
    stacks[2] = as_trace_add_stack(t, stacks[1], f);
    test_must(stacks[2] == 2 && as_trace_add_lane(t, &(as_trace_lane){.name = "python3", .pid = 12, .tid = 13}) == 0);
    t->look_period_ns = 1e6;
    for (uint64_t i = 0; i < n; i++)
        test_must(as_trace_add_look(t, &(as_stack_sample){.ticks = i * 1000000,
                                                          .weight_ns = 1000000,
                                                          .stack = (uint32_t)(i / 2 % 3),
                                                          .state = i % 10 == 9 ? AS_STACK_OFF_CPU : AS_STACK_ON_CPU}));
    return t;
}

/* 100 and 50 bytes; the first is freed, 20 more; the second grows to 80.  170 allocated and 80 more by growing; peak 150; 100 at the end. */
static inline assay_trace *test_memory(assay_env *env)
{
    assay_trace *t = test_trace(env, 1);
    int          a = as_trace_add_frame(t, &(as_trace_frame){.name = "load " HOSTILE, .context = -1});
    int          b = as_trace_add_frame(t, &(as_trace_frame){.name = "grow", .context = -1});
    int          outer = as_trace_add_stack(t, -1, a), inner = as_trace_add_stack(t, outer, b);
    test_must(outer == 0 && inner == 1 && as_trace_add_place(t, "host") == 0 &&
              as_trace_add_lane(t, &(as_trace_lane){.name = "main", .pid = 1, .tid = 1}) == 0);
    const as_memory_event events[] = {
        {.ticks = 10, .id = 1, .bytes = 100, .stack = 0},
        {.ticks = 20, .id = 2, .bytes = 50, .stack = 1},
        {.ticks = 30, .id = 1, .bytes = 100, .stack = 1, .kind = AS_MEMORY_FREE},
        {.ticks = 40, .id = 3, .bytes = 20, .stack = AS_NO_STACK},
        {.ticks = 50, .id = 2, .bytes = 80, .stack = 1, .kind = AS_MEMORY_RESIZE},
        {.ticks = 60, .id = 9, .bytes = 5, .stack = 1, .kind = AS_MEMORY_FREE}, /* never seen before */
        {.ticks = 70, .took_ticks = 5, .id = 2, .bytes = 80, .stack = 1, .kind = AS_MEMORY_COPY}};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        test_must(as_trace_add_memory_event(t, &events[i]));
    return t;
}

#endif
