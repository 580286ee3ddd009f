/* argbest_body.h - the body of k_argbest_any_<machine>.c: where the largest or the smallest element along an axis is: ArgMax, ArgMin and Hardmax, of any number.
 *
 * Where the axis is the last, a line is searched twice: strips for the best value, then for its place.  Elsewhere a block of
 * neighbouring lines is searched together.  A NaN is better than any number, whichever is asked for. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernel.h"

enum { STRIP = 32, COLUMNS = 64 };

/* The place of the best of n elements, `step` apart, for each of `count` neighbouring lines. */
typedef void (*search)(const void *from, int64_t n, int64_t step, int count, bool last, int64_t *found);

/* Smallest is largest of what `turn` makes of it: the complement of an integer, minus a float.  NaN is the best, and of many the first or the last
 * counts as for numbers. */
#define SEARCH(name, type, turned, better, is_nan)                                                                             \
    static inline type name##_of(type x) { return (type)(turned); }                                                            \
    static type        name##_best(const type *restrict x, int64_t n, int *nan)                                                \
    {                                                                                                                          \
        int64_t i = 0;                                                                                                         \
        type    best[STRIP], all;                                                                                              \
        int     odd = 0;                                                                                                       \
        for (int l = 0; l < STRIP; l++)                                                                                        \
            best[l] = name##_of(x[0]);                                                                                         \
        for (; i + STRIP <= n; i += STRIP)                                                                                     \
            for (int l = 0; l < STRIP; l++) {                                                                                  \
                type q = name##_of(x[i + l]);                                                                                  \
                best[l] = q > best[l] ? q : best[l];                                                                           \
                odd |= is_nan;                                                                                                 \
            }                                                                                                                  \
        all = best[0];                                                                                                         \
        for (int l = 1; l < STRIP; l++)                                                                                        \
            all = best[l] > all ? best[l] : all;                                                                               \
        for (; i < n; i++) {                                                                                                   \
            type q = name##_of(x[i]);                                                                                          \
            all = q > all ? q : all;                                                                                           \
            odd |= is_nan;                                                                                                     \
        }                                                                                                                      \
        *nan = odd;                                                                                                            \
        return all;                                                                                                            \
    }                                                                                                                          \
    static int64_t name##_line(const type *x, int64_t n, bool last)                                                            \
    {                                                                                                                          \
        int  nan;                                                                                                              \
        type best = name##_best(x, n, &nan);                                                                                   \
        if (last) {                                                                                                            \
            for (int64_t i = n - 1; i > 0; i--) {                                                                              \
                type q = name##_of(x[i]);                                                                                      \
                if (nan ? is_nan : q == best)                                                                                  \
                    return i;                                                                                                  \
            }                                                                                                                  \
            return 0;                                                                                                          \
        }                                                                                                                      \
        int64_t i = 0;                                                                                                         \
        for (; !nan && i + STRIP <= n; i += STRIP) {                                                                           \
            int hit = 0;                                                                                                       \
            for (int l = 0; l < STRIP; l++)                                                                                    \
                hit |= name##_of(x[i + l]) == best;                                                                            \
            if (hit)                                                                                                           \
                break;                                                                                                         \
        }                                                                                                                      \
        for (; i < n; i++) {                                                                                                   \
            type q = name##_of(x[i]);                                                                                          \
            if (nan ? is_nan : q == best)                                                                                      \
                return i;                                                                                                      \
        }                                                                                                                      \
        return 0;                                                                                                              \
    }                                                                                                                          \
    static void name##_columns(const type *restrict x, int64_t n, int64_t step, int count, bool last, int64_t *restrict found) \
    {                                                                                                                          \
        type best[COLUMNS];                                                                                                    \
        for (int c = 0; c < count; c++) {                                                                                      \
            best[c] = name##_of(x[c]);                                                                                         \
            found[c] = 0;                                                                                                      \
        }                                                                                                                      \
        for (int64_t i = 1; i < n; i++)                                                                                        \
            for (int c = 0; c < count; c++) {                                                                                  \
                type q = name##_of(x[i * step + c]), p = best[c];                                                              \
                bool wins = better;                                                                                            \
                best[c] = wins ? q : p;                                                                                        \
                found[c] = wins ? i : found[c];                                                                                \
            }                                                                                                                  \
    }                                                                                                                          \
    static void name##_search(const void *from, int64_t n, int64_t step, int count, bool last, int64_t *found)                 \
    {                                                                                                                          \
        if (step == 1)                                                                                                         \
            *found = name##_line(from, n, last);                                                                               \
        else                                                                                                                   \
            name##_columns(from, n, step, count, last, found);                                                                 \
    }

