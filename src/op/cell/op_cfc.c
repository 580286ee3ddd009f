/* op_cfc.c - closed-form continuous-time cells over a whole sequence; cfc.h says what goes in and comes out.
 *     default: h' = a (1 - g) + g b     no_gate: h' = a + g b     pure: h' = A - A exp(-ts (|w_tau| + |ff1|)) ff1
 * with a = tanh(ff1), b = tanh(ff2), g = sigmoid(time_a ts + time_b), each a dense layer on the backbone's result of x and h. */
#include "op/cell/cfc_case.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_cfc c;
    AS_TRY(as_cfc_read(env, n, n->in, n->n_in, &c));
    if (n->n_out == 3 && !c.has_memory)
        return as_refuse(env, n, "c_n is requested, but there is no mixed memory");
    as_shape y = as_cfc_y_shape(&c);
    out[0] = as_info(n->in[0].dtype, &y);
    out[1] = out[2] = as_info(n->in[0].dtype, &AS_SHAPE(c.n_batch, c.n_state));
    if (n->n_out > 3)
        out[3] = as_info(n->in[0].dtype, &AS_SHAPE(c.n_steps, as_cfc_stash_of(&c, as_in_has(n, AS_CFC_TIMESPANS)).n, c.n_batch));
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    as_cfc  c;
    if (as_cfc_read(NULL, n, n->in, n->n_in, &c) == ASSAY_OK) {
        as_cost work = as_cfc_work(&c, n->in);
        cost.flops = work.flops;
        cost.special = work.special;
    }
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_cfc     c;
    as_cfc_run run = {.c = &c, .in = in, .n_in = n->n_in, .y = out[0]};
    AS_TRY(as_cfc_read(env, n, n->in, n->n_in, &c));
    if (n->n_out > 1)
        run.h_n = out[1];
    if (n->n_out > 2)
        run.c_n = out[2];
    if (n->n_out > 3)
        run.stash = out[3];
    return as_cfc_forward(env, n, &run);
}

/* One node gives the gradients of everything that has one, in the order of the inputs. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    as_cfc c;
    int    all[AS_MAX_IN], found[AS_MAX_OUT], n_found = 0;
    bool   any = false;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    for (int i = 0; i < n->n_out; i++)
        any |= d_out[i] >= 0;
    if (!any)
        return ASSAY_OK;
    AS_TRY(as_cfc_read(b->env, n, n->in, n->n_in, &c));
    all[0] = in[AS_CFC_X];
    for (int i = 0; i < 3; i++)
        all[1 + i] = i < n->n_out ? d_out[i] : -1;
    all[4] = n->n_out > 3 ? out[3] : -1;
    for (int i = 1; i < n->n_in; i++)
        all[4 + i] = in[i];
    for (int i = 0; i < n->n_in; i++)
        n_found += as_cfc_differentiable(&c, n->in, n->n_in, i);
    if (b->node(b, "assay.CfCGrad", all, n->n_in + 4, n->attrs, n->n_attrs, found, n_found) < 0)
        return ASSAY_OK; /* the builder keeps its failure */
    for (int i = 0, k = 0; i < n->n_in; i++)
        if (as_cfc_differentiable(&c, n->in, n->n_in, i))
            d_in[i] = found[k++];
    return ASSAY_OK;
}

