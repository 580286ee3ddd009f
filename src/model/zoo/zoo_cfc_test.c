/* zoo_cfc_test.c - CfC networks by name: parameters as the reference names and draws them, weights from its files, refusals. */
#include <stdio.h>

#include "model/model.h"
#include "tests/runner/test.h"

#include "model/zoo/ncp_layers.h"
#include "model/test_support.h"

static assay_status try_load(assay_env *env, const char *spec, const char *seed, const char *weights, assay_model **out)
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

static assay_model *load(assay_env *env, const char *spec)
{
    assay_model *model = NULL;
    expect_ok(env, try_load(env, spec, NULL, NULL, &model));
    return model;
}

/* "name [shape]" of every parameter and mask, in order. */
static void names(const char *spec, const char *const *want)
{
    assay_env   *env = test_env();
    assay_model *model = load(env, spec);
    for (int i = 0; i < model->n_values; i++) {
        const as_value *v = &model->values[i];
        char            text[160];
        if (v->role != AS_ROLE_PARAM && v->role != AS_ROLE_CONSTANT)
            continue;
        as_shape shape = as_shape_of_dims(&v->dims);
        snprintf(text, sizeof text, "%s %s", v->name, as_shape_show(&shape, (char[64]){0}, 64));
        expect(*want);
        expect_str(text, *want);
        want++;
    }
    expect(!*want);
    assay_model_free(model);
    assay_env_free(env);
}

Test(zoo_cfc, dense_parameters_have_the_references_names_and_order)
{
    names("cfc:input=3,units=4,backbone_units=5,backbone_layers=3,mixed_memory=1,proj=2",
          (const char *const[]){"rnn_cell.backbone.0.weight [5,7]",
                                "rnn_cell.backbone.0.bias [5]",
                                "rnn_cell.backbone.2.weight [5,5]",
                                "rnn_cell.backbone.2.bias [5]",
                                "rnn_cell.backbone.4.weight [5,5]",
                                "rnn_cell.backbone.4.bias [5]",
                                "rnn_cell.ff1.weight [4,5]",
                                "rnn_cell.ff1.bias [4]",
                                "rnn_cell.ff2.weight [4,5]",
                                "rnn_cell.ff2.bias [4]",
                                "rnn_cell.time_a.weight [4,5]",
                                "rnn_cell.time_a.bias [4]",
                                "rnn_cell.time_b.weight [4,5]",
                                "rnn_cell.time_b.bias [4]",
                                "lstm.input_map.weight [16,3]",
                                "lstm.input_map.bias [16]",
                                "lstm.recurrent_map.weight [16,4]",
                                "fc.weight [2,4]",
                                "fc.bias [2]",
                                NULL});
    /* Dropout has a position in the backbone from its second layer on. */
    names("cfc:input=3,units=4,backbone_units=5x6x7x8,backbone_dropout=0.1,mode=pure",
          (const char *const[]){"rnn_cell.w_tau [1,4]", "rnn_cell.A [1,4]", "rnn_cell.backbone.0.weight [5,7]",
                                "rnn_cell.backbone.0.bias [5]", "rnn_cell.backbone.2.weight [6,5]", "rnn_cell.backbone.2.bias [6]",
                                "rnn_cell.backbone.5.weight [7,6]", "rnn_cell.backbone.5.bias [7]",
                                "rnn_cell.backbone.8.weight [8,7]", "rnn_cell.backbone.8.bias [8]", "rnn_cell.ff1.weight [4,8]",
                                "rnn_cell.ff1.bias [4]", NULL});
}

