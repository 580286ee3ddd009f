/* op_ltcgrad.c - assay.LTCGrad: the gradient of assay.LTC through time.
 *
 * Inputs are LTC's, then the gradients of y, of the last state and of the memory cell's (at least one must be present).  The
 * outputs are the gradients of those inputs of LTC that are present and not masks, in their order; one backward sweep gives them
 * all, so asking for fewer saves nothing.  The states are computed again, not kept from the forward pass. */
#include "op/cell/ltc.h"

#include <string.h>

static assay_status node_read(assay_env *env, const as_node_ctx *n, as_ltc *s)
{
    int n_trained = 0;
    AS_TRY(as_ltc_read(env, n, s));
    for (int i = 0; i < AS_LTC_N_IN; i++)
        n_trained += as_ltc_trains(n, i);
    if (n->n_out > n_trained)
        return as_refuse(env, n, "%d outputs are requested and there are %d gradients", n->n_out, n_trained);
    if (!as_in_has(n, AS_LTC_DY) && !as_in_has(n, AS_LTC_DH) && !as_in_has(n, AS_LTC_DC))
        return as_refuse(env, n, "no gradient of an output is given");
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_ltc s;
    AS_TRY(node_read(env, n, &s));
    for (int i = 0, at = 0; i < AS_LTC_N_IN && at < n->n_out; i++)
        if (as_ltc_trains(n, i))
            out[at++] = as_info(n->in[i].dtype, &n->in[i].shape);
    return ASSAY_OK;
}

/* The forward pass again, and two multiply-adds for each of its multiply-adds; both directions use the same activations. */
static as_cost cost(const as_node_ctx *n)
{
    as_ltc s;
    if (node_read(NULL, n, &s) != ASSAY_OK)
        return as_cost_bytes(n);
    as_cost cost = as_ltc_cost(n, &s);
    cost.flops = as_sat_mul(3, cost.flops);
    return cost;
}

static void state_take(const double *from, int64_t b, int64_t units, double *to)
{
    if (from)
        memcpy(to, from + b * units, (size_t)units * sizeof *to);
    else
        memset(to, 0, (size_t)units * sizeof *to);
}

static assay_status sequence_run(assay_env *env, const as_node_ctx *n, const as_ltc_net *net, int64_t b, const as_ltc_trail *trail,
                                 double *h, double *c, double *scratch, double *const *d)
{
    int64_t       units = net->s.n_units, each = (net->s.sequences ? net->s.n_steps : 1) * net->s.n_out;
    const double *d_y = net->in[AS_LTC_DY];
    state_take(net->in[AS_LTC_H0], b, units, h);
    state_take(net->in[AS_LTC_C0], b, units, c);
    AS_TRY(as_ltc_forward(env, n, net, b, trail, h, c, NULL));
    state_take(net->in[AS_LTC_DH], b, units, h);
    state_take(net->in[AS_LTC_DC], b, units, c);
    as_ltc_backward(net, b, trail, d_y ? d_y + b * each : NULL, h, c, scratch, d);
    if (d[AS_LTC_H0])
        memcpy(d[AS_LTC_H0] + b * units, h, (size_t)units * sizeof *h);
    if (d[AS_LTC_C0])
        memcpy(d[AS_LTC_C0] + b * units, c, (size_t)units * sizeof *c);
    return ASSAY_OK;
}

static bool through_pos(int i) { return i == AS_LTC_W || i == AS_LTC_SENSORY_W || i == AS_LTC_CM || i == AS_LTC_GLEAK; }

