/* pieces_test.c - cutting graphs into pieces, and lent devices that take nodes or graphs. */
#include "plan/pieces.h"

#include "base/random.h"
#include "plan/lower.h"
#include "plan/test_fixture.h"

/* --- Cutting ------------------------------------------------------------------------------------------------ */

enum { N = 40, MAX_BEFORE = 3 };

typedef struct random_graph {
    int          class_of[N], edges[N][MAX_BEFORE], n_before[N], piece[N], order[N], place[N], n_pieces;
    const int   *before[N];
    as_cut_graph g;
} random_graph;

static uint32_t draw(uint64_t seed, uint32_t what, uint64_t i, uint32_t below)
{
    return (uint32_t)((double)as_philox_uniform(seed, what, 0, i) * below);
}

static void graph_draw(random_graph *r, uint64_t seed)
{
    *r = (random_graph){0};
    uint32_t n_classes = 1 + draw(seed, 9, 0, 3);
    for (int i = 0; i < N; i++) {
        r->class_of[i] = (int)draw(seed, 1, (uint64_t)i, n_classes + 1) - 1;
        r->n_before[i] = i ? (int)draw(seed, 2, (uint64_t)i, MAX_BEFORE + 1) : 0;
        for (int k = 0; k < r->n_before[i]; k++)
            r->edges[i][k] = (int)draw(seed, 3, (uint64_t)(i * MAX_BEFORE + k), (uint32_t)i);
        r->before[i] = r->edges[i];
    }
    r->g = (as_cut_graph){.n_nodes = N, .class_of = r->class_of, .before = r->before, .n_before = r->n_before};
    r->n_pieces = as_pieces_cut(&r->g, r->piece, r->order);
    for (int i = 0; i < N; i++)
        r->place[r->order[i]] = i;
}

/* Pieces as units: everything that a piece reads comes before it, so no two wait for each other. */
static void expect_in_order(const random_graph *r)
{
    int first[N], last[N];
    for (int i = 0; i < N; i++)
        first[i] = N, last[i] = -1;
    for (int i = 0; i < N; i++)
        if (r->piece[i] >= 0) {
            first[r->piece[i]] = r->place[i] < first[r->piece[i]] ? r->place[i] : first[r->piece[i]];
            last[r->piece[i]] = r->place[i] > last[r->piece[i]] ? r->place[i] : last[r->piece[i]];
        }
    for (int i = 0; i < N; i++) {
        expect_eq(r->piece[i] >= 0, r->class_of[i] >= 0);
        for (int k = 0; k < N; k++) /* one stretch, of one class */
            if (r->piece[i] >= 0 && r->place[k] > first[r->piece[i]] && r->place[k] < last[r->piece[i]])
                expect(r->piece[k] == r->piece[i] && r->class_of[k] == r->class_of[i]);
        for (int k = 0; k < r->n_before[i]; k++) {
            int b = r->edges[i][k], begin = r->piece[i] >= 0 ? first[r->piece[i]] : r->place[i];
            expect(r->place[b] < r->place[i]);
            expect((r->piece[b] >= 0 && r->piece[b] == r->piece[i]) || r->place[b] < begin);
        }
    }
}

static void expect_connected(const random_graph *r)
{
    for (int p = 0; p < r->n_pieces; p++) {
        bool met[N] = {false}, more = true;
        int  n = 0, n_met = 0;
        for (int i = 0; i < N; i++)
            if (r->piece[i] == p && !n++)
                met[i] = true;
        while (more) {
            more = false;
            for (int i = 0; i < N; i++)
                for (int k = 0; k < r->n_before[i]; k++) {
                    int b = r->edges[i][k];
                    if (r->piece[i] == p && r->piece[b] == p && met[i] != met[b])
                        met[i] = met[b] = more = true;
                }
        }
        for (int i = 0; i < N; i++)
            n_met += r->piece[i] == p && met[i];
        expect_eq(n_met, n);
    }
}