#define WHOLE(name, type)                                     \
    SEARCH(name##_max, type, x, q > p || (last && q == p), 0) \
    SEARCH(name##_min, type, ~x, q > p || (last && q == p), 0)
#define REAL(name, type)                                                                           \
    SEARCH(name##_max, type, x, q > p || (q != q && (p == p || last)) || (last && q == p), q != q) \
    SEARCH(name##_min, type, -x, q > p || (q != q && (p == p || last)) || (last && q == p), q != q)
WHOLE(i8, int8_t)
WHOLE(u8, uint8_t)
WHOLE(i16, int16_t)
WHOLE(u16, uint16_t)
WHOLE(i32, int32_t)
WHOLE(u32, uint32_t)
WHOLE(i64, int64_t)
WHOLE(u64, uint64_t)
REAL(f32, float)
REAL(f64, double)

#define BOTH(name)                           \
    {                                        \
        name##_max_search, name##_min_search \
    }
static const search known[AS_N_DTYPES][2] = {
    [AS_I8] = BOTH(i8),   [AS_U8] = BOTH(u8),   [AS_I16] = BOTH(i16), [AS_U16] = BOTH(u16), [AS_I32] = BOTH(i32),
    [AS_U32] = BOTH(u32), [AS_I64] = BOTH(i64), [AS_U64] = BOTH(u64), [AS_F32] = BOTH(f32), [AS_F64] = BOTH(f64)};

static bool is_hardmax(const as_node_ctx *n) { return n->op->name[0] == 'H'; }

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (!known[n->in[0].dtype][0] || (is_hardmax(n) && n->in[0].dtype != AS_F32 && n->in[0].dtype != AS_F64))
        snprintf(why, why_size, "it does not order %s", as_dtype_name(n->in[0].dtype));
    else if (n->in[0].layout != AS_LAYOUT_ROW_MAJOR || n->out[0].layout != AS_LAYOUT_ROW_MAJOR)
        snprintf(why, why_size, "an operand is not row-major");
    else
        return true;
    return false;
}

/* One at the place found, and zero elsewhere. */
static void ones(const as_node_ctx *n, void *out, int64_t at, int64_t length, int64_t step, int count, const int64_t *found)
{
    size_t bytes = as_dtype_bytes(n->out[0].dtype);
    for (int64_t i = 0; i < (step == 1 ? 1 : length); i++)
        memset((char *)out + (at + i * step) * (int64_t)bytes, 0, (size_t)(step == 1 ? length : count) * bytes);
    for (int c = 0; c < count; c++) {
        if (n->out[0].dtype == AS_F32)
            ((float *)out)[at + found[c] * step + c] = 1.0f;
        else
            ((double *)out)[at + found[c] * step + c] = 1.0;
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    const as_shape    *x = &n->in[0].shape;
    bool               hard = is_hardmax(n), last = !hard && as_attr_int(n, "select_last_index", 0) != 0;
    search             run_search = known[n->in[0].dtype][!hard && n->op->name[4] == 'i'];
    int64_t            axis = as_attr_int(n, "axis", hard ? -1 : 0), inner = 1, begin, end, found[COLUMNS];
    if (as_shape_count(&n->out[0].shape) == 0)
        return;
    axis += axis < 0 ? x->rank : 0;
    for (int i = (int)axis + 1; i < x->rank; i++)
        inner *= x->dim[i];
    int64_t length = x->dim[axis], outer = as_shape_count(x) / length / inner, blocks = (inner + COLUMNS - 1) / COLUMNS;
    as_share(outer * blocks, 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t o = unit / blocks, first = unit % blocks * COLUMNS, at = o * length * inner + first;
        int     count = inner - first < COLUMNS ? (int)(inner - first) : COLUMNS;
        run_search((const char *)args->in[0].data + at * (int64_t)as_dtype_bytes(n->in[0].dtype), length, inner, count, last,
                   found);
        if (hard)
            ones(n, args->out[0].data, at, length, inner, count, found);
        else
            memcpy((int64_t *)args->out[0].data + o * inner + first, found, (size_t)count * sizeof *found);
    }
}

static const char *const also[] = {"ArgMin", "Hardmax", NULL};
