/* opencl_test.c - every operator's cases on an OpenCL device, against the reference code.
 *
 * Skipped, with the reason, where there is no device or the back end was left out of the build. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/conform/device_conform.h"
#include "tests/runner/test.h"

/* PoCL keeps built kernels in a directory and builds nothing where it cannot write: uses the user's cache if there is one. */
static void cache_set(void)
{
    const char *home = getenv("HOME");
    if (!getenv("XDG_CACHE_HOME") && (!home || access(home, W_OK)))
        setenv("POCL_CACHE_DIR", as_test_dir(), 0);
}

static assay_env *env_or_skip(void)
{
    assay_env *env;
    as_device *device;
    cache_set();
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_status status = as_device_open(env, "opencl", 1, &device);
    if (status == ASSAY_NOT_FOUND) {
        char why[256];
        snprintf(why, sizeof why, "%s", assay_message(env));
        assay_env_free(env);
        skip("%s", why);
    }
    expect_ok(env, status);
    as_device_close(device);
    return env;
}

/* How many cases of an operator the device must run: those whose operands are f32, or f64 changed to f32; with `any`, all. */
typedef struct wanted {
    bool any;
    int  most_in; /* cases with more inputs, or with a Relu inside, are not counted; 0: all are */
    int  n;
} wanted;

static void count_visit(void *arg, assay_env *env, const as_conform_case *c)
{
    wanted *w = arg;
    (void)env;
    if (w->most_in && (c->ctx.n_in > w->most_in || as_attr_int(&c->ctx, "relu", 0)))
        return;
    w->n += c->ctx.n_out == 1 && (w->any || c->in_info[0].dtype == AS_F32);
}

static void conform_of(const char *op, bool any_dtype, int most_in)
{
    assay_env *env = env_or_skip();
    wanted     w = {.any = any_dtype, .most_in = most_in};
    int        n_ran = 0, n_refused = 0;
    as_conform_each(env, op, count_visit, &w);
    expect(w.n > 0);
    as_conform_device(env, "opencl", 1, op, &n_ran, &n_refused);
    expect_eq(n_ran, w.n);
    assay_env_free(env);
}

static void conform(const char *op, bool any_dtype) { conform_of(op, any_dtype, 0); }

Test(opencl, runs_every_f32_case_of_MatMul) { conform("MatMul", false); }
Test(opencl, runs_every_f32_case_of_Gemm) { conform("Gemm", false); }
Test(opencl, runs_every_f32_case_of_Conv) { conform("Conv", false); }
Test(opencl, runs_every_f32_case_of_MaxPool) { conform("MaxPool", false); }
Test(opencl, runs_every_f32_case_of_Relu) { conform("Relu", false); }
Test(opencl, runs_every_f32_case_of_Sigmoid) { conform("Sigmoid", false); }
Test(opencl, runs_every_f32_case_of_Tanh) { conform("Tanh", false); }
Test(opencl, runs_every_f32_case_of_Add) { conform("Add", false); }
Test(opencl, runs_every_f32_case_of_Sub) { conform("Sub", false); }
Test(opencl, runs_every_f32_case_of_Mul) { conform("Mul", false); }
Test(opencl, runs_every_f32_case_of_Softmax) { conform("Softmax", false); }
Test(opencl, runs_every_f32_case_of_ReduceSum) { conform("ReduceSum", false); }
Test(opencl, runs_every_f32_case_of_ReluGrad) { conform("assay.ReluGrad", false); }
Test(opencl, runs_every_f32_case_of_ConvGradX) { conform_of("assay.ConvGradX", false, 2); } /* the mask of a Relu is for the CPU */
Test(opencl, runs_every_f32_case_of_ConvGradW) { conform("assay.ConvGradW", false); }
Test(opencl, runs_every_f32_case_of_MaxPoolGrad) { conform_of("assay.MaxPoolGrad", false, 2); }
Test(opencl, moves_every_dtype_in_Reshape) { conform("Reshape", true); }
Test(opencl, moves_every_dtype_in_Flatten) { conform("Flatten", true); }
Test(opencl, moves_every_dtype_in_Transpose) { conform("Transpose", true); }
Test(opencl, moves_every_dtype_in_Expand) { conform("Expand", true); }
