/* ps_layout_test.c - which values are stored in NHWC, and where a relayout is inserted. */
#include "plan/edit.h"
#include "plan/test_fixture.h"

static int steps_of(const assay_plan *plan, const char *op)
{
    int n = 0;
    for (int s = 0; s < plan->n_steps; s++)
        n += plan->steps[s].kind == AS_STEP_NODE && !strcmp(plan->steps[s].seg.ctx->op->name, op);
    return n;
}

static const as_pass_note *note_of(const assay_plan *plan)
{
    for (int i = 0; i < plan->n_passes; i++)
        if (!strcmp(plan->passes[i].pass, "layout"))
            return &plan->passes[i];
    fail("there is no pass layout");
    return NULL;
}

static int nhwc_values(const assay_plan *plan)
{
    int n = 0;
    for (int i = 0; i < plan->graph.n_values; i++)
        n += plan->graph.values[i].info.layout == AS_LAYOUT_NHWC;
    return n;
}

/* Every context agrees with its values, inputs and outputs are row-major, and nodes that move no element read row-major. */
static void graph_check(const assay_plan *plan)
{
    const as_graph *g = &plan->graph;
    for (int i = 0; i < g->n_nodes; i++) {
        const as_bound_node *node = &g->nodes[i];
        for (int k = 0; !node->dead && k < node->ctx.n_in; k++)
            if (node->in[k] >= 0) {
                expect_eq(node->ctx.in[k].layout, g->values[node->in[k]].info.layout);
                expect(!node->ctx.op->view_only || node->ctx.in[k].layout == AS_LAYOUT_ROW_MAJOR);
            }
        for (int k = 0; !node->dead && k < node->ctx.n_out; k++)
            if (node->out[k] >= 0)
                expect_eq(node->ctx.out[k].layout, g->values[node->out[k]].info.layout);
    }
    for (int i = 0; i < g->n_inputs; i++)
        expect_eq(g->values[g->inputs[i]].info.layout, AS_LAYOUT_ROW_MAJOR);
    for (int i = 0; i < g->n_outputs; i++)
        expect_eq(g->values[g->outputs[i]].info.layout, AS_LAYOUT_ROW_MAJOR);
}

Test(layout_pass, a_plain_network_needs_no_relayout)
{
    fixture f;
    fixture_open(&f, "cnn-small");
    fixture_plan(&f);
    expect(note_of(f.plan)->n_changed > 0);
    expect_eq(note_of(f.plan)->n_changed, nhwc_values(f.plan));
    expect_eq(steps_of(f.plan, "assay.Relayout"), 0);
    expect(strstr(note_of(f.plan)->text, "0 layout changes") != NULL);
    graph_check(f.plan);
    fixture_close(&f);
}

Test(layout_pass, every_context_agrees_with_its_values_in_all_networks)
{
    static const char *const specs[] = {"cnn-bn",         "cnn-residual", "cnn-separable", "cnn-grouped",
                                        "cnn-bottleneck", "cnn-widen",    "cnn-cifar"};
    for (size_t i = 0; i < AS_COUNT(specs); i++) {
        fixture f;
        fixture_open(&f, specs[i]);
        fixture_plan(&f);
        expect(nhwc_values(f.plan) > 0);
        graph_check(f.plan);
        fixture_close(&f);
    }
}

Test(layout_pass, nothing_moves_when_compile_is_off)
{
    fixture f;
    fixture_open(&f, "cnn-small");
    fixture_set(&f, "compile", "off");
    fixture_plan(&f);
    expect_eq(nhwc_values(f.plan), 0);
    fixture_close(&f);
}

Test(layout_pass, a_transposed_convolution_with_a_stride_stands_between_relayouts_and_gives_the_same_answer)
{
    float *answer[2];
    for (int on = 0; on < 2; on++) {
        fixture f;
        fixture_open(&f, NULL);
        as_maker *m = fixture_maker(&f);
        as_attr   stride = AS_ATTR_LIST("strides", 2, 2);
        int x = as_maker_input(m, "x", AS_F32, &(as_dims){.rank = 4, .dim = {{.size = 2}, {.size = 9}, {.size = 5}, {.size = 4}}});
        int w = as_maker_param_random(m, "w", &AS_SHAPE(9, 20, 3, 3), 9), b = as_maker_param_random(m, "b", &AS_SHAPE(20), 1);
        as_maker_output(m, as_maker_node(m, "ConvTranspose", "up", (int[]){x, w, b}, 3, &stride, 1, NULL, 1, NULL));
        expect_ok(f.env, as_maker_finish(m, &f.model));
        fixture_set(&f, "compile", on ? "on" : "off");
        fixture_plan(&f);
        expect_eq(steps_of(f.plan, "assay.Relayout"), on ? 2 : 0);
        graph_check(f.plan);
        fixture_instance(&f);
        fixture_step(&f);
        as_view y = as_instance_output(f.instance, 0);
        answer[on] = malloc(as_view_bytes(&y));
        expect(answer[on] != NULL && as_shape_count(&y.shape) == 2 * 20 * 11 * 9);
        memcpy(answer[on], y.data, as_view_bytes(&y));
        fixture_close(&f);
    }
    for (int i = 0; i < 2 * 20 * 11 * 9; i++)
        expect_near(answer[1][i], answer[0][i], 1e-5);
    free(answer[0]);
    free(answer[1]);
}

