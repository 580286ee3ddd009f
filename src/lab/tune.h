/* tune.h - what the files of `assay tune` share. */
#ifndef AS_LAB_TUNE_H
#define AS_LAB_TUNE_H

#include "analysis/analysis.h"
#include "lab/lab.h"
#include "train/loop.h"
#include "train/probe.h"

enum { AS_TUNE_PROBES = 12 };

typedef struct as_tuner {
    assay_env           *env;
    const assay_model   *model;
    const assay_options *options;
    assay_options  *setup_options; /* those of the step, without the words that only tune takes; the setup borrows their texts */
    as_train_setup  setup;
    as_plan_options plan;
    const char     *data;
    int64_t         steps; /* updates with data; 0: not given */
    uint64_t        budget;
    bool            budget_given;
    assay_facts    *f;
    as_fact_group  *g;
    as_probe        probes[AS_TUNE_PROBES];
    int             n;
    as_lab_settings lab;
    assay_trace    *trial; /* of the ways to do a step; NULL: none was measured */
} as_tuner;

/* The options of a training run with this tuner's data, without what only tune takes.  The caller frees them after what borrows their
 * texts. */
assay_status as_tune_loop_options(const as_tuner *t, assay_options **out);

/* Several ways to do the same training step, measured in turns; the first of them is what the others are judged against.
 * list: "0,2,4,auto".  CANCELLED: the facts have what was measured. */
assay_status as_tune_recompute(as_tuner *t, const char *list);
assay_status as_tune_precision(as_tuner *t);

#endif
