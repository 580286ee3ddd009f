/* assay.h - the public interface of libassay, a performance laboratory for neural networks.
 *
 * One picture:
 *
 *     model --> plan --> instance/run --> TRACE --> facts --> report
 *
 * A model is a graph of ONNX operators.  A plan binds it to a device: ordered steps, chosen
 * kernels, every buffer counted.  An instance holds what changes while a plan runs.  A profile run
 * fills a trace, which is self-contained; facts are computed from the trace alone, and a report is
 * written from the facts.  Each arrow is one call: it reads const objects and returns a new one,
 * which the caller frees.
 *
 * A call that can fail returns an assay_status; assay_message(env) gives the sentence that explains
 * it.  Outputs are untouched on failure.  The library never prints and never exits.
 *
 *     assay_env *env;  assay_model *model;  assay_plan *plan;  assay_trace *trace;
 *     assay_env_new(&env);
 *     assay_options *options;  assay_options_new(env, &options);
 *     assay_options_set(env, options, "batch", "8");
 *     if (assay_model_load(env, "mlp-small", options, &model) == ASSAY_OK &&
 *         assay_plan_build(env, model, options, &plan) == ASSAY_OK &&
 *         assay_profile(env, plan, options, &trace) == ASSAY_OK) ...
 *
 * One thread at a time may use an env and the objects made with it; several threads may share a
 * plan. */
#ifndef ASSAY_H
#define ASSAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__ /* The library hides its symbols; those between here and the matching pop are exported. */
#pragma GCC visibility push(default)
#endif

#define ASSAY_VERSION "0.1.0"

/* --- Status ---------------------------------------------------------------------------- */

typedef enum assay_status {
    ASSAY_OK = 0,
    ASSAY_BAD_INPUT,   /* a file, shape, name or option that cannot be used */
    ASSAY_NOT_FOUND,   /* no object has this name */
    ASSAY_IO,          /* the operating system refused to read or write */
    ASSAY_UNSUPPORTED, /* understood, but not possible with what is built in */
    ASSAY_NO_MEMORY,
    ASSAY_DEVICE,    /* a device failed while it ran */
    ASSAY_CANCELLED, /* stopped from outside; what was measured is kept */
    ASSAY_INTERNAL,  /* a bug in assay: it broke its own promise */
    ASSAY_TIMED_OUT, /* no answer within the time allowed */
    ASSAY_N_STATUS
} assay_status;

/* A fixed sentence for the status alone, e.g. "bad input". */
const char *assay_status_text(assay_status status);

/* --- Env: the context of every call ------------------------------------------------------ */

/* Holds the clock, the last message and the cancel flag.  The library has no global state. */
typedef struct assay_env assay_env;

assay_status assay_env_new(assay_env **out);
void         assay_env_free(assay_env *env);

/* The sentence for the last failure: what was being done, to what, and where.  "" if none. */
const char *assay_message(const assay_env *env);

/* Asks a running call to stop at the next step; safe from a signal handler or another thread. */
void assay_cancel(assay_env *env);

/* --- Metrics: every number has a birth certificate --------------------------------------- */

typedef enum assay_kind {
    ASSAY_KIND_MISSING = 0, /* never valid: a metric without a kind is refused everywhere */
    ASSAY_MEASURED,         /* read from a clock or a sensor */
    ASSAY_COUNTED,          /* counted exactly: events, bytes, flops of a definition */
    ASSAY_DERIVED,          /* a formula over measured and counted values */
    ASSAY_MODELLED,         /* follows from assumptions that the source names */
    ASSAY_UNAVAILABLE       /* not available here: value is NaN and reason says why */
} assay_kind;

/* The value lies between lo and hi; both equal it when it is exact, and both are NaN when there is no interval. */
typedef struct assay_metric {
    double      value;
    double      lo, hi;
    uint64_t    n;      /* samples behind the value */
    const char *unit;   /* "ns", "byte", "flop", "flop/s", "1" ... */
    const char *source; /* where it comes from: a clock, a sensor, a formula */
    const char *reason; /* only when unavailable, else NULL */
    assay_kind  kind;
} assay_metric;

const char *assay_kind_text(assay_kind kind);

/* --- Options: opaque, set by key from one table ------------------------------------------ */

typedef struct assay_options assay_options;

assay_status assay_options_new(assay_env *env, assay_options **out);
void         assay_options_free(assay_options *options);
/* BAD_INPUT for an unknown key or a value outside its range; the message lists what is allowed. */
assay_status assay_options_set(assay_env *env, assay_options *options, const char *key, const char *value);

