/* variable_test.c - what an instance keeps between steps: state, statistics, parameters, and the step number. */
#include <math.h>

#include "plan/lower.h"
#include "plan/plan.h"
#include "plan/test_fixture.h"

static void plan_with(fixture *f, const as_variable_def *variables, int n)
{
    expect_ok(f->env, fixture_plan_with(f, variables, n));
}

static assay_status plan_fails(fixture *f, as_variable_def variable) { return fixture_plan_with(f, &variable, 1); }

static int n_updates(const assay_plan *plan)
{
    int n = 0;
    for (int s = 0; s < plan->n_steps; s++)
        n += plan->steps[s].kind == AS_STEP_UPDATE;
    return n;
}

/* All memory of an instance was counted, and no buffer overlaps a variable while it is needed. */
static void expect_sound(const assay_plan *plan)
{
    for (int i = 0; i < plan->n_variables; i++) {
        const as_buffer *v = &plan->buffers[plan->variables[i].buffer];
        expect_eq(v->role, AS_BUF_VARIABLE);
        expect_eq(v->first, 0);
        expect_eq(v->last, plan->n_steps - 1);
        for (int b = 0; b < plan->n_buffers; b++) {
            const as_buffer *other = &plan->buffers[b];
            bool             meets = other->device == 0 && !other->outside && other->bytes && other != v &&
                         other->offset < v->offset + v->bytes && v->offset < other->offset + other->bytes;
            expect(!meets || other->alias_of == plan->variables[i].buffer);
        }
    }
}

/* --- Recurrent state ------------------------------------------------------------------------------------ */

static void states_are_carried(const char *spec, const char *device)
{
    enum { N = 6 };
    fixture       whole, each;
    as_state_pair pairs[AS_MAX_STATES];
    fixture_open(&whole, spec);
    fixture_set(&whole, "seq", "6");
    fixture_plan(&whole);
    fixture_instance(&whole);
    int n_states = as_state_find(whole.model, pairs, AS_MAX_STATES);
    expect(n_states > 0);
    as_view x = as_instance_input(whole.instance, 0), y = as_instance_output(whole.instance, 0);
    for (int i = 0; i < n_states; i++) {
        as_view h = as_instance_input(whole.instance, pairs[i].input);
        memset(h.data, 0, as_view_bytes(&h));
    }
    fixture_step(&whole);

    as_variable_def defs[AS_MAX_STATES];
    fixture_open(&each, spec);
    fixture_set(&each, "seq", "1");
    fixture_set(&each, "device", device);
    plan_with(&each, defs, as_state_variables(each.model, defs));
    expect_sound(each.plan);
    expect_ok(each.env, assay_instance_new(each.env, each.plan, &each.instance));
    as_view one = as_instance_input(each.instance, 0), answer = as_instance_output(each.instance, 0);
    size_t  n_x = as_view_bytes(&one), n_y = as_view_bytes(&answer);
    expect_eq(n_x * N, as_view_bytes(&x));
    expect_eq(n_y * N, as_view_bytes(&y));
    for (int again = 0; again < 2; again++) {
        for (int t = 0; t < N; t++) {
            memcpy(one.data, (char *)x.data + n_x * (size_t)t, n_x);
            fixture_step(&each);
            as_view want = as_view_of((char *)y.data + n_y * (size_t)t, y.dtype, &answer.shape);
            expect(as_view_error(&answer, &want) <= 1e-5);
        }
        as_instance_reset(each.instance); /* the second time begins as the first did */
    }
    fixture_close(&whole);
    fixture_close(&each);
}

Test(variable, steps_of_a_recurrent_network_equal_one_longer_sequence)
{
    states_are_carried("cfc:input=3,units=5,backbone_layers=0,state=1,return_sequences=1", "cpu");
    states_are_carried("cfc:input=3,units=5,mixed_memory=1,state=1,return_sequences=1", "cpu");
}

/* --- Running statistics --------------------------------------------------------------------------------- */

