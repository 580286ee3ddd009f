/* ltc_test.c - liquid time constants: gradients of all outputs checked by differences, refusals, what a mask saves. */
#include "op/cell/ltc.h"

#include <stdio.h>

#include "tests/conform/op_case.h"
#include "tests/runner/test.h"

static assay_env *env_new(void)
{
    assay_env *env = NULL;
    expect(assay_env_new(&env) == ASSAY_OK);
    return env;
}

/* --- Gradients ------------------------------------------------------------------------------------ */

static double weight(int k, int64_t e) { return (double)as_philox_uniform(17, (uint32_t)k, 0, (uint64_t)e) - 0.5; }

static void outputs_open(assay_env *env, op_call *call, int n_out)
{
    call->node.n_out = n_out;
    expect_ok(env, as_op_infer(env, &call->node, call->out));
    for (int i = 0; i < n_out; i++)
        call->out_view[i] = op_case_alloc(&call->arena, call->out[i].dtype, &call->out[i].shape);
}

static double loss(assay_env *env, op_call *call)
{
    double sum = 0.0;
    expect_ok(env, call->node.op->eval(env, &call->node, call->in_view, call->out_view));
    for (int k = 0; k < call->node.n_out; k++)
        for (int64_t e = 0; e < as_shape_count(&call->out[k].shape); e++)
            sum += weight(k, e) * as_view_get(&call->out_view[k], e);
    return sum;
}

/* The node of the gradient: the inputs of the call, then the weights of the loss. */
static void gradient_run(assay_env *env, const op_call *call, op_call *back)
{
    *back = (op_call){.node = call->node};
    back->node.op = as_op_find("assay.LTCGrad");
    back->node.n_in = AS_LTC_DY + call->node.n_out;
    back->node.in = back->in;
    back->node.out = back->out;
    memcpy(back->in, call->in, sizeof back->in);
    memcpy(back->in_view, call->in_view, sizeof back->in_view);
    for (int k = 0; k < call->node.n_out; k++) {
        as_view d = op_case_alloc(&back->arena, AS_F64, &call->out[k].shape);
        for (int64_t e = 0; e < as_shape_count(&d.shape); e++)
            as_view_set(&d, e, weight(k, e));
        back->in[AS_LTC_DY + k] = call->out[k];
        back->in_view[AS_LTC_DY + k] = d;
    }
    int n_out = 0;
    for (int i = 0; i < AS_LTC_N_IN; i++)
        n_out += as_ltc_trains(&call->node, i);
    outputs_open(env, back, n_out);
    expect_ok(env, back->node.op->eval(env, &back->node, back->in_view, back->out_view));
}

static void input_check(assay_env *env, op_call *call, int i, const as_view *gradient, const char *label)
{
    const double   step = 1e-6;
    const as_view *x = &call->in_view[i];
    for (int64_t e = 0; e < as_shape_count(&x->shape); e += 1 + as_shape_count(&x->shape) / 7) {
        double saved = as_view_get(x, e), side[2];
        for (int s = 0; s < 2; s++) {
            as_view_set(x, e, saved + (s ? step : -step));
            side[s] = loss(env, call);
        }
        as_view_set(x, e, saved);
        double want = (side[1] - side[0]) / (2.0 * step), got = as_view_get(gradient, e);
        if (!(fabs(got - want) <= 2e-6 * (1.0 + fabs(want))))
            fail("case '%s': input %d, element %lld: %.12g, by differences %.12g", label, i, (long long)e, got, want);
    }
}

Test(ltc, every_output_has_the_gradient_that_differences_give)
{
    assay_env   *env = env_new();
    const as_op *op = as_op_find("assay.LTC");
    expect(op);
    for (size_t c = 0; c < op->n_cases; c++) {
        op_call call, back;
        op_case_start(env, op, &op->cases[c], AS_F64, &call);
        outputs_open(env, &call, as_in_has(&call.node, AS_LTC_MEMORY_W) ? 3 : 2);
        gradient_run(env, &call, &back);
        for (int i = 0, at = 0; i < call.node.n_in; i++)
            if (as_ltc_trains(&call.node, i))
                input_check(env, &call, i, &back.out_view[at++], op->cases[c].name);
        as_arena_drop(&back.arena);
        as_arena_drop(&call.arena);
    }
    assay_env_free(env);
}

