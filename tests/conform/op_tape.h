/* op_tape.h - an as_builder that evaluates every node when it is added: what gradient and expansion rules build has its values
 * at once.
 *
 * The arena owns all memory. */
#ifndef AS_TESTS_CONFORM_OP_TAPE_H
#define AS_TESTS_CONFORM_OP_TAPE_H

#include "tests/conform/op_case.h"

typedef struct tape {
    as_builder      b; /* first member, so that a pointer to the builder is a pointer to the tape */
    as_arena       *arena;
    as_tensor_info *info;
    as_view        *view;
    int             n, max;
    int             n_nodes;
} tape;

static inline int tape_add(tape *t, const as_tensor_info *info, const as_view *view)
{
    expect(t->n < t->max);
    t->info[t->n] = *info;
    t->view[t->n] = *view;
    return t->n++;
}

static inline int tape_constant(as_builder *b, const as_view *value)
{
    tape   *t = (tape *)b;
    as_view copy = op_case_alloc(t->arena, value->dtype, &value->shape);
    as_view_copy(&copy, value);
    return tape_add(t, &(as_tensor_info){.dtype = value->dtype, .shape = value->shape, .constant = copy.data}, &copy);
}

static inline const as_tensor_info *tape_info(as_builder *b, int value)
{
    expect(value >= 0 && value < ((tape *)b)->n);
    return &((tape *)b)->info[value];
}

static inline int tape_node(as_builder *b, const char *name, const int *in, int n_in, const as_attr *attrs, int n_attrs, int *outs,
                            int n_out)
{
    tape          *t = (tape *)b;
    as_tensor_info info[AS_MAX_IN], found[AS_MAX_OUT];
    as_view        view[AS_MAX_IN], result[AS_MAX_OUT];
    const as_op   *op = as_op_find(name);
    if (!op)
        fail("a rule asks for %s, which does not exist", name);
    while (n_in > 0 && in[n_in - 1] < 0)
        n_in--;
    for (int i = 0; i < n_in; i++) {
        info[i] = in[i] < 0 ? (as_tensor_info){0} : *tape_info(b, in[i]);
        view[i] = in[i] < 0 ? (as_view){0} : t->view[in[i]];
    }
    as_node_ctx n = {
        .op = op, .name = "rule", .attrs = attrs, .n_attrs = n_attrs, .in = info, .n_in = n_in, .out = found, .n_out = n_out};
    expect_ok(b->env, as_op_infer(b->env, &n, found));
    for (int i = 0; i < n_out; i++)
        result[i] = op_case_alloc(t->arena, found[i].dtype, &found[i].shape);
    expect_ok(b->env, op->eval(b->env, &n, view, result));
    t->n_nodes++;
    int first = t->n;
    for (int i = 0; i < n_out; i++) {
        int id = tape_add(t, &found[i], &result[i]);
        if (outs)
            outs[i] = id;
    }
    return first;
}

static inline tape *tape_new(assay_env *env, as_arena *arena, int max)
{
    tape *t = AS_TAKE(arena, tape, 1);
    expect(t);
    *t = (tape){.b = {.node = tape_node, .constant = tape_constant, .info = tape_info, .env = env}, .arena = arena, .max = max};
    t->info = AS_TAKE(arena, as_tensor_info, max);
    t->view = AS_TAKE(arena, as_view, max);
    expect(t->info && t->view);
    return t;
}

#endif
