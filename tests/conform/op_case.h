/* op_case.h - an operator's case made ready to run: inputs filled, outputs inferred and allocated.
 *
 * Everything lives in the arena of the op_call; as_arena_drop(&call.arena) is the only free. */
#ifndef AS_TESTS_CONFORM_OP_CASE_H
#define AS_TESTS_CONFORM_OP_CASE_H

#include "base/random.h"
#include "op/op.h"
#include "tests/runner/test.h"

typedef struct op_call {
    as_arena       arena;
    as_node_ctx    node;
    as_tensor_info in[AS_MAX_IN], out[AS_MAX_OUT];
    as_view        in_view[AS_MAX_IN], out_view[AS_MAX_OUT];
} op_call;

static inline as_view op_case_alloc(as_arena *arena, as_dtype dtype, const as_shape *shape)
{
    void *data = as_arena_take(arena, (size_t)as_shape_count(shape), as_dtype_bytes(dtype), 64);
    expect(data);
    return as_view_of(data, dtype, shape);
}

/* Given values, or constants, or uniform ones that depend only on the input's number and the element. */
static inline void op_case_fill(const as_case *c, int i, const double **given, const as_view *v)
{
    double  lo = c->lo, hi = c->hi;
    int64_t count = as_shape_count(&v->shape);
    if (lo == 0.0 && hi == 0.0)
        lo = -1.0, hi = 1.0;
    for (int64_t e = 0; e < count; e++) {
        if (as_case_input(c, i)->ints)
            as_view_set_i64(v, e, as_case_input(c, i)->ints[e]);
        else if (*given)
            as_view_set(v, e, *(*given)++);
        else
            as_view_set(v, e, lo + (hi - lo) * (double)as_philox_uniform(1, (uint32_t)i, 0, (uint64_t)e));
    }
}

/* Floats become `float_as` unless it is AS_NONE. */
static inline void op_case_start(assay_env *env, const as_op *op, const as_case *c, as_dtype float_as, op_call *call)
{
    const double *given = c->given;
    *call = (op_call){.node = {.op = op, .name = c->name, .attrs = c->attrs, .n_attrs = c->n_attrs, .n_in = c->n_in, .n_out = 1}};
    for (int i = 0; i < c->n_in; i++) {
        as_dtype dtype = as_case_input(c, i)->dtype;
        if (dtype == AS_NONE)
            continue;
        if (as_dtype_is_float(dtype) && float_as != AS_NONE)
            dtype = float_as;
        call->in_view[i] = op_case_alloc(&call->arena, dtype, &as_case_input(c, i)->shape);
        op_case_fill(c, i, &given, &call->in_view[i]);
        call->in[i] = (as_tensor_info){.dtype = dtype, .shape = as_case_input(c, i)->shape};
        if (as_case_input(c, i)->ints)
            call->in[i].constant = call->in_view[i].data;
    }
    call->node.in = call->in;
    call->node.out = call->out;
    assay_status status = as_op_infer(env, &call->node, call->out);
    if (status != ASSAY_OK)
        fail("%s, case '%s': infer: %s", op->name, c->name, assay_message(env));
    call->out_view[0] = op_case_alloc(&call->arena, call->out[0].dtype, &call->out[0].shape);
}

/* The further outputs that the operator's gradient reads. */
static inline void op_case_more(assay_env *env, const as_op *op, const as_case *c, op_call *call)
{
    int n_out = op->grad_outs ? op->grad_outs(&call->node) : 0;
    if (n_out <= 1)
        return;
    call->node.n_out = n_out;
    if (as_op_infer(env, &call->node, call->out) != ASSAY_OK)
        fail("%s, case '%s': infer with %d outputs: %s", op->name, c->name, n_out, assay_message(env));
    for (int i = 1; i < n_out; i++)
        call->out_view[i] = op_case_alloc(&call->arena, call->out[i].dtype, &call->out[i].shape);
}

static inline void op_case_eval(assay_env *env, const as_op *op, const as_case *c, op_call *call)
{
    if (op->eval(env, &call->node, call->in_view, call->out_view) != ASSAY_OK)
        fail("%s, case '%s': eval: %s", op->name, c->name, assay_message(env));
}

#endif
