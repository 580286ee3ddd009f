/* test_trace.h - a trace with known numbers, for tests: 4 steps, and samples whose times are plain arithmetic.
 *
 * A run is 100 us on a simulated clock of 1 ns per tick; sample i is 100 us + (i % 11 - 5) * 100 ns, so the median is exactly 100
 * us.  The body's steps take 50, 30, 15 and `tail_us` us of each kept run; step 4 is a set-up step.  A neighbour can be planted
 * that takes the CPU away from random steps. */
#ifndef AS_ANALYSIS_TEST_TRACE_H
#define AS_ANALYSIS_TEST_TRACE_H

#include <stdio.h>

#include "tests/runner/test.h"
#include "trace/trace.h"

typedef struct as_synthetic {
    size_t      n_samples;  /* 0: 200 */
    int         n_kept;     /* runs with spans; 0: 20 */
    double      tail_us;    /* last step: 4 accounts for 99 % of the time, 1 leaves 4 % unexplained; 0: 4 */
    bool        detailed;   /* the kept runs come after the timed ones */
    bool        no_steps;   /* only RUN spans; detail is run */
    bool        no_sensors; /* every sensor unavailable */
    int         disturbed;  /* of 100 samples, how many have CPU time at half their wall */
    double      drift;      /* the last third is slower by this share */
    int         preempted;  /* how many of 100 runs have a random step that lasts 20 to 400 us longer */
    double      slowed;     /* all kept runs last longer by this share: a neighbour that was there only during these runs */
    bool        alone;      /* every run is a sample of its own, so that CPU time tells which ones were pre-empted */
    const char *name;       /* of the first step and the model; NULL: "fc1", "synthetic-mlp" */
    const char *modules[4]; /* of the body's steps; NULL: none */
} as_synthetic;

static inline void as_synthetic_steps(assay_trace *t, const as_synthetic *s)
{
    as_trace_refusal refused[] = {{"gemm_f32_avx512", "this CPU has no avx512f"}};
    as_trace_step    steps[] = {
           {.name = s->name ? s->name : "fc1",
            .op = "Gemm",
            .device = "cpu",
            .kernel = "gemm_f32_avx2",
            .why = "widest that the CPU has",
            .refused = refused,
            .n_refused = 1,
            .shapes = "f32[1,784] f32[784,128] -> f32[1,128]",
            .stage = "body",
            .segment = 1,
            .flops = 5000000,
            .bytes_read = 400000,
            .bytes_written = 100000,
            .working_set_bytes = 500000},
           {.name = "relu1",
            .op = "Relu",
            .device = "cpu",
            .kernel = "relu_f32_avx2",
            .why = "widest that the CPU has",
            .shapes = "f32[1,128] -> f32[1,128]",
            .inputs = (const int[]){0},
            .n_inputs = 1,
            .stage = "body",
            .segment = 1,
            .flops = 128,
            .bytes_read = 512,
            .bytes_written = 512,
            .working_set_bytes = 1024},
           {.name = "fc2",
            .op = "Gemm",
            .device = "cpu",
            .kernel = "gemm_f32_avx2",
            .why = "widest that the CPU has",
            .shapes = "f32[1,128] f32[128,10] -> f32[1,10]",
            .inputs = (const int[]){1},
            .n_inputs = 1,
            .stage = "body",
            .segment = 1,
            .flops = 3000000,
            .bytes_read = 200000,
            .bytes_written = 100000,
            .working_set_bytes = 300000},
           {.name = "softmax",
            .op = "Softmax",
            .device = "cpu",
            .kernel = "softmax_f32_scalar",
            .why = "the only one",
            .shapes = "f32[1,10] -> f32[1,10]",
            .inputs = (const int[]){0, 2},
            .n_inputs = 2,
            .stage = "body",
            .segment = 1,
            .flops = 40,
            .special = 10,
            .bytes_read = 40,
            .bytes_written = 40,
            .working_set_bytes = 80},
           {.name = "pack fc1.weight",
            .op = "Pack",
            .device = "cpu",
            .kernel = "pack",
            .why = "gemm_f32_avx2 asks for it",
            .shapes = "f32[784,128]",
            .stage = "prologue",
            .bytes_read = 401408,
            .bytes_written = 401408,
            .working_set_bytes = 802816},
    };
    for (size_t i = 0; i < 4; i++)
        steps[i].module = s->modules[i];
    for (size_t i = 0; i < 5; i++)
        expect_eq(as_trace_add_step(t, &steps[i]), (int)i);
}

