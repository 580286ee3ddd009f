/* trainer_test.c - whole training steps: gradients by finite differences, accumulation, threads, memory, what stays frozen. */
#include <stdlib.h>

#include "train/train.h"
#include "base/random.h"
#include "tests/runner/test.h"

typedef struct fixture {
    assay_env      *env;
    assay_model    *net;
    as_plan_options plan;
    as_trainer     *trainer;
    as_view         inputs[4], target;
    double          rates[8];
} fixture;

static void open_at(fixture *f, const char *spec, const as_train_setup *setup, int64_t batch, int threads)
{
    *f = (fixture){0};
    expect_eq(assay_env_new(&f->env), ASSAY_OK);
    expect_ok(f->env, as_model_load(f->env, spec, &(as_model_options){.seed = 7}, &f->net));
    expect_ok(f->env, as_plan_options_read(f->env, NULL, &f->plan));
    f->plan.batch = batch;
    f->plan.batch_is_set = true;
    f->plan.threads = threads;
    expect_ok(f->env, as_trainer_new(f->env, f->net, setup, &f->plan, &f->trainer));
    const as_train_graph *g = as_trainer_graph(f->trainer);
    for (int i = 0; i < g->n_groups; i++)
        f->rates[i] = g->base_rate * g->rates[i];
}

static void close_all(fixture *f)
{
    as_trainer_free(f->trainer);
    assay_model_free(f->net);
    assay_env_free(f->env);
    for (size_t i = 0; i < AS_COUNT(f->inputs); i++)
        free(f->inputs[i].data);
    free(f->target.data);
}

static as_view like(const assay_plan *plan, const char *name)
{
    for (int i = 0; i < plan->graph.n_inputs; i++) {
        const as_bound_value *v = &plan->graph.values[plan->graph.inputs[i]];
        if (!strcmp(v->name, name)) {
            as_view view = as_view_of(calloc((size_t)as_shape_count(&v->info.shape) + 1, as_dtype_bytes(v->info.dtype)),
                                      v->info.dtype, &v->info.shape);
            expect(view.data != NULL);
            return view;
        }
    }
    fail("the step has no input '%s'", name);
}

/* Random inputs and targets; labels below 10. */
static void data_make(fixture *f, uint64_t seed)
{
    const assay_plan *plan = as_trainer_plan(f->trainer);
    for (int i = 0; i < f->net->n_inputs; i++) {
        const char *name = f->net->values[f->net->inputs[i]].name;
        f->inputs[i] = like(plan, name);
        as_input_fill(f->net, i, seed, &f->inputs[i]);
    }
    f->target = like(plan, AS_TRAIN_TARGET);
    as_random_input(seed + 1, AS_TRAIN_TARGET, &f->target);
}

static as_train_output step(fixture *f, bool update)
{
    as_train_output out;
    as_train_input  in = {
         .inputs = f->inputs, .n_inputs = f->net->n_inputs, .target = &f->target, .rates = f->rates, .update = update};
    expect_ok(f->env, as_trainer_step(AS_RUN(f->env), f->trainer, &in, &out));
    return out;
}

static as_view flat_gradient(const fixture *f)
{
    const as_graph *g = &as_trainer_plan(f->trainer)->graph;
    for (int i = 0; i < g->n_outputs; i++)
        if (!strcmp(g->values[g->outputs[i]].name, AS_TRAIN_FLAT))
            return as_instance_output(as_trainer_instance(f->trainer), i);
    fail("the gradient is not an output");
}

/* --- Gradients of whole networks by finite differences --------------------------------------------------------------- */

