/* build_test.c - sizes, passes, aliases, set-up and segments of real plans. */
#include <math.h>

#include "plan/test_fixture.h"

Test(plan, binds_the_batch_and_states_it)
{
    fixture f;
    fixture_open(&f, "mlp-small");
    fixture_set(&f, "batch", "5");
    fixture_plan(&f);
    expect_eq(f.plan->n_dims, 1);
    expect_str(f.plan->dims[0].symbol, "batch");
    expect_eq(f.plan->dims[0].size, 5);
    expect_eq(f.plan->buffers[f.plan->inputs[0]].shape.dim[0], 5);
    fixture_close(&f);
}

Test(plan, knows_how_long_it_took_only_where_a_real_clock_said_so)
{
    fixture f;
    fixture_open(&f, "mlp-small");
    fixture_plan(&f);
    expect(f.plan->build_ns > 0 && f.plan->compile_ns >= 0);
    fixture_close(&f);
    fixture_open(&f, "mlp-small");
    as_clock_open_fake(&f.env->clock, 0);
    fixture_plan(&f);
    expect(isnan(f.plan->build_ns) && isnan(f.plan->compile_ns));
    fixture_close(&f);
    fixture_open(&f, "mlp-small");
    fixture_set(&f, "device", "null");
    fixture_plan(&f);
    expect(isnan(f.plan->build_ns) && isnan(f.plan->compile_ns));
    fixture_close(&f);
}

Test(plan, takes_the_batch_as_a_dimension_too)
{
    fixture f;
    fixture_open(&f, "mlp-small");
    fixture_set(&f, "dim", "batch=3");
    fixture_plan(&f);
    expect_eq(f.plan->buffers[f.plan->inputs[0]].shape.dim[0], 3);
    fixture_close(&f);
}

static void refuses(const char *key, const char *value, assay_status want, const char *part)
{
    fixture     f;
    assay_plan *plan = NULL;
    fixture_open(&f, "mlp-small");
    fixture_set(&f, key, value);
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &plan), want, part);
    expect(plan == NULL);
    fixture_close(&f);
}

Test(plan, refuses_a_dimension_that_the_model_does_not_have) { refuses("dim", "time=3", ASSAY_BAD_INPUT, "time"); }
Test(plan, refuses_a_dimension_without_a_size) { refuses("dim", "batch", ASSAY_BAD_INPUT, "expected NAME=N"); }
Test(plan, refuses_a_dimension_without_a_name) { refuses("dim", "=4", ASSAY_BAD_INPUT, "expected NAME=N"); }
Test(plan, refuses_a_dimension_that_is_no_number) { refuses("dim", "batch=four", ASSAY_BAD_INPUT, "expected NAME=N"); }
Test(plan, refuses_a_device_that_does_not_exist) { refuses("device", "nul", ASSAY_NOT_FOUND, "nul"); }
Test(plan, refuses_more_memory_than_any_machine_has)
{
    refuses("dim", "batch=1000000000", ASSAY_BAD_INPUT, "1099511627776 are allowed");
}

Test(plan, refuses_a_dimension_given_twice)
{
    fixture     f;
    assay_plan *plan = NULL;
    fixture_open(&f, "mlp-small");
    fixture_set(&f, "dim", "batch=3");
    fixture_set(&f, "dim", "batch=4");
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &plan), ASSAY_BAD_INPUT, "given twice, as 3 and as 4");
    fixture_close(&f);
}

Test(plan, refuses_the_batch_in_both_ways)
{
    fixture     f;
    assay_plan *plan = NULL;
    fixture_open(&f, "mlp-small");
    fixture_set(&f, "dim", "batch=3");
    fixture_set(&f, "batch", "3");
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &plan), ASSAY_BAD_INPUT, "are both given; give one");
    fixture_close(&f);
}

/* x[2,3] -> relu -> y */
static void relu_model(fixture *f)
{
    fixture_open(f, NULL);
    as_maker *m = fixture_maker(f);
    as_maker_output(m, fixture_node1(m, "Relu", "r", fixture_input(m, "x", 2, 3)));
    expect_ok(f->env, as_maker_finish(m, &f->model));
}

Test(plan, refuses_a_batch_for_a_model_without_one)
{
    fixture     f;
    assay_plan *plan = NULL;
    relu_model(&f);
    fixture_set(&f, "batch", "2");
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &plan), ASSAY_BAD_INPUT,
                 "the batch size of the model 'test' is fixed");
    fixture_close(&f);
}

Test(plan, a_model_without_a_batch_needs_none)
{
    fixture f;
    relu_model(&f);
    fixture_plan(&f);
    expect_eq(f.plan->n_dims, 0);
    expect_eq(f.plan->n_steps, 1);
    fixture_close(&f);
}

