/* op_grad_test.c - the gradient rule of every operator agrees with central differences.
 *
 * Each case runs in f64 with the loss sum(w * y), w fixed and random.  The rule builds its nodes on a tape
 * that evaluates them at once.  For every float input the test compares some elements one by one, and then
 * one random direction over all of them. */
#include <stdio.h>

#include "tests/conform/op_tape.h"

#define STEP       1e-6
#define TOLERANCE  2e-6 /* relative to 1 + |gradient|: STEP leaves about 1e-9 of rounding, the softmax of 1000 about 1e-7 */
#define MAX_VALUES 128
#define N_SINGLES  12

static double weight(int64_t e) { return (double)as_philox_uniform(7, 0, 0, (uint64_t)e) - 0.5; }
static double direction(int64_t e) { return 2.0 * (double)as_philox_uniform(8, 0, 0, (uint64_t)e) - 1.0; }

static double loss(assay_env *env, const as_op *op, const as_case *c, op_call *call)
{
    double  sum = 0.0;
    int64_t count = as_shape_count(&call->out[0].shape);
    op_case_eval(env, op, c, call);
    for (int64_t e = 0; e < count; e++)
        sum += weight(e) * as_view_get(&call->out_view[0], e);
    return sum;
}

/* The difference quotient when input x moves along one element (only >= 0) or along the direction. */
static double quotient(assay_env *env, const as_op *op, const as_case *c, op_call *call, const as_view *x, double *saved,
                       int64_t only)
{
    int64_t count = as_shape_count(&x->shape);
    double  side[2];
    for (int s = 0; s < 2; s++) {
        for (int64_t e = 0; e < count; e++) {
            double move = only < 0 ? direction(e) : e == only;
            as_view_set(x, e, saved[e] + (s ? STEP : -STEP) * move);
        }
        side[s] = loss(env, op, c, call);
    }
    for (int64_t e = 0; e < count; e++)
        as_view_set(x, e, saved[e]);
    return (side[1] - side[0]) / (2.0 * STEP);
}

/* The first disagreement as text; "" when there is none. */
static void input_check(assay_env *env, const as_op *op, const as_case *c, op_call *call, int i, const as_view *gradient, char *why,
                        size_t size)
{
    const as_view *x = &call->in_view[i];
    int64_t        count = as_shape_count(&x->shape), stride = count / N_SINGLES + 1;
    double        *saved = AS_TAKE(&call->arena, double, count), along = 0.0;
    for (int64_t e = 0; e < count; e++) {
        saved[e] = as_view_get(x, e);
        along += direction(e) * as_view_get(gradient, e);
    }
    for (int64_t e = 0; e < count; e += stride) {
        double want = quotient(env, op, c, call, x, saved, e), got = as_view_get(gradient, e);
        if (!(fabs(got - want) <= TOLERANCE * (1.0 + fabs(want)))) {
            snprintf(why, size, "input %d, element %lld: %.12g, by differences %.12g", i, (long long)e, got, want);
            return;
        }
    }
    double want = count ? quotient(env, op, c, call, x, saved, -1) : 0.0;
    if (!(fabs(along - want) <= TOLERANCE * (1.0 + fabs(want))))
        snprintf(why, size, "input %d, all elements at once: %.12g, by differences %.12g", i, along, want);
}

