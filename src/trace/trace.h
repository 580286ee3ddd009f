/* trace.h - the record of what happened, and the only one.
 *
 * Self-contained: the candidates (model, plan, kernels and why not others), the machine with its limits, all times, and the
 * readings of the sensors.  Readers know this header and nothing about devices.  `profile` is one candidate (arm) with spans;
 * bench, compare and check are several candidates in turns; training adds metrics; all of them are this one struct in memory, and
 * append-only chunks in a file or a pipe (trace/stream.h), readable while it grows and after a crash.
 *
 * Notes are for people.  Nothing parses them: what a reader needs is a field.
 *
 * Times of spans, samples and readings are ticks of the trace's clock, relative to `start_ticks`. */
#ifndef AS_TRACE_TRACE_H
#define AS_TRACE_TRACE_H

#include "base/arena.h"
#include "base/env.h"
#include "base/pass.h"

/* --- Spans: the hot record ------------------------------------------------------------------------ */

typedef enum as_span_kind {
    AS_SPAN_RUN = 0, /* one whole call; step is -1 */
    AS_SPAN_SEGMENT, /* one fork on one device; step is its first step */
    AS_SPAN_STEP,    /* one plan step */
    AS_SPAN_PART,    /* one thread's share of a step, without waiting */
    AS_SPAN_DEVICE,  /* a step by the device's own timestamps */
    AS_SPAN_USER     /* a span of the user's own code: step is its frame, thread its lane */
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

/* The detail in which a run is recorded; each level includes those before it. */
typedef enum as_detail { AS_DETAIL_RUN = 0, AS_DETAIL_SEGMENT, AS_DETAIL_STEP, AS_DETAIL_PART } as_detail;

/* What a device writes its spans into: rings[t] for thread t; NULL rings: record nothing. */
typedef struct as_recorder {
    as_ring  *rings;
    int       n_rings;
    as_detail detail;
} as_recorder;

/* --- Candidates (arms) in turns ---------------------------------------------------------------------------------
 *
 * sample < block (some ms of samples of one candidate) < round (one block of each candidate, in random order) < launch (new
 * process or new buffers) < trace.  Samples are never thrown away; a block says what disturbed it. */

typedef enum as_trace_state {
    AS_TRACE_COMPLETE,
    AS_TRACE_PARTIAL, /* stopped from outside: what was measured is kept */
    AS_TRACE_TIMEOUT, /* a launch was ended after --timeout: there is no number for it */
    AS_TRACE_FAILED,  /* a candidate could not be run, or its answer is wrong */
    AS_TRACE_REFUSED, /* the numbers cannot be true: the reason names the test that they failed */
    AS_TRACE_N_STATES
} as_trace_state;
const char *as_trace_state_text(as_trace_state state); /* "complete" */

/* Where candidates keep their tensors.  Shared: all in the same memory; fixed: each in its own, for the whole trace; random: each
 * launch at another page and cache line; relaunched: each launch is a process. */
typedef enum as_memory_layout {
    AS_MEMORY_SHARED,
    AS_MEMORY_FIXED,
    AS_MEMORY_RANDOM,
    AS_MEMORY_RELAUNCHED,
    AS_N_MEMORY_LAYOUTS
} as_memory_layout;
const char *as_memory_layout_text(as_memory_layout layout); /* "shared" */

typedef struct as_shot {
    float wall_ns, cpu_ns;
} as_shot; /* one sample, divided by its calls; cpu NaN where threads share the work */

typedef struct as_turn { /* one block of one candidate */
    uint32_t launch, round;
    uint32_t arm, order; /* order: its place in the round */
    uint32_t first_shot, n_shots;
    double   start_ns;        /* since the trace began */
    double   wall_ns, cpu_ns; /* per call: the lower quartile of the samples; with fewer than 8 samples the median */
    double   busy;            /* CPU time over wall time of the whole block; NaN where threads share the work */
    double   steal;           /* share of the block that the hypervisor took; NaN: not known */
    double   fma_ns, copy_ns; /* the probes after the block: a register-only loop and a streaming copy; NaN: not probed */
    uint32_t switches;        /* involuntary context switches */
} as_turn;

/* What is counted, not timed: differences are exact.  NaN: not known. */
typedef struct as_ledger {
    double flops, bytes, allocations, launches, peak_bytes;
} as_ledger;

/* What the calls of a candidate were: advice for inference or for training needs runs of exactly that. */
typedef enum as_work {
    AS_WORK_OTHER, /* an operator, a program, not known */
    AS_WORK_INFERENCE,
    AS_WORK_TRAINING,
    AS_N_WORKS
} as_work;
const char *as_work_text(as_work work); /* "inference" */

enum { AS_LEVEL_NAME = 12 };

typedef enum as_bound { AS_BOUND_NONE, AS_BOUND_COMPUTE, AS_BOUND_SPECIAL, AS_BOUND_MEMORY } as_bound;

/* The least time of some work by the limits of its device (trace/limit.h). */
typedef struct as_limit {
    double      ns; /* the least time; NaN: no limit is known, or there is no work to count */
    as_bound    bound;
    char        level[AS_LEVEL_NAME]; /* the outermost that its working set reaches; "" : no levels are known */
    const char *name;                 /* of the most important limit: "fma.f32.avx2.t1"; "-": none */
    double      rate;                 /* at the limit: flop/s, element/s or (blended) byte/s */
    bool        may_be_low;           /* a limit that it uses was disturbed, or is not a hard one */
    bool        on_the_spot;          /* all limits that it uses were measured again because of this run */
} as_limit;
#define AS_LIMIT_NONE ((as_limit){.ns = (double)NAN, .name = "-"})

typedef struct as_trace_arm {
    const char *name;          /* "threads=1" */
    const char *what;          /* spec and options, or the command */
    uint64_t    hash;          /* of its outputs; 0: not compared */
    uint64_t    poisoned_hash; /* of its outputs with other inputs; 0: not tried */
    double      error;         /* largest difference of its outputs from the reference code, NaN: not compared */
    double      items;         /* items per call: the batch size; NaN: not known */
    double      launch_ns;     /* median cost of a launch */
    double      plan_ns;       /* to build its plan; NaN: not measured */
    double      first_ns[3];   /* the first three calls of the first launch, NaN: not known */
    as_limit    limit;         /* of a call, by the limits of the device; AS_LIMIT_NONE: not known */
    const char *compared;      /* how its answer was compared, as text; "" */
    const char *slow;          /* a step without a kernel, which the reference code runs; "" */
    const char *elsewhere;     /* which steps its device refused and the host ran, as text; "": none */
    as_work     work;
    as_ledger   ledger;
} as_trace_arm;

/* --- What the trace holds ------------------------------------------------------------------------- */

typedef struct as_trace_refusal {
    const char *kernel, *why;
} as_trace_refusal;

/* One step of the plan, by index. */
typedef struct as_trace_step {
    const char        *name, *op, *device, *kernel; /* "conv1", "Conv", "cpu", "conv_f32_scalar" */
    const char        *module;                      /* path in the framework's tree of modules, "layer4.1.conv2"; "": not known */
    as_train_pass      pass;                        /* in a training step */
    const char        *layer;                       /* of the network, which it serves in a training step; "": not known */
    const char        *why;                         /* why this kernel */
    as_trace_refusal  *refused;
    int                n_refused;
    const char        *shapes; /* "f32[64,784] f32[784,128] -> f32[64,128]" */
    bool               is_f64; /* its first operand is f64, which has another limit */
    bool               is_i8;  /* its first operand is i8 or u8, which has another limit */
    const char        *stage;  /* "prologue" or "body" */
    int                segment;
    uint64_t           flops, special, bytes_read, bytes_written; /* useful work, by definition */
    uint64_t           issued_flops, issued_bytes;                /* what the kernel really does; 0: not stated */
    uint64_t           working_set_bytes;
    uint64_t           weight_bytes; /* weights among the bytes read: the same in every run, whatever the batch size */
    const int         *inputs;
    int                n_inputs; /* earlier steps whose results it reads, each once, rising */
    const char *const *parts;    /* names of the model's nodes that it computes; none: it is its own and only part */
    int                n_parts;
    int                arm; /* the candidate whose plan it belongs to, where the trace has several */
} as_trace_step;

/* One buffer of the plan, for the memory chart. */
typedef struct as_trace_buffer {
    const char *name, *role, *device; /* role: input output param constant activation packed scratch */
    uint64_t    bytes, offset;
    int         first_step, last_step;
    uint64_t    align;      /* of its place in the device's allocation; 0: it has none there, or it is not known */
    uint64_t    full_bytes; /* its own size, also where it lies in another's memory (bytes is 0 then); 0: not known */
    int         shares;     /* number, from 1, of the buffer that it follows in the same memory, or could follow; 0: none */
    bool in_place; /* it is the result of a step that overwrites (bytes is 0) or could overwrite that one; else another view */
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

static inline void as_step_total_add(as_step_total *total, uint64_t ticks)
{
    total->min_ticks = !total->count || ticks < total->min_ticks ? ticks : total->min_ticks;
    total->max_ticks = ticks > total->max_ticks ? ticks : total->max_ticks;
    total->sum_ticks += ticks;
    total->count++;
}

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
    double      today; /* the latest measurement, if it was lower than the best one, which is the value; NaN: it was not */
    uint64_t    n_clean, n_chunks; /* undisturbed chunks, and all chunks */
    uint64_t    level_bytes;       /* of a bandwidth: the size of the level, of all threads together; 0: unlimited */
    uint64_t    when_unix_s;       /* when the value was seen; 0: not known */
    int         disturbed;         /* others used the machine meanwhile: it may be too low, and refuses nothing */
    int         on_the_spot;       /* measured again because a result of this very run contradicted it */
    const char *source;
} as_trace_roof;

/* A number of a run by its name and step: "loss" at step 120.  Memory is recorded in this way, too: the bytes that a device
 * holds, whenever they change. */
#define AS_METRIC_LIVE "memory.live." /* and the device's name; bytes */
/* Memory of the process that does not belong to the network, in bytes: the program with the model and its plan, before anything
 * was allocated to run it; records and rings; buffers used to measure limits, and whether the peak was reset after them. */
#define AS_METRIC_PROGRAM      "memory.own.program"
#define AS_METRIC_RECORDS      "memory.own.records"
#define AS_METRIC_LIMITS       "memory.own.limits"
#define AS_METRIC_LIMITS_APART "memory.own.limits_apart"
/* What an option asked for, as metrics of a trace: 1 is yes. */
#define AS_METRIC_ASKED_NE "asked.neural_engine"
/* Of one run, by a child under cachegrind (option counters): exact counts of instructions, simulated misses. */
#define AS_METRIC_CG_INSTRUCTIONS "cachegrind.instructions"
#define AS_METRIC_CG_ACCESSES     "cachegrind.accesses"
#define AS_METRIC_CG_L1_MISSES    "cachegrind.l1_misses"
#define AS_METRIC_CG_LL_MISSES    "cachegrind.ll_misses"
/* Numbers of a session, each once, at the end of the trace. */
#define AS_METRIC_COLLECTOR_CPU "session.collector.cpu" /* ns of CPU time that the collecting thread has used */
#define AS_METRIC_QUEUED        "session.queued"        /* ns that threads could have run and had no CPU, all together */
#define AS_METRIC_TOO_DEEP      "session.too_deep"      /* spans that only count, because they were nested too deep */
/* Numbers of a recorded program that are not looks, each once, at the end of the trace. */
#define AS_RECORD_WALL      "record.wall"      /* ns: from the start of the program to its end, or to when it was left alone */
#define AS_RECORD_CPU       "record.cpu"       /* ns: CPU time of the program and its children, by the system's own count */
#define AS_RECORD_OWN_CPU   "record.own_cpu"   /* ns: CPU time of assay itself meanwhile */
#define AS_RECORD_EXIT_CODE "record.exit_code" /* of a program that ended by itself */
#define AS_RECORD_SIGNAL    "record.signal"    /* that ended the program */
#define AS_RECORD_RATE      "record.rate"      /* looks per second, as asked for */
#define AS_RECORD_KERNEL    "record.kernel"    /* 1: the kernel's frames are in the stacks; 0: they are left out, with their time */
#define AS_RECORD_OFF_CPU   "record.off_cpu"   /* 1: waiting is recorded as looks, too; 0: it is not */
#define AS_RECORD_BUSY      "record.busy"      /* ns: at least one thread was on a CPU */
#define AS_RECORD_STARVED   "record.starved"   /* ns: none was, but at least one could have run: others had the CPUs */
#define AS_RECORD_ASLEEP    "record.asleep"    /* ns: all threads waited */
#define AS_RECORD_QUEUED    "record.queued"    /* ns: of all threads together, ready to run but without a CPU */
#define AS_RECORD_TABLES    "record.tables"    /* 1: callers were found by unwind tables; 0: by frame pointers */
#define AS_RECORD_WHOLE     "record.whole"     /* looks whose stack reaches the first function of its thread */
#define AS_RECORD_CUT       "record.cut"       /* looks whose stack does not: code without frame pointers */
#define AS_RECORD_SIGNAL_TAKEN \
    "record.signal_taken"                      /* 1: the program uses the signal of the timers itself; looks at it end there */
#define AS_RECORD_THROTTLED "record.throttled" /* how often the kernel paused the sampling */
/* What a recorder of memory events counted in all, also of those that it did not keep: bytes, counts, and ns. */
#define AS_METRIC_TRACKED_PEAK      "memory.tracked.peak"
#define AS_METRIC_TRACKED_LIVE      "memory.tracked.live"
#define AS_METRIC_TRACKED_ALLOCATED "memory.tracked.allocated"
#define AS_METRIC_TRACKED_FREED     "memory.tracked.freed"
#define AS_METRIC_TRACKED_ALLOCS    "memory.tracked.allocs"
#define AS_METRIC_TRACKED_FREES     "memory.tracked.frees"
#define AS_METRIC_TRACKED_TIME      "memory.tracked.time"
#define AS_METRIC_TRACKED_COST      "memory.tracked.cost" /* of one call */
/* The peak of the same plan with an option changed, as the planner counted it: and the option, "weights-as=f16"; of "batch" the step is its
 * size. */
#define AS_METRIC_PLANNED "memory.planned."
/* Numbers of a training run.  By update: */
#define AS_TRAINED_LOSS    "train.loss"
#define AS_TRAINED_RATE    "train.rate" /* as the optimiser's kernel applied it */
#define AS_TRAINED_NORM    "train.norm" /* of the gradient */
#define AS_TRAINED_LOSS_Z  "train.loss_z"
#define AS_TRAINED_NORM_Z  "train.norm_z"
#define AS_TRAINED_BATCH   "train.batch"
#define AS_TRAINED_SCALE   "train.loss_scale"
#define AS_TRAINED_SPEED   "train.samples_per_s"
#define AS_TRAINED_MEMORY  "train.memory"     /* resident bytes */
#define AS_TRAINED_EPOCH   "train.epoch_loss" /* at the last update of each epoch */
#define AS_TRAINED_VAL     "val.loss"
#define AS_TRAINED_MEASURE "val." /* and the measure's name: accuracy, f1 ...; "train." where there is no validation */
/* Once, at the end: */
#define AS_TRAINED_UPDATES    "train.updates"
#define AS_TRAINED_PLANNED    "train.planned" /* updates of the whole run */
#define AS_TRAINED_RESUMED    "train.resumed" /* the update that it went on from */
#define AS_TRAINED_SAMPLES    "train.samples"
#define AS_TRAINED_PARAMETERS "train.parameters"
#define AS_TRAINED_SKIPS      "train.skips"
#define AS_TRAINED_SAVED      "train.checkpoints"
#define AS_TRAINED_NOT_SAVED  "train.checkpoints_failed"
#define AS_TRAINED_SPIKES     "train.spikes"
#define AS_TRAINED_BEST       "train.best_possible" /* loss: of data whose noise is known */
#define AS_TRAINED_TIME       "train.time."     /* ns, and what of: wall wait step evaluation checkpoint plan; beside them: write */
#define AS_TRAINED_PHASE      "train.phase."    /* ns of recorded updates: forward backward update; the step is how many */
#define AS_TRAINED_LOADER     "train.loader."   /* ns: wait full fill; threads; bytes */
#define AS_TRAINED_BYTES      "train.bytes."    /* memory by kind, as the plan counts it: weights gradients ... */
#define AS_TRAINED_DRIFT      "train.drift."    /* cpu memory heap, and .slope .lo .hi .growth .since; only where it is known */
#define AS_TRAINED_CONFUSION  "train.confusion" /* the step is label * classes + answer */
#define AS_TRAINED_CLASSES    "train.classes"
#define AS_TRAINED_DIVERGED   "train.stopped_bad" /* 1: a number was not finite, or the loss diverged */
/* Frames of its spans, by their names: what the loop does, one thing at a time, and what the loader's threads do meanwhile. */
#define AS_TRAINING_WAITS     "waiting for data"
#define AS_TRAINING_STEPS     "forward, backward, update"
#define AS_TRAINING_EVALUATES "evaluation"
#define AS_TRAINING_SAVES     "checkpoint"
#define AS_TRAINING_PLANS     "planning"
#define AS_TRAINING_FILLS     "preparing batches"
#define AS_TRAINING_FILLS_VAL "preparing batches for evaluation"
#define AS_TRAINING_FULL      "waiting for room"
#define AS_TRAINING_WRITES    "writing a checkpoint" /* beside the loop, which lost AS_TRAINING_SAVES */
/* Of a training step: its memory by what it is for ("train.memory.gradients", bytes; the kind, then "/unshared"), and the elements of the
 * flat block of parameters that belong to a layer, among which the time of the update is divided. */
#define AS_METRIC_TRAIN_MEMORY   "train.memory."
#define AS_METRIC_TRAIN_ELEMENTS "train.elements."
typedef struct as_trace_metric {
    const char *name, *unit;
    uint64_t    step;
    uint64_t    ticks;
    double      value;
} as_trace_metric;

/* A phase begins or ends: "warm-up", "measure", "epoch 3"; of an iteration the end alone is told. */
#define AS_MARK_ITERATION "iteration"
typedef struct as_trace_mark {
    const char *name;
    uint64_t    ticks;
    bool        ends;
} as_trace_mark;

/* --- Code: frames, stacks, and their samples -------------------------------------------------
 *
 * A frame is a place in code.  Stacks share their outer frames: each one is a frame and the stack that it was called from.  Stack samples
 * and memory events refer to a stack by its index. */

/* What an operation of the user's own code worked on.  Texts are "" and counts 0 where not given. */
typedef struct as_trace_context {
    const char *operation, *layer, *phase, *precision, *optimisation, *kernel, *revision;
    uint64_t    batch, sequence, parameters;
    int         threads;
    bool        parallel;
} as_trace_context;

/* A function of a program, or a span of the user's own code by its name. */
typedef struct as_trace_frame {
    const char *name;         /* "gemm_kernel", "read batch" */
    const char *file;         /* source file; "": not known */
    const char *object;       /* program or library; "": not known */
    const char *category;     /* of a user's span: "io", "compute"; "": none */
    uint64_t    flops, bytes; /* of one call, as the user stated them; 0: not stated */
    int         line;         /* 0: not known */
    int         context;      /* index; -1: none */
    bool        inlined;      /* into the frame that called it */
} as_trace_frame;

typedef struct as_trace_stack {
    int32_t parent; /* an earlier stack; -1: this frame is the outermost */
    int32_t frame;
} as_trace_stack;

/* A thread of a process that was recorded. */
typedef struct as_trace_lane {
    const char *name; /* "python3" */
    uint32_t    pid, tid;
} as_trace_lane;

/* The subject of a trace: decides which analyses apply. */
typedef enum as_trace_subject {
    AS_OF_NETWORK = 0, /* a network that assay ran; several in turns */
    AS_OF_SESSION,     /* the user's own code, by its spans and its memory */
    AS_OF_PROGRAM,     /* any program that was recorded from outside */
    AS_OF_TRAINING,    /* a network that assay trained: numbers by update, spans of the loop */
    AS_N_SUBJECTS
} as_trace_subject;
const char *as_trace_subject_text(as_trace_subject subject); /* "network" */

typedef enum as_stack_state { AS_STACK_ON_CPU = 0, AS_STACK_OFF_CPU, AS_N_STACK_STATES } as_stack_state;

/* One look at a thread: where it was, and how much time this look represents.  24 bytes. */
typedef struct as_stack_sample {
    uint64_t ticks, weight_ns;
    uint32_t stack;
    uint16_t lane, state;
} as_stack_sample;

/* All calls of a stack by one thread, also those whose spans were not kept: exact.  The outermost stack of a thread is its whole time. */
typedef struct as_stack_total {
    uint64_t count, sum_ticks, min_ticks, max_ticks;
    uint64_t flops, bytes; /* of all calls, as the user stated them; 0: not stated */
    uint32_t stack;
    uint16_t lane, zero;
    uint32_t zeros[2]; /* a multiple of 16 bytes */
} as_stack_total;

typedef enum as_memory_kind {
    AS_MEMORY_ALLOC = 0,
    AS_MEMORY_FREE,
    AS_MEMORY_RESIZE, /* bytes is the new size; the old one follows from the events before */
    AS_MEMORY_COPY,
    AS_MEMORY_TRANSFER, /* between two places */
    AS_N_MEMORY_KINDS
} as_memory_kind;
const char *as_memory_kind_text(as_memory_kind kind); /* "alloc" */

/* Places of a network's run: a device by its name, what its allocation is divided into by its name and this, and the model's own weights.
 * Bytes inside are part of the allocation around them: sums leave them out. */
#define AS_PLACE_INSIDE "/arena" /* "cpu/arena"; the id of a block there is where it begins */
#define AS_PLACE_MODEL  "model"
bool as_place_is_inside(const char *place); /* it ends with AS_PLACE_INSIDE */

#define AS_NO_STACK UINT32_MAX
/* Something that happened to a block of memory.  48 bytes. */
typedef struct as_memory_event {
    uint64_t ticks;
    uint64_t took_ticks; /* of a copy or a transfer; 0: not measured */
    uint64_t id;         /* of the block: its address, or a number from its owner; the id of a freed block may be used again */
    uint64_t bytes;
    uint32_t stack; /* the stack that did it: the owner; AS_NO_STACK: not known */
    uint16_t kind, lane;
    uint16_t place, to; /* indices of places; `to` of a copy or a transfer, else the same as place */
    uint32_t zero;
} as_memory_event;

/* What one stack of one process has allocated so far, exact: the sums of all events, also of those that were not recorded one by one.  A
 * process is told again whenever something has changed; of a lane and a stack the last one counts, and all of them are a
 * timeline.  72 bytes. */
typedef struct as_memory_site {
    uint64_t ticks;
    uint64_t live_bytes;
    uint64_t peak_bytes;    /* live when the process had most; of a process they add up to its peak */
    uint64_t largest_bytes; /* one block */
    uint64_t allocs;        /* blocks that came from here */
    uint64_t frees;         /* of these, how many are gone; the others are live */
    uint64_t bytes;         /* asked for, in all */
    uint64_t temporary;     /* blocks that were freed before their thread allocated another one */
    uint32_t stack;         /* AS_NO_STACK: where there was no memory left for more stacks */
    uint16_t lane;          /* the first thread of the process */
    uint16_t zero;
} as_memory_site;

/* Exact numbers of a recorded process: metrics of this name, whose step is the lane of its first thread.  Those of the last tick count. */
#define AS_PROCESS_LIVE       "memory.process.live"      /* bytes */
#define AS_PROCESS_STEP_PEAK  "memory.process.step_peak" /* bytes: the most since the one before it */
#define AS_PROCESS_PEAK       "memory.process.peak"      /* bytes */
#define AS_PROCESS_PEAK_TIME  "memory.process.peak_time" /* ticks at which the peak ended; missing: it never fell again */
#define AS_PROCESS_BLOCKS     "memory.process.blocks"    /* live */
#define AS_PROCESS_ALLOCS     "memory.process.allocs"    /* calls of malloc, calloc, memalign ... */
#define AS_PROCESS_RESIZES    "memory.process.resizes"   /* calls of realloc with a block */
#define AS_PROCESS_FREES      "memory.process.frees"
#define AS_PROCESS_MAPS       "memory.process.maps"          /* anonymous memory by mmap */
#define AS_PROCESS_MAPPED     "memory.process.mapped"        /* bytes of it, live */
#define AS_PROCESS_BYTES      "memory.process.bytes"         /* asked for, in all */
#define AS_PROCESS_FAILED     "memory.process.failed"        /* calls that got nothing */
#define AS_PROCESS_UNKNOWN    "memory.process.unknown_frees" /* frees of blocks from before the recording */
#define AS_PROCESS_UNSEEN     "memory.process.unseen"        /* calls from a signal handler amid the recorder's own work */
#define AS_PROCESS_COST       "memory.process.cost"          /* ns per call, measured on some of them */
#define AS_PROCESS_OWN_MALLOC "memory.process.own_malloc"    /* 1: the program brings its own malloc, which is not seen */
#define AS_PROCESS_FORKED     "memory.process.forked"        /* 1: began by fork: what its parent had is not counted */
#define AS_PROCESS_FULL       "memory.process.full"          /* 1: more stacks than there is space for; the rest has no stack */
#define AS_PROCESS_ENDED      "memory.process.ended"         /* 1: it ended by itself, so what is live was never freed */

struct assay_trace {
    as_arena    arena;
    const char *clock_name;
    double      ns_per_tick, clock_cost_ns;
    uint64_t    start_ticks;
    uint64_t    start_unix_ns; /* wall-clock date of the start */
    bool        complete;      /* the end chunk was there */
    as_detail   detail;        /* what was recorded in the end */
    const char *detail_why;    /* why not finer; "": as fine as asked for */

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
    size_t           n_totals; /* one per step */
    as_reading      *readings;
    size_t           n_readings, cap_readings;
    as_trace_metric *metrics;
    size_t           n_metrics, cap_metrics;
    as_trace_mark   *marks;
    size_t           n_marks, cap_marks;

    /* The user's own code, programs that were recorded, and memory events of all kinds of runs. */
    as_trace_context *contexts;
    size_t            n_contexts, cap_contexts;
    as_trace_frame   *frames;
    size_t            n_frames, cap_frames;
    as_trace_stack   *stacks;
    size_t            n_stacks, cap_stacks;
    as_trace_lane    *lanes;
    size_t            n_lanes, cap_lanes;
    const char      **places; /* where memory is: "host", "opencl:0" */
    size_t            n_places, cap_places;
    as_stack_sample  *looks;
    size_t            n_looks, cap_looks;
    as_stack_total   *stack_totals;
    size_t            n_stack_totals, cap_stack_totals;
    as_memory_event  *memory_events;
    size_t            n_memory_events, cap_memory_events;
    as_memory_site   *memory_sites;
    size_t            n_memory_sites, cap_memory_sites;
    uint64_t          looks_lost, memory_events_lost; /* dropped by the recorder, because its rings were full */
    double            look_period_ns;                 /* between two looks at a thread that is on a CPU; NaN: there were none */
    struct as_code_index {
        uint32_t *slots; /* index + 1 of a frame or a stack; 0: free */
        size_t    n_slots, n_known;
    } frame_index, stack_index;

    /* Candidates in turns; a trace without them has n_arms = 0. */
    const char      *name; /* of the case: "matmul/512x512/f32"; "" */
    as_trace_state   state;
    as_trace_subject subject;
    const char      *reason; /* why it is not complete; "" */
    as_trace_arm    *arms;
    int              n_arms;
    as_turn         *turns;
    size_t           n_turns, cap_turns;
    as_shot         *shots;
    size_t           n_shots, cap_shots;
    uint32_t         n_launches, n_rounds; /* complete ones, in all */
    uint32_t         warm_up_rounds;       /* of the first launch, which are not kept */
    uint32_t         calls;                /* in a sample, the same for all candidates */
    bool             by_cpu;               /* verdicts use thread CPU time, otherwise wall time */
    as_memory_layout memory;
    double           block_ns, budget_ns, spent_ns;
    double   once_ns, twice_ns; /* one call, and two calls in one sample: the second must cost as much as the first; NaN: not
                                 * tried */
    double   difference;        /* largest difference between the outputs of candidate 0 and the others; NaN: not compared */
    uint64_t seed;              /* of coins and places */
    char     fingerprint[17];   /* of the machine; "" */

    /* The writer: process, rank among several, and the offset from its ticks to those of rank 0. */
    struct {
        uint32_t pid, rank;
        int64_t  offset_ticks;
    } origin;

    /* What ran. */
    const char *model, *device; /* names; "": not known */
    int         threads;        /* of the host; 0: not known */
    int         cpus;           /* that the process may use; 0: not known */
    const char *compile;        /* "on" or "off"; "": it was not planned by assay */
    const char *weights_as;     /* storage type that was asked for: "f32", "f16"; "": not known */
    uint64_t    memory_bytes;   /* of the machine; 0: not known */
    uint64_t    batch;          /* items of a run; 0: the model has no batch size of its own */

    /* Counted by the doers. */
    uint64_t n_runs, dropped_spans;
    uint64_t user_spans_left; /* spans of the user's own code that a reader did not keep, because there were too many */
    uint64_t sample_every;    /* 1: all samples are here; 4: a reader kept every fourth, because there were too many */
    uint64_t n_detailed;      /* runs after the last sample, with all their steps */
    uint64_t n_barriers, n_late_waits, thread_switches; /* of several threads; no barriers: not known */
    double   cpu_clock_cost_ns;                         /* of reading the thread's CPU clock; NaN: it was not read */
    double   plan_ns, compile_ns, first_run_ns;         /* NaN: not measured */
    double   span_cost_ns;                              /* measured on the spot */
    uint64_t peak_bytes_planned, peak_bytes_observed, param_bytes, activation_bytes, scratch_bytes;
    uint64_t steady_allocs; /* device allocations in measured runs */
};

assay_status as_trace_new(assay_env *env, assay_trace **out);
/* The same with this many candidates, about which nothing is known yet. */
assay_status as_trace_new_arms(assay_env *env, const char *name, int n_arms, assay_trace **out);
/* Takes the clock of the env from now on: a device with simulated time changes it.  Does nothing if it is the same.  False: no
 * memory. */
bool        as_trace_clock_take(assay_trace *t, const assay_env *env);
bool        as_trace_arms_add(assay_trace *t, int n);                     /* to a trace that has none; false: no memory */
int64_t     as_trace_unix_time(const assay_trace *t);                     /* seconds */
const char *as_trace_note_find(const assay_trace *t, const char *key);    /* NULL: not there */
double      as_trace_metric_last(const assay_trace *t, const char *name); /* the latest value of that name; NaN: there is none */

/* Growing; each copies its strings into the trace's arena.  False: no memory. */
bool as_trace_add_note(assay_trace *t, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
int  as_trace_add_step(assay_trace *t, const as_trace_step *step); /* index or -1 */
bool as_trace_add_buffer(assay_trace *t, const as_trace_buffer *buffer);
int  as_trace_add_sensor(assay_trace *t, const as_trace_sensor *sensor);
bool as_trace_add_roof(assay_trace *t, const as_trace_roof *roof); /* its device NULL: "cpu" */
bool as_trace_add_metric(assay_trace *t, const as_trace_metric *metric);
bool as_trace_add_mark(assay_trace *t, const as_trace_mark *mark);
/* Each returns an index, or -1: no memory.  A context, frame, stack or place that the trace has already is found, not added again. */
int as_trace_add_context(assay_trace *t, const as_trace_context *context);
int as_trace_add_frame(assay_trace *t, const as_trace_frame *frame);
int as_trace_add_stack(assay_trace *t, int parent, int frame);
int as_trace_add_lane(assay_trace *t, const as_trace_lane *lane);
int as_trace_add_place(assay_trace *t, const char *place);
/* These two grow; as_trace_reserve_code() makes room before, so that adding allocates nothing. */
bool        as_trace_add_look(assay_trace *t, const as_stack_sample *look);
bool        as_trace_add_stack_total(assay_trace *t, const as_stack_total *total);
bool        as_trace_add_memory_event(assay_trace *t, const as_memory_event *event);
bool        as_trace_add_memory_site(assay_trace *t, const as_memory_site *site);
bool        as_trace_reserve_code(assay_trace *t, size_t n_looks, size_t n_memory_events);
const char *as_trace_keep(assay_trace *t, const char *text); /* NULL: no memory */
/* Makes room for this many more turns and shots, so that nothing is allocated while measuring; false: no memory. */
bool as_trace_reserve_turns(assay_trace *t, size_t n_turns, size_t n_shots);
/* Makes room for this many more, pre-faulted, so that adding allocates nothing. */
bool as_trace_reserve(assay_trace *t, size_t n_spans, size_t n_samples, size_t n_warmup, size_t n_readings);
/* False when there is no reserved room left. */
bool as_trace_add_span(assay_trace *t, const as_span *span);
bool as_trace_add_sample(assay_trace *t, const as_sample *sample);
bool as_trace_add_warmup(assay_trace *t, const as_sample *sample);
bool as_trace_add_reading(assay_trace *t, const as_reading *reading);

/* The time of a block by the decided clock. */
static inline double as_turn_ns(const assay_trace *t, const as_turn *turn) { return t->by_cpu ? turn->cpu_ns : turn->wall_ns; }
/* The longest time of a run that the timed samples can explain: a quarter more than their lower quartile.  For a run whose spans
 * were recorded, add their cost (as_trace_spans_ns).  INFINITY: there are no samples, or the run waits for another device. */
double as_trace_run_bound_ns(const assay_trace *t);
double as_trace_spans_ns(const assay_trace *t, uint64_t n_spans); /* what recording them costs; 0: not known */
/* Whether calls of these two candidates do different, known numbers of items: then only the time per item can be compared. */
bool as_trace_per_item(const assay_trace *t, int a, int b);

#endif
