/* onnx_cell_test.c - composites in our own files come back as themselves, and only they. */
#include <stdlib.h>
#include <string.h>

#include "model/onnx/onnx_read.h"
#include "tests/runner/test.h"

static assay_env *env;

/* Writes a built-in network as primitives, as the verb `export` does. */
static assay_model *written(const char *spec, const char *path)
{
    assay_model   *model, *plain;
    as_binding_dim seq = {"seq", 5};
    expect_ok(NULL, assay_env_new(&env));
    expect_ok(env, assay_model_load(env, spec, NULL, &model));
    expect_ok(env, as_model_expand(env, model, &seq, 1, &plain));
    expect(plain->n_nodes > model->n_nodes);
    expect_ok(env, as_onnx_save(env, plain, path));
    assay_model_free(plain);
    return model;
}

static int composites(const assay_model *model)
{
    int n = 0;
    for (int i = 0; i < model->n_nodes; i++)
        n += model->nodes[i].op->expand != NULL;
    return n;
}

Test(onnx_cell, cells_come_back_with_their_weights_and_attributes)
{
    static const char *const specs[] = {"cfc:units=12",
                                        "cfc:units=20,out=4,wiring=autoncp",
                                        "cfc:units=9,mode=pure,proj=3",
                                        "cfc:units=8,mode=no_gate,mixed_memory=1",
                                        "ltc:units=16,out=4",
                                        "cfc:units=8,return_sequences=0",
                                        "cfc:units=8,backbone_layers=2,backbone_units=16"};
    for (size_t s = 0; s < AS_COUNT(specs); s++) {
        const char  *path = as_test_path("cell.onnx");
        assay_model *model = written(specs[s], path), *back;
        expect_ok(env, assay_model_load(env, path, NULL, &back));
        if (composites(back) != composites(model))
            fail("%s: %d of %d cells came back", specs[s], composites(back), composites(model));
        for (int i = 0; i < back->n_nodes; i++)
            for (int k = 0; k < model->n_nodes; k++) {
                const as_node *a = &back->nodes[i], *b = &model->nodes[k];
                if (!b->op->expand || strcmp(a->name, b->name))
                    continue;
                expect(a->op == b->op && a->n_in == b->n_in && a->n_attrs == b->n_attrs);
                for (int j = 0; j < a->n_in; j++) {
                    expect_eq(a->in[j] < 0, b->in[j] < 0);
                    const as_value *v = a->in[j] < 0 ? NULL : &back->values[a->in[j]], *w = v ? &model->values[b->in[j]] : NULL;
                    if (!v || !v->data)
                        continue;
                    as_shape shape = as_shape_of_dims(&v->dims);
                    expect_str(v->name, w->name);
                    expect(!memcmp(v->data, w->data, (size_t)as_shape_count(&shape) * as_dtype_bytes(v->dtype)));
                }
            }
        assay_model_free(back);
        assay_model_free(model);
        assay_env_free(env);
    }
}

/* Replaces the first occurrence of one text by another of the same length and reads the file again. */
static assay_model *changed(const char *path, const char *from, const char *to)
{
    as_map map;
    expect_ok(env, as_map_open(env, "test", path, 0, &map));
    uint8_t *copy = malloc(map.bytes), *at = NULL;
    expect(copy != NULL && strlen(from) == strlen(to));
    memcpy(copy, map.data, map.bytes);
    for (size_t i = 0; !at && i + strlen(from) <= map.bytes; i++)
        if (!memcmp(copy + i, from, strlen(from)))
            at = copy + i;
    if (!at)
        fail("there is no '%s' in the file", from);
    memcpy(at, to, strlen(to));
    assay_model *back;
    expect_ok(env, as_file_write(env, as_test_path("changed.onnx"), copy, map.bytes));
    as_map_close(&map);
    free(copy);
    expect_ok(env, assay_model_load(env, as_test_path("changed.onnx"), NULL, &back));
    return back;
}

Test(onnx_cell, primitives_that_differ_from_the_cell_stay_primitives)
{
    static const struct {
        const char *what, *from, *to;
    } cases[] = {{"another operator", "\x22\x04Tanh", "\x22\x04Sinh"},
                 {"a cell that does not exist", "assay.CfC", "assay.CfX"},
                 {"metadata that is not JSON", "{\"op\":\"assay.CfC\"", "{\"op\";\"assay.CfC\""},
                 {"another mode", "\"default\"", "\"no_gate\""},
                 {"another producer",
                  "\x12\x05"
                  "assay",
                  "\x12\x05"
                  "xssay"}};
    const char  *path = as_test_path("cell.onnx");
    assay_model *model = written("cfc:units=12", path), *back;
    for (size_t i = 0; i < AS_COUNT(cases); i++) {
        back = changed(path, cases[i].from, cases[i].to);
        if (composites(back))
            fail("%s: the cell came back", cases[i].what);
        expect(back->n_nodes > 10);
        assay_model_free(back);
    }
    assay_model_free(model);
    assay_env_free(env);
}
