/* shots_test.c - stamps around calls that only move a simulated clock. */
#include "run/shots.h"

#include "tests/runner/test.h"

/* Call i, from 1, takes 10 i ns; call `fails_at` fails, and the clock goes back in call `back_at` (0: never). */
typedef struct caller {
    uint64_t n, fails_at, back_at;
} caller;

static assay_status call(assay_env *env, void *self)
{
    caller *c = self;
    c->n++;
    as_clock_advance(&env->clock, c->n * 10);
    if (c->n == c->back_at)
        env->clock.fake_ticks -= 1000000;
    return c->n == c->fails_at ? as_fail(env, ASSAY_DEVICE, "call %d failed", (int)c->n) : ASSAY_OK;
}

static assay_env *fake_env(void)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    as_clock_open_fake(&env->clock, 5000000);
    return env;
}

Test(shots, a_sample_is_the_mean_of_its_calls_and_no_call_is_left_out)
{
    assay_env *env = fake_env();
    caller     c = {.n = 0};
    as_shot    shots[3];
    uint32_t   switches = 77777;
    expect_ok(env, as_shots_take(env, "a test", call, &c, false, 2, 3, (as_stamps){0}, shots, &switches));
    expect_eq(c.n, 6);
    for (int i = 0; i < 3; i++) {
        expect_near((double)shots[i].wall_ns, 15 + 20 * i, 1e-4);
        expect(isnan(shots[i].cpu_ns));
    }
    expect(switches != 77777);
    expect_eq(env->clock.fake_ticks, 5000000 + 210);
    assay_env_free(env);
}

Test(shots, cpu_time_is_read_where_one_thread_does_the_work)
{
    assay_env *env = fake_env();
    caller     c = {.n = 0};
    as_shot    shots[2];
    uint32_t   switches;
    expect_ok(env, as_shots_take(env, "a test", call, &c, true, 1, 2, (as_stamps){0}, shots, &switches));
    expect(shots[0].cpu_ns >= 0 && shots[1].cpu_ns >= 0);
    assay_env_free(env);
}

Test(shots, a_call_that_fails_ends_the_block_with_its_sentence)
{
    assay_env *env = fake_env();
    caller     c = {.fails_at = 3};
    as_shot    shots[3];
    uint32_t   switches;
    expect_fails(env, as_shots_take(env, "a test", call, &c, false, 2, 3, (as_stamps){0}, shots, &switches), ASSAY_DEVICE,
                 "call 3 failed");
    expect_eq(c.n, 3);
    assay_env_free(env);
}

Test(shots, a_clock_that_goes_back_is_told)
{
    assay_env *env = fake_env();
    caller     c = {.back_at = 4};
    as_shot    shots[3];
    uint32_t   switches;
    expect_fails(env, as_shots_take(env, "a test", call, &c, false, 2, 3, (as_stamps){0}, shots, &switches), ASSAY_DEVICE,
                 "a test: the clock fake went back during a sample");
    assay_env_free(env);
}

Test(shots, first_calls_are_timed_one_by_one)
{
    assay_env *env = fake_env();
    caller     c = {.n = 0};
    double     first[3] = {0};
    expect_ok(env, as_first_calls(env, call, &c, first));
    for (int i = 0; i < 3; i++)
        expect_near(first[i], 10 * (i + 1), 1e-9);
    expect_eq(c.n, 3);
    assay_env_free(env);
}
