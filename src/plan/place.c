/* place.c - places the largest buffers first, each into the tightest gap between buffers that are live at the same time. */
#include "plan/place.h"

#include <assert.h>
#include <stdlib.h>

/* Largest first; among equals the one that lives earlier, then the one given first, so that the result is the same everywhere. */
static int by_size(const void *a, const void *b)
{
    const as_place_item *x = *(as_place_item *const *)a, *y = *(as_place_item *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool meet(const as_place_item *a, const as_place_item *b) { return a->first <= b->last && b->first <= a->last; }

static bool align_up(size_t at, size_t align, size_t *out)
{
    if (__builtin_add_overflow(at, align - 1, out))
        return false;
    *out &= ~(align - 1);
    return true;
}

/* The start of the tightest gap for `item` among the placed ones, which are sorted by offset.  False: beyond size_t. */
static bool gap_find(as_place_item *const *placed, size_t n_placed, const as_place_item *item, size_t align, size_t *out)
{
    size_t end = 0, best = SIZE_MAX, best_room = SIZE_MAX;
    for (size_t i = 0; i < n_placed; i++) {
        const as_place_item *other = placed[i];
        if (!meet(item, other))
            continue;
        size_t start;
        if (!align_up(end, align, &start))
            return false;
        if (other->offset > start && other->offset - start >= item->bytes && other->offset - start < best_room) {
            best = start;
            best_room = other->offset - start;
        }
        if (other->offset + other->bytes > end)
            end = other->offset + other->bytes;
    }
    if (best != SIZE_MAX) {
        *out = best;
        return true;
    }
    size_t stop;
    return align_up(end, align, out) && !__builtin_add_overflow(*out, item->bytes, &stop);
}

assay_status as_place(assay_env *env, as_place_item *items, size_t n, size_t align, uint64_t *total)
{
    assert(align && !(align & (align - 1)));
    as_place_item **order = calloc(2 * n + 1, sizeof *order), **placed = order + n;
    if (!order)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory to place %zu buffers", n);
    for (size_t i = 0; i < n; i++)
        order[i] = &items[i];
    qsort(order, n, sizeof *order, by_size);

    size_t n_placed = 0, highest = 0;
    for (size_t i = 0; i < n; i++) {
        as_place_item *item = order[i];
        item->offset = 0;
        if (!item->bytes)
            continue;
        if (!gap_find(placed, n_placed, item, align, &item->offset)) {
            free(order);
            return as_fail(env, ASSAY_BAD_INPUT, "plan: the buffers in use at step %d need more memory than can be addressed",
                           item->first);
        }
        size_t at = n_placed++;
        for (; at > 0 && placed[at - 1]->offset > item->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = item;
        if (item->offset + item->bytes > highest)
            highest = item->offset + item->bytes;
    }
    free(order);
    *total = highest;
    return ASSAY_OK;
}

/* The maximum is reached where a lifetime begins, so checking there would be enough.  But there are many lifetimes and few steps,
 * so the sum of each step is computed from differences. */
uint64_t as_place_lower_bound(const as_place_item *items, size_t n, int n_steps)
{
    uint64_t *born = calloc((size_t)n_steps + 1, 2 * sizeof *born), *gone = born + n_steps + 1;
    if (!born)
        return 0; /* a bound that always holds */
    uint64_t live = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        if (__builtin_add_overflow(born[items[i].first], items[i].bytes, &born[items[i].first]) ||
            __builtin_add_overflow(gone[items[i].last], items[i].bytes, &gone[items[i].last])) {
            free(born);
            return UINT64_MAX;
        }
    }
    for (int s = 0; s <= n_steps; s++) {
        if (__builtin_add_overflow(live, born[s], &live)) {
            most = UINT64_MAX;
            break;
        }
        most = live > most ? live : most;
        live -= gone[s];
    }
    free(born);
    return most;
}
