/* cfc_test.c - CfC beyond its cases: gradients of all outputs at once, refusals, time spans, dropout, cost. */
#include <stdio.h>
#include <stdlib.h>

#include "op/cell/cfc_case.h"
#include "tests/conform/op_case.h"

static assay_env *env_new(void)
{
    assay_env *env = NULL;
    expect(assay_env_new(&env) == ASSAY_OK);
    return env;
}

static const as_op *cfc(void) { return as_op_find("assay.CfC"); }

static const as_case *case_named(const char *name)
{
    const as_op *op = cfc();
    for (size_t i = 0; i < op->n_cases; i++)
        if (!strcmp(op->cases[i].name, name))
            return &op->cases[i];
    fail("there is no case '%s'", name);
}

static bool has_memory(const op_call *call) { return as_in_has(&call->node, AS_CFC_MEMORY_W); }

/* The case with every output it can have. */
static void start(assay_env *env, const as_case *c, as_dtype floats, op_call *call)
{
    op_case_start(env, cfc(), c, floats, call);
    call->node.n_out = has_memory(call) ? 3 : 2;
    expect_ok(env, as_op_infer(env, &call->node, call->out));
    for (int i = 1; i < call->node.n_out; i++)
        call->out_view[i] = op_case_alloc(&call->arena, call->out[i].dtype, &call->out[i].shape);
}

/* --- Gradients ---------------------------------------------------------------------------------- */

static double weight(int output, int64_t e) { return (double)as_philox_uniform(3, (uint32_t)output, 0, (uint64_t)e) - 0.5; }
static double direction(int input, int64_t e) { return 2.0 * (double)as_philox_uniform(4, (uint32_t)input, 0, (uint64_t)e) - 1.0; }

static double loss(assay_env *env, op_call *call)
{
    double sum = 0.0;
    expect_ok(env, cfc()->eval(env, &call->node, call->in_view, call->out_view));
    for (int o = 0; o < call->node.n_out; o++)
        for (int64_t e = 0; e < as_shape_count(&call->out[o].shape); e++)
            sum += weight(o, e) * as_view_get(&call->out_view[o], e);
    return sum;
}

static double quotient(assay_env *env, op_call *call, int input)
{
    const as_view *x = &call->in_view[input];
    int64_t        count = as_shape_count(&x->shape);
    double         side[2], step = 1e-6;
    for (int s = 0; s < 2; s++) {
        for (int64_t e = 0; e < count; e++)
            as_view_set(x, e, as_view_get(x, e) + (s ? 2.0 : -1.0) * step * direction(input, e));
        side[s] = loss(env, call);
    }
    for (int64_t e = 0; e < count; e++)
        as_view_set(x, e, as_view_get(x, e) - step * direction(input, e));
    return (side[1] - side[0]) / (2.0 * step);
}

/* The gradient node of a call, its outputs in the call's arena. */
static int gradients_eval(assay_env *env, op_call *call, as_view *out)
{
    as_tensor_info in[AS_MAX_IN] = {0}, infos[AS_MAX_OUT] = {0};
    as_view        views[AS_MAX_IN] = {0};
    as_cfc         c;
    int            n_out = 0;
    in[0] = call->in[0];
    views[0] = call->in_view[0];
    for (int o = 0; o < call->node.n_out; o++) {
        views[1 + o] = op_case_alloc(&call->arena, AS_F64, &call->out[o].shape);
        in[1 + o] = call->out[o];
        for (int64_t e = 0; e < as_shape_count(&call->out[o].shape); e++)
            as_view_set(&views[1 + o], e, weight(o, e));
    }
    for (int i = 1; i < call->node.n_in; i++) {
        in[4 + i] = call->in[i];
        views[4 + i] = call->in_view[i];
    }
    expect_ok(env, as_cfc_read(env, &call->node, call->in, call->node.n_in, &c));
    for (int i = 0; i < call->node.n_in; i++)
        n_out += as_cfc_differentiable(&c, call->in, call->node.n_in, i);
    as_node_ctx n = {.op = as_op_find("assay.CfCGrad"),
                     .name = "g",
                     .attrs = call->node.attrs,
                     .n_attrs = call->node.n_attrs,
                     .in = in,
                     .n_in = call->node.n_in + 4,
                     .out = infos,
                     .n_out = n_out};
    expect_ok(env, as_op_infer(env, &n, infos));
    for (int i = 0; i < n_out; i++)
        out[i] = op_case_alloc(&call->arena, infos[i].dtype, &infos[i].shape);
    expect_ok(env, n.op->eval(env, &n, views, out));
    return n_out;
}

