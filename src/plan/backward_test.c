/* backward_test.c - plans of backward passes of convolutional networks: kernels, layouts, fusions, and the same bits on any number of
 * threads. */
#include "plan/edit.h"
#include "plan/test_fixture.h"

static const char *const nets[] = {"cnn-small",   "cnn-cifar",      "cnn-residual", "cnn-separable",
                                   "cnn-grouped", "cnn-bottleneck", "cnn-widen",    "cnn-large"};

enum { MAX_PARAMS = 128 };

/* The gradients of all parameters of a network; `changes`: its weights are variables, as in training. */
static void gradient_plan(fixture *f, assay_model **net, const char *spec, int64_t batch, bool changes)
{
    const char     *names[MAX_PARAMS];
    as_variable_def defs[MAX_PARAMS] = {{0}};
    int             n = 0;
    expect_ok(f->env, assay_model_load(f->env, spec, f->options, net));
    for (int i = 0; i < (*net)->n_values && n < MAX_PARAMS; i++)
        if ((*net)->values[i].role == AS_ROLE_PARAM)
            names[n++] = (*net)->values[i].name;
    expect_ok(f->env, as_model_grad(f->env, *net, &(as_binding_dim){"batch", batch}, 1, names, n, &f->model));
    for (int i = 0; i < n; i++)
        defs[i].name = names[i];
    expect_ok(f->env, fixture_plan_with(f, defs, changes ? n : 0));
}

static int steps_of(const assay_plan *plan, const char *op)
{
    int n = 0;
    for (int s = plan->n_prologue; s < plan->n_steps; s++)
        n += plan->steps[s].kind == AS_STEP_NODE && !strcmp(plan->steps[s].seg.ctx->op->name, op);
    return n;
}

Test(backward, no_step_of_a_convolutional_network_changes_a_layout_or_runs_the_reference_code)
{
    for (size_t i = 0; i < AS_COUNT(nets); i++) {
        fixture      f;
        assay_model *net;
        fixture_open(&f, NULL);
        gradient_plan(&f, &net, nets[i], 2, true);
        for (int s = 0; s < f.plan->n_steps; s++) {
            const as_step *step = &f.plan->steps[s];
            if (step->kind == AS_STEP_NODE && (step->choice.slow || !strcmp(step->seg.ctx->op->name, "assay.Relayout")))
                fail("%s: %s runs %s", nets[i], step->name, step->choice.name);
        }
        fixture_close(&f);
        assay_model_free(net);
    }
}

Test(backward, gradients_between_convolutions_are_in_nhwc_and_those_of_weights_are_not)
{
    fixture      f;
    assay_model *net;
    fixture_open(&f, NULL);
    gradient_plan(&f, &net, "cnn-residual", 2, true);
    for (int s = f.plan->n_prologue; s < f.plan->n_steps; s++) {
        const as_node_ctx *n = f.plan->steps[s].seg.ctx;
        if (f.plan->steps[s].kind != AS_STEP_NODE)
            continue;
        if (!strcmp(n->op->name, "assay.ConvGradX"))
            expect(n->in[0].layout == AS_LAYOUT_NHWC && n->out[0].layout == AS_LAYOUT_NHWC);
        if (!strcmp(n->op->name, "assay.ConvGradW")) {
            expect_eq(n->in[1].layout, AS_LAYOUT_NHWC);
            expect_eq(n->out[0].layout, AS_LAYOUT_ROW_MAJOR);
        }
    }
    fixture_close(&f);
    assay_model_free(net);
}

