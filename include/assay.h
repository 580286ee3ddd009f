/* assay.h - the public interface of libassay, a performance laboratory for neural networks.
 *
 * One picture:
 *
 *     model --> plan --> instance/run --> TRACE --> facts --> report
 *
 * A model is a graph of ONNX operators.  A plan binds it to a device: ordered steps, chosen
 * kernels, every buffer counted.  An instance holds what changes while a plan runs.  A profile run
 * fills a trace, which is self-contained; facts are computed from the trace alone, and a report is
 * written from the facts.  Each arrow is one call from const things to a new object, and the caller
 * frees what it was given.
 *
 * What can fail returns an assay_status.  The sentence that explains it is assay_message(env).
 * Outputs are untouched on failure.  The library never prints and never exits.
 *
 *     assay_env *env;  assay_model *model;  assay_plan *plan;  assay_trace *trace;
 *     assay_env_new(&env);
 *     assay_options *options;  assay_options_new(env, &options);
 *     assay_options_set(env, options, "batch", "8");
 *     if (assay_model_load(env, "mlp-small", options, &model) == ASSAY_OK &&
 *         assay_plan_build(env, model, options, &plan) == ASSAY_OK &&
 *         assay_profile(env, plan, options, &trace) == ASSAY_OK) ...
 *
 * An env and what was made with it belong to one thread at a time; a plan may be shared. */
#ifndef ASSAY_H
#define ASSAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__ /* the library hides its symbols; what stands between this line and its end is exported */
#pragma GCC visibility push(default)
#endif

#define ASSAY_VERSION "0.1.0"

/* --- Status ---------------------------------------------------------------------------- */

typedef enum assay_status {
    ASSAY_OK = 0,
    ASSAY_BAD_INPUT,   /* a file, shape, name or option that cannot be used */
    ASSAY_NOT_FOUND,   /* a name that nothing here answers to */
    ASSAY_IO,          /* the operating system refused to read or write */
    ASSAY_UNSUPPORTED, /* understood, and not possible with what is built in */
    ASSAY_NO_MEMORY,
    ASSAY_DEVICE,    /* a device failed while it ran */
    ASSAY_CANCELLED, /* stopped from outside; what was measured is kept */
    ASSAY_INTERNAL,  /* a broken promise of ours */
    ASSAY_TIMED_OUT, /* no answer within the time that was given */
    ASSAY_N_STATUS
} assay_status;

/* A fixed sentence for the status alone, e.g. "bad input". */
const char *assay_status_text(assay_status status);

/* --- Env: the context of every call ------------------------------------------------------ */

/* Holds the clock, the last message and the cancel flag.  No global state anywhere else. */
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
    ASSAY_UNAVAILABLE       /* cannot be had here: value is NaN and the reason says why */
} assay_kind;

/* lo and hi bound the value (equal to it when exact, NaN when there is no interval). */
typedef struct assay_metric {
    double      value;
    double      lo, hi;
    uint64_t    n;      /* samples behind the value */
    const char *unit;   /* "ns", "byte", "flop", "flop/s", "1" ... */
    const char *source; /* who says so: a clock, a sensor, a formula */
    const char *reason; /* only when unavailable, else NULL */
    assay_kind  kind;
} assay_metric;

const char *assay_kind_text(assay_kind kind);

/* --- Options: opaque, set by key from one table ------------------------------------------ */

typedef struct assay_options assay_options;

assay_status assay_options_new(assay_env *env, assay_options **out);
void         assay_options_free(assay_options *options);
/* BAD_INPUT for an unknown key or a value outside its range; the sentence lists what is allowed. */
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

/* `spec` is "cpu", "opencl:0", "null:gemm=5us" ...; threads: those of the CPU.  Any number of plans may use an open device, at once
 * and in any thread; it keeps nothing of the env. */
assay_status assay_device_open(assay_env *env, const char *spec, int threads, assay_device **out);
void         assay_device_close(assay_device *device);

/* Options read: batch, dim, compile, device, threads.  The plan opens the devices that the options name, in order of preference, and
 * closes them; one that refuses every step is an error.  Borrows the model, which must outlive it. */
assay_status assay_plan_build(assay_env *env, const assay_model *model, const assay_options *options, assay_plan **out);
/* The same on open devices, which are lent for the plan's life: each node goes to the first of the list that takes it.  The cpu must be
 * among them: inputs and outputs live in its memory.  Options device and threads must not be set. */
assay_status assay_plan_build_on(assay_env *env, const assay_model *model, assay_device *const *devices, size_t n_devices,
                                 const assay_options *options, assay_plan **out);
void         assay_plan_free(assay_plan *plan);
/* Bytes that an instance will hold at its peak, known before anything is allocated. */
uint64_t assay_plan_peak_bytes(const assay_plan *plan);

/* Runs the plan again and again as the options say and returns the self-contained record. */
assay_status assay_profile(assay_env *env, const assay_plan *plan, const assay_options *options, assay_trace **out);
void         assay_trace_free(assay_trace *trace);
assay_status assay_trace_save(assay_env *env, const assay_trace *trace, const char *path);
assay_status assay_trace_load(assay_env *env, const char *path, assay_trace **out);

assay_status assay_analyse(assay_env *env, const assay_trace *trace, assay_facts **out);
void         assay_facts_free(assay_facts *facts);
/* `format` is "text", "json", "html", "csv" or "markdown".  The old file stays when writing fails. */
assay_status assay_report(assay_env *env, const assay_facts *const *facts, size_t n_facts, const char *format, const char *path);

/* --- Benchmarks, comparisons, baselines, checks -------------------------------------------- */

/* `what` and the options are those of the verbs: workloads ("matmul", "elementwise:add,mul") or models.  Each case runs in a child process.
 * Options read by all: budget, timeout, seed, store ("none" keeps nothing).  CANCELLED leaves the facts of what was measured in *out. */

/* One row a case; options sizes, dtypes, layout, devices, threads, warmup, runs, target-width ... */
assay_status assay_bench(assay_env *env, const char *const *what, size_t n, const assay_options *options, assay_facts **out);
/* Side by side, in turns; options vary ("threads=1,2"), devices, margin, alpha ... */
assay_status assay_compare(assay_env *env, const char *const *what, size_t n, const assay_options *options, assay_facts **out);
/* Keeps this program's way to run the cases under a name, so that assay_check() can run it again; the program must be `assay` itself, or one
 * that answers `bench CASE --speak` as it does.  Option description. */
assay_status assay_baseline_create(assay_env *env, const char *name, const char *const *what, size_t n,
                                   const assay_options *options);
/* Today's against the baseline's; options threshold (percent), severity, alpha, fail-on, cross-machine.  *exit_code as of `assay check`. */
assay_status assay_check(assay_env *env, const char *baseline, const assay_options *options, assay_facts **out, int *exit_code);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
