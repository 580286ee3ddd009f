/* walk.h - elements that move: a row-major output whose axes are steps through an input.
 *
 * Slice, Expand, Tile, Transpose and the like are all one loop nest; they differ only in the steps, which may be 0 (repeat) or
 * negative.  Elements move as bytes, whatever the dtype. */
#ifndef AS_BACKEND_CPU_WALK_H
#define AS_BACKEND_CPU_WALK_H

#include "backend/cpu/kernel.h"

enum { AS_WALK_MAX = 2 * AS_MAX_RANK };

typedef struct as_walk {
    int     rank;                                /* axes of one element left out, neighbours joined */
    int64_t count, start;                        /* number of elements; position of the first one in the input */
    int64_t dim[AS_WALK_MAX], step[AS_WALK_MAX]; /* from the outermost; steps in elements */
} as_walk;

/* No axes yet: one element. */
static inline as_walk as_walk_new(int64_t start) { return (as_walk){.count = 1, .start = start}; }
/* One more axis of the output, inside the existing ones. */
void as_walk_axis(as_walk *w, int64_t dim, int64_t step);
/* The steps of a row-major shape. */
void as_walk_steps(const as_shape *shape, int64_t *step);
/* The axes of a tensor from the outermost in memory: in their order, or in NHWC with axis 1 at the end. */
void as_memory_axes(const as_tensor_info *t, int *axis);
/* The steps of its axes in memory. */
void as_memory_steps(const as_tensor_info *t, int64_t *step);
/* How many elements there are of the axes outside this one in memory, and of those inside it. */
void as_memory_around(const as_tensor_info *t, int64_t axis, int64_t *outer, int64_t *inner);
/* False + why unless all inputs of rank 3 and more, up to n_in, and all outputs that exist have the layout of output 0.  A kernel that
 * moves elements then works in the order of memory, whatever that is. */
bool as_memory_is_one(const as_node_ctx *n, int n_in, char *why, size_t why_size);
/* Moves this part's share; both are whole tensors of elements of `bytes`. */
void as_walk_run(const as_walk *w, size_t bytes, const void *from, void *to, int part, int n_parts);

/* Bytes [begin, end) of n runs of `run` bytes that lie one after the other at `from` and go to, or that go to `to` from, places
 * `far` bytes apart. */
void as_walk_spread(char *to, const char *from, int64_t run, int64_t far, int64_t begin, int64_t end);
void as_walk_collect(char *to, const char *from, int64_t run, int64_t far, int64_t begin, int64_t end);

/* n elements of `bytes` all equal to the one at `from`. */
void as_walk_fill(void *to, const void *from, size_t bytes, int64_t n);

#endif