static void norm_model(fixture *f)
{
    static const float ones[] = {1, 1}, mean[] = {0.5f, -1}, variance[] = {2, 3};
    fixture_open(f, NULL);
    as_maker   *m = fixture_maker(f);
    const char *names[] = {"y", "mean_out", "variance_out"};
    as_attr     attrs[] = {AS_ATTR_I("training_mode", 1), AS_ATTR_F("momentum", 0.75)};
    int         out[3];
    int         in[] = {fixture_input(m, "x", 4, 2), as_maker_param(m, "scale", AS_F32, &AS_SHAPE(2), ones, true),
                        as_maker_param(m, "bias", AS_F32, &AS_SHAPE(2), NULL, false),
                        as_maker_param(m, "mean", AS_F32, &AS_SHAPE(2), mean, true),
                        as_maker_param(m, "variance", AS_F32, &AS_SHAPE(2), variance, true)};
    as_maker_node(m, "BatchNormalization", "bn", in, 5, attrs, 2, out, 3, names);
    for (int i = 0; i < 3; i++)
        as_maker_output(m, out[i]);
    expect_ok(f->env, as_maker_finish(m, &f->model));
}

Test(variable, running_statistics_move_towards_those_of_the_batches)
{
    static const as_variable_def defs[] = {{.name = "mean", .becomes = "mean_out"},
                                           {.name = "variance", .becomes = "variance_out"}};
    fixture                      f;
    double                       mean[2] = {0.5, -1}, variance[2] = {2, 3};
    norm_model(&f);
    plan_with(&f, defs, 2);
    expect_eq(n_updates(f.plan), 2); /* no kernel writes three outputs over its inputs */
    expect_sound(f.plan);
    expect_eq(f.plan->variable_bytes, 16);
    fixture_instance(&f);
    as_view x = as_instance_input(f.instance, 0);
    for (int step = 0; step < 5; step++) {
        for (int i = 0; i < 8; i++)
            as_view_set(&x, i, (i % 2 ? 3.0 : -1.0) * i + step * step);
        fixture_step(&f);
        for (int c = 0; c < 2; c++) {
            double sum = 0, squares = 0;
            for (int i = c; i < 8; i += 2)
                sum += as_view_get(&x, i);
            for (int i = c; i < 8; i += 2)
                squares += pow(as_view_get(&x, i) - sum / 4, 2);
            mean[c] = mean[c] * 0.75 + sum / 4 * 0.25;
            variance[c] = variance[c] * 0.75 + squares / 4 * 0.25;
        }
        float   got[2];
        as_view view = as_view_of(got, AS_F32, &AS_SHAPE(2));
        expect_ok(f.env, as_instance_get(f.env, f.instance, "mean", &view));
        expect_near((double)got[0], mean[0], 1e-4);
        expect_near((double)got[1], mean[1], 1e-4);
        expect_ok(f.env, as_instance_get(f.env, f.instance, "variance", &view));
        expect_near((double)got[0], variance[0], 1e-3);
        expect_near((double)got[1], variance[1], 1e-3);
    }
    as_instance_reset(f.instance);
    as_view first = as_instance_variable(f.instance, 0);
    expect_near(as_view_get(&first, 0), 0.5, 0);
    fixture_close(&f);
}

/* --- Parameters in training ------------------------------------------------------------------------------ */

enum { ROWS = 4, IN = 2, HIDDEN = 3 };
#define RATE 0.25

static const float first_w1[IN * HIDDEN] = {0.5f, -0.25f, 0.125f, -0.75f, 0.5f, 0.25f}, first_w2[HIDDEN] = {0.5f, -0.5f, 0.75f};
static const float inputs_x[ROWS * IN] = {0, 0, 0, 1, 1, 0, 1, 1}, targets[ROWS] = {0, 1, 1, 0};

/* loss = mean((tanh(x W1) W2 - t)^2) */
static assay_model *loss_model(fixture *f)
{
    assay_model *model;
    as_maker    *m = fixture_maker(f);
    int          x = fixture_input(m, "x", ROWS, IN), t = fixture_input(m, "t", ROWS, 1);
    int          w1 = as_maker_param(m, "w1", AS_F32, &AS_SHAPE(IN, HIDDEN), first_w1, true);
    int          w2 = as_maker_param(m, "w2", AS_F32, &AS_SHAPE(HIDDEN, 1), first_w2, true);
    int          h = fixture_node1(m, "Tanh", "h", fixture_node2(m, "MatMul", "xw", x, w1));
    int          difference = fixture_node2(m, "Sub", "difference", fixture_node2(m, "MatMul", "y", h, w2), t);
    as_attr      flat = AS_ATTR_I("keepdims", 0);
    int          square = fixture_node2(m, "Mul", "square", difference, difference);
    as_maker_output(m, as_maker_node(m, "ReduceMean", "loss", &square, 1, &flat, 1, NULL, 1, NULL));
    expect_ok(f->env, as_maker_finish(m, &model));
    return model;
}

