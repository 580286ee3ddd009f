/* onnx_types_test.c - the data types of 8 bits and less in ONNX files, in and out. */
#include <string.h>

#include "tests/runner/test.h"
#include "model/onnx/test_onnx.h"

/* A TensorProto alone; drops the text. */
static void tensor_refused(assay_env *env, as_text t, const char *part)
{
    as_tensor got;
    expect_fails(env, as_pb_tensor_parse(env, "t.pb", (const uint8_t *)t.data, t.length, &got), ASSAY_BAD_INPUT, part);
    as_text_drop(&t);
}

Test(onnx_types, elements_of_less_than_eight_bits_are_unpacked_from_raw_and_listed_values)
{
    static const struct {
        int         code;
        int64_t     count;
        const char *raw;
        size_t      n;
        double      want[5];
    } cases[] = {
        {22, 3, "\x81\x07", 2, {1, -8, 7}},                        /* int4 */
        {21, 3, "\x81\x0f", 2, {1, 8, 15}},                        /* uint4 */
        {26, 5, "\x4e\x02", 2, {-2, -1, 0, 1, -2}},                /* int2 */
        {25, 4, "\xe4", 1, {0, 1, 2, 3}},                          /* uint2 */
        {23, 2, "\xf1", 1, {0.5, -6}},                             /* float4e2m1 */
        {27, 4, "\xa1\x38\x92", 3, {-0.125, -0.25, -0.375, -0.5}}, /* float6e2m3 */
        {17, 2, "\x38\x7e", 2, {1, 448}},                          /* float8e4m3fn */
        {24, 2, "\x7f\x80", 2, {1, 2}},                            /* float8e8m0 */
    };
    assay_env *env = test_env();
    as_tensor  got;
    for (size_t k = 0; k < AS_COUNT(cases); k++) {
        as_text t = tensor("t", cases[k].code, &cases[k].count, 1, cases[k].raw, cases[k].n);
        expect_ok(env, as_pb_tensor_parse(env, "t.pb", (const uint8_t *)t.data, t.length, &got));
        for (int64_t i = 0; i < cases[k].count; i++)
            expect(as_view_get(&got.view, i) == cases[k].want[i]);
        as_tensor_drop(&got);
        as_text_drop(&t);
        if (cases[k].code == 27)
            continue; /* six bits are not packed in lists */
        t = tensor("t", cases[k].code, &cases[k].count, 1, NULL, 0);
        for (size_t i = 0; i < cases[k].n; i++)
            as_pb_put_int(&t, 5, (uint8_t)cases[k].raw[i]);
        expect_ok(env, as_pb_tensor_parse(env, "t.pb", (const uint8_t *)t.data, t.length, &got));
        for (int64_t i = 0; i < cases[k].count; i++)
            expect(as_view_get(&got.view, i) == cases[k].want[i]);
        as_tensor_drop(&got);
        as_text_drop(&t);
    }
    as_text t = tensor("t", 28, DIMS(2), NULL, 0);
    as_pb_put_int(&t, 5, 0x0c);
    as_pb_put_int(&t, 5, 0x3f);
    expect_ok(env, as_pb_tensor_parse(env, "t.pb", (const uint8_t *)t.data, t.length, &got));
    expect(as_view_get(&got.view, 0) == 1.0 && as_view_get(&got.view, 1) == -28.0);
    as_tensor_drop(&got);
    as_text_drop(&t);
    tensor_refused(env, tensor("w", 22, DIMS(3), "\x12\x34\x56", 3), "of i4 [3] needs 2 bytes and raw_data has 3");
    tensor_refused(env, tensor("w", 25, DIMS(5), "\x12", 1), "of u2 [5] needs 2 bytes and raw_data has 1");
    t = tensor("w", 21, DIMS(3), NULL, 0);
    as_pb_put_int(&t, 5, 1);
    tensor_refused(env, t, "of u4 [3] needs 2 values and its list has 1");
    assay_env_free(env);
}

