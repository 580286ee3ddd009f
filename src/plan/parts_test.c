/* parts_test.c - which nodes of the model a step computes. */
#include <stdio.h>

#include "plan/test_fixture.h"

static const as_trace_step *step_named(const assay_trace *t, const char *name)
{
    for (size_t i = 0; i < t->n_steps; i++)
        if (!strcmp(t->steps[i].name, name))
            return &t->steps[i];
    fail("there is no step %s", name);
    return NULL;
}

/* "conv1 relu1 pool1"; "" where the step is its own part. */
static void expect_parts(const assay_trace *t, const char *name, const char *want)
{
    const as_trace_step *s = step_named(t, name);
    char                 got[256] = "";
    for (int i = 0; i < s->n_parts; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? " " : "", s->parts[i]);
    expect_str(got, want);
}

static assay_trace *described(fixture *f, const char *spec, const char *compile)
{
    assay_trace *t = NULL;
    fixture_open(f, spec);
    fixture_set(f, "compile", compile);
    fixture_plan(f);
    expect_ok(f->env, as_trace_new(f->env, &t));
    expect_ok(f->env, as_plan_describe(f->env, f->plan, t));
    return t;
}

static void give_back(fixture *f, assay_trace *t)
{
    assay_trace_free(t);
    fixture_close(f);
}

Test(parts, a_fused_step_has_the_nodes_that_it_was_made_of)
{
    fixture      f;
    assay_trace *t = described(&f, "cnn-small", "on");
    expect_parts(t, "conv1+relu+pool", "conv1 relu1 pool1");
    expect_parts(t, "fc1+relu", "flatten fc1 relu3"); /* flatten became an alias, so it belongs to this step */
    expect_parts(t, "fc2", "");
    give_back(&f, t);
}

Test(parts, op_by_op_every_step_is_its_own)
{
    fixture      f;
    assay_trace *t = described(&f, "cnn-small", "off");
    for (size_t i = 0; i < t->n_steps; i++)
        expect_eq(t->steps[i].n_parts, 0);
    give_back(&f, t);
}

Test(parts, the_steps_of_a_composite_that_was_taken_apart_are_parts_of_it)
{
    fixture      f, g;
    assay_trace *whole = described(&f, "cfc", "on"), *apart = described(&g, "cfc", "off");
    const char  *cell = NULL;
    for (size_t i = 0; i < whole->n_steps; i++)
        if (!strcmp(whole->steps[i].stage, "body") && strstr(whole->steps[i].op, "CfC"))
            cell = whole->steps[i].n_parts ? whole->steps[i].parts[0] : whole->steps[i].name;
    expect(cell != NULL);
    size_t n = 0;
    for (size_t i = 0; i < apart->n_steps; i++)
        if (!strcmp(apart->steps[i].stage, "body"))
            n += apart->steps[i].n_parts > 0 && !strcmp(apart->steps[i].parts[0], cell);
    expect(n > 100);
    give_back(&g, apart);
    give_back(&f, whole);
}

Test(parts, steps_of_several_plans_stand_behind_each_other_in_one_trace)
{
    fixture      f;
    assay_trace *t = NULL;
    fixture_open(&f, "mlp-small");
    fixture_set(&f, "compile", "off");
    fixture_plan(&f);
    expect_ok(f.env, as_trace_new_arms(f.env, "two", 2, &t));
    expect_ok(f.env, as_plan_describe_steps(f.env, f.plan, 0, t));
    expect_ok(f.env, as_plan_describe_steps(f.env, f.plan, 1, t));
    expect_eq((int)t->n_steps, 2 * f.plan->n_steps);
    for (int i = 0; i < f.plan->n_steps; i++) {
        const as_trace_step *a = &t->steps[i], *b = &t->steps[f.plan->n_steps + i];
        expect_eq(a->arm, 0);
        expect_eq(b->arm, 1);
        expect_eq(a->n_inputs, b->n_inputs);
        for (int k = 0; k < a->n_inputs; k++)
            expect_eq(a->inputs[k] + f.plan->n_steps, b->inputs[k]);
    }
    give_back(&f, t);
}
