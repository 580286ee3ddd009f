/* trainer.c - trains update by update: stops in the middle, goes on from a checkpoint in a new trainer, and saves the network.
 *
 *     cc trainer.c $(pkg-config --cflags --libs assay) -o trainer && ./trainer checkpoint */
#include <stdio.h>

#include <assay.h>

#define TRY(call)                   \
    do {                            \
        assay_status try_ = (call); \
        if (try_ != ASSAY_OK)       \
            return try_;            \
    } while (0)

static assay_status steps(assay_env *env, assay_trainer *trainer, int n, double *last)
{
    for (int i = 0; i < n; i++) {
        assay_training now;
        TRY(assay_trainer_step(env, trainer, &now, NULL));
        *last = now.loss;
    }
    return ASSAY_OK;
}

/* 40 updates in one go, and 20 + 20 with a checkpoint between them: the same loss, to the bit. */
static assay_status train(assay_env *env, const assay_model *model, const assay_options *options, const char *folder,
                          assay_trainer **one, assay_trainer **two)
{
    double whole = 0, first = 0, rest = 0;
    TRY(assay_trainer_new(env, model, options, one));
    TRY(steps(env, *one, 20, &first));
    TRY(assay_trainer_save(env, *one, folder));
    TRY(steps(env, *one, 20, &whole));
    TRY(assay_trainer_new(env, model, options, two));
    TRY(assay_trainer_load(env, *two, folder));
    TRY(steps(env, *two, 20, &rest));
    printf("loss %.6f after 20 updates, %.17g after 40, %.17g by way of the checkpoint: %s\n", first, whole, rest,
           whole == rest ? "the same" : "NOT the same");
    return ASSAY_OK;
}

static assay_status answer(assay_env *env, const assay_trainer *trainer)
{
    assay_model *trained = NULL;
    assay_plan  *plan = NULL;
    TRY(assay_trainer_model(env, trainer, &trained));
    assay_status status = assay_plan_build(env, trained, NULL, &plan);
    if (status == ASSAY_OK)
        printf("the trained network needs %llu bytes to answer\n", (unsigned long long)assay_plan_peak_bytes(plan));
    assay_plan_free(plan);
    assay_model_free(trained);
    return status;
}

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_model   *model = NULL;
    assay_trainer *one = NULL, *two = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: trainer FOLDER\n");
        return 2;
    }
    if (assay_env_new(&env) != ASSAY_OK)
        return 5;
    assay_status status = assay_options_new(env, &options);
    if (status == ASSAY_OK)
        status = assay_options_set(env, options, "data", "synthetic:spirals");
    if (status == ASSAY_OK)
        status = assay_model_load(env, "mlp:sizes=2x32x3", NULL, &model);
    if (status == ASSAY_OK)
        status = train(env, model, options, argv[1], &one, &two);
    if (status == ASSAY_OK)
        status = answer(env, two);
    if (status != ASSAY_OK)
        fprintf(stderr, "%s\n", assay_message(env));
    assay_trainer_free(two);
    assay_trainer_free(one);
    assay_model_free(model);
    assay_options_free(options);
    assay_env_free(env);
    return status == ASSAY_OK ? 0 : 2;
}
