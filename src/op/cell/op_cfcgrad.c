/* op_cfcgrad.c - the gradient of assay.CfC through time: one sweep forwards, which keeps what it computed, and one backwards.
 *
 * Inputs: x, then the gradients of y, h_n and c_n (absent: zeros), then the stash of the CfC, then its inputs from h0 on.  The stash
 * must be what the CfC gave for the same inputs: with it a kernel need not go forwards again; the reference code always does.  Outputs: the gradients
 * of the CfC's inputs that are present, floats and not masks, in their order; a caller may ask for fewer. */
#include "op/cell/cfc_case.h"

enum { D_Y = 1, D_H, D_C, STASH, REST };

/* The inputs of the CfC. */
static int infos_of(const as_node_ctx *n, as_tensor_info *in)
{
    in[0] = n->in[0];
    for (int i = REST; i < n->n_in; i++)
        in[i - REST + 1] = n->in[i];
    return n->n_in > REST ? n->n_in - REST + 1 : 1;
}

static assay_status above_check(assay_env *env, const as_node_ctx *n, int i, const char *what, const as_shape *want)
{
    if (as_in_has(n, i) && (n->in[i].dtype != n->in[0].dtype || !as_shape_same(&n->in[i].shape, want)))
        return as_refuse(env, n, "the gradient of %s is %s %s and must be %s %s", what, as_dtype_name(n->in[i].dtype),
                         AS_SHOW(&n->in[i].shape), as_dtype_name(n->in[0].dtype), AS_SHOW(want));
    return ASSAY_OK;
}

static assay_status node_read(assay_env *env, const as_node_ctx *n, as_tensor_info *in, int *n_in, as_cfc *c)
{
    *n_in = infos_of(n, in);
    AS_TRY(as_cfc_read(env, n, in, *n_in, c));
    as_shape y = as_cfc_y_shape(c), state = AS_SHAPE(c->n_batch, c->n_state);
    AS_TRY(above_check(env, n, D_Y, "y", &y));
    AS_TRY(above_check(env, n, D_H, "h_n", &state));
    if (as_in_has(n, D_C) && !c->has_memory)
        return as_refuse(env, n, "the gradient of c_n is given and there is no mixed memory");
    AS_TRY(above_check(env, n, D_C, "c_n", &state));
    as_shape stash = AS_SHAPE(c->n_steps, as_cfc_stash_of(c, as_in_has(n, REST - 1 + AS_CFC_TIMESPANS)).n, c->n_batch);
    if (as_in_has(n, STASH) && (n->in[STASH].dtype != n->in[0].dtype || !as_shape_same(&n->in[STASH].shape, &stash)))
        return as_refuse(env, n, "the stash is %s %s and must be %s %s", as_dtype_name(n->in[STASH].dtype),
                         AS_SHOW(&n->in[STASH].shape), as_dtype_name(n->in[0].dtype), AS_SHOW(&stash));
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_cfc         c;
    as_tensor_info in[AS_MAX_IN];
    int            n_in, found = 0;
    AS_TRY(node_read(env, n, in, &n_in, &c));
    for (int i = 0; i < n_in; i++)
        if (as_cfc_differentiable(&c, in, n_in, i))
            out[found++] = as_info(in[i].dtype, &in[i].shape);
    if (n->n_out > found)
        return as_refuse(env, n, "%d gradients are asked for and %d inputs have one", n->n_out, found);
    return ASSAY_OK;
}

