/* rules_test.c - element-wise operators in ways that a case cannot express: NaN, 64-bit integers, absent bounds, refusals. */
#include "op/rules.h"
#include "tests/runner/test.h"

/* One call on views of one dtype and shape; an input without data is absent. */
static assay_status call(assay_env *env, const char *name, const as_attr *attrs, int n_attrs, const as_view *in, int n_in,
                         as_view *out)
{
    as_tensor_info info[3] = {0}, found[1];
    for (int i = 0; i < n_in; i++)
        info[i] = (as_tensor_info){.dtype = in[i].dtype, .shape = in[i].shape};
    as_node_ctx n = {.op = as_op_find(name),
                     .name = "it",
                     .attrs = attrs,
                     .n_attrs = n_attrs,
                     .in = info,
                     .n_in = n_in,
                     .out = found,
                     .n_out = 1};
    expect(n.op);
    AS_TRY(as_op_infer(env, &n, found));
    expect_eq(found[0].dtype, out->dtype);
    return n.op->eval(env, &n, in, out);
}

Test(rules, a_nan_passes_through_max_min_clip_sign_and_leaky_relu)
{
    static const char *const names[] = {"Max", "Min", "Clip", "Sign", "LeakyRelu", "Softplus", "Selu", "HardSwish", "HardSigmoid"};
    float                    x[2] = {NAN, NAN}, one = 1.0f, y[2] = {0};
    assay_env               *env;
    expect(assay_env_new(&env) == ASSAY_OK);
    for (size_t i = 0; i < AS_COUNT(names); i++) {
        as_view in[2] = {as_view_of(x, AS_F32, &AS_SHAPE(2)), as_view_of(&one, AS_F32, &(as_shape){0})};
        as_view out = as_view_of(y, AS_F32, &AS_SHAPE(2));
        expect_ok(env, call(env, names[i], NULL, 0, in, i < 3 ? 2 : 1, &out));
        if (!isnan(y[0]) || !isnan(y[1]))
            fail("%s of NaN is %g", names[i], (double)y[0]);
    }
    assay_env_free(env);
}

Test(rules, a_rest_like_pythons_at_zero_and_infinity)
{
    static const double a[] = {0.0, -0.0, -3.0, 3.0, -1.0, 1.0, INFINITY, -INFINITY, 1.0, NAN, 1.0};
    static const double b[] = {-2.0, 2.0, INFINITY, INFINITY, -INFINITY, -INFINITY, 2.0, 2.0, 0.0, 2.0, NAN};
    static const double want[] = {-0.0, 0.0, INFINITY, 3.0, -1.0, -INFINITY, NAN, NAN, NAN, NAN, NAN}; /* numpy's mod */
    double              y[AS_COUNT(want)];
    assay_env          *env;
    expect(assay_env_new(&env) == ASSAY_OK);
    as_shape shape = AS_SHAPE(AS_COUNT(want));
    as_view  in[2] = {as_view_of((void *)(uintptr_t)a, AS_F64, &shape), as_view_of((void *)(uintptr_t)b, AS_F64, &shape)};
    as_view  out = as_view_of(y, AS_F64, &shape);
    expect_ok(env, call(env, "Mod", NULL, 0, in, 2, &out));
    for (size_t i = 0; i < AS_COUNT(want); i++)
        expect((isnan(want[i]) && isnan(y[i])) || (y[i] == want[i] && !signbit(y[i]) == !signbit(want[i])));
    assay_env_free(env);
}

Test(rules, no_comparison_holds_of_a_nan)
{
    static const char *const names[] = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"};
    double                   a = NAN, b = 1.0;
    uint8_t                  y;
    assay_env               *env;
    expect(assay_env_new(&env) == ASSAY_OK);
    for (size_t i = 0; i < AS_COUNT(names); i++) {
        as_shape scalar = {0};
        as_view  in[2] = {as_view_of(&a, AS_F64, &scalar), as_view_of(&b, AS_F64, &scalar)}, out = as_view_of(&y, AS_BOOL, &scalar);
        y = 7;
        expect_ok(env, call(env, names[i], NULL, 0, in, 2, &out));
        expect_eq(y, 0);
    }
    assay_env_free(env);
}

Test(rules, integers_are_exact_beyond_the_53_bits_of_a_double)
{
    int64_t    a = (INT64_C(1) << 53) + 1, b = INT64_C(1) << 53, y = 0;
    uint64_t   u = UINT64_MAX, v = 2, w = 0;
    uint8_t    is = 7;
    as_shape   scalar = {0};
    assay_env *env;
    expect(assay_env_new(&env) == ASSAY_OK);
    as_view in[2] = {as_view_of(&a, AS_I64, &scalar), as_view_of(&b, AS_I64, &scalar)};
    as_view out = as_view_of(&y, AS_I64, &scalar), truth = as_view_of(&is, AS_BOOL, &scalar);
    expect_ok(env, call(env, "Equal", NULL, 0, in, 2, &truth));
    expect_eq(is, 0);
    expect_ok(env, call(env, "Max", NULL, 0, in, 2, &out));
    expect_eq(y, a);
    expect_ok(env, call(env, "Neg", NULL, 0, in, 1, &out));
    expect_eq(y, -a);
    a = INT64_MIN, b = -1;
    expect_ok(env, call(env, "Div", NULL, 0, in, 2, &out));
    expect_eq(y, INT64_MIN);
    expect_ok(env, call(env, "Mod", NULL, 0, in, 2, &out));
    expect_eq(y, 0);
    as_view big[2] = {as_view_of(&u, AS_U64, &scalar), as_view_of(&v, AS_U64, &scalar)}, high = as_view_of(&w, AS_U64, &scalar);
    expect_ok(env, call(env, "Div", NULL, 0, big, 2, &high));
    expect(w == UINT64_MAX / 2);
    expect_ok(env, call(env, "Min", NULL, 0, big, 2, &high));
    expect(w == 2);
    assay_env_free(env);
}

