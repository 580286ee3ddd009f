/* calls.h - which options the public calls of the laboratory take, and so the verbs that print the results of these calls; and
 * how the calls end. */
#ifndef AS_LAB_CALLS_H
#define AS_LAB_CALLS_H

/* clang-format off */
#define AS_CASE_KEYS     "sizes", "dtypes", "layout", "batch", "seq", "dim", "weights", "seed", "devices", "threads", "compile", \
                         "weights-as", "winograd", "train", "optimizer", "loss", "recompute", "precision", "accumulate"
#define AS_BENCH_KEYS    AS_CASE_KEYS, "suite", "budget", "runs", "warmup", "target-width", "timeout", "clock", "layout-of-memory", \
                         "check", "samples", "store"
#define AS_COMPARE_KEYS  AS_CASE_KEYS, "vary", "metric", "device", "budget", "runs", "warmup", "timeout", "clock", "layout-of-memory", "check", "samples", \
                         "margin", "alpha", "store"
#define AS_BASELINE_KEYS AS_CASE_KEYS, "suite", "description", "budget", "timeout", "store"
#define AS_CHECK_KEYS    "threshold", "memory-threshold", "severity", "alpha", "fail-on", "cross-machine", "budget", "timeout", "clock", "seed", "samples", \
                         "store"
#define AS_PLAN_KEYS     "batch", "seq", "dim", "input", "timespans", "state-in", "weights", "seed", "device", "threads", "compile", \
                         "weights-as", "winograd", "reuse", "in-place"
#define AS_BASELINE_BIN_KEYS "bin", "description", "budget", "timeout", "seed", "store"
#define AS_TUNE_KEYS     "batch", "lr", "threads", "memory-budget", "data", "val", "preprocess", "loader", "seq", "dim", "weights", "seed", "device", "compile", \
                         "winograd", "optimizer", "loss", "group", "freeze", "accumulate", "clip", "clip-value", "precision", "recompute", \
                         "steps", "budget", "runs", "margin", "alpha", "store"
#define AS_STORE_KEYS    "store"
#define AS_HISTORY_KEYS  "cross-machine", "store"
#define AS_DEVICES_KEYS  "measure", "device", "threads", "require"
#define AS_SELFTEST_KEYS "stats", "full", "cells", "seed", "state"
#define AS_NOISE_KEYS    "seed", "budget", "store"
#define AS_RECORD_KEYS   "pid", "memory", "rate", "call-graph", "time", "trace", "store"
#define AS_TRAIN_KEYS    "data", "val", "epochs", "steps", "batch", "memory-budget", "optimizer", "schedule", "group", "freeze", "loss", \
                         "accumulate", "clip", "clip-value", "grow-batch", "precision", "recompute", "metrics", "loader", "preprocess", \
                         "checkpoint", "checkpoint-every", "keep", "resume", "every", "diverged", "weights", "seed", "seq", "dim", \
                         "device", "threads", "winograd", "store", "trace"
#define AS_LEAGUE_ONLY   "data", "val", "preprocess", "loader", "epochs", "steps", "seeds", "schedule", "group", "freeze", "clip", "clip-value", \
                         "grow-batch", "metrics", "diverged"
#define AS_LEAGUE_KEYS   AS_LEAGUE_ONLY, "vary", "batch", "seq", "dim", "weights", "seed", "device", "threads", "winograd", "optimizer", "loss", \
                         "recompute", "precision", "accumulate", "alpha", "store"
#define AS_STREAM_KEYS   AS_PLAN_KEYS, "stream", "state-out", "rate", "deadline", "format"
/* clang-format on */
#define AS_TUNE_BUDGET  "10s" /* of a comparison in assay_tune(); longer where its rounds are */
#define AS_NOISE_BUDGET "12s" /* of assay_noise(), all trials together */

#include "lab/keep.h"
#include "lab/lab.h"
#include "plan/plan.h"
#include "report/brief.h"
#include "run/stream.h"

/* The facts own the trials from now on. */
void as_trials_give(assay_facts *f, assay_trace **trials, size_t n, const as_lab_settings *s);
/* Whether any of them holds a measurement.  A trial that was stopped while its answers were checked does not. */
bool as_trials_have(assay_trace *const *trials, size_t n);
/* Stores what was measured and hands it over; the status is that of the measurement. */
assay_status as_facts_give(assay_env *env, const as_store_options *o, const char *kind, const char *title, assay_facts *f,
                           assay_status measured, assay_facts **out);

/* The store of a call that only reads or tidies it; `what` begins the message that refuses other options. */
assay_status as_call_store(assay_env *env, const char *what, const assay_options *options, as_store **out);

/* All records of a stored run, in their order: *out is a list to be freed, each with assay_trace_free(). */
assay_status as_stored_traces(assay_env *env, int64_t id, const assay_options *options, assay_trace ***out, size_t *n);
/* A stream of its own on a descriptor that stays open; NULL: errno says why. */
FILE *as_stream_of(int fd, const char *mode);

/* Which output goes to which file: options output and state-out, each "NAME=FILE" or "FILE".  The texts belong to the model and
 * the options. */
enum { AS_MAX_ANSWERS = 64 };
typedef struct as_answer_files {
    const char *name[AS_MAX_ANSWERS + AS_MAX_STATES], *path[AS_MAX_ANSWERS + AS_MAX_STATES];
    int         n, n_outputs; /* the first n_outputs are those of --output */
} as_answer_files;
assay_status as_answer_files_read(assay_env *env, const assay_model *model, const assay_options *options, as_answer_files *out);
assay_status as_answer_files_save(assay_env *env, const assay_instance *instance, const as_answer_files *files);
/* The outputs on one screen, with the time of the run and the files written; the brief borrows from the model. */
void as_outputs_brief(const assay_instance *instance, const as_answer_files *files, double ns, as_brief *b);

/* A run file of `assay train`: a JSON object whose keys are "model" and the options of the verb; a list gives an option several values.
 * Sets what is not set yet.  *is_one: false, and nothing happened, when the file is another kind of JSON. */
assay_status as_train_file_read(assay_env *env, const char *path, const char *const *keys, assay_options *options, char *model,
                                size_t size, bool *is_one);

/* All of assay_stream() except the facts.  *report covers the answers given, whatever ended the stream. */
assay_status as_stream_answer(assay_env *env, const assay_model *model, const assay_options *options, int in_fd, int out_fd,
                              as_stream_report *report);

#endif
