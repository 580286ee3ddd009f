/* op_fusedmatmul.c - assay.FusedMatMul(A, B): alpha * A' B' for stacks of matrices, where A', B' and the result are transposed views:
 * A' = transpose(A, perm_a), B' = transpose(B, perm_b), Y = transpose(alpha * A' B', perm_y).  Without a perm the axes stay.
 *
 * Gradients of MatMul and the plan's passes make it, so that attention's products read and write heads where they lie.  Both have two or more
 * axes, and the axes before the last two broadcast as those of MatMul. */
#include "op/rules.h"

static const as_attr_def attrs[] = {
    {.name = "alpha", .kind = AS_ATTR_FLOAT},
    {.name = "perm_a", .kind = AS_ATTR_INTS},
    {.name = "perm_b", .kind = AS_ATTR_INTS},
    {.name = "perm_y", .kind = AS_ATTR_INTS},
    {0},
};

static assay_status perm_read(assay_env *env, const as_node_ctx *n, const char *name, int rank, int64_t *perm)
{
    unsigned seen = 0;
    size_t   given = as_attr_ints(n, name, perm, AS_MAX_RANK);
    if (given && given != (size_t)rank)
        return as_refuse(env, n, "%s has %zu axes for a tensor of rank %d", name, given, rank);
    for (int i = 0; i < rank; i++) {
        if (!given)
            perm[i] = i;
        if (perm[i] < 0 || perm[i] >= rank || (seen >> perm[i] & 1u))
            return as_refuse(env, n, "%s has %lld at position %d: it must have each axis from 0 to %d once", name,
                             (long long)perm[i], i, rank - 1);
        seen |= 1u << perm[i];
    }
    return ASSAY_OK;
}

typedef struct product {
    as_shape a, b, y; /* seen through the perms: [..., m, k], [..., k, n], [..., m, n] */
    int64_t  perm_a[AS_MAX_RANK], perm_b[AS_MAX_RANK], perm_y[AS_MAX_RANK];
    int64_t  k;
} product;

static as_shape turned(const as_shape *s, const int64_t *perm)
{
    as_shape t = *s;
    for (int i = 0; i < s->rank; i++)
        t.dim[i] = s->dim[perm[i]];
    return t;
}

static assay_status product_of(assay_env *env, const as_node_ctx *n, product *p)
{
    const as_shape *a = &n->in[0].shape, *b = &n->in[1].shape;
    if (a->rank < 2 || b->rank < 2)
        return as_refuse(env, n, "A is %s and B is %s: both must have two axes or more", AS_SHOW(a), AS_SHOW(b));
    AS_TRY(perm_read(env, n, "perm_a", a->rank, p->perm_a));
    AS_TRY(perm_read(env, n, "perm_b", b->rank, p->perm_b));
    p->a = turned(a, p->perm_a);
    p->b = turned(b, p->perm_b);
    p->k = p->a.dim[a->rank - 1];
    as_shape batch_a = p->a, batch_b = p->b;
    if (p->k != p->b.dim[b->rank - 2])
        return as_refuse(env, n, "A is seen as %s and B as %s: the inner sizes %lld and %lld differ", AS_SHOW(&p->a),
                         AS_SHOW(&p->b), (long long)p->k, (long long)p->b.dim[b->rank - 2]);
    batch_a.rank -= 2;
    batch_b.rank -= 2;
    if (!as_shape_broadcast(&batch_a, &batch_b, &p->y))
        return as_refuse(env, n, "A is seen as %s and B as %s: the batch sizes do not broadcast to one shape in range",
                         AS_SHOW(&p->a), AS_SHOW(&p->b));
    p->y.dim[p->y.rank++] = p->a.dim[a->rank - 2];
    p->y.dim[p->y.rank++] = p->b.dim[b->rank - 1];
    return perm_read(env, n, "perm_y", p->y.rank, p->perm_y);
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    product p;
    AS_TRY(as_rule_dtype(env, n, 0, 2, AS_SET_FLOAT));
    AS_TRY(product_of(env, n, &p));
    as_shape y = turned(&p.y, p.perm_y);
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    product p;
    if (product_of(NULL, n, &p) != ASSAY_OK)
        return cost;
    uint64_t y = as_sat_count(&p.y);
    cost.flops = as_sat_mul(as_sat_mul(2, y), (uint64_t)p.k);
    if (as_attr_float(n, "alpha", 1.0) != 1.0)
        cost.flops = as_sat_add(cost.flops, y);
    return cost;
}

/* The view with its axes in the order of perm, repeated over the batch of y; its last two axes stay. */
static as_view seen(const as_view *v, const int64_t *perm, const as_shape *y)
{
    as_view  t = *v;
    as_shape wide = *y;
    int      rank = v->shape.rank;
    for (int i = 0; i < rank; i++) {
        t.shape.dim[i] = v->shape.dim[perm[i]];
        t.stride[i] = v->stride[perm[i]];
    }
    wide.dim[wide.rank - 2] = t.shape.dim[rank - 2];
    wide.dim[wide.rank - 1] = t.shape.dim[rank - 1];
    return as_view_broadcast(&t, &wide);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    product p;
    double  alpha = as_attr_float(n, "alpha", 1.0);
    AS_TRY(product_of(env, n, &p));
    if (as_shape_count(&p.y) == 0)
        return ASSAY_OK;
    as_view  a = seen(&in[0], p.perm_a, &p.y), b = seen(&in[1], p.perm_b, &p.y), y = out[0];
    as_shape batch = p.y;
    int64_t  index[AS_MAX_RANK] = {0};
    for (int i = 0; i < p.y.rank; i++) { /* axis i of Y is axis perm_y[i] of the product */
        y.shape.dim[p.perm_y[i]] = out[0].shape.dim[i];
        y.stride[p.perm_y[i]] = out[0].stride[i];
    }
    batch.rank -= 2;
    do {
        as_view one_a = as_view_fix(&a, index, batch.rank), one_b = as_view_fix(&b, index, batch.rank),
                one_y = as_view_fix(&y, index, batch.rank);
        for (int64_t i = 0; i < one_y.shape.dim[0]; i++)
            for (int64_t j = 0; j < one_y.shape.dim[1]; j++) {
                double sum = 0.0;
                AS_GO_ON(env, n);
                for (int64_t k = 0; k < p.k; k++)
                    sum += as_view_at(&one_a, (int64_t[]){i, k}) * as_view_at(&one_b, (int64_t[]){k, j});
                as_view_put(&one_y, (int64_t[]){i, j}, alpha * sum);
            }
    } while (as_index_next(&batch, index));
    return ASSAY_OK;
}

