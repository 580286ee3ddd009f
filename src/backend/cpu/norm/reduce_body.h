/* reduce_body.h - the body of k_reduce_f32_<machine>.c, after its simd_*.h: sums, means, extremes and norms along any axes.
 *
 * Where the last axis stays, rows are folded into each other; where it is folded, they go into a few vectors.  The order of a
 * fold depends only on the shape. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernel.h"

typedef enum fold { FOLD_SUM, FOLD_SQUARES, FOLD_SIZES, FOLD_MAX, FOLD_MIN } fold;

static fold fold_of(const char *op)
{
    return !strcmp(op, "ReduceMax")                                    ? FOLD_MAX
           : !strcmp(op, "ReduceMin")                                  ? FOLD_MIN
           : !strcmp(op, "ReduceL1")                                   ? FOLD_SIZES
           : !strcmp(op, "ReduceL2") || !strcmp(op, "ReduceSumSquare") ? FOLD_SQUARES
                                                                       : FOLD_SUM;
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    if (!as_in_has(n, 1) || n->in[1].constant || as_shape_count(&n->in[1].shape) == 0)
        return true;
    snprintf(why, why_size, "input 1, the axes, is not known while planning");
    return false;
}

/* --- Axes ------------------------------------------------------------------------------------------- */

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

static unsigned axes_of(const as_node_ctx *n)
{
    int            rank = n->in[0].shape.rank;
    int64_t        count = as_in_has(n, 1) ? as_shape_count(&n->in[1].shape) : 0;
    const int64_t *axes = as_in_has(n, 1) ? n->in[1].constant : NULL;
    unsigned       set = 0;
    for (int64_t i = 0; i < count; i++)
        set |= 1u << (axes[i] < 0 ? axes[i] + rank : axes[i]);
    return count == 0 && as_attr_int(n, "noop_with_empty_axes", 0) == 0 ? (1u << rank) - 1 : set;
}

static groups groups_of(const as_node_ctx *n)
{
    const as_shape *x = &n->in[0].shape;
    unsigned        axes = axes_of(n);
    int64_t         step[AS_MAX_RANK], all = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        step[i] = all;
        all *= x->dim[i];
    }
    groups s = {.inner = 1, .stay.count = 1, .go.count = 1};
    int    outer = x->rank;
    while (outer > 0 && x->dim[outer - 1] == 1) /* an axis of one element belongs to either */
        outer--;
    s.inner_goes = outer > 0 && (axes >> (outer - 1) & 1u);
    while (outer > 0 && (x->dim[outer - 1] == 1 || (axes >> (outer - 1) & 1u) == s.inner_goes))
        s.inner *= x->dim[--outer];
    for (int i = 0; i < outer; i++) {
        odometer *o = axes >> i & 1u ? &s.go : &s.stay;
        o->dim[o->rank] = x->dim[i];
        o->step[o->rank++] = step[i];
        o->count *= x->dim[i];
    }
    return s;
}

static int64_t offset(const odometer *o, int64_t at)
{
    int64_t sum = 0;
    for (int i = o->rank - 1; i >= 0; i--) {
        sum += at % o->dim[i] * o->step[i];
        at /= o->dim[i];
    }
    return sum;
}

/* --- Folding ----------------------------------------------------------------------------------------- */

V_INLINE vf term(fold how, vf x) { return how == FOLD_SQUARES ? v_mul(x, x) : how == FOLD_SIZES ? v_abs(x) : x; }
/* A NaN on either side wins. */
V_INLINE vf join(fold how, vf a, vf b)
{
    return how == FOLD_MAX   ? v_pick(v_is_nan(a), a, v_max(a, b))
           : how == FOLD_MIN ? v_pick(v_is_nan(a), a, v_min(a, b))
                             : v_add(a, b);
}
static float nothing(fold how) { return how == FOLD_MAX ? -HUGE_VALF : how == FOLD_MIN ? HUGE_VALF : 0.0f; }
static float join_one(fold how, float a, float b)
{
    return how == FOLD_MAX ? (isnan(a) || a > b ? a : b) : how == FOLD_MIN ? (isnan(a) || a < b ? a : b) : a + b;
}
static float term_one(fold how, float x) { return how == FOLD_SQUARES ? x * x : how == FOLD_SIZES ? fabsf(x) : x; }

enum { CHAINS = 4 }; /* so that an addition need not wait for the one before */