/* The gradient's graph, followed by w <- w - rate * d:w for both. */
static void training_model(fixture *f, const assay_model *grad)
{
    static const float rate = (float)RATE;
    as_maker          *m = fixture_maker(f);
    int               *ids = calloc((size_t)grad->n_values, sizeof *ids);
    expect(ids != NULL);
    as_maker_include(m, grad, ids);
    int lr = as_maker_constant(m, "rate", &(as_view){.data = (void *)(uintptr_t)&rate, .dtype = AS_F32});
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "w2" : "w1", *d = i ? "d:w2" : "d:w1", *next = i ? "w2_next" : "w1_next";
        int         step = fixture_node2(m, "Mul", i ? "step2" : "step1", ids[as_model_value_find(grad, d)], lr);
        int w = as_maker_node(m, "Sub", next, (int[]){ids[as_model_value_find(grad, name)], step}, 2, NULL, 0, NULL, 1, &next);
        as_maker_output(m, w);
    }
    free(ids);
    expect_ok(f->env, as_maker_finish(m, &f->model));
}

/* The same by hand, in double: one step of gradient descent; returns the loss before it. */
static double descend(double *w1, double *w2)
{
    double d1[IN * HIDDEN] = {0}, d2[HIDDEN] = {0}, loss = 0;
    for (int r = 0; r < ROWS; r++) {
        double h[HIDDEN], y = 0;
        for (int k = 0; k < HIDDEN; k++) {
            double sum = 0;
            for (int i = 0; i < IN; i++)
                sum += (double)inputs_x[r * IN + i] * w1[i * HIDDEN + k];
            h[k] = tanh(sum);
            y += h[k] * w2[k];
        }
        double difference = y - (double)targets[r], dy = 2 * difference / ROWS;
        loss += difference * difference / ROWS;
        for (int k = 0; k < HIDDEN; k++) {
            d2[k] += dy * h[k];
            for (int i = 0; i < IN; i++)
                d1[i * HIDDEN + k] += dy * w2[k] * (1 - h[k] * h[k]) * (double)inputs_x[r * IN + i];
        }
    }
    for (int k = 0; k < IN * HIDDEN; k++)
        w1[k] -= RATE * d1[k];
    for (int k = 0; k < HIDDEN; k++)
        w2[k] -= RATE * d2[k];
    return loss;
}

static void expect_same(fixture *f, const char *name, const as_shape *shape, const double *want)
{
    float   got[IN * HIDDEN];
    as_view view = as_view_of(got, AS_F32, shape);
    expect_ok(f->env, as_instance_get(f->env, f->instance, name, &view));
    for (int i = 0; i < as_shape_count(shape); i++)
        expect_near((double)got[i], want[i], 1e-5);
}

static void train(const char *compile)
{
    static const as_variable_def defs[] = {{.name = "w1", .becomes = "w1_next"}, {.name = "w2", .becomes = "w2_next"}};
    static const char *const     wrt[] = {"w1", "w2"};
    fixture                      f;
    assay_model                 *net, *grad;
    double                       w1[IN * HIDDEN], w2[HIDDEN], first = 0, last = 0;
    fixture_open(&f, NULL);
    net = loss_model(&f);
    expect_ok(f.env, as_model_grad(f.env, net, NULL, 0, wrt, 2, &grad));
    training_model(&f, grad);
    fixture_set(&f, "compile", compile);
    plan_with(&f, defs, 2);
    expect_sound(f.plan);
    expect_eq(f.plan->n_prologue, 0); /* nothing depends on parameters that stay */
    bool in_place = !strcmp(compile, "on");
    expect_eq(n_updates(f.plan), in_place ? 0 : 2);
    expect_eq(f.plan->variables[0].in_place, in_place);
    fixture_instance(&f);
    for (int i = 0; i < f.plan->graph.n_inputs; i++) {
        as_view     view = as_instance_input(f.instance, i);
        const char *name = f.plan->graph.values[f.plan->graph.inputs[i]].name;
        for (int64_t k = 0; k < as_shape_count(&view.shape); k++)
            as_view_set(&view, k, !strcmp(name, "x") ? (double)inputs_x[k] : !strcmp(name, "t") ? (double)targets[k] : 1.0);
    }
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < IN * HIDDEN; i++)
            w1[i] = (double)first_w1[i];
        for (int i = 0; i < HIDDEN; i++)
            w2[i] = (double)first_w2[i];
        for (int step = 0; step < 20; step++) {
            last = descend(w1, w2);
            if (!step)
                first = last;
            size_t before = as_test_n_allocs();
            fixture_step(&f);
            expect_eq(as_test_n_allocs(), before);
            expect_same(&f, "w1", &AS_SHAPE(IN, HIDDEN), w1);
            expect_same(&f, "w2", &AS_SHAPE(HIDDEN, 1), w2);
        }
        expect(last < first);
        expect_eq(f.plan->devices[0]->peak_bytes, f.plan->device_bytes[0]);
        as_instance_reset(f.instance);
    }
    /* The model keeps its own values: another instance begins where the first did. */
    expect(!memcmp(net->values[as_model_value_find(net, "w2")].data, first_w2, sizeof first_w2));
    fixture_close(&f);
    assay_model_free(grad);
    assay_model_free(net);
}

