/* onnx_module_test.c - names of layers out of what exporters leave behind, in files written field by field. */
#include "model/onnx/onnx.h"

#include <stdlib.h>

#include "tests/runner/test.h"
#include "model/onnx/test_onnx.h"

/* A node with a name and, in pairs, metadata; a key NULL ends them. */
static void named_put(builder *b, const char *op, const char *name, const char *in, const char *out, const char *const *metadata)
{
    as_text fields = {0};
    if (name)
        as_pb_put_text(&fields, 3, name);
    for (; metadata && metadata[0]; metadata += 2) {
        as_text entry = {0};
        as_pb_put_text(&entry, 1, metadata[0]);
        as_pb_put_text(&entry, 2, metadata[1]);
        sub(&fields, 9, &entry);
    }
    as_pb_put_text(&fields, 6, "");
    node_put(b, op, "", in, out, &fields);
}

static void weights_put(builder *b, const char *name, int64_t n)
{
    float  *data = calloc((size_t)n, sizeof *data);
    as_text t = tensor(name, 1, DIMS(n), data, (size_t)n * sizeof *data);
    sub(&b->graph, 5, &t);
    free(data);
}

static assay_model *model_of(assay_env *env, builder *b, as_text *file)
{
    assay_model *model = NULL;
    *file = file_of(b, 18);
    expect_ok(env, parse(env, file, &model));
    return model;
}

static void expect_layer(const assay_model *model, int i, const char *name, const char *module)
{
    expect(i < model->n_nodes);
    expect_str(model->nodes[i].name, name);
    expect_str(model->nodes[i].module, module);
}

/* One node y = op(x); its name and module. */
static void expect_one(const char *op, const char *own_name, const char *const *metadata, const char *name, const char *module)
{
    assay_env *env = test_env();
    builder    b = {0};
    as_text    file;
    INPUT(&b, "x", 3);
    named_put(&b, op, own_name, "x", "y", metadata);
    OUTPUT(&b, "y");
    assay_model *model = model_of(env, &b, &file);
    expect_layer(model, 0, name, module);
    assay_model_free(model);
    as_text_drop(&file);
    assay_env_free(env);
}

#define SCOPES(text) \
    (const char *const[]) { "pkg.torch.onnx.name_scopes", text, NULL }

Test(onnx_module, the_dynamo_exporters_scopes_are_the_module)
{
    expect_one("Relu", "node_relu_1", SCOPES("['', 'layer1', 'layer1.0', 'layer1.0.relu', 'relu_1']"), "layer1.0.relu",
               "layer1.0.relu");
    expect_one("Relu", "node_relu_1", SCOPES("[\"\", \"it's\", \"relu\"]"), "it's", "it's");
    expect_one("Relu", "node_relu", SCOPES("['', 'relu']"), "relu", ""); /* of the network itself: as the framework calls it */
    expect_one(
        "Relu", "node_relu",
        (const char *const[]){"namespace", ": net.Net/layer1: nn.Sequential/layer1.0: nn.ReLU/relu_1: aten.relu.default", NULL},
        "layer1.0", "layer1.0");
}

Test(onnx_module, names_with_slashes_are_paths)
{
    expect_one("Relu", "/layer4/layer4.1/conv2/Relu", NULL, "layer4.1.conv2", "layer4.1.conv2");
    expect_one("Relu", "/layers.0/mlp/mlp.0/Relu_3", NULL, "layers.0.mlp.0", "layers.0.mlp.0");
    expect_one("Relu", "/Relu", NULL, "Relu", "");
    expect_one("Relu", "model/dense_1/Relu", NULL, "model.dense_1", "model.dense_1");
    expect_one("Relu", "StatefulPartitionedCall/model/dense_1/Relu;other/name", NULL, "model.dense_1", "model.dense_1");
    expect_one("Relu", "my_relu", NULL, "my_relu", "");
}

