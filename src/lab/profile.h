/* profile.h - a profile from a model, or a function, to facts.  Private to lab/. */
#ifndef AS_LAB_PROFILE_H
#define AS_LAB_PROFILE_H

#include "lab/calls.h"
#include "run/run.h"

/* Which sections of the guides' keys are wanted, as bits. */
enum {
    AS_KEYS_COMPUTE = 1,
    AS_KEYS_MEMORY = 2,
    AS_KEYS_HARDWARE = 4,
    AS_KEYS_STREAM = 8,
    AS_KEYS_QUICK = AS_KEYS_COMPUTE | AS_KEYS_MEMORY | AS_KEYS_STREAM,
    AS_KEYS_ALL = 15
};

typedef struct as_profile_how {
    as_plan_options  plan;
    bool             trains; /* a whole training step */
    as_train_setup   train;
    as_run_settings  run;
    as_lab_settings  lab;
    as_store_options store;
    bool             both; /* --compile both: plan is the compiled one */
    bool             quick, cachegrind;
    unsigned         sections;
    uint64_t         interval_ns;
    bool             time_is_set;
    const char      *batches; /* "32,64"; NULL: none */
} as_profile_how;

/* sections 0: as option only says, else all. */
assay_status as_profile_how_read(assay_env *env, const assay_options *options, unsigned sections, bool quick, as_profile_how *h);
/* One of model and forward may be NULL. */
assay_status as_profile(assay_env *env, const assay_model *model, const assay_forward *forward, const as_profile_how *h,
                        assay_facts **out);
void         as_profile_sections_keep(assay_facts *f, unsigned sections);

/* Instructions and simulated misses of one run, by children under valgrind, as metrics of the trace.  UNSUPPORTED: there is no valgrind. */
assay_status as_cachegrind_add(assay_env *env, const assay_model *model, const assay_plan *plan, const as_plan_options *options,
                               assay_trace *trace);

#endif
