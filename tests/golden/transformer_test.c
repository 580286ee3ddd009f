/* transformer_test.c - the gradients of a small transformer that PyTorch exported: PyTorch's own, no step on the reference code, the same
 * bits on any number of threads, and finite differences. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "tests/golden/transformer.h"
#include "tests/runner/test.h"

#define MODEL_PATH "tests/golden/transformer.onnx"

typedef struct net {
    assay_env      *env;
    assay_model    *model, *grad;
    assay_plan     *plan;
    assay_instance *instance;
    const char     *wrt[64];
    float          *copies[64];
    int             n_wrt;
} net;

static as_view value_of(const as_value *v)
{
    as_shape shape = {.rank = v->dims.rank};
    for (int i = 0; i < shape.rank; i++)
        shape.dim[i] = v->dims.dim[i].size;
    return as_view_of((void *)(uintptr_t)v->data, v->dtype, &shape);
}

static as_view param_of(const net *n, int w) { return value_of(&n->model->values[as_model_value_find(n->model, n->wrt[w])]); }

/* Element k of a parameter as PyTorch stores it: the exporter turns the weights of a dense layer. */
static int64_t turned(const as_view *v, int64_t k, bool turns)
{
    int64_t rows = v->shape.dim[0], columns = v->shape.rank > 1 ? v->shape.dim[1] : 1;
    return turns ? k % columns * rows + k / columns : k;
}

/* The golden parameter with these values; *turns: in the other order. */
static int golden_find(const as_view *param, bool *turns)
{
    for (int g = 0; g < (int)AS_COUNT(golden); g++)
        for (int t = 0; golden[g].n == as_shape_count(&param->shape) && t < (param->shape.rank == 2 ? 2 : 1); t++) {
            int64_t k = 0;
            while (k < golden[g].n && fabs(as_view_get(param, k) - golden[g].values[turned(param, k, t)]) < 1e-6)
                k++;
            *turns = t;
            if (k == golden[g].n)
                return g;
        }
    return -1;
}

/* The reader takes small tensors of a file for constants, because shapes may depend on them; here they are parameters, too.  Copies are
 * aligned, which the file's are not. */
static void params_find(net *n)
{
    for (int i = 0; i < n->model->n_values; i++) {
        as_value *v = &n->model->values[i];
        bool      turns;
        if (!v->data || v->dtype != AS_F32)
            continue;
        as_view view = value_of(v);
        if (golden_find(&view, &turns) < 0)
            continue;
        float *copy = malloc(as_view_bytes(&view));
        expect(copy != NULL);
        memcpy(copy, view.data, as_view_bytes(&view));
        v->data = n->copies[n->n_wrt] = copy;
        v->role = AS_ROLE_PARAM;
        n->wrt[n->n_wrt++] = v->name;
    }
}

static void open_net(net *n, int threads, bool gradient)
{
    as_plan_options options;
    *n = (net){0};
    expect_eq(assay_env_new(&n->env), ASSAY_OK);
    expect_ok(n->env, assay_model_load(n->env, MODEL_PATH, NULL, &n->model));
    params_find(n);
    expect_ok(n->env, as_plan_options_read(n->env, NULL, &options));
    options.threads = threads;
    if (gradient)
        expect_ok(n->env, as_model_grad(n->env, n->model, NULL, 0, n->wrt, n->n_wrt, &n->grad));
    expect_ok(n->env, as_plan_build(n->env, gradient ? n->grad : n->model, &options, &n->plan));
    expect_ok(n->env, assay_instance_new(n->env, n->plan, &n->instance));
}

static void close_net(net *n)
{
    assay_instance_free(n->instance);
    assay_plan_free(n->plan);
    assay_model_free(n->grad);
    assay_model_free(n->model);
    for (int i = 0; i < n->n_wrt; i++)
        free(n->copies[i]);
    assay_env_free(n->env);
}

/* The formula of transformer.py. */
static double d_output(int64_t i) { return (double)((i * 7) % 13 - 6) / 8; }

static void run_net(net *n)
{
    static const int64_t words[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 10};
    for (int i = 0; i < n->plan->graph.n_inputs; i++) {
        as_view x = as_instance_input(n->instance, i);
        for (int64_t k = 0; k < as_shape_count(&x.shape); k++)
            if (x.dtype == AS_I64)
                as_view_set_i64(&x, k, words[k]);
            else
                as_view_set(&x, k, d_output(k));
    }
    expect_ok(n->env, as_instance_step(AS_RUN(n->env), n->instance));
}

