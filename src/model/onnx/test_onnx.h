/* test_onnx.h - ONNX files written field by field, for the tests of the reader.  Only *_test.c include it, after
 * tests/runner/test.h. */
#ifndef AS_MODEL_TEST_ONNX_H
#define AS_MODEL_TEST_ONNX_H

#include "model/onnx/onnx.h"
#include "model/onnx/protobuf.h"
#include "model/test_support.h"

typedef struct builder {
    as_text graph;
} builder;

static inline void sub(as_text *t, uint32_t number, as_text *inner)
{
    as_pb_put_bytes(t, number, inner->data ? inner->data : "", inner->length);
    as_text_drop(inner);
}

static inline void value_put(builder *b, uint32_t number, const char *name, int dtype, const int64_t *dims, int rank)
{
    as_text info = {0}, type = {0}, tensor = {0}, shape = {0};
    for (int i = 0; i < rank; i++) {
        as_text dim = {0};
        if (dims[i] >= 0)
            as_pb_put_int(&dim, 1, dims[i]);
        else if (dims[i] == -1)
            as_pb_put_text(&dim, 2, "batch");
        sub(&shape, 1, &dim);
    }
    as_pb_put_int(&tensor, 1, dtype);
    sub(&tensor, 2, &shape);
    sub(&type, 1, &tensor);
    as_pb_put_text(&info, 1, name);
    sub(&info, 2, &type);
    sub(&b->graph, number, &info);
}

#define DIMS(...)           (const int64_t[]){__VA_ARGS__}, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8)
#define INPUT(b, name, ...) value_put(b, 11, name, 1, DIMS(__VA_ARGS__))
#define OUTPUT(b, name)     value_put(b, 12, name, 1, NULL, 0)

/* Comma-separated names; attributes are ready fields. */
static inline void node_put(builder *b, const char *op, const char *domain, const char *in, const char *out, as_text *attrs)
{
    as_text node = {0};
    for (int k = 1; k <= 2; k++)
        for (const char *s = k == 1 ? in : out; *s;) {
            size_t n = strcspn(s, ",");
            as_pb_put_bytes(&node, (uint32_t)k, s, n);
            s += n + (s[n] == ',');
        }
    as_pb_put_text(&node, 4, op);
    if (*domain)
        as_pb_put_text(&node, 7, domain);
    if (attrs) {
        as_text_add_n(&node, attrs->data, attrs->length);
        as_text_drop(attrs);
    }
    sub(&b->graph, 1, &node);
}

static inline void attr_int(as_text *attrs, const char *name, int64_t value, int type)
{
    as_text a = {0};
    as_pb_put_text(&a, 1, name);
    as_pb_put_int(&a, type == 7 ? 8 : 3, value);
    as_pb_put_int(&a, 20, type);
    sub(attrs, 5, &a);
}

static inline void attr_ints(as_text *attrs, const char *name, const int64_t *values, int n)
{
    as_text a = {0};
    as_pb_put_text(&a, 1, name);
    for (int i = 0; i < n; i++)
        as_pb_put_int(&a, 8, values[i]);
    as_pb_put_int(&a, 20, 7);
    sub(attrs, 5, &a);
}

/* type 1: a float, 6: a list of one or more. */
static inline void attr_floats(as_text *attrs, const char *name, const float *values, int n, int type)
{
    as_text a = {0};
    as_pb_put_text(&a, 1, name);
    for (int i = 0; i < n; i++)
        as_pb_put_float(&a, type == 6 ? 7 : 2, values[i]);
    as_pb_put_int(&a, 20, type);
    sub(attrs, 5, &a);
}

static inline void attr_text(as_text *attrs, const char *name, const char *value)
{
    as_text a = {0};
    as_pb_put_text(&a, 1, name);
    as_pb_put_text(&a, 4, value);
    as_pb_put_int(&a, 20, 3);
    sub(attrs, 5, &a);
}

static inline as_text tensor(const char *name, int dtype, const int64_t *dims, int rank, const void *raw, size_t n)
{
    as_text t = {0};
    for (int i = 0; i < rank; i++)
        as_pb_put_int(&t, 1, dims[i]);
    as_pb_put_int(&t, 2, dtype);
    as_pb_put_text(&t, 8, name);
    if (raw)
        as_pb_put_bytes(&t, 9, raw, n);
    return t;
}

static inline void entry_put(as_text *t, const char *key, const char *value)
{
    as_text e = {0};
    as_pb_put_text(&e, 1, key);
    as_pb_put_text(&e, 2, value);
    sub(t, 13, &e);
}

static inline as_text file_of(builder *b, int64_t version)
{
    as_text file = {0}, opset = {0};
    as_pb_put_int(&file, 1, 8);
    as_pb_put_int(&opset, 2, version);
    sub(&file, 8, &opset);
    sub(&file, 7, &b->graph);
    return file;
}

static inline assay_status parse(assay_env *env, const as_text *file, assay_model **out)
{
    return as_onnx_parse(env, "m.onnx", (const uint8_t *)file->data, file->length, out);
}

static inline void refused(builder *b, int64_t version, assay_status status, const char *part)
{
    assay_env   *env = test_env();
    as_text      file = file_of(b, version);
    assay_model *model = NULL;
    assay_status got = parse(env, &file, &model);
    if (got == ASSAY_OK) {
        as_arena arena = {0};
        as_graph g;
        got = as_graph_bind(env, model, NULL, 0, NULL, 0, 1, &arena, &g);
        as_arena_drop(&arena);
        assay_model_free(model);
    }
    expect_fails(env, got, status, part);
    as_text_drop(&file);
    assay_env_free(env);
}

#endif
