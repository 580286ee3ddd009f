/* zoo_nets_test.c - parameters and multiply-adds of the larger built-in networks, counted by hand, and the list of layer
 * patterns. */
#include "tests/runner/test.h"

#include "base/text.h"
#include "model/zoo/cnn_layers.h"
#include "model/test_support.h"

/* Multiply-adds of the nodes that have weights: their flops are two per multiply-add and one per output for the bias. */
static uint64_t macs_count(const as_graph *g)
{
    uint64_t macs = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        const as_node_ctx *n = &g->nodes[i].ctx;
        if (!strcmp(n->op->name, "Conv") || !strcmp(n->op->name, "Gemm"))
            macs += (n->op->cost(n).flops - (n->n_in > 2 ? (uint64_t)as_shape_count(&n->out[0].shape) : 0)) / 2;
    }
    return macs;
}

/* Counts at batch 1, shapes at batch 2. */
static void expect_counts(const char *spec, uint64_t n_params, uint64_t macs, const as_shape *x, const as_shape *y)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    test_run     t;
    expect_ok(env, assay_model_load(env, spec, NULL, &model));
    expect_eq(as_model_param_count(model), n_params);
    expect_eq(as_model_param_bytes(model), 4 * n_params);
    test_bind(env, model, 1, &t);
    expect_eq(macs_count(&t.graph), macs);
    as_arena_drop(&t.arena);
    test_bind(env, model, 2, &t);
    expect_eq(t.graph.n_inputs, 1);
    expect_eq(t.graph.n_outputs, 1);
    expect_str(t.graph.values[t.graph.inputs[0]].name, "x");
    expect_str(t.graph.values[t.graph.outputs[0]].name, "y");
    expect(as_shape_same(&t.inputs[0].shape, x));
    expect(as_shape_same(&t.outputs[0].shape, y));
    as_arena_drop(&t.arena);
    assay_model_free(model);
    assay_env_free(env);
}

/* The reference code of a small one: every output is finite, and the two images give different outputs. */
static void expect_answers(const char *spec)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    test_run     t;
    expect_ok(env, assay_model_load(env, spec, NULL, &model));
    test_bind(env, model, 2, &t);
    expect_ok(env, as_graph_eval(env, &t.graph, t.inputs, t.outputs));
    int64_t half = as_shape_count(&t.outputs[0].shape) / 2;
    double  difference = 0;
    for (int64_t i = 0; i < half; i++)
        difference += fabs(as_view_get(&t.outputs[0], i) - as_view_get(&t.outputs[0], half + i));
    expect(isfinite(difference) && difference > 0);
    as_arena_drop(&t.arena);
    assay_model_free(model);
    assay_env_free(env);
}

static void expect_load_fails(const char *spec, const char *sentence)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    expect_fails(env, assay_model_load(env, spec, NULL, &model), ASSAY_BAD_INPUT, sentence);
    expect(!model);
    assay_env_free(env);
}

#define IMAGES &AS_SHAPE(2, 3, 32, 32)

/* Parameters 784*512+512 + 512*512+512 + 512*256+256 + 256*10+10; multiply-adds the same without the biases. */
Test(zoo_nets, mlp_large_has_its_counts)
{
    expect_counts("mlp-large", 401920 + 262656 + 131328 + 2570, 401408 + 262144 + 131072 + 2560, &AS_SHAPE(2, 784),
                  &AS_SHAPE(2, 10));
}

/* conv1 3*32*9+32 = 896 at 32x32, conv2 32*64*9+64 = 18496 at 16x16, fc1 64*8*8*128+128, fc2 128*10+10. */
Test(zoo_nets, cnn_cifar_has_its_counts)
{
    expect_counts("cnn-cifar", 896 + 18496 + 524416 + 1290, 864 * 1024 + 18432 * 256 + 524288 + 1280, IMAGES, &AS_SHAPE(2, 10));
    /* 100 classes: fc2 is 128*100+100. */
    expect_counts("cnn-cifar:classes=100", 896 + 18496 + 524416 + 12900, 864 * 1024 + 18432 * 256 + 524288 + 12800, IMAGES,
                  &AS_SHAPE(2, 100));
    expect_answers("cnn-cifar:classes=3");
    expect_load_fails("cnn-cifar:classes=0", "model: cnn-cifar: classes=0 must be a whole number from 1 to 1048576");
}

/* Weights of the convolutions: 3*32*9 = 864 and 32*32*9 = 9216 at 32x32, 32*64*9 = 18432 and 64*64*9 = 36864 at 16x16,
 * 64*128*9 = 73728 and 128*128*9 = 147456 at 8x8; biases 2*(32+64+128) = 448; dense 2048*256, 256*128, 128*10. */
