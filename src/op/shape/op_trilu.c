/* op_trilu.c - the upper or lower triangle of each matrix, from the diagonal k on; the rest is 0. */
#include "op/shape/move.h"

static const as_attr_def attrs[] = {{.name = "upper", .kind = AS_ATTR_INT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_like(env, n, AS_SET_ANY, out));
    if (n->in[0].shape.rank < 2)
        return as_refuse(env, n, "the input is %s and must have rank 2 or more", AS_SHOW(&n->in[0].shape));
    if (!as_in_has(n, 1))
        return ASSAY_OK;
    AS_TRY(as_rule_index(env, n, 1, "k", false));
    if (n->in[1].shape.rank > 1 || as_shape_count(&n->in[1].shape) != 1)
        return as_refuse(env, n, "k (input 1) is %s and must be one number", AS_SHOW(&n->in[1].shape));
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    bool    upper = as_attr_int(n, "upper", 1) != 0;
    int     rank = in[0].shape.rank;
    int64_t index[AS_MAX_RANK] = {0}, k = 0, rows = in[0].shape.dim[rank - 2], columns = in[0].shape.dim[rank - 1];
    if (as_in_has(n, 1)) {
        as_view one = as_view_nth(&in[1], 0);
        k = (int64_t)as_bits_get(&one);
    }
    k = k < -rows ? -rows : k > columns ? columns : k; /* beyond the matrix nothing changes */
    as_view_zero(&out[0]);
    if (as_shape_count(&in[0].shape) == 0)
        return ASSAY_OK;
    do {
        int64_t row = index[rank - 2], column = index[rank - 1];
        if (upper ? column < row + k : column > row + k)
            continue;
        as_view x = as_view_fix(&in[0], index, rank), y = as_view_fix(&out[0], index, rank);
        as_view_copy(&y, &x);
    } while (as_index_next(&in[0].shape, index));
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    if (d_out[0] >= 0 && as_dtype_is_float(n->in[0].dtype))
        d_in[0] = b->node(b, "Trilu", (int[]){d_out[0], n->n_in > 1 ? in[1] : -1}, n->n_in, n->attrs, n->n_attrs, NULL, 1);
    return ASSAY_OK;
}

#define LOWER .n_attrs = 1, .attrs = {AS_ATTR_I("upper", 0)}

static const as_case cases[] = {
    /* numpy: triu and tril of [[1,2,3],[4,5,6]]. */
    {.name = "upper by numpy", .n_in = 1, .in = {AS_IN(F32, 2, 3)}, AS_GIVEN(1, 2, 3, 4, 5, 6), AS_WANT(1, 2, 3, 0, 5, 6)},
    {.name = "lower by numpy", .n_in = 1, .in = {AS_IN(F64, 2, 3)}, LOWER, AS_GIVEN(1, 2, 3, 4, 5, 6), AS_WANT(1, 0, 0, 4, 5, 0)},
    {.name = "upper from 1 by numpy",
     .n_in = 2,
     .in = {AS_IN(I64, 2, 3), AS_IN_INT(1)},
     .no_grad = true,
     AS_GIVEN(1, 2, 3, 4, 5, 6),
     AS_WANT(0, 2, 3, 0, 0, 6)},
    {.name = "lower from -1 by numpy",
     .n_in = 2,
     .in = {AS_IN(I32, 2, 3), AS_IN_INTS(-1)},
     LOWER,
     .no_grad = true,
     AS_GIVEN(1, 2, 3, 4, 5, 6),
     AS_WANT(0, 0, 0, 4, 0, 0)},
    {.name = "far beyond", .n_in = 2, .in = {AS_IN(F32, 2, 3), AS_IN_INT(INT64_MAX)}},
    {.name = "far before", .n_in = 2, .in = {AS_IN(F32, 2, 3), AS_IN_INT(INT64_MIN)}},
    {.name = "a stack", .n_in = 2, .in = {AS_IN(F32, 2, 3, 7, 5), AS_IN_INT(2)}, LOWER},
    {.name = "bool", .n_in = 1, .in = {AS_IN(BOOL, 4, 4)}, .lo = 0, .hi = 2, .no_grad = true},
    {.name = "empty", .n_in = 1, .in = {AS_IN(F32, 3, 0)}},
};

const as_op as_op_trilu = {
    .name = "Trilu",
    .min_in = 1,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
