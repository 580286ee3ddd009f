/* onnx_test.c - ONNX files, written field by field here or by our own writer. */
#include "model/onnx/onnx.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/runner/test.h"
#include "model/onnx/test_onnx.h"

Test(onnx, a_relu_is_read_with_its_symbol_and_runs)
{
    assay_env   *env = test_env();
    builder      b = {0};
    assay_model *model;
    test_run     t;
    INPUT(&b, "x", -1, 3);
    node_put(&b, "Relu", "", "x", "y", NULL);
    OUTPUT(&b, "y");
    as_text file = file_of(&b, 14);
    expect_ok(env, parse(env, &file, &model));
    expect_str(model->values[model->inputs[0]].dims.dim[0].symbol, "batch");
    expect_str(model->values[model->outputs[0]].name, "y");
    test_bind(env, model, 2, &t);
    expect_ok(env, as_graph_eval(env, &t.graph, t.inputs, t.outputs));
    for (int64_t i = 0; i < 6; i++)
        expect_near(as_view_get(&t.outputs[0], i), fmax(as_view_get(&t.inputs[0], i), 0.0), 0.0);
    as_arena_drop(&t.arena);
    assay_model_free(model);
    as_text_drop(&file);
    assay_env_free(env);
}

Test(onnx, all_unsupported_operators_are_said_at_once)
{
    builder b = {0};
    INPUT(&b, "x", 3);
    node_put(&b, "Foo", "", "x", "a", NULL);
    node_put(&b, "Foo", "", "a", "b", NULL);
    node_put(&b, "Relu", "", "b", "c", NULL);
    node_put(&b, "If", "", "c", "d", NULL);
    node_put(&b, "Bar", "com.microsoft", "d", "y", NULL);
    OUTPUT(&b, "y");
    refused(&b, 14, ASSAY_UNSUPPORTED,
            "onnx: m.onnx: 2 operators are not supported: Foo (2 nodes), Bar (1 node, domain com.microsoft)");
}

Test(onnx, operator_sets_out_of_range_are_refused)
{
    builder b = {0};
    INPUT(&b, "x", 3);
    refused(&b, 0, ASSAY_UNSUPPORTED, "operator set 0, and 1 to");
    b = (builder){0};
    INPUT(&b, "x", 3);
    refused(&b, 99, ASSAY_UNSUPPORTED, "operator set 99");
}

Test(onnx, a_cycle_is_refused)
{
    builder b = {0};
    node_put(&b, "Relu", "", "b", "a", NULL);
    node_put(&b, "Relu", "", "a", "b", NULL);
    OUTPUT(&b, "b");
    refused(&b, 14, ASSAY_BAD_INPUT, "a cycle");
}

Test(onnx, quantised_weights_count_as_parameters_and_indices_do_not)
{
    assay_env   *env = test_env();
    builder      b = {0};
    int8_t       weights[65 * 2] = {[129] = -3};
    int32_t      bias[65] = {7};
    int64_t      index[65] = {0};
    assay_model *model;
    as_text      t = tensor("w", 3, DIMS(65, 2), weights, sizeof weights);
    sub(&b.graph, 5, &t);
    t = tensor("bias", 6, DIMS(65), bias, sizeof bias);
    sub(&b.graph, 5, &t);
    t = tensor("index", 7, DIMS(65), index, sizeof index);
    sub(&b.graph, 5, &t);
    node_put(&b, "Gather", "", "w,index", "u", NULL);
    node_put(&b, "Gather", "", "bias,index", "v", NULL);
    OUTPUT(&b, "u");
    OUTPUT(&b, "v");
    as_text file = file_of(&b, 14);
    expect_ok(env, parse(env, &file, &model));
    expect_eq(model->values[as_model_value_find(model, "w")].role, AS_ROLE_PARAM);
    expect_eq(model->values[as_model_value_find(model, "index")].role, AS_ROLE_CONSTANT);
    expect_eq(as_model_param_count(model), 65 * 2 + 65);
    expect_eq(as_model_param_bytes(model), 65 * 2 + 4 * 65);
    assay_model_free(model);
    as_text_drop(&file);
    assay_env_free(env);
}

