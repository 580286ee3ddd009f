/* fmt_json_test.c - the JSON model file: what it means, how it is refused, and that it is the same after being saved. */
#include "tests/runner/test.h"

#include "model/test_support.h"

static void expect_refusal(const char *text, const char *sentence)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    expect_fails(env, test_parse(env, text, &model), ASSAY_BAD_INPUT, sentence);
    expect(!model);
    assay_env_free(env);
}

#define X                 X_F64("[\"batch\",2]")
#define RELU              "{\"op\":\"Relu\",\"in\":[\"x\"],\"out\":[\"y\"]}"
#define PARAM(rest_)      "{\"name\":\"p\",\"dtype\":\"f32\"," rest_ "}"
#define WITH_PARAM(rest_) MODEL(X, PARAM(rest_), RELU, "\"y\"")
#define WITH_NODE(node_)  MODEL(X, "", RELU "," node_, "\"y\"")
#define WITH_CONSTANT(constant_)                                                                                     \
    "{\"format\":\"assay.model/1\",\"name\":\"t\",\"inputs\":[" X "],\"constants\":[" constant_ "],\"nodes\":[" RELU \
    "],\"outputs\":[\"y\"]}"
#define ROOT(rest_) "{\"format\":\"assay.model/1\",\"name\":\"t\"," rest_ "}"

Test(fmt_json, says_where_the_text_is_broken)
{
    expect_refusal("{\"format\": }", "model: m.json: line 1, column 12:");
    expect_refusal("", "model: m.json: line 1");
    expect_refusal("{\"name\":1,\"name\":2}", "duplicate object key");
}

Test(fmt_json, refuses_other_formats_first)
{
    expect_refusal("{\"format\":\"assay.trace/1\",\"strange\":1}",
                   "model: m.json: \"format\" is \"assay.trace/1\" and must be \"assay.model/1\"");
    expect_refusal("[]", "model: m.json: it must be an object");
    expect_refusal("{\"name\":\"t\",\"inputs\":[],\"nodes\":[],\"outputs\":[]}", "model: m.json: the key \"format\" is missing");
    expect_refusal("{\"format\":1}", "\"format\" must be a text");
}

Test(fmt_json, names_unknown_keys_and_their_place)
{
    expect_refusal(ROOT("\"inputs\":[],\"node\":[],\"outputs\":[]"),
                   "model: m.json: unknown key \"node\" (did you mean \"nodes\"?)");
    expect_refusal(
        WITH_NODE("{\"op\":\"Relu\",\"in\":[\"x\"],\"out\":[\"a\"]},{\"op\":\"Relu\",\"in\":[\"x\"],\"out\":[\"z\"],\"atrs\":{}}"),
        "model: m.json: nodes[2]: unknown key \"atrs\" (did you mean \"attrs\"?)");
    expect_refusal(MODEL("{\"name\":\"x\",\"dtyp\":\"f32\",\"shape\":[]}", "", "", ""),
                   "inputs[0]: unknown key \"dtyp\" (did you mean \"dtype\"?)");
    expect_refusal(WITH_PARAM("\"shape\":[1],\"random\":{\"fan\":3}"), "params[0]: unknown key \"fan\"");
    expect_refusal(WITH_CONSTANT("{\"name\":\"c\",\"dtype\":\"f32\",\"shape\":[],\"values\":[1],\"quux\":1}"),
                   "constants[0]: unknown key \"quux\"");
}

Test(fmt_json, names_missing_keys_and_their_place)
{
    expect_refusal(ROOT("\"inputs\":[],\"nodes\":[]"), "model: m.json: the key \"outputs\" is missing");
    expect_refusal(ROOT("\"nodes\":[],\"outputs\":[]"), "the key \"inputs\" is missing");
    expect_refusal(ROOT("\"inputs\":[],\"outputs\":[]"), "the key \"nodes\" is missing");
    expect_refusal("{\"format\":\"assay.model/1\",\"inputs\":[],\"nodes\":[],\"outputs\":[]}", "the key \"name\" is missing");
    expect_refusal(WITH_NODE("{\"in\":[\"x\"],\"out\":[\"z\"]}"), "nodes[1]: the key \"op\" is missing");
    expect_refusal(WITH_NODE("{\"op\":\"Relu\",\"out\":[\"z\"]}"), "nodes[1]: the key \"in\" is missing");
    expect_refusal(WITH_NODE("{\"op\":\"Relu\",\"in\":[\"x\"]}"), "nodes[1]: the key \"out\" is missing");
    expect_refusal(WITH_PARAM("\"values\":[1]"), "params[0]: the key \"shape\" is missing");
    expect_refusal(WITH_PARAM("\"shape\":[1],\"random\":{}"), "params[0]: the key \"fan_in\" is missing");
    expect_refusal(WITH_CONSTANT("{\"name\":\"c\",\"dtype\":\"f32\",\"shape\":[]}"), "constants[0]: the key \"values\" is missing");
}