Test(zoo_nets, cnn_large_has_its_counts)
{
    const uint64_t convs = 864 + 9216 + 18432 + 36864 + 73728 + 147456, dense = 524288 + 32768 + 1280;
    expect_counts("cnn-large", convs + 448 + dense + 256 + 128 + 10,
                  (864 + 9216) * 1024 + (18432 + 36864) * 256 + (73728 + 147456) * 64 + dense, IMAGES, &AS_SHAPE(2, 10));
    expect_counts("cnn-large", 845738, 39191808, IMAGES, &AS_SHAPE(2, 10)); /* the number that its line of help states */
    expect_answers("cnn-large:width=2,classes=4");
    expect_load_fails("cnn-large:width=0", "model: cnn-large: width=0 must be a whole number from 1 to 4096");
    expect_load_fails("cnn-large:classes=many", "classes=many must be a whole number");
}

/* conv1 3*16*9+16 = 448 at 32x32; block 1 twice 16*16*9+16 = 2320 at 32x32; block 2 at 16x16: skip 16*32+32 = 544,
 * 16*32*9+32 = 4640, 32*32*9+32 = 9248; block 3 at 8x8: skip 32*64+64 = 2112, 32*64*9+64 = 18496, 64*64*9+64 = 36928;
 * fc 64*4*4*10+10 = 10250. */
Test(zoo_nets, cnn_residual_has_its_counts)
{
    expect_counts("cnn-residual", 448 + 2 * 2320 + 544 + 4640 + 9248 + 2112 + 18496 + 36928 + 10250,
                  (432 + 2 * 2304) * 1024 + (512 + 4608 + 9216) * 256 + (2048 + 18432 + 36864) * 64 + 10240, IMAGES,
                  &AS_SHAPE(2, 10));
    /* A second block in each stage: two convolutions of w*w*9+w each for w = 16, 32, 64. */
    expect_counts("cnn-residual:blocks=2", 87306 + 2 * (2320 + 9248 + 36928),
                  12511232 + 2 * (2304 * 1024 + 9216 * 256 + 36864 * 64), IMAGES, &AS_SHAPE(2, 10));
    expect_answers("cnn-residual:width=2,blocks=2,classes=4");
    expect_load_fails("cnn-residual:blocks=65", "model: cnn-residual: blocks=65 must be a whole number from 1 to 64");
    expect_load_fails("cnn-residual:width=0", "width=0 must be a whole number from 1 to 4096");
}

/* Without the block's own values a skip must pass its input through unchanged: relu(x + 0) of an x that comes from a ReLU. */
Test(zoo_nets, cnn_residual_has_a_skip_around_each_block)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    int          n_adds = 0;
    expect_ok(env, assay_model_load(env, "cnn-residual:blocks=2", NULL, &model));
    for (int i = 0; i < model->n_nodes; i++) {
        const as_node *add = &model->nodes[i];
        if (strcmp(add->op->name, "Add"))
            continue;
        const as_node *last = &model->nodes[model->values[add->in[0]].producer];
        const as_node *skip = &model->nodes[model->values[add->in[1]].producer];
        const as_node *relu = &model->nodes[model->values[last->in[0]].producer];
        const as_node *first = &model->nodes[model->values[relu->in[0]].producer];
        expect_str(last->op->name, "Conv");
        expect_str(first->op->name, "Conv");
        if (!strcmp(skip->op->name, "Conv"))
            expect_eq(skip->in[0], first->in[0]);
        else
            expect_eq(add->in[1], first->in[0]);
        n_adds++;
    }
    expect_eq(n_adds, 6);
    assay_model_free(model);
    assay_env_free(env);
}

/* conv1 896 at 32x32, conv2 32*64*9+64 = 18496 at 16x16, conv3 64*96*9+96 = 55392 at 8x8, fc1 96*4*4*128+128, fc2 1290. */
Test(zoo_nets, cnn_widen_has_its_counts)
{
    expect_counts("cnn-widen", 896 + 18496 + 55392 + 196736 + 1290, 864 * 1024 + 18432 * 256 + 55296 * 64 + 196608 + 1280, IMAGES,
                  &AS_SHAPE(2, 10));
    /* One stage only: 3*4*9+4 = 112, fc1 4*16*16*128+128 = 131200. */
    expect_counts("cnn-widen:widths=4", 112 + 131200 + 1290, 108 * 1024 + 131072 + 1280, IMAGES, &AS_SHAPE(2, 10));
    expect_answers("cnn-widen:widths=2x3x4x5x6,classes=3");
    expect_load_fails("cnn-widen:widths=1x2x3x4x5x6", "model: cnn-widen: widths has more than 5 numbers");
    expect_load_fails("cnn-widen:widths=4x0", "must be whole numbers from 1 to 4096 with x between them");
    expect_load_fails("cnn-widen:classes=0", "classes=0 must be a whole number");
}

