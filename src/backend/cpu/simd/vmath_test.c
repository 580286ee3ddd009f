/* vmath_test.c - checks the bounds that vmath.h states, with every instruction set of this machine. */
#include "backend/cpu/simd/vmath_check.h"

#include "backend/cpu/kernel.h"
#include "tests/runner/test.h"

enum { BATCH = 512 };

static double expm1_of(const as_act *act, double x)
{
    (void)act;
    return expm1(x);
}
static double exp_of(const as_act *act, double x)
{
    (void)act;
    return exp(x);
}
static double log_of(const as_act *act, double x)
{
    (void)act;
    return log(x);
}
static double erf_of(const as_act *act, double x)
{
    (void)act;
    return erf(x);
}
static double erfc_of(const as_act *act, double x)
{
    (void)act;
    return erfc(x);
}
static double sin_of(const as_act *act, double x)
{
    (void)act;
    return sin(x);
}
static double cos_of(const as_act *act, double x)
{
    (void)act;
    return cos(x);
}
static double asin_of(const as_act *act, double x)
{
    (void)act;
    return asin(x);
}
static double acos_of(const as_act *act, double x)
{
    (void)act;
    return acos(x);
}
static double atan_of(const as_act *act, double x)
{
    (void)act;
    return atan(x);
}
static double steady(double x)
{
    (void)x;
    return 1.0;
}
static double largest(double x) { return fmax(1.0, fabs(x)); }
static double squared(double x) { return 1.0 + x * x; }
static double gelu_slope(double x) { return 1.0 + x * x / 2.0; }
static double cubed(double x) { return 1.0 + fabs(x * x * x) / 4.0; }
/* The formula of as_act_apply() has no digits left at x = -6, because of 1 + tanh. */
static double gelu_tanh_of(const as_act *act, double x)
{
    (void)act;
    return x / (1.0 + exp(-2.0 * 0.79788456080286536 * (x + 0.044715 * x * x * x)));
}

typedef struct bound {
    int function;
    double (*truth)(const as_act *act, double x);
    double lo, hi;                              /* the range swept */
    double relative, (*relative_grows)(double); /* rel <= relative * relative_grows(x) where the exact value is a normal float */
    double absolute, (*absolute_grows)(double); /* 0: none */
    double from;                                /* relative only holds from here up */
} bound;

static const bound bounds[] = {
    {AS_CHECK_EXP, exp_of, -110, 90, 1.5e-7, steady, 0, steady, -200},
    {AS_CHECK_EXPM1_NEG, expm1_of, -40, 0, 1.5e-7, steady, 1.0e-7, steady, -200},
    {AS_CHECK_LOG, log_of, 1e-45, 3.4e38, 1.5e-7, steady, 0, steady, -200},
    {AS_ACT_TANH, as_act_apply, -12, 12, 2.5e-7, steady, 2.0e-7, steady, -200},
    {AS_ACT_SIGMOID, as_act_apply, -100, 100, 2.5e-7, steady, 1.2e-7, steady, -88},
    {AS_CHECK_ERF, erf_of, -6, 6, 2.5e-7, steady, 2.0e-7, steady, -200},
    {AS_CHECK_ERFC_POS, erfc_of, 0, 12, 7.0e-7, squared, 7.0e-7, steady, -200},
    {AS_ACT_GELU, as_act_apply, -16, 16, 8.0e-7, gelu_slope, 2.0e-7, largest, -200},
    {AS_ACT_GELU_TANH, gelu_tanh_of, -16, 16, 4.0e-7, cubed, 2.0e-7, largest, -10},
    {AS_ACT_SILU, as_act_apply, -120, 120, 2.5e-7, steady, 2.0e-7, largest, -88},
    {AS_ACT_SOFTPLUS, as_act_apply, -110, 110, 3.0e-7, steady, 0, steady, -200},
    {AS_ACT_ELU, as_act_apply, -40, 40, 2.2e-7, steady, 0, steady, -200},
    {AS_ACT_RELU, as_act_apply, -4, 4, 0, steady, 0, steady, -200},
    {AS_ACT_LEAKYRELU, as_act_apply, -4, 4, 1.3e-7, steady, 0, steady, -200},
    {AS_ACT_CLIP, as_act_apply, -4, 4, 6e-8, steady, 0, steady, -200}, /* the float next to the bound */
    {AS_CHECK_SIN, sin_of, -30, 30, 3e-7, steady, 1.2e-7, steady, -200},
    {AS_CHECK_SIN, sin_of, -9000, 9000, 0, steady, 1.2e-7, steady, 200},
    {AS_CHECK_COS, cos_of, -30, 30, 3e-7, steady, 1.2e-7, steady, -200},
    {AS_CHECK_COS, cos_of, -9000, 9000, 0, steady, 1.2e-7, steady, 200},
    {AS_CHECK_ASIN, asin_of, -1, 1, 3e-7, steady, 0, steady, -200},
    {AS_CHECK_ACOS, acos_of, -1, 1, 3e-7, steady, 3.5e-7, steady, -200},
    {AS_CHECK_ATAN, atan_of, -1000, 1000, 2.5e-7, steady, 0, steady, -200},
    {AS_ACT_HARDSIGMOID, as_act_apply, -20, 20, 0, steady, 2e-7, steady, 200},
    {AS_ACT_HARDSWISH, as_act_apply, -20, 20, 0, steady, 3e-7, largest, 200},
};

