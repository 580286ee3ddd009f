/* cases.h - what `bench` measures: from words on the command line, or a suite file, to a list of cases.
 *
 * A case is one workload or model with every axis fixed: size, element type, layout, device, threads.  Axes with several values
 * multiply.  A line of a suite overrides the options of the command line, which override the defaults.
 *
 * (The name as_case is taken: one call of an operator, op/op.h.) */
#ifndef AS_LAB_CASES_H
#define AS_LAB_CASES_H

#include "model/model.h"
#include "trace/trace.h"
#include "plan/plan.h"
#include "train/train.h"

enum { AS_BENCH_MAX_CASES = 4096 };

/* A suite that the program carries: --suite training. */
typedef struct as_suite_file {
    const char *name, *text;
} as_suite_file;
extern const as_suite_file as_suite_files[]; /* ends with a NULL name */

typedef struct as_bench_case {
    const char        *id;       /* "matmul/512x512/f32/contiguous/cpu/t1": every axis, and so unique */
    const char        *name;     /* "matmul/512/f32": defaults are left out; also unique among the cases */
    const char        *family;   /* the id with * for the size: cases of a family differ in size only */
    const char        *workload; /* "matmul", or the model as it was given */
    const char        *spec;     /* for assay_model_load(): "matmul:size=512x512,dtype=f32,layout=contiguous" */
    const assay_model *lent;     /* the model itself, which outlives the case; NULL: the spec is loaded */
    as_model_options   model;    /* how it is loaded and planned */
    as_plan_options    plan;
    bool               trains; /* a whole training step of the model */
    as_train_setup     train;
    bool               is_workload; /* of the table below, not a user's model */
    as_work            work;
    int64_t            spec_batch; /* a workload's own: "cell:kind=cfc,batch=8"; 0: it has none */
    int64_t            spec_rows;  /* rows of a workload that do not depend on each other; 0: it has none */
    size_t rows_begin, rows_end;   /* where that number is in the spec: replacing it gives a case with another number of rows */
} as_bench_case;

typedef struct as_bench_cases {
    as_arena       arena;
    as_bench_case *items;
    int            n_items;
    const char   **notes;
    int            n_notes; /* what was left out and why, one sentence each */
} as_bench_cases;

/* What the user said about cases.  Texts, because lists ("1,2") multiply; NULL: not given. */
typedef struct as_case_options {
    const char *suite, *sizes, *dtypes, *layout, *devices, *threads;
    const char *batch, *seq, *compile, *weights_as, *winograd;
    bool        train; /* these are for training steps only: */
    const char *optimizer, *loss, *recompute, *precision, *accumulate;
    as_texts    dims;
    uint64_t    seed;
    const char *weights;
} as_case_options;

extern const as_option_member as_case_members[];
assay_status                  as_case_options_read(assay_env *env, const assay_options *options, as_case_options *out);

/* Arguments: a workload ("matmul"), one with words ("elementwise:add,mul", "matmul:size=64x64,128x128,dtype=f32,f16"), or a model.
 * The cases borrow the texts of the options. */
assay_status as_bench_cases_read(assay_env *env, const char *const *args, int n_args, const as_case_options *options,
                                 as_bench_cases **out);
/* The same from a text instead of the option suite; `path` is for messages. */
assay_status as_bench_cases_parse(assay_env *env, const char *path, const char *text, const as_case_options *options,
                                  as_bench_cases **out);
void         as_bench_cases_free(as_bench_cases *cases);

/* Whether its device only simulates time (null): it computes nothing and moves the clock itself. */
bool as_bench_case_is_told(const as_bench_case *c);

/* Items per call: the batch size.  NaN: not known, for example a workload without a batch. */
double as_bench_case_items(const as_bench_case *c);

/* A case that can be run. */
typedef struct as_bench_subject {
    assay_model       *own; /* that was loaded for it; NULL: the case lends its model */
    const assay_model *model;
    assay_plan        *plan;
    as_train_graph    *train;          /* of a training step; else NULL */
    char               elsewhere[512]; /* which steps its device refused; "": none */
    const char        *slow;           /* a step without a kernel, which the reference code runs; NULL: none */
} as_bench_subject;

/* UNSUPPORTED where a workload of a type other than f32 would run in reference code: its time would mean nothing. */
assay_status as_bench_case_open(assay_env *env, const as_bench_case *c, as_bench_subject *out);
void         as_bench_subject_close(as_bench_subject *subject);

#endif