Test(fmt_json, names_wrong_types_and_their_place)
{
    expect_refusal(ROOT("\"inputs\":{},\"nodes\":[],\"outputs\":[]"), "model: m.json: \"inputs\" must be a list");
    expect_refusal(MODEL("3", "", "", ""), "inputs[0]: it must be an object");
    expect_refusal(WITH_NODE("{\"op\":1,\"in\":[\"x\"],\"out\":[\"z\"]}"), "nodes[1]: \"op\" must be a text");
    expect_refusal(WITH_NODE("{\"op\":\"Relu\",\"in\":\"x\",\"out\":[\"z\"]}"), "nodes[1]: \"in\" must be a list");
    expect_refusal(WITH_NODE("{\"op\":\"Relu\",\"in\":[1],\"out\":[\"z\"]}"), "nodes[1]: \"in\"[0] must be a text");
    expect_refusal(WITH_NODE("{\"op\":\"Relu\",\"in\":[\"x\"],\"out\":[null]}"), "nodes[1]: \"out\"[0] must be a text");
    expect_refusal(WITH_NODE("{\"op\":\"Relu\",\"in\":[\"x\"],\"out\":[\"z\"],\"attrs\":[]}"),
                   "nodes[1]: \"attrs\" must be an object");
    expect_refusal(WITH_PARAM("\"shape\":[1],\"random\":{\"fan_in\":1.5}"), "params[0]: \"fan_in\" must be a whole number");
    expect_refusal(MODEL(X, "", RELU, "\"y\",7"), "outputs[1]: it must be a text");
}

Test(fmt_json, refuses_shapes_and_dtypes_that_are_none)
{
    expect_refusal(MODEL("{\"name\":\"x\",\"dtype\":\"f31\",\"shape\":[]}", "", "", ""),
                   "inputs[0]: unknown dtype \"f31\" (did you mean \"f");
    expect_refusal(MODEL(X_F64("[1,-2]"), "", "", ""),
                   "inputs[0]: \"shape\"[1] must be a whole number from 0 or the name of a dimension");
    expect_refusal(MODEL(X_F64("[\"\"]"), "", "", ""), "inputs[0]: \"shape\"[0] must be a whole number from 0 or");
    expect_refusal(MODEL(X_F64("[1.5]"), "", "", ""), "inputs[0]: \"shape\"[0] must be");
    expect_refusal(MODEL(X_F64("[1,1,1,1,1,1,1,1,1]"), "", "", ""), "inputs[0]: \"shape\" has 9 sizes and at most 8 are possible");
    expect_refusal(MODEL(X_F64("[4294967296,4294967296]"), "", "", ""),
                   "inputs[0]: input 'x' of f64 [4294967296,4294967296]: a size is negative or their product too large");
    expect_refusal(WITH_PARAM("\"shape\":[\"n\"],\"values\":[]"), "params[0]: \"shape\"[0] must be a whole number from 0");
    expect_refusal(WITH_PARAM("\"shape\":[9223372036854775807,3],\"values\":[1]"),
                   "params[0]: \"shape\" [9223372036854775807,3] of f32 is too large");
    expect_refusal(WITH_PARAM("\"shape\":[0,9223372036854775807,3],\"values\":[]"), "is too large");
}

