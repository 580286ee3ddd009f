/* cuts.h - which elements a Slice takes: for the operator and for the kernels that do it faster. */
#ifndef AS_OP_CUTS_H
#define AS_OP_CUTS_H

#include "op/op.h"

/* Along axis i, count[i] elements from start[i] by step[i], which may be negative. */
typedef struct as_cuts {
    int64_t start[AS_MAX_RANK], step[AS_MAX_RANK], count[AS_MAX_RANK];
} as_cuts;

/* Out of starts, ends, axes and steps, which must be known while planning. */
assay_status as_cuts_read(assay_env *env, const as_node_ctx *n, as_cuts *out);

#endif