Test(zoo_cfc, wired_parameters_have_the_references_names_and_order)
{
    names("cfc:input=3,units=8,out=2,wiring=autoncp,mode=pure",
          (const char *const[]){"rnn_cell.layer_0.sparsity_mask [4,7]", "rnn_cell.layer_0.w_tau [1,4]", "rnn_cell.layer_0.A [1,4]",
                                "rnn_cell.layer_0.ff1.weight [4,7]", "rnn_cell.layer_0.ff1.bias [4]",
                                "rnn_cell.layer_1.sparsity_mask [2,6]", "rnn_cell.layer_1.w_tau [1,2]", "rnn_cell.layer_1.A [1,2]",
                                "rnn_cell.layer_1.ff1.weight [2,6]", "rnn_cell.layer_1.ff1.bias [2]",
                                "rnn_cell.layer_2.sparsity_mask [2,4]", "rnn_cell.layer_2.w_tau [1,2]", "rnn_cell.layer_2.A [1,2]",
                                "rnn_cell.layer_2.ff1.weight [2,4]", "rnn_cell.layer_2.ff1.bias [2]", NULL});
}

/* AutoNCP(8, 2) with 3 inputs: 0 -> 4, 0 -> 7, 1 -> 5, 1 -> 6, 2 -> 5, 2 -> 6 and no others reach the inter neurons 4 to 7; signs
 * only count for keras. */
Test(zoo_cfc, masks_are_the_synapses_of_the_wiring)
{
    static const int8_t signs[4][7] = {
        {-1, 0, 0, 1, 1, 1, 1}, {0, 1, -1, 1, 1, 1, 1}, {0, 1, -1, 1, 1, 1, 1}, {-1, 0, 0, 1, 1, 1, 1}};
    assay_env *env = test_env();
    for (int keras = 0; keras < 2; keras++) {
        assay_model *model = load(env, keras ? "cfc:input=3,units=8,out=2,wiring=autoncp,semantics=keras"
                                             : "cfc:input=3,units=8,out=2,wiring=autoncp");
        int          id = as_model_value_find(model, "rnn_cell.layer_0.sparsity_mask");
        expect(id >= 0);
        for (int i = 0; i < 28; i++) {
            int sign = signs[i / 7][i % 7];
            expect_eq(((const int8_t *)model->values[id].data)[i], keras ? sign : sign != 0);
        }
        assay_model_free(model);
    }
    assay_env_free(env);
}

/* torch.manual_seed(0), torch.nn.Linear(2, 3), to the four digits that torch prints. */
Test(zoo_cfc, draws_are_torchs)
{
    static const double weight[] = {-0.0053, 0.3793, -0.5820, -0.5204, -0.2723, 0.1896}, bias[] = {-0.0140, 0.5607, -0.0628};
    as_mt19937          g;
    float               w[6], b[3];
    as_mt19937_seed(&g, 0);
    as_torch_uniform(&g, as_torch_linear_bound(2), w, 6);
    as_torch_uniform(&g, 1.0 / sqrt(2.0), b, 3);
    for (int i = 0; i < 6; i++)
        expect_near((double)w[i], weight[i], 5.1e-5);
    for (int i = 0; i < 3; i++)
        expect_near((double)b[i], bias[i], 5.1e-5);
}

static const float *data(const assay_model *model, const char *name)
{
    int id = as_model_value_find(model, name);
    expect(id >= 0);
    return model->values[id].data;
}

/* Every layer first draws its own weight and bias; then all matrices are drawn again, w_tau and A before the layers. */
Test(zoo_cfc, weights_are_drawn_in_the_references_order)
{
    assay_env   *env = test_env();
    assay_model *model = NULL;
    as_mt19937   g;
    float        draw[64], bias[2][5];
    expect_ok(env, try_load(env, "cfc:input=2,units=3,backbone_units=5,mode=pure", "42", NULL, &model));
    as_mt19937_seed(&g, 42);
    as_torch_uniform(&g, as_torch_linear_bound(5), draw, 25);
    as_torch_uniform(&g, 1.0 / sqrt(5.0), bias[0], 5);
    as_torch_uniform(&g, as_torch_linear_bound(5), draw, 15);
    as_torch_uniform(&g, 1.0 / sqrt(5.0), bias[1], 3);
    expect(!memcmp(data(model, "rnn_cell.backbone.0.bias"), bias[0], 5 * sizeof(float)));
    expect(!memcmp(data(model, "rnn_cell.ff1.bias"), bias[1], 3 * sizeof(float)));
    as_torch_uniform(&g, as_torch_xavier_bound(1, 3), draw, 3);
    expect(!memcmp(data(model, "rnn_cell.w_tau"), draw, 3 * sizeof(float)));
    as_torch_uniform(&g, as_torch_xavier_bound(1, 3), draw, 3);
    expect(!memcmp(data(model, "rnn_cell.A"), draw, 3 * sizeof(float)));
    as_torch_uniform(&g, as_torch_xavier_bound(5, 5), draw, 25);
    expect(!memcmp(data(model, "rnn_cell.backbone.0.weight"), draw, 25 * sizeof(float)));
    as_torch_uniform(&g, as_torch_xavier_bound(5, 3), draw, 15);
    expect(!memcmp(data(model, "rnn_cell.ff1.weight"), draw, 15 * sizeof(float)));
    assay_model_free(model);
    assay_env_free(env);
}