static assay_status run(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out, as_arena *arena)
{
    as_ltc_net   net;
    as_ltc_trail trail;
    double      *d[AS_LTC_N_IN] = {0};
    bool         ok = true;
    AS_TRY(as_ltc_load(env, n, in, arena, &net));
    AS_TRY(as_ltc_trail_take(env, n, &net.s, true, arena, &trail));
    for (int i = 0; i < AS_LTC_N_IN; i++)
        if (as_ltc_trains(n, i))
            ok &= (d[i] = AS_TAKE(arena, double, as_shape_count(&n->in[i].shape))) != NULL;
    double *h = AS_TAKE(arena, double, net.s.n_units), *c = AS_TAKE(arena, double, net.s.n_units);
    double *scratch = AS_TAKE(arena, double, as_ltc_scratch(&net.s));
    if (!ok || !h || !c || !scratch)
        return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for the gradients", n->op->name, n->name ? n->name : "");
    for (int64_t b = 0; b < net.s.n_batch; b++)
        AS_TRY(sequence_run(env, n, &net, b, &trail, h, c, scratch, d));
    for (int i = 0, at = 0; i < AS_LTC_N_IN && at < n->n_out; i++) {
        bool scale = net.s.implicit && through_pos(i);
        for (int64_t k = 0; d[i] && k < as_shape_count(&n->in[i].shape); k++)
            as_view_set(&out[at], k, scale ? d[i][k] * as_ltc_pos_slope(as_view_get(&in[i], k)) : d[i][k]);
        at += d[i] != NULL;
    }
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_arena     arena = {0};
    assay_status status = run(env, n, in, out, &arena);
    as_arena_drop(&arena);
    return status;
}

/* Compilers accept a shape in a named table, but not in a nested one. */
static const as_case_in in_defaults[] = {AS_LTC_CORE(F64, 1, 2, 2, 2), [AS_LTC_DY] = AS_IN(F64, 1, 2, 2), AS_IN(F64, 1, 2)};
static const as_case_in in_everything[] = {
    AS_LTC_CORE(F32, 1, 2, 2, 3),
    [AS_LTC_MASK] = {.dtype = AS_I8, .shape = AS_SHAPE(3, 3), .ints = (const int64_t[]){0, 1, 0, 1, 1, 1, 1, 1, 1}},
    [AS_LTC_SENSORY_MASK] = {.dtype = AS_BOOL, .shape = AS_SHAPE(2, 3), .ints = (const int64_t[]){0, 0, 1, 0, 1, 1}},
    [AS_LTC_INPUT_W] = AS_IN(F32, 2),
    AS_IN(F32, 2),
    AS_IN(F32, 2),
    AS_IN(F32, 2),
    AS_IN(F32, 12, 2),
    AS_IN(F32, 12),
    AS_IN(F32, 12, 3),
    [AS_LTC_FC_W] = AS_IN(F32, 2, 2),
    AS_IN(F32, 2),
    AS_IN(F32, 1, 3),
    AS_IN(F32, 1, 3),
    AS_IN(F32, 1, 2),
    [AS_LTC_DY] = AS_IN(F32, 1, 2, 2),
    AS_IN(F32, 1, 3),
    AS_IN(F32, 1, 3)};
static const as_case_in in_one_unit[] = {AS_LTC_CORE(F32, 1, 1, 1, 1), [AS_LTC_DY] = AS_IN(F32, 1, 1, 1)};
static const as_case_in in_scaled[] = {
    AS_LTC_CORE(F32, 2, 3, 7, 17), [AS_LTC_OUTPUT_W] = AS_IN(F32, 9), [AS_LTC_DY] = AS_IN(F32, 2, 9)};
static const as_case_in in_state_alone[] = {AS_LTC_CORE(F32, 2, 3, 2, 3), [AS_LTC_DH] = AS_IN(F32, 2, 3)};
/* Sizes around vectors of 4 and 8 samples. */
static const int64_t mask_5[] = {1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0},
                     mask_3_5[] = {1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0};