/* --- A node that tests change ----------------------------------------------------------------------- */

enum { B = 2, T = 3, I = 2, N = 4 };

static const as_case_in everything[] = {
    AS_LTC_CORE(F32, B, T, I, N),
    [AS_LTC_MASK] = {.dtype = AS_I8,
                     .shape = AS_SHAPE(N, N),
                     .ints = (const int64_t[]){1, 0, 0, 0, 0, -1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0}},
    [AS_LTC_SENSORY_MASK] = {.dtype = AS_BOOL, .shape = AS_SHAPE(I, N), .ints = (const int64_t[]){1, 0, 0, 1, 0, 0, 1, 0}},
    [AS_LTC_INPUT_W] = AS_IN(F32, I),
    AS_IN(F32, I),
    AS_IN(F32, 2),
    AS_IN(F32, 2),
    AS_IN(F32, 4 * N, I),
    AS_IN(F32, 4 * N),
    AS_IN(F32, 4 * N, N),
    AS_IN(F32, 3, 2),
    AS_IN(F32, 3),
    AS_IN(F32, B, N),
    AS_IN(F32, B, N),
    AS_IN(F32, B, T),
};
static const as_case all = {.name = "all", .wide = everything, .n_in = AS_LTC_N_IN, .lo = 0.1, .hi = 0.9};

static void refuses(void (*change)(op_call *call), const char *part)
{
    assay_env     *env = env_new();
    op_call        call;
    as_tensor_info out[AS_MAX_OUT] = {0};
    op_case_start(env, as_op_find("assay.LTC"), &all, AS_NONE, &call);
    call.node.name = "net";
    change(&call);
    expect_fails(env, as_op_infer(env, &call.node, out), ASSAY_BAD_INPUT, part);
    expect_has(assay_message(env), "assay.LTC 'net': ");
    expect_eq(out[0].dtype, AS_NONE);
    as_arena_drop(&call.arena);
    assay_env_free(env);
}