Test(pieces, of_random_graphs_are_connected_and_wait_for_nobody_who_waits_for_them)
{
    int most = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        random_graph r;
        graph_draw(&r, seed);
        expect_in_order(&r);
        expect_connected(&r);
        most = r.n_pieces > most ? r.n_pieces : most;
    }
    expect(most > 3);
}

/* a -> b -> d and a -> c -> d with c not claimed: {a, b, d} would wait for c, which waits for a. */
Test(pieces, a_detour_through_another_device_splits)
{
    static const int        class_of[] = {0, 0, -1, 0}, of_a[] = {0}, of_d[] = {1, 2};
    static const int *const before[] = {NULL, of_a, of_a, of_d};
    static const int        n_before[] = {0, 1, 1, 2};
    int                     piece[4], order[4];
    as_cut_graph            g = {.n_nodes = 4, .class_of = class_of, .before = before, .n_before = n_before};
    expect_eq(as_pieces_cut(&g, piece, order), 2);
    expect_eq(piece[0], piece[1]);
    expect_eq(piece[2], -1);
    expect(piece[3] != piece[0]);
    expect_eq(order[2], 2);
}

/* --- Graphs on a device ------------------------------------------------------------------------------------------ */

static int n_pieces_on(const assay_plan *plan, int device)
{
    int n = 0;
    for (int s = 0; s < plan->n_steps; s++)
        n += plan->steps[s].kind == AS_STEP_PIECE && plan->steps[s].device == device;
    return n;
}

/* All outputs of one run of a model on the device, against the cpu's. */
static void answers_as_the_cpu(const char *spec, const char *device, const char *compile, int least_pieces)
{
    fixture here, there;
    fixture_open(&here, spec);
    fixture_open(&there, spec);
    fixture_set(&there, "device", device);
    fixture_set(&there, "compile", compile);
    fixture_plan(&here);
    fixture_plan(&there);
    fixture_instance(&here);
    fixture_instance(&there);
    fixture_step(&here);
    for (int i = 0; i < 2; i++)
        fixture_step(&there);
    expect(n_pieces_on(there.plan, 1) >= least_pieces);
    expect(there.plan->shares[1].n_nodes > 0);
    expect_eq(there.plan->devices[1]->peak_bytes, there.plan->device_bytes[1]);
    for (int i = 0; i < here.plan->graph.n_outputs; i++) {
        as_view want = as_instance_output(here.instance, i), got = as_instance_output(there.instance, i);
        double  error = as_view_error(&got, &want);
        if (!(error <= 1e-4))
            fprintf(stderr, "%s on %s, compile %s: output %d is off by %g\n", spec, device, compile, i, error);
        expect(error <= 1e-4);
    }
    fixture_close(&here);
    fixture_close(&there);
}

Test(pieces, answer_as_the_cpu_whole_or_split)
{
    answers_as_the_cpu("mlp:sizes=9x7x5x3", "null:graph,truth", "on", 1);
    answers_as_the_cpu("mlp:sizes=9x7x5x3", "null:graph,truth,without=Relu", "on", 2);
    answers_as_the_cpu("mlp:sizes=9x7x5x3", "null:graph,truth", "off", 3);
    answers_as_the_cpu("mlp-bn:sizes=9x7x5x3", "null:graph,truth", "on", 1);
    answers_as_the_cpu("cfc:input=3,units=5,backbone_units=4,mixed_memory=1,state=1", "null:graph,truth", "on", 1);
    answers_as_the_cpu("cfc:input=3,units=5,backbone_units=4", "null:graph,truth", "off", 10);
    answers_as_the_cpu("cnn-small", "null:graph,truth,without=MaxPool", "on", 2);
    answers_as_the_cpu("cnn-residual", "null:graph,truth,without=Add", "on", 2);
}

