/* workload_test.c - the workloads of `bench`: what they compute, in which shapes and types, and what they refuse. */
#include "tests/runner/test.h"

#include "model/test_support.h"

/* Loads, binds and evaluates a workload. */
typedef struct work {
    assay_env   *env;
    assay_model *model;
    test_run     t;
} work;

static work work_open(const char *spec)
{
    work w = {.env = test_env()};
    expect_ok(w.env, assay_model_load(w.env, spec, NULL, &w.model));
    test_bind(w.env, w.model, 0, &w.t);
    expect_ok(w.env, as_graph_eval(w.env, &w.t.graph, w.t.inputs, w.t.outputs));
    return w;
}

static void work_close(work *w)
{
    as_arena_drop(&w->t.arena);
    assay_model_free(w->model);
    assay_env_free(w->env);
}

static double in_at(const work *w, int input, int64_t i, int64_t k) { return as_view_at(&w->t.inputs[input], (int64_t[]){i, k}); }
static double out_at(const work *w, int64_t i, int64_t k) { return as_view_at(&w->t.outputs[0], (int64_t[]){i, k}); }

static void expect_refused(const char *spec, const char *sentence)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    expect_fails(env, assay_model_load(env, spec, NULL, &model), ASSAY_BAD_INPUT, sentence);
    expect(!model);
    assay_env_free(env);
}

/* --- matmul ------------------------------------------------------------------------------------------ */

/* C[1][2] of a 2x3 times 3x4, where B[k][2] lies as the layout says. */
static void expect_product(const char *spec, const as_shape *b, int64_t row_step, int64_t column, bool turned, double tolerance)
{
    work   w = work_open(spec);
    double sum = 0;
    expect(as_shape_same(&w.t.inputs[0].shape, &AS_SHAPE(2, 3)));
    expect(as_shape_same(&w.t.inputs[1].shape, b));
    expect(as_shape_same(&w.t.outputs[0].shape, &AS_SHAPE(2, 4)));
    for (int64_t k = 0; k < 3; k++)
        sum += in_at(&w, 0, 1, k) * (turned ? in_at(&w, 1, column, k) : in_at(&w, 1, k * row_step, column));
    expect_near(out_at(&w, 1, 2), sum, tolerance);
    work_close(&w);
}

Test(workload, matmul_takes_its_second_operand_in_every_layout)
{
    expect_product("matmul:size=2x3x4", &AS_SHAPE(3, 4), 1, 2, false, 1e-6);
    expect_product("matmul:size=2x3x4,layout=strided", &AS_SHAPE(3, 8), 1, 4, false, 1e-6);
    expect_product("matmul:size=2x3x4,layout=transposed", &AS_SHAPE(4, 3), 1, 2, true, 1e-6);
    expect_product("matmul:size=2x3x4,layout=strided,dtype=bf16", &AS_SHAPE(3, 8), 1, 4, false, 0x1p-8);
    expect_product("matmul:size=2x3x4,layout=transposed,dtype=f16", &AS_SHAPE(4, 3), 1, 2, true, 0x1p-11);
}

Test(workload, matmul_of_two_numbers_multiplies_by_a_square)
{
    work w = work_open("matmul:size=5x3,dtype=f64");
    expect(as_shape_same(&w.t.inputs[0].shape, &AS_SHAPE(5, 3)));
    expect(as_shape_same(&w.t.inputs[1].shape, &AS_SHAPE(3, 3)));
    expect(as_shape_same(&w.t.outputs[0].shape, &AS_SHAPE(5, 3)));
    expect_eq(w.t.outputs[0].dtype, AS_F64);
    work_close(&w);
}

Test(workload, operands_and_answers_are_stored_in_the_type_that_was_asked_for)
{
    static const char *const specs[] = {"matmul:size=2x2,dtype=f16", "elementwise:op=mul,size=2x2,dtype=f16",
                                        "softmax:size=2x2,dtype=f16", "layout:size=2x2,dtype=f16"};
    for (size_t i = 0; i < AS_COUNT(specs); i++) {
        work w = work_open(specs[i]);
        for (int k = 0; k < w.t.graph.n_inputs; k++)
            expect_eq(w.t.inputs[k].dtype, AS_F16);
        expect_eq(w.t.graph.n_outputs, 1);
        expect_eq(w.t.outputs[0].dtype, AS_F16);
        work_close(&w);
    }
}

/* --- quantize ------------------------------------------------------------------------------------------ */

