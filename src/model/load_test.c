/* load_test.c - from a spec to a model: suffixes, seeds, and weights from a file. */
#include "tests/runner/test.h"

#include "model/test_support.h"

static assay_status load(assay_env *env, const char *spec, const char *seed, const char *weights, assay_model **out)
{
    assay_options *options = NULL;
    expect_ok(env, assay_options_new(env, &options));
    if (seed)
        expect_ok(env, assay_options_set(env, options, "seed", seed));
    if (weights)
        expect_ok(env, assay_options_set(env, options, "weights", weights));
    assay_status status = assay_model_load(env, spec, options, out);
    assay_options_free(options);
    return status;
}

static const as_value *value(const assay_model *model, const char *name)
{
    int id = as_model_value_find(model, name);
    if (id < 0)
        fail("no value '%s'", name);
    return &model->values[id];
}

Test(load, draws_other_weights_for_another_seed)
{
    assay_env   *env = test_env();
    assay_model *a = NULL, *b = NULL, *c = NULL;
    expect_ok(env, load(env, "mlp:sizes=4x3", "5", NULL, &a));
    expect_ok(env, load(env, "mlp:sizes=4x3", "5", NULL, &b));
    expect_ok(env, load(env, "mlp:sizes=4x3", "6", NULL, &c));
    expect(!memcmp(value(a, "fc1.weight")->data, value(b, "fc1.weight")->data, 48));
    expect(memcmp(value(a, "fc1.weight")->data, value(c, "fc1.weight")->data, 48) != 0);
    assay_model_free(a);
    assay_model_free(b);
    assay_model_free(c);
    assay_env_free(env);
}

Test(load, a_model_is_called_by_its_file_or_as_it_was_asked_for)
{
    assay_env   *env = test_env();
    assay_model *model = NULL, *again = NULL;
    expect_ok(env, load(env, "mlp:sizes=4x3", NULL, NULL, &model));
    expect_str(model->name, "mlp:sizes=4x3");
    expect_str(model->own_name, "mlp");
    expect_ok(env, as_model_json_save(env, model, as_test_path("my net.json")));
    expect_ok(env, load(env, as_test_path("my net.json"), NULL, NULL, &again));
    expect_str(again->name, "my net.json");
    expect_str(again->own_name, "mlp");
    assay_model_free(again);
    assay_model_free(model);
    assay_env_free(env);
}

Test(load, takes_a_known_suffix_for_a_file)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    expect_fails(env, load(env, as_test_path("none.json"), NULL, NULL, &model), ASSAY_NOT_FOUND, "none.json");
    expect_fails(env, load(env, as_test_dir(), NULL, NULL, &model), ASSAY_NOT_FOUND, "no file and no built-in network");
    const char *path = as_test_path("net.bin");
    expect_ok(env, as_file_write(env, path, "x", 1));
    expect_fails(env, load(env, path, NULL, NULL, &model), ASSAY_BAD_INPUT, "net.bin: unknown file suffix; known: .json");
    expect(!model);
    assay_env_free(env);
}

/* --- Weights ------------------------------------------------------------------------------------- */

static float   four[] = {1, 2, 3, 4};
static double  four_wide[] = {0.5, 1.5, 2.5, 3.5};
static float   two[] = {-1, -2};
static int32_t whole[] = {1, 2};

static const char *weights_save(assay_env *env, const as_named_view *items, size_t n)
{
    const char *path = as_test_path("w.safetensors");
    expect_ok(env, as_safetensors_save(env, path, items, n));
    return path;
}

#define WEIGHT(v_, dtype_, ...)                                          \
    {                                                                    \
        "fc1.weight", as_view_of((v_), (dtype_), &AS_SHAPE(__VA_ARGS__)) \
    }
#define BIAS(v_, dtype_)                                     \
    {                                                        \
        "fc1.bias", as_view_of((v_), (dtype_), &AS_SHAPE(2)) \
    }

Test(load, takes_weights_from_a_file_by_name)
{
    assay_env          *env = test_env();
    assay_model        *model = NULL;
    const as_named_view items[] = {BIAS(two, AS_F32), WEIGHT(four, AS_F32, 2, 2)};
    expect_ok(env, load(env, "mlp:sizes=2x2", NULL, weights_save(env, items, 2), &model));
    expect(!memcmp(value(model, "fc1.weight")->data, four, sizeof four));
    expect(!memcmp(value(model, "fc1.bias")->data, two, sizeof two));
    assay_model_free(model);
    assay_env_free(env);
}

Test(load, converts_wider_and_narrower_floats_to_f32)
{
    assay_env          *env = test_env();
    assay_model        *model = NULL;
    uint16_t            half[] = {as_f16_from_f32(0.25f), as_f16_from_f32(-8.0f)};
    const as_named_view items[] = {BIAS(half, AS_F16), WEIGHT(four_wide, AS_F64, 2, 2)};
    expect_ok(env, load(env, "mlp:sizes=2x2", NULL, weights_save(env, items, 2), &model));
    const float *weight = value(model, "fc1.weight")->data, *bias = value(model, "fc1.bias")->data;
    expect_near(weight[3], 3.5, 0);
    expect_near(bias[0], 0.25, 0);
    expect_near(bias[1], -8, 0);
    expect_eq(value(model, "fc1.bias")->dtype, AS_F32);
    assay_model_free(model);
    assay_env_free(env);
}