/* acc: CHAINS vectors; tail: the remainder of each run. */
V_INLINE void run_fold(fold how, const float *x, int64_t n, vf *acc, float *tail)
{
    int64_t i = 0;
    vf      a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
    for (; i + CHAINS * VW <= n; i += CHAINS * VW) {
        a0 = join(how, a0, term(how, v_load(x + i)));
        a1 = join(how, a1, term(how, v_load(x + i + VW)));
        a2 = join(how, a2, term(how, v_load(x + i + 2 * VW)));
        a3 = join(how, a3, term(how, v_load(x + i + 3 * VW)));
    }
    for (; i + VW <= n; i += VW)
        a0 = join(how, a0, term(how, v_load(x + i)));
    for (; i < n; i++)
        *tail = join_one(how, *tail, term_one(how, x[i]));
    acc[0] = a0, acc[1] = a1, acc[2] = a2, acc[3] = a3;
}

/* Folds each output separately. */
V_INLINE void goes(fold how, const groups *s, const float *x, float *y, int part, int n_parts)
{
    int64_t begin, end;
    as_share(s->stay.count, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const float *from = x + offset(&s->stay, i);
        float        tail = nothing(how), lane[VW];
        vf           acc[CHAINS];
        for (int k = 0; k < CHAINS; k++)
            acc[k] = v_set(tail);
        for (int64_t j = 0; j < s->go.count; j++)
            run_fold(how, from + offset(&s->go, j), s->inner, acc, &tail);
        v_store(lane, join(how, join(how, acc[0], acc[1]), join(how, acc[2], acc[3])));
        for (int l = 0; l < VW; l++)
            tail = join_one(how, tail, lane[l]);
        y[i] = tail;
    }
}

/* A row of neighbours that stay, in pieces, so that threads can share even a single row. */
V_INLINE void stays(fold how, const groups *s, const float *x, float *y, int part, int n_parts)
{
    enum { COLUMNS = 256 };
    int64_t n_blocks = (s->inner + COLUMNS - 1) / COLUMNS, begin, end;
    as_share(s->stay.count * n_blocks, 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t      i = unit / n_blocks, first = unit % n_blocks * COLUMNS;
        int          width = s->inner - first < COLUMNS ? (int)(s->inner - first) : COLUMNS;
        float       *row = y + i * s->inner + first;
        const float *from = x + offset(&s->stay, i) + first;
        for (int c = 0; c < width; c++)
            row[c] = nothing(how);
        for (int64_t j = 0; j < s->go.count; j++) {
            const float *next = from + offset(&s->go, j);
            int          c = 0;
            for (; c + VW <= width; c += VW)
                v_store(row + c, join(how, v_load(row + c), term(how, v_load(next + c))));
            for (; c < width; c++)
                row[c] = join_one(how, row[c], term_one(how, next[c]));
        }
    }
}

V_INLINE void folded(fold how, const groups *s, const float *x, float *y, int part, int n_parts)
{
    if (s->inner_goes)
        goes(how, s, x, y, part, n_parts);
    else
        stays(how, s, x, y, part, n_parts);
}

/* What follows the fold, over the same outputs that this part has folded. */
static void finish(const as_kernel_args *args, const groups *s, int part, int n_parts)
{
    const char *op = args->ctx->op->name;
    bool        mean = !strcmp(op, "ReduceMean"), root = !strcmp(op, "ReduceL2");
    float      *y = args->out[0].data, terms = (float)(s->go.count * (s->inner_goes ? s->inner : 1));
    int64_t     begin, end;
    if (!mean && !root)
        return;
    if (s->inner_goes) {
        as_share(s->stay.count, 1, part, n_parts, &begin, &end);
    } else {
        int64_t n_blocks = (s->inner + 255) / 256;
        as_share(s->stay.count * n_blocks, 1, part, n_parts, &begin, &end);
        begin = begin / n_blocks * s->inner + begin % n_blocks * 256;
        end = end / n_blocks * s->inner + end % n_blocks * 256;
    }
    for (int64_t i = begin; i < end; i++)
        y[i] = mean ? y[i] / terms : sqrtf(y[i]);
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    if (as_shape_count(&args->out[0].shape) == 0)
        return;
    groups       s = groups_of(args->ctx);
    const float *x = args->in[0].data;
    float       *y = args->out[0].data;
    switch (fold_of(args->ctx->op->name)) { /* a constant in each case, so that the loops have no branches */
    case FOLD_SUM: folded(FOLD_SUM, &s, x, y, part, n_parts); break;
    case FOLD_SQUARES: folded(FOLD_SQUARES, &s, x, y, part, n_parts); break;
    case FOLD_SIZES: folded(FOLD_SIZES, &s, x, y, part, n_parts); break;
    case FOLD_MAX: folded(FOLD_MAX, &s, x, y, part, n_parts); break;
    case FOLD_MIN: folded(FOLD_MIN, &s, x, y, part, n_parts); break;
    }
    finish(args, &s, part, n_parts);
}

static const char *const also[] = {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", NULL};
