/* memory_test.c - the memory of a training step is known before anything is allocated, by kind and to the byte. */
#include "train/recompute.h"
#include "plan/test_fixture.h"
#include "train/train.h"

typedef struct bench {
    assay_env      *env;
    assay_model    *net;
    as_train_graph *graph;
    assay_plan     *plan;
} bench;

static void bench_open(bench *b, const char *spec, const as_train_setup *setup, int64_t batch)
{
    as_plan_options options;
    *b = (bench){0};
    expect_eq(assay_env_new(&b->env), ASSAY_OK);
    expect_ok(b->env, as_model_load(b->env, spec, &(as_model_options){.seed = 1}, &b->net));
    expect_ok(b->env, as_plan_options_read(b->env, NULL, &options));
    options.batch = batch;
    options.batch_is_set = true;
    options.threads = 1;
    expect_ok(b->env, as_train_plan_new(b->env, b->net, setup, &options, &b->graph, &b->plan));
}

static void bench_close(bench *b)
{
    assay_plan_free(b->plan);
    as_train_graph_free(b->graph);
    assay_model_free(b->net);
    assay_env_free(b->env);
}

static void expect_counted(const bench *b, as_train_memory *m)
{
    uint64_t sum = 0;
    expect_ok(b->env, as_train_memory_count(b->env, b->graph, b->plan, m));
    for (int i = 0; i < AS_N_KINDS; i++) {
        sum += m->held[i];
        expect(m->held[i] <= m->apart[i] || i == AS_KIND_GAPS);
    }
    expect_eq(sum, m->total);
    expect_eq(m->total, assay_plan_peak_bytes(b->plan));
    expect_eq(m->held[AS_KIND_WEIGHTS], (uint64_t)b->graph->n_elements * 4);
}

static const char *const nets[] = {"mlp-small",     "mlp-bn",      "mlp-dropout",    "cnn-small", "cnn-bn", "cnn-residual",
                                   "cnn-separable", "cnn-grouped", "cnn-bottleneck", "cnn-widen", "lstm",   "gru",
                                   "cfc",           "ltc"};

/* Runs some updates: what was predicted is what is there, and no update allocates. */
Test(train_memory, the_predicted_peak_is_the_observed_one_and_steps_allocate_nothing)
{
    for (size_t i = 0; i < AS_COUNT(nets); i++) {
        bench           b;
        as_train_memory m;
        assay_instance *instance = NULL;
        bench_open(&b, nets[i], &(as_train_setup){.optimizer = "adam"}, 4);
        expect_counted(&b, &m);
        expect_eq(m.held[AS_KIND_STATES] >= 2 * m.held[AS_KIND_WEIGHTS], 1);
        expect_ok(b.env, as_train_plan_ready(b.env, b.graph, 1, b.plan));
        expect_ok(b.env, assay_instance_new(b.env, b.plan, &instance));
        assay_instance_fill(instance, 1);
        expect_ok(b.env, as_instance_step(AS_RUN(b.env), instance));
        size_t before = as_test_n_allocs();
        expect_ok(b.env, as_instance_step(AS_RUN(b.env), instance));
        expect_ok(b.env, as_instance_step(AS_RUN(b.env), instance));
        expect_eq(as_test_n_allocs(), before);
        expect_eq(as_instance_peak_bytes(instance), m.total);
        assay_instance_free(instance);
        bench_close(&b);
    }
}

Test(train_memory, each_kind_is_what_its_name_says)
{
    bench           b;
    as_train_memory m, other;
    bench_open(&b, "mlp:sizes=64x64x10", &(as_train_setup){.optimizer = "sgd:lr=0.1"}, 8);
    expect_counted(&b, &m);
    expect_eq(m.held[AS_KIND_STATES], 0u); /* plain descent remembers nothing */
    expect_eq(m.apart[AS_KIND_GRADIENTS], m.held[AS_KIND_WEIGHTS]);
    expect(m.held[AS_KIND_DATA] >= 8 * 64 * 4);
    bench_close(&b);
    bench_open(&b, "mlp:sizes=64x64x10", &(as_train_setup){.optimizer = "sgd:lr=0.1", .accumulate = 4}, 8);
    expect_counted(&b, &other);
    expect(other.total > m.total); /* the sum of gradients stays between steps */
    bench_close(&b);
    bench_open(&b, "mlp-bn", &(as_train_setup){.optimizer = "adam", .freeze = {.items = (const char *[]){"*weight"}, .n = 1}}, 8);
    expect_counted(&b, &m);
    expect(m.held[AS_KIND_STATISTICS] > 0);
    expect(m.frozen > 0);
    bench_close(&b);
}

Test(train_memory, recomputing_and_16_bits_take_less)
{
    static const char deep[] = "mlp:sizes=64x64x64x64x64x64x64x64x64x64x64x64x64x64x64x64x10";
    bench             b;
    as_train_memory   plain, again, half;
    bench_open(&b, deep, &(as_train_setup){.optimizer = "adam"}, 1024);
    expect_counted(&b, &plain);
    bench_close(&b);
    bench_open(&b, deep, &(as_train_setup){.optimizer = "adam", .recompute = AS_RECOMPUTE_AUTO}, 1024);
    expect_counted(&b, &again);
    expect(b.graph->recompute.n_segments > 1);
    bench_close(&b);
    bench_open(&b, deep, &(as_train_setup){.optimizer = "adam", .precision = AS_TRAIN_BF16}, 1024);
    expect_counted(&b, &half);
    expect(b.graph->precision.n_rows > 10);
    bench_close(&b);
    expect(again.total < plain.total * 3 / 4);
    expect(half.total < plain.total * 9 / 10);
}

/* The same updates with everything kept, and with parts computed again: the same weights, to the bit. */
Test(train_memory, recomputing_changes_no_bit_of_the_weights)
{
    static const char *const some[] = {"mlp-dropout", "cnn-bn", "cnn-residual"};
    for (size_t i = 0; i < AS_COUNT(some); i++) {
        char  *blocks[2] = {NULL};
        size_t bytes = 0;
        for (int k = 0; k < 2; k++) {
            bench           b;
            assay_instance *instance = NULL;
            bench_open(&b, some[i], &(as_train_setup){.optimizer = "adam", .recompute = k ? 3 : 0}, 4);
            expect_ok(b.env, as_train_plan_ready(b.env, b.graph, 1, b.plan));
            expect_ok(b.env, assay_instance_new(b.env, b.plan, &instance));
            assay_instance_fill(instance, 1);
            for (int g = 0; g < b.plan->graph.n_inputs; g++)
                if (!strcmp(b.plan->graph.values[b.plan->graph.inputs[g]].name, AS_TRAIN_RATES)) {
                    as_view rates = as_instance_input(instance, g);
                    as_view_set(&rates, 0, 1e-2);
                }
            for (int s = 0; s < 3; s++)
                expect_ok(b.env, as_instance_step(AS_RUN(b.env), instance));
            for (int v = 0; v < b.plan->n_variables; v++) {
                as_view view = as_instance_variable(instance, v);
                blocks[k] = realloc(blocks[k], (v ? bytes : 0) + as_view_bytes(&view));
                bytes = v ? bytes : 0;
                expect(blocks[k] != NULL);
                memcpy(blocks[k] + bytes, view.data, as_view_bytes(&view));
                bytes += as_view_bytes(&view);
            }
            assay_instance_free(instance);
            bench_close(&b);
        }
        expect(!memcmp(blocks[0], blocks[1], bytes));
        free(blocks[0]);
        free(blocks[1]);
    }
}
