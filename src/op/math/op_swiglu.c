/* op_swiglu.c - Swish of the gate A, times B. */
#include "op/composed.h"

static const as_attr_def attrs[] = {{.name = "alpha", .kind = AS_ATTR_FLOAT}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    AS_TRY(as_rule_dtype(b->env, n, 0, 2, AS_SET_FLOAT));
    if (!as_shape_same(&n->in[0].shape, &n->in[1].shape))
        return as_refuse(b->env, n, "A is %s and B is %s: they must have one shape", AS_SHOW(&n->in[0].shape),
                         AS_SHOW(&n->in[1].shape));
    out[0] = AS_MAKE(b, "Mul", as_b_node(b, "Swish", in, 1, n->attrs, n->n_attrs), in[1]);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "plain",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 2, 3)},
     AS_GIVEN(-0.129999995, 0.589999974, -0.550000012, -0.0500000007, 0.0299999993, 0.680000007, -0.670000017, -0.970000029,
              0.00999999978, -0.289999992, -0.419999987, 0.540000021),
     AS_WANT(0.0407232307, -0.368197858, -0.00201225444, 0.0070687877, -0.006394492, 0.243724838)},
    /* By the ONNX reference evaluator. */
    {.name = "by alpha",
     .n_in = 2,
     .in = {AS_IN(F32, 5), AS_IN(F32, 5)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("alpha", 2)},
     AS_GIVEN(0.370000005, -0.829999983, 0.100000001, 0.600000024, 0.819999993, -1, 0.620000005, -0.910000026, 0.360000014,
              0.200000003),
     AS_WANT(-0.25048849, -0.082213521, -0.0500348993, 0.166001379, 0.13735573)},
};

const as_op as_op_swiglu = {
    .name = "SwiGLU",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
