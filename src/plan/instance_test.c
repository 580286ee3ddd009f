/* instance_test.c - the plan agrees with the reference code, gives the same bits every time, and follows a changed parameter. */
#include "plan/test_fixture.h"

/* The plan's outputs against the reference code of the same graph. */
static void agrees_with_the_truth(const char *spec, const char *batch, const char *compile)
{
    fixture f;
    fixture_open(&f, spec);
    fixture_set(&f, "batch", batch);
    fixture_set(&f, "compile", compile);
    fixture_plan(&f);
    fixture_instance(&f);
    fixture_step(&f);
    as_view  in = as_instance_input(f.instance, 0), got = as_instance_output(f.instance, 0);
    void    *memory = calloc(1, as_view_bytes(&got));
    as_view  want = as_view_of(memory, got.dtype, &got.shape);
    as_arena arena = {0};
    as_graph graph;
    expect_ok(f.env, as_graph_bind(f.env, f.model, f.plan->dims, f.plan->n_dims, NULL, 0, 1, &arena, &graph));
    expect_ok(f.env, as_graph_eval(f.env, &graph, &in, &want));
    expect_near(as_view_error(&got, &want), 0, 1e-5);
    as_arena_drop(&arena);
    free(memory);
    fixture_close(&f);
}

Test(instance, mlp_small_agrees_with_the_truth) { agrees_with_the_truth("mlp-small", "3", "on"); }
Test(instance, mlp_small_agrees_with_the_truth_uncompiled) { agrees_with_the_truth("mlp-small", "1", "off"); }
Test(instance, cnn_small_agrees_with_the_truth) { agrees_with_the_truth("cnn-small", "1", "on"); }

static void same_bits(const char *spec, const char *const *a, const char *const *b)
{
    size_t n_a, n_b;
    void  *x = fixture_result(spec, a, 0, &n_a), *y = fixture_result(spec, b, 0, &n_b);
    bool   same = n_a == n_b && !memcmp(x, y, n_a);
    free(x);
    free(y);
    expect(n_a > 0);
    expect(same);
}

#define OPTIONS(...) \
    (const char *const[]) { __VA_ARGS__, NULL }

Test(instance, compile_on_and_off_give_the_same_bits_for_mlp_small)
{
    same_bits("mlp-small", OPTIONS("batch", "3", "compile", "on"), OPTIONS("batch", "3", "compile", "off"));
}

Test(instance, compile_on_and_off_give_the_same_bits_for_cnn_small)
{
    same_bits("cnn-small", OPTIONS("batch", "2", "compile", "on"), OPTIONS("batch", "2", "compile", "off"));
}

/* The batch is large enough for the work to be really divided. */
Test(instance, any_number_of_threads_gives_the_same_bits)
{
    same_bits("mlp-small", OPTIONS("batch", "17", "threads", "1"), OPTIONS("batch", "17", "threads", "2"));
    same_bits("mlp-small", OPTIONS("batch", "17", "threads", "1"), OPTIONS("batch", "17", "threads", "3"));
    same_bits("cnn-small", OPTIONS("batch", "2", "threads", "1"), OPTIONS("batch", "2", "threads", "3"));
}

Test(instance, a_second_run_gives_the_same_bits)
{
    fixture f;
    fixture_open(&f, "cnn-small");
    fixture_plan(&f);
    fixture_instance(&f);
    fixture_step(&f);
    float   first[10];
    as_view y = as_instance_output(f.instance, 0);
    memcpy(first, y.data, sizeof first);
    memset(y.data, 0xff, sizeof first);
    fixture_step(&f);
    expect(!memcmp(first, y.data, sizeof first));
    expect_eq(f.instance->step, 2);
    fixture_close(&f);
}

Test(instance, inputs_survive_a_run)
{
    fixture f;
    fixture_open(&f, "cnn-small");
    fixture_plan(&f);
    fixture_instance(&f);
    as_view x = as_instance_input(f.instance, 0);
    void   *copy = malloc(as_view_bytes(&x));
    memcpy(copy, x.data, as_view_bytes(&x));
    fixture_step(&f);
    bool same = !memcmp(copy, x.data, as_view_bytes(&x));
    free(copy);
    expect(same);
    fixture_close(&f);
}

