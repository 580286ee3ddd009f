/* op_causalconvwithstate.c - a depthwise convolution that sees only the past, which a state carries from call to call. */
#include <string.h>

#include "op/composed.h"

enum { X, W, BIAS, PAST };

static const as_attr_def attrs[] = {{.name = "activation", .kind = AS_ATTR_TEXT}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    const char     *word = as_attr_text(n, "activation", "none");
    const as_shape *x = &n->in[X].shape, *w = &n->in[W].shape;
    bool            is_silu = !strcmp(word, "silu") || !strcmp(word, "swish");
    AS_TRY(as_rule_dtype(b->env, n, X, 2, AS_SET_FLOAT));
    if (x->rank != 3 || w->rank != 3 || w->dim[0] != x->dim[1] || w->dim[1] != 1 || w->dim[2] < 1)
        return as_refuse(b->env, n, "input is %s and weight %s: they must be [batch, channels, length] and [channels, 1, k]",
                         AS_SHOW(x), AS_SHOW(w));
    if (!is_silu && strcmp(word, "none"))
        return as_refuse(b->env, n, "activation is '%.40s' and must be silu, swish or none", word);
    int64_t before = w->dim[2] - 1, length = x->dim[2];
    int     past = as_in_has(n, PAST) ? in[PAST] : -1;
    if (past < 0)
        past = AS_MAKE(b, "Expand", as_b_like(b, in[X], 0.0), as_b_ints(b, (int64_t[]){x->dim[0], x->dim[1], before}, 3));
    else if (!as_shape_same(&n->in[PAST].shape, &AS_SHAPE(x->dim[0], x->dim[1], before)))
        return as_refuse(b->env, n, "past_state is %s and must be [%lld,%lld,%lld]", AS_SHOW(&n->in[PAST].shape),
                         (long long)x->dim[0], (long long)x->dim[1], (long long)before);
    int all = before ? as_b_join(b, 2, past, in[X]) : in[X];
    int y = AS_MAKE_WITH(b, "Conv", AS_WITH(AS_ATTR_I("group", x->dim[1])), all, in[W], as_in_has(n, BIAS) ? in[BIAS] : -1);
    out[0] = is_silu ? AS_MAKE(b, "Mul", y, AS_MAKE(b, "Sigmoid", y)) : y;
    if (n->n_out > 1)
        out[1] = as_b_cut(b, all, 2, length, length + before, 1);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "without a state",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 2, 5), AS_IN(F32, 2, 1, 3)},
     AS_GIVEN(0.409999996, 0.310000002, 0.779999971, -0.850000024, -0.639999986, 0.819999993, 0.810000002, -0.839999974,
              0.550000012, -0.970000029, -0.730000019, -0.779999971, -0.409999996, -0.219999999, 0.819999993, -0.129999995),
     AS_WANT(-0.168099999, -0.44689998, -0.860899985, -0.486199915, 0.355999976, -0.106599994, 0.567099988, 0.592999995,
             -0.938499987, 0.761900008)},
    /* By the ONNX reference evaluator. */
    {.name = "bias, state and silu",
     .n_in = 4,
     .in = {AS_IN(F32, 2, 2, 3), AS_IN(F32, 2, 1, 3), AS_IN(F32, 2), AS_IN(F32, 2, 2, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("activation", "silu")},
     AS_GIVEN(-0.75, -0.460000008, -0.99000001, -0.939999998, -0.140000001, 0.0199999996, -0.5, -0.239999995, -0.790000021,
              0.319999993, -0.209999993, -0.680000007, -0.00999999978, -0.579999983, -0.419999987, -0.75, 0.560000002, -0.439999998,
              0.910000026, -0.189999998, -0.689999998, 0.409999996, 0.469999999, 0.75999999, -0.74000001, 0.579999983, 0.720000029,
              -0.389999986),
     AS_WANT(0.725590646, 1.26195896, 1.33133507, 0.170197695, -0.278143317, 0.258967966, 0.544244409, 1.01656508, 1.10873473,
             -0.274226785, 0.221635267, -0.108853206)},
    /* By the ONNX reference evaluator. */
    {.name = "one tap",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 1, 3), AS_IN(F32, 1, 1, 1)},
     AS_GIVEN(-0.0900000036, 0.239999995, -0.50999999, 0.74000001),
     AS_WANT(-0.0666000023, 0.177599996, -0.377400011)},
};

const as_op as_op_causalconvwithstate = {
    .name = "CausalConvWithState",
    .min_in = 2,
    .max_in = 4,
    .min_out = 1,
    .max_out = 2,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
