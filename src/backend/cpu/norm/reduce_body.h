/* reduce_body.h - the body of k_reduce_f32_<machine>.c, after its simd_*.h: sums, means, extremes and norms along any axes, row-major or NHWC.
 *
 * Axes are taken in the order of memory.  Where the last one stays, rows are folded into each other; where it is folded, they go into a few vectors.  The order of a
 * fold depends only on the shape. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/norm/reduce_axes.h"
#include "backend/cpu/simd/vmath.h"

typedef enum fold { FOLD_SUM, FOLD_SQUARES, FOLD_SIZES, FOLD_MAX, FOLD_MIN, FOLD_PRODUCT } fold;

static fold fold_of(const char *op)
{
    return !strcmp(op, "ReduceMax")                                    ? FOLD_MAX
           : !strcmp(op, "ReduceMin")                                  ? FOLD_MIN
           : !strcmp(op, "ReduceProd")                                 ? FOLD_PRODUCT
           : !strcmp(op, "ReduceL1")                                   ? FOLD_SIZES
           : !strcmp(op, "ReduceL2") || !strcmp(op, "ReduceSumSquare") ? FOLD_SQUARES
                                                                       : FOLD_SUM;
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (n->in[0].dtype != AS_F32) {
        snprintf(why, why_size, "input 0 is %s, needs f32", as_dtype_name(n->in[0].dtype));
        return false;
    }
    if (!as_in_has(n, 1) || n->in[1].constant || as_shape_count(&n->in[1].shape) == 0)
        return order_ok(n, why, why_size);
    snprintf(why, why_size, "input 1, the axes, is not known while planning");
    return false;
}

/* --- Folding ----------------------------------------------------------------------------------------- */

V_INLINE vf term(fold how, vf x) { return how == FOLD_SQUARES ? v_mul(x, x) : how == FOLD_SIZES ? v_abs(x) : x; }
/* A NaN on either side wins. */
V_INLINE vf join(fold how, vf a, vf b)
{
    return how == FOLD_MAX       ? v_pick(v_is_nan(a), a, v_max(a, b))
           : how == FOLD_MIN     ? v_pick(v_is_nan(a), a, v_min(a, b))
           : how == FOLD_PRODUCT ? v_mul(a, b)
                                 : v_add(a, b);
}
static float nothing(fold how)
{
    return how == FOLD_MAX ? -HUGE_VALF : how == FOLD_MIN ? HUGE_VALF : how == FOLD_PRODUCT ? 1.0f : 0.0f;
}
static float join_one(fold how, float a, float b)
{
    return how == FOLD_MAX       ? (isnan(a) || a > b ? a : b)
           : how == FOLD_MIN     ? (isnan(a) || a < b ? a : b)
           : how == FOLD_PRODUCT ? a * b
                                 : a + b;
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

/* Short lines, VW of them at a time: each is folded into one vector, and these are transposed, so that the rest of all folds is vertical.
 * A line has the same bits in whatever place of the group it is. */
V_INLINE void goes_short(fold how, const groups *s, const float *x, float *y, int part, int n_parts)
{
    int64_t begin, end, full = s->inner / VW * VW;
    int     tail = (int)(s->inner - full);
    as_share(s->stay.count, VW, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i += VW) {
        vf  r[VW];
        int count = end - i < VW ? (int)(end - i) : VW;
        for (int k = 0; k < VW; k++) {
            const float *from = x + (i + (k < count ? k : 0)) * s->inner;
            vf           all = v_set(nothing(how));
            for (int64_t c = 0; c < full; c += VW)
                all = join(how, all, term(how, v_load(from + c)));
            if (tail) {
                float lane[VW];
                v_store(lane, v_set(nothing(how)));
                for (int c = 0; c < tail; c++)
                    lane[c] = term_one(how, from[full + c]);
                all = join(how, all, v_load(lane));
            }
            r[k] = all;
        }
        v_transpose(r);
        for (int half = VW / 2; half > 0; half /= 2)
            for (int k = 0; k < half; k++)
                r[k] = join(how, r[k], r[k + half]);
        if (count == VW)
            v_store(y + i, r[0]);
        else
            v_store_n(y + i, count, r[0]);
    }
}

/* Lines one after the other, with nothing between them. */
static bool is_short(const groups *s) { return s->go.count == 1 && s->inner > 0 && s->inner <= 8 * VW; }

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
    if (s->inner_goes && is_short(s))
        goes_short(how, s, x, y, part, n_parts);
    else if (s->inner_goes)
        goes(how, s, x, y, part, n_parts);
    else
        stays(how, s, x, y, part, n_parts);
}