Test(onnx, a_large_float_tensor_is_a_parameter_in_place_and_a_small_one_a_constant)
{
    assay_env   *env = test_env();
    builder      b = {0};
    float        big[65] = {[64] = 7.0f}, small[1] = {2.0f};
    assay_model *model;
    as_text      t = tensor("big", 1, DIMS(65), big, sizeof big);
    sub(&b.graph, 5, &t);
    t = tensor("small", 1, DIMS(1), small, sizeof small);
    sub(&b.graph, 5, &t);
    INPUT(&b, "big", 65); /* as files before IR version 4 do */
    INPUT(&b, "x", 65);
    node_put(&b, "Add", "", "x,big", "s", NULL);
    node_put(&b, "Mul", "", "s,small", "y", NULL);
    OUTPUT(&b, "y");
    as_text file = file_of(&b, 14);
    expect_ok(env, parse(env, &file, &model));
    expect_eq(model->n_inputs, 1);
    const as_value *v = &model->values[as_model_value_find(model, "big")];
    expect_eq(v->role, AS_ROLE_PARAM);
    const char *bytes = v->data;
    float       last;
    memcpy(&last, bytes + 64 * 4, 4); /* the file holds it at any address */
    expect_near(last, 7.0, 0.0);
    expect(bytes > file.data && bytes < file.data + file.length);
    expect_eq(model->values[as_model_value_find(model, "small")].role, AS_ROLE_CONSTANT);
    assay_model_free(model);
    as_text_drop(&file);
    assay_env_free(env);
}

/* At each of four addresses, as raw data and as a list: used in place, without memory of the arena, and with the same sum. */
Test(onnx, weights_are_used_in_place_at_any_address)
{
    enum { N = 500000 };
    assay_env *env = test_env();
    float     *w = malloc(N * sizeof *w), x = 1.0f, *y = malloc(N * sizeof *y);
    for (int i = 0; i < N; i++)
        w[i] = (float)i;
    for (int k = 0; k < 8; k++) {
        builder      b = {0};
        assay_model *model;
        as_text      t = tensor("w", 1, DIMS(N), k % 2 ? NULL : w, N * sizeof *w);
        if (k % 2)
            as_pb_put_bytes(&t, 4, w, N * sizeof *w);
        char name[8] = "yyyyyyy";
        name[1 + k / 2] = '\0'; /* the length of the text before the weights changes their address */
        OUTPUT(&b, name);
        sub(&b.graph, 5, &t);
        INPUT(&b, "x", 1);
        node_put(&b, "Add", "", "w,x", name, NULL);
        as_text file = file_of(&b, 14);
        as_test_reset_peak();
        size_t before = as_test_live_bytes();
        expect_ok(env, parse(env, &file, &model));
        expect(as_test_peak_bytes() == SIZE_MAX || as_test_peak_bytes() - before < 512 << 10);
        expect(model->arena.bytes_used < 16 << 10);
        const char *data = model->values[as_model_value_find(model, "w")].data;
        expect(data > file.data && data < file.data + file.length);

        as_arena arena = {0};
        as_graph g;
        as_view  in = as_view_of(&x, AS_F32, &AS_SHAPE(1)), out = as_view_of(y, AS_F32, &AS_SHAPE(N));
        expect_ok(env, as_graph_bind(env, model, NULL, 0, NULL, 0, 1, &arena, &g));
        expect_ok(env, as_graph_eval(env, &g, &in, &out));
        expect_near(y[0], 1, 0);
        expect_near(y[N - 1], N, 0);
        as_arena_drop(&arena);
        assay_model_free(model);
        as_text_drop(&file);
    }
    free(w);
    free(y);
    assay_env_free(env);
}

static void tensor_refused(as_text t, assay_status status, const char *part)
{
    builder b = {0};
    sub(&b.graph, 5, &t);
    node_put(&b, "Relu", "", "w", "y", NULL);
    OUTPUT(&b, "y");
    refused(&b, 14, status, part);
}

