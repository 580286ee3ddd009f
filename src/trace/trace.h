/* trace.h - the record of what happened: the waist of the laboratory.
 *
 * Self-contained: what ran, on what, with which kernel and why not another, what it cost, when, and what the
 * sensors saw.  Readers know this header and nothing about devices.  In memory it is this struct; in a file it is
 * append-only chunks (docs/trace-format.md), readable while it grows and after a crash.
 *
 * Times are ticks of the trace's clock, relative to `start_ticks`. */
#ifndef AS_TRACE_TRACE_H
#define AS_TRACE_TRACE_H

#include "base/arena.h"
#include "base/env.h"

/* --- Spans: the hot record ------------------------------------------------------------------------ */

typedef enum as_span_kind {
    AS_SPAN_RUN = 0, /* one whole call; step is -1 */
    AS_SPAN_SEGMENT, /* one fork on one device; step is its first step */
    AS_SPAN_STEP,    /* one plan step */
    AS_SPAN_PART,    /* one thread's share of a step, without waiting */
    AS_SPAN_DEVICE   /* a step by the device's own timestamps */
} as_span_kind;

/* 32 bytes. */
typedef struct as_span {
    uint64_t begin_ticks, end_ticks;
    int32_t  step;
    uint32_t run; /* number of the run, counted from the first measured one */
    uint16_t kind;
    uint16_t thread;
    uint32_t zero;
} as_span;

/* A pre-faulted ring of spans for one thread; never blocks, never allocates: when full it counts drops.
 * Single writer; drained between runs by the same or a joined thread. */
typedef struct as_ring {
    as_span *spans;
    uint32_t capacity, used;
    uint64_t dropped;
    uint32_t run;
    uint16_t thread;
} as_ring;

static inline void as_ring_add(as_ring *r, as_span_kind kind, int step, uint64_t begin, uint64_t end)
{
    if (__builtin_expect(r->used == r->capacity, 0)) {
        r->dropped++;
        return;
    }
    as_span *s = &r->spans[r->used++];
    s->begin_ticks = begin;
    s->end_ticks = end;
    s->step = step;
    s->run = r->run;
    s->kind = (uint16_t)kind;
    s->thread = r->thread;
    s->zero = 0;
}

/* How fine a run is recorded; each level includes those before it. */
typedef enum as_detail { AS_DETAIL_RUN = 0, AS_DETAIL_SEGMENT, AS_DETAIL_STEP, AS_DETAIL_PART } as_detail;

/* What a device writes its spans into: rings[t] for thread t; NULL rings: record nothing. */
typedef struct as_recorder {
    as_ring  *rings;
    int       n_rings;
    as_detail detail;
} as_recorder;

/* --- What the trace holds ------------------------------------------------------------------------- */

typedef struct as_trace_refusal {
    const char *kernel, *why;
} as_trace_refusal;

/* One step of the plan, by index. */
typedef struct as_trace_step {
    const char       *name, *op, *device, *kernel; /* "conv1", "Conv", "cpu", "conv_f32_scalar" */
    const char       *why;                         /* why this kernel */
    as_trace_refusal *refused;
    int               n_refused;
    const char       *shapes; /* "f32[64,784] f32[784,128] -> f32[64,128]" */
    const char       *stage;  /* "prologue" or "body" */
    int               segment;
    uint64_t          flops, special, bytes_read, bytes_written; /* useful work, by definition */
    uint64_t          issued_flops, issued_bytes;                /* what the kernel really does; 0: not stated */
    uint64_t          working_set_bytes;
    const int        *inputs;
    int               n_inputs; /* earlier steps whose results it reads, each once, rising */
} as_trace_step;

/* One buffer of the plan, for the memory chart. */
typedef struct as_trace_buffer {
    const char *name, *role, *device; /* role: input output param constant activation packed scratch */
    uint64_t    bytes, offset;
    int         first_step, last_step;
} as_trace_buffer;

/* One timed sample: n_runs consecutive runs between two readings. */
typedef struct as_sample {
    uint64_t begin_ticks, end_ticks;
    uint64_t cpu_ns; /* CPU time of the calling thread; UINT64_MAX: not read */
    uint32_t first_run, n_runs;
} as_sample;

/* Totals per step over all runs, also those whose spans were not kept. */
typedef struct as_step_total {
    uint64_t count, sum_ticks, min_ticks, max_ticks;
} as_step_total;

typedef struct as_trace_sensor {
    const char *name, *unit, *source;
    const char *reason;  /* not available: why; NULL when it was read */
    const char *meaning; /* "delta" (end minus begin of the measured part), "level" or "peak" */
} as_trace_sensor;

typedef struct as_reading {
    uint64_t ticks;
    double   value;
    uint32_t sensor;
    uint32_t sample;
} as_reading;

/* A key and a value about the run, the machine or the software: "machine.cpu.model" = "...". */
typedef struct as_trace_note {
    const char *key, *value;
} as_trace_note;

