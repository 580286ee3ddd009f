/* cases.h - what `bench` measures: from words on the command line, or a suite file, to a list of cases.
 *
 * A case is one workload or model with every axis fixed: size, element type, layout, device, threads.  Axes with several values
 * multiply.  What a line of a suite says itself wins over the options of the command line, which win over what is standard.
 *
 * (as_case is taken: one call of an operator, op/op.h.) */
#ifndef AS_LAB_CASES_H
#define AS_LAB_CASES_H

#include "model/model.h"
#include "trace/trace.h"
#include "plan/plan.h"

enum { AS_BENCH_MAX_CASES = 4096 };

typedef struct as_bench_case {
    const char      *id;       /* "matmul/512x512/f32/contiguous/cpu/t1": every axis, and so unique */
    const char      *name;     /* "matmul/512/f32": what is standard is left out; unique among the cases, too */
    const char      *family;   /* the id with * for the size: cases of a family differ in size only */
    const char      *workload; /* "matmul", or the model as it was given */
    const char      *spec;     /* for assay_model_load(): "matmul:size=512x512,dtype=f32,layout=contiguous" */
    as_model_options model;    /* what it is loaded and planned with */
    as_plan_options  plan;
    bool             is_workload; /* of the table below, not a user's model */
    as_work          work;
    int64_t          spec_batch; /* a workload's own: "cell:kind=cfc,batch=8"; 0: it has none */
    int64_t          spec_rows;  /* rows of a workload that do not depend on each other; 0: it has none */
    size_t rows_begin, rows_end; /* where that number stands in the spec: another one there makes a case of so many rows */
} as_bench_case;

typedef struct as_bench_cases {
    as_arena       arena;
    as_bench_case *items;
    int            n_items;
    const char   **notes;
    int            n_notes; /* what was left out and why, a sentence each */
} as_bench_cases;

/* What the user said about cases.  Lists ("1,2") multiply, and so they are texts; NULL: nothing was said. */
typedef struct as_case_options {
    const char *suite, *sizes, *dtypes, *layout, *devices, *threads;
    const char *batch, *seq, *compile, *weights_as, *winograd;
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
/* The same of a text instead of the option suite: `path` is for sentences. */
assay_status as_bench_cases_parse(assay_env *env, const char *path, const char *text, const as_case_options *options,
                                  as_bench_cases **out);
void         as_bench_cases_free(as_bench_cases *cases);

/* Its device computes nothing and tells its times: by a clock that nothing else moves. */
bool as_bench_case_is_told(const as_bench_case *c);

/* Items that a call does: the batch.  NaN: not known, as of a workload without one. */
double as_bench_case_items(const as_bench_case *c);

/* A case that can be run. */
typedef struct as_bench_subject {
    assay_model *model;
    assay_plan  *plan;
    char         elsewhere[512]; /* which steps its device refused; "": none */
    const char  *slow;           /* a step for which there is no kernel, so that the slow truth is what runs; NULL: none */
} as_bench_subject;

/* UNSUPPORTED where a workload in another type than f32 would run by the slow truth: its time would say nothing. */
assay_status as_bench_case_open(assay_env *env, const as_bench_case *c, as_bench_subject *out);
void         as_bench_subject_close(as_bench_subject *subject);

#endif
