/* op_linearattention.c - attention without Softmax, as a recurrence over a state of keys times values: plain, with decay, with the delta
 * rule, or with both.  Defined step by step; the state is in f32, in f64 for f64. */
#include <math.h>
#include <string.h>

#include "op/nn/attention.h"

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA };

static const as_attr_def attrs[] = {
    {.name = "chunk_size", .kind = AS_ATTR_INT}, /* a hint for other engines; changes no result */
    {.name = "kv_num_heads", .kind = AS_ATTR_INT, .required = true},
    {.name = "q_num_heads", .kind = AS_ATTR_INT, .required = true},
    {.name = "scale", .kind = AS_ATTR_FLOAT},
    {.name = "update_rule", .kind = AS_ATTR_TEXT},
    {0},
};

typedef struct rule {
    int64_t heads, kv_heads, length;
    bool    decays, corrects;
} rule;

static assay_status rule_read(assay_env *env, const as_node_ctx *n, rule *out)
{
    const char *word = as_attr_text(n, "update_rule", "gated_delta");
    rule        r = {.heads = as_attr_int(n, "q_num_heads", 0), .kv_heads = as_attr_int(n, "kv_num_heads", 0)};
    r.decays = !strcmp(word, "gated") || !strcmp(word, "gated_delta");
    r.corrects = !strcmp(word, "delta") || !strcmp(word, "gated_delta");
    if (!r.decays && !r.corrects && strcmp(word, "linear"))
        return as_refuse(env, n, "update_rule is '%.40s' and must be linear, gated, delta or gated_delta", word);
    if (r.decays != as_in_has(n, DECAY) || r.corrects != as_in_has(n, BETA))
        return as_refuse(env, n, "update_rule %s %s decay and %s beta", word, r.decays ? "needs" : "takes no",
                         r.corrects ? "needs" : "takes no");
    AS_TRY(as_rule_dtype(env, n, QUERY, 3, AS_SET_FLOAT));
    AS_TRY(as_heads_check(env, n, QUERY, "query", r.heads));
    AS_TRY(as_heads_check(env, n, KEY, "key", r.kv_heads));
    AS_TRY(as_heads_check(env, n, VALUE, "value", r.kv_heads));
    if (r.heads % r.kv_heads)
        return as_refuse(env, n, "q_num_heads is %lld and must be a multiple of kv_num_heads, %lld", (long long)r.heads,
                         (long long)r.kv_heads);
    r.length = n->in[QUERY].shape.dim[1];
    if (r.length < 1 || r.length > AS_MAX_EXPANDED / 20)
        return as_fail(env, ASSAY_UNSUPPORTED, "LinearAttention '%s': %lld steps are not supported, only 1 to %d",
                       n->name ? n->name : "", (long long)r.length, AS_MAX_EXPANDED / 20);
    *out = r;
    return ASSAY_OK;
}

/* Step t of [B, heads, T, D] as [B, heads, D, 1]. */
static int column(as_builder *b, int x, int64_t t) { return AS_TURN(b, as_b_cut(b, x, 2, t, t + 1, 1), 0, 1, 3, 2); }