/* Two products for each product of the forward sweep: one with the weights, one with the other operand; without a stash that sweep
 * again. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost        cost = as_cost_bytes(n);
    as_cfc         c;
    as_tensor_info in[AS_MAX_IN];
    int            n_in;
    if (node_read(NULL, n, in, &n_in, &c) == ASSAY_OK) {
        as_cost work = as_cfc_work(&c, in);
        cost.flops = as_sat_mul(as_in_has(n, STASH) ? 2 : 3, work.flops);
        cost.special = as_in_has(n, STASH) ? 0 : work.special;
    }
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_cfc         c;
    as_tensor_info infos[AS_MAX_IN];
    as_view        views[AS_MAX_IN] = {0};
    int            n_in, found = 0;
    AS_TRY(node_read(env, n, infos, &n_in, &c));
    as_cfc_run run = {.c = &c, .in = views, .n_in = n_in};
    views[0] = in[0];
    for (int i = 1; i < n_in; i++)
        if (infos[i].dtype != AS_NONE)
            views[i] = in[i + REST - 1];
    if (as_in_has(n, D_Y))
        run.d_y = in[D_Y];
    if (as_in_has(n, D_H))
        run.d_h_n = in[D_H];
    if (as_in_has(n, D_C))
        run.d_c_n = in[D_C];
    for (int i = 0; i < n_in && found < n->n_out; i++)
        if (as_cfc_differentiable(&c, infos, n_in, i))
            run.d_in[i] = out[found++];
    return as_cfc_backward(env, n, &run);
}

static const int64_t mask_of_2[] = {1, 0, 1, 1, 0, -1, 1, 1}, mask_of_1[] = {-1, 0, 1};
#define MASK_2                                                                 \
    {                                                                          \
        .dtype = AS_I8, .shape = {.rank = 2, .dim = {2, 4}}, .ints = mask_of_2 \
    }
#define MASK_1                                                                 \
    {                                                                          \
        .dtype = AS_I8, .shape = {.rank = 2, .dim = {1, 3}}, .ints = mask_of_1 \
    }

static const as_case cases[] = {
    /* The network computed in numpy and differentiated by complex steps. */
    {.name = "x as numpy's",
     WIDE(IN(F32, 1, 2, 2), IN(F32, 1, 2, 2), IN(F32, 1, 2), NONE, NONE, NO_STATE, IN(F32, 1, 2), NO_MEMORY, NO_PROJECTION, NONE,
          HEADS(F32, 2, 4)),
     .given = (const double[]){0.25,    0.125,  0.875,   0.25,    -1,     0.5625, -0.625,  0.3125, -0.3125, -0.5625, 0.5,
                               1.5,     0.875,  0.1875,  -0.375,  -0.375, 1,      0.1875,  -0.625, 0.6875,  0.6875,  -1,
                               -0.6875, 0.375,  -0.1875, -0.3125, -0.875, -0.625, 0.75,    0.6875, 0.6875,  0.125,   -0.75,
                               -0.375,  0.0625, 1,       -0.5,    0.125,  0,      0,       0.125,  0.4375,  -0.8125, 1,
                               0.75,    0.5625, -0.4375, -0.125,  -0.125, -0.375, -0.9375, 0.5},
     .want = (const double[]){-0.4485576878, -0.3156861994, -0.1845025563, 0.009562641854},
     .n_want = 4},
    {.name = "pure, memory, backbone",
     WIDE(IN(F32, 2, 3, 5), IN(F32, 2, 3, 7), NONE, IN(F32, 2, 9), NONE, NO_STATE, NONE, MEMORY(F32, 9, 5), LINEAR(F32, 7, 9),
          LINEAR(F32, 8, 14), NONE, PURE(F32, 9, 8)),
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("mode", "pure"), AS_ATTR_I("backbone", 1)}},
    {.name = "17 units, time spans",
     .lo = 0.0,
     .hi = 0.25,
     WIDE(IN(F32, 3, 4, 6), IN(F32, 3, 4, 17), NONE, NONE, NONE, IN(F32, 3, 17), NONE, IN(F32, 3, 4), NO_MEMORY, NO_PROJECTION,
          NONE, HEADS(F32, 17, 23))},
    /* Wired, and sizes around a block of 8 or 16 samples. */
    {.name = "wired, 17 samples, no_gate, time spans, the last step",
     .lo = 0.05,
     .hi = 0.5,
     WIDE(IN(F32, 17, 2, 2), IN(F32, 17, 1), IN(F32, 17, 3), NONE, NONE, IN(F32, 17, 3), NONE, IN(F32, 17, 2), NO_MEMORY,
          NO_PROJECTION, MASK_2, HEADS(F32, 2, 4), MASK_1, HEADS(F32, 1, 3)),
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("mode", "no_gate"), AS_ATTR_I("return_sequences", 0)}},
    {.name = "wired, 16 samples, keras",
     WIDE(IN(F32, 16, 3, 2), IN(F32, 16, 3, 1), NONE, NONE, NONE, NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, MASK_2,
          HEADS(F32, 2, 4), MASK_1, HEADS(F32, 1, 3)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("semantics", "keras")}},
    {.name = "9 samples, 10 and 9 units",
     WIDE(IN(F32, 9, 2, 3), IN(F32, 9, 2, 9), NONE, NONE, NONE, NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(F32, 10, 13),
          NONE, HEADS(F32, 9, 19))},
    /* Every activation and part, one block and several, more blocks than shards. */
    {.name = "40 samples, backbone of 2, lecun_tanh, time spans",
     .lo = 0.0,
     .hi = 0.25,
     WIDE(IN(F32, 40, 2, 3), IN(F32, 40, 2, 9), IN(F32, 40, 9), NONE, NONE, IN(F32, 40, 9), NONE, IN(F32, 40, 2), NO_MEMORY,
          NO_PROJECTION, LINEAR(F32, 10, 12), LINEAR(F32, 7, 10), NONE, HEADS(F32, 9, 7)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("backbone", 2)}},
    {.name = "tanh, projection, the last step",
     WIDE(IN(F32, 5, 3, 2), IN(F32, 5, 4), NONE, NONE, NONE, NO_STATE, NONE, NO_MEMORY, LINEAR(F32, 4, 3), LINEAR(F32, 9, 5), NONE,
          HEADS(F32, 3, 9)),
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("backbone", 1), AS_ATTR_S("activation", "tanh"), AS_ATTR_I("return_sequences", 0)}},
    {.name = "silu, memory, no_gate",
     WIDE(IN(F32, 3, 3, 2), IN(F32, 3, 3, 5), IN(F32, 3, 5), NONE, NONE, IN(F32, 3, 5), IN(F32, 3, 5), NONE, MEMORY(F32, 5, 2),
          NO_PROJECTION, LINEAR(F32, 6, 7), NONE, HEADS(F32, 5, 6)),
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("backbone", 1), AS_ATTR_S("activation", "silu"), AS_ATTR_S("mode", "no_gate")}},
    {.name = "gelu, projection, enhanced",
     WIDE(IN(F32, 4, 2, 3), IN(F32, 4, 2, 2), NONE, NONE, NONE, NO_STATE, NONE, NO_MEMORY, LINEAR(F32, 2, 4), LINEAR(F32, 8, 7),
          LINEAR(F32, 5, 8), NONE, HEADS(F32, 4, 5)),
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("backbone", 2), AS_ATTR_S("activation", "gelu"), AS_ATTR_S("semantics", "enhanced")}},
    {.name = "pure, wired, memory, time spans",
     .lo = 0.05,
     .hi = 0.5,
     WIDE(IN(F32, 6, 3, 2), IN(F32, 6, 3, 1), NONE, IN(F32, 6, 3), NONE, IN(F32, 6, 3), NONE, IN(F32, 6, 3), MEMORY(F32, 3, 2),
          NO_PROJECTION, MASK_2, PURE(F32, 2, 4), MASK_1, PURE(F32, 1, 3)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "pure")}},
    {.name = "150 samples, relu",
     WIDE(IN(F32, 150, 1, 2), IN(F32, 150, 1, 3), NONE, NONE, NONE, NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, LINEAR(F32, 4, 5),
          NONE, HEADS(F32, 3, 4)),
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("backbone", 1), AS_ATTR_S("activation", "relu")}},
    {.name = "f64",
     WIDE(IN(F64, 2, 3, 2), IN(F64, 2, 3, 3), NONE, NONE, NONE, NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(F64, 3, 5))},
    {.name = "nothing from above",
     WIDE(IN(F32, 2, 2, 2), NONE, NONE, NONE, NONE, NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(F32, 3, 5))},
    {.name = "no steps",
     WIDE(IN(F32, 2, 0, 2), IN(F32, 2, 0, 3), NONE, NONE, NONE, NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(F32, 3, 5))},
    {.name = "empty batch",
     WIDE(IN(F32, 0, 2, 2), IN(F32, 0, 2, 3), NONE, NONE, NONE, NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(F32, 3, 5))},
};

const as_op as_op_cfcgrad = {
    .name = "assay.CfCGrad",
    .min_in = 1,
    .max_in = AS_CFC_MAX_IN + 4,
    .min_out = 1,
    .max_out = AS_CFC_MAX_OUT,
    .attrs = as_cfc_attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