Test(onnx_module, a_doc_string_that_is_a_scope_is_read_and_prose_is_not)
{
    static const struct {
        const char *doc, *name, *module;
    } cases[] = {{"Net::/Sequential::layer4/ReLU::1", "layer4.1", "layer4.1"},
                 {"see http://example.org::80/a for more", "r", ""},
                 {"/usr/lib/torch/nn/functional.py(1471): relu", "r", ""}};
    for (size_t i = 0; i < AS_COUNT(cases); i++) {
        assay_env *env = test_env();
        builder    b = {0};
        as_text    file, fields = {0};
        INPUT(&b, "x", 3);
        as_pb_put_text(&fields, 3, "r");
        as_pb_put_text(&fields, 6, cases[i].doc);
        node_put(&b, "Relu", "", "x", "y", &fields);
        OUTPUT(&b, "y");
        assay_model *model = model_of(env, &b, &file);
        expect_layer(model, 0, cases[i].name, cases[i].module);
        assay_model_free(model);
        as_text_drop(&file);
        assay_env_free(env);
    }
}

Test(onnx_module, weights_say_whose_they_are_where_nothing_else_does)
{
    static const struct {
        const char *weights, *module;
    } cases[] = {{"layer4.1.conv2.weight", "layer4.1.conv2"},
                 {"rnn.weight_ih_l0", "rnn"},
                 {"conv2d_0.w_0", "conv2d_0"},
                 {"StatefulPartitionedCall/model/dense_1/MatMul/ReadVariableOp:0", "model.dense_1"},
                 {"model/dense_1/kernel:0", "model.dense_1"},
                 {"onnx::Mul_239", ""},
                 {"weight", ""},
                 {"a.weighty", ""}};
    for (size_t i = 0; i < AS_COUNT(cases); i++) {
        assay_env *env = test_env();
        builder    b = {0};
        as_text    file;
        char       in[160];
        weights_put(&b, cases[i].weights, 3);
        INPUT(&b, "x", 3);
        snprintf(in, sizeof in, "x,%s", cases[i].weights);
        named_put(&b, "Mul", "Mul_7", in, "y", NULL);
        OUTPUT(&b, "y");
        assay_model *model = model_of(env, &b, &file);
        expect_layer(model, 0, *cases[i].module ? cases[i].module : "Mul_7", cases[i].module);
        assay_model_free(model);
        as_text_drop(&file);
        assay_env_free(env);
    }
}

/* The exporter gives a convolution that took in its normalisation the scope of the latter; shared weights say nothing of a norm. */
Test(onnx_module, a_product_that_took_in_its_normalisation_keeps_its_own_name)
{
    assay_env *env = test_env();
    builder    b = {0};
    as_text    file, t;
    float      data[9] = {0};
    t = tensor("layer1.0.conv1.weight", 1, DIMS(3, 3), data, sizeof data);
    sub(&b.graph, 5, &t);
    INPUT(&b, "x", 3, 3);
    named_put(&b, "MatMul", "node_1", "x,layer1.0.conv1.weight", "h",
              (const char *const[]){"pkg.torch.onnx.name_scopes", "['', 'layer1.0', 'layer1.0.bn1', 'norm']",
                                    "pkg.torch.onnx.class_hierarchy", "['Net', 'Block', 'torch.nn.BatchNorm2d', 'aten.norm']",
                                    NULL});
    named_put(&b, "MatMul", "node_2", "h,layer1.0.conv1.weight", "y",
              (const char *const[]){"pkg.torch.onnx.name_scopes", "['', 'layer1.0', 'layer1.0.tied', 'linear']",
                                    "pkg.torch.onnx.class_hierarchy", "['Net', 'Block', 'torch.nn.Linear', 'aten.linear']", NULL});
    OUTPUT(&b, "y");
    assay_model *model = model_of(env, &b, &file);
    expect_layer(model, 0, "layer1.0.conv1", "layer1.0.conv1");
    expect_layer(model, 1, "layer1.0.tied", "layer1.0.tied");
    assay_model_free(model);
    as_text_drop(&file);
    assay_env_free(env);
}

