/* test_support.h - what the tests of model/ share: a model out of JSON text, and a bound model with memory for its inputs and
 * outputs.  Only *_test.c include it, after tests/runner/test.h. */
#ifndef AS_MODEL_TEST_SUPPORT_H
#define AS_MODEL_TEST_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>

#include "model/json/fmt_json.h"
#include "model/graph/maker.h"

/* The parts of a file that most tests do not care about. */
#define MODEL(inputs_, params_, nodes_, outputs_)                                                                       \
    "{\"format\":\"assay.model/1\",\"name\":\"t\",\"inputs\":[" inputs_ "],\"params\":[" params_ "],\"nodes\":[" nodes_ \
    "],\"outputs\":[" outputs_ "]}"
#define X_F64(shape_)        "{\"name\":\"x\",\"dtype\":\"f64\",\"shape\":" shape_ "}"
#define P_F64(name_, shape_) "{\"name\":\"" name_ "\",\"dtype\":\"f64\",\"shape\":" shape_ ",\"random\":{\"fan_in\":4}}"

static inline assay_env *test_env(void)
{
    assay_env *env = NULL;
    if (assay_env_new(&env) != ASSAY_OK)
        fail("no env");
    return env;
}

static inline assay_status test_parse(assay_env *env, const char *text, assay_model **out)
{
    return as_model_json_parse(env, "m.json", text, strlen(text), 1, out);
}

/* A file of examples/, wherever the tests are run from. */
static inline const char *test_example(char *buf, size_t size, const char *name)
{
    const char *at = strstr(__FILE__, "src/model/");
    snprintf(buf, size, "%.*sexamples/%s", at ? (int)(at - __FILE__) : 0, __FILE__, name);
    return buf;
}

/* A bound model with memory for its inputs and outputs. */
typedef struct test_run {
    as_arena arena;
    as_graph graph;
    as_view  inputs[8], outputs[8];
} test_run;

static inline void test_views(test_run *t, const int *ids, int n, as_view *out)
{
    if (n > 8)
        fail("too many inputs or outputs for a test");
    for (int i = 0; i < n; i++) {
        const as_tensor_info *info = &t->graph.values[ids[i]].info;
        out[i] = as_view_of(as_arena_take(&t->arena, (size_t)as_shape_count(&info->shape), as_dtype_bytes(info->dtype), 64),
                            info->dtype, &info->shape);
    }
}

static inline void test_bind(assay_env *env, const assay_model *model, int64_t batch, test_run *t)
{
    as_binding_dim dims[2];
    bool has_batch = false, has_seq = false; /* a workload has a fixed size; a network may be for sequences of any length */
    int  n_dims = 0;
    for (int i = 0; i < model->n_inputs; i++)
        for (int k = 0; k < model->values[model->inputs[i]].dims.rank; k++) {
            const char *symbol = model->values[model->inputs[i]].dims.dim[k].symbol;
            has_batch |= symbol && !strcmp(symbol, "batch");
            has_seq |= symbol && !strcmp(symbol, "seq");
        }
    if (has_batch && batch > 0)
        dims[n_dims++] = (as_binding_dim){"batch", batch};
    if (has_seq && batch > 0)
        dims[n_dims++] = (as_binding_dim){"seq", 3};
    *t = (test_run){0};
    expect_ok(env, as_graph_bind(env, model, dims, n_dims, NULL, 0, 1, &t->arena, &t->graph));
    test_views(t, t->graph.inputs, t->graph.n_inputs, t->inputs);
    test_views(t, t->graph.outputs, t->graph.n_outputs, t->outputs);
    for (int i = 0; i < t->graph.n_inputs; i++)
        as_random_input(7, t->graph.values[t->graph.inputs[i]].name, &t->inputs[i]);
}

#endif