/* A limit of a device, measured.  When one of the same device and name is added again, the later one counts. */
typedef struct as_trace_roof {
    const char *name, *unit;
    const char *device; /* that it belongs to: "cpu", "opencl:0" */
    double      value, lo, hi;
    double      today; /* what was measured last, where that was lower than the best seen, which is the value; NaN: it was not */
    uint64_t    n_clean, n_chunks; /* chunks that nothing disturbed, of so many */
    uint64_t    level_bytes;       /* of a bandwidth: what the level holds, of all threads together; 0: everything */
    uint64_t    when_unix_s;       /* when the value was seen; 0: not known */
    int         disturbed;         /* others used the machine meanwhile: it may lie too low, and convicts nobody */
    int         on_the_spot;       /* measured again because a result of this very run contradicted it */
    const char *source;
} as_trace_roof;

struct assay_trace {
    as_arena    arena;
    const char *clock_name;
    double      ns_per_tick, clock_cost_ns;
    uint64_t    start_ticks;
    uint64_t    start_unix_ns; /* wall-clock date of the start */
    bool        complete;      /* the end chunk was there */
    as_detail   detail;        /* what was recorded in the end */
    const char *detail_why;    /* why not finer; "" if nothing was given up */

    as_trace_note   *notes;
    size_t           n_notes, cap_notes;
    as_trace_step   *steps;
    size_t           n_steps, cap_steps;
    as_trace_buffer *buffers;
    size_t           n_buffers, cap_buffers;
    as_trace_sensor *sensors;
    size_t           n_sensors, cap_sensors;
    as_trace_roof   *roofs;
    size_t           n_roofs, cap_roofs;
    as_span         *spans;
    size_t           n_spans, cap_spans; /* kept runs, in the order drained */
    as_sample       *samples;
    size_t           n_samples, cap_samples; /* measured, after warm-up */
    as_sample       *warmup;
    size_t           n_warmup, cap_warmup;
    as_step_total   *totals;
    size_t           n_totals; /* one a step */
    as_reading      *readings;
    size_t           n_readings, cap_readings;

    /* Counted by the doers. */
    uint64_t n_runs, dropped_spans;
    double   plan_ns, compile_ns, first_run_ns; /* NaN: not measured */
    double   span_cost_ns;                      /* measured on the spot */
    uint64_t peak_bytes_planned, peak_bytes_observed, param_bytes, activation_bytes, scratch_bytes;
    uint64_t steady_allocs; /* device allocations in measured runs */
};

assay_status as_trace_new(assay_env *env, assay_trace **out);
const char  *as_trace_note_find(const assay_trace *t, const char *key); /* NULL: not there */

/* Growing; each copies its strings into the trace's arena.  False: no memory. */
bool as_trace_add_note(assay_trace *t, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
int  as_trace_add_step(assay_trace *t, const as_trace_step *step); /* index or -1 */
bool as_trace_add_buffer(assay_trace *t, const as_trace_buffer *buffer);
int  as_trace_add_sensor(assay_trace *t, const as_trace_sensor *sensor);
bool as_trace_add_roof(assay_trace *t, const as_trace_roof *roof); /* its device NULL: "cpu" */
/* Room for so many more, pre-faulted, so that adding allocates nothing. */
bool as_trace_reserve(assay_trace *t, size_t n_spans, size_t n_samples, size_t n_warmup, size_t n_readings);
/* False when there is no reserved room left. */
bool as_trace_add_span(assay_trace *t, const as_span *span);
bool as_trace_add_sample(assay_trace *t, const as_sample *sample);
bool as_trace_add_warmup(assay_trace *t, const as_sample *sample);
bool as_trace_add_reading(assay_trace *t, const as_reading *reading);

/* --- Files ------------------------------------------------------------------------------------------ */

/* A trace that grows on disk while it is recorded: written to its final name as it goes (its point is to survive a crash), chunk
 * by chunk; a chunk is either whole or not believed. */
typedef struct as_trace_file as_trace_file;
assay_status                 as_trace_file_open(assay_env *env, const char *path, const assay_trace *t, as_trace_file **out);
/* Appends what was added to t since the last call, and flushes. */
assay_status as_trace_file_append(assay_env *env, as_trace_file *file, const assay_trace *t);
assay_status as_trace_file_close(assay_env *env, as_trace_file *file, const assay_trace *t); /* writes the end chunk; frees */
void         as_trace_file_abandon(as_trace_file *file);                                     /* no end chunk */

/* Reads a trace from bytes (borrowed only during the call).  Unknown chunk types are skipped; a file cut anywhere gives what its whole
 * chunks hold, complete = false; a chunk whose checksum is wrong, or whose content lies, is an error with its offset. */
assay_status as_trace_parse(assay_env *env, const char *path, const uint8_t *data, size_t n, assay_trace **out);

#endif
