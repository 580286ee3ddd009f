/* op_lpnormalization.c - x divided by the sum of sizes (p = 1) or the length (p = 2) of its line along an axis; a line of zeros gives 0. */
#include "op/composed.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT}, {.name = "p", .kind = AS_ATTR_INT}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    int64_t p = as_attr_int(n, "p", 2);
    int     axis;
    AS_TRY(as_rule_dtype(b->env, n, 0, 1, AS_SET_FLOAT));
    AS_TRY(as_rule_axis(b->env, n, as_attr_int(n, "axis", -1), n->in[0].shape.rank, &axis));
    if (p != 1 && p != 2)
        return as_refuse(b->env, n, "p is %lld and must be 1 or 2", (long long)p);
    int norm = as_b_reduce(b, p == 1 ? "ReduceL1" : "ReduceL2", in[0], axis, true);
    int safe = AS_MAKE(b, "Where", as_b_versus(b, "Equal", norm, 0.0), as_b_like(b, norm, 1.0), norm);
    out[0] = AS_MAKE(b, "Div", in[0], safe);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "l2 and zeros",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 1)},
     AS_GIVEN(0, 0, 0, -0.779999971, 0.600000024, 0),
     AS_WANT(0, 0, 0, -0.792623937, 0.609710813, 0)},
    /* By the ONNX reference evaluator. */
    {.name = "l1",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("axis", 0), AS_ATTR_I("p", 1)},
     AS_GIVEN(0.280000001, 0.889999986, 0.340000004, 0.310000002, 0.439999998, 0.449999988),
     AS_WANT(0.474576235, 0.669172943, 0.430379778, 0.525423706, 0.330827087, 0.569620252)},
};

const as_op as_op_lpnormalization = {
    .name = "LpNormalization",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
