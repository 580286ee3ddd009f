/* shared_plan_test.c - a plan may be shared by threads, each with an instance of its own. */
#include <pthread.h>

#include "plan/plan.h"
#include "tests/runner/test.h"

enum { N_THREADS = 3, N_STEPS = 4 };

typedef struct runner {
    assay_env      *env;
    assay_instance *instance;
    assay_status    status;
    pthread_t       thread;
} runner;

static void *steps_run(void *arg)
{
    runner *r = arg;
    for (int i = 0; i < N_STEPS && r->status == ASSAY_OK; i++)
        r->status = as_instance_step(r->env, r->instance, NULL);
    return NULL;
}

Test(shared_plan, gives_every_thread_the_same_bits)
{
    assay_env     *env;
    assay_options *options;
    assay_model   *model;
    assay_plan    *plan;
    runner         runners[N_THREADS] = {0};
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_ok(env, assay_options_new(env, &options));
    expect_ok(env, assay_options_set(env, options, "threads", "2"));
    expect_ok(env, assay_options_set(env, options, "batch", "8"));
    expect_ok(env, assay_model_load(env, "mlp-small", options, &model));
    expect_ok(env, assay_plan_build(env, model, options, &plan));
    for (int i = 0; i < N_THREADS; i++) {
        expect_eq(assay_env_new(&runners[i].env), ASSAY_OK);
        expect_ok(env, assay_instance_new(env, plan, &runners[i].instance));
        as_view x = as_instance_input(runners[i].instance, 0);
        as_random_input(1, "x", &x);
    }
    for (int i = 0; i < N_THREADS; i++)
        expect_eq(pthread_create(&runners[i].thread, NULL, steps_run, &runners[i]), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(runners[i].thread, NULL);
    as_view first = as_instance_output(runners[0].instance, 0);
    for (int i = 0; i < N_THREADS; i++) {
        as_view y = as_instance_output(runners[i].instance, 0);
        expect_ok(runners[i].env, runners[i].status);
        expect(!memcmp(y.data, first.data, as_view_bytes(&y)));
    }
    for (int i = 0; i < N_THREADS; i++) {
        assay_instance_free(runners[i].instance);
        assay_env_free(runners[i].env);
    }
    assay_plan_free(plan);
    assay_model_free(model);
    assay_options_free(options);
    assay_env_free(env);
}
