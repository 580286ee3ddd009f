/* op_truth_test.c - the reference code of every operator agrees with values that were computed another way. */
#include "tests/conform/op_case.h"

/* Within 1e-6 relative; values that f16 and bf16 cannot hold are not a fault of the operator. */
static double allowed(as_dtype dtype, double want)
{
    double relative = dtype == AS_BF16 ? 0x1p-8 : dtype == AS_F16 ? 0x1p-11 : 1e-6;
    return as_dtype_is_float(dtype) ? relative * (1.0 + fabs(want)) : 0.0;
}

Test(op_truth, every_case_with_values_agrees)
{
    assay_env *env;
    expect(assay_env_new(&env) == ASSAY_OK);
    for (const as_op *const *op = as_op_table; *op; op++)
        for (size_t i = 0; i < (*op)->n_cases; i++) {
            const as_case *c = &(*op)->cases[i];
            op_call        call;
            if (!c->want)
                continue;
            op_case_start(env, *op, c, AS_NONE, &call);
            op_case_eval(env, *op, c, &call);
            if ((size_t)as_shape_count(&call.out[0].shape) != c->n_want)
                fail("%s, case '%s': %lld values, expected %zu", (*op)->name, c->name,
                     (long long)as_shape_count(&call.out[0].shape), c->n_want);
            for (size_t e = 0; e < c->n_want; e++) {
                double got = as_view_get(&call.out_view[0], (int64_t)e);
                bool   same = got == c->want[e] || (isnan(got) && isnan(c->want[e])); /* infinities and NaNs have no distance */
                if (!same && !(fabs(got - c->want[e]) <= allowed(call.out[0].dtype, c->want[e])))
                    fail("%s, case '%s': element %zu is %.17g, expected %.17g", (*op)->name, c->name, e, got, c->want[e]);
            }
            as_arena_drop(&call.arena);
        }
    assay_env_free(env);
}

Test(op_truth, every_operator_has_a_case_with_values)
{
    for (const as_op *const *op = as_op_table; *op; op++) {
        bool has = false;
        for (size_t i = 0; i < (*op)->n_cases; i++)
            has |= (*op)->cases[i].want != NULL;
        if (!has)
            fail("%s has no case whose values were computed another way", (*op)->name);
    }
}

/* The first axis fastest: the same tensor, but no element is where a contiguous reader would look. */
static void turn(as_arena *arena, as_view *v)
{
    if (v->dtype == AS_NONE) /* an absent input has no elements to reorder */
        return;
    as_view other = op_case_alloc(arena, v->dtype, &v->shape);
    int64_t stride = 1;
    for (int i = 0; i < v->shape.rank; i++) {
        other.stride[i] = stride;
        stride *= v->shape.dim[i];
    }
    as_view_copy(&other, v);
    *v = other;
}

Test(op_truth, every_case_gives_the_same_through_other_strides)
{
    assay_env *env;
    expect(assay_env_new(&env) == ASSAY_OK);
    for (const as_op *const *op = as_op_table; *op; op++)
        for (size_t i = 0; i < (*op)->n_cases; i++) {
            const as_case *c = &(*op)->cases[i];
            op_call        call;
            op_case_start(env, *op, c, AS_NONE, &call);
            op_case_eval(env, *op, c, &call);
            as_view first = call.out_view[0];
            for (int k = 0; k < c->n_in; k++)
                turn(&call.arena, &call.in_view[k]);
            call.out_view[0] = op_case_alloc(&call.arena, first.dtype, &first.shape);
            turn(&call.arena, &call.out_view[0]);
            op_case_eval(env, *op, c, &call);
            double error = as_view_error(&call.out_view[0], &first);
            if (error != 0.0)
                fail("%s, case '%s': off by %g through other strides", (*op)->name, c->name, error);
            as_arena_drop(&call.arena);
        }
    assay_env_free(env);
}
