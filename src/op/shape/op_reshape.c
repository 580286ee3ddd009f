/* op_reshape.c - the same elements in the same order under another shape. */
#include "op/rules.h"

static const as_attr_def attrs[] = {{.name = "allowzero", .kind = AS_ATTR_INT}, {0}};

/* 0 copies the input's size (with allowzero it is a size of 0); one -1 takes the remainder. */
static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape;
    int64_t         wish[AS_MAX_RANK];
    int             rank, open = -1;
    bool            zero_is_size = as_attr_int(n, "allowzero", 0) != 0, has_zero = false, too_large = false;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_EVERY));
    AS_TRY(as_rule_ints(env, n, 1, "shape", wish, &rank));

    as_shape y = {.rank = rank};
    int64_t  known = 1;
    for (int i = 0; i < rank; i++) {
        if (wish[i] < -1)
            return as_refuse(env, n, "shape[%d] is %lld", i, (long long)wish[i]);
        if (wish[i] == -1 && open >= 0)
            return as_refuse(env, n, "shape[%d] and shape[%d] are both -1", open, i);
        if (wish[i] == 0 && !zero_is_size && i >= x->rank)
            return as_refuse(env, n, "shape[%d] is 0 and the input %s has no such axis to copy", i, AS_SHOW(x));
        if (wish[i] == -1)
            open = i;
        y.dim[i] = wish[i] == 0 && !zero_is_size ? x->dim[i] : wish[i];
        has_zero |= y.dim[i] == 0;
        if (i != open && !has_zero)
            too_large |= __builtin_mul_overflow(known, y.dim[i], &known);
    }
    int64_t count = as_shape_count(x);
    if (has_zero)
        known = 0;
    else if (too_large)
        return as_refuse(env, n, "the shape asked for is too large for the %lld elements of %s", (long long)count, AS_SHOW(x));
    if (open >= 0) {
        if (known == 0)
            return as_refuse(env, n, "shape[%d] is -1 beside a size of 0, so any size would do", open);
        if (count % known)
            return as_refuse(env, n, "%lld elements of %s do not divide by the %lld of the sizes given", (long long)count,
                             AS_SHOW(x), (long long)known);
        y.dim[open] = count / known;
        known = count;
    }
    if (known != count)
        return as_refuse(env, n, "%s has %lld elements and %s has %lld", AS_SHOW(x), (long long)count, AS_SHOW(&y),
                         (long long)known);
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: the order does not change. */
    {.name = "by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN_INTS(3, 2)},
     .given = (const double[]){1, 2, 3, 4, 5, 6},
     .want = (const double[]){1, 2, 3, 4, 5, 6},
     .n_want = 6},
    {.name = "i32 to a row",
     .n_in = 2,
     .in = {AS_IN(I32, 3, 1), AS_IN_INTS(-1)},
     .no_grad = true,
     .given = (const double[]){1, -2, 3},
     .want = (const double[]){1, -2, 3},
     .n_want = 3},
    {.name = "flattened", .n_in = 2, .in = {AS_IN(F32, 2, 3, 5), AS_IN_INTS(0, -1)}},
    {.name = "grown", .n_in = 2, .in = {AS_IN(F32, 17), AS_IN_INTS(1, -1, 1)}},
    {.name = "f64 9x16 as 8x18", .n_in = 2, .in = {AS_IN(F64, 9, 16), AS_IN_INTS(8, 18)}},
    {.name = "i64", .n_in = 2, .in = {AS_IN(I64, 31, 2), AS_IN_INTS(2, 31)}, .no_grad = true},
    {.name = "to a scalar",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1), {.dtype = AS_I64, .shape = {.rank = 1}, .ints = (const int64_t[]){0}}}},
    {.name = "empty with allowzero",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 0), AS_IN_INTS(0, 7)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("allowzero", 1)}},
};

/* No flops.  The bytes count one move of every element; a plan that aliases moves none. */
const as_op as_op_reshape = {
    .name = "Reshape",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1),
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = as_eval_copy,
    .grad = as_reshape_grad,
    .tolerance = 0.0,
    .view_only = true,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