/* The device takes some of the branches: each piece has several inputs and outputs. */
static void branches_model(fixture *f)
{
    fixture_open(f, NULL);
    as_maker *m = fixture_maker(f);
    int       x = fixture_input(m, "x", 3, 4), z = fixture_input(m, "z", 3, 4);
    int       w = as_maker_param_random(m, "w", &AS_SHAPE(4, 4), 4);
    int       a = fixture_node1(m, "Tanh", "a", x), b = fixture_node2(m, "MatMul", "b", a, w);
    int       c = fixture_node1(m, "Softmax", "c", b), d = fixture_node2(m, "Add", "d", c, a);
    int       e = fixture_node2(m, "Mul", "e", b, z), n = fixture_node1(m, "Neg", "n", w);
    as_attr   axis = AS_ATTR_I("axis", 0);
    int       all = as_maker_node(m, "Concat", "all", (int[]){d, e, n}, 3, &axis, 1, NULL, 1, NULL);
    as_maker_output(m, all);
    as_maker_output(m, b);
    as_maker_output(m, fixture_node1(m, "Relu", "last", all));
    expect_ok(f->env, as_maker_finish(m, &f->model));
}

Test(pieces, with_several_values_in_and_out_pass_them_on)
{
    static const char *const devices[] = {"null:graph,truth", "null:graph,truth,without=Softmax", "null:graph,truth,without=Concat",
                                          "null:graph,truth,without=Tanh,without=Mul"};
    fixture                  here;
    branches_model(&here);
    fixture_plan(&here);
    fixture_instance(&here);
    fixture_step(&here);
    for (size_t k = 0; k < AS_COUNT(devices); k++) {
        fixture f;
        branches_model(&f);
        fixture_set(&f, "device", devices[k]);
        fixture_plan(&f);
        fixture_instance(&f);
        fixture_step(&f);
        fixture_step(&f);
        for (int i = 0; i < 3; i++) {
            as_view want = as_instance_output(here.instance, i), got = as_instance_output(f.instance, i);
            expect(as_view_error(&got, &want) <= 1e-5);
        }
        fixture_close(&f);
    }
    fixture_close(&here);
}

Test(pieces, are_one_step_that_names_its_nodes)
{
    fixture f;
    fixture_open(&f, "mlp:sizes=4x3x2");
    fixture_set(&f, "device", "null:graph,piece=3ms");
    fixture_plan(&f);
    fixture_instance(&f);
    expect_eq(n_pieces_on(f.plan, 1), 1);
    const as_step *step = NULL;
    for (int s = 0; s < f.plan->n_steps; s++)
        if (f.plan->steps[s].kind == AS_STEP_PIECE)
            step = &f.plan->steps[s];
    expect(step != NULL);
    expect_has(step->name, "+");
    expect_has(step->piece->op, "nodes as one");
    expect_eq(step->piece->n_nodes, f.plan->shares[1].n_nodes);
    expect_eq(f.plan->shares[0].n_nodes, 0);
    uint64_t begin = as_clock_now(&f.env->clock);
    fixture_step(&f);
    expect_eq(as_clock_now(&f.env->clock) - begin, 3000000);
    for (int b = 0; b < f.plan->n_buffers; b++) /* values inside a piece have no buffer of ours */
        expect(f.plan->buffers[b].role != AS_BUF_ACTIVATION || f.plan->buffers[b].device == 1);
    fixture_close(&f);
}

/* --- Devices that are lent -------------------------------------------------------------------------------------- */

static assay_status build(fixture *f, const char *const *devices)
{
    for (; *devices; devices++)
        fixture_set(f, "device", *devices);
    return assay_plan_build(f->env, f->model, f->options, &f->plan);
}

