/* op_ms_attention.c - projections of one input to queries, keys and values, and attention over them, with masks and a cache of both. */
#include <math.h>

#include "op/contrib/contrib.h"

enum { X, W, BIAS, MASK, PAST, ADDED };

static const as_attr_def attrs[] = {
    {.name = "do_rotary", .kind = AS_ATTR_INT},
    {.name = "mask_filter_value", .kind = AS_ATTR_FLOAT},
    {.name = "num_heads", .kind = AS_ATTR_INT, .required = true},
    {.name = "past_present_share_buffer", .kind = AS_ATTR_INT},
    {.name = "qkv_hidden_sizes", .kind = AS_ATTR_INTS},
    {.name = "rotary_embedding_dim", .kind = AS_ATTR_INT},
    {.name = "scale", .kind = AS_ATTR_FLOAT},
    {.name = "unidirectional", .kind = AS_ATTR_INT},
    {0},
};

typedef struct sizes {
    int64_t batch, length, before, total, heads, each[3];
} sizes;

static assay_status sizes_read(assay_env *env, const as_node_ctx *n, sizes *s)
{
    const as_shape *x = &n->in[X].shape, *w = &n->in[W].shape;
    AS_TRY(as_rule_dtype(env, n, X, 2, AS_SET_FLOAT));
    if (x->rank != 3 || w->rank != 2)
        return as_refuse(env, n, "input is %s and weights %s: they must be [batch, sequence, inputs] and [inputs, sum of sizes]",
                         AS_SHOW(x), AS_SHOW(w));
    if (as_attr_int(n, "do_rotary", 0) || as_attr_int(n, "past_present_share_buffer", 0))
        return as_refuse(env, n, "do_rotary and past_present_share_buffer are not supported");
    *s = (sizes){.batch = x->dim[0], .length = x->dim[1], .heads = as_attr_int(n, "num_heads", 0)};
    for (int i = 0; i < 3; i++)
        s->each[i] = w->dim[1] / 3;
    if (as_attr_find(n, "qkv_hidden_sizes") && as_attr_ints(n, "qkv_hidden_sizes", s->each, 3) != 3)
        return as_refuse(env, n, "qkv_hidden_sizes must have 3 numbers");
    bool ok = s->heads >= 1 && w->dim[1] <= INT32_MAX;
    for (int i = 0; ok && i < 3; i++)
        ok = s->each[i] > 0 && s->each[i] <= w->dim[1] && s->each[i] % s->heads == 0;
    if (!ok || s->each[0] + s->each[1] + s->each[2] != w->dim[1])
        return as_refuse(
            env, n,
            "weights are %s: the sizes of queries, keys and values must be multiples of %lld heads, and their sum its columns",
            AS_SHOW(w), (long long)s->heads);
    if (as_in_has(n, PAST)) {
        if (n->in[PAST].shape.rank != 5 || n->in[PAST].shape.dim[0] != 2)
            return as_refuse(env, n, "past is %s and must be [2, batch, heads, past, size]", AS_SHOW(&n->in[PAST].shape));
        s->before = n->in[PAST].shape.dim[3];
    }
    s->total = s->before + s->length; /* sizes of tensors that exist: no overflow */
    return ASSAY_OK;
}

/* Half k of [2, B, heads, S, D]. */
static int half(as_builder *b, int x, int64_t k)
{
    return AS_TO_SHAPE(b, as_b_cut(b, x, 0, k, k + 1, 1), as_b_dim(b, x, 1), as_b_dim(b, x, 2), as_b_dim(b, x, 3),
                       as_b_dim(b, x, 4));
}