/* A clip's bounds, an Elu's or a LeakyRelu's slope. */
static as_act act_of(int function)
{
    as_act act = {.kind = function < AS_N_ACTS ? (as_act_kind)function : AS_ACT_NONE, .alpha = 0.25, .beta = 0.5};
    if (function == AS_ACT_CLIP)
        act.alpha = -1.7, act.beta = 0.9;
    return act;
}

static const char *name_of(int function)
{
    static const char *const further[] = {"exp", "expm1_neg", "log", "erf", "erfc_pos", "sin", "cos", "asin", "acos", "atan"};
    return function < AS_N_ACTS ? as_act_name((as_act_kind)function) : further[function - AS_N_ACTS];
}

static void judge(const bound *b, as_vmath_check check, const float *x, size_t n, const char *file, int line)
{
    float  y[BATCH];
    as_act act = act_of(b->function);
    check(b->function, &act, x, y, n);
    for (size_t i = 0; i < n; i++) {
        double want = b->truth(&act, x[i]), off = fabs(y[i] - want), size = fabs(want);
        if ((float)want == y[i])
            continue;
        if (x[i] >= b->from && size >= 1.1754944e-38 && off > b->relative * b->relative_grows(x[i]) * size && b->from < 100)
            as_test_fail(file, line, "%s(%.9g) is %.9g, expected %.17g: %.3g off relatively", name_of(b->function), x[i], y[i],
                         want, off / size);
        double absolute = b->absolute > 0 ? b->absolute * b->absolute_grows(x[i]) : size >= 1.1754944e-38 ? HUGE_VAL : 1.2e-38;
        if (!(off <= absolute))
            as_test_fail(file, line, "%s(%.9g) is %.9g, expected %.17g: %.3g off", name_of(b->function), x[i], y[i], want, off);
    }
}

/* Evenly over the range, and by powers towards zero from both sides; log by powers over all floats. */
static void sweep(as_vmath_check check, const char *file, int line)
{
    enum { EVEN = 40000, POWERS = 40000 };
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        const bound *b = &bounds[k];
        float        x[BATCH];
        size_t       n = 0;
        for (int i = 0; i <= EVEN + POWERS; i++) {
            double at = b->lo + (b->hi - b->lo) * i / EVEN;
            if (i > EVEN) {
                double power = exp2(-149.0 + 277.0 * (i - EVEN) / POWERS);
                at = i % 2 && b->lo < 0 ? -power : power;
                if (b->function == AS_CHECK_EXPM1_NEG)
                    at = -power;
            }
            if (i <= EVEN || (at >= b->lo && at <= b->hi))
                x[n++] = (float)at;
            if (n == BATCH || i == EVEN + POWERS) {
                judge(b, check, x, n, file, line);
                n = 0;
            }
        }
    }
}

/* Around 1 the logarithm is small, and the relative bound is hard to keep. */
static void near_one(as_vmath_check check, const char *file, int line)
{
    float x[BATCH];
    for (int i = 0; i < BATCH; i++)
        x[i] = 1.0f + (float)(i - BATCH / 2) * 0x1p-23f;
    judge(&bounds[2], check, x, BATCH, file, line);
}

static bool same(float a, float b) { return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b); }

