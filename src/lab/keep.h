/* keep.h - what a verb measured goes into the store, unless --store none. */
#ifndef AS_LAB_KEEP_H
#define AS_LAB_KEEP_H

#include "analysis/analysis.h"
#include "base/options.h"
#include "store/store.h"

typedef struct as_store_options {
    const char *url;  /* NULL: where it is by default */
    bool        none; /* nothing is kept */
} as_store_options;
assay_status as_store_options_read(assay_env *env, const assay_options *options, as_store_options *out);
/* The same of a call that will keep a run: a store that could not take it is refused here, before anything is measured. */
assay_status as_keep_options_read(assay_env *env, const assay_options *options, as_store_options *out);

/* The records and what was found in them.  *id gets 0 when nothing is kept: --store none, or the standard store cannot be had, and then the
 * facts say why (not_kept). */
assay_status as_lab_keep(assay_env *env, const as_store_options *o, const char *kind, const char *title,
                         const assay_trace *const *trials, size_t n, assay_facts *facts, int64_t *id);
/* The store that the option names; NOT_FOUND when it is not there and not to be made. */
assay_status as_lab_store(assay_env *env, const as_store_options *o, bool create, as_store **out);
/* The commit that the working directory is at, read from its .git without running anything; "" if there is none. */
void as_lab_commit(char out[65]);

#endif
