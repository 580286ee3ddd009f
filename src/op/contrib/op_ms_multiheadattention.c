/* op_ms_multiheadattention.c - attention over given queries, keys and values: apart, or packed in one or two tensors; with a bias of the
 * projections, masks and a cache. */
#include <math.h>

#include "op/contrib/contrib.h"

enum { QUERY, KEY, VALUE, BIAS, MASK, ADDED, PAST_KEY, PAST_VALUE };

static const as_attr_def attrs[] = {
    {.name = "mask_filter_value", .kind = AS_ATTR_FLOAT},
    {.name = "num_heads", .kind = AS_ATTR_INT, .required = true},
    {.name = "scale", .kind = AS_ATTR_FLOAT},
    {.name = "unidirectional", .kind = AS_ATTR_INT},
    {0},
};

/* Element k of the axis before the last of [B, S, heads, parts, D], as [B, heads, S, D]. */
static int packed_part(as_builder *b, int x, int64_t k)
{
    int64_t batch = as_b_dim(b, x, 0), length = as_b_dim(b, x, 1), heads = as_b_dim(b, x, 2), size = as_b_dim(b, x, 4);
    return AS_TURN(b, AS_TO_SHAPE(b, as_b_cut(b, x, 3, k, k + 1, 1), batch, length, heads, size), 0, 2, 1, 3);
}

/* A 3-D tensor with its part of the bias, as heads; a 4-D one is heads already. */
static int as_heads(as_builder *b, const as_node_ctx *n, const int *in, int i, int64_t heads, int64_t begin)
{
    int x = in[i];
    if (as_b_info(b, x).shape.rank == 4)
        return x;
    if (as_in_has(n, BIAS))
        x = AS_MAKE(b, "Add", x, as_b_cut(b, in[BIAS], 0, begin, begin + as_b_dim(b, x, 2), 1));
    return as_b_heads_split(b, x, heads);
}

static assay_status operands(as_builder *b, const as_node_ctx *n, const int *in, int64_t heads, as_attention *a)
{
    int q_rank = n->in[QUERY].shape.rank, k_rank = as_in_has(n, KEY) ? n->in[KEY].shape.rank : 0;
    if (q_rank == 5 && n->in[QUERY].shape.dim[2] == heads && n->in[QUERY].shape.dim[3] == 3 && !as_in_has(n, BIAS)) {
        a->q = packed_part(b, in[QUERY], 0);
        a->k = packed_part(b, in[QUERY], 1);
        a->v = packed_part(b, in[QUERY], 2);
        return ASSAY_OK;
    }
    AS_TRY(as_heads_check(b->env, n, QUERY, "query", heads));
    a->q = as_heads(b, n, in, QUERY, heads, 0);
    if (k_rank == 5 && n->in[KEY].shape.dim[2] == heads && n->in[KEY].shape.dim[3] == 2 && !as_in_has(n, BIAS)) {
        a->k = packed_part(b, in[KEY], 0);
        a->v = packed_part(b, in[KEY], 1);
        return ASSAY_OK;
    }
    if ((k_rank != 3 && k_rank != 4) || !as_in_has(n, VALUE) || n->in[VALUE].shape.rank != k_rank ||
        (k_rank == 4 && n->in[KEY].shape.dim[1] != heads))
        return as_refuse(b->env, n,
                         "query, key and value do not have one of the forms that are supported: apart, or packed without a bias");
    for (int i = KEY; k_rank == 3 && i <= VALUE; i++)
        AS_TRY(as_heads_check(b->env, n, i, i == KEY ? "key" : "value", heads));
    a->k = as_heads(b, n, in, KEY, heads, n->in[QUERY].shape.dim[2]);
    a->v = as_heads(b, n, in, VALUE, heads, k_rank == 3 ? n->in[QUERY].shape.dim[2] + n->in[KEY].shape.dim[2] : 0);
    return ASSAY_OK;
}

