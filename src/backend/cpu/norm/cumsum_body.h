/* cumsum_body.h - the body of k_cumsum_any_<machine>.c: running sums along an axis, forwards and backwards, of f32, f64 and the integers.
 *
 * Along the last axis a line is summed element by element, in double for f32.  Along another axis a block of neighbouring lines is
 * summed together.  Integers wrap, so their sign does not matter. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernel.h"

enum { COLUMNS = 64 };

/* `count` neighbouring lines of n elements, `step` apart, which is negative for a sum from the end. */
typedef void (*sums)(const void *from, void *to, int64_t n, int64_t step, int count, bool exclusive);

#define SUMS(name, type, wide)                                                                                  \
    static void name##_lines(const type *restrict x, type *restrict y, int64_t n, int64_t step, bool exclusive) \
    {                                                                                                           \
        wide all = 0;                                                                                           \
        for (int64_t i = 0; i < n; i++, x += step, y += step) {                                                 \
            wide before = all;                                                                                  \
            all = (wide)(all + *x);                                                                             \
            *y = (type)(exclusive ? before : all);                                                              \
        }                                                                                                       \
    }                                                                                                           \
    static void name##_block(const type *restrict x, type *restrict y, int64_t n, int64_t step, bool exclusive) \
    {                                                                                                           \
        wide all[COLUMNS] = {0};                                                                                \
        for (int64_t i = 0; i < n; i++, x += step, y += step) {                                                 \
            if (exclusive)                                                                                      \
                for (int c = 0; c < COLUMNS; c++)                                                               \
                    y[c] = (type)all[c];                                                                        \
            for (int c = 0; c < COLUMNS; c++)                                                                   \
                all[c] = (wide)(all[c] + x[c]);                                                                 \
            if (!exclusive)                                                                                     \
                for (int c = 0; c < COLUMNS; c++)                                                               \
                    y[c] = (type)all[c];                                                                        \
        }                                                                                                       \
    }                                                                                                           \
    static void name##_sums(const void *from, void *to, int64_t n, int64_t step, int count, bool exclusive)     \
    {                                                                                                           \
        if (count == COLUMNS)                                                                                   \
            name##_block(from, to, n, step, exclusive);                                                         \
        else                                                                                                    \
            for (int c = 0; c < count; c++)                                                                     \
                name##_lines((const type *)from + c, (type *)to + c, n, step, exclusive);                       \
    }
SUMS(f32, float, double)
SUMS(f64, double, double)
SUMS(w32, uint32_t, uint32_t)
SUMS(w64, uint64_t, uint64_t)

static sums sums_of(as_dtype d)
{
    return d == AS_F32                  ? f32_sums
           : d == AS_F64                ? f64_sums
           : d == AS_I32 || d == AS_U32 ? w32_sums
           : d == AS_I64 || d == AS_U64 ? w64_sums
                                        : NULL;
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (!sums_of(n->in[0].dtype))
        snprintf(why, why_size, "it does not add %s", as_dtype_name(n->in[0].dtype));
    else if (!n->in[1].constant)
        snprintf(why, why_size, "input 1, the axis, is not known while planning");
    else if (n->in[0].layout != AS_LAYOUT_ROW_MAJOR || n->out[0].layout != AS_LAYOUT_ROW_MAJOR)
        snprintf(why, why_size, "an operand is not row-major");
    else
        return true;
    return false;
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    const as_shape    *x = &n->in[0].shape;
    int64_t            axis = 0, inner = 1, begin, end, bytes = (int64_t)as_dtype_bytes(n->in[0].dtype);
    bool               reverse = as_attr_int(n, "reverse", 0) != 0, exclusive = as_attr_int(n, "exclusive", 0) != 0;
    if (as_shape_count(x) == 0)
        return;
    if (n->in[1].dtype == AS_I32) {
        int32_t narrow;
        memcpy(&narrow, n->in[1].constant, sizeof narrow);
        axis = narrow;
    } else {
        memcpy(&axis, n->in[1].constant, sizeof axis);
    }
    axis += axis < 0 ? x->rank : 0;
    for (int i = (int)axis + 1; i < x->rank; i++)
        inner *= x->dim[i];
    int64_t length = x->dim[axis], outer = as_shape_count(x) / length / inner, blocks = (inner + COLUMNS - 1) / COLUMNS;
    as_share(outer * blocks, 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t first = unit % blocks * COLUMNS, at = unit / blocks * length * inner + first + (reverse ? (length - 1) * inner : 0);
        int     count = inner - first < COLUMNS ? (int)(inner - first) : COLUMNS;
        sums_of(n->in[0].dtype)((const char *)args->in[0].data + at * bytes, (char *)args->out[0].data + at * bytes, length,
                                reverse ? -inner : inner, count, exclusive);
    }
}
