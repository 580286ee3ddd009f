/* op_slicegrad.c - puts what a Slice took back in its place, and 0 elsewhere: `starts` and `steps` for every axis,
 * counted from the first element. */
#include "op/shape/move.h"

static const as_attr_def attrs[] = {
    {.name = "input_shape", .kind = AS_ATTR_INTS, .required = true},
    {.name = "starts", .kind = AS_ATTR_INTS, .required = true},
    {.name = "steps", .kind = AS_ATTR_INTS, .required = true},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *dy = &n->in[0].shape;
    const as_attr  *starts = as_attr_find(n, "starts"), *steps = as_attr_find(n, "steps");
    as_shape        x;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    AS_TRY(as_attr_shape(env, n, "input_shape", n->in[0].dtype, &x));
    if (x.rank != dy->rank || starts->n != (size_t)x.rank || steps->n != (size_t)x.rank)
        return as_refuse(env, n, "the input is %s for a slice of %s with %zu starts and %zu steps", AS_SHOW(dy), AS_SHOW(&x),
                         starts->n, steps->n);
    for (int i = 0; i < x.rank; i++) {
        int64_t last = 0;
        if (dy->dim[i] == 0)
            continue;
        bool out_of_range =
            __builtin_mul_overflow(dy->dim[i] - 1, steps->ints[i], &last) || __builtin_add_overflow(last, starts->ints[i], &last);
        if (out_of_range || last < 0 || last >= x.dim[i] || starts->ints[i] < 0 || starts->ints[i] >= x.dim[i] ||
            (steps->ints[i] == 0 && dy->dim[i] > 1))
            return as_refuse(env, n, "%lld elements from %lld by %lld do not fit the %lld of axis %d", (long long)dy->dim[i],
                             (long long)starts->ints[i], (long long)steps->ints[i], (long long)x.dim[i], i);
    }
    out[0] = as_info(n->in[0].dtype, &x);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    const as_attr *starts = as_attr_find(n, "starts"), *steps = as_attr_find(n, "steps");
    as_view        part = out[0];
    as_view_zero(&out[0]);
    for (int i = 0; i < part.shape.rank; i++)
        part = as_view_part(&part, i, starts->ints[i], steps->ints[i], in[0].shape.dim[i]);
    as_view_copy(&part, &in[0]);
    return ASSAY_OK;
}

#define SLICE(shape_, starts_, steps_) .n_attrs = 3, .attrs = {shape_, starts_, steps_}

static const as_case cases[] = {
    /* By hand: every second element from the end. */
    {.name = "backwards by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 2)},
     SLICE(AS_ATTR_LIST("input_shape", 5), AS_ATTR_LIST("starts", 4), AS_ATTR_LIST("steps", -2)),
     AS_GIVEN(1, 2),
     AS_WANT(0, 0, 2, 0, 1)},
    {.name = "a block by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 1, 2)},
     SLICE(AS_ATTR_LIST("input_shape", 2, 3), AS_ATTR_LIST("starts", 1, 1), AS_ATTR_LIST("steps", 1, 1)),
     AS_GIVEN(7, 8),
     AS_WANT(0, 0, 0, 0, 7, 8)},
    {.name = "4x5 in 9x11",
     .n_in = 1,
     .in = {AS_IN(F32, 4, 5)},
     SLICE(AS_ATTR_LIST("input_shape", 9, 11), AS_ATTR_LIST("starts", 1, 10), AS_ATTR_LIST("steps", 2, -2))},
    {.name = "nothing",
     .n_in = 1,
     .in = {AS_IN(F32, 0, 5)},
     SLICE(AS_ATTR_LIST("input_shape", 3, 5), AS_ATTR_LIST("starts", 0, 0), AS_ATTR_LIST("steps", 1, 1))},
};

const as_op as_op_slicegrad = {
    .name = "assay.SliceGrad",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