Test(variable, parameters_descend_as_by_hand_in_place) { train("on"); }

Test(variable, parameters_descend_as_by_hand_by_copies) { train("off"); }

/* --- Parts of a flat variable ------------------------------------------------------------------------------ */

enum { BLOCK = 32, SECOND = 16 };

/* y = relu(x W + b), W and b parts of one block; the block of results [y | sum of x] replaces it. */
static void block_model(fixture *f)
{
    as_maker *m = fixture_maker(f);
    as_dims   dims = {.rank = 1, .dim = {{.size = BLOCK}}};
    int       block = as_maker_input(m, "block", AS_F32, &dims), x = fixture_input(m, "x", 2, 3);
    as_attr   w_at[] = {AS_ATTR_I("begin", 0), AS_ATTR_LIST("shape", 3, 4)},
            b_at[] = {AS_ATTR_I("begin", SECOND), AS_ATTR_LIST("shape", 4)};
    as_attr places[] = {AS_ATTR_LIST("begins", 0, SECOND), AS_ATTR_I("size", BLOCK)}, whole = AS_ATTR_I("keepdims", 0);
    int     w = as_maker_node(m, "assay.Part", "w", &block, 1, w_at, 2, NULL, 1, NULL);
    int     b = as_maker_node(m, "assay.Part", "b", &block, 1, b_at, 2, NULL, 1, NULL);
    int     xw = as_maker_node(m, "Gemm", "xw", (int[]){x, w, b}, 3, NULL, 0, NULL, 1, NULL);
    int     y = fixture_node1(m, "Relu", "y", xw);
    int     sum = as_maker_node(m, "ReduceSum", "sum", &x, 1, &whole, 1, NULL, 1, NULL);
    as_maker_output(m, as_maker_node(m, "assay.Join", "joined", (int[]){y, sum}, 2, places, 2, NULL, 1, NULL));
    expect_ok(f->env, as_maker_finish(m, &f->model));
}

static void parts_run(const char *compile)
{
    static const as_variable_def defs[] = {{.name = "block", .becomes = "joined"}};
    fixture                      f;
    bool                         compiled = !strcmp(compile, "on");
    fixture_open(&f, NULL);
    block_model(&f);
    fixture_set(&f, "compile", compile);
    plan_with(&f, defs, 1);
    expect_sound(f.plan);
    int w = fixture_buffer_find(f.plan, "w"), b = fixture_buffer_find(f.plan, "b"), y = fixture_buffer_find(f.plan, "y");
    int block = f.plan->variables[0].buffer, joined = fixture_buffer_find(f.plan, "joined");
    expect_eq(f.plan->buffers[b].alias_of, compiled ? block : -1);
    expect_eq(f.plan->buffers[y].alias_of, compiled ? joined : -1);
    if (compiled) { /* no step moves a part: w and b are views, and y and the sum are written in their place */
        expect_eq(f.plan->buffers[w].offset, f.plan->buffers[block].offset);
        expect_eq(f.plan->buffers[b].offset, f.plan->buffers[block].offset + SECOND * sizeof(float));
        for (int s = 0; s < f.plan->n_steps; s++)
            expect(strcmp(as_step_op(f.plan, &f.plan->steps[s]), "assay.Part") != 0);
    }
    fixture_instance(&f);
    float  *v = as_instance_variable(f.instance, 0).data;
    as_view x = as_instance_input(f.instance, 1);
    for (int i = 0; i < 16; i++)
        v[i] = (float)(i % 3) - 0.5f, v[SECOND + i] = 1;
    for (int i = 0; i < 6; i++)
        as_view_set(&x, i, i - 2);
    float want[8];
    for (int r = 0; r < 2; r++)
        for (int c = 0; c < 4; c++) {
            double sum = (double)v[SECOND + c];
            for (int k = 0; k < 3; k++)
                sum += (r * 3 + k - 2) * (double)v[k * 4 + c];
            want[r * 4 + c] = sum > 0 ? (float)sum : 0;
        }
    size_t before = as_test_n_allocs();
    fixture_step(&f);
    expect_eq(as_test_n_allocs(), before);
    for (int i = 0; i < BLOCK; i++)
        expect_near((double)v[i], i < 8 ? (double)want[i] : i == SECOND ? 3.0 : 0.0, 1e-6);
    fixture_close(&f);
}

