/* gemm.c - a product as the kernels see it. */
#include "backend/cpu/product/gemm.h"

#include <stdio.h>
#include <string.h>

static void batch_skips(const as_shape *shape, int own, const as_gemm *g, int64_t *skips, int64_t matrix)
{
    int64_t skip = matrix;
    for (int i = g->rank - 1; i >= 0; i--) {
        int     from = own - g->rank + i;
        int64_t dim = from >= 0 ? shape->dim[from] : 1;
        skips[i] = dim == 1 ? 0 : skip;
        skip *= dim;
    }
}

/* numpy's rules.  One matrix B for all batches makes them rows of one tall product. */
static as_gemm matmul_of(const as_node_ctx *n)
{
    const as_shape *a = &n->in[0].shape, *b = &n->in[1].shape, *y = &n->out[0].shape;
    bool            row = a->rank == 1, column = b->rank == 1;
    int             own_a = row ? 0 : a->rank - 2, own_b = column ? 0 : b->rank - 2;
    as_gemm         g = {.m = row ? 1 : a->dim[a->rank - 2],
                         .k = a->dim[a->rank - 1],
                         .n = column ? 1 : b->dim[b->rank - 1],
                         .n_batches = 1,
                         .n_b = 1,
                         .rank = own_a > own_b ? own_a : own_b,
                         .alpha = 1.0f};
    for (int i = 0; i < g.rank; i++) {
        g.dim[i] = y->dim[i]; /* the batch axes come first in Y, whatever 1-D operands removed from its end */
        g.n_batches *= g.dim[i];
    }
    for (int i = 0; i < own_b; i++)
        g.n_b *= b->dim[i];
    batch_skips(a, own_a, &g, g.a_skip, g.m * g.k);
    batch_skips(b, own_b, &g, g.b_skip, g.k * g.n);
    as_shape batch = *y;
    batch.rank = g.rank;
    batch_skips(&batch, g.rank, &g, g.y_skip, g.m * g.n);
    if (own_b == 0) {
        g.m *= g.n_batches;
        g.n_batches = 1;
        g.rank = 0;
    }
    return g;
}

static as_gemm gemm_of(const as_node_ctx *n)
{
    const as_shape *a = &n->in[0].shape, *b = &n->in[1].shape;
    bool            flip_a = as_attr_int(n, "transA", 0) != 0, flip_b = as_attr_int(n, "transB", 0) != 0;
    as_gemm         g = {.m = 1,
                         .k = a->dim[flip_a ? 0 : a->rank - 1],
                         .n = b->dim[!flip_b],
                         .n_batches = 1,
                         .n_b = 1,
                         .alpha = (float)as_attr_float(n, "alpha", 1.0),
                         .beta = (float)as_attr_float(n, "beta", 1.0),
                         .has_c = as_in_has(n, 2)};
    for (int i = 0; i < a->rank - 1; i++)
        g.m *= a->dim[i];
    if (flip_a)
        g.m = a->dim[1];
    if (g.has_c) {
        as_view c = as_view_of(NULL, AS_F32, &n->in[2].shape);
        c = as_view_broadcast(&c, &AS_SHAPE(g.m, g.n));
        g.c_row = c.stride[0];
        g.c_step = c.stride[1];
    }
    return g;
}

/* The order of the axes that an attribute gives, or as they are. */
static void perm_of(const as_node_ctx *n, const char *name, int rank, int64_t *perm)
{
    if (!as_attr_ints(n, name, perm, AS_MAX_RANK))
        for (int i = 0; i < rank; i++)
            perm[i] = i;
}

/* Sizes and steps of the axes of a tensor, in the order of perm. */
typedef struct axes {
    int     rank;
    int64_t dim[AS_MAX_RANK], step[AS_MAX_RANK];
} axes;

static axes axes_of(const as_node_ctx *n, const as_shape *shape, const char *name)
{
    axes    x = {.rank = shape->rank};
    int64_t perm[AS_MAX_RANK], step[AS_MAX_RANK], all = 1;
    perm_of(n, name, shape->rank, perm);
    for (int i = shape->rank - 1; i >= 0; i--) {
        step[i] = all;
        all *= shape->dim[i];
    }
    for (int i = 0; i < shape->rank; i++) {
        x.dim[i] = shape->dim[perm[i]];
        x.step[i] = step[perm[i]];
    }
    return x;
}