/* The slope of the loss along a random direction of all parameters together, and along each parameter's own. */
static void slopes_compare(fixture *f, float *params, const float *d, const float *direction, int64_t begin, int64_t end,
                           const char *what)
{
    double slope = 0, size = 0, best = 1e9;
    float *before = malloc((size_t)(end - begin) * sizeof *before);
    expect(before != NULL);
    memcpy(before, params + begin, (size_t)(end - begin) * sizeof *before);
    for (int64_t i = begin; i < end; i++) {
        slope += (double)d[i] * (double)direction[i];
        size += (double)direction[i] * (double)direction[i];
    }
    /* The best of several sizes of step: the smaller, the more f32 rounds; the larger, the more the loss bends. */
    for (double reach = 0.2; reach > 1e-3; reach /= 2) {
        double epsilon = reach / sqrt(size + 1e-30), loss[2];
        for (int side = 0; side < 2; side++) {
            for (int64_t i = begin; i < end; i++)
                params[i] = before[i - begin] + (float)((side ? epsilon : -epsilon) * (double)direction[i]);
            loss[side] = step(f, true).loss;
        }
        double error = fabs((loss[1] - loss[0]) / (2 * epsilon) - slope);
        best = error < best ? error : best;
        memcpy(params + begin, before, (size_t)(end - begin) * sizeof *before);
    }
    free(before);
    double allowed = 0.02 * fabs(slope) + 2e-3 * sqrt(size);
    if (!(best <= allowed))
        fail("%s: the slope along '%s' is %g, and %g away from the differences of the loss (%g allowed)", f->net->name, what, slope,
             best, allowed);
}

static void differences_check(const char *spec, const char *loss)
{
    fixture f;
    open_at(&f, spec, &(as_train_setup){.loss = loss, .optimizer = "lbfgs"}, 5, 1);
    data_make(&f, 3);
    const as_train_graph *g = as_trainer_graph(f.trainer);
    float                *params = as_instance_variable(as_trainer_instance(f.trainer), 0).data;
    size_t                bytes = (size_t)g->n_elements * sizeof(float);
    float                *direction = malloc(bytes), *d = malloc(bytes);
    expect(direction && d);
    step(&f, true);
    memcpy(d, flat_gradient(&f).data, bytes);
    as_philox_fill(11, 0, 0, -1, 1, direction, (size_t)g->n_elements);
    for (int i = 0; i < g->n_parts && !getenv("ASSAY_TEST_SHORT"); i++) /* under an emulator all together must do */
        slopes_compare(&f, params, d, direction, g->parts[i].begin, g->parts[i].begin + g->parts[i].count, g->parts[i].name);
    slopes_compare(&f, params, d, direction, 0, g->n_elements, "all parameters");
    free(direction);
    free(d);
    close_all(&f);
}

Test(trainer, gradient_of_an_mlp) { differences_check("mlp:sizes=12x9x10", "ce"); }
Test(trainer, gradient_of_an_mlp_with_batch_norm) { differences_check("mlp-bn:sizes=12x9x10", "ce"); }
Test(trainer, gradient_of_a_cnn) { differences_check("cnn-small", "ce"); }
Test(trainer, gradient_of_a_cnn_with_batch_norm) { differences_check("cnn-bn", "ce"); }
Test(trainer, gradient_of_a_cfc) { differences_check("cfc:units=6,input=3,proj=2", "mse"); }
Test(trainer, gradient_of_a_wired_cfc) { differences_check("cfc:units=12,input=3,out=2,wiring=autoncp", "huber"); }
Test(trainer, gradient_of_an_ltc) { differences_check("ltc:units=6,input=3,out=2", "mae"); }

/* --- Accumulation, threads ------------------------------------------------------------------------------------------------ */