Test(backward, masks_of_relus_and_sums_for_biases_go_into_the_gradients)
{
    fixture      f;
    assay_model *net;
    fixture_open(&f, NULL);
    gradient_plan(&f, &net, "cnn-large", 2, true);
    /* Two of eight Relus follow dense layers, three are before a pool, three before a convolution. */
    expect_eq(steps_of(f.plan, "assay.ReluGrad"), 2);
    int n_masked = 0, n_bias = 0, n_pools = 0;
    for (int s = f.plan->n_prologue; s < f.plan->n_steps; s++) {
        const as_node_ctx *n = f.plan->steps[s].seg.ctx;
        if (f.plan->steps[s].kind != AS_STEP_NODE)
            continue;
        n_masked += !strcmp(n->op->name, "assay.ConvGradX") && as_in_has(n, 2);
        n_pools += !strcmp(n->op->name, "assay.MaxPoolGrad") && as_attr_int(n, "relu", 0) == 1;
        n_bias += !strcmp(n->op->name, "assay.ConvGradW") && n->n_out == 2;
    }
    expect_eq(n_masked, 3);
    expect_eq(n_pools, 3);
    expect_eq(n_bias, 6);
    fixture_close(&f);
    assay_model_free(net);
}

Test(backward, the_gradient_of_x_is_computed_by_winograd_only_where_that_is_allowed)
{
    for (int allowed = 0; allowed < 2; allowed++) {
        fixture      f;
        assay_model *net;
        int          n = 0;
        fixture_open(&f, NULL);
        fixture_set(&f, "winograd", allowed ? "on" : "off");
        gradient_plan(&f, &net, "cnn-cifar", 2, true);
        for (int s = f.plan->n_prologue; s < f.plan->n_steps; s++)
            n += f.plan->steps[s].kind == AS_STEP_NODE && !strcmp(f.plan->steps[s].seg.ctx->op->name, "assay.ConvGradX") &&
                 strstr(f.plan->steps[s].choice.name, "winograd") != NULL;
        expect_eq(n, allowed);
        fixture_close(&f);
        assay_model_free(net);
    }
}

/* All gradients one after the other; the caller frees them. */
static float *gradients(const char *spec, const char *key, const char *value, size_t *count)
{
    fixture      f;
    assay_model *net;
    float       *all = NULL;
    fixture_open(&f, NULL);
    fixture_set(&f, key, value);
    gradient_plan(&f, &net, spec, 5, true);
    fixture_instance(&f);
    fixture_step(&f);
    *count = 0;
    for (int i = 0; i < f.plan->graph.n_outputs; i++) {
        as_view view = as_instance_output(f.instance, i);
        size_t  n = as_view_bytes(&view) / sizeof *all;
        all = realloc(all, (*count + n + 1) * sizeof *all);
        expect(all != NULL);
        memcpy(all + *count, view.data, n * sizeof *all);
        *count += n;
    }
    fixture_close(&f);
    assay_model_free(net);
    return all;
}

Test(backward, gradients_have_the_same_bits_on_any_number_of_threads)
{
    static const char *const threads[] = {"2", "3", "5"};
    for (size_t i = 0; i < 5; i++) {
        size_t n, n_again;
        float *one = gradients(nets[i], "threads", "1", &n);
        for (size_t k = 0; k < AS_COUNT(threads); k++) {
            float *more = gradients(nets[i], "threads", threads[k], &n_again);
            expect_eq(n, n_again);
            if (memcmp(one, more, n * sizeof *one))
                fail("%s: other bits with %s threads", nets[i], threads[k]);
            free(more);
        }
        free(one);
    }
}

Test(backward, gradients_are_the_same_compiled_and_not)
{
    for (size_t i = 0; i < 7; i++) {
        size_t   n, n_off;
        float   *on = gradients(nets[i], "compile", "on", &n), *off = gradients(nets[i], "compile", "off", &n_off);
        as_shape shape = AS_SHAPE((int64_t)n);
        expect_eq(n, n_off);
        as_view a = as_view_of(on, AS_F32, &shape), b = as_view_of(off, AS_F32, &shape);
        double  error = as_view_error(&a, &b);
        if (error > 1e-3)
            fail("%s: compiled and op by op differ by %g", nets[i], error);
        free(on);
        free(off);
    }
}
