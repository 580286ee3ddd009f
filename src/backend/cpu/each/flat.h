/* flat.h - walks element-wise operands in the memory order of output 0, whatever its layout.
 *
 * An operand with the output's shape and layout is walked as one run; one that is broadcast, or has another layout, by its
 * steps. */
#ifndef AS_BACKEND_CPU_FLAT_H
#define AS_BACKEND_CPU_FLAT_H

#include "backend/cpu/kernel.h"

enum { AS_FLAT_MAX_IN = 8 };

typedef enum as_flat_kind { AS_FLAT_RUN /* as the output lies */, AS_FLAT_ONE /* a single value */, AS_FLAT_STEPS } as_flat_kind;

typedef struct as_flat {
    int          rank; /* at least 1; axes from the outermost in memory, neighbours joined */
    int64_t      count, dim[AS_MAX_RANK];
    int64_t      step[AS_FLAT_MAX_IN][AS_MAX_RANK];
    as_flat_kind kind[AS_FLAT_MAX_IN];
} as_flat;

/* For inputs 0 .. n_in - 1; an absent one counts as a single value. */
void as_flat_of(const as_node_ctx *n, int n_in, as_flat *out);
/* True when neighbours in the output are neighbours in input i too, or all the same element: what gathering needs. */
static inline bool as_flat_is_even(const as_flat *f, int i) { return f->step[i][f->rank - 1] == 0 || f->step[i][f->rank - 1] == 1; }
/* Elements [begin, begin + count) of the walk, gathered from input i. */
void as_flat_gather(const as_flat *f, int i, const float *from, int64_t begin, int64_t count, float *restrict to);

/* n results from rows whose steps are 0 (one value for all) or 1. */
typedef void (*as_flat_row)(void *out, const void *const *in, const int64_t *step, int64_t n);
/* This part's share of output 0, row by row of the innermost axis: for operands of any dtype, all of them even. */
void as_flat_rows(const as_flat *f, int n_in, const as_kernel_args *args, int part, int n_parts, as_flat_row row);
/* False + why unless the operands of a node are even. */
bool as_flat_rows_accept(const as_node_ctx *n, int n_in, char *why, size_t why_size);

#endif