static void expect_weights_fail(const as_named_view *items, size_t n, const char *sentence)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    expect_fails(env, load(env, "mlp:sizes=2x2", NULL, weights_save(env, items, n), &model), ASSAY_BAD_INPUT, sentence);
    expect(!model);
    assay_env_free(env);
}

Test(load, names_the_tensor_that_does_not_fit)
{
    const as_named_view missing[] = {BIAS(two, AS_F32)};
    const as_named_view extra[] = {
        BIAS(two, AS_F32), WEIGHT(four, AS_F32, 2, 2), {"fc2.bias", as_view_of(two, AS_F32, &AS_SHAPE(1))}};
    const as_named_view shape[] = {BIAS(two, AS_F32), WEIGHT(four, AS_F32, 4, 1)};
    const as_named_view dtype[] = {BIAS(whole, AS_I32), WEIGHT(four, AS_F32, 2, 2)};
    expect_weights_fail(missing, 1, "w.safetensors: there is no tensor 'fc1.weight' for the parameter of that name, f32 [2,2]");
    expect_weights_fail(extra, 3, "w.safetensors: tensor 'fc2.bias', f32 [1], belongs to no parameter of model mlp");
    expect_weights_fail(shape, 2, "w.safetensors: tensor 'fc1.weight' is [4,1] and the parameter is [2,2]");
    expect_weights_fail(dtype, 2, "w.safetensors: tensor 'fc1.bias' is i32 [2] and the parameter is f32 [2]");
}

Test(load, says_so_when_there_is_no_weights_file)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    expect_fails(env, load(env, "mlp-small", NULL, as_test_path("none.safetensors"), &model), ASSAY_NOT_FOUND, "none.safetensors");
    expect(!model);
    assay_env_free(env);
}

#define FILE_WITH(params_)                                                                           \
    "{\"format\":\"assay.model/1\",\"name\":\"t\",\"weights\":\"w.safetensors\",\"inputs\":[" X_F64( \
        "[1]") "],\"params\":[" params_ "],\"nodes\":[],\"outputs\":[\"x\"]}"
#define LATER "{\"name\":\"fc1.weight\",\"dtype\":\"f32\",\"shape\":[2,2]}"
#define GIVEN "{\"name\":\"fc1.bias\",\"dtype\":\"f32\",\"shape\":[2],\"values\":[7,8]}"

static const char *file_save(assay_env *env, const char *text)
{
    const char *path = as_test_path("m.json");
    expect_ok(env, as_file_write(env, path, text, strlen(text)));
    return path;
}

Test(load, fills_what_a_model_file_leaves_to_its_weights)
{
    assay_env          *env = test_env();
    assay_model        *model = NULL;
    const as_named_view items[] = {WEIGHT(four, AS_F32, 2, 2)}, both[] = {BIAS(two, AS_F32), WEIGHT(four_wide, AS_F64, 2, 2)};
    weights_save(env, items, 1);
    const char *path = file_save(env, FILE_WITH(LATER "," GIVEN));
    expect_ok(env, load(env, path, NULL, NULL, &model));
    expect(!memcmp(value(model, "fc1.weight")->data, four, sizeof four));
    expect_near(((const float *)value(model, "fc1.bias")->data)[1], 8, 0);
    assay_model_free(model);
    /* The option comes last and replaces everything, even the file's own weights. */
    const char *over = as_test_path("over.safetensors");
    expect_ok(env, as_safetensors_save(env, over, both, 2));
    expect_ok(env, load(env, path, NULL, over, &model));
    expect_near(((const float *)value(model, "fc1.weight")->data)[3], 3.5, 0);
    expect_near(((const float *)value(model, "fc1.bias")->data)[1], -2, 0);
    assay_model_free(model);
    assay_env_free(env);
}

Test(load, refuses_weights_that_a_model_file_did_not_ask_for)
{
    assay_env          *env = test_env();
    assay_model        *model = NULL;
    const as_named_view both[] = {BIAS(two, AS_F32), WEIGHT(four, AS_F32, 2, 2)};
    weights_save(env, both, 2);
    expect_fails(env, load(env, file_save(env, FILE_WITH(LATER "," GIVEN)), NULL, NULL, &model), ASSAY_BAD_INPUT,
                 "tensor 'fc1.bias', f32 [2], belongs to no parameter of model t that leaves its values to this file");
    weights_save(env, both, 1);
    expect_fails(env, load(env, file_save(env, FILE_WITH(LATER)), NULL, NULL, &model), ASSAY_BAD_INPUT,
                 "there is no tensor 'fc1.weight'");
    expect(!model);
    assay_env_free(env);
}

Test(load, frees_nothing_when_given_nothing) { assay_model_free(NULL); }