Test(cfc, gradients_of_y_and_the_last_state_together_match_differences)
{
    assay_env   *env = env_new();
    const as_op *op = cfc();
    int          n_checked = 0;
    for (size_t k = 0; k < op->n_cases; k++) {
        op_call call;
        as_view gradient[AS_MAX_OUT];
        as_cfc  c;
        if (as_case_input(&op->cases[k], 0)->dtype != AS_F64)
            continue;
        start(env, &op->cases[k], AS_F64, &call);
        int n_out = gradients_eval(env, &call, gradient), at = 0;
        expect_ok(env, as_cfc_read(env, &call.node, call.in, call.node.n_in, &c));
        for (int i = 0; i < call.node.n_in; i++) {
            double along = 0.0;
            if (!as_cfc_differentiable(&c, call.in, call.node.n_in, i))
                continue;
            for (int64_t e = 0; e < as_shape_count(&gradient[at].shape); e++)
                along += direction(i, e) * as_view_get(&gradient[at], e);
            double want = quotient(env, &call, i);
            if (!(fabs(along - want) <= 2e-6 * (1.0 + fabs(want))))
                fail("case '%s', input %d: %.12g, by differences %.12g", op->cases[k].name, i, along, want);
            at++;
            n_checked++;
        }
        expect_eq(at, n_out);
        as_arena_drop(&call.arena);
    }
    expect(n_checked > 100);
    assay_env_free(env);
}

/* --- Time --------------------------------------------------------------------------------------- */

Test(cfc, each_sequence_of_a_batch_has_its_own_time)
{
    assay_env *env = env_new();
    op_call    both, one;
    start(env, case_named("default, time spans, state"), AS_F64, &both);
    start(env, case_named("default, time spans, state"), AS_F64, &one);
    expect_ok(env, cfc()->eval(env, &both.node, both.in_view, both.out_view));
    for (int64_t b = 0; b < 2; b++) {
        for (int i = 0; i < 4; i++) /* x, h0, time spans of sequence b alone */
            if (as_in_has(&one.node, i)) {
                one.in_view[i] = as_view_fix(&both.in_view[i], &b, 1);
                one.in_view[i].shape = both.in_view[i].shape;
                one.in_view[i].shape.dim[0] = 1;
                memcpy(one.in_view[i].stride, both.in_view[i].stride, sizeof one.in_view[i].stride);
                one.in[i].shape = one.in_view[i].shape;
            }
        expect_ok(env, as_op_infer(env, &one.node, one.out));
        as_view y = op_case_alloc(&one.arena, AS_F64, &one.out[0].shape), h = op_case_alloc(&one.arena, AS_F64, &one.out[1].shape);
        expect_ok(env, cfc()->eval(env, &one.node, one.in_view, (as_view[]){y, h}));
        for (int64_t e = 0; e < as_shape_count(&y.shape); e++)
            expect(as_view_get(&y, e) == as_view_get(&both.out_view[0], b * as_shape_count(&y.shape) + e));
    }
    as_arena_drop(&both.arena);
    as_arena_drop(&one.arena);
    assay_env_free(env);
}

Test(cfc, refuses_time_spans_that_are_none)
{
    static const struct {
        double      span;
        const char *part;
    } bad[] = {
        {-0.5, "time span 1,2 is -0.5"},
        {NAN, "time span 1,2 is"},
        {INFINITY, "time span 1,2 is inf"},
    };
    assay_env *env = env_new();
    op_call    call;
    start(env, case_named("default, time spans, state"), AS_F64, &call);
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        as_view_set(&call.in_view[AS_CFC_TIMESPANS], 5, bad[i].span);
        expect_fails(env, cfc()->eval(env, &call.node, call.in_view, call.out_view), ASSAY_BAD_INPUT, bad[i].part);
    }
    as_view_set(&call.in_view[AS_CFC_TIMESPANS], 5, 0.0);
    expect_ok(env, cfc()->eval(env, &call.node, call.in_view, call.out_view));
    as_arena_drop(&call.arena);
    assay_env_free(env);
}

/* --- Dropout ------------------------------------------------------------------------------------- */

Test(cfc, dropout_is_the_same_for_a_seed_and_step_and_nothing_without_training)
{
    assay_env *env = env_new();
    op_call    call;
    start(env, case_named("dropout in training"), AS_F64, &call);
    as_view first = op_case_alloc(&call.arena, AS_F64, &call.out[0].shape);
    expect_ok(env, cfc()->eval(env, &call.node, call.in_view, call.out_view));
    as_view_copy(&first, &call.out_view[0]);
    call.node.node_id = 9; /* the position in a graph must not matter: a gradient node has another one */
    expect_ok(env, cfc()->eval(env, &call.node, call.in_view, call.out_view));
    expect(as_view_error(&call.out_view[0], &first) == 0.0);
    call.node.step = 1;
    expect_ok(env, cfc()->eval(env, &call.node, call.in_view, call.out_view));
    expect(as_view_error(&call.out_view[0], &first) > 1e-3);
    as_attr inference[] = {AS_ATTR_I("backbone", 2), AS_ATTR_F("dropout", 0.5)}, none[] = {AS_ATTR_I("backbone", 2)};
    call.node.attrs = none;
    call.node.n_attrs = 1;
    expect_ok(env, cfc()->eval(env, &call.node, call.in_view, call.out_view));
    as_view_copy(&first, &call.out_view[0]);
    call.node.attrs = inference;
    call.node.n_attrs = 2;
    expect_ok(env, cfc()->eval(env, &call.node, call.in_view, call.out_view));
    expect(as_view_error(&call.out_view[0], &first) == 0.0);
    as_arena_drop(&call.arena);
    assay_env_free(env);
}

