/* recurrent_test.c - what RNN, GRU and LSTM refuse, their last states, and lists of texts. */
#include "op/cell/recurrent.h"
#include "tests/runner/test.h"

Test(recurrent, a_list_of_texts_is_read_or_absent)
{
    as_attr     list[] = {AS_ATTR_TEXT_LIST("t", "a", "b", "c")};
    as_node_ctx n = {.attrs = list, .n_attrs = 1};
    const char *out[2] = {NULL, NULL};
    expect_eq(as_attr_texts(&n, "t", out, 2), 3);
    expect_str(out[0], "a");
    expect_str(out[1], "b");
    expect_eq(as_attr_texts(&n, "none", out, 2), 0);
}

#define FLOATS(name_, ...)                                                              \
    {                                                                                   \
        .name = name_, .kind = AS_ATTR_FLOATS, .floats = (const double[]){__VA_ARGS__}, \
        .n = sizeof((double[]){__VA_ARGS__}) / sizeof(double)                           \
    }

typedef struct refusal {
    const char    *op, *part;
    int            n_in;
    as_tensor_info in[8];
    as_attr        attr; /* one, unless its name is NULL */
} refusal;

/* Two steps, three sequences, four inputs, one unit. */
#define RNN3  AS_IN(F32, 2, 3, 4), AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 1)
#define LSTM3 AS_IN(F32, 2, 3, 4), AS_IN(F32, 1, 4, 4), AS_IN(F32, 1, 4, 1)
#define NONE             \
    {                    \
        .dtype = AS_NONE \
    }

static const refusal refusals[] = {
    {"RNN", "activations' is a text and must be a list of texts", 3, {RNN3}, AS_ATTR_S("activations", "Tanh")},
    {"RNN", "attribute 'activations' has no value", 3, {RNN3}, {.name = "activations", .kind = AS_ATTR_TEXTS, .n = 1}},
    {"RNN", "attribute 'activations' has no value", 3, {RNN3}, AS_ATTR_TEXT_LIST("activations", NULL)},
    {"RNN", "activations[0] is 'Cosine', which is not an activation", 3, {RNN3}, AS_ATTR_TEXT_LIST("activations", "Cosine")},
    {"LSTM", "activations has 2 names and 1 directions need 3", 3, {LSTM3}, AS_ATTR_TEXT_LIST("activations", "Tanh", "Tanh")},
    {"RNN", "direction is 'up'", 3, {RNN3}, AS_ATTR_S("direction", "up")},
    {"RNN", "layout is 2", 3, {RNN3}, AS_ATTR_I("layout", 2)},
    {"RNN", "clip is -1", 3, {RNN3}, AS_ATTR_F("clip", -1)},
    {"RNN", "hidden_size is 7 and R is [1,1,1]", 3, {RNN3}, AS_ATTR_I("hidden_size", 7)},
    {"RNN", "W (input 1) is [1,1,4] and must be [2,1,4]", 3, {RNN3}, AS_ATTR_S("direction", "bidirectional")},
    {"GRU", "it has no attribute 'input_forget'", 3, {RNN3}, AS_ATTR_I("input_forget", 1)},
    {"GRU", "W (input 1) is [1,1,4] and must be [1,3,4]", 3, {RNN3}, {0}},
    {"LSTM", "R (input 2) is [1,1,1] and must be [1,4,1]", 3, {AS_IN(F32, 2, 3, 4), AS_IN(F32, 1, 4, 4), AS_IN(F32, 1, 1, 1)}, {0}},
    {"RNN",
     "X is [2,3] and R is [1,1,1]: both must have rank 3",
     3,
     {AS_IN(F32, 2, 3), AS_IN(F32, 1, 1, 4), AS_IN(F32, 1, 1, 1)},
     {0}},
    {"RNN", "B (input 3) is [1,3] and must be [1,2]", 4, {RNN3, AS_IN(F32, 1, 3)}, {0}},
    {"RNN", "sequence_lens (input 4) is [2] and must be [3]", 5, {RNN3, NONE, AS_IN(I32, 2)}, {0}},
    {"RNN", "sequence_lens (input 4) is i64 and must be i32", 5, {RNN3, NONE, AS_IN(I64, 3)}, {0}},
    {"RNN", "initial_h (input 5) is [3,1,1] and must be [1,3,1]", 6, {RNN3, NONE, NONE, AS_IN(F32, 3, 1, 1)}, {0}},
    {"RNN", "input 0 is f32 and input 5 is f64", 6, {RNN3, NONE, NONE, AS_IN(F64, 1, 3, 1)}, {0}},
    {"RNN", "input 0 is f32 and input 3 is f64", 4, {RNN3, AS_IN(F64, 1, 2)}, {0}},
    {"LSTM", "initial_c (input 6) is [1] and must be [1,3,1]", 7, {LSTM3, NONE, NONE, NONE, AS_IN(F32, 1)}, {0}},
    {"LSTM", "P (input 7) is [1,4] and must be [1,3]", 8, {LSTM3, NONE, NONE, NONE, NONE, AS_IN(F32, 1, 4)}, {0}},
    {"RNN", "input 0 is i32", 3, {AS_IN(I32, 2, 3, 4), AS_IN(I32, 1, 1, 4), AS_IN(I32, 1, 1, 1)}, {0}},
};

