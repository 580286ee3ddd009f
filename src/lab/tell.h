/* tell.h - shows as text and as JSON: a plan, the outputs of a run, the report of a stream, the devices and sensors of this
 * machine.  plan/ and run/ print nothing themselves. */
#ifndef AS_LAB_TELL_H
#define AS_LAB_TELL_H

#include "lab/require.h"
#include "plan/plan.h"
#include "report/brief.h"
#include "run/stream.h"
#include "train/train.h"

/* What would run, with which kernel and why, and where every byte is (the verb `plan`); the brief borrows from the plan. */
void         as_plan_brief(const assay_plan *plan, as_brief *b);
const char  *as_plan_say(const assay_plan *plan, as_brief *b); /* "batch 1 · cpu: AMD EPYC, 1 thread", for the title of a brief */
void         as_plan_print(const assay_plan *plan, FILE *file, bool colour);
assay_status as_plan_json(assay_env *env, const assay_plan *plan, FILE *file); /* "assay.plan/1" */
/* The same with keys of its own, which `more` writes. */
assay_status as_plan_json_with(assay_env *env, const assay_plan *plan, void (*more)(as_json *w, const void *arg), const void *arg,
                               FILE *file);

/* The plan of a training step (the verb `plan --train`): memory by what it is for, and what computing parts again and 16 bits would change.
 * Every row of `options` is a plan of its own that was built for it. */
typedef struct as_train_option {
    char     name[32]; /* "recompute 4" */
    bool     asked;    /* it is the plan that was asked for */
    uint64_t total_bytes, activation_bytes;
    double   flops; /* of a step */
    int      n_segments;
} as_train_option;
enum { AS_MAX_TRAIN_OPTIONS = 12 };
typedef struct as_train_told {
    const as_train_graph *graph;
    const assay_plan     *plan;
    as_train_memory       memory;
    as_train_option       options[AS_MAX_TRAIN_OPTIONS];
    int                   n_options;
    double                flops;
} as_train_told;
assay_status as_train_told_make(assay_env *env, const assay_model *model, const as_train_setup *setup,
                                const as_plan_options *options, const as_train_graph *graph, const assay_plan *plan,
                                as_train_told *out);
void         as_train_brief(const as_train_told *told, as_brief *b);
assay_status as_train_json(assay_env *env, const as_train_told *told, const char *path);
void         as_train_print(const as_train_told *told, FILE *file);

void as_outputs_print(const assay_instance *instance, FILE *file); /* the first values of each */
void as_outputs_json(const assay_instance *instance, FILE *file);  /* "assay.outputs/1", all of them */

void         as_stream_print(const as_stream_report *report, FILE *file);
assay_status as_stream_json(assay_env *env, const as_stream_report *report, const char *model,
                            const char *path); /* "assay.stream/1" */

/* The devices of this machine, and the limits of each (the verb `devices`).  Options measure, device, threads. */
typedef struct as_devices as_devices;
assay_status              as_devices_ask(assay_env *env, const assay_options *options, as_devices **out);
void                      as_devices_free(as_devices *t);
void                      as_devices_print(const as_devices *t, FILE *file);
assay_status              as_devices_facts(assay_env *env, const as_devices *t, assay_facts **out);
/* "assay.devices/2"; required: judged rows that go with it, or NULL. */
void as_devices_json(const as_devices *t, const as_requirements *required, FILE *file);

/* What can be measured here, what cannot, and why (the verb `doctor`): on one screen, or all of it. */
assay_status as_doctor_brief(assay_env *env, as_brief *b);
assay_status as_doctor_print(assay_env *env, FILE *file);

#endif
