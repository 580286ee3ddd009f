/* recompute_test.c - what is computed again gives the same bits, in less memory. */
#include "train/recompute.h"

#include "train/test_step.h"

static assay_env *open_env(void)
{
    assay_env *env = NULL;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    return env;
}

static assay_model *load(assay_env *env, const char *spec)
{
    assay_model *network = NULL;
    expect_ok(env, as_model_load(env, spec, &(as_model_options){.seed = 1}, &network));
    return network;
}

/* Runs the step as it is and with segments computed again. */
static as_recompute compare(const char *spec, int segments, int64_t batch, uint64_t *before, uint64_t *after)
{
    assay_env   *env = open_env();
    assay_model *network = load(env, spec), *step = test_step_model(env, network, batch);
    as_recompute told = {0};
    size_t       n_before, n_after;
    char        *want = test_step_run(env, step, &n_before, before);
    expect_ok(env, as_recompute_apply(env, segments, &step, &told));
    char *got = test_step_run(env, step, &n_after, after);
    expect_eq(n_before, n_after);
    expect(!memcmp(want, got, n_before));
    free(want);
    free(got);
    assay_model_free(step);
    assay_model_free(network);
    assay_env_free(env);
    return told;
}

Test(recompute, every_number_of_segments_gives_the_same_bits)
{
    static const char *const specs[] = {"mlp:sizes=32x64x64x64x64x64x64x64x64x10", "cnn-bn", "cnn-residual", "cnn-separable"};
    for (size_t i = 0; i < AS_COUNT(specs); i++)
        for (int n = 2; n <= 5; n++) {
            uint64_t     before, after;
            as_recompute told = compare(specs[i], n, 4, &before, &after);
            expect_eq(told.n_segments, n);
            expect(told.n_nodes > 0 && told.flops > 0);
        }
}

Test(recompute, auto_takes_less_memory_for_a_deep_network)
{
    uint64_t     before, after;
    as_recompute told =
        compare("mlp:sizes=64x64x64x64x64x64x64x64x64x64x64x64x64x64x64x64x10", AS_RECOMPUTE_AUTO, 1024, &before, &after);
    expect(told.n_segments > 2);
    expect(after < before * 2 / 3);
    told = compare("cnn-residual:blocks=6", AS_RECOMPUTE_AUTO, 4, &before, &after);
    expect(told.n_segments > 2);
    expect(after < before);
}

/* dropout(x W1) W2 with dropout on: the mask is drawn by the node and the step. */
static assay_model *dropout_network(assay_env *env, int n_layers)
{
    as_maker          *m = NULL;
    assay_model       *network = NULL;
    static const bool  yes = true;
    static const float half = 0.5f;
    as_shape           scalar = {0};
    expect_ok(env, as_maker_new(env, "dropout", 1, &m));
    int at = fixture_input(m, "x", 8, 64);
    int ratio = as_maker_constant(m, "ratio", &(as_view){.data = (void *)(uintptr_t)&half, .dtype = AS_F32, .shape = scalar});
    int on = as_maker_constant(m, "on", &(as_view){.data = (void *)(uintptr_t)&yes, .dtype = AS_BOOL, .shape = scalar});
    for (int i = 0; i < n_layers; i++) {
        char name[32];
        int  outs[2];
        snprintf(name, sizeof name, "w%d", i);
        int w = as_maker_param_random(m, name, &AS_SHAPE(64, 64), 64);
        snprintf(name, sizeof name, "xw%d", i);
        at = fixture_node2(m, "MatMul", name, at, w);
        snprintf(name, sizeof name, "tanh%d", i);
        at = fixture_node1(m, "Tanh", name, at);
        snprintf(name, sizeof name, "drop%d", i);
        as_maker_node(m, "Dropout", name, (int[]){at, ratio, on}, 3, NULL, 0, outs, 2, NULL);
        at = outs[0];
    }
    as_maker_output(m, at);
    expect_ok(env, as_maker_finish(m, &network));
    return network;
}

Test(recompute, dropout_draws_the_same_mask_again)
{
    assay_env   *env = open_env();
    assay_model *network = dropout_network(env, 6), *step = test_step_model(env, network, 8);
    as_recompute told = {0};
    size_t       n_before, n_after;
    uint64_t     before, after;
    char        *want = test_step_run(env, step, &n_before, &before);
    expect(memcmp(want, want + n_before / 2, n_before / 2)); /* the second step draws others */
    expect_ok(env, as_recompute_apply(env, 3, &step, &told));
    int n_again = 0;
    for (int i = 0; i < step->n_nodes; i++)
        n_again += step->nodes[i].place.pass == AS_PASS_RECOMPUTE && !strcmp(step->nodes[i].op->name, "Dropout");
    expect(n_again > 0);
    char *got = test_step_run(env, step, &n_after, &after);
    expect_eq(n_before, n_after);
    expect(!memcmp(want, got, n_before));
    free(want);
    free(got);
    assay_model_free(step);
    assay_model_free(network);
    assay_env_free(env);
}

Test(recompute, what_is_computed_again_comes_right_before_the_backward_pass_reads_it)
{
    assay_env   *env = open_env();
    assay_model *network = load(env, "mlp:sizes=16x16x16x16x16x16x16x16x16x8"), *step = test_step_model(env, network, 2);
    as_recompute told = {0};
    expect_ok(env, as_recompute_apply(env, 3, &step, &told));
    int n_blocks = 0, n_again = 0;
    for (int i = 1; i < step->n_nodes; i++) {
        n_again += step->nodes[i].place.pass == AS_PASS_RECOMPUTE;
        n_blocks += step->nodes[i].place.pass == AS_PASS_RECOMPUTE && step->nodes[i - 1].place.pass == AS_PASS_BACKWARD;
    }
    expect_eq(n_again, told.n_nodes);
    expect_eq(n_blocks, 2); /* the last of three segments is not computed again */
    assay_model_free(step);
    assay_model_free(network);
    assay_env_free(env);
}

Test(recompute, more_segments_than_places_to_cut_are_refused)
{
    assay_env   *env = open_env();
    assay_model *network = load(env, "mlp:sizes=4x4x2"), *step = test_step_model(env, network, 2);
    as_recompute told = {0};
    expect_fails(env, as_recompute_apply(env, 100, &step, &told), ASSAY_BAD_INPUT, "can be cut into at most");
    assay_model_free(step);
    assay_model_free(network);
    assay_env_free(env);
}