Test(instance, two_instances_of_a_plan_do_not_disturb_each_other)
{
    fixture         f;
    assay_instance *other = NULL;
    fixture_open(&f, "mlp-small");
    fixture_plan(&f);
    fixture_instance(&f);
    fixture_step(&f);
    float   first[10];
    as_view y = as_instance_output(f.instance, 0);
    memcpy(first, y.data, sizeof first);
    expect_ok(f.env, assay_instance_new(f.env, f.plan, &other));
    expect_ok(f.env, as_instance_step(AS_RUN(f.env), other));
    as_view z = as_instance_output(other, 0);
    expect(!memcmp(first, y.data, sizeof first));
    expect(memcmp(first, z.data, sizeof first) != 0);
    assay_instance_free(other);
    fixture_close(&f);
}

/* y = x + relu(p), seen through a reshape of the parameter as well: z = x2 * reshape(p). */
static void param_model(fixture *f)
{
    fixture_open(f, NULL);
    as_maker *m = fixture_maker(f);
    int       x = fixture_input(m, "x", 1, 2);
    int       p = as_maker_param(m, "p", AS_F32, &AS_SHAPE(2, 1), (float[]){-1, 2}, true);
    int       flat = as_maker_node(m, "Flatten", "flat", &p, 1, (as_attr[]){AS_ATTR_I("axis", 0)}, 1, NULL, 1, NULL);
    int       once = fixture_node1(m, "Relu", "once", flat);
    as_maker_output(m, fixture_node2(m, "Add", "y", x, once));
    as_maker_output(m, fixture_node2(m, "Mul", "z", x, flat));
    expect_ok(f->env, as_maker_finish(m, &f->model));
    fixture_plan(f);
    fixture_instance(f);
    as_view in = as_instance_input(f->instance, 0);
    as_view_set(&in, 0, 10);
    as_view_set(&in, 1, 10);
}

static void expect_outputs(const fixture *f, double y0, double y1, double z0, double z1)
{
    as_view y = as_instance_output(f->instance, 0), z = as_instance_output(f->instance, 1);
    expect_eq(as_view_get(&y, 0), y0);
    expect_eq(as_view_get(&y, 1), y1);
    expect_eq(as_view_get(&z, 0), z0);
    expect_eq(as_view_get(&z, 1), z1);
}

Test(instance, a_new_parameter_changes_the_result_and_runs_the_prologue_again)
{
    fixture f;
    param_model(&f);
    fixture_step(&f);
    expect_outputs(&f, 10, 12, -10, 20);
    expect(!f.instance->prologue_due);
    float   p[] = {5, -6};
    as_view view = as_view_of(p, AS_F32, &AS_SHAPE(2, 1));
    expect_ok(f.env, as_instance_set_param(f.env, f.instance, "p", &view));
    expect(f.instance->prologue_due);
    fixture_step(&f);
    expect_outputs(&f, 15, 10, 50, -60);
    fixture_close(&f);
}

Test(instance, refuses_a_parameter_that_does_not_fit)
{
    fixture f;
    param_model(&f);
    float   p[4] = {0};
    as_view view = as_view_of(p, AS_F32, &AS_SHAPE(2, 1));
    expect_fails(f.env, as_instance_set_param(f.env, f.instance, "q", &view), ASSAY_NOT_FOUND, "has no parameter 'q'");
    expect_fails(f.env, as_instance_set_param(f.env, f.instance, "x", &view), ASSAY_NOT_FOUND, "has no parameter 'x'");
    as_view wide = as_view_of(p, AS_F32, &AS_SHAPE(1, 2));
    expect_fails(f.env, as_instance_set_param(f.env, f.instance, "p", &wide), ASSAY_BAD_INPUT,
                 "is f32[2,1] and was given f32[1,2]");
    as_view whole = as_view_of(p, AS_I32, &AS_SHAPE(2, 1));
    expect_fails(f.env, as_instance_set_param(f.env, f.instance, "p", &whole), ASSAY_BAD_INPUT, "was given i32[2,1]");
    as_view apart = view;
    apart.stride[0] = 2;
    expect_fails(f.env, as_instance_set_param(f.env, f.instance, "p", &apart), ASSAY_BAD_INPUT, "not row-major and contiguous");
    fixture_step(&f);
    expect_outputs(&f, 10, 12, -10, 20);
    fixture_close(&f);
}

