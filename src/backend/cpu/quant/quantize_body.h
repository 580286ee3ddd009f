/* quantize_body.h - the body of k_quantize_f32_<machine>.c, after its q_*.h: QuantizeLinear of f32 to integers of 8 and 16 bits, with
 * one scale, one per slice of an axis or one per block.  The quotient is a true division, so every integer is the reference code's. */
#include <stdio.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/quant/round.h"

/* n elements of which `x` and `y` point at the first; with a step, scale and zero point are one per element. */
typedef struct line {
    const float *scale;
    const void  *zero; /* NULL: 0 */
    int64_t      param;
    int          step;
} line;

static int32_t zero_at(as_dtype dtype, const line *l, int64_t i) { return l->zero ? q_at(dtype, l->zero, l->param + i) : 0; }

Q_INLINE void sixteen(as_dtype dtype, const float *x, const float *scale, const int32_t *zero, int step, void *y)
{
    qi v[Q_PER];
    V_UNROLL
    for (int k = 0; k < Q_PER; k++) {
        qi z = step ? q_load_i(zero + k * QL) : q_set_i(*zero);
        qf s = step ? q_load(scale + k * QL) : q_set(*scale);
        v[k] = q_round(q_load(x + k * QL) / s, q_float(q_lowest(dtype) - z), q_float(q_highest(dtype) - z), z);
    }
    q_put(dtype, y, v);
}

/* The dtype is a constant in each copy. */
Q_INLINE void line_do(as_dtype dtype, const line *l, const float *x, uint8_t *y, int64_t n)
{
    const int64_t bytes = q_is_byte(dtype) ? 1 : 2;
    int64_t       i = 0;
    if (!l->step) {
        float   scale = l->scale[l->param];
        int32_t zero = zero_at(dtype, l, 0);
        for (; i + 16 <= n; i += 16)
            sixteen(dtype, x + i, &scale, &zero, 0, y + i * bytes);
    }
    for (; l->step && i + 16 <= n; i += 16) {
        int32_t zero[16] = {0};
        qi      z[Q_PER];
        if (l->zero) {
            q_get(dtype, (const uint8_t *)l->zero + (l->param + i) * bytes, z);
            memcpy(zero, z, sizeof zero);
        }
        sixteen(dtype, x + i, l->scale + l->param + i, zero, 1, y + i * bytes);
    }
    for (; i < n; i += 16) {
        int64_t left = n - i < 16 ? n - i : 16;
        float   part[16] = {0}, scale[16];
        int32_t zero[16];
        uint8_t to[32];
        memcpy(part, x + i, (size_t)left * sizeof *part);
        for (int k = 0; k < 16; k++) {
            int64_t at = l->step ? i + (k < left ? k : 0) : 0;
            scale[k] = l->scale[l->param + at];
            zero[k] = zero_at(dtype, l, at);
        }
        sixteen(dtype, part, scale, zero, 1, to);
        memcpy(y + i * bytes, to, (size_t)(left * bytes));
    }
}

static void line_run(as_dtype dtype, const line *l, const float *x, uint8_t *y, int64_t n)
{
    switch (dtype) {
    case AS_I8: line_do(AS_I8, l, x, y, n); break;
    case AS_U8: line_do(AS_U8, l, x, y, n); break;
    case AS_I16: line_do(AS_I16, l, x, y, n); break;
    default: line_do(AS_U16, l, x, y, n); break;
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    q_grid       grid = q_grid_of(args->ctx);
    as_dtype     dtype = args->out[0].dtype;
    const float *x = args->in[0].data;
    uint8_t     *y = args->out[0].data;
    line         l = {.scale = args->in[1].data, .zero = as_in_has(args->ctx, 2) ? args->in[2].data : NULL};
    int64_t      at, end, bytes = (int64_t)as_dtype_bytes(dtype);
    as_share(as_shape_count(&args->in[0].shape), 64, part, n_parts, &at, &end);
    while (at < end) {
        int64_t n = q_grid_run(&grid, at, end, &l.param, &l.step);
        line_run(dtype, &l, x + at, y + at * bytes, n);
        at += n;
    }
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_dtype y = n->out[0].dtype, precision = AS_F32;
    if (n->in[0].dtype != AS_F32 || n->in[1].dtype != AS_F32)
        snprintf(why, why_size, "x is %s and the scale %s, needs f32", as_dtype_name(n->in[0].dtype),
                 as_dtype_name(n->in[1].dtype));
    else if (!q_is_byte(y) && y != AS_I16 && y != AS_U16)
        snprintf(why, why_size, "y is %s, needs integers of 8 or 16 bits", as_dtype_name(y));
    else if (as_quant_code(NULL, n, "precision", AS_F32, AS_SET_FLOAT, &precision) != ASSAY_OK || precision != AS_F32)
        snprintf(why, why_size, "the precision is %s, needs f32", as_dtype_name(precision));
    else if (n->in[0].layout != AS_LAYOUT_ROW_MAJOR || n->out[0].layout != AS_LAYOUT_ROW_MAJOR)
        snprintf(why, why_size, "an operand is not row-major");
    else
        return true;
    return false;
}
