/* where_body.h - the body of k_where_any_<machine>.c: X where the condition holds and Y elsewhere, for any dtype, with
 * broadcasting. */
#include <stdio.h>

#include "backend/cpu/each/flat.h"

enum { STRIP = 32 };

static bool accepts(const as_node_ctx *n, char *why, size_t why_size) { return as_flat_rows_accept(n, 3, why, why_size); }

/* Both are read, so that no branch is needed.  The steps are constants where this is called. */
#define WHERE(bits)                                                                                                        \
    static inline __attribute__((always_inline)) void pick_##bits(uint##bits##_t *restrict y, const uint8_t *restrict c,   \
                                                                  const uint##bits##_t *restrict a, int a_step,            \
                                                                  const uint##bits##_t *restrict b, int b_step, int64_t n) \
    {                                                                                                                      \
        int64_t        i = 0;                                                                                              \
        uint##bits##_t one_a = *a, one_b = *b;                                                                             \
        for (; i + STRIP <= n; i += STRIP)                                                                                 \
            for (int l = 0; l < STRIP; l++) {                                                                              \
                uint##bits##_t p = a_step ? a[i + l] : one_a, q = b_step ? b[i + l] : one_b;                               \
                uint##bits##_t mask = (uint##bits##_t)(0 - (uint##bits##_t)(c[i + l] != 0));                               \
                y[i + l] = (uint##bits##_t)((p & mask) | (q & (uint##bits##_t) ~mask));                                    \
            }                                                                                                              \
        for (; i < n; i++)                                                                                                 \
            y[i] = c[i] ? a[i * a_step] : b[i * b_step];                                                                   \
    }                                                                                                                      \
    static void rows_##bits(uint##bits##_t *restrict y, const uint8_t *restrict c, const uint##bits##_t *restrict a,       \
                            const uint##bits##_t *restrict b, int64_t n)                                                   \
    {                                                                                                                      \
        pick_##bits(y, c, a, 1, b, 1, n);                                                                                  \
    }                                                                                                                      \
    static void left_##bits(uint##bits##_t *restrict y, const uint8_t *restrict c, const uint##bits##_t *restrict a,       \
                            const uint##bits##_t *restrict b, int64_t n)                                                   \
    {                                                                                                                      \
        pick_##bits(y, c, a, 0, b, 1, n);                                                                                  \
    }                                                                                                                      \
    static void right_##bits(uint##bits##_t *restrict y, const uint8_t *restrict c, const uint##bits##_t *restrict a,      \
                             const uint##bits##_t *restrict b, int64_t n)                                                  \
    {                                                                                                                      \
        pick_##bits(y, c, a, 1, b, 0, n);                                                                                  \
    }                                                                                                                      \
    static void where_##bits(void *out, const void *const *in, const int64_t *step, int64_t n)                             \
    {                                                                                                                      \
        uint##bits##_t       *y = out;                                                                                     \
        const uint8_t        *c = in[0];                                                                                   \
        const uint##bits##_t *a = in[1], *b = in[2];                                                                       \
        if (n <= 0)                                                                                                        \
            return;                                                                                                        \
        if (step[0] && step[1] && step[2])                                                                                 \
            rows_##bits(y, c, a, b, n);                                                                                    \
        else if (step[0] && step[2])                                                                                       \
            left_##bits(y, c, a, b, n);                                                                                    \
        else if (step[0] && step[1])                                                                                       \
            right_##bits(y, c, a, b, n);                                                                                   \
        else                                                                                                               \
            for (int64_t i = 0; i < n; i++)                                                                                \
                y[i] = c[i * step[0]] ? a[i * step[1]] : b[i * step[2]];                                                   \
    }

WHERE(8)
WHERE(16)
WHERE(32)
WHERE(64)

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    size_t  bytes = as_dtype_bytes(args->ctx->out[0].dtype);
    as_flat flat;
    as_flat_of(args->ctx, 3, &flat);
    as_flat_rows(&flat, 3, args, part, n_parts, bytes == 1 ? where_8 : bytes == 2 ? where_16 : bytes == 4 ? where_32 : where_64);
}