/* conv1 896; depthwise2 32*9+32 = 320 and pointwise2 32*64+64 = 2112 at 16x16; depthwise3 64*9+64 = 640 and pointwise3
 * 64*128+128 = 8320 at 8x8; fc1 128*4*4*128+128 = 262272; fc2 1290. */
Test(zoo_nets, cnn_separable_has_its_counts)
{
    expect_counts("cnn-separable", 896 + 320 + 2112 + 640 + 8320 + 262272 + 1290,
                  864 * 1024 + (288 + 2048) * 256 + (576 + 8192) * 64 + 262144 + 1280, IMAGES, &AS_SHAPE(2, 10));
    expect_answers("cnn-separable:widths=3x4x5,classes=3");
}

/* conv2 32/4*64*9+64 = 4672 at 16x16, conv3 64/4*128*9+128 = 18560 at 8x8; the rest as cnn-separable. */
Test(zoo_nets, cnn_grouped_has_its_counts)
{
    expect_counts("cnn-grouped", 896 + 4672 + 18560 + 262272 + 1290, 864 * 1024 + 4608 * 256 + 18432 * 64 + 262144 + 1280, IMAGES,
                  &AS_SHAPE(2, 10));
    expect_answers("cnn-grouped:widths=4x6,groups=2,classes=3");
    expect_load_fails("cnn-grouped:groups=3",
                      "model: cnn-grouped: stage 2 has 32 channels in and 64 out, and groups=3 does not divide both");
    expect_load_fails("cnn-grouped:groups=0", "groups=0 must be a whole number from 1 to 4096");
}

/* Stage 2 at 16x16: 32*16+16 = 528, 16*16*9+16 = 2320, 16*64+64 = 1088; stage 3 at 8x8: 64*32+32 = 2080,
 * 32*32*9+32 = 9248, 32*128+128 = 4224; the rest as cnn-separable. */
Test(zoo_nets, cnn_bottleneck_has_its_counts)
{
    expect_counts("cnn-bottleneck", 896 + 528 + 2320 + 1088 + 2080 + 9248 + 4224 + 262272 + 1290,
                  864 * 1024 + (512 + 2304 + 1024) * 256 + (2048 + 9216 + 4096) * 64 + 262144 + 1280, IMAGES, &AS_SHAPE(2, 10));
    expect_answers("cnn-bottleneck:widths=4x6,reduce=2,classes=3");
    expect_load_fails("cnn-bottleneck:reduce=5",
                      "model: cnn-bottleneck: stage 2 has 64 channels, and reduce=5 does not divide them");
    expect_load_fails("cnn-bottleneck:reduce=0", "reduce=0 must be a whole number from 1 to 4096");
}

/* Convolutions without bias 3*32*9 = 864, 32*64*9 = 18432, 64*128*9 = 73728, four normalisation values per channel; dense
 * as cnn-separable. */
Test(zoo_nets, cnn_bn_has_its_counts)
{
    expect_counts("cnn-bn", 864 + 4 * 32 + 18432 + 4 * 64 + 73728 + 4 * 128 + 262272 + 1290,
                  864 * 1024 + 18432 * 256 + 73728 * 64 + 262144 + 1280, IMAGES, &AS_SHAPE(2, 10));
    expect_answers("cnn-bn:widths=3x4,classes=3");
}

/* As mlp with four normalisation values for each of the 512 and 256 hidden units. */
Test(zoo_nets, mlp_bn_has_its_counts)
{
    expect_counts("mlp-bn", 401920 + 4 * 512 + 131328 + 4 * 256 + 2570, 401408 + 131072 + 2560, &AS_SHAPE(2, 784),
                  &AS_SHAPE(2, 10));
    expect_counts("mlp-bn:sizes=4x3x2", 15 + 4 * 3 + 8, 12 + 6, &AS_SHAPE(2, 4), &AS_SHAPE(2, 2));
    expect_answers("mlp-bn:sizes=9x7x5x3");
    expect_load_fails("mlp-bn:sizes=5", "model: mlp-bn: sizes=5: an input width and at least one layer are needed");
    expect_load_fails("mlp-bn:sizes=5x0", "must be whole numbers from 1 to 16777216");
}