/* [B] ends, [2 B] ends and starts, [B, total], [B, queries, total] or [B, 1, maximum, maximum] of ones and zeros. */
static assay_status mask_set(as_builder *b, const as_node_ctx *n, const int *in, const sizes *s, as_attention *a)
{
    const as_shape *mask = &n->in[MASK].shape;
    int             x = in[MASK], key = as_b_count(b, s->total);
    if (mask->rank == 1 && (mask->dim[0] == s->batch || mask->dim[0] == 2 * s->batch)) {
        int all = as_b_cast(b, x, AS_I64), ends = as_b_cut(b, all, 0, 0, s->batch, 1);
        x = AS_MAKE(b, "Less", key, AS_TO_SHAPE(b, ends, s->batch, 1, 1, 1));
        if (mask->dim[0] == 2 * s->batch && s->batch)
            x = as_b_both(b, x,
                          AS_MAKE(b, "GreaterOrEqual", key,
                                  AS_TO_SHAPE(b, as_b_cut(b, all, 0, s->batch, 2 * s->batch, 1), s->batch, 1, 1, 1)));
    } else if (mask->rank == 2) {
        x = AS_TO_SHAPE(b, x, mask->dim[0], 1, 1, mask->dim[1]);
    } else if (mask->rank == 3) {
        x = as_b_wider(b, x, 1);
    } else if (mask->rank == 4) {
        x = as_b_cut(b, as_b_cut(b, x, 2, s->before, s->total, 1), 3, 0, s->total, 1);
    } else {
        return as_refuse(b->env, n, "mask_index is %s, which is not supported", AS_SHOW(mask));
    }
    int bias = as_b_mask_bias(b, x, as_attr_float(n, "mask_filter_value", -10000.0), n->in[X].dtype);
    a->bias = a->bias < 0 ? bias : AS_MAKE(b, "Add", a->bias, bias);
    return ASSAY_OK;
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    sizes        s;
    as_attention a = {.bias = as_in_or_none(n, in, ADDED), .allowed = -1};
    int         *parts[] = {&a.q, &a.k, &a.v};
    int64_t      begin = 0;
    AS_TRY(sizes_read(b->env, n, &s));
    int all = AS_MAKE(b, "MatMul", in[X], in[W]);
    all = as_in_has(n, BIAS) ? AS_MAKE(b, "Add", all, in[BIAS]) : all;
    for (int i = 0; i < 3; begin += s.each[i++])
        *parts[i] = as_b_heads_split(b, as_b_cut(b, all, 2, begin, begin + s.each[i], 1), s.heads);
    if (as_in_has(n, PAST)) {
        a.k = as_b_join(b, 2, half(b, in[PAST], 0), a.k);
        a.v = as_b_join(b, 2, half(b, in[PAST], 1), a.v);
    }
    double scale = as_attr_float(n, "scale", 0.0);
    a.scale = scale != 0.0 ? scale : 1.0 / sqrt((double)as_b_dim(b, a.q, 3));
    if (as_in_has(n, MASK))
        AS_TRY(mask_set(b, n, in, &s, &a));
    if (as_attr_int(n, "unidirectional", 0)) {
        as_band band = {.n_queries = s.length, .n_keys = s.total, .begin = s.before, .offset = -1, .has_high = true};
        a.allowed = as_b_band(b, &band);
    }
    as_b_attention(b, &a);
    out[0] = as_b_heads_join(b, a.y);
    if (n->n_out > 1)
        out[1] = as_b_join(b, 0, as_b_wider(b, a.k, 0), as_b_wider(b, a.v, 0));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "plain",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 3, 4), AS_IN(F32, 4, 12), AS_IN(F32, 12)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("num_heads", 2)},
     AS_GIVEN(-0.219999999, -0.769999981, 0.25, -0.469999999, 0.819999993, 0.649999976, -0.75, 0.819999993, -0.150000006,
              -0.109999999, 0.870000005, -0.560000002, -0.129999995, 0.790000021, -0.730000019, 0.170000002, 0.860000014,
              -0.689999998, -0.340000004, -0.0500000007, 0.270000011, 0.660000026, 0.140000001, -0.730000019, 0.200000003,
              0.409999996, 0.230000004, 0.980000019, 0.810000002, -0.239999995, -0.920000017, -0.699999988, -0.330000013,
              -0.280000001, -0.949999988, -0.959999979, -0.980000019, -0.479999989, 0.189999998, -0.230000004, 0.910000026,
              -0.689999998, -0.540000021, 0.660000026, -0.589999974, 0.850000024, -0.119999997, 0.430000007, -0.920000017,
              -0.670000017, 0.560000002, -0.379999995, 0.330000013, -1, -0.49000001, -0.949999988, 0.939999998, 0.219999999,
              0.159999996, 0.150000006, 0.340000004, 0.850000024, 0.0700000003, -0.579999983, -0.939999998, -0.379999995,
              -0.560000002, -0.670000017, 0.790000021, -0.310000002, 0.00999999978, -0.439999998),
     AS_WANT(0.596765578, -0.0672836676, -0.213858902, -1.62081313, 0.347291231, -0.0275375117, 0.0800210461, -0.406937659,
             0.50744766, -0.0605988316, -0.103604726, -1.17900741)},
    /* By ONNX Runtime. */
    {.name = "lengths",
     .n_in = 4,
     .in = {AS_IN(F32, 2, 3, 4), AS_IN(F32, 4, 12), AS_IN(F32, 12), AS_IN(I32, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("num_heads", 2)},
     AS_GIVEN(-0.100000001, 0.49000001, 0.800000012, 0.709999979, 0.560000002, -0.519999981, -0.270000011, 0.579999983, 0.529999971,
              -0.409999996, -0.349999994, 0.899999976, -0.00999999978, 0.310000002, 0.910000026, 0.860000014, -0.680000007,
              -0.25999999, 0.889999986, 0.379999995, 0.550000012, 0.639999986, -0.349999994, 0.0700000003, 0.930000007, 0.469999999,
              -0.159999996, -0.519999981, -0.850000024, -0.100000001, -0.389999986, 0.140000001, 0.959999979, -0.870000005,
              0.289999992, -0.589999974, -0.699999988, 0.75999999, -0.709999979, -0.980000019, 0.239999995, 0.970000029,
              0.439999998, 0.280000001, 0.819999993, 0.289999992, 0.119999997, 0.109999999, 0.680000007, -0.150000006, -0.25,
              -0.589999974, -0.379999995, -0.109999999, -0.959999979, -0.409999996, -1, -0.839999974, -0.310000002, 0.0599999987,
              -0.409999996, 0.689999998, -0.469999999, -0.360000014, -0.620000005, -0.209999993, -0.689999998, -0.579999983,
              -0.159999996, -0.850000024, 0.790000021, -0.0299999993, -0.239999995, -0.790000021, 0.189999998, -0.200000003,
              -0.600000024, 0.319999993, -0.0399999991, 0.829999983, 0.74000001, -0.300000012, -0.189999998, 0.819999993, 2, 3),
     AS_WANT(0.614939094, -1.26980376, 0.265053898, 0.749011576, 0.637474895, -1.2662282, 0.307572514, 0.669317484, 0.609163821,
             -1.27072012, 0.300359726, 0.682836652, 0.294003904, -0.997880518, -0.0247503892, 1.00543618, -0.0595817268,
             -1.05678904, 0.0103699081, 0.90263623, 0.348014742, -1.01308644, -0.0207650252, 0.977957606)},
    /* By ONNX Runtime. */
    {.name = "a mask, one direction",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 3, 4), AS_IN(F32, 4, 12), AS_IN(F32, 12), AS_IN(I32, 1, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("num_heads", 2), AS_ATTR_I("unidirectional", 1)},
     AS_GIVEN(0.930000007, 0.579999983, -0.860000014, -0.920000017, 0.239999995, 0.50999999, 0.419999987, 0.560000002, -0.670000017,
              -0.959999979, 0.119999997, 0.779999971, -0.5, -0.629999995, 0.75999999, -0.319999993, -0.289999992, 0.219999999,
              -0.460000008, 0.879999995, -0.620000005, -0.959999979, -0.100000001, 0.180000007, -0.439999998, 0.519999981,
              -0.870000005, -0.349999994, -0.100000001, 0.899999976, -0.730000019, -0.709999979, -0.589999974, 0.50999999,
              -0.409999996, -0.360000014, 0.129999995, -0.170000002, 0.230000004, 0, 0.409999996, 0.970000029, -0.310000002,
              -0.569999993, -0.709999979, -0.209999993, 0.829999983, -0.589999974, -0.289999992, 0.74000001, 0.75, 0.230000004,
              0.50999999, 0.74000001, -0.829999983, -0.189999998, 0.819999993, 0, -0.610000014, -0.0599999987, 0.600000024,
              0.920000017, 0.670000017, 0.0700000003, 0.360000014, -0.75, 0.930000007, 0.270000011, -0.970000029, 0.730000019,
              -0.74000001, -0.0199999996, 1, 1, 0),
     AS_WANT(-2.03259993, 0.313600004, -1.2234, 0.50120002, -1.33441293, 0.636485577, -1.14138913, 0.200631618, -1.286075,
             0.658840179, -1.20030069, 0.416541606)},
    /* By ONNX Runtime. */
    {.name = "a cache",
     .n_in = 5,
     .in = {AS_IN(F32, 1, 2, 4), AS_IN(F32, 4, 12), AS_IN(F32, 12), {.dtype = AS_NONE}, AS_IN(F32, 2, 1, 2, 3, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("num_heads", 2), AS_ATTR_I("unidirectional", 1)},
     AS_GIVEN(-0.519999981, -0.360000014, 0.340000004, -0.980000019, 0.0399999991, -0.579999983, 0.75, -0.349999994, -0.310000002,
              -0.180000007, 0.579999983, 0.0199999996, 0.439999998, 0.5, -0.330000013, -0.569999993, -0.0299999993, 0.159999996,
              -0.949999988, -0.860000014, 0.349999994, 0.939999998, 0.879999995, -0.469999999, 0.699999988, 0.239999995,
              0.330000013, 0.680000007, -0.230000004, 0.680000007, 0.639999986, -0.75, 0.159999996, -0.129999995, 0.720000029,
              -0.469999999, -0.670000017, -0.360000014, 0.930000007, -0.720000029, 0.579999983, -0.620000005, -0.569999993,
              0.730000019, 0.200000003, -0.620000005, -0.560000002, 0.109999999, -0.439999998, -0.119999997, 0.680000007,
              -0.0299999993, -0.779999971, 0.0599999987, 0.930000007, 0.610000014, 0.620000005, 0.140000001, 0.819999993,
              0.400000006, -0.810000002, 0.330000013, -0.0299999993, -0.569999993, -1, -0.680000007, 0.550000012, -0.529999971,
              -0.0900000036, 0.349999994, 0.800000012, -0.129999995, 0.389999986, 0.469999999, -0.839999974, -0.0799999982,
              -0.839999974, 0.569999993, -0.330000013, 0.800000012, 0.910000026, 0.839999974, 0.730000019, 0.709999979,
              -0.860000014, -0.280000001, 0.980000019, 0.800000012, 0.860000014, 0.180000007, 0.00999999978, -0.860000014),
     AS_WANT(0.184728354, 0.134859681, 0.315806597, -0.131765455, 0.18619372, -0.0958510935, 0.0833692327, -0.0537561215)},
};

const as_op as_op_ms_attention = {
    .name = "com.microsoft.Attention",
    .min_in = 2,
    .max_in = 6,
    .min_out = 1,
    .max_out = 2,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