Test(plan, an_unbound_dimension_is_named)
{
    fixture     f;
    assay_plan *plan = NULL;
    fixture_open(&f, NULL);
    as_maker *m = fixture_maker(&f);
    int       x = as_maker_input(m, "x", AS_F32, &(as_dims){.rank = 2, .dim = {{.symbol = "time"}, {.size = 3}}});
    as_maker_output(m, fixture_node1(m, "Relu", "r", x));
    expect_ok(f.env, as_maker_finish(m, &f.model));
    expect_fails(f.env, assay_plan_build(f.env, f.model, f.options, &plan), ASSAY_BAD_INPUT, "time");
    fixture_close(&f);
}

static int body_segments(const assay_plan *plan)
{
    int n = 0;
    for (int i = 0; i < plan->n_segments; i++)
        n += !plan->segments[i].prologue;
    return n;
}

Test(plan, flatten_costs_no_step_when_compiled)
{
    fixture f;
    fixture_open(&f, "cnn-small");
    fixture_plan(&f);
    expect_eq(fixture_step_find(f.plan, "flatten"), -1);
    int alias = fixture_buffer_find(f.plan, "flatten");
    expect(alias >= 0 && f.plan->buffers[alias].alias_of >= 0);
    expect_eq(f.plan->buffers[alias].bytes, 0);
    expect_str(f.plan->buffers[f.plan->buffers[alias].alias_of].name, "pool2");
    expect_eq(body_segments(f.plan), 1);
    fixture_close(&f);
}

Test(plan, compile_off_runs_op_by_op)
{
    fixture f;
    fixture_open(&f, "cnn-small");
    fixture_set(&f, "compile", "off");
    fixture_plan(&f);
    expect(fixture_step_find(f.plan, "flatten") >= 0);
    expect_eq(body_segments(f.plan), f.plan->n_steps - f.plan->n_prologue);
    expect_eq(f.plan->n_passes, 0);
    for (int i = 0; i < f.plan->n_buffers; i++)
        expect_eq(f.plan->buffers[i].alias_of, -1);
    fixture_close(&f);
}

Test(plan, params_are_used_in_place)
{
    fixture f;
    fixture_open(&f, "mlp-small");
    fixture_plan(&f);
    int weight = fixture_buffer_find(f.plan, "fc1.weight");
    expect(weight >= 0 && f.plan->buffers[weight].outside != NULL);
    expect_eq(f.plan->param_bytes, 4 * 101770);
    for (int i = 0; i < f.plan->n_prologue; i++) /* packed weights are a copy, and are counted */
        expect_eq(f.plan->steps[i].kind, AS_STEP_PACK);
    expect(assay_plan_peak_bytes(f.plan) - f.plan->packed_bytes < 4 * 101770);
    fixture_close(&f);
}

/* y = x + relu(p); p a parameter: relu(p) needs to run only once. */
static int steady_model(fixture *f, bool dead)
{
    fixture_open(f, NULL);
    as_maker *m = fixture_maker(f);
    int       x = fixture_input(m, "x", 2, 3);
    int       p = as_maker_param(m, "p", AS_F32, &AS_SHAPE(2, 3), (float[]){-1, 2, -3, 4, -5, 6}, true);
    int       once = fixture_node1(m, "Relu", "once", p);
    if (dead)
        fixture_node1(m, "Tanh", "nobody", x);
    as_maker_output(m, fixture_node2(m, "Add", "sum", x, once));
    expect_ok(f->env, as_maker_finish(m, &f->model));
    return once;
}

Test(plan, what_depends_on_params_alone_is_prologue)
{
    fixture f;
    steady_model(&f, false);
    fixture_plan(&f);
    expect_eq(f.plan->n_steps, 2);
    expect_eq(f.plan->n_prologue, 1);
    expect_eq(fixture_step_find(f.plan, "once"), 0);
    expect_eq(f.plan->n_segments, 2);
    expect(f.plan->segments[0].prologue && !f.plan->segments[1].prologue);
    const as_buffer *once = &f.plan->buffers[fixture_buffer_find(f.plan, "once")];
    expect_eq(once->last, f.plan->n_steps - 1);
    fixture_close(&f);
}

Test(plan, nodes_that_nobody_needs_are_left_out)
{
    fixture f;
    steady_model(&f, true);
    fixture_plan(&f);
    expect_eq(fixture_step_find(f.plan, "nobody"), -1);
    int n_changed = -1;
    for (int i = 0; i < f.plan->n_passes; i++)
        if (!strcmp(f.plan->passes[i].pass, "dead")) {
            n_changed = f.plan->passes[i].n_changed;
            expect_eq(f.plan->passes[i].bytes_saved, 24);
        }
    expect_eq(n_changed, 1);
    fixture_close(&f);
}

