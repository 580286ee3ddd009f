/* ncp_ltc_test.c - LTC networks against values of the torch reference (ncps 1.0.1), weights loaded by the reference's names.
 *
 * Every tensor is filled by a rule, written to a safetensors file with everything that the reference would write, including
 * masks, and loaded. x[b][t][i] = sin(0.5 t + 0.3 i + 0.2 b), three inputs, five steps. */
#include <stdio.h>
#include <stdlib.h>

#include "model/graph/maker.h"
#include "tests/runner/test.h"

enum { I = 3, T = 5, MAX_TENSORS = 32 };

/* --- Models filled by the rule ------------------------------------------------------------------------ */

/* In the order in which the reference registers them; kept: as the wiring gives them; raised: 0.5 is added. */
static const struct tensor {
    const char *name;
    bool        kept, raised;
} tensors[] = {
    {"gleak", false, true},
    {"vleak", false, false},
    {"cm", false, true},
    {"sigma", false, true},
    {"mu", false, true},
    {"w", false, true},
    {"erev", true, false},
    {"sensory_sigma", false, true},
    {"sensory_mu", false, true},
    {"sensory_w", false, true},
    {"sensory_erev", true, false},
    {"sparsity_mask", true, false},
    {"sensory_sparsity_mask", true, false},
    {"input_w", false, false},
    {"input_b", false, false},
    {"output_w", false, false},
    {"output_b", false, false},
};

static assay_env *env_new(void)
{
    assay_env *env = NULL;
    expect(assay_env_new(&env) == ASSAY_OK);
    return env;
}

static assay_model *model_load(assay_env *env, const char *spec)
{
    assay_model *model = NULL;
    expect_ok(env, assay_model_load(env, spec, NULL, &model));
    return model;
}

static as_view value_view(const assay_model *model, const char *name)
{
    int id = as_model_value_find(model, name);
    if (id < 0)
        fail("the model has no '%s'", name);
    as_shape shape = as_shape_of_dims(&model->values[id].dims);
    return as_view_of((void *)(uintptr_t)model->values[id].data, model->values[id].dtype, &shape);
}

static as_view f32_take(as_arena *arena, const as_shape *shape)
{
    void *data = as_arena_take(arena, (size_t)as_shape_count(shape), sizeof(float), 64);
    expect(data);
    return as_view_of(data, AS_F32, shape);
}

/* What the reference would save after the rule. */
static size_t tensors_fill(const assay_model *model, as_arena *arena, as_named_view *items)
{
    for (size_t n = 0; n < AS_COUNT(tensors); n++) {
        char   *name = as_arena_printf(arena, "rnn_cell.%s", tensors[n].name);
        as_view from = value_view(model, name), to = f32_take(arena, &from.shape);
        for (int64_t k = 0; k < as_shape_count(&from.shape); k++)
            as_view_set(&to, k,
                        tensors[n].kept ? as_view_get(&from, k)
                                        : 0.4 * sin(0.9 * (double)n + 0.11 * (double)k + 0.3) + (tensors[n].raised ? 0.5 : 0.0));
        items[n] = (as_named_view){name, to};
    }
    return AS_COUNT(tensors);
}

static assay_model *model_filled(assay_env *env, const char *spec)
{
    assay_model  *model = model_load(env, spec);
    as_arena      arena = {0};
    as_named_view items[MAX_TENSORS];
    const char   *path = as_test_path("w.safetensors");
    size_t        n = tensors_fill(model, &arena, items);
    expect_ok(env, as_safetensors_save(env, path, items, n));
    expect_ok(env, as_model_weights(env, model, path, false));
    as_arena_drop(&arena);
    return model;
}

/* --- Runs ----------------------------------------------------------------------------------------------- */

typedef struct run {
    as_arena arena;
    as_graph graph;
    as_view  inputs[8], outputs[8];
} run;

static void views_take(run *r, const int *ids, int n, as_view *out)
{
    for (int i = 0; i < n; i++) {
        const as_tensor_info *info = &r->graph.values[ids[i]].info;
        out[i] = f32_take(&r->arena, &info->shape);
    }
}

static const double irregular[T] = {0.5, 1, 2, 0.1, 3};

