/* reduceany_body.h - the body of k_reduce_any_<machine>.c: sums, means, products and extremes of integers and doubles along any axes.
 *
 * Where the last axis stays, rows are folded into each other; where it is folded, they go into a strip of partial results.  Integers wrap,
 * so the order does not matter to them; that of doubles depends on the shape alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/norm/reduce_axes.h"

enum { STRIP = 16, COLUMNS = 256 };

/* A line into one value that is there already; a row into another. */
typedef void (*line_fold)(const void *x, int64_t n, void *all);
typedef void (*row_fold)(void *y, const void *x, int64_t n);
typedef struct form {
    line_fold   line;
    row_fold    row;
    const void *start;
} form;

/* p is folded so far, q comes: `first` takes an element, `next` joins two folds. */
#define FOLD(name, type, begin, first, next)                                                \
    static const type name##_start = (begin);                                               \
    static void       name##_strips(const type *restrict x, int64_t n, type *restrict lane) \
    {                                                                                       \
        for (int64_t i = 0; i + STRIP <= n; i += STRIP)                                     \
            for (int l = 0; l < STRIP; l++) {                                               \
                type p = lane[l], q = x[i + l];                                             \
                lane[l] = (type)(first);                                                    \
            }                                                                               \
    }                                                                                       \
    static void name##_line(const void *from, int64_t n, void *all)                         \
    {                                                                                       \
        const type *x = from;                                                               \
        type        lane[STRIP], p = *(type *)all;                                          \
        for (int l = 0; l < STRIP; l++)                                                     \
            lane[l] = name##_start;                                                         \
        name##_strips(x, n, lane);                                                          \
        for (int l = 0; n >= STRIP && l < STRIP; l++) {                                     \
            type q = lane[l];                                                               \
            p = (type)(next);                                                               \
        }                                                                                   \
        for (int64_t i = n / STRIP * STRIP; i < n; i++) {                                   \
            type q = x[i];                                                                  \
            p = (type)(first);                                                              \
        }                                                                                   \
        *(type *)all = p;                                                                   \
    }                                                                                       \
    static void name##_rows(type *restrict y, const type *restrict x, int64_t n)            \
    {                                                                                       \
        int64_t i = 0;                                                                      \
        for (; i + STRIP <= n; i += STRIP)                                                  \
            for (int l = 0; l < STRIP; l++) {                                               \
                type p = y[i + l], q = x[i + l];                                            \
                y[i + l] = (type)(first);                                                   \
            }                                                                               \
        for (; i < n; i++) {                                                                \
            type p = y[i], q = x[i];                                                        \
            y[i] = (type)(first);                                                           \
        }                                                                                   \
    }                                                                                       \
    static void name##_row(void *y, const void *x, int64_t n) { name##_rows(y, x, n); }

