/* place.c - places the largest buffers first, each into the tightest gap between buffers that are live at the same time.
 * A tree over the lifetimes finds those, so that a chain of 100,000 steps does not look at every buffer for every other. */
#include "base/place.h"

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

static bool align_up(size_t at, size_t align, size_t *out)
{
    if (__builtin_add_overflow(at, align - 1, out))
        return false;
    *out &= ~(align - 1);
    return true;
}

/* --- Who is live at the same time ------------------------------------------------------------------------------ */

typedef struct {
    as_place_item **by_first; /* all items; leaf i of the tree is by_first[i] */
    int            *last;     /* [2 * leaves]: the latest end among the placed ones below a node, -1: none is placed */
    size_t          n, leaves;
    as_place_item **found; /* what the last question found */
    size_t          n_found;
} lifetimes;

static int by_first(const void *a, const void *b)
{
    const as_place_item *x = *(as_place_item *const *)a, *y = *(as_place_item *const *)b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int by_offset(const void *a, const void *b)
{
    const as_place_item *x = *(as_place_item *const *)a, *y = *(as_place_item *const *)b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void lifetimes_free(lifetimes *l)
{
    free(l->by_first);
    free(l->last);
    free(l->found);
}

static bool lifetimes_make(lifetimes *l, as_place_item *items, size_t n)
{
    *l = (lifetimes){.n = n, .leaves = 1};
    while (l->leaves < n)
        l->leaves *= 2;
    l->by_first = calloc(n + 1, sizeof *l->by_first);
    l->found = calloc(n + 1, sizeof *l->found);
    l->last = malloc(2 * l->leaves * sizeof *l->last);
    if (!l->by_first || !l->found || !l->last) {
        lifetimes_free(l);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        l->by_first[i] = &items[i];
    qsort(l->by_first, n, sizeof *l->by_first, by_first);
    for (size_t i = 0; i < 2 * l->leaves; i++)
        l->last[i] = -1;
    return true;
}

static void lifetimes_add(lifetimes *l, as_place_item *item)
{
    as_place_item **at = bsearch(&item, l->by_first, l->n, sizeof item, by_first);
    for (size_t node = (size_t)(at - l->by_first) + l->leaves; node; node /= 2)
        if (item->last > l->last[node])
            l->last[node] = item->last;
}

/* The placed ones below `node`, whose leaves are first_leaf .. first_leaf + n_leaves, that live together with `item`. */
static void lifetimes_meet(lifetimes *l, size_t node, size_t first_leaf, size_t n_leaves, const as_place_item *item)
{
    if (first_leaf >= l->n || l->last[node] < item->first || l->by_first[first_leaf]->first > item->last)
        return;
    if (n_leaves == 1) {
        l->found[l->n_found++] = l->by_first[first_leaf];
        return;
    }
    lifetimes_meet(l, 2 * node, first_leaf, n_leaves / 2, item);
    lifetimes_meet(l, 2 * node + 1, first_leaf + n_leaves / 2, n_leaves / 2, item);
}

/* --- Gaps ------------------------------------------------------------------------------------------------------ */

/* The start of the tightest gap for `item` among those that live at the same time.  False: beyond size_t. */
static bool gap_find(lifetimes *l, const as_place_item *item, size_t align, size_t *out)
{
    size_t end = 0, best = SIZE_MAX, best_room = SIZE_MAX;
    l->n_found = 0;
    lifetimes_meet(l, 1, 0, l->leaves, item);
    qsort(l->found, l->n_found, sizeof *l->found, by_offset);
    for (size_t i = 0; i < l->n_found; i++) {
        const as_place_item *other = l->found[i];
        size_t               start;
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
    as_place_item **order = calloc(n + 1, sizeof *order);
    lifetimes       placed = {0};
    if (!order || !lifetimes_make(&placed, items, n)) {
        free(order);
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory to place %zu buffers", n);
    }
    for (size_t i = 0; i < n; i++)
        order[i] = &items[i];
    qsort(order, n, sizeof *order, by_size);

    size_t       highest = 0;
    assay_status st = ASSAY_OK;
    for (size_t i = 0; st == ASSAY_OK && i < n; i++) {
        as_place_item *item = order[i];
        item->offset = 0;
        if (!item->bytes)
            continue;
        if (!gap_find(&placed, item, align, &item->offset)) {
            st = as_fail(env, ASSAY_BAD_INPUT, "plan: the buffers in use at step %d need more memory than can be addressed",
                         item->first);
            continue;
        }
        lifetimes_add(&placed, item);
        if (item->offset + item->bytes > highest)
            highest = item->offset + item->bytes;
    }
    free(order);
    lifetimes_free(&placed);
    if (st == ASSAY_OK)
        *total = highest;
    return st;
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
