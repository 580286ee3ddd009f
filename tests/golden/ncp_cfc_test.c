/* ncp_cfc_test.c - CfC networks against values of the torch reference (ncps 1.0.1), weights filled by a rule:
 * tensor number n in the reference's order, element k: 0.4 sin(0.9 n + 0.11 k + 0.3); masks count and keep their values.
 * x[b][t][i] = sin(0.5 t + 0.3 i + 0.2 b), 3 inputs, 5 steps, 2 sequences; "irr": one sequence with time spans 0.5 1 2 0.1 3. */
#include <stdio.h>

#include "model/model.h"
#include "tests/runner/test.h"

enum { N_IN = 3, N_STEPS = 5 };

typedef struct setting {
    assay_env   *env;
    assay_model *model;
    as_arena     arena;
    as_graph     graph;
    as_view      in[8], out[8];
} setting;

static assay_model *load(assay_env *env, const char *spec)
{
    assay_options *options = NULL;
    assay_model   *model = NULL;
    expect_ok(env, assay_options_new(env, &options));
    expect_ok(env, assay_model_load(env, spec, options, &model));
    assay_options_free(options);
    return model;
}

static as_view view_take(setting *s, const as_tensor_info *info)
{
    void *data = as_arena_take(&s->arena, (size_t)as_shape_count(&info->shape), as_dtype_bytes(info->dtype), 64);
    expect(data);
    return as_view_of(data, info->dtype, &info->shape);
}

/* The model owns the memory of these weights, and nothing else reads it yet. */
static void weights_fill(assay_model *model)
{
    int n = 0;
    for (int i = 0; i < model->n_values; i++) {
        as_value *v = &model->values[i];
        bool      mask = v->role == AS_ROLE_CONSTANT && strstr(v->name, "sparsity_mask");
        int64_t   count = 1;
        if (v->role != AS_ROLE_PARAM && !mask)
            continue;
        for (int k = 0; k < v->dims.rank; k++)
            count *= v->dims.dim[k].size;
        for (int64_t k = 0; !mask && k < count; k++)
            ((float *)(uintptr_t)v->data)[k] = (float)(0.4 * sin(0.9 * n + 0.11 * (double)k + 0.3));
        n++;
    }
}

static void x_fill(const as_view *x)
{
    for (int64_t e = 0; e < as_shape_count(&x->shape); e++)
        as_view_set(x, e,
                    sin(0.5 * (double)(e / N_IN % N_STEPS) + 0.3 * (double)(e % N_IN) + 0.2 * (double)(e / (N_IN * N_STEPS))));
}

static void bind(setting *s, const assay_model *model, int64_t batch)
{
    as_binding_dim dims[] = {{"batch", batch}, {"seq", N_STEPS}};
    expect_ok(s->env, as_graph_bind(s->env, model, dims, 2, NULL, 0, 0, &s->arena, &s->graph));
    for (int i = 0; i < s->graph.n_inputs; i++)
        s->in[i] = view_take(s, &s->graph.values[s->graph.inputs[i]].info);
    for (int i = 0; i < s->graph.n_outputs; i++)
        s->out[i] = view_take(s, &s->graph.values[s->graph.outputs[i]].info);
    x_fill(&s->in[0]);
}

/* A filled network run over the standard input. */
static void start(setting *s, const char *spec, int64_t batch)
{
    static const double spans[] = {0.5, 1, 2, 0.1, 3};
    *s = (setting){0};
    expect(assay_env_new(&s->env) == ASSAY_OK);
    s->model = load(s->env, spec);
    weights_fill(s->model);
    bind(s, s->model, batch);
    for (int i = 0; s->graph.n_inputs > 1 && i < N_STEPS; i++)
        as_view_set(&s->in[1], i, spans[i]);
    expect_ok(s->env, as_graph_eval(s->env, &s->graph, s->in, s->out));
}

static void end(setting *s)
{
    as_arena_drop(&s->arena);
    assay_model_free(s->model);
    assay_env_free(s->env);
}

static void near(const as_view *v, int64_t first, const double *want, int n)
{
    for (int i = 0; i < n; i++)
        expect_near(as_view_get(v, first + i), want[i], 1e-6);
}

/* The last state of both sequences, then that of one with irregular time. */
static void states_check(const char *spec, const double want[8], const double irregular[4])
{
    setting s;
    char    timed[128];
    start(&s, spec, 2);
    near(&s.out[1], 0, want, 8);
    near(&s.out[0], 4 * (N_STEPS - 1), want, 4); /* the last step of y is the state */
    end(&s);
    snprintf(timed, sizeof timed, "%s,timespans=1", spec);
    start(&s, timed, 1);
    near(&s.out[1], 0, irregular, 4);
    end(&s);
}

Test(ncp_cfc, default_as_the_reference)
{
    states_check("cfc:input=3,units=4,backbone_units=5,backbone_layers=2",
                 (const double[]){.1212310, -.0514278, -.2358640, -.3315049, .1203721, -.0442590, -.2252125, -.3226241},
                 (const double[]){.1358659, -.0442983, -.2633770, -.3275489});
}