Test(recurrent, refuses_with_a_sentence)
{
    assay_env *env;
    expect(assay_env_new(&env) == ASSAY_OK);
    for (size_t i = 0; i < AS_COUNT(refusals); i++) {
        const refusal *r = &refusals[i];
        as_tensor_info out[AS_MAX_OUT];
        as_node_ctx    n = {.op = as_op_find(r->op),
                            .name = "the-node",
                            .attrs = &r->attr,
                            .n_attrs = r->attr.name != NULL,
                            .in = r->in,
                            .n_in = r->n_in,
                            .n_out = 1};
        if (as_op_infer(env, &n, out) != ASSAY_BAD_INPUT)
            fail("%s, expecting \"%s\": not refused", r->op, r->part);
        expect_has(assay_message(env), r->part);
        expect_has(assay_message(env), "'the-node': ");
    }
    assay_env_free(env);
}

/* h' = f(x + h) of one unit over the sequence [1, 2, 3]; returns the status, y and the last state. */
static assay_status sums_run(assay_env *env, const as_attr *attrs, int n_attrs, int32_t length, float *y, float *last)
{
    float          x[3] = {1, 2, 3}, one = 1, h = 10;
    as_shape       matrix = AS_SHAPE(1, 1, 1), lengths = AS_SHAPE(1), series = AS_SHAPE(3, 1, 1);
    as_view        in[6] = {as_view_of(x, AS_F32, &series),        as_view_of(&one, AS_F32, &matrix),
                            as_view_of(&one, AS_F32, &matrix),     {0},
                            as_view_of(&length, AS_I32, &lengths), as_view_of(&h, AS_F32, &matrix)};
    as_tensor_info info[6], out[2];
    for (int i = 0; i < 6; i++)
        info[i] = (as_tensor_info){.dtype = in[i].dtype, .shape = in[i].shape};
    as_node_ctx n = {
        .op = as_op_find("RNN"), .name = "sums", .attrs = attrs, .n_attrs = n_attrs, .in = info, .n_in = 6, .n_out = 2};
    AS_TRY(as_op_infer(env, &n, out));
    n.out = out;
    as_view result[2] = {as_view_of(y, AS_F32, &out[0].shape), as_view_of(last, AS_F32, &out[1].shape)};
    return n.op->eval(env, &n, in, result);
}

Test(recurrent, the_last_state_is_that_of_the_last_step_of_a_short_sequence)
{
    assay_env *env;
    float      y[3], last;
    as_attr    attrs[] = {AS_ATTR_TEXT_LIST("activations", "affine"), AS_ATTR_S("direction", "reverse")};
    expect(assay_env_new(&env) == ASSAY_OK);
    expect_ok(env, sums_run(env, attrs, 1, 2, y, &last));
    expect_near(y[0], 11, 0);
    expect_near(y[1], 13, 0);
    expect_near(y[2], 0, 0); /* behind its end */
    expect_near(last, 13, 0);
    expect_ok(env, sums_run(env, attrs, 2, 2, y, &last));
    expect_near(y[0], 13, 0);
    expect_near(y[1], 12, 0);
    expect_near(y[2], 0, 0);
    expect_near(last, 13, 0);
    expect_ok(env, sums_run(env, attrs, 1, 0, y, &last));
    expect_near(y[0], 0, 0);
    expect_near(last, 0, 0);
    assay_env_free(env);
}

Test(recurrent, a_length_beyond_the_steps_is_refused_when_it_is_seen)
{
    assay_env *env;
    float      y[3], last;
    expect(assay_env_new(&env) == ASSAY_OK);
    expect(sums_run(env, NULL, 0, 4, y, &last) == ASSAY_BAD_INPUT);
    expect_has(assay_message(env), "sequence_lens[0] is 4, outside of 0 to 3");
    expect(sums_run(env, NULL, 0, -1, y, &last) == ASSAY_BAD_INPUT);
    assay_env_free(env);
}

/* The first step gives f(1 + 10); the expected values were computed by hand. */
Test(recurrent, every_activation_follows_its_formula)
{
    static const struct {
        const char *name;
        double      alpha, beta, at_11;
    } table[] = {
        {"Relu", 0, 0, 11},
        {"Tanh", 0, 0, 1},
        {"Sigmoid", 0, 0, 1},
        {"Affine", 0.5, 2, 7.5},
        {"LeakyRelu", 0.25, 0, 11},
        {"ThresholdedRelu", 12, 0, 0},
        {"ScaledTanh", 3, 5, 3},
        {"HardSigmoid", 0.05, 0.1, 0.65},
        {"Elu", 2, 0, 11},
        {"Softsign", 0, 0, 11.0 / 12},
        {"Softplus", 0, 0, 11.0000167},
    };
    assay_env *env;
    float      y[3], last;
    expect(assay_env_new(&env) == ASSAY_OK);
    for (size_t i = 0; i < AS_COUNT(table); i++) {
        as_attr attrs[] = {AS_ATTR_TEXT_LIST("activations", table[i].name), FLOATS("activation_alpha", table[i].alpha),
                           FLOATS("activation_beta", table[i].beta)};
        expect_ok(env, sums_run(env, attrs, 3, 1, y, &last));
        if (fabs((double)last - table[i].at_11) > 2e-5)
            fail("%s(11) is %g, expected %g", table[i].name, (double)last, table[i].at_11);
    }
    assay_env_free(env);
}
