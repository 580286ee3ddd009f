/* walk.c - moves elements. */
#include "backend/cpu/walk.h"

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
