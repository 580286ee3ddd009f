/* ps_chain_test.c - which nodes become one program, and that the answers stay the same. */
#include "plan/test_fixture.h"

typedef struct shape_of {
    int      n_chains, n_changed;
    uint64_t bytes_saved;
} shape_of;

static shape_of looked_at(const assay_plan *plan)
{
    shape_of s = {0};
    for (int i = plan->n_prologue; i < plan->n_steps; i++)
        s.n_chains += plan->steps[i].kind == AS_STEP_NODE && !strcmp(plan->steps[i].seg.ctx->op->name, "assay.Chain");
    for (int i = 0; i < plan->n_passes; i++)
        if (!strcmp(plan->passes[i].pass, "chain")) {
            s.n_changed = plan->passes[i].n_changed;
            s.bytes_saved = plan->passes[i].bytes_saved;
        }
    return s;
}

/* Compiled against the reference code of the bound graph. */
static shape_of judge(void (*make)(as_maker *m))
{
    fixture  f;
    as_arena arena = {0};
    as_graph g = {0};
    float    truth[2][4096];
    fixture_open(&f, NULL);
    as_maker *m = fixture_maker(&f);
    make(m);
    expect_ok(f.env, as_maker_finish(m, &f.model));
    fixture_plan(&f);
    fixture_instance(&f);
    fixture_step(&f);
    expect_ok(f.env, as_graph_bind(f.env, f.model, NULL, 0, NULL, 0, 0, &arena, &g));
    as_view in[8], out[2];
    expect(g.n_inputs <= 8 && g.n_outputs <= 2);
    for (int i = 0; i < g.n_inputs; i++)
        in[i] = as_instance_input(f.instance, i);
    for (int i = 0; i < g.n_outputs; i++) {
        const as_tensor_info *info = &g.values[g.outputs[i]].info;
        expect(as_shape_count(&info->shape) <= 4096);
        out[i] = as_view_of(truth[i], AS_F32, &info->shape);
    }
    expect_ok(f.env, as_graph_eval(f.env, &g, in, out));
    for (int i = 0; i < g.n_outputs; i++) {
        as_view got = as_instance_output(f.instance, i);
        double  error = as_view_error(&got, &out[i]);
        if (error > 1e-5)
            fail("output %d is %g off", i, error);
    }
    shape_of s = looked_at(f.plan);
    as_arena_drop(&arena);
    fixture_close(&f);
    return s;
}

static int number(as_maker *m, const char *name, float x)
{
    as_shape scalar = {0};
    as_view  v = as_view_of(&x, AS_F32, &scalar);
    return as_maker_constant(m, name, &v);
}

/* tanh((x + y) * 0.5) - x: three intermediate values, one program. */
static void straight(as_maker *m)
{
    int x = fixture_input(m, "x", 30, 40), y = fixture_input(m, "y", 1, 40);
    int h = fixture_node2(m, "Mul", "h", fixture_node2(m, "Add", "s", x, y), number(m, "half", 0.5f));
    as_maker_output(m, fixture_node2(m, "Sub", "d", fixture_node1(m, "Tanh", "t", h), x));
}
Test(chain_pass, a_row_of_nodes_becomes_one_program)
{
    shape_of s = judge(straight);
    expect_eq(s.n_chains, 1);
    expect_eq(s.n_changed, 4);
    expect_eq(s.bytes_saved, 3 * 2 * 30 * 40 * 4);
}

static void alone(as_maker *m) { as_maker_output(m, fixture_node1(m, "Tanh", "t", fixture_input(m, "x", 3, 5))); }
Test(chain_pass, a_single_node_stays_what_it_is)
{
    shape_of s = judge(alone);
    expect_eq(s.n_chains, 0);
    expect_eq(s.n_changed, 0);
}

/* Both branches read s: it is computed once, and each branch is a program of its own or joins at the end. */
static void shared(as_maker *m)
{
    int x = fixture_input(m, "x", 7, 9), s = fixture_node1(m, "Exp", "s", x);
    int a = fixture_node1(m, "Neg", "a", s), b = fixture_node1(m, "Abs", "b", fixture_node1(m, "Neg", "n", s));
    as_maker_output(m, fixture_node2(m, "Div", "q", a, b));
}
Test(chain_pass, a_value_with_two_readers_is_computed_once)
{
    shape_of s = judge(shared);
    expect_eq(s.n_chains, 1); /* Neg, Neg, Abs, Div; Exp stays */
    expect_eq(s.n_changed, 4);
}