/* --- Refusals --------------------------------------------------------------------------------------- */

typedef struct refusal {
    const char *part, *from; /* of the message; the case that is changed */
    int         input;       /* replaced by `with`; -1: none */
    as_case_in  with;
    as_attr     attr;        /* added; name NULL: none */
    int         n_out, n_in; /* 0: as they are */
} refusal;

static const refusal refusals[] = {
    {.part = "x is [2,3] and must be [batch, steps, inputs]", .from = "default", .input = 0, .with = IN(F64, 2, 3)},
    {.part = "x is i8 and must be a float", .from = "default", .input = 0, .with = IN(I8, 2, 3, 2)},
    {.part = "h0 is [2,4] and must be [2,3]", .from = "default", .input = AS_CFC_H0, .with = IN(F64, 2, 4)},
    {.part = "h0 is f32 and x is f64", .from = "default", .input = AS_CFC_H0, .with = IN(F32, 2, 3)},
    {.part = "c0 is given without the weights of a mixed memory", .from = "default", .input = AS_CFC_C0, .with = IN(F64, 2, 3)},
    {.part = "timespans is [2,1] and must be [2,3]", .from = "default", .input = AS_CFC_TIMESPANS, .with = IN(F64, 2, 1)},
    {.part = "ff2.weight is [3,4] and must be [3,5]", .from = "default", .input = 12, .with = IN(F64, 3, 4)},
    {.part = "time_b.bias is [5] and must be [3]", .from = "default", .input = 17, .with = IN(F64, 5)},
    {.part = "the bias of ff1 (input 11) must be a vector", .from = "default", .input = 11, .with = IN(F64, 3, 1)},
    {.part = "w_tau is [3] and must be [1,3]", .from = "pure", .input = 10, .with = IN(F64, 3)},
    {.part = "8 inputs follow input 8, and a cell of mode default has 9", .from = "default", .input = -1, .n_in = 17},
    {.part = "backbone layer 2.weight is [3,5] and must be [3,4]",
     .from = "no_gate, time spans, backbone of 2",
     .input = 11,
     .with = IN(F64, 3, 5)},
    {.part = "the bias of backbone layer 1 (input 10)",
     .from = "no_gate, time spans, backbone of 2",
     .input = 10,
     .with = IN(F64, 4, 1)},
    {.part = "the mask (input 9) is [2,3] and ff1.weight is [2,4]", .from = "keras, wired", .input = 9, .with = IN(I8, 2, 3)},
    {.part = "the mask (input 9) is u8 and must be i8 or f64", .from = "keras, wired", .input = 9, .with = IN(U8, 2, 4)},
    {.part = "a mask is given with a backbone", .from = "keras, gelu, time spans", .input = 11, .with = IN(I8, 3, 4)},
    {.part = "a mask is given with semantics enhanced",
     .from = "default",
     .input = 9,
     .with = IN(I8, 3, 5),
     .attr = AS_ATTR_S("semantics", "enhanced")},
    {.part = "mixed memory is given with semantics keras",
     .from = "wired pure, memory, time spans",
     .input = -1,
     .attr = AS_ATTR_S("semantics", "keras")},
    {.part = "lstm.input_map.weight is absent and must be [12,2]",
     .from = "default",
     .input = AS_CFC_MEMORY_B,
     .with = IN(F64, 12)},
    {.part = "lstm.recurrent_map.weight is [3,3] and must be [12,3]",
     .from = "wired pure, memory, time spans",
     .input = AS_CFC_MEMORY_R,
     .with = IN(F64, 3, 3)},
    {.part = "fc.bias must be a vector", .from = "default", .input = AS_CFC_FC_W, .with = IN(F64, 2, 3)},
    {.part = "fc.weight is absent and must be [2,3]", .from = "default", .input = AS_CFC_FC_B, .with = IN(F64, 2)},
    {.part = "mode is 'fast' and must be one of default, pure, no_gate",
     .from = "default",
     .input = -1,
     .attr = AS_ATTR_S("mode", "fast")},
    {.part = "activation is 'elu' and must be one of lecun_tanh",
     .from = "default",
     .input = -1,
     .attr = AS_ATTR_S("activation", "elu")},
    {.part = "semantics is 'jax'", .from = "default", .input = -1, .attr = AS_ATTR_S("semantics", "jax")},
    {.part = "backbone is -1 layers", .from = "default", .input = -1, .attr = AS_ATTR_I("backbone", -1)},
    {.part = "dropout is 1, outside of [0, 1)", .from = "default", .input = -1, .attr = AS_ATTR_F("dropout", 1.0)},
    {.part = "c_n is requested, but there is no mixed memory", .from = "default", .input = -1, .n_out = 3},
    {.part = "the last of no steps is asked for", .from = "no steps", .input = -1, .attr = AS_ATTR_I("return_sequences", 0)},
};