/* --- Model, plan, profile, facts, report -------------------------------------------------- */

typedef struct assay_model    assay_model;
typedef struct assay_device   assay_device;
typedef struct assay_plan     assay_plan;
typedef struct assay_instance assay_instance;
typedef struct assay_trace    assay_trace;
typedef struct assay_facts    assay_facts;

/* `spec` is a file (.onnx, .json) or a zoo name with parameters: "mlp:sizes=784x128x10".  The option
 * `weights` names a safetensors file whose tensors replace the parameters of the same name. */
assay_status assay_model_load(assay_env *env, const char *spec, const assay_options *options, assay_model **out);
void         assay_model_free(assay_model *model);
/* Writes the model for other tools.  Options, at least one of the first three: onnx (a file, opset 20; seq sets how many steps a
 * sequence is written as), safetensors (a file with the parameters), c (a directory for C99 source; name and libm apply to it).
 * An existing file is replaced only when the new one is complete. */
assay_status assay_export(assay_env *env, const assay_model *model, const assay_options *options);

/* The devices that a plan can use here and how fast each can be at most: a table "devices", and the known limits as facts such as
 * "limits.cpu.read.dram.t1".  Options: measure (measures the limits and keeps the best ever seen), device (limits of this device
 * alone), threads, require (a requirement profile: adds a table "rows" of verdicts and the number "require.failed"). */
assay_status assay_devices(assay_env *env, const assay_options *options, assay_facts **out);
/* `spec` is for example "cpu", "opencl:0" or "null:gemm=5us"; `threads` is the number of CPU threads.  Any number of plans may use
 * an open device, at the same time and from any thread; the device keeps no reference to the env. */
assay_status assay_device_open(assay_env *env, const char *spec, int threads, assay_device **out);
void         assay_device_close(assay_device *device);

/* Options read: batch, seq, dim, compile, winograd, weights-as, device, threads.  The options input, timespans and state-in name
 * files (npy, or .pb of ONNX): every instance starts with their values, and their shapes set symbolic dimensions.  The plan opens
 * the devices that the options name, in order of preference, and closes them; a device that refuses every step is an error.
 * Borrows the model, which must outlive the plan. */
assay_status assay_plan_build(assay_env *env, const assay_model *model, const assay_options *options, assay_plan **out);
/* The same on open devices, which the plan borrows for its life: each node goes to the first device of the list that takes it.  The
 * cpu must be among them: inputs and outputs live in its memory.  Options device and threads must not be set. */
assay_status assay_plan_build_on(assay_env *env, const assay_model *model, assay_device *const *devices, size_t n_devices,
                                 const assay_options *options, assay_plan **out);
void         assay_plan_free(assay_plan *plan);
/* Bytes that an instance will hold at its peak; known before anything is allocated. */
uint64_t assay_plan_peak_bytes(const assay_plan *plan);
/* Steps, kernels and why they were chosen, buffers, memory to the byte, as `assay plan` shows them; `format` is "text" or "json",
 * and path "-" is standard output. */
assay_status assay_plan_write(assay_env *env, const assay_plan *plan, const char *format, const char *path);

/* --- Running a network on your own data ---------------------------------------------------- */

/* A tensor of an instance: row-major, without gaps, in memory that the instance owns.  `name` lives as long as the plan. */
typedef struct assay_tensor {
    const char *name;  /* "x" */
    const char *dtype; /* "f32", "i64", "bool" ... */
    int         rank;
    int64_t     dim[8];
    void       *data; /* write an input before a run, read an output after it */
    size_t      bytes;
} assay_tensor;

/* An instance holds what changes while a plan runs; several may share a plan, each in its own thread. */
assay_status assay_instance_new(assay_env *env, const assay_plan *plan, assay_instance **out);
void         assay_instance_free(assay_instance *instance);
size_t       assay_instance_n_inputs(const assay_instance *instance);
size_t       assay_instance_n_outputs(const assay_instance *instance);
/* BAD_INPUT when i is not below the number of inputs or outputs. */
assay_status assay_instance_input(assay_env *env, const assay_instance *instance, size_t i, assay_tensor *out);
assay_status assay_instance_output(assay_env *env, const assay_instance *instance, size_t i, assay_tensor *out);
/* From now on a run reads this input from your memory instead of a copy.  Borrowed; it must have the input's type, be row-major,
 * and be aligned for that type. */
assay_status assay_instance_bind_input(assay_env *env, assay_instance *instance, const char *name, void *data, size_t bytes);
/* Copies the values of a file (npy, or .pb of ONNX) into the input.  The file must have the input's type and shape; where the batch
 * is 1, the shape may leave it out. */