static void inner_output(as_maker *m)
{
    int e = fixture_node1(m, "Exp", "e", fixture_input(m, "x", 7, 9));
    as_maker_output(m, e);
    as_maker_output(m, fixture_node1(m, "Sqrt", "r", e));
}
Test(chain_pass, an_output_of_the_graph_is_not_hidden) { expect_eq(judge(inner_output).n_chains, 0); }

/* e is a column that is broadcast: computed for the column only, not for every element. */
static void widened(as_maker *m)
{
    int x = fixture_input(m, "x", 20, 30), c = fixture_input(m, "c", 20, 1);
    int e = fixture_node1(m, "Exp", "e", fixture_node1(m, "Neg", "n", c));
    as_maker_output(m, fixture_node1(m, "Relu", "r", fixture_node2(m, "Mul", "p", x, e)));
}
Test(chain_pass, what_is_smaller_than_the_result_has_a_program_of_its_own) { expect_eq(judge(widened).n_chains, 2); }

/* Forty additions: more than one program holds. */
static void long_row(as_maker *m)
{
    int  x = fixture_input(m, "x", 5, 5), y = fixture_input(m, "y", 5, 5), s = x;
    char name[16];
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "s%d", i);
        s = fixture_node2(m, i % 2 ? "Sub" : "Add", name, s, i % 3 ? x : y);
    }
    as_maker_output(m, s);
}
Test(chain_pass, a_long_row_is_cut_at_the_limit)
{
    shape_of s = judge(long_row);
    expect_eq(s.n_chains, 2);
    expect_eq(s.n_changed, 40);
}

/* The sum of twelve products needs more inputs than a program may have. */
static void many_inputs(as_maker *m)
{
    int  s = -1;
    char name[16];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "x%d", i);
        int x = fixture_input(m, name, 6, 7);
        for (int k = 0; k < 3; k++) {
            snprintf(name, sizeof name, "w%d", i * 3 + k);
            int w = as_maker_param_random(m, name, &AS_SHAPE(6, 7), 6);
            snprintf(name, sizeof name, "p%d", i * 3 + k);
            int p = fixture_node2(m, "Mul", name, x, w);
            snprintf(name, sizeof name, "a%d", i * 3 + k);
            s = s < 0 ? p : fixture_node2(m, "Add", name, s, p);
        }
    }
    as_maker_output(m, s);
}
Test(chain_pass, a_program_has_eight_inputs_at_most) { expect(judge(many_inputs).n_chains >= 2); }

/* w * w belongs to the set-up and stays there. */
static void steady(as_maker *m)
{
    int x = fixture_input(m, "x", 6, 7), w = as_maker_param_random(m, "w", &AS_SHAPE(6, 7), 6);
    int q = fixture_node1(m, "Exp", "q", w);
    as_maker_output(m, fixture_node1(m, "Tanh", "t", fixture_node2(m, "Add", "a", x, q)));
}
Test(chain_pass, what_depends_on_parameters_alone_is_left_to_the_prologue)
{
    shape_of s = judge(steady);
    expect_eq(s.n_chains, 1);
    expect_eq(s.n_changed, 2);
}

/* A square by Pow, bounds by Clip, a slope: instructions with constants. */
static void parameters(as_maker *m)
{
    int x = fixture_input(m, "x", 11, 13);
    int square = fixture_node2(m, "Pow", "sq", x, number(m, "two", 2.0f));
    int clip =
        as_maker_node(m, "Clip", "c", (int[]){square, number(m, "lo", 0.1f), number(m, "hi", 0.7f)}, 3, NULL, 0, NULL, 1, NULL);
    as_attr slope = AS_ATTR_F("alpha", 0.3);
    int     low = fixture_node2(m, "Sub", "low", clip, number(m, "half", 0.5f));
    as_maker_output(m, as_maker_node(m, "LeakyRelu", "lr", &low, 1, &slope, 1, NULL, 1, NULL));
}
Test(chain_pass, known_parameters_become_constants_of_the_program)
{
    shape_of s = judge(parameters);
    expect_eq(s.n_chains, 1);
    expect_eq(s.n_changed, 4);
}
