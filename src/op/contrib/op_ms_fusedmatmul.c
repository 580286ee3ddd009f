/* op_ms_fusedmatmul.c - alpha A B, each transposed on demand: in its last two axes, or with its first axis behind the batch. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {
    {.name = "alpha", .kind = AS_ATTR_FLOAT},     {.name = "transA", .kind = AS_ATTR_INT},
    {.name = "transB", .kind = AS_ATTR_INT},      {.name = "transBatchA", .kind = AS_ATTR_INT},
    {.name = "transBatchB", .kind = AS_ATTR_INT}, {0},
};

static int operand(as_builder *b, int x, bool turned, bool batch)
{
    int     rank = as_b_info(b, x).shape.rank;
    int64_t perm[AS_MAX_RANK];
    if (rank < 2 || (!turned && !batch))
        return x;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    if (batch) { /* [M, batch..., K] becomes [batch..., M, K] */
        for (int i = 0; i < rank - 2; i++)
            perm[i] = i + 1;
        perm[rank - 2] = 0;
    }
    if (turned) {
        int64_t last = perm[rank - 1];
        perm[rank - 1] = perm[rank - 2];
        perm[rank - 2] = last;
    }
    return as_b_transpose(b, x, perm, rank);
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    double alpha = as_attr_float(n, "alpha", 1.0);
    int    x = operand(b, in[0], as_attr_int(n, "transA", 0) != 0, as_attr_int(n, "transBatchA", 0) != 0);
    int    y = operand(b, in[1], as_attr_int(n, "transB", 0) != 0, as_attr_int(n, "transBatchB", 0) != 0);
    out[0] = AS_MAKE(b, "MatMul", alpha == 1.0 ? x : as_b_times(b, x, alpha), y);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "both turned",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 4, 3), AS_IN(F32, 2, 2, 4)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_F("alpha", 0.5), AS_ATTR_I("transA", 1), AS_ATTR_I("transB", 1)},
     AS_GIVEN(0.689999998, 0.980000019, 0.379999995, -0.610000014, -0.860000014, 0.270000011, 0.930000007, 0.930000007,
              -0.219999999, 0.819999993, -0.529999971, 0.400000006, -0.529999971, -0.980000019, -0.870000005, 0.709999979,
              0.25999999, 0.939999998, 0.0299999993, -0.129999995, 0.74000001, 0.5, -0.779999971, 0.389999986, 0.779999971,
              -0.730000019, -0.0599999987, -0.319999993, -0.0700000003, -0.660000026, -0.200000003, -0.479999989, -0.889999986,
              -0.200000003, 0.360000014, -0.159999996, -0.25999999, 0.0599999987, 0.370000005, -0.769999981),
     AS_WANT(0.332650006, -0.112649985, 0.753000021, 0.283700019, -0.00775001571, -0.176400006, 0.130249977, -0.0967500061,
             0.449099988, 0.411449969, 0.395150006, 0.128050014)},
    /* By ONNX Runtime. */
    {.name = "batch turned",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 2, 4), AS_IN(F32, 2, 4, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("transBatchA", 1)},
     AS_GIVEN(0.289999992, -0.629999995, 0.819999993, 0.5, -0.159999996, 0.119999997, 0.289999992, 0.550000012, -0.0500000007,
              -0.100000001, 0.119999997, -0.920000017, 0.49000001, 0.340000004, -0.49000001, 0.819999993, 0.5, 0.689999998, 0.75,
              0.0199999996, -0.0700000003, 0.800000012, -0.409999996, 0.219999999, -0.119999997, -0.879999995, 0.910000026,
              -0.159999996, 0.140000001, -0.330000013, 0.600000024, -0.99000001, 0.720000029, -0.100000001, -0.00999999978,
              -0.439999998, 0.75999999, -0.170000002, 0.939999998, -0.209999993),
     AS_WANT(-0.193299979, -0.920000017, -0.620200038, 0.931200027, 0.684900045, -0.817700028, 0.620999992, -0.2016, 0.747799993,
             -0.287499994, -0.163200006, -0.321500003)},
    /* By ONNX Runtime. */
    {.name = "batch and turned",
     .n_in = 2,
     .in = {AS_IN(F32, 4, 2, 3), AS_IN(F32, 2, 4, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("transBatchA", 1), AS_ATTR_I("transA", 1)},
     AS_GIVEN(0.680000007, 0.449999988, -0.850000024, -0.579999983, 0.280000001, 0.99000001, -0.839999974, -0.200000003,
              -0.99000001, -0.0500000007, -0.469999999, 1, -0.870000005, 0.159999996, 0.920000017, 0.879999995, -0.800000012,
              0.980000019, 0.980000019, -0.0399999991, 0.560000002, 0.460000008, 0.560000002, -0.330000013, 0.0799999982,
              -0.330000013, 0.540000021, -1, 0.0500000007, -0.949999988, -0.409999996, -0.939999998, 0.970000029, -0.829999983,
              0.239999995, -0.850000024, -0.200000003, 0.00999999978, -0.930000007, 0.109999999),
     AS_WANT(-0.844500005, 0.520899892, -0.0476000048, -0.0628999919, -0.786200047, -0.129899949, -1.17840004, 0.583299935,
             -0.202000007, 0.220700011, 1.31120002, -1.69819999)},
};

const as_op as_op_ms_fusedmatmul = {
    .name = "com.microsoft.FusedMatMul",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