#define REFUSES(name_, part_, ...)                             \
    static void change_##name_(op_call *call) { __VA_ARGS__; } \
    Test(ltc, refuses_##name_) { refuses(change_##name_, part_); }

static void attr_set(op_call *call, as_attr attr)
{
    as_attr *one = AS_TAKE(&call->arena, as_attr, 1);
    *one = attr;
    call->node.attrs = one;
    call->node.n_attrs = 1;
}

REFUSES(x_of_another_rank, "x is [2,3] and gleak is [4]: they must be [batch,steps,inputs] and [units]",
        call->in[AS_LTC_X].shape = AS_SHAPE(2, 3))
REFUSES(another_dtype, "x is f32 and vleak (input 2) is f64", call->in[AS_LTC_VLEAK].dtype = AS_F64)
REFUSES(a_float_mask, "sparsity_mask (input 12) is f32 and must be bool, i8 or u8", call->in[AS_LTC_MASK].dtype = AS_F32)
REFUSES(integers, "input 0 is i32 and must be one of", call->in[AS_LTC_X].dtype = AS_I32)
REFUSES(sigma_that_does_not_fit, "sigma (input 4) is [4,5] and must be [4,4]: x is [2,3,2] and gleak has 4 units",
        call->in[AS_LTC_SIGMA].shape = AS_SHAPE(4, 5))
REFUSES(sensory_weights_for_other_inputs, "sensory_w (input 10) is [3,4] and must be [2,4]",
        call->in[AS_LTC_SENSORY_W].shape = AS_SHAPE(3, 4))
REFUSES(timespans_for_another_length, "timespans (input 25) is [2,4] and must be [2,3]",
        call->in[AS_LTC_TIMESPANS].shape = AS_SHAPE(2, 4))
REFUSES(a_state_for_another_batch, "h0 (input 23) is [1,4] and must be [2,4]", call->in[AS_LTC_H0].shape = AS_SHAPE(1, 4))
REFUSES(an_output_map_that_is_no_vector, "output_w is [1,2] and must be a vector", call->in[AS_LTC_OUTPUT_W].shape = AS_SHAPE(1, 2))
REFUSES(reading_more_units_than_there_are, "9 units are to be read and there are 4", call->in[AS_LTC_OUTPUT_W].shape = AS_SHAPE(9))
REFUSES(a_projection_from_other_units, "fc.weight is [3,4] and must be [outputs,2]", call->in[AS_LTC_FC_W].shape = AS_SHAPE(3, 4))
REFUSES(a_shift_without_a_scale, "input_b (input 15) is given without input_w (input 14)", call->in[AS_LTC_INPUT_W].dtype = AS_NONE)
REFUSES(half_a_memory_cell, "is given without lstm.input_map.bias (input 19)", call->in[AS_LTC_MEMORY_B].dtype = AS_NONE)
REFUSES(a_memory_state_without_its_cell, "c0 (input 24) is given without lstm.input_map.weight (input 18)",
        call->in[AS_LTC_MEMORY_W].dtype = call->in[AS_LTC_MEMORY_B].dtype = call->in[AS_LTC_MEMORY_R].dtype = AS_NONE)
REFUSES(no_unfolds, "unfolds is 0 and must be 1 to 1000", attr_set(call, (as_attr)AS_ATTR_I("unfolds", 0)))
REFUSES(a_negative_epsilon, "epsilon is -1 and must be finite and not negative",
        attr_set(call, (as_attr)AS_ATTR_F("epsilon", -1.0)))
REFUSES(implicit_of_two, "implicit is 2 and must be 0 or 1", attr_set(call, (as_attr)AS_ATTR_I("implicit", 2)))
REFUSES(return_sequences_of_minus_one, "return_sequences is -1 and must be 0 or 1",
        attr_set(call, (as_attr)AS_ATTR_I("return_sequences", -1)))
REFUSES(the_last_of_no_steps, "x is [2,0,2]: a sequence without steps has no last one",
        call->in[AS_LTC_X].shape = AS_SHAPE(2, 0, 2);
        attr_set(call, (as_attr)AS_ATTR_I("return_sequences", 0)))
REFUSES(no_units, "there are 2 inputs and 0 units", call->in[AS_LTC_GLEAK].shape = AS_SHAPE(0))
REFUSES(a_memory_state_that_nobody_has, "the state of the memory cell is asked for and there is none",
        call->in[AS_LTC_MEMORY_W].dtype = call->in[AS_LTC_MEMORY_B].dtype = call->in[AS_LTC_MEMORY_R].dtype = AS_NONE;
        call->in[AS_LTC_C0].dtype = AS_NONE; call->node.n_out = 3)

Test(ltc, gradient_refuses_more_than_there_are_and_nothing_to_start_from)
{
    assay_env     *env = env_new();
    op_call        call;
    as_tensor_info out[AS_MAX_OUT];
    op_case_start(env, as_op_find("assay.LTC"), &all, AS_NONE, &call);
    call.node.op = as_op_find("assay.LTCGrad");
    call.in[AS_LTC_H0].dtype = AS_NONE;
    call.node.n_out = 24;
    expect_fails(env, as_op_infer(env, &call.node, out), ASSAY_BAD_INPUT, "24 outputs are requested and there are 23 gradients");
    call.node.n_out = 23;
    expect_fails(env, as_op_infer(env, &call.node, out), ASSAY_BAD_INPUT, "no gradient of an output is given");
    as_arena_drop(&call.arena);
    assay_env_free(env);
}

/* --- Time ---------------------------------------------------------------------------------------------- */

Test(ltc, names_the_sample_and_the_step_of_a_time_that_is_none)
{
    assay_env   *env = env_new();
    op_call      call;
    const double bad[] = {NAN, -0.5, INFINITY};
    op_case_start(env, as_op_find("assay.LTC"), &all, AS_NONE, &call);
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        as_view_set(&call.in_view[AS_LTC_TIMESPANS], 1 * T + 2, bad[i]);
        as_view_set(&call.out_view[0], 0, 42.0);
        expect_fails(env, call.node.op->eval(env, &call.node, call.in_view, call.out_view), ASSAY_BAD_INPUT,
                     "timespans[1][2] (sample, step) is ");
        expect_has(assay_message(env), "must be finite and not negative");
        expect_near(as_view_get(&call.out_view[0], 0), 42.0, 0);
    }
    as_arena_drop(&call.arena);
    assay_env_free(env);
}

