/* op_topk.c - the k largest (or smallest) elements along an axis and their indices.  Of equal elements the first comes first;
 * a NaN is larger than any number.  Without `sorted` any order is allowed; this code sorts anyway. */
#include <math.h>

#include "op/shape/move.h"

static const as_attr_def attrs[] = {
    {.name = "axis", .kind = AS_ATTR_INT},
    {.name = "largest", .kind = AS_ATTR_INT},
    {.name = "sorted", .kind = AS_ATTR_INT},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_shape y = n->in[0].shape;
    int64_t  k;
    int      count, axis;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_NUMBER));
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", -1), y.rank, &axis));
    AS_TRY(as_rule_numbers(env, n, 1, "K", 1, &k, &count));
    if (count != 1 || k < 0 || k > y.dim[axis])
        return as_refuse(env, n, "K is %lld and axis %d of %s has %lld elements", count ? (long long)k : 0, axis, AS_SHOW(&y),
                         (long long)y.dim[axis]);
    y.dim[axis] = k;
    out[0] = as_info(n->in[0].dtype, &y);
    out[1] = as_info(AS_I64, &y);
    return ASSAY_OK;
}

/* At least one comparison per element. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    cost.flops = as_sat_count(&n->in[0].shape);
    return cost;
}

/* The best of a line after the one taken last (-1: none yet): equal to it and later in the line, or worse.  It needs no memory. */
static int64_t best_after(const as_view *line, int64_t last, bool largest)
{
    as_view limit = as_view_nth(line, last < 0 ? 0 : last), top = limit;
    int64_t best = -1;
    for (int64_t i = 0; i < line->shape.dim[0]; i++) {
        as_view x = as_view_nth(line, i);
        int     order = last < 0 ? -1 : as_element_order(&x, &limit) * (largest ? 1 : -1);
        if (order > 0 || (order == 0 && i <= last))
            continue;
        if (best < 0 || as_element_order(&x, &top) * (largest ? 1 : -1) > 0) {
            best = i;
            top = x;
        }
    }
    return best;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int     axis, rank = in[0].shape.rank;
    bool    largest = as_attr_int(n, "largest", 1) != 0;
    int64_t index[AS_MAX_RANK] = {0};
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", -1), rank, &axis));
    as_shape lines = n->out[0].shape;
    if (as_shape_count(&lines) == 0)
        return ASSAY_OK;
    int64_t k = lines.dim[axis];
    lines.dim[axis] = 1;
    do {
        as_view line = as_view_fix(&in[0], index, rank);
        line.shape = AS_SHAPE(in[0].shape.dim[axis]);
        line.stride[0] = in[0].stride[axis];
        int64_t to[AS_MAX_RANK], last = -1;
        for (int i = 0; i < rank; i++)
            to[i] = index[i];
        for (to[axis] = 0; to[axis] < k; to[axis]++) {
            AS_GO_ON(env, n);
            last = best_after(&line, last, largest);
            as_view from = as_view_nth(&line, last);
            if (out[0].data) {
                as_view value = as_view_fix(&out[0], to, rank);
                as_view_copy(&value, &from);
            }
            if (n->n_out > 1 && out[1].data) {
                as_view where = as_view_fix(&out[1], to, rank);
                as_view_set_i64(&where, 0, last);
            }
        }
    } while (as_index_next(&lines, index));
    return ASSAY_OK;
}

/* Each gradient goes to the position that its element came from. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    d_in[0] = d_in[1] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    int     found[2] = {-1, n->n_out > 1 ? out[1] : -1};
    as_attr axis = AS_ATTR_I("axis", as_attr_int(n, "axis", -1));
    if (found[1] < 0)
        b->node(b, "TopK", in, 2, n->attrs, n->n_attrs, found, 2);
    int zeros = as_b_blank(b, n->in[0].dtype, &n->in[0].shape);
    if (zeros >= 0 && found[1] >= 0)
        d_in[0] = b->node(b, "ScatterElements", (int[]){zeros, found[1], d_out[0]}, 3, &axis, 1, NULL, 1);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "largest by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 4), AS_IN_INTS(2)},
     AS_GIVEN(1, 9, 3, 4, 8, 5, 6, 7),
     AS_WANT(9, 4, 8, 7)},
    {.name = "smallest by hand",
     .n_in = 2,
     .in = {AS_IN(F64, 3, 2), AS_IN_INTS(2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("axis", 0), AS_ATTR_I("largest", 0)},
     AS_GIVEN(3, 1, 2, 6, 5, 4),
     AS_WANT(2, 1, 3, 4)},
    {.name = "u64 with equals by hand",
     .n_in = 2,
     .in = {AS_IN(U64, 5), AS_IN_INTS(4)},
     .no_grad = true,
     AS_GIVEN(2, 0x1p63, 2, 0x1p63, 1),
     AS_WANT(0x1p63, 0x1p63, 2, 2)},
    {.name = "i8",
     .n_in = 2,
     .in = {AS_IN(I8, 4), AS_IN_INTS(4)},
     .no_grad = true,
     AS_GIVEN(-128, 127, -1, 0),
     AS_WANT(127, 0, -1, -128)},
    {.name = "unsorted in the middle",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 17, 5), AS_IN_INTS(3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("axis", 1), AS_ATTR_I("sorted", 0)}},
    {.name = "none", .n_in = 2, .in = {AS_IN(F32, 3), AS_IN_INTS(0)}},
    {.name = "f16", .n_in = 2, .in = {AS_IN(F16, 33), AS_IN_INTS(9)}},
    {.name = "zeros and NaNs by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 6), AS_IN_INTS(6)},
     .no_grad = true,
     AS_GIVEN(-0.0, -1, NAN, 0, -NAN, INFINITY),
     AS_WANT(NAN, NAN, INFINITY, -0.0, 0, -1)},
#define SMALLEST     .no_grad = true, .n_attrs = 1, .attrs = {AS_ATTR_I("largest", 0)}
#define ALONG(axis_) .no_grad = true, .n_attrs = 1, .attrs = {AS_ATTR_I("axis", axis_)}
    /* Longer than a kernel's list of candidates, with and without equals. */
    {.name = "7 of 1000", .n_in = 2, .in = {AS_IN(F32, 2, 1000), AS_IN_INTS(7)}, .no_grad = true},
    {.name = "60 of 701 in f64, smallest", .n_in = 2, .in = {AS_IN(F64, 701), AS_IN_INTS(60)}, SMALLEST},
    {.name = "9 of 999 equals", .n_in = 2, .in = {AS_IN(I8, 999), AS_IN_INTS(9)}, .no_grad = true, .lo = -2, .hi = 2},
    {.name = "9 of 999 equals, smallest", .n_in = 2, .in = {AS_IN(I64, 999), AS_IN_INTS(9)}, SMALLEST, .lo = -2, .hi = 2},
    {.name = "3 of 600 u32", .n_in = 2, .in = {AS_IN(U32, 600), AS_IN_INTS(3)}, .no_grad = true, .lo = 0, .hi = 4e9},
    {.name = "2 of 600 bf16", .n_in = 2, .in = {AS_IN(BF16, 600), AS_IN_INTS(2)}, .no_grad = true},
    {.name = "all of 300", .n_in = 2, .in = {AS_IN(F32, 300), AS_IN_INTS(300)}, .no_grad = true},
    {.name = "5 of 40 along the first of 40x37", .n_in = 2, .in = {AS_IN(F32, 40, 37), AS_IN_INTS(5)}, ALONG(0)},
};

const as_op as_op_topk = {
    .name = "TopK",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 2,
    .known_in = AS_INPUT_BIT(1),
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
