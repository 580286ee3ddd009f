/* op_attention.c - softmax(scale * Q K^T + mask) V per head, with grouped heads, a cache of keys and values, causal and sliding-window
 * masks.  Defined as products, masks and Softmax. */
#include <math.h>

#include "op/nn/attention.h"

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, NONPAD };

static const as_attr_def attrs[] = {
    {.name = "is_causal", .kind = AS_ATTR_INT},
    {.name = "kv_num_heads", .kind = AS_ATTR_INT},
    {.name = "left_window_size", .kind = AS_ATTR_INT},
    {.name = "q_num_heads", .kind = AS_ATTR_INT},
    {.name = "qk_matmul_output_mode", .kind = AS_ATTR_INT},
    {.name = "right_window_size", .kind = AS_ATTR_INT},
    {.name = "scale", .kind = AS_ATTR_FLOAT},
    {.name = "softcap", .kind = AS_ATTR_FLOAT},
    {.name = "softmax_precision", .kind = AS_ATTR_INT},
    {0},
};

static assay_status heads_check(assay_env *env, const as_node_ctx *n)
{
    static const char *const names[] = {"Q", "K", "V"};
    int64_t                  heads = as_attr_int(n, "q_num_heads", 0), kv_heads = as_attr_int(n, "kv_num_heads", 0);
    int                      rank = n->in[Q].shape.rank;
    for (int i = Q; i <= V; i++) {
        if (n->in[i].shape.rank != rank || (rank != 3 && rank != 4))
            return as_refuse(env, n, "%s is %s: Q, K and V must all have rank 3 or all rank 4", names[i], AS_SHOW(&n->in[i].shape));
        if (rank == 3)
            AS_TRY(as_heads_check(env, n, i, names[i], i == Q ? heads : kv_heads));
    }
    if (rank == 4) {
        heads = n->in[Q].shape.dim[1];
        kv_heads = n->in[K].shape.dim[1];
        if (n->in[V].shape.dim[1] != kv_heads)
            return as_refuse(env, n, "K is %s and V is %s: they must have the same heads", AS_SHOW(&n->in[K].shape),
                             AS_SHOW(&n->in[V].shape));
    }
    if (kv_heads < 1 || heads % kv_heads)
        return as_refuse(env, n, "%lld heads of queries share %lld heads of keys, which must divide them", (long long)heads,
                         (long long)kv_heads);
    return ASSAY_OK;
}

static assay_status check(assay_env *env, const as_node_ctx *n)
{
    int64_t precision = as_attr_int(n, "softmax_precision", 1), mode = as_attr_int(n, "qk_matmul_output_mode", 0);
    AS_TRY(as_rule_dtype(env, n, Q, 2, AS_SET_FLOAT));
    AS_TRY(as_rule_dtype(env, n, V, 1, AS_SET_FLOAT));
    AS_TRY(heads_check(env, n));
    if (as_in_has(n, PAST_KEY) != as_in_has(n, PAST_VALUE) || (as_in_has(n, PAST_KEY) && as_in_has(n, NONPAD)))
        return as_refuse(env, n, "past_key and past_value come together, and not with nonpad_kv_seqlen");
    if (as_in_has(n, MASK) && (n->in[MASK].shape.rank < 1 || n->in[MASK].shape.rank > 4))
        return as_refuse(env, n, "attn_mask is %s and must have rank 1 to 4", AS_SHOW(&n->in[MASK].shape));
    if (precision != 1 && precision != 10 && precision != 11 && precision != 16)
        return as_refuse(env, n, "softmax_precision is %lld and must be 1 (f32), 10 (f16), 11 (f64) or 16 (bf16)",
                         (long long)precision);
    if (mode < 0 || mode > 3)
        return as_refuse(env, n, "qk_matmul_output_mode is %lld and must be 0 to 3", (long long)mode);
    if (as_attr_int(n, "left_window_size", -1) < -1 || as_attr_int(n, "right_window_size", -1) < -1)
        return as_refuse(env, n, "left_window_size and right_window_size must be -1 (none) or at least 0");
    return ASSAY_OK;
}

/* The mask: a float one is added, a bool one says which keys are seen; one that is too short hides the keys beyond it. */
static void mask_set(as_builder *b, int mask, as_attention *a)
{
    if (mask < 0)
        return;
    bool    is_bool = as_b_info(b, mask).dtype == AS_BOOL;
    int64_t missing = as_b_dim(b, mask, -1) == 1 ? 0 : as_b_dim(b, a->k, 2) - as_b_dim(b, mask, -1);
    mask = as_b_longer(b, mask, missing, is_bool ? 0.0 : -INFINITY);
    a->may_be_empty = true;
    if (is_bool)
        a->allowed = as_b_both(b, a->allowed, mask);
    else
        a->bias = as_b_cast(b, mask, as_b_info(b, a->q).dtype);
}

