/* dequantize_body.h - the body of k_dequantize_f32_<machine>.c, after its q_*.h: DequantizeLinear of integers of 8, 16 and 32 bits to
 * f32, with one scale, one per slice of an axis or one per block. */
#include <stdio.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/quant/round.h"

typedef struct line {
    const float *scale;
    const void  *zero; /* NULL: 0 */
    int64_t      param;
    int          step;
} line;

static int32_t zero_at(as_dtype dtype, const line *l, int64_t i) { return l->zero ? q_at(dtype, l->zero, l->param + i) : 0; }

/* A difference of 33 bits times a scale is rounded to double first, as in the reference code. */
Q_INLINE void sixteen_wide(const void *x, const float *scale, const int32_t *zero, int step, float *y)
{
    int32_t wide[16];
    memcpy(wide, x, sizeof wide);
    for (int i = 0; i < 16; i++)
        y[i] = (float)(((double)wide[i] - (double)zero[i * step]) * (double)scale[i * step]);
}

Q_INLINE void sixteen(as_dtype dtype, const void *x, const float *scale, const int32_t *zero, int step, float *y)
{
    qi v[Q_PER];
    if (dtype == AS_I32) {
        sixteen_wide(x, scale, zero, step, y);
        return;
    }
    q_get(dtype, x, v);
    V_UNROLL
    for (int k = 0; k < Q_PER; k++) {
        qi z = step ? q_load_i(zero + k * QL) : q_set_i(*zero);
        qf s = step ? q_load(scale + k * QL) : q_set(*scale);
        q_store(y + k * QL, q_float(v[k] - z) * s);
    }
}

/* The dtype is a constant in each copy. */
Q_INLINE void line_do(as_dtype dtype, int64_t bytes, const line *l, const uint8_t *x, float *y, int64_t n)
{
    int64_t i = 0;
    if (!l->step) {
        float   scale = l->scale[l->param];
        int32_t zero = zero_at(dtype, l, 0);
        for (; i + 16 <= n; i += 16)
            sixteen(dtype, x + i * bytes, &scale, &zero, 0, y + i);
    }
    for (; l->step && dtype != AS_I32 && i + 16 <= n; i += 16) {
        int32_t zero[16] = {0};
        qi      z[Q_PER];
        if (l->zero) {
            q_get(dtype, (const uint8_t *)l->zero + (l->param + i) * bytes, z);
            memcpy(zero, z, sizeof zero);
        }
        sixteen(dtype, x + i * bytes, l->scale + l->param + i, zero, 1, y + i);
    }
    for (; i < n; i += 16) {
        int64_t left = n - i < 16 ? n - i : 16;
        float   to[16], scale[16];
        int32_t zero[16];
        uint8_t part[64] = {0};
        memcpy(part, x + i * bytes, (size_t)(left * bytes));
        for (int k = 0; k < 16; k++) {
            int64_t at = l->step ? i + (k < left ? k : 0) : 0;
            scale[k] = l->scale[l->param + at];
            zero[k] = zero_at(dtype, l, at);
        }
        sixteen(dtype, part, scale, zero, 1, to);
        memcpy(y + i, to, (size_t)left * sizeof *to);
    }
}

static void line_run(as_dtype dtype, const line *l, const uint8_t *x, float *y, int64_t n)
{
    switch (dtype) {
    case AS_I8: line_do(AS_I8, 1, l, x, y, n); break;
    case AS_U8: line_do(AS_U8, 1, l, x, y, n); break;
    case AS_I16: line_do(AS_I16, 2, l, x, y, n); break;
    case AS_U16: line_do(AS_U16, 2, l, x, y, n); break;
    default: line_do(AS_I32, 4, l, x, y, n); break;
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    q_grid         grid = q_grid_of(args->ctx);
    as_dtype       dtype = args->in[0].dtype;
    const uint8_t *x = args->in[0].data;
    float         *y = args->out[0].data;
    line           l = {.scale = args->in[1].data, .zero = as_in_has(args->ctx, 2) ? args->in[2].data : NULL};
    int64_t        at, end, bytes = (int64_t)as_dtype_bytes(dtype);
    as_share(as_shape_count(&args->in[0].shape), 64, part, n_parts, &at, &end);
    while (at < end) {
        int64_t n = q_grid_run(&grid, at, end, &l.param, &l.step);
        line_run(dtype, &l, x + at * bytes, y + at, n);
        at += n;
    }
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_dtype x = n->in[0].dtype;
    if (!q_is_byte(x) && x != AS_I16 && x != AS_U16 && x != AS_I32)
        snprintf(why, why_size, "x is %s, needs integers of 8, 16 or 32 bits", as_dtype_name(x));
    else if (n->in[1].dtype != AS_F32 || n->out[0].dtype != AS_F32)
        snprintf(why, why_size, "the scale is %s and y %s, needs f32", as_dtype_name(n->in[1].dtype),
                 as_dtype_name(n->out[0].dtype));
    else if (n->in[0].layout != AS_LAYOUT_ROW_MAJOR || n->out[0].layout != AS_LAYOUT_ROW_MAJOR)
        snprintf(why, why_size, "an operand is not row-major");
    else
        return true;
    return false;
}
