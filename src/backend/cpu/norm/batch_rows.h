/* batch_rows.h - batch norm once a factor and a bias per channel are known, in inference and in training; include one of the simd_*.h
 * before. */
#ifndef AS_BACKEND_CPU_BATCH_ROWS_H
#define AS_BACKEND_CPU_BATCH_ROWS_H

#include <stdio.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/norm/ends.h"

static bool batch_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i].dtype != AS_F32) {
            snprintf(why, why_size, "input %d is %s, needs f32", i, as_dtype_name(n->in[i].dtype));
            return false;
        }
    if (n->in[0].layout == n->out[0].layout)
        return true;
    snprintf(why, why_size, "input 0 has another layout than output 0");
    return false;
}

/* Neighbours of one channel. */
static inline void row_run(const float *x, float *y, int64_t count, float mean, float factor, float bias)
{
    vf m = v_set(mean), f = v_set(factor), b = v_set(bias);
    for (int64_t i = 0; i < count; i += VW) {
        int n = at_most(count - i);
        put(y + i, n, v_fma(v_sub(some(x + i, n), m), f, b));
    }
}

/* Neighbours of one pixel: one channel each. */
static inline void pixel_run(const float *x, float *y, int64_t count, const float *mean, const float *factor, const float *bias)
{
    for (int64_t i = 0; i < count; i += VW) {
        int n = at_most(count - i);
        put(y + i, n, v_fma(v_sub(some(x + i, n), some(mean + i, n)), some(factor + i, n), some(bias + i, n)));
    }
}

#endif
