/* precision_test.c - what is stored in 16 bits takes half the bytes, and the gradients stay close. */
#include "train/precision.h"

#include <math.h>

#include "train/recompute.h"
#include "train/test_step.h"

static void compare(const char *spec, as_train_precision precision, int64_t batch, double most, bool less)
{
    assay_env   *env = NULL;
    assay_model *network = NULL;
    as_precision told = {0};
    size_t       n_before, n_after;
    uint64_t     before, after;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_ok(env, as_model_load(env, spec, &(as_model_options){.seed = 1}, &network));
    assay_model *step = test_step_model(env, network, batch);
    char        *want = test_step_run(env, step, &n_before, &before);
    expect_ok(env, as_precision_apply(env, precision, 0, &step, &told));
    char *got = test_step_run(env, step, &n_after, &after);
    expect_eq(n_before, n_after);
    expect(told.n_rows > 0);
    expect(memcmp(want, got, n_before)); /* it rounds */
    double largest = 0, gap = 0;
    for (size_t i = 0; i < n_before / sizeof(float); i++) {
        largest = fmax(largest, fabs((double)((float *)(void *)want)[i]));
        gap = fmax(gap, fabs((double)((float *)(void *)want)[i] - (double)((float *)(void *)got)[i]));
    }
    expect(gap <= most * largest);
    expect(!less || after < before);
    uint64_t elements = 0;
    for (int i = 0; i < told.n_rows; i++) {
        expect(told.rows[i].n_casts >= 2);
        elements += told.rows[i].elements;
    }
    expect_eq(told.saved_bytes, 2 * elements);
    free(want);
    free(got);
    assay_model_free(step);
    assay_model_free(network);
    assay_env_free(env);
}

Test(precision, results_between_the_passes_are_stored_in_half_the_bytes)
{
    compare("mlp:sizes=64x64x64x64x64x64x64x64x64x64x64x64x64x64x64x64x10", AS_TRAIN_F16, 1024, 2e-3, true);
    compare("mlp:sizes=64x64x64x64x64x64x64x64x64x64x64x64x64x64x64x64x10", AS_TRAIN_BF16, 1024, 2e-2, true);
    compare("cnn-residual:blocks=6", AS_TRAIN_BF16, 4, 3e-2, true);
    compare("cnn-bn", AS_TRAIN_F16, 4, 2e-3, false);
}

Test(precision, what_is_computed_again_is_rounded_in_the_same_way)
{
    assay_env   *env = NULL;
    assay_model *network = NULL;
    as_precision told = {0};
    as_recompute again = {0};
    size_t       n_before, n_after;
    uint64_t     before, after;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_ok(env, as_model_load(env, "cnn-residual:blocks=4", &(as_model_options){.seed = 1}, &network));
    assay_model *step = test_step_model(env, network, 4);
    expect_ok(env, as_precision_apply(env, AS_TRAIN_BF16, 0, &step, &told));
    char *want = test_step_run(env, step, &n_before, &before);
    expect_ok(env, as_recompute_apply(env, 3, &step, &again));
    char *got = test_step_run(env, step, &n_after, &after);
    expect_eq(n_before, n_after);
    expect(!memcmp(want, got, n_before));
    free(want);
    free(got);
    assay_model_free(step);
    assay_model_free(network);
    assay_env_free(env);
}
