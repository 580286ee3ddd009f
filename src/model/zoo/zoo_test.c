/* zoo_test.c - the built-in networks and how they are named. */
#include "tests/runner/test.h"

#include "model/test_support.h"
#include "model/zoo/zoo.h"

static assay_model *load(assay_env *env, const char *spec)
{
    assay_model *model = NULL;
    expect_ok(env, assay_model_load(env, spec, NULL, &model));
    return model;
}

static as_shape shape_of(const assay_model *model, const char *name)
{
    int id = as_model_value_find(model, name);
    if (id < 0)
        fail("no value '%s'", name);
    return as_shape_of_dims(&model->values[id].dims);
}

static void expect_net(const char *spec, uint64_t n_params, const as_shape *x, const as_shape *y)
{
    assay_env   *env = test_env();
    assay_model *model = load(env, spec);
    test_run     t;
    expect_eq(as_model_param_count(model), n_params);
    expect_eq(as_model_param_bytes(model), 4 * n_params);
    expect_str(model->source, spec);
    test_bind(env, model, x->dim[0], &t);
    expect_eq(t.graph.n_inputs, 1);
    expect_eq(t.graph.n_outputs, 1);
    expect_str(t.graph.values[t.graph.inputs[0]].name, "x");
    expect_str(t.graph.values[t.graph.outputs[0]].name, "y");
    expect(as_shape_same(&t.inputs[0].shape, x));
    expect(as_shape_same(&t.outputs[0].shape, y));
    expect_ok(env, as_graph_eval(env, &t.graph, t.inputs, t.outputs));
    double sum = 0;
    for (int64_t i = 0; i < as_shape_count(y); i++)
        sum += fabs(as_view_get(&t.outputs[0], i));
    expect(isfinite(sum) && sum > 0);
    as_arena_drop(&t.arena);
    assay_model_free(model);
    assay_env_free(env);
}

Test(zoo, every_network_binds_and_has_one_line_of_help)
{
    assay_env *env = test_env();
    for (const as_zoo *const *zoo = as_zoo_table; *zoo; zoo++) {
        assay_model *model = load(env, (*zoo)->name);
        test_run     t;
        expect(strlen((*zoo)->help) > 10 && !strchr((*zoo)->help, '\n'));
        expect_str(model->name, (*zoo)->name);
        test_bind(env, model, 2, &t);
        as_arena_drop(&t.arena);
        assay_model_free(model);
    }
    assay_env_free(env);
}

Test(zoo, mlp_small_has_its_shapes) { expect_net("mlp-small", 101770, &AS_SHAPE(3, 784), &AS_SHAPE(3, 10)); }

Test(zoo, mlp_has_its_shapes)
{
    expect_net("mlp", 535818, &AS_SHAPE(1, 784), &AS_SHAPE(1, 10));
    expect_net("mlp:sizes=4x3x2", 23, &AS_SHAPE(5, 4), &AS_SHAPE(5, 2));
    expect_net("mlp:sizes=7x1", 8, &AS_SHAPE(2, 7), &AS_SHAPE(2, 1));
}

Test(zoo, cnn_small_has_its_shapes) { expect_net("cnn-small", 421642, &AS_SHAPE(1, 1, 28, 28), &AS_SHAPE(1, 10)); }

Test(zoo, parameters_have_torchs_names_and_shapes)
{
    assay_env   *env = test_env();
    assay_model *mlp = load(env, "mlp-small"), *cnn = load(env, "cnn-small");
    expect(as_shape_same(&(as_shape[]){shape_of(mlp, "fc1.weight")}[0], &AS_SHAPE(128, 784)));
    expect(as_shape_same(&(as_shape[]){shape_of(mlp, "fc2.bias")}[0], &AS_SHAPE(10)));
    expect(as_shape_same(&(as_shape[]){shape_of(cnn, "conv2.weight")}[0], &AS_SHAPE(64, 32, 3, 3)));
    expect(as_shape_same(&(as_shape[]){shape_of(cnn, "conv1.bias")}[0], &AS_SHAPE(32)));
    expect(as_shape_same(&(as_shape[]){shape_of(cnn, "fc1.weight")}[0], &AS_SHAPE(128, 3136)));
    assay_model_free(mlp);
    assay_model_free(cnn);
    assay_env_free(env);
}

