/* ex_c_test.c - what is read from a model for C source; tests/cli/export_c_test.sh checks that the source is right. */
#include <stdlib.h>

#include "export/c_net.h"
#include "tests/runner/test.h"

typedef struct fixture {
    assay_env     *env;
    assay_options *options;
    assay_model   *model;
} fixture;

static void fixture_open(fixture *f, const char *spec)
{
    *f = (fixture){0};
    expect_eq(assay_env_new(&f->env), ASSAY_OK);
    expect_ok(f->env, assay_options_new(f->env, &f->options));
    expect_ok(f->env, assay_model_load(f->env, spec, f->options, &f->model));
}

static void fixture_close(fixture *f)
{
    assay_model_free(f->model);
    assay_options_free(f->options);
    assay_env_free(f->env);
}

static void net_of(fixture *f, const char *spec, as_c_net *net)
{
    fixture_open(f, spec);
    *net = (as_c_net){.name = "net", .libm = true};
    expect_ok(f->env, as_c_net_read(f->env, f->model, 1, net));
}

Test(export_c, golden_vectors_are_the_answers_of_the_model)
{
    static const char *const specs[] = {"cfc:input=3,units=4,backbone_units=5,timespans=1",
                                        "ltc:input=3,units=6,out=2,timespans=1"};
    for (size_t i = 0; i < AS_COUNT(specs); i++) {
        fixture  f;
        as_c_net net;
        net_of(&f, specs[i], &net);
        as_arena             arena = {0};
        as_graph             g;
        const as_binding_dim dims[] = {{"batch", 1}, {"seq", AS_C_STEPS}};
        expect_ok(f.env, as_graph_bind(f.env, f.model, dims, 2, NULL, 0, 1, &arena, &g));
        expect_eq(g.n_inputs, 2);
        float  *y = AS_TAKE(&arena, float, AS_C_STEPS *net.n_out), *h = AS_TAKE(&arena, float, net.n_units);
        as_view in[] = {as_view_of(net.x, AS_F32, &AS_SHAPE(1, AS_C_STEPS, net.n_in)),
                        as_view_of(net.timespans, AS_F32, &AS_SHAPE(1, AS_C_STEPS))};
        as_view out[] = {as_view_of(y, AS_F32, &AS_SHAPE(1, AS_C_STEPS, net.n_out)),
                         as_view_of(h, AS_F32, &AS_SHAPE(1, net.n_units))};
        expect_ok(f.env, as_graph_eval(f.env, &g, in, out));
        expect(!memcmp(y, net.y, sizeof *y * (size_t)(AS_C_STEPS * net.n_out)));
        expect(!memcmp(h, net.h, sizeof *h * (size_t)net.n_units));
        as_arena_drop(&arena);
        as_c_net_drop(&net);
        fixture_close(&f);
    }
}

Test(export_c, a_mask_leaves_its_synapses_alone)
{
    fixture  f;
    as_c_net net;
    net_of(&f, "cfc:input=3,wiring=autoncp,units=8,out=2", &net);
    expect_eq(net.cfc.n_cells, 3);
    const as_c_linear *ff1 = &net.head[0][0];
    expect_eq(ff1->rows, 4);
    expect_eq(ff1->cols, 7);
    expect_eq(ff1->n, 6 + 16); /* sensory synapses, and one from each unit to each */
    expect_eq(ff1->start[4], ff1->n);
    for (int64_t k = 0; k < ff1->n; k++)
        expect(ff1->from[k] >= 0 && ff1->from[k] < 7);
    expect(net.head[0][2].from == NULL); /* time_a has no mask */
    as_c_net_drop(&net);
    fixture_close(&f);
}

Test(export_c, other_networks_are_refused_with_what_is_supported)
{
    fixture  f;
    as_c_net net = {.name = "net"};
    fixture_open(&f, "mlp-small");
    expect_eq(as_c_net_read(f.env, f.model, 1, &net), ASSAY_UNSUPPORTED);
    expect(strstr(assay_message(f.env), "cfc: and ltc: of the zoo") != NULL);
    expect(strstr(assay_message(f.env), "Gemm") != NULL);
    as_c_net_drop(&net);
    fixture_close(&f);
}

Test(export_c, weights_that_are_not_finite_are_named)
{
    fixture  f;
    as_c_net net = {.name = "net"};
    fixture_open(&f, "cfc:input=3,units=4,backbone_units=5");
    int v = as_model_value_find(f.model, "rnn_cell.ff2.bias");
    expect(v >= 0);
    float bad[4] = {0, 1, INFINITY, 2};
    f.model->values[v].data = bad;
    expect_eq(as_c_net_read(f.env, f.model, 1, &net), ASSAY_BAD_INPUT);
    expect(strstr(assay_message(f.env), "element 2 of 'rnn_cell.ff2.bias' is inf") != NULL);
    as_c_net_drop(&net);
    fixture_close(&f);
}

Test(export_c, numbers_are_written_so_that_c_reads_them_back)
{
    static const float values[] = {0.0f, 1.0f, -3.0f, 0.1f, 1e-8f, 1e30f, 1.17549435e-38f, 16777216.0f, -0.333333343f};
    for (size_t i = 0; i < AS_COUNT(values); i++) {
        char text[48], *end;
        as_c_number(text, values[i]);
        expect(strtof(text, &end) == values[i]);
        expect(!strcmp(end, "f"));
        expect(strpbrk(text, ".e") != NULL);
    }
}