Test(onnx_module, nodes_of_one_module_have_different_names)
{
    assay_env *env = test_env();
    builder    b = {0};
    as_text    file, t;
    float      data[9] = {0};
    t = tensor("w", 1, DIMS(3, 3), data, sizeof data);
    sub(&b.graph, 5, &t);
    INPUT(&b, "x", 3, 3);
    named_put(&b, "MatMul", "/block/fc/MatMul", "x,w", "a", NULL);
    named_put(&b, "Add", "/block/fc/Add", "a,x", "b", NULL);
    named_put(&b, "Relu", "/block/act/Relu", "b", "c", NULL);
    named_put(&b, "Add", "/block/Add", "c,a", "d", NULL);
    named_put(&b, "Relu", "/block/act_1/Relu", "d", "e", NULL);
    named_put(&b, "Relu", "/block/act/Relu_1", "e", "f", NULL);
    named_put(&b, "Add", "/block/Add_1", "f,a", "g", NULL);
    named_put(&b, "Abs", "block.act (2)", "g", "h", NULL); /* a name that ours must not take */
    named_put(&b, "Relu", "/block/act/Relu_2", "h", "y", NULL);
    OUTPUT(&b, "y");
    assay_model *model = model_of(env, &b, &file);
    expect_layer(model, 0, "block.fc", "block.fc");
    expect_layer(model, 1, "block.fc (Add)", "block.fc");
    expect_layer(model, 2, "block.act", "block.act");
    expect_layer(model, 3, "block (Add)", "block");
    expect_layer(model, 4, "block.act_1", "block.act_1");
    expect_layer(model, 5, "block.act (3)", "block.act");
    expect_layer(model, 6, "block (Add 2)", "block");
    expect_layer(model, 7, "block.act (2)", "");
    expect_layer(model, 8, "block.act (4)", "block.act");
    assay_model_free(model);
    as_text_drop(&file);
    assay_env_free(env);
}

Test(onnx_module, hostile_names_and_metadata_break_nothing)
{
    char *huge = malloc(20001);
    for (int i = 0; i < 20000; i++)
        huge[i] = i % 3 == 2 ? '/' : 'a';
    huge[20000] = '\0';
    expect_one("Relu", huge, NULL, "relu_1", ""); /* too long for a name */
    const char *const metadata[] = {"", "", "x", huge, "pkg.torch.onnx.name_scopes", huge, "namespace", huge, NULL};
    expect_one("Relu", "r", metadata, "r", "");
    expect_one("Relu", "r", SCOPES("['', 'a\x01\nb', 'op']"), "a__b", "a__b");
    expect_one("Relu", "r", SCOPES("['', 'a\xff', 'op']"), "r", ""); /* not UTF-8 */
    static const char *const broken[] = {"", "[", "['", "['a", "['a\\", "[]", "nothing", "['x']", "[[[[", "'a', 'b'"};
    for (size_t i = 0; i < AS_COUNT(broken); i++)
        expect_one("Relu", "r", SCOPES(broken[i]), "r", "");
    free(huge);
}

/* Names survive our own writer: those of nodes as they are, and their modules. */
Test(onnx_module, what_our_writer_writes_has_the_names_that_it_had)
{
    assay_env *env = test_env();
    builder    b = {0};
    as_text    file;
    weights_put(&b, "other.name.weight", 3);
    INPUT(&b, "x", 3);
    named_put(&b, "Mul", "/layer1/layer1.0/scale/Mul", "x,other.name.weight", "h", NULL);
    named_put(&b, "Relu", "/layer1/layer1.0/Relu", "h", "g", NULL);
    named_put(&b, "Mul", NULL, "g,other.name.weight", "y", NULL);
    OUTPUT(&b, "y");
    assay_model *model = model_of(env, &b, &file), *again = NULL;
    expect_ok(env, as_onnx_save(env, model, as_test_path("names.onnx")));
    expect_ok(env, assay_model_load(env, as_test_path("names.onnx"), NULL, &again));
    expect_layer(again, 0, "layer1.0.scale", "layer1.0.scale");
    expect_layer(again, 1, "layer1.0 (Relu)", "layer1.0");
    for (int i = 0; i < model->n_nodes; i++)
        expect_layer(again, i, model->nodes[i].name, model->nodes[i].module);
    assay_model_free(again);
    assay_model_free(model);
    expect_ok(env, assay_model_load(env, "cnn-bn", NULL, &model)); /* names of weights do not make modules of ours */
    expect_ok(env, as_onnx_save(env, model, as_test_path("names.onnx")));
    expect_ok(env, assay_model_load(env, as_test_path("names.onnx"), NULL, &again));
    for (int i = 0; i < model->n_nodes; i++)
        expect_layer(again, i, model->nodes[i].name, model->nodes[i].module);
    assay_model_free(again);
    assay_model_free(model);
    as_text_drop(&file);
    assay_env_free(env);
}