assay_status assay_instance_load_input(assay_env *env, assay_instance *instance, const char *name, const char *path);
/* Writes an output as npy: a result, or a state such as "h_n" that a later run starts from as its input "h0". */
assay_status assay_instance_save_output(assay_env *env, const assay_instance *instance, const char *name, const char *path);
/* Writes all outputs as `assay run` prints them: `format` is "text" (the first values of each) or "json" (all), and path "-" is
 * standard output. */
assay_status assay_instance_write(assay_env *env, const assay_instance *instance, const char *format, const char *path);
/* Fills all inputs that were neither bound nor loaded from a file with random values of this seed; states get zeros, time spans
 * ones. */
void assay_instance_fill(const assay_instance *instance, uint64_t seed);
/* One run: reads the inputs, writes the outputs.  Allocates nothing after the first. */
assay_status assay_run(assay_env *env, assay_instance *instance);
/* After a run: the largest relative difference between its outputs and those of exact kernels on the same inputs; 0 unless option
 * winograd let the plan use less exact kernels.  Pass the options that the plan was built with. */
assay_status assay_run_error(assay_env *env, const assay_instance *instance, const assay_options *options, double *out);

/* One answer per sample, as `assay run --stream`: reads samples from one file descriptor as lines of numbers (option format: csv or
 * f32), writes answers to the other, and carries the network's state from sample to sample.  A built-in network has a state only
 * when it was loaded with option stream, and is refused otherwise.  Ends when the input ends.  Options read: those of a plan (batch
 * and seq are 1), rate, deadline, format, seed, timespans ("stdin": the last number of a sample), state-out.  The facts say how
 * late the answers were: stream.p50 ...  Set *out to NULL before the call; a failure after the first answer leaves the facts of
 * what was answered in it. */
assay_status assay_stream(assay_env *env, const assay_model *model, const assay_options *options, int in_fd, int out_fd,
                          assay_facts **out);

/* --- Measuring --------------------------------------------------------------------------------- */

/* What a call that takes long is doing.  Texts live as long as the call of the function that is told. */
typedef struct assay_stage {
    const char *what;     /* "measuring limits", "checking answers", "warming up", "measuring", "storing the run" ... */
    const char *subject;  /* of what: "cnn-small/batch=8"; "" where there is nothing to name */
    double      done;     /* share of this stage, from 0 to 1 */
    double      expect_s; /* how long this stage takes in all, as it was estimated when it began; NaN: not known */
    double      left_s;   /* until the whole call ends, estimated; NaN: not known */
    double      beyond_s; /* set-up that the budget does not cover, told before it starts; 0: there is none */
} assay_stage;

/* Called between measurements, never inside one, by every call below that takes long: when a stage begins, and up to 20 times a second
 * while it goes on.  NULL: nobody is told. */
typedef void (*assay_progress)(void *arg, const assay_stage *stage);
void assay_on_progress(assay_env *env, assay_progress progress, void *arg);

/* Runs the plan again and again as the options say and returns the self-contained record. */
assay_status assay_profile(assay_env *env, const assay_plan *plan, const assay_options *options, assay_trace **out);
/* The same from a model to facts, as the verb `profile` does it: option compile=both adds what compiling gains, option winograd
 * adds its error. */
assay_status assay_profile_model(assay_env *env, const assay_model *model, const assay_options *options, assay_facts **out);
/* A function of your own, measured in place of a model's plan, by the same loop: the `forward_fn` of profiling guides. */
typedef struct assay_forward {
    const char *name;       /* "decode step" */
    void (*run)(void *arg); /* one call */
    void    *arg;
    uint64_t items;        /* that one call does; 0: the option batch */
    double   flops, bytes; /* of one call, as you state them; both 0: the model's, or without a model not known */
} assay_forward;

/* The profile under the keys of profiling guides (docs/profile-keys.md): "profile.compute.tflops", "profile.memory.peak_usage" ...  Each call
 * measures the model, or `forward` when it is not NULL (the model may then be NULL), and gives the facts of assay_profile_model() with the keys of
 * its section alone.  Every key is there: what this machine cannot give is unavailable, with the reason.  Further options: batches,
 * enable-ne, track-unified, track-bandwidth, counters. */
assay_status assay_profile_compute(assay_env *env, const assay_model *model, const assay_forward *forward,
                                   const assay_options *options, assay_facts **out);
assay_status assay_profile_memory(assay_env *env, const assay_model *model, const assay_forward *forward,
                                  const assay_options *options, assay_facts **out);
