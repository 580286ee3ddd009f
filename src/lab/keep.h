/* keep.h - puts what a verb measured into the store, unless --store none. */
#ifndef AS_LAB_KEEP_H
#define AS_LAB_KEEP_H

#include "analysis/analysis.h"
#include "base/options.h"
#include "store/store.h"

typedef struct as_store_options {
    const char *url;     /* NULL: the default place */
    bool        none;    /* store nothing */
    bool        stopped; /* the run ended early, whatever its records say: it is stored as partial */
} as_store_options;
assay_status as_store_options_read(assay_env *env, const assay_options *options, as_store_options *out);
/* The same for a call that will store a run: a store that could not take it is refused here, before anything is measured. */
assay_status as_keep_options_read(assay_env *env, const assay_options *options, as_store_options *out);

/* Stores the records and their facts.  *id gets 0 when nothing is stored: --store none, or the default store is unavailable; then
 * the facts say why (not_kept). */
assay_status as_lab_keep(assay_env *env, const as_store_options *o, const char *kind, const char *title,
                         const assay_trace *const *trials, size_t n, assay_facts *facts, int64_t *id);
/* The store that the option names; NOT_FOUND when it does not exist and may not be made. */
assay_status as_lab_store(assay_env *env, const as_store_options *o, bool create, as_store **out);
/* The commit that the working directory is at, read from its .git without running anything; "" if there is none. */
void as_lab_commit(char out[65]);

#endif