Test(fmt_json, refuses_weights_that_no_machine_should_draw)
{
    expect_refusal(WITH_PARAM("\"shape\":[1099511627776],\"random\":{\"fan_in\":1}"),
                   "params[0]: parameter 'p' of f32 [1099511627776] has 4398046511104 bytes and brings the parameters above the "
                   "limit of 17179869184 bytes");
    expect_refusal(WITH_PARAM("\"shape\":[3],\"random\":{\"fan_in\":0}"), "params[0]: parameter 'p' of f32 with fan_in 0");
    expect_refusal(MODEL(X, "{\"name\":\"p\",\"dtype\":\"i32\",\"shape\":[2],\"random\":{\"fan_in\":1}}", RELU, "\"y\""),
                   "random values need a float dtype");
}

Test(fmt_json, refuses_values_that_do_not_fit)
{
    expect_refusal(WITH_PARAM("\"shape\":[3],\"values\":[1,2]"), "params[0]: \"values\" has 2 numbers and the shape [3] needs 3");
    expect_refusal(WITH_PARAM("\"shape\":[1099511627776],\"values\":[1,2]"),
                   "\"values\" has 2 numbers and the shape [1099511627776] needs 1099511627776");
    expect_refusal(WITH_PARAM("\"shape\":[2],\"values\":[1,\"two\"]"), "params[0]: \"values\"[1] must be a number, \"nan\"");
    expect_refusal(WITH_PARAM("\"shape\":[1],\"values\":[1e300]"), "params[0]: \"values\"[0] is 1e+300, which does not fit f32");
    expect_refusal(WITH_PARAM("\"shape\":[1]"), "params[0]: parameter 'p' needs \"values\" or \"random\"");
    expect_refusal(WITH_PARAM("\"shape\":[1],\"values\":[1],\"random\":{\"fan_in\":1}"),
                   "params[0]: parameter 'p' has both \"values\" and \"random\"");
    expect_refusal(WITH_CONSTANT("{\"name\":\"c\",\"dtype\":\"u8\",\"shape\":[2],\"values\":[255,256]}"),
                   "constants[0]: \"values\"[1] is 256, which does not fit u8");
    expect_refusal(WITH_CONSTANT("{\"name\":\"c\",\"dtype\":\"bool\",\"shape\":[1],\"values\":[2]}"),
                   "\"values\"[0] is 2, which does not fit bool");
    expect_refusal(WITH_CONSTANT("{\"name\":\"c\",\"dtype\":\"i64\",\"shape\":[1],\"values\":[1.0]}"),
                   "\"values\"[0] must be a whole number");
    expect_refusal(WITH_CONSTANT("{\"name\":\"c\",\"dtype\":\"bool\",\"shape\":[1],\"values\":[null]}"),
                   "\"values\"[0] must be a whole number, true or false");
}

