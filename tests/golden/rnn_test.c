/* rnn_test.c - an LSTM and a GRU as torch exports them: torch's answers and gradients (tests/golden/rnn/make.py wrote both). */
#include <math.h>
#include <stdio.h>

#include "plan/test_fixture.h"
#include "tests/golden/rnn/golden.h"

static const char *file_of(char *buf, size_t size, const char *name)
{
    const char *at = strstr(__FILE__, "tests/golden/");
    snprintf(buf, size, "%.*stests/golden/rnn/%s.onnx", at ? (int)(at - __FILE__) : 0, __FILE__, name);
    return buf;
}

static void expect_close(const char *what, const as_view *got, const double *want, size_t n)
{
    expect_eq((size_t)as_shape_count(&got->shape), n);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(as_view_get(got, (int64_t)i) - want[i]) <= 2e-6))
            fail("%s[%zu] is %.9g, torch's is %.9g", what, i, as_view_get(got, (int64_t)i), want[i]);
}

/* The answer, then the gradient of x for the loss sum(sin(0.7 k) y[k]), both on the CPU's kernels. */
static void judge(const char *name, const double *x, size_t n_x, const double *y, size_t n_y, const double *d_x)
{
    static const char *const wrt[] = {"x"};
    fixture                  f, back;
    char                     path[512];
    fixture_open(&f, file_of(path, sizeof path, name));
    fixture_plan(&f);
    fixture_instance(&f);
    as_view in = as_instance_input(f.instance, 0);
    expect_eq((size_t)as_shape_count(&in.shape), n_x);
    for (size_t i = 0; i < n_x; i++)
        as_view_set(&in, (int64_t)i, x[i]);
    fixture_step(&f);
    as_view out = as_instance_output(f.instance, 0);
    expect_close("y", &out, y, n_y);

    fixture_open(&back, NULL);
    expect_ok(back.env, as_model_grad(back.env, f.model, NULL, 0, wrt, 1, &back.model));
    fixture_plan(&back);
    fixture_instance(&back);
    for (int i = 0; i < 2; i++) {
        as_view view = as_instance_input(back.instance, i);
        bool    is_x = !strcmp(back.plan->graph.values[back.plan->graph.inputs[i]].name, "x");
        for (int64_t e = 0; e < as_shape_count(&view.shape); e++)
            as_view_set(&view, e, is_x ? x[e] : sin(0.7 * (double)e));
    }
    fixture_step(&back);
    out = as_instance_output(back.instance, 0);
    expect_close("d:x", &out, d_x, n_x);
    fixture_close(&back);
    fixture_close(&f);
}

Test(rnn_golden, lstm_both_ways_as_torchs) { judge("lstm", lstm_x, AS_COUNT(lstm_x), lstm_y, AS_COUNT(lstm_y), lstm_d_x); }
Test(rnn_golden, gru_of_two_layers_as_torchs) { judge("gru", gru_x, AS_COUNT(gru_x), gru_y, AS_COUNT(gru_y), gru_d_x); }