static const as_case_in in_9_samples[] = {AS_LTC_CORE(F32, 9, 2, 3, 5),
                                          [AS_LTC_MASK] = {.dtype = AS_I8, .shape = AS_SHAPE(5, 5), .ints = mask_5},
                                          {.dtype = AS_BOOL, .shape = AS_SHAPE(3, 5), .ints = mask_3_5},
                                          [AS_LTC_INPUT_W] = AS_IN(F32, 3),
                                          AS_IN(F32, 3),
                                          AS_IN(F32, 4),
                                          AS_IN(F32, 4),
                                          [AS_LTC_FC_W] = AS_IN(F32, 2, 4),
                                          AS_IN(F32, 2),
                                          AS_IN(F32, 9, 5),
                                          [AS_LTC_TIMESPANS] = AS_IN(F32, 9, 2),
                                          AS_IN(F32, 9, 2, 2),
                                          AS_IN(F32, 9, 5)};
static const as_case_in in_8_samples[] = {AS_LTC_CORE(F32, 8, 2, 2, 9), [AS_LTC_DY] = AS_IN(F32, 8, 9)};
static const as_case_in in_33_samples[] = {AS_LTC_CORE(F32, 33, 2, 2, 4), [AS_LTC_OUTPUT_W] = AS_IN(F32, 3),
                                           AS_IN(F32, 3), [AS_LTC_DY] = AS_IN(F32, 33, 2, 3)};
static const as_case_in in_f16[] = {AS_LTC_CORE(F16, 1, 2, 2, 3), [AS_LTC_DY] = AS_IN(F16, 1, 2, 3)};
static const as_case_in in_no_steps[] = {AS_LTC_CORE(F32, 2, 0, 2, 3), [AS_LTC_DY] = AS_IN(F32, 2, 0, 3), AS_IN(F32, 2, 3)};
static const as_case_in in_empty_batch[] = {AS_LTC_CORE(F32, 0, 2, 2, 3), [AS_LTC_DY] = AS_IN(F32, 0, 2, 3)};