Test(instance, a_dimension_of_zero_runs_and_holds_nothing)
{
    fixture f;
    fixture_open(&f, NULL);
    as_maker *m = fixture_maker(&f);
    as_maker_output(m, fixture_node1(m, "Relu", "r", fixture_input(m, "x", 0, 3)));
    expect_ok(f.env, as_maker_finish(m, &f.model));
    fixture_plan(&f);
    expect_eq(assay_plan_peak_bytes(f.plan), 0);
    fixture_instance(&f);
    fixture_step(&f);
    as_view y = as_instance_output(f.instance, 0);
    expect_eq(as_view_bytes(&y), 0);
    fixture_close(&f);
}

/* The same on a device that the host cannot address: transfers of zero bytes. */
Test(instance, a_dimension_of_zero_runs_on_a_far_device_too)
{
    fixture f;
    fixture_open(&f, NULL);
    as_maker *m = fixture_maker(&f);
    as_maker_output(m, fixture_node1(m, "Relu", "r", fixture_input(m, "x", 0, 3)));
    expect_ok(f.env, as_maker_finish(m, &f.model));
    fixture_set(&f, "device", "null");
    fixture_plan(&f);
    fixture_instance(&f);
    fixture_step(&f);
    fixture_close(&f);
}

/* y = reshape(w) * x + w as an output of its own: an alias of a parameter, a direct reader and an output. */
static void odd_model(fixture *f, const void *w)
{
    fixture_open(f, NULL);
    as_maker *m = fixture_maker(f);
    int       param = as_maker_param(m, "w", AS_F32, &AS_SHAPE(4, 5), w, false);
    int       shape =
        as_maker_constant(m, NULL, &(as_view){.data = (int64_t[]){5, 4}, .dtype = AS_I64, .shape = AS_SHAPE(2), .stride = {1}});
    int turned = fixture_node2(m, "Reshape", "r", param, shape);
    int y = fixture_node2(m, "MatMul", "mm", fixture_input(m, "x", 3, 5), turned);
    as_maker_output(m, fixture_node2(m, "Add", "a", y, fixture_node2(m, "MatMul", "ww", fixture_input(m, "z", 3, 5), turned)));
    as_maker_output(m, param);
    expect_ok(f->env, as_maker_finish(m, &f->model));
    fixture_plan(f);
    fixture_instance(f);
}

Test(instance, weights_that_are_not_aligned_give_the_same_bits)
{
    _Alignas(64) unsigned char memory[96];
    float                      w[20], other[20];
    fixture                    even, odd;
    for (int i = 0; i < 20; i++)
        w[i] = (float)i / 7, other[i] = -w[i];
    memcpy(memory + 3, w, sizeof w);
    odd_model(&even, w);
    odd_model(&odd, memory + 3);
    expect_eq(odd.plan->n_prologue, even.plan->n_prologue + 1);
    for (int round = 0; round < 3; round++) {
        fixture_step(&even);
        fixture_step(&odd);
        for (int i = 0; i < 2; i++) {
            as_view a = as_instance_output(even.instance, i), b = as_instance_output(odd.instance, i);
            expect_eq((uintptr_t)b.data % 4, 0);
            expect(!memcmp(a.data, b.data, as_view_bytes(&a)));
        }
        /* The second round uses other weights, the third the first ones again. */
        as_view view = as_view_of(other, AS_F32, &AS_SHAPE(4, 5));
        expect_ok(even.env, as_instance_set_param(even.env, even.instance, "w", &view));
        expect_ok(odd.env, as_instance_set_param(odd.env, odd.instance, "w", &view));
    }
    as_view first = as_instance_output(odd.instance, 1);
    expect_near(((const float *)first.data)[19], other[19], 0);
    as_view askew = as_view_of(memory + 3, AS_F32, &AS_SHAPE(4, 5));
    expect_fails(even.env, as_instance_set_param(even.env, even.instance, "w", &askew), ASSAY_BAD_INPUT,
                 "parameter 'w' was given values at an address that is not a multiple of 4, the size of f32");
    fixture_close(&even);
    fixture_close(&odd);
}
