/* op_ms_groupqueryattention.c - causal attention with grouped heads, a cache that grows by the new tokens, and rotary positions.  The cache of
 * every sample must be full: a buffer that is larger than what it holds is refused. */
#include <math.h>
#include <string.h>

#include "op/contrib/contrib.h"

enum { QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, LENGTHS, TOTAL, COS, SIN, POSITIONS, ADDED };

static const as_attr_def attrs[] = {
    {.name = "do_rotary", .kind = AS_ATTR_INT},
    {.name = "kv_num_heads", .kind = AS_ATTR_INT, .required = true},
    {.name = "local_window_size", .kind = AS_ATTR_INT},
    {.name = "num_heads", .kind = AS_ATTR_INT, .required = true},
    {.name = "rotary_interleaved", .kind = AS_ATTR_INT},
    {.name = "scale", .kind = AS_ATTR_FLOAT},
    {.name = "smooth_softmax", .kind = AS_ATTR_INT},
    {.name = "softcap", .kind = AS_ATTR_FLOAT},
    {0},
};

typedef struct sizes {
    int64_t heads, kv_heads, size, length, before;
    bool    is_packed;
} sizes;

static assay_status sizes_read(assay_env *env, const as_node_ctx *n, sizes *s)
{
    const as_shape *q = &n->in[QUERY].shape;
    *s = (sizes){
        .heads = as_attr_int(n, "num_heads", 0), .kv_heads = as_attr_int(n, "kv_num_heads", 0), .is_packed = !as_in_has(n, KEY)};
    AS_TRY(as_need(env, n, AS_INPUT_BIT(LENGTHS) | AS_INPUT_BIT(TOTAL)));
    AS_TRY(as_rule_dtype(env, n, QUERY, 1, AS_SET_FLOAT));
    if (s->heads < 1 || s->heads > 65536 || s->kv_heads < 1 || s->kv_heads > 65536 || s->heads % s->kv_heads)
        return as_refuse(env, n, "num_heads is %lld and kv_num_heads %lld, which must divide it", (long long)s->heads,
                         (long long)s->kv_heads);
    AS_TRY(as_heads_check(env, n, QUERY, "query", s->is_packed ? s->heads + 2 * s->kv_heads : s->heads));
    s->size = q->dim[2] / (s->is_packed ? s->heads + 2 * s->kv_heads : s->heads);
    s->length = q->dim[1];
    for (int i = KEY; !s->is_packed && i <= VALUE; i++) {
        AS_TRY(as_need(env, n, AS_INPUT_BIT(i)));
        AS_TRY(as_heads_check(env, n, i, i == KEY ? "key" : "value", s->kv_heads));
    }
    if (as_in_has(n, PAST_KEY) != as_in_has(n, PAST_VALUE) || (as_in_has(n, PAST_KEY) && n->in[PAST_KEY].shape.rank != 4))
        return as_refuse(env, n, "past_key and past_value come together, as [batch, heads, past, size]");
    s->before = as_in_has(n, PAST_KEY) ? n->in[PAST_KEY].shape.dim[2] : 0;
    if (as_attr_int(n, "smooth_softmax", 0))
        return as_refuse(env, n, "smooth_softmax is not supported");
    return ASSAY_OK;
}

/* The cache must hold what the total says, and no more. */
static assay_status total_check(assay_env *env, const as_node_ctx *n, const sizes *s)
{
    const as_tensor_info *t = &n->in[TOTAL];
    if (t->dtype != AS_I32 || as_shape_count(&t->shape) != 1)
        return as_refuse(env, n, "total_sequence_length is %s %s and must be one i32", as_dtype_name(t->dtype), AS_SHOW(&t->shape));
    if (!t->constant)
        return as_refuse(env, n, "total_sequence_length (input %d) must be known while planning", TOTAL);
    int32_t total;
    memcpy(&total, t->constant, sizeof total);
    if (total != s->before + s->length)
        return as_refuse(
            env, n,
            "total_sequence_length is %d; the cache has %lld and %lld are new: a cache that is larger than what it holds is not supported",
            (int)total, (long long)s->before, (long long)s->length);
    return ASSAY_OK;
}