Test(fmt_json, refuses_graphs_that_are_none)
{
    expect_refusal(WITH_NODE("{\"op\":\"Gem\",\"in\":[\"x\"],\"out\":[\"z\"]}"),
                   "nodes[1]: unknown operator 'Gem' (did you mean 'Gemm'?)");
    expect_refusal(WITH_NODE("{\"op\":\"Tanh\",\"name\":\"n\",\"in\":[\"q\"],\"out\":[\"z\"]}"),
                   "model: m.json: node 'n' reads 'q', which is not an input");
    expect_refusal(MODEL(X, "", RELU, "\"z\""),
                   "model: m.json: the output 'z' is not an input, parameter, constant or result of a node");
    expect_refusal(MODEL(X, "", RELU, ""), "model: m.json: it has no output");
    expect_refusal(MODEL(X, "", RELU, "\"y\",\"y\""), "outputs[1]: 'y' is an output twice");
    expect_refusal(MODEL(X "," X, "", RELU, "\"y\""), "inputs[1]: two values have the name 'x'");
    expect_refusal(MODEL(X, P_F64("x", "[1]"), RELU, "\"y\""), "params[0]: two values have the name 'x'");
    expect_refusal(WITH_NODE("{\"op\":\"Relu\",\"in\":[\"x\"],\"out\":[\"y\"]}"), "nodes[1]: two values have the name 'y'");
    expect_refusal(WITH_NODE("{\"op\":\"Relu\",\"in\":[\"x\"],\"out\":[\"x\"]}"), "nodes[1]: two values have the name 'x'");
    expect_refusal(
        WITH_NODE(
            "{\"op\":\"Relu\",\"name\":\"n\",\"in\":[\"x\"],\"out\":[\"a\"]},{\"op\":\"Relu\",\"name\":\"n\",\"in\":[\"x\"],\"out\":[\"b\"]}"),
        "nodes[2]: two nodes have the name 'n'");
    expect_refusal(
        WITH_NODE(
            "{\"op\":\"Relu\",\"name\":\"n\",\"in\":[\"b\"],\"out\":[\"a\"]},{\"op\":\"Relu\",\"name\":\"o\",\"in\":[\"a\"],\"out\":[\"b\"]}"),
        "a cycle: node 'o' reads 'a'");
    expect_refusal(WITH_NODE("{\"op\":\"Relu\",\"name\":\"\",\"in\":[\"x\"],\"out\":[\"a\"]}"),
                   "nodes[1]: the name of one node is empty");
    expect_refusal(WITH_NODE("{\"op\":\"Relu\",\"in\":[\"x\"],\"out\":[\"\"]}"), "nodes[1]: the name of one value is empty");
    expect_refusal(WITH_NODE("{\"op\":\"Relu\",\"in\":[\"x\"],\"out\":[]}"), "nodes[1]: Relu '' has 0 outputs and gives 1 to 1");
    expect_refusal(WITH_NODE("{\"op\":\"Add\",\"name\":\"n\",\"in\":[\"x\"],\"out\":[\"a\"]}"),
                   "nodes[1]: Add 'n' has 1 inputs and takes 2 to 2");
    expect_refusal(WITH_NODE("{\"op\":\"Add\",\"name\":\"n\",\"in\":[\"\",\"x\"],\"out\":[\"a\"]}"),
                   "nodes[1]: Add 'n': input 0 is absent");
    expect_refusal(WITH_NODE("{\"op\":\"Add\",\"in\":["
                             "\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\","
                             "\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\","
                             "\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\","
                             "\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\","
                             "\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\""
                             "],\"out\":[\"a\"]}"),
                   "nodes[1]: \"in\" has 65 names and at most 64 are possible");
    expect_refusal(WITH_NODE("{\"op\":\"Add\",\"in\":[\"x\"],\"out\":["
                             "\"0\",\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\","
                             "\"13\",\"14\",\"15\",\"16\",\"17\",\"18\",\"19\",\"20\",\"21\",\"22\",\"23\",\"24\",\"25\","
                             "\"26\",\"27\",\"28\",\"29\",\"30\",\"31\",\"32\",\"33\",\"34\",\"35\",\"36\",\"37\",\"38\","
                             "\"39\",\"40\",\"41\",\"42\",\"43\",\"44\",\"45\",\"46\",\"47\",\"48\",\"49\",\"50\",\"51\","
                             "\"52\",\"53\",\"54\",\"55\",\"56\",\"57\",\"58\",\"59\",\"60\",\"61\",\"62\",\"63\",\"64\""
                             "]}"),
                   "nodes[1]: \"out\" has 65 names and at most 64 are possible");
    expect_refusal("{\"format\":\"assay.model/1\",\"name\":\"\",\"inputs\":[],\"nodes\":[],\"outputs\":[]}",
                   "\"name\" must have 1 to 512 bytes");
}

Test(fmt_json, refuses_attributes_that_the_operator_does_not_have)
{
#define GEMM(attrs_) WITH_NODE("{\"op\":\"Gemm\",\"in\":[\"x\",\"x\"],\"out\":[\"z\"],\"attrs\":{" attrs_ "}}")
    expect_refusal(GEMM("\"tranB\":1"), "nodes[1]: Gemm has no attribute \"tranB\" (did you mean \"trans");
    expect_refusal(GEMM("\"transB\":1.5"), "nodes[1]: attribute \"transB\" must be a whole number");
    expect_refusal(GEMM("\"alpha\":\"one\""), "nodes[1]: attribute \"alpha\" must be a number");
    expect_refusal(WITH_NODE("{\"op\":\"Conv\",\"in\":[\"x\",\"x\"],\"out\":[\"z\"],\"attrs\":{\"pads\":[1,1.5]}}"),
                   "nodes[1]: attribute \"pads\" must be a list of whole numbers");
    expect_refusal(WITH_NODE("{\"op\":\"Conv\",\"in\":[\"x\",\"x\"],\"out\":[\"z\"],\"attrs\":{\"pads\":1}}"),
                   "nodes[1]: attribute \"pads\" must be a list of whole numbers");
    expect_refusal(WITH_NODE("{\"op\":\"Conv\",\"in\":[\"x\",\"x\"],\"out\":[\"z\"],\"attrs\":{\"auto_pad\":1}}"),
                   "nodes[1]: attribute \"auto_pad\" must be a text");
    expect_refusal(WITH_NODE("{\"op\":\"Relu\",\"in\":[\"x\"],\"out\":[\"z\"],\"attrs\":{\"alpha\":1}}"),
                   "nodes[1]: Relu has no attribute \"alpha\"");
    expect_refusal(WITH_NODE("{\"op\":\"MaxPool\",\"in\":[\"x\"],\"out\":[\"z\"]}"),
                   "nodes[1]: MaxPool needs the attribute \"kernel_shape\"");
}