static void run_start(assay_env *env, const assay_model *model, int64_t batch, bool has_seq, run *r)
{
    as_binding_dim dims[] = {{"batch", batch}, {"seq", T}};
    *r = (run){0};
    expect_ok(env, as_graph_bind(env, model, dims, 1 + has_seq, NULL, 0, 1, &r->arena, &r->graph));
    expect(r->graph.n_inputs <= 8 && r->graph.n_outputs <= 8);
    views_take(r, r->graph.inputs, r->graph.n_inputs, r->inputs);
    views_take(r, r->graph.outputs, r->graph.n_outputs, r->outputs);
    for (int i = 0; i < r->graph.n_inputs; i++) {
        const char *name = r->graph.values[r->graph.inputs[i]].name;
        int64_t     each = as_shape_count(&r->inputs[i].shape) / batch;
        for (int64_t k = 0; k < each * batch; k++) {
            int64_t b = k / each, t = k % each / I, e = k % I;
            as_view_set(&r->inputs[i], k,
                        !strcmp(name, "x")           ? sin(0.5 * (double)t + 0.3 * (double)e + 0.2 * (double)b)
                        : !strcmp(name, "timespans") ? irregular[(k % each + b) % T]
                                                     : 0.1 * (double)(k % 7) - 0.2);
        }
    }
}

static run run_model(assay_env *env, const assay_model *model, int64_t batch)
{
    run r;
    run_start(env, model, batch, true, &r);
    expect_ok(env, as_graph_eval(env, &r.graph, r.inputs, r.outputs));
    return r;
}

static void expect_values(const as_view *v, int64_t from, const double *want, int n)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(as_view_get(v, from + i) - want[i]) <= 1e-6))
            fail("element %d is %.9g, the reference has %.9g", i, as_view_get(v, from + i), want[i]);
}

/* y of the last step, two samples of two outputs, and the state of the first. */
static void expect_last(const char *spec, const double *y, const double *state)
{
    assay_env   *env = env_new();
    assay_model *model = model_filled(env, spec);
    run          r = run_model(env, model, 2);
    expect(as_shape_same(&r.outputs[0].shape, &AS_SHAPE(2, T, 2)));
    expect_values(&r.outputs[0], 2 * (T - 1), y, 2);
    expect_values(&r.outputs[0], 2 * (2 * T - 1), y + 2, 2);
    if (state)
        expect_values(&r.outputs[1], 0, state, 4);
    as_arena_drop(&r.arena);
    assay_model_free(model);
    assay_env_free(env);
}

Test(ncp_ltc, full_wiring_with_implicit_constraints)
{
    expect_last("ltc:input=3,units=4,out=2,wiring=full", (const double[]){.6536815, .6383792, .6538839, .6385903},
                (const double[]){.8354990, .8353504, .6590981, .2301317});
}

Test(ncp_ltc, no_wiring_is_the_full_one)
{
    expect_last("ltc:input=3,units=4,out=2", (const double[]){.6536815, .6383792, .6538839, .6385903}, NULL);
}

Test(ncp_ltc, full_wiring_with_explicit_constraints)
{
    expect_last("ltc:input=3,units=4,out=2,wiring=full,implicit=0", (const double[]){.6372389, .6201476, .6375588, .6204713},
                (const double[]){.7919401, .7885695, .5692430, .1069173});
}

Test(ncp_ltc, autoncp_with_implicit_constraints)
{
    expect_last("ltc:input=3,units=8,out=2,wiring=autoncp", (const double[]){.3989771, .2861468, .3989804, .2861467}, NULL);
}

Test(ncp_ltc, irregular_time)
{
    assay_env   *env = env_new();
    assay_model *model = model_filled(env, "ltc:input=3,units=4,out=2,wiring=full,timespans=1");
    run          r = run_model(env, model, 1);
    expect_values(&r.outputs[1], 0, (const double[]){.8355567, .8354064, .6589624, .2300010}, 4);
    as_arena_drop(&r.arena);
    assay_model_free(model);
    assay_env_free(env);
}

/* --- Gradients --------------------------------------------------------------------------------------------- */

static double norm(const as_view *v)
{
    double sum = 0.0;
    for (int64_t k = 0; k < as_shape_count(&v->shape); k++)
        sum += as_view_get(v, k) * as_view_get(v, k);
    return sqrt(sum);
}