Test(ltc, no_time_leaves_the_state_as_it_is)
{
    assay_env *env = env_new();
    op_call    call;
    op_case_start(env, as_op_find("assay.LTC"), &all, AS_F64, &call);
    for (int i = AS_LTC_MEMORY_W; i <= AS_LTC_MEMORY_R; i++)
        call.in[i].dtype = AS_NONE;
    call.in[AS_LTC_C0].dtype = AS_NONE;
    for (int64_t i = 0; i < B * T; i++)
        as_view_set(&call.in_view[AS_LTC_TIMESPANS], i, 0.0);
    outputs_open(env, &call, 2);
    expect_ok(env, call.node.op->eval(env, &call.node, call.in_view, call.out_view));
    for (int64_t i = 0; i < B * N; i++)
        expect_near(as_view_get(&call.out_view[1], i), as_view_get(&call.in_view[AS_LTC_H0], i), 1e-15);
    as_arena_drop(&call.arena);
    assay_env_free(env);
}

/* Samples with different time spans: each gives what it would give alone. */
Test(ltc, time_is_a_samples_own)
{
    assay_env *env = env_new();
    op_call    both, one;
    op_case_start(env, as_op_find("assay.LTC"), &all, AS_F64, &both);
    outputs_open(env, &both, 3);
    expect_ok(env, both.node.op->eval(env, &both.node, both.in_view, both.out_view));
    op_case_start(env, as_op_find("assay.LTC"), &all, AS_F64, &one);
    for (int i = 0; i < AS_LTC_N_IN; i++)
        if (i == AS_LTC_X || i >= AS_LTC_H0) { /* the second sample of what has samples */
            one.in_view[i].data = (double *)one.in_view[i].data + as_shape_count(&one.in[i].shape) / B;
            one.in_view[i].shape.dim[0] = one.in[i].shape.dim[0] = 1;
        }
    outputs_open(env, &one, 3);
    expect_ok(env, one.node.op->eval(env, &one.node, one.in_view, one.out_view));
    for (int k = 0; k < 3; k++) {
        int64_t count = as_shape_count(&one.out[k].shape);
        for (int64_t e = 0; e < count; e++)
            expect_near(as_view_get(&one.out_view[k], e), as_view_get(&both.out_view[k], count + e), 0);
    }
    as_arena_drop(&one.arena);
    as_arena_drop(&both.arena);
    assay_env_free(env);
}

/* --- Work ---------------------------------------------------------------------------------------------- */

Test(ltc, a_known_mask_counts_its_synapses_alone)
{
    assay_env *env = env_new();
    op_call    call;
    op_case_start(env, as_op_find("assay.LTC"), &all, AS_NONE, &call);
    as_cost sparse = call.node.op->cost(&call.node); /* 4 of 16 synapses, 3 of 8 sensory ones */
    expect_eq(sparse.special, B * T * (3 + 6 * 4 + 5 * N));
    call.in[AS_LTC_MASK].constant = call.in[AS_LTC_SENSORY_MASK].constant = NULL;
    as_cost dense = call.node.op->cost(&call.node);
    expect_eq(dense.special, B * T * (8 + 6 * 16 + 5 * N));
    expect_eq(dense.flops - sparse.flops, B * T * 6 * (5 + 6 * 12));
    expect_eq(dense.bytes_read - sparse.bytes_read, (12 + 5) * 4 * 4 + 16 + 8); /* four numbers per synapse, and the masks */
    expect_eq(dense.bytes_written, sparse.bytes_written);
    as_arena_drop(&call.arena);
    assay_env_free(env);
}

Test(ltc, softplus_is_linear_beyond_twenty)
{
    expect_near(as_ltc_pos_slope(20.5), 1.0, 0);
    expect_near(as_ltc_pos_slope(0.0), 0.5, 0);
    expect(as_ltc_pos_slope(19.5) < 1.0);
}