Test(fmt_json, keeps_weights_inside_the_files_directory)
{
    const char *const bad[] = {"/w.safetensors", "../w.safetensors", "a/../../w", "..", "a/..", ""};
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        char text[512];
        snprintf(text, sizeof text, ROOT("\"weights\":\"%s\",\"inputs\":[],\"nodes\":[],\"outputs\":[]"), bad[i]);
        expect_refusal(text, "and must be a path below the model file, without \"..\"");
    }
}

Test(fmt_json, refuses_more_nodes_than_a_graph_may_have)
{
    enum { N = AS_MAX_NODES + 1, EACH = 64 };
    char *text = malloc((size_t)N * EACH + 1024), *at = text;
    at += sprintf(at, "{\"format\":\"assay.model/1\",\"name\":\"t\",\"inputs\":[" X "],\"outputs\":[\"x\"],\"nodes\":[");
    for (int i = 0; i < N; i++)
        at += sprintf(at, "%s{\"op\":\"Relu\",\"in\":[\"x\"],\"out\":[\"v%d\"]}", i ? "," : "", i);
    sprintf(at, "]}");
    assay_env   *env = test_env();
    assay_model *model = NULL;
    assay_status status = test_parse(env, text, &model);
    free(text);
    expect_eq(status, ASSAY_BAD_INPUT);
    expect_has(assay_message(env), "nodes[100000]: more than 100000 nodes");
    assay_env_free(env);
}

Test(fmt_json, reads_a_whole_number_where_the_operator_wants_a_float)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    expect_ok(env, test_parse(env,
                              MODEL(X_F64("[2,2]"), "",
                                    "{\"op\":\"Gemm\",\"in\":[\"x\",\"x\"],\"out\":[\"y\"],\"attrs\":{\"alpha\":2}}", "\"y\""),
                              &model));
    expect_eq(model->nodes[0].attrs[0].kind, AS_ATTR_FLOAT);
    expect_near(model->nodes[0].attrs[0].f, 2, 0);
    assay_model_free(model);
    assay_env_free(env);
}

/* Loads what was saved and compares the outputs of both bit for bit. */
Test(fmt_json, keeps_the_module_of_a_node)
{
    assay_env   *env = test_env();
    assay_model *model = NULL, *again = NULL;
    expect_ok(env, test_parse(env,
                              MODEL(X_F64("[2]"), "",
                                    "{\"op\":\"Relu\",\"name\":\"r\",\"module\":\"a.b\",\"in\":[\"x\"],\"out\":[\"h\"]},"
                                    "{\"op\":\"Abs\",\"in\":[\"h\"],\"out\":[\"y\"]}",
                                    "\"y\""),
                              &model));
    expect_str(model->nodes[0].module, "a.b");
    expect_str(model->nodes[1].module, "");
    expect_ok(env, as_model_json_save(env, model, as_test_path("module.json")));
    expect_ok(env, assay_model_load(env, as_test_path("module.json"), NULL, &again));
    expect_str(again->nodes[0].module, "a.b");
    expect_str(again->nodes[0].name, "r");
    expect_str(again->nodes[1].module, "");
    assay_model_free(again);
    assay_model_free(model);
    assay_env_free(env);
}