Test(zoo_cfc, keras_begins_with_zero_biases_and_ones)
{
    assay_env   *env = test_env();
    assay_model *model = load(env, "cfc:input=2,units=3,backbone_units=5,mode=pure,semantics=keras");
    for (int i = 0; i < 3; i++)
        expect(data(model, "rnn_cell.ff1.bias")[i] == 0.0f && data(model, "rnn_cell.w_tau")[i] == 0.0f &&
               data(model, "rnn_cell.A")[i] == 1.0f);
    expect(data(model, "rnn_cell.ff1.weight")[0] != 0.0f);
    assay_model_free(model);
    assay_env_free(env);
}

Test(zoo_cfc, the_memorys_recurrent_map_has_orthonormal_columns)
{
    assay_env   *env = test_env();
    assay_model *model = load(env, "cfc:input=2,units=5,mixed_memory=1");
    const float *w = data(model, "lstm.recurrent_map.weight");
    for (int a = 0; a < 5; a++)
        for (int b = 0; b <= a; b++) {
            double dot = 0.0;
            for (int r = 0; r < 20; r++)
                dot += (double)w[r * 5 + a] * (double)w[r * 5 + b];
            expect_near(dot, a == b, 1e-5);
        }
    assay_model_free(model);
    assay_env_free(env);
}

/* --- Weights of the reference: all parameters and, without signs, the masks ------------------------------ */

static void weights_save(assay_env *env, const assay_model *model, const char *path, bool other_mask)
{
    as_named_view items[64];
    float         masks[3][32];
    size_t        n = 0;
    int           n_masks = 0;
    for (int i = 0; i < model->n_values; i++) {
        const as_value *v = &model->values[i];
        as_shape        shape = as_shape_of_dims(&v->dims);
        if (v->role == AS_ROLE_PARAM)
            items[n++] = (as_named_view){v->name, as_view_of((void *)(uintptr_t)v->data, v->dtype, &shape)};
        if (v->role != AS_ROLE_CONSTANT)
            continue;
        float *mask = masks[n_masks++];
        for (int64_t e = 0; e < as_shape_count(&shape); e++)
            mask[e] = ((const int8_t *)v->data)[e] != 0;
        if (other_mask)
            mask[0] = 1.0f - mask[0];
        items[n++] = (as_named_view){v->name, as_view_of(mask, AS_F32, &shape)};
    }
    expect_ok(env, as_safetensors_save(env, path, items, n));
}

