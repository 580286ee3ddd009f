/* op_simplifiedlayernormalization.c - RMSNormalization under the name that ONNX Runtime's files have for it, in the standard domain. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT},
                                    {.name = "epsilon", .kind = AS_ATTR_FLOAT},
                                    {.name = "stash_type", .kind = AS_ATTR_INT},
                                    {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    int     rank = n->in[0].shape.rank, inverse = -1;
    int64_t axis = as_attr_int(n, "axis", -1);
    AS_TRY(as_rule_dtype(b->env, n, 0, 1, AS_SET_FLOAT));
    if (axis != -1 && axis != rank - 1)
        return as_refuse(b->env, n, "axis is %lld, and only the last one is supported", (long long)axis);
    out[0] = as_b_rmsnorm(b, in[0], in[1], as_attr_float(n, "epsilon", 1e-5), n->n_out > 1 ? &inverse : NULL);
    if (n->n_out > 1)
        out[1] = inverse;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "last axis",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 4), AS_IN(F32, 4)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("epsilon", 0.001)},
     AS_GIVEN(-0.920000017, 0.49000001, -0.159999996, -0.400000006, -1, -0.74000001, -0.899999976, 0.209999993, -0.189999998,
              -0.330000013, 0.0599999987, -0.129999995),
     AS_WANT(0.309477508, -0.286284417, -0.0169964749, 0.0920642391, 0.244998172, 0.314887136, -0.0696310624, -0.0352023654)},
};

const as_op as_op_simplifiedlayernormalization = {
    .name = "SimplifiedLayerNormalization",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 2,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
