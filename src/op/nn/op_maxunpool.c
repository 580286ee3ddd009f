/* op_maxunpool.c - the maxima of a MaxPool at the places that it noted, zeros elsewhere. */
#include "op/composed.h"

static const as_attr_def attrs[] = {{.name = "kernel_shape", .kind = AS_ATTR_INTS, .required = true},
                                    {.name = "pads", .kind = AS_ATTR_INTS},
                                    {.name = "strides", .kind = AS_ATTR_INTS},
                                    {0}};

/* The shape of what was pooled, by the attributes; indices count in it. */
static assay_status pooled(assay_env *env, const as_node_ctx *n, as_shape *out)
{
    const as_shape *x = &n->in[0].shape;
    int             axes = x->rank - 2;
    int64_t         kernel[AS_MAX_RANK], strides[AS_MAX_RANK], pads[2 * AS_MAX_RANK] = {0};
    for (int i = 0; i < AS_MAX_RANK; i++)
        strides[i] = 1;
    size_t n_strides = as_attr_ints(n, "strides", strides, AS_MAX_RANK), n_pads = as_attr_ints(n, "pads", pads, 2 * AS_MAX_RANK);
    if (axes < 1 || as_attr_ints(n, "kernel_shape", kernel, AS_MAX_RANK) != (size_t)axes ||
        (n_strides && n_strides != (size_t)axes) || (n_pads && n_pads != 2 * (size_t)axes))
        return as_refuse(env, n, "X is %s: kernel_shape, strides and pads must have a number for each of its spatial axes",
                         AS_SHOW(x));
    *out = *x;
    for (int i = 0; i < axes; i++) {
        int64_t k = kernel[i], s = strides[i], before = pads[i], after = pads[axes + i], size = x->dim[2 + i];
        if (k < 1 || s < 1 || before < 0 || after < 0 || k > INT32_MAX || s > INT32_MAX || before > INT32_MAX ||
            after > INT32_MAX || size > INT32_MAX)
            return as_refuse(env, n, "kernel_shape, strides or pads are out of range");
        out->dim[2 + i] = (size - 1) * s - before - after + k;
        if (out->dim[2 + i] < 0)
            return as_refuse(env, n, "the pads are larger than the image");
    }
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_shape shape;
    int64_t  want[AS_MAX_RANK];
    int      count;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    AS_TRY(as_rule_index(env, n, 1, "I", false));
    AS_TRY(pooled(env, n, &shape));
    if (!as_shape_same(&n->in[0].shape, &n->in[1].shape))
        return as_refuse(env, n, "X is %s and I is %s: they must have one shape", AS_SHOW(&n->in[0].shape),
                         AS_SHOW(&n->in[1].shape));
    if (as_in_has(n, 2)) {
        AS_TRY(as_rule_ints(env, n, 2, "output_shape", want, &count));
        if (count != shape.rank)
            return as_refuse(env, n, "output_shape has %d numbers and X is %s", count, AS_SHOW(&n->in[0].shape));
        for (int i = 0; i < count; i++) {
            if (want[i] < shape.dim[i])
                return as_refuse(env, n, "output_shape asks for %lld along axis %d, where %lld are needed", (long long)want[i], i,
                                 (long long)shape.dim[i]);
            shape.dim[i] = want[i];
        }
    }
    out[0] = as_info(n->in[0].dtype, &shape);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_shape shape;
    AS_TRY(pooled(env, n, &shape));
    if (!as_shape_ok(&shape, AS_F64))
        return as_refuse(env, n, "the image is too large");
    int64_t count = as_shape_count(&in[0].shape), total = as_shape_count(&shape);
    as_view_zero(&out[0]);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = as_view_get_i64(&in[1], i), index[AS_MAX_RANK];
        if (at < 0 || at >= total)
            return as_refuse(env, n, "element %lld of I is %lld, and the image has %lld pixels", (long long)i, (long long)at,
                             (long long)total);
        for (int k = shape.rank - 1; k >= 0; k--) {
            index[k] = at % shape.dim[k];
            at /= shape.dim[k];
        }
        as_view_put(&out[0], index, as_view_get(&in[0], i));
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "2-D",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 2, 2), AS_IN(I64, 1, 1, 2, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_LIST("strides", 2, 2)},
     AS_GIVEN(-0.419999987, 0.0900000036, 0.430000007, 0.0399999991, 5, 7, 13, 15),
     AS_WANT(0, 0, 0, 0, 0, -0.419999987, 0, 0.0900000036, 0, 0, 0, 0, 0, 0.430000007, 0, 0.0399999991)},
    /* By the ONNX reference evaluator. */
    {.name = "larger",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 1, 1, 2), AS_IN(I64, 1, 1, 1, 2), AS_IN_INTS(1, 1, 3, 5)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_LIST("strides", 2, 2)},
     AS_GIVEN(0.469999999, -0.879999995, 0, 3),
     AS_WANT(0.469999999, 0, 0, -0.879999995, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)},
};

const as_op as_op_maxunpool = {
    .name = "MaxUnpool",
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(2),
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