/* The parameters after n updates; each sees the same 16 examples, `pieces` at a time. */
static float *trained(const char *spec, const as_train_setup *setup, int threads, int n, size_t *bytes)
{
    fixture whole, f;
    int     pieces = setup->accumulate > 1 ? setup->accumulate : 1;
    open_at(&whole, spec, &(as_train_setup){.loss = setup->loss}, 16, 1);
    open_at(&f, spec, setup, 16 / pieces, threads);
    for (int k = 0; k < n; k++) {
        data_make(&whole, (uint64_t)k);
        as_view all = whole.inputs[0], labels = whole.target;
        for (int p = 0; p < pieces; p++) {
            f.inputs[0] = as_view_of((char *)all.data + (size_t)p * as_view_bytes(&all) / (size_t)pieces, all.dtype, &all.shape);
            f.inputs[0].shape.dim[0] = 16 / pieces;
            f.target =
                as_view_of((char *)labels.data + (size_t)p * as_view_bytes(&labels) / (size_t)pieces, labels.dtype, &labels.shape);
            f.target.shape.dim[0] = 16 / pieces;
            step(&f, p == pieces - 1);
        }
        free(all.data);
        free(labels.data);
    }
    f.inputs[0] = f.target = whole.inputs[0] = whole.target = (as_view){0};
    expect_eq(as_trainer_updates(f.trainer), n);
    as_view now = as_instance_variable(as_trainer_instance(f.trainer), 0);
    *bytes = as_view_bytes(&now);
    float *copy = malloc(*bytes);
    expect(copy != NULL);
    memcpy(copy, now.data, *bytes);
    close_all(&f);
    close_all(&whole);
    return copy;
}

Test(trainer, accumulated_steps_equal_the_big_batch)
{
    as_train_setup once = {.loss = "ce", .optimizer = "sgd:lr=0.1,momentum=0.9"}, often = once;
    size_t         n, m;
    often.accumulate = 4;
    float *a = trained("mlp:sizes=20x16x10", &once, 1, 5, &n), *b = trained("mlp:sizes=20x16x10", &often, 1, 5, &m);
    expect_eq(n, m);
    for (size_t i = 0; i < n / sizeof *a; i++)
        expect_near((double)a[i], (double)b[i], 1e-6);
    free(a);
    free(b);
}

static void threads_compare(const char *spec, const char *loss)
{
    as_train_setup setup = {.loss = loss, .optimizer = "adamw", .clip_norm = 1.0};
    size_t         n, m;
    float         *one = trained(spec, &setup, 1, 3, &n);
    for (int threads = 2; threads <= 3; threads++) {
        float *more = trained(spec, &setup, threads, 3, &m);
        expect_eq(n, m);
        expect(!memcmp(one, more, n));
        free(more);
    }
    free(one);
}

Test(trainer, threads_do_not_change_a_bit_of_an_mlp) { threads_compare("mlp-dropout", "ce"); }
Test(trainer, threads_do_not_change_a_bit_of_a_cnn) { threads_compare("cnn-bn", "ce"); }

/* --- What stays --------------------------------------------------------------------------------------------------------------- */

Test(trainer, frozen_parameters_stay_and_groups_have_their_own_rate)
{
    const char    *freeze[] = {"fc1.*"}, *groups[] = {"*.bias:lr=0,decay=0"};
    as_train_setup setup = {.loss = "ce", .optimizer = "sgd:lr=0.5", .freeze = {freeze, 1}, .groups = {groups, 1}};
    fixture        f;
    open_at(&f, "mlp:sizes=6x5x10", &setup, 4, 1);
    data_make(&f, 1);
    const as_train_graph *g = as_trainer_graph(f.trainer);
    expect_eq(g->n_parts, 2);
    expect_eq(g->n_groups, 2);
    expect(!as_trainer_weight(f.trainer, "fc1.weight").data);
    as_train_output out = step(&f, true);
    expect(isfinite(out.loss));
    expect_near(out.used, 0.0, 0); /* group 0: the biases */
    for (int i = 0; i < g->n_parts; i++) {
        as_view now = as_trainer_weight(f.trainer, g->parts[i].name);
        bool    changed = memcmp(now.data, g->parts[i].data, (size_t)g->parts[i].count * sizeof(float)) != 0;
        expect_eq(changed, g->parts[i].group == 1);
    }
    close_all(&f);
}

