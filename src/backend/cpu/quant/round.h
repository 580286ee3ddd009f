/* round.h - floats to quantised integers, sixteen at a time; include a q_*.h before.
 *
 * A number is clamped to the range that the zero point leaves and rounded to the nearest integer, ties to even.  What is not a number
 * becomes 0, as in the reference code. */
#ifndef AS_BACKEND_CPU_ROUND_H
#define AS_BACKEND_CPU_ROUND_H

#include "op/quant/quantize.h"

enum { Q_PER = 16 / QL }; /* vectors of sixteen elements */

Q_INLINE qf q_set(float x) { return x - (qf){0}; }
Q_INLINE qi q_set_i(int32_t x) { return x - (qi){0}; }
Q_INLINE qf q_load(const float *p)
{
    qf x;
    memcpy(&x, p, sizeof x);
    return x;
}
Q_INLINE qi q_load_i(const int32_t *p)
{
    qi x;
    memcpy(&x, p, sizeof x);
    return x;
}
Q_INLINE void q_store(float *p, qf x) { memcpy(p, &x, sizeof x); }
Q_INLINE void q_store_i(int32_t *p, qi x) { memcpy(p, &x, sizeof x); }
Q_INLINE qf   q_float(qi x) { return __builtin_convertvector(x, qf); }

/* Rounded, with the zero point; low and high are the ends of the type minus the zero point. */
Q_INLINE qi q_round(qf x, qf low, qf high, qi zero) { return q_nearest(q_clamp(x, low, high, -q_float(zero))) + zero; }

static inline int32_t q_lowest(as_dtype dtype) { return dtype == AS_I8 ? -128 : dtype == AS_I16 ? -32768 : 0; }
static inline int32_t q_highest(as_dtype dtype)
{
    return dtype == AS_I8 ? 127 : dtype == AS_U8 ? 255 : dtype == AS_I16 ? 32767 : 65535;
}
/* Whether all n are finite numbers. */
static inline bool q_all_finite(const float *x, int64_t n)
{
    bool finite = true;
    for (int64_t i = 0; i < n; i++)
        finite = finite && x[i] - x[i] == 0.0f;
    return finite;
}
static inline bool q_is_byte(as_dtype dtype) { return dtype == AS_I8 || dtype == AS_U8; }

/* Sixteen elements as bytes or 16-bit integers. */
Q_INLINE void q_put(as_dtype dtype, void *y, const qi *v)
{
    if (q_is_byte(dtype)) {
        q_store_8(y, v);
        return;
    }
    int32_t  wide[16];
    uint16_t narrow[16];
    memcpy(wide, v, sizeof wide);
    for (int i = 0; i < 16; i++)
        narrow[i] = (uint16_t)wide[i];
    memcpy(y, narrow, sizeof narrow);
}

Q_INLINE void q_get(as_dtype dtype, const void *x, qi *v)
{
    if (q_is_byte(dtype)) {
        V_UNROLL
        for (int k = 0; k < Q_PER; k++)
            v[k] = dtype == AS_U8 ? q_load_u8((const uint8_t *)x + k * QL) : q_load_i8((const uint8_t *)x + k * QL);
        return;
    }
    uint16_t narrow[16];
    int32_t  wide[16];
    memcpy(narrow, x, sizeof narrow);
    for (int i = 0; i < 16; i++)
        wide[i] = dtype == AS_U16 ? narrow[i] : (int16_t)narrow[i];
    memcpy(v, wide, sizeof wide);
}

/* Element i of integers. */
static inline int32_t q_at(as_dtype dtype, const void *x, int64_t i)
{
    switch (dtype) {
    case AS_I8: return ((const int8_t *)x)[i];
    case AS_U8: return ((const uint8_t *)x)[i];
    case AS_I16: return ((const int16_t *)x)[i];
    case AS_U16: return ((const uint16_t *)x)[i];
    default: return ((const int32_t *)x)[i];
    }
}

/* --- How scales and zero points lie over a tensor ------------------------------------------------------------- */

typedef struct q_grid {
    as_quant_grid g;
    int64_t       size, inner, n_blocks; /* of the axis; elements of one slice; blocks along the axis */
} q_grid;

static inline q_grid q_grid_of(const as_node_ctx *n)
{
    q_grid q = {.size = 1, .inner = 1};
    if (as_quant_grid_read(NULL, n, &q.g) != ASSAY_OK || q.g.per_tensor) {
        q.g.per_tensor = true;
        return q;
    }
    const as_shape *x = &n->in[0].shape;
    q.size = x->dim[q.g.axis];
    for (int i = q.g.axis + 1; i < x->rank; i++)
        q.inner *= x->dim[i];
    q.n_blocks = q.g.full_rank ? (q.size + q.g.block - 1) / q.g.block : q.size;
    return q;
}

/* The elements from `at` on that have one parameter (*step 0) or neighbouring ones (1); *param: the first one's. */
static inline int64_t q_grid_run(const q_grid *q, int64_t at, int64_t end, int64_t *param, int *step)
{
    int64_t run;
    if (q->g.per_tensor) {
        *param = 0, *step = 0;
        return end - at;
    }
    int64_t outer = at / (q->size * q->inner), d = at / q->inner % q->size, i = at % q->inner;
    if (q->g.full_rank) {
        *step = q->inner > 1;
        *param = (outer * q->n_blocks + d / q->g.block) * q->inner + i;
        run = q->inner > 1 ? q->inner - i : q->g.block - d % q->g.block;
        run = q->inner == 1 && run > q->size - d ? q->size - d : run;
    } else {
        *step = q->inner == 1;
        *param = d;
        run = q->inner == 1 ? q->size - d : q->inner - i;
    }
    return run < end - at ? run : end - at;
}

#endif
