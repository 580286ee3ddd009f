/* stat_edivisive.c - change points of a series: E-divisive on ranks, by seeded permutations.
 *
 * A change point is only a suggestion: a history that depends on its own past breaks every permutation test, so a comparison has
 * to confirm it. */
#include "analysis/stat/stat.h"

#include <math.h>

#include "base/random.h"
#include "base/text.h"

enum {
    WINDOW = 50,
    SEGMENT_MIN = 3,      /* fewer values are not a segment */
    N_PERMUTATIONS = 999, /* per window that may be split */
    N_BACK = 3            /* the last values that decide whether a change went away */
};

uint64_t as_data_seed(const double *y, size_t n) { return as_hash64(y, n * sizeof *y); }

/* --- One window ---------------------------------------------------------------------------------- */

/* rank: mid ranks as shares of the window; row: the sum of a value's distances to all others. */
typedef struct window {
    size_t n;
    double rank[WINDOW], row[WINDOW];
} window;

static void window_fill(window *w, const double *y, size_t n)
{
    w->n = n;
    for (size_t i = 0; i < n; i++) {
        size_t doubled = 0;
        for (size_t j = 0; j < n; j++)
            doubled += (size_t)(y[j] < y[i]) + (size_t)(y[j] <= y[i]);
        w->rank[i] = (double)doubled / (double)(2 * n);
    }
    for (size_t i = 0; i < n; i++) {
        w->row[i] = 0;
        for (size_t j = 0; j < n; j++)
            w->row[i] += fabs(w->rank[i] - w->rank[j]);
    }
}

/* The distance between the two sides minus the distances within each side; the sums are over pairs. */
static double energy(double n_left, double n_right, double cross, double left, double right)
{
    double within = left / (n_left * (n_left - 1) / 2) + right / (n_right * (n_right - 1) / 2);
    return n_left * n_right / (n_left + n_right) * (2 * cross / (n_left * n_right) - within);
}

/* The best split of the window's values in this order, or the one at `only` if that is not 0. */
static double best_split(const window *w, const uint8_t order[WINDOW], size_t only, size_t *at)
{
    double cross = 0, left = 0, right = 0, best = -INFINITY;
    for (size_t i = 0; i < w->n; i++)
        right += w->row[i] / 2;
    for (size_t i = 0; i + SEGMENT_MIN < w->n; i++) {
        double rank = w->rank[order[i]], to_left = 0;
        for (size_t j = 0; j < i; j++)
            to_left += fabs(rank - w->rank[order[j]]);
        double to_right = w->row[order[i]] - to_left;
        left += to_left;
        right -= to_right;
        cross += to_right - to_left;
        if (i + 1 < SEGMENT_MIN || (only && only != i + 1))
            continue;
        double value = energy((double)(i + 1), (double)(w->n - i - 1), cross, left, right);
        if (value > best) {
            best = value;
            *at = i + 1;
        }
    }
    return best;
}

static void order_start(uint8_t order[WINDOW])
{
    for (size_t i = 0; i < WINDOW; i++)
        order[i] = (uint8_t)i;
}

/* How often a random order splits as well, (c + 1) / (R + 1); returns early once this is certain to be above alpha. */
static double split_p(const window *w, double seen, double alpha, size_t n_permutations, uint64_t seed)
{
    uint8_t  order[WINDOW];
    size_t   n_reached = 0, at;
    double   floor_p = 0;
    as_pcg64 g;
    as_pcg64_seed(&g, seed);
    order_start(order);
    for (size_t r = 0; r < n_permutations && floor_p <= alpha; r++) {
        for (size_t i = w->n; i-- > 1;) {
            size_t  j = as_pcg64_below(&g, (uint32_t)i);
            uint8_t t = order[i];
            order[i] = order[j];
            order[j] = t;
        }
        n_reached += best_split(w, order, 0, &at) >= seen - 1e-9;
        floor_p = (double)(n_reached + 1) / (double)(n_permutations + 1);
    }
    return floor_p;
}

/* --- The whole series ---------------------------------------------------------------------------- */

typedef struct search {
    const double *y;
    size_t        n, n_chances, n_splits, n_found, max;
    double        alpha;
    uint64_t      seed;
    as_change    *out;
} search;