static const as_case cases[] = {
    /* Computed with numpy 2.4 in double: the formulas with complex numbers, each x moved by 1e-30 i; the inputs are multiples of
     * 1/32. */
    {.name = "defaults as by complex steps",
     .n_in = AS_LTC_DH + 1,
     .wide = in_defaults,
     .given = (const double[]){0.21875,  0.125,   0.59375, -0.46875, 0.34375,  0.8125,   0.5,     0.875,   0.21875, 0.71875,
                               2.40625,  2.40625, 3.65625, 1.40625,  0.5,      0.3125,   0.375,   0.75,    0.40625, 0.71875,
                               0.125,    0.90625, 0.90625, 0.34375,  -0.59375, 0.3125,   1.5625,  2.125,   1.09375, 1.21875,
                               0.21875,  0.25,    0.78125, 0.28125,  0.75,     0.09375,  0.15625, 0.15625, 0.875,   0.625,
                               -0.96875, 0.875,   -0.5625, -0.46875, 0.15625,  -0.59375, 0.9375,  -0.28125},
     .want = (const double[]){-0.0547206959502, 0.0241484295558, 0.0933286873456, -0.0916899047207},
     .n_want = 4},
    {.name = "everything as by complex steps",
     .n_in = AS_LTC_N_GRAD_IN,
     .wide = in_everything,
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("unfolds", 3), AS_ATTR_I("implicit", 0)},
     .given =
         (const double[]){
             0.15625,  0.15625,  -0.4375,  0.46875,  0.90625,  0.5625,   0.15625,  0.75,     0.625,    0.5,      0.625,    0.3125,
             0.34375,  2.53125,  1.21875,  2.75,     1.5625,   1.75,     3.6875,   2.75,     1.71875,  3.09375,  0.90625,  0.8125,
             0.75,     0.375,    0.5625,   0.5625,   0.15625,  0.65625,  0.53125,  0.53125,  0.6875,   0.15625,  0.28125,  0.875,
             0.34375,  0.3125,   0.15625,  0.34375,  0.125,    -0.90625, -0.4375,  -0.5,     -0.6875,  0.59375,  0.9375,   0.84375,
             -0.125,   1.1875,   2.0625,   2.5625,   2.15625,  3.1875,   3.21875,  0.8125,   0.46875,  0.28125,  0.84375,  0.8125,
             0.1875,   0.28125,  0.625,    0.75,     0.875,    0.125,    0.25,     -0.15625, 0.09375,  0.5625,   0.125,    0.03125,
             -0.53125, -0.03125, -0.15625, -0.5625,  0.46875,  0.6875,   -0.53125, -0.65625, 0.03125,  -0.6875,  0.875,    0.6875,
             0.65625,  -0.1875,  0.5625,   -0.21875, -0.09375, -0.78125, -0.9375,  0.34375,  -0.625,   0.90625,  0.125,    0.15625,
             0.78125,  -0.40625, -0.96875, -0.5625,  -0.09375, -0.6875,  -0.4375,  0.46875,  -0.25,    -0.3125,  -0.53125, 0.0625,
             1,        -0.65625, 0.6875,   0.5625,   0.1875,   0.09375,  0.03125,  -0.78125, 0.125,    0.96875,  0.46875,  -0.0625,
             -0.125,   0.75,     -1,       -0.59375, 0.90625,  0.3125,   0.65625,  0.0625,   -0.90625, 0.0625,   0.25,     -0.8125,
             -0.03125, 0.875,    -0.875,   -0.90625, -0.78125, 0.375,    0.78125,  -0.6875,  0.6875,   -0.5625,  0.0625,   0.53125,
             -0.75,    -0.03125, 0.71875,  -0.28125, 0.59375,  -0.09375, 0.875,    -0.1875,  0.65625,  -0.84375, -0.3125,  -0.71875,
             -0.1875,  -0.1875,  -0.53125, -0.15625, 0.375,    0.15625,  -0.5,     0.4375,   0.40625,  1.375,    1.5,      -0.65625,
             0.65625,  -0.28125, -0.40625, 0.84375,  -0.375,   -0.59375, -0.25,    0.03125,  0.21875},
     .want = (const double[]){0.0475190873006, -0.0402767764738, 0.0348810074099, -0.0344722453185},
     .n_want = 4},
    {.name = "one unit, one step", .n_in = AS_LTC_DY + 1, .lo = 0.1, .hi = 0.9, .wide = in_one_unit},
    {.name = "17 units, 7 inputs, 9 read, last step",
     .n_in = AS_LTC_DY + 1,
     .lo = 0.1,
     .hi = 0.9,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("return_sequences", 0)},
     .wide = in_scaled},
    {.name = "of the state alone", .n_in = AS_LTC_DH + 1, .lo = 0.1, .hi = 0.9, .wide = in_state_alone},
    {.name = "9 samples, masks, mappings, projection, state and time spans",
     .n_in = AS_LTC_DH + 1,
     .lo = 0.1,
     .hi = 0.9,
     .wide = in_9_samples},
    {.name = "8 samples, explicit, last step",
     .n_in = AS_LTC_DY + 1,
     .lo = 0.1,
     .hi = 0.9,
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("return_sequences", 0), AS_ATTR_I("implicit", 0)},
     .wide = in_8_samples},
    {.name = "33 samples", .n_in = AS_LTC_DY + 1, .lo = 0.1, .hi = 0.9, .wide = in_33_samples},
    {.name = "f16", .n_in = AS_LTC_DY + 1, .lo = 0.1, .hi = 0.9, .wide = in_f16},
    {.name = "no steps", .n_in = AS_LTC_DH + 1, .lo = 0.1, .hi = 0.9, .wide = in_no_steps},
    {.name = "empty batch", .n_in = AS_LTC_DY + 1, .lo = 0.1, .hi = 0.9, .wide = in_empty_batch},
};

/* No gradient of its own: second derivatives are not needed. */
const as_op as_op_ltcgrad = {
    .name = "assay.LTCGrad",
    .min_in = AS_LTC_N_NEEDED,
    .max_in = AS_LTC_N_GRAD_IN,
    .min_out = 1,
    .max_out = AS_LTC_N_IN - 2,
    .attrs = as_ltc_attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