assay_status assay_profile_hardware(assay_env *env, const assay_model *model, const assay_forward *forward,
                                    const assay_options *options, assay_facts **out);
/* Sections compute, memory and stream (kernels and transfers), of 100 runs unless option runs or time is set; nothing is measured but the runs. */
assay_status assay_quick_profile(assay_env *env, const assay_model *model, const assay_forward *forward,
                                 const assay_options *options, assay_facts **out);
/* Measures again every interval (option interval, 1 s) and hands fresh facts of all sections to `update`, which may keep nothing of them, until it
 * returns false, the time of option time, if set, is over, or the env is cancelled (then CANCELLED).  Nothing is stored. */
typedef bool (*assay_update)(void *arg, const assay_facts *facts);
assay_status assay_profile_realtime(assay_env *env, const assay_model *model, const assay_forward *forward,
                                    const assay_options *options, assay_update update, void *arg);
/* Every key there is: count i up from 0 until it returns false.  `how` says in one line how it is had. */
bool assay_profile_key(size_t i, const char **section, const char **key, const char **unit, const char **how);

void         assay_trace_free(assay_trace *trace);
assay_status assay_trace_save(assay_env *env, const assay_trace *trace, const char *path);
assay_status assay_trace_load(assay_env *env, const char *path, assay_trace **out);

/* Writes the trace for another tool's viewer: `format` is "chrome", "perfetto", "speedscope", "folded", "pprof", "callgrind", "openmetrics"
 * or "prometheus", and path "-" is standard output.  A timeline above 300,000 events keeps whole runs and leaves others out; sums are
 * always of all that was recorded.  An existing file is replaced only when the new one is complete. */
assay_status assay_trace_export(assay_env *env, const assay_trace *trace, const char *format, const char *path);

assay_status assay_analyse(assay_env *env, const assay_trace *trace, assay_facts **out);
void         assay_facts_free(assay_facts *facts);
/* One number by its key: "latency.median", "memory.peak" ...  NULL when there is none.  Lives as long as the facts. */
const assay_metric *assay_facts_metric(const assay_facts *facts, const char *key);
/* All numbers: count i up from 0 until it returns false.  `label` is text for people. */
bool assay_facts_at(const assay_facts *facts, size_t i, const char **key, const char **label, const assay_metric **metric);
/* Tables (layers, steps, comparisons) in the same way: a table by its number, a cell by row and column.  A cell is either a text or
 * a metric; the other is NULL. */
bool assay_facts_table(const assay_facts *facts, size_t i, const char **key, size_t *n_rows, size_t *n_columns);
bool assay_facts_column(const assay_facts *facts, size_t i, size_t column, const char **key, const char **label);
bool assay_facts_cell(const assay_facts *facts, size_t i, size_t row, size_t column, const char **text,
                      const assay_metric **metric);
/* What the analyses found, in sentences; level 0 is a note, 1 good, 2 a warning, 3 bad. */
bool assay_facts_finding(const assay_facts *facts, size_t i, int *level, const char **text);
/* The title, for example "mlp-small, batch 8, cpu, 1 thread", and the schema that says which keys to expect: "assay.run/1". */
const char *assay_facts_title(const assay_facts *facts);
const char *assay_facts_schema(void);

/* Every run in a file: a trace, which is analysed, or run JSON as assay_report() writes it, with one or several runs.  Returns at
 * least one; free them with assay_facts_free_all(). */
assay_status assay_facts_load(assay_env *env, const char *path, assay_facts ***out, size_t *n);
void         assay_facts_free_all(assay_facts **facts, size_t n);

/* `format` is "text", "json", "html", "csv", "markdown", "junit" or "github", and path "-" is standard output.  The old file stays
 * when writing fails. */
assay_status assay_report(assay_env *env, const assay_facts *const *facts, size_t n_facts, const char *format, const char *path);

/* What can be measured on this machine, and why the rest cannot, as one JSON object; path "-" is standard output. */
assay_status assay_doctor(assay_env *env, const char *path);

/* --- Memory of your own code ----------------------------------------------------------------- */

/* Records what a program allocates, frees, resizes, copies and moves between devices, as it tells: assay_analyse() then says how much was
 * in use over time, whose the peak was, what leaks, and what other ways to give memory would save ("memory.peak_usage", tables "owners",
 * "leaks", "savings" ...).  Any thread may call; each writes events of its own.  The number of events is bounded (option max-events); when
 * they are full the record ends there, the rest is counted, and the sums stay exact.  What one call costs is measured and is a fact,
 * "memory.tracking_cost".  A call with a NULL tracker does nothing. */