static int turned(as_builder *b, const as_node_ctx *n, const int *in, const sizes *s, int x)
{
    int at = as_in_has(n, POSITIONS)
                 ? in[POSITIONS]
                 : AS_TO_SHAPE(b, as_b_with(b, "Add", as_b_count(b, s->length), (double)s->before), 1, s->length);
    int cos = as_b_wider(b, AS_MAKE(b, "Gather", in[COS], at), 1), sin = as_b_wider(b, AS_MAKE(b, "Gather", in[SIN], at), 1);
    return as_b_rotate(b, x, cos, sin, 2 * as_b_dim(b, in[COS], 1), as_attr_int(n, "rotary_interleaved", 0) != 0);
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    sizes        s;
    as_attention a = {.bias = as_in_or_none(n, in, ADDED), .allowed = -1, .softcap = as_attr_float(n, "softcap", 0.0)};
    AS_TRY(sizes_read(b->env, n, &s));
    AS_TRY(total_check(b->env, n, &s));
    int q = in[QUERY], k = in[KEY], v = in[VALUE];
    if (s.is_packed) {
        int64_t first = s.heads * s.size, each = s.kv_heads * s.size;
        q = as_b_cut(b, in[QUERY], 2, 0, first, 1);
        k = as_b_cut(b, in[QUERY], 2, first, first + each, 1);
        v = as_b_cut(b, in[QUERY], 2, first + each, first + 2 * each, 1);
    }
    a.q = as_b_heads_split(b, q, s.heads);
    a.k = as_b_heads_split(b, k, s.kv_heads);
    a.v = as_b_heads_split(b, v, s.kv_heads);
    if (as_attr_int(n, "do_rotary", 0)) {
        AS_TRY(as_need(b->env, n, AS_INPUT_BIT(COS) | AS_INPUT_BIT(SIN)));
        if (n->in[COS].shape.rank != 2 || n->in[COS].shape.dim[1] < 1 || n->in[COS].shape.dim[1] > s.size / 2)
            return as_refuse(b->env, n, "cos_cache is %s and must be [positions, at most %lld]", AS_SHOW(&n->in[COS].shape),
                             (long long)(s.size / 2));
        a.q = turned(b, n, in, &s, a.q);
        a.k = turned(b, n, in, &s, a.k);
    }
    if (as_in_has(n, PAST_KEY)) {
        a.k = as_b_join(b, 2, in[PAST_KEY], a.k);
        a.v = as_b_join(b, 2, in[PAST_VALUE], a.v);
    }
    double  scale = as_attr_float(n, "scale", 0.0);
    int64_t window = as_attr_int(n, "local_window_size", -1), keys = s.before + s.length;
    as_band band = {
        .n_queries = s.length, .n_keys = keys, .begin = s.before, .offset = -1, .has_high = true, .has_low = window > 0};
    band.low = -(window < keys ? window : keys) + 1;
    a.allowed = as_b_band(b, &band);
    a.scale = scale != 0.0 ? scale : 1.0 / sqrt((double)s.size);
    as_b_attention(b, &a);
    out[0] = as_b_heads_join(b, a.y);
    if (n->n_out > 1)
        out[1] = a.k;
    if (n->n_out > 2)
        out[2] = a.v;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "a cache",
     .n_in = 7,
     .in = {AS_IN(F32, 1, 1, 16),
            AS_IN(F32, 1, 1, 8),
            AS_IN(F32, 1, 1, 8),
            AS_IN(F32, 1, 1, 3, 8),
            AS_IN(F32, 1, 1, 3, 8),
            AS_IN(I32, 1),
            {.dtype = AS_I32, .shape = {.rank = 1, .dim = {1}}, .ints = (const int64_t[]){4}}},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("num_heads", 2), AS_ATTR_I("kv_num_heads", 1)},
     AS_GIVEN(0.409999996, 0.100000001, 0.920000017, -0.74000001, -0.219999999, -0.129999995, -0.209999993, -0.870000005,
              0.430000007, 0.219999999, 0.25, -0.819999993, -0.49000001, -0.449999988, -0.839999974, 0.400000006, -0.50999999,
              0.0900000036, 0.449999988, -0.620000005, 0.769999981, 0.100000001, -0.419999987, 0.349999994, 0.769999981,
              -0.839999974, 0.779999971, -0.800000012, 0.370000005, 0.159999996, 0.850000024, 0.100000001, 0.769999981,
              0.0399999991, 0.540000021, 0.5, 0.99000001, -0.629999995, -0.469999999, -0.0900000036, 0.50999999, -0.879999995,
              -0.349999994, 0.709999979, 0, -0.189999998, 0.99000001, 0.879999995, 0.00999999978, -0.899999976, -0.340000004,
              0.870000005, -0.430000007, 0.649999976, -0.239999995, 0.310000002, -0.319999993, -0.819999993, -0.730000019,
              0.360000014, -0.140000001, -0.280000001, 0.569999993, 0.0399999991, -0.0599999987, 0.779999971, -0.25999999,
              0.340000004, -0.810000002, -0.0299999993, -0.25, -0.25999999, 0.879999995, 0.400000006, -0.870000005, 0.680000007,
              0.720000029, -0.839999974, -0.189999998, -0.680000007, 3),
     AS_WANT(0.286985576, -0.347555608, -0.203908831, 0.0491306446, 0.0733995736, -0.204459637, 0.388303936, -0.121347107,
             0.322614789, -0.278445065, -0.190075591, 0.0522307418, 0.0751110166, -0.208468288, 0.350750208, -0.144639492)},
    /* By ONNX Runtime. */
    {.name = "rotary prompt",
     .n_in = 9,
     .in = {AS_IN(F32, 1, 3, 32),
            AS_IN(F32, 1, 3, 16),
            AS_IN(F32, 1, 3, 16),
            {.dtype = AS_NONE},
            {.dtype = AS_NONE},
            AS_IN(I32, 1),
            {.dtype = AS_I32, .shape = {.rank = 1, .dim = {1}}, .ints = (const int64_t[]){3}},
            AS_IN(F32, 8, 8),
            AS_IN(F32, 8, 8)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("num_heads", 2), AS_ATTR_I("kv_num_heads", 1), AS_ATTR_I("do_rotary", 1)},
     AS_GIVEN(
         -0.310000002, -1, 0.230000004, -0.579999983, 0.639999986, 0.910000026, -0.50999999, 0.889999986, 0.409999996, 0.579999983,
         0.25, 0.379999995, 0.209999993, 0.389999986, -0.639999986, 0.129999995, -0.180000007, -0.980000019, 0.109999999,
         0.629999995, -0.860000014, -0.319999993, 0.629999995, -0.649999976, 0.319999993, 0.560000002, -0.319999993, -0.810000002,
         -0.75, -0.670000017, 0.400000006, 1, 0.639999986, 0.300000012, 0, 0.75999999, 0.689999998, -0.0399999991, 0.610000014,
         0.579999983, 0.310000002, -0.720000029, -0.529999971, -0.439999998, 0.850000024, 0.639999986, 0.370000005, -0.0199999996,
         0.0700000003, -0.889999986, 0.0799999982, -0.839999974, 0.0900000036, -0.0599999987, 0.300000012, -0.660000026,
         -0.629999995, -0.939999998, 0.99000001, 0.230000004, -0.370000005, -0.100000001, -0.460000008, -0.330000013, 0.870000005,
         0.0199999996, -0.0700000003, -0.419999987, 0.300000012, -0.319999993, -0.779999971, -0.579999983, 0.589999974,
         -0.0799999982, 0.980000019, 0.0500000007, -0.219999999, -0.150000006, 0.949999988, 0.560000002, -0.670000017, 0.0799999982,
         0.400000006, 0.790000021, 0.910000026, 0.769999981, 0.5, 0.819999993, 0.0199999996, -0.769999981, -0.189999998,
         0.970000029, -0.620000005, 0.709999979, -0.0299999993, -0.800000012, 0.879999995, -0.879999995, 0.600000024, 0.99000001,
         -0.300000012, -0.270000011, -0.389999986, -0.600000024, 0.400000006, -0.980000019, -0.920000017, -0.629999995, 0.50999999,
         0.25999999, 0.639999986, 0.589999974, -0.920000017, 0.860000014, 0.540000021, 0.920000017, -0.74000001, 0.0399999991,
         -0.460000008, -0.230000004, 0.550000012, -0.140000001, 0.239999995, 0.620000005, -0.00999999978, -0.699999988,
         -0.709999979, 0.569999993, -0.349999994, 0.230000004, 0.699999988, 0.300000012, 0.540000021, 0.74000001, -0.270000011,
         -0.829999983, -0.660000026, 0.0799999982, -0.0299999993, 0.219999999, 0.430000007, 0.479999989, -0.850000024, -0.230000004,
         -0.970000029, 0.25, 0.660000026, -0.779999971, 0.879999995, -0.560000002, 0.680000007, -0.75, -0.920000017, 0.629999995,
         -0.430000007, 0.140000001, 0.330000013, -0.600000024, 0.779999971, -0.0500000007, -0.25, -0.75999999, -0.0199999996,
         0.889999986, 0.0299999993, 0.00999999978, 0.610000014, 0.449999988, 0.419999987, 0.319999993, 0.850000024, 0.910000026,
         0.239999995, -0.409999996, 0.189999998, -0.129999995, 0.379999995, -0.899999976, -0.889999986, -0.660000026, -0.0299999993,
         -0.340000004, -0.670000017, 0.5, -0.379999995, 0.889999986, -0.280000001, -0.200000003, -0.170000002, 0.409999996,
         0.709999979, 0.75999999, 2, 0.119999997, 0.670000017, -0.449999988, 0.379999995, 0.680000007, 0.800000012, 0.409999996,
         -0.620000005, 0.720000029, 0.270000011, 0.0599999987, 0.819999993, -0.939999998, -0.949999988, -0.569999993, -0.409999996,
         0.230000004, 0.49000001, -0.389999986, 0.460000008, 0.200000003, -0.810000002, 0.469999999, 0.779999971, -0.379999995,
         -0.939999998, -1, 0.99000001, -0.49000001, -0.0799999982, -0.370000005, -0.920000017, 0.430000007, 0.819999993,
         0.0199999996, 0.529999971, 0.50999999, 0.870000005, 0.540000021, 0.860000014, -0.0799999982, -0.330000013, 0.629999995,
         -0.529999971, -0.349999994, 0.75999999, -0.939999998, -0.75999999, 0.150000006, 0.469999999, -0.310000002, -0.579999983,
         -0.560000002, 0.550000012, 0.769999981, 0.159999996, 0.839999974, 0.109999999, -0.769999981, -0.209999993, -0.720000029,
         0.25999999, -0.289999992, -0.99000001, 0.75999999, 0.400000006, -0.340000004, -0.99000001, -0.0599999987, -0.949999988,
         0.879999995, 0.180000007, 0.0500000007, 0.0900000036, 0.699999988, -0.519999981, 0.75, -0.230000004, 0.790000021,
         0.270000011, -1, 0.680000007, -0.550000012, 0.140000001, -0.300000012, 0.170000002, -0.469999999, 0.540000021, 0.479999989,
         0.460000008, -0.620000005, -0.920000017, -0.620000005, 0.0700000003, -0.300000012, 0.159999996, -0.629999995, -0.959999979,
         -0.860000014, -0.949999988, 0.0599999987, -0.720000029, 0.699999988, 0.0299999993, -0.0500000007, -0.920000017,
         0.779999971, -0.280000001, 0.939999998, -0.519999981, 0.75999999, -0.949999988, 0.170000002, -0.550000012, 0.930000007,
         0.349999994, -0.289999992, -0.670000017, 0.899999976, -0.0500000007, 0.879999995, -0.939999998, 0.430000007, 0.239999995,
         0.0599999987, -0.100000001, 0.959999979, 0.790000021),
     AS_WANT(-0.970000029, 0.25, 0.660000026, -0.779999971, 0.879999995, -0.560000002, 0.680000007, -0.75, -0.920000017,
             0.629999995, -0.430000007, 0.140000001, 0.330000013, -0.600000024, 0.779999971, -0.0500000007, -0.970000029, 0.25,
             0.660000026, -0.779999971, 0.879999995, -0.560000002, 0.680000007, -0.75, -0.920000017, 0.629999995, -0.430000007,
             0.140000001, 0.330000013, -0.600000024, 0.779999971, -0.0500000007, -0.721638262, -0.098396346, 0.425436139,
             -0.203938708, 0.586795151, -0.363380283, 0.655853808, -0.336063743, -0.457771212, 0.523066521, 0.0115320059,
             0.405609131, 0.298954785, -0.534460127, 0.576481342, -0.077595748, -0.63315922, -0.222512722, 0.341872603,
             0.00128343259, 0.482340753, -0.293334395, 0.647251546, -0.188598722, -0.293101907, 0.484971315, 0.168828011,
             0.500232458, 0.287894905, -0.511111438, 0.503977656, -0.0874267444, -0.255995959, -0.492638499, -0.11008355,
             -0.172330543, 0.275139004, -0.29025507, 0.186252221, 0.0918379501, -0.277922064, 0.615478635, 0.055960767, 0.282541603,
             0.125418589, -0.183966935, 0.555703282, 0.204908252, -0.245118618, -0.513985991, -0.118105203, -0.122448288,
             0.25669983, -0.274695188, 0.195172489, 0.118153773, -0.24152942, 0.603908002, 0.0937188342, 0.30877775, 0.126770839,
             -0.186448708, 0.538306177, 0.19584021)},
};

const as_op as_op_ms_groupqueryattention = {
    .name = "com.microsoft.GroupQueryAttention",
    .min_in = 1,
    .max_in = 11,
    .min_out = 1,
    .max_out = 3,
    .known_in = AS_INPUT_BIT(TOTAL),
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
