/* op_ltc.c - assay.LTC: a liquid time constant network over a whole sequence; ltc.h has the formulas and the inputs.
 *
 * Outputs: y [batch,steps,outputs], or [batch,outputs] of the last step; the state after it, [batch,units]; and with mixed memory
 * (the three lstm weights given) the cell's, [batch,units].  Without input_w and input_b the input is used as it is; with input_w
 * alone it is only scaled.  The same holds for output_w and output_b.  Absent h0 and c0 are zeros, absent timespans are ones. */
#include "op/cell/ltc.h"

#include <string.h>

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_ltc s;
    AS_TRY(as_ltc_read(env, n, &s));
    if (n->n_out > 2 && !s.memory)
        return as_refuse(env, n, "the state of the memory cell is asked for and there is none: the lstm weights are absent");
    as_shape y = as_ltc_y(&s), state = AS_SHAPE(s.n_batch, s.n_units);
    for (int i = 0; i < n->n_out; i++)
        out[i] = as_info(n->in[AS_LTC_X].dtype, i ? &state : &y);
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    as_ltc s;
    return as_ltc_read(NULL, n, &s) == ASSAY_OK ? as_ltc_cost(n, &s) : as_cost_bytes(n);
}

static void vector_store(const as_view *v, int64_t at, const double *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        as_view_set(v, at + i, values[i]);
}

static void state_start(const double *given, int64_t b, int64_t units, double *out)
{
    if (given)
        memcpy(out, given + b * units, (size_t)units * sizeof *out);
    else
        memset(out, 0, (size_t)units * sizeof *out);
}

