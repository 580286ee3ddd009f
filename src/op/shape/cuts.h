/* cuts.h - which elements a Slice takes, and what a Pad adds and removes: for the operators and for their faster kernels. */
#ifndef AS_OP_CUTS_H
#define AS_OP_CUTS_H

#include "op/op.h"

/* Along axis i, count[i] elements from start[i] by step[i], which may be negative. */
typedef struct as_cuts {
    int64_t start[AS_MAX_RANK], step[AS_MAX_RANK], count[AS_MAX_RANK];
} as_cuts;

/* From starts, ends, axes and steps, which must be known while planning. */
assay_status as_cuts_read(assay_env *env, const as_node_ctx *n, as_cuts *out);

typedef enum as_pad_mode { AS_PAD_CONSTANT, AS_PAD_REFLECT, AS_PAD_EDGE, AS_PAD_WRAP } as_pad_mode;

typedef struct as_padding {
    as_pad_mode mode;
    int64_t     begin[AS_MAX_RANK], end[AS_MAX_RANK]; /* 0 for an axis that is not named; negative pads cut */
} as_padding;

/* From mode, pads and axes, which must be known while planning. */
assay_status as_padding_read(assay_env *env, const as_node_ctx *n, as_padding *out);
/* The source of position i, counted from the first element, in all modes except constant; the pattern continues however far i
 * is. */
int64_t as_padding_source(as_pad_mode mode, int64_t i, int64_t size);

#endif
