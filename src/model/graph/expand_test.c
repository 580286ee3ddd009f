/* expand_test.c - composites and their primitives give the same results. */
#include "model/model.h"

#include "tests/runner/test.h"

#include "model/test_support.h"

static assay_model *load(assay_env *env, const char *spec)
{
    assay_options *options = NULL;
    assay_model   *model = NULL;
    expect_ok(env, assay_options_new(env, &options));
    expect_ok(env, assay_model_load(env, spec, options, &model));
    assay_options_free(options);
    return model;
}

static void run(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims, test_run *t)
{
    *t = (test_run){0};
    expect_ok(env, as_graph_bind(env, model, dims, n_dims, NULL, 0, 1, &t->arena, &t->graph));
    test_views(t, t->graph.inputs, t->graph.n_inputs, t->inputs);
    test_views(t, t->graph.outputs, t->graph.n_outputs, t->outputs);
    for (int i = 0; i < t->graph.n_inputs; i++) {
        const char *name = t->graph.values[t->graph.inputs[i]].name;
        as_random_input(7, name, &t->inputs[i]);
        for (int64_t e = 0; !strcmp(name, "timespans") && e < as_shape_count(&t->inputs[i].shape); e++)
            as_view_set(&t->inputs[i], e, fabs(as_view_get(&t->inputs[i], e)));
    }
    expect_ok(env, as_graph_eval(env, &t->graph, t->inputs, t->outputs));
}

static void same(const char *spec, int64_t steps, double tolerance)
{
    assay_env     *env = test_env();
    assay_model   *model = load(env, spec), *plain = NULL;
    as_binding_dim dims[] = {{"batch", 2}, {"seq", steps}};
    test_run       want, got;
    expect(as_model_has_composites(model));
    expect_ok(env, as_model_expand(env, model, &dims[1], 1, &plain));
    expect(!as_model_has_composites(plain));
    run(env, model, dims, 2, &want);
    run(env, plain, dims, 1, &got); /* the batch is still open */
    expect_eq(plain->n_outputs, model->n_outputs);
    for (int i = 0; i < plain->n_outputs; i++) {
        double error = as_view_error(&got.outputs[i], &want.outputs[i]);
        expect_str(plain->values[plain->outputs[i]].name, model->values[model->outputs[i]].name);
        if (!(error <= tolerance))
            fail("%s: output %s is off by %g", spec, plain->values[plain->outputs[i]].name, error);
    }
    as_arena_drop(&want.arena);
    as_arena_drop(&got.arena);
    assay_model_free(plain);
    assay_model_free(model);
    assay_env_free(env);
}

Test(expand, cfc_with_a_backbone_is_the_same) { same("cfc:input=3,units=5,backbone_units=7x6", 4, 2e-6); }
Test(expand, cfc_for_each_activation_is_the_same)
{
    same("cfc:input=3,units=5,backbone_units=7,activation=tanh", 3, 2e-6);
    same("cfc:input=3,units=5,backbone_units=7,activation=relu", 3, 2e-6);
    same("cfc:input=3,units=5,backbone_units=7,activation=silu", 3, 2e-6);
    same("cfc:input=3,units=5,backbone_units=7,activation=gelu", 3, 2e-6);
}
Test(expand, cfc_with_every_input_and_part_is_the_same)
{
    same("cfc:input=3,units=5,backbone_units=7,mode=no_gate,mixed_memory=1,proj=2,timespans=1,state=1", 4, 2e-6);
    same("cfc:input=3,units=5,backbone_units=7,mode=pure,timespans=1,mixed_memory=1,return_sequences=0", 4, 2e-6);
}
Test(expand, wired_cfc_is_the_same)
{
    same("cfc:input=3,units=12,out=3,wiring=autoncp,timespans=1,state=1", 5, 2e-6);
    same("cfc:input=3,units=12,out=3,wiring=autoncp,mixed_memory=1,proj=2", 5, 2e-6);
    same("cfc:input=3,units=6,wiring=full,mode=pure", 5, 2e-6);
}
Test(expand, other_semantics_are_the_same)
{
    same("cfc:input=3,units=12,out=3,wiring=autoncp,semantics=keras", 4, 2e-6);
    same("cfc:input=3,units=6,out=2,wiring=random,semantics=keras,timespans=1", 4, 2e-6);
    same("cfc:input=3,units=12,out=3,wiring=autoncp,semantics=enhanced,backbone_units=8x8", 4, 2e-6);
}
Test(expand, one_step_and_more_steps_than_a_concat_takes)
{
    same("cfc:input=2,units=3,backbone_units=4,return_sequences=0", 1, 2e-6);
    same("cfc:input=2,units=3,backbone_units=4", 1, 2e-6);
    same("cfc:input=2,units=3,backbone_units=4", 130, 1e-5);
}

