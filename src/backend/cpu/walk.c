/* walk.c - moves elements. */
#include "backend/cpu/walk.h"

#include <stdio.h>
#include <string.h>

void as_walk_axis(as_walk *w, int64_t dim, int64_t step)
{
    w->count *= dim;
    if (dim == 1)
        return;
    if (w->rank && w->step[w->rank - 1] == step * dim) {
        w->dim[w->rank - 1] *= dim;
        w->step[w->rank - 1] = step;
        return;
    }
    w->dim[w->rank] = dim;
    w->step[w->rank++] = step;
}

void as_walk_steps(const as_shape *shape, int64_t *step)
{
    int64_t all = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        step[i] = all;
        all *= shape->dim[i];
    }
}

void as_memory_axes(const as_tensor_info *t, int *axis)
{
    int  rank = t->shape.rank;
    bool last = t->layout == AS_LAYOUT_NHWC && rank > 2; /* axis 1 is */
    for (int i = 0; i < rank; i++)
        axis[i] = !last || i == 0 ? i : i < rank - 1 ? i + 1 : 1;
}

void as_memory_steps(const as_tensor_info *t, int64_t *step)
{
    int     axis[AS_MAX_RANK];
    int64_t all = 1;
    as_memory_axes(t, axis);
    for (int i = t->shape.rank - 1; i >= 0; i--) {
        step[axis[i]] = all;
        all *= t->shape.dim[axis[i]];
    }
}

void as_memory_around(const as_tensor_info *t, int64_t axis, int64_t *outer, int64_t *inner)
{
    int  order[AS_MAX_RANK];
    bool inside = false;
    *outer = *inner = 1;
    as_memory_axes(t, order);
    for (int i = 0; i < t->shape.rank; i++)
        if (order[i] == axis)
            inside = true;
        else
            *(inside ? inner : outer) *= t->shape.dim[order[i]];
}

bool as_memory_is_one(const as_node_ctx *n, int n_in, char *why, size_t why_size)
{
    const as_tensor_info *y = &n->out[0];
    for (int i = 0; i < n_in && i < n->n_in; i++)
        if (n->in[i].dtype != AS_NONE && n->in[i].shape.rank > 2 && n->in[i].layout != y->layout) {
            snprintf(why, why_size, "input %d has another layout than output 0", i);
            return false;
        }
    for (int i = 1; i < n->n_out; i++)
        if (n->out[i].dtype != AS_NONE && n->out[i].shape.rank > 2 && n->out[i].layout != y->layout) {
            snprintf(why, why_size, "output %d has another layout than output 0", i);
            return false;
        }
    return true;
}

/* One division for all runs: the channels of a pixel are a short one. */
static inline __attribute__((always_inline)) void runs_copy(char *to, const char *from, int64_t run, int64_t far, int64_t begin,
                                                            int64_t end, bool spreads)
{
    if (begin >= end)
        return;
    int64_t in_run = begin % run, place = begin / run * far + in_run;
    for (int64_t left; begin < end; begin += left, place += far - in_run, in_run = 0) {
        left = run - in_run < end - begin ? run - in_run : end - begin;
        if (spreads)
            memcpy(to + place, from + begin, (size_t)left);
        else
            memcpy(to + begin, from + place, (size_t)left);
    }
}

void as_walk_spread(char *to, const char *from, int64_t run, int64_t far, int64_t begin, int64_t end)
{
    runs_copy(to, from, run, far, begin, end, true);
}

void as_walk_collect(char *to, const char *from, int64_t run, int64_t far, int64_t begin, int64_t end)
{
    runs_copy(to, from, run, far, begin, end, false);
}

/* Copies what is there to the place after it, twice as much each time. */
void as_walk_fill(void *to, const void *from, size_t bytes, int64_t n)
{
    if (n <= 0)
        return;
    if (bytes == 1) {
        memset(to, *(const unsigned char *)from, (size_t)n);
        return;
    }
    size_t done = bytes, all = bytes * (size_t)n;
    memcpy(to, from, bytes);
    while (done < all) {
        size_t more = done < all - done ? done : all - done;
        memcpy((char *)to + done, to, more);
        done += more;
    }
}

/* With a constant for `bytes`, so that a copy is one load and one store. */
static inline __attribute__((always_inline)) void strided(char *to, const char *from, int64_t step, size_t bytes, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * (int64_t)bytes, from + i * step * (int64_t)bytes, bytes);
}

static void row(char *to, const char *from, int64_t step, size_t bytes, int64_t n)
{
    if (step == 1)
        memcpy(to, from, (size_t)n * bytes);
    else if (step == 0)
        as_walk_fill(to, from, bytes, n);
    else if (bytes == 1)
        strided(to, from, step, 1, n);
    else if (bytes == 2)
        strided(to, from, step, 2, n);
    else if (bytes == 4)
        strided(to, from, step, 4, n);
    else if (bytes == 8)
        strided(to, from, step, 8, n);
    else
        strided(to, from, step, bytes, n);
}

void as_walk_run(const as_walk *w, size_t bytes, const void *from, void *to, int part, int n_parts)
{
    int64_t begin, end, index[AS_WALK_MAX], at = w->start;
    int     inner = w->rank - 1;
    as_share(w->count, 64 / (int64_t)bytes, part, n_parts, &begin, &end);
    if (begin >= end)
        return;
    if (w->rank == 0) {
        memcpy(to, (const char *)from + at * (int64_t)bytes, bytes);
        return;
    }
    int64_t rest = begin;
    for (int i = inner; i >= 0; i--) {
        index[i] = rest % w->dim[i];
        rest /= w->dim[i];
        at += index[i] * w->step[i];
    }
    while (begin < end) {
        int64_t n = w->dim[inner] - index[inner] < end - begin ? w->dim[inner] - index[inner] : end - begin;
        row((char *)to + begin * (int64_t)bytes, (const char *)from + at * (int64_t)bytes, w->step[inner], bytes, n);
        begin += n;
        at -= index[inner] * w->step[inner];
        index[inner] = 0;
        for (int i = inner - 1; i >= 0; i--) { /* the next row */
            at += w->step[i];
            if (++index[i] < w->dim[i])
                break;
            at -= w->dim[i] * w->step[i];
            index[i] = 0;
        }
    }
}