/* Positions: causal, windows, and padding behind nonpad_kv_seqlen. */
static void band_set(as_builder *b, const as_node_ctx *n, const int *in, as_attention *a)
{
    int64_t left = as_attr_int(n, "left_window_size", -1), right = as_attr_int(n, "right_window_size", -1);
    bool    is_causal = as_attr_int(n, "is_causal", 0) != 0;
    as_band band = {.n_queries = as_b_dim(b, a->q, 2), .n_keys = as_b_dim(b, a->k, 2), .offset = -1};
    int64_t widest = band.n_queries + band.n_keys; /* beyond it a window hides nothing, and sums stay in range */
    band.begin = as_in_has(n, PAST_KEY) ? as_b_dim(b, in[PAST_KEY], 2) : 0;
    band.has_low = left >= 0;
    band.low = -(left < widest ? left : widest);
    band.has_high = is_causal || right >= 0;
    band.high = is_causal ? 0 : right < widest ? right : widest;
    a->may_be_empty |= left >= 0 || right >= 0;
    if (as_in_has(n, NONPAD)) {
        int valid = AS_TO_SHAPE(b, as_b_cast(b, in[NONPAD], AS_I64), as_b_dim(b, a->q, 0), 1, 1, 1);
        band.offset = as_b_with(b, "Sub", valid, (double)band.n_queries);
        a->allowed = as_b_both(b, a->allowed, AS_MAKE(b, "Less", as_b_count(b, band.n_keys), valid));
        a->may_be_empty = true;
    }
    a->allowed = as_b_both(b, a->allowed, as_b_band(b, &band));
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    AS_TRY(check(b->env, n));
    bool         is_flat = n->in[Q].shape.rank == 3;
    as_attention a = {.q = in[Q], .k = in[K], .v = in[V], .bias = -1, .allowed = -1, .softcap = as_attr_float(n, "softcap", 0.0)};
    if (as_attr_find(n, "softmax_precision"))
        a.softmax_as = as_dtype_of_code(as_attr_int(n, "softmax_precision", 1));
    if (is_flat) {
        a.q = as_b_heads_split(b, a.q, as_attr_int(n, "q_num_heads", 0));
        a.k = as_b_heads_split(b, a.k, as_attr_int(n, "kv_num_heads", 0));
        a.v = as_b_heads_split(b, a.v, as_attr_int(n, "kv_num_heads", 0));
    }
    if (as_in_has(n, PAST_KEY)) {
        a.k = as_b_join(b, 2, in[PAST_KEY], a.k);
        a.v = as_b_join(b, 2, in[PAST_VALUE], a.v);
    }
    a.v = as_b_cast(b, a.v, n->in[Q].dtype);
    a.scale = as_attr_float(n, "scale", 1.0 / sqrt((double)as_b_dim(b, a.q, 3)));
    mask_set(b, as_in_has(n, MASK) ? in[MASK] : -1, &a);
    band_set(b, n, in, &a);
    as_b_attention(b, &a);
    const int stages[] = {a.raw, a.capped, a.biased, a.probs};
    out[0] = is_flat ? as_b_heads_join(b, a.y) : a.y;
    if (n->n_out > 1)
        out[1] = a.k;
    if (n->n_out > 2)
        out[2] = a.v;
    if (n->n_out > 3)
        out[3] = stages[as_attr_int(n, "qk_matmul_output_mode", 0)];
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "heads",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 2, 3, 4), AS_IN(F32, 1, 2, 5, 4), AS_IN(F32, 1, 2, 5, 2)},
     AS_GIVEN(-0.850000024, 0.560000002, -0.119999997, 0.449999988, 0.959999979, 0.0799999982, 0, -0.860000014, -0.460000008, 0,
              0.360000014, 0.610000014, -0.239999995, -0.870000005, -0.419999987, 0.819999993, -0.569999993, -0.100000001,
              0.860000014, -0.949999988, 0.200000003, 0.899999976, -0.540000021, 0.100000001, 0.819999993, -0.730000019,
              0.0500000007, 0.5, 0.340000004, -0.0599999987, -0.589999974, -0.0199999996, -0.25999999, -0.0500000007, -0.270000011,
              0.680000007, 0.540000021, -0.370000005, 0.150000006, -0.449999988, -0.0900000036, -0.289999992, 0.310000002,
              -0.25999999, -0.0799999982, 0.439999998, -0.170000002, 0.810000002, -0.639999986, 0.479999989, -0.159999996,
              -0.150000006, 0.270000011, 0.0500000007, -0.170000002, -1, -0.819999993, 0.419999987, 0.0500000007, 0.389999986,
              0.910000026, 0.370000005, -0.889999986, -0.379999995, 0.189999998, -0.529999971, 0.930000007, 0.889999986,
              0.699999988, -0.0599999987, 0.680000007, -0.74000001, -0.379999995, -0.0700000003, 0.479999989, -0.0299999993,
              -0.730000019, -0.310000002, -0.349999994, -0.400000006, -0.670000017, -0.170000002, -0.100000001, 0.550000012),
     AS_WANT(0.448173076, -0.0400494896, 0.43374595, -0.146356717, 0.410480738, -0.105541274, -0.233593211, -0.067789264,
             -0.371034354, -0.159253836, -0.241984546, -0.0213635378)},
    /* By the ONNX reference evaluator. */
    {.name = "grouped and causal",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 4, 3, 2), AS_IN(F32, 1, 2, 3, 2), AS_IN(F32, 1, 2, 3, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("is_causal", 1), AS_ATTR_F("softcap", 0.5)},
     AS_GIVEN(0.589999974, 0.0399999991, -0.0799999982, 0.560000002, 0.769999981, 0.349999994, 0.600000024, 0.879999995,
              -0.920000017, 0.75, -0.449999988, -0.0500000007, 0.589999974, 0.430000007, -0.709999979, 0.319999993, -0.860000014,
              -0.289999992, 0.629999995, -0.140000001, 0.200000003, 0.460000008, 0.639999986, 0.519999981, -0.99000001,
              -0.159999996, -0.0700000003, -0.889999986, 0.0799999982, 0.219999999, 0.660000026, 0.879999995, -0.74000001,
              -0.540000021, 0.319999993, -0.74000001, -0.550000012, 0.150000006, -0.660000026, 0.560000002, 0.709999979,
              -0.930000007, 0.0700000003, 0.589999974, 0.949999988, -0.449999988, -0.660000026, 0.75),
     AS_WANT(-0.550000012, 0.150000006, -0.596976697, 0.325094998, -0.0404373296, -0.189284161, -0.550000012, 0.150000006,
             -0.58529532, 0.281555265, -0.220733598, -0.0327828415, 0.0700000003, 0.589999974, 0.588304102, -0.0225412119,
             0.268358529, 0.139694393, 0.0700000003, 0.589999974, 0.386975825, 0.215392143, 0.0534208715, 0.408438623)},
    /* By the ONNX reference evaluator. */
    {.name = "a query that sees nothing",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 2, 3, 4), AS_IN(F32, 1, 2, 5, 4), AS_IN(F32, 1, 2, 5, 2), AS_IN(BOOL, 3, 5)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("scale", 0.3)},
     AS_GIVEN(-0.850000024, 0.560000002, -0.119999997, 0.449999988, 0.959999979, 0.0799999982, 0, -0.860000014, -0.460000008, 0,
              0.360000014, 0.610000014, -0.239999995, -0.870000005, -0.419999987, 0.819999993, -0.569999993, -0.100000001,
              0.860000014, -0.949999988, 0.200000003, 0.899999976, -0.540000021, 0.100000001, 0.819999993, -0.730000019,
              0.0500000007, 0.5, 0.340000004, -0.0599999987, -0.589999974, -0.0199999996, -0.25999999, -0.0500000007, -0.270000011,
              0.680000007, 0.540000021, -0.370000005, 0.150000006, -0.449999988, -0.0900000036, -0.289999992, 0.310000002,
              -0.25999999, -0.0799999982, 0.439999998, -0.170000002, 0.810000002, -0.639999986, 0.479999989, -0.159999996,
              -0.150000006, 0.270000011, 0.0500000007, -0.170000002, -1, -0.819999993, 0.419999987, 0.0500000007, 0.389999986,
              0.910000026, 0.370000005, -0.889999986, -0.379999995, 0.189999998, -0.529999971, 0.930000007, 0.889999986,
              0.699999988, -0.0599999987, 0.680000007, -0.74000001, -0.379999995, -0.0700000003, 0.479999989, -0.0299999993,
              -0.730000019, -0.310000002, -0.349999994, -0.400000006, -0.670000017, -0.170000002, -0.100000001, 0.550000012, 1, 0,
              1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1),
     AS_WANT(0.549871981, -0.385754913, 0, 0, 0.414898992, -0.104189001, -0.146927774, -0.177277908, 0, 0, -0.254859209,
             -0.0422848091)},
    /* By the ONNX reference evaluator. */
    {.name = "a cache and a float mask",
     .n_in = 6,
     .in = {AS_IN(F32, 2, 2, 4), AS_IN(F32, 2, 2, 2), AS_IN(F32, 2, 2, 2), AS_IN(F32, 2, 5), AS_IN(F32, 2, 1, 3, 2),
            AS_IN(F32, 2, 1, 3, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("q_num_heads", 2), AS_ATTR_I("kv_num_heads", 1), AS_ATTR_I("is_causal", 1)},
     AS_GIVEN(0.819999993, -0.600000024, -0.119999997, 0.439999998, 0.689999998, -0.660000026, 0.330000013, 0.620000005,
              0.100000001, -0.670000017, -0.930000007, -0.439999998, 0.620000005, -0.910000026, -0.980000019, -0.280000001,
              -0.870000005, -0.699999988, -0.949999988, 0.0500000007, 0.389999986, -0.150000006, -0.730000019, -0.340000004,
              0.180000007, 0.879999995, 0.99000001, -0.519999981, -0.980000019, 0.660000026, 0.850000024, -0.0799999982,
              0.540000021, 0.730000019, 0.219999999, 0.75, -0.949999988, -0.460000008, -0.449999988, -0.75999999, 0.819999993,
              -0.939999998, 0.349999994, -0.860000014, -0.280000001, -0.159999996, -0.639999986, 0.0399999991, 0.0700000003,
              -0.370000005, 0.469999999, -0.680000007, -0.610000014, -0.289999992, -0.239999995, -0.589999974, 0.839999974,
              0.660000026, -0.790000021, -0.25999999, -0.529999971, -0.100000001, -0.449999988, 0, 0.850000024, -0.230000004),
     AS_WANT(0.0669881254, 0.100768067, 0.103683129, 0.286162555, 0.132756099, 0.306755513, 0.190152824, 0.326058507, -0.406738847,
             0.117145218, -0.237127706, 0.0642826483, -0.556864202, 0.301871508, -0.249074712, 0.200588226)},
    /* By the ONNX reference evaluator. */
    {.name = "padding behind the keys",
     .n_in = 7,
     .in = {AS_IN(F32, 2, 1, 2, 2),
            AS_IN(F32, 2, 1, 4, 2),
            AS_IN(F32, 2, 1, 4, 2),
            {.dtype = AS_NONE},
            {.dtype = AS_NONE},
            {.dtype = AS_NONE},
            AS_IN(I64, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("is_causal", 1)},
     AS_GIVEN(0.300000012, 0.189999998, 0.5, -0.879999995, 0.49000001, 0.889999986, 0.209999993, -0.419999987, 0.340000004,
              0.419999987, 0.310000002, -0.709999979, 0.949999988, 0.910000026, -0.150000006, 0.189999998, -0.920000017,
              0.980000019, 0.639999986, 0.270000011, 0.519999981, -0.620000005, -0.379999995, -0.50999999, 0.189999998,
              -0.819999993, 0.790000021, -0.0799999982, -0.109999999, -0.790000021, 0.370000005, 0.629999995, 0.25999999,
              -0.519999981, 0.569999993, -0.709999979, 0.649999976, 0.159999996, -0.419999987, 0.0299999993, 2, 4),
     AS_WANT(0.189999998, -0.819999993, 0.58991909, -0.326766461, 0.473010898, -0.445739299, 0.278037131, -0.201433092)},
    /* By the ONNX reference evaluator. */
    {.name = "a window",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 1, 4, 2), AS_IN(F32, 1, 1, 4, 2), AS_IN(F32, 1, 1, 4, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("left_window_size", 1), AS_ATTR_I("right_window_size", 1)},
     AS_GIVEN(0.25999999, -0.479999989, 0.689999998, -0.159999996, 0.779999971, 0.670000017, -0.800000012, 0.289999992,
              -0.379999995, 0.50999999, 0.0900000036, -0.0799999982, 0.790000021, -0.889999986, 0.109999999, -0.340000004,
              -0.930000007, 0.50999999, 0.119999997, 0.790000021, 0.200000003, -0.330000013, 0.970000029, -0.769999981),
     AS_WANT(-0.330262601, 0.669929981, -0.0801149085, 0.200980797, 0.410034716, -0.0790966824, 0.678832054, -0.603618324)},
    {.name = "f16",
     .n_in = 3,
     .in = {AS_IN(F16, 1, 1, 3, 2), AS_IN(F16, 1, 1, 3, 2), AS_IN(F16, 1, 1, 3, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("softmax_precision", 1)}},
    {.name = "an empty cache",
     .n_in = 6,
     .in = {AS_IN(F32, 1, 1, 2, 4),
            AS_IN(F32, 1, 1, 2, 4),
            AS_IN(F32, 1, 1, 2, 4),
            {.dtype = AS_NONE},
            AS_IN(F32, 1, 1, 0, 4),
            AS_IN(F32, 1, 1, 0, 4)}},
};

const as_op as_op_attention = {
    .name = "Attention",
    .min_in = 3,
    .max_in = 7,
    .min_out = 1,
    .max_out = 4,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