typedef struct assay_tracker assay_tracker;

/* The env must outlive the tracker. */
assay_status assay_tracker_new(assay_env *env, const assay_options *options, assay_tracker **out);
/* The record of all that was tracked; frees the tracker, also when it fails.  No other thread may use it any more. */
assay_status assay_tracker_finish(assay_env *env, assay_tracker *tracker, assay_trace **out);
void         assay_tracker_free(assay_tracker *tracker); /* without a record */
/* Bytes in use now, and at most so far. */
uint64_t assay_tracker_usage(const assay_tracker *tracker);
uint64_t assay_tracker_peak(const assay_tracker *tracker);

/* `id` names a block, for example by its address, and must differ from those of all other blocks in use.  `owner` is the tensor or the
 * operation that it is for, and `device` where it lies (NULL: "host"); both are copied. */
void assay_track_alloc(assay_tracker *tracker, uint64_t id, uint64_t bytes, const char *owner, const char *device);
void assay_track_free(assay_tracker *tracker, uint64_t id);
void assay_track_resize(assay_tracker *tracker, uint64_t id, uint64_t bytes);
/* This many bytes of the block were copied within its device, or moved from there to another; told when it is done, with the time that it
 * took (0: not measured).  They also tell that the block is in use, and how much of it. */
void assay_track_copy(assay_tracker *tracker, uint64_t id, uint64_t bytes, uint64_t took_ns);
void assay_track_transfer(assay_tracker *tracker, uint64_t id, uint64_t bytes, const char *to, uint64_t took_ns);
/* What this thread allocates between the two is called from that operation; they nest. */
void assay_track_enter(assay_tracker *tracker, const char *operation);
void assay_track_leave(assay_tracker *tracker);
/* An iteration ends: what grows from one to the next is a leak candidate.  Without iterations, equal parts of the time are compared. */
void assay_track_iteration(assay_tracker *tracker);

/* --- Sessions: spans around your own code --------------------------------------------------------- */

/* A session records the spans, operations and numbers of your own program in one trace, from any number of threads.
 *
 *     assay_session *session;
 *     assay_session_start(env, "my service", NULL, &session);
 *     {
 *         ASSAY_SPAN("decode");                // until the end of this block
 *         ...
 *     }
 *     assay_session_stop(env, session, &trace); // then assay_analyse(), assay_trace_save()
 *
 * Totals per call path (calls, time, flops, bytes) are exact for any number of spans; of the spans themselves a bounded number is kept.
 * A span costs at most 30 ns; the session measures what one costs here, and the facts say so. */
typedef struct assay_session assay_session;

/* Starts a session, which becomes that of the calling thread.  Options: history (how many spans are kept in memory), interval (how often
 * the collecting thread empties the rings and reads the sensors; 0: there is no such thread, and both happen when the session stops),
 * sensors, trace (a file that grows meanwhile and is readable after a crash). */
assay_status assay_session_start(assay_env *env, const char *name, const assay_options *options, assay_session **out);
/* Ends the session and frees it.  Threads that still record for it stop doing so at their next span. */
assay_status assay_session_stop(assay_env *env, assay_session *session, assay_trace **out);
/* Another thread joins: from now on its spans belong to the session, until it leaves, ends or joins another.  `name` is that of the
 * thread in reports.  False: no memory, or the session has 65536 threads already. */
bool assay_session_join(assay_session *session, const char *name);
void assay_session_leave(void);
/* Text for people: what changed, why this run.  Any thread may call it. */
void assay_session_note(assay_session *session, const char *key, const char *text);
/* A number of your own: "loss" at step 120.  Any thread may call it. */
void assay_session_metric(assay_session *session, const char *name, const char *unit, uint64_t step, double value);

/* Where a span is in the source; static, because the session keeps its address. */
typedef struct assay_site {
    const char *name, *category, *file;
    int         line;
} assay_site;

/* Spans of the calling thread nest; each begin needs an end.  Without a session they do nothing. */
void assay_span_begin(const assay_site *site);
void assay_span_end(void);
/* The innermost open span did so much work in this call: its flop rate and bandwidth are then known. */
void assay_span_work(uint64_t flops, uint64_t bytes);
#define ASSAY_JOIN_(a, b) a##b
#define ASSAY_JOIN(a, b)  ASSAY_JOIN_(a, b)
#ifdef __cplusplus
struct assay_scope {
    explicit assay_scope(const assay_site *site) { assay_span_begin(site); }
    ~assay_scope() { assay_span_end(); }
    assay_scope(const assay_scope &) = delete;
    assay_scope &operator=(const assay_scope &) = delete;
};
#define ASSAY_SPAN_IN(category, name)                                                                 \
    static const assay_site ASSAY_JOIN(assay_site_, __LINE__) = {name, category, __FILE__, __LINE__}; \
    const assay_scope       ASSAY_JOIN(assay_scope_, __LINE__)(&ASSAY_JOIN(assay_site_, __LINE__))