#define SUMS(name, type)                      \
    FOLD(name##_sum, type, 0, p + q, p + q)   \
    FOLD(name##_product, type, 1, p *q, p *q) \
    FOLD(name##_squares, type, 0, p + q * q, p + q)
SUMS(w32, uint32_t)
SUMS(w64, uint64_t)
SUMS(f64, double)
FOLD(i32_sizes, uint32_t, 0, p + (q >> 31 ? 0 - q : q), p + q)
FOLD(i64_sizes, uint64_t, 0, p + (q >> 63 ? 0 - q : q), p + q)
FOLD(f64_sizes, double, 0, p + fabs(q), p + q)

#define ORDER(name, type, low, high)                          \
    FOLD(name##_max, type, low, q > p ? q : p, q > p ? q : p) \
    FOLD(name##_min, type, high, q < p ? q : p, q < p ? q : p)
ORDER(i8, int8_t, INT8_MIN, INT8_MAX)
ORDER(u8, uint8_t, 0, UINT8_MAX)
ORDER(i32, int32_t, INT32_MIN, INT32_MAX)
ORDER(u32, uint32_t, 0, UINT32_MAX)
ORDER(i64, int64_t, INT64_MIN, INT64_MAX)
ORDER(u64, uint64_t, 0, UINT64_MAX)
FOLD(bool_max, uint8_t, 0, p | (q != 0), p | q)
FOLD(bool_min, uint8_t, 1, p &(q != 0), p &q)
/* A NaN wins, on either side. */
FOLD(f64_max, double, -HUGE_VAL, ((q > p) | (q != q)) ? q : p, ((q > p) | (q != q)) ? q : p)
FOLD(f64_min, double, HUGE_VAL, ((q < p) | (q != q)) ? q : p, ((q < p) | (q != q)) ? q : p)

#define FORM(name)                             \
    {                                          \
        name##_line, name##_row, &name##_start \
    }
typedef struct forms {
    form sum, product, sizes, squares, max, min;
} forms;
static const forms known[AS_N_DTYPES] = {
    [AS_I32] = {FORM(w32_sum), FORM(w32_product), FORM(i32_sizes), FORM(w32_squares), FORM(i32_max), FORM(i32_min)},
    [AS_U32] = {FORM(w32_sum), FORM(w32_product), FORM(w32_sum), FORM(w32_squares), FORM(u32_max), FORM(u32_min)},
    [AS_I64] = {FORM(w64_sum), FORM(w64_product), FORM(i64_sizes), FORM(w64_squares), FORM(i64_max), FORM(i64_min)},
    [AS_U64] = {FORM(w64_sum), FORM(w64_product), FORM(w64_sum), FORM(w64_squares), FORM(u64_max), FORM(u64_min)},
    [AS_F64] = {FORM(f64_sum), FORM(f64_product), FORM(f64_sizes), FORM(f64_squares), FORM(f64_max), FORM(f64_min)},
    [AS_I8] = {.max = FORM(i8_max), .min = FORM(i8_min)},
    [AS_U8] = {.max = FORM(u8_max), .min = FORM(u8_min)},
    [AS_BOOL] = {.max = FORM(bool_max), .min = FORM(bool_min)},
};

static const form *form_of(const as_node_ctx *n)
{
    static const char *const names[] = {"ReduceSum",       "ReduceMean", "ReduceProd", "ReduceL1",
                                        "ReduceSumSquare", "ReduceMax",  "ReduceMin"};
    const forms             *f = &known[n->in[0].dtype];
    const form *const        all[] = {&f->sum, &f->sum, &f->product, &f->sizes, &f->squares, &f->max, &f->min};
    for (size_t i = 0; i < AS_COUNT(names); i++)
        if (!strcmp(names[i], n->op->name))
            return all[i]->line ? all[i] : NULL;
    return NULL;
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (!form_of(n))
        snprintf(why, why_size, "it has no %s of %s", n->op->name, as_dtype_name(n->in[0].dtype));
    else if (n->in[0].layout != AS_LAYOUT_ROW_MAJOR || n->out[0].layout != AS_LAYOUT_ROW_MAJOR)
        snprintf(why, why_size, "an operand is not row-major");
    else if (as_in_has(n, 1) && !n->in[1].constant && as_shape_count(&n->in[1].shape) > 0)
        snprintf(why, why_size, "input 1, the axes, is not known while planning");
    else
        return true;
    return false;
}

/* The mean of `terms` terms from their sum, which has wrapped already. */
static void means(as_dtype d, void *y, int64_t n, int64_t terms)
{
    for (int64_t i = 0; i < n; i++)
        switch (d) {
        case AS_F64: ((double *)y)[i] = terms ? ((double *)y)[i] / (double)terms : (double)NAN; break;
        case AS_I32: ((int32_t *)y)[i] = terms ? (int32_t)(((int32_t *)y)[i] / terms) : 0; break;
        case AS_U32: ((uint32_t *)y)[i] = terms ? (uint32_t)(((uint32_t *)y)[i] / terms) : 0; break;
        case AS_U64: ((uint64_t *)y)[i] = terms ? ((uint64_t *)y)[i] / (uint64_t)terms : 0; break;
        default: ((int64_t *)y)[i] = terms ? ((int64_t *)y)[i] / terms : 0;
        }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    if (as_shape_count(&n->out[0].shape) == 0)
        return;
    groups      s = groups_of(n);
    const form *f = form_of(n);
    int64_t     bytes = (int64_t)as_dtype_bytes(n->in[0].dtype), wide = s.inner_goes ? 1 : s.inner;
    int64_t     n_blocks = (wide + COLUMNS - 1) / COLUMNS, begin, end;
    as_share(s.stay.count * n_blocks, 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t     i = unit / n_blocks, first = unit % n_blocks * COLUMNS, width = wide - first < COLUMNS ? wide - first : COLUMNS;
        char       *y = (char *)args->out[0].data + (i * wide + first) * bytes;
        const char *x = (const char *)args->in[0].data + (offset(&s.stay, i) + first) * bytes;
        for (int64_t c = 0; c < width; c++)
            memcpy(y + c * bytes, f->start, (size_t)bytes);
        for (int64_t j = 0; j < s.go.count; j++) {
            const char *next = x + offset(&s.go, j) * bytes;
            if (s.inner_goes)
                f->line(next, s.inner, y);
            else
                f->row(y, next, width);
        }
        if (!strcmp(n->op->name, "ReduceMean"))
            means(n->in[0].dtype, y, width, s.go.count * (s.inner_goes ? s.inner : 1));
    }
}

static const char *const also[] = {"ReduceMean", "ReduceProd", "ReduceL1", "ReduceSumSquare", "ReduceMax", "ReduceMin", NULL};
