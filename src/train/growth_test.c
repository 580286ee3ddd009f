/* growth_test.c - what --grow-batch understands. */
#include "train/growth.h"

#include "tests/runner/test.h"

static assay_env *env;
static void       setup(void) { expect_eq(assay_env_new(&env), ASSAY_OK); }
static void       teardown(void) { assay_env_free(env); }

Test(growth, changes_the_batch_size_at_the_beginning_of_its_epochs)
{
    setup();
    as_growth g;
    expect_ok(env, as_growth_parse(env, "epoch 3: 128, epoch 6:256 rate sqrt", &g));
    expect_eq(as_growth_batch(&g, 32, 1), 32);
    expect_eq(as_growth_batch(&g, 32, 2), 32);
    expect_eq(as_growth_batch(&g, 32, 3), 128);
    expect_eq(as_growth_batch(&g, 32, 5), 128);
    expect_eq(as_growth_batch(&g, 32, 600), 256);
    expect_near(as_growth_factor(&g, 32, 2), 1, 0);
    expect_near(as_growth_factor(&g, 32, 4), 2, 0);
    expect_ok(env, as_growth_parse(env, "epoch 2: 64 rate linear", &g));
    expect_near(as_growth_factor(&g, 32, 4), 2, 0);
    expect_ok(env, as_growth_parse(env, NULL, &g));
    expect_eq(as_growth_batch(&g, 32, 9), 32);
    teardown();
}

Test(growth, refuses_what_it_does_not_understand)
{
    setup();
    static const char *const bad[] = {"",
                                      "3: 128",
                                      "epoch 3",
                                      "epoch 0: 4",
                                      "epoch 3: 0",
                                      "epoch 3: x",
                                      "epoch 3: 9 rate",
                                      "epoch 3: 9 foo",
                                      "epoch 4: 9, epoch 3: 12",
                                      "rate linear",
                                      "epoch 3: 99999999"};
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        as_growth g = {.n = 77};
        expect_fails(env, as_growth_parse(env, bad[i], &g), ASSAY_BAD_INPUT, "--grow-batch");
        expect_eq(g.n, 77);
    }
    teardown();
}