#elif defined(__GNUC__)
static inline void assay_scope_end(const assay_site *const *site) /* the end of the block calls it */
{
    (void)site;
    assay_span_end();
}
#define ASSAY_SPAN_IN(category, name)                                                                              \
    static const assay_site ASSAY_JOIN(assay_site_, __LINE__) = {name, category, __FILE__, __LINE__};              \
    const assay_site *const ASSAY_JOIN(assay_scope_, __LINE__) __attribute__((cleanup(assay_scope_end), unused)) = \
        (assay_span_begin(&ASSAY_JOIN(assay_site_, __LINE__)), &ASSAY_JOIN(assay_site_, __LINE__))
#endif
/* Records the rest of the block as a span; other compilers call assay_span_begin() and assay_span_end(). */
#ifdef ASSAY_SPAN_IN
#define ASSAY_SPAN(name) ASSAY_SPAN_IN("", name)
#endif

/* What an operation works on.  Texts may be NULL and counts 0 where there is nothing to say. */
typedef struct assay_operation {
    const char *name;         /* "matmul" */
    const char *device;       /* "cpu" */
    const char *precision;    /* "f16" */
    const char *optimisation; /* "O3", "compiled" */
    const char *layer, *phase, *kernel, *revision;
    uint64_t    batch, sequence, parameters;
    uint64_t    flops, bytes; /* of one call */
    int         threads;
    bool        parallel;
} assay_operation;

/* Calls fn(arg) and records it as a span of that operation.  *took_ns (may be NULL) gets how long it took.  The calling thread joins the
 * session if it has not. */
assay_status assay_collect_operation(assay_env *env, assay_session *session, const assay_operation *operation,
                                     void (*fn)(void *arg), void *arg, double *took_ns);
/* The same with nothing known but a name and a device. */
assay_status assay_profile_operation(assay_env *env, assay_session *session, const char *name, const char *device,
                                     void (*fn)(void *arg), void *arg);

/* --- Benchmarks, comparisons, baselines, checks -------------------------------------------- */

/* `what` and the options are those of the verbs: workloads ("matmul", "elementwise:add,mul") or models.  Each case runs in a child
 * process.  All of them read the options budget, timeout, seed, store ("none" keeps nothing).  Set *out to NULL before the call;
 * CANCELLED and DEVICE (a case has no number) leave the facts of what was measured in it. */

/* One row per case; options sizes, dtypes, layout, devices, threads, warmup, runs, target-width ... */
assay_status assay_bench(assay_env *env, const char *const *what, size_t n, const assay_options *options, assay_facts **out);
/* Compares candidates side by side, in turns; options vary ("threads=1,2"), devices, margin, alpha ...  With option data the candidates
 * learn, each with several seeds, and their losses are compared: vary ("optimizer=sgd:lr=0.1,adam:lr=1e-3"), seeds, steps, val ... */
assay_status assay_compare(assay_env *env, const char *const *what, size_t n, const assay_options *options, assay_facts **out);
/* Compares programs that speak the line protocol (assay_arm.h), each a command line; the first is the one that the others are
 * compared with. */
assay_status assay_compare_programs(assay_env *env, const char *const *commands, size_t n, const assay_options *options,
                                    assay_facts **out);
/* What a run JSON of a comparison holds, or a stored one by its number, judged again with other options margin and alpha; nothing is run. */
assay_status assay_compare_again(assay_env *env, const char *path, const assay_options *options, assay_facts **out);
/* Two profiles layer by layer, each a run JSON, a trace or the number of a stored run.  They were measured at different times: nothing is proved. */
assay_status assay_compare_profiles(assay_env *env, const char *a, const char *b, const assay_options *options, assay_facts **out);
/* What this machine can resolve, in which time, and what disturbs it; the store keeps it, and the next comparison is planned with it. */
assay_status assay_noise(assay_env *env, const assay_options *options, assay_facts **out);

/* Records any program: samples its stacks, and says how much of the time it ran and waited, in which functions and by whom they were called.
 * `argv` is the command and ends with NULL; or it is NULL, and option pid says which process to record.  Options rate (looks per second), call-graph,
 * time, trace, store.  Set *out to NULL before the call: CANCELLED and DEVICE (the program was ended by a signal) leave the facts of what was
 * recorded in it.  The exit code of the program is the metric record.exit_code. */
