/* signal.c - what the operators on signals share. */
#include "op/signal/signal.h"

#include <math.h>
#include <string.h>

#define TWO_PI 6.28318530717958647692

const as_attr_def as_window_attrs[] = {
    {.name = "output_datatype", .kind = AS_ATTR_INT}, {.name = "periodic", .kind = AS_ATTR_INT}, {0}};

assay_status as_known_int(assay_env *env, const as_node_ctx *n, int i, const char *what, int64_t *out)
{
    const as_tensor_info *t = &n->in[i];
    if ((t->dtype != AS_I64 && t->dtype != AS_I32) || as_shape_count(&t->shape) != 1)
        return as_refuse(env, n, "%s (input %d) is %s %s and must be one integer", what, i, as_dtype_name(t->dtype),
                         AS_SHOW(&t->shape));
    if (!t->constant)
        return as_refuse(env, n, "%s (input %d) must be known while planning", what, i);
    as_view view = as_view_of((void *)(uintptr_t)t->constant, t->dtype, &(as_shape){0}); /* only read */
    *out = as_view_get_i64(&view, 0);
    return ASSAY_OK;
}

assay_status as_window_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    int64_t  size;
    as_dtype dtype = as_dtype_of_code(as_attr_int(n, "output_datatype", 1));
    AS_TRY(as_known_int(env, n, 0, "size", &size));
    if (dtype == AS_NONE || !(AS_SET_NUMBER & AS_DTYPE_BIT(dtype)))
        return as_refuse(env, n, "output_datatype is %lld, which is not a type of numbers",
                         (long long)as_attr_int(n, "output_datatype", 1));
    if (size < 0 || size > INT32_MAX)
        return as_refuse(env, n, "size is %lld and must be 0 to %d", (long long)size, INT32_MAX);
    out[0] = as_info(dtype, &AS_SHAPE(size));
    return ASSAY_OK;
}

void as_window_fill(const as_node_ctx *n, const as_view *out, double a0, double a1, double a2)
{
    int64_t size = out->shape.dim[0], whole = as_attr_int(n, "periodic", 1) ? size : size - 1;
    for (int64_t i = 0; i < size; i++) {
        double at = whole ? TWO_PI * (double)i / (double)whole : 0.0;
        as_view_set(out, i, a0 - a1 * cos(at) + a2 * cos(2.0 * at));
    }
}

/* Row k of the matrix: how element k of the real part (then of the imaginary part) adds to every output, real and imaginary. */
static void matrix_fill(const as_dft *d, int64_t n_in, bool has_imag, int64_t n_out, int n_parts, double *m)
{
    double by = d->inverse ? 1.0 / (double)d->length : 1.0, sign = d->inverse ? 1.0 : -1.0;
    for (int part = 0; part < (has_imag ? 2 : 1); part++)
        for (int64_t k = 0; k < n_in; k++)
            for (int64_t i = 0; i < n_out; i++) {
                double at = sign * TWO_PI * (double)(k * i % d->length) / (double)d->length, factor = by;
                /* From one side alone, every element but the first and, of an even length, the middle one stands for two. */
                if (d->inverse && d->onesided && k != 0 && 2 * k != d->length)
                    factor *= 2.0;
                double *to = &m[((part * n_in + k) * n_out + i) * n_parts];
                to[0] = factor * (part ? -sin(at) : cos(at));
                if (n_parts == 2)
                    to[1] = factor * (part ? cos(at) : sin(at));
            }
}

/* The last axis cut or filled with zeros to n. */
static int fit(as_builder *b, int x, int64_t n)
{
    int64_t has = as_b_dim(b, x, -1);
    return has > n ? as_b_cut(b, x, as_b_info(b, x).shape.rank - 1, 0, n, 1) : as_b_longer(b, x, n - has, 0.0);
}

int as_b_dft(as_builder *b, int x, int y, const as_dft *d)
{
    bool     is_real = d->inverse && d->onesided;
    int64_t  n_in = is_real ? d->length / 2 + 1 : d->length, n_out = d->onesided && !d->inverse ? d->length / 2 + 1 : d->length;
    int      n_parts = is_real ? 1 : 2, rank = as_b_info(b, x).shape.rank;
    int64_t  rows = y < 0 ? n_in : 2 * n_in;
    as_arena arena = {0};
    double  *m = AS_TAKE(&arena, double, rows *n_out *n_parts);
    if (!m) {
        as_arena_drop(&arena);
        return -1;
    }
    matrix_fill(d, n_in, y >= 0, n_out, n_parts, m);
    as_view view = as_view_of(m, AS_F64, &AS_SHAPE(rows, n_out * n_parts));
    int     matrix = as_b_cast(b, b->constant(b, &view), as_b_info(b, x).dtype);
    as_arena_drop(&arena);
    int      signal = y < 0 ? fit(b, x, n_in) : as_b_join(b, rank - 1, fit(b, x, n_in), fit(b, y, n_in));
    int      result = AS_MAKE(b, "MatMul", signal, matrix);
    as_shape shape = as_b_info(b, result).shape;
    if (shape.rank < 1 || shape.rank == AS_MAX_RANK)
        return -1;
    shape.dim[shape.rank - 1] = n_out;
    shape.dim[shape.rank++] = n_parts;
    return as_b_reshape(b, result, &shape);
}