Test(ncp_ltc, gradients_of_the_sum_of_squares)
{
    static const char *const wrt[] = {"rnn_cell.w", "rnn_cell.mu", "rnn_cell.cm", "rnn_cell.erev"};
    static const double      want[] = {.2031290, .04420884, .1192364, 1.546843};
    assay_env               *env = env_new();
    assay_model             *model = model_filled(env, "ltc:input=3,units=4,out=2,wiring=full"), *grad = NULL;
    as_binding_dim           dims[] = {{"batch", 2}, {"seq", T}};
    run                      r = run_model(env, model, 2), d = {0};
    expect_near(norm(&r.outputs[0]) * norm(&r.outputs[0]), 8.221239, 8.3e-5);
    expect_ok(env, as_model_grad(env, model, dims, 2, wrt, AS_COUNT(wrt), &grad));
    expect_ok(env, as_graph_bind(env, grad, NULL, 0, NULL, 0, 1, &d.arena, &d.graph));
    views_take(&d, d.graph.inputs, d.graph.n_inputs, d.inputs);
    views_take(&d, d.graph.outputs, d.graph.n_outputs, d.outputs);
    for (int i = 0; i < d.graph.n_inputs; i++) {
        const char *name = d.graph.values[d.graph.inputs[i]].name;
        if (!strcmp(name, "x"))
            as_view_copy(&d.inputs[i], &r.inputs[0]);
        for (int64_t k = 0; !strcmp(name, "d:y") && k < as_shape_count(&d.inputs[i].shape); k++)
            as_view_set(&d.inputs[i], k, 2.0 * as_view_get(&r.outputs[0], k));
    }
    expect_ok(env, as_graph_eval(env, &d.graph, d.inputs, d.outputs));
    expect_eq(d.graph.n_outputs, AS_COUNT(wrt));
    for (size_t i = 0; i < AS_COUNT(wrt); i++)
        if (!(fabs(norm(&d.outputs[i]) - want[i]) <= 1e-5 * want[i]))
            fail("the gradient of %s has the norm %.9g, the reference's %.9g", wrt[i], norm(&d.outputs[i]), want[i]);
    as_arena_drop(&d.arena);
    as_arena_drop(&r.arena);
    assay_model_free(grad);
    assay_model_free(model);
    assay_env_free(env);
}

/* --- Initialisation ------------------------------------------------------------------------------------------ */

