/* targets.h - where the indices of GatherElements, GatherND, ScatterElements and ScatterND point, as runs of elements of the data.
 *
 * The network may compute the indices, so they can be wrong: then the node is left to the reference code, which has the message. */
#ifndef AS_BACKEND_CPU_TARGETS_H
#define AS_BACKEND_CPU_TARGETS_H

#include "backend/cpu/kernel.h"

typedef struct as_targets {
    bool           each; /* one index per element, along `axis`; otherwise `depth` of them per run */
    const as_view *indices;
    as_shape       data;
    int64_t        step[AS_MAX_RANK]; /* of the data's axes */
    int            axis, batch, depth;
    int64_t        count, run; /* how many runs, and their length */
} as_targets;

/* For a node whose data is input 0 and whose indices are input 1. */
as_targets as_targets_of(const as_node_ctx *n, const as_view *indices);
/* The position of run i in the data, in elements; -1: an index is wrong. */
int64_t as_target(const as_targets *p, int64_t i);
/* Those of runs [first, first + count), all of whose indices are right. */
void as_targets_fill(const as_targets *p, int64_t first, int64_t count, int64_t *at);
bool as_targets_are_right(const as_targets *p);

/* Index i of an i64 or i32 vector at any address, as it is: below 0 it counts from the end. */
int64_t as_index_at(const as_view *indices, int64_t i);
/* Whether the first `count` of them point into an axis of this size. */
bool as_indices_are_inside(const as_view *indices, int64_t count, int64_t size);

#endif