static void expect_round_trip(assay_env *env, assay_model *model, int64_t batch)
{
    const char  *path = as_test_path("saved.json");
    assay_model *again = NULL;
    test_run     a, b;
    expect_ok(env, as_model_json_save(env, model, path));
    expect_ok(env, assay_model_load(env, path, NULL, &again));
    expect_str(again->own_name, model->own_name);
    expect_eq(again->n_values, model->n_values);
    test_bind(env, model, batch, &a);
    test_bind(env, again, batch, &b);
    expect_ok(env, as_graph_eval(env, &a.graph, a.inputs, a.outputs));
    expect_ok(env, as_graph_eval(env, &b.graph, b.inputs, b.outputs));
    for (int i = 0; i < a.graph.n_outputs; i++)
        expect(!memcmp(a.outputs[i].data, b.outputs[i].data, as_view_bytes(&a.outputs[i])));
    as_arena_drop(&a.arena);
    as_arena_drop(&b.arena);
    assay_model_free(again);
    assay_model_free(model);
}

Test(fmt_json, saves_what_it_loads)
{
    static const char *const specs[] = {"mlp:sizes=9x7x3", "tiny-cnn.json", "tiny-mlp.json"};
    assay_env               *env = test_env();
    for (size_t i = 0; i < AS_COUNT(specs); i++) {
        assay_model *model = NULL;
        char         path[512];
        expect_ok(
            env, assay_model_load(env, strchr(specs[i], '.') ? test_example(path, sizeof path, specs[i]) : specs[i], NULL, &model));
        expect_round_trip(env, model, 2);
    }
    assay_env_free(env);
}

Test(fmt_json, saves_gradients_absent_inputs_and_numbers_that_json_lacks)
{
    assay_env   *env = test_env();
    assay_model *model = NULL, *back = NULL;
    expect_ok(env,
              test_parse(env,
                         MODEL(X_F64("[2,2]"),
                               "{\"name\":\"p\",\"dtype\":\"f64\",\"shape\":[2,2],\"values\":[\"nan\",\"-0\",\"inf\",\"-inf\"]}",
                               "{\"op\":\"Gemm\",\"in\":[\"x\",\"x\",\"\"],\"out\":[\"y\"],\"attrs\":{\"alpha\":0.1,\"transA\":1}}",
                               "\"y\",\"p\""),
                         &model));
    expect(signbit(((const double *)model->values[1].data)[1]));
    expect_round_trip(env, model, 0);
    expect_ok(
        env,
        test_parse(env,
                   MODEL(X_F64("[1,1,4,4]"), P_F64("w", "[2,1,3,3]"),
                         "{\"op\":\"Conv\",\"in\":[\"x\",\"w\"],\"out\":[\"y\"],\"attrs\":{\"auto_pad\":\"SAME_UPPER\"}}", "\"y\""),
                   &model));
    expect_ok(env, as_model_grad(env, model, NULL, 0, (const char *[]){"w"}, 1, &back));
    expect_round_trip(env, back, 0);
    assay_model_free(model);
    assay_env_free(env);
}

/* A network without inputs: the value of one Constant node, compared element by element after being saved and loaded again. */
static void expect_constant(const char *attr, as_dtype dtype, int rank, const double *want, int64_t n)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    test_run     t;
    char         text[512];
    snprintf(text, sizeof text, MODEL("", "", "{\"op\":\"Constant\",\"in\":[],\"out\":[\"y\"],\"attrs\":{%s}}", "\"y\""), attr);
    expect_ok(env, test_parse(env, text, &model));
    test_bind(env, model, 0, &t);
    expect_ok(env, as_graph_eval(env, &t.graph, t.inputs, t.outputs));
    expect_eq(t.outputs[0].dtype, dtype);
    expect_eq(t.outputs[0].shape.rank, rank);
    expect_eq(as_shape_count(&t.outputs[0].shape), n);
    for (int64_t i = 0; i < n; i++)
        expect(as_view_get(&t.outputs[0], i) == want[i]);
    as_arena_drop(&t.arena);
    expect_round_trip(env, model, 0);
    assay_env_free(env);
}

