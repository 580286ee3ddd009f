/* k_matmul_f32_scalar.c - numpy's matrix product, row by row: y += a[k] * row k of B. */
#include "backend/cpu/plain.h"

#include <string.h>

/* Columns of a piece of work: a row of it stays in the first cache, and one row of Y can still be shared by threads. */
enum { COLUMNS = 256 };

/* Batches as flat matrices: how many in each operand, and the broadcast batch axes. */
typedef struct product {
    int64_t m, n, k, n_batches;
    int     rank;                                             /* of the batch */
    int64_t dim[AS_MAX_RANK], a_step[AS_MAX_RANK], b_step[AS_MAX_RANK]; /* in matrices; 0 repeats */
} product;

static void steps_of(const as_shape *shape, int own, const product *p, int64_t *steps)
{
    int64_t step = 1;
    for (int i = p->rank - 1; i >= 0; i--) {
        int     from = own - p->rank + i;
        int64_t dim = from >= 0 ? shape->dim[from] : 1;
        steps[i] = dim == 1 ? 0 : step;
        step *= dim;
    }
}

static product product_of(const as_node_ctx *n)
{
    const as_shape *a = &n->in[0].shape, *b = &n->in[1].shape, *y = &n->out[0].shape;
    bool            row = a->rank == 1, column = b->rank == 1;
    int             own_a = row ? 0 : a->rank - 2, own_b = column ? 0 : b->rank - 2;
    product         p = { .m = row ? 1 : a->dim[a->rank - 2], .k = a->dim[a->rank - 1], .n = column ? 1 : b->dim[b->rank - 1],
                          .n_batches = 1, .rank = own_a > own_b ? own_a : own_b };
    for (int i = 0; i < p.rank; i++) {
        p.dim[i] = y->dim[i]; /* the batch axes come first in Y, whatever 1-D operands took from its end */
        p.n_batches *= p.dim[i];
    }
    steps_of(a, own_a, &p, p.a_step);
    steps_of(b, own_b, &p, p.b_step);
    return p;
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    product p = product_of(args->ctx);
    int64_t n_blocks = (p.n + COLUMNS - 1) / COLUMNS, begin, end;
    as_share(p.n_batches * n_blocks * p.m, 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t i = unit % p.m, block = unit / p.m % n_blocks, batch = unit / p.m / n_blocks, first = block * COLUMNS;
        int64_t a = 0, b = 0, width = p.n - first < COLUMNS ? p.n - first : COLUMNS, rest = batch;
        for (int d = p.rank - 1; d >= 0; d--) {
            a += rest % p.dim[d] * p.a_step[d];
            b += rest % p.dim[d] * p.b_step[d];
            rest /= p.dim[d];
        }
        float *y = (float *)args->out[0].data + (batch * p.m + i) * p.n + first;
        memset(y, 0, (size_t)width * sizeof *y);
        as_plain_rows(y, (const float *)args->in[0].data + (a * p.m + i) * p.k, 1, (const float *)args->in[1].data + b * p.k * p.n + first,
                      p.n, p.k, width);
    }
}

const as_kernel as_k_matmul_f32_scalar = {
    .name = "matmul_f32_scalar", .op = "MatMul", .isa = AS_ISA_SCALAR, .rank = 10, .why = "plain C, four rows of B at a time",
    .accepts = as_kernel_f32_only, .run = run,
};