/* --- What stands between convolutions ------------------------------------------------------------------------ */

static int conv_add(as_maker *m, const char *name, int x, int64_t n_c, int64_t n_m)
{
    int w = as_maker_param_random(m, as_arena_printf(as_maker_arena(m), "%s.weight", name), &AS_SHAPE(n_m, n_c, 1, 1), n_c);
    return fixture_node2(m, "Conv", name, x, w);
}

static int ints_add(as_maker *m, const int64_t *values, int64_t n)
{
    as_view view = as_view_of((void *)(uintptr_t)values, AS_I64, &AS_SHAPE(n));
    return as_maker_constant(m, NULL, &view);
}

static int image_add(as_maker *m, int64_t n_c)
{
    return as_maker_input(m, "x", AS_F32, &(as_dims){.rank = 4, .dim = {{.size = 2}, {.size = n_c}, {.size = 6}, {.size = 5}}});
}

/* Two branches that are joined and pooled, parts of the channels weighted by their own means, made larger, cut and padded. */
static void between_add(as_maker *m)
{
    int     x = image_add(m, 3), parts[2], a = conv_add(m, "a", x, 3, 20), b = conv_add(m, "b", a, 20, 12);
    as_attr axis = AS_ATTR_I("axis", 1),
            twice[] = {AS_ATTR_S("coordinate_transformation_mode", "asymmetric"), AS_ATTR_S("nearest_mode", "floor")},
            window[] = {AS_ATTR_LIST("kernel_shape", 3, 3), AS_ATTR_LIST("pads", 1, 1, 1, 1)};
    int joined = as_maker_node(m, "Concat", "join", (int[]){a, b}, 2, &axis, 1, NULL, 1, NULL);
    int pooled = as_maker_node(m, "MaxPool", "pool", &joined, 1, window, 2, NULL, 1, NULL);
    as_maker_node(m, "Split", "split", (int[]){pooled, ints_add(m, (int64_t[]){24, 8}, 2)}, 2, &axis, 1, parts, 2, NULL);
    int mean = fixture_node2(m, "ReduceMean", "mean", parts[0], ints_add(m, (int64_t[]){2, 3}, 2));
    int y = fixture_node2(m, "Mul", "excite", parts[0], fixture_node1(m, "Sigmoid", "gate", conv_add(m, "squeeze", mean, 24, 24)));
    y = as_maker_node(m, "Resize", "up", (int[]){y, -1, -1, ints_add(m, (int64_t[]){2, 24, 12, 10}, 4)}, 4, twice, 2, NULL, 1,
                      NULL);
    y = as_maker_node(
        m, "Slice", "cut",
        (int[]){y, ints_add(m, (int64_t[]){4, 1}, 2), ints_add(m, (int64_t[]){24, 11}, 2), ints_add(m, (int64_t[]){1, 2}, 2)}, 4,
        NULL, 0, NULL, 1, NULL);
    y = fixture_node2(m, "Pad", "pad", y, ints_add(m, (int64_t[]){0, 1, 1, 0, 0, 0, 0, 2}, 8));
    as_maker_output(m, conv_add(m, "last", y, 21, 17));
    as_maker_output(m, conv_add(m, "small", parts[1], 8, 5));
}

static void between_open(fixture *f, const char *compile)
{
    fixture_open(f, NULL);
    as_maker *m = fixture_maker(f);
    between_add(m);
    expect_ok(f->env, as_maker_finish(m, &f->model));
    fixture_set(f, "compile", compile);
    fixture_plan(f);
    fixture_instance(f);
    fixture_step(f);
}

Test(layout_pass, what_joins_splits_weighs_resizes_cuts_and_pads_between_convolutions_stays_in_nhwc)
{
    fixture f, plain;
    between_open(&f, "on");
    between_open(&plain, "off");
    graph_check(f.plan);
    expect_eq(steps_of(f.plan, "assay.Relayout"), 0);
    static const char *const names[] = {"join", "pool", "split", "up", "cut", "pad"};
    for (size_t i = 0; i < AS_COUNT(names); i++) {
        int step = fixture_step_find(f.plan, names[i]);
        if (step < 0)
            fail("there is no step %s", names[i]);
        const as_node_ctx *n = f.plan->steps[step].seg.ctx;
        expect(n->in[0].layout == AS_LAYOUT_NHWC && n->out[0].layout == AS_LAYOUT_NHWC);
        expect(!f.plan->steps[step].choice.slow);
    }
    for (int i = 0; i < 2; i++) {
        as_view got = as_instance_output(f.instance, i), want = as_instance_output(plain.instance, i);
        expect(as_view_error(&got, &want) < 1e-5);
    }
    fixture_close(&f);
    fixture_close(&plain);
}

Test(layout_pass, a_convolution_of_many_channels_gets_its_row_major_input_in_nhwc_but_one_of_few_does_not)
{
    for (int few = 0; few < 2; few++) {
        fixture f;
        fixture_open(&f, NULL);
        as_maker *m = fixture_maker(&f);
        as_maker_output(m, conv_add(m, "c", image_add(m, few ? 4 : 5), few ? 4 : 5, 20));
        expect_ok(f.env, as_maker_finish(m, &f.model));
        fixture_plan(&f);
        graph_check(f.plan);
        expect_eq(steps_of(f.plan, "assay.Relayout"), few ? 0 : 1);
        fixture_close(&f);
    }
}
