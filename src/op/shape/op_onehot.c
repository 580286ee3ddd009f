/* op_onehot.c - a new axis of `depth` elements that are off, except on at the index; with an index outside
 * [-depth, depth) all are off. */
#include "op/shape/move.h"

#include <math.h>

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT}, {0}};

/* Depth may have any number dtype. */
static assay_status depth_read(assay_env *env, const as_node_ctx *n, int64_t *out)
{
    const as_tensor_info *t = &n->in[1];
    AS_TRY(as_rule_dtype(env, n, 1, 1, AS_SET_NUMBER));
    if (t->shape.rank > 1 || as_shape_count(&t->shape) != 1)
        return as_refuse(env, n, "depth (input 1) is %s and must be one number", AS_SHOW(&t->shape));
    if (!t->constant)
        return as_refuse(env, n, "depth (input 1) must be known while planning");
    union {
        const void *read;
        void       *view;
    } data = {t->constant};
    as_view one = {.data = data.view, .dtype = t->dtype};
    int64_t depth = as_view_get_i64(&one, 0);
    if (depth < 0)
        return as_refuse(env, n, "depth is %lld", (long long)depth);
    *out = depth;
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape;
    as_shape        y = {.rank = x->rank + 1};
    int64_t         depth = 0;
    int             axis;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_NUMBER));
    AS_TRY(depth_read(env, n, &depth));
    AS_TRY(as_rule_dtype(env, n, 2, 1, AS_SET_ANY));
    if (n->in[2].shape.rank != 1 || n->in[2].shape.dim[0] != 2)
        return as_refuse(env, n, "values (input 2) are %s and must be [off, on]", AS_SHOW(&n->in[2].shape));
    if (y.rank > AS_MAX_RANK)
        return as_refuse(env, n, "indices %s and one axis more: at most %d are possible", AS_SHOW(x), AS_MAX_RANK);
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", -1), y.rank, &axis));
    for (int i = 0; i < y.rank; i++)
        y.dim[i] = i == axis ? depth : x->dim[i - (i > axis)];
    out[0] = as_info(n->in[2].dtype, &y);
    return ASSAY_OK;
}

/* The index as an integer, or -1 when it is outside. */
static int64_t place_of(const as_view *one, int64_t depth)
{
    if (as_dtype_is_float(one->dtype)) {
        double x = trunc(as_view_get(one, 0));
        return x >= (double)depth || !(x >= -(double)depth) ? -1 : (int64_t)x + (x < 0 ? depth : 0);
    }
    int64_t x = (int64_t)as_bits_get(one);
    return x >= depth || x < -depth || (one->dtype == AS_U64 && x < 0) ? -1 : x + (x < 0 ? depth : 0);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int     axis, rank = out[0].shape.rank;
    int64_t count = as_shape_count(&in[0].shape), index[AS_MAX_RANK] = {0}, at[AS_MAX_RANK];
    as_view off = as_view_nth(&in[2], 0), on = as_view_nth(&in[2], 1);
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", -1), rank, &axis));
    as_view_fill(&out[0], &off);
    for (int64_t i = 0; i < count; i++, as_index_next(&in[0].shape, index)) {
        as_view one = as_view_nth(&in[0], i);
        for (int k = 0; k < rank; k++)
            at[k] = k == axis ? place_of(&one, out[0].shape.dim[axis]) : index[k - (k > axis)];
        if (at[axis] < 0)
            continue;
        as_view place = as_view_fix(&out[0], at, rank);
        as_view_copy(&place, &on);
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "by hand",
     .n_in = 3,
     .in = {AS_IN_INTS(0, 2, -1, 3), AS_IN_INT(3), AS_IN(F32, 2)},
     AS_GIVEN(0, 1),
     AS_WANT(1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0)},
    {.name = "along the first axis by hand",
     .n_in = 3,
     .in = {AS_IN_INTS(1, -5), AS_IN_INTS(2), AS_IN(I32, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 0)},
     AS_GIVEN(7, -3),
     AS_WANT(7, 7, -3, 7)},
    {.name = "float indices by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 2), AS_IN_INT(2), AS_IN(F32, 2)},
     AS_GIVEN(1.5, -2, 0, 1),
     AS_WANT(0, 1, 1, 0)},
    {.name = "u8 in the middle",
     .n_in = 3,
     .in = {AS_IN(U8, 3, 4), AS_IN_INT(5), AS_IN(F16, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 1)},
     .lo = 0,
     .hi = 7},
    {.name = "no depth", .n_in = 3, .in = {AS_IN_INTS(1, 2), AS_IN_INT(0), AS_IN(BOOL, 2)}},
    {.name = "a scalar", .n_in = 3, .in = {AS_IN_INT(2), AS_IN_INT(4), AS_IN(F64, 2)}},
};

const as_op as_op_onehot = {
    .name = "OneHot",
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1),
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval, /* no gradient: indices and depth are integers, and the two values are constants, not learned */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