Test(variable, parts_of_a_block_are_views_and_results_are_written_into_one) { parts_run("on"); }

Test(variable, parts_of_a_block_are_copied_without_compiling) { parts_run("off"); }

/* --- An optimiser's states ------------------------------------------------------------------------------------- */

enum { N_BLOCK = 100000, N_UPDATES = 4 };

/* w, m, v <- one step of Adam by the gradient g, its norm from the same graph. */
static void adam_model(fixture *f)
{
    static const float rate = 0.01f, decay = 0.1f;
    static const char *names[] = {"w_next", "used", "skipped", "m_next", "v_next"};
    as_shape           one = AS_SHAPE(1), all = AS_SHAPE(N_BLOCK);
    as_attr            attrs[] = {AS_ATTR_I("decoupled", 1), AS_ATTR_F("clip_norm", 1)};
    int                out[5];
    fixture_open(f, NULL);
    as_maker *m = fixture_maker(f);
    int       g = as_maker_input(m, "g", AS_F32, &(as_dims){.rank = 1, .dim = {{.size = N_BLOCK}}});
    int       step = as_maker_input(m, "step", AS_I64, &(as_dims){0});
    int       in[] = {as_maker_param(m, "w", AS_F32, &all, NULL, false),
                      g,
                      as_maker_constant(m, "rates", &(as_view){.data = (void *)(uintptr_t)&rate, .dtype = AS_F32, .shape = one}),
                      as_maker_constant(m, "decays", &(as_view){.data = (void *)(uintptr_t)&decay, .dtype = AS_F32, .shape = one}),
                      step,
                      as_maker_node(m, "assay.GradNorm", "norm", &g, 1, NULL, 0, NULL, 1, NULL),
                      -1,
                      as_maker_param(m, "m", AS_F32, &all, NULL, false),
                      as_maker_param(m, "v", AS_F32, &all, NULL, false)};
    as_maker_node(m, "assay.Adam", "update", in, 9, attrs, 2, out, 5, names);
    for (int i = 0; i < 5; i++)
        as_maker_output(m, out[i]);
    expect_ok(f->env, as_maker_finish(m, &f->model));
}

static const as_variable_def adam_variables[] = {{.name = "w", .becomes = "w_next"},
                                                 {.name = "m", .becomes = "m_next", .zeros = true},
                                                 {.name = "v", .becomes = "v_next", .zeros = true}};

/* The three variables after some steps, one after the other. */
static float *adam_run(const char *compile, const char *threads, int want_updates)
{
    fixture f;
    adam_model(&f);
    fixture_set(&f, "compile", compile);
    fixture_set(&f, "threads", threads);
    plan_with(&f, adam_variables, 3);
    expect_sound(f.plan);
    expect_eq(n_updates(f.plan), want_updates);
    for (int i = 0; i < 3; i++)
        expect_eq(f.plan->variables[i].in_place, want_updates == 0);
    fixture_instance(&f);
    as_view g = as_instance_input(f.instance, 0), step = as_instance_input(f.instance, 1);
    float  *all = malloc(3 * N_BLOCK * sizeof *all);
    expect(all != NULL);
    for (int t = 1; t <= N_UPDATES; t++) {
        as_view_set_i64(&step, 0, t);
        for (int64_t i = 0; i < N_BLOCK; i++)
            as_view_set(&g, i, (double)((i * 31 + t * 17) % 101 - 50) / 32.0);
        size_t before = as_test_n_allocs();
        fixture_step(&f);
        expect_eq(as_test_n_allocs(), before);
    }
    as_view used = as_instance_output(f.instance, 1), skipped = as_instance_output(f.instance, 2);
    expect_near(as_view_get(&used, 0), 0.01, 1e-9);
    expect_eq(as_view_get_i64(&skipped, 0), 0);
    for (int i = 0; i < 3; i++) {
        as_view v = as_instance_variable(f.instance, i);
        memcpy(all + i * N_BLOCK, v.data, as_view_bytes(&v));
    }
    fixture_close(&f);
    return all;
}