static void fill(const work *w, const double *x)
{
    for (int64_t i = 0; i < as_shape_count(&w->t.inputs[0].shape); i++)
        as_view_set(&w->t.inputs[0], i, x[i]);
    expect_ok(w->env, as_graph_eval(w->env, &w->t.graph, w->t.inputs, w->t.outputs));
}

/* By hand: a row's largest magnitude becomes 127; ties go to the even neighbour; a row of zeros has the smallest scale. */
Test(workload, absmax_scales_every_row_by_its_largest_magnitude)
{
    work w = work_open("quantize:kind=absmax-int8,size=3x3");
    fill(&w, (const double[]){2, -1, 0.5, -127, 0.5, 1.5, 0, 0, 0});
    static const int want[] = {127, -64, 32, -127, 0, 2, 0, 0, 0}; /* 127 * -1 / 2 = -63.5 goes to -64, 31.75 to 32 */
    expect_eq(w.t.outputs[0].dtype, AS_I8);
    for (int i = 0; i < 9; i++)
        expect_eq(as_view_get_i64(&w.t.outputs[0], i), want[i]);
    expect(as_shape_same(&w.t.outputs[1].shape, &AS_SHAPE(3, 1)));
    expect_near(as_view_get(&w.t.outputs[1], 0), 2, 0);
    expect_near(as_view_get(&w.t.outputs[1], 1), 127, 0);
    expect_near(as_view_get(&w.t.outputs[1], 2), 1e-5, 1e-12);
    work_close(&w);
}

/* By hand: the mean magnitude of these is 1, so 0.5 goes to 0 (even), 0.75 to 1, and larger values are clipped. */
Test(workload, absmean_rounds_to_three_values_by_the_mean_magnitude_of_the_tensor)
{
    work w = work_open("quantize:kind=absmean-ternary,size=2x3");
    fill(&w, (const double[]){0.5, -0.75, 2.5, -2, 0.25, 0});
    static const int want[] = {0, -1, 1, -1, 0, 0};
    for (int i = 0; i < 6; i++)
        expect_eq(as_view_get_i64(&w.t.outputs[0], i), want[i]);
    expect_near(as_view_get(&w.t.outputs[1], 0), 1, 0);
    expect_eq(as_shape_count(&w.t.outputs[1].shape), 1);
    work_close(&w);
}

Test(workload, halves_are_the_nearest_ones)
{
    work w = work_open("quantize:kind=bf16,size=1x2");
    expect_eq(w.t.outputs[0].dtype, AS_BF16);
    fill(&w, (const double[]){1.0 + 0x1p-9, -3.25});
    expect_near(as_view_get(&w.t.outputs[0], 0), 1, 0);
    expect_near(as_view_get(&w.t.outputs[0], 1), -3.25, 0);
    work_close(&w);
}

/* --- The others ------------------------------------------------------------------------------------------ */

Test(workload, elementwise_takes_its_last_operand_in_every_layout)
{
    work w = work_open("elementwise:op=sub,size=2x3,layout=transposed");
    expect_near(out_at(&w, 1, 2), in_at(&w, 0, 1, 2) - in_at(&w, 1, 2, 1), 1e-7);
    work_close(&w);
    w = work_open("elementwise:op=relu,size=2x3,layout=strided");
    expect_eq(w.t.graph.n_inputs, 1);
    expect_near(out_at(&w, 1, 2), fmax(in_at(&w, 0, 1, 4), 0), 0);
    work_close(&w);
    w = work_open("elementwise:op=exp,size=7");
    expect_near(as_view_get(&w.t.outputs[0], 3), exp(as_view_get(&w.t.inputs[0], 3)), 1e-6);
    work_close(&w);
}

Test(workload, layout_moves_every_element_to_its_place)
{
    work w = work_open("layout:size=2x3");
    expect_near(out_at(&w, 2, 1), in_at(&w, 0, 1, 2), 0);
    work_close(&w);
    w = work_open("layout:kind=copy,size=2x3,dtype=f16");
    expect_near(out_at(&w, 1, 2), in_at(&w, 0, 1, 2), 0);
    work_close(&w);
    w = work_open("layout:kind=nchw-nhwc,size=2x3x4x5");
    expect(as_shape_same(&w.t.outputs[0].shape, &AS_SHAPE(2, 4, 5, 3)));
    expect_near(as_view_at(&w.t.outputs[0], (int64_t[]){1, 3, 4, 2}), as_view_at(&w.t.inputs[0], (int64_t[]){1, 2, 3, 4}), 0);
    work_close(&w);
    w = work_open("layout:kind=nchw-nhwc,size=4x5");
    expect(as_shape_same(&w.t.outputs[0].shape, &AS_SHAPE(1, 4, 5, 3)));
    work_close(&w);
}