Test(zoo_cfc, weights_of_the_reference_load_with_their_masks)
{
    assay_env   *env = test_env();
    const char  *spec = "cfc:input=3,units=8,out=2,wiring=autoncp";
    assay_model *model = load(env, spec), *again = NULL;
    weights_save(env, model, as_test_path("w.safetensors"), false);
    expect_ok(env, try_load(env, spec, "99", as_test_path("w.safetensors"), &again));
    expect(!memcmp(data(again, "rnn_cell.layer_0.ff1.weight"), data(model, "rnn_cell.layer_0.ff1.weight"), 28 * sizeof(float)));
    assay_model_free(again);
    again = NULL;
    expect_fails(env, try_load(env, "cfc:input=3,units=8,out=2,wiring=autoncp,proj=2", NULL, as_test_path("w.safetensors"), &again),
                 ASSAY_BAD_INPUT, "there is no tensor 'fc.weight'");
    expect_fails(
        env, try_load(env, "cfc:input=3,units=8,out=2,wiring=autoncp,wiring_seed=1", NULL, as_test_path("w.safetensors"), &again),
        ASSAY_BAD_INPUT, "sparsity_mask' has");
    weights_save(env, model, as_test_path("w.safetensors"), true);
    expect_fails(
        env, try_load(env, spec, NULL, as_test_path("w.safetensors"), &again), ASSAY_BAD_INPUT,
        "tensor 'rnn_cell.layer_0.sparsity_mask' has 0 as element 0 and the constant of model cfc:input=3,units=8,out=2,wiring=autoncp has 1");
    expect(!again);
    assay_model_free(model);
    assay_env_free(env);
}

/* --- Refusals ------------------------------------------------------------------------------------------------ */

static const struct {
    const char *spec, *part;
} refusals[] = {
    {"cfc:mode=fast", "mode=fast must be one of default, pure, no_gate"},
    {"cfc:activation=elu", "activation=elu must be one of lecun_tanh"},
    {"cfc:semantics=jax", "semantics=jax must be one of torch, keras, enhanced"},
    {"cfc:wiring=auto", "wiring=auto must be one of none, full, random, ncp, autoncp"},
    {"cfc:wiring=autoncp,backbone_units=3",
     "backbone_units=3: the cells of a wiring have no backbone, except with semantics=enhanced"},
    {"cfc:wiring=full,backbone_dropout=0", "backbone_dropout=0: the cells of a wiring have no backbone"},
    {"cfc:backbone_units=64x64,backbone_layers=3", "backbone_units=64x64 are 2 widths and backbone_layers=3"},
    {"cfc:backbone_dropout=1", "backbone_dropout=1 must be a number from 0 to 0.999"},
    {"cfc:backbone_layers=21", "backbone_layers=21 must be"},
    {"cfc:out=4", "out=4 does not apply with wiring=none"},
    {"cfc:wiring=full,units=5,out=2,proj=3", "proj=3 with wiring=full and out=2: the cell gives all its 5 units"},
    {"cfc:semantics=enhanced,out=2,proj=3", "proj=3 and out=2 are both the size of the projection"},
    {"cfc:mixed_memory=1,semantics=keras", "mixed_memory=1 with semantics=keras"},
    {"cfc:mixed_memory=2", "mixed_memory=2 must be"},
    {"cfc:sparsity=0.4", "sparsity=0.4 does not apply with wiring=none"},
    {"cfc:wiring=full,sparsity=0.4", "sparsity=0.4 does not apply with wiring=full"},
    {"cfc:wiring=autoncp,motor=3", "motor=3 does not apply with wiring=autoncp"},
    {"cfc:wiring=ncp,units=3", "units=3 does not apply with wiring=ncp"},
    {"cfc:wiring=autoncp,sparsity=x", "sparsity=x must be a number from 0 to 1"},
    {"cfc:wiring=autoncp,out=63", "out=63"},
    {"cfc:units=0", "units=0 must be a whole number"},
};

Test(zoo_cfc, refuses_keys_that_do_not_go_together)
{
    assay_env *env = test_env();
    for (size_t i = 0; i < AS_COUNT(refusals); i++) {
        assay_model *model = NULL;
        expect_fails(env, try_load(env, refusals[i].spec, NULL, NULL, &model), ASSAY_BAD_INPUT, refusals[i].part);
        expect(!model);
    }
    assay_env_free(env);
}