/* What follows the fold, over the same outputs that this part has folded. */
static void finish(const as_kernel_args *args, const groups *s, int part, int n_parts)
{
    const char *op = args->ctx->op->name;
    bool        mean = !strcmp(op, "ReduceMean"), root = !strcmp(op, "ReduceL2"), log = !strcmp(op, "ReduceLogSum");
    float      *y = args->out[0].data, terms = (float)(s->go.count * (s->inner_goes ? s->inner : 1));
    int64_t     begin, end;
    if (!mean && !root && !log)
        return;
    if (s->inner_goes) {
        as_share(s->stay.count, is_short(s) ? VW : 1, part, n_parts, &begin, &end);
    } else {
        int64_t n_blocks = (s->inner + 255) / 256;
        as_share(s->stay.count * n_blocks, 1, part, n_parts, &begin, &end);
        begin = begin / n_blocks * s->inner + begin % n_blocks * 256;
        end = end / n_blocks * s->inner + end % n_blocks * 256;
    }
    for (int64_t i = begin; i < end; i++)
        y[i] = mean ? y[i] / terms : root ? sqrtf(y[i]) : logf(y[i]);
}

/* --- Logarithms of sums of exponentials: shifted by the largest, so that nothing overflows -------------------- */

/* An infinity minus itself would be NaN. */
static float shift_of(float largest) { return isfinite(largest) ? largest : 0.0f; }

static float exponentials_line(const groups *s, const float *from)
{
    float largest = -HUGE_VALF, lane[VW], tail = 0.0f, none = -HUGE_VALF;
    vf    high[CHAINS], sum = v_zero();
    for (int k = 0; k < CHAINS; k++)
        high[k] = v_set(-HUGE_VALF);
    for (int64_t j = 0; j < s->go.count; j++)
        run_fold(FOLD_MAX, from + offset(&s->go, j), s->inner, high, &none);
    v_store(lane, join(FOLD_MAX, join(FOLD_MAX, high[0], high[1]), join(FOLD_MAX, high[2], high[3])));
    for (int l = 0; l < VW; l++)
        largest = join_one(FOLD_MAX, largest, lane[l]);
    largest = shift_of(join_one(FOLD_MAX, largest, none));
    for (int64_t j = 0; j < s->go.count; j++) {
        const float *x = from + offset(&s->go, j);
        int64_t      i = 0;
        for (; i + VW <= s->inner; i += VW)
            sum = v_add(sum, vm_exp(v_sub(v_load(x + i), v_set(largest))));
        for (; i < s->inner; i++)
            tail += expf(x[i] - largest);
    }
    return largest + logf(v_sum(sum) + tail);
}

static void exponentials_columns(const groups *s, const float *from, float *row, int width)
{
    enum { COLUMNS = 256 };
    float sum[COLUMNS] = {0};
    for (int c = 0; c < width; c++)
        row[c] = -HUGE_VALF;
    for (int64_t j = 0; j < s->go.count; j++)
        for (int c = 0; c < width; c++)
            row[c] = join_one(FOLD_MAX, row[c], from[offset(&s->go, j) + c]);
    for (int c = 0; c < width; c++)
        row[c] = shift_of(row[c]);
    for (int64_t j = 0; j < s->go.count; j++) {
        const float *x = from + offset(&s->go, j);
        for (int c = 0; c < width; c += VW) {
            int some = width - c < VW ? width - c : VW;
            v_store_n(sum + c, some, v_add(v_load_n(sum + c, some), vm_exp(v_sub(v_load_n(x + c, some), v_load_n(row + c, some)))));
        }
    }
    for (int c = 0; c < width; c++)
        row[c] += logf(sum[c]);
}

static void exponentials(const groups *s, const float *x, float *y, int part, int n_parts)
{
    int64_t n_blocks = s->inner_goes ? 1 : (s->inner + 255) / 256, begin, end;
    as_share(s->stay.count * n_blocks, 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t i = unit / n_blocks, first = unit % n_blocks * 256;
        if (s->inner_goes)
            y[i] = exponentials_line(s, x + offset(&s->stay, i));
        else
            exponentials_columns(s, x + offset(&s->stay, i) + first, y + i * s->inner + first,
                                 s->inner - first < 256 ? (int)(s->inner - first) : 256);
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    if (as_shape_count(&args->out[0].shape) == 0)
        return;
    groups       s = groups_of(args->ctx);
    const float *x = args->in[0].data;
    float       *y = args->out[0].data;
    if (!strcmp(args->ctx->op->name, "ReduceLogSumExp")) {
        exponentials(&s, x, y, part, n_parts);
        return;
    }
    switch (fold_of(args->ctx->op->name)) { /* a constant in each case, so that the loops have no branches */
    case FOLD_SUM: folded(FOLD_SUM, &s, x, y, part, n_parts); break;
    case FOLD_SQUARES: folded(FOLD_SQUARES, &s, x, y, part, n_parts); break;
    case FOLD_SIZES: folded(FOLD_SIZES, &s, x, y, part, n_parts); break;
    case FOLD_MAX: folded(FOLD_MAX, &s, x, y, part, n_parts); break;
    case FOLD_MIN: folded(FOLD_MIN, &s, x, y, part, n_parts); break;
    case FOLD_PRODUCT: folded(FOLD_PRODUCT, &s, x, y, part, n_parts); break;
    }
    finish(args, &s, part, n_parts);
}

static const char *const also[] = {"ReduceMean",      "ReduceMax",  "ReduceMin",    "ReduceL1",        "ReduceL2",
                                   "ReduceSumSquare", "ReduceProd", "ReduceLogSum", "ReduceLogSumExp", NULL};