Test(workload, conv_has_its_shapes)
{
    work w = work_open("conv:size=2x4x6x5,filters=8,kernel=3,stride=2,groups=2");
    expect(as_shape_same(&w.t.outputs[0].shape, &AS_SHAPE(2, 8, 3, 3)));
    expect_eq(as_model_param_count(w.model), 8 * 2 * 9 + 8);
    work_close(&w);
}

Test(workload, softmax_rows_sum_to_one)
{
    work   w = work_open("softmax:size=3x7,layout=transposed");
    double sum = 0;
    for (int k = 0; k < 7; k++)
        sum += out_at(&w, 2, k);
    expect_near(sum, 1, 1e-6);
    work_close(&w);
}

Test(workload, a_cell_of_every_kind_has_its_batch_and_steps_fixed)
{
    static const char *const kinds[] = {"cfc", "ltc", "lstm", "gru"};
    for (size_t i = 0; i < AS_COUNT(kinds); i++) {
        char spec[80];
        snprintf(spec, sizeof spec, "cell:kind=%s,units=5,inputs=3,batch=2,seq=4", kinds[i]);
        work w = work_open(spec);
        expect(as_shape_same(&w.t.inputs[0].shape, &AS_SHAPE(2, 4, 3)));
        expect_str(w.model->own_name, "cell");
        expect_eq(w.t.outputs[0].shape.dim[0], 2);
        work_close(&w);
    }
}

/* The same numbers as in the gradient that a user would ask for. */
Test(workload, train_gives_the_gradient_of_every_parameter)
{
    work         w = work_open("train:kind=mlp,batch=2");
    assay_model *net = NULL;
    expect_eq(w.t.graph.n_outputs, 4);
    expect_str(w.t.graph.values[w.t.graph.outputs[0]].name, "d:fc1.weight");
    expect(as_shape_same(&w.t.outputs[0].shape, &AS_SHAPE(128, 784)));
    expect_eq(as_model_param_count(w.model), 101770);
    expect_ok(w.env, assay_model_load(w.env, "mlp-small", NULL, &net));
    const as_value *mine = &w.model->values[as_model_value_find(w.model, "fc1.weight")],
                   *its = &net->values[as_model_value_find(net, "fc1.weight")];
    expect(!memcmp(mine->data, its->data, 4 * 128 * 784));
    assay_model_free(net);
    work_close(&w);
    static const char *const others[] = {"train:kind=cfc,batch=2,seq=3", "train:kind=cnn,batch=1"};
    for (size_t i = 0; i < AS_COUNT(others); i++) {
        assay_env   *env = test_env();
        assay_model *model = NULL;
        expect_ok(env, assay_model_load(env, others[i], NULL, &model));
        expect(model->n_outputs > 4);
        assay_model_free(model);
        assay_env_free(env);
    }
}

Test(workload, refuses_words_and_sizes_in_a_sentence)
{
    expect_refused("matmul:dtype=i32", "model: matmul: dtype=i32 is not one of f32, f16, bf16, f64");
    expect_refused("matmul:layout=stridet", "is not one of contiguous, strided, transposed (did you mean 'strided'?)");
    expect_refused("matmul:size=3", "size=3 is not of the form MxN or MxKxN");
    expect_refused("matmul:size=0x3", "size=0x3 must be whole numbers");
    expect_refused("matmul:size=67108864x67108864x67108864", "size=67108864x67108864x67108864 is too large");
    expect_refused("elementwise:op=ad", "op=ad is not one of add, sub,");
    expect_refused("elementwise:size=9,layout=transposed", "size=9 has one axis and cannot be transposed");
    expect_refused("layout:kind=nchw-nhwc,size=2x3x4", "nchw-nhwc takes NxCxHxW or HxW");
    expect_refused("conv:kernel=2", "kernel=2 is even");
    expect_refused("conv:groups=3", "groups=3 must divide the 32 channels and the 64 filters");
    expect_refused("cell:kind=rnn", "kind=rnn is not one of cfc, ltc, lstm, gru");
    expect_refused("train:batch=0", "batch=0 must be a whole number from 1");
}
