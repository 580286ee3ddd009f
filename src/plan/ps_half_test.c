/* ps_half_test.c - f16 and bf16 in fast kernels: the same answer as the reference code, to the last bit or the one before. */
#include <math.h>

#include "plan/edit.h"
#include "plan/test_fixture.h"

static int dims_input(as_maker *m, const char *name, as_dtype dtype, const as_shape *shape)
{
    as_dims dims;
    as_dims_of_shape(shape, &dims);
    return as_maker_input(m, name, dtype, &dims);
}

/* Conv, Relu, Add, GlobalAveragePool, Flatten, Gemm, Clip, Softmax: x in the type, weights too. */
static void network_open(fixture *f, as_dtype dtype, bool compiled)
{
    static uint16_t w[8 * 6 * 9], v[5 * 8];
    fixture_open(f, NULL);
    as_maker *m = fixture_maker(f);
    for (size_t i = 0; i < AS_COUNT(w); i++)
        w[i] = dtype == AS_F16 ? as_f16_from_f32(0.03f * (float)((int)(i * 7 % 23) - 11))
                               : as_bf16_from_f32(0.03f * (float)((int)(i * 7 % 23) - 11));
    for (size_t i = 0; i < AS_COUNT(v); i++)
        v[i] = dtype == AS_F16 ? as_f16_from_f32(0.1f * (float)((int)(i * 5 % 13) - 6))
                               : as_bf16_from_f32(0.1f * (float)((int)(i * 5 % 13) - 6));
    uint16_t bounds[2] = {dtype == AS_F16 ? as_f16_from_f32(-0.5f) : as_bf16_from_f32(-0.5f),
                          dtype == AS_F16 ? as_f16_from_f32(0.75f) : as_bf16_from_f32(0.75f)};
    as_view low = as_view_of(&bounds[0], dtype, &(as_shape){0}), high = as_view_of(&bounds[1], dtype, &(as_shape){0});
    as_attr pads = AS_ATTR_LIST("pads", 1, 1, 1, 1), trans = AS_ATTR_I("transB", 1);
    int     x = dims_input(m, "x", dtype, &AS_SHAPE(2, 6, 5, 5));
    int     weight = as_maker_param(m, "w", dtype, &AS_SHAPE(8, 6, 3, 3), w, false);
    int     conv = as_maker_node(m, "Conv", "conv", (int[]){x, weight}, 2, &pads, 1, NULL, 1, NULL);
    int     relu = fixture_node1(m, "Relu", "relu", conv);
    int     sum = fixture_node2(m, "Add", "sum", relu, conv);
    int     flat = fixture_node1(m, "Flatten", "flat", fixture_node1(m, "GlobalAveragePool", "pool", sum));
    int     head = as_maker_param(m, "v", dtype, &AS_SHAPE(5, 8), v, false);
    int     gemm = as_maker_node(m, "Gemm", "head", (int[]){flat, head}, 2, &trans, 1, NULL, 1, NULL);
    int     clip =
        as_maker_node(m, "Clip", "clip", (int[]){gemm, as_maker_constant(m, "low", &low), as_maker_constant(m, "high", &high)}, 3,
                      NULL, 0, NULL, 1, NULL);
    as_maker_output(m, fixture_node1(m, "Softmax", "answer", clip));
    as_maker_output(m, sum);
    expect_ok(f->env, as_maker_finish(m, &f->model));
    fixture_set(f, "compile", compiled ? "on" : "off");
    fixture_plan(f);
}

Test(half_pass, nothing_is_left_to_the_reference_code_and_the_answer_stays)
{
    for (int b = 0; b < 2; b++) {
        as_dtype dtype = b ? AS_BF16 : AS_F16;
        double   step = b ? 0x1p-8 : 0x1p-11; /* half of the last bit of 1 */
        fixture  on, off;
        network_open(&on, dtype, true);
        network_open(&off, dtype, false);
        for (int s = 0; s < on.plan->n_steps; s++)
            if (on.plan->steps[s].choice.slow)
                fail("%s '%s' is left to the reference code", as_step_op(on.plan, &on.plan->steps[s]), on.plan->steps[s].name);
        expect(fixture_step_find(on.plan, "conv+relu") < 0); /* Add reads the convolution too */
        fixture_instance(&on);
        fixture_instance(&off);
        fixture_step(&on);
        fixture_step(&off);
        for (int o = 0; o < 2; o++) {
            as_view got = as_instance_output(on.instance, o), want = as_instance_output(off.instance, o);
            expect_eq(got.dtype, dtype);
            for (int64_t i = 0; i < as_shape_count(&got.shape); i++) /* several roundings, each of which may fall the other way */
                expect_near(as_view_get(&got, i), as_view_get(&want, i), 6.0 * step * fmax(1.0, fabs(as_view_get(&want, i))));
        }
        fixture_close(&on);
        fixture_close(&off);
    }
}

/* One node: its result in f32, rounded once, has the bits of the reference code but where the sum falls between two of them. */
Test(half_pass, one_product_is_rounded_once)
{
    enum { N = 32 };
    double  differ = 0.0;
    as_view y[2];
    fixture f[2];
    for (int on = 0; on < 2; on++) {
        fixture_open(&f[on], NULL);
        as_maker *m = fixture_maker(&f[on]);
        int       a = dims_input(m, "a", AS_F16, &AS_SHAPE(N, N)), b = dims_input(m, "b", AS_F16, &AS_SHAPE(N, N));
        as_maker_output(m, fixture_node2(m, "MatMul", "p", a, b));
        expect_ok(f[on].env, as_maker_finish(m, &f[on].model));
        fixture_set(&f[on], "compile", on ? "on" : "off");
        fixture_plan(&f[on]);
        fixture_instance(&f[on]);
        fixture_step(&f[on]);
        y[on] = as_instance_output(f[on].instance, 0);
    }
    for (int i = 0; i < N * N; i++) {
        differ += as_view_get(&y[0], i) != as_view_get(&y[1], i);
        expect_near(as_view_get(&y[1], i), as_view_get(&y[0], i), 0x1p-10 * fmax(0x1p-4, fabs(as_view_get(&y[0], i))));
    }
    expect(differ < N * N / 50);
    fixture_close(&f[0]);
    fixture_close(&f[1]);
}

Test(half_pass, a_relu_behind_a_convolution_becomes_part_of_it)
{
    fixture f;
    fixture_open(&f, NULL);
    as_maker       *m = fixture_maker(&f);
    static uint16_t w[20 * 4 * 9];
    int             x = dims_input(m, "x", AS_F16, &AS_SHAPE(1, 4, 8, 8));
    int             weight = as_maker_param(m, "w", AS_F16, &AS_SHAPE(20, 4, 3, 3), w, false);
    as_maker_output(m, fixture_node1(m, "Relu", "relu", fixture_node2(m, "Conv", "conv", x, weight)));
    expect_ok(f.env, as_maker_finish(m, &f.model));
    fixture_plan(&f);
    int s = fixture_step_find(f.plan, "conv+relu");
    expect(s >= 0 && !f.plan->steps[s].choice.slow);
    fixture_close(&f);
}