static as_view output_of(const net *n, const char *name)
{
    const as_graph *g = &n->plan->graph;
    for (int i = 0; i < g->n_outputs; i++)
        if (!strcmp(g->values[g->outputs[i]].name, name))
            return as_instance_output(n->instance, i);
    fail("there is no output '%s'", name);
}

Test(transformer, has_the_gradients_of_pytorch)
{
    net n;
    open_net(&n, 1, true);
    run_net(&n);
    expect_eq(n.n_wrt, (int)AS_COUNT(golden));
    for (int w = 0; w < n.n_wrt; w++) {
        char    name[256];
        bool    turns;
        as_view param = param_of(&n, w);
        int     g = golden_find(&param, &turns);
        if (g < 0)
            fail("%s is none of PyTorch's parameters", n.wrt[w]);
        snprintf(name, sizeof name, "d:%s", n.wrt[w]);
        as_view d = output_of(&n, name);
        for (int64_t k = 0; k < golden[g].n; k++) {
            double want = golden[g].d[turned(&param, k, turns)], got = as_view_get(&d, k);
            if (!(fabs(got - want) <= 2e-5 * (1.0 + fabs(want))))
                fail("%s[%d] is %.9g, PyTorch says %.9g", name, (int)k, got, want);
        }
    }
    close_net(&n);
}

Test(transformer, runs_no_step_on_the_reference_code_and_makes_no_transposed_copy)
{
    net n;
    open_net(&n, 1, true);
    for (int s = n.plan->n_prologue; s < n.plan->n_steps; s++) {
        const as_step *step = &n.plan->steps[s];
        if (step->choice.slow || !strcmp(as_step_op(n.plan, step), "Transpose"))
            fail("step '%s' is %s by %s", step->name, as_step_op(n.plan, step), step->choice.name);
    }
    close_net(&n);
}

Test(transformer, has_the_same_bits_on_any_number_of_threads)
{
    static const int threads[] = {2, 3, 5};
    net              one, more;
    open_net(&one, 1, true);
    run_net(&one);
    for (size_t t = 0; t < AS_COUNT(threads); t++) {
        open_net(&more, threads[t], true);
        run_net(&more);
        for (int i = 0; i < one.plan->graph.n_outputs; i++) {
            as_view a = as_instance_output(one.instance, i), b = as_instance_output(more.instance, i);
            if (memcmp(a.data, b.data, as_view_bytes(&a)))
                fail("output %d has other bits on %d threads", i, threads[t]);
        }
        close_net(&more);
    }
    close_net(&one);
}

/* The loss sum(dY Y) with a parameter moved by `reach` along its gradient. */
static double loss_at(net *n, int w, const as_view *d, double reach)
{
    as_view param = param_of(n, w), y;
    float  *moved = malloc(as_view_bytes(&param));
    double  sum = 0;
    expect(moved != NULL);
    as_view view = as_view_of(moved, AS_F32, &param.shape);
    for (int64_t k = 0; k < as_shape_count(&param.shape); k++)
        as_view_set(&view, k, as_view_get(&param, k) + reach * as_view_get(d, k));
    expect_ok(n->env, as_instance_set_param(n->env, n->instance, n->wrt[w], &view));
    run_net(n);
    y = output_of(n, "y");
    for (int64_t k = 0; k < as_shape_count(&y.shape); k++)
        sum += d_output(k) * as_view_get(&y, k);
    expect_ok(n->env, as_instance_set_param(n->env, n->instance, n->wrt[w], &param));
    free(moved);
    return sum;
}

/* Along a parameter's own gradient the slope is its squared length. */
Test(transformer, has_the_gradients_that_differences_of_the_loss_say)
{
    net n, forward;
    open_net(&n, 1, true);
    open_net(&forward, 1, false);
    run_net(&n);
    for (int w = 0; w < n.n_wrt; w++) {
        char   name[256];
        double square = 0, best = 1e9;
        snprintf(name, sizeof name, "d:%s", n.wrt[w]);
        as_view d = output_of(&n, name);
        for (int64_t k = 0; k < as_shape_count(&d.shape); k++)
            square += as_view_get(&d, k) * as_view_get(&d, k);
        for (double reach = 0.02; reach > 1e-4; reach /= 2) { /* the smaller, the more f32 rounds; the larger, the more it bends */
            double by = reach / (sqrt(square) + 1e-3);
            double slope = (loss_at(&forward, w, &d, by) - loss_at(&forward, w, &d, -by)) / (2 * by);
            best = fabs(slope - square) < best ? fabs(slope - square) : best;
        }
        if (!(best <= 0.01 * square + 1e-4))
            fail("the slope along the gradient of %s is %.9g away from %.9g", n.wrt[w], best, square);
    }
    close_net(&n);
    close_net(&forward);
}