Test(fmt_json, reads_and_saves_attributes_of_every_kind)
{
    expect_constant("\"value_int\":-3", AS_I64, 0, (const double[]){-3}, 1);
    expect_constant("\"value_ints\":[7,-9]", AS_I64, 1, (const double[]){7, -9}, 2);
    expect_constant("\"value_float\":0.5", AS_F32, 0, (const double[]){0.5}, 1);
    expect_constant("\"value_float\":\"inf\"", AS_F32, 0, (const double[]){INFINITY}, 1);
    expect_constant("\"value_floats\":[1,0.25,\"-inf\"]", AS_F32, 1, (const double[]){1, 0.25, -INFINITY}, 3);
    expect_constant("\"value_floats\":[]", AS_F32, 1, NULL, 0);
    expect_constant("\"value\":{\"dtype\":\"f64\",\"shape\":[2,1],\"values\":[0.1,-2]}", AS_F64, 2, (const double[]){0.1, -2}, 2);
    expect_constant("\"value\":{\"dtype\":\"bool\",\"shape\":[],\"values\":[true]}", AS_BOOL, 0, (const double[]){1}, 1);
    expect_constant("\"value\":{\"dtype\":\"f32\",\"shape\":[0,3],\"values\":[]}", AS_F32, 2, NULL, 0);
}

Test(fmt_json, refuses_attributes_of_another_kind)
{
#define CONSTANT(attr_) WITH_NODE("{\"op\":\"Constant\",\"in\":[],\"out\":[\"z\"],\"attrs\":{" attr_ "}}")
    expect_refusal(CONSTANT("\"value_float\":\"half\""), "nodes[1]: attribute \"value_float\" must be a number");
    expect_refusal(CONSTANT("\"value_float\":[1]"), "attribute \"value_float\" must be a number");
    expect_refusal(CONSTANT("\"value_int\":1.5"), "attribute \"value_int\" must be a whole number");
    expect_refusal(CONSTANT("\"value_floats\":1"), "attribute \"value_floats\" must be a list of numbers");
    expect_refusal(CONSTANT("\"value_floats\":[1,true]"), "attribute \"value_floats\" must be a list of numbers");
    expect_refusal(CONSTANT("\"value_ints\":[1.5]"), "attribute \"value_ints\" must be a list of whole numbers");
    expect_refusal(CONSTANT("\"value\":[1]"), "nodes[1]: it must be an object");
    expect_refusal(CONSTANT("\"value\":{\"dtype\":\"f32\",\"shape\":[2],\"values\":[1]}"), "nodes[1]:");
    expect_refusal(CONSTANT("\"value\":{\"dtype\":\"f31\",\"shape\":[1],\"values\":[1]}"), "f31");
    expect_refusal(CONSTANT("\"value\":{\"dtype\":\"f32\",\"shape\":[1]}"), "the key \"values\" is missing");
    expect_refusal(CONSTANT("\"value\":{\"dtype\":\"f32\",\"shape\":[1],\"values\":[1],\"name\":\"v\"}"), "unknown key \"name\"");
    expect_refusal(CONSTANT("\"value\":{\"dtype\":\"u8\",\"shape\":[1],\"values\":[256]}"), "nodes[1]:");
}

Test(fmt_json, keeps_integers_and_bools_exactly)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    expect_ok(
        env, test_parse(
                 env,
                 "{\"format\":\"assay.model/1\",\"name\":\"t\",\"inputs\":[],\"nodes\":[],\"outputs\":[\"a\",\"b\"],\"constants\":["
                 "{\"name\":\"a\",\"dtype\":\"i64\",\"shape\":[2],\"values\":[9223372036854775807,-9223372036854775808]},"
                 "{\"name\":\"b\",\"dtype\":\"bool\",\"shape\":[3],\"values\":[true,0,1]}]}",
                 &model));
    expect_eq(((const int64_t *)model->values[0].data)[0], INT64_MAX);
    expect_eq(((const int64_t *)model->values[0].data)[1], INT64_MIN);
    expect(!memcmp(model->values[1].data, "\1\0\1", 3));
    expect_round_trip(env, model, 0);
    assay_env_free(env);
}

Test(fmt_json, says_so_when_the_file_cannot_be_written)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    expect_ok(env, test_parse(env, MODEL(X, "", RELU, "\"y\""), &model));
    expect_fails(env, as_model_json_save(env, model, as_test_path("no/such/dir/m.json")), ASSAY_IO, "m.json");
    assay_model_free(model);
    assay_env_free(env);
}
