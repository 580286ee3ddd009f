/* op_ms_rotaryembedding.c - rotary positions: positions are a first one, or one per sample and token. */
#include "op/contrib/contrib.h"

enum { X, POSITIONS, COS, SIN };

static const as_attr_def attrs[] = {
    {.name = "interleaved", .kind = AS_ATTR_INT},
    {.name = "is_packed_batching", .kind = AS_ATTR_INT},
    {.name = "num_heads", .kind = AS_ATTR_INT},
    {.name = "scale", .kind = AS_ATTR_FLOAT},
    {.name = "rotary_embedding_dim", .kind = AS_ATTR_INT},
    {0},
};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    const as_shape *x = &n->in[X].shape, *table = &n->in[COS].shape;
    int64_t         dim = as_attr_int(n, "rotary_embedding_dim", 0), heads = as_attr_int(n, "num_heads", 0);
    AS_TRY(as_rule_dtype(b->env, n, X, 1, AS_SET_FLOAT));
    if (as_attr_int(n, "is_packed_batching", 0) || (as_attr_find(n, "scale") && as_attr_float(n, "scale", 1.0) != 1.0))
        return as_refuse(b->env, n, "is_packed_batching and a scale other than 1 are not supported");
    if ((x->rank != 3 && x->rank != 4) || table->rank != 2 || table->dim[1] < 1 || table->dim[1] > INT32_MAX)
        return as_refuse(
            b->env, n,
            "X is %s and cos_cache %s: they must be [batch, sequence, hidden] or [batch, heads, sequence, size], and [positions, half]",
            AS_SHOW(x), AS_SHOW(table));
    dim = dim ? dim : 2 * table->dim[1];
    if (x->rank == 3) {
        heads = heads > 0 ? heads : x->dim[2] / dim; /* without num_heads the whole head turns */
        AS_TRY(as_heads_check(b->env, n, X, "X", heads));
    }
    int64_t size = x->rank == 3 ? x->dim[2] / heads : x->dim[3], length = x->rank == 3 ? x->dim[1] : x->dim[2];
    if (dim < 2 || dim % 2 || dim > size || dim != 2 * table->dim[1])
        return as_refuse(b->env, n,
                         "rotary_embedding_dim is %lld; it must be twice the width of cos_cache and at most the %lld of a head",
                         (long long)dim, (long long)size);
    int at = as_shape_count(&n->in[POSITIONS].shape) == 1
                 ? AS_MAKE(b, "Add", AS_TO_SHAPE(b, as_b_count(b, length), 1, length), AS_TO_SHAPE(b, in[POSITIONS], 1, 1))
                 : in[POSITIONS];
    int cos = as_b_wider(b, AS_MAKE(b, "Gather", in[COS], at), 1), sin = as_b_wider(b, AS_MAKE(b, "Gather", in[SIN], at), 1);
    int y = as_b_rotate(b, x->rank == 3 ? as_b_heads_split(b, in[X], heads) : in[X], cos, sin, dim,
                        as_attr_int(n, "interleaved", 0) != 0);
    out[0] = x->rank == 3 ? as_b_heads_join(b, y) : y;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "a first position",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 2, 8), AS_IN(I64, 1), AS_IN(F32, 8, 2), AS_IN(F32, 8, 2)},
     AS_GIVEN(-0.639999986, 0.600000024, -0.850000024, -0.180000007, 0.150000006, -0.50999999, 0.769999981, 0.389999986,
              -0.680000007, -0.689999998, -0.879999995, 0.140000001, -0.629999995, 0.0900000036, 0.639999986, 0.75999999, 2,
              -0.769999981, -0.340000004, -0.170000002, -0.230000004, -0.159999996, -0.0799999982, 0.50999999, -0.389999986,
              -0.310000002, -0.219999999, -0.699999988, 0.25999999, -0.200000003, 0.829999983, 0.639999986, -0.540000021,
              -0.519999981, 0.560000002, 0.119999997, -0.980000019, 0.25999999, -0.209999993, 0.569999993, 0.49000001, 0.839999974,
              0.400000006, 0.829999983, -0.430000007, -0.319999993, -0.879999995, 0.730000019, -0.689999998),
     AS_WANT(0.323399991, -0.0857999995, -0.0303999819, -0.111599997, -0.224199995, 0.122699991, -0.0841999948, 0.0758999959,
             0.154799968, 0.200499997, -0.836399972, -0.392700016, -0.686099946, -0.407500029, -0.0327000096, -0.252299964)},
    /* By ONNX Runtime. */
    {.name = "interleaved",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 2, 3, 4), AS_IN(I64, 1, 3), AS_IN(F32, 8, 2), AS_IN(F32, 8, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("interleaved", 1)},
     AS_GIVEN(0.100000001, 0.0199999996, 0.629999995, -0.219999999, -0.709999979, -0.230000004, -0.899999976, -0.400000006,
              0.25999999, -0.889999986, 0.980000019, 0.0700000003, -0.400000006, 0.670000017, -0.730000019, -0.360000014,
              0.870000005, -0.519999981, 0.469999999, -0.839999974, 0.0599999987, 0.319999993, -0.579999983, -0.340000004, 4, 7, 0,
              0.370000005, -1, 0.140000001, 0.540000021, -0.00999999978, -0.779999971, 0.449999988, 0.879999995, -0.460000008,
              0.439999998, 0.550000012, 0.0399999991, 0.0700000003, 0.810000002, -0.200000003, 0, -0.49000001, 0.360000014,
              0.569999993, -0.239999995, 0.670000017, 0.629999995, 0.270000011, -0.340000004, -0.870000005, -0.660000026,
              0.360000014, -0.389999986, -0.50999999, 0.689999998, 0.819999993, 0.140000001),
     AS_WANT(-0.0286000017, -0.0962000042, 0.131999984, -0.512600005, 0.330599993, -0.536199987, 0.0560000017, -0.126000002,
             -0.339900017, -0.456699997, -1.00520003, 0.282800019, 0.766900063, 0.0398000069, -0.558800042, 0.323400021,
             0.252399981, 0.817399979, 0.117599994, 0.0658000037, 0.179000005, 0.0890000015, 0.702399969, 0.131200001)},
};

const as_op as_op_ms_rotaryembedding = {
    .name = "com.microsoft.RotaryEmbedding",
    .min_in = 4,
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
