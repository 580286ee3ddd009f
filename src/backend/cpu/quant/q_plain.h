/* q_plain.h - integers of quantised operators in the compiler's vectors of four, for machines without a header of their own; see
 * q_avx512.h for what the names mean. */
#ifndef AS_BACKEND_CPU_Q_H
#define AS_BACKEND_CPU_Q_H

#include <stdint.h>
#include <string.h>

#include "backend/cpu/simd/unroll.h"

#define Q_INLINE static inline __attribute__((always_inline, unused))
#define Q_NAME   "scalar"
#define Q_ISA    AS_ISA_SCALAR

#define Q_ROWS 2
enum { QL = 4, Q_VECS = 4, Q_BIAS = 0, Q_TERMS = 1 };
typedef int32_t qi __attribute__((vector_size(16)));
typedef float   qf __attribute__((vector_size(16)));

Q_INLINE qi   q_load_u8(const uint8_t *p) { return (qi){p[0], p[1], p[2], p[3]}; }
Q_INLINE qi   q_load_i8(const uint8_t *p) { return (qi){(int8_t)p[0], (int8_t)p[1], (int8_t)p[2], (int8_t)p[3]}; }
Q_INLINE void q_store_8(uint8_t *p, const qi *v)
{
    for (int i = 0; i < 16; i++)
        p[i] = (uint8_t)v[i / 4][i % 4];
}
Q_INLINE qf q_pick(qi which, qf a, qf b) { return (qf)((which & (qi)a) | (~which & (qi)b)); }
Q_INLINE qf q_within(qf x, qf low, qf high)
{
    qf y = q_pick(x > low, x, low);
    return q_pick(y < high, y, high);
}
Q_INLINE qf q_clamp(qf x, qf low, qf high, qf other)
{
    qf y = q_pick(x > low, x, low);
    y = q_pick(y < high, y, high);
    return q_pick(x == x, y, other);
}
/* Adding 1.5 * 2^23 rounds and leaves the integer in the low bits. */
Q_INLINE qi q_nearest(qf x) { return (qi)(x + 12582912.0f) - 0x4B400000; }
Q_INLINE qf q_least(qf best, qf x) { return q_pick(x < best, x, best); }
Q_INLINE qf q_most(qf best, qf x) { return q_pick(x > best, x, best); }

typedef int16_t q_term;
typedef qi      q_a;
typedef qi      q_b;
Q_INLINE q_b    q_load_b(const uint8_t *p) { return q_load_i8(p); }
Q_INLINE q_b    q_window(const uint8_t *p) { return q_load_b(p); }
/* Unsigned, so that a sum may wrap. */
typedef uint32_t qu __attribute__((vector_size(16)));
Q_INLINE qi      q_dot(qi acc, q_a a, q_b b) { return (qi)((qu)acc + (qu)a * (qu)b); }
Q_INLINE q_a     q_all(const q_term *p) { return (qi){*p, *p, *p, *p}; }

#endif