Test(plan, compile_off_keeps_even_what_nobody_needs)
{
    fixture f;
    steady_model(&f, true);
    fixture_set(&f, "compile", "off");
    fixture_plan(&f);
    int s = fixture_step_find(f.plan, "nobody");
    expect(s >= 0);
    fixture_instance(&f);
    fixture_step(&f);
    fixture_close(&f);
}

static int constant_f32(as_maker *m, const char *name, float *values, const as_shape *shape)
{
    as_view view = as_view_of(values, AS_F32, shape);
    return as_maker_constant(m, name, &view);
}

Test(plan, constants_are_folded_in_chains)
{
    fixture f;
    fixture_open(&f, NULL);
    as_maker *m = fixture_maker(&f);
    enum { N = 1536 }; /* more than binding folds */
    static float av[N] = {1, -2, 3}, bv[N] = {10, 20, 30};
    int          a = constant_f32(m, "a", av, &AS_SHAPE(1, N)), b = constant_f32(m, "b", bv, &AS_SHAPE(1, N));
    int          r = fixture_node1(m, "Relu", "r", fixture_node2(m, "Add", "ab", a, b));
    as_maker_output(m, fixture_node2(m, "Mul", "y", fixture_input(m, "x", 1, N), r));
    expect_ok(f.env, as_maker_finish(m, &f.model));
    fixture_plan(&f);
    expect_eq(f.plan->n_steps, 1);
    int fold = 0;
    while (fold < f.plan->n_passes && strcmp(f.plan->passes[fold].pass, "fold"))
        fold++;
    expect(fold < f.plan->n_passes);
    expect_eq(f.plan->passes[fold].n_changed, 2);
    fixture_instance(&f);
    as_view x = as_instance_input(f.instance, 0);
    for (int i = 0; i < 3; i++)
        as_view_set(&x, i, 2);
    fixture_step(&f);
    as_view y = as_instance_output(f.instance, 0);
    expect_eq(as_view_get(&y, 0), 22);
    expect_eq(as_view_get(&y, 1), 36);
    expect_eq(as_view_get(&y, 2), 66);
    fixture_close(&f);
}

Test(plan, an_output_that_is_constant_is_still_an_output)
{
    fixture f;
    fixture_open(&f, NULL);
    as_maker *m = fixture_maker(&f);
    int       r = fixture_node1(m, "Relu", "r", constant_f32(m, "a", (float[]){1, -2, 3}, &AS_SHAPE(1, 3)));
    as_maker_output(m, fixture_node1(m, "Tanh", "y", fixture_input(m, "x", 1, 3)));
    as_maker_output(m, r);
    expect_ok(f.env, as_maker_finish(m, &f.model));
    fixture_plan(&f);
    fixture_instance(&f);
    fixture_step(&f);
    as_view y = as_instance_output(f.instance, 1);
    expect_eq(as_view_get(&y, 0), 1);
    expect_eq(as_view_get(&y, 1), 0);
    expect_eq(as_view_get(&y, 2), 3);
    fixture_close(&f);
}

/* Both the flattened input and a flattened activation that is itself an output. */
Test(plan, a_view_that_is_an_output_never_shares_with_an_input)
{
    fixture f;
    fixture_open(&f, NULL);
    as_maker *m = fixture_maker(&f);
    int       x = fixture_input(m, "x", 2, 3), r = fixture_node1(m, "Relu", "r", x);
    as_maker_output(m, fixture_node1(m, "Flatten", "fx", x));
    as_maker_output(m, fixture_node1(m, "Flatten", "fr", r));
    as_maker_output(m, r);
    as_maker_output(m, fixture_node1(m, "Tanh", "t", fixture_node1(m, "Flatten", "inner", x)));
    expect_ok(f.env, as_maker_finish(m, &f.model));
    fixture_plan(&f);
    fixture_instance(&f);
    fixture_step(&f);
    as_view in = as_instance_input(f.instance, 0), fx = as_instance_output(f.instance, 0), fr = as_instance_output(f.instance, 1),
            rr = as_instance_output(f.instance, 2), t = as_instance_output(f.instance, 3);
    expect(fx.data != in.data);
    expect(fr.data == rr.data);
    for (int i = 0; i < 6; i++) {
        double v = as_view_get(&in, i);
        expect_eq(as_view_get(&fx, i) == v, 1);
        expect_eq(as_view_get(&fr, i) == (v > 0 ? v : 0), 1);
        expect_near(as_view_get(&t, i), tanh(v), 1e-6);
    }
    fixture_close(&f);
}

Test(plan, roles_have_names)
{
    expect_str(as_buffer_role_text(AS_BUF_INPUT), "input");
    expect_str(as_buffer_role_text(AS_BUF_SCRATCH), "scratch");
    expect_str(as_buffer_role_text(AS_BUF_PACKED), "packed");
}

Test(plan, free_of_nothing_is_nothing)
{
    assay_plan_free(NULL);
    assay_instance_free(NULL);
}