assay_status assay_record(assay_env *env, const char *const *argv, const assay_options *options, assay_facts **out);

/* Answers the line protocol for one case, as `assay bench CASE --speak`, until the other side sends "end". */
assay_status assay_speak(assay_env *env, const char *what, const assay_options *options, int in_fd, int out_fd);

/* Stores under a name how this program runs the cases, so that assay_check() can run it again.  It is started as `PROGRAM bench
 * CASE --key=value ... --speak`: the program must be `assay` itself, or one that answers this with assay_speak().  Option:
 * description. */
assay_status assay_baseline_create(assay_env *env, const char *name, const char *const *what, size_t n,
                                   const assay_options *options);
/* The same for programs that speak the line protocol (assay_arm.h), each a command line. */
assay_status assay_baseline_create_programs(assay_env *env, const char *name, const char *const *commands, size_t n,
                                            const assay_options *options);
/* The baselines of the store: a table "baselines".  Here and below, option store says which store; "none" is refused. */
assay_status assay_baselines(assay_env *env, const assay_options *options, assay_facts **out);
/* What a baseline keeps, case by case, as `assay baseline show` prints it: `format` is "text" or "json", and path "-" is standard
 * output. */
assay_status assay_baseline_write(assay_env *env, const char *name, const assay_options *options, const char *format,
                                  const char *path);
/* Renames `from` to `to`; a baseline that had that name is removed. */
assay_status assay_baseline_promote(assay_env *env, const char *from, const char *to, const assay_options *options);
/* Removes a baseline, with the programs and models that nothing else needs. */
assay_status assay_baseline_remove(assay_env *env, const char *name, const assay_options *options);
/* Compares today's cases with the baseline's; options threshold (percent), severity, alpha, fail-on, cross-machine.  *exit_code is
 * that of `assay check`. */
assay_status assay_check(assay_env *env, const char *baseline, const assay_options *options, assay_facts **out, int *exit_code);

/* --- Training ---------------------------------------------------------------------------------------------- */

/* Where a training run stands after an update.  Numbers that are not known are NaN. */
typedef struct assay_training {
    uint64_t    update, n_updates; /* from 1; in all, 0: not known */
    uint64_t    epoch, n_epochs;   /* from 1; in all, 0: the number of updates was given */
    uint64_t    samples;           /* seen so far */
    uint64_t    batch;
    const char *batch_why;      /* what batch=auto took at the beginning, and why; "": it was given */
    double      loss, smooth;   /* of this update's examples; smoothed over the last ones */
    double      rate;           /* learning rate of the first group, as the optimiser's kernel applied it */
    double      norm;           /* of the gradient */
    double      loss_z, norm_z; /* standard deviations from the mean of the last 128 */
    double      updates_per_s, samples_per_s;
    double      wait_share;   /* of the time, that the step waited for data */
    double      done, left_s; /* share of the run; how long the rest takes */
    double      memory_bytes; /* resident */
    double      loss_scale;
    uint64_t    skips; /* updates left out because the gradient was not finite */
    uint64_t    checkpoints, failed_checkpoints;
    const char *checkpoint_failed; /* why the last one could not be written; training goes on; "" or NULL: none failed */
    uint64_t    resumed;           /* the update from which the run went on; 0: it began anew */
    const char *refused;           /* why a newer checkpoint of the folder was not taken; "": none was refused */
    bool        logged;            /* every N updates, as option every says, and at the end of an epoch */
    bool        epoch_ends;
    double      epoch_loss; /* mean over the epoch that ends */
    double      val_loss;   /* of the last evaluation */
    double      score;      /* accuracy for classes, else R2; of the last evaluation */
    const char *score_name; /* "accuracy" */
} assay_training;
/* Called after every update; false stops the run, which then ends like one that was cancelled. */
typedef bool (*assay_on_training)(void *arg, const assay_training *now);

/* Trains a model as `assay train` does: options data, val, epochs, steps, batch, optimizer, schedule, loss, checkpoint, resume, log, save ...
 * The record is stored (option store) and the facts are what the report shows.  Set *out to NULL before the call; CANCELLED (a checkpoint
 * was written) and DEVICE (a number is not finite, or the loss diverged) leave the facts of what was done in it. */
assay_status assay_train(assay_env *env, const assay_model *model, const assay_options *options, assay_on_training on_update,
                         void *arg, assay_facts **out);