/* Stacks of matrices, each seen through its own order of axes. */
static as_gemm stacks_of(const as_node_ctx *n)
{
    const as_shape *shape = &n->out[0].shape;
    axes            a = axes_of(n, &n->in[0].shape, "perm_a"), b = axes_of(n, &n->in[1].shape, "perm_b"), y = {.rank = shape->rank};
    int64_t         perm[AS_MAX_RANK], all = 1;
    perm_of(n, "perm_y", shape->rank, perm);
    for (int i = shape->rank - 1; i >= 0; i--) { /* axis i of Y is axis perm[i] of the product */
        y.dim[perm[i]] = shape->dim[i];
        y.step[perm[i]] = all;
        all *= shape->dim[i];
    }
    as_gemm g = {.m = a.dim[a.rank - 2],
                 .k = a.dim[a.rank - 1],
                 .n = b.dim[b.rank - 1],
                 .a_row = a.step[a.rank - 2],
                 .a_step = a.step[a.rank - 1],
                 .b_row = b.step[b.rank - 2],
                 .b_step = b.step[b.rank - 1],
                 .y_row = y.step[y.rank - 2],
                 .n_batches = 1,
                 .n_b = 1,
                 .loose = true,
                 .alpha = (float)as_attr_float(n, "alpha", 1.0),
                 .rank = y.rank - 2};
    for (int i = 0; i < g.rank; i++) {
        int from_a = i - g.rank + a.rank - 2, from_b = i - g.rank + b.rank - 2;
        g.dim[i] = y.dim[i];
        g.n_batches *= y.dim[i];
        g.y_skip[i] = y.step[i];
        g.a_skip[i] = from_a < 0 || a.dim[from_a] == 1 ? 0 : a.step[from_a];
        g.b_skip[i] = from_b < 0 || b.dim[from_b] == 1 ? 0 : b.step[from_b];
    }
    return g;
}

static bool is_stacks(const as_node_ctx *n) { return !strcmp(n->op->name, "assay.FusedMatMul"); }

bool as_gemm_is_plain(const as_node_ctx *n, char *why, size_t why_size)
{
    int64_t perm[AS_MAX_RANK];
    int     last = n->out[0].shape.rank - 1;
    if (!is_stacks(n))
        return true;
    perm_of(n, "perm_y", last + 1, perm);
    if (perm[last] == last || n->out[0].shape.dim[last] == 1)
        return true;
    snprintf(why, why_size, "the columns of the result are not neighbours");
    return false;
}

as_gemm as_gemm_of(const as_node_ctx *n)
{
    if (is_stacks(n))
        return stacks_of(n);
    as_gemm g = !strcmp(n->op->name, "MatMul") ? matmul_of(n) : gemm_of(n);
    bool    flip_a = as_attr_int(n, "transA", 0) != 0, flip_b = as_attr_int(n, "transB", 0) != 0;
    g.a_row = flip_a ? 1 : g.k;
    g.a_step = flip_a ? g.m : 1;
    g.b_row = flip_b ? 1 : g.n;
    g.b_step = flip_b ? g.k : 1;
    g.y_row = g.n;
    if (as_act_read(NULL, n, &g.act) != ASSAY_OK)
        g.act = (as_act){.kind = AS_ACT_NONE}; /* the shape rule refuses such a node */
    return g;
}

as_gemm_at as_gemm_batch(const as_gemm *g, int64_t batch)
{
    as_gemm_at at = {0};
    for (int d = g->rank - 1; d >= 0; d--) {
        int64_t i = batch % g->dim[d];
        at.a += i * g->a_skip[d];
        at.b += i * g->b_skip[d];
        at.y += i * g->y_skip[d];
        batch /= g->dim[d];
    }
    return at;
}

as_gemm_rows as_gemm_rows_of(int64_t m, int whole)
{
    const int    thin = whole > 6 ? 8 : 4; /* rows of the smallest tile that keeps the multipliers busy */
    as_gemm_rows r = {.n_whole = m / whole, .whole = whole};
    int          rest = (int)(m % whole);
    r.n_rest = rest > 0;
    /* A remainder that is too thin takes whole tiles back and shares their rows, as long as there are any. */
    while (rest > 0 && rest / r.n_rest < thin && r.n_whole > 0) {
        r.n_whole--;
        r.n_rest++;
        rest += whole;
    }
    for (int i = 0; i < r.n_rest; i++)
        r.rest[i] = rest / r.n_rest + (i < rest % r.n_rest);
    return r;
}

int as_gemm_tile(const as_gemm_rows *r, int64_t tile, int64_t *row)
{
    if (tile < r->n_whole) {
        *row = tile * r->whole;
        return r->whole;
    }
    *row = r->n_whole * r->whole;
    int i = 0;
    for (; i < tile - r->n_whole; i++)
        *row += r->rest[i];
    return i < r->n_rest ? r->rest[i] : 0;
}

static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

as_gemm_part as_gemm_split(int64_t n_batches, int64_t n_tiles, int64_t n_panels, int part, int n_parts)
{
    if (n_parts == 1)
        return (as_gemm_part){.batch = {0, n_batches}, .tile = {0, n_tiles}, .panel = {0, n_panels}};
    int     best_b = 1, best_t = 1, best_p = n_parts;
    int64_t least = -1;
    for (int b = 1; b <= n_parts; b++)
        for (int t = 1; n_parts % b == 0 && t <= n_parts / b; t++) {
            int p = n_parts / b / t;
            if (b * t * p != n_parts)
                continue;
            int64_t most = up(n_batches, b) * up(n_tiles, t) * up(n_panels, p);
            if (least < 0 || most < least) {
                least = most;
                best_b = b;
                best_t = t;
                best_p = p;
            }
        }
    as_gemm_part s;
    as_share(n_batches, 1, part / (best_t * best_p), best_b, &s.batch[0], &s.batch[1]);
    as_share(n_tiles, 1, part / best_p % best_t, best_t, &s.tile[0], &s.tile[1]);
    as_share(n_panels, 1, part % best_p, best_p, &s.panel[0], &s.panel[1]);
    return s;
}