static assay_status run(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out, as_arena *arena)
{
    as_ltc_net   net;
    as_ltc_trail trail;
    AS_TRY(as_ltc_load(env, n, in, arena, &net));
    AS_TRY(as_ltc_trail_take(env, n, &net.s, false, arena, &trail));
    int64_t units = net.s.n_units, each = (net.s.sequences ? net.s.n_steps : 1) * net.s.n_out;
    double *h = AS_TAKE(arena, double, units), *c = AS_TAKE(arena, double, units), *y = AS_TAKE(arena, double, each);
    if (!h || !c || !y)
        return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for a state", n->op->name, n->name ? n->name : "");
    for (int64_t b = 0; b < net.s.n_batch; b++) {
        state_start(net.in[AS_LTC_H0], b, units, h);
        state_start(net.in[AS_LTC_C0], b, units, c);
        AS_TRY(as_ltc_forward(env, n, &net, b, &trail, h, c, y));
        vector_store(&out[0], b * each, y, each);
        if (n->n_out > 1)
            vector_store(&out[1], b * units, h, units);
        if (n->n_out > 2)
            vector_store(&out[2], b * units, c, units);
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

/* One node for everything: its outputs are the gradients of the inputs that are present and not masks, in their order. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    int  args[AS_LTC_N_GRAD_IN], outs[AS_LTC_N_IN], n_outs = 0, at = 0;
    bool any = false;
    (void)out;
    for (int i = 0; i < AS_LTC_N_GRAD_IN; i++)
        args[i] = i < AS_LTC_N_IN && as_in_has(n, i) ? in[i] : -1;
    for (int i = 0; i < n->n_in; i++) {
        d_in[i] = -1;
        n_outs += as_ltc_trains(n, i);
    }
    for (int i = 0; i < n->n_out; i++) {
        args[AS_LTC_DY + i] = d_out[i];
        any |= d_out[i] >= 0;
    }
    if (!any || b->node(b, "assay.LTCGrad", args, AS_LTC_N_GRAD_IN, n->attrs, n->n_attrs, outs, n_outs) < 0)
        return ASSAY_OK;
    for (int i = 0; i < n->n_in; i++)
        if (as_ltc_trains(n, i))
            d_in[i] = outs[at++];
    return ASSAY_OK;
}

/* Compilers accept a shape in a named table, but not in a nested one. */
static const as_case_in in_defaults[] = {AS_LTC_CORE(F32, 2, 3, 2, 3)};
static const as_case_in in_everything[] = {
    AS_LTC_CORE(F32, 2, 2, 2, 3),
    [AS_LTC_MASK] = {.dtype = AS_I8, .shape = AS_SHAPE(3, 3), .ints = (const int64_t[]){1, 0, 1, 1, 1, 1, 0, 1, 1}},
    [AS_LTC_SENSORY_MASK] = {.dtype = AS_BOOL, .shape = AS_SHAPE(2, 3), .ints = (const int64_t[]){1, 0, 1, 1, 0, 1}},
    [AS_LTC_INPUT_W] = AS_IN(F32, 2),
    AS_IN(F32, 2),
    AS_IN(F32, 2),
    AS_IN(F32, 2),
    AS_IN(F32, 12, 2),
    AS_IN(F32, 12),
    AS_IN(F32, 12, 3),
    [AS_LTC_FC_W] = AS_IN(F32, 2, 2),
    AS_IN(F32, 2),
    AS_IN(F32, 2, 3),
    AS_IN(F32, 2, 3),
    AS_IN(F32, 2, 2)};
static const as_case_in in_one_unit[] = {AS_LTC_CORE(F32, 1, 1, 1, 1)};
static const as_case_in in_explicit_one_unfold[] = {AS_LTC_CORE(F32, 2, 3, 2, 4)};
static const as_case_in in_scaled[] = {
    AS_LTC_CORE(F32, 2, 3, 7, 17), [AS_LTC_INPUT_W] = AS_IN(F32, 7), [AS_LTC_OUTPUT_W] = AS_IN(F32, 9)};
static const as_case_in in_last_step[] = {AS_LTC_CORE(F32, 3, 4, 5, 8)};
static const as_case_in in_masks[] = {
    AS_LTC_CORE(F32, 2, 2, 2, 3),
    [AS_LTC_MASK] = {.dtype = AS_I8, .shape = AS_SHAPE(3, 3), .ints = (const int64_t[]){0, -1, 1, 0, 0, 1, 1, 0, 0}},
    [AS_LTC_SENSORY_MASK] = {.dtype = AS_BOOL, .shape = AS_SHAPE(2, 3), .ints = (const int64_t[]){1, 0, 0, 0, 0, 1}},
    [AS_LTC_INPUT_W] = AS_IN(F32, 2), AS_IN(F32, 2)};
static const as_case_in in_no_synapse[] = {
    AS_LTC_CORE(F32, 1, 2, 1, 2), [AS_LTC_MASK] = {.dtype = AS_I8, .shape = AS_SHAPE(2, 2), .ints = (const int64_t[]){0, 0, 0, 0}},
    [AS_LTC_SENSORY_MASK] = {.dtype = AS_BOOL, .shape = AS_SHAPE(1, 2), .ints = (const int64_t[]){0, 0}}};
static const as_case_in in_time_spans[] = {AS_LTC_CORE(F32, 2, 3, 2, 3), [AS_LTC_TIMESPANS] = AS_IN(F32, 2, 3)};
static const as_case_in in_memory_from_zeros[] = {AS_LTC_CORE(F32, 2, 3, 2, 3), [AS_LTC_MEMORY_W] = AS_IN(F32, 12, 2),
                                                  AS_IN(F32, 12), AS_IN(F32, 12, 3)};
static const as_case_in in_memory_states[] = {AS_LTC_CORE(F32, 2, 3, 2, 3),
                                              [AS_LTC_MEMORY_W] = AS_IN(F32, 12, 2),
                                              AS_IN(F32, 12),
                                              AS_IN(F32, 12, 3),
                                              AS_IN(F32, 4, 3),
                                              {.dtype = AS_NONE},
                                              AS_IN(F32, 2, 3),
                                              AS_IN(F32, 2, 3),
                                              AS_IN(F32, 2, 3)};
/* Sizes around vectors of 4 and 8 samples, and as many targets: one target with all synapses, one with none, one slot left over. */
static const int64_t mask_9[] = {1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0,
                                 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0,
                                 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0},
                     mask_3_9[] = {1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0};
#define SAMPLES(b)                                                                                           \
    AS_LTC_CORE(F32, b, 2, 3, 9), [AS_LTC_MASK] = {.dtype = AS_I8, .shape = AS_SHAPE(9, 9), .ints = mask_9}, \
                                  [AS_LTC_SENSORY_MASK] = {.dtype = AS_BOOL, .shape = AS_SHAPE(3, 9), .ints = mask_3_9}
static const as_case_in in_1_sample[] = {SAMPLES(1),
                                         [AS_LTC_INPUT_W] = AS_IN(F32, 3),
                                         AS_IN(F32, 3),
                                         AS_IN(F32, 5),
                                         AS_IN(F32, 5),
                                         [AS_LTC_FC_W] = AS_IN(F32, 3, 5),
                                         AS_IN(F32, 3),
                                         AS_IN(F32, 1, 9),
                                         [AS_LTC_TIMESPANS] = AS_IN(F32, 1, 2)};
static const as_case_in in_1_sample_last[] = {AS_LTC_CORE(F32, 1, 3, 2, 9), [AS_LTC_FC_W] = AS_IN(F32, 2, 9)};
static const as_case_in in_7_samples[] = {SAMPLES(7), [AS_LTC_H0] = AS_IN(F32, 7, 9), [AS_LTC_TIMESPANS] = AS_IN(F32, 7, 2)};
static const as_case_in in_8_samples[] = {SAMPLES(8)};
static const as_case_in in_9_samples[] = {SAMPLES(9), [AS_LTC_FC_W] = AS_IN(F32, 2, 9),
                                          AS_IN(F32, 2), [AS_LTC_TIMESPANS] = AS_IN(F32, 9, 2)};
static const as_case_in in_16_samples[] = {AS_LTC_CORE(F32, 16, 2, 2, 5)};
static const as_case_in in_33_samples[] = {AS_LTC_CORE(F32, 33, 2, 2, 4), [AS_LTC_H0] = AS_IN(F32, 33, 4)};
static const as_case_in in_9_memories[] = {AS_LTC_CORE(F32, 9, 2, 2, 3), [AS_LTC_MEMORY_W] = AS_IN(F32, 12, 2), AS_IN(F32, 12),
                                           AS_IN(F32, 12, 3)};
static const as_case_in in_f64[] = {AS_LTC_CORE(F64, 2, 3, 3, 5)};
static const as_case_in in_f16[] = {AS_LTC_CORE(F16, 1, 2, 2, 3)};
static const as_case_in in_bf16[] = {AS_LTC_CORE(BF16, 2, 1, 3, 2)};
static const as_case_in in_no_steps[] = {AS_LTC_CORE(F32, 2, 0, 3, 2)};
static const as_case_in in_empty_batch[] = {AS_LTC_CORE(F32, 0, 3, 3, 2)};

static const as_case cases[] = {
    /* Computed with numpy 2.4 in double from the formulas on dense matrices; the inputs are multiples of 1/32. */
    {.name = "defaults as numpy's",
     .n_in = AS_LTC_N_NEEDED,
     .wide = in_defaults,
     .given =
         (const double[]){0.625,    0.625,   0.03125, -0.4375, -0.90625, -0.21875, -0.1875,  -0.90625, -0.90625, 1,       0.3125,
                          -0.53125, 0.4375,  0.875,   0.8125,  0.78125,  0.40625,  0.5,      0.65625,  0.15625,  0.53125, 1.8125,
                          3.625,    1.1875,  3.03125, 3.625,   1.6875,   3.6875,   3.625,    1.0625,   0.65625,  0.09375, 0.5,
                          0.4375,   0.25,    0.375,   0.75,    0.34375,  0.21875,  0.65625,  0.46875,  0.75,     0.28125, 0.34375,
                          0.75,     0.5,     0.5,     0.28125, -0.96875, 0.875,    -0.84375, 0.6875,   -0.25,    0.90625, -0.1875,
                          0.875,    0.125,   1.71875, 3.21875, 3.03125,  3.0625,   2.40625,  1.65625,  0.625,    0.1875,  0.65625,
                          0.59375,  0.40625, 0.75,    0.25,    0.40625,  0.75,     0.40625,  0.65625,  0.59375,  0.875,   0.96875,
                          0.4375,   0.625,   -0.6875, 0.4375},
     .want = (const double[]){0.4026395012, 0.364077692231, 0.292700964867, 0.379967870297, 0.462096924311, 0.286588761349,
                              0.350559493495, 0.396377493392, 0.28105577626, 0.318399774017, 0.439602497071, 0.258964098865,
                              0.387573398191, 0.226837713356, 0.284017640133, 0.391528737669, 0.491489141866, 0.291683796824},
     .n_want = 18},
    {.name = "masks, mappings, memory, projection, states and time spans as numpy's",
     .n_in = AS_LTC_N_IN,
     .wide = in_everything,
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("unfolds", 4), AS_ATTR_I("implicit", 0), AS_ATTR_F("epsilon", 0.01)},
     .given =
         (const double[]){
             0.6875,   -0.1875,  0.09375,  -0.03125, 0.90625,  -0.375,   -0.1875,  -1,       0.4375,   0.59375,  0.84375,  0.84375,
             0.375,    0.90625,  0.25,     0.75,     0.21875,  2.21875,  1.21875,  3.5625,   3.5,      1.40625,  2.59375,  1.78125,
             2.46875,  2.65625,  0.1875,   0.78125,  0.3125,   0.46875,  0.15625,  0.09375,  0.25,     0.375,    0.84375,  0.8125,
             0.5,      0.46875,  0.625,    0.78125,  0.375,    0.75,     0.40625,  0.5625,   0.46875,  0,        0.375,    0.40625,
             -1,       -0.90625, -0.6875,  -0.5625,  -0.59375, 1.15625,  1.65625,  2.8125,   3.65625,  2.0625,   2.09375,  0.4375,
             0.65625,  0.71875,  0.84375,  0.40625,  0.65625,  0.375,    0.75,     0.28125,  0.78125,  0.5,      0.6875,   0.0625,
             -0.375,   -0,       -0.90625, -0.90625, 0.0625,   0.96875,  0.5,      0.90625,  -0.40625, -0.125,   -0.46875, -0.90625,
             -0.96875, -0.5,     0.71875,  -0.6875,  0.375,    -0.5,     -0.875,   -0.625,   0.34375,  0,        0.09375,  -0.09375,
             -0.4375,  -0.03125, 0.84375,  -0.59375, 0.46875,  -0.5,     -0.625,   -0.34375, -0.8125,  0.875,    -0.28125, -0.65625,
             -1,       -0.875,   -0.5625,  -0.15625, 0.21875,  0.96875,  0.78125,  -0.5,     0.21875,  0.84375,  -0.78125, 0.71875,
             -0.21875, 0.5625,   -0.34375, 0.25,     0,        -0.78125, 0.53125,  0.65625,  -0.03125, -0.21875, 0.90625,  -0.25,
             0.75,     -0.15625, -0.25,    -0.28125, -0.875,   -0.4375,  -0.53125, -0.875,   0.09375,  -0.125,   -0.9375,  -0.6875,
             0.84375,  -0.71875, -0.25,    0.90625,  -0.78125, -0.1875,  0.59375,  -0.96875, -0.875,   0.875,    0.375,    -0.46875,
             -0.03125, -0.5,     0.78125,  0.90625,  -0.84375, 0.0625,   -0.625,   -0.1875,  0.46875,  0.4375,   -0.625,   -0.34375,
             -0.15625, -0.21875, 0.375,    0.5625,   -0.34375, -0.125,   -0.875,   1.21875,  2.84375,  1.59375,  1.75},
     .want = (const double[]){-0.144526241772, -0.754968991775, -0.144395787678, -0.756454190146, -0.132614883629, -0.76811944455,
                              -0.1361787129, -0.765762285956},
     .n_want = 8},
    {.name = "one unit, one step", .n_in = AS_LTC_N_NEEDED, .wide = in_one_unit, .lo = 0.1, .hi = 0.9},
    {.name = "explicit, one unfold",
     .n_in = AS_LTC_N_NEEDED,
     .wide = in_explicit_one_unfold,
     .lo = 0.1,
     .hi = 0.9,
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("implicit", 0), AS_ATTR_I("unfolds", 1)}},
    {.name = "17 units, 7 inputs, 9 read, scaled both ways", .n_in = AS_LTC_OUTPUT_W + 1, .lo = 0.1, .hi = 0.9, .wide = in_scaled},
    {.name = "8 units, the last step",
     .n_in = AS_LTC_N_NEEDED,
     .wide = in_last_step,
     .lo = 0.1,
     .hi = 0.9,
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("return_sequences", 0), AS_ATTR_I("output_size", 3)}},
    {.name = "masks and shifted input", .n_in = AS_LTC_INPUT_B + 1, .lo = -0.5, .hi = 0.9, .wide = in_masks},
    {.name = "no synapse at all", .n_in = AS_LTC_SENSORY_MASK + 1, .lo = 0.1, .hi = 0.9, .wide = in_no_synapse},
    {.name = "time spans",
     .n_in = AS_LTC_N_IN,
     .lo = 0.1,
     .hi = 0.9,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("implicit", 0)},
     .wide = in_time_spans},
    {.name = "memory from zeros", .n_in = AS_LTC_MEMORY_R + 1, .lo = -0.7, .hi = 0.9, .wide = in_memory_from_zeros},
    {.name = "memory, states and time spans, last step, projected",
     .n_in = AS_LTC_N_IN,
     .lo = 0.1,
     .hi = 0.9,
     .wide = in_memory_states,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("return_sequences", 0)}},
    {.name = "1 sample, mapped and projected", .n_in = AS_LTC_N_IN, .lo = 0.1, .hi = 0.9, .wide = in_1_sample},
    {.name = "1 sample, the last step projected",
     .n_in = AS_LTC_FC_W + 1,
     .lo = 0.1,
     .hi = 0.9,
     .wide = in_1_sample_last,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("return_sequences", 0)}},
    {.name = "7 samples from a state",
     .n_in = AS_LTC_N_IN,
     .lo = 0.1,
     .hi = 0.9,
     .wide = in_7_samples,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("unfolds", 2)}},
    {.name = "8 samples",
     .n_in = AS_LTC_SENSORY_MASK + 1,
     .lo = 0.1,
     .hi = 0.9,
     .wide = in_8_samples,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("unfolds", 2)}},
    {.name = "9 samples, projected",
     .n_in = AS_LTC_N_IN,
     .lo = 0.1,
     .hi = 0.9,
     .wide = in_9_samples,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("unfolds", 2)}},
    {.name = "16 samples",
     .n_in = AS_LTC_N_NEEDED,
     .lo = 0.1,
     .hi = 0.9,
     .wide = in_16_samples,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("unfolds", 2)}},
    {.name = "33 samples",
     .n_in = AS_LTC_H0 + 1,
     .lo = 0.1,
     .hi = 0.9,
     .wide = in_33_samples,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("unfolds", 2)}},
    {.name = "9 samples with memory",
     .n_in = AS_LTC_MEMORY_R + 1,
     .lo = 0.1,
     .hi = 0.9,
     .wide = in_9_memories,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("unfolds", 2)}},
    {.name = "f64", .n_in = AS_LTC_N_NEEDED, .wide = in_f64, .lo = 0.1, .hi = 0.9},
    {.name = "f16", .n_in = AS_LTC_N_NEEDED, .wide = in_f16, .lo = 0.1, .hi = 0.9},
    {.name = "bf16", .n_in = AS_LTC_N_NEEDED, .wide = in_bf16, .lo = 0.1, .hi = 0.9},
    {.name = "no steps", .n_in = AS_LTC_N_NEEDED, .wide = in_no_steps, .lo = 0.1, .hi = 0.9},
    {.name = "empty batch", .n_in = AS_LTC_N_NEEDED, .wide = in_empty_batch, .lo = 0.1, .hi = 0.9},
};

const as_op as_op_ltc = {
    .name = "assay.LTC",
    .min_in = AS_LTC_N_NEEDED,
    .max_in = AS_LTC_N_IN,
    .min_out = 1,
    .max_out = 3,
    .attrs = as_ltc_attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .expand = as_ltc_expand,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* f32 rounding is carried from step to step */
};