/* The pre-emption of a run in ns, and which step it hits; 0: none. */
static inline uint64_t as_synthetic_stolen(const as_synthetic *s, uint64_t run, int *step)
{
    uint64_t x = (run + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    *step = (int)(x / 100 % 4);
    return (int)(x % 100) < s->preempted ? 20000 + x / 400 % 380000 : 0;
}

static inline void as_synthetic_spans(assay_trace *t, const as_synthetic *s)
{
    double   tail_us = s->tail_us > 0 ? s->tail_us : 4;
    uint64_t lengths[] = {50000, 30000, 15000, (uint64_t)(tail_us * 1000)};
    int      n_kept = s->n_kept ? s->n_kept : 20;
    expect(as_trace_reserve(t, (size_t)n_kept * 5 + 1, 0, 0, 0));
    for (int r = 0; r < n_kept; r++) {
        uint32_t run = (uint32_t)r + (s->detailed ? (uint32_t)t->n_runs : 0);
        uint64_t at = 1000000 + (uint64_t)r * (s->preempted ? 600000 : 200000);
        int      hit;
        uint64_t stolen = as_synthetic_stolen(s, run, &hit) + (uint64_t)(s->slowed * 100000);
        expect(as_trace_add_span(
            t, &(as_span){.begin_ticks = at, .end_ticks = at + 100000 + stolen, .step = -1, .run = run, .kind = AS_SPAN_RUN}));
        for (int i = 0; i < 4 && !s->no_steps; i++) {
            uint64_t end = at + lengths[i] + (i == hit ? stolen : 0);
            expect(
                as_trace_add_span(t, &(as_span){.begin_ticks = at, .end_ticks = end, .step = i, .run = run, .kind = AS_SPAN_STEP}));
            at = end;
        }
    }
}

static inline void as_synthetic_samples(assay_trace *t, const as_synthetic *s)
{
    size_t   n = s->n_samples ? s->n_samples : 200;
    uint64_t at = 1000000;
    expect(as_trace_reserve(t, 0, n, 1, 16));
    expect(as_trace_add_warmup(t, &(as_sample){.begin_ticks = 0, .end_ticks = 900000, .n_runs = 7, .cpu_ns = UINT64_MAX}));
    for (size_t i = 0; i < n; i++) {
        uint64_t wall = 2 * (uint64_t)(100000 + ((int)(i % 11) - 5) * 100);
        wall += i >= n - n / 3 ? (uint64_t)((double)wall * s->drift) : 0;
        bool      disturbed = (int)(i * 7 % 100) < s->disturbed;
        int       hit;
        as_sample sample = {.begin_ticks = at,
                            .end_ticks = at + wall,
                            .cpu_ns = disturbed ? wall / 2 : wall,
                            .first_run = (uint32_t)(2 * i),
                            .n_runs = 2};
        if (s->alone) {
            wall = 100000 + as_synthetic_stolen(s, i, &hit);
            sample =
                (as_sample){.begin_ticks = at, .end_ticks = at + wall, .cpu_ns = 100000, .first_run = (uint32_t)i, .n_runs = 1};
        }
        expect(as_trace_add_sample(t, &sample));
        at += wall + 1000;
    }
    t->n_runs = s->alone ? n : 2 * n;
}

static inline void as_synthetic_sensors(assay_trace *t, const as_synthetic *s)
{
    const char     *off = s->no_sensors ? "switched off by --sensors" : NULL;
    as_trace_sensor sensors[] = {
        {"switches.involuntary", "1", "getrusage(RUSAGE_THREAD).ru_nivcsw", off, "delta"},
        {"memory.resident.peak", "byte", "getrusage(RUSAGE_SELF).ru_maxrss", off, "peak"},
        {"cpu.frequency", "hertz", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", off, "level"},
        {"cache.misses", "1", "perf_event_open", "perf_event_open: Permission denied; kernel.perf_event_paranoid is 4", "delta"},
        {"energy.package", "joule", "powercap intel-rapl:0", "no RAPL domain in this virtual machine", "delta"}};
    for (size_t i = 0; i < 5; i++)
        expect_eq(as_trace_add_sensor(t, &sensors[i]), (int)i);
    for (uint32_t i = 0; i < 3 && !off; i++) {
        expect(as_trace_add_reading(t, &(as_reading){.sensor = 0, .sample = i, .value = 10 + i * 2}));
        expect(as_trace_add_reading(t, &(as_reading){.sensor = 1, .sample = i, .value = 4096.0 * (i + 1)}));
        expect(as_trace_add_reading(t, &(as_reading){.sensor = 2, .sample = i, .value = 3e9 + i * 1e8}));
    }
}

static inline assay_trace *as_synthetic_trace(assay_env *env, as_synthetic s)
{
    assay_trace *t;
    expect_ok(env, as_trace_new(env, &t));
    t->clock_name = "tsc", t->ns_per_tick = 1, t->clock_cost_ns = 8, t->start_unix_ns = 1750000000000000000u;
    t->detail = s.no_steps ? AS_DETAIL_RUN : s.detailed ? AS_DETAIL_RUN : AS_DETAIL_STEP;
    t->detail_why = s.no_steps || s.detailed ? "spans by step would cost 0.9 % of the run" : "";
    t->model = s.name ? s.name : "synthetic-mlp", t->device = "cpu", t->batch = 8, t->threads = 1;
    expect(as_trace_add_note(t, "machine.cpu.model", "Imaginary 4000, 2 cores") &&
           as_trace_add_note(t, "software.assay", ASSAY_VERSION));
    expect(as_trace_add_note(t, "machine.memory.bytes", "17179869184") &&
           as_trace_add_note(t, "machine.governor", "unavailable: no cpufreq in this virtual machine"));
    as_synthetic_steps(t, &s);
    as_synthetic_samples(t, &s);
    as_synthetic_spans(t, &s);
    as_synthetic_sensors(t, &s);
    as_trace_buffer buffers[] = {{"x", "input", "cpu", 3136, 0, 0, 0},
                                 {"h1", "activation", "cpu", 512, 3136, 0, 2},
                                 {"y", "output", "cpu", 40, 3648, 2, 4},
                                 {"fc1.weight packed", "packed", "cpu", 401408, 4096, 0, 4},
                                 {"scratch", "scratch", "cpu", 2048, 405504, 2, 3}};
    for (size_t i = 0; i < 5; i++)
        expect(as_trace_add_buffer(t, &buffers[i]));
    t->plan_ns = 2e6, t->compile_ns = 5e5, t->first_run_ns = 3e5, t->span_cost_ns = 20;
    t->peak_bytes_planned = t->peak_bytes_observed = 407552;
    t->param_bytes = 407080, t->activation_bytes = 3688, t->scratch_bytes = 2048;
    return t;
}

#endif