Test(cfc, refuses_with_a_sentence)
{
    assay_env *env = env_new();
    for (size_t i = 0; i < AS_COUNT(refusals); i++) {
        const refusal *r = &refusals[i];
        as_tensor_info out[AS_MAX_OUT] = {0};
        as_attr        attrs[9];
        op_call        call;
        op_case_start(env, cfc(), case_named(r->from), AS_NONE, &call);
        memcpy(attrs, call.node.attrs, (size_t)call.node.n_attrs * sizeof *attrs);
        if (r->attr.name)
            attrs[call.node.n_attrs++] = r->attr;
        call.node.attrs = attrs;
        if (r->input >= 0)
            call.in[r->input] = (as_tensor_info){.dtype = r->with.dtype, .shape = r->with.shape};
        if (r->n_out)
            call.node.n_out = r->n_out;
        if (r->n_in)
            call.node.n_in = r->n_in;
        expect_fails(env, as_op_infer(env, &call.node, out), ASSAY_BAD_INPUT, r->part);
        as_arena_drop(&call.arena);
    }
    assay_env_free(env);
}

Test(cfc, a_gradient_refuses_what_does_not_fit)
{
    assay_env     *env = env_new();
    as_tensor_info out[AS_MAX_OUT] = {0};
    op_call        call;
    const as_op   *op = as_op_find("assay.CfCGrad");
    op_case_start(env, op, &op->cases[0], AS_NONE, &call);
    call.in[1].shape.dim[1] = 3;
    expect_fails(env, as_op_infer(env, &call.node, out), ASSAY_BAD_INPUT,
                 "the gradient of y is f32 [1,3,2] and must be f32 [1,2,2]");
    call.in[1].shape.dim[1] = 2;
    call.in[3] = call.in[2];
    expect_fails(env, as_op_infer(env, &call.node, out), ASSAY_BAD_INPUT,
                 "the gradient of c_n is given and there is no mixed memory");
    call.in[3].dtype = AS_NONE;
    call.node.n_out = 12;
    expect_fails(env, as_op_infer(env, &call.node, out), ASSAY_BAD_INPUT, "12 gradients are asked for and 10 inputs have one");
    as_arena_drop(&call.arena);
    assay_env_free(env);
}

/* --- Cost -------------------------------------------------------------------------------------------- */

static as_cost cost_of(assay_env *env, const char *name)
{
    op_call call;
    start(env, case_named(name), AS_NONE, &call);
    as_cost cost = cfc()->cost(&call.node);
    as_arena_drop(&call.arena);
    return cost;
}

Test(cfc, cost_is_the_formula_of_the_reference)
{
    assay_env *env = env_new();
    /* A step: 2 (I+H) U + 2 (L-1) U^2 + 8 U H flops; L U + 3 H special. */
    as_cost dense = cost_of(env, "17 units, backbone of 33, time spans");
    expect_eq(dense.flops, 5 * 4 * (2 * 37 * 33 + 2 * 33 * 33 + 8 * 33 * 17));
    expect_eq(dense.special, 5 * 4 * (2 * 33 + 3 * 17));
    expect_eq(cost_of(env, "pure").flops, 2 * 3 * 2 * 5 * 3);
    /* Synapses alone for ff1 and ff2: 6 of 8 and 2 of 3. */
    expect_eq(cost_of(env, "keras, wired").flops, 2 * 3 * 2 * (2 * 6 + 2 * 8 + 2 * 2 + 2 * 3));
    expect_eq(cost_of(env, "keras, wired").special, 2 * 3 * 3);
    /* The memory's 8 H (I+H), and a projection of the last step alone. */
    expect_eq(cost_of(env, "default, memory, projection, silu, the last step").flops,
              2 * 4 * (2 * 5 * 4 + 8 * 4 * 3 + 8 * 3 * 5) + 2 * 2 * 2 * 3);
    assay_env_free(env);
}