/* One number or one per key element of a head, as [B, kv heads, T, 1 or D]. */
static int factors(as_builder *b, int x, const rule *r)
{
    int64_t last = as_b_dim(b, x, 2);
    return as_b_heads_split(b, x, last && last % r->kv_heads == 0 ? r->kv_heads : 1);
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    rule r = {0};
    AS_TRY(rule_read(b->env, n, &r));
    as_dtype dtype = n->in[QUERY].dtype, wide = dtype == AS_F64 ? AS_F64 : AS_F32;
    int      x[6];
    for (int i = 0; i < 6; i++)
        x[i] = as_in_has(n, i) ? as_b_cast(b, in[i], wide) : -1;
    int     q = as_b_heads_split(b, x[QUERY], r.heads), k = as_b_heads_split(b, x[KEY], r.kv_heads);
    int     v = as_b_heads_split(b, x[VALUE], r.kv_heads);
    int     decay = r.decays ? AS_MAKE(b, "Exp", factors(b, x[DECAY], &r)) : -1, beta = r.corrects ? factors(b, x[BETA], &r) : -1;
    int64_t batch = as_b_dim(b, q, 0), size = as_b_dim(b, q, 3), value_size = as_b_dim(b, v, 3), group = r.heads / r.kv_heads;
    double  given = as_attr_float(n, "scale", 0.0), scale = given != 0.0 ? given : 1.0 / sqrt((double)size);
    int     state = x[PAST], y = -1;
    if (state < 0)
        state = AS_MAKE(b, "Expand", as_b_scalar(b, wide, 0.0), as_b_ints(b, (int64_t[]){batch, r.kv_heads, size, value_size}, 4));
    for (int64_t t = 0; t < r.length; t++) {
        int key = column(b, k, t), value = as_b_cut(b, v, 2, t, t + 1, 1);
        if (r.decays)
            state = AS_MAKE(b, "Mul", state, column(b, decay, t));
        if (r.corrects) {
            int seen = AS_MAKE(b, "MatMul", AS_TURN(b, key, 0, 1, 3, 2), state);
            value = AS_MAKE(b, "Mul", AS_MAKE(b, "Sub", value, seen), as_b_cut(b, beta, 2, t, t + 1, 1));
        }
        state = AS_MAKE(b, "Add", state, AS_MAKE(b, "MatMul", key, value));
        int query = AS_TO_SHAPE(b, as_b_cut(b, q, 2, t, t + 1, 1), batch, r.kv_heads, group, size);
        int one = AS_TO_SHAPE(b, AS_MAKE(b, "MatMul", query, state), batch, r.heads, 1, value_size);
        y = y < 0 ? one : as_b_join(b, 2, y, one);
    }
    out[0] = as_b_cast(b, as_b_heads_join(b, as_b_with(b, "Mul", y, scale)), dtype);
    if (n->n_out > 1)
        out[1] = as_b_cast(b, state, as_in_has(n, PAST) ? n->in[PAST].dtype : dtype);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "linear",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 3, 4), AS_IN(F32, 1, 3, 4), AS_IN(F32, 1, 3, 6)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("q_num_heads", 2), AS_ATTR_I("kv_num_heads", 2), AS_ATTR_S("update_rule", "linear")},
     AS_GIVEN(0, 0.430000007, -0.150000006, 0.419999987, -0.449999988, 0.850000024, 0.0799999982, -0.519999981, -0.129999995,
              0.790000021, 0.610000014, -0.0299999993, -0.300000012, -0.25, 0.959999979, -0.779999971, 0.779999971, 0.720000029,
              -0.550000012, -0.300000012, 0.140000001, 0.600000024, 0.899999976, 0.980000019, -0.439999998, -0.620000005,
              -0.0199999996, 0.119999997, 0.310000002, -0.779999971, 0.289999992, 0.839999974, 0.829999983, 0.889999986,
              0.839999974, 0.920000017, -0.899999976, 0.829999983, -0.460000008, -0.360000014, -0.0799999982, 0.910000026),
     AS_WANT(0.0334461518, 0.0471286699, 0.00152027968, -0.0400165878, -0.10337618, 0.260107815, 0.0776332617, 0.189002588,
             0.15427658, 0.111417405, 0.172268167, -0.193204165, -0.144910231, 0.614617229, 0.128300264, -0.286067843,
             -0.0898294225, -0.213945091)},
    /* By the ONNX reference evaluator. */
    {.name = "gated delta, grouped, with a state",
     .n_in = 6,
     .in = {AS_IN(F32, 1, 2, 8), AS_IN(F32, 1, 2, 4), AS_IN(F32, 1, 2, 4), AS_IN(F32, 1, 2, 2, 2), AS_IN(F32, 1, 2, 4),
            AS_IN(F32, 1, 2, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("q_num_heads", 4), AS_ATTR_I("kv_num_heads", 2)},
     AS_GIVEN(0.209999993, -0.289999992, -0.25, 0.810000002, 0.639999986, -0.720000029, -0.5, -0.25999999, -0.569999993,
              0.129999995, -0.550000012, 0.150000006, 0.870000005, 0.699999988, -0.800000012, -0.589999974, -0.170000002,
              0.289999992, -0.230000004, -0.5, -0.310000002, -0.589999974, 0.720000029, 0.389999986, -0.180000007, 0.400000006,
              0.0399999991, 0.0500000007, -0.270000011, -0.0199999996, 0.970000029, 0.569999993, 0.660000026, -0.75, 0.00999999978,
              -0.270000011, -0.819999993, -0.209999993, -0.850000024, -0.529999971, 0.600000024, 0.370000005, 0.400000006,
              -0.839999974, -0.670000017, -0.959999979, -0.800000012, -0.800000012, 0.920000017, 0.790000021, -0.589999974,
              -0.49000001),
     AS_WANT(0.174030364, -0.144674703, -0.200646296, 0.0684131235, -0.417279691, -0.0415077135, 0.441821039, 0.134152129,
             -0.243537635, 0.292944491, -0.235315174, 0.27865988, -0.789794743, -0.334906697, 0.71287334, 0.299943477)},
    /* By the ONNX reference evaluator. */
    {.name = "delta",
     .n_in = 6,
     .in = {AS_IN(F32, 2, 2, 2),
            AS_IN(F32, 2, 2, 2),
            AS_IN(F32, 2, 2, 2),
            {.dtype = AS_NONE},
            {.dtype = AS_NONE},
            AS_IN(F32, 2, 2, 1)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_I("q_num_heads", 1), AS_ATTR_I("kv_num_heads", 1), AS_ATTR_S("update_rule", "delta"),
               AS_ATTR_F("scale", 0.5)},
     AS_GIVEN(0.920000017, 0.140000001, -0.25999999, -0.0700000003, -0.460000008, 0.170000002, 0.449999988, 0.0299999993,
              0.639999986, -0.769999981, 0.209999993, 0.980000019, -0.699999988, -0.00999999978, 0.25999999, -0.319999993,
              0.930000007, -0.0299999993, -0.0399999991, 0.810000002, -0.970000029, 0.74000001, -0.74000001, -0.239999995,
              -0.0199999996, -0.0500000007, -0.920000017, -0.370000005),
     AS_WANT(-0.00447329972, 0.000144299993, 0.000887519796, 0.00246219616, 0.142917857, -0.10903012, -0.129154116, 0.114515267)},
    /* By the ONNX reference evaluator. */
    {.name = "gated per head",
     .n_in = 5,
     .in = {AS_IN(F32, 1, 2, 4), AS_IN(F32, 1, 2, 4), AS_IN(F32, 1, 2, 4), {.dtype = AS_NONE}, AS_IN(F32, 1, 2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("q_num_heads", 2), AS_ATTR_I("kv_num_heads", 2), AS_ATTR_S("update_rule", "gated")},
     AS_GIVEN(-0.289999992, 0.910000026, 0.829999983, 0.170000002, 0.870000005, 0.730000019, -0.25, -0.769999981, 0.209999993,
              -0.349999994, -0.980000019, 0.959999979, 0.939999998, 0.0700000003, 0.239999995, 0.340000004, 0.850000024,
              -0.0599999987, 0.170000002, -0.550000012, -0.519999981, 0.0399999991, -0.540000021, -0.939999998, -0.25999999, 0.5,
              -0.449999988, 0.730000019),
     AS_WANT(-0.228034869, 0.0160965789, -0.0781593472, 0.252868474, -0.347390562, 0.0265456084, -0.000398672302, 0.61272186)},
};

const as_op as_op_linearattention = {
    .name = "LinearAttention",
    .min_in = 3,
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
