/* op_dft.c - the discrete Fourier transform along an axis; the last axis holds the real part, or real and imaginary part.  A product with a
 * matrix of cosines and sines, which is made in the set-up. */
#include "op/signal/signal.h"

static const as_attr_def attrs[] = {{.name = "inverse", .kind = AS_ATTR_INT}, {.name = "onesided", .kind = AS_ATTR_INT}, {0}};

static assay_status check(assay_env *env, const as_node_ctx *n, int *axis, as_dft *d)
{
    const as_shape *x = &n->in[0].shape;
    int64_t         at = -2;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    if (x->rank < 2 || x->rank >= AS_MAX_RANK || (x->dim[x->rank - 1] != 1 && x->dim[x->rank - 1] != 2))
        return as_refuse(env, n, "the input is %s and must end with an axis of size 1 (real) or 2 (complex)", AS_SHOW(x));
    if (as_in_has(n, 2))
        AS_TRY(as_known_int(env, n, 2, "axis", &at));
    AS_TRY(as_rule_axis(env, n, at, x->rank, axis));
    if (*axis == x->rank - 1)
        return as_refuse(env, n, "axis is the last one, which holds real and imaginary parts");
    *d = (as_dft){.inverse = as_attr_int(n, "inverse", 0) != 0, .onesided = as_attr_int(n, "onesided", 0) != 0};
    d->length = x->dim[*axis];
    if (d->inverse && d->onesided && d->length > 0 && d->length <= AS_MAX_DFT)
        d->length = 2 * (d->length - 1);
    if (as_in_has(n, 1))
        AS_TRY(as_known_int(env, n, 1, "dft_length", &d->length));
    if (d->length < 1 || d->length > AS_MAX_DFT)
        return as_fail(env, ASSAY_UNSUPPORTED, "DFT '%s': a length of %lld is not supported, only 1 to %d", n->name ? n->name : "",
                       (long long)d->length, AS_MAX_DFT);
    return ASSAY_OK;
}

/* One part of the last axis, with `axis` last instead. */
static int part(as_builder *b, int x, int rank, int axis, int64_t which, int64_t n_parts)
{
    int64_t  perm[AS_MAX_RANK];
    as_shape shape = as_b_info(b, x).shape;
    x = n_parts == 1 ? x : as_b_cut(b, x, rank - 1, which, which + 1, 1);
    shape.rank = rank - 1;
    x = as_b_reshape(b, x, &shape);
    for (int i = 0, k = 0; i < rank - 1; i++)
        if (i != axis)
            perm[k++] = i;
    perm[rank - 2] = axis;
    return axis == rank - 2 ? x : as_b_transpose(b, x, perm, rank - 1);
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    int    axis, rank = n->in[0].shape.rank;
    as_dft d;
    AS_TRY(check(b->env, n, &axis, &d));
    int64_t n_parts = n->in[0].shape.dim[rank - 1], perm[AS_MAX_RANK];
    int     y = as_b_dft(b, part(b, in[0], rank, axis, 0, n_parts), n_parts == 2 ? part(b, in[0], rank, axis, 1, n_parts) : -1, &d);
    for (int i = 0; i < rank; i++) /* the transformed axis is the last but one now */
        perm[i] = i < axis ? i : i == axis ? rank - 2 : i == rank - 1 ? rank - 1 : i - 1;
    out[0] = axis == rank - 2 ? y : as_b_transpose(b, y, perm, rank);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "real",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 5, 1), {.dtype = AS_NONE}, AS_IN_INT(1)},
     AS_GIVEN(-0.850000024, 0.560000002, -0.119999997, 0.449999988, 0.959999979),
     AS_WANT(0.99999994, 0, -0.647269785, 0.715460181, -1.97773027, -0.30698812, -1.97773027, 0.30698812, -0.647269785,
             -0.715460181)},
    /* By the ONNX reference evaluator. */
    {.name = "one side, filled",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 4, 1), AS_IN_INT(6), AS_IN_INT(1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("onesided", 1)},
     AS_GIVEN(0.0799999982, 0, -0.860000014, -0.460000008, 0, 0.360000014, 0.610000014, -0.239999995),
     AS_WANT(-1.24000001, 0, 0.970000029, 0.744781852, 0.049999997, -0.744781852, -0.319999993, 0, 0.730000019, 0, 0.114999995,
             -0.840044677, -0.725000024, 0.216506347, 0.48999998, 0)},
    /* By the ONNX reference evaluator. */
    {.name = "complex, first axis",
     .n_in = 3,
     .in = {AS_IN(F32, 4, 2, 2), {.dtype = AS_NONE}, AS_IN_INT(0)},
     AS_GIVEN(-0.870000005, -0.419999987, 0.819999993, -0.569999993, -0.100000001, 0.860000014, -0.949999988, 0.200000003,
              0.899999976, -0.540000021, 0.100000001, 0.819999993, -0.730000019, 0.0500000007, 0.5, 0.340000004),
     AS_WANT(-0.800000072, -0.0499999933, 0.469999999, 0.790000021, -0.959999979, -0.50999999, 0.579999983, 0.0600000024,
             0.860000014, -1.87, 1.37, -0.290000021, -2.57999992, 0.75000006, 0.860000014, -2.83999991)},
    /* By the ONNX reference evaluator. */
    {.name = "inverse",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 4, 2), {.dtype = AS_NONE}, AS_IN_INT(1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("inverse", 1)},
     AS_GIVEN(-0.0599999987, -0.589999974, -0.0199999996, -0.25999999, -0.0500000007, -0.270000011, 0.680000007, 0.540000021),
     AS_WANT(0.137500003, -0.144999996, 0.197500005, -0.254999995, -0.19250001, -0.285000026, -0.202500001, 0.0950000063)},
    /* By the ONNX reference evaluator. */
    {.name = "inverse of one side",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 3, 2), {.dtype = AS_NONE}, AS_IN_INT(1)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("inverse", 1), AS_ATTR_I("onesided", 1)},
     AS_GIVEN(-0.370000005, 0.150000006, -0.449999988, -0.0900000036, -0.289999992, 0.310000002),
     AS_WANT(-0.389999986, 0.0249999985, 0.0600000024, -0.0650000051)},
};

const as_op as_op_dft = {
    .name = "DFT",
    .min_in = 1,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1) | AS_INPUT_BIT(2),
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