static void expect_load_fails(const char *spec, assay_status status, const char *sentence)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    expect_fails(env, assay_model_load(env, spec, NULL, &model), status, sentence);
    expect(!model);
    assay_env_free(env);
}

Test(zoo, offers_the_nearest_network)
{
    expect_load_fails(
        "mlp-smal", ASSAY_NOT_FOUND,
        "model: there is no file and no built-in network 'mlp-smal' (did you mean 'mlp-small'?); see `assay list models`");
    expect_load_fails("quantum", ASSAY_NOT_FOUND, "no built-in network 'quantum'; see `assay list models`");
    expect_load_fails("", ASSAY_BAD_INPUT, "give a file or a name");
}

Test(zoo, names_the_keys_there_are)
{
    expect_load_fails("mlp:size=4x3", ASSAY_BAD_INPUT, "model: mlp has no key 'size'; its keys: sizes");
    expect_load_fails("mlp-small:sizes=4", ASSAY_BAD_INPUT, "model: mlp-small has no key 'sizes'; its keys: none");
}

Test(zoo, refuses_arguments_that_are_not_key_and_value)
{
    expect_load_fails("mlp:", ASSAY_BAD_INPUT, "model: mlp: '' is not of the form key=value");
    expect_load_fails("mlp:sizes", ASSAY_BAD_INPUT, "model: mlp: 'sizes' is not of the form key=value");
    expect_load_fails("mlp:sizes=", ASSAY_BAD_INPUT, "'sizes=' is not of the form key=value");
    expect_load_fails("mlp:=3", ASSAY_BAD_INPUT, "'=3' is not of the form key=value");
    expect_load_fails("mlp:sizes=3x2,", ASSAY_BAD_INPUT, "'' is not of the form key=value");
    expect_load_fails("mlp:sizes=3x2,sizes=3x2", ASSAY_BAD_INPUT, "the key 'sizes' is given twice");
}

Test(zoo, refuses_lists_that_are_not_widths)
{
    const char *rule = "must be whole numbers from 1 to 16777216 with x between them";
    expect_load_fails("mlp:sizes=3xx2", ASSAY_BAD_INPUT, rule);
    expect_load_fails("mlp:sizes=3x0", ASSAY_BAD_INPUT, rule);
    expect_load_fails("mlp:sizes=3x-1", ASSAY_BAD_INPUT, rule);
    expect_load_fails("mlp:sizes=3x2x", ASSAY_BAD_INPUT, rule);
    expect_load_fails("mlp:sizes=3.5x2", ASSAY_BAD_INPUT, rule);
    expect_load_fails("mlp:sizes=999999999999999999999999999999999999999999", ASSAY_BAD_INPUT, rule);
    expect_load_fails("mlp:sizes=5", ASSAY_BAD_INPUT, "model: mlp: sizes=5: an input width and at least one layer are needed");
    char many[2048] = "mlp:sizes=1";
    for (int i = 0; i < 256; i++)
        strcat(many, "x1");
    expect_load_fails(many, ASSAY_BAD_INPUT, "sizes has more than 256 numbers");
    expect_load_fails("mlp:sizes=16777216x16777216", ASSAY_BAD_INPUT, "brings the parameters above the limit of 17179869184 bytes");
}

Test(zoo, reads_standard_values_of_its_own_table)
{
    assay_env         *env = test_env();
    as_arena           arena = {0};
    const as_zoo      *zoo = NULL;
    const as_zoo_args *args = NULL;
    expect_ok(env, as_zoo_parse(env, &arena, "mlp", &zoo, &args));
    expect_str(as_zoo_text(args, "sizes"), "784x512x256x10");
    expect(!as_zoo_text(args, "nothing"));
    as_maker *m;
    expect_ok(env, as_maker_new(env, "t", 1, &m));
    expect_eq(as_zoo_int(m, args, "sizes", 1, 9), 0);
    assay_model *model = NULL;
    expect_fails(env, as_maker_finish(m, &model), ASSAY_BAD_INPUT,
                 "model: t: sizes=784x512x256x10 must be a whole number from 1 to 9");
    as_arena_drop(&arena);
    assay_env_free(env);
}