Test(devices, a_node_goes_to_the_first_that_takes_it)
{
    fixture f;
    fixture_open(&f, "mlp:sizes=9x7x5x3");
    expect_ok(f.env, build(&f, (const char *const[]){"null:graph,without=Relu", "null:gemm=5us", "cpu", NULL}));
    expect_eq(f.plan->n_devices, 3);
    expect_eq(f.plan->shares[0].n_nodes, 0);
    for (int s = 0; s < f.plan->n_steps; s++)
        if (f.plan->steps[s].kind == AS_STEP_NODE) {
            expect_str(f.plan->devices[f.plan->steps[s].device]->name, "null:gemm=5us");
            expect_str(f.plan->steps[s].choice.refused[0].kernel, "null:graph,without=Relu");
            expect_str(f.plan->steps[s].choice.refused[0].why, "it was set not to take this op");
        }
    expect(f.plan->shares[1].n_nodes > 0 && f.plan->shares[1].n_refused > 0 && f.plan->shares[2].n_nodes > 0);
    fixture_close(&f);
}

Test(devices, one_that_takes_nothing_is_an_error_with_its_first_reason)
{
    fixture f;
    fixture_open(&f, "mlp:sizes=4x3");
    expect_fails(f.env, build(&f, (const char *const[]){"null:graph,without=Gemm", NULL}), ASSAY_UNSUPPORTED,
                 "device 'null:graph,without=Gemm' takes none of the 1 step of 'mlp:sizes=4x3'");
    expect_has(assay_message(f.env), "it was set not to take this op");
    fixture_close(&f);
    fixture_open(&f, "mlp:sizes=4x3");
    expect_fails(f.env, build(&f, (const char *const[]){"null", "null", NULL}), ASSAY_BAD_INPUT, "--device null is given twice");
    fixture_close(&f);
}

Test(devices, are_lent_to_plans_and_outlive_them)
{
    fixture     f;
    as_device  *cpu, *null;
    assay_plan *plans[2];
    fixture_open(&f, "mlp:sizes=4x3x2");
    expect_ok(f.env, assay_device_open(f.env, "cpu", 1, &cpu));
    expect_ok(f.env, assay_device_open(f.env, "null:*=1us", 1, &null));
    expect_fails(f.env, assay_plan_build_on(f.env, f.model, &null, 1, f.options, &plans[0]), ASSAY_BAD_INPUT,
                 "the 1 devices do not include the cpu");
    as_device *both[] = {null, cpu}, *twice[] = {cpu, cpu};
    expect_fails(f.env, assay_plan_build_on(f.env, f.model, twice, 2, f.options, &plans[0]), ASSAY_BAD_INPUT,
                 "'cpu' is given twice");
    expect_ok(f.env, assay_plan_build_on(f.env, f.model, both, 2, f.options, &plans[0]));
    expect_ok(f.env, assay_plan_build_on(f.env, f.model, &cpu, 1, f.options, &plans[1]));
    expect(plans[0]->devices[0] == cpu && plans[1]->devices[0] == cpu && as_plan_wanted(plans[0]) == null);
    assay_plan_free(plans[0]);
    f.plan = plans[1];
    fixture_instance(&f);
    fixture_step(&f); /* freeing the first plan did not close the device */
    fixture_set(&f, "device", "cpu");
    expect_fails(f.env, assay_plan_build_on(f.env, f.model, &cpu, 1, f.options, &plans[0]), ASSAY_BAD_INPUT,
                 "device is set to cpu");
    fixture_close(&f);
    assay_device_close(null);
    assay_device_close(cpu);
}

Test(devices, an_instance_that_is_larger_than_a_device_gives_is_refused_while_planning)
{
    fixture    f;
    as_device *cpu, *null;
    fixture_open(&f, "mlp:sizes=400x300x200");
    expect_ok(f.env, as_device_open(f.env, "cpu", 1, &cpu));
    expect_ok(f.env, as_device_open(f.env, "null", 1, &null));
    null->caps.max_bytes = 1000;
    as_device *both[] = {null, cpu};
    expect_fails(f.env, assay_plan_build_on(f.env, f.model, both, 2, f.options, &f.plan), ASSAY_NO_MEMORY,
                 "on null, which has at most 1000");
    as_device_close(null);
    as_device_close(cpu);
    fixture_close(&f);
}
