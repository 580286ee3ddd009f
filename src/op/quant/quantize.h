/* quantize.h - what the operators on quantised integers share: how scales and zero points lie over a tensor, rounding,
 * and exact integer products.  Besides those operators, their kernels read it. */
#ifndef AS_OP_QUANTIZE_H
#define AS_OP_QUANTIZE_H

#include "op/rules.h"

#define AS_SET_BYTE  (AS_DTYPE_BIT(AS_U8) | AS_DTYPE_BIT(AS_I8))
#define AS_SET_QUANT (AS_SET_BYTE | AS_DTYPE_BIT(AS_U16) | AS_DTYPE_BIT(AS_I16) | AS_SET_FLOAT8 | AS_SET_NARROW)
#define AS_SET_SCALE (AS_DTYPE_BIT(AS_F32) | AS_DTYPE_BIT(AS_F16) | AS_DTYPE_BIT(AS_BF16))

/* x rounded to a float dtype.  Operators here round where the definition does: a quotient that is a tie in f32 but not
 * in double would give another integer. */
double as_round_to(as_dtype dtype, double x);
/* round(x), ties to even, plus the zero point, saturated to the view's integer dtype, as element i. */
void as_quant_put(const as_view *y, int64_t i, double x, int64_t zero_point);
/* The same for the small floats: the conversion rounds, and saturates when asked to. */
void as_quant_put_small(const as_view *y, int64_t i, double x, double zero_point, bool saturate);
/* Checks that the dtype of input i is in the set; `what` is its name in ONNX. */
assay_status as_quant_dtype(assay_env *env, const as_node_ctx *n, int i, const char *what, unsigned set);
/* Checks that input i holds one value. */
assay_status as_quant_one(assay_env *env, const as_node_ctx *n, int i, const char *what);
/* Checks that input i, where present, holds one value or a vector of `count`. */
assay_status          as_quant_vector(assay_env *env, const as_node_ctx *n, int i, const char *what, int64_t count);
static inline int64_t as_quant_zero(const as_node_ctx *n, const as_view *in, int i, int64_t at)
{
    return !as_in_has(n, i) ? 0 : as_view_get_i64(&in[i], as_shape_count(&in[i].shape) == 1 ? 0 : at);
}
static inline double as_quant_scale(const as_view *v, int64_t at)
{
    return as_view_get(v, as_shape_count(&v->shape) == 1 ? 0 : at);
}

/* --- QuantizeLinear, DequantizeLinear ---------------------------------------------------------- */

/* How scale and zero point lie over x: one value, one per slice of `axis`, or one per `block` elements along it. */
typedef struct as_quant_grid {
    bool    per_tensor;
    int     axis;
    int64_t block;     /* 1: per axis or finer */
    bool    full_rank; /* blocked: the parameters have the rank of x */
} as_quant_grid;

/* Reads axis and block_size and checks inputs 1 (scale) and 2 (zero point) against x. */
assay_status as_quant_grid_read(assay_env *env, const as_node_ctx *n, as_quant_grid *out);
/* The index of the parameter for the element of x at `index`. */
int64_t as_quant_grid_at(const as_quant_grid *g, const as_shape *param, const int64_t *index, int rank);
/* The dtype that ONNX's number stands for, if it is in the set; 0 gives `otherwise`. */
assay_status as_quant_code(assay_env *env, const as_node_ctx *n, const char *attr, as_dtype otherwise, unsigned set, as_dtype *out);

/* --- MatMulInteger, QLinearMatMul -------------------------------------------------------------- */

/* numpy's rules as in MatMul: a 1-D A is a row, a 1-D B a column, batches broadcast. */
typedef struct as_qmatmul {
    as_shape a, b, y; /* with the promoted axes, batches broadcast; y = batch + [m, n] */
    as_shape result;  /* without them */
    int64_t  k;
} as_qmatmul;

assay_status as_qmatmul_read(assay_env *env, const as_node_ctx *n, int a, int b, as_qmatmul *out);
/* Operand 0 (A) or 1 (B) under its broadcast shape. */
as_view as_qmatmul_operand(const as_qmatmul *p, const as_view *v, int which);
/* A scale or zero point: one value; a vector, one per row of A or Y (which 0) or per column of B (1); or N-D [..., M, 1] or [...,
 * 1, N]. */
assay_status as_qmatmul_param_check(assay_env *env, const as_node_ctx *n, int i, const char *what, const as_shape *of, int which);
/* Such a parameter broadcast to the shape of the tensor it belongs to. */
as_view as_qmatmul_param(const as_view *v, const as_shape *of, int which);
/* The sum for y's index, modulo 2^64; where the zero points' data is NULL they are 0. */
int64_t as_qmatmul_sum(const as_qmatmul *p, const as_view *a, const as_view *a_zero, const as_view *b, const as_view *b_zero,
                       const int64_t *index);

/* --- ConvInteger, QLinearConv -------------------------------------------------------------------- */

/* One output's sum, modulo 2^64; padding counts as the zero point of x, so it adds nothing. */
int64_t as_qconv_sum(const as_conv_shapes *s, const as_view *x, int64_t x_zero, const as_view *w, int64_t w_zero, int64_t image,
                     int64_t m, const int64_t *o);

#endif