/* The graph of a plan that fuses nothing. */
static void same_bound(const char *spec, int64_t steps)
{
    assay_env     *env = test_env();
    assay_model   *model = load(env, spec);
    as_binding_dim dims[] = {{"batch", 2}, {"seq", steps}};
    test_run       want, got;
    run(env, model, dims, 2, &want);
    run(env, model, dims, 2, &got);
    expect_ok(env, as_graph_expand(env, model, 1, true, &got.graph));
    expect(got.graph.n_nodes > want.graph.n_nodes + (int)steps);
    for (int i = 0; i < got.graph.n_nodes; i++) {
        const as_bound_node *n = &got.graph.nodes[i];
        expect(n->dead || !n->ctx.op->expand);
        for (int k = 0; k < n->ctx.n_out && !n->dead; k++)
            expect_eq(got.graph.values[n->out[k]].producer, i);
    }
    for (int i = 0; i < got.graph.n_outputs; i++)
        memset(got.outputs[i].data, 0, as_view_bytes(&got.outputs[i]));
    expect_ok(env, as_graph_eval(env, &got.graph, got.inputs, got.outputs));
    for (int i = 0; i < got.graph.n_outputs; i++)
        expect(as_view_error(&got.outputs[i], &want.outputs[i]) <= 2e-6);
    as_arena_drop(&want.arena);
    as_arena_drop(&got.arena);
    assay_model_free(model);
    assay_env_free(env);
}

Test(expand, a_bound_graph_is_the_same)
{
    same_bound("cfc:input=3,units=12,out=3,wiring=autoncp,mixed_memory=1,proj=2,timespans=1,state=1", 4);
    same_bound("cfc:input=3,units=6,out=2,wiring=random,semantics=keras", 3);
    same_bound("cfc:input=3,units=5,backbone_units=7x6,return_sequences=0", 1);
}

Test(expand, a_bound_composite_too_long_to_write_out_stays)
{
    assay_env     *env = test_env();
    assay_model   *model = load(env, "cfc:input=2,units=3,backbone_units=4");
    as_binding_dim dims[] = {{"batch", 1}, {"seq", 5000}};
    as_arena       arena = {0};
    as_graph       g;
    expect_ok(env, as_graph_bind(env, model, dims, 2, NULL, 0, 1, &arena, &g));
    expect_ok(env, as_graph_expand(env, model, 1, true, &g));
    expect_eq(g.n_nodes, 1);
    expect_str(g.nodes[0].ctx.op->name, "assay.CfC");
    as_arena_drop(&arena);
    assay_model_free(model);
    assay_env_free(env);
}

Test(expand, refuses_more_nodes_than_its_limit)
{
    assay_env     *env = test_env();
    assay_model   *model = load(env, "cfc:input=2,units=3"), *plain = NULL;
    as_binding_dim seq = {"seq", 100000};
    expect_fails(env, as_model_expand(env, model, &seq, 1, &plain), ASSAY_UNSUPPORTED, "100000 steps");
    expect(!plain);
    assay_model_free(model);
    assay_env_free(env);
}

Test(expand, copies_a_model_without_composites)
{
    assay_env     *env = test_env();
    assay_model   *model = load(env, "mlp:sizes=4x3x2"), *plain = NULL;
    test_run       want, got;
    as_binding_dim batch = {"batch", 3};
    expect(!as_model_has_composites(model));
    expect_ok(env, as_model_expand(env, model, NULL, 0, &plain));
    expect_eq(plain->n_nodes, model->n_nodes);
    run(env, model, &batch, 1, &want);
    run(env, plain, &batch, 1, &got);
    expect(as_view_error(&got.outputs[0], &want.outputs[0]) == 0.0);
    as_arena_drop(&want.arena);
    as_arena_drop(&got.arena);
    assay_model_free(plain);
    assay_model_free(model);
    assay_env_free(env);
}