Test(onnx, tensors_that_lie_are_refused)
{
    float x[2] = {0};
    tensor_refused(tensor("w", 1, DIMS(3), x, sizeof x), ASSAY_BAD_INPUT, "needs 12 bytes and raw_data has 8");
    tensor_refused(tensor("w", 1, DIMS(INT64_C(1) << 40), NULL, 0), ASSAY_BAD_INPUT,
                   "needs 1099511627776 values and its list has 0");
    tensor_refused(tensor("w", 1, DIMS(INT64_C(1) << 40, INT64_C(1) << 40), NULL, 0), ASSAY_BAD_INPUT, "too large");
    tensor_refused(tensor("w", 1, DIMS(-1), NULL, 0), ASSAY_BAD_INPUT, "negative");
    tensor_refused(tensor("w", 8, DIMS(1), NULL, 0), ASSAY_UNSUPPORTED, "data type 8 (string)");
    tensor_refused(tensor("w", 1, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1), x, 4), ASSAY_BAD_INPUT, "more than 8 dims");
}

static void location_refused(const char *location, const char *offset, assay_status status, const char *part)
{
    as_text t = tensor("w", 1, DIMS(2), NULL, 0);
    if (location)
        entry_put(&t, "location", location);
    entry_put(&t, "offset", offset);
    as_pb_put_int(&t, 14, 1);
    tensor_refused(t, status, part);
}

Test(onnx, external_data_stay_below_the_model)
{
    location_refused("../w.bin", "0", ASSAY_BAD_INPUT, "must be a file below the model's directory");
    location_refused("a/../../w.bin", "0", ASSAY_BAD_INPUT, "must be a file below the model's directory");
    location_refused("/etc/passwd", "0", ASSAY_BAD_INPUT, "must be a file below the model's directory");
    location_refused("no-such-file.bin", "0", ASSAY_NOT_FOUND, "cannot open");
    location_refused("w.bin", "x", ASSAY_BAD_INPUT, "is not a number");
    location_refused(NULL, "0", ASSAY_BAD_INPUT, "no location is given");
}

Test(onnx, external_data_are_used_in_place_and_checked)
{
    assay_env   *env = test_env();
    assay_model *model;
    for (int i = 0; i < 2; i++) {
        float   x[80] = {[1] = 5.0f};
        builder b = {0};
        as_text t = tensor("w", 1, DIMS(79), NULL, 0);
        expect_ok(env, as_file_write(env, as_test_path("w.bin"), x, sizeof x));
        entry_put(&t, "location", "w.bin");
        entry_put(&t, "offset", i ? "8" : "4");
        as_pb_put_int(&t, 14, 1);
        sub(&b.graph, 5, &t);
        node_put(&b, "Relu", "", "w", "y", NULL);
        OUTPUT(&b, "y");
        as_text file = file_of(&b, 14);
        expect_ok(env, as_file_write(env, as_test_path("e.onnx"), file.data, file.length));
        as_text_drop(&file);
        if (i) {
            expect_fails(env, assay_model_load(env, as_test_path("e.onnx"), NULL, &model), ASSAY_BAD_INPUT,
                         "316 bytes at offset 8 of 'w.bin', which has 320");
            continue;
        }
        expect_ok(env, assay_model_load(env, as_test_path("e.onnx"), NULL, &model));
        const as_value *v = &model->values[as_model_value_find(model, "w")];
        expect_near(((const float *)v->data)[0], 5.0, 0.0);
        expect(model->maps && model->maps->next); /* the model's file and the data's */
        assay_model_free(model);
    }
    assay_env_free(env);
}