/* A new normalisation leaves its input as it is except for epsilon: 1/sqrt(1 + 1e-5). */
Test(zoo_nets, a_fresh_normalisation_changes_next_to_nothing)
{
    assay_env   *env = test_env();
    assay_model *with = NULL, *without = NULL;
    test_run     a, b;
    expect_ok(env, assay_model_load(env, "mlp-bn:sizes=9x7x3", NULL, &with));
    expect_ok(env, assay_model_load(env, "mlp:sizes=9x7x3", NULL, &without));
    test_bind(env, with, 2, &a);
    test_bind(env, without, 2, &b);
    expect_ok(env, as_graph_eval(env, &a.graph, a.inputs, a.outputs));
    expect_ok(env, as_graph_eval(env, &b.graph, b.inputs, b.outputs));
    for (int64_t i = 0; i < 6; i++)
        expect_near(as_view_get(&a.outputs[0], i), as_view_get(&b.outputs[0], i), 1e-4);
    as_arena_drop(&a.arena);
    as_arena_drop(&b.arena);
    assay_model_free(with);
    assay_model_free(without);
    assay_env_free(env);
}

/* As mlp: dropout has no parameters. */
Test(zoo_nets, mlp_dropout_has_its_counts)
{
    expect_counts("mlp-dropout", 401920 + 131328 + 2570, 401408 + 131072 + 2560, &AS_SHAPE(2, 784), &AS_SHAPE(2, 10));
    expect_answers("mlp-dropout:sizes=9x7x5x3");
    expect_load_fails("mlp-dropout:sizes=5", "model: mlp-dropout: sizes=5: an input width and at least one layer are needed");
    expect_load_fails("mlp-dropout:sizes=5xx", "must be whole numbers from 1 to 16777216");
}

Test(zoo_nets, mlp_dropout_answers_as_mlp_when_it_is_not_trained)
{
    assay_env   *env = test_env();
    assay_model *with = NULL, *without = NULL;
    test_run     a, b;
    expect_ok(env, assay_model_load(env, "mlp-dropout:sizes=9x7x3", NULL, &with));
    expect_ok(env, assay_model_load(env, "mlp:sizes=9x7x3", NULL, &without));
    expect_eq(with->n_nodes, without->n_nodes + 1);
    test_bind(env, with, 2, &a);
    test_bind(env, without, 2, &b);
    expect_ok(env, as_graph_eval(env, &a.graph, a.inputs, a.outputs));
    expect_ok(env, as_graph_eval(env, &b.graph, b.inputs, b.outputs));
    for (int64_t i = 0; i < 6; i++)
        expect(as_view_get(&a.outputs[0], i) == as_view_get(&b.outputs[0], i));
    as_arena_drop(&a.arena);
    as_arena_drop(&b.arena);
    assay_model_free(with);
    assay_model_free(without);
    assay_env_free(env);
}

/* --- Recurrent ---------------------------------------------------------------------------------- */

/* Twice the multiply-adds of the cells, plus at most a twentieth for the few flops of their gates. */
static void expect_cells(const char *spec, const char *op, int n_cells, uint64_t macs)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    test_run     t;
    uint64_t     flops = 0;
    int          n = 0;
    expect_ok(env, assay_model_load(env, spec, NULL, &model));
    test_bind(env, model, 1, &t);
    for (int i = 0; i < t.graph.n_nodes; i++)
        if (!strcmp(t.graph.nodes[i].ctx.op->name, op)) {
            flops += t.graph.nodes[i].ctx.op->cost(&t.graph.nodes[i].ctx).flops;
            n++;
        }
    expect_eq(n, n_cells);
    expect(flops >= 2 * macs && flops <= 2 * macs / 20 * 21);
    as_arena_drop(&t.arena);
    assay_model_free(model);
    assay_env_free(env);
}

/* Four gates of 64 units: W 4*64*16 = 4096, R 4*64*64 = 16384, B 8*64 = 512; fc 64*10+10 = 650.  A second layer has 64 inputs:
 * 2*16384 + 512. */