Test(trainer, patterns_that_fit_nothing_are_refused)
{
    const char *freeze[] = {"conv9*"};
    fixture     f = {0};
    expect_eq(assay_env_new(&f.env), ASSAY_OK);
    expect_ok(f.env, as_model_load(f.env, "mlp-small", &(as_model_options){.seed = 7}, &f.net));
    expect_ok(f.env, as_plan_options_read(f.env, NULL, &f.plan));
    expect_fails(f.env, as_trainer_new(f.env, f.net, &(as_train_setup){.freeze = {freeze, 1}}, &f.plan, &f.trainer),
                 ASSAY_BAD_INPUT, "no parameter of mlp-small is named like 'conv9*', which --freeze names");
    expect_fails(f.env, as_trainer_new(f.env, f.net, &(as_train_setup){.loss = "zero"}, &f.plan, &f.trainer), ASSAY_BAD_INPUT,
                 "there is no loss 'zero'; there are ce, bce, mse, mae and huber");
    close_all(&f);
}

/* --- Memory ------------------------------------------------------------------------------------------------------------------ */

Test(trainer, a_step_allocates_nothing_and_the_peak_is_the_plans)
{
    static const char *const specs[] = {"mlp-small", "cnn-small", "cfc:units=12,input=3,out=2,wiring=autoncp"};
    for (size_t i = 0; i < AS_COUNT(specs); i++) {
        fixture f;
        open_at(&f, specs[i], &(as_train_setup){.optimizer = "adam", .norm = true}, 8, 1);
        data_make(&f, 1);
        step(&f, true);
        size_t before = as_test_n_allocs();
        step(&f, true);
        expect_eq(as_test_n_allocs(), before);
        expect_eq(as_instance_peak_bytes(as_trainer_instance(f.trainer)), as_trainer_plan(f.trainer)->device_bytes[0]);
        for (int v = 0; v < as_trainer_plan(f.trainer)->n_variables; v++)
            if (!as_trainer_plan(f.trainer)->variables[v].in_place)
                fail("%s: the variable %s is copied at every step", specs[i], as_trainer_plan(f.trainer)->variables[v].name);
        close_all(&f);
    }
}

/* --- Learning and evaluating --------------------------------------------------------------------------------------------------- */

Test(trainer, a_small_network_learns_and_the_evaluator_sees_it)
{
    fixture       f;
    as_evaluator *e;
    as_view       answer;
    double        first = 0, last = 0;
    open_at(&f, "mlp-bn:sizes=12x24x10", &(as_train_setup){.loss = "ce", .optimizer = "adam:lr=0.02"}, 16, 1);
    data_make(&f, 5);
    expect_ok(f.env, as_evaluator_new(f.env, f.trainer, &f.plan, &e));
    for (int i = 0; i < 60; i++) {
        last = step(&f, true).loss;
        first = i ? first : last;
    }
    expect(last < 0.2 * first);
    as_evaluator_refresh(e);
    expect_ok(f.env, as_evaluator_run(AS_RUN(f.env), e, f.inputs, 1, &answer));
    int right = 0;
    for (int r = 0; r < 16; r++) {
        int best = 0;
        for (int c = 1; c < 10; c++)
            best = as_view_get(&answer, r * 10 + c) > as_view_get(&answer, r * 10 + best) ? c : best;
        right += best == (int)as_view_get(&f.target, r);
    }
    expect(right >= 14);
    assay_model *now;
    expect_ok(f.env, as_trainer_model(f.env, f.trainer, &now));
    expect_eq(now->n_nodes, f.net->n_nodes);
    assay_model_free(now);
    as_evaluator_free(e);
    close_all(&f);
}

Test(trainer, products_of_a_small_batch_read_changing_weights_in_place)
{
    fixture f;
    open_at(&f, "mlp", &(as_train_setup){.loss = "ce", .optimizer = "adam:lr=1e-3"}, 64, 1);
    const assay_plan *plan = as_trainer_plan(f.trainer);
    int               n_products = 0;
    for (int s = 0; s < plan->n_steps; s++) {
        n_products += strstr(as_step_op(plan, &plan->steps[s]), "Gemm") != NULL;
        expect(plan->steps[s].kind != AS_STEP_PACK);
    }
    expect_eq(n_products, 8); /* three forward, five backward: packing for them would move 5 MiB more in every step */
    close_all(&f);
}