static int grad_outs(const as_node_ctx *n)
{
    (void)n;
    return 4;
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    as_cfc c;
    AS_TRY(as_cfc_read(b->env, n, n->in, n->n_in, &c));
    if (n->n_out > 3)
        return as_fail(b->env, ASSAY_UNSUPPORTED, "%s '%s': its gradient reads what it keeps, which primitives do not", n->op->name,
                       n->name ? n->name : "");
    return as_cfc_expand(b, n, &c, in, out);
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
    /* Computed in numpy; the inputs are multiples of 1/16. */
    {.name = "default with a backbone and time spans as numpy's",
     WIDE(IN(F32, 2, 2, 1), NO_STATE, IN(F32, 2, 2), NO_MEMORY, NO_PROJECTION, LINEAR(F32, 2, 3), NONE, HEADS(F32, 2, 2)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("backbone", 1)},
     .no_grad = true,
     .given = (const double[]){0.375, 0.625,   -1,      0.625,   0.5,     1,      2,       0.125,   -0.0625, 0.0625,
                               0.25,  -0.4375, 1,       -0.9375, -0.4375, -0.25,  0.125,   -0.1875, -0.75,   -0.9375,
                               -1,    -0.9375, -0.75,   1,       -0.625,  0.3125, 0.5,     -0.5625, -0.4375, -0.125,
                               -0.5,  1,       -0.6875, 0.8125,  0.625,   0.6875, -0.8125, -0.25,   0.25,    0},
     .want = (const double[]){-0.3416473579, -0.294042245, -0.4405129197, -0.2397371412, -0.3522968124, -0.2559621894,
                              -0.3929382492, -0.1980268972},
     .n_want = 8},
    {.name = "pure with memory and projection as numpy's",
     WIDE(IN(F32, 1, 2, 1), IN(F32, 1, 2), IN(F32, 1, 2), NONE, MEMORY(F32, 2, 1), LINEAR(F32, 1, 2), NONE, PURE(F32, 2, 3)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "pure")},
     .given = (const double[]){0.3125, 0.375,  0.3125,  -0.875,  0.9375, 0.125,   0.8125,  -0.5,    -0.3125, 0.8125,  -0.625,
                               -0.875, -0.25,  0.375,   -0.75,   0.75,   -0.3125, -0.5625, 0.0625,  0.8125,  0.8125,  0.75,
                               -0.375, -1,     0.5625,  0.4375,  0.5625, -1,      -0.9375, 0,       -0.3125, -0.125,  0.875,
                               -0.625, 0.0625, -0.375,  -0.4375, 0.625,  -0.6875, -0.375,  -0.8125, -0.75,   -0.4375, 0.4375,
                               0.1875, -0.125, -0.6875, 0.625,   0.625,  -0.5625, -0.9375, -0.375,  -0.75},
     .want = (const double[]){-1.249266919, -1.235479533},
     .n_want = 2},
    {.name = "wired, keras's no_gate, the last step as numpy's",
     WIDE(IN(F32, 1, 2, 2), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, MASK_2, HEADS(F32, 2, 4), MASK_1, HEADS(F32, 1, 3)),
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "no_gate"), AS_ATTR_S("semantics", "keras"), AS_ATTR_I("return_sequences", 0)},
     .given =
         (const double[]){0.625,   0.0625,  0,       -0.4375, 0,       0.9375,  -0.5625, 0.5625, -1,      -0.375, 0.875,   0.75,
                          -0.875,  0.6875,  0.6875,  -0.125,  -0.25,   1,       0.9375,  0.375,  -0.1875, -0.625, 0.875,   -0.5,
                          0.125,   0.375,   -0.5625, -0.375,  0.5,     -0.625,  0.375,   0.9375, 0.375,   0.3125, -0.0625, 0.9375,
                          -0.5625, -0.3125, 0.3125,  0.3125,  -0.8125, -0.6875, 0.375,   0.6875, 0.25,    0.875,  -0.25,   -0.375,
                          0.625,   -0.9375, -0.625,  -0.625,  -0.25,   -0.6875, 0.625,   0.6875, -0.25,   -1,     0.4375,  -0.8125},
     .want = (const double[]){-0.3780718507},
     .n_want = 1},
    {.name = "wired as numpy's",
     WIDE(IN(F32, 1, 2, 2), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, MASK_2, HEADS(F32, 2, 4), MASK_1, HEADS(F32, 1, 3)),
     .given =
         (const double[]){0.625,   0.0625,  0,       -0.4375, 0,       0.9375,  -0.5625, 0.5625, -1,      -0.375, 0.875,   0.75,
                          -0.875,  0.6875,  0.6875,  -0.125,  -0.25,   1,       0.9375,  0.375,  -0.1875, -0.625, 0.875,   -0.5,
                          0.125,   0.375,   -0.5625, -0.375,  0.5,     -0.625,  0.375,   0.9375, 0.375,   0.3125, -0.0625, 0.9375,
                          -0.5625, -0.3125, 0.3125,  0.3125,  -0.8125, -0.6875, 0.375,   0.6875, 0.25,    0.875,  -0.25,   -0.375,
                          0.625,   -0.9375, -0.625,  -0.625,  -0.25,   -0.6875, 0.625,   0.6875, -0.25,   -1,     0.4375,  -0.8125},
     .want = (const double[]){-0.3154033292, -0.4194770536},
     .n_want = 2},
    {.name = "enhanced as numpy's",
     WIDE(IN(F32, 1, 2, 1), NO_STATE, NONE, NO_MEMORY, LINEAR(F32, 1, 2), LINEAR(F32, 2, 3), LINEAR(F32, 1, 2), NONE,
          HEADS(F32, 2, 1)),
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("backbone", 2), AS_ATTR_S("activation", "silu"), AS_ATTR_S("semantics", "enhanced")},
     .given = (const double[]){0.25,   -0.6875, 0.625,   -0.1875, -0.3125, 0.9375, 0.375,  1,       0.25,    0.4375,  -0.25,
                               0.625,  -0.8125, -0.6875, -0.3125, 0.4375,  0,      0.6875, 0.9375,  -0.1875, -0.1875, 0.125,
                               0.3125, -0.0625, 0.1875,  0.9375,  0.5,     -0.375, -0.125, -0.1875, -0.75,   -1},
     .want = (const double[]){0.2043152404, 0.1695573968},
     .n_want = 2},
    /* For finite differences: every mode, with and without each part. */
    {.name = "default", WIDE(IN(F64, 2, 3, 2), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(F64, 3, 5))},
    {.name = "no_gate",
     WIDE(IN(F64, 2, 3, 2), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(F64, 3, 5)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "no_gate")}},
    {.name = "pure",
     WIDE(IN(F64, 2, 3, 2), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, PURE(F64, 3, 5)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "pure")}},
    {.name = "default, time spans, state",
     SPANS,
     WIDE(IN(F64, 2, 3, 2), IN(F64, 2, 3), NONE, IN(F64, 2, 3), NO_MEMORY, NO_PROJECTION, NONE, HEADS(F64, 3, 5))},
    {.name = "no_gate, time spans, backbone of 2",
     SPANS,
     WIDE(IN(F64, 2, 3, 2), IN(F64, 2, 3), NONE, IN(F64, 2, 3), NO_MEMORY, NO_PROJECTION, LINEAR(F64, 4, 5), LINEAR(F64, 3, 4),
          NONE, HEADS(F64, 3, 3)),
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("mode", "no_gate"), AS_ATTR_I("backbone", 2)}},
    {.name = "pure, time spans, backbone of 3, tanh",
     SPANS,
     WIDE(IN(F64, 2, 3, 2), IN(F64, 2, 3), NONE, IN(F64, 2, 3), NO_MEMORY, NO_PROJECTION, LINEAR(F64, 4, 5), LINEAR(F64, 3, 4),
          LINEAR(F64, 5, 3), NONE, PURE(F64, 3, 5)),
     .n_attrs = 3,
     .attrs = {AS_ATTR_S("mode", "pure"), AS_ATTR_I("backbone", 3), AS_ATTR_S("activation", "tanh")}},
    {.name = "wired, time spans, state",
     SPANS,
     WIDE(IN(F64, 2, 3, 2), IN(F64, 2, 3), NONE, IN(F64, 2, 3), NO_MEMORY, NO_PROJECTION, MASK_2, HEADS(F64, 2, 4), MASK_1,
          HEADS(F64, 1, 3))},
    {.name = "wired no_gate, memory, projection",
     WIDE(IN(F64, 2, 3, 2), IN(F64, 2, 3), IN(F64, 2, 3), NONE, MEMORY(F64, 3, 2), LINEAR(F64, 2, 1), MASK_2, HEADS(F64, 2, 4),
          MASK_1, HEADS(F64, 1, 3)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "no_gate")}},
    {.name = "wired pure, memory, time spans",
     SPANS,
     WIDE(IN(F64, 2, 3, 2), NO_STATE, IN(F64, 2, 3), MEMORY(F64, 3, 2), NO_PROJECTION, MASK_2, PURE(F64, 2, 4), MASK_1,
          PURE(F64, 1, 3)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "pure")}},
    {.name = "default, memory, projection, silu, the last step",
     WIDE(IN(F64, 2, 4, 2), NO_STATE, NONE, MEMORY(F64, 3, 2), LINEAR(F64, 2, 3), LINEAR(F64, 4, 5), NONE, HEADS(F64, 3, 4)),
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("backbone", 1), AS_ATTR_S("activation", "silu"), AS_ATTR_I("return_sequences", 0)}},
    {.name = "keras, gelu, time spans",
     SPANS,
     WIDE(IN(F64, 2, 3, 2), NO_STATE, IN(F64, 2, 3), NO_MEMORY, NO_PROJECTION, LINEAR(F64, 4, 5), NONE, HEADS(F64, 3, 4)),
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("backbone", 1), AS_ATTR_S("activation", "gelu"), AS_ATTR_S("semantics", "keras")}},
    {.name = "keras, wired",
     WIDE(IN(F64, 2, 3, 2), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, MASK_2, HEADS(F64, 2, 4), MASK_1, HEADS(F64, 1, 3)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("semantics", "keras")}},
    {.name = "keras's pure, relu",
     WIDE(IN(F64, 2, 3, 2), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, LINEAR(F64, 6, 5), NONE, PURE(F64, 3, 6)),
     .n_attrs = 4,
     .attrs = {AS_ATTR_I("backbone", 1), AS_ATTR_S("activation", "relu"), AS_ATTR_S("semantics", "keras"),
               AS_ATTR_S("mode", "pure")}},
    {.name = "enhanced, projection, time spans",
     SPANS,
     WIDE(IN(F64, 2, 3, 2), NO_STATE, IN(F64, 2, 3), NO_MEMORY, LINEAR(F64, 2, 3), LINEAR(F64, 4, 5), LINEAR(F64, 3, 4), NONE,
          HEADS(F64, 3, 3)),
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("backbone", 2), AS_ATTR_S("semantics", "enhanced")}},
    {.name = "dropout in training",
     WIDE(IN(F64, 2, 3, 2), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, LINEAR(F64, 6, 5), LINEAR(F64, 5, 6), NONE, HEADS(F64, 3, 5)),
     .n_attrs = 4,
     .attrs = {AS_ATTR_I("backbone", 2), AS_ATTR_F("dropout", 0.5), AS_ATTR_I("training", 1), AS_ATTR_I("dropout_seed", 7)}},
    /* Sizes around the edges of vectors and tiles. */
    {.name = "one unit, one step", WIDE(IN(F32, 1, 1, 1), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(F32, 1, 2))},
    {.name = "9 units", WIDE(IN(F32, 3, 5, 7), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(F32, 9, 16))},
    {.name = "17 units, backbone of 33, time spans",
     .lo = 0.0,
     .hi = 0.25,
     WIDE(IN(F32, 5, 4, 20), IN(F32, 5, 17), NONE, IN(F32, 5, 4), NO_MEMORY, NO_PROJECTION, LINEAR(F32, 33, 37),
          LINEAR(F32, 33, 33), NONE, HEADS(F32, 17, 33)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("backbone", 2)}},
    {.name = "15 units, memory, projection",
     WIDE(IN(F32, 2, 3, 8), NO_STATE, NONE, MEMORY(F32, 15, 8), LINEAR(F32, 3, 15), LINEAR(F32, 16, 23), NONE, HEADS(F32, 15, 16)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("backbone", 1)}},
    {.name = "1 sample, 29 units", WIDE(IN(F32, 1, 3, 20), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(F32, 29, 49))},
    {.name = "7 samples, 5 units, time spans",
     SPANS,
     WIDE(IN(F32, 7, 3, 2), NO_STATE, IN(F32, 7, 3), NO_MEMORY, NO_PROJECTION, NONE, HEADS(F32, 5, 7)),
     .no_grad = true},
    {.name = "8 samples, 8 units",
     WIDE(IN(F32, 8, 2, 3), IN(F32, 8, 8), NONE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(F32, 8, 11)),
     .no_grad = true},
    {.name = "9 samples, pure, 9 units, time spans",
     SPANS,
     WIDE(IN(F32, 9, 2, 3), NO_STATE, IN(F32, 9, 2), NO_MEMORY, NO_PROJECTION, NONE, PURE(F32, 9, 12)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "pure")},
     .no_grad = true},
    {.name = "14 samples, 19 and 16 units, no_gate",
     WIDE(IN(F32, 14, 2, 5), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(F32, 19, 24), NONE, HEADS(F32, 16, 35)),
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "no_gate")},
     .no_grad = true},
    {.name = "16 samples, 3 units, memory, projection, time spans",
     SPANS,
     WIDE(IN(F32, 16, 2, 2), IN(F32, 16, 3), IN(F32, 16, 3), IN(F32, 16, 2), MEMORY(F32, 3, 2), LINEAR(F32, 5, 3), NONE,
          HEADS(F32, 3, 5)),
     .no_grad = true},
    {.name = "33 samples, backbone of 5 and 4, gelu, the last step",
     WIDE(IN(F32, 33, 2, 2), NO_STATE, NONE, NO_MEMORY, LINEAR(F32, 2, 3), LINEAR(F32, 5, 5), LINEAR(F32, 4, 5), NONE,
          HEADS(F32, 3, 4)),
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("backbone", 2), AS_ATTR_S("activation", "gelu"), AS_ATTR_I("return_sequences", 0)},
     .no_grad = true},
    {.name = "21 samples, wired",
     WIDE(IN(F32, 21, 2, 2), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, MASK_2, HEADS(F32, 2, 4), MASK_1, HEADS(F32, 1, 3)),
     .no_grad = true},
    {.name = "f16", WIDE(IN(F16, 2, 2, 3), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(F16, 4, 7))},
    {.name = "bf16", WIDE(IN(BF16, 1, 2, 3), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(BF16, 2, 5))},
    {.name = "no steps", WIDE(IN(F32, 2, 0, 2), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(F32, 3, 5))},
    {.name = "empty batch", WIDE(IN(F32, 0, 2, 2), NO_STATE, NONE, NO_MEMORY, NO_PROJECTION, NONE, HEADS(F32, 3, 5))},
};

const as_op as_op_cfc = {
    .name = "assay.CfC",
    .min_in = 1,
    .max_in = AS_CFC_MAX_IN,
    .min_out = 1,
    .max_out = 4,
    .attrs = as_cfc_attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .grad_outs = grad_outs,
    .outs_optional = true,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* f32 rounding is carried from step to step */
};