Test(rules, clip_takes_a_max_without_a_min)
{
    float      x[3] = {-9, 1, 9}, hi = 2, y[3];
    assay_env *env;
    expect(assay_env_new(&env) == ASSAY_OK);
    as_view in[3] = {as_view_of(x, AS_F32, &AS_SHAPE(3)), {0}, as_view_of(&hi, AS_F32, &(as_shape){0})};
    as_view out = as_view_of(y, AS_F32, &AS_SHAPE(3));
    expect_ok(env, call(env, "Clip", NULL, 0, in, 3, &out));
    expect_near((double)y[0], -9, 0);
    expect_near((double)y[1], 1, 0);
    expect_near((double)y[2], 2, 0);
    assay_env_free(env);
}

typedef struct refusal {
    const char    *op, *part;
    int            n_in, n_attrs;
    as_tensor_info in[3];
    as_attr        attrs[1];
} refusal;

static const refusal refusals[] = {
    {.op = "Neg", .part = "Neg 'it': input 0 is u8", .n_in = 1, .in = {AS_IN(U8, 1)}},
    {.op = "Cos", .part = "input 0 is i32", .n_in = 1, .in = {AS_IN(I32, 1)}},
    {.op = "And", .part = "input 0 is f32 and must be one of bool", .n_in = 2, .in = {AS_IN(F32, 1), AS_IN(F32, 1)}},
    {.op = "Less", .part = "input 0 is bool", .n_in = 2, .in = {AS_IN(BOOL, 1), AS_IN(BOOL, 1)}},
    {.op = "Sum", .part = "input 1 is [4] and those before it are [3]", .n_in = 2, .in = {AS_IN(F32, 3), AS_IN(F32, 4)}},
    {.op = "Max", .part = "input 1 of 3 is absent", .n_in = 3, .in = {AS_IN(F32, 3), {0}, AS_IN(F32, 3)}},
    {.op = "Where",
     .part = "input 0 is f32 and must be one of bool",
     .n_in = 3,
     .in = {AS_IN(F32, 1), AS_IN(F32, 1), AS_IN(F32, 1)}},
    {.op = "Where", .part = "input 1 is f32 and input 2 is f64", .n_in = 3, .in = {AS_IN(BOOL, 1), AS_IN(F32, 1), AS_IN(F64, 1)}},
    {.op = "Clip",
     .part = "max (input 2) is [2] and must be a scalar",
     .n_in = 3,
     .in = {AS_IN(F32, 1), {.dtype = AS_F32}, AS_IN(F32, 2)}},
    {.op = "PRelu",
     .part = "slope is [2,3] and cannot be broadcast to X, which is [3]",
     .n_in = 2,
     .in = {AS_IN(F32, 3), AS_IN(F32, 2, 3)}},
    {.op = "Pow", .part = "input 0 is u8", .n_in = 2, .in = {AS_IN(U8, 1), AS_IN(F32, 1)}},
    {.op = "Pow", .part = "X is [2] and Y is [3]", .n_in = 2, .in = {AS_IN(F32, 2), AS_IN(F32, 3)}},
    {.op = "Mod",
     .part = "fmod is 2",
     .n_in = 2,
     .in = {AS_IN(I8, 1), AS_IN(I8, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("fmod", 2)}},
    {.op = "Celu", .part = "alpha is 0", .n_in = 1, .in = {AS_IN(F32, 1)}, .n_attrs = 1, .attrs = {AS_ATTR_F("alpha", 0.0)}},
    {.op = "Gelu",
     .part = "approximate is 'fast' and must be none or tanh",
     .n_in = 1,
     .in = {AS_IN(F32, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("approximate", "fast")}},
    {.op = "BitShift", .part = "attribute 'direction' is missing", .n_in = 2, .in = {AS_IN(U8, 1), AS_IN(U8, 1)}},
    {.op = "BitShift",
     .part = "direction is 'UP' and must be LEFT or RIGHT",
     .n_in = 2,
     .in = {AS_IN(U8, 1), AS_IN(U8, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "UP")}},
    {.op = "BitShift",
     .part = "input 0 is f32",
     .n_in = 2,
     .in = {AS_IN(F32, 1), AS_IN(F32, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("direction", "LEFT")}},
};

Test(rules, refuse_with_a_sentence)
{
    assay_env *env;
    expect(assay_env_new(&env) == ASSAY_OK);
    for (size_t i = 0; i < AS_COUNT(refusals); i++) {
        const refusal *r = &refusals[i];
        as_tensor_info out[1];
        as_node_ctx    n = {.op = as_op_find(r->op),
                            .name = "it",
                            .attrs = r->attrs,
                            .n_attrs = r->n_attrs,
                            .in = r->in,
                            .n_in = r->n_in,
                            .out = out,
                            .n_out = 1};
        if (as_op_infer(env, &n, out) != ASSAY_BAD_INPUT || !strstr(assay_message(env), r->part))
            fail("%s: expected '%s', got '%s'", r->op, r->part, assay_message(env));
    }
    assay_env_free(env);
}
