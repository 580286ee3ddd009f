/* op_rotaryembedding.c - turns pairs of a head's elements by an angle that grows with the position. */
#include "op/nn/attention.h"

enum { X, COS, SIN, POSITIONS };

static const as_attr_def attrs[] = {
    {.name = "interleaved", .kind = AS_ATTR_INT},
    {.name = "num_heads", .kind = AS_ATTR_INT},
    {.name = "rotary_embedding_dim", .kind = AS_ATTR_INT},
    {0},
};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    const as_shape *x = &n->in[X].shape;
    int64_t         heads = as_attr_int(n, "num_heads", 0), dim = as_attr_int(n, "rotary_embedding_dim", 0);
    AS_TRY(as_rule_dtype(b->env, n, X, 3, AS_SET_FLOAT));
    if (x->rank == 3)
        AS_TRY(as_heads_check(b->env, n, X, "X", heads));
    else if (x->rank != 4)
        return as_refuse(b->env, n, "X is %s and must have rank 3 or 4", AS_SHOW(x));
    int64_t size = x->rank == 3 ? x->dim[2] / heads : x->dim[3];
    dim = dim ? dim : size;
    if (dim < 2 || dim > size || dim % 2)
        return as_refuse(b->env, n, "rotary_embedding_dim is %lld and must be even and at most the %lld of a head", (long long)dim,
                         (long long)size);
    int angle[2] = {in[COS], in[SIN]};
    for (int i = 0; i < 2; i++) {
        if (as_in_has(n, POSITIONS))
            angle[i] = AS_MAKE_WITH(b, "Gather", AS_WITH(AS_ATTR_I("axis", 0)), angle[i], in[POSITIONS]);
        angle[i] = as_b_wider(b, angle[i], 1);
    }
    int heads_x = x->rank == 3 ? as_b_heads_split(b, in[X], heads) : in[X];
    int y = as_b_rotate(b, heads_x, angle[0], angle[1], dim, as_attr_int(n, "interleaved", 0) != 0);
    out[0] = x->rank == 3 ? as_b_heads_join(b, y) : y;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "halves",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 2, 3, 4), AS_IN(F32, 5, 2), AS_IN(F32, 5, 2), AS_IN(I64, 1, 3)},
     AS_GIVEN(-0.730000019, 0.920000017, 0.0599999987, -0.910000026, 0.860000014, -0.280000001, 0.460000008, 0.0500000007,
              -0.810000002, -0.790000021, -0.699999988, -0.680000007, -0.889999986, -0.910000026, 0.899999976, -0.819999993,
              0.0199999996, -0.75999999, -0.569999993, 0.529999971, 0.879999995, -0.0599999987, -0.99000001, 1, -0.899999976,
              -0.219999999, 0.0799999982, 0.779999971, 0.649999976, 0.219999999, -0.200000003, 0.670000017, 0.74000001, 0.74000001,
              0.439999998, -0.800000012, -0.400000006, -0.0299999993, 0.00999999978, 0.670000017, -0.519999981, 0.330000013, -0.25,
              0.550000012, 0, 4, 3),
     AS_WANT(0.630599976, -0.930400014, -0.375200003, -0.53579998, 0.751400054, -0.234700009, 0.125400007, -0.116999999,
             -0.201999992, -0.30490002, 0.561199963, -0.716300011, 0.404999942, -0.455799997, -1.20159996, 0.908400059,
             -0.127700001, -0.853899956, -0.426799983, -0.0258000195, -0.690800011, -0.370200008, -0.259599984, 0.650200009)},
    /* By the ONNX reference evaluator. */
    {.name = "interleaved, a part of the head",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 2, 12), AS_IN(F32, 4, 2), AS_IN(F32, 4, 2), AS_IN(I64, 1, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("interleaved", 1), AS_ATTR_I("num_heads", 2), AS_ATTR_I("rotary_embedding_dim", 4)},
     AS_GIVEN(-0.579999983, 0.870000005, -0.370000005, 0.790000021, 0.0500000007, -0.920000017, 0.589999974, -0.899999976,
              0.649999976, -0.980000019, 0.349999994, -0.670000017, -0.310000002, 0.910000026, -0.0299999993, 0.310000002,
              0.479999989, -0.779999971, 0.680000007, 0.829999983, -0.689999998, 0.0900000036, -0.430000007, 0.479999989,
              -0.939999998, 0.0299999993, 0.589999974, 0.469999999, -0.779999971, 0.670000017, -0.519999981, 0.620000005,
              -0.00999999978, -0.680000007, 0.469999999, 0.620000005, 0.400000006, 0.930000007, -0.49000001, -0.529999971, 1, 0),
     AS_WANT(-0.751099944, 0.240700006, -0.663699985, 0.141900003, 0.0500000007, -0.920000017, 0.771099925, -0.253699958,
             0.913100004, -0.0576000214, 0.349999994, -0.670000017, 0.300500005, -0.852300048, 0.209900007, 0.0296999998,
             0.479999989, -0.779999971, -0.630900025, -0.787, 0.0405000038, 0.471900016, -0.430000007, 0.479999989)},
    /* By the ONNX reference evaluator. */
    {.name = "angles per position",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 1, 2, 2), AS_IN(F32, 2, 2, 1), AS_IN(F32, 2, 2, 1)},
     AS_GIVEN(0.0799999982, -0.200000003, -0.289999992, -0.0799999982, -0.449999988, -0.99000001, -0.0599999987, -0.449999988,
              -0.100000001, 0.860000014, -0.639999986, 0.270000011, 0.289999992, -0.439999998, -0.0599999987, 0.939999998),
     AS_WANT(0.049999997, 0.0432000011, -0.28459999, 0.058799997, 0.228599995, 0.660600007, 0.406799972, -0.177900001)},
    {.name = "f64", .n_in = 3, .in = {AS_IN(F64, 1, 3, 4, 8), AS_IN(F64, 1, 4, 4), AS_IN(F64, 1, 4, 4)}},
};

const as_op as_op_rotaryembedding = {
    .name = "RotaryEmbedding",
    .min_in = 3,
    .max_in = 4,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
