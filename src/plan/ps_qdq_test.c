/* ps_qdq_test.c - networks between DequantizeLinear and QuantizeLinear on the integers: which, how exact, and when not. */
#include <math.h>

#include "plan/test_fixture.h"

typedef struct form {
    const char *op; /* Conv or MatMul */
    float       w_scale, y_scale, b_scale;
    int         y_zero;
    bool        relu, bias, zeros; /* zeros: zero points are given */
} form;

static int constant(as_maker *m, const char *name, as_dtype dtype, const as_shape *shape, const void *data)
{
    as_view view = as_view_of((void *)(uintptr_t)data, dtype, shape);
    return as_maker_constant(m, name, &view);
}

static int coded(as_maker *m, const char *op, const char *name, int x, int scale, int zero, int axis)
{
    as_attr attr = AS_ATTR_I("axis", axis);
    return as_maker_node(m, op, name, (int[]){x, scale, zero}, zero < 0 ? 2 : 3, &attr, 1, NULL, 1, NULL);
}

/* x -> Q -> DQ -> Conv or MatMul of dequantised weights [-> Relu] -> Q -> y, u8. */
static void net_open(fixture *f, const form *is, const char *compile)
{
    static int8_t        weights[20 * 20 * 9];
    static int32_t       bias[20];
    static const uint8_t zero = 119;
    static const int8_t  none[20] = {0};
    bool                 conv = !strcmp(is->op, "Conv");
    for (size_t i = 0; i < AS_COUNT(weights); i++)
        weights[i] = (int8_t)(i * 37 % 255 - 127);
    for (int i = 0; i < 20; i++)
        bias[i] = 100 * i - 900;
    float    scale[20], x_scale = 0x1p-6f, b_scale[20];
    uint8_t  y_zero = (uint8_t)is->y_zero;
    as_shape one = {0}, twenty = AS_SHAPE(20);
    for (int i = 0; i < 20; i++) {
        scale[i] = is->w_scale * (float)(1 << (i % 3));
        b_scale[i] = x_scale * scale[i] * is->b_scale;
    }
    fixture_open(f, NULL);
    as_maker *m = fixture_maker(f);
    int       x =
        conv ? as_maker_input(m, "x", AS_F32, &(as_dims){.rank = 4, .dim = {{.size = 2}, {.size = 20}, {.size = 7}, {.size = 5}}})
                   : fixture_input(m, "x", 13, 20);
    int xs = constant(m, "xs", AS_F32, &one, &x_scale), xz = constant(m, "xz", AS_U8, &one, &zero);
    int a = coded(m, "DequantizeLinear", "dx", coded(m, "QuantizeLinear", "qx", x, xs, xz, 1), xs, xz, 1);
    int w = coded(m, "DequantizeLinear", "dw", constant(m, "w", AS_I8, conv ? &AS_SHAPE(20, 20, 3, 3) : &AS_SHAPE(20, 20), weights),
                  constant(m, "ws", AS_F32, &twenty, scale), is->zeros ? constant(m, "wz", AS_I8, &twenty, none) : -1, !conv);
    int in[3] = {a, w, -1}, n_in = 2;
    if (is->bias)
        in[n_in++] = coded(m, "DequantizeLinear", "db", constant(m, "b", AS_I32, &twenty, bias),
                           constant(m, "bs", AS_F32, &twenty, b_scale), -1, 0);
    int y = as_maker_node(m, is->op, "product", in, n_in, NULL, 0, NULL, 1, NULL);
    if (is->relu)
        y = fixture_node1(m, "Relu", "relu", y);
    as_maker_output(m, coded(m, "QuantizeLinear", "qy", y, constant(m, "ys", AS_F32, &one, &is->y_scale),
                             constant(m, "yz", AS_U8, &one, &y_zero), 1));
    expect_ok(f->env, as_maker_finish(m, &f->model));
    fixture_set(f, "compile", compile);
    fixture_plan(f);
    fixture_instance(f);
    fixture_step(f);
}

/* Runs it both ways: whether it was joined, and the largest difference of a result. */
static bool net_run(const form *is, int *difference)
{
    fixture on, off;
    bool    joined = false;
    net_open(&on, is, "on");
    net_open(&off, is, "off");
    as_view a = as_instance_output(on.instance, 0), b = as_instance_output(off.instance, 0);
    *difference = 0;
    int n_values = 0;
    for (int64_t i = 0; i < as_shape_count(&a.shape); i++) {
        int d = abs((int)as_view_get(&a, i) - (int)as_view_get(&b, i));
        *difference = d > *difference ? d : *difference;
        n_values += as_view_get(&a, i) > 0 && as_view_get(&a, i) < 255;
    }
    expect(n_values > 20); /* not all saturated */
    for (int s = on.plan->n_prologue; s < on.plan->n_steps; s++) {
        const char *op = as_step_op(on.plan, &on.plan->steps[s]);
        joined = joined || !strcmp(op, "QLinearConv") || !strcmp(op, "QLinearMatMul");
        expect(!joined || (strcmp(op, "Conv") && strcmp(op, "MatMul")));
    }
    fixture_close(&on);
    fixture_close(&off);
    return joined;
}

Test(qdq, with_scales_that_are_powers_of_two_every_integer_is_the_same)
{
    static const form forms[] = {
        {"Conv", 0x1p-7f, 0.5f, 1, 100, false, true, true},
        {"Conv", 0x1p-7f, 0.25f, 1, 0, true, false, false},
        {"MatMul", 0x1p-7f, 0.125f, 1, 128, false, false, true},
        {"MatMul", 0x1p-7f, 0.125f, 1, 0, true, false, false},
    };
    for (size_t i = 0; i < AS_COUNT(forms); i++) {
        int difference;
        expect(net_run(&forms[i], &difference));
        expect_eq(difference, 0);
    }
}

Test(qdq, with_other_scales_no_result_differs_by_more_than_one_quantum)
{
    static const form forms[] = {
        {"Conv", 0.0073f, 0.51f, 1, 100, false, true, true},
        {"Conv", 0.0073f, 0.21f, 1, 0, true, true, false},
        {"MatMul", 0.0073f, 0.13f, 1, 128, false, false, true},
    };
    for (size_t i = 0; i < AS_COUNT(forms); i++) {
        int difference;
        expect(net_run(&forms[i], &difference));
        expect(difference <= 1);
    }
}

Test(qdq, what_saturation_does_not_do_stays_as_it_is)
{
    static const form forms[] = {
        {"Conv", 0x1p-7f, 0.5f, 1, 100, true, false, true}, /* a Relu whose 0 is not the lowest integer */
        {"Conv", 0x1p-7f, 0.5f, 2, 100, false, true, true}, /* a bias of another scale */
    };
    for (size_t i = 0; i < AS_COUNT(forms); i++) {
        int difference;
        expect(!net_run(&forms[i], &difference));
        expect(difference <= 1);
    }
}