Test(zoo_nets, lstm_has_its_counts)
{
    expect_counts("lstm", 4096 + 16384 + 512 + 650, 640, &AS_SHAPE(2, 32, 16), &AS_SHAPE(2, 10));
    expect_cells("lstm", "LSTM", 1, 32 * (4096 + 16384));
    expect_counts("lstm:layers=2,steps=7", 4096 + 3 * 16384 + 2 * 512 + 650, 640, &AS_SHAPE(2, 7, 16), &AS_SHAPE(2, 10));
    expect_cells("lstm:layers=2,steps=7", "LSTM", 2, 7 * (4096 + 3 * 16384));
    expect_answers("lstm:inputs=3,steps=4,units=5,layers=3,outputs=2");
    expect_load_fails("lstm:units=0", "model: lstm: units=0 must be a whole number from 1 to 65536");
    expect_load_fails("lstm:layers=65", "layers=65 must be a whole number from 1 to 64");
}

/* Three gates: W 3*64*16 = 3072, R 3*64*64 = 12288, B 6*64 = 384; fc 650. */
Test(zoo_nets, gru_has_its_counts)
{
    expect_counts("gru", 3072 + 12288 + 384 + 650, 640, &AS_SHAPE(2, 32, 16), &AS_SHAPE(2, 10));
    expect_cells("gru", "GRU", 1, 32 * (3072 + 12288));
    expect_answers("gru:inputs=3,steps=4,units=5,layers=2,outputs=2");
    expect_load_fails("gru:steps=-1", "model: gru: steps=-1 must be a whole number from 1 to 65536");
}

/* The output depends on the first step as well as on the last. */
Test(zoo_nets, recurrent_networks_remember_the_first_step)
{
    static const char *const specs[] = {"lstm:inputs=2,steps=4,units=5,layers=2,outputs=1",
                                        "gru:inputs=2,steps=4,units=5,layers=2,outputs=1"};
    assay_env               *env = test_env();
    for (int k = 0; k < 2; k++) {
        assay_model *model = NULL;
        test_run     t;
        expect_ok(env, assay_model_load(env, specs[k], NULL, &model));
        test_bind(env, model, 2, &t);
        expect_ok(env, as_graph_eval(env, &t.graph, t.inputs, t.outputs));
        double before[2] = {as_view_get(&t.outputs[0], 0), as_view_get(&t.outputs[0], 1)};
        as_view_set(&t.inputs[0], 0, as_view_get(&t.inputs[0], 0) + 1.0); /* sequence 0, step 0 */
        expect_ok(env, as_graph_eval(env, &t.graph, t.inputs, t.outputs));
        expect(as_view_get(&t.outputs[0], 0) != before[0]);
        expect(as_view_get(&t.outputs[0], 1) == before[1]); /* the other sequence does not see it */
        as_arena_drop(&t.arena);
        assay_model_free(model);
    }
    assay_env_free(env);
}

/* With one group the grouped network is the plain one, so what a variant saves comes from its block. */
Test(zoo_nets, variants_share_the_frame_of_the_plain_network)
{
    expect_counts("cnn-grouped:groups=1,widths=32x64x96", 272810, 9340160, IMAGES, &AS_SHAPE(2, 10));
    expect_counts("cnn-widen", 272810, 9340160, IMAGES, &AS_SHAPE(2, 10));
}

/* --- suites/patterns.txt ------------------------------------------------------------------------- */

static FILE *patterns_open(void)
{
    char        path[512];
    const char *at = strstr(__FILE__, "src/model/");
    snprintf(path, sizeof path, "%.*ssuites/patterns.txt", at ? (int)(at - __FILE__) : 0, __FILE__);
    FILE *file = fopen(path, "r");
    if (!file)
        skip("no %s: the tests run away from their source", path);
    return file;
}

Test(zoo_nets, every_pattern_of_the_suite_loads_and_binds)
{
    assay_env *env = test_env();
    FILE      *file = patterns_open();
    char       line[512], name[64], spec[128], comment[256], seen[64][64];
    int        n = 0;
    while (fgets(line, sizeof line, file)) {
        assay_model *model = NULL;
        test_run     t;
        if (line[0] == '#' || line[0] == '\n')
            continue;
        if (sscanf(line, "%127s # %63[^:]: %255[^\n]", spec, name, comment) != 3)
            fail("patterns.txt: not `spec # name: comment`: %s", line);
        for (int i = 0; i < n; i++)
            if (!strcmp(seen[i], name))
                fail("patterns.txt names %s twice", name);
        expect(n < 64);
        strcpy(seen[n++], name);
        expect_ok(env, assay_model_load(env, spec, NULL, &model));
        test_bind(env, model, 2, &t);
        expect(t.graph.n_nodes > 0 && t.graph.n_outputs == 1);
        as_arena_drop(&t.arena);
        assay_model_free(model);
    }
    fclose(file);
    expect(n >= 12);
    assay_env_free(env);
}
