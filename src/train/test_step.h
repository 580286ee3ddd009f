/* test_step.h - for tests: the forward and backward pass of a network for the sum of its outputs' squares, as one graph. */
#ifndef AS_TRAIN_TEST_STEP_H
#define AS_TRAIN_TEST_STEP_H

#include "plan/test_fixture.h"

/* The network bound to a batch size, its loss, and the gradient of every float parameter; the graph borrows from *network. */
static inline assay_model *test_step_model(assay_env *env, assay_model *network, int64_t batch)
{
    as_maker      *m = NULL;
    assay_model   *loss = NULL, *step = NULL;
    int            n_wrt = 0, *ids = calloc((size_t)network->n_values, sizeof *ids);
    const char   **wrt = calloc((size_t)network->n_values, sizeof *wrt);
    as_attr        flat = AS_ATTR_I("keepdims", 0);
    as_train_place place = {.pass = AS_PASS_LOSS, .layer = "loss"};
    expect(ids && wrt);
    for (int i = 0; i < network->n_values; i++)
        for (int k = 0; k < network->values[i].dims.rank; k++)
            if (network->values[i].dims.dim[k].symbol) {
                int64_t size = strcmp(network->values[i].dims.dim[k].symbol, "batch") ? 4 : batch;
                network->values[i].dims.dim[k] = (as_dim){.size = size};
            }
    expect_ok(env, as_maker_new(env, "step", 1, &m));
    as_maker_include(m, network, ids);
    as_maker_place(m, &place);
    int y = ids[network->outputs[0]], square = fixture_node2(m, "Mul", "square", y, y);
    as_maker_output(m, as_maker_node(m, "ReduceMean", "loss", &square, 1, &flat, 1, NULL, 1, NULL));
    for (int i = 0; i < network->n_values; i++)
        if (network->values[i].role == AS_ROLE_PARAM && as_dtype_is_float(network->values[i].dtype))
            wrt[n_wrt++] = network->values[i].name;
    expect_ok(env, as_maker_finish(m, &loss));
    expect_ok(env, as_model_backward(env, loss, "loss", wrt, n_wrt, &step));
    as_model_link *link = AS_TAKE(&step->arena, as_model_link, 1);
    expect(link != NULL);
    *link = (as_model_link){.model = loss};
    step->lenders = link;
    free(ids);
    free(wrt);
    return step;
}

/* All outputs of two steps of the model, one after the other; *peak: planned bytes.  The caller frees them. */
static inline char *test_step_run(assay_env *env, const assay_model *model, size_t *n_bytes, uint64_t *peak)
{
    fixture f = {.env = env, .model = (assay_model *)(uintptr_t)model};
    char   *all = NULL;
    size_t  n = 0;
    expect_ok(env, assay_options_new(env, &f.options));
    fixture_set(&f, "threads", "1");
    as_variable_def *variables = calloc((size_t)model->n_values, sizeof *variables);
    int              n_variables = 0;
    expect(variables != NULL);
    for (int i = 0; i < model->n_values; i++) /* as in training: nothing about them is packed in the set-up */
        if (model->values[i].role == AS_ROLE_PARAM)
            variables[n_variables++] = (as_variable_def){.name = model->values[i].name};
    expect_ok(env, fixture_plan_with(&f, variables, n_variables));
    free(variables);
    expect_ok(env, assay_instance_new(env, f.plan, &f.instance));
    for (int i = 0; i < f.plan->graph.n_inputs; i++) {
        as_view     view = as_instance_input(f.instance, i);
        const char *name = f.plan->graph.values[f.plan->graph.inputs[i]].name;
        as_random_input(1, name, &view);
    }
    *peak = assay_plan_peak_bytes(f.plan);
    for (int step = 0; step < 2; step++) {
        fixture_step(&f);
        for (int i = 0; i < model->n_outputs; i++) {
            as_view v = as_instance_output(f.instance, i);
            size_t  bytes = as_view_bytes(&v);
            all = realloc(all, n + bytes + 1);
            expect(all != NULL);
            memcpy(all + n, v.data, bytes);
            n += bytes;
        }
    }
    expect_eq(as_instance_peak_bytes(f.instance), *peak);
    assay_instance_free(f.instance);
    assay_plan_free(f.plan);
    assay_options_free(f.options);
    *n_bytes = n;
    return all;
}

#endif
