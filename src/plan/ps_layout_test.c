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
