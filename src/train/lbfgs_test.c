/* lbfgs_test.c - minima that are known, the state between steps, and failures; tests/golden/optimizers_test.c has PyTorch's numbers. */
#include "train/lbfgs.h"

#include <math.h>
#include <stdlib.h>

#include "tests/runner/test.h"

enum { N = 10 };

/* Rosenbrock's function: its minimum is at 1, 1, ... */
static assay_status valley(void *arg, const double *w, double *loss, double *g)
{
    (void)arg;
    *loss = 0.0;
    for (int i = 0; i < N; i++)
        g[i] = 0.0;
    for (int i = 0; i + 1 < N; i++) {
        double a = w[i + 1] - w[i] * w[i], b = 1.0 - w[i];
        *loss += 100.0 * a * a + b * b;
        g[i] += -400.0 * a * w[i] - 2.0 * b;
        g[i + 1] += 200.0 * a;
    }
    return ASSAY_OK;
}

static void from(double *w)
{
    for (int i = 0; i < N; i++)
        w[i] = i % 2 ? 1.0 : -1.2;
}

static as_lbfgs *fresh(assay_env *env, int history)
{
    as_lbfgs_options options = AS_LBFGS_DEFAULTS;
    as_lbfgs        *l;
    options.history = history;
    expect_ok(env, as_lbfgs_new(env, &options, N, &l));
    return l;
}

Test(lbfgs, finds_the_minimum_of_a_curved_valley)
{
    assay_env      *env;
    double          w[N];
    as_lbfgs_report r = {0};
    expect_eq(assay_env_new(&env), ASSAY_OK);
    as_lbfgs *l = fresh(env, 5);
    from(w);
    w[0] = 1.3; /* from the other side there is a second, local minimum */
    for (int t = 0; t < 30 && !(t && r.n_iterations == 0); t++)
        expect_ok(env, as_lbfgs_step(l, w, valley, NULL, &r));
    for (int i = 0; i < N; i++)
        expect_near(w[i], 1.0, 1e-4); /* a step ends when the loss moves by less than 1e-9 */
    expect_near(r.loss_after, 0.0, 1e-8);
    as_lbfgs_free(l);
    assay_env_free(env);
}

/* Of a quadratic with its minimum at k / 2, the gradient is gone after few steps. */
static assay_status bowl(void *arg, const double *w, double *loss, double *g)
{
    (void)arg;
    *loss = 0.0;
    for (int i = 0; i < N; i++) {
        double d = w[i] - 0.5 * i, k = 1.0 + i;
        *loss += 0.5 * k * d * d;
        g[i] = k * d;
    }
    return ASSAY_OK;
}

Test(lbfgs, solves_a_quadratic_and_then_rests)
{
    assay_env      *env;
    double          w[N] = {0};
    as_lbfgs_report r;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    as_lbfgs *l = fresh(env, 100);
    for (int t = 0; t < 5; t++)
        expect_ok(env, as_lbfgs_step(l, w, bowl, NULL, &r));
    for (int i = 0; i < N; i++)
        expect_near(w[i], 0.5 * i, 1e-4);
    expect(r.max_grad <= 1e-4);
    expect_ok(env, as_lbfgs_step(l, w, bowl, NULL, &r));
    expect(r.loss_after <= r.loss_before);
    as_lbfgs_free(l);
    assay_env_free(env);
}

Test(lbfgs, goes_on_from_its_state_with_the_same_bits)
{
    assay_env *env;
    double     w[N], v[N];
    expect_eq(assay_env_new(&env), ASSAY_OK);
    as_lbfgs *l = fresh(env, 4), *again = fresh(env, 4);
    from(w);
    for (int t = 0; t < 2; t++)
        expect_ok(env, as_lbfgs_step(l, w, valley, NULL, NULL));
    double *state = calloc(as_lbfgs_state_count(l), sizeof *state);
    expect(state != NULL);
    as_lbfgs_state_get(l, state);
    as_lbfgs_state_set(again, state);
    memcpy(v, w, sizeof v);
    for (int t = 0; t < 3; t++) {
        expect_ok(env, as_lbfgs_step(l, w, valley, NULL, NULL));
        expect_ok(env, as_lbfgs_step(again, v, valley, NULL, NULL));
        expect(!memcmp(v, w, sizeof v));
    }
    free(state);
    as_lbfgs_free(l);
    as_lbfgs_free(again);
    assay_env_free(env);
}

typedef struct limit {
    assay_env *env;
    int        left;
} limit;

static assay_status until(void *arg, const double *w, double *loss, double *g)
{
    limit *at = arg;
    if (!at->left--)
        return as_fail(at->env, ASSAY_CANCELLED, "stopped");
    return valley(NULL, w, loss, g);
}

Test(lbfgs, a_failed_evaluation_ends_the_step_where_the_last_search_ended)
{
    for (int n = 0; n < 12; n++) {
        assay_env *env;
        double     w[N], start[N], loss, before, g[N];
        expect_eq(assay_env_new(&env), ASSAY_OK);
        as_lbfgs *l = fresh(env, 5);
        limit     at = {env, n};
        from(w);
        from(start);
        valley(NULL, start, &before, g);
        expect_fails(env, as_lbfgs_step(l, w, until, &at, NULL), ASSAY_CANCELLED, "stopped");
        valley(NULL, w, &loss, g);
        expect(loss <= before);
        as_lbfgs_free(l);
        assay_env_free(env);
    }
}

Test(lbfgs, a_history_that_does_not_fit_is_said)
{
    assay_env       *env;
    as_lbfgs_options options = AS_LBFGS_DEFAULTS;
    as_lbfgs        *l = NULL;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_fails(env, as_lbfgs_new(env, &options, INT64_MAX / 16, &l), ASSAY_NO_MEMORY, "with a history of 100");
    expect(!l);
    assay_env_free(env);
}
