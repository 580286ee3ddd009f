/* scatter_body.h - the body of k_scatter_any_<machine>.c: ScatterElements and ScatterND: those that replace, for any dtype, and those that add, multiply or keep the
 * larger or smaller, for all numbers of C.
 *
 * Each part owns a range of the result: it copies the data there and applies what falls into it, in the order of the updates.  So no two
 * parts write one element, and the order of a sum does not depend on the number of parts. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/each/plain.h"
#include "backend/cpu/move/targets.h"

enum { BLOCK = 512, STRIP = 32 };

/* The updates of `count` runs of `run` elements, to the places at[], as far as they fall into [begin, end). */
typedef void (*apply)(void *out, const void *updates, const int64_t *at, int64_t count, int64_t run, int64_t begin, int64_t end);

/* p is there, and q comes; integers wrap, and so do their products by way of a wider type. */
#define APPLY(name, type, expression)                                                                                           \
    static void name##_row(type *restrict y, const type *restrict u, int64_t n)                                                 \
    {                                                                                                                           \
        int64_t i = 0;                                                                                                          \
        for (; i + STRIP <= n; i += STRIP)                                                                                      \
            for (int l = 0; l < STRIP; l++) {                                                                                   \
                type p = y[i + l], q = u[i + l];                                                                                \
                (void)p;                                                                                                        \
                y[i + l] = (type)(expression);                                                                                  \
            }                                                                                                                   \
        for (; i < n; i++) {                                                                                                    \
            type p = y[i], q = u[i];                                                                                            \
            (void)p;                                                                                                            \
            y[i] = (type)(expression);                                                                                          \
        }                                                                                                                       \
    }                                                                                                                           \
    static void name(void *out, const void *updates, const int64_t *at, int64_t count, int64_t run, int64_t begin, int64_t end) \
    {                                                                                                                           \
        type       *y = out;                                                                                                    \
        const type *u = updates;                                                                                                \
        for (int64_t i = 0; run == 1 && i < count; i++)                                                                         \
            if (at[i] >= begin && at[i] < end) {                                                                                \
                type p = y[at[i]], q = u[i];                                                                                    \
                (void)p;                                                                                                        \
                y[at[i]] = (type)(expression);                                                                                  \
            }                                                                                                                   \
        for (int64_t i = 0; run > 1 && i < count; i++, u += run) {                                                              \
            int64_t first = at[i] < begin ? begin : at[i], last = at[i] + run < end ? at[i] + run : end;                        \
            if (first < last)                                                                                                   \
                name##_row(y + first, u + first - at[i], last - first);                                                         \
        }                                                                                                                       \
    }

APPLY(set_8, uint8_t, q)
APPLY(set_16, uint16_t, q)
APPLY(set_32, uint32_t, q)
APPLY(set_64, uint64_t, q)
#define SUMS(name, type, wide)           \
    APPLY(add_##name, type, (wide)p + q) \
    APPLY(mul_##name, type, (wide)p *q)
SUMS(8, uint8_t, uint32_t)
SUMS(16, uint16_t, uint32_t)
SUMS(32, uint32_t, uint32_t)
SUMS(64, uint64_t, uint64_t)
SUMS(f32, float, float)
SUMS(f64, double, double)
/* A NaN wins, whichever is asked for. */
#define ORDER(name, type)                                 \
    APPLY(max_##name, type, ((q > p) | (q != q)) ? q : p) \
    APPLY(min_##name, type, ((q < p) | (q != q)) ? q : p)
ORDER(i8, int8_t)
ORDER(u8, uint8_t)
ORDER(i16, int16_t)
ORDER(u16, uint16_t)
ORDER(i32, int32_t)
ORDER(u32, uint32_t)
ORDER(i64, int64_t)
ORDER(u64, uint64_t)
ORDER(f32, float)
ORDER(f64, double)

typedef struct ways {
    apply add, mul, max, min;
} ways;

static const ways known[AS_N_DTYPES] = {
    [AS_I8] = {add_8, mul_8, max_i8, min_i8},        [AS_U8] = {add_8, mul_8, max_u8, min_u8},
    [AS_I16] = {add_16, mul_16, max_i16, min_i16},   [AS_U16] = {add_16, mul_16, max_u16, min_u16},
    [AS_I32] = {add_32, mul_32, max_i32, min_i32},   [AS_U32] = {add_32, mul_32, max_u32, min_u32},
    [AS_I64] = {add_64, mul_64, max_i64, min_i64},   [AS_U64] = {add_64, mul_64, max_u64, min_u64},
    [AS_F32] = {add_f32, mul_f32, max_f32, min_f32}, [AS_F64] = {add_f64, mul_f64, max_f64, min_f64},
};

static apply way_of(const as_node_ctx *n)
{
    const char *how = as_attr_text(n, "reduction", "none");
    const ways *w = &known[n->in[0].dtype];
    size_t      bytes = as_dtype_bytes(n->in[0].dtype);
    if (!strcmp(how, "none"))
        return bytes == 1 ? set_8 : bytes == 2 ? set_16 : bytes == 4 ? set_32 : set_64;
    return !strcmp(how, "add") ? w->add : !strcmp(how, "mul") ? w->mul : !strcmp(how, "max") ? w->max : w->min;
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (!way_of(n))
        snprintf(why, why_size, "it has no reduction %s of %s", as_attr_text(n, "reduction", "none"),
                 as_dtype_name(n->in[0].dtype));
    else if (n->in[1].layout != AS_LAYOUT_ROW_MAJOR || n->in[2].layout != AS_LAYOUT_ROW_MAJOR)
        snprintf(why, why_size, "the indices or the updates are not row-major");
    else
        return as_plain_copy_accepts(n, why, why_size);
    return false;
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    as_targets         p = as_targets_of(n, &args->in[1]);
    apply              way = way_of(n);
    int64_t            begin, end, bytes = (int64_t)as_dtype_bytes(n->in[0].dtype);
    if (!as_targets_are_right(&p)) {
        if (part == 0)
            *args->status = n->op->eval(args->env, n, args->in, args->out);
        return;
    }
    as_share(as_shape_count(&n->in[0].shape), 64, part, n_parts, &begin, &end);
    if (begin >= end)
        return;
    char *y = args->out[0].data;
    memcpy(y + begin * bytes, (const char *)args->in[0].data + begin * bytes, (size_t)((end - begin) * bytes));
    for (int64_t i = 0; i < p.count; i += BLOCK) {
        int64_t at[BLOCK], count = p.count - i < BLOCK ? p.count - i : BLOCK;
        as_targets_fill(&p, i, count, at);
        way(y, (const char *)args->in[2].data + i * p.run * bytes, at, count, p.run, begin, end);
    }
}

static const char *const also[] = {"ScatterND", NULL};