static void case_check(assay_env *env, const as_op *op, const as_case *c, char *why, size_t size)
{
    op_call call;
    op_case_start(env, op, c, AS_F64, &call);
    op_case_more(env, op, c, &call);
    op_case_eval(env, op, c, &call);
    tape *t = tape_new(env, &call.arena, MAX_VALUES);
    int   in[AS_MAX_IN], out[AS_MAX_OUT], d_out[AS_MAX_OUT], d_in[AS_MAX_IN];
    for (int i = 0; i < c->n_in; i++) {
        in[i] = as_case_input(c, i)->dtype == AS_NONE ? -1 : tape_add(t, &call.in[i], &call.in_view[i]);
        d_in[i] = -2;
    }
    for (int i = 0; i < call.node.n_out; i++) {
        as_view y = op_case_alloc(&call.arena, call.out[i].dtype, &call.out[i].shape);
        as_view_copy(&y, &call.out_view[i]); /* the differences will overwrite the call's own outputs */
        out[i] = tape_add(t, &call.out[i], &y);
        d_out[i] = -1;
    }
    as_view dy = op_case_alloc(&call.arena, AS_F64, &call.out[0].shape);
    for (int64_t e = 0; e < as_shape_count(&dy.shape); e++)
        as_view_set(&dy, e, weight(e));
    d_out[0] = tape_add(t, &call.out[0], &dy);
    expect_ok(env, op->grad(&t->b, &call.node, in, out, d_out, d_in));

    *why = 0;
    for (int i = 0; i < c->n_in && !*why; i++) {
        if (!as_dtype_is_float(as_case_input(c, i)->dtype)) {
            if (d_in[i] != -1)
                snprintf(why, size, "input %d is not a float and got a gradient", i);
            continue;
        }
        if (d_in[i] < 0)
            snprintf(why, size, "input %d got no gradient", i);
        else if (!as_shape_same(&t->info[d_in[i]].shape, &call.in[i].shape) || t->info[d_in[i]].dtype != AS_F64)
            snprintf(why, size, "input %d got a gradient of another shape or dtype", i);
        else
            input_check(env, op, c, &call, i, &t->view[d_in[i]], why, size);
    }
    as_arena_drop(&call.arena);
}

static bool has_float(const as_case *c)
{
    bool has = false;
    for (int i = 0; i < c->n_in; i++)
        has |= as_dtype_is_float(as_case_input(c, i)->dtype);
    return has;
}

/* One test for the whole table, so that it covers a new operator without a change here; it names the first fault of
 * every operator before it fails. */
Test(op_grad, every_gradient_matches_central_differences)
{
    assay_env *env;
    char       all[2048] = "";
    size_t     used = 0;
    expect(assay_env_new(&env) == ASSAY_OK);
    for (const as_op *const *op = as_op_table; *op; op++)
        for (size_t i = 0; (*op)->grad && i < (*op)->n_cases; i++) {
            const as_case *c = &(*op)->cases[i];
            char           why[256] = "";
            if (c->no_grad || !has_float(c))
                continue;
            case_check(env, *op, c, why, sizeof why);
            if (*why && used < sizeof all) {
                used += (size_t)snprintf(all + used, sizeof all - used, "%s%s, case '%s': %s", used ? "; " : "", (*op)->name,
                                         c->name, why);
                break;
            }
        }
    assay_env_free(env);
    if (*all)
        fail("%s", all);
}

Test(op_grad, without_an_output_gradient_asks_for_nothing)
{
    assay_env *env;
    expect(assay_env_new(&env) == ASSAY_OK);
    for (const as_op *const *op = as_op_table; *op; op++) {
        op_call call;
        if (!(*op)->grad)
            continue;
        op_case_start(env, *op, &(*op)->cases[0], AS_NONE, &call);
        tape *t = tape_new(env, &call.arena, MAX_VALUES);
        int   in[AS_MAX_IN] = {0}, out[1], none[AS_MAX_OUT] = {-1, -1, -1, -1, -1, -1, -1, -1}, d_in[AS_MAX_IN];
        for (int i = 0; i < call.node.n_in; i++)
            in[i] = tape_add(t, &call.in[i], &call.in_view[i]);
        out[0] = tape_add(t, &call.out[0], &call.out_view[0]);
        expect_ok(env, (*op)->grad(&t->b, &call.node, in, out, none, d_in));
        for (int i = 0; i < call.node.n_in; i++)
            if (d_in[i] != -1)
                fail("%s: input %d got a gradient from nothing", (*op)->name, i);
        as_arena_drop(&call.arena);
    }
    assay_env_free(env);
}