/* [B] lengths, [B, keys] or [B, queries, keys] of ones and zeros; [B, 1 or heads, queries, keys] too. */
static assay_status mask_add(as_builder *b, const as_node_ctx *n, const int *in, as_attention *a)
{
    double          filter = as_attr_float(n, "mask_filter_value", -10000.0);
    as_dtype        dtype = as_b_info(b, a->q).dtype;
    const as_shape *mask = &n->in[MASK].shape;
    int64_t         batch = as_b_dim(b, a->q, 0), keys = as_b_dim(b, a->k, 2);
    int             x = in[MASK];
    if (mask->rank == 1 && mask->dim[0] == batch)
        x = AS_MAKE(b, "Less", as_b_count(b, keys), as_b_cast(b, AS_TO_SHAPE(b, x, batch, 1, 1, 1), AS_I64));
    else if (mask->rank == 2)
        x = AS_TO_SHAPE(b, x, mask->dim[0], 1, 1, mask->dim[1]);
    else if (mask->rank == 3)
        x = as_b_wider(b, x, 1);
    else if (mask->rank != 4)
        return as_refuse(b->env, n, "key_padding_mask is %s, which is not supported", AS_SHOW(mask));
    int bias = as_b_mask_bias(b, x, filter, dtype);
    a->bias = a->bias < 0 ? bias : AS_MAKE(b, "Add", a->bias, bias);
    return ASSAY_OK;
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    int64_t      heads = as_attr_int(n, "num_heads", 0);
    as_attention a = {.bias = as_in_or_none(n, in, ADDED), .allowed = -1};
    AS_TRY(as_rule_dtype(b->env, n, QUERY, 1, AS_SET_FLOAT));
    if (heads < 1 || as_in_has(n, PAST_KEY) != as_in_has(n, PAST_VALUE))
        return as_refuse(b->env, n, "num_heads is %lld; it must be at least 1, and past_key and past_value come together",
                         (long long)heads);
    AS_TRY(operands(b, n, in, heads, &a));
    int64_t before = as_in_has(n, PAST_KEY) ? as_b_dim(b, in[PAST_KEY], 2) : 0;
    if (as_in_has(n, PAST_KEY)) {
        a.k = as_b_join(b, 2, in[PAST_KEY], a.k);
        a.v = as_b_join(b, 2, in[PAST_VALUE], a.v);
    }
    double scale = as_attr_float(n, "scale", 0.0);
    a.scale = scale != 0.0 ? scale : 1.0 / sqrt((double)as_b_dim(b, a.q, 3));
    if (as_in_has(n, MASK))
        AS_TRY(mask_add(b, n, in, &a));
    if (as_attr_int(n, "unidirectional", 0)) {
        as_band band = {
            .n_queries = as_b_dim(b, a.q, 2), .n_keys = as_b_dim(b, a.k, 2), .begin = before, .offset = -1, .has_high = true};
        a.allowed = as_b_band(b, &band);
    }
    as_b_attention(b, &a);
    const int more[] = {a.k, a.v, a.raw};
    out[0] = as_b_heads_join(b, a.y);
    for (int i = 1; i < n->n_out; i++)
        out[i] = more[i - 1];
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "apart with a bias",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 2, 4), AS_IN(F32, 1, 3, 4), AS_IN(F32, 1, 3, 4), AS_IN(F32, 12)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("num_heads", 2)},
     AS_GIVEN(-0.49000001, -0.219999999, -0.899999976, -0.75999999, 0.5, -0.819999993, 0.810000002, 0.180000007, 0.779999971,
              -0.0700000003, 0.430000007, 0.529999971, -0.0299999993, -0.469999999, 0.280000001, -0.449999988, 0.550000012,
              -0.939999998, 0.0900000036, -0.0599999987, 0.449999988, 0.600000024, 0.800000012, -0.610000014, 0.730000019,
              0.560000002, 0.200000003, 0.560000002, -0.479999989, 0.850000024, 0.949999988, -0.180000007, -0.349999994,
              0.100000001, -0.839999974, 0.400000006, -0.340000004, -0.360000014, -0.889999986, -0.649999976, -0.75999999,
              -0.379999995, 0.439999998, 0.939999998),
     AS_WANT(-0.48379311, 0.281823874, 1.08655107, 0.925267875, -0.611362457, 0.311897308, 1.1246084, 0.787077725)},
    /* By ONNX Runtime. */
    {.name = "a mask",
     .n_in = 5,
     .in = {AS_IN(F32, 1, 2, 4), AS_IN(F32, 1, 3, 4), AS_IN(F32, 1, 3, 4), {.dtype = AS_NONE}, AS_IN(I32, 1, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("num_heads", 2)},
     AS_GIVEN(-0.49000001, -0.219999999, -0.899999976, -0.75999999, 0.5, -0.819999993, 0.810000002, 0.180000007, 0.779999971,
              -0.0700000003, 0.430000007, 0.529999971, -0.0299999993, -0.469999999, 0.280000001, -0.449999988, 0.550000012,
              -0.939999998, 0.0900000036, -0.0599999987, 0.449999988, 0.600000024, 0.800000012, -0.610000014, 0.730000019,
              0.560000002, 0.200000003, 0.560000002, -0.479999989, 0.850000024, 0.949999988, -0.180000007, 1, 1, 0),
     AS_WANT(0.613768935, 0.576604426, 0.409580678, 0.151317656, 0.586189687, 0.580544353, 0.531480789, -0.0863874927)},
    /* By ONNX Runtime. */
    {.name = "packed",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 3, 2, 3, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("num_heads", 2)},
     AS_GIVEN(-0.519999981, -0.819999993, 0.0900000036, 0.980000019, 0.569999993, 0.00999999978, -0.180000007, 0.839999974,
              0.280000001, 0.810000002, 0.649999976, -0.219999999, 0.910000026, -0.629999995, 0.270000011, -0.620000005,
              -0.280000001, -0.150000006, 0.550000012, 0.860000014, -0.959999979, -0.409999996, 0.280000001, -0.289999992,
              -0.0299999993, -0.800000012, -0.349999994, 0.980000019, -0.660000026, -0.389999986, -0.649999976, -0.330000013,
              -0.25999999, 0.720000029, 0.109999999, -0.0399999991),
     AS_WANT(-0.191221401, -0.17689015, 0.356424719, -0.16460979, -0.140591726, -0.155149519, 0.396202356, -0.162974969,
             -0.175701424, -0.168391839, 0.311653465, -0.20474641)},
    /* By ONNX Runtime. */
    {.name = "a cache and a bias of the scores",
     .n_in = 8,
     .in = {AS_IN(F32, 1, 2, 4),
            AS_IN(F32, 1, 2, 4),
            AS_IN(F32, 1, 2, 4),
            {.dtype = AS_NONE},
            {.dtype = AS_NONE},
            AS_IN(F32, 1, 2, 2, 5),
            AS_IN(F32, 1, 2, 3, 2),
            AS_IN(F32, 1, 2, 3, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("num_heads", 2)},
     AS_GIVEN(-0.49000001, -0.219999999, -0.899999976, -0.75999999, 0.5, -0.819999993, 0.810000002, 0.180000007, 0.419999987,
              -0.959999979, -0.430000007, -0.75999999, 0.99000001, 0.639999986, 0.25999999, -0.75999999, 0.949999988, -0.75,
              0.379999995, 0.119999997, -0.560000002, 0.550000012, -0.75, 0.600000024, -0.159999996, -0.870000005, -0.569999993,
              0.620000005, -0.0599999987, -0.889999986, 0.270000011, -0.75999999, -0.649999976, 0.129999995, 0.74000001,
              -0.720000029, 0.639999986, 0.370000005, 0.949999988, 0.129999995, -0.449999988, 0.200000003, -0.340000004,
              0.400000006, 0.810000002, -0.540000021, 0.829999983, -0.0599999987, -0.389999986, 0.370000005, -0.50999999,
              -0.670000017, -0.920000017, -0.389999986, 0.100000001, -0.0299999993, 0.340000004, 0.910000026, -0.189999998,
              0.389999986, -0.50999999, 0.0500000007, -0.800000012, -0.129999995, -0.140000001, 0.0500000007, 0.879999995,
              0.0900000036),
     AS_WANT(0.317126125, -0.0672096461, -0.24758856, 0.151333287, 0.0237624366, 0.242174402, -0.117184259, 0.230003044)},
    /* By ONNX Runtime. */
    {.name = "one direction",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 3, 4), AS_IN(F32, 1, 3, 4), AS_IN(F32, 1, 3, 4)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("num_heads", 2), AS_ATTR_I("unidirectional", 1)},
     AS_GIVEN(-0.300000012, 0.5, 0.25, 0.689999998, 0.930000007, -0.949999988, -0.829999983, 0.449999988, 0.589999974, 0.939999998,
              -0.460000008, 0.529999971, 0.779999971, -0.0700000003, 0.430000007, 0.529999971, -0.0299999993, -0.469999999,
              0.280000001, -0.449999988, 0.550000012, -0.939999998, 0.0900000036, -0.0599999987, 0.449999988, 0.600000024,
              0.800000012, -0.610000014, 0.730000019, 0.560000002, 0.200000003, 0.560000002, -0.479999989, 0.850000024, 0.949999988,
              -0.180000007),
     AS_WANT(0.449999988, 0.600000024, 0.800000012, -0.610000014, 0.571629107, 0.582624435, 0.533430457, -0.0901894197, 0.293991506,
             0.651315153, 0.684830308, -0.138756067)},
};

const as_op as_op_ms_multiheadattention = {
    .name = "com.microsoft.MultiHeadAttention",
    .min_in = 1,
    .max_in = 8,
    .min_out = 1,
    .max_out = 4,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
