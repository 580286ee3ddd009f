/* k_gemm_f32_scalar.c - alpha * A' B' + beta * C: by rows of B, or by inner products where B is transposed. */
#include "backend/cpu/plain.h"

#include <string.h>

enum { COLUMNS = 256 }; /* as in MatMul */

typedef struct product {
    int64_t m, n, k;
    int64_t a_row, a_step;        /* from row to row of A', from term to term */
    int64_t c_row, c_step;        /* 0 repeats */
    bool    flip_b;
    float   alpha, beta;
    const float *a, *b, *c;
} product;

static product product_of(const as_kernel_args *args)
{
    const as_node_ctx *n = args->ctx;
    const as_shape    *a = &n->in[0].shape, *y = &n->out[0].shape;
    bool               flip_a = as_attr_int(n, "transA", 0) != 0;
    product p = { .m = y->dim[0], .n = y->dim[1], .k = a->dim[!flip_a], .a_row = flip_a ? 1 : a->dim[1], .a_step = flip_a ? a->dim[1] : 1,
                  .flip_b = as_attr_int(n, "transB", 0) != 0, .alpha = (float)as_attr_float(n, "alpha", 1.0),
                  .beta = (float)as_attr_float(n, "beta", 1.0), .a = args->in[0].data, .b = args->in[1].data };
    if (as_in_has(n, 2)) {
        as_view c = as_view_broadcast(&args->in[2], y);
        p.c = c.data;
        p.c_row = c.stride[0];
        p.c_step = c.stride[1];
    }
    return p;
}

static void row_finish(const product *p, float *y, int64_t i, int64_t first, int64_t width)
{
    if (p->alpha != 1.0f)
        for (int64_t j = 0; j < width; j++)
            y[j] *= p->alpha;
    if (!p->c)
        return;
    const float *c = p->c + i * p->c_row + first * p->c_step;
    if (p->beta == 1.0f && p->c_step == 1)
        as_plain_add(y, c, width);
    else
        as_plain_scaled(y, 1, c, p->c_step, p->beta, width);
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    product p = product_of(args);
    int64_t n_blocks = (p.n + COLUMNS - 1) / COLUMNS, begin, end;
    as_share(n_blocks * p.m, 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t      i = unit % p.m, first = unit / p.m * COLUMNS, width = p.n - first < COLUMNS ? p.n - first : COLUMNS;
        float       *y = (float *)args->out[0].data + i * p.n + first;
        const float *a = p.a + i * p.a_row;
        if (p.flip_b) {
            for (int64_t j = 0; j < width; j++)
                y[j] = as_plain_dot(a, p.a_step, p.b + (first + j) * p.k, 1, p.k);
        } else {
            memset(y, 0, (size_t)width * sizeof *y);
            as_plain_rows(y, a, p.a_step, p.b + first, p.n, p.k, width);
        }
        row_finish(&p, y, i, first, width);
    }
}

const as_kernel as_k_gemm_f32_scalar = {
    .name = "gemm_f32_scalar", .op = "Gemm", .isa = AS_ISA_SCALAR, .rank = 10, .why = "plain C, four rows of B or one inner product at a time",
    .accepts = as_kernel_f32_only, .run = run,
};