Test(onnx, external_data_do_not_follow_links_out_of_the_directory)
{
    assay_env   *env = test_env();
    assay_model *model;
    float        x[2] = {0};
    builder      b = {0};
    as_text      t = tensor("w", 1, DIMS(2), NULL, 0);
    expect_ok(env, as_file_write(env, as_test_path("secret.bin"), x, sizeof x));
    expect(!mkdir(as_test_path("m"), 0777) && !symlink("../secret.bin", as_test_path("m/w.bin")));
    entry_put(&t, "location", "w.bin");
    as_pb_put_int(&t, 14, 1);
    sub(&b.graph, 5, &t);
    node_put(&b, "Relu", "", "w", "y", NULL);
    OUTPUT(&b, "y");
    as_text file = file_of(&b, 14);
    expect_ok(env, as_file_write(env, as_test_path("m/e.onnx"), file.data, file.length));
    as_text_drop(&file);
    expect_fails(env, assay_model_load(env, as_test_path("m/e.onnx"), NULL, &model), ASSAY_BAD_INPUT,
                 "which is not below the directory of");
    assay_env_free(env);
}

Test(onnx, attributes_that_lie_are_refused)
{
    builder b = {0};
    as_text attrs = {0};
    INPUT(&b, "x", 2, 3);
    attr_int(&attrs, "axis", 1, 1); /* says FLOAT, holds an INT */
    node_put(&b, "Flatten", "", "x", "y", &attrs);
    OUTPUT(&b, "y");
    refused(&b, 14, ASSAY_BAD_INPUT, "attribute 'axis' says it is FLOAT and holds INT");
    b = (builder){0};
    INPUT(&b, "x", 2, 3);
    attr_int(&attrs, "nonsense", 1, 2);
    node_put(&b, "Flatten", "", "x", "y", &attrs);
    OUTPUT(&b, "y");
    refused(&b, 14, ASSAY_BAD_INPUT, "no attribute 'nonsense'");
}

Test(onnx, bytes_that_are_no_model_get_a_sentence)
{
    assay_env   *env = test_env();
    assay_model *model;
    expect_fails(env, as_onnx_parse(env, "m.onnx", (const uint8_t *)"\x0b", 1, &model), ASSAY_BAD_INPUT,
                 "cannot read the model: a field is a group");
    expect_fails(env, as_onnx_parse(env, "m.onnx", (const uint8_t *)"", 0, &model), ASSAY_BAD_INPUT, "not an ONNX model");
    builder b = {0};
    INPUT(&b, "x", 3);
    as_text file = file_of(&b, 14);
    file.length -= 2;
    expect_fails(env, parse(env, &file, &model), ASSAY_BAD_INPUT, "longer than what is left");
    as_text_drop(&file);
    assay_env_free(env);
}

Test(onnx, the_axes_of_an_old_reduction_become_an_input)
{
    assay_env   *env = test_env();
    builder      b = {0};
    as_text      attrs = {0};
    assay_model *model;
    test_run     t;
    INPUT(&b, "x", 2, 3);
    attr_int(&attrs, "axes", 1, 7);
    attr_int(&attrs, "keepdims", 0, 2);
    node_put(&b, "ReduceSum", "", "x", "y", &attrs);
    OUTPUT(&b, "y");
    as_text file = file_of(&b, 11);
    expect_ok(env, parse(env, &file, &model));
    expect_eq(model->nodes[0].n_in, 2);
    test_bind(env, model, 0, &t);
    expect_eq(t.outputs[0].shape.rank, 1);
    expect_eq(t.outputs[0].shape.dim[0], 2);
    as_arena_drop(&t.arena);
    assay_model_free(model);
    as_text_drop(&file);
    assay_env_free(env);
}

Test(onnx, what_the_writer_writes_the_reader_reads)
{
    assay_env   *env = test_env();
    assay_model *model, *again;
    test_run     a, b;
    expect_ok(env, assay_model_load(env, "cnn-small", NULL, &model));
    expect_ok(env, as_onnx_save(env, model, as_test_path("c.onnx")));
    expect_ok(env, assay_model_load(env, as_test_path("c.onnx"), NULL, &again));
    expect_str(again->own_name, model->own_name);
    expect_eq(again->n_nodes, model->n_nodes);
    test_bind(env, model, 1, &a);
    test_bind(env, again, 1, &b);
    expect_ok(env, as_graph_eval(env, &a.graph, a.inputs, a.outputs));
    expect_ok(env, as_graph_eval(env, &b.graph, b.inputs, b.outputs));
    expect_near(as_view_error(&a.outputs[0], &b.outputs[0]), 0.0, 0.0);
    as_arena_drop(&a.arena);
    as_arena_drop(&b.arena);
    assay_model_free(again);
    assay_model_free(model);
    assay_env_free(env);
}

