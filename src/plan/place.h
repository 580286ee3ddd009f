/* place.h - puts buffers with lifetimes into one block of memory.  Private to plan/.
 *
 * Two buffers whose lifetimes overlap (both ends included) never share a byte.  Finding the smallest block is NP-hard; largest
 * first into the tightest gap comes close to the lower bound on networks. */
#ifndef AS_PLAN_PLACE_H
#define AS_PLAN_PLACE_H

#include "base/env.h"

typedef struct as_place_item {
    size_t bytes;       /* 0: needs no memory, gets offset 0 */
    int    first, last; /* steps, both included */
    size_t offset;      /* out: a multiple of align */
} as_place_item;

/* Sets the offsets; *total gets the largest offset + bytes.  The same items give the same offsets. */
assay_status as_place(assay_env *env, as_place_item *items, size_t n, size_t align, uint64_t *total);
/* The most bytes that are live at one step: no placement is smaller.  UINT64_MAX when the sum does not fit. */
uint64_t as_place_lower_bound(const as_place_item *items, size_t n, int n_steps);

#endif