/* The window of a segment to search: the segment itself, or the neighbourhood that splits best in its middle. */
static size_t window_choose(const search *s, size_t begin, size_t end, window *w)
{
    uint8_t order[WINDOW];
    double  best = -INFINITY;
    size_t  chosen = begin, n_chosen = end - begin, at;
    order_start(order);
    for (size_t middle = begin + SEGMENT_MIN; end - begin > WINDOW && middle + SEGMENT_MIN <= end; middle++) {
        size_t from = middle - begin > WINDOW / 2 ? middle - WINDOW / 2 : begin;
        size_t to = end - middle > WINDOW / 2 ? middle + WINDOW / 2 : end;
        window_fill(w, s->y + from, to - from);
        double value = best_split(w, order, middle - from, &at);
        if (value > best) {
            best = value;
            chosen = from;
            n_chosen = to - from;
        }
    }
    window_fill(w, s->y + chosen, n_chosen);
    return chosen;
}

/* With many windows one of them splits by chance more easily, so p is multiplied by the number of chances. */
static bool find_split(const search *s, size_t begin, size_t end, as_change *found)
{
    window  w;
    uint8_t order[WINDOW];
    size_t  from = window_choose(s, begin, end, &w), at = 0;
    order_start(order);
    double seen = best_split(&w, order, 0, &at), n_chances = (double)s->n_chances;
    double p = split_p(&w, seen, s->alpha / n_chances, N_PERMUTATIONS * s->n_chances, s->seed + begin);
    *found = (as_change){.at = from + at, .p = fmin(p * n_chances, 1)};
    return found->p <= s->alpha;
}

static void divide(search *s, size_t begin, size_t end)
{
    as_change found;
    if (end - begin < 2 * SEGMENT_MIN || s->n_splits == s->max || !find_split(s, begin, end, &found))
        return;
    s->n_splits++;
    divide(s, begin, found.at);
    s->out[s->n_found++] = found;
    divide(s, found.at, end);
}

/* --- Levels --------------------------------------------------------------------------------------- */

/* Medians of the segments, or of their WINDOW values next to the change. */
static void levels_set(const search *s)
{
    double scratch[WINDOW];
    for (size_t i = 0; i < s->n_found; i++) {
        as_change *c = &s->out[i];
        size_t     before = c->at - (i ? s->out[i - 1].at : 0), after = (i + 1 < s->n_found ? s->out[i + 1].at : s->n) - c->at;
        before = before < WINDOW ? before : WINDOW;
        c->before = as_median(s->y + c->at - before, before, scratch);
        c->after = as_median(s->y + c->at, after < WINDOW ? after : WINDOW, scratch);
    }
}

static double relative_step(const as_change *c) { return c->before == c->after ? 0 : fabs(c->after - c->before) / fabs(c->before); }

/* The smallest first, since its neighbours' levels change with it. */
static void drop_small(search *s, double min_step)
{
    for (levels_set(s); s->n_found; levels_set(s)) {
        size_t smallest = 0;
        for (size_t i = 1; i < s->n_found; i++)
            if (relative_step(&s->out[i]) < relative_step(&s->out[smallest]))
                smallest = i;
        if (!(relative_step(&s->out[smallest]) < min_step))
            return;
        s->n_found--;
        for (size_t i = smallest; i < s->n_found; i++)
            s->out[i] = s->out[i + 1];
    }
}

/* Each of the last values is nearer to the level before than to the one after. */
static bool is_back(const search *s, const as_change *c)
{
    for (size_t i = s->n - N_BACK; i < s->n; i++)
        if (!(fabs(s->y[i] - c->before) < fabs(s->y[i] - c->after)))
            return false;
    return true;
}

/* Windows that overlap are not independent; measured on noise, a choice among all of them is worth three times those side by side. */
static size_t count_chances(size_t n) { return n > WINDOW ? 3 * ((n + WINDOW - 1) / WINDOW) : 1; }

size_t as_change_points(const double *y, size_t n, double alpha, double min_step, uint64_t seed, as_change *out, size_t max)
{
    search s = {.y = y, .n = n, .n_chances = count_chances(n), .max = max, .alpha = alpha, .seed = seed, .out = out};
    divide(&s, 0, n);
    drop_small(&s, min_step);
    for (size_t i = 0; i < s.n_found; i++)
        out[i].went_away = is_back(&s, &out[i]);
    return s.n_found;
}