Test(variable, an_optimisers_states_are_updated_where_they_are)
{
    static const char *const threads[] = {"1", "2", "3", "5"};
    float                   *first = adam_run("off", "1", 3); /* by copies */
    expect(first[N_BLOCK + 7] != 0.0f && first[2 * N_BLOCK + 7] != 0.0f);
    for (int i = 0; i < 4; i++) {
        float *again = adam_run("on", threads[i], 0);
        expect(!memcmp(first, again, 3 * N_BLOCK * sizeof *first));
        free(again);
    }
    free(first);
}

/* The norm is wanted after the update as well, of the old moment: then that one has to be copied. */
Test(variable, a_state_that_is_read_later_is_not_overwritten)
{
    static const float numbers[] = {0.01f, 0.0f};
    static const char *names[] = {"w_next", "used", "skipped", "m_next", "v_next"};
    as_shape           one = AS_SHAPE(1), all = AS_SHAPE(8);
    int                out[5];
    fixture            f;
    fixture_open(&f, NULL);
    as_maker *m = fixture_maker(&f);
    int       g = as_maker_input(m, "g", AS_F32, &(as_dims){.rank = 1, .dim = {{.size = 8}}});
    int       rate = as_maker_constant(m, "rates", &(as_view){.data = (void *)(uintptr_t)numbers, .dtype = AS_F32, .shape = one});
    int decay = as_maker_constant(m, "decays", &(as_view){.data = (void *)(uintptr_t)(numbers + 1), .dtype = AS_F32, .shape = one});
    int in[] = {as_maker_param(m, "w", AS_F32, &all, NULL, false), g,  rate, decay,
                as_maker_input(m, "step", AS_I64, &(as_dims){0}),  -1, -1,   as_maker_param(m, "m", AS_F32, &all, NULL, false),
                as_maker_param(m, "v", AS_F32, &all, NULL, false)};
    as_maker_node(m, "assay.Adam", "update", in, 9, NULL, 0, out, 5, names);
    for (int i = 0; i < 5; i++)
        as_maker_output(m, out[i]);
    as_maker_output(m, fixture_node2(m, "Add", "late", in[7], out[0]));
    expect_ok(f.env, as_maker_finish(m, &f.model));
    plan_with(&f, adam_variables, 3);
    expect(f.plan->variables[0].in_place && !f.plan->variables[1].in_place && f.plan->variables[2].in_place);
    expect_eq(n_updates(f.plan), 1);
    fixture_close(&f);
}

/* --- What is refused --------------------------------------------------------------------------------------- */

Test(variable, a_variable_that_cannot_be_is_named)
{
    fixture f;
    norm_model(&f);
    expect_fails(f.env, plan_fails(&f, (as_variable_def){.name = "median"}), ASSAY_NOT_FOUND, "no input and no parameter 'median'");
    expect_fails(f.env, plan_fails(&f, (as_variable_def){.name = "mean", .becomes = "z"}), ASSAY_NOT_FOUND,
                 "the variable 'mean' becomes 'z', but the model 'test' has no such output");
    expect_fails(f.env, plan_fails(&f, (as_variable_def){.name = "mean", .becomes = "y"}), ASSAY_BAD_INPUT,
                 "the variable 'mean' is f32[2] and becomes 'y', which is f32[4,2]");
    as_variable_def twice[] = {{.name = "mean"}, {.name = "mean"}};
    expect_fails(f.env, fixture_plan_with(&f, twice, 2), ASSAY_BAD_INPUT, "'mean' is declared a variable twice");
    static const as_variable_def kept[] = {{.name = "mean", .becomes = "mean_out"}};
    float                        numbers[3] = {1, 2, 3};
    plan_with(&f, kept, 1);
    fixture_instance(&f);
    expect_fails(f.env, as_instance_set(f.env, f.instance, "x", &(as_view){0}), ASSAY_NOT_FOUND, "has no variable 'x'");
    as_view three = as_view_of(numbers, AS_F32, &AS_SHAPE(3));
    expect_fails(f.env, as_instance_set(f.env, f.instance, "mean", &three), ASSAY_BAD_INPUT,
                 "the variable 'mean' is f32[2], not f32[3]");
    as_view two = as_view_of(numbers, AS_F32, &AS_SHAPE(2));
    expect_ok(f.env, as_instance_set_param(f.env, f.instance, "mean", &two)); /* copied: it has memory of its own */
    as_view now = as_instance_variable(f.instance, 0);
    expect_near(as_view_get(&now, 1), 2, 0);
    fixture_close(&f);
}

