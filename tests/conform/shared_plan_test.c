/* shared_plan_test.c - threads may share a plan and its devices, each with its own env, instance and run context. */
#include <pthread.h>
#include <sched.h>

#include "plan/test_fixture.h"
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
        r->status = as_instance_step(AS_RUN(r->env), r->instance);
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

/* --- What goes wrong in one thread stays there -------------------------------------------------------------------- */

enum { N_OWN_STEPS = 200 };

typedef struct own_run {
    assay_env      *env;
    assay_instance *instance;
    pthread_t       thread;
    assay_status    last;
    int             n_done;
    atomic_int      n_begun; /* steps that others may wait for */
    bool            until_failure;
} own_run;

/* The thread to be cancelled continues until it is; the others make their steps. */
static void *own_steps(void *arg)
{
    own_run *r = arg;
    for (int i = 0; i < N_OWN_STEPS || r->until_failure; i++) {
        atomic_fetch_add(&r->n_begun, 1);
        r->last = as_instance_step(AS_RUN(r->env), r->instance);
        r->n_done += r->last == ASSAY_OK;
        if (r->last != ASSAY_OK && r->until_failure)
            break;
    }
    return NULL;
}

/* Rows of a table by index, then two more steps, so that a cancel can be noticed between steps. */
static void rows_model(fixture *f)
{
    fixture_open(f, NULL);
    as_maker *m = fixture_maker(f);
    int       table = as_maker_param_random(m, "table", &AS_SHAPE(4, 64), 4);
    int       row = as_maker_input(m, "row", AS_I64, &(as_dims){.rank = 1, .dim = {{.size = 3}}});
    int       rows = as_maker_node(m, "Gather", "rows", (int[]){table, row}, 2, NULL, 0, NULL, 1, NULL);
    as_maker_output(m, fixture_node1(m, "LogSoftmax", "log", fixture_node1(m, "Softmax", "soft", rows)));
    expect_ok(f->env, as_maker_finish(m, &f->model));
    fixture_set(f, "threads", "2");
    fixture_plan(f);
}

static void own_open(own_run *r, const assay_plan *plan, int64_t row)
{
    expect_eq(assay_env_new(&r->env), ASSAY_OK);
    expect_ok(r->env, assay_instance_new(r->env, plan, &r->instance));
    as_view rows = as_instance_input(r->instance, 0);
    for (int i = 0; i < 3; i++)
        as_view_set_i64(&rows, i, row);
}

static void own_close(own_run *r)
{
    assay_instance_free(r->instance);
    assay_env_free(r->env);
}

Test(shared_plan, messages_and_cancels_stay_with_the_thread_they_belong_to)
{
    fixture f;
    own_run bad = {0}, cancelled = {.until_failure = true}, good = {0};
    rows_model(&f);
    own_open(&bad, f.plan, 99);
    own_open(&cancelled, f.plan, 2);
    own_open(&good, f.plan, 1);
    expect_eq(pthread_create(&bad.thread, NULL, own_steps, &bad), 0);
    expect_eq(pthread_create(&cancelled.thread, NULL, own_steps, &cancelled), 0);
    expect_eq(pthread_create(&good.thread, NULL, own_steps, &good), 0);
    while (atomic_load(&cancelled.n_begun) < 3)
        sched_yield();
    assay_cancel(cancelled.env);
    pthread_join(cancelled.thread, NULL);
    pthread_join(bad.thread, NULL);
    pthread_join(good.thread, NULL);
    expect_eq(bad.last, ASSAY_BAD_INPUT);
    expect_eq(bad.n_done, 0);
    expect_has(assay_message(bad.env), "99");
    expect_eq(cancelled.last, ASSAY_CANCELLED);
    expect_has(assay_message(cancelled.env), "cancelled after step");
    expect_eq(good.last, ASSAY_OK);
    expect_eq(good.n_done, N_OWN_STEPS);
    expect_str(assay_message(good.env), "");
    expect_str(assay_message(f.env), "");
    own_close(&bad);
    own_close(&cancelled);
    own_close(&good);
    fixture_close(&f);
}

Test(shared_plan, runs_on_one_null_device_have_a_clock_each)
{
    fixture f;
    own_run runs[2] = {0};
    fixture_open(&f, "mlp:sizes=4x3x2");
    fixture_set(&f, "device", "null:*=1us");
    fixture_plan(&f);
    int n_nodes = 0;
    for (int s = f.plan->n_prologue; s < f.plan->n_steps; s++)
        n_nodes += f.plan->steps[s].kind == AS_STEP_NODE;
    for (int i = 0; i < 2; i++) {
        expect_eq(assay_env_new(&runs[i].env), ASSAY_OK);
        expect_ok(runs[i].env, assay_instance_new(runs[i].env, f.plan, &runs[i].instance));
        expect_eq(runs[i].env->clock.kind, AS_CLOCK_FAKE);
    }
    expect(f.env->clock.kind != AS_CLOCK_FAKE); /* of the thread that opened the device */
    expect_eq(pthread_create(&runs[0].thread, NULL, own_steps, &runs[0]), 0);
    expect_eq(pthread_create(&runs[1].thread, NULL, own_steps, &runs[1]), 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(runs[i].thread, NULL);
        expect_ok(runs[i].env, runs[i].last);
        expect_eq(as_clock_now(&runs[i].env->clock), (uint64_t)N_OWN_STEPS * (uint64_t)n_nodes * 1000);
        own_close(&runs[i]);
    }
    fixture_close(&f);
}