/* What a written file says about its IR version and its operator set. */
static void versions_of(assay_env *env, const char *path, int64_t *ir, int64_t *opset)
{
    as_map map;
    expect_ok(env, as_map_open(env, "onnx", path, 0, &map));
    as_pb_reader r = as_pb_read((as_pb_span){map.data, map.bytes});
    for (as_pb_field f; as_pb_next(&r, &f);)
        if (f.number == 1) {
            *ir = (int64_t)f.value;
        } else if (f.number == 8) {
            as_pb_reader set = as_pb_read(f.bytes);
            for (as_pb_field g; as_pb_next(&set, &g);)
                if (g.number == 2)
                    *opset = (int64_t)g.value;
        }
    as_map_close(&map);
}

Test(onnx_types, small_dtypes_are_packed_again_when_written_and_the_operator_set_is_one_that_has_them)
{
    assay_env   *env = test_env();
    builder      b = {0};
    as_text      attrs = {0};
    assay_model *model, *again;
    int64_t      ir = 0, opset = 0;
    as_text      w = tensor("w", 22, DIMS(3), "\x81\x07", 2);
    INPUT(&b, "x", 3);
    sub(&b.graph, 5, &w);
    attr_int(&attrs, "to", 1, 2);
    node_put(&b, "Cast", "", "w", "v", &attrs);
    node_put(&b, "Add", "", "x,v", "y", NULL);
    OUTPUT(&b, "y");
    as_text file = file_of(&b, 21);
    expect_ok(env, parse(env, &file, &model));
    expect_ok(env, as_onnx_save(env, model, as_test_path("i4.onnx")));
    versions_of(env, as_test_path("i4.onnx"), &ir, &opset);
    expect_eq(ir, 10);
    expect_eq(opset, 21);
    expect_ok(env, assay_model_load(env, as_test_path("i4.onnx"), NULL, &again));
    const as_value *v = &again->values[as_model_value_find(again, "w")];
    expect_eq(v->dtype, AS_I4);
    expect(!memcmp(v->data, "\x01\xf8\x07", 3));
    assay_model_free(again);
    assay_model_free(model);
    as_text_drop(&file);
    expect_ok(env, assay_model_load(env, "mlp-small", NULL, &model));
    expect_ok(env, as_onnx_save(env, model, as_test_path("plain.onnx")));
    versions_of(env, as_test_path("plain.onnx"), &ir, &opset);
    expect_eq(ir, 9);
    expect_eq(opset, 20);
    assay_model_free(model);
    assay_env_free(env);
}

Test(onnx_types, packed_external_data_are_as_long_as_the_packing_says)
{
    assay_env   *env = test_env();
    assay_model *model;
    for (int length = 2; length <= 3; length++) {
        builder b = {0};
        as_text t = tensor("w", 22, DIMS(3), NULL, 0), attrs = {0};
        entry_put(&t, "location", "w.bin");
        entry_put(&t, "length", length == 2 ? "2" : "3");
        as_pb_put_int(&t, 14, 1);
        sub(&b.graph, 5, &t);
        attr_int(&attrs, "to", 1, 2);
        node_put(&b, "Cast", "", "w", "y", &attrs);
        OUTPUT(&b, "y");
        as_text file = file_of(&b, 21);
        expect_ok(env, as_file_write(env, as_test_path("w.bin"), "\x81\x07", 2));
        expect_ok(env, as_file_write(env, as_test_path("e.onnx"), file.data, file.length));
        as_text_drop(&file);
        if (length == 3) {
            expect_fails(env, assay_model_load(env, as_test_path("e.onnx"), NULL, &model), ASSAY_BAD_INPUT,
                         "of i4 [3] needs 2 bytes and its external data have 3");
            continue;
        }
        expect_ok(env, assay_model_load(env, as_test_path("e.onnx"), NULL, &model));
        expect(!memcmp(model->values[as_model_value_find(model, "w")].data, "\x01\xf8\x07", 3));
        assay_model_free(model);
    }
    assay_env_free(env);
}