static int turn(as_builder *b, const as_node_ctx *n, const char *name, int x)
{
    int64_t perm[AS_MAX_RANK];
    int     rank = (int)as_attr_ints(n, name, perm, AS_MAX_RANK);
    return rank && x >= 0 ? as_b_transpose(b, x, perm, rank) : x;
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    double alpha = as_attr_float(n, "alpha", 1.0);
    int    y = as_b2(b, "MatMul", turn(b, n, "perm_a", in[0]), turn(b, n, "perm_b", in[1]));
    if (alpha != 1.0)
        y = as_b_times(b, y, alpha);
    out[0] = turn(b, n, "perm_y", y);
    return ASSAY_OK;
}

#define HEADS AS_ATTR_LIST("perm_a", 0, 2, 1, 3), AS_ATTR_LIST("perm_b", 0, 2, 3, 1)

static const as_case cases[] = {
    /* By hand: [[1,2],[3,4]] times the transpose of [[5,7],[6,8]], halved, and transposed. */
    {.name = "2x2 by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 2), AS_IN(F32, 2, 2)},
     .no_grad = true,
     .n_attrs = 3,
     .attrs = {AS_ATTR_F("alpha", 0.5), AS_ATTR_LIST("perm_b", 1, 0), AS_ATTR_LIST("perm_y", 1, 0)},
     .given = (const double[]){1, 2, 3, 4, 5, 7, 6, 8},
     .want = (const double[]){9.5, 21.5, 11, 25},
     .n_want = 4},
    {.name = "no perm", .n_in = 2, .in = {AS_IN(F32, 3, 5, 8), AS_IN(F32, 3, 8, 33)}, .no_grad = true},
    {.name = "scores of heads",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 13, 3, 8), AS_IN(F32, 2, 19, 3, 8)},
     .no_grad = true,
     .n_attrs = 3,
     .attrs = {HEADS, AS_ATTR_F("alpha", 0.25)}},
    {.name = "scores of heads of 32",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 25, 2, 32), AS_IN(F32, 2, 40, 2, 32)},
     .no_grad = true,
     .n_attrs = 2,
     .attrs = {HEADS}},
    {.name = "values of heads, back in place",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3, 13, 19), AS_IN(F32, 2, 19, 3, 33)},
     .no_grad = true,
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("perm_b", 0, 2, 1, 3), AS_ATTR_LIST("perm_y", 0, 2, 1, 3)}},
    {.name = "values of narrow heads",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3, 13, 19), AS_IN(F32, 2, 19, 3, 8)},
     .no_grad = true,
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("perm_b", 0, 2, 1, 3), AS_ATTR_LIST("perm_y", 0, 2, 1, 3)}},
    {.name = "transposed A, back in place",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3, 13, 19), AS_IN(F32, 2, 13, 3, 40)},
     .no_grad = true,
     .n_attrs = 4,
     .attrs = {AS_ATTR_LIST("perm_a", 0, 1, 3, 2), AS_ATTR_LIST("perm_b", 0, 2, 1, 3), AS_ATTR_LIST("perm_y", 0, 2, 1, 3),
               AS_ATTR_F("alpha", -2.0)}},
    {.name = "the batch is last",
     .n_in = 2,
     .in = {AS_IN(F32, 7, 33, 3), AS_IN(F32, 33, 35, 3)},
     .no_grad = true,
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("perm_a", 2, 0, 1), AS_ATTR_LIST("perm_b", 2, 0, 1)}},
    {.name = "columns first",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 7, 5), AS_IN(F32, 2, 5, 9)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("perm_y", 0, 2, 1)}},
    {.name = "one B for all",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 5, 8), AS_IN(F32, 33, 8)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("perm_b", 1, 0)}},
    {.name = "batches broadcast both ways",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 1, 3, 4), AS_IN(F32, 3, 20, 4)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("perm_b", 0, 2, 1)}},
    {.name = "f64",
     .n_in = 2,
     .in = {AS_IN(F64, 2, 3, 4), AS_IN(F64, 2, 5, 4)},
     .no_grad = true,
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("perm_b", 0, 2, 1)}},
    {.name = "no inner size", .n_in = 2, .in = {AS_IN(F32, 2, 3, 0), AS_IN(F32, 2, 0, 5)}, .no_grad = true},
    {.name = "no rows", .n_in = 2, .in = {AS_IN(F32, 2, 0, 3), AS_IN(F32, 2, 3, 5)}, .no_grad = true},
};

const as_op as_op_fusedmatmul = {
    .name = "assay.FusedMatMul",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: gradients and passes make it */
    .expand = expand,
    .tolerance = 1e-4, /* as MatMul */
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