Test(zoo_cfc, gives_the_inputs_and_outputs_that_are_asked_for)
{
    static const struct {
        const char *spec;
        const char *inputs[5], *outputs[4];
    } cases[] = {
        {"cfc", {"x"}, {"y", "h_n"}},
        {"cfc:timespans=1", {"x", "timespans"}, {"y", "h_n"}},
        {"cfc:state=1,mixed_memory=1,timespans=1", {"x", "h0", "c0", "timespans"}, {"y", "h_n", "c_n"}},
        {"cfc:wiring=ncp,state=1", {"x", "h0"}, {"y", "h_n"}},
        {"cfc:wiring=random,units=6,out=2,semantics=keras", {"x"}, {"y", "h_n"}},
    };
    assay_env *env = test_env();
    for (size_t i = 0; i < AS_COUNT(cases); i++) {
        assay_model *model = load(env, cases[i].spec);
        for (int k = 0; k < model->n_inputs; k++)
            expect_str(model->values[model->inputs[k]].name, cases[i].inputs[k]);
        for (int k = 0; k < model->n_outputs; k++)
            expect_str(model->values[model->outputs[k]].name, cases[i].outputs[k]);
        expect(!cases[i].inputs[model->n_inputs] && !cases[i].outputs[model->n_outputs]);
        assay_model_free(model);
    }
    assay_env_free(env);
}

/* Every parameter of three cells, a memory and a projection at once; the gradient of the last bias is known without a backward
 * sweep. */
Test(zoo_cfc, a_whole_network_has_the_gradient_of_every_parameter)
{
    assay_env   *env = test_env();
    assay_model *model = load(env, "cfc:input=3,units=8,out=2,wiring=autoncp,mixed_memory=1,proj=2,timespans=1,state=1"),
                *gradient = NULL;
    as_binding_dim dims[] = {{"batch", 2}, {"seq", 3}};
    const char    *wrt[64];
    as_view        in[16], out[64];
    as_arena       arena = {0};
    as_graph       g;
    int            n = 0;
    double         want[2] = {0};
    for (int i = 0; i < model->n_values; i++)
        if (model->values[i].role == AS_ROLE_PARAM || model->values[i].role == AS_ROLE_INPUT)
            wrt[n++] = model->values[i].name;
    expect_eq(n, 4 + 3 * 8 + 3 + 2);
    expect_ok(env, as_model_grad(env, model, dims, 2, wrt, n, &gradient));
    expect_ok(env, as_graph_bind(env, gradient, NULL, 0, NULL, 0, 0, &arena, &g));
    expect(g.n_inputs <= 16 && g.n_outputs == n);
    for (int i = 0; i < g.n_inputs + n; i++) {
        const as_bound_value *v = &g.values[i < g.n_inputs ? g.inputs[i] : g.outputs[i - g.n_inputs]];
        as_view view = as_view_of(as_arena_take(&arena, (size_t)as_shape_count(&v->info.shape), as_dtype_bytes(v->info.dtype), 64),
                                  v->info.dtype, &v->info.shape);
        *(i < g.n_inputs ? &in[i] : &out[i - g.n_inputs]) = view;
        if (i < g.n_inputs)
            as_random_input(5, v->name, &view);
        for (int64_t e = 0; i < g.n_inputs && e < as_shape_count(&view.shape); e++) {
            if (!strcmp(v->name, "timespans"))
                as_view_set(&view, e, fabs(as_view_get(&view, e)));
            if (!strcmp(v->name, "d:y"))
                want[e % 2] += as_view_get(&view, e);
        }
    }
    expect_ok(env, as_graph_eval(env, &g, in, out));
    for (int i = 0; i < n; i++) {
        double size = 0.0;
        for (int64_t e = 0; e < as_shape_count(&out[i].shape); e++)
            size += fabs(as_view_get(&out[i], e));
        if (!(size > 0.0) || !isfinite(size))
            fail("the gradient of %s is %g", wrt[i], size);
    }
    expect_str(wrt[n - 1], "fc.bias");
    expect_near(as_view_get(&out[n - 1], 0), want[0], 1e-5);
    expect_near(as_view_get(&out[n - 1], 1), want[1], 1e-5);
    as_arena_drop(&arena);
    assay_model_free(gradient);
    assay_model_free(model);
    assay_env_free(env);
}