Test(ncp_cfc, no_gate_as_the_reference)
{
    states_check("cfc:input=3,units=4,backbone_units=5,backbone_layers=2,mode=no_gate",
                 (const double[]){.2185618, .0339964, -.2707092, -.5564490, .2113979, .0373892, -.2578997, -.5397510},
                 (const double[]){.2109091, .0352222, -.3081002, -.6195924});
}

Test(ncp_cfc, pure_as_the_reference)
{
    states_check("cfc:input=3,units=4,backbone_units=5,backbone_layers=2,mode=pure",
                 (const double[]){.4014527, .3633537, .3284712, .3097170, .3932854, .3636787, .3342719, .3159755},
                 (const double[]){.3884182, .3727146, .3699330, .3759292});
}

Test(ncp_cfc, mixed_memory_and_projection_as_the_reference)
{
    setting s;
    start(&s, "cfc:input=3,units=4,backbone_units=5,mixed_memory=1,proj=2,return_sequences=0", 2);
    near(&s.out[0], 0, (const double[]){.5981508, .1059174, .5859228, .1072409}, 4);
    near(&s.out[1], 0, (const double[]){-.5794443, -.8146965, -.8975780, -.8252014}, 4);
    near(&s.out[2], 0, (const double[]){.1421155, .0453029, -.1075876, -.3213191}, 4);
    end(&s);
}

Test(ncp_cfc, wired_as_the_reference)
{
    setting s;
    double  loss = 0.0;
    start(&s, "cfc:input=3,units=8,out=2,wiring=autoncp", 2);
    near(&s.out[0], 2 * (N_STEPS - 1), (const double[]){.0593417, .0545097}, 2);
    near(&s.out[0], 2 * (2 * N_STEPS - 1), (const double[]){.0608939, .0563541}, 2);
    near(&s.out[1], 0, (const double[]){.2202617, .0102303, -.2724807, -.3302933, -.0496686, -.2331576, .0593417, .0545097}, 8);
    for (int64_t i = 0; i < as_shape_count(&s.out[0].shape); i++)
        loss += as_view_get(&s.out[0], i) * as_view_get(&s.out[0], i);
    expect_near(loss, .06787182, 1e-7);
    end(&s);
}

static double norm(const as_view *v)
{
    double sum = 0.0;
    for (int64_t i = 0; i < as_shape_count(&v->shape); i++)
        sum += as_view_get(v, i) * as_view_get(v, i);
    return sqrt(sum);
}

Test(ncp_cfc, gradients_through_time_as_the_reference)
{
    static const char *const wrt[] = {"rnn_cell.ff1.bias", "rnn_cell.backbone.0.weight", "rnn_cell.time_a.weight"};
    static const double      bias[] = {1.179028, -.5117983, -1.807017, -2.042075};
    setting                  s, g = {0};
    double                   loss = 0.0;
    assay_model             *gradient = NULL;
    start(&s, "cfc:input=3,units=4,backbone_units=5,backbone_layers=2", 2);
    as_binding_dim dims[] = {{"batch", 2}, {"seq", N_STEPS}};
    expect_ok(s.env, as_model_grad(s.env, s.model, dims, 2, wrt, 3, &gradient));
    g.env = s.env;
    expect_ok(s.env, as_graph_bind(s.env, gradient, NULL, 0, NULL, 0, 0, &g.arena, &g.graph));
    for (int i = 0; i < g.graph.n_inputs; i++) {
        const as_bound_value *v = &g.graph.values[g.graph.inputs[i]];
        g.in[i] = view_take(&g, &v->info);
        if (!strcmp(v->name, "x"))
            x_fill(&g.in[i]);
        for (int64_t e = 0; !strcmp(v->name, "d:y") && e < as_shape_count(&v->info.shape); e++)
            as_view_set(&g.in[i], e, 2.0 * as_view_get(&s.out[0], e));
    }
    for (int i = 0; i < g.graph.n_outputs; i++)
        g.out[i] = view_take(&g, &g.graph.values[g.graph.outputs[i]].info);
    expect_ok(s.env, as_graph_eval(s.env, &g.graph, g.in, g.out));
    for (int64_t i = 0; i < as_shape_count(&s.out[0].shape); i++)
        loss += as_view_get(&s.out[0], i) * as_view_get(&s.out[0], i);
    expect_near(loss, 1.771978, 1e-5 * 1.771978);
    for (int i = 0; i < 4; i++)
        expect_near(as_view_get(&g.out[0], i), bias[i], 1e-5 * fabs(bias[i]));
    expect_near(norm(&g.out[1]), 1.721095, 1e-5 * 1.721095);
    expect_near(norm(&g.out[2]), .6895137, 1e-5 * .6895137);
    as_arena_drop(&g.arena);
    assay_model_free(gradient);
    end(&s);
}
