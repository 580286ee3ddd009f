/* op_flexattention.c - attention over heads, with softmax in f32 or wider.  Its two subgraphs, which change scores and weights, are
 * refused by the reader. */
#include <math.h>

#include "op/nn/attention.h"

static const as_attr_def attrs[] = {
    {.name = "scale", .kind = AS_ATTR_FLOAT}, {.name = "softmax_precision", .kind = AS_ATTR_INT}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    as_dtype dtype = n->in[0].dtype, wide = as_dtype_of_code(as_attr_int(n, "softmax_precision", dtype == AS_F64 ? 11 : 1));
    AS_TRY(as_rule_dtype(b->env, n, 0, 3, AS_SET_FLOAT));
    for (int i = 0; i < 3; i++)
        if (n->in[i].shape.rank != 4)
            return as_refuse(b->env, n, "input %d is %s and must have rank 4", i, AS_SHOW(&n->in[i].shape));
    int64_t heads = n->in[0].shape.dim[1], kv_heads = n->in[1].shape.dim[1];
    if (kv_heads < 1 || heads % kv_heads || n->in[2].shape.dim[1] != kv_heads)
        return as_refuse(b->env, n, "%lld heads of queries share %lld heads of keys, which must divide them", (long long)heads,
                         (long long)kv_heads);
    if (!(AS_SET_FLOAT & AS_DTYPE_BIT(wide)) || wide == AS_NONE)
        return as_refuse(b->env, n, "softmax_precision must be 1 (f32), 10 (f16), 11 (f64) or 16 (bf16)");
    as_attention a = {.q = in[0],
                      .k = in[1],
                      .v = in[2],
                      .bias = -1,
                      .allowed = -1,
                      .softmax_as = wide,
                      .scale = as_attr_float(n, "scale", 1.0 / sqrt((double)n->in[0].shape.dim[3]))};
    as_b_attention(b, &a);
    out[0] = a.y;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "grouped",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 4, 2, 2), AS_IN(F32, 1, 2, 3, 2), AS_IN(F32, 1, 2, 3, 2)},
     AS_GIVEN(0.899999976, 0.25999999, -0.860000014, 0.340000004, -0.49000001, 0.660000026, -0.939999998, -0.349999994, 0.349999994,
              -0.689999998, 0.289999992, 0.389999986, 0.469999999, 0.75, -0.170000002, -0.720000029, -0.479999989, -0.219999999,
              -0.889999986, 0.419999987, -0.870000005, -0.879999995, 0.860000014, 0.610000014, -0.49000001, -0.319999993,
              0.649999976, 0.239999995, -0.469999999, -0.100000001, 0.709999979, -1, 0.980000019, 0.129999995, -0.639999986,
              0.600000024, -0.850000024, -0.180000007, 0.150000006, -0.50999999),
     AS_WANT(0.321580946, -0.342780977, 0.46184653, -0.406897694, 0.429339468, -0.454920709, 0.499398708, -0.280393749,
             -0.437295586, -0.0560121387, -0.411536992, 0.0217336267, -0.397179931, 0.0644333735, -0.499070257, -0.0899959579)},
    /* By the ONNX reference evaluator. */
    {.name = "scaled",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 1, 2, 2), AS_IN(F32, 1, 1, 3, 2), AS_IN(F32, 1, 1, 3, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("scale", 0.1)},
     AS_GIVEN(0.769999981, 0.389999986, -0.680000007, -0.689999998, -0.879999995, 0.140000001, -0.629999995, 0.0900000036,
              0.639999986, 0.75999999, -0.769999981, -0.340000004, -0.170000002, -0.230000004, -0.159999996, -0.0799999982,
              0.50999999, -0.389999986, -0.310000002),
     AS_WANT(-0.131473929, -0.300381154, -0.19198218, -0.195134357, -0.29286021, -0.181287676)},
};

const as_op as_op_flexattention = {
    .name = "ai.onnx.preview.FlexAttention",
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