/* Another way to the same stream: the generator written out, one number at a time. */
static double reference_draw(uint32_t *state, int *at)
{
    if (*at == 624) {
        for (int k = 0; k < 624; k++) {
            uint32_t y = (state[k] & 0x80000000u) | (state[(k + 1) % 624] & 0x7fffffffu);
            state[k] = state[(k + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
        }
        *at = 0;
    }
    uint32_t y = state[(*at)++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    y ^= y >> 18;
    return (double)(y & 0xffffff) * 0x1p-24;
}

Test(ncp_ltc, values_from_a_seed_are_torchs)
{
    static const struct {
        const char *name;
        double      lo, hi;
    } order[] = {
        {"gleak", .001, 1}, {"vleak", -.2, .2},      {"cm", .4, .6},         {"sigma", 3, 8},        {"mu", .3, .8},
        {"w", .001, 1},     {"sensory_sigma", 3, 8}, {"sensory_mu", .3, .8}, {"sensory_w", .001, 1},
    };
    assay_env   *env = env_new();
    assay_model *model = model_load(env, "ltc:input=20,units=28,out=4,wiring=autoncp"); /* seed 1 */
    uint32_t     state[624] = {1};
    int          at = 624;
    for (uint32_t k = 1; k < 624; k++)
        state[k] = 1812433253u * (state[k - 1] ^ state[k - 1] >> 30) + k;
    for (size_t n = 0; n < AS_COUNT(order); n++) {
        char name[64];
        snprintf(name, sizeof name, "rnn_cell.%s", order[n].name);
        as_view v = value_view(model, name);
        for (int64_t k = 0; k < as_shape_count(&v.shape); k++) {
            float scaled = (float)reference_draw(state, &at) * (float)(order[n].hi - order[n].lo);
            expect_near(as_view_get(&v, k), (double)(scaled + (float)order[n].lo), 0);
        }
    }
    as_view erev = value_view(model, "rnn_cell.erev"), mask = value_view(model, "rnn_cell.sparsity_mask");
    for (int64_t k = 0; k < 28 * 28; k++)
        expect_near(fabs(as_view_get(&erev, k)), as_view_get(&mask, k), 0);
    assay_model_free(model);
    assay_env_free(env);
}

Test(ncp_ltc, recurrent_memory_begins_orthogonal)
{
    assay_env   *env = env_new();
    assay_model *model = model_load(env, "ltc:input=3,units=5,mixed_memory=1");
    as_view      r = value_view(model, "lstm.recurrent_map.weight"), b = value_view(model, "lstm.input_map.bias");
    for (int64_t i = 0; i < 5; i++)
        for (int64_t j = 0; j < 5; j++) {
            double dot = 0.0;
            for (int64_t k = 0; k < 20; k++)
                dot += as_view_at(&r, (int64_t[]){k, i}) * as_view_at(&r, (int64_t[]){k, j});
            expect_near(dot, i == j, 1e-6);
        }
    for (int64_t k = 0; k < 20; k++)
        expect(fabs(as_view_get(&b, k)) <= 0.1);
    assay_model_free(model);
    assay_env_free(env);
}

/* --- Weights by name ------------------------------------------------------------------------------------------- */

Test(ncp_ltc, a_mask_of_another_wiring_is_refused)
{
    assay_env    *env = env_new();
    assay_model  *model = model_load(env, "ltc:input=3,units=8,out=2,wiring=autoncp");
    as_arena      arena = {0};
    as_named_view items[MAX_TENSORS];
    const char   *path = as_test_path("other.safetensors");
    size_t        n = tensors_fill(model, &arena, items);
    as_view_set(&items[11].view, 5, 1.0 - as_view_get(&items[11].view, 5));
    expect_ok(env, as_safetensors_save(env, path, items, n));
    expect_fails(env, as_model_weights(env, model, path, false), ASSAY_BAD_INPUT, "tensor 'rnn_cell.sparsity_mask' has ");
    items[11].view.shape = AS_SHAPE(4, 16);
    items[11].view = as_view_of(items[11].view.data, AS_F32, &items[11].view.shape);
    expect_ok(env, as_safetensors_save(env, path, items, n));
    expect_fails(env, as_model_weights(env, model, path, false), ASSAY_BAD_INPUT, "tensor 'rnn_cell.sparsity_mask' is [4,16]");
    as_arena_drop(&arena);
    assay_model_free(model);
    assay_env_free(env);
}

Test(ncp_ltc, weights_without_masks_or_with_a_name_less_or_more)
{
    assay_env    *env = env_new();
    assay_model  *model = model_load(env, "ltc:input=3,units=8,out=2,wiring=autoncp");
    as_arena      arena = {0};
    as_named_view items[MAX_TENSORS];
    const char   *path = as_test_path("some.safetensors");
    size_t        n = tensors_fill(model, &arena, items);
    items[11] = items[n - 1];
    items[12] = items[n - 2];
    expect_ok(env, as_safetensors_save(env, path, items, n - 2));
    expect_ok(env, as_model_weights(env, model, path, false));
    expect_ok(env, as_safetensors_save(env, path, items, n - 3));
    expect_fails(env, as_model_weights(env, model, path, false), ASSAY_BAD_INPUT, "there is no tensor 'rnn_cell.input_b'");
    items[n - 2].name = "rnn_cell.extra";
    expect_ok(env, as_safetensors_save(env, path, items, n - 1));
    expect_fails(env, as_model_weights(env, model, path, false), ASSAY_BAD_INPUT, "tensor 'rnn_cell.extra'");
    as_arena_drop(&arena);
    assay_model_free(model);
    assay_env_free(env);
}

/* --- Bad arguments ------------------------------------------------------------------------------------------------- */

Test(ncp_ltc, bad_arguments_have_their_sentences)
{
    static const struct {
        const char *spec, *part;
    } bad[] = {
        {"ltc:input=0", "input=0 must be a whole number from 1 to 65536"},
        {"ltc:unfolds=0", "unfolds=0 must be a whole number from 1 to 1000"},
        {"ltc:implicit=2", "implicit=2 must be a whole number from 0 to 1"},
        {"ltc:epsilon=-1", "epsilon=-1 must be a number from 0 to 1"},
        {"ltc:epsilon=small", "epsilon=small must be a number"},
        {"ltc:input_mapping=cubic", "input_mapping=cubic must be affine, linear or none"},
        {"ltc:output_mapping=cubic", "output_mapping=cubic must be affine, linear or none"},
        {"ltc:wiring=star", "star"},
        {"ltc:wiring=full,sparsity=0.5", "sparsity"},
        {"ltc:wiring=ncp,inter=4,command=2,motor=1,sensory_fanout=5,inter_fanout=1,recurrent_command=1,motor_fanin=1",
         "sensory_fanout"},
        {"ltc:wiring=autoncp,units=8,out=7", "out"},
        {"ltc:backbone_units=3", "ltc has no key 'backbone_units'"},
    };
    assay_env *env = env_new();
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        assay_model *model = NULL;
        assay_status status = assay_model_load(env, bad[i].spec, NULL, &model);
        if (status == ASSAY_OK)
            fail("%s was accepted", bad[i].spec);
        if (!strstr(assay_message(env), bad[i].part))
            fail("%s: \"%s\" does not say \"%s\"", bad[i].spec, assay_message(env), bad[i].part);
        expect(!model);
    }
    assay_env_free(env);
}

/* --- Primitives ------------------------------------------------------------------------------------------------------ */

Test(ncp_ltc, primitives_give_the_same)
{
    static const char *const specs[] = {
        "ltc:input=3,units=4,out=2,wiring=full",
        "ltc:input=3,units=8,out=2,wiring=autoncp,implicit=0,return_sequences=0",
        "ltc:input=3,units=8,out=2,wiring=autoncp,mixed_memory=1,proj=3,timespans=1",
        "ltc:input=3,units=6,wiring=random,sparsity=0.5,input_mapping=none,output_mapping=linear,state=1,mixed_memory=1,unfolds=2,epsilon=0.01",
        "ltc:input=3,wiring=ncp,inter=4,command=3,motor=2,sensory_fanout=2,inter_fanout=2,recurrent_command=2,motor_fanin=2,state=1",
    };
    assay_env *env = env_new();
    for (size_t i = 0; i < AS_COUNT(specs); i++) {
        assay_model   *model = model_load(env, specs[i]), *flat = NULL;
        as_binding_dim seq = {"seq", T};
        run            r = run_model(env, model, 2), f;
        expect_ok(env, as_model_expand(env, model, &seq, 1, &flat));
        for (int n = 0; n < flat->n_nodes; n++)
            expect(!flat->nodes[n].op->expand);
        run_start(env, flat, 2, false, &f);
        expect_ok(env, as_graph_eval(env, &f.graph, f.inputs, f.outputs));
        expect_eq(f.graph.n_outputs, r.graph.n_outputs);
        for (int k = 0; k < r.graph.n_outputs; k++)
            if (!(as_view_error(&f.outputs[k], &r.outputs[k]) <= 2e-6))
                fail("%s: output %d is off by %g", specs[i], k, as_view_error(&f.outputs[k], &r.outputs[k]));
        as_arena_drop(&f.arena);
        as_arena_drop(&r.arena);
        assay_model_free(flat);
        assay_model_free(model);
    }
    assay_env_free(env);
}

Test(ncp_ltc, a_sequence_too_long_for_primitives_is_refused)
{
    assay_env     *env = env_new();
    assay_model   *model = model_load(env, "ltc:input=3,units=4"), *flat = NULL;
    as_binding_dim seq = {"seq", 100000};
    expect(as_model_expand(env, model, &seq, 1, &flat) != ASSAY_OK);
    expect_has(assay_message(env), "100000 steps of 6 unfolds would become more than 20000 nodes");
    assay_model_free(model);
    assay_env_free(env);
}

/* --- What is left out costs nothing ---------------------------------------------------------------------------------- */

static as_cost cost_of(const char *spec)
{
    assay_env     *env = env_new();
    assay_model   *model = model_load(env, spec);
    run            r;
    as_cost        cost = {0};
    as_binding_dim dims[] = {{"batch", 1}, {"seq", 1}};
    r = (run){0};
    expect_ok(env, as_graph_bind(env, model, dims, 2, NULL, 0, 1, &r.arena, &r.graph));
    for (int i = 0; i < r.graph.n_nodes; i++)
        if (!strcmp(r.graph.nodes[i].ctx.op->name, "assay.LTC"))
            cost = r.graph.nodes[i].ctx.op->cost(&r.graph.nodes[i].ctx);
    as_arena_drop(&r.arena);
    assay_model_free(model);
    assay_env_free(env);
    return cost;
}

/* 1000 neurons: there are exactly as many sigmoids as synapses, and the bytes stay within 1.2 times the values and as many
 * indices. */
Test(ncp_ltc, work_and_bytes_of_random_wirings_follow_their_synapses)
{
    static const struct {
        const char *sparsity;
        uint64_t    synapses, sensory;
    } rows[] = {
        {"0.5", 500000, 4000},
        {"0.9", 100000, 800},
        {"0.99", 10000, 80},
    };
    uint64_t special[3], bytes[3];
    for (size_t i = 0; i < AS_COUNT(rows); i++) {
        char spec[96];
        snprintf(spec, sizeof spec, "ltc:input=8,units=1000,wiring=random,sparsity=%s", rows[i].sparsity);
        as_cost cost = cost_of(spec);
        special[i] = cost.special;
        bytes[i] = cost.bytes_read;
        expect_eq(special[i], rows[i].sensory + 6 * rows[i].synapses);
        expect(bytes[i] >= 4 * 4 * (rows[i].synapses + rows[i].sensory));
        expect(bytes[i] <= (uint64_t)(1.2 * 4 * 4 * (double)(rows[i].synapses + rows[i].sensory)));
    }
    expect_near((double)special[0] / (double)special[2], 50.0, 0.5);
}

Test(ncp_ltc, autoncp_has_the_sigmoids_of_its_synapses)
{
    expect_eq(cost_of("ltc:input=8,units=64,out=16,wiring=autoncp").special, 112 + 6 * 423);
    expect_eq(cost_of("ltc:input=8,units=64,wiring=full").special, 8 * 64 + 6 * 64 * 64);
}

Test(ncp_ltc, sparser_autoncp_wirings_work_less_and_read_less)
{
    static const char *const specs[] = {
        "ltc:input=8,units=1000,out=100,wiring=autoncp,sparsity=0.5",
        "ltc:input=8,units=1000,out=100,wiring=autoncp,sparsity=0.7",
        "ltc:input=8,units=1000,out=100,wiring=autoncp,sparsity=0.9",
    };
    as_cost last = {.flops = UINT64_MAX, .special = UINT64_MAX, .bytes_read = UINT64_MAX};
    for (size_t i = 0; i < AS_COUNT(specs); i++) {
        as_cost cost = cost_of(specs[i]);
        expect(cost.flops < last.flops && cost.special < last.special && cost.bytes_read < last.bytes_read);
        last = cost;
    }
}

Test(ncp_ltc, work_of_growing_circuits_grows_less_than_their_square)
{
    static const char *const specs[] = {
        "ltc:input=8,wiring=ncp,inter=100,command=50,motor=10,sensory_fanout=8,inter_fanout=8,recurrent_command=8,motor_fanin=8",
        "ltc:input=8,wiring=ncp,inter=200,command=100,motor=20,sensory_fanout=8,inter_fanout=8,recurrent_command=8,motor_fanin=8",
        "ltc:input=8,wiring=ncp,inter=400,command=200,motor=40,sensory_fanout=8,inter_fanout=8,recurrent_command=8,motor_fanin=8",
    };
    as_cost cost[3];
    for (size_t i = 0; i < AS_COUNT(specs); i++)
        cost[i] = cost_of(specs[i]);
    for (size_t i = 1; i < AS_COUNT(specs); i++)
        expect(cost[i].special < 3 * cost[i - 1].special && cost[i].bytes_read < 3 * cost[i - 1].bytes_read);
}