/* The same update by update.  The model must outlive the trainer. */
typedef struct assay_trainer assay_trainer;
assay_status assay_trainer_new(assay_env *env, const assay_model *model, const assay_options *options, assay_trainer **out);
void         assay_trainer_free(assay_trainer *trainer);
/* One update.  *more (may be NULL): the run that the options describe is not over. */
assay_status assay_trainer_step(assay_env *env, assay_trainer *trainer, assay_training *now, bool *more);
/* A checkpoint in a folder, and back from a folder or the JSON of one: from then on it does the same to the bit. */
assay_status assay_trainer_save(assay_env *env, assay_trainer *trainer, const char *folder);
assay_status assay_trainer_load(assay_env *env, assay_trainer *trainer, const char *path);
/* The network with its weights as they are now: to run, to evaluate, to export. */
assay_status assay_trainer_model(assay_env *env, const assay_trainer *trainer, assay_model **out);

/* Finds settings of training by measuring: the batch size (option batch=auto), the learning rate (lr, with data), the number of threads
 * (threads, a list), what computing again costs (recompute, a list), or what 16-bit storage does (precision=all).  Options memory-budget, data,
 * budget, runs, steps and those of a training step.  Set *out to NULL before the call; CANCELLED leaves what was measured in it. */
assay_status assay_tune(assay_env *env, const assay_model *model, const assay_options *options, assay_facts **out);

/* --- What the store knows -------------------------------------------------------------------- */

/* All runs, newest first: a table "runs". */
assay_status assay_stored_runs(assay_env *env, const assay_options *options, assay_facts **out);
/* One run by its number, as it was reported when it was measured. */
assay_status assay_stored_run(assay_env *env, int64_t id, const assay_options *options, assay_facts **out);
/* The record of the run's trial number `place`, counted from 1, to save or to analyse again; 0: of its only trial. */
assay_status assay_stored_trace(assay_env *env, int64_t id, size_t place, const assay_options *options, assay_trace **out);
/* Removes all of them or none; a run that a baseline needs cannot be removed. */
assay_status assay_stored_remove(assay_env *env, const int64_t *ids, size_t n, const assay_options *options);
/* Writes runs with all their records to one file (n == 0: all runs), and reads such a file into a store, which is created if
 * needed.  *n_added is how many were added, *n_known how many were there already. */
assay_status assay_stored_export(assay_env *env, const int64_t *ids, size_t n, const assay_options *options, const char *path);
assay_status assay_stored_import(assay_env *env, const char *path, const assay_options *options, size_t *n_added, size_t *n_known);
/* Reads the whole store: checks every page, every run against its hash, every object of a baseline against its name. */
typedef struct assay_store_counts {
    size_t runs, baselines, objects;
} assay_store_counts;
assay_status assay_stored_verify(assay_env *env, const assay_options *options, assay_store_counts *out);
/* A case over its runs, with the change points that its ranks suggest; NULL: lists the cases.  Option cross-machine: of all
 * machines. */
assay_status assay_history(assay_env *env, const char *name, const assay_options *options, assay_facts **out);

/* --- What is in here, and does it hold what it promises ----------------------------------------------------------- */

/* A list as one table that has the name of the topic: "ops", "models", "params", "devices", "kernels", "sensors" or "aliases" (short
 * options and the names that other tools use).  `of` is the model of "params", and may be an ONNX file with "ops": then the operators
 * of that file that are not supported are listed, with the facts "ops.nodes" and "ops.unsupported".  Else NULL. */
assay_status assay_list(assay_env *env, const char *topic, const char *of, assay_facts **out);
/* The parts of this build: tables "build" (version, how it was built), "in" (kind, name) and "left_out" (part, why). */
assay_status assay_parts(assay_env *env, assay_facts **out);
/* A neural circuit, for example "autoncp:units=28,out=4": `format` is "text", "detailed", "json", "dot" (Graphviz), "svg" or "crc" (one
 * line), and path "-" is standard output.  Option: input, how many inputs it has. */
assay_status assay_wiring_write(assay_env *env, const char *spec, const assay_options *options, const char *format,
                                const char *path);
/* Comparisons whose answer is known: a table "cells" with false alarms and what was found, and the fact "selftest.broken".  Options full,
 * cells, seed, state.  The cells "programs..." start this program as `PROGRAM selftest --arm WHAT`: it must be `assay` itself, or answer
 * this with assay_selftest_speak().  Set *out to NULL before the call; CANCELLED leaves what was counted in it. */
assay_status assay_selftest(assay_env *env, const assay_options *options, assay_facts **out);
assay_status assay_selftest_speak(assay_env *env, const char *what, int in_fd, int out_fd);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
