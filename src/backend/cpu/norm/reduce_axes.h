/* reduce_axes.h - the axes of a reduction as two odometers, and the neighbours that all stay or are all folded.  For the bodies and the
 * kernels that reduce. */
#ifndef AS_BACKEND_CPU_REDUCE_AXES_H
#define AS_BACKEND_CPU_REDUCE_AXES_H

#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/walk.h"

/* Axes of X as an odometer: sizes and steps of those that stay and of those that are folded; the innermost group is separate. */
typedef struct odometer {
    int     rank;
    int64_t dim[AS_MAX_RANK], step[AS_MAX_RANK], count;
} odometer;

typedef struct groups {
    odometer stay, go;
    int64_t  inner; /* neighbours that all stay, or are all folded */
    bool     inner_goes;
} groups;

static inline unsigned axes_of(const as_node_ctx *n)
{
    int            rank = n->in[0].shape.rank;
    int64_t        count = as_in_has(n, 1) ? as_shape_count(&n->in[1].shape) : 0;
    const int64_t *axes = as_in_has(n, 1) ? n->in[1].constant : NULL;
    unsigned       set = 0;
    for (int64_t i = 0; i < count; i++)
        set |= 1u << (axes[i] < 0 ? axes[i] + rank : axes[i]);
    return count == 0 && as_attr_int(n, "noop_with_empty_axes", 0) == 0 ? (1u << rank) - 1 : set;
}

static inline groups groups_of(const as_node_ctx *n)
{
    const as_tensor_info *x = &n->in[0];
    unsigned              axes = axes_of(n);
    int                   order[AS_MAX_RANK], outer = x->shape.rank;
    int64_t               step[AS_MAX_RANK];
    groups                s = {.inner = 1, .stay.count = 1, .go.count = 1};
    as_memory_axes(x, order);
    as_memory_steps(x, step);
    while (outer > 0 && x->shape.dim[order[outer - 1]] == 1) /* an axis of one element belongs to either */
        outer--;
    s.inner_goes = outer > 0 && (axes >> order[outer - 1] & 1u);
    while (outer > 0 && (x->shape.dim[order[outer - 1]] == 1 || (axes >> order[outer - 1] & 1u) == s.inner_goes))
        s.inner *= x->shape.dim[order[--outer]];
    for (int i = 0; i < outer; i++) {
        odometer *o = axes >> order[i] & 1u ? &s.go : &s.stay;
        o->dim[o->rank] = x->shape.dim[order[i]];
        o->step[o->rank++] = step[order[i]];
        o->count *= x->shape.dim[order[i]];
    }
    return s;
}

/* The axes with more than one element that stay, from the outermost in memory, of X or, by X's numbers, of Y; returns how many. */
static inline int stay_list(const as_node_ctx *n, bool of_y, int *list)
{
    const as_tensor_info *x = &n->in[0], *t = of_y ? &n->out[0] : x;
    int                   order[AS_MAX_RANK], name[AS_MAX_RANK], count = 0, stay = 0;
    unsigned              axes = axes_of(n);
    for (int i = 0; i < x->shape.rank; i++)
        if (t->shape.rank == x->shape.rank)
            name[i] = i;
        else if (!(axes >> i & 1u))
            name[stay++] = i;
    as_memory_axes(t, order);
    for (int i = 0; i < t->shape.rank; i++)
        if (!(axes >> name[order[i]] & 1u) && t->shape.dim[order[i]] > 1)
            list[count++] = name[order[i]];
    return count;
}

static inline bool order_ok(const as_node_ctx *n, char *why, size_t why_size)
{
    int x[AS_MAX_RANK], y[AS_MAX_RANK], count = stay_list(n, false, x);
    if (stay_list(n, true, y) == count && !memcmp(x, y, (size_t)count * sizeof *x))
        return true;
    snprintf(why, why_size, "output 0 has another order in memory than what stays of input 0");
    return false;
}

static inline int64_t offset(const odometer *o, int64_t at)
{
    int64_t sum = 0;
    for (int i = o->rank - 1; i >= 0; i--) {
        sum += at % o->dim[i] * o->step[i];
        at /= o->dim[i];
    }
    return sum;
}

#endif
