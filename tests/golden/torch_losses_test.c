/* torch_losses_test.c - the same weights, batches and order as PyTorch give the same losses, for 200 steps.
 *
 * torch_losses.h holds PyTorch's, made by losses.py beside it; weights and batches come from the same seeds as in bench/train_worker.c. */
#include <stdlib.h>

#include "tests/golden/torch_losses.h"
#include "tests/runner/test.h"
#include "train/train.h"

enum { N_BATCHES = 10 };

static as_view batch(const as_trainer *trainer, const char *name, int number)
{
    const as_graph *g = &as_trainer_plan(trainer)->graph;
    for (int i = 0; i < g->n_inputs; i++) {
        const as_bound_value *v = &g->values[g->inputs[i]];
        if (strcmp(v->name, name))
            continue;
        as_view view = as_view_of(calloc((size_t)as_shape_count(&v->info.shape), as_dtype_bytes(v->info.dtype)), v->info.dtype,
                                  &v->info.shape);
        expect(view.data != NULL);
        as_random_input(100 + (uint64_t)number, name, &view);
        return view;
    }
    fail("no input '%s'", name);
}

static void compare(const struct torch_losses *want, double allowed)
{
    assay_env      *env;
    assay_model    *net;
    as_plan_options plan;
    as_trainer     *trainer;
    as_view         x[N_BATCHES], target[N_BATCHES];
    const char     *dims[] = {want->dim};
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_ok(env, as_model_load(env, want->spec, &(as_model_options){.seed = 0}, &net));
    expect_ok(env, as_plan_options_read(env, NULL, &plan));
    plan.dims = (as_texts){dims, *want->dim ? 1 : 0};
    plan.batch = want->batch;
    plan.batch_is_set = true;
    expect_ok(env, as_trainer_new(env, net, &(as_train_setup){.loss = want->loss, .optimizer = want->optimizer}, &plan, &trainer));
    double rate = as_trainer_graph(trainer)->base_rate;
    for (int i = 0; i < N_BATCHES; i++) {
        x[i] = batch(trainer, net->values[net->inputs[0]].name, i);
        target[i] = batch(trainer, AS_TRAIN_TARGET, i);
    }
    int n_steps = getenv("ASSAY_TEST_SHORT") ? TORCH_STEPS / 8 : TORCH_STEPS; /* under an emulator */
    for (int i = 0; i < n_steps; i++) {
        as_train_output out;
        as_train_input  in = {
             .inputs = &x[i % N_BATCHES], .n_inputs = 1, .target = &target[i % N_BATCHES], .rates = &rate, .update = true};
        expect_ok(env, as_trainer_step(AS_RUN(env), trainer, &in, &out));
        double gap = fabs(out.loss - want->losses[i]) / fabs(want->losses[i]);
        if (!(gap <= allowed))
            fail("%s: step %d: the loss is %.9g, and %.9g with PyTorch %s", want->spec, i, out.loss, want->losses[i],
                 TORCH_VERSION);
    }
    for (int i = 0; i < N_BATCHES; i++) {
        free(x[i].data);
        free(target[i].data);
    }
    as_trainer_free(trainer);
    assay_model_free(net);
    assay_env_free(env);
}

static void named(const char *word)
{
    int n = 0;
    for (size_t i = 0; i < sizeof torch_losses / sizeof *torch_losses; i++)
        if (!strncmp(torch_losses[i].spec, word, strlen(word))) {
            compare(&torch_losses[i], 1e-3);
            n++;
        }
    expect_eq(n, 1);
}

Test(torch_losses, an_mlp_with_adam) { named("mlp"); }
Test(torch_losses, a_cnn_with_momentum) { named("cnn-small"); }
Test(torch_losses, an_lstm_with_adamw) { named("lstm"); }
Test(torch_losses, a_gru_with_adam) { named("gru"); }
Test(torch_losses, a_wired_cfc_with_adam) { named("cfc"); }
Test(torch_losses, a_wired_ltc_with_adam) { named("ltc"); }