/* --- The step number ------------------------------------------------------------------------------------------ */

enum { N_DROPPED = 256 };

/* y, mask = Dropout(x), and dx by the gradient's rule, in one graph. */
static void dropout_model(fixture *f, assay_model **net, assay_model **grad)
{
    static const float ratio = 0.5f;
    static const bool  yes = true;
    static const char *names[] = {"y", "mask"}, *const wrt[] = {"x"};
    int       out[2];
    as_maker *m = fixture_maker(f);
    int       in[] = {fixture_input(m, "x", 1, N_DROPPED),
                      as_maker_constant(m, "ratio", &(as_view){.data = (void *)(uintptr_t)&ratio, .dtype = AS_F32}),
                      as_maker_constant(m, "mode", &(as_view){.data = (void *)(uintptr_t)&yes, .dtype = AS_BOOL})};
    as_maker_node(m, "Dropout", "drop", in, 3, NULL, 0, out, 2, names);
    as_maker_output(m, out[0]);
    as_maker_output(m, out[1]);
    expect_ok(f->env, as_maker_finish(m, net));
    expect_ok(f->env, as_model_grad(f->env, *net, NULL, 0, wrt, 1, grad));
    int *ids = calloc((size_t)(*grad)->n_values, sizeof *ids);
    expect(ids != NULL);
    m = fixture_maker(f);
    as_maker_include(m, *grad, ids);
    as_maker_output(m, ids[as_model_value_find(*grad, "mask")]);
    as_maker_output(m, ids[as_model_value_find(*grad, "d:x")]);
    free(ids);
    expect_ok(f->env, as_maker_finish(m, &f->model));
}

static void masks_draw(fixture *f, bool masks[][N_DROPPED], int n)
{
    for (int i = 0; i < n; i++) {
        fixture_step(f);
        as_view mask = as_instance_output(f->instance, 0), dx = as_instance_output(f->instance, 1);
        for (int k = 0; k < N_DROPPED; k++) {
            masks[i][k] = as_view_get_i64(&mask, k) != 0;
            expect_eq(as_view_get(&dx, k) != 0, masks[i][k]); /* the gradient's mask is the forward's */
        }
    }
}

Test(variable, dropout_draws_another_mask_each_step_and_the_same_for_the_same_step)
{
    static const char *const threads[] = {"1", "2", "3"};
    bool                     masks[3][3][N_DROPPED], again[3][N_DROPPED];
    for (int t = 0; t < 3; t++) {
        fixture      f;
        assay_model *net, *grad;
        fixture_open(&f, NULL);
        dropout_model(&f, &net, &grad);
        fixture_set(&f, "threads", threads[t]);
        fixture_plan(&f);
        fixture_instance(&f);
        for (int i = 0; i < f.plan->graph.n_inputs; i++) {
            as_view view = as_instance_input(f.instance, i);
            for (int k = 0; k < N_DROPPED; k++)
                as_view_set(&view, k, 1);
        }
        masks_draw(&f, masks[t], 3);
        as_instance_reset(f.instance);
        masks_draw(&f, again, 3);
        expect(!memcmp(again, masks[t], sizeof again));
        expect(!memcmp(masks[t], masks[0], sizeof masks[0]));
        fixture_close(&f);
        assay_model_free(grad);
        assay_model_free(net);
    }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < i; k++)
            expect(memcmp(masks[0][i], masks[0][k], sizeof masks[0][i]) != 0);
}
