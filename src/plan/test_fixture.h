/* test_fixture.h - for tests: a model, options, a plan and an instance in a few words. */
#ifndef AS_PLAN_TEST_FIXTURE_H
#define AS_PLAN_TEST_FIXTURE_H

#include <stdlib.h>

#include "plan/plan.h"
#include "tests/runner/test.h"

typedef struct fixture {
    assay_env      *env;
    assay_options  *options;
    assay_model    *model;
    assay_plan     *plan;
    assay_instance *instance;
} fixture;

/* spec NULL: the model comes later, from a maker. */
static inline void fixture_open(fixture *f, const char *spec)
{
    *f = (fixture){0};
    expect_eq(assay_env_new(&f->env), ASSAY_OK);
    expect_ok(f->env, assay_options_new(f->env, &f->options));
    if (spec)
        expect_ok(f->env, assay_model_load(f->env, spec, f->options, &f->model));
}

static inline void fixture_set(fixture *f, const char *key, const char *value)
{
    expect_ok(f->env, assay_options_set(f->env, f->options, key, value));
}

static inline void fixture_plan(fixture *f) { expect_ok(f->env, assay_plan_build(f->env, f->model, f->options, &f->plan)); }

/* With inputs by seed 1. */
static inline void fixture_instance(fixture *f)
{
    expect_ok(f->env, assay_instance_new(f->env, f->plan, &f->instance));
    for (int i = 0; i < f->plan->graph.n_inputs; i++) {
        as_view view = as_instance_input(f->instance, i);
        as_random_input(1, f->plan->graph.values[f->plan->graph.inputs[i]].name, &view);
    }
}

static inline void fixture_step(fixture *f) { expect_ok(f->env, as_instance_step(AS_RUN(f->env), f->instance)); }

static inline void fixture_close(fixture *f)
{
    assay_instance_free(f->instance);
    assay_plan_free(f->plan);
    assay_model_free(f->model);
    assay_options_free(f->options);
    assay_env_free(f->env);
    *f = (fixture){0};
}

/* Output i of one run of a model under options "key=value key=value", as bytes that the caller frees. */
static inline void *fixture_result(const char *spec, const char *const *options, int i, size_t *bytes)
{
    fixture f;
    fixture_open(&f, spec);
    for (; options && options[0]; options += 2)
        fixture_set(&f, options[0], options[1]);
    fixture_plan(&f);
    fixture_instance(&f);
    fixture_step(&f);
    as_view view = as_instance_output(f.instance, i);
    void   *copy = malloc(as_view_bytes(&view) + 1);
    expect(copy != NULL);
    memcpy(copy, view.data, as_view_bytes(&view));
    *bytes = as_view_bytes(&view);
    fixture_close(&f);
    return copy;
}

/* A maker for a model of the test's own. */
static inline as_maker *fixture_maker(fixture *f)
{
    as_maker *m = NULL;
    expect_ok(f->env, as_maker_new(f->env, "test", 1, &m));
    return m;
}

static inline int fixture_input(as_maker *m, const char *name, int64_t rows, int64_t columns)
{
    return as_maker_input(m, name, AS_F32, &(as_dims){.rank = 2, .dim = {{.size = rows}, {.size = columns}}});
}

static inline int fixture_node1(as_maker *m, const char *op, const char *name, int x)
{
    return as_maker_node(m, op, name, &x, 1, NULL, 0, NULL, 1, NULL);
}

static inline int fixture_node2(as_maker *m, const char *op, const char *name, int x, int y)
{
    return as_maker_node(m, op, name, (int[]){x, y}, 2, NULL, 0, NULL, 1, NULL);
}

static inline int fixture_step_find(const assay_plan *plan, const char *name)
{
    for (int s = 0; s < plan->n_steps; s++)
        if (!strcmp(plan->steps[s].name, name))
            return s;
    return -1;
}

static inline int fixture_buffer_find(const assay_plan *plan, const char *name)
{
    for (int i = 0; i < plan->n_buffers; i++)
        if (!strcmp(plan->buffers[i].name, name))
            return i;
    return -1;
}

/* The plan by the fixture's options, with variables. */
static inline assay_status fixture_plan_with(fixture *f, const as_variable_def *variables, int n)
{
    as_plan_options options;
    AS_TRY(as_plan_options_read(f->env, f->options, &options));
    return as_plan_build_with(f->env, f->model, &options, &(as_plan_with){.variables = variables, .n_variables = n}, &f->plan);
}

#endif