static void specials(as_vmath_check check, const char *file, int line)
{
    static const struct {
        int   function;
        float x, y;
    } points[] = {
        {AS_CHECK_EXP, 0, 1},
        {AS_CHECK_EXP, -0.0f, 1},
        {AS_CHECK_EXP, INFINITY, INFINITY},
        {AS_CHECK_EXP, -INFINITY, 0},
        {AS_CHECK_EXP, 88.8f, INFINITY},
        {AS_CHECK_EXP, 3e38f, INFINITY},
        {AS_CHECK_EXP, -3e38f, 0},
        {AS_CHECK_EXP, -103, 1.4e-45f},
        {AS_CHECK_LOG, 1, 0},
        {AS_CHECK_LOG, 0, -INFINITY},
        {AS_CHECK_LOG, -0.0f, -INFINITY},
        {AS_CHECK_LOG, INFINITY, INFINITY},
        {AS_CHECK_LOG, -1, NAN},
        {AS_CHECK_LOG, -1e-44f, NAN},
        {AS_CHECK_LOG, -INFINITY, NAN},
        {AS_CHECK_SIN, 0, 0},
        {AS_CHECK_SIN, -0.0f, -0.0f},
        {AS_CHECK_SIN, INFINITY, NAN},
        {AS_CHECK_SIN, NAN, NAN},
        {AS_CHECK_COS, 0, 1},
        {AS_CHECK_COS, -INFINITY, NAN},
        {AS_CHECK_COS, NAN, NAN},
        {AS_CHECK_ASIN, -0.0f, -0.0f},
        {AS_CHECK_ASIN, 1.0000001f, NAN},
        {AS_CHECK_ACOS, 1, 0},
        {AS_CHECK_ACOS, -1.5f, NAN},
        {AS_CHECK_ATAN, -0.0f, -0.0f},
        {AS_CHECK_ATAN, INFINITY, 1.57079633f},
        {AS_CHECK_ATAN, NAN, NAN},
        {AS_CHECK_ERF, 0, 0},
        {AS_CHECK_ERF, -0.0f, -0.0f},
        {AS_CHECK_ERF, INFINITY, 1},
        {AS_CHECK_ERF, -INFINITY, -1},
        {AS_CHECK_ERF, 3e38f, 1},
        {AS_CHECK_EXPM1_NEG, 0, 0},
        {AS_CHECK_EXPM1_NEG, -INFINITY, -1},
        {AS_CHECK_ERFC_POS, INFINITY, 0},
        {AS_CHECK_ERFC_POS, 3e38f, 0},
        {AS_ACT_TANH, 0, 0},
        {AS_ACT_TANH, -0.0f, -0.0f},
        {AS_ACT_TANH, INFINITY, 1},
        {AS_ACT_TANH, -INFINITY, -1},
        {AS_ACT_TANH, 1e-40f, 1e-40f},
        {AS_ACT_TANH, -3e38f, -1},
        {AS_ACT_SIGMOID, 0, 0.5f},
        {AS_ACT_SIGMOID, INFINITY, 1},
        {AS_ACT_SIGMOID, -INFINITY, 0},
        {AS_ACT_SIGMOID, 3e38f, 1},
        {AS_ACT_GELU, 0, 0},
        {AS_ACT_GELU, INFINITY, INFINITY},
        {AS_ACT_GELU, -INFINITY, -0.0f},
        {AS_ACT_GELU, -3e38f, -0.0f},
        {AS_ACT_GELU, 3e38f, 3e38f},
        {AS_ACT_GELU_TANH, 0, 0},
        {AS_ACT_GELU_TANH, INFINITY, INFINITY},
        {AS_ACT_GELU_TANH, -INFINITY, -0.0f},
        {AS_ACT_GELU_TANH, 3e38f, 3e38f},
        {AS_ACT_SILU, 0, 0},
        {AS_ACT_SILU, INFINITY, INFINITY},
        {AS_ACT_SILU, -INFINITY, -0.0f},
        {AS_ACT_SILU, 3e38f, 3e38f},
        {AS_ACT_SOFTPLUS, INFINITY, INFINITY},
        {AS_ACT_SOFTPLUS, -INFINITY, 0},
        {AS_ACT_SOFTPLUS, 3e38f, 3e38f},
        {AS_ACT_ELU, 0, 0},
        {AS_ACT_ELU, INFINITY, INFINITY},
        {AS_ACT_ELU, -INFINITY, -0.25f},
        {AS_ACT_RELU, -INFINITY, 0},
        {AS_ACT_RELU, INFINITY, INFINITY},
        {AS_ACT_CLIP, INFINITY, 0.9f},
        {AS_ACT_CLIP, -INFINITY, -1.7f},
        {AS_ACT_LEAKYRELU, -INFINITY, -INFINITY},
        {AS_ACT_HARDSIGMOID, INFINITY, 1},
        {AS_ACT_HARDSIGMOID, -INFINITY, 0},
        {AS_ACT_HARDSWISH, INFINITY, INFINITY},
    };
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        as_act act = act_of(points[i].function);
        float  y = 77.0f;
        check(points[i].function, &act, &points[i].x, &y, 1);
        if (!same(y, points[i].y))
            as_test_fail(file, line, "%s(%g) is %g, expected %g", name_of(points[i].function), points[i].x, y, points[i].y);
    }
    for (int function = AS_ACT_NONE; function < AS_N_CHECKS; function++) {
        as_act act = act_of(function);
        float  x = NAN, y = 0.0f;
        check(function, &act, &x, &y, 1);
        if (!isnan(y))
            as_test_fail(file, line, "%s(NaN) is %g", name_of(function), y);
    }
}

#define ON_EACH_MACHINE(check_)           \
    sweep(check_, __FILE__, __LINE__);    \
    near_one(check_, __FILE__, __LINE__); \
    specials(check_, __FILE__, __LINE__)

Test(vmath, keeps_its_bounds_in_plain_vectors) { ON_EACH_MACHINE(as_vmath_check_scalar); }

#ifdef __x86_64__
Test(vmath, keeps_its_bounds_on_avx2)
{
    if (!(as_isa_cpu() & AS_ISA_AVX2))
        skip("this CPU has no AVX2");
    ON_EACH_MACHINE(as_vmath_check_avx2);
}
#endif

#ifdef __aarch64__
Test(vmath, keeps_its_bounds_on_neon) { ON_EACH_MACHINE(as_vmath_check_neon); }
#endif
