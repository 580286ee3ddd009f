/* rows.h - rows for as_flat_rows() from an expression: of x for one operand, of p and q for two.
 *
 * The strips have a length that the compiler knows, and the pointers are restricted parameters: at -O2 gcc makes vectors of such a
 * loop and of no other (a restricted local variable was tried: gcc 12 does not believe it).  A file that is compiled for AVX2 gets
 * its vectors that way. */
#ifndef AS_BACKEND_CPU_ROWS_H
#define AS_BACKEND_CPU_ROWS_H

#include "backend/cpu/each/flat.h"

enum { AS_ROW_STRIP = 32 };

#define AS_ROW1(name, out_type, type, expression)                                      \
    static void name##_run(out_type *restrict y, const type *restrict a, int64_t n)    \
    {                                                                                  \
        int64_t i = 0;                                                                 \
        for (; i + AS_ROW_STRIP <= n; i += AS_ROW_STRIP)                               \
            for (int l = 0; l < AS_ROW_STRIP; l++) {                                   \
                type x = a[i + l];                                                     \
                y[i + l] = (out_type)(expression);                                     \
            }                                                                          \
        for (; i < n; i++) {                                                           \
            type x = a[i];                                                             \
            y[i] = (out_type)(expression);                                             \
        }                                                                              \
    }                                                                                  \
    static void name(void *out, const void *const *in, const int64_t *step, int64_t n) \
    {                                                                                  \
        out_type *y = out;                                                             \
        if (step[0] || n == 1) {                                                       \
            name##_run(y, in[0], n);                                                   \
            return;                                                                    \
        }                                                                              \
        name##_run(y, in[0], n > 0);                                                   \
        for (int64_t i = 1; i < n; i++)                                                \
            y[i] = y[0];                                                               \
    }

/* Two rows, a row and a value, a value and a row. */
#define AS_ROW2(name, out_type, type, expression)                                                            \
    static void name##_rows(out_type *restrict y, const type *restrict a, const type *restrict b, int64_t n) \
    {                                                                                                        \
        int64_t i = 0;                                                                                       \
        for (; i + AS_ROW_STRIP <= n; i += AS_ROW_STRIP)                                                     \
            for (int l = 0; l < AS_ROW_STRIP; l++) {                                                         \
                type p = a[i + l], q = b[i + l];                                                             \
                y[i + l] = (out_type)(expression);                                                           \
            }                                                                                                \
        for (; i < n; i++) {                                                                                 \
            type p = a[i], q = b[i];                                                                         \
            y[i] = (out_type)(expression);                                                                   \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_right(out_type *restrict y, const type *restrict a, type q, int64_t n)                \
    {                                                                                                        \
        int64_t i = 0;                                                                                       \
        for (; i + AS_ROW_STRIP <= n; i += AS_ROW_STRIP)                                                     \
            for (int l = 0; l < AS_ROW_STRIP; l++) {                                                         \
                type p = a[i + l];                                                                           \
                y[i + l] = (out_type)(expression);                                                           \
            }                                                                                                \
        for (; i < n; i++) {                                                                                 \
            type p = a[i];                                                                                   \
            y[i] = (out_type)(expression);                                                                   \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_left(out_type *restrict y, type p, const type *restrict b, int64_t n)                 \
    {                                                                                                        \
        int64_t i = 0;                                                                                       \
        for (; i + AS_ROW_STRIP <= n; i += AS_ROW_STRIP)                                                     \
            for (int l = 0; l < AS_ROW_STRIP; l++) {                                                         \
                type q = b[i + l];                                                                           \
                y[i + l] = (out_type)(expression);                                                           \
            }                                                                                                \
        for (; i < n; i++) {                                                                                 \
            type q = b[i];                                                                                   \
            y[i] = (out_type)(expression);                                                                   \
        }                                                                                                    \
    }                                                                                                        \
    static void name(void *out, const void *const *in, const int64_t *step, int64_t n)                       \
    {                                                                                                        \
        out_type   *y = out;                                                                                 \
        const type *a = in[0], *b = in[1];                                                                   \
        if (step[0] && step[1])                                                                              \
            name##_rows(y, a, b, n);                                                                         \
        else if (n > 0 && step[1])                                                                           \
            name##_left(y, *a, b, n);                                                                        \
        else if (n > 0)                                                                                      \
            name##_right(y, a, *b, step[0] ? n : 1);                                                         \
        for (int64_t i = 1; i < n && !step[0] && !step[1]; i++)                                              \
            y[i] = y[0];                                                                                     \
    }

#endif
