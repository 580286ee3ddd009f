/* op_ml_featurevectorizer.c - columns of several inputs side by side, each cut or filled with zeros to its stated width. */
#include "op/ml/ml.h"

static const as_attr_def attrs[] = {{.name = "inputdimensions", .kind = AS_ATTR_INTS}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    int64_t widths[AS_MAX_IN];
    int     parts[AS_MAX_IN];
    if (as_attr_ints(n, "inputdimensions", widths, AS_MAX_IN) != (size_t)n->n_in)
        return as_refuse(b->env, n, "inputdimensions must have one number for each of the %d inputs", n->n_in);
    for (int i = 0; i < n->n_in; i++) {
        const as_shape *x = &n->in[i].shape;
        AS_TRY(as_rule_dtype(b->env, n, i, 1,
                             AS_DTYPE_BIT(AS_F32) | AS_DTYPE_BIT(AS_F64) | AS_DTYPE_BIT(AS_I32) | AS_DTYPE_BIT(AS_I64)));
        if ((x->rank != 1 && x->rank != 2) || widths[i] < 1 || widths[i] > (1 << 30))
            return as_refuse(b->env, n,
                             "input %d is %s and %lld columns wide: it must be [rows, columns] or [rows], and at least 1 wide", i,
                             AS_SHOW(x), (long long)widths[i]);
        int     part = as_b_cast(b, x->rank == 1 ? as_b_wider(b, in[i], 1) : in[i], AS_F32);
        int64_t has = as_b_dim(b, part, 1);
        parts[i] = widths[i] < has ? as_b_cut(b, part, 1, 0, widths[i], 1) : as_b_longer(b, part, widths[i] - has, 0.0);
    }
    out[0] = as_b_node(b, "Concat", parts, n->n_in, AS_WITH(AS_ATTR_I("axis", 1)));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "cut and filled",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 2), AS_IN(F32, 2, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("inputdimensions", 2, 1, 3)},
     AS_GIVEN(-0.0799999982, 0.439999998, -0.170000002, 0.810000002, -0.639999986, 0.479999989, -0.159999996, -0.150000006,
              0.270000011, 0.0500000007),
     AS_WANT(-0.0799999982, 0.439999998, -0.159999996, 0.270000011, 0, 0, 0.810000002, -0.639999986, -0.150000006, 0.0500000007, 0,
             0)},
};

const as_op as_op_ml_featurevectorizer = {
    .name = "ai.onnx.ml.FeatureVectorizer",
    .min_in = 1,
    .max_in = AS_MAX_IN,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
