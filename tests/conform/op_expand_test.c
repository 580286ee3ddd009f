/* op_expand_test.c - checks that the expansion of every composite operator computes what the operator computes: all its cases, all
 * its outputs. */
#include "tests/conform/op_tape.h"

#include <stdio.h>

enum { MAX_VALUES = 3 * AS_MAX_EXPANDED };
#define TOLERANCE 1e-8 /* in f64; ONNX's Softplus has no linear part, which makes a difference of 2e-9 */

/* The number of outputs that this form of the operator has. */
static void outputs_open(assay_env *env, op_call *call)
{
    /* A stash is for the gradient alone, which has no primitives. */
    int most = call->node.op->grad_outs ? call->node.op->max_out - 1 : call->node.op->max_out;
    for (int n_out = most; n_out >= 1; n_out--) {
        call->node.n_out = n_out;
        if (as_op_infer(env, &call->node, call->out) == ASSAY_OK)
            break;
    }
    for (int i = 0; i < call->node.n_out; i++)
        call->out_view[i] = op_case_alloc(&call->arena, call->out[i].dtype, &call->out[i].shape);
}

/* False when the rule says that this form has no primitives: no steps, or random numbers. */
static bool case_check(assay_env *env, const as_op *op, const as_case *c)
{
    op_call call;
    int     in[AS_MAX_IN], out[AS_MAX_OUT];
    op_case_start(env, op, c, op->composed ? AS_NONE : AS_F64, &call); /* quantised ones have no f64 form */
    outputs_open(env, &call);
    op_case_eval(env, op, c, &call);
    tape *t = tape_new(env, &call.arena, MAX_VALUES);
    for (int i = 0; i < c->n_in; i++)
        in[i] = as_in_has(&call.node, i) ? tape_add(t, &call.in[i], &call.in_view[i]) : -1;
    for (int i = 0; i < call.node.n_out; i++)
        out[i] = -1;
    assay_status status = op->expand(&t->b, &call.node, in, out);
    if (status != ASSAY_OK && status != ASSAY_UNSUPPORTED)
        fail("%s, case '%s': %s", op->name, c->name, assay_message(env));
    expect(t->n_nodes <= AS_MAX_EXPANDED);
    for (int i = 0; status == ASSAY_OK && i < call.node.n_out; i++) {
        if (out[i] < 0)
            fail("%s, case '%s': output %d was not built", op->name, c->name, i);
        double error = as_view_error(&t->view[out[i]], &call.out_view[i]);
        if (!(error <= TOLERANCE))
            fail("%s, case '%s': output %d is off by %g", op->name, c->name, i, error);
    }
    as_arena_drop(&call.arena);
    return status == ASSAY_OK;
}

Test(op_expand, every_composite_is_what_its_primitives_compute)
{
    assay_env *env;
    expect(assay_env_new(&env) == ASSAY_OK);
    for (const as_op *const *op = as_op_table; *op; op++) {
        size_t n_same = 0;
        for (size_t i = 0; (*op)->expand && i < (*op)->n_cases; i++)
            n_same += case_check(env, *op, &(*op)->cases[i]);
        if ((*op)->expand && 2 * n_same <= (*op)->n_cases)
            fail("%s: only %zu of %zu cases have primitives", (*op)->name, n_same, (*op)->n_cases);
    }
    assay_env_free(env);
}
