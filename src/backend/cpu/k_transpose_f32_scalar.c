/* k_transpose_f32_scalar.c - axes in another order: Y is written in order, X is read by strides. */
#include "backend/cpu/plain.h"

#include <string.h>

/* Y's axes with the step in X of each; axes that stay neighbours in X are joined. */
typedef struct turn { int rank; int64_t dim[AS_MAX_RANK], step[AS_MAX_RANK]; } turn;

static turn turn_of(const as_node_ctx *n)
{
    const as_shape *x = &n->in[0].shape;
    int64_t         perm[AS_MAX_RANK], steps[AS_MAX_RANK], step = 1;
    bool            given = as_attr_ints(n, "perm", perm, AS_MAX_RANK) > 0;
    turn            t = {0};
    for (int i = x->rank - 1; i >= 0; i--) {
        steps[i] = step;
        step *= x->dim[i];
    }
    for (int i = 0; i < x->rank; i++) {
        int64_t from = given ? perm[i] : x->rank - 1 - i, dim = x->dim[from];
        if (dim == 1)
            continue;
        if (t.rank && t.step[t.rank - 1] == steps[from] * dim) {
            t.dim[t.rank - 1] *= dim;
            t.step[t.rank - 1] = steps[from];
            continue;
        }
        t.dim[t.rank] = dim;
        t.step[t.rank++] = steps[from];
    }
    if (t.rank == 0) { /* one element */
        t.rank = 1;
        t.dim[0] = t.step[0] = 1;
    }
    return t;
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    int64_t begin, end;
    as_share(as_shape_count(&args->out[0].shape), AS_GRAIN, part, n_parts, &begin, &end);
    if (begin >= end)
        return;
    turn            t = turn_of(args->ctx);
    int             inner = t.rank - 1;
    const float    *x = args->in[0].data;
    float *restrict y = args->out[0].data;
    while (begin < end) {
        int64_t at = begin % t.dim[inner], rest = begin / t.dim[inner], n = t.dim[inner] - at, from = at * t.step[inner];
        for (int i = inner - 1; i >= 0; i--) {
            from += rest % t.dim[i] * t.step[i];
            rest /= t.dim[i];
        }
        if (n > end - begin)
            n = end - begin;
        if (t.step[inner] == 1)
            memcpy(y + begin, x + from, (size_t)n * sizeof *y);
        else
            for (int64_t i = 0; i < n; i++)
                y[begin + i] = x[from + i * t.step[inner]];
        begin += n;
    }
}

const as_kernel as_k_transpose_f32_scalar = {
    .name = "transpose_f32_scalar", .op = "Transpose", .isa = AS_ISA_SCALAR, .rank = 10, .why = "plain C, rows of joined axes",
    .accepts = as_kernel_f32_only, .run = run,
};