Test(onnx, the_unsupported_can_be_listed)
{
    assay_env             *env = test_env();
    builder                b = {0};
    as_arena               arena = {0};
    const as_onnx_missing *list;
    int                    n, n_nodes;
    INPUT(&b, "x", 3);
    node_put(&b, "Relu", "", "x", "a", NULL);
    node_put(&b, "Foo", "far", "a", "y", NULL);
    OUTPUT(&b, "y");
    as_text file = file_of(&b, 14);
    expect_ok(env, as_file_write(env, as_test_path("u.onnx"), file.data, file.length));
    expect_ok(env, as_onnx_unsupported(env, as_test_path("u.onnx"), &arena, &list, &n, &n_nodes));
    expect_eq(n, 1);
    expect_eq(n_nodes, 2);
    expect_str(list[0].op, "Foo");
    expect_str(list[0].domain, "far");
    as_arena_drop(&arena);
    as_text_drop(&file);
    assay_env_free(env);
}

Test(onnx, a_tensor_file_holds_raw_or_listed_values)
{
    assay_env *env = test_env();
    as_tensor  got;
    int64_t    x[2] = {3, -4};
    as_text    t = tensor("t", 7, DIMS(2), x, sizeof x);
    expect_ok(env, as_file_write(env, as_test_path("t.pb"), t.data, t.length));
    expect_ok(env, as_pb_tensor_load(env, as_test_path("t.pb"), &got));
    expect_eq(as_view_get_i64(&got.view, 1), -4);
    as_tensor_drop(&got);
    as_text_drop(&t);
    t = tensor("t", 3, DIMS(2), NULL, 0); /* i8, in int32_data, one packed and one not */
    as_pb_put_bytes(&t, 5, "\x07", 1);
    as_pb_put_int(&t, 5, -1);
    expect_ok(env, as_pb_tensor_parse(env, "t.pb", (const uint8_t *)t.data, t.length, &got));
    expect_eq(as_view_get_i64(&got.view, 0), 7);
    expect_eq(as_view_get_i64(&got.view, 1), -1);
    as_tensor_drop(&got);
    as_text_drop(&t);
    expect_fails(env, as_pb_tensor_load(env, as_test_path("none.pb"), &got), ASSAY_NOT_FOUND, "cannot open");
    assay_env_free(env);
}

Test(onnx, dtypes_have_one_code_each)
{
    for (int d = AS_NONE + 1; d < AS_N_DTYPES; d++)
        expect_eq(as_onnx_dtype(as_onnx_dtype_code((as_dtype)d)), d);
    expect_eq(as_onnx_dtype(8), AS_NONE);
    expect_eq(as_onnx_dtype(-1), AS_NONE);
}

Test(onnx, a_shape_that_is_computed_is_folded_while_binding)
{
    assay_env   *env = test_env();
    builder      b = {0};
    assay_model *model;
    test_run     t;
    INPUT(&b, "x", -1, 3);
    node_put(&b, "Shape", "", "x", "s", NULL);
    node_put(&b, "Reshape", "", "x,s", "y", NULL);
    OUTPUT(&b, "y");
    as_text file = file_of(&b, 14);
    expect_ok(env, parse(env, &file, &model));
    test_bind(env, model, 5, &t);
    expect(t.graph.nodes[0].dead && !t.graph.nodes[1].dead);
    expect_eq(t.graph.values[t.graph.nodes[1].in[1]].role, AS_ROLE_CONSTANT);
    expect_eq(((const int64_t *)t.graph.values[t.graph.nodes[1].in[1]].data)[0], 5);
    expect_ok(env, as_graph_eval(env, &t.graph, t.inputs, t.outputs));
    as_arena_drop(&t.arena);
    assay_model_free(model);
    as_text_drop(&file);
    assay_env_free(env);
}
